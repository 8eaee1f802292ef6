/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_OP_IMAGE_TV_H
#define CLV_OP_IMAGE_TV_H

#include "op/image.h"

/* Total variation of a volume (Rudin, Osher and Fatemi 1992), with several channels together or alone:
 *   radius sum over voxels of |grad u| + 1/2 sum over channels and voxels of (u - f)^2,
 * |.| of the three differences of all channels, by Chambolle and Pock 2011, algorithm 2.
 * Differences are forward, times w_a = smallest edge / edge a, between voxels of the mask
 * only. The minimiser is f + div p, |p| <= radius, p = radius grad u / |grad u|. */

#define CLV_TV_SUMS 4 /* partial sums of a work-group */
enum { CLV_TV_PARTIALS = CLV_TV_SUMS * 1024 };

/* A channel. u and dual have two places, taken in turn; turn of clv_tv tells which is now. */
typedef struct clv_tv_channel {
    clv_buffer *data;    /* f: n floats, finite */
    clv_buffer *u[3];    /* n floats: now, before, next; clv_tv_step turns them */
    clv_buffer *dual[2]; /* clv_tv_dual_bytes: now, next; it turns them */
} clv_tv_channel;

typedef struct clv_tv {
    clv_image grid; /* the size, and the spacing, of which only the ratios count; no buffer */
    float radius;   /* above 0, in the unit of f */
    const clv_buffer *links; /* clv_tensor_links of the mask; outside of it u stays f */
    clv_buffer *norm;        /* n floats, for several channels together; NULL: one */
    clv_buffer *partial;     /* CLV_TV_PARTIALS */
    clv_tv_channel *channel;
    int channels;
    float tau, sigma, theta; /* of the next step, from clv_tv_start */
} clv_tv;

/* Three planes, each a little longer than the volume: planes whose lengths are multiples
 * of a page fall on the same lines of a CPU's cache. */
size_t clv_tv_dual_bytes(const int size[3]);

/* u becomes f and the dual 0. */
int clv_tv_start(clvox_context *ctx, clv_tv *tv);
/* One iteration, dual and primal: a launch for each channel, and one more for each where
 * they are together. No host read. */
int clv_tv_step(clvox_context *ctx, clv_tv *tv);

typedef struct clv_tv_energies {
    double variation; /* sum |grad u| */
    double fit;       /* 1/2 sum (u - f)^2 */
    double gap;       /* of the energy to that of the dual: 1/2 sum (u - minimiser)^2 is not more */
} clv_tv_energies;

/* Energies of the present u and dual. Blocking. Fixed order. */
int clv_tv_energy(clvox_context *ctx, const clv_tv *tv, clv_tv_energies *out);

extern const clv_entry clv_entry_tv_norm;
extern const clv_entry clv_entry_tv_step;
extern const clv_entry clv_entry_tv_sums;

#endif
