/* SPDX-License-Identifier: Apache-2.0 */
/* Volumes on disk are mapped: whoever reads them need not know. They are written by calls, so that a full
 * disk is an error of a call and not a signal. The place of one that has gone is the next one's of its size:
 * pages that the system has for a file are written again faster than new ones are found and given back. */
#include "io/volume/store.h"

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

#include "base/array.h"
#include "base/spares.h"
#include "base/status.h"
#include "clvox/threads.h"
#include "io/volume/volume.h"

/* Position of a part of a volume in one of the files; data: its mapping, NULL while nobody has the place. */
typedef struct place {
    int file;
    off_t at;
    size_t bytes;
    const char *data;
} place;

/* Threads that write one file wait for each other. STRIPE: a volume with less of it is in one file; so is
 * each once there are MANY places, as the system maps no more than 65,530. */
enum { FILES = 8, STRIPE = 2 << 20, MANY = 16384 };

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
    CLV_GIVEN(out);
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

static bool write_all(int fd, off_t to, const char *from, size_t bytes)
{
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

static bool read_all(int fd, off_t from, char *to, size_t bytes)
{
    for (size_t at = 0; at < bytes;) {
        const ssize_t got = pread(fd, to + at, bytes - at, from + (off_t)at);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0) {
            errno = got ? errno : EIO;
            return false;
        }
        at += (size_t)got;
    }
    return true;
}

/* A new one at the end of a file; with the lock held. The file is made with its first place. */
static int add_place(clvox_store *store, size_t bytes)
{
    const int file = store->next;
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    if (store->count == store->room) {
        place *grown = clv_grown(store->places, store->count, &store->room, sizeof *grown);
        if (!grown)
            return CLVOX_ERROR_MEMORY;
        store->places = grown;
    }
    if (store->fd[file] < 0 && (store->fd[file] = open_nameless(store->folder)) < 0)
        return refuse(store, bytes, errno);
    store->places[store->count] = (place){file, store->end[file], bytes, NULL};
    store->end[file] += (off_t)((bytes + page - 1) / page * page);
    store->next = (file + 1) % FILES;
    return store->count++;
}

/* For what will be mapped at data; it is nobody else's from then on. */
static int take_place(clvox_store *store, size_t bytes, const char *data)
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

/* Those of a volume are nobody's again. */
static void leave_places(clvox_store *store, const char *data, size_t bytes)
{
    pthread_mutex_lock(&store->lock);
    for (int i = 0; i < store->count; i++) {
        place *p = &store->places[i];
        if (p->data && p->data >= data && p->data < data + bytes)
            p->data = NULL;
    }
    pthread_mutex_unlock(&store->lock);
}

/* Returns the blocks of unused places to the disk. */
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

/* Finds the byte of a volume at `data`: its file and place there, and the bytes that follow it. */
static size_t find_bytes(clvox_store *store, const char *data, int *fd, off_t *at)
{
    size_t bytes = 0;
    pthread_mutex_lock(&store->lock);
    for (int i = 0; i < store->count && !bytes; i++) {
        const place *p = &store->places[i];
        if (!p->data || data < p->data || data >= p->data + p->bytes)
            continue;
        *fd = store->fd[p->file];
        *at = p->at + (data - p->data);
        bytes = p->bytes - (size_t)(data - p->data);
    }
    pthread_mutex_unlock(&store->lock);
    return bytes;
}

/* A volume's bytes in one file. */
static size_t stripe_of(clvox_store *store, size_t bytes)
{
    pthread_mutex_lock(&store->lock);
    const bool one = bytes < (size_t)CLV_STORE_STRIPES * STRIPE || store->count > MANY;
    pthread_mutex_unlock(&store->lock);
    return one ? bytes : (bytes / CLV_STORE_STRIPES + STRIPE - 1) / STRIPE * STRIPE;
}

/* Places for so many bytes, which *out shows one after another. */
static int map_places(clvox_store *store, size_t bytes, char **out)
{
    int status = CLVOX_OK, fd = -1;
    off_t at = 0;
    const size_t stripe = stripe_of(store, bytes);
    char *data = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (data == MAP_FAILED)
        return refuse(store, bytes, errno);
    for (size_t from = 0; from < bytes; from += stripe) {
        const size_t part = bytes - from < stripe ? bytes - from : stripe;
        CLV_TRY(take_place(store, part, data + from));
        find_bytes(store, data + from, &fd, &at);
        if (mmap(data + from, part, PROT_READ, MAP_SHARED | MAP_FIXED, fd, at) == MAP_FAILED)
            CLV_TRY(refuse(store, bytes, errno));
    }
    *out = data;
    return CLVOX_OK;
end:
    leave_places(store, data, bytes);
    munmap(data, bytes);
    return status;
}

int clv_store_put(clvox_volume *volume, size_t at, const void *from, size_t bytes)
{
    char *to = (char *)volume->data + at;
    if (!volume->on_disk) {
        memcpy(to, from, bytes);
        return CLVOX_OK;
    }
    for (size_t done = 0, part; done < bytes; done += part) {
        int fd = -1;
        off_t there = 0;
        part = find_bytes(volume->store, to + done, &fd, &there);
        part = part < bytes - done ? part : bytes - done;
        bool written = write_all(fd, there, (const char *)from + done, part);
        if (!written && (errno == ENOSPC || errno == EDQUOT)) {
            give_blocks_back(volume->store);
            written = write_all(fd, there, (const char *)from + done, part);
        }
        if (!written)
            return refuse(volume->store, bytes_of(volume), errno);
    }
    return CLVOX_OK;
}

int clv_store_get(const clvox_volume *volume, size_t at, void *to, size_t bytes)
{
    const char *from = (const char *)volume->data + at;
    if (!volume->on_disk) {
        memcpy(to, from, bytes);
        return CLVOX_OK;
    }
    for (size_t done = 0, part; done < bytes; done += part) {
        int fd = -1;
        off_t there = 0;
        part = find_bytes(volume->store, from + done, &fd, &there);
        part = part < bytes - done ? part : bytes - done;
        if (!read_all(fd, there, (char *)to + done, part))
            return clvox_fail(CLVOX_ERROR_FILE, "%s: what memory had no room for cannot be read again (%s)",
                              volume->store->folder, strerror(errno));
    }
    return CLVOX_OK;
}

/* A network file system may find only when a file is closed that there is no room. */
static int settle(const clvox_volume *volume)
{
    int fd = -1;
    off_t at = 0;
    const char *data = (const char *)volume->data;
    for (size_t from = 0, part; from < bytes_of(volume); from += part) {
        part = find_bytes(volume->store, data + from, &fd, &at);
        const int again = dup(fd);
        if (again >= 0 && close(again))
            return refuse(volume->store, bytes_of(volume), errno);
    }
    return CLVOX_OK;
}

/* Whether memory has room, which is taken then. */
static bool claim_memory(clvox_store *store, size_t bytes)
{
    pthread_mutex_lock(&store->lock);
    const bool fits = bytes <= store->limit && store->bytes.memory <= store->limit - bytes;
    if (fits)
        count(&store->bytes.memory, &store->bytes.most_memory, bytes);
    pthread_mutex_unlock(&store->lock);
    return fits;
}

static void claim_disk(clvox_store *store, size_t bytes)
{
    pthread_mutex_lock(&store->lock);
    count(&store->bytes.disk, &store->bytes.most_disk, bytes);
    pthread_mutex_unlock(&store->lock);
}

typedef struct copying {
    clvox_volume *to;
    const char *from;
    size_t bytes, part;
} copying;

static int copy_part(void *user, size_t index, int worker)
{
    const copying *c = user;
    const size_t at = index * c->part, left = c->bytes - at;
    (void)worker;
    return clv_store_put(c->to, at, c->from + at, left < c->part ? left : c->part);
}

static int to_disk(clvox_store *store, clvox_volume *v, size_t bytes)
{
    char *mapped = NULL;
    clvox_volume there = *v;
    int status = map_places(store, bytes, &mapped);
    if (status < 0)
        return status;
    there.store = store;
    there.data = (float *)(void *)mapped;
    there.on_disk = 1;
    copying c = {&there, (const char *)v->data, bytes, stripe_of(store, bytes)};
    status = clvox_parallel((bytes + c.part - 1) / c.part, copy_part, &c);
    if (status >= 0)
        status = settle(&there);
    if (status < 0) {
        leave_places(store, mapped, bytes);
        munmap(mapped, bytes);
        return status;
    }
    if (!v->borrowed)
        clv_large_free(v->data);
    v->borrowed = 0;
    v->data = there.data;
    v->on_disk = 1;
    return CLVOX_OK;
}

int clvox_store_keep(clvox_store *store, clvox_volume *volume)
{
    CLV_GIVEN(volume);
    int status = CLVOX_OK;
    if (!store || volume->store)
        return volume->on_disk ? settle(volume) : CLVOX_OK;
    const size_t bytes = bytes_of(volume);
    if (!claim_memory(store, bytes)) {
        CLV_TRY(to_disk(store, volume, bytes));
        claim_disk(store, bytes);
    }
    volume->store = store;
end:
    return status;
}

int clv_store_room(clvox_store *store, const clvox_grid *grid, int frames, clvox_kind kind,
                   clvox_volume **out)
{
    int status = CLVOX_OK;
    char *mapped = NULL;
    const size_t bytes = clvox_grid_voxels(grid) * (size_t)frames * sizeof(float);
    const bool memory = !store || claim_memory(store, bytes);
    *out = NULL;
    if (memory) {
        CLV_TRY(clv_volume_room(grid, frames, kind, out));
    } else {
        CLV_TRY(map_places(store, bytes, &mapped));
        CLV_TRY(clvox_volume_wrap((float *)(void *)mapped, grid, frames, kind, out));
        (*out)->borrowed = 0;
        (*out)->on_disk = 1;
        claim_disk(store, bytes);
    }
    (*out)->store = store;
end:
    if (status < 0 && mapped) {
        leave_places(store, mapped, bytes);
        munmap(mapped, bytes);
    }
    if (status < 0 && memory && store) {
        pthread_mutex_lock(&store->lock);
        store->bytes.memory -= bytes;
        pthread_mutex_unlock(&store->lock);
    }
    return status;
}

void clv_store_release(clvox_volume *volume)
{
    clvox_store *store = volume->store;
    const size_t bytes = bytes_of(volume);
    if (volume->on_disk) /* before its address may become another one's */
        leave_places(store, (const char *)volume->data, bytes);
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
    CLV_GIVEN_OR((clvox_store_bytes){0}, store);
    pthread_mutex_lock(&store->lock);
    const clvox_store_bytes bytes = store->bytes;
    pthread_mutex_unlock(&store->lock);
    return bytes;
}
