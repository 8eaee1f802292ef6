/* SPDX-License-Identifier: Apache-2.0 */
/* A list that several processes make: its shards, and claims on single rows. */
#ifndef CLV_BATCH_SHARE_H
#define CLV_BATCH_SHARE_H

#include <stddef.h>

/* Part `shard` (from 1) of `shards` parts; 0 of 0: all. */
typedef struct clv_shard {
    int shard, shards;
} clv_shard;

/* CLVOX_ERROR_ARGUMENT: there is no such part. */
int clv_shard_check(clv_shard s);

/* The table (end ".tsv") or page of a list's outcome, in the folder or among the logs of derivatives; the
 * caller's. */
int clv_shard_summary(clv_shard s, const char *folder, const char *derivatives, const char *end, char **out);

/* Keeps the rows of the shard, of `count` that are `size` bytes each, and drops the others; their number. */
int clv_shard_keep(clv_shard s, void *rows, size_t size, int count, void (*drop)(void *row));

enum { CLV_CLAIM_NONE = -1, CLV_CLAIM_TAKEN = -2 };

/* Keeps other processes from making the row with this log, on this machine and on those that share the
 * folder, until clv_claim_leave. CLV_CLAIM_TAKEN: another one has it; CLV_CLAIM_NONE: there can be no claim
 * here, which the row's own files will say, or the file system has no locks. */
int clv_claim_take(const char *log);
void clv_claim_leave(const char *log, int claim);

#endif
