/* SPDX-License-Identifier: Apache-2.0 */
#include "op/fluid/sor.h"

#include <math.h>

#include "op/image/reduce.h"

/* Five planes with two more voxels on each side. */
static const clv_variant block_variants[] = {
    {.name = "block", .function = "sor_block", .group = {1, 1, 1}, .devices = CLV_ON_ANY,
     .halo = {2, 2, 0}, .cell_bytes = 4, .planes = 5,
     .tiles = {{32, 8, 1, 32}, {32, 4, 1, 32}, {16, 4, 1, 16}}},
};
static const clv_variant colour_variants[] = {
    {.name = "item", .function = "sor_item", .devices = CLV_ON_GPU,
     .tiles = {{64, 4, 1, 1}, {32, 4, 1, 1}}},
    {.name = "row", .function = "sor_row", .item = {CLV_WHOLE}, .devices = CLV_ON_CPU,
     .tiles = {{1, 1, 1, 1}}},
};

const clv_entry clv_entry_sor_block = {"fluid/sor", "sor_block", block_variants, 1, NULL};
const clv_entry clv_entry_sor_colour = {"fluid/sor", "sor_colour", colour_variants, 2, NULL};

/* How often the residual is looked at. */
enum { EVERY = 4 };

int clv_sor_check(const clv_fluid_operator *op)
{
    int status = CLVOX_OK;
    CLV_TRY(clv_fluid_operator_check(op));
    if (op->beta > 0)
        return clv_fail(CLVOX_ERROR_ARGUMENT,
                        "over-relaxation: beta is %g; only operators with beta 0 have two colours, use "
                        "conjugate gradients or the Fourier transform",
                        (double)op->beta);
    for (int a = 0; a < 3 && op->periodic; a++)
        if (op->size[a] > 1 && op->size[a] % 2)
            return clv_fail(CLVOX_ERROR_ARGUMENT,
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

static int ceil_div(int n, int step)
{
    return (n + step - 1) / step;
}

typedef struct sweeps_of {
    clvox_context *ctx;
    const clv_fluid_operator *op;
    const clv_buffer *f;
    float near[4], gain, keep;
} sweeps_of;

static int launch(const sweeps_of *s, const clv_kernel *kernel, const int size[3], const clv_buffer *in,
                  clv_buffer *out, int colour)
{
    const int *n = s->op->size;
    double moved = 36.0 * n[0] * n[1] * n[2];
    return CLV_LAUNCH(s->ctx, kernel, size, moved, CLV_BUF(in), CLV_BUF(s->f), CLV_BUF(out),
                      CLV_INT4(n[0], n[1], n[2], s->op->periodic), CLV_FLOAT4V(s->near), CLV_FLOAT(s->gain),
                      CLV_FLOAT(s->keep), CLV_INT(colour));
}

static int block(const sweeps_of *s, const clv_buffer *in, clv_buffer *out)
{
    int status = CLVOX_OK;
    const clv_kernel *kernel;
    const int *n = s->op->size;
    CLV_TRY(clv_kernel_get(s->ctx, &clv_entry_sor_block, NULL, n, 0, &kernel));
    clv_tile t = kernel->tile;
    const int groups[3] = {ceil_div(n[0], t.x), ceil_div(n[1], t.y), 3 * ceil_div(n[2], t.march)};
    CLV_TRY(launch(s, kernel, groups, in, out, 0));
end:
    return status;
}

static int colour(const sweeps_of *s, const clv_buffer *in, clv_buffer *out, int which)
{
    int status = CLVOX_OK;
    const clv_kernel *kernel;
    CLV_TRY(clv_kernel_get(s->ctx, &clv_entry_sor_colour, NULL, s->op->size, 0, &kernel));
    CLV_TRY(launch(s, kernel, s->op->size, in, out, which));
end:
    return status;
}

int clv_sor(clvox_context *ctx, const clv_fluid_operator *op, clv_sor_form form, const clv_buffer *f, float omega,
            int sweeps, clv_buffer *v, clv_buffer *other)
{
    int status = CLVOX_OK;
    double near[3];
    sweeps_of s = {.ctx = ctx, .op = op, .f = f};
    CLV_TRY(clv_sor_check(op));
    double centre = weights_of(op, near);
    for (int a = 0; a < 3; a++)
        s.near[a] = (float)near[a];
    s.gain = (float)((double)omega / centre);
    s.keep = 1 - omega;
    if (form == CLV_SOR_AUTO)
        form = CLV_SOR_COLOURS; /* on an H200 5% faster than blocks */
    clv_buffer *from = v, *to = other;
    for (int i = 0; i < sweeps; i++)
        if (form == CLV_SOR_BLOCK) {
            CLV_TRY(block(&s, from, to));
            clv_buffer *swap = from;
            from = to;
            to = swap;
        } else {
            CLV_TRY(colour(&s, v, other, 0));
            CLV_TRY(colour(&s, other, v, 1));
        }
    if (from != v)
        CLV_TRY(clv_buffer_copy(ctx, from, 0, v, 0,
                                12 * (size_t)op->size[0] * (size_t)op->size[1] * (size_t)op->size[2]));
end:
    return status;
}

int clv_sor_solve(clvox_context *ctx, const clv_fluid_operator *op, const clv_buffer *f, double tolerance, int most,
                  clv_buffer *v, clv_buffer *other, clv_buffer *partial, clv_buffer *state, int *sweeps,
                  double *left)
{
    int status = CLVOX_OK, count, voxels = op->size[0] * op->size[1] * op->size[2];
    float sums[2] = {0, 0};
    *sweeps = 0;
    CLV_TRY(clv_sor_check(op));
    float omega = (float)clv_sor_omega(op);
    CLV_TRY(clv_reduce(ctx, CLV_REDUCE_DOT, f, f, NULL, 0, 3 * voxels, partial, state, 0));
    for (;;) {
        CLV_TRY(clv_fluid_operator_residual(ctx, op, v, f, other, partial, &count));
        CLV_TRY(clv_reduce(ctx, CLV_REDUCE_SUM, partial, NULL, NULL, 0, count, other, state, 1));
        CLV_TRY(clv_buffer_read(ctx, state, 0, sums, sizeof sums));
        *left = sums[0] > 0 ? sqrt((double)sums[1] / (double)sums[0]) : sums[1] > 0 ? INFINITY : 0;
        int next = most - *sweeps < EVERY ? most - *sweeps : EVERY;
        if (!(*left > tolerance) || next < 1)
            break;
        CLV_TRY(clv_sor(ctx, op, CLV_SOR_AUTO, f, omega, next, v, other));
        *sweeps += next;
    }
end:
    return status;
}

const clv_entry *const clv_operation_fluid_sor[] = {
    &clv_entry_sor_block, &clv_entry_sor_colour, NULL};
