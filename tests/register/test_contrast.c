/* SPDX-License-Identifier: Apache-2.0 */
/* Images given one another's contrast: means against sums over all voxels, known answers, and a run's
 * channels. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/matrix.h"
#include "op/harness.h"
#include "register/pair.h"
#include "register/contrast/synthesis.h"
#include "runtime/device/context.h"

enum { X = 32, Y = 30, Z = 28, N = X * Y * Z };

static clvox_context *ctx;
static float image[N], inward[N], other[N], out[N];
static const clvox_grid grid = {{X, Y, Z}, {{2, 0, 0, 0}, {0, 2, 0, 0}, {0, 0, 2, 0}, {0, 0, 0, 1}}};

/* Smooth waves from 0 to 1, more than two of them along each axis. */
static void waves(float *to)
{
    for (int i = 0; i < N; i++) {
        const double x = i % X, y = i / X % Y, z = i / X / Y;
        to[i] = (float)(.5 + .5 * sin(.45 * x + .2 * z) * cos(.4 * y - .3 * z));
    }
}

static float tent(float v)
{
    return v < .5f ? 2 * v : 2 - 2 * v;
}

static void functions_are_found(void **state)
{
    const bool nearby = *(const int *)*state;
    bool made;
    waves(image);
    for (int i = 0; i < N; i++)
        other[i] = 3 - 2 * tent(image[i]);
    assert_ok(clv_contrast_image(&grid, image, other, nearby ? 20 : INFINITY, out, &made));
    assert_true(made);
    for (int i = 0; i < N; i++) /* bins are .02 wide, and their means take neighbours in */
        assert_that(fabsf(out[i] - other[i]) <
                        (image[i] < .04f || image[i] > .96f || fabsf(image[i] - .5f) < .05f ? .16f : .04f),
                    "%g of %g instead of %g", (double)out[i], (double)image[i], (double)other[i]);
}

/* The meaning of a value may change from place to place. */
static void nearby_counts(void **state)
{
    (void)state;
    bool made;
    double error[2] = {0};
    waves(image);
    for (int i = 0; i < N; i++)
        other[i] = i % X < X / 2 ? image[i] : 1 - image[i];
    for (int k = 0; k < 2; k++) {
        assert_ok(clv_contrast_image(&grid, image, other, k ? 8 : INFINITY, out, &made));
        for (int i = 0; i < N; i++)
            if (i % X < 4 || i % X >= X - 4)
                error[k] += (double)fabsf(out[i] - other[i]);
    }
    assert_that(error[1] < .25 * error[0], "%g of %g", error[1], error[0]);
}

/* Weighed by Gaussians, summed over all voxels: cells and bins come near that. */
static void means_are_those_of_all_voxels(void **state)
{
    (void)state;
    static const double SIGMA = 12;
    bool made;
    double difference = 0, deviation = 0, low = 1, high = 0;
    waves(image);
    for (int i = 0; i < N; i++)
        other[i] = (float)sin(.31 * (i % X)) * tent(image[i]);
    assert_ok(clv_contrast_image(&grid, image, other, SIGMA, out, &made));
    for (int i = 0; i < N; i++) {
        low = fmin(low, (double)image[i]);
        high = fmax(high, (double)image[i]);
    }
    const double bin = (high - low) / 47;
    for (int i = 77; i < N; i += 401) {
        double sum = 0, all = 0;
        for (int k = 0; k < N; k++) {
            const double d[3] = {2. * (i % X - k % X), 2. * (i / X % Y - k / X % Y),
                                 2. * (i / X / Y - k / X / Y)},
                         v = (double)(image[i] - image[k]) / bin,
                         w = exp(-.5 * ((d[0] * d[0] + d[1] * d[1] + d[2] * d[2]) / (SIGMA * SIGMA) + v * v));
            sum += w * (double)other[k];
            all += w;
        }
        difference += pow((double)out[i] - sum / all, 2);
        deviation += pow(sum / all, 2);
    }
    assert_that(difference < .01 * deviation, "%g of %g", difference, deviation);
}

static void what_is_no_number_stays(void **state)
{
    (void)state;
    bool made;
    waves(image);
    memcpy(other, image, sizeof other);
    image[5] = NAN;
    image[6] = INFINITY;
    image[7] = -INFINITY;
    other[900] = NAN;
    other[901] = INFINITY;
    assert_ok(clv_contrast_image(&grid, image, other, 20, out, &made));
    assert_true(made && isnan(out[5]) && out[6] == INFINITY && out[7] == -INFINITY);
    for (int i = 8; i < N; i++)
        assert_that(out[i] >= -.01f && out[i] <= 1.01f, "%g at %d", (double)out[i], i);
}

static void constants_are_left(void **state)
{
    const bool which = *(const int *)*state;
    bool made = true;
    waves(image);
    waves(other);
    for (int i = 0; i < N; i++)
        (which ? image : other)[i] = 7;
    assert_ok(clv_contrast_image(&grid, image, other, 20, out, &made));
    assert_false(made);
}

static void nothing_known_is_left(void **state)
{
    (void)state;
    bool made = true;
    waves(image);
    for (int i = 0; i < N; i++)
        other[i] = NAN;
    assert_ok(clv_contrast_image(&grid, image, other, 20, out, &made));
    assert_false(made);
}

/* 1 in one contrast, -1 where it is inverted, and not known where nothing varies. */
static void agreement_has_a_sign(void **state)
{
    (void)state;
    waves(image);
    for (int i = 0; i < N; i++)
        other[i] = 4 - 2 * image[i];
    assert_true(clv_contrast_agreement(&grid, image, image) > .9999);
    assert_true(clv_contrast_agreement(&grid, image, other) < -.9999);
    for (int i = 0; i < N; i++)
        other[i] = 1;
    assert_true(isnan(clv_contrast_agreement(&grid, image, other)));
}

/* Windows of 5 voxels an edge at every second one, each summed by itself: the same bits, whatever the rows'
 * length. In noise all have content but those with a voxel that is not known. */
static void agreement_is_that_of_windows(void **state)
{
    enum { SIDE = 5, VOXELS = SIDE * SIDE * SIDE };
    const int shorter = *(const int *)*state;
    const clvox_grid part = {{X - shorter, Y - shorter, Z - shorter},
                             {{2, 0, 0, 0}, {0, 2, 0, 0}, {0, 0, 2, 0}, {0, 0, 0, 1}}};
    const int *n = part.size;
    double total = 0;
    int count = 0;
    for (int i = 0; i < N; i++) {
        image[i] = (float)fmod(i * .7548776662, 1);
        other[i] = image[i] + (float)fmod(i * .5698402909, 1);
    }
    other[7 * n[0] * n[1] + 6 * n[0] + 9] = NAN;
    for (int z = 0; z + SIDE <= n[2]; z += 2) {
        double sum = 0;
        for (int y = 0; y + SIDE <= n[1]; y += 2)
            for (int x = 0; x + SIDE <= n[0]; x += 2) {
                double sa = 0, sb = 0, aa = 0, bb = 0, ab = 0;
                for (int k = 0; k < VOXELS; k++) {
                    const int i = ((z + k / SIDE / SIDE) * n[1] + y + k / SIDE % SIDE) * n[0] + x + k % SIDE;
                    const double a = (double)image[i], b = (double)other[i];
                    sa += a, sb += b, aa += a * a, bb += b * b, ab += a * b;
                }
                const double va = (aa - sa * sa / VOXELS) / VOXELS, vb = (bb - sb * sb / VOXELS) / VOXELS,
                             c = (ab - sa * sb / VOXELS) / VOXELS;
                if (isnan(vb))
                    continue;
                sum += c * fabs(c) / va / vb;
                count++;
            }
        total += sum;
    }
    const double agreement = clv_contrast_agreement(&part, image, other);
    assert_that(agreement == total / count, "%.17g, not %.17g", agreement, total / count);
}

/* A run of an image and of another contrast of it that lies SHIFT mm away along x, as its two channels. */
static const float SHIFT = 12;
typedef struct shifted {
    clv_registration run;
    clv_buffer *u, *u_fixed;
} shifted;

static void make_shifted(shifted *s, float to_moving, float to_fixed)
{
    static float field[3 * N];
    const size_t bytes = N * sizeof(float);
    waves(image);
    for (int i = 0; i < N; i++) {
        const double x = i % X - (double)SHIFT / 2, y = i / X % Y, z = i / X / Y;
        other[i] = 3 - 2 * (float)(.5 + .5 * sin(.45 * x + .2 * z) * cos(.4 * y - .3 * z));
    }
    *s = (shifted){.run = {.ctx = ctx,
                           .fixed_grid = grid,
                           .moving_grid = grid,
                           .domain = grid,
                           .n = N,
                           .m = N,
                           .channels = {{.made = CLV_MADE_MOVING}, {.made = CLV_MADE_FIXED}},
                           .channel_count = 2}};
    clv_matrix_identity(s->run.matrix);
    s->run.channels[0].fixed = harness_upload(ctx, image, bytes);
    s->run.channels[0].moving = harness_output(ctx, bytes);
    s->run.channels[1].fixed = harness_output(ctx, bytes);
    s->run.channels[1].moving = harness_upload(ctx, other, bytes);
    s->run.channels[0].level_fixed = harness_output(ctx, bytes);
    s->run.channels[1].level_moving = harness_output(ctx, bytes);
    s->run.scratch_a = harness_output(ctx, bytes);
    s->run.scratch_b = harness_output(ctx, bytes);
    for (int i = 0; i < 3 * N; i++)
        field[i] = i < N ? to_moving : 0;
    s->u = harness_upload_field(ctx, field, N);
    for (int i = 0; i < 3 * N; i++)
        field[i] = i < N ? to_fixed : 0;
    s->u_fixed = harness_upload_field(ctx, field, N);
}

static void free_shifted(shifted *s)
{
    clv_buffer **all[] = {&s->run.channels[0].fixed,
                          &s->run.channels[0].moving,
                          &s->run.channels[1].fixed,
                          &s->run.channels[1].moving,
                          &s->run.channels[0].level_fixed,
                          &s->run.channels[1].level_moving,
                          &s->run.scratch_a,
                          &s->run.scratch_b,
                          &s->run.masks.of[0],
                          &s->run.masks.of[1],
                          &s->u,
                          &s->u_fixed};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        clv_buffer_destroy(all[i]);
}

/* Mean error of the synthesized fixed and of the synthesized moving image, away from what does not meet. */
static void errors_of(const shifted *s, double error[2])
{
    enum { EDGE = 8 };
    int count = 0;
    error[0] = error[1] = 0;
    harness_download(ctx, s->run.channels[1].fixed, out, sizeof out);
    harness_download(ctx, s->run.channels[0].moving, inward, sizeof inward);
    for (int i = 0; i < N; i++)
        if (i % X >= EDGE && i % X < X - EDGE && i / X % Y < Y / 2) {
            error[0] += fabs((double)out[i] - (3 - 2 * (double)image[i]));
            error[1] += fabs((double)inward[i] - (3 - (double)other[i]) / 2);
            count++;
        }
    error[0] /= count;
    error[1] /= count;
}

/* The targets of displacements from a middle, not the voxels' own positions, tell what a value means. */
static void displacements_count(void **state)
{
    const float share = *(const int *)*state / 10.f; /* of the shift that is the fixed image's half */
    double error[2], blind[2];
    shifted s;
    make_shifted(&s, (1 - share) * SHIFT, -share * SHIFT);
    assert_ok(clv_contrast_again(&s.run, 20, false, &grid, s.u, share > 0 ? s.u_fixed : NULL));
    errors_of(&s, error);
    free_shifted(&s);
    make_shifted(&s, 0, 0);
    assert_ok(clv_contrast_again(&s.run, 20, false, &grid, s.u, s.u_fixed));
    errors_of(&s, blind);
    free_shifted(&s);
    for (int k = 0; k < 2; k++)
        assert_that(error[k] < .04 && blind[k] > .1, "%s: %g, without displacements %g",
                    k ? "moving" : "fixed", error[k], blind[k]);
}

/* Meanings belong to places of the image, wherever the middle has them: here they turn round at X / 2 of the
 * fixed one. */
static void places_follow(void **state)
{
    (void)state;
    double error = 0;
    int count = 0;
    shifted s;
    make_shifted(&s, 0, -SHIFT);
    for (int i = 0; i < N; i++)
        if (i % X - SHIFT / 2 >= X / 2)
            other[i] = 4 - other[i];
    clv_buffer_destroy(&s.run.channels[1].moving);
    s.run.channels[1].moving = harness_upload(ctx, other, sizeof other);
    assert_ok(clv_contrast_again(&s.run, 5, false, &grid, s.u, s.u_fixed));
    harness_download(ctx, s.run.channels[1].fixed, out, sizeof out);
    free_shifted(&s);
    for (int i = 0; i < N; i++) {
        const int from = i % X - X / 2;
        if (abs(from) > 6 || abs(from) < 3)
            continue;
        error += fabs((double)out[i] - (from < 0 ? 3 - 2 * (double)image[i] : 1 + 2 * (double)image[i]));
        count++;
    }
    assert_that(error / count < .15, "%g", error / count);
}

/* Nothing is learned where a mask, of either image, says that its values mean nothing. */
static void masks_count(void **state)
{
    const bool moving = *(const int *)*state;
    static float mask[N];
    double error[2];
    shifted s;
    make_shifted(&s, SHIFT, 0);
    for (int i = 0; i < N; i++) {
        mask[i] = i / X % Y < Y / 2;
        if (!(mask[i] > 0))
            (moving ? other : image)[i] = (float)(i % 13) / 13 + (moving ? 1 : 0);
    }
    clv_buffer **garbled = moving ? &s.run.channels[1].moving : &s.run.channels[0].fixed;
    clv_buffer_destroy(garbled);
    *garbled = harness_upload(ctx, moving ? other : image, sizeof other);
    *(moving ? &s.run.masks.of[1] : &s.run.masks.of[0]) = harness_upload(ctx, mask, sizeof mask);
    assert_ok(clv_contrast_again(&s.run, INFINITY, false, &grid, s.u, NULL));
    errors_of(&s, error);
    free_shifted(&s);
    assert_that(error[0] < .04 && error[1] < .04, "%g and %g", error[0], error[1]);
}

/* Thin dark sheets and thick bright ones that have one value in the other contrast: what lies around tells
 * them apart, where the displacement leads. */
static void surroundings_count(void **state)
{
    (void)state;
    static const char sheets[] = "111001111222222111001112222221";
    static float noise[N];
    double error[2];
    for (int k = 0; k < 2; k++) {
        shifted s;
        int count = 0;
        make_shifted(&s, 0, 0);
        harness_random(noise, N, 3, -.01f, .01f);
        for (int i = 0; i < N; i++) {
            const int at = i / X % Y;
            image[i] = .2f + .3f * (float)(sheets[at] - '0');
            other[i] = tent(.2f + .3f * (float)(sheets[at < Y - 1 ? at + 1 : at] - '0')) + noise[i];
        }
        clv_buffer_destroy(&s.run.channels[0].fixed);
        clv_buffer_destroy(&s.run.channels[1].moving);
        s.run.channels[0].fixed = harness_upload(ctx, image, sizeof image);
        s.run.channels[1].moving = harness_upload(ctx, other, sizeof other);
        clv_buffer_destroy(&s.u);
        static float field[3 * N];
        for (int i = 0; i < 3 * N; i++)
            field[i] = i / N == 1 ? -2 : 0;
        s.u = harness_upload_field(ctx, field, N);
        assert_ok(clv_contrast_again(&s.run, 20, k > 0, &grid, s.u, NULL));
        harness_download(ctx, s.run.channels[0].moving, inward, sizeof inward);
        free_shifted(&s);
        error[k] = 0;
        for (int i = 0; i < N; i++) {
            const int at = i / X % Y;
            if (at > 3 && at < Y - 4) {
                error[k] += fabs((double)inward[i] - (.2 + .3 * (sheets[at + 1] - '0')));
                count++;
            }
        }
        error[k] /= count;
    }
    assert_that(error[0] > .1 && error[1] < .35 * error[0], "%g, by the value alone %g", error[1], error[0]);
}

/* The content that a run of two channels reports with these fixed images; s is freed. */
static double content_of(shifted *s, const float *const fixed[2], const double share[2])
{
    static const float none[CLV_STATE_SLOTS];
    clvox_register_options o = {.deform = CLVOX_DEFORM_SYN, .metric = CLVOX_METRIC_LNCC, .radius = 2};
    const size_t floats = clv_register_measure_floats(&o, &grid);
    clv_metric_report report;
    clv_registration *run = &s->run;
    run->options = &o;
    run->image_count = 2;
    run->partial = harness_output(ctx, CLV_REGISTER_PARTIALS * sizeof(float));
    run->state = harness_upload(ctx, none, sizeof none);
    run->metric_scratch = harness_output(ctx, (floats + 1) * sizeof(float));
    for (int k = 0; k < 2; k++) {
        clv_channel *c = &run->channels[k];
        c->share = share[k];
        clv_buffer_destroy(&c->fixed);
        clv_buffer_destroy(&c->moving);
        c->fixed = harness_upload(ctx, fixed[k], sizeof out);
        c->moving = harness_upload(ctx, other, sizeof other);
        if (!c->level_fixed)
            c->level_fixed = harness_output(ctx, sizeof out);
    }
    assert_ok(clv_register_measure(run, true, NULL, &report));
    clv_buffer_destroy(&run->channels[1].level_fixed);
    clv_buffer_destroy(&run->partial);
    clv_buffer_destroy(&run->state);
    clv_buffer_destroy(&run->metric_scratch);
    free_shifted(s);
    return report.content;
}

/* The share with content is that of the fixed image as it is, whichever image comes first: synthesized like a
 * noisy one it has no air. */
static void content_is_the_fixed_images(void **state)
{
    shifted s;
    make_shifted(&s, 0, 0);
    if (*(const int *)*state) {
        s.run.channels[0].made = CLV_MADE_FIXED;
        s.run.channels[1].made = CLV_MADE_MOVING;
    }
    for (int i = 0; i < N; i++) {
        out[i] = .5f + .4f * image[i];
        image[i] = i / X % Y < Y / 3 ? out[i] : 0;
    }
    const bool own = clv_contrast_own(&s.run);
    const double content =
        content_of(&s, (const float *const[2]){own ? out : image, own ? image : out}, (double[2]){.5, .5});
    assert_that(fabs(content - 1. / 3) < .02, "%g", content);
}

/* Channels of other images: what any of them with a weight shows, whatever their order. */
static void content_is_that_of_all_channels(void **state)
{
    const int *given = *state;
    const bool weightless = given[0], back = given[1];
    const float *fixed[2] = {image, inward};
    double share[2] = {weightless ? 1 : .7, weightless ? 0 : .3};
    shifted s;
    make_shifted(&s, 0, 0);
    s.run.channels[0].made = s.run.channels[1].made = CLV_AS_READ;
    for (int i = 0; i < N; i++) { /* the first half of the rows, and a third of which half is in that */
        const float value = .5f + .4f * image[i];
        inward[i] = i / X % Y >= Y / 3 && i / X % Y < 2 * Y / 3 ? value : 0;
        image[i] = i / X % Y < Y / 2 ? value : 0;
    }
    const double content = content_of(&s, (const float *const[2]){fixed[back], fixed[!back]},
                                      (double[2]){share[back], share[!back]});
    assert_that(fabs(content - (weightless ? 1. / 2 : 2. / 3)) < .02, "%g", content);
}

typedef struct seen {
    int starts;
    double fraction;
} seen;

static int watch(void *user, const clvox_step *step)
{
    seen *s = user;
    s->starts += step->level == 0 && step->iteration == 0;
    assert_true(step->fraction >= s->fraction && step->fraction <= 1 + 1e-9);
    s->fraction = step->fraction;
    return 0;
}

/* Heads are registered three times, crops once; either way a second call gives the same bits, and exchanged
 * images the inverse affine and as many starts. */
static void heads_are_registered_thrice(void **state)
{
    const bool head = *(const int *)*state;
    const double edge = head ? 4 : 2;
    pair p;
    clvox_register_options o;
    clvox_register_result r, again;
    seen s = {0, 0};
    double largest;
    pair_make(&p, (int[]){36, 32, 30}, (double[]){edge, edge, edge}, false, 1.75 * edge, 5);
    size_t n = clvox_grid_voxels(&p.moving->grid);
    for (size_t i = 0; i < n; i++)
        p.moving->data[i] = fminf(5 * p.moving->data[i], 300 - p.moving->data[i]);
    clvox_register_defaults(&o);
    o.linear = CLVOX_LINEAR_RIGID;
    o.by_contrast = 1;
    o.progress = watch;
    o.user = &s;
    assert_ok(pair_register(ctx, p.fixed, p.moving, NULL, NULL, &o, &r));
    assert_int_equal(r.metric, CLVOX_METRIC_MIND);
    assert_int_equal(s.starts, head ? 3 : 1);
    assert_true(s.fraction > .999);
    o.progress = NULL;
    assert_ok(pair_register(ctx, p.fixed, p.moving, NULL, NULL, &o, &again));
    assert_true(pair_same(r.warp, again.warp));
    clvox_register_result_destroy(&again);
    s = (seen){0, 0};
    o.progress = watch;
    assert_ok(pair_register(ctx, p.moving, p.fixed, NULL, NULL, &o, &again));
    assert_int_equal(s.starts, head ? 3 : 1);
    double product[4][4];
    clv_matrix_multiply(CLV_MATRIX(r.matrix), CLV_MATRIX(again.matrix), product);
    for (int i = 0; i < 16; i++)
        assert_true(fabs(product[i / 4][i % 4] - (i % 5 == 0)) < 1e-12);
    const double error = pair_error(&p, &r, NULL, &largest), start = pair_start(&p, NULL);
    assert_that(error < .7 * start, "%g voxels of %g", error, start);
    assert_true(r.metric_after > r.metric_linear);
    clvox_register_result_destroy(&r);
    clvox_register_result_destroy(&again);
    pair_free(&p);
}

/* Fluid of 5 to 15 in a third of a head, tissue of 40 to 60 elsewhere, of which what is above 50 may change to
 * less; air beyond. */
enum { HX = 61, HY = 53, HZ = 47, HN = HX * HY * HZ };
static const clvox_grid head = {{HX, HY, HZ}, {{-3, 0, 0, 90}, {0, 3.1, 0, -80}, {0, 0, 3.4, 7}, {0, 0, 0, 1}}};

static void make_tissues(float *to, bool changed, unsigned seed)
{
    harness_random(to, HN, seed, -1.5f, 1.5f);
    for (int i = 0; i < HN; i++) {
        const double x = i % HX - .5 * HX, y = i / HX % HY - .5 * HY, z = i / HX / HY - .5 * HZ;
        const double wave = sin(.5 * x) * cos(.45 * y) * sin(.6 * z + 1), fluid = sin(.11 * x) + cos(.13 * y - .1 * z);
        const bool inside = pow(x / (.47 * HX), 2) + pow(y / (.47 * HY), 2) + pow(z / (.47 * HZ), 2) < 1;
        to[i] += (float)(!inside       ? 0
                         : fluid < -.3 ? 10 + 5 * wave
                                       : 50 + (changed && wave > 0 ? -3 : 10) * wave);
    }
}

typedef struct tissue_agreement {
    double bright, dark;
} tissue_agreement;

static tissue_agreement tissues_of(const clvox_grid *on, const float *fixed, const float *moving)
{
    tissue_agreement a;
    assert_ok(clv_contrast_tissues(on, fixed, moving, &a.bright, &a.dark));
    return a;
}

static void tissues_are_compared(void **state)
{
    (void)state;
    static float fixed[HN], moving[HN];
    make_tissues(fixed, false, 1);
    make_tissues(moving, true, 2);
    const tissue_agreement changed = tissues_of(&head, fixed, moving);
    for (int i = 0; i < HN; i++)
        moving[i] = i / HX / HY < HZ / 3 ? NAN : 7 + .1f * fixed[i];
    const tissue_agreement cut = tissues_of(&head, fixed, moving);
    make_tissues(moving, false, 3);
    const tissue_agreement same = tissues_of(&head, moving, fixed);
    for (int i = 0; i < HN; i++) /* three times as bright on one side, and not well aligned */
        moving[i] = (float)exp(log(3) * (i % HX) / HX) * moving[i < HN - 1 ? i + 1 : i];
    const tissue_agreement worse = tissues_of(&head, moving, fixed);
    assert_that(cut.bright > .999 && cut.dark > .999 && changed.bright < 0 && changed.dark > .1 &&
                    same.bright > .7 && worse.bright > .9 * worse.dark,
                "bright, dark: %g, %g, by 3 mm off %g, %g, tissues changed %g, %g, a third missing %g, %g",
                same.bright, same.dark, worse.bright, worse.dark, changed.bright, changed.dark, cut.bright,
                cut.dark);
    for (int i = 0; i < HN; i++)
        moving[i] = NAN;
    assert_true(isnan(tissues_of(&head, fixed, moving).bright));
    for (int i = 0; i < HN; i++)
        moving[i] = 3;
    assert_true(isnan(tissues_of(&head, fixed, moving).bright));
    assert_true(isnan(tissues_of(&grid, fixed, fixed).bright)); /* 64 mm are no head */
}

/* Such heads seem to have one contrast until they lie on one another: then all begins again, twice. */
static void tissues_begin_again(void **state)
{
    const bool changed = *(const int *)*state;
    clvox_volume *fixed, *moving;
    clvox_register_options o;
    clvox_register_result r;
    seen s = {0, 0};
    assert_ok(clvox_volume_create(&head, 1, CLVOX_KIND_SCALAR, &fixed));
    assert_ok(clvox_volume_create(&head, 1, CLVOX_KIND_SCALAR, &moving));
    make_tissues(fixed->data, false, 1);
    make_tissues(moving->data, changed, 2);
    clvox_register_defaults(&o);
    o.linear = CLVOX_LINEAR_RIGID;
    o.by_contrast = 1;
    o.progress = watch;
    o.user = &s;
    assert_ok(pair_register(ctx, fixed, moving, NULL, NULL, &o, &r));
    assert_int_equal(r.metric, changed ? CLVOX_METRIC_MIND : CLVOX_METRIC_LNCC);
    assert_int_equal(s.starts, changed ? 3 : 1);
    assert_true(s.fraction > .999);
    clvox_register_result_destroy(&r);
    clvox_volume_destroy(&fixed);
    clvox_volume_destroy(&moving);
}

/* A pair of other contrasts ends as near to the truth as by self-similarity alone, exchanged images
 * give the inverse affine, and what comes back has its own values. */
static void pairs_gain(void **state)
{
    (void)state;
    pair p;
    clvox_register_options o;
    clvox_register_result by_default, mind, back;
    double largest, high = 0;
    pair_make(&p, (int[]){40, 36, 32}, (double[]){2, 2, 2}, false, 3.5, 5);
    size_t n = clvox_grid_voxels(&p.moving->grid);
    for (size_t i = 0; i < n; i++)
        p.moving->data[i] = fminf(5 * p.moving->data[i], 300 - p.moving->data[i]);
    clvox_register_defaults(&o);
    o.linear = CLVOX_LINEAR_RIGID;
    o.by_contrast = 1;
    assert_ok(pair_register(ctx, p.fixed, p.moving, NULL, NULL, &o, &by_default));
    assert_ok(pair_register(ctx, p.moving, p.fixed, NULL, NULL, &o, &back));
    o.by_contrast = 0;
    o.metric = CLVOX_METRIC_MIND;
    assert_ok(pair_register(ctx, p.fixed, p.moving, NULL, NULL, &o, &mind));
    const double synthesized = pair_error(&p, &by_default, NULL, &largest),
                 raw = pair_error(&p, &mind, NULL, &largest);
    printf("# %.3f voxels before, %.3f synthesized, %.3f by MIND of the images as they are\n",
           pair_start(&p, NULL), synthesized, raw);
    assert_int_equal(by_default.metric, CLVOX_METRIC_MIND);
    assert_true(synthesized < .6 * pair_start(&p, NULL) && synthesized < 1.05 * raw);
    double product[4][4];
    clv_matrix_multiply(CLV_MATRIX(by_default.matrix), CLV_MATRIX(back.matrix), product);
    for (int i = 0; i < 16; i++)
        assert_true(fabs(product[i / 4][i % 4] - (i % 5 == 0)) < 1e-12);
    for (size_t i = 0; i < n; i++)
        high = fmax(high, (double)by_default.warped->data[i]);
    assert_true(high > 200);
    clvox_register_result_destroy(&by_default);
    clvox_register_result_destroy(&mind);
    clvox_register_result_destroy(&back);
    pair_free(&p);
}

/* With so many volumes of memory beyond the plan a run gives the result of a large device, or a suspicion. */
static void little_memory_is_said(void **state)
{
    (void)state;
    static const int volumes[] = {0, 18, 64};
    enum { CASES = sizeof volumes / sizeof *volumes };
    pair p;
    clvox_register_options o;
    clvox_register_result whole, r;
    int said = 0;
    pair_make(&p, (int[]){30, 26, 24}, (double[]){2, 2, 2}, false, 2.5, 5);
    const size_t n = clvox_grid_voxels(&p.moving->grid), all = ctx->limits.global_bytes;
    for (size_t i = 0; i < n; i++)
        p.moving->data[i] = fminf(5 * p.moving->data[i], 300 - p.moving->data[i]);
    clvox_register_defaults(&o);
    o.linear = CLVOX_LINEAR_RIGID;
    o.by_contrast = 1;
    o.iterations[o.levels - 1] = 2;
    assert_ok(pair_register(ctx, p.fixed, p.moving, NULL, NULL, &o, &whole));
    assert_true(whole.metric == CLVOX_METRIC_MIND && !(whole.suspicions & CLVOX_SUSPECT_MEMORY));
    const clvox_register_images images = {
        .channels = 1, .fixed = {p.fixed}, .moving = {p.moving}, .weight = {1}};
    const size_t plan = clvox_register_bytes(&images, &o);
    for (int k = 0; k < CASES; k++) {
        ctx->limits.global_bytes = ctx->allocated + plan + (size_t)volumes[k] * n * sizeof(float);
        assert_ok(pair_register(ctx, p.fixed, p.moving, NULL, NULL, &o, &r));
        const bool doubted = r.suspicions & CLVOX_SUSPECT_MEMORY, same = pair_same(r.warp, whole.warp);
        assert_that(doubted || (same && r.metric == whole.metric), "%d volumes: another result", volumes[k]);
        assert_that(!doubted || !same, "%d volumes: a doubt about the same result", volumes[k]);
        assert_true(k > 0 || doubted);
        said += doubted;
        clvox_register_result_destroy(&r);
    }
    ctx->limits.global_bytes = all;
    assert_that(said < CASES, "%d times", said);
    clvox_register_result_destroy(&whole);
    pair_free(&p);
}

/* A textured ball, or another contrast of it, in air where faint waves, too weak to be content, are shifted.
 * They lie AIR mm and more from the middle, in corners of the ball's box. */
enum { WIDE = 48, RADIUS = 26, AIR = 44, EDGE = 5 };

static double from_the_middle(int i)
{
    const double half = (WIDE - 1) / 2.;
    return 2 * hypot(hypot(i % WIDE - half, i / WIDE % WIDE - half), i / WIDE / WIDE - half);
}

static clvox_volume *ball_in_air(bool recoloured, double shift)
{
    const clvox_grid wide = {{WIDE, WIDE, WIDE}, {{2, 0, 0, 0}, {0, 2, 0, 0}, {0, 0, 2, 0}, {0, 0, 0, 1}}};
    clvox_volume *v;
    assert_ok(clvox_volume_create(&wide, 1, CLVOX_KIND_SCALAR, &v));
    for (int i = 0; i < WIDE * WIDE * WIDE; i++) {
        const double x = i % WIDE, y = i / WIDE % WIDE, z = i / WIDE / WIDE, d = from_the_middle(i);
        const float wave = (float)(.5 + .5 * sin(.45 * x + .2 * z) * cos(.4 * y - .3 * z));
        if (d < RADIUS)
            v->data[i] = 100 + 100 * (recoloured ? 1 - tent(wave) : wave);
        else if (d >= AIR && x > WIDE / 2 && x < WIDE - EDGE && y >= EDGE && y < WIDE - EDGE && z >= EDGE &&
                 z < WIDE - EDGE)
            v->data[i] = (float)(8 + 8 * sin((x - shift) / 2) * cos(y / 3));
    }
    return v;
}

/* Air tells whether synthesized images belong together (quality_control.c): it is compared, and moves. */
static void air_counts(void **state)
{
    const bool recoloured = *(const int *)*state;
    clvox_volume *fixed = ball_in_air(false, 0), *moving = ball_in_air(recoloured, 1);
    clvox_register_options o;
    clvox_register_result r;
    double moved = 0;
    pair_options(&o, CLVOX_DEFORM_SYN, CLVOX_METRIC_LNCC);
    o.levels = 1;
    o.shrink[0] = 1;
    o.iterations[0] = 40;
    o.linear = CLVOX_LINEAR_RIGID;
    o.by_contrast = 1;
    assert_ok(pair_register(ctx, fixed, moving, NULL, NULL, &o, &r));
    assert_int_equal(r.metric, recoloured ? CLVOX_METRIC_MIND : CLVOX_METRIC_LNCC);
    for (int i = 0; i < WIDE * WIDE * WIDE; i++)
        if (from_the_middle(i) >= AIR)
            moved = fmax(moved, fabs((double)r.warp->data[i]));
    printf("# air moved by %.3g mm\n", moved);
    assert_true(recoloured ? moved > .2 : moved < .02);
    clvox_register_result_destroy(&r);
    clvox_volume_destroy(&fixed);
    clvox_volume_destroy(&moving);
}

static float brighter(float v)
{
    return 1 + 3 * v;
}

static float darker_where_bright(float v)
{
    return 2 - v;
}

/* Whether two aligned images, of voxels of edge mm, are reported as of other contrasts; what is not reported
 * would be wrong. units: mm of the moving image in one of the fixed one. */
static bool said_to_differ(float (*contrast)(float), float edge, float noise, double units)
{
    const size_t bytes = N * sizeof(float);
    clvox_grid on = grid, there = grid;
    bool differ = contrast == brighter;
    for (int k = 0; k < 3; k++) {
        on.to_ras[k][k] = (double)edge;
        there.to_ras[k][k] = (double)edge * units;
    }
    waves(image);
    harness_random(out, N, 11, -noise, noise);
    harness_random(inward, N, 12, -noise, noise);
    for (int i = 0; i < N; i++) {
        other[i] = contrast(image[i]) + out[i];
        image[i] += inward[i];
    }
    clv_registration run = {.ctx = ctx,
                            .fixed_grid = on,
                            .moving_grid = there,
                            .domain = on,
                            .n = N,
                            .m = N,
                            .channel_count = 1,
                            .scratch_a = harness_output(ctx, bytes),
                            .scratch_b = harness_output(ctx, bytes)};
    clv_channel *c = &run.channels[0];
    clv_matrix_identity(run.matrix);
    for (int k = 0; k < 3; k++)
        run.matrix[k][k] = units;
    c->fixed = harness_upload(ctx, image, bytes);
    c->moving = harness_upload(ctx, other, bytes);
    c->level_fixed = harness_output(ctx, bytes);
    c->level_moving = harness_output(ctx, bytes);
    assert_ok(clv_contrast_differ(&run, 20, &differ));
    assert_true(run.matrix[0][0] == units && run.moving_grid.to_ras[0][0] == (double)edge * units);
    assert_int_equal(clv_contrast_heads(&run), edge > 3);
    clv_buffer **all[] = {&c->fixed,        &c->moving,     &c->level_fixed,
                          &c->level_moving, &run.scratch_a, &run.scratch_b};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        clv_buffer_destroy(all[i]);
    return differ;
}

/* Heads and crops, without noise and with some, the moving header in mm or in cm. */
static void contrasts_are_told_apart(void **state)
{
    const int *given = *state;
    const float edge = (float)given[0], noise = .01f * (float)given[1];
    const double units = given[2] ? .1 : 1;
    assert_false(said_to_differ(brighter, edge, noise, units));
    assert_true(said_to_differ(tent, edge, noise, units));
    assert_true(said_to_differ(darker_where_bright, edge, noise, units));
}

int main(void)
{
    ctx = harness_open();
    test_case_at(functions_are_found, TEST_AT(0), "a function of values is found over the whole image");
    test_case_at(functions_are_found, TEST_AT(1), "a function of values is found nearby");
    test_case(nearby_counts, "what a value means may change from place to place");
    test_case(means_are_those_of_all_voxels, "means come near those of all voxels");
    test_case(what_is_no_number_stays, "what is no number stays, and does not count");
    test_case_at(constants_are_left, TEST_AT(0), "an image that is not known to vary is left");
    test_case_at(constants_are_left, TEST_AT(1), "an image of one value is left");
    test_case(nothing_known_is_left, "images that do not meet are left");
    test_case_at(agreement_is_that_of_windows, TEST_AT(0), "agreement is that of all windows, in rows of 32");
    test_case_at(agreement_is_that_of_windows, TEST_AT(1), "agreement is that of all windows, in rows of 31");
    test_case(agreement_has_a_sign, "agreement is 1 in one contrast and -1 where it is inverted");
    test_case_at(displacements_count, TEST_AT(0), "images are synthesized again where a displacement leads");
    test_case_at(displacements_count, TEST_AT(5), "images are synthesized again from a middle between them");
    test_case(places_follow, "synthesized again, values mean what they mean at their place");
    test_case_at(masks_count, TEST_AT(0),
                 "synthesized again, what lies outside of the fixed mask does not count");
    test_case_at(masks_count, TEST_AT(1),
                 "synthesized again, what lies outside of the moving mask does not count");
    test_case(surroundings_count, "synthesized again, what lies around tells apart what has one value");
    test_case_at(content_is_the_fixed_images, TEST_AT(0),
                 "content is that of the fixed image, which comes first");
    test_case_at(content_is_the_fixed_images, TEST_AT(1),
                 "content is that of the fixed image, which comes last");
    for (int k = 0; k < 4; k++)
        test_case_at(content_is_that_of_all_channels, TEST_AT(k / 2, k % 2),
                     "content is that of all channels%s, %s", k / 2 ? " with a weight" : "",
                     k % 2 ? "turned round" : "in their order");
    test_case_at(heads_are_registered_thrice, TEST_AT(1),
                 "heads of other contrasts are registered three times, to the same bits");
    test_case(tissues_are_compared, "tissues that change places are told from noise");
    test_case_at(tissues_begin_again, TEST_AT(1), "heads in which tissues alone change places begin again");
    test_case_at(tissues_begin_again, TEST_AT(0), "those in which they do not go on: tissues");
    test_case_at(heads_are_registered_thrice, TEST_AT(0), "crops of other contrasts are registered once");
    test_case(little_memory_is_said, "too little memory for another contrast is reported");
    test_case(pairs_gain, "a pair of other contrasts ends near the truth, exchanged by the inverse affine");
    test_case_at(air_counts, TEST_AT(1), "images of other contrasts are compared in the air, too");
    test_case_at(air_counts, TEST_AT(0), "those of one contrast are not");
    for (int k = 0; k < 4; k++) {
        const int noise = k % 2 * 3, centimetres = k / 2;
        const char *unit = centimetres ? "cm" : "mm";
        test_case_at(contrasts_are_told_apart, TEST_AT(4, noise, centimetres),
                     "heads of one contrast are told from those of others, in %s, with %d%% of noise", unit,
                     noise);
        test_case_at(contrasts_are_told_apart, TEST_AT(2, noise, centimetres),
                     "crops of one contrast are told from those of others, in %s, with %d%% of noise", unit,
                     noise);
    }
    return test_run("contrast", harness_close);
}
