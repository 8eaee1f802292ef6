/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REF_PAPERS_CEILING_H
#define REF_PAPERS_CEILING_H

/* The four sums of clv_ceiling_local for work-item l. */
void ref_ceiling_local(const float *in, int group, int l, int steps, double sums[4]);

/* What clv_ceiling_atomics adds to each of count counters, with `items` work-items. */
void ref_ceiling_atomics(int count, int items, int steps, int *counters);

#endif
