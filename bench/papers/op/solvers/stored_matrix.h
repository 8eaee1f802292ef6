/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_OP_PAPERS_STORED_MATRIX_H
#define CLV_OP_PAPERS_STORED_MATRIX_H

#include "op/image.h"

/* The Helmholtz matrix of Ha 2011, figure 2.10: (gamma + 6 alpha) x - alpha (the sum of the six neighbours),
 * 0 outside, in voxels. The forms of table 2.3. */
typedef enum clv_matrix_form {
    CLV_MATRIX_IMPLICIT, /* constants in the kernel, a column of voxels an item */
    CLV_MATRIX_DIA,      /* seven stored diagonals */
    CLV_MATRIX_ELL,      /* seven stored numbers and columns a row */
    CLV_MATRIX_FORMS
} clv_matrix_form;

enum { CLV_MATRIX_NUMBERS = 7 };

/* DIA and ELL read values and columns of CLV_MATRIX_NUMBERS n words each. */
typedef struct clv_stored_matrix {
    int size[3];
    float alpha, gamma;
    clv_buffer *values, *columns;
} clv_stored_matrix;

int clv_stored_matrix_fill(clvox_context *ctx, const clv_stored_matrix *matrix);
/* out = the matrix times v; values and columns may be NULL where the form does not read them. */
int clv_stored_matrix_multiply(clvox_context *ctx, const clv_stored_matrix *matrix, clv_matrix_form form,
                        const clv_buffer *v, clv_buffer *out);

extern const clv_entry clv_entry_matrix_fill, clv_entry_matrix_implicit, clv_entry_matrix_dia,
    clv_entry_matrix_ell;

#endif
