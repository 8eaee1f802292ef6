/* SPDX-License-Identifier: Apache-2.0 */
/* A registration as a sequence of steps. Each makes a simpler problem of the one it is given, and of the
 * result of that one the result that was asked for; the last problem is solved on the device (register.c). */
#ifndef CLV_REGISTER_PROBLEM_H
#define CLV_REGISTER_PROBLEM_H

#include "register/register.h"

typedef struct clv_problem {
    clvox_context *ctx;
    const struct clv_problem *outer; /* the one before; NULL: what was asked for */
    clvox_register_images images;
    clvox_register_options options;
    clv_order order;
    bool planned; /* grids count alone: images need no data, and nothing is computed */
    /* The images before their intensities were prepared, in the order asked for: their contents say which
     * comes first, and their moving image is warped. NULL: nothing is. */
    const clvox_register_images *originals;
    const clv_register_fields *fields; /* NULL: the maps become volumes of the result */
    const clvox_grid *shown; /* the fixed grid as given, for the maps; NULL: something looks at them first */
    unsigned suspicions;
    clv_register_evidence *evidence; /* for quality control, by the one who solves the last problem */
    bool no_room;                    /* the device has none for AUTO's meshes */
    double since;                    /* when the registration began, less what it waited */
    size_t bytes, held; /* device memory: at most of this registration, and of the context when it began */
    clv_register_copies own; /* volumes that this problem has and the one before it has not */
} clv_problem;

typedef struct clv_step {
    const char *name;
    /* Changes a problem that is a copy of its outer one, and owns nothing yet. */
    int (*enter)(clv_problem *problem);
    /* Turns the result of a problem into that of its outer one; NULL: it is the same. */
    int (*leave)(const clv_problem *problem, clvox_register_result *result);
    /* Gives back what entering took beside volumes, also after a failure; NULL: nothing. */
    void (*release)(const clv_problem *problem);
} clv_step;

/* In the order in which they are entered. */
extern const clv_step clv_step_shape_only, /* shapes and landmarks without images (shape_only.c) */
    clv_step_checks,                       /* nothing is wrong with images and options (check.c) */
    clv_step_ras_order,                    /* however voxels are stored, one computation (ras_order.c) */
    clv_step_memory,                       /* the device has room (memory.c) */
    clv_step_one_grid,        /* channels and masks on the grid of their side's first image (images.c) */
    clv_step_preprocessing,   /* intensities (prepare.c) */
    clv_step_quality_control, /* what speaks against the result (quality_control.c) */
    clv_step_symmetric_order, /* either order of the images is one computation (symmetric_order.c) */
    clv_step_coarser_grids;   /* as coarse as the finest level (upsample.c) */

/* options NULL: the defaults. */
clv_problem clv_problem_of(clvox_context *ctx, const clvox_register_images *images,
                           const clvox_register_options *options);

/* The volumes of images, as places to put others: of the fixed and of the moving side in turn, channels
 * first, then posteriors, four masks and those of levels, and at last the initial warp. Returns their number. */
enum { CLV_PROBLEM_VOLUMES = CLV_MAX_VOLUMES };
int clv_problem_volumes(clvox_register_images *images, const clvox_volume **at[CLV_PROBLEM_VOLUMES]);

/* A volume of the problem's own on a grid, which borrows the data, frames and kind of another one (NULL: no
 * data). */
int clv_problem_shell(clv_problem *problem, const clvox_grid *grid, const clvox_volume *of);

/* Enters a step; to be freed also after a failure. */
int clv_problem_enter(const clv_step *step, const clv_problem *outer, clv_problem *problem);
void clv_problem_free(clv_problem *problem);

/* Brings the problem's images onto coarser grids, and masks by the nearest voxel (images.c). */
int clv_problem_coarsen(clv_problem *problem, const clvox_grid *const grid[2]);

/* The order in which a problem is solved whose moving image comes first, or not (symmetric_order.c). */
void clv_problem_order(clv_problem *problem, bool moving_first);

#endif
