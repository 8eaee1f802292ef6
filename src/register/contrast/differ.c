/* SPDX-License-Identifier: Apache-2.0 */
/* Whether the contrasts of two images differ. */
#include <math.h>
#include <stdlib.h>

#include "clvox/threads.h"
#include "op/image/resample.h"
#include "register/contrast/meeting.h"
#include "register/contrast/synthesis.h"
#include "register/thresholds.h"

/* An image smoothed and sampled at about so many mm. */
static int coarsen(clv_registration *run, double mm, const clv_buffer *image, const clvox_grid *grid,
                   clv_buffer *out, clvox_grid *to)
{
    clv_buffer *const scratch[2] = {run->scratch_a, run->scratch_b};
    double edge[3], factor[3];
    clvox_grid_spacing(grid, edge);
    for (int i = 0; i < 3; i++)
        factor[i] = fmax(1, mm / edge[i]);
    clv_pyramid_grid(grid, factor, to);
    return clv_downsample(run->ctx, image, grid, scratch, out, to);
}

/* How alike the images of a side are: synthesized by what is within sigma, which takes longest, by the whole,
 * and as they are. */
enum { NEAR, WHOLE, RAW, WAYS };
typedef struct comparison {
    const clv_meeting *meeting;
    float *values[2]; /* of a side, by clv_contrast_meet() */
    double sigma, agreement[WAYS][2];
    int threads; /* of each way NEAR; the others keep to their own */
} comparison;

static int compare(void *user, size_t index, int worker)
{
    int status = CLVOX_OK;
    comparison *c = user;
    const size_t moving = index % 2, way = index / 2;
    const clvox_grid *grid = c->meeting->grid[moving];
    const size_t n = clvox_grid_voxels(grid);
    const float *here = c->values[moving], *there = here + n;
    float *synthesized_image = c->values[moving] + (way == NEAR ? 2 : 3) * n;
    bool made = true;
    const int before = clvox_threads_own(way == NEAR ? c->threads : 1);
    (void)worker;
    if (way != RAW)
        CLV_TRY(clv_contrast_image(grid, here, there, way == NEAR ? c->sigma : INFINITY, synthesized_image,
                                   &made));
    c->agreement[way][moving] =
        made ? clv_contrast_agreement(grid, way == RAW ? here : synthesized_image, there) : NAN;
end:
    clvox_threads_own(before);
    return status;
}

/* The square of the images' agreement at so many mm, with its sign, over the product of that once they are
 * synthesized nearby and that once they are over the whole image. NaN where few windows have content. */
static int alike(clv_registration *run, double sigma, double mm, double *share)
{
    int status = CLVOX_OK;
    clv_channel *c = &run->channels[0];
    clvox_grid fixed, moving;
    double sum[WAYS];
    CLV_TRY(coarsen(run, mm, c->fixed, &run->fixed_grid, c->level_fixed, &fixed));
    CLV_TRY(coarsen(run, mm, c->moving, &run->moving_grid, c->level_moving, &moving));
    const clv_meeting m = {{&fixed, &moving}, {c->level_fixed, c->level_moving}};
    comparison both = {.meeting = &m, .sigma = sigma};
    both.threads = (clvox_threads() - 2 * (WAYS - 1)) / 2;
    both.threads = both.threads > 1 ? both.threads : 1;
    for (int k = 0; k < 2 && status >= 0; k++)
        status = clv_contrast_meet(run, &m, k == 1, &both.values[k]);
    if (status >= 0)
        status = clvox_parallel(2 * WAYS, compare, &both);
    free(both.values[0]);
    free(both.values[1]);
    CLV_TRY(status);
    for (int way = 0; way < WAYS; way++)
        sum[way] = both.agreement[way][0] + both.agreement[way][1];
    *share = sum[NEAR] > 0 && sum[WHOLE] > 0 ? sum[RAW] * fabs(sum[RAW]) / (sum[NEAR] * sum[WHOLE]) : NAN;
end:
    return status;
}

bool clv_contrast_looks(const clv_registration *run)
{
    const clvox_register_options *o = run->options;
    return o->by_contrast && o->linear != CLVOX_LINEAR_NONE && o->metric == CLVOX_METRIC_LNCC &&
           !o->besides && run->channel_count == 1 && run->image_count == 1;
}

int clv_contrast_differ(clv_registration *run, double sigma, bool *differ)
{
    const bool heads = clv_contrast_heads(run);
    const clv_contrast_scale *at = heads ? SCALES_OF_HEADS : SCALES_OF_CROPS, *end_of = at + (heads ? 2 : 1);
    int status = CLVOX_OK;
    clv_own_units own;
    clv_units_enter(run, &own);
    for (double share; at < end_of; at++) {
        CLV_TRY(alike(run, sigma, at->mm, &share));
        if (!isfinite(share))
            break;
        *differ = share < at->less;
        if (*differ || share >= at->more)
            break;
    }
end:
    clv_units_leave(run, &own);
    return status;
}
