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

static size_t place_of(const padded *p, const clvox_grid *grid, size_t voxel)
{
    const size_t n[2] = {(size_t)grid->size[0], (size_t)grid->size[1]};
    int margin[3];
    for (int a = 0; a < 3; a++)
        margin[a] = (p->size[a] - grid->size[a]) / 2;
    const size_t x = voxel % n[0] + (size_t)margin[0], y = voxel / n[0] % n[1] + (size_t)margin[1],
                 z = voxel / n[0] / n[1] + (size_t)margin[2];
    return (z * (size_t)p->size[1] + y) * (size_t)p->size[0] + x;
}

/* All within so many mm of a mark, then all of them farther than that from the rest. */
static int close_gaps(padded *p, double mm)
{
    int status = CLVOX_OK;
    for (int pass = 0; pass < 2; pass++) {
        CLV_TRY(clv_distance_squared(p->mark, p->size, p->spacing, p->squared));
        for (size_t i = 0; i < p->voxels; i++)
            p->mark[i] = p->squared[i] <= mm * mm * (1 + 1e-9); /* in the second pass: the rest, grown */
        for (size_t i = 0; i < p->voxels; i++)
            p->mark[i] = !p->mark[i];
    }
end:
    return status;
}

/* Marks what is not joined with the first voxel, across faces. */
static int fill_holes(padded *p)
{
    const ptrdiff_t step[3] = {1, p->size[0], (ptrdiff_t)p->size[0] * p->size[1]};
    size_t *stack = clv_array(p->voxels, sizeof *stack), used = 0;
    if (!stack)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    enum { REST, BRAIN, OUTSIDE };
    p->mark[0] = OUTSIDE;
    stack[used++] = 0;
    while (used) {
        const size_t at = stack[--used];
        for (int a = 0; a < 3; a++) {
            const int here = (int)(at / (size_t)step[a]) % p->size[a];
            for (int way = -1; way <= 1; way += 2) {
                const size_t next = at + (size_t)(way * step[a]);
                if (here + way >= 0 && here + way < p->size[a] && p->mark[next] == REST) {
                    p->mark[next] = OUTSIDE;
                    stack[used++] = next;
                }
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
    const size_t n = clvox_grid_voxels(&mask->grid);
    padded p = {.voxels = 1};
    clvox_grid_spacing(&mask->grid, p.spacing);
    for (int a = 0; a < 3; a++) {
        const int margin =
            mask->grid.size[a] > 1 ? (int)(close_mm / p.spacing[a] + 2) : 0; /* a slice stays one */
        p.size[a] = mask->grid.size[a] + 2 * margin;
        p.voxels = clv_times(p.voxels, (size_t)p.size[a]);
    }
    p.mark = calloc(p.voxels, 1);
    p.squared = close_mm > 0 ? clv_array(p.voxels, sizeof *p.squared) : NULL;
    if (!p.mark || (close_mm > 0 && !p.squared)) {
        status = clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
        goto end;
    }
    for (size_t i = 0; i < n; i++)
        p.mark[place_of(&p, &mask->grid, i)] = mask->data[i] > 0;
    if (close_mm > 0)
        CLV_TRY(close_gaps(&p, close_mm));
    CLV_TRY(fill_holes(&p));
    for (size_t i = 0; i < n; i++)
        mask->data[i] = p.mark[place_of(&p, &mask->grid, i)];
end:
    free(p.mark);
    free(p.squared);
    return status;
}
