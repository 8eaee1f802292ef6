/* SPDX-License-Identifier: Apache-2.0 */
#include "register/contrast/meeting.h"

#include <math.h>
#include <stdlib.h>

#include "base/matrix.h"
#include "op/image/resample.h"

double clv_units_apart(const clv_registration *run)
{
    const double scale = cbrt(fabs(clv_matrix_determinant(CLV_MATRIX(run->matrix))));
    return scale >= .5 && scale <= 2 ? 1 : scale;
}

void clv_units_enter(clv_registration *run, clv_own_units *own)
{
    const double units = clv_units_apart(run);
    own->grid = run->moving_grid;
    clv_matrix_copy(CLV_MATRIX(run->matrix), own->matrix);
    for (int i = 0; i < 3 && units != 1; i++)
        for (int j = 0; j < 4; j++) {
            run->moving_grid.to_ras[i][j] /= units;
            run->matrix[i][j] /= units;
        }
}

void clv_units_leave(clv_registration *run, const clv_own_units *own)
{
    run->moving_grid = own->grid;
    clv_matrix_copy(CLV_MATRIX(own->matrix), run->matrix);
}

int clv_contrast_leave_out(clv_registration *run, const clv_buffer *mask, const clvox_grid *mask_grid,
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
    return clv_contrast_leave_out(run, mask, mask_grid, grid, &map, NULL, scratch, values);
}

int clv_contrast_meet(clv_registration *run, const clv_meeting *m, bool moving, float **values)
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
    CLV_TRY(leave_out(run, run->masks.of[moving], own, grid, NULL, scratch, there));
    CLV_TRY(leave_out(run, run->masks.of[!moving], other, grid, CLV_MATRIX(matrix),
                      scratch, there));
end:
    if (status < 0) {
        free(*values);
        *values = NULL;
    }
    return status;
}
