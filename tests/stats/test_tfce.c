/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"
#include "op/harness.h"
#include "ref/stats/tfce.h"
#include "stats/stats.h"

/* All voxels that are not NaN, of both signs, against the definition. */
static void compare(const float *t, const int size[3], const clv_tfce *how)
{
    const int n = size[0] * size[1] * size[2];
    int32_t *place = malloc((size_t)n * sizeof *place);
    float *inside = malloc((size_t)n * sizeof *inside), *got = malloc((size_t)n * sizeof *got);
    float *turned = malloc((size_t)n * sizeof *turned);
    double *want = malloc((size_t)n * sizeof *want);
    clv_tfce what = *how, tfce;
    what.size = size;
    what.place = place;
    what.count = 0;
    for (int i = 0; i < n; i++)
        if (!isnan(t[i])) {
            inside[what.count] = t[i];
            place[what.count++] = i;
        }
    assert_ok(clv_tfce_make(&what, &tfce));
    for (int sign = 1; sign >= -1; sign -= 2) {
        for (int i = 0; i < n; i++)
            turned[i] = (float)sign * t[i];
        memset(got, 0, (size_t)n * sizeof *got);
        assert_ok(clv_tfce_enhance(&tfce, inside, sign, got));
        ref_tfce(turned, size, how->step, how->height, how->extent,
                 how->connectivity == CLVOX_CONNECTIVITY_6 ? 6 : 26, want);
        for (int i = 0; i < what.count; i++) {
            double expected = want[place[i]];
            assert_that(fabs((double)got[i] - expected) <= 2e-6 * expected,
                        "%d x %d x %d, voxel %d: %g, not %g", size[0], size[1], size[2], place[i],
                        (double)got[i], expected);
        }
    }
    clv_tfce_free(&tfce);
    free(place);
    free(inside);
    free(got);
    free(turned);
    free(want);
}

static void against_the_definition(void **state)
{
    static const int sizes[][3] = {{1, 1, 1}, {1, 9, 1}, {7, 5, 1}, {11, 7, 5}, {13, 3, 9}};
    float t[385], coarse[385];
    (void)state;
    for (int k = 0; k < 5; k++)
        for (int connectivity = 0; connectivity < 2; connectivity++) {
            const int n = sizes[k][0] * sizes[k][1] * sizes[k][2];
            harness_random(t, (size_t)n, 4 + (unsigned)k, -3, 4);
            for (int i = 0; i < n; i++) {
                coarse[i] = floorf(2 * t[i]) / 2 + .2f; /* many of one level */
                if (i % 11 == 3)
                    t[i] = coarse[i] = NAN;
            }
            compare(t, sizes[k],
                    &(clv_tfce){.step = .0401, .height = 2, .extent = .5, .connectivity = connectivity});
            compare(coarse, sizes[k],
                    &(clv_tfce){.step = .07, .height = 1.5, .extent = 1, .connectivity = connectivity});
            compare(t, sizes[k],
                    &(clv_tfce){.step = 9, .height = 2, .extent = .5, .connectivity = connectivity});
        }
}

/* Steps of 1, E 1, H 2. In a row 3.5 1.5 2.5 . 1.5: at h = 1 the extents are 3 and 1, at 2 and 3 all 1. Diagonal
 * neighbours are of one cluster by corners alone. */
static void by_hand(void **state)
{
    const float row[5] = {3.5f, 1.5f, 2.5f, .5f, 1.5f}, diagonal[4] = {1.5f, 0, 0, 2.5f};
    const int32_t place[5] = {0, 1, 2, 3, 4};
    const double want[5] = {3 + 4 + 9, 3, 3 + 4, 0, 1};
    (void)state;
    for (int connectivity = 0; connectivity < 2; connectivity++) {
        clv_tfce tfce;
        float got[5] = {0};
        clv_tfce how = {.size = (const int[3]){5, 1, 1},
                        .place = place,
                        .count = 5,
                        .step = 1,
                        .height = 2,
                        .extent = 1,
                        .connectivity = connectivity};
        assert_ok(clv_tfce_make(&how, &tfce));
        assert_ok(clv_tfce_enhance(&tfce, row, 1, got));
        for (int i = 0; i < 5; i++)
            assert_that(fabs((double)got[i] - want[i]) < 1e-6, "voxel %d: %g", i, (double)got[i]);
        clv_tfce_free(&tfce);
        how.size = (const int[3]){2, 1, 2};
        how.count = 4;
        assert_ok(clv_tfce_make(&how, &tfce));
        assert_ok(clv_tfce_enhance(&tfce, diagonal, 1, got));
        const float extent = connectivity == CLVOX_CONNECTIVITY_6 ? 1 : 2;
        assert_true(got[0] == extent && got[3] == extent + 4);
        clv_tfce_free(&tfce);
    }
}

int main(void)
{
    test_case(by_hand, "small images by hand");
    test_case(against_the_definition, "against the definition, with voxels left out");
    return test_run("tfce", NULL);
}
