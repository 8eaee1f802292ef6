/* SPDX-License-Identifier: Apache-2.0 */
#include "op/anatomy/particle_mesh.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "op/harness.h"
#include "ref/anatomy/currents.h"
#include "ref/anatomy/particle_mesh.h"

static clvox_context *ctx;

enum { MOST = 700, ROOM = 1 << 15 };

typedef struct set {
    int count;
    float element[8 * MOST];
} set;

/* In a box of that size, in an order in which neighbours are near each other along x alone. */
static void make(set *s, int count, unsigned seed, const float box[3])
{
    float noise[8];
    s->count = count;
    for (int i = 0; i < count; i++) {
        float *e = s->element + 8 * i, norm = 0;
        harness_random(noise, 8, seed + 31u * (unsigned)i, -1, 1);
        for (int k = 0; k < 3; k++) {
            e[k] = box[k] * (k == 0 ? (float)i / (float)count : (1 + noise[k]) / 2);
            norm += noise[3 + k] * noise[3 + k];
        }
        for (int k = 0; k < 3; k++)
            e[4 + k] = noise[3 + k] / sqrtf(norm);
        e[3] = 0;
        e[7] = 1.5f + noise[6];
    }
}

static clv_elements upload(const set *s)
{
    return (clv_elements){.element = harness_upload(ctx, s->element, 32 * (size_t)s->count),
                          .count = s->count};
}

static void release(clv_elements *e)
{
    clv_buffer *element = (clv_buffer *)(uintptr_t)e->element;
    clv_buffer_destroy(&element);
}

static clv_mesh_grid grid_of(const float box[3], double width, double spacing)
{
    clv_mesh_grid grid;
    const double most[3] = {(double)box[0], (double)box[1], (double)box[2]};
    assert_ok(clv_mesh_grid_make((const double[3]){0, 0, 0}, most, width, spacing, &grid));
    assert_true(grid.size[0] * grid.size[1] * grid.size[2] <= ROOM);
    return grid;
}

/* Product and gradient of b's mesh and a by the device. */
static double device(const clv_particle_mesh *mesh, const set *a, float factor, float *gradient)
{
    static float zero[8 * MOST];
    float partial[CLV_CURRENTS_BLOCKS(MOST)] = {0};
    const size_t blocks = (size_t)CLV_CURRENTS_BLOCKS(a->count);
    clv_currents_args args = {.target = upload(a),
                              .partial = harness_output(ctx, 4 * blocks),
                              .factor = factor,
                              .gradient = gradient ? harness_upload(ctx, zero, 32 * (size_t)a->count) : NULL};
    assert_ok(clv_particle_mesh_read(ctx, mesh, &args));
    harness_download(ctx, args.partial, partial, 4 * blocks);
    if (gradient)
        harness_download(ctx, args.gradient, gradient, 32 * (size_t)a->count);
    double sum = 0;
    for (size_t i = 0; i < blocks; i++)
        sum += (double)partial[i];
    clv_buffer_destroy(&args.partial);
    clv_buffer_destroy(&args.gradient);
    release(&args.target);
    return sum;
}

typedef struct problem {
    float box[3];
    double width, spacing;
    int targets, sources;
    bool varifold;
} problem;

/* Both kinds; boxes that a group's memory holds and does not; flat, long; odd numbers; one element. */
static const problem problems[] = {
    {{2, 1, 1}, 1.5, 1.5, 5, 7, false},       {{9, 7, 4}, 3, 1.3, 300, 257, true},
    {{0, 11, 6}, 2, 1.1, 1, 1, false},        {{25, 3, 3}, 2.5, 1, 511, 700, false},
    {{14, 14, 11}, 1.7, .75, 600, 390, true},
};

static void compare(const problem *q)
{
    static set a, b;
    static float got[8 * MOST], again[8 * MOST];
    static double want[8 * MOST], held[6 * ROOM];
    clv_particle_mesh mesh;
    int beyond;
    const clv_mesh_grid grid = grid_of(q->box, q->width, q->spacing);
    make(&a, q->targets, 5, q->box);
    make(&b, q->sources, 9, q->box);
    if (q->sources > 9) {
        b.element[8 * 3] = NAN;
        b.element[8 * 4 + 1] = q->box[1] + 3 * (float)q->spacing;
        b.element[8 * 5 + 7] = 4;
        b.element[8 * 6 + 7] = NAN;
    }
    const clv_particle_mesh_options o = {q->width, q->varifold, q->sources + q->targets, 3, NULL};
    assert_ok(clv_particle_mesh_create(ctx, &grid, &o, &mesh));
    memset(held, 0, sizeof held);
    const int out = ref_mesh_splat(&mesh, b.element, b.count, 1, held) +
                    ref_mesh_splat(&mesh, a.element, a.count, -.5, held);
    ref_mesh_convolve(&mesh, held);
    double product = ref_mesh_read(&mesh, held, a.element, a.count, want), scale = 0, largest[3] = {0};
    for (int i = 0; i < a.count; i++) {
        scale += fabs((double)a.element[8 * i + 7] * want[8 * i + 7]);
        for (int k = 0; k < 8; k++) /* centres, normals, areas */
            largest[k / 4 + (k == 7)] = fmax(largest[k / 4 + (k == 7)], fabs(want[8 * i + k]));
    }
    clv_elements as = upload(&a), bs = upload(&b);
    double before = 0;
    const int rounds = harness_problems(1, 2);
    for (int round = 0; round < rounds; round++) { /* the sums are 0 again, and the same bits follow */
        assert_ok(clv_particle_mesh_splat(ctx, &mesh, &bs, 1));
        assert_ok(clv_particle_mesh_splat(ctx, &mesh, &as, -.5f));
        assert_ok(clv_particle_mesh_convolve(ctx, &mesh));
        double found = device(&mesh, &a, -2, round ? again : got), alone = device(&mesh, &a, 1, NULL);
        assert_true(found == alone || fabs(found - alone) <= 1e-6 * scale);
        assert_that(fabs(found - product) <= 3e-6 * scale, "product %.9g, not %.9g", found, product);
        assert_true(round == 0 || (found == before && !memcmp(got, again, 32 * (size_t)a.count)));
        before = found;
    }
    for (int i = 0; i < 8 * a.count; i++) {
        int k = i % 8;
        if (!(fabs((double)got[i] + 2 * want[i]) <= 2e-5 * largest[k / 4 + (k == 7)]))
            assert_that(false, "gradient %d of element %d: %g, not %g", k, i / 8, (double)got[i],
                        -2 * want[i]);
    }
    assert_ok(clv_particle_mesh_beyond(ctx, &mesh, &beyond));
    assert_int_equal(beyond, rounds * out);
    assert_true(q->sources <= 9 || out == 4);
    release(&as);
    release(&bs);
    clv_particle_mesh_destroy(&mesh);
}

static void steps(void **state)
{
    (void)state;
    int count = harness_problems(1, sizeof problems / sizeof *problems);
    for (int i = 0; i < count; i++)
        if (harness_first() || !problems[i].varifold)
            compare(&problems[i]);
}

/* The reference's product and its gradient, which the device's are held against above. */
static void gradients_are_those_of_the_product(void **state)
{
    (void)state;
    static set a, b;
    static double gradient[8 * MOST], held[6 * ROOM];
    const float box[3] = {9, 7, 4};
    for (int varifold = 0; varifold < 2; varifold++) {
        const clv_particle_mesh mesh = {
            .grid = grid_of(box, 3, 1.3), .width = 3, .varifold = varifold, .most = 3};
        make(&a, 40, 3, box);
        make(&b, 30, 4, box);
        memset(held, 0, sizeof held);
        ref_mesh_splat(&mesh, b.element, 30, 1, held);
        ref_mesh_convolve(&mesh, held);
        ref_mesh_read(&mesh, held, a.element, 40, gradient);
        for (int i = 0; i < 8 * 40; i += 37) {
            const float step = 1.0f / 256, old = a.element[i];
            const double scale =
                i % 8 >= 4 && i % 8 < 7 ? (double)a.element[i - i % 8 + 7] : 1; /* normals: over a */
            if (i % 8 == 3)
                continue;
            a.element[i] = old + step;
            double above = ref_mesh_read(&mesh, held, a.element, 40, NULL), up = (double)a.element[i];
            a.element[i] = old - step;
            double below = ref_mesh_read(&mesh, held, a.element, 40, NULL);
            double found = (above - below) / (up - (double)a.element[i]);
            a.element[i] = old;
            assert_that(fabs(found - scale * gradient[i]) < 1e-3 * (1 + fabs(found)), "%d: %g, not %g", i,
                        scale * gradient[i], found);
        }
    }
}

/* Against the sum over all pairs, over spacings: the error of a product falls with the fourth power of the
 * spacing at least, that of the gradient with the third; <A, B> = <B, A>. */
static void errors_fall_as_expected(void **state)
{
    (void)state;
    static set a, b;
    static float got[8 * MOST];
    static double want[8 * MOST];
    const float box[3] = {8, 6, 5};
    const double width = 4, ratios[] = {.7, .5, .35, .25};
    for (int varifold = 0; varifold < 2; varifold++) {
        double product_error[4], gradient_error[4];
        make(&a, 500, 5, box);
        make(&b, 450, 9, box);
        double product = ref_currents(a.element, a.count, b.element, b.count, width, varifold, want);
        double norm = ref_currents(a.element, a.count, a.element, a.count, width, varifold, NULL);
        for (int r = 0; r < 4; r++) {
            clv_particle_mesh mesh;
            product_error[r] = gradient_error[r] = 0;
            for (int shift = 0; shift < 3; shift++) { /* the worst of some places of the grid */
                clv_mesh_grid grid = grid_of(box, width, ratios[r] * width);
                for (int k = 0; k < 3; k++)
                    grid.origin[k] += .15f * (float)(shift - 1) * (float)(k + 1) * grid.spacing;
                const clv_particle_mesh_options o = {width, varifold, 1000, 3, NULL};
                assert_ok(clv_particle_mesh_create(ctx, &grid, &o, &mesh));
                clv_elements as = upload(&a), bs = upload(&b);
                assert_ok(clv_particle_mesh_splat(ctx, &mesh, &bs, 1));
                assert_ok(clv_particle_mesh_convolve(ctx, &mesh));
                double found = device(&mesh, &a, 1, got), rms = 0, all = 0;
                for (int i = 0; i < 8 * a.count; i++)
                    if (i % 8 < 3) {
                        rms += ((double)got[i] - want[i]) * ((double)got[i] - want[i]);
                        all += want[i] * want[i];
                    }
                assert_ok(clv_particle_mesh_splat(ctx, &mesh, &as, 1));
                assert_ok(clv_particle_mesh_convolve(ctx, &mesh));
                assert_true(fabs(device(&mesh, &b, 1, NULL) - found) < 3e-6 * norm);
                product_error[r] = fmax(product_error[r], fabs(found - product) / norm);
                gradient_error[r] = fmax(gradient_error[r], sqrt(rms / all));
                release(&as);
                release(&bs);
                clv_particle_mesh_destroy(&mesh);
            }
        }
        assert_that(product_error[2] < product_error[0] / 16 && product_error[3] < product_error[2] / 2,
                    "varifold %d: errors %g, %g, %g, %g", varifold, product_error[0], product_error[1],
                    product_error[2], product_error[3]);
        assert_that(gradient_error[2] < gradient_error[0] / 8 && gradient_error[3] < gradient_error[2] / 2.5,
                    "varifold %d: errors of the gradient %g, %g, %g, %g", varifold, gradient_error[0],
                    gradient_error[1], gradient_error[2], gradient_error[3]);
    }
}

static void what_is_refused(void **state)
{
    (void)state;
    clv_mesh_grid grid;
    clv_particle_mesh mesh;
    const double zero[3] = {0, 0, 0};
    int beyond = 7;
    assert_int_equal(clv_mesh_grid_make(zero, (const double[3]){1e6, 1, 1}, 1, 1e-3, &grid),
                     CLVOX_ERROR_MEMORY);
    assert_int_equal(clv_mesh_grid_make(zero, (const double[3]){NAN, 1, 1}, 1, 1, &grid), CLVOX_ERROR_MEMORY);
    assert_ok(clv_mesh_grid_make(zero, zero, 1, 1, &grid));
    assert_int_equal(clv_particle_mesh_create(ctx, &grid, &(clv_particle_mesh_options){.width = 0}, &mesh),
                     CLVOX_ERROR_ARGUMENT);
    assert_int_equal(clv_particle_mesh_create(
                         ctx, &grid, &(clv_particle_mesh_options){1, false, 1, INFINITY, NULL}, &mesh),
                     CLVOX_ERROR_ARGUMENT);
    /* Nothing on the grid, and nothing to read. */
    assert_ok(
        clv_particle_mesh_create(ctx, &grid, &(clv_particle_mesh_options){1, false, 0, 0, NULL}, &mesh));
    assert_ok(clv_particle_mesh_splat(ctx, &mesh, &(clv_elements){.count = 0}, 1));
    assert_ok(clv_particle_mesh_convolve(ctx, &mesh));
    assert_ok(clv_particle_mesh_read(ctx, &mesh, &(clv_currents_args){.factor = 1}));
    assert_ok(clv_particle_mesh_beyond(ctx, &mesh, &beyond));
    assert_int_equal(beyond, 0);
    clv_particle_mesh_destroy(&mesh);
}

int main(void)
{
    ctx = harness_open();
    harness_cases(&clv_entry_mesh_splat, steps, NULL, 0, "splat, convolve, read");
    harness_cases_first(&clv_entry_mesh_multiply, steps, NULL, 0, "splat, convolve, read");
    harness_cases_first(&clv_entry_mesh_read, steps, NULL, 0, "splat, convolve, read");
    test_case(gradients_are_those_of_the_product, "gradients are those of the product");
    if (!getenv("CLVOX_TEST_TINY"))
        test_case(errors_fall_as_expected, "errors fall as expected");
    test_case(what_is_refused, "what is refused");
    return test_run("particle_mesh", harness_close);
}
