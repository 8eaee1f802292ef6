/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of flows in ten time steps: what an iteration of LDDMM and of shooting consists of, and the iterations, each from
 * where the one before has left it. A flow holds as many fields as all other rows together: it runs on half of each side
 * where --whole does not ask for more. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/rows/check.h"
#include "flow/lddmm.h"
#include "flow/shooting.h"
#include "op/image/pointwise.h"
#include "ref/field/compose_adjoint.h"
#include "register/metric/metric.h"
#include "register/problem.h"
#include "transform/field.h"

enum { STEPS = 10, HALF = STEPS / 2, FORCES = 2, SMALLEST = 32 };

/* One level of a run, with velocities or a momentum of its own. */
struct bench_flow {
    clvox_register_options options;
    clv_problem problem;
    clv_registration run;
    clv_request requests[CLV_REGISTER_REQUESTS];
    int count;
    clvox_volume *images[2];
    clv_pyramid_level level;
    clv_lddmm_descent descent; /* base alone: of shooting */
};

static void size_of(const bench_data *d, int size[3])
{
    for (int a = 0; a < 3; a++)
        size[a] = d->whole || d->size[a] < SMALLEST ? d->size[a] : d->size[a] / 2;
}

void bench_flow_release(bench_data *d)
{
    struct bench_flow *f = d->flow;
    if (!f)
        return;
    clv_flow_end(&f->descent.base.flow);
    clv_pool_release(f->requests, f->count);
    for (int i = 0; i < 2; i++)
        clvox_volume_destroy(&f->images[i]);
    free(f);
    d->flow = NULL;
}

/* Waves with two and three periods or so along an axis, another phase for each number, and 0 on the border where still. */
static double wave(const clvox_grid *grid, const int x[3], int number, bool still)
{
    double value = 1;
    for (int a = 0; a < 3; a++) {
        double t = grid->size[a] > 1 ? x[a] / (grid->size[a] - 1.) : .5;
        value *= .6 + .4 * sin((13 + 3 * (number % 3) + a) * t + number);
        value *= still ? sin(M_PI * t) : 1;
    }
    return value;
}

static int make_volume(const clvox_grid *grid, int frames, double scale, int number, clvox_volume **out)
{
    size_t at = 0;
    int status = clvox_volume_create(grid, frames, frames == 3 ? CLVOX_KIND_DISPLACEMENT : CLVOX_KIND_SCALAR, out);
    if (status < 0)
        return status;
    for (int c = 0; c < frames; c++)
        for (int z = 0; z < grid->size[2]; z++)
            for (int y = 0; y < grid->size[1]; y++)
                for (int x = 0; x < grid->size[0]; x++)
                    (*out)->data[at++] =
                        (float)(scale * wave(grid, (const int[3]){x, y, z}, number + c, frames == 3));
    return CLVOX_OK;
}

static int send_waves(bench_data *d, double scale, int number, clv_buffer *to)
{
    clvox_volume *v = NULL;
    int status = make_volume(&d->flow->level.fixed, 3, scale, number, &v);
    if (status >= 0)
        status = clv_field_upload(d->ctx, v, 1, to);
    clvox_volume_destroy(&v);
    return status;
}

static int begin(bench_data *d, clvox_deform deform)
{
    int status = CLVOX_OK, size[3];
    const double spacing[3] = {1, 1, 1};
    clvox_grid grid;
    bench_flow_release(d);
    struct bench_flow *f = d->flow = calloc(1, sizeof *f);
    if (!f)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory for the bench's data");
    clvox_register_options *o = &f->options;
    clvox_register_defaults(o);
    o->deform = deform;
    clvox_register_preset(o, CLVOX_PRESET_DEFAULT);
    o->timesteps = STEPS;
    o->levels = 1;
    o->shrink[0] = 1;
    size_of(d, size);
    clvox_phantom_grid(size, spacing, false, &grid);
    for (int i = 0; i < 2; i++)
        CLV_TRY(make_volume(&grid, 1, 1, i, &f->images[i]));
    f->problem.images = (clvox_register_images){
        .fixed = {f->images[0]}, .moving = {f->images[1]}, .weight = {1}, .channels = 1};
    f->run = (clv_registration){.ctx = d->ctx, .problem = &f->problem, .options = o};
    clv_register_describe(&f->run, &grid, &grid);
    for (int i = 0; i < 4; i++)
        f->run.matrix[i][i] = 1;
    int count = clv_register_list(&f->run, f->requests);
    CLV_TRY(clv_pool_take(d->ctx, f->requests, count));
    f->count = count;
    CLV_TRY(clv_register_upload(&f->run));
    CLV_TRY(clv_register_match(&f->run));
    CLV_TRY(clv_pyramid_make(&f->run, 0, true, &f->level));
    f->descent.momentum = o->momentum;
    CLV_TRY(clv_flow_begin(&f->descent.base.flow, &f->run, &f->level));
    f->descent.base.lambda = f->descent.base.flow.lambda;
end:
    return status;
}

/* ---- transports ---- */

/* Times the adjoint without what LDDMM does with its gradients. */
static int no_use(const clv_flow_level *flow, int k, const clv_buffer *gradient)
{
    (void)flow, (void)k, (void)gradient;
    return CLVOX_OK;
}

/* Into p, where the forces lie until the adjoint has begun. */
static int keep(const clv_flow_level *flow, int k, const clv_buffer *gradient)
{
    return clv_buffer_copy(flow->run->ctx, gradient, 0, clv_lddmm_of(flow->run)->p[k], 0,
                           3 * (size_t)flow->level->n * sizeof(float));
}

/* Velocities, and the forces at both ends of the flow in two directions that nobody needs. */
static int begin_transport(bench_data *d)
{
    int status = CLVOX_OK;
    CLV_TRY(begin(d, CLVOX_DEFORM_LDDMM));
    for (int k = 0; k < STEPS; k++)
        CLV_TRY(send_waves(d, 2, k, clv_flow_of(&d->flow->run)->v[k]));
    for (int i = 0; i < FORCES; i++)
        CLV_TRY(send_waves(d, 1, STEPS + i, clv_lddmm_of(&d->flow->run)->p[i]));
end:
    return status;
}

static int row_forward(bench_data *d)
{
    return clv_flow_integrate(&d->flow->descent.base.flow);
}

static int adjoint(bench_data *d, clv_flow_each each)
{
    int status = CLVOX_OK;
    clv_registration *run = &d->flow->run;
    for (int i = 0; i < FORCES; i++)
        CLV_TRY(clv_buffer_copy(d->ctx, clv_lddmm_of(run)->p[i], 0, clv_flow_of(run)->force[i], 0,
                                3 * (size_t)d->flow->level.n * sizeof(float)));
    CLV_TRY(clv_flow_adjoint(&d->flow->descent.base.flow, 1, each));
end:
    return status;
}

static int row_adjoint(bench_data *d)
{
    return adjoint(d, no_use);
}

/* One half of the flow by the reference. way: 1 to the moving image, -1 to the fixed one. */
typedef struct half {
    int size[3], way;
    size_t n;
    double *v[HALF], *d[HALF + 1], *g; /* from the middle on; g: the force */
} half;

static void half_free(half *h)
{
    for (int j = 0; j < HALF; j++)
        free(h->v[j]);
    for (int j = 0; j <= HALF; j++)
        free(h->d[j]);
    free(h->g);
}

static const double EDGES[3] = {1, 1, 1};

static int half_values(const clvox_grid *grid, double scale, int number, double **out)
{
    clvox_volume *volume = NULL;
    int status = make_volume(grid, 3, scale, number, &volume);
    size_t count = 3 * clvox_grid_voxels(grid);
    *out = status < 0 ? NULL : malloc(count * sizeof **out);
    for (size_t i = 0; i < count && *out; i++)
        (*out)[i] = (double)volume->data[i];
    clvox_volume_destroy(&volume);
    return status < 0 || *out ? status : clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory for a check");
}

static int half_make(const clvox_grid *grid, bool fixed, half *h)
{
    int status = CLVOX_OK;
    *h = (half){.size = {grid->size[0], grid->size[1], grid->size[2]}, .way = fixed ? -1 : 1,
                .n = clvox_grid_voxels(grid)};
    CLV_TRY(half_values(grid, 1, STEPS + fixed, &h->g));
    for (int j = 0; j <= HALF; j++) {
        h->d[j] = calloc(3 * h->n, sizeof *h->d[j]);
        if (!h->d[j])
            return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory for a check");
    }
    for (int j = 0; j < HALF; j++) {
        CLV_TRY(half_values(grid, 2, fixed ? HALF - 1 - j : HALF + j, &h->v[j]));
        ref_flow_step(h->d[j], h->v[j], h->size, EDGES, (double)h->way / STEPS, h->d[j + 1]);
    }
end:
    return status;
}

/* A field of the flow, whose grid is not the data's. */
static int check_flow_field(bench_check *c, const clv_buffer *field, const double *want, double absolute)
{
    clvox_volume *got = NULL;
    const clvox_grid *grid = &c->data->flow->level.fixed;
    int status = clv_field_download(c->data->ctx, field, grid, 1, &got);
    if (status >= 0)
        status = check_values(c, got->data, want, 3 * clvox_grid_voxels(grid), absolute, 0);
    clvox_volume_destroy(&got);
    return status;
}

static int check_forward(bench_check *c)
{
    int status = CLVOX_OK;
    struct bench_flow *f = c->data->flow;
    half h = {.g = NULL};
    for (int fixed = 0; fixed < 2; fixed++) {
        CLV_TRY(half_make(&f->level.fixed, fixed, &h));
        CLV_TRY(check_flow_field(c, fixed ? clv_flow_of(&f->run)->u_fixed : f->run.u, h.d[HALF], 1e-4));
        half_free(&h);
        h = (half){.g = NULL};
    }
end:
    half_free(&h);
    return status;
}

static int check_adjoint(bench_check *c)
{
    int status = CLVOX_OK;
    struct bench_flow *f = c->data->flow;
    const double strength = clv_metric_find(f->options.metric)->strength;
    half h = {.g = NULL};
    double *want = NULL;
    CLV_TRY(adjoint(c->data, keep));
    for (int fixed = 0; fixed < 2; fixed++) {
        CLV_TRY(half_make(&f->level.fixed, fixed, &h));
        want = malloc(3 * h.n * sizeof *want);
        if (!want) {
            status = clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory for a check");
            goto end;
        }
        for (int j = HALF - 1; j >= 0; j--) {
            memset(want, 0, 3 * h.n * sizeof *want);
            ref_compose_adjoint(h.d[j], h.v[j], h.size, EDGES, (double)h.way / STEPS, h.g, want);
            for (size_t i = 0; i < 3 * h.n; i++)
                want[i] *= strength;
            const clv_buffer *w = clv_lddmm_of(&f->run)->p[fixed ? HALF - 1 - j : HALF + j];
            CLV_TRY(check_flow_field(c, w, want, 5e-5 * strength));
        }
        free(want);
        want = NULL;
        half_free(&h);
        h = (half){.g = NULL};
    }
    CLV_TRY(begin_transport(c->data));
end:
    free(want);
    half_free(&h);
    return status;
}

/* ---- iterations ---- */

static const clv_flow_steps *steps_of(const bench_data *d)
{
    return d->flow->options.deform == CLVOX_DEFORM_LDDMM ? &clv_lddmm_steps : &clv_shooting_steps;
}

static int begin_iterations(bench_data *d, clvox_deform deform)
{
    int status = CLVOX_OK;
    CLV_TRY(begin(d, deform));
    clv_registration *run = &d->flow->run;
    size_t bytes = 3 * (size_t)d->flow->level.n * sizeof(float);
    if (deform == CLVOX_DEFORM_SHOOTING)
        CLV_TRY(clv_buffer_fill(d->ctx, clv_shooting_of(run)->momentum, 0, 0, bytes));
    for (int k = 0; k < STEPS && deform == CLVOX_DEFORM_LDDMM; k++)
        CLV_TRY(clv_buffer_fill(d->ctx, clv_flow_of(run)->v[k], 0, 0, bytes));
    clv_flow_descent *descent = &d->flow->descent.base;
    CLV_TRY(steps_of(d)->look(descent, &descent->energy, &descent->mean));
end:
    return status;
}

static int begin_lddmm(bench_data *d)
{
    return begin_iterations(d, CLVOX_DEFORM_LDDMM);
}

static int begin_shooting(bench_data *d)
{
    return begin_iterations(d, CLVOX_DEFORM_SHOOTING);
}

/* From rest: the first step is taken whatever the energy is, so that each takes as long. */
static int row_lddmm(bench_data *d)
{
    int status = CLVOX_OK;
    struct bench_flow *f = d->flow;
    double found = 0;
    f->descent.base.energy = INFINITY;
    f->descent.begun = false;
    memset(f->descent.of, 0, sizeof f->descent.of);
    for (int k = 0; k < STEPS; k++)
        CLV_TRY(clv_buffer_fill(d->ctx, clv_flow_of(&f->run)->v[k], 0, 0, 3 * (size_t)f->level.n * sizeof(float)));
    CLV_TRY(clv_lddmm_steps.iterate(&f->descent.base, f->options.step, &found));
    if (!(found > 0))
        status = clvox_fail(CLVOX_ERROR_ARGUMENT, "lddmm: no step lowers the energy");
end:
    return status;
}

/* From rest by half a voxel: a momentum that grows with every call is soon one that the time steps cannot
 * follow, and is tried a dozen times. */
static int row_shooting(bench_data *d)
{
    int status = CLVOX_OK;
    struct bench_flow *f = d->flow;
    clv_shooting *own = clv_shooting_of(&f->run);
    double found = 0;
    f->descent.base.energy = INFINITY;
    own->begun = false;
    CLV_TRY(clv_buffer_fill(d->ctx, own->momentum, 0, 0, 3 * (size_t)f->level.n * sizeof(float)));
    CLV_TRY(clv_shooting_steps.iterate(&f->descent.base, .5, &found));
    if (!(found > 0))
        status = clvox_fail(CLVOX_ERROR_ARGUMENT, "shooting: the time steps do not follow half a voxel");
end:
    return status;
}

/* From rest the energy falls, and is what a look at it finds. */
static int check_descent(bench_check *c)
{
    int status = CLVOX_OK;
    bench_data *d = c->data;
    double energy, mean, before, step = 0;
    CLV_TRY(begin_iterations(d, d->flow->options.deform));
    clv_flow_descent *descent = &d->flow->descent.base;
    before = descent->energy;
    for (int i = 0; i < 2; i++)
        CLV_TRY(steps_of(d)->iterate(descent, d->flow->options.step, &step));
    CLV_TRY(steps_of(d)->look(descent, &energy, &mean));
    if (!(descent->energy < before))
        status = bench_wrong(d->ctx, c->label, "energy %.6g after two iterations, %.6g before them", descent->energy,
                             before);
    else if (!(fabs(energy - descent->energy) <= 1e-5 * fabs(energy)))
        status = bench_wrong(d->ctx, c->label, "energy %.6g, which the iteration took for %.6g", energy,
                             descent->energy);
end:
    return status;
}

/* Half a flow from the middle: 24 bytes for its first step and 36 for the others. Its adjoint: the force
 * 24, the adjoint of a step 120 (longest 12, step 72, total 36), of the first one 24, and positions: 24 +
 * 36 for each step but the first two where they are kept, as by shooting, 192 where six steps from
 * checkpoints find them, as by LDDMM. LDDMM: the adjoint without copies, of each time step three products
 * 72 and K 216 (windows 36 each, transforms 144), the direction 60 and the step 36; a look at the energy:
 * the flow, two warps 40, LNCC with both derivatives 64, two forces 64. Shooting: of each time step 1524
 * forward (K of five places, three of them stages, the actions of four) and 2964 of the adjoint, at the end
 * K 240; a look as above and the flow's adjoint; the direction 312 and the step 36. */
enum {
    FORWARD = 2 * (24 + (HALF - 1) * 36),
    STEPS_BACK = 2 * ((HALF - 1) * 120 + 24),
    ADJOINT = STEPS_BACK + 2 * 192,
    ADJOINT_KEPT = STEPS_BACK + 2 * (24 + (HALF - 2) * 36),
    LOOK = FORWARD + 40 + 64 + 64,
    LDDMM = ADJOINT + STEPS * (72 + 216 + 60 + 36) + LOOK,
    SHOOTING = STEPS * (1524 + 2964) + 240 + 24 + LOOK + ADJOINT_KEPT + 312 + 36,
};
const bench_row bench_rows_flow[] = {
    {"flow forward, 10 steps", NULL, FORWARD, 0, row_forward, check_forward, begin_transport, size_of},
    {"flow adjoint, 10 steps", "compose_adjoint", ADJOINT + 2 * 24, 0, row_adjoint, check_adjoint, begin_transport,
     size_of},
    {"lddmm iteration, 10 steps", NULL, LDDMM, 0, row_lddmm, check_descent, begin_lddmm, size_of},
    {"shooting iteration, 10 steps", NULL, SHOOTING, 0, row_shooting, check_descent, begin_shooting, size_of},
    {NULL, NULL, 0, 0, NULL, NULL, NULL, NULL},
};
