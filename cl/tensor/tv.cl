/* SPDX-License-Identifier: Apache-2.0 */
/* Total variation of tensor fields by explicit steps; formulas in
 * src/op/tensor/tv.h. Built with PART: exact steps (none given), blocks of steps,
 * sums and energy, exact steps by rows, or by pairs, sums by rows. */
#ifndef PAPER
#define PAPER 0
#endif
#if defined(PART) && PART == 5
#include "tensor/tv_sums_row.clh"
#elif defined(PART) && PART == 4
#include "tensor/tv_pair.clh"
#elif defined(PART) && PART == 3
#include "tensor/tv_row.clh"
#elif defined(PART) && PART == 2
#include "tensor/tv_sums.clh"
#elif defined(PART) && PART == 1
#include "tensor/tv_blocks.clh"
#else
#include "tensor/tv_step.clh"
#endif
