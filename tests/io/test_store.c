/* SPDX-License-Identifier: Apache-2.0 */
/* Volumes in memory and on disk. */
#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "clvox/store.h"
#include "clvox/threads.h"
#include "io/volume/store.h"

static char folder[] = "/tmp/store-XXXXXX";

static clvox_volume *numbered(const int size[3], int frames, int seed)
{
    clvox_volume *v = NULL;
    clvox_grid grid = {.size = {size[0], size[1], size[2]},
                       .to_ras = {{2, .1}, {0, 3}, {0, 0, -1}, {0, 0, 0, 1}}};
    assert_ok(clvox_volume_create(&grid, frames, CLVOX_KIND_SCALAR, &v));
    for (size_t i = 0; i < clvox_grid_voxels(&grid) * (size_t)frames; i++)
        v->data[i] = (float)(i * 7 + (size_t)seed) / 3;
    v->data[0] = NAN;
    return v;
}

static void assert_numbered(const clvox_volume *v, int seed)
{
    assert_true(isnan(v->data[0]));
    for (size_t i = 1; i < clvox_grid_voxels(&v->grid) * (size_t)v->frames; i++)
        assert_true(v->data[i] == (float)(i * 7 + (size_t)seed) / 3);
}

/* Names in the folder. */
static int names(void)
{
    int count = 0;
    DIR *d = opendir(folder);
    assert_non_null(d);
    while (readdir(d))
        count++;
    closedir(d);
    return count - 2;
}

static void limits(void **state)
{
    static const int size[4][3] = {
        {17, 13, 11}, {1, 1, 1}, {31, 1, 29}, {64, 16, 4}}; /* the last: whole pages */
    static const int frames[4] = {3, 1, 2, 1};
    clvox_volume *v[4];
    clvox_store *store = NULL;
    const size_t bytes[4] = {17 * 13 * 11 * 12, 4, 31 * 29 * 8, 16384};
    (void)state;
    for (int fit = 0; fit <= 4; fit++) { /* so many stay in memory */
        size_t limit = 0, rest = 0;
        for (int i = 0; i < 4; i++)
            *(i < fit ? &limit : &rest) += bytes[i];
        assert_ok(clvox_store_create(folder, limit, &store));
        for (int i = 0; i < 4; i++) {
            v[i] = numbered(size[i], frames[i], i);
            assert_ok(clvox_store_keep(store, v[i]));
            assert_ok(clvox_store_keep(store, v[i]));
            assert_int_equal(v[i]->on_disk, i >= fit);
        }
        clvox_store_bytes now = clvox_store_measure(store);
        assert_true(now.memory == limit && now.disk == rest && now.most_memory == limit &&
                    now.most_disk == rest);
        assert_int_equal(names(), 0);
        for (int i = 0; i < 4; i++) {
            clvox_store_expect(v[i]);
            assert_numbered(v[i], i);
            clvox_store_rest(v[i]);
            assert_numbered(v[i], i);
        }
        /* A destroyed volume makes room for a new one. */
        clvox_volume_destroy(&v[0]);
        v[0] = numbered(size[0], frames[0], 9);
        assert_ok(clvox_store_keep(store, v[0]));
        assert_int_equal(v[0]->on_disk, fit == 0);
        assert_numbered(v[0], 9);
        for (int i = 0; i < 4; i++)
            clvox_volume_destroy(&v[i]);
        now = clvox_store_measure(store);
        assert_true(now.memory == 0 && now.disk == 0 && now.most_memory == limit && now.most_disk == rest);
        clvox_store_destroy(&store);
    }
    clvox_store_destroy(&store);
    clvox_store_destroy(NULL);
    v[0] = numbered(size[0], 1, 0);
    assert_ok(clvox_store_keep(NULL, v[0]));
    assert_true(!v[0]->store && !v[0]->on_disk);
    clvox_store_expect(v[0]);
    clvox_store_rest(v[0]);
    clvox_store_expect(NULL);
    clvox_store_rest(NULL);
    assert_numbered(v[0], 0);
    clvox_volume_destroy(&v[0]);
    assert_int_equal(clvox_store_create(NULL, 0, &store), CLVOX_ERROR_ARGUMENT);
}

/* A limit on files is to the program what a full disk is. */
static void full(void **state)
{
    clvox_store *store = NULL;
    clvox_volume *v = numbered((const int[3]){40, 30, 20}, 1, 4);
    struct rlimit before, small;
    (void)state;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    small = before;
    small.rlim_cur = 10000;
    assert_ok(clvox_store_create(folder, 100, &store));
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    const int status = clvox_store_keep(store, v);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, handler);
    assert_int_equal(status, CLVOX_ERROR_FILE);
    assert_non_null(strstr(clvox_message(), folder));
    assert_non_null(strstr(clvox_message(), "make room there, or raise the limit of memory"));
    assert_true(!v->store && !v->on_disk);
    assert_numbered(v, 4);
    v->data[3] = 1; /* still its own */
    clvox_volume_destroy(&v);
    assert_int_equal(names(), 0);
    assert_true(clvox_store_measure(store).disk == 0);
    clvox_store_destroy(&store);
    assert_ok(clvox_store_create("/nowhere/at/all", 0, &store));
    v = numbered((const int[3]){4, 3, 2}, 1, 4);
    assert_int_equal(clvox_store_keep(store, v), CLVOX_ERROR_FILE);
    assert_non_null(strstr(clvox_message(), "/nowhere/at/all: "));
    assert_numbered(v, 4);
    clvox_volume_destroy(&v);
    clvox_store_destroy(&store);
}

/* The bytes of the files without names in the folder that this process has open. */
static off_t bytes_in_files(void)
{
    off_t sum = 0;
    struct stat of;
    for (int fd = 0; fd < 256; fd++) {
        char link[64], at[300];
        snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
        const ssize_t length = readlink(link, at, sizeof at - 1);
        at[length > 0 ? length : 0] = 0;
        if (length > 0 && !strncmp(at, folder, strlen(folder)) && !fstat(fd, &of))
            sum += of.st_size;
    }
    return sum;
}

static void used_again(void **state)
{
    static const int small[3] = {8, 8, 8}, large[3] = {16, 16, 32};
    clvox_store *store = NULL;
    clvox_volume *v[2] = {NULL};
    (void)state;
    assert_ok(clvox_store_create(folder, 0, &store));
    for (int i = 0; i < 30; i++) {
        clvox_volume_destroy(&v[0]);
        v[0] = numbered(i % 2 ? small : large, 1, i);
        assert_ok(clvox_store_keep(store, v[0]));
        assert_numbered(v[0], i);
        if (!i) { /* has its place while others come and go */
            v[1] = numbered(large, 1, 77);
            assert_ok(clvox_store_keep(store, v[1]));
        }
    }
    assert_numbered(v[1], 77);
    assert_int_equal(bytes_in_files(), 2 * 32768 + 2048);
    clvox_volume_destroy(&v[0]);
    clvox_volume_destroy(&v[1]);
    clvox_store_destroy(&store);
    assert_int_equal(bytes_in_files(), 0);
}

/* Pieces that end nowhere near the ends of files. */
enum { PIECE = 777777 };

typedef struct pieces {
    clvox_volume *to;
    const clvox_volume *from;
    size_t bytes, count;
} pieces;

static int pass_piece(void *user, size_t index, int worker)
{
    int status = CLVOX_OK;
    const pieces *p = user;
    const size_t at = (p->count - 1 - index) * PIECE, left = p->bytes - at,
                 size = left < PIECE ? left : PIECE;
    char *back = malloc(size);
    (void)worker;
    status = clv_store_put(p->to, at, (const char *)p->from->data + at, size);
    if (status >= 0)
        status = clv_store_get(p->to, at, back, size);
    if (status >= 0 && memcmp(back, (const char *)p->from->data + at, size))
        status = clvox_fail(CLVOX_ERROR_DATA, "piece %zu came back otherwise", index);
    free(back);
    return status;
}

/* In memory without a store, in memory and on disk; twice, over what was there. */
static void in_pieces(void **state)
{
    static const int size[2][3] = {{64, 60, 220}, {50, 40, 30}}; /* four files, and one */
    (void)state;
    for (int k = 0; k < 6; k++) {
        clvox_store *store = NULL;
        clvox_volume *v = NULL, *from = numbered(size[k % 2], 3, k);
        const size_t bytes = clvox_grid_voxels(&from->grid) * 3 * sizeof(float);
        pieces p = {.from = from, .bytes = bytes, .count = (bytes + PIECE - 1) / PIECE};
        assert_ok(clvox_store_create(folder, k < 4 ? SIZE_MAX : bytes - 1, &store));
        assert_ok(clv_store_room(k < 2 ? NULL : store, &from->grid, 3, CLVOX_KIND_SCALAR, &v));
        assert_int_equal(v->on_disk, k >= 4);
        const clvox_store_bytes now = clvox_store_measure(store);
        assert_true(now.memory == (k / 2 == 1 ? bytes : 0) && now.disk == (k >= 4 ? bytes : 0));
        p.to = v;
        for (int turn = 0; turn < 2; turn++) {
            assert_ok(clvox_parallel(p.count, pass_piece, &p));
            assert_ok(clvox_store_keep(store, v));
            assert_numbered(v, k);
            clvox_store_rest(v);
        }
        assert_ok(clvox_store_keep(store, from)); /* the same through memory, beside it */
        assert_numbered(from, k);
        assert_numbered(v, k);
        clvox_volume_destroy(&v);
        clvox_volume_destroy(&from);
        assert_true(clvox_store_measure(store).disk == 0 && clvox_store_measure(store).memory == 0);
        clvox_store_destroy(&store);
    }
}

/* A full disk is found where a piece is written; the volume can go, and what is there stays. */
static void full_in_pieces(void **state)
{
    clvox_store *store = NULL;
    clvox_volume *v = NULL, *from = numbered((const int[3]){64, 64, 64}, 1, 3);
    struct rlimit before, small;
    (void)state;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    small = before;
    small.rlim_cur = 500000;
    assert_ok(clvox_store_create(folder, 0, &store));
    assert_ok(clv_store_room(store, &from->grid, 1, CLVOX_KIND_SCALAR, &v));
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    const int fits = clv_store_put(v, 0, from->data, 400000),
              status = clv_store_put(v, 400000, from->data, 400000);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, handler);
    assert_ok(fits);
    assert_int_equal(status, CLVOX_ERROR_FILE);
    assert_non_null(strstr(clvox_message(), folder));
    assert_non_null(strstr(clvox_message(), "make room there, or raise the limit of memory"));
    char *more = malloc(1 << 20); /* not yet written */
    assert_int_equal(clv_store_get(v, 0, more, 1 << 20), CLVOX_ERROR_FILE);
    free(more);
    clvox_volume_destroy(&v);
    clvox_volume_destroy(&from);
    assert_true(clvox_store_measure(store).disk == 0);
    clvox_store_destroy(&store);
    assert_ok(clvox_store_create("/nowhere/at/all", 0, &store));
    clvox_grid grid = {.size = {4, 3, 2}, .to_ras = {{1}, {0, 1}, {0, 0, 1}, {0, 0, 0, 1}}};
    assert_int_equal(clv_store_room(store, &grid, 1, CLVOX_KIND_SCALAR, &v), CLVOX_ERROR_FILE);
    assert_null(v);
    assert_true(clvox_store_measure(store).disk == 0);
    clvox_store_destroy(&store);
}

static void *come_and_go(void *user)
{
    static const int size[3][3] = {{8, 8, 8}, {16, 16, 16}, {9, 7, 5}};
    clvox_store *store = user;
    clvox_volume *v[3] = {NULL};
    bool right = true;
    for (int i = 0; i < 300; i++) {
        const int k = i % 3, seed = i + (int)(size_t)pthread_self() % 1000;
        clvox_volume_destroy(&v[k]);
        v[k] = numbered(size[(i + i / 3) % 3], 1, seed);
        right &= clvox_store_keep(store, v[k]) >= 0;
        const size_t n = clvox_grid_voxels(&v[k]->grid);
        sched_yield();
        for (size_t j = 1; j < n; j++)
            right &= v[k]->data[j] == (float)(j * 7 + (size_t)seed) / 3;
    }
    for (int k = 0; k < 3; k++)
        clvox_volume_destroy(&v[k]);
    return right ? user : NULL;
}

static void by_threads(void **state)
{
    pthread_t thread[6];
    clvox_store *store = NULL;
    (void)state;
    assert_ok(clvox_store_create(folder, 20000, &store));
    for (int i = 0; i < 6; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, come_and_go, store), 0);
    for (int i = 0; i < 6; i++) {
        void *right = NULL;
        pthread_join(thread[i], &right);
        assert_non_null(right);
    }
    const clvox_store_bytes left = clvox_store_measure(store);
    assert_true(left.memory == 0 && left.disk == 0);
    clvox_store_destroy(&store);
}

static void killed(void **state)
{
    int ended = 0;
    (void)state;
    const pid_t child = fork();
    if (!child) {
        clvox_store *store = NULL;
        clvox_volume *v = numbered((const int[3]){40, 30, 20}, 1, 4);
        if (clvox_store_create(folder, 0, &store) < 0 || clvox_store_keep(store, v) < 0)
            _exit(1);
        raise(SIGKILL);
    }
    assert_true(child > 0 && waitpid(child, &ended, 0) == child);
    assert_true(WIFSIGNALED(ended) && WTERMSIG(ended) == SIGKILL);
    assert_int_equal(names(), 0);
}

enum { THREADS = 4, ROUNDS = 50 };

static void *keep_and_go(void *user)
{
    clvox_store *store = user;
    for (int i = 0; i < ROUNDS; i++) {
        clvox_volume *v = numbered((const int[3]){9, 8, 7}, 1, i);
        const int status = clvox_store_keep(store, v);
        const bool same = status == CLVOX_OK && v->data[5] == (float)(35 + i) / 3;
        clvox_volume_destroy(&v);
        if (!same)
            return "failed";
    }
    return NULL;
}

static void threads(void **state)
{
    clvox_store *store = NULL;
    pthread_t thread[THREADS];
    void *failure;
    (void)state;
    assert_ok(clvox_store_create(folder, 2 * 9 * 8 * 7 * 4, &store));
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, keep_and_go, store), 0);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(thread[i], &failure);
        assert_null(failure);
    }
    const clvox_store_bytes now = clvox_store_measure(store);
    assert_true(now.memory == 0 && now.disk == 0 && now.most_memory <= 2 * 9 * 8 * 7 * 4);
    clvox_store_destroy(&store);
}

static int tear_down(void **state)
{
    (void)state;
    return rmdir(folder);
}

int main(void)
{
    if (!mkdtemp(folder))
        return test_skip_all("no folder for files");
    test_case(limits, "what does not fit into memory goes to disk, its values the same, and no name is seen");
    test_case(full, "a full disk and a missing folder are one sentence, and the volume is as it was");
    test_case(killed, "a program that is killed leaves nothing");
    test_case(threads, "threads keep and destroy volumes at once");
    test_case(in_pieces,
              "values come and go in pieces, by several threads, where the volume lies in several files");
    test_case(full_in_pieces,
              "a disk that is full for a piece is one sentence; what was not written cannot be read");
    test_case(used_again, "places of volumes that are gone are used again");
    test_case(by_threads, "places wander between threads, and values stay those of their volumes");
    return test_run("store", tear_down);
}
