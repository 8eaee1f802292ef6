/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_IO_PNG_H
#define CLV_IO_PNG_H

#include <stddef.h>
#include <stdint.h>

/* Writes an image of 3 bytes (red, green, blue) a pixel, rows from top to
 * bottom. The file is whole or untouched. */
int clv_png_write(const char *path, int width, int height, const uint8_t *rgb);

/* An image in memory, rows from top to bottom: a byte a pixel, which is a grey, or where there are colours
 * the number of one; or 3 bytes where it is rgb. */
typedef struct clv_png {
    int width, height;
    const uint8_t *pixels;
    int rgb;
    const uint8_t (*colors)[4]; /* red, green, blue, opacity. NULL: greys */
    int color_count;            /* up to 256 */
    int plain;                  /* 1: bytes are names: rows are not predicted from each other */
} clv_png;

/* The file's bytes. *out is the caller's to free; NULL on failure. */
int clv_png_encode(const clv_png *image, uint8_t **out, size_t *size);

#endif
