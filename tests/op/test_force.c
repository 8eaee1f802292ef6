/* SPDX-License-Identifier: Apache-2.0 */
#include "op/force.h"

#include "harness.h"
#include "ref/force.h"

typedef struct problem {
    const char *what;
    int size[3], moving_size[3];
    float spacing[3];
    float lambda, rough; /* rough: u's largest component in voxels */
    bool mask, image, turned, holes;
} problem;

static const problem problems[] = {
    {"one voxel", {1, 1, 1}, {1, 1, 1}, {1, 2, 3}, 0.7f, 0.2f, true, true, false, false},
    {"one thick in x", {1, 7, 5}, {3, 8, 5}, {1.5f, 1, 0.5f}, 0.7f, 0.3f, true, true, true, false},
    {"one thick in y, z", {19, 1, 1}, {19, 2, 1}, {1, 1, 2}, 0.7f, 0.3f, true, true, false, false},
    {"two thick", {2, 2, 2}, {2, 2, 2}, {1, 1.5f, 2}, 0.7f, 0.3f, true, true, true, false},
    {"anisotropic", {11, 9, 7}, {10, 12, 5}, {0.7f, 1.3f, 2.9f}, 0.4f, 0.3f, true, true, true, false},
    {"not finite", {9, 5, 10}, {9, 5, 10}, {1, 1, 1}, 0.4f, 0.3f, true, true, true, true},
    {"folded", {7, 11, 5}, {7, 11, 5}, {1, 1, 2}, 0.5f, 1.5f, true, true, false, false},
    {"long", {67, 5, 19}, {61, 7, 11}, {1, 1, 1.2f}, 0.5f, 0.3f, true, true, true, false},
    {"wide", {37, 41, 3}, {37, 41, 3}, {2, 1, 1}, 0.5f, 0.3f, true, true, false, false},
    /* Those above use one build of each kernel; these three the others. */
    {"penalty alone", {12, 11, 9}, {3, 3, 3}, {1, 2, 1.5f}, 1.0f, 0.3f, false, false, true, false},
    {"image alone", {12, 11, 9}, {13, 9, 9}, {1, 2, 1.5f}, 0, 0.8f, false, true, true, false},
    {"image and mask", {12, 11, 9}, {13, 9, 9}, {1, 2, 1.5f}, 0, 0.8f, true, true, true, false},
};
enum { PROBLEMS = sizeof problems / sizeof *problems, ONE_BUILD = 9 };

typedef struct data {
    ref_force ref;
    clv_force_args args;
    float *moving, *fixed, *mask, *u;
    double *u_double;
    size_t voxels, moving_voxels;
} data;

static size_t product(const int n[3])
{
    return (size_t)n[0] * (size_t)n[1] * (size_t)n[2];
}

static void make(const problem *p, data *d)
{
    memset(d, 0, sizeof *d);
    d->voxels = product(p->size);
    d->moving_voxels = product(p->moving_size);
    d->moving = calloc(d->moving_voxels, sizeof(float));
    d->fixed = calloc(d->voxels, sizeof(float));
    d->mask = calloc(d->voxels, sizeof(float));
    d->u = calloc(3 * d->voxels, sizeof(float));
    d->u_double = calloc(3 * d->voxels, sizeof(double));
    if (p->image) {
        harness_random(d->moving, d->moving_voxels, 1, -1, 1);
        harness_random(d->fixed, d->voxels, 2, -1, 1);
    }
    harness_random(d->mask, d->voxels, 3, -0.5f, 1);
    for (size_t i = 0; i < d->voxels; i++)
        d->mask[i] = d->mask[i] > 0 ? d->mask[i] : 0;
    if (p->holes) {
        d->moving[3] = NAN;
        d->moving[d->moving_voxels / 2] = INFINITY;
        d->fixed[7] = NAN;
        d->fixed[d->voxels / 3] = -INFINITY;
    }
    harness_random(d->u, 3 * d->voxels, 4, -p->rough, p->rough);
    for (size_t i = 0; i < 3 * d->voxels; i++) {
        d->u[i] *= p->spacing[i / d->voxels];
        d->u_double[i] = d->u[i];
    }
    clv_force_args *a = &d->args;
    for (int r = 0; r < 3; r++) {
        for (int c = 0; c < 3; c++) {
            float turn = p->turned ? 0.09f * (float)(r - c) + 0.02f * (float)(r == c) : 0;
            a->map.linear[r][c] = (float)(r == c) + turn;
            a->map.shift[r][c] = ((float)(r == c) + 0.7f * turn) / p->spacing[c];
        }
        a->map.linear[r][3] = p->turned ? 0.37f - 0.21f * (float)r : 0;
        a->size[r] = d->ref.size[r] = p->size[r];
        a->moving_size[r] = d->ref.moving_size[r] = p->moving_size[r];
        a->spacing[r] = p->spacing[r];
        d->ref.spacing[r] = p->spacing[r];
        for (int c = 0; c < 4; c++)
            d->ref.linear[r][c] = a->map.linear[r][c];
        for (int c = 0; c < 3; c++)
            d->ref.shift[r][c] = a->map.shift[r][c];
    }
    a->lambda = p->lambda;
    d->ref.lambda = p->lambda;
    d->ref.moving = d->moving;
    d->ref.fixed = d->fixed;
    d->ref.mask = p->mask ? d->mask : NULL;
}

static void upload(clvox_context *ctx, const problem *p, data *d)
{
    d->args.moving = harness_upload(ctx, d->moving, d->moving_voxels * sizeof(float));
    d->args.fixed = harness_upload(ctx, d->fixed, d->voxels * sizeof(float));
    if (p->mask)
        d->args.mask = harness_upload(ctx, d->mask, d->voxels * sizeof(float));
    d->args.u = harness_upload_field(ctx, d->u, d->voxels);
    d->args.force = harness_output(ctx, 3 * d->voxels * sizeof(float));
}

static void discard(data *d)
{
    clv_buffer *all[] = {(clv_buffer *)d->args.moving, (clv_buffer *)d->args.fixed,
                         (clv_buffer *)d->args.mask, (clv_buffer *)d->args.u, d->args.nine,
                         d->args.force};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        clv_buffer_destroy(&all[i]);
    free(d->moving);
    free(d->fixed);
    free(d->mask);
    free(d->u);
    free(d->u_double);
}

/* The reference's gradient against central differences of its energy. */
static void test_reference(void)
{
    for (int k = 0; k < PROBLEMS; k++) {
        const problem *p = &problems[k];
        if (product(p->size) > 1000)
            continue;
        CHECK_CASE("reference gradient against differences of the energy: %s", p->what);
        data d;
        make(p, &d);
        double *force = calloc(3 * d.voxels, sizeof *force), result[4];
        ref_force_gradient(&d.ref, d.u_double, force);
        double wrong = 0, all = 1e-300;
        for (size_t i = 0; i < 3 * d.voxels; i++) {
            double old = d.u_double[i], h = 1e-6;
            d.u_double[i] = old + h;
            double up = ref_force_energy(&d.ref, d.u_double, result);
            d.u_double[i] = old - h;
            double down = ref_force_energy(&d.ref, d.u_double, result);
            d.u_double[i] = old;
            double difference = -(up - down) / (2 * h);
            wrong += (force[i] - difference) * (force[i] - difference);
            all += force[i] * force[i];
        }
        CHECK_THAT(sqrt(wrong / all) <= 1e-6 || wrong < 1e-14, "relative error %g of %g", sqrt(wrong / all), sqrt(all));
        free(force);
        discard(&d);
    }
}

/* Of the largest component of the whole force: the image term's positions are
 * good to 1e-6 voxel, and J near 1 to 2e-7. */
static const double tolerance = 2e-5;

static void compare(clvox_context *ctx, const problem *p, clv_force_form form)
{
    data d;
    make(p, &d);
    upload(ctx, p, &d);
    if (form == CLV_FORCE_TWOPASS)
        d.args.nine = harness_output(ctx, 9 * d.voxels * sizeof(float));
    double *want = calloc(3 * d.voxels, sizeof *want), largest = 1e-30;
    float *got = calloc(3 * d.voxels, sizeof *got), *again = calloc(3 * d.voxels, sizeof *again);
    ref_force_gradient(&d.ref, d.u_double, want);
    for (size_t i = 0; i < 3 * d.voxels; i++)
        largest = fmax(largest, fabs(want[i]));
    int status = clv_force(ctx, form, &d.args);
    CHECK_THAT(status == CLVOX_OK, "%s: %s", p->what, clvox_message());
    harness_download_field(ctx, d.args.force, got, d.voxels);
    double error = harness_error(got, want, 3 * d.voxels, tolerance * largest, 0);
    CHECK_THAT(error <= 1, "%s: error %g of the tolerance", p->what, error);
    if (getenv("CLVOX_TEST_SHOW"))
        printf("# %s: error %g of the largest\n", p->what, error * tolerance);
    CHECK(getenv("CLVOX_TEST_TINY") || clv_force(ctx, form, &d.args) == CLVOX_OK);
    harness_download_field(ctx, d.args.force, again, d.voxels);
    CHECK_THAT(!memcmp(got, again, 3 * d.voxels * sizeof *got), "%s: differs when run again", p->what);
    free(want);
    free(got);
    free(again);
    discard(&d);
}

static bool tiny(const problem *p)
{
    return !getenv("CLVOX_TEST_TINY") || product(p->size) < 500;
}

/* brief: the kernel is another entry's, and tested there. */
static void test_force(clvox_context *ctx, const clv_entry *entry, clv_force_form form, bool brief)
{
    int state = 0;
    char last[32] = "";
    while (harness_next(ctx, entry, &state, "force against reference")) {
        const clv_kernel *kernel;
        int status = clv_kernel_get(ctx, entry, entry->builds ? entry->builds[1] : NULL,
                                    (int[3]){8, 8, 8}, 0, &kernel);
        if (status == CLVOX_ERROR_DEVICE) {
            CHECK_SKIP("%s", clvox_message());
            continue;
        }
        CHECK_THAT(status == CLVOX_OK, "%s", clvox_message());
        if (status < 0)
            continue;
        bool first = strcmp(last, kernel->variant->name) != 0;
        snprintf(last, sizeof last, "%s", kernel->variant->name);
        int end = brief ? 6 : first && !getenv("CLVOX_TEST_TINY") ? PROBLEMS : ONE_BUILD;
        for (int k = brief ? 5 : 0; k < end; k++)
            if (tiny(&problems[k]))
                compare(ctx, &problems[k], form);
    }
}

static void test_energy(clvox_context *ctx, const clv_entry *entry)
{
    int state = 0;
    clv_buffer *partial = harness_output(ctx, CLV_FORCE_PARTIALS * sizeof(float));
    while (harness_next(ctx, entry, &state, "energy against reference"))
        for (int k = 0; k < PROBLEMS; k++) {
            const problem *p = &problems[k];
            if (!tiny(p))
                continue;
            data d;
            double want[4];
            float got[6], again[6];
            make(p, &d);
            upload(ctx, p, &d);
            ref_force_energy(&d.ref, d.u_double, want);
            clv_buffer *out = harness_output(ctx, sizeof got);
            int status = clv_force_energy(ctx, &d.args, partial, out, 1);
            CHECK_THAT(status == CLVOX_OK, "%s: %s", p->what, clvox_message());
            harness_download(ctx, out, got, sizeof got);
            CHECK(isnan(got[0]) && isnan(got[5]));
            double error = harness_error(got + 1, want, 4, 1e-6 * (double)d.voxels, 5e-6);
            CHECK_THAT(error <= 1, "%s: error %g: got %g %g %g %g, not %g %g %g %g", p->what, error,
                       (double)got[1], (double)got[2], (double)got[3], (double)got[4], want[0],
                       want[1], want[2], want[3]);
            CHECK((double)got[4] == want[3]);
            CHECK(clv_force_energy(ctx, &d.args, partial, out, 1) == CLVOX_OK);
            harness_download(ctx, out, again, sizeof again);
            CHECK(!memcmp(got + 1, again + 1, 16));
            clv_buffer_destroy(&out);
            discard(&d);
        }
    clv_buffer_destroy(&partial);
}

/* T = R at u = 0 is a fixed point, and so is the penalty alone. */
static void test_identity(clvox_context *ctx)
{
    CHECK_CASE("identity is a fixed point");
    problem p = problems[9];
    p.image = true;
    p.turned = false;
    p.rough = 0;
    memcpy(p.moving_size, p.size, sizeof p.size);
    data d;
    make(&p, &d);
    memcpy(d.moving, d.fixed, d.voxels * sizeof(float));
    upload(ctx, &p, &d);
    float *got = calloc(3 * d.voxels, sizeof *got);
    CHECK(clv_force(ctx, CLV_FORCE_AUTO, &d.args) == CLVOX_OK);
    harness_download_field(ctx, d.args.force, got, d.voxels);
    float largest = 0;
    for (size_t i = 0; i < 3 * d.voxels; i++)
        largest = fmaxf(largest, fabsf(got[i]));
    CHECK_THAT(largest == 0, "largest force %g", (double)largest);
    free(got);
    discard(&d);
}

static void test_refusals(clvox_context *ctx)
{
    CHECK_CASE("arguments are checked");
    data d;
    make(&problems[4], &d);
    upload(ctx, &problems[4], &d);
    clv_force_args wrong = d.args;
    wrong.force = (clv_buffer *)wrong.u;
    CHECK(clv_force(ctx, CLV_FORCE_AUTO, &wrong) == CLVOX_ERROR_ARGUMENT);
    wrong = d.args;
    wrong.spacing[1] = 0;
    CHECK(clv_force(ctx, CLV_FORCE_AUTO, &wrong) == CLVOX_ERROR_ARGUMENT);
    wrong = d.args;
    wrong.moving = NULL;
    CHECK(clv_force(ctx, CLV_FORCE_AUTO, &wrong) == CLVOX_ERROR_ARGUMENT);
    CHECK(clv_force(ctx, CLV_FORCE_TWOPASS, &d.args) == CLVOX_ERROR_ARGUMENT);
    CHECK(clv_force_energy(ctx, &d.args, NULL, d.args.force, 0) == CLVOX_ERROR_ARGUMENT);
    discard(&d);
}

int main(void)
{
    test_reference();
    clvox_context *ctx = harness_open();
    test_force(ctx, &clv_entry_force, CLV_FORCE_AUTO, false);
    test_force(ctx, &clv_entry_force_recompute, CLV_FORCE_RECOMPUTE, false);
    test_force(ctx, &clv_entry_force_reuse, CLV_FORCE_REUSE, true);
    test_force(ctx, &clv_entry_force_capped, CLV_FORCE_CAPPED, true);
    test_force(ctx, &clv_entry_force_products, CLV_FORCE_TWOPASS, false);
    test_force(ctx, &clv_entry_force_divergence, CLV_FORCE_TWOPASS, false);
    test_energy(ctx, &clv_entry_force_energy);
    test_energy(ctx, &clv_entry_force_total);
    test_identity(ctx);
    test_refusals(ctx);
    clvox_context_destroy(&ctx);
    return check_end();
}
