/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REF_IMAGE_RECURSIVE_H
#define REF_IMAGE_RECURSIVE_H

/* One line through Deriche's 4th-order filter in its direct form: four
 * samples and four results back in either direction. The border value is
 * repeated far beyond the ends. */
void ref_recursive_line(const double *in, int n, double sigma, double *out);

/* One line through the true Gaussian, sampled and normalised far out. */
void ref_gaussian_line(const double *in, int n, double sigma, double *out);

#endif
