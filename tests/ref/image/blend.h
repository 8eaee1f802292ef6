/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REF_IMAGE_BLEND_H
#define REF_IMAGE_BLEND_H

#include <stddef.h>

/* out = u + w (v - u) for planar fields of n voxels. */
void ref_blend(const float *u, const float *v, const float *w, size_t n, double *out);

#endif
