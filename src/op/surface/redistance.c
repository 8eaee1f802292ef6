/* SPDX-License-Identifier: Apache-2.0 */
#include "op/surface/redistance.h"

#include <math.h>

/* Points hold whole numbers below 2^24 in units of 1/8192 voxel, one an axis. */
enum { LONGEST_AXIS = 2040, POINT_BYTES = 12, RUN = CLV_POINT_RUN, MARGIN = 2 };

/* listed: bytes for each work-item of the list of a work-group. rows: of an item along y and z. */
#define VARIANTS(role, listed, rows)                                                          \
    static const clv_variant role##_variants[] = {                                            \
        {.name = "item",                                                                      \
         .function = "redistance_" #role,                                                     \
         .defines = CLV_CLOSEST_POINTS,                                                       \
         .devices = CLV_ON_GPU,                                                               \
         .cell_bytes = (listed),                                                              \
         .fixed_bytes = (listed),                                                             \
         .tiles = {{32, 4, 2, 1}, {1, 1, 1, 1}}},                                             \
        {.name = "row",                                                                       \
         .function = "redistance_" #role "_row",                                              \
         .defines = CLV_CLOSEST_POINTS,                                                       \
         .item = {CLV_WHOLE, rows, rows},                                                     \
         .devices = CLV_ON_CPU,                                                               \
         .tiles = {{1, 1, 1, 1}}},                                                            \
    };                                                                                        \
    const clv_entry clv_entry_redistance_##role = CLV_ENTRY("surface/redistance", "redistance_" #role, \
                                                            role##_variants, NULL)

VARIANTS(near, 4, 1);
VARIANTS(seed, 4, 1);
static const clv_variant jump_variants[] = {
    {.name = "four", .function = "redistance_jump_shared", .defines = CLV_CLOSEST_POINTS, .item = {1, 4, 1},
     .devices = CLV_ON_GPU, .tiles = {{32, 1, 4, 1}, {32, 2, 2, 1}}},
    {.name = "item", .function = "redistance_jump", .defines = CLV_CLOSEST_POINTS, .devices = CLV_ON_GPU,
     .tiles = {{32, 4, 2, 1}, {1, 1, 1, 1}}},
    {.name = "row", .function = "redistance_jump_row", .defines = CLV_CLOSEST_POINTS, .item = {CLV_WHOLE},
     .devices = CLV_ON_CPU, .tiles = {{1, 1, 1, 1}}},
};
const clv_entry clv_entry_redistance_jump = CLV_ENTRY("surface/redistance", "redistance_jump", jump_variants,
                                                      NULL);
VARIANTS(finish, 0, 8);
static const clv_variant reach_variants[] = {
    {.name = "item", .function = "redistance_reach", .defines = CLV_CLOSEST_POINTS, .devices = CLV_ON_ANY,
     .tiles = {{64, 1, 1, 1}}},
};
const clv_entry clv_entry_redistance_reach = CLV_ENTRY("surface/redistance", "redistance_reach",
                                                       reach_variants, NULL);

static const int cell[3] = {CLV_CELL_X, CLV_CELL_Y, CLV_CELL_Z};

static void cells_of(const int size[3], int cells[3])
{
    for (int a = 0; a < 3; a++)
        cells[a] = (size[a] + cell[a] - 1) / cell[a];
}

/* Words of the points of all voxels, in whole runs. */
static size_t words_of(const int size[3])
{
    return ((size_t)size[0] * (size_t)size[1] * (size_t)size[2] + RUN - 1) / RUN * RUN * 3;
}

size_t clv_redistance_bytes(const int size[3])
{
    int cells[3];
    cells_of(size, cells);
    return 2 * words_of(size) * sizeof(float) +
           2 * (size_t)cells[0] * (size_t)cells[1] * (size_t)cells[2] * sizeof(int32_t);
}

/* The first jump: with its halves down to 1 it reaches beyond `voxels`. */
static int first_jump(const int size[3], double voxels)
{
    int longest = size[0] > size[1] ? size[0] : size[1], jump = 1;
    longest = longest > size[2] ? longest : size[2];
    while (2 * jump - 1 < voxels && 2 * jump - 1 < longest)
        jump *= 2;
    return jump;
}

int clv_closest_points_check(const int size[3])
{
    for (int a = 0; a < 3; a++)
        if (size[a] > LONGEST_AXIS)
            return clvox_fail(CLVOX_ERROR_ARGUMENT,
                              "%d voxels along an axis are too many for a distance; give at most %d", size[a],
                              LONGEST_AXIS);
    return CLVOX_OK;
}

int clv_closest_points_cells(clvox_context *ctx, const int size[3], clv_buffer *scratch, int *at)
{
    int cells[3];
    cells_of(size, cells);
    *at = (int)(2 * words_of(size) / RUN);
    return clv_buffer_fill(ctx, scratch, (size_t)*at * RUN * 4, 0, (size_t)cells[0] * (size_t)cells[1] *
                           (size_t)cells[2] * 4);
}

/* Finds the cells within reach; where that looks at many for each, all are. */
static int find_reach(clvox_context *ctx, const clv_image *grid, double reach, clv_buffer *scratch, int at)
{
    enum { MOST_LOOKED_AT = 4096 };
    int status = CLVOX_OK, cells[3], span[3], count = 1;
    double looked_at = 1;
    const clv_kernel *kernel;
    cells_of(grid->size, cells);
    for (int a = 0; a < 3; a++) {
        double far = ceil((reach / grid->spacing[a] + MARGIN) / cell[a]);
        span[a] = far < cells[a] ? (int)far : cells[a];
        looked_at *= 2 * span[a] + 1;
        count *= cells[a];
    }
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_redistance_reach, NULL, cells, 0, &kernel));
    if (looked_at > MOST_LOOKED_AT)
        return clv_buffer_fill(ctx, scratch, ((size_t)at * RUN + (size_t)count) * 4, 1, (size_t)count * 4);
    CLV_TRY(CLV_LAUNCH(ctx, kernel, ((const int[3]){count, 1, 1}), 8. * count, CLV_BUF(scratch), CLV_INT(at),
                       CLV_INT4(cells[0], cells[1], cells[2], 0), CLV_INT4(span[0], span[1], span[2], 0)));
end:
    return status;
}

int clv_closest_points_spread(clvox_context *ctx, const clv_image *grid, float reach, clv_buffer *scratch,
                              int cells, int *from)
{
    const int *size = grid->size;
    const float *spacing = grid->spacing;
    int status = CLVOX_OK, voxels = size[0] * size[1] * size[2], to = (int)words_of(size);
    const clv_kernel *jump;
    const double moved = 2.0 * POINT_BYTES * voxels, least = fmin(spacing[0], fmin(spacing[1], spacing[2]));
    *from = 0;
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_redistance_jump, NULL, size, 0, &jump));
    CLV_TRY(find_reach(ctx, grid, reach, scratch, cells));
    /* One voxel first, so that points beside one another start as one front; two
     * and one again, which mends almost all that jumps miss. */
    int steps[32] = {1}, count = 1;
    for (int step = first_jump(size, reach / least + MARGIN); step > 0; step /= 2)
        steps[count++] = step;
    steps[count++] = 2;
    steps[count++] = 1;
    for (int i = 0; i < count; i++) {
        int other = *from;
        CLV_TRY(CLV_LAUNCH(ctx, jump, size, moved, CLV_BUF(scratch), CLV_INT(*from), CLV_INT(to),
                           CLV_INT(cells), CLV_GRID(grid), CLV_INT(steps[i]), CLV_INT(i == 0)));
        *from = to;
        to = other;
    }
end:
    return status;
}

int clv_redistance(clvox_context *ctx, const clv_image *phi, float reach, clv_buffer *out,
                   clv_buffer *scratch)
{
    /* The seeds beside the level set lie where the first jump will write. */
    const int *size = phi->size;
    int status = CLVOX_OK, from, cells, shifts = (int)words_of(size);
    const clv_kernel *near, *seed, *finish;
    const double voxels = (double)clv_image_voxels(phi);
    const clv_arg values = CLV_BUF(phi->buffer), grid = CLV_GRID(phi);
    CLV_TRY(clv_closest_points_check(size));
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_redistance_near, NULL, size, 0, &near));
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_redistance_seed, NULL, size, 0, &seed));
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_redistance_finish, NULL, size, 0, &finish));
    CLV_TRY(clv_closest_points_cells(ctx, size, scratch, &cells));
    CLV_TRY(CLV_LAUNCH(ctx, near, size, 8 * voxels, values, CLV_BUF(out), CLV_BUF(scratch), CLV_INT(shifts),
                       CLV_INT(cells), grid));
    CLV_TRY(CLV_LAUNCH(ctx, seed, size, 16 * voxels, CLV_BUF(out), CLV_BUF(scratch), CLV_INT(shifts), grid));
    CLV_TRY(clv_closest_points_spread(ctx, phi, reach, scratch, cells, &from));
    CLV_TRY(CLV_LAUNCH(ctx, finish, size, 20 * voxels, values, CLV_BUF(scratch), CLV_INT(from), CLV_BUF(out),
                       grid, CLV_FLOAT(reach)));
end:
    return status;
}

const clv_entry *const clv_operation_surface_redistance[] = {
    &clv_entry_redistance_near, &clv_entry_redistance_seed, &clv_entry_redistance_jump,
    &clv_entry_redistance_finish, &clv_entry_redistance_reach, NULL};
