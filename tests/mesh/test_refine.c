/* SPDX-License-Identifier: Apache-2.0 */
/* A mesh from a level set refined by cubics: closed, nearer to a ball than that
 * of the grid itself. */
#include "check.h"

#include "phantom/phantom.h"
#include "mesh/mesh.h"

static const double radius = 5.3;

static clvox_volume *ball(const int size[3], const double spacing[3], bool oblique)
{
    clvox_grid grid;
    clvox_volume *out = NULL;
    clvox_phantom_grid(size, spacing, oblique, &grid);
    assert_ok(clvox_volume_create(&grid, 1, CLVOX_KIND_SCALAR, &out));
    double centre[3];
    for (int r = 0; r < 3; r++) {
        centre[r] = grid.to_ras[r][3];
        for (int a = 0; a < 3; a++)
            centre[r] += grid.to_ras[r][a] * (0.5 * (size[a] - 1) + 0.2);
    }
    size_t i = 0;
    for (int z = 0; z < size[2]; z++)
        for (int y = 0; y < size[1]; y++)
            for (int x = 0; x < size[0]; x++, i++) {
                double sum = 0;
                for (int r = 0; r < 3; r++) {
                    double d = grid.to_ras[r][0] * x + grid.to_ras[r][1] * y + grid.to_ras[r][2] * z +
                               grid.to_ras[r][3] - centre[r];
                    sum += d * d;
                }
                out->data[i] = (float)(sqrt(sum) - radius);
            }
    return out;
}

static void against_a_ball(const int size[3], const double spacing[3], bool oblique)
{
    const double truth = 4 / 3. * 3.14159265358979 * radius * radius * radius;
    clvox_volume *in = ball(size, spacing, oblique);
    clvox_surface *plain = NULL, *fine = NULL;
    clvox_surface_facts a, b;
    assert_ok(clvox_surface_extract(in, 0, false, &plain));
    assert_ok(clv_surface_extract_fine(in, &fine));
    assert_ok(clvox_surface_inspect(plain, &a));
    assert_ok(clvox_surface_inspect(fine, &b));
    assert_true(b.euler == 2 && b.components == 1 && b.open_edges == 0 && b.flipped_edges == 0);
    assert_true(fabs(b.volume - truth) < 0.4 * fabs(a.volume - truth));
    for (int r = 0; r < 3; r++)
        assert_true(fabs(b.bounds[0][r] - a.bounds[0][r]) < 0.1 &&
                    fabs(b.bounds[1][r] - a.bounds[1][r]) < 0.1);
    double smooth;
    assert_ok(clv_surface_smooth_volume(in, &smooth));
    assert_that(fabs(smooth - truth) < 0.3 * fabs(b.volume - truth), "smooth %g, fine %g, truth %g", smooth,
                b.volume, truth);
    clvox_surface_destroy(&plain);
    clvox_surface_destroy(&fine);
    clvox_volume_destroy(&in);
}

static void at_the_edge(void)
{
    clvox_surface *out = NULL;
    clvox_surface_facts facts;
    clvox_volume *in = ball((int[3]){9, 31, 1}, (double[3]){1, 1, 1}, false);
    assert_ok(clv_surface_extract_fine(in, &out));
    assert_ok(clvox_surface_inspect(out, &facts));
    assert_true(facts.open_edges == 0 && facts.volume > 0);
    clvox_surface_destroy(&out);
    for (size_t i = 0; i < clvox_grid_voxels(&in->grid); i++)
        in->data[i] = 50;
    assert_true(clv_surface_extract_fine(in, &out) == CLVOX_ERROR_DATA && !out);
    clvox_volume_destroy(&in);
}

static void a_ball_on_a_cubic_grid(void **state)
{
    (void)state;
    against_a_ball((int[3]){17, 19, 23}, (double[3]){1, 1, 1}, false);
}

static void a_ball_on_an_anisotropic_turned_grid(void **state)
{
    (void)state;
    against_a_ball((int[3]){21, 19, 17}, (double[3]){0.8, 1, 1.1}, true);
}

static void cut_by_the_grid_and_no_surface(void **state)
{
    (void)state;
    at_the_edge();
}

int main(void)
{
    test_case(a_ball_on_a_cubic_grid, "a ball on a cubic grid");
    test_case(a_ball_on_an_anisotropic_turned_grid, "a ball on an anisotropic, turned grid");
    test_case(cut_by_the_grid_and_no_surface, "cut by the grid, and no surface");
    return test_run("refine", NULL);
}
