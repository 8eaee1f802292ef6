/* SPDX-License-Identifier: Apache-2.0 */
/* Affine maps as text and as ITK's binary files. Matrices are RAS mm. */
#ifndef CLV_IO_ITK_H
#define CLV_IO_ITK_H

#include <stddef.h>

/* ITK's text form: affine, rigid, similarity, scales, skews and translation,
 * with a centre. text ends in 0. path is for messages. */
int clv_itk_text_parse(const char *path, const char *text, double out[4][4]);

/* ITK's binary form, a MATLAB 4 file of two vectors, as ANTs writes it. */
int clv_itk_mat_parse(const char *path, const char *bytes, size_t size, double out[4][4]);
/* 1 when the bytes begin as such a file does. */
int clv_itk_mat_is(const char *bytes, size_t size);

/* Three or four rows of four numbers; lines that begin with # are remarks. */
int clv_rows_parse(const char *path, const char *text, double out[4][4]);

/* Each returns the length of what it wrote to out, which has CLV_AFFINE_BYTES. */
enum { CLV_AFFINE_BYTES = 1024 };
size_t clv_itk_text_make(const double matrix[4][4], char *out);
size_t clv_itk_mat_make(const double matrix[4][4], char *out);
size_t clv_rows_make(const double matrix[4][4], char *out);

#endif
