/* SPDX-License-Identifier: Apache-2.0 */
#include "op/fluid/force.h"

#include "op/fluid/force_problem.h"
#include "harness.h"
#include "ref/fluid/force.h"

/* The reference's gradient against central differences of its energy. */
static void reference_gradient_against_differences(void **state)
{
    const int *given = *state;
    int k = given[0];
    const force_problem *p = &force_problems[k];
    force_data d;
    force_make(p, &d);
    double *force = calloc(3 * d.voxels, sizeof *force), result[4];
    ref_force_gradient(&d.ref, d.u_double, force);
    double wrong = 0, all = 1e-300;
    for (size_t i = 0; i < 3 * d.voxels; i++) {
        double old = d.u_double[i], h = 1e-6;
        d.u_double[i] = old + h;
        double up = ref_energy(&d.ref, d.u_double, result);
        d.u_double[i] = old - h;
        double down = ref_energy(&d.ref, d.u_double, result);
        d.u_double[i] = old;
        double difference = -(up - down) / (2 * h);
        wrong += (force[i] - difference) * (force[i] - difference);
        all += force[i] * force[i];
    }
    assert_that(sqrt(wrong / all) <= 1e-6 || wrong < 1e-14, "relative error %g of %g", sqrt(wrong / all),
                sqrt(all));
    free(force);
    force_discard(&d);
}

static void test_reference(void)
{
    for (int k = 0; k < FORCE_PROBLEMS; k++)
        if (force_voxels(force_problems[k].size) <= 1000)
            test_case_at(reference_gradient_against_differences, TEST_AT(k),
                         "reference gradient against differences of the energy: %s", force_problems[k].what);
}

static int call(clvox_context *ctx, const force_data *d)
{
    return clv_force(ctx, &d->args);
}

typedef struct force_given {
    const clv_entry *entry;
} force_given;

static void entry_force_against_reference(void **state)
{
    const force_given *given = *state;
    const clv_entry *entry = given->entry;
    clvox_context *ctx = harness_context();
    const clv_kernel *kernel;
    int status =
        clv_kernel_get(ctx, entry, entry->builds ? entry->builds[0] : NULL, (int[3]){8, 8, 8}, 0, &kernel);
    if (status == CLVOX_ERROR_DEVICE)
        test_skip("%s", clvox_message());
    assert_ok(status);
    int end = harness_first() && !getenv("CLVOX_TEST_TINY") ? FORCE_PROBLEMS : FORCE_ONE_BUILD;
    for (int k = 0; k < end; k++) {
        force_problem p = force_problems[k];
        if (entry == &clv_entry_force_image)
            p.lambda = 0;
        if (force_tiny(&p) && (p.image || p.lambda > 0))
            force_compare(&p, call);
    }
}

static void test_force(const clv_entry *entry)
{
    harness_cases(entry, entry_force_against_reference, TEST_OF(((force_given){entry})),
                  "force against reference");
}

/* T = R at u = 0 is a fixed point, and so is the penalty alone. */
static void test_identity(void **state)
{
    (void)state;
    clvox_context *ctx = harness_context();
    force_problem p = force_problems[9];
    p.image = true;
    p.turned = false;
    p.rough = 0;
    memcpy(p.moving_size, p.size, sizeof p.size);
    force_data d;
    force_make(&p, &d);
    memcpy(d.moving, d.fixed, d.voxels * sizeof(float));
    force_upload(ctx, &p, &d);
    float *got = calloc(3 * d.voxels, sizeof *got);
    assert_int_equal(clv_force(ctx, &d.args), CLVOX_OK);
    harness_download_field(ctx, d.args.force, got, d.voxels);
    float largest = 0;
    for (size_t i = 0; i < 3 * d.voxels; i++)
        largest = fmaxf(largest, fabsf(got[i]));
    assert_that(largest == 0, "largest force %g", (double)largest);
    free(got);
    force_discard(&d);
}

static void test_refusals(void **state)
{
    (void)state;
    clvox_context *ctx = harness_context();
    force_data d;
    force_make(&force_problems[4], &d);
    force_upload(ctx, &force_problems[4], &d);
    clv_force_args wrong = d.args;
    wrong.force = (clv_buffer *)wrong.u;
    assert_int_equal(clv_force(ctx, &wrong), CLVOX_ERROR_ARGUMENT);
    wrong = d.args;
    wrong.fixed.spacing[1] = 0;
    assert_int_equal(clv_force(ctx, &wrong), CLVOX_ERROR_ARGUMENT);
    wrong = d.args;
    wrong.moving.buffer = NULL;
    assert_int_equal(clv_force(ctx, &wrong), CLVOX_ERROR_ARGUMENT);
    force_discard(&d);
}

int main(void)
{
    test_reference();
    harness_open();
    test_force(&clv_entry_force);
    test_force(&clv_entry_force_image);
    test_case(test_identity, "identity is a fixed point");
    test_case(test_refusals, "arguments are checked");
    return test_run("force", harness_close);
}
