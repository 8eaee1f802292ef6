/* SPDX-License-Identifier: Apache-2.0 */
/* Candidates of each row are compared directly and the best of them and of
 * those before kept: ascending by distance, then by index. */
#include "nlm_search.clh"

enum { KEYS = 1024, LONGEST = 352 };
/* Work-items that share a candidate, candidates compared at a time. */
enum { SHARERS = 8, AT_ONCE = TILE_X };

/* Rows of blocks first and on. n: positions in use, stride, positions in a
 * block, neighbours. at: patches, order, lists, counts. A work-group a row. */
__kernel __attribute__((reqd_work_group_size(TILE_X, 1, 1))) void
nlm_keep_groups(__global float *scratch, __global int *neighbours, __global float *distances, int4 n, int4 at,
                int first)
{
    __local ulong keys[KEYS];
    __local float own[LONGEST] __attribute__((aligned(16)));
    __local float parts[AT_ONCE * (SHARERS + 1)];
    int lane = get_local_id(0), row = get_group_id(0), s = first * n.z + row, most = n.w, stride = n.y;
    __global const float *patches = REGION(scratch, at.x);
    __global const int *order = INT_REGION(scratch, at.y);
    __global const int *list = INT_REGION(scratch, at.z) + (size_t)row * CAPACITY;
    int count = s < n.x ? min(INT_REGION(scratch, at.w)[row], (int)CAPACITY) : 0, size = 1;
    size_t out = s < n.x ? (size_t)order[s] * most : 0;
    while (size < most + count)
        size *= 2;
    size = count > 0 ? size : 1;
    for (int k = lane; k < stride && count > 0; k += TILE_X)
        own[k] = patches[(size_t)s * stride + k];
    for (int i = lane; i < size && count > 0; i += TILE_X) {
        ulong key = ~0UL;
        if (i < most)
            key = (ulong)as_uint(distances[out + i]) << 32 | as_uint(neighbours[out + i]);
        keys[i] = key;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int base = 0; base < count; base += AT_ONCE) {
        for (int i = lane / SHARERS; i < AT_ONCE && base + i < count; i += TILE_X / SHARERS) {
            __global const float *other = patches + (size_t)list[base + i] * stride;
            float4 sum = (float4)(0.0f);
            for (int k = lane % SHARERS * 4; k < stride; k += SHARERS * 4) {
                float4 d = *(__local const float4 *)(own + k) - *(__global const float4 *)(other + k);
                sum += d * d;
            }
            parts[i * (SHARERS + 1) + lane % SHARERS] = (sum.x + sum.z) + (sum.y + sum.w);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int i = lane; i < AT_ONCE && base + i < count; i += TILE_X) {
            float d = 0.0f;
            for (int k = 0; k < SHARERS; k++)
                d += parts[i * (SHARERS + 1) + k];
            if (d < INFINITY)
                keys[most + base + i] = (ulong)as_uint(d) << 32 | (uint)order[list[base + i]];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    for (int run = 2; run <= size; run *= 2)
        for (int gap = run / 2; gap > 0; gap /= 2) {
            for (int i = lane; i < size / 2; i += TILE_X) {
                int low = i / gap * gap * 2 + i % gap;
                ulong a = keys[low], b = keys[low + gap];
                if ((a > b) == ((low & run) == 0)) {
                    keys[low] = b;
                    keys[low + gap] = a;
                }
            }
            barrier(CLK_LOCAL_MEM_FENCE);
        }
    for (int i = lane; i < most && count > 0; i += TILE_X) {
        distances[out + i] = as_float((uint)(keys[i] >> 32));
        neighbours[out + i] = as_int((uint)keys[i]);
    }
    if (lane == 0)
        INT_REGION(scratch, at.w)[row] = 0;
}

/* The same, a work-item a row. */
__kernel void nlm_keep_rows(__global float *scratch, __global int *neighbours, __global float *distances,
                            int4 n, int4 at, int first)
{
    int row = get_global_id(0), s = first * n.z + row, most = n.w, stride = n.y;
    __global const float *patches = REGION(scratch, at.x);
    __global const int *order = INT_REGION(scratch, at.y);
    __global const int *list = INT_REGION(scratch, at.z) + (size_t)row * CAPACITY;
    __global int *counts = INT_REGION(scratch, at.w);
    int count = s < n.x ? min(counts[row], (int)CAPACITY) : 0;
    if (count == 0)
        return;
    __global float *distance = distances + (size_t)order[s] * most;
    __global int *neighbour = neighbours + (size_t)order[s] * most;
    for (int i = 0; i < most / 2; i++) { /* descending: the largest is on top of the heap */
        float d = distance[i];
        int j = neighbour[i];
        distance[i] = distance[most - 1 - i];
        neighbour[i] = neighbour[most - 1 - i];
        distance[most - 1 - i] = d;
        neighbour[most - 1 - i] = j;
    }
    for (int i = 0; i < count; i++) {
        int c = list[i];
        float d = direct(patches + (size_t)s * stride, patches + (size_t)c * stride, stride);
        if (d < distance[0] || (d == distance[0] && order[c] < neighbour[0]))
            sink(distance, neighbour, most, d, order[c]);
    }
    unheap(distance, neighbour, most);
    counts[row] = 0;
}

/* Position of the first voxel of the band at or after voxel v. */
static inline int lower_bound(__global const int *band, int n, int v)
{
    int low = 0, high = n;
    while (low < high) {
        int middle = (low + high) / 2;
        int less = band[middle] < v;
        low = less ? middle + 1 : low;
        high = less ? high : middle;
    }
    return low;
}

/* Appends the band's voxels within reach of each row's voxel to its list, as
 * many as it holds; cursors (line of voxels, 1 + position in the
 * band or 0) say where to go on, line -1 where all is done. Positions are
 * indices here. size: the grid. at: lists,
 * counts, cursors, unfinished rows. A work-item a row. */
__kernel void nlm_reach(__global float *scratch, __global const int *band, int4 size, int n, int4 at,
                        int first, int rows, float reach)
{
    int row = get_global_id(0), s = first + row;
    if (row >= rows || s >= n)
        return;
    __global int *list = INT_REGION(scratch, at.x) + (size_t)row * CAPACITY;
    __global int *cursor = INT_REGION(scratch, at.z) + 2 * row;
    int line = cursor[0], next = cursor[1] - 1, count = 0;
    int x = band[s] % size.x, y = band[s] / size.x % size.y, z = band[s] / (size.x * size.y);
    int r = (int)min(reach, 1e6f), y0 = max(y - r, 0), y1 = min(y + r, size.y - 1);
    int z0 = max(z - r, 0), z1 = min(z + r, size.z - 1), wide = y1 - y0 + 1;
    for (; line >= 0 && line < wide * (z1 - z0 + 1) && count < CAPACITY; line++) {
        int ly = y0 + line % wide, lz = z0 + line / wide;
        float left = reach * reach - (float)((ly - y) * (ly - y)) - (float)((lz - z) * (lz - z));
        int span = left < 0.0f ? -1 : (int)min(sqrt(left), 1e6f);
        span += (float)((span + 1) * (span + 1)) <= left && span >= 0 ? 1 : 0;
        span -= (float)(span * span) > left && span >= 0 ? 1 : 0;
        int start = (lz * size.y + ly) * size.x, from = start + max(x - span, 0);
        int last = span < 0 ? -1 : start + min(x + span, size.x - 1);
        int l = span < 0 ? n : next >= 0 ? next : lower_bound(band, n, from);
        next = -1;
        for (; l < n && band[l] <= last && count < CAPACITY; l++)
            if (l != s)
                list[count++] = l;
        if (l < n && band[l] <= last) {
            next = l;
            break;
        }
    }
    int done = line < 0 || line >= wide * (z1 - z0 + 1);
    cursor[0] = done ? -1 : line;
    cursor[1] = next + 1;
    INT_REGION(scratch, at.y)[row] = count;
    if (!done)
        INT_REGION(scratch, at.w)[0] = 1;
}
