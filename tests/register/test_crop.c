/* SPDX-License-Identifier: Apache-2.0 */
/* Which part of the fixed grid a deformation works on. */
#include "clvox/volume.h"
#include "op/harness.h"
#include "register/problem.h"

enum { NX = 90, NY = 81, NZ = 70, ROOM = 12 };

/* Content of 0.3 in a box, noise of up to 0.01 around it. */
static clvox_volume *image(const int first[3], const int last[3])
{
    clvox_grid grid = {.size = {NX, NY, NZ}};
    clvox_volume *v;
    unsigned seed = 7;
    for (int i = 0; i < 4; i++)
        grid.to_ras[i][i] = 1;
    assert_ok(clvox_volume_create(&grid, 1, CLVOX_KIND_SCALAR, &v));
    for (int z = 0; z < NZ; z++)
        for (int y = 0; y < NY; y++)
            for (int x = 0; x < NX; x++) {
                bool inside = x >= first[0] && x <= last[0] && y >= first[1] && y <= last[1] &&
                              z >= first[2] && z <= last[2];
                seed = seed * 1664525 + 1013904223;
                v->data[((size_t)z * NY + (size_t)y) * NX + (size_t)x] =
                    (inside ? .3f : 0) + (float)(seed >> 8) / 16777216 * .01f;
            }
    return v;
}

static void domain_of(clvox_volume *fixed, clvox_volume *mask, clvox_grid *out)
{
    const clv_problem problem = {.images = {.channels = 1, .fixed = {fixed}, .fixed_mask = mask}};
    clvox_register_options options = {.deform = CLVOX_DEFORM_SYN};
    clv_registration run = {.problem = &problem,
                            .options = &options,
                            .fixed_grid = fixed->grid,
                            .image_count = 1,
                            .channel_count = 1};
    run.channels[0].weight = 1;
    assert_ok(clv_register_crop(&run));
    *out = run.domain;
    clv_foreground_free(&run.foreground);
}

static void assert_box(const clvox_grid *grid, const int first[3], const int last[3])
{
    for (int i = 0; i < 3; i++) {
        assert_that(fabs(grid->to_ras[i][3] - first[i]) < 1e-9 && grid->size[i] == last[i] - first[i] + 1,
                    "axis %d begins at %g and has %d voxels instead of %d and %d", i, grid->to_ras[i][3],
                    grid->size[i], first[i], last[i] - first[i] + 1);
    }
}

static const int first[3] = {20, 25, 9}, last[3] = {60, 50, 44}, all_first[3] = {0, 0, 0},
                 all_last[3] = {NX - 1, NY - 1, NZ - 1}, box_first[3] = {20 - ROOM, 25 - ROOM, 0},
                 box_last[3] = {60 + ROOM, 50 + ROOM, 44 + ROOM};

static void content_and_room(void **state)
{
    (void)state;
    clvox_volume *v = image(first, last);
    clvox_grid domain;
    domain_of(v, NULL, &domain);
    assert_box(&domain, box_first, box_last);
    clvox_volume_destroy(&v);
}

/* Some voxels of the air are as bright as the content, and many as bright as noise. */
static void noise_and_bright_voxels_are_none(void **state)
{
    (void)state;
    clvox_volume *v = image(first, last);
    const size_t n = clvox_grid_voxels(&v->grid);
    clvox_grid domain;
    v->data[3] = v->data[n / 7] = v->data[n - 5] = 1;
    for (size_t i = 0; i < n; i += 997)
        v->data[i] += .04f;
    domain_of(v, NULL, &domain);
    assert_box(&domain, box_first, box_last);
    v->data[n / 2] = NAN;
    v->data[n / 3] = INFINITY;
    v->data[n / 4] = -INFINITY;
    domain_of(v, NULL, &domain);
    assert_box(&domain, box_first, box_last);
    clvox_volume_destroy(&v);
}

/* One voxel of a mask counts; an image that has nothing but noise, or none, has no content to go by. */
static void masks_count_and_empty_images_do_not(void **state)
{
    (void)state;
    const int none[3] = {1, 1, 1};
    clvox_volume *v = image(first, last), *mask = image(none, all_first), *empty = image(none, all_first);
    const size_t n = clvox_grid_voxels(&v->grid);
    clvox_grid domain;
    for (size_t i = 0; i < n; i++)
        mask->data[i] = v->data[i] > .1f;
    mask->data[(size_t)70 + 25 * NX + (size_t)20 * NX * NY] = 1;
    domain_of(v, mask, &domain);
    assert_box(&domain, box_first, (const int[3]){70 + ROOM, box_last[1], box_last[2]});
    domain_of(empty, NULL, &domain);
    assert_box(&domain, all_first, all_last);
    memset(empty->data, 0, n * sizeof *empty->data);
    domain_of(empty, NULL, &domain);
    assert_box(&domain, all_first, all_last);
    clvox_volume_destroy(&v);
    clvox_volume_destroy(&mask);
    clvox_volume_destroy(&empty);
}

/* A voxel far above all others is all content there is, and one far below them makes all others content,
 * wherever in its slice it lies: among those that are looked at side by side, or after them. */
static void extremes_count_wherever_they_lie(void **state)
{
    (void)state;
    static const int places[] = {0, 1, 2, 3, 4, 5, 6, 7, NX * NY - 2, NX * NY - 1};
    const int z = 31;
    clvox_volume *v = image(first, last);
    clvox_grid domain;
    for (size_t k = 0; k < sizeof places / sizeof *places; k++) {
        float *voxel = v->data + (size_t)z * NX * NY + places[k], before = *voxel;
        const int x = places[k] % NX, y = places[k] / NX;
        const int from[3] = {x > ROOM ? x - ROOM : 0, y > ROOM ? y - ROOM : 0, z - ROOM};
        const int to[3] = {x + ROOM < NX ? x + ROOM : NX - 1, y + ROOM < NY ? y + ROOM : NY - 1, z + ROOM};
        *voxel = 1000;
        domain_of(v, NULL, &domain);
        assert_box(&domain, from, to);
        *voxel = -1000;
        domain_of(v, NULL, &domain);
        assert_box(&domain, all_first, all_last);
        *voxel = before;
    }
    clvox_volume_destroy(&v);
}

int main(void)
{
    test_case(content_and_room, "content and room");
    test_case(noise_and_bright_voxels_are_none, "noise and bright voxels are no content");
    test_case(extremes_count_wherever_they_lie, "extremes count wherever they lie in a slice");
    test_case(masks_count_and_empty_images_do_not, "masks count, empty images do not");
    return test_run("crop", NULL);
}
