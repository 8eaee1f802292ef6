/* SPDX-License-Identifier: Apache-2.0 */
#include "register/content.h"

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

static size_t cells(const clv_content *c)
{
    return (size_t)c->size[0] * (size_t)c->size[1] * (size_t)c->size[2];
}

int clv_content_begin(const clvox_grid *grid, clv_content *c)
{
    double edge[3];
    clvox_grid_spacing(grid, edge);
    *c = (clv_content){.grid = *grid};
    for (int a = 0; a < 3; a++) {
        c->edge[a] = (int)fmin(fmax(1, ceil(CELL_MM / edge[a] - 1e-3)), grid->size[a]);
        c->size[a] = (grid->size[a] + c->edge[a] - 1) / c->edge[a];
    }
    c->holds = calloc(cells(c), 1);
    c->shows = calloc(cells(c), sizeof *c->shows);
    return c->holds && c->shows ? CLVOX_OK : clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
}

void clv_content_free(clv_content *c)
{
    free(c->holds);
    free(c->shows);
    c->holds = NULL;
    c->shows = NULL;
}

typedef struct marking {
    clv_content *content;
    const clvox_volume *volume;
    float threshold;
    double share;
    double *sum; /* of each cell */
} marking;

/* Cells of layer k. */
static int mark_layer(void *user, size_t k, int worker)
{
    const marking *m = user;
    clv_content *c = m->content;
    const int *n = c->grid.size, *edge = c->edge;
    const int z0 = (int)k * edge[2], z1 = z0 + edge[2] < n[2] ? z0 + edge[2] : n[2];
    (void)worker;
    for (int j = 0; j < c->size[1]; j++) {
        const int y0 = j * edge[1], y1 = y0 + edge[1] < n[1] ? y0 + edge[1] : n[1];
        for (int i = 0; i < c->size[0]; i++) {
            const int x0 = i * edge[0], x1 = x0 + edge[0] < n[0] ? x0 + edge[0] : n[0];
            const size_t at = (k * (size_t)c->size[1] + (size_t)j) * (size_t)c->size[0] + (size_t)i;
            double sum = 0;
            int count = 0;
            for (int z = z0; z < z1; z++)
                for (int y = y0; y < y1; y++) {
                    const float *row =
                        m->volume->data + ((size_t)z * (size_t)n[1] + (size_t)y) * (size_t)n[0];
                    for (int x = x0; x < x1; x++) {
                        const bool above = row[x] > m->threshold && row[x] <= FLT_MAX;
                        count += above;
                        sum += above ? (double)row[x] : 0;
                    }
                }
            if (count > m->share * edge[0] * edge[1] * edge[2])
                c->holds[at] = 1;
            m->sum[at] = sum;
        }
    }
    return CLVOX_OK;
}

int clv_content_mark(clv_content *c, const clvox_volume *volume, float threshold, double share)
{
    int status = CLVOX_OK;
    double all = 0;
    marking m = {c, volume, threshold, share, malloc(cells(c) * sizeof *m.sum)};
    if (!m.sum)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    CLV_TRY(clvox_parallel((size_t)c->size[2], mark_layer, &m));
    for (size_t i = 0; i < cells(c); i++)
        all += m.sum[i];
    for (size_t i = 0; i < cells(c) && all > 0; i++)
        c->shows[i] += m.sum[i] / all;
end:
    free(m.sum);
    return status;
}

typedef struct around {
    const clv_content *content;
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
    return fmax(0, fmax(low - p, p - high)) / s->room[axis];
}

/* Cells along an axis that are near enough to p. */
static void reach(const around *s, int axis, double p, int *first, int *end)
{
    const double cell = s->content->edge[axis] * s->edge[axis], start = -.5 * s->edge[axis];
    *first = (int)fmax(0, floor((p - s->room[axis] - start) / cell));
    *end = (int)fmin(s->content->size[axis], floor((p + s->room[axis] - start) / cell) + 1);
}

static int find_plane(void *user, size_t z, int worker)
{
    const around *s = user;
    const int *n = s->level->size;
    int first_z, end_z;
    const double at_z = s->origin[2] + (double)z * s->step[2];
    (void)worker;
    reach(s, 2, at_z, &first_z, &end_z);
    s->count[z] = 0;
    for (int y = 0; y < n[1]; y++) {
        const double at_y = s->origin[1] + y * s->step[1];
        double low = DBL_MAX, high = -DBL_MAX;
        int first_y, end_y, *columns = s->columns + 2 * (z * (size_t)n[1] + (size_t)y);
        reach(s, 1, at_y, &first_y, &end_y);
        for (int k = first_z; k < end_z; k++) {
            const double dz = distance(s, 2, k, at_z);
            for (int j = first_y; j < end_y; j++) {
                const double *ends = s->ends[(size_t)k * (size_t)s->content->size[1] + (size_t)j];
                const double dy = distance(s, 1, j, at_y), left = 1 - dy * dy - dz * dz;
                if (left < 0 || ends[0] > ends[1])
                    continue;
                const double more = sqrt(left) * s->room[0];
                low = fmin(low, ends[0] - more);
                high = fmax(high, ends[1] + more);
            }
        }
        columns[0] = columns[1] = 0;
        if (low > high)
            continue;
        const double first = ceil((low - s->origin[0]) / s->step[0]),
                     last = floor((high - s->origin[0]) / s->step[0]);
        columns[0] = (int)fmin(fmax(first, 0), n[0]);
        columns[1] = (int)fmax(fmin(last + 1, n[0]), columns[0]);
        s->count[z] += (size_t)(columns[1] - columns[0]);
    }
    return CLVOX_OK;
}

/* From where to where, mm, each row of cells has content. */
static void find_ends(const around *s)
{
    const clv_content *c = s->content;
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

/* Of what the volumes show on the level the share in cells whose middle is not in its columns. */
static double missed_by(const around *s)
{
    const clv_content *c = s->content;
    double missed = 0, all = 0;
    for (size_t k = 0; k < cells(c); k++) {
        const size_t cell[3] = {k % (size_t)c->size[0], k / (size_t)c->size[0] % (size_t)c->size[1],
                                k / (size_t)c->size[0] / (size_t)c->size[1]};
        double at[3];
        bool inside = c->shows[k] > 0;
        for (int a = 0; a < 3 && inside; a++) {
            at[a] = floor(
                ((((double)cell[a] + .5) * c->edge[a] - .5) * s->edge[a] - s->origin[a]) / s->step[a] + .5);
            inside = at[a] >= 0 && at[a] < s->level->size[a];
        }
        if (!inside)
            continue;
        const int *columns = s->columns + 2 * ((size_t)at[2] * (size_t)s->level->size[1] + (size_t)at[1]);
        all += c->shows[k];
        missed += at[0] >= columns[0] && at[0] < columns[1] ? 0 : c->shows[k];
    }
    return all > 0 ? missed / all : 0;
}

int clv_content_around(const clv_content *c, const clvox_grid *level, const double room[3], int *columns,
                       double *part, double *missed)
{
    int status = CLVOX_OK;
    around s = {.content = c, .level = level, .room = room, .columns = columns};
    double to_voxels[4][4];
    size_t count = 0;
    clvox_grid_spacing(&c->grid, s.edge);
    clvox_grid_spacing(level, s.step);
    s.ends = malloc((size_t)c->size[1] * (size_t)c->size[2] * sizeof *s.ends);
    s.count = malloc((size_t)level->size[2] * sizeof *s.count);
    if (!s.ends || !s.count) {
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
    *missed = missed_by(&s);
end:
    free(s.ends);
    free(s.count);
    return status;
}
