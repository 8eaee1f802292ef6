/* SPDX-License-Identifier: Apache-2.0 */
#include "op/harness.h"
#include "op/surface/level_distance.h"
#include "op/surface/redistance.h"
#include "ref/surface/level_distance.h"

typedef enum kind { BALL, MASK, STEEP, HOLED, NOISY_MASK, KINDS } kind;

static float value_of(kind what, const int size[3], const float spacing[3], int x, int y, int z,
                      unsigned *random)
{
    double half = 1e30, square = 0;
    const int at[3] = {x, y, z};
    for (int a = 0; a < 3; a++)
        half = size[a] > 1 ? fmin(half, (size[a] - 1) * (double)spacing[a] / 2) : half;
    for (int a = 0; a < 3; a++)
        square += size[a] > 1 ? pow((at[a] - (size[a] - 1) * 0.47) * (double)spacing[a], 2) : 0;
    double depth = 0.62 * half - sqrt(square);
    *random = *random * 1664525u + 1013904223u;
    switch (what) {
    case MASK:
        return depth > 0 ? 1 : 0;
    case STEEP:
        return (float)(1000 * tanh(depth / 2)); /* iso 0.5 is all but 0 */
    case HOLED:
        return (*random >> 8) % 37 == 0 ? NAN : (float)depth;
    case NOISY_MASK:
        return depth + 2 * ((double)(*random >> 8) / (1 << 24) - 0.5) > 0 ? 1 : 0;
    default:
        return (float)depth;
    }
}

/* Beyond the border the kernel goes on, which the reference does not: voxels
 * nearer to the border than to the level are only held to be no farther. */
static void against_reference(clvox_context *ctx, kind what, const int size[3], const float spacing[3])
{
    size_t n = (size_t)size[0] * (size_t)size[1] * (size_t)size[2];
    float *values = malloc(n * sizeof *values), *got = malloc(n * sizeof *got);
    double *want = malloc(n * sizeof *want), low = 0, high = 0;
    unsigned random = 7;
    const double edge = fmin((double)spacing[0], fmin((double)spacing[1], (double)spacing[2])), reach = 5;
    for (size_t i = 0; i < n; i++)
        values[i] = value_of(what, size, spacing, (int)(i % (size_t)size[0]),
                             (int)(i / (size_t)size[0] % (size_t)size[1]),
                             (int)(i / (size_t)size[0] / (size_t)size[1]), &random);
    clv_buffer *in = harness_upload(ctx, values, n * sizeof *values);
    clv_buffer *out = harness_output(ctx, n * sizeof *got);
    clv_buffer *scratch = harness_output(ctx, clv_redistance_bytes(size));
    const clv_image image = {.buffer = in, .size = {size[0], size[1], size[2]}, .components = 1,
                             .spacing = {spacing[0], spacing[1], spacing[2]}};
    assert_int_equal(clv_level_distance(ctx, &image, 0.5f, (float)reach, out, scratch), CLVOX_OK);
    harness_download(ctx, out, got, n * sizeof *got);
    ref_level(values, size, spacing, 0.5, reach, 4, want);
    for (size_t i = 0; i < n; i++) {
        size_t at[3] = {i % (size_t)size[0], i / (size_t)size[0] % (size_t)size[1],
                        i / (size_t)size[0] / (size_t)size[1]};
        double border = 1e30, off = fabs((double)got[i]) - fabs(want[i]);
        for (int a = 0; a < 3; a++) {
            double to = (double)spacing[a] * fmin((double)at[a], size[a] - 1 - (double)at[a]);
            border = size[a] > 1 ? fmin(border, to) : border;
        }
        assert_true((got[i] < 0) == (values[i] > 0.5f));
        high = fmax(high, isnan(off) ? INFINITY : off / edge);
        /* The reference's points lie up to a quarter of a voxel from the nearest place. */
        double apart = 0.25 * fmax((double)spacing[0], fmax((double)spacing[1], (double)spacing[2]));
        double least = sqrt(fmax(want[i] * want[i] - apart * apart, 0));
        if (border > fabs(want[i]))
            low = fmax(low, (least - fabs((double)got[i])) / edge);
    }
    assert_that(high < 0.12 && low < 0.01, "kind %d, %dx%dx%d: too far by %g, too near by %g voxels", what,
                size[0], size[1], size[2], high, low);
    clv_buffer_destroy(&in);
    clv_buffer_destroy(&out);
    clv_buffer_destroy(&scratch);
    free(values);
    free(got);
    free(want);
}

static const clv_entry *const entries[] = {&clv_entry_level_distance_near, &clv_entry_level_distance_finish};
static const int sizes[][3] = {{9, 10, 11}, {1, 1, 1},    {1, 9, 7},   {9, 11, 1},
                               {2, 2, 2},   {17, 13, 11}, {19, 17, 13}};
static const int tiny_sizes[][3] = {{7, 5, 6}, {1, 1, 1}, {1, 9, 7}, {9, 8, 1}, {2, 2, 2}};
static const float unit[3] = {1, 1, 1}, oblong[3] = {0.8f, 1.1f, 1.7f};

static void against_the_reference(void **state)
{
    (void)state;
    clvox_context *ctx = harness_context();
    int count = harness_problems(5, 7);
    const int(*use)[3] = count < 7 ? tiny_sizes : sizes;
    for (int i = 0; i < count; i++)
        for (int what = i % 2; what<KINDS; what += count> 5 ? 1 : 2)
            against_reference(ctx, (kind)what, use[i], i % 2 ? oblong : unit);
}

/* Values that would cross the level a tenth of a voxel beyond the first plane. */
static void no_level_beyond_the_grid(void **state)
{
    (void)state;
    enum { X = 7, Y = 5, Z = 6, N = X * Y * Z };
    static const int size[3] = {X, Y, Z};
    static const float reach = 5;
    clvox_context *ctx = harness_context();
    for (int side = -1; side <= 1; side += 2) {
        float values[N], got[N];
        for (int i = 0; i < N; i++)
            values[i] = 0.5f + (float)side * (0.1f + (float)(i % X));
        clv_buffer *in = harness_upload(ctx, values, sizeof values), *out = harness_output(ctx, sizeof got);
        clv_buffer *scratch = harness_output(ctx, clv_redistance_bytes(size));
        const clv_image image = {.buffer = in, .size = {X, Y, Z}, .components = 1, .spacing = {1, 1, 1}};
        assert_int_equal(clv_level_distance(ctx, &image, 0.5f, reach, out, scratch), CLVOX_OK);
        harness_download(ctx, out, got, sizeof got);
        for (int i = 0; i < N; i++)
            assert_true(got[i] == -(float)side * reach);
        clv_buffer_destroy(&in);
        clv_buffer_destroy(&out);
        clv_buffer_destroy(&scratch);
    }
}

int main(void)
{
    harness_open();
    for (int e = 0; e < 2; e++)
        harness_cases(entries[e], against_the_reference, NULL, 0, "against the reference");
    harness_cases(entries[0], no_level_beyond_the_grid, NULL, 0, "no level beyond the grid");
    return test_run("level distance", harness_close);
}
