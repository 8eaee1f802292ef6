/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_OP_SURFACE_NLM_H
#define CLV_OP_SURFACE_NLM_H

#include "op/surface/patch_search.h"

/* Non-local means on the narrow band of a level set (Lee et al. 2012, section
 * 2.3, after Dong et al. 2008). phi is in voxels of the smallest edge, finite,
 * and so is every length below; sizes are such that count * stride of the
 * patches stays below 2^31. All sums have a fixed order. */

/* Bytes of scratch for a grid: what the band (`ends`) and the volume (`parts`) take. */
size_t clv_nlm_parts_bytes(const int size[3]);
/* The band |phi| <= delta. count: its voxels; ends then says where those of each chunk of the grid
 * end. Blocking. */
int clv_nlm_band_count(clvox_context *ctx, const clv_image *phi, float delta, clv_buffer *ends, int *count);
/* With ends from above: band (int32, count) holds the linear indices of its
 * voxels, ascending; index (int32, a voxel each) the place of a voxel in band, -1
 * for those outside. */
int clv_nlm_band_list(clvox_context *ctx, const clv_image *phi, float delta, const clv_buffer *ends,
                      clv_buffer *band, clv_buffer *index);

/* Floats of a patch in the matrix of patches: (2 radius + 1)^3 rounded up. */
int clv_nlm_stride(int radius);
/* The matrix: count rows of stride floats, samples x fastest, zeros behind.
 * Beyond the grid phi goes on linearly across its border. */
int clv_nlm_patches_gather(clvox_context *ctx, const clv_patches *patches, clv_buffer *matrix);

/* Radius of the widest patches that are gathered and fitted; those that are searched
 * end before (CLV_PATCH_MOST_RADIUS). */
enum { CLV_NLM_WIDEST = 4 };

typedef struct clv_nlm_matrix {
    clv_buffer *buffer;
    int count, radius;
} clv_nlm_matrix;

/* residual[j]: the sum over patch j of its squared difference from the quadratic
 * in x, y, z (10 coefficients) that fits it best. */
int clv_nlm_residual(clvox_context *ctx, const clv_nlm_matrix *matrix, clv_buffer *residual);

/* Moves each patch of the matrix towards that quadratic, by the share
 * exp(-(residual / scale)^2), scale above 0: what is smooth becomes smoother, edges
 * stay. residual as above, before. */
int clv_nlm_polish(clvox_context *ctx, const clv_nlm_matrix *matrix, float scale, clv_buffer *residual);

/* Takes from each patch of the matrix the plane that fits it best, so that
 * patches are compared and averaged by how they bend. planes: 4 count floats.
 * tiles (count (2 radius + 1)^3 floats) and middles (int32, count) are the rest,
 * with share of the plane, as a level set of (2 radius + 1) x (2 radius + 1) x
 * count (2 radius + 1) voxels and a band of it, on which clv_patch_search finds the
 * patches that are alike (without a reach: positions mean nothing there). */
int clv_nlm_planes(clvox_context *ctx, const clv_nlm_matrix *matrix, float share, clv_buffer *planes,
                   clv_buffer *tiles, clv_buffer *middles);

/* The band's pairs. neighbours as clv_patch_search gives them. */
typedef struct clv_nlm_graph {
    const clv_buffer *band;       /* int32 */
    const clv_buffer *neighbours; /* int32, count * most */
    clv_buffer *weights;          /* float, count * most */
    int count, most;
} clv_nlm_graph;

typedef struct clv_nlm_plane_args {
    const clv_buffer *planes; /* as clv_nlm_planes took them from the patches that were compared */
    const clv_buffer *values; /* the planes to be averaged; may be planes */
    int radius;
    float share, c2;
    clv_buffer *means;        /* 4 count floats */
} clv_nlm_plane_args;

/* means: of each patch's plane in values and its neighbours', by exp(-D / c2), D of
 * the whole patches, which have planes. The patch itself counts as much as the
 * likest. graph->weights: distances as the search on the tiles gave them; they
 * become those of the rest alone. */
int clv_nlm_plane_means(clvox_context *ctx, const clv_nlm_graph *graph, const clv_nlm_plane_args *args);

/* w_jl = exp(-|x_j - x_l|^2 / c1) exp(-D_jl / c2), c1 INFINITY for none of the
 * first; 0 where there is no neighbour. sums[j] = sum over l of w_jl. distances
 * may be graph->weights. */
int clv_nlm_weights(clvox_context *ctx, const clv_nlm_graph *graph, const clv_buffer *distances,
                    const clv_image *grid, float c1, float c2, clv_buffer *sums);

/* energy[j] = 1/4 sum over l of w_jl (phi_l - phi_j)^2: summed over j, what the
 * paper's steps descend. */
int clv_nlm_energy(clvox_context *ctx, const clv_nlm_graph *graph, const clv_buffer *phi,
                   clv_buffer *energy);

/* The paper's equation 15, l != j: phi_j += dt sum over l of w_jl (phi_l - phi_j),
 * dt = 1 / largest row sum, which is state[slot]: a convex combination. next:
 * count floats of scratch. */
int clv_nlm_step(clvox_context *ctx, const clv_nlm_graph *graph, const clv_buffer *state, int slot,
                 clv_buffer *next, clv_buffer *phi);

typedef struct clv_nlm_average_args {
    clv_nlm_graph graph;
    clv_nlm_matrix matrix;
    float own;                /* weight of the patch itself; 0: that of its nearest neighbour */
    const clv_buffer *planes; /* put back on the means, as clv_nlm_planes took them from the matrix or
                                 clv_nlm_plane_means made them; NULL: none */
    const clv_buffer *index;  /* as clv_nlm_band_list gives it */
    clv_buffer *estimates;    /* room for any number of rows of the matrix, at least one: the fewer, the
                                 slower */
    clv_buffer *sums;         /* 2 count floats */
    clv_image phi;            /* of which only voxels in the band change */
} clv_nlm_average_args;

/* Every patch becomes the mean of itself and its neighbours by their weights; a
 * voxel of the band becomes the mean of what the patches that cover it say. */
int clv_nlm_average(clvox_context *ctx, const clv_nlm_average_args *args);

/* The second half of clv_nlm_average by itself: a voxel of the band becomes the
 * mean of what the patches of the matrix that cover it say. */
int clv_nlm_overlap(clvox_context *ctx, const clv_nlm_matrix *matrix, const clv_buffer *band,
                    const clv_buffer *index, clv_buffer *sums, const clv_image *phi);

/* How many cells between voxel centres lie below level, in cells: exact for phi
 * linear on six tetrahedra a cell. parts: scratch. Blocking. */
int clv_nlm_volume(clvox_context *ctx, const clv_image *phi, float level, clv_buffer *parts, double *cells);

extern const clv_entry clv_entry_nlm_average;
extern const clv_entry clv_entry_nlm_band;
extern const clv_entry clv_entry_nlm_count;
extern const clv_entry clv_entry_nlm_ends;
extern const clv_entry clv_entry_nlm_energy;
extern const clv_entry clv_entry_nlm_overlap;
extern const clv_entry clv_entry_nlm_patches;
extern const clv_entry clv_entry_nlm_plane;
extern const clv_entry clv_entry_nlm_plane_means;
extern const clv_entry clv_entry_nlm_residual;
extern const clv_entry clv_entry_nlm_scatter;
extern const clv_entry clv_entry_nlm_step;
extern const clv_entry clv_entry_nlm_volume;
extern const clv_entry clv_entry_nlm_weights;

#endif
