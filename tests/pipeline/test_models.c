/* SPDX-License-Identifier: Apache-2.0 */
/* What every compositive model promises, on phantoms whose true map is known. */
#include <stdint.h>

#include "base/matrix.h"
#include "check.h"
#include "clvox/registration.h"
#include "pipeline/phantom.h"

static clvox_context *ctx;
static const char *const names[] = {[CLVOX_DEFORM_GREEDY] = "greedy", [CLVOX_DEFORM_SYN] = "syn"};

typedef struct pair {
    clv_phantom phantom;
    clv_phantom_warp warp;
    clvox_volume *fixed, *moving, *labels;
} pair;

static void make_pair(pair *p, const int size[3], const double spacing[3], bool oblique, double amplitude,
                      uint64_t seed)
{
    clvox_grid grid;
    clv_phantom_grid(size, spacing, oblique, &grid);
    check_must(clv_phantom_make(CLV_PHANTOM_TEXTURED, &grid, seed, 0, &p->phantom));
    check_must(clv_phantom_warp_make(&grid, amplitude, seed, &p->warp));
    check_must(clv_phantom_image(&p->phantom, &grid, NULL, &p->warp, 1, &p->fixed));
    check_must(clv_phantom_image(&p->phantom, &grid, NULL, NULL, 2, &p->moving));
    check_must(clv_phantom_labels(&p->phantom, &grid, NULL, &p->warp, &p->labels));
}

static void free_pair(pair *p)
{
    clv_phantom_free(&p->phantom);
    clvox_volume_destroy(&p->fixed);
    clvox_volume_destroy(&p->moving);
    clvox_volume_destroy(&p->labels);
}

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
    const clvox_register_images images = {.fixed = {fixed}, .moving = {moving}, .channels = 1};
    return clvox_register(ctx, &images, o, r);
}

/* Mean end-point error inside the head, in voxels of the smallest edge. */
static double error_of(const pair *p, const clvox_volume *warp)
{
    const clvox_grid *g = &warp->grid;
    double edge[3], sum = 0;
    size_t n = clvox_grid_voxels(g), i = 0, count = 0;
    clvox_grid_spacing(g, edge);
    for (int z = 0; z < g->size[2]; z++)
        for (int y = 0; y < g->size[1]; y++)
            for (int x = 0; x < g->size[0]; x++, i++) {
                double at[3], truth[3], square = 0;
                if (!(p->labels->data[i] > 0))
                    continue;
                clv_matrix_apply(g->to_ras, (const double[3]){x, y, z}, at);
                clv_phantom_warp_at(&p->warp, at, truth);
                for (size_t k = 0; k < 3; k++)
                    square += pow((double)warp->data[k * n + i] - truth[k], 2);
                sum += sqrt(square);
                count++;
            }
    return sum / (double)count / fmin(edge[0], fmin(edge[1], edge[2]));
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
        make_pair(&p, grids[g].size, grids[g].spacing, grids[g].oblique, grids[g].amplitude, 7 + g);
        for (int m = 0; m < (g == 0 ? 4 : 1); m++) {
            clvox_register_options o;
            clvox_register_result r;
            CHECK_CASE("%s recovers a known warp: %s, %s", names[deform], grids[g].name, metric_names[m]);
            start(&o, deform);
            o.metric = metrics[m];
            check_must(run(p.fixed, p.moving, &o, &r));
            double mean = error_of(&p, r.warp), before;
            memset(r.warp->data, 0, 3 * sizeof(float) * clvox_grid_voxels(&r.warp->grid));
            before = error_of(&p, r.warp);
            printf(
                "# end-point error %.3f of %.3f voxels, metric %.4f to %.4f, J %.2f..%.2f, inverse %.4f mm\n",
                mean, before, r.metric_linear, r.metric_after, r.jacobian.smallest, r.jacobian.largest,
                r.inverse_error_mm[1]);
            CHECK_THAT(mean <= (m == 3 ? .5 : grids[g].most) && mean < .7 * before, "%.3f voxels", mean);
            CHECK(r.jacobian.folded == 0 && r.jacobian.smallest > .02 && r.suspicions == 0);
            CHECK(r.ncc_after > r.ncc_linear || m == 0 || m == 3);
            CHECK(r.inverse_error_mm[1] < .05);
            clvox_register_result_free(&r);
        }
        free_pair(&p);
    }
}

static void repeats(clvox_deform deform)
{
    pair p;
    clvox_register_options o;
    clvox_register_result r, again;
    make_pair(&p, (int[3]){37, 33, 29}, (double[3]){1, 2, 1.5}, true, 2, 3);
    start(&o, deform);
    CHECK_CASE("two runs of %s give the same bits", names[deform]);
    check_must(run(p.fixed, p.moving, &o, &r));
    check_must(run(p.fixed, p.moving, &o, &again));
    CHECK(!memcmp(r.warp->data, again.warp->data, 3 * sizeof(float) * clvox_grid_voxels(&r.warp->grid)));
    clvox_register_result_free(&r);
    clvox_register_result_free(&again);
    free_pair(&p);
}

/* Mean |a(b(x)) - x| inside the head, in voxels. */
static double apart(const pair *p, clvox_volume *a, clvox_volume *b)
{
    const clvox_transform first = {.is_warp = 1, .warp = b}, second = {.is_warp = 1, .warp = a};
    const clvox_link links[2] = {{&first, 0}, {&second, 0}};
    clvox_volume *both;
    double sum = 0;
    size_t n = clvox_grid_voxels(&b->grid), count = 0;
    check_must(clvox_compose(ctx, &b->grid, links, 2, &both));
    for (size_t i = 0; i < n; i++)
        if (p->labels->data[i] > 0) {
            double x = (double)both->data[i], y = (double)both->data[n + i],
                   z = (double)both->data[2 * n + i];
            sum += sqrt(x * x + y * y + z * z);
            count++;
        }
    clvox_volume_destroy(&both);
    return sum / (double)count;
}

static void exchange(void)
{
    pair p;
    clvox_register_options o;
    clvox_register_result a, b;
    make_pair(&p, (int[3]){53, 50, 47}, (double[3]){1, 1, 1}, false, 2.5, 11);
    CHECK_CASE("syn leaves an identical pair where it is");
    start(&o, CLVOX_DEFORM_SYN);
    check_must(run(p.moving, p.moving, &o, &a));
    CHECK_THAT(a.largest_mm < .01, "moved by %g mm", a.largest_mm);
    clvox_register_result_free(&a);
    CHECK_CASE("exchanging the images gives syn's inverse");
    o.inverse = 1;
    check_must(run(p.fixed, p.moving, &o, &a));
    check_must(run(p.moving, p.fixed, &o, &b));
    double round = apart(&p, b.warp, a.warp), own = apart(&p, a.inverse_warp, a.warp);
    printf("# there and back by two runs %.4f voxels, by the inverse of one %.4f\n", round, own);
    CHECK_THAT(round < .1 && own < .05, "%g and %g", round, own);
    clvox_register_result_free(&a);
    clvox_register_result_free(&b);
    free_pair(&p);
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
    make_pair(&p, (int[3]){29, 27, 25}, (double[3]){1, 1, 1}, false, 1, 5);
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
    free_pair(&p);
}

int main(void)
{
    if (clvox_context_create(NULL, &ctx) < 0) {
        printf("1..0 # SKIP %s\n", clvox_message());
        return 77;
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
