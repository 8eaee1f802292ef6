/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/papers/op/solvers/multigrid.h"

#include <math.h>

#include "op/image/pointwise.h"
#include "op/image/reduce.h"

#define TRANSFER(symbol)                                                                              \
    static const clv_variant symbol##_variants[] = {                                                  \
        {.name = "item", .function = #symbol "_item", .devices = CLV_ON_GPU,                          \
         .tiles = {{64, 4, 1, 1}, {32, 4, 1, 1}}},                                                    \
        {.name = "row", .function = #symbol "_row", .item = {CLV_WHOLE}, .devices = CLV_ON_CPU,       \
         .tiles = {{1, 1, 1, 1}}},                                                                    \
    };                                                                                                \
    const clv_entry clv_entry_##symbol = CLV_ENTRY("papers/multigrid", #symbol, symbol##_variants, NULL)
TRANSFER(mg_prolong);
TRANSFER(mg_restrict);

/* For eigenvalues this close together, Chebyshev's polynomial is as fast as a coarser grid; axes with voxels this
 * much longer than the shortest are not halved, and sides below SHORTEST neither. */
static const double CLOSE = 6, LONGER = 1.5;
enum { SHORTEST = 4, MOST_DEGREE = 64 };

/* Residual left by the coarsest level. */
static const double COARSEST = .05;

void clv_mg_bounds(const clv_fluid_operator *op, double *least, double *most)
{
    double sum = 0;
    for (int a = 0; a < 3; a++) {
        const double q = op->size[a] > 1 ? 1 / (double)op->spacing[a] : 0;
        sum += 4 * q * q;
    }
    *least = (double)op->gamma;
    *most = (double)op->gamma + ((double)op->alpha + (double)op->beta) * sum;
}

bool clv_mg_coarsen(const clv_fluid_operator *op, clv_fluid_operator *coarser)
{
    double least, most;
    float shortest = INFINITY;
    bool any = false;
    *coarser = *op;
    clv_mg_bounds(op, &least, &most);
    for (int a = 0; a < 3; a++)
        if (op->size[a] > 1 && op->spacing[a] < shortest)
            shortest = op->spacing[a];
    for (int a = 0; a < 3 && most > CLOSE * least; a++) {
        int n = op->size[a];
        if (n < SHORTEST || (double)op->spacing[a] > LONGER * (double)shortest)
            continue;
        any = true;
        coarser->size[a] = op->periodic ? (n + 1) / 2 : n / 2;
        coarser->spacing[a] *= (float)(n + !op->periodic) / (float)(coarser->size[a] + !op->periodic);
    }
    return any;
}

static int transfer(clvox_context *ctx, const clv_entry *entry, const clv_fluid_operator *fine,
                    const clv_fluid_operator *coarse, const int launch[3], const clv_buffer *in, clv_buffer *out)
{
    int status = CLVOX_OK;
    const clv_kernel *kernel;
    const int *n = fine->size, *m = coarse->size, shift = !fine->periodic;
    float ratio[4] = {0};
    for (int a = 0; a < 3; a++)
        ratio[a] = (float)(m[a] + shift) / (float)(n[a] + shift);
    double both = 12.0 * ((double)n[0] * n[1] * n[2] + (double)m[0] * m[1] * m[2]);
    CLV_TRY(clv_kernel_get(ctx, entry, NULL, launch, 0, &kernel));
    CLV_TRY(CLV_LAUNCH(ctx, kernel, launch, both, CLV_BUF(in), CLV_BUF(out), CLV_INT4(n[0], n[1], n[2], fine->periodic),
                       CLV_INT4(m[0], m[1], m[2], 0), CLV_FLOAT4V(ratio), CLV_FLOAT((float)shift)));
end:
    return status;
}

int clv_mg_prolong(clvox_context *ctx, const clv_fluid_operator *fine, const clv_fluid_operator *coarse,
                   const clv_buffer *in, clv_buffer *out)
{
    return transfer(ctx, &clv_entry_mg_prolong, fine, coarse, fine->size, in, out);
}

int clv_mg_restrict(clvox_context *ctx, const clv_fluid_operator *fine, const clv_fluid_operator *coarse,
                    const clv_buffer *in, clv_buffer *out)
{
    return transfer(ctx, &clv_entry_mg_restrict, fine, coarse, coarse->size, in, out);
}

static size_t voxels_of(const clv_fluid_operator *op)
{
    return (size_t)op->size[0] * (size_t)op->size[1] * (size_t)op->size[2];
}

/* An even number of Chebyshev's steps for a range of eigenvalues, from the v that is there. */
static int smooth(clvox_context *ctx, const clv_fluid_operator *op, const clv_buffer *f, clv_buffer *v,
                  const clv_mg_workspace *w, const double eigenvalues[2], int degree)
{
    int status = CLVOX_OK, count;
    double least = eigenvalues[0], most = eigenvalues[1];
    double middle = (most + least) / 2, half = fmax((most - least) / 2, 1e-6 * most), sigma = middle / half;
    double rho = 1 / sigma;
    clv_buffer *now = v, *next = w->other;
    for (int i = 0; i < degree; i++) {
        float k[4] = {1, 0, (float)(1 / middle), 0};
        if (i > 0) {
            double before = rho;
            rho = 1 / (2 * sigma - before);
            k[0] = (float)(1 + rho * before);
            k[1] = (float)(-rho * before);
            k[2] = (float)(2 * rho / half);
        }
        CLV_TRY(clv_fluid_operator_launch(ctx, op,
                                          &(clv_fluid_product){now, f, w->residual, w->partial, &count}));
        CLV_TRY(clv_pointwise(ctx, CLV_POINTWISE_LINEAR, CLV_VECTORS(next, op->size), now, i ? next : now,
                              w->residual, k));
        clv_buffer *swap = now;
        now = next;
        next = swap;
    }
end:
    return status;
}

/* Lowest wave that the coarser grid does not carry, of a halved axis: a quarter of the period. */
static double smoothed_from(const clv_fluid_operator *op, const clv_fluid_operator *coarser)
{
    double least = INFINITY;
    for (int a = 0; a < 3; a++)
        if (coarser->size[a] < op->size[a])
            least = fmin(least, 2 * (double)op->alpha / ((double)op->spacing[a] * (double)op->spacing[a]));
    return (double)op->gamma + least;
}

static int cycle(clvox_context *ctx, const clv_fluid_operator *op, const clv_buffer *f, clv_buffer *v,
                 const clv_mg_workspace *w, int level)
{
    int status = CLVOX_OK, count;
    double least, most;
    clv_fluid_operator coarser;
    clv_mg_bounds(op, &least, &most);
    bool last = !clv_mg_coarsen(op, &coarser) || level == CLV_MG_COARSER || !w->v[level] || !w->f[level];
    size_t bytes = 12 * voxels_of(&coarser);
    if (last || w->v[level]->bytes < bytes || w->f[level]->bytes < bytes) {
        double slope = (sqrt(most / least) - 1) / (sqrt(most / least) + 1);
        int degree = slope > 0 ? (int)fmin(MOST_DEGREE, ceil(log(COARSEST / 2) / log(slope))) : 2;
        return smooth(ctx, op, f, v, w, (const double[2]){least, most}, (degree + 1) / 2 * 2);
    }
    const double smoothed[2] = {fmin(smoothed_from(op, &coarser), most), most};
    int degree = op->beta > 0 ? 4 : 2;
    CLV_TRY(smooth(ctx, op, f, v, w, smoothed, degree));
    CLV_TRY(clv_fluid_operator_launch(ctx, op, &(clv_fluid_product){v, f, w->residual, w->partial, &count}));
    CLV_TRY(clv_mg_restrict(ctx, op, &coarser, w->residual, w->f[level]));
    CLV_TRY(clv_buffer_fill(ctx, w->v[level], 0, 0, bytes));
    CLV_TRY(cycle(ctx, &coarser, w->f[level], w->v[level], w, level + 1));
    CLV_TRY(clv_mg_prolong(ctx, op, &coarser, w->v[level], v));
    CLV_TRY(smooth(ctx, op, f, v, w, smoothed, degree));
end:
    return status;
}

int clv_mg_solve(clvox_context *ctx, const clv_fluid_problem *p, const clv_mg_workspace *w, clv_fluid_report *report)
{
    int status = CLVOX_OK, count, n = (int)(3 * voxels_of(&p->op));
    float sums[2] = {0, 0};
    *report = (clv_fluid_report){0, 0};
    CLV_TRY(clv_fluid_operator_check(&p->op));
    if (p->tolerance > 0)
        CLV_TRY(clv_reduce(ctx, CLV_REDUCE_DOT, &(clv_terms){p->f, p->f, NULL, 0, n}, w->partial, w->state, 0));
    for (;; report->iterations++) {
        if (p->tolerance > 0) {
            const clv_fluid_product left = {p->v, p->f, w->residual, w->partial, &count};
            CLV_TRY(clv_fluid_operator_launch(ctx, &p->op, &left));
            CLV_TRY(clv_reduce(ctx, CLV_REDUCE_SUM, &(clv_terms){w->partial, NULL, NULL, 0, count}, w->residual,
                               w->state, 1));
            CLV_TRY(clv_buffer_read(ctx, w->state, 0, sums, sizeof sums));
            report->left = sums[0] > 0 ? sqrt((double)sums[1] / (double)sums[0]) : sums[1] > 0 ? INFINITY : 0;
            if (!(report->left > p->tolerance))
                break;
        }
        if (report->iterations >= p->most)
            break;
        CLV_TRY(cycle(ctx, &p->op, p->f, p->v, w, 0));
    }
end:
    return status;
}

const clv_entry *const clv_operation_papers_multigrid[] = {&clv_entry_mg_prolong, &clv_entry_mg_restrict, NULL};
