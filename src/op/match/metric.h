/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_OP_MATCH_METRIC_H
#define CLV_OP_MATCH_METRIC_H

#include "op/image.h"
#include "op/within.h"

/* Two images on one grid, scaled to about [0, 1], as any metric S takes them; voxels that are not
 * finite in either do not count. No buffer appears twice. */
typedef struct clv_metric_args {
    clv_image fixed; /* the grid of all */
    const clv_buffer *moving;
    int parameter; /* bins of mutual information, radius of windows or patches */
    float epsilon; /* of windows (clv_lncc) */
    bool local;    /* of windows: the usual local approximation of the derivative */
    clv_within within; /* the part that counts (op/within.h): elsewhere fixed or moving is not finite, and
                        * derivatives and scratch are undefined */
    clv_buffer *derivative_moving, *derivative_fixed; /* dS/dM and dS/dF by voxel; the second may be NULL */
    clv_buffer *scratch; /* as many floats as clv_metric_scratch, clv_lncc_scratch or clv_mind_scratch says */
    clv_buffer *partial; /* of windows and patches: CLV_LNCC_PARTIALS or CLV_MIND_PARTIALS floats */
    clv_buffer *out;     /* out[slot] = S, to be raised, out[slot + 1] = voxels that count; may be NULL */
    int slot;
} clv_metric_args;

/* Global metrics of two images on one grid and their derivatives dS/dM(y),
 * dS/dF(y), for clv_metric_force; all without a host read. Voxels that do not count get
 * derivative 0.
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
 * bins: 8 to 128, MI alone. */
typedef enum clv_metric_kind { CLV_METRIC_SSD, CLV_METRIC_NCC, CLV_METRIC_MI } clv_metric_kind;

/* 2 MiB: three times 128 x 128 bins, and as many histograms as leave none of a
 * CPU's cores without one. */
enum { CLV_METRIC_SCRATCH = 1 << 19 };

/* CLV_METRIC_SCRATCH, whatever the arguments. */
size_t clv_metric_scratch(const int size[3], int parameter, bool local, bool both);

int clv_metric(clvox_context *ctx, clv_metric_kind kind, const clv_metric_args *args);

extern const clv_entry clv_entry_metric_counts;
extern const clv_entry clv_entry_metric_line;
extern const clv_entry clv_entry_metric_ncc;
extern const clv_entry clv_entry_metric_ssd;
extern const clv_entry clv_entry_metric_table;
extern const clv_entry clv_entry_metric_table_derivatives;
extern const clv_entry clv_entry_metric_total;

#endif
