/* SPDX-License-Identifier: Apache-2.0 */
/* The disk cache of built programs. Whatever is odd about an entry or the
 * folder means "not there": a cache never makes anything fail. */
#ifndef CLV_RUNTIME_CACHE_H
#define CLV_RUNTIME_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/own.h"

/* Names an entry: a hash of everything that the binary depends on. */
typedef struct clv_cache_key {
    uint64_t word[2];
} clv_cache_key;

/* Figures from the compiler's log; kept with the entry, because there is no log when the driver's own cache
 * answers. -1: unknown. */
typedef struct clv_counts {
    int32_t registers; /* a work-item; AMD: vector registers */
    int32_t scalars;   /* AMD: scalar registers of a wavefront */
    int32_t spills;    /* bytes a work-item */
} clv_counts;

/* The folder that the environment means: CLVOX_CACHE_DIR (empty: no cache), else XDG_CACHE_HOME/clvox, else
 * ~/.cache/clvox; a home that is empty or relative is none. The caller frees it; NULL when there is none. */
char *clv_cache_place(void);

/* The same where it is the user's own (base/own.h), as what is read from it is run; else NULL, and remark is
 * a sentence about that, "" where the environment wants no cache. The functions below take such a folder. */
char *clv_cache_dir(char remark[CLV_WHY + 200]);

/* A key starts from clv_cache_key_start and takes in strings one by one. */
clv_cache_key clv_cache_key_start(void);
void clv_cache_key_add(clv_cache_key *key, const char *text);

/* Reads an entry; true when it is there and whole. *data is then the caller's
 * to free. */
bool clv_cache_load(const char *dir, clv_cache_key key, unsigned char **data, size_t *bytes,
                    clv_counts *counts);

/* Writes an entry under a temporary name and renames it, so that readers and
 * writers in other processes see whole entries only. Creates dir when needed. */
void clv_cache_store(const char *dir, clv_cache_key key, const unsigned char *data, size_t bytes,
                     const clv_counts *counts);

/* Waits until no other process holds the lock of this name in the folder, so that
 * many processes started at once build each program once: the others find it in
 * the cache. Drivers' own caches have also been seen to break when several
 * processes fill them with one program. Returns a descriptor for
 * clv_cache_unlock; -1 where there is nothing to lock; CLV_CACHE_BUSY where
 * another process, perhaps a stopped one, still holds it after so many seconds.
 * Both are legal for clv_cache_unlock, and the work goes on. *holder: that
 * process, 0 where it did not say. */
enum { CLV_CACHE_BUSY = -2 };
extern double clv_cache_patience; /* that many as a rule: 10 */
int clv_cache_lock(const char *dir, const char *name, double patience, long *holder);
void clv_cache_unlock(int lock);

/* Waits until no other process or thread holds the lock file `path`, which is
 * made where it is not there; whoever holds it may remove it. -1 and
 * clv_cache_unlock as above. */
int clv_cache_lock_file(const char *path, unsigned mode);

#endif
