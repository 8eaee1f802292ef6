/* SPDX-License-Identifier: Apache-2.0 */
/* Total variation of tensor fields by explicit steps; formulas in
 * src/op/tensor/tv.h. PART says which kernels are built: steps by voxels or by
 * rows, sums by voxels or by rows. */
#define STEP_VOXEL 1
#define STEP_ROW 2
#define SUMS 3
#define SUMS_ROW 4
#ifndef PAPER
#define PAPER 0
#endif
#if PART == STEP_VOXEL
#include "tensor/tv_step.clh"
#elif PART == STEP_ROW
#include "tensor/tv_step_row.clh"
#else
#include "tensor/tv_sums.clh"
#endif
