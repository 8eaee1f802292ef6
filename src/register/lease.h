/* SPDX-License-Identifier: Apache-2.0 */
/* Scratch of a run, by name and size. A buffer that holds nothing is lent by its slot; a step takes room for
 * what it names, and gives it back when nothing reads it any more. Operations run in the order in which they
 * are enqueued, so that the next one may take a buffer at once. */
#ifndef CLV_REGISTER_LEASE_H
#define CLV_REGISTER_LEASE_H

#include "runtime/queue/buffer.h"

enum { CLV_MOST_LEASES = 48 };

typedef struct clv_leases {
    struct {
        clv_buffer **slot;
        const clv_buffer *held; /* by a taker; NULL: free */
    } of[CLV_MOST_LEASES];
    int count;
} clv_leases;

/* True: what is given back is filled with NaN. For tests. */
extern bool clv_leases_poison;

/* The slot's buffer is free from here on, whichever it is then; a slot that is lent already stays so. */
void clv_lease_lend(clv_leases *leases, clv_buffer **slot);
/* A request of the pool for a buffer that is lent from the beginning. */
clv_request clv_lease_request(clv_leases *leases, clv_buffer **slot, size_t bytes, const char *what);
/* The buffer of a slot holds something again. CLVOX_ERROR_MEMORY where it is taken. */
int clv_lease_withdraw(clv_leases *leases, clv_buffer *const *slot);

/* Takes for every request the smallest free buffer of at least so many bytes, or none at all: then
 * CLVOX_ERROR_MEMORY, and all slots are NULL. Contents are undefined. */
int clv_lease_take(clv_leases *leases, const clv_request *requests, int count);
/* Gives back what the requests' slots hold, and makes them NULL; NULL is legal. */
int clv_lease_give(clv_leases *leases, const clv_request *requests, int count);

#endif
