/* SPDX-License-Identifier: Apache-2.0 */
#include "op/redistance.h"

#include <math.h>

/* Places hold whole numbers below 2^24 in units of 1/8192 voxel, one an axis. */
enum { LONGEST_AXIS = 2040, PLACE_BYTES = 12, MARGIN = 2 };

#define VARIANTS(role)                                                                                \
    static const clv_variant role##_variants[] = {                                                    \
        {.name = "item", .function = "redistance_" #role, .shape = CLV_SHAPE_ITEM,                    \
         .devices = CLV_ON_GPU, .tiles = {{32, 4, 2, 1}, {1, 1, 1, 1}}},               \
        {.name = "row", .function = "redistance_" #role "_row", .shape = CLV_SHAPE_ROW,               \
         .devices = CLV_ON_CPU, .tiles = {{1, 1, 1, 1}}},                                             \
    };                                                                                                \
    const clv_entry clv_entry_redistance_##role = {"redistance", "redistance_" #role, \
                                                     role##_variants, 2, NULL}

VARIANTS(near);
VARIANTS(seed);
VARIANTS(jump);
VARIANTS(finish);

size_t clv_redistance_bytes(const int size[3])
{
    return 2 * (size_t)size[0] * (size_t)size[1] * (size_t)size[2] * PLACE_BYTES;
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

int clv_places_check(const int size[3])
{
    for (int a = 0; a < 3; a++)
        if (size[a] > LONGEST_AXIS)
            return clv_fail(CLVOX_ERROR_ARGUMENT,
                            "%d voxels along an axis are too many for a distance; give at most %d", size[a],
                            LONGEST_AXIS);
    return CLVOX_OK;
}

int clv_places_spread(clvox_context *ctx, const int size[3], const float spacing[3], float reach,
                      clv_buffer *scratch, int *from)
{
    int status = CLVOX_OK, voxels = size[0] * size[1] * size[2], to = 3 * voxels;
    const clv_kernel *jump;
    const double moved = 2.0 * PLACE_BYTES * voxels, least = fmin(spacing[0], fmin(spacing[1], spacing[2]));
    *from = 0;
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_redistance_jump, NULL, size, 0, &jump));
    /* One voxel first, so that places beside one another start as one front; two
     * and one again, which mends almost all that jumps miss. */
    int steps[32] = {1}, count = 1;
    for (int step = first_jump(size, reach / least + MARGIN); step > 0; step /= 2)
        steps[count++] = step;
    steps[count++] = 2;
    steps[count++] = 1;
    for (int i = 0; i < count; i++) {
        int by = steps[i], other = *from;
        CLV_TRY(CLV_LAUNCH(ctx, jump, size, moved, CLV_BUF(scratch), CLV_INT(*from), CLV_INT(to),
                           CLV_INT4(size[0], size[1], size[2], 0),
                           CLV_FLOAT4(spacing[0], spacing[1], spacing[2], 1), CLV_INT(by)));
        *from = to;
        to = other;
    }
end:
    return status;
}

int clv_redistance(clvox_context *ctx, const clv_buffer *phi, const int size[3], const float spacing[3],
                   float reach, clv_buffer *out, clv_buffer *scratch)
{
    int status = CLVOX_OK, from;
    const clv_kernel *near, *seed, *finish;
    const double voxels = (double)size[0] * size[1] * size[2];
    const clv_arg n = CLV_INT4(size[0], size[1], size[2], 0);
    const clv_arg edges = CLV_FLOAT4(spacing[0], spacing[1], spacing[2], 1);
    CLV_TRY(clv_places_check(size));
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_redistance_near, NULL, size, 0, &near));
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_redistance_seed, NULL, size, 0, &seed));
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_redistance_finish, NULL, size, 0, &finish));
    CLV_TRY(CLV_LAUNCH(ctx, near, size, 8 * voxels, CLV_BUF(phi), CLV_BUF(out), n, edges));
    CLV_TRY(CLV_LAUNCH(ctx, seed, size, 20 * voxels, CLV_BUF(phi), CLV_BUF(out), CLV_BUF(scratch), n, edges));
    CLV_TRY(clv_places_spread(ctx, size, spacing, reach, scratch, &from));
    CLV_TRY(CLV_LAUNCH(ctx, finish, size, 20 * voxels, CLV_BUF(phi), CLV_BUF(scratch), CLV_INT(from),
                       CLV_BUF(out), n, edges, CLV_FLOAT(reach)));
end:
    return status;
}
