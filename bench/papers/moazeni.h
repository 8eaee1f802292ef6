/* SPDX-License-Identifier: Apache-2.0 */
/* The field of tensors that both tables of Moazeni et al. 2009 are about. */
#ifndef CLV_BENCH_PAPERS_TENSOR_H
#define CLV_BENCH_PAPERS_TENSOR_H

#include "bench/bench.h"
#include "bench/papers/op/tensor_tv.h"

typedef struct bench_tensors {
    clvox_context *ctx;
    clv_tensor_tv_args args;
    size_t n; /* voxels */
    clv_buffer *data, *links, *partial, *state, *field, *other, *scratch;
    float *noisy, *exact, *got; /* 6 n: the data, and room for two results */
} bench_tensors;

/* Boxes of three kinds of tissue with noise, and a step with which the energy falls every time. Released
 * whatever it returns. */
int bench_tensors_create(clvox_context *ctx, const int size[3], bench_tensors *p);
void bench_tensors_release(bench_tensors *p);
/* Positive tensors near the data, planar, into got: where references and devices agree to rounding. */
void bench_tensors_positive(bench_tensors *p);

/* The paper's table 1 by kernel, its figures by size and its speed-up over a CPU. */
int bench_moazeni2009_kernels(bench_run *run);

#endif
