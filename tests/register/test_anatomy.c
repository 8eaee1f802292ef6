/* SPDX-License-Identifier: Apache-2.0 */
/* One known map, applied to surfaces, curves, points and tissues at once: any of them finds it, all of
 * them find it better. */
#include <string.h>

#include "base/matrix.h"
#include "mesh/meshes.h"
#include "mesh/shape.h"
#include "op/harness.h"
#include "register/pair.h"

static clvox_context *ctx;

/* Terms of a run. */
enum { SURFACES, CURVES, POINTS, TISSUES, TERMS };
static const char *const terms[] = {"surfaces", "curves", "points", "tissues"};
enum { SHELLS = 2 };
static const double RADIUS = 13;

/* A head, the same deformed, an image that says nothing, and the anatomy of both. */
static struct {
    pair p;
    clvox_volume *flat;
    clvox_posteriors tissues;
    clvox_surface *shell[SHELLS][2];
    clvox_shape view[SHELLS][2], *curves[2], *cloud[2];
} head;

/* From the fixed head to the moving one. */
static void deform(double *points, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        double by[3];
        clv_phantom_warp_at(&head.p.warp, points + 3 * i, by);
        for (int k = 0; k < 3; k++)
            points[3 * i + k] += by[k];
    }
}

/* Balls in a sphere, as nuclei in a brain: the sphere alone leaves open what moves along it. */
static clvox_surface *nuclei(const double middle[3], bool second)
{
    clvox_surface *all = NULL;
    for (int i = 0; i < 27; i++) {
        double at[3];
        for (int a = 0; a < 3; a++)
            at[a] = middle[a] + 6.5 * ((a == 0 ? i % 3 : a == 1 ? i / 3 % 3 : i / 9) - 1);
        clvox_surface *one = second ? mesh_ellipsoid(at, (const double[]){2.2, 2.2, 2.2}, 3)
                                    : mesh_sphere(at, 2.2, 1),
                      *both;
        if (all) {
            both = mesh_both(all, one);
            clvox_surface_destroy(&all);
            clvox_surface_destroy(&one);
            all = both;
        } else {
            all = one;
        }
    }
    return all;
}

/* Circles of n segments about each axis, on three spheres. */
static clvox_shape *circles(const double middle[3], int n)
{
    clvox_shape *s;
    assert_ok(clvox_shape_create(CLVOX_SHAPE_CURVES, 9 * (size_t)n, 9 * (size_t)n, &s));
    for (int i = 0; i < 9 * n; i++) {
        const int axis = i / n % 3, b = (axis + 1) % 3, c = (axis + 2) % 3;
        const double angle = 2 * M_PI * (i % n) / n, radius = 5 + 4 * (i / n / 3);
        s->points[3 * i + axis] = middle[axis] + .2 * radius;
        s->points[3 * i + b] = middle[b] + radius * cos(angle);
        s->points[3 * i + c] = middle[c] + radius * sin(angle);
        s->corners[2 * i] = i;
        s->corners[2 * i + 1] = i / n * n + (i + 1) % n;
    }
    return s;
}

/* Points of a lattice in a ball; second: in the other order, some of them as two of half the weight. */
static clvox_shape *lattice(const double middle[3], bool second)
{
    enum { SIDE = 7, MOST = SIDE * SIDE * SIDE };
    double at[6 * MOST], weight[2 * MOST];
    int n = 0;
    for (int i = 0; i < MOST; i++) {
        const int k = second ? MOST - 1 - i : i, place[3] = {k % SIDE, k / SIDE % SIDE, k / SIDE / SIDE};
        double p[3], square = 0;
        for (int a = 0; a < 3; a++) {
            p[a] = 4.5 * (place[a] - SIDE / 2);
            square += p[a] * p[a];
        }
        for (int copy = 0; square < 14 * 14 && copy < 1 + (second && k % 3 == 0); copy++) {
            for (int a = 0; a < 3; a++)
                at[3 * n + a] = middle[a] + p[a];
            weight[n++] = second && k % 3 == 0 ? .5 : 1;
        }
    }
    clvox_shape *s;
    assert_ok(clvox_shape_create(CLVOX_SHAPE_CLOUD, (size_t)n, 0, &s));
    memcpy(s->points, at, 3 * (size_t)n * sizeof *at);
    s->weights = malloc((size_t)n * sizeof *weight);
    memcpy(s->weights, weight, (size_t)n * sizeof *weight);
    return s;
}

static int set_up(void **state)
{
    (void)state;
    double middle[3];
    pair_make(&head.p, (const int[3]){41, 37, 31}, (const double[3]){1.2, 1, 1.4}, true, 2.3, 5);
    const clvox_grid *g = &head.p.fixed_grid;
    clv_matrix_apply(g->to_ras,
                     (const double[3]){(g->size[0] - 1) / 2., (g->size[1] - 1) / 2., (g->size[2] - 1) / 2.},
                     middle);
    assert_ok(clvox_volume_create(g, 1, CLVOX_KIND_SCALAR, &head.flat));
    clvox_volume *fixed = pair_tissues(head.p.fixed, 3, 1), *moving = pair_tissues(head.p.moving, 3, 1);
    assert_ok(clvox_posteriors_create(fixed, moving, &head.tissues));
    clvox_volume_destroy(&fixed);
    clvox_volume_destroy(&moving);
    head.shell[0][0] = mesh_sphere(middle, RADIUS, 3);
    head.shell[0][1] = mesh_ellipsoid(middle, (const double[]){RADIUS, RADIUS, RADIUS}, 9);
    for (int s = 0; s < 2; s++)
        head.shell[1][s] = nuclei(middle, s);
    for (int i = 0; i < SHELLS; i++) {
        deform(head.shell[i][1]->points, head.shell[i][1]->vertices);
        for (int s = 0; s < 2; s++)
            clvox_shape_of_surface(head.shell[i][s], &head.view[i][s]);
    }
    for (int s = 0; s < 2; s++) {
        head.curves[s] = circles(middle, s ? 41 : 60);
        head.cloud[s] = lattice(middle, s);
    }
    deform(head.curves[1]->points, head.curves[1]->vertices);
    deform(head.cloud[1]->points, head.cloud[1]->vertices);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    pair_free(&head.p);
    clvox_volume_destroy(&head.flat);
    clvox_posteriors_destroy(&head.tissues);
    for (int i = 0; i < SHELLS; i++)
        for (int s = 0; s < 2; s++)
            clvox_surface_destroy(&head.shell[i][s]);
    for (int s = 0; s < 2; s++) {
        clvox_shape_destroy(&head.curves[s]);
        clvox_shape_destroy(&head.cloud[s]);
    }
    return 0;
}

static int run(const clvox_register_options *o, unsigned by, bool images_too, clvox_register_result *r)
{
    const clvox_shape *fixed[SHELLS + 2], *moving[SHELLS + 2];
    clvox_register_images images = {.channels = 1,
                                    .fixed = {images_too ? head.p.fixed : head.flat},
                                    .moving = {images_too ? head.p.moving : head.flat},
                                    .fixed_shapes = fixed,
                                    .moving_shapes = moving};
    /* In no order of kinds. */
    if (by & 1u << CURVES) {
        fixed[images.shapes] = head.curves[0];
        moving[images.shapes++] = head.curves[1];
    }
    for (int i = 0; i < SHELLS && by & 1u << SURFACES; i++) {
        fixed[images.shapes] = &head.view[i][0];
        moving[images.shapes++] = &head.view[i][1];
        if (i == 0 && by & 1u << POINTS) {
            fixed[images.shapes] = head.cloud[0];
            moving[images.shapes++] = head.cloud[1];
        }
    }
    if (by == 1u << POINTS) {
        fixed[images.shapes] = head.cloud[0];
        moving[images.shapes++] = head.cloud[1];
    }
    if (by & 1u << TISSUES) {
        images.fixed_posteriors = head.tissues.fixed;
        images.moving_posteriors = head.tissues.moving;
    }
    int status = clvox_register(ctx, &images, o, r);
    if (status >= 0)
        assert_true(r->device_bytes <= clvox_register_bytes(&images, o) && r->jacobian.folded == 0);
    return status;
}

static void options(clvox_register_options *o, clvox_deform deform)
{
    pair_options(o, deform, CLVOX_METRIC_LNCC);
    o->iterations[0] = 20;
    o->iterations[1] = 12;
    o->surface_width[0] = 8;
    o->surface_width[1] = 4;
    o->surface_widths = 2;
}

static void each_finds_it_and_all_find_it_better(void **state)
{
    const int *given = *state;
    clvox_register_options o;
    clvox_register_result r;
    double before = pair_start(&head.p, NULL), error[TERMS + 1], largest, best = before;
    options(&o, pair_models[given[0]].deform);
    for (int t = 0; t <= TERMS; t++) {
        assert_ok(run(&o, t < TERMS ? 1u << t : (1u << TERMS) - 1, false, &r));
        error[t] = pair_error(&head.p, &r, NULL, &largest);
        printf("# %s: %.3f voxels of %.3f, largest %.3f, sd log J %.3f\n", t < TERMS ? terms[t] : "all",
               error[t], before, largest, r.jacobian.sd_log);
        clvox_register_result_destroy(&r);
    }
    for (int t = 0; t < TERMS; t++) {
        assert_that(error[t] < .6 * before, "%s: %g of %g", terms[t], error[t], before);
        best = fmin(best, error[t]);
    }
    assert_that(error[TERMS] < .75 * best, "all: %g, one alone %g", error[TERMS], best);
}

static void without_weight_not_a_bit_changes(void **state)
{
    const int *given = *state;
    clvox_register_options o;
    clvox_register_result alone, idle, both;
    options(&o, pair_models[given[0]].deform);
    o.iterations[0] = o.iterations[1] = 3;
    assert_ok(run(&o, 0, true, &alone));
    assert_ok(run(&o, (1u << TERMS) - 1, true, &both));
    o.surface_weight = o.curves_weight = o.cloud_weight = o.posteriors_weight = 0;
    assert_ok(run(&o, (1u << TERMS) - 1, true, &idle));
    const size_t bytes = 3 * clvox_grid_voxels(&alone.warp->grid) * sizeof(float);
    assert_true(!memcmp(alone.warp->data, idle.warp->data, bytes) &&
                memcmp(alone.warp->data, both.warp->data, bytes));
    assert_true(alone.metric_after == idle.metric_after && alone.device_bytes == idle.device_bytes);
    clvox_register_result_destroy(&alone);
    clvox_register_result_destroy(&idle);
    clvox_register_result_destroy(&both);
}

/* The carried surface is as whole as the original. */
static void the_carried_surface_is_closed_and_does_not_cross_itself(void **state)
{
    const int *given = *state;
    clvox_register_options o;
    clvox_register_result r;
    clvox_shape_errors e;
    clvox_surface_facts facts;
    clvox_surface *ball = mesh_sphere((const double[]){0, 0, 0}, 3, 2),
                  *other = mesh_sphere((const double[]){4, 1, 0}, 3, 2), *both = mesh_both(ball, other);
    assert_true(mesh_crossings(ball) == 0 && mesh_crossings(both) > 20);
    clvox_surface_destroy(&ball);
    clvox_surface_destroy(&other);
    clvox_surface_destroy(&both);
    options(&o, pair_models[given[0]].deform);
    assert_ok(run(&o, 1u << SURFACES, false, &r));
    for (int i = 0; i < SHELLS; i++) {
        assert_ok(clvox_register_shape(ctx, &r, &o, &head.view[i][0], &head.view[i][1], &e));
        const clvox_surface carried = {e.carried->vertices, e.carried->elements, e.carried->points,
                                       e.carried->corners};
        assert_ok(clvox_surface_inspect(&carried, &facts));
        assert_true(facts.open_edges == 0 && facts.crowded_edges == 0 && facts.flipped_edges == 0 &&
                    facts.volume > 0);
        assert_int_equal(facts.components, i ? 27 : 1);
        assert_int_equal(facts.euler, 2 * facts.components);
        assert_int_equal(mesh_crossings(&carried), 0);
        printf("# %.3f mm apart, %.3f at the end, %.3f at most\n", e.mean_linear, e.mean_after,
               e.largest_after);
        assert_that(e.mean_after < .5 * e.mean_linear, "%g of %g", e.mean_after, e.mean_linear);
        clvox_shape_destroy(&e.carried);
    }
    clvox_register_result_destroy(&r);
}

int main(void)
{
    ctx = harness_open();
    test_set_up(set_up);
    for (int i = 1; i < 3; i++) /* syn and lddmm: all four take long */
        test_case_at(each_finds_it_and_all_find_it_better, TEST_AT(i),
                     "%s: each finds it, and all find it better", pair_models[i].name);
    for (int i = 0; i < PAIR_MODELS; i++)
        test_case_at(without_weight_not_a_bit_changes, TEST_AT(i), "%s: without weight not a bit changes",
                     pair_models[i].name);
    test_case_at(the_carried_surface_is_closed_and_does_not_cross_itself, TEST_AT(1),
                 "the carried surface is closed and does not cross itself");
    test_tear_down(tear_down);
    return test_run("anatomy", harness_close);
}
