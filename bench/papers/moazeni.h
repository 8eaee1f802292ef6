/* SPDX-License-Identifier: Apache-2.0 */
/* The field of tensors that both tables of Moazeni et al. 2009 are about. */
#ifndef CLV_BENCH_PAPERS_TENSOR_H
#define CLV_BENCH_PAPERS_TENSOR_H

#include "op/tensor/tv.h"

typedef struct bench_tensors {
    clvox_context *ctx;
    clv_tensor_tv_args args;
    size_t n; /* voxels */
    clv_buffer *data, *links, *partial, *state, *field, *other;
    float *noisy, *exact, *got; /* 6 n: the data, and room for two results */
} bench_tensors;

/* Boxes of three kinds of tissue with noise. Released whatever it returns. */
int bench_tensors_create(clvox_context *ctx, const int size[3], bench_tensors *p);
void bench_tensors_release(bench_tensors *p);

#endif
