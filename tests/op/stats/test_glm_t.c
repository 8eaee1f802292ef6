/* SPDX-License-Identifier: Apache-2.0 */
#include "op/stats/glm_t.h"

#include "op/harness.h"
#include "ref/stats/glm_t.h"

static clvox_context *ctx;

/* One voxel, one block and one more, an odd volume, more than a group; few and many subjects, with nuisances. */
static const struct {
    int voxels, subjects, vectors, permutations;
    bool absolute;
} setups[] = {
    {1, 3, 1, 16, false},         {65, 5, 2, 3, true},         {64, 4, 1, 1, false},
    {13 * 7 * 5, 11, 3, 9, true}, {7 * 601, 23, 1, 16, false},
};

/* Fills vectors of unit length that no column of weights explains well. */
static void fill(float *data, double *weights, int subjects, int count, int columns)
{
    for (int i = 0; i < count; i++) {
        double length = 0;
        for (int s = 0; s < subjects; s++)
            length += (double)data[i * subjects + s] * (double)data[i * subjects + s];
        for (int s = 0; s < subjects; s++)
            data[i * subjects + s] /= (float)sqrt(length);
    }
    for (int i = 0; i < columns; i++) {
        double length = 0;
        for (int s = 0; s < subjects; s++)
            length += weights[i * subjects + s] * weights[i * subjects + s];
        for (int s = 0; s < subjects; s++)
            weights[i * subjects + s] *= .5 / sqrt(length);
    }
}

static void run(int at)
{
    const int voxels = setups[at].voxels, n = setups[at].subjects, vectors = setups[at].vectors;
    const int count = setups[at].permutations, columns = CLV_GLM_BATCH * vectors, first = 5, slot = 2;
    const double dof = n - vectors;
    const size_t floats = clv_glm_floats(n, voxels), each = (size_t)(n * columns);
    float *data = malloc((size_t)(voxels * n) * sizeof *data), *laid = calloc(floats, sizeof *laid);
    float *random = malloc(each * sizeof *random), *sent = malloc(2 * each * sizeof *sent);
    double *weights = malloc(each * sizeof *weights); /* column k * vectors + j */
    float *threshold = malloc((size_t)(first + voxels) * sizeof *threshold), *maps, *got;
    float *least = malloc((size_t)voxels * sizeof *least); /* every seventh voxel has no t */
    int32_t *counts = calloc((size_t)(first + voxels), sizeof *counts), largest[CLV_GLM_BATCH + 4];
    maps = malloc((size_t)(voxels * count) * sizeof *maps);
    got = malloc((size_t)(voxels * count) * sizeof *got);
    double *want = malloc((size_t)(voxels * count) * sizeof *want);
    harness_random(data, (size_t)(voxels * n), 1, -1, 1);
    harness_random(random, each, 2, -1, 1);
    for (size_t i = 0; i < each; i++)
        weights[i] = (double)random[i];
    fill(data, weights, n, voxels, columns);
    for (int v = 0; v < voxels; v++)
        for (int s = 0; s < n; s++)
            laid[(v / CLV_GLM_BLOCK * n + s) * CLV_GLM_BLOCK + v % CLV_GLM_BLOCK] = data[v * n + s];
    for (size_t i = 0; i < each; i++)
        sent[i] = NAN; /* another batch */
    for (int k = 0; k < CLV_GLM_BATCH; k++)
        for (int j = 0; j < vectors; j++)
            for (int s = 0; s < n; s++)
                sent[each + (size_t)((j * n + s) * CLV_GLM_BATCH + k)] =
                    (float)weights[(k * vectors + j) * n + s];
    for (int v = 0; v < voxels; v++)
        least[v] = v % 7 == 3 ? 2 : 0;
    for (int k = 0; k < count; k++)
        for (int v = 0; v < voxels; v++)
            want[k * voxels + v] =
                ref_glm_t(data + v * n, weights + k * vectors * n, n, vectors, dof, (double)least[v]);
    for (int v = 0; v < voxels; v++) /* no t may end just there */
        threshold[first + v] = .3f;
    clv_buffer *d = harness_upload(ctx, laid, floats * sizeof *laid),
               *w = harness_upload(ctx, sent, 2 * each * sizeof *sent);
    clv_buffer *m = harness_output(ctx, (size_t)(voxels * count) * sizeof *maps), *t, *c,
               *l = harness_output(ctx, sizeof largest);
    t = harness_upload(ctx, threshold, (size_t)(first + voxels) * sizeof *threshold);
    c = harness_upload(ctx, counts, (size_t)(first + voxels) * sizeof *counts);
    clv_buffer *none = harness_upload(ctx, least, (size_t)voxels * sizeof *least);
    assert_ok(clv_buffer_fill(ctx, l, 0, CLV_GLM_NONE, sizeof largest));
    const clv_glm model = {d, none, n, voxels, vectors, dof, setups[at].absolute};
    clv_glm_batch batch = {.weights = w,
                           .at = 1,
                           .permutations = count,
                           .largest = l,
                           .slot = slot,
                           .threshold = t,
                           .count = c,
                           .first = first,
                           .maps = m};
    assert_ok(clv_glm_t(ctx, &model, &batch));
    batch.maps = NULL; /* the counts go on */
    assert_ok(clv_glm_t(ctx, &model, &batch));
    harness_download(ctx, m, got, (size_t)(voxels * count) * sizeof *got);
    harness_download(ctx, c, counts, (size_t)(first + voxels) * sizeof *counts);
    harness_download(ctx, l, largest, sizeof largest);
    double error = harness_error(got, want, (size_t)(voxels * count), 4e-6, 4e-6);
    assert_that(error <= 1, "setup %d: t is off by %g", at, error);
    for (int k = 0; k < CLV_GLM_BATCH + 4; k++) {
        double most = -INFINITY;
        for (int v = 0; v < voxels && k >= slot && k < slot + count; v++) {
            double value = (double)got[(k - slot) * voxels + v];
            most = fmax(most, model.absolute ? fabs(value) : value);
        }
        if (k < slot || k >= slot + count)
            assert_true(largest[k] == INT32_MIN);
        else
            assert_that(clv_glm_largest(largest[k]) == (float)most,
                        "setup %d: the largest of %d is %g, not %g", at, k - slot,
                        (double)clv_glm_largest(largest[k]), most);
    }
    for (int v = -first; v < voxels; v++) {
        int reached = 0;
        for (int k = 0; k < count && v >= 0; k++)
            reached += (model.absolute ? fabsf(got[k * voxels + v]) : got[k * voxels + v]) >= .3f;
        assert_int_equal(counts[first + v], 2 * reached);
    }
    clv_buffer_destroy(&d);
    clv_buffer_destroy(&w);
    clv_buffer_destroy(&m);
    clv_buffer_destroy(&t);
    clv_buffer_destroy(&c);
    clv_buffer_destroy(&l);
    clv_buffer_destroy(&none);
    free(data);
    free(laid);
    free(random);
    free(sent);
    free(weights);
    free(threshold);
    free(least);
    free(counts);
    free(maps);
    free(got);
    free(want);
}

static void t_counts_and_maxima(void **state)
{
    (void)state;
    for (int at = 0; at < harness_problems(3, 5); at++)
        run(at);
}

/* Ever less beside the tested column and a nuisance, down to nothing: t is right as long as there is more
 * than rounding, and then 0, not large. The second permutation turns the signs of half the subjects. */
static void near_perfect_fit(void **state)
{
    enum { N = 37, VOXELS = 11, BLOCK = CLV_GLM_BLOCK, BATCH = CLV_GLM_BATCH };
    static const double step[VOXELS] = {.3, 1e-1, 1e-2, 3e-3, 1e-3, 1e-4, 1e-5, 3e-6, 0, 0, 1e-3};
    float random[3 * N], data[VOXELS * N], laid[N * BLOCK] = {0}, sent[2 * N * BATCH] = {0};
    float least[VOXELS], t[2 * VOXELS];
    double v[3][N], weights[2][2 * N];
    int32_t largest[2];
    (void)state;
    harness_random(random, 3 * N, 3, -1, 1);
    for (int j = 0; j < 3; j++) { /* orthonormal */
        for (int i = 0; i < N; i++)
            v[j][i] = (double)random[j * N + i];
        for (int k = 0; k <= j; k++) {
            double dot = 0;
            for (int i = 0; i < N; i++)
                dot += v[k][i] * v[j][i];
            for (int i = 0; i < N; i++)
                v[j][i] = k < j ? v[j][i] - dot * v[k][i] : v[j][i] / sqrt(dot);
        }
    }
    for (int k = 0; k < 2; k++)
        for (int j = 0; j < 2; j++)
            for (int s = 0; s < N; s++) {
                sent[(j * N + s) * BATCH + k] = (float)(k && s % 2 ? -v[j][s] : v[j][s]);
                weights[k][j * N + s] = (double)sent[(j * N + s) * BATCH + k];
            }
    for (int i = 0; i < VOXELS; i++) {
        least[i] = i == 10 ? 1e-4f : 1e-13f;
        for (int s = 0; s < N; s++) {
            const double fit = .8 * v[0][s] + .6 * v[1][s];
            data[i * N + s] = (float)(fit * sqrt(1 - step[i] * step[i]) + step[i] * v[2][s]);
            laid[s * BLOCK + i] = data[i * N + s];
        }
    }
    clv_buffer *d = harness_upload(ctx, laid, sizeof laid), *w = harness_upload(ctx, sent, sizeof sent);
    clv_buffer *m = harness_output(ctx, sizeof t), *l = harness_output(ctx, sizeof largest);
    clv_buffer *none = harness_upload(ctx, least, sizeof least);
    assert_ok(clv_buffer_fill(ctx, l, 0, CLV_GLM_NONE, sizeof largest));
    assert_ok(clv_glm_t(ctx, &(clv_glm){d, none, N, VOXELS, 2, N - 3, false},
                        &(clv_glm_batch){.weights = w, .permutations = 2, .largest = l, .maps = m}));
    harness_download(ctx, m, t, sizeof t);
    harness_download(ctx, l, largest, sizeof largest);
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < VOXELS; i++) {
            const double got = (double)t[k * VOXELS + i];
            const double want = ref_glm_t(data + i * N, weights[k], N, 2, N - 3, (double)least[i]);
            const double error = k ? 1e-5 : fmin(1e-5 + 1e-6 / (step[i] + 1e-9), .2); /* of float32's 1e-7 */
            assert_that(fabs(got - want) <= error * fabs(want) + 1e-5, "t is %g, not %g, of %d", got, want,
                        i);
            assert_true((k == 0 && i > 7) == (got == 0));
        }
    assert_true(clv_glm_largest(largest[0]) == t[7] && t[7] > 1e6f);
    clv_buffer_destroy(&d);
    clv_buffer_destroy(&w);
    clv_buffer_destroy(&m);
    clv_buffer_destroy(&l);
    clv_buffer_destroy(&none);
}

int main(void)
{
    ctx = harness_open();
    harness_cases(&clv_entry_glm_t, t_counts_and_maxima, NULL, 0, "t, maxima and counts of a batch");
    harness_cases_first(&clv_entry_glm_t, near_perfect_fit, NULL, 0,
                        "near a perfect fit t is right, and of one 0");
    return test_run("glm_t", harness_close);
}
