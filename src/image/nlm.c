/* SPDX-License-Identifier: Apache-2.0 */
#include "image/nlm.h"
#include "base/status.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "image/noise.h"
#include "op/image/dct.h"
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

static const char *idle_patch(const clv_option *row, const void *values, const char *text)
{
    const clvox_nlm_options *o = values;
    (void)row;
    (void)text;
    return o->single ? NULL : "without --single";
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
     .help = "with --single: radius of the patches, voxels",
     .idle = idle_patch},
    {.name = "search",
     .type = CLVOX_OPTION_INTEGER,
     FIELD(search),
     .least = 1,
     .most = CLV_NLM_MAX_SEARCH,
     .help = "radius of the search, voxels"},
    {.name = "local-noise",
     .type = CLVOX_OPTION_FLAG,
     FIELD(local),
     .help = "measure the noise around each voxel; by default where it is found to vary",
     .idle = idle_local},
    {.name = "joint",
     .type = CLVOX_OPTION_FLAG,
     FIELD(joint),
     .help = "4-D: all frames are alike in the same places, and share their weights"},
    {.name = "single",
     .type = CLVOX_OPTION_FLAG,
     FIELD(single),
     .help = "compare patches of the image itself instead of a guide"},
};

void clvox_nlm_defaults(clvox_nlm_options *o)
{
    CLV_GIVEN_OR(, o);
    *o = (clvox_nlm_options){
        .size = sizeof *o, .noise = CLVOX_NOISE_AUTO, .sigma = -1, .strength = 1, .patch = 1, .search = 3};
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
    /* On the host: the frame, and room for one without what is not finite; of each voxel, the noise, and by
     * how much those alike differ. */
    const float *image;
    float *filled, *sigma, *deviation, *sigmas; /* sigmas: of all frames that are taken together */
    double same;                                /* the noise of all voxels; 0: sigma varies */
    clv_magnitudes magnitudes;
    bool *inside; /* where all frames that are taken together have values; NULL: one by one */
    clv_nlm_padding padding;
    int together; /* frames at a time */
    struct buffers {
        clv_buffer *frame, *sigmas, *value, *guide, *mean;
        double unit; /* that of their values, and of sigmas */
    } * own; /* of each of them */
    clv_buffer *total, *weights;
    clv_nlm_frame *shared;
} nlm;

/* On phantoms, of SNR 5 to 30. */
static const float PATCHES = 0.78f, GUIDED = 4.2f;
/* Coefficients within this times the noise are noise. */
static const double CUT = 2.6;
/* Voxels of one tissue may differ by this times the noise at most. Where they seem to differ by more than
 * FINE, that is anatomy to be kept, and of FINEST all of it. */
static const double MOST_TEXTURE = 1.2, FINE = 1.6, FINEST = 2;
/* Frames together: the mean of their differences of patches, over more values, can be taken a little more
 * strictly, and the sum of those of voxels not as strictly as one frame's. Two to eight echoes, SNR 5 to 30. */
static const float STRICTER = -0.15f, LOOSER = 0.7f;

/* The mean of the finite values around a voxel and there; 0 where there is none. */
static double around(const nlm *r, const float *v, size_t i)
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
    return count ? sum / count : 0;
}

/* sigma, and same: the noise of each voxel. */
static int measure(nlm *r, const float *v)
{
    int status = CLVOX_OK;
    const clvox_nlm_options *o = r->options;
    double level, rough;
    clv_noise_found found;
    r->same = 0;
    if (o->noise_map) {
        memcpy(r->sigma, o->noise_map->data, r->voxels * sizeof(float));
        CLV_TRY(clv_image_texture(v, r->size, r->mask, r->rician, r->sigma, &r->texture));
    } else if (o->sigma > 0) {
        if (clv_image_noise(v, r->size, r->mask, r->rician, &level, &rough) < 0)
            level = rough = 1; /* of what is known nothing has to be measured */
        r->same = o->sigma;
        r->texture = rough / level;
    } else if (o->local) {
        CLV_TRY(clv_image_noise_map(v, r->size, r->mask, r->rician, r->sigma));
        CLV_TRY(clv_image_texture(v, r->size, r->mask, r->rician, r->sigma, &r->texture));
    } else {
        CLV_TRY(clv_image_noise_find(v, r->size, r->mask, r->rician, r->sigma, &found));
        r->same = found.varies ? 0 : found.sigma;
        r->texture = found.texture;
    }
    for (size_t i = 0; r->same > 0 && i < r->voxels; i++)
        r->sigma[i] = (float)r->same;
    if (r->texture > MOST_TEXTURE)
        r->texture = 1 + (MOST_TEXTURE - 1) * fmin(1, fmax(0, (FINEST - r->texture) / (FINEST - FINE)));
end:
    return status;
}

static double largest(const float *v, size_t count)
{
    float most = 0;
    for (size_t i = 0; i < count; i++)
        most = fmaxf(most, fabsf(v[i]));
    return (double)most;
}

/* Kernels take the fourth power of noise, times a squared value: a power of two, which rounds nothing, where
 * that could leave the range of floats. Where values are 1e12 times the noise or more it follows from them,
 * so that their squares stay within the range, too. */
static double unit_of(double noise, const float *v, size_t count)
{
    static const double MOST = 1e3, LARGEST = 1e12;
    if (noise >= 1 / MOST && noise <= MOST)
        return 1;
    return exp2(ilogb(fmax(noise, largest(v, count) / LARGEST)));
}

static bool all_finite(const float *v, size_t count)
{
    int bad = 0;
    for (size_t i = 0; i < count; i++)
        bad |= !(fabsf(v[i]) <= FLT_MAX);
    return !bad;
}

/* Prepares the voxels whose noise is known and above 0. Voxels of one tissue differ by the noise, less where a
 * magnitude image has little signal, and by fine anatomy. */
static void prepare(nlm *r, const float *v, struct buffers *to, clvox_nlm_report *report)
{
    const bool finite = all_finite(v, r->voxels);
    float least = INFINITY, most = 0;
    size_t count = 0;
    r->image = finite ? v : r->filled;
    for (size_t i = 0; !finite && i < r->voxels; i++)
        r->filled[i] = isfinite(v[i]) ? v[i] : (float)around(r, v, i);
    if (finite && !r->mask && !r->inside && (float)r->same > 0 && isfinite((float)r->same)) {
        least = most = (float)r->same;
        count = r->voxels;
        for (size_t i = 0; i < r->voxels; i++)
            r->deviation[i] = (float)((double)least * r->texture);
    } else
        for (size_t i = 0; i < r->voxels; i++) {
            const float sigma = r->sigma[i];
            const bool in = isfinite(v[i]) && (!r->mask || r->mask[i] > 0) && (!r->inside || r->inside[i]) &&
                            sigma > 0 && isfinite(sigma);
            r->sigma[i] = in ? sigma : 0;
            r->deviation[i] = in ? (float)((double)sigma * r->texture) : 0;
            least = in && sigma < least ? sigma : least;
            most = in && sigma > most ? sigma : most;
            count += in;
        }
    for (size_t i = 0; r->rician && i < r->voxels; i++)
        if (r->sigma[i] > 0)
            r->deviation[i] *=
                (float)clv_magnitudes_deviation(&r->magnitudes, around(r, r->image, i) / (double)r->sigma[i]);
    if (count)
        report->sigma[0] = report->voxels ? fmin(report->sigma[0], (double)least) : (double)least;
    report->sigma[1] = fmax(report->sigma[1], (double)most);
    report->voxels += count;
    to->unit = count ? unit_of((double)most, r->image, r->voxels) : 1;
    for (size_t i = 0; to->unit != 1 && i < r->voxels; i++) {
        r->filled[i] = (float)((double)r->image[i] / to->unit);
        r->deviation[i] = (float)((double)r->deviation[i] / to->unit);
    }
    r->image = to->unit != 1 ? r->filled : r->image;
}

/* Chooses the voxels at which the noise of all frames is known. */
static void choose(nlm *r, const clvox_volume *volume)
{
    for (size_t i = 0; i < r->voxels; i++) {
        r->inside[i] = true;
        for (int f = 0; f < volume->frames && r->inside[i]; f++)
            r->inside[i] = isfinite(volume->data[(size_t)f * r->voxels + i]);
    }
}

static const clv_buffer *plain_of(const struct buffers *own)
{
    return own->mean ? own->mean : own->frame;
}

/* A frame and its noise to the device: as it is where the local means will be, and padded. */
static int upload(nlm *r, const struct buffers *to)
{
    int status = CLVOX_OK;
    const clv_image image = clv_image_of(plain_of(to), r->size, NULL, 1);
    CLV_TRY(clv_buffer_write(r->ctx, image.buffer, 0, r->image, r->voxels * sizeof(float)));
    CLV_TRY(clv_buffer_write(r->ctx, to->sigmas, 0, r->deviation, r->voxels * sizeof(float)));
    CLV_TRY(clv_nlm_pad(r->ctx, &image, &r->padding, false, to->value));
end:
    return status;
}

/* The guide image, which has little noise, and its means. */
static int guide(nlm *r, const struct buffers *own)
{
    int status = CLVOX_OK;
    const clv_image plain = clv_image_of(plain_of(own), r->size, NULL, 1);
    const clv_image image = clv_image_of(own->frame, r->size, NULL, 1);
    const double cut = CUT * sqrt(r->options->strength);
    CLV_TRY(clv_dct_denoise(r->ctx, &plain, own->sigmas, (float)cut, own->frame));
    CLV_TRY(clv_nlm_pad(r->ctx, &image, &r->padding, false, own->guide));
    CLV_TRY(clv_nlm_pad(r->ctx, &image, &r->padding, true, own->mean));
end:
    return status;
}

/* By what the transform of small cubes left, which has little noise and tells best which voxels are alike;
 * or by patches. */
static int denoise(nlm *r)
{
    int status = CLVOX_OK;
    const clvox_nlm_options *o = r->options;
    const struct buffers *own = r->own;
    const clv_image image = clv_image_of(own->frame, r->size, NULL, 1);
    clv_nlm_means_args args = {.padding = r->padding,
                               .value = own->value,
                               .patch = o->patch,
                               .search = o->search,
                               .strength = PATCHES * (float)o->strength,
                               .rician = r->rician,
                               .sigma = own->sigmas};
    if (!o->single) {
        args.guide = own->guide;
        args.mean = own->mean;
        args.strength = GUIDED * (float)o->strength;
    }
    CLV_TRY(clv_nlm_means(r->ctx, &image, &args, own->frame));
end:
    return status;
}

/* The same of all frames, by the weights of all. */
static int denoise_together(nlm *r)
{
    int status = CLVOX_OK;
    const clvox_nlm_options *o = r->options;
    const clv_image image = clv_image_of(r->own[0].frame, r->size, NULL, 1);
    const float strength = (float)o->strength, frames = (float)r->together;
    const clv_nlm_joint_args args = {.padding = r->padding,
                                     .frame = r->shared,
                                     .frames = r->together,
                                     .guided = !o->single,
                                     .patch = o->patch,
                                     .search = o->search,
                                     .strength = o->single ? PATCHES * powf(frames, STRICTER) * strength
                                                           : GUIDED * powf(frames, LOOSER) * strength,
                                     .rician = r->rician,
                                     .total = r->total,
                                     .weights = r->weights,
                                     .weights_bytes = clv_nlm_weights_bytes(r->ctx, r->size, o->search)};
    const int steps = clv_nlm_joint_steps(&image, &args);
    CLV_TRY(steps);
    for (int k = 0; k < steps; k++) {
        CLV_TRY(clv_nlm_joint_step(r->ctx, &image, &args, k));
        CLV_TRY(clv_watch_told(r->ctx, (k + 1.) / steps));
    }
end:
    return status;
}

/* The mean of squares of a magnitude image is by 2 sigma^2 larger than that of the signal. */
static int download(nlm *r, const struct buffers *from, const float *in, const float *sigma, float *out)
{
    int status = CLVOX_OK;
    CLV_TRY(clv_buffer_read(r->ctx, from->frame, 0, out, r->voxels * sizeof(float)));
    for (size_t i = 0; from->unit != 1 && i < r->voxels; i++)
        out[i] = (float)((double)out[i] * from->unit);
    for (size_t i = 0; i < r->voxels; i++)
        out[i] = sigma[i] > 0 ? out[i] : in[i];
    for (size_t i = 0; r->rician && i < r->voxels; i++) {
        const double s = (double)sigma[i], mean = (double)out[i];
        if (s > 0)
            out[i] = (float)sqrt(fmax(mean * mean - 2 * s * s, 0));
    }
end:
    return status;
}

static int frames(nlm *r, const clvox_volume *volume, clvox_volume *made, clvox_nlm_report *report)
{
    int status = CLVOX_OK;
    for (int f = 0; f < volume->frames; f++) {
        const float *in = volume->data + (size_t)f * r->voxels;
        struct buffers *own = &r->own[f % r->together];
        r->sigma = r->sigmas + (size_t)(f % r->together) * r->voxels;
        CLV_TRY(measure(r, in));
        prepare(r, in, own, report);
        CLV_TRY(upload(r, own));
        if (!r->options->single)
            CLV_TRY(guide(r, own));
        if (r->together > 1)
            continue;
        CLV_TRY(denoise(r));
        CLV_TRY(download(r, own, in, r->sigma, made->data + (size_t)f * r->voxels));
        CLV_TRY(clv_watch_told(r->ctx, (f + 1.) / volume->frames));
    }
    if (!report->voxels) {
        status = clvox_fail(CLVOX_ERROR_DATA, "no voxel of the mask is finite%s%s",
                            r->together > 1 ? " in all frames" : "",
                            r->options->noise_map ? " and has noise above 0" : "");
        goto end;
    }
    if (r->together > 1) {
        CLV_TRY(denoise_together(r));
        for (int f = 0; f < volume->frames; f++) {
            const size_t at = (size_t)f * r->voxels;
            CLV_TRY(download(r, &r->own[f], volume->data + at, r->sigmas + at, made->data + at));
        }
    }
end:
    return status;
}

/* All device memory; *list and the number of requests are the caller's to release. */
static int take(nlm *r, clv_request **list, int *count)
{
    const size_t plane = r->voxels * sizeof(float), padded = clv_nlm_padded_bytes(&r->padding);
    const int each = r->options->single ? 3 : 5;
    int k = 0, status = CLVOX_OK;
    clv_request *requests = calloc((size_t)r->together * 5 + 2, sizeof *requests);
    if (!requests)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    for (int f = 0; f < r->together; f++) {
        struct buffers *b = &r->own[f];
        const clv_request own[] = {
            {&b->frame, plane, "volume"},          {&b->sigmas, plane, "noise of each voxel"},
            {&b->value, padded, "padded volume"},  {&b->guide, padded, "padded volume without noise"},
            {&b->mean, padded, "its local means"},
        };
        for (int i = 0; i < each; i++)
            requests[k++] = own[i];
    }
    if (r->together > 1) {
        requests[k++] = (clv_request){&r->total, plane, "sum of weights"};
        requests[k++] =
            (clv_request){&r->weights, clv_nlm_weights_bytes(r->ctx, r->size, r->options->search), "weights"};
    }
    status = clv_pool_take(r->ctx, requests, k);
    if (status < 0) {
        free(requests);
        return status;
    }
    for (int f = 0; r->together > 1 && f < r->together; f++) {
        const struct buffers *b = &r->own[f];
        r->shared[f] = (clv_nlm_frame){b->value, b->guide, b->mean, b->sigmas, b->frame};
    }
    *list = requests;
    *count = k;
    return CLVOX_OK;
}

static int create(nlm *r, const clvox_volume *volume)
{
    const size_t count = (size_t)r->together;
    r->filled = malloc(r->voxels * sizeof(float));
    r->deviation = malloc(r->voxels * sizeof(float));
    r->sigmas = malloc(count * r->voxels * sizeof(float));
    r->own = calloc(count, sizeof *r->own);
    r->shared = calloc(count, sizeof *r->shared);
    if (r->together > 1)
        r->inside = malloc(r->voxels * sizeof *r->inside);
    if (!r->filled || !r->deviation || !r->sigmas || !r->own || !r->shared || (r->together > 1 && !r->inside))
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    if (r->inside)
        choose(r, volume);
    clv_magnitudes_make(&r->magnitudes);
    return CLVOX_OK;
}

int clvox_filter_nlm(clvox_context *context, const clvox_volume *volume, const clvox_volume *mask,
                     const clvox_nlm_options *options, clvox_volume **out, clvox_nlm_report *report)
{
    CLV_GIVEN(context, volume, out);
    CLV_HOST_THREADS(context);
    CLV_WATCH(context, "denoising");
    int status = CLVOX_OK, taken = 0;
    clvox_nlm_options standard;
    clvox_nlm_report found = {.voxels = 0};
    clvox_volume *made = NULL;
    clv_request *requests = NULL;
    *out = NULL;
    clvox_nlm_defaults(&standard);
    nlm r = {.ctx = context,
             .options = options ? options : &standard,
             .size = volume->grid.size,
             .voxels = clvox_grid_voxels(&volume->grid),
             .mask = mask ? mask->data : NULL};
    CLV_TRY(clv_noise_check(volume, mask, &clv_nlm_table, r.options));
    if (r.options->noise_map && (r.options->noise_map->frames != 1 ||
                                 !clvox_grid_equal(&r.options->noise_map->grid, &volume->grid))) {
        status = clvox_fail(CLVOX_ERROR_ARGUMENT,
                            "the noise map is not on the grid of the image; resample it there");
        goto end;
    }
    r.padding = clv_nlm_padding_of(r.size, r.options->search);
    r.together = r.options->joint ? volume->frames : 1;
    if (!r.options->single && r.together == 1)
        CLV_TRY(clv_nlm_guided_padding(context, r.size, r.options->search, &r.padding));
    found.rician = r.rician = clv_noise_rician(r.options->noise, volume);
    CLV_TRY(clvox_volume_create(&volume->grid, volume->frames, volume->kind, &made));
    made->frame_seconds = volume->frame_seconds;
    CLV_TRY(create(&r, volume));
    CLV_TRY(take(&r, &requests, &taken));
    CLV_TRY(frames(&r, volume, made, &found));
    *out = made;
    made = NULL;
    if (report)
        *report = found;
end:
    if (requests)
        clv_pool_release(requests, taken);
    free(requests);
    free(r.filled);
    free(r.deviation);
    free(r.sigmas);
    free(r.inside);
    free(r.own);
    free(r.shared);
    clvox_volume_destroy(&made);
    return status;
}
