/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/papers/ref/gradient.h"

#include "ref/common/difference.h"

void ref_gradient(const float *a, const int size[3], const float spacing[3], double *out)
{
    for (int axis = 0; axis < 3; axis++)
        for (int z = 0; z < size[2]; z++)
            for (int y = 0; y < size[1]; y++)
                for (int x = 0; x < size[0]; x++)
                    *out++ = ref_difference(a, size, spacing, (int[3]){x, y, z}, axis);
}
