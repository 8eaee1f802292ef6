/* SPDX-License-Identifier: Apache-2.0 */
/* Text that grows, for tables and pages made of what strangers' files hold. */
#ifndef CLV_REPORT_TEXT_H
#define CLV_REPORT_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "clvox/status.h"

/* {0} is empty. data ends with a 0 that length does not count; the caller frees
 * it. Once failed (no memory), nothing more is added. */
typedef struct clv_text {
    char *data;
    size_t length, room;
    bool failed;
} clv_text;

void clv_text_put(clv_text *to, const char *text);
void clv_text_add(clv_text *to, const char *format, ...) CLVOX_PRINTF(2, 3);

/* Text from a file into HTML (element or quoted attribute) or a cell of Markdown. */
void clv_text_put_html(clv_text *to, const char *text);
void clv_text_put_markdown(clv_text *to, const char *text);

/* Text as a string of JSON with its quotes, which may stand in a <script>; bytes in base 64. */
void clv_text_put_json(clv_text *to, const char *text);
void clv_text_put_base64(clv_text *to, const unsigned char *bytes, size_t count);

/* Pads what was added since `from` with spaces to so many characters (UTF-8). */
void clv_text_pad(clv_text *to, size_t from, int width);

/* Characters of UTF-8. */
int clv_text_width(const char *text);

/* A length that every number below fits. */
enum { CLV_TEXT_NUMBER = 32 };

/* Three significant digits without an exponent where that is short: 0.0345,
 * 1.37, 16.6, 12300. NaN: "-". Returns out. */
char *clv_text_rounded(double value, char out[CLV_TEXT_NUMBER]);
/* As above with a prefix of the SI before the unit: "4.12 TB/s". */
char *clv_text_si(double value, const char *unit, char out[CLV_TEXT_NUMBER]);
/* Memory as it is counted in powers of two: "48.0 KiB". */
char *clv_text_binary(double bytes, char out[CLV_TEXT_NUMBER]);
/* "0.058x": how many times as fast. */
char *clv_text_ratio(double value, char out[CLV_TEXT_NUMBER]);
/* "26%" */
char *clv_text_percent(double share, char out[CLV_TEXT_NUMBER]);

#endif
