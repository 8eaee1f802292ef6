/* SPDX-License-Identifier: Apache-2.0 */
#include "io/png.h"

#include <png.h>

#include "check.h"
#include "clvox/status.h"
#include "files.h"

int main(void)
{
    enum { WIDTH = 37, HEIGHT = 23 };
    uint8_t rgb[WIDTH * HEIGHT * 3], back[sizeof rgb];
    for (size_t i = 0; i < sizeof rgb; i++)
        rgb[i] = (uint8_t)(i * i >> 3);

    CHECK_CASE("a picture survives, pixel by pixel");
    CHECK(clv_png_write(files_in("p.png"), WIDTH, HEIGHT, rgb) == 0);
    png_image image;
    memset(&image, 0, sizeof image);
    image.version = PNG_IMAGE_VERSION;
    CHECK(png_image_begin_read_from_file(&image, files_in("p.png")));
    CHECK(image.width == WIDTH && image.height == HEIGHT);
    image.format = PNG_FORMAT_RGB;
    CHECK(png_image_finish_read(&image, NULL, back, 0, NULL) && !memcmp(rgb, back, sizeof rgb));

    CHECK_CASE("no picture, and no place for one");
    CHECK(clv_png_write(files_in("q.png"), 0, 5, rgb) == CLVOX_ERROR_ARGUMENT);
    CHECK(clv_png_write(files_in("q.png"), 5, -1, rgb) == CLVOX_ERROR_ARGUMENT);
    CHECK(clv_png_write(files_in("no/q.png"), WIDTH, HEIGHT, rgb) == CLVOX_ERROR_FILE);
    CHECK(files_count() == 1);
    files_end();
    return check_end();
}
