/* SPDX-License-Identifier: Apache-2.0 */
#include "op/image/tv.h"

#include <math.h>
#include <string.h>

#include "harness.h"
#include "op/tensor/links.h"
#include "ref/image/tv.h"

enum { MOST_CHANNELS = 3, STEPS = 7, SIMULATED_STEPS = 2 };

typedef struct problem {
    const char *what;
    int size[3];
    float edge[3];
    int channels; /* 0: one by itself */
    bool masked;
} problem;

static const problem problems[] = {
    {"odd, anisotropic, with holes", {11, 9, 5}, {1, 1.25f, 2.5f}, 0, true},
    {"three channels", {9, 5, 3}, {1, 1, 2}, 3, true},
    {"a voxel", {1, 1, 1}, {1, 1, 1}, 0, false},
    /* The rest is left out under the simulator. */
    {"one channel as if of several", {8, 17, 2}, {2, 1, 1}, 1, false},
    {"a row beyond a chunk", {261, 3, 2}, {1, 1, 1}, 0, false},
    {"a line along z", {1, 1, 37}, {1, 1, 3}, 0, false},
    {"one slice", {19, 7, 1}, {1, 1, 4}, 0, true},
    {"marches of several items", {5, 10, 35}, {1, 1, 1}, 2, false},
};

typedef struct setting {
    int n, channels;
    float *data, *mask, *got;
    double *u, *ahead, *dual;
    ref_tv ref;
    clv_tv tv;
    clv_tv_channel channel[MOST_CHANNELS];
    clv_buffer *links, *mask_buffer, *norm, *partial;
} setting;

/* A step and noise, of about 1000 as images are. */
static void make(clvox_context *ctx, const problem *p, setting *s)
{
    const int n = p->size[0] * p->size[1] * p->size[2], channels = p->channels ? p->channels : 1;
    const size_t plane = (size_t)n * sizeof(float), values = (size_t)n * (size_t)channels;
    *s = (setting){.n = n, .channels = channels};
    s->data = malloc(values * sizeof(float));
    s->mask = malloc(plane);
    s->got = malloc(plane);
    s->u = malloc(values * sizeof(double));
    s->ahead = malloc(values * sizeof(double));
    s->dual = calloc(3 * values, sizeof(double));
    harness_random(s->data, values, 7, -60, 60);
    for (size_t k = 0; k < values; k++) {
        int x = (int)k % n % p->size[0], z = (int)k % n / (p->size[0] * p->size[1]);
        s->data[k] += x + z > p->size[0] / 2 ? 1000 : 900;
        s->u[k] = s->ahead[k] = (double)s->data[k];
    }
    for (int i = 0; i < n; i++)
        s->mask[i] = i % 7 == 3 || i % 11 == 5 ? 0 : i % 13 ? 1 : 0.25f;
    s->tv = (clv_tv){.grid = clv_image_of(NULL, p->size, p->edge, 1),
                     .radius = 40,
                     .channel = s->channel,
                     .channels = channels};
    s->ref =
        (ref_tv){.channels = channels, .radius = 40, .data = s->data, .mask = p->masked ? s->mask : NULL};
    const double least = fmin((double)p->edge[0], fmin((double)p->edge[1], (double)p->edge[2]));
    for (int a = 0; a < 3; a++) {
        s->ref.size[a] = p->size[a];
        s->ref.weight[a] = least / (double)p->edge[a];
    }
    s->mask_buffer = p->masked ? harness_upload(ctx, s->mask, plane) : NULL;
    s->links = harness_output(ctx, clv_tensor_links_bytes(p->size));
    s->norm = p->channels ? harness_output(ctx, plane) : NULL;
    s->partial = harness_output(ctx, CLV_TV_PARTIALS * sizeof(float));
    s->tv.links = s->links;
    s->tv.norm = s->norm;
    s->tv.partial = s->partial;
    for (int c = 0; c < channels; c++) {
        clv_tv_channel *to = &s->channel[c];
        to->data = harness_upload(ctx, s->data + c * n, plane);
        for (int k = 0; k < 3; k++)
            to->u[k] = harness_output(ctx, plane);
        for (int k = 0; k < 2; k++)
            to->dual[k] = harness_output(ctx, clv_tv_dual_bytes(p->size));
    }
    const clv_image mask = clv_image_on(&s->tv.grid, s->mask_buffer, 1);
    assert_ok(clv_tensor_links(ctx, &mask, s->links));
    assert_ok(clv_tv_start(ctx, &s->tv));
}

static void discard(setting *s)
{
    for (int c = 0; c < s->channels; c++) {
        clv_buffer_destroy(&s->channel[c].data);
        for (int k = 0; k < 3; k++)
            clv_buffer_destroy(&s->channel[c].u[k]);
        for (int k = 0; k < 2; k++)
            clv_buffer_destroy(&s->channel[c].dual[k]);
    }
    clv_buffer_destroy(&s->mask_buffer);
    clv_buffer_destroy(&s->links);
    clv_buffer_destroy(&s->norm);
    clv_buffer_destroy(&s->partial);
    free(s->data);
    free(s->mask);
    free(s->got);
    free(s->u);
    free(s->ahead);
    free(s->dual);
}

/* The device's u and, as far as they count, its sums, beside the reference's. */
static void compare(clvox_context *ctx, setting *s, const char *what, int steps)
{
    double variation, fit, gap;
    clv_tv_energies e;
    for (int c = 0; c < s->channels; c++) {
        harness_download(ctx, s->channel[c].u[0], s->got, (size_t)s->n * sizeof(float));
        const double error = harness_error(s->got, s->u + c * s->n, (size_t)s->n, 2e-3, 1e-6);
        assert_that(error <= 1, "%s, step %d, channel %d: error %g of what is allowed", what, steps, c,
                    error);
        for (int i = 0; i < s->n; i++)
            assert_true(!s->ref.mask || s->mask[i] > 0 ||
                        !memcmp(s->got + i, s->data + c * s->n + i, sizeof(float)));
    }
    ref_tv_energy(&s->ref, s->u, s->dual, &variation, &fit, &gap);
    assert_ok(clv_tv_energy(ctx, &s->tv, &e));
    const double energy = s->ref.radius * variation + fit;
    assert_that(fabs(e.variation - variation) <= 1e-5 * variation + 1e-3, "%s, step %d: variation %g, %g",
                what, steps, e.variation, variation);
    assert_that(fabs(e.fit - fit) <= 1e-5 * fit + 1e-3, "%s, step %d: fit %g, %g", what, steps, e.fit, fit);
    assert_that(fabs(e.gap - gap) <= 1e-5 * energy + 1e-3, "%s, step %d: gap %g, %g", what, steps, e.gap,
                gap);
}

static void iterations(void **state)
{
    (void)state;
    clvox_context *ctx = harness_context();
    const int all = harness_problems(3, sizeof problems / sizeof *problems);
    const int steps = harness_simulated() ? SIMULATED_STEPS : STEPS;
    for (int k = 0; k < all; k++) {
        setting s;
        make(ctx, &problems[k], &s);
        for (int step = 0; step <= steps; step++) {
            const double tau = (double)s.tv.tau, sigma = (double)s.tv.sigma;
            if (step % 3 == 1 || step == steps)
                compare(ctx, &s, problems[k].what, step);
            if (step == steps)
                break;
            assert_ok(clv_tv_step(ctx, &s.tv));
            ref_tv_step(&s.ref, tau, sigma, (double)s.tv.theta, s.u, s.ahead, s.dual);
        }
        discard(&s);
    }
}

/* The gap closes, and so many of them say how far u may be from where the steps end. */
static void the_gap_closes(void **state)
{
    (void)state;
    clvox_context *ctx = harness_context();
    const problem p = {"gap", {13, 6, 5}, {1, 1, 2}, 0, true};
    setting s;
    clv_tv_energies e[2];
    double apart = 0;
    make(ctx, &p, &s);
    for (int step = 0; step < 12; step++)
        assert_ok(clv_tv_step(ctx, &s.tv));
    assert_ok(clv_tv_energy(ctx, &s.tv, &e[0]));
    harness_download(ctx, s.channel[0].u[0], s.got, (size_t)s.n * sizeof(float));
    for (int i = 0; i < s.n; i++)
        s.u[i] = (double)s.got[i];
    for (int step = 0; step < 1000; step++)
        assert_ok(clv_tv_step(ctx, &s.tv));
    assert_ok(clv_tv_energy(ctx, &s.tv, &e[1]));
    harness_download(ctx, s.channel[0].u[0], s.got, (size_t)s.n * sizeof(float));
    for (int i = 0; i < s.n; i++)
        apart += 0.5 * (s.u[i] - (double)s.got[i]) * (s.u[i] - (double)s.got[i]);
    assert_that(e[1].gap < 1e-3 * e[0].gap, "gap %g, then %g", e[0].gap, e[1].gap);
    assert_that(apart <= e[0].gap && apart > 0, "%g from the end, gap %g", apart, e[0].gap);
    discard(&s);
}

static void what_is_refused(void **state)
{
    (void)state;
    clvox_context *ctx = harness_context();
    setting s;
    make(ctx, &problems[2], &s);
    s.tv.radius = 0;
    assert_int_equal(clv_tv_start(ctx, &s.tv), CLVOX_ERROR_ARGUMENT);
    s.tv.radius = INFINITY;
    assert_int_equal(clv_tv_start(ctx, &s.tv), CLVOX_ERROR_ARGUMENT);
    s.tv.radius = 1;
    s.tv.grid.size[0] = s.tv.grid.size[1] = 30000;
    assert_int_equal(clv_tv_start(ctx, &s.tv), CLVOX_ERROR_ARGUMENT);
    discard(&s);
}

int main(void)
{
    harness_open();
    harness_cases(&clv_entry_tv_step, iterations, NULL, 0, "against the reference");
    harness_cases(&clv_entry_tv_norm, iterations, NULL, 0, "against the reference");
    harness_cases(&clv_entry_tv_sums, iterations, NULL, 0, "against the reference");
    if (!harness_simulated()) /* a thousand launches */
        test_case(the_gap_closes, "the gap closes and bounds the distance");
    test_case(what_is_refused, "what is refused");
    return test_run("tv", harness_close);
}
