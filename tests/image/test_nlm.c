/* SPDX-License-Identifier: Apache-2.0 */
/* Non-local means of volumes: known answers. */
#include <math.h>
#include <string.h>

#include "clvox/filter.h"
#include "image/noise.h"
#include "op/harness.h"

static clvox_context *ctx;

static clvox_volume *volume(int nx, int ny, int nz, int frames)
{
    const clvox_grid grid = {{nx, ny, nz}, {{0.8, 0, 0, 0}, {0, 1.2, 0, 0}, {0, 0, 3, 0}, {0, 0, 0, 1}}};
    clvox_volume *v;
    assert_ok(clvox_volume_create(&grid, frames, CLVOX_KIND_SCALAR, &v));
    return v;
}

static size_t count_of(const clvox_volume *v)
{
    return clvox_grid_voxels(&v->grid);
}

/* About normal, of standard deviation 1: twelve uniform ones. */
static float normal(unsigned *seed)
{
    float u[12], sum = 0;
    harness_random(u, 12, (*seed)++, -0.5f, 0.5f);
    for (int k = 0; k < 12; k++)
        sum += u[k];
    return sum;
}

/* 20 left and 100 right of the middle, and noise of sd; Rician: the length of two. */
static float truth_of(const clvox_volume *v, size_t i)
{
    int nx = v->grid.size[0];
    return (int)(i % (size_t)nx) < nx / 2 ? 20 : 100;
}

static void fill(clvox_volume *v, float sd, bool rician, unsigned seed)
{
    for (size_t i = 0; i < count_of(v) * (size_t)v->frames; i++) {
        float a = truth_of(v, i) + sd * normal(&seed), b = rician ? sd * normal(&seed) : 0;
        v->data[i] = rician ? sqrtf(a * a + b * b) : a;
    }
}

static double error_of(const clvox_volume *v)
{
    double sum = 0;
    for (size_t i = 0; i < count_of(v); i++) {
        double d = (double)v->data[i] - (double)truth_of(v, i);
        sum += d * d;
    }
    return sqrt(sum / (double)count_of(v));
}

/* Odd and prime sizes, one row, one plane: noise goes, the step stays. */
static void a_step_with_noise(void **state)
{
    (void)state;
    static const int sizes[][3] = {{19, 13, 7}, {67, 5, 1}, {131, 1, 1}};
    static const double left[] = {0.4, 0.6, 0.8}; /* of the noise, at most */
    for (int k = 0; k < 3; k++)
        for (int rician = 0; rician < 2; rician++) {
            clvox_volume *in = volume(sizes[k][0], sizes[k][1], sizes[k][2], 1), *out;
            clvox_nlm_options o;
            clvox_nlm_report found;
            clvox_nlm_defaults(&o);
            o.noise = rician ? CLVOX_NOISE_RICIAN : CLVOX_NOISE_GAUSSIAN;
            fill(in, 8, rician, 3 + (unsigned)k);
            assert_ok(clvox_filter_nlm(ctx, in, NULL, &o, &out, &found));
            assert_that(error_of(out) < 8 * left[k], "%d rician %d: error %g", k, rician, error_of(out));
            assert_that(fabs(found.sigma[0] - 8) < 2.5 && found.rician == rician, "sigma %g", found.sigma[0]);
            assert_true(found.voxels == count_of(in) && clvox_grid_equal(&in->grid, &out->grid));
            clvox_volume_destroy(&in);
            clvox_volume_destroy(&out);
        }
}

static void noise_that_is_measured(void **state)
{
    (void)state;
    clvox_volume *v = volume(31, 29, 17, 1);
    double sigma;
    for (int rician = 0; rician < 2; rician++) {
        fill(v, 10, rician, 5);
        assert_ok(clv_image_noise(v->data, v->grid.size, NULL, rician, &sigma, NULL));
        assert_that(fabs(sigma - 10) < 0.5, "rician %d: %g", rician, sigma);
    }
    clvox_volume_destroy(&v);
}

/* Fine anatomy in half of the volume: a rough measure takes it for noise. */
static void anatomy_is_no_noise(void **state)
{
    (void)state;
    for (int flat = 0; flat < 2; flat++) {
        clvox_volume *v = flat ? volume(97, 91, 1, 1) : volume(31, 29, 17, 1);
        double sigma, rough;
        unsigned seed = 3;
        for (size_t i = 0; i < count_of(v); i++) {
            const int nx = v->grid.size[0], ny = v->grid.size[1];
            const unsigned x = (unsigned)i % (unsigned)nx, y = (unsigned)i / (unsigned)nx % (unsigned)ny;
            const unsigned z = (unsigned)i / (unsigned)(nx * ny);
            /* Grains of a voxel, of 0 or 40. */
            const unsigned grain = (x * 7919 + y * 104729 + z * 1299709) * 2654435761u >> 31;
            v->data[i] = 5 * normal(&seed) + (2 * (int)x < nx ? 100 : 100 + 40 * (float)grain);
        }
        assert_ok(clv_image_noise(v->data, v->grid.size, NULL, false, &sigma, &rough));
        assert_that(fabs(sigma - 5) < 0.35 && rough > 1.2 * sigma, "flat %d: %g, roughly %g", flat, sigma,
                    rough);
        clvox_volume_destroy(&v);
    }
}

/* Grains of a voxel, of 0 or three times the noise: what seems to be twice the noise is no reason to smooth
 * more. */
static void anatomy_is_not_smoothed(void **state)
{
    (void)state;
    clvox_volume *in = volume(31, 29, 17, 1), *map = volume(31, 29, 17, 1), *out;
    clvox_nlm_options o;
    clvox_nlm_defaults(&o);
    const size_t n = count_of(in);
    float *truth = malloc(n * sizeof *truth);
    double error = 0;
    unsigned seed = 3;
    harness_random(truth, n, 5, 0, 2);
    for (size_t i = 0; i < n; i++) {
        truth[i] = 100 + 9 * floorf(truth[i]);
        in->data[i] = truth[i] + 3 * normal(&seed);
        map->data[i] = 3;
    }
    o.noise = CLVOX_NOISE_GAUSSIAN;
    o.noise_map = map;
    assert_ok(clvox_filter_nlm(ctx, in, NULL, &o, &out, NULL));
    for (size_t i = 0; i < n; i++)
        error += pow((double)out->data[i] - (double)truth[i], 2) / (double)n;
    assert_that(sqrt(error) < 0.97 * 3, "error %g", sqrt(error));
    clvox_volume_destroy(&in);
    clvox_volume_destroy(&map);
    clvox_volume_destroy(&out);
    free(truth);
}

/* Values from 1e-12 to 1e12, whose fourth powers, and sixth of magnitudes, floats do not hold, are denoised
 * as those of 1. */
static void any_unit(void **state)
{
    (void)state;
    static const int powers[] = {-40, -17, 12, 16, 18, 40};
    clvox_nlm_options o;
    clvox_nlm_defaults(&o);
    for (int rician = 0; rician < 2; rician++) {
        clvox_volume *in = volume(29, 13, 7, 1), *scaled = volume(29, 13, 7, 1), *one, *other;
        o.noise = rician ? CLVOX_NOISE_RICIAN : CLVOX_NOISE_GAUSSIAN;
        fill(in, 8, rician, 3);
        assert_ok(clvox_filter_nlm(ctx, in, NULL, &o, &one, NULL));
        for (int k = 0; k < 6; k++) {
            for (size_t i = 0; i < count_of(in); i++)
                scaled->data[i] = ldexpf(in->data[i], powers[k]);
            assert_ok(clvox_filter_nlm(ctx, scaled, NULL, &o, &other, NULL));
            for (size_t i = 0; i < count_of(in); i++)
                assert_that(ldexpf(one->data[i], powers[k]) == other->data[i],
                            "rician %d, 2^%d, voxel %zu: %g and %g", rician, powers[k], i,
                            (double)one->data[i], (double)ldexpf(other->data[i], -powers[k]));
            clvox_volume_destroy(&other);
        }
        clvox_volume_destroy(&in);
        clvox_volume_destroy(&scaled);
        clvox_volume_destroy(&one);
    }
}

static bool stays(const clvox_volume *out, const clvox_volume *in, size_t i)
{
    return fabsf(out->data[i] - in->data[i]) <= 1e-5f * (fabsf(in->data[i]) + 1);
}

/* With next to no noise, in a map or everywhere, voxels stay as they are. */
static void next_to_no_noise(void **state)
{
    (void)state;
    static const float least[] = {1e-6f, 1e-10f, 1e-12f, 1e-20f, 1e-38f};
    clvox_volume *in = volume(29, 13, 7, 1), *map = volume(29, 13, 7, 1), *out;
    for (int rician = 0; rician < 2; rician++)
        for (int single = 0; single < 2; single++)
            for (int k = 0; k < 5; k++) {
                clvox_nlm_options o;
                clvox_nlm_defaults(&o);
                o.noise = rician ? CLVOX_NOISE_RICIAN : CLVOX_NOISE_GAUSSIAN;
                o.single = single;
                fill(in, 8, rician, 3);
                for (size_t i = 0; i < count_of(in); i++)
                    map->data[i] = i % 29 < 11 ? least[k] : 8;
                o.noise_map = map;
                assert_ok(clvox_filter_nlm(ctx, in, NULL, &o, &out, NULL));
                for (size_t i = 0; i < count_of(in); i++)
                    assert_that(i % 29 < 11 ? stays(out, in, i) : isfinite(out->data[i]),
                                "map of %g, rician %d single %d, voxel %zu: %g, not %g", (double)least[k],
                                rician, single, i, (double)out->data[i], (double)in->data[i]);
                clvox_volume_destroy(&out);
                o.noise_map = NULL;
                o.sigma = (double)least[k];
                assert_ok(clvox_filter_nlm(ctx, in, NULL, &o, &out, NULL));
                for (size_t i = 0; i < count_of(in); i++)
                    assert_that(stays(out, in, i), "%g, rician %d single %d, voxel %zu: %g, not %g",
                                (double)least[k], rician, single, i, (double)out->data[i],
                                (double)in->data[i]);
                clvox_volume_destroy(&out);
            }
    clvox_volume_destroy(&in);
    clvox_volume_destroy(&map);
}

/* Noise from 4 to 16 along x: the map finds it, and weights by it leave less of it and more of a faint step
 * than weights by one number. */
static void noise_that_varies(void **state)
{
    (void)state;
    for (int rician = 0; rician < 2; rician++) {
        clvox_volume *in = volume(61, 23, 21, 1), *map = volume(61, 23, 21, 1), *out[3];
        clvox_nlm_options o;
        clvox_nlm_report found;
        unsigned seed = 7;
        double away[2] = {0}, error[3] = {0};
        const size_t n = count_of(in);
        for (size_t i = 0; i < n; i++) {
            const float truth = i / 61 % 23 < 11 ? 100 : 118, sd = 4 + 12 * (float)(i % 61) / 60;
            const float a = truth + sd * normal(&seed), b = rician ? sd * normal(&seed) : 0;
            in->data[i] = rician ? sqrtf(a * a + b * b) : a;
            map->data[i] = sd;
        }
        float *got = malloc(n * sizeof *got);
        assert_ok(clv_image_noise_map(in->data, in->grid.size, NULL, rician, got));
        /* Beyond the middle of the outermost boxes there is nothing to interpolate. */
        for (size_t i = 0; i < n; i++) {
            const bool within = i % 61 >= 9 && i % 61 < 52;
            away[within] = fmax(away[within], fabs(log((double)(got[i] / map->data[i]))));
        }
        assert_that(away[1] < 0.2 && away[0] < 0.5, "rician %d: the map is off by factors of %g and %g",
                    rician, exp(away[1]), exp(away[0]));
        free(got);
        clvox_nlm_defaults(&o);
        o.noise = rician ? CLVOX_NOISE_RICIAN : CLVOX_NOISE_GAUSSIAN;
        o.sigma = 10;
        assert_ok(clvox_filter_nlm(ctx, in, NULL, &o, &out[0], &found));
        assert_true(found.sigma[0] == found.sigma[1]);
        o.sigma = -1;
        assert_ok(clvox_filter_nlm(ctx, in, NULL, &o, &out[1], &found));
        assert_that(found.sigma[0] < 6 && found.sigma[1] > 12, "of itself %g to %g", found.sigma[0],
                    found.sigma[1]);
        clvox_volume_destroy(&out[1]);
        o.local = 1;
        assert_ok(clvox_filter_nlm(ctx, in, NULL, &o, &out[1], &found));
        assert_that(found.sigma[0] < 6 && found.sigma[1] > 12, "%g to %g", found.sigma[0], found.sigma[1]);
        o.local = 0;
        o.noise_map = map;
        assert_ok(clvox_filter_nlm(ctx, in, NULL, &o, &out[2], &found));
        assert_that(fabs(found.sigma[0] - 4) < 1e-5 && fabs(found.sigma[1] - 16) < 1e-5, "%g to %g",
                    found.sigma[0], found.sigma[1]);
        for (int k = 0; k < 3; k++)
            for (size_t i = 0; i < n; i++)
                error[k] += pow((double)out[k]->data[i] - (i / 61 % 23 < 11 ? 100 : 118), 2) / (double)n;
        assert_that(error[1] < 0.9 * error[0] && error[2] < 0.9 * error[0], "errors %g, %g, %g", error[0],
                    error[1], error[2]);
        /* Voxels without noise in the map stay; a map without any, or on another grid, is refused. */
        for (size_t i = 0; i < n / 2; i++)
            map->data[i] = i % 2 ? 0 : NAN;
        clvox_volume_destroy(&out[0]);
        assert_ok(clvox_filter_nlm(ctx, in, NULL, &o, &out[0], &found));
        assert_memory_equal(in->data, out[0]->data, n / 2 * sizeof(float));
        assert_true(found.voxels == n - n / 2 && memcmp(in->data, out[0]->data, n * sizeof(float)) != 0);
        for (size_t i = 0; i < n; i++)
            map->data[i] = 0;
        clvox_volume_destroy(&out[0]);
        assert_true(clvox_filter_nlm(ctx, in, NULL, &o, &out[0], &found) == CLVOX_ERROR_DATA && !out[0]);
        map->grid.to_ras[0][3] += 40;
        assert_true(clvox_filter_nlm(ctx, in, NULL, &o, &out[0], &found) == CLVOX_ERROR_ARGUMENT && !out[0]);
        for (int k = 1; k < 3; k++)
            clvox_volume_destroy(&out[k]);
        clvox_volume_destroy(&in);
        clvox_volume_destroy(&map);
    }
}

/* Frames of other contrasts and noise, a faint step in the same place: together they keep it, and lose more
 * noise than alone. Where one is not finite all stay. */
static void frames_together(void **state)
{
    (void)state;
    enum { FRAMES = 4 };
    clvox_nlm_options o;
    clvox_nlm_report found;
    clvox_nlm_defaults(&o);
    for (int rician = 0; rician < 2; rician++) {
        clvox_volume *in = volume(23, 19, 11, FRAMES), *alone, *joint, *mask = volume(23, 19, 11, 1);
        const size_t n = count_of(in);
        double error[2] = {0};
        unsigned seed = 5;
        for (size_t i = 0; i < n * FRAMES; i++) {
            const float sd = 4 + (float)(i / n);
            const float a = 30 * sd + (i % 23 < 11 ? 0 : 1.7f) * sd + sd * normal(&seed);
            const float b = rician ? sd * normal(&seed) : 0;
            in->data[i] = rician ? sqrtf(a * a + b * b) : a;
        }
        in->data[2 * n + 77] = NAN;
        for (size_t i = 0; i < n; i++)
            mask->data[i] = i >= 50;
        o.noise = rician ? CLVOX_NOISE_RICIAN : CLVOX_NOISE_GAUSSIAN;
        o.joint = 0;
        assert_ok(clvox_filter_nlm(ctx, in, mask, &o, &alone, NULL));
        o.joint = 1;
        assert_ok(clvox_filter_nlm(ctx, in, mask, &o, &joint, &found));
        assert_that(fabs(found.sigma[0] - 4) < 0.5 && fabs(found.sigma[1] - 7) < 0.8 &&
                        found.voxels == FRAMES * (n - 51),
                    "%g to %g, %zu", found.sigma[0], found.sigma[1], found.voxels);
        for (size_t i = 0; i < n * FRAMES; i++) {
            const float sd = 4 + (float)(i / n);
            const double truth = 30 * (double)sd + (i % 23 < 11 ? 0 : 1.7) * (double)sd;
            if (i % n < 50 || i % n == 77) {
                assert_true(memcmp(&in->data[i], &joint->data[i], sizeof(float)) == 0);
                continue;
            }
            error[0] += pow(((double)alone->data[i] - truth) / (double)sd, 2) / (double)(n * FRAMES);
            error[1] += pow(((double)joint->data[i] - truth) / (double)sd, 2) / (double)(n * FRAMES);
        }
        assert_that(sqrt(error[1]) < 0.15 && error[1] < 0.6 * error[0], "rician %d: errors %g, together %g",
                    rician, sqrt(error[0]), sqrt(error[1]));
        clvox_volume_destroy(&in);
        clvox_volume_destroy(&mask);
        clvox_volume_destroy(&alone);
        clvox_volume_destroy(&joint);
    }
}

/* Stripes below and above the noise, which varies: what is found is the signal, not a mean of magnitudes,
 * nor too little, and stripes are told apart though both have narrower noise. */
static void little_signal(void **state)
{
    (void)state;
    clvox_volume *in = volume(47, 31, 23, 1), *map = volume(47, 31, 23, 1), *out;
    clvox_nlm_options o;
    clvox_nlm_defaults(&o);
    o.noise = CLVOX_NOISE_RICIAN;
    const size_t n = count_of(in);
    for (int given = 0; given < 2; given++) {
        double bias[2] = {0}, square = 0, count[2] = {0};
        unsigned seed = 11;
        for (size_t i = 0; i < n; i++) {
            const float sd = 20 + 15 * (float)(i % 47) / 46, truth = i / 47 % 31 / 5 % 2 ? 65 : 10;
            const float a = truth + sd * normal(&seed), b = sd * normal(&seed);
            in->data[i] = sqrtf(a * a + b * b);
            map->data[i] = sd;
        }
        o.local = !given;
        o.noise_map = given ? map : NULL;
        assert_ok(clvox_filter_nlm(ctx, in, NULL, &o, &out, NULL));
        for (size_t i = 0; i < n; i++) {
            const int bright = i / 47 % 31 / 5 % 2;
            const double d = (double)out->data[i] - (bright ? 65 : 10);
            bias[bright] += d;
            count[bright]++;
            square += d * d / (double)n;
        }
        assert_that(fabs(bias[0] / count[0]) < 6 && fabs(bias[1] / count[1]) < 4 && sqrt(square) < 12.5,
                    "given %d: bias %g and %g, rms %g", given, bias[0] / count[0], bias[1] / count[1],
                    sqrt(square));
        clvox_volume_destroy(&out);
    }
    clvox_volume_destroy(&in);
    clvox_volume_destroy(&map);
}

/* A constant stays where sigma is given, and has no noise to measure; so does an image outside of the mask. */
static void a_constant_and_a_mask(void **state)
{
    (void)state;
    clvox_volume *in = volume(11, 7, 5, 2), *mask = volume(11, 7, 5, 1), *out = in;
    clvox_nlm_options o;
    clvox_nlm_defaults(&o);
    o.noise = CLVOX_NOISE_GAUSSIAN;
    size_t n = count_of(in);
    for (size_t i = 0; i < 2 * n; i++)
        in->data[i] = 7;
    assert_true(clvox_filter_nlm(ctx, in, NULL, &o, &out, NULL) == CLVOX_ERROR_DATA && !out);
    o.sigma = 3;
    assert_ok(clvox_filter_nlm(ctx, in, NULL, &o, &out, NULL));
    for (size_t i = 0; i < 2 * n; i++)
        assert_true(fabsf(out->data[i] - 7) < 3e-5f);
    clvox_volume_destroy(&out);
    fill(in, 8, false, 9);
    for (size_t i = 0; i < n; i++)
        mask->data[i] = i < n / 2;
    assert_ok(clvox_filter_nlm(ctx, in, mask, &o, &out, NULL));
    assert_memory_equal(in->data + n / 2, out->data + n / 2, (n - n / 2) * sizeof(float));
    assert_true(memcmp(in->data, out->data, n / 2 * sizeof(float)) != 0);
    clvox_volume_destroy(&out);
    for (size_t i = 0; i < n; i++)
        mask->data[i] = 0;
    out = in;
    assert_true(clvox_filter_nlm(ctx, in, mask, &o, &out, NULL) == CLVOX_ERROR_DATA && !out);
    clvox_volume_destroy(&in);
    clvox_volume_destroy(&mask);
}

static void nan_stays_where_it_is(void **state)
{
    (void)state;
    clvox_volume *in = volume(19, 13, 7, 1), *out;
    fill(in, 8, false, 3);
    in->data[500] = NAN;
    in->data[30] = INFINITY;
    assert_ok(clvox_filter_nlm(ctx, in, NULL, NULL, &out, NULL));
    for (size_t i = 0; i < count_of(in); i++)
        assert_true(isfinite(out->data[i]) == (i != 500 && i != 30));
    assert_true(isnan(out->data[500]) && isinf(out->data[30]));
    out->data[500] = truth_of(in, 500);
    out->data[30] = truth_of(in, 30);
    assert_that(error_of(out) < 3.5, "error %g", error_of(out));
    clvox_volume_destroy(&in);
    clvox_volume_destroy(&out);
}

static void what_is_refused(void **state)
{
    (void)state;
    clvox_volume *in = volume(5, 4, 3, 1), *other = volume(4, 4, 3, 1), *out;
    clvox_nlm_options o;
    clvox_nlm_defaults(&o);
    o.patch = 3;
    assert_true(clvox_filter_nlm(ctx, in, NULL, &o, &out, NULL) == CLVOX_ERROR_ARGUMENT && !out);
    assert_true(clvox_filter_nlm(ctx, in, other, NULL, &out, NULL) == CLVOX_ERROR_ARGUMENT && !out);
    in->kind = CLVOX_KIND_LABEL;
    assert_true(clvox_filter_nlm(ctx, in, NULL, NULL, &out, NULL) == CLVOX_ERROR_ARGUMENT && !out);
    clvox_volume_destroy(&in);
    clvox_volume_destroy(&other);
}

int main(void)
{
    ctx = harness_open();
    test_case(a_step_with_noise, "noise goes and a step stays, in volumes, planes and lines");
    test_case(noise_that_is_measured, "noise is measured, Gaussian and Rician");
    test_case(anatomy_is_no_noise, "fine anatomy is no noise");
    test_case(anatomy_is_not_smoothed, "fine anatomy is not smoothed as noise");
    test_case(any_unit, "values of any unit give the same");
    test_case(next_to_no_noise, "voxels with next to no noise stay");
    test_case(noise_that_varies, "noise that varies, measured and given");
    test_case(frames_together, "frames together: by the weights of all");
    test_case(little_signal,
              "the signal of magnitude images is found where it is below the noise, and varies");
    test_case(a_constant_and_a_mask, "a constant stays, and what lies outside of the mask");
    test_case(nan_stays_where_it_is, "NaN and infinity stay, and harm nobody");
    test_case(what_is_refused, "labels, options out of range and masks on other grids are refused");
    return test_run("nlm", harness_close);
}
