/* SPDX-License-Identifier: Apache-2.0 */
/* Comparisons against known answers and against sums done the long way. */
#include "check.h"

#include "base/status.h"
#include "image/compare.h"
#include "phantom/phantom.h"

static clvox_volume *blank(int nx, int ny, int nz, double sx, double sy, double sz, int frames)
{
    clvox_grid grid;
    clvox_volume *v = NULL;
    clv_phantom_grid((int[3]){nx, ny, nz}, (double[3]){sx, sy, sz}, false, &grid);
    if (clvox_volume_create(&grid, frames, CLVOX_KIND_SCALAR, &v) < 0)
        exit(99);
    return v;
}

static unsigned state = 7;
static float noise(void)
{
    state = state * 1664525u + 1013904223u;
    return (float)(state >> 8) / 16777216.0f;
}

/* The mean squared correlation, cube by cube. */
static double long_way(const clvox_volume *a, const clvox_volume *b, const clvox_volume *mask, int radius)
{
    const int *n = a->grid.size;
    double total = 0, count = 0;
    for (int z = 0; z < n[2]; z++)
        for (int y = 0; y < n[1]; y++)
            for (int x = 0; x < n[0]; x++) {
                int here = x + n[0] * (y + n[1] * z);
                if (!isfinite(a->data[here]) || (mask && !(mask->data[here] > 0)))
                    continue;
                double s[6] = {0};
                for (int k = z - radius; k <= z + radius; k++)
                    for (int j = y - radius; j <= y + radius; j++)
                        for (int i = x - radius; i <= x + radius; i++) {
                            if (i < 0 || j < 0 || k < 0 || i >= n[0] || j >= n[1] || k >= n[2])
                                continue;
                            double p = (double)a->data[i + n[0] * (j + n[1] * k)] - 1000;
                            double q = (double)b->data[i + n[0] * (j + n[1] * k)] - 500;
                            if (!isfinite(p))
                                continue;
                            s[0]++, s[1] += p, s[2] += q, s[3] += p * p, s[4] += q * q, s[5] += p * q;
                        }
                double aa = s[3] - s[1] * s[1] / s[0], bb = s[4] - s[2] * s[2] / s[0];
                double ab = s[5] - s[1] * s[2] / s[0];
                total += ab * ab / (aa * bb);
                count++;
            }
    return total / count;
}

/* All metrics of two images. */
typedef struct comparison {
    size_t values, differing;
    double ssd, rms, ncc, lncc, mi, nmi, largest;
} comparison;

static int compare(const clvox_volume *a, const clvox_volume *b, const clvox_volume *mask, int radius, int bins,
                   comparison *out)
{
    int status = CLVOX_OK;
    clv_comparison c;
    CLV_TRY(clv_compare_begin(a, b, mask, &c));
    *out = (comparison){.values = c.values, .differing = c.differing, .largest = c.largest,
                        .rms = sqrt(c.ssd / (double)c.values)};
    CLV_TRY(clv_compare_ssd(&c, 0, &out->ssd));
    CLV_TRY(clv_compare_ncc(&c, 0, &out->ncc));
    CLV_TRY(clv_compare_lncc(&c, radius, &out->lncc));
    CLV_TRY(clv_compare_mi(&c, bins, &out->mi));
    CLV_TRY(clv_compare_nmi(&c, bins, &out->nmi));
end:
    return status;
}

static void images(void)
{
    comparison r;
    clvox_volume *a = blank(9, 7, 5, 1, 1, 2, 1), *b = blank(9, 7, 5, 1, 1, 2, 1);
    clvox_volume *mask = blank(9, 7, 5, 1, 1, 2, 1), *other = blank(9, 7, 4, 1, 1, 2, 1);
    size_t n = 9 * 7 * 5;
    CHECK_CASE("a linear change of intensity");
    for (size_t i = 0; i < n; i++) {
        a->data[i] = noise();
        b->data[i] = 3 - 2 * a->data[i];
        mask->data[i] = i % 3 == 0;
    }
    CHECK(compare(a, b, NULL, 2, 64, &r) == CLVOX_OK && r.values == n);
    CHECK_THAT(fabs(r.ncc + 1) < 1e-6 && fabs(r.lncc - 1) < 1e-6, "%g %g", r.ncc, r.lncc);
    CHECK(r.differing == n);

    CHECK_CASE("an image with itself");
    CHECK(compare(a, a, NULL, 4, 64, &r) == CLVOX_OK);
    CHECK(r.ssd == 0 && r.largest == 0 && r.differing == 0 && fabs(r.ncc - 1) < 1e-12);
    CHECK_THAT(fabs(r.nmi - 2) < 1e-12 && r.mi > 3, "%g %g", r.nmi, r.mi);

    CHECK_CASE("squares and the largest difference, inside of a mask and past NaN");
    for (size_t i = 0; i < n; i++)
        b->data[i] = a->data[i] + (i % 3 == 0 ? 0.5f : 100.0f);
    b->data[3] = NAN;
    a->data[6] = INFINITY;
    b->data[9] = a->data[9] - 2;
    CHECK(compare(a, b, mask, 2, 64, &r) == CLVOX_OK);
    CHECK_THAT(r.values == 103 && fabs(r.ssd - (102 * 0.25 + 4)) < 1e-4 && fabs(r.largest - 2) < 1e-6,
               "%zu %g %g", r.values, r.ssd, r.largest);

    CHECK_CASE("mutual information of two independent coins, and of one with itself");
    clvox_volume *c = blank(4, 1, 1, 1, 1, 1, 1), *d = blank(4, 1, 1, 1, 1, 1, 1);
    c->data[1] = c->data[3] = d->data[2] = d->data[3] = 1;
    CHECK(compare(c, d, NULL, 1, 2, &r) == CLVOX_OK);
    CHECK_THAT(fabs(r.mi) < 1e-12 && fabs(r.nmi - 1) < 1e-12, "%g %g", r.mi, r.nmi);
    CHECK(compare(c, c, NULL, 1, 2, &r) == CLVOX_OK);
    CHECK_THAT(fabs(r.mi - log(2)) < 1e-12, "%g", r.mi);

    CHECK_CASE("local correlation against the sum done cube by cube");
    for (size_t i = 0; i < n; i++) {
        a->data[i] = 1000 + noise();
        b->data[i] = 0.5f * a->data[i] + noise();
    }
    for (int radius = 1; radius < 6; radius += 2) {
        CHECK(compare(a, b, radius == 3 ? mask : NULL, radius, 8, &r) == CLVOX_OK);
        double want = long_way(a, b, radius == 3 ? mask : NULL, radius);
        CHECK_THAT(fabs(r.lncc - want) < 1e-9, "radius %d: %.12g for %.12g", radius, r.lncc, want);
    }

    CHECK_CASE("what cannot be compared is said");
    CHECK(compare(a, other, NULL, 2, 8, &r) == CLVOX_ERROR_ARGUMENT);
    CHECK(compare(a, b, other, 2, 8, &r) == CLVOX_ERROR_ARGUMENT);
    memset(mask->data, 0, n * sizeof(float));
    CHECK(compare(a, b, mask, 2, 8, &r) == CLVOX_ERROR_DATA);
    clvox_volume_destroy(&a);
    clvox_volume_destroy(&b);
    clvox_volume_destroy(&c);
    clvox_volume_destroy(&d);
    clvox_volume_destroy(&mask);
    clvox_volume_destroy(&other);
}

static void fill_box(clvox_volume *v, int label, int x0, int y0, int z0, int x1, int y1, int z1)
{
    for (int z = z0; z < z1; z++)
        for (int y = y0; y < y1; y++)
            for (int x = x0; x < x1; x++)
                v->data[x + v->grid.size[0] * (y + v->grid.size[1] * z)] = (float)label;
}

static void labels(void)
{
    clv_label_comparison *r = NULL;
    clvox_volume *a = blank(20, 16, 12, 1, 2, 3, 1), *b = blank(20, 16, 12, 1, 2, 3, 1);
    CHECK_CASE("a box and the same moved by two voxels of 3 mm");
    fill_box(a, 5, 2, 2, 2, 10, 10, 6);
    fill_box(b, 5, 2, 2, 4, 10, 10, 8);
    fill_box(a, 900000, 15, 0, 0, 20, 16, 12);
    fill_box(b, 900000, 15, 0, 0, 20, 16, 12);
    fill_box(b, -3, 0, 15, 11, 1, 16, 12);
    CHECK(clv_compare_labels(a, b, NULL, &r) == 3);
    if (r) {
        CHECK(r[0].label == -3 && r[0].dice == 0 && isnan(r[0].hausdorff95) && r[0].voxels_a == 0);
        CHECK_THAT(r[1].label == 5 && fabs(r[1].dice - 0.5) < 1e-12 && fabs(r[1].jaccard - 1.0 / 3) < 1e-12 &&
                       fabs(r[1].hausdorff95 - 6) < 1e-12,
                   "%d %g %g %g", r[1].label, r[1].dice, r[1].jaccard, r[1].hausdorff95);
        CHECK(r[2].label == 900000 && r[2].dice == 1 && r[2].hausdorff95 == 0);
    }
    free(r);

    CHECK_CASE("distances equal those found by trying every voxel");
    enum { N = 11 * 9 * 7 };
    static unsigned char marked[N];
    static double got[N];
    int size[3] = {11, 9, 7};
    double spacing[3] = {1.3, 0.7, 2.1}, worst = 0;
    for (int i = 0; i < N; i++)
        marked[i] = noise() < 0.02f;
    marked[5] = 1;
    CHECK(clv_distance_squared(marked, size, spacing, got) == CLVOX_OK);
    for (int i = 0; i < N; i++) {
        double best = 1e300;
        for (int j = 0; j < N; j++) {
            double x = (i % 11 - j % 11) * spacing[0], y = (i / 11 % 9 - j / 11 % 9) * spacing[1];
            double z = (i / 99 - j / 99) * spacing[2];
            if (marked[j])
                best = fmin(best, x * x + y * y + z * z);
        }
        worst = fmax(worst, fabs(best - got[i]));
    }
    CHECK_THAT(worst < 1e-9, "%g", worst);
    memset(marked, 0, sizeof marked);
    CHECK(clv_distance_squared(marked, size, spacing, got) == CLVOX_OK && got[0] >= 1e300);

    CHECK_CASE("no label at all is said");
    memset(a->data, 0, clvox_grid_voxels(&a->grid) * sizeof(float));
    CHECK(clv_compare_labels(a, a, NULL, &r) == CLVOX_ERROR_DATA && !r);

    CHECK_CASE("an image taken for a label map is said");
    clvox_volume *image = blank(25, 25, 25, 1, 1, 1, 1);
    for (int i = 0; i < 25 * 25 * 25; i++)
        image->data[i] = (float)(i - 7000);
    CHECK(clv_compare_labels(image, image, NULL, &r) == CLVOX_ERROR_DATA && !r);
    clvox_volume_destroy(&image);
    clvox_volume_destroy(&a);
    clvox_volume_destroy(&b);
}

static void warps(void)
{
    clv_warp_comparison r;
    clvox_volume *a = blank(6, 5, 4, 1, 2, 4, 3), *b = blank(6, 5, 4, 1, 2, 4, 3);
    size_t n = 6 * 5 * 4;
    CHECK_CASE("end-point error in millimetres and voxels");
    for (size_t i = 0; i < n; i++) {
        b->data[i] = 3;
        b->data[2 * n + i] = -4;
    }
    CHECK(clv_compare_warps(a, b, NULL, &r) == CLVOX_OK && r.voxels == n);
    CHECK(fabs(r.mean_mm - 5) < 1e-12 && fabs(r.max_mm - 5) < 1e-12 && fabs(r.p95_mm - 5) < 1e-12);
    CHECK(fabs(r.mean_voxels - sqrt(10)) < 1e-12);
    b->data[7] = NAN;
    b->data[n + 8] = 12;
    CHECK(clv_compare_warps(a, b, NULL, &r) == CLVOX_OK && r.not_finite == 1 && r.voxels == n - 1);
    CHECK(fabs(r.max_mm - 13) < 1e-12);

    CHECK_CASE("quantiles interpolate between order statistics");
    double v[] = {4, 1, 3, 2};
    CHECK(fabs(clv_quantile(v, 4, 0.5) - 2.5) < 1e-12 && fabs(clv_quantile(v, 4, 0.95) - 3.85) < 1e-12);
    CHECK(isnan(clv_quantile(v, 0, 0.5)));
    clvox_volume_destroy(&a);
    clvox_volume_destroy(&b);
}

int main(void)
{
    images();
    labels();
    warps();
    return check_end();
}
