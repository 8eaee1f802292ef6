/* SPDX-License-Identifier: Apache-2.0 */
/* Whether grey and white matter change places from one image to the other, where all else has one contrast. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/select.h"
#include "clvox/threads.h"
#include "register/contrast/synthesis.h"
#include "register/thresholds.h"

/* Cells of space, mm along an edge; cells from the middle of a window to its side, and the least of its 125 that show
 * tissue. */
static const double CELL = 4;
enum { REACH = 2, LEAST = 38 };

typedef struct cells {
    int size[3];
    size_t n;
    float *mean[2]; /* NaN where either image has no voxel that counts */
    unsigned char *deep; /* axes of either image along which a cell lies deep in the head; TISSUE: and it is not fluid */
} cells;
enum { ALL = 6, TISSUE };

/* Means of both images over blocks of voxels, where both count. */
static void fill(cells *c, const clvox_grid *grid, const int block[3], const float *const image[2])
{
    const int *size = grid->size;
    size_t cell = 0;
    for (int z = 0; z < c->size[2]; z++)
        for (int y = 0; y < c->size[1]; y++)
            for (int x = 0; x < c->size[0]; x++, cell++) {
                double sum[2] = {0, 0}, count = 0;
                for (int k = z * block[2]; k < (z + 1) * block[2] && k < size[2]; k++)
                    for (int j = y * block[1]; j < (y + 1) * block[1] && j < size[1]; j++)
                        for (int i = x * block[0]; i < (x + 1) * block[0] && i < size[0]; i++) {
                            const size_t v = ((size_t)k * (size_t)size[1] + (size_t)j) * (size_t)size[0] + (size_t)i;
                            if (isfinite(image[0][v]) && isfinite(image[1][v])) {
                                sum[0] += (double)image[0][v];
                                sum[1] += (double)image[1][v];
                                count++;
                            }
                        }
                for (int s = 0; s < 2; s++)
                    c->mean[s][cell] = count > 0 ? (float)(sum[s] / count) : NAN;
            }
}

/* Marks what lies deep between the first and the last bright cell of each line along an axis. */
static void mark_deep(cells *c, int which, int axis, int depth, double bright)
{
    const size_t step[3] = {1, (size_t)c->size[0], (size_t)c->size[0] * (size_t)c->size[1]}, s = step[axis];
    for (size_t start = 0; start < c->n; start++) {
        if (start / s % (size_t)c->size[axis] != 0)
            continue;
        int first = c->size[axis], last = -1;
        for (int i = 0; i < c->size[axis]; i++)
            if ((double)c->mean[which][start + (size_t)i * s] > bright) {
                first = i < first ? i : first;
                last = i;
            }
        for (int i = first + depth; i <= last - depth; i++)
            c->deep[start + (size_t)i * s]++;
    }
}

/* The value below which a share of the cells of one image lies, of those that are deep along so many axes of both. */
static bool below(const cells *c, int which, int axes, double share, float *room, double *value)
{
    size_t count = 0;
    for (size_t i = 0; i < c->n; i++)
        if (c->deep[i] >= axes && isfinite(c->mean[which][i]))
            room[count++] = c->mean[which][i];
    if (count > 0)
        *value = clv_select_quantile(room, count, share);
    return count > 0;
}

/* By how many deviations a cell stands out of the tissue in the window around it, in either image; NaN where there
 * is little. */
static void stand_out(const cells *c, const int at[3], size_t cell, float *const out[2])
{
    double n = 0, sum[2] = {0, 0}, squares[2] = {0, 0};
    int low[3], high[3];
    for (int i = 0; i < 3; i++) {
        low[i] = at[i] > REACH ? at[i] - REACH : 0;
        high[i] = at[i] + REACH < c->size[i] ? at[i] + REACH : c->size[i] - 1;
    }
    for (int z = low[2]; z <= high[2]; z++)
        for (int y = low[1]; y <= high[1]; y++)
            for (int x = low[0]; x <= high[0]; x++) {
                const size_t i = ((size_t)z * (size_t)c->size[1] + (size_t)y) * (size_t)c->size[0] + (size_t)x;
                if (c->deep[i] != TISSUE)
                    continue;
                n++;
                for (int k = 0; k < 2; k++) {
                    sum[k] += (double)c->mean[k][i];
                    squares[k] += (double)c->mean[k][i] * (double)c->mean[k][i];
                }
            }
    for (int k = 0; k < 2; k++) {
        const double mean = sum[k] / n, variance = squares[k] / n - mean * mean;
        out[k][cell] =
            n >= LEAST && variance > 0 ? (float)(((double)c->mean[k][cell] - mean) / sqrt(variance)) : NAN;
    }
}

typedef struct standing {
    const cells *of;
    float *out[2]; /* NaN where a cell shows no tissue */
} standing;

static int stand_out_plane(void *user, size_t plane, int worker)
{
    const standing *s = user;
    const cells *c = s->of;
    size_t i = plane * (size_t)c->size[0] * (size_t)c->size[1];
    (void)worker;
    for (int y = 0; y < c->size[1]; y++)
        for (int x = 0; x < c->size[0]; x++, i++) {
            s->out[0][i] = s->out[1][i] = NAN;
            if (c->deep[i] == TISSUE)
                stand_out(c, (const int[3]){x, y, (int)plane}, i, s->out);
        }
    return CLVOX_OK;
}

/* The correlation over the cells of which one image shows that they are brighter (sign 1) than what is around them,
 * or darker (-1); the lesser of both images. NaN where these are few. */
static double correlation_of(size_t count, const standing *s, double sign)
{
    enum { FEWEST = 500 };
    double least = INFINITY;
    for (int k = 0; k < 2; k++) {
        double n = 0, sa = 0, sb = 0, saa = 0, sbb = 0, sab = 0;
        for (size_t i = 0; i < count; i++) {
            const double a = (double)s->out[k][i], b = (double)s->out[!k][i];
            if (!(sign * a > 0) || !isfinite(b))
                continue;
            n++;
            sa += a;
            sb += b;
            saa += a * a;
            sbb += b * b;
            sab += a * b;
        }
        const double va = saa - sa * sa / n, vb = sbb - sb * sb / n;
        if (!(n >= FEWEST && va > 0 && vb > 0))
            return NAN;
        least = fmin(least, (sab - sa * sb / n) / sqrt(va * vb));
    }
    return least;
}

int clv_contrast_tissues(const clvox_grid *grid, const float *fixed, const float *moving, double *bright,
                         double *dark)
{
    const float *const image[2] = {fixed, moving};
    int block[3], depth[3];
    double edge[3], head, fluid[2];
    cells c = {.n = 1};
    *bright = *dark = NAN;
    clvox_grid_spacing(grid, edge);
    for (int i = 0; i < 3; i++) {
        block[i] = (int)fmax(1, round(CELL / edge[i]));
        depth[i] = (int)ceil(DEEP / (block[i] * edge[i]));
        c.size[i] = (grid->size[i] + block[i] - 1) / block[i];
        c.n *= (size_t)c.size[i];
    }
    float *room = malloc(4 * c.n * sizeof *room + c.n);
    if (!room)
        return clvox_fail(CLVOX_ERROR_MEMORY, "registration: out of host memory");
    c.mean[0] = room + 2 * c.n;
    c.mean[1] = c.mean[0] + c.n;
    c.deep = memset(c.mean[1] + c.n, 0, c.n);
    fill(&c, grid, block, image);
    for (int k = 0; k < 2; k++)
        for (int axis = 0; axis < 3 && below(&c, k, 0, 1 - BRIGHTEST, room, &head); axis++)
            mark_deep(&c, k, axis, depth[axis], HEAD * head);
    if (below(&c, 0, ALL, FLUID, room, &fluid[0]) && below(&c, 1, ALL, FLUID, room, &fluid[1])) {
        for (size_t i = 0; i < c.n; i++)
            if (c.deep[i] == ALL && (double)c.mean[0][i] > fluid[0] && (double)c.mean[1][i] > fluid[1])
                c.deep[i] = TISSUE;
        const standing s = {&c, {room, room + c.n}};
        clvox_parallel((size_t)c.size[2], stand_out_plane, (void *)&s);
        *bright = correlation_of(c.n, &s, 1);
        *dark = correlation_of(c.n, &s, -1);
    }
    free(room);
    return CLVOX_OK;
}
