/* SPDX-License-Identifier: Apache-2.0 */
#include "op/papers/fma_rate.h"

#include "harness.h"
#include "ref/papers/fma_rate.h"

int main(void)
{
    clvox_context *ctx = harness_open();
    clv_buffer *in = harness_output(ctx, 3 * sizeof(float));
    clv_buffer *out = harness_output(ctx, CLV_FMA_ROOM * sizeof(float));
    for (int twice = 0; twice < 2; twice++) {
        int state = 0;
        while (harness_next(ctx, twice ? &clv_entry_fma_rate_double : &clv_entry_fma_rate, &state, "sums of chains")) {
            float got;
            double operations = 0, want = ref_fma_rate(1.5, 0.75, 0.5, 9);
            if (twice && !clvox_context_limits(ctx)->fp64) {
                CHECK_SKIP("no double precision");
                CHECK(clv_fma_rate(ctx, &(clv_fma_chains){true, 1.5f, 0.75f, 0.5f, 9}, in, out, &operations) == CLVOX_ERROR_DEVICE);
                continue;
            }
            CHECK(clv_fma_rate(ctx, &(clv_fma_chains){twice, 1.5f, 0.75f, 0.5f, 9}, in, out, &operations) == CLVOX_OK);
            check_must(clv_buffer_read(ctx, out, 0, &got, sizeof got));
            double chains = operations > 0 && got > 3 * want ? (twice ? 4 : 8) : 1;
            CHECK_THAT(fabs(got - chains * want) < 1e-4 * want, "%g, not %g", (double)got, chains * want);
            CHECK(operations >= 2 * 16 * 9);
        }
    }
    clv_buffer_destroy(&in);
    clv_buffer_destroy(&out);
    clvox_context_destroy(&ctx);
    return check_end();
}
