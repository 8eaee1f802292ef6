/* SPDX-License-Identifier: Apache-2.0 */
#include "op/harness.h"
#include "op/field/warp.h"
#include "ref/field/warp.h"

static const char *const kinds[] = {"nearest", "linear", "cubic", "label", "B-spline", "Lanczos", "Gaussian"};

typedef struct setup {
    int in[3], out[3];
} setup;

static const setup setups[] = {
    {{1, 1, 1}, {3, 2, 2}}, {{2, 1, 5}, {5, 3, 1}},    {{1, 7, 4}, {35, 3, 2}},
    {{9, 8, 1}, {34, 2, 3}}, {{11, 7, 12}, {33, 5, 9}}, {{37, 23, 19}, {67, 13, 29}},
};

static size_t voxels(const int n[3])
{
    return (size_t)n[0] * (size_t)n[1] * (size_t)n[2];
}

static void run(clvox_context *ctx, const float *in, const int in_size[3], const clv_map *map,
                const float *field, int kind, float outside, double slack, double tolerance, bool in_part,
                const int out_size[3])
{
    size_t n = voxels(out_size);
    double *want = malloc(n * sizeof *want);
    float *got = malloc(n * sizeof *got);
    int *unsure = malloc(n * sizeof *unsure);
    clv_buffer *a = harness_upload(ctx, in, voxels(in_size) * sizeof(float));
    clv_buffer *u = field ? harness_upload_field(ctx, field, n) : NULL;
    clv_buffer *out = harness_output(ctx, n * sizeof(float));
    int *part = in_part ? harness_within(out_size, 31) : NULL;
    clv_buffer *within = part ? harness_upload(ctx, part, clv_within_bytes(out_size)) : NULL;
    assert_ok(clv_buffer_fill(ctx, out, 0, 7, n * sizeof(float))); /* not the NaN that some are to become */
    int status = clv_warp_within(ctx, CLV_VOLUME(a, in_size), map, u, (clv_interpolation)kind, outside,
                                 (clv_within){within, 0}, CLV_VOLUME(out, out_size));
    assert_that(status == CLVOX_OK, "%s", clvox_message());
    harness_download(ctx, out, got, n * sizeof(float));
    ref_warp(in, in_size, map, field, kind, (double)outside, slack, want, unsure, out_size);
    size_t passed_over = 0;
    for (size_t i = 0; i < n; i++)
        if (part && !harness_is_within(part, out_size, i)) {
            want[i] = (double)NAN;
        } else if (unsure[i]) {
            want[i] = (double)got[i];
            passed_over++;
        }
    double error = harness_error(got, want, n, tolerance, 0);
    assert_that(error <= 1, "%s %dx%dx%d from %dx%dx%d: %g", kinds[kind], out_size[0], out_size[1],
                out_size[2], in_size[0], in_size[1], in_size[2], error);
    assert_that(passed_over <= 3 + n / 100, "%zu of %zu", passed_over, n);
    clv_buffer_destroy(&a);
    clv_buffer_destroy(&u);
    clv_buffer_destroy(&out);
    clv_buffer_destroy(&within);
    free(part);
    free(want);
    free(got);
    free(unsure);
}

/* Turned, stretched, and reaching beyond every side of the input. */
static void make_map(const int in[3], const int out[3], clv_map *map)
{
    static const float turn[3][3] = {{0.93f, 0.21f, -0.13f}, {-0.19f, 1.02f, 0.17f}, {0.11f, -0.23f, 0.97f}};
    for (int i = 0; i < 3; i++) {
        float center = 0.5f * (float)(in[i] - 1) + 0.0137f * (float)(i + 1);
        for (int j = 0; j < 3; j++) {
            map->linear[i][j] = turn[i][j] * 1.3f * (float)in[i] / (float)out[j];
            map->shift[i][j] = turn[i][j] * (i == 1 ? 0.4f : 0.9f);
            center -= map->linear[i][j] * 0.5f * (float)(out[j] - 1);
        }
        map->linear[i][3] = center;
    }
}

static void random_case(clvox_context *ctx, const setup *s, int kind, bool with_field, bool with_nan,
                        bool in_part)
{
    size_t n = voxels(s->in), m = voxels(s->out);
    float *in = malloc(n * sizeof *in), *field = malloc(3 * m * sizeof *field);
    clv_map map;
    make_map(s->in, s->out, &map);
    harness_random(in, n, 7, kind == REF_LABEL ? -0.5f : -1, kind == REF_LABEL ? 3.5f : 1);
    harness_random(field, 3 * m, 11, -1.5f, 1.5f);
    for (size_t i = 0; i < n; i++) {
        if (kind == REF_LABEL)
            in[i] = rintf(in[i]);
        if (with_nan && i % 13 == 5)
            in[i] = NAN;
    }
    if (with_nan && m > 4) {
        field[m / 2] = NAN;
        field[m + m / 3] = INFINITY;
        field[2 * m + m / 4] = -3e38f;
    }
    run(ctx, in, s->in, &map, with_field ? field : NULL, kind, -7, 1e-4,
        kind == REF_CUBIC || kind > REF_LABEL ? 2e-4 : 1e-4, in_part, s->out);
    free(in);
    free(field);
}

/* Positions in eighths of a voxel are exact in float: borders, ties and whole
 * voxels must come out as defined, NaN in neighbours of weight 0 must not. */
static void exact_case(clvox_context *ctx, int kind)
{
    int in_size[3] = {5, 4, 1}, out_size[3] = {64, 11, 3};
    clv_map map = {{{0.125f, 0, 0, -1.5f}, {0, 0.5f, 0, -1}, {0, 0, 0.5f, -0.5f}}, {{0}}};
    float in[20];
    harness_random(in, 20, 3, 0, 3);
    for (int i = 0; i < 20; i++)
        in[i] = rintf(in[i]);
    double tolerance = kind == REF_NEAREST || kind == REF_LABEL ? 1e-30 : kind > REF_LABEL ? 5e-6 : 1e-6;
    run(ctx, in, in_size, &map, NULL, kind, -7, 0, tolerance, false, out_size);
    in[9] = NAN;
    run(ctx, in, in_size, &map, NULL, kind, -7, 0, tolerance, false, out_size);
}

static void against_reference(void **state)
{
    const int *given = *state;
    int kind = given[0];
    clvox_context *ctx = harness_context();
    int count = getenv("CLVOX_TEST_TINY") ? 5 : (int)(sizeof setups / sizeof *setups);
    for (int s = 0; s < count; s++) {
        random_case(ctx, &setups[s], kind, true, false, false);
        random_case(ctx, &setups[s], kind, true, true, false);
        random_case(ctx, &setups[s], kind, true, true, true);
    }
    if (harness_first()) {
        exact_case(ctx, kind);
        if (count > 5)
            random_case(ctx, &setups[5], kind, false, true, true);
    }
}

int main(void)
{
    harness_open();
    for (int kind = 0; kind <= REF_GAUSSIAN; kind++) {
        /* Tiles of a variant differ in the work-group alone: all of them for
         * linear, the first of each variant for the others. */
        if (kind == REF_LINEAR)
            harness_cases(&clv_entry_warp, against_reference, TEST_AT(kind), kinds[kind]);
        else
            harness_cases_first(&clv_entry_warp, against_reference, TEST_AT(kind), kinds[kind]);
    }
    return test_run("warp", harness_close);
}
