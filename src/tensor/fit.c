/* SPDX-License-Identifier: Apache-2.0 */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/select.h"
#include "base/status.h"
#include "clvox/tensor.h"
#include "op/tensor/fit.h"
#include "runtime/device/host.h"
#include "runtime/device/watch.h"
#include "tensor/options.h"
#include "tensor/resident.h"

enum { MADE = 5 }; /* tensor, s0, sigma, noise, kind */

/* Part that runs on the device at once: all voxels, or as many as it can hold. */
typedef struct part {
    size_t voxels;
    clv_buffer *dwi, *mask, *state, *made[MADE];
} part;

typedef struct fit {
    const clvox_volume *dwi, *mask;
    const clv_resident *at; /* NULL: nothing lies on the device yet */
    clv_tensor_fit_args args;
    clv_tensor_design *design;
    int *frames; /* of dwi, those taken */
    int32_t *kind;
    size_t n;
} fit;

void clvox_tensor_fit_defaults(clvox_tensor_fit_options *options)
{
    CLV_GIVEN_OR(, options);
    *options = (clvox_tensor_fit_options){.size = sizeof *options, .method = CLVOX_TENSOR_WLS};
}

void clvox_tensor_fit_result_destroy(clvox_tensor_fit_result *result)
{
    if (!result)
        return;
    clvox_volume_destroy(&result->tensor);
    clvox_volume_destroy(&result->s0);
    clvox_volume_destroy(&result->sigma);
    clvox_volume_destroy(&result->noise);
    clvox_volume_destroy(&result->scan_noise);
    clvox_volume_destroy(&result->scan);
}

int clv_tensor_fit_check(const clvox_volume *dwi, const clvox_gradients *gradients, const clvox_volume *mask,
                         const clvox_tensor_fit_options *options)
{
    if (gradients->count != dwi->frames)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "%d gradients for %d volumes; give one for each volume",
                          gradients->count, dwi->frames);
    if (mask && (mask->frames != 1 || !clvox_grid_equal(&mask->grid, &dwi->grid)))
        return clvox_fail(CLVOX_ERROR_ARGUMENT,
                          "the mask is not on the grid of the scan; resample it there, labels and all");
    return clv_tensor_fit_options_check(options);
}

/* The scan without its own noise, where that is wanted: on the device, or the fit's from now on. */
static int denoise_scan(clvox_context *ctx, const clvox_tensor_fit_options *options, fit *f,
                        clvox_tensor_fit_result *out)
{
    int status = CLVOX_OK;
    const int radius = options->window / 2;
    const double started = clv_seconds();
    if (options->denoise == CLVOX_SCAN_AS_IT_IS)
        return CLVOX_OK;
    if (f->at) {
        CLV_TRY(clv_dwi_denoise_resident(ctx, f->dwi, radius, f->at, &out->scan_noise));
    } else {
        CLV_TRY(clvox_dwi_denoise(ctx, f->dwi, f->mask, radius, &out->scan, &out->scan_noise));
        f->dwi = out->scan;
    }
    out->seconds_scan = clv_seconds() - started;
end:
    return status;
}

/* The volumes up to bmax, and their equations. */
static int choose(clvox_context *ctx, const clvox_gradients *gradients, double bmax, fit *f)
{
    static const double ROUNDED = 1.05;
    int status = CLVOX_OK, count = 0;
    size_t most = (size_t)gradients->count;
    double *b = calloc(most, sizeof *b), (*direction)[3] = calloc(most, sizeof *direction);
    f->frames = calloc(most, sizeof *f->frames);
    if (!b || !direction || !f->frames) {
        status = clvox_fail(CLVOX_ERROR_MEMORY, "tensor fit: out of host memory");
        goto end;
    }
    for (int k = 0; k < gradients->count; k++) {
        if (bmax > 0 && gradients->b[k] > ROUNDED * bmax)
            continue;
        f->frames[count] = k;
        b[count] = gradients->b[k];
        memcpy(direction[count++], gradients->direction[k], sizeof *direction);
    }
    status = clv_tensor_design_create(ctx, b, (const double(*)[3])direction, count, &f->design);
    if (status < 0 && count < gradients->count) {
        char left[64];
        snprintf(left, sizeof left, "with b up to %g", bmax);
        clvox_fail_in(status, left);
    }
end:
    free(b);
    free(direction);
    return status;
}

static size_t state_bytes(const fit *f)
{
    return sizeof(float) * (size_t)clv_tensor_fit_state(f->args.method, f->args.robust);
}

/* As many of n voxels as the device takes at once; state: bytes of a voxel's. */
static size_t voxels_at_once(clvox_context *ctx, size_t n, size_t volumes, size_t state)
{
    const clvox_device_limits *limits = clvox_context_limits(ctx);
    size_t widest = volumes, most = n;
    if (widest < CLV_TENSOR_STATE)
        widest = CLV_TENSOR_STATE;
    size_t all = sizeof(float) * (volumes + 11) + state;
    size_t room = limits->free_bytes ? limits->free_bytes / 10 * 9 : limits->global_bytes / 2;
    if (most > (size_t)INT_MAX / widest)
        most = (size_t)INT_MAX / widest;
    if (limits->max_allocation && most > limits->max_allocation / (sizeof(float) * widest))
        most = limits->max_allocation / (sizeof(float) * widest);
    if (room && most > room / all)
        most = room / all;
    return most < n ? (most & ~(size_t)255) + (most < 256 ? 256 : 0) : n;
}

bool clv_tensor_fit_whole(clvox_context *ctx, size_t voxels, int volumes,
                          const clvox_tensor_fit_options *options)
{
    int state = clv_tensor_fit_state((clv_tensor_method)options->method, options->robust != 0);
    return voxels_at_once(ctx, voxels, (size_t)volumes, sizeof(float) * (size_t)state) == voxels;
}

static int upload(clvox_context *ctx, const fit *f, const part *p, size_t first, size_t count)
{
    int status = CLVOX_OK;
    const size_t bytes = count * sizeof(float);
    if (f->at) {
        /* The volumes that count move up; none lies where one before it goes. */
        for (int k = 0; k < f->design->volumes; k++)
            if (f->frames[k] != k)
                CLV_TRY(clv_buffer_copy(ctx, p->dwi, (size_t)f->frames[k] * bytes, p->dwi,
                                        (size_t)k * bytes, bytes));
        return CLVOX_OK;
    }
    if (count == f->n && f->design->volumes == f->dwi->frames)
        CLV_TRY(clv_buffer_write(ctx, p->dwi, 0, f->dwi->data, (size_t)f->dwi->frames * bytes));
    else
        for (int k = 0; k < f->design->volumes; k++)
            CLV_TRY(clv_buffer_write(ctx, p->dwi, (size_t)k * bytes,
                                     f->dwi->data + (size_t)f->frames[k] * f->n + first, bytes));
    if (f->mask)
        CLV_TRY(clv_buffer_write(ctx, p->mask, 0, f->mask->data + first, bytes));
end:
    return status;
}

static int download(clvox_context *ctx, const fit *f, const part *p, size_t first, size_t count,
                    clvox_tensor_fit_result *out)
{
    int status = CLVOX_OK;
    const size_t bytes = count * sizeof(float);
    float *const to[] = {out->s0->data, out->sigma->data, out->noise->data};
    for (size_t c = 0; c < 6; c++)
        CLV_TRY(clv_buffer_read(ctx, p->made[0], c * bytes, out->tensor->data + c * f->n + first, bytes));
    for (int i = 0; i < 3; i++)
        CLV_TRY(clv_buffer_read(ctx, p->made[1 + i], 0, to[i] + first, bytes));
    CLV_TRY(clv_buffer_read(ctx, p->made[4], 0, f->kind + first, bytes));
end:
    return status;
}

static int run(clvox_context *ctx, fit *f, clvox_tensor_fit_result *out)
{
    int status = CLVOX_OK;
    const clv_resident *at = f->at;
    part p = {.voxels = at ? f->n : voxels_at_once(ctx, f->n, (size_t)f->design->volumes, state_bytes(f))};
    const size_t bytes = p.voxels * sizeof(float);
    const clv_request requests[] = {
        {&p.state, p.voxels * state_bytes(f), "state of a tensor fit"},
        {&p.made[1], bytes, "signal without weighting"},
        {&p.made[2], bytes, "noise of tensors"},
        {&p.made[3], bytes, "noise"},
        {&p.made[4], bytes, "kinds of voxels"},
        /* A resident scan has these already. */
        {&p.made[0], 6 * bytes, "tensors"},
        {&p.dwi, (size_t)f->design->volumes * bytes, "diffusion-weighted volumes"},
        {&p.mask, bytes, "mask"},
    };
    const int count = at ? 5 : f->mask ? 8 : 7;
    const bool whole = p.voxels == f->n, all = f->design->volumes == f->dwi->frames;
    void *const host[] = {NULL, out->s0->data, out->sigma->data, out->noise->data, f->kind, out->tensor->data,
                          all ? f->dwi->data : NULL, f->mask ? f->mask->data : NULL};
    CLV_TRY(clv_pool_take_over(ctx, requests, whole ? host : NULL, count));
    if (at) {
        p.dwi = at->scan;
        p.made[0] = at->tensor;
        p.mask = at->mask;
    }
    f->args.design = f->design;
    f->args.dwi = p.dwi;
    f->args.mask = p.mask;
    f->args.state = p.state;
    f->args.tensor = p.made[0];
    f->args.s0 = p.made[1];
    f->args.sigma = p.made[2];
    f->args.noise = p.made[3];
    f->args.kind = p.made[4];
    for (size_t first = 0; first < f->n; first += p.voxels) {
        size_t here = f->n - first < p.voxels ? f->n - first : p.voxels;
        f->args.voxels = (int)here;
        CLV_TRY(upload(ctx, f, &p, first, here));
        CLV_TRY(clv_tensor_fit(ctx, &f->args));
        CLV_TRY(download(ctx, f, &p, first, here, out));
        CLV_TRY(clv_watch_told(ctx, (double)(first + here) / (double)f->n));
    }
end:
    clv_pool_release(requests, count);
    return status;
}

static int median_of(const fit *f, const clvox_volume *volume, double *out)
{
    size_t count = 0;
    float *values = malloc(f->n * sizeof *values);
    if (!values)
        return clvox_fail(CLVOX_ERROR_MEMORY, "tensor fit: out of host memory");
    for (size_t i = 0; i < f->n; i++)
        if ((f->kind[i] & CLV_TENSOR_FITTED) && volume->data[i] > 0)
            values[count++] = volume->data[i];
    *out = clv_median(values, count);
    free(values);
    return CLVOX_OK;
}

static int count_kinds(const fit *f, clvox_tensor_fit_result *out)
{
    int status = CLVOX_OK;
    for (size_t i = 0; i < f->n; i++) {
        const int kind = f->kind[i];
        const size_t rejects = (size_t)(kind / CLV_TENSOR_REJECTED);
        out->asked += !f->mask || f->mask->data[i] > 0;
        out->fitted += (kind & CLV_TENSOR_FITTED) != 0;
        out->without_signal += (kind & CLV_TENSOR_NO_SIGNAL) != 0;
        out->not_finite += (kind & CLV_TENSOR_NOT_FINITE) != 0;
        out->left_out += (kind & CLV_TENSOR_LEFT_OUT) != 0;
        out->far_s0 += (kind & CLV_TENSOR_FAR_S0) != 0;
        out->made_positive += (kind & CLV_TENSOR_MADE_POSITIVE) != 0;
        out->voxels_with_rejects += rejects > 0;
        out->rejects += rejects;
    }
    CLV_TRY(median_of(f, out->sigma, &out->median_sigma));
    CLV_TRY(median_of(f, out->noise, &out->median_noise));
end:
    return status;
}

int clv_tensor_fit_resident(clvox_context *context, const clvox_volume *dwi, const clvox_gradients *gradients,
                            const clvox_volume *mask, const clvox_tensor_fit_options *options,
                            const clv_resident *at, clvox_tensor_fit_result *out)
{
    int status = CLVOX_OK;
    double started;
    clvox_tensor_fit_options plain;
    fit f = {.dwi = dwi, .mask = mask, .at = at, .n = clvox_grid_voxels(&dwi->grid)};
    memset(out, 0, sizeof *out);
    clvox_tensor_fit_defaults(&plain);
    if (!options)
        options = &plain;
    CLV_TRY(clv_tensor_fit_check(dwi, gradients, mask, options));
    CLV_TRY(choose(context, gradients, options->bmax, &f));
    f.args.method = (clv_tensor_method)options->method;
    f.args.robust = options->robust != 0;
    f.args.steps = options->steps;
    f.kind = malloc(f.n * sizeof *f.kind);
    if (!f.kind) {
        status = clvox_fail(CLVOX_ERROR_MEMORY, "tensor fit: out of host memory");
        goto end;
    }
    CLV_TRY(clvox_volume_create(&dwi->grid, 6, CLVOX_KIND_TENSOR, &out->tensor));
    CLV_TRY(clvox_volume_create(&dwi->grid, 1, CLVOX_KIND_SCALAR, &out->s0));
    CLV_TRY(clvox_volume_create(&dwi->grid, 1, CLVOX_KIND_SCALAR, &out->sigma));
    CLV_TRY(clvox_volume_create(&dwi->grid, 1, CLVOX_KIND_SCALAR, &out->noise));
    out->volumes = f.design->volumes;
    CLV_TRY(denoise_scan(context, options, &f, out));
    started = clv_seconds();
    CLV_TRY(run(context, &f, out));
    CLV_TRY(count_kinds(&f, out));
    if (!out->fitted) {
        status =
            clvox_fail(CLVOX_ERROR_DATA,
                       "no voxel can be fitted: of %zu, %zu have no signal without weighting and %zu hold "
                       "values that are not finite; is this the scan, and the mask on it?",
                       out->asked, out->without_signal, out->not_finite);
        goto end;
    }
    if (out->scan_noise)
        CLV_TRY(clv_tensor_fit_denoised(out, out->scan_noise));
    if (!options->keep_scan)
        clvox_volume_destroy(&out->scan);
    out->seconds = clv_seconds() - started;
end:
    if (status < 0)
        clvox_tensor_fit_result_destroy(out);
    clv_tensor_design_destroy(&f.design);
    free(f.frames);
    free(f.kind);
    return status;
}

int clvox_tensor_fit(clvox_context *context, const clvox_volume *dwi, const clvox_gradients *gradients,
                     const clvox_volume *mask, const clvox_tensor_fit_options *options,
                     clvox_tensor_fit_result *out)
{
    CLV_GIVEN(context, dwi, gradients, out);
    CLV_HOST_THREADS(context);
    CLV_WATCH(context, "tensors");
    return clv_tensor_fit_resident(context, dwi, gradients, mask, options, NULL, out);
}
