/* SPDX-License-Identifier: Apache-2.0 */
/* Which voxels lie far beyond all others. */
#include "image/outliers.h"

#include <math.h>

#include "check.h"
#include "phantom/phantom.h"

static clvox_volume *volume(int nx, int ny, int nz)
{
    clvox_grid grid;
    clvox_volume *v;
    clvox_phantom_grid((const int[3]){nx, ny, nz}, (const double[3]){1, 2, 3}, true, &grid);
    assert_ok(clvox_volume_create(&grid, 1, CLVOX_KIND_SCALAR, &v));
    for (size_t i = 0; i < clvox_grid_voxels(&grid); i++)
        v->data[i] = (float)(i * 37 % 101);
    return v;
}

static void far_voxels_take_the_limits(void **state)
{
    (void)state;
    static const float factors[] = {400, -400, 1e6f, -1e6f};
    for (int k = 0; k < 4; k++)
        for (int count = 0; count <= 27; count += 9) {
            clvox_volume *v = volume(17, 13, 11), *out;
            v->data[3] = NAN;
            v->data[4] = INFINITY;
            v->data[5] = -INFINITY;
            for (int i = 0; i < count; i++)
                v->data[100 + 71 * i] = factors[k] * (float)(1 + i % 3);
            assert_ok(clv_outliers_clip(v, &out));
            assert_true((out != NULL) == (count > 0));
            for (size_t i = 0; out && i < clvox_grid_voxels(&v->grid); i++)
                assert_true(i == 3 ? isnan(out->data[i]) : out->data[i] >= 0 && out->data[i] <= 100);
            if (out)
                assert_true(out->data[50] == v->data[50] &&
                            (factors[k] > 0 ? out->data[100] >= 99 : out->data[100] <= 1));
            clvox_volume_destroy(&out);
            clvox_volume_destroy(&v);
        }
}

/* A cube of 4 x 4 x 4 voxels, on one value or far above others; a volume of few voxels; nothing but NaN. */
static void objects_stay(void **state)
{
    (void)state;
    for (int k = 0; k < 4; k++) {
        clvox_volume *v = k == 2 ? volume(7, 1, 1) : volume(17, 13, 11), *out;
        for (size_t i = 0; i < clvox_grid_voxels(&v->grid); i++) {
            const size_t x = i % 17, y = i / 17 % 13, z = i / 17 / 13;
            if (k == 3)
                v->data[i] = NAN;
            else if (k == 1)
                v->data[i] = i == 77;
            else if (k == 0 && x < 4 && y < 4 && z < 4)
                v->data[i] = 5000;
        }
        if (k == 2)
            v->data[3] = 5000;
        assert_ok(clv_outliers_clip(v, &out));
        assert_null(out);
        clvox_volume_destroy(&v);
    }
}

int main(void)
{
    test_case(far_voxels_take_the_limits, "a few voxels far beyond all others take the limits of those");
    test_case(objects_stay, "objects, single voxels on one value and tiny volumes stay");
    return test_run("outliers", NULL);
}
