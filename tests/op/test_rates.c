/* SPDX-License-Identifier: Apache-2.0 */
#include "op/rates.h"

#include "force_problem.h"
#include "harness.h"
#include "ref/force.h"
#include "ref/rates.h"

static void compare_rates(clvox_context *ctx, const force_problem *p)
{
    force_data d;
    force_make(p, &d);
    force_upload(ctx, p, &d);
    clv_buffer *rate = harness_output(ctx, d.voxels * sizeof(float));
    double *want = calloc(d.voxels, sizeof *want), largest = 1e-30;
    float *got = calloc(d.voxels, sizeof *got);
    ref_rates(d.u_double, p->size, d.ref.spacing, p->lambda, want);
    for (size_t i = 0; i < d.voxels; i++)
        largest = fmax(largest, fabs(want[i]));
    CHECK(clv_rates(ctx, d.args.u, p->size, p->spacing, p->lambda, rate) == CLVOX_OK);
    harness_download(ctx, rate, got, d.voxels * sizeof *got);
    double error = harness_error(got, want, d.voxels, 1e-5 * largest + 1e-6 * p->lambda, 0);
    CHECK_THAT(error <= 1, "%s: error %g of the tolerance", p->what, error);
    clv_buffer_destroy(&rate);
    free(want);
    free(got);
    force_discard(&d);
}

static void compare_force(clvox_context *ctx, const force_problem *p)
{
    force_data d;
    force_make(p, &d);
    force_upload(ctx, p, &d);
    d.args.rate = harness_output(ctx, d.voxels * sizeof(float));
    double *want = calloc(3 * d.voxels, sizeof *want), largest = 1e-30;
    float *got = calloc(3 * d.voxels, sizeof *got), *again = calloc(3 * d.voxels, sizeof *again);
    ref_force_gradient(&d.ref, d.u_double, want);
    for (size_t i = 0; i < 3 * d.voxels; i++)
        largest = fmax(largest, fabs(want[i]));
    CHECK_THAT(clv_force(ctx, CLV_FORCE_RATES, &d.args) == CLVOX_OK, "%s: %s", p->what, clvox_message());
    harness_download_field(ctx, d.args.force, got, d.voxels);
    double error = harness_error(got, want, 3 * d.voxels, 2e-5 * largest, 0);
    CHECK_THAT(error <= 1, "%s: error %g of the tolerance", p->what, error);
    CHECK(clv_force(ctx, CLV_FORCE_RATES, &d.args) == CLVOX_OK);
    harness_download_field(ctx, d.args.force, again, d.voxels);
    CHECK(!memcmp(got, again, 3 * d.voxels * sizeof *got));
    clv_buffer_destroy(&d.args.rate);
    free(want);
    free(got);
    free(again);
    force_discard(&d);
}

int main(void)
{
    clvox_context *ctx = harness_open();
    int state = 0;
    while (harness_next(ctx, &clv_entry_rates, &state, "rates against reference"))
        for (int k = 0; k < FORCE_ONE_BUILD; k++)
            if (force_tiny(&force_problems[k]))
                compare_rates(ctx, &force_problems[k]);
    state = 0;
    while (harness_next(ctx, &clv_entry_rates_force, &state, "force by rates against reference"))
        for (int k = 0; k < FORCE_PROBLEMS; k++)
            if (force_tiny(&force_problems[k]))
                compare_force(ctx, &force_problems[k]);
    CHECK_CASE("a missing scratch is one sentence");
    force_data d;
    force_make(&force_problems[0], &d);
    force_upload(ctx, &force_problems[0], &d);
    CHECK(clv_force(ctx, CLV_FORCE_RATES, &d.args) == CLVOX_ERROR_ARGUMENT);
    force_discard(&d);
    clvox_context_destroy(&ctx);
    return check_end();
}
