/* SPDX-License-Identifier: Apache-2.0 */
#include "op/harness.h"
#include "op/tensor/links.h"
#include "ref/tensor/links.h"

static const int sizes[][3] = {{1, 1, 1},   {5, 1, 3}, {1, 7, 2},  {9, 8, 1},
                               {13, 7, 11}, {4, 3, 2}, {32, 5, 3}, {31, 2, 4}};

static void run(clvox_context *ctx, const int size[3], bool with_mask)
{
    size_t n = (size_t)size[0] * (size_t)size[1] * (size_t)size[2];
    float *mask = malloc(n * sizeof *mask);
    unsigned char *want = malloc(n), *got = malloc(n + 4);
    harness_random(mask, n, 5, -1, 3);
    for (size_t i = 0; i < n; i++)
        if (i % 11 == 7)
            mask[i] = NAN;
    clv_buffer *m = with_mask ? harness_upload(ctx, mask, n * sizeof *mask) : NULL;
    clv_buffer *links = harness_output(ctx, clv_tensor_links_bytes(size));
    const clv_image grid = {.buffer = m, .size = {size[0], size[1], size[2]}, .spacing = {1, 1, 1}, .components = 1};
    assert_that(clv_tensor_links(ctx, &grid, links) == CLVOX_OK, "%s", clvox_message());
    harness_download(ctx, links, got, clv_tensor_links_bytes(size));
    ref_tensor_links(with_mask ? mask : NULL, size, want);
    assert_memory_equal(got, want, n);
    clv_buffer_destroy(&m);
    clv_buffer_destroy(&links);
    free(mask);
    free(want);
    free(got);
}

static void tensor_links_links_of_voxels(void **state)
{
    (void)state;
    clvox_context *ctx = harness_context();
    for (int s = 0; s < (int)(sizeof sizes / sizeof *sizes); s++) {
        run(ctx, sizes[s], false);
        run(ctx, sizes[s], true);
    }
}

int main(void)
{
    harness_open();
    harness_cases(&clv_entry_tensor_links, tensor_links_links_of_voxels, NULL, 0, "links of voxels");
    return test_run("links", harness_close);
}
