/* SPDX-License-Identifier: Apache-2.0 */
#include "op/fluid/force.h"

#include "op/fluid/force_problem.h"
#include "harness.h"
#include "ref/fluid/force.h"

/* The reference's gradient against central differences of its energy. */
static void test_reference(void)
{
    for (int k = 0; k < FORCE_PROBLEMS; k++) {
        const force_problem *p = &force_problems[k];
        if (force_voxels(p->size) > 1000)
            continue;
        CHECK_CASE("reference gradient against differences of the energy: %s", p->what);
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
        CHECK_THAT(sqrt(wrong / all) <= 1e-6 || wrong < 1e-14, "relative error %g of %g",
                   sqrt(wrong / all), sqrt(all));
        free(force);
        force_discard(&d);
    }
}

/* Of the largest component of the whole force: the image term's positions are
 * good to 1e-6 voxel, and J near 1 to 2e-7. */
static const double tolerance = 2e-5;

static void compare(clvox_context *ctx, const force_problem *p)
{
    force_data d;
    force_make(p, &d);
    force_upload(ctx, p, &d);
    d.args.nine = harness_output(ctx, 9 * d.voxels * sizeof(float));
    double *want = calloc(3 * d.voxels, sizeof *want), largest = 1e-30;
    float *got = calloc(3 * d.voxels, sizeof *got), *again = calloc(3 * d.voxels, sizeof *again);
    ref_force_gradient(&d.ref, d.u_double, want);
    for (size_t i = 0; i < 3 * d.voxels; i++)
        largest = fmax(largest, fabs(want[i]));
    int status = clv_force(ctx, &d.args);
    CHECK_THAT(status == CLVOX_OK, "%s: %s", p->what, clvox_message());
    harness_download_field(ctx, d.args.force, got, d.voxels);
    double error = harness_error(got, want, 3 * d.voxels, tolerance * largest, 0);
    CHECK_THAT(error <= 1, "%s: error %g of the tolerance", p->what, error);
    if (getenv("CLVOX_TEST_SHOW"))
        printf("# %s: error %g of the largest\n", p->what, error * tolerance);
    CHECK(getenv("CLVOX_TEST_TINY") || clv_force(ctx, &d.args) == CLVOX_OK);
    harness_download_field(ctx, d.args.force, again, d.voxels);
    CHECK_THAT(!memcmp(got, again, 3 * d.voxels * sizeof *got), "%s: differs when run again", p->what);
    free(want);
    free(got);
    free(again);
    force_discard(&d);
}

static void test_force(clvox_context *ctx, const clv_entry *entry)
{
    int state = 0;
    char last[32] = "";
    while (harness_next(ctx, entry, &state, "force against reference")) {
        const clv_kernel *kernel;
        int status = clv_kernel_get(ctx, entry, entry->builds ? entry->builds[0] : NULL, (int[3]){8, 8, 8}, 0,
                                    &kernel);
        if (status == CLVOX_ERROR_DEVICE) {
            CHECK_SKIP("%s", clvox_message());
            continue;
        }
        CHECK_THAT(status == CLVOX_OK, "%s", clvox_message());
        if (status < 0)
            continue;
        bool first = strcmp(last, kernel->variant->name) != 0;
        snprintf(last, sizeof last, "%s", kernel->variant->name);
        int end = first && !getenv("CLVOX_TEST_TINY") ? FORCE_PROBLEMS : FORCE_ONE_BUILD;
        for (int k = 0; k < end; k++) {
            force_problem p = force_problems[k];
            if (entry == &clv_entry_force_image)
                p.lambda = 0;
            if (force_tiny(&p) && (p.image || p.lambda > 0))
                compare(ctx, &p);
        }
    }
}

/* T = R at u = 0 is a fixed point, and so is the penalty alone. */
static void test_identity(clvox_context *ctx)
{
    CHECK_CASE("identity is a fixed point");
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
    CHECK(clv_force(ctx, &d.args) == CLVOX_OK);
    harness_download_field(ctx, d.args.force, got, d.voxels);
    float largest = 0;
    for (size_t i = 0; i < 3 * d.voxels; i++)
        largest = fmaxf(largest, fabsf(got[i]));
    CHECK_THAT(largest == 0, "largest force %g", (double)largest);
    free(got);
    force_discard(&d);
}

static void test_refusals(clvox_context *ctx)
{
    CHECK_CASE("arguments are checked");
    force_data d;
    force_make(&force_problems[4], &d);
    force_upload(ctx, &force_problems[4], &d);
    clv_force_args wrong = d.args;
    wrong.force = (clv_buffer *)wrong.u;
    CHECK(clv_force(ctx, &wrong) == CLVOX_ERROR_ARGUMENT);
    wrong = d.args;
    wrong.spacing[1] = 0;
    CHECK(clv_force(ctx, &wrong) == CLVOX_ERROR_ARGUMENT);
    wrong = d.args;
    wrong.moving = NULL;
    CHECK(clv_force(ctx, &wrong) == CLVOX_ERROR_ARGUMENT);
    CHECK(clv_force_variant(ctx, "force", "twopass", -1) == CLVOX_OK);
    CHECK(clv_force(ctx, &d.args) == CLVOX_ERROR_ARGUMENT);
    CHECK(clv_force_variant(ctx, "force", NULL, -1) == CLVOX_OK);
    force_discard(&d);
}

int main(void)
{
    test_reference();
    clvox_context *ctx = harness_open();
    test_force(ctx, &clv_entry_force);
    test_force(ctx, &clv_entry_force_image);
    check_must(clv_force_variant(ctx, "force", "twopass", -1)); /* which runs the products first */
    test_force(ctx, &clv_entry_force_products);
    check_must(clv_force_variant(ctx, "force", NULL, -1));
    test_identity(ctx);
    test_refusals(ctx);
    clvox_context_destroy(&ctx);
    return check_end();
}
