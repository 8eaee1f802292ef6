/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REF_MATCH_BOUNDARY_H
#define REF_MATCH_BOUNDARY_H

/* clv_boundary of points of 6 numbers each. */
void ref_boundary(const double *image, const int size[3], const double map[3][4], const double *points,
                  int count, double slope, double sums[14]);

#endif
