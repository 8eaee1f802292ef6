/* SPDX-License-Identifier: Apache-2.0 */
#include "op/anatomy/landmark_force.h"
#include "op/harness.h"
#include "ref/anatomy/landmark_force.h"

enum { SLOT = 3, MOST = 70, VOXELS = 41 * 7 * 5 };

static const double uneven[3] = {.8, 1.5, 2.25};
static const float millimetres[3] = {.8f, 1.5f, 2.25f};

/* Two fields that fold nothing, and landmarks of both images, some outside of the grid. */
typedef struct problem {
    int size[3], count;
    size_t n;
    float u[2][3 * VOXELS], point[8 * MOST];
    double wide[2][3 * VOXELS], points[6 * MOST], place[6 * MOST], vector[6 * MOST];
} problem;

static void make(problem *p, const int size[3], int count)
{
    float noise[6 * MOST];
    memcpy(p->size, size, sizeof p->size);
    p->n = (size_t)size[0] * (size_t)size[1] * (size_t)size[2];
    p->count = count;
    for (int side = 0; side < 2; side++)
        for (size_t i = 0; i < 3 * p->n; i++) {
            size_t at = i % p->n;
            double x = (double)(at % (size_t)size[0]), y = (double)(at / (size_t)size[0] % (size_t)size[1]);
            double z = (double)(at / ((size_t)size[0] * (size_t)size[1])), c = (double)(i / p->n) + 3 * side;
            p->u[side][i] = (float)(.7 * uneven[i / p->n] * sin(.5 * x + .4 * y + .6 * z + 1.7 * c));
            p->wide[side][i] = (double)p->u[side][i];
        }
    harness_random(noise, 6 * (size_t)count, 5, -.3f, 1.3f);
    memset(p->point, 0, sizeof p->point);
    for (int k = 0; k < 2 * count; k++)
        for (int a = 0; a < 3; a++) {
            float t = k % 9 ? .05f + .9f * (noise[3 * k + a] + .3f) / 1.6f : noise[3 * k + a];
            p->point[4 * k + a] = t * (float)(size[a] - 1);
            p->points[3 * k + a] = (double)p->point[4 * k + a];
        }
}

static const int sizes[][3] = {{41, 7, 5}, {1, 9, 5}, {11, 1, 1}, {1, 1, 1}, {8, 7, 6}};
static const int tiny_sizes[2][3] = {{7, 3, 5}, {1, 5, 3}};
enum { SIZES = sizeof sizes / sizeof *sizes };

/* Whether a kernel adds to the force one by one, as those for CPUs do. */
static bool by_rows(clvox_context *ctx, const char *entry, const char *rows)
{
    const char *forced = clv_forced_variant(ctx, entry);
    return forced ? !strcmp(forced, rows) : clvox_context_limits(ctx)->type == CLVOX_DEVICE_CPU;
}

static void one(clvox_context *ctx, const int size[3], int count, bool second, const float *axes, const float *sigma)
{
    static problem p;
    static float tracked[16 * MOST], got[3 * VOXELS];
    static double want[3 * VOXELS], row[16 * MOST];
    float state[SLOT + 1] = {0, 0, 0, 50};
    make(&p, size, count);
    double expected = ref_landmark_track(p.points, count, p.wide[0], second ? p.wide[1] : NULL, size, uneven, .1 * 50,
                                         p.place, p.vector);
    clv_buffer *points = harness_upload(ctx, p.point, sizeof(float) * 8 * (size_t)count);
    clv_buffer *u = harness_upload_field(ctx, p.u[0], p.n), *other = harness_upload_field(ctx, p.u[1], p.n);
    clv_buffer *numbers = harness_upload(ctx, state, sizeof state);
    clv_buffer *out = harness_output(ctx, sizeof(float) * 16 * (size_t)count);
    const clv_landmark_args args = {
        .points = points, .count = count, .u = clv_image_of(u, size, millimetres, 3), .second = second ? other : NULL,
        .weight = .1f, .axes = axes, .state = numbers, .slot = SLOT, .tracked = out,
    };
    assert_ok(clv_landmark_track(ctx, &args));
    harness_download(ctx, out, tracked, sizeof(float) * 16 * (size_t)count);
    double sum = 0;
    for (int k = 0; k < 2 * count; k++)
        for (int a = 0; a < 3; a++) {
            if (axes)
                p.vector[3 * k + a] *= (double)axes[a];
            row[8 * k + a] = p.place[3 * k + a];
            row[8 * k + 3] = (double)tracked[8 * k + 3];
            row[8 * k + 4 + a] = p.vector[3 * k + a];
            row[8 * k + 7] = 0;
        }
    for (int k = 0; k < count; k++)
        sum += (double)tracked[8 * k + 3] / count;
    assert_that(fabs(sum - expected) < 1e-4 * (1 + expected), "%g, %g", sum, expected);
    double error = harness_error(tracked, row, 16 * (size_t)count, 2e-3, 1e-3);
    assert_that(error <= 1, "%dx%dx%d, second %d: %g", size[0], size[1], size[2], second, error);
    for (int side = 0; side < 2; side++) {
        harness_random(got, 3 * p.n, 23, -1, 1);
        for (size_t i = 0; i < 3 * p.n; i++)
            want[i] = (double)got[i];
        clv_buffer *force = harness_upload_field(ctx, got, p.n);
        /* By sorting, to the bit. */
        clv_buffer *copy = sigma ? NULL : harness_upload_field(ctx, got, p.n);
        assert_ok(clv_landmark_force(ctx, &args, side, sigma, CLV_VECTORS(force, size)));
        harness_download_field(ctx, force, got, p.n);
        if (copy) {
            static float sorted[3 * VOXELS];
            clv_landmark_scratch scratch;
            assert_ok(clv_landmark_scratch_create(ctx, count, &scratch));
            assert_ok(clv_landmark_force_sorted(ctx, &args, side, &scratch, CLV_VECTORS(copy, size)));
            harness_download_field(ctx, copy, sorted, p.n);
            const bool alike = by_rows(ctx, "landmark_force", "row") == by_rows(ctx, "landmark_sums", "run");
            for (size_t i = 0; i < 3 * p.n && alike; i++)
                assert_that(sorted[i] == got[i], "%dx%dx%d, %zu: %.9g, not %.9g", size[0], size[1], size[2],
                            i, (double)sorted[i], (double)got[i]);
            for (size_t i = 0; i < 3 * p.n; i++)
                assert_that(fabsf(sorted[i] - got[i]) <= 1e-4f * (1 + fabsf(got[i])), "%zu: %.9g, not %.9g",
                            i, (double)sorted[i], (double)got[i]);
            clv_landmark_scratch_destroy(&scratch);
            clv_buffer_destroy(&copy);
        }
        /* By the places and vectors as the device has them: what reaches a voxel hangs on the last digit. */
        for (int k = 0; k < 2 * count; k++)
            for (int a = 0; a < 3; a++) {
                p.place[3 * k + a] = (double)tracked[8 * k + a];
                p.vector[3 * k + a] = (double)tracked[8 * k + 4 + a];
            }
        ref_landmark_force(p.place + 3 * side * count, p.vector + 3 * side * count, count, sigma, want, size);
        error = harness_error(got, want, 3 * p.n, 2e-3, 1e-4);
        assert_that(error <= 1, "%dx%dx%d, side %d, sigma %g: %g", size[0], size[1], size[2], side,
                    sigma ? (double)sigma[0] : 0., error);
        clv_buffer_destroy(&force);
    }
    clv_buffer_destroy(&points);
    clv_buffer_destroy(&u);
    clv_buffer_destroy(&other);
    clv_buffer_destroy(&numbers);
    clv_buffer_destroy(&out);
}

static void places_and_forces(void **state)
{
    (void)state;
    static const float axes[3] = {.5f, 1, 0}, sigma[3] = {3.5f, 1.25f, .4f};
    for (int s = 0; s < harness_problems(2, SIZES); s++) {
        if (getenv("CLVOX_TEST_TINY")) { /* in the simulator each pair of a landmark and a voxel takes long */
            one(harness_context(), tiny_sizes[s], harness_first() ? 11 : 3, s == 0, s ? axes : NULL, NULL);
            if (harness_first())
                one(harness_context(), tiny_sizes[s], 7, true, NULL, sigma);
            continue;
        }
        one(harness_context(), sizes[s], MOST, true, NULL, NULL);
        one(harness_context(), sizes[s], 3, false, axes, NULL);
        one(harness_context(), sizes[s], 40, true, NULL, sigma);
    }
}

/* The reference is the derivative that the header claims. */
static void derivative(void **state)
{
    (void)state;
    static problem p;
    static double force[2][3 * VOXELS], place[6 * MOST], vector[6 * MOST];
    const int size[3] = {8, 7, 6};
    const double weight = 1.5, h = 1e-6;
    int compared = 0;
    make(&p, size, 20);
    for (int both = 0; both < 2; both++) {
        double *second = both ? p.wide[1] : NULL;
        ref_landmark_track(p.points, p.count, p.wide[0], second, size, uneven, weight, p.place, p.vector);
        memset(force, 0, sizeof force);
        for (int side = 0; side < 2; side++)
            ref_landmark_force(p.place + 3 * side * p.count, p.vector + 3 * side * p.count, p.count, NULL, force[side],
                               size);
        for (int side = 0; side <= both; side++)
            for (size_t i = 0; i < 3 * p.n; i += 3) {
                double kept = p.wide[side][i], value[2];
                if (force[side][i] == 0)
                    continue;
                for (int k = 0; k < 2; k++) {
                    p.wide[side][i] = kept + (k ? h : -h);
                    value[k] = -weight * ref_landmark_track(p.points, p.count, p.wide[0], second, size, uneven, weight,
                                                            place, vector);
                }
                p.wide[side][i] = kept;
                double found = (value[1] - value[0]) / (2 * h);
                assert_that(fabs(found - force[side][i]) < 1e-6 * (1 + fabs(found)), "%zu of %d: %g, %g", i, side, found,
                            force[side][i]);
                compared += fabs(found) > 1e-3;
            }
    }
    assert_that(compared > 50, "%d", compared);
}

int main(void)
{
    test_case(derivative, "landmark force: the reference is the derivative of the mean squared distance by both fields");
    harness_open();
    harness_cases(&clv_entry_landmark_track, places_and_forces, NULL, 0, "places, vectors, forces");
    harness_cases(&clv_entry_landmark_cells, places_and_forces, NULL, 0, "places, vectors, forces");
    harness_cases(&clv_entry_landmark_sums, places_and_forces, NULL, 0, "places, vectors, forces");
    harness_cases(&clv_entry_landmark_force, places_and_forces, NULL, 0, "places, vectors, forces");
    return test_run("landmark force", harness_close);
}
