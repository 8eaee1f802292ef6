/* SPDX-License-Identifier: Apache-2.0 */
#include "ref/tensor/links.h"

#include <stdbool.h>
#include <stddef.h>

static bool inside(const float *mask, const int size[3], const int at[3])
{
    for (int a = 0; a < 3; a++)
        if (at[a] < 0 || at[a] >= size[a])
            return false;
    return !mask || mask[((size_t)at[2] * (size_t)size[1] + (size_t)at[1]) * (size_t)size[0] + (size_t)at[0]] > 0;
}

void ref_tensor_links(const float *mask, const int size[3], unsigned char *links)
{
    size_t i = 0;
    for (int z = 0; z < size[2]; z++)
        for (int y = 0; y < size[1]; y++)
            for (int x = 0; x < size[0]; x++, i++) {
                int bits = 0;
                if (inside(mask, size, (const int[3]){x, y, z})) {
                    bits = 8;
                    for (int a = 0; a < 3; a++) {
                        const int d[3] = {a == 0, a == 1, a == 2};
                        if (inside(mask, size, (const int[3]){x + d[0], y + d[1], z + d[2]}))
                            bits |= 1 << a;
                        if (inside(mask, size, (const int[3]){x - d[0], y - d[1], z - d[2]}))
                            bits |= 16 << a;
                    }
                }
                links[i] = (unsigned char)bits;
            }
}
