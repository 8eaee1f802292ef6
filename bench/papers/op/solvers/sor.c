/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/papers/op/solvers/sor.h"

#include <math.h>

#include "op/image/reduce.h"

/* Some sweeps in a pass, by blocks in local memory: each costs two more voxels on each
 * side of the block, which are an item. Not for CPU devices, where local memory is no faster than
 * the rest and every barrier ends a loop over the items: a hundred times as long as by rows. */
#define BLOCK(title, sweeps, not_by_itself, ...)                                                           \
    {.name = title, .function = "sor_block", .defines = "-DSWEEPS=" #sweeps, .item = {2, 2, CLV_MARCH},    \
     .rim = {sweeps, sweeps, 0}, .parts = 3, .devices = CLV_ON_GPU, .optional = not_by_itself,             \
     .cell_bytes = 32 * (sweeps), .planes = 1, .tiles = {__VA_ARGS__}}

/* A colour in a pass, or both of several sweeps at once: four sweeps at 256^3 on an H100 take 1.74 ms by colours,
 * 1.01 by blocks of one and .66 by blocks of two. Blocks of three take too many registers to be faster. */
static const clv_variant variants[] = {
    BLOCK("block2", 2, false, {32, 16, 1, 64}, {32, 16, 1, 128}, {16, 16, 1, 64}),
    {.name = "item", .function = "sor_item", .passes = 2, .devices = CLV_ON_GPU,
     .tiles = {{64, 4, 1, 1}, {32, 4, 1, 1}}},
    {.name = "slab", .function = "sor_slab", .passes = 2, .item = {CLV_WHOLE, CLV_WHOLE},
     .devices = CLV_ON_CPU, .tiles = {{1, 1, 1, 1}}},
    {.name = "row", .function = "sor_row", .passes = 2, .item = {CLV_WHOLE}, .devices = CLV_ON_CPU,
     .tiles = {{1, 1, 1, 1}}},
    BLOCK("block1", 1, true, {32, 24, 1, 64}, {32, 16, 1, 64}, {16, 16, 1, 64}),
};

const clv_entry clv_entry_sor = CLV_ENTRY("papers/sor", "sor", variants, NULL);

/* How often the residual is looked at. */
enum { EVERY = 4 };

/* On CPU devices: colours in one pass over a volume with planes enough, and slabs for each compute unit.
 * With 8 colours the planes that a slab holds leave the caches from 182x218x182 on. */
enum { COLOURS = 4, SLABS_A_UNIT = 2 };

int clv_sor_check(const clv_fluid_operator *op)
{
    int status = CLVOX_OK;
    CLV_TRY(clv_fluid_operator_check(op));
    if (op->beta > 0)
        return clvox_fail(CLVOX_ERROR_ARGUMENT,
                          "over-relaxation: beta is %g; only operators with beta 0 have two colours, use "
                          "conjugate gradients or the Fourier transform",
                          (double)op->beta);
    for (int a = 0; a < 3 && op->periodic; a++)
        if (op->size[a] > 1 && op->size[a] % 2)
            return clvox_fail(
                CLVOX_ERROR_ARGUMENT,
                "over-relaxation: a periodic side of %d voxels has no two colours; pad it to an "
                "even number, or let the field be 0 outside",
                op->size[a]);
end:
    return status;
}

/* alpha / spacing^2, 0 along an axis of one voxel; returns the diagonal of L. */
static double weights_of(const clv_fluid_operator *op, double near[3])
{
    double sum = (double)op->gamma;
    for (int a = 0; a < 3; a++) {
        double h = (double)op->spacing[a];
        near[a] = op->size[a] > 1 ? (double)op->alpha / (h * h) : 0;
        sum += 2 * near[a];
    }
    return sum;
}

static double omega_of(const clv_fluid_operator *op, double gamma)
{
    const double pi = acos(-1);
    double near[3], centre = weights_of(op, near) - (double)op->gamma + gamma, mu = 0;
    for (int a = 0; a < 3; a++)
        mu += 2 * near[a] * (op->periodic ? 1 : cos(pi / (op->size[a] + 1)));
    mu = centre > 0 ? mu / centre : 0;
    return 2 / (1 + sqrt(fmax(1 - mu * mu, 0)));
}

double clv_sor_omega(const clv_fluid_operator *op)
{
    return omega_of(op, (double)op->gamma);
}

double clv_sor_omega_plain(const clv_fluid_operator *op)
{
    clv_fluid_operator closed = *op;
    closed.periodic = false;
    return omega_of(&closed, 0);
}

/* Colours in place, a few in one pass over slabs of planes and one over what lies between slabs: half the
 * CPU time of a colour a launch. A slab needs two planes for each colour. A volume of one plane is walked
 * along y. */
static int by_slabs(clvox_context *ctx, const clv_fluid_operator *op, const clv_kernel *kernel,
                    const clv_buffer *f, float omega, int sweeps, clv_buffer *v)
{
    int status = CLVOX_OK, units = clvox_context_limits(ctx)->compute_units;
    if (units < 1)
        units = 1;
    bool flat = op->size[2] == 1;
    const int n[3] = {op->size[0], op->size[flat ? 2 : 1], op->size[flat ? 1 : 2]};
    double weights[3], voxels = (double)n[0] * n[1] * n[2];
    float centre = (float)((double)omega / weights_of(op, weights));
    const float near[4] = {(float)weights[0], (float)weights[flat ? 2 : 1], (float)weights[flat ? 1 : 2]};
    bool ring = op->periodic && n[2] > 1;
    int most = n[2] / (2 * COLOURS) < units ? 2 : COLOURS;
    if (ring && n[2] / 2 < most)
        most = n[2] / 2;
    for (int i = 0; i < 2 * sweeps; i += most) {
        int colours = 2 * sweeps - i < most ? 2 * sweeps - i : most, slabs = n[2] / (2 * colours);
        slabs = slabs < 1 ? 1 : slabs < SLABS_A_UNIT * units ? slabs : SLABS_A_UNIT * units;
        for (int between = 0; between < (ring || slabs > 1 ? 2 : 1); between++)
            CLV_TRY(CLV_LAUNCH(ctx, kernel, ((const int[]){n[0], n[1], slabs}),
                               36 * (between ? voxels / n[2] * 2 * colours * slabs : voxels), CLV_BUF(v),
                               CLV_BUF(f), CLV_BUF(v), CLV_INT4(n[0], n[1], n[2], op->periodic),
                               CLV_FLOAT4V(near), CLV_FLOAT(centre), CLV_FLOAT(1 - omega),
                               CLV_INT((i & 1) + 2 * between + 4 * colours)));
    }
end:
    return status;
}

int clv_sor(clvox_context *ctx, const clv_fluid_operator *op, const clv_buffer *f, float omega, int sweeps,
            clv_buffer *v, clv_buffer *other)
{
    int status = CLVOX_OK;
    const clv_kernel *kernel;
    const int *n = op->size;
    double weights[3], voxels = (double)n[0] * n[1] * n[2];
    CLV_TRY(clv_sor_check(op));
    float centre = (float)((double)omega / weights_of(op, weights));
    const float near[4] = {(float)weights[0], (float)weights[1], (float)weights[2]};
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_sor, NULL, n, 0, &kernel));
    if (kernel->variant->item[1] == CLV_WHOLE)
        return by_slabs(ctx, op, kernel, f, omega, sweeps, v);
    int passes = kernel->variant->passes, together = kernel->variant->rim[0];
    clv_buffer *from = v, *to = other;
    for (int i = 0; i < (passes ? sweeps * passes : sweeps); i += passes ? 1 : together) {
        int turn = passes ? i % passes : sweeps - i < together ? sweeps - i : together;
        CLV_TRY(CLV_LAUNCH(ctx, kernel, n, 36 * voxels, CLV_BUF(from), CLV_BUF(f), CLV_BUF(to),
                           CLV_INT4(n[0], n[1], n[2], op->periodic), CLV_FLOAT4V(near), CLV_FLOAT(centre),
                           CLV_FLOAT(1 - omega), CLV_INT(turn)));
        clv_buffer *swap = from;
        from = to;
        to = swap;
    }
    if (from != v)
        CLV_TRY(clv_buffer_copy(ctx, from, 0, v, 0, (size_t)(12 * voxels)));
end:
    return status;
}

int clv_sor_solve(clvox_context *ctx, const clv_fluid_problem *p, const clv_sor_workspace *w,
                  clv_fluid_report *report)
{
    int status = CLVOX_OK, count;
    const clv_fluid_operator *op = &p->op;
    float sums[2] = {0, 0};
    *report = (clv_fluid_report){0, 0};
    CLV_TRY(clv_sor_check(op));
    float omega = (float)clv_sor_omega(op);
    CLV_TRY(clv_reduce(ctx, CLV_REDUCE_DOT,
                       &(clv_terms){p->f, p->f, NULL, 0, 3 * op->size[0] * op->size[1] * op->size[2]},
                       w->partial, w->state, 0));
    for (;;) {
        CLV_TRY(clv_fluid_operator_launch(ctx, op,
                                          &(clv_fluid_product){p->v, p->f, w->other, w->partial, &count}));
        CLV_TRY(clv_reduce(ctx, CLV_REDUCE_SUM, &(clv_terms){w->partial, NULL, NULL, 0, count}, w->other,
                           w->state, 1));
        CLV_TRY(clv_buffer_read(ctx, w->state, 0, sums, sizeof sums));
        report->left = sums[0] > 0 ? sqrt((double)sums[1] / (double)sums[0]) : sums[1] > 0 ? INFINITY : 0;
        int next = p->most - report->iterations < EVERY ? p->most - report->iterations : EVERY;
        if (!(report->left > p->tolerance) || next < 1)
            break;
        CLV_TRY(clv_sor(ctx, op, p->f, omega, next, p->v, w->other));
        report->iterations += next;
    }
end:
    return status;
}

const clv_entry *const clv_operation_papers_sor[] = {&clv_entry_sor, NULL};
