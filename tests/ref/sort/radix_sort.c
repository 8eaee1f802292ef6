/* SPDX-License-Identifier: Apache-2.0 */
#include "ref/sort/radix_sort.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int by_value(double a, double b)
{
    if (isnan(a) || isnan(b))
        return isnan(a) - isnan(b);
    return a != b ? (a > b) - (a < b) : (a == 0) * (!signbit(a) - !signbit(b));
}

static int compare(clvox_sort_kind kind, const void *keys, uint32_t i, uint32_t j)
{
    switch (kind) {
    case CLVOX_SORT_UINT32: {
        const uint32_t *k = keys;
        return (k[i] > k[j]) - (k[i] < k[j]);
    }
    case CLVOX_SORT_INT32: {
        const int32_t *k = keys;
        return (k[i] > k[j]) - (k[i] < k[j]);
    }
    case CLVOX_SORT_FLOAT32:
        return by_value((double)((const float *)keys)[i], (double)((const float *)keys)[j]);
    case CLVOX_SORT_UINT64: {
        const uint64_t *k = keys;
        return (k[i] > k[j]) - (k[i] < k[j]);
    }
    case CLVOX_SORT_INT64: {
        const int64_t *k = keys;
        return (k[i] > k[j]) - (k[i] < k[j]);
    }
    default:
        return by_value(((const double *)keys)[i], ((const double *)keys)[j]);
    }
}

/* Merges order[from, middle) and order[middle, to) by way of room. */
static void merge(clvox_sort_kind kind, const void *keys, uint32_t *order, uint32_t *room, int from, int middle, int to)
{
    int a = from, b = middle;
    for (int i = from; i < to; i++)
        room[i] = b >= to || (a < middle && compare(kind, keys, order[a], order[b]) <= 0) ? order[a++] : order[b++];
    memcpy(order + from, room + from, (size_t)(to - from) * sizeof *order);
}

void ref_sort(clvox_sort_kind kind, const void *keys, int n, uint32_t *order)
{
    uint32_t *room = malloc((size_t)(n + 1) * sizeof *room);
    for (int i = 0; i < n; i++)
        order[i] = (uint32_t)i;
    for (int width = 1; room && width < n; width *= 2)
        for (int from = 0; from + width < n; from += 2 * width)
            merge(kind, keys, order, room, from, from + width, from + 2 * width < n ? from + 2 * width : n);
    free(room);
}
