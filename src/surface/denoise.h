/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the parts of the denoising pipeline. Lengths on the device are in voxels of the smallest edge. */
#ifndef CLV_SURFACE_DENOISE_H
#define CLV_SURFACE_DENOISE_H

#include "clvox/surface.h"
#include "op/surface/nlm.h"
#include "mesh/keep.h"

enum { CLV_DENOISE_REQUESTS = 20, CLV_DENOISE_SLOTS = 8 };

/* The box of the volume's grid that is worked on: all voxels near the surface,
 * and a margin so that no patch leaves it, beyond the volume where need be. */
typedef struct clv_denoise_box {
    int first[3], size[3];
    int n;             /* voxels */
    double edge;       /* the smallest, mm */
    float spacing[3];  /* in smallest edges */
    float delta, reach; /* half width of the band; where the distance may end */
    int radius, wide;   /* of patches; of the widest that are fitted */
} clv_denoise_box;

typedef struct clv_denoise {
    clvox_context *ctx;
    const clvox_level_set *level_set;
    const clvox_denoise_options *options;
    clvox_denoise_result *result;
    clv_denoise_box box;
    float *start; /* the level set as it came, on the box */
    double known_volume; /* mm^3; 0: that of the level set */
    double volume; /* cells inside, to be kept */
    double shift;  /* of the level set so far, outward */
    /* Buffers of the box. */
    clv_buffer *phi, *other, *index, *parts, *scratch, *partial, *state;
    /* Voxels of a round's band. */
    int count, most;
    clv_buffer *band, *neighbours, *weights, *matrix, *estimates, *sums, *search;
    clv_buffer *planes, *means, *middles, *noisy; /* NULL where patches keep their planes */
} clv_denoise;

/* A buffer of the box as an image. */
clv_image clv_denoise_image(const clv_denoise *run, clv_buffer *buffer);

/* CLVOX_OK, or the sentence that says what of a level set or options is not possible; reads no voxel. */
int clv_denoise_check(const clvox_level_set *level_set, const clvox_denoise_options *options);
/* Finds the box. CLVOX_ERROR_DATA where no value or every value is inside. */
int clv_denoise_find_box(const clvox_volume *distance, const clvox_denoise_options *options,
                         clv_denoise_box *box, long *not_finite);
/* The level set on the box in smallest edges, box->n floats. */
void clv_denoise_cut(const clvox_volume *distance, const clv_denoise_box *box, float *out);
/* Puts the box's level set back into a copy of the volume. */
int clv_denoise_paste(const clvox_volume *distance, const clv_denoise_box *box, const float *phi,
                      clvox_volume **out);

/* From level set to level set: all that is done on the device. Sets result->distance,
 * which is the caller's even on failure, and what belongs to it. */
int clv_denoise_run(clvox_context *ctx, const clvox_level_set *level_set,
                    const clvox_denoise_options *options, clvox_denoise_result *result);

/* The whole grid's distance, with the denoised surface in it. */
int clv_denoise_everywhere(clvox_context *ctx, clvox_volume *distance);

/* Requests to the pool, for the box and for a band of run->count voxels. */
int clv_denoise_list_box(clv_denoise *run, clv_request *list);
/* Whether planes are taken off: not where weights go by places. */
bool clv_denoise_planes(const clvox_denoise_options *o);
int clv_denoise_list_band(clv_denoise *run, clv_request *list);
int clv_denoise_list_polish(clv_denoise *run, int radius, clv_request *list);

/* The shift of phi's zero level that makes the volume inside `want` cells, at
 * most one voxel either way. */
int clv_denoise_shift(clv_denoise *run, clv_buffer *phi, double want, double *shift);

/* How far out of phi's zero level, in smallest edges, the mesh's vertices lie in
 * the mean; grid: the volume's that the box was cut from. 0 where none lies in
 * the box. CLVOX_ERROR_DATA for a singular grid, _MEMORY. */
int clv_denoise_place_by_points(const clv_denoise_box *box, const clvox_grid *grid, const float *phi,
                                const clvox_surface *mesh, double *level);
/* The value of phi at which a voxel was inside (start below 0) as often as not, and
 * in *width how fast that changes, in smallest edges: from 1/2 to 1/(1 + e). */
int clv_denoise_place_by_mask(const clv_denoise_box *box, const float *phi, const float *start, double *level,
                              double *width);
/* Whether noise made the mask that the level set came from, by that width. */
int clv_denoise_is_blurred(clv_denoise *run, bool *blurred);
/* Shifts phi, read from the device, and the device's own to such a level where
 * the options and the noise say so; sets result->placed. */
int clv_denoise_place(clv_denoise *run, float *phi);

/* Gives run->phi back what of the level set before, on the box, was shape and no
 * noise. Needs the pool for four volumes; leaves other and index undefined. */
int clv_denoise_restore(clv_denoise *run, const float *before);

#endif
