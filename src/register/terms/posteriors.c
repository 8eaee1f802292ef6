/* SPDX-License-Identifier: Apache-2.0 */
#include "register/terms/posteriors.h"

#include <math.h>

#include "clvox/threads.h"
#include "op/image/pointwise.h"
#include "register/model.h"
#include "register/problem.h"
#include "register/terms/terms.h"

/* Sums may be rounded. */
static const double ROUNDING = 1e-4;

double clv_posteriors_weight(const clvox_register_options *o, int tissue, int tissues)
{
    const int at = tissue == CLV_REST ? tissues : tissue;
    return at < o->tissue_weights ? o->tissue_weight[at] : 1;
}

clvox_volume clv_posteriors_frame(const clvox_volume *p, int tissue)
{
    clvox_volume frame = *p;
    frame.frames = 1;
    frame.data = p->data ? p->data + (size_t)tissue * clvox_grid_voxels(&p->grid) : NULL;
    return frame;
}

/* ---- check ----------------------------------------------------------------- */

static int check_slice(void *user, size_t z, int worker)
{
    const clvox_volume *v = user;
    const size_t plane = (size_t)v->grid.size[0] * (size_t)v->grid.size[1], n = clvox_grid_voxels(&v->grid);
    (void)worker;
    for (size_t i = z * plane; i < (z + 1) * plane; i++) {
        double sum = 0;
        for (int k = 0; k < v->frames; k++) {
            double p = (double)v->data[(size_t)k * n + i];
            if (!(p >= 0))
                return clvox_fail(CLVOX_ERROR_DATA, "tissue %d has a probability of %g", k + 1, p);
            sum += p;
        }
        if (!(sum <= 1 + ROUNDING))
            return clvox_fail(CLVOX_ERROR_DATA, "probabilities add up to %g and not to 1", sum);
    }
    return CLVOX_OK;
}

/* The probabilities of one side. */
static int check_side(const clvox_volume *v, const char *which)
{
    int status = CLVOX_OK;
    if (!v->data || v->frames < 1 || v->frames > CLVOX_MAX_TISSUES)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "%s: %d tissues; 1 to %d are possible", which, v->frames,
                          CLVOX_MAX_TISSUES);
    CLV_TRY(clvox_parallel((size_t)v->grid.size[2], check_slice, (void *)v));
end:
    return status < 0 ? clvox_fail_in(status, which) : status;
}

/* Whether the deformation has the term. */
static bool taken(const clvox_register_options *o)
{
    const clv_model *m = clv_model_find(o->deform);
    return o->posteriors_weight > 0 && m && clv_model_takes(m, "posteriors-weight");
}

int clv_posteriors_check(const clvox_register_images *images, const clvox_register_options *o)
{
    int status = CLVOX_OK;
    const clvox_volume *fixed = images->fixed_posteriors, *moving = images->moving_posteriors;
    double sum = 0;
    if (!fixed && !moving)
        return CLVOX_OK;
    if (!fixed || !moving)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "posteriors are missing in one image");
    CLV_TRY(check_side(fixed, "fixed posteriors"));
    CLV_TRY(check_side(moving, "moving posteriors"));
    if (fixed->frames != moving->frames)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "posteriors of %d and of %d tissues do not correspond",
                          fixed->frames, moving->frames);
    for (int k = 0; k <= fixed->frames; k++)
        sum += clv_posteriors_weight(o, k < fixed->frames ? k : CLV_REST, fixed->frames);
    if (!(sum > 0))
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "the weights of the tissues add up to nothing");
    if (images->channels == 0 && o->deform != CLVOX_DEFORM_NONE && !taken(o))
        return clvox_fail(
            CLVOX_ERROR_ARGUMENT,
            "posteriors without weight, or of the unbiased model, count for nothing: give images, too");
end:
    return status;
}

/* ---- channels -------------------------------------------------------------- */

/* Adds the channels of tissues after those of images; a tissue of weight 0 has none. */
static void describe(clv_registration *run, const clvox_register_images *images)
{
    const clvox_register_options *o = run->options;
    const clvox_volume *p = images->fixed_posteriors;
    const bool alone = images->channels == 0;
    double sum = 0;
    if (!p || (!alone && !taken(o)))
        return;
    for (int k = 0; k <= p->frames; k++) {
        const int tissue = k < p->frames ? k : CLV_REST;
        const double weight = clv_posteriors_weight(o, tissue, p->frames);
        if (!(weight > 0))
            continue;
        run->channels[run->channel_count++] = (clv_channel){.weight = o->posteriors_weight * weight,
                                                            .share = alone ? weight : 0,
                                                            .metric = CLVOX_METRIC_SSD,
                                                            .tissue = tissue,
                                                            .outside = tissue == CLV_REST};
        sum += weight;
    }
    if (!alone)
        return;
    for (int c = 0; c < run->channel_count; c++)
        run->channels[c].share /= sum;
}

/* One side. Tissues without a channel are no rest, either. */
static int upload(clv_registration *run, const clvox_volume *p, bool moving)
{
    int status = CLVOX_OK;
    const clvox_grid *grid = moving ? &run->moving_grid : &run->fixed_grid;
    clv_buffer *of[CLVOX_MAX_TISSUES + 1] = {NULL};
    for (int c = run->image_count; c < run->channel_count; c++)
        of[run->channels[c].tissue] = moving ? run->channels[c].moving : run->channels[c].fixed;
    clv_buffer *rest = of[CLV_REST];
    for (int k = 0; k < p->frames; k++) {
        clv_buffer *to = of[k] ? of[k] : run->scratch_a;
        CLV_TRY(clv_buffer_write(run->ctx, to, 0, clv_posteriors_frame(p, k).data,
                                 clvox_grid_voxels(grid) * sizeof(float)));
        if (rest)
            CLV_TRY(clv_pointwise(run->ctx, CLV_POINTWISE_LINEAR, CLV_VOLUME(rest, grid->size), to,
                                  k ? rest : NULL, NULL, (const float[4]){-1, 1, 0, k ? 0 : 1}));
    }
    if (rest) /* rounding, as roots of it would show */
        CLV_TRY(clv_pointwise(run->ctx, CLV_POINTWISE_CLAMP, CLV_VOLUME(rest, grid->size), rest, NULL, NULL,
                              (const float[4]){1, 0, 0, 1}));
end:
    return status;
}

int clv_posteriors_upload(clv_registration *run)
{
    int status = CLVOX_OK;
    if (run->channel_count == run->image_count)
        return CLVOX_OK;
    CLV_TRY(upload(run, run->problem->images.fixed_posteriors, false));
    CLV_TRY(upload(run, run->problem->images.moving_posteriors, true));
end:
    return status;
}

int clv_posteriors_root(clv_registration *run, const clvox_grid *grid, clv_buffer *image)
{
    return clv_pointwise(run->ctx, CLV_POINTWISE_ROOT, CLV_VOLUME(image, grid->size), image, NULL, NULL,
                         (const float[4]){0});
}

static int count(const clv_registration *run)
{
    return run->channel_count - run->image_count;
}

/* Their channels are compared with those of images. */
const clv_term_row clv_term_posteriors = {.describe = describe, .count = count};
