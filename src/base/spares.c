/* SPDX-License-Identifier: Apache-2.0 */
#include "base/spares.h"

#include <malloc.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "clvox/volume.h"

/* LEAST: smaller ones are cheap to make. LARGE: of which large pages are asked for. */
enum { LEAST = 1 << 20, LARGE = 8 << 20, PAGE = 4096, MOST_PIECES = 64 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static size_t most, kept;        /* bytes */
static void *piece[MOST_PIECES]; /* the oldest first */
static int pieces;

/* With the lock held. */
static void *take_out(int i)
{
    void *found = piece[i];
    kept -= malloc_usable_size(found);
    pieces--;
    for (; i < pieces; i++)
        piece[i] = piece[i + 1];
    return found;
}

static void shrink(size_t bytes)
{
    while (kept > bytes)
        free(take_out(0));
}

void clvox_spares(size_t bytes)
{
    pthread_mutex_lock(&lock);
    most = bytes;
    shrink(bytes);
    pthread_mutex_unlock(&lock);
}

/* One that is hardly larger, the latest; NULL: there is none. */
static void *take_spare(size_t bytes)
{
    void *found = NULL;
    if (bytes < LEAST)
        return NULL;
    pthread_mutex_lock(&lock);
    for (int i = pieces - 1; i >= 0 && !found; i--) {
        const size_t has = malloc_usable_size(piece[i]);
        if (has >= bytes && has - bytes <= bytes / 16)
            found = take_out(i);
    }
    pthread_mutex_unlock(&lock);
    return found;
}

/* Large pages make a five-hundredth of the faults. Advice: what the system cannot do it leaves. */
static void ask_for_large_pages(void *data, size_t bytes)
{
    const uintptr_t start = ((uintptr_t)data + PAGE - 1) / PAGE * PAGE,
                    end = ((uintptr_t)data + bytes) / PAGE * PAGE;
    if (data && bytes >= LARGE)
        madvise((void *)start, end - start, MADV_HUGEPAGE);
}

/* Fresh memory; where there is none, what is kept goes first. */
static void *fresh(size_t bytes, bool zeros)
{
    void *made = zeros ? calloc(1, bytes) : malloc(bytes);
    if (!made) {
        pthread_mutex_lock(&lock);
        shrink(0);
        pthread_mutex_unlock(&lock);
        made = zeros ? calloc(1, bytes) : malloc(bytes);
    }
    ask_for_large_pages(made, bytes);
    return made;
}

void *clv_large(size_t bytes)
{
    void *spare = take_spare(bytes);
    return spare ? spare : fresh(bytes, false);
}

void *clv_large_zeros(size_t bytes)
{
    void *spare = take_spare(bytes);
    return spare ? memset(spare, 0, bytes) : fresh(bytes, true);
}

void clv_large_free(void *given)
{
    const size_t bytes = given ? malloc_usable_size(given) : 0;
    pthread_mutex_lock(&lock);
    const bool keep = bytes >= LEAST && bytes <= most;
    if (keep) {
        shrink(most - bytes);
        if (pieces == MOST_PIECES)
            free(take_out(0));
        piece[pieces++] = given;
        kept += bytes;
    }
    pthread_mutex_unlock(&lock);
    if (!keep)
        free(given);
}
