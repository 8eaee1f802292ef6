/* SPDX-License-Identifier: Apache-2.0 */
/* Problems as all steps handle them. */
#include "register/problem.h"

#include <stdlib.h>

#include "base/clock.h"

clv_problem clv_problem_of(clvox_context *ctx, const clvox_register_images *images,
                           const clvox_register_options *options)
{
    clv_problem p = {.ctx = ctx, .images = *images, .since = clv_seconds()};
    if (options)
        p.options = *options;
    else
        clvox_register_defaults(&p.options);
    return p;
}

int clv_problem_shell(clv_problem *p, const clvox_grid *grid, const clvox_volume *of)
{
    clvox_volume *shell = calloc(1, sizeof *shell);
    if (!shell)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    *shell = (clvox_volume){.grid = *grid, .frames = 1, .borrowed = 1};
    if (of) {
        shell->frames = of->frames;
        shell->kind = of->kind;
        shell->data = of->data;
    }
    p->own.own[p->own.count++] = shell;
    return CLVOX_OK;
}

int clv_problem_volumes(clvox_register_images *images, const clvox_volume **at[CLV_PROBLEM_VOLUMES])
{
    int count = 0;
    for (int i = 0; i < images->channels; i++) {
        at[count++] = &images->fixed[i];
        at[count++] = &images->moving[i];
    }
    at[count++] = &images->fixed_posteriors;
    at[count++] = &images->moving_posteriors;
    at[count++] = &images->fixed_mask;
    at[count++] = &images->moving_mask;
    at[count++] = &images->linear_fixed_mask;
    at[count++] = &images->linear_moving_mask;
    for (int i = 0; i < CLVOX_MAX_LEVELS; i++) {
        at[count++] = &images->level_fixed_mask[i];
        at[count++] = &images->level_moving_mask[i];
    }
    at[count++] = &images->initial_warp;
    return count;
}

int clv_problem_enter(const clv_step *step, const clv_problem *outer, clv_problem *p)
{
    *p = *outer;
    p->outer = outer;
    p->own = (clv_register_copies){.count = 0};
    return step->enter(p);
}

void clv_problem_free(clv_problem *problem)
{
    for (int i = 0; i < problem->own.count; i++)
        clvox_volume_destroy(&problem->own.own[i]);
    problem->own.count = 0;
}
