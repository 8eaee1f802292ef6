/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_OP_MATCH_METRIC_H
#define CLV_OP_MATCH_METRIC_H

#include "runtime/runtime.h"

/* Global metrics of two images on one grid and their derivatives dS/dM(y),
 * dS/dF(y), for clv_metric_force; all without a host read. Voxels where one image is
 * not finite do not count and get derivative 0. Images are scaled to about [0, 1].
 *   SSD: S = -1/2 sum (M - F)^2
 *   NCC: S = N c^2 / (vF vM)   (N valid voxels; c, vF, vM over all of them; S
 *        and derivatives are 0 where a variance is not above 1e-10)
 *   MI:  S = N I(F, M) in nats, from a joint histogram of bins x bins over
 *        [0, 1]^2, values clamped: F and M each by the cubic B-spline Parzen
 *        window, so that S is smooth in both. A value v lies at bin
 *        1 + (bins - 3) v and reaches four bins, so that none lies outside.
 *        The derivative is 0 where a value was clamped, one-sided at 0 and 1; S and
 *        derivatives are 0 where an image is constant. Window weights are counted
 *        in whole units of 2^-18 to 2^-22: the same bits run after run, however the
 *        voxels are spread over the device.
 * out[slot] = S, out[slot + 1] = N; out may be NULL. derivative_fixed may be NULL.
 * scratch: CLV_METRIC_SCRATCH floats. bins: 8 to 128, MI alone. No buffer
 * appears twice. */
typedef enum clv_metric_kind { CLV_METRIC_SSD, CLV_METRIC_NCC, CLV_METRIC_MI } clv_metric_kind;

/* 2 MiB: three times 128 x 128 bins, and as many histograms as leave none of a
 * CPU's cores without one. */
enum { CLV_METRIC_SCRATCH = 1 << 19 };

typedef struct clv_metric_args {
    clv_metric_kind kind;
    const clv_buffer *fixed, *moving;
    int size[3];
    int bins;
    clv_buffer *derivative_moving, *derivative_fixed;
    clv_buffer *scratch, *out;
    int slot;
} clv_metric_args;

int clv_metric(clvox_context *ctx, const clv_metric_args *args);

extern const clv_entry clv_entry_metric_counts;
extern const clv_entry clv_entry_metric_line;
extern const clv_entry clv_entry_metric_ncc;
extern const clv_entry clv_entry_metric_ssd;
extern const clv_entry clv_entry_metric_table;
extern const clv_entry clv_entry_metric_table_derivatives;
extern const clv_entry clv_entry_metric_total;

#endif
