/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REF_PAPERS_NARY_H
#define REF_PAPERS_NARY_H

#include <stdbool.h>

/* The mean or (most) the largest of count volumes of n floats, one after another. */
void ref_nary(bool most, const float *in, int count, int n, double *out);

#endif
