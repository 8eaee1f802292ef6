/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REF_PAPERS_TENSOR_TV_LISTING_H
#define REF_PAPERS_TENSOR_TV_LISTING_H

#include "bench/papers/ref/tensor_tv.h"

/* A step of Moazeni et al. 2009 with the curvature of Listing 1; l: the factors, six planes. Of m size, w,
 * data, lambda, eps and dt count. */
void ref_tensor_listing(const ref_tensor_tv *m, double *l);

#endif
