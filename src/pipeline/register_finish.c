/* SPDX-License-Identifier: Apache-2.0 */
/* From the last iteration to results in host memory: statistics by reductions
 * on the device, the inverse in buffers that the run holds already, each
 * result fetched once. */
#include <math.h>
#include <string.h>

#include "base/matrix.h"
#include "op/gaussian.h"
#include "op/jacobian.h"
#include "op/resample.h"
#include "op/statistics.h"
#include "pipeline/chain.h"
#include "pipeline/field.h"
#include "pipeline/invert.h"
#include "pipeline/register.h"

/* What a map on the full grid keeps above when it comes from a coarser one. */
static const double SMALLEST_JACOBIAN = 0.02;

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
    int status = CLVOX_OK, wanted = run->inverse ? 1 : CLV_FINISH_FIELDS;
    clv_buffer *fields[CLV_FINISH_FIELDS] = {NULL};
    if (spare_fields(run, held, count, fields, wanted) < wanted)
        return clv_fail(CLVOX_ERROR_MEMORY, "the run holds too few fields to invert its result");
    if (!run->inverse) {
        CLV_TRY(clv_invert_field(run->ctx, run->u, &run->fixed_grid, fields[1]));
        run->inverse = fields[1];
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
    bool rehearsing = clv_rehearsing(run->ctx);
    if (!rehearsing) {
        CLV_TRY(clvox_volume_create(&run->fixed_grid, 1, moving->kind, &result->warped));
        result->warped->type = moving->type;
        CLV_TRY(clv_buffer_write(run->ctx, image, 0, moving->data, (size_t)run->m * sizeof(float)));
    }
    clv_map_between(&run->fixed_grid, &run->moving_grid, CLV_MATRIX(run->matrix), 1, &map);
    if (moving->kind == CLVOX_KIND_LABEL)
        CLV_TRY(clv_warp_label(run->ctx, image, from, &map, u, 0, out, to));
    else
        CLV_TRY(clv_warp(run->ctx, image, from, &map, u, CLV_LINEAR, 0, out, to));
    if (!rehearsing)
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
    bool fetch = !clv_rehearsing(run->ctx);
    memcpy(result->matrix, run->matrix, sizeof result->matrix);
    for (int i = 0; i < 2; i++)
        result->inverse_error_voxels[i] = result->inverse_error_mm[i] = NAN;
    if (o->deform != CLVOX_DEFORM_NONE) {
        if (moving)
            CLV_TRY(survey(run, run->u, &run->fixed_grid, run->fixed_mask, run->scratch_a, result));
        if (fetch)
            CLV_TRY(clv_field_download(run->ctx, run->u, &run->fixed_grid, 1, &result->warp));
        if (o->inverse || o->consistency)
            CLV_TRY(invert(run, held, count, result));
        if (o->inverse && fetch)
            CLV_TRY(clv_field_download(run->ctx, run->inverse, &run->fixed_grid, 1, &result->inverse_warp));
    }
    if (moving)
        CLV_TRY(warp_moving(run, o->deform == CLVOX_DEFORM_NONE ? NULL : run->u, moving, result));
end:
    return status;
}

/* ---- results of a coarser grid ------------------------------------------ */

/* A warp made smoother in place, on its own grid. */
static int smoothen(clvox_context *ctx, clvox_volume *warp, float sigma)
{
    int status = CLVOX_OK;
    clv_buffer *u = NULL, *tmp = NULL, *out = NULL;
    clvox_volume *made = NULL;
    size_t bytes = 3 * sizeof(float) * clvox_grid_voxels(&warp->grid);
    const clv_request requests[] = {{&u, bytes, "warp"}, {&tmp, bytes, "scratch"}, {&out, bytes, "warp"}};
    CLV_TRY(clv_pool_take(ctx, requests, 3));
    CLV_TRY(clv_field_upload(ctx, warp, 1, u));
    CLV_TRY(clv_gaussian(ctx, u, warp->grid.size, true, (float[3]){sigma, sigma, sigma},
                         CLV_GAUSSIAN_SEPARABLE, tmp, out));
    CLV_TRY(clv_field_download(ctx, out, &warp->grid, 1, &made));
    memcpy(warp->data, made->data, bytes);
end:
    clv_pool_release(requests, 3);
    clvox_volume_destroy(&made);
    return status;
}

/* The warp on the full grid as a device field, surveyed there; smallest: its
 * determinant's smallest value anywhere. */
static int full_field(clv_registration *run, const clvox_register_images *full, const clvox_volume *warp,
                      clv_buffer **field, double *smallest, clvox_register_result *result)
{
    int status = CLVOX_OK;
    const clvox_grid *grid = &full->fixed[0]->grid;
    const clvox_transform transform = {.is_warp = 1, .warp = (clvox_volume *)warp};
    const clvox_link link = {&transform, 0};
    clv_chain chain = {0};
    clv_buffer *scratch = NULL, *mask = NULL;
    double matrix[4][4];
    size_t bytes = sizeof(float) * clvox_grid_voxels(grid);
    CLV_TRY(clv_chain_make(run->ctx, &link, 1, &chain));
    CLV_TRY(clv_chain_field(run->ctx, &chain, grid, field, matrix));
    CLV_TRY(clv_buffer_create(run->ctx, bytes, "Jacobian determinant", &scratch));
    CLV_TRY(
        clv_buffer_create(run->ctx, CLV_STATISTICS_PARTIALS * sizeof(float), "partial sums", &run->partial));
    CLV_TRY(survey(run, *field, grid, NULL, scratch, result));
    *smallest = result->jacobian.smallest;
    if (full->fixed_mask) {
        CLV_TRY(clv_buffer_create(run->ctx, bytes, "fixed mask", &mask));
        CLV_TRY(clv_buffer_write(run->ctx, mask, 0, full->fixed_mask->data, bytes));
        CLV_TRY(survey(run, *field, grid, mask, scratch, result));
    }
end:
    clv_chain_free(&chain);
    clv_buffer_destroy(&scratch);
    clv_buffer_destroy(&mask);
    clv_buffer_destroy(&run->partial);
    return status;
}

/* Between the voxels of the coarser grid a map that folds on none of them may
 * still fold: then it is made smoother. */
static int unfolded_field(clv_registration *run, const clvox_register_images *full, clv_buffer **field,
                          clvox_register_result *result)
{
    int status = CLVOX_OK;
    float sigma = .6f;
    double smallest;
    bool changed = false;
    for (int pass = 0; pass < 8; pass++, sigma *= 1.25f) {
        CLV_TRY(full_field(run, full, result->warp, field, &smallest, result));
        if (smallest > SMALLEST_JACOBIAN)
            break;
        clv_buffer_destroy(field);
        CLV_TRY(smoothen(run->ctx, result->warp, sigma));
        changed = true;
    }
    if (!*field)
        CLV_TRY(full_field(run, full, result->warp, field, &smallest, result));
    if (changed && result->inverse_warp) {
        clv_buffer_destroy(field);
        clvox_volume_destroy(&result->inverse_warp);
        CLV_TRY(clvox_invert(run->ctx, result->warp, &result->inverse_warp, result->inverse_error_voxels));
        CLV_TRY(full_field(run, full, result->warp, field, &smallest, result));
    }
end:
    return status;
}

int clv_register_enlarge(clv_registration *run, const clvox_register_images *full,
                         clvox_register_result *result)
{
    int status = CLVOX_OK;
    const clvox_grid *grid = &full->fixed[0]->grid;
    clv_buffer *field = NULL;
    clvox_volume *small = NULL;
    CLV_TRY(unfolded_field(run, full, &field, result));
    clvox_volume_destroy(&result->warp);
    CLV_TRY(clv_field_download(run->ctx, field, grid, 1, &result->warp));
    run->fixed_grid = *grid;
    run->moving_grid = full->moving[0]->grid;
    run->n = (int)clvox_grid_voxels(&run->fixed_grid);
    run->m = (int)clvox_grid_voxels(&run->moving_grid);
    CLV_TRY(clv_buffer_create(run->ctx, (size_t)run->m * sizeof(float), "moving image",
                              &run->channels[0].moving));
    CLV_TRY(clv_buffer_create(run->ctx, (size_t)run->n * sizeof(float), "warped image", &run->scratch_a));
    CLV_TRY(warp_moving(run, field, full->moving[0], result));
    clv_buffer_destroy(&field);
    clv_buffer_destroy(&run->channels[0].moving);
    clv_buffer_destroy(&run->scratch_a);
    if (result->inverse_warp) {
        small = result->inverse_warp;
        result->inverse_warp = NULL;
        const clvox_transform transform = {.is_warp = 1, .warp = small};
        CLV_TRY(clvox_compose(run->ctx, grid, &(clvox_link){&transform, 0}, 1, &result->inverse_warp));
    }
end:
    clv_buffer_destroy(&field);
    clv_buffer_destroy(&run->channels[0].moving);
    clv_buffer_destroy(&run->scratch_a);
    clvox_volume_destroy(&small);
    return status;
}
