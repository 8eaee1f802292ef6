/* SPDX-License-Identifier: Apache-2.0 */
/* From a field to what it corrects. */
#include <math.h>
#include <stdlib.h>

#include "base/matrix.h"
#include "base/select.h"
#include "base/status.h"
#include "clvox/apply.h"
#include "base/clock.h"
#include "runtime/device/host.h"
#include "epi/epi.h"

/* Below this Jacobian signal of several places has piled up in one. */
static const float PILED_UP = .2f;
/* The largest shift of a head is this quantile: single voxels of air are bright by noise. */
static const double MOST = .999;

int clv_epi_check(const clvox_epi_image *images, int count)
{
    for (int k = 0; k < count; k++) {
        const clvox_volume *v = images[k].image;
        const clvox_epi_encoding *e = &images[k].encoding;
        if (!v || !v->data)
            return clvox_fail(CLVOX_ERROR_ARGUMENT, "image %d is missing", k + 1);
        if (v->kind != CLVOX_KIND_SCALAR || v->frames != 1)
            return clvox_fail(CLVOX_ERROR_ARGUMENT, "image %d is not a volume of one frame of intensities",
                              k + 1);
        if (e->axis < 0 || e->axis > 2 || !(fabs(e->seconds) > 0 && fabs(e->seconds) < 1))
            return clvox_fail(CLVOX_ERROR_ARGUMENT, "image %d: the phase encoding is not set", k + 1);
        if (!clv_matrix_regular(v->grid.to_ras) || clvox_grid_voxels(&v->grid) > INT32_MAX / 8)
            return clvox_fail(CLVOX_ERROR_ARGUMENT, "image %d has no usable grid, or 2^28 voxels and more",
                              k + 1);
        if (v->grid.size[e->axis] < 4)
            return clvox_fail(CLVOX_ERROR_ARGUMENT,
                              "image %d has %d voxels along its axis of phase encoding, %c; 4 are needed",
                              k + 1, v->grid.size[e->axis], "ijk"[e->axis]);
        if (e->axis != images[0].encoding.axis)
            return clvox_fail(CLVOX_ERROR_ARGUMENT,
                              "images 1 and %d are encoded along %c and %c: take those of one "
                              "axis",
                              k + 1, "ijk"[images[0].encoding.axis], "ijk"[e->axis]);
        if (!clvox_grid_equal(&v->grid, &images[0].image->grid))
            return clvox_fail(
                CLVOX_ERROR_ARGUMENT,
                "images 1 and %d lie on different grids: blips have one, as the scanner gives it", k + 1);
        if (!(clv_epi_head(v) > 0))
            return clvox_fail(CLVOX_ERROR_DATA, "image %d is empty: it has one value", k + 1);
    }
    return CLVOX_OK;
}

double clv_epi_head(const clvox_volume *image)
{
    const size_t n = clvox_grid_voxels(&image->grid);
    double sum = 0, head = 0;
    size_t all = 0, above = 0;
    for (size_t i = 0; i < n; i++)
        if (isfinite(image->data[i])) {
            sum += (double)image->data[i];
            all++;
        }
    for (size_t i = 0; i < n; i++)
        if (isfinite(image->data[i]) && (double)image->data[i] * (double)all > sum) {
            head += (double)image->data[i];
            above++;
        }
    return above ? head / (double)above : 0;
}

float clv_epi_rise(const clvox_volume *field, int axis, size_t voxel)
{
    const int *size = field->grid.size;
    const size_t step = axis == 0 ? 1 : axis == 1 ? (size_t)size[0] : (size_t)size[0] * (size_t)size[1];
    const size_t at = voxel / step % (size_t)size[axis];
    const float after = field->data[at + 1 < (size_t)size[axis] ? voxel + step : voxel];
    return .5f * (after - field->data[at > 0 ? voxel - step : voxel]);
}

/* The displacement of image k in the first image's frame, RAS mm: its axis of phase encoding is turned with
 * the head. */
static int make_warp(const clvox_epi_image *image, const double matrix[4][4], const clvox_volume *field,
                     clvox_volume **out)
{
    int status = CLVOX_OK;
    const size_t n = clvox_grid_voxels(&field->grid);
    const int axis = image->encoding.axis;
    double back[4][4];
    CLV_TRY(clvox_volume_create(&field->grid, 3, CLVOX_KIND_DISPLACEMENT, out));
    CLV_TRY(clv_matrix_invert(matrix, back));
    for (int a = 0; a < 3; a++) {
        double along = 0;
        for (int b = 0; b < 3; b++)
            along += back[a][b] * image->image->grid.to_ras[b][axis];
        const float each = (float)(along * clv_epi_shift(image));
        for (size_t i = 0; i < n; i++)
            (*out)->data[(size_t)a * n + i] = each * field->data[i];
    }
end:
    if (status < 0)
        clvox_volume_destroy(out);
    return status;
}

/* An image as data without NaN, for interpolation that would spread them. */
static int without_nan(const clvox_volume *image, clvox_volume **out)
{
    const int status = clvox_volume_create(&image->grid, 1, CLVOX_KIND_SCALAR, out);
    for (size_t i = 0; status >= 0 && i < clvox_grid_voxels(&image->grid); i++)
        (*out)->data[i] = isfinite(image->data[i]) ? image->data[i] : 0;
    return status;
}

/* Adds image k, resampled once and times its Jacobian, to the sum. */
static int add_image(clvox_context *ctx, const clvox_epi_image *image, const double matrix[4][4],
                     clvox_epi_result *r, clvox_volume *warp)
{
    int status = CLVOX_OK;
    const size_t n = clvox_grid_voxels(&r->field->grid);
    clvox_volume *given = NULL, *moved = NULL;
    clvox_transform rigid = {.is_warp = 0}, shift = {.is_warp = 1, .warp = warp};
    clv_matrix_copy(matrix, rigid.matrix);
    CLV_TRY(without_nan(image->image, &given));
    CLV_TRY(clvox_apply(ctx, given, &r->field->grid, (const clvox_link[]){{&rigid, 0}, {&shift, 0}}, 2,
                        CLVOX_INTERPOLATE_CUBIC, 0, &moved));
    for (size_t i = 0; i < n; i++) {
        const float jacobian =
            1 + (float)clv_epi_shift(image) * clv_epi_rise(r->field, image->encoding.axis, i);
        r->corrected->data[i] += moved->data[i] * fmaxf(jacobian, 0);
        if (jacobian < PILED_UP)
            r->pile_up->data[i] = 1;
    }
end:
    clvox_volume_destroy(&given);
    clvox_volume_destroy(&moved);
    return status;
}

int clv_epi_correct(clvox_context *ctx, const clvox_epi_image *images, int count, clvox_epi_result *r)
{
    int status = CLVOX_OK;
    const clvox_grid *grid = &images[0].image->grid;
    const size_t n = clvox_grid_voxels(grid);
    clvox_volume *warp = NULL;
    double edge[3];
    size_t inside = 0;
    float *shift = malloc(n * sizeof *shift);
    r->images = count;
    if (!shift) {
        status = clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
        goto end;
    }
    CLV_TRY(clvox_volume_create(grid, 1, CLVOX_KIND_SCALAR, &r->corrected));
    CLV_TRY(clvox_volume_create(grid, 1, CLVOX_KIND_SCALAR, &r->pile_up));
    r->pile_up->type = CLVOX_TYPE_UINT8;
    for (int k = 0; k < count; k++) {
        CLV_TRY(make_warp(&images[k], CLV_MATRIX(r->matrix[k]), r->field, &warp));
        CLV_TRY(add_image(ctx, &images[k], CLV_MATRIX(r->matrix[k]), r, warp));
        if (!k) {
            r->warp = warp;
            warp = NULL;
        }
        clvox_volume_destroy(&warp);
    }
    clvox_grid_spacing(grid, edge);
    const double each = fabs(clv_epi_shift(&images[0])) * edge[images[0].encoding.axis];
    for (size_t i = 0; i < n; i++)
        r->corrected->data[i] /= (float)count;
    const double head = clv_epi_head(r->corrected) / 2;
    for (size_t i = 0; i < n; i++)
        if ((double)r->corrected->data[i] > head) {
            shift[inside++] = (float)each * fabsf(r->field->data[i]);
            r->piled_up += r->pile_up->data[i] > 0;
        }
    r->largest_mm = inside ? clv_select_quantile(shift, inside, MOST) : 0;
end:
    free(shift);
    clvox_volume_destroy(&warp);
    return status;
}

void clvox_epi_result_destroy(clvox_epi_result *r)
{
    if (!r)
        return;
    clvox_volume_destroy(&r->field);
    clvox_volume_destroy(&r->warp);
    clvox_volume_destroy(&r->corrected);
    clvox_volume_destroy(&r->pile_up);
}

int clvox_epi_from_field(clvox_context *context, const clvox_epi_image *image, const clvox_volume *field,
                         double hz, clvox_epi_result *result)
{
    CLV_GIVEN(context, image, field, result);
    CLV_HOST_THREADS(context);
    int status = CLVOX_OK;
    const double mark = clv_seconds();
    *result = (clvox_epi_result){.difference_before = NAN, .difference_after = NAN};
    clv_matrix_identity(result->matrix[0]);
    CLV_TRY(clv_epi_check(image, 1));
    if (field->kind != CLVOX_KIND_SCALAR || field->frames != 1)
        status = clvox_fail(CLVOX_ERROR_ARGUMENT, "the field is not a volume of one frame");
    if (status < 0)
        goto end;
    const size_t held = clv_peak_start(context);
    CLV_TRY(clvox_apply(context, field, &image->image->grid, NULL, 0, CLVOX_INTERPOLATE_LINEAR, 0,
                        &result->field));
    const size_t n = clvox_grid_voxels(&result->field->grid);
    const double most = image->image->grid.size[image->encoding.axis] / fabs(clv_epi_shift(image));
    size_t beyond = 0;
    for (size_t i = 0; i < n; i++) {
        float *value = &result->field->data[i];
        *value = isfinite(*value) ? *value * (float)hz : 0;
        beyond += fabs((double)*value) > most;
    }
    if (100 * beyond > n)
        CLV_TRY(clvox_fail(CLVOX_ERROR_DATA,
                           "the field shifts %zu of %zu voxels by more than the image is long; give it "
                           "unwrapped, and say its unit",
                           beyond, n));
    CLV_TRY(clv_epi_correct(context, image, 1, result));
    result->device_bytes = clv_peak_bytes(context) - held;
    result->seconds = clv_seconds() - mark;
end:
    if (status < 0)
        clvox_epi_result_destroy(result);
    return status;
}
