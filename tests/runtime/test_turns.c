/* SPDX-License-Identifier: Apache-2.0 */
/* Contexts of one device that run the same kernels at a time, on grids that grow. */
#include <pthread.h>
#include <stdlib.h>

#include "check.h"
#include "op/image/gaussian.h"
#include "op/image/gradient.h"

enum { CONTEXTS = 6, STEPS = 60, AGAIN = 8, DEEP = 5 };

static void size_of(int step, int size[3])
{
    size[0] = 40 + step % 7;
    size[1] = 20 + 3 * step;
    size[2] = 4 + step % DEEP;
}

/* What a step makes of numbers that are its own: the gradient of the smoothed image. */
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
    CLV_TRY(clv_buffer_create(ctx, 3 * bytes, "gradient", &made));
    CLV_TRY(clv_buffer_write(ctx, in, 0, values, bytes));
    for (int i = 0; i < AGAIN; i++) /* so that some are under way when another context begins */
        CLV_TRY(clv_gaussian(ctx, CLV_VOLUME(in, size), sigma, CLV_GAUSSIAN_SEPARABLE, room, smooth));
    CLV_TRY(clv_gradient(ctx, CLV_VOLUME(smooth, size), made));
    status = clv_buffer_read(ctx, made, 0, out, 3 * bytes);
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
    return 3 * sizeof(float) * (size_t)size[0] * (size_t)size[1] * (size_t)size[2];
}

typedef struct user {
    clvox_context *ctx;
    int begin; /* with which step */
    float *made[STEPS];
    int failed;
    pthread_t thread;
} user;

static void *run(void *argument)
{
    user *u = argument;
    for (int i = 0; i < STEPS; i++) {
        const int step = (i + u->begin) % STEPS;
        u->made[step] = malloc(bytes_of(step));
        u->failed += !u->made[step] || make(u->ctx, step, u->made[step]) < 0;
    }
    return NULL;
}

static void check_growing(void **state)
{
    (void)state;
    clvox_context *alone, **contexts;
    user users[CONTEXTS] = {{.ctx = NULL}};
    const clvox_context_options options = {.at_once = CONTEXTS};
    assert_int_equal(clvox_contexts_create(&options, &contexts), CONTEXTS);
    for (int i = 0; i < CONTEXTS; i++) {
        users[i].ctx = contexts[i];
        users[i].begin = i * STEPS / (2 * CONTEXTS);
        assert_int_equal(pthread_create(&users[i].thread, NULL, run, &users[i]), 0);
    }
    for (int i = 0; i < CONTEXTS; i++) {
        assert_int_equal(pthread_join(users[i].thread, NULL), 0);
        assert_int_equal(users[i].failed, 0);
    }
    clvox_contexts_destroy(&contexts, CONTEXTS);
    assert_int_equal(clvox_context_create(NULL, &alone), CLVOX_OK);
    for (int step = 0; step < STEPS; step++) {
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

int main(void)
{
    test_case(check_growing,
              "six contexts on one device run the same kernels on grids that grow, with the bits of one");
    return test_run("turns", NULL);
}
