/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/clock.h"
#include "base/status.h"
#include "clvox/tensor_all.h"
#include "runtime/device/host.h"
#include "runtime/device/watch.h"
#include "tensor/maps.h"
#include "tensor/options.h"
#include "tensor/resident.h"

typedef struct chain {
    clvox_context *ctx;
    const clvox_volume *dwi, *mask;
    const clvox_gradients *gradients;
    const clvox_tensor_all_options *options;
    clvox_tensor_all_result *out;
    clv_resident at;
    bool resident; /* else each stage takes what it needs, and the host holds what lies between */
} chain;

void clvox_tensor_all_defaults(clvox_tensor_all_options *options)
{
    CLV_GIVEN_OR(, options);
    *options = (clvox_tensor_all_options){.size = sizeof *options, .measures = CLVOX_MEASURES_ALL};
    clvox_tensor_fit_defaults(&options->fit);
    clvox_tensor_denoise_defaults(&options->denoise);
}

void clvox_tensor_all_result_destroy(clvox_tensor_all_result *result)
{
    if (!result)
        return;
    clvox_volume_destroy(&result->mask);
    clvox_tensor_fit_result_destroy(&result->fit);
    clvox_volume_destroy(&result->denoised.tensor);
    for (int m = 0; m < CLVOX_MEASURES; m++)
        clvox_volume_destroy(&result->maps[m]);
}

/* The scan goes to the device, and room for the tensor is made, once. */
static int settle(chain *c)
{
    int status = CLVOX_OK;
    size_t n = clvox_grid_voxels(&c->dwi->grid), bytes = n * sizeof(float);
    size_t all = bytes * (size_t)c->dwi->frames;
    const clv_request requests[] = {{&c->at.scan, all, "diffusion-weighted volumes"},
                                    {&c->at.tensor, 6 * bytes, "tensors"},
                                    {&c->at.mask, bytes, "mask"}};
    c->resident = clv_tensor_fit_whole(c->ctx, n, c->dwi->frames, &c->options->fit);
    if (!c->resident)
        return CLVOX_OK;
    CLV_TRY(clv_pool_take(c->ctx, requests, c->mask ? 3 : 2));
    CLV_TRY(clv_buffer_write(c->ctx, c->at.scan, 0, c->dwi->data, all));
    if (c->mask)
        CLV_TRY(clv_buffer_write(c->ctx, c->at.mask, 0, c->mask->data, bytes));
end:
    return status;
}

static int fit(chain *c)
{
    CLV_WATCH(c->ctx, "tensors");
    int status = CLVOX_OK;
    const clvox_tensor_all_options *o = c->options;
    c->out->stage = CLVOX_TENSOR_STAGE_SCAN;
    if (!c->mask && !o->everywhere) {
        CLV_TRY(clvox_dwi_mask(c->dwi, &c->out->mask));
        c->mask = c->out->mask;
    }
    CLV_TRY(clv_tensor_fit_check(c->dwi, c->gradients, c->mask, &o->fit));
    CLV_TRY(settle(c));
    c->out->stage = CLVOX_TENSOR_STAGE_FIT;
    CLV_TRY(clv_tensor_fit_resident(c->ctx, c->dwi, c->gradients, c->mask, &o->fit,
                                    c->resident ? &c->at : NULL, &c->out->fit));
end:
    clv_buffer_destroy(&c->at.scan);
    return status;
}

static int denoise(chain *c)
{
    const clvox_tensor_all_options *o = c->options;
    clvox_tensor_fit_result *f = &c->out->fit;
    bool known = f->median_sigma > 0;
    c->out->stage = CLVOX_TENSOR_STAGE_DENOISE;
    if (!(o->denoise.lambda > 0) && !known)
        return clvox_fail(CLVOX_ERROR_DATA,
                          "%d volumes leave no residuals to tell the noise from; give --lambda, or --plain",
                          f->volumes);
    return clv_tensor_denoise_resident(c->ctx, f->tensor, known ? f->sigma : NULL, c->mask, &o->denoise,
                                       c->resident ? &c->at : NULL, &c->out->denoised);
}

static int measure(chain *c)
{
    CLV_WATCH(c->ctx, "measures");
    const clvox_volume *tensor = c->options->plain ? c->out->fit.tensor : c->out->denoised.tensor;
    c->out->stage = CLVOX_TENSOR_STAGE_MEASURES;
    return c->resident ? clv_tensor_maps(c->ctx, c->at.tensor, c->at.mask, &tensor->grid, 1,
                                         c->options->measures, c->out->maps)
                       : clvox_tensor_measures(c->ctx, tensor, c->mask, c->options->measures, c->out->maps);
}

int clvox_tensor_all(clvox_context *context, const clvox_volume *dwi, const clvox_gradients *gradients,
                     const clvox_volume *mask, const clvox_tensor_all_options *options,
                     clvox_tensor_all_result *out)
{
    CLV_GIVEN(context, dwi, gradients, out);
    CLV_HOST_THREADS(context);
    int status = CLVOX_OK;
    clvox_tensor_all_options plain;
    clvox_tensor_all_defaults(&plain);
    chain c = {.ctx = context, .dwi = dwi, .mask = mask, .gradients = gradients,
               .options = options ? options : &plain, .out = out};
    size_t before = clv_peak_start(context);
    double at = clv_seconds(), then;
    memset(out, 0, sizeof *out);
    CLV_TRY(clv_tensor_all_options_check(c.options));
    CLV_TRY(fit(&c));
    out->seconds[0] = (then = clv_seconds()) - at;
    if (!c.options->plain)
        CLV_TRY(denoise(&c));
    out->seconds[1] = (at = clv_seconds()) - then;
    CLV_TRY(measure(&c));
    out->seconds[2] = clv_seconds() - at;
    out->device_bytes = clv_peak_bytes(context) - before;
end:
    clv_buffer_destroy(&c.at.scan);
    clv_buffer_destroy(&c.at.mask);
    clv_buffer_destroy(&c.at.tensor);
    if (status < 0)
        clvox_tensor_all_result_destroy(out);
    return status;
}
