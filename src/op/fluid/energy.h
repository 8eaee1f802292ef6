/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_OP_FLUID_ENERGY_H
#define CLV_OP_FLUID_ENERGY_H

#include "op/fluid/force.h"

extern const clv_entry clv_entry_energy, clv_entry_energy_total;

/* Floats that clv_energy needs in partial. */
enum { CLV_ENERGY_PARTIALS = 4096 };

/* The energies at u: out[slot] = image term, out[slot+1] = sum (J-1) log J
 * (without lambda, and whatever lambda is), out[slot+2] = smallest J,
 * out[slot+3] = number of J that are not above 0 (NaN counts). Fixed order.
 * args->force and args->nine are not looked at. */
int clv_energy(clvox_context *ctx, const clv_force_args *args, clv_buffer *partial, clv_buffer *out,
               int slot);

#endif
