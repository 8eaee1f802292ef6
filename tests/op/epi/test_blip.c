/* SPDX-License-Identifier: Apache-2.0 */
#include "op/epi/blip.h"

#include <math.h>
#include <stdlib.h>

#include "op/harness.h"
#include "ref/epi/blip.h"

/* Odd, anisotropic, thin and single voxels, each with another axis and number of images. */
static const struct {
    int size[3];
    float spacing[3];
    int axis, images;
} problems[] = {
    {{7, 5, 3}, {2, 2, 3}, 1, 2},       {{1, 6, 4}, {2, 1, 3}, 1, 2}, {{5, 1, 3}, {1, 2, 1}, 1, 2},
    {{2, 3, 2}, {1, 1.5f, 4}, 0, 3},    {{1, 1, 1}, {2, 2, 2}, 0, 2}, {{9, 8, 5}, {3, 2, 2}, 2, 4},
    {{37, 19, 11}, {2, 2.5f, 3}, 0, 2},
};

typedef struct problem {
    int n, axis, images;
    clv_image grid;
    float *image, *maps, *f;
    double *wide[3]; /* the same in double precision */
    ref_blips ref;
    clv_buffer *d_image, *d_maps, *d_f;
} problem;

static double *widen(const float *in, size_t n)
{
    double *out = malloc(n * sizeof *out);
    for (size_t i = 0; i < n; i++)
        out[i] = (double)in[i];
    return out;
}

static problem problem_open(int which)
{
    problem p = {.axis = problems[which].axis, .images = problems[which].images};
    p.grid = clv_image_of(NULL, problems[which].size, problems[which].spacing, 1);
    p.n = (int)clv_image_voxels(&p.grid);
    const size_t n = (size_t)p.n, count = (size_t)p.images;
    p.image = malloc(count * n * sizeof *p.image);
    p.maps = malloc(count * CLV_BLIP_MAP * sizeof *p.maps);
    p.f = malloc(n * sizeof *p.f);
    harness_random(p.image, count * n, 3, 0, 1);
    harness_random(p.f, n, 5, -1, 1);
    /* The first map is the identity, the others turn and shift a little, so that some places lie outside. */
    for (size_t k = 0; k < count; k++) {
        float *map = p.maps + CLV_BLIP_MAP * k;
        harness_random(map, CLV_BLIP_MAP, 7 + (unsigned)k, -.02f, .02f);
        for (int a = 0; a < 3; a++) {
            map[5 * a] += 1;
            map[4 * a + 3] *= 20;
        }
        for (int j = 0; !k && j < 12; j++)
            map[j] = j % 5 == 0;
        map[12] = (k % 2 ? -1 : 1) * (.6f + .1f * (float)k);
    }
    p.wide[0] = widen(p.image, count * n);
    p.wide[1] = widen(p.maps, count * CLV_BLIP_MAP);
    p.wide[2] = widen(p.f, n);
    p.ref =
        (ref_blips){.images = p.wide[0], .maps = p.wide[1], .count = p.images, .axis = p.axis, .lambda = .3};
    for (int a = 0; a < 3; a++) {
        p.ref.size[a] = p.grid.size[a];
        p.ref.spacing[a] = (double)p.grid.spacing[a];
    }
    clvox_context *ctx = harness_context();
    p.d_image = harness_upload(ctx, p.image, count * n * sizeof *p.image);
    p.d_maps = harness_upload(ctx, p.maps, count * CLV_BLIP_MAP * sizeof *p.maps);
    p.d_f = harness_upload(ctx, p.f, n * sizeof *p.f);
    p.grid.buffer = p.d_f;
    return p;
}

static void problem_close(problem *p)
{
    free(p->image);
    free(p->maps);
    free(p->f);
    for (int i = 0; i < 3; i++)
        free(p->wide[i]);
    clv_buffer_destroy(&p->d_image);
    clv_buffer_destroy(&p->d_maps);
    clv_buffer_destroy(&p->d_f);
}

static clv_blips blips_of(const problem *p)
{
    return (clv_blips){p->d_image, p->d_maps, p->images, p->axis};
}

/* The buffer against what is wanted; releases the buffer. */
static void compare(const char *what, const problem *p, clv_buffer **buffer, const double *want, size_t count,
                    double tolerance)
{
    float *got = malloc(count * sizeof *got);
    harness_download(harness_context(), *buffer, got, count * sizeof *got);
    const double error = harness_error(got, want, count, tolerance, tolerance);
    assert_that(error <= 1, "%s of %d x %d x %d voxels is off by %g of the tolerance", what, p->grid.size[0],
                p->grid.size[1], p->grid.size[2], error);
    free(got);
    clv_buffer_destroy(buffer);
}

#define EACH_PROBLEM(p)                                                                                  \
    (void)state;                                                                                         \
    clvox_context *ctx = harness_context();                                                              \
    for (int which = 0; which < harness_problems(3, (int)(sizeof problems / sizeof *problems)); which++) \
        for (problem p = problem_open(which); p.n; problem_close(&p), p.n = 0)

static void terms(void **state)
{
    EACH_PROBLEM(p)
    {
        const size_t n = (size_t)p.n;
        double *want = malloc(5 * n * sizeof *want), *energy = malloc(n * sizeof *energy);
        clv_buffer *t = harness_output(ctx, 5 * n * sizeof(float)),
                   *e = harness_output(ctx, n * sizeof(float));
        const clv_blips b = blips_of(&p);
        ref_blip_terms(&p.ref, p.wide[2], want, energy);
        assert_ok(clv_blip_terms(ctx, &b, &p.grid, t, e));
        compare("terms", &p, &t, want, 5 * n, 2e-5);
        compare("energy", &p, &e, energy, n, 2e-5);
        free(want);
        free(energy);
    }
}

static void image(void **state)
{
    EACH_PROBLEM(p)
    {
        const size_t n = (size_t)p.n;
        const int k = p.images - 1;
        double *want = malloc(n * sizeof *want);
        for (int i = 0; i < p.n; i++)
            want[i] = ref_blip_image(&p.ref, k, p.wide[2], i);
        clv_buffer *one = harness_upload(ctx, p.image + (size_t)k * n, n * sizeof(float));
        clv_buffer *map = harness_upload(ctx, p.maps + CLV_BLIP_MAP * k, CLV_BLIP_MAP * sizeof(float));
        clv_buffer *out = harness_output(ctx, n * sizeof(float));
        assert_ok(clv_blip_image(ctx, one, map, p.axis, &p.grid, out));
        compare("image", &p, &out, want, n, 1e-5);
        clv_buffer_destroy(&one);
        clv_buffer_destroy(&map);
        free(want);
    }
}

static void bending(void **state)
{
    EACH_PROBLEM(p)
    {
        const size_t n = (size_t)p.n;
        double *want = malloc(n * sizeof *want);
        clv_buffer *out = harness_output(ctx, n * sizeof(float));
        ref_blip_bending(&p.ref, p.wide[2], want);
        assert_ok(clv_blip_bending(ctx, &p.grid, out));
        compare("bending", &p, &out, want, n, 1e-5);
        free(want);
    }
}

/* Terms, and the field's bending. */
static void linearised(const problem *p, double **terms, clv_buffer **d_terms, clv_buffer **z)
{
    clvox_context *ctx = harness_context();
    const size_t n = (size_t)p->n;
    double *energy = malloc(n * sizeof *energy);
    *terms = malloc(5 * n * sizeof **terms);
    ref_blip_terms(&p->ref, p->wide[2], *terms, energy);
    for (size_t i = 0; i < n; i++)
        energy[i] = 0;
    float *narrow = malloc(5 * n * sizeof *narrow);
    for (size_t i = 0; i < 5 * n; i++)
        (*terms)[i] = (double)(narrow[i] = (float)(*terms)[i]);
    *d_terms = harness_upload(ctx, narrow, 5 * n * sizeof *narrow);
    *z = harness_output(ctx, n * sizeof(float));
    assert_ok(clv_blip_bending(ctx, &p->grid, *z));
    free(energy);
    free(narrow);
}

static void operator_(void **state)
{
    EACH_PROBLEM(p)
    {
        const size_t n = (size_t)p.n;
        double *t, *want = malloc(n * sizeof *want);
        clv_buffer *d_terms, *z, *out = harness_output(ctx, n * sizeof(float));
        linearised(&p, &t, &d_terms, &z);
        ref_blip_operator(&p.ref, t, p.wide[2], want);
        assert_ok(clv_blip_operator(ctx, d_terms, p.axis, &p.grid, (float)p.ref.lambda, out));
        compare("operator", &p, &out, want, n, 4e-5);
        clv_buffer_destroy(&d_terms);
        clv_buffer_destroy(&z);
        free(t);
        free(want);
    }
}

static void descent(void **state)
{
    EACH_PROBLEM(p)
    {
        const size_t n = (size_t)p.n;
        if (n > 1000)
            continue; /* the diagonal by its definition is a product for each voxel */
        double *t, *gradient = malloc(n * sizeof *gradient), *diagonal = malloc(n * sizeof *diagonal),
                   *scaled = malloc(n * sizeof *scaled);
        clv_buffer *d_terms, *z;
        linearised(&p, &t, &d_terms, &z);
        const clv_image bent = clv_image_on(&p.grid, z, 1);
        clv_blip_solve s = {.residual = harness_output(ctx, n * sizeof(float)),
                            .diagonal = harness_output(ctx, n * sizeof(float)),
                            .scaled = harness_output(ctx, n * sizeof(float))};
        ref_blip_gradient(&p.ref, t, p.wide[2], gradient);
        ref_blip_diagonal(&p.ref, t, diagonal);
        for (size_t i = 0; i < n; i++) {
            gradient[i] = -gradient[i];
            diagonal[i] = diagonal[i] > 1e-12 ? diagonal[i] : 1;
            scaled[i] = gradient[i] / diagonal[i];
        }
        assert_ok(clv_blip_descent(ctx, d_terms, p.axis, &bent, (float)p.ref.lambda, &s));
        compare("residual", &p, &s.residual, gradient, n, 4e-5);
        compare("diagonal", &p, &s.diagonal, diagonal, n, 1e-5);
        compare("scaled residual", &p, &s.scaled, scaled, n, 1e-4);
        clv_buffer_destroy(&d_terms);
        clv_buffer_destroy(&z);
        free(t);
        free(gradient);
        free(diagonal);
        free(scaled);
    }
}

/* One step of conjugate gradients by its formulas; w: the products. half 0 advances, 1 turns. */
static void step(int half)
{
    static const int lengths[] = {1, 7, 333, 40001};
    static const float products[][3] = {{.5f, .25f, 2}, {0, 1, 0}};
    clvox_context *ctx = harness_context();
    for (int c = 0; c < 2 * harness_problems(3, 4); c++) {
        const size_t n = (size_t)lengths[c / 2];
        const float *state = products[c % 2];
        float *v[5];
        double *want[3];
        for (unsigned j = 0; j < 5; j++) {
            v[j] = malloc(n * sizeof *v[j]);
            harness_random(v[j], n, 11 + j, .5f, 1);
        }
        clv_buffer *b[5], *s = harness_upload(ctx, state, 3 * sizeof *state);
        for (int j = 0; j < 5; j++)
            b[j] = harness_upload(ctx, v[j], n * sizeof *v[j]);
        for (int j = 0; j < 3; j++)
            want[j] = malloc(n * sizeof *want[j]);
        clv_blip_solve solve = {.residual = b[0],
                                .diagonal = b[1],
                                .direction = b[2],
                                .product = b[3],
                                .step = b[4],
                                .scaled = harness_upload(ctx, v[0], n * sizeof *v[0]),
                                .state = s};
        const double w = half ? (state[0] > 0 ? (double)state[1] / (double)state[0] : 0)
                              : (state[2] > 0 ? (double)state[0] / (double)state[2] : 0);
        for (size_t i = 0; i < n; i++) {
            want[0][i] = half ? (double)v[0][i] + w * (double)v[2][i] : (double)v[4][i] + w * (double)v[2][i];
            want[1][i] = (double)v[0][i] - w * (double)v[3][i];
            want[2][i] = want[1][i] / (double)v[1][i];
        }
        const problem p = {.grid = {.size = {(int)n, 1, 1}}};
        if (half) {
            assert_ok(clv_blip_turn(ctx, &solve, 0, (int)n));
            compare("direction", &p, &b[2], want[0], n, 1e-6);
        } else {
            assert_ok(clv_blip_advance(ctx, &solve, 0, (int)n));
            compare("step", &p, &b[4], want[0], n, 1e-6);
            compare("residual", &p, &b[0], want[1], n, 1e-6);
            compare("scaled residual", &p, &solve.scaled, want[2], n, 2e-6);
        }
        for (int j = 0; j < 5; j++) {
            clv_buffer_destroy(&b[j]);
            free(v[j]);
        }
        clv_buffer_destroy(&solve.scaled);
        clv_buffer_destroy(&s);
        for (int j = 0; j < 3; j++)
            free(want[j]);
    }
}

static void advance(void **state)
{
    (void)state;
    step(0);
}

static void turn(void **state)
{
    (void)state;
    step(1);
}

/* The gradient of the reference, against finite differences of its energy. */
static void gradient(void **state)
{
    EACH_PROBLEM(p)
    {
        const size_t n = (size_t)p.n;
        (void)ctx;
        double *t = malloc(5 * n * sizeof *t), *energy = malloc(n * sizeof *energy),
               *want = malloc(n * sizeof *want), *f = p.wide[2];
        ref_blip_terms(&p.ref, f, t, energy);
        ref_blip_gradient(&p.ref, t, f, want);
        for (size_t i = 0; i < n; i += 1 + n / 40) {
            const double here = f[i], by = 1e-6;
            f[i] = here + by;
            const double more = ref_blip_energy(&p.ref, f);
            f[i] = here - by;
            const double less = ref_blip_energy(&p.ref, f), found = (more - less) / (2 * by);
            f[i] = here;
            assert_that(fabs(found - want[i]) <= 1e-6 * (1 + fabs(found)), "voxel %zu: %g, by differences %g",
                        i, want[i], found);
        }
        free(t);
        free(energy);
        free(want);
    }
}

/* Opposite blips of one image without distortion: nothing moves, to the last bit. */
static void same(void **state)
{
    EACH_PROBLEM(p)
    {
        const size_t n = (size_t)p.n;
        float *zero = calloc(5 * n, sizeof *zero), *got = malloc(5 * n * sizeof *got);
        float two[2 * CLV_BLIP_MAP] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, .7f,
                                       1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, -.7f};
        float *twice = malloc(2 * n * sizeof *twice);
        for (size_t i = 0; i < 2 * n; i++)
            twice[i] = p.image[i % n];
        clv_buffer *images = harness_upload(ctx, twice, 2 * n * sizeof *twice),
                   *maps = harness_upload(ctx, two, sizeof two),
                   *f = harness_upload(ctx, zero, n * sizeof *zero),
                   *t = harness_output(ctx, 5 * n * sizeof *got), *e = harness_output(ctx, n * sizeof *got);
        const clv_blips b = {images, maps, 2, p.axis};
        const clv_image field = clv_image_on(&p.grid, f, 1);
        assert_ok(clv_blip_terms(ctx, &b, &field, t, e));
        harness_download(ctx, t, got, 5 * n * sizeof *got);
        for (size_t i = 0; i < 2 * n; i++)
            assert_true(got[i] == 0);
        clv_buffer_destroy(&images);
        clv_buffer_destroy(&maps);
        clv_buffer_destroy(&f);
        clv_buffer_destroy(&t);
        clv_buffer_destroy(&e);
        free(zero);
        free(got);
        free(twice);
    }
}

int main(void)
{
    harness_open();
    harness_cases(&clv_entry_blip_terms, terms, NULL, 0, "terms of images");
    harness_cases_first(&clv_entry_blip_terms, same, NULL, 0, "one image twice");
    harness_cases_first(&clv_entry_blip_terms, gradient, NULL, 0, "gradient against differences");
    harness_cases(&clv_entry_blip_image, image, NULL, 0, "a modulated image");
    harness_cases(&clv_entry_blip_bending, bending, NULL, 0, "bending");
    harness_cases(&clv_entry_blip_operator, operator_, NULL, 0, "second derivative");
    harness_cases(&clv_entry_blip_descent, descent, NULL, 0, "gradient and diagonal");
    harness_cases(&clv_entry_blip_advance, advance, NULL, 0, "a step");
    harness_cases(&clv_entry_blip_turn, turn, NULL, 0, "a turn");
    return test_run("blip", harness_close);
}
