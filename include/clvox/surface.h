/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLVOX_SURFACE_H
#define CLVOX_SURFACE_H

#include <stddef.h>
#include <stdint.h>

#include "clvox/device.h"
#include "clvox/options.h"
#include "clvox/progress.h"
#include "clvox/status.h"
#include "clvox/volume.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A triangle mesh in host memory. Vertices are in RAS millimetres; seen from
 * outside, the corners of a triangle run counter-clockwise. */
typedef struct clvox_surface {
    size_t vertices, triangles;
    double *points;   /* x, y, z of each vertex */
    int32_t *corners; /* three vertices of each triangle */
} clvox_surface;

/* A surface with all points and corners 0. On success *out is the caller's, to
 * be released with clvox_surface_destroy; on failure NULL. */
CLVOX_API int clvox_surface_create(size_t vertices, size_t triangles, clvox_surface **out);

/* Releases the surface and sets *surface to NULL. NULL is legal. */
CLVOX_API void clvox_surface_destroy(clvox_surface **surface);

/* Reads a surface, its format told by content, or by its ending where content
 * does not tell (OBJ, BYU); any of them may be compressed by gzip.
 *   GIFTI: ASCII, base64 and compressed base64, either byte and index order,
 *     one surface a file. Points in a named space (scanner, aligned, Talairach,
 *     MNI) are taken as they stand; from an unknown one, the matrix that leads
 *     to scanner or aligned RAS is applied, else FreeSurfer's VolGeom remarks.
 *     Matrices that lead on to Talairach or MNI space are not: they would take
 *     the surface out of the space of its images.
 *   FreeSurfer's binary triangles: tkRAS, taken to scanner RAS by the volume
 *     geometry behind the triangles; without one, tkRAS as it is.
 *   Legacy VTK polydata, ASCII and binary (polygons and triangle strips, old
 *     and 5.x), PLY (ASCII and binary), STL (ASCII and binary; corners at equal
 *     coordinates become one vertex), OBJ, BYU: these state no frame and are
 *     taken as RAS mm. Files of ITK and its kin are often LPS: negate x and y.
 * Polygons become fans of triangles around their first corner; everything that
 * is no vertex or face is skipped. Where a matrix mirrors, triangles are turned,
 * so that outward stays outward. CLVOX_ERROR_FORMAT for damage, vertices that
 * are not finite, corners that name no vertex, points without faces. On success
 * *out is the caller's, to be released with clvox_surface_destroy; on failure
 * NULL. */
CLVOX_API int clvox_surface_read(const char *path, clvox_surface **out);

/* The same; lps: vertices are in LPS in files that state no frame (all but GIFTI and FreeSurfer's). */
CLVOX_API int clvox_surface_read_with(const char *path, int lps, clvox_surface **out);

/* Writes a surface in the format of the ending: .gii, .vtk and .ply (binary),
 * .stl (binary), .obj, .byu, or FreeSurfer's, whose names begin with lh. or rh.
 * or end in .fs, .white or .pial. Vertices are written as float32 (as decimals
 * of that precision in text) in RAS mm, in GIFTI named as scanner RAS, in
 * FreeSurfer's with a geometry that makes tkRAS and RAS one. STL keeps neither
 * the order of vertices nor those that no triangle uses. The rename rule of
 * clvox_volume_write holds. CLVOX_ERROR_ARGUMENT for another ending or corners
 * that name no vertex, CLVOX_ERROR_DATA for vertices beyond float32. */
CLVOX_API int clvox_surface_write(const clvox_surface *surface, const char *path);

/* The same; lps: in LPS to files that state no frame, for clvox_surface_read_with. */
CLVOX_API int clvox_surface_write_with(const clvox_surface *surface, int lps, const char *path);

/* Whether path names a surface file: by its ending or, for one without, by how
 * its content begins. A file that cannot be read is none. */
CLVOX_API int clvox_surface_is_file(const char *path);

/* Whether clvox_surface_write could take this name, for a check before long work:
 * CLVOX_ERROR_ARGUMENT where its ending is no format's. */
CLVOX_API int clvox_surface_check_name(const char *path);

/* Facts about a mesh as it is. A triangle whose corners are not three
 * vertices counts as degenerate and for nothing else. */
typedef struct clvox_surface_facts {
    int components;      /* of triangles that share edges */
    int euler;           /* vertices in use - edges + triangles */
    int open_edges;      /* of one triangle */
    int crowded_edges;   /* of more than two */
    int flipped_edges;   /* whose two triangles run in the same direction */
    int degenerate;      /* triangles without area */
    int unused_vertices;
    double area, volume; /* mm^2, mm^3; volume positive where triangles face outward */
    double bounds[2][3]; /* least and largest x, y, z of the vertices in use; 0 without */
} clvox_surface_facts;

/* CLVOX_ERROR_DATA where a corner is no vertex or a point no number. */
CLVOX_API int clvox_surface_inspect(const clvox_surface *surface, clvox_surface_facts *facts);

/* Distances between two surfaces in mm: [0] from a to b, [1] from b to a, [2] both. */
typedef struct clvox_surface_difference {
    double mean[3], rms[3], percentile95[3];
    double largest[3];     /* seen from the vertices too; [2] is the Hausdorff distance */
    double normal_degrees; /* mean angle between the normals of the two triangles, both ways */
    clvox_surface_facts facts[2]; /* of a and of b */
} clvox_surface_difference;

/* Each distance is that of a point of one surface to the nearest point of the other; the points
 * are spread evenly over the triangles, `samples` of each surface, at the same places run after
 * run. No correspondence, closedness or equal number of triangles is needed.
 * CLVOX_ERROR_ARGUMENT for samples below 1, _DATA as clvox_surface_inspect and where a surface
 * has no triangle; *out is then of no use. */
CLVOX_API int clvox_surface_compare(const clvox_surface *a, const clvox_surface *b, int samples,
                                    clvox_surface_difference *out);

/* Dice overlap 2 |A and B| / (|A| + |B|) of what two closed surfaces enclose, counted in voxels
 * of a 192nd of their longest common extent; NaN where neither encloses the centre of one. What
 * an open surface encloses is not defined (clvox_surface_inspect counts open edges).
 * CLVOX_ERROR_DATA as clvox_surface_inspect. */
CLVOX_API int clvox_surface_overlap(const clvox_surface *a, const clvox_surface *b, double *dice);

/* Inner products of two surfaces in the space of currents or of varifolds, mm^4. */
typedef struct clvox_surface_products {
    double aa, bb, ab;
    double squared_distance; /* aa + bb - 2 ab: 0 for a surface and itself */
} clvox_surface_products;

/* Surfaces are sums of elements, their triangles' centroids x with unit normals n and
 * areas a, and
 *   <A, B> = sum_i sum_j exp(-|x_i - y_j|^2 / width^2) a_i b_j (n_i . m_j)^p
 * over all pairs, with p = 1 for currents, which tell the two sides of a surface apart,
 * (Ha 2011, section 3.2.2), and p = 2 for varifolds, which do not (Charon and Trouve 2013). width in mm, in
 * which details smaller than it count for little. No correspondence, closedness or equal
 * number of triangles is needed. aa, bb and ab are exact to about 1e-6 of aa.
 * CLVOX_ERROR_ARGUMENT for a width that is not above 0, _DATA as clvox_surface_inspect. */
CLVOX_API int clvox_surface_currents(clvox_context *context, const clvox_surface *a, const clvox_surface *b,
                                     double width, int varifold, clvox_surface_products *out);

/* How the sums are found: over all pairs; or by a particle mesh (Ha 2011, section 3.3), in a time that grows
 * with the numbers of triangles and of the nodes of a grid around both surfaces; AUTO: by the mesh where
 * that is likely to take less time and reaches the error, else over all pairs. */
typedef enum clvox_currents_method {
    CLVOX_CURRENTS_EXACT = 0,
    CLVOX_CURRENTS_MESH,
    CLVOX_CURRENTS_AUTO
} clvox_currents_method;

typedef struct clvox_currents_options {
    size_t size; /* of this struct, as clvox_currents_defaults sets it */
    double width; /* mm */
    int varifold;
    clvox_currents_method method;
    double error; /* of MESH and AUTO, above 0: the largest of aa, bb, ab and squared_distance, each over
                     (aa + bb) / 2 */
} clvox_currents_options;

/* AUTO with an error of 1e-5, currents; width is left to be set. */
CLVOX_API void clvox_currents_defaults(clvox_currents_options *options);

/* Report of the comparison. error is estimated: the exact sums at 1024 triangles of each surface, or all, are
 * compared with those of the mesh; it is two standard deviations of what they say, over (aa + bb) / 2. */
typedef struct clvox_currents_report {
    clvox_currents_method method; /* EXACT or MESH */
    double spacing;               /* mm between nodes; 0 of EXACT, as the rest */
    int size[3];                  /* nodes along each axis */
    double error;
} clvox_currents_report;

/* clvox_surface_currents by a method. The mesh's spacing is first chosen by width and error, then refined
 * until the estimated error is small enough. report may be NULL. As clvox_surface_currents, and
 * CLVOX_ERROR_ARGUMENT for an error that is not between 0 and 1; of MESH, CLVOX_ERROR_DATA where the error
 * is not reached, CLVOX_ERROR_MEMORY where the grid is too large, as for a triangle far away from all
 * others. */
CLVOX_API int clvox_surface_currents_with(clvox_context *context, const clvox_surface *a,
                                        const clvox_surface *b, const clvox_currents_options *options,
                                        clvox_surface_products *out, clvox_currents_report *report);

/* ---- values, distances and meshes --------------------------------------- */

/* Interpretation of a volume's values. */
typedef enum clvox_inside_kind {
    CLVOX_INSIDE_MASK = 0,    /* whole numbers: inside is above 0 */
    CLVOX_INSIDE_LABELS,      /* the same with several numbers above 0 */
    CLVOX_INSIDE_LABEL,       /* inside is one label */
    CLVOX_INSIDE_PROBABILITY, /* fractions from 0 to 1: inside is above 0.5 */
    CLVOX_INSIDE_IMAGE,       /* inside is above iso */
    CLVOX_INSIDE_DISTANCE     /* a signed distance in mm: inside is below 0 */
} clvox_inside_kind;

typedef struct clvox_inside {
    clvox_inside_kind kind;
    int label;     /* of LABEL */
    double level;  /* what values cross, linear between voxels, where the surface lies: 0.5 of the 1 and 0
                      of clvox_inside_mask where there are masks and labels */
    int above;     /* 1: inside is above the level, 0: below */
    char text[48]; /* the same for people: "mask", "label 17", "image above 0.5" */
} clvox_inside;

/* Recognises the values of a volume: a distance, mask, label map or image, for all functions that make surfaces of
 * volumes. label is that of a label map, or negative; iso the value of an image, or NaN; where neither is given, a
 * distance is known by its values: of either sign, with fractions, and changing across 0 by no more than the
 * voxels' edges. CLVOX_ERROR_DATA for several frames, for a mask or label with all or none of the voxels inside,
 * and for fractions or negative values that are none of the kinds; CLVOX_ERROR_ARGUMENT for label and iso at once. */
CLVOX_API int clvox_inside_of(const clvox_volume *values, int label, double iso, clvox_inside *out);

/* 1 for the voxels of a mask or label map that lie inside, else 0, on the grid of
 * values. *out is NULL for the other kinds, whose values serve as they are; else
 * the caller's. NULL on failure. */
CLVOX_API int clvox_inside_mask(const clvox_volume *values, const clvox_inside *inside, clvox_volume **out);

/* Signed distance in mm to where values, linear between voxels, cross iso; values
 * above it are inside and get a negative distance. A mask (1 inside, 0 outside)
 * takes iso 0.5, so that its surface lies half-way between voxels. Exact within
 * ten voxels of that surface and nearly so beyond; NaN lies outside; where the
 * surface leaves the grid it goes on. *out lies on the grid of values and is the
 * caller's on success, NULL on failure. CLVOX_ERROR_ARGUMENT for values that are
 * all above iso or none, several frames, axes not at right angles (to half a
 * degree) or longer than 2040 voxels; _MEMORY, _DEVICE, _BUILD as the device
 * gives them. */
CLVOX_API int clvox_distance_from_values(clvox_context *context, const clvox_volume *values, double iso,
                                         clvox_volume **out);

/* Remarks for the user on the way from a mesh to a distance. */
typedef struct clvox_surface_notes {
    clvox_surface_facts facts; /* once vertices in one place are one */
    int vertices_welded;
    int triangles_turned; /* so that neighbours run alike, and parts that lie in no other outward */
    int turned;           /* faced inward as a whole and was taken the other way round */
    int crossing;         /* parts lie inside of others, by crossing or nesting: the
                             distance is to what bounds their union */
    int leaves_grid;      /* reaches beyond the outermost voxel centres */
    size_t voxels_inside;
} clvox_surface_notes;

/* Signed distance in mm to a mesh on grid, whatever its axes: exact within
 * `band` mm of the surface; beyond, to the nearest triangle that neighbours hand
 * on, seldom more than a tenth of a voxel too far. An infinite band is exact
 * everywhere. The sign is that of the generalised winding number (Jacobson et al.
 * 2013) of the mesh with its triangles turned alike, so that small holes,
 * crossings and turned triangles do no harm. notes may be NULL. The same bits run
 * after run, whatever the number of threads. *out is the caller's on success, NULL on
 * failure. CLVOX_ERROR_DATA without a triangle, _ARGUMENT for a band that is not
 * above 0. */
CLVOX_API int clvox_distance_from_surface(clvox_context *context, const clvox_surface *surface,
                                          const clvox_grid *grid, double band, clvox_surface_notes *notes,
                                          clvox_volume **out);

/* The surface where values cross `level`; inside is below it (a signed
 * distance) or, with above, above it. A marching cubes with the topology of the
 * trilinear function: asymptotic deciders on faces, tunnels inside of cells.
 * Always a closed 2-manifold without cracks, double vertices or degenerate
 * triangles, oriented outward on mirrored grids too; it may still touch itself
 * closely. Vertices stay a thousandth of an edge away from voxels, and tunnels
 * narrower than that are closed. A value at the level, or NaN, is outside;
 * beside a value that is not finite the surface runs halfway. Where inside
 * reaches the border of the grid, a cap half a voxel beyond it closes the
 * surface. Bit-identical for any number of threads. CLVOX_ERROR_ARGUMENT where
 * the level is not reached. On success *out is the caller's; on failure NULL. */
CLVOX_API int clvox_surface_extract(const clvox_volume *values, double level, int above,
                                    clvox_surface **out);

/* Source of a level set: a volume or a surface. */
typedef struct clvox_level_set_source {
    size_t size;                  /* of this struct, as clvox_level_set_source_defaults sets it */
    const clvox_volume *volume;   /* a mask, label map, probability, image or signed distance */
    int label;                    /* of a label map; negative: none */
    double iso;                   /* of an image: inside is above it; NaN: none */
    int whole;                    /* on all of the volume's grid; else around what is inside */
    const clvox_surface *surface; /* a mesh, in place of the volume */
    double voxel;                 /* edge of the voxels of its grid, mm; 0: that of its triangles, of smooth
                                     meshes a little finer, of coarse ones as small as the shape needs */
} clvox_level_set_source;

/* A signed distance and what is known of the surface that it came from. */
typedef struct clvox_level_set {
    clvox_volume *distance;    /* mm, negative inside */
    int from_surface;          /* 1: from a mesh, 0: from a volume */
    clvox_inside inside;       /* of a volume: what its values were taken for */
    clvox_surface *surface;    /* of a closed mesh: a copy; else NULL */
    int bounds;                /* 1: that mesh bounds a body as it stands: nothing of it lies within others */
    int steps;                 /* 1: of a mesh that shows the steps of voxels */
    int coarse;                /* 1: of a closed mesh whose facets are large against its shape */
    clvox_surface_notes notes; /* of a mesh */
    double volume;             /* mm^3 of the closed mesh or mask; 0: not known, or cut by the border */
} clvox_level_set;

/* The size, label and iso -1 and NaN, everything else 0. */
CLVOX_API void clvox_level_set_source_defaults(clvox_level_set_source *source);

/* Makes a signed distance of what surfaces come as. Of a mesh and of a part of a
 * volume the grid reaches eight voxels beyond what is inside. On success the
 * result's distance and surface are the caller's, to be released with
 * clvox_level_set_destroy; on failure NULL. CLVOX_ERROR_ARGUMENT for a mesh that
 * spans more than 1024 voxels, for label or iso with a mesh, for both or neither
 * of volume and surface; CLVOX_ERROR_DATA for a mesh without area, and as
 * clvox_inside_of and clvox_distance_from_values say. */
CLVOX_API int clvox_level_set_create(clvox_context *context, const clvox_level_set_source *source,
                                   clvox_level_set *out);

/* Releases distance and surface and sets them to NULL. NULL is legal. */
CLVOX_API void clvox_level_set_destroy(clvox_level_set *level_set);

/* ---- non-local-means denoising ------------------------------------------ */

typedef enum clvox_denoise_update {
    CLVOX_DENOISE_PATCHES = 0, /* average whole patches, then average where they overlap */
    CLVOX_DENOISE_PAPER        /* explicit steps of Lee et al. 2012, equation 15 */
} clvox_denoise_update;

/* Patches with which a patch is compared. */
typedef enum clvox_denoise_search {
    CLVOX_DENOISE_GLOBAL = 0, /* all of the band */
    CLVOX_DENOISE_NEAR               /* patches within radius: much faster, about 0.04 voxels less accurate */
} clvox_denoise_search;

/* Whether the surface keeps its components, handles and cavities. AUTO, noise
 * above 0.23 voxels: does not keep them, and removes those that shifting the level
 * set by twice the noise would remove. AUTO, less noise: keeps them, except
 * islands and cavities of fewer than 27 voxels that look like noise in inputs other than
 * a mesh that bounds a body or shows the steps of voxels. */
typedef enum clvox_denoise_topology {
    CLVOX_TOPOLOGY_AUTO = 0,
    CLVOX_TOPOLOGY_KEEP,
    CLVOX_TOPOLOGY_FREE
} clvox_denoise_topology;

enum { CLVOX_DENOISE_MOST_ROUNDS = 100 };

/* Lengths are in voxels of the smallest edge. */
typedef struct clvox_denoise_options {
    size_t size; /* of this struct, as clvox_denoise_defaults sets it */
    clvox_denoise_update update;
    clvox_denoise_topology topology;
    int patch;       /* samples along an edge of a patch: 3, 5 or 7 */
    int neighbours;  /* patches averaged, 1 to 256 */
    double band;     /* half width of the band; at least the longest edge is taken */
    double c1;       /* w = exp(-|x - y|^2 / c1) exp(-D / c2); 0: infinite */
    double c2;       /* 0: strength times the noise */
    double strength; /* 0: 1.5 */
    int planes;      /* PATCHES without c1: subtract each patch's best-fit plane, compare and average the
                        rest, and the planes separately; better on anatomy, so the default */
    clvox_denoise_search search;
    double radius;   /* of NEAR; above 0 */
    int rounds;      /* of patches; 0: by the noise, but one where a mesh shows voxel steps, which a second
                        round would keep as shape. With a mesh and noise below 0.23 voxels, rounds after the
                        first compare patches of the result and average those of the input */
    int steps;       /* of PAPER */
    int interval;    /* steps of PAPER between re-distancings */
    int free_volume; /* 1: leave the level set where averaging put it. 0: shift it so that a mesh's
                        vertices lie evenly on both sides, unless the mesh is coarse, or so that as many
                        voxels were inside as outside if those are blurred as by noise of 0.25 voxels; both
                        are more accurate than the volume, which noise and flat triangles change. Where
                        neither applies, shift it to its original volume */
    int distance;    /* also give the distance, on the whole grid, with the surface's topology */
    clvox_progress progress; /* may be NULL */
    void *user;
} clvox_denoise_options;

/* The defaults: what `clvox surface denoise` does without options. */
CLVOX_API void clvox_denoise_defaults(clvox_denoise_options *options);

/* The options by name (clvox/options.h). Static. */
CLVOX_API const clvox_option_table *clvox_denoise_table(void);

/* Components and handles kept or removed. */
typedef struct clvox_denoise_kept {
    int components_before, euler_before; /* of the mesh that bounded a body, else on the grid */
    int components_on_grid, euler_on_grid; /* of the level set's mesh */
    int components_if_free, euler_if_free; /* of the result if nothing is held */
    int kept;         /* 1: the surface has those of the input, as far as the finest grid resolves them */
    int missed;       /* 1: the finest grid does not resolve all of them */
    int refined;      /* how many times finer the grid was that kept them; 0: none was needed */
    long held;        /* voxels of that grid held inside or outside to keep them */
    long simplified;  /* voxels of the mesh's grid that changed sides to remove handles, islands and
                         cavities caused by noise */
} clvox_denoise_kept;

typedef struct clvox_denoise_result {
    clvox_surface *surface; /* the mesh, RAS mm; the caller's */
    clvox_surface_facts facts; /* of it */
    clvox_volume *distance; /* on the level set's grid, mm; NULL unless asked for; the caller's */
    int size[3];            /* of the box that was worked on */
    int band_voxels;        /* of the last round */
    int neighbours;         /* of each, as many as the band has */
    double noise;           /* noise variance: 20th percentile, over the first round's band, of the squared
                               residual of a patch from its quadratic fit, voxels^2 */
    double deviation;       /* the same as standard deviation of one sample, voxels */
    double nearest;         /* median of D to the nearest patch, voxels^2 */
    double c2;              /* of the last round */
    int rounds, steps;      /* done */
    double volume_before, volume_after; /* mm^3; before: the level set's where it is known, else its mesh's */
    int placed;             /* 1: vertices or voxels placed the level set (free_volume); 0: its volume did */
    double shift_mm;        /* of the level set, outward, before it was meshed */
    double mean_mm, largest_mm; /* movement of the surface */
    double energy[2];       /* PAPER: 1/4 sum w (phi_l - phi_j)^2 before and after the steps, else NaN */
    clvox_denoise_kept topology;
    long held_voxels;       /* of the distance, held on their side of 0 to keep the topology; near them it is
                               not a true distance */
    long simplified_voxels; /* of the distance, that changed sides to remove what noise caused */
    long not_finite;        /* NaN and infinite values of the input, which count as outside */
    double seconds_prepare, seconds_search, seconds_update, seconds_redistance, seconds_finish;
    double seconds_mesh;
    size_t device_bytes;    /* most that the run held at once */
} clvox_denoise_result;

/* Predicted cost of a run. */
typedef struct clvox_denoise_plan {
    int size[3];           /* of the box around the surface that is worked on */
    int band_voxels;       /* about */
    size_t device_bytes;   /* most at once */
    double search_seconds; /* a guess from the device's speed */
} clvox_denoise_plan;

/* Looks at the level set without working on it. options NULL: the defaults. Errors are
 * clvox_surface_denoise's. */
CLVOX_API int clvox_denoise_predict(clvox_context *context, const clvox_level_set *level_set,
                                      const clvox_denoise_options *options, clvox_denoise_plan *plan);

/* Denoises the surface where a signed distance (mm, negative inside) is 0; the input need be a true distance
 * only near the surface. The mesh is twice as fine as the grid (cubic interpolation), is corrected for the
 * volume that flat triangles cut off, and has the topology that the options ask for, kept on a grid two to
 * four times as fine. Values that are not finite count as outside; a surface that reaches the border
 * continues straight beyond it. A level set not made by clvox_level_set_create needs only its distance.
 * options NULL: the defaults. On success the result's surface and distance are the caller's, to be released
 * with clvox_denoise_result_destroy; on failure NULL. CLVOX_ERROR_DATA where there is no surface, or where
 * the voxels are so large that the volume of a coarse mesh would change by more than a percent; _ARGUMENT
 * for label volumes, grids with sheared axes and options out of range. */
CLVOX_API int clvox_surface_denoise(clvox_context *context, const clvox_level_set *level_set,
                                    const clvox_denoise_options *options, clvox_denoise_result *result);

/* Releases the result's surface and distance; the numbers stay. NULL is legal. */
CLVOX_API void clvox_denoise_result_destroy(clvox_denoise_result *result);

#ifdef __cplusplus
}
#endif

#endif
