/* SPDX-License-Identifier: Apache-2.0 */
/* A finer mesh of a smooth level set. Marching cubes takes the level set as
 * linear along the voxels' edges; where it bends, that and the chords of large
 * triangles cost more than what is left of the noise. */
#include <math.h>

#include "base/status.h"
#include "pipeline/mesh.h"

enum { MOST_VOXELS = 400000000 };

static float at_line(const float *from, int n, size_t step, int i)
{
    if (i < 0)
        return n > 1 ? 2 * from[0] - from[step] : from[0];
    if (i >= n)
        return n > 1 ? 2 * from[(size_t)(n - 1) * step] - from[(size_t)(n - 2) * step] : from[0];
    return from[(size_t)i * step];
}

/* Doubles the samples of a line by the four-point rule: halfway, a cubic through
 * the four samples around. */
static void double_line(const float *from, int n, size_t step, float *to, size_t to_step)
{
    for (int i = 0; i < n; i++) {
        float a = at_line(from, n, step, i - 1), b = from[(size_t)i * step];
        float c = at_line(from, n, step, i + 1), d = at_line(from, n, step, i + 2);
        to[(size_t)(2 * i) * to_step] = b;
        if (i + 1 < n)
            to[(size_t)(2 * i + 1) * to_step] = (9 * (b + c) - (a + d)) / 16;
    }
}

/* One axis of the volume doubled: 2 n - 1 samples along it. */
static int double_axis(const clvox_volume *in, int axis, clvox_volume **out)
{
    clvox_grid grid = in->grid;
    const int *n = in->grid.size;
    grid.size[axis] = 2 * n[axis] - 1;
    for (int i = 0; i < 3; i++)
        grid.to_ras[i][axis] *= 0.5;
    int status = clvox_volume_create(&grid, 1, CLVOX_KIND_SCALAR, out);
    if (status < 0)
        return status;
    const int *m = grid.size, u = (axis + 1) % 3, v = (axis + 2) % 3;
    const size_t step[3] = {1, (size_t)n[0], (size_t)n[0] * (size_t)n[1]};
    const size_t to_step[3] = {1, (size_t)m[0], (size_t)m[0] * (size_t)m[1]};
    for (int j = 0; j < n[v]; j++)
        for (int i = 0; i < n[u]; i++)
            double_line(in->data + (size_t)i * step[u] + (size_t)j * step[v], n[axis], step[axis],
                        (*out)->data + (size_t)i * to_step[u] + (size_t)j * to_step[v], to_step[axis]);
    return status;
}

/* The part of the grid within `reach` of the surface. */
static int cut(const clvox_volume *in, double reach, clvox_volume **out)
{
    const int *n = in->grid.size;
    int first[3] = {n[0], n[1], n[2]}, last[3] = {-1, -1, -1};
    size_t i = 0;
    for (int z = 0; z < n[2]; z++)
        for (int y = 0; y < n[1]; y++)
            for (int x = 0; x < n[0]; x++, i++)
                if (in->data[i] <= reach) {
                    const int at[3] = {x, y, z};
                    for (int a = 0; a < 3; a++) {
                        first[a] = at[a] < first[a] ? at[a] : first[a];
                        last[a] = at[a] > last[a] ? at[a] : last[a];
                    }
                }
    if (last[0] < 0)
        return clv_fail(CLVOX_ERROR_DATA, "the level set has no inside");
    clvox_grid grid = in->grid;
    for (int a = 0; a < 3; a++) {
        grid.size[a] = last[a] - first[a] + 1;
        for (int r = 0; r < 3; r++)
            grid.to_ras[r][3] += in->grid.to_ras[r][a] * first[a];
    }
    int status = clvox_volume_create(&grid, 1, CLVOX_KIND_SCALAR, out);
    if (status < 0)
        return status;
    float *to = (*out)->data;
    for (int z = first[2]; z <= last[2]; z++)
        for (int y = first[1]; y <= last[1]; y++)
            for (int x = first[0]; x <= last[0]; x++)
                *to++ = in->data[(size_t)x + (size_t)n[0] * ((size_t)y + (size_t)n[1] * (size_t)z)];
    return status;
}

static int refine(const clvox_volume *distance, double reach, clvox_volume **out)
{
    int status = CLVOX_OK;
    clvox_volume *from = NULL, *to = NULL;
    CLV_TRY(cut(distance, reach, &from));
    for (int axis = 0; axis < 3; axis++) {
        CLV_TRY(double_axis(from, axis, &to));
        clvox_volume_destroy(&from);
        from = to;
        to = NULL;
    }
    *out = from;
    from = NULL;
end:
    clvox_volume_destroy(&from);
    clvox_volume_destroy(&to);
    return status;
}

int clv_surface_extract_fine(const clvox_volume *distance, clvox_surface **out)
{
    int status = CLVOX_OK;
    double edge[3];
    clvox_volume *fine = NULL;
    *out = NULL;
    clvox_grid_spacing(&distance->grid, edge);
    if (8 * clvox_grid_voxels(&distance->grid) <= MOST_VOXELS)
        CLV_TRY(refine(distance, 4 * fmax(edge[0], fmax(edge[1], edge[2])), &fine));
    CLV_TRY(clv_surface_extract(fine ? fine : distance, 0, false, out));
end:
    clvox_volume_destroy(&fine);
    return status;
}
