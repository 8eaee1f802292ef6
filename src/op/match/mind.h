/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_OP_MATCH_MIND_H
#define CLV_OP_MATCH_MIND_H

#include "op/match/metric.h"

/* Squared differences of the self-similarity context of two images (MIND-SSC; Heinrich et al. 2013, MICCAI), which
 * says where tissues part and not how bright they are, and its derivatives. A descriptor has twelve numbers, one for
 * each pair a, b of the six neighbours that touch along an edge:
 *   D_ab(x) = sum over q of the patch of (I(x + a + q) - I(x + b + q))^2 / (2 radius + 1)^3,
 *   m_ab(x) = exp(-(D_ab + e) / (V + e)),   V the mean of the twelve D,
 *   S = -1/24 sum over valid x and pairs of (m_ab of M - m_ab of F)^2.
 * A voxel is valid where both images are finite. A difference of which either voxel is not valid, or lies outside of
 * the grid, counts 0 in both images. e stands for noise: where there is nothing else all m are exp(-1).
 * The derivatives are those of S, through V as well: dS/dM at a voxel sees all descriptors whose patches hold it.
 * As the descriptors are those of the images that are given, warped ones turn with their images. Equal images have
 * derivative 0 everywhere; where a voxel is not valid it is 0. The sums are in fixed order. args->local is not read;
 * args->parameter is the radius of patches, 0 to 4. */
int clv_mind(clvox_context *ctx, const clv_metric_args *args);

/* The same, but weight times the derivatives is added to what derivative_moving and derivative_fixed hold. */
int clv_mind_add(clvox_context *ctx, const clv_metric_args *args, float weight);

enum { CLV_MIND_PARTIALS = 8192, CLV_MIND_MOST_RADIUS = 4 };

/* Floats that scratch holds: 24 volumes and a few numbers a line, of radius 0 14 volumes, with room for
 * radius + 2 voxels around each line and plane. */
size_t clv_mind_scratch(const int size[3], int radius, bool local, bool both);

extern const clv_entry clv_entry_mind_pack, clv_entry_mind_spans, clv_entry_mind_lines, clv_entry_mind_planes,
    clv_entry_mind_compare, clv_entry_mind_pull, clv_entry_mind_point_pull, clv_entry_mind_derivative;

#endif
