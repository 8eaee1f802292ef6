/* SPDX-License-Identifier: Apache-2.0 */
#include "clvox/transform.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/matrix.h"
#include "base/status.h"
#include "io/itk.h"
#include "io/source.h"
#include "io/volume_file.h"

enum { TEXT_LIMIT = 1 << 20 }; /* bytes of an affine's file */

/* MRtrix stores positions and displacements alike, as three volumes without
 * any mark. Positions rise with the voxel's own position by about one
 * millimetre each, displacements by about none: the slope of the regression of
 * values on positions is nearer to 1 or to 0. Voxels outside of the warp's
 * range are NaN (or all 0 in older files) and do not count. */
static bool holds_positions(const clvox_volume *v)
{
    const int *n = v->grid.size;
    size_t voxels = clvox_grid_voxels(&v->grid), used = 0;
    double sum_x[3] = {0}, sum_v[3] = {0}, square = 0, product = 0;
    for (size_t at = 0; at < voxels; at++) {
        double x[3] = {(double)(at % (size_t)n[0]), (double)(at / (size_t)n[0] % (size_t)n[1]),
                       (double)(at / (size_t)n[0] / (size_t)n[1])};
        double y[3] = {v->data[at], v->data[at + voxels], v->data[at + 2 * voxels]};
        if (!isfinite(y[0] + y[1] + y[2]) || (y[0] == 0 && y[1] == 0 && y[2] == 0))
            continue;
        clv_matrix_apply(v->grid.to_ras, x, x);
        used++;
        for (int c = 0; c < 3; c++) {
            sum_x[c] += x[c];
            sum_v[c] += y[c];
            square += x[c] * x[c];
            product += x[c] * y[c];
        }
    }
    for (int c = 0; used && c < 3; c++) {
        square -= sum_x[c] * sum_x[c] / (double)used;
        product -= sum_x[c] * sum_v[c] / (double)used;
    }
    return product > 0.5 * square;
}

static int read_warp(const char *path, clvox_volume **out)
{
    int status;
    clv_volume_header header;
    clvox_volume *v = NULL;
    CLV_TRY(clv_volume_read(path, &header, &v));
    if (header.field == CLV_FIELD_NIFTYREG) {
        status = clv_fail(
            CLVOX_ERROR_FORMAT,
            "%s: is a NiftyReg control grid or velocity field, which clvox does not read; turn it into a "
            "deformation field with reg_transform -def",
            path);
    } else if (header.field >= CLV_FIELD_FSL) {
        status = clv_fail(
            CLVOX_ERROR_FORMAT,
            "%s: is an FSL FNIRT field, whose coordinates are FSL's own; convert it, for instance with "
            "wb_command -convert-warpfield",
            path);
    } else if (v->kind == CLVOX_KIND_COLOUR) {
        status = clv_fail(CLVOX_ERROR_FORMAT, "%s: is an image of colours, not a warp", path);
    } else if (v->kind != CLVOX_KIND_DISPLACEMENT && v->frames != 3) {
        status = clv_fail(CLVOX_ERROR_FORMAT,
                          "%s: is an image of %d frame%s, not a warp, which has three components a voxel",
                          path, v->frames, v->frames == 1 ? "" : "s");
    } else if (v->kind != CLVOX_KIND_DISPLACEMENT) {
        if (holds_positions(v))
            clv_positions_to_displacements(v);
        v->kind = CLVOX_KIND_DISPLACEMENT;
    }
    if (status < 0)
        goto end;
    v->type = CLVOX_TYPE_FLOAT32;
    *out = v;
    v = NULL;
end:
    clvox_volume_destroy(&v);
    return status;
}

static int read_affine(const char *path, double out[4][4])
{
    int status;
    char *text = NULL;
    size_t size;
    CLV_TRY(clv_file_read_all(path, TEXT_LIMIT, &text, &size));
    if (!strncmp(text, "#Insight Transform File", 23))
        status = clv_itk_text_parse(path, text, out);
    else if (size >= 4 && !memcmp(text, "\x89HDF", 4))
        status = clv_fail(
            CLVOX_ERROR_FORMAT,
            "%s: is an ITK transform in HDF5, which clvox does not read; take it apart with "
            "CompositeTransformUtil --disassemble and name the parts one by one",
            path);
    else if (clv_itk_mat_is(text, size))
        status = clv_itk_mat_parse(path, text, size, out);
    else
        status = clv_rows_parse(path, text, out);
    for (int i = 0; status >= 0 && i < 16; i++)
        (&out[0][0])[i] += 0.0; /* -0 becomes 0 */
    if (status >= 0 && !clv_matrix_regular(CLV_MATRIX(out)))
        status = clv_fail(CLVOX_ERROR_FORMAT,
                          "%s: its matrix is singular, so that it maps no volume to a volume", path);
end:
    free(text);
    return status;
}

/* 1 when the file is a volume, or is compressed, as only those are. */
static int is_image(const char *path, bool *out)
{
    clv_source source;
    int status = clv_source_open(path, &source);
    *out = status >= 0 && (source.gzip || clvox_volume_is_file(path));
    clv_source_close(&source);
    return status;
}

int clvox_transform_read(const char *path, clvox_transform **out)
{
    int status;
    bool image = false;
    *out = NULL;
    clvox_transform *t = calloc(1, sizeof *t);
    if (!t)
        return clv_fail(CLVOX_ERROR_MEMORY, "%s: out of memory", path);
    clv_matrix_identity(t->matrix);
    CLV_TRY(is_image(path, &image));
    t->is_warp = image;
    if (image)
        CLV_TRY(read_warp(path, &t->warp));
    else
        CLV_TRY(read_affine(path, t->matrix));
    *out = t;
    t = NULL;
end:
    clvox_transform_destroy(&t);
    return status;
}

int clvox_affine_write(const double matrix[4][4], clvox_affine_form form, const char *path)
{
    char bytes[CLV_AFFINE_BYTES];
    size_t size, length = strlen(path);
    if (!clv_matrix_regular(matrix))
        return clv_fail(CLVOX_ERROR_ARGUMENT, "%s: a singular matrix is not written", path);
    if (form == CLVOX_AFFINE_RAS)
        size = clv_rows_make(matrix, bytes);
    else if (length > 4 && !strcasecmp(path + length - 4, ".mat"))
        size = clv_itk_mat_make(matrix, bytes);
    else
        size = clv_itk_text_make(matrix, bytes);
    return clv_file_write_all(path, bytes, size);
}

int clvox_warp_write(const clvox_volume *warp, const char *path)
{
    if (warp->kind != CLVOX_KIND_DISPLACEMENT)
        return clv_fail(CLVOX_ERROR_ARGUMENT, "%s: only a displacement field can be written as a warp", path);
    clvox_volume copy = *warp;
    copy.type = CLVOX_TYPE_FLOAT32;
    return clvox_volume_write(&copy, path);
}

void clvox_transform_destroy(clvox_transform **transform)
{
    if (!transform || !*transform)
        return;
    clvox_volume_destroy(&(*transform)->warp);
    free(*transform);
    *transform = NULL;
}
