/* SPDX-License-Identifier: Apache-2.0 */
/* Interpretation of a volume's values, and level sets made of them. */
#include "mesh/mesh.h"
#include "op/harness.h"

enum { EDGE = 24 };

static clvox_context *ctx;

/* The distance to a ball of 7.3 voxels, in millimetres. */
static clvox_volume *make(double voxel)
{
    clvox_grid grid = {{EDGE, EDGE, EDGE}, {{0}}};
    clvox_volume *v;
    for (int a = 0; a < 3; a++)
        grid.to_ras[a][a] = voxel;
    grid.to_ras[3][3] = 1;
    assert_ok(clvox_volume_create(&grid, 1, CLVOX_KIND_SCALAR, &v));
    for (int i = 0; i < EDGE * EDGE * EDGE; i++) {
        double x = i % EDGE - 11.6, y = i / EDGE % EDGE - 11.4, z = i / (EDGE * EDGE) - 11.7;
        v->data[i] = (float)(voxel * (sqrt(x * x + y * y + z * z) - 7.3));
    }
    return v;
}

static float as_mask(float d)
{
    return d < 0;
}

static float as_labels(float d)
{
    return d < -3 ? 7 : d < 0 ? 4 : 0;
}

static float as_probability(float d)
{
    return 1 / (1 + expf(3 * d));
}

static float as_grey(float d)
{
    return 100 / (1 + expf(3 * d));
}

static float as_scores(float d)
{
    return 40.5f - 10 * d;
}

static float as_hounsfield(float d)
{
    return d < 0 ? 60 : -1000;
}

static float as_distance(float d)
{
    return d;
}

static const struct {
    const char *what;
    float (*of)(float);
    int label;
    double iso;
    int status;
    clvox_inside_kind kind;
    double level;
    int above;
    const char *text;
} rows[] = {
    {"a mask", as_mask, -1, NAN, CLVOX_OK, CLVOX_INSIDE_MASK, 0.5, 1, "mask"},
    {"labels", as_labels, -1, NAN, CLVOX_OK, CLVOX_INSIDE_LABELS, 0.5, 1, "all labels above 0"},
    {"a label", as_labels, 7, NAN, CLVOX_OK, CLVOX_INSIDE_LABEL, 0.5, 1, "label 7"},
    {"a label that is not there", as_labels, 5, NAN, CLVOX_ERROR_DATA, 0, 0, 0, NULL},
    {"a probability", as_probability, -1, NAN, CLVOX_OK, CLVOX_INSIDE_PROBABILITY, 0.5, 1, "image above 0.5"},
    {"grey values", as_grey, -1, NAN, CLVOX_ERROR_DATA, 0, 0, 0, NULL},
    {"grey values with iso", as_grey, -1, 50, CLVOX_OK, CLVOX_INSIDE_IMAGE, 50, 1, "image above 50"},
    {"steep values of either sign", as_scores, -1, NAN, CLVOX_ERROR_DATA, 0, 0, 0, NULL},
    {"whole numbers below 0", as_hounsfield, -1, NAN, CLVOX_ERROR_DATA, 0, 0, 0, NULL},
    {"a distance", as_distance, -1, NAN, CLVOX_OK, CLVOX_INSIDE_DISTANCE, 0, 0, "signed distance"},
    {"a distance, as an image", as_distance, -1, -2, CLVOX_OK, CLVOX_INSIDE_IMAGE, -2, 1, "image above -2"},
    {"a label and iso", as_labels, 7, 3, CLVOX_ERROR_ARGUMENT, 0, 0, 0, NULL},
};

static void case_(void **state)
{
    const int *given = *state;
    size_t r = (size_t)given[0];
    clvox_volume *v = make(1), *mask;
    clvox_inside inside;
    for (int i = 0; i < EDGE * EDGE * EDGE; i++)
        v->data[i] = rows[r].of(v->data[i]);
    int status = clvox_inside_of(v, rows[r].label, rows[r].iso, &inside);
    assert_that(status == rows[r].status, "status %d", status);
    if (status >= 0) {
        assert_true(inside.kind == rows[r].kind && inside.above == rows[r].above);
        assert_true(fabs(inside.level - rows[r].level) < 1e-12 && !strcmp(inside.text, rows[r].text));
        assert_ok(clvox_inside_mask(v, &inside, &mask));
        assert_true((mask != NULL) == (inside.kind <= CLVOX_INSIDE_LABEL));
        for (int i = 0; mask && i < EDGE * EDGE * EDGE; i++)
            assert_true(mask->data[i] ==
                        (rows[r].label >= 0 ? v->data[i] == (float)rows[r].label : v->data[i] > 0));
        clvox_volume_destroy(&mask);
    }
    clvox_volume_destroy(&v);
}

static void kinds(void)
{
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        test_case_at(case_, TEST_AT((int)r), "%s: %s", rows[r].what, rows[r].text ? rows[r].text : "refused");
    }
}

static void refusals(void **state)
{
    (void)state;
    clvox_inside inside;
    clvox_level_set set;
    clvox_level_set_source source;
    clvox_volume *v = make(1);
    v->frames = 2;
    assert_int_equal(clvox_inside_of(v, -1, NAN, &inside), CLVOX_ERROR_DATA);
    v->frames = 1;
    for (int side = 0; side < 2; side++) {
        for (int i = 0; i < EDGE * EDGE * EDGE; i++)
            v->data[i] = (float)side;
        assert_int_equal(clvox_inside_of(v, -1, NAN, &inside), CLVOX_ERROR_DATA);
        assert_true(strstr(clvox_message(), side ? "all of its voxels" : "none of its voxels") != NULL);
    }
    clvox_level_set_source_defaults(&source);
    assert_true(clvox_level_set_create(ctx, &source, &set) == CLVOX_ERROR_ARGUMENT && !set.distance);
    clvox_volume_destroy(&v);
}

static struct {
    clvox_level_set set;
    clvox_level_set_source source;
    clvox_volume *v, *mask;
    double ball;
} shared;

static int ball_set_up(void **state)
{
    (void)state;
    shared.v = make(0.8);
    shared.mask = make(0.8);
    for (int i = 0; i < EDGE * EDGE * EDGE; i++)
        shared.mask->data[i] = shared.mask->data[i] < 0;
    shared.ball = 4 / 3. * 3.14159265358979 * pow(0.8 * 7.3, 3);
    clvox_level_set_source_defaults(&shared.source);
    shared.source.volume = shared.v;
    return 0;
}

static int ball_tear_down(void **state)
{
    (void)state;
    clvox_volume_destroy(&shared.v);
    clvox_volume_destroy(&shared.mask);
    return 0;
}

static void a_distance_stays(void **state)
{
    (void)state;
    assert_ok(clvox_level_set_create(ctx, &shared.source, &shared.set));
    assert_true(!memcmp(shared.set.distance->data, shared.v->data, EDGE * EDGE * EDGE * sizeof(float)) &&
                shared.set.volume == 0);
    clvox_level_set_destroy(&shared.set);
    assert_true(!shared.set.distance);
}

static void a_masks_lies_on_its_grid_or_on_the_part(void **state)
{
    (void)state;
    shared.source.volume = shared.mask;
    for (int whole = 0; whole < 2; whole++) {
        shared.source.whole = whole;
        assert_ok(clvox_level_set_create(ctx, &shared.source, &shared.set));
        assert_true((shared.set.distance->grid.size[0] == EDGE) && !shared.set.from_surface &&
                    !shared.set.surface);
        assert_that(fabs(shared.set.volume / shared.ball - 1) < 0.03, "%g mm^3, not %g", shared.set.volume,
                    shared.ball);
        clvox_level_set_destroy(&shared.set);
    }
}

static void a_meshs_is_made_on_voxels_of_its_triangles(void **state)
{
    (void)state;
    clvox_surface *mesh;
    assert_ok(clvox_surface_extract(shared.v, 0, 0, &mesh));
    clvox_level_set_source_defaults(&shared.source);
    shared.source.surface = mesh;
    for (int asked = 0; asked < 2; asked++) {
        shared.source.voxel = asked ? 0.5 : 0;
        assert_ok(clvox_level_set_create(ctx, &shared.source, &shared.set));
        double edge = shared.set.distance->grid.to_ras[0][0];
        assert_that(asked ? edge == 0.5 : edge > 0.3 && edge < 0.8, "voxels of %g mm", edge);
        assert_true(shared.set.from_surface && shared.set.bounds && !shared.set.steps && shared.set.surface &&
                    shared.set.surface != mesh);
        assert_that(fabs(shared.set.volume / shared.ball - 1) < 0.03, "%g mm^3, not %g", shared.set.volume,
                    shared.ball);
        clvox_level_set_destroy(&shared.set);
    }
    shared.source.iso = 3;
    assert_true(clvox_level_set_create(ctx, &shared.source, &shared.set) == CLVOX_ERROR_ARGUMENT &&
                !shared.set.distance && !shared.set.surface);
    clvox_surface_destroy(&mesh);
}

static void level_sets(void)
{
    test_each(ball_set_up, ball_tear_down);
    test_case(a_distance_stays, "a distance stays what it is");
    test_case(a_masks_lies_on_its_grid_or_on_the_part, "a mask's lies on its grid or on the part around it");
    test_case(a_meshs_is_made_on_voxels_of_its_triangles,
              "a mesh's is made on voxels of its triangles' size, or of the size that is asked for");
}

int main(void)
{
    ctx = harness_open();
    kinds();
    test_case(refusals, "several frames, all or nothing inside, and what is no source");
    level_sets();
    return test_run("inside", harness_close);
}
