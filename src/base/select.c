/* SPDX-License-Identifier: Apache-2.0 */
#include "base/select.h"

#include <math.h>

double clv_select(float *values, size_t count, size_t place)
{
    size_t low = 0, high = count;
    while (high - low > 1) {
        float pivot = values[low + (high - low - 1) / 2]; /* not the last, so that each side shrinks */
        size_t i = low, j = high - 1;
        for (;;) {
            while (values[i] < pivot)
                i++;
            while (values[j] > pivot)
                j--;
            if (i >= j)
                break;
            float swap = values[i];
            values[i++] = values[j];
            values[j--] = swap;
        }
        if (place <= j)
            high = j + 1;
        else
            low = j + 1;
    }
    return (double)values[place];
}

double clv_select_quantile(float *values, size_t count, double q)
{
    double place = q * (double)(count - 1), f = place - floor(place);
    double low = clv_select(values, count, (size_t)place);
    return f > 0 ? low + f * (clv_select(values, count, (size_t)place + 1) - low) : low;
}

double clv_median(float *values, size_t count)
{
    return count ? clv_select(values, count, count / 2) : 0;
}

int clv_ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}
