/* SPDX-License-Identifier: Apache-2.0 */
/* Digital topology: what counts as joined, which voxels may flip, and that the
 * extracted surface joins what the set does. */
#include "check.h"
#include "clvox/surface.h"
#include "mesh/mesh.h"
#include "mesh/topology.h"

enum { EDGE = 40 };

static const int size[3] = {EDGE, EDGE, EDGE};

typedef double (*shape)(const double x[3]);

static double length(double x, double y, double z)
{
    return sqrt(x * x + y * y + z * z);
}

static double ball(const double x[3])
{
    return length(x[0], x[1], x[2]) - 11.2;
}

static double ring(const double x[3], double from, double thick)
{
    return length(length(x[0] - from, x[1], 0) - 7, x[2], 0) - thick;
}

static double torus(const double x[3])
{
    return ring(x, 0, 3.1);
}

static double double_torus(const double x[3])
{
    return fmin(ring(x, -7, 2.4), ring(x, 7, 2.4));
}

/* A ball with a handle thinner than a voxel's diagonal. */
static double thin_handle(const double x[3])
{
    double handle = length(length(x[0], 0, x[2] - 9) - 7, x[1], 0) - 0.95;
    return fmin(length(x[0], x[1], x[2] + 2) - 7.5, handle);
}

static double shells(const double x[3])
{
    double r = length(x[0], x[1], x[2]);
    return fmax(r - 14.3, 9.1 - r);
}

static double nested(const double x[3])
{
    return fmin(shells(x), length(x[0], x[1], x[2]) - 4.2);
}

static double sheet(const double x[3])
{
    return fmax(fabs(x[2]) - 0.5, fmax(fabs(x[0]), fabs(x[1])) - 12.4);
}

static double pierced(const double x[3])
{
    double plate = fmax(fabs(x[2]) - 2.2, fmax(fabs(x[0]), fabs(x[1])) - 12.4);
    return fmax(plate, 0.85 - length(x[0] - 3, x[1] + 2, 0));
}

/* A ball, another less than a voxel away, an island, a cavity; a ring that stays. */
static double crowd(const double x[3])
{
    double big = fmax(length(x[0] + 8, x[1], x[2]) - 8, 0.9 - length(x[0] + 8.3, x[1] - .4, x[2]));
    double ball = length(x[0] - 6.5, x[1], x[2]) - 5.6, island = length(x[0], x[1] - 14, x[2]) - 0.9;
    return fmin(fmin(big, ball), fmin(island, length(length(x[0], x[2] - 4, 0) - 4.5, x[1] + 14, 0) - 1.9));
}

static clvox_volume *make(shape f)
{
    clvox_grid grid = {{EDGE, EDGE, EDGE}, {{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}, {0, 0, 0, 1}}};
    clvox_volume *v;
    assert_ok(clvox_volume_create(&grid, 1, CLVOX_KIND_SCALAR, &v));
    for (int i = 0; i < EDGE * EDGE * EDGE; i++) {
        const double x[3] = {i % EDGE - 19.6, i / EDGE % EDGE - 19.7, i / EDGE / EDGE - 19.4};
        v->data[i] = (float)f(x);
    }
    return v;
}

static clvox_surface_facts facts_of(const clvox_volume *v)
{
    clvox_surface *mesh = NULL;
    clvox_surface_facts facts;
    assert_ok(clvox_surface_extract(v, 0, false, &mesh));
    assert_ok(clvox_surface_inspect(mesh, &facts));
    clvox_surface_destroy(&mesh);
    return facts;
}

static const struct {
    const char *name;
    shape f;
    int inside, outside, euler;
} rows[] = {
    {"a ball", ball, 1, 1, 2},
    {"a torus", torus, 1, 1, 0},
    {"a double torus", double_torus, 1, 1, -2},
    {"a thin handle", thin_handle, 1, 1, 0},
    {"a shell", shells, 1, 2, 4},
    {"a ball in a shell", nested, 2, 2, 6},
    {"a sheet of one voxel", sheet, 1, 1, 2},
};

static void components_and_euler_characteristic(void **state)
{
    const int *given = *state;
    size_t r = (size_t)given[0];
    clvox_volume *v = make(rows[r].f);
    clv_topology t;
    unsigned char *in = malloc(EDGE * EDGE * EDGE);
    clv_topology_signs(EDGE * EDGE * EDGE, v->data, in);
    assert_ok(clv_topology_count(size, in, 8, &t));
    assert_that(t.inside == rows[r].inside && t.outside == rows[r].outside && t.euler == rows[r].euler,
                "%d inside, %d outside, Euler %d", t.inside, t.outside, t.euler);
    assert_true(t.surfaces == t.inside + t.outside - 1);
    free(in);
    clvox_volume_destroy(&v);
}

static void count_shapes(void)
{
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
        test_case_at(components_and_euler_characteristic, TEST_AT((int)r),
                     "%s: components and Euler characteristic", rows[r].name);
}

/* Any set, on odd grids: the surface of imposed signs is the set's boundary. */
static const int sizes[][3] = {{7, 9, 8},    {1, 1, 1}, {5, 1, 9}, {17, 3, 2},
                               {13, 11, 12}, {1, 8, 7}, {9, 7, 1}};

static void any_set_of_x_x_voxels(void **state)
{
    const int *given = *state;
    int n = given[0];
    uint32_t seed = 9 + 7919u * (uint32_t)n;
    const int *s = sizes[n % 7];
    clvox_grid grid = {{s[0], s[1], s[2]}, {{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}, {0, 0, 0, 1}}};
    clvox_volume *v;
    clv_topology t;
    assert_ok(clvox_volume_create(&grid, 1, CLVOX_KIND_SCALAR, &v));
    size_t count = clvox_grid_voxels(&grid);
    unsigned char *in = malloc(count);
    for (size_t i = 0; i < count; i++) {
        seed = seed * 1664525u + 1013904223u;
        in[i] = (seed >> 24) < 40u + 35u * (unsigned)(n / 10);
        seed = seed * 1664525u + 1013904223u;
        v->data[i] = (float)((seed >> 16) % 1000) * 0.004f - 2;
    }
    in[0] = 1;
    clv_topology_impose(s, in, 1, v->data);
    for (size_t i = 0; i < count; i++)
        assert_true((v->data[i] < 0) == (in[i] == 1));
    assert_ok(clv_topology_count(s, in, 8, &t));
    clvox_surface_facts f = facts_of(v);
    assert_that(f.euler == t.euler && f.components == t.surfaces, "mesh %d, Euler %d; set %d, Euler %d",
                f.components, f.euler, t.surfaces, t.euler);
    free(in);
    clvox_volume_destroy(&v);
}

static void any_set(void)
{
    for (int n = 0; n < 70; n++) {
        const int *s = sizes[n % 7];
        test_case_at(any_set_of_x_x_voxels, TEST_AT(n), "any set of %dx%dx%d voxels, %d", s[0], s[1], s[2],
                     n / 7);
    }
}

/* From one shape to another: the topology stays that of the first, and all that
 * need not be held comes over. */
typedef struct walk_given {
    shape from;
    shape to;
    long most_held;
} walk_given;

static void the_topology_stays(void **state)
{
    const walk_given *given = *state;
    shape from = given->from;
    shape to = given->to;
    long most_held = given->most_held;
    clvox_volume *a = make(from), *b = make(to);
    unsigned char *in = malloc(EDGE * EDGE * EDGE), *again = malloc(EDGE * EDGE * EDGE);
    clv_topology before, after;
    long held, once_more;
    clv_topology_signs(EDGE * EDGE * EDGE, a->data, in);
    assert_ok(clv_topology_count(size, in, 8, &before));
    assert_ok(clv_topology_walk(size, in, b->data, 1, &held));
    assert_ok(clv_topology_count(size, in, 8, &after));
    assert_true(before.inside == after.inside && before.outside == after.outside &&
                before.euler == after.euler);
    long apart = 0;
    for (int i = 0; i < EDGE * EDGE * EDGE; i++)
        apart += (b->data[i] < 0) != in[i];
    assert_that(held <= most_held && apart == held, "%ld held, %ld apart", held, apart);
    memcpy(again, in, EDGE * EDGE * EDGE);
    assert_ok(clv_topology_walk(size, again, b->data, 1, &once_more));
    assert_true(once_more == held && !memcmp(again, in, EDGE * EDGE * EDGE));
    clv_topology_impose(size, in, 1, b->data);
    clvox_surface_facts f = facts_of(b);
    assert_that(f.euler == before.euler && f.components == before.surfaces, "%d surfaces, Euler %d",
                f.components, f.euler);
    assert_true(!f.open_edges && !f.flipped_edges && !f.crowded_edges);
    free(in);
    free(again);
    clvox_volume_destroy(&a);
    clvox_volume_destroy(&b);
}

static void walk(const char *name, shape from, shape to, long most_held)
{
    test_case_at(the_topology_stays, TEST_OF(((walk_given){from, to, most_held})), "%s: the topology stays",
                 name);
}

/* Parts that a shift by depth removes go; parts that it would join or cut off stay. */
typedef struct simplify_given {
    shape f;
    double depth;
    int inside;
    int outside;
    int euler;
    long least;
    long most;
} simplify_given;

static void simplified_2(void **state)
{
    const simplify_given *given = *state;
    shape f = given->f;
    double depth = given->depth;
    int inside = given->inside;
    int outside = given->outside;
    int euler = given->euler;
    long least = given->least;
    long most = given->most;
    clvox_volume *v = make(f), *was = make(f);
    unsigned char *in = malloc(EDGE * EDGE * EDGE);
    clv_topology t;
    long flipped, changed = 0;
    assert_ok(clv_topology_simplify(size, 1, (float)depth, v->data, &flipped));
    clv_topology_signs(EDGE * EDGE * EDGE, v->data, in);
    assert_ok(clv_topology_count(size, in, 0, &t));
    assert_that(t.inside == inside && t.outside == outside && t.euler == euler,
                "%d inside, %d outside, Euler %d", t.inside, t.outside, t.euler);
    for (int i = 0; i < EDGE * EDGE * EDGE; i++) {
        bool flip = (v->data[i] < 0) != (was->data[i] < 0);
        changed += flip;
        assert_true(!flip || fabs((double)was->data[i]) <= depth);
        assert_true(flipped || v->data[i] == was->data[i]);
    }
    assert_that(changed == flipped && least <= flipped && flipped <= most, "%ld flipped, %ld changed",
                flipped, changed);
    clvox_surface_facts facts = facts_of(v);
    assert_true(facts.euler == (flipped ? euler : facts.euler) && !facts.open_edges);
    free(in);
    clvox_volume_destroy(&v);
    clvox_volume_destroy(&was);
}

static void simplify(const char *name, shape f, double depth, int inside, int outside, int euler, long least,
                     long most)
{
    test_case_at(simplified_2, TEST_OF(((simplify_given){f, depth, inside, outside, euler, least, most})),
                 "%s, simplified by %g", name, depth);
}

static void specks_are_counted_the_largest_component(void **state)
{
    (void)state;
    clv_topology t;
    clvox_volume *v = make(nested);
    unsigned char *in = malloc(EDGE * EDGE * EDGE);
    clv_topology_signs(EDGE * EDGE * EDGE, v->data, in);
    in[0] = in[EDGE * EDGE * EDGE - 1] = 1; /* islands of one voxel */
    in[(20 * EDGE + 20) * EDGE + 20] = 0;          /* a cavity in the ball */
    assert_ok(clv_topology_count(size, in, 8, &t));
    assert_true(t.inside == 4 && t.outside == 3 && t.specks == 3 &&
                t.euler == 12);
    assert_ok(clv_topology_count(size, in, 0, &t));
    assert_true(t.specks == 0);
    memset(in, 0, EDGE * EDGE * EDGE);
    in[777] = 1;
    assert_ok(clv_topology_count(size, in, 8, &t));
    assert_true(t.specks == 0 && t.inside == 1);
    free(in);
    clvox_volume_destroy(&v);
}

static void two_voxels_that_touch_at_an_edge_are_two(void **state)
{
    (void)state;
    clv_topology t;
    unsigned char *in = calloc(EDGE * EDGE, EDGE);
    in[777] = in[777 + EDGE + 1] = 1;
    assert_ok(clv_topology_count(size, in, 0, &t));
    assert_true(t.inside == 2 && t.euler == 4);
    free(in);
}

static void a_ring_of_voxels_that_touch_at_edges(void **state)
{
    (void)state;
    clv_topology t;
    unsigned char *in = calloc(EDGE * EDGE, EDGE);
    in[820] = in[820 + EDGE + 1] = in[820 + 2 * EDGE] = in[820 + EDGE - 1] = 1;
    assert_ok(clv_topology_count(size, in, 0, &t));
    assert_true(t.inside == 4 && t.euler == 8);
    free(in);
}

static void specks(void)
{
    test_case(specks_are_counted_the_largest_component, "specks are counted, the largest component is none");
    test_case(two_voxels_that_touch_at_an_edge_are_two,
              "two voxels that touch at an edge are two components");
    test_case(a_ring_of_voxels_that_touch_at_edges, "a ring of voxels that touch at edges is no torus");
}

int main(void)
{
    count_shapes();
    any_set();
    walk("a ball that grows into a torus", ball, torus, 100);
    walk("a torus that is filled", torus, ball, 100);
    walk("a thin handle that is lost", thin_handle, ball, 60);
    walk("a double torus that loses a ring", double_torus, torus, 200);
    walk("two nested surfaces of which one is lost", shells, ball, 1);
    walk("a ball in a shell, both lost", nested, ball, 900);
    walk("a sheet of one voxel that grows", sheet, ball, 0);
    simplify("a ball with a thin handle", thin_handle, 1.2, 1, 1, 2, 1, 60);
    simplify("a ball with a thin handle", thin_handle, 0.2, 1, 1, 0, 0, 0);
    simplify("a plate with a narrow hole", pierced, 1, 1, 1, 2, 1, 20);
    simplify("a plate with a narrow hole", pierced, 0.2, 1, 1, 0, 0, 0);
    simplify("a double torus", double_torus, 1, 1, 1, -2, 0, 0);
    simplify("two nested surfaces", nested, 1, 2, 2, 6, 0, 0);
    simplify("near parts, an island and a cavity", crowd, 1, 3, 1, 4, 2, 20);
    simplify("a sheet of one voxel", sheet, 0.7, 1, 1, 2, 0, 0);
    specks();
    return test_run("topology", NULL);
}
