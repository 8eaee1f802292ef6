/* SPDX-License-Identifier: Apache-2.0 */
/* Pages by which a person judges a result: images to leaf through, plots, tables. */
#ifndef CLVOX_REPORT_H
#define CLVOX_REPORT_H

#include "clvox/volume.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A page being made: one HTML file that holds its images and needs no network. It shows warnings first,
 * then what is added below them in the order of the calls. Text is UTF-8 (bytes that are not are taken for
 * Latin-1) and is shown as it is: markup in it has no effect. Functions without a result remember what
 * fails, which clvox_report_write then returns. */
typedef struct clvox_report clvox_report;

/* An empty page with this heading. On success *out is the caller's, for clvox_report_destroy; on failure
 * NULL. */
CLVOX_API int clvox_report_create(const char *title, clvox_report **out);

/* Releases the page and sets *report to NULL. NULL is legal. */
CLVOX_API void clvox_report_destroy(clvox_report **report);

/* A sentence in the box of warnings at the top. */
CLVOX_API void clvox_report_warn(clvox_report *report, const char *sentence);

/* A heading, which the row of links at the top leads to. */
CLVOX_API void clvox_report_section(clvox_report *report, const char *heading);

/* A paragraph. */
CLVOX_API void clvox_report_text(clvox_report *report, const char *text);

/* A name and its value. Facts that follow one another are set as one list. */
CLVOX_API void clvox_report_fact(clvox_report *report, const char *name, const char *value);

/* One field of a table. */
typedef struct clvox_report_cell {
    const char *text;      /* NULL: empty. A number stands on the right */
    const char *link;      /* address that the text leads to, relative to the page; NULL: none */
    const char *thumbnail; /* of clvox_report_thumbnail; NULL: none */
} clvox_report_cell;

/* Begins a table of so many columns; rows follow at once. */
CLVOX_API void clvox_report_table(clvox_report *report, const char *caption, const char *const *columns,
                                  int count);

/* A row of the table: as many cells as it has columns. The first one heads the row. */
CLVOX_API void clvox_report_row(clvox_report *report, const clvox_report_cell *cells);

/* How a volume is shown. */
typedef enum clvox_report_look {
    CLVOX_REPORT_GREY = 0, /* in grey values, from the air to the brightest half percent */
    CLVOX_REPORT_COLOUR,   /* 3 frames: red, green, blue from 0 to 255 */
    CLVOX_REPORT_OUTLINES, /* over the image: the borders of labels, a colour for each */
    CLVOX_REPORT_CONTOUR,  /* over the image: where values become negative, a colour for each layer */
    CLVOX_REPORT_SIGNED,   /* over the image: blue below 0 to red above, inside the mask */
    CLVOX_REPORT_MASK      /* over the image: the border of what is 1 */
} clvox_report_look;

/* An image, or what is laid over all images. Volumes may lie on any grid. */
typedef struct clvox_report_layer {
    const char *name;
    const clvox_volume *volume; /* must live until clvox_report_write */
    clvox_report_look look;
    int hidden; /* of what is laid over: not shown at first */
    double threshold; /* of signed values: at first smaller ones are hidden; 0: none are */
} clvox_report_layer;

enum { CLVOX_REPORT_LAYERS = 12 };

/* Images to leaf through in three planes of the first one's grid, beginning at the largest of signed values
 * with a threshold, else at the middle of the labels that are shown, of the mask (may be NULL), or of the
 * head: sliders and arrow keys for slices, any two images swiped or in turn, what is laid over switched on
 * and off, signed values above a threshold. Every voxel of the first image is there; so that a page stays
 * below 6 MB, large images have fewer greys, at least 32, and only then fewer voxels. On paper, and without
 * scripts, the slices of the start. At least one image is needed, and it comes first. */
CLVOX_API void clvox_report_images(clvox_report *report, const clvox_report_layer *layers, int count,
                                   const clvox_volume *mask);

/* The name of a label: what the page's outlines of label maps enclose is named where the pointer is, and at
 * the cross; labels without a name by their number. The first name of a label stays. */
CLVOX_API void clvox_report_label(clvox_report *report, int64_t label, const char *name);

/* The distribution of a volume's first frame where mask is above 0 (on its grid; NULL: everywhere); values
 * that are not finite are left out. log_scale 1: the values are logarithms, and the axis has what they are
 * logarithms of. */
CLVOX_API void clvox_report_histogram(clvox_report *report, const char *title, const clvox_volume *volume,
                                      const clvox_volume *mask, int log_scale);

/* A line of a plot; values that are not finite are gaps. */
typedef struct clvox_report_curve {
    const char *name;
    const double *x, *y;
    int count;
} clvox_report_curve;

/* Curves in one plot with linear axes of these names, marked by colour and by name. */
CLVOX_API void clvox_report_curves(clvox_report *report, const char *title, const char *x_name,
                                   const char *y_name, const clvox_report_curve *curves, int count);

/* A small picture for a table or for the page's icon: the three planes of `shown` through the centre of the
 * mask, or of the head, with the edges of `edges` over them (NULL: none). Text for clvox_text_destroy; NULL
 * on failure. */
CLVOX_API int clvox_report_thumbnail(const clvox_volume *shown, const clvox_volume *edges,
                                     const clvox_volume *mask, char **out);

/* Makes a thumbnail the page's icon. */
CLVOX_API void clvox_report_icon(clvox_report *report, const char *thumbnail);

/* The icon of a page that was written before. *out is the caller's, for clvox_text_destroy, and NULL where
 * the file has no icon or is no page. CLVOX_ERROR_MEMORY. */
CLVOX_API int clvox_report_icon_of(const char *path, char **out);

/* Draws and writes the page; the file is whole or untouched. CLVOX_ERROR_FILE, CLVOX_ERROR_MEMORY,
 * CLVOX_ERROR_ARGUMENT where what was added is not as described, CLVOX_ERROR_DATA for a grid that has no
 * inverse. */
CLVOX_API int clvox_report_write(const clvox_report *report, const char *path);

#ifdef __cplusplus
}
#endif

#endif
