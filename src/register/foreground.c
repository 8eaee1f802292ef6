/* SPDX-License-Identifier: Apache-2.0 */
#include "register/foreground.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/matrix.h"
#include "base/status.h"
#include "clvox/threads.h"

/* Cells are at least so long, mm: small beside what is kept around them, and so large that noise fills
 * few. */
static const double CELL_MM = 4;

static size_t cells(const clv_foreground *c)
{
    return (size_t)c->size[0] * (size_t)c->size[1] * (size_t)c->size[2];
}

int clv_foreground_begin(const clvox_grid *grid, clv_foreground *c)
{
    double edge[3];
    clvox_grid_spacing(grid, edge);
    *c = (clv_foreground){.grid = *grid};
    for (int a = 0; a < 3; a++) {
        c->edge[a] = (int)fmin(fmax(1, ceil(CELL_MM / edge[a] - 1e-3)), grid->size[a]);
        c->size[a] = (grid->size[a] + c->edge[a] - 1) / c->edge[a];
    }
    c->holds = calloc(cells(c), 1);
    c->shows = calloc(cells(c), sizeof *c->shows);
    return c->holds && c->shows ? CLVOX_OK : clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
}

void clv_foreground_free(clv_foreground *c)
{
    free(c->holds);
    free(c->shows);
    c->holds = NULL;
    c->shows = NULL;
}

typedef struct marking {
    clv_foreground *content;
    const clvox_volume *volume;
    float threshold;
    double share;
    double *sum; /* of each cell */
    int *count;
} marking;

/* Cells of layer k, a row of voxels at a time: each cell adds up its voxels in their order. */
static int mark_layer(void *user, size_t k, int worker)
{
    const marking *m = user;
    clv_foreground *c = m->content;
    const int *n = c->grid.size, *edge = c->edge;
    const int z0 = (int)k * edge[2], z1 = z0 + edge[2] < n[2] ? z0 + edge[2] : n[2];
    const size_t first = k * (size_t)c->size[0] * (size_t)c->size[1];
    (void)worker;
    for (int z = z0; z < z1; z++)
        for (int y = 0; y < n[1]; y++) {
            const float *row = m->volume->data + ((size_t)z * (size_t)n[1] + (size_t)y) * (size_t)n[0];
            const size_t cell = first + (size_t)(y / edge[1]) * (size_t)c->size[0];
            for (int i = 0, x = 0; i < c->size[0]; i++) {
                double sum = m->sum[cell + (size_t)i];
                int count = 0;
                for (const int x1 = x + edge[0] < n[0] ? x + edge[0] : n[0]; x < x1; x++) {
                    const bool above = row[x] > m->threshold && row[x] <= FLT_MAX;
                    count += above;
                    sum += above ? (double)row[x] : 0;
                }
                m->sum[cell + (size_t)i] = sum;
                m->count[cell + (size_t)i] += count;
            }
        }
    for (size_t at = first; at < first + (size_t)c->size[0] * (size_t)c->size[1]; at++)
        if (m->count[at] > m->share * edge[0] * edge[1] * edge[2])
            c->holds[at] = 1;
    return CLVOX_OK;
}

int clv_foreground_mark(clv_foreground *c, const clvox_volume *volume, float threshold, double share)
{
    int status = CLVOX_OK;
    double all = 0;
    marking m = {
        c, volume, threshold, share, calloc(cells(c), sizeof *m.sum), calloc(cells(c), sizeof *m.count)};
    if (!m.sum || !m.count) {
        status = clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
        goto end;
    }
    CLV_TRY(clvox_parallel((size_t)c->size[2], mark_layer, &m));
    for (size_t i = 0; i < cells(c); i++)
        all += m.sum[i];
    for (size_t i = 0; i < cells(c) && all > 0; i++)
        c->shows[i] += m.sum[i] / all;
end:
    free(m.sum);
    free(m.count);
    return status;
}

typedef struct around {
    const clv_foreground *content;
    const clvox_grid *level;
    const double *room;
    double edge[3]; /* mm between voxels of the images */
    double origin[3],
        step[3];       /* mm along the images' axes, of the level's first voxel and between its voxels */
    double (*ends)[2]; /* mm, of each row of cells; the first is above the second where there is no content */
    int *columns;
    size_t *count; /* of each plane of the level */
} around;

/* mm from p to a layer of cells along an axis, over the room that there is. */
static double distance(const around *s, int axis, int cell, double p)
{
    const double low = (cell * s->content->edge[axis] - .5) * s->edge[axis];
    const double high = low + s->content->edge[axis] * s->edge[axis];
    const double out = low - p > p - high ? low - p : p - high;
    return (out > 0 ? out : 0) / s->room[axis];
}

/* Cells along an axis that are near enough to p. */
static void reach(const around *s, int axis, double p, int *first, int *end)
{
    const double cell = s->content->edge[axis] * s->edge[axis], start = -.5 * s->edge[axis];
    *first = (int)fmax(0, floor((p - s->room[axis] - start) / cell));
    *end = (int)fmin(s->content->size[axis], floor((p + s->room[axis] - start) / cell) + 1);
}

/* From where to where on a row of the level there is content near enough, mm; dz: squares of distances. */
static void find_row(const around *s, double at_y, const double *dz, int first_z, int end_z, double *low,
                     double *high)
{
    int first_y, end_y;
    double left_end = DBL_MAX, right_end = -DBL_MAX;
    reach(s, 1, at_y, &first_y, &end_y);
    for (int j = first_y; j < end_y; j++) {
        const double dy = distance(s, 1, j, at_y);
        for (int k = first_z; k < end_z; k++) {
            const double *ends = s->ends[(size_t)k * (size_t)s->content->size[1] + (size_t)j];
            if (ends[0] > ends[1] || (ends[0] - s->room[0] >= left_end && ends[1] + s->room[0] <= right_end))
                continue; /* it has no content, or widens nothing at whatever distance */
            const double left = 1 - dy * dy - dz[k];
            if (left < 0)
                continue;
            const double more = sqrt(left) * s->room[0];
            left_end = ends[0] - more < left_end ? ends[0] - more : left_end;
            right_end = ends[1] + more > right_end ? ends[1] + more : right_end;
        }
    }
    *low = left_end;
    *high = right_end;
}

static int find_plane(void *user, size_t z, int worker)
{
    const around *s = user;
    const int *n = s->level->size;
    int first_z, end_z;
    const double at_z = s->origin[2] + (double)z * s->step[2];
    double *dz = malloc((size_t)s->content->size[2] * sizeof *dz);
    (void)worker;
    if (!dz)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    reach(s, 2, at_z, &first_z, &end_z);
    for (int k = first_z; k < end_z; k++) {
        const double d = distance(s, 2, k, at_z);
        dz[k] = d * d;
    }
    s->count[z] = 0;
    for (int y = 0; y < n[1]; y++) {
        int *columns = s->columns + 2 * (z * (size_t)n[1] + (size_t)y);
        double low, high;
        find_row(s, s->origin[1] + y * s->step[1], dz, first_z, end_z, &low, &high);
        columns[0] = columns[1] = 0;
        if (low > high)
            continue;
        const double first = ceil((low - s->origin[0]) / s->step[0]),
                     last = floor((high - s->origin[0]) / s->step[0]);
        columns[0] = (int)fmin(fmax(first, 0), n[0]);
        columns[1] = (int)fmax(fmin(last + 1, n[0]), columns[0]);
        s->count[z] += (size_t)(columns[1] - columns[0]);
    }
    free(dz);
    return CLVOX_OK;
}

/* From where to where, mm, each row of cells has content. */
static void find_ends(const around *s)
{
    const clv_foreground *c = s->content;
    const double cell = c->edge[0] * s->edge[0];
    for (size_t r = 0; r < (size_t)c->size[1] * (size_t)c->size[2]; r++) {
        const unsigned char *row = c->holds + r * (size_t)c->size[0];
        int first = 0, end = c->size[0];
        while (first < end && !row[first])
            first++;
        while (end > first && !row[end - 1])
            end--;
        s->ends[r][0] = first < end ? first * cell - .5 * s->edge[0] : 1;
        s->ends[r][1] = first < end ? end * cell - .5 * s->edge[0] : 0;
    }
}

/* Voxel of the level at the middle of each cell of an axis; -1: none. */
static void find_middles(const around *s, int axis, int *at)
{
    const clv_foreground *c = s->content;
    for (int k = 0; k < c->size[axis]; k++) {
        const double middle =
            floor((((k + .5) * c->edge[axis] - .5) * s->edge[axis] - s->origin[axis]) / s->step[axis] + .5);
        at[k] = middle >= 0 && middle < s->level->size[axis] ? (int)middle : -1;
    }
}

/* Share of the volumes' content on the level in cells whose middle is not in its columns. at: room for the cells of
 * all axes. */
static double missed_by(const around *s, int *at)
{
    const clv_foreground *c = s->content;
    const int *at_x = at, *at_y = at + c->size[0], *at_z = at_y + c->size[1];
    const double *shows = c->shows;
    double missed = 0, all = 0;
    for (int a = 0; a < 3; at += c->size[a++])
        find_middles(s, a, at);
    for (int k = 0; k < c->size[2]; k++)
        for (int j = 0; j < c->size[1]; j++, shows += c->size[0]) {
            if (at_z[k] < 0 || at_y[j] < 0)
                continue;
            const int *columns =
                s->columns + 2 * ((size_t)at_z[k] * (size_t)s->level->size[1] + (size_t)at_y[j]);
            for (int i = 0; i < c->size[0]; i++) {
                const double here = at_x[i] >= 0 && shows[i] > 0 ? shows[i] : 0;
                all += here;
                missed += at_x[i] >= columns[0] && at_x[i] < columns[1] ? 0 : here;
            }
        }
    return all > 0 ? missed / all : 0;
}

int clv_foreground_around(const clv_foreground *c, const clvox_grid *level, const double room[3],
                          int *columns, double *part, double *missed)
{
    int status = CLVOX_OK;
    around s = {.content = c, .level = level, .room = room, .columns = columns};
    double to_voxels[4][4];
    size_t count = 0;
    clvox_grid_spacing(&c->grid, s.edge);
    clvox_grid_spacing(level, s.step);
    s.ends = malloc((size_t)c->size[1] * (size_t)c->size[2] * sizeof *s.ends);
    s.count = malloc((size_t)level->size[2] * sizeof *s.count);
    int *at = malloc((size_t)(c->size[0] + c->size[1] + c->size[2]) * sizeof *at);
    if (!s.ends || !s.count || !at) {
        status = clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
        goto end;
    }
    CLV_TRY(clv_matrix_invert(CLV_MATRIX(c->grid.to_ras), to_voxels));
    for (int a = 0; a < 3; a++) {
        s.origin[a] = to_voxels[a][3];
        for (int r = 0; r < 3; r++)
            s.origin[a] += to_voxels[a][r] * level->to_ras[r][3];
        s.origin[a] *= s.edge[a];
    }
    find_ends(&s);
    CLV_TRY(clvox_parallel((size_t)level->size[2], find_plane, &s));
    for (int z = 0; z < level->size[2]; z++)
        count += s.count[z];
    *part = (double)count / (double)clvox_grid_voxels(level);
    if (missed)
        *missed = missed_by(&s, at);
end:
    free(s.ends);
    free(s.count);
    free(at);
    return status;
}
