/* SPDX-License-Identifier: Apache-2.0 */
/* Total variation of tensor fields by explicit steps; formulas in
 * bench/papers/op/tensor_tv.h. PART says which kernels are built: steps by voxels or by
 * rows, sums by voxels or by rows. */
#define STEP_VOXEL 1
#define STEP_ROW 2
#define SUMS 3
#define SUMS_ROW 4
#ifndef PAPER
#define PAPER 0
#endif
#if PART == STEP_VOXEL
#include "papers/tensor_tv_step.clh"
#elif PART == STEP_ROW
#include "papers/tensor_tv_step_row.clh"
#else
#include "papers/tensor_tv_sums.clh"
#endif
