/* SPDX-License-Identifier: Apache-2.0 */
#include "io/transform/itk.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/matrix.h"
#include "base/status.h"

/* ---- what ITK's parameters mean ----------------------------------------- */

/* Rotation by the vector part of a unit quaternion. */
static int versor(const double p[3], double out[3][3])
{
    double square = p[0] * p[0] + p[1] * p[1] + p[2] * p[2];
    if (square > 1 + 1e-6)
        return -1;
    double x = p[0], y = p[1], z = p[2], w = sqrt(square < 1 ? 1 - square : 0);
    const double r[3][3] = {{1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)},
                            {2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)},
                            {2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)}};
    memcpy(out, r, sizeof r);
    return 0;
}

/* Rotation by angles about x, y and z: about y first, then x, then z, or, when
 * zyx is set, about x first, then y, then z. */
static void euler(const double p[3], bool zyx, double out[3][3])
{
    double cx = cos(p[0]), sx = sin(p[0]), cy = cos(p[1]), sy = sin(p[1]), cz = cos(p[2]), sz = sin(p[2]);
    const double x[3][3] = {{1, 0, 0}, {0, cx, -sx}, {0, sx, cx}};
    const double y[3][3] = {{cy, 0, sy}, {0, 1, 0}, {-sy, 0, cy}};
    const double z[3][3] = {{cz, -sz, 0}, {sz, cz, 0}, {0, 0, 1}};
    clv_matrix3_multiply(zyx ? y : x, zyx ? x : y, out);
    clv_matrix3_multiply(z, CLV_MATRIX3(out), out);
}

/* Adds scales that differ by axis, and skews, to a rotation, as
 * ScaleVersor3DTransform and ScaleSkewVersor3DTransform do. */
static void add_scales(const double *scale, const double *skew, double m[3][3])
{
    for (int i = 0; i < 3; i++) {
        m[i][i] += scale[i] - 1;
        for (int j = 0; skew && j < 2; j++)
            m[i][j + (j >= i)] += skew[2 * i + j];
    }
}

/* Rotation, scales and skews multiplied, as ComposeScaleSkewVersor3DTransform
 * does it. */
static void multiply_scales(const double *scale, const double *skew, double m[3][3])
{
    const double s[3][3] = {{scale[0], scale[0] * skew[0], scale[0] * skew[1]},
                            {0, scale[1], scale[1] * skew[2]},
                            {0, 0, scale[2]}};
    clv_matrix3_multiply(CLV_MATRIX3(m), s, m);
}

/* The kinds of transforms, by the names of ITK's classes. */
typedef enum kind {
    AFFINE, MATRIX_OFFSET, EULER, VERSOR, VERSOR_RIGID, SIMILARITY, SCALE, SCALE_VERSOR, SCALE_SKEW,
    COMPOSE_SKEW, TRANSLATION, IDENTITY, KINDS,
} kind;

static const struct {
    const char *name;
    int count;    /* of parameters */
    int shift;    /* where the translation begins among them, -1: there is none */
    bool centred; /* the fixed parameters are a centre */
} kinds[KINDS] = {
    [AFFINE] = {"AffineTransform", 12, 9, true},
    [MATRIX_OFFSET] = {"MatrixOffsetTransformBase", 12, 9, true},
    [EULER] = {"Euler3DTransform", 6, 3, true},
    [VERSOR] = {"VersorTransform", 3, -1, true},
    [VERSOR_RIGID] = {"VersorRigid3DTransform", 6, 3, true},
    [SIMILARITY] = {"Similarity3DTransform", 7, 3, true},
    [SCALE] = {"ScaleTransform", 3, -1, true},
    [SCALE_VERSOR] = {"ScaleVersor3DTransform", 9, 3, true},
    [SCALE_SKEW] = {"ScaleSkewVersor3DTransform", 15, 3, true},
    [COMPOSE_SKEW] = {"ComposeScaleSkewVersor3DTransform", 12, 3, true},
    [TRANSLATION] = {"TranslationTransform", 3, 0, false},
    [IDENTITY] = {"IdentityTransform", 0, -1, false},
};

static bool is_class(const char *name, const char *wanted)
{
    size_t length = strlen(wanted);
    return !strncmp(name, wanted, length) && (name[length] == '_' || !name[length]);
}

/* The linear part of a transform of right length; -1: its values do not fit. */
static int linear_part(kind k, const double *p, bool zyx, double m[3][3])
{
    switch (k) {
    case AFFINE:
    case MATRIX_OFFSET:
        memcpy(m, p, 9 * sizeof *p);
        break;
    case EULER:
        euler(p, zyx, m);
        break;
    case SCALE:
        for (int i = 0; i < 3; i++)
            m[i][i] = p[i];
        break;
    case VERSOR:
    case VERSOR_RIGID:
    case SIMILARITY:
    case SCALE_VERSOR:
    case SCALE_SKEW:
    case COMPOSE_SKEW:
        if (versor(p, m))
            return -1;
        for (int i = 0; k == SIMILARITY && i < 9; i++)
            m[i / 3][i % 3] *= p[6];
        if (k == SCALE_VERSOR || k == SCALE_SKEW)
            add_scales(p + 6, k == SCALE_SKEW ? p + 9 : NULL, m);
        if (k == COMPOSE_SKEW)
            multiply_scales(p + 6, p + 9, m);
        break;
    default:
        break;
    }
    return 0;
}

/* The RAS matrix of an ITK transform: y = M (x - c) + c + t in LPS. */
static int add_linear(const char *path, kind k, const clv_itk *itk, clv_parts *parts)
{
    double m[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}, t[3] = {0}, c[3] = {0}, out[4][4];
    bool zyx = itk->fixeds > 3 && itk->fixed[3] != 0;
    bool centred = !kinds[k].centred || itk->fixeds == 3 || itk->fixeds == 4;
    if (itk->parameters != (size_t)kinds[k].count || !centred || linear_part(k, itk->parameter, zyx, m))
        return clvox_fail(CLVOX_ERROR_FORMAT,
                          "%s: its %.60s has %zu parameters and %zu fixed ones, which do not fit", path,
                          itk->name, itk->parameters, itk->fixeds);
    if (kinds[k].centred)
        memcpy(c, itk->fixed, sizeof c);
    if (kinds[k].shift >= 0)
        memcpy(t, itk->parameter + kinds[k].shift, sizeof t);
    clv_matrix_identity(out);
    for (int i = 0; i < 3; i++) {
        out[i][3] = t[i] + c[i];
        for (int j = 0; j < 3; j++) {
            out[i][j] = m[i][j];
            out[i][3] -= m[i][j] * c[j];
        }
    }
    clv_matrix_flip_lps(CLV_MATRIX(out), out);
    return clv_parts_affine(path, parts, CLV_MATRIX(out));
}

/* ---- fields ------------------------------------------------------------- */

/* Size, origin, spacing and direction: the 18 fixed parameters of what lies on a grid, in LPS. */
static int take_grid(const char *path, const clv_itk *itk, clvox_grid *grid)
{
    const double *f = itk->fixed;
    double values = 1;
    bool good = itk->fixeds == 18;
    *grid = (clvox_grid){.size = {0}};
    for (int i = 0; i < 3 && good; i++) {
        good = f[i] >= 1 && f[i] <= INT_MAX && f[i] == floor(f[i]);
        grid->size[i] = good ? (int)f[i] : 0;
        values *= f[i];
    }
    if (!good || 3 * values != (double)itk->parameters)
        return clvox_fail(CLVOX_ERROR_FORMAT,
                          "%s: its %.60s has %zu parameters and %zu fixed ones, which do not fit", path,
                          itk->name, itk->parameters, itk->fixeds);
    clv_matrix_identity(grid->to_ras);
    for (int i = 0; i < 3; i++) {
        double sign = i < 2 ? -1 : 1;
        for (int j = 0; j < 3; j++)
            grid->to_ras[i][j] = sign * f[9 + 3 * i + j] * f[6 + j];
        grid->to_ras[i][3] = sign * f[3 + i];
    }
    if (!clv_matrix_regular(CLV_MATRIX(grid->to_ras)))
        return clvox_fail(CLVOX_ERROR_FORMAT, "%s: the grid of its %.60s is singular or not finite", path,
                          itk->name);
    return CLVOX_OK;
}

/* The components of a vector stand together. */
static int add_field(const char *path, const clv_itk *itk, clv_parts *parts)
{
    int status;
    clvox_grid grid;
    clvox_volume *v = NULL;
    CLV_TRY(take_grid(path, itk, &grid));
    CLV_TRY(clvox_volume_create(&grid, 3, CLVOX_KIND_DISPLACEMENT, &v));
    size_t voxels = clvox_grid_voxels(&grid);
    for (size_t i = 0; i < voxels; i++)
        for (size_t c = 0; c < 3; c++)
            v->data[c * voxels + i] = (float)(c < 2 ? 0.0 - itk->parameter[3 * i + c] : itk->parameter[3 * i + c]);
    status = clv_parts_warp(path, parts, v);
end:
    return status;
}

/* The spline moves points between its second coefficient and the last but one along each axis, and no others: as
 * a field that is zero outside does. */
static int add_spline(const char *path, const clv_itk *itk, clv_parts *parts)
{
    static const double NEAR = 0.002, MOST = 1 << 24;
    int status;
    clvox_grid control, grid;
    clvox_volume *v = NULL;
    CLV_TRY(take_grid(path, itk, &control));
    size_t each = itk->parameters / 3;
    clv_basis_field s = {.component = {itk->parameter, itk->parameter + each, itk->parameter + 2 * each}};
    double cells = 1, cuts;
    for (int a = 0; a < 3; a++) {
        s.size[a] = control.size[a];
        if (s.size[a] < 4)
            return clvox_fail(CLVOX_ERROR_FORMAT,
                              "%s: its B-spline has %d coefficients along an axis, 4 are the least", path,
                              s.size[a]);
        cells *= s.size[a] - 3;
    }
    cuts = fmin(clv_basis_cuts(&s, NEAR), fmax(1, floor(cbrt(MOST / cells))));
    grid = control;
    for (int a = 0; a < 3; a++) {
        s.start[a] = 1;
        s.step[a] = 1 / cuts;
        grid.size[a] = (int)((control.size[a] - 3) * cuts) + 1;
    }
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            grid.to_ras[i][j] /= cuts;
            grid.to_ras[i][3] += control.to_ras[i][j];
        }
    CLV_TRY(clvox_volume_create(&grid, 3, CLVOX_KIND_DISPLACEMENT, &v));
    status = clv_basis_sample(&s, v);
    size_t voxels = clvox_grid_voxels(&grid);
    for (size_t i = 0; i < 2 * voxels; i++)
        v->data[i] = 0.0f - v->data[i];
    if (status < 0)
        clvox_volume_destroy(&v);
    else
        status = clv_parts_warp(path, parts, v);
end:
    return status;
}

/* ---- all of them -------------------------------------------------------- */

bool clv_itk_is_composite(const clv_itk *itk)
{
    return is_class(itk->name, "CompositeTransform");
}

int clv_itk_add(const char *path, const clv_itk *itk, clv_parts *parts)
{
    kind k = AFFINE;
    const char *type = strchr(itk->name, '_');
    if (strstr(itk->name, "_2_2") || strstr(itk->name, "_4_4"))
        return clvox_fail(CLVOX_ERROR_FORMAT, "%s: holds a transform that is not of three dimensions (%s)",
                          path, itk->name);
    if (is_class(itk->name, "DisplacementFieldTransform"))
        return add_field(path, itk, parts);
    if ((is_class(itk->name, "BSplineTransform") || is_class(itk->name, "BSplineDeformableTransform")) &&
        (!type || !strcmp(type, "_double_3_3") || !strcmp(type, "_float_3_3")))
        return add_spline(path, itk, parts);
    while (k < KINDS && !is_class(itk->name, kinds[k].name))
        k++;
    if (k == KINDS)
        return clvox_fail(
            CLVOX_ERROR_FORMAT,
            "%s: holds an ITK transform of the kind %.60s, which clvox does not read; convert it to an "
            "affine or a displacement field",
            path, itk->name);
    return add_linear(path, k, itk, parts);
}

void clv_itk_turn_round(clv_parts *parts, int first)
{
    for (int i = first, j = parts->count - 1; i < j; i++, j--) {
        clvox_transform *keep = parts->part[i];
        parts->part[i] = parts->part[j];
        parts->part[j] = keep;
    }
}

void clv_itk_affine(const double matrix[4][4], double p[12])
{
    double m[4][4];
    clv_matrix_flip_lps(matrix, m);
    for (int i = 0; i < 12; i++) /* + 0.0 turns the -0 that negation leaves into 0 */
        p[i] = (i < 9 ? m[i / 3][i % 3] : m[i - 9][3]) + 0.0;
}

int clv_parts_join(const char *path, const clvox_transform *const *parts, int count, double out[4][4])
{
    clv_matrix_identity(out);
    for (int i = 0; i < count; i++) {
        if (parts[i]->is_warp)
            return clvox_fail(CLVOX_ERROR_ARGUMENT,
                              "%s: a file of this kind holds no warp; name a .h5 or .nii.gz file", path);
        clv_matrix_multiply(parts[i]->matrix, CLV_MATRIX(out), out);
    }
    return CLVOX_OK;
}
