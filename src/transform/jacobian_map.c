/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "clvox/threads.h"
#include "clvox/apply.h"
#include "io/volume.h"
#include "op/field/jacobian.h"
#include "runtime/device/host.h"
#include "runtime/device/watch.h"
#include "transform/field.h"

/* The logarithm's floor, as clv_jacobian has it. */
static const double least_determinant = 1e-6;

/* One plane's share of the summary, added up in the order of planes so that
 * the number of threads does not show. */
typedef struct share {
    double smallest, largest, sum, sum_squares;
    long folded, voxels;
} share;

typedef struct work {
    float *determinant; /* becomes its logarithm when log is set */
    const float *mask;
    size_t plane;
    int log;
    share *shares;
} work;

static int summarise_plane(void *user, size_t z, int worker)
{
    const work *w = user;
    share s = {.smallest = INFINITY, .largest = -INFINITY};
    (void)worker;
    for (size_t i = z * w->plane; i < (z + 1) * w->plane; i++) {
        double d = (double)w->determinant[i], l = log(fmax(d, least_determinant));
        if (!isfinite(d))
            continue;
        if (w->log)
            w->determinant[i] = (float)l;
        if (w->mask && !(w->mask[i] > 0))
            continue;
        s.smallest = fmin(s.smallest, d);
        s.largest = fmax(s.largest, d);
        s.sum += l;
        s.sum_squares += l * l;
        s.folded += d <= 0;
        s.voxels++;
    }
    w->shares[z] = s;
    return CLVOX_OK;
}

static int summarise(const share *shares, int planes, clvox_jacobian_summary *summary)
{
    share all = {.smallest = INFINITY, .largest = -INFINITY};
    for (int z = 0; z < planes; z++) {
        all.smallest = fmin(all.smallest, shares[z].smallest);
        all.largest = fmax(all.largest, shares[z].largest);
        all.sum += shares[z].sum;
        all.sum_squares += shares[z].sum_squares;
        all.folded += shares[z].folded;
        all.voxels += shares[z].voxels;
    }
    if (!all.voxels)
        return clvox_fail(CLVOX_ERROR_DATA,
                          "the Jacobian has no voxel to summarise: the mask is empty on the warp's grid, or "
                          "the warp is not finite there");
    double n = (double)all.voxels, mean = all.sum / n;
    *summary = (clvox_jacobian_summary){all.smallest, all.largest, mean,
                                        sqrt(fmax(all.sum_squares / n - mean * mean, 0)), all.folded,
                                        all.voxels};
    return CLVOX_OK;
}

int clvox_jacobian(clvox_context *context, const clvox_volume *warp, const clvox_volume *mask,
                   int log, clvox_volume **out, clvox_jacobian_summary *summary)
{
    CLV_HOST_THREADS(context);
    CLV_WATCH(context, "Jacobian");
    int status = CLVOX_OK;
    const clvox_grid *grid = &warp->grid;
    size_t voxels = clvox_grid_voxels(grid);
    clv_buffer *u = NULL, *determinant = NULL;
    clvox_volume *made = NULL, *on_grid = NULL;
    share *shares = NULL;
    double spacing[3];
    const clv_request requests[] = {
        {&u, 3 * voxels * sizeof(float), "warp"},
        {&determinant, voxels * sizeof(float), "Jacobian determinant"},
    };
    if (out)
        *out = NULL;
    if (warp->frames != 3)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "a warp has 3 components, this volume has %d; give a warp",
                          warp->frames);
    CLV_TRY(clv_field_check(grid));
    clvox_grid_spacing(grid, spacing);
    const float edges[3] = {(float)spacing[0], (float)spacing[1], (float)spacing[2]};
    if (mask && !clvox_grid_equal(&mask->grid, grid)) {
        CLV_TRY(clvox_apply(context, mask, grid, NULL, 0, CLVOX_INTERPOLATE_NEAREST, 0, &on_grid));
        mask = on_grid;
    }
    CLV_TRY(clv_volume_room(grid, 1, CLVOX_KIND_SCALAR, &made));
    if (!(shares = calloc((size_t)grid->size[2], sizeof *shares))) {
        status = clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
        goto end;
    }
    CLV_TRY(clv_pool_take(context, requests, 2));
    CLV_TRY(clv_field_upload(context, warp, 1, u));
    /* The determinant does not depend on the frame: that of mm along the axes
     * is that of RAS mm. */
    CLV_TRY(clv_jacobian(context, CLV_VECTORS_MM(u, grid->size, edges), false, determinant));
    CLV_TRY(clv_buffer_read(context, determinant, 0, made->data, voxels * sizeof(float)));
    work w = {made->data, mask ? mask->data : NULL, voxels / (size_t)grid->size[2], log, shares};
    CLV_TRY(clvox_parallel((size_t)grid->size[2], summarise_plane, &w));
    if (summary)
        CLV_TRY(summarise(shares, grid->size[2], summary));
    if (out) {
        *out = made;
        made = NULL;
    }
end:
    clv_pool_release(requests, 2);
    free(shares);
    clvox_volume_destroy(&made);
    clvox_volume_destroy(&on_grid);
    return status;
}

/* ---- three planes alone ---------------------------------------------------- */

static size_t row_of(const clvox_grid *grid, int y, int z)
{
    return ((size_t)z * (size_t)grid->size[1] + (size_t)y) * (size_t)grid->size[0];
}

/* The part of a warp within two voxels of a plane: what the determinants within one need. */
static int slab_of(const clvox_volume *warp, int axis, int at, clvox_volume **out, int *first)
{
    const int *size = warp->grid.size;
    clvox_grid grid = warp->grid;
    const int last = at + 2 < size[axis] ? at + 2 : size[axis] - 1;
    *first = at > 2 ? at - 2 : 0;
    grid.size[axis] = last - *first + 1;
    const int status = clvox_volume_create(&grid, 3, warp->kind, out);
    if (status < 0)
        return status;
    const size_t voxels = clvox_grid_voxels(&warp->grid), part = clvox_grid_voxels(&grid),
                 x = axis == 0 ? (size_t)*first : 0;
    const int y = axis == 1 ? *first : 0, z = axis == 2 ? *first : 0;
    for (size_t frame = 0; frame < 3; frame++)
        for (int k = 0; k < grid.size[2]; k++)
            for (int j = 0; j < grid.size[1]; j++)
                memcpy((*out)->data + frame * part + row_of(&grid, j, k),
                       warp->data + frame * voxels + row_of(&warp->grid, j + y, k + z) + x,
                       (size_t)grid.size[0] * sizeof *warp->data);
    return CLVOX_OK;
}

/* Back to where the slab was cut from, without its outer layers inside of the warp. */
static void place_slab(const clvox_volume *slab, int axis, int at, int first, clvox_volume *to)
{
    const int *size = slab->grid.size;
    int from[3] = {0}, end[3] = {size[0], size[1], size[2]}, shift[3] = {0};
    shift[axis] = first;
    from[axis] = at > 1 ? at - 1 - first : 0;
    end[axis] = at + 2 < to->grid.size[axis] ? at + 2 - first : to->grid.size[axis] - first;
    for (int z = from[2]; z < end[2]; z++)
        for (int y = from[1]; y < end[1]; y++)
            memcpy(to->data + row_of(&to->grid, y + shift[1], z + shift[2]) + from[0] + shift[0],
                   slab->data + row_of(&slab->grid, y, z) + from[0],
                   (size_t)(end[0] - from[0]) * sizeof *to->data);
}

int clvox_jacobian_planes(clvox_context *context, const clvox_volume *warp, const int at[3], int log,
                          clvox_volume **out)
{
    int status = CLVOX_OK, first;
    clvox_volume *slab = NULL, *map = NULL;
    *out = NULL;
    for (int axis = 0; axis < 3; axis++)
        if (at[axis] < 0 || at[axis] >= warp->grid.size[axis])
            return clvox_fail(CLVOX_ERROR_ARGUMENT, "there is no plane %d along axis %d, which has %d voxels",
                              at[axis], axis, warp->grid.size[axis]);
    if (warp->frames != 3)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "a warp has 3 components, this volume has %d; give a warp",
                          warp->frames);
    CLV_TRY(clvox_volume_create(&warp->grid, 1, CLVOX_KIND_SCALAR, out));
    for (int axis = 0; axis < 3; axis++) {
        CLV_TRY(slab_of(warp, axis, at[axis], &slab, &first));
        CLV_TRY(clvox_jacobian(context, slab, NULL, log, &map, NULL));
        place_slab(map, axis, at[axis], first, *out);
        clvox_volume_destroy(&map);
        clvox_volume_destroy(&slab);
    }
end:
    clvox_volume_destroy(&map);
    clvox_volume_destroy(&slab);
    if (status < 0)
        clvox_volume_destroy(out);
    return status;
}
