/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of points as ITK and ANTs write them: text whose first three columns are x, y, z. */
#ifndef CLI_POINTS_H
#define CLI_POINTS_H

#include <stdbool.h>

#include "clvox/volume.h"

typedef struct cli_points {
    char *text;      /* the file, its line ends turned into 0 */
    char **line;     /* of the points, without the header */
    const char *header;
    double *points;  /* RAS mm */
    int count;
} cli_points;

/* ras: the table is in RAS, not in LPS. On failure nothing is left to free. */
int cli_points_read(const char *path, bool ras, cli_points *out);
/* With the other columns as they were read; the points are used up. */
int cli_points_write(cli_points *points, bool ras, const char *path);
void cli_points_free(cli_points *points);

/* CLVOX_ERROR_DATA, naming the first of them, where points lie outside of the image `of`. */
int cli_points_inside(const char *path, const cli_points *points, const clvox_grid *grid, const char *of);

#endif
