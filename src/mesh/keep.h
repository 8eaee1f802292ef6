/* SPDX-License-Identifier: Apache-2.0 */
/* Meshes of a denoised level set: finer than its grid, with the topology that
 * the surface had before where that is asked for. */
#ifndef CLV_MESH_KEEP_H
#define CLV_MESH_KEEP_H

#include "mesh/mesh.h"

/* Noise of a sample, in voxels, from which on one round of denoising leaves enough
 * for a second, and the topology is the noise's. */
#define CLV_DENOISE_NOISY 0.23

/* Loops and islands of noisy surfaces go that shifting the level by so many times that noise removes. */
#define CLV_DENOISE_DEPTH 2

/* Refined level sets do not get larger. */
#define CLV_SURFACE_MOST_VOXELS ((size_t)400000000)

/* The surface before denoising. */
typedef struct clv_surface_before {
    const clvox_surface *mesh;    /* or NULL: the zero level of */
    const clvox_volume *distance; /* linear between voxels, on the grid of the denoised one */
    int components, euler;        /* of its surfaces */
    int only_clean;               /* 1: with islands and cavities of the size of noise there is no result */
    int factor;                   /* of clv_surface_kept, from a call before; 0: not known */
} clv_surface_before;

typedef struct clv_surface_kept {
    int factor;            /* voxels of the grid that was refined, along an edge of one */
    int components, euler; /* that the surface has there; those asked for where it is fine enough */
    int specks;            /* islands and cavities of the size of noise */
    long held;             /* voxels of the fine grid that had to stay on their side */
} clv_surface_kept;

/* The mesh of a denoised level set, refined by cubics, with the topology of what
 * it was made of, found on a grid two to four times as fine: as fine as makes
 * the digital topology that of `before`. *out is NULL where that is not clean,
 * but was to be. */
int clv_surface_extract_kept(const clvox_volume *distance, const clv_surface_before *before,
                             clvox_surface **out, clv_surface_kept *kept);

/* Whether nothing of noise shows in the topology of a level set: no island or
 * cavity of its size. */
int clv_surface_is_clean(const clvox_volume *distance, bool *clean);

/* A level set gets the topology that one on the same grid had before, where its
 * mesh has another number of components or Euler characteristic. held: voxels
 * that had to stay on their side; beside them it is no distance. */
int clv_surface_keep_signs(const clvox_volume *before, clvox_volume *distance, long *held);

/* Islands, cavities and loops go that a shift of the level by depth mm or less would
 * take away (clv_topology_simplify). flipped: voxels that changed sides. */
int clv_surface_simplify(clvox_volume *distance, double depth, long *flipped);

/* clv_surface_extract_fine without those; depth 0: with them. */
int clv_surface_extract_simple(const clvox_volume *distance, double depth, clvox_surface **out,
                               long *flipped);

/* Widens the box first to last so that it holds the voxels up to reach. */
void clv_surface_box(const clvox_volume *in, double reach, int first[3], int last[3]);

/* The box of the volume with factor - 1 samples more between every two. */
int clv_surface_refine(const clvox_volume *in, const int first[3], const int last[3], int factor, bool cubic,
                       clvox_volume **out);

#endif
