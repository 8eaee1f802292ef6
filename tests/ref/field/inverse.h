/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REF_FIELD_INVERSE_H
#define REF_FIELD_INVERSE_H

/* |v(x) + u(x + v(x))| in voxels at voxel i; planar fields, u trilinear with
 * its border's vectors going on. */
double ref_inverse_left(const float *u, const float *v, const int size[3], const float spacing[3], int i);

/* The inverse at voxel i by bisected fixed-point steps, mm; returns what is
 * left in voxels. */
double ref_inverse_at(const float *u, const int size[3], const float spacing[3], int i, double d[3]);

#endif
