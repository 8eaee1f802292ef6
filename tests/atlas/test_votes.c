/* SPDX-License-Identifier: Apache-2.0 */
/* Labels: those of the subjects vote on the template's, and these come back to the subjects. */
#include "atlas/population.h"
#include "base/matrix.h"
#include "clvox/apply.h"
#include "op/harness.h"
#include "register/pair.h"

/* Five images of noise, of which two share what is in the lower half, where three have other labels than
 * they. The others outnumber the two, and the two are more like the mean. */
static void votes(void **state)
{
    clvox_grid grid;
    population all = {.count = 0};
    clvox_atlas_options o;
    clvox_atlas_result r;
    clvox_volume *labels[5];
    uint32_t random = 1;
    (void)state;
    clvox_phantom_grid(POPULATION_SIZE, POPULATION_EDGE, false, &grid);
    const size_t n = clvox_grid_voxels(&grid), half = n / 2,
                 slices = 3 * (size_t)(POPULATION_SIZE[0] * POPULATION_SIZE[1]);
    for (int i = 0; i < 5; i++) {
        clvox_volume *v = population_zeros(&grid);
        labels[i] = population_zeros(&grid);
        labels[i]->kind = CLVOX_KIND_LABEL;
        for (size_t k = 0; k < n; k++) {
            random = random * 1664525 + 1013904223;
            v->data[k] = i == 1 && k < half    ? all.own[0]->data[k]
                         : k >= n - 2 * slices ? 7
                                               : (float)(random >> 16) / 655.36f;
            labels[i]->data[k] = k < half ? (i < 2 ? 1 : 2) : (float)(3 + (i > 1));
        }
        if (i == 4)
            v->data[40] = NAN;
        population_add(&all, v);
        all.s[i].labels = labels[i];
    }
    population_options(&o, CLVOX_DEFORM_NONE);
    o.registration.linear = CLVOX_LINEAR_NONE;
    o.keep_intensities = 1;
    population_build(&all, &o, &r);
    for (size_t k = 0; k < n; k++)
        assert_true(r.labels->data[k] == (k < half ? 2 : 4));
    clvox_atlas_result_destroy(&r);
    o.vote = CLVOX_VOTE_LOCAL;
    population_build(&all, &o, &r);
    size_t ones = 0, fours = 0, flat = 0; /* away from the border of the halves, where windows see both */
    for (size_t k = 0; k < n; k++) {
        ones += k + slices < half && r.labels->data[k] == 1;
        fours += k > half + slices && r.labels->data[k] == 4;
        flat += k >= n - slices && r.labels->data[k] == 4; /* nothing to be like: the majority */
    }
    assert_that(ones > .98 * (double)(half - slices), "%zu of %zu are as in the two", ones, half - slices);
    assert_that(fours > .8 * (double)(half - slices) && flat == slices, "%zu of %zu are as in the three",
                fours, half - slices);
    clvox_atlas_result_destroy(&r);
    for (int i = 0; i < 5; i++)
        clvox_volume_destroy(&labels[i]);
    population_release(&all);
}

/* Through perfect maps every subject gets the template's labels, whether it has some of its own or not. */
static void assert_all_labelled(const clvox_atlas_result *r)
{
    for (int i = 0; i < r->subjects; i++) {
        assert_non_null(r->map[i].labels);
        assert_true(clvox_grid_equal(&r->map[i].labels->grid, &r->labels->grid));
        assert_int_equal(r->map[i].labels->kind, CLVOX_KIND_LABEL);
        assert_memory_equal(r->map[i].labels->data, r->labels->data,
                            clvox_grid_voxels(&r->labels->grid) * sizeof(float));
    }
}

/* Equal weights: the smallest label. Perfect maps: the labels themselves. */
static void ties_and_perfect_maps(void **state)
{
    clvox_grid grid;
    population all = {.count = 0};
    clvox_atlas_options o;
    clvox_atlas_result r;
    clvox_volume *labels[4];
    (void)state;
    clvox_phantom_grid(POPULATION_SIZE, POPULATION_EDGE, true, &grid);
    const size_t n = clvox_grid_voxels(&grid);
    for (int i = 0; i < 4; i++) {
        clvox_volume *v = population_zeros(&grid);
        labels[i] = population_zeros(&grid);
        labels[i]->kind = CLVOX_KIND_LABEL;
        for (size_t k = 0; k < n; k++) {
            v->data[k] = (float)(k * 37 % 101) + (float)i;
            labels[i]->data[k] = i < 2 ? 9 : (float)(4 + k % 3);
        }
        population_add(&all, v);
        all.s[i].labels = labels[i];
    }
    population_options(&o, CLVOX_DEFORM_NONE);
    o.registration.linear = CLVOX_LINEAR_NONE;
    population_build(&all, &o, &r); /* two against two */
    for (size_t k = 0; k < n; k++)
        assert_true(r.labels->data[k] == (float)(4 + k % 3));
    assert_all_labelled(&r);
    clvox_atlas_result_destroy(&r);
    all.s[1].weight = 1 + 1e-6;
    population_build(&all, &o, &r);
    for (size_t k = 0; k < n; k++)
        assert_true(r.labels->data[k] == 9);
    assert_all_labelled(&r);
    clvox_atlas_result_destroy(&r);
    /* 0 is a label like others, and those who have none do not vote. */
    for (size_t k = 0; k < n; k++)
        labels[0]->data[k] = 0;
    all.s[1].labels = all.s[3].labels = NULL;
    population_build(&all, &o, &r);
    for (size_t k = 0; k < n; k++)
        assert_true(r.labels->data[k] == 0);
    assert_all_labelled(&r);
    clvox_atlas_result_destroy(&r);
    /* All the same labels on images that lie as they lie: through any vote the labels come back. */
    for (int i = 0; i < 4; i++)
        all.s[i].labels = labels[2];
    for (o.vote = CLVOX_VOTE_MAJORITY; o.vote <= CLVOX_VOTE_LOCAL; o.vote++) {
        population_build(&all, &o, &r);
        assert_memory_equal(r.labels->data, labels[2]->data, n * sizeof(float));
        assert_all_labelled(&r);
        clvox_atlas_result_destroy(&r);
    }
    for (int i = 0; i < 4; i++)
        clvox_volume_destroy(&labels[i]);
    population_release(&all);
}

/* A value of a volume between voxels, 0 outside. */
static double sample(const clvox_volume *v, int frame, const double at[3])
{
    const int *size = v->grid.size;
    const size_t n = clvox_grid_voxels(&v->grid);
    double sum = 0;
    for (int corner = 0; corner < 8; corner++) {
        double weight = 1;
        size_t index = 0, stride = 1;
        for (int k = 0; k < 3; k++) {
            const int below = (int)floor(at[k]), i = below + (corner >> k & 1);
            weight *= corner >> k & 1 ? at[k] - below : 1 - (at[k] - below);
            weight = i < 0 || i >= size[k] ? 0 : weight;
            index += stride * (size_t)(i < 0 || i >= size[k] ? 0 : i);
            stride *= (size_t)size[k];
        }
        sum += weight * (double)v->data[(size_t)frame * n + index];
    }
    return sum;
}

/* How much of the label 1, 0 to 1, lies in the template where a voxel of the subject is, in plain C; NAN
 * near its border, where maps are continued. */
static double label_there(const clvox_atlas_result *r, int subject, size_t voxel)
{
    const clvox_atlas_map *m = &r->map[subject];
    const int *size = m->labels->grid.size;
    double inverse[4][4], back[4][4], x[3], y[3], at[3];
    const double index[3] = {(double)(voxel % (size_t)size[0]),
                             (double)(voxel / (size_t)size[0] % (size_t)size[1]),
                             (double)(voxel / ((size_t)size[0] * (size_t)size[1]))};
    assert_int_equal(clv_matrix_invert(CLV_MATRIX(m->matrix), inverse), CLVOX_OK);
    assert_int_equal(clv_matrix_invert(CLV_MATRIX(r->labels->grid.to_ras), back), CLVOX_OK);
    clv_matrix_apply(CLV_MATRIX(m->labels->grid.to_ras), index, x);
    clv_matrix_apply(CLV_MATRIX(inverse), x, y);
    for (int step = 0; step < 2; step++) {
        clv_matrix_apply(CLV_MATRIX(back), y, at);
        for (int k = 0; k < 3; k++)
            if (!(at[k] > 1 && at[k] < r->labels->grid.size[k] - 2))
                return NAN;
        for (int k = 0; k < 3 && !step; k++)
            y[k] += sample(m->inverse_warp, k, at);
    }
    return sample(r->labels, 0, at);
}

/* Subjects on an oblique and on another grid, both of anisotropic voxels, of which one has labels. */
static void labels_of_subjects(void **state)
{
    pair p;
    population all = {.count = 0};
    clvox_atlas_options o;
    clvox_atlas_result r;
    clvox_volume *truth = NULL, *u = NULL;
    (void)state;
    clvox_phantom_grid((const int[3]){27, 22, 19}, (const double[3]){2, 2.2, 2.4}, true, &p.fixed_grid);
    clvox_phantom_grid((const int[3]){24, 25, 23}, (const double[3]){2.1, 2, 2}, false, &p.moving_grid);
    clv_matrix_identity(p.matrix);
    p.matrix[0][3] = 4;
    pair_fill(&p, 2, 11);
    population_add(&all, population_copy(p.fixed));
    population_add(&all, population_copy(p.moving));
    population_add(&all, population_copy(p.moving)); /* which is registered once */
    all.s[0].labels = p.labels;
    population_options(&o, CLVOX_DEFORM_SYN);
    population_build(&all, &o, &r);
    assert_true(clvox_grid_equal(&r.map[0].labels->grid, &p.fixed_grid));
    for (int i = 0; i < 2; i++) {
        size_t looked = 0;
        for (size_t v = 0; v < clvox_grid_voxels(&r.map[i].labels->grid); v++) {
            const double share = label_there(&r, i, v);
            if (!(fabs(share - .5) > 1e-3)) /* nobody's */
                continue;
            looked++;
            assert_that(r.map[i].labels->data[v] == (share > .5),
                        "subject %d has %g at %zu, where the template has %g", i,
                        (double)r.map[i].labels->data[v], v, share);
        }
        assert_that(looked > clvox_grid_voxels(&r.map[i].labels->grid) / 4, "%zu voxels compared", looked);
    }
    assert_memory_equal(r.map[1].labels->data, r.map[2].labels->data,
                        clvox_grid_voxels(&p.moving_grid) * sizeof(float));
    /* Labels of the labelled subject, carried by the true map. */
    assert_int_equal(clv_phantom_warp_sample(&p.warp, &p.fixed_grid, false, &u), CLVOX_OK);
    clvox_transform warp = {.is_warp = 1, .warp = u}, affine = {.is_warp = 0};
    clv_matrix_copy(CLV_MATRIX(p.matrix), affine.matrix);
    assert_int_equal(clvox_forward(harness_context(), p.labels, &p.moving_grid,
                                   (const clvox_link[]){{&warp, 0}, {&affine, 0}}, 2, CLVOX_LANDING_MEAN, 0,
                                   &truth),
                     CLVOX_OK);
    double both = 0, sum = 0;
    for (size_t v = 0; v < clvox_grid_voxels(&p.moving_grid); v++) {
        both += r.map[1].labels->data[v] > 0 && truth->data[v] > 0;
        sum += (r.map[1].labels->data[v] > 0) + (truth->data[v] > 0);
    }
    assert_that(2 * both / sum > .9, "Dice %g", 2 * both / sum);
    clvox_atlas_result_destroy(&r);
    o.template_only = 1;
    o.rounds = 1;
    population_build(&all, &o, &r);
    assert_true(r.labels && !r.map[0].labels && !r.map[1].labels);
    clvox_atlas_result_destroy(&r);
    clvox_volume_destroy(&truth);
    clvox_volume_destroy(&u);
    population_release(&all);
    pair_free(&p);
}

int main(void)
{
    harness_open();
    test_case(votes, "the majority's labels, and those of the subjects that are like the template");
    test_case(ties_and_perfect_maps,
              "of equal votes the smallest label; through perfect maps the labels themselves");
    test_case(labels_of_subjects,
              "the template's labels on subjects of oblique and anisotropic grids, labelled or not");
    return test_run("votes", harness_close);
}
