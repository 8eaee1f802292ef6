/* SPDX-License-Identifier: Apache-2.0 */
#include "atlas/run.h"

#include <math.h>
#include <stdio.h>

#include "base/matrix.h"

int clv_atlas_fail(int status, const clv_atlas_member *s)
{
    return clvox_fail_in(status, s->given->name ? s->given->name : "a subject");
}

void clv_atlas_leave_out(clv_atlas_member *s, const char *why)
{
    if (why != s->map.left_out)
        snprintf(s->map.left_out, sizeof s->map.left_out, "%s", why);
    s->base = s->weight = 0;
}

double clv_atlas_edge(const clvox_grid *grid)
{
    return cbrt(fabs(clv_matrix_determinant(CLV_MATRIX(grid->to_ras))));
}

int clv_atlas_keep(const clv_atlas_run *a, clvox_volume *volume)
{
    return volume ? clvox_store_keep(a->o->store, volume) : CLVOX_OK;
}

void clv_atlas_release_map(clvox_atlas_map *map)
{
    clvox_volume_destroy(&map->warp);
    clvox_volume_destroy(&map->inverse_warp);
    clvox_volume_destroy(&map->labels);
}

clvox_register_images clv_atlas_images(const clv_atlas_run *a, const clv_atlas_member *s,
                                       const clvox_volume *like)
{
    clvox_register_images images = {.fixed = {like ? like : a->average},
                                    .moving = {s->image},
                                    .channels = 1,
                                    .weight = {a->o->channel_weight[0]},
                                    .moving_mask = s->given->mask};
    for (int c = 1; c < a->o->channels; c++) {
        const clvox_volume *fixed = like ? like : a->further[c - 1];
        if (!fixed || !clv_atlas_registers(a->o, c))
            continue;
        images.fixed[images.channels] = fixed;
        images.moving[images.channels] = s->further[c - 1];
        images.weight[images.channels++] = a->o->channel_weight[c];
    }
    return images;
}

/* ---- weights -------------------------------------------------------------- */

/* Kernels below this share of the largest one are 0: their subjects would change little and cost as much as
 * others. */
static const double LEAST = 1e-3;

static double distance(const clv_atlas_run *a, const clv_atlas_member *s)
{
    return fabs(a->along->covariate[s->place] - a->along->at[a->at]);
}

double clv_atlas_kernel(double distance, double nearest, double bandwidth)
{
    const double kernel = exp(-(distance - nearest) * (distance + nearest) / bandwidth / bandwidth / 2);
    return kernel < LEAST ? 0 : kernel;
}

void clv_atlas_weigh(clv_atlas_run *a)
{
    const bool along = a->along && a->at >= 0;
    double nearest = INFINITY;
    for (int i = 0; along && i < a->count; i++)
        if (a->s[i].base > 0)
            nearest = fmin(nearest, distance(a, &a->s[i]));
    a->weights = 0;
    for (int i = 0; i < a->count; i++) {
        clv_atlas_member *s = &a->s[i];
        s->kernel = 1;
        if (along && s->base > 0) /* against the nearest one's, which may be 0 in floating point */
            s->kernel = clv_atlas_kernel(distance(a, s), nearest, a->along->bandwidth);
        s->weight = s->base * s->kernel;
        a->weights += s->weight;
    }
}

int clv_atlas_taking_part(const clv_atlas_run *a)
{
    int count = 0;
    for (int i = 0; i < a->count; i++)
        count += a->s[i].weight > 0;
    return count;
}
