/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/fourier/fourier.h"

#include <math.h>
#include <stdlib.h>

#include "runtime/device/context.h"

const char *clv_fourier_wish(const clvox_context *ctx)
{
    return ctx->fourier[0] ? ctx->fourier : NULL;
}

/* Small, with the radices that libraries write out. */
static const int SIZE[3] = {8, 6, 5};
enum { VOXELS = 8 * 6 * 5, KEPT = 8 / 2 + 1, WAVES = KEPT * 6 * 5 };

/* Numbers that no symmetry makes right by chance. */
static float value(int component, int voxel)
{
    return (float)((component * VOXELS + voxel) * 7919 % 1009) / 504.5f - 1;
}

/* Number (x, y, z) of a component's spectrum, by the definition. */
static void wave(int component, const int at[3], double sum[2])
{
    const double turn = -2 * acos(-1);
    sum[0] = sum[1] = 0;
    for (int i = 0; i < VOXELS; i++) {
        const int x = i % SIZE[0], y = i / SIZE[0] % SIZE[1], z = i / (SIZE[0] * SIZE[1]);
        double angle = turn * ((double)(at[0] * x) / SIZE[0] + (double)(at[1] * y) / SIZE[1] +
                               (double)(at[2] * z) / SIZE[2]);
        sum[0] += (double)value(component, i) * cos(angle);
        sum[1] += (double)value(component, i) * sin(angle);
    }
}

/* The largest error of a spectrum and of the field that came back. */
static double error_of(const float *spectrum, const float *back, bool packed)
{
    double worst = 0, sum[2];
    for (int c = 0; c < 3; c++) {
        for (int i = 0; i < WAVES; i++) {
            const int at[3] = {i % KEPT, i / KEPT % SIZE[1], i / (KEPT * SIZE[1])};
            wave(c, at, sum);
            for (int part = 0; part < 2; part++) {
                double error = fabs((double)spectrum[2 * (c * WAVES + i) + part] - sum[part]);
                worst = error <= worst ? worst : error; /* NaN counts as worse */
            }
        }
        for (int i = 0; i < VOXELS; i++) {
            double error = fabs((double)back[packed ? 3 * i + c : c * VOXELS + i] - (double)value(c, i));
            worst = error <= worst ? worst : error;
        }
    }
    return worst;
}

/* Rounding of 240 numbers below 1 leaves about 1e-6. */
static int compare(clvox_context *ctx, const clv_fourier_library *library)
{
    int status = CLVOX_OK;
    bool packed = !library->planar && clv_fields_packed(ctx);
    float field[3 * VOXELS], spectrum[6 * WAVES];
    clv_buffer *in = NULL, *out = NULL;
    void *plan = NULL;
    for (int i = 0; i < 3 * VOXELS; i++)
        field[i] = packed ? value(i % 3, i / 3) : value(i / VOXELS, i % VOXELS);
    CLV_TRY(clv_buffer_create(ctx, sizeof field, "field of a Fourier transform", &in));
    CLV_TRY(clv_buffer_create(ctx, sizeof spectrum, "Fourier spectrum", &out));
    CLV_TRY(library->plan(ctx, SIZE, &plan));
    CLV_TRY(clv_buffer_write(ctx, in, 0, field, sizeof field));
    CLV_TRY(library->forward(ctx, plan, in, out));
    CLV_TRY(clv_buffer_read(ctx, out, 0, spectrum, sizeof spectrum));
    CLV_TRY(clv_buffer_fill(ctx, in, 0, 0, sizeof field));
    CLV_TRY(library->back(ctx, plan, out, in));
    CLV_TRY(clv_buffer_read(ctx, in, 0, field, sizeof field));
    double error = error_of(spectrum, field, packed);
    if (!(error <= 1e-4))
        status = clvox_fail(CLVOX_ERROR_DEVICE,
                            "Fourier transform: %s is off by %g on %s (%s) and is not used there; another "
                            "provider or another driver is",
                            library->name, error, ctx->limits.name, ctx->limits.driver);
end:
    if (plan)
        library->destroy(plan);
    clv_buffer_destroy(&in);
    clv_buffer_destroy(&out);
    return status;
}

int clv_fourier_trust(clvox_context *ctx, const clv_fourier_library *library)
{
    int status = CLVOX_OK;
    size_t bytes;
    unsigned char *known = NULL;
    clv_counts counts = {-1, -1, -1};
    for (int i = 0; i < ctx->trusted_count; i++)
        if (ctx->trusted[i] == library)
            return CLVOX_OK;
    clv_cache_key key = clv_cache_key_start();
    clv_cache_key_add(&key, "right Fourier transforms");
    clv_cache_key_add(&key, library->name);
    clv_cache_key_add(&key, ctx->build_identity ? ctx->build_identity : "");
    if (!ctx->cache_dir || !clv_cache_load(ctx->cache_dir, key, &known, &bytes, &counts)) {
        CLV_TRY(compare(ctx, library));
        if (ctx->cache_dir)
            clv_cache_store(ctx->cache_dir, key, (const unsigned char *)library->name, 1, &counts);
    }
    if (ctx->trusted_count < CLV_MOST_TRUSTED)
        ctx->trusted[ctx->trusted_count++] = library;
end:
    free(known);
    return status;
}
