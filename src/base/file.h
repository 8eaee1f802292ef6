/* SPDX-License-Identifier: Apache-2.0 */
/* Whole files: opened with checks, and written so that a failure, a full disk
 * or Ctrl-C leaves no partial file. */
#ifndef CLV_BASE_FILE_H
#define CLV_BASE_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "clvox/files.h"

/* Opens an ordinary file to read; *fd is the caller's to close. A directory,
 * a pipe or a missing file is a CLVOX_ERROR_FILE with its reason. */
int clv_file_open(const char *path, int *fd, uint64_t *size);

/* Reads exactly size bytes at offset. Any thread. */
int clv_file_read_at(int fd, const char *path, void *bytes, size_t size, uint64_t offset);

/* A file being written under a temporary name in the directory of path. */
typedef struct clv_file_writer clv_file_writer;

/* Starts writing path. Nothing is seen under that name until
 * clv_file_commit. An existing file keeps its permissions, a link its target's
 * place. On success *out is the caller's, for clv_file_commit or
 * clv_file_discard. */
int clv_file_create(const char *path, clv_file_writer **out);

/* Writes at an offset. Any thread; ranges must not overlap. */
int clv_file_write_at(clv_file_writer *writer, const void *bytes, size_t size, uint64_t offset);

/* Gives the file its name and releases the writer, also on failure, when the
 * temporary file is removed and path is as it was. */
int clv_file_commit(clv_file_writer **writer);

/* Removes the temporary file and releases the writer. NULL is legal. */
void clv_file_discard(clv_file_writer **writer);

#endif
