/* SPDX-License-Identifier: Apache-2.0 */
/* Squared correlation in windows. BOX: of any radius; else of 2 RADIUS + 1
 * voxels, RADIUS being at most 4. */
#include "common/group_reduce.clh"

#if BOX
#include "match/lncc_box.clh"
#elif ROWS
#include "match/lncc_row.clh"
#elif TOTAL
/* Adds the pairs of partial, in an order that their number alone fixes. */
__kernel __attribute__((reqd_work_group_size(TILE_X, TILE_Y, TILE_Z)))
void lncc_total(__global const float *partial, int groups, __global float *out, int slot)
{
    __local float cell[2 * TILE_X];
    int item = get_local_id(0);
    float sum = 0.0f, lost = 0.0f, count = 0.0f;
    for (int i = item; i < groups; i += TILE_X) {
        float2 one = vload2(i, partial);
        float y = one.x - lost, t = sum + y;
        lost = (t - sum) - y;
        sum = t;
        count += one.y;
    }
    cell[item] = sum;
    cell[TILE_X + item] = count;
    group_fold(cell, 2, item, TILE_X, 1);
    if (item == 0) {
        out[slot] = cell[0];
        out[slot + 1] = cell[TILE_X];
    }
}
#else
typedef float real;
typedef int truth;
#include "match/lncc.clh"

/* A work-item holds a column of TALL voxels and the RADIUS beyond either end,
 * as running sums over the window's planes, and walks up tile.z planes: a plane
 * comes in, one goes out. Wide windows share more of a taller column, narrow ones
 * leave more work-items in flight. Each plane's sums along y come from registers, those
 * along x through local memory. The outermost RADIUS work-items on either side
 * give no output. */
#define SPAN (TALL + 2 * RADIUS)

/* Adds (sign 1) or takes away (sign -1) plane p of the column x from row y on.
 * What is outside is read at the nearest place and not counted, which lets all
 * reads go out at once. */
INLINED void change(float (*z)[SPAN], __global const float *fixed, __global const float *moving,
                    __global const float *terms, int4 size, float2 from, int x, int y, int p, bool column,
                    float sign)
{
#pragma unroll
    for (int j = 0; j < SPAN; j++) {
        int i = (p * size.y + clamp(y + j, 0, size.y - 1)) * size.x + x;
        bool inside = column && y + j >= 0 && y + j < size.y;
#if DERIVATIVE
        size_t n = (size_t)size.x * size.y * size.z;
#pragma unroll
        for (int q = 0; q < SUMS; q++) {
            float v = (terms + q * n)[i];
            z[q][j] += inside ? sign * v : 0.0f;
        }
#else
        float f = fixed[i], m = moving[i];
        bool valid = inside & (fabs(f) < INFINITY) & (fabs(m) < INFINITY);
        f = valid ? f - from.x : 0.0f;
        m = valid ? m - from.y : 0.0f;
        z[0][j] += valid ? sign : 0.0f;
        z[1][j] += sign * f;
        z[2][j] += sign * m;
        z[3][j] += sign * f * f;
        z[4][j] += sign * m * m;
        z[5][j] += sign * f * m;
#endif
    }
}

__kernel __attribute__((reqd_work_group_size(TILE_X, TILE_Y, TILE_Z)))
void lncc_march(LNCC_ARGUMENTS)
{
    __local float cell[SUMS * TALL * TILE_X];
    int lane = get_local_id(0);
    int across = TILES_ALONG(size.x, tile.x), down = TILES_ALONG(size.y, TALL);
    int tiles = across * down * TILES_ALONG(size.z, tile.z);
    float total = 0.0f, count = 0.0f;
    for (int t = get_group_id(0); t < tiles; t += get_num_groups(0)) {
        int row = t / across, x0 = (t - row * across) * tile.x;
        int y0 = row % down * TALL, z0 = row / down * tile.z, z1 = min(z0 + tile.z, size.z);
        int x = x0 - RADIUS + lane;
        bool column = x >= 0 && x < size.x && lane < tile.x + 2 * RADIUS;
        bool makes = lane < tile.x && x0 + lane < size.x;
        x = clamp(x, 0, size.x - 1);
        float2 from = 0.0f;
#if !DERIVATIVE
        from = reference_at(fixed, moving,
                            (min((z0 + z1) / 2, size.z - 1) * size.y + min(y0 + TALL / 2, size.y - 1)) *
                                    size.x + min(x0 + tile.x / 2, size.x - 1));
#endif
        float z[SUMS][SPAN];
#pragma unroll
        for (int q = 0; q < SUMS; q++)
#pragma unroll
            for (int j = 0; j < SPAN; j++)
                z[q][j] = 0.0f;
#define CHANGE(p, sign) change(z, fixed, moving, terms, size, from, x, y0 - RADIUS, p, column, sign)
        for (int p = max(z0 - RADIUS, 0); p < min(z0 + RADIUS, size.z); p++)
            CHANGE(p, 1.0f);
        for (int k = z0; k < z1; k++) {
            if (k + RADIUS < size.z)
                CHANGE(k + RADIUS, 1.0f);
#pragma unroll
            for (int q = 0; q < SUMS; q++) {
                float sum = 0.0f;
#pragma unroll
                for (int j = 0; j < 2 * RADIUS; j++)
                    sum += z[q][j];
#pragma unroll
                for (int j = 0; j < TALL; j++) {
                    sum += z[q][j + 2 * RADIUS];
                    cell[(q * TALL + j) * TILE_X + lane] = sum;
                    sum -= z[q][j];
                }
            }
            barrier(CLK_LOCAL_MEM_FENCE);
            for (int j = 0; makes && j < TALL && y0 + j < size.y; j++) {
                int i = (k * size.y + y0 + j) * size.x + x0 + lane;
                float f = fixed[i], m = moving[i], s[SUMS];
                window w;
#pragma unroll
                for (int q = 0; q < SUMS; q++) {
                    __local const float *c = cell + (q * TALL + j) * TILE_X + lane;
                    s[q] = c[0];
#pragma unroll
                    for (int d = 1; d <= 2 * RADIUS; d++)
                        s[q] += c[d];
                }
#if DERIVATIVE
                derivatives_of(s, f, m, &w);
#else
                window_of(s, f, m, from, epsilon, &w);
                total += w.cc;
                count += w.valid;
#endif
#if DERIVATIVE || LOCAL
                derivative_moving[i] = w.derivative_moving;
#if BOTH
                derivative_fixed[i] = w.derivative_fixed;
#endif
#else
                size_t n = (size_t)size.x * size.y * size.z;
#pragma unroll
                for (int q = 0; q < TERMS; q++)
                    (terms + q * n)[i] = w.term[q];
#endif
            }
            barrier(CLK_LOCAL_MEM_FENCE);
            if (k - RADIUS >= 0)
                CHANGE(k - RADIUS, -1.0f);
        }
    }
#if !DERIVATIVE
    /* Barriers stay outside of conditions, partial or not. */
    cell[lane] = total;
    cell[TILE_X + lane] = count;
    group_fold(cell, 2, lane, TILE_X, 1);
    if (partial && lane == 0)
        vstore2((float2)(cell[0], cell[TILE_X]), get_group_id(0), partial);
#endif
}

#endif
