/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/matrix.h"
#include "base/status.h"
#include "clvox/threads.h"
#include "clvox/apply.h"
#include "io/volume/volume.h"
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
    CLV_GIVEN(context, warp);
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

typedef struct planes {
    const clvox_volume *warp;
    const int *at;
    int log;
    double from_ras[3][3], spacing[3]; /* the matrix: from RAS mm to mm along the axes */
    float *out;
} planes;

/* At a voxel: det(1 + Du) by the differences of cl/common/difference.clh. */
static double determinant_at(const planes *p, const int at[3])
{
    const int *size = p->warp->grid.size;
    const size_t n = clvox_grid_voxels(&p->warp->grid);
    const size_t stride[3] = {1, (size_t)size[0], (size_t)size[0] * (size_t)size[1]};
    const size_t here = (size_t)at[0] + (size_t)at[1] * stride[1] + (size_t)at[2] * stride[2];
    double m[3][3];
    for (int k = 0; k < 3; k++) {
        const size_t below = at[k] > 0 ? here - stride[k] : here,
                     above = at[k] + 1 < size[k] ? here + stride[k] : here;
        const int width = (above > here) + (below < here);
        double along[3];
        for (int r = 0; r < 3; r++)
            along[r] = width ? ((double)p->warp->data[(size_t)r * n + above] -
                                (double)p->warp->data[(size_t)r * n + below]) /
                                   (width * p->spacing[k])
                             : 0;
        for (int r = 0; r < 3; r++)
            m[r][k] = (r == k) + p->from_ras[r][0] * along[0] + p->from_ras[r][1] * along[1] +
                      p->from_ras[r][2] * along[2];
    }
    return clv_matrix3_determinant(CLV_MATRIX3(m));
}

static bool is_near(int place, int plane)
{
    return abs(place - plane) <= 1;
}

/* Finds the voxels of plane z that are in one of the three, or next to it. */
static int find_plane(void *user, size_t z, int worker)
{
    const planes *p = user;
    const int *size = p->warp->grid.size;
    int at[3] = {0, 0, (int)z};
    (void)worker;
    for (at[1] = 0; at[1] < size[1]; at[1]++) {
        const bool all = is_near(at[2], p->at[2]) || is_near(at[1], p->at[1]);
        const int end = all || p->at[0] + 2 > size[0] ? size[0] : p->at[0] + 2;
        float *row = p->out + ((size_t)at[1] + z * (size_t)size[1]) * (size_t)size[0];
        for (at[0] = all || p->at[0] < 1 ? 0 : p->at[0] - 1; at[0] < end; at[0]++) {
            const double d = determinant_at(p, at);
            row[at[0]] = (float)(p->log && isfinite(d) ? log(fmax(d, least_determinant)) : d);
        }
    }
    return CLVOX_OK;
}

int clvox_jacobian_planes(const clvox_volume *warp, const int at[3], int log, clvox_volume **out)
{
    CLV_GIVEN(warp, at, out);
    int status = CLVOX_OK;
    double frame[3][3];
    planes p = {.warp = warp, .at = at, .log = log};
    *out = NULL;
    for (int axis = 0; axis < 3; axis++)
        if (at[axis] < 0 || at[axis] >= warp->grid.size[axis])
            return clvox_fail(CLVOX_ERROR_ARGUMENT, "there is no plane %d along axis %d, which has %d voxels",
                              at[axis], axis, warp->grid.size[axis]);
    if (warp->frames != 3)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "a warp has 3 components, this volume has %d; give a warp",
                          warp->frames);
    CLV_TRY(clv_field_check(&warp->grid));
    clvox_grid_spacing(&warp->grid, p.spacing);
    clv_field_frame(&warp->grid, frame);
    CLV_TRY(clv_matrix3_invert(CLV_MATRIX3(frame), p.from_ras));
    CLV_TRY(clvox_volume_create(&warp->grid, 1, CLVOX_KIND_SCALAR, out));
    p.out = (*out)->data;
    status = clvox_parallel((size_t)warp->grid.size[2], find_plane, &p);
end:
    if (status < 0)
        clvox_volume_destroy(out);
    return status;
}
