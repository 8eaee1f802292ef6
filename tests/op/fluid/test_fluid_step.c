/* SPDX-License-Identifier: Apache-2.0 */
#include "op/fluid/fluid_step.h"

#include "harness.h"
#include "ref/fluid/fluid_step.h"

typedef struct problem {
    const char *what;
    int size[3];
    float spacing[3], rough; /* rough: u's largest component in voxels */
} problem;

static const problem problems[] = {
    {"one voxel", {1, 1, 1}, {1, 2, 3}, 0.2f},
    {"one thick in x", {1, 7, 5}, {1.5f, 1, 0.5f}, 0.3f},
    {"one thick in y, z", {19, 1, 1}, {1, 1, 2}, 0.3f},
    {"two thick", {2, 2, 2}, {1, 1.5f, 2}, 0.3f},
    {"anisotropic", {11, 9, 7}, {0.7f, 1.3f, 2.9f}, 0.3f},
    {"folded", {7, 11, 5}, {1, 1, 2}, 1.5f},
    {"long", {67, 5, 19}, {1, 1, 1.2f}, 0.3f},
    {"wide", {37, 41, 3}, {2, 1, 1}, 0.3f},
};
enum { PROBLEMS = sizeof problems / sizeof *problems };

typedef struct data {
    size_t voxels;
    double spacing[3];
    float *u, *v, *p;
    double *u_double, *v_double, *p_double;
    clv_buffer *u_device, *v_device, *p_device;
} data;

static void make(clvox_context *ctx, const problem *p, data *d)
{
    d->voxels = (size_t)p->size[0] * (size_t)p->size[1] * (size_t)p->size[2];
    size_t count = 3 * d->voxels;
    d->u = calloc(count, sizeof(float));
    d->v = calloc(count, sizeof(float));
    d->p = calloc(count, sizeof(float));
    d->u_double = calloc(count, sizeof(double));
    d->v_double = calloc(count, sizeof(double));
    d->p_double = calloc(count, sizeof(double));
    harness_random(d->u, count, 1, -p->rough, p->rough);
    harness_random(d->v, count, 2, -3, 3);
    for (size_t i = 0; i < count; i++) {
        d->u[i] *= p->spacing[i / d->voxels];
        d->u_double[i] = d->u[i];
        d->v_double[i] = d->v[i];
    }
    for (int k = 0; k < 3; k++)
        d->spacing[k] = p->spacing[k];
    d->u_device = harness_upload_field(ctx, d->u, d->voxels);
    d->v_device = harness_upload_field(ctx, d->v, d->voxels);
    d->p_device = harness_output(ctx, count * sizeof(float));
}

static void discard(data *d)
{
    clv_buffer_destroy(&d->u_device);
    clv_buffer_destroy(&d->v_device);
    clv_buffer_destroy(&d->p_device);
    free(d->u);
    free(d->v);
    free(d->p);
    free(d->u_double);
    free(d->v_double);
    free(d->p_double);
}

static bool left_out(const problem *p)
{
    return getenv("CLVOX_TEST_TINY") && p->size[0] * p->size[1] * p->size[2] >= 700;
}

static void test_rate(clvox_context *ctx, const clv_entry *entry)
{
    int state = 0;
    clv_buffer *partial = harness_output(ctx, CLV_FLUID_PARTIALS * sizeof(float));
    while (harness_next(ctx, entry, &state, "rate and bounds against reference"))
        for (int k = 0; k < PROBLEMS; k++) {
            const problem *p = &problems[k];
            if (left_out(p))
                continue;
            data d;
            double want[2];
            float got[CLV_FLUID_SLOTS];
            make(ctx, p, &d);
            ref_fluid_rate(d.u_double, d.v_double, p->size, d.spacing, d.p_double, want);
            clv_buffer *slots = harness_output(ctx, sizeof got);
            int status = clv_fluid_rate(ctx, d.u_device, d.v_device, p->size, p->spacing, d.p_device,
                                        partial, slots);
            CHECK_THAT(status == CLVOX_OK, "%s: %s", p->what, clvox_message());
            harness_download_field(ctx, d.p_device, d.p, d.voxels);
            double error = harness_error(d.p, d.p_double, 3 * d.voxels, 1e-5, 0);
            CHECK_THAT(error <= 1, "%s: error %g", p->what, error);
            harness_download(ctx, slots, got, sizeof got);
            error = harness_error(got, want, 2, 1e-30, 1e-4);
            CHECK_THAT(error <= 1, "%s: bounds %g %g, not %g %g", p->what, (double)got[0],
                       (double)got[1], want[0], want[1]);
            clv_buffer_destroy(&slots);
            discard(&d);
        }
    clv_buffer_destroy(&partial);
}

static void test_update(clvox_context *ctx)
{
    /* state: LONGEST, BEND; the wanted step for largest = 0.25 */
    static const float cases[][3] = {{2, 1, 0.125f},  {2, 8, 0.0625f},  {0, 0, 0},
                                     {NAN, 1, 0},     {1, NAN, 0},      {INFINITY, 1, 0},
                                     {2, 0, 0.125f},  {1, 1e30f, 5e-31f}};
    int state = 0;
    while (harness_next(ctx, &clv_entry_fluid_update, &state, "update against reference"))
        for (int k = 0; k < PROBLEMS; k++)
            for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
                const problem *p = &problems[k];
                if (left_out(p) || (k != 4 && c > 1))
                    continue;
                data d;
                float slots[CLV_FLUID_SLOTS] = {cases[c][0], cases[c][1]};
                make(ctx, p, &d);
                clv_buffer *device = harness_upload(ctx, slots, sizeof slots);
                int status = clv_fluid_update(ctx, d.u_device, d.v_device, p->size, 0.25f, device);
                CHECK_THAT(status == CLVOX_OK, "%s: %s", p->what, clvox_message());
                harness_download(ctx, device, slots, sizeof slots);
                float dt = cases[c][2], moved = dt > 0 ? dt * cases[c][0] : 0;
                CHECK_THAT(slots[CLV_FLUID_STEP] == dt && slots[CLV_FLUID_MOVED] == moved,
                           "%s: step %g, moved %g", p->what, (double)slots[CLV_FLUID_STEP],
                           (double)slots[CLV_FLUID_MOVED]);
                harness_download_field(ctx, d.u_device, d.u, d.voxels);
                for (size_t i = 0; i < 3 * d.voxels; i++)
                    d.u_double[i] += (double)dt * d.v_double[i];
                double error = harness_error(d.u, d.u_double, 3 * d.voxels, 1e-6, 1e-6);
                CHECK_THAT(error <= 1, "%s: error %g", p->what, error);
                clv_buffer_destroy(&device);
                discard(&d);
            }
}

/* Pushed by rough and by ever the same velocities, u never folds. */
static void test_never_folds(clvox_context *ctx)
{
    static const problem rough = {"rough", {12, 9, 10}, {1, 1.5f, 0.7f}, 0};
    for (int same = 0; same < 2; same++) {
        CHECK_CASE("no fold in many steps of %s velocities", same ? "the same" : "new");
        data d;
        make(ctx, &rough, &d);
        clv_buffer *partial = harness_output(ctx, CLV_FLUID_PARTIALS * sizeof(float));
        clv_buffer *state = harness_output(ctx, CLV_FLUID_SLOTS * sizeof(float));
        double least = 1, moved = 0;
        for (int step = 0; step < (getenv("CLVOX_TEST_TINY") ? 10 : 150); step++) {
            if (!same) {
                harness_random(d.v, 3 * d.voxels, 10 + (unsigned)step, -5, 5);
                clv_buffer_destroy(&d.v_device);
                d.v_device = harness_upload_field(ctx, d.v, d.voxels);
            }
            CHECK(clv_fluid_rate(ctx, d.u_device, d.v_device, rough.size, rough.spacing, d.p_device,
                                 partial, state) == CLVOX_OK);
            CHECK(clv_fluid_update(ctx, d.u_device, d.p_device, rough.size, 0.5f, state) == CLVOX_OK);
            float slots[CLV_FLUID_SLOTS];
            harness_download(ctx, state, slots, sizeof slots);
            moved += (double)slots[CLV_FLUID_MOVED];
            harness_download_field(ctx, d.u_device, d.u, d.voxels);
            for (size_t i = 0; i < 3 * d.voxels; i++)
                d.u_double[i] = d.u[i];
            double now = ref_fluid_least(d.u_double, rough.size, d.spacing);
            CHECK_THAT(now >= least / 8.001, "step %d: det from %g to %g", step, least, now);
            least = now;
        }
        CHECK_THAT(least > 0, "smallest det %g", least);
        CHECK_THAT(moved > 0.2, "moved %g voxels in all", moved);
        clv_buffer_destroy(&partial);
        clv_buffer_destroy(&state);
        discard(&d);
    }
}

static void test_bad_values(clvox_context *ctx)
{
    static const problem small = {"small", {5, 4, 3}, {1, 1, 1}, 0.3f};
    CHECK_CASE("a velocity that is not a number stops the step and leaves u alone");
    data d;
    make(ctx, &small, &d);
    clv_buffer *partial = harness_output(ctx, CLV_FLUID_PARTIALS * sizeof(float));
    clv_buffer *state = harness_output(ctx, CLV_FLUID_SLOTS * sizeof(float));
    d.v[17] = NAN;
    clv_buffer_destroy(&d.v_device);
    d.v_device = harness_upload_field(ctx, d.v, d.voxels);
    CHECK(clv_fluid_rate(ctx, d.u_device, d.v_device, small.size, small.spacing, d.p_device, partial,
                         state) == CLVOX_OK);
    CHECK(clv_fluid_update(ctx, d.u_device, d.p_device, small.size, 0.5f, state) == CLVOX_OK);
    float slots[CLV_FLUID_SLOTS];
    harness_download(ctx, state, slots, sizeof slots);
    CHECK(isnan(slots[CLV_FLUID_LONGEST]) && slots[CLV_FLUID_STEP] == 0 && slots[CLV_FLUID_MOVED] == 0);
    harness_download_field(ctx, d.u_device, d.p, d.voxels);
    CHECK(!memcmp(d.p, d.u, 3 * d.voxels * sizeof(float)));

    CHECK_CASE("arguments are checked");
    CHECK(clv_fluid_rate(ctx, d.u_device, d.v_device, small.size, small.spacing, d.v_device, partial,
                         state) == CLVOX_ERROR_ARGUMENT);
    CHECK(clv_fluid_rate(ctx, d.u_device, d.v_device, small.size, small.spacing, d.p_device, state,
                         state) == CLVOX_ERROR_ARGUMENT);
    CHECK(clv_fluid_update(ctx, d.u_device, d.u_device, small.size, 1, state) == CLVOX_ERROR_ARGUMENT);
    CHECK(clv_fluid_update(ctx, d.u_device, d.p_device, small.size, 0, state) == CLVOX_ERROR_ARGUMENT);
    clv_buffer_destroy(&partial);
    clv_buffer_destroy(&state);
    discard(&d);
}

int main(void)
{
    clvox_context *ctx = harness_open();
    test_rate(ctx, &clv_entry_fluid_rate);
    test_rate(ctx, &clv_entry_fluid_bend);
    test_rate(ctx, &clv_entry_fluid_largest);
    test_update(ctx);
    test_never_folds(ctx);
    test_bad_values(ctx);
    clvox_context_destroy(&ctx);
    return check_end();
}
