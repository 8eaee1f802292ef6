/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/papers/op/lddmm.h"

#include <math.h>

#include "op/field/compose.h"
#include "op/field/jacobian.h"
#include "op/image/pointwise.h"

static size_t voxels_of(const clv_lddmm *l)
{
    const int *size = l->greedy.op.size;
    return (size_t)size[0] * (size_t)size[1] * (size_t)size[2];
}

int clv_lddmm_create(clvox_context *ctx, const clv_fluid_operator *op, int steps, clv_lddmm *l)
{
    int status = CLVOX_OK, count = 0;
    *l = (clv_lddmm){.steps = steps, .sigma = 1, .first = .1f};
    if (steps < 1 || steps > CLV_LDDMM_MOST)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "%d steps: from 1 to %d are possible", steps, CLV_LDDMM_MOST);
    CLV_TRY(clv_greedy_create(ctx, op, &l->greedy));
    const size_t bytes = 4 * voxels_of(l);
    for (int j = 0; j < steps; j++) {
        l->list[count++] = (clv_request){&l->v[j], 3 * bytes, "velocity of a step"};
        l->list[count++] = (clv_request){&l->moved[j], bytes, "image at a step"};
        l->list[count++] = (clv_request){&l->weight[j], bytes, "determinant at a step"};
    }
    for (int i = 0; i < 2; i++)
        l->list[count++] = (clv_request){&l->u[i], 3 * bytes, "displacement"};
    l->list[count++] = (clv_request){&l->image, bytes, "deformed image"};
    CLV_TRY(clv_pool_take(ctx, l->list, count));
    l->requests = count;
    for (int j = 0; j < steps; j++)
        CLV_TRY(clv_buffer_fill(ctx, l->v[j], 0, 0, 3 * bytes));
end:
    return status;
}

void clv_lddmm_destroy(clv_lddmm *l)
{
    clv_pool_release(l->list, l->requests);
    clv_greedy_destroy(&l->greedy);
    *l = (clv_lddmm){.requests = 0};
}

/* out = own v_j + w o (x + own v_j) */
static int follow(clvox_context *ctx, clv_lddmm *l, int j, float own, const clv_buffer *w, clv_buffer *out)
{
    static const float one[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    const int *size = l->greedy.op.size;
    return clv_compose(ctx, &(clv_compose_args){l->v[j], own, *CLV_VECTORS(w, size),
                                                own > 0 ? &clv_greedy_forth : &clv_greedy_back, one, true,
                                                *CLV_VECTORS(out, size)});
}

/* J1 and D of every step. */
static int backward(clvox_context *ctx, clv_lddmm *l, const clv_buffer *i1)
{
    static const float times[4] = {1};
    int status = CLVOX_OK;
    const int *size = l->greedy.op.size;
    CLV_TRY(clv_buffer_fill(ctx, l->u[0], 0, 0, 12 * voxels_of(l)));
    for (int j = l->steps - 1, at = 0; j >= 0; j--, at = !at) {
        CLV_TRY(clv_jacobian(ctx, CLV_VECTORS(l->v[j], size), false, l->weight[j]));
        if (j + 1 < l->steps)
            CLV_TRY(clv_pointwise(ctx, CLV_POINTWISE_MULTIPLY, CLV_VOLUME(l->weight[j], size), l->weight[j],
                                  l->weight[j + 1], NULL, times));
        CLV_TRY(follow(ctx, l, j, 1, l->u[at], l->u[!at]));
        CLV_TRY(clv_greedy_deform(ctx, &l->greedy, i1, l->u[!at], l->moved[j]));
    }
end:
    return status;
}

static int choose_step(clvox_context *ctx, clv_lddmm *l)
{
    float longest = 0;
    const int status = clv_greedy_longest(ctx, &l->greedy, &longest);
    l->epsilon = fminf(.1f, l->first * l->sigma * l->sigma / fmaxf(2 * longest, 1e-30f));
    return status;
}

int clv_lddmm_iterate(clvox_context *ctx, clv_lddmm *l, const clv_buffer *i0, const clv_buffer *i1)
{
    int status = CLVOX_OK, at = 0;
    const int *size = l->greedy.op.size;
    CLV_TRY(backward(ctx, l, i1));
    CLV_TRY(clv_buffer_fill(ctx, l->u[at], 0, 0, 12 * voxels_of(l)));
    for (int j = 0; j < l->steps; j++, at = !at) {
        CLV_TRY(clv_greedy_deform(ctx, &l->greedy, i0, l->u[at], l->image));
        CLV_TRY(follow(ctx, l, j, -1, l->u[at], l->u[!at])); /* by v_j as it was */
        CLV_TRY(clv_greedy_velocity(ctx, &l->greedy, l->image, l->moved[j], l->weight[j]));
        if (!(l->epsilon > 0))
            CLV_TRY(choose_step(ctx, l));
        /* The velocity has the sign of J1 - J0. */
        const float k[4] = {1 - 2 * l->epsilon, -2 * l->epsilon / (l->sigma * l->sigma)};
        CLV_TRY(clv_pointwise(ctx, CLV_POINTWISE_LINEAR, CLV_VECTORS(l->v[j], size), l->v[j],
                              l->greedy.velocity, NULL, k));
    }
end:
    return status;
}

int clv_lddmm_map(clvox_context *ctx, clv_lddmm *l, clv_buffer *u)
{
    int status = CLVOX_OK, at = 0;
    CLV_TRY(clv_buffer_fill(ctx, l->u[at], 0, 0, 12 * voxels_of(l)));
    for (int j = 0; j < l->steps; j++, at = !at)
        CLV_TRY(follow(ctx, l, j, -1, l->u[at], l->u[!at]));
    CLV_TRY(clv_buffer_copy(ctx, l->u[at], 0, u, 0, 12 * voxels_of(l)));
end:
    return status;
}
