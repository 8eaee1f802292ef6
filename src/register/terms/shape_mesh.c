/* SPDX-License-Identifier: Apache-2.0 */
#include "register/terms/shape_mesh.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "anatomy/mesh_products.h"
#include "mesh/shape.h"

enum { MOVING, FIXED };

/* A mesh has to be that much faster: its level begins with all pairs. */
static const double FASTER = 2;
/* How much larger an element may become. */
static const double GROWTH = 8;
/* Nodes that AUTO may always take, 15 MB; it takes no more than there are voxels. */
static const double SMALL = 1 << 18;
/* Share of the derivative of 2 <S, T> below which that of the energy is no measure. */
static const double FLOOR = .1;

/* Spacing over width with which the derivative, which is off by more than the energy, is about within the
 * error; from measurements on surfaces, curves and clouds. */
static double ratio_of(const clv_registration *run)
{
    return fmin(fmax(pow(run->shapes.largest_error / .25, .25), .1), .7);
}

/* ---- room ---------------------------------------------------------------- */

/* Whether it saves time: pairs in an iteration, nodes of the grid, elements of both. */
static bool pays(const clv_mesh_costs *cost, bool varifold, double pairs, double nodes, double elements)
{
    const double mesh = (varifold ? 2 : 1) * (cost->node * nodes + 2 * cost->share * elements);
    return FASTER * mesh < cost->derivative * cost->pair * pairs;
}

/* On the device of the run, or, where that is not known, on any. */
static bool pays_here(const clv_registration *run, bool varifold, double pairs, double nodes, double elements)
{
    clv_mesh_costs costs[2] = {clv_mesh_costs_least(false), clv_mesh_costs_least(true)};
    if (run->ctx)
        costs[0] = costs[1] = clv_mesh_costs_of(run->ctx);
    return pays(&costs[0], varifold, pairs, nodes, elements) ||
           pays(&costs[1], varifold, pairs, nodes, elements);
}

static double nodes_of(const clv_mesh_grid *grid)
{
    return (double)grid->size[0] * grid->size[1] * grid->size[2];
}

/* Nodes that a shape's points span at least. */
static double least_nodes(const clvox_shape *s, double width, double spacing)
{
    double corner[2][3] = {{INFINITY, INFINITY, INFINITY}, {-INFINITY, -INFINITY, -INFINITY}}, longest = 0;
    for (size_t i = 0; i < 3 * s->vertices; i++) {
        corner[0][i % 3] = fmin(corner[0][i % 3], s->points[i]);
        corner[1][i % 3] = fmax(corner[1][i % 3], s->points[i]);
    }
    for (int k = 0; k < 3; k++)
        longest = fmax(longest, corner[1][k] - corner[0][k]);
    /* Turned, it may be as thin across as a line. */
    const double across = 4 * width / spacing;
    return (longest / spacing + across) * across * across;
}

/* The most nodes that a mesh may have; 0 where none pays. */
static double room_of(const clv_registration *run, bool *varifold)
{
    const clvox_register_options *o = run->options;
    double extent[3], nodes = 0, least = INFINITY;
    bool any = false;
    clv_mesh_grid grid;
    *varifold = false;
    if (o->currents == CLVOX_CURRENTS_EXACT || run->shapes.count == 0)
        return 0;
    const double ratio = ratio_of(run);
    for (int level = 0; level < o->levels; level++) {
        clvox_grid on;
        clv_register_level(&run->fixed_grid, o->shrink[level], &on);
        const double width = clv_shapes_width(o, &on, level);
        least = fmin(least, width);
        for (int i = 0; i < run->shapes.count; i++) {
            const clv_shape_term *t = &run->shapes.term[i];
            const double s = t->side[MOVING].mesh.elements, f = t->side[FIXED].mesh.elements;
            const double count = least_nodes(t->side[FIXED].shape, width, ratio * width);
            if (o->currents == CLVOX_CURRENTS_AUTO &&
                !pays_here(run, t->varifold, 2 * s * f + s * s + f * f, count, s + f))
                continue;
            any = true;
            *varifold = *varifold || t->varifold;
        }
    }
    clvox_grid_spacing(&run->fixed_grid, extent);
    for (int k = 0; k < 3; k++)
        extent[k] *= run->fixed_grid.size[k];
    if (!any || clv_mesh_grid_make((const double[3]){0, 0, 0}, extent, least, ratio * least, &grid) < 0)
        return 0;
    nodes = nodes_of(&grid);
    return o->currents == CLVOX_CURRENTS_MESH ? 3 * nodes : fmin(nodes, fmax(run->n, SMALL));
}

int clv_shape_mesh_requests(clv_registration *run, clv_request *list)
{
    int count = 0;
    size_t bytes[3];
    bool varifold;
    clv_mesh_room *room = &run->shapes.room;
    run->shapes.room_nodes = room_of(run, &varifold);
    if (!(run->shapes.room_nodes > 0))
        return 0;
    clv_mesh_room_bytes(run->shapes.room_nodes, bytes);
    for (int f = 0; f <= varifold; f++) {
        list[count++] = (clv_request){&room->sums[f], bytes[0], "sums of a particle mesh"};
        list[count++] = (clv_request){&room->held[f], bytes[1], "particle mesh"};
    }
    list[count++] = (clv_request){&room->spectrum, bytes[2], "spectrum of a particle mesh"};
    return count;
}

/* ---- a mesh -------------------------------------------------------------- */

void clv_shape_mesh_drop(clv_shape_term *term)
{
    clv_particle_mesh_destroy(&term->mesh);
    term->by_mesh = false;
}

static clv_elements elements_of(const clv_moving_mesh *m)
{
    return (clv_elements){m->element, m->box, m->elements};
}

int clv_shape_mesh_sums(clv_registration *run, clv_shape_term *term, const bool wanted[2])
{
    int status = CLVOX_OK;
    for (int s = 0; s < 2; s++) {
        const clv_elements e = elements_of(&term->side[s].mesh);
        CLV_TRY(clv_particle_mesh_splat(run->ctx, &term->mesh, &e, s == MOVING ? 1 : -1));
    }
    CLV_TRY(clv_particle_mesh_convolve(run->ctx, &term->mesh));
    for (int s = 0; s < 2; s++) {
        const clv_currents_args args = {
            .target = elements_of(&term->side[s].mesh),
            .partial = term->partial[s],
            .gradient = wanted[s] ? term->side[s].by_element : NULL,
            .factor = s == MOVING ? 2 : -2,
        };
        if (wanted[s])
            CLV_TRY(clv_buffer_fill(run->ctx, args.gradient, 0, 0, 32 * (size_t)args.target.count));
        CLV_TRY(clv_particle_mesh_read(run->ctx, &term->mesh, &args));
    }
end:
    return status;
}

int clv_shape_mesh_left(clv_registration *run, clv_shape_term *term, bool *left)
{
    int beyond, status = clv_particle_mesh_beyond(run->ctx, &term->mesh, &beyond);
    *left = status >= 0 && beyond > 0;
    if (*left) {
        term->sums.left++;
        clv_shape_mesh_drop(term);
    }
    return status;
}

/* ---- the choice ---------------------------------------------------------- */

/* Positions and sizes of both shapes' elements. */
typedef struct span {
    double least[3], most[3], largest;
} span;

static int span_of(clv_registration *run, const clv_shape_term *term, span *out)
{
    int status = CLVOX_OK;
    float *element = NULL;
    *out = (span){{INFINITY, INFINITY, INFINITY}, {-INFINITY, -INFINITY, -INFINITY}, 0};
    for (int s = 0; s < 2; s++) {
        const clv_moving_mesh *m = &term->side[s].mesh;
        const size_t bytes = 32 * (size_t)m->elements;
        free(element);
        element = malloc(bytes);
        if (!element) {
            status = clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory for the elements of a shape");
            goto end;
        }
        CLV_TRY(clv_buffer_read(run->ctx, m->element, 0, element, bytes));
        for (int i = 0; i < m->elements; i++) {
            for (int k = 0; k < 3; k++) {
                out->least[k] = fmin(out->least[k], (double)element[8 * i + k]);
                out->most[k] = fmax(out->most[k], (double)element[8 * i + k]);
            }
            out->largest = fmax(out->largest, (double)element[8 * i + 7]);
        }
    }
    /* As far as they may move. */
    for (int k = 0; k < 3; k++) {
        const double room = run->shapes.width + .05 * (out->most[k] - out->least[k]);
        out->least[k] -= room;
        out->most[k] += room;
    }
end:
    free(element);
    return status;
}

/* Pairs that an iteration of a model that moves one side looks at. */
static int pairs_of(clv_registration *run, const clv_shape_term *term, double *pairs)
{
    int status = CLVOX_OK;
    clv_element_set sets[2] = {{.count = 0}, {.count = 0}};
    double own, other;
    for (int s = 0; s < 2; s++) {
        const clv_moving_mesh *m = &term->side[s].mesh;
        sets[s] = (clv_element_set){.element = m->element, .box = m->box, .count = m->elements};
    }
    CLV_TRY(clv_element_pairs(run->ctx, &sets[MOVING], &sets[MOVING], run->shapes.width, &own));
    CLV_TRY(clv_element_pairs(run->ctx, &sets[MOVING], &sets[FIXED], run->shapes.width, &other));
    *pairs = own + other;
end:
    return status;
}

/* The derivative by the moving shape's vertices that by_element leads to. */
static int by_vertices(clv_registration *run, const clv_shape_term *term, const clv_image *on, float *out)
{
    int status = CLVOX_OK;
    const clv_shape_side *side = &term->side[MOVING];
    const clv_mesh_pull_args args = {.by_element = side->by_element, .grid = *on, .factor = 1};
    CLV_TRY(clv_moving_mesh_pull(run->ctx, &side->mesh, &args));
    CLV_TRY(clv_buffer_read(run->ctx, side->mesh.tracked, 0, out,
                            (size_t)side->mesh.vertices * CLV_LANDMARK_TRACKED * sizeof *out));
end:
    return status;
}

/* Root of the sum of squares of a - b (NULL: of a), vectors of vertices. */
static double size_of(const float *a, const float *b, int vertices)
{
    double sum = 0;
    for (int i = 0; i < vertices; i++)
        for (int k = 4; k < 7; k++) {
            const double d =
                (double)a[CLV_LANDMARK_TRACKED * i + k] - (b ? (double)b[CLV_LANDMARK_TRACKED * i + k] : 0);
            sum += d * d;
        }
    return sqrt(sum);
}

/* Sums by all pairs. */
typedef struct truth {
    double energy, size; /* size: what errors of a derivative are over */
    float *vector;
} truth;

static int find_truth(clv_registration *run, clv_shape_term *term, const clv_image *on, truth *out)
{
    int status = CLVOX_OK;
    const int n = term->side[MOVING].mesh.vertices;
    *out = (truth){.vector = malloc((size_t)n * CLV_LANDMARK_TRACKED * sizeof(float))};
    if (!out->vector)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory for the derivative by a shape");
    CLV_TRY(clv_shape_derive(run, term, MOVING));
    CLV_TRY(by_vertices(run, term, on, out->vector));
    const double between = size_of(out->vector, NULL, n);
    CLV_TRY(clv_shape_derive_own(run, term, MOVING));
    CLV_TRY(by_vertices(run, term, on, out->vector));
    out->size = fmax(size_of(out->vector, NULL, n), FLOOR * between);
    CLV_TRY(clv_shape_energy(run, term, &out->energy));
end:
    return status;
}

/* How far the mesh is off; its own energy and derivative are left where the truth's were. */
static int errors_of(clv_registration *run, clv_shape_term *term, const clv_image *on, const truth *want,
                     double error[2])
{
    int status = CLVOX_OK;
    const int n = term->side[MOVING].mesh.vertices;
    double energy;
    float *vector = malloc((size_t)n * CLV_LANDMARK_TRACKED * sizeof *vector);
    if (!vector)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory for the derivative by a shape");
    CLV_TRY(clv_shape_mesh_sums(run, term, (const bool[2]){[MOVING] = true}));
    CLV_TRY(by_vertices(run, term, on, vector));
    CLV_TRY(clv_shape_energy(run, term, &energy));
    error[0] = fabs(energy - want->energy) / (term->norm / 2);
    error[1] = want->size > 0 ? size_of(vector, want->vector, n) / want->size : INFINITY;
end:
    free(vector);
    return status;
}

static int refuse(const clv_registration *run, const clv_shape_term *term, const char *why)
{
    return clvox_fail(CLVOX_ERROR_DATA,
                      "%s %d: no particle mesh is within %g of all pairs at a width of %.4g mm (%s); take "
                      "--currents auto or exact",
                      clv_shape_words_of(term->side[FIXED].shape->kind)->noun, term->number,
                      run->shapes.largest_error, run->shapes.width, why);
}

/* On finer and finer grids until it agrees. */
static int make(clv_registration *run, clv_shape_term *term, const clv_image *on, const span *box)
{
    int status = CLVOX_OK;
    enum { TRIES = 5 };
    const clvox_register_options *o = run->options;
    const bool forced = o->currents == CLVOX_CURRENTS_MESH;
    const int counts[2] = {term->side[0].mesh.elements, term->side[1].mesh.elements};
    const clv_particle_mesh_options how = {.width = run->shapes.width,
                                           .varifold = term->varifold,
                                           .count = counts[0] + counts[1],
                                           .most = GROWTH * box->largest,
                                           .room = &run->shapes.room};
    const char *why = "on any grid that was tried";
    double spacing = ratio_of(run) * run->shapes.width, error[2] = {0};
    truth want = {.vector = NULL};
    for (int f = 0; f <= term->varifold; f++)
        CLV_TRY(clv_buffer_fill(run->ctx, how.room->sums[f], 0, 0, how.room->sums[f]->bytes));
    CLV_TRY(find_truth(run, term, on, &want));
    for (int i = 0; i < TRIES; i++) {
        clv_mesh_grid grid;
        status = clv_mesh_grid_make(box->least, box->most, run->shapes.width, spacing, &grid);
        if (status < 0 || nodes_of(&grid) > run->shapes.room_nodes) {
            why = "its grid would be too large";
            break;
        }
        term->by_mesh = true;
        status = clv_particle_mesh_create(run->ctx, &grid, &how, &term->mesh);
        if (status >= 0)
            status = errors_of(run, term, on, &want, error);
        if (status == CLVOX_ERROR_MEMORY && !forced) { /* what it takes beyond its room */
            term->sums.no_room = true;
            clv_shape_mesh_drop(term);
            break;
        }
        CLV_TRY(status);
        const double worst = fmax(error[0], error[1]);
        if (worst <= run->shapes.largest_error) {
            clvox_shape_sums *sums = &term->sums;
            sums->by_mesh++;
            sums->spacing = spacing;
            memcpy(sums->size, grid.size, sizeof sums->size);
            sums->error = fmax(sums->error, error[0]);
            sums->derivative_error = fmax(sums->derivative_error, error[1]);
            goto end;
        }
        clv_shape_mesh_drop(term);
        spacing *= fmin(fmax(pow(run->shapes.largest_error / worst, .25) * .95, .5), .95);
    }
    /* A shape that stays is not multiplied again: its product is put back. */
    status = forced ? refuse(run, term, why) : clv_shape_multiply_all(run, term);
end:
    if (status < 0)
        clv_shape_mesh_drop(term);
    free(want.vector);
    return status;
}

int clv_shape_mesh_choose(clv_registration *run, clv_shape_term *term, const clv_image *on)
{
    int status = CLVOX_OK;
    const clvox_register_options *o = run->options;
    clv_mesh_grid grid;
    span box;
    double pairs;
    clv_shape_mesh_drop(term);
    term->sums.levels++;
    if (o->currents == CLVOX_CURRENTS_EXACT)
        return CLVOX_OK;
    if (!run->shapes.room.spectrum || (term->varifold && !run->shapes.room.sums[1]))
        return o->currents == CLVOX_CURRENTS_MESH ? refuse(run, term, "its grid would be too large")
                                                  : CLVOX_OK;
    CLV_TRY(span_of(run, term, &box));
    if (o->currents == CLVOX_CURRENTS_AUTO) {
        const double elements = (double)term->side[0].mesh.elements + term->side[1].mesh.elements;
        const double spacing = ratio_of(run) * run->shapes.width;
        CLV_TRY(pairs_of(run, term, &pairs));
        if (clv_mesh_grid_make(box.least, box.most, run->shapes.width, spacing, &grid) < 0 ||
            nodes_of(&grid) > run->shapes.room_nodes ||
            !pays_here(run, term->varifold, pairs, nodes_of(&grid), elements))
            return CLVOX_OK;
    }
    CLV_TRY(make(run, term, on, &box));
end:
    return status;
}
