/* SPDX-License-Identifier: Apache-2.0 */
/* Permutation tests: t of batches of permutations on the device, its enhancement and the counting of maxima on the
 * host. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "clvox/threads.h"
#include "base/progress.h"
#include "base/select.h"
#include "base/status.h"
#include "op/stats/glm_t.h"
#include "runtime/device/host.h"
#include "stats/options.h"
#include "stats/stats.h"

enum {
    BATCH = CLV_GLM_BATCH,
    ROUND = 8,         /* batches between two looks at the progress */
    LARGE_ROUND = 128, /* and where the data do not fit, are sent once a round */
    RANGE = 1 << 14    /* voxels that a host thread takes at once */
};

/* A statistic of the data, and what permutations say of it. */
typedef struct family {
    float *observed;  /* of every voxel that is tested; two-sided: with its sign */
    float *threshold; /* what counts as being as large */
    int32_t *count;   /* permutations that are, at the voxel */
    float *largest;   /* of all voxels, of every permutation */
} family;

typedef struct run {
    clvox_context *ctx;
    const clvox_stats_options *o;
    clv_stats_model model;
    clv_stats_data data;
    clv_stats_permuter permuter;
    clv_tfce tfce;
    family t, enhanced;
    int piece, pieces; /* voxels on the device at once, and how many times that is */
    int round;         /* batches whose weights are sent together */
    float *residuals;  /* of a piece */
    float *least;      /* and what counts as none */
    float *device_t;   /* of the data, rounded as those of permutations are, to which it is compared */
    float *weights;    /* of a round */
    float *maps;       /* t of the permutations of a round, with TFCE */
    float *scores;     /* and their enhancement */
    size_t batch;      /* floats of the weights of a batch */
    clv_glm glm;
    clv_buffer *residual_buffer, *least_buffer, *weight_buffer, *largest_buffer, *threshold_buffer,
        *count_buffer, *map_buffer;
} run;

/* ---- memory -------------------------------------------------------------- */

static void family_free(family *f)
{
    free(f->observed);
    free(f->threshold);
    free(f->count);
    free(f->largest);
}

static int family_make(const run *r, family *f)
{
    const size_t voxels = (size_t)r->data.tested, permutations = (size_t)r->permuter.count;
    f->observed = calloc(voxels, sizeof *f->observed);
    f->threshold = malloc(voxels * sizeof *f->threshold);
    f->count = calloc(voxels, sizeof *f->count);
    f->largest = malloc(permutations * sizeof *f->largest);
    return f->observed && f->threshold && f->count && f->largest
               ? CLVOX_OK
               : clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
}

/* How many voxels of residuals the device takes at once: all, or whole blocks. */
static int fit(run *r)
{
    const clvox_device_limits *l = clvox_context_limits(r->ctx);
    const double batches = (r->permuter.count + BATCH - 1) / BATCH, floats = r->o->tfce ? BATCH : 1;
    double bytes = .9 * (double)(l->free_bytes ? l->free_bytes : l->global_bytes),
           per_voxel = 4. * (r->model.subjects + 1);
    if (r->o->memory > 0)
        bytes = fmin(bytes, r->o->memory * 1048576);
    bytes -= 8. * r->data.tested + 4. * r->permuter.count + 4. * LARGE_ROUND * (double)r->batch;
    double most = bytes / (per_voxel + 4 * floats);
    if (l->max_allocation)
        most = fmin(most, (double)l->max_allocation / fmax(per_voxel, 4 * floats));
    most =
        fmin(most, 2147483647. / fmax(r->model.subjects, floats)) - CLV_GLM_BLOCK; /* kernels count by int */
    r->piece = r->data.tested;
    r->round = (int)fmin(r->o->tfce ? 1 : ROUND, batches);
    if (most < r->piece) {
        r->piece = (int)fmax(most, 0) / CLV_GLM_BLOCK * CLV_GLM_BLOCK;
        r->round = (int)fmin(LARGE_ROUND, batches);
        if (r->o->tfce) /* of whose maps the host holds half a GiB */
            r->round = (int)fmax(1, fmin(r->round, 536870912. / (4. * BATCH * r->data.tested)));
    }
    if (r->piece < 1)
        return clvox_fail(CLVOX_ERROR_MEMORY,
                          "%s leaves too little memory for the statistics of %d voxels and %d permutations%s",
                          l->name, r->data.tested, r->permuter.count,
                          r->o->memory > 0 ? "; give it more by --memory" : "");
    r->pieces = (r->data.tested + r->piece - 1) / r->piece;
    return CLVOX_OK;
}

enum { BUFFERS = 7 };
static void list_buffers(run *r, clv_request requests[BUFFERS])
{
    const size_t tested = (size_t)r->data.tested;
    const clv_request all[BUFFERS] = {
        {&r->residual_buffer, clv_glm_floats(r->model.subjects, r->piece) * sizeof(float),
         "residuals of the maps"},
        {&r->weight_buffer, (size_t)r->round * r->batch * sizeof(float), "weights of permutations"},
        {&r->largest_buffer, (size_t)r->permuter.count * sizeof(int32_t), "largest statistics"},
        {&r->threshold_buffer, tested * sizeof(float), "thresholds"},
        {&r->count_buffer, tested * sizeof(int32_t), "counts"},
        {&r->map_buffer, (size_t)r->piece * (r->o->tfce ? BATCH : 1) * sizeof(float), "maps of t"},
        {&r->least_buffer, (size_t)r->piece * sizeof(float), "least variances"},
    };
    memcpy(requests, all, sizeof all);
}

static int allocate(run *r)
{
    int status = CLVOX_OK;
    clv_request requests[BUFFERS];
    list_buffers(r, requests);
    const size_t maps = r->o->tfce ? (size_t)r->round * BATCH * (size_t)r->data.tested : 0;
    r->residuals = malloc(requests[0].bytes);
    r->least = malloc((size_t)r->piece * sizeof *r->least);
    r->device_t = malloc((size_t)r->data.tested * sizeof *r->device_t);
    r->weights = calloc((size_t)r->round * r->batch, sizeof *r->weights);
    r->maps = maps ? malloc(maps * sizeof *r->maps) : NULL;
    r->scores = maps ? malloc(maps * sizeof *r->scores) : NULL;
    if (!r->residuals || !r->least || !r->device_t || !r->weights || (maps && (!r->maps || !r->scores)))
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    CLV_TRY(family_make(r, &r->t));
    if (r->o->tfce)
        CLV_TRY(family_make(r, &r->enhanced));
    void *const host[BUFFERS] = {r->residuals};
    CLV_TRY(clv_pool_take_over(r->ctx, requests, host, BUFFERS));
    CLV_TRY(clv_buffer_fill(r->ctx, r->largest_buffer, 0, CLV_GLM_NONE, requests[2].bytes));
    CLV_TRY(clv_buffer_fill(r->ctx, r->count_buffer, 0, 0, requests[4].bytes));
    r->glm = (clv_glm){.data = r->residual_buffer,
                       .least = r->least_buffer,
                       .subjects = r->model.subjects,
                       .vectors = clv_stats_vectors(&r->model),
                       .dof = r->model.dof,
                       .absolute = r->o->two_sided};
end:
    return status;
}

static void release(run *r)
{
    clv_request requests[BUFFERS];
    list_buffers(r, requests);
    clv_pool_release(requests, BUFFERS);
    clv_stats_permuter_free(&r->permuter);
    clv_stats_data_free(&r->data);
    clv_stats_model_free(&r->model);
    clv_tfce_free(&r->tfce);
    family_free(&r->t);
    family_free(&r->enhanced);
    free(r->residuals);
    free(r->least);
    free(r->device_t);
    free(r->weights);
    free(r->maps);
    free(r->scores);
}

/* ---- t ------------------------------------------------------------------- */

/* Brings a piece of the residuals to the device. t: as of clv_stats_residuals. */
static int load(run *r, int piece, float *t)
{
    int status;
    const int first = piece * r->piece, left = r->data.tested - first;
    r->glm.voxels = left < r->piece ? left : r->piece;
    CLV_TRY(clv_finish(r->ctx)); /* the place of the residuals may be the device's own */
    CLV_TRY(clv_stats_residuals(&r->data, first, r->glm.voxels, r->residuals, r->least, t));
    CLV_TRY(clv_buffer_write(r->ctx, r->residual_buffer, 0, r->residuals,
                             clv_glm_floats(r->model.subjects, r->glm.voxels) * sizeof(float)));
    CLV_TRY(clv_buffer_write(r->ctx, r->least_buffer, 0, r->least, (size_t)r->glm.voxels * sizeof(float)));
end:
    return status;
}

/* Threshold of "at least as large": equal to the rounding of float32, and a little more. */
static float at_least(double value)
{
    return (float)(value - 1e-5 * fabs(value) - 1e-6);
}

static void set_thresholds(const run *r, const float *statistic, float *out)
{
    for (int i = 0; i < r->data.tested; i++)
        out[i] = at_least((double)(r->o->two_sided ? fabsf(statistic[i]) : statistic[i]));
}

/* t of the data as they are. The last piece stays on the device. */
static int observe(run *r)
{
    int status;
    clv_stats_as_is(&r->model, 0, r->weights);
    CLV_TRY(clv_buffer_write(r->ctx, r->weight_buffer, 0, r->weights, r->batch * sizeof(float)));
    for (int piece = 0; piece < r->pieces; piece++) {
        const int first = piece * r->piece;
        CLV_TRY(load(r, piece, r->t.observed + first));
        CLV_TRY(clv_glm_t(r->ctx, &r->glm,
                          &(clv_glm_batch){.weights = r->weight_buffer,
                                           .permutations = 1,
                                           .largest = r->largest_buffer,
                                           .first = first,
                                           .maps = r->map_buffer}));
        CLV_TRY(clv_buffer_read(r->ctx, r->map_buffer, 0, r->device_t + first,
                                (size_t)r->glm.voxels * sizeof(float)));
    }
    CLV_TRY(clv_buffer_fill(r->ctx, r->largest_buffer, 0, CLV_GLM_NONE,
                            (size_t)r->permuter.count * sizeof(int32_t)));
    set_thresholds(r, r->device_t, r->t.threshold);
    CLV_TRY(clv_buffer_write(r->ctx, r->threshold_buffer, 0, r->t.threshold,
                             (size_t)r->data.tested * sizeof(float)));
end:
    return status;
}

/* ---- TFCE ---------------------------------------------------------------- */

/* With its sign where both are tested: in a voxel it is of the sign of t. */
static int enhance(const run *r, const float *t, float *out)
{
    int status;
    memset(out, 0, (size_t)r->data.tested * sizeof *out);
    CLV_TRY(clv_tfce_enhance(&r->tfce, t, 1, out));
    if (r->o->two_sided)
        CLV_TRY(clv_tfce_enhance(&r->tfce, t, -1, out));
end:
    return status;
}

static int enhance_observed(run *r)
{
    int status;
    double most = 0;
    for (int i = 0; i < r->data.tested; i++) {
        const double t = (double)r->device_t[i];
        most = fmax(most, r->o->two_sided ? fabs(t) : t);
    }
    const clv_tfce what = {.size = r->data.size,
                           .place = r->data.place,
                           .count = r->data.tested,
                           .step = fmin(fmax(most / 100, .001), .1),
                           .height = r->o->tfce_height,
                           .extent = r->o->tfce_extent,
                           .connectivity = r->o->tfce_connectivity};
    CLV_TRY(clv_tfce_make(&what, &r->tfce));
    CLV_TRY(enhance(r, r->device_t, r->enhanced.observed));
    set_thresholds(r, r->enhanced.observed, r->enhanced.threshold);
    for (int i = 0; r->o->two_sided && i < r->data.tested; i++)
        if (r->device_t[i] < 0)
            r->enhanced.observed[i] = -r->enhanced.observed[i];
end:
    return status;
}

typedef struct enhancing {
    run *r;
    int first, count; /* permutations */
} enhancing;

static int enhance_one(void *user, size_t index, int worker)
{
    const enhancing *e = user;
    run *r = e->r;
    const size_t voxels = (size_t)r->data.tested;
    float *scores = r->scores + index * voxels, largest = 0;
    (void)worker;
    const int status = enhance(r, r->maps + index * voxels, scores);
    for (size_t i = 0; status >= 0 && i < voxels; i++)
        largest = fmaxf(largest, scores[i]);
    r->enhanced.largest[(size_t)e->first + index] = largest;
    return status;
}

static int count_range(void *user, size_t index, int worker)
{
    const enhancing *e = user;
    run *r = e->r;
    const size_t voxels = (size_t)r->data.tested, first = index * RANGE,
                 end = first + RANGE < voxels ? first + RANGE : voxels;
    (void)worker;
    for (size_t k = 0; k < (size_t)e->count; k++)
        for (size_t i = first; i < end; i++)
            r->enhanced.count[i] += r->scores[k * voxels + i] >= r->enhanced.threshold[i];
    return CLVOX_OK;
}

/* The permutations of a round, whose t is in maps. */
static int enhance_round(run *r, int first, int count)
{
    int status;
    enhancing e = {r, first, count};
    CLV_TRY(clvox_parallel((size_t)count, enhance_one, &e));
    CLV_TRY(clvox_parallel(((size_t)r->data.tested + RANGE - 1) / RANGE, count_range, &e));
end:
    return status;
}

/* ---- permutations -------------------------------------------------------- */

/* t of permutations slot to slot + count - 1, batch `at` of the round, in the piece that is loaded. */
static int test_batch(run *r, int piece, int at, int slot, int count)
{
    int status;
    const int first = piece * r->piece;
    CLV_TRY(clv_glm_t(r->ctx, &r->glm,
                      &(clv_glm_batch){.weights = r->weight_buffer,
                                       .at = at,
                                       .permutations = count,
                                       .largest = r->largest_buffer,
                                       .slot = slot,
                                       .threshold = r->threshold_buffer,
                                       .count = r->count_buffer,
                                       .first = first,
                                       .maps = r->o->tfce ? r->map_buffer : NULL}));
    for (int k = 0; r->o->tfce && k < count; k++)
        CLV_TRY(clv_buffer_read(r->ctx, r->map_buffer, (size_t)k * (size_t)r->glm.voxels * sizeof(float),
                                r->maps + (size_t)(at * BATCH + k) * (size_t)r->data.tested + first,
                                (size_t)r->glm.voxels * sizeof(float)));
end:
    return status;
}

static int tell(const run *r, double done)
{
    return clv_progress_stage(r->o->progress, r->o->user, "permutations", done / r->permuter.count)
               ? clvox_fail(CLVOX_ERROR_STOPPED, "stopped after %d of %d permutations", (int)done,
                            r->permuter.count)
               : CLVOX_OK;
}

static int test_round(run *r, int first)
{
    int status = CLVOX_OK;
    const int left = r->permuter.count - first, count = left < r->round * BATCH ? left : r->round * BATCH;
    for (int k = 0; k < count; k++)
        clv_stats_permute(&r->permuter, k % BATCH, r->weights + (size_t)(k / BATCH) * r->batch);
    CLV_TRY(clv_buffer_write(r->ctx, r->weight_buffer, 0, r->weights,
                             (size_t)((count + BATCH - 1) / BATCH) * r->batch * sizeof(float)));
    for (int piece = 0; piece < r->pieces; piece++) {
        if (r->pieces > 1) {
            CLV_TRY(tell(r, first + (double)count * piece / r->pieces));
            CLV_TRY(load(r, piece, NULL));
        }
        for (int k = 0; k < count; k += BATCH)
            CLV_TRY(test_batch(r, piece, k / BATCH, first + k, count - k < BATCH ? count - k : BATCH));
    }
    if (r->o->tfce)
        CLV_TRY(enhance_round(r, first, count));
end:
    return status;
}

static int test_all(run *r)
{
    int status;
    for (int done = 0; done < r->permuter.count; done += r->round * BATCH) {
        CLV_TRY(tell(r, done));
        CLV_TRY(test_round(r, done));
    }
    CLV_TRY(
        clv_buffer_read(r->ctx, r->count_buffer, 0, r->t.count, (size_t)r->data.tested * sizeof(int32_t)));
    CLV_TRY(clv_buffer_read(r->ctx, r->largest_buffer, 0, r->t.largest,
                            (size_t)r->permuter.count * sizeof(int32_t)));
    for (int k = 0; k < r->permuter.count; k++) {
        int32_t place;
        memcpy(&place, &r->t.largest[k], sizeof place);
        r->t.largest[k] = clv_glm_largest(place);
    }
end:
    return status;
}

/* ---- results ------------------------------------------------------------- */

static int by_value(const void *a, const void *b)
{
    const float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

/* How many of ascending values are at least as large. */
static int count_from(const float *values, int count, float least)
{
    int low = 0, high = count;
    while (low < high) {
        const int middle = low + (high - low) / 2;
        if (values[middle] < least)
            low = middle + 1;
        else
            high = middle;
    }
    return count - low;
}

/* The voxel of the largest statistic, and what it says of all. */
static void summarise(const run *r, const family *f, clvox_stats_map *out)
{
    const int count = r->permuter.count, allowed = (int)(.05 * count + 1e-9);
    const int *size = r->data.size;
    int best = 0;
    for (int i = 1; i < r->data.tested; i++)
        if (r->o->two_sided ? fabsf(f->observed[i]) > fabsf(f->observed[best])
                            : f->observed[i] > f->observed[best])
            best = i;
    const int place = r->data.place[best];
    out->largest = (double)(r->o->two_sided ? fabsf(f->observed[best]) : f->observed[best]);
    out->peak[0] = place % size[0];
    out->peak[1] = place / size[0] % size[1];
    out->peak[2] = place / size[0] / size[1];
    out->threshold = allowed > 0 ? (double)f->largest[count - 1 - allowed] : NAN;
}

/* Sorts largest. */
static int conclude(const run *r, family *f, const clvox_grid *grid, clvox_stats_map *out)
{
    int status;
    const double count = r->permuter.count;
    const size_t voxels = clvox_grid_voxels(grid);
    clvox_volume **const made[3] = {&out->statistic, &out->p, &out->p_fwe};
    for (int i = 0; i < 3; i++)
        CLV_TRY(clvox_volume_create(grid, 1, CLVOX_KIND_SCALAR, made[i]));
    for (size_t i = 0; i < voxels && !r->o->one_minus_p; i++)
        out->p->data[i] = out->p_fwe->data[i] = 1;
    qsort(f->largest, (size_t)r->permuter.count, sizeof *f->largest, by_value);
    out->smallest_p = out->smallest_p_fwe = 1;
    for (int i = 0; i < r->data.tested; i++) {
        const double p = f->count[i] / count;
        const double p_fwe = count_from(f->largest, r->permuter.count, f->threshold[i]) / count;
        const int32_t place = r->data.place[i];
        out->statistic->data[place] = f->observed[i];
        out->p->data[place] = (float)(r->o->one_minus_p ? 1 - p : p);
        out->p_fwe->data[place] = (float)(r->o->one_minus_p ? 1 - p_fwe : p_fwe);
        out->smallest_p = fmin(out->smallest_p, p);
        out->smallest_p_fwe = fmin(out->smallest_p_fwe, p_fwe);
        out->significant += p_fwe <= .05 * (1 + 1e-9);
    }
    summarise(r, f, out);
end:
    return status;
}

static int check(const clvox_stats_design *d, const clvox_stats_options *o)
{
    if (d->subjects < 1 || d->covariate_count < 0 || (d->covariate_count > 0 && !d->covariates))
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "a design of %d subjects and %d covariates is none",
                          d->subjects, d->covariate_count);
    return clv_options_check(&clv_stats_table, o);
}

int clvox_stats(clvox_context *context, const clvox_volume *const *maps, int count,
                const clvox_stats_design *design, const clvox_volume *mask,
                const clvox_stats_options *options, clvox_stats_result *result)
{
    CLV_GIVEN(context, maps, result);
    CLV_HOST_THREADS(context);
    int status;
    clvox_stats_options standard;
    clvox_stats_defaults(&standard);
    run r = {.ctx = context, .o = options ? options : &standard};
    *result = (clvox_stats_result){.dof = 0};
    CLV_TRY(check(design, r.o));
    CLV_TRY(clv_stats_model_make(design, r.o->less && !r.o->two_sided, &r.model));
    CLV_TRY(clv_stats_data_make(maps, count, &r.model, mask, &r.data));
    CLV_TRY(clv_stats_permuter_make(&r.model, r.o->permutations, r.o->seed, &r.permuter));
    r.batch = (size_t)BATCH * (size_t)r.model.subjects * (size_t)clv_stats_vectors(&r.model);
    CLV_TRY(fit(&r));
    CLV_TRY(allocate(&r));
    CLV_TRY(observe(&r));
    if (r.o->tfce)
        CLV_TRY(enhance_observed(&r));
    CLV_TRY(test_all(&r));
    CLV_TRY(conclude(&r, &r.t, &maps[0]->grid, &result->t));
    if (r.o->tfce)
        CLV_TRY(conclude(&r, &r.enhanced, &maps[0]->grid, &result->tfce));
    result->dof = r.model.dof;
    result->permutations = r.permuter.count;
    result->exact = r.permuter.exact;
    result->asked = r.data.asked;
    result->tested = (size_t)r.data.tested;
    result->not_finite = r.data.not_finite;
    result->constant = r.data.constant;
    result->perfect = r.data.perfect;
end:
    release(&r);
    if (status < 0)
        clvox_stats_result_destroy(result);
    return status;
}

void clvox_stats_result_destroy(clvox_stats_result *result)
{
    if (!result)
        return;
    clvox_stats_map *const maps[2] = {&result->t, &result->tfce};
    for (int i = 0; i < 2; i++) {
        clvox_volume_destroy(&maps[i]->statistic);
        clvox_volume_destroy(&maps[i]->p);
        clvox_volume_destroy(&maps[i]->p_fwe);
    }
    *result = (clvox_stats_result){.dof = 0};
}
