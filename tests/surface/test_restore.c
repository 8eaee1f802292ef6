/* SPDX-License-Identifier: Apache-2.0 */
/* Restoring a level set: the shape in what denoising removed, and the position of the level. The surface is a
 * plane, so that all is known. */
#include "op/harness.h"
#include "surface/denoise.h"

enum { EDGE = 40 };

static clvox_context *ctx;

/* Height of the plane, and of a bump on it that patches far off do not have. */
static const double level = 19.3;

static double bump(int x, int y)
{
    double dx = x - 11, dy = y - 13;
    return 0.5 * exp(-(dx * dx + dy * dy) / (2 * 2.5 * 2.5));
}

typedef struct setup {
    float phi[EDGE * EDGE * EDGE], start[EDGE * EDGE * EDGE], noise[EDGE * EDGE * EDGE];
    clv_denoise_box box;
} setup;

/* phi: the plane; start: the plane with the bump and noise of that deviation. */
static setup *make(double high, double deviation)
{
    setup *s = malloc(sizeof *s);
    s->box = (clv_denoise_box){.size = {EDGE, EDGE, EDGE}, .n = EDGE * EDGE * EDGE, .edge = 1,
                               .spacing = {1, 1, 1}, .delta = 2, .reach = 8, .radius = 2, .wide = 4};
    float *even = malloc(12 * sizeof s->noise);
    harness_random(even, 12 * EDGE * EDGE * EDGE, 5, -.5f, .5f);
    int i = 0;
    for (int z = 0; z < EDGE; z++)
        for (int y = 0; y < EDGE; y++)
            for (int x = 0; x < EDGE; x++, i++) {
                double sum = 0;
                for (int k = 0; k < 12; k++)
                    sum += (double)even[12 * i + k];
                s->noise[i] = (float)(deviation * sum);
                s->phi[i] = (float)(z - level);
                s->start[i] = (float)(z - level - high * bump(x, y) + deviation * sum);
            }
    free(even);
    return s;
}

static void restored(void **state)
{
    (void)state;
    clvox_denoise_options o;
    clvox_denoise_result r = {0};
    setup *s = make(1, 0.2);
    const size_t bytes = sizeof s->phi;
    clv_buffer *phi = harness_upload(ctx, s->phi, bytes), *other = harness_output(ctx, bytes);
    clv_buffer *index = harness_output(ctx, bytes);
    clvox_denoise_defaults(&o);
    clv_denoise run = {.ctx = ctx, .options = &o, .result = &r, .box = s->box, .phi = phi, .other = other,
                       .index = index};
    float *got = malloc(bytes);
    assert_int_equal(clv_denoise_restore(&run, s->start), CLVOX_OK);
    harness_download(ctx, phi, got, bytes);
    double top = 0, there = 0, elsewhere = 0, far = 0;
    size_t count = 0, others = 0;
    for (int i = 0; i < s->box.n; i++) {
        int x = i % EDGE, y = i / EDGE % EDGE;
        double back = (double)(s->phi[i] - got[i]), high = bump(x, y);
        if (!(fabsf(s->phi[i]) < 1.5f)) {
            far = fmax(far, fabs(back));
        } else if (high > 0.35) {
            top += high;
            there += back;
            count++;
        } else if (high < 0.01) {
            elsewhere += back * back;
            others++;
        }
    }
    assert_that(count > 20 && there > 0.7 * top && there < 1.1 * top, "%g of %g came back", there, top);
    assert_that(sqrt(elsewhere / (double)others) < 0.05, "noise of %g came back",
                sqrt(elsewhere / (double)others));
    assert_that(far == 0, "%g beyond the band", far);
    clv_buffer_destroy(&phi);
    clv_buffer_destroy(&other);
    clv_buffer_destroy(&index);
    free(got);
    free(s);
}

static const double noises[] = {0, 0.6, 1};

static void noise_the_level_is_found_where_voxels_were(void **state)
{
    const int *given = *state;
    int k = given[0];
    setup *s = make(0, noises[k]);
    double width, found;
    for (int i = 0; i < s->box.n; i++)
        s->phi[i] -= 0.3f;
    assert_ok(clv_denoise_place_by_mask(&s->box, s->phi, s->start, &found, &width));
    /* A plane between layers of voxels says to half a voxel only where it is. */
    assert_that(fabs(found + 0.3) < (k ? 0.05 : 0.5), "level %g", found);
    assert_that(k ? fabs(width / (noises[k] / 1.702) - 1) < 0.2 : width < 0.15, "width %g", width);
    free(s);
}

static void levels(void)
{
    for (int k = 0; k < 3; k++)
        test_case_at(noise_the_level_is_found_where_voxels_were, TEST_AT(k),
                     "noise %g: the level is found where voxels were inside as often as not", noises[k]);
}

int main(void)
{
    ctx = harness_open();
    test_case(restored, "a bump that was taken away comes back, noise does not");
    levels();
    return test_run("restore", harness_close);
}
