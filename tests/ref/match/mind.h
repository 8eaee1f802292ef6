/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REF_MATCH_MIND_H
#define REF_MATCH_MIND_H

/* clv_mind: S, the valid voxels, and both derivatives. fixed and moving: doubles, NaN where not valid. */
void ref_mind(const double *fixed, const double *moving, const int size[3], int radius, double epsilon,
              double *derivative_moving, double *derivative_fixed, double *s, double *count);

#endif
