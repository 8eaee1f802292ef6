/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>

#include "anatomy/mesh_products.h"
#include "base/options.h"
#include "base/status.h"
#include "mesh/shape.h"
#include "runtime/device/host.h"

/* The inner product of args' target and source. */
static int product(clvox_context *ctx, const clv_currents_args *args, double *out)
{
    int status = CLVOX_OK;
    *out = 0;
    if (args->target.count == 0 || args->source.count == 0)
        return CLVOX_OK;
    CLV_TRY(clv_currents(ctx, args));
    CLV_TRY(clv_currents_product(ctx, args->partial, args->target.count, out));
end:
    return status;
}

/* aa, bb and ab over all pairs. */
static int exact_products(clvox_context *ctx, const clv_mesh_problem *p, double products[3])
{
    int status = CLVOX_OK;
    for (int i = 0; i < 3; i++) {
        const clv_currents_args args = {.target = clv_element_set_view(p->set[i == 1]),
                                        .source = clv_element_set_view(p->set[i > 0]),
                                        .width = (float)p->width,
                                        .varifold = p->varifold,
                                        .partial = p->partial};
        CLV_TRY(product(ctx, &args, &products[i]));
    }
end:
    return status;
}

/* ---- the choice ---------------------------------------------------------- */

/* Whether a particle mesh takes less time than all pairs, and fits. */
static int mesh_is_faster(clvox_context *ctx, const clv_mesh_problem *p, double spacing, bool *faster)
{
    int status = CLVOX_OK;
    const clvox_device_limits *limits = clvox_context_limits(ctx);
    const clv_mesh_costs cost = clv_mesh_costs_of(ctx);
    const double elements = (double)p->set[0]->count + p->set[1]->count;
    double all = 0;
    clv_mesh_grid grid;
    *faster = false;
    if (clv_mesh_grid_of(p, spacing, &grid) < 0 ||
        clv_particle_mesh_bytes(&grid, p->varifold) > (double)limits->global_bytes / 2)
        return CLVOX_OK;
    for (int i = 0; i < 3; i++) {
        double pairs;
        CLV_TRY(clv_element_pairs(ctx, p->set[i == 1], p->set[i > 0], p->width, &pairs));
        all += pairs;
    }
    const double nodes = (double)grid.size[0] * grid.size[1] * grid.size[2];
    const double samples = cost.launches + cost.pair * 2 * CLV_MESH_SAMPLES * elements;
    const double mesh = (p->varifold ? 2 : 1) * (2 * cost.node * nodes + cost.share * elements);
    *faster = mesh + samples < cost.pair * all;
end:
    return status;
}

/* On finer and finer grids, until the error is small enough. */
static int mesh_until(clvox_context *ctx, const clv_mesh_problem *p, double wanted, double products[3],
                      clvox_currents_report *report)
{
    int status = CLVOX_OK;
    enum { TRIES = 5 };
    clv_mesh_samples samples;
    clv_mesh_grid grid;
    double spacing = clv_mesh_ratio(wanted) * p->width;
    CLV_TRY(clv_mesh_samples_create(ctx, p, &samples));
    for (int i = 0; i < TRIES; i++) {
        CLV_TRY(clv_mesh_grid_of(p, spacing, &grid));
        CLV_TRY(clv_mesh_products(ctx, p, &grid, &samples, products, &report->error));
        report->spacing = spacing;
        for (int k = 0; k < 3; k++)
            report->size[k] = grid.size[k];
        if (report->error <= wanted)
            goto end;
        spacing *= fmin(fmax(pow(wanted / report->error, .2) * .95, .5), .9);
    }
    status = clvox_fail(CLVOX_ERROR_DATA,
                        "a particle mesh is off by %.2g at a spacing of %.3g mm, not by %.2g: take the exact "
                        "sum, or a larger "
                        "error",
                        report->error, report->spacing, wanted);
end:
    clv_mesh_samples_release(&samples);
    return status;
}

static int solve(clvox_context *ctx, const clv_mesh_problem *p, const clvox_currents_options *o,
                 double products[3], clvox_currents_report *report)
{
    int status = CLVOX_OK;
    bool mesh = o->method == CLVOX_CURRENTS_MESH;
    *report = (clvox_currents_report){.method = CLVOX_CURRENTS_EXACT};
    if (o->method == CLVOX_CURRENTS_AUTO)
        CLV_TRY(mesh_is_faster(ctx, p, clv_mesh_ratio(o->error) * p->width, &mesh));
    if (p->set[0]->count == 0 || p->set[1]->count == 0)
        mesh = false; /* there is nothing to choose */
    if (mesh) {
        report->method = CLVOX_CURRENTS_MESH;
        status = mesh_until(ctx, p, o->error, products, report);
        if (status >= 0 || o->method == CLVOX_CURRENTS_MESH)
            return status;
        *report = (clvox_currents_report){.method = CLVOX_CURRENTS_EXACT};
    }
    CLV_TRY(exact_products(ctx, p, products));
end:
    return status;
}

static int check(const clvox_context *ctx, const clvox_shape *a, const clvox_shape *b,
                 const clvox_currents_options *o)
{
    if (o && clv_options_sized(o, sizeof *o) < 0)
        return CLVOX_ERROR_ARGUMENT;
    if (!ctx || !a || !b || !o || !(o->width > 0) || !isfinite(o->width))
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "currents want two shapes and a width above 0 mm");
    if (a->kind != b->kind)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "currents are of two shapes of one kind");
    if ((unsigned)o->method > CLVOX_CURRENTS_AUTO)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "currents by method %d: there is none", (int)o->method);
    if (o->method != CLVOX_CURRENTS_EXACT && !(o->error > 0 && o->error < 1))
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "an error of %g: it must be above 0 and below 1", o->error);
    return CLVOX_OK;
}

/* The middle of the vertices that elements use. */
static void middle_of(const clvox_shape *s, double middle[3])
{
    double bounds[2][3] = {{0}};
    for (size_t i = 0; i < (size_t)s->kind * s->elements; i++)
        for (size_t k = 0; k < 3; k++) {
            const double x = s->points[3 * (size_t)s->corners[i] + k];
            bounds[0][k] = i ? fmin(bounds[0][k], x) : x;
            bounds[1][k] = i ? fmax(bounds[1][k], x) : x;
        }
    for (int k = 0; k < 3; k++)
        middle[k] = (bounds[0][k] + bounds[1][k]) / 2;
}

int clvox_shape_currents(clvox_context *ctx, const clvox_shape *a, const clvox_shape *b,
                         const clvox_currents_options *options, clvox_surface_products *out,
                         clvox_currents_report *report)
{
    CLV_GIVEN(out);
    CLV_HOST_THREADS(ctx);
    int status = CLVOX_OK;
    clv_element_set sets[2] = {{.count = 0}, {.count = 0}};
    clv_mesh_problem problem = {.set = {&sets[0], &sets[1]}};
    double origin[3], products[3] = {0}, size[2];
    const clvox_shape *shapes[2] = {a, b};
    clvox_currents_report unused;
    *out = (clvox_surface_products){0};
    CLV_TRY(check(ctx, a, b, options));
    for (int i = 0; i < 2; i++)
        CLV_TRY(clvox_shape_size(shapes[i], &size[i]));
    middle_of(a, origin);
    for (int i = 0; i < 2; i++)
        CLV_TRY(
            clv_element_set_create(ctx, shapes[i], clv_shape_scale(shapes[i], size[i]), origin, &sets[i]));
    int most = sets[0].count > sets[1].count ? sets[0].count : sets[1].count;
    size_t bytes = 4 * (size_t)(CLV_CURRENTS_BLOCKS(most) + 1);
    problem.width = options->width;
    problem.varifold = options->varifold;
    CLV_TRY(clv_buffer_create(ctx, bytes, "inner products of shapes", &problem.partial));
    CLV_TRY(solve(ctx, &problem, options, products, report ? report : &unused));
    *out = (clvox_surface_products){products[0], products[1], products[2],
                                    products[0] + products[1] - 2 * products[2]};
end:
    for (int i = 0; i < 2; i++)
        clv_element_set_release(&sets[i]);
    clv_buffer_destroy(&problem.partial);
    return status;
}

int clvox_surface_currents_with(clvox_context *ctx, const clvox_surface *a, const clvox_surface *b,
                              const clvox_currents_options *options, clvox_surface_products *out,
                              clvox_currents_report *report)
{
    CLV_HOST_THREADS(ctx);
    clvox_shape s, t;
    if (!a || !b)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "currents want two surfaces");
    clvox_shape_of_surface(a, &s);
    clvox_shape_of_surface(b, &t);
    return clvox_shape_currents(ctx, &s, &t, options, out, report);
}

void clvox_currents_defaults(clvox_currents_options *options)
{
    CLV_GIVEN_OR(, options);
    *options = (clvox_currents_options){
        .size = sizeof *options, .method = CLVOX_CURRENTS_AUTO, .error = 1e-5};
}

int clvox_surface_currents(clvox_context *ctx, const clvox_surface *a, const clvox_surface *b, double width,
                           int varifold, clvox_surface_products *out)
{
    CLV_HOST_THREADS(ctx);
    const clvox_currents_options options = {
        .size = sizeof options, .width = width, .varifold = varifold, .method = CLVOX_CURRENTS_EXACT};
    return clvox_surface_currents_with(ctx, a, b, &options, out, NULL);
}
