/* SPDX-License-Identifier: Apache-2.0 */
/* Products of currents with a Cauchy kernel, k = 1 / (1 + |x - y|^2 / h^2), which Ha 2011 names beside the
 * Gaussian (equation 3.6), and their gradients over all pairs: for each target element i
 *   e_i = a_i sum_j k(x_i, y_j) b_j (n_i . m_j).
 * An element is two float4: centre, then unit normal and area. out has two float4 a target: the derivative of
 * the product by the centre, and e_i; the sum of k b m. No pair is negligible, as the kernel's tails are
 * long. */
__kernel void cauchy(__global const float4 *target, int targets, __global const float4 *source, int sources,
                     float scale, __global float4 *out)
{
    int i = get_global_id(0);
    if (i >= targets)
        return;
    float4 x = target[2 * i], n = target[2 * i + 1];
    float3 by_centre = 0.0f, along = 0.0f;
    for (int first = 0; first < sources; first += 256) { /* sums of few, so that float32 holds them */
        float3 centre_part = 0.0f, along_part = 0.0f;
        for (int j = first; j < min(first + 256, sources); j++) {
            float4 y = source[2 * j], m = source[2 * j + 1];
            float3 d = x.xyz - y.xyz;
            float k = 1.0f / (1.0f + scale * dot(d, d));
            centre_part += k * k * m.w * dot(n.xyz, m.xyz) * d;
            along_part += k * m.w * m.xyz;
        }
        by_centre += centre_part;
        along += along_part;
    }
    out[2 * i] = (float4)(-2.0f * scale * n.w * by_centre, n.w * dot(n.xyz, along));
    out[2 * i + 1] = (float4)(along, 0.0f);
}
