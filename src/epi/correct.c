/* SPDX-License-Identifier: Apache-2.0 */
/* From a field to what it corrects. */
#include <math.h>
#include <stdlib.h>

#include "base/matrix.h"
#include "base/clock.h"
#include "base/select.h"
#include "base/status.h"
#include "clvox/apply.h"
#include "clvox/threads.h"
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

/* ---- planes, of which each thread works on one ------------------------------- */

typedef struct planes {
    const clvox_volume *image;
    const clvox_volume *field;
    clvox_epi_result *result;
    clvox_volume *warp;
    float shift[3];             /* along the grid's axes, voxels for a Hz */
    float along[3];             /* mm for a Hz */
    double above, *sum, *count; /* of each plane: the finite voxels above a value, and what they come to */
} planes;

static size_t plane_voxels(const clvox_grid *grid)
{
    return (size_t)grid->size[0] * (size_t)grid->size[1];
}

static int each_plane(const clvox_grid *grid, clvox_task task, planes *p)
{
    return clvox_parallel((size_t)grid->size[2], task, p);
}

static int add_plane(void *user, size_t z, int worker)
{
    const planes *p = user;
    const size_t n = plane_voxels(&p->image->grid);
    const float *v = p->image->data + z * n;
    double sum = 0, count = 0; /* threads that add to neighbours in memory wait for each other */
    (void)worker;
    for (size_t i = 0; i < n; i++)
        if (isfinite(v[i]) && (double)v[i] > p->above) {
            sum += (double)v[i];
            count++;
        }
    p->sum[z] = sum;
    p->count[z] = count;
    return CLVOX_OK;
}

/* The mean of the finite values above one; 0: there are none. */
static double mean_above(const clvox_volume *image, double above)
{
    const int count = image->grid.size[2];
    double sums[2] = {0, 0}, *each = calloc(2 * (size_t)count, sizeof *each);
    planes p = {.image = image, .above = above, .sum = each, .count = each + count};
    if (each)
        each_plane(&image->grid, add_plane, &p);
    for (int z = 0; each && z < count; z++) {
        sums[0] += p.sum[z];
        sums[1] += p.count[z];
    }
    free(each);
    return sums[1] > 0 ? sums[0] / sums[1] : 0;
}

double clv_epi_head(const clvox_volume *image)
{
    return mean_above(image, mean_above(image, -INFINITY));
}

/* Derivative of a volume along an axis of its grid at a voxel of plane z: that of cl/epi/blip.cl. */
static inline float rise_at(const clvox_volume *field, int axis, size_t at, size_t voxel)
{
    const int *size = field->grid.size;
    const size_t step = axis == 0 ? 1 : axis == 1 ? (size_t)size[0] : plane_voxels(&field->grid);
    const float after = field->data[at + 1 < (size_t)size[axis] ? voxel + step : voxel];
    return .5f * (after - field->data[at > 0 ? voxel - step : voxel]);
}

float clv_epi_rise(const clvox_volume *field, int axis, size_t voxel)
{
    const int *size = field->grid.size;
    const size_t step = axis == 0 ? 1 : axis == 1 ? (size_t)size[0] : plane_voxels(&field->grid);
    return rise_at(field, axis, voxel / step % (size_t)size[axis], voxel);
}

static int warp_plane(void *user, size_t z, int worker)
{
    const planes *p = user;
    const size_t each = plane_voxels(&p->field->grid), n = clvox_grid_voxels(&p->field->grid);
    (void)worker;
    for (size_t a = 0; a < 3; a++)
        for (size_t i = z * each; i < (z + 1) * each; i++)
            p->warp->data[a * n + i] = p->along[a] * p->field->data[i];
    return CLVOX_OK;
}

/* By how much a Hz shifts image k in the first image's frame, RAS mm: its axis of phase encoding is turned with
 * the head. */
static int find_shift(const clvox_epi_image *image, const double matrix[4][4], double mm[3])
{
    int status = CLVOX_OK;
    double back[4][4];
    CLV_TRY(clv_matrix_invert(matrix, back));
    for (int a = 0; a < 3; a++) {
        mm[a] = 0;
        for (int b = 0; b < 3; b++)
            mm[a] += back[a][b] * image->image->grid.to_ras[b][image->encoding.axis];
        mm[a] *= clv_epi_shift(image);
    }
end:
    return status;
}

static int make_warp(const double mm[3], const clvox_volume *field, clvox_volume **out)
{
    int status = CLVOX_OK;
    planes p = {.field = field, .along = {(float)mm[0], (float)mm[1], (float)mm[2]}};
    CLV_TRY(clvox_volume_create(&field->grid, 3, CLVOX_KIND_DISPLACEMENT, out));
    p.warp = *out;
    CLV_TRY(each_plane(&field->grid, warp_plane, &p));
end:
    if (status < 0)
        clvox_volume_destroy(out);
    return status;
}

/* NaN would spread by interpolation: a copy with zeros in their place; NULL: there are none. */
static int without_nan(const clvox_volume *image, clvox_volume **out)
{
    const size_t n = clvox_grid_voxels(&image->grid);
    size_t i = 0;
    while (i < n && isfinite(image->data[i]))
        i++;
    const int status = i < n ? clvox_volume_create(&image->grid, 1, CLVOX_KIND_SCALAR, out) : CLVOX_OK;
    for (i = 0; *out && i < n; i++)
        (*out)->data[i] = isfinite(image->data[i]) ? image->data[i] : 0;
    return status;
}

static int correct_plane(void *user, size_t z, int worker)
{
    const planes *p = user;
    const int *size = p->field->grid.size;
    double piled = 0;
    (void)worker;
    size_t i = z * plane_voxels(&p->field->grid);
    for (int y = 0; y < size[1]; y++)
        for (int x = 0; x < size[0]; x++, i++) {
            const size_t at[3] = {(size_t)x, (size_t)y, z};
            float jacobian = 1;
            for (int a = 0; a < 3; a++)
                if (p->shift[a] != 0)
                    jacobian += p->shift[a] * rise_at(p->field, a, at[a], i);
            p->result->corrected->data[i] += p->image->data[i] * fmaxf(jacobian, 0);
            if (jacobian < PILED_UP) {
                p->result->pile_up->data[i] = 1;
                piled += (double)p->image->data[i] > p->above;
            }
        }
    p->count[z] = piled;
    return CLVOX_OK;
}

/* Adds image k, resampled once and times its Jacobian, to the sum. */
static int add_image(clvox_context *ctx, const clvox_epi_image *image, const double matrix[4][4],
                     const double mm[3], clvox_epi_result *r, clvox_volume *warp)
{
    int status = CLVOX_OK;
    clvox_volume *given = NULL, *moved = NULL;
    double to_voxel[4][4];
    clvox_transform rigid = {.is_warp = 0}, shift = {.is_warp = 1, .warp = warp};
    const int slices = r->field->grid.size[2];
    double *piled = calloc((size_t)slices, sizeof *piled);
    clv_matrix_copy(matrix, rigid.matrix);
    if (!piled)
        CLV_TRY(clv_out_of_memory());
    CLV_TRY(clv_matrix_invert(CLV_MATRIX(r->field->grid.to_ras), to_voxel));
    CLV_TRY(without_nan(image->image, &given));
    CLV_TRY(clvox_apply(ctx, given ? given : image->image, &r->field->grid,
                        (const clvox_link[]){{&shift, 0}, {&rigid, 0}}, 2, CLVOX_INTERPOLATE_CUBIC, 0, &moved));
    planes p = {.image = moved,
                .field = r->field,
                .result = r,
                .above = clv_epi_head(image->image) / 2,
                .count = piled};
    for (int a = 0; a < 3; a++) {
        const double part = to_voxel[a][0] * mm[0] + to_voxel[a][1] * mm[1] + to_voxel[a][2] * mm[2];
        p.shift[a] = fabs(part) > 1e-6 * fabs(clv_epi_shift(image)) ? (float)part : 0;
    }
    CLV_TRY(each_plane(&r->field->grid, correct_plane, &p));
    for (int z = 0; z < slices; z++)
        r->piled_up += (long)piled[z];
end:
    free(piled);
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
    double edge[3], mm[3];
    size_t inside = 0;
    float *shift = malloc(n * sizeof *shift);
    r->images = count;
    r->piled_up = 0;
    if (!shift) {
        status = clv_out_of_memory();
        goto end;
    }
    CLV_TRY(clvox_volume_create(grid, 1, CLVOX_KIND_SCALAR, &r->corrected));
    CLV_TRY(clvox_volume_create(grid, 1, CLVOX_KIND_SCALAR, &r->pile_up));
    r->pile_up->type = CLVOX_TYPE_UINT8;
    for (int k = 0; k < count; k++) {
        CLV_TRY(find_shift(&images[k], CLV_MATRIX(r->matrix[k]), mm));
        CLV_TRY(make_warp(mm, r->field, &warp));
        CLV_TRY(add_image(ctx, &images[k], CLV_MATRIX(r->matrix[k]), mm, r, warp));
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
        if ((double)r->corrected->data[i] > head)
            shift[inside++] = (float)each * fabsf(r->field->data[i]);
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
