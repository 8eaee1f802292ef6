/* SPDX-License-Identifier: Apache-2.0 */
#include "clvox/threads.h"

#include <stdatomic.h>

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

int main(void)
{
    test_case(there_is_at_least_one_thread_and_a_set,
              "there is at least one thread, and a set number is kept");
    test_case(every_piece_is_done_once_and_a_worker_does,
              "every piece is done once, and a worker does one at a time");
    test_case(no_pieces_are_no_work, "no pieces are no work");
    test_case(the_first_failure_stops_the_rest, "the first failure stops the rest and its sentence arrives");
    return test_run("threads", NULL);
}
