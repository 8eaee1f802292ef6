/* SPDX-License-Identifier: Apache-2.0 */
#include "op/harness.h"
#include "op/surface/redistance.h"
#include "ref/surface/redistance.h"

typedef enum kind { SPHERE, BOX, TORUS, PLANE, TWO, SHEET, WAVY, KINDS } kind;
static const char *const names[] = {"sphere", "box", "torus", "oblique plane", "two spheres",
                                    "sheet one voxel thick", "sphere with slopes from 0.7 to 1.3"};

/* The signed distance in the middle of a grid whose shortest half is `half`. */
static double truth(kind what, const double x[3], double half)
{
    double r = sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2]);
    switch (what) {
    case BOX: {
        double q[3], out = 0;
        for (int a = 0; a < 3; a++) {
            q[a] = fabs(x[a]) - half * (0.45 + 0.1 * a);
            out += q[a] > 0 ? q[a] * q[a] : 0;
        }
        return sqrt(out) + fmin(fmax(q[0], fmax(q[1], q[2])), 0);
    }
    case TORUS:
        return hypot(hypot(x[0], x[1]) - 0.6 * half, x[2]) - 0.27 * half;
    case PLANE:
        return (2 * x[0] - x[1] + 3 * x[2]) / sqrt(14);
    case TWO: {
        double a[3] = {x[0] - 0.45 * half, x[1], x[2]}, b[3] = {x[0] + 0.47 * half, x[1], x[2]};
        return fmin(sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2]),
                    sqrt(b[0] * b[0] + b[1] * b[1] + b[2] * b[2])) -
               0.4 * half;
    }
    case SHEET:
        return fabs(x[2] + 0.3 * x[0]) / sqrt(1.09) - 0.55;
    case WAVY:
        return (r - 0.6 * half) * (1 + 0.3 * sin(x[0] / 2 + x[1] / 3 + x[2] / 5));
    default:
        return r - 0.6 * half;
    }
}

typedef struct scene {
    int size[3];
    float spacing[3];
    size_t voxels;
    float *phi, *got;
    double *truth, *want;
    clv_buffer *in, *out, *scratch;
} scene;

static scene *make(clvox_context *ctx, kind what, const int size[3], const float spacing[3])
{
    scene *s = calloc(1, sizeof *s);
    double half = 1e30;
    s->voxels = (size_t)size[0] * (size_t)size[1] * (size_t)size[2];
    for (int a = 0; a < 3; a++) {
        s->size[a] = size[a];
        s->spacing[a] = spacing[a];
        if (size[a] > 1)
            half = fmin(half, (size[a] - 1) * (double)spacing[a] / 2);
    }
    s->phi = malloc(s->voxels * sizeof *s->phi);
    s->got = malloc(s->voxels * sizeof *s->got);
    s->truth = malloc(s->voxels * sizeof *s->truth);
    s->want = malloc(s->voxels * sizeof *s->want);
    for (size_t i = 0; i < s->voxels; i++) {
        size_t at[3] = {i % (size_t)size[0], i / (size_t)size[0] % (size_t)size[1],
                        i / (size_t)size[0] / (size_t)size[1]};
        double x[3];
        for (int a = 0; a < 3; a++)
            x[a] = ((double)at[a] - (size[a] - 1) * 0.5 + 0.13 * (a + 1)) * (double)spacing[a];
        s->truth[i] = truth(what, x, half);
        s->phi[i] = (float)s->truth[i];
    }
    s->in = harness_upload(ctx, s->phi, s->voxels * sizeof *s->phi);
    s->out = harness_output(ctx, s->voxels * sizeof *s->phi);
    s->scratch = harness_output(ctx, clv_redistance_bytes(size));
    return s;
}

static void drop(scene *s)
{
    clv_buffer_destroy(&s->in);
    clv_buffer_destroy(&s->out);
    clv_buffer_destroy(&s->scratch);
    free(s->phi);
    free(s->got);
    free(s->truth);
    free(s->want);
    free(s);
}

static void run(clvox_context *ctx, scene *s, float reach, int times)
{
    for (int t = 0; t < times; t++) {
        const clv_image image = {.buffer = s->in, .size = {s->size[0], s->size[1], s->size[2]}, .components = 1,
                                 .spacing = {s->spacing[0], s->spacing[1], s->spacing[2]}};
        assert_int_equal(clv_redistance(ctx, &image, reach, s->out, s->scratch), CLVOX_OK);
        if (t + 1 < times) {
            clv_buffer *swap = s->in;
            s->in = s->out;
            s->out = swap;
        }
    }
    harness_download(ctx, s->out, s->got, s->voxels * sizeof *s->got);
}

/* Rounding may choose the other of two equally near points. */
static void against_reference(clvox_context *ctx, kind what, const int size[3], const float spacing[3])
{
    scene *s = make(ctx, what, size, spacing);
    double largest = 0, unlike = 0;
    run(ctx, s, 6, 1);
    ref_redistance(s->phi, size, spacing, 6, s->want);
    for (size_t i = 0; i < s->voxels; i++) {
        double e = fabs((double)s->got[i] - s->want[i]);
        largest = fmax(largest, isnan(e) ? INFINITY : e);
        unlike += !(e < 2e-3);
    }
    assert_that(unlike <= 8 + 0.05 * (double)s->voxels && largest < 0.25,
                "%s %dx%dx%d: %g unlike, largest %g", names[what], size[0], size[1], size[2], unlike,
                largest);
    drop(s);
}

static const clv_entry *const entries[] = {&clv_entry_redistance_near, &clv_entry_redistance_seed,
                                           &clv_entry_redistance_jump, &clv_entry_redistance_finish};

static const int sizes[][3] = {{11, 9, 12}, {1, 1, 1}, {1, 9, 7},    {12, 1, 5},
                               {9, 11, 1},  {2, 2, 2}, {23, 19, 17}, {37, 13, 11}};
static const int tiny_sizes[][3] = {{7, 5, 6}, {1, 1, 1}, {1, 9, 7}, {12, 1, 5}, {9, 8, 1}, {2, 2, 2}};
static const float variants_unit[3] = {1, 1, 1}, oblong[3] = {0.8f, 1.1f, 1.7f};

static void variants_against_the_reference(void **state)
{
    (void)state;
    clvox_context *ctx = harness_context();
    int count = harness_problems(6, 8);
    const int(*use)[3] = count < 8 ? tiny_sizes : sizes;
    for (int i = 0; i < count; i++)
        against_reference(ctx, (kind)(i % KINDS), use[i], i % 2 ? oblong : variants_unit);
}

static void variants(void)
{
    for (int e = 0; e < 4; e++)
        harness_cases(entries[e], variants_against_the_reference, NULL, 0, "against the reference");
}

/* Errors of the zero level and of the distance after `times`. */
typedef struct errors {
    double moved, near, band, steep; /* mean of |phi| < 1; rms there; rms of 1 to 6.5; share off by > 2% */
} errors;

static errors measure(const scene *s)
{
    errors e = {0};
    double beside = 0, others = 0, slopes = 0;
    int nx = s->size[0], plane = nx * s->size[1];
    for (int z = 1; z + 1 < s->size[2]; z++)
        for (int y = 1; y + 1 < s->size[1]; y++)
            for (int x = 1; x + 1 < nx; x++) {
                int i = z * plane + y * nx + x, step[3] = {1, nx, plane};
                double off = (double)s->got[i] - s->truth[i], slope = 0, true_slope = 0;
                if (fabs(s->truth[i]) >= 6.5)
                    continue;
                if (fabs(s->truth[i]) < 1) {
                    e.moved += off;
                    e.near += off * off;
                    beside++;
                } else {
                    e.band += off * off;
                    others++;
                }
                for (int a = 0; a < 3; a++) {
                    double edge = 2 * (double)s->spacing[a];
                    slope += pow(((double)s->got[i + step[a]] - (double)s->got[i - step[a]]) / edge, 2);
                    true_slope += pow((s->truth[i + step[a]] - s->truth[i - step[a]]) / edge, 2);
                }
                if (fabs(s->truth[i]) > 3 || fabs(sqrt(true_slope) - 1) > 0.01)
                    continue; /* a kink, where central differences say nothing */
                e.steep += fabs(sqrt(slope) - 1) > 0.02;
                slopes++;
            }
    e.moved /= fmax(beside, 1);
    e.near = sqrt(e.near / fmax(beside, 1));
    e.band = sqrt(e.band / fmax(others, 1));
    e.steep /= fmax(slopes, 1);
    return e;
}

typedef enum distortion { PLAIN, TWICE, WAVES, BENT } distortion;
static const char *const distorted[] = {"", ", twice as steep", ", slopes from 0.7 to 1.3",
                                        ", flatter away from it"};

/* Another function with the same zero level. */
static void distort(clvox_context *ctx, scene *s, distortion how)
{
    for (size_t i = 0; i < s->voxels; i++) {
        size_t nx = (size_t)s->size[0], ny = (size_t)s->size[1];
        double x = (double)(i % nx), y = (double)(i / nx % ny), z = (double)(i / nx / ny), d = s->truth[i];
        if (how == TWICE)
            d *= 2;
        if (how == WAVES)
            d *= 1 + 0.3 * sin(x / 2 + y / 3 + z / 5);
        if (how == BENT)
            d = 2 * tanh(d / 2);
        s->phi[i] = (float)d;
    }
    assert_ok(clv_buffer_write(ctx, s->in, 0, s->phi, s->voxels * sizeof *s->phi));
}

/* How far the zero level went along the edges of voxels, in voxels, in the mean. */
static double movement(const scene *s)
{
    int nx = s->size[0], step[3] = {1, nx, nx * s->size[1]};
    double sum = 0, count = 0;
    for (int z = 1; z + 1 < s->size[2]; z++)
        for (int y = 1; y + 1 < s->size[1]; y++)
            for (int x = 1; x + 1 < nx; x++)
                for (int a = 0; a < 3; a++) {
                    int i = z * step[2] + y * nx + x, j = i + step[a];
                    double p = (double)s->phi[i], q = (double)s->phi[j];
                    double u = (double)s->got[i], v = (double)s->got[j];
                    if ((p < 0) == (q < 0))
                        continue;
                    assert_true((u < 0) == (p < 0) && (v < 0) == (q < 0));
                    sum += fabs(p / (p - q) - u / (u - v)) * fabs(q - p);
                    count++;
                }
    return sum / count;
}

static const kind whats[] = {SPHERE, TORUS, BOX, TWO, PLANE};
static const float stays_unit[3] = {1, 1, 1};

static void ten_times_over_the_zero_level_stays(void **state)
{
    const int *given = *state;
    size_t r = (size_t)given[0];
    clvox_context *ctx = harness_context();
    scene *s = make(ctx, whats[r], (const int[]){45, 42, 39}, stays_unit);
    run(ctx, s, 8, 10);
    double moved = movement(s);
    assert_that(moved <= (whats[r] == BOX ? 0.002 : 2e-5), "moved %.5f", moved);
    drop(s);
}

static void stays(void)
{
    for (size_t r = 0; r < sizeof whats / sizeof *whats; r++)
        test_case_at(ten_times_over_the_zero_level_stays, TEST_AT((int)r),
                     "%s: ten times over the zero level stays", names[whats[r]]);
}

static const struct row {
    kind what;
    int times;
    double moved, near, band, steep;
    distortion how;
} rows[] = {
    {SPHERE, 1, 1e-5, 1e-5, 4e-3, 0, PLAIN},      {SPHERE, 10, 1e-5, 1e-5, 4e-3, 0, PLAIN},
    {TORUS, 1, 1e-5, 1e-4, 4e-3, 1e-3, PLAIN},    {TORUS, 10, 1e-5, 1e-4, 4e-3, 1e-3, PLAIN},
    {BOX, 1, 1e-3, 5e-3, 0.065, 0.02, PLAIN},     {BOX, 10, 3e-3, 0.03, 0.08, 0.025, PLAIN},
    {TWO, 10, 1e-5, 1e-5, 7e-3, 0.015, PLAIN},    {PLANE, 10, 1e-5, 1e-4, 1e-3, 0, PLAIN},
    {SPHERE, 1, 1e-4, 1e-3, 5e-3, 1e-3, TWICE},   {TORUS, 1, 3e-4, 2e-3, 9e-3, 2e-3, TWICE},
    {SPHERE, 1, 1e-3, 0.01, 0.012, 0.02, WAVES},  {TORUS, 1, 1e-3, 0.01, 0.012, 0.02, WAVES},
    {SPHERE, 2, 1e-3, 0.01, 0.012, 0.005, WAVES}, {PLANE, 1, 1e-3, 0.01, 0.08, 0.02, WAVES},
    {SPHERE, 1, 3e-3, 0.02, 0.02, 0.15, BENT},    {SPHERE, 2, 3e-3, 0.02, 0.02, 0.1, BENT},
};
static const float spacings[][3] = {{1, 1, 1}, {0.9f, 1, 1.2f}};

static void times_over(void **state)
{
    const int *given = *state;
    size_t r = (size_t)given[0];
    int a = given[1];
    clvox_context *ctx = harness_context();
    scene *s = make(ctx, rows[r].what, (const int[]){37, 34, 31}, spacings[a]);
    distort(ctx, s, rows[r].how);
    run(ctx, s, 8, rows[r].times);
    errors e = measure(s);
    bool good = fabs(e.moved) <= rows[r].moved && e.near <= rows[r].near && e.band <= rows[r].band &&
                e.steep <= rows[r].steep;
    assert_that(good, "moved %.5f, near %.5f, band %.5f, steep %.4f", e.moved, e.near, e.band, e.steep);
    drop(s);
}

static void accuracy(void)
{
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
        for (int a = 0; a < 2; a++)
            test_case_at(times_over, TEST_AT((int)r, a), "%s%s%s, %d times over", names[rows[r].what],
                         distorted[rows[r].how], a ? ", oblong voxels" : "", rows[r].times);
}

static const float corners_unit[3] = {1, 1, 1};
static int corners_size[3] = {13, 11, 12};

static void no_zero_level_reach_everywhere(void **state)
{
    (void)state;
    clvox_context *ctx = harness_context();
    scene *s = make(ctx, SPHERE, corners_size, corners_unit);
    for (int sign = -1; sign <= 1; sign += 2) {
        for (size_t i = 0; i < s->voxels; i++)
            s->phi[i] = (float)sign * (float)(1 + i % 5);
        assert_ok(clv_buffer_write(ctx, s->in, 0, s->phi, s->voxels * sizeof *s->phi));
        run(ctx, s, 4, 1);
        for (size_t i = 0; i < s->voxels; i++)
            assert_true(s->got[i] == (float)sign * 4);
    }
    drop(s);
}

static void nan_and_infinity_nan_lies_outside_nothing(void **state)
{
    (void)state;
    clvox_context *ctx = harness_context();
    scene *s = make(ctx, SPHERE, corners_size, corners_unit);
    for (size_t i = 0; i < s->voxels; i++)
        if (i % 97 == 0)
            s->phi[i] = i % 2 ? NAN : s->phi[i] < 0 ? -INFINITY : INFINITY;
    assert_ok(clv_buffer_write(ctx, s->in, 0, s->phi, s->voxels * sizeof *s->phi));
    run(ctx, s, 4, 1);
    for (size_t i = 0; i < s->voxels; i++) {
        assert_true(fabsf(s->got[i]) <= 4);
        assert_true((s->got[i] < 0) == (s->phi[i] < 0));
    }
    drop(s);
}

static void the_same_bits_twice(void **state)
{
    (void)state;
    clvox_context *ctx = harness_context();
    scene *s = make(ctx, BOX, corners_size, corners_unit);
    float *first = malloc(s->voxels * sizeof *first);
    run(ctx, s, 6, 1);
    memcpy(first, s->got, s->voxels * sizeof *first);
    run(ctx, s, 6, 1);
    assert_memory_equal(first, s->got, s->voxels * sizeof *first);
    free(first);
    drop(s);
}

static void an_axis_that_is_too_long_is_refused(void **state)
{
    (void)state;
    clvox_context *ctx = harness_context();
    scene *s = make(ctx, SPHERE, (const int[]){1, 1, 1}, corners_unit);
    const clv_image image = {.buffer = s->in, .size = {2041, 1, 1}, .spacing = {1, 1, 1}, .components = 1};
    assert_int_equal(clv_redistance(ctx, &image, 4, s->out, s->scratch), CLVOX_ERROR_ARGUMENT);
    drop(s);
}

static void corners(void)
{
    test_case(no_zero_level_reach_everywhere, "no zero level: reach everywhere");
    test_case(nan_and_infinity_nan_lies_outside_nothing,
              "NaN and infinity: NaN lies outside, nothing spreads");
    test_case(the_same_bits_twice, "the same bits twice");
    test_case(an_axis_that_is_too_long_is_refused, "an axis that is too long is refused");
}

int main(void)
{
    harness_open();
    variants();
    if (!getenv("CLVOX_TEST_TINY")) {
        stays();
        accuracy();
    } else {
        memcpy(corners_size, (const int[3]){7, 5, 6}, sizeof corners_size);
    }
    corners();
    return test_run("redistance", harness_close);
}
