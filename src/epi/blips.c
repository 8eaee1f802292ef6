/* SPDX-License-Identifier: Apache-2.0 */
/* The field from images of opposite phase encoding: coarse to fine, on each level steps of Gauss and Newton
 * whose linear equations conjugate gradients solve on the device, and in turn with them steps of the rigid
 * motion. */
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/matrix.h"
#include "base/status.h"
#include "epi/epi.h"
#include "op/epi/blip.h"
#include "op/image/pointwise.h"
#include "op/image/resample.h"
#include "op/match/affine_metric.h"
#include "runtime/device/host.h"
#include "runtime/queue/transfer.h"

/* Weight of the bending of the shift in mm, images being in units of their mean in the head. */
static const double BENDING = 10;
/* A coarse voxel is this long, in mm, at most. */
static const double COARSEST_MM = 8.5;
/* Steps of a coarse level, of the finest one, and of conjugate gradients in each; a level ends where a step
 * gains less than this share. */
enum { STEPS = 32, FINEST_STEPS = 5, SOLVES = 32, LEAST_VOXELS = 6 };
static const double LEAST_GAIN = 2e-3;
/* Motion waits until a step of the field gains less: before that it takes distortion for motion. */
static const double SETTLED = .05;

typedef struct level {
    clvox_grid grid;
    int shrink, voxels;
    double to_finest; /* voxels of the images for one of this level, along the axis */
} level;

typedef struct blips_run {
    clvox_context *ctx;
    const clvox_epi_image *images;
    int count, axis;
    clvox_epi_result *result;
    clv_buffer *full, *scratch[2]; /* on the images' grid */
    clv_buffer *given, *coarse;    /* the images, one after another, and on a coarse level */
    clv_blips blips;               /* those of the level */
    clv_buffer *maps, *terms[2], *sums, *field, *trial, *moved[2];
    clv_blip_solve solve;
    clv_buffer *one_map, *affine_partial, *affine_sums;
    double lambda;
    double scale; /* of intensities */
} blips_run;

static clv_image on_level(const level *l, const clv_buffer *buffer)
{
    double edge[3];
    clvox_grid_spacing(&l->grid, edge);
    const float spacing[3] = {(float)edge[0], (float)edge[1], (float)edge[2]};
    return clv_image_of(buffer, l->grid.size, spacing, 1);
}

/* ---- levels ---------------------------------------------------------------- */

/* The grid whose voxels are `shrink` of the images' shortest edge along each axis, no shorter than they were.
 */
static level make_level(const clvox_grid *grid, int shrink, int axis)
{
    level l = {.shrink = shrink};
    double edge[3], factor[3], least = INFINITY;
    clvox_grid_spacing(grid, edge);
    for (int a = 0; a < 3; a++)
        least = grid->size[a] > 1 ? fmin(least, edge[a]) : least;
    for (int a = 0; a < 3; a++)
        factor[a] = fmin(fmax(1, shrink * least / edge[a]), fmax(1, grid->size[a] / (double)LEAST_VOXELS));
    clv_pyramid_grid(grid, factor, &l.grid);
    l.voxels = (int)clvox_grid_voxels(&l.grid);
    l.to_finest = (double)grid->size[axis] / l.grid.size[axis];
    return l;
}

static int first_shrink(const clvox_grid *grid)
{
    double edge[3], least = INFINITY;
    int shrink = 1;
    clvox_grid_spacing(grid, edge);
    for (int a = 0; a < 3; a++)
        least = grid->size[a] > 1 ? fmin(least, edge[a]) : least;
    while (2 * shrink * least <= COARSEST_MM)
        shrink *= 2;
    return shrink;
}

/* All images on their own grid: finite, in units of the scale. */
static int send_images(blips_run *b)
{
    int status = CLVOX_OK;
    const clvox_grid *grid = &b->images[0].image->grid;
    const size_t bytes = clvox_grid_voxels(grid) * sizeof(float);
    const clv_image full = clv_image_of(b->full, grid->size, NULL, 1);
    for (int k = 0; k < b->count; k++) {
        CLV_TRY(clv_buffer_send(b->ctx, b->full, b->images[k].image->data, bytes));
        CLV_TRY(
            clv_pointwise(b->ctx, CLV_POINTWISE_FINITE, &full, b->full, NULL, NULL, (float[4]){0, 0, 0, 0}));
        CLV_TRY(clv_pointwise(b->ctx, CLV_POINTWISE_LINEAR, &full, b->full, NULL, NULL,
                              (float[4]){(float)(1 / b->scale), 0, 0, 0}));
        CLV_TRY(clv_buffer_copy(b->ctx, b->full, 0, b->given, (size_t)k * bytes, bytes));
    }
end:
    return status;
}

static int fill_level(blips_run *b, const level *l)
{
    int status = CLVOX_OK;
    const clvox_grid *grid = &b->images[0].image->grid;
    const size_t bytes = (size_t)l->voxels * sizeof(float), whole = clvox_grid_voxels(grid) * sizeof(float);
    b->blips = (clv_blips){.images = b->given, .maps = b->maps, .count = b->count, .axis = b->axis};
    if (l->shrink == 1)
        return status;
    b->blips.images = b->coarse;
    for (int k = 0; k < b->count; k++) {
        CLV_TRY(clv_buffer_copy(b->ctx, b->given, (size_t)k * whole, b->full, 0, whole));
        CLV_TRY(clv_downsample(b->ctx, b->full, grid, b->scratch, b->moved[0], &l->grid));
        CLV_TRY(clv_buffer_copy(b->ctx, b->moved[0], 0, b->coarse, (size_t)k * bytes, bytes));
    }
end:
    return status;
}

/* Rows voxel -> voxel of image k, and its shift by a Hz, in voxels of the level. */
static void map_of(const blips_run *b, const level *l, int k, float out[CLV_BLIP_MAP])
{
    clv_map map;
    clv_map_between(&l->grid, &l->grid, CLV_MATRIX(b->result->matrix[k]), 0, &map);
    memcpy(out, map.linear, 12 * sizeof(float));
    out[12] = (float)(clv_epi_shift(&b->images[k]) / l->to_finest);
}

static int send_maps(blips_run *b, const level *l)
{
    float maps[CLVOX_EPI_MOST * CLV_BLIP_MAP];
    for (int k = 0; k < b->count; k++)
        map_of(b, l, k, maps + CLV_BLIP_MAP * k);
    return clv_buffer_write(b->ctx, b->maps, 0, maps, sizeof *maps * CLV_BLIP_MAP * (size_t)b->count);
}

/* ---- energy ---------------------------------------------------------------- */

/* Terms and energy of a field; parts: of the images, and of the bending. */
static int measure(blips_run *b, const level *l, const clv_buffer *field, clv_buffer *terms, double parts[2])
{
    int status = CLVOX_OK;
    const clv_image f = on_level(l, field);
    CLV_TRY(clv_blip_terms(b->ctx, &b->blips, &f, terms, b->sums));
    CLV_TRY(clv_blip_energy(b->ctx, b->sums, parts));
    parts[0] *= .5;
    parts[1] *= .5 * b->lambda;
end:
    return status;
}

static void swap(clv_buffer **a, clv_buffer **b)
{
    clv_buffer *was = *a;
    *a = *b;
    *b = was;
}

/* ---- a step ---------------------------------------------------------------- */

/* The step of Gauss and Newton, in solve.step, from the terms of the field. */
static int find_step(blips_run *b, const level *l, const clv_buffer *terms)
{
    int status = CLVOX_OK;
    const clv_blip_solve *s = &b->solve;
    const clv_image field = on_level(l, b->field), scaled = on_level(l, s->scaled);
    CLV_TRY(clv_blip_descent(b->ctx, terms, b->axis, &field, (float)b->lambda, s));
    for (int i = 0; i < SOLVES; i++) {
        CLV_TRY(clv_blip_operator(b->ctx, terms, b->axis, &scaled, (float)b->lambda, s->product, s->zw));
        CLV_TRY(clv_blip_advance(b->ctx, s, i, l->voxels));
    }
end:
    return status;
}

/* Takes the step if the energy falls; *gain: by how much of it, 0: it does not. */
static int go(blips_run *b, const level *l, double parts[2], double *gain)
{
    int status = CLVOX_OK;
    const clv_image trial = on_level(l, b->trial);
    double found[2];
    CLV_TRY(clv_pointwise(b->ctx, CLV_POINTWISE_LINEAR, &trial, b->field, b->solve.step, NULL,
                          (float[4]){1, 1, 0, 0}));
    CLV_TRY(measure(b, l, b->trial, b->terms[1], found));
    *gain = fmax(0, 1 - (found[0] + found[1]) / (parts[0] + parts[1]));
    if (*gain > 0) {
        swap(&b->field, &b->trial);
        swap(&b->terms[0], &b->terms[1]);
        parts[0] = found[0];
        parts[1] = found[1];
    }
end:
    return status;
}

/* ---- motion ---------------------------------------------------------------- */

/* Image k, corrected, in the first image's frame, and smoothed: the difference to the next voxel, which a
 * step goes by, has the noise of its own voxel. */
static int correct_image(blips_run *b, const level *l, int k, clv_buffer *out)
{
    int status = CLVOX_OK;
    float sigma[3];
    const clv_image field = on_level(l, b->field);
    CLV_TRY(clv_blip_image(b->ctx, &b->blips, k, &field, b->full));
    for (int a = 0; a < 3; a++)
        sigma[a] = l->grid.size[a] > LEAST_VOXELS ? 1 : 0;
    CLV_TRY(clv_gaussian(b->ctx, CLV_VOLUME(b->full, l->grid.size), sigma, CLV_GAUSSIAN_AUTO, b->trial, out));
end:
    return status;
}

/* The other image's step along the axis looks like a field: the field gives way, so that both images still
 * meet. In voxels the step is rows (x, 1) - x; c: by how many voxels a Hz shifts the image and the first one.
 */
static int give_way(blips_run *b, const level *l, const double step[4][4], const double c[2])
{
    clv_map map;
    float tilt[4];
    const clv_image field = on_level(l, b->field);
    clv_map_between(&l->grid, &l->grid, step, 0, &map);
    for (int j = 0; j < 4; j++)
        tilt[j] = (float)(((double)map.linear[b->axis][j] - (j == b->axis)) / (c[1] - c[0]));
    return clv_blip_tilt(b->ctx, tilt, &field);
}

/* A step of image k towards another one. */
static int move_image(blips_run *b, const level *l, int k, int to, bool axis_free)
{
    int status = CLVOX_OK;
    double step[4][4];
    const clv_epi_motion m = {.fixed = b->moved[0],
                              .moving = b->moved[1],
                              .grid = &l->grid,
                              .axis = axis_free ? -1 : b->axis,
                              .maps = b->one_map,
                              .partial = b->affine_partial,
                              .sums = b->affine_sums};
    const double c[2] = {clv_epi_shift(&b->images[k]) / l->to_finest,
                         clv_epi_shift(&b->images[0]) / l->to_finest};
    CLV_TRY(correct_image(b, l, to, b->moved[0]));
    CLV_TRY(correct_image(b, l, k, b->moved[1]));
    CLV_TRY(clv_epi_motion_step(b->ctx, &m, step));
    clv_matrix_multiply(CLV_MATRIX(b->result->matrix[k]), CLV_MATRIX(step), b->result->matrix[k]);
    if (!axis_free)
        CLV_TRY(give_way(b, l, CLV_MATRIX(step), c));
    CLV_TRY(send_maps(b, l));
end:
    return status;
}

/* A step of every image, to the first one of its own direction; the first one of the other direction to the
 * first of all. The energy may rise until the field has followed. */
static int move(blips_run *b, const level *l, double parts[2])
{
    int status = CLVOX_OK, leader = 0;
    for (int k = 1; k < b->count; k++) {
        const bool turned = clv_epi_shift(&b->images[k]) * clv_epi_shift(&b->images[0]) < 0;
        CLV_TRY(move_image(b, l, k, turned ? leader : 0, !turned || leader));
        leader = turned && !leader ? k : leader;
    }
    CLV_TRY(measure(b, l, b->field, b->terms[0], parts));
end:
    return status;
}

/* ---- the run --------------------------------------------------------------- */

/* The level's field, from that of the level before (NULL: none, 0). */
static int begin_level(blips_run *b, const level *l, const level *before)
{
    int status = CLVOX_OK;
    clv_map map;
    CLV_TRY(fill_level(b, l));
    CLV_TRY(send_maps(b, l));
    if (!before)
        return clv_buffer_fill(b->ctx, b->field, 0, 0, (size_t)l->voxels * sizeof(float));
    clv_map_between(&l->grid, &before->grid, NULL, 0, &map);
    CLV_TRY(clv_warp(b->ctx, CLV_VOLUME(b->field, before->grid.size), &map, NULL, CLV_CUBIC, 0,
                     CLV_VOLUME(b->trial, l->grid.size)));
    swap(&b->field, &b->trial);
end:
    return status;
}

static int solve_level(blips_run *b, const level *l)
{
    int status = CLVOX_OK;
    const int steps = l->shrink > 1 ? STEPS : FINEST_STEPS;
    double parts[2], gain;
    CLV_TRY(measure(b, l, b->field, b->terms[0], parts));
    for (int i = 0; i < steps; i++) {
        const double before = parts[0] + parts[1];
        CLV_TRY(find_step(b, l, b->terms[0]));
        CLV_TRY(go(b, l, parts, &gain));
        if (gain < SETTLED)
            CLV_TRY(move(b, l, parts));
        if (!(parts[0] + parts[1] < (1 - LEAST_GAIN) * before))
            break;
    }
end:
    return status;
}

/* Root mean square of the differences, over the mean in the head, which is 1. */
static int difference(blips_run *b, const level *l, const clv_buffer *field, double *out)
{
    double parts[2];
    const int status = measure(b, l, field, b->terms[1], parts);
    *out = sqrt(2 * parts[0] / b->count / l->voxels);
    return status;
}

static int list(blips_run *b, const clvox_grid *grid, clv_request *requests)
{
    const size_t n = clvox_grid_voxels(grid) * sizeof(float), sums = CLV_BLIP_PARTIALS * sizeof(float);
    const size_t coarse = (size_t)make_level(grid, 2, b->axis).voxels * sizeof(float);
    const clv_request all[] = {
        {&b->full, n, "image"},
        {&b->scratch[0], n, "scratch"},
        {&b->scratch[1], n, "scratch"},
        {&b->given, n * (size_t)b->count, "images"},
        {&b->coarse, coarse * (size_t)b->count, "coarse images"},
        {&b->maps, sizeof(float) * CLV_BLIP_MAP * (size_t)b->count, "maps"},
        {&b->terms[0], n * CLV_BLIP_TERMS, "terms"},
        {&b->terms[1], n * CLV_BLIP_TERMS, "terms"},
        {&b->sums, sums, "sums"},
        {&b->field, n, "field"},
        {&b->trial, n, "field"},
        {&b->moved[0], n, "image"},
        {&b->moved[1], n, "image"},
        {&b->solve.residual, n, "residual"},
        {&b->solve.inverse, n, "diagonal"},
        {&b->solve.scaled, n, "residual"},
        {&b->solve.product, n, "direction"},
        {&b->solve.direction, n, "direction"},
        {&b->solve.along, n, "direction"},
        {&b->solve.step, n, "step"},
        {&b->solve.rz[0], sums, "sums"},
        {&b->solve.rz[1], sums, "sums"},
        {&b->solve.zw, sums, "sums"},
        {&b->solve.state, 2 * SOLVES * sizeof(float), "state"},
        {&b->one_map, 12 * sizeof(float), "map"},
        {&b->affine_partial, clv_epi_motion_partials(grid) * sizeof(float), "partial sums"},
        {&b->affine_sums, CLV_AFFINE_MOST_SUMS * sizeof(float), "sums"},
    };
    memcpy(requests, all, sizeof all);
    return (int)(sizeof all / sizeof *all);
}

/* Both directions are there, and so many images fit kernels' numbers. */
static int check_directions(const clvox_epi_image *images, int count)
{
    bool sides[2] = {false, false};
    for (int k = 0; k < count; k++)
        sides[images[k].encoding.seconds < 0] = true;
    if (!sides[0] || !sides[1])
        return clvox_fail(CLVOX_ERROR_ARGUMENT,
                          "the images are all encoded along %c%s: the field needs both directions",
                          "ijk"[images[0].encoding.axis], sides[1] ? "-" : "");
    return CLVOX_OK;
}

static int run(blips_run *b)
{
    static const float identity[12] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0};
    int status = CLVOX_OK;
    const clvox_grid *grid = &b->images[0].image->grid;
    level now, before;
    double edge[3], longest = 0;
    clvox_grid_spacing(grid, edge);
    b->scale = 0;
    for (int k = 0; k < b->count; k++) {
        clv_matrix_identity(b->result->matrix[k]);
        b->scale += clv_epi_head(b->images[k].image) / b->count;
        longest = fmax(longest, fabs(clv_epi_shift(&b->images[k])));
    }
    b->lambda = BENDING * pow(longest * edge[b->axis], 2);
    CLV_TRY(send_images(b));
    CLV_TRY(clv_buffer_write(b->ctx, b->one_map, 0, identity, sizeof identity));
    const int first = first_shrink(grid);
    for (int shrink = first; shrink >= 1; shrink /= 2) {
        now = make_level(grid, shrink, b->axis);
        CLV_TRY(begin_level(b, &now, shrink == first ? NULL : &before));
        if (shrink == 1) {
            CLV_TRY(clv_buffer_fill(b->ctx, b->trial, 0, 0, (size_t)now.voxels * sizeof(float)));
            CLV_TRY(difference(b, &now, b->trial, &b->result->difference_before));
        }
        CLV_TRY(solve_level(b, &now));
        before = now;
    }
    CLV_TRY(difference(b, &now, b->field, &b->result->difference_after));
    CLV_TRY(clvox_volume_create(grid, 1, CLVOX_KIND_SCALAR, &b->result->field));
    CLV_TRY(clv_buffer_fetch(b->ctx, b->field, b->result->field->data, (size_t)now.voxels * sizeof(float)));
end:
    return status;
}

int clvox_epi_from_blips(clvox_context *context, const clvox_epi_image *images, int count,
                         clvox_epi_result *result)
{
    CLV_GIVEN(context, images, result);
    CLV_HOST_THREADS(context);
    int status = CLVOX_OK, requested = 0;
    const double mark = clv_seconds();
    clv_request requests[32];
    *result = (clvox_epi_result){.images = count};
    if (count < 2 || count > CLVOX_EPI_MOST)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "%d images: blips are 2 to %d", count, CLVOX_EPI_MOST);
    blips_run b = {
        .ctx = context, .images = images, .count = count, .axis = images[0].encoding.axis, .result = result};
    CLV_TRY(clv_epi_check(images, count));
    CLV_TRY(check_directions(images, count));
    const size_t held = clv_peak_start(context);
    const int wanted = list(&b, &images[0].image->grid, requests);
    CLV_TRY(clv_pool_take(context, requests, wanted));
    requested = wanted;
    CLV_TRY(run(&b));
    result->device_bytes = clv_peak_bytes(context) - held;
    clv_pool_release(requests, requested);
    requested = 0;
    CLV_TRY(clv_epi_correct(context, images, count, result));
    result->seconds = clv_seconds() - mark;
end:
    clv_pool_release(requests, requested);
    if (status < 0)
        clvox_epi_result_destroy(result);
    return status;
}
