/* SPDX-License-Identifier: Apache-2.0 */
#include "ref/sort/scan.h"

void ref_scan(const uint32_t *in, const uint32_t *keys, int n, bool inclusive, uint32_t *out)
{
    uint32_t sum = 0;
    for (int i = 0; i < n; i++) {
        if (keys && i > 0 && keys[i] != keys[i - 1])
            sum = 0;
        out[i] = inclusive ? sum + in[i] : sum;
        sum += in[i];
    }
}

void ref_scan_wide(const uint64_t *in, const uint32_t *keys, int n, bool inclusive, uint64_t *out)
{
    uint64_t sum = 0;
    for (int i = 0; i < n; i++) {
        if (keys && i > 0 && keys[i] != keys[i - 1])
            sum = 0;
        out[i] = inclusive ? sum + in[i] : sum;
        sum += in[i];
    }
}
