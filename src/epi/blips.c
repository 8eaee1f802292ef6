/* SPDX-License-Identifier: Apache-2.0 */
/* The field from images of opposite phase encoding: coarse to fine, on each level steps of Gauss and Newton
 * whose linear equations conjugate gradients solve on the device, and in turn with them steps of the rigid
 * motion. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/matrix.h"
#include "base/status.h"
#include "epi/epi.h"
#include "op/epi/blip.h"
#include "op/image/pointwise.h"
#include "op/image/reduce.h"
#include "op/image/resample.h"
#include "op/match/affine_metric.h"
#include "runtime/device/host.h"

/* Weight of the bending of the shift in mm, images being in units of their mean in the head. */
static const double BENDING = 10;
/* A coarse voxel is this long, in mm, at most. */
static const double COARSEST_MM = 8.5;
/* Steps of a coarse level, of the finest one, and of conjugate gradients in each; a level ends where a step
 * gains less than this share. */
enum { STEPS = 32, FINEST_STEPS = 8, SOLVES = 16, HALVINGS = 4, LEAST_VOXELS = 6 };
static const double LEAST_GAIN = 1e-4;
/* Motion waits until a step of the field gains less: before that it takes distortion for motion. */
static const double SETTLED = .05;

typedef struct level {
    clvox_grid grid;
    int voxels;
    double to_finest; /* voxels of the images for one of this level, along the axis */
} level;

typedef struct blips_run {
    clvox_context *ctx;
    const clvox_epi_image *images;
    int count, axis;
    clvox_epi_result *result;
    clv_buffer *full, *scratch[2];  /* on the images' grid */
    clv_buffer *stack, *maps, *map; /* the level's images, one after another */
    clv_buffer *terms[2], *energy, *field, *trial, *bending, *moved[2];
    clv_blip_solve solve;
    clv_buffer *partial, *state, *one_map, *affine_partial, *affine_sums;
    double lambda;
    double scale; /* of intensities */
    float *host;  /* a field */
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
    level l;
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

/* Image k on its own grid: finite, in units of the scale. */
static int send_image(blips_run *b, int k)
{
    int status = CLVOX_OK;
    const clvox_volume *v = b->images[k].image;
    const clv_image full = clv_image_of(b->full, v->grid.size, NULL, 1);
    CLV_TRY(clv_buffer_write(b->ctx, b->full, 0, v->data, clvox_grid_voxels(&v->grid) * sizeof(float)));
    CLV_TRY(clv_pointwise(b->ctx, CLV_POINTWISE_FINITE, &full, b->full, NULL, NULL, (float[4]){0, 0, 0, 0}));
    CLV_TRY(clv_pointwise(b->ctx, CLV_POINTWISE_LINEAR, &full, b->full, NULL, NULL,
                          (float[4]){(float)(1 / b->scale), 0, 0, 0}));
end:
    return status;
}

static int fill_level(blips_run *b, const level *l)
{
    int status = CLVOX_OK;
    const size_t bytes = (size_t)l->voxels * sizeof(float);
    for (int k = 0; k < b->count; k++) {
        CLV_TRY(send_image(b, k));
        CLV_TRY(
            clv_downsample(b->ctx, b->full, &b->images[k].image->grid, b->scratch, b->moved[0], &l->grid));
        CLV_TRY(clv_buffer_copy(b->ctx, b->moved[0], 0, b->stack, (size_t)k * bytes, bytes));
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

static int product(blips_run *b, const clv_buffer *a, const clv_buffer *c, int voxels, clv_buffer *out,
                   int slot)
{
    const clv_terms terms = {.a = a, .b = c, .n = voxels};
    return clv_reduce(b->ctx, CLV_REDUCE_DOT, &terms, b->partial, out, slot);
}

/* Terms, bending and energy of a field; parts: of the images, and of the bending. */
static int measure(blips_run *b, const level *l, const clv_buffer *field, clv_buffer *terms, double parts[2])
{
    int status = CLVOX_OK;
    const clv_blips blips = {b->stack, b->maps, b->count, b->axis};
    const clv_image f = on_level(l, field);
    const clv_terms sum = {.a = b->energy, .n = l->voxels};
    float found[2];
    CLV_TRY(clv_blip_terms(b->ctx, &blips, &f, terms, b->energy));
    CLV_TRY(clv_blip_bending(b->ctx, &f, b->bending));
    CLV_TRY(clv_reduce(b->ctx, CLV_REDUCE_SUM, &sum, b->partial, b->state, 0));
    CLV_TRY(product(b, field, b->bending, l->voxels, b->state, 1));
    CLV_TRY(clv_buffer_read(b->ctx, b->state, 0, found, sizeof found));
    parts[0] = .5 * (double)found[0];
    parts[1] = .5 * b->lambda * fmax((double)found[1], 0);
end:
    return status;
}

/* ---- a step ---------------------------------------------------------------- */

/* The step of Gauss and Newton, in solve.step, from terms and bending of the field. */
static int find_step(blips_run *b, const level *l, const clv_buffer *terms)
{
    int status = CLVOX_OK, was = 0;
    const size_t bytes = (size_t)l->voxels * sizeof(float);
    const clv_blip_solve *s = &b->solve;
    const clv_image bending = on_level(l, b->bending), direction = on_level(l, s->direction);
    CLV_TRY(clv_blip_descent(b->ctx, terms, b->axis, &bending, (float)b->lambda, s));
    CLV_TRY(clv_buffer_fill(b->ctx, s->step, 0, 0, bytes));
    CLV_TRY(clv_buffer_copy(b->ctx, s->scaled, 0, s->direction, 0, bytes));
    CLV_TRY(product(b, s->residual, s->scaled, l->voxels, s->state, 0));
    for (int i = 0; i < SOLVES; i++, was = 1 - was) {
        CLV_TRY(clv_blip_operator(b->ctx, terms, b->axis, &direction, (float)b->lambda, s->product));
        CLV_TRY(product(b, s->direction, s->product, l->voxels, s->state, 2));
        CLV_TRY(clv_blip_advance(b->ctx, s, was, l->voxels));
        CLV_TRY(product(b, s->residual, s->scaled, l->voxels, s->state, 1 - was));
        CLV_TRY(clv_blip_turn(b->ctx, s, was, l->voxels));
    }
end:
    return status;
}

/* Goes along the step as far as the energy falls; *gain: by how much of it, 0: it does not. */
static int go(blips_run *b, const level *l, double parts[2], double *gain)
{
    int status = CLVOX_OK;
    const clv_image trial = on_level(l, b->trial);
    const double before = parts[0] + parts[1];
    *gain = 0;
    for (int half = 0; half <= HALVINGS; half++) {
        double found[2];
        CLV_TRY(clv_pointwise(b->ctx, CLV_POINTWISE_LINEAR, &trial, b->field, b->solve.step, NULL,
                              (float[4]){1, ldexpf(1, -half), 0, 0}));
        CLV_TRY(measure(b, l, b->trial, b->terms[1], found));
        if (!(found[0] + found[1] < before))
            continue;
        clv_buffer *other = b->field;
        b->field = b->trial;
        b->trial = other;
        other = b->terms[0];
        b->terms[0] = b->terms[1];
        b->terms[1] = other;
        parts[0] = found[0];
        parts[1] = found[1];
        *gain = 1 - (found[0] + found[1]) / before;
        break;
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
    float map[CLV_BLIP_MAP], sigma[3];
    const size_t bytes = (size_t)l->voxels * sizeof(float);
    const clv_image field = on_level(l, b->field);
    map_of(b, l, k, map);
    CLV_TRY(clv_buffer_write(b->ctx, b->map, 0, map, sizeof map));
    CLV_TRY(clv_buffer_copy(b->ctx, b->stack, (size_t)k * bytes, b->trial, 0, bytes));
    CLV_TRY(clv_blip_image(b->ctx, b->trial, b->map, b->axis, &field, b->full));
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
    int status = CLVOX_OK;
    const size_t bytes = (size_t)l->voxels * sizeof(float);
    const int *size = l->grid.size;
    clv_map map;
    clv_map_between(&l->grid, &l->grid, step, 0, &map);
    const float *row = map.linear[b->axis];
    const double scale = -1 / (c[0] - c[1]);
    CLV_TRY(clv_buffer_copy(b->ctx, b->field, 0, b->trial, 0, bytes));
    CLV_TRY(clv_buffer_read(b->ctx, b->trial, 0, b->host, bytes));
    for (int z = 0, i = 0; z < size[2]; z++)
        for (int y = 0; y < size[1]; y++)
            for (int x = 0; x < size[0]; x++, i++) {
                const int at[3] = {x, y, z};
                const double to =
                    (double)row[0] * x + (double)row[1] * y + (double)row[2] * z + (double)row[3];
                b->host[i] += (float)(scale * (to - at[b->axis]));
            }
    CLV_TRY(clv_buffer_write(b->ctx, b->field, 0, b->host, bytes));
end:
    return status;
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
end:
    return status;
}

/* A step of every image, to the first one of its own direction; the first one of the other direction to the
 * first of all. Taken back where the energy does not fall; parts: of the energy. */
static int move(blips_run *b, const level *l, double parts[2])
{
    int status = CLVOX_OK, leader = 0;
    const size_t bytes = (size_t)l->voxels * sizeof(float);
    double before[CLVOX_EPI_MOST][4][4], found[2];
    memcpy(before, b->result->matrix, sizeof before);
    CLV_TRY(clv_buffer_copy(b->ctx, b->field, 0, b->solve.step, 0, bytes));
    for (int k = 1; k < b->count; k++) {
        const bool turned = clv_epi_shift(&b->images[k]) * clv_epi_shift(&b->images[0]) < 0;
        CLV_TRY(move_image(b, l, k, turned ? leader : 0, !turned || leader));
        leader = turned && !leader ? k : leader;
    }
    CLV_TRY(send_maps(b, l));
    CLV_TRY(measure(b, l, b->field, b->terms[0], found));
    if (found[0] + found[1] < parts[0] + parts[1]) {
        parts[0] = found[0];
        parts[1] = found[1];
        goto end;
    }
    memcpy(b->result->matrix, before, sizeof before);
    CLV_TRY(clv_buffer_copy(b->ctx, b->solve.step, 0, b->field, 0, bytes));
    CLV_TRY(send_maps(b, l));
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
    clv_buffer *other = b->field;
    b->field = b->trial;
    b->trial = other;
end:
    return status;
}

static int solve_level(blips_run *b, const level *l)
{
    int status = CLVOX_OK;
    const int steps = l->to_finest > 1 ? STEPS : FINEST_STEPS;
    double parts[2], gain;
    CLV_TRY(measure(b, l, b->field, b->terms[0], parts));
    for (int i = 0; i < steps; i++) {
        CLV_TRY(find_step(b, l, b->terms[0]));
        CLV_TRY(go(b, l, parts, &gain));
        if (gain < SETTLED)
            CLV_TRY(move(b, l, parts));
        if (gain < LEAST_GAIN)
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
    const size_t n = clvox_grid_voxels(grid) * sizeof(float);
    const clv_request all[] = {
        {&b->full, n, "image"},
        {&b->scratch[0], n, "scratch"},
        {&b->scratch[1], n, "scratch"},
        {&b->stack, n * (size_t)b->count, "images"},
        {&b->maps, sizeof(float) * CLV_BLIP_MAP * (size_t)b->count, "maps"},
        {&b->map, sizeof(float) * CLV_BLIP_MAP, "map"},
        {&b->terms[0], n * CLV_BLIP_TERMS, "terms"},
        {&b->terms[1], n * CLV_BLIP_TERMS, "terms"},
        {&b->energy, n, "energy"},
        {&b->field, n, "field"},
        {&b->trial, n, "field"},
        {&b->bending, n, "bending"},
        {&b->moved[0], n, "image"},
        {&b->moved[1], n, "image"},
        {&b->solve.residual, n, "residual"},
        {&b->solve.diagonal, n, "diagonal"},
        {&b->solve.scaled, n, "residual"},
        {&b->solve.direction, n, "direction"},
        {&b->solve.product, n, "direction"},
        {&b->solve.step, n, "step"},
        {&b->solve.state, 4 * sizeof(float), "state"},
        {&b->partial, CLV_REDUCE_PARTIALS * sizeof(float), "partial sums"},
        {&b->state, 4 * sizeof(float), "state"},
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
    CLV_TRY(clv_buffer_read(b->ctx, b->field, 0, b->result->field->data, (size_t)now.voxels * sizeof(float)));
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
    b.host = malloc(clvox_grid_voxels(&images[0].image->grid) * sizeof *b.host);
    if (!b.host) {
        status = clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory for a field");
        goto end;
    }
    CLV_TRY(run(&b));
    result->device_bytes = clv_peak_bytes(context) - held;
    clv_pool_release(requests, requested);
    requested = 0;
    CLV_TRY(clv_epi_correct(context, images, count, result));
    result->seconds = clv_seconds() - mark;
end:
    free(b.host);
    clv_pool_release(requests, requested);
    if (status < 0)
        clvox_epi_result_destroy(result);
    return status;
}
