/* SPDX-License-Identifier: Apache-2.0 */
/* The picture of a registration is true: sides, proportions, contours, colours. */
#include "check.h"

#include <unistd.h>

#include "clvox/files.h"
#include "clvox/figure.h"
#include "report/figure.h"

static clvox_volume *make(const int size[3], double sx, double sy, double sz)
{
    clvox_grid grid = {{size[0], size[1], size[2]}, {{sx}, {0, sy}, {0, 0, sz}, {0, 0, 0, 1}}};
    clvox_volume *volume = NULL;
    assert_that(clvox_volume_create(&grid, 1, CLVOX_KIND_SCALAR, &volume) == CLVOX_OK, "%s", clvox_message());
    return volume;
}

static void fill(clvox_volume *volume, float value)
{
    for (size_t i = 0; i < clvox_grid_voxels(&volume->grid); i++)
        volume->data[i] = value;
}

/* Sets the box [from, to) of voxels. */
static void box(clvox_volume *v, int x0, int x1, int y0, int y1, int z0, int z1, float value)
{
    for (int z = z0; z < z1; z++)
        for (int y = y0; y < y1; y++)
            for (int x = x0; x < x1; x++)
                v->data[((size_t)z * v->grid.size[1] + y) * v->grid.size[0] + x] = value;
}

static clv_raster draw(const clvox_volume *fixed, const clvox_volume *labels, const clvox_volume *jacobian,
                       const clvox_volume *mask)
{
    clv_raster raster;
    assert_that(clv_figure_registration(fixed, fixed, labels, jacobian, mask, &raster) == CLVOX_OK, "%s",
                clvox_message());
    return raster;
}

static bool is(const clv_raster *r, int x, int y, int red, int green, int blue)
{
    clv_color c = clv_raster_get(r, x, y);
    return c.r == red && c.g == green && c.b == blue;
}

/* Neither grey nor nearly so. */
static bool colourful(clv_color c)
{
    int high = c.r > c.g ? c.r : c.g, low = c.r < c.g ? c.r : c.g;
    high = c.b > high ? c.b : high;
    low = c.b < low ? c.b : low;
    return high - low > 60;
}

static void check_proportions(void **state)
{
    (void)state;
    clvox_volume *volume = make((const int[]){20, 30, 10}, 2, 1, 5);
    fill(volume, 7);
    clv_raster r = draw(volume, NULL, NULL, NULL);
    /* A constant image is shown whole, in the middle grey; the first panel is
     * axial and begins below the titles. */
    int left = r.width, right = -1, top = r.height, bottom = -1, y = 0;
    while (y < r.height && bottom < 0) {
        bool any = false;
        for (int x = 0; x < r.width / 4; x++)
            if (is(&r, x, y, 128, 128, 128)) {
                left = x < left ? x : left;
                right = x > right ? x : right;
                any = true;
            }
        if (any && top == r.height)
            top = y;
        if (!any && top < r.height)
            bottom = y - 1;
        y++;
    }
    double width = right - left + 1, height = bottom - top + 1;
    assert_that(fabs(width / height - 40.0 / 30) < 0.02, "%g x %g", width, height);
    clv_raster_free(&r);
    clvox_volume_destroy(&volume);
}

/* A dark head with a bright spot on the patient's left, in front, above. */
static clvox_volume *head(void)
{
    clvox_volume *v = make((const int[]){25, 29, 27}, 2, 2, 2);
    box(v, 3, 22, 3, 26, 3, 24, 50);
    box(v, 6, 10, 12, 17, 12, 15, 100);
    return v;
}

static void the_patients_left_is_on_the_right(void **state)
{
    (void)state;
    clvox_volume *volume = head();
    clv_raster r = draw(volume, NULL, NULL, NULL);
    /* The spot's x is small, so that it is on the left of the patient: the
     * brightest pixels of the axial panel lie right of its middle. */
    double sum = 0, bright = 0, all = 0, middle = 0;
    for (int y = 30; y < r.height / 3; y++)
        for (int x = 0; x < r.width / 4; x++) {
            clv_color c = clv_raster_get(&r, x, y);
            if (c.r == 255)
                sum += x, bright++;
            if (c.r > 60 && c.r < 140)
                middle += x, all++;
        }
    assert_that(bright > 20 && sum / bright > middle / all + 10, "%g of %g against %g", sum / bright, bright,
                middle / all);
    clv_raster_free(&r);
    clvox_volume_destroy(&volume);
}

static void the_same_head_in_any_order_of_its_axes(void **state)
{
    (void)state;
    clvox_volume *volume = head();
    clv_raster first = draw(volume, NULL, NULL, NULL);
    clvox_volume *turned = make((const int[]){27, 25, 29}, 1, 1, 1);
    /* Axes stored as S, L, A, as in a left-handed scan. */
    double to_ras[4][4] = {{0, -2, 0, 48}, {0, 0, 2, 0}, {2, 0, 0, 0}, {0, 0, 0, 1}};
    memcpy(turned->grid.to_ras, to_ras, sizeof to_ras);
    for (int z = 0; z < 27; z++)
        for (int y = 0; y < 29; y++)
            for (int x = 0; x < 25; x++)
                turned->data[(y * 25 + 24 - x) * 27 + z] = volume->data[(z * 29 + y) * 25 + x];
    clv_raster second = draw(turned, NULL, NULL, NULL);
    assert_true(first.width == second.width && first.height == second.height);
    int differ = 0;
    for (size_t i = 0; i < 3u * first.width * first.height && first.height == second.height; i++)
        differ += abs(first.rgb[i] - second.rgb[i]) > 2;
    assert_that(differ == 0, "%d", differ);
    /* As files they are the same, byte by byte: what is cut goes by the world. */
    char *png[2] = {NULL};
    size_t size[2] = {0};
    for (int i = 0; i < 2; i++) {
        const clvox_volume *v = i ? turned : volume;
        char path[] = "/tmp/clvox-figure-XXXXXX";
        close(mkstemp(path));
        assert_ok(clvox_figure_registration(v, v, NULL, NULL, NULL, path));
        assert_ok(clvox_file_read(path, 1 << 24, &png[i], &size[i]));
        unlink(path);
    }
    assert_true(size[0] == size[1] && size[0] > 100 && !memcmp(png[0], png[1], size[0]));
    free(png[0]);
    free(png[1]);
    assert_int_equal(clvox_figure_registration(turned, turned, NULL, NULL, NULL, "/no/such/folder/x.png"),
                     CLVOX_ERROR_FILE);
    clv_raster_free(&first);
    clv_raster_free(&second);
    clvox_volume_destroy(&turned);
    clvox_volume_destroy(&volume);
}

/* A figure needs only the planes of a log-Jacobian at which it cuts, in any storage. */
static void planes_are_enough(void **state)
{
    (void)state;
    clvox_volume *head = make((const int[]){25, 29, 27}, 2, 2, 2),
                 *turned = make((const int[]){27, 25, 29}, 1, 1, 1);
    double to_ras[4][4] = {{0, -2, 0, 48}, {0, 0, 2, 0}, {2, 0, 0, 0}, {0, 0, 0, 1}};
    memcpy(turned->grid.to_ras, to_ras, sizeof to_ras);
    for (int z = 0; z < 27; z++)
        for (int y = 0; y < 29; y++)
            for (int x = 0; x < 25; x++)
                turned->data[(y * 25 + 24 - x) * 27 + z] = head->data[(z * 29 + y) * 25 + x] =
                    x > 3 && x < 16 && y > 8 && y < 20 && z > 9 && z < 25 ? (float)(100 + x + 2 * y) : 0;
    int found[2][3];
    for (int i = 0; i < 2; i++) {
        const clvox_volume *v = i ? turned : head;
        const int *size = v->grid.size;
        int *at = found[i];
        assert_ok(clvox_figure_planes(v, NULL, at));
        clvox_volume *whole = make(size, 1, 1, 1), *part = make(size, 1, 1, 1);
        whole->grid = part->grid = v->grid;
        for (int k = 0; k < size[0] * size[1] * size[2]; k++) {
            const int x = k % size[0], y = k / size[0] % size[1], z = k / size[0] / size[1];
            whole->data[k] = (float)sin(k * .1);
            part->data[k] =
                abs(x - at[0]) < 2 || abs(y - at[1]) < 2 || abs(z - at[2]) < 2 ? whole->data[k] : 1e6f;
        }
        char *png[2] = {NULL};
        size_t length[2] = {0};
        for (int k = 0; k < 2; k++) {
            char path[] = "/tmp/clvox-figure-XXXXXX";
            close(mkstemp(path));
            assert_ok(clvox_figure_registration(v, v, NULL, k ? part : whole, NULL, path));
            assert_ok(clvox_file_read(path, 1 << 24, &png[k], &length[k]));
            unlink(path);
        }
        assert_true(length[0] == length[1] && !memcmp(png[0], png[1], length[0]));
        free(png[0]);
        free(png[1]);
        clvox_volume_destroy(&whole);
        clvox_volume_destroy(&part);
    }
    /* The same places: S, L and A are axes 0, 1 and 2 there. */
    assert_true(found[1][0] == found[0][2] && found[1][1] == 24 - found[0][0] && found[1][2] == found[0][1]);
    assert_true(abs(found[0][0] - 9) < 3 && abs(found[0][1] - 14) < 3 && abs(found[0][2] - 17) < 3);
    clvox_volume_destroy(&head);
    clvox_volume_destroy(&turned);
}

static void check_sides(void)
{
    test_case(planes_are_enough, "of a log-Jacobian three planes are enough, in any storage");
    test_case(the_patients_left_is_on_the_right, "the patient's left is on the right");
    test_case(the_same_head_in_any_order_of_its_axes,
              "the same head in any order of its axes is the same picture");
}

static void one_label_everywhere_has_no_contour(void **state)
{
    (void)state;
    clvox_volume *volume = head(), *labels = head();
    fill(labels, 0);
    clv_raster none = draw(volume, labels, NULL, NULL);
    int found = 0;
    for (int y = 0; y < none.height; y++)
        for (int x = 0; x < none.width; x++)
            found += colourful(clv_raster_get(&none, x, y));
    assert_that(found == 0, "%d", found);
    clv_raster_free(&none);
    clvox_volume_destroy(&labels);
    clvox_volume_destroy(&volume);
}

static void two_labels_have_two_colours_in_the_third(void **state)
{
    (void)state;
    clvox_volume *volume = head(), *labels = head();
    fill(labels, 0);
    box(labels, 5, 12, 5, 24, 5, 22, 3);
    box(labels, 12, 20, 5, 24, 5, 22, 4);
    clv_raster r = draw(volume, labels, NULL, NULL);
    clv_color three = clv_color_of_label(3), four = clv_color_of_label(4);
    int count[2] = {0, 0}, elsewhere = 0;
    for (int y = 0; y < r.height; y++)
        for (int x = 0; x < r.width; x++) {
            bool here = x >= r.width / 2 && x < r.width * 3 / 4;
            if (here) {
                count[0] += is(&r, x, y, three.r, three.g, three.b);
                count[1] += is(&r, x, y, four.r, four.g, four.b);
            } else {
                elsewhere += colourful(clv_raster_get(&r, x, y));
            }
        }
    assert_that(count[0] > 200 && count[1] > 200, "%d %d", count[0], count[1]);
    assert_that(elsewhere == 0, "%d", elsewhere);
    clv_raster_free(&r);
    clvox_volume_destroy(&labels);
    clvox_volume_destroy(&volume);
}

static void without_labels_the_edges_of_the_warped(void **state)
{
    (void)state;
    clvox_volume *volume = head();
    clv_raster r = draw(volume, NULL, NULL, NULL);
    int found = 0;
    for (int y = 0; y < r.height; y++)
        for (int x = 0; x < r.width; x++)
            found += colourful(clv_raster_get(&r, x, y));
    assert_that(found > 300, "%d", found);
    clv_raster_free(&r);
    clvox_volume_destroy(&volume);
}

static void check_contours(void)
{
    test_case(one_label_everywhere_has_no_contour, "one label everywhere has no contour");
    test_case(two_labels_have_two_colours_in_the_third,
              "two labels have two colours, in the third column only");
    test_case(without_labels_the_edges_of_the_warped,
              "without labels the edges of the warped image are drawn");
}

static clv_raster plain, coloured;

static int jacobian_set_up(void **state)
{
    (void)state;
    clvox_volume *volume = head(), *jacobian = head(), *mask = head();
    fill(mask, 0);
    box(mask, 5, 20, 5, 24, 5, 22, 1);
    box(jacobian, 0, 12, 0, 29, 0, 27, -0.25f);
    box(jacobian, 12, 25, 0, 29, 0, 27, 0.25f);
    plain = draw(volume, NULL, NULL, mask);
    coloured = draw(volume, NULL, jacobian, mask);
    clvox_volume_destroy(&mask);
    clvox_volume_destroy(&jacobian);
    clvox_volume_destroy(&volume);
    return 0;
}

static int jacobian_tear_down(void **state)
{
    (void)state;
    clv_raster_free(&plain);
    clv_raster_free(&coloured);
    return 0;
}

static void the_log_jacobian_adds_a_column_and_a_bar(void **state)
{
    (void)state;
    assert_true(coloured.width > plain.width + 190 && coloured.height == plain.height);
}

static void the_bar_is_red_above_blue_below_light(void **state)
{
    (void)state;
    int x = coloured.width - 74 + 8;
    clv_color top = clv_raster_get(&coloured, x, 40),
              low = clv_raster_get(&coloured, x, coloured.height - 50),
              middle = clv_raster_get(&coloured, x, (26 + coloured.height - 22 - 8) / 2);
    assert_that(top.r > top.b + 80, "%d %d %d", top.r, top.g, top.b);
    assert_that(low.b > low.r + 80, "%d %d %d", low.r, low.g, low.b);
    assert_that(middle.g > 200, "%d %d %d", middle.r, middle.g, middle.b);
}

static void growth_is_red_on_the_patients_right(void **state)
{
    (void)state;
    double red = 0, blue = 0, reds = 0, blues = 0;
    for (int y = 30; y < coloured.height / 3; y++)
        for (int i = coloured.width - 74 - 280; i < coloured.width - 78; i++) {
            clv_color c = clv_raster_get(&coloured, i, y);
            if (c.r > c.b + 60)
                red += i, reds++;
            if (c.b > c.r + 60)
                blue += i, blues++;
        }
    assert_that(reds > 1000 && blues > 1000 && red / reds < blue / blues, "%g %g", reds, blues);
    double fraction = (reds + blues) / (plain.width / 4.0 * (coloured.height / 3.0));
    assert_that(fraction < 0.75, "%g", fraction);
}

static void check_jacobian(void)
{
    test_set_up(jacobian_set_up);
    test_case(the_log_jacobian_adds_a_column_and_a_bar, "the log-Jacobian adds a column and a bar");
    test_case(the_bar_is_red_above_blue_below_light, "the bar is red above, blue below, light in the middle");
    test_case(growth_is_red_on_the_patients_right,
              "growth is red, on the patient's right, and only inside the mask");
    test_tear_down(jacobian_tear_down);
}

static const int sizes[][3] = {{1, 1, 1}, {40, 31, 1}, {1, 29, 17}, {257, 1, 1}, {2, 2, 2}};

static void x_x_with_a_nan(void **state)
{
    const int *given = *state;
    size_t i = (size_t)given[0];
    clvox_volume *volume = make(sizes[i], 1, 1.5, 3);
    for (size_t v = 0; v < clvox_grid_voxels(&volume->grid); v++)
        volume->data[v] = (float)(v % 7);
    volume->data[0] = NAN;
    clv_raster r = draw(volume, volume, volume, volume);
    assert_true(r.rgb && r.width > 100 && r.width < 4000 && r.height > 40 && r.height < 4000);
    clv_raster_free(&r);
    fill(volume, INFINITY);
    r = draw(volume, volume, volume, volume);
    assert_true(r.rgb);
    clv_raster_free(&r);
    clvox_volume_destroy(&volume);
}

static void a_grid_without_volume_is_refused(void **state)
{
    (void)state;
    clvox_volume *volume = make((const int[]){3, 3, 3}, 1, 1, 1);
    volume->grid.to_ras[2][2] = 0;
    clv_raster r;
    assert_int_equal(clv_figure_registration(volume, volume, NULL, NULL, NULL, &r), CLVOX_ERROR_DATA);
    assert_true(!r.rgb && *clvox_message());
    clvox_volume_destroy(&volume);
}

static void check_odd(void)
{
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        test_case_at(x_x_with_a_nan, TEST_AT((int)i), "%dx%dx%d with a NaN", sizes[i][0], sizes[i][1],
                     sizes[i][2]);
    test_case(a_grid_without_volume_is_refused, "a grid without volume is refused with a sentence");
}

int main(void)
{
    test_case(check_proportions, "proportions are millimetres");
    check_sides();
    check_contours();
    check_jacobian();
    check_odd();
    return test_run("figure", NULL);
}
