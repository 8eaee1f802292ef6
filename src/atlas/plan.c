/* SPDX-License-Identifier: Apache-2.0 */
/* Prediction of a template's time and memory from a few of its subjects: seconds of its steps, bytes of what it
 * holds. */
#include <math.h>

#include "atlas/run.h"
#include "base/status.h"
#include "clvox/threads.h"

/* STEPS: moves of maps in a round, as they mostly are. OF_MAPS: bytes a voxel of a subject's two warps. */
enum { STEPS = 2, OF_MAPS = 24 };

/* Bytes a second between processes, which nobody has measured here. */
static const double NETWORK = 1e10;

/* The subjects that take part in a template, of the process that has most of them: the processes read the
 * list in turn. */
static double most_of(const clvox_atlas_regression *along, int count, int at, const clvox_atlas_plan *e)
{
    double nearest = INFINITY, most = 0;
    if (!along || e->processes > count)
        return ceil((double)e->subjects / e->processes);
    for (int i = 0; i < count; i++)
        nearest = fmin(nearest, fabs(along->covariate[i] - along->at[at]));
    for (int process = 0; process < e->processes; process++) {
        double own = 0;
        for (int i = process; i < count; i += e->processes)
            own += clv_atlas_kernel(fabs(along->covariate[i] - along->at[at]), nearest, along->bandwidth) > 0;
        most = fmax(most, own);
    }
    return ceil(most * e->subjects / count);
}

/* Rounds of a device's registrations that so many subjects of a process take. */
static double turns_of(const clvox_atlas_costs *m, const clvox_atlas_plan *e, double own)
{
    return ceil(own / ((double)e->devices / e->processes * m->at_once) - 1e-9);
}

/* The state on its way: up to three subjects, or one that each registration fills, and the templates. */
static double bytes_of_state(const clvox_atlas_options *o, const clvox_atlas_costs *m,
                             const clvox_atlas_plan *e)
{
    const double contexts = (double)e->devices / e->processes * m->at_once;
    return o->registration.deform == CLVOX_DEFORM_NONE
               ? 0
               : (OF_MAPS * fmax(contexts, 3) + 4. * o->channels) * (double)m->voxels;
}

/* Most bytes of a process with `own` subjects beside their volumes: while it reads and scales them, in rounds,
 * while it hands maps over and while it writes them. */
static double bytes_beside(const clvox_atlas_options *o, const clvox_atlas_costs *m, const clvox_atlas_plan *e,
                           double own)
{
    enum { READ_TOGETHER = 8, WRITTEN = 4, MOVING = 12 * 12, PASSING = 3 * 12 };
    const bool deforms = o->registration.deform != CLVOX_DEFORM_NONE;
    const double voxels = (double)m->voxels, contexts = (double)e->devices / e->processes * m->at_once,
                 threads = fmin(clvox_threads(), own), averages = 8. * o->channels;
    const double scaling = (8 * threads + 4 * fmin(threads, READ_TOGETHER)) * (double)m->image_voxels;
    /* The mean map, and of a team the sum of all. */
    const double rounds = deforms ? (e->processes > 1 ? 24 : 12) : 0,
                 handing = deforms && m->warps ? 12 * contexts : 0;
    const double registering = (double)m->device_bytes + PASSING * voxels,
                 on_device = m->in_memory ? contexts * fmax(registering, deforms ? MOVING * voxels : 0) : 0;
    const double working =
        (averages + fmax(rounds, handing + 4)) * voxels + bytes_of_state(o, m, e) + on_device;
    const double files = (averages + 16 + (m->warps ? WRITTEN * m->writers : 0)) * voxels + m->file_bytes;
    return fmax(scaling, fmax(working, files));
}

/* Bytes of the volumes of `own` subjects, and of the labels and averaged maps of all. */
static double bytes_of_subjects(const clvox_atlas_options *o, const clvox_atlas_costs *m, double own,
                                double all)
{
    const bool deforms = o->registration.deform != CLVOX_DEFORM_NONE;
    return (double)m->image_bytes * own + (double)m->label_bytes * all +
           (double)m->voxels * ((deforms ? 28 : 4) * own + (o->average == CLVOX_AVERAGE_MEAN ? 0 : 4) * all);
}

void clvox_atlas_predict(const clvox_atlas_costs *m, const clvox_atlas_options *o,
                         const clvox_atlas_regression *along, int count, clvox_atlas_plan *e)
{
    CLV_GIVEN_OR(, m, o, e);
    const bool deforms = o->registration.deform != CLVOX_DEFORM_NONE;
    const int linear = clvox_atlas_linear_rounds(o, e->subjects), templates = along ? along->count : 1,
              rounds = deforms ? o->rounds : 0;
    const double all_own = ceil((double)e->subjects / e->processes), all_turns = turns_of(m, e, all_own);
    const double said =
        e->processes > 1 ? 2 * (double)m->voxels / NETWORK : 0; /* seconds a byte of each voxel */
    const double *work = m->work;
    e->reading = (m->reading + work[CLVOX_ATLAS_GATHER]) * all_own;
    e->linear =
        linear ? all_turns * (work[CLVOX_ATLAS_FIRST_LINEAR] + (linear - 1) * work[CLVOX_ATLAS_LINEAR]) : 0;
    e->averaging = o->channels * (1 + linear) *
                   (all_turns * work[CLVOX_ATLAS_PULL] + all_own * work[CLVOX_ATLAS_MEAN_IMAGE] + 20 * said);
    e->deformable = e->centring = e->writing = 0;
    for (int at = 0; at < templates; at++) {
        const double own = most_of(along, count, at, e), turns = turns_of(m, e, own);
        e->deformable += turns * rounds * work[CLVOX_ATLAS_DEFORMABLE];
        e->centring += rounds * (turns * work[CLVOX_ATLAS_DISPLACEMENT] +
                                 STEPS * (turns * work[CLVOX_ATLAS_MOVE] + work[CLVOX_ATLAS_EXPONENTIAL]) +
                                 turns * work[CLVOX_ATLAS_MEAN_MAP] +
                                 (STEPS + 1) * (work[CLVOX_ATLAS_MEAN_MAP_ONCE] + 24 * said));
        e->averaging += o->channels * (rounds + (along != NULL)) * (turns * work[CLVOX_ATLAS_PULL] +
                                                   own * work[CLVOX_ATLAS_MEAN_IMAGE] + 20 * said) +
                        (o->until > 0 ? rounds : 1) * own * work[CLVOX_ATLAS_LIKENESS] +
                        (m->labels ? turns * work[CLVOX_ATLAS_VOTER] : 0);
        e->writing += own * m->writing;
    }
    e->opening = fmax(m->opening - e->reading, 0); /* beside reading: what it takes longer */
    e->once = m->once;
    e->waiting = (linear + rounds * templates) * m->between;
    e->all = e->reading + e->opening + e->once + e->linear + e->deformable + e->centring + e->averaging +
             e->waiting + e->writing;
    const double kept = bytes_of_subjects(o, m, all_own, e->subjects),
                 within = o->store ? fmin(kept, m->limit) : kept;
    e->host_bytes = within + fmax(bytes_beside(o, m, e, all_own),
                                  m->beside > 0 ? m->beside + bytes_of_state(o, m, e) : 0);
    e->disk_bytes = kept - within;
    e->kept_bytes = kept;
    e->state_bytes = OF_MAPS * (double)m->voxels;
}
