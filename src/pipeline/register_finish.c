/* SPDX-License-Identifier: Apache-2.0 */
/* From the last iteration to results in host memory: statistics by reductions
 * on the device, the inverse in buffers that the run holds already, each
 * result fetched once. */
#include <math.h>
#include <string.h>

#include "base/matrix.h"
#include "op/jacobian.h"
#include "op/resample.h"
#include "op/statistics.h"
#include "pipeline/field.h"
#include "pipeline/invert.h"
#include "pipeline/register.h"

/* What the determinant and the length of u say, over mask (NULL: all voxels)
 * and over all voxels. scratch holds a float a voxel. */
static int survey(clv_registration *run, const clv_buffer *u, const clvox_grid *grid, const clv_buffer *mask,
                  clv_buffer *scratch, clvox_register_result *result)
{
    int status = CLVOX_OK;
    double edge[3], frame[3][3];
    float turn[3][3];
    clv_statistics s;
    clvox_grid_spacing(grid, edge);
    const float spacing[3] = {(float)edge[0], (float)edge[1], (float)edge[2]};
    clv_field_frame(grid, frame);
    for (int i = 0; i < 9; i++)
        turn[i / 3][i % 3] = (float)frame[i / 3][i % 3];
    CLV_TRY(clv_jacobian(run->ctx, u, grid->size, spacing, 1, false, scratch));
    CLV_TRY(clv_statistics_determinants(run->ctx, scratch, mask, grid->size, run->partial, &s));
    if (s.voxels == 0)
        CLV_TRY(clv_fail(CLVOX_ERROR_DATA, "the deformation is not finite anywhere; please report this"));
    double mean = s.sum / (double)s.voxels;
    result->jacobian = (clvox_jacobian_summary){
        .smallest = s.smallest, .largest = s.largest, .mean_log = mean,
        .sd_log = sqrt(fmax(0, s.sum_squares / (double)s.voxels - mean * mean)),
        .folded = s.not_above, .voxels = s.voxels,
    };
    CLV_TRY(clv_statistics_lengths(run->ctx, u, CLV_TURN(turn), NULL, NULL, grid->size, spacing, run->partial,
                                   &s));
    result->largest_mm = s.largest;
    result->mean_mm = s.sum / (double)s.voxels;
end:
    return status;
}

/* The fields that the run holds and needs no more: those of held as large as
 * u that are neither u nor the inverse. */
static int spare_fields(const clv_registration *run, const clv_request *held, int count, clv_buffer **fields,
                        int wanted)
{
    size_t bytes = 3 * (size_t)run->n * sizeof(float);
    int found = 0;
    for (int i = 0; i < count && found < wanted; i++) {
        clv_buffer *b = *held[i].slot;
        if (b && b->bytes >= bytes && b != run->u && b != run->inverse)
            fields[found++] = b;
    }
    return found;
}

/* Makes run->inverse unless the model did, and measures how well it inverts. */
static int invert(clv_registration *run, const clv_request *held, int count, clvox_register_result *result)
{
    int status = CLVOX_OK;
    clv_buffer *fields[CLV_FINISH_FIELDS] = {NULL};
    int wanted = run->inverse ? 1 : CLV_FINISH_FIELDS;
    if (spare_fields(run, held, count, fields, wanted) < wanted)
        return clv_fail(CLVOX_ERROR_MEMORY, "the run holds too few fields to invert its result");
    if (!run->inverse) {
        const clv_invert_buffers buffers = {fields[0], fields[1], run->partial, run->state};
        CLV_TRY(clv_invert_field(run->ctx, run->u, &run->fixed_grid, fields[2], &buffers));
        run->inverse = fields[2];
    }
    CLV_TRY(clv_invert_residual(run->ctx, run->u, run->inverse, &run->fixed_grid, fields[0], run->partial,
                                result->inverse_error_voxels, result->inverse_error_mm));
end:
    return status;
}

/* The moving image with its own intensities through the linear part and u. */
static int warp_moving(clv_registration *run, const clv_buffer *u, const clvox_volume *moving,
                       clvox_register_result *result)
{
    int status = CLVOX_OK;
    clv_map map;
    clv_buffer *image = run->channels[0].moving, *out = run->scratch_a;
    const int *from = run->moving_grid.size, *to = run->fixed_grid.size;
    CLV_TRY(clvox_volume_create(&run->fixed_grid, 1, moving->kind, &result->warped));
    result->warped->type = moving->type;
    CLV_TRY(clv_buffer_write(run->ctx, image, 0, moving->data, (size_t)run->m * sizeof(float)));
    clv_map_between(&run->fixed_grid, &run->moving_grid, CLV_MATRIX(run->matrix), 1, &map);
    if (moving->kind == CLVOX_KIND_LABEL)
        CLV_TRY(clv_warp_label(run->ctx, image, from, &map, u, 0, out, to));
    else
        CLV_TRY(clv_warp(run->ctx, image, from, &map, u, CLV_LINEAR, 0, out, to));
    CLV_TRY(clv_buffer_read(run->ctx, out, 0, result->warped->data, (size_t)run->n * sizeof(float)));
end:
    return status;
}

int clv_register_finish_fields(const clvox_register_options *o, bool given)
{
    if (o->deform == CLVOX_DEFORM_NONE || !(o->inverse || o->consistency))
        return 0;
    return given ? 1 : CLV_FINISH_FIELDS;
}

int clv_register_finish(clv_registration *run, const clv_request *held, int count, const clvox_volume *moving,
                        clvox_register_result *result)
{
    int status = CLVOX_OK;
    const clvox_register_options *o = run->options;
    memcpy(result->matrix, run->matrix, sizeof result->matrix);
    for (int i = 0; i < 2; i++)
        result->inverse_error_voxels[i] = result->inverse_error_mm[i] = NAN;
    if (o->deform != CLVOX_DEFORM_NONE) {
        CLV_TRY(survey(run, run->u, &run->fixed_grid, run->fixed_mask, run->scratch_a, result));
        CLV_TRY(clv_field_download(run->ctx, run->u, &run->fixed_grid, 1, &result->warp));
        if (o->inverse || o->consistency)
            CLV_TRY(invert(run, held, count, result));
        if (o->inverse)
            CLV_TRY(clv_field_download(run->ctx, run->inverse, &run->fixed_grid, 1, &result->inverse_warp));
    }
    CLV_TRY(warp_moving(run, o->deform == CLVOX_DEFORM_NONE ? NULL : run->u, moving, result));
end:
    return status;
}
