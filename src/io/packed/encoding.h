/* SPDX-License-Identifier: Apache-2.0 */
/* Values in a file that are written as text, as hexadecimal digits or compressed by bzip2 or zlib: what
 * clv_source_check and clv_source_read do for such packings. */
#ifndef CLV_IO_ENCODING_H
#define CLV_IO_ENCODING_H

#include "io/packed/source.h"

int clv_encoding_check(const clv_source *source, uint64_t offset, size_t total);
/* Delivers from one thread. */
int clv_encoding_read(const clv_source *source, uint64_t offset, size_t total, clv_consume consume, void *user);

int clv_bzip2_check(const clv_source *source, uint64_t offset, size_t total);
int clv_bzip2_read(const clv_source *source, uint64_t offset, size_t total, clv_consume consume, void *user);

int clv_zlib_check(const clv_source *source, uint64_t offset, size_t total);
/* From the start of what follows the header. */
int clv_zlib_read(const clv_source *source, size_t total, clv_consume consume, void *user);

#endif
