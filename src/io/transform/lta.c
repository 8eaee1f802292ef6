/* SPDX-License-Identifier: Apache-2.0 */
/* FreeSurfer's linear transforms (LTA): text, a matrix from a source volume to
 * a destination between voxels or frames of millimetres, and the places of both.
 * As of mri_vol2vol, the source is what moves. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/matrix.h"
#include "base/status.h"
#include "io/plain.h"
#include "io/surface/tkras.h"
#include "io/transform/format.h"

/* Frame on either side of the matrix. */
typedef enum side { RAS, VOXELS, SCALED, TKRAS } side;

static const struct {
    int type; /* FreeSurfer's number */
    side frame;
    bool back; /* from the destination to the source, as of tkregister */
} kinds[] = {{0, VOXELS, false}, {1, RAS, false}, {2, SCALED, false}, {14, TKRAS, true}, {21, TKRAS, false}};

/* Behind "key =" at the begin of a line from `text` on; NULL: there is none. */
static const char *value_of(const char *text, const char *key)
{
    size_t length = strlen(key);
    for (const char *line = text, *next; line && *line; line = next) {
        const char *at = line + strspn(line, " \t");
        next = strchr(line, '\n');
        next = next ? next + 1 : NULL;
        if (strncmp(at, key, length))
            continue;
        at += length;
        at += strspn(at, " \t");
        if (*at == '=')
            return at + 1;
    }
    return NULL;
}

static bool read_numbers(const char *text, int count, double *out)
{
    bool good = true;
    for (int i = 0; i < count && good; i++) {
        char *end;
        out[i] = strtod(text, &end);
        good = end != text && isfinite(out[i]);
        text = end;
    }
    return good;
}

/* A frame of the volume whose description begins at text -> RAS. Scaled voxels are millimetres from the first voxel. */
static int to_ras(const char *path, const char *text, const char *which, side frame, double out[4][4])
{
    static const char *const axis[] = {"xras", "yras", "zras", "cras"};
    double size[3], edge[3], direction[4][3], valid = 0;
    const char *at = text ? value_of(text, "valid") : NULL;
    bool good = at && read_numbers(at, 1, &valid);
    if (good && valid == 0)
        return clvox_fail(
            CLVOX_ERROR_FORMAT,
            "%s: does not know the %s volume (valid = 0); write it again with lta_convert --src and --trg",
            path, which);
    at = good ? value_of(text, "volume") : NULL;
    good = at && read_numbers(at, 3, size);
    at = good ? value_of(text, "voxelsize") : NULL;
    good = at && read_numbers(at, 3, edge);
    for (int a = 0; a < 4 && good; a++)
        good = (at = value_of(text, axis[a])) && read_numbers(at, 3, direction[a]);
    clv_matrix_identity(out);
    for (int i = 0; i < 3 && good; i++) {
        out[i][3] = direction[3][i];
        for (int j = 0; j < 3; j++) {
            out[i][j] = direction[j][i] * edge[j];
            out[i][3] -= out[i][j] * size[j] / 2;
        }
    }
    if (!good || !clv_matrix_regular(CLV_MATRIX(out)))
        return clvox_fail(CLVOX_ERROR_FORMAT, "%s: its description of the %s volume is damaged", path, which);
    for (int i = 0; i < 3 && frame == SCALED; i++)
        for (int j = 0; j < 3; j++)
            out[i][j] = direction[j][i];
    if (frame == TKRAS)
        clv_tkras(CLV_MATRIX3(direction), direction[3], out);
    return CLVOX_OK;
}

static int parse(const char *path, const char *text, double m[4][4])
{
    int status = CLVOX_OK;
    size_t kind = 0;
    double type, count, from[4][4], to[4][4];
    const char *at = value_of(text, "type");
    if (!at || !read_numbers(at, 1, &type))
        return clvox_fail(CLVOX_ERROR_FORMAT, "%s: does not say its type", path);
    at = value_of(text, "nxforms");
    if (!at || !read_numbers(at, 1, &count) || count != 1)
        return clvox_fail(CLVOX_ERROR_FORMAT, "%s: does not hold one transform", path);
    while (kind < sizeof kinds / sizeof *kinds && kinds[kind].type != type)
        kind++;
    if (kind == sizeof kinds / sizeof *kinds)
        return clvox_fail(
            CLVOX_ERROR_FORMAT,
            "%s: is of the type %g, which clvox does not read; convert it with lta_convert --outlta (RAS to "
            "RAS)",
            path, type);
    /* Behind the line that says 1 4 4 stand four rows. */
    at = strstr(text, "\n1 4 4");
    at = at ? strchr(at + 1, '\n') : NULL;
    if (!at || !read_numbers(at, 16, &m[0][0]) || fabs(m[3][0]) + fabs(m[3][1]) + fabs(m[3][2]) + fabs(m[3][3] - 1) > 1e-6)
        return clvox_fail(CLVOX_ERROR_FORMAT, "%s: its matrix is damaged", path);
    if (!clv_matrix_regular(CLV_MATRIX(m)))
        return clvox_fail(CLVOX_ERROR_FORMAT,
                          "%s: its matrix is singular, so that it maps no volume to a volume", path);
    /* A pull-back goes from the destination, which is the fixed image, to the source. */
    if (!kinds[kind].back)
        CLV_TRY(clv_matrix_invert(CLV_MATRIX(m), m));
    if (kinds[kind].frame != RAS) {
        CLV_TRY(to_ras(path, strstr(text, "src volume info"), "source", kinds[kind].frame, from));
        CLV_TRY(to_ras(path, strstr(text, "dst volume info"), "destination", kinds[kind].frame, to));
        CLV_TRY(clv_matrix_invert(CLV_MATRIX(to), to));
        clv_matrix_multiply(CLV_MATRIX(m), CLV_MATRIX(to), m);
        clv_matrix_multiply(CLV_MATRIX(from), CLV_MATRIX(m), m);
    }
end:
    return status;
}

static bool is(const char *path, const uint8_t *head, size_t size)
{
    (void)path;
    /* A remark or two may come first. */
    const uint8_t *type = memmem(head, size < 2048 ? size : 2048, "type", 4);
    return type && memmem(head, size, "nxforms", 7);
}

static int read(const char *path, const clvox_grid *fixed, const clvox_grid *moving, clv_parts *parts)
{
    int status;
    char *text = NULL;
    size_t size;
    double m[4][4];
    (void)fixed;
    (void)moving;
    CLV_TRY(clvox_file_read(path, CLV_AFFINE_LIMIT, &text, &size));
    clv_plain plain = clv_plain_begin();
    status = parse(path, text, m);
    clv_plain_end(plain);
    if (status >= 0)
        status = clv_parts_affine(path, parts, CLV_MATRIX(m));
end:
    free(text);
    return status;
}

const clv_transform_format clv_lta_transform = {
    .is = is,
    .read = read,
};
