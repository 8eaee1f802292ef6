/* SPDX-License-Identifier: Apache-2.0 */
#include "io/png.h"

#include <png.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/status.h"

/* fast: a quarter of the time for a sixth more bytes. */
static int encode(const clv_png *from, int fast, uint8_t **out, size_t *bytes)
{
    int status = CLVOX_OK;
    png_alloc_size_t size = 0;
    png_image image;
    *out = NULL;
    memset(&image, 0, sizeof image);
    image.version = PNG_IMAGE_VERSION;
    image.format = from->rgb ? PNG_FORMAT_RGB : from->colors ? PNG_FORMAT_RGBA_COLORMAP : PNG_FORMAT_GRAY;
    image.flags = fast ? PNG_IMAGE_FLAG_FAST : 0;
    if (from->width < 1 || from->height < 1)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "a picture of %d x %d pixels cannot be written", from->width,
                          from->height);
    image.width = (png_uint_32)from->width;
    image.height = (png_uint_32)from->height;
    image.colormap_entries = (png_uint_32)from->color_count;
    size = PNG_IMAGE_PNG_SIZE_MAX(image);
    *out = malloc(size);
    if (!*out)
        status = clvox_fail(CLVOX_ERROR_MEMORY, "out of memory for a picture");
    else if (!png_image_write_to_memory(&image, *out, &size, 0, from->pixels, 0, from->colors))
        status = clvox_fail(CLVOX_ERROR_FILE, "a picture cannot be encoded as PNG (%s)", image.message);
    png_image_free(&image);
    *bytes = size;
    if (status < 0) {
        free(*out);
        *out = NULL;
    }
    return status;
}

int clv_png_encode(const clv_png *image, uint8_t **out, size_t *size)
{
    return encode(image, 0, out, size);
}

int clv_png_write(const char *path, int width, int height, const uint8_t *rgb)
{
    uint8_t *bytes = NULL;
    size_t size = 0;
    int status =
        encode(&(clv_png){.width = width, .height = height, .pixels = rgb, .rgb = 1}, 1, &bytes, &size);
    status = status < 0 ? clvox_fail_in(status, path) : clvox_file_write(path, bytes, size);
    free(bytes);
    return status;
}
