/* SPDX-License-Identifier: Apache-2.0 */
#include "clvox/threads.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/status.h"
#include "check.h"

enum { COUNT = 1000 };
static atomic_int seen[COUNT], busy[64], overlaps, calls;

static int mark(void *user, size_t index, int worker)
{
    (void)user;
    if (atomic_fetch_add(&busy[worker], 1))
        atomic_fetch_add(&overlaps, 1);
    atomic_fetch_add(&seen[index], 1);
    atomic_fetch_sub(&busy[worker], 1);
    return 0;
}

static int mark_only(void *user, size_t index, int worker)
{
    (void)user;
    (void)worker;
    atomic_fetch_add(&seen[index], 1);
    return 0;
}

static int stumble(void *user, size_t index, int worker)
{
    (void)worker;
    const size_t *bad = user;
    atomic_fetch_add(&calls, 1);
    return index >= *bad ? clvox_fail(CLVOX_ERROR_FILE, "piece %zu", index) : 0;
}

static void there_is_at_least_one_thread_and_a_set(void **state)
{
    (void)state;
    assert_true(clvox_threads() >= 1);
    int usual = clvox_threads();
    clvox_threads_set(5);
    assert_true(clvox_threads() == 5);
    clvox_threads_set(1000000);
    assert_true(clvox_threads() <= 256);
    clvox_threads_set(0);
    assert_true(clvox_threads() == usual);
}

static void every_piece_is_done_once_and_a_worker_does(void **state)
{
    (void)state;
    for (int threads = 1; threads <= 9; threads += 4) {
        clvox_threads_set(threads);
        for (int i = 0; i < COUNT; i++)
            atomic_store(&seen[i], 0);
        assert_true(clvox_parallel(COUNT, mark, NULL) == 0);
        for (int i = 0; i < COUNT; i++)
            assert_true(atomic_load(&seen[i]) == 1);
        assert_true(!atomic_load(&overlaps));
    }
}

static void no_pieces_are_no_work(void **state)
{
    (void)state;
    assert_true(clvox_parallel(0, mark, NULL) == 0);
}

/* Every piece is a loop of its own. */
static int begin_another(void *user, size_t index, int worker)
{
    (void)index;
    (void)worker;
    return clvox_parallel(COUNT, mark_only, user);
}

static void pieces_may_be_loops_themselves(void **state)
{
    (void)state;
    enum { LOOPS = 40 };
    clvox_threads_set(4);
    for (int i = 0; i < COUNT; i++)
        atomic_store(&seen[i], 0);
    assert_true(clvox_parallel(LOOPS, begin_another, NULL) == 0);
    for (int i = 0; i < COUNT; i++)
        assert_true(atomic_load(&seen[i]) == LOOPS);
}

static void *many_loops(void *user)
{
    for (int i = 0; i < 50; i++)
        if (clvox_parallel(COUNT, mark_only, NULL) < 0)
            return user;
    return NULL;
}

static void threads_of_a_program_work_beside_each_other(void **state)
{
    (void)state;
    enum { CALLERS = 8 };
    pthread_t caller[CALLERS];
    void *failed;
    clvox_threads_set(3);
    for (int i = 0; i < COUNT; i++)
        atomic_store(&seen[i], 0);
    for (int i = 0; i < CALLERS; i++)
        assert_true(!pthread_create(&caller[i], NULL, many_loops, &seen));
    for (int i = 0; i < CALLERS; i++)
        assert_true(!pthread_join(caller[i], &failed) && !failed);
    for (int i = 0; i < COUNT; i++)
        assert_true(atomic_load(&seen[i]) == 50 * CALLERS);
}

static int wait_for_others(void *user, size_t index, int worker)
{
    (void)user;
    (void)index;
    (void)worker;
    atomic_fetch_add(&calls, 1);
    for (int i = 0; atomic_load(&calls) < 3 && i < 20000; i++)
        usleep(1000);
    return atomic_load(&calls) < 3 ? clvox_fail(CLVOX_ERROR_DEVICE, "alone") : 0;
}

/* Pieces run at the same time, also in a process that is a fork of one that has threads. */
static void a_fork_starts_threads_of_its_own(void **state)
{
    (void)state;
    int end = 0;
    clvox_threads_set(3);
    atomic_store(&calls, 0);
    assert_true(clvox_parallel(3, wait_for_others, NULL) == 0);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (!child) {
        atomic_store(&calls, 0);
        _exit(clvox_parallel(3, wait_for_others, NULL) == 0 ? 0 : 1);
    }
    assert_true(waitpid(child, &end, 0) == child);
    assert_true(WIFEXITED(end) && !WEXITSTATUS(end));
}

static void the_first_failure_stops_the_rest(void **state)
{
    (void)state;
    for (int threads = 1; threads <= 4; threads++) {
        size_t bad = 17;
        clvox_threads_set(threads);
        atomic_store(&calls, 0);
        assert_int_equal(clvox_parallel(COUNT, stumble, &bad), CLVOX_ERROR_FILE);
        assert_that(!strcmp(clvox_message(), "piece 17"), "%s", clvox_message());
        assert_true(atomic_load(&calls) < COUNT);
    }
}

static int tell_threads(void *user, size_t index, int worker)
{
    (void)worker;
    ((int *)user)[index] = clvox_threads();
    return CLVOX_OK;
}

static void *tell_in_a_thread(void *user)
{
    *(int *)user = clvox_threads();
    return NULL;
}

static void a_thread_has_a_number_of_its_own(void **state)
{
    (void)state;
    int told[5], other = 0;
    pthread_t thread;
    clvox_threads_set(4);
    assert_int_equal(clvox_threads_own(2), 0);
    assert_int_equal(clvox_parallel(5, tell_threads, told), CLVOX_OK);
    for (int i = 0; i < 5; i++)
        assert_int_equal(told[i], 2);
    assert_int_equal(pthread_create(&thread, NULL, tell_in_a_thread, &other), 0);
    pthread_join(thread, NULL);
    assert_int_equal(other, 4);
    assert_int_equal(clvox_threads_own(0), 2);
    assert_int_equal(clvox_threads(), 4);
}

static int usual_threads(void **state)
{
    (void)state;
    clvox_threads_set(0);
    return 0;
}

int main(void)
{
    test_after_each(usual_threads);
    test_case(there_is_at_least_one_thread_and_a_set,
              "there is at least one thread, and a set number is kept");
    test_case(every_piece_is_done_once_and_a_worker_does,
              "every piece is done once, and a worker does one at a time");
    test_case(no_pieces_are_no_work, "no pieces are no work");
    test_case(pieces_may_be_loops_themselves, "pieces may be loops themselves");
    test_case(threads_of_a_program_work_beside_each_other, "a program's threads work beside each other");
    test_case(a_fork_starts_threads_of_its_own, "a process that was forked starts threads of its own");
    test_case(a_thread_has_a_number_of_its_own, "a thread may have a number of its own");
    test_case(the_first_failure_stops_the_rest, "the first failure stops the rest and its sentence arrives");
    return test_run("threads", NULL);
}
