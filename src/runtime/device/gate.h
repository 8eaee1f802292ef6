/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of a device that several contexts share: work waits at the gate until there is room for it beside
 * what the others do. */
#ifndef CLV_RUNTIME_GATE_H
#define CLV_RUNTIME_GATE_H

#include <stddef.h>

#include "clvox/device.h"

typedef struct clv_gate clv_gate;

/* A gate to so many bytes, held once; NULL: no memory. */
clv_gate *clv_gate_create(size_t bytes);
/* One more that holds it. NULL is legal, here and below. */
clv_gate *clv_gate_hold(clv_gate *gate);
/* One less; the last one ends it. Sets *gate to NULL. */
void clv_gate_release(clv_gate **gate);

/* Waits until `bytes` fit in beside what is inside, or nothing is: what needs more than there is goes in alone.
 * What holds a gate calls clv_gate_leave with as many. */
void clv_gate_enter(clv_gate *gate, size_t bytes);
void clv_gate_leave(clv_gate *gate, size_t bytes);

/* Bytes of its device that a context, and those beside it, should take at most: a share of what was free when it was
 * opened. */
size_t clv_context_room(const clvox_context *context);
/* The gate of a context; NULL: it has the device to itself. */
clv_gate *clv_context_gate(const clvox_context *context);

#endif
