/* SPDX-License-Identifier: Apache-2.0 */
/* Total variation of volumes: known answers. */
#include <math.h>
#include <string.h>

#include "clvox/filter.h"
#include "image/noise.h"
#include "op/harness.h"

static clvox_context *ctx;

static clvox_volume *volume(const int size[3], const double edge[3], int frames)
{
    /* Oblique about x; z the other way round. */
    const double c = 0.8, s = 0.6;
    const clvox_grid grid = {{size[0], size[1], size[2]},
                             {{edge[0], 0, 0, 5},
                              {0, c * edge[1], s * edge[2], 1},
                              {0, s * edge[1], -c * edge[2], 2},
                              {0, 0, 0, 1}}};
    clvox_volume *v;
    assert_ok(clvox_volume_create(&grid, frames, CLVOX_KIND_SCALAR, &v));
    return v;
}

static size_t count_of(const clvox_volume *v)
{
    return clvox_grid_voxels(&v->grid);
}

static clvox_tv_options by_weight(double weight)
{
    clvox_tv_options o;
    clvox_tv_defaults(&o);
    o.noise = CLVOX_NOISE_GAUSSIAN;
    o.weight = weight;
    o.tolerance = 1e-3;
    o.iterations = 5000;
    return o;
}

static float normal(unsigned *seed)
{
    float u[12], sum = 0;
    harness_random(u, 12, (*seed)++, -0.5f, 0.5f);
    for (int k = 0; k < 12; k++)
        sum += u[k];
    return sum;
}

/* A step along an axis: either side moves towards the other by weight w / its length, the edge
 * stays where it is, along any axis, w being smallest edge / edge. */
static void a_step_in_closed_form(void **state)
{
    (void)state;
    static const struct {
        int size[3];
        double edge[3];
        int axis, left;
    } trials[] = {
        {{19, 1, 1}, {1, 1, 1}, 0, 7},
        {{6, 5, 13}, {1, 1, 3}, 2, 4},
        {{3, 11, 2}, {0.5, 2, 1}, 1, 1},
        {{263, 2, 3}, {2, 1, 1}, 0, 258},
    };
    for (size_t t = 0; t < sizeof trials / sizeof *trials; t++) {
        const int axis = trials[t].axis, left = trials[t].left, length = trials[t].size[axis];
        const int stride = axis == 0   ? 1
                           : axis == 1 ? trials[t].size[0]
                                       : trials[t].size[0] * trials[t].size[1];
        const double *edge = trials[t].edge, w = fmin(edge[0], fmin(edge[1], edge[2])) / edge[axis];
        clvox_tv_options o = by_weight(6);
        clvox_volume *in = volume(trials[t].size, edge, 1), *out;
        clvox_tv_report found;
        if (length > 100)
            o.tolerance = 4e-3; /* what is far apart agrees slowly */
        for (size_t i = 0; i < count_of(in); i++)
            in->data[i] = (int)i / stride % length < left ? 100 : 160;
        assert_ok(clvox_filter_tv(ctx, in, NULL, &o, &out, &found));
        assert_that(found.error <= o.tolerance, "trial %zu: error %g after %d", t, found.error,
                    found.iterations);
        assert_true(fabs(found.weight[0] - 6) < 1e-6);
        for (size_t i = 0; i < count_of(in); i++) {
            const bool low = (int)i / stride % length < left;
            const double want = low ? 100 + 6 * w / left : 160 - 6 * w / (length - left);
            assert_that(fabs((double)out->data[i] - want) < 0.05, "trial %zu, voxel %zu: %g instead of %g", t,
                        i, (double)out->data[i], want);
        }
        clvox_volume_destroy(&in);
        clvox_volume_destroy(&out);
    }
}

/* A weight too large for a step makes every voxel the mean. */
static void too_much_weight_leaves_the_mean(void **state)
{
    (void)state;
    clvox_volume *in = volume((int[3]){9, 1, 1}, (double[3]){1, 1, 1}, 1), *out;
    const clvox_tv_options o = by_weight(1000);
    for (int i = 0; i < 9; i++)
        in->data[i] = i < 3 ? 10 : 40;
    assert_ok(clvox_filter_tv(ctx, in, NULL, &o, &out, NULL));
    for (int i = 0; i < 9; i++)
        assert_that(fabsf(out->data[i] - 30) < 1.0f, "voxel %d: %g", i, (double)out->data[i]);
    clvox_volume_destroy(&in);
    clvox_volume_destroy(&out);
}

/* A ball loses weight surface / volume of its contrast, 3 weight / radius, a disc 2 weight / radius. */
static void balls_and_discs_lose_contrast(void **state)
{
    (void)state;
    for (int flat = 0; flat < 2; flat++) {
        const int n = 29, nz = flat ? 1 : n;
        const double radius = 9, weight = 12;
        clvox_volume *in = volume((int[3]){n, n, nz}, (double[3]){1, 1, 1}, 1), *out;
        clvox_tv_options o = by_weight(weight);
        double sum = 0, voxels = 0;
        o.tolerance = 0.01;
        for (size_t i = 0; i < count_of(in); i++) {
            const double x = (double)(i % (size_t)n) - 14, y = (double)(i / (size_t)n % (size_t)n) - 14;
            const double z = flat ? 0 : (double)(i / (size_t)(n * n)) - 14;
            in->data[i] = sqrt(x * x + y * y + z * z) < radius ? 200 : 100;
        }
        assert_ok(clvox_filter_tv(ctx, in, NULL, &o, &out, NULL));
        for (size_t i = 0; i < count_of(in); i++) {
            const double x = (double)(i % (size_t)n) - 14, y = (double)(i / (size_t)n % (size_t)n) - 14;
            const double z = flat ? 0 : (double)(i / (size_t)(n * n)) - 14;
            if (sqrt(x * x + y * y + z * z) < radius - 2.5) {
                sum += 200 - (double)out->data[i];
                voxels++;
            }
        }
        const double want = (flat ? 2 : 3) * weight / radius;
        assert_that(fabs(sum / voxels - want) < 0.15 * want, "flat %d: %g lost, not %g", flat, sum / voxels,
                    want);
        clvox_volume_destroy(&in);
        clvox_volume_destroy(&out);
    }
}

static void what_is_left_alone(void **state)
{
    (void)state;
    const int size[3] = {11, 7, 5};
    const double edge[3] = {1, 1.2, 2};
    clvox_volume *in = volume(size, edge, 1), *mask = volume(size, edge, 1), *out = in;
    clvox_tv_options o = by_weight(20);
    const size_t n = count_of(in), plane = 77;
    /* Constant, but for a plane without values: nothing passes through it. */
    for (size_t i = 0; i < n; i++)
        in->data[i] = i < 2 * plane ? 7 : i < 3 * plane ? NAN : 70;
    in->data[2 * plane] = INFINITY;
    assert_ok(clvox_filter_tv(ctx, in, NULL, &o, &out, NULL));
    for (size_t i = 0; i < n; i++)
        assert_true(isfinite(in->data[i]) ? fabsf(out->data[i] - in->data[i]) <= 1e-5f * in->data[i]
                                          : !memcmp(out->data + i, in->data + i, sizeof(float)));
    clvox_volume_destroy(&out);
    /* Outside the mask values stay and do not count. */
    for (size_t i = 0; i < n; i++) {
        mask->data[i] = i < 2 * plane;
        in->data[i] = i < plane ? 10 : i < 2 * plane ? 10 : 1000;
    }
    in->data[3] = 10.5f;
    assert_ok(clvox_filter_tv(ctx, in, mask, &o, &out, NULL));
    for (size_t i = 0; i < n; i++)
        assert_true(i < 2 * plane ? fabsf(out->data[i] - 10) < 0.1f : out->data[i] == in->data[i]);
    clvox_volume_destroy(&out);
    /* A constant has no noise to measure; without a voxel there is nothing to do. */
    clvox_tv_defaults(&o);
    for (size_t i = 0; i < n; i++)
        in->data[i] = 5;
    assert_true(clvox_filter_tv(ctx, in, NULL, &o, &out, NULL) == CLVOX_ERROR_DATA && !out);
    for (size_t i = 0; i < n; i++)
        mask->data[i] = 0;
    o.sigma = 1;
    assert_true(clvox_filter_tv(ctx, in, mask, &o, &out, NULL) == CLVOX_ERROR_DATA && !out);
    clvox_volume_destroy(&in);
    clvox_volume_destroy(&mask);
}

/* Noise goes by what is measured of it, and the magnitude's mean becomes the signal's. */
static void noise_of_either_kind(void **state)
{
    (void)state;
    for (int rician = 0; rician < 2; rician++) {
        clvox_volume *in = volume((int[3]){23, 19, 17}, (double[3]){1, 1, 1}, 1), *out;
        clvox_tv_options o;
        clvox_tv_report found;
        double sum[2] = {0}, square = 0;
        unsigned seed = 5;
        clvox_tv_defaults(&o);
        o.noise = rician ? CLVOX_NOISE_RICIAN : CLVOX_NOISE_GAUSSIAN;
        for (size_t i = 0; i < count_of(in); i++) {
            const float truth = i % 23 < 11 ? 12 : 100, a = truth + 10 * normal(&seed);
            const float b = rician ? 10 * normal(&seed) : 0;
            in->data[i] = rician ? sqrtf(a * a + b * b) : a;
        }
        assert_ok(clvox_filter_tv(ctx, in, NULL, &o, &out, &found));
        assert_that(fabs(found.sigma[0] - 10) < 0.6 && found.rician == rician, "sigma %g", found.sigma[0]);
        assert_true(found.weight[0] < 0.6101 * found.sigma[0] && found.weight[0] > 0.5 * found.sigma[0]);
        assert_true(found.voxels == count_of(in));
        for (size_t i = 0; i < count_of(in); i++) {
            const bool low = i % 23 < 11;
            const double d = (double)out->data[i] - (low ? 12 : 100);
            sum[low] += d;
            square += d * d;
        }
        const double each = (double)count_of(in) / 23;
        /* Half a noise or more is what the low side is off by where the mean is not taken for what it is. */
        assert_that(fabs(sum[1] / (11 * each)) < 2.5, "rician %d: low side off by %g", rician,
                    sum[1] / (11 * each));
        assert_that(fabs(sum[0] / (12 * each)) < 1.5, "rician %d: high side off by %g", rician,
                    sum[0] / (12 * each));
        assert_that(sqrt(square / (23 * each)) < 4, "rician %d: error %g", rician,
                    sqrt(square / (23 * each)));
        clvox_volume_destroy(&in);
        clvox_volume_destroy(&out);
    }
}

/* The same frame several times is denoised together as by itself; where an edge is in one frame
 * alone, another one's helps. */
static void frames_together(void **state)
{
    (void)state;
    enum { FRAMES = 3 };
    const int size[3] = {13, 9, 5};
    const double edge[3] = {1, 1, 2};
    clvox_volume *one = volume(size, edge, 1), *all = volume(size, edge, FRAMES), *alone, *together, *single;
    clvox_tv_options o;
    const size_t n = count_of(one);
    unsigned seed = 9;
    clvox_tv_defaults(&o);
    o.noise = CLVOX_NOISE_GAUSSIAN;
    o.tolerance = 1e-3;
    o.sigma = 8;
    for (size_t i = 0; i < n; i++)
        one->data[i] = (i % 13 < 6 ? 50 : 90) + 8 * normal(&seed);
    for (int f = 0; f < FRAMES; f++)
        memcpy(all->data + (size_t)f * n, one->data, n * sizeof(float));
    assert_ok(clvox_filter_tv(ctx, one, NULL, &o, &alone, NULL));
    assert_ok(clvox_filter_tv(ctx, all, NULL, &o, &single, NULL));
    o.joint = 1;
    assert_ok(clvox_filter_tv(ctx, all, NULL, &o, &together, NULL));
    assert_int_equal(together->frames, FRAMES);
    for (size_t i = 0; i < FRAMES * n; i++) {
        assert_true(single->data[i] == alone->data[i % n]);
        assert_that(fabsf(together->data[i] - alone->data[i % n]) < 0.1f, "voxel %zu: %g, %g", i,
                    (double)together->data[i], (double)alone->data[i % n]);
    }
    clvox_volume_destroy(&alone);
    clvox_volume_destroy(&single);
    clvox_volume_destroy(&together);
    /* A step that is small in the second frame: joined, more of it is left. */
    for (size_t i = 0; i < FRAMES * n; i++)
        all->data[i] = i % 13 < 6 ? 0 : i / n == 1 ? 1 : 50;
    o.weight = 4;
    assert_ok(clvox_filter_tv(ctx, all, NULL, &o, &together, NULL));
    o.joint = 0;
    assert_ok(clvox_filter_tv(ctx, all, NULL, &o, &single, NULL));
    const float kept[2] = {single->data[n + 12] - single->data[n],
                           together->data[n + 12] - together->data[n]};
    assert_that(kept[0] < 0.1f && kept[1] > 0.9f, "of a step of 1: %g alone, %g together", (double)kept[0],
                (double)kept[1]);
    clvox_volume_destroy(&single);
    clvox_volume_destroy(&together);
    clvox_volume_destroy(&one);
    clvox_volume_destroy(&all);
}

static void what_is_refused(void **state)
{
    (void)state;
    const double edge[3] = {1, 1, 1};
    clvox_volume *in = volume((int[3]){5, 4, 3}, edge, 1), *other = volume((int[3]){4, 4, 3}, edge, 1),
                 *out = in;
    clvox_tv_options o = by_weight(1);
    o.tolerance = 2;
    assert_true(clvox_filter_tv(ctx, in, NULL, &o, &out, NULL) == CLVOX_ERROR_ARGUMENT && !out);
    assert_true(clvox_filter_tv(ctx, in, other, NULL, &out, NULL) == CLVOX_ERROR_ARGUMENT && !out);
    in->grid.to_ras[0][1] += 0.2;
    o = by_weight(1);
    assert_true(clvox_filter_tv(ctx, in, NULL, &o, &out, NULL) == CLVOX_ERROR_ARGUMENT && !out);
    other->kind = CLVOX_KIND_LABEL;
    assert_true(clvox_filter_tv(ctx, other, NULL, &o, &out, NULL) == CLVOX_ERROR_ARGUMENT && !out);
    clvox_volume_destroy(&in);
    clvox_volume_destroy(&other);
}

/* Few iterations are few, and the report says how far they may have come. */
static void iterations_and_their_report(void **state)
{
    (void)state;
    clvox_volume *in = volume((int[3]){13, 9, 5}, (double[3]){1, 1, 1}, 1), *out[2];
    clvox_tv_options o = by_weight(8);
    clvox_tv_report found[2];
    double apart = 0;
    unsigned seed = 2;
    for (size_t i = 0; i < count_of(in); i++)
        in->data[i] = 100 + 10 * normal(&seed);
    assert_ok(clvox_filter_tv(ctx, in, NULL, &o, &out[0], &found[0]));
    o.iterations = 4;
    assert_ok(clvox_filter_tv(ctx, in, NULL, &o, &out[1], &found[1]));
    for (size_t i = 0; i < count_of(in); i++)
        apart += pow((double)out[0]->data[i] - (double)out[1]->data[i], 2);
    apart = sqrt(apart / (double)count_of(in)) / 8;
    assert_true(found[1].iterations == 4 && found[0].iterations > 20 && found[0].error <= 1e-3);
    assert_that(apart > 0.01 && apart < found[1].error + found[0].error, "apart %g, at most %g", apart,
                found[1].error);
    for (int k = 0; k < 2; k++)
        clvox_volume_destroy(&out[k]);
    clvox_volume_destroy(&in);
}

int main(void)
{
    ctx = harness_open();
    test_case(a_step_in_closed_form, "a step moves by weight / length, along any axis and spacing");
    test_case(too_much_weight_leaves_the_mean, "too much weight leaves the mean");
    test_case(balls_and_discs_lose_contrast, "balls and discs lose their surface over their volume");
    test_case(what_is_left_alone, "NaN, what is outside the mask, and constants");
    test_case(noise_of_either_kind, "noise is measured and goes, Gaussian and Rician");
    test_case(frames_together, "frames together share their edges");
    test_case(iterations_and_their_report, "iterations and their report");
    test_case(what_is_refused, "what is refused");
    return test_run("tv", harness_close);
}
