/* SPDX-License-Identifier: Apache-2.0 */
/* Denoising of surfaces: shapes whose distance is known, noise from a fixed
 * generator, and what must hold for any input. */
#include "clvox/filter.h"
#include "clvox/surface.h"
#include "op/harness.h"
#include "mesh/mesh.h"
#include "surface/denoise.h"

enum { EDGE = 36 };

typedef double (*shape)(const double x[3]);

static clvox_context *ctx;

static double length(double x, double y, double z)
{
    return sqrt(x * x + y * y + z * z);
}

static double sphere(const double x[3])
{
    return length(x[0], x[1], x[2]) - 10.3;
}

static double torus(const double x[3])
{
    return length(length(x[0], x[1], 0) - 9.1, x[2], 0) - 4.2;
}

static double box_of(const double x[3], double a, double b, double c)
{
    double q[3] = {fabs(x[0]) - a, fabs(x[1]) - b, fabs(x[2]) - c};
    return length(fmax(q[0], 0), fmax(q[1], 0), fmax(q[2], 0)) + fmin(fmax(q[0], fmax(q[1], q[2])), 0);
}

static double box(const double x[3])
{
    return box_of(x, 10.2, 8.6, 7.4);
}

static double two(const double x[3])
{
    return fmin(length(x[0] - 7, x[1], x[2]) - 5.2, length(x[0] + 7, x[1] - 2, x[2]) - 5.6);
}

static double plane(const double x[3])
{
    return x[2] - 0.3;
}

static double sheet(const double x[3])
{
    return fabs(x[2]) - 0.5;
}

static double corner(const double x[3])
{
    return length(x[0] + 18, x[1] + 17, x[2] - 18) - 14;
}

static double tiny(const double x[3])
{
    return length(x[0] - .1, x[1], x[2]) - 1.2;
}

static clvox_grid grid_of(const double spacing[3])
{
    clvox_grid grid = {{0}, {{0}}};
    for (int a = 0; a < 3; a++) {
        grid.size[a] = (int)ceil(EDGE / spacing[a]);
        grid.to_ras[a][a] = spacing[a];
        grid.to_ras[a][3] = -spacing[a] * (0.5 * grid.size[a] - 0.37);
    }
    grid.to_ras[3][3] = 1;
    return grid;
}

static void place(const clvox_grid *grid, const double at[3], double x[3])
{
    for (int a = 0; a < 3; a++)
        x[a] = grid->to_ras[a][a] * at[a] + grid->to_ras[a][3];
}

/* The shape's distance with white noise of that deviation, mm. */
static clvox_volume *make(shape f, double noise, const double spacing[3])
{
    clvox_grid grid = grid_of(spacing);
    clvox_volume *v;
    assert_ok(clvox_volume_create(&grid, 1, CLVOX_KIND_SCALAR, &v));
    size_t n = clvox_grid_voxels(&grid), nx = (size_t)grid.size[0], ny = (size_t)grid.size[1];
    float *even = malloc(12 * n * sizeof *even);
    harness_random(even, 12 * n, 7, -.5f, .5f);
    for (size_t i = 0; i < n; i++) {
        const double at[3] = {(double)(i % nx), (double)(i / nx % ny), (double)(i / nx / ny)};
        double x[3], sum = 0;
        for (size_t k = 0; k < 12; k++)
            sum += (double)even[12 * i + k];
        place(&grid, at, x);
        v->data[i] = (float)(f(x) + noise * sum);
    }
    free(even);
    return v;
}

static const double unit[3] = {1, 1, 1};

/* Root mean square of the true distance where the level set crosses 0 between
 * voxels; only where keep (may be NULL) is below 0. */
static double error_of(const clvox_volume *v, shape f, shape keep)
{
    const int *n = v->grid.size;
    const size_t step[3] = {1, (size_t)n[0], (size_t)n[0] * (size_t)n[1]};
    double sum = 0;
    size_t count = 0, i = 0;
    for (int z = 0; z < n[2]; z++)
        for (int y = 0; y < n[1]; y++)
            for (int x = 0; x < n[0]; x++, i++)
                for (int a = 0; a < 3; a++) {
                    double at[3] = {x, y, z}, p[3];
                    if (at[a] + 1 >= n[a] || (v->data[i] < 0) == (v->data[i + step[a]] < 0))
                        continue;
                    at[a] += (double)(v->data[i] / (v->data[i] - v->data[i + step[a]]));
                    place(&v->grid, at, p);
                    if (keep && keep(p) >= 0)
                        continue;
                    sum += f(p) * f(p);
                    count++;
                }
    return count ? sqrt(sum / (double)count) : INFINITY;
}

static clvox_level_set set_of(clvox_volume *v, clvox_surface *mesh)
{
    return (clvox_level_set){.distance = v, .surface = mesh};
}

/* With the distance, whether o asks for it or not. */
static clvox_denoise_result denoise_of(clvox_volume *v, clvox_surface *mesh, const clvox_denoise_options *o)
{
    clvox_level_set set = set_of(v, mesh);
    clvox_denoise_options options;
    clvox_denoise_result r;
    clvox_denoise_defaults(&options);
    if (o)
        options = *o;
    options.distance = 1;
    assert_ok(clvox_surface_denoise(ctx, &set, &options, &r));
    return r;
}

static clvox_denoise_result denoise(clvox_volume *v, const clvox_denoise_options *o)
{
    return denoise_of(v, NULL, o);
}

static int refused(clvox_volume *v, const clvox_denoise_options *o, clvox_denoise_result *r)
{
    clvox_level_set set = set_of(v, NULL);
    return clvox_surface_denoise(ctx, &set, o, r);
}

static int plan_of(clvox_volume *v, const clvox_denoise_options *o, clvox_denoise_plan *plan)
{
    clvox_level_set set = set_of(v, NULL);
    return clvox_denoise_predict(ctx, &set, o, plan);
}

/* Facts about the zero level as a mesh. */
static clvox_surface_facts facts_of(const clvox_volume *v)
{
    clvox_surface *mesh;
    clvox_surface_facts f;
    assert_ok(clvox_surface_extract(v, 0, false, &mesh));
    assert_ok(clvox_surface_inspect(mesh, &f));
    clvox_surface_destroy(&mesh);
    return f;
}

static bool all_finite(const clvox_volume *v)
{
    for (size_t i = 0; i < clvox_grid_voxels(&v->grid); i++)
        if (!isfinite(v->data[i]))
            return false;
    return true;
}

static const struct {
    const char *name;
    shape f;
    double noise, spacing[3], factor;
    int euler;
    double volume;
} runs[] = {
    {"sphere", sphere, .4, {1, 1, 1}, 2.2, 2, 4577.2},
    {"torus", torus, .4, {1, 1, 1}, 2, 0, 3168.6},
    {"box", box, .4, {1, 1, 1}, 2.5, 2, 5193},
    {"box, little noise", box, .15, {1, 1, 1}, 1.2, 2, 5193},
    {"sphere", sphere, .4, {1, 1, 2}, 1.5, 2, 4577.2},
};

static void on_x_x_mm_nearer_to_the_truth_of_its_volume(void **state)
{
    const int *given = *state;
    size_t i = (size_t)given[0];
    clvox_volume *v = make(runs[i].f, runs[i].noise, runs[i].spacing);
    clvox_denoise_result r = denoise(v, NULL);
    double before = error_of(v, runs[i].f, NULL), after = error_of(r.distance, runs[i].f, NULL), smooth;
    assert_that(after * runs[i].factor < before, "rms %g, then %g", before, after);
    assert_that(fabs(r.volume_after / runs[i].volume - 1) < .025, "volume %g, then %g, truth %g",
                r.volume_before, r.volume_after, runs[i].volume);
    assert_true(r.placed == (runs[i].noise > .23) &&
                (r.placed || fabs(r.volume_after / r.volume_before - 1) < .001));
    clvox_surface_facts f = facts_of(r.distance);
    assert_that(f.components == 1 && f.euler == runs[i].euler && f.open_edges == 0,
                "%d components, Euler %d, %d open edges", f.components, f.euler, f.open_edges);
    assert_ok(clv_surface_smooth_volume(r.distance, &smooth));
    assert_that(fabs(smooth / r.volume_after - 1) < .005, "level set of %g, mesh of %g", smooth,
                r.volume_after);
    assert_true(r.facts.components == 1 && r.facts.euler == runs[i].euler && r.facts.open_edges == 0);
    assert_true(r.c2 > 0 && r.deviation > 0 && all_finite(r.distance));
    clvox_volume_destroy(&v);
    clvox_denoise_result_destroy(&r);
}

static void truths(void)
{
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++)
        test_case_at(on_x_x_mm_nearer_to_the_truth_of_its_volume, TEST_AT((int)i),
                     "%s on %gx%gx%g mm: nearer to the truth, of its volume and topology", runs[i].name,
                     runs[i].spacing[0], runs[i].spacing[1], runs[i].spacing[2]);
}

/* The box's mesh, vertices moved by noise of 0.4 mm, and its distance on voxels of 0.7 mm. */
static clvox_volume *noisy_vertices(clvox_surface **mesh)
{
    static const double fine[3] = {.7, .7, .7};
    const clvox_grid grid = grid_of(fine);
    clvox_volume *clean = make(box, 0, unit), *v;
    assert_ok(clvox_surface_extract(clean, 0, false, mesh));
    const size_t n = (*mesh)->vertices;
    float *even = malloc(12 * n * sizeof *even);
    harness_random(even, 12 * n, 5, -.5f, .5f);
    for (size_t i = 0; i < n; i++) {
        double *p = (*mesh)->points + 3 * i, slope[3], sum = 0;
        for (size_t k = 0; k < 12; k++)
            sum += 0.4 * (double)even[12 * i + k];
        for (int a = 0; a < 3; a++) {
            double at[3] = {p[0], p[1], p[2]}, ahead;
            at[a] += 0.05;
            ahead = box(at);
            at[a] -= 0.1;
            slope[a] = ahead - box(at);
        }
        for (int a = 0; a < 3; a++)
            p[a] += sum * slope[a] / fmax(length(slope[0], slope[1], slope[2]), 1e-9);
    }
    assert_ok(clvox_distance_from_surface(ctx, *mesh, &grid, 6, NULL, &v));
    free(even);
    clvox_volume_destroy(&clean);
    return v;
}

static void guided(void **state)
{
    (void)state;
    clvox_denoise_options o;
    clvox_surface *mesh;
    clvox_volume *v = noisy_vertices(&mesh);
    clvox_denoise_defaults(&o);
    clvox_denoise_result two = denoise_of(v, mesh, &o);
    o.rounds = 1;
    clvox_denoise_result one = denoise_of(v, mesh, &o);
    double error = error_of(two.distance, box, NULL), before = error_of(one.distance, box, NULL);
    assert_that(two.rounds == 2 && one.rounds == 1 && two.deviation > .16 && two.deviation < .23,
                "%d rounds, noise %g", two.rounds, two.deviation);
    assert_that(error < .95 * before, "rms %g, with one round %g", error, before);
    clvox_denoise_result_destroy(&two);
    clvox_denoise_result_destroy(&one);
    clvox_surface_destroy(&mesh);
    clvox_volume_destroy(&v);
}

static const double moves[] = {0, .3};

static struct {
    clvox_denoise_options o;
    clvox_surface *mesh;
    clvox_volume *v;
    clvox_denoise_result r;
} shared;

static int level_set_up(void **state)
{
    (void)state;
    shared.v = make(sphere, .1, unit);
    clvox_denoise_defaults(&shared.o);
    assert_ok(clvox_surface_extract(shared.v, 0, false, &shared.mesh));
    return 0;
}

static void the_level_lies_where_a_meshs_vertices_do_mm(void **state)
{
    const int *given = *state;
    int k = given[0];
    for (size_t i = 0; i < shared.mesh->vertices; i++) {
        double *p = shared.mesh->points + 3 * i, radius = length(p[0], p[1], p[2]);
        for (int a = 0; a < 3; a++)
            p[a] *= (10.3 + moves[k] + (i % 2 ? .2 : -.2)) / radius;
    }
    shared.mesh->points[0] = 3; /* one that is far off does little harm */
    clvox_denoise_result r = denoise_of(shared.v, shared.mesh, &shared.o);
    double edge = 10.3 + moves[k], truth = 4 / 3. * 3.14159265358979 * edge * edge * edge;
    /* The tetrahedra cut off .3% of the volume. */
    assert_that(r.placed && fabs(r.volume_after / truth - 1) < .006, "volume %g, truth %g", r.volume_after,
                truth);
    clvox_denoise_result_destroy(&r);
    shared.o.free_volume = 1;
    r = denoise_of(shared.v, shared.mesh, &shared.o);
    assert_true(!r.placed && fabs(r.shift_mm) < 1e-9);
    clvox_denoise_result_destroy(&r);
    shared.o.free_volume = 0;
}

static int level_tear_down(void **state)
{
    (void)state;
    clvox_surface_destroy(&shared.mesh);
    clvox_volume_destroy(&shared.v);
    return 0;
}

static void level(void)
{
    test_set_up(level_set_up);
    for (int k = 0; k < 2; k++)
        test_case_at(the_level_lies_where_a_meshs_vertices_do_mm, TEST_AT(k),
                     "the level lies where a mesh's vertices do, %g mm from the level set's own", moves[k]);
    test_tear_down(level_tear_down);
}

/* Below 0 within 2 mm of the box's edges. */
static double near_edges(const double x[3])
{
    double gap[3] = {fabs(fabs(x[0]) - 10.2), fabs(fabs(x[1]) - 8.6), fabs(fabs(x[2]) - 7.4)};
    int near = (gap[0] < 2) + (gap[1] < 2) + (gap[2] < 2);
    return near >= 2 ? -1 : 1;
}

static void edges_kept(void **state)
{
    (void)state;
    clvox_volume *v = make(box, .3, unit), *smooth;
    clvox_denoise_result r = denoise(v, NULL);
    double ours = error_of(r.distance, box, near_edges), best = INFINITY;
    for (double sigma = .6; sigma < 2; sigma += .3) {
        assert_ok(clvox_filter_gaussian(ctx, v, (const double[3]){sigma, sigma, sigma}, 1, &smooth));
        best = fmin(best, error_of(smooth, box, near_edges));
        clvox_volume_destroy(&smooth);
    }
    assert_that(ours < .9 * best, "rms near the edges %g, of the best Gaussian %g", ours, best);
    clvox_volume_destroy(&v);
    clvox_denoise_result_destroy(&r);
}

static const clvox_denoise_update updates[] = {CLVOX_DENOISE_PATCHES, CLVOX_DENOISE_PAPER};

static void a_plane_stays(void **state)
{
    const int *given = *state;
    int i = given[0];
    clvox_volume *v = make(plane, 0, unit);
    clvox_denoise_defaults(&shared.o);
    shared.o.update = updates[i];
    clvox_denoise_result r = denoise(v, &shared.o);
    assert_that(error_of(r.distance, plane, NULL) < .01, "off by %g", error_of(r.distance, plane, NULL));
    assert_that(r.largest_mm < .02, "moved by %g", r.largest_mm);
    clvox_volume_destroy(&v);
    clvox_denoise_result_destroy(&r);
}

static void fixed_points(void)
{
    for (int i = 0; i < 2; i++)
        test_case_at(a_plane_stays, TEST_AT(i), "a plane stays where it is: %s", i ? "paper" : "patches");
}

static void paper(void **state)
{
    (void)state;
    clvox_denoise_options o;
    clvox_denoise_defaults(&o);
    o.update = CLVOX_DENOISE_PAPER;
    o.steps = 7;
    o.interval = 3;
    clvox_volume *v = make(sphere, .4, unit);
    clvox_denoise_result r = denoise(v, &o);
    double before = error_of(v, sphere, NULL), after = error_of(r.distance, sphere, NULL);
    assert_that(after * 1.2 < before, "rms %g, then %g", before, after);
    assert_true(r.steps == 7 && r.rounds == 1 && r.energy[1] < r.energy[0]);
    assert_that(fabs(r.volume_after / 4577.2 - 1) < .015, "volume %g", r.volume_after);
    clvox_volume_destroy(&v);
    clvox_denoise_result_destroy(&r);
}

static void repeats(void **state)
{
    (void)state;
    clvox_volume *v = make(torus, .3, unit);
    clvox_denoise_result a = denoise(v, NULL), b = denoise(v, NULL);
    assert_true(memcmp(a.distance->data, b.distance->data, clvox_grid_voxels(&v->grid) * sizeof(float)) == 0);
    clvox_volume_destroy(&v);
    clvox_denoise_result_destroy(&a);
    clvox_denoise_result_destroy(&b);
}

static void a_band_smaller_than_the_number(void **state)
{
    (void)state;
    clvox_denoise_result r;
    clvox_volume *v;
    clvox_denoise_defaults(&shared.o);
    v = make(tiny, 0, unit);
    shared.o.neighbours = 256;
    r = denoise(v, &shared.o);
    assert_that(r.band_voxels < 256 && r.neighbours == r.band_voxels - 1, "%d of %d", r.neighbours,
                r.band_voxels);
    assert_true(facts_of(r.distance).components == 1 && all_finite(r.distance));
    clvox_volume_destroy(&v);
    clvox_denoise_result_destroy(&r);
}

static void two_surfaces_stay_two_within_the_planned(void **state)
{
    (void)state;
    clvox_denoise_plan plan;
    clvox_volume *v = make(two, .2, unit);
    clvox_denoise_defaults(&shared.o);
    assert_ok(plan_of(v, &shared.o, &plan));
    clvox_denoise_result r = denoise(v, NULL);
    assert_that(facts_of(r.distance).components == 2, "%d components", facts_of(r.distance).components);
    assert_that(r.device_bytes <= plan.device_bytes, "%zu bytes, %zu planned", r.device_bytes,
                plan.device_bytes);
    assert_true(plan.search_seconds > 0 && abs(plan.band_voxels - r.band_voxels) < r.band_voxels / 4);
    clvox_volume_destroy(&v);
    clvox_denoise_result_destroy(&r);
}

static void a_surface_that_touches_the_border(void **state)
{
    (void)state;
    clvox_volume *v = make(corner, .3, unit);
    clvox_denoise_result r = denoise(v, NULL);
    assert_that(error_of(r.distance, corner, NULL) * 1.7 < error_of(v, corner, NULL), "rms %g, then %g",
                error_of(v, corner, NULL), error_of(r.distance, corner, NULL));
    assert_true(all_finite(r.distance));
    clvox_volume_destroy(&v);
    clvox_denoise_result_destroy(&r);
}

static void a_sheet_one_voxel_thick(void **state)
{
    (void)state;
    clvox_volume *v = make(sheet, 0, unit);
    clvox_denoise_defaults(&shared.o);
    clvox_denoise_result r = denoise(v, NULL);
    assert_that(error_of(r.distance, sheet, NULL) < .3, "off by %g", error_of(r.distance, sheet, NULL));
    clvox_denoise_result_destroy(&r);
    clvox_level_set set = set_of(v, NULL);
    assert_ok(clv_denoise_run(ctx, &set, &shared.o, &r));
    assert_true(fabs(r.volume_after / r.volume_before - 1) < .001);
    clvox_volume_destroy(&v);
    clvox_denoise_result_destroy(&r);
}

static void values_that_are_not_finite_count_as_outside(void **state)
{
    (void)state;
    clvox_volume *v = make(sphere, .1, unit);
    v->data[5] = NAN;
    v->data[clvox_grid_voxels(&v->grid) / 2 + EDGE / 2] = NAN; /* in the middle of the ball */
    v->data[77] = INFINITY;
    clvox_denoise_result r = denoise(v, NULL);
    assert_that(r.not_finite == 3 && all_finite(r.distance), "%ld", r.not_finite);
    clvox_volume_destroy(&v);
    clvox_denoise_result_destroy(&r);
}

static void odd_surfaces(void)
{
    test_case(a_band_smaller_than_the_number, "a band smaller than the number of neighbours");
    test_case(two_surfaces_stay_two_within_the_planned, "two surfaces stay two, within the planned memory");
    test_case(a_surface_that_touches_the_border, "a surface that touches the border");
    test_case(a_sheet_one_voxel_thick, "a sheet one voxel thick");
    test_case(values_that_are_not_finite_count_as_outside, "values that are not finite count as outside");
}

static int look(void *user, const clvox_step *step)
{
    double *seen = user;
    assert_true(step->stage && step->fraction >= seen[0] && step->fraction <= 1);
    seen[0] = step->fraction;
    return seen[1] > 0 && step->fraction > 0;
}

static int ball_set_up(void **state)
{
    (void)state;
    clvox_denoise_defaults(&shared.o);
    shared.v = make(sphere, .1, unit);
    return 0;
}

static int ball_tear_down(void **state)
{
    (void)state;
    clvox_volume_destroy(&shared.v);
    return 0;
}

static void progress_rises_to_1_and_may_stop_the_work(void **state)
{
    (void)state;
    double seen[2] = {0, 0};
    shared.o.progress = look;
    shared.o.user = seen;
    shared.r = denoise(shared.v, &shared.o);
    assert_true(seen[0] >= 1);
    clvox_denoise_result_destroy(&shared.r);
    seen[0] = 0;
    seen[1] = 1;
    assert_true(refused(shared.v, &shared.o, &shared.r) == CLVOX_ERROR_STOPPED && !shared.r.distance);
}

static void options_out_of_range_are_refused(void **state)
{
    (void)state;
    clvox_denoise_plan plan;
    shared.o.patch = 4;
    assert_true(refused(shared.v, &shared.o, &shared.r) == CLVOX_ERROR_ARGUMENT && !shared.r.distance);
    clvox_denoise_defaults(&shared.o);
    shared.o.neighbours = 257;
    assert_int_equal(refused(shared.v, &shared.o, &shared.r), CLVOX_ERROR_ARGUMENT);
    clvox_denoise_defaults(&shared.o);
    shared.o.band = (double)NAN;
    assert_int_equal(refused(shared.v, &shared.o, &shared.r), CLVOX_ERROR_ARGUMENT);
    assert_int_equal(plan_of(shared.v, &shared.o, &plan), CLVOX_ERROR_ARGUMENT);
    shared.o.band = 1e12; /* voxels that no int counts */
    assert_int_equal(plan_of(shared.v, &shared.o, &plan), CLVOX_ERROR_ARGUMENT);
    assert_true(strstr(clvox_message(), "band_voxels: 1e+12 is not") != NULL);
    clvox_denoise_defaults(&shared.o);
    shared.o.search = (clvox_denoise_search)(CLVOX_DENOISE_NEAR + 1);
    assert_int_equal(refused(shared.v, &shared.o, &shared.r), CLVOX_ERROR_ARGUMENT);
    clvox_denoise_defaults(&shared.o);
    shared.o.rounds = 101;
    assert_int_equal(refused(shared.v, &shared.o, &shared.r), CLVOX_ERROR_ARGUMENT);
    assert_true(strstr(clvox_message(), "rounds: 101 is not from 0 to 100") != NULL);
    clvox_denoise_defaults(&shared.o);
    shared.v->kind = CLVOX_KIND_LABEL;
    assert_int_equal(refused(shared.v, &shared.o, &shared.r), CLVOX_ERROR_ARGUMENT);
}

static void what_cannot_be_denoised_cannot_be_planned(void **state)
{
    (void)state;
    clvox_denoise_plan plan;
    shared.o.patch = INT32_MAX;
    assert_true(plan_of(shared.v, &shared.o, &plan) == CLVOX_ERROR_ARGUMENT && !plan.device_bytes);
    clvox_denoise_defaults(&shared.o);
    shared.v->frames = 2;
    assert_int_equal(plan_of(shared.v, &shared.o, &plan), CLVOX_ERROR_ARGUMENT);
    shared.v->frames = 1;
    double axis = shared.v->grid.to_ras[0][1];
    shared.v->grid.to_ras[0][1] = 0.3;
    assert_int_equal(plan_of(shared.v, &shared.o, &plan), CLVOX_ERROR_ARGUMENT);
    shared.v->grid.to_ras[0][1] = axis;
    shared.v->grid.to_ras[0][0] = 0;
    assert_int_equal(plan_of(shared.v, &shared.o, &plan), CLVOX_ERROR_ARGUMENT);
}

static void all_inside_or_all_outside_is_no_surface(void **state)
{
    (void)state;
    for (int side = -1; side <= 1; side += 2) {
        for (size_t i = 0; i < clvox_grid_voxels(&shared.v->grid); i++)
            shared.v->data[i] = (float)side;
        assert_int_equal(refused(shared.v, &shared.o, &shared.r), CLVOX_ERROR_DATA);
        assert_true(strstr(clvox_message(), side < 0 ? "every value is inside" : "no value is inside") !=
                    NULL);
    }
}

static void refusals(void)
{
    test_each(ball_set_up, ball_tear_down);
    test_case(progress_rises_to_1_and_may_stop_the_work, "progress rises to 1, and may stop the work");
    test_case(options_out_of_range_are_refused, "options out of range are refused");
    test_case(what_cannot_be_denoised_cannot_be_planned, "what cannot be denoised cannot be planned");
    test_case(all_inside_or_all_outside_is_no_surface, "all inside, or all outside, is no surface");
}

int main(void)
{
    ctx = harness_open();
    truths();
    level();
    test_case(guided, "noise of vertices goes better with a guided second round");
    test_case(edges_kept, "edges are kept better than by a Gaussian of any width");
    fixed_points();
    test_case(paper, "the paper's steps lessen the noise and the energy");
    test_case(repeats, "the same bits twice");
    odd_surfaces();
    refusals();
    return test_run("denoise", harness_close);
}
