/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/papers/op/splat_sorted.h"
#include "op/harness.h"
#include "ref/field/splat.h"

#include <string.h>

static const int sizes[][2][3] = {
    {{11, 7, 5}, {9, 8, 5}}, {{1, 1, 1}, {2, 1, 1}}, {{7, 1, 3}, {1, 6, 5}}, {{23, 13, 11}, {21, 12, 9}}};
static const clv_map map = {{{1, .05f, 0, -.3f}, {0, .9f, -.1f, .2f}, {.02f, 0, 1, .1f}},
                            {{-1, 0, .1f}, {0, -.8f, 0}, {0, .1f, -1}}};

/* shrink: of the map, so that 0 takes all voxels to one place. */
static void run(const int in_size[3], const int size[3], float shrink, unsigned seed)
{
    clvox_context *ctx = harness_context();
    const size_t m = (size_t)in_size[0] * (size_t)in_size[1] * (size_t)in_size[2];
    const size_t n = (size_t)size[0] * (size_t)size[1] * (size_t)size[2];
    clv_map to = map;
    clv_splat_room room;
    float *a = malloc(m * sizeof *a), *u = calloc(3 * m, sizeof *u), *got = malloc(n * sizeof *got);
    double *want = calloc(n, sizeof *want);
    int64_t *sums[2] = {malloc(n * 8), malloc(n * 8)};
    harness_random(a, m, seed, -1, 1);
    if (m > 30)
        a[m / 2] = NAN;
    if (shrink > 0)
        harness_random(u, 3 * m, seed + 9, -2, 2);
    for (int k = 0; k < 9; k++)
        to.linear[k / 3][k % 3] *= shrink;
    clv_buffer *in = harness_upload(ctx, a, m * sizeof *a), *field = harness_upload_field(ctx, u, m);
    clv_buffer *out = harness_output(ctx, n * sizeof *got), *beyond = harness_output(ctx, 4);
    clv_splat_args args = {.in = *CLV_VOLUME(in, in_size), .map = &to, .field = field,
                           .size = {size[0], size[1], size[2]}, .most = 1, .beyond = beyond};
    assert_ok(clv_splat_room_create(ctx, (int)m, &room));
    for (int sorted = 0; sorted < 2; sorted++) {
        args.sums = harness_output(ctx, n * 8);
        assert_ok(clv_buffer_fill(ctx, args.sums, 0, 0, n * 8));
        assert_ok(clv_buffer_fill(ctx, beyond, 0, 0, 4));
        assert_ok(sorted ? clv_splat_sorted(ctx, &args, &room) : clv_splat(ctx, &args));
        harness_download(ctx, args.sums, sums[sorted], n * 8);
        assert_ok(clv_splat_total(ctx, &args, 1, NULL, out));
        clv_buffer_destroy(&args.sums);
    }
    harness_download(ctx, out, got, n * sizeof *got);
    ref_splat(a, in_size, &to, u, size, want, NULL);
    const double error = harness_error(got, want, n, 1e-5, 1e-5);
    assert_that(error <= 1, "%dx%dx%d: error %g", size[0], size[1], size[2], error);
    assert_memory_equal(sums[0], sums[1], n * 8);
    for (int i = 0; i < CLV_SPLAT_ROOM; i++)
        clv_buffer_destroy(&room.buffer[i]);
    clv_buffer *all[] = {in, field, out, beyond};
    for (int i = 0; i < 4; i++)
        clv_buffer_destroy(&all[i]);
    free(a);
    free(u);
    free(got);
    free(want);
    free(sums[0]);
    free(sums[1]);
}

static void the_sums_of_atomics(void **state)
{
    (void)state;
    for (int s = 0; s < harness_problems(3, 4); s++) {
        run(sizes[s][0], sizes[s][1], 1, 3 + (unsigned)s);
        run(sizes[s][0], sizes[s][1], 0, 33 + (unsigned)s);
    }
}

int main(void)
{
    static const clv_entry *const entries[] = {&clv_entry_splat_contribute, &clv_entry_splat_units,
                                               &clv_entry_splat_ends};
    harness_open();
    for (int e = 0; e < 3; e++)
        harness_cases(entries[e], the_sums_of_atomics, NULL, 0, "the sums of atomic additions");
    return test_run("splat_sorted", harness_close);
}
