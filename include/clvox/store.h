/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLVOX_STORE_H
#define CLVOX_STORE_H

#include "clvox/volume.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Keeps many volumes that are needed one after another: in memory up to a limit, the others on disk as
 * float32, so that no bit changes. The first ones stay in memory: for volumes that are visited repeatedly in
 * the same order, no other choice reads less. Any thread.
 *
 * folder: of the files, which are unlinked, so that they vanish however the program ends. It must exist when
 * the first volume goes to disk. limit: bytes of values in memory. On success *out is the
 * caller's, to be destroyed after all volumes in it. */
CLVOX_API int clvox_store_create(const char *folder, size_t limit, clvox_store **out);
/* NULL is legal. */
CLVOX_API void clvox_store_destroy(clvox_store **store);

/* Moves the values of a volume to where they are kept until it is destroyed; they may be read from then on,
 * and not changed. Nothing happens where store is NULL or the volume is in one. CLVOX_ERROR_FILE: there is no
 * room in the folder; the volume is as it was. */
CLVOX_API int clvox_store_keep(clvox_store *store, clvox_volume *volume);

/* Starts reading ahead a volume on disk. A hint: it changes no value, and does nothing for NULL and for a
 * volume in memory. */
CLVOX_API void clvox_store_expect(const clvox_volume *volume);
/* The opposite hint: the volume will not be read again soon, and its memory may be reused. */
CLVOX_API void clvox_store_rest(const clvox_volume *volume);

/* Bytes of values that lie in memory and on disk, and the most that did. */
typedef struct clvox_store_bytes {
    size_t memory, most_memory, disk, most_disk;
} clvox_store_bytes;

/* Present contents of a store. Any thread. */
CLVOX_API clvox_store_bytes clvox_store_measure(clvox_store *store);

#ifdef __cplusplus
}
#endif

#endif
