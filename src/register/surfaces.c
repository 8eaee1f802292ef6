/* SPDX-License-Identifier: Apache-2.0 */
#include "register/surfaces.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "anatomy/elements.h"
#include "op/image/gaussian.h"
#include "op/image/pointwise.h"
#include "register/model.h"

enum { MOVING, FIXED };
/* Products of the elements of both. */
enum { OWN_MOVING, OWN_FIXED, BETWEEN };

/* Width where none is given, in edges of a voxel of the level. */
static const double WIDTH = 2.5;

/* ---- memory -------------------------------------------------------------- */

void clv_surfaces_describe(clv_registration *run, const clvox_register_images *images)
{
    const clv_model *model = clv_model_find(run->options->deform);
    if (!(run->options->surface_weight > 0) || !model || !clv_model_takes(model, "surface-weight"))
        return;
    run->surfaces.count = images->surfaces;
    for (int i = 0; i < images->surfaces; i++) {
        clv_surface_term *term = &run->surfaces.term[i];
        for (int s = 0; s < 2; s++) {
            const clvox_surface *surface = s == MOVING ? images->moving_surfaces[i] : images->fixed_surfaces[i];
            term->side[s].surface = surface;
            term->side[s].mesh.vertices = (int)surface->vertices;
            term->side[s].mesh.triangles = (int)surface->triangles;
        }
    }
}

int clv_surfaces_requests(clv_registration *run, clv_request *list)
{
    int count = 0;
    for (int i = 0; i < run->surfaces.count; i++) {
        clv_surface_term *term = &run->surfaces.term[i];
        size_t partial[3];
        for (int s = 0; s < 2; s++) {
            clv_moving_mesh *m = &term->side[s].mesh;
            const size_t vertices = (size_t)m->vertices * sizeof(float), element = 32 * (size_t)m->triangles;
            const size_t blocks = (size_t)CLV_CURRENTS_BLOCKS(m->triangles);
            list[count++] = (clv_request){&m->points, CLV_LANDMARK_POINT * vertices, "vertices"};
            list[count++] = (clv_request){&m->topology, CLV_TOPOLOGY_INTS(m->vertices, m->triangles) * sizeof(int),
                                          "topology of a surface"};
            list[count++] = (clv_request){&m->tracked, CLV_LANDMARK_TRACKED * vertices, "vertices in the middle"};
            list[count++] = (clv_request){&m->element, element, "elements of a surface"};
            list[count++] = (clv_request){&m->box, 32 * blocks, "boxes around elements"};
            list[count++] = (clv_request){&term->side[s].by_element, element, "derivative by elements"};
            partial[s] = blocks * sizeof(float);
        }
        /* Either may become the moving one, where a run is exchanged. */
        partial[BETWEEN] = partial[MOVING] > partial[FIXED] ? partial[MOVING] : partial[FIXED];
        for (int k = 0; k < 3; k++)
            list[count++] = (clv_request){&term->partial[k], partial[k], "products of surfaces"};
    }
    if (run->surfaces.count > 0 && clv_model_takes(clv_model_find(run->options->deform), "points-width"))
        list[count++] = (clv_request){&run->surfaces.pull, 3 * (size_t)run->n * sizeof(float), "pull of a surface"};
    return count;
}

/* ---- the energy ---------------------------------------------------------- */

/* The product of a surface and another, and factor times its derivative by the elements of the first. */
static int multiply(clv_registration *run, clv_surface_term *term, int first, int second, float factor)
{
    const clv_moving_mesh *a = &term->side[first].mesh, *b = &term->side[second].mesh;
    const clv_currents_args args = {
        .target = {a->element, a->box, a->triangles}, .source = {b->element, b->box, b->triangles},
        .width = (float)run->surfaces.width, .varifold = run->options->surface_kind == CLVOX_SURFACE_VARIFOLD,
        .partial = term->partial[first == second ? first : first == MOVING ? BETWEEN : OWN_FIXED],
        .gradient = factor != 0 ? term->side[first].by_element : NULL, .factor = factor,
    };
    return clv_currents(run->ctx, &args);
}

/* What the energy of a surface changes by with the elements of one side. The product of both is the same from either, so
 * that from the fixed side it leaves no sum. */
static int derive(clv_registration *run, clv_surface_term *term, int side)
{
    int status = CLVOX_OK;
    const size_t bytes = 32 * (size_t)term->side[side].mesh.triangles;
    CLV_TRY(clv_buffer_fill(run->ctx, term->side[side].by_element, 0, 0, bytes));
    CLV_TRY(multiply(run, term, side, !side, -2));
    CLV_TRY(multiply(run, term, side, side, 2));
end:
    return status;
}

/* ---- a level ------------------------------------------------------------- */

/* Triangles along a curve through space, so that blocks of elements are compact, and the corners of each vertex. */
static int send_topology(clv_registration *run, const clv_surface_side *side)
{
    int status = CLVOX_OK;
    const clvox_surface *s = side->surface;
    const int triangles = side->mesh.triangles, vertices = side->mesh.vertices;
    const size_t bytes = CLV_TOPOLOGY_INTS(vertices, triangles) * sizeof(int);
    int *topology = calloc(1, bytes), *first = topology + 3 * (size_t)triangles, *corners = first + vertices + 1;
    float *element = calloc((size_t)triangles, 32);
    uint32_t *order = malloc((size_t)triangles * sizeof *order);
    if (!topology || !element || !order) {
        status = clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory for a surface");
        goto end;
    }
    for (size_t i = 0; i < 3 * (size_t)triangles; i++)
        for (size_t k = 0; k < 3; k++)
            element[8 * (i / 3) + k] += (float)(s->points[3 * (size_t)s->corners[i] + k] / 3);
    CLV_TRY(clv_element_order(run->ctx, element, triangles, order));
    for (int i = 0; i < 3 * triangles; i++) {
        topology[i] = s->corners[3 * order[i / 3] + (uint32_t)(i % 3)];
        first[topology[i] + 1]++;
    }
    for (int k = 0; k < vertices; k++)
        first[k + 1] += first[k];
    /* Filled from the front, each first moves on to the next one's; then back by one vertex. */
    for (int i = 0; i < 3 * triangles; i++)
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

static int send_vertices(clv_registration *run, const clvox_grid *grid, const clv_surface_side *side, bool moving)
{
    const int n = side->mesh.vertices;
    const size_t bytes = (size_t)n * CLV_LANDMARK_POINT * sizeof(float);
    float *at = malloc(bytes);
    if (!at)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory for a surface");
    int status = clv_points_to_voxels(run, grid, moving, side->surface->points, n, at);
    if (status >= 0)
        status = clv_buffer_write(run->ctx, side->mesh.points, 0, at, bytes);
    free(at);
    return status;
}

double clv_surfaces_width(const clvox_register_options *o, const clvox_grid *grid, int index)
{
    double edge[3];
    const int last = o->surface_widths - 1;
    const double width = last < 0 ? 0 : o->surface_width[index < last ? index : last];
    clvox_grid_spacing(grid, edge);
    return width > 0 ? width : WIDTH * cbrt(edge[0] * edge[1] * edge[2]);
}

int clv_surfaces_place(clv_registration *run, const clvox_grid *grid, int index)
{
    int status = CLVOX_OK;
    double edge[3];
    clvox_grid_spacing(grid, edge);
    const float spacing[3] = {(float)edge[0], (float)edge[1], (float)edge[2]};
    const clv_image on = clv_image_of(NULL, grid->size, spacing, 3);
    run->surfaces.width = clv_surfaces_width(run->options, grid, index);
    for (int i = 0; i < run->surfaces.count; i++) {
        clv_surface_term *term = &run->surfaces.term[i];
        term->norm = 0;
        for (int s = 0; s < 2; s++) {
            const clv_surface_side *side = &term->side[s];
            double product;
            CLV_TRY(send_vertices(run, grid, side, s == MOVING));
            CLV_TRY(send_topology(run, side));
            CLV_TRY(clv_moving_mesh_place(run->ctx, &side->mesh, NULL, &on));
            CLV_TRY(multiply(run, term, s, s, 0));
            CLV_TRY(clv_currents_product(run->ctx, term->partial[s], side->mesh.triangles, &product));
            term->norm += product;
        }
        if (!(term->norm > 0))
            return clvox_fail(CLVOX_ERROR_DATA, "surface %d: no triangle of it has an area, in either image",
                              i + 1);
    }
end:
    return status;
}

/* Adds what the vertices pull. A Gaussian over what many of them pull takes less time than many Gaussians. */
static int spread(clv_registration *run, const clv_moving_mesh *mesh, const clv_points_pull *pull, clv_buffer *force)
{
    int status = CLVOX_OK;
    const clv_landmark_args args = {.count = mesh->vertices, .tracked = mesh->tracked};
    const clv_image field = clv_image_of(pull->smooth ? run->surfaces.pull : force, pull->size, NULL, 3);
    float sigma[3];
    if (!pull->smooth)
        return clv_landmark_force(run->ctx, &args, false, NULL, &field);
    clv_points_sigma(run, pull, sigma);
    CLV_TRY(clv_buffer_fill(run->ctx, field.buffer, 0, 0, 3 * clv_image_voxels(&field) * sizeof(float)));
    CLV_TRY(clv_landmark_force(run->ctx, &args, false, NULL, &field));
    CLV_TRY(clv_gaussian(run->ctx, &field, sigma, CLV_GAUSSIAN_AUTO, pull->scratch[0], pull->scratch[1]));
    CLV_TRY(clv_pointwise(run->ctx, CLV_POINTWISE_LINEAR, CLV_VECTORS(force, pull->size), force, pull->scratch[1], NULL,
                          (const float[4]){1, 1, 0, 0}));
end:
    return status;
}

int clv_surfaces_force(clv_registration *run, const clv_points_pull *pull)
{
    int status = CLVOX_OK;
    const clv_image grid = clv_image_of(NULL, pull->size, pull->spacing, 3);
    const clv_buffer *u[2] = {[MOVING] = pull->u, [FIXED] = pull->u_fixed};
    clv_buffer *force[2] = {[MOVING] = pull->force, [FIXED] = pull->force_fixed};
    for (int i = 0; i < run->surfaces.count; i++) {
        clv_surface_term *term = &run->surfaces.term[i];
        for (int s = 0; s < 2; s++)
            if (u[s])
                CLV_TRY(clv_moving_mesh_place(run->ctx, &term->side[s].mesh, u[s], &grid));
        for (int s = 0; s < 2; s++) {
            const clv_moving_mesh *mesh = &term->side[s].mesh;
            if (!u[s])
                continue; /* it stays, and so does its norm */
            if (!force[s]) {
                CLV_TRY(multiply(run, term, s, s, 0));
                continue;
            }
            const clv_mesh_pull_args args = {
                .by_element = term->side[s].by_element, .u = u[s], .grid = grid,
                .factor = (float)(run->options->surface_weight / run->surfaces.count / term->norm),
                .axes = pull->axes, .state = pull->state, .slot = pull->slot,
            };
            CLV_TRY(derive(run, term, s));
            CLV_TRY(clv_moving_mesh_pull(run->ctx, mesh, &args));
            CLV_TRY(spread(run, mesh, pull, force[s]));
        }
        if (!force[MOVING])
            CLV_TRY(multiply(run, term, MOVING, FIXED, 0));
    }
end:
    return status;
}

int clv_surfaces_term(clv_registration *run, double *out)
{
    int status = CLVOX_OK;
    for (int i = 0; i < run->surfaces.count; i++) {
        const clv_surface_term *term = &run->surfaces.term[i];
        double product[3];
        for (int k = 0; k < 3; k++)
            CLV_TRY(clv_currents_product(run->ctx, term->partial[k], term->side[k == OWN_FIXED].mesh.triangles,
                                         &product[k]));
        *out -= run->options->surface_weight / run->surfaces.count *
                (product[OWN_MOVING] + product[OWN_FIXED] - 2 * product[BETWEEN]) / term->norm;
    }
end:
    return status;
}
