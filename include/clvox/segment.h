/* SPDX-License-Identifier: Apache-2.0 */
/* Labels and brain mask of a head from many labelled atlases. */
#ifndef CLVOX_SEGMENT_H
#define CLVOX_SEGMENT_H

#include <stddef.h>

#include "clvox/device.h"
#include "clvox/options.h"
#include "clvox/progress.h"
#include "clvox/registration.h"
#include "clvox/volume.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How the labels of atlases are fused at a voxel. Patches of 5 voxels a side are compared after their mean
 * and variance are taken out. Of equal labels the smallest number wins. */
typedef enum clvox_segment_method {
    CLVOX_SEGMENT_MAJORITY = 0, /* every atlas counts as one */
    CLVOX_SEGMENT_LOCAL,        /* by how like the head each atlas is around the voxel */
    CLVOX_SEGMENT_PATCH,        /* non-local: by every patch of every atlas nearby (Coupe et al. 2011) */
    CLVOX_SEGMENT_JOINT         /* joint weights: atlases that err alike share theirs (Wang et al. 2013), and
                                   intensities of the head choose between the two best labels */
} clvox_segment_method;

enum { CLVOX_SEGMENT_ATLASES = 64 }; /* the most */

typedef struct clvox_segment_options {
    size_t size; /* of this struct, as clvox_segment_defaults sets it */
    clvox_segment_method method;
    clvox_preset preset;     /* of the registrations */
    clvox_progress progress; /* fraction of the stage; may be NULL */
    void *user;
} clvox_segment_options;

/* Joint weights, and the default preset of a registration. */
CLVOX_API void clvox_segment_defaults(clvox_segment_options *options);

/* The options by name (clvox/options.h). Static. */
CLVOX_API const clvox_option_table *clvox_segment_table(void);

/* A head, and the atlases that have been registered to it. */
typedef struct clvox_segmentation clvox_segmentation;

/* Begins with a head of one frame, which may be released afterwards. options NULL: the defaults. The context
 * has to outlive *out, which is the caller's, for clvox_segment_destroy; on failure NULL. */
CLVOX_API int clvox_segment_begin(clvox_context *context, const clvox_volume *head,
                                  const clvox_segment_options *options, clvox_segmentation **out);

/* Registers an atlas to the head and keeps what it says there; its volumes may be released afterwards.
 * labels: a label map on any grid; mask: its brain, above 0; one of them may be NULL, the same one for all
 * atlases. ncc (may be NULL): correlation with the head after registration. On failure the segmentation is as
 * before, so that it can go on without that atlas. Errors as clvox_register. */
CLVOX_API int clvox_segment_add(clvox_segmentation *segmentation, const clvox_volume *image,
                                const clvox_volume *labels, const clvox_volume *mask, double *ncc);

/* The same of an atlas that lies on the head's grid already, registered by other means: CLVOX_ERROR_ARGUMENT
 * where one of its volumes does not. The atlas has no say where its image is NaN. */
CLVOX_API int clvox_segment_add_registered(clvox_segmentation *segmentation, const clvox_volume *image,
                                           const clvox_volume *labels, const clvox_volume *mask);

/* All on the head's grid. */
typedef struct clvox_segment_result {
    clvox_volume *labels; /* NULL where atlases have none; 0 where no atlas reaches */
    clvox_volume *mask;   /* the brain, 0 and 1: the atlases' masks fused and filled; without masks the labels
                                 together, closed and filled */
    clvox_volume *confidence; /* share of the label (without labels: of the mask) in all votes, 0 to 1; of
                                 joint weights after the intensities */
    int atlases;
    double seconds_register, seconds_fuse;
    size_t device_bytes; /* the most that fusing held */
} clvox_segment_result;

/* Fuses. On success the volumes are the caller's, for clvox_segment_result_destroy; on failure it holds none.
 * CLVOX_ERROR_ARGUMENT without atlases. */
CLVOX_API int clvox_segment_end(clvox_segmentation *segmentation, clvox_segment_result *result);

/* Releases what the result holds; the numbers stay. NULL is legal. */
CLVOX_API void clvox_segment_result_destroy(clvox_segment_result *result);

/* Releases a segmentation and sets *segmentation to NULL. NULL is legal. */
CLVOX_API void clvox_segment_destroy(clvox_segmentation **segmentation);

#ifdef __cplusplus
}
#endif

#endif
