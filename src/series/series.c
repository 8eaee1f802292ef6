/* SPDX-License-Identifier: Apache-2.0 */
/* Motion in a 4-D scan: the linear stage of a registration, whose fixed image
 * stays on the device while frame after frame is compared with it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/matrix.h"
#include "base/progress.h"
#include "base/status.h"
#include "image/outliers.h"
#include "op/image/gaussian.h"
#include "op/image/pointwise.h"
#include "register/linear/linear.h"
#include "register/options.h"
#include "register/problem.h"
#include "runtime/device/host.h"
#include "series/series.h"

/* A shell of fewer frames has no mean that says more than the one without weighting. */
enum { LEAST_OF_SHELL = 3, MOST_SHELLS = 64, STARTS = 2 };
/* Work of resampling a frame over that of registering it once. */
static const double RESAMPLING = .3;

typedef struct series_run {
    clvox_context *ctx;
    const clvox_volume *series, *mask;
    const clvox_series_options *o;
    clvox_series_frame *frame;
    int *shell, shells, reference; /* of each frame; reference: -1 where that is an image of its own */
    bool *found;                   /* frames that have a matrix */
    bool weighted;                 /* a DWI with its gradients */
    const char *stage;
    double done, all;
} series_run;

/* An image that frames are compared with. */
typedef struct target {
    clvox_register_options options;
    clv_registration run;
    clv_linear_stage stage;
    double smooth_mm; /* of both images, alike in all directions: so it does not rotate with the head */
    clv_problem stored, problem; /* in RAS order; and on one grid */
    const clvox_volume *mask; /* of the fixed image, on its grid; NULL: none */
    clvox_volume *known[2];   /* voxels that count: of the fixed image, of the frame that is shown */
    clv_request requests[CLV_REGISTER_REQUESTS];
    int count;
} target;

/* One frame as a volume; its data stay the series'. */
static clvox_volume frame_of(const series_run *s, int i)
{
    clvox_volume out = *s->series;
    out.frames = 1;
    out.data += (size_t)i * clvox_grid_voxels(&out.grid);
    return out;
}

static int tick(series_run *s, double work)
{
    s->done += work;
    if (clv_progress_stage(s->o->progress, s->o->user, s->stage, fmin(s->done / s->all, 1)))
        return clvox_fail(CLVOX_ERROR_STOPPED, "stopped");
    return CLVOX_OK;
}

/* ---- one target ---------------------------------------------------------- */

/* Smooths an image from the voxels that its mask buffer shows. whole: those are all. */
static int soften(target *t, bool is_moving, bool whole)
{
    int status = CLVOX_OK;
    clv_registration *run = &t->run;
    clv_channel *c = &run->channels[0];
    const clvox_grid *grid = is_moving ? &run->moving_grid : &run->fixed_grid;
    clv_buffer *image = is_moving ? c->moving : c->fixed,
               *known = run->masks.of[is_moving],
               *soft = is_moving ? c->level_moving : c->level_fixed;
    float sigma[3];
    double edge[3];
    if (!(t->smooth_mm > 0))
        return CLVOX_OK;
    clvox_grid_spacing(grid, edge);
    for (int a = 0; a < 3; a++)
        sigma[a] = grid->size[a] > 1 ? (float)(t->smooth_mm / edge[a]) : 0;
    if (!whole)
        CLV_TRY(clv_pointwise(run->ctx, CLV_POINTWISE_MULTIPLY, CLV_VOLUME(image, grid->size), image, known,
                              NULL, (float[4]){1, 0, 0, 0}));
    CLV_TRY(clv_gaussian(run->ctx, CLV_VOLUME(image, grid->size), sigma, CLV_GAUSSIAN_AUTO, run->scratch_a,
                         soft));
    if (whole) {
        CLV_TRY(clv_buffer_copy(run->ctx, soft, 0, image, 0, clvox_grid_voxels(grid) * sizeof(float)));
    } else {
        CLV_TRY(clv_gaussian(run->ctx, CLV_VOLUME(known, grid->size), sigma, CLV_GAUSSIAN_AUTO,
                             run->scratch_a, run->scratch_b));
        CLV_TRY(clv_pointwise(run->ctx, CLV_POINTWISE_DIVIDE, CLV_VOLUME(image, grid->size), soft,
                              run->scratch_b, NULL, (float[4]){1, 0.01f, 0, 0}));
    }
end:
    return status;
}

/* How far from the border smoothing and interpolation show what lies beyond it, in voxels: two sigma and
 * one voxel at least, but half of each axis is left. */
static void reach_of(const target *t, const clvox_grid *grid, int reach[3])
{
    double edge[3];
    clvox_grid_spacing(grid, edge);
    for (int a = 0; a < 3; a++)
        reach[a] = (int)fmin(fmax(1, round(2 * t->smooth_mm / edge[a])), grid->size[a] / 4);
}

/* Sends an image, softened, to one side, with the voxels of it that count as its mask. */
static int target_send(const series_run *s, target *t, bool is_moving, const clvox_volume *image)
{
    int status = CLVOX_OK, reach[3];
    clv_buffer *mask = t->run.masks.of[is_moving];
    clvox_volume *known = t->known[is_moving];
    const size_t n = clvox_grid_voxels(&image->grid);
    const float *given = is_moving || !t->mask ? NULL : t->mask->data;
    clv_buffer *to = is_moving ? t->run.channels[0].moving : t->run.channels[0].fixed;
    float low, high;
    bool far;
    CLV_TRY(clv_register_send(s->ctx, image, to, t->run.partial, t->run.state));
    CLV_TRY(clv_outliers_find(image, &low, &high, &far));
    if (far)
        CLV_TRY(clv_pointwise(s->ctx, CLV_POINTWISE_CLAMP, CLV_VOLUME(to, image->grid.size), to, NULL, NULL,
                              (float[4]){1, 0, low, high}));
    const bool whole = clv_series_shown(image, known->data);
    CLV_TRY(clv_buffer_write(s->ctx, mask, 0, known->data, n * sizeof(float)));
    CLV_TRY(soften(t, is_moving, whole));
    reach_of(t, &image->grid, reach);
    CLV_TRY(clv_series_shrink(image->grid.size, reach, known->data));
    t->stage.flat = false;
    for (int all = 0; all < 2; all++) {
        for (size_t k = 0; k < n; k++)
            known->data[k] = (all || known->data[k] > 0) && (!given || given[k] > 0);
        CLV_TRY(clv_buffer_write(s->ctx, mask, 0, known->data, n * sizeof(float)));
        status = clv_linear_levels_fill(&t->stage, is_moving);
        /* Too little is left, as in a mask at the border, or between holes: better all of it than nothing. */
        if (status != CLVOX_ERROR_DATA)
            break;
    }
end:
    return status;
}

static void target_close(target *t)
{
    clv_linear_levels_free(&t->stage);
    clv_pool_release(t->requests, t->count);
    clvox_volume_destroy(&t->known[0]);
    clvox_volume_destroy(&t->known[1]);
    clv_problem_free(&t->problem);
    clv_problem_free(&t->stored);
    t->count = 0;
}

/* By the edge of cubes as large as the series' voxels. Joint histograms smooth by themselves, and mixed
 * tissues are values of their own to them: half of it is best. */
static double smooth_of(const series_run *s, clvox_metric metric)
{
    double edge = cbrt(fabs(clv_matrix_determinant(s->series->grid.to_ras)));
    return s->o->smooth_voxels * edge * (metric == CLVOX_METRIC_MI ? .5 : 1);
}

/* How frames are registered to an image. */
static void target_options(const clvox_series_options *o, clvox_metric metric, clvox_register_options *out)
{
    clvox_register_defaults(out);
    out->init = CLVOX_INIT_HEADER;
    out->deform = CLVOX_DEFORM_NONE;
    out->linear = o->linear;
    out->linear_metric = out->metric = metric;
    out->linear_bins = o->bins;
}

/* Between weightings the outline of the head says most: mutual information inside of a brain alone was
 * off by millimetres on real scans, while the whole heads agreed with others' results. */
static bool by_outline(const series_run *s, clvox_metric metric)
{
    return s->weighted && metric == CLVOX_METRIC_MI;
}

/* To be closed also after a failure. */
static int target_open(const series_run *s, const clvox_volume *image, clvox_metric metric, target *t)
{
    int status = CLVOX_OK;
    clvox_volume first = frame_of(s, 0);
    const clvox_register_images given = {.fixed = {image},
                                         .moving = {&first},
                                         .weight = {1},
                                         .channels = 1,
                                         .fixed_mask = by_outline(s, metric) ? NULL : s->mask};
    memset(t, 0, sizeof *t);
    t->smooth_mm = smooth_of(s, metric);
    target_options(s->o, metric, &t->options);
    const clv_problem asked = clv_problem_of(s->ctx, &given, &t->options);
    CLV_TRY(clv_problem_enter(&clv_step_ras_order, &asked, &t->stored));
    CLV_TRY(clv_problem_enter(&clv_step_one_grid, &t->stored, &t->problem));
    clvox_register_images *images = &t->problem.images;
    t->mask = images->fixed_mask;
    CLV_TRY(clvox_volume_create(&images->fixed[0]->grid, 1, CLVOX_KIND_SCALAR, &t->known[0]));
    CLV_TRY(clvox_volume_create(&images->moving[0]->grid, 1, CLVOX_KIND_SCALAR, &t->known[1]));
    for (int k = 0; k < 2; k++)
        for (size_t i = 0; i < clvox_grid_voxels(&t->known[k]->grid); i++)
            t->known[k]->data[i] = k || !t->mask || t->mask->data[i] > 0;
    images->fixed_mask = t->known[0];
    images->moving_mask = t->known[1];
    CLV_TRY(clv_register_refuse(s->ctx, images, &t->options));
    t->run = (clv_registration){.ctx = s->ctx, .problem = &t->problem, .options = &t->options};
    clv_matrix_identity(t->run.matrix);
    clv_register_describe(&t->run, &images->fixed[0]->grid, &images->moving[0]->grid);
    int count = clv_register_list(&t->run, t->requests);
    CLV_TRY(clv_pool_take(s->ctx, t->requests, count));
    t->count = count;
    CLV_TRY(clv_register_upload(&t->run));
    t->stage = (clv_linear_stage){.run = &t->run, .metric = metric, .bins = s->o->bins};
    CLV_TRY(clv_linear_levels_take(&t->stage));
    CLV_TRY(target_send(s, t, false, images->fixed[0]));
    if (t->stage.flat)
        status =
            clvox_fail(CLVOX_ERROR_DATA, "the reference has one value%s: there is nothing to align frames by",
                       s->mask ? " inside the mask" : "");
end:
    return status;
}

/* Puts an image of the series' grid in the place of the moving one. */
static int target_show(const series_run *s, target *t, const clvox_volume *image)
{
    int status = CLVOX_OK;
    clvox_volume *own = NULL;
    clv_orientation o;
    clv_orientation_of(&image->grid, &o);
    if (!clv_orientation_same(&o))
        CLV_TRY(clv_orientation_volume(image, &o, NULL, &own));
    CLV_TRY(target_send(s, t, true, own ? own : image));
end:
    clvox_volume_destroy(&own);
    return status;
}

/* The best map of the image that is shown, from the better of count starts; near: all of them lie beside it.
 * Where nothing overlaps it is the first start, and likeness NaN. */
static int target_find(const series_run *s, target *t, double starts[][4][4], int count, bool near,
                       double matrix[4][4], double *likeness)
{
    int status = CLVOX_OK;
    clv_linear_stage *stage = &t->stage;
    const clvox_linear kind = s->o->linear, stiff = kind == CLVOX_LINEAR_AFFINE ? CLVOX_LINEAR_RIGID : kind;
    const clvox_metric metric = stage->metric, coarse = clv_metric_find(metric)->coarse;
    const clv_linear_level *level = stage->level;
    clv_linear_state states[STARTS];
    clv_matrix_copy(CLV_MATRIX(starts[0]), matrix);
    *likeness = NAN;
    for (int i = 0; i < count; i++)
        clv_linear_from_matrix(stage, CLV_MATRIX(starts[i]), &states[i]);
    if (!near) {
        CLV_TRY(clv_linear_optimise(
            stage, &(clv_linear_climb){{2, coarse, stage->bins, stiff}, 8, .02 * level[2].mm}, states,
            count));
        CLV_TRY(clv_linear_sort(stage, states, &count, 0));
        if (!count)
            goto end;
    }
    CLV_TRY(clv_linear_optimise(
        stage, &(clv_linear_climb){{1, metric, stage->bins, kind}, 8, .005 * level[1].mm}, states, 1));
    CLV_TRY(clv_linear_optimise(
        stage, &(clv_linear_climb){{0, metric, stage->bins, kind}, 12, .001 * level[0].mm}, states, 1));
    if (isfinite(states[0].value)) {
        clv_linear_to_matrix(stage, &states[0], matrix);
        *likeness = states[0].value;
    }
end:
    return status;
}

/* ---- passes -------------------------------------------------------------- */

static bool empty(const series_run *s, int i)
{
    return s->frame[i].flags & CLVOX_FRAME_EMPTY;
}

/* One frame, from where its neighbour was found (again: from its own place), and from the reference's place.
 */
static int follow(series_run *s, target *t, int i, bool again, const double neighbour[4][4])
{
    int status = CLVOX_OK;
    clvox_series_frame *f = &s->frame[i];
    clvox_volume image = frame_of(s, i);
    double starts[STARTS][4][4];
    clv_matrix_copy(again ? CLV_MATRIX(f->matrix) : neighbour, starts[0]);
    clv_matrix_identity(starts[1]);
    CLV_TRY(target_show(s, t, &image));
    if (t->stage.flat)
        f->flags |= CLVOX_FRAME_EMPTY;
    else
        CLV_TRY(target_find(s, t, starts, again ? 1 : STARTS, again, f->matrix, &f->likeness));
    CLV_TRY(tick(s, 1));
end:
    return status;
}

/* The frames of a shell (of all, first to last), from the reference outwards. */
static int pass(series_run *s, const clvox_volume *image, clvox_metric metric, int first, int last,
                bool again)
{
    int status = CLVOX_OK, from = s->reference < 0 ? s->series->frames / 2 : s->reference;
    target *t = calloc(1, sizeof *t);
    if (!t)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    CLV_TRY(target_open(s, image, metric, t));
    for (int way = 1; way >= -1; way -= 2) {
        double neighbour[4][4];
        clv_matrix_copy(CLV_MATRIX(s->frame[from].matrix), neighbour); /* the identity until it is found */
        for (int i = way > 0 ? from : from - 1; i >= 0 && i < s->series->frames; i += way) {
            bool takes = s->shell[i] >= first && s->shell[i] <= last;
            if (takes && !empty(s, i) && (again || i != s->reference)) {
                CLV_TRY(follow(s, t, i, again, CLV_MATRIX(neighbour)));
                s->found[i] = !empty(s, i);
            }
            if (s->found[i])
                clv_matrix_copy(CLV_MATRIX(s->frame[i].matrix), neighbour);
        }
    }
end:
    target_close(t);
    free(t);
    return status;
}

/* The mean of a shell's frames where they have been found to lie, NaN where none of them reaches. */
static int mean_of(series_run *s, int first, int last, clvox_volume **out)
{
    int status = CLVOX_OK;
    const clvox_grid *grid = &s->series->grid;
    size_t n = clvox_grid_voxels(grid);
    clvox_volume *moved = NULL;
    double *sum = calloc(n, sizeof *sum);
    int *count = calloc(n, sizeof *count);
    *out = NULL;
    if (!sum || !count) {
        status = clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory for the mean of the frames");
        goto end;
    }
    CLV_TRY(clvox_volume_create(grid, 1, CLVOX_KIND_SCALAR, out));
    for (int i = 0; i < s->series->frames; i++) {
        if (s->shell[i] < first || s->shell[i] > last || empty(s, i))
            continue;
        clvox_volume image = frame_of(s, i);
        clvox_transform affine = {.is_warp = 0};
        clv_matrix_copy(CLV_MATRIX(s->frame[i].matrix), affine.matrix);
        CLV_TRY(clvox_apply(s->ctx, &image, grid, &(clvox_link){&affine, 0}, 1, CLVOX_INTERPOLATE_CUBIC, NAN,
                            &moved));
        for (size_t k = 0; k < n; k++)
            if (isfinite(moved->data[k])) {
                sum[k] += (double)moved->data[k];
                count[k]++;
            }
        clvox_volume_destroy(&moved);
        CLV_TRY(tick(s, RESAMPLING));
    }
    for (size_t k = 0; k < n; k++)
        (*out)->data[k] = count[k] ? (float)(sum[k] / count[k]) : NAN;
end:
    free(sum);
    free(count);
    clvox_volume_destroy(&moved);
    if (status < 0)
        clvox_volume_destroy(out);
    return status;
}

static int frames_of(const series_run *s, int first, int last)
{
    int count = 0;
    for (int i = 0; i < s->series->frames; i++)
        count += s->shell[i] >= first && s->shell[i] <= last && !empty(s, i);
    return count;
}

/* Each frame of a shell again, to the mean of all of them. */
static int refine(series_run *s, int first, int last, clvox_volume **mean)
{
    int status = CLVOX_OK;
    *mean = NULL;
    CLV_TRY(mean_of(s, first, last, mean));
    CLV_TRY(pass(s, *mean, s->o->metric, first, last, true));
end:
    return status;
}

/* Frames of a shell lie where its mean does: that is brought to the mean without weighting. */
static int bring(series_run *s, int shell, const clvox_volume *unweighted, const clvox_volume *mean)
{
    int status = CLVOX_OK;
    target *t = calloc(1, sizeof *t);
    double start[1][4][4], offset[4][4], likeness;
    if (!t)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    clv_matrix_identity(start[0]);
    CLV_TRY(target_open(s, unweighted, CLVOX_METRIC_MI, t));
    CLV_TRY(target_show(s, t, mean));
    CLV_TRY(target_find(s, t, start, 1, true, offset, &likeness));
    for (int i = 0; i < s->series->frames; i++)
        if (s->shell[i] == shell)
            clv_matrix_multiply(CLV_MATRIX(s->frame[i].matrix), CLV_MATRIX(offset), s->frame[i].matrix);
end:
    target_close(t);
    free(t);
    return status;
}

/* Frames without weighting to each other, the others to their mean and then each shell by itself. */
static int find_weighted(series_run *s, const clvox_volume *reference)
{
    int status = CLVOX_OK;
    clvox_volume *unweighted = NULL, *mean = NULL;
    s->stage = "b = 0";
    CLV_TRY(pass(s, reference, s->o->metric, 0, 0, false));
    if (frames_of(s, 0, 0) > 1) {
        CLV_TRY(refine(s, 0, 0, &mean));
        clvox_volume_destroy(&mean);
    }
    CLV_TRY(mean_of(s, 0, 0, &unweighted));
    s->stage = "weighted frames";
    if (s->shells > 1)
        CLV_TRY(pass(s, unweighted, CLVOX_METRIC_MI, 1, s->shells - 1, false));
    s->stage = "shells";
    for (int k = 1; k < s->shells; k++) {
        if (frames_of(s, k, k) < LEAST_OF_SHELL)
            continue;
        CLV_TRY(refine(s, k, k, &mean));
        CLV_TRY(bring(s, k, unweighted, mean));
        clvox_volume_destroy(&mean);
    }
end:
    clvox_volume_destroy(&unweighted);
    clvox_volume_destroy(&mean);
    return status;
}

/* Frames in which nothing was found lie as the frame before them does, the first ones as the one after. */
static void fill_gaps(series_run *s)
{
    for (int way = 1; way >= -1; way -= 2)
        for (int i = way > 0 ? 1 : s->series->frames - 2; i >= 0 && i < s->series->frames; i += way)
            if (!s->found[i] && s->found[i - way]) {
                clv_matrix_copy(CLV_MATRIX(s->frame[i - way].matrix), s->frame[i].matrix);
                s->found[i] = true;
            }
}

static int find(series_run *s, const clvox_volume *given)
{
    int status = CLVOX_OK;
    clvox_volume own = frame_of(s, s->reference < 0 ? 0 : s->reference), *mean = NULL;
    const clvox_volume *reference = given ? given : &own;
    if (s->weighted)
        return find_weighted(s, reference);
    s->stage = "frames";
    CLV_TRY(pass(s, reference, s->o->metric, 0, 0, false));
    s->stage = "to the mean";
    if (s->o->target == CLVOX_SERIES_MEAN)
        CLV_TRY(refine(s, 0, 0, &mean));
end:
    clvox_volume_destroy(&mean);
    return status;
}

/* ---- before and after ---------------------------------------------------- */

static int check(const clvox_volume *series, const clvox_volume *reference, const clvox_volume *mask,
                 const clvox_gradients *gradients, const clvox_series_options *o)
{
    int status = clv_options_check(&clv_series_table, o);
    const clvox_volume *alone[2] = {reference, mask};
    if (status < 0)
        return status;
    if (!series || !series->data)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "there is no series");
    if (series->kind != CLVOX_KIND_SCALAR)
        return clvox_fail(CLVOX_ERROR_ARGUMENT,
                          "the series holds labels, colours, vectors or tensors, not frames in time");
    if (series->frames < 2)
        return clvox_fail(CLVOX_ERROR_ARGUMENT,
                          "the series has one frame: there is no motion to find; `-f` and `-m` "
                          "register two images");
    if (!clv_matrix_regular(series->grid.to_ras) || clvox_grid_voxels(&series->grid) > INT32_MAX / 3)
        return clvox_fail(CLVOX_ERROR_ARGUMENT,
                          "the series has no usable grid: its matrix must be regular, and a frame "
                          "have fewer than 2^31 / 3 voxels");
    status = clv_register_check_origin(&series->grid, "series");
    for (int k = 0; k < 2 && status >= 0; k++)
        status = alone[k] ? clv_register_check_origin(&alone[k]->grid, k ? "mask" : "reference") : CLVOX_OK;
    if (status < 0)
        return status;
    for (int k = 0; k < 2; k++)
        if (alone[k] && alone[k]->frames != 1)
            return clvox_fail(CLVOX_ERROR_ARGUMENT, "the %s has %d volumes; one is needed",
                              k ? "mask" : "reference", alone[k]->frames);
    if (o->distortion && (o->distortion->kind != CLVOX_KIND_DISPLACEMENT || o->distortion->frames != 3))
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "the distortion is no displacement");
    if (o->reference >= series->frames)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "there is no frame %d: the series has frames 0 to %d",
                          o->reference, series->frames - 1);
    if (gradients && gradients->count != series->frames)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "%d gradients for %d frames", gradients->count,
                          series->frames);
    if (o->linear == CLVOX_LINEAR_NONE || o->linear == CLVOX_LINEAR_SCALES)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "linear: translation, rigid, similarity or affine");
    if (o->interpolation != CLVOX_INTERPOLATE_LINEAR && o->interpolation != CLVOX_INTERPOLATE_CUBIC &&
        o->interpolation != CLVOX_INTERPOLATE_BSPLINE && o->interpolation != CLVOX_INTERPOLATE_LANCZOS)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "interpolation: linear, cubic, bspline or lanczos");
    return CLVOX_OK;
}

/* Flags frames of one value or none. */
static void find_empty(series_run *s)
{
    size_t n = clvox_grid_voxels(&s->series->grid);
    for (int i = 0; i < s->series->frames; i++) {
        const float *data = s->series->data + (size_t)i * n;
        float least = INFINITY, most = -INFINITY;
        for (size_t k = 0; k < n; k++)
            if (isfinite(data[k])) {
                least = fminf(least, data[k]);
                most = fmaxf(most, data[k]);
            }
        clv_matrix_identity(s->frame[i].matrix);
        s->frame[i].likeness = NAN;
        s->frame[i].flags = most > least ? 0 : CLVOX_FRAME_EMPTY;
    }
}

/* The shell nearest to each b-value. */
static int find_shells(series_run *s, const clvox_gradients *gradients)
{
    clvox_shell shell[MOST_SHELLS];
    s->shells = 1;
    if (!gradients)
        return CLVOX_OK;
    int count = clvox_gradients_shells(gradients, shell, MOST_SHELLS);
    if (count < 0)
        return count;
    s->shells = count < MOST_SHELLS ? count : MOST_SHELLS;
    for (int i = 0; i < gradients->count; i++)
        for (int k = 1; k < s->shells; k++)
            if (fabs(gradients->b[i] - shell[k].b) < fabs(gradients->b[i] - shell[s->shell[i]].b))
                s->shell[i] = k;
    return CLVOX_OK;
}

/* The frame asked for, or the one nearest to the middle, or the first without weighting, that is not empty.
 */
static int choose_reference(series_run *s)
{
    int frames = s->series->frames, at = s->o->reference;
    if (at >= 0 && empty(s, at))
        return clvox_fail(CLVOX_ERROR_DATA, "frame %d, the reference, is empty; choose another one", at);
    if (at >= 0 && s->shell[at])
        return clvox_fail(CLVOX_ERROR_ARGUMENT,
                          "frame %d is weighted; the reference of a DWI is one of the lowest b", at);
    for (int k = 0; at < 0 && k < frames; k++) {
        int i = s->weighted ? k : frames / 2 + (k & 1 ? -(k + 1) / 2 : k / 2);
        if (i >= 0 && i < frames && !empty(s, i) && !s->shell[i])
            at = i;
    }
    s->reference = at;
    return at >= 0 ? CLVOX_OK
                   : clvox_fail(CLVOX_ERROR_DATA, "every frame%s is empty: it has one value, or no number",
                                s->weighted ? " without weighting" : "");
}

/* Raises values that interpolation took below the least of the image, or below 0, to it. */
static void keep_above(const clvox_volume *image, clvox_volume *out)
{
    size_t n = clvox_grid_voxels(&image->grid);
    float least = 0;
    for (size_t k = 0; k < n; k++)
        if (isfinite(image->data[k]))
            least = fminf(least, image->data[k]);
    for (size_t k = 0; k < n; k++)
        if (out->data[k] < least)
            out->data[k] = least;
}

/* Every frame once, from the data as given. */
static int resample(series_run *s, clvox_series_result *r)
{
    int status = CLVOX_OK;
    const clvox_grid *grid = &s->series->grid;
    size_t n = clvox_grid_voxels(grid);
    clvox_volume *moved = NULL;
    const clvox_apply_options how = {.size = sizeof how, .interpolation = s->o->interpolation,
                                     .reorientation = CLVOX_REORIENT_NONE,
                                     .output = CLVOX_OUTPUT_FLOAT};
    const clvox_transform distortion = {.is_warp = 1, .warp = (clvox_volume *)s->o->distortion};
    const clvox_link undistorted = {&distortion, 0};
    clvox_volume *whole = NULL, *jacobian = NULL;
    clvox_jacobian_summary summary;
    double *sum = calloc(n, sizeof *sum);
    int *count = calloc(n, sizeof *count);
    s->stage = "resampling";
    if (!sum || !count) {
        status = clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory for the mean of the frames");
        goto end;
    }
    CLV_TRY(clvox_volume_create(grid, r->frames, CLVOX_KIND_SCALAR, &r->corrected));
    CLV_TRY(clvox_volume_create(grid, 1, CLVOX_KIND_SCALAR, &r->mean));
    r->corrected->stored = s->series->stored;
    r->corrected->frame_seconds = s->series->frame_seconds;
    CLV_TRY(clvox_volume_set_output(r->corrected, s->series, 0, s->o->output));
    if (s->o->distortion) {
        CLV_TRY(clvox_compose(s->ctx, grid, &undistorted, 1, &whole));
        CLV_TRY(clvox_jacobian(s->ctx, whole, NULL, 0, &jacobian, &summary));
    }
    for (int i = 0; i < r->frames; i++) {
        clvox_volume image = frame_of(s, i);
        float *to = r->corrected->data + (size_t)i * n;
        clvox_transform affine = {.is_warp = 0};
        clv_matrix_copy(CLV_MATRIX(s->frame[i].matrix), affine.matrix);
        CLV_TRY(tick(s, RESAMPLING));
        if (empty(s, i)) {
            memcpy(to, image.data, n * sizeof *to);
            continue;
        }
        /* From the undistorted reference to the reference as it is, and on to the frame. */
        const clvox_link links[] = {undistorted, {&affine, 0}};
        CLV_TRY(clvox_apply_with(s->ctx, &image, grid, s->o->distortion ? links : links + 1,
                                 s->o->distortion ? 2 : 1, &how, &moved));
        if (!s->o->ringing)
            keep_above(&image, moved);
        for (size_t k = 0; jacobian && k < n; k++)
            moved->data[k] *= fmaxf(jacobian->data[k], 0);
        memcpy(to, moved->data, n * sizeof *to);
        for (size_t k = 0; k < n; k++)
            if (isfinite(to[k])) {
                sum[k] += (double)to[k];
                count[k]++;
            }
        clvox_volume_destroy(&moved);
    }
    for (size_t k = 0; k < n; k++)
        r->mean->data[k] = count[k] ? (float)(sum[k] / count[k]) : 0;
end:
    free(sum);
    free(count);
    clvox_volume_destroy(&moved);
    clvox_volume_destroy(&whole);
    clvox_volume_destroy(&jacobian);
    return status;
}

/* Rotates directions of the scanner into the head, which matrix has rotated. */
static int rotate_gradients(const clvox_gradients *given, const clvox_series_frame *frame,
                          clvox_gradients **out)
{
    int status = CLVOX_OK;
    size_t n = (size_t)given->count;
    clvox_gradients *made = calloc(1, sizeof *made);
    if (made) {
        made->count = given->count;
        made->b = malloc(n * sizeof *made->b);
        made->direction = malloc(n * sizeof *made->direction);
        memcpy(made->length, given->length, sizeof made->length);
    }
    if (!made || !made->b || !made->direction) {
        clvox_gradients_destroy(&made);
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory for gradients");
    }
    for (size_t i = 0; i < n; i++) {
        double rotation[3][3];
        made->b[i] = given->b[i];
        CLV_TRY(clv_matrix_rotation(CLV_MATRIX(frame[i].matrix), rotation));
        for (int a = 0; a < 3; a++) {
            made->direction[i][a] = 0;
            for (int k = 0; k < 3; k++)
                made->direction[i][a] += rotation[k][a] * given->direction[i][k];
        }
    }
end:
    if (status < 0)
        clvox_gradients_destroy(&made);
    *out = made;
    return status;
}

void clvox_series_defaults(clvox_series_options *o)
{
    CLV_GIVEN_OR(, o);
    *o = (clvox_series_options){.size = sizeof *o,
                                .reference = -1,
                                .linear = CLVOX_LINEAR_RIGID,
                                .metric = CLVOX_METRIC_NCC,
                                .bins = 32,
                                .smooth_voxels = 1.25,
                                .interpolation = CLVOX_INTERPOLATE_LANCZOS,
                                .head_mm = 50,
                                .outlier_mm = .5};
}

/* Frames that are worked on, a unit each time. */
static double work_of(const series_run *s)
{
    bool twice = s->weighted || s->o->target == CLVOX_SERIES_MEAN;
    return s->series->frames * (twice ? 2 + 2 * RESAMPLING : 1 + RESAMPLING);
}

/* Everything that is known before frames are registered. s and result are released by the caller. */
static int prepare(series_run *s, const clvox_volume *reference, const clvox_gradients *gradients,
                   clvox_series_result *result)
{
    int status = CLVOX_OK;
    memset(result, 0, sizeof *result);
    CLV_TRY(check(s->series, reference, s->mask, gradients, s->o));
    const size_t frames = (size_t)s->series->frames;
    result->frames = s->series->frames;
    s->frame = result->frame = calloc(frames, sizeof *result->frame);
    s->shell = calloc(frames, sizeof *s->shell);
    s->found = calloc(frames, sizeof *s->found);
    if (!s->frame || !s->shell || !s->found)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    find_empty(s);
    CLV_TRY(find_shells(s, gradients));
    if (!reference)
        CLV_TRY(choose_reference(s));
end:
    return status;
}

/* Frames are registered to the reference, to means on the grid of the series, and resampled there. */
static size_t bytes_of(const series_run *s, const clvox_volume *reference)
{
    clvox_volume frame = frame_of(s, 0);
    const clvox_volume *targets[] = {&frame, reference};
    const clvox_metric metrics[] = {s->o->metric, CLVOX_METRIC_MI};
    const int buffers =
        (s->o->interpolation == CLVOX_INTERPOLATE_BSPLINE ? 3 : 2) + (s->o->distortion ? 6 : 0);
    size_t most = (size_t)buffers * sizeof(float) * clvox_grid_voxels(&frame.grid);
    for (int t = 0; t < (reference ? 2 : 1); t++)
        for (int m = 0; m < (s->weighted ? 2 : 1); m++) {
            clvox_register_options o;
            const clvox_register_images images = {.fixed = {targets[t]},
                                                  .moving = {&frame},
                                                  .weight = {1},
                                                  .channels = 1,
                                                  .fixed_mask = targets[t],
                                                  .moving_mask = &frame};
            target_options(s->o, metrics[m], &o);
            const size_t bytes = clvox_register_bytes(&images, &o);
            most = bytes > most ? bytes : most;
        }
    return most;
}

int clvox_series_predict(const clvox_volume *series, const clvox_volume *reference, const clvox_volume *mask,
                               const clvox_gradients *gradients, const clvox_series_options *options,
                               clvox_series_plan *plan)
{
    CLV_GIVEN(series, plan);
    clvox_series_options standard;
    clvox_series_defaults(&standard);
    options = options ? options : &standard;
    clvox_series_result result;
    series_run s = {.series = series, .mask = mask, .o = options, .reference = -1, .weighted = gradients != NULL};
    *plan = (clvox_series_plan){.reference = -1};
    int status = prepare(&s, reference, gradients, &result);
    if (status >= 0) {
        *plan = (clvox_series_plan){.reference = s.reference, .shells = s.shells, .device_bytes = bytes_of(&s, reference)};
        for (int i = 0; i < series->frames; i++)
            plan->empty += empty(&s, i);
    }
    free(s.shell);
    free(s.found);
    clvox_series_result_destroy(&result);
    return status;
}

int clvox_register_series(clvox_context *context, const clvox_volume *series, const clvox_volume *reference,
                          const clvox_volume *mask, const clvox_gradients *gradients,
                          const clvox_series_options *options, clvox_series_result *result)
{
    CLV_GIVEN(context, series, result);
    CLV_HOST_THREADS(context);
    clvox_series_options standard;
    clvox_series_defaults(&standard);
    options = options ? options : &standard;
    int status = CLVOX_OK;
    double mark = clv_seconds();
    series_run s = {.ctx = context,
                    .series = series,
                    .mask = mask,
                    .o = options,
                    .reference = -1,
                    .weighted = gradients != NULL};
    CLV_TRY(prepare(&s, reference, gradients, result));
    const size_t held = clv_peak_start(context);
    if (s.reference >= 0)
        s.found[s.reference] = true;
    s.all = work_of(&s);
    CLV_TRY(find(&s, reference));
    fill_gaps(&s);
    result->reference = s.reference;
    CLV_TRY(clv_series_motion(options, &series->grid, s.shell, s.shells, result));
    if (gradients)
        CLV_TRY(rotate_gradients(gradients, s.frame, &result->gradients));
    result->seconds_register = clv_seconds() - mark;
    mark = clv_seconds();
    CLV_TRY(resample(&s, result));
    result->seconds_resample = clv_seconds() - mark;
    result->device_bytes = clv_peak_bytes(context) - held;
end:
    free(s.shell);
    free(s.found);
    if (status < 0)
        clvox_series_result_destroy(result);
    return status;
}

void clvox_series_result_destroy(clvox_series_result *r)
{
    if (!r)
        return;
    clvox_volume_destroy(&r->corrected);
    clvox_volume_destroy(&r->mean);
    clvox_gradients_destroy(&r->gradients);
    free(r->frame);
    r->frame = NULL;
}
