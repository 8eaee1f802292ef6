/* SPDX-License-Identifier: Apache-2.0 */
#include "io/itk.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/matrix.h"
#include "base/status.h"
#include "io/plain.h"

enum { MOST = 16 }; /* numbers in a list */

/* Reads numbers up to the end of the line (or of the text, across lines);
 * returns how many, at most MOST, or -1 at anything else. */
static int numbers(const char *text, bool one_line, double out[MOST])
{
    int count = 0;
    clv_plain plain = clv_plain_begin();
    for (;;) {
        text += strspn(text, one_line ? " \t\r" : " \t\r\n");
        if (!one_line && *text == '#') {
            text += strcspn(text, "\n");
            continue;
        }
        if (!*text || *text == '\n')
            break;
        char *end;
        double x = strtod(text, &end);
        if (end == text || count == MOST || !isfinite(x) || !strchr(" \t\r\n", *end)) {
            count = -1;
            break;
        }
        out[count++] = x;
        text = end;
    }
    clv_plain_end(plain);
    return count;
}

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
static int assemble(const char *path, const char *name, const double *p, int count, const double *fixed,
                    int fixed_count, double out[4][4])
{
    double m[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}, t[3] = {0}, c[3] = {0};
    kind k = AFFINE;
    if (strstr(name, "_2_2") || strstr(name, "_4_4"))
        return clv_fail(CLVOX_ERROR_FORMAT, "%s: holds a transform that is not of three dimensions (%s)",
                        path, name);
    while (k < KINDS && !is_class(name, kinds[k].name))
        k++;
    if (k == KINDS)
        return clv_fail(
            CLVOX_ERROR_FORMAT,
            "%s: holds an ITK transform of the kind %.60s, which clvox does not read; convert it to an "
            "affine or a displacement field",
            path, name);
    bool zyx = fixed_count > 3 && fixed[3] != 0;
    if (count != kinds[k].count || (kinds[k].centred && fixed_count != 3 && fixed_count != 4) ||
        linear_part(k, p, zyx, m))
        return clv_fail(CLVOX_ERROR_FORMAT,
                        "%s: its %.60s has %d parameters and %d fixed ones, which do not fit", path, name,
                        count, fixed_count);
    if (kinds[k].centred)
        memcpy(c, fixed, sizeof c);
    if (kinds[k].shift >= 0)
        memcpy(t, p + kinds[k].shift, sizeof t);
    clv_matrix_identity(out);
    for (int i = 0; i < 3; i++) {
        out[i][3] = t[i] + c[i];
        for (int j = 0; j < 3; j++) {
            out[i][j] = m[i][j];
            out[i][3] -= m[i][j] * c[j];
        }
    }
    clv_matrix_flip_lps(CLV_MATRIX(out), out);
    return CLVOX_OK;
}

/* ---- text --------------------------------------------------------------- */

/* The text behind a line's key; NULL when the line has another key. */
static const char *value_of(const char *line, const char *key)
{
    size_t length = strlen(key);
    return strncmp(line, key, length) ? NULL : line + length;
}

int clv_itk_text_parse(const char *path, const char *text, double out[4][4])
{
    char name[128] = "";
    double p[MOST] = {0}, fixed[MOST] = {0};
    int count = 0, fixed_count = 0, transforms = 0;
    for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        const char *value;
        if ((value = value_of(line, "Transform:"))) {
            value += strspn(value, " \t");
            snprintf(name, sizeof name, "%.*s", (int)strcspn(value, " \t\r\n"), value);
            transforms++;
        } else if ((value = value_of(line, "Parameters:"))) {
            count = numbers(value, true, p);
        } else if ((value = value_of(line, "FixedParameters:"))) {
            fixed_count = numbers(value, true, fixed);
        }
    }
    if (!transforms)
        return clv_fail(CLVOX_ERROR_FORMAT, "%s: holds no transform", path);
    if (transforms > 1 || is_class(name, "CompositeTransform"))
        return clv_fail(
            CLVOX_ERROR_FORMAT,
            "%s: holds several transforms; take it apart with CompositeTransformUtil --disassemble "
            "and name the parts one by one",
            path);
    if (count < 0 || fixed_count < 0)
        return clv_fail(CLVOX_ERROR_FORMAT,
                        "%s: its parameters (%.60s) are damaged or more than clvox reads", path, name);
    return assemble(path, name, p, count, fixed, fixed_count, out);
}

size_t clv_itk_text_make(const double matrix[4][4], char *out)
{
    double m[4][4];
    clv_matrix_flip_lps(matrix, m);
    clv_plain plain = clv_plain_begin();
    int at = snprintf(out, CLV_AFFINE_BYTES,
                      "#Insight Transform File V1.0\n#Transform 0\nTransform: AffineTransform_double_3_3\n"
                      "Parameters:");
    /* + 0.0 turns the -0 that negation leaves into 0. */
    for (int i = 0; i < 9; i++)
        at += snprintf(out + at, CLV_AFFINE_BYTES - (size_t)at, " %.17g", m[i / 3][i % 3] + 0.0);
    for (int i = 0; i < 3; i++)
        at += snprintf(out + at, CLV_AFFINE_BYTES - (size_t)at, " %.17g", m[i][3] + 0.0);
    at += snprintf(out + at, CLV_AFFINE_BYTES - (size_t)at, "\nFixedParameters: 0 0 0\n");
    clv_plain_end(plain);
    return (size_t)at;
}

int clv_rows_parse(const char *path, const char *text, double out[4][4])
{
    double x[MOST];
    int count = numbers(text, false, x);
    if (count != 12 && count != 16)
        return clv_fail(
            CLVOX_ERROR_FORMAT,
            "%s: is no transform that clvox reads: neither an ITK transform, nor four rows of four "
            "numbers, nor a NIfTI warp",
            path);
    clv_matrix_identity(out);
    memcpy(out, x, (size_t)count * sizeof(double));
    if (fabs(out[3][0]) + fabs(out[3][1]) + fabs(out[3][2]) + fabs(out[3][3] - 1) > 1e-6)
        return clv_fail(CLVOX_ERROR_FORMAT, "%s: is no affine matrix: its last row is not 0 0 0 1", path);
    out[3][0] = out[3][1] = out[3][2] = 0;
    out[3][3] = 1;
    return CLVOX_OK;
}

size_t clv_rows_make(const double matrix[4][4], char *out)
{
    int at = 0;
    clv_plain plain = clv_plain_begin();
    for (int i = 0; i < 16; i++)
        at += snprintf(out + at, CLV_AFFINE_BYTES - (size_t)at, "%.17g%c", matrix[i / 4][i % 4] + 0.0,
                       i % 4 == 3 ? '\n' : ' ');
    clv_plain_end(plain);
    return (size_t)at;
}

/* ---- MATLAB 4 ----------------------------------------------------------- */

/* One vector of the file. */
typedef struct record {
    char name[128];
    int count;
    double values[MOST];
} record;

static uint32_t word(const char *bytes, bool big)
{
    uint32_t x;
    memcpy(&x, bytes, 4);
    return big == (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__) ? x : __builtin_bswap32(x);
}

/* Reads a record, which may hold no number; returns its length in bytes or 0.
 * Its first word is MOPT in decimal digits: M the byte order, P 0 for double
 * and 1 for single. */
static size_t next_record(const char *bytes, size_t left, record *out)
{
    if (left < 20)
        return 0;
    bool big = word(bytes, false) > 9999;
    uint32_t type = word(bytes, big), rows = word(bytes + 4, big), columns = word(bytes + 8, big);
    uint32_t imaginary = word(bytes + 12, big), name = word(bytes + 16, big);
    uint32_t order = type / 1000, precision = type / 10 % 10;
    big = big || order == 1;
    size_t element = precision ? 4 : 8;
    if (order > 1 || precision > 1 || type % 10 || imaginary || !name || name > sizeof out->name ||
        rows > MOST || columns > MOST || rows * columns > MOST)
        return 0;
    size_t count = rows * columns, length = 20 + name + count * element;
    if (length > left)
        return 0;
    memcpy(out->name, bytes + 20, name);
    out->name[name - 1] = 0;
    out->count = (int)count;
    for (size_t i = 0; i < count; i++) {
        const char *from = bytes + 20 + name + i * element;
        if (element == 4) {
            uint32_t bits = word(from, big);
            float value;
            memcpy(&value, &bits, 4);
            out->values[i] = value;
        } else {
            uint64_t low = word(from + (big ? 4 : 0), big), high = word(from + (big ? 0 : 4), big);
            uint64_t bits = high << 32 | low;
            memcpy(&out->values[i], &bits, 8);
        }
        if (!isfinite(out->values[i]))
            return 0;
    }
    return length;
}

int clv_itk_mat_is(const char *bytes, size_t size)
{
    record r;
    return next_record(bytes, size, &r) > 0;
}

int clv_itk_mat_parse(const char *path, const char *bytes, size_t size, double out[4][4])
{
    record parameters, fixed = {.count = 0};
    size_t length = next_record(bytes, size, &parameters);
    size_t second = length ? next_record(bytes + length, size - length, &fixed) : 0;
    if (!second || length + second != size || strcmp(fixed.name, "fixed"))
        return clv_fail(CLVOX_ERROR_FORMAT, "%s: is no ITK transform of one part, or is damaged", path);
    return assemble(path, parameters.name, parameters.values, parameters.count, fixed.values, fixed.count,
                    out);
}

static size_t put_record(const char *name, const double *values, uint32_t count, char *out)
{
    uint32_t length = (uint32_t)strlen(name) + 1;
    const uint32_t head[5] = {__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? 1000 : 0, count, 1, 0, length};
    memcpy(out, head, sizeof head);
    memcpy(out + 20, name, length);
    memcpy(out + 20 + length, values, count * sizeof *values);
    return 20 + length + count * sizeof *values;
}

size_t clv_itk_mat_make(const double matrix[4][4], char *out)
{
    double m[4][4], p[12];
    static const double center[3] = {0};
    clv_matrix_flip_lps(matrix, m);
    for (int i = 0; i < 12; i++)
        p[i] = i < 9 ? m[i / 3][i % 3] : m[i - 9][3];
    size_t at = put_record("AffineTransform_double_3_3", p, 12, out);
    return at + put_record("fixed", center, 3, out + at);
}
