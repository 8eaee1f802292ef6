/* SPDX-License-Identifier: Apache-2.0 */
#include "batch/places.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/place.h"
#include "base/status.h"

typedef struct clv_place_output {
    char *path, *place;
    const char *called;
} output;

int clv_places_prefix(const char *folder, const char *where, const char *typed, char **out)
{
    char prefix[PATH_MAX];
    snprintf(prefix, sizeof prefix, *typed == '/' ? "%.0s%s" : "%s/%s", folder, typed);
    size_t length = strlen(prefix);
    if (prefix[length - 1] == '/' || length > PATH_MAX - 64)
        return clvox_fail(CLVOX_ERROR_FORMAT, "%s: %s cannot begin the names of files", where, typed);
    while (prefix[length - 1] == '_' && prefix[length - 2] != '/')
        prefix[--length] = 0;
    *out = strdup(prefix);
    return *out ? CLVOX_OK : clv_out_of_memory();
}

int clv_places_input(clv_places *p, const char *path)
{
    struct stat info, *longer;
    if (!path || stat(path, &info))
        return CLVOX_OK;
    longer = reallocarray(p->input, (size_t)p->inputs + 1, sizeof *longer);
    if (!longer)
        return clv_out_of_memory();
    p->input = longer;
    p->input[p->inputs++] = info;
    return CLVOX_OK;
}

int clv_places_output(clv_places *p, const char *path, const char *called)
{
    output *longer = reallocarray(p->output, (size_t)p->outputs + 1, sizeof *longer), *one;
    if (!longer)
        return clv_out_of_memory();
    p->output = longer;
    one = &p->output[p->outputs++];
    *one = (output){.path = strdup(path), .place = clv_place(path), .called = called};
    return one->path && one->place ? CLVOX_OK : clv_out_of_memory();
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const output *)a)->place, ((const output *)b)->place);
}

static int by_place(const void *a, const void *b)
{
    const struct stat *x = a, *y = b;
    return x->st_dev != y->st_dev ? (x->st_dev > y->st_dev) - (x->st_dev < y->st_dev)
                                  : (x->st_ino > y->st_ino) - (x->st_ino < y->st_ino);
}

int clv_places_check(clv_places *p, const char *list, const char *noun)
{
    struct stat info;
    if (p->inputs)
        qsort(p->input, (size_t)p->inputs, sizeof *p->input, by_place);
    for (int i = 0; i < p->outputs; i++)
        if (!stat(p->output[i].path, &info) && p->inputs &&
            bsearch(&info, p->input, (size_t)p->inputs, sizeof *p->input, by_place))
            return clvox_fail(CLVOX_ERROR_FILE, "%s: is an input of the list and would be overwritten",
                              p->output[i].path);
    if (p->outputs)
        qsort(p->output, (size_t)p->outputs, sizeof *p->output, by_name);
    for (int i = 1; i < p->outputs; i++) {
        const char *one = p->output[i].called, *other = p->output[i - 1].called;
        const bool spelt = strcmp(one, other) != 0;
        if (!strcmp(p->output[i - 1].place, p->output[i].place))
            return clvox_fail(CLVOX_ERROR_DATA, "%s: two %s have the output %s%s%s%s",
                              list ? list : "the list", noun, one, spelt ? " (also called " : "",
                              spelt ? other : "", spelt ? ")" : "");
    }
    return CLVOX_OK;
}

void clv_places_free(clv_places *p)
{
    for (int i = 0; i < p->outputs; i++) {
        free(p->output[i].path);
        free(p->output[i].place);
    }
    free(p->input);
    free(p->output);
    *p = (clv_places){.input = NULL};
}
