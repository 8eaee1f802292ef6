/* SPDX-License-Identifier: Apache-2.0 */
/* The subjects of a template by the names of their files: of a table, or of a folder (subjects_bids.c). */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/status.h"
#include "batch/subjects.h"
#include "batch/table.h"
#include "clvox/files.h"
#include "io/plain.h"

static void free_subject(clvox_listed *s, int columns)
{
    clv_table_names_destroy(s->field, columns);
    free(s->image);
    free(s->mask);
    free(s->labels);
    free(s->name);
    for (int c = 1; c < CLVOX_ATLAS_CHANNELS; c++)
        free(s->further[c - 1]);
}

void clvox_list_destroy(clvox_list **list)
{
    clvox_list *l = list ? *list : NULL;
    if (!l)
        return;
    *list = NULL;
    for (int i = 0; i < l->count; i++)
        free_subject(&l->subject[i], l->columns);
    free(l->subject);
    clv_table_names_destroy(l->column, l->columns);
    free(l);
}

/* The file's name without its folder and ending, with _2 and so on where others have it too. */
static int name_subject(const clvox_list *l, clvox_listed *e)
{
    const char *slash = strrchr(e->image, '/'), *base = slash ? slash + 1 : e->image;
    const char *end = clvox_volume_ending(base);
    const size_t length = end ? (size_t)(end - base) : strlen(base);
    for (int again = 1;; again++) {
        char name[NAME_MAX + 16];
        bool taken = false;
        snprintf(name, sizeof name, again > 1 ? "%.*s_%d" : "%.*s", (int)length, base, again);
        for (int i = 0; i < l->count; i++)
            taken |= l->subject[i].name && !strcmp(l->subject[i].name, name);
        if (taken)
            continue;
        e->name = strdup(name);
        return e->name ? CLVOX_OK : clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    }
}

int clv_list_add(clvox_list *l, const clvox_listed *subject)
{
    clvox_listed *grown = reallocarray(l->subject, (size_t)l->count + 1, sizeof *grown), own = *subject;
    if (grown)
        l->subject = grown;
    if (!grown || !own.image) {
        free_subject(&own, l->columns);
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    }
    l->subject[l->count] = own;
    return name_subject(l, &l->subject[l->count++]);
}

/* A table that is being read. */
typedef struct reading {
    clvox_list *list;
    const char *path, *covariate;
} reading;

enum { IMAGE, COVARIATE, MASK, LABELS, WEIGHT, IMAGE2, KNOWN = IMAGE2 + CLVOX_ATLAS_CHANNELS - 1 };

int clv_list_fields(const clvox_list *l, const char *const *text, char ***out)
{
    bool whole = (*out = calloc((size_t)l->columns + 1, sizeof **out)) != NULL;
    for (int i = 0; whole && i < l->columns; i++)
        whole = ((*out)[i] = strdup(text[i] && *text[i] ? text[i] : "n/a"));
    if (whole)
        return CLVOX_OK;
    clv_table_names_destroy(*out, l->columns);
    *out = NULL;
    return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
}

static int read_row(void *user, int line, const char *const *text)
{
    const reading *r = user;
    clvox_list *l = r->list;
    char *end = NULL;
    const char *value = r->covariate ? text[COVARIATE] : "n/a";
    clvox_listed e = {.image = clvox_table_path(r->path, text[IMAGE]),
                      .mask = clvox_table_path(r->path, text[MASK]),
                      .labels = clvox_table_path(r->path, text[LABELS]),
                      .weight = 1,
                      .covariate = NAN};
    for (int c = 1; c < l->channels; c++)
        e.further[c - 1] = clvox_table_path(r->path, text[IMAGE2 + c - 1]);
    if (strcmp(value, "n/a") != 0)
        e.covariate = strtod(value, &end);
    if (end && (*end || end == value || !isfinite(e.covariate))) {
        free_subject(&e, l->columns);
        return clvox_fail(CLVOX_ERROR_FORMAT, "%s, line %d: the %s %s is not a number", r->path, line,
                          r->covariate, value);
    }
    end = NULL;
    if (text[WEIGHT] && *text[WEIGHT])
        e.weight = strtod(text[WEIGHT], &end);
    if ((end && *end) || !(e.weight > 0) || !isfinite(e.weight)) {
        free_subject(&e, l->columns);
        return clvox_fail(CLVOX_ERROR_FORMAT, "%s, line %d: the weight %s is not a number above 0", r->path,
                          line, text[WEIGHT]);
    }
    const int status = clv_list_fields(l, text + KNOWN, &e.field);
    if (status < 0) {
        free_subject(&e, l->columns);
        return status;
    }
    return clv_list_add(l, &e);
}

/* ---- tables ---------------------------------------------------------------- */

int clv_list_columns(clvox_list *l, const char *path, const char *const *own)
{
    int count;
    const int status = clv_table_names(path, &l->column, &count);
    for (int i = 0; i < count; i++) {
        bool taken = l->columns == CLVOX_TABLE_COLUMNS - KNOWN - 1;
        for (int k = 0; own[k]; k++)
            taken |= !strcmp(l->column[i], own[k]);
        if (taken)
            free(l->column[i]);
        else
            l->column[l->columns++] = l->column[i];
    }
    return status;
}

/* How many channels the columns are of. */
static int find_channels(clvox_list *l, const char *path, const char *const *further)
{
    char **column;
    int count;
    const int status = clv_table_names(path, &column, &count);
    bool there[CLVOX_ATLAS_CHANNELS] = {false};
    for (int i = 0; i < count; i++)
        for (int c = 1; c < CLVOX_ATLAS_CHANNELS; c++)
            there[c - 1] |= !strcmp(column[i], further[c - 1]);
    clv_table_names_destroy(column, count);
    for (l->channels = 1; l->channels < CLVOX_ATLAS_CHANNELS && there[l->channels - 1]; l->channels++)
        ;
    for (int c = l->channels; c < CLVOX_ATLAS_CHANNELS; c++)
        if (there[c])
            return clvox_fail(CLVOX_ERROR_FORMAT, "%s: there is a column `%s` and none `%s`", path,
                              further[c], further[l->channels - 1]);
    return status;
}

static int read_table(clvox_list *l, const char *path, const char *covariate)
{
    /* Those of the list itself, and those that subjects.tsv has of its own. */
    static const char *const own[] = {"image",  "mask",    "labels",     "weight", "image2", "image3",
                                      "image4", "subject", "log_affine", "",       NULL};
    /* Without a regression the second column is the first once more. */
    const char *names[CLVOX_TABLE_COLUMNS] = {
        "image", covariate ? covariate : "image", "mask", "labels", "weight", "image2", "image3", "image4"};
    reading r = {l, path, covariate};
    int status = CLVOX_OK;
    CLV_TRY(find_channels(l, path, names + IMAGE2));
    CLV_TRY(clv_list_columns(l, path, own));
    for (int i = 0; i < l->columns; i++)
        names[KNOWN + i] = l->column[i];
    CLV_TRY(clvox_table_read(&(clvox_table){path, names, 2, read_row, &r}));
    if (!l->count)
        status = clvox_fail(CLVOX_ERROR_FORMAT, "%s: there is no subject in it", path);
end:
    return status;
}

/* ------------------------------------------------------------------------------ */

int clvox_list_read(const char *path, const char *suffix, const char *covariate, clvox_list **out)
{
    CLV_GIVEN(path, out);
    struct stat info;
    clvox_list *l = *out = calloc(1, sizeof *l);
    if (!l)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    const bool folder = !stat(path, &info) && S_ISDIR(info.st_mode);
    clv_plain plain = clv_plain_begin();
    const int status = folder ? clv_list_bids(l, path, suffix, covariate) : read_table(l, path, covariate);
    clv_plain_end(plain);
    if (status < 0)
        clvox_list_destroy(out);
    return status;
}

int clvox_list_images(const char *const *images, int count, clvox_list **out)
{
    CLV_GIVEN(images, out);
    int status = CLVOX_OK;
    clvox_list *l = *out = calloc(1, sizeof *l);
    if (!l)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    l->channels = 1;
    for (int i = 0; i < count; i++)
        CLV_TRY(clv_list_add(l, &(clvox_listed){.image = strdup(images[i]), .weight = 1, .covariate = NAN}));
end:
    if (status < 0)
        clvox_list_destroy(out);
    return status;
}
