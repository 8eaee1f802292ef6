/* SPDX-License-Identifier: Apache-2.0 */
/* Label maps: how they are told from images where the file does not say it, and names that float32 cannot hold. */
#ifndef CLV_IO_LABELS_H
#define CLV_IO_LABELS_H

#include <stdbool.h>

#include "clvox/volume.h"

/* Why a scalar volume read from path looks like labels. whole: its file stores whole numbers, unscaled. */
clvox_label_hint clv_labels_hint(const char *path, bool whole, const clvox_volume *volume);

/* CLVOX_ERROR_ARGUMENT where a volume is a label map, or looks like one, whose names are no values to work with. */
int clv_labels_refuse(const clvox_volume *volume);

/* Puts in place of the values of the volume, which are exactly `exact`, their places in a table of names, 0
 * first. Leaves it as it is where there are more names than label maps have. CLVOX_ERROR_MEMORY. */
int clv_labels_rank(clvox_volume *volume, const int64_t *exact);
/* Gives a map these labels, by names where floats do not hold them, and a type of integers. */
int clv_labels_take(const int64_t *exact, clvox_volume *labels);

/* The name behind a value. */
static inline int64_t clv_label_name(const clvox_volume *volume, float value)
{
    int at = (int)value;
    return volume->names && at >= 0 && at < volume->name_count ? volume->names[at] : (int64_t)value;
}

/* The value that stands for a name: itself without a table; -1 where the table lacks it. */
float clv_label_value(const clvox_volume *volume, int64_t name);

/* Gives `to` the table of `from`, with this name in it if add is set. CLVOX_ERROR_MEMORY. */
int clv_labels_copy_names(const clvox_volume *from, const int64_t *add, clvox_volume *to);

#endif
