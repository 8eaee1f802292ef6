/* SPDX-License-Identifier: Apache-2.0 */
/* Affines as three or four rows of four numbers, RAS: greedy, NiftyReg, MRtrix. AFNI's, in one row of twelve
 * or in a file named .1D, are of DICOM's coordinates (LPS), from the base to the source: a pull-back, too.
 * Lines that begin with # are remarks. */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/matrix.h"
#include "base/status.h"
#include "io/transform/itk.h"
#include "io/plain.h"
#include "io/volume/format.h"

enum { ROOM = 1024 };

/* Contents of a text of numbers, and the first sixteen. */
typedef struct rows {
    double x[16];
    int count, lines; /* numbers and lines with some, at most INT_MAX as the file is limited */
    bool twelve;      /* in each line */
} rows;

/* false: something else than numbers is there. */
static bool take_rows(const char *text, rows *out)
{
    bool good = true;
    *out = (rows){.twelve = true};
    clv_plain plain = clv_plain_begin();
    for (int in_line = 0; good; text++) {
        text += strspn(text, " \t\r");
        if (*text == '#')
            text += strcspn(text, "\n");
        if (!*text || *text == '\n') {
            out->lines += in_line > 0;
            out->twelve = out->twelve && (in_line == 12 || !in_line);
            in_line = 0;
            if (!*text)
                break;
            continue;
        }
        char *end;
        const double x = strtod(text, &end);
        good = end != text && isfinite(x) && strchr(" \t\r\n", *end);
        if (good && out->count < 16)
            out->x[out->count] = x;
        out->count++;
        in_line++;
        text = end - 1;
    }
    clv_plain_end(plain);
    return good;
}

static int read(const char *path, const clvox_grid *fixed, const clvox_grid *moving, clv_parts *parts)
{
    static const double lps[4] = {-1, -1, 1, 1};
    int status;
    char *text = NULL;
    size_t size;
    rows r;
    double m[4][4];
    (void)fixed;
    (void)moving;
    CLV_TRY(clvox_file_read(path, CLV_AFFINE_LIMIT, &text, &size));
    const bool good = take_rows(text, &r);
    if (good && r.twelve && r.lines > 1) {
        status = clvox_fail(
            CLVOX_ERROR_FORMAT,
            "%s: holds %d matrices, one a row, as AFNI writes those of a series; keep the row of one "
            "image, for instance with 1dcat '%s{0}'",
            path, r.lines, path);
        goto end;
    }
    if (!good || (r.count != 12 && r.count != 16)) {
        status = clvox_fail(
            CLVOX_ERROR_FORMAT,
            "%s: is no transform that clvox reads: neither an ITK transform, nor an LTA, nor four rows of "
            "four numbers, nor AFNI's row of twelve, nor a warp in a volume",
            path);
        goto end;
    }
    clv_matrix_identity(m);
    memcpy(m, r.x, (size_t)r.count * sizeof *r.x);
    if (fabs(m[3][0]) + fabs(m[3][1]) + fabs(m[3][2]) + fabs(m[3][3] - 1) > 1e-6) {
        status =
            clvox_fail(CLVOX_ERROR_FORMAT, "%s: is not an affine matrix: its last row is not 0 0 0 1", path);
        goto end;
    }
    m[3][0] = m[3][1] = m[3][2] = 0;
    m[3][3] = 1;
    const bool afni = r.twelve || clv_ends_in(path, ".1D") || strstr(text, "(DICOM-to-DICOM");
    for (int i = 0; i < 16 && afni; i++)
        m[i / 4][i % 4] *= lps[i / 4] * lps[i % 4];
    status = clv_parts_affine(path, parts, CLV_MATRIX(m));
end:
    free(text);
    return status;
}

static int write(const char *path, const clvox_transform *const *parts, int count)
{
    int status, at = 0;
    char text[ROOM];
    double m[4][4];
    CLV_TRY(clv_parts_join(path, parts, count, m));
    clv_plain plain = clv_plain_begin();
    for (int i = 0; i < 16; i++)
        at += snprintf(text + at, ROOM - (size_t)at, "%.17g%c", m[i / 4][i % 4] + 0.0, i % 4 == 3 ? '\n' : ' ');
    clv_plain_end(plain);
    status = clvox_file_write(path, text, (size_t)at);
end:
    return status;
}

const clv_transform_format clv_rows_transform = {
    .read = read,
    .write = write,
};
