/* SPDX-License-Identifier: Apache-2.0 */
/* Non-local means of a level set (Lee et al. 2012, section 2.3, after Dong et al.
 * 2008): band, nearest patches, weights, update, re-distancing. */
#include "surface/denoise.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/progress.h"
#include "op/image/pointwise.h"
#include "op/surface/redistance.h"
#include "op/image/reduce.h"
#include "image/compare.h"

/* Slots of sums in run->state. */
enum { LARGEST_ROW, ENERGY };

/* How much of their planes patches are searched with: where a surface curves,
 * patches that face another way are found too; where it repeats, those in the
 * same plane come first. */
static const float PLANE_SHARE = 0.7f;

/* c2 over the noise, where patches are compared less their planes and whole; how much
 * more of it where a first result tells what is alike, whose own noise is small. */
static const double STRENGTH = 1.5, GUIDED = 6;

/* Noise, in voxels, from which on a mesh's patches are averaged twice. */
static const double GUIDED_FROM = 0.16;

/* A patch so near to its quadratic (squared distance over 125 samples) goes to
 * it by 1/e: for patches of the radius that is asked for, then for wider ones. */
static const double POLISH[] = {1.5, 2, 3};

/* The volume of a voxel, mm^3. */
static double cell_of(const clv_denoise_box *b)
{
    double edge = b->edge;
    return edge * edge * edge * (double)b->spacing[0] * (double)b->spacing[1] * (double)b->spacing[2];
}

/* ---- small tools -------------------------------------------------------- */

static int rounds_for(const clv_denoise *run)
{
    const clvox_denoise_options *o = run->options;
    if (o->update == CLVOX_DENOISE_PAPER)
        return 1;
    if (o->rounds > 0)
        return o->rounds;
    /* A second look takes the steps of a mesh for shape. */
    if (run->level_set->steps)
        return 1;
    return run->result->deviation > (run->level_set->surface ? GUIDED_FROM : CLV_DENOISE_NOISY) ? 2 : 1;
}

/* Strong noise leaves enough after one round that the result is averaged again. Of
 * weaker noise of vertices the result shows which patches are alike, and those of
 * the input are averaged once more: they have what the first round took with it. */
static bool guided(const clv_denoise *run, int round)
{
    return round > 0 && run->level_set->surface && run->result->deviation <= CLV_DENOISE_NOISY;
}

/* fraction: of the current round's search, which is nearly all. */
static int tell(clv_denoise *run, const char *stage, double fraction)
{
    const clvox_denoise_options *o = run->options;
    fraction = (run->result->rounds + 0.98 * fraction) / rounds_for(run);
    if (clv_progress_stage(o->progress, o->user, stage, fraction))
        return clvox_fail(CLVOX_ERROR_STOPPED, "stopped");
    return CLVOX_OK;
}

static int search_progress(void *user, double fraction)
{
    return tell(user, "search", fraction) < 0;
}

int clv_denoise_shift(clv_denoise *run, clv_buffer *phi, double want, double *shift)
{
    enum { MOST_STEPS = 24 };
    int status = CLVOX_OK;
    const clv_image image = clv_denoise_image(run, phi);
    double cells, inner = 0, outer = 0, at_inner, at_outer;
    *shift = 0;
    CLV_TRY(clv_nlm_volume(run->ctx, &image, 0, run->parts, &cells));
    const double enough = 2e-6 * want + 1e-4;
    at_inner = at_outer = cells - want;
    if (fabs(at_inner) <= enough)
        goto end;
    for (double step = 0.05; at_inner * at_outer > 0 && fabs(outer) < 1; step *= 2) {
        inner = outer;
        at_inner = at_outer;
        outer = fmin(step, 1) * (at_inner < 0 ? 1 : -1);
        CLV_TRY(clv_nlm_volume(run->ctx, &image, (float)outer, run->parts, &cells));
        at_outer = cells - want;
    }
    *shift = outer;
    /* Regula falsi; the end that stays counts half (Illinois). */
    for (int i = 0; i < MOST_STEPS && at_inner * at_outer < 0 && fabs(outer - inner) > 1e-6; i++) {
        double s = outer - at_outer * (outer - inner) / (at_outer - at_inner);
        CLV_TRY(clv_nlm_volume(run->ctx, &image, (float)s, run->parts, &cells));
        *shift = s;
        if (fabs(cells - want) <= enough)
            break;
        if ((cells - want) * at_outer < 0) {
            inner = outer;
            at_inner = at_outer;
        } else {
            at_inner *= 0.5;
        }
        outer = s;
        at_outer = cells - want;
    }
end:
    return status;
}

static int keep_volume(clv_denoise *run, clv_buffer *phi)
{
    int status = CLVOX_OK;
    double shift;
    if (run->options->free_volume)
        return CLVOX_OK;
    CLV_TRY(clv_denoise_shift(run, phi, run->volume, &shift));
    run->shift += shift;
    CLV_TRY(clv_pointwise(run->ctx, CLV_POINTWISE_LINEAR, CLV_VOLUME(phi, run->box.size), phi, NULL, NULL,
                          (const float[4]){1, 0, 0, (float)-shift}));
end:
    return status;
}

/* phi becomes a distance again, with the volume that it had. */
static int redistance(clv_denoise *run, bool keep)
{
    int status = CLVOX_OK;
    clv_image phi;
    double mark = clv_seconds();
    if (keep)
        CLV_TRY(keep_volume(run, run->phi));
    phi = clv_denoise_image(run, run->phi);
    CLV_TRY(clv_redistance(run->ctx, &phi, run->box.reach, run->other, run->scratch));
    clv_buffer *done = run->other;
    run->other = run->phi;
    run->phi = done;
    if (keep)
        CLV_TRY(keep_volume(run, run->phi));
    CLV_TRY(clv_finish(run->ctx));
    run->result->seconds_redistance += clv_seconds() - mark;
end:
    return status;
}

/* ---- a round ------------------------------------------------------------ */

/* The value that this share of every stride-th of the buffer's lies below. */
static int quantile_of(clv_denoise *run, const clv_buffer *from, size_t stride, double share, double *out)
{
    int status = CLVOX_OK;
    size_t count = (size_t)run->count, kept = 0;
    float *values = malloc(count * stride * sizeof(float));
    double *sorted = malloc(count * sizeof *sorted);
    *out = 0;
    if (!values || !sorted) {
        status = clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
        goto end;
    }
    CLV_TRY(clv_buffer_read(run->ctx, from, 0, values, count * stride * sizeof(float)));
    for (size_t i = 0; i < count; i++)
        if (isfinite(values[i * stride]))
            sorted[kept++] = (double)values[i * stride];
    if (kept)
        *out = clv_quantile(sorted, kept, share);
end:
    free(values);
    free(sorted);
    return status;
}

static int measure_energy(clv_denoise *run, const clv_nlm_graph *graph, int which)
{
    int status = CLVOX_OK;
    float sum;
    CLV_TRY(clv_nlm_energy(run->ctx, graph, run->phi, run->sums));
    CLV_TRY(clv_reduce(run->ctx, CLV_REDUCE_SUM, &(clv_terms){run->sums, NULL, NULL, 0, run->count},
                       run->partial, run->state, ENERGY));
    CLV_TRY(clv_buffer_read(run->ctx, run->state, ENERGY * sizeof(float), &sum, sizeof sum));
    run->result->energy[which] = (double)sum;
end:
    return status;
}

/* The input's patches, and their planes, in place of those that were compared. */
static int take_noisy(clv_denoise *run, clv_patches patches)
{
    int status = CLVOX_OK;
    const clv_nlm_matrix matrix = {run->matrix, run->count, run->box.radius};
    CLV_TRY(clv_buffer_write(run->ctx, run->other, 0, run->start, (size_t)run->box.n * sizeof(float)));
    patches.phi = clv_denoise_image(run, run->other);
    CLV_TRY(clv_nlm_patches_gather(run->ctx, &patches, run->matrix));
    if (run->planes)
        CLV_TRY(clv_nlm_planes(run->ctx, &matrix, PLANE_SHARE, run->noisy, run->estimates, run->middles));
end:
    return status;
}

/* Patches, their noise, neighbours and weights. */
static int compare_patches(clv_denoise *run, int round, clv_nlm_graph *graph)
{
    int status = CLVOX_OK;
    const clvox_denoise_options *o = run->options;
    const clv_denoise_box *b = &run->box;
    clvox_denoise_result *r = run->result;
    const clv_image grid = clv_denoise_image(run, run->phi);
    const clv_patches patches = {.phi = grid, .band = run->band, .count = run->count, .radius = b->radius};
    const clv_nlm_matrix matrix = {run->matrix, run->count, b->radius};
    clv_patch_search_args search = {.patches = patches, .most = run->most,
                                    .reach = o->search == CLVOX_DENOISE_NEAR ? (float)o->radius : 0,
                                    .neighbours = run->neighbours, .distances = run->weights,
                                    .scratch = run->search, .progress = search_progress, .user = run};
    const bool guide = guided(run, round);
    double noise = 0, quiet = 0, whole, samples = o->patch * o->patch * o->patch, mark = clv_seconds();
    CLV_TRY(clv_nlm_patches_gather(run->ctx, &patches, run->matrix));
    CLV_TRY(clv_nlm_residual(run->ctx, &matrix, run->sums));
    CLV_TRY(quantile_of(run, run->sums, 1, 0.5, &noise));
    CLV_TRY(quantile_of(run, run->sums, 1, 0.2, &quiet));
    if (round == 0) {
        r->noise = quiet;
        r->deviation = sqrt(quiet / (samples - 10));
        /* Noise makes more voxels outside turn than inside: a noisy count is too large. */
        if (run->known_volume > 0 && r->deviation <= CLV_DENOISE_NOISY)
            run->volume = run->known_volume / cell_of(b);
    }
    r->seconds_update += clv_seconds() - mark;
    mark = clv_seconds();
    if (run->planes) {
        int edge = 2 * b->radius + 1;
        CLV_TRY(clv_nlm_planes(run->ctx, &matrix, PLANE_SHARE, run->planes, run->estimates, run->middles));
        search.patches.phi = (clv_image){.buffer = run->estimates, .size = {edge, edge, edge * run->count},
                                         .spacing = {1, 1, 1}, .components = 1};
        search.patches.band = run->middles;
        search.reach_band = run->band;
        memcpy(search.reach_size, b->size, sizeof search.reach_size);
    }
    CLV_TRY(clv_patch_search(run->ctx, &search));
    CLV_TRY(clv_finish(run->ctx));
    r->seconds_search += clv_seconds() - mark;
    if (round == 0)
        CLV_TRY(quantile_of(run, run->weights, (size_t)run->most, 0.5, &r->nearest));
    /* Whole patches differ by noise that lies in their planes, too: more than a
     * low percentile of the residual knows. */
    whole = (o->strength > 0 ? o->strength : STRENGTH) * (guide ? GUIDED : 1) * noise;
    whole = o->c2 > 0 ? o->c2 : fmax(whole, 1e-6);
    r->c2 = o->c2 > 0 || !run->planes ? whole : fmax(whole * quiet / fmax(noise, 1e-30), 1e-6);
    mark = clv_seconds();
    if (guide)
        CLV_TRY(take_noisy(run, patches));
    *graph = (clv_nlm_graph){run->band, run->neighbours, run->weights, run->count, run->most};
    if (run->planes) {
        const clv_nlm_plane_args means = {.planes = run->planes, .values = guide ? run->noisy : run->planes,
                                          .radius = b->radius, .share = PLANE_SHARE, .c2 = (float)whole,
                                          .means = run->means};
        CLV_TRY(clv_nlm_plane_means(run->ctx, graph, &means));
    }
    CLV_TRY(clv_nlm_weights(run->ctx, graph, run->weights, &grid,
                            o->c1 > 0 ? (float)o->c1 : INFINITY, (float)r->c2, run->sums));
    CLV_TRY(clv_reduce(run->ctx, CLV_REDUCE_MAX, &(clv_terms){run->sums, NULL, NULL, 0, run->count},
                       run->partial, run->state, LARGEST_ROW));
    r->energy[0] = r->energy[1] = (double)NAN;
    if (o->update == CLVOX_DENOISE_PAPER)
        CLV_TRY(measure_energy(run, graph, 0));
    r->seconds_update += clv_seconds() - mark;
end:
    return status;
}

/* The paper's steps, with re-distancing every so many of them. */
static int paper_steps(clv_denoise *run, const clv_nlm_graph *graph)
{
    int status = CLVOX_OK;
    const clvox_denoise_options *o = run->options;
    for (int i = 0; i < o->steps; i++) {
        double mark = clv_seconds();
        CLV_TRY(clv_nlm_step(run->ctx, graph, run->state, LARGEST_ROW, run->sums, run->phi));
        CLV_TRY(clv_finish(run->ctx));
        run->result->seconds_update += clv_seconds() - mark;
        run->result->steps++;
        if ((i + 1) % o->interval == 0 && i + 1 < o->steps)
            CLV_TRY(redistance(run, true));
    }
end:
    return status;
}

static int one_round(clv_denoise *run, int round)
{
    int status = CLVOX_OK, requests = 0;
    const clvox_denoise_options *o = run->options;
    clv_denoise_box *b = &run->box;
    clvox_denoise_result *r = run->result;
    clv_request list[CLV_DENOISE_REQUESTS];
    clv_nlm_graph graph;
    const clv_image phi = clv_denoise_image(run, run->phi);
    double mark = clv_seconds();
    CLV_TRY(clv_nlm_band_count(run->ctx, &phi, b->delta, run->parts, &run->count));
    if (run->count < 1) {
        status =
            clvox_fail(CLVOX_ERROR_DATA, "no voxel lies within %g voxels of the surface", (double)b->delta);
        goto end;
    }
    requests = clv_denoise_list_band(run, list);
    status = clv_pool_take(run->ctx, list, requests);
    if (status < 0) {
        requests = 0;
        goto end;
    }
    CLV_TRY(clv_nlm_band_list(run->ctx, &phi, b->delta, run->parts, run->band, run->index));
    r->seconds_update += clv_seconds() - mark;
    r->band_voxels = run->count;
    r->neighbours = run->count - 1 < run->most ? run->count - 1 : run->most;
    CLV_TRY(compare_patches(run, round, &graph));
    CLV_TRY(tell(run, "update", 1));
    mark = clv_seconds();
    if (o->update == CLVOX_DENOISE_PAPER)
        CLV_TRY(paper_steps(run, &graph));
    else
        CLV_TRY(clv_nlm_average(run->ctx, &(const clv_nlm_average_args){
                                              .graph = graph, .matrix = {run->matrix, run->count, b->radius},
                                              .planes = run->means, .index = run->index,
                                              .estimates = run->estimates, .sums = run->sums, .phi = phi}));
    CLV_TRY(clv_finish(run->ctx));
    if (o->update != CLVOX_DENOISE_PAPER)
        r->seconds_update += clv_seconds() - mark;
    CLV_TRY(redistance(run, true));
    if (o->update == CLVOX_DENOISE_PAPER)
        CLV_TRY(measure_energy(run, &graph, 1));
    r->rounds++;
end:
    if (requests)
        clv_pool_release(list, requests);
    return status;
}

/* If a patch is nearly a quadratic, the rest is noise. */
static int polish(clv_denoise *run, int radius, double scale)
{
    int status = CLVOX_OK, requests = 0;
    clv_denoise_box *b = &run->box;
    clv_request list[CLV_DENOISE_REQUESTS];
    double mark = clv_seconds(), edge = 2 * radius + 1, samples = edge * edge * edge;
    const clv_image phi = clv_denoise_image(run, run->phi);
    CLV_TRY(clv_nlm_band_count(run->ctx, &phi, b->delta, run->parts, &run->count));
    if (run->count < 1 || run->count > INT_MAX / clv_nlm_stride(radius))
        return CLVOX_OK;
    requests = clv_denoise_list_polish(run, radius, list);
    status = clv_pool_take(run->ctx, list, requests);
    if (status < 0) {
        requests = 0;
        goto end;
    }
    CLV_TRY(clv_nlm_band_list(run->ctx, &phi, b->delta, run->parts, run->band, run->index));
    const clv_patches patches = {.phi = phi, .band = run->band, .count = run->count, .radius = radius};
    const clv_nlm_matrix matrix = {run->matrix, run->count, radius};
    CLV_TRY(clv_nlm_patches_gather(run->ctx, &patches, run->matrix));
    CLV_TRY(clv_nlm_polish(run->ctx, &matrix, (float)(scale * samples / 125), run->sums));
    CLV_TRY(clv_nlm_overlap(run->ctx, &matrix, run->band, run->index, run->sums, &phi));
    CLV_TRY(clv_finish(run->ctx));
    run->result->seconds_update += clv_seconds() - mark;
    CLV_TRY(redistance(run, true));
end:
    if (requests)
        clv_pool_release(list, requests);
    return status;
}

/* Compares with the input, not with its re-distancing, which blunts, too. */
static int restore(clv_denoise *run)
{
    int status = CLVOX_OK;
    bool blurred = false;
    float *before = malloc((size_t)run->box.n * sizeof *before);
    if (!before)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    /* Noise of a mask goes with its voxels' edges, which are neighbours: it looks like shape. */
    if (!run->level_set->surface)
        CLV_TRY(clv_denoise_is_blurred(run, &blurred));
    clv_denoise_cut(run->level_set->distance, &run->box, before);
    if (!blurred)
        CLV_TRY(clv_denoise_restore(run, before));
end:
    free(before);
    return status;
}

/* ---- from volume to volume ---------------------------------------------- */

static int finish(clv_denoise *run)
{
    int status = CLVOX_OK;
    const clv_denoise_box *b = &run->box;
    clvox_denoise_result *r = run->result;
    const clv_image image = clv_denoise_image(run, run->phi);
    double mark = clv_seconds(), sum = 0, cells, cell = cell_of(b);
    size_t near = 0;
    float *phi = malloc((size_t)b->n * sizeof(float));
    if (!phi)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    CLV_TRY(clv_buffer_read(run->ctx, run->phi, 0, phi, (size_t)b->n * sizeof(float)));
    CLV_TRY(clv_denoise_place(run, phi));
    CLV_TRY(clv_nlm_volume(run->ctx, &image, 0, run->parts, &cells));
    for (int i = 0; i < b->n; i++)
        if (fabsf(run->start[i]) <= 1) {
            double move = fabs((double)phi[i] - (double)run->start[i]);
            near++;
            sum += move;
            r->largest_mm = fmax(r->largest_mm, move * b->edge);
        }
    r->mean_mm = near ? sum / (double)near * b->edge : 0;
    r->volume_before = run->volume * cell;
    r->volume_after = cells * cell;
    r->shift_mm = run->shift * b->edge;
    CLV_TRY(clv_denoise_paste(run->level_set->distance, b, phi, &r->distance));
    r->seconds_finish += clv_seconds() - mark;
end:
    free(phi);
    return status;
}

static int work(clv_denoise *run)
{
    int status = CLVOX_OK, requests = 0;
    const clvox_denoise_options *o = run->options;
    const clvox_volume *distance = run->level_set->distance;
    clv_denoise_box *b = &run->box;
    clvox_denoise_result *r = run->result;
    clv_request list[CLV_DENOISE_REQUESTS];
    double mark = clv_seconds();
    size_t bytes;
    CLV_TRY(clv_denoise_find_box(distance, o, b, &r->not_finite));
    bytes = (size_t)b->n * sizeof(float);
    memcpy(r->size, b->size, sizeof r->size);
    run->start = malloc(bytes);
    if (!run->start) {
        status = clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
        goto end;
    }
    clv_denoise_cut(distance, b, run->start);
    requests = clv_denoise_list_box(run, list);
    status = clv_pool_take(run->ctx, list, requests);
    if (status < 0) {
        requests = 0;
        goto end;
    }
    CLV_TRY(clv_buffer_write(run->ctx, run->phi, 0, run->start, bytes));
    r->seconds_prepare = clv_seconds() - mark;
    CLV_TRY(redistance(run, false));
    CLV_TRY(clv_buffer_read(run->ctx, run->phi, 0, run->start, bytes));
    const clv_image image = clv_denoise_image(run, run->phi);
    CLV_TRY(clv_nlm_volume(run->ctx, &image, 0, run->parts, &run->volume));
    for (int round = 0; round < rounds_for(run); round++)
        CLV_TRY(one_round(run, round));
    if (o->update == CLVOX_DENOISE_PATCHES) {
        for (int radius = b->radius; radius <= b->wide; radius++)
            CLV_TRY(polish(run, radius, POLISH[radius - b->radius]));
        if (r->deviation <= CLV_DENOISE_NOISY) {
            mark = clv_seconds();
            CLV_TRY(restore(run));
            /* Still a distance but for what came back; another re-distancing would blunt it. */
            CLV_TRY(keep_volume(run, run->phi));
            CLV_TRY(clv_finish(run->ctx));
            r->seconds_update += clv_seconds() - mark;
        }
    }
    CLV_TRY(finish(run));
end:
    if (requests)
        clv_pool_release(list, requests);
    free(run->start);
    return status;
}

int clv_denoise_run(clvox_context *ctx, const clvox_level_set *level_set,
                    const clvox_denoise_options *options, clvox_denoise_result *result)
{
    int status = CLVOX_OK;
    /* Parts of a mesh within others are not in its volume. */
    const bool knows = !level_set->surface || level_set->bounds;
    clv_denoise run = {.ctx = ctx, .level_set = level_set, .options = options, .result = result,
                       .known_volume = knows ? level_set->volume : 0, .most = options->neighbours};
    *result = (clvox_denoise_result){.distance = NULL};
    CLV_TRY(clv_denoise_check(level_set, options));
    size_t before = clv_peak_start(ctx);
    CLV_TRY(work(&run));
    if (options->distance) {
        double mark = clv_seconds();
        CLV_TRY(clv_denoise_everywhere(ctx, result->distance));
        result->seconds_finish += clv_seconds() - mark;
    }
    result->device_bytes = clv_peak_bytes(ctx) - before;
end:
    return status;
}
