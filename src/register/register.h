/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the stages of a registration. */
#ifndef CLV_REGISTER_REGISTER_H
#define CLV_REGISTER_REGISTER_H

#include "clvox/registration.h"
#include "io/volume/orientation.h"
#include "op/anatomy/moving_mesh.h"
#include "op/anatomy/particle_mesh.h"
#include "op/fluid/force.h"
#include "op/image/statistics.h"
#include "op/field/warp.h"
#include "register/foreground.h"
#include "register/lease.h"

/* The images' channels, and those of tissues and their rest. */
enum { CLV_MAX_CHANNELS = CLVOX_MAX_CHANNELS + CLVOX_MAX_TISSUES + 1 };

/* Metrics by which a channel of images is compared: the options', MIND beside it, and further ones; and
 * numbers that the comparisons of all channels leave, two each. */
enum {
    CLV_MAX_COMPARISONS = 2 + CLVOX_MAX_BESIDE,
    CLV_NUMBERS = 2 * (CLVOX_MAX_CHANNELS * CLV_MAX_COMPARISONS + CLVOX_MAX_TISSUES + 1)
};

/* Iterations whose metric stays on the device until the host reads them all at once. */
enum { CLV_TRACED = 10 };

/* Slots of the state buffer: the fluid operations own the first CLV_FLUID_SLOTS. */
enum {
    CLV_STATE_ENERGY = 16, /* image term, penalty, smallest J, folds */
    CLV_STATE_SUMS = 24,   /* sums of clv_register_metrics */
    CLV_STATE_METRIC = 40, /* CLV_STATE_EACH for CLV_TRACED iterations */
    CLV_STATE_EACH = CLV_NUMBERS,
    CLV_STATE_LONGEST = CLV_STATE_METRIC + CLV_TRACED * CLV_STATE_EACH, /* of either side's velocities */
    CLV_STATE_SLOTS = CLV_STATE_LONGEST + 8
};

enum {
    CLV_REGISTER_PARTIALS = 8192, /* floats of run->partial: enough for every reduction */
    CLV_MODEL_REQUESTS = 256,     /* buffers that a model may ask for */
    CLV_MODEL_BYTES = 2048        /* of its private state */
};

/* Fields that inverting a result takes. */
enum { CLV_FINISH_FIELDS = 2 };

/* Added to the variances of LNCC's windows, of images scaled to about [0, 1]:
 * for the report and the linear part, and for deformations, which noise below
 * this variance is not to move. */
#define CLV_REGISTER_EPSILON 1e-5f
#define CLV_DEFORM_EPSILON 1e-4f

/* The side of a channel whose image is made of the other one's (contrast/synthesis.h). */
typedef enum clv_made { CLV_AS_READ, CLV_MADE_FIXED, CLV_MADE_MOVING } clv_made;

/* The order of the images in which a run works: as asked for; the linear part from the moving image; or all
 * of it so (symmetric_order.c). */
typedef enum clv_order { CLV_ORDER_ASKED, CLV_ORDER_LINEAR, CLV_ORDER_EXCHANGED } clv_order;

/* One image of each side, on the grid of the first; or one tissue of both (posteriors.h). */
typedef struct clv_channel {
    double weight;       /* in the deformation: those of images add up to 1 */
    double share;        /* in the linear part and the report: of those that count there, they add up to 1 */
    int tissue;          /* of posteriors; CLV_REST; -1 of an image */
    float outside;       /* what lies outside of it */
    clvox_metric metric; /* that the deformation compares it by */
    int own;             /* its place among the metrics of channels, from 1 on; 0: it has the first one's */
    clv_made made;
    clv_buffer *fixed, *moving; /* as read; matched in intensity later */
    clv_buffer *level_fixed, *level_moving;
} clv_channel;

/* A shape of one image, and one of both, as a term (shapes.h). */
typedef struct clv_shape_side {
    const clvox_shape *shape; /* RAS mm */
    clv_moving_mesh mesh;
    clv_buffer *by_element; /* the energy's derivative */
} clv_shape_side;

typedef struct clv_shape_term {
    clv_shape_side side[2];   /* of the moving and of the fixed image */
    clv_particle_mesh mesh;   /* of this level, where by_mesh: of the moving one less the fixed one */
    bool by_mesh;             /* partial: then of both with their difference */
    clvox_shape_sums sums;
    clv_buffer *partial[3];   /* of their products with themselves and with each other */
    double norm;              /* what the energy is divided by */
    double weight;            /* of the kind, over the number of its shapes */
    bool varifold;
    int number; /* among those of its kind, from 1 on */
    int shape;  /* among all of the images */
} clv_shape_term;

/* Destinations of a run's warp and inverse warp, in this order, for a caller who continues with them: fields as
 * kernels hold them, mm along the axes of the fixed grid, in buffers of the run's context or, where those are NULL,
 * in host memory. */
typedef struct clv_register_fields {
    clv_buffer *buffer[2];
    float *values[2];
} clv_register_fields;

struct clv_problem;

/* One run. Images on the device are float32; the moving image stays on its own
 * grid and is looked up through map, so that nothing is resampled twice. */
typedef struct clv_registration {
    clvox_context *ctx;
    const struct clv_problem *problem; /* that it solves (problem.h): images, and where the maps go */
    clvox_register_options *options;   /* the run's own, which it may change for what it finds or lacks */
    clvox_grid fixed_grid, moving_grid;
    clvox_grid domain;    /* the part of fixed_grid that the deformation works on; it shares its voxels */
    clv_foreground foreground;  /* of the fixed images, where a domain was looked for */
    int n, m;             /* voxels of the two grids */
    double matrix[4][4];  /* the linear part so far, RAS mm, fixed -> moving */
    clv_channel channels[CLV_MAX_CHANNELS]; /* of images, then of posteriors */
    int channel_count, image_count;
    struct { /* the fixed and the moving image's, each on its grid; NULL: none */
        clv_buffer *of[2];
        clv_buffer *linear[2]; /* in their place in the linear part, where that has own ones */
        clv_buffer *own[2];    /* those of the present level of the deformation, where levels have own ones */
        clv_buffer *level;     /* the fixed one on the level's grid */
        double inside[2];      /* shares of the grids, by volume, that those of the linear part leave */
    } masks;
    clv_buffer *scratch_a, *scratch_b;      /* as large as the larger image */
    clv_buffer *u;       /* once a model has run: h = x + u(x), mm along the fixed grid's axes */
    clv_buffer *inverse; /* the same of the inverse map, where the model gives it; else NULL */
    clv_buffer *spare[CLV_FINISH_FIELDS]; /* lent, if the model holds too few fields to invert its result */
    clv_leases leases; /* buffers of the model, and scratch, that hold nothing at a time */
    /* Scratch of metrics while one is computed (in between, of the model): if the report or the model compares by
     * one that needs it, or the model asks for it; else NULL. */
    clv_buffer *metric_scratch;
    clv_buffer *partial, *state;
    /* Landmarks of the term (points.h): count 0 where there is none. */
    struct {
        const double *fixed, *moving; /* RAS mm */
        int count;
        clv_buffer *at, *tracked;
    } points;
    struct {
        clv_shape_term term[CLVOX_MAX_SHAPES];
        int count;
        double width;      /* of the level's kernel, mm */
        clv_mesh_room room; /* where meshes work one after another; NULL: no term pays by one */
        double room_nodes;
        double largest_error; /* of a mesh, of the energy and of its derivative */
        bool no_room;                /* the device had none for AUTO's meshes, which take all pairs */
        clv_landmark_scratch sorted; /* where many vertices pull */
        clv_buffer *pull;  /* of a shape, where the model spreads it by a Gaussian; else NULL */
    } shapes;
    double fraction_done;
    clv_order order;
    struct {
        bool differ;  /* found by the linear part, where that looks for it */
        bool tissues; /* found by the deformation, which ended there, to begin again by synthesis */
    } contrasts;
    unsigned suspicions; /* what stages have found to speak against the result: CLVOX_SUSPECT_... */
    _Alignas(void *) char model[CLV_MODEL_BYTES]; /* the model's private state (model.h) */
} clv_registration;

/* How many of the first channels the linear part and the report go by: those of images, or without them of
 * posteriors. */
static inline int clv_shown_channels(const clv_registration *run)
{
    return run->image_count ? run->image_count : run->channel_count;
}

/* Whether there are two channels of one image of each side (contrast/synthesis.h). */
static inline bool clv_contrast_made(const clv_registration *run)
{
    return run->channels[0].made != CLV_AS_READ;
}

/* As clvox_register for a fixed image that is stored as near to RAS as may be, and options that ask for a
 * deformation and its inverse, which go to *fields, or for neither; nothing is warped: of volumes the result
 * has at most a momentum, and how well the map is inverted is not measured. */
int clv_register_to(clvox_context *ctx, const clvox_register_images *images, const clvox_register_options *options,
                    const clv_register_fields *fields, clvox_register_result *result);

/* CLVOX_ERROR_DATA where an origin beyond 100 m shows that a header is damaged. */
int clv_register_check_origin(const clvox_grid *grid, const char *which);

/* Fills u, on that grid, with what a deformation starts from: the initial warp or 0 (start.c). */
int clv_register_start(clv_registration *run, const clvox_grid *grid, clv_buffer *u);

/* From run->matrix on, the best map of the kind that options ask for (linear.c). What it takes for itself
 * meanwhile, of a run that clv_register_describe has filled in (linear/levels.c). */
int clv_register_linear(clv_registration *run);
size_t clv_register_linear_bytes(clv_registration *run, bool fixed_mask, bool moving_mask);

/* Maps both images of each channel to [0, 1.2]; for metrics that compare values
 * the moving one to the fixed one's quantiles (match.c). */
int clv_register_match(clv_registration *run);

/* ---- exchanged images (symmetric_order.c) ----------------------------- */

/* Which image comes first: below 0 the fixed one, above 0 the moving one. The
 * one that alone has a mask; else that of fewer voxels; else by sizes and
 * contents. 0: they are the same, or contents, needed, were not to be read. How
 * their voxels are stored does not count. */
int clv_symmetric_order(const clvox_register_images *images, bool contents);

/* Says in the plan, and returns, whether the images change places. */
bool clv_symmetric_plan(const clvox_register_images *images, const clvox_register_options *options,
                             clvox_register_plan *plan);

/* The grid of the maps that the run is asked for. */
const clvox_grid *clv_map_grid(const clv_registration *run);
/* "fixed" or "moving", as the one who asked calls that image of the run. */
const char *clv_side_name(const clv_registration *run, bool moving);

/* clv_register_linear from the start that options say, seen from the image that comes first, by masks of its
 * own or those of the run; and what it takes. The second may leave the run turned. */
int clv_symmetric_linear(clv_registration *run);
size_t clv_symmetric_linear_bytes(clv_registration *run);

/* A model that moves both images leaves halves on grid `at`: run->u moves the moving image to the middle,
 * u_fixed the fixed one. They are joined to u and, where the run has run->inverse, the inverse, on the fixed
 * grid of the one who asked, its determinants above smallest there. */
typedef struct clv_halves {
    clv_buffer *u_fixed;
    /* As large as fields of that grid: overwritten, or they become run->u and, if there is one, run->inverse,
     * which take their place. */
    clv_buffer **u, **inverse;
    clv_buffer *velocity, *scratch; /* on grid `at`; on either: overwritten */
} clv_halves;
int clv_symmetric_join(clv_registration *run, const clvox_grid *at, float smallest, const clv_halves *halves);

/* The metric that the report states: the deformation's, else the linear part's. */
clvox_metric clv_register_metric(const clvox_register_options *options);

typedef struct clv_metric_report {
    double metric, mean_square, ncc;
    double content; /* of windows: the share of the fixed grid where any channel has content; else 1 */
} clv_metric_report;

/* How alike the images are on the full fixed grid, under the linear part (or as they lie) and u (NULL: 0),
 * the channels by their weights (measure.c). */
int clv_register_measure(clv_registration *run, bool linear, const clv_buffer *u, clv_metric_report *report);

/* Floats of run->metric_scratch that it needs, on a grid. */
size_t clv_register_measure_floats(const clvox_register_options *options, const clvox_grid *grid);

/* LNCC of images three times as coarse as the fixed one, where noise of single voxels has gone, under the linear
 * part; NaN: they are too small for that (measure.c). */
int clv_register_measure_coarse(clv_registration *run, double *coarse);

/* Figures that a result does not state and its quality control goes by. */
typedef struct clv_register_evidence {
    bool unlike;         /* clv_quality_unlike */
    unsigned suspicions; /* of the stages before */
} clv_register_evidence;

/* Whether a deformation costs more than it brings, or cannot be right: it gains too little in the metric for the
 * variance of log J where there is content (of the report). Noise and other contrasts are matched at the price of
 * volumes that change at random; that noise of single voxels hides what is gained is no reproach where coarse images
 * are alike (quality_control.c). */
int clv_quality_unlike(clv_registration *run, double content, const clvox_register_result *result, bool *unlike);

/* A piece of work that the run goes on without where there is no memory for it: the status, or CLVOX_OK and
 * CLVOX_SUSPECT_MEMORY in its suspicions. */
int clv_register_without(clv_registration *run, int status);

/* Fills parts, overlap and suspicions of a result whose numbers are known (quality_control.c). */
void clv_quality_control(const clv_registration *run, const clv_register_evidence *evidence,
                        clvox_register_result *result);

/* Sum of squared differences (mean over the weights) and normalised
 * correlation of a and b under weight (NULL: 1). Blocking. */
int clv_register_metrics(clv_registration *run, const clv_buffer *a, const clv_buffer *b,
                   const clv_buffer *weight, int n, double *mean_square, double *ncc);

/* The grid of a level: shrunk, but no axis to fewer than about four voxels. */
void clv_register_level(const clvox_grid *fixed, double shrink, clvox_grid *out);

/* Fields as large as u that clv_register_finish takes beside u: none, one, or
 * CLV_FINISH_FIELDS; given: the model leaves run->inverse. */
int clv_register_finish_fields(const clvox_register_options *options, bool given);

/* Inverse, warp and warped image into result, from run->u (and
 * run->inverse), in room that is lent (finish.c). */
int clv_register_finish(clv_registration *run, clvox_register_result *result);

/* Its parts: what the determinant and the length of u say over mask and inside
 * (NULL: all voxels; scratch holds a float a voxel), into a result, and the
 * run's moving buffer through the linear part and u. */
typedef struct clv_field_survey {
    clv_statistics determinants, lengths;
} clv_field_survey;
int clv_register_survey(clv_registration *run, const clv_buffer *u, const clvox_grid *grid,
                        const clv_buffer *mask, const clv_buffer *inside, clv_buffer *scratch,
                        clv_field_survey *out);
int clv_register_state(const clv_field_survey *survey, const clvox_grid *fixed, const clvox_grid *moving,
                       clvox_register_result *result);
/* CLVOX_ERROR_DATA unless the lengths are those of a field on the fixed grid that is finite everywhere and
 * nowhere longer than the diagonals of both grids together. */
int clv_register_credible(const clv_statistics *lengths, const clvox_grid *fixed, const clvox_grid *moving);
int clv_register_warp_moving(clv_registration *run, const clvox_grid *grid, const clv_buffer *u,
                             clvox_kind kind, clv_buffer *out);

/* Voxels of the full grid that are on the device at once when a coarser grid's result becomes the full one's
 * (upsample.c). */
size_t clv_register_slab(const clvox_grid *grid);

/* The grids that a run works on, which are as coarse as its finest level, and
 * its options as seen from there; true where they are coarser than the images
 * (memory.c). */
bool clv_register_work(const clvox_register_images *images, const clvox_register_options *options,
                       clvox_grid *fixed, clvox_grid *moving, clvox_register_options *work);

/* The image, or without images the posteriors, that give the grid of a side. */
const clvox_volume *clv_register_first(const clvox_register_images *images, bool moving);

/* Grids, channels and weights of a run, from images that have been checked. */
void clv_register_describe(clv_registration *run, const clvox_grid *fixed, const clvox_grid *moving);

/* The buffers of a run, in one place for taking them and for predicting their
 * size; returns their number. list has room for CLV_REGISTER_REQUESTS. */
enum {
    CLV_REGISTER_REQUESTS =
        14 + CLV_FINISH_FIELDS + 4 * CLV_MAX_CHANNELS + 15 * CLVOX_MAX_SHAPES + 6 + CLV_MODEL_REQUESTS
};
int clv_register_list(clv_registration *run, clv_request *list);

/* The floats of scratch that a deformation's metrics need, of the channel that needs most (channels.c).
 * both: derivatives by both images. */
size_t clv_register_scratch_floats(const clv_registration *run, bool both);
/* The same, and those of the report and of a field, which takes turns with them, on the grids of run and
 * maps. */
size_t clv_register_shared_floats(const clv_registration *run, bool both);

/* CLVOX_ERROR_MEMORY, with what would fit, where the device is too small. */
int clv_register_refuse(clvox_context *ctx, const clvox_register_images *images,
                        const clvox_register_options *options);

/* Volumes of clvox_register_images. */
enum { CLV_MAX_VOLUMES = 2 * CLVOX_MAX_CHANNELS + 2 * CLVOX_MAX_LEVELS + 7 };

/* Volumes that a step has made. */
typedef struct clv_register_copies {
    clvox_volume *own[3 * CLV_MAX_VOLUMES];
    int count;
} clv_register_copies;

/* Sets run->foreground, and run->domain to the part of the fixed grid where the fixed images have
 * content, with room around it, where that is clearly smaller and the model may work on a part (crop.c). */
int clv_register_crop(clv_registration *run);
/* Sends the images to the run's buffers: masks as 0 and 1, and what is no number as
 * its image's darkest value. */
int clv_register_upload(clv_registration *run);
/* Sends one mask on its image's grid, as 0 and 1. kind: "linear " or "" in messages; to NULL: it is not asked for. */
int clv_register_send_mask(clv_registration *run, const clvox_volume *mask, const char *kind, bool moving,
                           clv_buffer *to);
/* One image likewise. partial, state: as of a run. */
int clv_register_send(clvox_context *ctx, const clvox_volume *volume, clv_buffer *to, clv_buffer *partial,
                      clv_buffer *state);

#endif
