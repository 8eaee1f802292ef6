/* SPDX-License-Identifier: Apache-2.0 */
/* Moazeni et al. 2009: the paper's descent beside a solver that needs few
 * iterations, by the energy that both lower. */
#include <math.h>

#include "bench/bench_table.h"
#include "op/tensor/primal_dual.h"
#include "bench/papers/lines.h"
#include "bench/papers/moazeni.h"

enum { CHUNK = 25, MOST_CHUNKS = 80, MOST_ITERATIONS = 200, SAMPLES = 5 };
/* Converged: so many steps lower the energy by less than this share. */
static const double STILL = 1e-4;
/* The longest of .0002, .0005, .001, .002 and .004 that ends no higher than the first, with which the energy
 * falls every time; it takes a fifth of the steps. */
static const float DT = 2e-3f;
/* The minimum is known to this share. */
static const double KNOWN = 1e-3;

static const char *const couplings[] = {"paper", "local"};

typedef struct progress {
    int steps;
    double seconds, energy;
    record_samples samples;
} progress;

/* Steps and sums of both solvers, as the operations' own rows are. */
static int verify(clvox_context *ctx, bool paper)
{
    static const char *const rows[2][3] = {{"tensor tv local", "tensor primal-dual", NULL},
                                           {"tensor tv paper", "tensor tv sums", "tensor primal-dual, paper"}};
    int status = CLVOX_OK;
    for (int i = 0; i < 3 && rows[paper][i] && status >= 0; i++)
        status = paper_verify_row(ctx, bench_rows_tensor, rows[paper][i]);
    return status;
}

/* A descent on what are no numbers would neither end nor fail. */
static int energy_of(clv_tensor_pd *pd, bench_tensors *p, clv_buffer *field, double *out)
{
    clv_tensor_pd_energies e;
    clv_buffer *own = pd->tensor;
    pd->tensor = field;
    int status = clv_tensor_pd_energy(p->ctx, pd, &e);
    pd->tensor = own;
    *out = status < 0 ? INFINITY : e.energy;
    if (status >= 0 && !isfinite(e.energy))
        status = bench_wrong(p->ctx, field == p->field ? "descent" : "primal-dual", "an energy of %g", e.energy);
    return status;
}

static int descend(bench_tensors *p, clv_tensor_pd *pd, progress *made)
{
    int status = CLVOX_OK;
    double before = INFINITY;
    *made = (progress){.energy = INFINITY, .samples = made->samples};
    CLV_TRY(clv_buffer_copy(p->ctx, p->data, 0, p->field, 0, 24 * p->n));
    for (int k = 0; k < MOST_CHUNKS && !(before - made->energy < STILL * before); k++) {
        CLV_TRY(clv_finish(p->ctx));
        double start = clv_seconds();
        CLV_TRY(clv_tensor_tv_descend(p->ctx, &p->args, CHUNK, p->field, p->other));
        CLV_TRY(clv_finish(p->ctx));
        made->seconds += clv_seconds() - start;
        made->steps += CHUNK;
        before = made->energy;
        CLV_TRY(energy_of(pd, p, p->field, &made->energy));
    }
    record_add_sample(&made->samples, made->seconds);
end:
    return status;
}

/* Until the energy is no more than that of the descent. */
static int primal_dual(bench_tensors *p, clv_tensor_pd *pd, double goal, progress *made)
{
    int status = CLVOX_OK;
    *made = (progress){.energy = INFINITY, .samples = made->samples};
    CLV_TRY(clv_buffer_copy(p->ctx, p->data, 0, pd->tensor, 0, 24 * p->n));
    CLV_TRY(clv_tensor_pd_start(p->ctx, pd, false));
    do {
        CLV_TRY(clv_finish(p->ctx));
        double start = clv_seconds();
        CLV_TRY(clv_tensor_pd_step(p->ctx, pd));
        CLV_TRY(clv_finish(p->ctx));
        made->seconds += clv_seconds() - start;
        made->steps++;
        CLV_TRY(energy_of(pd, p, pd->tensor, &made->energy));
    } while (made->steps < MOST_ITERATIONS && !(made->energy <= goal));
    record_add_sample(&made->samples, made->seconds);
end:
    return status;
}

/* A bound from below on the energy. */
static int bound(bench_tensors *p, clv_tensor_pd *pd, double *least)
{
    int status = CLVOX_OK;
    clv_tensor_pd_energies e;
    int k = 0;
    do {
        CLV_TRY(clv_tensor_pd_step(p->ctx, pd));
        CLV_TRY(clv_tensor_pd_energy(p->ctx, pd, &e));
    } while (++k < MOST_ITERATIONS && !(e.energy - e.dual <= KNOWN * e.energy));
    *least = e.dual;
end:
    return status;
}

static void print(bench_run *run, const bench_tensors *p, const char *solver, const progress *made,
                  const progress *descent, double least)
{
    char name[64], remark[64];
    const char *model = couplings[p->args.coupling != CLV_TENSOR_PAPER];
    snprintf(name, sizeof name, "tensor tv %s, %s", model, solver);
    double above = 100 * (made->energy / least - 1);
    snprintf(remark, sizeof remark, "%d iterations to %.2g%% above the minimum at most", made->steps, above);
    record_row row = {.group = "moazeni2009", .name = name, .seconds = &made->samples, .remark = remark,
                      .verified = true,
                      .size = {p->args.data.size[0], p->args.data.size[1], p->args.data.size[2]}};
    record_add(run->log, &row);
    fprintf(run->out, "%-8s %-12s %10d %12.2f %14.7g %8.2f%% %10.3f%s\n", model, solver, made->steps,
            1e3 * made->samples.median, made->energy, above, made->samples.median / descent->samples.median,
            made->energy <= descent->energy ? "" : "  not reached");
    fflush(run->out);
}

/* Several times while there is time: the steps are the same each time. */
static int compare(bench_run *run, bench_tensors *p, clv_tensor_pd *pd)
{
    int status = CLVOX_OK;
    progress slow = {0}, fast = {0};
    CLV_TRY(verify(run->ctx, pd->paper));
    /* Builds the kernels. */
    CLV_TRY(clv_tensor_tv_descend(run->ctx, &p->args, 2, p->field, p->other));
    CLV_TRY(primal_dual(p, pd, INFINITY, &fast));
    double end = clv_seconds() + run->seconds;
    for (int i = 0; i < SAMPLES && (i == 0 || clv_seconds() < end); i++)
        CLV_TRY(descend(p, pd, &slow));
    fast = (progress){0};
    end = clv_seconds() + run->seconds;
    for (int i = 0; i < SAMPLES && (i == 0 || clv_seconds() < end); i++)
        CLV_TRY(primal_dual(p, pd, slow.energy, &fast));
    double least;
    CLV_TRY(bound(p, pd, &least));
    print(run, p, "descent", &slow, &slow, least);
    print(run, p, "primal-dual", &fast, &slow, least);
end:
    return status;
}

int bench_moazeni2009_solvers(bench_run *run)
{
    int status = CLVOX_OK;
    bench_tensors p = {0};
    clv_tensor_pd pd = {.lambda = 0};
    clv_buffer *tensor = NULL, *ahead = NULL, *dual = NULL, *partial = NULL, *state = NULL;
    CLV_TRY(bench_tensors_create(run->ctx, run->size, &p));
    const clv_request list[] = {{&tensor, 24 * p.n, "tensor"},
                                {&ahead, 24 * p.n, "extrapolated tensor"},
                                {&dual, clv_tensor_pd_dual_bytes(run->size), "dual tensor field"},
                                {&partial, CLV_TENSOR_PD_PARTIALS * sizeof(float), "partial sums"},
                                {&state, CLV_TENSOR_PD_STATE * sizeof(float), "sums"}};
    enum { REQUESTS = sizeof list / sizeof *list };
    CLV_TRY(clv_pool_take(run->ctx, list, REQUESTS));
    p.args.dt = DT;
    pd.tensor = tensor;
    pd.ahead = ahead;
    pd.dual = dual;
    pd.partial = partial;
    pd.state = state;
    pd.links = p.links;
    pd.data = p.args.data;
    pd.lambda = p.args.lambda;
    pd.floor = p.args.floor;
    fprintf(run->out,
            "\nThe same energy by two solvers: the paper's descent (equation 9, dt = %g) until %d steps\n"
            "lower it by less than %g, and the primal-dual algorithm until it is there. The energy is\n"
            "that without smoothing, which the descent needs (eps = %g) and ends above for; 'above': the\n"
            "minimum, which is known to %g.\n\n"
            "%-8s %-12s %10s %12s %14s %9s %10s\n",
            (double)DT, CHUNK, STILL, (double)p.args.eps, KNOWN, "coupling", "solver", "iterations", "ms",
            "energy", "above", "of descent");
    for (int c = 0; c < 2; c++) {
        p.args.coupling = c ? CLV_TENSOR_LOCAL : CLV_TENSOR_PAPER;
        pd.paper = !c;
        status = compare(run, &p, &pd);
        if (!paper_passed_over(run, couplings[c], &status))
            CLV_TRY(status);
    }
end:
    clv_buffer_destroy(&tensor);
    clv_buffer_destroy(&ahead);
    clv_buffer_destroy(&dual);
    clv_buffer_destroy(&partial);
    clv_buffer_destroy(&state);
    bench_tensors_release(&p);
    return status;
}
