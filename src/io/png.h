/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_IO_PNG_H
#define CLV_IO_PNG_H

#include <stdint.h>

/* Writes an image of 3 bytes (red, green, blue) a pixel, rows from top to
 * bottom. The file is whole or untouched. */
int clv_png_write(const char *path, int width, int height, const uint8_t *rgb);

#endif
