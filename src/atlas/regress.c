/* SPDX-License-Identifier: Apache-2.0 */
/* Templates along a covariate: the same subjects by other weights (Davis et al. 2007, Population shape
 * regression). */
#include <math.h>
#include <stdlib.h>

#include "atlas/atlas.h"
#include "base/matrix.h"

/* Kernels below this share of the largest one are 0: their subjects would change little and cost as much as
 * others. */
static const double LEAST = 1e-3;

static double distance(const clv_atlas_run *a, const clv_atlas_member *s)
{
    return fabs(a->along->covariate[s->place] - a->along->at[a->at]);
}

void clv_atlas_weigh(clv_atlas_run *a)
{
    const bool along = a->along && a->at >= 0;
    double nearest = INFINITY;
    for (int i = 0; along && i < a->count; i++)
        if (a->s[i].base > 0)
            nearest = fmin(nearest, distance(a, &a->s[i]));
    a->weights = 0;
    for (int i = 0; i < a->count; i++) {
        clv_atlas_member *s = &a->s[i];
        s->kernel = 1;
        if (along && s->base > 0) { /* against the nearest one's, which may be 0 in floating point */
            const double d = distance(a, s), h = a->along->bandwidth;
            s->kernel = exp(-(d - nearest) * (d + nearest) / h / h / 2);
            s->kernel = s->kernel < LEAST ? 0 : s->kernel;
        }
        s->weight = s->base * s->kernel;
        a->weights += s->weight;
    }
}

/* The template before its deformable rounds: of the shared affines, whose mean under its own weights is
 * removed. */
static int begin(clv_atlas_run *a)
{
    int status = CLVOX_OK;
    clvox_atlas_round unused;
    a->stage = "template of the affines";
    clv_atlas_weigh(a);
    CLV_TRY(clv_atlas_settle(a));
    for (int i = 0; i < a->count; i++) {
        clv_matrix_copy(CLV_MATRIX(a->s[i].affine), a->s[i].map.matrix);
        a->s[i].map.displacement_mm = 0;
    }
    clv_atlas_deal(a);
    CLV_TRY(clv_atlas_center_affines(a, &unused));
    CLV_TRY(clv_atlas_average(a, a->rounds - a->linear));
    status = clvox_team_agree(a->o->team, clv_atlas_replace(a, &unused));
end:
    return status;
}

static int hand_over_all(clv_atlas_run *a)
{
    int status = CLVOX_OK;
    clvox_atlas_result *r = a->out;
    CLV_TRY(clv_atlas_hand_over(a));
    CLV_TRY(clv_atlas_shown(a, a->average, &r->average));
    for (int c = 1; c < a->o->channels; c++)
        CLV_TRY(clv_atlas_shown(a, a->further[c - 1], &r->further[c - 1]));
end:
    return status;
}

/* Hands the template to the caller; what stays is figures. */
static int finish(clv_atlas_run *a)
{
    int status = CLVOX_OK;
    clvox_atlas_result *r = a->out;
    CLV_TRY(clv_atlas_vote(a));
    r->subjects = a->count;
    CLV_TRY(clvox_team_agree(a->o->team, hand_over_all(a)));
    if (a->at + 1 == a->along->count) {
        clv_atlas_state_end(a);
        CLV_TRY(clv_atlas_state_share_end(a));
    }
    status = a->along->ready(a->along->user, a->at, r);
end:
    clvox_volume_destroy(&r->average);
    for (int c = 1; c < CLVOX_ATLAS_CHANNELS; c++)
        clvox_volume_destroy(&r->further[c - 1]);
    clvox_volume_destroy(&r->labels);
    for (int i = 0; i < a->count; i++) {
        clvox_volume_destroy(&r->map[i].warp);
        clvox_volume_destroy(&r->map[i].inverse_warp);
        clvox_volume_destroy(&r->map[i].labels);
    }
    return status;
}

/* Hands over the figures of templates that an earlier run has finished. */
static int repeat(clv_atlas_run *a)
{
    int status = CLVOX_OK;
    clvox_atlas_result past = {.subjects = a->count};
    past.map = calloc((size_t)a->count, sizeof *past.map);
    past.round = calloc((size_t)a->rounds + 1, sizeof *past.round);
    if (!past.map || !past.round)
        status = clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    for (int at = 0; status >= 0 && at < a->at; at++) {
        CLV_TRY(clv_atlas_state_find_template(a, at, &past));
        status = a->along->ready(a->along->user, at, &past);
    }
end:
    clvox_atlas_result_destroy(&past);
    return status;
}

int clv_atlas_regress(clv_atlas_run *a)
{
    int status = CLVOX_OK;
    CLV_TRY(repeat(a));
    for (a->at = a->at < 0 ? 0 : a->at;;) {
        if (a->out->rounds <= a->linear)
            CLV_TRY(begin(a));
        CLV_TRY(clv_atlas_run_until(a, a->rounds));
        CLV_TRY(finish(a));
        if (a->at + 1 == a->along->count)
            break;
        CLV_TRY(clv_atlas_state_keep_template(a));
        a->at++;
        a->out->rounds = a->linear;
        CLV_TRY(clv_atlas_state_advance(a));
    }
end:
    return status;
}
