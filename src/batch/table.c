/* SPDX-License-Identifier: Apache-2.0 */
#include "batch/table.h"

#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "clvox/files.h"

enum { MOST_FIELDS = 256 };

/* Characters that would end a field, and how tables write them. */
static const char bare[] = "\t\n\r\\", letter[] = "tnr\\";

static char *unescape(char *field)
{
    char *to = field;
    for (const char *from = field; *from; from++) {
        const char *known = *from == '\\' && from[1] ? strchr(letter, from[1]) : NULL;
        from += known != NULL;
        *to++ = known ? bare[known - letter] : *from;
    }
    *to = 0;
    return field;
}

/* A field of a line with commas, in quotes where it has some itself; *line is then behind it, or NULL. */
static char *next_quoted(char **line)
{
    char *from = *line, *to = *line, *field = to;
    bool quoted = false;
    for (; *from && (quoted || *from != ','); from++) {
        const bool mark = *from == '"', twice = mark && quoted && from[1] == '"';
        if (!mark || twice)
            *to++ = *from;
        from += twice;
        quoted = quoted != (mark && !twice);
    }
    *line = *from ? from + 1 : NULL;
    *to = 0;
    return field;
}

static int split(char *line, bool commas, char **field)
{
    int count = 0;
    while (line && count < MOST_FIELDS)
        field[count++] = commas ? next_quoted(&line) : unescape(strsep(&line, "\t"));
    return count;
}

/* Whether commas separate the columns: as the first line says. */
static bool has_commas(const char *header)
{
    return !header[strcspn(header, "\t")] && strchr(header, ',');
}

static int read_header(const clvox_table *t, char *line, bool commas, int *column)
{
    char *field[MOST_FIELDS];
    int count = split(line, commas, field);
    for (int k = 0; t->names[k]; k++) {
        column[k] = -1;
        for (int i = 0; i < count; i++)
            if (!strcmp(field[i], t->names[k]))
                column[k] = i;
        if (column[k] < 0 && k < t->needed)
            return clvox_fail(
                CLVOX_ERROR_FORMAT,
                "%s: its first line names no column `%s`; columns are separated by tabs or commas", t->path,
                t->names[k]);
    }
    return CLVOX_OK;
}

static int read_row(const clvox_table *t, char *line, bool commas, int number, const int *column)
{
    char *field[MOST_FIELDS];
    const char *text[CLVOX_TABLE_COLUMNS];
    int count = split(line, commas, field);
    for (int k = 0; t->names[k]; k++)
        text[k] = column[k] >= 0 && column[k] < count ? field[column[k]] : NULL;
    for (int k = 0; k < t->needed; k++)
        if (!text[k] || !*text[k])
            return clvox_fail(CLVOX_ERROR_FORMAT, "%s, line %d: there is no %s", t->path, number,
                              t->names[k]);
    return t->row(t->user, number, text);
}

/* The text is the caller's to free; *rest is where its first line begins. */
static int read_text(const char *path, char **text, char **rest)
{
    size_t size;
    const int status = clvox_file_read(path, (size_t)64 << 20, text, &size);
    if (status >= 0)
        *rest = !strncmp(*text, "\xef\xbb\xbf", 3) ? *text + 3 : *text;
    return status;
}

static char *next_line(char **rest)
{
    char *line = strsep(rest, "\n");
    if (line)
        line[strcspn(line, "\r")] = 0;
    return line;
}

void clv_table_names_destroy(char **names, int count)
{
    for (int i = 0; names && i < count; i++)
        free(names[i]);
    free(names);
}

int clv_table_names(const char *path, char ***names, int *count)
{
    int status = CLVOX_OK;
    char *text = NULL, *rest, *field[MOST_FIELDS];
    *names = NULL;
    *count = 0;
    CLV_TRY(read_text(path, &text, &rest));
    char *header = next_line(&rest);
    const int found = split(header, has_commas(header), field);
    *names = calloc((size_t)found, sizeof **names);
    for (int i = 0; *names && i < found && ((*names)[i] = strdup(field[i])); i++)
        ++*count;
    if (*count < found) {
        clv_table_names_destroy(*names, *count);
        *names = NULL;
        *count = 0;
        status = clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    }
end:
    free(text);
    return status;
}

int clvox_table_read(const clvox_table *t)
{
    CLV_GIVEN(t);
    int status = CLVOX_OK, column[CLVOX_TABLE_COLUMNS], number = 0;
    char *text = NULL, *rest;
    bool commas = false;
    CLV_TRY(read_text(t->path, &text, &rest));
    for (char *line; (line = next_line(&rest));) {
        if (++number == 1)
            CLV_TRY(read_header(t, line, commas = has_commas(line), column));
        else if (*line)
            CLV_TRY(read_row(t, line, commas, number, column));
    }
end:
    free(text);
    return status;
}

char *clvox_table_path(const char *table, const char *field)
{
    char path[PATH_MAX];
    const char *slash = strrchr(table, '/');
    if (!field || !*field || !strcmp(field, "n/a"))
        return NULL;
    if (*field == '/' || !slash)
        return strdup(field);
    snprintf(path, sizeof path, "%.*s/%s", (int)(slash - table), table, field);
    return strdup(path);
}

int clv_table_files(const char *table, const char *field, char **out, int room, int *count)
{
    int status = CLVOX_OK;
    *count = 0;
    if (!field || !strcmp(field, "n/a"))
        return CLVOX_OK;
    char *text = strdup(field), *rest = text;
    if (!text)
        return clv_out_of_memory();
    for (char *word; status >= 0 && *count < room && (word = strsep(&rest, ";"));) {
        const bool bracket = *word == '[';
        char *path = *word ? clvox_table_path(table, word + bracket) : NULL;
        if (path && asprintf(&out[*count], "%s%s", bracket ? "[" : "", path) < 0)
            out[*count] = NULL;
        if (*word && (!path || !out[*count]))
            status = clv_out_of_memory();
        else
            *count += *word != 0;
        free(path);
    }
    free(text);
    return status;
}

/* ---- writing --------------------------------------------------------------- */

int clvox_table_write(const char *path, void (*print)(FILE *to, const void *what), const void *what)
{
    char *text = NULL;
    size_t size;
    FILE *to = open_memstream(&text, &size);
    if (!to)
        return clvox_fail(CLVOX_ERROR_MEMORY, "%s: out of host memory", path);
    print(to, what);
    int status = fclose(to) ? clvox_fail(CLVOX_ERROR_MEMORY, "%s: out of host memory", path)
                            : clvox_file_write(path, text, size);
    free(text);
    return status;
}

static void put_field(FILE *to, const char *text)
{
    for (; text && *text; text++) {
        const char *known = strchr(bare, *text);
        if (known)
            fputc('\\', to);
        fputc(known ? letter[known - bare] : *text, to);
    }
}

void clvox_table_fields(FILE *to, const char *const *text, int count)
{
    for (int i = 0; i < count; i++) {
        if (i)
            fputc('\t', to);
        put_field(to, text[i]);
    }
}

void clvox_table_number(FILE *to, const char *format, double value)
{
    fputc('\t', to);
    if (isfinite(value))
        fprintf(to, format, value);
    else
        fputs("n/a", to);
}
