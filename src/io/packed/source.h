/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes of a file, decompressed when it is a gzip file (told by content, not
 * by name), delivered by several threads; or what its text or bzip2's stream stands for. */
#ifndef CLV_IO_SOURCE_H
#define CLV_IO_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "clvox/volume.h"

typedef enum clv_packing {
    CLV_PACKED_BY_CONTENT = 0,
    CLV_PACKED_NOT,
    CLV_PACKED_GZIP,
    CLV_PACKED_BZIP2, /* these are read as a whole (io/encoding.h): there is no head to look at */
    CLV_PACKED_HEX,   /* two digits a byte */
    CLV_PACKED_TEXT,  /* numbers, which become the bytes of their type in this machine's order */
    CLV_PACKED_ZLIB   /* zlib's own form, or gzip's */
} clv_packing;

typedef struct clv_source {
    const char *path; /* the caller's */
    int fd;
    uint64_t start;   /* bytes of the file that are passed over: all offsets count from there */
    uint64_t size;    /* of the rest of the file itself */
    bool gzip;
    clv_packing packing; /* as it was opened */
    clvox_type type;     /* of numbers in text; set by whoever knows */
} clv_source;

/* Opens a file; release with clv_source_close, legal also after a failure. */
int clv_source_open(const char *path, clv_source *out);
/* The same, from byte `start` on, which is compressed or not as packing says. */
int clv_source_open_at(const char *path, uint64_t start, clv_packing packing, clv_source *out);
void clv_source_close(clv_source *source);

/* The first bytes, as many as there are up to wanted. Costs no more than
 * decompressing 64 KiB. */
int clv_source_head(const clv_source *source, void *bytes, size_t wanted, size_t *got);

/* Receives bytes [at, at + size) of a wanted range. Called from several
 * threads; at is a multiple of 16, and so is size but for the last piece. */
typedef int (*clv_consume)(void *user, const uint8_t *bytes, size_t size, size_t at);

/* Compares a range with the file's size, so that a false header does not make
 * anybody ask for memory. Compressed files may still turn out to hold less. */
int clv_source_check(const clv_source *source, uint64_t offset, size_t total);

/* Delivers total bytes from offset on, checked as above. A file that holds fewer bytes, or damaged ones, is a
 * CLVOX_ERROR_FORMAT, whatever has been delivered by then. */
int clv_source_read(const clv_source *source, uint64_t offset, size_t total, clv_consume consume, void *user);

#endif
