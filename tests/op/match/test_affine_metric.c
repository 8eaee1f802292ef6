/* SPDX-License-Identifier: Apache-2.0 */
#include "op/harness.h"
#include "op/match/affine_metric.h"
#include "ref/match/affine_metric.h"

enum { MAPS = 3, UNIT = 1024 };

typedef struct setup {
    int fixed[3], moving[3], step[2];
} setup;

static const setup setups[] = {
    {{1, 1, 1}, {3, 2, 2}, {1, 1}},      {{5, 3, 2}, {2, 1, 5}, {1, 1}},
    {{35, 3, 2}, {1, 7, 4}, {2, 1}},     {{9, 11, 1}, {8, 9, 1}, {1, 1}},
    {{11, 7, 12}, {12, 10, 9}, {2, 3}},  {{67, 13, 29}, {37, 23, 19}, {1, 2}},
    {{64, 31, 17}, {41, 1, 23}, {1, 1}},
};

static size_t voxels(const int n[3])
{
    return (size_t)n[0] * (size_t)n[1] * (size_t)n[2];
}

/* Smooth values with some noise, NaN in a corner and here and there. */
static void fill(float *v, const int n[3], unsigned seed, bool with_nan)
{
    harness_random(v, voxels(n), seed, 0, .3f);
    for (int z = 0, i = 0; z < n[2]; z++)
        for (int y = 0; y < n[1]; y++)
            for (int x = 0; x < n[0]; x++, i++) {
                v[i] += .35f + .35f * sinf(.4f * (float)x + .3f * (float)y + .2f * (float)z + (float)seed);
                if (with_nan && (i % 41 == 17 || (n[0] > 20 && x > n[0] - 4 && y < n[1] / 2)))
                    v[i] = NAN;
            }
}

/* Turned and stretched, reaching beyond the moving image; the second map more
 * so, the third leaves it altogether. */
static void make_map(const setup *s, int which, double map[3][4])
{
    static const double turn[3][3] = {{.93, .21, -.13}, {-.19, 1.02, .17}, {.11, -.23, .97}};
    for (int i = 0; i < 3; i++) {
        double center = .5 * (s->moving[i] - 1) + .0137 * (i + 1) + (which == 2 ? 1000 : 0);
        for (int j = 0; j < 3; j++) {
            double thin = s->moving[i] == 1 && i != j ? .02 : 1;
            map[i][j] = (double)(float)(thin * turn[i][j] * (which ? 1.7 : .9) * s->moving[i] / s->fixed[j]);
            center -= map[i][j] * .5 * (s->fixed[j] - 1);
        }
        map[i][3] = (double)(float)center;
    }
}

typedef struct problem {
    const setup *s;
    float *fixed, *moving;
    double map[MAPS][3][4];
    double centre[3];
    ref_affine_sample *samples[MAPS];
    int count[MAPS];
    clv_buffer *device_fixed, *device_moving, *maps;
    clv_affine_pair pair;
} problem;

static void make(clvox_context *ctx, problem *p, const setup *s, bool with_nan)
{
    float rows[MAPS][3][4];
    p->s = s;
    p->fixed = malloc(voxels(s->fixed) * sizeof(float));
    p->moving = malloc(voxels(s->moving) * sizeof(float));
    fill(p->fixed, s->fixed, 3, with_nan);
    fill(p->moving, s->moving, 5, with_nan);
    for (int a = 0; a < 3; a++)
        p->centre[a] = (double)(float)(.45 * s->fixed[a]);
    for (int k = 0; k < MAPS; k++) {
        make_map(s, k, p->map[k]);
        for (int i = 0; i < 12; i++)
            rows[k][i / 4][i % 4] = (float)p->map[k][i / 4][i % 4];
        p->samples[k] = malloc(voxels(s->fixed) * sizeof(ref_affine_sample));
        p->count[k] = ref_affine_samples(p->fixed, s->fixed, p->moving, s->moving, s->step, p->centre,
                                         (const double(*)[4])p->map[k], NULL, p->samples[k]);
    }
    p->device_fixed = harness_upload(ctx, p->fixed, voxels(s->fixed) * sizeof(float));
    p->device_moving = harness_upload(ctx, p->moving, voxels(s->moving) * sizeof(float));
    p->maps = harness_upload(ctx, rows, sizeof rows);
    p->pair = (clv_affine_pair){
        .fixed.buffer = p->device_fixed, .moving.buffer = p->device_moving, .maps = p->maps, .count = MAPS};
    for (int a = 0; a < 3; a++) {
        p->pair.fixed.size[a] = s->fixed[a];
        p->pair.moving.size[a] = s->moving[a];
        p->pair.centre[a] = (float)p->centre[a];
    }
    p->pair.step[0] = s->step[0];
    p->pair.step[1] = s->step[1];
}

static void discard(problem *p)
{
    free(p->fixed);
    free(p->moving);
    for (int k = 0; k < MAPS; k++)
        free(p->samples[k]);
    clv_buffer_destroy(&p->device_fixed);
    clv_buffer_destroy(&p->device_moving);
    clv_buffer_destroy(&p->maps);
}

static void check_histogram(clvox_context *ctx, problem *p, int bins)
{
    size_t entries = (size_t)(bins * bins);
    uint32_t *got = malloc(MAPS * entries * sizeof *got), *again = malloc(MAPS * entries * sizeof *again);
    double *want = malloc(entries * sizeof *want);
    clv_buffer *counts = harness_output(ctx, MAPS * entries * sizeof *got);
    assert_int_equal(clv_affine_histogram(ctx, &p->pair, bins, UNIT, counts), CLVOX_OK);
    harness_download(ctx, counts, got, MAPS * entries * sizeof *got);
    assert_int_equal(clv_affine_histogram(ctx, &p->pair, bins, UNIT, counts), CLVOX_OK);
    harness_download(ctx, counts, again, MAPS * entries * sizeof *got);
    assert_memory_equal(got, again, MAPS * entries * sizeof *got);
    for (int k = 0; k < MAPS; k++) {
        double off = 0;
        ref_affine_histogram(p->samples[k], p->count[k], bins, want);
        for (size_t i = 0; i < entries; i++)
            off += fabs((double)got[(size_t)k * entries + i] / UNIT - want[i]);
        /* Each of four splines is rounded; a sample or two may lie on an edge. */
        assert_that(off <= .003 * p->count[k] + (p->count[k] > 2000 ? 4 : 0), "map %d: %g of %d samples", k,
                    off, p->count[k]);
    }
    clv_buffer_destroy(&counts);
    free(got);
    free(again);
    free(want);
}

/* The samples become smooth ones with weights, of which some are 0 and none is where F is no number. */
static clv_buffer *weigh(clvox_context *ctx, problem *p)
{
    const setup *s = p->s;
    size_t n = voxels(s->fixed);
    float *weights = malloc(n * sizeof *weights);
    harness_random(weights, n, 13, -.2f, 1);
    for (size_t i = 0; i < n; i++)
        weights[i] = isnan(p->fixed[i]) ? NAN : fmaxf(weights[i], 0);
    for (int k = 0; k < MAPS; k++)
        p->count[k] = ref_affine_samples(p->fixed, s->fixed, p->moving, s->moving, s->step, p->centre,
                                         (const double(*)[4])p->map[k], weights, p->samples[k]);
    clv_buffer *out = harness_upload(ctx, weights, n * sizeof *weights);
    free(weights);
    return out;
}

static void check_sums(clvox_context *ctx, problem *p, clv_affine_source source, int bins)
{
    int each = clv_affine_sum_count(source), maps = source == CLV_AFFINE_IMAGE ? 1 : MAPS;
    size_t columns = (size_t)(bins * (bins + 1));
    float *table = malloc(MAPS * columns * sizeof *table),
          *derivatives = malloc(voxels(p->s->fixed) * sizeof *derivatives);
    float got[MAPS * CLV_AFFINE_MOST_SUMS];
    double want[CLV_AFFINE_MOST_SUMS], size[CLV_AFFINE_MOST_SUMS];
    harness_random(table, MAPS * columns, 9, -1, 1);
    harness_random(derivatives, voxels(p->s->fixed), 11, -1, 1);
    for (size_t i = 0; i < voxels(p->s->fixed); i++)
        if (isnan(p->fixed[i]))
            derivatives[i] = NAN;
    p->pair.count = maps;
    clv_buffer *tables = harness_upload(ctx, table, MAPS * columns * sizeof *table);
    clv_buffer *image = harness_upload(ctx, derivatives, voxels(p->s->fixed) * sizeof *derivatives);
    clv_buffer *partial = harness_output(ctx, clv_affine_partials(&p->pair) * sizeof(float));
    clv_buffer *out = harness_output(ctx, (size_t)(maps * each) * sizeof(float));
    const clv_affine_derivatives from = {source, source == CLV_AFFINE_TABLE ? tables : image, bins};
    assert_int_equal(clv_affine_sums(ctx, &p->pair, &from, partial, out), CLVOX_OK);
    harness_download(ctx, out, got, (size_t)(maps * each) * sizeof(float));
    for (int k = 0; k < maps; k++) {
        /* Errors are judged by the sum of what is added up. */
        ref_affine_sample *samples = p->samples[k];
        ref_affine_sums(samples, p->count[k], source, bins, table + (size_t)k * columns, derivatives, want);
        memset(size, 0, sizeof size);
        for (int i = 0; i < p->count[k]; i++) {
            double one[CLV_AFFINE_MOST_SUMS];
            ref_affine_sums(samples + i, 1, source, bins, table + (size_t)k * columns, derivatives, one);
            for (int j = 0; j < each; j++)
                size[j] += fabs(one[j]);
        }
        for (int j = 0; j < each; j++) {
            double error = fabs((double)got[k * each + j] - want[j]);
            assert_that(error <= 1e-4 * size[j] + 1e-5, "map %d sum %d: %.8g, not %.8g (of %g)", k, j,
                        (double)got[k * each + j], want[j], size[j]);
        }
    }
    p->pair.count = MAPS;
    clv_buffer_destroy(&tables);
    clv_buffer_destroy(&image);
    clv_buffer_destroy(&partial);
    clv_buffer_destroy(&out);
    free(table);
    free(derivatives);
}

enum { N = 1000 };

static struct {
    float in[1000], share[1000], got[1000], localise_in[N], mean[N], square[N], localise_share[N],
        localise_got[N];
    double want[1000], localise_want[N];
    clv_buffer *a, *b, *out, *c, *d;
    clv_image image;
    clv_surroundings surroundings;
} shared;

static int prepare_set_up(void **state)
{
    (void)state;
    clvox_context *ctx = harness_context();
    harness_random(shared.in, 1000, 3, -2, 3);
    harness_random(shared.share, 1000, 5, 0, 1);
    shared.in[7] = NAN;
    shared.a = harness_upload(ctx, shared.in, sizeof shared.in);
    shared.b = harness_upload(ctx, shared.share, sizeof shared.share);
    shared.out = harness_output(ctx, sizeof shared.got);
    return 0;
}

static void affine_prepare_scaled_to_0_1(void **state)
{
    (void)state;
    clvox_context *ctx = harness_context();
    for (int masked = 0; masked < 2; masked++) {
        assert_int_equal(
            clv_affine_prepare(ctx, shared.a, masked ? shared.b : NULL, 1000, .5f, .25f, shared.out),
            CLVOX_OK);
        harness_download(ctx, shared.out, shared.got, sizeof shared.got);
        for (int i = 0; i < 1000; i++) {
            double v = masked ? (double)shared.in[i] / (double)shared.share[i] : (double)shared.in[i];
            shared.want[i] =
                isnan(v) || (masked && shared.share[i] < .5f) ? (double)NAN : fmin(fmax(.5 * v + .25, 0), 1);
        }
        assert_true(harness_error(shared.got, shared.want, 1000, 1e-6, 1e-6) <= 1);
    }
}

static int prepare_tear_down(void **state)
{
    (void)state;
    clv_buffer_destroy(&shared.a);
    clv_buffer_destroy(&shared.b);
    clv_buffer_destroy(&shared.out);
    return 0;
}

static void prepare(void)
{
    test_set_up(prepare_set_up);
    harness_cases(&clv_entry_affine_prepare, affine_prepare_scaled_to_0_1, NULL, 0, "scaled to [0, 1]");
    test_tear_down(prepare_tear_down);
}

/* Voxels left out of 10 x 20 x 5: two at either end along x, one along z. */
static bool outer(int i)
{
    int x = i % 10, z = i / 200;
    return x < 2 || x > 7 || z < 1 || z > 3;
}

static const int rim[3] = {2, 0, 1};

static int localise_set_up(void **state)
{
    (void)state;
    clvox_context *ctx = harness_context();
    harness_random(shared.localise_in, N, 3, 0, 1);
    harness_random(shared.mean, N, 5, 0, .5f);
    harness_random(shared.square, N, 7, 0, .6f);
    harness_random(shared.localise_share, N, 9, .2f, 1);
    shared.localise_in[7] = NAN;
    for (int i = 0; i < N; i++) {
        double m = (double)shared.mean[i] / (double)shared.localise_share[i];
        double v = fmax((double)shared.square[i] / (double)shared.localise_share[i] - m * m, 0);
        shared.localise_want[i] =
            isnan(shared.localise_in[i]) || outer(i)
                ? (double)NAN
                : fmin(fmax(((double)shared.localise_in[i] - m) / (sqrt(v) + .03) / 6, -.5), .5);
    }
    shared.a = harness_upload(ctx, shared.localise_in, sizeof shared.localise_in);
    shared.b = harness_upload(ctx, shared.mean, sizeof shared.mean);
    shared.c = harness_upload(ctx, shared.square, sizeof shared.square);
    shared.d = harness_upload(ctx, shared.localise_share, sizeof shared.localise_share);
    shared.out = harness_output(ctx, sizeof shared.localise_got);
    shared.image = (clv_image){.buffer = shared.a, .size = {10, 20, 5}};
    shared.surroundings = (clv_surroundings){shared.b, shared.c, shared.d};
    return 0;
}

static void affine_localise_local_mean_and_spread_taken(void **state)
{
    (void)state;
    clvox_context *ctx = harness_context();
    assert_int_equal(clv_affine_localise(ctx, &shared.image, &shared.surroundings, rim, .03f, shared.out),
                     CLVOX_OK);
    harness_download(ctx, shared.out, shared.localise_got, sizeof shared.localise_got);
    assert_true(harness_error(shared.localise_got, shared.localise_want, N, 1e-4, 1e-4) <= 1);
}

static int localise_tear_down(void **state)
{
    (void)state;
    clv_buffer_destroy(&shared.a);
    clv_buffer_destroy(&shared.b);
    clv_buffer_destroy(&shared.c);
    clv_buffer_destroy(&shared.d);
    clv_buffer_destroy(&shared.out);
    return 0;
}

static void localise(void)
{
    test_set_up(localise_set_up);
    harness_cases(&clv_entry_affine_localise, affine_localise_local_mean_and_spread_taken, NULL, 0,
                  "local mean and spread taken away");
    test_tear_down(localise_tear_down);
}

enum { BINS = 16 };

/* The reference's derivatives by the entries of the map against differences of what
 * they are derivatives of; smooth: those of weighted smooth samples, where there is
 * no information. */
static void analytic_derivatives_of_are_those_of_values(void **state)
{
    const int *given = *state;
    bool smooth = given[0];
    clvox_context *ctx = harness_context();
    problem p;
    float weights_of[11 * 7 * 12], *weights = smooth ? weights_of : NULL;
    static float table[BINS * (BINS + 1)];
    double sums[CLV_AFFINE_MOST_SUMS], mi[12], ncc[12], centre[3] = {0, 0, 0};
    harness_random(weights_of, 11 * 7 * 12, 13, 0, 1);
    make(ctx, &p, &setups[4], false);
    /* A map that keeps every sample inside. */
    double map[3][4] = {{.7013, .1107, -.0609, 1.31372193},
                        {-.0811, .7219, .0713, 1.62113717},
                        {.0517, -.0919, .4031, 1.90713391}};
    const double(*m)[4] = (const double(*)[4])map;
    int step[2] = {1, 1};
    int n = ref_affine_samples(p.fixed, p.s->fixed, p.moving, p.s->moving, step, centre, m, weights,
                               p.samples[0]);
    assert_true(n == (int)voxels(p.s->fixed));
    ref_affine_information(p.samples[0], n, BINS, table);
    ref_affine_sums(p.samples[0], n, CLV_AFFINE_TABLE, BINS, table, NULL, sums);
    for (int j = 0; j < 12; j++)
        mi[j] = sums[6 + j] / n;
    ref_affine_sums(p.samples[0], n, CLV_AFFINE_PAIR, BINS, NULL, NULL, sums);
    ref_affine_correlation_derivatives(sums, ncc);
    for (int j = 0; j < 12; j++) {
        const double h = 1e-6;
        double value[2][2];
        double *entry = &map[j / 4][j % 4 ? j % 4 - 1 : 3], keep = *entry;
        for (int side = 0; side < 2; side++) {
            *entry = keep + (side ? h : -h);
            n = ref_affine_samples(p.fixed, p.s->fixed, p.moving, p.s->moving, step, centre, m, weights,
                                   p.samples[1]);
            value[0][side] = ref_affine_information(p.samples[1], n, BINS, NULL);
            value[1][side] = ref_affine_correlation(p.samples[1], n);
        }
        *entry = keep;
        double by_mi = (value[0][1] - value[0][0]) / (2 * h), by_ncc = (value[1][1] - value[1][0]) / (2 * h);
        assert_that(smooth || fabs(by_mi - mi[j]) < 1e-3 * fabs(mi[j]) + 1e-4, "information %d: %g, not %g",
                    j, mi[j], by_mi);
        assert_that(fabs(by_ncc - ncc[j]) < 1e-3 * fabs(ncc[j]) + 1e-5, "correlation %d: %g, not %g", j,
                    ncc[j], by_ncc);
    }
    discard(&p);
}

static void derivatives_are_true(bool smooth)
{
    test_case_at(analytic_derivatives_of_are_those_of_values, TEST_AT(smooth),
                 "analytic derivatives of %s are those of values",
                 smooth ? "weighted correlation" : "information and correlation");
}

static const clv_affine_source sources[] = {CLV_AFFINE_PAIR, CLV_AFFINE_TABLE, CLV_AFFINE_IMAGE,
                                            CLV_AFFINE_PAIR};
static const char *const names[] = {"pair", "table", "image", "weighted pair"};

static void affine_histogram_joint_histograms(void **state)
{
    (void)state;
    clvox_context *ctx = harness_context();
    bool tiny = getenv("CLVOX_TEST_TINY") != NULL;
    int count = tiny ? 5 : (int)(sizeof setups / sizeof *setups);
    for (int s = 0; s < count; s++) {
        problem p;
        make(ctx, &p, &setups[s], s % 2);
        check_histogram(ctx, &p, s == 5 ? 32 : s == 6 ? 128 : 8);
        discard(&p);
    }
}

static void affine_sums(void **state)
{
    const int *given = *state;
    int k = given[0];
    clvox_context *ctx = harness_context();
    int count = getenv("CLVOX_TEST_TINY") ? 5 : (int)(sizeof setups / sizeof *setups);
    for (int s = 0; s < count; s++) {
        problem p;
        clv_buffer *weights = NULL;
        make(ctx, &p, &setups[s], s % 2);
        if (k == 3)
            p.pair.weights = weights = weigh(ctx, &p);
        check_sums(ctx, &p, sources[k], 11);
        clv_buffer_destroy(&weights);
        discard(&p);
    }
}

int main(void)
{
    harness_open();
    prepare();
    localise();
    harness_cases(&clv_entry_affine_histogram, affine_histogram_joint_histograms, NULL, 0,
                  "joint histograms");
    for (int k = 0; k < 4; k++)
        harness_cases(&clv_entry_affine_sums, affine_sums, TEST_AT(k), names[k]);
    derivatives_are_true(false);
    derivatives_are_true(true);
    return test_run("affine metric", harness_close);
}
