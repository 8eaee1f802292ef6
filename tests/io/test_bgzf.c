/* SPDX-License-Identifier: Apache-2.0 */
/* Files whose blocks several threads compress and write in turn; also where one of them fails. */
#include "io/packed/bgzf.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

#include "base/status.h"
#include "check.h"
#include "clvox/threads.h"
#include "files.h"

enum { RUN = CLV_BGZF_RUN * CLV_BGZF_BLOCK, RUNS = 8, TOTAL = (RUNS - 1) * RUN + 5000 };

/* One run is the last of those that are under way together. */
typedef struct producer {
    pthread_mutex_t lock;
    int made;         /* runs but the late one */
    int late, others; /* it waits for so many */
    bool bad;         /* and fails */
} producer;

static uint8_t byte_at(size_t i)
{
    return (uint8_t)(i % 7 + i / 5000);
}

static int made(producer *p, int more)
{
    pthread_mutex_lock(&p->lock);
    const int count = p->made += more;
    pthread_mutex_unlock(&p->lock);
    return count;
}

static int produce(void *user, size_t at, size_t size, uint8_t *to)
{
    enum { PATIENCE = 5000 };
    producer *p = user;
    const int run = (int)(at / RUN);
    for (size_t i = 0; i < size; i++)
        to[i] = byte_at(at + i);
    made(p, run != p->late);
    /* Not for ever: there may be fewer threads than were asked for. */
    for (int i = 0; run == p->late && i < PATIENCE && made(p, 0) < p->others; i++)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    return run == p->late && p->bad ? clvox_fail(CLVOX_ERROR_DATA, "run %d is bad", run) : CLVOX_OK;
}

/* The late run's number, once all others that can have begun are made. */
static int write_by(int threads, int late, bool bad, int level, const char *path)
{
    producer p = {.lock = PTHREAD_MUTEX_INITIALIZER, .late = late, .bad = bad};
    clv_file_writer *writer = NULL;
    const int behind = RUNS - 1 - late;
    p.others = late + (threads - 1 < behind ? threads - 1 : behind);
    clvox_threads_set(threads);
    assert_ok(clv_file_create(path, &writer));
    const int status =
        clv_bgzf_write(writer, path, level, &(clv_bgzf_content){"header", 6, TOTAL, produce, &p});
    if (status < 0)
        clv_file_discard(&writer);
    else
        assert_ok(clv_file_commit(&writer));
    clvox_threads_set(0);
    return status;
}

static void blocks_are_in_order(void **state)
{
    const int *given = *state;
    static uint8_t got[TOTAL + 7], *first;
    static size_t first_size;
    size_t size;
    assert_ok(write_by(given[0], given[1], false, 1, files_in("o.gz")));
    gzFile file = gzopen(files_in("o.gz"), "rb");
    assert_non_null(file);
    assert_int_equal(gzread(file, got, sizeof got), 6 + TOTAL);
    gzclose(file);
    assert_memory_equal(got, "header", 6);
    for (size_t i = 0; i < TOTAL; i++)
        assert_that(got[6 + i] == byte_at(i), "byte %zu of run %zu", i % RUN, i / RUN);
    uint8_t *bytes = files_read(files_in("o.gz"), &size);
    if (first) {
        assert_int_equal(size, first_size);
        assert_memory_equal(bytes, first, size);
        free(bytes);
    } else {
        first = bytes;
        first_size = size;
    }
}

static void a_failing_run_ends_all(void **state)
{
    const int *given = *state, run = given[1];
    const int before = files_count();
    char says[32];
    snprintf(says, sizeof says, "run %d is bad", run);
    assert_int_equal(write_by(given[0], run, true, 1, files_in("bad.gz")), CLVOX_ERROR_DATA);
    assert_string_equal(clvox_message(), says);
    assert_int_equal(files_count(), before);
}

/* As a full disk, from two runs and a half on; restores the limit. */
static int write_limited(int (*write)(void *), void *user)
{
    struct rlimit unlimited, limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &unlimited), 0);
    limit = unlimited;
    limit.rlim_cur = 2 * RUN + RUN / 2;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    const int status = write(user);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &unlimited), 0);
    return status;
}

static int write_stored(void *user)
{
    return write_by(*(const int *)user, 2, false, 0, files_in("full.gz"));
}

static void a_full_disk_ends_all(void **state)
{
    int threads = *(const int *)*state;
    const int before = files_count();
    assert_int_equal(write_limited(write_stored, &threads), CLVOX_ERROR_FILE);
    assert_that(strstr(clvox_message(), "full.gz: cannot be written (") &&
                    strstr(clvox_message(), strerror(EFBIG)),
                "%s", clvox_message());
    assert_int_equal(files_count(), before);
}

static int write_noise(void *user)
{
    return clvox_volume_write(user, files_in("v.nii.gz"));
}

static void a_file_that_was_there_stays(void **state)
{
    (void)state;
    const clvox_grid small = {{3, 4, 5}, {{1}, {0, 1}, {0, 0, 1}, {0, 0, 0, 1}}},
                     large = {{100, 100, 100}, {{1}, {0, 1}, {0, 0, 1}, {0, 0, 0, 1}}};
    clvox_volume *v = NULL;
    uint32_t random = 1;
    size_t size, size_after;
    assert_ok(clvox_volume_create(&small, 1, CLVOX_KIND_SCALAR, &v));
    assert_ok(clvox_volume_write(v, files_in("v.nii.gz")));
    clvox_volume_destroy(&v);
    uint8_t *bytes = files_read(files_in("v.nii.gz"), &size), *after;
    const int before = files_count();
    assert_ok(clvox_volume_create(&large, 1, CLVOX_KIND_SCALAR, &v));
    for (size_t i = 0; i < 1000000; i++)
        v->data[i] = (float)((random = random * 1664525U + 1013904223U) >> 8);
    clvox_threads_set(3);
    assert_int_equal(write_limited(write_noise, v), CLVOX_ERROR_FILE);
    clvox_threads_set(0);
    after = files_read(files_in("v.nii.gz"), &size_after);
    assert_int_equal(size, size_after);
    assert_memory_equal(bytes, after, size);
    assert_int_equal(files_count(), before);
    free(bytes);
    free(after);
    clvox_volume_destroy(&v);
}

static int tear_down(void **state)
{
    (void)state;
    files_end();
    return 0;
}

int main(void)
{
    static const int threads[] = {1, 2, 5}, runs[] = {0, 3, RUNS - 1};
    for (int t = 0; t < 3; t++)
        for (int r = 0; r < 3; r++) {
            test_case_at(blocks_are_in_order, TEST_AT(threads[t], runs[r]),
                         "%d threads write blocks in order, run %d being late", threads[t], runs[r]);
            test_case_at(a_failing_run_ends_all, TEST_AT(threads[t], runs[r]),
                         "%d threads, run %d of which fails: all end, and no file is left", threads[t],
                         runs[r]);
        }
    for (int t = 0; t < 3; t++)
        test_case_at(a_full_disk_ends_all, TEST_AT(threads[t]),
                     "%d threads and a full disk: all end, the reason is reported, and no file is left",
                     threads[t]);
    test_case(a_file_that_was_there_stays, "where a volume cannot be written the file that was there stays");
    return test_run("bgzf", tear_down);
}
