/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/papers/op/tensor_tv_listing.h"

#include "bench/papers/ref/tensor_tv_listing.h"
#include "bench/papers/tests/tensor_tv_problem.h"

enum { STEPS = 3 };

/* The factors of a problem's tensors on the device; b and p.a are room. */
static void take_steps(clvox_context *ctx, const tv_setup *s, float dt, int steps, double *energy)
{
    tv_problem p;
    tv_problem_make(ctx, s->size, s->spacing, CLV_TENSOR_PAPER, false, &p);
    p.args.dt = dt;
    p.ref.dt = (double)dt;
    const size_t bytes = 6 * p.n * sizeof(float);
    clv_buffer *d = harness_output(ctx, bytes), *out = harness_output(ctx, bytes),
               *weights = harness_output(ctx, 24);
    clv_buffer *partial = harness_output(ctx, bytes);
    for (size_t i = 0; i < p.n; i++) {
        double di[6], li[6];
        for (size_t c = 0; c < 6; c++)
            di[c] = p.want[c * p.n + i];
        ref_tensor_factor(di, li);
        for (size_t c = 0; c < 6; c++) {
            p.from[c * p.n + i] = (float)li[c];
            p.want[c * p.n + i] = (double)p.from[c * p.n + i];
        }
    }
    assert_ok(clv_buffer_write(ctx, p.a, 0, p.from, bytes));
    const clv_tensor_listing of = {&p.args, p.a, p.b, d, out, partial, weights};
    assert_that(clv_tensor_listing_steps(ctx, &of, steps) == CLVOX_OK, "%s", clvox_message());
    harness_download(ctx, p.a, p.got, bytes);
    if (energy) {
        for (int k = 0; k < 2; k++) {
            for (size_t i = 0; i < p.n; i++) {
                double di[6], li[6];
                for (size_t c = 0; c < 6; c++)
                    li[c] = (double)(k ? p.got : p.from)[c * p.n + i];
                ref_tensor_product(li, di);
                for (size_t c = 0; c < 6; c++)
                    p.want[c * p.n + i] = di[c];
            }
            energy[k] = ref_tensor_energy(&p.ref, p.want, NULL);
        }
    } else {
        for (int k = 0; k < steps; k++)
            ref_tensor_listing(&p.ref, p.want);
        double error = harness_error(p.got, p.want, 6 * p.n, 2e-5, 0);
        assert_that(error <= 1, "%dx%dx%d: %g", s->size[0], s->size[1], s->size[2], error);
    }
    clv_buffer_destroy(&d);
    clv_buffer_destroy(&out);
    clv_buffer_destroy(&weights);
    clv_buffer_destroy(&partial);
    tv_problem_release(&p);
}

static void steps_of_the_listing(void **state)
{
    const int *count = *state;
    for (int s = 0; s < *count; s++)
        take_steps(harness_context(), &tv_setups[s], 2e-4f, STEPS, NULL);
}

/* Listing 1's curvature is no gradient of the energy, but goes down it all the same. */
static void the_energy_falls(void **state)
{
    double energy[2];
    (void)state;
    take_steps(harness_context(), &(tv_setup){{17, 14, 9}, {2, 2, 2.5f}}, 1e-3f, 100, energy);
    assert_that(energy[1] < .6 * energy[0], "%g after %g", energy[1], energy[0]);
}

int main(void)
{
    static const clv_entry *const entries[] = {&clv_entry_listing_llt, &clv_entry_listing_norm,
                                               &clv_entry_listing_reduction, &clv_entry_listing_p,
                                               &clv_entry_listing_solver};
    harness_open();
    bool tiny = getenv("CLVOX_TEST_TINY");
    int count = TV_SETUPS - (tiny ? TV_LARGE : 0);
    for (int e = 0; e < 5; e++)
        harness_cases(entries[e], steps_of_the_listing, TEST_AT(count), "three steps");
    if (!tiny)
        test_case(the_energy_falls, "the energy falls");
    return test_run("tensor tv listing", harness_close);
}
