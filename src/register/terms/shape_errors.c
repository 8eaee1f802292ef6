/* SPDX-License-Identifier: Apache-2.0 */
/* Errors of a result by shapes. */
#include <string.h>

#include "base/matrix.h"
#include "base/status.h"
#include "mesh/shape.h"
#include "register/terms/shapes.h"
#include "runtime/device/host.h"

/* Points on each shape, for the distances. */
enum { SAMPLES = 20000 };
/* Largest error of each energy: more than that of the term, which is printed. */
static const double ERROR = 1e-5;

typedef struct errors {
    double mean, largest, energy;
} errors;

static int compare(clvox_context *ctx, const clvox_shape *fixed, const clvox_shape *moving,
                   const clvox_currents_options *by, errors *out)
{
    int status = CLVOX_OK;
    double mean[3], largest[3];
    clvox_surface_products p;
    CLV_TRY(clvox_shape_compare(fixed, moving, SAMPLES, mean, largest));
    CLV_TRY(clvox_shape_currents(ctx, fixed, moving, by, &p, NULL));
    *out = (errors){mean[2], largest[2], p.squared_distance / (p.aa + p.bb)};
end:
    return status;
}

int clvox_register_shape(clvox_context *context, const clvox_register_result *result,
                         const clvox_register_options *o, const clvox_shape *fixed, const clvox_shape *moving,
                         clvox_shape_errors *out)
{
    CLV_GIVEN(context, result, fixed, moving, out);
    CLV_HOST_THREADS(context);
    clvox_register_options standard;
    clvox_register_defaults(&standard);
    o = o ? o : &standard;
    int status = CLVOX_OK;
    clvox_transform warp = {.is_warp = 1, .warp = result->warp}, affine = {.is_warp = 0};
    const clvox_link links[] = {{&affine, 1}, {&warp, 1}};
    clvox_currents_options by;
    clvox_currents_defaults(&by);
    by.method = o->currents == CLVOX_CURRENTS_EXACT ? CLVOX_CURRENTS_EXACT : CLVOX_CURRENTS_AUTO;
    by.error = ERROR;
    clvox_shape *carried = NULL;
    clvox_grid finest;
    errors before, linear, after;
    double size[2];
    *out = (clvox_shape_errors){.carried = NULL};
    CLV_TRY(clv_shape_check(fixed, &size[0]));
    CLV_TRY(clv_shape_check(moving, &size[1]));
    clv_matrix_copy(CLV_MATRIX(result->matrix), affine.matrix);
    clv_register_level(&result->grid, o->levels > 0 ? o->shrink[o->levels - 1] : 1, &finest);
    by.width = out->width = clv_shapes_width(o, &finest, CLVOX_MAX_LEVELS - 1);
    by.varifold = clv_shape_varifold(o, fixed->kind);
    CLV_TRY(clv_shape_copy(moving, &carried));
    CLV_TRY(compare(context, fixed, carried, &by, &before));
    CLV_TRY(clvox_apply_points(links, 1, carried->points, (int)carried->vertices));
    CLV_TRY(compare(context, fixed, carried, &by, &linear));
    after = linear;
    if (result->warp) {
        CLV_TRY(clvox_apply_points(links + 1, 1, carried->points, (int)carried->vertices));
        CLV_TRY(compare(context, fixed, carried, &by, &after));
    }
    out->mean_before = before.mean;
    out->mean_linear = linear.mean;
    out->mean_after = after.mean;
    out->largest_before = before.largest;
    out->largest_linear = linear.largest;
    out->largest_after = after.largest;
    out->energy_before = before.energy;
    out->energy_linear = linear.energy;
    out->energy_after = after.energy;
    out->carried = carried;
    carried = NULL;
end:
    clvox_shape_destroy(&carried);
    return status;
}
