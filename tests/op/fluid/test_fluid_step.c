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

static struct {
    clv_buffer *partial, *slot_buffer;
    data d;
} shared;

static int test_rate_set_up(void **state)
{
    (void)state;
    clvox_context *ctx = harness_context();
    shared.partial = harness_output(ctx, CLV_FLUID_PARTIALS * sizeof(float));
    return 0;
}

static void entry_rate_and_bounds_against_reference(void **state)
{
    (void)state;
    clvox_context *ctx = harness_context();
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
        int status = clv_fluid_rate(ctx, CLV_VECTORS_MM(d.u_device, p->size, p->spacing), d.v_device,
                                    d.p_device, shared.partial, slots);
        assert_that(status == CLVOX_OK, "%s: %s", p->what, clvox_message());
        harness_download_field(ctx, d.p_device, d.p, d.voxels);
        double error = harness_error(d.p, d.p_double, 3 * d.voxels, 1e-5, 0);
        assert_that(error <= 1, "%s: error %g", p->what, error);
        harness_download(ctx, slots, got, sizeof got);
        error = harness_error(got, want, 2, 1e-30, 1e-4);
        assert_that(error <= 1, "%s: bounds %g %g, not %g %g", p->what, (double)got[0], (double)got[1],
                    want[0], want[1]);
        clv_buffer_destroy(&slots);
        discard(&d);
    }
}

static int test_rate_tear_down(void **state)
{
    (void)state;
    clv_buffer_destroy(&shared.partial);
    return 0;
}

static void test_rate(const clv_entry *entry)
{
    test_set_up(test_rate_set_up);
    harness_cases(entry, entry_rate_and_bounds_against_reference, NULL, 0,
                  "rate and bounds against reference");
    test_tear_down(test_rate_tear_down);
}

/* state: LONGEST, BEND; the wanted step for largest = 0.25 */
static const float cases[][3] = {{2, 1, 0.125f}, {2, 8, 0.0625f},  {0, 0, 0},      {NAN, 1, 0},
                                 {1, NAN, 0},    {INFINITY, 1, 0}, {2, 0, 0.125f}, {1, 1e30f, 5e-31f}};

static void fluid_update_update_against_reference(void **state)
{
    (void)state;
    clvox_context *ctx = harness_context();
    for (int k = 0; k < PROBLEMS; k++)
        for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
            const problem *p = &problems[k];
            if (left_out(p) || (k != 4 && c > 1))
                continue;
            data d;
            float slots[CLV_FLUID_SLOTS] = {cases[c][0], cases[c][1]};
            make(ctx, p, &d);
            clv_buffer *device = harness_upload(ctx, slots, sizeof slots);
            int status = clv_fluid_update(ctx, CLV_VECTORS(d.u_device, p->size), d.v_device, 0.25f, device);
            assert_that(status == CLVOX_OK, "%s: %s", p->what, clvox_message());
            harness_download(ctx, device, slots, sizeof slots);
            float dt = cases[c][2], moved = dt > 0 ? dt * cases[c][0] : 0;
            assert_that(slots[CLV_FLUID_STEP] == dt && slots[CLV_FLUID_MOVED] == moved,
                        "%s: step %g, moved %g", p->what, (double)slots[CLV_FLUID_STEP],
                        (double)slots[CLV_FLUID_MOVED]);
            harness_download_field(ctx, d.u_device, d.u, d.voxels);
            for (size_t i = 0; i < 3 * d.voxels; i++)
                d.u_double[i] += (double)dt * d.v_double[i];
            double error = harness_error(d.u, d.u_double, 3 * d.voxels, 1e-6, 1e-6);
            assert_that(error <= 1, "%s: error %g", p->what, error);
            clv_buffer_destroy(&device);
            discard(&d);
        }
}

static void test_update(void)
{
    harness_cases(&clv_entry_fluid_update, fluid_update_update_against_reference, NULL, 0,
                  "update against reference");
}

static const problem never_folds_rough = {"rough", {12, 9, 10}, {1, 1.5f, 0.7f}, 0};

/* Pushed by rough and by ever the same velocities, u never folds. */
static void no_fold_in_many_steps_of_velocities(void **state)
{
    const int *given = *state;
    int same = given[0];
    clvox_context *ctx = harness_context();
    data d;
    make(ctx, &never_folds_rough, &d);
    clv_buffer *partial = harness_output(ctx, CLV_FLUID_PARTIALS * sizeof(float));
    clv_buffer *slot_buffer = harness_output(ctx, CLV_FLUID_SLOTS * sizeof(float));
    double least = 1, moved = 0;
    for (int step = 0; step < (getenv("CLVOX_TEST_TINY") ? 10 : 150); step++) {
        if (!same) {
            harness_random(d.v, 3 * d.voxels, 10 + (unsigned)step, -5, 5);
            clv_buffer_destroy(&d.v_device);
            d.v_device = harness_upload_field(ctx, d.v, d.voxels);
        }
        assert_int_equal(
            clv_fluid_rate(ctx, CLV_VECTORS_MM(d.u_device, never_folds_rough.size, never_folds_rough.spacing),
                           d.v_device, d.p_device, partial, slot_buffer),
            CLVOX_OK);
        assert_int_equal(clv_fluid_update(ctx, CLV_VECTORS(d.u_device, never_folds_rough.size), d.p_device,
                                          0.5f, slot_buffer),
                         CLVOX_OK);
        float slots[CLV_FLUID_SLOTS];
        harness_download(ctx, slot_buffer, slots, sizeof slots);
        moved += (double)slots[CLV_FLUID_MOVED];
        harness_download_field(ctx, d.u_device, d.u, d.voxels);
        for (size_t i = 0; i < 3 * d.voxels; i++)
            d.u_double[i] = d.u[i];
        double now = ref_fluid_least(d.u_double, never_folds_rough.size, d.spacing);
        assert_that(now >= least / 8.001, "step %d: det from %g to %g", step, least, now);
        least = now;
    }
    assert_that(least > 0, "smallest det %g", least);
    assert_that(moved > 0.2, "moved %g voxels in all", moved);
    clv_buffer_destroy(&partial);
    clv_buffer_destroy(&slot_buffer);
    discard(&d);
}

static void test_never_folds(void)
{
    for (int same = 0; same < 2; same++)
        test_case_at(no_fold_in_many_steps_of_velocities, TEST_AT(same),
                     "no fold in many steps of %s velocities", same ? "the same" : "new");
}

static const problem small = {"small", {5, 4, 3}, {1, 1, 1}, 0.3f};

static int bad_values_set_up(void **state)
{
    (void)state;
    make(harness_context(), &small, &shared.d);
    shared.partial = harness_output(harness_context(), CLV_FLUID_PARTIALS * sizeof(float));
    shared.slot_buffer = harness_output(harness_context(), CLV_FLUID_SLOTS * sizeof(float));
    return 0;
}

static int bad_values_tear_down(void **state)
{
    (void)state;
    clv_buffer_destroy(&shared.partial);
    clv_buffer_destroy(&shared.slot_buffer);
    discard(&shared.d);
    return 0;
}

static void a_velocity_that_is_not_a_number_stops(void **state)
{
    (void)state;
    clvox_context *ctx = harness_context();
    shared.d.v[17] = NAN;
    clv_buffer_destroy(&shared.d.v_device);
    shared.d.v_device = harness_upload_field(ctx, shared.d.v, shared.d.voxels);
    assert_int_equal(clv_fluid_rate(ctx, CLV_VECTORS_MM(shared.d.u_device, small.size, small.spacing),
                                    shared.d.v_device, shared.d.p_device, shared.partial, shared.slot_buffer),
                     CLVOX_OK);
    assert_int_equal(clv_fluid_update(ctx, CLV_VECTORS(shared.d.u_device, small.size), shared.d.p_device,
                                      0.5f, shared.slot_buffer),
                     CLVOX_OK);
    float slots[CLV_FLUID_SLOTS];
    harness_download(ctx, shared.slot_buffer, slots, sizeof slots);
    assert_true(isnan(slots[CLV_FLUID_LONGEST]) && slots[CLV_FLUID_STEP] == 0 && slots[CLV_FLUID_MOVED] == 0);
    harness_download_field(ctx, shared.d.u_device, shared.d.p, shared.d.voxels);
    assert_memory_equal(shared.d.p, shared.d.u, 3 * shared.d.voxels * sizeof(float));
}

static void arguments_are_checked(void **state)
{
    (void)state;
    clvox_context *ctx = harness_context();
    assert_int_equal(clv_fluid_rate(ctx, CLV_VECTORS_MM(shared.d.u_device, small.size, small.spacing),
                                    shared.d.v_device, shared.d.v_device, shared.partial, shared.slot_buffer),
                     CLVOX_ERROR_ARGUMENT);
    assert_int_equal(clv_fluid_rate(ctx, CLV_VECTORS_MM(shared.d.u_device, small.size, small.spacing),
                                    shared.d.v_device, shared.d.p_device, shared.slot_buffer,
                                    shared.slot_buffer),
                     CLVOX_ERROR_ARGUMENT);
    assert_int_equal(clv_fluid_update(ctx, CLV_VECTORS(shared.d.u_device, small.size), shared.d.u_device, 1,
                                      shared.slot_buffer),
                     CLVOX_ERROR_ARGUMENT);
    assert_int_equal(clv_fluid_update(ctx, CLV_VECTORS(shared.d.u_device, small.size), shared.d.p_device, 0,
                                      shared.slot_buffer),
                     CLVOX_ERROR_ARGUMENT);
}

static void test_bad_values(void)
{
    test_each(bad_values_set_up, bad_values_tear_down);
    test_case(a_velocity_that_is_not_a_number_stops,
              "a velocity that is not a number stops the step and leaves u alone");
    test_case(arguments_are_checked, "arguments are checked");
    test_each(NULL, NULL);
}

int main(void)
{
    harness_open();
    test_rate(&clv_entry_fluid_rate);
    test_rate(&clv_entry_fluid_bend);
    test_rate(&clv_entry_fluid_largest);
    test_update();
    test_never_folds();
    test_bad_values();
    return test_run("fluid step", harness_close);
}
