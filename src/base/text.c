/* SPDX-License-Identifier: Apache-2.0 */
#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"

int clv_text_copy(const char *from, char **out)
{
    *out = from ? strdup(from) : NULL;
    return from && !*out ? clv_out_of_memory() : CLVOX_OK;
}

static bool make_room(clv_text *to, size_t more)
{
    if (to->failed)
        return false;
    if (to->room - to->length > more)
        return true;
    size_t room = 2 * to->room + more + 4096;
    char *data = realloc(to->data, room);
    if (!data) {
        to->failed = true;
        return false;
    }
    to->data = data;
    to->room = room;
    return true;
}

void clv_text_put_bytes(clv_text *to, const void *bytes, size_t count)
{
    if (!make_room(to, count))
        return;
    memcpy(to->data + to->length, bytes, count);
    to->length += count;
    to->data[to->length] = 0;
}

void clv_text_put(clv_text *to, const char *text)
{
    clv_text_put_bytes(to, text, strlen(text));
}

void clv_text_add(clv_text *to, const char *format, ...)
{
    va_list args, again;
    if (!make_room(to, 0))
        return;
    va_start(args, format);
    va_copy(again, args);
    int length = vsnprintf(to->data + to->length, to->room - to->length, format, args);
    if (length >= 0 && (size_t)length >= to->room - to->length && make_room(to, (size_t)length))
        vsnprintf(to->data + to->length, (size_t)length + 1, format, again);
    if (length >= 0 && !to->failed)
        to->length += (size_t)length;
    va_end(again);
    va_end(args);
}

static const char *html(char c)
{
    return c == '&'    ? "&amp;"
           : c == '<'  ? "&lt;"
           : c == '>'  ? "&gt;"
           : c == '"'  ? "&quot;"
           : c == '\'' ? "&#39;"
                       : NULL;
}

void clv_text_put_html(clv_text *to, const char *text)
{
    while (*text) {
        size_t plain = 0;
        while (text[plain] && !html(text[plain]))
            plain++;
        clv_text_put_bytes(to, text, plain);
        text += plain;
        if (*text)
            clv_text_put(to, html(*text++));
    }
}

void clv_text_put_json(clv_text *to, const char *text)
{
    clv_text_put(to, "\"");
    for (; *text; text++) {
        if (strchr("\"\\<>&", *text) || (unsigned char)*text < ' ')
            clv_text_add(to, "\\u%04x", (unsigned char)*text);
        else
            clv_text_put_bytes(to, text, 1);
    }
    clv_text_put(to, "\"");
}

void clv_text_put_base64(clv_text *to, const unsigned char *bytes, size_t count)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    if (!make_room(to, 4 * (count / 3 + 1)))
        return;
    char *at = to->data + to->length;
    for (size_t i = 0; i < count; i += 3) {
        const unsigned third = (unsigned)bytes[i] << 16 | (i + 1 < count ? (unsigned)bytes[i + 1] << 8 : 0) |
                               (i + 2 < count ? bytes[i + 2] : 0);
        for (int k = 0; k < 4; k++)
            *at++ = i + (size_t)k <= count ? letters[third >> (18 - 6 * k) & 63] : '=';
    }
    *at = 0;
    to->length = (size_t)(at - to->data);
}
