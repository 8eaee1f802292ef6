/* SPDX-License-Identifier: Apache-2.0 */
/* Gzip files made of small members that say their own length (the "BGZF" of
 * SAMtools): any gunzip reads them, and we compress and decompress them in
 * parallel. */
#ifndef CLV_IO_BGZF_H
#define CLV_IO_BGZF_H

#include <stddef.h>
#include <stdint.h>

#include "base/file.h"

enum {
    CLV_BGZF_BLOCK = 0xff00, /* bytes that we put into a member */
    CLV_BGZF_MOST = 1 << 16, /* bytes that a member may hold */
    CLV_BGZF_RUN = 16        /* members that a thread handles at once */
};

/* Positions of the members: member i takes bytes in[i] to in[i + 1] of the file and becomes bytes out[i] to out[i +
 * 1]. */
typedef struct clv_bgzf_index {
    size_t count;
    size_t *in;
    uint64_t *out;
} clv_bgzf_index;

/* Lists the members of a file in memory; count is 0 where it is another gzip
 * file. The sizes are claims until the members have been decompressed. */
int clv_bgzf_walk(const uint8_t *file, size_t size, clv_bgzf_index *out);
void clv_bgzf_index_free(clv_bgzf_index *index);

/* Writes bytes [at, at + size) of the data to `to`. Called from several
 * threads; at and size are multiples of 16 but for the end of the data. */
typedef int (*clv_produce)(void *user, size_t at, size_t size, uint8_t *to);

/* Output: a header and then total produced bytes. */
typedef struct clv_bgzf_content {
    const void *header;
    size_t header_size, total;
    clv_produce produce;
    void *user;
} clv_bgzf_content;

/* Writes it compressed. The header is a member of its own, so that the members
 * behind it start at elements. level is libdeflate's. */
int clv_bgzf_write(clv_file_writer *writer, const char *path, int level, const clv_bgzf_content *content);

#endif
