/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLVOX_SHAPE_H
#define CLVOX_SHAPE_H

#include <stddef.h>
#include <stdint.h>

#include "clvox/status.h"
#include "clvox/surface.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Elements of a shape: their number of corners. */
typedef enum clvox_shape_kind {
    CLVOX_SHAPE_CLOUD = 1,  /* points, each with a weight */
    CLVOX_SHAPE_CURVES = 2, /* segments of curves */
    CLVOX_SHAPE_SURFACE = 3 /* triangles */
} clvox_shape_kind;

/* A surface, curves or a cloud of points in host memory: the same but for the corners of an element. */
typedef struct clvox_shape {
    clvox_shape_kind kind;
    size_t vertices, elements;
    double *points;   /* x, y, z of each vertex, RAS mm */
    int32_t *corners; /* the vertices of each element, as many as its kind says */
    double *weights;  /* of a cloud: of each vertex, 0 or more; NULL: all alike */
} clvox_shape;

/* A shape with all points and corners 0 and no weights; of a cloud, each vertex an element (`elements`
 * does not count). On success *out is the caller's, to be released with clvox_shape_destroy; on failure
 * NULL. */
CLVOX_API int clvox_shape_create(clvox_shape_kind kind, size_t vertices, size_t elements, clvox_shape **out);

/* Releases the shape and sets *shape to NULL. NULL is legal. */
CLVOX_API void clvox_shape_destroy(clvox_shape **shape);

/* The same arrays seen as a shape, to be released with the surface alone. */
CLVOX_API void clvox_shape_of_surface(const clvox_surface *surface, clvox_shape *out);

/* The area (mm^2), length (mm) or weight of all elements. CLVOX_ERROR_DATA where a corner is no vertex, a
 * point no number, or a weight none of 0 or more. */
CLVOX_API int clvox_shape_size(const clvox_shape *shape, double *size);

/* Reads curves, the format told by content; any may be compressed by gzip:
 *   the LINES of legacy VTK polydata, ASCII and binary (old and 5.x). These state no frame and are taken as
 *     RAS mm; lps: as LPS.
 *   MRtrix's tracks (.tck), of 32 and 64 bits in either byte order, in RAS mm.
 *   TrackVis' tracks (.trk), by their matrix and voxel order in RAS mm; scalars and properties are passed
 *     over. Without a matrix they are refused, and where programs differ on the place: where the order
 *     exchanges three axes of the matrix, or two of which one is turned.
 * A polyline of n vertices becomes n - 1 segments in its order, one of a single vertex that vertex alone.
 * CLVOX_ERROR_FORMAT for damage, vertices that are not finite, corners that name no vertex, files without
 * lines. On success *out is the caller's, to be released with clvox_shape_destroy; on failure NULL. */
CLVOX_API int clvox_curves_read(const char *path, int lps, clvox_shape **out);

/* Writes curves as VTK polydata (.vtk, binary, float32) or MRtrix's tracks (.tck, Float32LE); segments of
 * which each begins where the one before it ends are one line. lps: in LPS, of VTK. The rename rule of
 * clvox_volume_write holds. CLVOX_ERROR_ARGUMENT for another ending, or for what are no curves;
 * CLVOX_ERROR_DATA for vertices beyond float32. */
CLVOX_API int clvox_curves_write(const clvox_shape *curves, int lps, const char *path);

/* Whether clvox_curves_write could take this name, for a check before long work: CLVOX_ERROR_ARGUMENT
 * where its ending is no format's. */
CLVOX_API int clvox_curves_check_name(const char *path);

/* Inner products of two shapes of one kind as currents or varifolds: clvox_surface_currents_with, of curves
 * with the direction of a segment for the normal and its length for the area, of clouds with 1 for the
 * product of normals and a point's share of all weights for the area, which compares them as measures. The
 * errors are the same. */
CLVOX_API int clvox_shape_currents(clvox_context *context, const clvox_shape *a, const clvox_shape *b,
                                   const clvox_currents_options *options, clvox_surface_products *out,
                                   clvox_currents_report *report);

/* Distances in mm between two shapes of one kind: of the points of one to the nearest of the other's
 * elements, [0] from a to b, [1] from b to a, [2] both. Means are over `samples` points spread evenly over
 * area or length, and over all points of a cloud by their weights; largest is that of the vertices, too,
 * so that [2] is the Hausdorff distance of curves and clouds to the spacing of the samples.
 * CLVOX_ERROR_ARGUMENT for samples below 1 and for unlike kinds, CLVOX_ERROR_DATA as clvox_shape_size and
 * for shapes of no size. */
CLVOX_API int clvox_shape_compare(const clvox_shape *a, const clvox_shape *b, int samples, double mean[3],
                                  double largest[3]);

#ifdef __cplusplus
}
#endif

#endif
