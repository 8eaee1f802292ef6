/* SPDX-License-Identifier: Apache-2.0 */
#include "segment/brain.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/status.h"
#include "image/compare.h"

/* Marks of a grid with a margin all around it, in which what lies outside the brain is joined. */
typedef struct padded {
    int size[3];
    size_t voxels;
    unsigned char *mark;
    double spacing[3], *squared; /* mm^2 to the nearest mark */
} padded;

/* Where a row of the grid begins. */
static size_t row_of(const padded *p, const int size[3], int y, int z)
{
    int margin[3];
    for (int a = 0; a < 3; a++)
        margin[a] = (p->size[a] - size[a]) / 2;
    return ((size_t)(z + margin[2]) * (size_t)p->size[1] + (size_t)(y + margin[1])) * (size_t)p->size[0] +
           (size_t)margin[0];
}

/* All within so many mm of a mark, then all of them farther than that from the rest. */
static int close_gaps(padded *p, double mm)
{
    int status = CLVOX_OK;
    for (int pass = 0; pass < 2; pass++) {
        CLV_TRY(clv_distance_squared(p->mark, p->size, p->spacing, p->squared));
        for (size_t i = 0; i < p->voxels; i++)
            p->mark[i] = !(p->squared[i] <= mm * mm * (1 + 1e-9)); /* in turn the rest, and the brain */
    }
end:
    return status;
}

/* Marks what is not joined with the outermost voxels across faces. The margin is two voxels wide: its outer
 * layer ends the search. */
static int fill_holes(padded *p)
{
    enum { REST, BRAIN, OUTSIDE };
    const ptrdiff_t step[3] = {1, p->size[0], (ptrdiff_t)p->size[0] * p->size[1]};
    size_t *stack = clv_array(p->voxels, sizeof *stack), used = 0, first = 0;
    ptrdiff_t way[6];
    int ways = 0;
    if (!stack)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    for (int a = 0; a < 3; a++) {
        if (p->size[a] == 1)
            continue;
        first += (size_t)step[a];
        way[ways++] = step[a];
        way[ways++] = -step[a];
        const int u = a ? 0 : 1, v = a == 2 ? 1 : 2;
        for (int i = 0; i < p->size[v]; i++)
            for (int k = 0; k < p->size[u]; k++) {
                unsigned char *line = p->mark + (i * step[v] + k * step[u]);
                line[0] = line[(p->size[a] - 1) * step[a]] = OUTSIDE;
            }
    }
    p->mark[first] = OUTSIDE;
    stack[used++] = first;
    while (used) {
        const size_t at = stack[--used];
        for (int w = 0; w < ways; w++) {
            const size_t next = at + (size_t)way[w];
            if (p->mark[next] == REST) {
                p->mark[next] = OUTSIDE;
                stack[used++] = next;
            }
        }
    }
    for (size_t i = 0; i < p->voxels; i++)
        p->mark[i] = p->mark[i] != OUTSIDE;
    free(stack);
    return CLVOX_OK;
}

int clv_brain_fill(clvox_volume *mask, double close_mm)
{
    int status = CLVOX_OK;
    const int *n = mask->grid.size;
    float *value = mask->data;
    padded p = {.voxels = 1};
    clvox_grid_spacing(&mask->grid, p.spacing);
    for (int a = 0; a < 3; a++) {
        const int margin = n[a] > 1 ? (int)(close_mm / p.spacing[a] + 2) : 0; /* a slice stays one */
        p.size[a] = n[a] + 2 * margin;
        p.voxels = clv_times(p.voxels, (size_t)p.size[a]);
    }
    p.mark = calloc(p.voxels, 1);
    p.squared = close_mm > 0 ? clv_array(p.voxels, sizeof *p.squared) : NULL;
    if (!p.mark || (close_mm > 0 && !p.squared)) {
        status = clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
        goto end;
    }
    for (int z = 0; z < n[2]; z++)
        for (int y = 0; y < n[1]; y++)
            for (size_t at = row_of(&p, n, y, z), end = at + (size_t)n[0]; at < end; at++)
                p.mark[at] = *value++ > 0;
    if (close_mm > 0)
        CLV_TRY(close_gaps(&p, close_mm));
    CLV_TRY(fill_holes(&p));
    value = mask->data;
    for (int z = 0; z < n[2]; z++)
        for (int y = 0; y < n[1]; y++)
            for (size_t at = row_of(&p, n, y, z), end = at + (size_t)n[0]; at < end; at++)
                *value++ = p.mark[at];
end:
    free(p.mark);
    free(p.squared);
    return status;
}
