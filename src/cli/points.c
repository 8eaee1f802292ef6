/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/points.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cli/matrix.h"
#include "cli/status.h"
#include "clvox/files.h"
#include "clvox/transform.h"

void cli_points_free(cli_points *t)
{
    free(t->text);
    free(t->line);
    free(t->points);
    memset(t, 0, sizeof *t);
}

/* Reads three numbers and moves *line behind them (at the comma or the end). */
static bool read_point(char **line, double point[3])
{
    for (int i = 0; i < 3; i++) {
        char *end;
        point[i] = strtod(*line, &end);
        end += strspn(end, " \t");
        if (end == *line || (i < 2 ? *end != ',' : *end && *end != ','))
            return false;
        *line = end + (i < 2);
    }
    return isfinite(point[0]) && isfinite(point[1]) && isfinite(point[2]);
}

/* LPS to RAS and back. */
static void flip(cli_points *t)
{
    for (int i = 0; i < t->count; i++) {
        t->points[3 * (size_t)i] *= -1;
        t->points[3 * (size_t)i + 1] *= -1;
    }
}

int cli_points_read(const char *path, bool ras, cli_points *out)
{
    int status = CLVOX_OK, number = 0;
    size_t size, lines = 1;
    char *rest, *line;
    memset(out, 0, sizeof *out);
    CLI_TRY(clvox_file_read(path, (size_t)1 << 30, &out->text, &size));
    for (size_t i = 0; i < size; i++)
        lines += out->text[i] == '\n';
    out->line = calloc(lines, sizeof *out->line);
    out->points = calloc(lines, 3 * sizeof *out->points);
    if (!out->line || !out->points) {
        status = clvox_fail(CLVOX_ERROR_MEMORY, "%s: out of host memory for its points", path);
        goto end;
    }
    rest = out->text;
    if (size >= 3 && !memcmp(rest, "\xEF\xBB\xBF", 3)) /* the mark that spreadsheets put before UTF-8 */
        rest += 3;
    while ((line = strsep(&rest, "\n")) != NULL) {
        size_t length = strlen(line);
        number++;
        if (length && line[length - 1] == '\r')
            line[--length] = 0;
        if (!*line)
            continue;
        if (!out->header) {
            if (strncasecmp(line, "x,y,z", 5) != 0 || (line[5] && line[5] != ',')) {
                status = clvox_fail(CLVOX_ERROR_FORMAT,
                                  "%s: the first line must begin with the column names x,y,z", path);
                goto end;
            }
            out->header = line;
            continue;
        }
        if (!read_point(&line, out->points + 3 * (size_t)out->count)) {
            status = clvox_fail(CLVOX_ERROR_FORMAT,
                                "%s: line %d does not begin with three numbers and commas", path, number);
            goto end;
        }
        out->line[out->count++] = line;
    }
    if (!out->header)
        status = clvox_fail(CLVOX_ERROR_FORMAT, "%s: is empty; it must begin with the column names x,y,z",
                          path);
    if (!ras)
        flip(out);
end:
    if (status < 0)
        cli_points_free(out);
    return status;
}

int cli_points_write(cli_points *t, bool ras, const char *path)
{
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    if (!stream)
        return clvox_fail(CLVOX_ERROR_MEMORY, "%s: out of host memory", path);
    if (!ras)
        flip(t);
    fprintf(stream, "%s\n", t->header);
    for (int i = 0; i < t->count; i++) {
        const double *p = t->points + 3 * (size_t)i;
        fprintf(stream, "%.10g,%.10g,%.10g%s\n", p[0], p[1], p[2], t->line[i]);
    }
    int status = fclose(stream) ? clvox_fail(CLVOX_ERROR_MEMORY, "%s: out of host memory", path)
                                : clvox_file_write(path, text, size);
    free(text);
    return status;
}

int cli_points_inside(const char *path, const cli_points *t, const clvox_grid *grid, const char *of)
{
    double to_voxel[4][4], at[3];
    int status = clvox_affine_invert(CLI_MATRIX(grid->to_ras), to_voxel);
    for (int i = 0; status >= 0 && i < t->count; i++) {
        cli_matrix_apply(CLI_MATRIX(to_voxel), t->points + 3 * (size_t)i, at);
        for (int a = 0; a < 3; a++)
            if (!(at[a] >= -0.5 && at[a] <= grid->size[a] - 0.5))
                return clvox_fail(CLVOX_ERROR_DATA,
                                "%s: point %d lies outside of %s; tables are in LPS, or in RAS with --frames ras", path,
                                i + 1, of);
    }
    return status;
}
