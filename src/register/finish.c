/* SPDX-License-Identifier: Apache-2.0 */
/* From the last iteration to results in host memory: statistics by reductions
 * on the device, the inverse in buffers that the run holds already, each
 * result fetched once. */
#include <math.h>
#include <string.h>

#include "base/matrix.h"
#include "io/volume/volume.h"
#include "op/field/jacobian.h"
#include "op/image/resample.h"
#include "op/image/statistics.h"
#include "transform/field.h"
#include "transform/invert.h"
#include "register/problem.h"
#include "register/terms/terms.h"

static int lengths_of(const clv_registration *run, const clv_buffer *u, const clvox_grid *grid,
                      const clv_buffer *inside, clv_statistics *out)
{
    double edge[3], frame[3][3];
    float reorient[3][3];
    clvox_grid_spacing(grid, edge);
    const float spacing[3] = {(float)edge[0], (float)edge[1], (float)edge[2]};
    clv_field_frame(grid, frame);
    for (int i = 0; i < 9; i++)
        reorient[i / 3][i % 3] = (float)frame[i / 3][i % 3];
    return clv_statistics_lengths(run->ctx, CLV_VECTORS_MM(u, grid->size, spacing), CLV_MATRIX3F(reorient),
                                  NULL, inside, run->partial, out);
}

int clv_register_survey(clv_registration *run, const clv_buffer *u, const clvox_grid *grid,
                        const clv_buffer *mask, const clv_buffer *inside, clv_buffer *scratch,
                        clv_field_survey *out)
{
    int status = CLVOX_OK;
    double edge[3];
    clvox_grid_spacing(grid, edge);
    const float spacing[3] = {(float)edge[0], (float)edge[1], (float)edge[2]};
    CLV_TRY(clv_jacobian(run->ctx, CLV_VECTORS_MM(u, grid->size, spacing), false, scratch));
    CLV_TRY(
        clv_statistics_determinants(run->ctx, scratch, mask, grid->size, run->partial, &out->determinants));
    CLV_TRY(lengths_of(run, u, grid, inside, &out->lengths));
end:
    return status;
}

static double diagonal(const clvox_grid *grid)
{
    double edge[3], squared = 0;
    clvox_grid_spacing(grid, edge);
    for (int a = 0; a < 3; a++)
        squared += pow(edge[a] * grid->size[a], 2);
    return sqrt(squared);
}

int clv_register_credible(const clv_statistics *lengths, const clvox_grid *fixed, const clvox_grid *moving)
{
    const double most = diagonal(fixed) + diagonal(moving);
    const long voxels = (long)clvox_grid_voxels(fixed);
    if (lengths->voxels < voxels)
        return clvox_fail(CLVOX_ERROR_DATA,
                          "the deformation is not finite at %ld of %ld voxels; please report this",
                          voxels - lengths->voxels, voxels);
    if (lengths->largest > most)
        return clvox_fail(
            CLVOX_ERROR_DATA,
            "the deformation moves a voxel by %.4g mm, more than both images measure from corner "
            "to corner (%.4g mm); please report this",
            lengths->largest, most);
    return CLVOX_OK;
}

int clv_register_state(const clv_field_survey *survey, const clvox_grid *fixed, const clvox_grid *moving,
                       clvox_register_result *result)
{
    const clv_statistics *d = &survey->determinants, *lengths = &survey->lengths;
    const int status = clv_register_credible(lengths, fixed, moving);
    if (status < 0)
        return status;
    if (d->voxels == 0)
        return clvox_fail(CLVOX_ERROR_DATA, "the deformation is not finite anywhere; please report this");
    double mean = d->sum / (double)d->voxels;
    result->jacobian = (clvox_jacobian_summary){
        .smallest = d->smallest,
        .largest = d->largest,
        .mean_log = mean,
        .sd_log = sqrt(fmax(0, d->sum_squares / (double)d->voxels - mean * mean)),
        .folded = d->not_above,
        .voxels = d->voxels,
    };
    result->largest_mm = lengths->largest;
    result->mean_mm = lengths->sum / (double)lengths->voxels;
    return CLVOX_OK;
}

/* How well the map is inverted where nobody asked for its inverse: u and what inverts it at every other voxel
 * along each axis, which is as smooth as that. */
static int look_coarsely(clv_registration *run, const clvox_grid *grid, clv_inverse_error *error)
{
    int status = CLVOX_OK;
    const size_t bytes = 3 * clvox_grid_voxels(grid) * sizeof(float);
    clv_buffer *coarse, *inverse, *residual;
    const clv_request room[] = {
        {&coarse, bytes, "coarse field"}, {&inverse, bytes, "its inverse"}, {&residual, bytes, "residual"}};
    CLV_TRY(clv_lease_take(&run->leases, room, 3));
    CLV_TRY(clv_pyramid_sample(run, run->u, &run->fixed_grid, grid, coarse));
    CLV_TRY(clv_invert_field(run->ctx, coarse, grid, inverse));
    CLV_TRY(clv_invert_residual(run->ctx, coarse, inverse, grid, &run->fixed_grid, residual, run->partial,
                                error));
    CLV_TRY(clv_lease_give(&run->leases, room, 3));
end:
    return status;
}

/* Makes run->inverse, where it is wanted and the model did not, and measures how well u is inverted; not for
 * a caller who goes on with fields, and reads no report. */
static int invert(clv_registration *run, clvox_register_result *result)
{
    enum { COARSE = 2 };
    int status = CLVOX_OK;
    const size_t bytes = 3 * (size_t)run->n * sizeof(float);
    clv_buffer *residual;
    const clv_request wanted = {&run->inverse, bytes, "inverse displacement field"},
                      room = {&residual, bytes, "residual of the inverse"};
    clv_inverse_error error;
    clvox_grid coarse;
    if (run->problem->fields && run->inverse)
        return CLVOX_OK;
    clv_register_level(&run->fixed_grid, COARSE, &coarse);
    if (!run->inverse && !run->options->inverse && 3 * clvox_grid_voxels(&coarse) <= (size_t)run->n) {
        CLV_TRY(look_coarsely(run, &coarse, &error));
    } else {
        if (!run->inverse) {
            CLV_TRY(clv_lease_take(&run->leases, &wanted, 1));
            CLV_TRY(clv_invert_field(run->ctx, run->u, &run->fixed_grid, run->inverse));
        }
        CLV_TRY(clv_lease_take(&run->leases, &room, 1));
        CLV_TRY(clv_invert_residual(run->ctx, run->u, run->inverse, &run->fixed_grid, &run->fixed_grid,
                                    residual, run->partial, &error));
        CLV_TRY(clv_lease_give(&run->leases, &room, 1));
    }
    memcpy(result->inverse_error_voxels, error.voxels, sizeof error.voxels);
    memcpy(result->inverse_error_mm, error.mm, sizeof error.mm);
end:
    return status;
}

int clv_register_warp_moving(clv_registration *run, const clvox_grid *grid, const clv_buffer *u,
                             clvox_kind kind, clv_buffer *out)
{
    clv_map map;
    clv_buffer *image = run->channels[0].moving;
    const int *from = run->moving_grid.size;
    clv_map_between(grid, &run->moving_grid, CLV_MATRIX(run->matrix), 1, &map);
    return clv_warp(run->ctx, CLV_VOLUME(image, from), &map, u,
                    kind == CLVOX_KIND_LABEL ? CLV_LABEL : CLV_LINEAR, 0, CLV_VOLUME(out, grid->size));
}

/* The moving image with its own intensities through the linear part and u. */
static int warp_moving(clv_registration *run, const clv_buffer *u, const clvox_volume *moving,
                       clvox_register_result *result)
{
    int status = CLVOX_OK;
    CLV_TRY(clv_volume_room(&run->fixed_grid, 1, moving->kind, &result->warped));
    result->warped->type = moving->type;
    CLV_TRY(
        clv_buffer_write(run->ctx, run->channels[0].moving, 0, moving->data, (size_t)run->m * sizeof(float)));
    CLV_TRY(clv_register_warp_moving(run, &run->fixed_grid, u, moving->kind, run->scratch_a));
    CLV_TRY(
        clv_buffer_read(run->ctx, run->scratch_a, 0, result->warped->data, (size_t)run->n * sizeof(float)));
end:
    return status;
}

int clv_register_finish_fields(const clvox_register_options *o, bool given)
{
    if (o->deform == CLVOX_DEFORM_NONE || !(o->inverse || o->consistency))
        return 0;
    return given ? 1 : CLV_FINISH_FIELDS;
}

/* One of the maps, from the device to where it is wanted. */
static int give(clv_registration *run, const clv_buffer *field, int which, clvox_volume **volume)
{
    const clv_register_fields *to = run->problem->fields;
    const clvox_grid *shown = clv_terms_beside_images(run) ? NULL : run->problem->shown;
    const size_t bytes = 3 * (size_t)run->n * sizeof(float);
    if (!to)
        return shown ? clv_field_download_shown(run->ctx, field, &run->fixed_grid, shown, volume)
                     : clv_field_download(run->ctx, field, &run->fixed_grid, 1, volume);
    if (to->buffer[which])
        return clv_buffer_copy(run->ctx, field, 0, to->buffer[which], 0, bytes);
    return clv_buffer_read(run->ctx, field, 0, to->values[which], bytes);
}

int clv_register_finish(clv_registration *run, clvox_register_result *result)
{
    int status = CLVOX_OK;
    const clvox_register_images *full = run->problem->originals;
    const clvox_register_options *o = run->options;
    clv_statistics lengths;
    memcpy(result->matrix, run->matrix, sizeof result->matrix);
    for (int i = 0; i < 2; i++)
        result->inverse_error_voxels[i] = result->inverse_error_mm[i] = NAN;
    if (o->deform != CLVOX_DEFORM_NONE) {
        CLV_TRY(give(run, run->u, 0, &result->warp));
        if (o->inverse || o->consistency)
            CLV_TRY(invert(run, result));
        if (o->inverse) {
            CLV_TRY(lengths_of(run, run->inverse, &run->fixed_grid, NULL, &lengths));
            CLV_TRY(clv_register_credible(&lengths, &run->fixed_grid, &run->moving_grid));
            CLV_TRY(give(run, run->inverse, 1, &result->inverse_warp));
        }
    }
    if (run->problem->fields) /* what the copies come from goes next */
        CLV_TRY(clv_finish(run->ctx));
    if (full && full->channels > 0 && !run->problem->fields)
        CLV_TRY(warp_moving(run, o->deform == CLVOX_DEFORM_NONE ? NULL : run->u, full->moving[0], result));
end:
    return status;
}
