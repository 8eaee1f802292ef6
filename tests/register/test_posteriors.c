/* SPDX-License-Identifier: Apache-2.0 */
/* Tissue probabilities: as they come, and as a term beside images and alone. */
#include <string.h>
#include <unistd.h>

#include "clvox/surface.h"
#include "mesh/meshes.h"
#include "op/harness.h"
#include "register/pair.h"

static clvox_context *ctx;

enum { TISSUES = 3 };

/* ---- as they come ---------------------------------------------------------- */

/* Two volumes of a few voxels in a row. */
static clvox_volume *row_of(int frames, int voxels, const float *values)
{
    const clvox_grid grid = {{voxels, 1, 1}, {{2, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}, {0, 0, 0, 1}}};
    clvox_volume *out;
    assert_ok(clvox_volume_create(&grid, frames, CLVOX_KIND_SCALAR, &out));
    memcpy(out->data, values, (size_t)(frames * voxels) * sizeof *values);
    return out;
}

static void scales_and_missing_tissues(void **state)
{
    (void)state;
    /* The second tissue is missing in one, the last two in the other. */
    clvox_volume *percent = row_of(4, 3, (const float[]){100, 20, 0, 0, 60, 50, 0, 21, 25, 0, 0, 25});
    clvox_volume *bytes = row_of(3, 2, (const float[]){255, 51, 0, 0, 0, 204});
    clvox_posteriors p;
    assert_ok(clvox_posteriors_create(percent, bytes, &p));
    assert_int_equal(p.tissues, 2);
    assert_true(p.tissue[0] == 1 && p.tissue[1] == 3);
    assert_true(p.certain[0] == 100 && p.certain[1] == 255);
    assert_true(p.left_out[0] == 2 && p.left_out[1] == 0);
    /* The middle voxel adds up to 101 percent. */
    const float fixed[] = {1, 20 / 101.f, 0, 0, 21 / 101.f, .25f}, moving[] = {1, .2f, 0, .8f};
    for (int i = 0; i < 6; i++)
        assert_that(fabsf(p.fixed->data[i] - fixed[i]) < 1e-6f, "%d: %g", i, (double)p.fixed->data[i]);
    for (int i = 0; i < 4; i++)
        assert_that(fabsf(p.moving->data[i] - moving[i]) < 1e-6f, "%d: %g", i, (double)p.moving->data[i]);
    assert_that(fabs(p.rest[0] - (60 / 101. + .75) / 3) < 1e-6 && fabs(p.rest[1]) < 1e-6, "%g, %g", p.rest[0],
                p.rest[1]);
    clvox_posteriors_destroy(&p);
    clvox_volume_destroy(&percent);
    clvox_volume_destroy(&bytes);
}

static void labels_are_tissues(void **state)
{
    (void)state;
    clvox_volume *labels = row_of(1, 5, (const float[]){0, 17, 2, 2, 53}),
                 *others = row_of(1, 4, (const float[]){53, 2, 1, 0});
    clvox_volume *frames = row_of(2, 3, (const float[]){0, .25f, 1, 1, .75f, NAN});
    clvox_posteriors p;
    labels->kind = others->kind = CLVOX_KIND_LABEL;
    assert_ok(clvox_posteriors_create(labels, others, &p));
    assert_true(p.tissues == 2 && p.tissue[0] == 2 && p.tissue[1] == 53 && p.left_out[0] == 1 &&
                p.left_out[1] == 1);
    assert_memory_equal(p.fixed->data, ((const float[]){0, 0, 1, 1, 0, 0, 0, 0, 0, 1}), 10 * sizeof(float));
    assert_memory_equal(p.moving->data, ((const float[]){0, 1, 0, 0, 1, 0, 0, 0}), 8 * sizeof(float));
    clvox_posteriors_destroy(&p);
    /* Label 2 beside frame 2; what is no number is no tissue. */
    assert_ok(clvox_posteriors_create(labels, frames, &p));
    assert_true(p.tissues == 1 && p.tissue[0] == 2);
    assert_memory_equal(p.moving->data, ((const float[]){1, .75f, 0}), 3 * sizeof(float));
    clvox_posteriors_destroy(&p);
    /* Names that float32 cannot hold. */
    labels->names = others->names = (int64_t[]){0, 4000000001, 7, 4000000003};
    labels->name_count = others->name_count = 4;
    memcpy(labels->data, (const float[]){0, 1, 2, 2, 3}, 5 * sizeof(float));
    memcpy(others->data, (const float[]){3, 1, 1, 0}, 4 * sizeof(float));
    assert_ok(clvox_posteriors_create(labels, others, &p));
    assert_true(p.tissues == 2 && p.tissue[0] == 4000000001 && p.tissue[1] == 4000000003);
    clvox_posteriors_destroy(&p);
    labels->names = others->names = NULL;
    clvox_volume_destroy(&labels);
    clvox_volume_destroy(&others);
    clvox_volume_destroy(&frames);
}

static void refused(clvox_volume *fixed, clvox_volume *moving, const char *why)
{
    clvox_posteriors p;
    assert_int_equal(clvox_posteriors_create(fixed, moving, &p), CLVOX_ERROR_DATA);
    assert_that(strstr(clvox_message(), why) != NULL, "%s", clvox_message());
    assert_true(!p.fixed && !p.moving);
    clvox_posteriors_destroy(&p);
    clvox_volume_destroy(&fixed);
    clvox_volume_destroy(&moving);
}

static void posteriors_that_are_none(void **state)
{
    (void)state;
    const float good[] = {.5f, 1, .5f, 0};
    float many[40];
    refused(row_of(2, 2, (const float[]){.7f, 1, .7f, 0}), row_of(2, 2, good),
            "fixed posteriors: the tissues add up to 1.4");
    refused(row_of(2, 2, good), row_of(2, 2, (const float[]){60, 40, 60, 100}),
            "moving posteriors: the tissues add up to 140");
    refused(row_of(2, 2, good), row_of(2, 2, (const float[]){600, 4, 0, 0}), "add up to 600");
    refused(row_of(2, 2, (const float[]){-.2f, 1, .5f, 0}), row_of(2, 2, good), "-0.2 is no probability");
    refused(row_of(2, 2, (const float[]){0, 0, .5f, 1}), row_of(1, 2, good),
            "no tissue in common: 1 in the fixed and 1 in the moving");
    refused(row_of(2, 2, (const float[]){NAN, NAN, NAN, NAN}), row_of(2, 2, good),
            "no tissue in common: 0 in the fixed");
    for (int i = 0; i < 40; i++)
        many[i] = (float)i;
    clvox_volume *labels[2] = {row_of(1, 40, many), row_of(1, 40, many)};
    labels[0]->kind = labels[1]->kind = CLVOX_KIND_LABEL;
    refused(labels[0], labels[1], "39 labels in common; at most 32");
    clvox_volume *warp = row_of(3, 1, good);
    warp->kind = CLVOX_KIND_DISPLACEMENT;
    refused(warp, row_of(2, 2, good), "fixed posteriors: neither");
}

/* ---- as a term ------------------------------------------------------------- */

/* A head, the same deformed, the tissues of both, and an image that says nothing. */
static struct {
    pair p;
    clvox_posteriors made;
    clvox_volume *flat;
} head;

static int set_up(void **state)
{
    (void)state;
    pair_make(&head.p, (const int[3]){41, 37, 31}, (const double[3]){1.2, 1, 1.4}, true, 2.3, 5);
    clvox_volume *fixed = pair_tissues(head.p.fixed, TISSUES, 100),
                 *moving = pair_tissues(head.p.moving, TISSUES, 1);
    assert_ok(clvox_posteriors_create(fixed, moving, &head.made));
    clvox_volume_destroy(&fixed);
    clvox_volume_destroy(&moving);
    assert_ok(clvox_volume_create(&head.p.fixed->grid, 1, CLVOX_KIND_SCALAR, &head.flat));
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    pair_free(&head.p);
    clvox_posteriors_destroy(&head.made);
    clvox_volume_destroy(&head.flat);
    return 0;
}

static int run(const clvox_volume *fixed, const clvox_volume *moving, bool tissues,
               const clvox_register_options *o, clvox_register_result *r)
{
    clvox_register_images images = {.channels = fixed != NULL, .fixed = {fixed}, .moving = {moving}};
    if (tissues) {
        images.fixed_posteriors = head.made.fixed;
        images.moving_posteriors = head.made.moving;
    }
    int status = clvox_register(ctx, &images, o, r);
    if (status >= 0)
        assert_true(r->device_bytes <= clvox_register_bytes(&images, o));
    return status;
}

/* The distance at the truth itself is what interpolation costs; there is no less to be had without fitting
 * that. */
static void alone_they_recover_a_known_map(void **state)
{
    const int *given = *state;
    clvox_register_options o;
    clvox_register_result r;
    clvox_posteriors_errors e;
    pair_options(&o, pair_models[given[0]].deform, CLVOX_METRIC_LNCC);
    o.by_contrast = 1;
    assert_ok(run(NULL, NULL, true, &o, &r));
    assert_ok(clvox_register_posteriors(ctx, &r, &o, head.made.fixed, head.made.moving, NULL, &e));
    double largest, mean = pair_error(&head.p, &r, NULL, &largest), before = pair_start(&head.p, NULL);
    printf(
        "# %.3f voxels of %.3f, largest %.3f; distance %.5f to %.5f; overlap %.3f to %.3f; sd log J %.3f\n",
        mean, before, largest, e.hellinger_linear, e.hellinger_after, e.overlap_linear[1], e.overlap_after[1],
        r.jacobian.sd_log);
    assert_true(r.warped == NULL && r.jacobian.folded == 0 && clvox_grid_equal(&r.grid, &head.p.fixed_grid));
    assert_that(mean < .5 * before, "%g of %g", mean, before);
    assert_true(e.hellinger_after < .7 * e.hellinger_linear &&
                e.overlap_after[1] > e.overlap_linear[1] + .03);
    /* The run reports the same of all tissues and their rest by equal shares: twice the distance over their number. */
    assert_that(fabs(r.metric_after * (TISSUES + 1) / 2 - e.hellinger_after) < .01 * e.hellinger_after,
                "%g, %g", r.metric_after, e.hellinger_after);
    assert_true(r.metric == CLVOX_METRIC_SSD && r.suspicions == 0);
    clvox_register_result_destroy(&r);
    clvox_volume_destroy(&e.carried);
}

static void beside_images(void **state)
{
    const int *given = *state;
    clvox_register_options o;
    clvox_register_result alone, idle, both;
    double largest;
    pair_options(&o, pair_models[given[0]].deform, CLVOX_METRIC_LNCC);
    assert_ok(run(head.p.fixed, head.p.moving, false, &o, &alone));
    assert_ok(run(head.p.fixed, head.p.moving, true, &o, &both));
    double error[] = {pair_start(&head.p, NULL), pair_error(&head.p, &alone, NULL, &largest),
                      pair_error(&head.p, &both, NULL, &largest)};
    printf("# of %.3f voxels %.3f are left by the image, %.3f by tissues, too\n", error[0], error[1],
           error[2]);
    assert_that(error[2] < .5 * error[0] && error[2] < error[1] + .01, "%g, %g of %g", error[1], error[2],
                error[0]);
    clvox_register_result_destroy(&alone);
    /* Without weight not a bit changes. */
    o.iterations[0] = o.iterations[1] = 3;
    assert_ok(run(head.p.fixed, head.p.moving, false, &o, &alone));
    o.posteriors_weight = 0;
    assert_ok(run(head.p.fixed, head.p.moving, true, &o, &idle));
    assert_true(pair_same(alone.warp, idle.warp) && !pair_same(alone.warp, both.warp));
    clvox_register_result_destroy(&alone);
    clvox_register_result_destroy(&idle);
    clvox_register_result_destroy(&both);
}

static int first_metric(void *user, const clvox_step *step)
{
    double *first = user;
    if (isnan(*first))
        *first = step->metric;
    return 0;
}

/* Start of a deformation with part of the moving image's grid missing, where all is rest. */
static void the_term_is_the_distance(void **state)
{
    const int *given = *state;
    enum { CUT = 15 };
    clvox_register_options o;
    clvox_register_result r;
    clvox_posteriors_errors e;
    double first = NAN;
    clvox_volume *whole = head.made.moving, *part = NULL;
    clvox_grid grid = whole->grid;
    grid.size[0] -= CUT;
    for (int i = 0; i < 3; i++)
        grid.to_ras[i][3] += CUT * grid.to_ras[i][0];
    assert_ok(clvox_volume_create(&grid, TISSUES, CLVOX_KIND_SCALAR, &part));
    for (size_t row = 0; row < clvox_grid_voxels(&whole->grid) / (size_t)whole->grid.size[0] * TISSUES; row++)
        memcpy(part->data + row * (size_t)grid.size[0], whole->data + row * (size_t)whole->grid.size[0] + CUT,
               (size_t)grid.size[0] * sizeof(float));
    pair_options(&o, pair_models[given[0]].deform, CLVOX_METRIC_LNCC);
    o.levels = 1;
    o.shrink[0] = 1;
    o.smooth_voxels[0] = 0;
    o.iterations[0] = 1;
    memcpy(o.tissue_weight, (const double[]){1, 2, 3, .5}, 4 * sizeof(double));
    o.tissue_weights = 4;
    o.posteriors_weight = 4;
    o.progress = first_metric;
    o.user = &first;
    const clvox_register_images images = {.fixed_posteriors = head.made.fixed, .moving_posteriors = part};
    assert_ok(clvox_register(ctx, &images, &o, &r));
    assert_ok(clvox_register_posteriors(ctx, &r, &o, head.made.fixed, part, NULL, &e));
    printf("# distance %.6f, the term begins with %.6f\n", e.hellinger_linear, first);
    assert_that(fabs(first + 4 * e.hellinger_linear) < 1e-3 * fabs(first), "%g, %g", e.hellinger_linear,
                first);
    clvox_register_result_destroy(&r);
    clvox_volume_destroy(&e.carried);
    clvox_volume_destroy(&part);
}

/* A tissue of weight 0 is as if it were none, and a weight for all as if it were the term's. */
static void weights_of_tissues(void **state)
{
    (void)state;
    clvox_register_options o;
    clvox_register_result a, b;
    const size_t n = clvox_grid_voxels(&head.made.fixed->grid);
    pair_options(&o, CLVOX_DEFORM_GREEDY, CLVOX_METRIC_LNCC);
    o.iterations[0] = o.iterations[1] = 4;
    memcpy(o.tissue_weight, (const double[]){2, 0, 2, 0}, 4 * sizeof(double));
    o.tissue_weights = 4;
    o.posteriors_weight = 4;
    assert_ok(run(head.p.fixed, head.p.moving, true, &o, &a));
    /* The same of two tissues alone. */
    clvox_volume two[2] = {*head.made.fixed, *head.made.moving};
    for (int side = 0; side < 2; side++) {
        float *data = malloc(2 * n * sizeof *data);
        memcpy(data, two[side].data, n * sizeof *data);
        memcpy(data + n, two[side].data + 2 * n, n * sizeof *data);
        two[side].data = data;
        two[side].frames = 2;
    }
    memcpy(o.tissue_weight, (const double[]){1, 1, 0}, 3 * sizeof(double));
    o.tissue_weights = 3;
    o.posteriors_weight = 8;
    const clvox_register_images images = {.channels = 1,
                                          .fixed = {head.p.fixed},
                                          .moving = {head.p.moving},
                                          .fixed_posteriors = &two[0],
                                          .moving_posteriors = &two[1]};
    assert_ok(clvox_register(ctx, &images, &o, &b));
    assert_true(pair_same(a.warp, b.warp));
    clvox_register_result_destroy(&a);
    clvox_register_result_destroy(&b);
    free(two[0].data);
    free(two[1].data);
}

/* The linear part, between grids that have nothing in common, some of the head being outside of one of
 * them. */
static void the_linear_part_goes_by_them(void **state)
{
    (void)state;
    pair p;
    clvox_posteriors made;
    clvox_register_options o;
    clvox_register_result r, again;
    double largest;
    pair_apart(&p, 0, 9);
    clvox_volume *fixed = pair_tissues(p.fixed, TISSUES, 1), *moving = pair_tissues(p.moving, TISSUES, 255);
    assert_ok(clvox_posteriors_create(fixed, moving, &made));
    const clvox_register_images images = {.fixed_posteriors = made.fixed, .moving_posteriors = made.moving};
    clvox_register_defaults(&o);
    o.deform = CLVOX_DEFORM_NONE;
    assert_ok(clvox_register(ctx, &images, &o, &r));
    assert_ok(clvox_register(ctx, &images, &o, &again));
    assert_true(!r.warp && !r.warped && r.suspicions == 0);
    assert_memory_equal(r.matrix, again.matrix, sizeof r.matrix);
    assert_ok(clvox_volume_create(&p.fixed_grid, 3, CLVOX_KIND_DISPLACEMENT, &r.warp));
    double mean = pair_error(&p, &r, NULL, &largest);
    printf("# %.3f voxels (%.3f at most) after the linear part; ssd of roots %.5f, %.5f\n", mean, largest,
           r.metric_before, r.metric_linear);
    assert_that(mean < .1, "%g", mean);
    assert_that(r.metric_linear < .1 * r.metric_before, "%g, %g", r.metric_before, r.metric_linear);
    clvox_register_result_destroy(&r);
    clvox_register_result_destroy(&again);
    clvox_posteriors_destroy(&made);
    clvox_volume_destroy(&fixed);
    clvox_volume_destroy(&moving);
    pair_free(&p);
}

/* Tissues on another grid than their image, behind a mask, on the finest level coarser than the images,
 * stored in another order: the same map but for what resampling does. */
static void on_other_grids(void **state)
{
    (void)state;
    clvox_register_options o;
    clvox_register_result r;
    double largest;
    clvox_volume *coarse = NULL, *mask = head.p.labels;
    clvox_grid grid;
    clvox_phantom_grid((const int[3]){51, 45, 47}, (const double[3]){1, .95, 1.1}, false, &grid);
    assert_ok(clvox_apply(ctx, head.made.moving, &grid, NULL, 0, CLVOX_INTERPOLATE_LINEAR, 0, &coarse));
    pair_options(&o, CLVOX_DEFORM_SYN, CLVOX_METRIC_LNCC);
    clvox_register_images images = {.channels = 1,
                                    .fixed = {head.flat},
                                    .moving = {head.flat},
                                    .fixed_posteriors = head.made.fixed,
                                    .moving_posteriors = coarse};
    double before = pair_start(&head.p, NULL);
    assert_ok(clvox_register(ctx, &images, &o, &r));
    double elsewhere = pair_error(&head.p, &r, NULL, &largest);
    clvox_register_result_destroy(&r);
    images.moving_posteriors = head.made.moving;
    images.fixed_mask = mask;
    assert_ok(clvox_register(ctx, &images, &o, &r));
    double masked = pair_error(&head.p, &r, NULL, &largest);
    clvox_register_result_destroy(&r);
    o.shrink[1] = 1.4;
    images.channels = 0;
    images.fixed_mask = NULL;
    assert_ok(clvox_register(ctx, &images, &o, &r));
    double coarser = pair_error(&head.p, &r, NULL, &largest);
    assert_true(!r.warped && clvox_grid_equal(&r.warp->grid, &head.p.fixed_grid));
    clvox_register_result_destroy(&r);
    printf("# of %.3f voxels %.3f are left on another grid, %.3f behind a mask, %.3f on a coarser grid\n",
           before, elsewhere, masked, coarser);
    assert_that(elsewhere < .75 * before && masked < .6 * before && coarser < .6 * before, "%g, %g, %g of %g",
                elsewhere, masked, coarser, before);
    clvox_volume_destroy(&coarse);
}

/* Exchanged, syn finds the inverse. */
static void exchanged(void **state)
{
    (void)state;
    clvox_register_options o;
    clvox_register_result there, back;
    double largest;
    pair_options(&o, CLVOX_DEFORM_SYN, CLVOX_METRIC_LNCC);
    assert_ok(run(NULL, NULL, true, &o, &there));
    const clvox_register_images images = {.fixed_posteriors = head.made.moving,
                                          .moving_posteriors = head.made.fixed};
    assert_ok(clvox_register(ctx, &images, &o, &back));
    assert_true(there.exchanged != back.exchanged);
    double mean = pair_there_and_back(&there, &back, head.p.labels, &largest);
    printf("# there and back %.4f voxels, %.3f at most\n", mean, largest);
    assert_that(mean < .02, "%g", mean);
    clvox_register_result_destroy(&there);
    clvox_register_result_destroy(&back);
}

/* ---- newborns -------------------------------------------------------------- */

/* The five tissues of an age, a file each, in one volume; NULL: there is no such data. */
static clvox_volume *newborn(const char *folder, const char *age)
{
    static const int structures[] = {1, 2, 3, 4, 7};
    enum { COUNT = sizeof structures / sizeof *structures };
    clvox_volume *out = NULL, *one = NULL;
    for (int k = 0; k < COUNT; k++) {
        char path[1024];
        snprintf(path, sizeof path, "%s/neonatal_serag/%s/structure%d.nii.gz", folder, age, structures[k]);
        if (access(path, R_OK))
            return NULL;
        assert_ok(clvox_volume_read(path, &one));
        const size_t n = clvox_grid_voxels(&one->grid);
        if (!out)
            assert_ok(clvox_volume_create(&one->grid, COUNT, CLVOX_KIND_SCALAR, &out));
        memcpy(out->data + (size_t)k * n, one->data, n * sizeof *one->data);
        clvox_volume_destroy(&one);
    }
    return out;
}

static double mean_overlap(const clvox_posteriors_errors *e, int tissues)
{
    double sum = 0;
    for (int k = 0; k < tissues; k++)
        sum += e->overlap_after[k] / tissues;
    return sum;
}

/* The surface of a moving tissue, carried by tissues and T2: as closed, of the same topology, as little
 * crossing itself and nearer the fixed one's, which the registration has not seen. */
static void a_surface_is_carried(const clvox_register_result *r, const clvox_register_options *o,
                                 clvox_volume *const tissues[2])
{
    enum { DEEP_GREY = 4 };
    clvox_surface *s[2];
    clvox_shape view[2];
    clvox_shape_errors e;
    for (int side = 0; side < 2; side++) {
        const size_t n = clvox_grid_voxels(&tissues[side]->grid);
        clvox_volume one = *tissues[side];
        one.frames = 1;
        one.data += DEEP_GREY * n;
        assert_ok(clvox_surface_extract(&one, 50, 1, &s[side]));
        clvox_shape_of_surface(s[side], &view[side]);
    }
    assert_ok(clvox_register_shape(ctx, r, o, &view[0], &view[1], &e));
    const clvox_surface carried = {e.carried->vertices, e.carried->elements, e.carried->points,
                                   e.carried->corners};
    clvox_surface_facts before, after;
    assert_ok(clvox_surface_inspect(s[1], &before));
    assert_ok(clvox_surface_inspect(&carried, &after));
    const int crossings = mesh_crossings(&carried);
    printf(
        "# newborns' deep grey matter, %zu triangles: %.3f mm apart, %.3f after; %d crossings, %d before\n",
        carried.triangles, e.mean_linear, e.mean_after, crossings, mesh_crossings(s[1]));
    assert_true(after.open_edges == 0 && after.crowded_edges == 0 && after.flipped_edges == 0);
    assert_true(after.euler == before.euler && after.components == before.components && after.volume > 0);
    assert_int_equal(crossings, 0);
    assert_that(e.mean_after < .7 * e.mean_linear, "%g of %g", e.mean_after, e.mean_linear);
    clvox_shape_destroy(&e.carried);
    clvox_surface_destroy(&s[0]);
    clvox_surface_destroy(&s[1]);
}

/* Heads of 32 and of 40 weeks, whose intensities change with age. */
static void newborns(void **state)
{
    (void)state;
    static const char *const ages[2] = {"w40", "w32"};
    const char *folder = getenv("CLVOX_DATA") ? getenv("CLVOX_DATA") : CLVOX_DATA_DEFAULT;
    clvox_volume *image[2] = {NULL, NULL}, *tissues[2] = {newborn(folder, ages[0]), newborn(folder, ages[1])};
    clvox_posteriors made;
    clvox_register_options o;
    double overlap[2];
    if (!tissues[0] || !tissues[1])
        test_skip("no neonatal_serag in %s", folder);
    for (int side = 0; side < 2; side++) {
        char path[1024];
        snprintf(path, sizeof path, "%s/neonatal_serag/%s/T2.nii.gz", folder, ages[side]);
        assert_ok(clvox_volume_read(path, &image[side]));
    }
    assert_ok(clvox_posteriors_create(tissues[0], tissues[1], &made));
    assert_true(made.tissues == 5 && made.certain[0] == 100 && made.certain[1] == 100);
    clvox_register_images images = {.channels = 1,
                                    .fixed = {image[0]},
                                    .moving = {image[1]},
                                    .fixed_posteriors = made.fixed,
                                    .moving_posteriors = made.moving};
    clvox_register_defaults(&o);
    o.levels = 2;
    o.shrink[0] = 8;
    o.shrink[1] = 4;
    for (int with = 0; with < 2; with++) {
        clvox_register_result r;
        clvox_posteriors_errors e;
        o.posteriors_weight = with ? 10 : 0;
        assert_ok(clvox_register(ctx, &images, &o, &r));
        assert_ok(clvox_register_posteriors(ctx, &r, &o, made.fixed, made.moving, NULL, &e));
        overlap[with] = mean_overlap(&e, made.tissues);
        printf(
            "# newborns %s tissues: overlap %.3f, distance %.4f to %.4f, lncc %.3f to %.3f, sd log J %.3f\n",
            with ? "with" : "without", overlap[with], e.hellinger_linear, e.hellinger_after, r.metric_linear,
            r.metric_after, r.jacobian.sd_log);
        assert_true(r.jacobian.folded == 0);
        if (with)
            a_surface_is_carried(&r, &o, tissues);
        clvox_register_result_destroy(&r);
        clvox_volume_destroy(&e.carried);
    }
    assert_that(overlap[1] > overlap[0] + .03, "%g, %g", overlap[0], overlap[1]);
    clvox_posteriors_destroy(&made);
    for (int side = 0; side < 2; side++) {
        clvox_volume_destroy(&image[side]);
        clvox_volume_destroy(&tissues[side]);
    }
}

static void what_is_not_taken(void **state)
{
    (void)state;
    clvox_register_options o;
    clvox_register_result r;
    const clvox_register_images half = {.channels = 1,
                                        .fixed = {head.p.fixed},
                                        .moving = {head.p.moving},
                                        .fixed_posteriors = head.made.fixed};
    pair_options(&o, CLVOX_DEFORM_GREEDY, CLVOX_METRIC_LNCC);
    assert_int_equal(clvox_register(ctx, &half, &o, &r), CLVOX_ERROR_ARGUMENT);
    assert_true(strstr(clvox_message(), "missing in one image") != NULL);
    float kept = head.made.moving->data[7];
    head.made.moving->data[7] = 1.5f;
    assert_int_equal(run(NULL, NULL, true, &o, &r), CLVOX_ERROR_DATA);
    assert_true(strstr(clvox_message(), "moving posteriors: probabilities add up to 1.5") != NULL);
    head.made.moving->data[7] = NAN;
    assert_int_equal(run(NULL, NULL, true, &o, &r), CLVOX_ERROR_DATA);
    assert_true(strstr(clvox_message(), "moving posteriors: tissue 1 has a probability of") != NULL);
    head.made.moving->data[7] = kept;
    o.posteriors_weight = 0;
    assert_int_equal(run(NULL, NULL, true, &o, &r), CLVOX_ERROR_ARGUMENT);
    o.posteriors_weight = 1;
    o.deform = CLVOX_DEFORM_UNBIASED;
    o.metric = CLVOX_METRIC_SSD;
    assert_int_equal(run(NULL, NULL, true, &o, &r), CLVOX_ERROR_ARGUMENT);
    assert_true(strstr(clvox_message(), "give images, too") != NULL);
    o.deform = CLVOX_DEFORM_GREEDY;
    memset(o.tissue_weight, 0, sizeof o.tissue_weight);
    o.tissue_weights = TISSUES + 1;
    assert_int_equal(run(NULL, NULL, true, &o, &r), CLVOX_ERROR_ARGUMENT);
    assert_true(strstr(clvox_message(), "add up to nothing") != NULL);
    head.made.moving->frames--;
    assert_int_equal(run(NULL, NULL, true, &o, &r), CLVOX_ERROR_ARGUMENT);
    head.made.moving->frames++;
    assert_int_equal(run(NULL, NULL, false, &o, &r), CLVOX_ERROR_ARGUMENT);
}

int main(void)
{
    ctx = harness_open();
    test_case(scales_and_missing_tissues, "percent and bytes, and tissues that one image lacks");
    test_case(labels_are_tissues, "label maps as tissues");
    test_case(posteriors_that_are_none, "posteriors that are none");
    test_set_up(set_up);
    for (int i = 0; i < PAIR_MODELS; i++) {
        test_case_at(alone_they_recover_a_known_map, TEST_AT(i), "%s: posteriors alone recover a known map",
                     pair_models[i].name);
        test_case_at(beside_images, TEST_AT(i), "%s: posteriors beside images", pair_models[i].name);
    }
    for (int i = 0; i < PAIR_MODELS; i++)
        test_case_at(the_term_is_the_distance, TEST_AT(i), "%s: the term is the distance",
                     pair_models[i].name);
    test_case(weights_of_tissues, "weights of tissues");
    test_case(on_other_grids, "posteriors on another grid, behind a mask, on a coarser level");
    test_case(exchanged, "exchanged posteriors give syn's inverse");
    test_case(what_is_not_taken, "what a registration does not take");
    test_tear_down(tear_down);
    test_case(the_linear_part_goes_by_them, "the linear part goes by posteriors alone");
    test_case(newborns, "newborns of 32 and 40 weeks: tissues beat intensities");
    return test_run("posteriors", harness_close);
}
