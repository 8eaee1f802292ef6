/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REF_PAPERS_FMA_RATE_H
#define REF_PAPERS_FMA_RATE_H

/* The sum of 16 chains as clv_fma_rate's. */
double ref_fma_rate(double start, double factor, double term, int steps);

#endif
