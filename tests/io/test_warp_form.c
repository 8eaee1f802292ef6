/* SPDX-License-Identifier: Apache-2.0 */
/* Warps in the forms of MRtrix and FSL, checked by doing by hand what their
 * manuals say that mrtransform and applywarp do. */
#include <unistd.h>

#include "check.h"
#include "clvox/transform.h"
#include "io/volume/file.h"

/* An oblique grid of unequal edges; right-handed or not. */
static void grid_of(const int size[3], double angle, bool right_handed, clvox_grid *grid)
{
    const double edge[3] = {1, 1.5, 2}, c = cos(angle), s = sin(angle);
    const double axes[3][3] = {{c, -s, 0}, {s, c, 0}, {0, 0, 1}};
    *grid = (clvox_grid){.size = {size[0], size[1], size[2]}, .to_ras = {[3] = {0, 0, 0, 1}}};
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++)
            grid->to_ras[i][j] = axes[i][j] * edge[j];
        grid->to_ras[i][3] = -20 + 3 * i;
    }
    if (!right_handed)
        for (int i = 0; i < 3; i++) {
            grid->to_ras[i][3] += grid->to_ras[i][0] * (size[0] - 1);
            grid->to_ras[i][0] = -grid->to_ras[i][0];
        }
}

static clvox_volume *warp_on(const clvox_grid *grid)
{
    clvox_volume *warp;
    assert_ok(clvox_volume_create(grid, 3, CLVOX_KIND_DISPLACEMENT, &warp));
    for (size_t i = 0; i < 3 * clvox_grid_voxels(grid); i++)
        warp->data[i] = (float)(5 * sin(.37 * (double)i));
    return warp;
}

static void look(const clvox_grid *grid, const clvox_volume *warp, const int at[3], size_t *i, double ras[3])
{
    size_t n = clvox_grid_voxels(grid);
    *i = ((size_t)at[2] * (size_t)grid->size[1] + (size_t)at[1]) * (size_t)grid->size[0] + (size_t)at[0];
    for (int r = 0; r < 3; r++)
        ras[r] = grid->to_ras[r][0] * at[0] + grid->to_ras[r][1] * at[1] + grid->to_ras[r][2] * at[2] +
                 grid->to_ras[r][3] + (double)warp->data[(size_t)r * n + *i];
}

static char path[64];

static void mrtrix_four_axes_each_voxel_the_scanner(void **state)
{
    (void)state;
    clvox_grid grid;
    clvox_volume *written;
    grid_of((int[3]){7, 9, 5}, .3, true, &grid);
    clvox_volume *warp = warp_on(&grid);
    const size_t n = clvox_grid_voxels(&grid);
    assert_ok(clvox_warp_write_with(warp, CLVOX_WARP_MRTRIX, NULL, path));
    assert_ok(clvox_volume_read(path, &written));
    assert_true(written->frames == 3 && written->kind != CLVOX_KIND_DISPLACEMENT &&
                clvox_grid_equal(&written->grid, &grid));
    for (int x = 0; x < 7; x += 2)
        for (int z = 0; z < 5; z++) {
            size_t i;
            double ras[3];
            look(&grid, warp, (const int[3]){x, 8 - x, z}, &i, ras);
            for (size_t r = 0; r < 3; r++)
                assert_true(fabs((double)written->data[r * n + i] - ras[r]) < 1e-5);
        }
    clvox_volume_destroy(&written);
    clvox_volume_destroy(&warp);
}

static void what_is_written_for_mrtrix_is_read_back(void **state)
{
    (void)state;
    clvox_grid grid;
    clvox_transform *back;
    grid_of((int[3]){7, 9, 5}, .3, true, &grid);
    clvox_volume *warp = warp_on(&grid);
    assert_ok(clvox_warp_write_with(warp, CLVOX_WARP_MRTRIX, NULL, path));
    assert_ok(clvox_transform_read(path, &back));
    assert_true(back->is_warp);
    for (size_t i = 0; i < 3 * clvox_grid_voxels(&grid); i++)
        assert_true(fabsf(back->warp->data[i] - warp->data[i]) < 1e-4f);
    clvox_transform_destroy(&back);
    clvox_volume_destroy(&warp);
}

/* applywarp --rel: a voxel of the reference has the coordinates index times
 * edge, x from the other end in right-handed images; adding the field's value
 * gives the same kind of coordinates in the input image. */
static void fsl_fixed_handed_moving_handed(void **state)
{
    const int *given = *state, kind = given[0];
    bool fixed_right = kind & 1, moving_right = kind & 2;
    clvox_grid grid, moving;
    clvox_volume *written;
    clvox_transform *back;
    grid_of((int[3]){7, 9, 5}, .3, fixed_right, &grid);
    grid_of((int[3]){11, 8, 6}, -.2, moving_right, &moving);
    clvox_volume *warp = warp_on(&grid);
    size_t n = clvox_grid_voxels(&grid);
    assert_ok(clvox_warp_write_with(warp, CLVOX_WARP_FSL, &moving, path));
    assert_ok(clvox_volume_read(path, &written));
    assert_true(written->frames == 3 && clvox_grid_equal(&written->grid, &grid));
    for (int x = 0; x < 7; x++) {
        const int at[3] = {x, 8 - x, x % 5};
        const double edge[3] = {1, 1.5, 2};
        double ras[3], place[3], found[3];
        size_t i;
        look(&grid, warp, at, &i, ras);
        for (int r = 0; r < 3; r++)
            place[r] = edge[r] * (r == 0 && fixed_right ? 6 - at[r] : at[r]) +
                       (double)written->data[(size_t)r * n + i];
        /* From FSL's coordinates in the input back to its voxel, and to the world. */
        for (int r = 0; r < 3; r++)
            place[r] = place[r] / edge[r];
        if (moving_right)
            place[0] = 10 - place[0];
        for (int r = 0; r < 3; r++) {
            found[r] = moving.to_ras[r][3];
            for (int c = 0; c < 3; c++)
                found[r] += moving.to_ras[r][c] * place[c];
            assert_that(fabs(found[r] - ras[r]) < 1e-4, "%g, not %g", found[r], ras[r]);
        }
    }
    assert_true(clvox_transform_read(path, &back) == CLVOX_ERROR_FORMAT && strstr(clvox_message(), "FSL"));
    clvox_volume_destroy(&written);
    clvox_volume_destroy(&warp);
}

static void itks_form_is_what_clvox_warp_write_writes(void **state)
{
    (void)state;
    clvox_grid grid;
    clvox_transform *back;
    grid_of((int[3]){7, 9, 5}, .3, false, &grid);
    clvox_volume *warp = warp_on(&grid);
    assert_ok(clvox_warp_write_with(warp, CLVOX_WARP_ITK, NULL, path));
    assert_ok(clvox_transform_read(path, &back));
    assert_true(back->is_warp && fabsf(back->warp->data[5] - warp->data[5]) < 1e-5f);
    assert_int_equal(clvox_warp_write_with(warp, CLVOX_WARP_FSL, NULL, path), CLVOX_ERROR_ARGUMENT);
    warp->kind = CLVOX_KIND_VECTOR;
    assert_int_equal(clvox_warp_write_with(warp, CLVOX_WARP_MRTRIX, NULL, path), CLVOX_ERROR_ARGUMENT);
    clvox_transform_destroy(&back);
    clvox_volume_destroy(&warp);
}

static void a_displacement_field_of_one_component(void **state)
{
    (void)state;
    clvox_grid grid;
    clvox_volume *warp;
    grid_of((int[3]){7, 9, 5}, .3, false, &grid);
    assert_ok(clvox_volume_create(&grid, 1, CLVOX_KIND_DISPLACEMENT, &warp));
    for (int form = CLVOX_WARP_ITK; form <= CLVOX_WARP_FSL; form++)
        assert_int_equal(clvox_warp_write_with(warp, (clvox_warp_form)form, &grid, path), CLVOX_ERROR_ARGUMENT);
    clvox_volume_destroy(&warp);
}

static void rounded_warps_hold_whole_numbers_of_steps(void **state)
{
    (void)state;
    clvox_grid grid;
    clvox_transform *back;
    grid_of((int[3]){7, 9, 5}, .3, true, &grid);
    clvox_volume *was = warp_on(&grid), *warp = warp_on(&grid);
    warp->data[17] = NAN;
    warp->data[18] = INFINITY;
    const double largest = clvox_warp_round(warp);
    assert_that(largest > .004 && largest <= .0068, "%g mm", largest);
    assert_true(isnan(warp->data[17]) && isinf(warp->data[18]));
    warp->data[17] = warp->data[18] = 0;
    assert_ok(clvox_warp_write(warp, path));
    assert_ok(clvox_transform_read(path, &back));
    for (size_t i = 0; i < 3 * clvox_grid_voxels(&grid); i++) {
        const float is = back->warp->data[i];
        assert_true(is == warp->data[i] && is * 128 == rintf(is * 128));
        assert_true(i == 17 || i == 18 || fabsf(is - was->data[i]) <= 1.f / 256);
    }
    clvox_transform_destroy(&back);
    clvox_volume_destroy(&was);
    clvox_volume_destroy(&warp);
}

static char folder[] = "/tmp/clvox-warp-XXXXXX";

static int tear_down(void **state)
{
    (void)state;
    unlink(path);
    return rmdir(folder);
}

int main(void)
{
    if (!mkdtemp(folder))
        return 99;
    snprintf(path, sizeof path, "%s/warp.nii.gz", folder);
    test_case(mrtrix_four_axes_each_voxel_the_scanner,
              "MRtrix: four axes, each voxel the scanner position to look at");
    test_case(what_is_written_for_mrtrix_is_read_back,
              "what is written for MRtrix is read back as the same warp");
    for (int kind = 0; kind < 4; kind++)
        test_case_at(fsl_fixed_handed_moving_handed, TEST_AT(kind), "FSL: fixed %s-handed, moving %s-handed",
                     kind & 1 ? "right" : "left", kind & 2 ? "right" : "left");
    test_case(itks_form_is_what_clvox_warp_write_writes,
              "ITK's form is what clvox_warp_write writes, and FSL's needs the moving grid");
    test_case(a_displacement_field_of_one_component,
              "a displacement field of one component is no warp in any form");
    test_case(rounded_warps_hold_whole_numbers_of_steps,
              "a rounded warp holds multiples of 1/128 mm, and what is not finite");
    return test_run("warp form", tear_down);
}
