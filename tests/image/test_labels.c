/* SPDX-License-Identifier: Apache-2.0 */
/* Voxels, volume and centroid of labels against known answers. */
#include <math.h>

#include "check.h"
#include "clvox/compare.h"
#include "clvox/volume.h"

/* 7 x 5 x 3 voxels of 2 x 0.5 x 3 mm, turned by 30 degrees about the third axis, the origin far off. */
static clvox_volume *oblique(clvox_type type)
{
    const double c = sqrt(.75), s = .5;
    const clvox_grid grid = {
        .size = {7, 5, 3},
        .to_ras = {{2 * c, -.5 * s, 0, -90}, {2 * s, .5 * c, 0, 126}, {0, 0, 3, -72}, {0, 0, 0, 1}}};
    clvox_volume *v = NULL;
    assert_int_equal(clvox_volume_create(&grid, 1, CLVOX_KIND_SCALAR, &v), CLVOX_OK);
    v->type = type;
    return v;
}

static void set(clvox_volume *v, int x, int y, int z, double label)
{
    v->data[x + 7 * (y + 5 * z)] = (float)label;
}

/* The centroid of a row is where the grid puts this index. */
static void lies_at(const clvox_volume *v, const clvox_label_measure *row, double x, double y, double z)
{
    const double(*m)[4] = v->grid.to_ras;
    for (int a = 0; a < 3; a++)
        assert_that(fabs(row->centroid[a] - (m[a][0] * x + m[a][1] * y + m[a][2] * z + m[a][3])) < 1e-9,
                    "axis %d: %.12g", a, row->centroid[a]);
}

static void rows_are_in_order_with_volume_and_centroid(void **state)
{
    (void)state;
    clvox_volume *v = oblique(CLVOX_TYPE_INT16);
    clvox_label_measure *row = NULL;
    set(v, 0, 0, 0, 5);
    set(v, 6, 4, 2, 5);
    set(v, 3, 1, 1, -2);
    set(v, 1, 0, 0, 4.999);
    set(v, 2, 0, 0, NAN);
    set(v, 3, 0, 0, INFINITY);
    assert_int_equal(clvox_labels_measure(v, &row), 2);
    assert_true(row[0].label == -2 && row[0].voxels == 1 && row[1].label == 5 && row[1].voxels == 3);
    assert_that(fabs(row[0].mm3 - 3) < 1e-9 && fabs(row[1].mm3 - 9) < 1e-9, "%g %g", row[0].mm3, row[1].mm3);
    lies_at(v, &row[0], 3, 1, 1);
    lies_at(v, &row[1], 7. / 3, 4. / 3, 2. / 3);
    clvox_label_measure_destroy(&row);
    assert_null(row);
    clvox_label_measure_destroy(NULL);
    clvox_volume_destroy(&v);
}

/* A volume whose values stand for names, as clvox_labels_read makes it. */
static void labels_beyond_float_are_exact(void **state)
{
    (void)state;
    clvox_volume *v = oblique(CLVOX_TYPE_INT64);
    clvox_label_measure *row = NULL;
    const int64_t names[] = {0, (1 << 24) + 1, INT64_C(3000000001)};
    v->names = malloc(sizeof names);
    assert_non_null(v->names);
    memcpy(v->names, names, sizeof names);
    v->name_count = 3;
    set(v, 1, 2, 0, 2);
    set(v, 2, 2, 0, 1);
    set(v, 3, 2, 0, 2);
    assert_int_equal(clvox_labels_measure(v, &row), 2);
    assert_true(row[0].label == (1 << 24) + 1 && row[1].label == INT64_C(3000000001) && row[1].voxels == 2);
    lies_at(v, &row[1], 2, 2, 0);
    clvox_label_measure_destroy(&row);
    free(v->names);
    v->names = NULL;
    set(v, 1, 2, 0, 0x1p25);
    assert_int_equal(clvox_labels_measure(v, &row), CLVOX_ERROR_DATA);
    v->type = CLVOX_TYPE_FLOAT32; /* which holds what is in the file */
    assert_int_equal(clvox_labels_measure(v, &row), 3);
    assert_true(row[2].label == 1 << 25);
    clvox_label_measure_destroy(&row);
    clvox_volume_destroy(&v);
}

static void what_is_no_label_map_is_refused(void **state)
{
    (void)state;
    clvox_volume *v = oblique(CLVOX_TYPE_FLOAT32), *series = NULL, *one = NULL;
    clvox_label_measure *row = NULL;
    assert_int_equal(clvox_labels_measure(v, &row), 0);
    clvox_label_measure_destroy(&row);
    set(v, 0, 0, 0, .5);
    assert_int_equal(clvox_labels_measure(v, &row), CLVOX_ERROR_DATA);
    assert_null(row);
    assert_int_equal(clvox_labels_measure(NULL, &row), CLVOX_ERROR_ARGUMENT);
    assert_int_equal(clvox_volume_create(&v->grid, 4, CLVOX_KIND_SCALAR, &series), CLVOX_OK);
    assert_int_equal(clvox_labels_measure(series, &row), CLVOX_ERROR_ARGUMENT);
    series->data[3 * 105 + 9] = 8;
    series->data[2 * 105 + 9] = 7;
    assert_int_equal(clvox_volume_frame(series, 2, &one), CLVOX_OK);
    assert_int_equal(clvox_labels_measure(one, &row), 1);
    assert_true(row->label == 7 && row->voxels == 1);
    clvox_label_measure_destroy(&row);
    clvox_volume_destroy(&one);
    assert_int_equal(clvox_volume_frame(series, 4, &one), CLVOX_ERROR_ARGUMENT);
    assert_int_equal(clvox_volume_frame(series, -1, &one), CLVOX_ERROR_ARGUMENT);
    series->kind = CLVOX_KIND_TENSOR;
    assert_int_equal(clvox_volume_frame(series, 0, &one), CLVOX_ERROR_ARGUMENT);
    assert_null(one);
    clvox_volume_destroy(&series);
    clvox_volume_destroy(&v);
}

/* Random labels on a sheared grid against sums over the voxels of each. */
static void many_labels_agree_with_sums(void **state)
{
    (void)state;
    clvox_volume *v = oblique(CLVOX_TYPE_UINT16);
    clvox_label_measure *row = NULL;
    unsigned seed = 5;
    v->grid.to_ras[0][2] = .7;
    for (int i = 0; i < 105; i++)
        v->data[i] = (float)((seed = seed * 1664525u + 1013904223u) >> 27);
    const int rows = clvox_labels_measure(v, &row);
    size_t all = 0;
    assert_true(rows > 20);
    for (int k = 0; k < rows; k++) {
        double sum[3] = {0}, count = 0;
        for (int i = 0; i < 105; i++)
            if (v->data[i] == (float)row[k].label)
                count++, sum[0] += i % 7, sum[1] += i / 7 % 5, sum[2] += i / 35;
        assert_true(row[k].voxels == (size_t)count && (!k || row[k].label > row[k - 1].label));
        assert_that(fabs(row[k].mm3 - 3 * count) < 1e-9, "%g", row[k].mm3);
        lies_at(v, &row[k], sum[0] / count, sum[1] / count, sum[2] / count);
        all += row[k].voxels;
    }
    assert_true(all <= 105 && all > 90);
    clvox_label_measure_destroy(&row);
    clvox_volume_destroy(&v);
}

int main(void)
{
    test_case(rows_are_in_order_with_volume_and_centroid, "rows are in order, with volume and centroid");
    test_case(labels_beyond_float_are_exact, "labels beyond 2^24 are exact, or refused");
    test_case(what_is_no_label_map_is_refused, "what is no label map is refused; a frame of a series is one");
    test_case(many_labels_agree_with_sums, "many labels on a sheared grid agree with sums");
    return test_run("labels", NULL);
}
