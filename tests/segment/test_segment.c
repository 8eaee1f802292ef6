/* SPDX-License-Identifier: Apache-2.0 */
/* Heads of noise and their atlases: what fusing has to answer is known. */
#include "clvox/segment.h"

#include "io/volume/orientation.h"
#include "op/harness.h"
#include "register/pair.h"
#include "segment/brain.h"
#include "segment/fuse.h"
#include "segment/refine.h"

enum { METHODS = CLVOX_SEGMENT_JOINT + 1, MOST = 4 };
static const int SIZE[3] = {13, 11, 7};

/* A head, and images with labels on its grid. */
typedef struct set {
    clvox_volume *head, *image[MOST], *labels[MOST];
    int count;
} set;

static clvox_volume *volume(const clvox_grid *grid, clvox_kind kind)
{
    clvox_volume *v;
    assert_ok(clvox_volume_create(grid, 1, kind, &v));
    return v;
}

/* Blocks of labels: `step` apart from one atlas to the next. */
static void fill(clvox_volume *labels, int step)
{
    const int *n = labels->grid.size;
    size_t i = 0;
    for (int z = 0; z < n[2]; z++)
        for (int y = 0; y < n[1]; y++)
            for (int x = 0; x < n[0]; x++)
                labels->data[i++] = (float)((x + step) / 4 + 3 * ((y + step) / 5) + (z > 3 ? 20 : 0));
}

/* Each image is the head and so much noise. */
static void make(set *s, const float *noise, int count)
{
    clvox_grid grid;
    clvox_phantom_grid(SIZE, (const double[3]){2, 1.5, 3}, true, &grid);
    const size_t n = clvox_grid_voxels(&grid);
    float *random = malloc(n * sizeof *random);
    *s = (set){.count = count, .head = volume(&grid, CLVOX_KIND_SCALAR)};
    harness_random(s->head->data, n, 1, 0, 100);
    for (int k = 0; k < count; k++) {
        s->image[k] = volume(&grid, CLVOX_KIND_SCALAR);
        s->labels[k] = volume(&grid, CLVOX_KIND_LABEL);
        harness_random(random, n, 2 + (unsigned)k, -100, 100);
        for (size_t i = 0; i < n; i++)
            s->image[k]->data[i] = s->head->data[i] + noise[k] * random[i];
        fill(s->labels[k], 0);
    }
    free(random);
}

static void drop(set *s)
{
    clvox_volume_destroy(&s->head);
    for (int k = 0; k < s->count; k++) {
        clvox_volume_destroy(&s->image[k]);
        clvox_volume_destroy(&s->labels[k]);
    }
}

static void segment(const set *s, clvox_segment_method method, clvox_segment_result *result)
{
    clvox_segment_options o;
    clvox_segmentation *made;
    clvox_segment_defaults(&o);
    o.method = method;
    assert_ok(clvox_segment_begin(harness_context(), s->head, &o, &made));
    for (int k = 0; k < s->count; k++)
        assert_ok(clvox_segment_add_registered(made, s->image[k], s->labels[k], NULL));
    assert_ok(clvox_segment_end(made, result));
    clvox_segment_destroy(&made);
    assert_null(made);
}

static void set_label(clvox_volume *labels, float value)
{
    for (size_t i = 0; i < clvox_grid_voxels(&labels->grid); i++)
        labels->data[i] = value;
}

static double share_of(const clvox_volume *labels, float value)
{
    size_t count = 0;
    for (size_t i = 0; i < clvox_grid_voxels(&labels->grid); i++)
        count += labels->data[i] == value;
    return (double)count / (double)clvox_grid_voxels(&labels->grid);
}

static void identical_atlases_give_their_labels(void **state)
{
    const clvox_segment_method method = (clvox_segment_method) * (const int *)*state;
    set s;
    clvox_segment_result r;
    make(&s, (const float[]){.3f, .1f, .2f}, 3);
    segment(&s, method, &r);
    assert_int_equal(r.atlases, 3);
    for (size_t i = 0; i < clvox_grid_voxels(&s.head->grid); i++)
        assert_true(r.labels->data[i] == s.labels[0]->data[i] && r.confidence->data[i] == 1);
    clvox_segment_result_destroy(&r);
    drop(&s);
}

/* Two copies outvote a better atlas, and count as one where weights are joint. */
static void copies_count_twice_or_once(void **state)
{
    set s;
    clvox_segment_result r;
    (void)state;
    make(&s, (const float[]){.6f, .6f, .35f}, 3);
    memcpy(s.image[1]->data, s.image[0]->data, clvox_grid_voxels(&s.head->grid) * sizeof(float));
    set_label(s.labels[0], 3);
    set_label(s.labels[1], 3);
    set_label(s.labels[2], 9);
    segment(&s, CLVOX_SEGMENT_MAJORITY, &r);
    assert_true(share_of(r.labels, 3) == 1 && fabsf(r.confidence->data[5] - 2 / 3.f) < 1e-6f);
    clvox_segment_result_destroy(&r);
    segment(&s, CLVOX_SEGMENT_JOINT, &r);
    const double both = share_of(r.labels, 9);
    assert_that(both > .9, "%g", both);
    set alone = s;
    alone.count = 2;
    alone.image[1] = s.image[2];
    alone.labels[1] = s.labels[2];
    clvox_segment_result one;
    segment(&alone, CLVOX_SEGMENT_JOINT, &one);
    for (size_t i = 0; i < clvox_grid_voxels(&s.head->grid); i++)
        assert_true(fabsf(one.confidence->data[i] - r.confidence->data[i]) < 1e-4f);
    clvox_segment_result_destroy(&one);
    clvox_segment_result_destroy(&r);
    drop(&s);
}

/* Weighted methods follow the atlas that is like the head, against two that are not. */
static void likeness_decides(void **state)
{
    const clvox_segment_method method = (clvox_segment_method) * (const int *)*state;
    set s;
    clvox_segment_result r;
    make(&s, (const float[]){3, 3, .1f}, 3);
    set_label(s.labels[0], 3);
    set_label(s.labels[1], 3);
    set_label(s.labels[2], 9);
    segment(&s, method, &r);
    const double share = share_of(r.labels, 9);
    assert_that(method == CLVOX_SEGMENT_MAJORITY ? share == 0 : share == 1, "%g", share);
    clvox_segment_result_destroy(&r);
    drop(&s);
}

static void ties_go_to_the_smaller_label(void **state)
{
    set s;
    clvox_segment_result r;
    (void)state;
    make(&s, (const float[]){.1f, .1f}, 2);
    set_label(s.labels[0], 9);
    set_label(s.labels[1], 4);
    segment(&s, CLVOX_SEGMENT_MAJORITY, &r);
    assert_true(share_of(r.labels, 4) == 1 && r.confidence->data[3] == .5f);
    clvox_segment_result_destroy(&r);
    drop(&s);
}

/* Labels that floats do not hold, in tables of their own. */
static void large_labels_keep_their_names(void **state)
{
    static const int64_t table[2][3] = {{0, 1 << 25, (1 << 25) + 1}, {0, (1 << 25) + 1, 1 << 30}};
    set s;
    clvox_segment_result r;
    (void)state;
    make(&s, (const float[]){.1f, .1f}, 2);
    for (int k = 0; k < 2; k++) {
        s.labels[k]->names = malloc(sizeof table[k]);
        memcpy(s.labels[k]->names, table[k], sizeof table[k]);
        s.labels[k]->name_count = 3;
        set_label(s.labels[k], k ? 1 : 2);
    }
    segment(&s, CLVOX_SEGMENT_MAJORITY, &r);
    assert_non_null(r.labels->names);
    for (size_t i = 0; i < clvox_grid_voxels(&s.head->grid); i++)
        assert_true(r.labels->names[(int)r.labels->data[i]] == (1 << 25) + 1 && r.confidence->data[i] == 1);
    clvox_segment_result_destroy(&r);
    drop(&s);
}

/* An atlas has no say where it is NaN; nobody has: 0 without confidence. */
static void no_say_without_a_value(void **state)
{
    const clvox_segment_method method = (clvox_segment_method) * (const int *)*state;
    set s;
    clvox_segment_result r;
    make(&s, (const float[]){.1f, .1f, .1f}, 3);
    for (int k = 0; k < 3; k++) {
        set_label(s.labels[k], k < 2 ? 3 : 8);
        s.image[k]->data[0] = NAN;
    }
    const size_t n = clvox_grid_voxels(&s.head->grid), half = n / 2;
    for (size_t i = half; i < n; i++)
        s.image[0]->data[i] = s.image[1]->data[i] = NAN;
    s.head->data[40] = NAN;
    segment(&s, method, &r);
    assert_true(r.labels->data[0] == 0 || method != CLVOX_SEGMENT_MAJORITY);
    assert_true(method != CLVOX_SEGMENT_MAJORITY || r.confidence->data[0] == 0);
    for (size_t i = n - (size_t)(SIZE[0] * SIZE[1]); i < n; i++)
        assert_true(r.labels->data[i] == 8);
    for (size_t i = 0; i < n; i++)
        assert_true(r.confidence->data[i] >= 0 && r.confidence->data[i] <= 1);
    clvox_segment_result_destroy(&r);
    drop(&s);
}

/* All 48 ways to store a head and its atlases have one answer. */
static void storage_does_not_matter(void **state)
{
    static const clv_orientation turned = {{2, 0, 1}, {true, false, true}};
    const clvox_segment_method method = (clvox_segment_method) * (const int *)*state;
    set s, t = {.count = 3};
    clvox_segment_result r, q;
    make(&s, (const float[]){.5f, .4f, .3f}, 3);
    for (int k = 0; k < 3; k++) {
        fill(s.labels[k], k);
        assert_ok(clv_orientation_volume(s.image[k], &turned, NULL, &t.image[k]));
        assert_ok(clv_orientation_volume(s.labels[k], &turned, NULL, &t.labels[k]));
    }
    assert_ok(clv_orientation_volume(s.head, &turned, NULL, &t.head));
    segment(&s, method, &r);
    segment(&t, method, &q);
    clvox_volume *want;
    assert_ok(clv_orientation_volume(r.labels, &turned, NULL, &want));
    assert_true(clvox_grid_equal(&q.labels->grid, &t.head->grid));
    assert_memory_equal(want->data, q.labels->data, clvox_grid_voxels(&want->grid) * sizeof(float));
    clvox_volume_destroy(&want);
    clvox_segment_result_destroy(&r);
    clvox_segment_result_destroy(&q);
    drop(&s);
    drop(&t);
}

/* In slabs of three planes, as where a device has no room for more. */
static void slabs_change_nothing(void **state)
{
    const clvox_segment_method method = (clvox_segment_method) * (const int *)*state;
    set s;
    make(&s, (const float[]){.5f, .4f, .3f}, 3);
    const size_t n = clvox_grid_voxels(&s.head->grid);
    uint16_t *number[3], *out[2];
    float *share[2];
    const float *images[3];
    for (int k = 0; k < 3; k++) {
        fill(s.labels[k], k);
        number[k] = malloc(n * sizeof **number);
        images[k] = s.image[k]->data;
        for (size_t i = 0; i < n; i++)
            number[k][i] = (uint16_t)s.labels[k]->data[i];
    }
    for (int w = 0; w < 2; w++) {
        out[w] = malloc(n * sizeof **out);
        share[w] = malloc(n * sizeof **share);
        const clv_fusion f = {.size = {SIZE[0], SIZE[1], SIZE[2]},
                              .atlases = 3,
                              .head = s.head->data,
                              .images = images,
                              .set = {{number, out[w], share[w], true}},
                              .sets = 1,
                              .method = method,
                              .planes = w ? 3 : 0};
        assert_ok(clv_fuse(harness_context(), &f));
    }
    assert_memory_equal(out[0], out[1], n * sizeof **out);
    assert_memory_equal(share[0], share[1], n * sizeof **share);
    for (int w = 0; w < 2; w++) {
        free(out[w]);
        free(share[w]);
    }
    for (int k = 0; k < 3; k++)
        free(number[k]);
    drop(&s);
}

enum { WIDE = 11, HIGH = 9, DEEP = 7, ALL = WIDE * HIGH * DEEP, REACH = 2 };

typedef struct votes {
    float head[ALL], share[ALL], other[ALL];
    uint16_t label[ALL], second[ALL];
} votes;

static int refined(votes *v, float strength)
{
    return clv_refine(&(clv_refining){.size = {WIDE, HIGH, DEEP},
                                      .reach = REACH,
                                      .head = v->head,
                                      .strength = strength,
                                      .label = v->label,
                                      .second = v->second,
                                      .share = v->share,
                                      .other = v->other});
}

/* Votes have a border two voxels beyond the head's, and labels take the head's; in a flat head they stay. */
static void intensities_choose_between_labels(void **state)
{
    votes *v = malloc(sizeof *v);
    (void)state;
    for (int flat = 0; flat < 2; flat++) {
        for (int i = 0; i < ALL; i++) {
            const int x = i % WIDE;
            const bool doubt = x > 3 && x < 8;
            v->head[i] = x < 5 || flat ? 10 : 90;
            v->label[i] = x < 7 ? 4 : 9;
            v->second[i] = doubt ? 13 - v->label[i] : UINT16_MAX;
            v->share[i] = doubt ? .6f : 1;
            v->other[i] = doubt ? .4f : 0;
        }
        v->head[3] = flat ? 10 : NAN;
        assert_ok(refined(v, 2));
        for (int i = 0; i < ALL; i++)
            assert_that(v->label[i] == (i % WIDE < (flat ? 7 : 5) ? 4 : 9) && v->share[i] >= .5f,
                        "voxel %d: label %d of %g", i, v->label[i], (double)v->share[i]);
    }
    free(v);
}

/* Log of the Gaussian of a label at a voxel, by sums over all voxels within reach. */
static double fit(const votes *v, int at, int label, double variance)
{
    const int p[3] = {at % WIDE, at / WIDE % HIGH, at / WIDE / HIGH};
    double sum[3] = {0};
    for (int i = 0; i < ALL; i++) {
        const int q[3] = {i % WIDE, i / WIDE % HIGH, i / WIDE / HIGH};
        const double h = (double)v->head[i];
        const double w = v->label[i] == label    ? (double)v->share[i]
                         : v->second[i] == label ? (double)v->other[i]
                                                 : 0;
        if (abs(p[0] - q[0]) <= REACH && abs(p[1] - q[1]) <= REACH && abs(p[2] - q[2]) <= REACH)
            for (int k = 0; k < 3; k++)
                sum[k] += w * (k ? h : 1) * (k > 1 ? h : 1);
    }
    const double mean = sum[1] / sum[0], d = (double)v->head[at] - mean,
                 own = sum[2] / sum[0] - mean * mean + .02 * variance;
    return -.5 * (d * d / own + log(own / variance));
}

static void refining_is_its_equation(void **state)
{
    votes *v = malloc(sizeof *v), *was = malloc(sizeof *was);
    float random[2 * ALL];
    double first = 0, square = 0, count = 0;
    (void)state;
    harness_random(random, 2 * ALL, 3, 0, 1);
    for (int i = 0; i < ALL; i++) {
        const bool doubt = i % 5 != 1;
        v->head[i] = 1000 + 50 * random[i] + (float)(10 * (i % WIDE));
        v->label[i] = (uint16_t)(i % 3);
        v->second[i] = doubt ? (uint16_t)((i + 1 + i / 7 % 2) % 3) : UINT16_MAX;
        v->share[i] = doubt ? .3f + .1f * random[ALL + i] : 1;
        v->other[i] = doubt ? .3f : 0;
        first += doubt ? (double)v->head[i] : 0;
        count += doubt;
    }
    for (int i = 0; i < ALL; i++)
        square += v->second[i] != UINT16_MAX ? pow((double)v->head[i] - first / count, 2) : 0;
    *was = *v;
    assert_ok(refined(v, .7f));
    int changed = 0;
    for (int i = 0; i < ALL; i++) {
        if (was->second[i] == UINT16_MAX) {
            assert_true(v->label[i] == was->label[i] && v->share[i] == 1);
            continue;
        }
        const double both = (double)was->share[i] + (double)was->other[i],
                     odds = (double)was->other[i] / (double)was->share[i] *
                            exp(.7 * (fit(was, i, was->second[i], square / count) -
                                      fit(was, i, was->label[i], square / count))),
                     want = both / (1 + odds),
                     got = v->label[i] == was->label[i] ? (double)v->share[i] : both - (double)v->share[i];
        assert_that(fabs(got - want) < 1e-3, "voxel %d: share %g, not %g", i, got, want);
        changed += v->label[i] != was->label[i];
    }
    assert_in_range(changed, 20, ALL);
    free(v);
    free(was);
}

/* The same head elsewhere in the world, by its voxels as stored: labels follow, mask and all. */
static void atlases_are_registered(void **state)
{
    static const int size[3] = {29, 27, 23};
    pair p;
    clvox_segmentation *made;
    clvox_segment_options o;
    clvox_segment_result r;
    double ncc;
    (void)state;
    pair_make(&p, size, (const double[3]){4, 4, 4}, true, 4, 5);
    clvox_volume *elsewhere, *labels, *none = NULL;
    assert_ok(clvox_volume_frame(p.fixed, 0, &elsewhere));
    assert_ok(clvox_volume_frame(p.labels, 0, &labels));
    elsewhere->grid.to_ras[0][3] += 7;
    labels->grid.to_ras[0][3] += 7;
    clvox_segment_defaults(&o);
    o.preset = CLVOX_PRESET_QUICK;
    assert_ok(clvox_segment_begin(harness_context(), p.fixed, &o, &made));
    assert_int_equal(clvox_segment_add(made, elsewhere, NULL, NULL, NULL), CLVOX_ERROR_ARGUMENT);
    assert_int_equal(clvox_segment_end(made, &r), CLVOX_ERROR_ARGUMENT);
    assert_null(r.mask);
    assert_ok(clvox_segment_add(made, elsewhere, labels, none, &ncc));
    assert_that(ncc > .95, "%g", ncc);
    assert_int_equal(clvox_segment_add(made, elsewhere, labels, labels, NULL), CLVOX_ERROR_ARGUMENT);
    labels->data[77] = .5f; /* no label map: as if it had not been tried */
    assert_int_equal(clvox_segment_add_registered(made, elsewhere, labels, none), CLVOX_ERROR_ARGUMENT);
    assert_ok(clvox_segment_end(made, &r));
    assert_int_equal(r.atlases, 1);
    size_t both = 0, either = 0;
    for (size_t i = 0; i < clvox_grid_voxels(&p.fixed->grid); i++) {
        const bool a = p.labels->data[i] > 0, b = r.labels->data[i] > 0;
        both += a && b;
        either += (size_t)a + (size_t)b;
        assert_true(r.mask->data[i] == 1 || !b);
    }
    assert_that(2. * (double)both / (double)either > .95, "%zu of %zu", both, either);
    clvox_segment_result_destroy(&r);
    clvox_segment_destroy(&made);
    clvox_volume_destroy(&elsewhere);
    clvox_volume_destroy(&labels);
    pair_free(&p);
}

/* Masks alone: fused, without holes. */
static void masks_alone(void **state)
{
    set s;
    clvox_segmentation *made;
    clvox_segment_result r;
    (void)state;
    make(&s, (const float[]){.1f, .2f}, 2);
    const int x[3] = {6, 5, 3};
    const size_t n = clvox_grid_voxels(&s.head->grid),
                 hole = (size_t)((x[2] * SIZE[1] + x[1]) * SIZE[0] + x[0]);
    for (int k = 0; k < 2; k++)
        for (size_t i = 0; i < n; i++)
            s.labels[k]->data[i] = i % (size_t)SIZE[0] > 2 && i % (size_t)SIZE[0] < 10 && i != hole ? 7 : 0;
    assert_ok(clvox_segment_begin(harness_context(), s.head, NULL, &made));
    for (int k = 0; k < 2; k++)
        assert_ok(clvox_segment_add_registered(made, s.image[k], NULL, s.labels[k]));
    assert_ok(clvox_segment_end(made, &r));
    assert_null(r.labels);
    for (size_t i = 0; i < n; i++)
        assert_true(r.mask->data[i] == (i == hole || s.labels[0]->data[i] > 0) && r.confidence->data[i] == 1);
    clvox_segment_result_destroy(&r);
    clvox_segment_destroy(&made);
    drop(&s);
}

/* A gap of 2 mm is closed by 2 mm except for its ends, one of 6 mm stays, and nothing grows. */
static void gaps_are_closed(void **state)
{
    clvox_grid grid;
    clvox_volume *mask;
    (void)state;
    clvox_phantom_grid((const int[3]){20, 5, 1}, (const double[3]){2, 2, 2}, false, &grid);
    mask = volume(&grid, CLVOX_KIND_LABEL);
    for (int i = 0; i < 100; i++)
        mask->data[i] = i % 20 != 5 && (i % 20 < 11 || i % 20 > 13) && i % 20 > 1;
    assert_ok(clv_brain_fill(mask, 2));
    for (int i = 0; i < 100; i++)
        assert_true(mask->data[i] ==
                    ((i % 20 != 5 || i / 20 % 4) && (i % 20 < 11 || i % 20 > 13) && i % 20 > 1));
    clvox_volume_destroy(&mask);
}

int main(void)
{
    static const char *const names[METHODS] = {"majority", "local", "patch", "joint"};
    harness_open();
    for (int m = 0; m < METHODS; m++) {
        test_case_at(identical_atlases_give_their_labels, TEST_AT(m),
                     "identical atlases give their labels: %s", names[m]);
        test_case_at(likeness_decides, TEST_AT(m), "likeness decides: %s", names[m]);
        test_case_at(no_say_without_a_value, TEST_AT(m), "no say without a value: %s", names[m]);
        test_case_at(storage_does_not_matter, TEST_AT(m), "storage does not matter: %s", names[m]);
        test_case_at(slabs_change_nothing, TEST_AT(m), "slabs change nothing: %s", names[m]);
    }
    test_case(intensities_choose_between_labels, "intensities choose between the two best labels");
    test_case(refining_is_its_equation, "refining is its equation");
    test_case(copies_count_twice_or_once, "copies count twice or once");
    test_case(ties_go_to_the_smaller_label, "ties go to the smaller label");
    test_case(large_labels_keep_their_names, "large labels keep their names");
    test_case(atlases_are_registered, "atlases are registered");
    test_case(masks_alone, "masks alone");
    test_case(gaps_are_closed, "gaps are closed");
    return test_run("segment", harness_close);
}
