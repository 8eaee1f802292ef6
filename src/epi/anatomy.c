/* SPDX-License-Identifier: Apache-2.0 */
/* The field from one image and an undistorted one of another contrast: what moves along the axis of phase
 * encoding alone when the image is registered to that one, which has been brought onto its grid. */
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/matrix.h"
#include "base/status.h"
#include "clvox/apply.h"
#include "epi/epi.h"
#include "io/volume/orientation.h"
#include "runtime/device/host.h"

/* The anatomy is aligned to the image as it is, and again to the corrected one. */
enum { ROUNDS = 2 };
/* Sigma in voxels that smooths the displacement: fields are smoother than the anatomy of two people differs.
 */
static const double STIFFNESS = 2.5;

/* Aligns the anatomy rigidly to the image and brings it onto its grid. */
static int align(clvox_context *ctx, const clvox_volume *image, const clvox_volume *anatomy,
                 clvox_volume **out)
{
    int status = CLVOX_OK;
    clvox_register_options o;
    clvox_register_result r = {.warp = NULL};
    const clvox_register_images pair = {.fixed = {image}, .moving = {anatomy}, .weight = {1}, .channels = 1};
    clvox_transform affine = {.is_warp = 0};
    clvox_register_defaults(&o);
    o.deform = CLVOX_DEFORM_NONE;
    o.init = CLVOX_INIT_HEADER;
    o.linear = CLVOX_LINEAR_RIGID;
    o.linear_metric = CLVOX_METRIC_MI;
    CLV_TRY(clvox_register(ctx, &pair, &o, &r));
    clv_matrix_copy(CLV_MATRIX(r.matrix), affine.matrix);
    CLV_TRY(clvox_apply(ctx, anatomy, &image->grid, &(clvox_link){&affine, 0}, 1, CLVOX_INTERPOLATE_LINEAR, 0,
                        out));
end:
    clvox_register_result_destroy(&r);
    return status;
}

/* The displacement of image along its axis that makes it like still, as a field. */
static int find(clvox_context *ctx, const clvox_epi_image *image, const clvox_volume *still,
                clvox_volume **field)
{
    int status = CLVOX_OK;
    const int axis = image->encoding.axis;
    const clvox_grid *grid = &image->image->grid;
    const size_t n = clvox_grid_voxels(grid);
    clvox_register_options o;
    clvox_register_result r = {.warp = NULL};
    const clvox_register_images pair = {
        .fixed = {still}, .moving = {image->image}, .weight = {1}, .channels = 1};
    clv_orientation order;
    double edge[3];
    clvox_register_defaults(&o);
    o.deform = CLVOX_DEFORM_GREEDY;
    clvox_register_preset(&o, CLVOX_PRESET_DEFAULT);
    o.metric = CLVOX_METRIC_MI;
    o.total_sigma = STIFFNESS;
    o.linear = CLVOX_LINEAR_NONE;
    o.init = CLVOX_INIT_HEADER;
    o.inverse = 0;
    clv_orientation_of(grid, &order);
    for (int w = 0; w < 3; w++)
        o.restrict_axes[w] = order.axis[w] == axis;
    CLV_TRY(clvox_register(ctx, &pair, &o, &r));
    CLV_TRY(clvox_volume_create(grid, 1, CLVOX_KIND_SCALAR, field));
    clvox_grid_spacing(grid, edge);
    /* mm along the axis, in Hz. */
    const double scale = 1 / (edge[axis] * edge[axis] * clv_epi_shift(image));
    for (size_t i = 0; i < n; i++) {
        double along = 0;
        for (int c = 0; c < 3; c++)
            along += grid->to_ras[c][axis] * (double)r.warp->data[(size_t)c * n + i];
        (*field)->data[i] = (float)(along * scale);
    }
end:
    clvox_register_result_destroy(&r);
    return status;
}

int clvox_epi_from_anatomy(clvox_context *context, const clvox_epi_image *image, const clvox_volume *anatomy,
                           clvox_epi_result *result)
{
    CLV_GIVEN(context, image, anatomy, result);
    CLV_HOST_THREADS(context);
    int status = CLVOX_OK;
    const double mark = clv_seconds();
    clvox_volume *still = NULL;
    *result = (clvox_epi_result){.difference_before = NAN, .difference_after = NAN};
    clv_matrix_identity(result->matrix[0]);
    CLV_TRY(clv_epi_check(image, 1));
    const size_t held = clv_peak_start(context);
    for (int i = 0; i < ROUNDS; i++) {
        CLV_TRY(align(context, i ? result->corrected : image->image, anatomy, &still));
        clvox_epi_result_destroy(result);
        CLV_TRY(find(context, image, still, &result->field));
        clvox_volume_destroy(&still);
        CLV_TRY(clv_epi_correct(context, image, 1, result));
    }
    result->device_bytes = clv_peak_bytes(context) - held;
    result->seconds = clv_seconds() - mark;
end:
    clvox_volume_destroy(&still);
    if (status < 0)
        clvox_epi_result_destroy(result);
    return status;
}
