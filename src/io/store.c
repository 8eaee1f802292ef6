/* SPDX-License-Identifier: Apache-2.0 */
/* Volumes on disk are mapped: whoever reads them need not know. They are written by calls, so that a full
 * disk is an error of a call and not a signal. */
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

struct clvox_store {
    char *folder;
    size_t limit;
    pthread_mutex_t lock;
    clvox_store_bytes bytes;
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
    pthread_mutex_init(&store->lock, NULL);
    *out = store;
    return CLVOX_OK;
}

void clvox_store_destroy(clvox_store **store)
{
    if (!store || !*store)
        return;
    pthread_mutex_destroy(&(*store)->lock);
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

static bool write_all(int fd, const float *data, size_t bytes)
{
    const char *from = (const char *)data;
    for (size_t at = 0; at < bytes;) {
        const ssize_t put = pwrite(fd, from + at, bytes - at, (off_t)at);
        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0)
            return false;
        at += (size_t)put;
    }
    return true;
}

static int to_disk(clvox_store *store, clvox_volume *v, size_t bytes)
{
    int status = CLVOX_OK;
    void *mapped = MAP_FAILED;
    const int fd = open_nameless(store->folder);
    if (fd < 0 || !write_all(fd, v->data, bytes))
        status = refuse(store, bytes, errno);
    else if ((mapped = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0)) == MAP_FAILED)
        status = refuse(store, bytes, errno);
    /* A network file system may find only now that there is no room. */
    if (fd >= 0 && close(fd) && status >= 0)
        status = refuse(store, bytes, errno);
    if (status < 0) {
        if (mapped != MAP_FAILED)
            munmap(mapped, bytes);
        return status;
    }
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
