/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REF_PAPERS_TENSOR_TV_SCHEMES_H
#define REF_PAPERS_TENSOR_TV_SCHEMES_H

#include "bench/papers/ref/tensor_tv.h"

/* `steps` steps of every block of size `block` by itself, its surroundings as
 * they were before, or (alone) without them. */
void ref_tensor_blocks(const ref_tensor_tv *m, double *d, const int block[3], bool alone, int steps);

#endif
