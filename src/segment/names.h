/* SPDX-License-Identifier: Apache-2.0 */
/* Labels of several maps by one set of small numbers, in ascending order. */
#ifndef CLV_SEGMENT_NAMES_H
#define CLV_SEGMENT_NAMES_H

#include <stdint.h>

#include "clvox/volume.h"

typedef struct clv_names {
    int64_t *name; /* ascending */
    int count, room;
} clv_names;

/* Adds the labels of a map; NaN and infinities are 0. CLVOX_ERROR_DATA: fractions, or more than 8192. */
int clv_names_add(clv_names *names, const clvox_volume *labels);
/* Adds those of others. */
int clv_names_join(clv_names *names, const clv_names *others);
/* The numbers of a map's labels, which have been added. */
void clv_names_number(const clv_names *names, const clvox_volume *labels, uint16_t *out);
void clv_names_free(clv_names *names);

#endif
