/* SPDX-License-Identifier: Apache-2.0 */
/* Flows between two images: what LDDMM (lddmm.c) and geodesic shooting
 * (shooting.c) share. The fixed image lies at time 0, the moving one at time 1,
 * and N velocities v_k, constant over dt = 1 / N each, lead from one to the
 * other. Images are compared at time 1/2: positions of the middle's voxels
 * travel there and back,
 *   d <- d + dt v_k(x + d), k = N/2 .. N-1       to the moving image: run->u
 *   d <- d - dt v_k(x + d), k = N/2-1 .. 0       to the fixed one: u_fixed
 * so that exchanging the images turns the flow round and nothing else. With
 * S the metric (to be raised), what is minimised is, a voxel's volume left out,
 *   E = lambda sum_k dt <v_k, v_k>_V - S,   |v|_V^2 = sum |L v|^2,   lambda = sigma^2
 * and its gradient the exact one of these sums: op/field/compose_adjoint.h.
 * V is the space of v = K m, K = R L^-1 L^-1 R, where R falls to 0 towards the
 * border: it stays where it is, and the periodic L feels nothing across it. */
#ifndef CLV_FLOW_FLOW_H
#define CLV_FLOW_FLOW_H

#include "op/fluid/fourier.h"
#include "op/fluid/solve.h"
#include "register/model.h"
#include "register/pyramid.h"

enum { CLV_FLOW_STEPS = 32, CLV_FLOW_NUMBERS = 256 };

/* The private state of a run by flows. Fields are as large as run->u where nothing else is said. */
typedef struct clv_flow {
    clv_buffer *v[CLV_FLOW_STEPS]; /* velocities, mm in unit time along the grid's axes */
    clv_buffer *w[CLV_FLOW_STEPS]; /* dS/dv, of shooting alone */
    clv_buffer *u_fixed, *force[2], *spare;
    clv_buffer *derivative[2]; /* room that is lent */
    clv_buffer *sums;          /* of the adjoint */
    clv_buffer *window;        /* R, three equal components */
    clv_buffer *numbers;
} clv_flow;
_Static_assert(sizeof(clv_flow) <= CLV_MODEL_BYTES, "more state than a run has room for");

static inline clv_flow *clv_flow_of(clv_registration *run)
{
    return CLV_MODEL_STATE(clv_flow, run);
}

/* Slots of clv_flow.numbers. */
enum {
    CLV_FLOW_DOTS = 0,    /* three of each time step: what a model sums */
    CLV_FLOW_METRIC = 96, /* S and voxels of each comparison */
    CLV_FLOW_LONGEST = CLV_FLOW_METRIC + CLV_NUMBERS, /* of the forces of the adjoint */
    CLV_FLOW_STEP,                                             /* the longest vector of a step, voxels */
    CLV_FLOW_SLOPE,                                            /* <gradient, step>, of shooting */
    CLV_FLOW_END
};
_Static_assert((int)CLV_FLOW_END <= (int)CLV_FLOW_NUMBERS, "more numbers than there is room for");

/* One level of a run. */
typedef struct clv_flow_level {
    clv_registration *run;
    const clv_pyramid_level *level;
    clv_fluid_operator op;
    clv_solver solver;
    clv_map moving, fixed; /* of the level's grid to either image's */
    int steps;
    double rim; /* voxels over which R falls */
    double lambda;
    double voxels; /* that the first channel compared when the level began, 0 before */
    double scale;  /* of S: as if it compared so many still. Voxels that leave a mask or a grid are no loss */
} clv_flow_level;

/* A gamma or lambda of 0, the default, follows the finest level, whose voxels have edges of h mm: alpha = 3 h^2,
 * beta = 6 h^2, gamma = 1, lambda = 0.003 / h^2. */

/* The operator of the options, without a grid; edge: of the finest level's voxels. */
clv_fluid_operator clv_flow_operator(const clvox_register_options *options, const double edge[3]);

/* CLVOX_ERROR_ARGUMENT where the options say no flow. */
int clv_flow_check(const clvox_register_options *options);

/* Makes run->domain a size that transforms quickly. */
void clv_flow_domain(clv_registration *run);

/* Buffers of --timesteps velocities and all that goes with them; returns their number. */
int clv_flow_requests(clv_registration *run, clv_request *list);

/* Tables of the transform and the window R of a level; clv_flow_end releases them, also after a failure. */
int clv_flow_begin(clv_flow_level *flow, clv_registration *run, const clv_pyramid_level *level);
void clv_flow_end(clv_flow_level *flow);

/* out = K f; out may be f. kind: of the solve. */
int clv_flow_smooth(const clv_flow_level *flow, int kind, const clv_buffer *f, clv_buffer *out);

/* out = L L v, which R K f is for f inside. out is not v; scratch is as large. */
int clv_flow_momentum(const clv_flow_level *flow, const clv_buffer *v, clv_buffer *scratch, clv_buffer *out);

/* Positions at both ends of the flow: run->u and u_fixed. */
int clv_flow_integrate(const clv_flow_level *flow);

/* The same, S and voxels of each comparison at CLV_FLOW_METRIC, and the forces dS/du of all terms. */
int clv_flow_compare(const clv_flow_level *flow);

/* The terms' mean metric a voxel, and their S times the metric's strength and flow->scale, which it settles,
 * from what was read of numbers at CLV_FLOW_METRIC. */
int clv_flow_metric(clv_flow_level *flow, const float *numbers, double *mean, double *sum);

/* factor dS/dv_k, of that S, from the forces, which it overwrites; v stays. Without `each`, into w_k. `each`
 * takes one after the other, and may use the spare field: no w is needed then, but positions are found again
 * from checkpoints in run->u and u_fixed. */
typedef int (*clv_flow_each)(const clv_flow_level *flow, int k, const clv_buffer *gradient);
int clv_flow_adjoint(const clv_flow_level *flow, float factor, clv_flow_each each);

/* After the last level, on its grid: run->u and run->inverse on the fixed grid, without folds. */
int clv_flow_finish(clv_registration *run, const clvox_grid *at);

/* ---- the energy going down, as LDDMM and shooting share it ---- */

/* First member of what a model knows of a level. */
typedef struct clv_flow_descent {
    clv_flow_level flow;
    double lambda;
    double energy; /* E / lambda */
    double mean;   /* metric a voxel */
    double slope;  /* with which E / lambda falls along the direction */
} clv_flow_descent;

typedef struct clv_flow_steps {
    /* E / lambda and the mean metric of where the model stands. */
    int (*look)(clv_flow_descent *d, double *energy, double *mean);
    /* One iteration, which updates d->energy and d->mean. *e: the step to try, 0 to be found, then the next
     * one; 0 where none lowers the energy. longest: voxels that a step may move. */
    int (*iterate)(clv_flow_descent *d, double longest, double *e);
} clv_flow_steps;

/* Whether a step has lowered the energy to `energy` by enough: half of what the slope says; last: a tenth,
 * along what is tried after all else. */
bool clv_flow_enough(const clv_flow_descent *d, double step, double energy, bool last);

/* The step to try after one that did not. begun: an iteration before has taken one as long. */
double clv_flow_shorter(double step, bool begun);

/* The step to try in the next iteration, after `failed` in this one. */
double clv_flow_next(double step, int failed);

/* The iterations of a level: until they are done, the energy stands still or no step lowers it. share: of
 * the whole work. *done: their number. */
int clv_flow_descend(clv_flow_descent *d, const clv_flow_steps *steps, int index, double share, int *done);

/* All levels, each with its share of the work; leaves the maps. at: the grid of the level before, then its own. */
int clv_flow_run(clv_registration *run, clvox_register_result *result,
                 int (*level)(clv_registration *run, int index, double share, clvox_grid *at,
                              clvox_register_result *result));

/* The options of flows, for clv_model.takes. */
extern const char *const clv_flow_takes[];

#endif
