/* SPDX-License-Identifier: Apache-2.0 */
/* Sums over subjects. */
#ifndef CLV_ATLAS_SUMS_H
#define CLV_ATLAS_SUMS_H

#include "atlas/steps.h"

/* Takes what all subjects have summed, numbers `from` to from + count - 1: from several threads, each
 * number once; from and count are even, but for an odd last count. */
typedef void (*clv_atlas_sums_taker)(void *user, const int32_t *sum, size_t from, size_t count);
typedef struct clv_atlas_sums {
    clv_atlas_run *a;
    size_t count;         /* of numbers */
    clv_buffer **of;      /* each device's; NULL: it has none */
    int32_t **room;       /* pinned memory of each device for pieces of it; while all are taken */
    pthread_mutex_t *own; /* of each device */
    int32_t *all;         /* of a team, on the host; else NULL */
    clv_atlas_sums_taker take;
    void *user;
} clv_atlas_sums;
int clv_atlas_sums_open(clv_atlas_run *a, size_t count, clv_atlas_sums *s);
void clv_atlas_sums_close(clv_atlas_sums *s); /* also of what failed to open, and twice */
void clv_atlas_sums_clear(clv_atlas_sums *s); /* to 0 */
/* The device's own sum, 0 at first: for kernels, by its thread. */
int clv_atlas_sums_on(clv_atlas_sums *s, int device, clv_buffer **sum);
/* Makes one, before a step borrows maps, which leave the device where others took its memory. */
int clv_atlas_sums_make(clv_atlas_sums *s, int device);
/* Takes the sums of all devices and members of the team, which are 0 again then. */
int clv_atlas_sums_take(clv_atlas_sums *s, clv_atlas_sums_taker take, void *user);

#endif
