/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REF_PAPERS_CEILING_H
#define REF_PAPERS_CEILING_H

/* The four sums of clv_ceiling_local for work-item l. */
void ref_ceiling_local(const float *in, int group, int l, int steps, double sums[4]);

/* The sum of clv_ceiling_reads for work-item l. */
double ref_ceiling_reads(const float *in, int cells, int l, int steps);

/* The sum that clv_ceiling_atomics adds to each of count counters, with `items` work-items. */
void ref_ceiling_atomics(int count, int items, int steps, int *counters);

#endif
