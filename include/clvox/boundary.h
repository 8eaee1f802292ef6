/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLVOX_BOUNDARY_H
#define CLVOX_BOUNDARY_H

#include "clvox/device.h"
#include "clvox/surface.h"
#include "clvox/volume.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Which side of the boundary is the brighter one in the moving image. AUTO: what it is at the start, over
 * all points. */
typedef enum clvox_boundary_contrast {
    CLVOX_BOUNDARY_AUTO = 0,
    CLVOX_BOUNDARY_T2, /* grey matter: EPI, T2, FLAIR */
    CLVOX_BOUNDARY_T1  /* white matter */
} clvox_boundary_contrast;

typedef struct clvox_boundary_options {
    size_t size; /* of this struct, as clvox_boundary_defaults sets it */
    clvox_boundary_contrast contrast;
    int affine; /* 1: 12 degrees of freedom, of which scales are little determined where the image goes on to
                   rise or fall beyond grey matter; 0: rigid, after the start's own scales and shears */
    double white_mm, grey_mm; /* how far inside and outside of the surface the image is sampled */
    double slope;             /* M, per percent */
} clvox_boundary_options;

/* T2 or T1 by the image, rigid, 2 and 1.25 mm, 0.05: steeper slopes (0.5 of the paper) hardly see how far
 * places are off, and are less precise on images of 3 mm. */
CLVOX_API void clvox_boundary_defaults(clvox_boundary_options *options);

typedef struct clvox_boundary_result {
    clvox_boundary_contrast contrast; /* T2 or T1 */
    int points, counted;              /* of the surfaces; those of them inside the image, at the end */
    double cost_before, cost_after;   /* mean over the points that count: 0 the best, 1 chance */
    double moved_mm;                  /* from the start to the end, root mean square over the points */
    int lost; /* 1: the boundary was not found: the cost ends above what aligned images have */
} clvox_boundary_result;

/* Boundary-based registration (Greve and Fischl, NeuroImage 48, 2009): refines matrix, fixed to moving in
 * RAS mm, so that the moving image rises or falls everywhere across the boundary between white and grey
 * matter of the fixed image. Minimises the mean over the points of
 *   1 + tanh(s M Q),  Q = 100 (g - w) / ((g + w) / 2),
 * with w and g the image at white_mm inside and grey_mm outside of a point along its normal, s = -1 for T2
 * and 1 for T1; first with a flatter slope over few points, then over all, at last with half of both
 * distances, which see less of what lies beyond grey matter (costs are those of the whole ones). surfaces:
 * their insides are white matter, RAS mm of the fixed image; one each hemisphere, or one. moving: its first
 * frame. matrix stays on failure. options NULL: the defaults. CLVOX_ERROR_DATA where fewer than a tenth of
 * the points (or 100) lie inside the image, as clvox_surface_inspect for damaged surfaces. */
CLVOX_API int clvox_boundary_fit(clvox_context *context, const clvox_surface *const *surfaces, int count,
                                 const clvox_volume *moving, const clvox_boundary_options *options,
                                 double matrix[4][4], clvox_boundary_result *out);

/* The surface of a mask (what is above 0) or of these labels of a label map, smoothed by one voxel so that
 * its normals are not those of voxels' faces. labels NULL: a mask. *out is the caller's; NULL on failure.
 * CLVOX_ERROR_DATA where nothing is inside. */
CLVOX_API int clvox_boundary_of(clvox_context *context, const clvox_volume *segmentation, const int *labels,
                                int count, clvox_surface **out);

#ifdef __cplusplus
}
#endif

#endif
