/* SPDX-License-Identifier: Apache-2.0 */
#include "register/pyramid.h"

#include <math.h>

#include "base/matrix.h"
#include "op/image/blend.h"
#include "op/field/compose.h"
#include "op/image/gaussian.h"
#include "op/field/jacobian.h"
#include "op/image/pointwise.h"
#include "op/image/reduce.h"
#include "op/image/resample.h"
#include "register/terms/posteriors.h"
#include "register/problem.h"
#include "register/terms/terms.h"
#include "transform/invert.h"

enum { MOST_PASSES = 100 };

/* An image of the run, which is finite, smoothed by sigma (its voxels) and sampled on a level. */
static int shrink(clv_registration *run, const clv_buffer *image, const clvox_grid *grid,
                  const float sigma[3], clv_buffer *out, const clvox_grid *to)
{
    int status = CLVOX_OK;
    if (sigma[0] > 0 || sigma[1] > 0 || sigma[2] > 0) {
        CLV_TRY(clv_gaussian(run->ctx, CLV_VOLUME(image, grid->size), sigma, CLV_GAUSSIAN_FINITE, run->scratch_a,
                             run->scratch_b));
        image = run->scratch_b;
    }
    status = clv_sample(run->ctx, image, grid, out, to);
end:
    return status;
}

/* Sigma for an image that is sampled `factor` times coarser, in its voxels:
 * the stated width in mm where there is one, else what the sampling asks for. */
static void level_sigma(const clvox_grid *grid, const double factor[3], double stated_mm,
                        float sigma[3])
{
    double edge[3];
    clvox_grid_spacing(grid, edge);
    for (int i = 0; i < 3; i++)
        sigma[i] = (float)(stated_mm >= 0 ? stated_mm / edge[i]
                                          : .5 * sqrt(fmax(0, factor[i] * factor[i] - 1)));
}

/* How much coarser the moving image may become along its own axes when the
 * fixed level has these edges: as coarse as the fixed level is along the same
 * direction, never finer than it is. */
static void moving_factors(const clv_registration *run, const clvox_grid *fixed_level,
                           double factor[3])
{
    double fixed_edge[3], moving_edge[3];
    clvox_grid_spacing(fixed_level, fixed_edge);
    clvox_grid_spacing(&run->moving_grid, moving_edge);
    for (int a = 0; a < 3; a++) {
        double edge = 0, weight = 0;
        for (int b = 0; b < 3; b++) {
            double along = 0;
            for (int r = 0; r < 3; r++) {
                double mapped = 0;
                for (int k = 0; k < 3; k++)
                    mapped += run->matrix[r][k] * fixed_level->to_ras[k][b];
                along += mapped * run->moving_grid.to_ras[r][a] / moving_edge[a];
            }
            double cosine2 = along * along / (fixed_edge[b] * fixed_edge[b]);
            edge += cosine2 * fabs(along);
            weight += cosine2;
        }
        factor[a] = weight > 0 ? fmax(1, edge / weight / moving_edge[a]) : 1;
    }
}

void clv_register_level(const clvox_grid *fixed, double shrink, clvox_grid *out)
{
    double factor[3];
    for (int i = 0; i < 3; i++)
        factor[i] = fmin(shrink, fmax(1, fixed->size[i] / 4.));
    clv_pyramid_grid(fixed, factor, out);
}

/* Voxels of an image outside of its mask become NaN: unknown. scratch: the mask on the level. */
static int cut(clv_registration *run, const clvox_grid *grid, clv_buffer *image, clv_buffer *mask)
{
    int status = CLVOX_OK;
    CLV_TRY(clv_pointwise(run->ctx, CLV_POINTWISE_THRESHOLD, CLV_VOLUME(mask, grid->size), mask, NULL, NULL,
                          (float[4]){.5f, 0, NAN, 0}));
    CLV_TRY(clv_pointwise(run->ctx, CLV_POINTWISE_LINEAR, CLV_VOLUME(image, grid->size), image, mask, NULL,
                          (float[4]){1, 1, 0, 0}));
end:
    return status;
}

/* The fixed image smoothed from inside its mask alone, so that nothing of what is
 * outside shows at the mask's edge: G * (F m) / G * m, NaN where the mask is less
 * than half there. */
static int shrink_inside(clv_registration *run, const clv_channel *channel, const float sigma[3],
                         const clv_pyramid_level *l)
{
    int status = CLVOX_OK;
    clv_buffer *inside = run->masks.level, *image = channel->level_fixed;
    CLV_TRY(clv_pointwise(run->ctx, CLV_POINTWISE_MULTIPLY, CLV_VOLUME(inside, run->fixed_grid.size),
                          channel->fixed, l->masks[0], NULL, (float[4]){1, 0, 0, 0}));
    CLV_TRY(shrink(run, inside, &run->fixed_grid, sigma, image, &l->fixed));
    CLV_TRY(shrink(run, l->masks[0], &run->fixed_grid, sigma, inside, &l->fixed));
    CLV_TRY(clv_pointwise(run->ctx, CLV_POINTWISE_DIVIDE, CLV_VOLUME(image, l->fixed.size), image, inside,
                          NULL, (float[4]){1, 0.01f, 0, 0}));
    if (channel->tissue >= 0)
        CLV_TRY(clv_posteriors_root(run, &l->fixed, image));
    CLV_TRY(cut(run, &l->fixed, image, inside));
end:
    return status;
}

static int shrink_whole(clv_registration *run, const clv_channel *channel, bool moving, const float sigma[3],
                        const clv_pyramid_level *l)
{
    int status = CLVOX_OK;
    const clvox_grid *grid = moving ? &run->moving_grid : &run->fixed_grid,
                     *to = moving ? &l->moving : &l->fixed;
    clv_buffer *out = moving ? channel->level_moving : channel->level_fixed;
    CLV_TRY(shrink(run, moving ? channel->moving : channel->fixed, grid, sigma, out, to));
    if (channel->tissue >= 0)
        CLV_TRY(clv_posteriors_root(run, to, out));
end:
    return status;
}

static int shrink_channel(clv_registration *run, const clv_channel *channel, const clv_pyramid_level *l,
                          const float fixed_sigma[3], const float moving_sigma[3], const float mask_sigma[3])
{
    int status = CLVOX_OK;
    if (l->masks[0] && l->holes)
        CLV_TRY(shrink_inside(run, channel, fixed_sigma, l));
    else
        CLV_TRY(shrink_whole(run, channel, false, fixed_sigma, l));
    CLV_TRY(shrink_whole(run, channel, true, moving_sigma, l));
    if (l->masks[1]) {
        CLV_TRY(shrink(run, l->masks[1], &run->moving_grid, mask_sigma, run->scratch_a, &l->moving));
        CLV_TRY(cut(run, &l->moving, channel->level_moving, run->scratch_a));
    }
end:
    return status;
}

int clv_pyramid_images(clv_registration *run, const clv_pyramid_level *l)
{
    int status = CLVOX_OK;
    double factor[3], moving_factor[3], fixed_edge[3], edge[3], finer[3];
    float fixed_sigma[3], moving_sigma[3], least[3], mask_sigma[3];
    clvox_grid_spacing(&run->fixed_grid, fixed_edge);
    clvox_grid_spacing(&l->fixed, edge);
    for (int i = 0; i < 3; i++)
        factor[i] = edge[i] / fixed_edge[i];
    moving_factors(run, &l->fixed, moving_factor);
    double stated =
        run->options->smooth_voxels[l->index] * cbrt(fixed_edge[0] * fixed_edge[1] * fixed_edge[2]);
    level_sigma(&run->fixed_grid, factor, stated, fixed_sigma);
    /* A moving image of finer voxels is brought to the fixed one's resolution
     * first, whatever smoothing was stated. */
    for (int i = 0; i < 3; i++)
        finer[i] = moving_factor[i] / cbrt(factor[0] * factor[1] * factor[2]);
    level_sigma(&run->moving_grid, finer, -1, least);
    level_sigma(&run->moving_grid, moving_factor, stated, moving_sigma);
    level_sigma(&run->moving_grid, moving_factor, -1, mask_sigma);
    for (int i = 0; i < 3; i++)
        moving_sigma[i] = fmaxf(moving_sigma[i], least[i]);
    for (int c = 0; c < run->channel_count; c++)
        CLV_TRY(shrink_channel(run, &run->channels[c], l, fixed_sigma, moving_sigma, mask_sigma));
    if (l->mask) {
        level_sigma(&run->fixed_grid, factor, -1, mask_sigma);
        CLV_TRY(shrink(run, l->masks[0], &run->fixed_grid, mask_sigma, run->masks.level, &l->fixed));
    }
end:
    return status;
}

/* The run's masks, or those of the level, which are sent to the device. */
static int find_masks(clv_registration *run, int index, const clv_buffer *masks[2])
{
    int status = CLVOX_OK;
    const clvox_register_images *images = &run->problem->images;
    for (int i = 0; i < 2; i++) {
        const clvox_volume *own = (i ? images->level_moving_mask : images->level_fixed_mask)[index];
        masks[i] = run->masks.of[i];
        if (!images->level_masks)
            continue;
        if (own)
            CLV_TRY(clv_register_send_mask(run, own, "", i == 1, run->masks.own[i]));
        masks[i] = own ? run->masks.own[i] : NULL;
    }
end:
    return status;
}

int clv_pyramid_make(clv_registration *run, int index, bool holes, clv_pyramid_level *l)
{
    int status = CLVOX_OK;
    double moving_factor[3], edge[3];
    *l = (clv_pyramid_level){.index = index, .holes = holes};
    CLV_TRY(find_masks(run, index, l->masks));
    l->mask = holes || !l->masks[0] ? NULL : run->masks.level;
    clv_register_level(&run->domain, run->options->shrink[index], &l->fixed);
    clvox_grid_spacing(&l->fixed, edge);
    for (int i = 0; i < 3; i++)
        l->spacing[i] = (float)edge[i];
    moving_factors(run, &l->fixed, moving_factor);
    clv_pyramid_grid(&run->moving_grid, moving_factor, &l->moving);
    l->n = (int)clvox_grid_voxels(&l->fixed);
    l->m = (int)clvox_grid_voxels(&l->moving);
    CLV_TRY(clv_terms_place(run, l));
end:
    return status;
}

void clv_pyramid_shares(const clvox_register_options *o, double share[CLVOX_MAX_LEVELS])
{
    double total = 0;
    for (int i = 0; i < o->levels; i++)
        total += share[i] = o->iterations[i] / pow(o->shrink[i], 3);
    for (int i = 0; i < o->levels && total > 0; i++)
        share[i] /= total;
}

int clv_pyramid_tell(const clv_registration *run, int level, int iteration, double metric, double fraction)
{
    const clvox_register_options *o = run->options;
    const clvox_step step = {.stage = "deformation",
                             .fraction = fraction,
                             .level = level,
                             .iteration = iteration,
                             .metric = metric};
    return o->progress && o->progress(o->user, &step)
               ? clvox_fail(CLVOX_ERROR_STOPPED, "stopped by the user")
               : CLVOX_OK;
}

int clv_pyramid_sample(clv_registration *run, const clv_buffer *u, const clvox_grid *from,
                       const clvox_grid *to, clv_buffer *out)
{
    static const float one[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    clv_map map;
    clv_map_between(to, from, NULL, 0, &map);
    return clv_compose(run->ctx, &(clv_compose_args){.w = *CLV_VECTORS(u, from->size), .map = &map,
                                                     .reorient = one, .extend = true,
                                                     .out = *CLV_VECTORS(out, to->size)});
}

int clv_pyramid_carry(clv_registration *run, clv_buffer *u, const clvox_grid *from, const clvox_grid *to)
{
    int status = CLVOX_OK;
    const size_t bytes = 3 * clvox_grid_voxels(to) * sizeof(float);
    clv_buffer *carried;
    const clv_request room = {&carried, bytes, "field on the next level"};
    if (clvox_grid_equal(from, to))
        return CLVOX_OK;
    CLV_TRY(clv_lease_take(&run->leases, &room, 1));
    CLV_TRY(clv_pyramid_sample(run, u, from, to, carried));
    CLV_TRY(clv_buffer_copy(run->ctx, carried, 0, u, 0, bytes));
    CLV_TRY(clv_lease_give(&run->leases, &room, 1));
end:
    return status;
}

static int smallest_determinant(clv_registration *run, const clv_buffer *u, const clvox_grid *grid,
                                clv_buffer *determinant, float *smallest)
{
    int status = CLVOX_OK;
    double edge[3];
    clvox_grid_spacing(grid, edge);
    const float spacing[3] = {(float)edge[0], (float)edge[1], (float)edge[2]};
    CLV_TRY(clv_jacobian(run->ctx, CLV_VECTORS_MM(u, grid->size, spacing), false, determinant));
    CLV_TRY(clv_reduce(run->ctx, CLV_REDUCE_MIN, &(clv_terms){determinant, NULL, NULL, 0,
                       (int)clvox_grid_voxels(grid)}, run->partial, run->state, CLV_STATE_SUMS));
    CLV_TRY(clv_buffer_read(run->ctx, run->state, CLV_STATE_SUMS * sizeof(float), smallest,
                            sizeof *smallest));
end:
    return status;
}

int clv_mend_folds(clv_registration *run, clv_buffer *u, const clvox_grid *grid, float smallest,
                   const clv_mending *s, int *passes)
{
    int status = CLVOX_OK, pass = 0;
    for (; pass < MOST_PASSES; pass++) {
        float found;
        CLV_TRY(smallest_determinant(run, u, grid, s->a, &found));
        if (found > smallest)
            break;
        float wide = fminf(1.5f + .25f * (float)pass, 15);
        /* weight: 1 on and next to the bad voxels, falling to 0 around them */
        CLV_TRY(clv_pointwise(run->ctx, CLV_POINTWISE_THRESHOLD, CLV_VOLUME(s->a, grid->size), s->a, NULL,
                              NULL, (float[4]){2 * smallest, 0, 1, 0}));
        CLV_TRY(clv_gaussian(run->ctx, CLV_VOLUME(s->a, grid->size), (float[3]){wide, wide, wide},
                             CLV_GAUSSIAN_SEPARABLE, s->b, s->c));
        CLV_TRY(clv_pointwise(run->ctx, CLV_POINTWISE_CLAMP, CLV_VOLUME(s->weight, grid->size), s->c, NULL,
                              NULL, (float[4]){60 * wide, 0, 0, 1}));
        CLV_TRY(clv_gaussian(run->ctx, CLV_VECTORS(u, grid->size), (float[3]){1, 1, 1},
                             CLV_GAUSSIAN_SEPARABLE, s->a, s->b));
        CLV_TRY(clv_blend(run->ctx, CLV_VECTORS(u, grid->size), s->b, s->weight));
    }
    if (passes)
        *passes = pass;
end:
    return status;
}

int clv_pyramid_mend(clv_registration *run, clv_buffer *u, const clvox_grid *grid, float smallest,
                     int *passes)
{
    int status = CLVOX_OK;
    const size_t n = clvox_grid_voxels(grid) * sizeof(float);
    clv_mending scratch;
    const clv_request room[] = {{&scratch.a, 3 * n, "determinants"},
                                {&scratch.b, 3 * n, "smoothed field"},
                                {&scratch.c, n, "weights around folds"},
                                {&scratch.weight, n, "weights"}};
    CLV_TRY(clv_lease_take(&run->leases, room, 4));
    CLV_TRY(clv_mend_folds(run, u, grid, smallest, &scratch, passes));
    CLV_TRY(clv_lease_give(&run->leases, room, 4));
end:
    return status;
}

int clv_pyramid_end(clv_registration *run, const clvox_grid *from, float smallest)
{
    int status = CLVOX_OK, passes = 0;
    CLV_TRY(clv_pyramid_carry(run, run->u, from, &run->fixed_grid));
    CLV_TRY(clv_pyramid_mend(run, run->u, &run->fixed_grid, smallest, &passes));
    /* A mended map has another inverse. */
    if (run->inverse && passes > 0)
        CLV_TRY(clv_invert_field(run->ctx, run->u, &run->fixed_grid, run->inverse));
    else if (run->inverse)
        CLV_TRY(clv_pyramid_carry(run, run->inverse, from, &run->fixed_grid));
end:
    return status;
}
