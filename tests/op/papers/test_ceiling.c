/* SPDX-License-Identifier: Apache-2.0 */
#include "op/papers/ceiling.h"

#include "op/harness.h"
#include "ref/papers/ceiling.h"
#include "ref/papers/copy.h"

static clvox_context *ctx;

static void copies(void)
{
    enum { N = 4 * 4099 };
    static float in[N], got[N];
    static double want[N];
    int state = 0;
    harness_random(in, N, 3, -1, 1);
    ref_copy(in, N, want);
    clv_buffer *from = harness_upload(ctx, in, sizeof in);
    while (harness_next(ctx, &clv_entry_ceiling_copy, &state, "accesses of 4, 8 and 16 bytes"))
        for (int access = 4; access <= 16; access *= 2) {
            clv_buffer *to = harness_output(ctx, sizeof in);
            CHECK(clv_ceiling_copy(ctx, access, from, to, N) == CLVOX_OK);
            harness_download(ctx, to, got, sizeof got);
            CHECK(harness_error(got, want, N, 1e-30, 0) <= 1);
            clv_buffer_destroy(&to);
        }
    clv_buffer_destroy(&from);
}

static void local_memory(void)
{
    enum { STEPS = 12, MOST = 4 * 256 };
    float in[MOST], got[MOST];
    int state = 0;
    harness_random(in, MOST, 5, 0, 1);
    clv_buffer *from = harness_upload(ctx, in, sizeof in);
    clv_buffer *to = harness_output(ctx, CLV_CEILING_ROOM * sizeof(float));
    while (harness_next(ctx, &clv_entry_ceiling_local, &state, "sums of cells")) {
        double bytes, worst = 0, sums[4];
        int group;
        CHECK(clv_ceiling_local(ctx, STEPS, from, to, &bytes, &group) == CLVOX_OK);
        int groups = (int)(bytes / (16. * STEPS * group));
        CHECK(group <= MOST / 4 && groups >= 1 && 4 * group * groups <= CLV_CEILING_ROOM);
        for (int g = 0; g < groups; g += groups > 1 ? groups - 1 : 1) { /* the first and the last */
            size_t size = 4 * (size_t)group * sizeof(float);
            check_must(clv_buffer_read(ctx, to, (size_t)g * size, got, size));
            for (int l = 0; l < group; l++) {
                ref_ceiling_local(in, group, l, STEPS, sums);
                for (int c = 0; c < 4; c++)
                    worst = fmax(worst, fabs((double)got[4 * l + c] - sums[c]));
            }
        }
        CHECK_THAT(worst < 1e-5, "off by %g", worst);
    }
    clv_buffer_destroy(&from);
    clv_buffer_destroy(&to);
}

static void atomics(void)
{
    static const int counts[] = {1, 64, CLV_CEILING_COUNTERS};
    int state = 0;
    int *got = malloc(CLV_CEILING_COUNTERS * sizeof *got), *want = malloc(CLV_CEILING_COUNTERS * sizeof *want);
    while (harness_next(ctx, &clv_entry_ceiling_atomics, &state, "every addition counts"))
        for (int k = 0; k < 3; k++) {
            const int steps = 3;
            double additions;
            bool same = true;
            size_t bytes = (size_t)counts[k] * sizeof *got;
            clv_buffer *counters = harness_output(ctx, bytes);
            check_must(clv_buffer_fill(ctx, counters, 0, 0, bytes));
            CHECK(clv_ceiling_atomics(ctx, counts[k], steps, counters, &additions) == CLVOX_OK);
            harness_download(ctx, counters, got, bytes);
            ref_ceiling_atomics(counts[k], (int)(additions / steps), steps, want);
            for (int i = 0; i < counts[k]; i++)
                same = same && got[i] == want[i];
            CHECK_THAT(same, "%d counters", counts[k]);
            clv_buffer_destroy(&counters);
        }
    free(got);
    free(want);
}

int main(void)
{
    ctx = harness_open();
    copies();
    local_memory();
    atomics();
    CHECK_CASE("nothing is launched");
    clv_buffer *any = harness_output(ctx, 4);
    CHECK(clv_ceiling_empty(ctx, any) == CLVOX_OK && clv_finish(ctx) == CLVOX_OK);
    clv_buffer_destroy(&any);
    clvox_context_destroy(&ctx);
    return check_end();
}
