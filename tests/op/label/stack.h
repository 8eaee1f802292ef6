/* SPDX-License-Identifier: Apache-2.0 */
/* Small heads with atlases, for the tests of what labels them. */
#ifndef TESTS_OP_LABEL_STACK_H
#define TESTS_OP_LABEL_STACK_H

#include "op/harness.h"
#include "op/label/weights.h"
#include "ref/label/weights.h"

typedef struct stack {
    clv_label_stack on; /* the device */
    ref_label_stack ref;
    float *images;
    int *labels, *list, *place;
    clv_label_list voxels; /* most of those outside the margins */
    clv_buffer *places;
} stack;

/* Noise and flat parts; atlas 1 is a copy of atlas 0, the last one lacks a corner; `names` labels. */
void stack_make(clvox_context *ctx, const int inner[3], int atlases, int search, int names, stack *out);
void stack_free(stack *s);

#endif
