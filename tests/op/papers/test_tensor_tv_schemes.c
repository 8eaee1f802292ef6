/* SPDX-License-Identifier: Apache-2.0 */
#include "op/papers/tensor_tv_schemes.h"

#include "op/tensor/tv_problem.h"
#include "ref/papers/tensor_tv_schemes.h"

/* Both couplings with the first tile of a variant; others differ in the work-group
 * alone, and every build takes its time. */
static int couplings(const clv_entry *entry, int state)
{
    int index = 0;
    for (int v = 0; v < entry->count; v++)
        for (int t = 0; t < CLV_MAX_TILES && entry->variants[v].tiles[t].x; t++)
            if (++index == state)
                return t == 0 ? 2 : 1;
    return 2;
}

/* Three steps (that is, more than an overlap has) by a scheme. */
static void scheme_case(clvox_context *ctx, const tv_setup *s, clv_tensor_scheme scheme,
                        clv_tensor_coupling coupling, bool with_mask)
{
    tv_problem p;
    int block[3] = {2, 2, 2}, count = 3;
    tv_problem_make(ctx, s->size, s->spacing, coupling, with_mask, &p);
    if (scheme == CLV_TENSOR_BLOCK) {
        const clv_kernel *kernel;
        check_must(clv_kernel_get(ctx, &clv_entry_tensor_tv_block, coupling ? "-DPAPER=1" : "-DPAPER=0",
                                  s->size, 0, &kernel));
        memcpy(block, kernel->group, sizeof block);
    }
    CHECK_THAT(clv_tensor_tv_schemes(ctx, &p.args, scheme, count, p.a, p.b) == CLVOX_OK, "%s",
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
    CHECK_THAT(error <= 1, "%s %dx%dx%d%s: %g", tv_couplings[coupling], s->size[0], s->size[1], s->size[2],
               with_mask ? " masked" : "", error);
    tv_problem_release(&p);
}

static void schemes(clvox_context *ctx, int count)
{
    static const struct {
        const clv_entry *entry;
        clv_tensor_scheme scheme;
    } all[] = {{&clv_entry_tensor_tv_overlap, CLV_TENSOR_OVERLAP},
               {&clv_entry_tensor_tv_block, CLV_TENSOR_BLOCK},
               {&clv_entry_tensor_tv_none, CLV_TENSOR_NONE}};
    for (int e = 0; e < 3; e++) {
        int state = 0;
        while (harness_next(ctx, all[e].entry, &state, "three steps"))
            for (int s = 0; s < count; s++)
                for (int k = 0; k < 2 * couplings(all[e].entry, state); k++)
                    scheme_case(ctx, &tv_setups[s], all[e].scheme, (clv_tensor_coupling)(k / 2), k % 2);
    }
}

int main(void)
{
    clvox_context *ctx = harness_open();
    schemes(ctx, TV_SETUPS - TV_LARGE);
    clvox_context_destroy(&ctx);
    return check_end();
}
