/* SPDX-License-Identifier: Apache-2.0 */
/* Streams of items against a plain loop. */
#include <pthread.h>

#include "bench/papers/stream.h"
#include "check.h"
#include "op/image/pointwise.h"
#include "runtime/device/context.h"

enum { MOST = 11 };
static const int SIZE[3] = {61, 53, 47}; /* long enough for what does not wait to be seen */
enum { VOXELS = 61 * 53 * 47, BYTES = VOXELS * 4 };

static clvox_context *opened;

/* Record of a stream. at: the item at which a step fails. */
typedef struct record {
    clvox_context *ctx;
    int loaded, computed, stored;
    int load_fails, compute_fails, store_fails;
    bool loads_in_order, computes_in_order, stores_in_order, waits;
    pthread_t thread[2]; /* that loads and stores */
    clv_buffer *sum;
    float out[MOST][VOXELS];
} record;

static float value(int item, int voxel)
{
    return (float)(item * 31 + voxel % 17) / 4;
}

static int load(void *user, int item, void *staging)
{
    record *r = user;
    float *to = staging;
    r->loads_in_order &= item == r->loaded++;
    r->thread[0] = pthread_self();
    if (item == r->load_fails)
        return clvox_fail(CLVOX_ERROR_FILE, "item %d cannot be loaded", item);
    for (int i = 0; i < VOXELS; i++)
        to[i] = value(item, i);
    return CLVOX_OK;
}

/* out = 2 in + item, in two launches. */
static int compute(void *user, int item, clv_buffer *in, clv_buffer *out)
{
    int status = CLVOX_OK;
    record *r = user;
    r->computes_in_order &= item == r->computed++;
    if (item == r->compute_fails)
        return clvox_fail(CLVOX_ERROR_DATA, "item %d cannot be worked on", item);
    if (!out)
        return clv_pointwise(r->ctx, CLV_POINTWISE_LINEAR, CLV_VOLUME(r->sum, SIZE), r->sum, in, NULL,
                             (float[4]){1, 1, 0, 0});
    CLV_TRY(clv_pointwise(r->ctx, CLV_POINTWISE_LINEAR, CLV_VOLUME(out, SIZE), in, NULL, NULL,
                          (float[4]){1, 0, 0, (float)item}));
    if (r->waits)
        CLV_TRY(clv_finish(r->ctx));
    status = clv_pointwise(r->ctx, CLV_POINTWISE_LINEAR, CLV_VOLUME(out, SIZE), out, in, NULL,
                           (float[4]){1, 1, 0, 0});
end:
    return status;
}

static int store(void *user, int item, const void *staging)
{
    record *r = user;
    r->stores_in_order &= item == r->stored++;
    r->thread[1] = pthread_self();
    if (item == r->store_fails)
        return clvox_fail(CLVOX_ERROR_FILE, "item %d cannot be stored", item);
    memcpy(r->out[item], staging, BYTES);
    return CLVOX_OK;
}

static stream_work work_of(record *r, int count)
{
    memset(r, 0, offsetof(record, out));
    r->ctx = opened;
    r->load_fails = r->compute_fails = r->store_fails = -1;
    r->loads_in_order = r->computes_in_order = r->stores_in_order = true;
    return (stream_work){count, BYTES, BYTES, load, compute, store, r};
}

static bool is_in_order(const record *r)
{
    return r->loads_in_order && r->computes_in_order && r->stores_in_order;
}

static void assert_streamed(const record *r, int count)
{
    assert_true(is_in_order(r) && r->loaded == count && r->computed == count && r->stored == count);
    int wrong = 0;
    for (int k = 0; k < count; k++)
        for (int i = 0; i < VOXELS; i++)
            wrong += r->out[k][i] != 2 * value(k, i) + (float)k;
    assert_int_equal(wrong, 0);
}

static int stream_all(const stream_work *work, int mode, int order)
{
    stream *items = NULL;
    int status = stream_create(opened, work, (stream_mode)mode, (stream_order)order, &items);
    if (status >= 0)
        status = stream_run(items);
    stream_destroy(&items);
    return status;
}

static void as_a_loop(void **state)
{
    const int *at = *state, mode = at[0], order = at[1];
    static const int counts[] = {0, 1, 2, 3, 4, MOST};
    record *r = malloc(sizeof *r);
    assert_non_null(r);
    for (size_t k = 0; k < sizeof counts / sizeof *counts; k++)
        for (int waits = 0; waits < 2; waits++) {
            const stream_work work = work_of(r, counts[k]);
            void *queue = opened->queue;
            r->waits = waits;
            const size_t before = clv_peak_start(opened);
            assert_ok(stream_all(&work, mode, order));
            assert_streamed(r, counts[k]);
            const int most = mode == STREAM_SYNCHRONOUS ? 1 : mode == STREAM_IMPLICIT ? MOST : 3;
            assert_true(clv_peak_bytes(opened) - before <= (size_t)most * (work.in + work.out));
            assert_ptr_equal(queue, opened->queue);
            assert_int_equal(clv_peak_start(opened), before);
        }
    /* Again, also after a failure. */
    stream *items = NULL;
    const stream_work work = work_of(r, MOST);
    assert_ok(stream_create(opened, &work, (stream_mode)mode, (stream_order)order, &items));
    for (int again = 0; again < 3; again++) {
        work_of(r, MOST);
        r->compute_fails = again == 1 ? 4 : -1;
        const int status = stream_run(items);
        assert_int_equal(status, again == 1 ? CLVOX_ERROR_DATA : CLVOX_OK);
        if (status >= 0)
            assert_streamed(r, MOST);
    }
    stream_destroy(&items);
    const bool apart = mode == STREAM_DISK;
    assert_int_equal(!pthread_equal(r->thread[0], pthread_self()), apart);
    assert_int_equal(!pthread_equal(r->thread[1], pthread_self()), apart);
    free(r);
}

/* Nothing is taken back but a sum. */
static void sums(void **state)
{
    const int *at = *state, mode = at[0], order = at[1];
    record *r = malloc(sizeof *r);
    float *found = malloc(BYTES);
    assert_true(r && found);
    stream_work work = work_of(r, MOST);
    work.out = 0, work.store = NULL;
    assert_ok(clv_buffer_create(opened, BYTES, "sum", &r->sum));
    assert_ok(clv_buffer_fill(opened, r->sum, 0, 0, BYTES));
    assert_ok(stream_all(&work, mode, order));
    assert_ok(clv_buffer_read(opened, r->sum, 0, found, BYTES));
    for (int i = 0; i < VOXELS; i++) {
        float want = 0;
        for (int k = 0; k < MOST; k++)
            want += value(k, i);
        assert_true(found[i] == want);
    }
    assert_true(is_in_order(r) && r->loaded == MOST && r->computed == MOST && r->stored == 0);
    clv_buffer_destroy(&r->sum);
    free(found);
    free(r);
}

static void failures(void **state)
{
    const int *at = *state, mode = at[0], order = at[1];
    record *r = malloc(sizeof *r);
    assert_non_null(r);
    const size_t before = clv_peak_start(opened);
    for (int item = 0; item < 6; item++)
        for (int which = 0; which < 3; which++) {
            static const char *const verbs[] = {"loaded", "worked on", "stored"};
            const stream_work work = work_of(r, 6);
            char sentence[64];
            *(which == 0 ? &r->load_fails : which == 1 ? &r->compute_fails : &r->store_fails) = item;
            snprintf(sentence, sizeof sentence, "item %d cannot be %s", item, verbs[which]);
            assert_int_equal(stream_all(&work, mode, order),
                             which == 1 ? CLVOX_ERROR_DATA : CLVOX_ERROR_FILE);
            assert_string_equal(clvox_message(), sentence);
            assert_true(r->stored <= item + 1 && is_in_order(r));
            assert_int_equal(clv_peak_start(opened), before);
        }
    /* The device has no room. */
    const stream_work work = work_of(r, 6);
    const uint64_t global = opened->limits.global_bytes;
    opened->limits.global_bytes = before + BYTES;
    assert_int_equal(stream_all(&work, mode, order), CLVOX_ERROR_MEMORY);
    opened->limits.global_bytes = global;
    assert_true(r->loaded == 0 && clv_peak_start(opened) == before);
    free(r);
}

static int tear_down(void **state)
{
    (void)state;
    clvox_context_destroy(&opened);
    return 0;
}

int main(void)
{
    static const char *const words[STREAM_MODES] = {"synchronous", "implicit", "engines", "independent",
                                                    "disk"},
                            *const orders[STREAM_ORDERS] = {"UED", "EDU", "DUE"};
    const clvox_context_options options = {.size = sizeof options, .no_wisdom = true};
    if (clvox_context_create(&options, &opened) < 0)
        return test_skip_all("%s", clvox_message());
    for (int mode = 0; mode < STREAM_MODES; mode++)
        for (int order = 0; order < (mode < STREAM_INDEPENDENT ? 1 : STREAM_ORDERS); order++) {
            const char *name = words[mode], *steps = orders[order];
            test_case_at(as_a_loop, TEST_AT(mode, order),
                         "%s, %s: the results of a loop, in the memory of a few", name, steps);
            test_case_at(sums, TEST_AT(mode, order), "%s, %s: a sum over all", name, steps);
            test_case_at(failures, TEST_AT(mode, order), "%s, %s: what fails ends it with its sentence", name,
                         steps);
        }
    return test_run("stream", tear_down);
}
