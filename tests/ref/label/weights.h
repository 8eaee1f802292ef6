/* SPDX-License-Identifier: Apache-2.0 */
/* Weights of atlases by patches, as cl/label/weights.cl says. */
#ifndef REF_LABEL_WEIGHTS_H
#define REF_LABEL_WEIGHTS_H

#include <stdbool.h>

enum { REF_LABEL_MOST = 64 };

/* Volumes with their margins: the head and each atlas; labels of each atlas. */
typedef struct ref_label_stack {
    const float *images;
    const int *labels;
    int size[3], atlases, search;
} ref_label_stack;

/* Mean and inverse standard deviation of the patch at voxel x of a volume (0: the head); 0 where flat. */
void ref_label_moments(const ref_label_stack *s, int volume, int x, double moments[2]);
/* Mean squared difference of the head's patch at x and that of an atlas (from 0) at x + shift. */
double ref_label_unlike(const ref_label_stack *s, int x, int atlas, int shift);
/* Place number `at` of the search. */
int ref_label_shift(const ref_label_stack *s, int at);
/* The least difference within the search; below 0: the atlas has no label there. */
double ref_label_least(const ref_label_stack *s, int x, int atlas);
/* Weights of the atlases at voxel x, looked up at these shifts. */
void ref_label_weights(const ref_label_stack *s, int x, const int *shifts, bool joint, double ridge,
                       double *weights);

#endif
