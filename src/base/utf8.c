/* SPDX-License-Identifier: Apache-2.0 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/status.h"
#include "clvox/files.h"

/* Bytes of a character in UTF-8 at text; 0: none begins there. */
static int utf8_bytes(const unsigned char *text)
{
    int n = *text < 0x80 ? 1 : *text < 0xC2 ? 0 : *text < 0xE0 ? 2 : *text < 0xF0 ? 3 : *text < 0xF5 ? 4 : 0;
    for (int i = 1; i < n; i++)
        if ((text[i] & 0xC0) != 0x80)
            return 0;
    const bool beyond = (*text == 0xE0 && text[1] < 0xA0) || (*text == 0xED && text[1] > 0x9F) ||
                        (*text == 0xF0 && text[1] < 0x90) || (*text == 0xF4 && text[1] > 0x8F);
    return beyond ? 0 : n;
}

char *clvox_text_utf8(const char *text)
{
    CLV_GIVEN_OR(NULL, text);
    char *out = clv_array(strlen(text) + 1, 2), *to = out; /* and a line feed */
    const unsigned char *from = (const unsigned char *)text;
    while (out && *from) {
        int n = utf8_bytes(from);
        if (n) {
            memcpy(to, from, (size_t)n);
            to += n;
            from += n;
        } else {
            *to++ = (char)(0xC0 | *from >> 6);
            *to++ = (char)(0x80 | (*from++ & 0x3F));
        }
    }
    if (out)
        *to = 0;
    return out;
}
