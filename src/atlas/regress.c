/* SPDX-License-Identifier: Apache-2.0 */
/* Templates along a covariate: the same subjects by other weights (Davis et al. 2007, Population shape
 * regression). */
#include "atlas/regress.h"

#include <stdlib.h>

#include "atlas/average.h"
#include "atlas/center.h"
#include "atlas/rounds.h"
#include "atlas/state.h"
#include "atlas/team.h"
#include "atlas/vote.h"
#include "base/matrix.h"
#include "io/volume/orientation.h"

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
    status = clv_atlas_agree(a, clv_atlas_replace(a, &unused));
end:
    return status;
}

/* As the caller's images are stored; the run goes on with its own. */
static int shown(const clv_atlas_run *a, const clvox_volume *volume, clvox_volume **out)
{
    clv_orientation o, back;
    clv_orientation_of(&a->shown, &o);
    clv_orientation_inverse(&o, &back);
    return clv_orientation_volume(volume, &back, &a->shown, out);
}

static int hand_over_all(clv_atlas_run *a)
{
    int status = CLVOX_OK;
    clvox_atlas_result *r = a->out;
    CLV_TRY(clv_atlas_hand_over(a));
    CLV_TRY(shown(a, a->average, &r->average));
    for (int c = 1; c < a->o->channels; c++)
        CLV_TRY(shown(a, a->further[c - 1], &r->further[c - 1]));
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
    CLV_TRY(clv_atlas_agree(a, hand_over_all(a)));
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
    for (int i = 0; i < a->count; i++)
        clv_atlas_release_map(&r->map[i]);
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
