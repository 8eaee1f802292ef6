/* SPDX-License-Identifier: Apache-2.0 */
#include "base/parallel.h"

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
    return index >= *bad ? clv_fail(CLVOX_ERROR_FILE, "piece %zu", index) : 0;
}

int main(void)
{
    CHECK_CASE("there is at least one thread, and a set number is kept");
    CHECK(clv_threads() >= 1);
    int usual = clv_threads();
    clv_set_threads(5);
    CHECK(clv_threads() == 5);
    clv_set_threads(1000000);
    CHECK(clv_threads() <= 256);
    clv_set_threads(0);
    CHECK(clv_threads() == usual);

    CHECK_CASE("every piece is done once, and a worker does one at a time");
    for (int threads = 1; threads <= 9; threads += 4) {
        clv_set_threads(threads);
        for (int i = 0; i < COUNT; i++)
            atomic_store(&seen[i], 0);
        CHECK(clv_parallel(COUNT, mark, NULL) == 0);
        for (int i = 0; i < COUNT; i++)
            CHECK(atomic_load(&seen[i]) == 1);
        CHECK(!atomic_load(&overlaps));
    }

    CHECK_CASE("no pieces are no work");
    CHECK(clv_parallel(0, mark, NULL) == 0);

    CHECK_CASE("the first failure stops the rest and its sentence arrives");
    for (int threads = 1; threads <= 4; threads++) {
        size_t bad = 17;
        clv_set_threads(threads);
        atomic_store(&calls, 0);
        CHECK(clv_parallel(COUNT, stumble, &bad) == CLVOX_ERROR_FILE);
        CHECK_THAT(!strcmp(clvox_message(), "piece 17"), "%s", clvox_message());
        CHECK(atomic_load(&calls) < COUNT);
    }
    return check_end();
}
