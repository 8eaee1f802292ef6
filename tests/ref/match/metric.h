/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REF_MATCH_METRIC_H
#define REF_MATCH_METRIC_H

#include "op/match/metric.h"

/* S of two images of n values, as src/op/match/metric.h defines it; *valid: N. */
double ref_metric(clv_metric_kind kind, const double *fixed, const double *moving, size_t n, int bins,
                    size_t *valid);

/* dS/dM(y) at every y. For dS/dF exchange the images. */
void ref_metric_derivative(clv_metric_kind kind, const double *fixed, const double *moving, size_t n,
                        int bins, double *derivative);

#endif
