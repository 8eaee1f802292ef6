/* SPDX-License-Identifier: Apache-2.0 */
/* Motion in series of a phantom head that was moved by known maps. */
#include "base/matrix.h"
#include "clvox/series.h"
#include "io/volume/orientation.h"
#include "op/harness.h"
#include "phantom/phantom.h"
#include "series/series.h"

static clvox_context *ctx;

enum { MOST = 12 };
static const int SIZE[3] = {23, 27, 17};
static const double EDGE[3] = {3.75, 3.5, 5};

/* A series, and where each frame's head went. */
typedef struct scan {
    clvox_volume *series;
    double truth[MOST][4][4];
    clv_phantom phantom;
} scan;

static void rotation(const double angle[3], double out[3][3])
{
    const double s[3] = {sin(angle[0]), sin(angle[1]), sin(angle[2])},
                 c[3] = {cos(angle[0]), cos(angle[1]), cos(angle[2])};
    const double x[3][3] = {{1, 0, 0}, {0, c[0], -s[0]}, {0, s[0], c[0]}};
    const double y[3][3] = {{c[1], 0, s[1]}, {0, 1, 0}, {-s[1], 0, c[1]}};
    const double z[3][3] = {{c[2], -s[2], 0}, {s[2], c[2], 0}, {0, 0, 1}};
    clv_matrix3_multiply(z, y, out);
    clv_matrix3_multiply(CLV_MATRIX3(out), x, out);
}

/* The grid's centre is the world's origin. */
static void rigid(const double angle[3], const double shift[3], double out[4][4])
{
    double turn[3][3];
    rotation(angle, turn);
    clv_matrix_identity(out);
    for (int i = 0; i < 3; i++) {
        out[i][3] = shift[i];
        for (int j = 0; j < 3; j++)
            out[i][j] = turn[i][j];
    }
}

/* A slow drift, a start, and noise; frame 0 has not moved. */
static void motion(int i, double angle[3], double shift[3])
{
    for (int a = 0; a < 3; a++) {
        double jump = i > 3 ? 1 : 0;
        angle[a] = i ? .01 * sin(.9 * i + a) - .01 * sin(a) + .02 * jump * (a - 1) : 0;
        shift[a] =
            i ? .6 * sin(.7 * i + 2 * a) - .6 * sin(2 * a) + 2 * jump * (a == 1) - 1.5 * jump * (a == 2) : 0;
    }
}

/* Exposure of a scan's voxels: the mean of eight positions. */
static void expose(const clv_phantom *phantom, const clvox_grid *grid, const double matrix[4][4],
                   uint64_t seed, float *out)
{
    clvox_grid fine = *grid;
    clvox_volume *image;
    const int *n = grid->size, *m = fine.size;
    const double first[3] = {-.25, -.25, -.25};
    double corner[3];
    clv_matrix_apply(CLV_MATRIX(grid->to_ras), first, corner);
    for (int i = 0; i < 3; i++) {
        fine.size[i] *= 2;
        fine.to_ras[i][3] = corner[i];
        for (int j = 0; j < 3; j++)
            fine.to_ras[i][j] /= 2;
    }
    assert_ok(clv_phantom_image(phantom, &fine, matrix, NULL, seed, &image));
    for (int z = 0; z < m[2]; z++)
        for (int y = 0; y < m[1]; y++)
            for (int x = 0; x < m[0]; x++)
                out[(z / 2 * n[1] + y / 2) * n[0] + x / 2] += image->data[(z * m[1] + y) * m[0] + x] / 8;
    clvox_volume_destroy(&image);
}

/* weighted: frames but those of multiples of 4 have another contrast, with directions' own shading. */
static void make(scan *s, int frames, bool oblique, double noise, bool weighted)
{
    clvox_grid grid;
    clvox_phantom_grid(SIZE, EDGE, oblique, &grid);
    size_t n = clvox_grid_voxels(&grid);
    assert_ok(clv_phantom_make(CLVOX_PHANTOM_TEXTURED, &grid, 7, noise, &s->phantom));
    assert_ok(clvox_volume_create(&grid, frames, CLVOX_KIND_SCALAR, &s->series));
    s->series->frame_seconds = 2.25;
    for (int i = 0; i < frames; i++) {
        double angle[3], shift[3], inverse[4][4];
        float *frame = s->series->data + (size_t)i * n;
        motion(i, angle, shift);
        rigid(angle, shift, s->truth[i]);
        assert_ok(clv_matrix_invert(CLV_MATRIX(s->truth[i]), inverse));
        expose(&s->phantom, &grid, CLV_MATRIX(inverse), (uint64_t)(100 + i), frame);
        for (size_t k = 0; k < n && weighted && i % 4; k++)
            frame[k] = frame[k] > 100 ? 500 - .6f * frame[k] : 4.4f * frame[k];
    }
}

static void release(scan *s)
{
    clvox_volume_destroy(&s->series);
    clv_phantom_free(&s->phantom);
}

/* Largest distance of the frames' maps from the truth, as rms over a ball of 35 mm, the head, both from frame
 * `from`. */
static double error(const scan *s, const clvox_series_result *r, int from, double *mean)
{
    double most = 0, sum = 0;
    const double origin[3] = {0, 0, 0};
    double back[4][4], truth[4][4], found[4][4];
    for (int i = 0; i < r->frames; i++) {
        assert_ok(clv_matrix_invert(CLV_MATRIX(s->truth[from]), back));
        clv_matrix_multiply(CLV_MATRIX(s->truth[i]), CLV_MATRIX(back), truth);
        assert_ok(clv_matrix_invert(CLV_MATRIX(r->frame[from].matrix), back));
        clv_matrix_multiply(CLV_MATRIX(r->frame[i].matrix), CLV_MATRIX(back), found);
        double d = clv_series_rms(CLV_MATRIX(truth), CLV_MATRIX(found), origin, 35);
        most = fmax(most, d);
        sum += d;
    }
    *mean = sum / (r->frames - 1);
    return most;
}

static double root_mean_square(const clvox_volume *v, int a, int b)
{
    size_t n = clvox_grid_voxels(&v->grid);
    double sum = 0;
    for (size_t k = 0; k < n; k++) {
        double d = (double)v->data[(size_t)a * n + k] - (double)v->data[(size_t)b * n + k];
        sum += d * d / (double)n;
    }
    return sqrt(sum);
}

static void known_motion(void **state)
{
    const int *given = *state;
    clvox_series_options o;
    clvox_series_result r;
    scan s;
    double mean;
    make(&s, 8, true, 20, false);
    clvox_series_defaults(&o);
    o.target = (clvox_series_target)given[0];
    o.reference = given[1];
    o.metric = (clvox_metric)given[2];
    o.linear = (clvox_linear)given[3];
    assert_ok(clvox_register_series(ctx, s.series, NULL, NULL, NULL, &o, &r));
    double most = error(&s, &r, o.reference < 0 ? 4 : o.reference, &mean);
    printf("# %.4f mm, at most %.4f mm\n", mean, most);
    assert_int_equal(r.reference, o.reference < 0 ? 4 : o.reference);
    /* Voxels of 4 mm, and a head of 8 voxels' radius. */
    assert_that(most < (given[3] == CLVOX_LINEAR_RIGID ? .2 : .8), "%g mm", most);
    assert_int_equal(r.frames, 8);
    assert_int_equal(r.corrected->frames, 8);
    assert_true(r.corrected->frame_seconds == 2.25 && clvox_grid_equal(&r.corrected->grid, &s.series->grid));
    assert_int_equal(r.moved, 7); /* the phantom is never still; the first frame comes from nowhere */
    assert_int_equal(r.empty + r.unlike, 0);
    double before = root_mean_square(s.series, 0, 7), after = root_mean_square(r.corrected, 0, 7);
    assert_that(after < .5 * before, "%g, before %g", after, before);
    /* No value below those that there were. */
    float least = 0;
    for (size_t k = 0; k < 8 * clvox_grid_voxels(&s.series->grid); k++)
        least = fminf(least, s.series->data[k]);
    for (size_t k = 0; k < 8 * clvox_grid_voxels(&s.series->grid); k++)
        assert_true(r.corrected->data[k] >= least);
    clvox_series_result_destroy(&r);
    assert_null(r.corrected);
    release(&s);
}

/* A head that the field of view cuts, on every side or between slices alone, as it is and with a border of
 * NaN or of zeros: what smoothing takes from beyond the border stays with the scanner and does not hold the
 * head back. */
static void a_head_cut_off(void **state)
{
    static const int WIDE[3] = {37, 41, 31}, CUT[][3] = {{25, 27, 19}, {37, 41, 15}};
    static const double EDGES[3] = {2.5, 2.5, 2.5};
    enum { FRAMES = 6, BORDERS = 3 };
    clvox_series_options o;
    clvox_series_result r;
    (void)state;
    clvox_series_defaults(&o);
    o.reference = 0;
    for (int c = 0; c < 2; c++)
        for (int border = 0; border < BORDERS; border++) {
            scan s;
            clvox_grid wide, grid;
            double mean;
            clvox_phantom_grid(WIDE, EDGES, false, &wide);
            clvox_phantom_grid(CUT[c], EDGES, false, &grid);
            size_t n = clvox_grid_voxels(&grid);
            assert_ok(clv_phantom_make(CLVOX_PHANTOM_TEXTURED, &wide, 7, 10, &s.phantom));
            assert_ok(clvox_volume_create(&grid, FRAMES, CLVOX_KIND_SCALAR, &s.series));
            for (int i = 0; i < FRAMES; i++) {
                double angle[3], shift[3], inverse[4][4];
                motion(i, angle, shift);
                rigid(angle, shift, s.truth[i]);
                assert_ok(clv_matrix_invert(CLV_MATRIX(s.truth[i]), inverse));
                expose(&s.phantom, &grid, CLV_MATRIX(inverse), (uint64_t)(100 + i),
                       s.series->data + (size_t)i * n);
            }
            for (size_t k = 0; k < FRAMES * n && border; k++) {
                size_t at = k % n;
                bool outside = false;
                for (int a = 0; a < 3; at /= (size_t)CUT[c][a++]) {
                    const int i = (int)(at % (size_t)CUT[c][a]);
                    outside = outside || i < 2 || i >= CUT[c][a] - 2;
                }
                if (outside)
                    s.series->data[k] = border == 1 ? NAN : 0;
            }
            assert_ok(clvox_register_series(ctx, s.series, NULL, NULL, NULL, &o, &r));
            double most = error(&s, &r, 0, &mean);
            printf("# cut %d, border %d: %.4f mm, at most %.4f mm\n", c, border, mean, most);
            assert_that(most < .1, "cut %d, border %d: %g mm", c, border, most);
            clvox_series_result_destroy(&r);
            release(&s);
        }
}

/* Frames without contents keep their place; one with holes is registered all the same. */
static void bad_frames(void **state)
{
    clvox_series_options o;
    clvox_series_result r;
    scan s;
    double mean;
    (void)state;
    make(&s, 6, false, 20, false);
    size_t n = clvox_grid_voxels(&s.series->grid);
    for (size_t k = 0; k < n; k++) {
        s.series->data[k] = NAN;
        s.series->data[4 * n + k] = 3;
    }
    for (size_t k = 2 * n; k < 2 * n + n / 12; k++)
        s.series->data[k] = k & 1 ? NAN : INFINITY;
    s.series->data[5 * n + n / 2] = NAN;
    clvox_series_defaults(&o);
    o.metric = CLVOX_METRIC_NCC;
    assert_ok(clvox_register_series(ctx, s.series, NULL, NULL, NULL, &o, &r));
    assert_int_equal(r.reference, 3);
    assert_int_equal(r.empty, 2);
    assert_true(r.frame[0].flags == CLVOX_FRAME_EMPTY && r.frame[4].flags == CLVOX_FRAME_EMPTY);
    assert_true(isnan(r.frame[0].framewise_mm) && isnan(r.frame[4].framewise_mm) &&
                isnan(r.frame[1].framewise_mm));
    assert_memory_equal(r.frame[0].matrix, r.frame[1].matrix, sizeof r.frame[0].matrix);
    assert_memory_equal(r.frame[4].matrix, r.frame[3].matrix, sizeof r.frame[0].matrix);
    /* The jump over the empty frame counts. */
    assert_true(r.frame[5].framewise_mm > .5 && r.frame[5].flags & CLVOX_FRAME_MOVED);
    memcpy(s.truth[0], s.truth[1], sizeof s.truth[0]);
    memcpy(s.truth[4], s.truth[3], sizeof s.truth[0]);
    double most = error(&s, &r, 3, &mean);
    assert_that(most < .25, "%g mm", most);
    assert_true(isnan(r.corrected->data[n / 2]) && r.corrected->data[4 * n + n / 2] == 3);
    for (size_t k = 0; k < n; k++)
        assert_true(isfinite(r.mean->data[k]));
    clvox_series_result_destroy(&r);
    o.reference = 4;
    assert_int_equal(clvox_register_series(ctx, s.series, NULL, NULL, NULL, &o, &r), CLVOX_ERROR_DATA);
    assert_non_null(strstr(clvox_message(), "frame 4"));
    o.reference = 6;
    assert_int_equal(clvox_register_series(ctx, s.series, NULL, NULL, NULL, &o, &r), CLVOX_ERROR_ARGUMENT);
    o.reference = -1;
    o.interpolation = CLVOX_INTERPOLATE_LABEL;
    assert_int_equal(clvox_register_series(ctx, s.series, NULL, NULL, NULL, &o, &r), CLVOX_ERROR_ARGUMENT);
    o.interpolation = CLVOX_INTERPOLATE_CUBIC;
    s.series->frames = 1;
    assert_int_equal(clvox_register_series(ctx, s.series, NULL, NULL, NULL, &o, &r), CLVOX_ERROR_ARGUMENT);
    assert_non_null(strstr(clvox_message(), "one frame"));
    /* Two frames, of which one is a reference: the other one's map is found. */
    s.series->frames = 2;
    memcpy(s.series->data, s.series->data + 5 * n, n * sizeof(float));
    memcpy(s.truth[0], s.truth[5], sizeof s.truth[0]);
    assert_ok(clvox_register_series(ctx, s.series, NULL, NULL, NULL, &o, &r));
    assert_int_equal(r.reference, 1);
    assert_true(error(&s, &r, 1, &mean) < .25);
    clvox_series_result_destroy(&r);
    for (size_t k = 0; k < 2 * n; k++)
        s.series->data[k] = 7;
    assert_int_equal(clvox_register_series(ctx, s.series, NULL, NULL, NULL, &o, &r), CLVOX_ERROR_DATA);
    assert_null(r.frame);
    release(&s);
}

/* Slices without signal in one frame: it is reported, and no other. */
static void a_frame_unlike_the_others(void **state)
{
    clvox_series_options o;
    clvox_series_result r;
    scan s;
    (void)state;
    make(&s, 7, false, 20, false);
    size_t n = clvox_grid_voxels(&s.series->grid), slice = (size_t)SIZE[0] * (size_t)SIZE[1];
    for (size_t k = 5 * n + 7 * slice; k < 5 * n + 10 * slice; k++)
        s.series->data[k] *= .1f;
    clvox_series_defaults(&o);
    o.outlier_mm = 1000;
    o.reference = 2;
    assert_ok(clvox_register_series(ctx, s.series, NULL, NULL, NULL, &o, &r));
    for (int i = 0; i < 7; i++)
        assert_that(r.frame[i].flags == (i == 5 ? CLVOX_FRAME_UNLIKE : 0), "frame %d: %u, likeness %g", i,
                    r.frame[i].flags, r.frame[i].likeness);
    assert_true(r.unlike == 1 && r.moved == 0 && isnan(r.frame[2].likeness));
    clvox_series_result_destroy(&r);
    release(&s);
}

/* Weighted frames of another contrast between those without; directions come with the head. */
static void weighted(void **state)
{
    enum { FRAMES = 9 };
    clvox_series_options o;
    clvox_series_result r;
    scan s;
    double mean, b[FRAMES], direction[FRAMES][3];
    clvox_gradients gradients = {.count = FRAMES, .b = b, .direction = direction};
    (void)state;
    make(&s, FRAMES, true, 10, true);
    for (int i = 0; i < FRAMES; i++) {
        const double d[3] = {i % 4 ? sin(i) : 0, i % 4 ? .6 * cos(i) : 0, i % 4 ? .8 * cos(i) : 0};
        b[i] = i % 4 ? 1000 + 5 * i : 0;
        memcpy(direction[i], d, sizeof d);
    }
    clvox_series_defaults(&o);
    assert_ok(clvox_register_series(ctx, s.series, NULL, NULL, &gradients, &o, &r));
    double most = error(&s, &r, 0, &mean);
    printf("# %.4f mm, at most %.4f mm\n", mean, most);
    assert_int_equal(r.reference, 0);
    assert_that(most < .6, "%g mm", most);
    for (int i = 0; i < FRAMES; i++) {
        /* A direction d of the scanner is R' d in a head turned by R. */
        double off = 0;
        for (int a = 0; a < 3; a++) {
            double want = 0;
            for (int k = 0; k < 3; k++)
                want += s.truth[i][k][a] * direction[i][k];
            off = fmax(off, fabs(want - r.gradients->direction[i][a]));
        }
        assert_that(off < .012, "frame %d: %g", i, off);
        assert_true(r.gradients->b[i] == b[i]);
    }
    clvox_series_result_destroy(&r);
    o.reference = 1;
    assert_int_equal(clvox_register_series(ctx, s.series, NULL, NULL, &gradients, &o, &r),
                     CLVOX_ERROR_ARGUMENT);
    assert_non_null(strstr(clvox_message(), "weighted"));
    release(&s);
}

/* A reference of its own grid and place in the world, a mask on yet another one; axes stored otherwise. */
static void reference_and_mask(void **state)
{
    clvox_series_options o;
    clvox_series_result r, other;
    scan s;
    clvox_grid grid;
    clvox_volume *reference, *mask, *flipped;
    double mean;
    (void)state;
    make(&s, 3, true, 10, false);
    const int size[3] = {29, 31, 28};
    const double edge[3] = {3, 3, 3};
    clvox_phantom_grid(size, edge, false, &grid);
    assert_ok(clv_phantom_image(&s.phantom, &grid, NULL, NULL, 5, &reference));
    assert_ok(clv_phantom_labels(&s.phantom, &grid, NULL, NULL, &mask));
    clvox_series_defaults(&o);
    o.linear = CLVOX_LINEAR_SIMILARITY;
    assert_ok(clvox_register_series(ctx, s.series, reference, mask, NULL, &o, &r));
    assert_int_equal(r.reference, -1);
    const double origin[3] = {0, 0, 0};
    for (int i = 0; i < 3; i++) {
        double d = clv_series_rms(CLV_MATRIX(r.frame[i].matrix), CLV_MATRIX(s.truth[i]), origin, 35);
        assert_that(d < .4, "frame %d: %g mm", i, d);
    }
    assert_true(clvox_grid_equal(&r.corrected->grid, &s.series->grid));
    /* The same scan, its second axis stored backwards and exchanged with the first one. */
    clv_orientation turned = {.axis = {1, 0, 2}, .flipped = {true, false, false}};
    assert_ok(clv_orientation_volume(s.series, &turned, NULL, &flipped));
    assert_ok(clvox_register_series(ctx, flipped, reference, mask, NULL, &o, &other));
    for (int i = 0; i < 3; i++)
        assert_true(clv_series_rms(CLV_MATRIX(r.frame[i].matrix), CLV_MATRIX(other.frame[i].matrix), origin,
                                   35) < 1e-3);
    assert_true(fabs(r.frame[2].rotation[0] - other.frame[2].rotation[0]) < 1e-4);
    clvox_series_result_destroy(&other);
    clvox_series_result_destroy(&r);
    clvox_volume_destroy(&flipped);
    clvox_volume_destroy(&reference);
    clvox_volume_destroy(&mask);
    (void)mean;
    release(&s);
}

/* The displacements against their definitions: a ball sampled densely, and numbers by hand. */
static void displacements(void **state)
{
    enum { SIDE = 60 };
    const double angle[3] = {.03, -.02, .05}, shift[3] = {1, -2, .5}, center[3] = {10, -5, 7};
    double a[4][4], b[4][4], sum = 0;
    int inside = 0, shell[3] = {0, 0, 0};
    (void)state;
    rigid(angle, shift, a);
    clv_matrix_identity(b);
    for (int i = 0; i < SIDE * SIDE * SIDE; i++) {
        const double t[3] = {i % SIDE, i / SIDE % SIDE, i / SIDE / SIDE};
        double x[3], y[3], r = 0, d = 0;
        for (int k = 0; k < 3; k++) {
            x[k] = 80 * ((t[k] + .5) / SIDE * 2 - 1);
            r += x[k] * x[k];
            x[k] += center[k];
        }
        if (r > 80 * 80)
            continue;
        clv_matrix_apply(CLV_MATRIX(a), x, y);
        for (int k = 0; k < 3; k++)
            d += (y[k] - x[k]) * (y[k] - x[k]);
        sum += d;
        inside++;
    }
    double rms = clv_series_rms(CLV_MATRIX(a), CLV_MATRIX(b), center, 80);
    assert_that(fabs(rms - sqrt(sum / inside)) < .003 * rms, "%g and %g", rms, sqrt(sum / inside));
    clvox_series_frame frame[3] = {{.likeness = 1}, {.likeness = 1}, {.likeness = 1}};
    clvox_series_result r = {.frame = frame, .frames = 3};
    clvox_series_options o;
    clvox_grid grid;
    clvox_phantom_grid(SIZE, EDGE, true, &grid);
    clvox_series_defaults(&o);
    o.head_mm = 40;
    clv_matrix_identity(frame[0].matrix);
    clv_matrix_copy(CLV_MATRIX(a), frame[1].matrix);
    clv_matrix_copy(CLV_MATRIX(a), frame[2].matrix);
    assert_ok(clv_series_motion(&o, &grid, shell, 1, &r));
    assert_true(isnan(frame[0].framewise_mm) && frame[2].framewise_mm < 1e-12);
    for (int k = 0; k < 3; k++)
        assert_true(fabs(frame[1].rotation[k] - angle[k]) < 1e-9 &&
                    fabs(frame[1].shift_mm[k] - shift[k]) < 1e-9 && fabs(r.center[k]) < 1e-9);
    assert_true(fabs(frame[1].framewise_mm - (3.5 + 40 * .1)) < 1e-9);
    assert_true(r.moved == 1 && fabs(r.mean_framewise_mm - 3.75) < 1e-9);
}

static int give_up(void *user, const clvox_step *step)
{
    int *calls = user;
    assert_true(step->fraction > 0 && step->fraction <= 1);
    return ++*calls == 2;
}

static void stops(void **state)
{
    clvox_series_options o;
    clvox_series_result r;
    scan s;
    int calls = 0;
    (void)state;
    make(&s, 4, false, 10, false);
    clvox_series_defaults(&o);
    o.progress = give_up;
    o.user = &calls;
    assert_int_equal(clvox_register_series(ctx, s.series, NULL, NULL, NULL, &o, &r), CLVOX_ERROR_STOPPED);
    assert_true(calls == 2 && !r.frame && !r.corrected);
    release(&s);
}

int main(void)
{
    ctx = harness_open();
    test_case_at(known_motion, TEST_AT(CLVOX_SERIES_REFERENCE, 0, CLVOX_METRIC_NCC, CLVOX_LINEAR_RIGID),
                 "known motion, to the first frame");
    test_case_at(known_motion, TEST_AT(CLVOX_SERIES_MEAN, -1, CLVOX_METRIC_NCC, CLVOX_LINEAR_RIGID),
                 "known motion, to the mean");
    test_case_at(known_motion, TEST_AT(CLVOX_SERIES_REFERENCE, -1, CLVOX_METRIC_MI, CLVOX_LINEAR_AFFINE),
                 "known motion, affine by mi");
    test_case(a_head_cut_off, "a head that the field of view cuts, borders of NaN and zeros");
    test_case(bad_frames, "empty frames, frames with holes, one frame, two frames");
    test_case(a_frame_unlike_the_others, "a frame that has lost its signal is reported as unlike the others");
    test_case(weighted, "weighted frames, and their directions");
    test_case(reference_and_mask, "a reference and a mask on grids of their own");
    test_case(displacements, "displacements are those of their definitions");
    test_case(stops, "stops when told to");
    return test_run("series", harness_close);
}
