/* SPDX-License-Identifier: Apache-2.0 */
#include "ref/image/smooth.h"

#include <math.h>

double ref_smooth_longest(const double *field, size_t voxels, const float scale[3])
{
    double most = 0;
    for (size_t i = 0; i < voxels; i++) {
        double square = 0;
        for (size_t c = 0; c < 3; c++)
            square += pow((double)scale[c] * field[c * voxels + i], 2);
        if (isnan(square))
            return square;
        most = fmax(most, square);
    }
    return sqrt(most);
}
