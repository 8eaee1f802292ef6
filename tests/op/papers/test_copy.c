/* SPDX-License-Identifier: Apache-2.0 */
#include "op/papers/copy.h"

#include "op/harness.h"
#include "ref/papers/copy.h"

int main(void)
{
    static const int lengths[] = {4, 52, 4 * 1031, 4 * 70001};
    clvox_context *ctx = harness_open();
    int state = 0;
    while (harness_next(ctx, &clv_entry_copy, &state, "copies every value"))
        for (int k = 0; k < (getenv("CLVOX_TEST_TINY") ? 2 : 4); k++) {
            size_t n = (size_t)lengths[k];
            float *in = malloc(n * sizeof *in), *got = malloc(n * sizeof *got);
            double *want = malloc(n * sizeof *want);
            harness_random(in, n, (unsigned)k, -1, 1);
            clv_buffer *a = harness_upload(ctx, in, n * sizeof *in);
            clv_buffer *b = harness_output(ctx, n * sizeof *got);
            CHECK(clv_copy(ctx, a, b, (int)n) == CLVOX_OK);
            harness_download(ctx, b, got, n * sizeof *got);
            ref_copy(in, n, want);
            CHECK(harness_error(got, want, n, 1e-30, 0) == 0);
            clv_buffer_destroy(&a);
            clv_buffer_destroy(&b);
            free(in);
            free(got);
            free(want);
        }
    clvox_context_destroy(&ctx);
    return check_end();
}
