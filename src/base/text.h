/* SPDX-License-Identifier: Apache-2.0 */
/* Text and bytes that grow: pages made of what strangers' files hold, and files before they are written. */
#ifndef CLV_BASE_TEXT_H
#define CLV_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "clvox/status.h"

/* A copy for the caller to free; from NULL: NULL. CLVOX_ERROR_MEMORY. */
int clv_text_copy(const char *from, char **out);

/* {0} is empty. data ends with a 0 that length does not count; the caller frees
 * it. Once failed (no memory), nothing more is added. */
typedef struct clv_text {
    char *data;
    size_t length, room;
    bool failed;
} clv_text;

void clv_text_put(clv_text *to, const char *text);
void clv_text_put_bytes(clv_text *to, const void *bytes, size_t count);
void clv_text_add(clv_text *to, const char *format, ...) CLVOX_PRINTF(2, 3);

/* Text from a file into HTML (element or quoted attribute). */
void clv_text_put_html(clv_text *to, const char *text);

/* Text as a string of JSON with its quotes, which may stand in a <script>; bytes in base 64. */
void clv_text_put_json(clv_text *to, const char *text);
void clv_text_put_base64(clv_text *to, const unsigned char *bytes, size_t count);

#endif
