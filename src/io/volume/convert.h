/* SPDX-License-Identifier: Apache-2.0 */
/* Elements of files to and from float32. */
#ifndef CLV_IO_CONVERT_H
#define CLV_IO_CONVERT_H

#include <stdbool.h>
#include <stddef.h>

#include "clvox/volume.h"

/* Bytes of one element. */
size_t clv_type_bytes(clvox_type type);

/* out = slope * in + inter for count elements, computed in double. swap: the
 * elements are in the other byte order. bytes need not be aligned. */
void clv_from_file(clvox_type type, bool swap, double slope, double inter, const void *bytes, size_t count,
                   float *out);

/* Integers are rounded to the nearest and clamped to the type's range; NaN
 * becomes 0. This machine's byte order. */
void clv_to_file(clvox_type type, const float *in, size_t count, void *bytes);

/* The same of whole numbers, exactly; floats are rounded. Beyond 64 bits with a sign they are clamped. */
void clv_whole_from_file(clvox_type type, bool swap, const void *bytes, size_t count, int64_t *out);
void clv_whole_to_file(clvox_type type, const int64_t *in, size_t count, void *bytes);

/* Turns elements of that many bytes into the other byte order. */
void clv_swap_elements(void *bytes, size_t element, size_t count);

#endif
