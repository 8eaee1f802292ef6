/* SPDX-License-Identifier: Apache-2.0 */
#include "clvox/figure.h"

#include "base/status.h"
#include "io/orientation.h"
#include "io/png.h"
#include "report/figure.h"

int clvox_figure_registration(const clvox_volume *fixed, const clvox_volume *warped,
                              const clvox_volume *labels, const clvox_volume *log_jacobian,
                              const clvox_volume *mask, const char *path)
{
    int status = CLVOX_OK;
    const clvox_volume *shown[5] = {fixed, warped, labels, log_jacobian, mask};
    clvox_volume *own[5] = {NULL};
    clv_raster raster = {.rgb = NULL};
    /* It shows the world: what it cuts at does not hang on the storage either. */
    for (int i = 0; i < 5; i++) {
        clv_orientation o;
        if (!shown[i])
            continue;
        clv_orientation_of(&shown[i]->grid, &o);
        if (clv_orientation_same(&o))
            continue;
        CLV_TRY(clv_orientation_volume(shown[i], &o, NULL, &own[i]));
        shown[i] = own[i];
    }
    CLV_TRY(clv_figure_registration(shown[0], shown[1], shown[2], shown[3], shown[4], &raster));
    CLV_TRY(clv_png_write(path, raster.width, raster.height, raster.rgb));
end:
    clv_raster_free(&raster);
    for (int i = 0; i < 5; i++)
        clvox_volume_destroy(&own[i]);
    return status;
}
