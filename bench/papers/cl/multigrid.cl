/* SPDX-License-Identifier: Apache-2.0 */
/* Fields between a grid and the next coarser one. Voxel i of the fine grid lies at (i + shift) ratio - shift of
 * the coarse one, axis by axis; fine.w: periodic, else 0 outside, where shift is 1 and the zeros beside both
 * grids lie in the same places. */
#include "common/border.clh"
#include "common/field.clh"

#define TRANSFER_ARGUMENTS                                                                            \
    __global const float *in, __global float *out, int4 fine, int4 coarse, float4 ratio, float shift

static inline float place_in_coarse(int i, float ratio, float shift)
{
    return (convert_float(i) + shift) * ratio - shift;
}

/* out += the coarse field, linearly interpolated. */
static inline void prolong_at(__global const float *in, __global float *out, int x, int y, int z, int4 fine, int4 coarse,
                              float4 ratio, float shift)
{
    float px = place_in_coarse(x, ratio.x, shift), py = place_in_coarse(y, ratio.y, shift);
    float pz = place_in_coarse(z, ratio.z, shift);
    int jx = convert_int(floor(px)), jy = convert_int(floor(py)), jz = convert_int(floor(pz));
    float tx = px - convert_float(jx), ty = py - convert_float(jy), tz = pz - convert_float(jz);
    int n = coarse.x * coarse.y * coarse.z, i = (z * fine.y + y) * fine.x + x, all = fine.x * fine.y * fine.z;
    float3 v = load_vec(out, i, all);
    for (int k = 0; k < 8; k++) {
        int cx = place_of(jx + (k & 1), coarse.x, fine.w), cy = place_of(jy + (k >> 1 & 1), coarse.y, fine.w);
        int cz = place_of(jz + (k >> 2), coarse.z, fine.w);
        float w = (k & 1 ? tx : 1.0f - tx) * (k & 2 ? ty : 1.0f - ty) * (k & 4 ? tz : 1.0f - tz);
        if (w > 0.0f && cx >= 0 && cy >= 0 && cz >= 0)
            v += w * load_vec(in, (cz * coarse.y + cy) * coarse.x + cx, n);
    }
    store_vec(v, out, i, all);
}

/* The same of a row, whose four coarse rows are found once. */
static inline void prolong_row(__global const float *in, __global float *out, int y, int z, int4 fine,
                               int4 coarse, float4 ratio, float shift)
{
    float py = place_in_coarse(y, ratio.y, shift), pz = place_in_coarse(z, ratio.z, shift), weight[4];
    int jy = convert_int(floor(py)), jz = convert_int(floor(pz)), row[4];
    float ty = py - convert_float(jy), tz = pz - convert_float(jz);
    int n = coarse.x * coarse.y * coarse.z, all = fine.x * fine.y * fine.z, to = (z * fine.y + y) * fine.x;
    for (int k = 0; k < 4; k++) {
        int cy = place_of(jy + (k & 1), coarse.y, fine.w), cz = place_of(jz + (k >> 1), coarse.z, fine.w);
        bool there = cy >= 0 && cz >= 0;
        row[k] = there ? (cz * coarse.y + cy) * coarse.x : 0;
        weight[k] = there ? (k & 1 ? ty : 1.0f - ty) * (k & 2 ? tz : 1.0f - tz) : 0.0f;
    }
    for (int x = 0; x < fine.x; x++) {
        float px = place_in_coarse(x, ratio.x, shift);
        int jx = convert_int(floor(px)), left = place_of(jx, coarse.x, fine.w);
        int right = place_of(jx + 1, coarse.x, fine.w);
        float tx = px - convert_float(jx), wl = left < 0 ? 0.0f : 1.0f - tx, wr = right < 0 ? 0.0f : tx;
        left = max(left, 0);
        right = max(right, 0);
        float3 v = load_vec(out, to + x, all);
        for (int k = 0; k < 4; k++)
            v += weight[k] * (wl * load_vec(in, row[k] + left, n) + wr * load_vec(in, row[k] + right, n));
        store_vec(v, out, to + x, all);
    }
}

/* The first and last fine voxels that feel coarse voxel j. */
static inline int2 felt_by(int j, float ratio, float shift)
{
    float at = (convert_float(j) + shift) / ratio - shift, reach = 1.0f / ratio;
    return (int2)(convert_int(ceil(at - reach)), convert_int(floor(at + reach)));
}

static inline float weight_of(int i, int j, float ratio, float shift)
{
    return ratio * fmax(1.0f - fabs(place_in_coarse(i, ratio, shift) - convert_float(j)), 0.0f);
}

/* The adjoint, with weights that add up to 1. */
static inline void restrict_at(__global const float *in, __global float *out, int x, int y, int z, int4 fine,
                               int4 coarse, float4 ratio, float shift)
{
    int2 rx = felt_by(x, ratio.x, shift), ry = felt_by(y, ratio.y, shift), rz = felt_by(z, ratio.z, shift);
    int n = fine.x * fine.y * fine.z;
    float3 sum = 0.0f;
    for (int k = rz.x; k <= rz.y; k++) {
        float wz = weight_of(k, z, ratio.z, shift);
        int pz = place_of(k, fine.z, fine.w);
        for (int j = ry.x; j <= ry.y; j++) {
            float wy = wz * weight_of(j, y, ratio.y, shift);
            int py = place_of(j, fine.y, fine.w);
            if (!(wy > 0.0f) || py < 0 || pz < 0)
                continue;
            for (int i = rx.x; i <= rx.y; i++) {
                int px = place_of(i, fine.x, fine.w);
                if (px >= 0)
                    sum += wy * weight_of(i, x, ratio.x, shift) * load_vec(in, (pz * fine.y + py) * fine.x + px, n);
            }
        }
    }
    store_vec(sum, out, (z * coarse.y + y) * coarse.x + x, coarse.x * coarse.y * coarse.z);
}

/* A work-item a voxel of the grid that is written. */
#define OF_ITEM(AT, written)                                              \
    int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2); \
    if (x < written.x && y < written.y && z < written.z)                  \
        AT(in, out, x, y, z, fine, coarse, ratio, shift);

__kernel void mg_prolong_item(TRANSFER_ARGUMENTS)
{
    OF_ITEM(prolong_at, fine)
}

__kernel void mg_prolong_row(TRANSFER_ARGUMENTS)
{
    int y = get_global_id(1), z = get_global_id(2);
    if (y < fine.y && z < fine.z)
        prolong_row(in, out, y, z, fine, coarse, ratio, shift);
}

__kernel void mg_restrict_item(TRANSFER_ARGUMENTS)
{
    OF_ITEM(restrict_at, coarse)
}

__kernel void mg_restrict_row(TRANSFER_ARGUMENTS)
{
    int y = get_global_id(1), z = get_global_id(2);
    if (y < coarse.y && z < coarse.z)
        for (int x = 0; x < coarse.x; x++)
            restrict_at(in, out, x, y, z, fine, coarse, ratio, shift);
}
