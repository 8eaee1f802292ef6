/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REF_PEAK_H
#define REF_PEAK_H

/* The sum of 16 chains as clv_peak's. */
double ref_peak(double start, double factor, double term, int steps);

#endif
