/* SPDX-License-Identifier: Apache-2.0 */
/* Warps that volumes hold, in the forms of the programs that write them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/matrix.h"
#include "base/status.h"
#include "io/transform/format.h"
#include "io/volume/file.h"
#include "io/volume/format.h"
#include "io/transform/warp_form.h"

/* MRtrix stores positions and displacements alike, as three volumes without
 * any mark, and so does FSL. Positions rise with the voxel's own position by about one
 * millimetre each, displacements by about none: the slope of the regression of
 * values on positions is nearer to 1 or to 0. surely: they also rise
 * with it closely, so that they are no frames of a scan either. Voxels outside of the warp's
 * range are NaN (or all 0 in older files) and do not count. place: voxel -> position. */
static bool holds_positions(const clvox_volume *v, const double place[4][4], bool surely)
{
    const int *n = v->grid.size;
    size_t voxels = clvox_grid_voxels(&v->grid), used = 0;
    double sum_x[3] = {0}, sum_v[3] = {0}, square = 0, product = 0, spread = 0;
    for (size_t at = 0; at < voxels; at++) {
        double x[3] = {(double)(at % (size_t)n[0]), (double)(at / (size_t)n[0] % (size_t)n[1]),
                       (double)(at / (size_t)n[0] / (size_t)n[1])};
        double y[3] = {v->data[at], v->data[at + voxels], v->data[at + 2 * voxels]};
        if (!isfinite(y[0] + y[1] + y[2]) || (y[0] == 0 && y[1] == 0 && y[2] == 0))
            continue;
        clv_matrix_apply(place, x, x);
        used++;
        for (int c = 0; c < 3; c++) {
            sum_x[c] += x[c];
            sum_v[c] += y[c];
            square += x[c] * x[c];
            product += x[c] * y[c];
            spread += y[c] * y[c];
        }
    }
    for (int c = 0; used && c < 3; c++) {
        square -= sum_x[c] * sum_x[c] / (double)used;
        product -= sum_x[c] * sum_v[c] / (double)used;
        spread -= sum_v[c] * sum_v[c] / (double)used;
    }
    return product > 0.5 * square &&
           (!surely || (product < 2 * square && product * product > 0.2 * square * spread));
}

/* FSL's scaled millimetres of an image -> RAS. */
static int from_fsl(const clvox_grid *grid, double out[4][4])
{
    int status;
    double frame[4][4];
    clv_fsl_frame(grid, frame);
    CLV_TRY(clv_matrix_invert(CLV_MATRIX(frame), frame));
    clv_matrix_multiply(grid->to_ras, CLV_MATRIX(frame), out);
end:
    return status;
}

/* Turns displacements (or positions) in FSL's mm, on the grid of the fixed image, into those of RAS, in place:
 * y = from_moving (affine^-1 to_fixed x + u). affine: FLIRT's, from the moving image to the fixed one. */
static int take_fsl(clvox_volume *v, const clvox_grid *moving, const double affine[4][4], bool positions)
{
    int status;
    double place[4][4], map[4][4], inverse[4][4];
    size_t voxels = clvox_grid_voxels(&v->grid);
    const int *n = v->grid.size;
    clv_fsl_frame(&v->grid, place);
    CLV_TRY(from_fsl(moving, map));
    CLV_TRY(clv_matrix_invert(affine, inverse));
    clv_matrix_multiply(CLV_MATRIX(inverse), CLV_MATRIX(place), place);
    for (size_t i = 0; i < voxels; i++) {
        double voxel[3] = {(double)(i % (size_t)n[0]), (double)(i / (size_t)n[0] % (size_t)n[1]),
                           (double)(i / (size_t)n[0] / (size_t)n[1])};
        double x[3], y[3];
        clv_matrix_apply(CLV_MATRIX(place), voxel, y);
        clv_matrix_apply(CLV_MATRIX(v->grid.to_ras), voxel, x);
        for (size_t c = 0; c < 3; c++)
            y[c] = (positions ? 0 : y[c]) + (double)v->data[c * voxels + i];
        clv_matrix_apply(CLV_MATRIX(map), y, y);
        for (size_t c = 0; c < 3; c++)
            v->data[c * voxels + i] = (float)(y[c] - x[c]);
    }
    v->kind = CLVOX_KIND_DISPLACEMENT;
end:
    return status;
}

/* Whether an axis of `size` coefficients describes `samples` voxels, as FNIRT makes them: cosines are as many orders
 * as it has, splines reach a knot or two beyond each end, and stand on every voxel where knots are voxels. */
static bool suits(clv_basis basis, int size, double knots, int samples)
{
    if (basis == CLV_BASIS_COSINES)
        return size <= samples;
    if (!(knots >= 1) || knots > samples + 1.0)
        return false;
    if (knots == 1)
        return size == samples;
    int cells = (int)(samples / knots);
    return basis == CLV_BASIS_CUBIC ? size == (int)ceil((samples + 1) / knots) + 2 : size > cells && size <= cells + 3;
}

/* FNIRT's coefficients, which know the size of the fixed image and where they lie in its voxels, but not where
 * that is: the field is summed up at each of its voxels, counted as FSL does, with x from the other end where
 * the axes are right-handed. The first spline is centred a knot outside, or on the first voxel where each has one. */
static int take_coefficients(const char *path, const clv_volume_header *h, const clvox_grid *fixed, clvox_volume **v)
{
    int status;
    clvox_volume *out = NULL;
    double edge[3], *copy = NULL;
    size_t each = clvox_grid_voxels(&(*v)->grid);
    clv_basis_field s = {.basis = h->field == CLV_FIELD_FSL_COSINES     ? CLV_BASIS_COSINES
                                  : h->field == CLV_FIELD_FSL_QUADRATIC ? CLV_BASIS_QUADRATIC
                                                                        : CLV_BASIS_CUBIC};
    bool fits = true, whole = true;
    clvox_grid_spacing(fixed, edge);
    for (int a = 0; a < 3; a++) {
        const double knots = floor(h->fsl.knots[a] + 0.5);
        s.size[a] = (*v)->grid.size[a];
        s.length[a] = fixed->size[a];
        s.step[a] = s.basis == CLV_BASIS_COSINES ? 1 : 1 / knots;
        s.start[a] = s.basis != CLV_BASIS_COSINES && knots != 1;
        fits = fits && fixed->size[a] == (int)fmin(fmax(h->fsl.size[a], 0), 1e9) &&
               fabs(edge[a] - h->fsl.edge[a]) <= 1e-3 * edge[a];
        whole = whole && suits(s.basis, s.size[a], knots, fixed->size[a]);
    }
    if (!fits)
        return clvox_fail(
            CLVOX_ERROR_FORMAT,
            "%s: holds FNIRT's coefficients for a reference of %g x %g x %g voxels of %g x %g x %g mm; give "
            "that image with -r",
            path, h->fsl.size[0], h->fsl.size[1], h->fsl.size[2], h->fsl.edge[0], h->fsl.edge[1],
            h->fsl.edge[2]);
    if (!whole)
        return clv_header_damaged(path, "%d x %d x %d coefficients at every %g, %g and %g voxels make no field of %g x "
                                        "%g x %g",
                                  s.size[0], s.size[1], s.size[2], h->fsl.knots[0], h->fsl.knots[1], h->fsl.knots[2],
                                  h->fsl.size[0], h->fsl.size[1], h->fsl.size[2]);
    if (clv_matrix_determinant(fixed->to_ras) > 0) {
        s.start[0] += (fixed->size[0] - 1) * s.step[0];
        s.step[0] = -s.step[0];
    }
    copy = clv_array(each, 3 * sizeof *copy);
    if (!copy)
        return clvox_fail(CLVOX_ERROR_MEMORY, "%s: out of memory", path);
    for (size_t i = 0; i < 3 * each; i++)
        copy[i] = (double)(*v)->data[i];
    for (size_t c = 0; c < 3; c++)
        s.component[c] = copy + c * each;
    CLV_TRY(clvox_volume_create(fixed, 3, CLVOX_KIND_SCALAR, &out));
    CLV_TRY(clv_basis_sample(&s, out));
    clvox_volume_destroy(v);
    *v = out;
    out = NULL;
end:
    clvox_volume_destroy(&out);
    free(copy);
    return status;
}

static int read_fsl(const char *path, const clv_volume_header *h, const clvox_grid *fixed, const clvox_grid *moving,
                    clvox_volume **v)
{
    int status = CLVOX_OK;
    double affine[4][4];
    bool field = h->field == CLV_FIELD_FSL;
    if (!moving || (!field && !fixed))
        return clvox_fail(
            CLVOX_ERROR_FORMAT,
            "%s: is an FSL FNIRT warp, whose coordinates depend on the images%s; use it where they are "
            "known: clvox apply -i MOVING -r FIXED, or clvox compose -r FIXED --moving MOVING",
            path, field ? "" : " that it belongs to");
    clv_matrix_identity(affine);
    if (!field)
        CLV_TRY(take_coefficients(path, h, fixed, v));
    if (!field)
        clv_matrix_copy(CLV_MATRIX(h->fsl.affine), affine);
    double place[4][4];
    clv_fsl_frame(&(*v)->grid, place);
    status = take_fsl(*v, moving, CLV_MATRIX(affine), field && holds_positions(*v, CLV_MATRIX(place), false));
end:
    return status;
}

static int read(const char *path, const clvox_grid *fixed, const clvox_grid *moving, clv_parts *parts)
{
    int status;
    clv_volume_header header;
    clvox_volume *v = NULL;
    CLV_TRY(clv_volume_read(path, &header, &v));
    if (header.field == CLV_FIELD_NIFTYREG) {
        status = clvox_fail(
            CLVOX_ERROR_FORMAT,
            "%s: is a NiftyReg control grid or velocity field, which clvox does not read; turn it into a "
            "deformation field with reg_transform -def",
            path);
    } else if (header.field >= CLV_FIELD_FSL) {
        status = read_fsl(path, &header, fixed, moving, &v);
    } else if (v->kind == CLVOX_KIND_COLOUR) {
        status = clvox_fail(CLVOX_ERROR_FORMAT, "%s: is a colour image, not a warp", path);
    } else if (v->kind != CLVOX_KIND_DISPLACEMENT && v->frames != 3) {
        status = clvox_fail(CLVOX_ERROR_FORMAT,
                            "%s: is an image of %d frame%s, not a warp, which has three components a voxel",
                            path, v->frames, v->frames == 1 ? "" : "s");
    } else if (v->kind != CLVOX_KIND_DISPLACEMENT) {
        bool known = v->kind == CLVOX_KIND_VECTOR || clv_ends_in(path, ".mif") || clv_ends_in(path, ".mif.gz") ||
                     clv_ends_in(path, ".mih");
        if (holds_positions(v, CLV_MATRIX(v->grid.to_ras), !known))
            clv_positions_to_displacements(v);
        else if (!known)
            status = clvox_fail(
                CLVOX_ERROR_FORMAT,
                "%s: is an image of 3 frames that does not say that it is a warp (NIfTI's intent 1006 or "
                "1007, or a fifth dimension); if it holds MRtrix's displacements, turn it into a "
                "deformation with warpconvert %s displacement2deformation OUT",
                path, path);
        v->kind = CLVOX_KIND_DISPLACEMENT;
    }
    if (status < 0)
        goto end;
    v->type = CLVOX_TYPE_FLOAT32;
    status = clv_parts_warp(path, parts, v);
    v = NULL;
end:
    clvox_volume_destroy(&v);
    return status;
}

static bool is(const char *path, const uint8_t *head, size_t size)
{
    /* A compressed file is a volume, whatever else may be wrong with it. */
    return clvox_volume_is_file(path) || (size > 2 && head[0] == 0x1f && head[1] == 0x8b);
}

const clv_transform_format clv_warp_transform = {
    .is = is,
    .read = read,
};
