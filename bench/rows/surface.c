/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of operations on level sets and meshes. */
#include "bench/rows/check.h"
#include "op/surface/level_distance.h"
#include "op/surface/nlm.h"
#include "op/surface/redistance.h"

static clv_image level_image(const bench_data *d)
{
    return (clv_image){.buffer = d->level, .size = {d->size[0], d->size[1], d->size[2]}, .spacing = {1, 1, 1},
                       .components = 1};
}

static int row_redistance(bench_data *d)
{
    const clv_image phi = level_image(d);
    return clv_redistance(d->ctx, &phi, 8, d->out[0], d->nine);
}

static int row_level(bench_data *d)
{
    const clv_image values = level_image(d);
    return clv_level_distance(d->ctx, &values, 0, 8, d->out[0], d->nine);
}

static int row_mesh_distance(bench_data *d)
{
    const clv_mesh_cells cells = {.triangles = d->triangles, .cells = d->cells, .list = d->list,
                                  .count = bench_cells(d),
                                  .to_position = {{1, 0, 0, -4}, {0, 1, 0, 4}, {0, 0, 1, 4}}};
    return clv_mesh_distance(d->ctx, &cells, d->out[0], d->out[1]);
}

/* A band of 4 voxels. */
static int row_nlm_band(bench_data *d)
{
    const clv_image phi = level_image(d);
    int count, status = clv_nlm_band_count(d->ctx, &phi, 2, d->nine, &count);
    d->answer[0] = count;
    return status < 0 ? status : clv_nlm_band_list(d->ctx, &phi, 2, d->nine, d->out[0], d->out[1]);
}

static int row_nlm_volume(bench_data *d)
{
    const clv_image phi = level_image(d);
    return clv_nlm_volume(d->ctx, &phi, 0, d->nine, &d->answer[0]);
}

const bench_row bench_rows_surface[] = {
    {"redistance 8", "redistance_jump", 8, 0, row_redistance, check_redistance, NULL, NULL},
    {"level distance 8", "level_distance_near", 8, 0, row_level, check_level, NULL, NULL},
    /* An eighth of the voxels, each against 64 triangles: 4 bytes of lists a voxel; at least a
     * plane's distance, three edges and three corners for each, 60 operations. */
    {"mesh distance", "mesh_distance", 5.25, 480, row_mesh_distance, check_mesh_distance, NULL, NULL},
    {"nlm band 2", "nlm_band", 12, 0, row_nlm_band, check_nlm_band, NULL, NULL},
    {"nlm volume", "nlm_volume", 4, 0, row_nlm_volume, check_nlm_volume, NULL, NULL},
    {NULL, NULL, 0, 0, NULL, NULL, NULL, NULL},
};
