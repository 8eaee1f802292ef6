/* SPDX-License-Identifier: Apache-2.0 */
/* Facts about the last files that this process has read, left by their readers, so that no file is read again
 * for its log. A file that has changed since is another one. */
#ifndef CLV_BASE_SEEN_H
#define CLV_BASE_SEEN_H

#include "clvox/command/inputs.h"

/* Adds what one reader knows of a file: its CRC-32, all of its bytes being read, or a volume's header. Any
 * thread. */
void clv_seen_add(const char *path, const clvox_input_facts *facts);
/* All that is known of a file. Any thread. */
void clv_seen_find(const char *path, clvox_input_facts *facts);

#endif
