/* SPDX-License-Identifier: Apache-2.0 */
/* Non-local means of a narrow band. Its patches are the rows of a matrix of
 * `stride` floats a row: the samples, x fastest, then zeros. */
#include "common/field_row.clh"
#include "common/grid.clh"
#include "common/group_reduce.clh"
#include "common/group_scan.clh"
#include "surface/extrapolate.clh"

/* ---- the band ----------------------------------------------------------- */

/* The band is listed by chunks of CHUNK voxels: a work-group each, with a word of bits a work-item; on CPU
 * devices a work-item each. */
#ifdef CHUNK
#if TILE_X > 1 && CHUNK != 32 * TILE_X
#error a work-item has the bits of 32 voxels of its chunk
#endif
#define FOURS 8 /* of those voxels */
#if TILE_X > 1
__kernel __attribute__((reqd_work_group_size(TILE_X, 1, 1))) void
nlm_count(__global const float *phi, int n, float delta, __global int *ends)
{
    __local int total;
    int lane = get_local_id(0), first = get_group_id(0) * CHUNK, last = first + min(CHUNK, n - first);
    int count = 0;
    if (lane == 0)
        total = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (last - first == CHUNK) {
        __global const float4 *four = (__global const float4 *)(phi + first);
#pragma unroll
        for (int k = 0; k < FOURS; k++) {
            int4 in = fabs(four[lane + k * TILE_X]) <= delta;
            count -= in.x + in.y + in.z + in.w;
        }
    } else {
        for (int i = first + lane; i < last; i += TILE_X)
            count += fabs(phi[i]) <= delta;
    }
    if (count)
        atomic_add(&total, count);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lane == 0)
        ends[get_group_id(0)] = total;
}
#else
__kernel void nlm_count(__global const float *phi, int n, float delta, __global int *ends)
{
    int first = get_global_id(0) * CHUNK, last = first + min(CHUNK, n - first), count = 0;
    for (int i = first; i < last; i++)
        count += fabs(phi[i]) <= delta;
    ends[get_global_id(0)] = count;
}
#endif
#endif

static inline int sum_of(int a, int b)
{
    return a + b;
}
GROUP_SCAN(sums_before, int, 0, sum_of)

/* Inclusive running sums of the chunks' counts, in place: one work-group. */
__kernel __attribute__((reqd_work_group_size(TILE_X, 1, 1))) void nlm_ends(__global int *ends, int count)
{
    __local int cell[2 * TILE_X];
    int lane = get_local_id(0), carried = 0, all;
    for (int first = 0; first < count; first += TILE_X) {
        int own = first + lane < count ? ends[first + lane] : 0;
        int sum = carried + own + sums_before(own, cell, lane, TILE_X, &all);
        if (first + lane < count)
            ends[first + lane] = sum;
        carried += all;
    }
}

/* ends: where each chunk's voxels end in band. index: the number in the band of
 * each voxel, -1 outside. */
#ifdef CHUNK
#if TILE_X > 1
__kernel __attribute__((reqd_work_group_size(TILE_X, 1, 1))) void
nlm_list(__global const float *phi, int n, float delta, __global const int *ends, __global int *band,
         __global int *index)
{
    __local uint bits[TILE_X];
    __local int before[TILE_X], cell[2 * TILE_X];
    /* The last chunks go first: caches still hold what was counted last. */
    int lane = get_local_id(0), chunk = get_num_groups(0) - 1 - get_group_id(0);
    int first = chunk * CHUNK, count = min(CHUNK, n - first), whole = count == CHUNK;
    int begin = chunk > 0 ? ends[chunk - 1] : 0, all;
    if (begin == ends[chunk]) {
        for (int k = lane; whole && k < CHUNK / 4; k += TILE_X)
            ((__global int4 *)(index + first))[k] = (int4)(-1);
        for (int k = lane; !whole && k < count; k += TILE_X)
            index[first + k] = -1;
        return; /* all of them do */
    }
    bits[lane] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (whole) {
        __global const float4 *four = (__global const float4 *)(phi + first);
#pragma unroll
        for (int k = 0; k < FOURS; k++) {
            int at = lane + k * TILE_X;
            int4 in = fabs(four[at]) <= delta;
            uint some = (uint)((in.x & 1) | (in.y & 2) | (in.z & 4) | (in.w & 8));
            if (some)
                atomic_or(&bits[at / 8], some << 4 * (at % 8));
        }
    } else {
        for (int k = lane; k < count; k += TILE_X)
            if (fabs(phi[first + k]) <= delta)
                atomic_or(&bits[k / 32], 1u << k % 32);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    before[lane] = begin + sums_before(popcount(bits[lane]), cell, lane, TILE_X, &all);
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = lane; k < count; k += TILE_X) {
        uint word = bits[k / 32], own = 1u << k % 32;
        int at = word & own ? before[k / 32] + (int)popcount(word & (own - 1)) : -1;
        index[first + k] = at;
        if (at >= 0)
            band[at] = first + k;
    }
}
#else
__kernel void nlm_list(__global const float *phi, int n, float delta, __global const int *ends,
                       __global int *band, __global int *index)
{
    int chunk = get_global_id(0), first = chunk * CHUNK, last = first + min(CHUNK, n - first);
    int next = chunk > 0 ? ends[chunk - 1] : 0;
    for (int i = first; i < last; i++) {
        int in = fabs(phi[i]) <= delta;
        index[i] = in ? next : -1;
        if (in)
            band[next++] = i;
    }
}
#endif
#endif

/* ---- patches ------------------------------------------------------------ */

/* A work-group a patch. */
__kernel __attribute__((reqd_work_group_size(TILE_X, 1, 1))) void
nlm_patches(__global const float *phi, int4 size, __global const int *band, int radius, int stride,
            __global float *patches)
{
    int j = get_group_id(0), at = band[j], edge = 2 * radius + 1, samples = edge * edge * edge;
    int x = at % size.x, y = at / size.x % size.y, z = at / (size.x * size.y);
    int inside = x >= radius && x + radius < size.x && y >= radius && y + radius < size.y && z >= radius &&
                 z + radius < size.z;
    __global float *to = patches + j * stride;
#if TILE_X == 1
    int s = 0;
    for (int dz = -radius; dz <= radius; dz++)
        for (int dy = -radius; dy <= radius; dy++) {
            __global const float *from = phi + at + (dz * size.y + dy) * size.x - radius;
            for (int i = 0; i < edge; i++, s++)
                to[s] = inside ? from[i]
                               : extrapolated(phi, (int4)(x - radius + i, y + dy, z + dz, 0), size);
        }
    while (s < stride)
        to[s++] = 0.0f;
#else
    for (int s = get_local_id(0); s < stride; s += TILE_X) {
        int dx = s % edge - radius, dy = s / edge % edge - radius, dz = s / (edge * edge) - radius;
        float v = 0.0f;
        if (s < samples)
            v = inside ? phi[at + (dz * size.y + dy) * size.x + dx]
                       : extrapolated(phi, (int4)(x + dx, y + dy, z + dz, 0), size);
        to[s] = v;
    }
#endif
}

/* The squared distance of a patch from the quadratic in x, y, z that is nearest
 * to it. 1, x and x^2 - mean are orthogonal on the samples, and so are their
 * products of degree 2. norm: 1 over the sums of squares of 1, x, x^2 - mean and
 * x y over the patch. With keen > 0 the patch goes there by exp(-(residual keen)^2). */
__kernel void nlm_residual(__global float *patches, int count, int radius, int stride, float mean,
                           float4 norm, float keen, __global float *residual)
{
    int first = get_global_id(0) * MARCH, last = min(first + MARCH, count);
    for (int j = first; j < last; j++) {
        __global float *p = patches + j * stride;
        int edge = 2 * radius + 1, s = 0;
        float center = p[(edge * edge * edge) / 2], one = 0.0f;
        float4 linear = 0.0f, bend = 0.0f, cross = 0.0f; /* of x, y, z; of xy, yz, zx */
        for (int z = -radius; z <= radius; z++)
            for (int y = -radius; y <= radius; y++)
                for (int x = -radius; x <= radius; x++, s++) {
                    float4 at = (float4)(x, y, z, 0);
                    float v = p[s] - center;
                    one += v;
                    linear += v * at;
                    bend += v * (at * at - mean);
                    cross += v * at * at.yzxw;
                }
        one *= norm.x;
        linear *= norm.y;
        bend *= norm.z;
        cross *= norm.w;
        float sum = 0.0f;
        s = 0;
        for (int z = -radius; z <= radius; z++)
            for (int y = -radius; y <= radius; y++)
                for (int x = -radius; x <= radius; x++, s++) {
                    float4 at = (float4)(x, y, z, 0);
                    float4 fit = linear * at + bend * (at * at - mean) + cross * at * at.yzxw;
                    float v = p[s] - center - one - fit.x - fit.y - fit.z;
                    sum += v * v;
                }
        residual[j] = sum;
        if (keen <= 0.0f)
            continue;
        float share = exp(-sum * keen * sum * keen);
        s = 0;
        for (int z = -radius; z <= radius; z++)
            for (int y = -radius; y <= radius; y++)
                for (int x = -radius; x <= radius; x++, s++) {
                    float4 at = (float4)(x, y, z, 0);
                    float4 fit = linear * at + bend * (at * at - mean) + cross * at * at.yzxw;
                    p[s] += share * (center + one + fit.x + fit.y + fit.z - p[s]);
                }
    }
}

/* The same for CPU devices: the ten functions on the samples once for MARCH patches, then eight
 * samples at a time. MOST_STRIDE: that of the widest patches. */
#ifdef MOST_STRIDE
#define FUNCTIONS 10

static inline float sum8(float8 v)
{
    float4 a = v.lo + v.hi;
    return (a.x + a.z) + (a.y + a.w);
}

__kernel void nlm_residual_runs(__global float *patches, int count, int radius, int stride, float mean,
                                float4 norm, float keen, __global float *residual)
{
    int first = get_global_id(0) * MARCH, last = min(first + MARCH, count);
    float of[FUNCTIONS][MOST_STRIDE];
    const float norms[FUNCTIONS] = {norm.x, norm.y, norm.y, norm.y, norm.z,
                                    norm.z, norm.z, norm.w, norm.w, norm.w};
    for (int f = 0; f < FUNCTIONS; f++)
        for (int s = 0; s < stride; s++)
            of[f][s] = 0.0f;
    int samples = 0;
    for (int z = -radius; z <= radius; z++)
        for (int y = -radius; y <= radius; y++)
            for (int x = -radius; x <= radius; x++, samples++) {
                const float at[FUNCTIONS] = {1,            x,            y,     z,     x * x - mean,
                                             y * y - mean, z * z - mean, x * y, y * z, z * x};
                for (int f = 0; f < FUNCTIONS; f++)
                    of[f][samples] = at[f];
            }
    for (int j = first; j < last; j++) {
        __global float *p = patches + j * stride;
        float center = p[samples / 2], much[FUNCTIONS];
        float8 sum[FUNCTIONS], squares = 0.0f;
#pragma unroll
        for (int f = 0; f < FUNCTIONS; f++)
            sum[f] = 0.0f;
        for (int s = 0; s < stride; s += 8) {
            float8 v = LOAD8(p + s) - center;
#pragma unroll
            for (int f = 0; f < FUNCTIONS; f++)
                sum[f] += v * GET8(of[f] + s);
        }
#pragma unroll
        for (int f = 0; f < FUNCTIONS; f++)
            much[f] = norms[f] * sum8(sum[f]);
#define REST(s, v)                                       \
    float8 v = LOAD8(p + (s)) - center;                  \
    _Pragma("unroll") for (int f = 0; f < FUNCTIONS; f++) \
        v -= much[f] * GET8(of[f] + (s));                \
    v *= GET8(of[0] + (s)); /* 0 behind the samples */
        for (int s = 0; s < stride; s += 8) {
            REST(s, v)
            squares += v * v;
        }
        residual[j] = sum8(squares);
        if (keen <= 0.0f)
            continue;
        float bad = residual[j] * keen, share = exp(-bad * bad);
        for (int s = 0; s < stride; s += 8) {
            REST(s, v)
            STORE8(LOAD8(p + s) - share * v, p + s);
        }
    }
}
#endif

/* Takes from each patch the plane c + x.d that is nearest to it (planes: d, c)
 * and leaves the rest in its row; in tiles, without the zeros behind, the rest
 * with `share` of the plane. at: the places of the tiles' middles. norm as above. */
__kernel void nlm_plane(__global float *patches, int count, int radius, int stride, float4 norm, float share,
                        __global float4 *planes, __global float *tiles, __global int *at)
{
    int first = get_global_id(0) * MARCH, last = min(first + MARCH, count);
    int edge = 2 * radius + 1, samples = edge * edge * edge;
    for (int j = first; j < last; j++) {
        __global float *p = patches + j * stride, *tile = tiles + j * samples;
        float center = p[samples / 2];
        float4 plane = 0.0f;
        int s = 0;
        for (int z = -radius; z <= radius; z++)
            for (int y = -radius; y <= radius; y++)
                for (int x = -radius; x <= radius; x++, s++)
                    plane += (p[s] - center) * (float4)(x, y, z, 1);
        plane *= (float4)(norm.y, norm.y, norm.y, norm.x);
        plane.w += center;
        s = 0;
        for (int z = -radius; z <= radius; z++)
            for (int y = -radius; y <= radius; y++)
                for (int x = -radius; x <= radius; x++, s++) {
                    float flat = plane.x * x + plane.y * y + plane.z * z + plane.w, v = p[s] - flat;
                    p[s] = v;
                    tile[s] = v + share * flat;
                }
        planes[j] = plane;
        at[j] = j * samples + samples / 2;
    }
}

/* The mean of a patch's plane in values and those of its neighbours that are alike
 * with their planes, by exp(-D near). distances come as |rest|^2 + squared share
 * |plane|^2 and are left as |rest|^2. sizes: 1 over norm's y and x, so that they
 * make the squared norm of a plane on a patch of d and c. */
__kernel void nlm_plane_means(__global const int *neighbours, __global float *distances,
                              __global const float4 *planes, __global const float4 *values, int count,
                              int most, float share, float2 sizes, float near, __global float4 *means)
{
    int first = get_global_id(0) * MARCH, last = min(first + MARCH, count);
    for (int j = first; j < last; j++) {
        float4 own = planes[j], value = values[j], sum = 0.0f;
        float total = 0.0f, largest = 0.0f;
        for (int k = j * most; k < (j + 1) * most; k++) {
            int l = neighbours[k];
            if (l < 0)
                continue;
            float4 gap = planes[l] - own;
            float flat = sizes.x * (gap.x * gap.x + gap.y * gap.y + gap.z * gap.z) + sizes.y * gap.w * gap.w;
            float rest = max(distances[k] - share * share * flat, 0.0f), w = exp(-(rest + flat) * near);
            distances[k] = rest;
            sum += w * (values[l] - value);
            total += w;
            largest = max(largest, w);
        }
        means[j] = largest > 1e-30f ? value + sum / (total + largest) : value;
    }
}

/* ---- weights ------------------------------------------------------------ */

/* w = exp(-|x - y|^2 far) exp(-D near), far and near 1/c1 and 1/c2; 0 where there
 * is no neighbour. weights may be distances. Where far is 0, as by default, nobody asks
 * where voxels lie. */
#define WEIGHTS_ARGUMENTS                                                                           \
    __global const int *neighbours, __global const float *distances, __global const int *band, grid on, \
        int count, int most, float far, float near, __global float *weights, __global float *sums

static inline float weight_of(int j, int l, float distance, __global const int *band, grid on, float far,
                              float near)
{
    const int4 size = on.size;
    const float4 spacing = on.spacing;
    if (l < 0)
        return 0.0f;
    float apart = 0.0f;
    if (far != 0.0f) {
        int a = band[j], b = band[l];
        float dx = (b % size.x - a % size.x) * spacing.x;
        float dy = (b / size.x % size.y - a / size.x % size.y) * spacing.y;
        float dz = (b / (size.x * size.y) - a / (size.x * size.y)) * spacing.z;
        apart = (dx * dx + dy * dy + dz * dz) * far;
    }
    return exp(-distance * near - apart);
}

__kernel void nlm_weights(WEIGHTS_ARGUMENTS)
{
    int first = get_global_id(0) * MARCH, last = min(first + MARCH, count);
    for (int j = first; j < last; j++) {
        float sum = 0.0f;
        for (int k = j * most; k < (j + 1) * most; k++) {
            float w = weight_of(j, neighbours[k], distances[k], band, on, far, near);
            weights[k] = w;
            sum += w;
        }
        sums[j] = sum;
    }
}

/* Sums of rows of the graph: work-items side by side take entries of one row; through local memory an item
 * then adds up a row in its order. KEEP makes of entry `at`, of voxel j, what is added. */
#ifdef GRAPH_ROWS
#define ACROSS 32
#define ACROSS_PITCH (ACROSS + 1)
#define SUM_ROWS(sum, KEEP)                                                               \
    __local float tile[GRAPH_ROWS * ACROSS_PITCH];                                        \
    int lane = get_local_id(0), first = get_group_id(0) * GRAPH_ROWS;                     \
    float sum = 0.0f;                                                                     \
    for (int from = 0; from < most; from += ACROSS) {                                     \
        int column = lane % ACROSS, k = from + column;                                    \
        for (int r = lane / ACROSS; r < GRAPH_ROWS; r += TILE_X / ACROSS) {               \
            int j = first + r, at = j * most + k;                                         \
            if (j < count && k < most)                                                    \
                tile[r * ACROSS_PITCH + column] = KEEP;                                   \
        }                                                                                 \
        barrier(CLK_LOCAL_MEM_FENCE);                                                     \
        for (int i = 0; lane < GRAPH_ROWS && i < min(ACROSS, most - from); i++)           \
            sum += tile[lane * ACROSS_PITCH + i];                                         \
        barrier(CLK_LOCAL_MEM_FENCE);                                                     \
    }                                                                                     \
    if (lane >= GRAPH_ROWS || first + lane >= count)                                      \
        return;

__kernel __attribute__((reqd_work_group_size(TILE_X, 1, 1))) void nlm_weights_group(WEIGHTS_ARGUMENTS)
{
    SUM_ROWS(sum, weights[at] = weight_of(j, neighbours[at], distances[at], band, on, far, near))
    sums[first + lane] = sum;
}
#endif

#define ENERGY_ARGUMENTS                                                                              \
    __global const float *phi, __global const int *band, __global const int *neighbours,              \
        __global const float *weights, int count, int most, __global float *energy

/* How far neighbour l is above v; of no neighbour, whose weight is 0, any number. */
static inline float rise_to(__global const float *phi, __global const int *band, int l, float v)
{
    return phi[band[max(l, 0)]] - v;
}

static inline float energy_of(float weight, float rise)
{
    return weight * rise * rise;
}

/* w / 2 (phi_l - phi_j)^2 summed over l, halved again as each pair counts once. */
__kernel void nlm_energy(ENERGY_ARGUMENTS)
{
    int begin = get_global_id(0) * MARCH, end = min(begin + MARCH, count);
    for (int j = begin; j < end; j++) {
        float v = phi[band[j]], sum = 0.0f;
        for (int at = j * most; at < (j + 1) * most; at++)
            sum += energy_of(weights[at], rise_to(phi, band, neighbours[at], v));
        energy[j] = 0.25f * sum;
    }
}

#ifdef GRAPH_ROWS
__kernel __attribute__((reqd_work_group_size(TILE_X, 1, 1))) void nlm_energy_group(ENERGY_ARGUMENTS)
{
    SUM_ROWS(sum, energy_of(weights[at], rise_to(phi, band, neighbours[at], phi[band[j]])))
    energy[first + lane] = 0.25f * sum;
}
#endif

/* ---- the paper's update ------------------------------------------------- */

#define STEP_ARGUMENTS                                                                                \
    __global const float *phi, __global const int *band, __global const int *neighbours,              \
        __global const float *weights, int count, int most, __global const float *state, int slot,    \
        __global float *next

static inline float length_of_step(float largest)
{
    return largest > 0.0f ? 1.0f / largest : 0.0f;
}

/* next = phi_j + dt sum of w (phi_l - phi_j), dt = 1 / largest row sum. */
__kernel void nlm_step(STEP_ARGUMENTS)
{
    int begin = get_global_id(0) * MARCH, end = min(begin + MARCH, count);
    for (int j = begin; j < end; j++) {
        float v = phi[band[j]], sum = 0.0f;
        for (int at = j * most; at < (j + 1) * most; at++)
            sum += weights[at] * rise_to(phi, band, neighbours[at], v);
        next[j] = v + length_of_step(state[slot]) * sum;
    }
}

#ifdef GRAPH_ROWS
__kernel __attribute__((reqd_work_group_size(TILE_X, 1, 1))) void nlm_step_group(STEP_ARGUMENTS)
{
    SUM_ROWS(sum, weights[at] * rise_to(phi, band, neighbours[at], phi[band[j]]))
    next[first + lane] = phi[band[first + lane]] + length_of_step(state[slot]) * sum;
}
#endif

__kernel void nlm_scatter(__global const float *values, __global const int *band, int count,
                          __global float *phi)
{
    int first = get_global_id(0) * MARCH, last = min(first + MARCH, count);
    for (int j = first; j < last; j++)
        phi[band[j]] = values[j];
}

/* ---- the update by whole patches ---------------------------------------- */

/* How much a patch counts in its own mean: own where positive, else as much as
 * its nearest neighbour, or all where that is as good as nothing. */
static inline float own_weight(float own, float nearest)
{
    return own > 0.0f ? own : nearest > 1e-30f ? nearest : 1.0f;
}

/* estimates[g] = the weighted mean of patch first + g and its neighbours, g below part. */
#define ESTIMATE_ARGUMENTS                                                                              \
    __global const float *patches, __global const int *neighbours, __global const float *weights,       \
        int first, int part, int most, int stride, float own, __global float *estimates

/* PATCHES patches a work-group, 32 work-items each; MOST: neighbours that there can be. Rows begin at
 * multiples of 32 floats: vload4 would read their fours one by one. */
#ifdef PATCHES
#define FOUR(p) ((__global const float4 *)(p))
__kernel __attribute__((reqd_work_group_size(TILE_X, 1, 1))) void nlm_estimate_group(ESTIMATE_ARGUMENTS)
{
    __local int2 entry[PATCHES][MOST]; /* weights, and where the patches begin: both by one access */
    int p = get_local_id(0) / 32, lane = get_local_id(0) % 32;
    int g = get_group_id(0) * PATCHES + p, j = first + g;
    for (int k = lane; g < part && k < most; k += 32)
        entry[p][k] = (int2)(as_int(weights[j * most + k]), max(neighbours[j * most + k], 0) * stride);
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int s = 4 * lane; g < part && s < stride; s += 4 * 32) {
        float self = own_weight(own, as_float(entry[p][0].x)), total = self;
        float4 sum = self * *FOUR(patches + j * stride + s);
        for (int k = 0; k < most; k++) {
            int2 e = entry[p][k];
            float w = as_float(e.x);
            total += w;
            sum += w * *FOUR(patches + e.y + s);
        }
        *(__global float4 *)(estimates + g * stride + s) = sum / total;
    }
}
#endif

/* A patch a work-item, for CPU devices. */
__kernel void nlm_estimate(ESTIMATE_ARGUMENTS)
{
    int g = get_global_id(0), j = first + g;
    if (g >= part)
        return;
    __global const int *list = neighbours + j * most;
    __global const float *weight = weights + j * most;
    __global float *to = estimates + g * stride;
    float self = own_weight(own, weight[0]), total = self;
    for (int k = 0; k < most; k++)
        total += weight[k];
    float share = 1.0f / total;
    for (int s = 0; s < stride; s += 32) {
        __global const float *p = patches + j * stride + s;
        float8 a = self * LOAD8(p), b = self * LOAD8(p + 8);
        float8 c = self * LOAD8(p + 16), d = self * LOAD8(p + 24);
        for (int k = 0; k < most; k++) {
            float w = weight[k];
            p = patches + max(list[k], 0) * stride + s;
            a += w * LOAD8(p);
            b += w * LOAD8(p + 8);
            c += w * LOAD8(p + 16);
            d += w * LOAD8(p + 24);
        }
        STORE8(a * share, to + s);
        STORE8(b * share, to + s + 8);
        STORE8(c * share, to + s + 16);
        STORE8(d * share, to + s + 24);
    }
}

/* Each voxel's mean over the estimates of the patches that cover it. The
 * estimates are those of patches first to first + part - 1, without their planes
 * where these were taken off; sums gathers what earlier parts gave, and after
 * the last part phi is set. */
__kernel void nlm_overlap(__global const float *estimates, __global const int *band,
                         __global const int *index, int4 size, int count, int first, int part, int radius,
                         int stride, __global const float4 *planes, __global float2 *sums,
                         __global float *phi)
{
    int begin = get_global_id(0) * MARCH, end = min(begin + MARCH, count), edge = 2 * radius + 1;
    for (int i = begin; i < end; i++) {
        int at = band[i], x = at % size.x, y = at / size.x % size.y, z = at / (size.x * size.y);
        float2 sum = first > 0 ? sums[i] : (float2)(0.0f);
        /* Not from max(-radius, z - size.z + 1) to min(radius, z): a compiler has lost that end. */
        for (int c = max(z - radius, 0); c < min(z + radius + 1, size.z); c++)
            for (int b = max(y - radius, 0); b < min(y + radius + 1, size.y); b++)
                for (int a = max(x - radius, 0); a < min(x + radius + 1, size.x); a++) {
                    int j = index[(c * size.y + b) * size.x + a] - first;
                    if (j < 0 || j >= part)
                        continue;
                    int dx = x - a, dy = y - b, dz = z - c;
                    int s = ((dz + radius) * edge + dy + radius) * edge + dx + radius;
                    float v = estimates[j * stride + s];
                    if (planes) {
                        float4 plane = planes[first + j];
                        v += plane.x * dx + plane.y * dy + plane.z * dz + plane.w;
                    }
                    sum += (float2)(v, 1.0f);
                }
        sums[i] = sum;
        if (first + part >= count)
            phi[at] = sum.x / sum.y;
    }
}

/* The share of a tetrahedron on which the linear function with these values at
 * its corners is below 0. */
static inline float share_below(float a, float b, float c, float d)
{
    float p = min(a, b), q = max(a, b), r = min(c, d), s = max(c, d);
    a = min(p, r); /* now a <= b, c <= d; b and c come in either order */
    d = max(q, s);
    p = max(p, r);
    q = min(q, s);
    b = min(p, q);
    c = max(p, q);
    if (a >= 0.0f)
        return 0.0f;
    if (d < 0.0f)
        return 1.0f;
    if (b >= 0.0f)
        return a / (a - b) * (a / (a - c)) * (a / (a - d));
    if (c < 0.0f)
        return 1.0f - d / (d - a) * (d / (d - b)) * (d / (d - c));
    return (a * a * b * b - a * b * (a + b) * (c + d) + c * d * (a * a + a * b + b * b)) /
           ((a - c) * (a - d) * (b - c) * (b - d));
}

/* ---- volume ------------------------------------------------------------- */

/* The share of a cell between voxel centres, of which the first is p, that lies below level: six
 * tetrahedra around the diagonal from its first corner to its last. */
static inline float cell_below(__global const float *p, int dy, int dz, float level)
{
    float a = p[0] - level, b = p[1] - level, c = p[dy] - level, d = p[dy + 1] - level;
    float e = p[dz] - level, f = p[dz + 1] - level, g = p[dz + dy] - level, h = p[dz + dy + 1] - level;
    return (share_below(a, b, d, h) + share_below(a, b, f, h) + share_below(a, c, d, h) +
            share_below(a, c, g, h) + share_below(a, e, f, h) + share_below(a, e, g, h)) /
           6.0f;
}

#define LOWEST(a, b, c, d, e, f, g, h) min(min(min(a, b), min(c, d)), min(min(e, f), min(g, h)))
#define HIGHEST(a, b, c, d, e, f, g, h) max(max(max(a, b), max(c, d)), max(max(e, f), max(g, h)))

/* The cells below level, summed over MARCH rows of cells of a plane: a work-group. The few that
 * the level cuts are listed first, so that neighbouring work-items share their work, and each
 * is added by its own work-item, whose order is fixed. */
__kernel __attribute__((reqd_work_group_size(TILE_X, 1, 1))) void
nlm_volume_group(__global const float *phi, int4 size, float level, __global float *sums)
{
    __local float cell[TILE_X * MARCH];
    __local ushort cut[TILE_X * MARCH];
    __local int count;
    int lane = get_local_id(0), strips = (size.y - 2 + MARCH) / MARCH, z = get_group_id(0) / strips;
    int from = (get_group_id(0) - z * strips) * MARCH, to = min(from + MARCH, size.y - 1);
    int dy = size.x, dz = size.x * size.y;
    float sum = 0.0f;
    if (lane == 0)
        count = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int first = 0; first + 1 < size.x; first += TILE_X) {
        __global const float *start = phi + z * dz + from * dy + first, *p = start + lane;
        uint own = 0;
        if (first + lane + 1 < size.x) {
            float a = p[0] - level, b = p[1] - level, e = p[dz] - level, f = p[dz + 1] - level;
            for (int k = 0; k < to - from; k++) {
                p += dy;
                float c = p[0] - level, d = p[1] - level, g = p[dz] - level, h = p[dz + 1] - level;
                if (HIGHEST(a, b, c, d, e, f, g, h) < 0.0f) {
                    sum += 1.0f;
                } else if (LOWEST(a, b, c, d, e, f, g, h) < 0.0f) {
                    own |= 1u << k;
                    cut[atomic_inc(&count)] = k * TILE_X + lane;
                }
                a = c;
                b = d;
                e = g;
                f = h;
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int i = lane; i < count; i += TILE_X)
            cell[cut[i]] = cell_below(start + cut[i] / TILE_X * dy + cut[i] % TILE_X, dy, dz, level);
        barrier(CLK_LOCAL_MEM_FENCE);
        if (lane == 0)
            count = 0;
        for (int k = 0; k < MARCH; k++)
            if (own >> k & 1)
                sum += cell[k * TILE_X + lane];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    cell[lane] = sum;
    group_fold(cell, 1, lane, TILE_X, 1);
    if (lane == 0)
        sums[get_group_id(0)] = cell[0];
}

/* The same of each row of cells: eight cells at a time, most of which the level does not cut. */
__kernel void nlm_volume_row(__global const float *phi, int4 size, float level, __global float *sums)
{
    int cells = (size.y - 1) * (size.z - 1);
    int first = get_global_id(0) * MARCH, last = min(first + MARCH, cells);
    int dy = size.x, dz = size.x * size.y;
    for (int r = first; r < last; r++) {
        __global const float *p = phi + r / (size.y - 1) * dz + r % (size.y - 1) * dy;
        float sum = 0.0f;
        for (int x = 0; x + 1 < size.x; x += 8) {
            int count = min(8, size.x - 1 - x), below[8], above[8];
            if (count == 8) {
#define AT(i) (LOAD8(p + x + (i)) - level)
                float8 a = AT(0), b = AT(1), c = AT(dy), d = AT(dy + 1), e = AT(dz), f = AT(dz + 1);
                float8 g = AT(dz + dy), h = AT(dz + dy + 1);
                int8 all_below = HIGHEST(a, b, c, d, e, f, g, h) < 0.0f;
                int8 all_above = !(LOWEST(a, b, c, d, e, f, g, h) < 0.0f);
                if (all(all_below | all_above)) {
                    int4 four = all_below.lo + all_below.hi;
                    sum -= (float)(four.x + four.y + four.z + four.w);
                    continue;
                }
                PUT_INT8(all_below, below);
                PUT_INT8(all_above, above);
            }
            for (int k = 0; k < count; k++)
                if (count < 8 || !above[k])
                    sum += count == 8 && below[k] ? 1.0f : cell_below(p + x + k, dy, dz, level);
        }
        sums[r] = sum;
    }
}
