/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>

#include "base/status.h"
#include "mesh/mesh.h"

enum { VOXELS_ALONG = 192 };

/* A grid along R, A and S around both surfaces, its cubes a 192nd of the longest edge. */
static void grid_around(const clvox_surface_facts facts[2], clvox_grid *grid)
{
    double low[3], high[3], longest = 0;
    *grid = (clvox_grid){.size = {1, 1, 1}};
    for (int k = 0; k < 3; k++) {
        low[k] = fmin(facts[0].bounds[0][k], facts[1].bounds[0][k]);
        high[k] = fmax(facts[0].bounds[1][k], facts[1].bounds[1][k]);
        longest = fmax(longest, high[k] - low[k]);
    }
    double edge = longest > 0 ? longest / VOXELS_ALONG : 1;
    for (int k = 0; k < 3; k++) {
        grid->size[k] = (int)ceil((high[k] - low[k]) / edge) + 2;
        grid->to_ras[k][k] = edge;
        grid->to_ras[k][3] = low[k] - edge / 2;
    }
    grid->to_ras[3][3] = 1;
}

int clvox_surface_overlap(const clvox_surface *a, const clvox_surface *b, double *dice)
{
    CLV_GIVEN(a, b, dice);
    int status = CLVOX_OK;
    clvox_surface_facts facts[2];
    clvox_grid grid;
    unsigned char *in_a = NULL, *in_b = NULL;
    size_t n, both = 0, sum = 0;
    CLV_TRY(clvox_surface_inspect(a, &facts[0]));
    CLV_TRY(clvox_surface_inspect(b, &facts[1]));
    grid_around(facts, &grid);
    n = clvox_grid_voxels(&grid);
    in_a = malloc(n);
    in_b = malloc(n);
    if (!in_a || !in_b) {
        status = clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory to compare surfaces");
        goto end;
    }
    CLV_TRY(clv_surface_inside(a, &grid, in_a));
    CLV_TRY(clv_surface_inside(b, &grid, in_b));
    for (size_t i = 0; i < n; i++) {
        both += in_a[i] && in_b[i];
        sum += (size_t)in_a[i] + in_b[i];
    }
    *dice = sum ? 2 * (double)both / (double)sum : NAN;
end:
    free(in_a);
    free(in_b);
    return status;
}
