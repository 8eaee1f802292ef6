/* SPDX-License-Identifier: Apache-2.0 */
/* PNG (ISO/IEC 15948) of bytes, compressed by libdeflate: a third of the time of zlib for the same size. */
#include "io/png.h"

#include <libdeflate.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/status.h"

enum { LEVEL = 6, SIGNATURE = 8, CHUNK = 12, HEADER = 13, MOST_SIDE = 1 << 20 };
enum { NONE, SUB, UP, AVERAGE, PAETH, FILTERS };

static uint8_t *put_word(uint8_t *to, uint32_t word)
{
    for (int shift = 24; shift >= 0; shift -= 8)
        *to++ = (uint8_t)(word >> shift);
    return to;
}

/* A chunk, whose data may lie there already; returns its end. */
static uint8_t *put_chunk(uint8_t *to, const char *type, const void *data, size_t bytes)
{
    put_word(to, (uint32_t)bytes);
    memcpy(to + 4, type, 4);
    if (bytes && data != to + 8)
        memcpy(to + 8, data, bytes);
    return put_word(to + 8 + bytes, libdeflate_crc32(0, to + 4, 4 + bytes));
}

static int paeth(int left, int up, int corner)
{
    const int guess = left + up - corner;
    const int a = abs(guess - left), b = abs(guess - up), c = abs(guess - corner);
    return a <= b && a <= c ? left : b <= c ? up : corner;
}

/* A row by one filter; up NULL: there is none above. Returns the sum of the differences' sizes. */
static size_t filter_row(int filter, const uint8_t *row, const uint8_t *up, int bytes, int pixel,
                         uint8_t *out)
{
    size_t sum = 0;
    for (int i = 0; i < bytes; i++) {
        const int left = i < pixel ? 0 : row[i - pixel], above = up ? up[i] : 0;
        const int corner = up && i >= pixel ? up[i - pixel] : 0;
        const int guess = filter == SUB       ? left
                          : filter == UP      ? above
                          : filter == AVERAGE ? (left + above) / 2
                          : filter == PAETH   ? paeth(left, above, corner)
                                              : 0;
        out[i] = (uint8_t)(row[i] - guess);
        sum += out[i] < 128 ? out[i] : 256u - out[i];
    }
    return sum;
}

/* All rows, each after its filter's number: the one of the least sum, but names and colours by number as they
 * are. */
static void filter_rows(const clv_png *from, int bytes, int pixel, uint8_t *out)
{
    uint8_t *trial = out + (size_t)(bytes + 1) * (size_t)from->height;
    for (int y = 0; y < from->height; y++, out += bytes + 1) {
        const uint8_t *row = from->pixels + (size_t)y * (size_t)bytes, *up = y ? row - bytes : NULL;
        size_t least = filter_row(NONE, row, up, bytes, pixel, out + 1);
        out[0] = NONE;
        for (int filter = SUB; filter < FILTERS && !from->colors && !from->plain; filter++) {
            const size_t sum = filter_row(filter, row, up, bytes, pixel, trial);
            if (sum >= least)
                continue;
            least = sum;
            out[0] = (uint8_t)filter;
            memcpy(out + 1, trial, (size_t)bytes);
        }
    }
}

int clv_png_encode(const clv_png *from, uint8_t **out, size_t *size)
{
    int status = CLVOX_OK;
    *out = NULL;
    if (from->width < 1 || from->height < 1 || from->width > MOST_SIDE || from->height > MOST_SIDE)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "a picture of %d x %d pixels cannot be written", from->width,
                          from->height);
    const int pixel = from->rgb ? 3 : 1, bytes = pixel * from->width;
    const size_t plain = (size_t)(bytes + 1) * (size_t)from->height, count = (size_t)from->color_count;
    struct libdeflate_compressor *deflate = libdeflate_alloc_compressor(LEVEL);
    const size_t most = deflate ? libdeflate_zlib_compress_bound(deflate, plain) : 0;
    uint8_t *rows = malloc(plain + (size_t)bytes), palette[3 * 256], opacity[256], head[HEADER] = {0};
    uint8_t *to = *out = malloc(SIGNATURE + 5 * CHUNK + HEADER + sizeof palette + sizeof opacity + most);
    if (!deflate || !rows || !to) {
        status = clvox_fail(CLVOX_ERROR_MEMORY, "out of memory for a picture");
        goto end;
    }
    filter_rows(from, bytes, pixel, rows);
    memcpy(to, "\x89PNG\r\n\x1a\n", SIGNATURE);
    put_word(put_word(head, (uint32_t)from->width), (uint32_t)from->height);
    head[8] = 8;
    head[9] = from->rgb ? 2 : from->colors ? 3 : 0;
    to = put_chunk(to + SIGNATURE, "IHDR", head, sizeof head);
    for (size_t i = 0; i < count && from->colors; i++) {
        memcpy(palette + 3 * i, from->colors[i], 3);
        opacity[i] = from->colors[i][3];
    }
    if (from->colors) {
        to = put_chunk(to, "PLTE", palette, 3 * count);
        to = put_chunk(to, "tRNS", opacity, count);
    }
    const size_t packed = libdeflate_zlib_compress(deflate, rows, plain, to + 8, most);
    to = put_chunk(to, "IDAT", to + 8, packed);
    *size = (size_t)(put_chunk(to, "IEND", NULL, 0) - *out);
end:
    libdeflate_free_compressor(deflate);
    free(rows);
    if (status < 0) {
        free(*out);
        *out = NULL;
    }
    return status;
}

int clv_png_write(const char *path, int width, int height, const uint8_t *rgb)
{
    uint8_t *bytes = NULL;
    size_t size = 0;
    int status =
        clv_png_encode(&(clv_png){.width = width, .height = height, .pixels = rgb, .rgb = 1}, &bytes, &size);
    status = status < 0 ? clvox_fail_in(status, path) : clvox_file_write(path, bytes, size);
    free(bytes);
    return status;
}
