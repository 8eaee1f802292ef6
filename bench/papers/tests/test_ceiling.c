/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/papers/op/ceiling.h"

#include "op/harness.h"
#include "bench/papers/ref/ceiling.h"
#include "bench/papers/ref/copy.h"

static clvox_context *ctx;

enum { N = 4 * 4099, STEPS = 12, MOST = 4 * 256 };

static struct {
    float in[N], got[N], local_memory_in[MOST], local_memory_got[MOST];
    double want[N];
    clv_buffer *from, *to;
    int *atomics_got, *atomics_want;
} shared;

static int copies_set_up(void **state)
{
    (void)state;
    harness_random(shared.in, N, 3, -1, 1);
    ref_copy(shared.in, N, shared.want);
    shared.from = harness_upload(ctx, shared.in, sizeof shared.in);
    return 0;
}

static void ceiling_copy_accesses_of_4_8_and_16_bytes(void **state)
{
    (void)state;
    for (int access = 4; access <= 16; access *= 2) {
        clv_buffer *to = harness_output(ctx, sizeof shared.in);
        assert_int_equal(clv_ceiling_copy(ctx, access, shared.from, to, N), CLVOX_OK);
        harness_download(ctx, to, shared.got, sizeof shared.got);
        assert_true(harness_error(shared.got, shared.want, N, 1e-30, 0) <= 1);
        clv_buffer_destroy(&to);
    }
}

static int copies_tear_down(void **state)
{
    (void)state;
    clv_buffer_destroy(&shared.from);
    return 0;
}

static void copies(void)
{
    test_set_up(copies_set_up);
    harness_cases(&clv_entry_ceiling_copy, ceiling_copy_accesses_of_4_8_and_16_bytes, NULL, 0,
                  "accesses of 4, 8 and 16 bytes");
    test_tear_down(copies_tear_down);
}

static int local_memory_set_up(void **state)
{
    (void)state;
    harness_random(shared.local_memory_in, MOST, 5, 0, 1);
    shared.from = harness_upload(ctx, shared.local_memory_in, sizeof shared.local_memory_in);
    shared.to = harness_output(ctx, CLV_CEILING_ROOM * sizeof(float));
    return 0;
}

static void ceiling_local_sums_of_cells(void **state)
{
    (void)state;
    double bytes, worst = 0, sums[4];
    int group;
    assert_int_equal(clv_ceiling_local(ctx, STEPS, shared.from, shared.to, &bytes, &group), CLVOX_OK);
    int groups = (int)(bytes / (16. * STEPS * group));
    assert_true(group <= MOST / 4 && groups >= 1 && 4 * group * groups <= CLV_CEILING_ROOM);
    for (int g = 0; g<groups; g += groups> 1 ? groups - 1 : 1) { /* the first and the last */
        size_t size = 4 * (size_t)group * sizeof(float);
        assert_ok(clv_buffer_read(ctx, shared.to, (size_t)g * size, shared.local_memory_got, size));
        for (int l = 0; l < group; l++) {
            ref_ceiling_local(shared.local_memory_in, group, l, STEPS, sums);
            for (int c = 0; c < 4; c++)
                worst = fmax(worst, fabs((double)shared.local_memory_got[4 * l + c] - sums[c]));
        }
    }
    assert_that(worst < 1e-5, "off by %g", worst);
}

static int local_memory_tear_down(void **state)
{
    (void)state;
    clv_buffer_destroy(&shared.from);
    clv_buffer_destroy(&shared.to);
    return 0;
}

static void local_memory(void)
{
    test_set_up(local_memory_set_up);
    harness_cases(&clv_entry_ceiling_local, ceiling_local_sums_of_cells, NULL, 0, "sums of cells");
    test_tear_down(local_memory_tear_down);
}

static void ceiling_reads_sums_of_cells(void **state)
{
    (void)state;
    enum { READS = 24, CELLS = CLV_CEILING_CELLS + CLV_CEILING_BEYOND };
    double reads, worst = 0;
    int group;
    harness_random(shared.in, CELLS, 7, 0, 1);
    clv_buffer *from = harness_upload(ctx, shared.in, CELLS * sizeof(float));
    clv_buffer *to = harness_output(ctx, CLV_CEILING_ROOM * sizeof(float));
    assert_int_equal(clv_ceiling_reads(ctx, READS, from, to, &reads, &group), CLVOX_OK);
    int items = (int)(reads / READS);
    assert_true(group <= N && items % group == 0 && items <= CLV_CEILING_ROOM);
    for (int first = 0; first < items; first += items > group ? items - group : group) {
        assert_ok(clv_buffer_read(ctx, to, (size_t)first * 4, shared.got, (size_t)group * 4));
        for (int l = 0; l < group; l++)
            worst = fmax(worst, fabs((double)shared.got[l] -
                                     ref_ceiling_reads(shared.in, CLV_CEILING_CELLS, l, READS)));
    }
    assert_that(worst < 1e-5, "off by %g", worst);
    clv_buffer_destroy(&from);
    clv_buffer_destroy(&to);
}

static const int counts[] = {1, 64, CLV_CEILING_COUNTERS};

static int atomics_set_up(void **state)
{
    (void)state;
    shared.atomics_got = malloc(CLV_CEILING_COUNTERS * sizeof *shared.atomics_got);
    shared.atomics_want = malloc(CLV_CEILING_COUNTERS * sizeof *shared.atomics_want);
    return 0;
}

static void ceiling_atomics_every_addition_counts(void **state)
{
    (void)state;
    for (int k = 0; k < 3; k++) {
        const int steps = 3;
        double additions;
        bool same = true;
        size_t bytes = (size_t)counts[k] * sizeof *shared.atomics_got;
        clv_buffer *counters = harness_output(ctx, bytes);
        assert_ok(clv_buffer_fill(ctx, counters, 0, 0, bytes));
        assert_int_equal(clv_ceiling_atomics(ctx, counts[k], steps, counters, &additions), CLVOX_OK);
        harness_download(ctx, counters, shared.atomics_got, bytes);
        ref_ceiling_atomics(counts[k], (int)(additions / steps), steps, shared.atomics_want);
        for (int i = 0; i < counts[k]; i++)
            same = same && shared.atomics_got[i] == shared.atomics_want[i];
        assert_that(same, "%d counters", counts[k]);
        clv_buffer_destroy(&counters);
    }
}

static int atomics_tear_down(void **state)
{
    (void)state;
    free(shared.atomics_got);
    free(shared.atomics_want);
    return 0;
}

static void atomics(void)
{
    test_set_up(atomics_set_up);
    harness_cases(&clv_entry_ceiling_atomics, ceiling_atomics_every_addition_counts, NULL, 0,
                  "every addition counts");
    test_tear_down(atomics_tear_down);
}

static void nothing_is_launched(void **state)
{
    (void)state;
    clv_buffer *any = harness_output(ctx, 4);
    assert_true(clv_ceiling_empty(ctx, any) == CLVOX_OK && clv_finish(ctx) == CLVOX_OK);
    clv_buffer_destroy(&any);
}

int main(void)
{
    ctx = harness_open();
    copies();
    local_memory();
    harness_cases(&clv_entry_ceiling_reads, ceiling_reads_sums_of_cells, NULL, 0, "sums of cells, from a cache");
    atomics();
    test_case(nothing_is_launched, "nothing is launched");
    return test_run("ceiling", harness_close);
}
