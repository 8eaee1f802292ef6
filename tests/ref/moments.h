/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REF_MOMENTS_H
#define REF_MOMENTS_H

void ref_moments(const float *w, const int size[3], double result[10]);

#endif
