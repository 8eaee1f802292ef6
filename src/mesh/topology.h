/* SPDX-License-Identifier: Apache-2.0 */
/* Digital topology of what is inside of a level set: inside voxels are joined
 * across faces, outside ones across faces, edges and corners. Beyond the grid
 * all is outside. Sets are bytes, 1 inside, x running fastest. */
#ifndef CLV_MESH_TOPOLOGY_H
#define CLV_MESH_TOPOLOGY_H

#include <stddef.h>
#include <stdint.h>

/* Voxels; smaller islands and cavities are taken for noise. */
enum { CLV_NOISE_SIZE = 27 };

typedef struct clv_topology {
    int inside, outside; /* components, that beyond the grid among the outer ones */
    int surfaces, euler; /* of the boundary between them */
    int specks;          /* components of fewer than `least` voxels but for the largest one inside */
} clv_topology;

int clv_topology_count(const int size[3], const unsigned char *inside, size_t least, clv_topology *out);

/* Moves the set towards where phi < 0, voxel by voxel, as far as no flip changes
 * its topology: only simple points are flipped (Bertrand and Malandain 1994:
 * around the voxel one component of the inside, joined across faces within the
 * 18 neighbours, and one of the outside), those with the largest |phi| first, of
 * equals (to 1/64 voxel) as they come. held: how many voxels stay on the other
 * side. voxel: an edge in phi's unit. Linear in the number of voxels between. */
int clv_topology_walk(const int size[3], unsigned char *inside, const float *phi, float voxel, long *held);

/* Gives phi the signs of the set: where they differ, small values. */
void clv_topology_impose(const int size[3], const unsigned char *inside, float voxel, float *phi);

/* In cells whose eight voxels leave the connection open, lowers the inner values and raises the outer ones, so that
 * the trilinear function (and with it clvox_surface_extract) joins what the set does. */
void clv_topology_settle(const int size[3], float voxel, float *phi);

/* All of it: gives phi the topology of where `before` is below 0. */
int clv_topology_keep(const int size[3], const float *before, float voxel, float *phi, long *held);

/* Takes from phi < 0 what shifting the level by `depth` or less either way would
 * take: islands, cavities, and loops, by closing the hole or cutting the bridge.
 * Nothing is joined to another part and nothing cut off. phi (its unit that of
 * voxel and depth) keeps its values but at the voxels that change sides, *flipped
 * of them, and beside them where what is joined must be told. */
int clv_topology_simplify(const int size[3], float voxel, float depth, float *phi, long *flipped);

/* 1 where phi < 0; NaN is outside. */
void clv_topology_signs(size_t count, const float *phi, unsigned char *inside);

#endif
