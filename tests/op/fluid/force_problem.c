/* SPDX-License-Identifier: Apache-2.0 */
#include "op/fluid/force_problem.h"

#include "harness.h"
#include "ref/fluid/force.h"

const force_problem force_problems[FORCE_PROBLEMS] = {
    {"one voxel", {1, 1, 1}, {1, 1, 1}, {1, 2, 3}, 0.7f, 0.2f, true, true, false, false},
    {"one thick in x", {1, 7, 5}, {3, 8, 5}, {1.5f, 1, 0.5f}, 0.7f, 0.3f, true, true, true, false},
    {"one thick in y, z", {19, 1, 1}, {19, 2, 1}, {1, 1, 2}, 0.7f, 0.3f, true, true, false, false},
    {"two thick", {2, 2, 2}, {2, 2, 2}, {1, 1.5f, 2}, 0.7f, 0.3f, true, true, true, false},
    {"anisotropic", {11, 9, 7}, {10, 12, 5}, {0.7f, 1.3f, 2.9f}, 0.4f, 0.3f, true, true, true, false},
    {"not finite", {9, 5, 10}, {9, 5, 10}, {1, 1, 1}, 0.4f, 0.3f, true, true, true, true},
    {"folded", {7, 11, 5}, {7, 11, 5}, {1, 1, 2}, 0.5f, 1.5f, true, true, false, false},
    {"long", {67, 5, 19}, {61, 7, 11}, {1, 1, 1.2f}, 0.5f, 0.3f, true, true, true, false},
    {"wide", {37, 41, 3}, {37, 41, 3}, {2, 1, 1}, 0.5f, 0.3f, true, true, false, false},
    {"penalty alone", {12, 11, 9}, {3, 3, 3}, {1, 2, 1.5f}, 1.0f, 0.3f, false, false, true, false},
    {"image alone", {12, 11, 9}, {13, 9, 9}, {1, 2, 1.5f}, 0, 0.8f, false, true, true, false},
    {"image and mask", {12, 11, 9}, {13, 9, 9}, {1, 2, 1.5f}, 0, 0.8f, true, true, true, false},
};

size_t force_voxels(const int n[3])
{
    return (size_t)n[0] * (size_t)n[1] * (size_t)n[2];
}

void force_make(const force_problem *p, force_data *d)
{
    memset(d, 0, sizeof *d);
    d->voxels = force_voxels(p->size);
    d->moving_voxels = force_voxels(p->moving_size);
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
        a->fixed.size[r] = d->ref.size[r] = p->size[r];
        a->moving.size[r] = d->ref.moving_size[r] = p->moving_size[r];
        a->fixed.spacing[r] = p->spacing[r];
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

void force_upload(clvox_context *ctx, const force_problem *p, force_data *d)
{
    d->args.moving.buffer = harness_upload(ctx, d->moving, d->moving_voxels * sizeof(float));
    d->args.fixed.buffer = harness_upload(ctx, d->fixed, d->voxels * sizeof(float));
    if (p->mask)
        d->args.mask = harness_upload(ctx, d->mask, d->voxels * sizeof(float));
    d->args.u = harness_upload_field(ctx, d->u, d->voxels);
    d->args.force = harness_output(ctx, 3 * d->voxels * sizeof(float));
}

void force_discard(force_data *d)
{
    clv_buffer *all[] = {d->args.moving.buffer, d->args.fixed.buffer,
                         (clv_buffer *)d->args.mask, (clv_buffer *)d->args.u, d->args.force};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        clv_buffer_destroy(&all[i]);
    free(d->moving);
    free(d->fixed);
    free(d->mask);
    free(d->u);
    free(d->u_double);
}

bool force_tiny(const force_problem *p)
{
    return !getenv("CLVOX_TEST_TINY") || force_voxels(p->size) < 500;
}

/* Relative to the largest component of the whole force: the image term's positions are good to 1e-6 voxel, and J
 * near 1 to 2e-7. */
static const double tolerance = 2e-5;

void force_compare(const force_problem *p, int (*call)(clvox_context *ctx, const force_data *d))
{
    clvox_context *ctx = harness_context();
    force_data d;
    force_make(p, &d);
    force_upload(ctx, p, &d);
    double *want = calloc(3 * d.voxels, sizeof *want), largest = 1e-30;
    float *got = calloc(3 * d.voxels, sizeof *got), *again = calloc(3 * d.voxels, sizeof *again);
    ref_force_gradient(&d.ref, d.u_double, want);
    for (size_t i = 0; i < 3 * d.voxels; i++)
        largest = fmax(largest, fabs(want[i]));
    int status = call(ctx, &d);
    assert_that(status == CLVOX_OK, "%s: %s", p->what, clvox_message());
    harness_download_field(ctx, d.args.force, got, d.voxels);
    double error = harness_error(got, want, 3 * d.voxels, tolerance * largest, 0);
    /* oclgrind gets derivatives along x wrong that are taken eight at a time: it looks for races and
     * bounds. */
    bool eight = harness_simulated() && strstr(harness_variant()->name, "rolling");
    assert_that(error <= 1 || eight, "%s: error %g of the tolerance", p->what, error);
    if (getenv("CLVOX_TEST_SHOW"))
        printf("# %s: error %g of the largest\n", p->what, error * tolerance);
    assert_true(getenv("CLVOX_TEST_TINY") || call(ctx, &d) == CLVOX_OK);
    harness_download_field(ctx, d.args.force, again, d.voxels);
    assert_that(!memcmp(got, again, 3 * d.voxels * sizeof *got), "%s: differs when run again", p->what);
    free(want);
    free(got);
    free(again);
    force_discard(&d);
}
