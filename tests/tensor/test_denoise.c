/* SPDX-License-Identifier: Apache-2.0 */
/* Denoising of whole tensor fields: nearer to a truth that is known, and what
 * masks and odd values make of it. */
#include "check.h"
#include "clvox/tensor.h"
#include "op/harness.h"
#include "phantom/phantom.h"
#include "phantom/tensor.h"

static clvox_context *ctx;

typedef struct scan {
    clvox_volume *truth, *fa, *mask;
    clvox_tensor_fit_result fit;
} scan;

/* Blocks of constant tensors with noise, fitted. */
static void scan_make(const int size[3], const double spacing[3], double snr, scan *s)
{
    clvox_grid grid;
    clv_tensor_phantom phantom;
    clvox_gradients *gradients;
    clvox_volume *dwi;
    clvox_phantom_grid(size, spacing, true, &grid);
    assert_ok(clv_tensor_phantom_make(CLVOX_TENSOR_STEPS, &grid, 3, &phantom));
    assert_ok(clv_tensor_phantom_truth(&phantom, &grid, &s->truth, &s->fa, &s->mask));
    assert_ok(clv_tensor_phantom_gradients(20, 1000, 1, &gradients));
    assert_ok(clv_tensor_phantom_dwi(&phantom, &grid, gradients, snr, true, 5, &dwi));
    assert_ok(clvox_tensor_fit(ctx, dwi, gradients, s->mask, NULL, &s->fit));
    clvox_gradients_destroy(&gradients);
    clvox_volume_destroy(&dwi);
}

static void scan_free(scan *s)
{
    clvox_volume_destroy(&s->truth);
    clvox_volume_destroy(&s->fa);
    clvox_volume_destroy(&s->mask);
    clvox_tensor_fit_result_destroy(&s->fit);
}

/* Root mean square over the mask and all nine entries, mm^2/s. */
static double distance(const scan *s, const clvox_volume *a, const clvox_volume *b)
{
    size_t n = clvox_grid_voxels(&a->grid), count = 0;
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        if (!(s->mask->data[i] > 0))
            continue;
        count++;
        for (size_t c = 0; c < 6; c++) {
            double d = (double)a->data[c * n + i] - (double)b->data[c * n + i];
            sum += (c == 0 || c == 3 || c == 5 ? 1 : 2) * d * d;
        }
    }
    return sqrt(sum / (double)count);
}

static bool positive(const clvox_volume *t, size_t i)
{
    size_t n = clvox_grid_voxels(&t->grid);
    double d[6];
    for (size_t c = 0; c < 6; c++)
        d[c] = (double)t->data[c * n + i];
    double minor = d[0] * d[3] - d[1] * d[1];
    double all = d[0] * (d[3] * d[5] - d[4] * d[4]) - d[1] * (d[1] * d[5] - d[4] * d[2]) +
                 d[2] * (d[1] * d[4] - d[3] * d[2]);
    return d[0] > 0 && minor > 0 && all > 0;
}

static const int sizes[][3] = {{29, 24, 17}, {37, 31, 1}};
static const char *const models[] = {"local", "paper", "log"};
/* As shares of the error before: the blocks of so small a grid have few voxels. */
static const double most[2][3] = {{.78, .8, .83}, {.68, .76, .78}};

static struct {
    scan s;
    clvox_grid grid;
    clvox_volume *tensor, *map;
    clvox_tensor_denoise_options o;
    size_t n;
} shared;

static int nearer_set_up(void **state)
{
    const int *given = *state;
    scan_make(sizes[given[0]], (const double[3]){2, 2, 2.5}, 20, &shared.s);
    return 0;
}

static int nearer_tear_down(void **state)
{
    (void)state;
    scan_free(&shared.s);
    return 0;
}

static void nearer_to_the_truth_slices(void **state)
{
    const int *given = *state;
    int k = given[0], model = given[1];
    size_t n = clvox_grid_voxels(&shared.s.truth->grid);
    double before = distance(&shared.s, shared.s.fit.tensor, shared.s.truth);
    clvox_tensor_denoise_options o;
    clvox_tensor_denoise_result r, again;
    clvox_tensor_denoise_defaults(&o);
    o.model = (clvox_tensor_model)model;
    assert_ok(clvox_tensor_denoise(ctx, shared.s.fit.tensor, shared.s.fit.sigma, shared.s.mask, &o, &r));
    assert_ok(clvox_tensor_denoise(ctx, shared.s.fit.tensor, shared.s.fit.sigma, shared.s.mask, &o, &again));
    double after = distance(&shared.s, r.tensor, shared.s.truth);
    printf("# %.4g, then %.4g of 1e-3 mm^2/s; lambda %.3g\n", 1e3 * before, 1e3 * after, r.lambda);
    assert_true(after < most[k][model] * before);
    assert_memory_equal(r.tensor->data, again.tensor->data, 6 * n * sizeof(float));
    assert_true(r.energy[1] < r.energy[0] && !r.guessed && r.sigma > 0);
    for (size_t i = 0; i < n; i++)
        if (shared.s.mask->data[i] > 0) {
            assert_true(positive(r.tensor, i));
        } else {
            for (size_t c = 0; c < 6; c++)
                assert_true(r.tensor->data[c * n + i] == shared.s.fit.tensor->data[c * n + i]);
        }
    clvox_volume_destroy(&r.tensor);
    clvox_volume_destroy(&again.tensor);
}

static void nearer(void)
{
    for (int k = 0; k < 2; k++) {
        test_set_up(nearer_set_up);
        for (int model = 0; model < 3; model++)
            test_case_at(nearer_to_the_truth_slices, TEST_AT(k, model), "%s: nearer to the truth, %d slices",
                         models[model], sizes[k][2]);
        test_tear_down(nearer_tear_down);
    }
}

/* A field that varies by more than noise everywhere is smoothed less. */
static int structure_set_up(void **state)
{
    (void)state;
    const double noise = 1e-5, spacing[3] = {2, 2, 2.5};
    clvox_phantom_grid((const int[3]){17, 14, 9}, spacing, true, &shared.grid);
    shared.n = clvox_grid_voxels(&shared.grid);
    assert_ok(clvox_volume_create(&shared.grid, 6, CLVOX_KIND_TENSOR, &shared.tensor));
    assert_ok(clvox_volume_create(&shared.grid, 1, CLVOX_KIND_SCALAR, &shared.map));
    for (size_t i = 0; i < shared.n; i++)
        shared.map->data[i] = (float)noise;
    clvox_tensor_denoise_defaults(&shared.o);
    return 0;
}

/* Six levels of noise from neighbour to neighbour, along each axis. */
static double lambda_of(int levels)
{
    const double noise = 1e-5;
    clvox_tensor_denoise_result r;
    for (size_t i = 0; i < 6 * shared.n; i++) {
        size_t v = i % shared.n, c = i / shared.n, way = v % 17 + v / 17 % 14 + v / (17 * 14);
        bool beside = c == 1 || c == 2 || c == 4;
        double value = beside ? 0 : 2e-3 + (c ? 0 : levels * noise * ((double)way - 18));
        shared.tensor->data[i] = (float)(value + noise * sqrt(beside ? .5 : 1) * clv_phantom_normal(7, i));
    }
    assert_ok(clvox_tensor_denoise(ctx, shared.tensor, shared.map, NULL, &shared.o, &r));
    printf("# %.4g\n", r.lambda);
    clvox_volume_destroy(&r.tensor);
    return r.lambda;
}

static void lambda_from_the_noise(void **state)
{
    const int *given = *state;
    clvox_tensor_denoise_result r;
    const double constant = lambda_of(0), varying = given[0] ? lambda_of(6) : 0;
    /* 36 + 12 over 12 noise variances. */
    assert_true(!given[0] || (varying > 1.7 * constant && varying < 2.3 * constant));
    assert_ok(clvox_tensor_denoise(ctx, shared.tensor, NULL, NULL, &shared.o, &r));
    assert_true(r.guessed && r.lambda > 0);
    clvox_volume_destroy(&r.tensor);
}

static int structure_tear_down(void **state)
{
    (void)state;
    clvox_volume_destroy(&shared.tensor);
    clvox_volume_destroy(&shared.map);
    return 0;
}

static void structure(void)
{
    test_set_up(structure_set_up);
    for (int k = 0; k < 2; k++)
        test_case_at(lambda_from_the_noise, TEST_AT(k), "lambda from the noise and what %s",
                     k ? "varies" : "is constant");
    test_tear_down(structure_tear_down);
}

static int odd_values_set_up(void **state)
{
    (void)state;
    scan_make((const int[3]){13, 11, 7}, (const double[3]){2, 1.5, 3}, 20, &shared.s);
    shared.n = clvox_grid_voxels(&shared.s.truth->grid);
    clvox_tensor_denoise_defaults(&shared.o);
    return 0;
}

static int odd_values_tear_down(void **state)
{
    (void)state;
    scan_free(&shared.s);
    return 0;
}

static void a_tensor_that_is_not_finite_stays_and_harms(void **state)
{
    (void)state;
    clvox_tensor_denoise_result r;
    const size_t i = (3 * 11 + 5) * 13 + 6;
    shared.s.fit.tensor->data[i] = NAN;
    assert_ok(
        clvox_tensor_denoise(ctx, shared.s.fit.tensor, shared.s.fit.sigma, shared.s.mask, &shared.o, &r));
    assert_true(r.not_finite == 1 && isnan(r.tensor->data[i]));
    for (size_t k = 0; k < 6 * shared.n; k++)
        assert_true(k % shared.n == i || isfinite(r.tensor->data[k]));
    clvox_volume_destroy(&r.tensor);
}

static void a_constant_field_stays(void **state)
{
    (void)state;
    clvox_tensor_denoise_result r;
    clvox_volume *flat;
    assert_ok(clvox_volume_create(&shared.s.truth->grid, 6, CLVOX_KIND_TENSOR, &flat));
    for (size_t k = 0; k < 6 * shared.n; k++)
        flat->data[k] = (const float[6]){1.1e-3f, 1e-4f, -2e-4f, .7e-3f, 5e-5f, .4e-3f}[k / shared.n];
    shared.o.lambda = 4;
    assert_ok(clvox_tensor_denoise(ctx, flat, NULL, NULL, &shared.o, &r));
    for (size_t k = 0; k < 6 * shared.n; k++)
        assert_true(fabsf(r.tensor->data[k] - flat->data[k]) <= 1e-9f);
    clvox_volume_destroy(&r.tensor);
    clvox_volume_destroy(&flat);
}

static void a_model_that_is_not_known_is_refused(void **state)
{
    (void)state;
    clvox_tensor_denoise_result r;
    clvox_tensor_denoise_options odd = shared.o;
    odd.model = (clvox_tensor_model)(CLVOX_TENSOR_MODEL_LOG + 1);
    odd.iterations = 1;
    assert_true(clvox_tensor_denoise(ctx, shared.s.fit.tensor, NULL, NULL, &odd, &r) ==
                    CLVOX_ERROR_ARGUMENT &&
                !r.tensor);
}

static void an_empty_mask_no_noise_and_another_grid(void **state)
{
    (void)state;
    clvox_tensor_denoise_result r;
    memset(shared.s.fit.sigma->data, 0, shared.n * sizeof(float));
    clvox_tensor_fit_result *f = &shared.s.fit;
    assert_true(clvox_tensor_denoise(ctx, f->tensor, f->sigma, shared.s.mask, &shared.o, &r) ==
                    CLVOX_ERROR_DATA &&
                !r.tensor);
    memset(shared.s.mask->data, 0, shared.n * sizeof(float));
    assert_true(clvox_tensor_denoise(ctx, f->tensor, NULL, shared.s.mask, &shared.o, &r) ==
                    CLVOX_ERROR_DATA &&
                !r.tensor);
    shared.s.fit.sigma->grid.to_ras[0][3] += 5;
    assert_true(clvox_tensor_denoise(ctx, f->tensor, f->sigma, NULL, &shared.o, &r) == CLVOX_ERROR_DATA &&
                !r.tensor);
}

static void the_noise_level_is_the_median_above_0(void **state)
{
    (void)state;
    const float given[7] = {0, 3, -1, 9, NAN, 4, 0};
    clvox_grid grid = {0};
    clvox_volume *map = NULL;
    double level = -1;
    grid.size[0] = 7, grid.size[1] = grid.size[2] = 1;
    for (int a = 0; a < 3; a++)
        grid.to_ras[a][a] = 1;
    assert_ok(clvox_volume_create(&grid, 1, CLVOX_KIND_SCALAR, &map));
    memcpy(map->data, given, sizeof given);
    assert_ok(clvox_noise_level(map, &level));
    assert_true(level == 4);
    memset(map->data, 0, sizeof given);
    assert_ok(clvox_noise_level(map, &level));
    assert_true(level == 0);
    clvox_volume_destroy(&map);
}

static void odd_values(void)
{
    test_case(the_noise_level_is_the_median_above_0, "the noise level is the median of what is above 0");
    test_each(odd_values_set_up, odd_values_tear_down);
    test_case(a_tensor_that_is_not_finite_stays_and_harms,
              "a tensor that is not finite stays and harms no neighbour");
    test_case(a_constant_field_stays, "a constant field stays as it is");
    test_case(a_model_that_is_not_known_is_refused, "a model that is not known is refused");
    test_case(an_empty_mask_no_noise_and_another_grid,
              "an empty mask, no noise and another grid are refused");
}

int main(void)
{
    ctx = harness_open();
    nearer();
    structure();
    odd_values();
    return test_run("denoise", harness_close);
}
