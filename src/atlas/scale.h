/* SPDX-License-Identifier: Apache-2.0 */
/* A subject's images by themselves: what tells them apart from others, and copies on one scale. */
#ifndef CLV_ATLAS_SCALE_H
#define CLV_ATLAS_SCALE_H

#include <stdbool.h>
#include <stdint.h>

#include "clvox/atlas.h"

struct clvox_atlas_scaled {
    const clvox_volume *of, *mask; /* whose copies these are, and by which options */
    int channels, keep_intensities;
    double clip_low, clip_high, margin;
    uint64_t hash[2]; /* of its image and mask, and of its other channels */
    clvox_volume *image[CLVOX_ATLAS_CHANNELS];
    double largest[CLVOX_ATLAS_CHANNELS]; /* absolute values in these */
    double center[3];                     /* the centroid of its image, RAS mm */
    int box[2][3];                        /* with options->margin */
};

/* Whether a channel does register: its weight is not 0, or all are. */
bool clv_atlas_registers(const clvox_atlas_options *o, int channel);
/* Hashes tell contents apart: where one begins, on with some bytes, and those of a subject's image and mask,
 * and of its other channels. */
#define CLV_ATLAS_BASIS UINT64_C(14695981039346656037)
uint64_t clv_atlas_hash_bytes(uint64_t hash, const void *bytes, size_t size);
void clv_atlas_hash(const clvox_atlas_subject *s, int channels, uint64_t hash[2]);
/* Whether a template can be made of it: of one value a voxel, and of one frame. */
bool clv_atlas_is_image(const clvox_volume *v);
/* Refuse a number of channels that templates do not take, and a subject without an image of each. */
int clv_atlas_check_channels(const clvox_atlas_options *o);
int clv_atlas_check_images(const clvox_atlas_subject *s, const clvox_atlas_options *o);
/* All of scaled but the hashes; on failure it holds some, for the second. What is wrong with the images or
 * the mask begins with the subject's name. */
int clv_atlas_scale(const clvox_atlas_subject *s, const clvox_atlas_options *o, clvox_atlas_scaled *scaled);
void clv_atlas_scaled_release(clvox_atlas_scaled *scaled);

#endif
