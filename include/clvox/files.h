/* SPDX-License-Identifier: Apache-2.0 */
/* Files and folders, as the command and the Python package handle them. The library exports these functions
 * for these two; the header is not installed, and they may change with any version. */
#ifndef CLVOX_FILES_H
#define CLVOX_FILES_H

#include <stdbool.h>
#include <stddef.h>

#include "clvox/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Whether files can be written before a long computation ends in them: none of the outputs is a folder, lies
 * in one that is missing or cannot be written, is one of the inputs or another output. Files are told apart by
 * device and inode, so that links and other spellings of a name count as the same. NULL among the names is
 * passed over. CLVOX_ERROR_FILE and a sentence, or CLVOX_OK. Nothing is opened or changed. */
CLVOX_API int clvox_outputs_check(const char *const *inputs, int input_count, const char *const *outputs,
                                  int output_count);

/* The ending that says what a file of this name holds (volume, surface, curves, transform, .json, .png, .html,
 * .tsv, .csv), in letters of either case and with what compresses it: ".nii.gz" of T1.nii.gz; where it begins in
 * path. NULL: there is none. */
CLVOX_API const char *clvox_file_ending(const char *path);

/* Whether a name ends so, in letters of either case, and is longer. */
CLVOX_API bool clvox_file_ends(const char *path, const char *ending);

/* 1 for two names of one ordinary file, which need not be there yet, else 0. */
CLVOX_API int clvox_file_same(const char *a, const char *b);

/* Reads a whole file of at most limit bytes and puts a 0 behind it. On success *out is the caller's, to be
 * released with clvox_text_destroy, and *size (size may be NULL) its length without that 0. CLVOX_ERROR_FILE;
 * CLVOX_ERROR_FORMAT: it is longer; CLVOX_ERROR_MEMORY. */
CLVOX_API int clvox_file_read(const char *path, size_t limit, char **out, size_t *size);

/* Writes a file as clvox_volume_write does: under a temporary name beside path, renamed at the end, so that
 * path is whole or untouched. An existing file keeps its permissions, a link its target's place.
 * CLVOX_ERROR_FILE. */
CLVOX_API int clvox_file_write(const char *path, const void *bytes, size_t size);

/* Whether clvox_file_write could begin: opens the temporary file and removes it. CLVOX_ERROR_FILE. */
CLVOX_API int clvox_file_probe(const char *path);

/* Text with names of files, which are bytes, as UTF-8: what is none is taken for Latin-1, as most such names
 * are. The caller's, for clvox_text_destroy, with room for one more character; NULL without memory. */
CLVOX_API char *clvox_text_utf8(const char *text);

/* Makes the folders on the way to path that are missing, and remembers them. CLVOX_ERROR_FILE. */
CLVOX_API int clvox_folders_make(const char *path);

/* Removes the folders that clvox_folders_make made, where they are empty. Safe in a signal handler. */
CLVOX_API void clvox_folders_remove(void);

/* Removes the temporary files of all that this process is writing: for a signal handler that ends the
 * program, in which it is safe, so that Ctrl-C leaves nothing behind. */
CLVOX_API void clvox_files_abandon(void);

/* The first file that this process could not write because its disk is full or a quota used up; NULL: there
 * was room for all. Static storage. */
CLVOX_API const char *clvox_files_full(void);

/* 1 where a folder and all above it belong to this user or root and nobody else may write there (above it
 * /tmp will do), so that a program may run or believe what it finds in it; also where it is not there and
 * nobody else can make it. make: it is made, with mode 0700. inside: the same holds of all that lies in it.
 * 0: why, of `size` bytes, says what is open to whom, as words after "as"; "": it cannot be reached. The last
 * folder that was found so inside is not looked through again by this process. */
CLVOX_API int clvox_folder_own(const char *path, bool make, bool inside, char *why, size_t size);

/* A name in `folder` with this ending (".nii.gz") for a file that is no result: the caller's to write, and to
 * remove. Each call gives another. CLVOX_ERROR_FILE: it is longer than size. */
CLVOX_API int clvox_file_scratch(const char *folder, const char *ending, char *path, size_t size);

/* Removes what processes of this machine that were killed (SIGKILL, a power failure) left beside `path`:
 * unfinished files, and those of clvox_file_scratch, whose process is no more. */
CLVOX_API void clvox_files_sweep(const char *path);

#ifdef __cplusplus
}
#endif

#endif
