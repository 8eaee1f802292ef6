/* SPDX-License-Identifier: Apache-2.0 */
#include "op/fluid/conjugate_gradient.h"

#include <math.h>

#include "op/image/reduce.h"

/* march: elements of a work-item or chunk at least. Chunks depend on the number
 * of elements and the variant alone, so that the order of additions does. */
static const clv_variant descend_variants[] = {
    {.name = "groups", .function = "cg_descend_groups", .group = {1, 1, 1},
     .devices = CLV_ON_GPU, .fixed_bytes = 256 * 4, .tiles = {{256, 1, 1, 4096}, {64, 1, 1, 4096}}},
    {.name = "chunks", .function = "cg_descend_chunks", .group = {1, 1, 1},
     .devices = CLV_ON_CPU, .tiles = {{1, 1, 1, 16384}}},
};
static const clv_variant turn_variants[] = {
    {.name = "lanes", .function = "cg_direction_lanes", .item = {CLV_MARCH}, .devices = CLV_ON_GPU,
     .tiles = {{256, 1, 1, 4}, {64, 1, 1, 8}}},
    {.name = "runs", .function = "cg_direction_runs", .item = {CLV_MARCH}, .devices = CLV_ON_CPU,
     .tiles = {{1, 1, 1, 16384}}},
};
static const clv_variant total_variants[] = {
    {.name = "group", .function = "cg_total", .group = {1, 1, 1}, .devices = CLV_ON_GPU,
     .fixed_bytes = 256 * 4, .tiles = {{256, 1, 1, 1}, {64, 1, 1, 1}}},
    {.name = "item", .function = "cg_total", .group = {1, 1, 1}, .devices = CLV_ON_ANY,
     .fixed_bytes = 4, .tiles = {{1, 1, 1, 1}}},
};

const clv_entry clv_entry_cg_descend = {"fluid/conjugate_gradient", "cg_descend", descend_variants, 2, NULL};
const clv_entry clv_entry_cg_direction = {"fluid/conjugate_gradient", "cg_direction", turn_variants, 2, NULL};
const clv_entry clv_entry_cg_total = {"fluid/conjugate_gradient", "cg_total", total_variants, 2, NULL};

/* What a total is for, and the numbers of the state, as in cl/fluid/conjugate_gradient.cl. */
enum { BEGIN, ALONG, NEXT };
enum { SQUARE, STEP, TURN, GOAL, DONE, WHOLE };
enum { EVERY = 8, CHUNKS = 4096 };

static int elements(const clv_fluid_operator *op)
{
    return 3 * op->size[0] * op->size[1] * op->size[2];
}

static int total(clvox_context *ctx, const clv_cg_workspace *room, int count, int kind, float goal)
{
    int status = CLVOX_OK;
    const clv_kernel *kernel;
    const int one[3] = {1, 1, 1};
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_cg_total, NULL, one, 0, &kernel));
    CLV_TRY(CLV_LAUNCH(ctx, kernel, one, 4.0 * count, CLV_BUF(room->partial), CLV_INT(count), CLV_INT(kind),
                       CLV_FLOAT(goal), CLV_BUF(room->state)));
end:
    return status;
}

int clv_cg_begin(clvox_context *ctx, const clv_fluid_operator *op, const clv_buffer *f, double tolerance,
                        clv_buffer *v, const clv_cg_workspace *room)
{
    int status = CLVOX_OK, count, n = elements(op);
    CLV_TRY(clv_fluid_operator_check(op));
    CLV_TRY(clv_reduce(ctx, CLV_REDUCE_DOT, f, f, NULL, 0, n, room->partial, room->state, WHOLE));
    CLV_TRY(clv_fluid_operator_residual(ctx, op, v, f, room->residual, room->partial, &count));
    CLV_TRY(total(ctx, room, count, BEGIN, (float)(tolerance * tolerance)));
    CLV_TRY(clv_buffer_copy(ctx, room->residual, 0, room->direction, 0, (size_t)n * sizeof(float)));
end:
    return status;
}

int clv_cg_step(clvox_context *ctx, const clv_fluid_operator *op, clv_buffer *v,
                       const clv_cg_workspace *room)
{
    int status = CLVOX_OK, count, n = elements(op);
    const clv_kernel *descend, *turn;
    const int line[3] = {n, 1, 1};
    CLV_TRY(clv_fluid_operator_dot(ctx, op, room->direction, room->product, room->partial, &count));
    CLV_TRY(total(ctx, room, count, ALONG, 0));
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_cg_descend, NULL, line, 0, &descend));
    int even = n / CHUNKS + 1;
    int chunk = even > descend->tile.march ? even : descend->tile.march;
    chunk = (chunk + 1023) / 1024 * 1024;
    count = (n + chunk - 1) / chunk;
    CLV_TRY(CLV_LAUNCH(ctx, descend, ((const int[3]){count, 1, 1}), 12.0 * n, CLV_BUF(room->residual),
                       CLV_BUF(room->product), CLV_BUF(room->state), CLV_INT(n), CLV_INT(chunk),
                       CLV_BUF(room->partial)));
    CLV_TRY(total(ctx, room, count, NEXT, 0));
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_cg_direction, NULL, line, 0, &turn));
    CLV_TRY(CLV_LAUNCH(ctx, turn, line, 20.0 * n, CLV_BUF(v), CLV_BUF(room->direction),
                       CLV_BUF(room->residual), CLV_BUF(room->state), CLV_INT(n)));
end:
    return status;
}

int clv_cg_solve(clvox_context *ctx, const clv_fluid_operator *op, const clv_buffer *f, double tolerance,
                        int most, clv_buffer *v, const clv_cg_workspace *room, int *iterations,
                        double *left)
{
    int status = CLVOX_OK, queued = 0;
    float state[CLV_CONJUGATE_STATE];
    CLV_TRY(clv_cg_begin(ctx, op, f, tolerance, v, room));
    for (;;) {
        int next = most - queued;
        if (tolerance > 0 && next > EVERY)
            next = EVERY;
        for (int i = 0; i < next; i++)
            CLV_TRY(clv_cg_step(ctx, op, v, room));
        queued += next;
        CLV_TRY(clv_buffer_read(ctx, room->state, 0, state, 6 * sizeof *state));
        if (!(state[SQUARE] > state[GOAL]) || queued >= most)
            break;
    }
    *iterations = (int)state[DONE];
    *left = state[WHOLE] > 0 ? sqrt((double)state[SQUARE] / (double)state[WHOLE])
            : state[SQUARE] > 0 ? INFINITY : 0;
end:
    return status;
}

const clv_entry *const clv_operation_fluid_conjugate_gradient[] = {
    &clv_entry_cg_descend, &clv_entry_cg_direction, &clv_entry_cg_total, NULL};
