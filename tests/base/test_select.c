/* SPDX-License-Identifier: Apache-2.0 */
#include "base/select.h"
#include "check.h"

enum { MOST = 97 };

static int ascending(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

int main(void)
{
    static const int kinds = 4;
    unsigned seed = 7;
    CHECK_CASE("what stands at a place if values ascended");
    for (int count = 1; count <= MOST; count++)
        for (int kind = 0; kind < kinds; kind++) {
            float values[MOST], sorted[MOST], shuffled[MOST];
            for (int i = 0; i < count; i++) {
                seed = seed * 1664525 + 1013904223;
                float r = (float)(seed >> 8);
                values[i] = kind == 0 ? r : kind == 1 ? (float)((seed >> 8) % 3) : kind == 2 ? (float)i : (float)-i;
            }
            values[count / 3] = kind == 0 ? INFINITY : values[count / 3];
            memcpy(sorted, values, sizeof values);
            qsort(sorted, (size_t)count, sizeof *sorted, ascending);
            for (int place = 0; place < count; place++) {
                memcpy(shuffled, values, sizeof values);
                CHECK(clv_select(shuffled, (size_t)count, (size_t)place) == (double)sorted[place]);
            }
            memcpy(shuffled, values, sizeof values);
            CHECK(clv_median(shuffled, (size_t)count) == (double)sorted[count / 2]);
        }
    CHECK_CASE("of nothing the median is 0");
    CHECK(clv_median(NULL, 0) == 0);
    return check_end();
}
