/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the parts of permutation tests. */
#ifndef CLV_STATS_STATS_H
#define CLV_STATS_STATS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "clvox/stats.h"

/* ---- the design ---- */

typedef struct clv_stats_model {
    int subjects;
    bool flips;    /* the mean by sign flips, instead of permutations */
    int nuisances; /* columns of q */
    double *
        q; /* orthonormal, of the constant (without flips) and the covariates: column j from j * subjects on */
    double *x; /* the tested column without them, of unit length */
    int first; /* the first column of q whose permuted products are not 0 */
    int dof;
    int *kind; /* of subjects with the same row of the design the first; with flips the subject itself */
} clv_stats_model;

/* On failure zeroed: a design whose columns depend on each other, or too few subjects. */
int clv_stats_model_make(const clvox_stats_design *design, bool less, clv_stats_model *out);
void clv_stats_model_free(clv_stats_model *model); /* legal on a zeroed one */
/* The tested column, and the nuisances whose products differ between permutations. */
int clv_stats_vectors(const clv_stats_model *model);

/* ---- permutations ---- */

typedef struct clv_stats_permuter {
    const clv_stats_model *model;
    uint64_t seed;
    int count, done;
    bool exact;
    int *row; /* the row of the design that a subject has now; ~row: with the other sign */
} clv_stats_permuter;

/* Counts them; asked: as many at most. clv_stats_permuter_free is legal on a zeroed one. */
int clv_stats_permuter_make(const clv_stats_model *model, int asked, int seed, clv_stats_permuter *out);
void clv_stats_permuter_free(clv_stats_permuter *permuter);
/* The weights of the next permutation, in lane k of a batch as clv_glm_t takes them. */
void clv_stats_permute(clv_stats_permuter *permuter, int k, float *batch);
/* Those of the data as they are. */
void clv_stats_as_is(const clv_stats_model *model, int k, float *batch);

/* ---- the data ---- */

typedef struct clv_stats_data {
    const clv_stats_model *model;
    const float **map; /* one a subject */
    const float *mask; /* NULL: everywhere */
    int size[3];
    int32_t *place; /* of every voxel that is tested, on the grid */
    int tested;
    size_t asked, not_finite, constant, perfect;
} clv_stats_data;

/* Finds the voxels to test. CLVOX_ERROR_DATA where there is none. clv_stats_data_free is legal on a zeroed one. */
int clv_stats_data_make(const clvox_volume *const *maps, int count, const clv_stats_model *model,
                        const clvox_volume *mask, clv_stats_data *out);
void clv_stats_data_free(clv_stats_data *data);
/* The residuals of tested voxels first to first + count - 1, as clv_glm_t takes them with least; and their
 * t, where it is not NULL: by doubles, so that a large one is right, too. */
int clv_stats_residuals(const clv_stats_data *data, int first, int count, float *out, float *least, float *t);

/* ---- threshold-free cluster enhancement ---- */

typedef struct clv_tfce {
    const int *size;
    const int32_t *place; /* of the voxels that count, ascending, on the grid */
    int count;
    int32_t *at; /* of every voxel of the grid its number among them; -1: it does not count */
    double step, height, extent;
    clvox_connectivity connectivity;
} clv_tfce;

/* Sets at; place stays the caller's. */
int clv_tfce_make(const clv_tfce *what, clv_tfce *out);
void clv_tfce_free(clv_tfce *tfce); /* legal on a zeroed one */
/* out[i] = sum over h = step, 2 step, ... up to sign * t[i] of extent^E h^H step, extent the voxels of the cluster of
 * sign * t >= h; where sign * t < step out stays as it is. Any thread. out is not t. */
int clv_tfce_enhance(const clv_tfce *tfce, const float *t, int sign, float *out);

#endif
