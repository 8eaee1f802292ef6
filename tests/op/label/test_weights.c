/* SPDX-License-Identifier: Apache-2.0 */
#include "op/label/weights.h"

#include "op/label/stack.h"

typedef struct trial {
    int size[3], atlases, search;
} trial;

static const trial trials[] = {
    {{3, 2, 2}, 3, 0},
    {{2, 2, 1}, 4, 1},
    {{1, 1, 1}, 1, 1},
    /* The simulator leaves out the rest. */
    {{7, 1, 3}, 5, 1},
    {{5, 3, 2}, 17, 0},
    {{3, 5, 1}, 3, 2},
    {{3, 3, 2}, 64, 0},
    {{2, 1, 2}, 2, 3},
};
static const float ridge = .07f;

static void moments_of_patches(void **state)
{
    clvox_context *ctx = harness_context();
    (void)state;
    for (int t = 0; t < harness_problems(2, 4); t++) {
        stack s;
        stack_make(ctx, trials[t].size, trials[t].atlases, trials[t].search, 3, &s);
        const int *n = s.ref.size, volumes = s.ref.atlases + 1;
        const size_t voxels = (size_t)n[0] * (size_t)n[1] * (size_t)n[2];
        float *got = malloc(2 * voxels * (size_t)volumes * sizeof *got);
        harness_download(ctx, s.on.moments, got, 2 * voxels * (size_t)volumes * sizeof *got);
        for (size_t i = 0; i < voxels * (size_t)volumes; i++) {
            double want[2] = {0, 0};
            const int v = (int)(i % voxels), p[3] = {v % n[0], v / n[0] % n[1], v / n[0] / n[1]};
            bool inside = true;
            for (int a = 0; a < 3; a++)
                inside = inside && p[a] >= CLV_LABEL_PATCH && p[a] < n[a] - CLV_LABEL_PATCH;
            if (inside)
                ref_label_moments(&s.ref, (int)(i / voxels), v, want);
            for (int k = 0; k < 2; k++)
                assert_that(fabs((double)got[2 * i + (size_t)k] - want[k]) <= 1e-5 * (1e-3 + fabs(want[k])),
                            "volume %zu, voxel %d: %g, not %g", i / voxels, v, (double)got[2 * i + (size_t)k],
                            want[k]);
        }
        free(got);
        stack_free(&s);
    }
}

/* The shift is that of a least difference, of equals any; weights are the reference's at that shift. */
static void compare(clvox_context *ctx, const trial *t, bool joint)
{
    stack s;
    stack_make(ctx, t->size, t->atlases, t->search, 3, &s);
    const int n = s.voxels.count;
    const size_t count = (size_t)n * (size_t)t->atlases;
    float *got = malloc(count * sizeof *got);
    int *shifts = malloc(count * sizeof *shifts);
    clv_buffer *weights = harness_output(ctx, count * sizeof *got),
               *moves = harness_output(ctx, count * sizeof *shifts);
    assert_ok(clv_label_weights(ctx, &s.on, &s.voxels, joint, ridge, weights, moves));
    harness_download(ctx, weights, got, count * sizeof *got);
    harness_download(ctx, moves, shifts, count * sizeof *shifts);
    for (int i = 0; i < n; i++) {
        int here[REF_LABEL_MOST];
        double want[REF_LABEL_MOST], all = 0, reference = 0;
        for (int k = 0; k < t->atlases; k++) {
            here[k] = shifts[k * n + i];
            const double least = ref_label_least(&s.ref, s.list[i], k);
            assert_that(least < 0 ? here[k] == 0
                                  : ref_label_unlike(&s.ref, s.list[i], k, here[k]) <= least + 1e-5,
                        "atlas %d at %d: shift %d", k, i, here[k]);
        }
        ref_label_weights(&s.ref, s.list[i], here, joint, (double)ridge, want);
        for (int k = 0; k < t->atlases; k++) {
            const double w = (double)got[k * n + i];
            assert_that(w >= 0 && fabs(w - want[k]) <= 2e-4, "atlas %d at %d: %g, not %g", k, i, w, want[k]);
            all += w;
            reference += want[k];
        }
        /* 0 where no atlas has a label. */
        assert_that(fabs(all - (reference > 0)) <= 1e-5, "weights at %d sum to %g", i, all);
    }
    clv_buffer_destroy(&weights);
    clv_buffer_destroy(&moves);
    free(got);
    free(shifts);
    stack_free(&s);
}

static void weights_are_the_reference_s(void **state)
{
    const int joint = *(const int *)*state;
    const int count = harness_problems(harness_first() ? 3 : 1, sizeof trials / sizeof *trials);
    for (int t = 0; t < count; t++)
        compare(harness_context(), &trials[t], joint);
}

static void sum_weights(clvox_context *ctx, stack *s, int atlases, float *sums)
{
    const int n = s->voxels.count;
    float *got = malloc(sizeof *got * (size_t)(n * atlases));
    clv_buffer *weights = harness_output(ctx, sizeof *got * (size_t)(n * atlases)),
               *moves = harness_output(ctx, sizeof *got * (size_t)(n * atlases));
    s->on.atlases = atlases;
    assert_ok(clv_label_weights(ctx, &s->on, &s->voxels, true, ridge, weights, moves));
    harness_download(ctx, weights, got, sizeof *got * (size_t)(n * atlases));
    for (int i = 0; i < n; i++)
        sums[i] = got[i] + (atlases > 1 ? got[n + i] : 0);
    clv_buffer_destroy(&weights);
    clv_buffer_destroy(&moves);
    free(got);
}

/* A copy of an atlas shares its weight: both together have what it had alone beside a third one. */
static void copies_count_once(void **state)
{
    clvox_context *ctx = harness_context();
    const int size[3] = {3, 2, 2};
    (void)state;
    stack s;
    stack_make(ctx, size, 3, 0, 3, &s);
    const size_t voxels = (size_t)s.ref.size[0] * (size_t)s.ref.size[1] * (size_t)s.ref.size[2];
    float *both = malloc(sizeof *both * (size_t)s.voxels.count),
          *alone = malloc(sizeof *alone * (size_t)s.voxels.count);
    sum_weights(ctx, &s, 3, both);
    /* The third one in the copy's place. */
    clv_buffer_destroy(&s.on.images);
    memcpy(s.images + 2 * voxels, s.images + 3 * voxels, voxels * sizeof *s.images);
    s.on.images = harness_upload(ctx, s.images, clv_label_images_bytes(s.ref.size, 3));
    memcpy(s.labels + voxels, s.labels + 2 * voxels, voxels * sizeof *s.labels);
    clv_buffer_destroy(&s.on.labels);
    s.on.labels = harness_upload(ctx, s.labels, 3 * voxels * sizeof *s.labels);
    assert_ok(clv_label_moments(ctx, &s.on));
    const int n = s.voxels.count;
    float *got = malloc(sizeof *got * (size_t)(2 * n));
    clv_buffer *weights = harness_output(ctx, sizeof *got * (size_t)(2 * n)),
               *moves = harness_output(ctx, sizeof *got * (size_t)(2 * n));
    s.on.atlases = 2;
    assert_ok(clv_label_weights(ctx, &s.on, &s.voxels, true, ridge, weights, moves));
    harness_download(ctx, weights, got, sizeof *got * (size_t)(2 * n));
    for (int i = 0; i < n; i++) {
        alone[i] = got[i];
        assert_that(fabsf(both[i] - alone[i]) <= 1e-4f, "at %d: %g beside a copy, %g alone", i,
                    (double)both[i], (double)alone[i]);
    }
    clv_buffer_destroy(&weights);
    clv_buffer_destroy(&moves);
    free(got);
    free(both);
    free(alone);
    stack_free(&s);
}

static void parameters_out_of_range(void **state)
{
    clv_label_stack s = {.atlases = 65};
    (void)state;
    assert_int_equal(
        clv_label_weights(harness_context(), &s, &(clv_label_list){NULL, 1}, true, .1f, NULL, NULL),
        CLVOX_ERROR_ARGUMENT);
    s = (clv_label_stack){.atlases = 1, .search = 4};
    assert_int_equal(
        clv_label_weights(harness_context(), &s, &(clv_label_list){NULL, 1}, true, .1f, NULL, NULL),
        CLVOX_ERROR_ARGUMENT);
}

int main(void)
{
    harness_open();
    harness_cases(&clv_entry_label_moments, moments_of_patches, NULL, 0, "against the reference");
    harness_cases(&clv_entry_label_weights, weights_are_the_reference_s, TEST_AT(0), "alone");
    harness_cases(&clv_entry_label_weights, weights_are_the_reference_s, TEST_AT(1), "joint");
    harness_cases_first(&clv_entry_label_weights, copies_count_once, NULL, 0, "copies of an atlas");
    test_case(parameters_out_of_range, "parameters out of range are refused");
    return test_run("weights", harness_close);
}
