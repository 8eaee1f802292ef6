/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/papers/op/greedy.h"

#include "bench/papers/op/gradient.h"
#include "op/field/compose.h"
#include "op/image/blend.h"
#include "op/image/pointwise.h"
#include "op/image/reduce.h"

#define MOVED(by) {{{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}}, {{by, 0, 0}, {0, by, 0}, {0, 0, by}}}
const clv_map clv_greedy_forth = MOVED(1), clv_greedy_back = MOVED(-1);

int clv_greedy_create(clvox_context *ctx, const clv_fluid_operator *op, clv_greedy *g)
{
    int status = CLVOX_OK;
    const size_t bytes = 4 * (size_t)op->size[0] * (size_t)op->size[1] * (size_t)op->size[2];
    *g = (clv_greedy){.op = *op};
    int count = clv_solver_requests(op, &g->solver, g->list);
    g->list[count++] = (clv_request){&g->gradient, 3 * bytes, "gradient of an image"};
    g->list[count++] = (clv_request){&g->velocity, 3 * bytes, "velocity"};
    g->list[count++] = (clv_request){&g->difference, bytes, "difference of images"};
    g->list[count++] = (clv_request){&g->partial, 4 * CLV_REDUCE_PARTIALS, "partial sums"};
    g->list[count++] = (clv_request){&g->state, 16, "sums"};
    CLV_TRY(clv_pool_take(ctx, g->list, count));
    g->requests = count;
    CLV_TRY(clv_solver_create(ctx, op, &g->solver));
end:
    return status;
}

void clv_greedy_destroy(clv_greedy *g)
{
    clv_solver_destroy(&g->solver);
    clv_pool_release(g->list, g->requests);
    *g = (clv_greedy){.requests = 0};
}

int clv_greedy_velocity(clvox_context *ctx, clv_greedy *g, const clv_buffer *image, const clv_buffer *target,
                        const clv_buffer *weight)
{
    static const float apart[4] = {1, -1}, times[4] = {1};
    int status = CLVOX_OK;
    const int *size = g->op.size;
    const clv_image *difference = CLV_VOLUME(g->difference, size);
    CLV_TRY(clv_gradient(ctx, CLV_VOLUME(image, size), g->gradient));
    CLV_TRY(clv_pointwise(ctx, CLV_POINTWISE_LINEAR, difference, target, image, NULL, apart));
    if (weight)
        CLV_TRY(clv_pointwise(ctx, CLV_POINTWISE_MULTIPLY, difference, g->difference, weight, NULL, times));
    CLV_TRY(clv_buffer_fill(ctx, g->velocity, 0, 0, 12 * clv_image_voxels(difference)));
    CLV_TRY(clv_blend(ctx, CLV_VECTORS(g->velocity, size), g->gradient, g->difference));
    CLV_TRY(clv_solver_solve(ctx, &g->solver, 0, g->velocity, g->velocity));
end:
    return status;
}

int clv_greedy_longest(clvox_context *ctx, clv_greedy *g, float *longest)
{
    static const float voxels[3] = {1, 1, 1};
    int status = CLVOX_OK;
    CLV_TRY(clv_reduce_longest(ctx, CLV_VECTORS(g->velocity, g->op.size), voxels, false, g->partial, g->state,
                               0));
    CLV_TRY(clv_buffer_read(ctx, g->state, 0, longest, sizeof *longest));
end:
    return status;
}

int clv_greedy_move(clvox_context *ctx, clv_greedy *g, float step, const clv_buffer *u, clv_buffer *out)
{
    static const float one[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    int status = CLVOX_OK;
    const int *size = g->op.size;
    const clv_compose_args args = {g->velocity, 1, *CLV_VECTORS(u, size), &clv_greedy_forth, one, true,
                                   *CLV_VECTORS(out, size)};
    CLV_TRY(clv_pointwise(ctx, CLV_POINTWISE_LINEAR, CLV_VECTORS(g->velocity, size), g->velocity, NULL, NULL,
                          (float[4]){step}));
    CLV_TRY(clv_compose(ctx, &args));
end:
    return status;
}

int clv_greedy_deform(clvox_context *ctx, const clv_greedy *g, const clv_buffer *image, const clv_buffer *u,
                      clv_buffer *out)
{
    return clv_warp(ctx, CLV_VOLUME(image, g->op.size), &clv_greedy_forth, u, CLV_LINEAR, 0,
                    CLV_VOLUME(out, g->op.size));
}
