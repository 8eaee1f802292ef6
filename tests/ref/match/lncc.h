/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REF_MATCH_LNCC_H
#define REF_MATCH_LNCC_H

#include <stdbool.h>

/* cc(x), the sum over one window voxel by voxel; 0 where x is not valid, which
 * *valid says. fixed and moving: doubles, NaN where not valid. */
double ref_lncc_at(const double *fixed, const double *moving, const int size[3], int radius, double epsilon,
                   int x, int y, int z, bool *valid);

/* clv_lncc: S, the valid voxels, and both derivatives. */
void ref_lncc(const double *fixed, const double *moving, const int size[3], int radius, double epsilon,
              bool local, double *derivative_moving, double *derivative_fixed, double *s, double *count);

#endif
