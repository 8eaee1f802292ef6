/* SPDX-License-Identifier: Apache-2.0 */
/* Volumes on disk are mapped: whoever reads them need not know. They are written by calls, so that a full
 * disk is an error of a call and not a signal. The place of one that has gone is the next one's of its size:
 * pages that the system has for a file are written again faster than new ones are found and given back. */
#include "io/store.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/spares.h"
#include "base/status.h"

/* Where a volume lies in one of the files; data: its mapping, NULL while nobody has the place. */
typedef struct place {
    int file;
    off_t at;
    size_t bytes;
    const void *data;
} place;

/* Threads that write one file wait for each other. */
enum { FILES = 8 };

struct clvox_store {
    char *folder;
    size_t limit;
    pthread_mutex_t lock; /* guards what follows */
    clvox_store_bytes bytes;
    int fd[FILES], next; /* -1: not yet there; the file that the next new place is in */
    off_t end[FILES];
    place *places;
    int count, room;
};

int clvox_store_create(const char *folder, size_t limit, clvox_store **out)
{
    clvox_store *store = *out = NULL;
    if (!folder)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "a store of volumes has no folder");
    store = calloc(1, sizeof *store);
    if (!store || !(store->folder = strdup(folder))) {
        free(store);
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    }
    store->limit = limit;
    for (int i = 0; i < FILES; i++)
        store->fd[i] = -1;
    pthread_mutex_init(&store->lock, NULL);
    *out = store;
    return CLVOX_OK;
}

void clvox_store_destroy(clvox_store **store)
{
    if (!store || !*store)
        return;
    pthread_mutex_destroy(&(*store)->lock);
    for (int i = 0; i < FILES; i++)
        if ((*store)->fd[i] >= 0)
            close((*store)->fd[i]);
    free((*store)->places);
    free((*store)->folder);
    free(*store);
    *store = NULL;
}

static size_t bytes_of(const clvox_volume *v)
{
    return clvox_grid_voxels(&v->grid) * (size_t)v->frames * sizeof(float);
}

static void count(size_t *now, size_t *most, size_t more)
{
    *now += more;
    *most = *now > *most ? *now : *most;
}

/* A file that has no name, and with the program no place either. */
static int open_nameless(const char *folder)
{
    char name[PATH_MAX];
    int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd >= 0)
        return fd;
    /* Network file systems make none without a name. */
    if (snprintf(name, sizeof name, "%s/.clvox-XXXXXX", folder) >= (int)sizeof name) {
        errno = ENAMETOOLONG;
        return -1;
    }
    fd = mkostemp(name, O_CLOEXEC);
    if (fd >= 0)
        unlink(name);
    return fd;
}

static int refuse(const clvox_store *store, size_t bytes, int error)
{
    const bool full = error == ENOSPC || error == EDQUOT || error == EFBIG;
    return clvox_fail(CLVOX_ERROR_FILE, "%s: %.0f MB that memory has no room for cannot be written (%s)%s",
                      store->folder, 1e-6 * (double)bytes, strerror(error),
                      full ? "; make room there, or raise the limit of memory" : "");
}

static bool write_all(int fd, off_t to, const float *data, size_t bytes)
{
    const char *from = (const char *)data;
    for (size_t at = 0; at < bytes;) {
        const ssize_t put = pwrite(fd, from + at, bytes - at, to + (off_t)at);
        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0)
            return false;
        at += (size_t)put;
    }
    return true;
}

/* A new one at the end of a file; with the lock held. The file is made with its first place. */
static int add_place(clvox_store *store, size_t bytes)
{
    const int file = store->next;
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    if (store->count == store->room) {
        place *grown = realloc(store->places, (size_t)(2 * store->room + 16) * sizeof *grown);
        if (!grown)
            return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
        store->places = grown;
        store->room = 2 * store->room + 16;
    }
    if (store->fd[file] < 0 && (store->fd[file] = open_nameless(store->folder)) < 0)
        return refuse(store, bytes, errno);
    store->places[store->count] = (place){file, store->end[file], bytes, NULL};
    store->end[file] += (off_t)((bytes + page - 1) / page * page);
    store->next = (file + 1) % FILES;
    return store->count++;
}

/* Its number; it is nobody else's from then on. */
static int take_place(clvox_store *store, size_t bytes, const float *data)
{
    int found = 0;
    pthread_mutex_lock(&store->lock);
    while (found < store->count && (store->places[found].data || store->places[found].bytes != bytes))
        found++;
    found = found < store->count ? found : add_place(store, bytes);
    if (found >= 0)
        store->places[found].data = data;
    pthread_mutex_unlock(&store->lock);
    return found;
}

/* Of places that nobody has the disk gets its blocks back. */
static void give_blocks_back(clvox_store *store)
{
    pthread_mutex_lock(&store->lock);
    for (int i = 0; i < store->count; i++) {
        const place *p = &store->places[i];
        if (!p->data)
            fallocate(store->fd[p->file], FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, p->at, (off_t)p->bytes);
    }
    pthread_mutex_unlock(&store->lock);
}

static int to_disk(clvox_store *store, clvox_volume *v, size_t bytes)
{
    int status = CLVOX_OK;
    const int number = take_place(store, bytes, v->data);
    if (number < 0)
        return number;
    pthread_mutex_lock(&store->lock);
    const place p = store->places[number];
    const int fd = store->fd[p.file];
    pthread_mutex_unlock(&store->lock);
    void *mapped = MAP_FAILED;
    bool written = write_all(fd, p.at, v->data, bytes);
    if (!written && (errno == ENOSPC || errno == EDQUOT)) {
        give_blocks_back(store);
        written = write_all(fd, p.at, v->data, bytes);
    }
    /* A network file system may find only when a file is closed that there is no room. */
    const int again = written ? dup(fd) : -1;
    if (again >= 0 && close(again))
        written = false;
    if (!written || (mapped = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, p.at)) == MAP_FAILED)
        status = refuse(store, bytes, errno);
    pthread_mutex_lock(&store->lock);
    store->places[number].data = status < 0 ? NULL : mapped;
    pthread_mutex_unlock(&store->lock);
    if (status < 0)
        return status;
    if (!v->borrowed)
        clv_large_free(v->data);
    v->borrowed = 0;
    v->data = mapped;
    v->on_disk = 1;
    return CLVOX_OK;
}

int clvox_store_keep(clvox_store *store, clvox_volume *volume)
{
    int status = CLVOX_OK;
    if (!store || volume->store)
        return CLVOX_OK;
    const size_t bytes = bytes_of(volume);
    pthread_mutex_lock(&store->lock);
    const bool fits = bytes <= store->limit && store->bytes.memory <= store->limit - bytes;
    if (fits)
        count(&store->bytes.memory, &store->bytes.most_memory, bytes);
    pthread_mutex_unlock(&store->lock);
    if (!fits) {
        CLV_TRY(to_disk(store, volume, bytes));
        pthread_mutex_lock(&store->lock);
        count(&store->bytes.disk, &store->bytes.most_disk, bytes);
        pthread_mutex_unlock(&store->lock);
    }
    volume->store = store;
end:
    return status;
}

void clv_store_release(clvox_volume *volume)
{
    clvox_store *store = volume->store;
    const size_t bytes = bytes_of(volume);
    pthread_mutex_lock(&store->lock); /* before its address may become another one's */
    for (int i = 0; volume->on_disk && i < store->count; i++)
        if (store->places[i].data == volume->data) {
            store->places[i].data = NULL;
            break;
        }
    pthread_mutex_unlock(&store->lock);
    if (volume->on_disk)
        munmap(volume->data, bytes);
    else if (!volume->borrowed)
        clv_large_free(volume->data);
    volume->data = NULL;
    pthread_mutex_lock(&store->lock);
    *(volume->on_disk ? &store->bytes.disk : &store->bytes.memory) -= bytes;
    pthread_mutex_unlock(&store->lock);
}

void clvox_store_expect(const clvox_volume *volume)
{
    if (volume && volume->on_disk)
        madvise(volume->data, bytes_of(volume), MADV_WILLNEED);
}

void clvox_store_rest(const clvox_volume *volume)
{
    if (volume && volume->on_disk)
        madvise(volume->data, bytes_of(volume), MADV_DONTNEED); /* of a shared file the pages alone go */
}

clvox_store_bytes clvox_store_measure(clvox_store *store)
{
    pthread_mutex_lock(&store->lock);
    const clvox_store_bytes bytes = store->bytes;
    pthread_mutex_unlock(&store->lock);
    return bytes;
}
