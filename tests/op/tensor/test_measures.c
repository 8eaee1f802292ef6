/* SPDX-License-Identifier: Apache-2.0 */
#include "op/harness.h"
#include "op/tensor/measures.h"
#include "ref/tensor/measures.h"

static const int diagonal[3] = {0, 3, 5};
static clvox_context *ctx;

/* Tensors of kinds that take turns: any symmetric, positive, of rank one, next
 * to isotropic, isotropic, zero, axes of very different length, whole numbers
 * with double roots, negative, and in one of mm^2/s. */
enum { KINDS = 10 };
static void make(float *d, int voxels)
{
    float r[12];
    for (int i = 0; i < voxels; i++) {
        float t[6];
        harness_random(r, 12, (unsigned)i + 5, -1, 1);
        int kind = i % KINDS;
        for (int c = 0; c < 6; c++) {
            int a = c < 3 ? 0 : c < 5 ? 1 : 2, b = c < 3 ? c : c < 5 ? c - 2 : 2;
            float eye = a == b;
            t[c] = kind == 0   ? r[c]
                   : kind == 2 ? r[a] * r[b]
                   : kind == 3 ? eye + 1e-5f * r[c]
                   : kind == 4 ? eye * 0.7f
                   : kind == 5 ? 0
                   : kind == 6 ? eye * powf(10, 4 * r[a]) + 0.01f * r[6 + c]
                   : kind == 7 ? rintf(1.4f * r[c])
                               : r[a] * r[b] + r[3 + a] * r[3 + b] + r[6 + a] * r[6 + b] + 0.05f * eye;
            t[c] *= kind == 8 ? -1 : kind == 9 ? 1e-3f : 1;
        }
        for (int c = 0; c < 6; c++)
            d[(size_t)c * (size_t)voxels + (size_t)i] = t[c];
    }
}

static double dot(const double a[3], const double b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/* The worst of a voxel, in units of what is allowed. got[plane]: all 20. */
static double judge(const double d[6], const float got[20], int *which)
{
    double want[11], worst = 0, scale = 0, spread = ref_tensor_spread(d);
    ref_tensor_measures(d, want);
    for (int c = 0; c < 6; c++)
        scale = fmax(scale, fabs(d[c]));
    for (int m = 0; m < 11; m++) {
        bool diffusivity = (m >= 1 && m <= 3) || m >= 8;
        double allowed = diffusivity ? 1e-6 * scale : m == 0 ? 1e-6 : 1e-6 * scale / fmax(want[8], 1e-30);
        if (m >= 5 && m <= 7)
            allowed *= 1 + fabs(want[m]);
        if (m == 4)
            allowed = spread < 1e-6 ? 2 : 2e-6 / spread;
        if (m >= 5 && m <= 7 && fabs(want[8]) < 1e-5 * scale)
            continue; /* a quotient of roundings */
        double error = fabs((double)got[m] - want[m]);
        if (!(error <= allowed * worst)) {
            worst = allowed > 0 ? error / allowed : error > 0 ? INFINITY : worst;
            *which = m;
        }
    }
    double v[3][3];
    for (int k = 0; k < 9; k++)
        v[k / 3][k % 3] = (double)got[11 + k];
    for (int k = 0; k < 3; k++) {
        const double *a = v[k], *b = v[(k + 1) % 3];
        double error = fmax(ref_tensor_residual(d, (double)got[8 + k], a), fabs(dot(a, a) - 1));
        double cross[3] = {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
        error = fmax(error, fmax(fabs(dot(a, b)), fabs(dot(cross, v[(k + 2) % 3]) - 1))) / 2e-6;
        double largest = fabs(a[0]) >= fabs(a[1]) ? a[0] : a[1];
        largest = fabs(largest) >= fabs(a[2]) ? largest : a[2];
        if (k < 2 && largest < 0)
            error = 1e9;
        if (!(error <= worst)) {
            worst = error;
            *which = 11 + k;
        }
    }
    return worst;
}

/* So many tensors in a row. */
static clv_image row(clv_buffer *tensor, int voxels)
{
    return (clv_image){tensor, {voxels, 1, 1}, {1, 1, 1}, 6};
}

/* All measures of voxels first to first + count - 1 against the reference. */
static void compare(int voxels, int first, int count, bool masked)
{
    float *d = malloc(6 * (size_t)voxels * sizeof *d), *mask = malloc((size_t)voxels * sizeof *mask);
    float *got = malloc(20 * (size_t)count * sizeof *got), all[20];
    make(d, voxels);
    harness_random(mask, (size_t)voxels, 3, -1, 1);
    clv_buffer *tensor = harness_upload(ctx, d, 6 * (size_t)voxels * sizeof *d), *inside = NULL;
    clv_buffer *out = harness_output(ctx, 20 * (size_t)count * sizeof *got);
    if (masked)
        inside = harness_upload(ctx, mask, (size_t)voxels * sizeof *mask);
    const clv_image image = row(tensor, voxels);
    assert_true(clv_tensor_measures(ctx, &image, inside, first, count, CLVOX_MEASURES_ALL, out) == 0);
    harness_download(ctx, out, got, 20 * (size_t)count * sizeof *got);
    for (int i = 0; i < count; i++) {
        double one[6];
        int which = -1;
        bool zeros = true;
        for (int p = 0; p < 20; p++) {
            all[p] = got[(size_t)p * (size_t)count + (size_t)i];
            zeros = zeros && all[p] == 0;
        }
        for (int c = 0; c < 6; c++)
            one[c] = (double)d[(size_t)c * (size_t)voxels + (size_t)(first + i)];
        if (masked && !(mask[first + i] > 0)) {
            assert_true(zeros);
            continue;
        }
        double worst = judge(one, all, &which);
        assert_that(worst <= 1, "%d voxels, number %d, kind %d: plane %d is off by %g of what is allowed",
                    count, i, (first + i) % KINDS, which, worst);
    }
    clv_buffer_destroy(&tensor);
    clv_buffer_destroy(&inside);
    clv_buffer_destroy(&out);
    free(d);
    free(mask);
    free(got);
}

/* Some planes only; what they hold is the same. */
static void some(void)
{
    enum { N = 37 };
    static const unsigned asked[] = {1u << CLVOX_MEASURE_FA,
                                     1u << CLVOX_MEASURE_MODE | 1u << CLVOX_MEASURE_V2,
                                     1u << CLVOX_MEASURE_V3 | 1u << CLVOX_MEASURE_MD};
    static const int planes[3][4] = {{0, -1, -1, -1}, {4, 14, 15, 16}, {1, 17, 18, 19}};
    float d[6 * N], full[20 * N], part[20 * N];
    make(d, N);
    clv_buffer *tensor = harness_upload(ctx, d, sizeof d), *out = harness_output(ctx, sizeof full);
    const clv_image image = row(tensor, N);
    assert_true(clv_tensor_measures(ctx, &image, NULL, 0, N, CLVOX_MEASURES_ALL, out) == 0);
    harness_download(ctx, out, full, sizeof full);
    for (int k = 0; k < 3; k++) {
        int count = clv_measure_planes(asked[k]);
        assert_true(count == (k ? 4 : 1));
        clv_buffer *few = harness_output(ctx, (size_t)count * N * sizeof(float));
        assert_true(clv_tensor_measures(ctx, &image, NULL, 0, N, asked[k], few) == 0);
        harness_download(ctx, few, part, (size_t)count * N * sizeof(float));
        for (int p = 0; p < count; p++)
            assert_memory_equal(part + p * N, full + planes[k][p] * N, N * sizeof(float));
        clv_buffer_destroy(&few);
    }
    clv_buffer_destroy(&tensor);
    clv_buffer_destroy(&out);
}

/* Tensors whose measures are known, and those that have none. */
static void special(void)
{
    enum { N = 19 };
    float d[6 * N] = {0}, got[20 * N];
    static const float axes[4][3] = {{3, 1, 1}, {2, 2, 1}, {1, 1, 1}, {1, 1, -1}};
    for (int i = 0; i < N; i++)
        for (int c = 0; c < 3; c++)
            d[diagonal[c] * N + i] = i < 4 ? 1e-3f * axes[i][c] : i == 4 ? 1e30f : i == 5 ? 1e-30f : 0;
    for (int c = 0; c < 6; c++)
        d[c * N + 10 + c] = c % 2 ? NAN : INFINITY;
    clv_buffer *tensor = harness_upload(ctx, d, sizeof d), *out = harness_output(ctx, sizeof got);
    const clv_image image = row(tensor, N);
    assert_true(clv_tensor_measures(ctx, &image, NULL, 0, N, CLVOX_MEASURES_ALL, out) == 0);
    harness_download(ctx, out, got, sizeof got);
    assert_true(fabsf(got[4 * N] - 1) < 1e-5f && fabsf(got[4 * N + 1] + 1) < 1e-5f && got[4 * N + 2] == 0);
    assert_true(got[0 * N + 2] == 0 && fabsf(got[7 * N + 2] - 1) < 1e-6f && got[11 * N + 2] == 1);
    assert_true(fabsf(got[5 * N] - 2.0f / 3) < 1e-6f && fabsf(got[6 * N + 1] - 0.5f) < 1e-6f);
    assert_true(got[0 * N + 3] > 1 && got[10 * N + 3] < 0); /* an indefinite one says so */
    assert_true(got[0 * N + 4] == 0 && fabsf(got[1 * N + 4] / 1e30f - 1) < 1e-6f);
    assert_true(got[0 * N + 5] == 0 && fabsf(got[1 * N + 5] / 1e-30f - 1) < 1e-6f);
    for (int p = 0; p < 20; p++) {
        assert_true(got[p * N + 7] == (p == 11 || p == 15 || p == 19)); /* zero: the axes */
        for (int c = 0; c < 6; c++)
            assert_true(isnan(got[p * N + 10 + c]));
    }
    clv_buffer_destroy(&tensor);
    clv_buffer_destroy(&out);
}

static void tensor_measures_measures(void **state)
{
    (void)state;
    bool tiny = getenv("CLVOX_TEST_TINY");
    compare(1, 0, 1, false);
    compare(9, 0, 9, true);
    compare(131, 17, 101, true);
    compare(tiny ? 263 : 8017, 3, tiny ? 257 : 8009, false);
    some();
    special();
}

int main(void)
{
    ctx = harness_open();
    harness_cases(&clv_entry_tensor_measures, tensor_measures_measures, NULL, 0, "measures");
    return test_run("measures", harness_close);
}
