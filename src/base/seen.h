/* SPDX-License-Identifier: Apache-2.0 */
/* Facts about the last files that this process has read, left by their readers, so that no file is read again
 * for its log. A file that has changed since is another one. */
#ifndef CLV_BASE_SEEN_H
#define CLV_BASE_SEEN_H

#include "clvox/command/inputs.h"

/* The CRC-32 of the whole file. Any thread. */
void clv_seen_crc(const char *path, uint32_t crc);
/* The parts of facts that a volume's header gives. Any thread. */
void clv_seen_header(const char *path, const clvox_input_facts *facts);
/* What is known of a file: whether its CRC-32 is, and whether its header is. bytes is set wherever it is there. */
void clv_seen_find(const char *path, clvox_input_facts *facts, bool *crc, bool *header);

#endif
