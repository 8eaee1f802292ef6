/* SPDX-License-Identifier: Apache-2.0 */
/* Tolerances are those of the operations' tests. */
#include "bench/rows/check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/papers/op/solvers/sor.h"
#include "ref/fluid/conjugate_gradient.h"
#include "ref/fluid/fourier.h"
#include "ref/fluid/fluid_operator.h"
#include "ref/fluid/solve.h"
#include "bench/papers/ref/sor.h"

/* A planar field to double precision. */
static void widen(const float *from, size_t count, double *to)
{
    for (size_t i = 0; i < count; i++)
        to[i] = (double)from[i];
}

static int check_product(bench_check *c, float beta)
{
    const clv_fluid_operator op = bench_operator(c->data->size, false, beta);
    widen(c->u, 3 * c->n, c->more);
    ref_fluid_operator(&op, c->more, c->want);
    return check_field(c, c->data->field[0], c->want, 1e-6 * check_largest(c->want, 3 * c->n), 0);
}

int check_operator(bench_check *c)
{
    return check_product(c, 0);
}

int check_operator_coupled(bench_check *c)
{
    return check_product(c, .02f);
}

int check_sor(bench_check *c)
{
    const clv_fluid_operator op = bench_operator(c->data->size, false, 0);
    widen(c->u, 3 * c->n, c->more);
    widen(c->v, 3 * c->n, c->want);
    ref_sor(&op, c->more, clv_sor_omega(&op), BENCH_SWEEPS, c->want);
    return check_field(c, c->data->field[0], c->want, 4e-6 * check_largest(c->want, 3 * c->n), 0);
}

int check_conjugate(bench_check *c)
{
    const clv_fluid_operator op = bench_operator(c->data->size, false, 0);
    widen(c->u, 3 * c->n, c->more);
    widen(c->v, 3 * c->n, c->want);
    ref_conjugate_gradient(&op, c->more, 1, c->want);
    return check_field(c, c->data->field[0], c->want, 2e-5 * check_largest(c->want, 3 * c->n), 0);
}

int check_fft(bench_check *c)
{
    int status = CLVOX_OK;
    const bench_data *d = c->data;
    widen(c->v, 3 * c->n, c->want);
    CLV_TRY(check_field(c, d->field[0], c->want, 3e-6, 0));
    /* The inverse transform overwrote its input. */
    CLV_TRY(clv_fft_forward(d->ctx, &d->fft, d->v, d->nine));
    ref_fft(c->want, d->size, c->more);
    CLV_TRY(check_buffer(c, d->nine, c->more, clv_fft_bytes(d->size) / sizeof(float),
                         1e-5 * sqrt((double)c->n), 0));
end:
    return status;
}

static int check_solved(bench_check *c, float beta)
{
    const clv_fluid_operator op = bench_operator(c->data->size, true, beta);
    widen(c->u, 3 * c->n, c->more);
    ref_fft_solve(&op, c->more, c->want);
    return check_field(c, c->data->field[0], c->want, 1e-5 * check_largest(c->want, 3 * c->n), 0);
}

static int check_cycles(bench_check *c, float beta)
{
    const clv_fluid_operator op = bench_operator(c->data->size, false, beta);
    widen(c->u, 3 * c->n, c->more);
    ref_solve(&op, NULL, c->more, c->want);
    return check_field(c, c->data->field[0], c->want, 1e-3 * check_largest(c->want, 3 * c->n), 0);
}

int check_multigrid(bench_check *c)
{
    return check_cycles(c, 0);
}

int check_multigrid_coupled(bench_check *c)
{
    return check_cycles(c, .02f);
}

int check_fft_solve(bench_check *c)
{
    return check_solved(c, 0);
}

int check_fft_solve_coupled(bench_check *c)
{
    return check_solved(c, .02f);
}
