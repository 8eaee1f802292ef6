/* SPDX-License-Identifier: Apache-2.0 */
#include "anatomy/mesh_products.h"

#include <math.h>

/* ---- samples ------------------------------------------------------------- */

static int exact_product(clvox_context *ctx, const clv_mesh_problem *p, int of, const clv_element_set *group,
                         double *product)
{
    int status = CLVOX_OK;
    const clv_currents_args args = {.target = clv_element_set_view(p->set[of]),
                                    .source = clv_element_set_view(group),
                                    .width = (float)p->width,
                                    .varifold = p->varifold,
                                    .partial = p->partial};
    *product = 0;
    if (group->count == 0)
        return CLVOX_OK;
    CLV_TRY(clv_currents(ctx, &args));
    CLV_TRY(clv_currents_product(ctx, p->partial, args.target.count, product));
end:
    return status;
}

int clv_mesh_samples_create(clvox_context *ctx, const clv_mesh_problem *p, clv_mesh_samples *out)
{
    int status = CLVOX_OK;
    *out = (clv_mesh_samples){.group = {{{.count = 0}}}};
    for (int at = 0; at < 2; at++) {
        const int step = p->set[at]->count / CLV_MESH_SAMPLES;
        CLV_TRY(clv_element_set_deal(ctx, p->set[at], step > 1 ? step : 1, CLV_MESH_GROUPS, out->group[at]));
        for (int of = 0; of < 2; of++)
            for (int g = 0; g < CLV_MESH_GROUPS; g++)
                CLV_TRY(exact_product(ctx, p, of, &out->group[at][g], &out->exact[of][at][g]));
    }
end:
    return status;
}

void clv_mesh_samples_release(clv_mesh_samples *samples)
{
    for (int at = 0; at < 2; at++)
        for (int g = 0; g < CLV_MESH_GROUPS; g++)
            clv_element_set_release(&samples->group[at][g]);
}

/* ---- the error ----------------------------------------------------------- */

/* Products of both surfaces with each group. */
typedef double group_products[2][2][CLV_MESH_GROUPS];

/* Estimate of a sum over a surface: its expectation and its variance. */
typedef struct guess {
    double sum, variance;
} guess;

/* The sum over surface `at` of a_i (k0 d_0 + k1 d_1), d the errors of what both surfaces give there. */
static guess guess_sum(const clv_mesh_problem *p, const clv_mesh_samples *s, group_products found, int at,
                       const double k[2])
{
    const int all = p->set[at]->count;
    int count = 0, groups = 0;
    double sum = 0, square = 0;
    for (int g = 0; g < CLV_MESH_GROUPS && s->group[at][g].count > 0; g++, groups++) {
        double d = 0;
        for (int of = 0; of < 2; of++)
            d += k[of] * (found[of][at][g] - s->exact[of][at][g]);
        count += s->group[at][g].count;
        sum += d;
        d /= s->group[at][g].count;
        square += d * d;
    }
    const double mean = sum / count,
                 spread = groups > 1 ? fmax(square - groups * mean * mean, 0) / (groups - 1) : 0;
    return (guess){mean * all, (double)all * all * spread / groups * (1 - (double)count / all)};
}

static double bound_of(guess a, guess b)
{
    return fabs(a.sum + b.sum) + 2 * sqrt(a.variance + b.variance);
}

static double error_of(const clv_mesh_problem *p, const clv_mesh_samples *s, group_products found,
                       const double product[3])
{
    static const double first[2] = {1, 0}, second[2] = {0, 1}, between[2][2] = {{1, -1}, {-1, 1}};
    const guess none = {0, 0};
    const double bounds[4] = {
        bound_of(guess_sum(p, s, found, 0, first), none),
        bound_of(guess_sum(p, s, found, 1, second), none),
        bound_of(guess_sum(p, s, found, 1, first), none),
        bound_of(guess_sum(p, s, found, 0, between[0]), guess_sum(p, s, found, 1, between[1])),
    };
    double largest = 0;
    for (int i = 0; i < 4; i++)
        largest = fmax(largest, bounds[i]);
    return largest / ((product[0] + product[1]) / 2);
}

/* ---- the products -------------------------------------------------------- */

double clv_mesh_ratio(double error)
{
    return fmin(fmax(pow(error / .013, .2), .1), .7);
}

int clv_mesh_grid_of(const clv_mesh_problem *p, double spacing, clv_mesh_grid *grid)
{
    double corner[2][3];
    for (int k = 0; k < 3; k++) {
        corner[0][k] = fmin(p->set[0]->bounds[0][k], p->set[1]->bounds[0][k]);
        corner[1][k] = fmax(p->set[0]->bounds[1][k], p->set[1]->bounds[1][k]);
    }
    return clv_mesh_grid_make(corner[0], corner[1], p->width, spacing, grid);
}

static int read_product(clvox_context *ctx, const clv_mesh_problem *p, const clv_particle_mesh *mesh,
                        const clv_element_set *at, double *product)
{
    int status = CLVOX_OK;
    const clv_currents_args args = {.target = clv_element_set_view(at), .partial = p->partial};
    *product = 0;
    if (at->count == 0)
        return CLVOX_OK;
    CLV_TRY(clv_particle_mesh_read(ctx, mesh, &args));
    CLV_TRY(clv_currents_product(ctx, p->partial, args.target.count, product));
end:
    return status;
}

int clv_mesh_products(clvox_context *ctx, const clv_mesh_problem *p, const clv_mesh_grid *grid,
                      const clv_mesh_samples *samples, double product[3], double *error)
{
    int status = CLVOX_OK, beyond;
    group_products found;
    clv_particle_mesh mesh = {.most = 0};
    const int counts[2] = {p->set[0]->count, p->set[1]->count};
    const clv_particle_mesh_options o = {.width = p->width,
                                         .varifold = p->varifold,
                                         .count = counts[0] > counts[1] ? counts[0] : counts[1],
                                         .most = fmax(p->set[0]->largest, p->set[1]->largest)};
    CLV_TRY(clv_particle_mesh_create(ctx, grid, &o, &mesh));
    for (int of = 0; of < 2; of++) {
        const clv_elements source = clv_element_set_view(p->set[of]);
        CLV_TRY(clv_particle_mesh_splat(ctx, &mesh, &source, 1));
        CLV_TRY(clv_particle_mesh_convolve(ctx, &mesh));
        CLV_TRY(read_product(ctx, p, &mesh, p->set[of], &product[of]));
        if (of == 0)
            CLV_TRY(read_product(ctx, p, &mesh, p->set[1], &product[2]));
        for (int at = 0; at < 2; at++)
            for (int g = 0; g < CLV_MESH_GROUPS; g++)
                CLV_TRY(read_product(ctx, p, &mesh, &samples->group[at][g], &found[of][at][g]));
    }
    CLV_TRY(clv_particle_mesh_beyond(ctx, &mesh, &beyond));
    if (beyond)
        status = clvox_fail(CLVOX_ERROR_DATA, "%d triangles lie outside of the particle mesh", beyond);
    *error = error_of(p, samples, found, product);
end:
    clv_particle_mesh_destroy(&mesh);
    return status;
}
