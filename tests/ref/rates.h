/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REF_RATES_H
#define REF_RATES_H

/* rate = lambda d/dJ [(J - 1) log J] with J = det(I - Du), the derivative taken
 * of the quadratic continuation below J = 1e-3. u is planar. */
void ref_rates(const double *u, const int size[3], const double spacing[3], double lambda, double *rate);

#endif
