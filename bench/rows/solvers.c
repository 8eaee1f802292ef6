/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of the fluid's operator and of what its solvers consist of. */
#include "bench/rows/check.h"
#include "bench/papers/op/solvers/conjugate_gradient.h"
#include "op/image/reduce.h"
#include "bench/papers/op/solvers/sor.h"

clv_fluid_operator bench_operator(const int size[3], bool periodic, float beta)
{
    return (clv_fluid_operator){.size = {size[0], size[1], size[2]}, .spacing = {1, 1, 1}, .alpha = .01f,
                        .beta = beta, .gamma = .001f, .periodic = periodic};
}

static int apply(bench_data *d, float beta)
{
    const clv_fluid_operator op = bench_operator(d->size, false, beta);
    return clv_fluid_operator_apply(d->ctx, &op, d->u, d->field[0]);
}

static int row_operator(bench_data *d)
{
    return apply(d, 0);
}

static int row_operator_coupled(bench_data *d)
{
    return apply(d, .02f);
}

int bench_sor_blocks(const clvox_context *ctx)
{
    if (clvox_context_limits(ctx)->type == CLVOX_DEVICE_CPU)
        return clvox_fail(CLVOX_ERROR_DEVICE, "blocks in local memory are for GPUs, a CPU takes a hundred "
                                              "times as long as by rows");
    return CLVOX_OK;
}

static int begin_sor(bench_data *d)
{
    return clv_buffer_copy(d->ctx, d->v, 0, d->field[0], 0, 12 * (size_t)d->n);
}

static int begin_sor_blocks(bench_data *d)
{
    int status = bench_sor_blocks(d->ctx);
    return status < 0 ? status : begin_sor(d);
}

/* So many sweeps that the result lies where the first guess did, however many a launch makes. */
static int row_sor(bench_data *d)
{
    const clv_fluid_operator op = bench_operator(d->size, false, 0);
    return clv_sor(d->ctx, &op, d->u, (float)clv_sor_omega(&op), BENCH_SWEEPS, d->field[0], d->field[1]);
}

static clv_cg_workspace workspace_of(const bench_data *d)
{
    return (clv_cg_workspace){.residual = d->field[1], .direction = d->solver[0], .product = d->solver[1],
                                .partial = d->partial, .state = d->state};
}

static clv_fluid_problem problem_of(const bench_data *d)
{
    return (clv_fluid_problem){.op = bench_operator(d->size, false, 0), .f = d->u, .v = d->field[0],
                               .tolerance = 1e-3};
}

static int begin_conjugate(bench_data *d)
{
    const clv_fluid_problem problem = problem_of(d);
    const clv_cg_workspace workspace = workspace_of(d);
    int status = begin_sor(d);
    return status < 0 ? status : clv_cg_begin(d->ctx, &problem, &workspace);
}

static int row_conjugate(bench_data *d)
{
    const clv_fluid_problem problem = problem_of(d);
    const clv_cg_workspace workspace = workspace_of(d);
    return clv_cg_step(d->ctx, &problem, &workspace);
}

static int row_fft(bench_data *d)
{
    int status = clv_fft_forward(d->ctx, &d->fft, d->v, d->nine);
    return status < 0 ? status : clv_fft_back(d->ctx, &d->fft, d->nine, d->field[0]);
}

/* Some drivers finish what libraries build when it is first used. */
static int begin_fft(bench_data *d)
{
    int status = CLVOX_OK;
    clv_fft_destroy(&d->fft);
    CLV_TRY(clv_fft_create(d->ctx, d->size, &d->fft));
    CLV_TRY(row_fft(d));
    CLV_TRY(clv_finish(d->ctx));
end:
    return status;
}

static int row_fft_solve(bench_data *d)
{
    const clv_fluid_operator op = bench_operator(d->size, true, 0);
    return clv_fft_solve(d->ctx, &d->fft, &op, d->u, d->field[0], d->nine);
}

static int row_fft_solve_coupled(bench_data *d)
{
    const clv_fluid_operator op = bench_operator(d->size, true, .02f);
    return clv_fft_solve(d->ctx, &d->fft, &op, d->u, d->field[0], d->nine);
}

/* Multigrid from 0, a fixed number of cycles. */
enum { CYCLES = 8 };

static int begin_multigrid(bench_data *d, float beta)
{
    const clv_fluid_operator op = bench_operator(d->size, false, beta);
    const clv_solvers_options how = {CLV_SOLVERS_MULTIGRID, 0, CYCLES};
    clv_solvers_destroy(&d->solve);
    return clv_solvers_create(d->ctx, &op, &how, &d->solve);
}

static int begin_multigrid_plain(bench_data *d)
{
    return begin_multigrid(d, 0);
}

static int begin_multigrid_coupled(bench_data *d)
{
    return begin_multigrid(d, .02f);
}

static int row_multigrid(bench_data *d)
{
    return clv_solvers_solve(d->ctx, &d->solve, d->u, d->field[0], false, NULL);
}

/* An iteration of conjugate gradients: product 24, residual 36, solution and direction 60. A
 * transform: an axis 24 there and 24 back; the solver does both along z at once where components
 * do not meet. A cycle: steps of 84, a residual of 36 and what goes to and comes from the coarser grid, which costs
 * a seventh of that again. A multiply-add of the operator for each of its numbers that are not 0. */
const bench_row bench_rows_solvers[] = {
    {"fluid operator", "fluid_operator", 24, 42, row_operator, check_operator, NULL, NULL},
    {"fluid operator, coupled", NULL, 24, 96, row_operator_coupled, check_operator_coupled, NULL, NULL},
    {"sor, four sweeps", "sor", 36 * BENCH_SWEEPS, 0, row_sor, check_sor, begin_sor, NULL},
    {"sor, four sweeps, block of one", "sor/block1", 36 * BENCH_SWEEPS, 0, row_sor, check_sor,
     begin_sor_blocks, NULL},
    {"conjugate gradients, iteration", "cg_descend", 120, 0, row_conjugate, check_conjugate,
     begin_conjugate, NULL},
    {"multigrid, eight cycles", "mg_restrict", 8 * 8. / 7 * (4 * 84 + 36 + 39), 0, row_multigrid, check_multigrid,
     begin_multigrid_plain, NULL},
    {"multigrid, eight cycles, coupled", "mg_prolong", 8 * 8. / 7 * (8 * 84 + 36 + 39), 0, row_multigrid,
     check_multigrid_coupled, begin_multigrid_coupled, NULL},
    {"fft there and back", "fft_columns", 144, 0, row_fft, check_fft, begin_fft, NULL},
    {"fft solver", "fft_rows", 120, 0, row_fft_solve, check_fft_solve, begin_fft, NULL},
    {"fft solver, coupled", "fft_rows_back", 168, 0, row_fft_solve_coupled, check_fft_solve_coupled,
     begin_fft, NULL},
    {"fft there and back, clvox", "fourier/clvox", 144, 0, row_fft, check_fft, begin_fft, NULL},
    {"fft there and back, clfft", "fourier/clfft", 144, 0, row_fft, check_fft, begin_fft, NULL},
    {"fft there and back, vkfft", "fourier/vkfft", 144, 0, row_fft, check_fft, begin_fft, NULL},
    {"fft solver, clvox", "fourier/clvox", 120, 0, row_fft_solve, check_fft_solve, begin_fft, NULL},
    {"fft solver, clfft", "fourier/clfft", 120, 0, row_fft_solve, check_fft_solve, begin_fft, NULL},
    {"fft solver, vkfft", "fourier/vkfft", 120, 0, row_fft_solve, check_fft_solve, begin_fft, NULL},
    {NULL, NULL, 0, 0, NULL, NULL, NULL, NULL},
};
