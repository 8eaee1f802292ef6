/* SPDX-License-Identifier: Apache-2.0 */
/* Predicts an image at a position from another one around it: trees fitted one after another to what the ones
 * before leave (gradient boosting; Friedman 2001). */
#ifndef CLV_REGISTER_CONTRAST_TREES_H
#define CLV_REGISTER_CONTRAST_TREES_H

#include <stddef.h>
#include <stdint.h>

enum { CLV_TREE_FEATURES = 12, CLV_TREE_BINS = 64 };

/* Rows of features, each in bins below CLV_TREE_BINS; of some of them a value is known. */
typedef struct clv_trees {
    size_t rows;
    const uint8_t *bins; /* [row][feature] */
    size_t samples;
    const uint32_t *at; /* which row */
    const float *value;
    int count;   /* of trees */
    double rate; /* of what a tree says, this share is taken */
} clv_trees;

/* Predicts each row by the trees, into out. The same bits for any number of threads. */
int clv_trees_say(const clv_trees *trees, float *out);

#endif
