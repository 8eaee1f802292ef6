/* SPDX-License-Identifier: Apache-2.0 */
/* FreeSurfer's register.dat (tkregister, bbregister): a name, three numbers, the matrix from the target's tkRAS to
 * that of the volume that moves, and how its programs round. Where both lie only the images say. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/matrix.h"
#include "base/status.h"
#include "io/plain.h"
#include "io/surface/tkras.h"
#include "io/transform/format.h"

/* Takes `count` finite numbers that fill a line; *text is then the next line. */
static bool take_line(const char **text, int count, double *out)
{
    const char *at = *text;
    for (int i = 0; i < count; i++) {
        char *end;
        at += strspn(at, " \t");
        out[i] = strtod(at, &end);
        if (end == at || *at == '\n' || !isfinite(out[i]))
            return false;
        at = end;
    }
    at += strspn(at, " \t\r");
    if (*at && *at != '\n')
        return false;
    *text = at + (*at == '\n');
    return true;
}

static bool parse(const char *text, double m[4][4])
{
    double rest;
    bool good = *text && *text != '\n' && *text != '#';
    text += strcspn(text, "\n");
    text += *text == '\n';
    for (int i = 0; i < 3 && good; i++)
        good = take_line(&text, 1, &rest);
    for (int i = 0; i < 4 && good; i++)
        good = take_line(&text, 4, m[i]);
    return good;
}

static bool is(const char *path, const uint8_t *head, size_t size)
{
    char text[2048];
    double m[4][4];
    (void)path;
    size = size < sizeof text ? size : sizeof text - 1;
    memcpy(text, head, size);
    text[size] = 0;
    clv_plain plain = clv_plain_begin();
    bool good = parse(text, m);
    clv_plain_end(plain);
    return good;
}

static int read(const char *path, const clvox_grid *fixed, const clvox_grid *moving, clv_parts *parts)
{
    int status;
    char *text = NULL;
    size_t size;
    double m[4][4], from[4][4], to[4][4];
    CLV_TRY(clvox_file_read(path, CLV_AFFINE_LIMIT, &text, &size));
    clv_plain plain = clv_plain_begin();
    bool good = parse(text, m);
    clv_plain_end(plain);
    if (!good || fabs(m[3][0]) + fabs(m[3][1]) + fabs(m[3][2]) + fabs(m[3][3] - 1) > 1e-6) {
        status = clvox_fail(CLVOX_ERROR_FORMAT, "%s: its matrix is damaged", path);
        goto end;
    }
    if (!fixed || !moving) {
        status = clvox_fail(
            CLVOX_ERROR_FORMAT,
            "%s: is FreeSurfer's register.dat, whose coordinates depend on the images; use it where they are "
            "known: clvox apply -i MOVING -r TARGET, or clvox compose -r TARGET --moving MOVING",
            path);
        goto end;
    }
    clv_tkras_of(fixed, from);
    clv_tkras_of(moving, to);
    CLV_TRY(clv_matrix_invert(CLV_MATRIX(from), from));
    clv_matrix_multiply(CLV_MATRIX(m), CLV_MATRIX(from), m);
    clv_matrix_multiply(CLV_MATRIX(to), CLV_MATRIX(m), m);
    status = clv_parts_affine(path, parts, CLV_MATRIX(m));
end:
    free(text);
    return status;
}

const clv_transform_format clv_register_dat_transform = {
    .is = is,
    .read = read,
};
