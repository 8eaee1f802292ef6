/* SPDX-License-Identifier: Apache-2.0 */
/* A run and its subjects: what all steps of the pipeline of templates share. */
#ifndef CLV_ATLAS_RUN_H
#define CLV_ATLAS_RUN_H

#include <pthread.h>
#include <stdbool.h>

#include "atlas/maps.h"
#include "atlas/scale.h"

typedef struct clv_atlas_member {
    const clvox_atlas_subject *given;
    int place;     /* among those given */
    uint64_t hash, further_hash; /* of its image and mask, and of its other channels */
    uint64_t second;             /* of all */
    clvox_grid grid, upright; /* of its image as it is given, and stored as near to RAS as may be */
    double center[3];         /* the centroid of its image, RAS mm */
    int box[2][3];            /* its head's first and last voxel on the upright grid; with options->margin */
    int first;     /* the first one of the same contents, as a rule itself */
    int owner;     /* of the members of the team, that which registers it and holds its warps */
    double own;    /* weight against the largest */
    double base;   /* with those of the same contents; 0 for all but the first, and for what was left out */
    double kernel; /* of a regression, else 1 */
    double weight; /* in the averages, base kernel; 0: it is not registered */
    const clvox_volume
        *image; /* on one scale; NULL: its base was 0 from the start, or another member has it */
    const clvox_volume *further[CLVOX_ATLAS_CHANNELS - 1]; /* of the other channels */
    clvox_atlas_scaled own_scaled;                   /* which has these, where the subject came without */
    double largest[CLVOX_ATLAS_CHANNELS];            /* absolute values in these */
    double took;                                     /* seconds of its last registration */
    double affine[4][4]; /* of the linear rounds */
    /* Its matrix is that, or for a template of a regression centred anew; no warps before the end. */
    clvox_atlas_map map;
    bool summed;  /* its maps are in the round's first mean */
    int measured; /* 1 and the moves after which its warp's length is known; 0: it is not */
} clv_atlas_member;

typedef struct clv_atlas_run {
    clvox_context **ctx;     /* of every device; what concerns no single subject is done on the first */
    int devices;
    pthread_mutex_t lock; /* guards what the devices' threads change: weights, counts, the progress */
    const clvox_atlas_options *o;
    const clvox_volume *start;
    const clvox_atlas_regression *along; /* NULL: one template */
    int at;                              /* the template that is being made; -1 in the linear rounds */
    clv_atlas_member *s; /* in the order of their contents: sums do not hang on the order given */
    int count;
    bool apart;       /* each member of the team has images of its own */
    double weights;   /* the sum of those in the averages */
    clvox_grid grid;  /* stored as near to RAS as may be */
    int cut[3];       /* of the whole grid, the voxel that is its first */
    clvox_grid shown; /* as the caller's images are stored: the same voxels in another order */
    clvox_volume *average, *next;
    clvox_volume *further[CLVOX_ATLAS_CHANNELS - 1]; /* averages of the other channels */
    int linear, rounds; /* to be done: rounds of linear registration, and all of a template */
    int registered;     /* registrations until now, those of a state among them */
    int fresh[2];       /* of this process, not yet shared: registrations, and those of a state */
    double largest[CLVOX_ATLAS_CHANNELS]; /* absolute intensity of all subjects */
    clvox_atlas_result *out;
    char *key;              /* what a state has to be of; NULL: none is kept */
    double opened, keeping; /* seconds: when the state was opened, and what devices have spent on it since */
    clv_maps *maps;                  /* of deformable rounds, in the order of s; NULL: not yet */
    struct clv_atlas_center *center; /* of a deformable round (center.c); NULL: before the first */
    int usual;                       /* moves of the last such round; before the first one, what most take */
    struct clv_atlas_keeper *keeper; /* writes the state beside the run; NULL: nothing has been kept */
    const char *stage;
    bool registering; /* a deformable round's subjects */
    double done, all;
    double *under_way; /* of a registration, for each device */
    bool stopped;      /* by the caller, or a failure */
} clv_atlas_run;

/* The work of averaging a subject against registering it. */
#define CLV_ATLAS_AVERAGING .15
/* Subjects of a run. */
enum { CLV_ATLAS_MOST = 65536 };

/* The images that register a subject, which have to be here: to the template as it is, whose further channels
 * may have none before the first average, or to `like` for each channel that there will be. */
clvox_register_images clv_atlas_images(const clv_atlas_run *a, const clv_atlas_member *s,
                                       const clvox_volume *like);
/* A volume of a subject, which is not changed any more, goes where options->store has room; NULL is legal. */
int clv_atlas_keep(const clv_atlas_run *a, clvox_volume *volume);
void clv_atlas_release_map(clvox_atlas_map *map); /* its volumes */
/* Puts the subject's name before the message. */
int clv_atlas_fail(int status, const clv_atlas_member *s);
/* A subject's kernel in a regression, against that of the subject whose covariate is nearest; 0: it takes no part. */
double clv_atlas_kernel(double distance, double nearest, double bandwidth);
/* The weights of the template that is being made. */
void clv_atlas_weigh(clv_atlas_run *a);
/* Subjects that take part: sums hold that many. */
int clv_atlas_taking_part(const clv_atlas_run *a);
/* Leaves a subject out, for options->skip_bad; clv_atlas_share finds out where none is left. */
void clv_atlas_leave_out(clv_atlas_member *s, const char *why);
/* The edge of a cube as large as a voxel, mm. */
double clv_atlas_edge(const clvox_grid *grid);

#endif
