/* SPDX-License-Identifier: Apache-2.0 */
/* Steps that are weighed by axis. */
#include <string.h>

#include "base/matrix.h"
#include "op/harness.h"
#include "register/pair.h"

static clvox_context *ctx;

/* The mean length of a warp along each axis of its grid, mm. */
static void along_axes(const clvox_volume *warp, double mean[3])
{
    size_t n = clvox_grid_voxels(&warp->grid);
    double edge[3];
    clvox_grid_spacing(&warp->grid, edge);
    for (int a = 0; a < 3; a++) {
        mean[a] = 0;
        for (size_t i = 0; i < n; i++) {
            double u = 0;
            for (int c = 0; c < 3; c++)
                u += warp->grid.to_ras[c][a] / edge[a] * (double)warp->data[(size_t)c * n + i];
            mean[a] += fabs(u) / (double)n;
        }
    }
}

/* The pair with the axes of both images stored in another order: z, x, y. */
static clvox_volume *permuted(const clvox_volume *v)
{
    const int *s = v->grid.size;
    clvox_grid grid = {.size = {s[2], s[0], s[1]}};
    clvox_volume *out;
    for (int r = 0; r < 4; r++) {
        grid.to_ras[r][0] = v->grid.to_ras[r][2];
        grid.to_ras[r][1] = v->grid.to_ras[r][0];
        grid.to_ras[r][2] = v->grid.to_ras[r][1];
        grid.to_ras[r][3] = v->grid.to_ras[r][3];
    }
    assert_ok(clvox_volume_create(&grid, 1, v->kind, &out));
    for (int z = 0; z < s[2]; z++)
        for (int y = 0; y < s[1]; y++)
            for (int x = 0; x < s[0]; x++)
                out->data[(y * s[0] + x) * s[2] + z] = v->data[(z * s[1] + y) * s[0] + x];
    return out;
}

static void an_axis_of_weight_0_does_not_move(void **state)
{
    const int *given = *state;
    clvox_register_options o;
    clvox_register_result r;
    pair p;
    double mean[3];
    pair_make(&p, (const int[3]){37, 33, 29}, (const double[3]){2, 2, 2.5}, true, 3, 5);
    pair_options(&o, (clvox_deform)given[0], CLVOX_METRIC_LNCC);
    o.restrict_axes[1] = 0;
    o.update_damping = .9; /* whose gradient has all components */
    assert_ok(pair_register(ctx, p.fixed, p.moving, NULL, NULL, &o, &r));
    along_axes(r.warp, mean);
    printf("# %.3f, %.3f and %.3f mm\n", mean[0], mean[1], mean[2]);
    assert_true(mean[0] > .05 && mean[1] < 1e-5 && mean[2] > .05);
    assert_true(!r.exchanged && r.ncc_after > r.ncc_linear);
    clvox_register_result_destroy(&r);
    /* The same axis of the head, whichever of the file's it is. */
    clvox_volume *fixed = permuted(p.fixed), *moving = permuted(p.moving);
    assert_ok(pair_register(ctx, fixed, moving, NULL, NULL, &o, &r));
    along_axes(r.warp, mean);
    assert_true(mean[1] > .05 && mean[2] < 1e-5 && mean[0] > .05);
    clvox_register_result_destroy(&r);
    o.restrict_axes[1] = 1.5;
    assert_int_equal(pair_register(ctx, fixed, moving, NULL, NULL, &o, &r), CLVOX_ERROR_ARGUMENT);
    clvox_volume_destroy(&fixed);
    clvox_volume_destroy(&moving);
    pair_free(&p);
}

int main(void)
{
    ctx = harness_open();
    test_case_at(an_axis_of_weight_0_does_not_move, TEST_AT(CLVOX_DEFORM_GREEDY), "an axis of weight 0: greedy");
    test_case_at(an_axis_of_weight_0_does_not_move, TEST_AT(CLVOX_DEFORM_SYN), "an axis of weight 0: syn");
    return test_run("restrict", harness_close);
}
