/* SPDX-License-Identifier: Apache-2.0 */
#include "ref/field/compose.h"

#include <math.h>

double ref_component(const float *w, const int n[3], const double p[3], int c)
{
    double sum = 0;
    for (int z = (int)p[2]; z <= (int)p[2] + 1 && z < n[2]; z++)
        for (int y = (int)p[1]; y <= (int)p[1] + 1 && y < n[1]; y++)
            for (int x = (int)p[0]; x <= (int)p[0] + 1 && x < n[0]; x++) {
                double weight = (1 - fabs(x - p[0])) * (1 - fabs(y - p[1])) * (1 - fabs(z - p[2]));
                size_t row = ((size_t)c * (size_t)n[2] + (size_t)z) * (size_t)n[1] + (size_t)y;
                size_t i = row * (size_t)n[0] + (size_t)x;
                if (weight > 0)
                    sum += weight * w[i];
            }
    return sum;
}

void ref_compose(const float *u, double own, const float *w, const int w_size[3], const clv_map *map,
                 const float reorient[3][3], bool extend, double slack, double *out, int *unsure,
                 const int out_size[3])
{
    size_t n = (size_t)out_size[0] * (size_t)out_size[1] * (size_t)out_size[2], i = 0;
    for (int z = 0; z < out_size[2]; z++)
        for (int y = 0; y < out_size[1]; y++)
            for (int x = 0; x < out_size[0]; x++, i++) {
                double p[3], value[3] = {0};
                bool inside = true;
                unsure[i] = 0;
                for (int a = 0; a < 3; a++) {
                    const float *row = map->linear[a];
                    p[a] = (double)row[0] * x + (double)row[1] * y + (double)row[2] * z + row[3];
                    for (int b = 0; u && b < 3; b++)
                        p[a] += (double)map->shift[a][b] * u[(size_t)b * n + i];
                    inside = inside && (extend || (p[a] >= -0.5 && p[a] <= w_size[a] - 0.5));
                    if (!extend && (fabs(p[a] + 0.5) < slack || fabs(p[a] - w_size[a] + 0.5) < slack))
                        unsure[i] = 1;
                    p[a] = fmin(fmax(isnan(p[a]) ? 0 : p[a], 0), w_size[a] - 1);
                    if (fabs(p[a] - rint(p[a])) < slack && fabs(p[a] - rint(p[a])) > 0)
                        unsure[i] = 1;
                }
                for (int c = 0; inside && c < 3; c++)
                    value[c] = ref_component(w, w_size, p, c);
                for (int a = 0; a < 3; a++) {
                    double *to = &out[(size_t)a * n + i];
                    *to = u ? own * u[(size_t)a * n + i] : 0;
                    for (int b = 0; inside && b < 3; b++)
                        *to += reorient[a][b] * value[b];
                }
            }
}
