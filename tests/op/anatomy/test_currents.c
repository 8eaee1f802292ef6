/* SPDX-License-Identifier: Apache-2.0 */
#include "op/harness.h"
#include "ref/anatomy/currents.h"

static clvox_context *ctx;

enum { MOST = 1200 };

typedef struct set {
    int count;
    float element[8 * MOST], box[8 * CLV_CURRENTS_BLOCKS(MOST)];
} set;

static void make_boxes(set *s)
{
    for (int b = 0; b < CLV_CURRENTS_BLOCKS(s->count); b++) {
        float *box = s->box + 8 * b;
        for (int k = 0; k < 4; k++) {
            box[k] = k < 3 ? INFINITY : 0;
            box[4 + k] = k < 3 ? -INFINITY : 0;
        }
        for (int i = b * CLV_CURRENTS_BLOCK; i < s->count && i < (b + 1) * CLV_CURRENTS_BLOCK; i++)
            for (int k = 0; k < 3; k++) {
                box[k] = fminf(box[k], s->element[8 * i + k]);
                box[4 + k] = fmaxf(box[4 + k], s->element[8 * i + k]);
            }
    }
}

/* Along x from 0 to `length`, so that far blocks are passed over. */
static void make(set *s, int count, unsigned seed, float length)
{
    float noise[8];
    s->count = count;
    for (int i = 0; i < count; i++) {
        float *e = s->element + 8 * i, norm = 0;
        harness_random(noise, 8, seed + 31u * (unsigned)i, -1, 1);
        for (int k = 0; k < 3; k++) {
            e[k] = 3 * noise[k] + (k == 0 ? length * (float)i / (float)count : 0);
            norm += noise[3 + k] * noise[3 + k];
        }
        for (int k = 0; k < 3; k++)
            e[4 + k] = noise[3 + k] / sqrtf(norm);
        e[3] = 0;
        e[7] = 1.5f + noise[6];
    }
    make_boxes(s);
}

static clv_elements upload(const set *s)
{
    return (clv_elements){harness_upload(ctx, s->element, 32 * (size_t)s->count),
                          harness_upload(ctx, s->box, 32 * (size_t)CLV_CURRENTS_BLOCKS(s->count)), s->count};
}

static void release(clv_elements *e)
{
    clv_buffer *element = (clv_buffer *)(uintptr_t)e->element, *box = (clv_buffer *)(uintptr_t)e->box;
    clv_buffer_destroy(&element);
    clv_buffer_destroy(&box);
}

static double device_product(const set *a, const set *b, double width, bool varifold, float *gradient)
{
    float partial[CLV_CURRENTS_BLOCKS(MOST)] = {0};
    int blocks = CLV_CURRENTS_BLOCKS(a->count);
    float *zero = calloc(8 * (size_t)a->count, sizeof *zero);
    clv_currents_args args = {.target = upload(a), .source = upload(b), .width = (float)width, .varifold = varifold,
                              .partial = harness_output(ctx, 4 * (size_t)blocks), .factor = -2,
                              .gradient = gradient ? harness_upload(ctx, zero, 32 * (size_t)a->count) : NULL};
    assert_ok(clv_currents(ctx, &args));
    harness_download(ctx, args.partial, partial, 4 * (size_t)blocks);
    if (gradient)
        harness_download(ctx, args.gradient, gradient, 32 * (size_t)a->count);
    double sum = 0;
    for (int i = 0; i < blocks; i++)
        sum += (double)partial[i];
    clv_buffer_destroy(&args.partial);
    clv_buffer_destroy(&args.gradient);
    release(&args.target);
    release(&args.source);
    free(zero);
    return sum;
}

static void compare(int targets, int sources, double width, bool varifold, bool with_gradient, float length)
{
    static set a, b;
    static float got[8 * MOST];
    static double want[8 * MOST];
    make(&a, targets, 5, length);
    make(&b, sources, 9, length);
    double expected = ref_currents(a.element, targets, b.element, sources, width, varifold, want);
    double all = ref_currents(a.element, targets, a.element, targets, width, true, NULL);
    double product = device_product(&a, &b, width, varifold, with_gradient ? got : NULL);
    assert_that(fabs(product - expected) < 2e-6 * (all + fabs(expected)), "%d x %d, width %g: %.9g, not %.9g", targets,
                sources, width, product, expected);
    double largest = 0;
    for (int i = 0; i < 8 * targets; i++)
        largest = fmax(largest, fabs(want[i]));
    for (int i = 0; with_gradient && i < 8 * targets; i++)
        if (!(fabs((double)got[i] + 2 * want[i]) <= 8e-6 * largest))
            assert_that(false, "gradient %d of %d x %d: %g, not %g", i, targets, sources, (double)got[i], -2 * want[i]);
}

static void products_and_gradients(void **state)
{
    (void)state;
    bool tiny = getenv("CLVOX_TEST_TINY") != NULL;
    for (int varifold = 0; varifold < (harness_first() && !tiny ? 2 : 1); varifold++) { /* two builds each */
        compare(1, 1, 2, varifold, true, 0);
        compare(tiny ? 9 : 257, tiny ? 17 : 300, 1.7, varifold, true, 0);
        compare(tiny ? 20 : 1111, tiny ? 20 : 1197, 0.9, varifold, !varifold, 60); /* some blocks lie far apart */
    }
}

/* The product of a set and itself, by one buffer or two, odd and even numbers of blocks, and with boxes that
 * pass over nothing: digits that count do not depend on it. */
static void halves_and_boxes(void **state)
{
    (void)state;
    static set a, open;
    const int counts[] = {9, 300, 600, 1024, 1190};
    const int problems = harness_problems(1, sizeof counts / sizeof *counts);
    for (int i = 0; i < problems; i++) {
        const bool varifold = harness_first() && i % 2;
        const int n = counts[i], blocks = CLV_CURRENTS_BLOCKS(n);
        float partial[CLV_CURRENTS_BLOCKS(MOST)];
        double found = 0;
        make(&a, n, 5, 40);
        open = a;
        for (int k = 0; k < 8 * blocks; k++)
            open.box[k] = k % 8 < 4 ? -1000 : 1000;
        const double want = ref_currents(a.element, n, a.element, n, .9, varifold, NULL);
        const double twice = device_product(&a, &a, .9, varifold, NULL);
        const double all = device_product(&open, &open, .9, varifold, NULL);
        clv_currents_args args = {.target = upload(&a), .width = .9f, .varifold = varifold,
                                  .partial = harness_output(ctx, 4 * (size_t)blocks)};
        args.source = args.target;
        assert_ok(clv_currents(ctx, &args));
        harness_download(ctx, args.partial, partial, 4 * (size_t)blocks);
        for (int b = 0; b < blocks; b++)
            found += (double)partial[b];
        assert_that(fabs(found - want) < 1e-6 * want, "%d: halves give %.9g, not %.9g", n, found, want);
        assert_that(fabs(found - twice) < 2e-7 * want, "%d: halves give %.9g, all %.9g", n, found, twice);
        assert_that(fabs(all - twice) < 2e-7 * want, "%d: all pairs give %.9g, not %.9g", n, all,
                    twice);
        clv_buffer_destroy(&args.partial);
        release(&args.target);
    }
}

/* Centres and normals (kept unit, areas apart) moved along a direction. */
static void gradients_are_those_of_the_sum(void **state)
{
    (void)state;
    static set a, b;
    static double gradient[8 * MOST];
    for (int varifold = 0; varifold < 2; varifold++) {
        make(&a, 40, 3, 0);
        make(&b, 30, 4, 0);
        ref_currents(a.element, 40, b.element, 30, 2.5, varifold, gradient);
        for (int i = 0; i < 8 * 40; i += 37) {
            float step = 1.0f / 128, old = a.element[i];
            double scale = i % 8 >= 4 && i % 8 < 7 ? (double)a.element[i - i % 8 + 7] : 1; /* normals: over a */
            if (i % 8 == 3)
                continue;
            a.element[i] = old + step;
            double above = ref_currents(a.element, 40, b.element, 30, 2.5, varifold, NULL), up = (double)a.element[i];
            a.element[i] = old - step;
            double below = ref_currents(a.element, 40, b.element, 30, 2.5, varifold, NULL);
            double slope = (above - below) / (up - (double)a.element[i]);
            a.element[i] = old;
            assert_that(fabs(slope - scale * gradient[i]) < 1e-3 * (1 + fabs(slope)), "%d: %g, not %g", i,
                        scale * gradient[i], slope);
        }
    }
}

static void no_elements_no_width(void **state)
{
    (void)state;
    assert_ok(clv_currents(ctx, &(clv_currents_args){.width = 1}));
    assert_int_equal(clv_currents(ctx, &(clv_currents_args){.width = 0}), CLVOX_ERROR_ARGUMENT);
    assert_int_equal(clv_currents(ctx, &(clv_currents_args){.width = NAN}), CLVOX_ERROR_ARGUMENT);
}

int main(void)
{
    ctx = harness_open();
    harness_cases(&clv_entry_currents, products_and_gradients, NULL, 0, "products and gradients");
    harness_cases_first(&clv_entry_currents, halves_and_boxes, NULL, 0, "halves and boxes");
    test_case(gradients_are_those_of_the_sum, "gradients are those of the sum");
    test_case(no_elements_no_width, "no elements, no width");
    return test_run("currents", harness_close);
}
