/* SPDX-License-Identifier: Apache-2.0 */
/* Ha 2011, sections 2.3.4 to 2.3.6: the solvers of the fluid's equation on one
 * right-hand side, and over steps in which it changes slowly. */
#include <math.h>
#include <stdlib.h>

#include "bench/bench_table.h"
#include "bench/rows/check.h"
#include "bench/papers/op/solvers/conjugate_gradient.h"
#include "op/image/pointwise.h"
#include "op/image/reduce.h"
#include "bench/papers/op/solvers/sor.h"
#include "bench/papers/lines.h"
#include "ref/fluid/fluid_operator.h"

#define DEVICE "GTX 260 or Tesla S1070"

/* The thesis ends at 1e-4 of the square. Steps: by how much f turns towards
 * another field in each, and how many there are. */
static const double tolerances[] = {1e-2, 1e-4};
static const double ANGLE = .05;
/* Residual left by rounding, as a share of f: of exact solvers, and beyond a tolerance. */
static const double EXACT = 1e-4, ROUNDING = 5e-6;
enum { TOLERANCES = 2, STEPS = 10, MOST = 1000, SMALL_SIZE = 3 };

typedef enum method {
    FFT,
    SOR,
    SOR_PLAIN, /* with the thesis's omega */
    CG,
    METHODS
} method;

static const char *const names[METHODS] = {"FFT", "SOR", "SOR, omega without gamma",
                                           "conjugate gradients"};

typedef struct problem {
    clvox_context *ctx;
    bench_data *data;
    clv_fluid_operator op;
    clv_buffer *force, *waves; /* f of step k: cos(k ANGLE) force + sin(k ANGLE) waves */
    clv_buffer *f, *v, *guess;
    bool warm; /* from guess, else from 0 */
    double tolerance;
    int iterations;
    double left;
} problem;

static clv_cg_workspace room_of(const problem *p)
{
    const bench_data *d = p->data;
    return (clv_cg_workspace){.residual = d->field[1], .direction = d->solver[0], .product = d->solver[1],
                                .partial = d->partial, .state = d->state};
}

static size_t field_bytes(const problem *p)
{
    return 12 * (size_t)p->data->n;
}

/* f of a step. */
static int set_step(problem *p, int step)
{
    const float k[4] = {(float)cos(step * ANGLE), (float)sin(step * ANGLE), 0, 0};
    return clv_pointwise(p->ctx, CLV_POINTWISE_LINEAR, CLV_VECTORS(p->f, p->data->size), p->force, p->waves,
                         NULL, k);
}

/* The force of a registration of two of the bench's images, and waves as long as it. */
static int problem_create(clvox_context *ctx, const int size[3], bool rough, float beta, bench_data *data,
                          problem *p)
{
    int status = CLVOX_OK;
    float sums[2];
    CLV_TRY(bench_data_create(ctx, size, rough, data));
    *p = (problem){.ctx = ctx, .data = data, .op = bench_operator(size, true, beta)};
    clv_buffer **fields[] = {&p->force, &p->waves, &p->f, &p->v, &p->guess};
    for (int i = 0; i < 5; i++)
        CLV_TRY(clv_buffer_create(ctx, field_bytes(p), "bench data", fields[i]));
    CLV_TRY(bench_force(data));
    CLV_TRY(clv_buffer_copy(ctx, data->field[0], 0, p->force, 0, field_bytes(p)));
    CLV_TRY(clv_reduce(ctx, CLV_REDUCE_DOT, &(clv_terms){p->force, p->force, NULL, 0, 3 * data->n},
                       data->partial, data->state, 0));
    CLV_TRY(clv_reduce(ctx, CLV_REDUCE_DOT, &(clv_terms){data->v, data->v, NULL, 0, 3 * data->n},
                       data->partial, data->state, 1));
    CLV_TRY(clv_buffer_read(ctx, data->state, 0, sums, sizeof sums));
    const float k[4] = {sqrtf(sums[0] / sums[1]), 0, 0, 0};
    CLV_TRY(
        clv_pointwise(ctx, CLV_POINTWISE_LINEAR, CLV_VECTORS(p->waves, data->size), data->v, NULL, NULL, k));
    CLV_TRY(set_step(p, 0));
end:
    return status;
}

static void problem_release(problem *p)
{
    clv_buffer **fields[] = {&p->force, &p->waves, &p->f, &p->v, &p->guess};
    for (int i = 0; i < 5; i++)
        clv_buffer_destroy(fields[i]);
    if (p->data)
        bench_data_release(p->data);
}

/* Finds the residual of solvers that do not report it. */
static int find_left(problem *p)
{
    int status = CLVOX_OK, count;
    bench_data *d = p->data;
    float sums[2];
    CLV_TRY(clv_reduce(p->ctx, CLV_REDUCE_DOT, &(clv_terms){p->f, p->f, NULL, 0, 3 * d->n}, d->partial,
                       d->state, 0));
    CLV_TRY(clv_fluid_operator_launch(p->ctx, &p->op,
                                      &(clv_fluid_product){p->v, p->f, d->field[1], d->partial, &count}));
    CLV_TRY(clv_reduce(p->ctx, CLV_REDUCE_SUM, &(clv_terms){d->partial, NULL, NULL, 0, count}, d->field[1],
                       d->state, 1));
    CLV_TRY(clv_buffer_read(p->ctx, d->state, 0, sums, sizeof sums));
    p->left = sqrt((double)sums[1] / (double)sums[0]);
end:
    return status;
}

/* With another omega than the best, as many sweeps as it takes. */
static int sor_plain(problem *p)
{
    int status = CLVOX_OK;
    enum { EVERY = 4 };
    float omega = (float)clv_sor_omega_plain(&p->op);
    for (p->iterations = 0; p->iterations < MOST; p->iterations += EVERY) {
        CLV_TRY(find_left(p));
        if (!(p->left > p->tolerance))
            break;
        CLV_TRY(clv_sor(p->ctx, &p->op, p->f, omega, EVERY, p->v, p->data->field[1]));
    }
end:
    return status;
}

static int solve(problem *p, method how)
{
    int status = CLVOX_OK;
    bench_data *d = p->data;
    const clv_cg_workspace room = room_of(p);
    const clv_sor_workspace other = {.other = d->field[1], .partial = d->partial, .state = d->state};
    const clv_fluid_problem task = {p->op, p->f, p->v, p->tolerance, MOST};
    clv_fluid_report report = {0, 0};
    p->iterations = 0;
    p->left = 0;
    if (how == FFT) {
        if (!d->fft.provider)
            CLV_TRY(clv_fft_create(p->ctx, p->op.size, &d->fft));
        return clv_fft_solve(p->ctx, &d->fft, &p->op, p->f, p->v, d->nine);
    }
    if (p->warm)
        CLV_TRY(clv_buffer_copy(p->ctx, p->guess, 0, p->v, 0, field_bytes(p)));
    else
        CLV_TRY(clv_buffer_fill(p->ctx, p->v, 0, 0, field_bytes(p)));
    if (how == SOR_PLAIN)
        return sor_plain(p);
    if (how == CG)
        CLV_TRY(clv_cg_solve(p->ctx, &task, &room, &report));
    else
        CLV_TRY(clv_sor_solve(p->ctx, &task, &other, &report));
    p->iterations = report.iterations;
    p->left = report.left;
end:
    return status;
}

/* Most of f that may be left by a solver that says it is done. */
static double most_left(const problem *p, method how)
{
    return how == FFT ? EXACT : 1.05 * p->tolerance + ROUNDING;
}

/* p->left as solve found it becomes what is truly left: too much of it is an error unless the solver
 * said so. */
static int check_left(problem *p, method how, const char *name)
{
    bool done = how == FFT || !(p->left > p->tolerance);
    int status = find_left(p);
    if (status >= 0 && done && !(p->left <= most_left(p, how)))
        status = bench_wrong(p->ctx, name, "%.2g of the right-hand side is left", p->left);
    return status;
}

/* Planar, in double precision. */
static int download(const problem *p, const clv_buffer *field, float *room, double *out)
{
    size_t n = (size_t)p->data->n;
    bool packed = clv_fields_packed(p->ctx);
    int status = clv_buffer_read(p->ctx, field, 0, room, field_bytes(p));
    for (size_t i = 0; status >= 0 && i < 3 * n; i++)
        out[packed ? i % 3 * n + i / 3 : i] = (double)room[i];
    return status;
}

/* One solver at each tolerance, its residual found by the reference. f, v: room for a field. */
static int verify_method(problem *p, method how, double *f, double *v, float *room)
{
    int status = CLVOX_OK;
    CLV_TRY(download(p, p->f, room, f));
    for (int t = 0; t < TOLERANCES; t++) {
        p->tolerance = tolerances[t];
        CLV_TRY(solve(p, how));
        CLV_TRY(download(p, p->v, room, v));
        double left = ref_fluid_operator_residual(&p->op, v, f);
        if (!(left <= 1.05 * (how == FFT ? 0 : p->tolerance) + ROUNDING)) {
            status = bench_wrong(p->ctx, names[how], "%g of the right-hand side is left, not %g", left,
                                 p->tolerance);
            goto end;
        }
    }
end:
    return status;
}

/* Every solver on a small volume, and the FFT's on those of its own rows, whose sides have other factors.
 * What does not run here is skipped: its line in the table will say so. */
static int verify(clvox_context *ctx, float beta)
{
    static const int small[SMALL_SIZE] = {22, 14, 10};
    int status = CLVOX_OK;
    bench_data data = {0};
    problem p = {0};
    size_t n = 3 * (size_t)small[0] * (size_t)small[1] * (size_t)small[2];
    double *f = malloc(2 * n * sizeof *f), *v = f + n;
    float *room = malloc(n * sizeof *room);
    if (!f || !room) {
        status = clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory for the bench's references");
        goto end;
    }
    status = paper_verify_row(ctx, bench_rows_solvers, beta > 0 ? "fft solver, coupled" : "fft solver");
    if (status != CLVOX_ERROR_DEVICE)
        CLV_TRY(status);
    CLV_TRY(problem_create(ctx, small, true, beta, &data, &p));
    for (int how = 0; how < METHODS; how++) {
        if (beta > 0 && (how == SOR || how == SOR_PLAIN))
            continue;
        status = verify_method(&p, (method)how, f, v, room);
        if (status != CLVOX_ERROR_DEVICE)
            CLV_TRY(status);
    }
    status = CLVOX_OK;
end:
    free(f);
    free(room);
    problem_release(&p);
    return status;
}

typedef struct call {
    problem *p;
    method how;
} call;

static int call_solve(void *what)
{
    const call *c = what;
    return solve(c->p, c->how);
}

/* Bytes of a solution that must move; what is added up on the way, too. */
static double bytes_of(const problem *p, method how)
{
    double n = p->data->n;
    switch (how) {
    case FFT: return (p->op.beta > 0 ? 168 : 120) * n;
    case CG: return (36 + 120. * p->iterations) * n;
    default: return (36 + 36. * p->iterations) * n;
    }
}

/* A line of the table. paper: what the thesis says of it beside `against`, or NULL. */
typedef struct line {
    method how;
    const char *name;
    const record_paper *paper;
    const record_samples *fft, *against; /* without samples: not run here */
} line;

static int report(bench_run *run, problem *p, const line *l, record_samples *seconds)
{
    int status = CLVOX_OK;
    bench_time time;
    char tile[32], remark[96], factor[16] = "-", said[160] = "";
    call c = {p, l->how};
    record_row row = {.group = "ha2011", .name = l->name, .verified = true, .remark = remark,
                      .size = {p->op.size[0], p->op.size[1], p->op.size[2]}};
    record_paper found;
    CLV_TRY(bench_measure(run, call_solve, &c, NULL, &time));
    CLV_TRY(check_left(p, l->how, l->name));
    row.bytes = bytes_of(p, l->how);
    bench_complete(run, &time, &row, tile);
    *seconds = time.seconds;
    if (l->fft->count > 0)
        snprintf(factor, sizeof factor, "%.2f", l->fft->median / seconds->median);
    if (l->paper && l->against->count > 0) {
        found = *l->paper;
        found.here = l->against->median / seconds->median;
        found.holds = bench_slower(l->against, seconds);
        row.paper = &found;
        snprintf(said, sizeof said, "  %.2f %s: that %s %s", found.here, found.unit, found.conclusion,
                 found.holds ? "holds" : "does not hold");
    }
    snprintf(remark, sizeof remark, "%d iterations, %.2g of the right-hand side left", p->iterations, p->left);
    fprintf(run->out, "%-58s %6d %9.1e %10.3f %6.0f%% %8s%s\n", l->name, p->iterations, p->left,
            1e3 * seconds->median, 100 * row.share, factor, said);
    fflush(run->out);
    record_add(run->log, &row);
end:
    return status;
}

/* Solvers from 0 at a tolerance, or from the step before. */
static int table_part(bench_run *run, problem *p, const record_samples *fft)
{
    static const record_paper slowest = {.unit = "times as fast as the FFT", .device = DEVICE,
                                         .conclusion = "the FFT is the slowest"};
    static const record_paper sooner = {.unit = "times as fast as SOR", .device = DEVICE,
                                        .conclusion = "conjugate gradients are faster than SOR in general"};
    int status = CLVOX_OK;
    record_samples seconds, sor = {0};
    bool coupled = p->op.beta > 0;
    for (int how = SOR; how < METHODS; how++) {
        char name[96];
        line l = {(method)how, name, NULL, fft, fft};
        if ((coupled && how != CG) || (how == SOR_PLAIN && p->warm))
            continue;
        snprintf(name, sizeof name, "solver, %s%s, %g%s", names[how], coupled ? ", coupled" : "",
                 p->tolerance, p->warm ? ", from the step before" : "");
        if (p->warm && !coupled)
            l.paper = &slowest;
        else if (how == CG && !coupled) {
            l.paper = &sooner;
            l.against = &sor;
        }
        status = report(run, p, &l, &seconds);
        if (paper_passed_over(run, name, &status))
            continue;
        CLV_TRY(status);
        if (how == SOR)
            sor = seconds;
    }
end:
    return status;
}

/* From 0 and from the step before, at each tolerance. */
static int table(bench_run *run, problem *p)
{
    int status = CLVOX_OK;
    record_samples fft = {0};
    const line exact = {FFT, p->op.beta > 0 ? "solver, FFT, coupled" : "solver, FFT", NULL, &fft, &fft};
    fprintf(run->out, "%-58s %6s %9s %10s %7s %8s\n", "solver", "rounds", "left", "ms", "of copy", "of FFT");
    status = report(run, p, &exact, &fft);
    if (!paper_passed_over(run, exact.name, &status)) {
        CLV_TRY(status);
        CLV_TRY(set_step(p, 1));
        CLV_TRY(solve(p, FFT));
        CLV_TRY(clv_buffer_copy(run->ctx, p->v, 0, p->guess, 0, field_bytes(p)));
        CLV_TRY(set_step(p, 0));
    }
    for (int t = 0; t < TOLERANCES; t++)
        for (int warm = 0; warm < (fft.count > 0 ? 2 : 1); warm++) {
            p->tolerance = tolerances[t];
            p->warm = warm;
            CLV_TRY(table_part(run, p, &fft));
        }
end:
    p->warm = false;
    return status;
}

/* ---- steps: the FFT in each, or in the first alone ---- */

static int walk(problem *p, method later, int *rounds)
{
    int status = CLVOX_OK;
    *rounds = 0;
    for (int step = 0; step < STEPS; step++) {
        CLV_TRY(set_step(p, step));
        p->warm = step > 0;
        if (step > 0)
            CLV_TRY(clv_buffer_copy(p->ctx, p->v, 0, p->guess, 0, field_bytes(p)));
        CLV_TRY(solve(p, step ? later : FFT));
        *rounds += p->iterations;
    }
end:
    p->warm = false;
    return status;
}

typedef struct walked {
    problem *p;
    method later;
    int rounds;
} walked;

static int call_walk(void *what)
{
    walked *w = what;
    return walk(w->p, w->later, &w->rounds);
}

/* How far v is from `exact`, over its length; further than both residuals explain is an error. No
 * eigenvalue of the operator is below gamma. */
static int find_apart(problem *p, const clv_buffer *exact, bool done, const char *name, double *apart)
{
    int status = CLVOX_OK, n = 3 * p->data->n;
    const bench_data *d = p->data;
    float sums[3];
    CLV_TRY(clv_reduce(p->ctx, CLV_REDUCE_SQUARE_DIFFERENCE, &(clv_terms){p->v, exact, NULL, 0, n},
                       d->partial, d->state, 0));
    CLV_TRY(clv_reduce(p->ctx, CLV_REDUCE_DOT, &(clv_terms){exact, exact, NULL, 0, n}, d->partial, d->state,
                       1));
    CLV_TRY(clv_reduce(p->ctx, CLV_REDUCE_DOT, &(clv_terms){p->f, p->f, NULL, 0, n}, d->partial, d->state, 2));
    CLV_TRY(clv_buffer_read(p->ctx, d->state, 0, sums, sizeof sums));
    *apart = sqrt((double)sums[0] / (double)sums[1]);
    double explained = (most_left(p, SOR) + EXACT) * sqrt((double)sums[2] / (double)sums[1]) / (double)p->op.gamma;
    if (done && !(*apart <= explained))
        status = bench_wrong(p->ctx, name, "%.2g from the FFT's solution, where %.2g can be explained", *apart,
                             explained);
end:
    return status;
}

/* fft: of the FFT in every step, set by that one. */
static int report_walk(bench_run *run, problem *p, method later, record_samples *fft)
{
    int status = CLVOX_OK;
    walked w = {p, later, 0};
    bench_time time;
    char name[64], tile[32], remark[96];
    double apart;
    record_paper paper = {.value = 3, .unit = "times as fast as the FFT in every step", .device = DEVICE,
                          .conclusion = "the hybrid is faster than the FFT in every step"};
    record_row row = {.group = "ha2011", .name = name, .verified = true, .remark = remark,
                      .size = {p->op.size[0], p->op.size[1], p->op.size[2]}};
    snprintf(name, sizeof name, later == FFT ? "steps, %s" : "steps, FFT, then %s", names[later]);
    CLV_TRY(bench_measure(run, call_walk, &w, NULL, &time));
    bench_complete(run, &time, &row, tile);
    row.variant = row.tile = NULL;
    bool done = later == FFT || !(p->left > p->tolerance);
    CLV_TRY(check_left(p, later, name));
    if (later == FFT) {
        *fft = time.seconds;
        CLV_TRY(clv_buffer_copy(run->ctx, p->v, 0, p->data->field[0], 0, field_bytes(p)));
    }
    CLV_TRY(find_apart(p, p->data->field[0], done, name, &apart));
    snprintf(remark, sizeof remark, "%d iterations in all, %.2g from the FFT's last solution", w.rounds, apart);
    paper.here = fft->median / time.seconds.median;
    paper.holds = bench_slower(fft, &time.seconds);
    row.paper = later == CG ? &paper : NULL;
    fprintf(run->out, "%-46s %6d %10.3f %8.2f %12.2g%s%s\n", name, w.rounds, 1e3 * time.seconds.median,
            paper.here, apart, !row.paper ? "" : paper.holds ? "  holds: " : "  does not hold: ",
            row.paper ? paper.conclusion : "");
    fflush(run->out);
    record_add(run->log, &row);
end:
    return status;
}

static int hybrid(bench_run *run, problem *p)
{
    static const method later[] = {FFT, SOR, CG};
    int status = CLVOX_OK;
    record_samples fft = {0};
    fprintf(run->out,
            "\n%d steps, in each of which f turns by %g: the FFT in each, or in the first and then others\n"
            "from the step before, to %g. The thesis: the hybrid with conjugate gradients gives \"exactly\n"
            "the same results\" almost three times faster.\n%-46s %6s %10s %8s %12s\n",
            STEPS, ANGLE, tolerances[0], "steps", "rounds", "ms", "of FFT", "from FFT's");
    p->tolerance = tolerances[0];
    for (int k = 0; k < 3; k++) {
        status = report_walk(run, p, later[k], &fft);
        if (paper_passed_over(run, "steps", &status) && k == 0)
            break;
        CLV_TRY(status);
    }
end:
    return status;
}

/* ---- forms: blocks against a colour at a time; the matrix's product ---- */

typedef struct form {
    const char *name, *row, *said; /* row: of bench_rows_solvers, that checks it */
    int (*run)(problem *p);
    double bytes, operations; /* a voxel */
    const char *variant;      /* of the sweeps; NULL: the planner's */
    const char *on_cpu;       /* the one there; NULL: none, blocks are for GPUs */
    record_paper paper;       /* what the thesis says of it and the line before, if it does */
    bool slower;              /* that it is slower */
} form;

static int form_product(problem *p)
{
    return clv_fluid_operator_apply(p->ctx, &p->op, p->f, p->v);
}

static int form_sweeps(problem *p)
{
    return clv_sor(p->ctx, &p->op, p->f, 1, BENCH_SWEEPS, p->v, p->data->field[1]);
}

typedef struct form_call {
    const form *form;
    problem *p;
} form_call;

static int call_form(void *what)
{
    const form_call *c = what;
    return c->form->run(c->p);
}

/* The variant of the sweeps, which is then both checked and timed. */
static int force_form(clvox_context *ctx, const form *f)
{
    const bool cpu = clvox_context_limits(ctx)->type == CLVOX_DEVICE_CPU;
    const char *name = cpu && f->on_cpu ? f->on_cpu : f->variant;
    int status = name && !f->on_cpu ? bench_sor_blocks(ctx) : CLVOX_OK;
    if (status < 0)
        return status;
    return name ? clv_force_variant(ctx, clv_entry_sor.name, name, -1) : CLVOX_OK;
}

/* against: of the line before; without samples: not run here. */
static int report_form(bench_run *run, problem *p, const form *f, record_samples *against)
{
    int status = CLVOX_OK;
    bench_time time;
    char tile[32], factor[16] = "", rate[16] = "";
    form_call c = {f, p};
    record_paper paper = f->paper;
    record_row row = {.group = "ha2011", .name = f->name, .verified = true,
                      .size = {p->op.size[0], p->op.size[1], p->op.size[2]},
                      .bytes = f->bytes * p->data->n, .operations = f->operations * p->data->n};
    CLV_TRY(force_form(run->ctx, f));
    CLV_TRY(paper_verify_row(run->ctx, bench_rows_solvers, f->row));
    CLV_TRY(clv_buffer_fill(run->ctx, p->v, 0, 0, field_bytes(p)));
    CLV_TRY(bench_measure(run, call_form, &c, NULL, &time));
    bench_complete(run, &time, &row, tile);
    double seconds = time.seconds.median;
    if (f->operations > 0)
        snprintf(rate, sizeof rate, "%.0f", 1e-9 * row.operations / seconds);
    if (paper.conclusion && against->count > 0) {
        paper.here = against->median / seconds;
        paper.holds = bench_slower(against, &time.seconds) != f->slower;
        row.paper = &paper;
        snprintf(factor, sizeof factor, "%.2f", paper.here);
    }
    fprintf(run->out, "%-46s %10.3f %6.0f%% %8s %8s  %s%s%s\n", f->name, 1e3 * seconds, 100 * row.share, rate,
            factor, f->said, !row.paper ? "" : paper.holds ? "  holds: " : "  does not hold: ",
            row.paper ? paper.conclusion : "");
    fflush(run->out);
    *against = time.seconds;
    record_add(run->log, &row);
end:
    if (clv_force_variant(run->ctx, clv_entry_sor.name, NULL, -1) < 0 && status >= 0)
        status = CLVOX_ERROR_MEMORY;
    return status;
}

static int forms(bench_run *run, problem *p)
{
    /* Operations of the product as for a sparse matrix: two for each of seven numbers. */
    static const form all[] = {
        {.name = "solver, product with the matrix", .row = "fluid operator",
         .said = "53 GFLOPS at 128^3, 59 at 256^3", .run = form_product, .bytes = 24, .operations = 42},
        {.name = "solver, four sweeps, a colour at a time", .row = "sor, four sweeps", .said = "",
         .run = form_sweeps, .bytes = 36 * BENCH_SWEEPS, .variant = "item", .on_cpu = "row"},
        {.name = "solver, four sweeps, blocks of one", .row = "sor, four sweeps",
         .said = "twice as fast as from a 1D texture", .run = form_sweeps, .bytes = 36 * BENCH_SWEEPS,
         .variant = "block1",
         .paper = {.unit = "times as fast as a colour at a time", .device = "Tesla S1070",
                   .conclusion = "blocks in local memory are faster"}},
        {.name = "solver, four sweeps, blocks of two", .row = "sor, four sweeps", .said = "",
         .run = form_sweeps, .bytes = 36 * BENCH_SWEEPS, .variant = "block2", .slower = true,
         .paper = {.unit = "times as fast as blocks of one", .device = "Tesla S1070",
                   .conclusion = "only one sweep a launch is worth it"}},
    };
    int status = CLVOX_OK;
    record_samples before = {0};
    fprintf(run->out, "\n%-46s %10s %7s %8s %8s  %s\n", "form", "ms", "of copy", "GFLOPS", "factor",
            "the thesis");
    for (int i = 0; i < (int)(sizeof all / sizeof *all); i++) {
        status = report_form(run, p, &all[i], &before);
        if (paper_passed_over(run, all[i].name, &status))
            before = (record_samples){0};
        CLV_TRY(status);
    }
end:
    return status;
}

/* Equation 2.3: what merging k sweeps of a block of M^3 saves times what its overlap costs, ((M + 1) / (M + 4
 * k))^3 k, and of planes that are marched through, whose third axis overlaps nothing. */
static void trade_off(const bench_run *run)
{
    static const int edges[] = {8, 16, 32, 64};
    fprintf(run->out,
            "\nEquation 2.3, the trade-off of merging k sweeps in blocks of M (the thesis: only k = 1 pays; "
            "above 1 is a gain):\n"
            "%8s %10s %10s %10s %12s %12s\n",
            "M", "k = 1", "2", "3", "planes, 1", "planes, 2");
    for (size_t i = 0; i < sizeof edges / sizeof *edges; i++) {
        const double m = edges[i];
        fprintf(run->out, "%8d", edges[i]);
        for (int k = 1; k <= 3; k++)
            fprintf(run->out, " %10.3f", pow((m + 1) / (m + 4 * k), 3) * k);
        for (int k = 1; k <= 2; k++)
            fprintf(run->out, " %12.3f", pow((m + 1) / (m + 4 * k), 2) * k);
        fprintf(run->out, "\n");
    }
}

int bench_ha2011_solvers(bench_run *run)
{
    int status = CLVOX_OK, size[3];
    bench_data data = {0}, coupled_data = {0};
    problem p = {0}, coupled = {0};
    for (int a = 0; a < 3; a++) /* two colours need even sides */
        size[a] = run->size[a] / 2 * 2;
    CLV_TRY(verify(run->ctx, 0));
    CLV_TRY(verify(run->ctx, .01f));
    CLV_TRY(problem_create(run->ctx, size, false, 0, &data, &p));
    fprintf(run->out,
            "Sections 2.3.4 to 2.3.6: solvers of (-alpha Laplacian + gamma) v = f, alpha .01, gamma .001,\n"
            "three components, periodic, %dx%dx%d, f the force of a registration; left: |f - L v| / |f|.\n"
            "The thesis ends conjugate gradients at 1e-2, says that the FFT is the slowest solver and that\n"
            "SOR takes 50 to 100 sweeps at first and 4 to 6 from the step before, and gives no times. Its\n"
            "omega leaves gamma out and is corrected here: as printed, with the third outside the square, its\n"
            "root is of a negative number; the sides count one voxel more.\n"
            "Best omega here %.4f, the thesis's %.4f. A sweep moves 36 bytes a voxel, an iteration of\n"
            "conjugate gradients 120, the FFT 120.\n",
            size[0], size[1], size[2], clv_sor_omega(&p.op), clv_sor_omega_plain(&p.op));
    CLV_TRY(table(run, &p));
    CLV_TRY(hybrid(run, &p));
    CLV_TRY(forms(run, &p));
    trade_off(run);
    problem_release(&p);
    p = (problem){0};
    CLV_TRY(problem_create(run->ctx, size, false, .01f, &coupled_data, &coupled));
    fprintf(run->out, "\nWith beta .01 components meet (equation 2.1); the FFT moves 168 bytes then.\n");
    CLV_TRY(table(run, &coupled));
    fprintf(run->out, "\n");
end:
    problem_release(&p);
    problem_release(&coupled);
    return status;
}
