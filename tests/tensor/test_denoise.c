/* SPDX-License-Identifier: Apache-2.0 */
/* Denoising of whole tensor fields: nearer to a truth that is known, and what
 * the two solvers, masks and odd values make of it. */
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
    clv_phantom_grid(size, spacing, true, &grid);
    check_must(clv_tensor_phantom_make(CLV_TENSOR_STEPS, &grid, 3, &phantom));
    check_must(clv_tensor_phantom_truth(&phantom, &grid, &s->truth, &s->fa, &s->mask));
    check_must(clv_tensor_phantom_gradients(20, 1000, 1, &gradients));
    check_must(clv_tensor_phantom_dwi(&phantom, &grid, gradients, snr, true, 5, &dwi));
    check_must(clvox_tensor_fit(ctx, dwi, gradients, s->mask, NULL, &s->fit));
    clvox_gradients_destroy(&gradients);
    clvox_volume_destroy(&dwi);
}

static void scan_free(scan *s)
{
    clvox_volume_destroy(&s->truth);
    clvox_volume_destroy(&s->fa);
    clvox_volume_destroy(&s->mask);
    clvox_tensor_fit_release(&s->fit);
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

static void nearer(void)
{
    static const int sizes[][3] = {{29, 24, 17}, {37, 31, 1}};
    static const char *const models[] = {"local", "paper", "log"};
    /* Of the error before: the blocks of so small a grid have few voxels. */
    static const double most[2][3] = {{.78, .8, .83}, {.68, .76, .78}};
    for (int k = 0; k < 2; k++) {
        scan s;
        scan_make(sizes[k], (const double[3]){2, 2, 2.5}, 20, &s);
        size_t n = clvox_grid_voxels(&s.truth->grid);
        double before = distance(&s, s.fit.tensor, s.truth);
        for (int model = 0; model < 3; model++) {
            CHECK_CASE("%s: nearer to the truth, %d slices", models[model], sizes[k][2]);
            clvox_tensor_denoise_options o;
            clvox_tensor_denoise_result r, again;
            clvox_tensor_denoise_defaults(&o);
            o.model = (clvox_tensor_model)model;
            check_must(clvox_tensor_denoise(ctx, s.fit.tensor, s.fit.sigma, s.mask, &o, &r));
            check_must(clvox_tensor_denoise(ctx, s.fit.tensor, s.fit.sigma, s.mask, &o, &again));
            double after = distance(&s, r.tensor, s.truth);
            printf("# %.4g, then %.4g of 1e-3 mm^2/s; lambda %.3g\n", 1e3 * before, 1e3 * after, r.lambda);
            CHECK(after < most[k][model] * before);
            CHECK(!memcmp(r.tensor->data, again.tensor->data, 6 * n * sizeof(float)));
            CHECK(r.energy[1] < r.energy[0] && !r.guessed && r.sigma > 0);
            for (size_t i = 0; i < n; i++)
                if (s.mask->data[i] > 0) {
                    CHECK(positive(r.tensor, i));
                } else {
                    for (size_t c = 0; c < 6; c++)
                        CHECK(r.tensor->data[c * n + i] == s.fit.tensor->data[c * n + i]);
                }
            clvox_volume_destroy(&r.tensor);
            clvox_volume_destroy(&again.tensor);
        }
        scan_free(&s);
    }
}

/* The descent rounds |grad| by eps: a little above the minimum of both. */
static void solvers(void)
{
    scan s;
    scan_make((const int[3]){19, 16, 11}, (const double[3]){2, 2, 2}, 15, &s);
    for (int model = 0; model < 2; model++) {
        CHECK_CASE("both solvers reach the same minimum: %s", model ? "paper" : "local");
        clvox_tensor_denoise_options o;
        clvox_tensor_denoise_result dual, descent;
        clvox_tensor_denoise_defaults(&o);
        o.model = (clvox_tensor_model)model;
        o.bregman = 1;
        o.lambda = 6;
        o.tolerance = 1e-4;
        check_must(clvox_tensor_denoise(ctx, s.fit.tensor, NULL, s.mask, &o, &dual));
        o.solver = CLVOX_TENSOR_DESCENT;
        o.iterations = 3000;
        check_must(clvox_tensor_denoise(ctx, s.fit.tensor, NULL, s.mask, &o, &descent));
        double apart = distance(&s, dual.tensor, descent.tensor);
        double moved = distance(&s, dual.tensor, s.fit.tensor);
        printf("# energies %.6g and %.6g; %.3g apart, moved by %.3g\n", dual.energy[1],
               descent.energy[1], apart, moved);
        CHECK(dual.gap <= 1e-4 && apart < .05 * moved);
        clvox_volume_destroy(&dual.tensor);
        clvox_volume_destroy(&descent.tensor);
    }
    scan_free(&s);
}

/* What varies by more than noise everywhere is smoothed less. */
static void structure(void)
{
    const double noise = 1e-5, spacing[3] = {2, 2, 2.5};
    clvox_grid grid;
    clvox_volume *tensor, *map;
    clvox_tensor_denoise_options o;
    clvox_tensor_denoise_result r;
    double lambda[2];
    clv_phantom_grid((const int[3]){17, 14, 9}, spacing, true, &grid);
    size_t n = clvox_grid_voxels(&grid);
    check_must(clvox_volume_create(&grid, 6, CLVOX_KIND_TENSOR, &tensor));
    check_must(clvox_volume_create(&grid, 1, CLVOX_KIND_SCALAR, &map));
    for (size_t i = 0; i < n; i++)
        map->data[i] = (float)noise;
    clvox_tensor_denoise_defaults(&o);
    for (int k = 0; k < 2; k++) {
        CHECK_CASE("lambda from the noise and what %s", k ? "varies" : "is constant");
        /* Six levels of noise from neighbour to neighbour, along each axis. */
        for (size_t i = 0; i < 6 * n; i++) {
            size_t v = i % n, c = i / n, way = v % 17 + v / 17 % 14 + v / (17 * 14);
            bool beside = c == 1 || c == 2 || c == 4;
            double value = beside ? 0 : 2e-3 + (c ? 0 : 6 * k * noise * ((double)way - 18));
            tensor->data[i] = (float)(value + noise * sqrt(beside ? .5 : 1) * clv_phantom_normal(7, i));
        }
        check_must(clvox_tensor_denoise(ctx, tensor, map, NULL, &o, &r));
        lambda[k] = r.lambda;
        printf("# %.4g\n", r.lambda);
        clvox_volume_destroy(&r.tensor);
        check_must(clvox_tensor_denoise(ctx, tensor, NULL, NULL, &o, &r));
        CHECK(r.guessed && r.lambda > 0);
        clvox_volume_destroy(&r.tensor);
    }
    /* 36 + 12 over 12 noise variances. */
    CHECK(lambda[1] > 1.7 * lambda[0] && lambda[1] < 2.3 * lambda[0]);
    clvox_volume_destroy(&tensor);
    clvox_volume_destroy(&map);
}

static void odd_values(void)
{
    scan s;
    clvox_tensor_denoise_options o;
    clvox_tensor_denoise_result r;
    scan_make((const int[3]){13, 11, 7}, (const double[3]){2, 1.5, 3}, 20, &s);
    size_t n = clvox_grid_voxels(&s.truth->grid), i = (3 * 11 + 5) * 13 + 6;
    clvox_tensor_denoise_defaults(&o);

    CHECK_CASE("a tensor that is not finite stays and harms no neighbour");
    s.fit.tensor->data[i] = NAN;
    check_must(clvox_tensor_denoise(ctx, s.fit.tensor, s.fit.sigma, s.mask, &o, &r));
    CHECK(r.not_finite == 1 && isnan(r.tensor->data[i]));
    for (size_t k = 0; k < 6 * n; k++)
        CHECK(k % n == i || isfinite(r.tensor->data[k]));
    clvox_volume_destroy(&r.tensor);

    CHECK_CASE("a constant field stays as it is");
    clvox_volume *flat;
    check_must(clvox_volume_create(&s.truth->grid, 6, CLVOX_KIND_TENSOR, &flat));
    for (size_t k = 0; k < 6 * n; k++)
        flat->data[k] = (const float[6]){1.1e-3f, 1e-4f, -2e-4f, .7e-3f, 5e-5f, .4e-3f}[k / n];
    o.lambda = 4;
    check_must(clvox_tensor_denoise(ctx, flat, NULL, NULL, &o, &r));
    for (size_t k = 0; k < 6 * n; k++)
        CHECK(fabsf(r.tensor->data[k] - flat->data[k]) <= 1e-9f);
    clvox_volume_destroy(&r.tensor);
    clvox_volume_destroy(&flat);

    CHECK_CASE("a solver that is not known is refused");
    clvox_tensor_denoise_options odd = o;
    odd.solver = (clvox_tensor_solver)(CLVOX_TENSOR_DESCENT + 1);
    odd.iterations = 1;
    CHECK(clvox_tensor_denoise(ctx, s.fit.tensor, NULL, NULL, &odd, &r) == CLVOX_ERROR_ARGUMENT && !r.tensor);

    CHECK_CASE("an empty mask, no noise and another grid are refused");
    o.lambda = -1;
    memset(s.fit.sigma->data, 0, n * sizeof(float));
    clvox_tensor_fit_result *f = &s.fit;
    CHECK(clvox_tensor_denoise(ctx, f->tensor, f->sigma, s.mask, &o, &r) == CLVOX_ERROR_DATA && !r.tensor);
    memset(s.mask->data, 0, n * sizeof(float));
    CHECK(clvox_tensor_denoise(ctx, f->tensor, NULL, s.mask, &o, &r) == CLVOX_ERROR_DATA && !r.tensor);
    s.fit.sigma->grid.to_ras[0][3] += 5;
    CHECK(clvox_tensor_denoise(ctx, f->tensor, f->sigma, NULL, &o, &r) == CLVOX_ERROR_DATA && !r.tensor);
    scan_free(&s);
}

int main(void)
{
    ctx = harness_open();
    nearer();
    solvers();
    structure();
    odd_values();
    clvox_context_destroy(&ctx);
    return check_end();
}
