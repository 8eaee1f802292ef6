/* SPDX-License-Identifier: Apache-2.0 */
#include "io/png.h"

#include <png.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "clvox/status.h"
#include "files.h"

enum { WIDTH = 37, HEIGHT = 23 };

static uint8_t rgb[WIDTH * HEIGHT * 3];

static void a_picture_survives_pixel_by_pixel(void **state)
{
    (void)state;
    static uint8_t back[sizeof rgb];
    assert_true(clv_png_write(files_in("p.png"), WIDTH, HEIGHT, rgb) == 0);
    png_image image;
    memset(&image, 0, sizeof image);
    image.version = PNG_IMAGE_VERSION;
    assert_true(png_image_begin_read_from_file(&image, files_in("p.png")));
    assert_true(image.width == WIDTH && image.height == HEIGHT);
    image.format = PNG_FORMAT_RGB;
    assert_true(png_image_finish_read(&image, NULL, back, 0, NULL) &&
                !memcmp(rgb, back, sizeof rgb));
}

/* Noise and ramps, so that every filter is the best of some row. */
static void greys_and_colours_by_number_survive(void **state)
{
    (void)state;
    static uint8_t back[4 * WIDTH * HEIGHT], pixels[WIDTH * HEIGHT], colors[7][4];
    for (int i = 0; i < 7; i++)
        memcpy(colors[i], (uint8_t[]){(uint8_t)(40 * i), 9, (uint8_t)(250 - i), i ? 255 : 0}, 4);
    for (int numbered = 0; numbered < 2; numbered++) {
        clv_png png = {.width = WIDTH, .height = HEIGHT, .pixels = pixels};
        png_image image = {.version = PNG_IMAGE_VERSION};
        uint8_t *file;
        size_t size;
        for (int i = 0; i < WIDTH * HEIGHT; i++) {
            const int x = i % WIDTH, y = i / WIDTH;
            const int value = y < 5    ? i * i % 61
                              : y < 9  ? 7 * x
                              : y < 13 ? 9 * x + 5 * y
                              : y < 17 ? x * y
                                       : 3 * y;
            pixels[i] = (uint8_t)(numbered ? value % 7 : value);
        }
        png.colors = numbered ? (const uint8_t(*)[4])colors : NULL;
        png.color_count = numbered ? 7 : 0;
        assert_true(clv_png_encode(&png, &file, &size) == 0);
        assert_true(png_image_begin_read_from_memory(&image, file, size));
        image.format = PNG_FORMAT_RGBA;
        assert_true(png_image_finish_read(&image, NULL, back, 0, NULL));
        for (int i = 0; i < WIDTH * HEIGHT; i++) {
            const uint8_t g = pixels[i], grey[4] = {g, g, g, 255};
            assert_memory_equal(back + 4 * i, numbered ? colors[g] : grey, 4);
        }
        free(file);
    }
}

static void no_picture_and_no_place(void **state)
{
    (void)state;
    assert_int_equal(clv_png_write(files_in("q.png"), 0, 5, rgb), CLVOX_ERROR_ARGUMENT);
    assert_int_equal(clv_png_write(files_in("q.png"), 5, -1, rgb), CLVOX_ERROR_ARGUMENT);
    assert_int_equal(clv_png_write(files_in("no/q.png"), WIDTH, HEIGHT, rgb), CLVOX_ERROR_FILE);
    assert_true(files_count() == 0);
}

static int tear_down(void **state)
{
    (void)state;
    files_end();
    return 0;
}

int main(void)
{
    for (size_t i = 0; i < sizeof rgb; i++)
        rgb[i] = (uint8_t)(i * i >> 3);
    test_after_each(files_clear);
    test_case(a_picture_survives_pixel_by_pixel, "a picture survives, pixel by pixel");
    test_case(greys_and_colours_by_number_survive, "greys and colours by number survive");
    test_case(no_picture_and_no_place, "no picture, and no place for one");
    return test_run("png", tear_down);
}
