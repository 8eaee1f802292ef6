/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/papers/op/turn.h"
#include "op/harness.h"

static const int sizes[][3] = {{11, 7, 5}, {1, 1, 1}, {1, 6, 5}, {10, 1, 3}, {9, 2, 1}, {67, 37, 3}};

static void turned_once_and_back(void **state)
{
    (void)state;
    clvox_context *ctx = harness_context();
    for (int s = 0; s < harness_problems(4, 6); s++) {
        const int *n = sizes[s];
        const size_t count = (size_t)n[0] * (size_t)n[1] * (size_t)n[2], bytes = count * sizeof(float);
        float *a = malloc(bytes), *got = malloc(bytes), *back = malloc(bytes);
        harness_random(a, count, 3 + (unsigned)s, -1, 1);
        clv_buffer *buffer[4] = {harness_upload(ctx, a, bytes)};
        for (int k = 1; k < 4; k++) {
            const int size[3] = {n[(k - 1) % 3], n[k % 3], n[(k + 1) % 3]};
            buffer[k] = harness_output(ctx, bytes);
            assert_ok(clv_turn(ctx, CLV_VOLUME(buffer[k - 1], size), buffer[k]));
        }
        harness_download(ctx, buffer[1], got, bytes);
        harness_download(ctx, buffer[3], back, bytes);
        for (int z = 0, i = 0; z < n[2]; z++)
            for (int y = 0; y < n[1]; y++)
                for (int x = 0; x < n[0]; x++, i++)
                    assert_that(got[(x * n[2] + z) * n[1] + y] == a[i] && back[i] == a[i], "%dx%dx%d at %d",
                                n[0], n[1], n[2], i);
        for (int k = 0; k < 4; k++)
            clv_buffer_destroy(&buffer[k]);
        free(a);
        free(got);
        free(back);
    }
}

int main(void)
{
    harness_open();
    harness_cases(&clv_entry_turn, turned_once_and_back, NULL, 0, "once, and back after three times");
    return test_run("turn", harness_close);
}
