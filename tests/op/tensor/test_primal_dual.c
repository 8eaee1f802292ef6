/* SPDX-License-Identifier: Apache-2.0 */
#include "op/tensor/primal_dual.h"

#include "harness.h"
#include "ref/tensor/primal_dual.h"

typedef struct problem {
    const char *what;
    int size[3];
    float weight[3];
    bool masked;
} problem;

static const problem problems[] = {
    {"rows of eight", {16, 5, 3}, {.5f, 1, 1}, false},
    {"one slice", {19, 7, 1}, {1, 1, .25f}, true},
    {"a voxel", {1, 1, 1}, {1, 1, 1}, false},
    {"a line", {1, 1, 17}, {1, 1, 1}, false},
    {"anisotropic with holes", {13, 7, 4}, {1, .8f, .4f}, true},
    {"odd", {11, 7, 5}, {1, 1, 1}, false},
};
/* The first few serve in the simulator. */
enum { PROBLEMS = sizeof problems / sizeof *problems, SLICE = 1, HOLES = 4, ODD = 5 };

typedef struct setting {
    int n;
    float *mask, *data; /* data outside the mask is NaN and 100, or 0 */
    double *nine;
    ref_tensor_pd ref;
    clv_tensor_pd pd;
    double *share;
    clv_buffer *links, *data_buffer, *mask_buffer, *radius;
} setting;

/* Blocks of two tensors and noise: some are not positive. */
static void make(clvox_context *ctx, const problem *p, bool paper, float floor, setting *s)
{
    int n = p->size[0] * p->size[1] * p->size[2];
    *s = (setting){.n = n};
    s->data = malloc(6 * (size_t)n * sizeof(float));
    s->mask = malloc((size_t)n * sizeof(float));
    s->nine = malloc(9 * (size_t)n * sizeof(double));
    if (!s->data || !s->mask || !s->nine)
        abort();
    harness_random(s->data, 6 * (size_t)n, 7, -.35f, .35f);
    for (int i = 0; i < n; i++) {
        int x = i % p->size[0], y = i / p->size[0] % p->size[1];
        bool block = 2 * x + y > p->size[0];
        s->mask[i] = p->masked && (x % 7 == 3 || (y == 2 && x > 4)) ? 0.0f : 1.0f;
        s->data[i] += block ? 1.5f : .6f;
        s->data[i + n] += block ? .3f : 0;
        s->data[i + 3 * n] += block ? .4f : .6f;
        s->data[i + 5 * n] += block ? .2f : .6f;
        for (int c = 0; c < 6 && !(s->mask[i] > 0); c++)
            s->data[i + c * n] = i % 2 ? 0 : c % 2 ? NAN : 100;
    }
    ref_tensor_unpack(s->data, n, s->nine);
    for (int k = 0; k < 9 * n; k++)
        s->nine[k] = isnan(s->nine[k]) ? 0 : s->nine[k];
    s->ref = (ref_tensor_pd){.lambda = 4, .floor = (double)floor, .paper = paper, .data = s->nine,
                          .mask = p->masked ? s->mask : NULL};
    s->pd = (clv_tensor_pd){.lambda = 4, .floor = floor, .paper = paper, .data = {.components = 6}};
    for (int a = 0; a < 3; a++) {
        s->ref.size[a] = s->pd.data.size[a] = p->size[a];
        s->pd.data.spacing[a] = 1 / p->weight[a];
        s->ref.weight[a] = (double)p->weight[a];
    }
    size_t plane = (size_t)n * sizeof(float);
    s->mask_buffer = p->masked ? harness_upload(ctx, s->mask, plane) : NULL;
    s->links = harness_output(ctx, clv_tensor_links_bytes(p->size));
    s->data_buffer = harness_upload(ctx, s->data, 6 * plane);
    s->pd.tensor = harness_upload(ctx, s->data, 6 * plane);
    s->pd.ahead = harness_output(ctx, 6 * plane);
    s->pd.dual = harness_output(ctx, clv_tensor_pd_dual_bytes(p->size));
    s->pd.partial = harness_output(ctx, CLV_TENSOR_PD_PARTIALS * sizeof(float));
    s->pd.state = harness_output(ctx, CLV_TENSOR_PD_STATE * sizeof(float));
    s->pd.links = s->links;
    s->pd.data.buffer = s->data_buffer;
    const clv_image mask = clv_image_on(&s->pd.data, s->mask_buffer, 1);
    assert_ok(clv_tensor_links(ctx, &mask, s->links));
    assert_ok(clv_tensor_pd_start(ctx, &s->pd, false));
}

static void discard(setting *s)
{
    clv_buffer_destroy(&s->mask_buffer);
    clv_buffer_destroy(&s->links);
    clv_buffer_destroy(&s->radius);
    clv_buffer_destroy(&s->data_buffer);
    clv_buffer_destroy(&s->pd.tensor);
    clv_buffer_destroy(&s->pd.ahead);
    clv_buffer_destroy(&s->pd.dual);
    clv_buffer_destroy(&s->pd.partial);
    clv_buffer_destroy(&s->pd.state);
    free(s->data);
    free(s->mask);
    free(s->nine);
    free(s->share);
}

/* The device's tensors as nine entries, 0 outside the mask. */
static double *fetch(clvox_context *ctx, const setting *s)
{
    float *planes = malloc(6 * (size_t)s->n * sizeof(float));
    double *nine = malloc(9 * (size_t)s->n * sizeof(double));
    if (!planes || !nine)
        abort();
    harness_download(ctx, s->pd.tensor, planes, 6 * (size_t)s->n * sizeof(float));
    ref_tensor_unpack(planes, s->n, nine);
    for (int i = 0; i < s->n; i++) {
        bool same = true;
        for (int c = 0; c < 6; c++)
            same = same && !memcmp(planes + i + c * s->n, s->data + i + c * s->n, sizeof(float));
        if (s->mask[i] > 0)
            continue;
        assert_true(same);
        memcpy(nine + 9 * i, s->nine + 9 * i, 9 * sizeof(double));
    }
    free(planes);
    return nine;
}

static double farthest(const double *a, const double *b, int n)
{
    double most = 0;
    for (int i = 0; i < n; i++)
        most = fabs(a[i] - b[i]) <= 1e30 ? fmax(most, fabs(a[i] - b[i])) : 1e30;
    return most;
}

/* A radius for each voxel, from the data: on the device and in the reference. */
static void give_radius(clvox_context *ctx, setting *s)
{
    float *got = malloc((size_t)s->n * sizeof *got);
    double *share = malloc((size_t)s->n * sizeof *share);
    if (!got || !share)
        abort();
    ref_tensor_share(&s->ref, s->nine, .5, share);
    clv_buffer *radius = harness_output(ctx, (size_t)s->n * sizeof *got);
    assert_int_equal(clv_tensor_pd_radius(ctx, &s->pd, .5f, radius), CLVOX_OK);
    harness_download(ctx, radius, got, (size_t)s->n * sizeof *got);
    double error = harness_error(got, share, (size_t)s->n, 1e-6, 0);
    assert_that(error <= 1, "the radius differs by %g of the tolerance", error);
    free(got);
    s->pd.radius = s->radius = radius;
    s->ref.share = s->share = share;
}

static void against_reference(clvox_context *ctx, const problem *p, bool paper, bool radii, float floor)
{
    const int steps = harness_problems(3, 6);
    setting s;
    make(ctx, p, paper, floor, &s);
    if (radii)
        give_radius(ctx, &s);
    size_t n = (size_t)s.n;
    double *d = malloc(9 * n * sizeof *d), *ahead = malloc(9 * n * sizeof *d);
    double *dual = calloc(27 * n, sizeof *d), radius[9], norm = 0, variation, fit;
    if (!d || !ahead || !dual)
        abort();
    memcpy(d, s.nine, 9 * n * sizeof *d);
    memcpy(ahead, s.nine, 9 * n * sizeof *d);
    for (int a = 0; a < 3; a++)
        norm += s.ref.weight[a] * s.ref.weight[a];
    norm = 2 * sqrt(norm);
    double tau = 4 / norm, sigma = 1 / (4 * norm);
    for (int k = 0; k < steps; k++) {
        double theta = 1 / sqrt(1 + 2 * .7 * s.ref.lambda * tau);
        ref_tensor_radius(&s.ref, ahead, radius);
        ref_tensor_pd_step(&s.ref, tau, sigma, theta, radius, d, ahead, dual);
        tau *= theta;
        sigma /= theta;
        assert_int_equal(clv_tensor_pd_step(ctx, &s.pd), CLVOX_OK);
    }
    double *got = fetch(ctx, &s), error = farthest(got, d, 9 * s.n);
    assert_that(error < 2e-5, "%s, paper %d: error %g after %d steps", p->what, paper, error, steps);
    clv_tensor_pd_energies e, again;
    assert_int_equal(clv_tensor_pd_energy(ctx, &s.pd, &e), CLVOX_OK);
    ref_tensor_pd_energy(&s.ref, got, &variation, &fit);
    assert_that(fabs(e.variation - variation) < 1e-6 * (1 + variation) &&
                    fabs(e.fit - fit) < 1e-6 * (1 + fit),
                "%s: %.9g and %.9g, not %.9g and %.9g", p->what, e.variation, e.fit, variation, fit);
    assert_true(clv_tensor_pd_energy(ctx, &s.pd, &again) == CLVOX_OK && !memcmp(&e, &again, sizeof e));
    free(got);
    free(d);
    free(ahead);
    free(dual);
    discard(&s);
}

static void entry_iterations_against_reference(void **state)
{
    (void)state;
    clvox_context *ctx = harness_context();
    for (int k = 0; k < harness_problems(5, PROBLEMS); k++) {
        against_reference(ctx, &problems[k], false, k % 2, .05f);
        against_reference(ctx, &problems[k], true, false, k % 2 ? -1.0f : .05f);
    }
}

static void test_entry(const clv_entry *entry)
{
    harness_cases(entry, entry_iterations_against_reference, NULL, 0, "iterations against reference");
}

static void tensor_log_logarithm_and_exponential(void **state)
{
    (void)state;
    clvox_context *ctx = harness_context();
    for (int k = 0; k < PROBLEMS; k++) {
        setting s;
        make(ctx, &problems[k], false, 0, &s);
        for (int back = 0; back < 2; back++) {
            assert_int_equal(clv_tensor_log(ctx, s.pd.tensor, s.links, s.n, .02f, back), CLVOX_OK);
            double *got = fetch(ctx, &s);
            for (int i = 0; i < s.n; i++)
                if (s.mask[i] > 0)
                    ref_tensor_log(s.nine + 9 * i, .02, back);
            double error = farthest(got, s.nine, 9 * s.n);
            assert_that(error < 2e-5, "%s, back %d: error %g", problems[k].what, back, error);
            free(got);
        }
        discard(&s);
    }
}

static void test_log(void)
{
    harness_cases(&clv_entry_tensor_log, tensor_log_logarithm_and_exponential, NULL, 0,
                  "logarithm and exponential");
}

static void tensor_inside_what_lies_inside_alone(void **state)
{
    (void)state;
    clvox_context *ctx = harness_context();
    for (int k = 0; k < PROBLEMS; k++) {
        setting s;
        make(ctx, &problems[k], false, 0, &s);
        size_t count = 6 * (size_t)s.n, wrong = 0;
        float *from = malloc(count * sizeof *from), *to = malloc(count * sizeof *to);
        harness_random(from, count, 7, -1, 1);
        harness_random(to, count, 8, -1, 1);
        clv_buffer *a = harness_upload(ctx, from, count * sizeof *from);
        clv_buffer *b = harness_upload(ctx, to, count * sizeof *to);
        assert_int_equal(clv_tensor_inside(ctx, a, s.links, s.n, 1e-3f, b), CLVOX_OK);
        for (size_t i = 0; i < count; i++)
            from[i] = s.mask[i % (size_t)s.n] > 0 ? 1e-3f * from[i] : to[i];
        harness_download(ctx, b, to, count * sizeof *to);
        for (size_t i = 0; i < count; i++)
            wrong += memcmp(&from[i], &to[i], sizeof *to) != 0;
        assert_that(!wrong, "%s: %zu of %zu", problems[k].what, wrong, count);
        clv_buffer_destroy(&a);
        clv_buffer_destroy(&b);
        free(from);
        free(to);
        discard(&s);
    }
}

static void test_inside(void)
{
    harness_cases(&clv_entry_tensor_inside, tensor_inside_what_lies_inside_alone, NULL, 0,
                  "what lies inside alone");
}

/* The minimum is the one that another method finds in double precision, and
 * the gap, which needs no other method, says so by itself. */
typedef struct minimum_given {
    const problem *p;
    bool paper;
    bool radii;
    float floor;
} minimum_given;

static void the_minimum(void **state)
{
    const minimum_given *given = *state;
    const problem *p = given->p;
    bool paper = given->paper;
    bool radii = given->radii;
    float floor = given->floor;
    clvox_context *ctx = harness_context();
    setting s;
    make(ctx, p, paper, floor, &s);
    if (radii)
        give_radius(ctx, &s);
    double *far = malloc(9 * (size_t)s.n * sizeof *far), variation, fit, reached = 0;
    if (!far)
        abort();
    memcpy(far, s.nine, 9 * (size_t)s.n * sizeof *far);
    ref_tensor_descend(&s.ref, 1e-8, 3000, far);
    ref_tensor_pd_energy(&s.ref, far, &variation, &fit);
    double least = variation + s.ref.lambda * fit, start = 0, gap = INFINITY;
    clv_tensor_pd_energies e;
    for (int k = 0; k <= 400; k++) {
        if (k % 10 == 0) {
            assert_int_equal(clv_tensor_pd_energy(ctx, &s.pd, &e), CLVOX_OK);
            start = k ? start : e.energy;
            reached = reached > 0 || e.energy - least > .01 * (start - least) ? reached : k + .5;
            if (k == 0 || k == 50 || k == 400) {
                assert_that(e.energy - e.dual < gap || gap < 2e-5 * least, "gap %g after %g",
                            e.energy - e.dual, gap);
                gap = e.energy - e.dual;
            }
            assert_that(e.dual <= least * (1 + 1e-5), "dual %g above the minimum %g", e.dual, least);
        }
        assert_int_equal(clv_tensor_pd_step(ctx, &s.pd), CLVOX_OK);
    }
    printf("# %s, %s: start %.7g, minimum %.7g, reached %.7g, dual %.7g; 1%% of it at %d\n", p->what,
           paper ? "paper" : "local", start, least, e.energy, e.dual, (int)reached);
    assert_that(fabs(e.energy - least) < 1e-4 * least, "energy %.8g, not %.8g", e.energy, least);
    assert_that(reached > 0 && reached < (paper ? 31 : 21), "1%% of the gap only after %d", (int)reached);
    free(far);
    discard(&s);
}

static void test_minimum(const problem *p, bool paper, bool radii, float floor)
{
    test_case_at(the_minimum, TEST_OF(((minimum_given){p, paper, radii, floor})), "the minimum: %s, %s",
                 p->what,
                 paper   ? "paper"
                 : radii ? "local with radii"
                         : "local");
}

/* A constant inside the mask stays, bit by bit, whatever is outside. */
static void a_constant_stays(void **state)
{
    const int *given = *state;
    bool paper = given[0];
    clvox_context *ctx = harness_context();
    setting s;
    make(ctx, &problems[HOLES], paper, .05f, &s);
    static const float one[6] = {1.1f, .2f, -.1f, .7f, .05f, .4f};
    for (int c = 0; c < 6; c++)
        for (int i = 0; i < s.n; i++)
            s.data[i + c * s.n] = s.mask[i] > 0 ? one[c] : s.data[i + c * s.n];
    assert_ok(clv_buffer_write(ctx, s.pd.tensor, 0, s.data, 6 * (size_t)s.n * sizeof(float)));
    assert_ok(clv_buffer_write(ctx, s.data_buffer, 0, s.data, 6 * (size_t)s.n * sizeof(float)));
    assert_ok(clv_tensor_pd_start(ctx, &s.pd, false));
    for (int k = 0; k < 20; k++)
        assert_int_equal(clv_tensor_pd_step(ctx, &s.pd), CLVOX_OK);
    ref_tensor_unpack(s.data, s.n, s.nine);
    double *got = fetch(ctx, &s), most = 0;
    for (int i = 0; i < s.n; i++)
        for (int e = 0; e < 9 && s.mask[i] > 0; e++)
            most = fmax(most, fabs(got[9 * i + e] - s.nine[9 * i + e]));
    assert_that(most <= 0, "moved by %g", most);
    free(got);
    discard(&s);
}

static void test_constant(bool paper)
{
    test_case_at(a_constant_stays, TEST_AT(paper), "a constant stays: %s", paper ? "paper" : "local");
}

/* The minimum of sum |grad v| + mu/2 |v - f|^2 by gradient projection of its
 * dual, scalars on a grid without mask. */
static double scalar_minimum(const int size[3], const double *f, double mu)
{
    int n = size[0] * size[1] * size[2];
    const int stride[3] = {1, size[0], size[0] * size[1]};
    double *p = calloc(3 * (size_t)n, sizeof *p), *v = malloc((size_t)n * sizeof *v), energy = 0;
    if (!p || !v)
        abort();
    for (int step = 0; step < 6000; step++) {
        memcpy(v, f, (size_t)n * sizeof *v);
        for (int i = 0; i < n; i++)
            for (int a = 0; a < 3; a++)
                if (i / stride[a] % size[a] + 1 < size[a]) {
                    v[i] += p[3 * i + a] / mu;
                    v[i + stride[a]] -= p[3 * i + a] / mu;
                }
        for (int i = 0; i < n; i++) {
            double length = 0;
            for (int a = 0; a < 3; a++)
                if (i / stride[a] % size[a] + 1 < size[a])
                    p[3 * i + a] += mu / 12 * (v[i + stride[a]] - v[i]);
            for (int a = 0; a < 3; a++)
                length += p[3 * i + a] * p[3 * i + a];
            for (int a = 0; a < 3 && length > 1; a++)
                p[3 * i + a] /= sqrt(length);
        }
    }
    for (int i = 0; i < n; i++) {
        double square = 0;
        for (int a = 0; a < 3; a++)
            if (i / stride[a] % size[a] + 1 < size[a])
                square += pow(v[i + stride[a]] - v[i], 2);
        energy += sqrt(square) + mu / 2 * pow(v[i] - f[i], 2);
    }
    free(p);
    free(v);
    return energy;
}

/* D = d I: |grad D|_F = sqrt(3) |grad d|, in either coupling. */
static void multiples_of_the_identity_are_scalars(void **state)
{
    const int *given = *state;
    bool paper = given[0];
    clvox_context *ctx = harness_context();
    setting s;
    make(ctx, &problems[ODD], paper, .01f, &s);
    double *f = malloc((size_t)s.n * sizeof *f), most = 0;
    if (!f)
        abort();
    for (int i = 0; i < s.n; i++) {
        s.data[i + 3 * s.n] = s.data[i + 5 * s.n] = s.data[i];
        s.data[i + s.n] = s.data[i + 2 * s.n] = s.data[i + 4 * s.n] = 0;
        f[i] = (double)s.data[i];
    }
    assert_ok(clv_buffer_write(ctx, s.pd.tensor, 0, s.data, 6 * (size_t)s.n * sizeof(float)));
    assert_ok(clv_buffer_write(ctx, s.data_buffer, 0, s.data, 6 * (size_t)s.n * sizeof(float)));
    assert_ok(clv_tensor_pd_start(ctx, &s.pd, false));
    for (int k = 0; k < 300; k++)
        assert_int_equal(clv_tensor_pd_step(ctx, &s.pd), CLVOX_OK);
    clv_tensor_pd_energies e;
    assert_int_equal(clv_tensor_pd_energy(ctx, &s.pd, &e), CLVOX_OK);
    /* sqrt(3) TV[d] + lambda/2 3 |d - f|^2. */
    double want = sqrt(3) * scalar_minimum(s.pd.data.size, f, sqrt(3) * s.ref.lambda);
    assert_that(fabs(e.energy - want) < 1e-4 * want, "energy %.8g, not %.8g", e.energy, want);
    double *got = fetch(ctx, &s);
    for (int i = 0; i < s.n; i++)
        for (int k = 0; k < 9; k++)
            most = fmax(most, fabs(got[9 * i + k] - (k % 4 ? 0 : got[9 * i])));
    assert_that(most < 1e-6, "%g from a multiple of the identity", most);
    free(got);
    free(f);
    discard(&s);
}

static void test_scalar(bool paper)
{
    test_case_at(multiples_of_the_identity_are_scalars, TEST_AT(paper),
                 "multiples of the identity are scalars: %s", paper ? "paper" : "local");
}

int main(void)
{
    harness_open();
    test_log();
    test_inside();
    test_entry(&clv_entry_tensor_pd_dual);
    test_entry(&clv_entry_tensor_pd_radius);
    test_entry(&clv_entry_tensor_pd_primal);
    test_entry(&clv_entry_tensor_pd_sums);
    test_entry(&clv_entry_tensor_pd_total);
    for (int paper = 0; paper < 2 && !getenv("CLVOX_TEST_TINY"); paper++) {
        test_minimum(&problems[ODD], paper, false, .05f);
        test_minimum(&problems[HOLES], paper, !paper, .05f);
        test_minimum(&problems[SLICE], paper, false, .05f);
        test_constant(paper);
        test_scalar(paper);
    }
    return test_run("primal dual", harness_close);
}
