/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REF_TENSOR_MEASURES_H
#define REF_TENSOR_MEASURES_H

#include <stddef.h>

/* FA MD AD RD mode cl cp cs l1 l2 l3 of one tensor, Dxx Dxy Dxz Dyy Dyz Dzz: the
 * invariants from the entries, the eigenvalues as roots of the characteristic
 * polynomial (good to 1e-8 of the largest). */
void ref_tensor_measures(const double d[6], double out[11]);

/* |D v - l v| / |D| (0 for D = 0). */
double ref_tensor_residual(const double d[6], double l, const double v[3]);

/* |D - mean| / |D|, by which the mode is conditioned. */
double ref_tensor_spread(const double d[6]);

#endif
