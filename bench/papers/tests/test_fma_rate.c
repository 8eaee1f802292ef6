/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/papers/op/fma_rate.h"

#include "harness.h"
#include "bench/papers/ref/fma_rate.h"

static struct {
    clv_buffer *in, *out;
} shared;

static void sums_of_chains(void **state)
{
    const int *given = *state;
    int twice = given[0];
    clvox_context *ctx = harness_context();
    float got;
    double operations = 0, want = ref_fma_rate(1.5, 0.75, 0.5, 9);
    if (twice && !clvox_context_limits(ctx)->fp64) {
        assert_int_equal(clv_fma_rate(ctx, &(clv_fma_chains){true, 1.5f, 0.75f, 0.5f, 9}, shared.in,
                                      shared.out, &operations),
                         CLVOX_ERROR_DEVICE);
        test_skip("no double precision");
    }
    assert_int_equal(
        clv_fma_rate(ctx, &(clv_fma_chains){twice, 1.5f, 0.75f, 0.5f, 9}, shared.in, shared.out, &operations),
        CLVOX_OK);
    assert_ok(clv_buffer_read(ctx, shared.out, 0, &got, sizeof got));
    double chains = operations > 0 && got > 3 * want ? (twice ? 4 : 8) : 1;
    assert_that(fabs(got - chains * want) < 1e-4 * want, "%g, not %g", (double)got, chains * want);
    assert_true(operations >= 2 * 16 * 9);
}

static int tear_down(void **state)
{
    (void)state;
    clv_buffer_destroy(&shared.in);
    clv_buffer_destroy(&shared.out);
    return harness_close(state);
}

int main(void)
{
    clvox_context *ctx = harness_open();
    shared.in = harness_output(ctx, 3 * sizeof(float));
    shared.out = harness_output(ctx, CLV_FMA_ROOM * sizeof(float));
    for (int twice = 0; twice < 2; twice++)
        harness_cases(twice ? &clv_entry_fma_rate_double : &clv_entry_fma_rate, sums_of_chains,
                      TEST_AT(twice), "sums of chains");
    return test_run("fma rate", tear_down);
}
