/* SPDX-License-Identifier: Apache-2.0 */
/* A window of cl/mppca.cl to a work-group, for devices with fast local memory:
 * the same steps, with the covariance in local memory, a row of it and then an
 * eigenvector to each work-item. Sums that all need are added up by all of them,
 * in the same order, which takes no barrier. */
#include "mppca.clh"

#define INLINED static inline __attribute__((always_inline))
#define LEAST_PIVOT 1e-7f

/* What a work-group shares; vectors of n floats behind the matrix. */
typedef struct shared {
    __local float *a; /* row i at i wide; wide is odd, so that rows and columns meet no bank twice */
    __local float *d, *e, *inverse, *value, *mean, *u, *p, *q;
    int n, wide;
} shared;

INLINED void share(__local float *room, int n, shared *g)
{
    g->n = n;
    g->wide = n | 1;
    g->a = room;
    g->d = room + n * g->wide;
    g->e = g->d + n;
    g->inverse = g->e + n;
    g->value = g->inverse + n;
    g->mean = g->value + n;
    g->u = g->mean + n;
    g->p = g->u + n;
    g->q = g->p + n;
}

/* Lower triangles of 4 x 4 entries, of samples without their mean; m: rows. */
INLINED void covariance_blocks(__global const float *packed, int corner, int4 size, int4 radius,
                                     int stride, const shared *g, int m, int lane)
{
    int across = (m + 3) / 4;
    for (int b = lane; b < across * (across + 1) / 2; b += TILE_X) {
        int bi = (int)((sqrt(8.0f * (float)b + 1.0f) - 1.0f) * 0.5f);
        bi += bi * (bi + 1) / 2 > b ? -1 : (bi + 1) * (bi + 2) / 2 <= b ? 1 : 0;
        int bj = b - bi * (bi + 1) / 2;
        float mean_i[4], mean_j[4], sum[16];
        for (int k = 0; k < 4; k++) {
            mean_i[k] = g->mean[min(4 * bi + k, m - 1)];
            mean_j[k] = g->mean[min(4 * bj + k, m - 1)];
        }
        for (int k = 0; k < 16; k++)
            sum[k] = 0.0f;
        for (int z = 0; z <= 2 * radius.z; z++)
            for (int y = 0; y <= 2 * radius.y; y++) {
                __global const float *from = packed + (corner + (z * size.y + y) * size.x) * stride;
                for (int x = 0; x <= 2 * radius.x; x++, from += stride) {
                    float4 i4 = vload4(bi, from), j4 = vload4(bj, from);
                    float vi[4] = {i4.x - mean_i[0], i4.y - mean_i[1], i4.z - mean_i[2], i4.w - mean_i[3]};
                    float vj[4] = {j4.x - mean_j[0], j4.y - mean_j[1], j4.z - mean_j[2], j4.w - mean_j[3]};
#pragma unroll
                    for (int k = 0; k < 16; k++)
                        sum[k] += vi[k / 4] * vj[k % 4];
                }
            }
        for (int k = 0; k < 16; k++) {
            int i = 4 * bi + k / 4, j = 4 * bj + k % 4;
            if (i < m && j < m) {
                g->a[i * g->wide + j] = sum[k];
                g->a[j * g->wide + i] = sum[k];
            }
        }
    }
}

/* Householder's reduction as in cl/mppca.cl, of the first m rows; of none it makes
 * something all the same, as loops around barriers always run here. */
INLINED void tridiagonal(const shared *g, int m, int lane)
{
    __local float *u = g->u, *p = g->p, *q = g->q;
    int i = max(m - 1, 1);
    do {
        __local float *last = g->a + i * g->wide;
        float others = 0.0f, x = last[i - 1], k = 0.0f;
        for (int j = 0; j < i - 1; j++)
            others += last[j] * last[j];
        int any = others > TINY;
        float length = sqrt(others + x * x), to = any ? (x > 0.0f ? -length : length) : x;
        float over = any ? 1.0f / (others + x * x - to * x) : 0.0f;
        for (int j = lane; j < i; j += TILE_X)
            u[j] = j < i - 1 ? last[j] : x - to;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (lane == 0) {
            g->d[i] = last[i];
            g->e[i] = to;
            g->inverse[i] = over;
            last[i - 1] = x - to;
        }
        for (int r = lane; r < i; r += TILE_X) {
            __local const float *row = g->a + r * g->wide;
            float sum = 0.0f;
            for (int j = 0; j < i; j++)
                sum += row[j] * u[j];
            p[r] = sum;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int j = 0; j < i; j++)
            k += u[j] * p[j];
        k *= 0.5f * over * over;
        for (int r = lane; r < i; r += TILE_X)
            q[r] = over * p[r] - k * u[r];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int r = lane; r < i; r += TILE_X) {
            __local float *row = g->a + r * g->wide;
            float ur = u[r], qr = q[r];
            for (int j = 0; j < i; j++)
                row[j] -= qr * u[j] + ur * q[j];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    } while (--i > 0);
    if (lane == 0 && m > 0) {
        g->d[0] = g->a[0];
        g->e[0] = 0.0f;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
}

/* How many eigenvalues lie below x (Sturm). */
INLINED int count_below(const shared *g, int m, float x)
{
    float q = g->d[0] - x;
    int count = q < 0.0f;
    for (int i = 1; i < m; i++) {
        q = fabs(q) < TINY ? -TINY : q;
        q = g->d[i] - x - g->e[i] * g->e[i] / q;
        count += q < 0.0f;
    }
    return count;
}

INLINED float find_value(const shared *g, int m, float bound, int j)
{
    float low = -1e-5f * bound, high = 1.00001f * bound;
    for (int i = 0; i < BISECTIONS; i++) {
        float middle = 0.5f * (low + high);
        if (count_below(g, m, middle) <= j)
            low = middle;
        else
            high = middle;
    }
    return 0.5f * (low + high);
}

/* Place c of row i of a work-item's factors. */
#define PLACE(c, i) lu[(4 * (i) + (c)) * TILE_X]

/* As solve() of mppca.clh, for one vector. */
INLINED void solve_one(const shared *g, int m, float shift, float least, __global float *lu)
{
    float a = g->d[0] - shift, b = m > 1 ? g->e[1] : 0.0f, y = PLACE(3, 0);
    for (int i = 0; i + 1 < m; i++) {
        float under = g->e[i + 1], diagonal = g->d[i + 1] - shift, over = i + 2 < m ? g->e[i + 2] : 0.0f;
        float z = PLACE(3, i + 1);
        int swap = fabs(under) > fabs(a);
        float pivot = swap ? under : a;
        pivot = fabs(pivot) < least ? least : pivot;
        float f = (swap ? a : under) / pivot, u2 = swap ? diagonal : b, u3 = swap ? over : 0.0f;
        float top = swap ? z : y, rest = swap ? y : z;
        PLACE(0, i) = pivot;
        PLACE(1, i) = u2;
        PLACE(2, i) = u3;
        PLACE(3, i) = top;
        a = (swap ? b : diagonal) - f * u2;
        b = (swap ? 0.0f : over) - f * u3;
        y = rest - f * top;
    }
    float next = y / (fabs(a) < least ? least : a), after = 0.0f;
    PLACE(3, m - 1) = next;
    for (int i = m - 2; i >= 0; i--) {
        float x = (PLACE(3, i) - PLACE(1, i) * next - PLACE(2, i) * after) / PLACE(0, i);
        PLACE(3, i) = x;
        after = next;
        next = x;
    }
}

/* Gram and Schmidt, twice over, of `rank` vectors of m. */
INLINED void orthonormalise(__global float *vectors, int rank, int m,
                                                                 int stride, __local float *share_of,
                                                                 int lane)
{
    int p = 0;
    do {
        __global float *v = vectors + p * stride;
        for (int again = 0; again < 2; again++) {
            float square = 0.0f;
            for (int q = lane; q < p; q += TILE_X) {
                float sum = 0.0f;
                for (int j = 0; j < m; j++)
                    sum += v[j] * vectors[q * stride + j];
                share_of[q] = sum;
            }
            barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
            for (int j = lane; j < m && p < rank; j += TILE_X) {
                float rest = v[j];
                for (int q = 0; q < p; q++)
                    rest -= share_of[q] * vectors[q * stride + j];
                v[j] = rest;
            }
            barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
            for (int j = 0; j < m && p < rank; j++)
                square += v[j] * v[j];
            barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
            for (int j = lane; j < m && p < rank; j += TILE_X)
                v[j] *= rsqrt(fmax(square, 1e-30f));
            barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
        }
    } while (++p < rank);
}

/* Eigenvectors by inverse iteration, one to a work-item, then through the
 * reflections to those of the covariance. lu: of this work-item. */
INLINED void eigenvectors(const shared *g, int m, int rank, float bound,
                                                               int stride, int lane, __global float *lu,
                                                               __global float *vectors)
{
    for (int p = 0; p < rank; p++)
        for (int i = lane; i < stride; i += TILE_X)
            vectors[p * stride + i] = i < m ? start_of(i, p) : 0.0f;
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    for (int round = 0; round < ROUNDS; round++) {
        for (int p = lane; p < rank; p += TILE_X) {
            __global float *v = vectors + p * stride;
            float shift = g->value[m - 1];
            for (int i = 1; i <= p; i++)
                shift = fmin(g->value[m - 1 - i], shift - 5e-7f * bound);
            for (int i = 0; i < m; i++)
                PLACE(3, i) = v[i];
            solve_one(g, m, shift, LEAST_PIVOT * bound, lu);
            for (int i = 0; i < m; i++)
                v[i] = PLACE(3, i);
        }
        barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
        orthonormalise(vectors, rank, m, stride, g->p, lane);
    }
    for (int p = lane; p < rank; p += TILE_X) {
        for (int j = 0; j < m; j++)
            PLACE(0, j) = vectors[p * stride + j];
        for (int i = 1; i < m; i++) {
            __local const float *u = g->a + i * g->wide;
            float sum = 0.0f;
            for (int j = 0; j < i; j++)
                sum += u[j] * PLACE(0, j);
            sum *= g->inverse[i];
            for (int j = 0; j < i; j++)
                PLACE(0, j) -= sum * u[j];
        }
        for (int j = 0; j < m; j++)
            vectors[p * stride + j] = PLACE(0, j);
    }
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
}

/* Samples, without their mean, times the eigenvectors, four of them at a time. */
INLINED void project_samples(__global const float *packed, int corner, int4 size, int4 radius,
                                   int stride, int samples, const shared *g, int m, int rank, int lane,
                                   __global const float *vectors, __global float *c)
{
    for (int s = lane; s < samples && rank > 0; s += TILE_X) {
        __global const float *x = packed + (corner + sample_offset(s, size, radius)) * stride;
        for (int i = 0; i < rank; i += 4) {
            __global const float *v0 = vectors + i * stride, *v1 = vectors + min(i + 1, rank - 1) * stride;
            __global const float *v2 = vectors + min(i + 2, rank - 1) * stride;
            __global const float *v3 = vectors + min(i + 3, rank - 1) * stride;
            float4 sum = (float4)(0.0f);
            for (int j = 0; j < m; j++)
                sum += (x[j] - g->mean[j]) * (float4)(v0[j], v1[j], v2[j], v3[j]);
            vstore4(sum, 0, c + s * stride + i);
        }
    }
}

/* Arguments as those of mppca_window; a work-group a window. room: local, a
 * matrix of n (n | 1) floats and eight vectors of n. slot: 4 stride floats for
 * each of a work-group's work-items. */
__kernel __attribute__((reqd_work_group_size(TILE_X, 1, 1))) void
mppca_window_group(__global const float *packed, __global const float *mask, int has_mask, int4 size, int4
                   radius, int4 box, int4 count, int4 shape, float factor, __global float *scratch, int slot,
                   __global float *vectors, __global float *coefficients, __global float *means, __global
                   float4 *facts, __local float *room)
{
    int wx = (int)get_group_id(0), wy = (int)get_group_id(1), wz = (int)get_group_id(2);
    int lane = (int)get_local_id(0), stride = shape.y, samples = shape.z;
    int w = (wz * count.y + wy) * count.x + wx;
    int corner = ((box.z + wz) * size.y + box.y + wy) * size.x + wx;
    int middle = corner + (radius.z * size.y + radius.y) * size.x + radius.x;
    /* All barriers are met: what there is nothing to do for has no rows. */
    int m = !has_mask || mask[middle] > 0.0f ? shape.x : 0, outside = m == 0;
    shared g;
    share(room, shape.x, &g);
    for (int j = lane; j < stride && m > 0; j += TILE_X) {
        float sum = 0.0f;
        for (int s = 0; s < samples; s++)
            sum += packed[(corner + sample_offset(s, size, radius)) * stride + j];
        sum /= (float)samples;
        means[w * stride + j] = sum;
        if (j < m)
            g.mean[j] = sum;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    covariance_blocks(packed, corner, size, radius, stride, &g, m, lane);
    barrier(CLK_LOCAL_MEM_FENCE);
    float trace = 0.0f, bound = 0.0f, rest = 0.0f;
    for (int i = 0; i < m; i++)
        trace += g.a[i * g.wide + i];
    m = trace > 0.0f ? m : 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = lane; i < m; i += TILE_X)
        for (int j = 0; j < m; j++)
            g.a[i * g.wide + j] *= m / trace;
    barrier(CLK_LOCAL_MEM_FENCE);
    tridiagonal(&g, m, lane);
    for (int i = 0; i < m; i++) {
        rest += g.d[i];
        bound = fmax(bound, fabs(g.d[i]) + (i > 0 ? fabs(g.e[i]) : 0.0f) +
                                (i + 1 < m ? fabs(g.e[i + 1]) : 0.0f));
    }
    for (int j = lane; j < m; j += TILE_X)
        g.value[j] = find_value(&g, m, bound, j);
    barrier(CLK_LOCAL_MEM_FENCE);
    int left = max(m - shape.w, 1), rank = 0;
    float var = rest / (float)left;
    for (int at = m - 1; left > 1 && g.value[at] - g.value[shape.w] > 4.0f * sqrt((float)left / samples) * var;
         at--) {
        rest -= g.value[at];
        left--;
        var = fmax(rest, 0.0f) / (float)left;
    }
    if (m > 0)
        rank = min(m - count_below(&g, m, factor * var), m - shape.w);
    __global float *v = vectors + w * stride * stride;
    eigenvectors(&g, m, rank, bound, stride, lane, scratch + w * slot + lane, v);
    project_samples(packed, corner, size, radius, stride, samples, &g, m, rank, lane, v,
                    coefficients + w * samples * stride);
    if (lane == 0)
        facts[w] = outside  ? (float4)(0.0f)
                   : m == 0 ? (float4)(1.0f / (1.0f + shape.x), 0.0f, 0.0f, 0.0f)
                            : (float4)(1.0f / (1.0f + rank), var * (trace / m) / samples, (float)rank, 0.0f);
}
