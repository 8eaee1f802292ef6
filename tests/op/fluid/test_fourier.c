/* SPDX-License-Identifier: Apache-2.0 */
#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

#include "op/fluid/fourier.h"
#include "op/harness.h"
#include "ref/fluid/fourier.h"
#include "clvox/kernels.h"
#include "runtime/fourier/clfft.h"
#include "runtime/fourier/vkfft.h"
#include "ref/fluid/fluid_operator.h"

/* Every radix, mixed ones, primes that have none, lines of one and of two. */
static const int sizes[][3] = {
    {12, 7, 5}, {1, 1, 1},   {1, 6, 9},   {10, 1, 3},  {11, 13, 4},  {2, 8, 1},    {3, 1, 1},
    {64, 9, 2}, {25, 49, 3}, {23, 14, 11}, {5, 3, 210}, {19, 128, 3}, {181, 4, 31},
};
enum { SIZES = sizeof sizes / sizeof *sizes, TINY = 7 };

static void transform(clvox_context *ctx, const clv_fft *fft)
{
    const int *size = fft->size;
    size_t n = (size_t)size[0] * (size_t)size[1] * (size_t)size[2], bytes = 3 * n * sizeof(float);
    size_t wave_bytes = clv_fft_bytes(size), waves = wave_bytes / sizeof(float);
    float *field = malloc(bytes), *back = malloc(bytes), *got = malloc(2 * wave_bytes);
    double *wide = malloc(3 * n * sizeof *wide), *want = malloc(waves * sizeof *want);
    harness_random(field, 3 * n, 3 + (unsigned)n, -1, 1);
    for (size_t i = 0; i < 3 * n; i++)
        wide[i] = (double)field[i];
    ref_fft(wide, size, want);
    clv_buffer *in = harness_upload_field(ctx, field, n), *out = harness_output(ctx, bytes);
    clv_buffer *spectrum = harness_output(ctx, wave_bytes);
    for (int twice = 0; twice < 2; twice++) {
        assert_int_equal(clv_fft_forward(ctx, fft, in, spectrum), CLVOX_OK);
        harness_download(ctx, spectrum, got + (twice ? waves : 0), wave_bytes);
    }
    double error = harness_error(got, want, waves, 6e-7 * sqrt((double)n) * log2((double)n + 2), 0);
    assert_that(error <= 1, "%dx%dx%d: spectrum off by %g", size[0], size[1], size[2], error);
    assert_memory_equal(got, got + waves, wave_bytes);
    assert_int_equal(clv_fft_back(ctx, fft, spectrum, out), CLVOX_OK);
    harness_download_field(ctx, out, back, n);
    error = harness_error(back, wide, 3 * n, 2e-6, 0);
    assert_that(error <= 1, "%dx%dx%d: back and off by %g", size[0], size[1], size[2], error);
    clv_buffer_destroy(&in);
    clv_buffer_destroy(&out);
    clv_buffer_destroy(&spectrum);
    free(field);
    free(back);
    free(got);
    free(wide);
    free(want);
}

/* A solution that is known; and the reference's of an f that has nothing to do with one. */
static void solve(clvox_context *ctx, const clv_fft *fft, float beta)
{
    const int *size = fft->size;
    const clv_fluid_operator op = {{size[0], size[1], size[2]}, {.8f, 1.25f, 2}, .01f, beta, .001f, true};
    size_t n = (size_t)size[0] * (size_t)size[1] * (size_t)size[2], bytes = 3 * n * sizeof(float);
    float *host = malloc(bytes);
    double *v = malloc(9 * n * sizeof *v), *f = v + 3 * n, *got = f + 3 * n, largest = 1e-30;
    harness_random(host, 3 * n, 3 + (unsigned)n, -1, 1);
    for (size_t i = 0; i < 3 * n; i++)
        f[i] = (double)host[i];
    ref_fft_solve(&op, f, v);
    for (size_t i = 0; i < 3 * n; i++)
        largest = fmax(largest, fabs(v[i]));
    clv_buffer *known = harness_upload_field(ctx, host, n);
    clv_buffer *there = harness_output(ctx, bytes), *spectrum = harness_output(ctx, clv_fft_bytes(size));
    assert_int_equal(clv_fft_solve(ctx, fft, &op, known, there, spectrum), CLVOX_OK);
    harness_download_field(ctx, there, host, n);
    double error = harness_error(host, v, 3 * n, 1e-5 * largest, 0);
    assert_that(error <= 1, "%dx%dx%d, beta %g: off by %g", size[0], size[1], size[2], (double)beta, error);
    for (size_t i = 0; i < 3 * n; i++)
        got[i] = (double)host[i];
    double left = ref_fluid_operator_residual(&op, got, f);
    assert_that(left < 3e-6, "%dx%dx%d, beta %g: %g is left", size[0], size[1], size[2], (double)beta, left);
    ref_fft_solve(&op, v, got);
    for (size_t i = 0; i < 3 * n; i++)
        largest = fmax(i ? largest : 1e-30, fabs(got[i]));
    assert_int_equal(clv_fft_solve_twice(ctx, fft, &op, known, there, spectrum), CLVOX_OK);
    harness_download_field(ctx, there, host, n);
    error = harness_error(host, got, 3 * n, 1e-5 * largest, 0);
    assert_that(error <= 1, "%dx%dx%d, beta %g: twice off by %g", size[0], size[1], size[2], (double)beta, error);
    clv_buffer_destroy(&known);
    clv_buffer_destroy(&there);
    clv_buffer_destroy(&spectrum);
    free(host);
    free(v);
}

enum { VOXELS = 4103 };

static struct {
    size_t bytes;
    float *host, *got;
} shared;

static int reordered_set_up(void **state)
{
    (void)state;
    shared.bytes = 3 * VOXELS * sizeof(float);
    shared.host = malloc(2 * shared.bytes);
    shared.got = shared.host + 3 * VOXELS;
    harness_random(shared.host, 3 * VOXELS, 5, -1, 1);
    return 0;
}

static void fft_reorder_to_planar_and_back(void **state)
{
    (void)state;
    clvox_context *ctx = harness_context();
    clv_buffer *field = harness_upload_field(ctx, shared.host, VOXELS),
               *planar = harness_output(ctx, shared.bytes);
    clv_buffer *back = harness_output(ctx, shared.bytes);
    assert_int_equal(clv_fft_reorder(ctx, field, planar, VOXELS, false), CLVOX_OK);
    harness_download(ctx, planar, shared.got, shared.bytes);
    assert_memory_equal(shared.got, shared.host, shared.bytes);
    assert_int_equal(clv_fft_reorder(ctx, planar, back, VOXELS, true), CLVOX_OK);
    harness_download_field(ctx, back, shared.got, VOXELS);
    assert_memory_equal(shared.got, shared.host, shared.bytes);
    clv_buffer_destroy(&field);
    clv_buffer_destroy(&planar);
    clv_buffer_destroy(&back);
}

static int reordered_tear_down(void **state)
{
    (void)state;
    free(shared.host);
    return 0;
}

static void reordered(void)
{
    test_set_up(reordered_set_up);
    harness_cases(&clv_entry_fft_reorder, fft_reorder_to_planar_and_back, NULL, 0, "to planar and back");
    test_tear_down(reordered_tear_down);
}

/* Sizes of each kind: powers of two, products of 2, 3, 5 and 7, odd ones, those that need 11 and 13, primes, axes
 * of one voxel. A provider takes a size and is right, or says so. */
static const int kinds[][3] = {{16, 8, 4},  {12, 10, 7}, {15, 9, 5}, {11, 13, 4},
                               {17, 5, 23}, {10, 1, 3},  {1, 6, 9},  {6, 1, 1}};
enum { KINDS = sizeof kinds / sizeof *kinds };

typedef struct provider_given {
    const clv_fft_provider *p;
    int i;
} provider_given;

static int provider_set_up(void **state)
{
    const provider_given *given = *state;
    clvox_context *ctx = harness_context();
    assert_ok(clv_force_variant(ctx, CLV_FFT, given->p->name, -1));
    return 0;
}

static void of_x_x_forward_back_and_solved(void **state)
{
    const provider_given *given = *state;
    const clv_fft_provider *p = given->p;
    int i = given->i;
    clvox_context *ctx = harness_context();
    const int *n = kinds[i];
    clv_fft fft;
    if (p->by && p->by->takes(n) < 0) {
        assert_int_equal(clv_fft_create(ctx, n, &fft), CLVOX_ERROR_DEVICE);
        assert_that(strstr(clvox_message(), "another provider"), "%s", clvox_message());
        return;
    }
    assert_ok(clv_fft_create(ctx, n, &fft));
    transform(ctx, &fft);
    solve(ctx, &fft, .02f);
    solve(ctx, &fft, 0);
    clv_fft_destroy(&fft);
}

static int provider_tear_down(void **state)
{
    (void)state;
    clvox_context *ctx = harness_context();
    assert_ok(clv_force_variant(ctx, CLV_FFT, NULL, -1));
    return 0;
}

static void provider(const clv_fft_provider *p)
{
    test_set_up(provider_set_up);
    for (int i = 0; i < KINDS; i++) {
        const int *n = kinds[i];
        if (getenv("CLVOX_TEST_SIMULATED") && n[0] * n[1] * n[2] > 800)
            continue; /* the device has time for those */
        test_case_at(of_x_x_forward_back_and_solved, TEST_OF(((provider_given){p, i})),
                     "%s of %dx%dx%d: forward, back and solved", p->name, n[0], n[1], n[2]);
    }
    test_tear_down(provider_tear_down);
}

/* A library that runs and does nothing. */
static int idle_plan(clvox_context *ctx, const int size[3], void **plan)
{
    (void)ctx, (void)size;
    return (*plan = malloc(1)) ? CLVOX_OK : CLVOX_ERROR_MEMORY;
}

static int idle_forward(clvox_context *ctx, void *plan, const clv_buffer *field, clv_buffer *spectrum)
{
    (void)plan, (void)field;
    return clv_buffer_fill(ctx, spectrum, 0, 0, spectrum->bytes);
}

static int idle_back(clvox_context *ctx, void *plan, clv_buffer *spectrum, clv_buffer *field)
{
    (void)ctx, (void)plan, (void)spectrum, (void)field;
    return CLVOX_OK;
}

static void a_library_that_is_wrong_is_found_out(void **state)
{
    (void)state;
    clvox_context *ctx = harness_context();
    static const clv_fourier_library idle = {"idle", false, NULL, idle_plan, idle_forward, idle_back, free};
    assert_int_equal(clv_fourier_trust(ctx, &idle), CLVOX_ERROR_DEVICE);
    assert_that(strstr(clvox_message(), "idle is off by"), "%s", clvox_message());
    assert_int_equal(
        clv_fourier_trust(ctx, clvox_clfft_missing()[0] ? &clv_fourier_vkfft : &clv_fourier_clfft), CLVOX_OK);
}

static void what_one_provider_does_not_take_another(void **state)
{
    (void)state;
    clvox_context *ctx = harness_context();
    clv_fft fft;
    int longer = 1 << 14; /* than local memory, which the engine's own kernels need for a line */
    while ((size_t)longer * 16 <= clvox_context_limits(ctx)->local_bytes)
        longer *= 2;
    assert_ok(clv_fft_create(ctx, (const int[3]){longer, 1, 1}, &fft));
    assert_true(fft.provider->by);
    clv_fft_destroy(&fft);
}

/* As CLVOX_CLFFT says where the test is started so. */
static void without_clfft_others_do_it(void **state)
{
    (void)state;
    clvox_context *ctx = harness_context();
    clv_fft fft;
    if (!clvox_clfft_missing()[0])
        test_skip("clFFT is there");
    assert_ok(clv_force_variant(ctx, CLV_FFT, "clfft", -1));
    assert_int_equal(clv_fft_create(ctx, (const int[3]){8, 6, 5}, &fft), CLVOX_ERROR_DEVICE);
    assert_that(strstr(clvox_message(), "clFFT cannot be loaded (") && !strchr(clvox_message(), '\n'), "%s",
                clvox_message());
    assert_ok(clv_force_variant(ctx, CLV_FFT, NULL, -1));
    assert_ok(clv_fft_create(ctx, (const int[3]){8, 6, 5}, &fft));
    clv_fft_destroy(&fft);
}

/* The one that the options ask for is taken or refused, and a forced one comes before. */
static void the_options_choose(void **state)
{
    const int size[3] = {8, 6, 5};
    clvox_context *ctx;
    clv_fft fft;
    (void)state;
    for (const clv_fft_provider *p = clv_fft_providers; p->name; p++) {
        assert_ok(clvox_context_create(CONTEXT_OPTIONS(.fourier = p->name), &ctx));
        int status = clv_fft_create(ctx, size, &fft);
        if (p->by == &clv_fourier_clfft && clvox_clfft_missing()[0]) {
            assert_int_equal(status, CLVOX_ERROR_DEVICE);
        } else {
            assert_ok(status);
            assert_ptr_equal(fft.provider, p);
            clv_fft_destroy(&fft);
        }
        assert_ok(clv_force_variant(ctx, CLV_FFT, "vkfft", -1));
        assert_ok(clv_fft_create(ctx, size, &fft));
        assert_string_equal(fft.provider->name, "vkfft");
        clv_fft_destroy(&fft);
        clvox_context_destroy(&ctx);
    }
    assert_ok(clvox_context_create(CONTEXT_OPTIONS(.fourier = "nobody"), &ctx));
    assert_int_equal(clv_fft_create(ctx, size, &fft), CLVOX_ERROR_ARGUMENT);
    assert_non_null(strstr(clvox_message(), "by nobody; clvox, vkfft and clfft"));
    clvox_context_destroy(&ctx);
}

static void chosen(void)
{
    test_case(the_options_choose, "the options choose");
    test_case(without_clfft_others_do_it, "without clFFT others do it");
    test_case(a_library_that_is_wrong_is_found_out, "a library that is wrong is found out");
    test_case(what_one_provider_does_not_take_another, "what one provider does not take another does");
}

static int damaged_entries;

static int cut(const char *path, const struct stat *info, int type, struct FTW *at)
{
    (void)at;
    if (type == FTW_F && strstr(path, "/clfft/")) {
        damaged_entries++;
        return truncate(path, info->st_size / 2);
    }
    return 0;
}

static int erase(const char *path, const struct stat *info, int type, struct FTW *at)
{
    (void)info, (void)type, (void)at;
    return remove(path);
}

/* Libraries' builds are cached; a damaged entry is useless but harmless. */
static void kept(void **state)
{
    (void)state;
    char folder[] = "/tmp/clvox-test-fourier-XXXXXX", place[64];
    if (clvox_clfft_missing()[0])
        test_skip("clFFT is not there: %s", clvox_clfft_missing());
    if (!mkdtemp(folder))
        assert_ok(clvox_fail(CLVOX_ERROR_FILE, "no folder in /tmp"));
    setenv("CLVOX_CACHE_DIR", folder, 1);
    snprintf(place, sizeof place, "%s/clfft", folder);
    setenv("CLFFT_CACHE_PATH", place, 1);
    for (int damaged = 0; damaged < 2; damaged++) {
        clvox_context *ctx;
        assert_ok(clvox_context_create(NULL, &ctx));
        clv_fft fft;
        for (const clv_fft_provider *p = clv_fft_providers; p->name; p++) {
            assert_ok(clv_force_variant(ctx, CLV_FFT, p->name, -1));
            assert_ok(clv_fft_create(ctx, (const int[3]){8, 6, 5}, &fft));
            transform(ctx, &fft);
            clv_fft_destroy(&fft);
        }
        clvox_context_destroy(&ctx);
        damaged_entries = 0;
        assert_true(nftw(folder, cut, 8, FTW_PHYS) == 0);
        assert_true(damaged_entries > 0);
    }
    assert_true(nftw(folder, erase, 8, FTW_PHYS | FTW_DEPTH) == 0);
    setenv("CLVOX_CACHE_DIR", "", 1);
    unsetenv("CLFFT_CACHE_PATH");
}

static void a_folder_of_clfft_that_others_could_write(void **state)
{
    (void)state;
    char folder[] = "/tmp/clvox-test-fourier-XXXXXX";
    clvox_context *ctx;
    clv_fft fft;
    if (clvox_clfft_missing()[0])
        test_skip("clFFT is not there: %s", clvox_clfft_missing());
    assert_true(mkdtemp(folder) && chmod(folder, 0777) == 0);
    setenv("CLFFT_CACHE_PATH", folder, 1);
    assert_ok(clvox_context_create(NULL, &ctx));
    assert_ok(clv_force_variant(ctx, CLV_FFT, "clfft", -1));
    assert_int_equal(clv_fft_create(ctx, (const int[3]){8, 6, 5}, &fft), CLVOX_ERROR_FILE);
    assert_that(strstr(clvox_message(), folder) && strstr(clvox_message(), "can be written by other users"),
                "%s", clvox_message());
    unsetenv("CLFFT_CACHE_PATH");
    assert_ok(clv_fft_create(ctx, (const int[3]){8, 6, 5}, &fft));
    clv_fft_destroy(&fft);
    clvox_context_destroy(&ctx);
    assert_int_equal(rmdir(folder), 0);
}

static const clv_entry *const entries[] = {&clv_entry_fft_rows, &clv_entry_fft_rows_back,
                                           &clv_entry_fft_columns, &clv_entry_fft_solve,
                                           &clv_entry_fft_coupled};

static void forward_back_and_solved(void **state)
{
    const int *given = *state;
    int e = given[0];
    clvox_context *ctx = harness_context();
    int count = harness_problems(TINY, SIZES);
    clv_fft fft;
    for (int i = 0; i < count; i++) {
        /* Drivers build each kernel for each size, which takes longer than to run it. Tiles differ in groups
         * alone. */
        if ((e > 2 || !harness_first()) && i % 3 != 0)
            continue;
        assert_ok(clv_force_variant(ctx, CLV_FFT, "clvox", -1)); /* whose kernels these are */
        assert_ok(clv_fft_create(ctx, sizes[i], &fft));
        assert_ok(clv_force_variant(ctx, CLV_FFT, NULL, -1));
        if (e < 3)
            transform(ctx, &fft);
        if (e >= 2 && i % 3 == 0) {
            solve(ctx, &fft, .02f);
            solve(ctx, &fft, 0);
        }
        clv_fft_destroy(&fft);
    }
}

static void what_does_not_fit_is_refused(void **state)
{
    (void)state;
    clvox_context *ctx = harness_context();
    clv_fft fft;
    assert_ok(clv_force_variant(ctx, CLV_FFT, "clvox", -1));
    assert_int_equal(clv_fft_create(ctx, (const int[3]){1 << 20, 1, 1}, &fft), CLVOX_ERROR_DEVICE);
    assert_ok(clv_force_variant(ctx, CLV_FFT, "no such", -1));
    assert_int_equal(clv_fft_create(ctx, sizes[0], &fft), CLVOX_ERROR_ARGUMENT);
    assert_ok(clv_force_variant(ctx, CLV_FFT, NULL, -1));
    assert_ok(clv_fft_create(ctx, sizes[0], &fft));
    clv_fluid_operator op = {{12, 7, 5}, {1, 1, 1}, 1, 0, 1, false};
    clv_buffer *any = harness_output(ctx, 4096);
    assert_int_equal(clv_fft_solve(ctx, &fft, &op, any, any, any), CLVOX_ERROR_ARGUMENT);
    op.periodic = true;
    op.size[1] = 8;
    assert_int_equal(clv_fft_solve(ctx, &fft, &op, any, any, any), CLVOX_ERROR_ARGUMENT);
    clv_buffer_destroy(&any);
    clv_fft_destroy(&fft);
}

int main(void)
{
    harness_open();
    int count = getenv("CLVOX_TEST_TINY") ? TINY : SIZES;
    for (int e = 0; e < (int)(sizeof entries / sizeof *entries); e++)
        harness_cases(entries[e], forward_back_and_solved, TEST_AT(e), "forward, back and solved");
    for (const clv_fft_provider *p = clv_fft_providers; p->name; p++)
        if (count == SIZES || !p->by) /* libraries' kernels are for the device, not for the simulator */
            provider(p);
    reordered();
    if (count == SIZES) {
        chosen();
        test_case(kept, "libraries keep what they build");
        test_case(a_folder_of_clfft_that_others_could_write,
                  "what others could put in clFFT's folder is not run");
    }
    test_case(what_does_not_fit_is_refused, "what does not fit is refused");
    return test_run("fourier", harness_close);
}
