/* SPDX-License-Identifier: Apache-2.0 */
/* Non-local means of a narrow band. Its patches are the rows of a matrix of
 * `stride` floats a row: the samples, x fastest, then zeros. */
#include "common/field_row.clh"
#include "common/grid.clh"
#include "surface/extrapolate.clh"

/* ---- the band ----------------------------------------------------------- */

/* How many voxels of each row along x lie in the band. */
__kernel void nlm_count(__global const float *phi, int4 size, float delta, __global int *rows)
{
    int first = get_global_id(0) * MARCH, last = min(first + MARCH, size.y * size.z);
    for (int r = first; r < last; r++) {
        int count = 0;
        for (int x = 0; x < size.x; x++)
            count += fabs(phi[r * size.x + x]) <= delta;
        rows[r] = count;
    }
}

/* rows: where each row's voxels start in band. index: the number in the band of
 * each voxel, -1 outside. */
__kernel void nlm_list(__global const float *phi, int4 size, float delta, __global const int *rows,
                       __global int *band, __global int *index)
{
    int first = get_global_id(0) * MARCH, last = min(first + MARCH, size.y * size.z);
    for (int r = first; r < last; r++) {
        int next = rows[r];
        for (int i = r * size.x; i < (r + 1) * size.x; i++) {
            int in = fabs(phi[i]) <= delta;
            index[i] = in ? next : -1;
            if (in)
                band[next++] = i;
        }
    }
}

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

/* Neighbouring items take neighbouring weights of a row; through local memory each
 * item then adds up a row in its order. */
#define ACROSS 32
#define ACROSS_PITCH (ACROSS + 1)

__kernel __attribute__((reqd_work_group_size(TILE_X, 1, 1))) void nlm_weights_group(WEIGHTS_ARGUMENTS)
{
    __local float tile[TILE_X * ACROSS_PITCH];
    int lane = get_local_id(0), first = get_group_id(0) * TILE_X, column = lane % ACROSS;
    float sum = 0.0f;
    for (int from = 0; from < most; from += ACROSS) {
        for (int r = lane / ACROSS; r < TILE_X; r += TILE_X / ACROSS) {
            int j = first + r, k = from + column, at = j * most + k;
            if (j < count && k < most) {
                float w = weight_of(j, neighbours[at], distances[at], band, on, far, near);
                weights[at] = w;
                tile[r * ACROSS_PITCH + column] = w;
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int k = 0; k < min(ACROSS, most - from); k++)
            sum += tile[lane * ACROSS_PITCH + k];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (first + lane < count)
        sums[first + lane] = sum;
}

/* w / 2 (phi_l - phi_j)^2 summed over l, halved again as each pair counts once. */
__kernel void nlm_energy(__global const float *phi, __global const int *band, __global const int *neighbours,
                         __global const float *weights, int count, int most, __global float *energy)
{
    int first = get_global_id(0) * MARCH, last = min(first + MARCH, count);
    for (int j = first; j < last; j++) {
        float v = phi[band[j]], sum = 0.0f;
        for (int k = j * most; k < (j + 1) * most; k++) {
            int l = max(neighbours[k], 0);
            float d = phi[band[l]] - v;
            sum += weights[k] * d * d;
        }
        energy[j] = 0.25f * sum;
    }
}

/* ---- the paper's update ------------------------------------------------- */

/* next = phi_j + dt sum of w (phi_l - phi_j), dt = 1 / largest row sum. */
__kernel void nlm_step(__global const float *phi, __global const int *band, __global const int *neighbours,
                       __global const float *weights, int count, int most, __global const float *state,
                       int slot, __global float *next)
{
    int first = get_global_id(0) * MARCH, last = min(first + MARCH, count);
    float largest = state[slot], dt = largest > 0.0f ? 1.0f / largest : 0.0f;
    for (int j = first; j < last; j++) {
        float v = phi[band[j]], sum = 0.0f;
        for (int k = j * most; k < (j + 1) * most; k++) {
            int l = max(neighbours[k], 0); /* the weight of none is 0 */
            sum += weights[k] * (phi[band[l]] - v);
        }
        next[j] = v + dt * sum;
    }
}

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

/* estimates[g] = the weighted mean of patch first + g and its neighbours. A
 * work-group a patch; on CPU devices a work-item. MOST: neighbours that there can be. */
#if TILE_X == 1 || defined(MOST)
__kernel __attribute__((reqd_work_group_size(TILE_X, 1, 1))) void
nlm_estimate(__global const float *patches, __global const int *neighbours, __global const float *weights,
             int first, int most, int stride, float own, __global float *estimates)
{
    int j = first + get_group_id(0);
    __global const int *list = neighbours + j * most;
    __global const float *weight = weights + j * most;
    __global float *to = estimates + get_group_id(0) * stride;
#if TILE_X == 1
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
#else
    __local int from[MOST];
    __local float much[MOST];
    int lane = get_local_id(0);
    for (int k = lane; k < most; k += TILE_X) {
        from[k] = max(list[k], 0) * stride;
        much[k] = weight[k];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    float self = own_weight(own, much[0]), total = self;
    for (int k = 0; k < most; k++)
        total += much[k];
    for (int s = lane; s < stride; s += TILE_X) {
        float sum = self * patches[j * stride + s];
        for (int k = 0; k < most; k++)
            sum += much[k] * patches[from[k] + s];
        to[s] = sum / total;
    }
#endif
}
#endif

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
        /* Not from max(-radius, z - size.z + 1) to min(radius, z): NVIDIA's 580 loses that end. */
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

/* The cells between voxel centres that lie below level, for each row of cells;
 * a cell is six tetrahedra around the diagonal from its first corner to its
 * last. */
__kernel void nlm_volume(__global const float *phi, int4 size, float level, __global float *rows)
{
    int cells = (size.y - 1) * (size.z - 1);
    int first = get_global_id(0) * MARCH, last = min(first + MARCH, cells);
    int dy = size.x, dz = size.x * size.y;
    for (int r = first; r < last; r++) {
        __global const float *p = phi + r / (size.y - 1) * dz + r % (size.y - 1) * dy;
        float sum = 0.0f;
        for (int x = 0; x + 1 < size.x; x++, p++) {
            float a = p[0] - level, b = p[1] - level, c = p[dy] - level, d = p[dy + 1] - level;
            float e = p[dz] - level, f = p[dz + 1] - level;
            float g = p[dz + dy] - level, h = p[dz + dy + 1] - level;
            float low = min(min(min(a, b), min(c, d)), min(min(e, f), min(g, h)));
            float high = max(max(max(a, b), max(c, d)), max(max(e, f), max(g, h)));
            if (low < 0.0f && high >= 0.0f)
                sum += (share_below(a, b, d, h) + share_below(a, b, f, h) + share_below(a, c, d, h) +
                        share_below(a, c, g, h) + share_below(a, e, f, h) + share_below(a, e, g, h)) /
                       6.0f;
            else if (high < 0.0f)
                sum += 1.0f;
        }
        rows[r] = sum;
    }
}
