/* SPDX-License-Identifier: Apache-2.0 */
/* Pages: what their pictures show, what is refused, and how large they become. The script that makes them
 * live is tested in a browser (tests/cli/report_pages.py). */
#include "check.h"

#include <cjson/cJSON.h>
#include <png.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clvox/files.h"
#include "clvox/command/page.h"
#include "clvox/report.h"

static char path[128];

static clvox_volume *make(const int size[3], const double edge[3], int frames)
{
    clvox_grid grid = {{size[0], size[1], size[2]}, {{edge[0]}, {0, edge[1]}, {0, 0, edge[2]}, {0, 0, 0, 1}}};
    clvox_volume *volume = NULL;
    assert_that(clvox_volume_create(&grid, frames, CLVOX_KIND_SCALAR, &volume) == CLVOX_OK, "%s",
                clvox_message());
    return volume;
}

/* 100 and so much along an axis; bright corners, so that the frame round the head holds everything. */
static void slope(clvox_volume *v, const double along[3])
{
    const int *n = v->grid.size;
    for (int z = 0, i = 0; z < n[2]; z++)
        for (int y = 0; y < n[1]; y++)
            for (int x = 0; x < n[0]; x++, i++)
                v->data[i] = (float)(100 + along[0] * x + along[1] * y + along[2] * z);
    for (int c = 0; c < 8; c++)
        v->data[((size_t)(c & 4 ? n[2] - 1 : 0) * n[1] + (c & 2 ? n[1] - 1 : 0)) * n[0] +
                (c & 1 ? n[0] - 1 : 0)] = 200;
}

static clvox_report *begin(void)
{
    clvox_report *report = NULL;
    assert_that(clvox_report_create("a page", &report) == CLVOX_OK, "%s", clvox_message());
    return report;
}

/* Writes it and gives the file's text, the caller's. */
static char *written(clvox_report **report)
{
    char *text = NULL;
    assert_that(clvox_report_write(*report, path) == CLVOX_OK, "%s", clvox_message());
    clvox_report_destroy(report);
    assert_that(clvox_file_read(path, 1 << 24, &text, NULL) == CLVOX_OK, "%s", clvox_message());
    return text;
}

static char *page_of(const clvox_report_layer *layers, int count, const clvox_volume *mask)
{
    clvox_report *report = begin();
    clvox_report_images(report, layers, count, mask);
    return written(&report);
}

/* The data that the first set of images has for its script. */
static cJSON *data_of(const char *page)
{
    const char *at = strstr(page, "application/json\">");
    assert_non_null(at);
    at += strlen("application/json\">");
    cJSON *data = cJSON_ParseWithLength(at, (size_t)(strstr(at, "</script>") - at));
    assert_non_null(data);
    return data;
}

static size_t decode(const char *text, uint8_t *out)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    size_t count = 0;
    unsigned bits = 0, have = 0;
    for (; *text && *text != '='; text++) {
        bits = bits << 6 | (unsigned)(strchr(letters, *text) - letters);
        if ((have += 6) >= 8)
            out[count++] = (uint8_t)(bits >> (have -= 8));
    }
    return count;
}

static int number_in(const cJSON *data, const char *name, int at)
{
    return cJSON_GetArrayItem(cJSON_GetObjectItem(data, name), at)->valueint;
}

/* A layer as red, green and blue of its voxels, R, A and S upwards; the caller's. */
static uint8_t *voxels_of(const cJSON *data, int layer, int size[3])
{
    const cJSON *one = cJSON_GetArrayItem(cJSON_GetObjectItem(data, "layers"), layer);
    const char *text = cJSON_GetObjectItem(one, "sheet")->valuestring;
    const int columns = cJSON_GetObjectItem(one, "columns")->valueint;
    uint8_t *bytes = malloc(strlen(text)), *pixels, *out;
    size_t count = decode(text, bytes), to = 0;
    png_image image;
    memset(&image, 0, sizeof image);
    image.version = PNG_IMAGE_VERSION;
    assert_true(png_image_begin_read_from_memory(&image, bytes, count));
    image.format = PNG_FORMAT_RGB;
    pixels = malloc(PNG_IMAGE_SIZE(image));
    assert_true(png_image_finish_read(&image, NULL, pixels, 0, NULL));
    for (int w = 0; w < 3; w++)
        size[w] = number_in(one, "size", w);
    assert_true((int)image.width == size[0] * columns &&
                (int)image.height == size[1] * ((size[2] + columns - 1) / columns));
    out = malloc(3 * (size_t)size[0] * size[1] * size[2]);
    for (int z = 0; z < size[2]; z++)
        for (int y = 0; y < size[1]; y++)
            for (int x = 0; x < 3 * size[0]; x++)
                out[to++] = pixels[3 * ((size_t)(z / columns * size[1] + y) * image.width +
                                        (size_t)(z % columns * size[0])) +
                                   x];
    free(pixels);
    free(bytes);
    return out;
}

/* What a signed, outlined or grey layer has at a voxel. */
static int value_at(const uint8_t *voxels, const int size[3], int x, int y, int z)
{
    return voxels[3 * (((size_t)z * size[1] + y) * size[0] + x)];
}

static void slices_follow_the_axes_of_the_patient(void **state)
{
    (void)state;
    clvox_volume *v = make((const int[]){23, 29, 11}, (const double[]){2, 1.5, 4}, 1);
    int size[3];
    for (int w = 0; w < 3; w++) {
        double along[3] = {0};
        along[w] = 1;
        slope(v, along);
        char *page = page_of(&(clvox_report_layer){"one", v, CLVOX_REPORT_GREY, 0}, 1, NULL);
        cJSON *data = data_of(page);
        uint8_t *voxels = voxels_of(data, 0, size);
        /* All voxels are there, at their millimetres, and go up with the world. */
        assert_that(size[0] == 23 && size[1] == 29 && size[2] == 11, "%d %d %d", size[0], size[1], size[2]);
        assert_that(number_in(data, "first", w) == 0 && number_in(data, "edge", 0) == 2 &&
                        number_in(data, "step", 2) == 4,
                    "axis %d: from %d mm", w, number_in(data, "first", w));
        int before = -1, first = -1;
        for (int k = 0; k < size[w]; k++) {
            int at[3] = {10, 10, 5};
            at[w] = k;
            const int here = value_at(voxels, size, at[0], at[1], at[2]);
            assert_that(here >= before, "voxel %d along axis %d: %d after %d", k, w, here, before);
            before = here;
            first = k ? first : here;
        }
        assert_that(before >= first + 4, "axis %d: %d to %d", w, first, before);
        free(voxels);
        cJSON_Delete(data);
        free(page);
    }
    clvox_volume_destroy(&v);
}

static void storage_does_not_matter(void **state)
{
    (void)state;
    clvox_volume *v = make((const int[]){13, 17, 9}, (const double[]){2, 1, 3}, 1), *turned = NULL;
    slope(v, (const double[]){1, 2, -1});
    v->data[500] = NAN;
    clvox_grid grid = {{17, 13, 9},
                       {{0, -2, 0, 24}, {-1, 0, 0, 16}, {0, 0, 3, 0}, {0, 0, 0, 1}}}; /* P, L, S */
    assert_that(clvox_volume_create(&grid, 1, CLVOX_KIND_SCALAR, &turned) == CLVOX_OK, "%s", clvox_message());
    for (int z = 0; z < 9; z++)
        for (int y = 0; y < 17; y++)
            for (int x = 0; x < 13; x++)
                turned->data[(z * 13 + 12 - x) * 17 + 16 - y] = v->data[(z * 17 + y) * 13 + x];
    char *a = page_of(&(clvox_report_layer){"one", v, CLVOX_REPORT_GREY, 0}, 1, NULL);
    char *b = page_of(&(clvox_report_layer){"one", turned, CLVOX_REPORT_GREY, 0}, 1, NULL);
    assert_string_equal(a, b);
    free(a);
    free(b);
    clvox_volume_destroy(&v);
    clvox_volume_destroy(&turned);
}

static void overlays_are_clear_where_there_is_nothing(void **state)
{
    (void)state;
    clvox_volume *v = make((const int[]){40, 40, 20}, (const double[]){2, 2, 2}, 1),
                 *labels = make((const int[]){40, 40, 20}, (const double[]){2, 2, 2}, 1),
                 *change = make((const int[]){20, 20, 10}, (const double[]){4, 4, 4}, 1),
                 *mask = make((const int[]){40, 40, 20}, (const double[]){2, 2, 2}, 1);
    slope(v, (const double[]){1, 0, 0});
    for (int i = 0; i < 40 * 40 * 20; i++) {
        const int x = i % 40, y = i / 40 % 40;
        labels->data[i] = x >= 10 && x < 30 && y >= 10 && y < 30 ? 2035 : 0;
        mask->data[i] = x < 20;
    }
    for (int i = 0; i < 20 * 20 * 10; i++)
        change->data[i] = i / 20 % 20 < 10 ? -0.25f : 0.25f;
    const clvox_report_layer layers[] = {{"one", v, CLVOX_REPORT_GREY, 0},
                                         {"labels", labels, CLVOX_REPORT_OUTLINES, 0},
                                         {"change", change, CLVOX_REPORT_SIGNED, 1}};
    char *page = page_of(layers, 3, mask);
    cJSON *data = data_of(page);
    int size[3];
    uint8_t *outlines = voxels_of(data, 1, size), *colors = voxels_of(data, 2, size);
    assert_true(size[0] == 40 && size[1] == 40 && size[2] == 20);
    size_t wrong = 0;
    for (int i = 0; i < 40 * 40 * 20; i++)
        wrong += (outlines[3 * i] != 0) != (labels->data[i] != 0);
    assert_int_equal(wrong, 0);
    const cJSON *all =
        cJSON_GetObjectItem(cJSON_GetArrayItem(cJSON_GetObjectItem(data, "layers"), 1), "labels");
    assert_int_equal(cJSON_GetArraySize(all), 1);
    assert_string_equal(cJSON_GetArrayItem(all->child, 0)->valuestring, "2035");
    free(outlines);
    /* 32 is the colour of 0: 0.25 of 0.3 is 26 steps beside it. */
    for (int y = 0; y < 40; y += 39)
        for (int x = 0; x < 40; x++) {
            const int here = value_at(colors, size, x, y, 10);
            assert_that(here == (x >= 20 ? 0 : y ? 58 : 6), "%d at %d, %d", here, x, y);
        }
    free(colors);
    const cJSON *last = cJSON_GetArrayItem(cJSON_GetObjectItem(data, "layers"), 2);
    assert_true(cJSON_GetObjectItem(last, "range")->valuedouble == 0.3 &&
                cJSON_IsTrue(cJSON_GetObjectItem(last, "hidden")));
    cJSON_Delete(data);
    free(page);
    clvox_volume_destroy(&v);
    clvox_volume_destroy(&labels);
    clvox_volume_destroy(&change);
    clvox_volume_destroy(&mask);
}

/* 1 mm labels over a 2 mm image, edge to edge: each of their voxels is there, where it is. */
static void labels_finer_than_the_image_keep_their_voxels(void **state)
{
    (void)state;
    clvox_volume *v = make((const int[]){11, 13, 7}, (const double[]){2, 2, 2}, 1),
                 *labels = make((const int[]){22, 26, 7}, (const double[]){1, 1, 2}, 1);
    slope(v, (const double[]){1, 0, 0});
    labels->grid.to_ras[0][3] = labels->grid.to_ras[1][3] = -0.5;
    for (int i = 0; i < 22 * 26 * 7; i++)
        labels->data[i] = 1 + (float)((i % 22 * 7 + i / 22 % 26 * 3 + i / 572) % 5);
    const clvox_report_layer layers[] = {{"one", v, CLVOX_REPORT_GREY, 0},
                                         {"labels", labels, CLVOX_REPORT_OUTLINES, 0}};
    char *page = page_of(layers, 2, NULL);
    cJSON *data = data_of(page);
    int size[3];
    uint8_t *outlines = voxels_of(data, 1, size);
    assert_that(size[0] == 22 && size[1] == 26 && size[2] == 7, "%d %d %d", size[0], size[1], size[2]);
    for (int w = 0; w < 3; w++)
        assert_int_equal(number_in(data, "size", w), size[w]);
    for (int i = 0; i < 22 * 26 * 7; i++)
        assert_that(outlines[3 * i] == labels->data[i], "voxel %d: %d, not %g", i, outlines[3 * i],
                    labels->data[i]);
    free(outlines);
    free(voxels_of(data, 0, size));
    assert_that(size[0] == 11 && size[1] == 13 && size[2] == 7, "%d %d %d", size[0], size[1], size[2]);
    cJSON_Delete(data);
    free(page);
    clvox_volume_destroy(&v);
    clvox_volume_destroy(&labels);
}

/* A field in Hz has colours as far as 99 percent of it reach, not to 4. */
static void colours_reach_as_far_as_the_values(void **state)
{
    (void)state;
    clvox_volume *v = make((const int[]){20, 20, 20}, (const double[]){1, 1, 1}, 1);
    slope(v, (const double[]){1, 0, 0});
    for (double scale = 1; scale < 1e4; scale *= 100) {
        clvox_volume *field = make((const int[]){20, 20, 20}, (const double[]){1, 1, 1}, 1);
        for (int i = 0; i < 8000; i++)
            field->data[i] = (float)(scale * (i % 20 - 9.5) / 9.5 * 0.58);
        const clvox_report_layer layers[] = {{"one", v, CLVOX_REPORT_GREY, 0},
                                             {"field, Hz", field, CLVOX_REPORT_SIGNED, 1}};
        char *page = page_of(layers, 2, NULL);
        cJSON *data = data_of(page), *last = cJSON_GetArrayItem(cJSON_GetObjectItem(data, "layers"), 1);
        const double range = cJSON_GetObjectItem(last, "range")->valuedouble;
        assert_that(fabs(range - 0.6 * scale) < 1e-9 * scale, "%g Hz, not %g", range, 0.6 * scale);
        assert_non_null(strstr(page, scale > 1 ? "blue -60" : "blue -0.6"));
        cJSON_Delete(data);
        free(page);
        clvox_volume_destroy(&field);
    }
    clvox_volume_destroy(&v);
}

static void colours_stay(void **state)
{
    (void)state;
    clvox_volume *v = make((const int[]){8, 9, 10}, (const double[]){1, 1, 1}, 3);
    for (int i = 0; i < 720; i++) {
        v->data[i] = 255;
        v->data[720 + i] = 128;
    }
    char *page = page_of(&(clvox_report_layer){"colour", v, CLVOX_REPORT_COLOUR, 0}, 1, NULL);
    cJSON *data = data_of(page);
    int size[3];
    uint8_t *sheet = voxels_of(data, 0, size);
    assert_that(sheet[0] == 127 && sheet[1] == 64 && sheet[2] == 0, "%d %d %d", sheet[0], sheet[1], sheet[2]);
    free(sheet);
    cJSON_Delete(data);
    free(page);
    clvox_volume_destroy(&v);
}

static void images_of_any_shape_and_content(void **state)
{
    (void)state;
    static const int sizes[][3] = {{1, 1, 1}, {64, 1, 3}, {7, 13, 1}, {300, 3, 2}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int content = 0; content < 3; content++) {
            clvox_volume *v = make(sizes[i], (const double[]){0.7, 1, 9}, 1);
            for (size_t k = 0; k < clvox_grid_voxels(&v->grid); k++)
                v->data[k] = content == 0 ? NAN : content == 1 ? 0 : (float)k;
            char *thumbnail = NULL,
                 *page = page_of(&(clvox_report_layer){"one", v, CLVOX_REPORT_GREY, 0}, 1, NULL);
            assert_that(clvox_report_thumbnail(v, v, NULL, &thumbnail) == CLVOX_OK && thumbnail, "%s",
                        clvox_message());
            assert_that(clvox_page_flicker(v, v, path) == CLVOX_OK, "%s", clvox_message());
            free(thumbnail);
            free(page);
            clvox_volume_destroy(&v);
        }
}

static void a_page_of_noise_stays_below_six_megabytes(void **state)
{
    (void)state;
    clvox_volume *a = make((const int[]){150, 150, 150}, (const double[]){1, 1, 1}, 1),
                 *b = make((const int[]){150, 150, 150}, (const double[]){1, 1, 1}, 1);
    unsigned seed = 1;
    for (size_t i = 0; i < clvox_grid_voxels(&a->grid); i++) {
        a->data[i] = (float)((seed = seed * 1664525u + 1013904223u) >> 8);
        b->data[i] = (float)((seed = seed * 1664525u + 1013904223u) >> 8);
    }
    const clvox_report_layer layers[] = {{"a", a, CLVOX_REPORT_GREY, 0}, {"b", b, CLVOX_REPORT_GREY, 0}};
    free(page_of(layers, 2, NULL));
    struct stat info;
    assert_int_equal(stat(path, &info), 0);
    assert_that(info.st_size < 6000000 && info.st_size > 3500000, "%lld bytes", (long long)info.st_size);
    /* Of less noise every voxel stays, in fewer greys. */
    for (size_t i = 0; i < clvox_grid_voxels(&a->grid); i++) {
        a->data[i] = 100 + fabsf(i / 150 % 150 - 74.5f) + a->data[i] * 0x1p-19f;
        b->data[i] = 100 + fabsf(i % 150 - 74.5f) + b->data[i] * 0x1p-19f;
    }
    char *page = page_of(layers, 2, NULL);
    cJSON *data = data_of(page);
    assert_int_equal(stat(path, &info), 0);
    assert_that(info.st_size < 6000000 && info.st_size > 3500000, "%lld bytes", (long long)info.st_size);
    int size[3], greys = 0;
    bool seen[256] = {false};
    uint8_t *voxels = voxels_of(data, 0, size);
    for (size_t i = 0; i < clvox_grid_voxels(&a->grid); i++)
        seen[voxels[3 * i]] = true;
    for (int i = 0; i < 256; i++)
        greys += seen[i];
    for (int w = 0; w < 3; w++)
        assert_that(size[w] == 150, "%d voxels along axis %d", size[w], w);
    assert_that(greys >= 30 && greys <= 64 && greys <= cJSON_GetObjectItem(data, "greys")->valueint,
                "%d greys", greys);
    free(voxels);
    cJSON_Delete(data);
    free(page);
    clvox_volume_destroy(&a);
    clvox_volume_destroy(&b);
}

static void what_is_not_as_described_is_refused(void **state)
{
    (void)state;
    clvox_volume *v = make((const int[]){4, 4, 4}, (const double[]){1, 1, 1}, 1),
                 *other = make((const int[]){5, 4, 4}, (const double[]){1, 1, 1}, 1);
    const clvox_report_layer image = {"one", v, CLVOX_REPORT_GREY, 0},
                             outlines = {"one", v, CLVOX_REPORT_OUTLINES, 0},
                             colour = {"one", v, CLVOX_REPORT_COLOUR, 0};
    unlink(path);
    for (int wrong = 0; wrong < 7; wrong++) {
        clvox_report *report = begin();
        const clvox_report_cell cell = {.text = "x"};
        switch (wrong) {
        case 0: clvox_report_row(report, &cell); break;
        case 1: clvox_report_images(report, &image, 0, NULL); break;
        case 2: clvox_report_images(report, &outlines, 1, NULL); break;
        case 3: clvox_report_images(report, &colour, 1, NULL); break;
        case 4: clvox_report_histogram(report, "h", v, other, 0); break;
        case 5: clvox_report_table(report, "t", NULL, 0); break;
        default:
            for (int i = 0; i < 5; i++)
                clvox_report_images(report, &image, 1, NULL);
        }
        clvox_report_text(report, "what follows changes nothing");
        assert_that(clvox_report_write(report, path) == CLVOX_ERROR_ARGUMENT, "case %d", wrong);
        assert_int_equal(access(path, F_OK), -1);
        clvox_report_destroy(&report);
    }
    clvox_report *report = begin();
    assert_int_equal(clvox_report_write(report, "/nowhere/page.html"), CLVOX_ERROR_FILE);
    clvox_report_destroy(&report);
    clvox_report_destroy(&report);
    clvox_volume_destroy(&v);
    clvox_volume_destroy(&other);
}

static void text_plots_and_the_icon(void **state)
{
    (void)state;
    clvox_volume *v = make((const int[]){10, 10, 10}, (const double[]){1, 1, 1}, 1),
                 *mask = make((const int[]){10, 10, 10}, (const double[]){1, 1, 1}, 1);
    for (int i = 0; i < 1000; i++) {
        v->data[i] = (float)(i < 500 ? -0.5 : i < 999 ? 0.5 : NAN);
        mask->data[i] = i >= 400;
    }
    clvox_report *report = begin();
    clvox_report_warn(report, "a <b> & \"c\" \x01 caf\xe9");
    clvox_report_fact(report, "name", "value");
    clvox_report_table(report, "t", (const char *const[]){"pair", "mm", "note"}, 3);
    for (int i = 0; i < 2; i++) /* the first has failed */
        clvox_report_row(report, (clvox_report_cell[]){
                                     {"p", NULL, NULL}, {i ? "1.5" : "", NULL, NULL}, {"x", NULL, NULL}});
    clvox_report_histogram(report, "h", v, mask, 1);
    const double x[] = {0, 10, 20, 30}, y[] = {1, NAN, 3, 4};
    const clvox_report_curve curves[] = {{"one", x, y, 4}, {"two", x, x, 4}};
    clvox_report_curves(report, "c", "iteration", "energy", curves, 2);
    clvox_report_icon(report, "data:image/png;base64,AAAA");
    char *icon = NULL, *page = written(&report);
    assert_non_null(strstr(page, "<li>a &lt;b&gt; &amp; &quot;c&quot; ? caf\xc3\xa9</li>"));
    /* A heading stands where its numbers are. */
    assert_non_null(strstr(page, "class=\" \">pair</th><th scope=\"col\" class=\"n\">mm</th>"
                                 "<th scope=\"col\" class=\" \">note</th>"));
    assert_non_null(strstr(page, "599 voxels, mean 0.3331, standard deviation 0.3729, from -0.5 to 0.5; "
                                 "without the logarithm from 0.607 to 1.65"));
    /* A gap ends a line: one of a point, one of two, and the other curve. */
    int lines = 0;
    for (const char *at = page; (at = strstr(at, "<polyline")); at++)
        lines++;
    assert_int_equal(lines, 3);
    assert_true(clvox_report_icon_of(path, &icon) == CLVOX_OK && icon &&
                !strcmp(icon, "data:image/png;base64,AAAA"));
    clvox_text_destroy(&icon);
    assert_true(clvox_report_icon_of("/nowhere", &icon) == CLVOX_OK && !icon);
    free(page);
    clvox_volume_destroy(&v);
    clvox_volume_destroy(&mask);
}

/* Between whole numbers of rounds there is nothing to mark; between millimetres there is. */
static void ticks_of_counts_are_whole(void **state)
{
    (void)state;
    const double rounds[] = {1, 2, 3}, mm[] = {1, 2.2, 3}, y[] = {7, 8, 9};
    for (int whole = 0; whole < 2; whole++) {
        clvox_report *report = begin();
        const clvox_report_curve curve = {"one", whole ? rounds : mm, y, 3};
        clvox_report_curves(report, "c", "x", "y", &curve, 1);
        char *page = written(&report);
        assert_true((strstr(page, ">1.5</text>") == NULL) == whole && strstr(page, ">2</text>"));
        clvox_text_destroy(&page);
    }
}

int main(void)
{
    snprintf(path, sizeof path, "/tmp/clvox_report_%d.html", (int)getpid());
    test_case(slices_follow_the_axes_of_the_patient, "slices follow the axes of the patient");
    test_case(storage_does_not_matter, "an image stored otherwise gives the same page");
    test_case(overlays_are_clear_where_there_is_nothing,
              "outlines and colours are where they belong, and clear elsewhere");
    test_case(labels_finer_than_the_image_keep_their_voxels,
              "labels of 1 mm over an image of 2 mm keep their voxels");
    test_case(colours_reach_as_far_as_the_values, "colours reach as far as the values");
    test_case(colours_stay, "coloured images keep their colours");
    test_case(images_of_any_shape_and_content, "one voxel, one slice, nothing but NaN or 0");
    test_case(a_page_of_noise_stays_below_six_megabytes, "a page of noise stays below 6 MB");
    test_case(what_is_not_as_described_is_refused,
              "what is not as described is refused, and nothing is written");
    test_case(text_plots_and_the_icon,
              "text is escaped; a histogram's figures; gaps of curves; the icon comes back");
    test_case(ticks_of_counts_are_whole, "ticks of counts are whole numbers");
    const int code = test_run("report", NULL);
    unlink(path);
    return code;
}
