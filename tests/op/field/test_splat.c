/* SPDX-License-Identifier: Apache-2.0 */
#include "op/field/splat.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "op/field/warp.h"
#include "op/harness.h"
#include "ref/field/splat.h"

static clvox_context *ctx;

typedef enum shape { SMOOTH, RANDOM, COLLAPSING, NO_FIELD, SHAPES } shape;

typedef struct problem {
    int from[3], to[3];
} problem;

static const problem problems[] = {{{7, 5, 3}, {8, 6, 2}},     {{1, 1, 1}, {1, 1, 1}},
                                   {{9, 1, 5}, {7, 1, 3}},     {{1, 13, 2}, {2, 11, 1}},
                                   {{17, 11, 7}, {19, 13, 5}}, {{37, 9, 8}, {37, 9, 8}},
                                   {{70, 5, 6}, {67, 6, 1}},   {{66, 3, 5}, {71, 4, 11}}};

static void run(const problem *q, shape s, float strength)
{
    const int *from = q->from, *to = q->to;
    size_t n = (size_t)from[0] * (size_t)from[1] * (size_t)from[2], m = (size_t)to[0] * (size_t)to[1] * (size_t)to[2];
    float *in = malloc(n * sizeof *in), *u = malloc(3 * n * sizeof *u), *v = malloc(m * sizeof *v);
    float *got = malloc(m * sizeof *got), *again = malloc(m * sizeof *again), *looked = malloc(n * sizeof *looked);
    double *want = calloc(m, sizeof *want), *size = calloc(m, sizeof *size), *count = calloc(m, sizeof *count), total[5];
    clv_map map = {{{1.02f, .01f, -.03f, .2f}, {.02f, .97f, 0, .1137f}, {0, .03f, .9f, 0}},
                   {{1.25f, 0, .1f}, {0, .8f, 0}, {0, -.1f, .5f}}};
    if (s == COLLAPSING)
        memset(map.linear, 0, sizeof map.linear);
    for (int a = 0; a < 3 && s == COLLAPSING; a++)
        map.linear[a][3] = .37f * (float)(to[a] - 1);
    harness_random(in, n, 3, -strength, strength);
    harness_random(v, m, 4, -1, 1);
    float reach = s == RANDOM ? 9 : s == COLLAPSING ? .01f : .7f;
    harness_random(u, 3 * n, 5, -reach, reach);
    if (n > 5) {
        in[3] = NAN;
        in[4] = -INFINITY;
        u[5] = NAN;
    }
    float *sizes = malloc(n * sizeof *sizes), *ones = malloc(n * sizeof *ones);
    for (size_t i = 0; i < n; i++) {
        sizes[i] = fabsf(in[i]);
        ones[i] = isfinite(in[i]) ? 1 : NAN;
    }
    const float *field = s == NO_FIELD ? NULL : u;
    ref_splat(in, from, &map, field, to, want, total);
    ref_splat(sizes, from, &map, field, to, size, NULL);
    ref_splat(ones, from, &map, field, to, count, NULL);
    void *zeros = calloc(m, 8);
    const int32_t none = 0;
    int32_t beyond;
    clv_splat_args args = {.in = clv_image_of(harness_upload(ctx, in, n * 4), from, NULL, 1), .map = &map,
                           .field = field ? harness_upload_field(ctx, u, n) : NULL,
                           .size = {to[0], to[1], to[2]}, .most = strength,
                           .sums = harness_upload(ctx, zeros, m * 8), .beyond = harness_upload(ctx, &none, 4)};
    clv_splat_args weights = args;
    weights.ones = true;
    weights.sums = harness_upload(ctx, zeros, m * 8);
    clv_buffer *out = harness_output(ctx, m * 4), *dv = harness_upload(ctx, v, m * 4), *dl = harness_output(ctx, n * 4);
    assert_ok(clv_splat(ctx, &args));
    assert_ok(clv_splat_total(ctx, &args, 1, NULL, out));
    harness_download(ctx, out, got, m * 4);
    double sum = 0, moment[3] = {0}, left = 0, right = 0, scale = 0;
    for (size_t j = 0; j < m; j++) {
        const double at[3] = {(double)(j % (size_t)to[0]), (double)(j / (size_t)to[0] % (size_t)to[1]),
                              (double)(j / ((size_t)to[0] * (size_t)to[1]))};
        /* Positions in single precision: each share is off by a part of its value. */
        double room = 1e-5 * (size[j] + (double)strength);
        assert_that(fabs((double)got[j] - want[j]) <= room, "map %d, voxel %zu of %zu: %g, not %g", (int)s, j, m,
                    (double)got[j], want[j]);
        sum += (double)got[j];
        left += (double)got[j] * (double)v[j];
        scale += size[j];
        for (int a = 0; a < 3; a++)
            moment[a] += (double)got[j] * at[a];
    }
    assert_that(fabs(sum - total[0]) <= 1e-6 * total[4], "map %d: sum %g, not %g", (int)s, sum, total[0]);
    for (int a = 0; a < 3; a++)
        assert_that(fabs(moment[a] - total[1 + a]) <= 2e-6 * total[4] * to[a], "map %d: moment %d is %g, not %g", (int)s,
                    a, moment[a], total[1 + a]);
    /* <S in, v> = <in, S* v>. */
    assert_ok(clv_warp(ctx, CLV_VOLUME(dv, to), &map, args.field, CLV_LINEAR, 0, CLV_VOLUME(dl, from)));
    harness_download(ctx, dl, looked, n * 4);
    for (size_t i = 0; i < n; i++)
        right += isfinite(in[i]) ? (double)in[i] * (double)looked[i] : 0;
    assert_that(fabs(left - right) <= 1e-6 * scale + 1e-30, "map %d: <S u, v> = %.9g, <u, S* v> = %.9g", (int)s, left, right);
    /* Sums are 0 again, and the same bits follow. */
    if (!harness_simulated()) {
        assert_ok(clv_splat(ctx, &args));
        assert_ok(clv_splat_total(ctx, &args, 1, NULL, out));
        harness_download(ctx, out, again, m * 4);
        assert_memory_equal(got, again, m * 4);
    }
    /* Means. */
    assert_ok(clv_splat(ctx, &args));
    assert_ok(clv_splat(ctx, &weights));
    const clv_splat_mean mean = {&weights, 1e-3f, -7};
    assert_ok(clv_splat_total(ctx, &args, 2, &mean, out));
    harness_download(ctx, out, again, m * 4);
    for (size_t j = 0; j < m; j++) {
        if (fabs(count[j] - 1e-3) < 1e-4)
            continue;
        double fill = count[j] < 1e-3 ? -7 : 2 * want[j] / count[j];
        double room = count[j] < 1e-3 ? 0 : 4e-5 * (double)strength * (1 + count[j]) / count[j];
        assert_that(fabs((double)again[j] - fill) <= room, "map %d, mean %zu: %g, not %g", (int)s, j, (double)again[j], fill);
    }
    harness_download(ctx, args.beyond, &beyond, 4);
    assert_int_equal(beyond, 0);
    clv_buffer *all[] = {args.in.buffer, (clv_buffer *)args.field, args.sums, args.beyond, weights.sums, out, dv, dl};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        clv_buffer_destroy(&all[i]);
    void *host[] = {in, u, v, got, again, looked, want, size, count, sizes, ones, zeros};
    for (size_t i = 0; i < sizeof host / sizeof *host; i++)
        free(host[i]);
}

/* In the simulator, where each launch takes long, every kernel gets all maps once; other work-groups one. */
static void what_lands(void **state)
{
    (void)state;
    int count = harness_problems(1, sizeof problems / sizeof *problems);
    bool one = getenv("CLVOX_TEST_TINY") && !harness_first();
    for (int k = 0; k < count; k++)
        for (int s = one ? RANDOM : 0; s <= (one ? RANDOM : SHAPES - 1); s++)
            run(&problems[k], (shape)s, s == SMOOTH ? 1e-5f : s == RANDOM ? 3e6f : 2);
}

/* As before, of maps onto few voxels, which work-items may add up in boxes of their own: all of them, all but
 * the last voxel, and all but what comes later. */
enum { NARROW = SHAPES, NEARLY, HALF, KINDS };

/* Each sum, not only its number, is that of a form without local memory or shares, and that form's is that of
 * another: nothing depends on who adds. */
static void same_bits(const problem *q, int kind)
{
    const size_t n = (size_t)q->from[0] * (size_t)q->from[1] * (size_t)q->from[2],
                 m = (size_t)q->to[0] * (size_t)q->to[1] * (size_t)q->to[2];
    clv_map map = {{{1.02f, .01f, -.03f, .2f}, {.02f, .97f, 0, .1137f}, {0, .03f, .9f, 0}},
                   {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
    const float reach = kind == RANDOM ? 9 : .7f;
    const int32_t none = 0;
    int32_t beyond[2];
    float *in = malloc(n * sizeof *in), *u = malloc(3 * n * sizeof *u);
    int64_t *sums[2] = {calloc(m, 8), calloc(m, 8)};
    harness_random(in, n, 6, -1, 1);
    harness_random(u, 3 * n, 7, -reach, reach);
    if (kind >= NARROW) {
        memset(map.linear, 0, sizeof map.linear);
        for (int a = 0; a < 3; a++)
            map.linear[a][3] = .8f * (float)q->to[a];
        in[n / 3] = 2; /* too large, more than once */
        in[n / 3 + 1] = -1.5f;
        in[n / 2] = NAN;
    }
    for (size_t i = kind == NEARLY ? n - 2 : n / 2; i < n && kind > NARROW; i++)
        u[i] -= .8f * (float)q->to[0] - .25f * (float)(i % 4);
    clv_splat_args args = {.in = clv_image_of(harness_upload(ctx, in, n * 4), q->from, NULL, 1),
                           .map = &map,
                           .field = harness_upload_field(ctx, u, n),
                           .boxes = harness_output(ctx, 16 + clv_splat_box_bytes(ctx)),
                           .size = {q->to[0], q->to[1], q->to[2]},
                           .most = 1,
                           .beyond = harness_upload(ctx, &none, 4)};
    const bool cpu = clvox_context_limits(ctx)->type == CLVOX_DEVICE_CPU;
    const char *forced = clv_forced_variant(ctx, clv_entry_splat.name);
    char own[32];
    snprintf(own, sizeof own, "%s", forced ? forced : "");
    const char *simple[] = {cpu ? "row" : "item", cpu ? "item" : "row"};
    const char *other = simple[!strcmp(own, simple[0])];
    for (int plain = 0; plain < 2; plain++) {
        args.sums = harness_upload(ctx, sums[plain], m * 8);
        assert_ok(clv_buffer_write(ctx, args.beyond, 0, &none, 4));
        if (plain)
            assert_ok(clv_force_variant(ctx, clv_entry_splat.name, other, -1));
        assert_ok(clv_splat(ctx, &args));
        harness_download(ctx, args.sums, sums[plain], m * 8);
        harness_download(ctx, args.beyond, &beyond[plain], 4);
        clv_buffer_destroy(&args.sums);
    }
    assert_ok(clv_force_variant(ctx, clv_entry_splat.name, *own ? own : NULL, *own ? harness_tile() : -1));
    for (size_t j = 0; j < m; j++)
        assert_that(sums[0][j] == sums[1][j],
                    "map %d onto %d x %d x %d, voxel %zu: %lld units, %lld by itself", kind, q->to[0],
                    q->to[1], q->to[2], j, (long long)sums[0][j], (long long)sums[1][j]);
    assert_int_equal(beyond[0], beyond[1]);
    assert_int_equal(beyond[0], kind >= NARROW ? 2 : 0);
    clv_buffer *all[] = {args.in.buffer, (clv_buffer *)args.field, args.beyond, args.boxes};
    for (int i = 0; i < 4; i++)
        clv_buffer_destroy(&all[i]);
    void *host[] = {in, u, sums[0], sums[1]};
    for (int i = 0; i < 4; i++)
        free(host[i]);
}

static void same_bits_as_voxel_by_voxel(void **state)
{
    (void)state;
    const bool tiny = getenv("CLVOX_TEST_TINY") != NULL;
    const size_t count = tiny ? harness_first() : sizeof problems / sizeof *problems;
    for (size_t i = 0; i < count; i++)
        for (int kind = SMOOTH; kind <= RANDOM && !(tiny && kind == RANDOM); kind++)
            same_bits(&problems[i], kind);
}

static void same_bits_onto_few(void **state)
{
    (void)state;
    static const problem few[] = {
        {{34, 16, 8}, {67, 20, 36}}, {{5, 31, 28}, {40, 34, 33}}, {{65, 9, 8}, {1, 7, 34}}};
    const bool tiny = getenv("CLVOX_TEST_TINY") != NULL;
    if (harness_simulated()) /* the box alone is 32,768 sums: too long there */
        return;
    /* There only one form has boxes. */
    if (tiny && !harness_first())
        return;
    if (tiny && !harness_variant()->before && strcmp(harness_variant()->name, "part") != 0)
        return;
    for (int i = 0; i < (tiny ? 1 : 3); i++)
        for (int kind = NARROW; kind < (tiny ? NEARLY : KINDS); kind++)
            same_bits(&few[i], kind);
}

/* All in one place, with the largest numbers that fit and smaller ones. */
static void nothing_runs_over(void **state)
{
    (void)state;
    const clv_map map = {{{0}}, {{0}}};
    const int n = getenv("CLVOX_TEST_TINY") ? 256 : 4096, from[3] = {64, n / 64, 1};
    float *in = malloc((size_t)n * sizeof *in), got;
    const int64_t none[4] = {0};
    for (int i = 0; i < n; i++)
        in[i] = i < n / 2 ? 1e34f : -1;
    in[7] = 2e34f;
    clv_splat_args args = {.in = clv_image_of(harness_upload(ctx, in, (size_t)n * 4), from, NULL, 1),
                           .map = &map,
                           .size = {1, 1, 4},
                           .most = 1e34f,
                           .sums = harness_upload(ctx, none, sizeof none),
                           .beyond = harness_upload(ctx, none, 4)};
    clv_buffer *out = harness_output(ctx, 16);
    int32_t beyond;
    assert_ok(clv_splat(ctx, &args));
    assert_ok(clv_splat_total(ctx, &args, 1, NULL, out));
    harness_download(ctx, out, &got, 4);
    harness_download(ctx, args.beyond, &beyond, 4);
    assert_int_equal(beyond, 1);
    assert_that(fabs((double)got / (n / 2 - 1) / 1e34 - 1) < 1e-6, "%g", (double)got);
    args.most = INFINITY;
    assert_int_equal(clv_splat(ctx, &args), CLVOX_ERROR_ARGUMENT);
    clv_buffer *all[] = {args.in.buffer, args.sums, args.beyond, out};
    for (int i = 0; i < 4; i++)
        clv_buffer_destroy(&all[i]);
    free(in);
}

int main(void)
{
    ctx = harness_open();
    harness_cases(&clv_entry_splat, what_lands, NULL, 0, "what lands");
    harness_cases_first(&clv_entry_splat_total, what_lands, NULL, 0, "what lands");
    harness_cases(&clv_entry_splat, same_bits_as_voxel_by_voxel, NULL, 0, "the same bits as voxel by voxel");
    harness_cases(&clv_entry_splat, same_bits_onto_few, NULL, 0, "the same bits onto few voxels");
    harness_cases(&clv_entry_splat_box, same_bits_onto_few, NULL, 0, "the same bits onto few voxels");
    harness_cases(&clv_entry_splat_boxes, same_bits_onto_few, NULL, 0, "the same bits onto few voxels");
    harness_cases_first(&clv_entry_splat, nothing_runs_over, NULL, 0, "nothing runs over");
    return test_run("splat", harness_close);
}
