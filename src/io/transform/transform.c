/* SPDX-License-Identifier: Apache-2.0 */
/* Transforms from and to files: which format a file has. */
#include "clvox/transform.h"

#include <stdlib.h>
#include <string.h>

#include "base/matrix.h"
#include "base/status.h"
#include "io/packed/source.h"
#include "io/transform/format.h"
#include "io/volume/format.h"

/* The first that claims a file reads it. */
static const clv_transform_format *const formats[] = {
    &clv_warp_transform,    &clv_itk_text_transform, &clv_itk_hdf5_transform,
    &clv_itk_mat_transform, &clv_lta_transform,      &clv_register_dat_transform,
    &clv_rows_transform,
};
enum { FORMATS = sizeof formats / sizeof *formats, LOOK = 4096 };

static const clv_transform_format *by_name(const char *path)
{
    for (int f = 0; f < FORMATS && !clv_ends_in(path, ".gz"); f++)
        if (clv_ending(path, formats[f]->ends, 4))
            return formats[f];
    return NULL;
}

const char *clv_transform_ending(const char *path)
{
    const clv_transform_format *f = by_name(path);
    return f ? clv_ending(path, f->ends, 4) : NULL;
}

/* ---- parts -------------------------------------------------------------- */

static int add(const char *path, clv_parts *parts, clvox_transform **out)
{
    if (parts->count == CLV_MAX_PARTS)
        return clvox_fail(CLVOX_ERROR_FORMAT, "%s: holds more than %d transforms", path, CLV_MAX_PARTS);
    *out = calloc(1, sizeof **out);
    if (!*out)
        return clvox_fail(CLVOX_ERROR_MEMORY, "%s: out of memory", path);
    clv_matrix_identity((*out)->matrix);
    parts->part[parts->count++] = *out;
    return CLVOX_OK;
}

int clv_parts_affine(const char *path, clv_parts *parts, const double matrix[4][4])
{
    clvox_transform *t;
    if (!clv_matrix_regular(matrix))
        return clvox_fail(CLVOX_ERROR_FORMAT,
                          "%s: its matrix is singular, so that it maps no volume to a volume", path);
    int status = add(path, parts, &t);
    for (int i = 0; status >= 0 && i < 16; i++)
        t->matrix[i / 4][i % 4] = matrix[i / 4][i % 4] + 0.0; /* -0 becomes 0 */
    return status;
}

int clv_parts_warp(const char *path, clv_parts *parts, clvox_volume *warp)
{
    clvox_transform *t;
    int status = add(path, parts, &t);
    if (status < 0) {
        clvox_volume_destroy(&warp);
        return status;
    }
    t->is_warp = 1;
    t->warp = warp;
    return CLVOX_OK;
}

void clv_parts_free(clv_parts *parts)
{
    for (int i = 0; i < parts->count; i++)
        clvox_transform_destroy(&parts->part[i]);
    parts->count = 0;
}

void clvox_transform_destroy(clvox_transform **transform)
{
    if (!transform || !*transform)
        return;
    clvox_volume_destroy(&(*transform)->warp);
    free(*transform);
    *transform = NULL;
}

/* ---- reading ------------------------------------------------------------ */

static int read_parts(const char *path, const clvox_grid *fixed, const clvox_grid *moving, clv_parts *parts)
{
    int status;
    clv_source source = {.fd = -1};
    uint8_t head[LOOK];
    size_t got = 0;
    const clv_transform_format *format = NULL;
    parts->count = 0;
    CLV_TRY(clv_source_open_at(path, 0, CLV_PACKED_NOT, &source));
    CLV_TRY(clv_source_head(&source, head, sizeof head, &got));
    for (int f = 0; f < FORMATS && !format; f++)
        if (!formats[f]->is || formats[f]->is(path, head, got))
            format = formats[f];
    status = format->read(path, fixed, moving, parts);
end:
    if (status < 0)
        clv_parts_free(parts);
    clv_source_close(&source);
    return status;
}

int clvox_transforms_read(const char *path, const clvox_grid *fixed, const clvox_grid *moving,
                          clvox_transform **out, int room, int *count)
{
    CLV_GIVEN(path, out, count);
    clv_parts parts;
    int status = read_parts(path, fixed, moving, &parts);
    *count = 0;
    if (status >= 0 && parts.count > room)
        status =
            clvox_fail(CLVOX_ERROR_FORMAT, "%s: holds %d transforms, more than the %d that there is room for",
                       path, parts.count, room);
    if (status < 0) {
        clv_parts_free(&parts);
        return status;
    }
    memcpy(out, parts.part, (size_t)parts.count * sizeof *out);
    *count = parts.count;
    return CLVOX_OK;
}

int clvox_transform_read(const char *path, clvox_transform **out)
{
    CLV_GIVEN(path, out);
    int status;
    clv_parts parts;
    *out = NULL;
    CLV_TRY(read_parts(path, NULL, NULL, &parts));
    for (int i = 1; i < parts.count; i++) {
        if (parts.part[0]->is_warp || parts.part[i]->is_warp) {
            status = clvox_fail(
                CLVOX_ERROR_FORMAT,
                "%s: holds %d transforms, a warp among them, where one is wanted; make one of them with "
                "clvox compose -r FIXED -t %s -o warp.nii.gz",
                path, parts.count, path);
            goto end;
        }
        clv_matrix_multiply(CLV_MATRIX(parts.part[i]->matrix), CLV_MATRIX(parts.part[0]->matrix),
                            parts.part[0]->matrix);
    }
    *out = parts.part[0];
    parts.part[0] = NULL;
end:
    clv_parts_free(&parts);
    return status;
}

/* ---- writing ------------------------------------------------------------ */

int clvox_transforms_write(const clvox_transform *const *transforms, int count, const char *path)
{
    CLV_GIVEN(transforms, path);
    const clv_transform_format *format = by_name(path);
    if (!format || !format->write)
        format = &clv_itk_text_transform;
    for (int i = 0; i < count; i++) {
        const clvox_transform *t = transforms[i];
        if (t->is_warp ? !t->warp || t->warp->kind != CLVOX_KIND_DISPLACEMENT || t->warp->frames != 3
                       : !clv_matrix_regular(t->matrix))
            return clvox_fail(CLVOX_ERROR_ARGUMENT,
                              t->is_warp ? "%s: only a displacement field can be written as a warp"
                                         : "%s: a singular matrix is not written",
                              path);
    }
    return format->write(path, transforms, count);
}

int clvox_affine_invert(const double matrix[4][4], double out[4][4])
{
    CLV_GIVEN(matrix, out);
    return clv_matrix_invert(matrix, out);
}

int clvox_affine_write(const double matrix[4][4], clvox_affine_form form, const char *path)
{
    CLV_GIVEN(matrix, path);
    clvox_transform t = {.is_warp = 0};
    const clvox_transform *one = &t;
    clv_matrix_copy(matrix, t.matrix);
    if (!clv_matrix_regular(matrix))
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "%s: a singular matrix is not written", path);
    return form == CLVOX_AFFINE_RAS ? clv_rows_transform.write(path, &one, 1) : clvox_transforms_write(&one, 1, path);
}

int clvox_warp_write(const clvox_volume *warp, const char *path)
{
    CLV_GIVEN(warp, path);
    if (warp->kind != CLVOX_KIND_DISPLACEMENT)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "%s: only a displacement field can be written as a warp",
                          path);
    clvox_volume copy = *warp;
    copy.type = CLVOX_TYPE_FLOAT32;
    return clvox_volume_write(&copy, path);
}
