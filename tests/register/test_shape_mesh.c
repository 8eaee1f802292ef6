/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes as terms by a particle mesh: against all pairs, against its own energy, and in a registration. */
#include <string.h>

#include "mesh/meshes.h"
#include "op/harness.h"
#include "register/pair.h"
#include "register/terms/shape_mesh.h"

static clvox_context *ctx;
static const double middle[3] = {3, -5, 8};

/* ---- a term alone ---------------------------------------------------------- */

typedef struct scene {
    clvox_surface *fixed, *moving;
    clvox_shape shape[2]; /* of either */
    clvox_grid grid;
    clvox_register_options options;
    clv_registration run;
    clv_request list[64];
    int requests;
} scene;

static void grid_about(clvox_grid *grid)
{
    clvox_volume *v = pair_ball((const int[3]){27, 25, 19}, (const double[3]){2, 2, 2.4}, middle, 15, .96);
    *grid = v->grid;
    clvox_volume_destroy(&v);
}

/* kind: that of the shapes; of curves and clouds the sides and the corners of the triangles. */
static void view(const clvox_surface *s, clvox_shape_kind kind, clvox_shape *out)
{
    clvox_shape_of_surface(s, out);
    out->kind = kind;
    if (kind != CLVOX_SHAPE_SURFACE)
        out->elements = out->elements * 3 / (size_t)kind;
}

/* Builds a sphere of 20 * 4^levels triangles and an ellipsoid of 12 n^2. */
static void begin_of(scene *s, int levels, int n, clvox_shape_kind kind, double width, bool varifold,
                     clvox_currents_method method, double error)
{
    const double axes[3] = {8.4, 5.95, 7.7}, shifted[3] = {4.5, -6, 8.5};
    memset(s, 0, sizeof *s);
    s->fixed = mesh_sphere(middle, 7, levels);
    s->moving = mesh_ellipsoid(shifted, axes, n);
    view(s->fixed, kind, &s->shape[0]);
    view(s->moving, kind, &s->shape[1]);
    clvox_register_defaults(&s->options);
    s->options.surface_kind = s->options.curves_kind =
        varifold ? CLVOX_SURFACE_VARIFOLD : CLVOX_SURFACE_CURRENTS;
    s->options.currents = method;
    s->options.surface_width[0] = width;
    s->options.surface_widths = 1;
    grid_about(&s->grid);
    s->run = (clv_registration){.ctx = ctx, .options = &s->options, .fixed_grid = s->grid};
    s->run.n = (int)clvox_grid_voxels(&s->grid);
    for (int i = 0; i < 4; i++)
        s->run.matrix[i][i] = 1;
    const clvox_shape *fixed[] = {&s->shape[0]}, *moving[] = {&s->shape[1]};
    const clvox_register_images images = {.fixed_shapes = fixed, .moving_shapes = moving, .shapes = 1};
    clv_shapes_describe(&s->run, &images);
    s->run.shapes.largest_error = error;
    s->requests = clv_shapes_requests(&s->run, s->list);
    assert_ok(clv_pool_take(ctx, s->list, s->requests));
}

static void begin(scene *s, clvox_shape_kind kind, double width, bool varifold, clvox_currents_method method,
                  double error)
{
    begin_of(s, 3, 9, kind, width, varifold, method, error);
}

static void end(scene *s)
{
    clv_shapes_release(&s->run);
    clv_pool_release(s->list, s->requests);
    clvox_surface_destroy(&s->fixed);
    clvox_surface_destroy(&s->moving);
}

static clv_image image_of(const clvox_grid *grid)
{
    static float spacing[3];
    double edge[3];
    clvox_grid_spacing(grid, edge);
    for (int k = 0; k < 3; k++)
        spacing[k] = (float)edge[k];
    return clv_image_of(NULL, grid->size, spacing, 3);
}

static int place(scene *s)
{
    const clv_image on = image_of(&s->grid);
    const clv_pyramid_level level = {
        .fixed = s->grid, .n = s->run.n, .spacing = {on.spacing[0], on.spacing[1], on.spacing[2]}};
    return clv_terms_place(&s->run, &level);
}

static double value_of(scene *s)
{
    const float numbers[2] = {0};
    clv_value value;
    assert_ok(clv_terms_value(&s->run, numbers, &value));
    return value.mean;
}

/* The mesh's energy with the vertices of a side where `points` has them. */
static double energy_at(scene *s, int side, const float *points)
{
    clv_shape_term *term = &s->run.shapes.term[0];
    const clv_moving_mesh *m = &term->side[side].mesh;
    const clv_image on = image_of(&s->grid);
    double energy;
    assert_ok(clv_buffer_write(ctx, m->points, 0, points, 16 * (size_t)m->vertices));
    assert_ok(clv_moving_mesh_place(ctx, m, NULL, &on));
    assert_ok(clv_shape_mesh_sums(&s->run, term, (const bool[2]){false}));
    assert_ok(clv_shape_energy(&s->run, term, &energy));
    return energy;
}

static void derivatives_are_those_of_the_mesh(void **state)
{
    (void)state;
    enum { MOST = 2000, LOOKS = 4 };
    static float points[4 * MOST], moved[4 * MOST], tracked[8 * MOST];
    const bool wanted[2] = {true, true};
    for (int kind = 1; kind <= 3; kind++)
        for (int varifold = 0; varifold < (kind > 1 ? 2 : 1); varifold++) {
            scene s;
            begin(&s, (clvox_shape_kind)kind, 5, varifold, CLVOX_CURRENTS_MESH, .3);
            assert_ok(place(&s));
            clv_shape_term *term = &s.run.shapes.term[0];
            const clv_image on = image_of(&s.grid);
            assert_true(term->by_mesh);
            for (int side = 0; side < 2; side++) {
                const clv_moving_mesh *m = &term->side[side].mesh;
                const size_t bytes = 16 * (size_t)m->vertices;
                double size = 0;
                assert_true(m->vertices <= MOST);
                assert_ok(clv_buffer_read(ctx, m->points, 0, points, bytes));
                assert_ok(clv_moving_mesh_place(ctx, m, NULL, &on));
                assert_ok(clv_shape_mesh_sums(&s.run, term, wanted));
                const clv_mesh_pull_args pull = {
                    .by_element = term->side[side].by_element, .grid = on, .factor = 1};
                assert_ok(clv_moving_mesh_pull(ctx, m, &pull));
                assert_ok(clv_buffer_read(ctx, m->tracked, 0, tracked, 2 * bytes));
                for (int i = 0; i < m->vertices; i++)
                    for (int k = 0; k < 3; k++)
                        size += pow((double)tracked[8 * i + 4 + k], 2);
                size = sqrt(size);
                /* Along its own derivative, and along waves: float32 hides the step of one vertex. */
                for (int look = 0; look < LOOKS; look++) {
                    double want = 0, value[2];
                    const double step = look ? .02 : .05 / size * sqrt(m->vertices);
                    for (int way = 0; way < 2; way++) {
                        memcpy(moved, points, bytes);
                        want = 0;
                        for (int i = 0; i < m->vertices; i++)
                            for (int k = 0; k < 3; k++) {
                                const double by = (double)tracked[8 * i + 4 + k];
                                const double along =
                                    look == 0 ? by : sin(.7 * look * (double)points[4 * i + k] + k + look);
                                moved[4 * i + k] += (float)((way ? 1 : -1) * step * along) / on.spacing[k];
                                want += by * along;
                            }
                        value[way] = energy_at(&s, side, moved);
                    }
                    const double got = (value[1] - value[0]) / (2 * step);
                    const double scale = look ? size * sqrt(1.5 * m->vertices) : size * size;
                    assert_that(fabs(got - want) < (look ? 2e-3 : 1e-2) * scale,
                                "kind %d, varifold %d, side %d, look %d: %g, not %g (of %g)", kind, varifold,
                                side, look, got, want, scale);
                }
                energy_at(&s, side, points);
            }
            end(&s);
        }
}

/* At the error asked for, which is reported, on a grid that grows finer with it. */
static void the_error_asked_for_is_kept(void **state)
{
    (void)state;
    static const double errors[] = {1e-1, 1e-2, 1e-3};
    for (int kind = 1; kind <= 3; kind++)
        for (int varifold = 0; varifold < (kind > 1 ? 2 : 1); varifold++)
            for (int width = 3; width <= 8; width += 5) {
                double before = INFINITY;
                for (int e = 0; e < 3; e++) {
                    scene s;
                    begin(&s, (clvox_shape_kind)kind, width, varifold, CLVOX_CURRENTS_MESH, errors[e]);
                    assert_ok(place(&s));
                    const clvox_shape_sums *sums = &s.run.shapes.term[0].sums;
                    printf("# kind %d, varifold %d, width %d, error %g: spacing / width %.3f, %d x %d x %d "
                           "nodes, energy %.1e, "
                           "derivative %.1e\n",
                           kind, varifold, width, errors[e], sums->spacing / width, sums->size[0],
                           sums->size[1], sums->size[2], sums->error, sums->derivative_error);
                    assert_true(sums->by_mesh == 1 && sums->levels == 1 && sums->spacing < before);
                    assert_true(sums->error <= errors[e] && sums->derivative_error <= errors[e]);
                    before = sums->spacing;
                    end(&s);
                }
            }
}

/* Without a grid that fits and agrees, sums are those by all pairs to the bit; MESH fails with a sentence. */
static void auto_gives_up_a_mesh_that_does_not_agree(void **state)
{
    (void)state;
    enum { LEVELS = 4, N = 20, ROOM = 150000 }; /* for the first grid, which is off by more than is asked */
    const double asked = 1e-3;
    double term[2] = {0};
    for (int i = 0; i < 3; i++) {
        scene s;
        begin_of(&s, LEVELS, N, CLVOX_SHAPE_CLOUD, 3, false, i ? CLVOX_CURRENTS_AUTO : CLVOX_CURRENTS_EXACT,
                 asked);
        if (i == 1)
            s.run.shapes.room_nodes = ROOM;
        assert_ok(place(&s));
        clv_shape_term *shape = &s.run.shapes.term[0];
        assert_true(shape->by_mesh == (i == 2) && shape->sums.by_mesh == (i == 2) && shape->sums.levels == 1);
        assert_true(shape->sums.size[0] * shape->sums.size[1] * shape->sums.size[2] > ROOM || i < 2);
        if (i == 0) /* which a mesh that is given up puts back */
            assert_ok(clv_shape_multiply_all(&s.run, shape));
        if (i < 2)
            term[i] = value_of(&s);
        if (i == 1) {
            s.options.currents = CLVOX_CURRENTS_MESH;
            assert_int_equal(place(&s), CLVOX_ERROR_DATA);
            assert_non_null(
                strstr(clvox_message(), "cloud 1: no particle mesh is within 0.001 of all pairs"));
        }
        end(&s);
    }
    assert_true(term[0] < 0 && term[0] == term[1]);
}

static void what_leaves_the_grid_goes_by_all_pairs(void **state)
{
    (void)state;
    enum { MOST = 2000 };
    static float points[4 * MOST];
    scene s;
    double far = 0, near = 0;
    begin(&s, CLVOX_SHAPE_SURFACE, 5, false, CLVOX_CURRENTS_MESH, 1e-2);
    assert_ok(place(&s));
    clv_shape_term *term = &s.run.shapes.term[0];
    const clv_moving_mesh *m = &term->side[0].mesh;
    const double norm = term->norm;
    assert_ok(clv_shape_mesh_sums(&s.run, term, (const bool[2]){false}));
    near = value_of(&s);
    assert_true(term->by_mesh && term->sums.left == 0 && near < 0 && near > -.9);
    assert_ok(clv_buffer_read(ctx, m->points, 0, points, 16 * (size_t)m->vertices));
    for (int i = 0; i < m->vertices; i++)
        points[4 * i] += 500;
    energy_at(&s, 0, points);
    far = value_of(&s);
    /* Nothing of one is near the other. */
    assert_true(!term->by_mesh && term->sums.left == 1 && term->norm == norm);
    assert_that(fabs(far + 1) < 1e-4, "%g", far);
    end(&s);
}

/* ---- registrations --------------------------------------------------------- */

static clvox_volume *image[2];

static int set_up(void **state)
{
    (void)state;
    image[0] = pair_ball((const int[3]){27, 25, 19}, (const double[3]){2, 2, 2.4}, middle, 15, .96);
    image[1] = pair_ball((const int[3]){26, 23, 21}, (const double[3]){2, 2.1, 2.2}, middle, 15, 1);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++)
        clvox_volume_destroy(&image[i]);
    return 0;
}

/* Builds a sphere of 20 * 4^levels triangles and an ellipsoid of 12 n^2. */
static void run(clvox_deform deform, int levels, int n, clvox_currents_method method, bool varifold,
                clvox_register_result *r, double *left)
{
    const double axes[3] = {8.4, 5.95, 7.7}, shifted[3] = {4.5, -6, 8.5};
    clvox_surface *s = mesh_sphere(middle, 7, levels), *t = mesh_ellipsoid(shifted, axes, n);
    clvox_shape fixed, moving;
    clvox_shape_errors errors;
    clvox_register_options o;
    clvox_shape_of_surface(s, &fixed);
    clvox_shape_of_surface(t, &moving);
    pair_shape_options(&o, deform);
    o.currents = method;
    o.surface_kind = varifold ? CLVOX_SURFACE_VARIFOLD : CLVOX_SURFACE_CURRENTS;
    const clvox_register_images images = {.channels = 1,
                                          .fixed = {image[0]},
                                          .moving = {image[1]},
                                          .fixed_shapes = (const clvox_shape *const[]){&fixed},
                                          .moving_shapes = (const clvox_shape *const[]){&moving},
                                          .shapes = 1};
    assert_ok(clvox_register(ctx, &images, &o, r));
    assert_true(r->device_bytes <= clvox_register_bytes(&images, &o));
    assert_ok(clvox_register_shape(ctx, r, &o, &fixed, &moving, &errors));
    *left = errors.mean_after / errors.mean_linear;
    clvox_shape_destroy(&errors.carried);
    clvox_surface_destroy(&s);
    clvox_surface_destroy(&t);
}

static void a_mesh_ends_where_all_pairs_do(void **state)
{
    const int *given = *state;
    const pair_model *model = &pair_models[given[0]];
    clvox_register_result exact, mesh, again;
    double left[3], largest;
    const bool varifold = given[0] % 2;
    run(model->deform, 3, 9, CLVOX_CURRENTS_EXACT, varifold, &exact, &left[0]);
    run(model->deform, 3, 9, CLVOX_CURRENTS_MESH, varifold, &mesh, &left[1]);
    run(model->deform, 3, 9, CLVOX_CURRENTS_MESH, varifold, &again, &left[2]);
    const double mean = pair_distance(exact.warp, mesh.warp, NULL, &largest);
    printf("# %.4f voxels apart, %.4f at most; %.3f and %.3f of the distance left; %d of %d levels, errors "
           "%.1e, %.1e\n",
           mean, largest, left[0], left[1], mesh.shape_sums[0].by_mesh, mesh.shape_sums[0].levels,
           mesh.shape_sums[0].error, mesh.shape_sums[0].derivative_error);
    assert_true(pair_same(mesh.warp, again.warp) && !pair_same(mesh.warp, exact.warp));
    assert_true(exact.shape_sums[0].by_mesh == 0 && exact.shape_sums[0].levels == 2);
    assert_true(mesh.shape_sums[0].by_mesh == 2 && mesh.shape_sums[0].left == 0);
    assert_that(mean < .01 && largest < .05, "%g, %g", mean, largest);
    assert_that(fabs(left[0] - left[1]) < .02, "%g, %g", left[0], left[1]);
    clvox_register_result_destroy(&exact);
    clvox_register_result_destroy(&mesh);
    clvox_register_result_destroy(&again);
}

/* Small ones keep the bits of all pairs. */
static void large_ones_go_by_a_mesh(void **state)
{
    (void)state;
    clvox_register_result exact, chosen;
    double left;
    run(CLVOX_DEFORM_GREEDY, 2, 6, CLVOX_CURRENTS_EXACT, false, &exact, &left);
    run(CLVOX_DEFORM_GREEDY, 2, 6, CLVOX_CURRENTS_AUTO, false, &chosen, &left);
    assert_true(pair_same(exact.warp, chosen.warp) && chosen.shape_sums[0].by_mesh == 0);
    clvox_register_result_destroy(&exact);
    clvox_register_result_destroy(&chosen);
    run(CLVOX_DEFORM_GREEDY, 5, 40, CLVOX_CURRENTS_AUTO, false, &chosen, &left);
    printf("# %d levels by a mesh, %.3f left\n", chosen.shape_sums[0].by_mesh, left);
    assert_true(chosen.shape_sums[0].by_mesh == 2 && left < .25);
    assert_true(chosen.shape_sums[0].derivative_error <= 1e-2 && chosen.shape_sums[0].spacing > 0);
    clvox_register_result_destroy(&chosen);
}

int main(void)
{
    ctx = harness_open();
    test_case(derivatives_are_those_of_the_mesh, "derivatives are those of the mesh's energy");
    test_case(the_error_asked_for_is_kept, "the error asked for is kept, and reported");
    test_case(auto_gives_up_a_mesh_that_does_not_agree, "auto gives up a mesh that does not agree");
    test_case(what_leaves_the_grid_goes_by_all_pairs, "what leaves the grid goes by all pairs");
    test_set_up(set_up);
    for (int i = 0; i < PAIR_MODELS; i++)
        test_case_at(a_mesh_ends_where_all_pairs_do, TEST_AT(i), "%s: a mesh ends where all pairs do",
                     pair_models[i].name);
    test_case(large_ones_go_by_a_mesh, "large surfaces go by a mesh, small ones by all pairs");
    test_tear_down(tear_down);
    return test_run("shapes by a particle mesh", harness_close);
}
