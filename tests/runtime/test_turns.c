/* SPDX-License-Identifier: Apache-2.0 */
/* Contexts of one device that run the same kernels at a time, on grids that grow. */
#include <pthread.h>
#include <stdlib.h>

#include "check.h"
#include "op/image/gaussian.h"
#include "op/image/sobel.h"
#include "runtime/device/context.h"

enum { CONTEXTS = 6, STEPS = 60, AGAIN = 8, DEEP = 5 };

static void size_of(int step, int size[3])
{
    size[0] = 40 + step % 7;
    size[1] = 20 + 3 * step;
    size[2] = 4 + step % DEEP;
}

/* Result of a step from numbers of its own: the edges of the smoothed image. */
static int make(clvox_context *ctx, int step, float *out)
{
    int status = CLVOX_OK, size[3];
    const float sigma[3] = {1.2f, 1.2f, 0.8f};
    clv_buffer *in = NULL, *room = NULL, *smooth = NULL, *made = NULL;
    size_of(step, size);
    const size_t count = (size_t)size[0] * (size_t)size[1] * (size_t)size[2], bytes = count * sizeof(float);
    float *values = malloc(bytes);
    for (size_t i = 0; values && i < count; i++)
        values[i] = (float)((i * 2654435761u + (size_t)step * 40503u) % 1009u);
    CLV_TRY(values ? CLVOX_OK : CLVOX_ERROR_MEMORY);
    CLV_TRY(clv_buffer_create(ctx, bytes, "values", &in));
    CLV_TRY(clv_buffer_create(ctx, bytes, "scratch", &room));
    CLV_TRY(clv_buffer_create(ctx, bytes, "smooth", &smooth));
    CLV_TRY(clv_buffer_create(ctx, bytes, "edges", &made));
    CLV_TRY(clv_buffer_write(ctx, in, 0, values, bytes));
    for (int i = 0; i < AGAIN; i++) /* so that some are under way when another context begins */
        CLV_TRY(clv_gaussian(ctx, CLV_VOLUME(in, size), sigma, CLV_GAUSSIAN_SEPARABLE, room, smooth));
    CLV_TRY(clv_sobel(ctx, CLV_VOLUME(smooth, size), made));
    status = clv_buffer_read(ctx, made, 0, out, bytes);
end:
    clv_buffer_destroy(&in);
    clv_buffer_destroy(&room);
    clv_buffer_destroy(&smooth);
    clv_buffer_destroy(&made);
    free(values);
    return status;
}

static size_t bytes_of(int step)
{
    int size[3];
    size_of(step, size);
    return sizeof(float) * (size_t)size[0] * (size_t)size[1] * (size_t)size[2];
}

typedef struct user {
    clvox_context *ctx;
    int begin; /* with which step */
    int steps;
    float *made[STEPS];
    int failed;
    pthread_t thread;
} user;

static void *run(void *argument)
{
    user *u = argument;
    for (int i = 0; i < u->steps; i++) {
        const int step = (i + u->begin) % u->steps;
        u->made[step] = malloc(bytes_of(step));
        u->failed += !u->made[step] || make(u->ctx, step, u->made[step]) < 0;
    }
    return NULL;
}

/* As if its driver were of a version of which nothing is known. */
static void make_unknown(clvox_context *ctx)
{
    ctx->driver->leave(ctx);
    strcpy(ctx->limits.driver, "99.0");
    assert_int_equal(ctx->driver->join(ctx), CLVOX_OK);
}

static void check_growing(void **state)
{
    const int *at = *state, unknown = at[0], steps = unknown ? 10 : STEPS;
    clvox_context *alone, **contexts;
    user users[CONTEXTS] = {{.ctx = NULL}};
    const clvox_context_options options = {.size = sizeof options, .at_once = CONTEXTS};
    assert_int_equal(clvox_contexts_create(&options, &contexts), CONTEXTS);
    if (unknown && !contexts[0]->driver->join) {
        clvox_contexts_destroy(&contexts, CONTEXTS);
        test_skip("contexts of this driver take no turns");
    }
    for (int i = 0; i < CONTEXTS; i++) {
        users[i].ctx = contexts[i];
        if (unknown)
            make_unknown(contexts[i]);
        users[i].begin = i * steps / (2 * CONTEXTS);
        users[i].steps = steps;
        assert_int_equal(pthread_create(&users[i].thread, NULL, run, &users[i]), 0);
    }
    for (int i = 0; i < CONTEXTS; i++) {
        assert_int_equal(pthread_join(users[i].thread, NULL), 0);
        assert_int_equal(users[i].failed, 0);
    }
    clvox_contexts_destroy(&contexts, CONTEXTS);
    assert_int_equal(clvox_context_create(NULL, &alone), CLVOX_OK);
    for (int step = 0; step < steps; step++) {
        float *wanted = malloc(bytes_of(step));
        assert_non_null(wanted);
        assert_int_equal(make(alone, step, wanted), CLVOX_OK);
        for (int i = 0; i < CONTEXTS; i++) {
            assert_memory_equal(users[i].made[step], wanted, bytes_of(step));
            free(users[i].made[step]);
        }
        free(wanted);
    }
    clvox_context_destroy(&alone);
}

/* Which launches are alone of two of a grid and of a narrower one. */
static void check_alone(void **state)
{
    const int *at = *state, unknown = at[0];
    clvox_context **contexts;
    const clvox_context_options options = {.size = sizeof options, .at_once = 2};
    assert_int_equal(clvox_contexts_create(&options, &contexts), 2);
    const clv_driver *driver = contexts[0]->driver;
    if (!driver->join) {
        clvox_contexts_destroy(&contexts, 2);
        test_skip("contexts of this driver take no turns");
    }
    for (int i = 0; unknown && i < 2; i++)
        make_unknown(contexts[i]);
    const clv_cache_key key = {{7, (uint64_t)(1 + unknown)}};
    for (int i = 0; i < 4; i++) {
        clvox_context *ctx = contexts[i % 2];
        const clv_kernel kernel = {.shared = driver->share(ctx, &key)};
        assert_non_null(kernel.shared);
        const clv_turn turn = driver->before(ctx, &kernel, i < 2 ? (size_t[]){9, 9, 9} : (size_t[]){8, 9, 7});
        driver->after(ctx, turn, NULL);
        assert_that(turn.alone == (unknown || i == 0), "launch %d", i);
    }
    clvox_contexts_destroy(&contexts, 2);
}

/* Only versions whose insides were read have contexts that run beside each other. */
static void check_versions(void **state)
{
    (void)state;
    static const struct {
        const char *platform, *driver;
        bool several;
    } cases[] = {{"Portable Computing Language", "3.1+debian", true},
                 {"Portable Computing Language", "5.0+debian", true},
                 {"Portable Computing Language", "3.0", false},
                 {"Portable Computing Language", "5.1", false},
                 {"Portable Computing Language", "99.0", false},
                 {"Portable Computing Language", "", false},
                 {"Some Vendor's OpenCL", "99.0", true}};
    const clvox_context_options options = {.size = sizeof options, .at_once = CLVOX_AT_ONCE_ALL};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        clvox_device_limits limits = {
            .type = CLVOX_DEVICE_CPU, .compute_units = 8, .global_bytes = (size_t)64 << 30};
        snprintf(limits.platform, sizeof limits.platform, "%s", cases[i].platform);
        snprintf(limits.driver, sizeof limits.driver, "%s", cases[i].driver);
        assert_that((clvox_at_once(&options, &limits) > 1) == cases[i].several, "case %zu", i);
    }
}

int main(void)
{
    test_case_at(check_growing, TEST_AT(0),
                 "six contexts on one device run the same kernels on grids that grow, with the bits of one");
    test_case_at(check_growing, TEST_AT(1),
                 "the same with a version of the driver of which nothing is known");
    test_case_at(check_alone, TEST_AT(0), "a kernel that the driver has loaded runs beside others");
    test_case_at(check_alone, TEST_AT(1), "none does with a version of the driver of which nothing is known");
    test_case(check_versions, "several contexts pay with known versions of a driver alone");
    return test_run("turns", NULL);
}
