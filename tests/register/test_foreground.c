/* SPDX-License-Identifier: Apache-2.0 */
/* Foreground of the fixed images, and the part of a level around it. */
#include <math.h>

#include "check.h"
#include "clvox/volume.h"
#include "op/field/compositive_step.h"
#include "op/harness.h"
#include "op/match/lncc.h"
#include "op/match/metric_force.h"
#include "register/register.h"
#include "runtime/queue/timing.h"

enum { NX = 61, NY = 47, NZ = 19, N = NX * NY * NZ };

static const double spacing[3] = {1, 1.5, 3}, radius = 11, centre[3] = {27, 33, 30};

/* Turned about z and moved. */
static clvox_grid oblique(void)
{
    clvox_grid grid = {.size = {NX, NY, NZ}};
    const double c = cos(.3), s = sin(.3), turn[3][3] = {{c, -s, 0}, {s, c, 0}, {0, 0, 1}};
    for (int r = 0; r < 3; r++) {
        for (int a = 0; a < 3; a++)
            grid.to_ras[r][a] = turn[r][a] * spacing[a];
        grid.to_ras[r][3] = 40 * r - 55;
    }
    grid.to_ras[3][3] = 1;
    return grid;
}

/* A ball of 1 in air of 0 where single voxels are bright, and some are no numbers. */
static clvox_volume *ball(void)
{
    const clvox_grid grid = oblique();
    clvox_volume *v;
    assert_ok(clvox_volume_create(&grid, 1, CLVOX_KIND_SCALAR, &v));
    for (int i = 0; i < N; i++) {
        const double p[3] = {i % NX * spacing[0], i / NX % NY * spacing[1], i / NX / NY * spacing[2]};
        double d = 0;
        for (int a = 0; a < 3; a++)
            d += (p[a] - centre[a]) * (p[a] - centre[a]);
        v->data[i] = d <= radius * radius || i % 1009 == 500 ? 1
                     : i % 97 == 3                           ? NAN
                     : i % 101 == 7                          ? INFINITY
                                                             : 0;
    }
    return v;
}

/* The same columns by looking at every voxel and every row of cells. */
static void find_plainly(const clv_foreground *c, const clvox_grid *level, const double first[3],
                         const double step[3], const double room[3], int row, int columns[2])
{
    const int at[2] = {row % level->size[1], row / level->size[1]};
    columns[0] = columns[1] = 0;
    for (int x = 0; x < level->size[0]; x++) {
        const double p[3] = {first[0] + x * step[0], first[1] + at[0] * step[1], first[2] + at[1] * step[2]};
        bool near = false;
        for (int r = 0; r < c->size[1] * c->size[2]; r++) {
            int begin = c->size[0], end = 0;
            for (int i = 0; i < c->size[0]; i++)
                if (c->holds[(size_t)(r * c->size[0] + i)]) {
                    begin = i < begin ? i : begin;
                    end = i + 1;
                }
            if (begin >= end)
                continue;
            const int cells[3][2] = {
                {begin, end}, {r % c->size[1], r % c->size[1] + 1}, {r / c->size[1], r / c->size[1] + 1}};
            double d = 0;
            for (int a = 0; a < 3; a++) {
                const double low = (cells[a][0] * c->edge[a] - .5) * spacing[a];
                const double high = (cells[a][1] * c->edge[a] - .5) * spacing[a];
                const double gap = fmax(0, fmax(low - p[a], p[a] - high)) / room[a];
                d += gap * gap;
            }
            near = near || d <= 1;
        }
        if (near) {
            columns[0] = columns[1] ? columns[0] : x;
            columns[1] = x + 1;
        }
    }
}

static void compare_level(const clv_foreground *c, const int begin[3], const int size[3], double shrink,
                          const double room[3])
{
    clvox_grid part = oblique(), level;
    double first[3], edge[3], share, missed;
    size_t count = 0;
    for (int a = 0; a < 3; a++) {
        part.size[a] = size[a];
        for (int r = 0; r < 3; r++)
            part.to_ras[r][3] += begin[a] * part.to_ras[r][a];
    }
    clv_register_level(&part, shrink, &level);
    clvox_grid_spacing(&level, edge);
    for (int a = 0; a < 3; a++) /* a level's voxels are centred on what they are made of */
        first[a] = (begin[a] + .5 * (size[a] - 1)) * spacing[a] - .5 * (level.size[a] - 1) * edge[a];
    const int rows = level.size[1] * level.size[2];
    int *columns = malloc(clv_within_bytes(level.size));
    assert_ok(clv_foreground_around(c, &level, room, columns, &share, &missed));
    for (int r = 0; r < rows; r++) {
        int want[2];
        find_plainly(c, &level, first, edge, room, r, want);
        const bool empty = want[0] == want[1] && columns[2 * r] == columns[2 * r + 1];
        assert_that(empty || (columns[2 * r] == want[0] && columns[2 * r + 1] == want[1]),
                    "row %d of a level by %g: %d to %d, not %d to %d", r, shrink, columns[2 * r],
                    columns[2 * r + 1], want[0], want[1]);
        count += (size_t)(want[1] - want[0]);
    }
    assert_true(fabs(share - (double)count / (double)clvox_grid_voxels(&level)) < 1e-12);
    free(columns);
}

static void rows_around_a_ball(void **state)
{
    (void)state;
    clvox_volume *v = ball();
    clv_foreground c;
    assert_ok(clv_foreground_begin(&v->grid, &c));
    assert_true(c.edge[0] == 4 && c.edge[1] == 3 && c.edge[2] == 2);
    assert_ok(clv_foreground_mark(&c, v, .5f, .125));
    int cells = 0;
    for (int i = 0; i < c.size[0] * c.size[1] * c.size[2]; i++) {
        const int at[3] = {i % c.size[0], i / c.size[0] % c.size[1], i / c.size[0] / c.size[1]};
        double d = 0;
        for (int a = 0; a < 3; a++) {
            const double p = ((at[a] + .5) * c.edge[a] - .5) * spacing[a] - centre[a];
            d += p * p;
        }
        /* Single bright voxels are no content; half a cell's diagonal is 4.2 mm. */
        assert_that(c.holds[i] ? sqrt(d) < radius + 4.2 : sqrt(d) > radius - 4.2,
                    "cell %d, %d, %d: %d at %g mm", at[0], at[1], at[2], c.holds[i], sqrt(d));
        cells += c.holds[i];
    }
    assert_true(cells > 50);
    const double room[3] = {7.7, 9.1, 8.3}, none[3] = {1e-3, 1e-3, 1e-3}, all[3] = {500, 500, 500};
    const int zero[3] = {0, 0, 0}, begin[3] = {5, 9, 2}, size[3] = {41, 37, 15};
    compare_level(&c, zero, v->grid.size, 1, room);
    compare_level(&c, zero, v->grid.size, 1, none);
    compare_level(&c, begin, size, 1, room);
    compare_level(&c, begin, size, 2, room);
    compare_level(&c, begin, size, 3.5, all);
    clv_foreground_free(&c);
    clvox_volume_destroy(&v);
}

/* One voxel of a mask fills its cell; nothing above the threshold, and no rows. */
static void a_voxel_and_none(void **state)
{
    (void)state;
    clvox_volume *v = ball();
    clv_foreground c;
    const double room[3] = {5.3, 5.3, 5.3};
    for (int i = 0; i < N; i++)
        v->data[i] = i == (7 * NY + 20) * NX + 30;
    assert_ok(clv_foreground_begin(&v->grid, &c));
    compare_level(&c, (const int[3]){0, 0, 0}, v->grid.size, 1, room);
    assert_ok(clv_foreground_mark(&c, v, 0, .125));
    for (int i = 0; i < c.size[0] * c.size[1] * c.size[2]; i++)
        assert_false(c.holds[i]);
    assert_ok(clv_foreground_mark(&c, v, 0, 0));
    for (int i = 0; i < c.size[0] * c.size[1] * c.size[2]; i++)
        assert_true(c.holds[i] == (i == (3 * c.size[1] + 6) * c.size[0] + 7));
    compare_level(&c, (const int[3]){0, 0, 0}, v->grid.size, 1, room);
    clv_foreground_free(&c);
    clvox_volume_destroy(&v);
}

/* One voxel thick, of voxels larger than cells. */
static void thick_voxels_and_a_slice(void **state)
{
    (void)state;
    clvox_grid grid = {.size = {5, 3, 1}};
    clvox_volume *v;
    clv_foreground c;
    int columns[6];
    double share, missed;
    for (int i = 0; i < 4; i++)
        grid.to_ras[i][i] = i < 3 ? 6 : 1;
    assert_ok(clvox_volume_create(&grid, 1, CLVOX_KIND_SCALAR, &v));
    v->data[5 + 3] = 1;
    assert_ok(clv_foreground_begin(&grid, &c));
    assert_true(c.edge[0] == 1 && c.size[0] == 5 && c.size[2] == 1);
    assert_ok(clv_foreground_mark(&c, v, .5f, .125));
    assert_ok(clv_foreground_around(&c, &grid, (const double[3]){4, 4, 4}, columns, &share, &missed));
    assert_true(missed == 0);
    const int want[6] = {3, 4, 2, 5, 3, 4};
    assert_memory_equal(columns, want, sizeof want);
    assert_true(fabs(share - 5. / 15) < 1e-12);
    clv_foreground_free(&c);
    clvox_volume_destroy(&v);
}

/* A block fills cells, and a bar of one by one voxels does not: it is missed but near the block, and counts
 * by its values. Another volume shows the block alone, and halves the bar's share. */
static void a_bar_is_missed(void **state)
{
    (void)state;
    enum { SIDE = 40, BAR = 30, FAR = 34, BLOCK = 8 };
    clvox_grid grid = {.size = {SIDE, SIDE, SIDE}};
    clvox_volume *v;
    clv_foreground c;
    int *columns = malloc(clv_within_bytes(grid.size));
    const double room[3] = {6, 6, 6};
    double share, missed, block = BLOCK * BLOCK * BLOCK, bar = 3 * BAR;
    for (int i = 0; i < 4; i++)
        grid.to_ras[i][i] = 1;
    assert_ok(clvox_volume_create(&grid, 1, CLVOX_KIND_SCALAR, &v));
    for (int z = 0; z < BAR; z++) {
        v->data[(z * SIDE + FAR) * SIDE + FAR] = 3;
        for (int k = 0; k < BLOCK * BLOCK && z < BLOCK; k++)
            v->data[(z * SIDE + k / BLOCK) * SIDE + k % BLOCK] = 1;
    }
    assert_ok(clv_foreground_begin(&grid, &c));
    assert_ok(clv_foreground_mark(&c, v, .5f, .125));
    assert_ok(clv_foreground_around(&c, &grid, room, columns, &share, &missed));
    assert_true(fabs(missed - bar / (bar + block)) < 1e-12);
    assert_ok(clv_foreground_around(&c, &grid, (const double[3]){60, 60, 60}, columns, &share, &missed));
    assert_true(missed == 0 && share == 1);
    for (int z = 0; z < BAR; z++)
        v->data[(z * SIDE + FAR) * SIDE + FAR] = 0;
    assert_ok(clv_foreground_mark(&c, v, .5f, .125));
    assert_ok(clv_foreground_around(&c, &grid, room, columns, &share, &missed));
    assert_true(fabs(missed - bar / (bar + block) / 2) < 1e-12);
    grid.size[0] = FAR; /* a part that the bar is not in */
    assert_ok(clv_foreground_around(&c, &grid, room, columns, &share, &missed));
    assert_true(missed == 0);
    clv_foreground_free(&c);
    clvox_volume_destroy(&v);
    free(columns);
}

enum { SIDE = 24, VOXELS = SIDE * SIDE * SIDE };
static const int cube[3] = {SIDE, SIDE, SIDE};

/* Bytes a voxel reported for launches of each operation that takes a part. */
enum { WARP, LNCC, FORCE, STEP, OPERATIONS };

static void bytes_of(clvox_context *ctx, clv_within part, double bytes[OPERATIONS])
{
    static const char *const labels[OPERATIONS] = {"warp/", "lncc_terms/", "metric_force/",
                                                   "compositive_step/"};
    static const clv_map same = {{{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}},
                                 {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
    const size_t plane = VOXELS * sizeof(float);
    const clv_timing *rows;
    clv_buffer *image[4], *field[4];
    for (int i = 0; i < 4; i++) {
        image[i] = harness_output(ctx, plane);
        field[i] = harness_output(ctx, 3 * plane);
    }
    clv_timings_reset(ctx);
    assert_ok(clv_warp_within(ctx, CLV_VOLUME(image[0], cube), &same, field[0], CLV_LINEAR, 0, part,
                              CLV_VOLUME(image[1], cube)));
    assert_ok(clv_lncc(ctx, &(clv_metric_args){.fixed = clv_image_of(image[0], cube, NULL, 1),
                                               .moving = image[1],
                                               .parameter = 2,
                                               .epsilon = 1e-3f,
                                               .local = true,
                                               .within = part,
                                               .derivative_moving = image[2]}));
    assert_ok(
        clv_metric_force(ctx, &(clv_metric_force_args){.moving = clv_image_of(image[0], cube, NULL, 1),
                                                       .map = &same,
                                                       .u = field[0],
                                                       .derivative = image[2],
                                                       .weight = 1,
                                                       .keep = .5f,
                                                       .within = part,
                                                       .force = clv_image_of(field[1], cube, NULL, 3)}));
    assert_ok(clv_compositive_step(ctx, CLV_VECTORS_MM(field[0], cube, ((const float[3]){1, 1, 1})), field[1],
                                   &(clv_step_length){.step = 1, .state = image[3]}, part, field[2]));
    const int count = clv_timings(ctx, &rows);
    for (int k = 0; k < OPERATIONS; k++) {
        bytes[k] = 0;
        for (int i = 0; i < count; i++)
            if (!strncmp(rows[i].label, labels[k], strlen(labels[k])))
                bytes[k] += rows[i].bytes / VOXELS;
    }
    for (int i = 0; i < 4; i++) {
        clv_buffer_destroy(&image[i]);
        clv_buffer_destroy(&field[i]);
    }
}

/* All of a volume, and rows of half of it: outside of them a warp writes, a step copies, and LNCC reads where
 * its form takes no strips. */
static void bytes_are_those_that_are_walked(void **state)
{
    (void)state;
    static const double whole[OPERATIONS] = {20, 12, 44, 36}, half[OPERATIONS] = {12, 6, 22, 30};
    clvox_context *ctx = harness_context();
    const clv_kernel *kernel;
    int32_t columns[2 * SIDE * SIDE];
    double bytes[OPERATIONS];
    for (int i = 0; i < 2 * SIDE * SIDE; i++)
        columns[i] = i % 2 ? 2 + SIDE / 2 : 2;
    assert_ok(clv_timings_switch(ctx, true));
    clv_buffer *rows = harness_upload(ctx, columns, sizeof columns);
    assert_ok(clv_kernel_get(ctx, &clv_entry_lncc_terms, "-DRADIUS=2 -DLOCAL=1 -DBOTH=0", cube, 0, &kernel));
    const bool strips = kernel->item[0] > 1;
    bytes_of(ctx, (clv_within){NULL, 0}, bytes);
    for (int k = 0; k < OPERATIONS && clv_has_timers(ctx); k++)
        assert_that(bytes[k] == whole[k], "operation %d: %g, not %g", k, bytes[k], whole[k]);
    bytes_of(ctx, (clv_within){rows, VOXELS / 2}, bytes);
    for (int k = 0; k < OPERATIONS && clv_has_timers(ctx); k++) {
        const double want = (k == LNCC && !strips ? whole : half)[k];
        assert_that(bytes[k] == want, "operation %d: %g, not %g", k, bytes[k], want);
    }
    clv_buffer_destroy(&rows);
}

int main(void)
{
    harness_open();
    test_case(rows_around_a_ball, "rows around a ball");
    test_case(a_voxel_and_none, "one voxel, and none");
    test_case(thick_voxels_and_a_slice, "thick voxels, one slice");
    test_case(a_bar_is_missed, "a bar fills no cell, and is missed");
    test_case(bytes_are_those_that_are_walked, "bytes are those that are walked");
    return test_run("foreground", harness_close);
}
