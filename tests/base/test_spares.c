/* SPDX-License-Identifier: Apache-2.0 */
#include "base/spares.h"

#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "clvox/volume.h"

enum { MIB = 1 << 20 };

static void a_piece_that_was_given_back_is_the_next_of_its_size(void **state)
{
    (void)state;
    clvox_spares((size_t)64 * MIB);
    unsigned char *first = clv_large((size_t)8 * MIB), *other = clv_large((size_t)8 * MIB);
    assert_true(first && other && first != other);
    memset(first, 1, (size_t)8 * MIB);
    clv_large_free(first);
    unsigned char *larger = clv_large((size_t)9 * MIB), *smaller = clv_large((size_t)7 * MIB);
    assert_true(larger && smaller && larger != first && smaller != first);
    unsigned char *again = clv_large((size_t)8 * MIB);
    assert_true(again == first);
    clv_large_free(again);
    unsigned char *zeros = clv_large_zeros((size_t)8 * MIB);
    assert_true(zeros == first);
    for (size_t i = 0; i < (size_t)8 * MIB; i++)
        assert_int_equal(zeros[i], 0);
    clv_large_free(zeros);
    clv_large_free(other);
    clv_large_free(larger);
    clv_large_free(smaller);
    clv_large_free(NULL);
    clvox_spares(0);
}

/* One more than there is room for: the oldest goes. */
static void no_more_is_kept_than_was_asked_for(void **state)
{
    (void)state;
    void *piece[3];
    clvox_spares((size_t)33 * MIB);
    for (int i = 0; i < 3; i++)
        assert_non_null(piece[i] = clv_large((size_t)16 * MIB - 65536));
    for (int i = 0; i < 3; i++)
        clv_large_free(piece[i]);
    assert_true(clv_large((size_t)16 * MIB - 65536) == piece[2]);
    assert_true(clv_large((size_t)16 * MIB - 65536) == piece[1]);
    free(piece[1]);
    free(piece[2]);
    clvox_spares(0);
}

static void volumes_begin_with_zeros_in_memory_of_earlier_ones(void **state)
{
    (void)state;
    clvox_volume *v;
    const clvox_grid grid = {.size = {128, 128, 64},
                             .to_ras = {{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}, {0, 0, 0, 1}}};
    clvox_spares((size_t)64 * MIB);
    assert_int_equal(clvox_volume_create(&grid, 1, CLVOX_KIND_SCALAR, &v), CLVOX_OK);
    const float *before = v->data;
    for (size_t i = 0; i < clvox_grid_voxels(&grid); i++)
        v->data[i] = 5;
    clvox_volume_destroy(&v);
    assert_int_equal(clvox_volume_create(&grid, 1, CLVOX_KIND_SCALAR, &v), CLVOX_OK);
    assert_true(v->data == before);
    for (size_t i = 0; i < clvox_grid_voxels(&grid); i++)
        assert_true(v->data[i] == 0);
    clvox_volume_destroy(&v);
    clvox_spares(0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_piece_that_was_given_back_is_the_next_of_its_size),
        cmocka_unit_test(no_more_is_kept_than_was_asked_for),
        cmocka_unit_test(volumes_begin_with_zeros_in_memory_of_earlier_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
