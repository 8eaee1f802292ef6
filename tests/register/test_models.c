/* SPDX-License-Identifier: Apache-2.0 */
/* What every compositive model promises, on phantoms whose true map is known. */
#include <stdint.h>

#include "base/matrix.h"
#include "check.h"
#include "clvox/registration.h"
#include "register/pair.h"

static clvox_context *ctx;
static const char *const names[] = {[CLVOX_DEFORM_GREEDY] = "greedy", [CLVOX_DEFORM_SYN] = "syn"};

static void start(clvox_register_options *o, clvox_deform deform)
{
    clvox_register_defaults(o);
    o->deform = deform;
    clvox_register_preset(o, CLVOX_PRESET_DEFAULT);
    o->init = CLVOX_INIT_HEADER;
    o->linear = CLVOX_LINEAR_NONE;
}

static int run(const clvox_volume *fixed, const clvox_volume *moving, const clvox_register_options *o,
               clvox_register_result *r)
{
    return pair_register(ctx, fixed, moving, NULL, NULL, o, r);
}

static void recovery(clvox_deform deform)
{
    static const struct {
        int size[3];
        double spacing[3];
        bool oblique;
        double amplitude, most;
        const char *name;
    } grids[] = {
        {{53, 50, 47}, {1, 1, 1}, false, 3.1, .35, "1 mm"},
        {{47, 53, 29}, {1.5, 1.2, 2}, true, 2.5, .35, "anisotropic, oblique, prime sizes"},
        {{83, 79, 1}, {1, 1, 3}, false, 1.8, .5, "one slice"},
    };
    static const clvox_metric metrics[] = {CLVOX_METRIC_LNCC, CLVOX_METRIC_SSD, CLVOX_METRIC_NCC,
                                           CLVOX_METRIC_MI};
    static const char *const metric_names[] = {"LNCC", "SSD", "NCC", "MI"};
    for (size_t g = 0; g < sizeof grids / sizeof *grids; g++) {
        pair p;
        pair_make(&p, grids[g].size, grids[g].spacing, grids[g].oblique, grids[g].amplitude, 7 + g);
        for (int m = 0; m < (g == 0 ? 4 : 1); m++) {
            clvox_register_options o;
            clvox_register_result r;
            CHECK_CASE("%s recovers a known warp: %s, %s", names[deform], grids[g].name, metric_names[m]);
            start(&o, deform);
            o.metric = metrics[m];
            check_must(run(p.fixed, p.moving, &o, &r));
            double largest, mean = pair_error(&p, &r, NULL, &largest), before = pair_start(&p, NULL);
            printf(
                "# end-point error %.3f of %.3f voxels, metric %.4f to %.4f, J %.2f..%.2f, inverse %.4f mm\n",
                mean, before, r.metric_linear, r.metric_after, r.jacobian.smallest, r.jacobian.largest,
                r.inverse_error_mm[1]);
            CHECK_THAT(mean <= (m == 3 ? .5 : grids[g].most) && mean < .7 * before, "%.3f voxels", mean);
            CHECK(r.jacobian.folded == 0 && r.jacobian.smallest > .02 && (m == 3 || r.suspicions == 0));
            CHECK(r.ncc_after > r.ncc_linear || m == 0 || m == 3);
            CHECK(r.inverse_error_mm[1] < .05);
            clvox_register_result_free(&r);
        }
        pair_free(&p);
    }
}

static void repeats(clvox_deform deform)
{
    pair p;
    clvox_register_options o;
    clvox_register_result r, again;
    pair_make(&p, (int[3]){37, 33, 29}, (double[3]){1, 2, 1.5}, true, 2, 3);
    start(&o, deform);
    CHECK_CASE("two runs of %s give the same bits", names[deform]);
    check_must(run(p.fixed, p.moving, &o, &r));
    check_must(run(p.fixed, p.moving, &o, &again));
    CHECK(!memcmp(r.warp->data, again.warp->data, 3 * sizeof(float) * clvox_grid_voxels(&r.warp->grid)));
    clvox_register_result_free(&r);
    clvox_register_result_free(&again);
    pair_free(&p);
}

static void exchange(void)
{
    pair p;
    clvox_register_options o;
    clvox_register_result a, b;
    pair_make(&p, (int[3]){53, 50, 47}, (double[3]){1, 1, 1}, false, 2.5, 11);
    CHECK_CASE("syn leaves an identical pair where it is");
    start(&o, CLVOX_DEFORM_SYN);
    check_must(run(p.moving, p.moving, &o, &a));
    CHECK_THAT(a.largest_mm < .01, "moved by %g mm", a.largest_mm);
    clvox_register_result_free(&a);
    CHECK_CASE("exchanging the images gives syn's inverse");
    o.inverse = 1;
    check_must(run(p.fixed, p.moving, &o, &a));
    check_must(run(p.moving, p.fixed, &o, &b));
    double largest, round = pair_detour(a.warp, b.warp, p.labels, &largest),
                    own = pair_detour(a.warp, a.inverse_warp, p.labels, &largest);
    printf("# there and back by two runs %.4f voxels, by the inverse of one %.4f\n", round, own);
    CHECK_THAT(round < .1 && own < .05, "%g and %g", round, own);
    clvox_register_result_free(&a);
    clvox_register_result_free(&b);
    pair_free(&p);
}

static void small(clvox_deform deform)
{
    static const int sizes[][3] = {{1, 1, 1}, {1, 13, 17}, {2, 2, 2}, {517, 3, 2}, {5, 1, 1}};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        clvox_grid grid;
        clv_phantom phantom;
        clvox_volume *fixed, *moving;
        clvox_register_options o;
        clvox_register_result r;
        CHECK_CASE("%s takes or refuses %dx%dx%d", names[deform], sizes[s][0], sizes[s][1], sizes[s][2]);
        clv_phantom_grid(sizes[s], (double[3]){1, 1, 1}, false, &grid);
        check_must(clv_phantom_make(CLV_PHANTOM_BALL, &grid, 1, 0, &phantom));
        check_must(clv_phantom_image(&phantom, &grid, NULL, NULL, 1, &fixed));
        check_must(clv_phantom_image(&phantom, &grid, NULL, NULL, 1, &moving));
        moving->data[0] += 3;
        moving->data[clvox_grid_voxels(&grid) / 2] = NAN;
        start(&o, deform);
        int status = run(fixed, moving, &o, &r);
        CHECK_THAT(status == CLVOX_OK || (status == CLVOX_ERROR_DATA && clvox_message()[0]), "%s",
                   clvox_message());
        for (size_t i = 0; status == CLVOX_OK && i < 3 * clvox_grid_voxels(&grid); i++)
            CHECK(isfinite(r.warp->data[i]));
        if (status == CLVOX_OK)
            clvox_register_result_free(&r);
        clvox_volume_destroy(&fixed);
        clvox_volume_destroy(&moving);
        clv_phantom_free(&phantom);
    }
}

static int stop(void *user, int level, int iteration, double metric, double fraction)
{
    int *calls = user;
    (void)metric;
    CHECK(level >= 0 && iteration >= 0 && fraction >= 0 && fraction <= 1 + 1e-9);
    return ++*calls == 2;
}

static void stopped(clvox_deform deform)
{
    pair p;
    clvox_register_options o;
    clvox_register_result r;
    int calls = 0;
    pair_make(&p, (int[3]){29, 27, 25}, (double[3]){1, 1, 1}, false, 1, 5);
    CHECK_CASE("%s stops when it is told to", names[deform]);
    start(&o, deform);
    o.progress = stop;
    o.user = &calls;
    CHECK(run(p.fixed, p.moving, &o, &r) == CLVOX_ERROR_STOPPED && calls == 2 && !r.warp);
    CHECK_CASE("%s without iterations is the linear part alone", names[deform]);
    start(&o, deform);
    memset(o.iterations, 0, sizeof o.iterations);
    check_must(run(p.fixed, p.moving, &o, &r));
    CHECK_THAT(r.largest_mm < 1e-6, "%g", r.largest_mm);
    clvox_register_result_free(&r);
    pair_free(&p);
}

int main(void)
{
    if (clvox_context_create(NULL, &ctx) < 0) {
        printf("1..0 # SKIP %s\n", clvox_message());
        return 0;
    }
    for (int deform = CLVOX_DEFORM_GREEDY; deform <= CLVOX_DEFORM_SYN; deform++) {
        recovery((clvox_deform)deform);
        repeats((clvox_deform)deform);
        small((clvox_deform)deform);
        stopped((clvox_deform)deform);
    }
    exchange();
    clvox_context_destroy(&ctx);
    return check_end();
}
