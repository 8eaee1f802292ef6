/* SPDX-License-Identifier: Apache-2.0 */
/* How alike two images are, window by window. */
#include <math.h>
#include <stdlib.h>

#include "clvox/threads.h"
#include "register/contrast/image.h"
#include "register/thresholds.h"

/* Windows of two images, and of each plane of them how alike they are. */
typedef struct windows {
    const clvox_grid *grid;
    const float *image[2];
    double least[2]; /* variance from which on a window has content */
    double *sum;     /* by plane */
    int *count;
} windows;

enum { EVERY = 2, SIDE = 5 }; /* add_row() names their voxels */

/* Terms that windows sum: either image, their squares, and their product. */
enum { TERMS = 5, ROWS = SIDE * SIDE };

/* How many windows lie along an axis. */
static int windows_along(const clvox_grid *grid, int axis)
{
    return grid->size[axis] < SIDE ? 0 : (grid->size[axis] - SIDE) / EVERY + 1;
}

/* Terms of a row of voxels, each by EVERY shares of `length`: what windows side by side take lies so. */
static void split(const windows *w, int y, int z, size_t length, double *to)
{
    const size_t first = clv_contrast_at(w->grid, 0, y, z);
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

/* Adds the agreement of windows of these sums, in their order. */
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

double clv_contrast_agreement(const clvox_grid *grid, const float *a, const float *b)
{
    enum { FEWEST = 50 };
    windows w = {.grid = grid, .image = {a, b}};
    const int planes = windows_along(grid, 2);
    double sum = 0;
    int count = 0;
    for (int k = 0; k < 2; k++) {
        clv_synthesis r = {.samples = grid, .image = k ? b : a, .other = k ? a : b, .step = {1, 1, 1}};
        if (!clv_contrast_range(&r))
            return NAN;
        w.least[k] = WINDOW_CONTENT * pow((CLV_CONTRAST_BINS - 1) / r.per_bin, 2);
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
