/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the tests of tensors' total variation: problems of many shapes. */
#ifndef PAPERS_TENSOR_TV_PROBLEM_H
#define PAPERS_TENSOR_TV_PROBLEM_H

#include "op/harness.h"
#include "bench/papers/op/tensor_tv.h"
#include "bench/papers/ref/tensor_tv.h"

typedef struct tv_setup {
    int size[3];
    float spacing[3];
} tv_setup;

/* The last TV_LARGE are of several blocks of rows or stretches of a row. */
enum { TV_SETUPS = 9, TV_LARGE = 3 };
extern const tv_setup tv_setups[TV_SETUPS];
extern const char *const tv_couplings[2];

/* Buffers and host copies of one problem: random positive tensors about `level`. */
typedef struct tv_problem {
    ref_tensor_tv ref;
    clv_tensor_tv_args args;
    size_t n;
    float *mask, *data, *from, *got;
    double *want;
    clv_buffer *mask_buffer, *data_buffer, *links, *partial, *state, *a, *b;
} tv_problem;

void tv_problem_make(clvox_context *ctx, const int size[3], const float spacing[3],
                     clv_tensor_coupling coupling, bool with_mask, tv_problem *p);
void tv_problem_release(tv_problem *p);

#endif
