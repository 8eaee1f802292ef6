/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REF_COPY_H
#define REF_COPY_H

#include <stddef.h>

/* out[i] = in[i]. */
void ref_copy(const float *in, size_t n, double *out);

#endif
