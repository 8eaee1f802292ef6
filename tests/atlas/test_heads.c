/* SPDX-License-Identifier: Apache-2.0 */
/* Images before they are averaged: cut to the box of the heads, and clipped. */
#include "atlas/population.h"
#include "base/matrix.h"
#include "clvox/filter.h"
#include "clvox/phantom.h"
#include "op/harness.h"

/* Balls of 9 mm in noise, with one hot voxel each; stored so that axes run against R, A and S. */
static clvox_volume *ball_in_noise(const clvox_grid *grid, const double middle[3], uint64_t seed)
{
    clvox_volume *v = population_zeros(grid);
    for (size_t k = 0; k < clvox_grid_voxels(grid); k++) {
        const double index[3] = {(double)(k % (size_t)grid->size[0]),
                                 (double)(k / (size_t)grid->size[0] % (size_t)grid->size[1]),
                                 (double)(k / ((size_t)grid->size[0] * (size_t)grid->size[1]))};
        double at[3], square = 0;
        clv_matrix_apply(CLV_MATRIX(grid->to_ras), index, at);
        for (int i = 0; i < 3; i++)
            square += (at[i] - middle[i]) * (at[i] - middle[i]);
        seed = seed * UINT64_C(6364136223846793005) + 1;
        v->data[k] = (float)(seed >> 40 & 15) + (square < 81 ? 100 : 0);
    }
    v->data[1] = 400;
    return v;
}

/* How far a grid reaches beyond a ball, at least and at most over the six sides of its box, mm: from the
 * centres of voxels. Its axes are those of the world, up to order and direction. */
static void assert_around(const clvox_grid *grid, const double middle[3], double least, double most)
{
    const int *size = grid->size;
    double corner[2][3];
    clv_matrix_apply(CLV_MATRIX(grid->to_ras), (const double[3]){0, 0, 0}, corner[0]);
    clv_matrix_apply(CLV_MATRIX(grid->to_ras), (const double[3]){size[0] - 1, size[1] - 1, size[2] - 1},
                     corner[1]);
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < 2; i++) {
            const double low = fmin(corner[0][k], corner[1][k]), high = fmax(corner[0][k], corner[1][k]);
            const double beyond = i ? high - (middle[k] + 9) : middle[k] - 9 - low;
            assert_that(beyond > least && beyond < most, "side %d of axis %d: %g mm beyond the ball", i, k,
                        beyond);
        }
}

/* Whether one volume is the part of another on its own grid, bit for bit. */
static void assert_part(const clvox_volume *part, const clvox_volume *whole)
{
    double back[4][4], map[4][4];
    size_t i = 0;
    assert_int_equal(clv_matrix_invert(CLV_MATRIX(whole->grid.to_ras), back), CLVOX_OK);
    clv_matrix_multiply(CLV_MATRIX(back), CLV_MATRIX(part->grid.to_ras), map);
    for (int z = 0; z < part->grid.size[2]; z++)
        for (int y = 0; y < part->grid.size[1]; y++)
            for (int x = 0; x < part->grid.size[0]; x++, i++) {
                double at[3];
                size_t index = 0, stride = 1;
                clv_matrix_apply(CLV_MATRIX(map), (const double[3]){x, y, z}, at);
                for (int k = 0; k < 3; k++) {
                    assert_true(fabs(at[k] - round(at[k])) < 1e-6);
                    index += stride * (size_t)lround(at[k]);
                    stride *= (size_t)whole->grid.size[k];
                }
                assert_true(part->data[i] == whole->data[index]);
            }
}

static const double MIDDLE[3] = {12, -20, 35};

/* The grid of the template with a margin of 6 mm: blocks of 4 mm and a voxel of 2 at most are around that. */
static void cut_to_balls(void **state)
{
    population all = {.count = 0};
    clvox_atlas_options o;
    clvox_atlas_result whole, r;
    clvox_grid grid = {.size = {33, 40, 30}}, other = {.size = {40, 36, 44}};
    (void)state;
    /* x runs to P, y to L, z to S. */
    grid.to_ras[1][0] = -2, grid.to_ras[0][1] = -2, grid.to_ras[2][2] = 2.5, grid.to_ras[3][3] = 1;
    other.to_ras[0][0] = other.to_ras[1][1] = other.to_ras[2][2] = 1.5, other.to_ras[3][3] = 1;
    const double half[3] = {grid.size[0] / 2, grid.size[1] / 2, grid.size[2] / 2};
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < 3; i++)
            grid.to_ras[k][3] += (i ? 0 : MIDDLE[k]) - grid.to_ras[k][i] * half[i];
    for (int k = 0; k < 3; k++)
        other.to_ras[k][3] = MIDDLE[k] - 1.5 * other.size[k] / 2;
    for (uint64_t i = 0; i < 3; i++)
        population_add(&all, ball_in_noise(&grid, MIDDLE, i + 5));
    population_options(&o, CLVOX_DEFORM_NONE);
    o.registration.linear = CLVOX_LINEAR_NONE;
    population_build(&all, &o, &whole);
    o.margin = 6;
    population_build(&all, &o, &r);
    assert_around(&r.average->grid, MIDDLE, 3, 6 + 4 + 2.5);
    assert_true(r.average->grid.to_ras[1][0] == -2); /* stored as the images are */
    assert_part(r.average, whole.average);
    clvox_atlas_result_destroy(&r);
    /* The mask, on another grid, leaves half of the ball. */
    clvox_volume *mask = population_zeros(&other);
    for (size_t k = clvox_grid_voxels(&other) / 2; k < clvox_grid_voxels(&other); k++)
        mask->data[k] = 1;
    for (int i = 0; i < 3; i++)
        all.s[i].mask = mask;
    population_build(&all, &o, &r);
    const double bottom = r.average->grid.to_ras[2][3];
    assert_that(fabs(bottom - (MIDDLE[2] - 6)) < 4 + 2.5, "the grid begins %g mm below the middle",
                MIDDLE[2] - bottom);
    assert_part(r.average, whole.average);
    clvox_atlas_result_destroy(&r);
    for (int i = 0; i < 3; i++)
        all.s[i].mask = NULL;
    clvox_volume_destroy(&mask);
    o.margin = 1e4; /* what there is */
    population_build(&all, &o, &r);
    assert_true(clvox_grid_equal(&r.average->grid, &grid));
    assert_memory_equal(r.average->data, whole.average->data, clvox_grid_voxels(&grid) * sizeof(float));
    clvox_atlas_result_destroy(&r);
    /* Around what a template to begin with shows, of which that part is kept. */
    o.margin = 6;
    clvox_volume *start = population_copy(whole.average);
    assert_int_equal(clvox_atlas(harness_context(), all.s, all.count, start, &o, &r), CLVOX_OK);
    assert_around(&r.average->grid, MIDDLE, 3, 6 + 4 + 2.5);
    assert_part(r.average, start);
    clvox_volume_destroy(&start);
    clvox_atlas_result_destroy(&r);
    clvox_atlas_result_destroy(&whole);
    /* Two grids, with the ball elsewhere in each. */
    population_add(&all,
                   ball_in_noise(&other, (const double[3]){MIDDLE[0] - 5, MIDDLE[1], MIDDLE[2] + 4}, 1));
    o.margin = -1;
    population_build(&all, &o, &whole);
    o.margin = 6;
    population_build(&all, &o, &r);
    assert_that(clvox_grid_voxels(&r.average->grid) < clvox_grid_voxels(&whole.average->grid) / 2,
                "nothing was cut");
    double mean[3];
    for (int k = 0; k < 3; k++)
        mean[k] = MIDDLE[k] + (k == 0 ? -5 : k == 2 ? 4 : 0) / 4.;
    assert_around(&r.average->grid, mean, 3,
                  6 + 8 + 2.5); /* centroids of noisy balls are not their middles */
    clvox_atlas_result_destroy(&r);
    o.margin = 1e4;
    population_build(&all, &o, &r);
    assert_true(clvox_grid_equal(&r.average->grid, &whole.average->grid));
    assert_memory_equal(r.average->data, whole.average->data,
                        clvox_grid_voxels(&whole.average->grid) * sizeof(float));
    clvox_atlas_result_destroy(&r);
    clvox_atlas_result_destroy(&whole);
    population_release(&all);
}

/* Clipped before they are scaled, averaged and registered. */
static void clipped_images(void **state)
{
    clvox_grid grid;
    population all = {.count = 0};
    clvox_atlas_options o;
    clvox_atlas_result r;
    clvox_volume *want = NULL;
    (void)state;
    clvox_phantom_grid(POPULATION_SIZE, POPULATION_EDGE, false, &grid);
    const size_t n = clvox_grid_voxels(&grid);
    population_add(&all, population_zeros(&grid));
    for (size_t k = 0; k < n; k++)
        all.own[0]->data[k] = k % 50 ? (float)(k * 37 % 101) : 1e4f;
    population_options(&o, CLVOX_DEFORM_NONE);
    o.registration.linear = CLVOX_LINEAR_NONE;
    o.keep_intensities = 1;
    o.clip_low = .1;
    o.clip_high = .9;
    assert_int_equal(clvox_filter_winsorize(all.own[0], NULL, .1, .9, &want), CLVOX_OK);
    population_build(&all, &o, &r);
    assert_that(population_apart(r.average, want) < 1e-6, "not clipped: %g apart",
                population_apart(r.average, want));
    clvox_atlas_result_destroy(&r);
    o.keep_intensities = 0;
    population_build(&all, &o, &r);
    float least = INFINITY, most = -INFINITY;
    for (size_t k = 0; k < n; k++) {
        least = fminf(least, r.average->data[k]);
        most = fmaxf(most, r.average->data[k]);
    }
    assert_that(fabsf(least) < 1e-4f && fabsf(most - 100) < 1e-4f, "from %g to %g", (double)least,
                (double)most);
    clvox_atlas_result_destroy(&r);
    o.clip_low = .9;
    assert_int_equal(clvox_atlas(harness_context(), all.s, 1, NULL, &o, &r), CLVOX_ERROR_ARGUMENT);
    assert_non_null(strstr(clvox_message(), "quantiles"));
    clvox_volume_destroy(&want);
    population_release(&all);
}

int main(void)
{
    harness_open();
    test_case(cut_to_balls, "with a margin the grid is the part around the heads, of one grid, of several, "
                            "of a template to begin with");
    test_case(clipped_images, "images are clipped at quantiles before they are averaged");
    return test_run("heads", harness_close);
}
