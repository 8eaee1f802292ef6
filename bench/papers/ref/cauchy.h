/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REF_PAPERS_CAUCHY_H
#define REF_PAPERS_CAUCHY_H

/* The product; shares (NULL: not wanted): of each target. */
double ref_cauchy(const float *target, int targets, const float *source, int sources, double width,
                  double *shares);

#endif
