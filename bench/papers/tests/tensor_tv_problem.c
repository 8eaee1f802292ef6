/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/papers/tests/tensor_tv_problem.h"

const tv_setup tv_setups[TV_SETUPS] = {
    {{1, 1, 1}, {1, 1, 1}},   {{5, 1, 1}, {1, 2, 3}}, {{1, 7, 3}, {2, 1, 1}},
    {{11, 7, 1}, {1, 1, 4}},  {{8, 3, 5}, {2, 2.5f, 2}}, {{13, 5, 7}, {1, 1.5f, 2}},
    {{37, 11, 6}, {1, 1, 1}}, {{64, 18, 9}, {1, 1, 2}}, {{275, 2, 3}, {1, 1, 1}},
};
const char *const tv_couplings[2] = {"local", "paper"};

static void tensors(float *field, size_t n, unsigned seed)
{
    float *l = malloc(6 * n * sizeof *l);
    harness_random(l, 6 * n, seed, -0.5f, 0.5f);
    for (size_t i = 0; i < n; i++) {
        double li[6], d[6];
        for (size_t c = 0; c < 6; c++)
            li[c] = (double)l[c * n + i] + (c == 0 || c == 3 || c == 5 ? 1 : 0);
        ref_tensor_product(li, d);
        for (size_t c = 0; c < 6; c++)
            field[c * n + i] = (float)d[c];
    }
    free(l);
}

void tv_problem_make(clvox_context *ctx, const int size[3], const float spacing[3],
                     clv_tensor_coupling coupling, bool with_mask, tv_problem *p)
{
    *p = (tv_problem){.ref = {.coupling = coupling, .lambda = 2, .eps = 1e-3, .dt = 2e-4, .floor = 1e-6}};
    float least = fminf(spacing[0], fminf(spacing[1], spacing[2]));
    p->n = 1;
    for (int a = 0; a < 3; a++) {
        p->ref.size[a] = size[a];
        p->ref.w[a] = (double)(least / spacing[a]);
        p->n *= (size_t)size[a];
    }
    size_t n = p->n, bytes = 6 * n * sizeof(float);
    p->mask = malloc(n * sizeof(float));
    p->data = malloc(bytes);
    p->from = malloc(bytes);
    p->got = malloc(bytes);
    p->want = malloc(6 * n * sizeof(double));
    tensors(p->data, n, 3);
    tensors(p->from, n, 4);
    harness_random(p->mask, n, 5, -0.5f, 1.5f);
    for (size_t i = 0; i < n; i++) /* whole vectors outside too */
        if (i / 40 % 3 == 1)
            p->mask[i] = 0;
    p->mask[n / 2] = 1;
    for (size_t i = 0; with_mask && i < n; i++)
        for (size_t c = 0; c < 6 && !(p->mask[i] > 0); c++)
            p->data[c * n + i] = p->from[c * n + i] = NAN;
    p->ref.mask = with_mask ? p->mask : NULL;
    p->ref.data = p->data;
    p->mask_buffer = harness_upload(ctx, p->mask, n * sizeof(float));
    p->data_buffer = harness_upload(ctx, p->data, bytes);
    p->a = harness_upload(ctx, p->from, bytes);
    p->b = harness_output(ctx, bytes);
    p->links = harness_output(ctx, clv_tensor_links_bytes(size));
    p->partial = harness_output(ctx, CLV_TENSOR_TV_PARTIALS * sizeof(float));
    p->state = harness_output(ctx, CLV_TENSOR_TV_STATE * sizeof(float));
    p->args = (clv_tensor_tv_args){
        .data = {p->data_buffer, {size[0], size[1], size[2]}, {spacing[0], spacing[1], spacing[2]}, 6},
        .links = p->links, .coupling = coupling, .lambda = (float)p->ref.lambda,
        .eps = (float)p->ref.eps, .dt = (float)p->ref.dt, .floor = (float)p->ref.floor,
        .partial = p->partial, .state = p->state,
    };
    const clv_image mask = clv_image_on(&p->args.data, with_mask ? p->mask_buffer : NULL, 1);
    assert_ok(clv_tensor_links(ctx, &mask, p->links));
    for (size_t i = 0; i < 6 * n; i++)
        p->want[i] = (double)p->from[i];
}

void tv_problem_release(tv_problem *p)
{
    clv_buffer *all[] = {p->mask_buffer, p->data_buffer, p->links, p->partial, p->state, p->a, p->b};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        clv_buffer_destroy(&all[i]);
    free(p->mask);
    free(p->data);
    free(p->from);
    free(p->got);
    free(p->want);
}
