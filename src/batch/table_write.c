/* SPDX-License-Identifier: Apache-2.0 */
#include "clvox/command/table.h"

#include <math.h>
#include <stdlib.h>

#include "clvox/files.h"

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
        const char letter = clvox_table_letter(*text);
        if (letter)
            fputc('\\', to);
        fputc(letter ? letter : *text, to);
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
