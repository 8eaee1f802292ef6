/* SPDX-License-Identifier: Apache-2.0 */
#include "op/fluid/solve.h"

#include "op/harness.h"
#include "ref/fluid/solve.h"

/* Anisotropic, prime and even sides, sheets and lines, components apart and together, both borders; kernels of
 * one to three voxels, so that padded grids stay small. */
static const clv_fluid_operator problems[] = {
    {{11, 7, 5}, {.8f, 1.25f, 2}, .01f, .01f, .01f, false},
    {{10, 6, 4}, {.8f, 1.25f, 2}, .01f, 0, .001f, true},
    {{1, 6, 5}, {1, 1, 3}, 1, 2, .5f, true},
    {{9, 1, 3}, {1, 1, 1}, 1, .5f, .5f, false},
    {{13, 7, 5}, {1, 1, 1.5f}, .02f, .01f, .02f, true},
    {{11, 7, 4}, {1, 1, 1.5f}, .02f, 0, .04f, false},
};
enum { PROBLEMS = sizeof problems / sizeof *problems };

/* v = K f, or K K f, of a planar field. */
static void find(const clv_fluid_operator *op, int times, const float *f, float *v)
{
    clvox_context *ctx = harness_context();
    size_t n = (size_t)op->size[0] * (size_t)op->size[1] * (size_t)op->size[2];
    clv_solver solver = {.spectrum = NULL};
    clv_request list[CLV_SOLVER_REQUESTS];
    clv_buffer *known = harness_upload_field(ctx, f, n), *there = harness_output(ctx, 12 * n);
    int count = clv_solver_requests(op, &solver, list);
    assert_ok(clv_pool_take(ctx, list, count));
    assert_ok(clv_solver_create(ctx, op, &solver));
    assert_ok((times == 1 ? clv_solver_solve : clv_solver_solve_twice)(ctx, &solver, 0, known, there));
    harness_download_field(ctx, there, v, n);
    clv_solver_destroy(&solver);
    clv_pool_release(list, count);
    clv_buffer_destroy(&known);
    clv_buffer_destroy(&there);
}

static void it_finds_what_the_reference_does(void **state)
{
    const clv_fluid_operator *op = &problems[*(const int *)*state];
    size_t n = 3 * (size_t)op->size[0] * (size_t)op->size[1] * (size_t)op->size[2];
    float *host = malloc(2 * n * sizeof *host), *got = host + n;
    double *f = malloc(2 * n * sizeof *f), *want = f + n;
    int wide[3];
    harness_random(host, n, 11, -1, 1);
    for (size_t i = 0; i < n; i++)
        f[i] = (double)host[i];
    clv_solver_grid(op, wide);
    for (int times = 1; times <= 1 + op->periodic; times++) {
        double scale = 1e-30;
        ref_solve(op, op->periodic ? NULL : wide, f, want);
        find(op, times, host, got);
        for (size_t i = 0; i < n; i++)
            scale = fmax(scale, fabs(want[i]));
        double error = harness_error(got, want, n, 1e-5 * scale, 0);
        assert_that(error <= 1, "%d times: off by %g", times, error);
        memcpy(f, want, n * sizeof *f);
    }
    free(host);
    free(f);
}

/* A force at one face is not felt at the other, except on a periodic grid. */
static void a_head_does_not_feel_its_other_side(void **state)
{
    enum { N = 20 * 7 * 6 };
    double felt[2];
    (void)state;
    for (int periodic = 0; periodic < 2; periodic++) {
        const clv_fluid_operator op = {{20, 7, 6}, {2, 2, 2}, .02f, .01f, .002f, periodic};
        float field[3 * N] = {0};
        for (size_t i = 0; i < N; i += 20)
            field[N + i] = 1;
        find(&op, 1, field, field);
        felt[periodic] = fabs((double)(field[N + 20 * 24 + 19] / field[N + 20 * 24]));
    }
    assert_that(felt[0] < 1e-3 && felt[1] > .2, "the other side feels %g, on a periodic grid %g", felt[0],
                felt[1]);
}

static void fields_fit_larger_and_smaller_grids(void **state)
{
    const int sizes[][2][3] = {{{5, 4, 3}, {9, 6, 4}}, {{9, 6, 4}, {5, 4, 3}}, {{7, 1, 5}, {4, 3, 6}}};
    clvox_context *ctx = harness_context();
    (void)state;
    for (int k = 0; k < 3; k++) {
        const int *a = sizes[k][0], *b = sizes[k][1];
        size_t n = (size_t)(a[0] * a[1] * a[2]), m = (size_t)(b[0] * b[1] * b[2]);
        float *from = malloc(12 * n), *to = malloc(12 * m);
        harness_random(from, 3 * n, 4, -1, 1);
        clv_buffer *in = harness_upload_field(ctx, from, n), *out = harness_output(ctx, 12 * m);
        assert_ok(clv_fft_fit(ctx, in, a, out, b));
        harness_download_field(ctx, out, to, m);
        for (int c = 0; c < 3; c++)
            for (int z = 0; z < b[2]; z++)
                for (int y = 0; y < b[1]; y++)
                    for (int x = 0; x < b[0]; x++) {
                        bool there = x < a[0] && y < a[1] && z < a[2];
                        float want = there ? from[((c * a[2] + z) * a[1] + y) * a[0] + x] : 0;
                        float got = to[((c * b[2] + z) * b[1] + y) * b[0] + x];
                        assert_true(!memcmp(&want, &got, sizeof got));
                    }
        clv_buffer_destroy(&in);
        clv_buffer_destroy(&out);
        free(from);
        free(to);
    }
}

static void what_no_solver_takes_is_refused(void **state)
{
    clv_fluid_operator op = problems[0];
    clv_solver solver = {.spectrum = NULL};
    (void)state;
    op.gamma = 0;
    assert_int_equal(clv_solver_create(harness_context(), &op, &solver), CLVOX_ERROR_ARGUMENT);
    assert_non_null(strstr(clvox_message(), "gamma"));
    clv_solver_destroy(&solver);
}

/* ---- another solver in its place ---- */

static int begun, ended, asked[4];

static int count_begin(clvox_context *ctx, const clv_fluid_operator *op)
{
    (void)ctx;
    (void)op;
    begun++;
    return CLVOX_OK;
}

static int count_solve(clvox_context *ctx, int kind, const clv_buffer *f, clv_buffer *v)
{
    asked[kind]++;
    return f == v ? CLVOX_OK : clv_buffer_copy(ctx, f, 0, v, 0, v->bytes);
}

static void count_end(void)
{
    ended++;
}

static void another_one_takes_its_place(void **state)
{
    static const clv_solver_stand_in other = {count_begin, count_solve, count_end};
    const clv_fluid_operator *op = &problems[1];
    float f[3 * 240], v[3 * 240];
    (void)state;
    harness_random(f, 3 * 240, 5, -1, 1);
    clv_solver_instead = &other;
    find(op, 1, f, v);
    assert_memory_equal(f, v, sizeof f);
    find(op, 2, f, v);
    clv_solver_instead = NULL;
    assert_memory_equal(f, v, sizeof f);
    assert_true(begun == 2 && ended == 2 && asked[0] == 2 && asked[1] == 1);
    find(op, 1, f, v);
    assert_true(begun == 2 && memcmp(f, v, sizeof f) != 0);
}

int main(void)
{
    harness_open();
    /* The transform's kernels are simulated by its own test. */
    for (int k = 0; k < PROBLEMS && !harness_simulated(); k++)
        test_case_at(it_finds_what_the_reference_does, TEST_AT(k),
                     "%dx%dx%d%s: it finds what the reference does", problems[k].size[0], problems[k].size[1],
                     problems[k].size[2], problems[k].periodic ? ", periodic" : "");
    if (!harness_simulated()) {
        test_case(a_head_does_not_feel_its_other_side, "a head does not feel its other side");
        test_case(another_one_takes_its_place, "another one takes its place where it is put there");
    }
    harness_cases(&clv_entry_fft_fit, fields_fit_larger_and_smaller_grids, NULL, 0,
                  "fields fit larger and smaller grids");
    test_case(what_no_solver_takes_is_refused, "what no solver takes is refused");
    return test_run("solver", harness_close);
}
