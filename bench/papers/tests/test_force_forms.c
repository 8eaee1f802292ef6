/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/papers/op/force_forms.h"

#include "harness.h"
#include "op/fluid/force_problem.h"

static int call(clvox_context *ctx, const force_data *d)
{
    clv_buffer *nine = harness_output(ctx, 9 * d->voxels * sizeof(float));
    int status = clv_force_form(ctx, &d->args, nine);
    clv_buffer_destroy(&nine);
    return status;
}

static void each_form_is_the_force(void **state)
{
    const clv_kernel *kernel;
    (void)state;
    int status = clv_kernel_get(harness_context(), &clv_entry_force_forms, clv_entry_force_forms.builds[0],
                                (int[3]){8, 8, 8}, 0, &kernel);
    if (status == CLVOX_ERROR_DEVICE)
        test_skip("%s", clvox_message());
    assert_ok(status);
    int end = harness_first() && !getenv("CLVOX_TEST_TINY") ? FORCE_PROBLEMS : FORCE_ONE_BUILD;
    for (int k = 0; k < end; k++)
        if (force_tiny(&force_problems[k]) && force_problems[k].lambda > 0)
            force_compare(&force_problems[k], call);
}

/* Products are seen through the pass that follows them. */
static int two_pass_set_up(void **state)
{
    (void)state;
    return clv_force_variant(harness_context(), "force_forms", "twopass", -1);
}

static int two_pass_tear_down(void **state)
{
    (void)state;
    return clv_force_variant(harness_context(), "force_forms", NULL, -1);
}

static void two_passes_need_room(void **state)
{
    force_data d;
    (void)state;
    force_make(&force_problems[4], &d);
    force_upload(harness_context(), &force_problems[4], &d);
    assert_int_equal(clv_force_form(harness_context(), &d.args, NULL), CLVOX_ERROR_ARGUMENT);
    force_discard(&d);
}

int main(void)
{
    harness_open();
    harness_cases(&clv_entry_force_forms, each_form_is_the_force, NULL, 0, "force against reference");
    test_set_up(two_pass_set_up);
    harness_cases(&clv_entry_force_products, each_form_is_the_force, NULL, 0, "force against reference");
    test_case(two_passes_need_room, "two passes need room");
    test_tear_down(two_pass_tear_down);
    return test_run("forms of the force", harness_close);
}
