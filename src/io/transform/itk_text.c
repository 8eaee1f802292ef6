/* SPDX-License-Identifier: Apache-2.0 */
/* ITK's transforms as text. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/file.h"
#include "base/matrix.h"
#include "base/status.h"
#include "io/transform/itk.h"
#include "io/plain.h"

#define MAGIC "#Insight Transform File"
enum { LIMIT = 1 << 28, ROOM = 1024 };

/* Reads the numbers of a line; false at anything else. */
static bool numbers(const char *text, double **out, size_t *count)
{
    size_t room = 0;
    bool good = true;
    free(*out);
    *out = NULL;
    *count = 0;
    for (text += strspn(text, " \t\r"); *text && *text != '\n'; text += strspn(text, " \t\r")) {
        char *end;
        double x = strtod(text, &end);
        if (*count == room) {
            double *more = clv_array_moved(*out, room = room ? clv_times(2, room) : 32, sizeof *more);
            good = more != NULL;
            *out = more ? more : *out;
        }
        good = good && end != text && isfinite(x) && strchr(" \t\r\n", *end);
        if (!good)
            break;
        (*out)[(*count)++] = x;
        text = end;
    }
    return good;
}

/* The text behind a line's key; NULL when the line has another key. */
static const char *value_of(const char *line, const char *key)
{
    size_t length = strlen(key);
    return strncmp(line, key, length) ? NULL : line + length;
}

static int damaged(const char *path, const clv_itk *itk)
{
    return clvox_fail(CLVOX_ERROR_FORMAT, "%s: its parameters (%.60s) are damaged", path, itk->name);
}

/* Transforms stand behind one another, each begun by its class. */
static int parse(const char *path, const char *text, clv_parts *parts)
{
    int status = CLVOX_OK, transforms = 0, first = parts->count;
    bool composite = false;
    clv_itk itk = {.name = ""};
    for (const char *line = text;; line += strcspn(line, "\n"), line += *line == '\n') {
        const char *value = value_of(line, "Transform:");
        if ((value || !*line) && transforms && !clv_itk_is_composite(&itk))
            CLV_TRY(clv_itk_add(path, &itk, parts));
        if (!*line)
            break;
        if (value) {
            value += strspn(value, " \t");
            snprintf(itk.name, sizeof itk.name, "%.*s", (int)strcspn(value, " \t\r\n"), value);
            itk.parameters = itk.fixeds = 0;
            composite = composite || (!transforms && clv_itk_is_composite(&itk));
            transforms++;
            if (transforms > 1 && !composite) {
                status =
                    clvox_fail(CLVOX_ERROR_FORMAT,
                               "%s: holds several transforms and does not say that they are one composite: "
                               "of the frames "
                               "of a series name one by itself (`clvox series --matrices` writes such "
                               "files), or take it apart with CompositeTransformUtil --disassemble",
                               path);
                goto end;
            }
        } else if ((value = value_of(line, "Parameters:"))) {
            if (!numbers(value, &itk.parameter, &itk.parameters)) {
                status = damaged(path, &itk);
                goto end;
            }
        } else if ((value = value_of(line, "FixedParameters:"))) {
            if (!numbers(value, &itk.fixed, &itk.fixeds)) {
                status = damaged(path, &itk);
                goto end;
            }
        }
    }
    if (parts->count == first)
        status = clvox_fail(CLVOX_ERROR_FORMAT, "%s: holds no transform", path);
    if (composite)
        clv_itk_turn_round(parts, first);
end:
    free(itk.parameter);
    free(itk.fixed);
    return status;
}

static bool is(const char *path, const uint8_t *head, size_t size)
{
    (void)path;
    return size >= strlen(MAGIC) && !memcmp(head, MAGIC, strlen(MAGIC));
}

static int read(const char *path, const clvox_grid *fixed, const clvox_grid *moving, clv_parts *parts)
{
    int status;
    char *text = NULL;
    size_t size;
    (void)fixed;
    (void)moving;
    CLV_TRY(clvox_file_read(path, LIMIT, &text, &size));
    clv_plain plain = clv_plain_begin();
    status = parse(path, text, parts);
    clv_plain_end(plain);
end:
    free(text);
    return status;
}

/* One transform of a file; returns what it takes. */
static int print(char *text, size_t room, int number, const double matrix[4][4])
{
    double p[12];
    clv_itk_affine(matrix, p);
    int at = snprintf(text, room, "#Transform %d\nTransform: AffineTransform_double_3_3\nParameters:", number);
    for (int i = 0; i < 12; i++)
        at += snprintf(text + at, room - (size_t)at, " %.17g", p[i]);
    at += snprintf(text + at, room - (size_t)at, "\nFixedParameters: 0 0 0\n");
    return at;
}

int clvox_affines_write(const double (*matrix)[4][4], int count, const char *path)
{
    CLV_GIVEN(matrix, path);
    int status = CLVOX_OK;
    size_t at = strlen(MAGIC " V1.0\n"), room = at + (size_t)count * ROOM + 1;
    char *text = malloc(room);
    if (!text)
        return clvox_fail(CLVOX_ERROR_MEMORY, "%s: out of host memory", path);
    strcpy(text, MAGIC " V1.0\n");
    clv_plain plain = clv_plain_begin();
    for (int i = 0; i < count && status >= 0; i++) {
        if (!clv_matrix_regular(matrix[i]))
            status = clvox_fail(CLVOX_ERROR_ARGUMENT, "%s: a singular matrix is not written", path);
        at += (size_t)print(text + at, room - at, i, matrix[i]);
    }
    clv_plain_end(plain);
    if (status >= 0)
        status = clvox_file_write(path, text, at);
    free(text);
    return status;
}

static int write(const char *path, const clvox_transform *const *parts, int count)
{
    double m[4][4];
    int status = clv_parts_join(path, parts, count, m);
    return status < 0 ? status : clvox_affines_write((const double(*)[4][4])&m, 1, path);
}

const clv_transform_format clv_itk_text_transform = {
    .ends = {".txt", ".tfm"},
    .is = is,
    .read = read,
    .write = write,
};
