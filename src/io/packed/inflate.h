/* SPDX-License-Identifier: Apache-2.0 */
/* A gzip or zlib stream in memory, piece by piece. Unlike libdeflate, zlib delivers what it has of a stream that
 * is cut. */
#ifndef CLV_IO_INFLATE_H
#define CLV_IO_INFLATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <zlib.h>

typedef struct clv_inflate {
    z_stream stream;
    const uint8_t *in; /* the caller's, and what is left of it */
    size_t left;
} clv_inflate;

typedef enum clv_inflated {
    CLV_INFLATED_ALL,    /* there was room for */
    CLV_INFLATED_MEMBER, /* to its end, and its check sum is right; another follows at once */
    CLV_INFLATED_LAST,   /* the same, and none follows: what may be behind it is padding of tapes and blocks */
    CLV_INFLATED_CUT,
    CLV_INFLATED_DAMAGED
} clv_inflated;

/* gzip alone, or either. On success the caller ends it. */
int clv_inflate_begin(clv_inflate *s, const char *path, const uint8_t *in, size_t size, bool zlib);
/* Puts up to room bytes to `to`, *got of them. */
clv_inflated clv_inflate_some(clv_inflate *s, uint8_t *to, size_t room, size_t *got);
void clv_inflate_end(clv_inflate *s);

#endif
