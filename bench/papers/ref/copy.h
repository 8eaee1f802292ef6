/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REF_PAPERS_COPY_H
#define REF_PAPERS_COPY_H

#include <stddef.h>

/* out[i] = in[i]. */
void ref_copy(const float *in, size_t n, double *out);

#endif
