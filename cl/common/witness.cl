/* SPDX-License-Identifier: Apache-2.0 */
/* Words that the host reads, as a kernel sees them: count of them, step apart, from 64 * blocks + rest on.
 * They are mixed into one number for each work-item, as by the host. */

__kernel void witness(__global const uint *in, __global uint *out, int blocks, int rest, int step, int count,
                      int turn)
{
    const int item = (int)get_global_id(0);
    const size_t first = (size_t)blocks * 64 + (size_t)rest;
    uint mixed = (uint)turn + (uint)item;
    if (item >= WITNESSES)
        return;
    for (int i = item; i < count; i += WITNESSES)
        mixed = (mixed ^ in[first + (size_t)i * (size_t)step]) * 0x9e3779b1u;
    out[item] = mixed * 0x9e3779b1u;
}
