/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "image/noise.h"
#include "base/status.h"
#include "op/image/tv.h"
#include "op/tensor/links.h"
#include "runtime/device/host.h"
#include "runtime/device/watch.h"
#include "transform/field.h"

#define FIELD(field) CLV_FIELD(clvox_tv_options, field)

enum { CHECK_EVERY = 10, MOST_ITERATIONS = 100000 };

/* Share of the noise, for one channel; less where neighbours differ by more than LITTLE times what noise alone
 * explains: the more anatomy, the less smoothing. On phantoms PSNR is highest at less, SSIM at more. */
static const double WEIGHT = 0.61, LITTLE = 1.07;

static const clv_option rows[] = {
    CLV_NOISE_ROWS(clvox_tv_options),
    {.name = "strength",
     .type = CLVOX_OPTION_NUMBER,
     FIELD(strength),
     .least = 0.1,
     .most = 10,
     .help = "above 1: more smoothing than the noise calls for"},
    {.name = "weight",
     .type = CLVOX_OPTION_NUMBER,
     FIELD(weight),
     .open = CLV_OPTION_ABOVE,
     .unset = true,
     .automatic = "auto",
     .argument = "W|auto",
     .help = "of total variation, in units of the image (auto: about .6 of the noise, times --strength)"},
    {.name = "joint",
     .type = CLVOX_OPTION_FLAG,
     FIELD(joint),
     .help = "4-D: all frames have their edges in the same places (vector TV)"},
    {.name = "tolerance",
     .type = CLVOX_OPTION_NUMBER,
     FIELD(tolerance),
     .least = 1e-4,
     .most = 1,
     .help = "stop where the RMS distance from the minimiser is below this part of the weight"},
    {.name = "iterations",
     .type = CLVOX_OPTION_INTEGER,
     FIELD(iterations),
     .least = 1,
     .most = MOST_ITERATIONS,
     .help = "end after so many, at the latest"},
};

void clvox_tv_defaults(clvox_tv_options *o)
{
    CLV_GIVEN_OR(, o);
    *o = (clvox_tv_options){.size = sizeof *o,
                            .noise = CLVOX_NOISE_AUTO,
                            .sigma = -1,
                            .strength = 1,
                            .weight = -1,
                            .tolerance = 0.02,
                            .iterations = 500};
}

static void defaults(void *values)
{
    clvox_tv_defaults(values);
}

static const clv_option_table table = {.rows = rows,
                                       .count = sizeof rows / sizeof rows[0],
                                       .size = sizeof(clvox_tv_options),
                                       .defaults = defaults};

const clvox_option_table *clvox_tv_table(void)
{
    return &table;
}

/* Frames that are solved together: all, or one after the other. */
typedef struct variation {
    clvox_context *ctx;
    const clvox_tv_options *options;
    clvox_tv_report *report;
    size_t voxels;
    bool rician;
    float *inside, *work; /* on the host: 1 where the solver works; a frame */
    double *sigma,
        *scale; /* of each of the frames: the noise, 0 where it is not known; its unit in the solver */
    clv_magnitudes *magnitudes;
    clv_buffer *mask, *links;
    clv_tv tv;
} variation;

/* Chooses the voxels inside the mask at which all frames have values. */
static size_t choose(const variation *r, const clvox_volume *mask, const float *frames)
{
    size_t count = 0;
    for (size_t i = 0; i < r->voxels; i++) {
        bool in = !mask || mask->data[i] > 0;
        for (int c = 0; c < r->tv.channels && in; c++)
            in = isfinite(frames[(size_t)c * r->voxels + i]);
        r->inside[i] = in;
        count += in;
    }
    return count;
}

/* The noise of each frame, which is its unit, so that channels count alike; with a weight alone, the
 * values are their own. */
static int measure(variation *r, const float *frames)
{
    int status = CLVOX_OK;
    const clvox_tv_options *o = r->options;
    double texture = 0;
    for (int c = 0; c < r->tv.channels; c++) {
        const float *in = frames + (size_t)c * r->voxels;
        const bool given = o->sigma > 0;
        double level, rough;
        clv_noise_found noise = {.texture = 1};
        if (given) {
            if (o->weight <= 0 &&
                clv_image_noise(in, r->tv.grid.size, r->inside, r->rician, &level, &rough) >= 0)
                noise.texture = rough / level;
            noise.sigma = o->sigma;
        } else if (o->weight <= 0 || r->rician) {
            CLV_TRY(clv_image_noise_find(in, r->tv.grid.size, r->inside, r->rician, r->work, &noise));
        }
        texture += fmax(1, noise.texture / LITTLE) / r->tv.channels;
        r->sigma[c] = noise.sigma;
        r->scale[c] = o->weight > 0 ? o->weight : noise.sigma;
    }
    /* The gradient of noise in many channels is longer by the root of their number. */
    r->tv.radius = (float)(o->weight > 0 ? 1 : WEIGHT / texture * o->strength * sqrt(r->tv.channels));
end:
    return status;
}

static int upload(variation *r, const float *frames)
{
    int status = CLVOX_OK;
    const size_t bytes = r->voxels * sizeof(float);
    CLV_TRY(clv_buffer_write(r->ctx, r->mask, 0, r->inside, bytes));
    const clv_image mask = clv_image_on(&r->tv.grid, r->mask, 1);
    CLV_TRY(clv_tensor_links(r->ctx, &mask, r->links));
    for (int c = 0; c < r->tv.channels; c++) {
        const float *in = frames + (size_t)c * r->voxels;
        for (size_t i = 0; i < r->voxels; i++)
            r->work[i] = r->inside[i] > 0 ? (float)((double)in[i] / r->scale[c]) : 0;
        CLV_TRY(clv_buffer_write(r->ctx, r->tv.channel[c].data, 0, r->work, bytes));
    }
end:
    return status;
}

/* Until the gap says that u is near enough: 1/2 |u - minimiser|^2 is not more. */
static int solve(variation *r, size_t inside)
{
    int status = CLVOX_OK, steps = 0;
    const clvox_tv_options *o = r->options;
    const double values = (double)inside * r->tv.channels,
                 weight = (double)r->tv.radius / sqrt(r->tv.channels);
    double error = INFINITY;
    clv_tv_energies e;
    CLV_TRY(clv_tv_start(r->ctx, &r->tv));
    while (steps < o->iterations && !(error <= o->tolerance)) {
        for (int k = 0; k < CHECK_EVERY && steps < o->iterations; k++, steps++)
            CLV_TRY(clv_tv_step(r->ctx, &r->tv));
        CLV_TRY(clv_tv_energy(r->ctx, &r->tv, &e));
        error = sqrt(2 * e.gap / values) / weight;
    }
    r->report->error = fmax(r->report->error, error);
    if (steps > r->report->iterations)
        r->report->iterations = steps;
end:
    return status;
}

/* Filtering yields the mean of a magnitude image; the signal behind it is less. */
static double signal_of(const variation *r, double mean, double sigma)
{
    return r->rician ? sigma * clv_magnitudes_signal(r->magnitudes, mean / sigma) : mean;
}

static int download(variation *r, const float *frames, float *out)
{
    int status = CLVOX_OK;
    for (int c = 0; c < r->tv.channels; c++) {
        const float *in = frames + (size_t)c * r->voxels;
        float *to = out + (size_t)c * r->voxels;
        CLV_TRY(clv_buffer_read(r->ctx, r->tv.channel[c].u[0], 0, r->work, r->voxels * sizeof(float)));
        for (size_t i = 0; i < r->voxels; i++)
            to[i] =
                r->inside[i] > 0 ? (float)signal_of(r, (double)r->work[i] * r->scale[c], r->sigma[c]) : in[i];
    }
end:
    return status;
}

static void note(variation *r, size_t inside)
{
    clvox_tv_report *report = r->report;
    for (int c = 0; c < r->tv.channels; c++) {
        const double weight = (double)r->tv.radius * r->scale[c];
        const bool first = !report->voxels && c == 0;
        report->sigma[0] = first ? r->sigma[c] : fmin(report->sigma[0], r->sigma[c]);
        report->sigma[1] = fmax(report->sigma[1], r->sigma[c]);
        report->weight[0] = first ? weight : fmin(report->weight[0], weight);
        report->weight[1] = fmax(report->weight[1], weight);
    }
    report->voxels += inside * (size_t)r->tv.channels;
}

static int all_frames(variation *r, const clvox_volume *volume, const clvox_volume *mask, clvox_volume *made)
{
    int status = CLVOX_OK;
    for (int f = 0; f < volume->frames; f += r->tv.channels) {
        const float *frames = volume->data + (size_t)f * r->voxels;
        float *out = made->data + (size_t)f * r->voxels;
        const size_t inside = choose(r, mask, frames);
        if (inside) {
            CLV_TRY(measure(r, frames));
            CLV_TRY(upload(r, frames));
            CLV_TRY(solve(r, inside));
            CLV_TRY(download(r, frames, out));
            note(r, inside);
        } else {
            memcpy(out, frames, (size_t)r->tv.channels * r->voxels * sizeof(float));
        }
        CLV_TRY(clv_watch_told(r->ctx, (double)(f + r->tv.channels) / volume->frames));
    }
    if (!r->report->voxels)
        status = clvox_fail(CLVOX_ERROR_DATA, "no voxel of the mask is finite%s",
                            r->tv.channels > 1 ? " in all frames" : "");
end:
    return status;
}

/* All device memory; *list and the number of requests are the caller's to release. */
static int take(variation *r, clv_request **list, int *count)
{
    static const char *const names[] = {
        "data", "denoised volume", "the volume before", "the volume to be", "dual field", "dual field to be"};
    enum { EACH = sizeof names / sizeof *names };
    const size_t plane = r->voxels * sizeof(float), dual = clv_tv_dual_bytes(r->tv.grid.size);
    const bool together = r->tv.channels > 1;
    int k = 0, status;
    clv_request *requests = calloc((size_t)r->tv.channels * EACH + 4, sizeof *requests);
    if (!requests)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    requests[k++] = (clv_request){&r->mask, plane, "mask"};
    requests[k++] = (clv_request){&r->links, clv_tensor_links_bytes(r->tv.grid.size), "links"};
    requests[k++] = (clv_request){&r->tv.partial, CLV_TV_PARTIALS * sizeof(float), "partial sums"};
    if (together)
        requests[k++] = (clv_request){&r->tv.norm, plane, "norm of all frames"};
    for (int c = 0; c < r->tv.channels; c++) {
        clv_tv_channel *to = &r->tv.channel[c];
        clv_buffer **const slots[EACH] = {&to->data, &to->u[0],    &to->u[1],
                                          &to->u[2], &to->dual[0], &to->dual[1]};
        for (int s = 0; s < EACH; s++)
            requests[k++] = (clv_request){slots[s], s < 4 ? plane : dual, names[s]};
    }
    status = clv_pool_take(r->ctx, requests, k);
    if (status < 0) {
        free(requests);
        return status;
    }
    r->tv.links = r->links;
    *list = requests;
    *count = k;
    return CLVOX_OK;
}

static int prepare(variation *r, const clvox_volume *volume)
{
    double edge[3];
    clvox_grid_spacing(&volume->grid, edge);
    const float spacing[3] = {(float)edge[0], (float)edge[1], (float)edge[2]};
    r->tv.grid = clv_image_of(NULL, volume->grid.size, spacing, 1);
    r->tv.channels = r->options->joint ? volume->frames : 1;
    const size_t channels = (size_t)r->tv.channels;
    r->tv.channel = calloc(channels, sizeof *r->tv.channel);
    r->sigma = calloc(channels, sizeof *r->sigma);
    r->scale = calloc(channels, sizeof *r->scale);
    r->inside = malloc(r->voxels * sizeof(float));
    r->work = malloc(r->voxels * sizeof(float));
    r->magnitudes = malloc(sizeof *r->magnitudes);
    if (!r->tv.channel || !r->sigma || !r->scale || !r->inside || !r->work || !r->magnitudes)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    clv_magnitudes_make(r->magnitudes);
    return CLVOX_OK;
}

int clvox_filter_tv(clvox_context *context, const clvox_volume *volume, const clvox_volume *mask,
                    const clvox_tv_options *options, clvox_volume **out, clvox_tv_report *report)
{
    CLV_GIVEN(context, volume, out);
    CLV_HOST_THREADS(context);
    CLV_WATCH(context, "denoising");
    int status = CLVOX_OK, taken = 0;
    clvox_tv_options standard;
    clvox_tv_report found = {.voxels = 0};
    clvox_volume *made = NULL;
    clv_request *requests = NULL;
    *out = NULL;
    clvox_tv_defaults(&standard);
    variation r = {.ctx = context,
                   .options = options ? options : &standard,
                   .report = &found,
                   .voxels = clvox_grid_voxels(&volume->grid)};
    CLV_TRY(clv_noise_check(volume, mask, &table, r.options));
    CLV_TRY(clv_field_check_angles(&volume->grid, "total variation"));
    found.rician = r.rician = clv_noise_rician(r.options->noise, volume);
    CLV_TRY(prepare(&r, volume));
    CLV_TRY(clvox_volume_create(&volume->grid, volume->frames, volume->kind, &made));
    made->frame_seconds = volume->frame_seconds;
    CLV_TRY(take(&r, &requests, &taken));
    CLV_TRY(all_frames(&r, volume, mask, made));
    *out = made;
    made = NULL;
    if (report)
        *report = found;
end:
    if (requests)
        clv_pool_release(requests, taken);
    free(requests);
    free(r.tv.channel);
    free(r.sigma);
    free(r.scale);
    free(r.inside);
    free(r.work);
    free(r.magnitudes);
    clvox_volume_destroy(&made);
    return status;
}
