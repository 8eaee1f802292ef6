/* SPDX-License-Identifier: Apache-2.0 */
/* Measures what the steps of a template cost: a few subjects go through them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "base/options.h"
#include "base/status.h"
#include "clvox/atlas.h"
#include "clvox/threads.h"
#include "runtime/device/host.h"

/* SAMPLES: subjects that are measured; four times as many as are registered at once, where these are
 * several. */
enum { SAMPLES = 3, MOST_SAMPLES = 256, MOST_TIMES = 1024 };

typedef struct measured {
    const clvox_atlas_options *asked;
    int (*settle)(void *user);
    double time[CLVOX_ATLAS_WORKS][MOST_TIMES];
    int count[CLVOX_ATLAS_WORKS];
    int contexts; /* on all devices that were measured */
    double since; /* when the first map was on its way to the caller; 0: none was */
    clvox_atlas_costs costs;
} measured;

static void note(void *user, clvox_atlas_work work, double seconds)
{
    measured *m = user;
    if (work == CLVOX_ATLAS_HAND_OVER && m->asked->map && !(m->since > 0))
        m->since = clv_seconds() - seconds;
    if (m->count[work] < MOST_TIMES)
        m->time[work][m->count[work]++] = seconds;
    if (m->asked->timed)
        m->asked->timed(m->asked->user, work, seconds);
}

static int show(void *user, const clvox_step *step)
{
    const measured *m = user;
    clvox_step shown = *step;
    shown.stage = "measuring";
    return m->asked->progress(m->asked->user, &shown);
}

static int take_map(void *user, clvox_context *ctx, int at, int subject, clvox_atlas_map *map)
{
    const measured *m = user;
    return m->asked->map(m->asked->user, ctx, at, subject, map);
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double middle(double *time, int count)
{
    qsort(time, (size_t)count, sizeof *time, ascending);
    return count ? time[(count - 1) / 2] : 0;
}

/* Without each device's first, which may have built kernels. */
static double mean(const double *time, int count, int first)
{
    double sum = 0;
    first = first < count ? first : 0;
    for (int i = first; i < count; i++)
        sum += time[i];
    return count ? sum / (count - first) : 0;
}

/* A subject's share of work that a process does for all its subjects at once. */
static void divide(measured *m, int samples)
{
    const int threads = clvox_threads(),
              turns = (samples + threads - 1) / threads; /* of which each scales a subject */
    const int of[CLVOX_ATLAS_WORKS] = {[CLVOX_ATLAS_MEAN_IMAGE] = samples,
                                       [CLVOX_ATLAS_LIKENESS] = turns * threads,
                                       [CLVOX_ATLAS_GATHER] = turns * threads,
                                       [CLVOX_ATLAS_MEAN_MAP_ONCE] = 1,
                                       [CLVOX_ATLAS_EXPONENTIAL] = 1};
    for (int k = 0; k < CLVOX_ATLAS_WORKS; k++)
        m->costs.work[k] =
            of[k] ? middle(m->time[k], m->count[k]) / of[k] : mean(m->time[k], m->count[k], m->contexts);
}

/* ---- counting ------------------------------------------------------------ */

/* Counts what subjects that went through the rounds take by what is known, without their files. */
static double counted(const clvox_atlas_options *o, const measured *m, int subjects)
{
    clvox_atlas_costs known = m->costs;
    clvox_atlas_plan e = {.devices = m->contexts / known.at_once, .processes = 1, .subjects = subjects};
    known.reading = known.opening = known.writing = 0;
    clvox_atlas_predict(&known, o, NULL, subjects, &e);
    return e.all;
}

static int rounds_of(const clvox_atlas_options *o, int count)
{
    const int deformable = o->registration.deform != CLVOX_DEFORM_NONE ? o->rounds : 0;
    return clvox_atlas_linear_rounds(o, count) + deformable;
}

/* Finds what measuring took beyond its steps: waiting at the ends of rounds, and what is not timed. No more
 * than a quarter of them. */
static void find_between(const clvox_atlas_options *o, measured *m, int samples, double seconds)
{
    const double known = counted(o, m, samples);
    const int rounds = rounds_of(o, samples);
    m->costs.between = rounds ? fmin(fmax(seconds - known, 0), .25 * known) / rounds : 0;
}

/* Takes subjects through the rounds; seconds: without the writing of their files, which begins with the
 * first map. */
static int go_through(clvox_context *ctx, const clvox_atlas_subject *subjects, int count,
                      const clvox_volume *start, const clvox_atlas_options *o, clvox_atlas_result *result,
                      double *seconds)
{
    int status;
    measured *m = o->user;
    const double mark = clv_seconds();
    m->since = 0;
    CLV_TRY(clvox_atlas(ctx, subjects, count, start, o, result));
    if (m->settle)
        CLV_TRY(m->settle(m->asked->user));
    const double end = clv_seconds();
    *seconds = (m->since > 0 ? m->since : end) - mark;
    m->costs.writing = m->since > 0 ? (end - m->since) / count : 0;
end:
    return status;
}

/* One subject for each device, once around: they build or load kernels. Their seconds. */
static int warm_up(clvox_context *ctx, const clvox_atlas_subject *subjects, int count,
                   const clvox_volume *start, const clvox_atlas_options *o, double *seconds)
{
    measured *m = o->user;
    clvox_atlas_result result = {.average = NULL};
    const int status = go_through(ctx, subjects, count, start, o, &result, seconds);
    clvox_atlas_result_destroy(&result);
    memset(m->count, 0, sizeof m->count);
    return status;
}

/* Bytes of the subjects' images, labels and what is beside them in a process that has measured `samples`. */
static void weigh(measured *m, const clvox_atlas_subject *subjects, int count, const clvox_atlas_options *o,
                  int samples)
{
    clvox_atlas_costs *c = &m->costs;
    bool labels = false;
    for (int i = 0; i < count; i++)
        labels |= subjects[i].labels && !o->template_only;
    for (int i = 0; i < count; i++) {
        const size_t voxels = clvox_grid_voxels(&subjects[i].image->grid),
                     share = voxels * sizeof(float) / (size_t)count;
        c->image_voxels = voxels > c->image_voxels ? voxels : c->image_voxels;
        c->image_bytes += share * (size_t)(2 + (subjects[i].mask != NULL) + labels);
        for (int k = 1; k < o->channels; k++)
            c->image_bytes +=
                2 * clvox_grid_voxels(&subjects[i].further[k - 1]->grid) * sizeof(float) / (size_t)count;
        c->label_bytes += share * (size_t)(subjects[i].labels != NULL);
    }
    /* Without a limit what is released stays with the process for what comes next, some of it in pieces that
     * do not fit: only measuring tells. */
    struct rusage used;
    clvox_atlas_plan of_samples = {.devices = 1, .processes = 1, .subjects = samples};
    clvox_atlas_predict(c, o, NULL, samples, &of_samples);
    const double held = of_samples.kept_bytes + (double)(c->image_bytes + c->label_bytes) * (count - samples);
    if (!o->store && !getrusage(RUSAGE_SELF, &used))
        c->beside = fmax(1024 * (double)used.ru_maxrss - held, 0);
}

int clvox_atlas_measure(clvox_context *ctx, const clvox_atlas_subject *subjects, int count,
                        const clvox_volume *start, const clvox_atlas_options *asked,
                        int (*settle)(void *user), clvox_atlas_costs *costs)
{
    CLV_GIVEN(ctx, subjects, asked, costs);
    CLV_HOST_THREADS(ctx);
    int status = clv_options_sized(asked, sizeof *asked);
    clvox_atlas_subject few[MOST_SAMPLES];
    clvox_atlas_result result = {.average = NULL};
    double cold = 0, seconds;
    if (status < 0)
        return status;
    if (count < 1 || costs->at_once < 1)
        return clvox_fail(CLVOX_ERROR_ARGUMENT,
                          "measuring a template needs a context, subjects, options and costs.at_once");
    clvox_atlas_options o = *asked;
    measured *m = calloc(1, sizeof *m);
    if (!m)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    *m = (measured){.asked = asked, .settle = settle, .contexts = asked->more_count + 1};
    m->costs.at_once = costs->at_once;
    const int several = m->contexts < MOST_SAMPLES / 4 ? 4 * m->contexts : MOST_SAMPLES,
              enough = m->contexts > 1 ? several : SAMPLES, samples = count < enough ? count : enough,
              first = m->contexts < samples ? m->contexts : samples;
    for (int i = 0; i < samples; i++)
        few[i] = subjects[(count - 1) * i / (samples > 1 ? samples - 1 : 1)];
    o.state = NULL;
    o.timed = note;
    o.map = asked->map ? take_map : NULL;
    o.progress = asked->progress ? show : NULL;
    o.user = m;
    /* One device by itself loads few kernels for what a registration takes there. */
    const int linear = clvox_atlas_linear_rounds(asked, count);
    o.linear_rounds = linear < 1 ? linear : 1;
    o.rounds = o.rounds < 1 ? o.rounds : 1;
    if (m->contexts > 1)
        CLV_TRY(warm_up(ctx, few, first, start, &o, &cold));
    o.linear_rounds = linear < 2 ? linear : 2;
    CLV_TRY(go_through(ctx, few, samples, start, &o, &result, &seconds));
    divide(m, samples);
    find_between(&o, m, samples, seconds);
    o.linear_rounds = o.linear_rounds < 1 ? o.linear_rounds : 1;
    m->costs.once = m->contexts > 1 ? fmax(cold - counted(&o, m, first), 0) : 0;
    m->costs.voxels = clvox_grid_voxels(&result.average->grid);
    m->costs.device_bytes = result.device_bytes;
    m->costs.in_memory = clvox_context_limits(ctx)->type == CLVOX_DEVICE_CPU;
    weigh(m, subjects, count, &o, samples);
    const clvox_atlas_costs own = *costs;
    *costs = m->costs;
    costs->reading = own.reading;
    costs->opening = own.opening;
    costs->writers = own.writers;
    costs->file_bytes = own.file_bytes;
    costs->warps = own.warps;
    costs->labels = own.labels;
    costs->limit = own.limit;
end:
    clvox_atlas_result_destroy(&result);
    free(m);
    return status;
}
