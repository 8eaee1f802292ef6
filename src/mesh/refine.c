/* SPDX-License-Identifier: Apache-2.0 */
/* A finer mesh of a smooth level set. Marching cubes takes the level set as
 * linear along the voxels' edges; where it bends, that and the chords of large
 * triangles cost more than what is left of the noise. */
#include <math.h>

#include "base/status.h"
#include "mesh/mesh.h"
#include "mesh/keep.h"
#include "mesh/topology.h"

static float at_line(const float *from, int n, size_t step, int i)
{
    if (i < 0)
        return n > 1 ? 2 * from[0] - from[step] : from[0];
    if (i >= n)
        return n > 1 ? 2 * from[(size_t)(n - 1) * step] - from[(size_t)(n - 2) * step] : from[0];
    return from[(size_t)i * step];
}

/* Puts factor - 1 samples between every two of a line, by a cubic through the
 * four samples around or linearly. */
static void refine_line(const float *from, int n, size_t step, int factor, bool cubic, float *to,
                        size_t to_step)
{
    for (int k = 0; k < factor; k++) {
        double t = (double)k / factor, left = t + 1, right = t - 1, far = t - 2;
        double w[4] = {-t * right * far / 6, left * right * far / 2, -left * t * far / 2,
                       left * t * right / 6};
        if (!cubic) {
            w[0] = w[3] = 0;
            w[1] = 1 - t;
            w[2] = t;
        }
        for (int i = 0; i < (k ? n - 1 : n); i++) {
            double a = (double)at_line(from, n, step, i - 1), b = (double)at_line(from, n, step, i);
            double c = (double)at_line(from, n, step, i + 1), d = (double)at_line(from, n, step, i + 2);
            to[((size_t)factor * (size_t)i + (size_t)k) * to_step] =
                k ? (float)(w[0] * a + w[1] * b + w[2] * c + w[3] * d) : (float)b;
        }
    }
}

/* One axis of the volume refined: factor (n - 1) + 1 samples along it. */
static int refine_axis(const clvox_volume *in, int axis, int factor, bool cubic, clvox_volume **out)
{
    clvox_grid grid = in->grid;
    const int *n = in->grid.size;
    grid.size[axis] = factor * (n[axis] - 1) + 1;
    for (int i = 0; i < 3; i++)
        grid.to_ras[i][axis] /= factor;
    int status = clvox_volume_create(&grid, 1, CLVOX_KIND_SCALAR, out);
    if (status < 0)
        return status;
    const int *m = grid.size, u = (axis + 1) % 3, v = (axis + 2) % 3;
    const size_t step[3] = {1, (size_t)n[0], (size_t)n[0] * (size_t)n[1]};
    const size_t to_step[3] = {1, (size_t)m[0], (size_t)m[0] * (size_t)m[1]};
    for (int j = 0; j < n[v]; j++)
        for (int i = 0; i < n[u]; i++)
            refine_line(in->data + (size_t)i * step[u] + (size_t)j * step[v], n[axis], step[axis], factor,
                        cubic, (*out)->data + (size_t)i * to_step[u] + (size_t)j * to_step[v], to_step[axis]);
    return status;
}

void clv_surface_box(const clvox_volume *in, double reach, int first[3], int last[3])
{
    const int *n = in->grid.size;
    size_t i = 0;
    for (int z = 0; z < n[2]; z++)
        for (int y = 0; y < n[1]; y++)
            for (int x = 0; x < n[0]; x++, i++)
                if ((double)in->data[i] <= reach) {
                    const int at[3] = {x, y, z};
                    for (int a = 0; a < 3; a++) {
                        first[a] = at[a] < first[a] ? at[a] : first[a];
                        last[a] = at[a] > last[a] ? at[a] : last[a];
                    }
                }
}

static int cut(const clvox_volume *in, const int first[3], const int last[3], clvox_volume **out)
{
    const int *n = in->grid.size;
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

int clv_surface_refine(const clvox_volume *in, const int first[3], const int last[3], int factor, bool cubic,
                       clvox_volume **out)
{
    int status = CLVOX_OK;
    clvox_volume *from = NULL, *to = NULL;
    CLV_TRY(cut(in, first, last, &from));
    for (int axis = 0; axis < 3; axis++) {
        CLV_TRY(refine_axis(from, axis, factor, cubic, &to));
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

static double least_edge(const clvox_grid *grid)
{
    double edge[3];
    clvox_grid_spacing(grid, edge);
    return fmin(edge[0], fmin(edge[1], edge[2]));
}

int clv_surface_simplify(clvox_volume *distance, double depth, long *flipped)
{
    return clv_topology_simplify(distance->grid.size, (float)least_edge(&distance->grid), (float)depth,
                                 distance->data, flipped);
}

int clv_surface_extract_fine(const clvox_volume *distance, clvox_surface **out)
{
    return clv_surface_extract_simple(distance, 0, out, NULL);
}

int clv_surface_extract_simple(const clvox_volume *distance, double depth, clvox_surface **out, long *flipped)
{
    int status = CLVOX_OK, last[3] = {-1, -1, -1};
    int first[3] = {distance->grid.size[0], distance->grid.size[1], distance->grid.size[2]};
    double edge[3];
    clvox_volume *fine = NULL;
    *out = NULL;
    clvox_grid_spacing(&distance->grid, edge);
    if (8 * clvox_grid_voxels(&distance->grid) <= CLV_SURFACE_MOST_VOXELS) {
        clv_surface_box(distance, 4 * fmax(edge[0], fmax(edge[1], edge[2])), first, last);
        if (last[0] < 0)
            return clvox_fail(CLVOX_ERROR_DATA, "the level set has no inside");
        CLV_TRY(clv_surface_refine(distance, first, last, 2, true, &fine));
    } else if (depth > 0) {
        const int *n = distance->grid.size, all[3] = {n[0] - 1, n[1] - 1, n[2] - 1};
        CLV_TRY(clv_surface_refine(distance, (const int[3]){0, 0, 0}, all, 1, true, &fine));
    }
    if (depth > 0)
        CLV_TRY(clv_surface_simplify(fine, depth, flipped));
    CLV_TRY(clvox_surface_extract(fine ? fine : distance, 0, false, out));
end:
    clvox_volume_destroy(&fine);
    return status;
}

int clv_surface_smooth_volume(const clvox_volume *distance, double *volume)
{
    int status = CLVOX_OK;
    clvox_surface *mesh = NULL;
    clvox_surface_facts plain, fine;
    CLV_TRY(clvox_surface_extract(distance, 0, false, &mesh));
    CLV_TRY(clvox_surface_inspect(mesh, &plain));
    clvox_surface_destroy(&mesh);
    CLV_TRY(clv_surface_extract_fine(distance, &mesh));
    CLV_TRY(clvox_surface_inspect(mesh, &fine));
    /* The volume cut off is proportional to the square of the edges, which are halved. */
    *volume = fine.volume + (fine.volume - plain.volume) / 3;
end:
    clvox_surface_destroy(&mesh);
    return status;
}
