/* SPDX-License-Identifier: Apache-2.0 */
/* What greedy and symmetric registration recover: pairs whose true map is known,
 * under every metric, contrast and channel. */
#include <stdint.h>

#include "base/matrix.h"
#include "check.h"
#include "clvox/registration.h"
#include "register/pair.h"

enum { MODELS = 2, METRICS = 4 };

static clvox_context *ctx;
static const clvox_deform models[MODELS] = {CLVOX_DEFORM_GREEDY, CLVOX_DEFORM_SYN};
static const char *const model_names[MODELS] = {"greedy", "syn"};
static const char *const metric_names[METRICS] = {"SSD", "NCC", "LNCC", "MI"};

/* Whether the metric says that the images are more alike at the end. */
static bool improved(const clvox_register_result *r, clvox_metric metric)
{
    return metric == CLVOX_METRIC_SSD ? r->metric_after < r->metric_linear
                                      : r->metric_after > r->metric_linear;
}

/* The grids differ in everything; an affine comes first. */
static void recovery(void)
{
    pair p;
    pair_apart(&p, 3, 31);
    double before = pair_start(&p, NULL), largest;
    for (int model = 0; model < MODELS; model++)
        for (int metric = 0; metric < METRICS; metric++) {
            clvox_register_options o;
            clvox_register_result r;
            CHECK_CASE("%s by %s recovers a known warp behind an affine, between oblique anisotropic grids",
                       model_names[model], metric_names[metric]);
            pair_options(&o, models[model], (clvox_metric)metric);
            o.init = CLVOX_INIT_MATRIX;
            memcpy(o.matrix, p.matrix, sizeof o.matrix);
            check_must(pair_register(ctx, p.fixed, p.moving, NULL, NULL, &o, &r));
            double mean = pair_error(&p, &r, NULL, &largest);
            printf("# %.3f voxels before, %.3f after (%.3f at most); metric %.4g, %.4g\n", before, mean,
                   largest, r.metric_linear, r.metric_after);
            CHECK_THAT(mean <= .4 * before && largest < 1, "%.3f of the start, %.3f voxels at most",
                       mean / before, largest);
            CHECK(improved(&r, o.metric) && r.ncc_after > r.ncc_linear);
            CHECK(r.jacobian.folded == 0 && !memcmp(r.matrix, p.matrix, sizeof r.matrix));
            clvox_register_result_free(&r);
        }
    pair_free(&p);
}

static double smooth_field(const double t[3])
{
    return sin(2.1 * t[0] + .4) * cos(1.7 * t[1]) + .5 * sin(1.3 * t[2] + t[0]);
}

/* Changes the values of one image in place. */
static void recolour(clvox_volume *v, int how)
{
    const int *size = v->grid.size;
    size_t i = 0;
    for (int z = 0; z < size[2]; z++)
        for (int y = 0; y < size[1]; y++)
            for (int x = 0; x < size[0]; x++, i++) {
                const double t[3] = {3. * x / size[0] - 1.5, 3. * y / size[1] - 1.5, 3. * z / size[2] - 1.5};
                double value = (double)v->data[i];
                if (how == 0)
                    value = 900 - value;
                else if (how == 1)
                    value = value * exp(.2 * smooth_field(t));
                else
                    value = 300 - fabs(value - 420); /* two tissues of one colour */
                v->data[i] = (float)value;
            }
}

static void contrasts(void)
{
    static const struct {
        clvox_metric metric;
        int how;
        const char *name;
    } rows[] = {
        {CLVOX_METRIC_LNCC, 0, "LNCC and an inverted image"},
        {CLVOX_METRIC_LNCC, 1, "LNCC and a smooth bias field"},
        {CLVOX_METRIC_MI, 2, "MI and a contrast that is not monotone"},
    };
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        pair p;
        pair_make(&p, (int[3]){42, 45, 40}, (double[3]){1, 1, 1}, false, 2, 41);
        recolour(p.moving, rows[k].how);
        double before = pair_start(&p, NULL), largest;
        for (int model = 0; model < MODELS; model++) {
            clvox_register_options o;
            clvox_register_result r;
            CHECK_CASE("%s: %s", model_names[model], rows[k].name);
            pair_options(&o, models[model], rows[k].metric);
            check_must(pair_register(ctx, p.fixed, p.moving, NULL, NULL, &o, &r));
            double mean = pair_error(&p, &r, NULL, &largest);
            printf("# %.3f voxels before, %.3f after (%.3f at most); metric %.4g, %.4g\n", before, mean,
                   largest, r.metric_linear, r.metric_after);
            CHECK_THAT(mean <= .6 * before, "%.3f of the start", mean / before);
            CHECK(improved(&r, o.metric) && r.jacobian.folded == 0);
            clvox_register_result_free(&r);
        }
        pair_free(&p);
    }
}

/* True and local gradients and the window's radius do different things well. */
static void windows(void)
{
    static const int radii[] = {1, 3, 5};
    pair p;
    pair_make(&p, (int[3]){40, 43, 37}, (double[3]){1, 1.1, 1}, false, 2, 43);
    double before = pair_start(&p, NULL), largest;
    for (int model = 0; model < MODELS; model++) {
        clvox_volume *warps[6];
        for (int k = 0; k < 6; k++) {
            clvox_register_options o;
            clvox_register_result r;
            pair_options(&o, models[model], CLVOX_METRIC_LNCC);
            o.radius = radii[k / 2];
            o.local_gradient = k % 2;
            CHECK_CASE("%s: LNCC of radius %d, %s gradient", model_names[model], o.radius,
                       k % 2 ? "local" : "true");
            check_must(pair_register(ctx, p.fixed, p.moving, NULL, NULL, &o, &r));
            double mean = pair_error(&p, &r, NULL, &largest);
            printf("# %.3f voxels before, %.3f after (%.3f at most); LNCC %.4f, %.4f\n", before, mean,
                   largest, r.metric_linear, r.metric_after);
            CHECK_THAT(mean <= .45 * before, "%.3f of the start", mean / before);
            CHECK(improved(&r, o.metric) && r.jacobian.folded == 0);
            for (int other = 0; other < k; other++) {
                pair_distance(r.warp, warps[other], p.labels, &largest);
                CHECK_THAT(largest > 1e-3, "as with run %d: %g voxels", other, largest);
            }
            warps[k] = r.warp;
            r.warp = NULL;
            clvox_register_result_free(&r);
        }
        for (int k = 0; k < 6; k++)
            clvox_volume_destroy(&warps[k]);
    }
    pair_free(&p);
}

/* Steps have a stated length however small the force is; a level that loses by
 * them is undone. MI has its maximum beside the identity. */
static void identity(void)
{
    static const double most[MODELS][METRICS] = {{.01, .01, .01, 2}, {.01, .01, .01, 2}};
    pair p;
    clvox_volume *still;
    pair_make(&p, (int[3]){33, 37, 31}, (double[3]){1, 2, 1.5}, true, 2, 3);
    check_must(clvox_volume_create(&p.fixed_grid, 3, CLVOX_KIND_DISPLACEMENT, &still));
    for (int model = 0; model < MODELS; model++)
        for (int k = 0; k < 2 * METRICS; k++) {
            clvox_register_options o;
            clvox_register_result r;
            double largest;
            CHECK_CASE("%s by %s leaves an image and itself in place (%s)", model_names[model],
                       metric_names[k % METRICS], k < METRICS ? "no momentum" : "momentum");
            pair_options(&o, models[model], (clvox_metric)(k % METRICS));
            o.momentum = k < METRICS ? 0 : .8;
            check_must(pair_register(ctx, p.moving, p.moving, NULL, NULL, &o, &r));
            double mean = pair_distance(r.warp, still, NULL, &largest);
            printf("# moved by %.4f voxels, %.4f at most\n", mean, largest);
            CHECK_THAT(largest <= most[model][k % METRICS] && mean <= .2 * most[model][k % METRICS],
                       "%.4f, %.4f", mean, largest);
            clvox_register_result_free(&r);
        }
    clvox_volume_destroy(&still);
    pair_free(&p);
}

/* The volume within a larger grid, lower voxels of its corner's value before it. */
static clvox_volume *within(const clvox_volume *v, const clvox_grid *grid, int lower)
{
    clvox_volume *out;
    const int *from = v->grid.size, *to = grid->size;
    check_must(clvox_volume_create(grid, 1, v->kind, &out));
    for (size_t i = 0; i < clvox_grid_voxels(grid); i++)
        out->data[i] = v->data[0];
    for (int z = 0; z < from[2]; z++)
        for (int y = 0; y < from[1]; y++)
            for (int x = 0; x < from[0]; x++)
                out->data[((size_t)(z + lower) * (size_t)to[1] + (size_t)(y + lower)) * (size_t)to[0] +
                          (size_t)(x + lower)] = v->data[((size_t)z * (size_t)from[1] + (size_t)y) *
                                                             (size_t)from[0] + (size_t)x];
    return out;
}

/* Of a grid that is mostly empty only the part with content is deformed. */
static void room(void)
{
    enum { LOWER = 31, UPPER = 24, REACH = 13 };
    pair p;
    pair_make(&p, (int[3]){40, 36, 38}, (double[3]){1, 1, 1}, true, 2, 11);
    clvox_grid small = p.fixed_grid, wide = small;
    for (int i = 0; i < 3; i++) {
        wide.size[i] += LOWER + UPPER;
        for (int k = 0; k < 3; k++)
            wide.to_ras[k][3] -= LOWER * small.to_ras[k][i];
    }
    clvox_volume *fixed = within(p.fixed, &wide, LOWER), *labels = within(p.labels, &wide, LOWER);
    clvox_volume_destroy(&p.fixed);
    clvox_volume_destroy(&p.labels);
    p.fixed = fixed;
    p.labels = labels;
    p.fixed_grid = wide;
    double before = pair_start(&p, NULL), largest;
    for (int model = 0; model < MODELS; model++) {
        clvox_register_options o;
        clvox_register_result r;
        CHECK_CASE("%s works where the fixed image has content", model_names[model]);
        pair_options(&o, models[model], CLVOX_METRIC_LNCC);
        check_must(pair_register(ctx, p.fixed, p.moving, NULL, NULL, &o, &r));
        double mean = pair_error(&p, &r, NULL, &largest), beyond = 0;
        size_t n = clvox_grid_voxels(&wide), i = 0;
        for (int z = 0; z < wide.size[2]; z++)
            for (int y = 0; y < wide.size[1]; y++)
                for (int x = 0; x < wide.size[0]; x++, i++)
                    if (x < LOWER - REACH || y < LOWER - REACH || z < LOWER - REACH ||
                        x > LOWER + small.size[0] + REACH || y > LOWER + small.size[1] + REACH)
                        for (size_t k = 0; k < 3; k++)
                            beyond = fmax(beyond, fabs((double)r.warp->data[k * n + i]));
        printf("# %.3f voxels before, %.3f after; %.3g mm beyond\n", before, mean, beyond);
        CHECK(mean <= .5 * before && beyond <= 2e-3 && r.jacobian.folded == 0);
        clvox_register_result_free(&r);
    }
    pair_free(&p);
}

typedef struct ascent {
    double values[16];
    int count;
} ascent;

static int remember(void *user, int level, int iteration, double metric, double fraction)
{
    ascent *a = user;
    (void)level, (void)iteration, (void)fraction;
    if (a->count < 16)
        a->values[a->count++] = metric;
    return 0;
}

/* In small steps without momentum the metric climbs from report to report. */
static void climbs(void)
{
    pair p;
    pair_make(&p, (int[3]){37, 41, 39}, (double[3]){1, 1, 1}, false, 2, 47);
    for (int model = 0; model < MODELS; model++)
        for (int metric = 0; metric < METRICS; metric++) {
            clvox_register_options o;
            clvox_register_result r;
            ascent a = {.count = 0};
            CHECK_CASE("%s by %s climbs in small steps", model_names[model], metric_names[metric]);
            pair_options(&o, models[model], (clvox_metric)metric);
            o.levels = 1;
            o.shrink[0] = 1;
            o.iterations[0] = 31;
            o.finest_step = .05;
            o.progress = remember;
            o.user = &a;
            check_must(pair_register(ctx, p.fixed, p.moving, NULL, NULL, &o, &r));
            printf("# start %.5g:", r.metric_linear);
            for (int i = 0; i < a.count; i++)
                printf(" %.5g", a.values[i]);
            printf("\n");
            CHECK(a.count == 5 && r.iterations[0] == 31);
            for (int i = 1; i < a.count - 1; i++)
                CHECK_THAT(a.values[i] > a.values[i - 1], "%.7g after %.7g", a.values[i], a.values[i - 1]);
            clvox_register_result_free(&r);
        }
    pair_free(&p);
}

/* Channel 0 knows the left half alone, channel 1 all of it. */
static void channels(void)
{
    pair p;
    clvox_volume *half_fixed, *half_moving, *right;
    pair_make(&p, (int[3]){44, 40, 37}, (double[3]){1, 1, 1}, false, 2, 53);
    const clvox_grid *grid = &p.fixed_grid;
    check_must(clvox_volume_create(grid, 1, CLVOX_KIND_SCALAR, &half_fixed));
    check_must(clvox_volume_create(grid, 1, CLVOX_KIND_SCALAR, &half_moving));
    check_must(clvox_volume_create(grid, 1, CLVOX_KIND_LABEL, &right));
    for (size_t i = 0; i < clvox_grid_voxels(grid); i++) {
        int x = (int)(i % (size_t)grid->size[0]);
        float keep = x < 19 ? 1 : 0;
        half_fixed->data[i] = keep * p.fixed->data[i];
        half_moving->data[i] = keep * p.moving->data[i];
        right->data[i] = x > 24 ? p.labels->data[i] : 0;
    }
    double before = pair_start(&p, right), largest;
    for (int model = 0; model < MODELS; model++) {
        static const double weights[][2] = {{1, 0}, {0, 0}, {1, 3}, {8, 24}, {0, 2}};
        enum { RUNS = sizeof weights / sizeof *weights };
        clvox_register_options o;
        clvox_register_result one, other, r[RUNS];
        double mean[RUNS];
        size_t bytes = 3 * clvox_grid_voxels(grid) * sizeof(float);
        pair_options(&o, models[model], CLVOX_METRIC_LNCC);
        o.momentum = .5;
        check_must(pair_register(ctx, half_fixed, half_moving, NULL, NULL, &o, &one));
        check_must(pair_register(ctx, p.fixed, p.moving, NULL, NULL, &o, &other));
        for (int k = 0; k < RUNS; k++) {
            const clvox_register_images images = {.fixed = {half_fixed, p.fixed},
                                                  .moving = {half_moving, p.moving},
                                                  .weight = {weights[k][0], weights[k][1]},
                                                  .channels = 2};
            check_must(clvox_register(ctx, &images, &o, &r[k]));
            mean[k] = pair_error(&p, &r[k], right, &largest);
            printf("# weights %g, %g: %.3f voxels before, %.3f after\n", weights[k][0], weights[k][1], before,
                   mean[k]);
        }
        CHECK_CASE("%s follows the channel that has contrast", model_names[model]);
        CHECK(mean[0] > .8 * before && mean[1] < .75 * before && mean[2] < .6 * before);
        CHECK_CASE("%s: a channel of weight 0 changes no bit", model_names[model]);
        CHECK(!memcmp(r[0].warp->data, one.warp->data, bytes) && r[0].metric_after == one.metric_after);
        CHECK(!memcmp(r[4].warp->data, other.warp->data, bytes) && r[4].metric_after == other.metric_after);
        CHECK_CASE("%s: only the ratio of the weights matters", model_names[model]);
        CHECK(!memcmp(r[2].warp->data, r[3].warp->data, bytes));
        CHECK(memcmp(r[1].warp->data, r[2].warp->data, bytes) != 0);
        clvox_register_result_free(&one);
        clvox_register_result_free(&other);
        for (int k = 0; k < RUNS; k++)
            clvox_register_result_free(&r[k]);
    }
    clvox_volume_destroy(&half_fixed);
    clvox_volume_destroy(&half_moving);
    clvox_volume_destroy(&right);
    pair_free(&p);
}

/* Where other buffers of a run are as large as a field. Axes are at right angles, so that mm are voxels. */
static void few_voxels(void)
{
    static const int sizes[][3] = {{12, 12, 12}, {5, 4, 3}, {33, 1, 29}, {2, 2, 2}};
    for (int k = 0; k < 8; k++) {
        int model = k % 2;
        pair p;
        clvox_register_options o;
        clvox_register_result r;
        clvox_volume *u, *v;
        const int *size = sizes[k / 2];
        pair_make(&p, size, (double[3]){2, 2, 2}, false, .1, 61 + k);
        CHECK_CASE("%s: the inverse of %d x %d x %d voxels, and how far it is off", model_names[model], size[0],
                   size[1], size[2]);
        pair_options(&o, models[model], CLVOX_METRIC_LNCC);
        o.inverse = 1;
        check_must(pair_register(ctx, p.fixed, p.moving, NULL, NULL, &o, &r));
        u = r.warp;
        v = r.inverse_warp;
        double largest = 0, n = (double)size[0] * size[1] * size[2];
        for (size_t i = 0; i < 3 * (size_t)n; i++)
            largest = fmax(largest, fabs((double)u->data[i] + (double)v->data[i]));
        printf("# %.3g voxels, %.3g mm; warp and inverse differ by %.3g mm\n", r.inverse_error_voxels[0],
               r.inverse_error_mm[0], largest);
        for (int i = 0; i < 2; i++)
            CHECK(fabs(r.inverse_error_mm[i] - 2 * r.inverse_error_voxels[i]) <= 1e-5 * r.inverse_error_mm[i]);
        CHECK(r.inverse_error_voxels[0] < .05 && largest < 1);
        clvox_register_result_free(&r);
        pair_free(&p);
    }
}

int main(void)
{
    if (clvox_context_create(NULL, &ctx) < 0) {
        printf("1..0 # SKIP %s\n", clvox_message());
        return 0;
    }
    recovery();
    contrasts();
    windows();
    identity();
    room();
    climbs();
    channels();
    few_voxels();
    clvox_context_destroy(&ctx);
    return check_end();
}
