/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLVOX_ATLAS_H
#define CLVOX_ATLAS_H

#include "clvox/registration.h"
#include "clvox/store.h"
#include "clvox/team.h"

#ifdef __cplusplus
extern "C" {
#endif

/* An unbiased template of a population: the image to which all subjects are registered, and from which
 * the maps to them average to zero. */

enum { CLVOX_ATLAS_CHANNELS = 4 }; /* at most */

typedef enum clvox_average {
    CLVOX_AVERAGE_MEAN = 0, /* by weight */
    CLVOX_AVERAGE_TRIMMED,  /* without a tenth of the weight at either end of the values */
    CLVOX_AVERAGE_MEDIAN    /* by weight */
} clvox_average;

typedef enum clvox_vote {
    CLVOX_VOTE_MAJORITY = 0, /* by weight */
    CLVOX_VOTE_LOCAL         /* by weight and local similarity to the template */
} clvox_vote;

/* The steps of a run, for one subject on a device, but MEAN_IMAGE, LIKENESS and GATHER: for all subjects of
 * a process, and MEAN_MAP_ONCE and EXPONENTIAL, which do not depend on their number. Then parts of these:
 * maps that pass between a device and the host. */
typedef enum clvox_atlas_work {
    CLVOX_ATLAS_FIRST_LINEAR = 0, /* linear registration of the first round, with the search for a start */
    CLVOX_ATLAS_LINEAR,           /* linear registration in a later round */
    CLVOX_ATLAS_DEFORMABLE,       /* deformable registration */
    CLVOX_ATLAS_PULL,             /* resampling its image to the template */
    CLVOX_ATLAS_MOVE,             /* its maps without the mean map, to their next mean: about twice a round */
    CLVOX_ATLAS_VOTER,            /* resampling its labels to the template */
    CLVOX_ATLAS_MEAN_MAP,         /* adding its maps up, where its registration did not: once a round */
    CLVOX_ATLAS_MEAN_IMAGE,       /* averaging images: once a round, and once before */
    CLVOX_ATLAS_EXPONENTIAL,      /* of the mean map, on each device, each time that maps are moved */
    CLVOX_ATLAS_DISPLACEMENT,     /* the rms length of its map: once a deformable round */
    CLVOX_ATLAS_HAND_OVER,        /* its maps become volumes of the result: once */
    CLVOX_ATLAS_GATHER,           /* telling subjects apart, scaling and placing them: once */
    CLVOX_ATLAS_MEAN_MAP_ONCE,    /* the mean of the sums of maps: once more than MOVE */
    CLVOX_ATLAS_LIKENESS,         /* how like the template subjects are: once, with `until` in every round */
    CLVOX_ATLAS_PASSING,          /* one of its maps between the device and host memory or disk */
    CLVOX_ATLAS_IDLE,       /* while one passes no other subject is at work on the device, in registrations */
    CLVOX_ATLAS_IDLE_AFTER, /* the same in the other steps */
    CLVOX_ATLAS_WORKS
} clvox_atlas_work;

/* A subject's images on one scale (clvox_atlas_scale). */
typedef struct clvox_atlas_scaled clvox_atlas_scaled;

typedef struct clvox_atlas_subject {
    const clvox_volume *image;  /* scalar, 3-D, on any grid; NULL: another member of options.team has it */
    /* 3-D, on any grids. Registration uses the image where the mask is above 0; NULL: everywhere. */
    const clvox_volume *mask;
    const clvox_volume *labels; /* NULL: it does not vote */
    double weight;              /* in the averages, above 0; only ratios matter */
    const char *name;           /* for messages */
    /* Its images of channels 2 to options.channels, with the first one and like it, each on any grid. */
    const clvox_volume *further[CLVOX_ATLAS_CHANNELS - 1];
    /* Made by clvox_atlas_scale of these images with the options of the run, and kept until it ends; NULL: the
     * run makes its own. */
    const clvox_atlas_scaled *scaled;
} clvox_atlas_subject;

typedef struct clvox_atlas_map {
    double matrix[4][4]; /* template -> subject, RAS mm, after the warp */
    /* On the template's grid, as of clvox_register; NULL without deformation, and where another member of
     * options.team has them or options.template_only is set. */
    clvox_volume *warp, *inverse_warp;
    /* result.labels through the map's inverse on the grid of its image, 0 outside of the template;
     * NULL where that is NULL, and as the warps where another member has them or
     * options.template_only is set. */
    clvox_volume *labels;
    double likeness;        /* squared correlation with the template where both have values */
    double displacement_mm; /* rms of the warp */
    unsigned suspicions;    /* CLVOX_SUSPECT_... of its last registration */
    double share;           /* its weight over the sum of all weights; 0: it takes no part and has no map */
    char left_out[256];     /* why options.skip_bad left it out; else "" */
} clvox_atlas_map;

typedef struct clvox_atlas_options {
    size_t size; /* of this struct, as clvox_atlas_defaults sets it */
    /* How subjects are registered to the template. init is ignored: the first linear round begins with AUTO,
     * each other one where the one before ended. */
    clvox_register_options registration;
    int channels; /* 1: images of a subject, by all of which it is registered */
    double channel_weight[CLVOX_ATLAS_CHANNELS]; /* in registrations, any scale; all 0: equal */
    /* With `start`, for channels 2 to channels: images to begin with, on its grid. A channel that has none
     * does not register in the first linear round; then its mean through the maps is there. */
    const clvox_volume *further_start[CLVOX_ATLAS_CHANNELS - 1];
    /* 1: images of one person. The linear rounds begin with one of them (the same in whatever order they
     * come) instead of their mean, which would show few heads that lie apart several times.
     * clvox_atlas_within. */
    int within;
    int linear_rounds; /* 2; below 0: 1 of two images, else 2 */
    int rounds;        /* deformable rounds: 4; none if registration.deform is NONE */
    double until;      /* end the rounds when the template changes by less than this fraction (0: never) */
    clvox_average average;
    double unsharp; /* amount of the unsharp mask (sigma one voxel) on every new template; 0: none */
    clvox_vote vote;
    int skip_bad; /* leave out a subject whose data make its registration impossible, instead of failing */
    int keep_intensities; /* 0: every image is scaled so that its 1st and 99th percentile are 0 and 100 */
    /* Before that it is clipped at these quantiles of its finite values (clvox_filter_winsorize): in
     * averages and registrations. 0 and 1: it is not. registration.winsorize_low and _high clip in
     * registrations alone. */
    double clip_low, clip_high;
    /* The grid is cut to the box of all heads and this many mm around it; below 0 (-1): it is not. A
     * head is what stands out of the background (Otsu's threshold of means over 4 mm) where the
     * mask, if any, is above 0. */
    double margin;
    int template_only; /* the result has neither warps nor labels of subjects */
    /* A folder, created when needed, that lets an interrupted run resume. It keeps every finished round and
     * every finished registration (24 bytes per voxel of the template and subject); where writing
     * registrations would take more than a twentieth of the time, only some of them. A run with the same
     * subjects, options, device and version continues there and gives the same result bit for bit.
     * clvox_atlas_forget removes the folder; it is also removed if the first round fails because of the data.
     * NULL: nothing is kept. */
    const char *state;
    /* Holds the volumes that the run makes for subjects, and the result: release the result before the store.
     * The subjects' own images may be in it, too. It does not change the result. NULL: memory. */
    clvox_store *store;
    /* Most bytes of device memory for subjects' maps, besides the registrations; the other maps are in store
     * or memory. It does not change the result. 0: on GPUs half of what the registrations leave free, on CPUs
     * none. Contexts that clvox_contexts_create opened together on one device share the limit. */
    size_t device_bytes;
    /* Contexts besides the one of the call, on devices of the same model and driver, or on the same one
     * (clvox_contexts_create): subjects go to whichever is free. The bits are the same with any number. */
    clvox_context *const *more;
    int more_count;
    /* Processes that make the template together. Each calls with the same subjects and options, and
     * contexts on devices of one model and driver; they share the folder state. An image and its mask are
     * with all members, or each with one, which registers it; labels are with all. Averages are the same
     * in all of them; the warps of a subject are in one. NULL: this process alone, with the same result
     * bit for bit. */
    clvox_team *team;
    /* Receives the time of each step; one call at a time. May be NULL. */
    void (*timed)(void *user, clvox_atlas_work work, double seconds);
    /* Takes the map of a subject (its place among those given) as soon as it is a volume, while others still
     * come from the devices, in the threads of several contexts at once: what it sets to NULL in the map is
     * its own from then on, the other volumes are released. The result then has figures alone. context: that
     * of the thread; at: the template of a regression, else 0. A negative status ends the run with it. NULL:
     * the maps of all subjects are in the result. */
    int (*map)(void *user, clvox_context *context, int at, int subject, clvox_atlas_map *map);
    /* May be NULL. With more contexts it is called in their threads, one at a time. */
    clvox_progress progress;
    void *user;
} clvox_atlas_options;

/* The default registration, 2 and 4 rounds, mean, scaled intensities. */
CLVOX_API void clvox_atlas_defaults(clvox_atlas_options *options);

/* Sets what a template of several scans of one person takes, of the defaults: within, rigid and robust
 * linear registration, the median, linear rounds by the number of scans and one deformable. Maps between
 * two scans go through the template, so that they are each other's inverse (Reuter et al., Within-subject
 * template estimation for unbiased longitudinal image analysis, NeuroImage 61, 2012). */
CLVOX_API void clvox_atlas_within(clvox_atlas_options *options);

/* How many linear rounds a template of so many images takes: 0 without a linear part. */
CLVOX_API int clvox_atlas_linear_rounds(const clvox_atlas_options *options, int count);

/* The options by name (clvox/options.h). Static. */
CLVOX_API const clvox_option_table *clvox_atlas_table(void);

/* Prepares a subject's images, the first step of a run: copies of them on one scale, 4 bytes a voxel of each
 * channel, and a hash. It takes no device, so that it can be done for one subject while another's files are read or
 * devices are opened (clvox_atlas_subject.scaled), by any number of threads at a time. options NULL: the defaults;
 * it depends on channels, channel_weight, keep_intensities, clip_low, clip_high and margin alone, and copies go to
 * store. The images have to outlive the run; the result is the caller's, for clvox_atlas_scaled_destroy after the
 * run; NULL on failure. CLVOX_ERROR_DATA: an image of one value; CLVOX_ERROR_ARGUMENT: an image that is missing or
 * not scalar and 3-D, channels or options out of range; CLVOX_ERROR_MEMORY; CLVOX_ERROR_FILE: the store cannot be
 * written. */
CLVOX_API int clvox_atlas_scale(const clvox_atlas_subject *subject, const clvox_atlas_options *options,
                                clvox_atlas_scaled **out);
/* NULL is legal. */
CLVOX_API void clvox_atlas_scaled_destroy(clvox_atlas_scaled **scaled);

typedef struct clvox_atlas_round {
    int deformable;
    double removed_voxels; /* rms length of the mean map that was removed, over the grid */
    double left_voxels;    /* of the mean map that is left after that */
    double spread_mm;      /* rms displacement of the subjects' maps after the mean was removed */
    double change;         /* rms change of the template over its rms */
    double sharpness;      /* rms gradient of the template over its rms, 1/mm */
} clvox_atlas_round;

typedef struct clvox_atlas_result {
    clvox_volume *average; /* the template, float32 */
    clvox_volume *further[CLVOX_ATLAS_CHANNELS - 1]; /* those of channels 2 to options.channels */
    /* Each voxel's label by the vote of the subjects that have labels, of equals the smallest; NULL where
     * none has. */
    clvox_volume *labels;
    clvox_atlas_map *map; /* one a subject, in the order given */
    clvox_atlas_round *round;
    int subjects, rounds;
    int resumed;         /* registrations that options.state had */
    size_t device_bytes; /* the most that a registration held */
    int resident;        /* subjects of this process whose maps were on a device in the end */
    char unkept[256]; /* why the last files of options.state could not be written, by any member; else "" */
} clvox_atlas_result;

/* Builds the template of count subjects, at most 65536. Its grid is that of start, else the subjects'
 * own where they share one (stored as near to RAS as may be where they differ in the order of axes),
 * else one along R, A and S that holds all of them with their centroids on one point, with voxels of the
 * median volume; with options.margin its part around the heads, or around the one in start. start: NULL,
 * or an image to begin with instead of the mean of the subjects (of several channels, of the first one).
 *
 * A subject's map is x -> A_i (x + u_i(x)). Linear rounds find A_i and replace it by A_i G, G such that
 * the mean of log A_i G is 0. The rounds after them keep A_i and find u_i; the mean v of the logarithms
 * of the maps, log phi = (phi - phi^-1) / 2 to the third order of its length, is removed by exp(-v), the
 * same on the right of every map, until it is below 5e-4 voxels or interpolation keeps it from falling.
 * The template is then the average of the images, each sampled once through its whole map. It does not
 * depend on the order of the subjects nor on the scale of their weights, bit for bit; a subject (images
 * and mask) that is given twice is registered once, with the sum of its weights.
 *
 * With several channels a template of each is averaged through the same maps. The first channel gives
 * the grids and the figures (likeness, change, sharpness, votes); options.further_start are images to begin
 * with of the others. Channels of weight 0 may have one value.
 *
 * CLVOX_VOTE_LOCAL multiplies a subject's weight by max(r, 0)^2, r its correlation with the template
 * over 5 x 5 x 5 voxels (Artaechevarria et al. 2009); where that is 0 for all, the majority decides.
 *
 * With neither a linear transform nor a deformation it is the average of the images as they lie. Of
 * every subject there are in host memory, or in options.store, a copy of its image, two warps and, while
 * images or labels are averaged, these on the template: 4 bytes a voxel of its own and 28 of the
 * template's; with labels brought back another 4 a voxel of its own, of each further channel 4 a voxel of
 * its own. Besides, 60 bytes a voxel of the template and 8 for each further channel, and with options.state
 * up to 72, or 24 for each registration at once where that is more, and 4 for each channel.
 *
 * options NULL: the defaults. Errors name the subject. CLVOX_ERROR_FILE: options.state holds an
 * unfinished run of other subjects, options, kernels or another device. CLVOX_ERROR_DEVICE: options.more
 * holds a device unlike the first one, which would give other bits. On success the result is the
 * caller's, for clvox_atlas_result_destroy; on failure it holds nothing. CLVOX_ERROR_DATA: an image of
 * one value, or one of which less than a tenth comes to lie in the template. */
CLVOX_API int clvox_atlas(clvox_context *context, const clvox_atlas_subject *subjects, int count,
                          const clvox_volume *start, const clvox_atlas_options *options,
                          clvox_atlas_result *result);

/* Templates along a covariate, by kernel regression (Davis et al. 2007). */
typedef struct clvox_atlas_regression {
    const double *covariate; /* of each subject */
    const double *at;        /* where templates are wanted */
    int count;               /* of those */
    double bandwidth;        /* sigma of the Gaussian, in the covariate's unit */
    /* Takes a template and the maps of the subjects that took part; what it holds is released afterwards.
     * Where options.state had it already, result->average and labels are NULL and there are no warps, only
     * figures. A negative status ends the run with it. */
    int (*ready)(void *user, int at, const clvox_atlas_result *result);
    void *user;
} clvox_atlas_regression;

/* Templates as of clvox_atlas, one for each value c of regression->at: a subject's weight is multiplied by
 * exp(-(c_i - c)^2 / (2 bandwidth^2)), and those of less than a thousandth of the nearest one's take no part.
 * All lie on one grid. The linear rounds are done once for all subjects; a template then begins with A_i G, G
 * such that the mean of log A_i G under its own weights is 0, so that sizes that change with the covariate do
 * so in the templates too. A very large bandwidth gives the template of clvox_atlas, bit for bit, a very
 * small one the nearest subject. start: what the linear rounds begin with. */
CLVOX_API int clvox_atlas_regress(clvox_context *context, const clvox_atlas_subject *subjects, int count,
                                  const clvox_volume *start, const clvox_atlas_options *options,
                                  const clvox_atlas_regression *regression);

/* Costs measured on some subjects of a template, by options.timed: seconds of one, unless it says otherwise. */
typedef struct clvox_atlas_costs {
    double work[CLVOX_ATLAS_WORKS];
    double reading, writing; /* its files */
    double opening;          /* all devices, while files are read */
    double once;             /* each device, the first time: loading kernels */
    double between;          /* a round, besides all of these */
    int at_once;             /* registrations on a device */
    size_t voxels;           /* of the template */
    size_t device_bytes;     /* of a registration */
    int in_memory;           /* 1: the device is a CPU, and what it holds lies in host memory */
    size_t image_bytes, label_bytes; /* of a subject's images with its mask; of its labels */
    size_t image_voxels;             /* of the largest image */
    double beside;           /* bytes of a process, without the subjects' volumes and the state; 0: not known */
    double file_bytes;       /* scratch of the files that are written side by side */
    int writers;             /* subjects whose files these are */
    int warps, labels;       /* are written */
    double limit;            /* of options.store: bytes; of no account without a store */
} clvox_atlas_costs;

/* A run that is planned. */
typedef struct clvox_atlas_plan {
    int devices, processes, subjects; /* asked for */
    double reading, opening, once, linear, deformable, centring, averaging, waiting, writing, all; /* seconds */
    double host_bytes, disk_bytes; /* of a process */
    double kept_bytes;             /* of these, the subjects' volumes, in memory or on disk */
    double state_bytes;            /* of options.state, a subject */
} clvox_atlas_plan;

/* Sets what a run of so many devices, processes and subjects takes; regression: NULL for one template, else its
 * covariate is of `count` subjects, which those planned are like. */
CLVOX_API void clvox_atlas_predict(const clvox_atlas_costs *costs, const clvox_atlas_options *options,
                                   const clvox_atlas_regression *regression, int count, clvox_atlas_plan *plan);

/* Takes a few of the subjects through the rounds, some on each context, and sets what their steps cost, for
 * clvox_atlas_predict. costs->at_once says how many of the contexts are on each device; reading, opening,
 * writers, file_bytes, warps, labels and limit are the caller's and stay. Of the run's options state is not
 * looked at; where map is set, what becomes of the maps is `writing`, and settle (NULL: none) waits until it
 * is done: with several contexts twice, as a first pass goes through fewer subjects, on a grid of their own.
 * Errors are those of clvox_atlas. */
CLVOX_API int clvox_atlas_measure(clvox_context *context, const clvox_atlas_subject *subjects, int count,
                                  const clvox_volume *start, const clvox_atlas_options *options,
                                  int (*settle)(void *user), clvox_atlas_costs *costs);

/* Removes the state of a run that is finished, or that will not be resumed. */
CLVOX_API void clvox_atlas_forget(const char *state);

/* Releases what the result holds. NULL is legal. */
CLVOX_API void clvox_atlas_result_destroy(clvox_atlas_result *result);

#ifdef __cplusplus
}
#endif

#endif
