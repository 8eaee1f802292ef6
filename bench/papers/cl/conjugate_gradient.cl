/* SPDX-License-Identifier: Apache-2.0 */
/* Vectors and numbers of conjugate gradients; the product with the matrix is
 * cl/fluid_operator.cl's. The numbers live on the device: how far to go, how much of the
 * old direction to keep, and when it is enough. */
#include "common/field_row.clh"
#include "common/group_reduce.clh"
#include "common/share.clh"

/* Built with the places of the state (SQUARE; STEP; BETA, how much of the old
 * direction is kept; GOAL, a square no larger ends it; DONE iterations; WHOLE, the
 * square of f) and what is added up: BEGIN, the first residual's square; ALONG, the
 * direction's product with the matrix; else the next residual's square. */

static inline float join_group(float mine, __local float *shared)
{
    int lane = get_local_id(0);
    group_sums(&mine, 1, lane, TILE_X, shared);
    return shared[0];
}

__kernel __attribute__((reqd_work_group_size(TILE_X, TILE_Y, TILE_Z)))
void cg_total(__global const float *partial, int count, int kind, float goal, __global float *state)
{
    __local float shared[TILE_X];
    float sum = 0.0f, rest = 0.0f; /* with what each addition lost, as many may be added by one */
    for (int i = get_local_id(0); i < count; i += TILE_X) {
        float term = partial[i] - rest, next = sum + term;
        rest = (next - sum) - term;
        sum = next;
    }
    sum = join_group(sum, shared);
    if (get_local_id(0) == 0) {
        if (kind == BEGIN) {
            state[GOAL] = goal * state[WHOLE];
            state[SQUARE] = sum;
            state[DONE] = 0.0f;
        } else {
            /* At the goal the steps become 0 and nothing changes any more. */
            bool going = state[SQUARE] > state[GOAL];
            if (kind == ALONG) {
                state[STEP] = going && sum > 0.0f ? state[SQUARE] / sum : 0.0f;
                state[DONE] += going ? 1.0f : 0.0f;
            } else {
                state[BETA] = going ? sum / state[SQUARE] : 0.0f;
                state[SQUARE] = going ? sum : state[SQUARE];
            }
        }
    }
}

/* r -= step q, and the sum of r^2. A work-group a chunk. */
__kernel __attribute__((reqd_work_group_size(TILE_X, TILE_Y, TILE_Z)))
void cg_descend_groups(__global float *r, __global const float *q, __global const float *state, int n,
                       __global float *partial)
{
    __local float shared[TILE_X];
    float step = state[STEP], sum = 0.0f;
    int chunk = share_of(n), first = min((int)get_group_id(0) * chunk, n), count = min(chunk, n - first);
    __global float4 *r4 = (__global float4 *)(r + first);
    __global const float4 *q4 = (__global const float4 *)(q + first);
    for (int i = get_local_id(0); i < count / 4; i += TILE_X) {
        float4 next = r4[i] - step * q4[i];
        r4[i] = next;
        sum += next.x * next.x + next.y * next.y + next.z * next.z + next.w * next.w;
    }
    if (get_local_id(0) == 0)
        for (int i = first + (count & ~3); i < first + count; i++) {
            float next = r[i] - step * q[i];
            r[i] = next;
            sum += next * next;
        }
    sum = join_group(sum, shared);
    if (get_local_id(0) == 0)
        partial[get_group_id(0)] = sum;
}

__kernel __attribute__((reqd_work_group_size(TILE_X, TILE_Y, TILE_Z)))
void cg_descend_chunks(__global float *r, __global const float *q, __global const float *state, int n,
                       __global float *partial)
{
    float step = state[STEP], rest = 0.0f;
    int chunk = share_of(n), i = min((int)get_group_id(0) * chunk, n), last = i + min(chunk, n - i);
    float8 sum = 0.0f;
    while (i + 8 <= last) { /* sums of sums of 512 */
        int end = min(i + 512, last);
        float8 some = 0.0f;
        for (; i + 8 <= end; i += 8) {
            float8 next = LOAD8(r + i) - step * LOAD8(q + i);
            STORE8(next, r + i);
            some += next * next;
        }
        sum += some;
    }
    for (; i < last; i++) {
        float next = r[i] - step * q[i];
        r[i] = next;
        rest += next * next;
    }
    float4 four = sum.lo + sum.hi;
    partial[get_group_id(0)] = rest + (four.x + four.y) + (four.z + four.w);
}

/* v += step d, d = r + beta d. A beta of 0 with a step of 0 is the end: d stays. */
#define CG_STEP(T, V, D, R, i)                \
    {                                         \
        T old = D;                            \
        V = V + step * old;                   \
        D = R + beta * old;                   \
    }

__kernel void cg_direction_lanes(__global float *v, __global float *d, __global const float *r,
                                   __global const float *state, int n)
{
    float step = state[STEP], beta = state[BETA];
    __global float4 *v4 = (__global float4 *)v, *d4 = (__global float4 *)d;
    __global const float4 *r4 = (__global const float4 *)r;
    int group = get_group_id(0) * TILE_X * (MARCH / 4) + get_local_id(0);
    for (int k = 0; k < MARCH / 4; k++) {
        int i = group + k * TILE_X;
        if (i < n / 4)
            CG_STEP(float4, v4[i], d4[i], r4[i], i)
        else
            for (int j = 4 * i; j < n && j < 4 * i + 4; j++)
                CG_STEP(float, v[j], d[j], r[j], j)
    }
}

__kernel void cg_direction_runs(__global float *v, __global float *d, __global const float *r,
                                  __global const float *state, int n)
{
    float step = state[STEP], beta = state[BETA];
    int i = get_global_id(0) * MARCH, last = i + min(MARCH, n - i);
    for (; i + 8 <= last; i += 8) {
        float8 old = LOAD8(d + i);
        STORE8(LOAD8(v + i) + step * old, v + i);
        STORE8(LOAD8(r + i) + beta * old, d + i);
    }
    for (; i < last; i++)
        CG_STEP(float, v[i], d[i], r[i], i)
}
