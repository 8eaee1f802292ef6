/* SPDX-License-Identifier: Apache-2.0 */
/* Tissue probabilities as a term of a deformation. A model raises
 *   metric a voxel - options.posteriors_weight mean 1/2 sum_k w_k (sqrt(p_k) - sqrt(q_k))^2,
 * over the tissues and their rest, which makes each of them a channel of roots that is compared by squared
 * differences. On the sphere of roots that distance is the chord and Fisher and Rao's the arc. Probabilities
 * are smoothed and sampled as they are, so that they stay a distribution, and the root is taken on each
 * level. Outside of its grid an image is all rest. */
#ifndef CLV_REGISTER_POSTERIORS_H
#define CLV_REGISTER_POSTERIORS_H

#include "register/register.h"

/* clv_channel.tissue of what the tissues leave. */
enum { CLV_REST = CLVOX_MAX_TISSUES };

/* CLVOX_ERROR_ARGUMENT where they are no distributions, or nothing takes them. */
int clv_posteriors_check(const clvox_register_images *images, const clvox_register_options *options);

/* Fills the channels. */
int clv_posteriors_upload(clv_registration *run);

/* A frame of a volume as a volume of its own, which holds no data. */
clvox_volume clv_posteriors_frame(const clvox_volume *posteriors, int tissue);

/* w_k */
double clv_posteriors_weight(const clvox_register_options *options, int tissue, int tissues);

/* Roots of a channel of posteriors, in place. */
int clv_posteriors_root(clv_registration *run, const clvox_grid *grid, clv_buffer *image);

#endif
