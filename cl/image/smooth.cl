/* SPDX-License-Identifier: Apache-2.0 */
/* Convolution with short Gaussians along x, y and z in one pass over memory,
 * border value repeated. COMPONENTS: 3 for vector fields, 1 for scalars.
 * RADIUS_X, _Y, _Z are exact, 0 to 3: the loops over weights unroll, and a NaN
 * reaches no further. On request each work-group also leaves the longest of
 * its vectors.
 * LAST: the build with the last step of that alone. */
#include "common/field_row.clh"
#include "common/group_reduce.clh"

GROUP_REDUCTION(group_most, int, max)

#if LAST
__kernel __attribute__((reqd_work_group_size(TILE_X, TILE_Y, TILE_Z)))
void smooth_longest(__global const int *partial, int count, __global float *state, int slot)
{
    __local int most[TILE_X];
    int lane = get_local_id(0), mine = 0;
    for (int i = lane; i < count; i += TILE_X)
        mine = max(mine, partial[i]);
    most[lane] = mine;
    group_most(most, 1, lane, TILE_X, 1);
    if (lane == 0)
        state[slot] = sqrt(as_float(most[0]));
}
#else

/* Weights, centre first. */
#define WEIGHTS(name, v) const float name[4] = {v.x, v.y, v.z, v.w}

/* The bits of a square: as integers they are in the order of the squares, and
 * a NaN is above all of them, so that it shows in the maximum. */
#define SQUARE_BITS(square) (as_int(square) & 0x7fffffff)

#define SMOOTH_ARGUMENTS                                                                            \
    __global const float *in, __global float *out, int4 size, float4 weights_x, float4 weights_y,   \
        float4 weights_z, float4 scale, __global int *partial

#if ROW_FORM
/* ---- for CPU devices: WIDTH floats of ROWS rows, walked up along z. Each row
 * of a plane is summed along y straight from memory, then along x, and kept
 * until the planes around it are there. */

#define WIDTH ITEM_X /* a multiple of 24, so that a part ends with a voxel and with eight floats */
#define ROWS ITEM_Y /* even */

/* The two rows that the next pair adds: rows of a tile are too short for the
 * hardware to see them come. */
#ifndef PREFETCH /* the driver has no better one */
#define PREFETCH(p) prefetch(p, 8)
#endif

#define RING (2 * RADIUS_Z + 2)
#if COMPONENTS == 3 && FIELD_PACKED
#define INNER 3
#else
#define INNER 1
#endif
#if COMPONENTS == 3 && !FIELD_PACKED
#define VOLUMES 3
#else
#define VOLUMES 1
#endif
#define HALO (RADIUS_X * INNER)

/* Two neighbouring sums of seven at most share most of their loads: what lies
 * at RADIUS + k of near is k steps from the first. */
#define SUM_PAIR(TYPE, RADIUS, near, w, a, b)                                     \
    TYPE a = w[0] * near[RADIUS], b = w[0] * near[RADIUS + 1];                    \
    _Pragma("unroll") for (int k = 1; k <= RADIUS; k++) {                         \
        a += w[k] * (near[RADIUS - k] + near[RADIUS + k]);                        \
        b += w[k] * (near[RADIUS + 1 - k] + near[RADIUS + 1 + k]);                \
    }

/* Elements first to first + count of the rows y and y + 1 of a plane, filtered
 * along y and x. to has room for a multiple of eight. Behind the last row the
 * second is one that nobody asks for. */
static inline void filter_rows(float (*to)[WIDTH], __global const float *plane, int first, int count,
                               int length, int y, int ny, const float *wx, const float *wy)
{
    __global const float *rows[2 * RADIUS_Y + 2];
    float line[2][WIDTH + 2 * HALO + 16];
    for (int k = 0; k < 2 * RADIUS_Y + 2; k++)
        rows[k] = plane + min(max(y + k - RADIUS_Y, 0), ny - 1) * length;
    int low = max(first - HALO, 0), high = min(first + count + HALO, length);
    float *line0 = line[0] + HALO - first, *line1 = line[1] + HALO - first; /* of element 0 */
    int e = low;
    for (; e + 8 <= high; e += 8) {
        float8 near[2 * RADIUS_Y + 2];
#pragma unroll
        for (int k = 0; k < 2 * RADIUS_Y + 2; k++)
            near[k] = LOAD8(rows[k] + e);
        PREFETCH(rows[2 * RADIUS_Y + 1] + e + length);
        PREFETCH(rows[2 * RADIUS_Y + 1] + e + 2 * length);
        SUM_PAIR(float8, RADIUS_Y, near, wy, a, b)
        PUT8(a, line0 + e);
        PUT8(b, line1 + e);
    }
    for (; e < high; e++) {
        float near[2 * RADIUS_Y + 2];
        for (int k = 0; k < 2 * RADIUS_Y + 2; k++)
            near[k] = rows[k][e];
        SUM_PAIR(float, RADIUS_Y, near, wy, a, b)
        line0[e] = a;
        line1[e] = b;
    }
    for (int r = 0; r < 2; r++) {
        float *origin = r ? line1 : line0;
        for (e = -1; e >= first - HALO; e--)
            origin[e] = origin[e + INNER];
        for (e = length; e < first + count + HALO; e++)
            origin[e] = origin[e - INNER];
        for (e = 0; e < count; e += 8) {
            const float *c = line[r] + HALO + e;
            float8 sum = wx[0] * GET8(c);
#pragma unroll
            for (int k = 1; k <= RADIUS_X; k++)
                sum += wx[k] * (GET8(c - k * INNER) + GET8(c + k * INNER));
            PUT8(sum, to[r] + e);
        }
    }
}

static inline void store_part(float8 v, __global float *to, int count)
{
    if (count >= 8) {
        STORE8(v, to);
        return;
    }
    float part[8];
    PUT8(v, part);
    for (int i = 0; i < count; i++)
        to[i] = part[i];
}

/* The largest square in count voxels from i on. */
static inline int longest_in(__global const float *field, int i, int count, int n, float4 scale)
{
    int8 most8 = 0;
    int k = 0;
    for (; k + 8 <= count; k += 8) {
        vec8 v = load_vec8(field, i + k, n);
        v.x *= scale.x;
        v.y *= scale.y;
        v.z *= scale.z;
        float8 square = v.x * v.x + v.y * v.y + v.z * v.z;
        most8 = max(most8, as_int8(square) & 0x7fffffff);
    }
    int4 most4 = max(most8.lo, most8.hi);
    int2 most2 = max(most4.lo, most4.hi);
    int most = max(most2.x, most2.y);
    for (; k < count; k++) {
        float3 v = load_vec(field, i + k, n) * scale.xyz;
        most = max(most, SQUARE_BITS(v.x * v.x + v.y * v.y + v.z * v.z));
    }
    return most;
}

__kernel __attribute__((reqd_work_group_size(TILE_X, TILE_Y, TILE_Z)))
void smooth_row(SMOOTH_ARGUMENTS)
{
    WEIGHTS(wx, weights_x);
    WEIGHTS(wy, weights_y);
    WEIGHTS(wz, weights_z);
    float ring[RING][ROWS][WIDTH]; /* plane z in ring[z % RING] */
    int length = size.x * INNER, plane = length * size.y, n = size.x * size.y * size.z, most = 0;
    int parts = (length + WIDTH - 1) / WIDTH, width = ((length + parts - 1) / parts + 23) / 24 * 24;
    int blocks = (size.y + ROWS - 1) / ROWS, slabs = (size.z + MARCH - 1) / MARCH;
    for (int t = get_group_id(0); t < parts * blocks * slabs; t += get_num_groups(0)) {
        int first = t % parts * width, count = min(width, length - first);
        int y0 = t / parts % blocks * ROWS, y1 = min(y0 + ROWS, size.y);
        int z0 = t / parts / blocks * MARCH, z1 = min(z0 + MARCH, size.z);
        for (int c = 0; c < VOLUMES; c++) {
            int filled = max(z0 - RADIUS_Z, 0);
            for (int z = z0; z < z1; z += 2) {
                for (; filled <= min(z + 1 + RADIUS_Z, size.z - 1); filled++)
                    for (int y = y0; y < y1; y += 2)
                        filter_rows(ring[filled % RING] + (y - y0), in + c * n + filled * plane, first, count,
                                    length, y, size.y, wx, wy);
                for (int y = y0; y < y1; y++) {
                    __global float *to = out + c * n + z * plane + y * length + first;
                    const float *rows[RING];
                    for (int k = 0; k < RING; k++)
                        rows[k] = ring[min(max(z + k - RADIUS_Z, 0), size.z - 1) % RING][y - y0];
                    for (int e = 0; e < count; e += 8) {
                        float8 near[RING];
#pragma unroll
                        for (int k = 0; k < RING; k++)
                            near[k] = GET8(rows[k] + e);
                        SUM_PAIR(float8, RADIUS_Z, near, wz, a, b)
                        store_part(a, to + e, count - e);
                        if (z + 1 < z1)
                            store_part(b, to + plane + e, count - e);
                    }
                }
#if COMPONENTS == 3
                for (int p = z; scale.w != 0.0f && c == VOLUMES - 1 && p < min(z + 2, z1); p++)
                    for (int y = y0; y < y1; y++)
                        most = max(most, longest_in(out, (p * size.y + y) * size.x + first / INNER,
                                                    count / INNER, n, scale));
#endif
            }
        }
    }
    if (scale.w != 0.0f)
        partial[get_group_id(0)] = most;
}

#else
/* ---- for GPUs: a work-group walks up MARCH planes. Each plane of the tile and
 * its halo comes to local memory, is filtered along x there, four neighbours a
 * work-item, then along y into registers, ROWS neighbours a work-item; there
 * every value is added to all the outputs along z that it reaches. The next plane is on
 * its way meanwhile: without that half of the time is spent waiting. */

#define ROWS ITEM_Y
#define ITEMS (TILE_X * TILE_Y)
#define HEIGHT (ROWS * TILE_Y + 2 * RADIUS_Y)
#define WIDTH (TILE_X + 2 * RADIUS_X)
#define PITCH ((WIDTH + 3) / 4 * 4)
#define REACH (2 * RADIUS_Z)
#define SLOTS ((HEIGHT * WIDTH + ITEMS - 1) / ITEMS) /* voxels of a plane that an item brings */

#if COMPONENTS == 3
#define AT(i, c, n) VEC_AT(i, c, n)
#else
#define AT(i, c, n) (i)
#endif

/* Neighbours along x that a work-item filters at once. */
#if TILE_X % 4 == 0
#define QUAD 4
#else
#define QUAD 1
#endif

__kernel __attribute__((reqd_work_group_size(TILE_X, TILE_Y, TILE_Z)))
void smooth_march(SMOOTH_ARGUMENTS)
{
    __local float raw[COMPONENTS * HEIGHT * PITCH] __attribute__((aligned(16)));
    __local float mid[COMPONENTS * HEIGHT * TILE_X] __attribute__((aligned(16)));
    __local int longest[ITEMS];
    WEIGHTS(wx, weights_x);
    WEIGHTS(wy, weights_y);
    WEIGHTS(wz, weights_z);
    int lx = get_local_id(0), ly = get_local_id(1), item = ly * TILE_X + lx;
    int plane = size.x * size.y, n = plane * size.z, most = 0;
    int columns = (size.x + TILE_X - 1) / TILE_X;
    int blocks = (size.y + ROWS * TILE_Y - 1) / (ROWS * TILE_Y);
    int slabs = (size.z + MARCH - 1) / MARCH;
    for (int t = get_group_id(0); t < columns * blocks * slabs; t += get_num_groups(0)) {
        int x0 = t % columns * TILE_X, y0 = t / columns % blocks * ROWS * TILE_Y;
        int z0 = t / columns / blocks * MARCH, z1 = min(z0 + MARCH, size.z);
        int x = x0 + lx, y = y0 + ROWS * ly;
        float open[COMPONENTS][ROWS][REACH + 1]; /* sums of the planes z - RADIUS_Z on */
#pragma unroll
        for (int c = 0; c < COMPONENTS; c++)
#pragma unroll
            for (int r = 0; r < ROWS; r++)
#pragma unroll
                for (int k = 0; k <= REACH; k++)
                    open[c][r][k] = 0.0f;
        int from[SLOTS];
        float ahead[COMPONENTS][SLOTS];
#pragma unroll
        for (int s = 0; s < SLOTS; s++) {
            int i = item + s * ITEMS, row = i / WIDTH, column = i - row * WIDTH;
            from[s] = min(max(y0 - RADIUS_Y + row, 0), size.y - 1) * size.x +
                      min(max(x0 - RADIUS_X + column, 0), size.x - 1);
        }
#define BRING(k)                                                                   \
    {                                                                              \
        int base = min(max(k, 0), size.z - 1) * plane;                             \
        _Pragma("unroll") for (int s = 0; s < SLOTS; s++)                          \
            _Pragma("unroll") for (int c = 0; c < COMPONENTS; c++) ahead[c][s] =   \
                in[AT(base + from[s], c, n)];                                      \
    }
        BRING(z0 - RADIUS_Z)
        for (int z = z0 - RADIUS_Z; z < z1 + RADIUS_Z; z++) {
#pragma unroll
            for (int s = 0; s < SLOTS; s++) {
                int i = item + s * ITEMS, row = i / WIDTH, column = i - row * WIDTH;
#pragma unroll
                for (int c = 0; c < COMPONENTS; c++)
                    if (i < HEIGHT * WIDTH)
                        raw[(c * HEIGHT + row) * PITCH + column] = ahead[c][s];
            }
            barrier(CLK_LOCAL_MEM_FENCE);
            for (int i = item; i < COMPONENTS * HEIGHT * (TILE_X / QUAD); i += ITEMS) {
                int row = i / (TILE_X / QUAD), column = (i - row * (TILE_X / QUAD)) * QUAD;
                __local const float *from = raw + row * PITCH + column;
                float near[(QUAD + 2 * RADIUS_X + 3) / 4 * 4], made[4];
#if QUAD == 4
#pragma unroll
                for (int k = 0; k < (QUAD + 2 * RADIUS_X + 3) / 4; k++) {
                    float4 part = ((__local const float4 *)from)[k];
                    near[4 * k] = part.x;
                    near[4 * k + 1] = part.y;
                    near[4 * k + 2] = part.z;
                    near[4 * k + 3] = part.w;
                }
#else
                for (int k = 0; k <= 2 * RADIUS_X; k++)
                    near[k] = from[k];
#endif
#pragma unroll
                for (int m = 0; m < QUAD; m++) {
                    made[m] = wx[0] * near[RADIUS_X + m];
#pragma unroll
                    for (int k = 1; k <= RADIUS_X; k++)
                        made[m] += wx[k] * (near[RADIUS_X + m - k] + near[RADIUS_X + m + k]);
                }
#if QUAD == 4
                *(__local float4 *)(mid + row * TILE_X + column) =
                    (float4)(made[0], made[1], made[2], made[3]);
#else
                mid[row * TILE_X + column] = made[0];
#endif
            }
            barrier(CLK_LOCAL_MEM_FENCE);
            if (z + 1 < z1 + RADIUS_Z)
                BRING(z + 1)
            float made[COMPONENTS][ROWS];
#pragma unroll
            for (int c = 0; c < COMPONENTS; c++) {
                float near[ROWS + 2 * RADIUS_Y];
#pragma unroll
                for (int k = 0; k < ROWS + 2 * RADIUS_Y; k++)
                    near[k] = mid[(c * HEIGHT + ROWS * ly + k) * TILE_X + lx];
#pragma unroll
                for (int r = 0; r < ROWS; r++) {
                    float sum = wy[0] * near[RADIUS_Y + r];
#pragma unroll
                    for (int k = 1; k <= RADIUS_Y; k++)
                        sum += wy[k] * (near[RADIUS_Y + r - k] + near[RADIUS_Y + r + k]);
                    made[c][r] = open[c][r][0] + wz[RADIUS_Z] * sum;
#pragma unroll
                    for (int k = 0; k < REACH; k++) {
                        int away = k < RADIUS_Z ? RADIUS_Z - 1 - k : k + 1 - RADIUS_Z;
                        open[c][r][k] = open[c][r][k + 1] + wz[away] * sum;
                    }
                }
            }
            if (z - RADIUS_Z >= z0 && x < size.x) {
#pragma unroll
                for (int r = 0; r < ROWS; r++)
                    if (y + r < size.y) {
                        int to = (z - RADIUS_Z) * plane + (y + r) * size.x + x;
#pragma unroll
                        for (int c = 0; c < COMPONENTS; c++)
                            out[AT(to, c, n)] = made[c][r];
#if COMPONENTS == 3
                        float3 v = (float3)(made[0][r], made[1][r], made[2][r]) * scale.xyz;
                        most = max(most, SQUARE_BITS(v.x * v.x + v.y * v.y + v.z * v.z));
#endif
                    }
            }
        }
    }
    longest[item] = most;
    group_most(longest, 1, item, ITEMS, 1);
    if (scale.w != 0.0f && item == 0)
        partial[get_group_id(0)] = longest[0];
}
#endif
#endif
