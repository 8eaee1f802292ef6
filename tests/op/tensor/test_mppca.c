/* SPDX-License-Identifier: Apache-2.0 */
#include "op/harness.h"
#include "op/tensor/mppca.h"
#include "ref/tensor/mppca.h"

static clvox_context *ctx;

typedef struct problem {
    int size[3], volumes, radius;
    bool masked, spoilt;
    float noise;
    size_t workspace_bytes;
    bool is_signed; /* values on both sides of 0, which they keep; else few are below and become 0 */
} problem;

/* A signal of a few components that vary slowly over the volume, and noise that
 * is nearly normal. */
static void make(const problem *p, float *truth, float *dwi, float *mask)
{
    enum { PARTS = 4, TERMS = 12 };
    const int *n = p->size, voxels = n[0] * n[1] * n[2];
    float *parts = malloc((size_t)(PARTS * p->volumes) * sizeof *parts), *random;
    harness_random(parts, (size_t)(PARTS * p->volumes), 5, .2f, 1);
    random = malloc((size_t)(TERMS * p->volumes) * sizeof *random);
    for (int i = 0; i < voxels; i++) {
        int x = i % n[0], y = i / n[0] % n[1], z = i / n[0] / n[1];
        float c[PARTS] = {500 + 200 * sinf(.5f * (float)x), 200 + 80 * cosf(.4f * (float)y + .2f * (float)z),
                          x > n[0] / 2 ? 150.f : 10.f, (y + z) % 5 > 2 ? 120.f : 0.f};
        harness_random(random, (size_t)(TERMS * p->volumes), (unsigned)i + 3, -.5f, .5f);
        mask[i] = (x + 2 * y) % 11 == 3 ? 0.f : i % 13 == 7 ? -1.f : 1.f;
        for (int k = 0; k < p->volumes; k++) {
            float value = 0, error = 0;
            for (int j = 0; j < PARTS; j++)
                value += c[j] * parts[j * p->volumes + k];
            for (int j = 0; j < TERMS; j++)
                error += random[k * TERMS + j];
            value -= p->is_signed ? 600 : 0;
            truth[k * voxels + i] = value;
            dwi[k * voxels + i] = value + p->noise * error;
            if (p->spoilt && i % 37 == 5 && k == 2)
                dwi[k * voxels + i] = i % 2 ? NAN : INFINITY;
            if (p->spoilt && z == 0 && x < 6)
                dwi[k * voxels + i] = 0;
        }
    }
    free(random);
    free(parts);
}

static clv_mppca_args args_of(const problem *p)
{
    return (clv_mppca_args){.dwi = {.size = {p->size[0], p->size[1], p->size[2]}, .components = p->volumes},
                            .radius = p->radius,
                            .is_signed = p->is_signed,
                            .workspace_bytes = p->workspace_bytes};
}

static int run(const problem *p, const float *dwi, const float *mask, float *out, float *sigma)
{
    size_t bytes = (size_t)(p->size[0] * p->size[1] * p->size[2]) * sizeof(float);
    size_t all = bytes * (size_t)p->volumes;
    clv_mppca_args a = args_of(p);
    clv_buffer *in = p->masked ? harness_upload(ctx, mask, bytes) : NULL;
    clv_buffer *from = harness_upload(ctx, dwi, all);
    a.dwi.buffer = from;
    a.mask = in;
    a.out = harness_output(ctx, all);
    a.sigma = harness_output(ctx, bytes);
    int status = clv_mppca(ctx, &a);
    if (status < 0 && strstr(clvox_message(), "does not run with this tile")) /* too little local memory */
        test_skip("%s", clvox_message());
    assert_that(status >= 0, "%s", clvox_message());
    harness_download(ctx, a.out, out, all);
    harness_download(ctx, a.sigma, sigma, bytes);
    clv_buffer_destroy(&from);
    clv_buffer_destroy(&in);
    clv_buffer_destroy(&a.out);
    clv_buffer_destroy(&a.sigma);
    return status;
}

static const clv_entry *const entries[] = {&clv_entry_mppca_window, &clv_entry_mppca_gather};

static struct {
    float *truth, *dwi, *out, *mask, *sigma, *again;
    double *want, *noise;
} shared;

typedef struct compare_given {
    problem p;
} compare_given;

static int compare_set_up(void **state)
{
    const problem *p = &((const compare_given *)*state)->p;
    size_t voxels = (size_t)(p->size[0] * p->size[1] * p->size[2]), all = voxels * (size_t)p->volumes;
    shared.truth = malloc(all * sizeof *shared.truth);
    shared.dwi = malloc(all * sizeof *shared.dwi);
    shared.out = malloc(all * sizeof *shared.out);
    shared.mask = malloc(voxels * sizeof *shared.mask);
    shared.sigma = malloc(voxels * sizeof *shared.sigma);
    shared.again = malloc(all * sizeof *shared.again);
    shared.want = malloc(all * sizeof *shared.want);
    shared.noise = malloc(voxels * sizeof *shared.noise);
    make(p, shared.truth, shared.dwi, shared.mask);
    const clv_mppca_args args = args_of(p);
    ref_mppca(&args, shared.dwi, p->masked ? shared.mask : NULL, shared.want, shared.noise);
    return 0;
}

static void values_and_noise(void **state)
{
    const compare_given *given = *state;
    const problem *p = &given->p;
    size_t voxels = (size_t)(p->size[0] * p->size[1] * p->size[2]);
    size_t all = voxels * (size_t)p->volumes;
    run(p, shared.dwi, p->masked ? shared.mask : NULL, shared.out, shared.sigma);
    double error = harness_error(shared.out, shared.want, all, 0.02 * (double)p->noise + 1e-3, 1e-5);
    assert_that(error <= 1, "values differ by %g of the tolerance", error);
    error = harness_error(shared.sigma, shared.noise, voxels, p->noise > 0 ? 1e-2 : .2, 1e-3);
    assert_that(error <= 1, "noise differs by %g of the tolerance", error);
    run(p, shared.dwi, p->masked ? shared.mask : NULL, shared.again, shared.sigma);
    assert_memory_equal(shared.out, shared.again, all * sizeof *shared.out);
}

static void mppca_the_noise_is_found_and_falls(void **state)
{
    const compare_given *given = *state;
    const problem *p = &given->p;
    size_t voxels = (size_t)(p->size[0] * p->size[1] * p->size[2]);
    size_t all = voxels * (size_t)p->volumes;
    double before = 0, after = 0, mean = 0;
    run(p, shared.dwi, NULL, shared.out, shared.sigma);
    for (size_t i = 0; i < all; i++) {
        before += ((double)shared.dwi[i] - (double)shared.truth[i]) *
                  ((double)shared.dwi[i] - (double)shared.truth[i]);
        after += ((double)shared.out[i] - (double)shared.truth[i]) *
                 ((double)shared.out[i] - (double)shared.truth[i]);
        mean += i < voxels ? (double)shared.sigma[i] / (double)voxels : 0;
    }
    assert_that(after < .3 * before, "rmse %g of %g", sqrt(after / (double)all), sqrt(before / (double)all));
    assert_that(fabs(mean / (double)p->noise - 1) < .03, "sigma %g for %g", mean, (double)p->noise);
}

static int compare_tear_down(void **state)
{
    (void)state;
    free(shared.truth);
    free(shared.dwi);
    free(shared.out);
    free(shared.again);
    free(shared.mask);
    free(shared.sigma);
    free(shared.want);
    free(shared.noise);
    return 0;
}

static void compare(const problem *p, const char *what)
{
    test_set_up(compare_set_up);
    for (int e = 0; e < 2; e++)
        harness_cases(entries[e], values_and_noise, TEST_OF(((compare_given){*p})), what);
    if (!p->masked && !p->spoilt && p->radius == 2 && p->noise > 0 && p->size[2] > 4 && p->volumes > 20)
        test_case_at(mppca_the_noise_is_found_and_falls, TEST_OF(((compare_given){*p})),
                     "mppca: the noise is found and falls: %s", what);
    test_tear_down(compare_tear_down);
}

int main(void)
{
    ctx = harness_open();
    if (getenv("CLVOX_TEST_TINY")) {
        compare(&(problem){{4, 5, 3}, 7, 1, true, true, 10, 0, false}, "4x5x3x7");
        compare(&(problem){{3, 4, 1}, 9, 2, false, false, 10, 1, false}, "3x4x1x9");
        compare(&(problem){{5, 5, 5}, 16, 2, false, false, 0, 0, false},
                "no noise: more vectors than are held");
        return test_run("mppca", harness_close);
    }
    compare(&(problem){{11, 9, 7}, 33, 2, false, false, 10, 0, false}, "11x9x7x33");
    compare(&(problem){{11, 9, 7}, 33, 2, true, true, 10, 60000, false}, "with holes and NaN, row by row");
    compare(&(problem){{7, 6, 5}, 27, 2, false, false, 10, 0, true}, "values on both sides of 0");
    compare(&(problem){{13, 8, 1}, 12, 2, false, false, 10, 0, false}, "one slice");
    compare(&(problem){{5, 4, 3}, 40, 1, false, false, 10, 0, false}, "fewer samples than volumes");
    compare(&(problem){{2, 7, 4}, 10, 3, true, false, 10, 0, false}, "wider than the volume");
    compare(&(problem){{6, 6, 5}, 100, 2, false, false, 10, 0, false}, "a hundred volumes");
    compare(&(problem){{6, 5, 5}, 150, 2, false, false, 10, 0, false}, "more volumes than samples");
    compare(&(problem){{6, 7, 5}, 131, 2, true, false, 10, 400000, false},
            "as many, a part of a row at once");
    compare(&(problem){{9, 7, 6}, 16, 2, false, false, 0, 0, false}, "no noise");
    return test_run("mppca", NULL);
}
