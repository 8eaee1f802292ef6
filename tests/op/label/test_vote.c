/* SPDX-License-Identifier: Apache-2.0 */
#include "op/label/vote.h"

#include "op/label/stack.h"
#include "ref/label/vote.h"

typedef struct trial {
    int size[3], atlases, search, reach, names;
} trial;

static const trial trials[] = {
    {{3, 2, 2}, 3, 0, 1, 3},
    {{3, 3, 1}, 4, 1, 1, 40}, /* more labels than are counted at a time */
    {{1, 1, 1}, 1, 0, 0, 2},
    /* The simulator leaves out the rest. */
    {{7, 1, 3}, 5, 1, 2, 3},
    {{5, 3, 2}, 17, 0, 0, 40},
    {{3, 5, 1}, 3, 2, 1, 60},
    {{2, 1, 2}, 2, 3, 0, 5},
};

/* No other label than the winner has more votes than the second. */
static void judge_second(int i, const double votes[REF_LABEL_NAMES], int winner, int label, float share)
{
    double all = 0, most = 0;
    for (int k = 0; k < REF_LABEL_NAMES; k++) {
        all += votes[k];
        most = k == winner ? most : fmax(most, votes[k]);
    }
    assert_that(label < 0 ? most <= 0 : label != winner && votes[label] >= most - 1e-4 * all,
                "at %d: second label %d", i, label);
    assert_that(label < 0 || fabs((double)share - votes[label] / all) <= 1e-4, "at %d: second share %g", i,
                (double)share);
}

/* The winner has the most votes, of clear ties the smallest label, and its share is that of the reference. */
static void judge(const char *what, int i, const double votes[REF_LABEL_NAMES], int label, float share)
{
    double all = 0, most = 0;
    int first = -1;
    for (int k = 0; k < REF_LABEL_NAMES; k++) {
        all += votes[k];
        most = fmax(most, votes[k]);
    }
    for (int k = 0; k < REF_LABEL_NAMES && first < 0; k++)
        if (votes[k] > 0 && votes[k] >= most - 1e-4 * all)
            first = k;
    assert_that(first < 0 ? label == -1 : label >= first && votes[label] >= most - 1e-4 * all,
                "%s at %d: label %d, not %d", what, i, label, first);
    assert_that(first < 0 || fabs((double)share - votes[label] / all) <= 1e-4, "%s at %d: share %g, not %g",
                what, i, (double)share, votes[label] / all);
}

static void compare(clvox_context *ctx, const trial *t, int how)
{
    stack s;
    stack_make(ctx, t->size, t->atlases, t->search, t->names, &s);
    const int n = s.voxels.count;
    const size_t count = (size_t)n * (size_t)t->atlases;
    float *weights = malloc(count * sizeof *weights), *share = malloc(2 * (size_t)n * sizeof *share);
    int *shifts = malloc(count * sizeof *shifts), *label = malloc(2 * (size_t)n * sizeof *label);
    clv_buffer *w = harness_output(ctx, count * sizeof *weights),
               *m = harness_output(ctx, count * sizeof *shifts),
               *out = harness_output(ctx, 2 * (size_t)n * sizeof *label),
               *shares = harness_output(ctx, 2 * (size_t)n * sizeof *share);
    const clv_label_voters voters = {
        .place = s.places, .weights = how ? w : NULL, .shifts = how ? m : NULL, .reach = t->reach};
    if (how == 1) {
        assert_ok(clv_label_weights(ctx, &s.on, &s.voxels, false, .1f, w, m));
        harness_download(ctx, w, weights, count * sizeof *weights);
        harness_download(ctx, m, shifts, count * sizeof *shifts);
    }
    if (how == 2)
        assert_ok(clv_label_vote_patches(ctx, &s.on, &s.voxels, 4, out, shares));
    else
        assert_ok(clv_label_vote(ctx, &s.on, &s.voxels, &voters, out, shares));
    harness_download(ctx, out, label, 2 * (size_t)n * sizeof *label);
    harness_download(ctx, shares, share, 2 * (size_t)n * sizeof *share);
    const ref_label_voters ref = {.list = s.list,
                                  .place = s.place,
                                  .weights = how ? weights : NULL,
                                  .shifts = shifts,
                                  .count = n,
                                  .reach = t->reach};
    for (int i = 0; i < n; i++) {
        double votes[REF_LABEL_NAMES];
        if (how == 2)
            ref_label_vote_patches(&s.ref, s.list[i], 4, votes);
        else
            ref_label_vote(&s.ref, &ref, s.list[i], votes);
        judge(how == 2 ? "patches" : how ? "weights" : "majority", i, votes, label[i], share[i]);
        judge_second(i, votes, label[i], label[n + i], share[n + i]);
    }
    clv_buffer_destroy(&w);
    clv_buffer_destroy(&m);
    clv_buffer_destroy(&out);
    clv_buffer_destroy(&shares);
    free(weights);
    free(share);
    free(shifts);
    free(label);
    stack_free(&s);
}

static void votes_are_the_reference_s(void **state)
{
    const int *how = *state;
    const int count = harness_problems(harness_first() ? 2 : 1, sizeof trials / sizeof *trials);
    for (int t = 0; t < count; t++)
        compare(harness_context(), &trials[t], how[0]);
}

/* Of equal votes the smaller label wins, whatever its atlas; copies count as often as they are there. */
static void ties_go_to_the_smaller_label(void **state)
{
    clvox_context *ctx = harness_context();
    const int size[3] = {1, 1, 1}, votes[3][4] = {{9, 4, 4, 9}, {30, 7, 8, 7}, {5, 3, 2, 1}},
              want[3] = {4, 7, 1}, next[3] = {9, 8, 2};
    (void)state;
    for (int t = 0; t < 3; t++) {
        stack s;
        int label[2];
        float share[2];
        stack_make(ctx, size, 4, 0, 3, &s);
        const size_t voxels = (size_t)s.ref.size[0] * (size_t)s.ref.size[1] * (size_t)s.ref.size[2];
        for (int k = 0; k < 4; k++)
            s.labels[(size_t)k * voxels + (size_t)s.list[0]] = votes[t][k];
        assert_ok(clv_buffer_write(ctx, s.on.labels, 0, s.labels, 4 * voxels * sizeof *s.labels));
        clv_buffer *out = harness_output(ctx, sizeof label), *shares = harness_output(ctx, sizeof share);
        assert_ok(clv_label_vote(ctx, &s.on, &s.voxels, &(clv_label_voters){.place = s.places}, out, shares));
        harness_download(ctx, out, label, sizeof label);
        harness_download(ctx, shares, share, sizeof share);
        assert_that(label[0] == want[t] && share[0] == (t == 2 ? .25f : .5f), "%d with %g, not %d", label[0],
                    (double)share[0], want[t]);
        assert_that(label[1] == next[t], "second %d, not %d", label[1], next[t]);
        clv_buffer_destroy(&out);
        clv_buffer_destroy(&shares);
        stack_free(&s);
    }
}

/* Four votes for the largest of 21 labels, which are more than are counted at a time. */
static void the_largest_of_many_labels_may_win(void **state)
{
    enum { ATLASES = 24 };
    clvox_context *ctx = harness_context();
    const int size[3] = {1, 1, 1};
    stack s;
    int label[2];
    float share[2];
    (void)state;
    stack_make(ctx, size, ATLASES, 0, 3, &s);
    const size_t voxels = (size_t)s.ref.size[0] * (size_t)s.ref.size[1] * (size_t)s.ref.size[2];
    for (int k = 0; k < ATLASES; k++)
        s.labels[(size_t)k * voxels + (size_t)s.list[0]] = k % 6 == 1 ? 50 : k;
    assert_ok(clv_buffer_write(ctx, s.on.labels, 0, s.labels, ATLASES * voxels * sizeof *s.labels));
    clv_buffer *out = harness_output(ctx, sizeof label), *shares = harness_output(ctx, sizeof share);
    assert_ok(clv_label_vote(ctx, &s.on, &s.voxels, &(clv_label_voters){.place = s.places}, out, shares));
    harness_download(ctx, out, label, sizeof label);
    harness_download(ctx, shares, share, sizeof share);
    assert_that(label[0] == 50 && fabsf(share[0] - 4.f / ATLASES) < 1e-6f, "%d with %g", label[0],
                (double)share[0]);
    assert_that(label[1] == 0 && fabsf(share[1] - 1.f / ATLASES) < 1e-6f, "second %d", label[1]);
    clv_buffer_destroy(&out);
    clv_buffer_destroy(&shares);
    stack_free(&s);
}

int main(void)
{
    harness_open();
    harness_cases(&clv_entry_label_vote, votes_are_the_reference_s, TEST_AT(0), "each counts as one");
    harness_cases(&clv_entry_label_vote, votes_are_the_reference_s, TEST_AT(1), "by weights");
    harness_cases(&clv_entry_label_vote_patches, votes_are_the_reference_s, TEST_AT(2), "by patches");
    harness_cases_first(&clv_entry_label_vote, ties_go_to_the_smaller_label, NULL, 0, "ties");
    harness_cases_first(&clv_entry_label_vote, the_largest_of_many_labels_may_win, NULL, 0, "many labels");
    return test_run("vote", harness_close);
}
