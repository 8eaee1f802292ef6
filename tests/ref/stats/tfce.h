/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REF_STATS_TFCE_H
#define REF_STATS_TFCE_H

/* Threshold-free cluster enhancement by its definition: sum over h = step, 2 step, ... up to t(v) of extent^e h^H step,
 * extent the voxels of the cluster of t >= h that v is in, found anew for each h. NaN: outside. connectivity 6, 26. */
void ref_tfce(const float *t, const int size[3], double step, double height, double extent, int connectivity,
              double *out);

#endif
