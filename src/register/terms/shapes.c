/* SPDX-License-Identifier: Apache-2.0 */
#include "register/terms/shapes.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "anatomy/elements.h"
#include "mesh/shape.h"
#include "op/image/gaussian.h"
#include "op/image/pointwise.h"
#include "register/model.h"
#include "register/terms/shape_mesh.h"

enum { MOVING, FIXED };
/* Products of the elements of both. */
enum { OWN_MOVING, OWN_FIXED, BETWEEN };

/* Width where none is given, in edges of a voxel of the level. */
static const double WIDTH = 2.5;
/* From so many pairs of a vertex and a voxel on vertices that pull are sorted by voxels, which changes
 * no bit. */
static const double MANY = 1 << 24;

/* ---- kinds --------------------------------------------------------------- */

#define FIELD(name) offsetof(clvox_register_options, name)
static const clv_shape_row rows[CLVOX_SHAPE_SURFACE + 1] = {
    [CLVOX_SHAPE_CLOUD] = {"cloud-weight", FIELD(cloud_weight), 0},
    [CLVOX_SHAPE_CURVES] = {"curves-weight", FIELD(curves_weight), FIELD(curves_kind)},
    [CLVOX_SHAPE_SURFACE] = {"surface-weight", FIELD(surface_weight), FIELD(surface_kind)},
};

double clvox_register_shape_weight(const clvox_register_options *o, clvox_shape_kind kind)
{
    clvox_register_options standard;
    clvox_register_defaults(&standard);
    o = o ? o : &standard;
    const clv_model *model = clv_model_find(o->deform);
    double weight = 0;
    if (clv_shape_words_of(kind) && model && clv_model_takes(model, rows[kind].takes))
        memcpy(&weight, (const char *)o + rows[kind].weight, sizeof weight);
    return weight;
}

bool clv_shape_varifold(const clvox_register_options *o, clvox_shape_kind kind)
{
    clvox_surface_kind by = CLVOX_SURFACE_CURRENTS;
    if (rows[kind].comparison)
        memcpy(&by, (const char *)o + rows[kind].comparison, sizeof by);
    return by == CLVOX_SURFACE_VARIFOLD;
}

/* How many shapes before the i-th are of its kind. */
static int number_of(const clvox_register_images *images, int i)
{
    int number = 0;
    for (int k = 0; k < i; k++)
        number += images->fixed_shapes[k]->kind == images->fixed_shapes[i]->kind;
    return number;
}

int clv_shapes_check(const clvox_register_images *images)
{
    if (images->shapes < 0 || images->shapes > CLVOX_MAX_SHAPES ||
        (images->shapes > 0 && (!images->fixed_shapes || !images->moving_shapes)))
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "%d shapes; 0 to %d of each image are possible",
                          images->shapes, CLVOX_MAX_SHAPES);
    for (int i = 0; i < images->shapes; i++) {
        const clvox_shape *pair[2] = {images->fixed_shapes[i], images->moving_shapes[i]};
        if (!pair[0] || !pair[1] || pair[0]->kind != pair[1]->kind || !clv_shape_words_of(pair[0]->kind))
            return clvox_fail(CLVOX_ERROR_ARGUMENT,
                              "shape %d is missing in one image, or of another kind there", i + 1);
        for (int s = 0; s < 2; s++) {
            char which[64];
            double size;
            int status = clv_shape_check(pair[s], &size);
            snprintf(which, sizeof which, "%s %d of the %s image", clv_shape_words_of(pair[0]->kind)->noun,
                     number_of(images, i) + 1, s ? "moving" : "fixed");
            if (status < 0)
                return clvox_fail_in(status, which);
        }
    }
    return CLVOX_OK;
}

/* ---- memory -------------------------------------------------------------- */

void clv_shapes_describe(clv_registration *run, const clvox_register_images *images)
{
    run->shapes.count = 0;
    run->shapes.largest_error = 1e-2;
    for (int i = 0; i < images->shapes; i++) {
        const clvox_shape_kind kind = images->fixed_shapes[i]->kind;
        const double weight = clvox_register_shape_weight(run->options, kind);
        int alike = 0;
        for (int k = 0; k < images->shapes; k++)
            alike += images->fixed_shapes[k]->kind == kind;
        if (!(weight > 0) || run->shapes.count == CLVOX_MAX_SHAPES)
            continue;
        clv_shape_term *term = &run->shapes.term[run->shapes.count++];
        term->weight = weight / alike;
        term->varifold = clv_shape_varifold(run->options, kind);
        term->number = number_of(images, i) + 1;
        term->shape = i;
        for (int s = 0; s < 2; s++) {
            const clvox_shape *shape = s == MOVING ? images->moving_shapes[i] : images->fixed_shapes[i];
            term->side[s].shape = shape;
            term->side[s].mesh.corners = (int)kind;
            term->side[s].mesh.vertices = (int)shape->vertices;
            term->side[s].mesh.elements = (int)shape->elements;
        }
    }
}

int clv_shapes_requests(clv_registration *run, clv_request *list)
{
    int count = 0;
    for (int i = 0; i < run->shapes.count; i++) {
        clv_shape_term *term = &run->shapes.term[i];
        size_t partial[3];
        for (int s = 0; s < 2; s++) {
            clv_moving_mesh *m = &term->side[s].mesh;
            const size_t vertices = (size_t)m->vertices * sizeof(float), element = 32 * (size_t)m->elements;
            const size_t blocks = (size_t)CLV_CURRENTS_BLOCKS(m->elements);
            list[count++] = (clv_request){&m->points, CLV_LANDMARK_POINT * vertices, "vertices"};
            list[count++] = (clv_request){
                &m->topology, CLV_TOPOLOGY_INTS(m->corners, m->vertices, m->elements) * sizeof(int),
                "topology of a shape"};
            list[count++] =
                (clv_request){&m->tracked, CLV_LANDMARK_TRACKED * vertices, "vertices in the middle"};
            list[count++] = (clv_request){&m->element, element, "elements of a shape"};
            list[count++] = (clv_request){&m->box, 32 * blocks, "boxes around elements"};
            list[count++] = (clv_request){&term->side[s].by_element, element, "derivative by elements"};
            partial[s] = blocks * sizeof(float);
        }
        /* Either may become the moving one, where a run is exchanged. */
        partial[BETWEEN] = partial[MOVING] > partial[FIXED] ? partial[MOVING] : partial[FIXED];
        for (int k = 0; k < 3; k++)
            list[count++] = (clv_request){&term->partial[k], partial[k], "products of shapes"};
    }
    if (run->shapes.count > 0 && clv_model_takes(clv_model_find(run->options->deform), "points-width"))
        list[count++] = clv_lease_request(&run->leases, &run->shapes.pull, 3 * (size_t)run->n * sizeof(float),
                                          "pull of a shape");
    count += clv_shape_mesh_requests(run, list + count);
    return count;
}

size_t clv_shapes_own_bytes(const clv_registration *run)
{
    /* Keys and values of a sort, twice, and its counts; tables of a Fourier transform. */
    enum { SORTED = 24, TABLES = 1 << 14 };
    size_t most = 0;
    int vertices = 0;
    for (int i = 0; i < run->shapes.count; i++)
        for (int s = 0; s < 2; s++) {
            const clv_moving_mesh *m = &run->shapes.term[i].side[s].mesh;
            most = (size_t)m->elements > most ? (size_t)m->elements : most;
            vertices = m->vertices > vertices ? m->vertices : vertices;
        }
    const bool many = (double)vertices * (double)run->n >= MANY;
    return SORTED * most + (many ? clv_landmark_scratch_bytes(vertices) : 0) +
           (run->shapes.room_nodes > 0 ? (size_t)run->shapes.count * TABLES : 0);
}

/* ---- the energy ---------------------------------------------------------- */

/* The product of a shape and another, and factor times its derivative by the elements of the first. */
static int multiply(clv_registration *run, clv_shape_term *term, int first, int second, float factor)
{
    const clv_moving_mesh *a = &term->side[first].mesh, *b = &term->side[second].mesh;
    const clv_currents_args args = {
        .target = {a->element, a->box, a->elements},
        .source = {b->element, b->box, b->elements},
        .width = (float)run->shapes.width,
        .varifold = term->varifold,
        .partial = term->partial[first == second   ? first
                                 : first == MOVING ? BETWEEN
                                                   : OWN_FIXED],
        .gradient = factor != 0 ? term->side[first].by_element : NULL,
        .factor = factor,
    };
    return clv_currents(run->ctx, &args);
}

/* The product of both is the same from either side, so that from the fixed one it leaves no sum. */
int clv_shape_derive(clv_registration *run, clv_shape_term *term, int side)
{
    int status = CLVOX_OK;
    const size_t bytes = 32 * (size_t)term->side[side].mesh.elements;
    CLV_TRY(clv_buffer_fill(run->ctx, term->side[side].by_element, 0, 0, bytes));
    CLV_TRY(multiply(run, term, side, !side, -2));
end:
    return status;
}

int clv_shape_derive_own(clv_registration *run, clv_shape_term *term, int side)
{
    return multiply(run, term, side, side, 2);
}

/* partial: of a mesh, what clv_shape_mesh_sums leaves there. */
int clv_shape_energy(clv_registration *run, const clv_shape_term *term, double *energy)
{
    int status = CLVOX_OK;
    double product[3] = {0};
    for (int k = 0; k < (term->by_mesh ? 2 : 3); k++)
        CLV_TRY(clv_currents_product(run->ctx, term->partial[k], term->side[k == OWN_FIXED].mesh.elements,
                                     &product[k]));
    *energy = term->by_mesh ? product[OWN_MOVING] - product[OWN_FIXED]
                            : product[OWN_MOVING] + product[OWN_FIXED] - 2 * product[BETWEEN];
end:
    return status;
}

/* ---- a level ------------------------------------------------------------- */

/* Elements along a curve through space, so that blocks of them are compact, and the corners of each
 * vertex. */
static int send_topology(clv_registration *run, const clv_shape_side *side)
{
    int status = CLVOX_OK;
    const clvox_shape *s = side->shape;
    const int elements = side->mesh.elements, vertices = side->mesh.vertices, per = side->mesh.corners,
              all = per * elements;
    const size_t bytes = CLV_TOPOLOGY_INTS(per, vertices, elements) * sizeof(int);
    int *topology = calloc(1, bytes), *first = topology + all, *corners = first + vertices + 1;
    float *element = calloc((size_t)elements, 32);
    uint32_t *order = malloc((size_t)elements * sizeof *order);
    if (!topology || !element || !order) {
        status = clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory for a shape");
        goto end;
    }
    for (int i = 0; i < all; i++)
        for (int k = 0; k < 3; k++)
            element[8 * (i / per) + k] += (float)(s->points[3 * (size_t)s->corners[i] + (size_t)k] / per);
    CLV_TRY(clv_element_order(run->ctx, element, elements, order));
    for (int i = 0; i < all; i++) {
        topology[i] = s->corners[per * (int)order[i / per] + i % per];
        first[topology[i] + 1]++;
    }
    for (int k = 0; k < vertices; k++)
        first[k + 1] += first[k];
    /* Filled from the front, each first moves on to the next one's; then back by one vertex. */
    for (int i = 0; i < all; i++)
        corners[first[topology[i]]++] = i;
    memmove(first + 1, first, (size_t)vertices * sizeof *first);
    first[0] = 0;
    CLV_TRY(clv_buffer_write(run->ctx, side->mesh.topology, 0, topology, bytes));
end:
    free(topology);
    free(element);
    free(order);
    return status;
}

static int send_vertices(clv_registration *run, const clvox_grid *grid, const clv_shape_side *side,
                         bool moving)
{
    int status = CLVOX_OK;
    const int n = side->mesh.vertices;
    const size_t bytes = (size_t)n * CLV_LANDMARK_POINT * sizeof(float);
    double size = 1;
    float *at = malloc(bytes);
    if (!at)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory for a shape");
    CLV_TRY(clv_points_to_voxels(run, grid, moving, side->shape->points, n, at));
    CLV_TRY(clvox_shape_size(side->shape, &size));
    for (int k = 0; k < n; k++)
        at[CLV_LANDMARK_POINT * k + 3] =
            (float)(clv_shape_scale(side->shape, size) * clv_shape_weight(side->shape, k));
    CLV_TRY(clv_buffer_write(run->ctx, side->mesh.points, 0, at, bytes));
end:
    free(at);
    return status;
}

double clv_shapes_width(const clvox_register_options *o, const clvox_grid *grid, int index)
{
    double edge[3];
    const int last = o->surface_widths - 1;
    const double width = last < 0 ? 0 : o->surface_width[index < last ? index : last];
    clvox_grid_spacing(grid, edge);
    return width > 0 ? width : WIDTH * cbrt(edge[0] * edge[1] * edge[2]);
}

/* Without room for that they are not: then it takes longer. */
static int sort_many(clv_registration *run, const clvox_grid *grid)
{
    clv_landmark_scratch *s = &run->shapes.sorted;
    int most = 0;
    for (int i = 0; i < run->shapes.count; i++)
        for (int k = 0; k < 2; k++) {
            const int n = run->shapes.term[i].side[k].mesh.vertices;
            most = n > most ? n : most;
        }
    if (s->most >= most || !((double)most * (double)clvox_grid_voxels(grid) >= MANY))
        return CLVOX_OK;
    clv_landmark_scratch_destroy(s);
    const int status = clv_landmark_scratch_create(run->ctx, most, s);
    return status == CLVOX_ERROR_MEMORY ? CLVOX_OK : status;
}

/* CLVOX_ERROR_DATA where both have no size. Blocking. */
static int place(clv_registration *run, const clv_pyramid_level *level)
{
    int status = CLVOX_OK;
    const clvox_grid *grid = &level->fixed;
    const clv_image on = clv_image_of(NULL, grid->size, level->spacing, 3);
    run->shapes.width = clv_shapes_width(run->options, grid, level->index);
    CLV_TRY(sort_many(run, grid));
    for (int i = 0; i < run->shapes.count; i++) {
        clv_shape_term *term = &run->shapes.term[i];
        term->norm = 0;
        for (int s = 0; s < 2; s++) {
            const clv_shape_side *side = &term->side[s];
            double product;
            CLV_TRY(send_vertices(run, grid, side, s == MOVING));
            CLV_TRY(send_topology(run, side));
            CLV_TRY(clv_moving_mesh_place(run->ctx, &side->mesh, NULL, &on));
            CLV_TRY(multiply(run, term, s, s, 0));
            CLV_TRY(clv_currents_product(run->ctx, term->partial[s], side->mesh.elements, &product));
            term->norm += product;
        }
        if (!(term->norm > 0))
            return clvox_fail(CLVOX_ERROR_DATA, "%s %d: it has no size in either image",
                              clv_shape_words_of(term->side[FIXED].shape->kind)->noun, term->number);
        CLV_TRY(clv_shape_mesh_choose(run, term, &on));
    }
end:
    return status;
}

static int pull_trilinear(clv_registration *run, const clv_landmark_args *args, const clv_image *field)
{
    const clv_landmark_scratch *s = &run->shapes.sorted;
    return args->count <= s->most && (double)args->count * (double)clv_image_voxels(field) >= MANY
               ? clv_landmark_force_sorted(run->ctx, args, false, s, field)
               : clv_landmark_force(run->ctx, args, false, NULL, field);
}

/* Adds what the vertices pull. A Gaussian over what many of them pull takes less time than many Gaussians. */
static int spread(clv_registration *run, const clv_moving_mesh *mesh, const clv_pull *pull, clv_buffer *force)
{
    int status = CLVOX_OK;
    const int *size = pull->level->fixed.size;
    const size_t bytes = 3 * (size_t)pull->level->n * sizeof(float);
    clv_buffer *scratch, *smooth, *single;
    const clv_request room[] = {{&single, bytes, "pull of a shape"},
                                {&scratch, bytes, "scratch for smoothing"},
                                {&smooth, bytes, "smooth pull of a shape"}};
    const clv_landmark_args args = {.count = mesh->vertices, .tracked = mesh->tracked};
    float sigma[3];
    if (!pull->smooth)
        return pull_trilinear(run, &args, CLV_VECTORS(force, size));
    CLV_TRY(clv_lease_take(&run->leases, room, 3));
    clv_points_sigma(run, pull, sigma);
    CLV_TRY(clv_buffer_fill(run->ctx, single, 0, 0, bytes));
    CLV_TRY(pull_trilinear(run, &args, CLV_VECTORS(single, size)));
    CLV_TRY(clv_gaussian(run->ctx, CLV_VECTORS(single, size), sigma, CLV_GAUSSIAN_AUTO, scratch, smooth));
    CLV_TRY(clv_pointwise(run->ctx, CLV_POINTWISE_LINEAR, CLV_VECTORS(force, size), force, smooth, NULL,
                          (const float[4]){1, 1, 0, 0}));
    CLV_TRY(clv_lease_give(&run->leases, room, 3));
end:
    return status;
}

static int force(clv_registration *run, const clv_pull *pull)
{
    int status = CLVOX_OK;
    const clv_image grid = clv_image_of(NULL, pull->level->fixed.size, pull->level->spacing, 3);
    const clv_buffer *u[2] = {[MOVING] = pull->side[0].u, [FIXED] = pull->side[1].u};
    clv_buffer *force[2] = {NULL, NULL};
    for (int i = 0; i < pull->count && pull->forces; i++)
        force[i] = pull->side[i].force;
    for (int i = 0; i < run->shapes.count; i++) {
        clv_shape_term *term = &run->shapes.term[i];
        for (int s = 0; s < 2; s++)
            if (u[s])
                CLV_TRY(clv_moving_mesh_place(run->ctx, &term->side[s].mesh, u[s], &grid));
        if (term->by_mesh)
            CLV_TRY(clv_shape_mesh_sums(run, term, (const bool[2]){force[0] != NULL, force[1] != NULL}));
        for (int s = 0; s < 2; s++) {
            const clv_moving_mesh *mesh = &term->side[s].mesh;
            if (!u[s])
                continue; /* it stays, and so does its norm */
            if (!force[s]) {
                if (!term->by_mesh)
                    CLV_TRY(multiply(run, term, s, s, 0));
                continue;
            }
            const clv_mesh_pull_args args = {
                .by_element = term->side[s].by_element,
                .u = u[s],
                .grid = grid,
                .factor = (float)(term->weight / term->norm),
                .axes = pull->axes,
                .state = pull->numbers,
                .slot = pull->slot + 1,
            };
            if (!term->by_mesh) {
                CLV_TRY(clv_shape_derive(run, term, s));
                CLV_TRY(clv_shape_derive_own(run, term, s));
            }
            CLV_TRY(clv_moving_mesh_pull(run->ctx, mesh, &args));
            CLV_TRY(spread(run, mesh, pull, force[s]));
        }
        if (!force[MOVING] && !term->by_mesh)
            CLV_TRY(multiply(run, term, MOVING, FIXED, 0));
    }
end:
    return status;
}

int clv_shape_multiply_all(clv_registration *run, clv_shape_term *term)
{
    int status = CLVOX_OK;
    for (int s = 0; s < 2; s++)
        CLV_TRY(multiply(run, term, s, s, 0));
    CLV_TRY(multiply(run, term, MOVING, FIXED, 0));
end:
    return status;
}

static int value(clv_registration *run, const float *numbers, clv_value *v)
{
    int status = CLVOX_OK;
    for (int i = 0; i < run->shapes.count; i++) {
        clv_shape_term *term = &run->shapes.term[i];
        double energy;
        bool left = false;
        if (term->by_mesh)
            CLV_TRY(clv_shape_mesh_left(run, term, &left));
        if (left)
            CLV_TRY(clv_shape_multiply_all(run, term));
        CLV_TRY(clv_shape_energy(run, term, &energy));
        v->mean -= term->weight * energy / term->norm;
        v->sum -= (double)numbers[1] * term->weight * energy / term->norm;
    }
end:
    return status;
}

void clv_shapes_release(clv_registration *run)
{
    for (int i = 0; i < run->shapes.count; i++)
        clv_shape_mesh_drop(&run->shapes.term[i]);
    clv_landmark_scratch_destroy(&run->shapes.sorted);
}

static void report(const clv_registration *run, clvox_register_result *result)
{
    for (int i = 0; i < run->shapes.count; i++) {
        clvox_shape_sums *sums = &result->shape_sums[run->shapes.term[i].shape];
        *sums = run->shapes.term[i].sums;
        sums->no_room |= run->shapes.no_room;
    }
}

static int count(const clv_registration *run)
{
    return run->shapes.count;
}

const clv_term_row clv_term_shapes = {
    .describe = clv_shapes_describe,
    .count = count,
    .reads = true,
    .requests = clv_shapes_requests,
    .place = place,
    .force = force,
    .value = value,
    .report = report,
    .release = clv_shapes_release,
};
