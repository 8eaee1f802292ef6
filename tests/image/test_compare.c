/* SPDX-License-Identifier: Apache-2.0 */
/* Comparisons against known answers and against sums done the long way. */
#include "check.h"

#include "base/status.h"
#include "clvox/compare.h"
#include "image/compare.h"
#include "phantom/phantom.h"

static clvox_volume *blank(int nx, int ny, int nz, double sx, double sy, double sz, int frames)
{
    clvox_grid grid;
    clvox_volume *v = NULL;
    clvox_phantom_grid((int[3]){nx, ny, nz}, (double[3]){sx, sy, sz}, false, &grid);
    if (clvox_volume_create(&grid, frames, CLVOX_KIND_SCALAR, &v) < 0)
        exit(99);
    return v;
}

static float noise(unsigned *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (float)(*seed >> 8) / 16777216.0f;
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
    clvox_compare_options options;
    clvox_image_comparison c;
    clvox_compare_defaults(&options);
    options.parameter[CLVOX_METRIC_LNCC] = radius;
    options.parameter[CLVOX_METRIC_MI] = bins;
    int status = clvox_compare_images(a, b, mask, &options, &c);
    if (status < 0)
        return status;
    *out = (comparison){.values = c.values, .differing = c.differing, .largest = c.largest, .rms = c.rms,
                        .ssd = c.metric[CLVOX_METRIC_SSD], .ncc = c.metric[CLVOX_METRIC_NCC],
                        .lncc = c.metric[CLVOX_METRIC_LNCC], .mi = c.metric[CLVOX_METRIC_MI], .nmi = c.nmi};
    assert_true(isnan(c.metric[CLVOX_METRIC_MIND]) && isnan(c.metric[CLVOX_MAX_METRICS - 1]));
    return CLVOX_OK;
}

/* Noise, a linear change of it, and a mask of each third voxel. */
enum { VOXELS = 9 * 7 * 5 };
typedef struct scene {
    clvox_volume *a, *b, *mask;
} scene;

static scene make_scene(void)
{
    scene s = {blank(9, 7, 5, 1, 1, 2, 1), blank(9, 7, 5, 1, 1, 2, 1), blank(9, 7, 5, 1, 1, 2, 1)};
    unsigned seed = 7;
    for (int i = 0; i < VOXELS; i++) {
        s.a->data[i] = noise(&seed);
        s.b->data[i] = 3 - 2 * s.a->data[i];
        s.mask->data[i] = i % 3 == 0;
    }
    return s;
}

static void drop_scene(scene *s)
{
    clvox_volume_destroy(&s->a);
    clvox_volume_destroy(&s->b);
    clvox_volume_destroy(&s->mask);
}

static void a_linear_change_of_intensity(void **state)
{
    (void)state;
    scene s = make_scene();
    comparison r = {0};
    assert_true(compare(s.a, s.b, NULL, 2, 64, &r) == CLVOX_OK && r.values == VOXELS);
    assert_that(fabs(r.ncc + 1) < 1e-6 && fabs(r.lncc - 1) < 1e-6, "%g %g", r.ncc, r.lncc);
    assert_true(r.differing == VOXELS);
    drop_scene(&s);
}

static void an_image_with_itself(void **state)
{
    (void)state;
    scene s = make_scene();
    comparison r = {0};
    assert_int_equal(compare(s.a, s.a, NULL, 4, 64, &r), CLVOX_OK);
    assert_true(r.ssd == 0 && r.largest == 0 && r.differing == 0 && fabs(r.ncc - 1) < 1e-12);
    assert_that(fabs(r.nmi - 2) < 1e-12 && r.mi > 3, "%g %g", r.nmi, r.mi);
    drop_scene(&s);
}

static void squares_and_the_largest_difference_inside(void **state)
{
    (void)state;
    scene s = make_scene();
    comparison r = {0};
    for (int i = 0; i < VOXELS; i++)
        s.b->data[i] = s.a->data[i] + (i % 3 == 0 ? 0.5f : 100.0f);
    s.b->data[3] = NAN;
    s.a->data[6] = INFINITY;
    s.b->data[9] = s.a->data[9] - 2;
    assert_int_equal(compare(s.a, s.b, s.mask, 2, 64, &r), CLVOX_OK);
    assert_that(r.values == 103 && fabs(r.ssd - (102 * 0.25 + 4)) < 1e-4 && fabs(r.largest - 2) < 1e-6,
                "%zu %g %g", r.values, r.ssd, r.largest);
    drop_scene(&s);
}

static void mutual_information_of_two_independent_coins(void **state)
{
    (void)state;
    comparison r = {0};
    clvox_volume *c = blank(4, 1, 1, 1, 1, 1, 1), *d = blank(4, 1, 1, 1, 1, 1, 1);
    c->data[1] = c->data[3] = d->data[2] = d->data[3] = 1;
    assert_int_equal(compare(c, d, NULL, 1, 2, &r), CLVOX_OK);
    assert_that(fabs(r.mi) < 1e-12 && fabs(r.nmi - 1) < 1e-12, "%g %g", r.mi, r.nmi);
    assert_int_equal(compare(c, c, NULL, 1, 2, &r), CLVOX_OK);
    assert_that(fabs(r.mi - log(2)) < 1e-12, "%g", r.mi);
    clvox_volume_destroy(&c);
    clvox_volume_destroy(&d);
}

static void local_correlation_against_the_sum_done_cube(void **state)
{
    (void)state;
    scene s = make_scene();
    comparison r = {0};
    unsigned seed = 8;
    for (int i = 0; i < VOXELS; i++) {
        s.a->data[i] = 1000 + noise(&seed);
        s.b->data[i] = 0.5f * s.a->data[i] + noise(&seed);
    }
    for (int radius = 1; radius < 6; radius += 2) {
        const clvox_volume *mask = radius == 3 ? s.mask : NULL;
        assert_int_equal(compare(s.a, s.b, mask, radius, 8, &r), CLVOX_OK);
        double want = long_way(s.a, s.b, mask, radius);
        assert_that(fabs(r.lncc - want) < 1e-9, "radius %d: %.12g for %.12g", radius, r.lncc, want);
    }
    drop_scene(&s);
}

static void what_cannot_be_compared_is_said(void **state)
{
    (void)state;
    scene s = make_scene();
    comparison r = {0};
    clvox_volume *other = blank(9, 7, 4, 1, 1, 2, 1);
    assert_int_equal(compare(s.a, other, NULL, 2, 8, &r), CLVOX_ERROR_ARGUMENT);
    assert_int_equal(compare(s.a, s.b, other, 2, 8, &r), CLVOX_ERROR_ARGUMENT);
    memset(s.mask->data, 0, VOXELS * sizeof(float));
    assert_int_equal(compare(s.a, s.b, s.mask, 2, 8, &r), CLVOX_ERROR_DATA);
    clvox_volume_destroy(&other);
    drop_scene(&s);
}

static void images(void)
{
    test_case(a_linear_change_of_intensity, "a linear change of intensity");
    test_case(an_image_with_itself, "an image with itself");
    test_case(squares_and_the_largest_difference_inside,
              "squares and the largest difference, inside of a mask and past NaN");
    test_case(mutual_information_of_two_independent_coins,
              "mutual information of two independent coins, and of one with itself");
    test_case(local_correlation_against_the_sum_done_cube,
              "local correlation against the sum done cube by cube");
    test_case(what_cannot_be_compared_is_said, "images that cannot be compared are refused");
}

static void fill_box(clvox_volume *v, int label, int x0, int y0, int z0, int x1, int y1, int z1)
{
    for (int z = z0; z < z1; z++)
        for (int y = y0; y < y1; y++)
            for (int x = x0; x < x1; x++)
                v->data[x + v->grid.size[0] * (y + v->grid.size[1] * z)] = (float)label;
}

static void a_box_and_the_same_moved_by_two_voxels_of_3(void **state)
{
    (void)state;
    clvox_label_comparison *r = NULL;
    clvox_volume *a = blank(20, 16, 12, 1, 2, 3, 1);
    clvox_volume *b = blank(20, 16, 12, 1, 2, 3, 1);
    fill_box(a, 5, 2, 2, 2, 10, 10, 6);
    fill_box(b, 5, 2, 2, 4, 10, 10, 8);
    fill_box(a, 900000, 15, 0, 0, 20, 16, 12);
    fill_box(b, 900000, 15, 0, 0, 20, 16, 12);
    fill_box(b, -3, 0, 15, 11, 1, 16, 12);
    assert_true(clvox_compare_labels(a, b, NULL, &r) == 3);
    if (r) {
        assert_true(r[0].label == -3 && r[0].dice == 0 && isnan(r[0].hausdorff95) && r[0].voxels_a == 0);
        assert_that(r[1].label == 5 && fabs(r[1].dice - 0.5) < 1e-12 &&
                        fabs(r[1].jaccard - 1.0 / 3) < 1e-12 && fabs(r[1].hausdorff95 - 6) < 1e-12,
                    "%d %g %g %g", r[1].label, r[1].dice, r[1].jaccard, r[1].hausdorff95);
        assert_true(r[2].label == 900000 && r[2].dice == 1 && r[2].hausdorff95 == 0);
    }
    free(r);
    clvox_volume_destroy(&a);
    clvox_volume_destroy(&b);
}

static void distances_equal_those_found_by_trying_every(void **state)
{
    (void)state;
    enum { N = 11 * 9 * 7 };
    static unsigned char marked[N];
    static double got[N];
    int size[3] = {11, 9, 7};
    double spacing[3] = {1.3, 0.7, 2.1}, worst = 0;
    unsigned seed = 9;
    for (int i = 0; i < N; i++)
        marked[i] = noise(&seed) < 0.02f;
    marked[5] = 1;
    assert_int_equal(clv_distance_squared(marked, size, spacing, got), CLVOX_OK);
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
    assert_that(worst < 1e-9, "%g", worst);
    memset(marked, 0, sizeof marked);
    assert_true(clv_distance_squared(marked, size, spacing, got) == CLVOX_OK && got[0] >= 1e300);
}

static void the_share_of_the_target_that_is_covered(void **state)
{
    (void)state;
    clvox_label_comparison *r = NULL;
    clvox_volume *a = blank(9, 7, 5, 1, 2, 3, 1), *b = blank(9, 7, 5, 1, 2, 3, 1);
    fill_box(a, 1, 2, 1, 1, 5, 5, 3);
    fill_box(b, 1, 1, 1, 1, 4, 3, 3); /* 8 of 12 voxels are in both, of 24 in a */
    fill_box(a, 2, 8, 0, 0, 9, 1, 1);
    fill_box(b, 3, 8, 6, 4, 9, 7, 5);
    assert_true(clvox_compare_labels(a, b, NULL, &r) == 3);
    if (r)
        assert_that(fabs(r[0].target_overlap - 8. / 12) < 1e-12 && isnan(r[1].target_overlap) &&
                        r[2].target_overlap == 0,
                    "%g %g %g", r[0].target_overlap, r[1].target_overlap, r[2].target_overlap);
    clvox_label_comparison_destroy(&r);
    clvox_volume_destroy(&a);
    clvox_volume_destroy(&b);
}

static void no_label_at_all_is_said(void **state)
{
    (void)state;
    clvox_label_comparison *r;
    clvox_volume *empty = blank(20, 16, 12, 1, 2, 3, 1);
    assert_true(clvox_compare_labels(empty, empty, NULL, &r) == CLVOX_ERROR_DATA && !r);
    clvox_volume_destroy(&empty);
}

static void an_image_taken_for_a_label_map_is_said(void **state)
{
    (void)state;
    clvox_label_comparison *r;
    clvox_volume *image = blank(25, 25, 25, 1, 1, 1, 1);
    for (int i = 0; i < 25 * 25 * 25; i++)
        image->data[i] = (float)(i - 7000);
    assert_true(clvox_compare_labels(image, image, NULL, &r) == CLVOX_ERROR_DATA && !r);
    clvox_volume_destroy(&image);
}

static void labels(void)
{
    test_case(a_box_and_the_same_moved_by_two_voxels_of_3, "a box and the same moved by two voxels of 3 mm");
    test_case(distances_equal_those_found_by_trying_every,
              "distances equal those found by trying every voxel");
    test_case(the_share_of_the_target_that_is_covered, "the share of the target that is covered");
    test_case(no_label_at_all_is_said, "a map without a label is refused");
    test_case(an_image_taken_for_a_label_map_is_said, "an image that is treated as a label map is reported");
}

static void end_point_error_in_millimetres_and_voxels(void **state)
{
    (void)state;
    clvox_warp_comparison r;
    clvox_volume *a = blank(6, 5, 4, 1, 2, 4, 3), *b = blank(6, 5, 4, 1, 2, 4, 3);
    size_t n = 6 * 5 * 4;
    for (size_t i = 0; i < n; i++) {
        b->data[i] = 3;
        b->data[2 * n + i] = -4;
    }
    assert_true(clvox_compare_warps(a, b, NULL, &r) == CLVOX_OK && r.voxels == n);
    assert_true(fabs(r.mean_mm - 5) < 1e-12 && fabs(r.max_mm - 5) < 1e-12 && fabs(r.p95_mm - 5) < 1e-12);
    assert_true(fabs(r.mean_voxels - sqrt(10)) < 1e-12);
    b->data[7] = NAN;
    b->data[n + 8] = 12;
    assert_true(clvox_compare_warps(a, b, NULL, &r) == CLVOX_OK && r.not_finite == 1 &&
                r.voxels == n - 1);
    assert_true(fabs(r.max_mm - 13) < 1e-12);
    clvox_volume_destroy(&a);
    clvox_volume_destroy(&b);
}

static void quantiles_interpolate_between_order(void **state)
{
    (void)state;
    double v[] = {4, 1, 3, 2};
    assert_true(fabs(clv_quantile(v, 4, 0.5) - 2.5) < 1e-12 && fabs(clv_quantile(v, 4, 0.95) - 3.85) < 1e-12);
    assert_true(isnan(clv_quantile(v, 0, 0.5)));
}

static void warps(void)
{
    test_case(end_point_error_in_millimetres_and_voxels, "end-point error in millimetres and voxels");
    test_case(quantiles_interpolate_between_order, "quantiles interpolate between order statistics");
}

int main(void)
{
    images();
    labels();
    warps();
    return test_run("compare", NULL);
}
