/* SPDX-License-Identifier: Apache-2.0 */
#include "clvox/command/label_names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "clvox/command/table.h"

/* Where names go: to rows, to a page, or nowhere. */
typedef struct taker {
    const char *table;
    const clvox_label_measure *row;
    char **name;
    int count;
    clvox_report *page;
} taker;

static int take(void *user, int line, const char *const *field)
{
    const taker *t = user;
    const char *label = field[0] ? field[0] : field[1], *name = field[2];
    char *end;
    if (!label || !*label || !name)
        return clvox_fail(
            CLVOX_ERROR_FORMAT,
            "%s, line %d: there is no label and name; its columns are label (or index) and name", t->table,
            line);
    errno = 0;
    const long long value = strtoll(label, &end, 10);
    if (*end || errno)
        return clvox_fail(CLVOX_ERROR_FORMAT, "%s, line %d: %s is no label: labels are whole numbers",
                          t->table, line, label);
    if (t->page)
        clvox_report_label(t->page, value, name);
    for (int i = 0; i < t->count; i++)
        if (t->row[i].label == value && !t->name[i] && !(t->name[i] = strdup(name)))
            return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    return CLVOX_OK;
}

static int read_table(taker t)
{
    static const char *const columns[] = {"label", "index", "name", NULL};
    return clvox_table_read(&(clvox_table){.path = t.table, .names = columns, .row = take, .user = &t});
}

int clvox_label_names_check(const char *table)
{
    CLV_GIVEN(table);
    return read_table((taker){.table = table});
}

int clvox_label_names_read(const char *table, const clvox_label_measure *row, int count, char ***out)
{
    CLV_GIVEN(table, row, out);
    *out = calloc((size_t)count + 1, sizeof **out);
    if (!*out)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    return read_table((taker){.table = table, .row = row, .name = *out, .count = count});
}

void clvox_label_names_free(char ***names, int count)
{
    for (int i = 0; names && *names && i < count; i++)
        free((*names)[i]);
    if (names) {
        free(*names);
        *names = NULL;
    }
}

int clvox_label_names_show(const char *table, clvox_report *page)
{
    CLV_GIVEN(table, page);
    return read_table((taker){.table = table, .page = page});
}
