/* SPDX-License-Identifier: Apache-2.0 */
#include "io/png.h"

#include <png.h>

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
    test_case(no_picture_and_no_place, "no picture, and no place for one");
    return test_run("png", tear_down);
}
