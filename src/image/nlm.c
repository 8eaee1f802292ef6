/* SPDX-License-Identifier: Apache-2.0 */
#include "image/nlm.h"

#include <math.h>
#include <stdlib.h>

#include "image/noise.h"
#include "op/image/nlm.h"
#include "runtime/device/host.h"
#include "runtime/device/watch.h"

#define FIELD(field) CLV_FIELD(clvox_nlm_options, field)

static const char *idle_local(const clv_option *row, const void *values, const char *text)
{
    const clvox_nlm_options *o = values;
    (void)row;
    (void)text;
    return o->local && o->sigma > 0 ? "with --noise SD" : NULL;
}

static const clv_option rows[] = {
    CLV_NOISE_ROWS(clvox_nlm_options),
    {.name = "strength",
     .type = CLVOX_OPTION_NUMBER,
     FIELD(strength),
     .least = 0.1,
     .most = 10,
     .help = "above 1: more smoothing than the noise calls for"},
    {.name = "patch",
     .type = CLVOX_OPTION_INTEGER,
     FIELD(patch),
     .least = 1,
     .most = CLV_NLM_MAX_PATCH,
     .help = "radius of the patches, voxels"},
    {.name = "search",
     .type = CLVOX_OPTION_INTEGER,
     FIELD(search),
     .least = 1,
     .most = CLV_NLM_MAX_SEARCH,
     .help = "radius of the search, voxels"},
    {.name = "local-noise",
     .type = CLVOX_OPTION_FLAG,
     FIELD(local),
     .help = "the noise varies over the volume: measured around each voxel",
     .idle = idle_local},
    {.name = "single", .type = CLVOX_OPTION_FLAG, FIELD(single), .help = "first pass only"},
};

void clvox_nlm_defaults(clvox_nlm_options *o)
{
    *o = (clvox_nlm_options){.noise = CLVOX_NOISE_AUTO, .sigma = -1, .strength = 1, .patch = 1, .search = 3};
}

static void defaults(void *values)
{
    clvox_nlm_defaults(values);
}

const clv_option_table clv_nlm_table = {
    .rows = rows, .count = sizeof rows / sizeof rows[0], .size = sizeof(clvox_nlm_options), .defaults = defaults};

const clvox_option_table *clvox_nlm_table(void)
{
    return &clv_nlm_table;
}

typedef struct nlm {
    clvox_context *ctx;
    const clvox_nlm_options *options;
    const int *size;
    size_t voxels;
    const float *mask;
    bool rician;
    double texture; /* what patches of one tissue differ by, over the noise */
    float *filled, *deviation; /* on the host: the frame without what is not finite; sigma of each voxel */
    clv_nlm_padding padding;
    clv_buffer *frame, *sigmas, *value, *guide, *mean;
} nlm;

/* What is not finite counts for its neighbours as the mean of the finite ones around it, or 0. */
static float fill(const nlm *r, const float *v, size_t i)
{
    const int *n = r->size;
    const int x = (int)(i % (size_t)n[0]), y = (int)(i / (size_t)n[0] % (size_t)n[1]);
    const int z = (int)(i / (size_t)n[0] / (size_t)n[1]);
    double sum = 0;
    int count = 0;
    for (int c = z > 0 ? z - 1 : 0; c <= z + 1 && c < n[2]; c++)
        for (int b = y > 0 ? y - 1 : 0; b <= y + 1 && b < n[1]; b++)
            for (int a = x > 0 ? x - 1 : 0; a <= x + 1 && a < n[0]; a++) {
                float value = v[((size_t)c * (size_t)n[1] + (size_t)b) * (size_t)n[0] + (size_t)a];
                if (isfinite(value)) {
                    sum += (double)value;
                    count++;
                }
            }
    return count ? (float)(sum / count) : 0;
}

/* deviation: the noise of each voxel. */
static int measure(nlm *r, const float *v)
{
    int status = CLVOX_OK;
    const clvox_nlm_options *o = r->options;
    double sigma = o->sigma, level, rough = 0;
    const bool given = o->sigma > 0 || o->noise_map;
    if (given) {
        if (clv_image_noise(v, r->size, r->mask, r->rician, &level, &rough) < 0)
            level = rough = 1; /* of what is known nothing has to be measured */
    } else {
        CLV_TRY(clv_image_noise(v, r->size, r->mask, r->rician, &level, &rough));
        sigma = level;
    }
    r->texture = rough / level;
    for (size_t i = 0; i < r->voxels; i++)
        r->deviation[i] = o->noise_map ? o->noise_map->data[i] : (float)sigma;
    if (!given && o->local)
        CLV_TRY(clv_image_noise_map(v, r->size, r->mask, r->rician, r->deviation));
end:
    return status;
}

/* Where the noise is known and above 0; noted, and with what fine anatomy adds to it: by so much
 * patches of one tissue differ. */
static void prepare(nlm *r, const float *v, clvox_nlm_report *report)
{
    for (size_t i = 0; i < r->voxels; i++) {
        const bool finite = isfinite(v[i]);
        const double sigma = (double)r->deviation[i];
        const bool in = finite && (!r->mask || r->mask[i] > 0) && sigma > 0 && isfinite(sigma);
        r->filled[i] = finite ? v[i] : fill(r, v, i);
        r->deviation[i] = in ? (float)(sigma * r->texture) : 0;
        if (!in)
            continue;
        report->sigma[0] = report->voxels ? fmin(report->sigma[0], sigma) : sigma;
        report->sigma[1] = fmax(report->sigma[1], sigma);
        report->voxels++;
    }
}

/* By patches, then by what that gave: it has little noise left, and tells better which voxels are alike. */
static int denoise(nlm *r, int frame, int frames, float *out)
{
    /* On phantoms, of SNR 5 to 30. */
    static const float PATCHES = 0.6f, GUIDED = 1.0f;
    int status = CLVOX_OK;
    const clvox_nlm_options *o = r->options;
    const clv_image image = clv_image_of(r->frame, r->size, NULL, 1);
    const float strength = (float)o->strength;
    clv_nlm_means_args args = {.padding = r->padding, .value = r->value, .patch = o->patch, .search = o->search,
                               .strength = PATCHES * strength, .rician = r->rician, .sigma = r->sigmas};
    CLV_TRY(clv_buffer_write(r->ctx, r->frame, 0, r->filled, r->voxels * sizeof(float)));
    CLV_TRY(clv_buffer_write(r->ctx, r->sigmas, 0, r->deviation, r->voxels * sizeof(float)));
    CLV_TRY(clv_nlm_pad(r->ctx, &image, &r->padding, false, r->value));
    CLV_TRY(clv_nlm_means(r->ctx, &image, &args, r->frame));
    if (!o->single) {
        CLV_TRY(clv_watch_told(r->ctx, (frame + .5) / frames));
        CLV_TRY(clv_nlm_pad(r->ctx, &image, &r->padding, false, r->guide));
        CLV_TRY(clv_nlm_pad(r->ctx, &image, &r->padding, true, r->mean));
        args.guide = r->guide;
        args.mean = r->mean;
        args.strength = GUIDED * strength;
        CLV_TRY(clv_nlm_means(r->ctx, &image, &args, r->frame));
    }
    CLV_TRY(clv_buffer_read(r->ctx, r->frame, 0, out, r->voxels * sizeof(float)));
end:
    return status;
}

static int frames(nlm *r, const clvox_volume *volume, clvox_volume *made, clvox_nlm_report *report)
{
    int status = CLVOX_OK;
    for (int f = 0; f < volume->frames; f++) {
        const float *in = volume->data + (size_t)f * r->voxels;
        float *out = made->data + (size_t)f * r->voxels;
        CLV_TRY(measure(r, in));
        prepare(r, in, report);
        CLV_TRY(denoise(r, f, volume->frames, out));
        for (size_t i = 0; i < r->voxels; i++)
            if (!(r->deviation[i] > 0))
                out[i] = in[i];
        CLV_TRY(clv_watch_told(r->ctx, (f + 1.) / volume->frames));
    }
    if (!report->voxels)
        status = clvox_fail(CLVOX_ERROR_DATA, "no voxel of the mask is finite%s",
                            r->options->noise_map ? " and has noise above 0" : "");
end:
    return status;
}

int clvox_filter_nlm(clvox_context *context, const clvox_volume *volume, const clvox_volume *mask,
                     const clvox_nlm_options *options, clvox_volume **out, clvox_nlm_report *report)
{
    CLV_HOST_THREADS(context);
    CLV_WATCH(context, "denoising");
    int status = CLVOX_OK;
    clvox_nlm_options standard;
    clvox_nlm_report found = {.voxels = 0};
    clvox_volume *made = NULL;
    *out = NULL;
    clvox_nlm_defaults(&standard);
    nlm r = {.ctx = context, .options = options ? options : &standard, .size = volume->grid.size,
             .voxels = clvox_grid_voxels(&volume->grid), .mask = mask ? mask->data : NULL};
    r.padding = clv_nlm_padding_of(r.size, r.options->search);
    const size_t bytes = r.voxels * sizeof(float), padded = clv_nlm_padded_bytes(&r.padding);
    const clv_request requests[] = {
        {&r.frame, bytes, "volume"},
        {&r.sigmas, bytes, "noise of each voxel"},
        {&r.value, padded, "padded volume"},
        {&r.guide, padded, "padded volume without noise"},
        {&r.mean, padded, "its local means"},
    };
    const int buffers = r.options->single ? 3 : 5;
    CLV_TRY(clv_noise_check(volume, mask, &clv_nlm_table, r.options));
    if (r.options->noise_map && (r.options->noise_map->frames != 1 ||
                                 !clvox_grid_equal(&r.options->noise_map->grid, &volume->grid))) {
        status = clvox_fail(CLVOX_ERROR_ARGUMENT,
                            "the noise map is not on the grid of the image; resample it there");
        goto end;
    }
    found.rician = r.rician = clv_noise_rician(r.options->noise, volume);
    CLV_TRY(clvox_volume_create(&volume->grid, volume->frames, volume->kind, &made));
    made->frame_seconds = volume->frame_seconds;
    r.filled = malloc(bytes);
    r.deviation = malloc(bytes);
    if (!r.filled || !r.deviation) {
        status = clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
        goto end;
    }
    CLV_TRY(clv_pool_take(context, requests, buffers));
    CLV_TRY(frames(&r, volume, made, &found));
    *out = made;
    made = NULL;
    if (report)
        *report = found;
end:
    clv_pool_release(requests, buffers);
    free(r.filled);
    free(r.deviation);
    clvox_volume_destroy(&made);
    return status;
}
