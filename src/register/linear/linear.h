/* SPDX-License-Identifier: Apache-2.0 */
/* The linear stage's own parts: levels of both images, the metric with its
 * derivatives for many maps at once, the optimiser, the search for a start.
 * linear.c puts them together. */
#ifndef CLV_REGISTER_LINEAR_LINEAR_H
#define CLV_REGISTER_LINEAR_LINEAR_H

#include "op/match/affine_metric.h"
#include "register/metric/metric.h"
#include "register/register.h"

/* CLV_LINEAR_DETAIL + k: level k, at most 2, of locally normalised images. */
enum {
    CLV_LINEAR_LEVELS = 4,
    CLV_LINEAR_DETAIL = CLV_LINEAR_LEVELS,
    CLV_LINEAR_BATCH = 128,
    LINEAR_SEARCH_BINS = 16,
    CLV_LINEAR_TURNS = 173
};

/* Both images of every channel on one scale, in [0, 1], NaN outside of masks.
 * Level 0 is the finest. */
typedef struct clv_linear_level {
    clvox_grid fixed_grid, moving_grid;
    clv_buffer *fixed[CLV_MAX_CHANNELS], *moving[CLV_MAX_CHANNELS];
    double mm;
    int step[2]; /* rows that are sampled, along y and z */
    const clv_buffer *weights[2]; /* of the samples of fixed[0] and of moving[0], or NULL (detail.c) */
} clv_linear_level;

/* Shape of an image's foreground, by Otsu's threshold or the mask. */
typedef struct clv_linear_shape {
    double center[3]; /* RAS mm */
    double spread;    /* root of the mean squared distance from center, mm */
    double covariance[3][3]; /* mm^2 */
    double finite;    /* share of voxels that count */
} clv_linear_shape;

/* A map y = linear (x - center) + shift, RAS mm, with what is known of it. */
typedef struct clv_linear_state {
    double linear[3][3], shift[3];
    double value;   /* of the metric, to be raised; -INFINITY where nothing overlaps */
    double overlap; /* samples that count over those of the smaller image */
    double gradient[12], normal[12][12]; /* by parameter: mm of movement at the radius */
    /* Of metrics by sums over pairs: what the first channel of either image, times gain and more by offset,
     * is in the other one, by means and spreads. */
    double gain[2], offset[2];
} clv_linear_state;

typedef struct clv_linear_stage {
    clv_registration *run;
    clvox_metric metric;
    int bins;
    clv_linear_level level[CLV_LINEAR_LEVELS + 3];
    clv_buffer *fixed_masks[CLV_LINEAR_LEVELS], *moving_masks[CLV_LINEAR_LEVELS];
    clv_linear_shape fixed, moving;
    bool detailed; /* level CLV_LINEAR_DETAIL + 1 has been filled, and is what a state was refined by */
    bool flat;             /* an image is constant: there is nothing to align */
    bool thin;             /* an image of one slice: no rotation out of its plane is known */
    double thin_axis[3];   /* its normal in the fixed world */
    double center[3], radius;
    clv_request own[2 * (CLV_MAX_CHANNELS + 1) * (CLV_LINEAR_LEVELS + 3) + 13 + 2 * CLV_MAX_CHANNELS];
    int own_count;
    clv_buffer *maps[2], *counts, *tables, *partial, *sums; /* of a batch; maps: of either side */
    clv_buffer *of_pairs[2][CLV_MAX_CHANNELS];              /* sums of pairs of values, by side and channel */
    clv_buffer *warped, *derivatives, *terms; /* of metrics by their derivative image */
    clv_buffer *mean, *square, *share;   /* of local normalisation, with warped and derivatives */
    float *host;           /* tables, maps and sums of a batch */
    uint32_t *host_counts;
    size_t table_floats;   /* room of counts and tables */
    int evaluations;
} clv_linear_stage;

/* Takes the levels and the batch's buffers, measures both shapes
 * (levels.c). clv_linear_levels_free is legal on a zeroed stage. */
int clv_linear_levels_make(clv_linear_stage *stage);
/* Its parts, for what compares many images with one: the buffers; and the levels and shape of one image, anew as
 * often as its buffer has another one. */
int clv_linear_levels_take(clv_linear_stage *stage);
int clv_linear_levels_fill(clv_linear_stage *stage, bool is_moving);
/* Fills level CLV_LINEAR_DETAIL + k: both images of level k with the same mean and
 * spread everywhere, so that detail is left. sigma: of the surroundings, in
 * radii of the head, which state says to be equally large in both. */
int clv_linear_localise(clv_linear_stage *stage, int k, double sigma, const clv_linear_state *state);
void clv_linear_levels_free(clv_linear_stage *stage);
/* Samples as many rows of a level as have about so many samples, or all that ever count (levels.c). */
void clv_linear_sample(clv_linear_level *level, double most);
void clv_linear_sample_all(clv_linear_level *level);

/* Measure of states: a metric of one level's images, and the maps whose parameters (as many as
 * clv_linear_parameters says) it is derived by. */
typedef struct clv_linear_measure {
    int level;
    clvox_metric metric;
    int bins;
    clvox_linear kind;
} clv_linear_measure;

/* The metric of each state, and with derivatives also gradient and normal
 * (metric.c). */
int clv_linear_evaluate(clv_linear_stage *stage, const clv_linear_measure *measure, clv_linear_state *states,
                        int count, bool derivatives);

/* 3, 6, 7, 9, 12. */
int clv_linear_parameters(clvox_linear kind);
/* Takes out of delta what would move an image of one slice out of its plane, where
 * nothing is known of it; all of it stays where there is none. */
void clv_linear_keep_in_plane(const clv_linear_stage *stage, clvox_linear kind, double delta[12]);
/* The state moved by delta along the parameters. */
void clv_linear_move(const clv_linear_stage *stage, clvox_linear kind, const clv_linear_state *from,
                 const double delta[12], clv_linear_state *to);

/* S and dS/dp of a joint distribution p[f][m] (bins x bins); weight by bin of F
 * for the normal matrix. table and weight may be NULL (score.c). */
double clv_linear_score(const clv_metric_row *metric, int bins, const uint32_t *counts, double *total,
                        float *table, float *weight);

/* Objective of an ascent, and its end. */
typedef struct clv_linear_climb {
    clv_linear_measure measure;
    int iterations;   /* at most */
    double tolerance; /* mm: where no state moves by more */
} clv_linear_climb;

/* Raises the metric of all states together by damped Gauss-Newton steps
 * (optimise.c). */
int clv_linear_optimise(clv_linear_stage *stage, const clv_linear_climb *climb, clv_linear_state *states,
                        int count);

/* The best few starts, found at the coarsest level: at most room states in
 * falling order, *count of them (search.c). */
int clv_linear_search(clv_linear_stage *stage, const clv_linear_state *given, int given_count,
                      clv_linear_state *best, int room, int *count);

/* Rotation i of count that are spread evenly over all rotations (Alexa, Super-Fibonacci spirals, 2022); returns its
 * angle, in radians (search.c). */
double clv_linear_rotation(int i, int count, double rotation[3][3]);

/* Rotations far from the header, of 90 and 180 degrees about axes of the world and others, by which the images fit
 * better than where state leads, by the search's own measure and clearly: at most room states in falling order,
 * *found of them (orientation.c). */
int clv_linear_turned(clv_linear_stage *stage, const clv_linear_state *state, clv_linear_state *better,
                      int room, int *found);

/* The same of maps that fit the outlines as state does (clv_linear_list_rolled), if they are margin times as
 * good by mutual information, less what is lost for a stretch. */
int clv_linear_rolled(clv_linear_stage *stage, const clv_linear_state *state, double margin,
                      clv_linear_state *better, int room, int *found);
/* Maps that turn the ellipsoid of covariance, about the stage's centre, within itself before state, but
 * those that stretch one axis far more than another: at most CLV_LINEAR_TURNS, returns how many. */
int clv_linear_list_rolled(const double covariance[3][3], const clv_linear_state *state,
                           clv_linear_state *rolled);
/* How many times as much a map stretches one axis as another; and what lowers values above 0 where that is
 * more than heads differ. */
double clv_linear_unevenness(const clv_linear_state *state);
void clv_linear_weigh_stretch(clv_linear_state *states, int count);

/* Whether the moving image, mirrored, fits the fixed one clearly better than by state (mirror.c). */
int clv_linear_mirrored(clv_linear_stage *stage, const clv_linear_state *state, bool *mirrored);

/* Keeps the start if it is as good already (linear.c). */
int clv_linear_settle(clv_linear_stage *stage, int level, clvox_metric metric, const clv_linear_state *start,
                  clv_linear_state *state);

/* The end of the way where both images show the same contrast: the best of
 * states by the correlation of locally normalised images goes to states[0] and
 * *done is true; else all stays as it is (detail.c). */
int clv_linear_refine_detail(clv_linear_stage *stage, const clv_linear_state *start, clv_linear_state *states,
                             int count, bool *done);

/* Improves a state by the detail of levels 1 and 0, where samples that differ count less (robust.c).
 * CLVOX_ERROR_DATA: the images are not of one contrast. */
int clv_linear_refine_robust(clv_linear_stage *stage, clv_linear_state *state);

/* Lowers values above 0 where little overlaps, which agrees by chance (search.c). */
void clv_linear_weigh(clv_linear_state *states, int count);

/* States in falling order of their value, those within mm of a better one left out. */
int clv_linear_sort(const clv_linear_stage *stage, clv_linear_state *states, int *count, double mm);
/* How far two maps move a point at the radius apart, at most about, mm. */
double clv_linear_distance(const clv_linear_stage *stage, const clv_linear_state *a,
                           const clv_linear_state *b);
double clv_linear_angle(const double linear[3][3]);

void clv_linear_from_matrix(const clv_linear_stage *stage, const double matrix[4][4],
                            clv_linear_state *state);
void clv_linear_to_matrix(const clv_linear_stage *stage, const clv_linear_state *state, double matrix[4][4]);

#endif
