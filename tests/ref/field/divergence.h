/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REF_FIELD_DIVERGENCE_H
#define REF_FIELD_DIVERGENCE_H

/* div v of a planar field, and v += weight grad s by scattering what the first gathers. */
void ref_divergence(const double *v, const int size[3], const double spacing[3], double *out);
void ref_add_gradient(const double *s, const double weight[3], const int size[3], const double spacing[3],
                      double *v);

#endif
