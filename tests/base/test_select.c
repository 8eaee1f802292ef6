/* SPDX-License-Identifier: Apache-2.0 */
#include "base/select.h"
#include "check.h"

enum { MOST = 97 };

static int ascending(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

static const int kinds = 4;

/* State that cases hand on. */
static struct {
    unsigned seed;
} shared;

static void what_stands_at_a_place_if_values_ascended(void **state)
{
    (void)state;
    for (int count = 1; count <= MOST; count++)
        for (int kind = 0; kind < kinds; kind++) {
            float values[MOST], sorted[MOST], shuffled[MOST];
            for (int i = 0; i < count; i++) {
                shared.seed = shared.seed * 1664525 + 1013904223;
                float r = (float)(shared.seed >> 8);
                values[i] = kind == 0   ? r
                            : kind == 1 ? (float)((shared.seed >> 8) % 3)
                            : kind == 2 ? (float)i
                                        : (float)-i;
            }
            values[count / 3] = kind == 0 ? INFINITY : values[count / 3];
            memcpy(sorted, values, sizeof values);
            qsort(sorted, (size_t)count, sizeof *sorted, ascending);
            for (int place = 0; place < count; place++) {
                memcpy(shuffled, values, sizeof values);
                assert_true(clv_select(shuffled, (size_t)count, (size_t)place) == (double)sorted[place]);
            }
            memcpy(shuffled, values, sizeof values);
            assert_true(clv_median(shuffled, (size_t)count) == (double)sorted[count / 2]);
        }
}

/* So many that a sample of them chooses where to divide. */
static void of_many_as_well(void **state)
{
    (void)state;
    enum { MANY = 200003 };
    float *values = malloc(MANY * sizeof *values), *sorted = malloc(MANY * sizeof *sorted);
    assert_true(values && sorted);
    for (int kind = 0; kind < 6; kind++) {
        for (int i = 0; i < MANY; i++) {
            shared.seed = shared.seed * 1664525 + 1013904223;
            const float r = (float)(shared.seed >> 8);
            values[i] = kind == 0   ? r
                        : kind == 1 ? (float)((shared.seed >> 8) % 3)
                        : kind == 2 ? (float)i
                        : kind == 3 ? (float)-i
                        : kind == 4 ? (float)(i % 784) /* as far apart as those of a sample */
                                    : 0;
        }
        values[MANY - 1] = kind == 5 ? 1 : values[MANY - 1];
        memcpy(sorted, values, MANY * sizeof *values);
        qsort(sorted, MANY, sizeof *sorted, ascending);
        for (int k = 0; k <= 20; k++) {
            const size_t place = (size_t)k * (MANY - 1) / 20; /* of what earlier ones have shuffled */
            assert_true(clv_select(values, MANY, place) == (double)sorted[place]);
        }
        assert_true(clv_select(values, MANY, MANY / 100) == (double)sorted[MANY / 100]);
    }
    free(values);
    free(sorted);
}

static void of_nothing_the_median_is_0(void **state)
{
    (void)state;
    assert_true(clv_median(NULL, 0) == 0);
}

int main(void)
{
    shared.seed = 7;
    test_case(what_stands_at_a_place_if_values_ascended, "what stands at a place if values ascended");
    test_case(of_many_as_well, "what stands there of many values");
    test_case(of_nothing_the_median_is_0, "of nothing the median is 0");
    return test_run("select", NULL);
}
