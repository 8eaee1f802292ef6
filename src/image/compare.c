/* SPDX-License-Identifier: Apache-2.0 */
#include "image/compare.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/matrix.h"
#include "base/select.h"
#include "base/status.h"
#include "clvox/compare.h"

static int same_grid(const clvox_volume *a, const clvox_volume *b, const clvox_volume *mask)
{
    if (!clvox_grid_equal(&a->grid, &b->grid))
        return clvox_fail(CLVOX_ERROR_ARGUMENT,
                          "the grids differ (%dx%dx%d and %dx%dx%d, or their orientations); bring one "
                          "onto the other with `clvox apply`",
                          a->grid.size[0], a->grid.size[1], a->grid.size[2], b->grid.size[0], b->grid.size[1],
                          b->grid.size[2]);
    if (a->frames != b->frames)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "the numbers of frames differ (%d and %d)", a->frames,
                          b->frames);
    if (mask && !clvox_grid_equal(&a->grid, &mask->grid))
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "the mask lies on another grid; bring it onto that of "
                                                "the images with `clvox apply`");
    return CLVOX_OK;
}

double clv_quantile(double *values, size_t n, double q)
{
    if (!n)
        return NAN;
    qsort(values, n, sizeof *values, clv_ascending);
    double at = q * (double)(n - 1);
    size_t low = (size_t)at, high = low + 1 < n ? low + 1 : low;
    return values[low] + (at - (double)low) * (values[high] - values[low]);
}

/* ---- local correlation -------------------------------------------------- */

/* Sums that the correlation of a cube needs. */
enum { SUM_N, SUM_A, SUM_B, SUM_AA, SUM_BB, SUM_AB, SUMS };

/* One frame of both images, and the means over all of them. */
typedef struct frame_pair {
    const float *a, *b;
    const int *size;
    const double *mean;
} frame_pair;

static size_t plane_of(const frame_pair *f)
{
    return (size_t)f->size[0] * (size_t)f->size[1];
}

/* Adds plane z (weight +1) or takes it away (-1); the means are subtracted
 * first, which keeps the running sums free of cancellation. */
static void add_plane(double *sums, const frame_pair *f, int z, double weight)
{
    const size_t plane = plane_of(f);
    const float *a = f->a + (size_t)z * plane, *b = f->b + (size_t)z * plane;
    for (size_t i = 0; i < plane; i++) {
        if (!isfinite(a[i]) || !isfinite(b[i]))
            continue;
        double p = (double)a[i] - f->mean[0], q = (double)b[i] - f->mean[1];
        double *s = sums + i * SUMS;
        s[SUM_N] += weight;
        s[SUM_A] += weight * p;
        s[SUM_B] += weight * q;
        s[SUM_AA] += weight * p * p;
        s[SUM_BB] += weight * q * q;
        s[SUM_AB] += weight * p * q;
    }
}

/* out[i] = sum of in[i - radius .. i + radius] along a line of that stride. */
static void box(const double *in, double *out, int n, size_t stride, int radius)
{
    for (int c = 0; c < SUMS; c++) {
        double sum = 0;
        for (int i = 0; i < radius && i < n; i++)
            sum += in[(size_t)i * stride + (size_t)c];
        for (int i = 0; i < n; i++) {
            if (i + radius < n)
                sum += in[(size_t)(i + radius) * stride + (size_t)c];
            if (i - radius - 1 >= 0)
                sum -= in[(size_t)(i - radius - 1) * stride + (size_t)c];
            out[(size_t)i * stride + (size_t)c] = sum;
        }
    }
}

/* Adds the squared correlations of frame `number` to *sum, their number to *count. */
static int local_correlation(const clv_comparison *c, int number, int radius, double *sum, size_t *count)
{
    const int *size = c->a->grid.size;
    const size_t skip = (size_t)number * clvox_grid_voxels(&c->a->grid);
    const frame_pair f = {c->a->data + skip, c->b->data + skip, size, c->mean};
    const float *a = f.a, *b = f.b, *mask = c->mask ? c->mask->data : NULL;
    const double n = (double)c->values, deviation[2] = {c->squares[0] / n, c->squares[1] / n};
    size_t nx = (size_t)size[0], plane = plane_of(&f);
    double *tall = calloc(plane * SUMS, sizeof *tall);
    double *rows = malloc(plane * SUMS * sizeof *rows);
    double *cubes = malloc(plane * SUMS * sizeof *cubes);
    int status = CLVOX_OK;
    if (!tall || !rows || !cubes) {
        status = clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory for the local correlation");
        goto end;
    }
    for (int z = 0; z < radius && z < size[2]; z++)
        add_plane(tall, &f, z, 1);
    for (int z = 0; z < size[2]; z++) {
        if (z + radius < size[2])
            add_plane(tall, &f, z + radius, 1);
        if (z - radius - 1 >= 0)
            add_plane(tall, &f, z - radius - 1, -1);
        for (int y = 0; y < size[1]; y++)
            box(tall + (size_t)y * nx * SUMS, rows + (size_t)y * nx * SUMS, size[0], SUMS, radius);
        for (size_t x = 0; x < nx; x++)
            box(rows + x * SUMS, cubes + x * SUMS, size[1], nx * SUMS, radius);
        for (size_t i = 0; i < plane; i++) {
            const double *s = cubes + i * SUMS;
            size_t at = (size_t)z * plane + i;
            if ((mask && !(mask[at] > 0)) || !isfinite(a[at]) || !isfinite(b[at]))
                continue;
            double aa = s[SUM_AA] / s[SUM_N] - s[SUM_A] / s[SUM_N] * (s[SUM_A] / s[SUM_N]);
            double bb = s[SUM_BB] / s[SUM_N] - s[SUM_B] / s[SUM_N] * (s[SUM_B] / s[SUM_N]);
            double ab = s[SUM_AB] / s[SUM_N] - s[SUM_A] / s[SUM_N] * (s[SUM_B] / s[SUM_N]);
            if (!(aa > 1e-12 * deviation[0]) || !(bb > 1e-12 * deviation[1]))
                continue;
            *sum += fmin(ab * ab / (aa * bb), 1);
            ++*count;
        }
    }
end:
    free(tall);
    free(rows);
    free(cubes);
    return status;
}

/* ---- images ------------------------------------------------------------- */

static double entropy(const double *counts, size_t n, double total)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        if (counts[i] > 0)
            sum -= counts[i] / total * log(counts[i] / total);
    return sum;
}

static bool counted(const clvox_volume *a, const clvox_volume *b, const clvox_volume *mask,
                    size_t voxels, size_t i)
{
    return isfinite(a->data[i]) && isfinite(b->data[i]) && (!mask || mask->data[i % voxels] > 0);
}

static size_t bin_of(float value, double low, double high, int bins)
{
    if (!(high > low))
        return 0;
    int bin = (int)((double)bins * ((double)value - low) / (high - low));
    return (size_t)(bin < bins ? bin : bins - 1);
}

int clv_compare_begin(const clvox_volume *a, const clvox_volume *b, const clvox_volume *mask,
                      clv_comparison *out)
{
    int status = CLVOX_OK;
    *out = (clv_comparison){.a = a, .b = b, .mask = mask, .low = {INFINITY, INFINITY},
                            .high = {-INFINITY, -INFINITY}};
    CLV_TRY(same_grid(a, b, mask));
    size_t voxels = clvox_grid_voxels(&a->grid), total = voxels * (size_t)a->frames;
    double sum[2] = {0};
    for (size_t i = 0; i < total; i++) {
        if (!counted(a, b, mask, voxels, i))
            continue;
        double v[2] = {(double)a->data[i], (double)b->data[i]};
        out->values++;
        out->ssd += (v[0] - v[1]) * (v[0] - v[1]);
        out->largest = fmax(out->largest, fabs(v[0] - v[1]));
        out->differing += v[0] != v[1];
        for (int s = 0; s < 2; s++) {
            sum[s] += v[s];
            out->low[s] = fmin(out->low[s], v[s]);
            out->high[s] = fmax(out->high[s], v[s]);
        }
    }
    if (!out->values)
        return clvox_fail(CLVOX_ERROR_DATA, "nothing to compare: %s",
                          mask ? "no voxel of the mask has a finite value in both images"
                               : "no voxel has a finite value in both images");
    for (int s = 0; s < 2; s++)
        out->mean[s] = sum[s] / (double)out->values;
    for (size_t i = 0; i < total; i++) {
        if (!counted(a, b, mask, voxels, i))
            continue;
        double p = (double)a->data[i] - out->mean[0], q = (double)b->data[i] - out->mean[1];
        out->squares[0] += p * p;
        out->squares[1] += q * q;
        out->products += p * q;
    }
end:
    return status;
}

int clv_compare_ssd(const clv_comparison *c, int parameter, double *value)
{
    (void)parameter;
    *value = c->ssd;
    return CLVOX_OK;
}

int clv_compare_ncc(const clv_comparison *c, int parameter, double *value)
{
    const double aa = c->squares[0], bb = c->squares[1];
    (void)parameter;
    *value = aa > 0 && bb > 0 ? c->products / sqrt(aa * bb) : NAN;
    return CLVOX_OK;
}

int clv_compare_lncc(const clv_comparison *c, int radius, double *value)
{
    int status = CLVOX_OK;
    size_t windows = 0;
    double sum = 0;
    if (radius < 1)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "the radius of a window is at least 1");
    for (int f = 0; f < c->a->frames; f++)
        CLV_TRY(local_correlation(c, f, radius, &sum, &windows));
    *value = windows ? sum / (double)windows : NAN;
end:
    return status;
}

/* Entropies of a, of b and of both together. */
static int entropies(const clv_comparison *c, int bins, double out[3])
{
    int status = CLVOX_OK;
    size_t width = (size_t)(bins > 0 ? bins : 1), voxels = clvox_grid_voxels(&c->a->grid);
    double *joint = calloc(width * width, sizeof *joint), *side = calloc(2 * width, sizeof *side);
    if (bins < 2 || bins > 1024) {
        status = clvox_fail(CLVOX_ERROR_ARGUMENT, "the bins of a histogram are between 2 and 1024");
        goto end;
    }
    if (!joint || !side) {
        status = clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory for the joint histogram");
        goto end;
    }
    for (size_t i = 0; i < voxels * (size_t)c->a->frames; i++) {
        if (!counted(c->a, c->b, c->mask, voxels, i))
            continue;
        size_t at = bin_of(c->a->data[i], c->low[0], c->high[0], bins);
        size_t bt = bin_of(c->b->data[i], c->low[1], c->high[1], bins);
        joint[at * width + bt]++;
        side[at]++;
        side[width + bt]++;
    }
    out[0] = entropy(side, width, (double)c->values);
    out[1] = entropy(side + width, width, (double)c->values);
    out[2] = entropy(joint, width * width, (double)c->values);
end:
    free(joint);
    free(side);
    return status;
}

int clv_compare_mi(const clv_comparison *c, int bins, double *value)
{
    double h[3] = {0};
    int status = entropies(c, bins, h);
    *value = fmax(h[0] + h[1] - h[2], 0);
    return status;
}

int clv_compare_nmi(const clv_comparison *c, int bins, double *value)
{
    double h[3] = {0};
    int status = entropies(c, bins, h);
    *value = h[2] > 0 ? (h[0] + h[1]) / h[2] : NAN;
    return status;
}

/* ---- warps -------------------------------------------------------------- */

int clvox_compare_warps(const clvox_volume *a, const clvox_volume *b, const clvox_volume *mask,
                        clvox_warp_comparison *out)
{
    CLV_GIVEN(a, b, out);
    int status = CLVOX_OK;
    double *errors = NULL;
    memset(out, 0, sizeof *out);
    CLV_TRY(same_grid(a, b, mask));
    if (a->frames != 3)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "a warp has 3 components, this has %d", a->frames);
    size_t n = clvox_grid_voxels(&a->grid);
    errors = malloc(2 * n * sizeof *errors);
    if (!errors)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory for the end-point errors");
    double to_voxel[4][4];
    CLV_TRY(clv_matrix_invert(a->grid.to_ras, to_voxel));
    double *mm = errors, *in_voxels = errors + n;
    for (size_t i = 0; i < n; i++) {
        if (mask && !(mask->data[i] > 0))
            continue;
        double d[3], length = 0, steps = 0;
        for (size_t c = 0; c < 3; c++) {
            d[c] = (double)a->data[c * n + i] - (double)b->data[c * n + i];
            length += d[c] * d[c];
        }
        if (!isfinite(length)) {
            out->not_finite++;
            continue;
        }
        for (int c = 0; c < 3; c++) {
            double v = to_voxel[c][0] * d[0] + to_voxel[c][1] * d[1] + to_voxel[c][2] * d[2];
            steps += v * v;
        }
        mm[out->voxels] = sqrt(length);
        in_voxels[out->voxels] = sqrt(steps);
        out->mean_mm += sqrt(length);
        out->mean_voxels += sqrt(steps);
        out->max_mm = fmax(out->max_mm, sqrt(length));
        out->max_voxels = fmax(out->max_voxels, sqrt(steps));
        out->voxels++;
    }
    if (!out->voxels) {
        status = clvox_fail(CLVOX_ERROR_DATA, "nothing to compare: %s",
                            mask ? "no voxel of the mask has a displacement in both warps"
                                 : "no voxel has a displacement in both warps");
        goto end;
    }
    out->mean_mm /= (double)out->voxels;
    out->mean_voxels /= (double)out->voxels;
    out->p95_mm = clv_quantile(mm, out->voxels, 0.95);
    out->p95_voxels = clv_quantile(in_voxels, out->voxels, 0.95);
end:
    free(errors);
    return status;
}
