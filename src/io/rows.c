/* SPDX-License-Identifier: Apache-2.0 */
/* Affines as three or four rows of four numbers, RAS: greedy, NiftyReg, MRtrix.
 * Lines that begin with # are remarks. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/matrix.h"
#include "base/status.h"
#include "io/transform/itk.h"
#include "io/plain.h"

enum { ROOM = 1024 };

/* Reads numbers to the end of the text; returns how many, at most 16, or -1 at anything else. */
static int numbers(const char *text, double out[16])
{
    int count = 0;
    clv_plain plain = clv_plain_begin();
    for (text += strspn(text, " \t\r\n"); *text; text += strspn(text, " \t\r\n")) {
        if (*text == '#') {
            text += strcspn(text, "\n");
            continue;
        }
        char *end;
        double x = strtod(text, &end);
        if (end == text || count == 16 || !isfinite(x) || !strchr(" \t\r\n", *end)) {
            count = -1;
            break;
        }
        out[count++] = x;
        text = end;
    }
    clv_plain_end(plain);
    return count;
}

static int read(const char *path, const clvox_grid *fixed, const clvox_grid *moving, clv_parts *parts)
{
    int status;
    char *text = NULL;
    size_t size;
    double x[16], m[4][4];
    (void)fixed;
    (void)moving;
    CLV_TRY(clvox_file_read(path, CLV_AFFINE_LIMIT, &text, &size));
    int count = numbers(text, x);
    if (count != 12 && count != 16) {
        status = clvox_fail(
            CLVOX_ERROR_FORMAT,
            "%s: is no transform that clvox reads: neither an ITK transform, nor an LTA, nor four rows of "
            "four numbers, nor a warp in a volume",
            path);
        goto end;
    }
    clv_matrix_identity(m);
    memcpy(m, x, (size_t)count * sizeof *x);
    if (fabs(m[3][0]) + fabs(m[3][1]) + fabs(m[3][2]) + fabs(m[3][3] - 1) > 1e-6) {
        status =
            clvox_fail(CLVOX_ERROR_FORMAT, "%s: is not an affine matrix: its last row is not 0 0 0 1", path);
        goto end;
    }
    m[3][0] = m[3][1] = m[3][2] = 0;
    m[3][3] = 1;
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
