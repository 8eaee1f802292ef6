/* SPDX-License-Identifier: Apache-2.0 */
#include "base/matrix.h"
#include "op/harness.h"
#include "op/match/boundary.h"
#include "ref/match/boundary.h"

enum { MOST = 700, VOXELS = 13 * 11 * 7, SUMS = CLV_BOUNDARY_SUMS };

/* An image of which voxels may be NaN or below 0, and pairs of places, some outside. */
typedef struct problem {
    float image[VOXELS], point[CLV_BOUNDARY_POINT * MOST];
    double wide[VOXELS], points[6 * MOST];
} problem;

/* Of points 0 to 10 mm along each axis. */
static const float map[3][4] = {{1.2f, .1f, -.05f, -.3f}, {-.1f, 1.1f, .07f, -.2f}, {.05f, -.04f, .63f, .1f}};

static void make(problem *p, const int size[3], bool holes, float least)
{
    float noise[6 * MOST];
    harness_random(p->image, VOXELS, 3, least, 2);
    for (int i = 0; i < VOXELS; i++) {
        if (holes && i % 41 == 7)
            p->image[i] = NAN;
        p->wide[i] = (double)p->image[i];
    }
    harness_random(noise, 6 * MOST, 9, 0, 10);
    memset(p->point, 0, sizeof p->point);
    for (int i = 0; i < 6 * MOST; i++) {
        const int k = i / 6, e = i / 3 % 2, a = i % 3;
        p->points[i] =
            (double)(p->point[CLV_BOUNDARY_POINT * k + 4 * e + a] = size[a] > 1 ? noise[i] : .1f * noise[i]);
    }
}

static const int sizes[][3] = {{13, 11, 7}, {1, 13, 5}, {7, 1, 1}, {1, 1, 1}};
static const int counts[] = {MOST, 67, 1, 0};

static void sums(void **state)
{
    (void)state;
    static problem p;
    clvox_context *ctx = harness_context();
    const int all = 4 * 4 * 2, problems = harness_problems(2, all);
    for (int t = 0; t < problems; t++) {
        const int *size = sizes[t % 4], count = counts[(t / 4 + t) % 4];
        const bool holes = t / 16;
        double wide[3][4], got[SUMS], want[SUMS];
        make(&p, size, holes, holes ? -.5f : .2f);
        clv_boundary_args args = {.count = count, .slope = t % 3 ? .005f : -.02f};
        memcpy(args.map, map, sizeof map);
        for (int i = 0; i < 12; i++)
            wide[i / 4][i % 4] = (double)map[i / 4][i % 4];
        clv_buffer *image = harness_upload(ctx, p.image, sizeof p.image);
        clv_buffer *points = harness_upload(ctx, p.point, sizeof p.point);
        clv_buffer *partial = harness_output(ctx, sizeof(float) * SUMS * CLV_BOUNDARY_MOST_ITEMS);
        args.image = clv_image_of(image, size, NULL, 1);
        args.points = points;
        assert_ok(clv_boundary(ctx, &args, partial, got));
        ref_boundary(p.wide, size, CLV_MATRIX(wide), p.points, count, (double)args.slope, want);
        assert_that(got[1] == want[1], "problem %d: %g points, not %g", t, got[1], want[1]);
        for (int s = 0; s < SUMS;
             s++) /* (g + w) may be small, and the rest steep, where values are below 0 */
            assert_that(fabs(got[s] - want[s]) <= (holes ? 5e-3 : 1e-4) * (1 + fabs(want[s]) + want[1]),
                        "problem %d, sum %d: %g, not %g", t, s, got[s], want[s]);
        clv_buffer_destroy(&image);
        clv_buffer_destroy(&points);
        clv_buffer_destroy(&partial);
    }
}

/* The reference's sums are the derivatives of its first one. */
static void derivative(void **state)
{
    (void)state;
    static problem p;
    static const int size[3] = {13, 11, 7};
    const double h = 1e-7;
    double m[3][4], at[SUMS], away[2][SUMS];
    make(&p, size, false, .2f);
    for (int i = 0; i < 12; i++)
        m[i / 4][i % 4] = (double)map[i / 4][i % 4];
    ref_boundary(p.wide, size, CLV_MATRIX(m), p.points, 67, .005, at);
    assert_true(at[1] > 30);
    for (int i = 0; i < 12; i++) {
        const double kept = m[i / 4][i % 4];
        for (int k = 0; k < 2; k++) {
            m[i / 4][i % 4] = kept + (k ? h : -h);
            ref_boundary(p.wide, size, CLV_MATRIX(m), p.points, 67, .005, away[k]);
        }
        m[i / 4][i % 4] = kept;
        const double found = (away[1][0] - away[0][0]) / (2 * h);
        assert_that(fabs(found - at[2 + i]) < 1e-5 * (1 + fabs(found)), "%d: %g, not %g", i, at[2 + i],
                    found);
    }
}

int main(void)
{
    test_case(derivative, "boundary: the reference's sums are derivatives of the cost by the map");
    harness_open();
    harness_cases(&clv_entry_boundary, sums, NULL, 0, "cost, points, derivatives");
    return test_run("boundary", harness_close);
}
