/* SPDX-License-Identifier: Apache-2.0 */
#include "clvox/figure.h"

#include "base/status.h"
#include "io/volume/orientation.h"
#include "io/png.h"
#include "report/figure.h"

/* The figure shows the world: what it cuts at does not hang on the storage either. *own is the caller's. */
static int upright(const clvox_volume **volume, clvox_volume **own)
{
    clv_orientation o;
    if (!*volume)
        return CLVOX_OK;
    clv_orientation_of(&(*volume)->grid, &o);
    if (clv_orientation_same(&o))
        return CLVOX_OK;
    const int status = clv_orientation_volume(*volume, &o, NULL, own);
    if (status >= 0)
        *volume = *own;
    return status;
}

int clvox_figure_planes(const clvox_volume *fixed, const clvox_volume *mask, int at[3])
{
    CLV_GIVEN(fixed, at);
    int status = CLVOX_OK, cut[3] = {0};
    const clvox_volume *shown[2] = {fixed, mask};
    clvox_volume *own[2] = {NULL};
    clv_orientation o;
    for (int i = 0; i < 2; i++)
        CLV_TRY(upright(&shown[i], &own[i]));
    CLV_TRY(clv_figure_planes(shown[0], shown[1], cut));
    clv_orientation_of(&fixed->grid, &o);
    for (int w = 0; w < 3; w++)
        at[o.axis[w]] = o.flipped[w] ? fixed->grid.size[o.axis[w]] - 1 - cut[w] : cut[w];
end:
    for (int i = 0; i < 2; i++)
        clvox_volume_destroy(&own[i]);
    return status;
}

int clvox_figure_registration(const clvox_volume *fixed, const clvox_volume *warped,
                              const clvox_volume *labels, const clvox_volume *log_jacobian,
                              const clvox_volume *mask, const char *path)
{
    CLV_GIVEN(fixed, warped, path);
    int status = CLVOX_OK;
    const clvox_volume *shown[5] = {fixed, warped, labels, log_jacobian, mask};
    clvox_volume *own[5] = {NULL};
    clv_raster raster = {.rgb = NULL};
    for (int i = 0; i < 5; i++)
        CLV_TRY(upright(&shown[i], &own[i]));
    CLV_TRY(clv_figure_registration(shown[0], shown[1], shown[2], shown[3], shown[4], &raster));
    CLV_TRY(clv_png_write(path, raster.width, raster.height, raster.rgb));
end:
    clv_raster_free(&raster);
    for (int i = 0; i < 5; i++)
        clvox_volume_destroy(&own[i]);
    return status;
}
