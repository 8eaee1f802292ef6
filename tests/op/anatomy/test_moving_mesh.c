/* SPDX-License-Identifier: Apache-2.0 */
#include "op/anatomy/moving_mesh.h"
#include "op/harness.h"
#include "ref/anatomy/landmark_force.h"
#include "ref/anatomy/moving_mesh.h"

enum { ROWS = 18, COLUMNS = 17, MOST = ROWS * COLUMNS, TRIANGLES = 2 * ROWS * COLUMNS, SLOT = 2, VOXELS = 9 * 7 * 8 };

/* A rough sheet of triangles, its rows as curves, or its vertices as points of unlike weights: a vertex of
 * triangles has one to six of them, one of a curve one or two segments, and some points are listed twice. */
typedef struct sheet {
    int corners, vertices, elements, corner[3 * TRIANGLES], topology[CLV_TOPOLOGY_INTS(3, MOST, TRIANGLES)];
    float point[4 * MOST];            /* voxels, weight */
    double x[3 * MOST], weight[MOST]; /* mm */
} sheet;

static const float millimetres[3] = {.8f, 1.5f, 2.25f};
static const double uneven[3] = {.8, 1.5, 2.25};

static void add(sheet *s, const int *vertices)
{
    memcpy(s->corner + s->corners * s->elements++, vertices, (size_t)s->corners * sizeof(int));
}

static void make(sheet *s, int corners, int rows, int columns, unsigned seed)
{
    static float noise[3 * MOST];
    *s = (sheet){.corners = corners, .vertices = rows * columns};
    harness_random(noise, 3 * (size_t)s->vertices, seed, -.2f, .2f);
    for (int k = 0; k < s->vertices; k++) {
        const float at[3] = {1 + 5 * (float)(k % columns) / (float)columns, 1 + 4 * (float)(k / columns) / (float)rows,
                             3 + sinf(.5f * (float)k)};
        for (int a = 0; a < 3; a++) {
            s->point[4 * k + a] = at[a] + noise[3 * k + a];
            s->x[3 * k + a] = (double)s->point[4 * k + a] * (double)millimetres[a];
        }
        s->weight[k] = corners == 1 ? .5 + k % 3 : 0;
        s->point[4 * k + 3] = (float)s->weight[k];
    }
    for (int r = 0; r + (corners == 3) < rows; r++)
        for (int c = 0; c + (corners > 1) < columns; c++) {
            const int a = r * columns + c, two[6] = {a, a + 1, a + columns, a + 1, a + columns + 1, a + columns};
            add(s, two);
            if (corners == 3)
                add(s, two + 3);
            if (corners == 1 && a % 7 == 0)
                add(s, two);
        }
    int *first = s->topology + corners * s->elements, *list = first + s->vertices + 1, n = 0;
    memcpy(s->topology, s->corner, sizeof(int) * (size_t)(corners * s->elements));
    for (int k = 0; k <= s->vertices; k++) {
        first[k] = n;
        for (int i = 0; k < s->vertices && i < corners * s->elements; i++)
            if (s->corner[i] == k)
                list[n++] = i;
    }
}

static ref_mesh reference(const sheet *s)
{
    return (ref_mesh){s->corners, s->vertices, s->elements, s->x, s->corner, s->weight};
}

static clv_moving_mesh upload(clvox_context *ctx, const sheet *s)
{
    return (clv_moving_mesh){
        .corners = s->corners,
        .vertices = s->vertices,
        .elements = s->elements,
        .points = harness_upload(ctx, s->point, sizeof(float) * 4 * (size_t)s->vertices),
        .topology = harness_upload(ctx, s->topology,
                                   sizeof(int) * CLV_TOPOLOGY_INTS(s->corners, s->vertices, s->elements)),
        .tracked = harness_output(ctx, sizeof(float) * 8 * (size_t)s->vertices),
        .element = harness_output(ctx, 32 * (size_t)s->elements),
        .box = harness_output(ctx, 32 * (size_t)CLV_CURRENTS_BLOCKS(s->elements)),
    };
}

static void release(clv_moving_mesh *m)
{
    clv_buffer_destroy(&m->points);
    clv_buffer_destroy(&m->topology);
    clv_buffer_destroy(&m->tracked);
    clv_buffer_destroy(&m->element);
    clv_buffer_destroy(&m->box);
}

static clv_elements elements_of(const clv_moving_mesh *m)
{
    return (clv_elements){m->element, m->box, m->elements};
}

/* Elements and boxes around them. */
static void check_elements(clvox_context *ctx, const sheet *s, const clv_moving_mesh *m)
{
    static float want[8 * TRIANGLES], got[8 * TRIANGLES], box[8 * CLV_CURRENTS_BLOCKS(TRIANGLES)];
    const ref_mesh mesh = reference(s);
    ref_mesh_elements(&mesh, want);
    harness_download(ctx, m->element, got, 32 * (size_t)s->elements);
    harness_download(ctx, m->box, box, 32 * (size_t)CLV_CURRENTS_BLOCKS(s->elements));
    for (int i = 0; i < 8 * s->elements; i++) {
        const float *b = box + 8 * (i / 8 / CLV_CURRENTS_BLOCK);
        assert_that(fabsf(got[i] - want[i]) < 2e-5f, "element %d: %g, not %g", i, (double)got[i], (double)want[i]);
        assert_true(i % 8 > 2 || (got[i] >= b[i % 8] && got[i] <= b[4 + i % 8]));
    }
}

static void check_derivative(clvox_context *ctx, int corners, bool varifold)
{
    static sheet s, t;
    static float tracked[8 * MOST], again[8 * MOST], zero[8 * TRIANGLES];
    static double want[3 * MOST];
    const bool tiny = getenv("CLVOX_TEST_TINY") != NULL;
    const int size[3] = {9, 7, 8};
    const clv_image grid = clv_image_of(NULL, size, millimetres, 3);
    const double width = varifold ? 1.3 : 2.5;
    double largest = 0;
    make(&s, corners, tiny ? 4 : ROWS, tiny ? 5 : COLUMNS, 3);
    make(&t, corners, 5, 6, 11);
    memcpy(
        s.x + 3, s.x,
        3 * sizeof(double)); /* a triangle without area, a segment without length, two points in one place */
    memcpy(s.point + 4, s.point, 3 * sizeof(float));
    const ref_mesh first = reference(&s), second = reference(&t);
    ref_mesh_gradient(&first, &second, width, varifold, want);
    clv_moving_mesh a = upload(ctx, &s), b = upload(ctx, &t);
    clv_buffer *by = harness_upload(ctx, zero, 32 * (size_t)s.elements);
    clv_buffer *partial = harness_output(ctx, 4 * (size_t)CLV_CURRENTS_BLOCKS(s.elements));
    assert_ok(clv_moving_mesh_place(ctx, &a, NULL, &grid));
    assert_ok(clv_moving_mesh_place(ctx, &b, NULL, &grid));
    check_elements(ctx, &s, &a);
    for (int own = 0; own < 2; own++) {
        const clv_currents_args args = {.target = elements_of(&a),
                                        .source = elements_of(own ? &a : &b),
                                        .width = (float)width,
                                        .varifold = varifold,
                                        .partial = partial,
                                        .gradient = by,
                                        .factor = own ? 2 : -2};
        assert_ok(clv_currents(ctx, &args));
    }
    const clv_mesh_pull_args pull = {.by_element = by, .grid = grid, .factor = 1};
    assert_ok(clv_moving_mesh_pull(ctx, &a, &pull));
    harness_download(ctx, a.tracked, tracked, sizeof(float) * 8 * (size_t)s.vertices);
    assert_ok(clv_moving_mesh_pull(ctx, &a, &pull));
    harness_download(ctx, a.tracked, again, sizeof(float) * 8 * (size_t)s.vertices);
    assert_memory_equal(tracked, again, sizeof(float) * 8 * (size_t)s.vertices);
    for (int i = 0; i < 3 * s.vertices; i++)
        largest = fmax(largest, fabs(want[i]));
    for (int i = 0; i < 3 * s.vertices; i++) {
        double got = (double)tracked[8 * (i / 3) + 4 + i % 3];
        assert_that(fabs(got - want[i]) <= 3e-5 * largest,
                    "%d corners, varifold %d, vertex %d: %g, not %g (largest %g)", corners, varifold, i / 3,
                    got, want[i], largest);
    }
    clv_buffer_destroy(&by);
    clv_buffer_destroy(&partial);
    release(&a);
    release(&b);
}

static void the_energy_and_its_derivative_by_vertices(void **state)
{
    (void)state;
    for (int corners = 1; corners <= 3; corners++)
        for (int varifold = 0; varifold < (harness_first() && corners > 1 ? 2 : 1); varifold++)
            check_derivative(harness_context(), corners, varifold);
}

/* Places, and dF/da of any dF: as landmarks at the vertices have them whose distance has that derivative. */
static void check_places(int corners)
{
    static sheet s;
    static float u[3 * VOXELS], tracked[8 * MOST], by[8 * TRIANGLES];
    static double wide[3 * VOXELS], points[6 * MOST], place[6 * MOST], vector[6 * MOST];
    clvox_context *ctx = harness_context();
    const int size[3] = {9, 7, 8};
    const float axes[3] = {1, .5f, 0}, numbers[SLOT + 1] = {0, 0, 40};
    for (int i = 0; i < 3 * VOXELS; i++) {
        int at = i % VOXELS, c = i / VOXELS;
        u[i] = .5f * millimetres[c] * sinf(.6f * (float)(at % 9) + .5f * (float)(at / 9 % 7) + .7f * (float)(at / 63) + (float)c);
        wide[i] = (double)u[i];
    }
    make(&s, corners, 4, 5, 3);
    for (int i = 0; i < 3 * s.vertices; i++) {
        points[i] = (double)s.point[4 * (i / 3) + i % 3];
        points[3 * s.vertices + i] = points[i] + .1 * (i % 7);
    }
    ref_landmark_track(points, s.vertices, wide, NULL, size, uneven, 1, place, vector);
    /* Through one corner alone a vertex's derivative is what its element's centre has, over the number of
     * corners. */
    for (int k = 0; k < s.vertices; k++) {
        int *first = s.topology + corners * s.elements, *list = first + s.vertices + 1,
            t = list[first[k]] / corners;
        memset(by, 0, sizeof by);
        for (int a = 0; a < 3; a++)
            by[8 * t + a] = (float)(corners * 2. / s.vertices *
                                    (place[3 * k + a] - points[3 * (s.vertices + k) + a]) * uneven[a]);
        if (k % 5)
            continue;
        clv_moving_mesh m = upload(ctx, &s);
        const clv_buffer *field = harness_upload_field(ctx, u, VOXELS),
                         *elements = harness_upload(ctx, by, 32 * (size_t)s.elements);
        const clv_buffer *state_numbers = harness_upload(ctx, numbers, sizeof numbers);
        const clv_mesh_pull_args pull = {.by_element = elements, .u = field, .grid = clv_image_of(NULL, size, millimetres, 3),
                                         .factor = .5f, .axes = axes, .state = state_numbers, .slot = SLOT};
        assert_ok(clv_moving_mesh_place(ctx, &m, field, &pull.grid));
        assert_ok(clv_moving_mesh_pull(ctx, &m, &pull));
        harness_download(ctx, m.tracked, tracked, sizeof(float) * 8 * (size_t)s.vertices);
        for (int a = 0; a < 3; a++) {
            double want = 20 * (double)axes[a] * vector[3 * k + a], got = (double)tracked[8 * k + 4 + a];
            assert_that(fabs((double)tracked[8 * k + a] - place[3 * k + a]) < 1e-3, "place %d: %g, not %g", k,
                        (double)tracked[8 * k + a], place[3 * k + a]);
            assert_that(fabs(got - want) < 2e-3 + 1e-3 * fabs(want), "%d corners, vector %d: %g, not %g",
                        corners, k, got, want);
        }
        clv_buffer *all[] = {(clv_buffer *)(uintptr_t)field, (clv_buffer *)(uintptr_t)elements, (clv_buffer *)(uintptr_t)state_numbers};
        for (int i = 0; i < 3; i++)
            clv_buffer_destroy(&all[i]);
        release(&m);
    }
}

static void places_and_pull_by_a_map(void **state)
{
    (void)state;
    for (int corners = 1; corners <= 3; corners++)
        check_places(corners);
}

static void the_reference_is_the_derivative(void **state)
{
    (void)state;
    static sheet s, t;
    static double gradient[3 * MOST];
    const double h = 1e-6;
    for (int of = 0; of < 6; of++) {
        const int corners = 1 + of / 2, varifold = of % 2;
        make(&s, corners, 4, 5, 3);
        make(&t, corners, 3, 6, 11);
        const ref_mesh first = reference(&s), second = reference(&t);
        ref_mesh_gradient(&first, &second, 1.5, varifold, gradient);
        for (int i = 0; i < 3 * s.vertices; i++) {
            double kept = s.x[i], energy[2];
            for (int k = 0; k < 2; k++) {
                s.x[i] = kept + (k ? h : -h);
                energy[k] = ref_mesh_energy(&first, &second, 1.5, varifold);
            }
            s.x[i] = kept;
            double slope = (energy[1] - energy[0]) / (2 * h);
            assert_that(fabs(slope - gradient[i]) < 1e-6 * (1 + fabs(slope)),
                        "%d corners, varifold %d, %d: %g, not %g", corners, varifold, i, gradient[i], slope);
        }
    }
}

int main(void)
{
    test_case(the_reference_is_the_derivative, "moving mesh: the reference is the derivative of the energy by the vertices");
    harness_open();
    harness_cases(&clv_entry_moving_mesh_place, places_and_pull_by_a_map, NULL, 0, "places");
    harness_cases(&clv_entry_moving_mesh_elements, the_energy_and_its_derivative_by_vertices, NULL, 0, "elements");
    harness_cases(&clv_entry_moving_mesh_boxes, the_energy_and_its_derivative_by_vertices, NULL, 0, "boxes");
    harness_cases(&clv_entry_moving_mesh_pull, the_energy_and_its_derivative_by_vertices, NULL, 0, "derivatives by vertices");
    harness_cases(&clv_entry_moving_mesh_pull, places_and_pull_by_a_map, NULL, 0, "derivatives by the map");
    return test_run("moving mesh", harness_close);
}
