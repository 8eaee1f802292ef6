/* SPDX-License-Identifier: Apache-2.0 */
#include "flow/flow.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/matrix.h"
#include "op/field/compose.h"
#include "op/field/compose_adjoint.h"
#include "op/image/pointwise.h"
#include "op/image/reduce.h"
#include "op/image/resample.h"
#include "register/metric/metric.h"
#include "register/options.h"
#include "register/terms/terms.h"
#include "register/thresholds.h"
#include "transform/invert.h"

/* Defaults of the operator and the energy, in edges of a voxel; found on labelled heads, brains and hippocampi.
 * What expands or compresses costs more than what slides (beta): maps overlap as much and are more regular. */
static const double ALPHA = 3, BETA = 6, LAMBDA = .003;

/* R falls over an eighth of the shortest side, but not over more than so many voxels. */
static const double WIDEST_RIM = 6;

int clv_flow_check(const clvox_register_options *o)
{
    if (o->timesteps < 2 || o->timesteps > CLV_FLOW_STEPS || o->timesteps % 2)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "timesteps is %d; a flow has an even number of them, 2 to %d",
                          o->timesteps, CLV_FLOW_STEPS);
    return clv_register_check_operator(o);
}

/* Cost of a line of n voxels in transforms and in all else. */
static double cost(int n)
{
    double sum = 6;
    int left = n;
    for (int p = 2; left > 1; p++)
        for (; left % p == 0; left /= p)
            sum += p < 5 ? 1 : p < 8 ? p / 2. : p;
    return n * sum;
}

/* The cheapest of first .. last, of those that cost as much the smallest. */
static int cheapest(int first, int last)
{
    int best = first;
    for (int n = first + 1; n <= last; n++)
        if (cost(n) < cost(best))
            best = n;
    return best;
}

static int largest_factor(int n)
{
    int largest = 1;
    for (int p = 2; n > 1; p++)
        for (; n % p == 0; n /= p)
            largest = p;
    return largest;
}

/* Lengths with large prime factors take several times as long to transform. What stands still along the
 * border bears a few voxels more, or of many two less; six less, where the image ends and only lengths with a
 * factor above 13 are near. */
void clv_flow_domain(clv_registration *run)
{
    enum { MORE = 8, LESS = 2, MUCH_LESS = 6, LARGE = 64, LONG = 128, LARGEST_FACTOR = 13 };
    clvox_grid *domain = &run->domain;
    double inverse[4][4], at[3];
    if (clv_matrix_invert(CLV_MATRIX(run->fixed_grid.to_ras), inverse) < 0)
        return;
    for (int a = 0; a < 3; a++) {
        at[a] = inverse[a][3];
        for (int r = 0; r < 3; r++)
            at[a] += inverse[a][r] * domain->to_ras[r][3];
    }
    for (int a = 0; a < 3; a++) {
        int first = (int)rint(at[a]), size = domain->size[a], whole = run->fixed_grid.size[a];
        int most = size + MORE < whole ? size + MORE : whole;
        int best = cheapest(size - (size < LARGE ? 0 : LESS), most);
        if (size >= LONG && largest_factor(best) > LARGEST_FACTOR)
            best = cheapest(size - MUCH_LESS, most);
        int start = first - (best - size) / 2;
        start = start < 0 ? 0 : start + best > whole ? whole - best : start;
        for (int r = 0; r < 3; r++)
            domain->to_ras[r][3] += (start - first) * run->fixed_grid.to_ras[r][a];
        domain->size[a] = best;
    }
}

/* ---- memory --------------------------------------------------------------- */

int clv_flow_requests(clv_registration *run, clv_request *list)
{
    clv_flow *own = clv_flow_of(run);
    int count = 0;
    size_t n = (size_t)run->n * sizeof(float), maps = clvox_grid_voxels(clv_map_grid(run)) * sizeof(float);
    size_t larger = maps > n ? maps : n;
    for (int k = 0; k < run->options->timesteps; k++)
        list[count++] = (clv_request){&own->v[k], 3 * n, "velocity field"};
    list[count++] = (clv_request){&run->u, 3 * n, "displacement field"};
    list[count++] = (clv_request){&own->u_fixed, 3 * n, "displacement field of the fixed image"};
    list[count++] = (clv_request){&run->inverse, 3 * n, "inverse displacement field"};
    list[count++] = (clv_request){&own->force[0], 3 * larger, "force field"};
    list[count++] = (clv_request){&own->force[1], 3 * larger, "force field of the fixed image"};
    list[count++] = (clv_request){&own->spare, 3 * n, "spare field"};
    list[count++] = (clv_request){&own->sums, 3 * n, "sums of the adjoint"};
    list[count++] = (clv_request){&own->window, 3 * n, "window at the border"};
    for (int i = 0; i < 2; i++)
        list[count++] = clv_lease_request(&run->leases, &own->derivative[i], n, "derivative of the metric");
    size_t scratch = clv_register_shared_floats(run, true) * sizeof(float);
    size_t spectrum = clv_fft_bytes(run->fixed_grid.size);
    scratch = spectrum > scratch ? spectrum : scratch;
    list[count++] = (clv_request){&own->numbers, CLV_FLOW_NUMBERS * sizeof(float), "sums of a flow"};
    list[count++] =
        clv_lease_request(&run->leases, &run->metric_scratch, scratch, "scratch of the metric and spectrum");
    return count;
}

/* ---- a level -------------------------------------------------------------- */

/* R along one axis: 0 on the outermost voxels, 1 from rim on; without corners, so that L L v stays finite. */
static float share(int i, int n, double rim)
{
    int nearest = i < n - 1 - i ? i : n - 1 - i;
    double t = n > 1 ? fmin(1, nearest / rim) : 1;
    return (float)(t * t * (3 - 2 * t));
}

static int make_window(const clv_flow_level *flow)
{
    int status = CLVOX_OK;
    clvox_context *ctx = flow->run->ctx;
    const int *size = flow->level->fixed.size;
    size_t plane = (size_t)size[0] * (size_t)size[1], n = (size_t)flow->level->n;
    bool packed = clv_fields_packed(ctx);
    float *values = malloc(3 * plane * sizeof *values);
    clv_buffer *to = clv_flow_of(flow->run)->window;
    if (!values)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    for (int z = 0; z < size[2]; z++) {
        for (int y = 0; y < size[1]; y++)
            for (int x = 0; x < size[0]; x++) {
                float r = share(x, size[0], flow->rim) * share(y, size[1], flow->rim) *
                          share(z, size[2], flow->rim);
                size_t i = (size_t)y * (size_t)size[0] + (size_t)x;
                for (size_t c = 0; c < 3; c++)
                    values[packed ? 3 * i + c : c * plane + i] = r;
            }
        for (size_t c = 0; c < (packed ? 1 : 3); c++)
            CLV_TRY(clv_buffer_write(ctx, to, ((packed ? 3 : 1) * plane * (size_t)z + c * n) * sizeof(float),
                                     values + c * plane, (packed ? 3 : 1) * plane * sizeof(float)));
    }
end:
    free(values);
    return status;
}

/* h^2 */
static double square_of(const double edge[3])
{
    return pow(edge[0] * edge[1] * edge[2], 2 / 3.);
}

clv_fluid_operator clv_flow_operator(const clvox_register_options *o, const double edge[3])
{
    bool given = o->gamma > 0;
    double square = square_of(edge);
    return (clv_fluid_operator){.alpha = (float)(given ? o->alpha : ALPHA * square),
                                .beta = (float)(given ? o->beta : BETA * square),
                                .gamma = given ? (float)o->gamma : 1,
                                .periodic = true};
}

int clv_flow_begin(clv_flow_level *flow, clv_registration *run, const clv_pyramid_level *level)
{
    int status = CLVOX_OK, shortest = INT_MAX;
    const clvox_register_options *o = run->options;
    const int *size = level->fixed.size;
    clv_flow *own = clv_flow_of(run);
    clvox_grid finest;
    double edge[3];
    *flow = (clv_flow_level){.run = run, .level = level, .steps = o->timesteps, .scale = 1};
    /* In voxels of the finest level, operator and lambda are the same for every resolution. */
    clv_register_level(&run->domain, o->shrink[o->levels - 1], &finest);
    clvox_grid_spacing(&finest, edge);
    flow->op = clv_flow_operator(o, edge);
    memcpy(flow->op.size, size, sizeof flow->op.size);
    memcpy(flow->op.spacing, level->spacing, sizeof flow->op.spacing);
    flow->lambda = o->lambda > 0 ? o->lambda : LAMBDA / square_of(edge);
    for (int i = 0; i < 3; i++)
        if (size[i] > 1 && size[i] < shortest)
            shortest = size[i];
    flow->rim = fmax(1, fmin(WIDEST_RIM, shortest / 8.));
    clv_map_between(&level->fixed, &level->moving, CLV_MATRIX(run->matrix), 1, &flow->moving);
    clv_map_between(&level->fixed, &level->fixed, NULL, 1, &flow->fixed);
    CLV_TRY(clv_solver_create(run->ctx, &flow->op, &flow->solver));
    CLV_TRY(make_window(flow));
    CLV_TRY(clv_buffer_fill(run->ctx, own->sums, 0, 0, 3 * (size_t)level->n * sizeof(float)));
end:
    return status;
}

void clv_flow_end(clv_flow_level *flow)
{
    clv_solver_destroy(&flow->solver);
}

static int window(const clv_flow_level *flow, const clv_buffer *f, clv_buffer *out)
{
    return clv_pointwise(flow->run->ctx, CLV_POINTWISE_MULTIPLY, CLV_VECTORS(out, flow->level->fixed.size), f,
                         clv_flow_of(flow->run)->window, NULL, (float[4]){1, 0, 0, 0});
}

int clv_flow_smooth(const clv_flow_level *flow, int kind, const clv_buffer *f, clv_buffer *out)
{
    int status = CLVOX_OK;
    clv_solver solver = flow->solver;
    const clv_request room = {&solver.spectrum, clv_fft_bytes(flow->op.size), "spectrum"};
    CLV_TRY(clv_lease_take(&flow->run->leases, &room, 1));
    CLV_TRY(window(flow, f, out));
    CLV_TRY(clv_solver_solve_twice(flow->run->ctx, &solver, kind, out, out));
    CLV_TRY(window(flow, out, out));
    CLV_TRY(clv_lease_give(&flow->run->leases, &room, 1));
end:
    return status;
}

int clv_flow_momentum(const clv_flow_level *flow, const clv_buffer *v, clv_buffer *scratch, clv_buffer *out)
{
    int status = CLVOX_OK;
    CLV_TRY(clv_fluid_operator_apply(flow->run->ctx, &flow->op, v, scratch));
    CLV_TRY(clv_fluid_operator_apply(flow->run->ctx, &flow->op, scratch, out));
end:
    return status;
}

/* ---- there and back ------------------------------------------------------- */

/* One half of the flow, from the middle outwards. */
typedef struct half {
    int first, way; /* its step next to the middle; 1 forward in time, -1 backward */
    clv_buffer *u, *force;
} half;

static half half_of(const clv_flow_level *flow, bool fixed)
{
    clv_registration *run = flow->run;
    clv_flow *own = clv_flow_of(run);
    if (fixed)
        return (half){flow->steps / 2 - 1, -1, own->u_fixed, own->force[1]};
    return (half){flow->steps / 2, 1, run->u, own->force[0]};
}

static float step_of(const clv_flow_level *flow, const half *h)
{
    return (float)h->way / (float)flow->steps;
}

/* next = d + s w(x + d); d NULL: 0. */
static int advance(const clv_flow_level *flow, const clv_buffer *d, const clv_buffer *w, float s, clv_buffer *next)
{
    clvox_context *ctx = flow->run->ctx;
    const int *size = flow->level->fixed.size;
    const float reorient[3][3] = {{s, 0, 0}, {0, s, 0}, {0, 0, s}};
    if (!d)
        return clv_pointwise(ctx, CLV_POINTWISE_LINEAR, CLV_VECTORS(next, flow->level->fixed.size), w, NULL,
                             NULL, (float[4]){s, 0, 0, 0});
    return clv_compose(ctx, &(clv_compose_args){.u = d, .own = 1, .w = *CLV_VECTORS(w, size),
                                                .map = &flow->fixed, .reorient = reorient, .extend = true,
                                                .out = *CLV_VECTORS(next, size)});
}

int clv_flow_integrate(const clv_flow_level *flow)
{
    int status = CLVOX_OK, steps = flow->steps / 2;
    clv_flow *own = clv_flow_of(flow->run);
    for (int fixed = 0; fixed < 2; fixed++) {
        half h = half_of(flow, fixed);
        clv_buffer *before = NULL;
        for (int j = 0; j < steps; j++) {
            clv_buffer *next = (steps - 1 - j) % 2 ? own->spare : h.u;
            CLV_TRY(advance(flow, before, own->v[h.first + j * h.way], step_of(flow, &h), next));
            before = next;
        }
    }
end:
    return status;
}

int clv_flow_compare(const clv_flow_level *flow)
{
    int status = CLVOX_OK;
    clv_registration *run = flow->run;
    clv_flow *own = clv_flow_of(run);
    const clv_pull pull = {
        .level = flow->level,
        .side = {{run->u, own->force[0], flow->moving}, {own->u_fixed, own->force[1], flow->fixed}},
        .count = 2,
        .forces = true,
        .numbers = own->numbers,
        .slot = CLV_FLOW_METRIC,
    };
    CLV_TRY(clv_flow_integrate(flow));
    CLV_TRY(clv_terms_force(run, &pull));
end:
    return status;
}

int clv_flow_metric(clv_flow_level *flow, const float *numbers, double *mean, double *sum)
{
    int status = CLVOX_OK;
    clv_registration *run = flow->run;
    double compared = (double)numbers[1];
    if (!(flow->voxels > 0))
        flow->voxels = compared;
    flow->scale = compared > 0 ? flow->voxels / compared : 0;
    double strength = flow->scale * clv_metric_find(run->options->metric)->strength;
    clv_value value;
    CLV_TRY(clv_terms_value(run, numbers, &value));
    *mean = value.mean;
    *sum = strength * value.sum;
end:
    return status;
}

/* Input of an adjoint, and the use of each of its gradients. */
typedef struct backward {
    const clv_flow_level *flow;
    half h;
    float factor;
    clv_flow_each each;
    clv_buffer *gradient; /* for each */
} backward;

/* out = factor dS/dv of the j-th step, whose positions before are d, which out may be; the force passes back
 * over it. */
static int step_back(const backward *b, int j, clv_buffer *d, clv_buffer *out)
{
    int status = CLVOX_OK, k = b->h.first + j * b->h.way;
    static const float one[3] = {1, 1, 1};
    clv_registration *run = b->flow->run;
    clv_flow *own = clv_flow_of(run);
    const clv_pyramid_level *l = b->flow->level;
    float s = step_of(b->flow, &b->h);
    if (j == 0) {
        CLV_TRY(clv_pointwise(run->ctx, CLV_POINTWISE_LINEAR, CLV_VECTORS(out, l->fixed.size), b->h.force,
                              NULL, NULL, (float[4]){b->factor * s, 0, 0, 0}));
    } else {
        clv_buffer *rows;
        const clv_request room = {&rows, clv_within_bytes(l->fixed.size), "rows of the adjoint"};
        CLV_TRY(clv_lease_take(&run->leases, &room, 1));
        const clv_compose_adjoint_args args = {
            .d = clv_image_of(d, l->fixed.size, l->spacing, 3),
            .w = own->v[k],
            .s = s,
            .g = b->h.force,
            .sums = own->sums,
            .rows = rows,
            .state = own->numbers,
            .slot = CLV_FLOW_LONGEST,
        };
        CLV_TRY(clv_reduce_longest(run->ctx, CLV_VECTORS(b->h.force, l->fixed.size), one, false, run->partial,
                                   own->numbers, CLV_FLOW_LONGEST));
        CLV_TRY(clv_compose_adjoint(run->ctx, &args));
        CLV_TRY(clv_compose_adjoint_total(run->ctx, &args, b->factor * s, out));
        CLV_TRY(clv_lease_give(&run->leases, &room, 1));
    }
    if (b->each)
        CLV_TRY(b->each(b->flow, k, out));
end:
    return status;
}

/* Gradients into w, where the positions before each step but the first lie until then. */
static int walk_back_in_place(const backward *b)
{
    int status = CLVOX_OK, last = b->flow->steps / 2 - 1;
    clv_flow *own = clv_flow_of(b->flow->run);
    const clv_buffer *before = NULL;
    for (int j = 0; j < last; j++) {
        int k = b->h.first + j * b->h.way;
        clv_buffer *next = own->w[k + b->h.way];
        CLV_TRY(advance(b->flow, before, own->v[k], step_of(b->flow, &b->h), next));
        before = next;
    }
    for (int j = last; j >= 0; j--) {
        clv_buffer *w = own->w[b->h.first + j * b->h.way];
        CLV_TRY(step_back(b, j, w, w));
    }
end:
    return status;
}

/* The steps after `from`, up to `to`, last first. before: the positions before step `from`, NULL for 0. The
 * positions half way are kept in room[0], and so on in `count` buffers; with the last of them, all are
 * found anew for each step. */
static int walk_back(const backward *b, int from, const clv_buffer *before, int to, clv_buffer *const *room,
                     int count)
{
    int status = CLVOX_OK;
    clv_flow *own = clv_flow_of(b->flow->run);
    while (to > from) {
        int kept = count > 1 ? from + (to - from + 1) / 2 : to;
        const clv_buffer *at = before;
        for (int j = from; j < kept; j++) {
            clv_buffer *next = (kept - 1 - j) % 2 ? own->spare : room[0];
            CLV_TRY(advance(b->flow, at, own->v[b->h.first + j * b->h.way], step_of(b->flow, &b->h), next));
            at = next;
        }
        CLV_TRY(walk_back(b, kept, room[0], to, room + 1, count - 1));
        CLV_TRY(step_back(b, kept, room[0], b->gradient));
        to = kept - 1;
    }
end:
    return status;
}

int clv_flow_adjoint(const clv_flow_level *flow, float factor, clv_flow_each each)
{
    int status = CLVOX_OK;
    clv_registration *run = flow->run;
    clv_buffer *const room[] = {run->u, clv_flow_of(run)->u_fixed}, *gradient = NULL;
    const clv_request wanted = {&gradient, 3 * (size_t)flow->level->n * sizeof(float),
                                "gradient by a velocity field"};
    if (each)
        CLV_TRY(clv_lease_take(&run->leases, &wanted, 1));
    factor *= (float)(flow->scale * clv_metric_find(run->options->metric)->strength);
    for (int fixed = 0; fixed < 2; fixed++) {
        const backward b = {flow, half_of(flow, fixed), factor, each, gradient};
        if (!each) {
            CLV_TRY(walk_back_in_place(&b));
        } else {
            CLV_TRY(walk_back(&b, 0, NULL, flow->steps / 2 - 1, room, 2));
            CLV_TRY(step_back(&b, 0, NULL, gradient));
        }
    }
    CLV_TRY(clv_lease_give(&run->leases, &wanted, 1));
end:
    return status;
}

/* ---- the end -------------------------------------------------------------- */

int clv_flow_finish(clv_registration *run, const clvox_grid *at)
{
    int status = CLVOX_OK;
    clv_flow *own = clv_flow_of(run);
    clv_buffer **const done[] = {&own->force[0], &own->force[1], &own->spare};
    CLV_TRY(clv_lease_withdraw(&run->leases, &run->inverse));
    for (int i = 0; i < 3; i++)
        clv_lease_lend(&run->leases, done[i]);
    CLV_TRY(clv_pyramid_mend(run, run->u, at, SMALLEST_HALF, NULL));
    CLV_TRY(clv_pyramid_mend(run, own->u_fixed, at, SMALLEST_HALF, NULL));
    const clv_halves halves = {own->u_fixed, &own->force[0], &own->force[1], own->spare, run->metric_scratch};
    CLV_TRY(clv_symmetric_join(run, at, SMALLEST_WHOLE, &halves));
end:
    return status;
}

/* ---- descent ---- */

/* Iterations over which the energy has to fall. */
enum { LOOK = 3 };

/* Along a parabola, a step that lowers it by ENOUGH of its slope ends before the lowest point. Longer steps
 * lower it, too, but overshoot along what is steepest, where a difference by rounding then grows with each of
 * them. With these shares, and momentum in their place, maps of hippocampi from starts 1e-5 mm apart end .01
 * voxels from each other; by any step that lowers the energy, longer by 1.4 or shorter by .4 than the one
 * before, .02 (LDDMM). Near the end, the gradient alone may lower it by LITTLE
 * only, where interpolation has a kink. */
static const double ENOUGH = .5, LITTLE = .1, LONGER = 1.1, SHORTER = .7, MUCH_SHORTER = .4;

bool clv_flow_enough(const clv_flow_descent *d, double step, double energy, bool last)
{
    return energy < d->energy - (last ? LITTLE : ENOUGH) * step * fmax(0, d->slope);
}

double clv_flow_shorter(double step, bool begun)
{
    return step * (begun ? SHORTER : MUCH_SHORTER);
}

double clv_flow_next(double step, int failed)
{
    return failed ? step : LONGER * step;
}

int clv_flow_descend(clv_flow_descent *d, const clv_flow_steps *steps, int index, double share, int *done)
{
    clv_registration *run = d->flow.run;
    const clvox_register_options *o = run->options;
    int status = CLVOX_OK, iteration = 0;
    double e = 0, start = 0, before[LOOK], longest = index + 1 < o->levels ? o->step : o->finest_step;
    CLV_TRY(steps->look(d, &d->energy, &d->mean));
    start = d->energy;
    for (; iteration < o->iterations[index]; iteration++) {
        CLV_TRY(clv_pyramid_tell(run, index, iteration, d->mean,
                                 run->fraction_done + share * iteration / o->iterations[index]));
        if (iteration >= LOOK && before[iteration % LOOK] - d->energy < LOOK * o->tolerance * fabs(start))
            break;
        before[iteration % LOOK] = d->energy;
        CLV_TRY(steps->iterate(d, longest, &e));
        if (!(e > 0))
            break;
    }
    run->fraction_done += share;
    CLV_TRY(clv_pyramid_tell(run, index, iteration, d->mean, run->fraction_done));
    *done = iteration;
end:
    return status;
}

int clv_flow_run(clv_registration *run, clvox_register_result *result,
                 int (*level)(clv_registration *run, int index, double share, clvox_grid *at,
                              clvox_register_result *result))
{
    int status = CLVOX_OK;
    const clvox_register_options *o = run->options;
    double share[CLVOX_MAX_LEVELS];
    clvox_grid at;
    CLV_TRY(clv_flow_check(o));
    clv_flow_domain(run);
    at = run->domain;
    clv_pyramid_shares(o, share);
    for (int i = 0; i < o->levels; i++)
        CLV_TRY(level(run, i, share[i], &at, result));
    CLV_TRY(clv_flow_finish(run, &at));
end:
    return status;
}

const char *const clv_flow_takes[] = {"step",   "momentum",         "lambda",          "operator",
                                    CLV_ANATOMY_TAKES, "timesteps", NULL};
