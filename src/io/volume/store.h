/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_IO_STORE_H
#define CLV_IO_STORE_H

#include "clvox/store.h"

/* A volume whose values come piece by piece, in a store from the start, or with store NULL in memory. Until
 * all have come they are undefined. On failure *out is NULL. */
int clv_store_room(clvox_store *store, const clvox_grid *grid, int frames, clvox_kind kind,
                   clvox_volume **out);
/* Some of its bytes to there, and from there: any volume, and any number of threads, each with a part of
 * its own. Those on disk pass without the system showing them as memory, page by page. */
int clv_store_put(clvox_volume *volume, size_t at, const void *from, size_t bytes);
int clv_store_get(const clvox_volume *volume, size_t at, void *to, size_t bytes);
/* Parts of a large volume lie in so many files, one after the other: who writes several at once takes them
 * from different ones. */
enum { CLV_STORE_STRIPES = 4 };

/* Releases the values of a volume that is in a store. */
void clv_store_release(clvox_volume *volume);

#endif
