/* SPDX-License-Identifier: Apache-2.0 */
/* Metrics. A metric is a file with a row of this kind, clv_metric_NAME, and a
 * line in the list of metric.c: what the linear part, a deformation, the report and `clvox
 * compare` know of it. */
#ifndef CLV_REGISTER_METRIC_METRIC_H
#define CLV_REGISTER_METRIC_METRIC_H

#include "clvox/registration.h"
#include "image/compare.h"
#include "op/match/metric.h"

/* Normalised joint distribution of the samples of one map (linear/score.c). */
typedef struct clv_joint {
    int bins;
    const uint32_t *counts; /* [f][m] */
    double total;
    const double *fixed, *moving; /* marginals */
} clv_joint;

/* Sums over the samples of one map: means, variances and covariance, and by
 * parameter p what moves with it: dm, f dm, m dm summed, and dm dm'. */
typedef struct clv_pair_sums {
    int parameters;
    double n, f, m, ff, mm, fm;
    double d[12], fd[12], md[12], (*normal)[12];
} clv_pair_sums;

typedef struct clv_metric_row {
    clvox_metric metric;
    const char *name;  /* --metric NAME, the log */
    const char *also;  /* what others call it; NULL: the same */
    const char *title; /* `clvox compare` */
    const char *unit;  /* of its value, "nats"; NULL: none */
    /* A number of its own, "RADIUS" as --help shows it; NULL: none. The fields of the options that hold it
     * for either stage, with their ranges in the table of options; how a report says it, before
     * and after the number; least, default and most of `clvox
     * compare`. */
    const char *parameter, *meaning; /* "cubes of 2 N + 1 voxels" */
    size_t linear_field, field;
    const char *says[2];
    int compared[3];

    /* ---- deformation and report ---- */
    size_t (*scratch)(const int size[3], int parameter, bool local, bool both); /* floats; both: derivatives */
    int (*derivative)(clvox_context *ctx, const clv_metric_args *args);
    /* The same times weight, added to what the derivatives hold; NULL: it cannot. */
    int (*derivative_add)(clvox_context *ctx, const clv_metric_args *args, float weight);
    bool compares_values; /* images are matched in intensity, as equal tissue must have equal values */
    bool approximates;    /* its derivative has a usual local approximation */
    double strength;      /* times its S a flow weighs against its energy, so that one lambda suits all metrics */
    bool content;         /* the report's mean is over windows with content: air says nothing */
    /* The report's value from the mean squared difference and the correlation; NULL: S a voxel. */
    double (*report)(double mean_square, double ncc);
    /* Whether a result is less alike than an earlier stage was, with the metric and the correlation of both;
     * NULL: by more than 3 percent of the metric. */
    bool (*worse)(double before, double ncc_before, double after, double ncc_after);
    /* Gain that a deformation owes for the variance of log J where there is content, or it costs more than it
     * brings; 0: not known. */
    double yield;
    bool hides; /* noise of single voxels hides that gain: coarse images count, too */

    /* ---- linear part: by a joint histogram, by sums over pairs, or where there is neither by the derivative
     * image, a map at a time ---- */
    /* The value of a histogram; table (NULL: not wanted): how it changes with each entry; weight: of the
     * normal matrix, by bin of F. */
    double (*score)(const clv_joint *joint, float *table, float *weight);
    /* Adds weight times the value, gradient and normal matrix. */
    void (*add)(const clv_pair_sums *sums, double weight, double *value, double gradient[12],
                double normal[12][12]);
    clvox_metric search, coarse; /* compared by in the search for a start, and far from the goal */
    bool detail;     /* images of like contrast end by their detail (linear/detail.c) */
    bool smooth;     /* its gradient is smooth enough for the optimiser to learn from its changes */
    double rounding; /* values closer than this share are equal, as sums in single precision are */

    /* ---- `clvox compare`, on the host in double precision; NULL: it does not compute it ---- */
    int (*compare)(const clv_comparison *images, int parameter, double *value);
} clv_metric_row;

/* NULL: not known. */
const clv_metric_row *clv_metric_find(clvox_metric metric);
/* By place in the list: NULL from the first one that there is not. */
const char *clv_metric_name(int at);

/* The number of a metric in either stage's options; 0: it has none. */
int clv_metric_parameter(const clv_metric_row *row, const clvox_register_options *options, bool linear);

/* "lncc (radius 2)" in a buffer of at least 32 characters; returns it. */
char *clv_metric_says(const clv_metric_row *row, int parameter, char *out);

/* The linear part compares by neither histograms nor sums. */
static inline bool clv_metric_by_image(const clv_metric_row *row)
{
    return !row->score && !row->add;
}

/* For NCC, and coarse levels of SSD: squared correlation of the bins' middles (ncc.c). */
double clv_metric_correlation(const clv_joint *joint, float *table, float *weight);

/* Middles of the bins on the images' scale. */
static inline double clv_joint_fixed(int bin, int bins)
{
    return (bin + .5) / bins;
}

static inline double clv_joint_moving(int bin, int bins)
{
    return (bin - 1.) / (bins - 3);
}

#endif
