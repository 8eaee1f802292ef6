/* SPDX-License-Identifier: Apache-2.0 */
#include "register/recast/recast.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/matrix.h"
#include "base/spares.h"
#include "clvox/threads.h"
#include "op/image/resample.h"
#include "register/recast/around.h"
#include "register/recast/trees.h"
#include "transform/field.h"

/* Sums are kept by cells of space, CELLS of them a sigma, and by bins of the value: an item of a cell
 * is, for all bins, how many voxels there are, and then the sum of the other image over them. */
enum { BINS = 48, FINE = 1024, WIDE = 2 * BINS, REACH = 3, LONGEST = 24 };

/* Of a sigma; voxels of which sums are taken, at most about one a so many mm; bins. */
static const double CELL = .4, SAMPLE = 2, SPREAD = 1;
/* Of the values at either end, which a few voxels have, this share goes into the last bins. */
static const double TAIL = 1e-3;
/* So many voxels of the whole image's mean are among those nearby. */
static const float PRIOR = 6;

typedef struct recast {
    const clvox_grid *grid, *samples; /* of what is recast, and of what is known of both images */
    const float *image, *other;       /* at samples */
    const float *values;              /* what is recast, on grid */
    float *out;
    /* Where samples lie on grid, its voxels; field NULL: there where they are, and samples is grid. */
    const clv_map *map;
    const float *field; /* mm along the axes of samples, strides of voxels and of components */
    size_t strides[2];
    int step[3];         /* from one sampled voxel to the next */
    double low, per_bin; /* bin of a value: (value - low) * per_bin */
    int cells[3];
    double per_cell[3]; /* cells a voxel */
    float *sums, *next; /* [z][y][x][WIDE] */
    int axis;           /* that is blurred, by a Gaussian of sigma cells */
    double sigma;
    double all[WIDE];   /* over the whole image: floats do not add up so many */
    float mean[BINS];
} recast;

static bool known(const recast *r, size_t i)
{
    return isfinite(r->image[i]) && isfinite(r->other[i]);
}

#define EACH_SAMPLE(r, x, y, z)                                       \
    for (int z = 0; z < (r)->samples->size[2]; z += (r)->step[2])     \
        for (int y = 0; y < (r)->samples->size[1]; y += (r)->step[1]) \
            for (int x = 0; x < (r)->samples->size[0]; x += (r)->step[0])

static size_t at_of(const clvox_grid *grid, int x, int y, int z)
{
    const int *size = grid->size;
    return ((size_t)z * (size_t)size[1] + (size_t)y) * (size_t)size[0] + (size_t)x;
}

/* Of numbers that follow one another, so many side by side: the compiler takes some at a time. */
enum { LANES = 8 };

/* The smallest and the largest number of either image where both are known, and how many these are. */
typedef struct extent {
    float low[2][LANES], high[2][LANES];
    int count[LANES];
} extent;

/* Widens lanes by samples that are `step` apart. */
static void widen(extent *e, const float *image, const float *other, int step, int lanes)
{
    for (int k = 0; k < lanes; k++) {
        const float here = image[k * step], there = other[k * step];
        const bool both = (fabsf(here) <= FLT_MAX) & (fabsf(there) <= FLT_MAX);
        e->low[0][k] = (both & (here < e->low[0][k])) ? here : e->low[0][k];
        e->high[0][k] = (both & (here > e->high[0][k])) ? here : e->high[0][k];
        e->low[1][k] = (both & (there < e->low[1][k])) ? there : e->low[1][k];
        e->high[1][k] = (both & (there > e->high[1][k])) ? there : e->high[1][k];
        e->count[k] += both;
    }
}

static void extent_of(const recast *r, double low[2], double high[2], double *count)
{
    extent e;
    *count = 0;
    for (int k = 0; k < LANES; k++) {
        e.low[0][k] = e.low[1][k] = INFINITY;
        e.high[0][k] = e.high[1][k] = -INFINITY;
    }
    const int *size = r->samples->size, step = r->step[0], row = (size[0] - 1) / step + 1;
    for (int z = 0; z < size[2]; z += r->step[2]) {
        memset(e.count, 0, sizeof e.count); /* of a slice: an int holds so many */
        for (int y = 0; y < size[1]; y += r->step[1]) {
            const size_t first = at_of(r->samples, 0, y, z);
            const float *image = r->image + first, *other = r->other + first;
            int x = 0;
            for (; step == 1 && x + LANES <= row; x += LANES)
                widen(&e, image + x, other + x, 1, LANES);
            for (; x < row; x++)
                widen(&e, image + (size_t)x * (size_t)step, other + (size_t)x * (size_t)step, step, 1);
        }
        for (int k = 0; k < LANES; k++)
            *count += e.count[k];
    }
    for (int i = 0; i < 2; i++) {
        low[i] = INFINITY;
        high[i] = -INFINITY;
        for (int k = 0; k < LANES; k++) {
            low[i] = (double)e.low[i][k] < low[i] ? (double)e.low[i][k] : low[i];
            high[i] = (double)e.high[i][k] > high[i] ? (double)e.high[i][k] : high[i];
        }
    }
}

/* The values between which all but the tails lie; false where either image has one value. */
static bool range_of(recast *r)
{
    double lows[2], highs[2], all, below = 0, counts[FINE] = {0};
    extent_of(r, lows, highs, &all);
    if (!(highs[0] > lows[0] && highs[1] > lows[1]))
        return false;
    const double low = lows[0], high = highs[0];
    EACH_SAMPLE(r, x, y, z)
    {
        size_t i = at_of(r->samples, x, y, z);
        if (known(r, i)) {
            const double at = ((double)r->image[i] - low) / (high - low) * FINE;
            counts[(int)(at < FINE - 1 ? at : FINE - 1)]++;
        }
    }
    int first = 0, last = FINE - 1;
    for (; first < FINE - 1 && below + counts[first] < TAIL * all; first++)
        below += counts[first];
    for (below = 0; last > first && below + counts[last] < TAIL * all; last--)
        below += counts[last];
    r->low = low + first * (high - low) / FINE;
    r->per_bin = (BINS - 1) / ((last + 1 - first) * (high - low) / FINE);
    return true;
}

static double bin_of(const recast *r, float value)
{
    const double bin = ((double)value - r->low) * r->per_bin, least = bin > 0 ? bin : 0;
    return least < BINS - 1 ? least : BINS - 1;
}

/* A Gaussian's weights, 1 in the middle; returns how far it reaches. */
static int weights_of(double sigma, float weight[LONGEST + 1])
{
    int reach = (int)fmin(LONGEST, ceil(REACH * sigma));
    for (int k = 0; k <= reach; k++)
        weight[k] = (float)exp(-.5 * k * k / (sigma * sigma));
    return reach;
}

/* Bins by a Gaussian of SPREAD, its weights and how far they reach, of an item. */
static void spread(float *item, const float *weight, int reach)
{
    float out[WIDE] = {0};
    for (int half = 0; half < WIDE; half += BINS)
        for (int k = -reach; k <= reach; k++) {
            const int first = k < 0 ? -k : 0, last = k > 0 ? BINS - k : BINS;
            const float *from = item + half + k, w = weight[abs(k)];
            float *to = out + half;
            for (int b = first; b < last; b++)
                to[b] += w * from[b];
        }
    memcpy(item, out, sizeof out);
}

/* A plane of cells, across z or, along z, across y, blurred along the axis: what is summed lies near. */
static int blur_plane(void *user, size_t index, int worker)
{
    enum { PART = 16 }; /* sums that stay in registers */
    const recast *r = user;
    float weight[LONGEST + 1];
    const int reach = weights_of(r->sigma, weight), *n = r->cells, axis = r->axis, rows = n[axis > 1 ? 2 : 1];
    const size_t row = WIDE * (size_t)n[0], plane = row * (size_t)n[1], down = axis > 1 ? plane : row,
                 first = index * (axis > 1 ? row : plane);
    const ptrdiff_t step = axis > 0 ? (ptrdiff_t)down : WIDE;
    (void)worker;
    for (int y = 0; y < rows; y++)
        for (int x = 0; x < n[0]; x++) {
            const int at = axis > 0 ? y : x;
            const int low = at < reach ? -at : -reach, high = at + reach < n[axis] ? reach : n[axis] - 1 - at;
            const size_t item = first + (size_t)y * down + (size_t)x * WIDE;
            for (size_t i = item; i < item + WIDE; i += PART) {
                float sum[PART] = {0};
                for (int k = low; k <= high; k++) {
                    const float *from = r->sums + (ptrdiff_t)i + k * step, w = weight[abs(k)];
                    for (int p = 0; p < PART; p++)
                        sum[p] += w * from[p];
                }
                memcpy(r->next + i, sum, sizeof sum);
            }
        }
    return 0;
}

/* Sums along an axis of cells, into r->next, which changes places with r->sums. */
static int blur(recast *r, int axis, double sigma)
{
    r->axis = axis;
    r->sigma = sigma;
    int status = clvox_parallel((size_t)r->cells[axis > 1 ? 1 : 2], blur_plane, r);
    float *swap = r->sums;
    r->sums = r->next;
    r->next = swap;
    return status;
}

/* Means of the whole image by bin; where it has none, those of the nearest bin that has. */
static void whole(recast *r)
{
    float item[WIDE], weight[LONGEST + 1];
    for (int b = 0; b < WIDE; b++)
        item[b] = (float)r->all[b];
    spread(item, weight, weights_of(SPREAD, weight));
    for (int b = 0; b < BINS; b++) {
        int k = 0;
        while (k < BINS && !(b - k >= 0 && item[b - k] > 0) && !(b + k < BINS && item[b + k] > 0))
            k++;
        int from = b - k >= 0 && item[b - k] > 0 ? b - k : b + k;
        r->mean[b] = item[BINS + from] / item[from];
    }
}

/* The means of a plane of cells, where their sums were. */
static int means(void *user, size_t index, int worker)
{
    const recast *r = user;
    const size_t items = (size_t)r->cells[0] * (size_t)r->cells[1];
    float weight[LONGEST + 1];
    const int reach = weights_of(SPREAD, weight);
    (void)worker;
    for (size_t i = index * items; i < (index + 1) * items; i++) {
        float *item = r->sums + i * WIDE;
        spread(item, weight, reach);
        for (int b = 0; b < BINS; b++)
            item[b] = (item[BINS + b] + PRIOR * r->mean[b]) / (item[b] + PRIOR);
    }
    return 0;
}

/* The two cells that a place along an axis lies between, and their parts in it. */
typedef struct between {
    int cell[2];
    float part[2];
} between;

static between between_of(const recast *r, int axis, int at)
{
    const double place = at * r->per_cell[axis];
    const int low = (int)place, last = r->cells[axis] - 1;
    const float up = (float)(place - low);
    return (between){{low < last ? low : last, low + 1 < last ? low + 1 : last}, {1 - up, up}};
}

/* A plane of the result: the cells' means, linearly between cells and between bins. */
static int plane(void *user, size_t index, int worker)
{
    const recast *r = user;
    const int *size = r->grid->size, *n = r->cells;
    const int corners = n[0] == 1 && n[1] == 1 && n[2] == 1 ? 1 : 8;
    const between of_z = between_of(r, 2, (int)index);
    (void)worker;
    for (int y = 0; y < size[1]; y++) {
        const between of_y = between_of(r, 1, y);
        const float *row[4], *values = r->values + at_of(r->grid, 0, y, (int)index);
        float *out = r->out + at_of(r->grid, 0, y, (int)index);
        for (int k = 0; k < 4; k++)
            row[k] = r->sums + ((size_t)of_z.cell[k >> 1] * (size_t)n[1] + (size_t)of_y.cell[k & 1]) *
                                   (size_t)n[0] * WIDE;
        for (int x = 0; x < size[0]; x++) {
            const float value = values[x];
            if (!isfinite(value)) {
                out[x] = value;
                continue;
            }
            const between of_x = between_of(r, 0, x);
            const double bin = bin_of(r, value);
            const int b = bin < BINS - 2 ? (int)bin : BINS - 2;
            const float up = (float)(bin - b);
            float mean = 0;
            for (int k = 0; k < corners; k++) {
                const float w = of_x.part[k & 1] * of_y.part[k >> 1 & 1] * of_z.part[k >> 2];
                if (w == 0)
                    continue;
                const float *m = row[k >> 1] + of_x.cell[k & 1] * WIDE + b;
                mean += w * (m[0] + up * (m[1] - m[0]));
            }
            out[x] = mean;
        }
    }
    return 0;
}

/* Where a sample lies on the grid, voxels; false where it does not. */
static bool place_of(const recast *r, int x, int y, int z, size_t i, double at[3])
{
    const double from[4] = {x, y, z, 1};
    for (int a = 0; a < 3; a++)
        at[a] = from[a];
    for (int a = 0; a < 3 && r->map; a++) {
        at[a] = 0;
        for (int k = 0; k < 4; k++)
            at[a] += (double)r->map->linear[a][k] * from[k];
        for (int k = 0; k < 3 && r->field; k++)
            at[a] +=
                (double)r->map->shift[a][k] * (double)r->field[i * r->strides[0] + (size_t)k * r->strides[1]];
        if (!(at[a] >= 0 && at[a] <= r->grid->size[a] - 1))
            return false;
    }
    return true;
}

/* Which cell that is in. */
static bool cell_of(const recast *r, int x, int y, int z, size_t i, size_t *item)
{
    double at[3];
    if (!place_of(r, x, y, z, i, at))
        return false;
    *item = ((size_t)(at[2] * r->per_cell[2] + .5) * (size_t)r->cells[1] +
             (size_t)(at[1] * r->per_cell[1] + .5)) *
                (size_t)r->cells[0] +
            (size_t)(at[0] * r->per_cell[0] + .5);
    return true;
}

static int make(recast *r, double sigma, bool *made)
{
    int status = CLVOX_OK;
    double edge[3], cell = CELL * sigma, reach[3];
    size_t items = 1;
    *made = false;
    clvox_grid_spacing(r->samples, edge);
    for (int a = 0; a < 3; a++)
        r->step[a] = (int)fmax(1, fmin(8, SAMPLE / edge[a] + .01));
    clvox_grid_spacing(r->grid, edge);
    for (int a = 0; a < 3; a++) {
        r->per_cell[a] = isfinite(sigma) ? edge[a] / fmax(cell, edge[a]) : 0;
        reach[a] = isfinite(sigma) ? sigma / edge[a] * r->per_cell[a] : 0;
        r->cells[a] = (int)((r->grid->size[a] - 1) * r->per_cell[a] + .5) + 1;
        items *= (size_t)r->cells[a];
    }
    if (!range_of(r))
        return CLVOX_OK;
    r->sums = clv_large_zeros(items * WIDE * sizeof *r->sums);
    r->next = clv_large(items * WIDE * sizeof *r->next);
    if (!r->sums || !r->next) {
        status = clvox_fail(CLVOX_ERROR_MEMORY, "registration: out of host memory");
        goto end;
    }
    EACH_SAMPLE(r, x, y, z)
    {
        size_t item, i = at_of(r->samples, x, y, z);
        if (!known(r, i) || !cell_of(r, x, y, z, i, &item))
            continue;
        const int bin = (int)(bin_of(r, r->image[i]) + .5);
        float *to = r->sums + item * WIDE + bin;
        to[0]++;
        to[BINS] += r->other[i];
        r->all[bin]++;
        r->all[BINS + bin] += (double)r->other[i];
    }
    for (int b = 0; b < WIDE && items == 1; b++)
        r->sums[b] = (float)r->all[b];
    whole(r);
    for (int a = 0; a < 3 && isfinite(sigma); a++)
        if (reach[a] > 0 && r->cells[a] > 1)
            CLV_TRY(blur(r, a, reach[a]));
    CLV_TRY(clvox_parallel((size_t)r->cells[2], means, r));
    CLV_TRY(clvox_parallel((size_t)r->grid->size[2], plane, r));
    *made = true;
end:
    clv_large_free(r->sums);
    clv_large_free(r->next);
    return status;
}

int clv_recast_image(const clvox_grid *grid, const float *image, const float *other, double sigma, float *out,
                     bool *made)
{
    recast r = {.grid = grid, .samples = grid, .image = image, .other = other, .values = image, .out = out};
    return make(&r, sigma, made);
}

/* Adds to what was recast by the value alone what the surroundings tell beyond it. level: as large as the
 * image, overwritten. */
static int look_around(clv_registration *run, const recast *r, const clv_buffer *image, clv_buffer *level)
{
    /* Samples, at most about so many; trees, and the share that each takes of what is left. */
    enum { MOST = 100000, TREES = 50 };
    static const double SHARE = .1;
    int status = CLVOX_OK;
    const size_t n = clvox_grid_voxels(r->grid);
    size_t count = 0, taken = 0, every = 1;
    clv_buffer *const scratch[3] = {run->scratch_b, run->scratch_a, level};
    clv_around around;
    uint32_t *at = NULL;
    float *value = NULL, *said = NULL;
    CLV_TRY(clv_around_make(run->ctx, r->grid, image, r->values, (BINS - 1) / r->per_bin, r->out, scratch,
                            &around));
    for (int pass = 0; pass < 2; pass++) {
        size_t seen = 0;
        EACH_SAMPLE(r, x, y, z)
        {
            const size_t i = at_of(r->samples, x, y, z);
            double p[3];
            if (!known(r, i) || !place_of(r, x, y, z, i, p))
                continue;
            const size_t v = at_of(r->grid, (int)(p[0] + .5), (int)(p[1] + .5), (int)(p[2] + .5));
            if (around.row[v] == CLV_NO_ROW)
                continue;
            if (pass == 0)
                count++;
            else if (seen++ % every == 0) {
                at[taken] = around.row[v];
                value[taken++] = r->other[i] - r->out[v];
            }
        }
        if (pass == 1)
            break;
        every = count / MOST + 1;
        at = malloc((count / every + 1) * sizeof *at);
        value = malloc((count / every + 1) * sizeof *value);
        said = malloc((around.rows + 1) * sizeof *said);
        if (!at || !value || !said) {
            status = clvox_fail(CLVOX_ERROR_MEMORY, "registration: out of host memory");
            goto end;
        }
    }
    const clv_trees trees = {.rows = around.rows,
                             .bins = around.bins,
                             .samples = taken,
                             .at = at,
                             .value = value,
                             .count = TREES,
                             .rate = SHARE};
    CLV_TRY(clv_trees_say(&trees, said));
    for (size_t i = 0; i < n; i++)
        if (around.row[i] != CLV_NO_ROW)
            r->out[i] += said[around.row[i]];
end:
    clv_around_free(&around);
    free(at);
    free(value);
    free(said);
    return status;
}

/* What a run has in the moving image's own units. */
typedef struct own_units {
    clvox_grid grid;
    double matrix[4][4];
} own_units;

/* mm of the moving image in one of the fixed one: 1, unless its header is in other units. */
static double units_of(const clv_registration *run)
{
    const double scale = cbrt(fabs(clv_matrix_determinant(CLV_MATRIX(run->matrix))));
    return scale >= .5 && scale <= 2 ? 1 : scale;
}

/* Moves the moving image into the fixed one's units, until `leave` moves it back. */
static void enter_fixed_units(clv_registration *run, own_units *own)
{
    const double units = units_of(run);
    own->grid = run->moving_grid;
    clv_matrix_copy(CLV_MATRIX(run->matrix), own->matrix);
    for (int i = 0; i < 3 && units != 1; i++)
        for (int j = 0; j < 4; j++) {
            run->moving_grid.to_ras[i][j] /= units;
            run->matrix[i][j] /= units;
        }
}

static void leave_fixed_units(clv_registration *run, const own_units *own)
{
    run->moving_grid = own->grid;
    clv_matrix_copy(CLV_MATRIX(own->matrix), run->matrix);
}

/* Two images of a run, of one side and of the other, on grids of their own. */
typedef struct meeting {
    const clvox_grid *grid[2];
    const clv_buffer *image[2];
} meeting;

/* Leaves out of values what map and u (NULL: the map alone) lead to outside of a mask. */
static int leave_out_by(clv_registration *run, const clv_buffer *mask, const clvox_grid *mask_grid,
                        const clvox_grid *grid, const clv_map *map, const clv_buffer *u, float *scratch,
                        float *values)
{
    int status = CLVOX_OK;
    const size_t n = clvox_grid_voxels(grid);
    if (!mask)
        return CLVOX_OK;
    CLV_TRY(clv_warp(run->ctx, CLV_VOLUME(mask, mask_grid->size), map, u, CLV_NEAREST, 0,
                     CLV_VOLUME(run->scratch_a, grid->size)));
    CLV_TRY(clv_buffer_read(run->ctx, run->scratch_a, 0, scratch, n * sizeof *scratch));
    for (size_t i = 0; i < n; i++)
        if (!(scratch[i] > 0))
            values[i] = NAN;
end:
    return status;
}

static int leave_out(clv_registration *run, const clv_buffer *mask, const clvox_grid *mask_grid,
                     const clvox_grid *grid, const double matrix[4][4], float *scratch, float *values)
{
    clv_map map;
    clv_map_between(grid, mask_grid, matrix, 0, &map);
    return leave_out_by(run, mask, mask_grid, grid, &map, NULL, scratch, values);
}

/* On the grid of a side its image and, under the linear part, the other one, NaN where that does not
 * count: values, then there, then room for two more, to be freed by the caller. */
static int meet(clv_registration *run, const meeting *m, bool moving, float **values)
{
    int status = CLVOX_OK;
    const clvox_grid *grid = m->grid[moving], *from = m->grid[!moving],
                     *own = moving ? &run->moving_grid : &run->fixed_grid,
                     *other = moving ? &run->fixed_grid : &run->moving_grid;
    const size_t n = clvox_grid_voxels(grid);
    double matrix[4][4];
    clv_map map;
    *values = malloc(4 * n * sizeof **values);
    if (!*values)
        return clvox_fail(CLVOX_ERROR_MEMORY, "registration: out of host memory");
    float *there = *values + n, *scratch = *values + 2 * n;
    clv_matrix_copy(CLV_MATRIX(run->matrix), matrix);
    if (moving)
        CLV_TRY(clv_matrix_invert(CLV_MATRIX(run->matrix), matrix));
    clv_map_between(grid, from, CLV_MATRIX(matrix), 0, &map);
    CLV_TRY(clv_buffer_read(run->ctx, m->image[moving], 0, *values, n * sizeof **values));
    CLV_TRY(clv_warp(run->ctx, CLV_VOLUME(m->image[!moving], from->size), &map, NULL, CLV_LINEAR, NAN,
                     CLV_VOLUME(run->scratch_a, grid->size)));
    CLV_TRY(clv_buffer_read(run->ctx, run->scratch_a, 0, there, n * sizeof *there));
    CLV_TRY(leave_out(run, moving ? run->moving_mask : run->fixed_mask, own, grid, NULL, scratch, there));
    CLV_TRY(leave_out(run, moving ? run->fixed_mask : run->moving_mask, other, grid, CLV_MATRIX(matrix),
                      scratch, there));
end:
    if (status < 0) {
        free(*values);
        *values = NULL;
    }
    return status;
}

/* The recast image of a side into `to`. */
static int side(clv_registration *run, const meeting *m, bool moving, double sigma, clv_buffer *to,
                bool *made)
{
    int status = CLVOX_OK;
    const size_t n = clvox_grid_voxels(m->grid[moving]);
    float *values = NULL;
    *made = false;
    CLV_TRY(meet(run, m, moving, &values));
    CLV_TRY(clv_recast_image(m->grid[moving], values, values + n, sigma, values + 2 * n, made));
    if (*made)
        CLV_TRY(clv_buffer_write(run->ctx, to, 0, values + 2 * n, n * sizeof *values));
end:
    free(values);
    return status;
}

/* Windows of two images, and of each plane of them how alike they are. */
typedef struct windows {
    const clvox_grid *grid;
    const float *image[2];
    double least[2]; /* variance from which on a window has content */
    double *sum;     /* by plane */
    int *count;
} windows;

enum { EVERY = 2, SIDE = 5 }; /* add_row() names their voxels */

/* What windows sum up of a voxel: either image, their squares, and their product. */
enum { TERMS = 5, ROWS = SIDE * SIDE };

/* How many windows lie along an axis. */
static int windows_along(const clvox_grid *grid, int axis)
{
    return grid->size[axis] < SIDE ? 0 : (grid->size[axis] - SIDE) / EVERY + 1;
}

/* Terms of a row of voxels, each by EVERY shares of `length`: what windows side by side take lies so. */
static void split(const windows *w, int y, int z, size_t length, double *to)
{
    const size_t first = at_of(w->grid, 0, y, z);
    for (int e = 0; e < EVERY; e++) {
        const float *a = w->image[0] + first + e, *b = w->image[1] + first + e;
        double *of_a = to + (size_t)e * length, *of_b = of_a + EVERY * length, *aa = of_b + EVERY * length,
               *bb = aa + EVERY * length, *ab = bb + EVERY * length;
        for (int i = 0; i < (w->grid->size[0] - e + EVERY - 1) / EVERY; i++) {
            const double u = (double)a[EVERY * i], v = (double)b[EVERY * i];
            of_a[i] = u;
            of_b[i] = v;
            aa[i] = u * u;
            bb[i] = v * v;
            ab[i] = u * v;
        }
    }
}

/* Adds a row of voxels, by split(), to a term of windows side by side, to each in the order of the voxels. */
static void add_row(const double *restrict from, size_t length, int along, double *restrict sum)
{
    const double *restrict odd = from + length;
    for (int x = 0; x < along; x++)
        sum[x] = sum[x] + from[x] + odd[x] + from[x + 1] + odd[x + 1] + from[x + 2];
}

/* What windows of these sums say, in their order. */
static void add_windows(const windows *w, const double *sum, size_t length, int along, double *total,
                        int *count)
{
    static const double N = SIDE * SIDE * SIDE;
    for (int x = 0; x < along; x++, sum++) {
        const double sa = sum[0], sb = sum[length], va = (sum[2 * length] - sa * sa / N) / N,
                     vb = (sum[3 * length] - sb * sb / N) / N, c = (sum[4 * length] - sa * sb / N) / N;
        if (!(va > w->least[0] && vb > w->least[1] && va < INFINITY && vb < INFINITY)) /* NaN among them */
            continue;
        *total += c * fabs(c) / va / vb;
        ++*count;
    }
}

static int agreement_of_plane(void *user, size_t index, int worker)
{
    const windows *w = user;
    const int z = EVERY * (int)index, along = windows_along(w->grid, 0), down = windows_along(w->grid, 1);
    const size_t length = (size_t)w->grid->size[0] / EVERY + 1, room = TERMS * EVERY * length;
    /* Rows of voxels that a row of windows takes, of which the next takes some again, and sums. */
    double *row = malloc((ROWS * room + TERMS * length) * sizeof *row), total = 0;
    int made = 0, count = 0;
    (void)worker;
    if (!row)
        return clvox_fail(CLVOX_ERROR_MEMORY, "registration: out of host memory");
    double *sum = row + ROWS * room;
    for (int y = 0; y < EVERY * down; y += EVERY) {
        for (; made < y + SIDE; made++)
            for (int k = 0; k < SIDE; k++)
                split(w, made, z + k, length, row + (size_t)(k * SIDE + made % SIDE) * room);
        memset(sum, 0, TERMS * length * sizeof *sum);
        for (int k = 0; k < ROWS; k++)
            for (size_t t = 0; t < TERMS; t++)
                add_row(row + (size_t)(k / SIDE * SIDE + (y + k) % SIDE) * room + t * EVERY * length, length,
                        along, sum + t * length);
        add_windows(w, sum, length, along, &total, &count);
    }
    free(row);
    w->sum[index] = total;
    w->count[index] = count;
    return 0;
}

double clv_recast_agreement(const clvox_grid *grid, const float *a, const float *b)
{
    enum { FEWEST = 50 };
    static const double CONTENT = 1e-3;
    windows w = {.grid = grid, .image = {a, b}};
    const int planes = windows_along(grid, 2);
    double sum = 0;
    int count = 0;
    for (int k = 0; k < 2; k++) {
        recast r = {.samples = grid, .image = k ? b : a, .other = k ? a : b, .step = {1, 1, 1}};
        if (!range_of(&r))
            return NAN;
        w.least[k] = CONTENT * pow((BINS - 1) / r.per_bin, 2);
    }
    w.sum = planes > 0 ? malloc((size_t)planes * (sizeof *w.sum + sizeof *w.count)) : NULL;
    if (!w.sum)
        return NAN;
    w.count = (int *)(w.sum + planes);
    if (clvox_parallel((size_t)planes, agreement_of_plane, &w) == 0)
        for (int z = 0; z < planes; z++) {
            sum += w.sum[z];
            count += w.count[z];
        }
    free(w.sum);
    return count < FEWEST ? NAN : sum / count;
}

/* Where contrasts are told apart: at so many mm images of other contrasts are less alike than `less`,
 * those of one more than `more`; between the two the next scale tells. */
typedef struct scale {
    double mm, less, more;
} scale;

/* An image smoothed and sampled at about so many mm. */
static int coarsen(clv_registration *run, double mm, const clv_buffer *image, const clvox_grid *grid,
                   clv_buffer *out, clvox_grid *to)
{
    clv_buffer *const scratch[2] = {run->scratch_a, run->scratch_b};
    double edge[3], factor[3];
    clvox_grid_spacing(grid, edge);
    for (int i = 0; i < 3; i++)
        factor[i] = fmax(1, mm / edge[i]);
    clv_pyramid_grid(grid, factor, to);
    return clv_downsample(run->ctx, image, grid, scratch, out, to);
}

/* How alike the images of a side are: recast by what is within sigma, which takes longest, by the whole, and
 * as they are. */
enum { NEAR, WHOLE, RAW, WAYS };
typedef struct comparison {
    const meeting *meeting;
    float *values[2]; /* of a side, by meet() */
    double sigma, agreement[WAYS][2];
    int threads; /* of each way NEAR; the others keep to their own */
} comparison;

static int compare(void *user, size_t index, int worker)
{
    int status = CLVOX_OK;
    comparison *c = user;
    const size_t moving = index % 2, way = index / 2;
    const clvox_grid *grid = c->meeting->grid[moving];
    const size_t n = clvox_grid_voxels(grid);
    const float *here = c->values[moving], *there = here + n;
    float *recast_image = c->values[moving] + (way == NEAR ? 2 : 3) * n;
    bool made = true;
    const int before = clvox_threads_own(way == NEAR ? c->threads : 1);
    (void)worker;
    if (way != RAW)
        CLV_TRY(clv_recast_image(grid, here, there, way == NEAR ? c->sigma : INFINITY, recast_image, &made));
    c->agreement[way][moving] =
        made ? clv_recast_agreement(grid, way == RAW ? here : recast_image, there) : NAN;
end:
    clvox_threads_own(before);
    return status;
}

/* The square of the images' agreement at so many mm, with its sign, over the product of that once they are
 * recast nearby and that once they are over the whole image. NaN where few windows have content. */
static int alike(clv_registration *run, double sigma, double mm, double *share)
{
    int status = CLVOX_OK;
    clv_channel *c = &run->channels[0];
    clvox_grid fixed, moving;
    double sum[WAYS];
    CLV_TRY(coarsen(run, mm, c->fixed, &run->fixed_grid, c->level_fixed, &fixed));
    CLV_TRY(coarsen(run, mm, c->moving, &run->moving_grid, c->level_moving, &moving));
    const meeting m = {{&fixed, &moving}, {c->level_fixed, c->level_moving}};
    comparison both = {.meeting = &m, .sigma = sigma};
    both.threads = (clvox_threads() - 2 * (WAYS - 1)) / 2;
    both.threads = both.threads > 1 ? both.threads : 1;
    for (int k = 0; k < 2 && status >= 0; k++)
        status = meet(run, &m, k == 1, &both.values[k]);
    if (status >= 0)
        status = clvox_parallel(2 * WAYS, compare, &both);
    free(both.values[0]);
    free(both.values[1]);
    CLV_TRY(status);
    for (int way = 0; way < WAYS; way++)
        sum[way] = both.agreement[way][0] + both.agreement[way][1];
    *share = sum[NEAR] > 0 && sum[WHOLE] > 0 ? sum[RAW] * fabs(sum[RAW]) / (sum[NEAR] * sum[WHOLE]) : NAN;
end:
    return status;
}

int clv_recast_differ(clv_registration *run, double sigma, bool *differ)
{
    /* At 4 mm pairs of T1 heads have .84 to .98, other contrasts .29 to .98. At
     * 2.5 mm heads have .85 or more, also with noise of a sixth of the brightest tissue; other contrasts
     * that LNCC ends badly on .83 or less. Crops have too few windows at 4 mm: hippocampi of one contrast
     * have .96 or more at 2 mm, of others mostly .90 or less. */
    static const scale HEADS[] = {{4, .81, .9}, {2.5, .835, .835}}, CROPS[] = {{2, .93, .93}};
    const bool heads = clv_recast_heads(run);
    const scale *at = heads ? HEADS : CROPS, *end_of = at + (heads ? 2 : 1);
    int status = CLVOX_OK;
    own_units own;
    enter_fixed_units(run, &own);
    for (double share; at < end_of; at++) {
        CLV_TRY(alike(run, sigma, at->mm, &share));
        if (!isfinite(share))
            break;
        *differ = share < at->less;
        if (*differ || share >= at->more)
            break;
    }
end:
    leave_fixed_units(run, &own);
    return status;
}

size_t clv_recast_bytes(const clvox_grid *fixed, const clvox_grid *moving)
{
    return 2 * sizeof(float) * (clvox_grid_voxels(fixed) + clvox_grid_voxels(moving));
}

/* The first, where that image comes first in either order of the two. */
int clv_recast_own(const clv_registration *run)
{
    return run->moving_first && !run->exchanged;
}

static int add_channel(clv_registration *run, bool *made)
{
    int status = CLVOX_OK;
    clv_channel *c = &run->channels[1];
    const size_t fixed = (size_t)run->n * sizeof(float), moving = (size_t)run->m * sizeof(float);
    *c = run->channels[0];
    c->fixed = c->moving = c->level_fixed = c->level_moving = NULL;
    const clv_request requests[] = {{&c->fixed, fixed, "recast image"},
                                    {&c->moving, moving, "recast image"},
                                    {&c->level_fixed, fixed, "a level of it"},
                                    {&c->level_moving, moving, "a level of it"}};
    status = clv_pool_take(run->ctx, requests, sizeof requests / sizeof *requests);
    *made = status >= 0;
    if (status < 0)
        return status == CLVOX_ERROR_MEMORY ? CLVOX_OK : status;
    run->channels[0].weight *= .5;
    run->channels[0].share *= .5;
    c->weight *= .5;
    c->share *= .5;
    run->channel_count = run->shown_count = run->image_count = 2;
    run->recast = true;
    clv_buffer *lone = clv_recast_own(run) ? run->channels[0].fixed : run->channels[0].moving;
    clv_buffer *copy = clv_recast_own(run) ? c->fixed : c->moving;
    CLV_TRY(clv_buffer_copy(run->ctx, lone, 0, copy, 0, clv_recast_own(run) ? fixed : moving));
end:
    return status;
}

static double volume_of(const clvox_grid *grid)
{
    return (double)clvox_grid_voxels(grid) * fabs(clv_matrix_determinant(CLV_MATRIX(grid->to_ras)));
}

bool clv_recast_heads(const clv_registration *run)
{
    static const double LITRE = 1e6; /* mm^3 */
    return volume_of(&run->fixed_grid) >= LITRE &&
           volume_of(&run->moving_grid) / pow(units_of(run), 3) >= LITRE;
}

int clv_recast_run(clv_registration *run, double sigma, bool *made)
{
    int status = CLVOX_OK;
    const int own = clv_recast_own(run);
    bool fixed = false, moving = false;
    own_units units;
    enter_fixed_units(run, &units);
    *made = true;
    if (!run->recast)
        CLV_TRY(add_channel(run, made));
    if (!*made)
        goto end;
    clv_channel *with_fixed = &run->channels[own], *with_moving = &run->channels[!own];
    const meeting m = {{&run->fixed_grid, &run->moving_grid}, {with_fixed->fixed, with_moving->moving}};
    CLV_TRY(side(run, &m, true, sigma, with_fixed->moving, &moving));
    CLV_TRY(side(run, &m, false, sigma, with_moving->fixed, &fixed));
    *made = fixed && moving;
    if (!*made)
        CLV_TRY(clv_recast_undo(run));
end:
    leave_fixed_units(run, &units);
    return status;
}

/* An image's values on a grid that map and u lead from, NaN outside of the image and of its mask. */
static int look_up(clv_registration *run, const clv_buffer *image, const clv_buffer *mask,
                   const clvox_grid *grid, const clvox_grid *to, const clv_map *map, const clv_buffer *u,
                   float *values, float *scratch)
{
    int status = CLVOX_OK;
    const size_t n = clvox_grid_voxels(to);
    CLV_TRY(clv_warp(run->ctx, CLV_VOLUME(image, grid->size), map, u, CLV_LINEAR, NAN,
                     CLV_VOLUME(run->scratch_a, to->size)));
    CLV_TRY(clv_buffer_read(run->ctx, run->scratch_a, 0, values, n * sizeof *values));
    status = leave_out_by(run, mask, grid, to, map, u, scratch, values);
end:
    return status;
}

int clv_recast_again(clv_registration *run, double sigma, bool around, const clvox_grid *at,
                     const clv_buffer *u, const clv_buffer *u_fixed)
{
    int status = CLVOX_OK;
    const int own = clv_recast_own(run);
    /* With the fixed image as it is, and with the moving one. */
    const clv_channel *channel[2] = {&run->channels[own], &run->channels[!own]};
    const clvox_grid *grid[2] = {&run->fixed_grid, &run->moving_grid};
    const clv_buffer *image[2] = {channel[0]->fixed, channel[1]->moving}, *field[2] = {u_fixed, u},
                     *mask[2] = {run->fixed_mask, run->moving_mask};
    clv_buffer *to[2] = {channel[1]->fixed, channel[0]->moving};
    const size_t n = clvox_grid_voxels(at), most = (size_t)(run->n > run->m ? run->n : run->m);
    clv_map map[2];
    float *values = malloc((5 * n + 2 * most) * sizeof *values), *there[2] = {values, values + n},
          *vectors = values + 2 * n, *own_values = values + 5 * n, *out = own_values + most;
    own_units units;
    if (!values)
        return CLVOX_OK;
    enter_fixed_units(run, &units);
    clv_map_between(at, grid[0], NULL, 1, &map[0]);
    clv_map_between(at, grid[1], CLV_MATRIX(run->matrix), 1, &map[1]);
    for (int k = 0; k < 2; k++)
        CLV_TRY(look_up(run, image[k], mask[k], grid[k], at, &map[k], field[k], there[k], vectors));
    for (int k = 0; k < 2; k++) {
        const size_t voxels = clvox_grid_voxels(grid[k]);
        bool made;
        recast r = {.grid = grid[k],
                    .samples = at,
                    .image = there[k],
                    .other = there[!k],
                    .values = own_values,
                    .out = out,
                    .map = &map[k],
                    .field = field[k] ? vectors : NULL};
        if (field[k])
            CLV_TRY(clv_field_read(run->ctx, field[k], n, 0, n, vectors, r.strides));
        CLV_TRY(clv_buffer_read(run->ctx, image[k], 0, own_values, voxels * sizeof *own_values));
        CLV_TRY(make(&r, sigma, &made));
        if (made && around)
            CLV_TRY(look_around(run, &r, image[k], k ? channel[1]->level_moving : channel[0]->level_fixed));
        if (made)
            CLV_TRY(clv_buffer_write(run->ctx, to[k], 0, out, voxels * sizeof *out));
    }
end:
    leave_fixed_units(run, &units);
    free(values);
    return status == CLVOX_ERROR_MEMORY ? CLVOX_OK : status;
}

int clv_recast_undo(clv_registration *run)
{
    int status = CLVOX_OK;
    const int own = clv_recast_own(run);
    if (!run->recast)
        return CLVOX_OK;
    clv_channel *c = run->channels;
    if (own == 0)
        CLV_TRY(clv_buffer_copy(run->ctx, c[1].moving, 0, c[0].moving, 0, (size_t)run->m * sizeof(float)));
    else
        CLV_TRY(clv_buffer_copy(run->ctx, c[1].fixed, 0, c[0].fixed, 0, (size_t)run->n * sizeof(float)));
    c[0].weight *= 2;
    c[0].share *= 2;
end:
    clv_recast_release(run);
    return status;
}

void clv_recast_release(clv_registration *run)
{
    clv_channel *c = &run->channels[1];
    if (!run->recast)
        return;
    clv_buffer_destroy(&c->fixed);
    clv_buffer_destroy(&c->moving);
    clv_buffer_destroy(&c->level_fixed);
    clv_buffer_destroy(&c->level_moving);
    run->channel_count = run->shown_count = run->image_count = 1;
    run->recast = false;
}
