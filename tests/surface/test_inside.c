/* SPDX-License-Identifier: Apache-2.0 */
/* What the values of a volume are taken for, and level sets made of them. */
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
    check_must(clvox_volume_create(&grid, 1, CLVOX_KIND_SCALAR, &v));
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

static void kinds(void)
{
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
        {"a probability", as_probability, -1, NAN, CLVOX_OK, CLVOX_INSIDE_PROBABILITY, 0.5, 1,
         "image above 0.5"},
        {"grey values", as_grey, -1, NAN, CLVOX_ERROR_DATA, 0, 0, 0, NULL},
        {"grey values with iso", as_grey, -1, 50, CLVOX_OK, CLVOX_INSIDE_IMAGE, 50, 1, "image above 50"},
        {"steep values of either sign", as_scores, -1, NAN, CLVOX_ERROR_DATA, 0, 0, 0, NULL},
        {"whole numbers below 0", as_hounsfield, -1, NAN, CLVOX_ERROR_DATA, 0, 0, 0, NULL},
        {"a distance", as_distance, -1, NAN, CLVOX_OK, CLVOX_INSIDE_DISTANCE, 0, 0, "signed distance"},
        {"a distance, as an image", as_distance, -1, -2, CLVOX_OK, CLVOX_INSIDE_IMAGE, -2, 1,
         "image above -2"},
        {"a label and iso", as_labels, 7, 3, CLVOX_ERROR_ARGUMENT, 0, 0, 0, NULL},
    };
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        CHECK_CASE("%s: %s", rows[r].what, rows[r].text ? rows[r].text : "refused");
        clvox_volume *v = make(1), *mask;
        clvox_inside inside;
        for (int i = 0; i < EDGE * EDGE * EDGE; i++)
            v->data[i] = rows[r].of(v->data[i]);
        int status = clvox_inside_of(v, rows[r].label, rows[r].iso, &inside);
        CHECK_THAT(status == rows[r].status, "status %d", status);
        if (status >= 0) {
            CHECK(inside.kind == rows[r].kind && inside.above == rows[r].above);
            CHECK(fabs(inside.level - rows[r].level) < 1e-12 && !strcmp(inside.text, rows[r].text));
            check_must(clvox_inside_mask(v, &inside, &mask));
            CHECK((mask != NULL) == (inside.kind <= CLVOX_INSIDE_LABEL));
            for (int i = 0; mask && i < EDGE * EDGE * EDGE; i++)
                CHECK(mask->data[i] ==
                      (rows[r].label >= 0 ? v->data[i] == (float)rows[r].label : v->data[i] > 0));
            clvox_volume_destroy(&mask);
        }
        clvox_volume_destroy(&v);
    }
}

static void refusals(void)
{
    clvox_inside inside;
    clvox_level_set set;
    clvox_level_set_source source;
    clvox_volume *v = make(1);
    CHECK_CASE("several frames, all or nothing inside, and what is no source");
    v->frames = 2;
    CHECK(clvox_inside_of(v, -1, NAN, &inside) == CLVOX_ERROR_DATA);
    v->frames = 1;
    for (int side = 0; side < 2; side++) {
        for (int i = 0; i < EDGE * EDGE * EDGE; i++)
            v->data[i] = (float)side;
        CHECK(clvox_inside_of(v, -1, NAN, &inside) == CLVOX_ERROR_DATA);
        CHECK(strstr(clvox_message(), side ? "all of its voxels" : "none of its voxels") != NULL);
    }
    clvox_level_set_source_defaults(&source);
    CHECK(clvox_level_set_make(ctx, &source, &set) == CLVOX_ERROR_ARGUMENT && !set.distance);
    clvox_volume_destroy(&v);
}

static void level_sets(void)
{
    clvox_level_set set;
    clvox_level_set_source source;
    clvox_volume *v = make(0.8), *mask = make(0.8);
    for (int i = 0; i < EDGE * EDGE * EDGE; i++)
        mask->data[i] = mask->data[i] < 0;
    double ball = 4 / 3. * 3.14159265358979 * pow(0.8 * 7.3, 3);
    clvox_level_set_source_defaults(&source);

    CHECK_CASE("a distance stays what it is");
    source.volume = v;
    check_must(clvox_level_set_make(ctx, &source, &set));
    CHECK(!memcmp(set.distance->data, v->data, EDGE * EDGE * EDGE * sizeof(float)) && set.volume == 0);
    clvox_level_set_free(&set);
    CHECK(!set.distance);

    CHECK_CASE("a mask's lies on its grid or on the part around it");
    source.volume = mask;
    for (int whole = 0; whole < 2; whole++) {
        source.whole = whole;
        check_must(clvox_level_set_make(ctx, &source, &set));
        CHECK((set.distance->grid.size[0] == EDGE) && !set.from_surface && !set.surface);
        CHECK_THAT(fabs(set.volume / ball - 1) < 0.03, "%g mm^3, not %g", set.volume, ball);
        clvox_level_set_free(&set);
    }

    CHECK_CASE("a mesh's is made on voxels of its triangles' size, or of the size that is asked for");
    clvox_surface *mesh;
    check_must(clvox_surface_extract(v, 0, 0, &mesh));
    source = (clvox_level_set_source){.label = -1, .iso = (double)NAN, .surface = mesh};
    for (int asked = 0; asked < 2; asked++) {
        source.voxel = asked ? 0.5 : 0;
        check_must(clvox_level_set_make(ctx, &source, &set));
        double edge = set.distance->grid.to_ras[0][0];
        CHECK_THAT(asked ? edge == 0.5 : edge > 0.3 && edge < 0.8, "voxels of %g mm", edge);
        CHECK(set.from_surface && set.bounds && !set.steps && set.surface && set.surface != mesh);
        CHECK_THAT(fabs(set.volume / ball - 1) < 0.03, "%g mm^3, not %g", set.volume, ball);
        clvox_level_set_free(&set);
    }
    source.iso = 3;
    CHECK(clvox_level_set_make(ctx, &source, &set) == CLVOX_ERROR_ARGUMENT && !set.distance && !set.surface);
    clvox_surface_destroy(&mesh);
    clvox_volume_destroy(&v);
    clvox_volume_destroy(&mask);
}

int main(void)
{
    ctx = harness_open();
    kinds();
    refusals();
    level_sets();
    clvox_context_destroy(&ctx);
    return check_end();
}
