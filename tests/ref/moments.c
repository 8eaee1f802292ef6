/* SPDX-License-Identifier: Apache-2.0 */
#include "ref/moments.h"

#include <math.h>

void ref_moments(const float *w, const int size[3], double result[10])
{
    double sum = 0, mean[3] = {0, 0, 0};
    for (int i = 0; i < 10; i++)
        result[i] = 0;
    for (int pass = 0; pass < 2; pass++) {
        const float *at = w;
        for (int z = 0; z < size[2]; z++)
            for (int y = 0; y < size[1]; y++)
                for (int x = 0; x < size[0]; x++, at++) {
                    double v = *at > 0 && isfinite(*at) ? *at : 0;
                    double p[3] = {x - mean[0], y - mean[1], z - mean[2]};
                    if (!pass) {
                        sum += v;
                        for (int i = 0; i < 3; i++)
                            result[1 + i] += v * p[i];
                    } else {
                        for (int i = 0, k = 4; i < 3; i++)
                            for (int j = i; j < 3; j++)
                                result[k++] += v * p[i] * p[j] / sum;
                    }
                }
        if (!(sum > 0))
            return;
        for (int i = 0; i < 3 && !pass; i++)
            mean[i] = result[1 + i] /= sum;
    }
    result[0] = sum;
}
