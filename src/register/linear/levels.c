/* SPDX-License-Identifier: Apache-2.0 */
/* The levels of a linear registration: both images smoothed and sampled, on
 * one scale of intensities, what masks leave out being NaN. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/matrix.h"
#include "op/match/lncc.h"
#include "op/image/pointwise.h"
#include "op/image/resample.h"
#include "register/linear/linear.h"
#include "register/linear/thresholds.h"
#include "image/otsu.h"

enum { OTSU_BINS = 256 };

/* Millimetres and samples of a head's levels, from fine to coarse: a level has
 * these voxel edges, or smaller ones where the image has too few voxels. */
static const double LEVEL_MM[CLV_LINEAR_LEVELS] = {2, 4, 8, 12};
static const double LEVEL_VOXELS[CLV_LINEAR_LEVELS] = {200e3, 60e3, 20e3, 7e3};
/* The spread that counts as none, and mm at the border of a grid that count for
 * nothing: its last planes are often empty, or folded over. */
static const float LOCAL_EPSILON = .03f;
static const double RIM = 7;
/* Sizes seen are told apart by that much, as a logarithm: images normalised otherwise have another
 * summit, and a state that is off by nothing to speak of is not to say which. */
static const double SCALE_STEP = .05;
/* More rows than that are not sampled at once: every second one says as much. */
static const double MOST_SAMPLES = 500e3;

/* Voxel edges of a level: those of the smaller image count. Axes of one voxel
 * take no part. inside: share of the image that its mask leaves. */
static double level_edge(const clvox_grid *grid, double inside, int level)
{
    double spacing[3], extent = 1;
    int axes = 0;
    clvox_grid_spacing(grid, spacing);
    for (int a = 0; a < 3; a++)
        if (grid->size[a] > 1) {
            extent *= spacing[a] * grid->size[a];
            axes++;
        }
    if (axes == 0)
        return LEVEL_MM[level];
    double voxels = axes == 3 ? LEVEL_VOXELS[level] : pow(LEVEL_VOXELS[level], axes / 3.);
    extent *= fmin(1, fmax(inside / (axes == 3 ? MASKED : 1), LEAST_INSIDE));
    return fmin(LEVEL_MM[level], pow(extent / voxels, 1. / axes));
}

static void coarser_grid(const clvox_grid *grid, double mm, clvox_grid *out)
{
    double spacing[3], factor[3];
    clvox_grid_spacing(grid, spacing);
    for (int a = 0; a < 3; a++)
        factor[a] = mm > 1.4 * spacing[a] ? mm / spacing[a] : 1;
    clv_pyramid_grid(grid, factor, out);
}

static void ask(clv_linear_stage *stage, clv_buffer **slot, size_t bytes, const char *what)
{
    stage->own[stage->own_count] = (clv_request){slot, bytes, what};
    stage->own_count++;
}

static size_t voxels(const clvox_grid *grid)
{
    return clvox_grid_voxels(grid);
}

/* Smoothes and samples an image (times its mask) and its mask through all
 * levels; values are as read until the scale is known. */
static int sample(clv_linear_stage *stage, bool is_moving, int channel)
{
    int status = CLVOX_OK;
    clv_registration *run = stage->run;
    const clv_channel *source = &run->channels[channel];
    clv_buffer *mask = run->masks.of[is_moving];
    clv_buffer **masks = is_moving ? stage->moving_masks : stage->fixed_masks;
    clv_buffer *whole = is_moving ? source->level_moving : source->level_fixed;
    const clv_buffer *from = is_moving ? source->moving : source->fixed, *mask_from = mask;
    const clvox_grid *grid = is_moving ? &run->moving_grid : &run->fixed_grid;
    size_t bytes = voxels(grid) * sizeof(float);
    if (mask)
        CLV_TRY(clv_pointwise(run->ctx, CLV_POINTWISE_MULTIPLY, CLV_VOLUME(whole, grid->size), from, mask,
                              NULL, (float[4]){1, 0, 0, 0}));
    clv_buffer *const scratch[2] = {run->scratch_a, run->scratch_b};
    for (int k = 0; k < CLV_LINEAR_LEVELS; k++) {
        clv_linear_level *level = &stage->level[k];
        const clvox_grid *to = is_moving ? &level->moving_grid : &level->fixed_grid;
        clv_buffer *out = is_moving ? level->moving[channel] : level->fixed[channel];
        if (mask && k == 0)
            from = whole;
        if (k == 0 && out == whole && !mask)
            CLV_TRY(clv_buffer_copy(run->ctx, from, 0, out, 0, bytes));
        else if (k > 0 || out != whole)
            CLV_TRY(clv_downsample(run->ctx, from, grid, scratch, out, to));
        if (mask && channel == 0)
            CLV_TRY(clv_downsample(run->ctx, mask_from, grid, scratch, masks[k], to));
        from = out;
        mask_from = masks[k];
        grid = to;
    }
end:
    return status;
}

/* Lowest and highest value that matter, from a coarse level on the host; nowhere: the mask leaves none. */
static int by_value(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

static bool range_of(const float *values, const float *mask, size_t n, float *sorted, double *low,
                     double *high, bool *nowhere)
{
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        if (!mask || mask[i] >= .5f)
            sorted[count++] = mask ? values[i] / mask[i] : values[i];
    *nowhere = count == 0;
    if (count == 0)
        return false;
    qsort(sorted, count, sizeof *sorted, by_value);
    *low = sorted[count / 200];
    *high = sorted[count - 1 - count / 200];
    /* Little but background: what stands out is rarer than that. */
    if (*high - *low < .05 * ((double)sorted[count - 1] - sorted[0])) {
        *low = sorted[0];
        *high = sorted[count - 1];
    }
    return *high - *low > 1e-6 * fmax(fabs(*high), fabs(*low));
}

static double otsu(const float *values, const float *mask, size_t n, double low, double high)
{
    double counts[OTSU_BINS] = {0};
    for (size_t i = 0; i < n; i++) {
        if (mask && mask[i] < .5f)
            continue;
        double v = ((double)(mask ? values[i] / mask[i] : values[i]) - low) / (high - low);
        counts[(int)fmin(fmax(v * OTSU_BINS, 0), OTSU_BINS - 1)]++;
    }
    return low + (high - low) * clv_otsu(counts, OTSU_BINS) / OTSU_BINS;
}

/* Centre, spread and covariance of what lies above the threshold, or of the mask. */
static void shape_of(const clvox_grid *grid, const float *values, const float *mask, bool whole_mask,
                     double threshold, clv_linear_shape *shape)
{
    double sum = 0, first[3] = {0, 0, 0}, second[3][3] = {{0}}, square = 0, counted = 0;
    size_t i = 0;
    for (int z = 0; z < grid->size[2]; z++)
        for (int y = 0; y < grid->size[1]; y++)
            for (int x = 0; x < grid->size[0]; x++, i++) {
                if (mask && mask[i] < .5f)
                    continue;
                counted++;
                if (!whole_mask && (double)(mask ? values[i] / mask[i] : values[i]) < threshold)
                    continue;
                double at[3];
                clv_matrix_apply(CLV_MATRIX(grid->to_ras), (double[3]){x, y, z}, at);
                sum++;
                for (int k = 0; k < 3; k++) {
                    first[k] += at[k];
                    square += at[k] * at[k];
                    for (int j = 0; j < 3; j++)
                        second[k][j] += at[k] * at[j];
                }
            }
    shape->finite = counted / (double)voxels(grid);
    for (int k = 0; k < 3; k++) {
        shape->center[k] = sum > 0 ? first[k] / sum : grid->to_ras[k][3];
        square -= sum > 0 ? sum * shape->center[k] * shape->center[k] : 0;
    }
    for (int k = 0; k < 3; k++)
        for (int j = 0; j < 3; j++)
            shape->covariance[k][j] = sum > 0 ? second[k][j] / sum - shape->center[k] * shape->center[j] : 0;
    double edge[3];
    clvox_grid_spacing(grid, edge);
    shape->spread = sqrt(fmax(sum > 0 ? square / sum : 0, 0) +
                         (edge[0] * edge[0] + edge[1] * edge[1] + edge[2] * edge[2]) / 12);
}

/* Measures one image at the last but coarsest level: the range of its values
 * and, of the first channel, its shape. */
static int look_at(clv_linear_stage *stage, bool is_moving, int channel, double *low, double *high)
{
    int status = CLVOX_OK;
    clv_registration *run = stage->run;
    bool masked = run->masks.of[is_moving] != NULL;
    clv_buffer **masks = is_moving ? stage->moving_masks : stage->fixed_masks;
    bool both = run->masks.of[0] && run->masks.of[1];
    const clv_linear_level *level = &stage->level[CLV_LINEAR_LEVELS - 2];
    const clvox_grid *grid = is_moving ? &level->moving_grid : &level->fixed_grid;
    size_t n = voxels(grid);
    float *values = malloc(3 * n * sizeof *values), *mask = masked ? values + n : NULL;
    if (!values)
        return clvox_fail(CLVOX_ERROR_MEMORY, "linear registration: out of host memory");
    CLV_TRY(clv_buffer_read(run->ctx, is_moving ? level->moving[channel] : level->fixed[channel], 0, values,
                            n * sizeof *values));
    if (masked)
        CLV_TRY(clv_buffer_read(run->ctx, masks[CLV_LINEAR_LEVELS - 2], 0, mask, n * sizeof *mask));
    bool nowhere;
    if (!range_of(values, mask, n, values + 2 * n, low, high, &nowhere)) {
        *low = 0;
        *high = 1;
        stage->flat = stage->flat || channel == 0;
    }
    if (nowhere) {
        status = clvox_fail(CLVOX_ERROR_DATA,
                            "the %s mask is nowhere as thick as voxels of %.3g mm, too thin to "
                            "align images by: give a thicker one, or --linear none",
                            clv_side_name(run, is_moving), level->mm);
        goto end;
    }
    if (channel == 0)
        shape_of(grid, values, mask, both, otsu(values, mask, n, *low, *high),
                 is_moving ? &stage->moving : &stage->fixed);
end:
    free(values);
    return status;
}

/* Brings all levels of an image to [0, 1]. */
static int scale(clv_linear_stage *stage, bool is_moving, int channel)
{
    int status = CLVOX_OK;
    clv_registration *run = stage->run;
    bool masked = run->masks.of[is_moving] != NULL;
    clv_buffer **masks = is_moving ? stage->moving_masks : stage->fixed_masks;
    double low, high;
    CLV_TRY(look_at(stage, is_moving, channel, &low, &high));
    for (int k = 0; k < CLV_LINEAR_LEVELS; k++) {
        const clv_linear_level *level = &stage->level[k];
        const clvox_grid *grid = is_moving ? &level->moving_grid : &level->fixed_grid;
        clv_buffer *image = is_moving ? level->moving[channel] : level->fixed[channel];
        CLV_TRY(clv_affine_prepare(run->ctx, image, masked ? masks[k] : NULL, (int)voxels(grid),
                                   (float)(1 / (high - low)), (float)(-low / (high - low)), image));
    }
end:
    return status;
}

/* One slice on either side: its normal, in the fixed world as far as headers
 * can be trusted. */
static void find_thin(clv_linear_stage *stage)
{
    for (int side = 0; side < 2; side++) {
        const clvox_grid *grid = side ? &stage->run->moving_grid : &stage->run->fixed_grid;
        for (int a = 0; a < 3; a++)
            if (grid->size[a] == 1 && !stage->thin) {
                const int b = (a + 1) % 3, c = (a + 2) % 3;
                double length = 0, *normal = stage->thin_axis;
                for (int i = 0; i < 3; i++) {
                    int j = (i + 1) % 3, k = (i + 2) % 3;
                    normal[i] =
                        grid->to_ras[j][b] * grid->to_ras[k][c] - grid->to_ras[k][b] * grid->to_ras[j][c];
                    length += normal[i] * normal[i];
                }
                for (int i = 0; i < 3; i++)
                    normal[i] /= sqrt(length);
                stage->thin = true;
            }
    }
}

/* Whether a level is the image itself, for which the run has a buffer. */
static bool is_whole(const clvox_grid *level, const clvox_grid *grid)
{
    return !memcmp(level->size, grid->size, sizeof level->size);
}

void clv_linear_sample(clv_linear_level *level, double most)
{
    const double all = (double)voxels(&level->fixed_grid);
    level->step[0] = level->step[1] = all > most ? (int)ceil(sqrt(all / most)) : 1;
}

void clv_linear_sample_all(clv_linear_level *level)
{
    clv_linear_sample(level, MOST_SAMPLES);
}

/* The grids of all levels and all that is to be taken. */
static void plan(clv_linear_stage *stage, bool fixed_mask, bool moving_mask)
{
    clv_registration *run = stage->run;
    const int searched = CLV_LINEAR_BATCH * LINEAR_SEARCH_BINS * (LINEAR_SEARCH_BINS + 1);
    const int fine = 2 * stage->bins * (stage->bins + 1);
    size_t partials = CLV_LNCC_PARTIALS;
    stage->table_floats = (size_t)(searched > fine ? searched : fine);
    for (int k = 0; k < CLV_LINEAR_LEVELS; k++) {
        clv_linear_level *level = &stage->level[k];
        level->mm = fmin(level_edge(&run->fixed_grid, run->masks.inside[0], k),
                         level_edge(&run->moving_grid, run->masks.inside[1], k));
        coarser_grid(k ? &stage->level[k - 1].fixed_grid : &run->fixed_grid, level->mm, &level->fixed_grid);
        coarser_grid(k ? &stage->level[k - 1].moving_grid : &run->moving_grid, level->mm,
                     &level->moving_grid);
        size_t n = voxels(&level->fixed_grid) * sizeof(float),
               m = voxels(&level->moving_grid) * sizeof(float);
        clv_linear_sample(level, MOST_SAMPLES);
        for (int c = 0; c < clv_shown_channels(run); c++) {
            if (k == 0 && is_whole(&level->fixed_grid, &run->fixed_grid))
                level->fixed[c] = run->channels[c].level_fixed;
            else
                ask(stage, &level->fixed[c], n, "a level of the fixed image");
            if (k == 0 && is_whole(&level->moving_grid, &run->moving_grid))
                level->moving[c] = run->channels[c].level_moving;
            else
                ask(stage, &level->moving[c], m, "a level of the moving image");
        }
        if (fixed_mask)
            ask(stage, &stage->fixed_masks[k], n, "a level of the fixed mask");
        if (moving_mask)
            ask(stage, &stage->moving_masks[k], m, "a level of the moving mask");
        for (int count = 1; count <= CLV_LINEAR_BATCH; count++) {
            const int *size = level->fixed_grid.size;
            const int *other = level->moving_grid.size;
            clv_affine_pair pair = {.fixed.size = {size[0], size[1], size[2]}, .step = {1, 1}, .count = count};
            clv_affine_pair back = {.fixed.size = {other[0], other[1], other[2]}, .step = {1, 1}, .count = count};
            size_t here = clv_affine_partials(&pair), there = clv_affine_partials(&back);
            partials = here > partials ? here : partials;
            partials = there > partials ? there : partials;
        }
    }
    for (int side = 0; side < 2; side++) {
        ask(stage, &stage->maps[side], CLV_LINEAR_BATCH * 12 * sizeof(float), "linear maps");
        for (int c = 0; c < clv_shown_channels(run); c++)
            ask(stage, &stage->of_pairs[side][c],
                (size_t)(CLV_LINEAR_BATCH * clv_affine_sum_count(CLV_AFFINE_PAIR)) * sizeof(float),
                "sums of pairs");
    }
    ask(stage, &stage->counts, stage->table_floats * sizeof(float), "joint histograms");
    ask(stage, &stage->tables, stage->table_floats * sizeof(float), "tables of joint histograms");
    ask(stage, &stage->partial, partials * sizeof(float), "partial sums");
    ask(stage, &stage->sums, CLV_LINEAR_BATCH * CLV_AFFINE_MOST_SUMS * sizeof(float), "sums");
    /* The metric's image and robust weights are looked at on all levels; windows, which rank starts, on all
     * but the finest. */
    const clv_metric_row *metric = clv_metric_find(stage->metric), *windows = clv_metric_find(CLVOX_METRIC_LNCC);
    const bool robust = run->options->robust;
    const clv_linear_level *fine_level = &stage->level[clv_metric_by_image(metric) || robust ? 0 : 1];
    size_t larger = voxels(&fine_level->fixed_grid);
    if (voxels(&fine_level->moving_grid) > larger)
        larger = voxels(&fine_level->moving_grid);
    larger *= sizeof(float);
    ask(stage, &stage->warped, larger, "the moving image on the fixed grid");
    ask(stage, &stage->derivatives, larger, "derivatives by the moved image");
    const int *fine_size = fine_level->fixed_grid.size;
    size_t terms = windows->scratch(fine_size, run->options->linear_radius, false, false), own = 0;
    if (clv_metric_by_image(metric))
        own = metric->scratch(fine_size, clv_metric_parameter(metric, run->options, true), false, false);
    ask(stage, &stage->terms, (own > terms ? own : terms) * sizeof(float), "scratch of the metric");
    if (metric->detail || robust) {
        for (int k = robust ? 0 : 1; k <= 2; k++) {
            clv_linear_level *detail = &stage->level[CLV_LINEAR_DETAIL + k];
            *detail = stage->level[k];
            for (int c = 0; c < clv_shown_channels(run); c++) {
                ask(stage, &detail->fixed[c], voxels(&detail->fixed_grid) * sizeof(float), "fixed detail");
                ask(stage, &detail->moving[c], voxels(&detail->moving_grid) * sizeof(float), "moving detail");
            }
        }
        ask(stage, &stage->mean, larger, "local means");
        ask(stage, &stage->square, larger, "local squares");
        ask(stage, &stage->share, larger, "local shares");
    }
}

size_t clv_register_linear_bytes(clv_registration *run, bool fixed_mask, bool moving_mask)
{
    const double inside[2] = {run->masks.inside[0], run->masks.inside[1]};
    clv_linear_stage stage = {
        .run = run, .metric = run->options->linear_metric, .bins = run->options->linear_bins};
    if (run->options->linear == CLVOX_LINEAR_NONE)
        return 0;
    /* Masks on other grids than their images' show slightly less of them than here. */
    for (int k = 0; k < 2; k++)
        run->masks.inside[k] = .95 * inside[k];
    plan(&stage, fixed_mask, moving_mask);
    memcpy(run->masks.inside, inside, sizeof run->masks.inside);
    return clv_pool_bytes(stage.own, stage.own_count);
}

int clv_linear_levels_take(clv_linear_stage *stage)
{
    clv_registration *run = stage->run;
    find_thin(stage);
    plan(stage, run->masks.of[0] != NULL, run->masks.of[1] != NULL);
    size_t table = stage->table_floats * sizeof(float);
    stage->host_counts = malloc(table);
    stage->host = malloc(table + CLV_LINEAR_BATCH * CLV_AFFINE_MOST_SUMS * sizeof(float));
    int status = stage->host && stage->host_counts
                     ? clv_pool_take(run->ctx, stage->own, stage->own_count)
                     : clvox_fail(CLVOX_ERROR_MEMORY, "linear registration: out of host memory");
    if (status < 0)
        stage->own_count = 0;
    return status;
}

int clv_linear_levels_fill(clv_linear_stage *stage, bool is_moving)
{
    int status = CLVOX_OK;
    for (int c = 0; c < clv_shown_channels(stage->run); c++) {
        CLV_TRY(sample(stage, is_moving, c));
        CLV_TRY(scale(stage, is_moving, c));
    }
    if (!is_moving) {
        memcpy(stage->center, stage->fixed.center, sizeof stage->center);
        stage->radius = fmax(1.25 * stage->fixed.spread, 1e-3);
    }
end:
    return status;
}

int clv_linear_levels_make(clv_linear_stage *stage)
{
    int status = CLVOX_OK;
    CLV_TRY(clv_linear_levels_take(stage));
    CLV_TRY(clv_linear_levels_fill(stage, false));
    CLV_TRY(clv_linear_levels_fill(stage, true));
end:
    return status;
}

/* width: of the surroundings, mm. */
static int localise(clv_linear_stage *stage, const clvox_grid *grid, clv_buffer *image, double width,
                    clv_buffer *out)
{
    int status = CLVOX_OK, rim[3];
    clvox_context *ctx = stage->run->ctx;
    clv_buffer *known = stage->warped, *between = stage->derivatives;
    const float keep[4] = {1, 0, 0, 0};
    double edge[3];
    float sigma[3];
    clvox_grid_spacing(grid, edge);
    for (int a = 0; a < 3; a++) {
        sigma[a] = grid->size[a] > 1 ? (float)fmin(width / edge[a], grid->size[a]) : 0;
        rim[a] = (int)fmin(round(RIM / edge[a]), grid->size[a] / 8);
    }
    CLV_TRY(clv_pointwise(ctx, CLV_POINTWISE_THRESHOLD, CLV_VOLUME(known, grid->size), image, NULL, NULL,
                          (float[4]){-1, 1, 0, 0}));
    CLV_TRY(
        clv_gaussian(ctx, CLV_VOLUME(known, grid->size), sigma, CLV_GAUSSIAN_FINITE, between, stage->share));
    CLV_TRY(clv_pointwise(ctx, CLV_POINTWISE_FINITE, CLV_VOLUME(known, grid->size), image, NULL, NULL,
                          (float[4]){0, 0, 0, 0}));
    CLV_TRY(
        clv_gaussian(ctx, CLV_VOLUME(known, grid->size), sigma, CLV_GAUSSIAN_FINITE, between, stage->mean));
    CLV_TRY(
        clv_pointwise(ctx, CLV_POINTWISE_MULTIPLY, CLV_VOLUME(known, grid->size), known, known, NULL, keep));
    CLV_TRY(
        clv_gaussian(ctx, CLV_VOLUME(known, grid->size), sigma, CLV_GAUSSIAN_FINITE, between, stage->square));
    const clv_image local = {.buffer = image, .size = {grid->size[0], grid->size[1], grid->size[2]}};
    const clv_surroundings surroundings = {stage->mean, stage->square, stage->share};
    CLV_TRY(clv_affine_localise(ctx, &local, &surroundings, rim, LOCAL_EPSILON, out));
end:
    return status;
}

int clv_linear_localise(clv_linear_stage *stage, int k, double sigma, const clv_linear_state *state)
{
    int status = CLVOX_OK;
    const clv_linear_level *from = &stage->level[k], *to = &stage->level[CLV_LINEAR_DETAIL + k];
    /* One size seen from both sides, so that exchanging the images changes
     * nothing: what one image shows is as large as scale times the other. */
    double scale = cbrt(fmax(fabs(clv_matrix3_determinant(CLV_MATRIX3(state->linear))), 1e-9));
    scale = exp(rint(log(scale) / SCALE_STEP) * SCALE_STEP);
    double width = 1.25 * sigma * sqrt(fmax(stage->fixed.spread * stage->moving.spread, 1e-6) / scale);
    for (int c = 0; c < clv_shown_channels(stage->run); c++) {
        CLV_TRY(localise(stage, &from->fixed_grid, from->fixed[c], width, to->fixed[c]));
        CLV_TRY(localise(stage, &from->moving_grid, from->moving[c], width * scale, to->moving[c]));
    }
end:
    return status;
}

void clv_linear_levels_free(clv_linear_stage *stage)
{
    clv_pool_release(stage->own, stage->own_count);
    free(stage->host);
    free(stage->host_counts);
    stage->own_count = 0;
    stage->host = NULL;
    stage->host_counts = NULL;
}
