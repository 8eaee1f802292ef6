/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/papers/op/tensor_tv_schemes.h"

#include "bench/papers/tests/tensor_tv_problem.h"
#include "bench/papers/ref/tensor_tv_schemes.h"

/* Both couplings with the first tile of a variant; others differ in the work-group
 * alone, and every build takes its time. */
static int couplings(void)
{
    return harness_first() ? 2 : 1;
}

/* Three steps (that is, more than an overlap has) by a scheme. */
static void scheme_case(clvox_context *ctx, const tv_setup *s, clv_tensor_scheme scheme,
                        clv_tensor_coupling coupling, bool with_mask)
{
    tv_problem p;
    int block[3] = {2, 2, 2}, count = 3;
    clv_buffer *scratch = NULL;
    tv_problem_make(ctx, s->size, s->spacing, coupling, with_mask, &p);
    if (scheme == CLV_TENSOR_BLOCK) {
        const clv_kernel *kernel;
        assert_ok(clv_kernel_get(ctx, &clv_entry_tensor_tv_block, coupling ? "-DPAPER=1" : "-DPAPER=0",
                                 s->size, 0, &kernel));
        memcpy(block, kernel->group, sizeof block);
    }
    const clv_tensor_fields fields = {p.a, p.b, &scratch};
    assert_that(clv_tensor_tv_schemes(ctx, &p.args, scheme, count, &fields) == CLVOX_OK, "%s",
                clvox_message());
    if (scheme == CLV_TENSOR_OVERLAP)
        for (int k = 0; k < count; k++)
            ref_tensor_step(&p.ref, p.want);
    else
        ref_tensor_blocks(&p.ref, p.want, block, scheme == CLV_TENSOR_NONE, count);
    harness_download(ctx, p.a, p.got, 6 * p.n * sizeof(float));
    /* Weights of paper that lag a step or two differ a little. */
    double allowed = scheme == CLV_TENSOR_OVERLAP && coupling == CLV_TENSOR_PAPER ? 2e-3 : 4e-5;
    double error = harness_error(p.got, p.want, 6 * p.n, allowed, 0);
    assert_that(error <= 1, "%s %dx%dx%d%s: %g", tv_couplings[coupling], s->size[0], s->size[1], s->size[2],
                with_mask ? " masked" : "", error);
    clv_buffer_destroy(&scratch);
    tv_problem_release(&p);
}

static const struct {
    const clv_entry *entry;
    clv_tensor_scheme scheme;
} all[] = {{&clv_entry_tensor_tv_overlap, CLV_TENSOR_OVERLAP},
           {&clv_entry_tensor_tv_block, CLV_TENSOR_BLOCK},
           {&clv_entry_tensor_tv_none, CLV_TENSOR_NONE}};

static void schemes_three_steps(void **state)
{
    const int *given = *state;
    int count = given[0], e = given[1];
    clvox_context *ctx = harness_context();
    for (int s = 0; s < count; s++)
        for (int k = 0; k < 2 * couplings(); k++)
            scheme_case(ctx, &tv_setups[s], all[e].scheme, (clv_tensor_coupling)(k / 2), k % 2);
}

static void schemes(int count)
{
    for (int e = 0; e < 3; e++) {
        harness_cases(all[e].entry, schemes_three_steps, TEST_AT(count, e), "three steps");
    }
}

int main(void)
{
    harness_open();
    schemes(TV_SETUPS - TV_LARGE);
    return test_run("tensor tv schemes", harness_close);
}
