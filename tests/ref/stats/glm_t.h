/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REF_STATS_GLM_T_H
#define REF_STATS_GLM_T_H

/* t of one voxel and one permutation: data[s], and weights[j * subjects + s] of the tested column (j = 0) and the
 * nuisances; 0 where no more than least of the variance is left. */
double ref_glm_t(const float *data, const double *weights, int subjects, int vectors, double dof,
                 double least);

/* t of the tested column, the last of the design's (column c of subject s at c * subjects + s), by the normal
 * equations: from raw data, and so by another way. */
double ref_glm_t_of_design(const double *data, const double *design, int subjects, int columns);

#endif
