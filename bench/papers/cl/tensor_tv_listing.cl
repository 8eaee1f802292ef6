/* SPDX-License-Identifier: Apache-2.0 */
/* The five kernels of Moazeni et al. 2009, section 3 (GlobalSync), one entry of the tensor a launch, without
 * a mask. Tensors D and factors L are six planes 00 10 20 11 21 22. In global memory: all but what a block of
 * listing_p and the sums of a group share. */
#include "common/group_reduce.clh"
#include "tensor/entries.clh"

#define ITEMS (TILE_X * TILE_Y * TILE_Z)

/* D = L L' of each voxel. */
__kernel void listing_llt(__global const float *l, int n, __global float *d)
{
    int i = get_global_id(0);
    if (i >= n)
        return;
    float a = l[i], b = l[n + i], c = l[2 * n + i], e = l[3 * n + i], f = l[4 * n + i], g = l[5 * n + i];
    d[i] = a * a;
    d[n + i] = b * a;
    d[2 * n + i] = c * a;
    d[3 * n + i] = b * b + e * e;
    d[4 * n + i] = c * b + f * e;
    d[5 * n + i] = c * c + f * f + g * g;
}

/* A group's part of TV[d] of entry c; differences across the border are 0. */
__kernel __attribute__((reqd_work_group_size(TILE_X, TILE_Y, TILE_Z))) void
listing_norm(__global const float *all, int c, int4 size, float4 w, float eps, __global float *partial)
{
    __local float shared[ITEMS];
    int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
    int lane = (get_local_id(2) * TILE_Y + get_local_id(1)) * TILE_X + get_local_id(0);
    int groups = get_num_groups(0) * get_num_groups(1) * get_num_groups(2);
    int group = (get_group_id(2) * get_num_groups(1) + get_group_id(1)) * get_num_groups(0) + get_group_id(0);
    float sum[1] = {0.0f};
    if (x < size.x && y < size.y && z < size.z) {
        __global const float *u = all + c * size.x * size.y * size.z + (z * size.y + y) * size.x + x;
        float gx = x + 1 < size.x ? w.x * (u[1] - u[0]) : 0.0f;
        float gy = y + 1 < size.y ? w.y * (u[size.x] - u[0]) : 0.0f;
        float gz = z + 1 < size.z ? w.z * (u[size.x * size.y] - u[0]) : 0.0f;
        sum[0] = sqrt(gx * gx + gy * gy + gz * gz + eps);
    }
    group_sums(sum, 1, lane, ITEMS, shared);
    if (lane == 0)
        partial[c * groups + group] = shared[0];
}

/* TV[d_ij] / TV[D] of all entries, by one group. */
__kernel __attribute__((reqd_work_group_size(TILE_X, 1, 1))) void
listing_reduction(__global const float *partial, int groups, __global float *weights)
{
    __local float shared[6 * TILE_X];
    int lane = get_local_id(0);
    float sum[6] = {0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f};
    for (int c = 0; c < 6; c++)
        for (int i = lane; i < groups; i += TILE_X)
            sum[c] += partial[c * groups + i];
    group_sums(sum, 6, lane, TILE_X, shared);
    if (lane == 0) {
        float square = 0.0f;
        for (int c = 0; c < 6; c++)
            square += COUNT(c) * shared[c * TILE_X] * shared[c * TILE_X];
        float by = square > 0.0f ? rsqrt(square) : 0.0f;
        for (int c = 0; c < 6; c++)
            weights[c] = by * shared[c * TILE_X];
    }
}

#ifdef CURVATURE
/* P of entry c: its weight times the curvature of Listing 1, whose slopes across a face of two voxels are
 * means of the four there. The listing's arrays are padded, which it does not say: with its indices as they
 * stand the divergence is a forward difference of forward differences, along which a descent climbs. Blocks
 * overlap by a voxel on every side, and wait after each step. */
#define BOX_X (TILE_X + 2)
#define BOX_Y (TILE_Y + 2)
#define CELLS (BOX_X * BOX_Y * (TILE_Z + 2))
#define MEAN(g, i, across, along) \
    (0.25f * ((g)[i] + (g)[(i) - (across)] + (g)[(i) + (along)] + (g)[(i) + (along) - (across)]))

__kernel __attribute__((reqd_work_group_size(TILE_X, TILE_Y, TILE_Z))) void
listing_p(__global const float *all, int c, int4 size, float4 w, float eps, __global const float *weights,
          __global float *p)
{
    __local float u[CELLS], ux[CELLS], uy[CELLS], uz[CELLS];
    const int row = BOX_X, plane = BOX_X * BOX_Y;
    int lane = (get_local_id(2) * TILE_Y + get_local_id(1)) * TILE_X + get_local_id(0);
    int n = size.x * size.y * size.z;
    int x0 = get_group_id(0) * TILE_X - 1, y0 = get_group_id(1) * TILE_Y - 1,
        z0 = get_group_id(2) * TILE_Z - 1;
    for (int q = lane; q < CELLS; q += ITEMS) {
        int x = clamp(x0 + q % row, 0, size.x - 1), y = clamp(y0 + q / row % BOX_Y, 0, size.y - 1);
        int z = clamp(z0 + q / plane, 0, size.z - 1);
        u[q] = all[c * n + (z * size.y + y) * size.x + x];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    /* Beyond the volume the edge value is repeated, so that slopes across its border are 0. */
    for (int q = lane; q < CELLS; q += ITEMS) {
        ux[q] = q % row + 1 < row ? w.x * (u[q + 1] - u[q]) : 0.0f;
        uy[q] = q / row % BOX_Y + 1 < BOX_Y ? w.y * (u[q + row] - u[q]) : 0.0f;
        uz[q] = q / plane + 1 < TILE_Z + 2 ? w.z * (u[q + plane] - u[q]) : 0.0f;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
    if (x >= size.x || y >= size.y || z >= size.z)
        return;
    int own = ((get_local_id(2) + 1) * BOX_Y + get_local_id(1) + 1) * row + get_local_id(0) + 1;
    float curvature = 0.0f;
    for (int side = 0; side < 2; side++) {
        int ix = own - side, iy = own - side * row, iz = own - side * plane;
        float yx = MEAN(uy, ix, row, 1), zx = MEAN(uz, ix, plane, 1), xy = MEAN(ux, iy, 1, row);
        float zy = MEAN(uz, iy, plane, row), xz = MEAN(ux, iz, 1, plane), yz = MEAN(uy, iz, row, plane);
        float normx = ux[ix] * rsqrt(ux[ix] * ux[ix] + yx * yx + zx * zx + eps);
        float normy = uy[iy] * rsqrt(xy * xy + uy[iy] * uy[iy] + zy * zy + eps);
        float normz = uz[iz] * rsqrt(xz * xz + yz * yz + uz[iz] * uz[iz] + eps);
        float by = w.x * normx + w.y * normy + w.z * normz;
        curvature += side ? -by : by;
    }
    p[c * n + (z * size.y + y) * size.x + x] = weights[c] * curvature;
}
#endif

/* Listing 2: entry c of L after a step dt down 2 (lambda (D - f) - P) L. */
__kernel void listing_solver(__global const float *l, __global const float *d, __global const float *f,
                             __global const float *p, int c, int n, float lambda, float dt,
                             __global float *to)
{
    int i = get_global_id(0);
    if (i >= n)
        return;
    /* Entry (row, column), and where those of a row of a symmetric matrix lie. */
    const int rows[6] = {0, 1, 2, 1, 2, 2}, columns[6] = {0, 0, 0, 1, 1, 2};
    const int at[9] = {0, 1, 2, 1, 3, 4, 2, 4, 5};
    float sum = 0.0f;
    for (int k = columns[c]; k < 3; k++) {
        int g = at[3 * rows[c] + k] * n + i;
        sum += (lambda * (d[g] - f[g]) - p[g]) * l[at[3 * columns[c] + k] * n + i];
    }
    to[c * n + i] = l[c * n + i] - 2.0f * dt * sum;
}
