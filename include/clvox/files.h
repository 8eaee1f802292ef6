/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLVOX_FILES_H
#define CLVOX_FILES_H

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

#ifdef __cplusplus
}
#endif

#endif
