/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/papers/op/solvers/conjugate_gradient.h"

#include <math.h>

#include "op/image/reduce.h"

/* Purpose of a total, and slots of the state; the kernels are built with the same. */
#define BEGIN 0
#define ALONG 1
#define NEXT 2
#define SQUARE 0
#define STEP 1
#define BETA 2
#define GOAL 3
#define DONE 4
#define WHOLE 5
#define NUMBERS                                                                                    \
    "-DBEGIN=" CLV_TEXT(BEGIN) " -DALONG=" CLV_TEXT(ALONG) " -DSQUARE=" CLV_TEXT(SQUARE) " -DSTEP=" \
    CLV_TEXT(STEP) " -DBETA=" CLV_TEXT(BETA) " -DGOAL=" CLV_TEXT(GOAL) " -DDONE=" CLV_TEXT(DONE)   \
    " -DWHOLE=" CLV_TEXT(WHOLE)
static const char *const builds[] = {NUMBERS, NULL};

/* march: elements of a group at least, of which as many as there are partial sums
 * share all: the order of additions depends on their number and the variant alone. */
enum { CHUNKS = 4096 };
static const clv_variant descend_variants[] = {
    {.name = "groups", .function = "cg_descend_groups", .group = {CLV_MARCH}, .most_groups = CHUNKS,
     .devices = CLV_ON_GPU, .fixed_bytes = 256 * 4, .tiles = {{256, 1, 1, 4096}, {64, 1, 1, 4096}}},
    {.name = "chunks", .function = "cg_descend_chunks", .group = {CLV_MARCH}, .most_groups = CHUNKS,
     .devices = CLV_ON_CPU, .tiles = {{1, 1, 1, 16384}}},
};
static const clv_variant direction_variants[] = {
    {.name = "lanes", .function = "cg_direction_lanes", .item = {CLV_MARCH}, .devices = CLV_ON_GPU,
     .tiles = {{256, 1, 1, 4}, {64, 1, 1, 8}}},
    {.name = "runs", .function = "cg_direction_runs", .item = {CLV_MARCH}, .devices = CLV_ON_CPU,
     .tiles = {{1, 1, 1, 16384}}},
};
static const clv_variant total_variants[] = {
    {.name = "group", .function = "cg_total", .group = {CLV_WHOLE}, .devices = CLV_ON_GPU,
     .fixed_bytes = 256 * 4, .tiles = {{256, 1, 1, 1}, {64, 1, 1, 1}}},
    {.name = "item", .function = "cg_total", .group = {CLV_WHOLE}, .devices = CLV_ON_ANY,
     .fixed_bytes = 4, .tiles = {{1, 1, 1, 1}}},
};

const clv_entry clv_entry_cg_descend = CLV_ENTRY("papers/conjugate_gradient", "cg_descend", descend_variants,
                                                 builds);
const clv_entry clv_entry_cg_direction = CLV_ENTRY("papers/conjugate_gradient", "cg_direction",
                                                   direction_variants, builds);
const clv_entry clv_entry_cg_total = CLV_ENTRY("papers/conjugate_gradient", "cg_total", total_variants,
                                               builds);

enum { EVERY = 8 }; /* iterations from one look of the host to the next */

static int elements(const clv_fluid_operator *op)
{
    return 3 * op->size[0] * op->size[1] * op->size[2];
}

static int total(clvox_context *ctx, const clv_cg_workspace *w, int count, int kind, float goal)
{
    int status = CLVOX_OK;
    const clv_kernel *kernel;
    const int line[3] = {count, 1, 1};
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_cg_total, NUMBERS, line, 0, &kernel));
    CLV_TRY(CLV_LAUNCH(ctx, kernel, line, 4.0 * count, CLV_BUF(w->partial), CLV_INT(count), CLV_INT(kind),
                       CLV_FLOAT(goal), CLV_BUF(w->state)));
end:
    return status;
}

int clv_cg_begin(clvox_context *ctx, const clv_fluid_problem *p, const clv_cg_workspace *w)
{
    int status = CLVOX_OK, count, n = elements(&p->op);
    CLV_TRY(clv_fluid_operator_check(&p->op));
    CLV_TRY(clv_reduce(ctx, CLV_REDUCE_DOT, &(clv_terms){p->f, p->f, NULL, 0, n}, w->partial, w->state,
                       WHOLE));
    CLV_TRY(clv_fluid_operator_launch(ctx, &p->op,
                                      &(clv_fluid_product){p->v, p->f, w->residual, w->partial, &count}));
    CLV_TRY(total(ctx, w, count, BEGIN, (float)(p->tolerance * p->tolerance)));
    CLV_TRY(clv_buffer_copy(ctx, w->residual, 0, w->direction, 0, (size_t)n * sizeof(float)));
end:
    return status;
}

int clv_cg_step(clvox_context *ctx, const clv_fluid_problem *p, const clv_cg_workspace *w)
{
    int status = CLVOX_OK, count, n = elements(&p->op);
    const clv_kernel *descend, *direction;
    const int line[3] = {n, 1, 1};
    const clv_fluid_product along = {w->direction, NULL, w->product, w->partial, &count};
    CLV_TRY(clv_fluid_operator_launch(ctx, &p->op, &along));
    CLV_TRY(total(ctx, w, count, ALONG, 0));
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_cg_descend, NUMBERS, line, 0, &descend));
    CLV_TRY(CLV_LAUNCH(ctx, descend, line, 12.0 * n, CLV_BUF(w->residual), CLV_BUF(w->product), CLV_BUF(w->state),
                       CLV_INT(n), CLV_BUF(w->partial)));
    CLV_TRY(total(ctx, w, clv_launch_groups(descend, line, NULL), NEXT, 0));
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_cg_direction, NUMBERS, line, 0, &direction));
    CLV_TRY(CLV_LAUNCH(ctx, direction, line, 20.0 * n, CLV_BUF(p->v), CLV_BUF(w->direction), CLV_BUF(w->residual),
                       CLV_BUF(w->state), CLV_INT(n)));
end:
    return status;
}

int clv_cg_solve(clvox_context *ctx, const clv_fluid_problem *p, const clv_cg_workspace *w,
                 clv_fluid_report *report)
{
    int status = CLVOX_OK, queued = 0;
    float state[CLV_CG_STATE];
    CLV_TRY(clv_cg_begin(ctx, p, w));
    for (;;) {
        int next = p->most - queued;
        if (p->tolerance > 0 && next > EVERY)
            next = EVERY;
        for (int i = 0; i < next; i++)
            CLV_TRY(clv_cg_step(ctx, p, w));
        queued += next;
        CLV_TRY(clv_buffer_read(ctx, w->state, 0, state, 6 * sizeof *state));
        if (!(state[SQUARE] > state[GOAL]) || queued >= p->most)
            break;
    }
    report->iterations = (int)state[DONE];
    report->left = state[WHOLE] > 0 ? sqrt((double)state[SQUARE] / (double)state[WHOLE])
                   : state[SQUARE] > 0 ? INFINITY : 0;
end:
    return status;
}

const clv_entry *const clv_operation_papers_conjugate_gradient[] = {
    &clv_entry_cg_descend, &clv_entry_cg_direction, &clv_entry_cg_total, NULL};
