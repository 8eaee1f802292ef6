/* SPDX-License-Identifier: Apache-2.0 */
#include "base/select.h"

#include <math.h>
#include <stdlib.h>

/* SAMPLE values of so many or more tell where the wanted one about is. */
enum { MANY = 1 << 14, SAMPLE = 255 };

static int by_value(const void *a, const void *b)
{
    const float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

/* Chooses one of values[low] to values[high - 1] a little on the far side of `place`, so that few are left on its
 * side. Not the last, so that each side shrinks. */
static float pivot_of(const float *values, size_t low, size_t high, size_t place)
{
    const size_t count = high - low, step = (count - 1) / SAMPLE;
    float sample[SAMPLE];
    if (count < MANY)
        return values[low + (count - 1) / 2];
    for (size_t i = 0; i < SAMPLE; i++)
        sample[i] = values[low + i * step];
    qsort(sample, SAMPLE, sizeof *sample, by_value);
    const double share = (double)(place - low) / (double)count,
                 spread = sqrt(SAMPLE * share * (1 - share)) + 1;
    const double at = SAMPLE * share + (share < .5 ? 2 : -2) * spread;
    return sample[(size_t)fmin(fmax(at, 0), SAMPLE - 1)];
}

double clv_select(float *values, size_t count, size_t place)
{
    size_t low = 0, high = count;
    while (high - low > 1) {
        const float pivot = pivot_of(values, low, high, place);
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
