/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of surfaces as currents, and of meshes that a map moves. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "anatomy/elements.h"
#include "bench/rows/check.h"
#include "op/anatomy/moving_mesh.h"
#include "ref/anatomy/currents.h"

enum { MOST = 131072, WIDTH = 8 };

/* Elements on a sphere of 60 mm: two sets of so many, in the order of pipelines. */
static int count_of(const bench_data *d)
{
    return d->n / 8 < MOST ? d->n / 8 : MOST;
}

static void element_of(int i, int count, float shift, float e[8])
{
    double z = 1 - (2. * i + 1) / count, angle = 2.399963229728653 * i, r = sqrt(1 - z * z);
    const double normal[3] = {r * cos(angle), r * sin(angle), z};
    for (int k = 0; k < 3; k++) {
        e[k] = (float)(60 * normal[k]) + (k == 0 ? shift : 0);
        e[4 + k] = (float)normal[k];
    }
    e[3] = 0;
    e[7] = (float)(45239.0 / count); /* the sphere's area in all */
}

static void elements(int count, float shift, float *element)
{
    for (int i = 0; i < count; i++)
        element_of(i, count, shift, element + 8 * (size_t)i);
}

static int upload(bench_data *d, float shift, clv_buffer *element, clv_buffer *box)
{
    int status = CLVOX_OK, count = count_of(d);
    float *e = calloc((size_t)count + 1, 32), *b = calloc((size_t)CLV_CURRENTS_BLOCKS(count) + 1, 32);
    uint32_t *order = malloc(4 * (size_t)(count + 1));
    if (!e || !b || !order) {
        status = clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
        goto end;
    }
    elements(count, shift, e);
    CLV_TRY(clv_element_order(d->ctx, e, count, order));
    for (int i = 0; i < count; i++)
        element_of((int)order[i], count, shift, e + 8 * (size_t)i);
    for (int i = 0; i < 8 * CLV_CURRENTS_BLOCKS(count); i++)
        b[i] = i % 8 < 4 ? -100 : 100; /* no pair is passed over */
    CLV_TRY(clv_buffer_write(d->ctx, element, 0, e, 32 * (size_t)count));
    CLV_TRY(clv_buffer_write(d->ctx, box, 0, b, 32 * (size_t)CLV_CURRENTS_BLOCKS(count)));
    CLV_TRY(clv_buffer_fill(d->ctx, d->nine, 0, 0, 32 * (size_t)count));
end:
    free(e);
    free(b);
    free(order);
    return status;
}

static int begin(bench_data *d)
{
    int status = upload(d, 0, d->out[0], d->solver[0]);
    return status < 0 ? status : upload(d, 1.5f, d->out[1], d->solver[1]);
}

static int currents(bench_data *d, bool varifold, bool gradient)
{
    int count = count_of(d);
    return clv_currents(d->ctx, &(clv_currents_args){.target = {d->out[0], d->solver[0], count},
                                                     .source = {d->out[1], d->solver[1], count},
                                                     .width = WIDTH, .varifold = varifold, .partial = d->partial,
                                                     .gradient = gradient ? d->nine : NULL, .factor = 1});
}

static int row_currents(bench_data *d)
{
    return currents(d, false, false);
}

static int row_currents_gradient(bench_data *d)
{
    return currents(d, false, true);
}

static int row_varifold_gradient(bench_data *d)
{
    return currents(d, true, true);
}

/* A product and its gradient, of spheres of 60 mm that are 1.5 mm apart; ratio: spacing over width. */
static int begin_mesh(bench_data *d, double ratio, bool varifold)
{
    int status = begin(d);
    clv_mesh_grid grid;
    const int count = count_of(d);
    const clv_particle_mesh_options o = {
        .width = WIDTH, .varifold = varifold, .count = count, .most = 45239.0 / count};
    clv_particle_mesh_destroy(&d->mesh);
    if (status >= 0)
        status = clv_mesh_grid_make((const double[3]){-60, -60, -60}, (const double[3]){61.5, 60, 60}, WIDTH,
                                    ratio * WIDTH, &grid);
    return status < 0 ? status : clv_particle_mesh_create(d->ctx, &grid, &o, &d->mesh);
}

static int begin_mesh_coarse(bench_data *d)
{
    return begin_mesh(d, .6, false);
}

static int begin_mesh_fine(bench_data *d)
{
    return begin_mesh(d, .24, false);
}

static int begin_mesh_varifold(bench_data *d)
{
    return begin_mesh(d, .6, true);
}

static int row_mesh(bench_data *d)
{
    int status = CLVOX_OK, count = count_of(d);
    const clv_elements source = {d->out[1], d->solver[1], count};
    const clv_currents_args args = {.target = {d->out[0], d->solver[0], count}, .partial = d->partial,
                                    .gradient = d->nine, .factor = 1};
    CLV_TRY(clv_particle_mesh_splat(d->ctx, &d->mesh, &source, 1));
    CLV_TRY(clv_particle_mesh_convolve(d->ctx, &d->mesh));
    CLV_TRY(clv_particle_mesh_read(d->ctx, &d->mesh, &args));
end:
    return status;
}

/* off: relative error. */
static int check(bench_check *c, bool varifold, double off)
{
    int status = CLVOX_OK, count = count_of(c->data), blocks = CLV_CURRENTS_BLOCKS(count);
    float *a = malloc(32 * (size_t)(count + 1)), *b = malloc(32 * (size_t)(count + 1));
    double got = 0;
    if (!a || !b) {
        status = clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
        goto end;
    }
    elements(count, 0, a);
    elements(count, 1.5f, b);
    CLV_TRY(clv_buffer_read(c->data->ctx, c->data->partial, 0, c->got, 4 * (size_t)blocks));
    for (int i = 0; i < blocks; i++)
        got += (double)c->got[i];
    double want = ref_currents(a, count, b, count, WIDTH, varifold, NULL);
    CLV_TRY(check_number(c, got, want, off * want));
end:
    free(a);
    free(b);
    return status;
}

static int check_currents(bench_check *c)
{
    return check(c, false, 1e-5);
}

static int check_varifold(bench_check *c)
{
    return check(c, true, 1e-5);
}

/* Few elements lie far apart, so that their places in the grid show. */
static int check_mesh(bench_check *c)
{
    return check(c, c->data->mesh.varifold, c->data->mesh.grid.spacing > WIDTH / 2 ? 1e-2 : 1e-4);
}

/* ---- a mesh that a map moves ----------------------------------------------- */

/* A sheet of triangles in waves; the map shifts it, so that it is known where vertices come from. */
static const float SHIFT = .5f;

/* Vertices along a side. */
static int side_of(const bench_data *d)
{
    const int side = (int)sqrt(count_of(d) / 2.);
    return side > 2 ? side : 2;
}

static clv_moving_mesh sheet_of(bench_data *d)
{
    const int side = side_of(d);
    return (clv_moving_mesh){.corners = 3,
                             .vertices = side * side,
                             .elements = 2 * (side - 1) * (side - 1),
                             .points = d->out[0],
                             .topology = d->out[1],
                             .tracked = d->out[2],
                             .element = d->solver[0],
                             .box = d->solver[1]};
}

/* In voxels. */
static void vertex_of(const bench_data *d, int k, float out[4])
{
    const int side = side_of(d), c = k % side, r = k / side;
    const double span[3] = {d->size[0] - 4, d->size[1] - 4, d->size[2] - 4};
    out[0] = (float)(2 + span[0] * c / side);
    out[1] = (float)(2 + span[1] * r / side);
    out[2] = (float)(2 + span[2] * (.5 + .4 * sin(9. * c / side) * cos(7. * r / side)));
    out[3] = 0;
}

static int begin_moving(bench_data *d)
{
    int status = CLVOX_OK;
    const clv_moving_mesh m = sheet_of(d);
    const int side = side_of(d);
    const size_t ints = CLV_TOPOLOGY_INTS(3, m.vertices, m.elements);
    int *topology = calloc(ints, sizeof *topology), *first = topology + 3 * m.elements,
        *corners = first + m.vertices + 1;
    float *point = malloc(16 * (size_t)m.vertices), *by = calloc((size_t)m.elements, 32);
    if (!topology || !point || !by) {
        status = clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
        goto end;
    }
    for (int e = 0; e < m.elements; e++) {
        const int q = e / 2, a = q / (side - 1) * side + q % (side - 1);
        const int both[2][3] = {{a, a + 1, a + side}, {a + 1, a + side + 1, a + side}};
        for (int k = 0; k < 3; k++) {
            topology[3 * e + k] = both[e % 2][k];
            first[both[e % 2][k] + 1]++;
            by[8 * e + k] = (float)(k + 1); /* by its centre */
        }
    }
    for (int k = 0; k < m.vertices; k++) {
        first[k + 1] += first[k];
        vertex_of(d, k, point + 4 * k);
    }
    for (int i = 0; i < 3 * m.elements; i++)
        corners[first[topology[i]]++] = i;
    for (int k = m.vertices; k > 0; k--)
        first[k] = first[k - 1];
    first[0] = 0;
    CLV_TRY(clv_buffer_write(d->ctx, m.points, 0, point, 16 * (size_t)m.vertices));
    CLV_TRY(clv_buffer_write(d->ctx, m.topology, 0, topology, ints * sizeof *topology));
    CLV_TRY(clv_buffer_write(d->ctx, d->nine, 0, by, 32 * (size_t)m.elements));
    uint32_t word;
    memcpy(&word, &SHIFT, sizeof word); /* layouts differ, a shift does not */
    CLV_TRY(clv_buffer_fill(d->ctx, d->field[0], 0, word, 12 * (size_t)d->n));
end:
    free(topology);
    free(point);
    free(by);
    return status;
}

static int row_moving(bench_data *d)
{
    int status = CLVOX_OK;
    const clv_moving_mesh m = sheet_of(d);
    const float one[3] = {1, 1, 1};
    const clv_image grid = clv_image_of(NULL, d->size, one, 3);
    const clv_mesh_pull_args pull = {.by_element = d->nine, .grid = grid, .factor = 1};
    CLV_TRY(clv_moving_mesh_place(d->ctx, &m, d->field[0], &grid));
    CLV_TRY(clv_moving_mesh_pull(d->ctx, &m, &pull));
end:
    return status;
}

/* Places, and a third of (1, 2, 3) from each triangle of a vertex. */
static int check_moving(bench_check *c)
{
    int status = CLVOX_OK;
    const clv_moving_mesh m = sheet_of(c->data);
    const int side = side_of(c->data);
    CLV_TRY(clv_buffer_read(c->data->ctx, m.tracked, 0, c->got, 32 * (size_t)m.vertices));
    for (int k = 0; k < m.vertices; k++) {
        float p[4];
        const int x = k % side, y = k / side, left = x > 0, right = x<side - 1, up = y> 0,
                  down = y < side - 1;
        const int triangles = (right && down) + (left && down ? 2 : 0) + (right && up ? 2 : 0) + (left && up);
        vertex_of(c->data, k, p);
        for (int a = 0; a < 4; a++) {
            c->want[8 * k + a] = a < 3 ? (double)p[a] - (double)SHIFT : 0;
            c->want[8 * k + 4 + a] = a < 3 ? triangles * (a + 1) / 3. : 0;
        }
    }
    CLV_TRY(check_values(c, c->got, c->want, 8 * (size_t)m.vertices, 1e-3, 1e-5));
end:
    return status;
}

static void triangles_of(const bench_data *d, int size[3])
{
    bench_data copy = *d;
    size[0] = sheet_of(&copy).elements;
    size[1] = size[2] = 1;
}

/* A voxel is an element of either side. */
static void elements_of(const bench_data *d, int size[3])
{
    size[0] = count_of(d);
    size[1] = size[2] = 1;
}

/* A voxel is a pair of elements. */
static void pairs(const bench_data *d, int size[3])
{
    size[0] = size[1] = count_of(d);
    size[2] = 1;
}

/* Bytes are none to speak of; an exponential counts as one operation. */
const bench_row bench_rows_anatomy[] = {
    {"currents", NULL, 0, 17, row_currents, check_currents, begin, pairs},
    {"currents, gradient", "currents", 0, 30, row_currents_gradient, check_currents, begin, pairs},
    {"varifold, gradient", NULL, 0, 33, row_varifold_gradient, check_varifold, begin, pairs},
    /* Two elements, their gradient read and written; the grid is smaller. */
    {"particle mesh of 1e-3", "mesh_splat", 128, 0, row_mesh, check_mesh, begin_mesh_coarse, elements_of},
    {"particle mesh of 1e-5", "mesh_read", 128, 0, row_mesh, check_mesh, begin_mesh_fine, elements_of},
    {"particle mesh, varifold", NULL, 128, 0, row_mesh, check_mesh, begin_mesh_varifold, elements_of},
    /* A triangle: half a vertex three times, elements, boxes, corners, derivatives. */
    {"moving mesh, place and pull", "moving_mesh_pull", 240, 0, row_moving, check_moving, begin_moving,
     triangles_of},
    {NULL, NULL, 0, 0, NULL, NULL, NULL, NULL},
};
