/* SPDX-License-Identifier: Apache-2.0 */
#include "report/text.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static void put(clv_text *to, const char *text, size_t length)
{
    if (!make_room(to, length))
        return;
    memcpy(to->data + to->length, text, length);
    to->length += length;
    to->data[to->length] = 0;
}

void clv_text_put(clv_text *to, const char *text)
{
    put(to, text, strlen(text));
}

void clv_text_add(clv_text *to, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, format, args);
    if (length >= 0 && make_room(to, (size_t)length)) {
        vsnprintf(to->data + to->length, (size_t)length + 1, format, again);
        to->length += (size_t)length;
    }
    va_end(again);
    va_end(args);
}

static void put_escaped(clv_text *to, const char *text, const char *(*escape)(char))
{
    while (*text) {
        size_t plain = 0;
        while (text[plain] && !escape(text[plain]))
            plain++;
        put(to, text, plain);
        text += plain;
        if (*text)
            clv_text_put(to, escape(*text++));
    }
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

static const char *markdown(char c)
{
    static const char special[] = "\\`*_[]|#~";
    static const char *const escaped[] = {"\\\\", "\\`", "\\*", "\\_", "\\[", "\\]", "\\|", "\\#", "\\~"};
    const char *at = strchr(special, c);
    return at && c ? escaped[at - special] : c == '<' || c == '&' ? html(c) : NULL;
}

void clv_text_put_html(clv_text *to, const char *text)
{
    put_escaped(to, text, html);
}

void clv_text_put_markdown(clv_text *to, const char *text)
{
    put_escaped(to, text, markdown);
}

void clv_text_put_json(clv_text *to, const char *text)
{
    clv_text_put(to, "\"");
    for (; *text; text++) {
        if (strchr("\"\\<>&", *text) || (unsigned char)*text < ' ')
            clv_text_add(to, "\\u%04x", (unsigned char)*text);
        else
            put(to, text, 1);
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

int clv_text_width(const char *text)
{
    int width = 0;
    for (; *text; text++)
        width += (*text & 0xc0) != 0x80;
    return width;
}

void clv_text_pad(clv_text *to, size_t from, int width)
{
    if (to->failed || !to->data)
        return;
    for (int have = clv_text_width(to->data + from); have < width; have++)
        put(to, " ", 1);
}

char *clv_text_rounded(double value, char out[CLV_TEXT_NUMBER])
{
    if (!isfinite(value)) {
        snprintf(out, CLV_TEXT_NUMBER, "-");
    } else if (value == 0 || (fabs(value) >= 1e-5 && fabs(value) < 1e8)) {
        /* The place of the first digit once it is rounded to three. */
        char rounded[CLV_TEXT_NUMBER];
        snprintf(rounded, sizeof rounded, "%.2e", value);
        int place = atoi(strchr(rounded, 'e') + 1);
        snprintf(out, CLV_TEXT_NUMBER, "%.*f", place >= 2 ? 0 : 2 - place, strtod(rounded, NULL));
    } else {
        snprintf(out, CLV_TEXT_NUMBER, "%.2e", value);
    }
    return out;
}

char *clv_text_si(double value, const char *unit, char out[CLV_TEXT_NUMBER])
{
    static const char *const prefixes[] = {"n", "µ", "m", "", "k", "M", "G", "T", "P"};
    int at = 3;
    char number[CLV_TEXT_NUMBER];
    while (at > 0 && value != 0 && fabs(value) < 0.9995) {
        value *= 1e3;
        at--;
    }
    while (at < 8 && fabs(value) >= 999.5) {
        value *= 1e-3;
        at++;
    }
    /* "3.00 G/s", not "3.00 G1/s". */
    snprintf(out, CLV_TEXT_NUMBER, "%s %s%.12s", clv_text_rounded(value, number),
             isfinite(value) ? prefixes[at] : "", strcmp(unit, "1/s") ? unit : "/s");
    return out;
}

char *clv_text_binary(double bytes, char out[CLV_TEXT_NUMBER])
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    char number[CLV_TEXT_NUMBER];
    int at = 0;
    for (; at < 4 && bytes >= 1024; at++)
        bytes /= 1024;
    snprintf(out, CLV_TEXT_NUMBER, "%.20s %s", clv_text_rounded(bytes, number), units[at]);
    return out;
}

char *clv_text_ratio(double value, char out[CLV_TEXT_NUMBER])
{
    clv_text_rounded(value, out);
    if (isfinite(value))
        strcat(out, "x");
    return out;
}

char *clv_text_percent(double share, char out[CLV_TEXT_NUMBER])
{
    if (!isfinite(share))
        snprintf(out, CLV_TEXT_NUMBER, "-");
    else if (share < 0.0995)
        snprintf(out, CLV_TEXT_NUMBER, "%.1f%%", 100 * share);
    else
        snprintf(out, CLV_TEXT_NUMBER, "%.0f%%", fmin(100 * share, 1e9));
    return out;
}
