/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes of arrays: no product wraps. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "check.h"

static void products_do_not_wrap(void **state)
{
    (void)state;
    static const size_t large[][2] = {{SIZE_MAX, 2},         {2, SIZE_MAX},
                                      {SIZE_MAX / 8 + 2, 8}, {(SIZE_MAX >> 3) + 13, 8},
                                      {SIZE_MAX, 1},         {SIZE_MAX, SIZE_MAX}};
    char *old = clv_array(3, 1);
    assert_true(old != NULL);
    memcpy(old, "ab", 3);
    for (size_t i = 0; i < sizeof large / sizeof *large; i++) {
        assert_true(clv_times(large[i][0], large[i][1]) == SIZE_MAX);
        assert_true(!clv_array(large[i][0], large[i][1]));
        assert_true(!clv_array_moved(old, large[i][0], large[i][1]) && !strcmp(old, "ab"));
    }
    assert_true(clv_times(0, SIZE_MAX) == 0 && clv_times(3, 5) == 15);
    old = clv_array_moved(old, 2000, 3);
    assert_true(old && !strcmp(old, "ab"));
    free(old);
    /* Nothing is a place, too. */
    void *none = clv_array(0, 8);
    assert_true(none != NULL);
    free(none);
}

static void rooms_that_no_int_counts_are_refused(void **state)
{
    (void)state;
    int room = INT32_MAX / 2 + 1, element = 0;
    assert_true(!clv_grown(&element, room, &room, sizeof element) && room == INT32_MAX / 2 + 1);
}

int main(void)
{
    test_case(products_do_not_wrap, "products of sizes do not wrap");
    test_case(rooms_that_no_int_counts_are_refused, "an array that no int counts is refused");
    return test_run("array", NULL);
}
