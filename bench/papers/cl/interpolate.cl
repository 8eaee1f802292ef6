/* SPDX-License-Identifier: Apache-2.0 */
/* Linear interpolation at p = linear (i, 1) + shift u(i) by where the image lies, as Ha 2011, table 2.2,
 * compares: in a buffer, in an image object of one or three dimensions whose eight values are read one by
 * one, or (SAMPLER) in one of three whose sampler interpolates. */
#define HAS_FIELD 1
#include "common/position.clh"
#include "papers/texture.clh"

#if SAMPLER
__constant sampler_t between = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_LINEAR;
#endif

/* p lies on [0, n - 1]. */
static inline float value_at(TEXTURE in, int4 n, float3 p)
{
#if SAMPLER
    return read_imagef(in, between, (float4)(p + 0.5f, 0.0f)).x;
#else
    int x = (int)p.x, y = (int)p.y, z = (int)p.z;
    int right = min(x + 1, n.x - 1), back = min(y + 1, n.y - 1), above = min(z + 1, n.z - 1);
    float gx, gy, gz;
    const float v[8] = {TEXEL(in, x, y, z, n),        TEXEL(in, right, y, z, n),
                        TEXEL(in, x, back, z, n),     TEXEL(in, right, back, z, n),
                        TEXEL(in, x, y, above, n),    TEXEL(in, right, y, above, n),
                        TEXEL(in, x, back, above, n), TEXEL(in, right, back, above, n)};
    return trilinear(v, p.x - x, p.y - y, p.z - z, &gx, &gy, &gz);
#endif
}

__kernel void interpolate(TEXTURE in, int4 n, map m, __global const float *u, __global float *out, int4 size)
{
    int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
    if (x >= size.x || y >= size.y || z >= size.z)
        return;
    int i = (z * size.y + y) * size.x + x;
    float3 p = position_of(m, x, y, z, load_vec(u, i, size.x * size.y * size.z));
    out[i] = position_inside(p, n) ? value_at(in, n, position_clamp(p, n)) : 0.0f;
}
