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

/* What is left in the sums of work-groups, one each; releases the buffer. */
static void compare_sum(const char *what, const problem *p, clv_buffer **partial, double want, double size)
{
    float *got = malloc(CLV_BLIP_PARTIALS * sizeof *got);
    double sum = 0;
    harness_download(harness_context(), *partial, got, CLV_BLIP_PARTIALS * sizeof *got);
    assert_true(got[0] >= 1 && got[0] <= CLV_BLIP_GROUPS);
    for (int i = 1; i <= (int)got[0]; i++)
        sum += (double)got[i];
    assert_that(fabs(sum - want) <= 1e-4 * size, "%s of %d x %d x %d voxels is %g instead of %g", what,
                p->grid.size[0], p->grid.size[1], p->grid.size[2], sum, want);
    free(got);
    clv_buffer_destroy(partial);
}

static clv_buffer *sums_output(void)
{
    return harness_output(harness_context(), CLV_BLIP_PARTIALS * sizeof(float));
}

static void terms(void **state)
{
    EACH_PROBLEM(p)
    {
        const size_t n = (size_t)p.n;
        double *want = malloc(5 * n * sizeof *want), *energy = malloc(n * sizeof *energy), sums[2], whole = 0;
        clv_buffer *t = harness_output(ctx, 5 * n * sizeof(float)), *partial = sums_output();
        const clv_blips b = blips_of(&p);
        const double bend = ref_blip_bend(&p.ref, p.wide[2]);
        ref_blip_terms(&p.ref, p.wide[2], want, energy);
        for (size_t i = 0; i < n; i++)
            whole += energy[i];
        assert_ok(clv_blip_terms(ctx, &b, &p.grid, t, partial));
        assert_ok(clv_blip_energy(ctx, partial, sums));
        compare("terms", &p, &t, want, 5 * n, 2e-5);
        assert_that(fabs(sums[0] - whole) <= 1e-5 * (1 + whole), "energy %g, not %g", sums[0], whole);
        assert_that(fabs(sums[1] - bend) <= 1e-5 * (1 + bend), "bending %g, not %g", sums[1], bend);
        clv_buffer_destroy(&partial);
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
        const clv_blips b = blips_of(&p);
        double *want = malloc(n * sizeof *want);
        for (int i = 0; i < p.n; i++)
            want[i] = ref_blip_image(&p.ref, k, p.wide[2], i);
        clv_buffer *out = harness_output(ctx, n * sizeof(float));
        assert_ok(clv_blip_image(ctx, &b, k, &p.grid, out));
        compare("image", &p, &out, want, n, 1e-5);
        free(want);
    }
}

static void tilt(void **state)
{
    static const float by[4] = {.25f, -.5f, .125f, 3};
    EACH_PROBLEM(p)
    {
        const size_t n = (size_t)p.n;
        const int *size = p.grid.size;
        double *want = malloc(n * sizeof *want);
        for (int z = 0, i = 0; z < size[2]; z++)
            for (int y = 0; y < size[1]; y++)
                for (int x = 0; x < size[0]; x++, i++)
                    want[i] = p.wide[2][i] + (double)by[0] * x + (double)by[1] * y + (double)by[2] * z +
                              (double)by[3];
        assert_ok(clv_blip_tilt(ctx, by, &p.grid));
        compare("tilted field", &p, &p.d_f, want, n, 1e-5);
        free(want);
    }
}

/* The terms of the reference, as single numbers, and on the device. */
static void linearised(const problem *p, double **terms, clv_buffer **d_terms)
{
    const size_t n = (size_t)p->n;
    double *energy = malloc(n * sizeof *energy);
    float *narrow = malloc(5 * n * sizeof *narrow);
    *terms = malloc(5 * n * sizeof **terms);
    ref_blip_terms(&p->ref, p->wide[2], *terms, energy);
    for (size_t i = 0; i < 5 * n; i++)
        (*terms)[i] = (double)(narrow[i] = (float)(*terms)[i]);
    *d_terms = harness_upload(harness_context(), narrow, 5 * n * sizeof *narrow);
    free(energy);
    free(narrow);
}

static void operator_(void **state)
{
    EACH_PROBLEM(p)
    {
        const size_t n = (size_t)p.n;
        double *t, *want = malloc(n * sizeof *want), sum = 0, size = 1;
        clv_buffer *d_terms, *partial = sums_output(), *out = harness_output(ctx, n * sizeof(float));
        linearised(&p, &t, &d_terms);
        ref_blip_operator(&p.ref, t, p.wide[2], want);
        for (size_t i = 0; i < n; i++) {
            sum += p.wide[2][i] * want[i];
            size += fabs(p.wide[2][i] * want[i]);
        }
        assert_ok(clv_blip_operator(ctx, d_terms, p.axis, &p.grid, (float)p.ref.lambda, out, partial));
        compare("operator", &p, &out, want, n, 4e-5);
        compare_sum("its product", &p, &partial, sum, size);
        clv_buffer_destroy(&d_terms);
        free(t);
        free(want);
    }
}

/* Buffers of a solver of n voxels; kept: how many of them begin with random values, which v gets. */
static clv_blip_solve solver_of(size_t n, int kept, float **v)
{
    clvox_context *ctx = harness_context();
    clv_buffer *b[7];
    for (int j = 0; j < 7; j++) {
        if (j < kept) {
            v[j] = malloc(n * sizeof **v);
            harness_random(v[j], n, 11 + (unsigned)j, .5f, 1);
        }
        b[j] = j < kept ? harness_upload(ctx, v[j], n * sizeof **v) : harness_output(ctx, n * sizeof **v);
    }
    return (clv_blip_solve){.residual = b[0],
                            .inverse = b[1],
                            .scaled = b[2],
                            .product = b[3],
                            .direction = b[4],
                            .along = b[5],
                            .step = b[6],
                            .rz = {sums_output(), sums_output()},
                            .zw = sums_output(),
                            .state = harness_output(ctx, 4 * sizeof(float))};
}

static void solver_close(clv_blip_solve *s)
{
    clv_buffer **all[] = {&s->residual, &s->inverse, &s->scaled, &s->product, &s->direction, &s->along,
                          &s->step,     &s->rz[0],   &s->rz[1],  &s->zw,      &s->state};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        clv_buffer_destroy(all[i]);
}

static void descent(void **state)
{
    EACH_PROBLEM(p)
    {
        const size_t n = (size_t)p.n;
        if (n > 1000)
            continue; /* the diagonal by its definition is a product for each voxel */
        double *t, *gradient = malloc(n * sizeof *gradient), *diagonal = malloc(n * sizeof *diagonal),
                   *scaled = malloc(n * sizeof *scaled), *none = calloc(n, sizeof *none), sum = 0;
        clv_buffer *d_terms;
        linearised(&p, &t, &d_terms);
        clv_blip_solve s = solver_of(n, 0, NULL);
        ref_blip_gradient(&p.ref, t, p.wide[2], gradient);
        ref_blip_diagonal(&p.ref, t, diagonal);
        for (size_t i = 0; i < n; i++) {
            gradient[i] = -gradient[i];
            diagonal[i] = diagonal[i] > 1e-12 ? 1 / diagonal[i] : 1;
            scaled[i] = gradient[i] * diagonal[i];
            sum += gradient[i] * scaled[i];
        }
        assert_ok(clv_blip_descent(ctx, d_terms, p.axis, &p.grid, (float)p.ref.lambda, &s));
        compare("residual", &p, &s.residual, gradient, n, 4e-5);
        compare("diagonal", &p, &s.inverse, diagonal, n, 1e-5);
        compare("scaled residual", &p, &s.scaled, scaled, n, 1e-4);
        compare("direction", &p, &s.direction, none, n, 1e-9);
        compare("its product", &p, &s.along, none, n, 1e-9);
        compare("step", &p, &s.step, none, n, 1e-9);
        compare_sum("its length", &p, &s.rz[0], sum, 1 + sum);
        solver_close(&s);
        clv_buffer_destroy(&d_terms);
        free(t);
        free(gradient);
        free(diagonal);
        free(scaled);
        free(none);
    }
}

/* A turn of conjugate gradients by its formulas, from sums of several work-groups: the first one, one after
 * it, and one without a gradient. */
static void advance(void **state)
{
    static const int lengths[] = {1, 7, 333, 40001};
    static const struct {
        int turn;
        float rz[4], zw[3], before[2];
    } turns[] = {{0, {3, .25f, .5f, .25f}, {2, 1, 3}, {0, 0}},
                 {1, {2, .5f, .25f, 7}, {2, 1.5f, 2}, {2, .5f}},
                 {1, {1, 0, 7, 7}, {1, 0, 7}, {2, .5f}}};
    clvox_context *ctx = harness_context();
    (void)state;
    for (int c = 0; c < 3 * harness_problems(3, 4); c++) {
        const size_t n = (size_t)lengths[c / 3];
        const int turn = turns[c % 3].turn;
        const float *rz = turns[c % 3].rz, *zw = turns[c % 3].zw, *before = turns[c % 3].before;
        float *v[7];
        double *want[5], sum = 0, now = 0, product = 0;
        clv_blip_solve s = solver_of(n, 7, v);
        assert_ok(clv_buffer_write(ctx, s.rz[turn], 0, rz, 4 * sizeof *rz));
        assert_ok(clv_buffer_write(ctx, s.zw, 0, zw, 3 * sizeof *zw));
        assert_ok(clv_buffer_write(ctx, s.state, 0, before, 2 * sizeof *before));
        for (int g = 1; g <= (int)rz[0]; g++)
            now += (double)rz[g];
        for (int g = 1; g <= (int)zw[0]; g++)
            product += (double)zw[g];
        const double b = turn ? now / (double)before[0] : 0;
        const double under = b > 0 ? product - b * now / (double)before[1] : product;
        const double w = under > 0 ? now / under : 0;
        for (int j = 0; j < 5; j++)
            want[j] = malloc(n * sizeof *want[j]);
        for (size_t i = 0; i < n; i++) {
            want[0][i] = (double)v[2][i] + b * (double)v[4][i];
            want[1][i] = (double)v[3][i] + b * (double)v[5][i];
            want[2][i] = (double)v[6][i] + w * want[0][i];
            want[3][i] = (double)v[0][i] - w * want[1][i];
            want[4][i] = want[3][i] * (double)v[1][i];
            sum += want[3][i] * want[4][i];
        }
        const problem p = {.grid = {.size = {(int)n, 1, 1}}};
        assert_ok(clv_blip_advance(ctx, &s, turn, (int)n));
        compare("direction", &p, &s.direction, want[0], n, 1e-6);
        compare("its product", &p, &s.along, want[1], n, 1e-6);
        compare("step", &p, &s.step, want[2], n, 2e-6);
        compare("residual", &p, &s.residual, want[3], n, 2e-6);
        compare("scaled residual", &p, &s.scaled, want[4], n, 2e-6);
        compare_sum("its length", &p, &s.rz[1 - turn], sum, 1 + sum);
        float kept[4];
        harness_download(ctx, s.state, kept, sizeof kept);
        assert_true(fabs((double)kept[2 * turn] - now) < 1e-6 && fabs((double)kept[2 * turn + 1] - w) < 1e-6);
        for (int j = 0; j < 7; j++)
            free(v[j]);
        for (int j = 0; j < 5; j++)
            free(want[j]);
        solver_close(&s);
    }
}

/* So many turns solve small equations. */
static void solves(void **state)
{
    EACH_PROBLEM(p)
    {
        const size_t n = (size_t)p.n;
        if (n > 100)
            continue;
        double *t, *out = malloc(n * sizeof *out), *gradient = malloc(n * sizeof *gradient), worst = 0,
                   most = 0;
        float *step = malloc(n * sizeof *step);
        clv_buffer *d_terms;
        linearised(&p, &t, &d_terms);
        clv_blip_solve s = solver_of(n, 0, NULL);
        clv_buffer_destroy(&s.state);
        s.state = harness_output(ctx, 2 * 40 * sizeof(float));
        const clv_image scaled = clv_image_on(&p.grid, s.scaled, 1);
        assert_ok(clv_blip_descent(ctx, d_terms, p.axis, &p.grid, (float)p.ref.lambda, &s));
        for (int i = 0; i < 40; i++) {
            assert_ok(clv_blip_operator(ctx, d_terms, p.axis, &scaled, (float)p.ref.lambda, s.product, s.zw));
            assert_ok(clv_blip_advance(ctx, &s, i, p.n));
        }
        harness_download(ctx, s.step, step, n * sizeof *step);
        double *wide = widen(step, n);
        ref_blip_operator(&p.ref, t, wide, out);
        ref_blip_gradient(&p.ref, t, p.wide[2], gradient);
        for (size_t i = 0; i < n; i++) {
            worst = fmax(worst, fabs(out[i] + gradient[i]));
            most = fmax(most, fabs(gradient[i]));
        }
        assert_that(worst <= 1e-3 * most, "residual %g of %g", worst, most);
        solver_close(&s);
        clv_buffer_destroy(&d_terms);
        free(t);
        free(out);
        free(gradient);
        free(step);
        free(wide);
    }
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
                   *t = harness_output(ctx, 5 * n * sizeof *got), *partial = sums_output();
        const clv_blips b = {images, maps, 2, p.axis};
        const clv_image field = clv_image_on(&p.grid, f, 1);
        assert_ok(clv_blip_terms(ctx, &b, &field, t, partial));
        harness_download(ctx, t, got, 5 * n * sizeof *got);
        for (size_t i = 0; i < 2 * n; i++)
            assert_true(got[i] == 0);
        clv_buffer_destroy(&images);
        clv_buffer_destroy(&maps);
        clv_buffer_destroy(&f);
        clv_buffer_destroy(&t);
        clv_buffer_destroy(&partial);
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
    harness_cases(&clv_entry_blip_tilt, tilt, NULL, 0, "a tilted field");
    harness_cases(&clv_entry_blip_operator, operator_, NULL, 0, "second derivative");
    harness_cases(&clv_entry_blip_descent, descent, NULL, 0, "gradient and diagonal");
    harness_cases(&clv_entry_blip_advance, advance, NULL, 0, "a turn");
    harness_cases_first(&clv_entry_blip_advance, solves, NULL, 0, "many turns");
    return test_run("blip", harness_close);
}
