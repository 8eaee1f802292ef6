/* SPDX-License-Identifier: Apache-2.0 */
/* What a registration makes of its images before and after the work: channels
 * on other grids, levels that end coarser than the images, and what it refuses. */
#include "base/matrix.h"
#include "check.h"
#include "clvox/registration.h"
#include "phantom/phantom.h"
#include "register/model.h"

static clvox_context *ctx;

typedef struct pair {
    clv_phantom phantom;
    clv_phantom_warp warp;
    clvox_volume *fixed, *moving, *fixed_mask, *moving_mask;
} pair;

static void make_pair(pair *p, const int size[3], const double spacing[3], double amplitude)
{
    clvox_grid grid;
    clv_phantom_grid(size, spacing, true, &grid);
    check_must(clv_phantom_make(CLV_PHANTOM_TEXTURED, &grid, 3, 0, &p->phantom));
    check_must(clv_phantom_warp_make(&grid, amplitude, 3, &p->warp));
    check_must(clv_phantom_image(&p->phantom, &grid, NULL, &p->warp, 1, &p->fixed));
    check_must(clv_phantom_image(&p->phantom, &grid, NULL, NULL, 2, &p->moving));
    check_must(clv_phantom_labels(&p->phantom, &grid, NULL, &p->warp, &p->fixed_mask));
    check_must(clv_phantom_labels(&p->phantom, &grid, NULL, NULL, &p->moving_mask));
}

static void free_pair(pair *p)
{
    clv_phantom_free(&p->phantom);
    clvox_volume_destroy(&p->fixed);
    clvox_volume_destroy(&p->moving);
    clvox_volume_destroy(&p->fixed_mask);
    clvox_volume_destroy(&p->moving_mask);
}

static void start(clvox_register_options *o)
{
    clvox_register_defaults(o);
    o->deform = CLVOX_DEFORM_UNBIASED;
    clvox_register_preset(o, CLVOX_PRESET_DEFAULT);
    o->deform = CLVOX_DEFORM_UNBIASED;
    clvox_register_preset(o, CLVOX_PRESET_DEFAULT);
    o->init = CLVOX_INIT_HEADER;
    o->linear = CLVOX_LINEAR_NONE;
}

/* Mean distance inside the fixed mask of what the warp says from the truth, in mm. */
static double error_of(const pair *p, const clvox_volume *warp)
{
    const clvox_grid *g = &warp->grid;
    size_t n = clvox_grid_voxels(g), i = 0, count = 0;
    double sum = 0;
    for (int z = 0; z < g->size[2]; z++)
        for (int y = 0; y < g->size[1]; y++)
            for (int x = 0; x < g->size[0]; x++, i++) {
                double at[3], truth[3], square = 0;
                if (!(p->fixed_mask->data[i] > 0))
                    continue;
                clv_matrix_apply(g->to_ras, (const double[3]){x, y, z}, at);
                clv_phantom_warp_at(&p->warp, at, truth);
                for (int k = 0; k < 3; k++)
                    square += pow((double)warp->data[(size_t)k * n + i] - truth[k], 2);
                sum += sqrt(square);
                count++;
            }
    return sum / (double)count;
}

static void coarse(void)
{
    pair p;
    clvox_register_options o;
    clvox_register_result r, fine;
    make_pair(&p, (int[3]){67, 60, 53}, (double[3]){1, 1.1, 1.2}, 2.5);
    const clvox_register_images images = {.fixed = {p.fixed}, .moving = {p.moving}, .channels = 1,
                                          .fixed_mask = p.fixed_mask, .moving_mask = p.moving_mask};
    CHECK_CASE("levels that end coarser give results on the full grid");
    start(&o);
    o.inverse = 1;
    check_must(clvox_register(ctx, &images, &o, &fine));
    o.levels = 2;
    check_must(clvox_register(ctx, &images, &o, &r));
    CHECK(clvox_grid_equal(&r.warp->grid, &p.fixed->grid) &&
          clvox_grid_equal(&r.warped->grid, &p.fixed->grid));
    CHECK(r.inverse_warp && clvox_grid_equal(&r.inverse_warp->grid, &p.fixed->grid));
    double error = error_of(&p, r.warp), best = error_of(&p, fine.warp);
    printf("# end-point error %.3f mm, %.3f mm with the finest level; %.1f and %.1f MiB\n", error, best,
           (double)r.device_bytes / 1048576, (double)fine.device_bytes / 1048576);
    CHECK_THAT(error < .45 && best < error, "%g and %g", error, best);
    CHECK(r.jacobian.folded == 0 && r.jacobian.voxels == fine.jacobian.voxels);
    CHECK(r.device_bytes < fine.device_bytes / 2);
    CHECK(r.metric_after < .3 * r.metric_linear && r.suspicions == 0);

    CHECK_CASE("its inverse inverts on the full grid, and its image is what the warp gives");
    clvox_transform warp = {.is_warp = 1, .warp = r.warp}, back = {.is_warp = 1, .warp = r.inverse_warp};
    const clvox_link both[2] = {{&back, 0}, {&warp, 0}}, one = {&warp, 0};
    clvox_volume *identity = NULL, *again = NULL;
    check_must(clvox_compose(ctx, &p.fixed->grid, both, 2, &identity));
    check_must(clvox_apply(ctx, p.moving, &p.fixed->grid, &one, 1, CLVOX_INTERPOLATE_LINEAR, 0, &again));
    size_t n = clvox_grid_voxels(&p.fixed->grid);
    double left = 0, off = 0;
    for (size_t i = 0; i < 3 * n; i++)
        left += fabs((double)identity->data[i]);
    for (size_t i = 0; i < n; i++)
        off = fmax(off, fabs((double)again->data[i] - r.warped->data[i]));
    CHECK_THAT(left / (double)n < .05, "%g mm", left / (double)n);
    CHECK_THAT(off < 1e-3 * 100, "%g", off);
    clvox_volume_destroy(&identity);
    clvox_volume_destroy(&again);
    clvox_register_result_free(&r);
    clvox_register_result_free(&fine);
    free_pair(&p);
}

static void channels(void)
{
    pair p;
    clvox_register_options o;
    clvox_register_result one, both;
    clvox_volume *shifted = NULL;
    clvox_grid other;
    make_pair(&p, (int[3]){37, 41, 33}, (double[3]){1, 1, 1}, 1.5);
    start(&o);
    o.deform = CLVOX_DEFORM_NONE;
    CHECK_CASE("a channel on another grid counts as if it lay on the first one's");
    clv_phantom_grid((int[3]){45, 47, 40}, (double[3]){1.1, 1.1, 1.1}, false, &other);
    check_must(clv_phantom_image(&p.phantom, &other, NULL, NULL, 2, &shifted));
    clvox_register_images images = {
        .fixed = {p.fixed, p.fixed}, .moving = {p.moving, shifted}, .channels = 1};
    check_must(clvox_register(ctx, &images, &o, &one));
    images.channels = 2;
    check_must(clvox_register(ctx, &images, &o, &both));
    CHECK_THAT(fabs(one.ncc_after - both.ncc_after) < .02, "%g and %g", one.ncc_after, both.ncc_after);
    CHECK(one.ncc_after != both.ncc_after);
    clvox_register_result_free(&both);
    images.weight[0] = 5;
    check_must(clvox_register(ctx, &images, &o, &both));
    CHECK(both.ncc_after == one.ncc_after);
    clvox_register_result_free(&both);
    clvox_register_result_free(&one);

    CHECK_CASE("wrong channels are one sentence each");
    images.weight[1] = -1;
    CHECK(clvox_register(ctx, &images, &o, &one) == CLVOX_ERROR_ARGUMENT &&
          strstr(clvox_message(), "weight"));
    images.weight[1] = 0;
    images.channels = 9;
    CHECK(clvox_register(ctx, &images, &o, &one) == CLVOX_ERROR_ARGUMENT &&
          strstr(clvox_message(), "channels"));
    images.channels = 0;
    CHECK(clvox_register(ctx, &images, &o, &one) == CLVOX_ERROR_ARGUMENT);
    images.channels = 3;
    CHECK(clvox_register(ctx, &images, &o, &one) == CLVOX_ERROR_ARGUMENT &&
          strstr(clvox_message(), "fixed image 3"));
    images.channels = 2;
    o.deform = CLVOX_DEFORM_UNBIASED;
    CHECK(clvox_register(ctx, &images, &o, &one) == CLVOX_ERROR_ARGUMENT &&
          strstr(clvox_message(), "one channel"));

    CHECK_CASE("what a model cannot do is one sentence");
    images.channels = 1;
    o.metric = CLVOX_METRIC_MI;
    CHECK(clvox_register(ctx, &images, &o, &one) == CLVOX_ERROR_ARGUMENT &&
          strstr(clvox_message(), "metric"));
    o.metric = CLVOX_METRIC_SSD;
    o.radius = 0;
    CHECK(clvox_register(ctx, &images, &o, &one) == CLVOX_ERROR_ARGUMENT &&
          strstr(clvox_message(), "radius"));
    o.radius = 2;
    o.bins = 4;
    CHECK(clvox_register(ctx, &images, &o, &one) == CLVOX_ERROR_ARGUMENT && strstr(clvox_message(), "bins"));
    o.bins = 32;
    o.momentum = 1;
    CHECK(clvox_register(ctx, &images, &o, &one) == CLVOX_ERROR_ARGUMENT &&
          strstr(clvox_message(), "momentum"));
    o.momentum = 0;
    o.finest_step = 0;
    CHECK(clvox_register(ctx, &images, &o, &one) == CLVOX_ERROR_ARGUMENT && strstr(clvox_message(), "step"));
    o.finest_step = 1;
    o.deform = (clvox_deform)17;
    CHECK(clvox_register(ctx, &images, &o, &one) == CLVOX_ERROR_ARGUMENT);
    clvox_volume_destroy(&shifted);
    free_pair(&p);
}

/* One constant image, for every model that this version has. */
static void constant(void)
{
    pair p;
    make_pair(&p, (int[3]){29, 27, 25}, (double[3]){1, 1, 1}, 1);
    for (size_t i = 0; i < clvox_grid_voxels(&p.fixed->grid); i++)
        p.fixed->data[i] = 5;
    for (int deform = CLVOX_DEFORM_NONE; deform <= CLVOX_DEFORM_SYN; deform++) {
        clvox_register_options o;
        clvox_register_result r;
        if (!clv_model_name((clvox_deform)deform))
            continue;
        CHECK_CASE("a constant image is not deformed (%s)", clv_model_name((clvox_deform)deform));
        start(&o);
        o.deform = (clvox_deform)deform;
        clvox_register_preset(&o, CLVOX_PRESET_DEFAULT);
        const clvox_register_images images = {.fixed = {p.fixed}, .moving = {p.moving}, .channels = 1};
        check_must(clvox_register(ctx, &images, &o, &r));
        CHECK_THAT(r.largest_mm < 1e-3, "%g mm", r.largest_mm);
        CHECK(r.suspicions == CLVOX_SUSPECT_CONSTANT);
        clvox_register_result_free(&r);
    }
    free_pair(&p);
}

/* Nothing of the images is touched before the refusal. */
static void memory(void)
{
    float nothing = 0;
    clvox_volume huge = {.frames = 1, .data = &nothing};
    clvox_register_options o;
    clvox_register_result r;
    const clvox_device_limits *limits = clvox_context_limits(ctx);
    CHECK_CASE("what does not fit is refused with the levels that would");
    clv_phantom_grid((int[3]){512, 512, 512}, (double[3]){.5, .5, .5}, false, &huge.grid);
    start(&o);
    const clvox_register_images images = {.fixed = {&huge}, .moving = {&huge}, .channels = 1};
    if (!limits->global_bytes || limits->global_bytes > clvox_register_bytes(&images, &o) ||
        limits->global_bytes < (size_t)6 << 30 || limits->max_allocation < (size_t)2 << 30) {
        CHECK_SKIP("made for a device of 6 to %.0f GiB",
                   (double)clvox_register_bytes(&images, &o) / (double)((size_t)1 << 30));
        return;
    }
    CHECK(clvox_register(ctx, &images, &o, &r) == CLVOX_ERROR_MEMORY);
    CHECK_THAT(strstr(clvox_message(), "--shrink 8x4x2 would fit") != NULL, "%s", clvox_message());
    printf("# %s\n", clvox_message());
}

int main(void)
{
    if (clvox_context_create(NULL, &ctx) < 0) {
        printf("1..0 # SKIP %s\n", clvox_message());
        return 0;
    }
    coarse();
    channels();
    constant();
    memory();
    clvox_context_destroy(&ctx);
    return check_end();
}
