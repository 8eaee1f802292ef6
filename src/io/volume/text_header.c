/* SPDX-License-Identifier: Apache-2.0 */
#include "io/volume/text_header.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/status.h"
#include "io/plain.h"

void clv_text_header_free(clv_text_header *h)
{
    free(h->text);
    free(h->key);
    free(h->value);
    memset(h, 0, sizeof *h);
}

int clv_text_header_parse(const char *path, const uint8_t *bytes, size_t size, const char *end, bool whole_file,
                          clv_text_header *out)
{
    int status = CLVOX_OK, number = 0;
    size_t lines = 1;
    bool ended = false;
    memset(out, 0, sizeof *out);
    for (size_t i = 0; i < size; i++)
        lines += bytes[i] == '\n';
    out->text = malloc(size + 1);
    out->key = clv_array(lines, sizeof *out->key);
    out->value = clv_array(lines, sizeof *out->value);
    if (!out->text || !out->key || !out->value) {
        status = clvox_fail(CLVOX_ERROR_MEMORY, "%s: out of memory", path);
        goto end;
    }
    memcpy(out->text, bytes, size);
    out->text[size] = 0;
    for (size_t at = 0; at < size && !ended; number++) {
        char *line = out->text + at, *newline = memchr(line, '\n', size - at), *colon;
        if (!newline && !whole_file)
            break;
        size_t length = newline ? (size_t)(newline - line) : size - at;
        at += length + (newline != NULL);
        out->length = at;
        line[length] = 0;
        if (length && line[length - 1] == '\r')
            line[length - 1] = 0;
        ended = number && !strcmp(line, end);
        colon = ended || !number || *line == '#' ? NULL : strchr(line, ':');
        if (!colon)
            continue;
        *colon++ = 0;
        colon += *colon == '='; /* NRRD's own keys of whoever wrote the file */
        out->key[out->count] = line;
        out->value[out->count++] = colon + strspn(colon, " \t");
    }
    if (!ended && !whole_file)
        status = clvox_fail(CLVOX_ERROR_FORMAT, "%s: its header does not end, get a fresh copy", path);
end:
    if (status < 0)
        clv_text_header_free(out);
    return status;
}

const char *clv_text_header_get(const clv_text_header *h, const char *key)
{
    for (int i = 0; i < h->count; i++)
        if (!strcasecmp(h->key[i], key))
            return h->value[i];
    return NULL;
}

int clv_text_numbers(const char *text, double *out, int room)
{
    static const char between[] = " \t\r,()";
    int count = 0;
    clv_plain plain = clv_plain_begin();
    for (text += strspn(text, between); *text && count >= 0; text += strspn(text, between)) {
        char *end;
        double x = strtod(text, &end);
        if (end == text || count == room || (*end && !strchr(between, *end))) {
            count = -1;
            break;
        }
        out[count++] = x;
        text = end;
    }
    clv_plain_end(plain);
    return count;
}
