/* SPDX-License-Identifier: Apache-2.0 */
#include "op/fluid/energy.h"

#include "op/fluid/force_problem.h"
#include "harness.h"

static void test_energy(clvox_context *ctx, const clv_entry *entry)
{
    int state = 0;
    clv_buffer *partial = harness_output(ctx, CLV_ENERGY_PARTIALS * sizeof(float));
    while (harness_next(ctx, entry, &state, "energy against reference"))
        for (int k = 0; k < FORCE_PROBLEMS; k++) {
            const force_problem *p = &force_problems[k];
            if (!force_tiny(p))
                continue;
            force_data d;
            double want[4];
            float got[6], again[6];
            force_make(p, &d);
            force_upload(ctx, p, &d);
            ref_energy(&d.ref, d.u_double, want);
            clv_buffer *out = harness_output(ctx, sizeof got);
            int status = clv_energy(ctx, &d.args, partial, out, 1);
            CHECK_THAT(status == CLVOX_OK, "%s: %s", p->what, clvox_message());
            harness_download(ctx, out, got, sizeof got);
            CHECK(isnan(got[0]) && isnan(got[5]));
            double error = harness_error(got + 1, want, 4, 1e-6 * (double)d.voxels, 5e-6);
            CHECK_THAT(error <= 1, "%s: error %g: got %g %g %g %g, not %g %g %g %g", p->what, error,
                       (double)got[1], (double)got[2], (double)got[3], (double)got[4], want[0],
                       want[1], want[2], want[3]);
            CHECK((double)got[4] == want[3]);
            CHECK(clv_energy(ctx, &d.args, partial, out, 1) == CLVOX_OK);
            harness_download(ctx, out, again, sizeof again);
            CHECK(!memcmp(got + 1, again + 1, 16));
            clv_buffer_destroy(&out);
            force_discard(&d);
        }
    clv_buffer_destroy(&partial);
}

static void test_refusals(clvox_context *ctx)
{
    CHECK_CASE("arguments are checked");
    force_data d;
    force_make(&force_problems[4], &d);
    force_upload(ctx, &force_problems[4], &d);
    clv_buffer *partial = harness_output(ctx, CLV_ENERGY_PARTIALS * sizeof(float));
    clv_buffer *out = harness_output(ctx, 4 * sizeof(float));
    CHECK(clv_energy(ctx, &d.args, NULL, out, 0) == CLVOX_ERROR_ARGUMENT);
    CHECK(clv_energy(ctx, &d.args, out, out, 0) == CLVOX_ERROR_ARGUMENT);
    CHECK(clv_energy(ctx, &d.args, partial, NULL, 0) == CLVOX_ERROR_ARGUMENT);
    int beyond = (int)(out->bytes / sizeof(float)) - 3;
    CHECK(clv_energy(ctx, &d.args, partial, out, beyond) == CLVOX_ERROR_ARGUMENT);
    CHECK(clv_energy(ctx, &d.args, partial, out, -1) == CLVOX_ERROR_ARGUMENT);
    clv_buffer_destroy(&partial);
    clv_buffer_destroy(&out);
    force_discard(&d);
}

int main(void)
{
    clvox_context *ctx = harness_open();
    test_energy(ctx, &clv_entry_energy);
    test_energy(ctx, &clv_entry_energy_total);
    test_refusals(ctx);
    clvox_context_destroy(&ctx);
    return check_end();
}
