/* SPDX-License-Identifier: Apache-2.0 */
#include "ref/field/jacobian.h"

#include <math.h>
#include <stddef.h>

#include "ref/common/difference.h"

void ref_jacobian(const float *field, const int size[3], const float spacing[3], bool log_,
                  double *out)
{
    size_t n = (size_t)size[0] * (size_t)size[1] * (size_t)size[2];
    int at[3];
    for (at[2] = 0; at[2] < size[2]; at[2]++)
        for (at[1] = 0; at[1] < size[1]; at[1]++)
            for (at[0] = 0; at[0] < size[0]; at[0]++) {
                double m[3][3];
                for (int i = 0; i < 3; i++)
                    for (int j = 0; j < 3; j++)
                        m[i][j] = (i == j) + ref_difference(field + (size_t)i * n, size, spacing, at, j);
                double det = m[0][0] * (m[1][1] * m[2][2] - m[1][2] * m[2][1]) -
                             m[0][1] * (m[1][0] * m[2][2] - m[1][2] * m[2][0]) +
                             m[0][2] * (m[1][0] * m[2][1] - m[1][1] * m[2][0]);
                *out++ = !log_ ? det : log(det < 1e-6 ? 1e-6 : det);
            }
}
