/* SPDX-License-Identifier: Apache-2.0 */
#include "op/fluid/conjugate_gradient.h"
#include "op/fluid/fourier.h"
#include "op/harness.h"
#include "op/fluid/sor.h"
#include "ref/fluid/fourier.h"
#include "ref/fluid/fluid_operator.h"

/* Every radix, mixed ones, primes that have none, lines of one and of two. */
static const int sizes[][3] = {
    {12, 7, 5}, {1, 1, 1},   {1, 6, 9},   {10, 1, 3},  {11, 13, 4},  {2, 8, 1},    {3, 1, 1},
    {64, 9, 2}, {25, 49, 3}, {23, 14, 11}, {5, 3, 210}, {19, 128, 3}, {181, 4, 31},
};
enum { SIZES = sizeof sizes / sizeof *sizes, TINY = 7 };

static void transform(clvox_context *ctx, const int size[3])
{
    size_t n = (size_t)size[0] * (size_t)size[1] * (size_t)size[2], bytes = 3 * n * sizeof(float);
    size_t wave_bytes = clv_fft_bytes(size), waves = wave_bytes / sizeof(float);
    float *field = malloc(bytes), *back = malloc(bytes), *got = malloc(2 * wave_bytes);
    double *wide = malloc(3 * n * sizeof *wide), *want = malloc(waves * sizeof *want);
    clv_fft fft;
    harness_random(field, 3 * n, 3 + (unsigned)n, -1, 1);
    for (size_t i = 0; i < 3 * n; i++)
        wide[i] = (double)field[i];
    ref_fft(wide, size, want);
    check_must(clv_fft_create(ctx, size, &fft));
    clv_buffer *in = harness_upload_field(ctx, field, n), *out = harness_output(ctx, bytes);
    clv_buffer *spectrum = harness_output(ctx, wave_bytes);
    for (int twice = 0; twice < 2; twice++) {
        CHECK(clv_fft_forward(ctx, &fft, in, spectrum) == CLVOX_OK);
        harness_download(ctx, spectrum, got + (twice ? waves : 0), wave_bytes);
    }
    double error = harness_error(got, want, waves, 6e-7 * sqrt((double)n) * log2((double)n + 2), 0);
    CHECK_THAT(error <= 1, "%dx%dx%d: spectrum off by %g", size[0], size[1], size[2], error);
    CHECK(!memcmp(got, got + waves, wave_bytes));
    CHECK(clv_fft_back(ctx, &fft, spectrum, out) == CLVOX_OK);
    harness_download_field(ctx, out, back, n);
    error = harness_error(back, wide, 3 * n, 2e-6, 0);
    CHECK_THAT(error <= 1, "%dx%dx%d: back and off by %g", size[0], size[1], size[2], error);
    clv_buffer_destroy(&in);
    clv_buffer_destroy(&out);
    clv_buffer_destroy(&spectrum);
    clv_fft_destroy(&fft);
    free(field);
    free(back);
    free(got);
    free(wide);
    free(want);
}

/* A solution that is known; and the reference's of an f that has nothing to do with one. */
static void solve(clvox_context *ctx, const int size[3], float beta)
{
    const clv_fluid_operator op = {{size[0], size[1], size[2]}, {.8f, 1.25f, 2}, .01f, beta, .001f, true};
    size_t n = (size_t)size[0] * (size_t)size[1] * (size_t)size[2], bytes = 3 * n * sizeof(float);
    float *host = malloc(bytes);
    double *v = malloc(9 * n * sizeof *v), *f = v + 3 * n, *got = f + 3 * n, largest = 1e-30;
    clv_fft fft;
    harness_random(host, 3 * n, 3 + (unsigned)n, -1, 1);
    for (size_t i = 0; i < 3 * n; i++)
        f[i] = (double)host[i];
    ref_fft_solve(&op, f, v);
    for (size_t i = 0; i < 3 * n; i++)
        largest = fmax(largest, fabs(v[i]));
    check_must(clv_fft_create(ctx, size, &fft));
    clv_buffer *known = harness_upload_field(ctx, host, n);
    clv_buffer *there = harness_output(ctx, bytes), *spectrum = harness_output(ctx, clv_fft_bytes(size));
    CHECK(clv_fft_solve(ctx, &fft, &op, known, there, spectrum) == CLVOX_OK);
    harness_download_field(ctx, there, host, n);
    double error = harness_error(host, v, 3 * n, 1e-5 * largest, 0);
    CHECK_THAT(error <= 1, "%dx%dx%d, beta %g: off by %g", size[0], size[1], size[2], (double)beta, error);
    for (size_t i = 0; i < 3 * n; i++)
        got[i] = (double)host[i];
    double left = ref_fluid_operator_residual(&op, got, f);
    CHECK_THAT(left < 3e-6, "%dx%dx%d, beta %g: %g is left", size[0], size[1], size[2], (double)beta, left);
    clv_buffer_destroy(&known);
    clv_buffer_destroy(&there);
    clv_buffer_destroy(&spectrum);
    clv_fft_destroy(&fft);
    free(host);
    free(v);
}

/* The solvers differ by no more than what each leaves of f, over the least eigenvalue. */
static void agree(clvox_context *ctx, const int size[3], float beta)
{
    enum { FIELDS = 7, SOLVERS = 3 };
    const double tolerance = 1e-5;
    const clv_fluid_operator op = {{size[0], size[1], size[2]}, {1, 1.5f, 1}, .01f, beta, .001f, true};
    size_t n = (size_t)size[0] * (size_t)size[1] * (size_t)size[2], bytes = 3 * n * sizeof(float);
    float *host = malloc((1 + SOLVERS) * bytes), *v = host + 3 * n;
    double left, square = 0, apart[SOLVERS] = {0};
    int rounds;
    clv_fft fft;
    harness_random(host, 3 * n, 3 + (unsigned)n, -1, 1);
    for (size_t i = 0; i < 3 * n; i++)
        square += (double)host[i] * (double)host[i];
    check_must(clv_fft_create(ctx, size, &fft));
    clv_buffer *f = harness_upload_field(ctx, host, n), *spectrum = harness_output(ctx, clv_fft_bytes(size));
    clv_buffer *field[FIELDS], *there = harness_output(ctx, bytes);
    for (int i = 0; i < FIELDS; i++)
        field[i] = harness_output(ctx, i < 4 ? bytes : 4 * CLV_NAVIER_PARTIALS);
    const clv_cg_workspace room = {field[0], field[1], field[2], field[4], field[5]};
    int solvers = beta > 0 ? 2 : SOLVERS;
    for (int s = 0; s < solvers; s++) {
        check_must(clv_buffer_fill(ctx, there, 0, 0, bytes));
        if (s == 0)
            CHECK(clv_fft_solve(ctx, &fft, &op, f, there, spectrum) == CLVOX_OK);
        else if (s == 1)
            CHECK(clv_cg_solve(ctx, &op, f, tolerance, 300, there, &room, &rounds, &left) == CLVOX_OK);
        else
            CHECK(clv_sor_solve(ctx, &op, f, tolerance, 300, there, field[0], field[4], field[5], &rounds,
                                &left) == CLVOX_OK);
        harness_download_field(ctx, there, v + (size_t)s * 3 * n, n);
        for (size_t i = 0; i < 3 * n; i++) {
            double d = (double)v[(size_t)s * 3 * n + i] - (double)v[i];
            apart[s] += d * d;
        }
        CHECK_THAT(sqrt(apart[s]) <= 1.1 * (tolerance + 3e-6) * sqrt(square) / .001,
                   "solver %d is %g from the FFT", s, sqrt(apart[s] / square));
    }
    for (int i = 0; i < FIELDS; i++)
        clv_buffer_destroy(&field[i]);
    clv_buffer_destroy(&f);
    clv_buffer_destroy(&there);
    clv_buffer_destroy(&spectrum);
    clv_fft_destroy(&fft);
    free(host);
}

int main(void)
{
    static const clv_entry *const entries[] = {&clv_entry_fft_rows, &clv_entry_fft_rows_back,
                                               &clv_entry_fft_columns, &clv_entry_fft_solve};
    clvox_context *ctx = harness_open();
    int count = getenv("CLVOX_TEST_TINY") ? TINY : SIZES;
    for (int e = 0; e < 4; e++) {
        int state = 0;
        while (harness_next(ctx, entries[e], &state, "forward, back and solved"))
            for (int i = 0; i < count; i++) {
                if (e < 3)
                    transform(ctx, sizes[i]);
                if (e >= 2 && i % 3 == 0) {
                    solve(ctx, sizes[i], .02f);
                    solve(ctx, sizes[i], 0);
                }
            }
    }
    CHECK_CASE("three solvers agree");
    agree(ctx, (const int[3]){12, 6, 4}, 0);
    agree(ctx, (const int[3]){11, 6, 5}, .01f);
    if (count == SIZES)
        agree(ctx, (const int[3]){26, 30, 34}, 0);
    CHECK_CASE("what does not fit is refused");
    clv_fft fft;
    CHECK(clv_fft_create(ctx, (const int[3]){1 << 20, 1, 1}, &fft) == CLVOX_ERROR_DEVICE);
    check_must(clv_fft_create(ctx, sizes[0], &fft));
    clv_fluid_operator op = {{12, 7, 5}, {1, 1, 1}, 1, 0, 1, false};
    clv_buffer *any = harness_output(ctx, 4096);
    CHECK(clv_fft_solve(ctx, &fft, &op, any, any, any) == CLVOX_ERROR_ARGUMENT);
    op.periodic = true;
    op.size[1] = 8;
    CHECK(clv_fft_solve(ctx, &fft, &op, any, any, any) == CLVOX_ERROR_ARGUMENT);
    clv_buffer_destroy(&any);
    clv_fft_destroy(&fft);
    clvox_context_destroy(&ctx);
    return check_end();
}
