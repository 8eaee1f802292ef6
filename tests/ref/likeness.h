/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REF_LIKENESS_H
#define REF_LIKENESS_H

#include "op/likeness.h"

/* S of two images of n values, as src/op/likeness.h defines it; *valid: N. */
double ref_likeness(clv_likeness_kind kind, const double *fixed, const double *moving, size_t n, int bins,
                    size_t *valid);

/* dS/dM(y) at every y. For dS/dF exchange the images. */
void ref_likeness_slope(clv_likeness_kind kind, const double *fixed, const double *moving, size_t n,
                        int bins, double *slope);

#endif
