/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLVOX_REGISTRATION_H
#define CLVOX_REGISTRATION_H

#include "clvox/apply.h"
#include "clvox/device.h"
#include "clvox/options.h"
#include "clvox/posteriors.h"
#include "clvox/progress.h"
#include "clvox/shape.h"
#include "clvox/transform.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { CLVOX_MAX_LEVELS = 8, CLVOX_MAX_CHANNELS = 8, CLVOX_MAX_SHAPES = 24, CLVOX_MAX_BESIDE = 3 };

/* For shapes without images see clvox_shapes_start. */
typedef enum clvox_init {
    /* The headers (where the centre of each grid lies in the other), the grids'
     * centres, the images' centres, and turns about these: the best of them by
     * the linear metric. Where linear is NONE: the headers, or where they do not
     * overlap the images' centres. */
    CLVOX_INIT_AUTO = 0,
    CLVOX_INIT_IDENTITY, /* the same as HEADER: world coordinates as they are */
    CLVOX_INIT_HEADER,   /* trust the world coordinates */
    CLVOX_INIT_CENTERS,  /* centres of the two grids */
    CLVOX_INIT_MOMENTS,  /* the images' (or masks') centres, and turns about these */
    CLVOX_INIT_MATRIX    /* options.matrix */
} clvox_init;

/* Degrees of freedom of the linear part. NONE leaves the start as it is. */
typedef enum clvox_linear {
    CLVOX_LINEAR_NONE = 0,
    CLVOX_LINEAR_TRANSLATION,
    CLVOX_LINEAR_RIGID,
    CLVOX_LINEAR_SIMILARITY,
    CLVOX_LINEAR_SCALES, /* rigid, after a scale along each axis of the fixed image: 9 degrees of freedom */
    CLVOX_LINEAR_AFFINE
} clvox_linear;

typedef enum clvox_deform {
    CLVOX_DEFORM_NONE = 0,
    CLVOX_DEFORM_UNBIASED, /* Lee et al. 2012: one-sided, fluid, log-unbiased penalty */
    CLVOX_DEFORM_GREEDY,   /* one-sided, compositive updates */
    CLVOX_DEFORM_SYN,      /* both images move towards a middle, compositive updates */
    CLVOX_DEFORM_LDDMM,    /* a flow of least energy between the images, compared at its middle */
    CLVOX_DEFORM_SHOOTING  /* the geodesic that an initial momentum on the fixed image begins */
} clvox_deform;

/* How images are compared. Every metric takes intensities of any scale. */
typedef enum clvox_metric {
    CLVOX_METRIC_SSD = 0, /* mean squared difference of matched intensities */
    CLVOX_METRIC_NCC,     /* squared normalised correlation over the whole image */
    CLVOX_METRIC_LNCC,    /* squared normalised correlation in windows, their mean */
    CLVOX_METRIC_MI,      /* mutual information, Parzen histogram */
    CLVOX_METRIC_MIND     /* squared differences of self-similarity descriptors (MIND-SSC), for any two contrasts */
} clvox_metric;

/* Numbers of warps: ROUNDED as clvox_warp_round says. */
typedef enum clvox_warp_type { CLVOX_WARP_FLOAT, CLVOX_WARP_ROUNDED } clvox_warp_type;

/* How surfaces and curves are compared: clvox_surface_currents. */
typedef enum clvox_surface_kind { CLVOX_SURFACE_CURRENTS, CLVOX_SURFACE_VARIFOLD } clvox_surface_kind;

typedef struct clvox_register_options {
    size_t size; /* of this struct, as clvox_register_defaults sets it */
    clvox_init init;
    double matrix[4][4];
    clvox_linear linear;
    clvox_deform deform;
    clvox_metric linear_metric, metric; /* of the linear part; of the deformation (unbiased: SSD or NCC) */
    int linear_radius, radius; /* of LNCC's window: 2 radius + 1 voxels along each axis, on every level */
    int linear_bins, bins;     /* of MI's histogram, 8 to 128 */
    int linear_patch, patch;   /* of MIND's patches: 2 patch + 1 voxels along each axis, 0 to 4 */
    /* Further metrics that the deformation compares the same images by (not unbiased). beside_parameter is
     * the radius, bins or patch of each, as above. beside_weight counts in weights of `metric`: metrics are
     * scaled by what each usually changes by, so that with 1 both lead about alike. The report goes by
     * `metric`. */
    int besides; /* how many; 0: none */
    clvox_metric beside[CLVOX_MAX_BESIDE];
    int beside_parameter[CLVOX_MAX_BESIDE];
    double beside_weight[CLVOX_MAX_BESIDE];
    /* Metrics of the channels after the first, in their order, each with its radius, bins or patch, as above:
     * such a channel is compared by its own one alone. They are scaled likewise, so that channels of equal
     * weights count about alike. The linear part and the report compare all channels by the metrics above. */
    int channel_metrics; /* how many: one fewer than there are channels; 0: all compare as the first does */
    clvox_metric channel_metric[CLVOX_MAX_CHANNELS - 1];
    int channel_parameter[CLVOX_MAX_CHANNELS - 1];
    int by_contrast;           /* 1: greedy and syn of one channel synthesize images of different contrasts as
                                  one another, and use MIND instead of LNCC (of heads, before it), if the
                                  device has the memory (CLVOX_SUSPECT_MEMORY: it has not);
                                  `clvox register` sets it; not with metrics beside one another */
    int sides;                 /* 1: the linear part also aligns the mirrored moving image, and says where
                                  that fits clearly better (CLVOX_SUSPECT_MIRRORED) */
    int robust;                /* 1: the linear part ends with samples that count the less the less they fit
                                  (Tukey's biweight of the first channel's residuals), so that what differs
                                  in places does not pull the map; two images of one contrast */
    double mind_weight; /* of LNCC: so many times the derivative of MIND, of patches of 3 x 3 x 3 voxels, is
                                  added to its own; 0: none (greedy and syn). Images that are synthesized have
                                  their own weight */
    int local_gradient;        /* 1: LNCC uses the usual local approximation of the gradient; 0: the exact
                                  gradient */
    /* Preprocessing for the comparison; the warped image keeps its own intensities. In this order: bias-field
     * correction of each image inside its mask (clvox_filter_bias with its defaults), clipping at these
     * quantiles (clvox_filter_winsorize; 0 and 1: none), matching the moving image's histogram to the fixed
     * one's (clvox_filter_match with its defaults). */
    int bias;
    double winsorize_low, winsorize_high;
    int histogram_match;
    int levels;
    double shrink[CLVOX_MAX_LEVELS];  /* coarse to fine: 4, 2, 1 */
    int iterations[CLVOX_MAX_LEVELS]; /* coarse to fine */
    double smooth_voxels[CLVOX_MAX_LEVELS]; /* sigma before sampling, in voxels of the fixed image;
                                               negative: by the shrink factor */
    double update_sigma;     /* of the fluid regulariser, in voxels of the level */
    double update_damping;   /* share of the updates' divergence that is removed, 0 to below 1: their local expansion and
                                compression, on waves of about 11 voxels of the level the most (greedy and syn) */
    double finer_damping;    /* the same of waves of about 5.5 voxels */
    double total_sigma;      /* of the elastic regulariser, in voxels of the level (greedy and syn) */
    double lambda;           /* weight of the unbiased penalty, images scaled to [0, 1]; of the energy of a
                                flow, sigma^2 (lddmm, shooting; 0: follows from the voxel size of the finest
                                level) */
    double alpha, beta, gamma; /* L = -alpha Laplacian - beta grad div + gamma, mm (lddmm, shooting; gamma 0:
                                  all three follow from the voxel size of the finest level). greedy: with
                                  gamma above 0, 1 / L smooths the forces instead of update_sigma */
    int timesteps;           /* velocities of a flow, an even number up to 32 (lddmm, shooting) */
    double step;             /* largest displacement of an iteration, in voxels of the level */
    double finest_step;      /* the same on the last level */
    double momentum; /* share of the force (greedy and syn) or step (lddmm and shooting) that an iteration
                                keeps of the one before, 0 to below 1 */
    double points_weight; /* of the landmarks: metric per voxel for 1 mm^2 of their mean squared distance;
                                0: none (not unbiased) */
    double points_width; /* sigma of the Gaussian by which a landmark or a shape's vertex pulls its
                            surroundings, in mm (greedy and syn; 0: three edges of a voxel of the finest
                            level). In flows the operator does */
    /* The terms of surfaces, of curves and of clouds (not unbiased): for each kind its weight times the
     * mean over its shapes of |S - T|^2 / (|S|^2 + |T|^2) (clvox_shape_currents) is taken from the metric
     * a voxel; 0: none. */
    double surface_weight, curves_weight, cloud_weight;
    clvox_surface_kind surface_kind, curves_kind;
    double surface_width[CLVOX_MAX_LEVELS]; /* of the kernel in mm, coarse to fine; 0: 2.5 edges of the level's voxel */
    int surface_widths;      /* number of widths given; further levels use the last */
    /* How the sums of these terms are computed; AUTO chooses for each shape and level. Meshes are within .01
     * of all pairs: of a term, over half of |S|^2 + |T|^2, and of its derivative (clvox_shape_sums). */
    clvox_currents_method currents;
    /* The term of tissue probabilities (not unbiased): the metric per voxel is lowered by this times the mean over the
     * voxels of 1/2 sum_k w_k (sqrt(p_k) - sqrt(q_k))^2, where the sum goes over the tissues and the rest; with all
     * w_k 1 that is the squared Hellinger distance, 0 to 1. 0: none. */
    double posteriors_weight;
    double tissue_weight[CLVOX_MAX_TISSUES + 1]; /* w_k of the tissues in order, then of the rest */
    int tissue_weights;                          /* number of weights given; the others are 1 */
    double restrict_axes[3]; /* factors of 0 to 1 on the steps along the axes of the fixed image that lie
                                nearest to RAS x, y and z (greedy and syn) */
    double tolerance;        /* end a level when an iteration lowers the energy, or (greedy and syn) changes
                                the metric, by less than this share of what the level began with,
                                averaged over ten; of flows over three */
    int inverse;             /* 1: also compute the inverse warp */
    clvox_output output;     /* type of the warped image; labels keep theirs */
    clvox_warp_type warp_type; /* of the warp and its inverse */
    int consistency;         /* 1: measure inverse consistency even without inverse, then at every
                                other voxel along each axis */
    /* Called before each iteration of a level and after its last one, up to ten iterations at a time; of
     * unbiased, and where landmarks or shapes pull in greedy and syn, before every tenth. The metric is the
     * mean squared difference of the matched images, or of greedy and syn what they climb: the metric, of SSD
     * minus half of it, with MIND beside it and the terms of landmarks and
     * shapes. The fraction is that of the deformation; a
     * run without one reports nothing. May be NULL. */
    clvox_progress progress;
    void *user;
} clvox_register_options;

/* The defaults: what `clvox register` does without options. */
CLVOX_API void clvox_register_defaults(clvox_register_options *options);

typedef enum clvox_preset {
    CLVOX_PRESET_QUICK,
    CLVOX_PRESET_DEFAULT,
    CLVOX_PRESET_REGULAR, /* more regular Jacobians, less overlap (greedy and syn; of others the default) */
    CLVOX_PRESET_BEST     /* the highest overlap, several times the work */
} clvox_preset;

/* The defaults of options->deform: metric with its radius, bins and
 * gradient, levels with their shrink factors, iterations and smoothing, sigmas,
 * lambda, step and tolerance. The rest of the options stays. */
CLVOX_API void clvox_register_preset(clvox_register_options *options, clvox_preset preset);

/* The options by name (clvox/options.h). Static. */
CLVOX_API const clvox_option_table *clvox_register_table(void);

/* A deformation model in words. */
typedef struct clvox_deform_text {
    const char *name;  /* "syn"; static */
    int gives_inverse; /* 1: the inverse is part of the model; the result has it where options.inverse asks */
    unsigned presets;  /* 1u << clvox_preset for each that it has; for any other it uses the default */
} clvox_deform_text;

/* Describes model number `at` (clvox_deform; NONE is one, too). Returns 1, or 0 where there is none of that
 * number in this version; *out is then untouched. */
CLVOX_API int clvox_deform_describe(int at, clvox_deform_text *out);

/* 1 if the model uses the option of this name, 0 if the option ("surface-weight") belongs to other models. */
CLVOX_API int clvox_deform_takes(clvox_deform deform, const char *option);

/* Writes a metric's name and the parameter that these options give it, "lncc (radius 2)": that of the linear
 * stage where linear is not 0, else of the deformation. options NULL: the defaults. Returns 1, or 0 and ""
 * for an unknown metric. */
CLVOX_API int clvox_metric_says(const clvox_register_options *options, clvox_metric metric, int linear,
                                char out[32]);

/* matrix = T(center + shift) R S T(-center) in RAS mm, about the centre of the
 * fixed grid: S upper triangular with the scales on its diagonal and shears
 * (as shares of the scale of their row) above, R = Rz Ry Rx. */
typedef struct clvox_affine_parts {
    double rotation_degrees[3]; /* about x, y, z */
    double scale[3];
    double shear[3]; /* xy, xz, yz */
    double shift_mm[3];
} clvox_affine_parts;

enum {
    CLVOX_SUSPECT_OVERLAP = 1, /* under a tenth of the smaller image lies in the other */
    CLVOX_SUSPECT_SCALE = 2,   /* a scale below 1/2 or above 2, or one that is 1.28 times another */
    CLVOX_SUSPECT_METRIC =
        4,                   /* the metric is worse at the end than it was before, or after the linear part */
    CLVOX_SUSPECT_FOLDS = 8, /* folded voxels inside the mask */
    CLVOX_SUSPECT_CONSTANT = 16,  /* an image has one value: nothing to align it by */
    CLVOX_SUSPECT_SPARSE = 32,    /* all but a few voxels of an image have one value */
    CLVOX_SUSPECT_TURNED = 64,    /* with a rotation far from the header the images may fit better */
    CLVOX_SUSPECT_COARSE = 128,   /* the finest level, or an image, has too few voxels */
    CLVOX_SUSPECT_STILL = 256,    /* the deformation moved nothing of images that differ */
    CLVOX_SUSPECT_UNLIKE = 512,   /* the deformation changes volumes more than it makes the images alike */
    CLVOX_SUSPECT_MIRRORED = 1024, /* the moving image, mirrored, fits clearly better */
    CLVOX_SUSPECT_MEMORY = 2048,   /* memory was too short for what by_contrast does with images of different
                                      contrasts: with more the result would be another one */
    CLVOX_SUSPECT_BOUNDARY = 4096  /* of `clvox register --boundary`: clvox_boundary_result.lost */
};

/* How the sums of a shape's term were found. Where a level goes by a particle mesh, that is compared at its
 * start with all pairs: the energy, over half of |S|^2 + |T|^2; and its derivative by the vertices of the
 * moving shape, root mean squares, over that of the derivative by all pairs, or over a tenth of that of
 * 2 <S, T> where it is larger, as where the shapes already match. */
typedef struct clvox_shape_sums {
    int levels, by_mesh; /* levels of the deformation, and those of them by a mesh */
    double spacing;      /* mm between the nodes of the last mesh; 0: there was none, as the rest */
    int size[3];         /* its nodes along each axis */
    double error, derivative_error; /* the largest of all levels by a mesh */
    int left;                       /* how often the shape left a mesh's grid, from where on all pairs were
                                       summed */
    int no_room; /* 1: AUTO summed all pairs because the device lacked the memory for a mesh */
} clvox_shape_sums;

typedef struct clvox_register_result {
    double matrix[4][4];       /* RAS mm, fixed -> moving */
    clvox_affine_parts parts;  /* the same as rotation, scales, shears and translation */
    unsigned suspicions;       /* CLVOX_SUSPECT_...; 0: none */
    clvox_metric metric;       /* the metric used and reported: that of the options, or MIND by by_contrast */
    clvox_volume *warp;        /* RAS mm on the fixed grid; NULL without deformation */
    clvox_volume *inverse_warp; /* NULL unless asked */
    clvox_volume *momentum;    /* SHOOTING: at time 0, on the part of the fixed grid that moves, for
                                  clvox_shoot; else NULL */
    clvox_volume
        *warped;     /* moving through both, on the fixed grid, moving's intensities; NULL without images */
    clvox_grid grid; /* of the fixed image */
    double overlap;            /* share of the smaller grid that lies in the other, after the linear part */
    /* At the start, after the linear part and at the end, on the full grid inside the fixed mask:
     * options.metric (linear_metric without deformation): SSD the mean square of the matched images, NCC
     * the squared correlation, LNCC its mean over windows with content, MI in nats; and the correlation. */
    double metric_before, metric_linear, metric_after;
    double ncc_before, ncc_linear, ncc_after;
    double mismatch;           /* |T(h) - R|^2 / |T - R|^2, T after the linear part */
    clvox_jacobian_summary jacobian;
    double largest_mm, mean_mm; /* displacement */
    double inverse_error_voxels[2], inverse_error_mm[2]; /* |h(h^-1(x)) - x|, largest and mean over the
                                                            voxels that the inverse keeps in the grid;
                                                            NaN where it was not measured; without
                                                            inverse, at every other voxel along each axis */
    double warp_rounding_mm; /* warp_type ROUNDED: clvox_warp_round's, the larger one of both warps; else 0 */
    int iterations[CLVOX_MAX_LEVELS]; /* done */
    double seconds_prepare, seconds_linear, seconds_deform, seconds_finish;
    clvox_shape_sums shape_sums[CLVOX_MAX_SHAPES]; /* of the images' shapes in their order */
    size_t device_bytes;       /* most that the run held at once */
    int exchanged;             /* the deformation was found with the images exchanged, and inverted, as
                                  clvox_register says */
} clvox_register_result;

/* Inputs of a registration. Channel 0 gives the grids; a further channel on another grid is brought to them
 * (linear; label images by vote). Posteriors may stand alone. */
typedef struct clvox_register_images {
    const clvox_volume *fixed[CLVOX_MAX_CHANNELS], *moving[CLVOX_MAX_CHANNELS];
    double weight[CLVOX_MAX_CHANNELS]; /* of the channels, any scale; all 0: equal */
    int channels;
    const clvox_volume *fixed_mask, *moving_mask; /* NULL: everything counts; on any grid */
    /* linear_masks 1: the linear part uses these two instead (NULL: everything counts for it); the
     * preparation, the deformation and the report use those above. */
    int linear_masks;
    const clvox_volume *linear_fixed_mask, *linear_moving_mask;
    /* level_masks 1: each level of the deformation, coarse to fine, uses these instead of fixed_mask and
     * moving_mask (NULL: everything counts on that level). */
    int level_masks;
    const clvox_volume *level_fixed_mask[CLVOX_MAX_LEVELS], *level_moving_mask[CLVOX_MAX_LEVELS];
    /* NULL, or the displacement u that a deformation starts from, on any grid: in the map x -> A (x + u(x)),
     * A the linear part, which is found without it. unbiased, greedy and syn take one. */
    const clvox_volume *initial_warp;
    /* Corresponding landmarks, RAS mm, points x 3; 0: none. They count where options.points_weight is above 0. */
    const double *fixed_points, *moving_points;
    int points;
    /* Surfaces, curves and clouds of points of the fixed image and those of the moving one that they
     * correspond to, in any order of kinds, each pair of one kind: they need no common vertices or
     * elements. They count where their kind's weight in the options is above 0. */
    const clvox_shape *const *fixed_shapes, *const *moving_shapes;
    int shapes; /* up to CLVOX_MAX_SHAPES */
    /* Tissue probabilities of both images, as clvox_posteriors_create leaves them; NULL: none. They count
     * where options.posteriors_weight is above 0. Beside images they may lie on any grid. Without images
     * (channels 0) their grids are those of the registration, the linear part is found from them, too, and
     * the result has no warped image. */
    const clvox_volume *fixed_posteriors, *moving_posteriors;
    /* Shapes and landmarks alone, without images and posteriors (channels 0): the grid of the registration
     * (clvox_shapes_grid makes one), on which the warp is; else NULL. linear has to be NONE, and the linear
     * part is that of clvox_shapes_start. Masks are refused; metrics do not count, and the result's are
     * NAN. */
    const clvox_grid *grid;
} clvox_register_images;

/* The linear part, fixed to moving in RAS mm, from which shapes and landmarks start without images, by
 * options.init: MATRIX its matrix; CENTERS the shift from the mean of all corners of elements and landmarks
 * of the fixed side to that of the moving one; MOMENTS that between the means of the shapes' centroids, by
 * area, length and weight, and of the middle of the landmarks; AUTO that of CENTERS where the boxes of both
 * sides do not meet, else the identity, as the others. Errors as clvox_shapes_grid. */
CLVOX_API int clvox_shapes_start(const clvox_register_images *images, const clvox_register_options *options,
                                 double matrix[4][4]);

/* A grid along the axes of RAS with voxels of `spacing` mm (0: a 64th of the longest extent, to two digits)
 * around the shapes and landmarks of images, those of the moving side led back by matrix (the linear part,
 * fixed to moving), and around these a margin of so many mm, and at least a fifth of the longest extent.
 * CLVOX_ERROR_ARGUMENT, with the spacing that is possible, where there would be more than 1024 voxels along
 * an axis, or fewer than four along the shapes; CLVOX_ERROR_DATA as clvox_shape_size, and for shapes that
 * are one point. */
CLVOX_API int clvox_shapes_grid(const clvox_register_images *images, const double matrix[4][4],
                                double spacing, double margin, clvox_grid *grid);

/* The most device memory that a registration of such images takes, in bytes;
 * looks at their grids alone. Bringing a channel or mask from a much larger
 * grid to that of the first image may take more for a moment. 0 for no channel,
 * or for more channels or levels than there is room for. options NULL: the defaults. */
CLVOX_API size_t clvox_register_bytes(const clvox_register_images *images,
                                      const clvox_register_options *options);

/* Plan of a registration. */
typedef struct clvox_register_plan {
    size_t bytes;                  /* as clvox_register_bytes */
    int exchanged;                 /* the deformation begins with the moving image, as clvox_register says */
    int levels;                    /* of the deformation; 0: none */
    int size[CLVOX_MAX_LEVELS][3]; /* voxels of each level's grid */
} clvox_register_plan;

/* Plans without computing; compares the images' values where nothing else says with which to begin. options
 * NULL: the defaults. CLVOX_ERROR_ARGUMENT where clvox_register_bytes gives 0. */
CLVOX_API int clvox_register_predict(const clvox_register_images *images,
                                       const clvox_register_options *options, clvox_register_plan *plan);

/* Splits an affine into rotation, scales, shears and translation; 0 where it is singular or turns left into
 * right. */
CLVOX_API int clvox_affine_take_apart(const double matrix[4][4], const clvox_grid *fixed,
                                      clvox_affine_parts *parts);

/* Registers the moving images to the fixed ones: one transform for all channels. Exchanging fixed and
 * moving gives the inverse of the linear part, and with SYN and LDDMM of the whole map where the grids have
 * voxels of about one volume and about as many of them (either within a factor of 1.5): the computation
 * starts from the same image whatever its role (the only one with a mask, else that of fewer voxels, else by
 * contents), and the result of the exchanged pair is inverted. Neither holds with LINEAR_SCALES,
 * restrict_axes or an initial warp, which refer to the fixed image. The order and direction in which an
 * image's voxels are stored do not change the map: the run works on copies in the order nearest to RAS,
 * and the result refers to the images as given. options NULL: the defaults. On success the result's volumes
 * are the caller's, to be released with clvox_register_result_destroy; on failure the result holds none. */
CLVOX_API int clvox_register(clvox_context *context, const clvox_register_images *images,
                             const clvox_register_options *options, clvox_register_result *result);

/* Labels of the moving image through a result, on the fixed image's grid, label values kept: the same for all
 * ways of storing either image. *out is the caller's, NULL on failure; errors are those of clvox_apply. */
CLVOX_API int clvox_register_labels(clvox_context *context, const clvox_volume *labels,
                                    const clvox_grid *fixed, const clvox_register_result *result,
                                    clvox_volume **out);

/* Distances between corresponding points in mm: in world coordinates as they are, after the linear part, and at
 * the end. */
typedef struct clvox_landmark_errors {
    double mean_before, mean_linear, mean_after;
    double largest_before, largest_linear, largest_after;
    double square_before, square_linear, square_after; /* mean squares, mm^2 */
} clvox_landmark_errors;

/* How far the map of a result leaves n points of the fixed image (RAS mm, n x 3) from those of the moving image that
 * they correspond to. CLVOX_ERROR_ARGUMENT without points. */
CLVOX_API int clvox_register_landmarks(const clvox_register_result *result, const double *fixed,
                                       const double *moving, int n, clvox_landmark_errors *out);

/* The weight of the term of shapes of that kind: of the options (NULL: the defaults) where their model has
 * such terms, else 0. */
CLVOX_API double clvox_register_shape_weight(const clvox_register_options *options, clvox_shape_kind kind);

/* How far a shape of the moving image, carried to the fixed one, is from that image's: in world
 * coordinates as it is, after the linear part, and at the end. */
typedef struct clvox_shape_errors {
    double mean_before, mean_linear, mean_after; /* distance in mm, both ways (clvox_shape_compare) */
    double largest_before, largest_linear, largest_after; /* Hausdorff's */
    double energy_before, energy_linear, energy_after;    /* |S - T|^2 / (|S|^2 + |T|^2) */
    double width;                                         /* of the energy's kernel, mm */
    clvox_shape *carried;                                 /* by the inverse of the map; the caller's */
} clvox_shape_errors;

/* Carries a shape of the moving image through a result. The energy is that of the kind and of options'
 * last width; options NULL: the defaults. On failure out->carried is NULL. CLVOX_ERROR_DATA for shapes of no
 * size. */
CLVOX_API int clvox_register_shape(clvox_context *context, const clvox_register_result *result,
                                   const clvox_register_options *options, const clvox_shape *fixed,
                                   const clvox_shape *moving, clvox_shape_errors *out);

/* Distance between the tissues of both images: in world coordinates as they are, after the linear part,
 * and at the end. */
typedef struct clvox_posteriors_errors {
    double hellinger_before, hellinger_linear,
        hellinger_after; /* the term's mean, by options' weights of the tissues */
    double overlap_before[CLVOX_MAX_TISSUES], overlap_linear[CLVOX_MAX_TISSUES],
        overlap_after[CLVOX_MAX_TISSUES];
    /* of each tissue: 2 sum min(p, q) / sum (p + q), Dice of probabilities; NAN where both are 0 */
    clvox_volume *carried; /* those of the moving image on the grid of the fixed ones; the caller's */
} clvox_posteriors_errors;

/* Carries tissue probabilities (as clvox_posteriors_create leaves them) of the moving image through a result,
 * to the grid of `fixed`, and compares them there, over mask (NULL: everywhere; on that grid). options NULL:
 * the defaults. On failure out->carried is NULL. CLVOX_ERROR_ARGUMENT where the two have not as many tissues,
 * or the mask has another grid. */
CLVOX_API int clvox_register_posteriors(clvox_context *context, const clvox_register_result *result,
                                        const clvox_register_options *options, const clvox_volume *fixed,
                                        const clvox_volume *moving, const clvox_volume *mask,
                                        clvox_posteriors_errors *out);

/* The map of that kind (NONE: RIGID; SCALES: SIMILARITY) from n points of the fixed image to those of the moving one (RAS
 * mm, n x 3): with the least sum of squared distances, measured in the moving space for AFFINE; a SIMILARITY scales by
 * the spreads of both, so that exchanged points give the inverse (Horn 1987). For options.matrix, with CLVOX_INIT_MATRIX.
 * CLVOX_ERROR_DATA where the points do not determine it: fewer than 3 or on a line, for AFFINE fewer than 4, in a plane or
 * mirrored. */
CLVOX_API int clvox_landmarks_fit(const double *fixed, const double *moving, int n, clvox_linear kind,
                                  double matrix[4][4]);

/* Releases the result's volumes and sets them to NULL; the numbers stay. NULL
 * is legal. */
CLVOX_API void clvox_register_result_destroy(clvox_register_result *result);

/* Options of clvox_shoot. */
typedef struct clvox_shoot_options {
    size_t size; /* of this struct, as clvox_shoot_defaults sets it */
    double time;               /* end time: 1 is the moving image; it may be larger, or negative */
    double alpha, beta, gamma; /* gamma 0: those stored with the momentum (momentum->flow), or if there are
                                  none, the registration's defaults */
    int timesteps;             /* per unit of time, an even number up to 32; 0: likewise */
} clvox_shoot_options;

/* Time 1, and the operator and time steps stored with the momentum. */
CLVOX_API void clvox_shoot_defaults(clvox_shoot_options *options);

/* Puts the operator and the time steps that clvox_shoot takes in place of zeros. CLVOX_ERROR_ARGUMENT where the operator is
 * not that of the momentum, or where there is no such flow. */
CLVOX_API int clvox_shoot_settle(const clvox_volume *momentum, clvox_shoot_options *options);

/* The geodesic from a momentum (result.momentum): EPDiff, dm/dt = -ad*_v m. *warp leads from the reference
 * grid to what lies at options->time, RAS mm, and *inverse_warp (may be NULL) back; both are the caller's.
 * CLVOX_ERROR_ARGUMENT where clvox_shoot_settle says so, where the momentum does not lie on the reference's grid or a part
 * of it (their voxels may be stored in different orders), and where the way takes more than 32 time steps.
 * options NULL: the defaults. On failure nothing is made. */
CLVOX_API int clvox_shoot(clvox_context *context, const clvox_volume *momentum, const clvox_grid *reference,
                          const clvox_shoot_options *options, clvox_volume **warp, clvox_volume **inverse_warp);

#ifdef __cplusplus
}
#endif

#endif
