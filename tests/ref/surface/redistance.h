/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REF_SURFACE_REDISTANCE_H
#define REF_SURFACE_REDISTANCE_H

/* The signed distance that cl/surface/redistance.cl defines, in double precision and by
 * comparing every voxel with every place of the level. phi is finite. */
void ref_redistance(const float *phi, const int size[3], const float spacing[3], double reach, double *out);

#endif
