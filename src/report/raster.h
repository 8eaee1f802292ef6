/* SPDX-License-Identifier: Apache-2.0 */
/* An RGB picture in memory, and what is needed to draw on it. */
#ifndef CLV_REPORT_RASTER_H
#define CLV_REPORT_RASTER_H

/* rgb holds 3 * width * height bytes, row by row from the top. */
typedef struct clv_raster {
    int width, height;
    unsigned char *rgb;
} clv_raster;

typedef struct clv_color {
    unsigned char r, g, b;
} clv_color;

/* A picture of one colour. On success the caller releases it with
 * clv_raster_free; on failure rgb is NULL. */
int clv_raster_create(clv_raster *raster, int width, int height, clv_color color);
void clv_raster_free(clv_raster *raster); /* also legal on a zeroed one */

/* Pixels beyond the picture are left out. */
void clv_raster_set(clv_raster *raster, int x, int y, clv_color color);
clv_color clv_raster_get(const clv_raster *raster, int x, int y);
void clv_raster_fill(clv_raster *raster, int x, int y, int width, int height, clv_color color);

/* Printable ASCII in a 5x7 font, each dot scale x scale pixels, (x, y) being
 * the upper left corner. */
void clv_raster_text(clv_raster *raster, int x, int y, int scale, clv_color color, const char *text);
int clv_raster_text_width(int scale, const char *text);

/* A colour that differs clearly from those of neighbouring numbers. */
clv_color clv_color_of_label(int label);
/* Blue over near-white to red for t from -1 to 1. */
clv_color clv_color_diverging(double t);
clv_color clv_color_grey(double t); /* black to white for t from 0 to 1 */

#endif
