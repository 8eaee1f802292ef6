/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/progress.h"
#include "base/status.h"
#include "clvox/tensor.h"
#include "op/image/pointwise.h"
#include "op/tensor/primal_dual.h"
#include "runtime/device/host.h"
#include "transform/field.h"
#include "tensor/noise.h"
#include "tensor/options.h"
#include "tensor/resident.h"

/* Tensors are worked on in 1e-3 mm^2/s. */
static const float UNIT = 1e3f;
static const float FLOOR = 0.01f;

enum { CHECK_EVERY = 10, MOST_ITERATIONS = 500 };

typedef struct denoise {
    clvox_context *ctx;
    const clvox_tensor_denoise_options *options;
    clvox_tensor_denoise_result *result;
    const clv_resident *at; /* NULL: the tensor is on the host alone */
    int n;
    clv_tensor_pd pd;
    clv_buffer *links, *first, *data; /* f, and f of the Bregman iteration */
    clv_buffer *radius;               /* of rounds of reweighting */
    int bregman, reweight;            /* as asked for, or as the model wants */
    int round, rounds;
} denoise;

void clvox_tensor_denoise_defaults(clvox_tensor_denoise_options *options)
{
    CLV_GIVEN_OR(, options);
    *options = (clvox_tensor_denoise_options){
        .size = sizeof *options, .reweight = -1, .bregman = -1, .lambda = -1, .iterations = -1,
        .tolerance = 2e-3};
}

/* ---- what is asked for -------------------------------------------------- */

static int check(const clvox_volume *tensor, const clvox_volume *noise, const clvox_volume *mask,
                 const clvox_tensor_denoise_options *o)
{
    int status = CLVOX_OK;
    if (tensor->frames != 6)
        return clvox_fail(CLVOX_ERROR_DATA, "a tensor has 6 volumes, not %d", tensor->frames);
    if (noise && (noise->frames != 1 || !clvox_grid_equal(&noise->grid, &tensor->grid)))
        return clvox_fail(CLVOX_ERROR_DATA, "the noise map does not lie on the tensor's grid");
    if (mask && (mask->frames != 1 || !clvox_grid_equal(&mask->grid, &tensor->grid)))
        return clvox_fail(CLVOX_ERROR_DATA, "the mask does not lie on the tensor's grid");
    CLV_TRY(clv_tensor_denoise_options_check(o));
    CLV_TRY(clv_field_check(&tensor->grid));
end:
    return status;
}

/* By Sylvester's test of D - floor I. */
static bool positive(const float *d, size_t n, double least)
{
    double a = (double)d[0] - least, b = (double)d[n], c = (double)d[2 * n], e = (double)d[3 * n] - least;
    double f = (double)d[4 * n], g = (double)d[5 * n] - least;
    return a > 0 && a * e - b * b > 0 && a * (e * g - f * f) - b * (b * g - c * f) + c * (b * f - c * e) > 0;
}

/* inside: 1 where the tensor is denoised. */
static int choose(const clvox_volume *tensor, const clvox_volume *mask, float *inside,
                  clvox_tensor_denoise_result *r)
{
    size_t n = clvox_grid_voxels(&tensor->grid);
    for (size_t i = 0; i < n; i++) {
        bool finite = true, empty = true;
        inside[i] = 0;
        if (mask && !(mask->data[i] > 0))
            continue;
        for (int c = 0; c < 6; c++) {
            float v = tensor->data[i + (size_t)c * n];
            finite = finite && isfinite(v);
            empty = empty && !(v > 0) && !(v < 0);
        }
        r->not_finite += !finite;
        r->empty += finite && empty;
        if (!finite || empty)
            continue;
        inside[i] = 1;
        r->voxels++;
        r->not_positive += !positive(tensor->data + i, n, (double)FLOOR / (double)UNIT);
    }
    if (!r->voxels)
        return clvox_fail(CLVOX_ERROR_DATA, "%s",
                          mask ? "no tensor inside the mask is finite and above 0"
                               : "no tensor of the volume is finite and above 0");
    return CLVOX_OK;
}

/* lambda in units of the model, from the noise. */
static int set_lambda(denoise *run, const clvox_volume *tensor, const clvox_volume *noise,
                      const float *inside)
{
    int status = CLVOX_OK;
    const clvox_tensor_denoise_options *o = run->options;
    clvox_tensor_denoise_result *r = run->result;
    bool log = o->model == CLVOX_TENSOR_MODEL_LOG;
    double relative;
    r->sigma = r->structure = NAN;
    r->lambda = o->lambda;
    if (o->lambda > 0)
        return CLVOX_OK;
    r->guessed = !noise;
    if (noise)
        CLV_TRY(clv_tensor_noise_read(tensor, noise, inside, &r->sigma, &relative));
    else
        CLV_TRY(clv_tensor_noise_guess(tensor, inside, &r->sigma, &relative));
    CLV_TRY(clv_tensor_structure(tensor, noise, r->sigma, inside, &r->structure));
    r->lambda = clv_tensor_lambda(log ? relative : r->sigma * (double)UNIT, relative, r->structure,
                                  run->bregman, run->reweight);
end:
    return status;
}

/* ---- the solver --------------------------------------------------------- */

static int tell(const denoise *run, double share)
{
    const clvox_tensor_denoise_options *o = run->options;
    double all = ((double)run->round + share) / run->rounds;
    if (clv_progress_stage(o->progress, o->user, "denoising", all < 1 ? all : 1))
        return clvox_fail(CLVOX_ERROR_STOPPED, "stopped");
    return CLVOX_OK;
}

static int primal_dual(denoise *run)
{
    int status = CLVOX_OK, steps = 0;
    const clvox_tensor_denoise_options *o = run->options;
    const bool fixed = o->iterations > 0;
    const int most = fixed ? o->iterations : MOST_ITERATIONS;
    clv_tensor_pd_energies e;
    double gap = INFINITY;
    CLV_TRY(clv_tensor_pd_start(run->ctx, &run->pd, run->round > 0));
    while (steps < most && (fixed || !(gap <= o->tolerance))) {
        for (int k = 0; k < CHECK_EVERY && steps < most; k++, steps++)
            CLV_TRY(clv_tensor_pd_step(run->ctx, &run->pd));
        if (fixed && steps < most && steps % 50)
            continue;
        CLV_TRY(clv_tensor_pd_energy(run->ctx, &run->pd, &e));
        gap = e.energy > 0 ? (e.energy - e.dual) / e.energy : 0;
        CLV_TRY(tell(run, fixed ? (double)steps / most : fmin(1, log(gap) / log(o->tolerance))));
    }
    run->result->gap = gap;
    run->result->iterations += steps;
end:
    return status;
}

/* Bregman: what an iteration took away is put on the data of the next. */
static int bregman(denoise *run)
{
    int status = CLVOX_OK;
    for (run->round = 0; run->round < run->rounds; run->round++) {
        const clv_image data = clv_image_on(&run->pd.data, run->data, 6);
        if (run->round)
            CLV_TRY(clv_pointwise(run->ctx, CLV_POINTWISE_LINEAR, &data, run->data, run->first,
                                  run->pd.tensor, (float[4]){1, 1, -1, 0}));
        CLV_TRY(primal_dual(run));
    }
end:
    return status;
}

/* Plain total variation, which shrinks contrast, then rounds that take their edges
 * from the one before, shrink them less and may smooth the rest more. */
static int reweight(denoise *run)
{
    static const float FIRST = 1.5f, CONTRAST = 0.5f; /* times lambda, over lambda: on phantoms */
    int status = CLVOX_OK;
    const float lambda = run->pd.lambda;
    run->pd.lambda = FIRST * lambda;
    for (run->round = 0; run->round < run->rounds; run->round++) {
        if (run->round) {
            CLV_TRY(clv_tensor_pd_radius(run->ctx, &run->pd, CONTRAST / lambda, run->radius));
            run->pd.radius = run->radius;
            run->pd.lambda = lambda;
        }
        CLV_TRY(primal_dual(run));
    }
    run->pd.radius = NULL;
end:
    return status;
}

static int solve(denoise *run)
{
    int status = CLVOX_OK;
    clv_tensor_pd_energies e;
    CLV_TRY(clv_tensor_pd_start(run->ctx, &run->pd, false));
    CLV_TRY(clv_tensor_pd_energy(run->ctx, &run->pd, &e));
    run->result->energy[0] = e.energy;
    CLV_TRY(run->reweight ? reweight(run) : bregman(run));
    run->result->bregman = run->bregman;
    run->result->reweight = run->reweight;
    run->pd.data.buffer = run->first;
    CLV_TRY(clv_tensor_pd_energy(run->ctx, &run->pd, &e));
    run->result->energy[1] = e.energy;
end:
    return status;
}

/* ---- the whole ---------------------------------------------------------- */

static int scale(denoise *run, const clvox_volume *tensor)
{
    int status = CLVOX_OK;
    size_t values = 6 * (size_t)run->n;
    float *scaled = NULL;
    if (run->at) {
        CLV_TRY(clv_buffer_copy(run->ctx, run->at->tensor, 0, run->pd.tensor, 0, values * sizeof(float)));
        return clv_tensor_inside(run->ctx, run->pd.tensor, run->links, run->n, UNIT, run->pd.tensor);
    }
    scaled = malloc(values * sizeof *scaled);
    if (!scaled)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    for (size_t i = 0; i < values; i++)
        scaled[i] = tensor->data[i] * UNIT;
    CLV_TRY(clv_buffer_write(run->ctx, run->pd.tensor, 0, scaled, values * sizeof *scaled));
end:
    free(scaled);
    return status;
}

static int upload(denoise *run, const clvox_volume *tensor, const float *inside, clv_buffer *mask)
{
    int status = CLVOX_OK;
    size_t bytes = 6 * (size_t)run->n * sizeof(float);
    CLV_TRY(clv_buffer_write(run->ctx, mask, 0, inside, (size_t)run->n * sizeof *inside));
    const clv_image inside_image = clv_image_on(&run->pd.data, mask, 1);
    CLV_TRY(clv_tensor_links(run->ctx, &inside_image, run->links));
    CLV_TRY(scale(run, tensor));
    if (run->options->model == CLVOX_TENSOR_MODEL_LOG)
        CLV_TRY(clv_tensor_log(run->ctx, run->pd.tensor, run->links, run->n, FLOOR, false));
    CLV_TRY(clv_buffer_copy(run->ctx, run->pd.tensor, 0, run->first, 0, bytes));
    CLV_TRY(clv_buffer_copy(run->ctx, run->pd.tensor, 0, run->data, 0, bytes));
end:
    return status;
}

static int download(denoise *run, const clvox_volume *tensor, const float *inside)
{
    int status = CLVOX_OK;
    size_t n = (size_t)run->n, bytes = 6 * n * sizeof(float);
    CLV_TRY(clvox_volume_create(&tensor->grid, 6, CLVOX_KIND_TENSOR, &run->result->tensor));
    float *out = run->result->tensor->data;
    if (run->options->model == CLVOX_TENSOR_MODEL_LOG)
        CLV_TRY(clv_tensor_log(run->ctx, run->pd.tensor, run->links, run->n, FLOOR, true));
    if (run->at) {
        CLV_TRY(clv_tensor_inside(run->ctx, run->pd.tensor, run->links, run->n, 1 / UNIT, run->at->tensor));
        return clv_buffer_read(run->ctx, run->at->tensor, 0, out, bytes);
    }
    CLV_TRY(clv_buffer_read(run->ctx, run->pd.tensor, 0, out, bytes));
    for (size_t i = 0; i < 6 * n; i++)
        out[i] = inside[i % n] > 0 ? out[i] * (1 / UNIT) : tensor->data[i];
end:
    return status;
}

/* Fills in the options that were left to the model. */
static void settle(denoise *run)
{
    const clvox_tensor_denoise_options *o = run->options;
    bool possible = o->model != CLVOX_TENSOR_MODEL_PAPER;
    run->reweight = o->reweight >= 0 ? o->reweight : o->bregman < 0 && possible ? 2 : 0;
    run->bregman = o->bregman > 0 ? o->bregman : run->reweight ? 1 : 3;
    run->rounds = run->reweight ? 1 + run->reweight : run->bregman;
}

static int work(denoise *run, const clvox_volume *tensor, const float *inside)
{
    int status = CLVOX_OK, taken = 0;
    clv_tensor_pd *pd = &run->pd;
    clv_buffer *mask = NULL;
    size_t plane = (size_t)run->n * sizeof(float);
    const clv_request list[] = {
        {&pd->tensor, 6 * plane, "tensor"},
        {&pd->ahead, 6 * plane, "extrapolated tensor"},
        {&pd->dual, clv_tensor_pd_dual_bytes(pd->data.size), "dual tensor field"},
        {&run->first, 6 * plane, "data"},
        {&run->data, 6 * plane, "data of a Bregman iteration"},
        {&mask, plane, "mask"},
        {&run->radius, plane, "where edges are"},
        {&run->links, clv_tensor_links_bytes(pd->data.size), "links"},
        {&pd->partial, CLV_TENSOR_PD_PARTIALS * sizeof(float), "partial sums"},
        {&pd->state, CLV_TENSOR_PD_STATE * sizeof(float), "sums"}};
    taken = sizeof list / sizeof *list;
    status = clv_pool_take(run->ctx, list, taken);
    if (status < 0)
        return status;
    pd->links = run->links;
    pd->data.buffer = run->data;
    CLV_TRY(upload(run, tensor, inside, mask));
    CLV_TRY(solve(run));
    CLV_TRY(download(run, tensor, inside));
end:
    clv_pool_release(list, taken);
    return status;
}

int clv_tensor_denoise_resident(clvox_context *context, const clvox_volume *tensor, const clvox_volume *noise,
                                const clvox_volume *mask, const clvox_tensor_denoise_options *options,
                                const clv_resident *at, clvox_tensor_denoise_result *result)
{
    int status = CLVOX_OK;
    double started = clv_seconds(), edge[3];
    clvox_tensor_denoise_options plain;
    clvox_tensor_denoise_defaults(&plain);
    denoise run = {.ctx = context, .options = options ? options : &plain, .result = result, .at = at};
    float *inside = NULL;
    size_t before = clv_peak_start(context);
    *result = (clvox_tensor_denoise_result){.tensor = NULL};
    CLV_TRY(check(tensor, noise, mask, run.options));
    run.n = (int)clvox_grid_voxels(&tensor->grid);
    settle(&run);
    inside = malloc((size_t)run.n * sizeof *inside);
    if (!inside) {
        status = clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
        goto end;
    }
    CLV_TRY(choose(tensor, mask, inside, result));
    CLV_TRY(set_lambda(&run, tensor, noise, inside));
    clvox_grid_spacing(&tensor->grid, edge);
    run.pd.data.components = 6;
    for (int a = 0; a < 3; a++) {
        run.pd.data.size[a] = tensor->grid.size[a];
        run.pd.data.spacing[a] = (float)edge[a];
    }
    run.pd.lambda = (float)result->lambda;
    run.pd.floor = run.options->model == CLVOX_TENSOR_MODEL_LOG ? -1 : FLOOR;
    run.pd.paper = run.options->model == CLVOX_TENSOR_MODEL_PAPER;
    CLV_TRY(work(&run, tensor, inside));
    result->device_bytes = clv_peak_bytes(context) - before;
    result->seconds = clv_seconds() - started;
end:
    free(inside);
    if (status < 0)
        clvox_volume_destroy(&result->tensor);
    return status;
}

int clvox_tensor_denoise(clvox_context *context, const clvox_volume *tensor, const clvox_volume *noise,
                         const clvox_volume *mask, const clvox_tensor_denoise_options *options,
                         clvox_tensor_denoise_result *result)
{
    CLV_GIVEN(context, tensor, result);
    CLV_HOST_THREADS(context);
    return clv_tensor_denoise_resident(context, tensor, noise, mask, options, NULL, result);
}
