/* SPDX-License-Identifier: Apache-2.0 */
/* The whole registration on phantoms whose true map is known. */
#include <stdint.h>

#include "base/matrix.h"
#include "check.h"
#include "clvox/registration.h"
#include "register/pair.h"

static clvox_context *ctx;

static void header_options(clvox_register_options *o)
{
    clvox_register_defaults(o);
    o->deform = CLVOX_DEFORM_UNBIASED;
    clvox_register_preset(o, CLVOX_PRESET_DEFAULT);
    o->init = CLVOX_INIT_HEADER;
    o->linear = CLVOX_LINEAR_NONE;
}

static void recovery(void)
{
    static const struct {
        int size[3];
        double spacing[3];
        bool oblique;
        double amplitude;
        const char *name;
    } grids[] = {
        {{64, 60, 52}, {1, 1, 1}, false, 2.5, "1 mm"},
        {{61, 67, 37}, {1.5, 1.2, 2}, true, 2.5, "anisotropic, oblique, prime sizes"},
        {{97, 89, 1}, {1, 1, 3}, false, 1.8, "one slice"},
    };
    for (size_t g = 0; g < sizeof grids / sizeof *grids; g++) {
        for (int metric = 0; metric < 2; metric++) {
            pair p;
            clvox_register_options o;
            clvox_register_result r;
            double largest;
            CHECK_CASE("a known warp is recovered: %s, %s", grids[g].name, metric ? "NCC" : "SSD");
            pair_make(&p, grids[g].size, grids[g].spacing, grids[g].oblique, grids[g].amplitude, 7 + g);
            header_options(&o);
            o.metric = metric ? CLVOX_METRIC_NCC : CLVOX_METRIC_SSD;
            check_must(pair_register(ctx, p.fixed, p.moving, NULL, NULL, &o, &r));
            double mean = pair_error(&p, &r, NULL, &largest);
            printf("# end-point error %.3f voxels in the mean, %.3f at most; mismatch %.4f; J %.2f..%.2f\n",
                   mean, largest, r.mismatch, r.jacobian.smallest, r.jacobian.largest);
            CHECK_THAT(mean <= .3, "%.3f voxels", mean);
            CHECK(r.jacobian.folded == 0 && r.jacobian.smallest > .049);
            CHECK(r.mismatch < .1 &&
                  (metric ? r.metric_after > r.metric_linear : r.metric_after < r.metric_linear));
            clvox_register_result_free(&r);
            pair_free(&p);
        }
    }
}

static void identity(void)
{
    pair p;
    clvox_register_options o;
    clvox_register_result r;
    CHECK_CASE("the identity is a fixed point");
    pair_make(&p, (int[3]){43, 37, 31}, (double[3]){1, 2, 1.5}, true, 2, 3);
    clvox_register_defaults(&o);
    o.deform = CLVOX_DEFORM_UNBIASED;
    clvox_register_preset(&o, CLVOX_PRESET_DEFAULT);
    check_must(pair_register(ctx, p.moving, p.moving, NULL, NULL, &o, &r));
    CHECK_THAT(r.largest_mm < .01, "moved by %g mm", r.largest_mm);
    CHECK(r.metric_after <= 1e-8);
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++)
            CHECK(fabs(r.matrix[i][j] - (i == j)) < 1e-6);
    clvox_register_result_free(&r);
    pair_free(&p);
}

static void repeats(void)
{
    pair p;
    clvox_register_options o;
    clvox_register_result a, b;
    CHECK_CASE("two runs give the same bits");
    pair_make(&p, (int[3]){41, 43, 29}, (double[3]){1, 1, 1.5}, false, 2, 5);
    header_options(&o);
    check_must(pair_register(ctx, p.fixed, p.moving, NULL, NULL, &o, &a));
    check_must(pair_register(ctx, p.fixed, p.moving, NULL, NULL, &o, &b));
    size_t n = clvox_grid_voxels(&p.fixed_grid) * sizeof(float);
    CHECK(!memcmp(a.warp->data, b.warp->data, 3 * n));
    CHECK(!memcmp(a.warped->data, b.warped->data, n));
    clvox_register_result_free(&a);
    clvox_register_result_free(&b);
    pair_free(&p);
}

static void exchange(void)
{
    pair p;
    clvox_register_options o;
    clvox_register_result a, b;
    CHECK_CASE("exchanging the images mirrors the log-Jacobian");
    pair_make(&p, (int[3]){60, 56, 48}, (double[3]){1, 1, 1}, false, 2.5, 11);
    header_options(&o);
    check_must(pair_register(ctx, p.fixed, p.moving, NULL, NULL, &o, &a));
    check_must(pair_register(ctx, p.moving, p.fixed, NULL, NULL, &o, &b));
    printf("# mean log J %.4f and %.4f, sd %.4f and %.4f\n", a.jacobian.mean_log, b.jacobian.mean_log,
           a.jacobian.sd_log, b.jacobian.sd_log);
    CHECK(fabs(a.jacobian.mean_log + b.jacobian.mean_log) < .02);
    CHECK(fabs(a.jacobian.sd_log - b.jacobian.sd_log) < .15 * a.jacobian.sd_log);
    CHECK(fabs(log(a.jacobian.largest) + log(b.jacobian.smallest)) < .35);
    clvox_register_result_free(&a);
    clvox_register_result_free(&b);
    pair_free(&p);
}

static void intensities(void)
{
    pair p;
    clvox_register_options o;
    clvox_register_result r;
    double largest;
    CHECK_CASE("another scale and offset of the moving image change little");
    pair_make(&p, (int[3]){60, 56, 48}, (double[3]){1, 1, 1}, false, 2.5, 13);
    size_t n = clvox_grid_voxels(&p.moving_grid);
    for (size_t i = 0; i < n; i++)
        p.moving->data[i] = 37.5f * p.moving->data[i] - 1000;
    header_options(&o);
    check_must(pair_register(ctx, p.fixed, p.moving, NULL, NULL, &o, &r));
    double mean = pair_error(&p, &r, NULL, &largest);
    CHECK_THAT(mean <= .3, "%.3f voxels", mean);
    clvox_register_result_free(&r);

    CHECK_CASE("voxels that are no numbers count as background");
    p.fixed->data[n / 2] = NAN;
    p.moving->data[n / 3] = INFINITY;
    p.moving->data[n / 4] = -INFINITY;
    check_must(pair_register(ctx, p.fixed, p.moving, NULL, NULL, &o, &r));
    mean = pair_error(&p, &r, NULL, &largest);
    CHECK_THAT(mean <= .35, "%.3f voxels", mean);
    clvox_register_result_free(&r);

    CHECK_CASE("a constant image gives the identity");
    for (size_t i = 0; i < n; i++)
        p.moving->data[i] = 7;
    check_must(pair_register(ctx, p.fixed, p.moving, NULL, NULL, &o, &r));
    CHECK(r.largest_mm == 0);
    clvox_register_result_free(&r);
    o.init = CLVOX_INIT_AUTO;
    o.linear = CLVOX_LINEAR_AFFINE;
    check_must(pair_register(ctx, p.fixed, p.moving, NULL, NULL, &o, &r));
    CHECK(r.largest_mm == 0 && r.matrix[0][0] == 1 && r.matrix[0][3] == 0);
    clvox_register_result_free(&r);
    pair_free(&p);
}

/* The moving head turned, shifted and scaled on another, left-handed grid. A
 * similarity follows from moments; of an affine they leave a rotation open. */
static void linear(void)
{
    static const double turn[3][3] = {{.9553, -.2553, .1494}, {.2696, .9589, -.0888}, {-.1206, .1251, .9848}};
    double matrix[4][4] = {{0, 0, 0, 9}, {0, 0, 0, -14}, {0, 0, 0, 6}, {0, 0, 0, 1}};
    clvox_grid fixed_grid, moving_grid;
    clv_phantom phantom;
    clvox_volume *fixed, *moving, *fixed_mask, *moving_mask;
    clvox_register_options o;
    clvox_register_result r;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            matrix[i][j] = 1.07 * turn[i][j];
    clv_phantom_grid((int[3]){66, 72, 48}, (double[3]){2, 2, 3}, true, &fixed_grid);
    clv_phantom_grid((int[3]){75, 92, 61}, (double[3]){2, 2, 2}, false, &moving_grid);
    for (int i = 0; i < 3; i++) {
        moving_grid.to_ras[i][3] += moving_grid.to_ras[i][0] * (moving_grid.size[0] - 1);
        moving_grid.to_ras[i][0] = -moving_grid.to_ras[i][0];
    }
    check_must(clv_phantom_make(CLV_PHANTOM_TEXTURED, &moving_grid, 17, 0, &phantom));
    check_must(clv_phantom_image(&phantom, &fixed_grid, CLV_MATRIX(matrix), NULL, 1, &fixed));
    check_must(clv_phantom_labels(&phantom, &fixed_grid, CLV_MATRIX(matrix), NULL, &fixed_mask));
    check_must(clv_phantom_image(&phantom, &moving_grid, NULL, NULL, 2, &moving));
    check_must(clv_phantom_labels(&phantom, &moving_grid, NULL, NULL, &moving_mask));
    clvox_register_defaults(&o);
    o.deform = CLVOX_DEFORM_UNBIASED;
    clvox_register_preset(&o, CLVOX_PRESET_DEFAULT);
    o.deform = CLVOX_DEFORM_NONE;
    o.init = CLVOX_INIT_MOMENTS;
    for (int kind = CLVOX_LINEAR_SIMILARITY; kind <= CLVOX_LINEAR_AFFINE; kind++) {
        CHECK_CASE("moments of masks recover a similarity between grids of other handedness (dof %d)", kind);
        o.linear = (clvox_linear)kind;
        check_must(pair_register(ctx, fixed, moving, fixed_mask, moving_mask, &o, &r));
        double worst = 0;
        for (int corner = 0; corner < 8; corner++) {
            const double at[3] = {corner & 1 ? 35 : -35, corner & 2 ? 35 : -35, corner & 4 ? 35 : -35};
            for (int i = 0; i < 3; i++) {
                double error = r.matrix[i][3] - matrix[i][3];
                for (int j = 0; j < 3; j++)
                    error += (r.matrix[i][j] - matrix[i][j]) * at[j];
                worst = fmax(worst, fabs(error));
            }
        }
        printf("# correlation %.3f before, %.3f after; largest error at the head's corners %.2f mm\n",
               r.ncc_before, r.ncc_linear, worst);
        CHECK(r.ncc_linear > r.ncc_before && worst < 1);
        CHECK(r.warp == NULL && r.warped != NULL);
        double off = 0, all = 0;
        for (size_t i = 0; i < clvox_grid_voxels(&fixed_grid); i++) {
            off += fabs((double)r.warped->data[i] - fixed->data[i]);
            all += fabs((double)fixed->data[i]);
        }
        CHECK_THAT(off < .05 * all, "the warped image is %.3f of the fixed one away from it", off / all);
        clvox_register_result_free(&r);
    }

    CHECK_CASE("an empty mask is one sentence");
    memset(moving_mask->data, 0, clvox_grid_voxels(&moving_grid) * sizeof(float));
    CHECK(pair_register(ctx, fixed, moving, fixed_mask, moving_mask, &o, &r) == CLVOX_ERROR_DATA);
    CHECK(strstr(clvox_message(), "mask") != NULL && r.warped == NULL);

    CHECK_CASE("no overlap is one sentence with --init header, and found by moments");
    for (int i = 0; i < 3; i++)
        moving->grid.to_ras[i][3] += 500;
    o.init = CLVOX_INIT_HEADER;
    CHECK(pair_register(ctx, fixed, moving, NULL, NULL, &o, &r) == CLVOX_ERROR_DATA);
    CHECK(strstr(clvox_message(), "overlap") != NULL);
    o.init = CLVOX_INIT_AUTO;
    /* A large offset, as some scanners add, does not hide the head. */
    for (size_t i = 0; i < clvox_grid_voxels(&moving_grid); i++)
        moving->data[i] += 20000;
    check_must(pair_register(ctx, fixed, moving, NULL, NULL, &o, &r));
    CHECK_THAT(r.ncc_linear > .5, "%.3f", r.ncc_linear);
    clvox_register_result_free(&r);
    clvox_volume_destroy(&fixed);
    clvox_volume_destroy(&moving);
    clvox_volume_destroy(&fixed_mask);
    clvox_volume_destroy(&moving_mask);
    clv_phantom_free(&phantom);
}

static void small(void)
{
    static const int sizes[][3] = {{1, 1, 1}, {1, 13, 17}, {2, 2, 2}, {2049, 3, 2}, {5, 1, 1}};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        pair p;
        clvox_register_options o;
        clvox_register_result r;
        CHECK_CASE("a volume of %dx%dx%d is registered or refused", sizes[s][0], sizes[s][1], sizes[s][2]);
        clv_phantom_grid(sizes[s], (double[3]){1, 1, 1}, false, &p.fixed_grid);
        check_must(clv_phantom_make(CLV_PHANTOM_BALL, &p.fixed_grid, 1, 0, &p.phantom));
        check_must(clv_phantom_image(&p.phantom, &p.fixed_grid, NULL, NULL, 1, &p.fixed));
        check_must(clv_phantom_image(&p.phantom, &p.fixed_grid, NULL, NULL, 1, &p.moving));
        p.labels = NULL;
        p.moving->data[0] += 3;
        clvox_register_defaults(&o);
        o.deform = CLVOX_DEFORM_UNBIASED;
        clvox_register_preset(&o, CLVOX_PRESET_DEFAULT);
        for (int level = 0; level < 3; level++)
            o.iterations[level] = 5;
        int status = pair_register(ctx, p.fixed, p.moving, NULL, NULL, &o, &r);
        CHECK_THAT(status == CLVOX_OK || (status == CLVOX_ERROR_DATA && clvox_message()[0]), "%s",
                   clvox_message());
        if (status == CLVOX_OK) {
            for (size_t i = 0; i < 3 * clvox_grid_voxels(&p.fixed_grid); i++)
                CHECK(isfinite(r.warp->data[i]));
            clvox_register_result_free(&r);
        }
        pair_free(&p);
    }
}

typedef struct watched {
    double fraction;
    int calls;
    bool falls;
} watched;

static int watch(void *user, int level, int iteration, double metric, double fraction)
{
    watched *w = user;
    w->falls = w->falls || !(fraction >= w->fraction && fraction <= 1 + 1e-9) || level < 0 || iteration < 0 ||
               !(metric >= 0);
    w->fraction = fraction;
    w->calls++;
    return 0;
}

static void masks_and_memory(void)
{
    pair p;
    clvox_register_options o;
    clvox_register_result r;
    watched seen = {.fraction = 0};
    clvox_volume *mask = NULL;
    clvox_grid coarse;
    CHECK_CASE("a run takes the memory predicted at most, with masks on another grid and the inverse");
    pair_make(&p, (int[3]){47, 41, 37}, (double[3]){1, 1, 1}, false, 2, 23);
    clv_phantom_grid((int[3]){31, 29, 23}, (double[3]){2, 2, 2}, false, &coarse);
    check_must(clvox_volume_create(&coarse, 1, CLVOX_KIND_LABEL, &mask));
    for (size_t i = 0; i < clvox_grid_voxels(&coarse); i++)
        mask->data[i] = 1;
    clvox_register_defaults(&o);
    o.deform = CLVOX_DEFORM_UNBIASED;
    clvox_register_preset(&o, CLVOX_PRESET_DEFAULT);
    o.inverse = 1;
    o.progress = watch;
    o.user = &seen;
    for (int forced = 0; forced < 2; forced++) {
        o.force = forced ? CLVOX_FORCE_TWOPASS : CLVOX_FORCE_AUTO;
        seen.fraction = 0;
        check_must(pair_register(ctx, p.fixed, p.moving, mask, p.labels, &o, &r));
        size_t predicted = clvox_register_bytes(&(clvox_register_images){.fixed = {p.fixed},
                                                                    .moving = {p.moving},
                                                                    .channels = 1,
                                                                    .fixed_mask = mask,
                                                                    .moving_mask = p.labels},
                                                &o);
        CHECK_THAT(r.device_bytes <= predicted && (double)r.device_bytes >= 0.9 * (double)predicted,
                   "%zu bytes, %zu predicted", r.device_bytes, predicted);
        CHECK(r.inverse_warp && r.jacobian.folded == 0);
        CHECK(!seen.falls && seen.calls > 3);
        clvox_register_result_free(&r);
    }

    CHECK_CASE("a run without iterations is the linear part alone");
    memset(o.iterations, 0, sizeof o.iterations);
    seen = (watched){.fraction = 0};
    check_must(pair_register(ctx, p.fixed, p.moving, NULL, NULL, &o, &r));
    CHECK(r.largest_mm == 0 && !seen.falls && seen.calls == o.levels);
    clvox_register_result_free(&r);

    CHECK_CASE("what cannot be used is refused before the run");
    o.init = CLVOX_INIT_MATRIX;
    o.matrix[1][1] = 0;
    CHECK(pair_register(ctx, p.fixed, p.moving, NULL, NULL, &o, &r) == CLVOX_ERROR_ARGUMENT);
    o.init = CLVOX_INIT_HEADER;
    clvox_volume *several = NULL;
    check_must(clvox_volume_create(&coarse, 2, CLVOX_KIND_LABEL, &several));
    CHECK(pair_register(ctx, p.fixed, p.moving, several, NULL, &o, &r) == CLVOX_ERROR_ARGUMENT);
    CHECK(strstr(clvox_message(), "fixed mask") != NULL);
    clvox_register_images many = {.fixed = {p.fixed}, .moving = {p.moving}, .channels = CLVOX_MAX_CHANNELS + 1};
    CHECK(clvox_register(ctx, &many, &o, &r) == CLVOX_ERROR_ARGUMENT && clvox_register_bytes(&many, &o) == 0);
    many.channels = 1;
    CHECK(clvox_register_bytes(&many, &o) > 0);
    o.force = (clvox_force)(CLVOX_FORCE_TWOPASS + 1);
    CHECK(pair_register(ctx, p.fixed, p.moving, NULL, NULL, &o, &r) == CLVOX_ERROR_ARGUMENT);
    o.force = CLVOX_FORCE_AUTO;
    o.linear_metric = (clvox_metric)(CLVOX_METRIC_MI + 1);
    CHECK(pair_register(ctx, p.fixed, p.moving, NULL, NULL, &o, &r) == CLVOX_ERROR_ARGUMENT);
    clvox_volume_destroy(&several);
    clvox_volume_destroy(&mask);
    pair_free(&p);
}

/* Images of two values have one value inside. */
static void binary(void)
{
    pair p;
    clvox_register_options o;
    clvox_register_result r;
    CHECK_CASE("two segmentations are registered as images");
    pair_make(&p, (int[3]){48, 44, 40}, (double[3]){1, 1, 1}, false, 2, 29);
    size_t n = clvox_grid_voxels(&p.fixed_grid);
    clvox_volume *moving = NULL;
    check_must(clv_phantom_labels(&p.phantom, &p.moving_grid, NULL, NULL, &moving));
    for (size_t i = 0; i < n; i++) {
        p.fixed->data[i] = p.labels->data[i] > 0 ? 50 : 0;
        p.moving->data[i] = moving->data[i] > 0 ? 3 : 0;
    }
    header_options(&o);
    int status = pair_register(ctx, p.fixed, p.moving, NULL, NULL, &o, &r);
    CHECK_THAT(status == CLVOX_OK, "%s", clvox_message());
    if (status == CLVOX_OK) {
        printf("# mismatch %.3f\n", r.mismatch);
        CHECK(r.metric_linear > 0 && r.mismatch < .5);
        clvox_register_result_free(&r);
    }
    clvox_volume_destroy(&moving);
    pair_free(&p);
}

/* Nothing of the images is touched before the refusal. */
static void too_large(void)
{
    float nothing = 0;
    clvox_volume huge = {.frames = 1, .data = &nothing};
    clvox_register_options o;
    clvox_register_result r;
    CHECK_CASE("what does not fit the device is refused with the size that would");
    const clvox_device_limits *limits = clvox_context_limits(ctx);
    if (!limits->global_bytes || limits->global_bytes > (size_t)60 << 30) {
        CHECK_SKIP("this device takes every grid that 32-bit indices reach");
        return;
    }
    clv_phantom_grid((int[3]){890, 890, 890}, (double[3]){.2, .2, .2}, false, &huge.grid);
    clvox_register_defaults(&o);
    o.deform = CLVOX_DEFORM_UNBIASED;
    clvox_register_preset(&o, CLVOX_PRESET_DEFAULT);
    CHECK(pair_register(ctx, &huge, &huge, NULL, NULL, &o, &r) == CLVOX_ERROR_MEMORY);
    CHECK_THAT(strstr(clvox_message(), "would fit") != NULL, "%s", clvox_message());
    printf("# %s\n", clvox_message());
}

int main(void)
{
    if (clvox_context_create(NULL, &ctx) < 0) {
        printf("1..0 # SKIP %s\n", clvox_message());
        return 0;
    }
    recovery();
    identity();
    repeats();
    exchange();
    intensities();
    linear();
    small();
    masks_and_memory();
    binary();
    too_large();
    clvox_context_destroy(&ctx);
    return check_end();
}
