/* SPDX-License-Identifier: Apache-2.0 */
/* Formats of transforms. A format is one file and one row of the table in
 * transform.c. */
#ifndef CLV_IO_TRANSFORM_FORMAT_H
#define CLV_IO_TRANSFORM_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "clvox/transform.h"

enum { CLV_AFFINE_LIMIT = 1 << 20 }; /* bytes of the file of one affine */

/* Parts of a file, in the order of a chain's links: a point passes part[0] first. */
enum { CLV_MAX_PARTS = 64 };
typedef struct clv_parts {
    clvox_transform *part[CLV_MAX_PARTS];
    int count;
} clv_parts;

/* Adds an affine (RAS), which must be regular; or a warp, which the parts own from then on, also on failure. */
int clv_parts_affine(const char *path, clv_parts *parts, const double matrix[4][4]);
int clv_parts_warp(const char *path, clv_parts *parts, clvox_volume *warp);
void clv_parts_free(clv_parts *parts);

typedef struct clv_transform_format {
    const char *const ends[4]; /* names that ask for it in writing; where there is no is, in reading too */
    bool (*is)(const char *path, const uint8_t *head, size_t size);
    /* Adds what the file holds. fixed and moving: the grids that FSL's warps depend on, or NULL. */
    int (*read)(const char *path, const clvox_grid *fixed, const clvox_grid *moving, clv_parts *parts);
    /* Writes one affine or more, and warps where it has them; NULL: is only read. */
    int (*write)(const char *path, const clvox_transform *const *parts, int count);
} clv_transform_format;

extern const clv_transform_format clv_warp_transform, clv_itk_text_transform, clv_itk_hdf5_transform,
    clv_itk_mat_transform, clv_lta_transform, clv_register_dat_transform, clv_rows_transform;

/* ---- fields of coefficients --------------------------------------------- */

typedef enum clv_basis {
    CLV_BASIS_CUBIC = 0, /* B-splines */
    CLV_BASIS_QUADRATIC,
    CLV_BASIS_COSINES /* the orthonormal DCT-II of `length` samples: order j of an axis is
                         sqrt(2/length) cos(pi j (2 index + 1) / (2 length)), order 0 sqrt(1/length) */
} clv_basis;

/* Coefficients, x fastest, three components apart from one another. Sample (i, j, k) lies at the
 * index start + step (i, j, k): of a coefficient, on which the spline is centred there, or of a cosine's sample. */
typedef struct clv_basis_field {
    clv_basis basis;
    int size[3];
    const double *component[3];
    double start[3], step[3];
    int length[3]; /* of cosines alone */
} clv_basis_field;

/* Samples it onto out, which has three frames; coefficients that there are not are 0.
 * CLVOX_ERROR_MEMORY without memory for a plane. */
int clv_basis_sample(const clv_basis_field *field, clvox_volume *out);

/* Into how many parts the distance of cubic splines has to be cut for linear interpolation between samples
 * to stay within mm of them; at least 1. */
double clv_basis_cuts(const clv_basis_field *field, double mm);

#endif
