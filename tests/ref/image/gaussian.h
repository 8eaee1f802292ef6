/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REF_IMAGE_GAUSSIAN_H
#define REF_IMAGE_GAUSSIAN_H

/* out = the sampled Gaussian, cut at ceil(3 sigma) (at least 1) and
 * normalised, along each axis with sigma > 0 in turn; edge value repeated. */
void ref_gaussian(const double *in, const int size[3], const double sigma[3], double *out);

#endif
