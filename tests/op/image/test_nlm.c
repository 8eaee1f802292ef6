/* SPDX-License-Identifier: Apache-2.0 */
#include "op/harness.h"
#include "op/image/nlm.h"
#include "ref/image/nlm.h"

typedef struct trial {
    int size[3], patch, search; /* patch 0: guided */
    bool rician;
} trial;

/* So that some neighbours count and some do not. */
static float strength_of(const trial *t)
{
    return t->patch ? 0.7f : 5;
}

static const trial trials[] = {
    {{9, 2, 2}, 0, 2, true},
    {{5, 2, 2}, 2, 1, true},
    {{7, 2, 2}, 1, 2, false},
    /* The rest is left out under the simulator. */
    {{11, 7, 5}, 1, 2, false},
    {{1, 1, 1}, 1, 3, true},
    {{67, 5, 3}, 1, 2, false},
    {{1, 13, 1}, 2, 3, false},
    {{61, 2, 1}, 0, 3, false},
    {{131, 3, 2}, 2, 1, false},
    {{19, 9, 7}, 0, 2, false}, /* rows whose neighbours are all inside */
    {{18, 5, 3}, 0, 3, true},  /* eight voxels of which one alone has a neighbour outside */
    {{263, 3, 1}, 0, 3, true}, /* more than the parts of a folded row that are made at a time hold */
    {{23, 7, 5}, 0, 5, false}, /* a search that no loop is written out for */
    {{7, 3, 2}, 0, 3, false},
    {{1, 3, 1}, 0, 2, true},
};

static void compare(clvox_context *ctx, const trial *t, unsigned seed)
{
    const int *s = t->size;
    size_t n = (size_t)s[0] * (size_t)s[1] * (size_t)s[2], bytes = n * sizeof(float);
    float *value = malloc(bytes), *guide = malloc(bytes), *sigma = malloc(bytes), *got = malloc(bytes);
    double *want = malloc(n * sizeof *want);
    harness_random(value, n, seed, 0, 10);
    harness_random(guide, n, seed + 1, 0, 10);
    harness_random(sigma, n, seed + 2, 2, 5);
    for (size_t i = 0; i < n; i += 7)
        sigma[i] = 0;
    clv_nlm_padding padding = clv_nlm_padding_of(s, t->search);
    if (!t->patch)
        assert_int_equal(clv_nlm_guided_padding(ctx, s, t->search, &padding), CLVOX_OK);
    const size_t padded = clv_nlm_padded_bytes(&padding);
    clv_buffer *in = harness_upload(ctx, value, bytes), *in_guide = harness_upload(ctx, guide, bytes);
    clv_buffer *in_sigma = harness_upload(ctx, sigma, bytes), *out = harness_output(ctx, bytes);
    clv_buffer *wide[3];
    for (int k = 0; k < 3; k++)
        wide[k] = harness_output(ctx, padded);
    assert_int_equal(clv_nlm_pad(ctx, CLV_VOLUME(in, s), &padding, false, wide[0]), CLVOX_OK);
    assert_int_equal(clv_nlm_pad(ctx, CLV_VOLUME(in_guide, s), &padding, false, wide[1]), CLVOX_OK);
    assert_int_equal(clv_nlm_pad(ctx, CLV_VOLUME(in_guide, s), &padding, true, wide[2]), CLVOX_OK);
    const clv_nlm_means_args args = {.padding = padding,
                                     .value = wide[0],
                                     .guide = t->patch ? NULL : wide[1],
                                     .mean = t->patch ? NULL : wide[2],
                                     .patch = t->patch,
                                     .search = t->search,
                                     .strength = strength_of(t),
                                     .rician = t->rician,
                                     .sigma = in_sigma};
    assert_int_equal(clv_nlm_means(ctx, CLV_VOLUME(out, s), &args, out), CLVOX_OK);
    harness_download(ctx, out, got, bytes);
    const ref_nlm ref = {.value = value,
                         .guide = t->patch ? NULL : guide,
                         .sigma = sigma,
                         .size = {s[0], s[1], s[2]},
                         .patch = t->patch,
                         .search = t->search,
                         .strength = (double)strength_of(t),
                         .rician = t->rician};
    ref_nlm_means(&ref, want);
    double error = harness_error(got, want, n, 2e-4, 1e-5);
    assert_that(error <= 1, "%dx%dx%d, patch %d: error %g of what is allowed", s[0], s[1], s[2], t->patch, error);
    for (int k = 0; k < 3; k++)
        clv_buffer_destroy(&wide[k]);
    clv_buffer_destroy(&in);
    clv_buffer_destroy(&in_guide);
    clv_buffer_destroy(&in_sigma);
    clv_buffer_destroy(&out);
    free(value);
    free(guide);
    free(sigma);
    free(got);
    free(want);
}

static void nlm_is_the_reference_s(void **state)
{
    (void)state;
    int count = harness_problems(harness_first() ? 3 : 1, sizeof trials / sizeof *trials);
    for (int k = 0; k < count; k++)
        compare(harness_context(), &trials[k], 11 + (unsigned)k);
}

enum { FRAMES = 3 };

/* One frame of several on the device and on the host. */
typedef struct frame {
    float *host[3]; /* value, guide, sigma */
    clv_buffer *plain[4], *wide[3];
} frame;

static void make_frame(clvox_context *ctx, frame *f, const int size[3], const clv_nlm_padding *padding,
                       unsigned seed)
{
    size_t n = (size_t)size[0] * (size_t)size[1] * (size_t)size[2];
    for (int k = 0; k < 3; k++) {
        f->host[k] = malloc(n * sizeof(float));
        harness_random(f->host[k], n, seed + (unsigned)k, k < 2 ? 0 : 2, k < 2 ? 10 : 5);
        for (size_t i = 0; k == 2 && i < n; i += 7)
            f->host[k][i] = 0;
        f->plain[k] = harness_upload(ctx, f->host[k], n * sizeof(float));
        f->wide[k] = harness_output(ctx, clv_nlm_padded_bytes(padding));
    }
    f->plain[3] = harness_output(ctx, n * sizeof(float));
    for (int k = 0; k < 3; k++)
        assert_int_equal(clv_nlm_pad(ctx, CLV_VOLUME(f->plain[k > 0], size), padding, k == 2, f->wide[k]),
                         CLVOX_OK);
}

static void drop_frame(frame *f)
{
    for (int k = 0; k < 3; k++) {
        free(f->host[k]);
        clv_buffer_destroy(&f->wide[k]);
    }
    for (int k = 0; k < 4; k++)
        clv_buffer_destroy(&f->plain[k]);
}

/* Frames together; room: how many of the rows of neighbours fit, 0: as many as serve well. */
static void compare_joint(clvox_context *ctx, const trial *t, int frames, size_t rooms, unsigned seed)
{
    const int *s = t->size;
    const int reach = t->search < s[0] ? t->search : s[0] - 1;
    size_t n = (size_t)s[0] * (size_t)s[1] * (size_t)s[2];
    const size_t row =
        sizeof(float) * (size_t)((s[0] + 7) / 8 * 8) * (size_t)(2 * reach + 1) * (size_t)s[1] * 2;
    const clv_nlm_padding padding = clv_nlm_padding_of(s, t->search);
    float *got = malloc(n * sizeof *got);
    double *want = malloc((size_t)frames * n * sizeof *want);
    frame f[FRAMES];
    clv_nlm_frame on[FRAMES];
    ref_nlm ref[FRAMES];
    for (int k = 0; k < frames; k++) {
        make_frame(ctx, &f[k], s, &padding, seed + 3 * (unsigned)k);
        on[k] = (clv_nlm_frame){f[k].wide[0], f[k].wide[1], f[k].wide[2], f[k].plain[2], f[k].plain[3]};
        ref[k] = (ref_nlm){.value = f[k].host[0],
                           .guide = t->patch ? NULL : f[k].host[1],
                           .sigma = f[k].host[2],
                           .size = {s[0], s[1], s[2]},
                           .patch = t->patch,
                           .search = t->search,
                           .strength = (double)strength_of(t),
                           .rician = t->rician};
    }
    const size_t bytes = rooms ? rooms * row : clv_nlm_weights_bytes(ctx, s, t->search);
    clv_buffer *total = harness_output(ctx, n * sizeof(float)), *weights = harness_output(ctx, bytes);
    const clv_nlm_joint_args args = {.padding = padding,
                                     .frame = on,
                                     .frames = frames,
                                     .guided = !t->patch,
                                     .patch = t->patch,
                                     .search = t->search,
                                     .strength = strength_of(t),
                                     .rician = t->rician,
                                     .total = total,
                                     .weights = weights,
                                     .weights_bytes = bytes};
    const clv_image *grid = CLV_VOLUME(total, s);
    const int steps = clv_nlm_joint_steps(grid, &args);
    assert_true(steps >= 1 && (rooms != 1 || s[1] == 1 || steps > 2 * reach));
    for (int k = 0; k < steps; k++)
        assert_int_equal(clv_nlm_joint_step(ctx, grid, &args, k), CLVOX_OK);
    ref_nlm_joint(ref, frames, want);
    for (int k = 0; k < frames; k++) {
        harness_download(ctx, f[k].plain[3], got, n * sizeof(float));
        double error = harness_error(got, want + (size_t)k * n, n, 2e-4, 1e-5);
        assert_that(error <= 1, "%dx%dx%d, patch %d, frame %d of %d, %zu rows: error %g of what is allowed",
                    s[0], s[1], s[2], t->patch, k, frames, rooms, error);
        drop_frame(&f[k]);
    }
    clv_buffer_destroy(&total);
    clv_buffer_destroy(&weights);
    free(got);
    free(want);
}

/* In the simulator, guided: weights of one row at a time fit; by patches: one frame. */
static void frames_that_share_their_weights(void **state)
{
    const int few = *(const int *)*state;
    clvox_context *ctx = harness_context();
    int count = harness_problems(harness_first() ? few : 1, 11);
    for (int k = 0; k < count; k++) {
        if (!harness_simulated() || k == 1)
            compare_joint(ctx, &trials[k], harness_simulated() ? 1 : 1 + k % FRAMES, 0, 31 + (unsigned)k);
        if (!harness_simulated() || k == 0)
            compare_joint(ctx, &trials[k], 1 + (k + 1) % FRAMES, 1 + (size_t)k % 4, 41 + (unsigned)k);
    }
}

static void parameters_out_of_range(void **state)
{
    (void)state;
    clvox_context *ctx = harness_context();
    const int size[3] = {2, 2, 2};
    clv_nlm_means_args args = {.padding = clv_nlm_padding_of(size, 2), .patch = 3, .search = 2, .strength = 1};
    clv_buffer *out = harness_output(ctx, 32);
    assert_int_equal(clv_nlm_means(ctx, CLV_VOLUME(out, size), &args, out), CLVOX_ERROR_ARGUMENT);
    args.patch = 1;
    args.search = 3;
    assert_int_equal(clv_nlm_means(ctx, CLV_VOLUME(out, size), &args, out), CLVOX_ERROR_ARGUMENT);
    /* By a guide, on a CPU, the order of rows is another. */
    args.search = 2;
    clv_nlm_padding guided;
    assert_int_equal(clv_nlm_guided_padding(ctx, size, 2, &guided), CLVOX_OK);
    if (guided.part) {
        args.padding = guided;
        assert_int_equal(clv_nlm_means(ctx, CLV_VOLUME(out, size), &args, out), CLVOX_ERROR_ARGUMENT);
        args.padding = clv_nlm_padding_of(size, 2);
    }
    clv_nlm_joint_args joint = {
        .padding = args.padding, .patch = 3, .search = 2, .strength = 1, .weights_bytes = 1 << 20};
    assert_int_equal(clv_nlm_joint_steps(CLV_VOLUME(out, size), &joint), CLVOX_ERROR_ARGUMENT);
    joint.patch = 2;
    joint.weights_bytes = 8;
    assert_int_equal(clv_nlm_joint_steps(CLV_VOLUME(out, size), &joint), CLVOX_ERROR_ARGUMENT);
    joint.weights_bytes = 1 << 20;
    assert_true(clv_nlm_joint_steps(CLV_VOLUME(out, size), &joint) > 0);
    clv_buffer_destroy(&out);
}

int main(void)
{
    harness_open();
    harness_cases(&clv_entry_nlm_means, nlm_is_the_reference_s, NULL, 0, "against the reference");
    harness_cases(&clv_entry_nlm_distances, frames_that_share_their_weights, TEST_AT(2),
                  "against the reference");
    harness_cases(&clv_entry_nlm_gather, frames_that_share_their_weights, TEST_AT(1),
                  "against the reference");
    harness_cases(&clv_entry_nlm_pad, nlm_is_the_reference_s, NULL, 0, "against the reference");
    test_case(parameters_out_of_range, "parameters out of range are refused");
    return test_run("nlm", harness_close);
}
