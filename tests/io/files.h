/* SPDX-License-Identifier: Apache-2.0 */
/* Files for tests: a folder of their own, NIfTI headers written byte by byte
 * (not by the code under test), gzip by zlib. */
#ifndef TESTS_IO_FILES_H
#define TESTS_IO_FILES_H

#include <stddef.h>
#include <stdint.h>

#include "clvox/volume.h"

/* A path in this program's own folder; one of 16 static buffers. */
const char *files_in(const char *name);
/* How many files are in the folder. */
int files_count(void);
/* Removes all of them; for test_after_each. */
int files_clear(void **state);
/* Removes the folder. */
void files_end(void);

/* A file of ../shared/data or CLVOX_DATA; NULL when it is missing. */
const char *files_data(const char *name);

int files_write(const char *path, const void *bytes, size_t size);
/* As one gzip member at zlib's default level. */
int files_write_gzip(const char *path, const void *bytes, size_t size);
/* Appends a member to bytes; returns its length. out has room. */
size_t files_gzip_member(const void *bytes, size_t size, uint8_t *out, size_t room);
/* The whole file; the caller's to free. NULL when missing. */
uint8_t *files_read(const char *path, size_t *size);

/* Fields of a header. Start from files_header(). */
typedef struct files_nifti {
    int version;        /* 1, 2, or 0 for Analyze */
    int swapped;        /* in the other byte order */
    int64_t dim[8];
    int type, bits;
    double pixdim[8];
    double offset, slope, inter;
    int units, intent;
    double intent_p1;
    const char *intent_name;
    int qform, sform;
    double quatern[3], shift[3];
    double rows[3][4];
    const char *magic;  /* of version 1; NULL: "n+1" */
} files_nifti;

/* float32, 2 mm, data at 352 or 544, no qform and no sform. */
files_nifti files_header(int version, int x, int y, int z);
/* Writes the header to bytes, which has 544; returns 352 or 544 (348 for Analyze). */
size_t files_header_bytes(const files_nifti *header, uint8_t *bytes);
/* Writes header and data as one file, compressed when path ends in .gz. */
int files_nifti_write(const char *path, const files_nifti *header, const void *data, size_t size);

/* Puts x as an element of a NIfTI datatype code; returns its size. */
size_t files_put(uint8_t *to, int type, int swapped, double x);

#endif
