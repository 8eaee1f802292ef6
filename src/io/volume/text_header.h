/* SPDX-License-Identifier: Apache-2.0 */
/* Headers of lines "key: value", as NRRD and MRtrix write them. */
#ifndef CLV_IO_TEXT_HEADER_H
#define CLV_IO_TEXT_HEADER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CLV_TEXT_HEADER = 1 << 20 }; /* bytes that one may take */

typedef struct clv_text_header {
    char *text;      /* a copy, its lines ended by 0 */
    size_t length;   /* bytes of the file up to behind the line that ends it */
    char **key, **value; /* of each line that has one, in order */
    int count;
} clv_text_header;

/* Takes the header apart: lines up to one that is `end`, ("" for NRRD, "END" for MRtrix), without the first.
 * whole_file: the end of the bytes ends it, too. CLVOX_ERROR_FORMAT where it does not end. Release with
 * clv_text_header_free, legal on a zeroed one. */
int clv_text_header_parse(const char *path, const uint8_t *bytes, size_t size, const char *end, bool whole_file,
                          clv_text_header *out);
void clv_text_header_free(clv_text_header *header);

/* The first value of a key, in letters of either case; NULL: there is none. */
const char *clv_text_header_get(const clv_text_header *header, const char *key);

/* Reads up to room numbers, between which there may be spaces, commas and parentheses; returns how many, or -1 where
 * something else stands there. "nan" is one. */
int clv_text_numbers(const char *text, double *out, int room);

#endif
