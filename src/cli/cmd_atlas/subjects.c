/* SPDX-License-Identifier: Apache-2.0 */
/* The subjects of a template: from the command line or a list, and their files. */
#include <ctype.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cmd_atlas/atlas.h"
#include "cli/table.h"
#include "clvox/files.h"
#include "clvox/threads.h"

static void entry_free(cli_atlas_entry *e, int columns)
{
    cli_table_free_names(e->known, columns);
    free(e->image);
    free(e->mask);
    free(e->labels);
    free(e->name);
    clvox_volume_destroy(&e->volume);
    clvox_volume_destroy(&e->mask_volume);
    clvox_volume_destroy(&e->label_volume);
}

/* The file's name without its folder and ending, with _2 and so on where others have it too. */
static int name_entry(cli_atlas_request *r, cli_atlas_entry *e)
{
    static const char *const endings[] = {".nii.gz", ".nii", ".mgz", ".mgh", ".nrrd", ".nhdr", ".mif.gz", ".mif", ".mih",
                                          ".hdr", ".img", NULL};
    const char *slash = strrchr(e->image, '/'), *base = slash ? slash + 1 : e->image;
    size_t length = strlen(base);
    for (int k = 0; endings[k]; k++) {
        size_t end = strlen(endings[k]);
        if (length > end && !strcmp(base + length - end, endings[k])) {
            length -= end;
            break;
        }
    }
    for (int again = 1;; again++) {
        char name[NAME_MAX + 16];
        bool taken = false;
        snprintf(name, sizeof name, again > 1 ? "%.*s_%d" : "%.*s", (int)length, base, again);
        for (int i = 0; i < r->count; i++)
            taken |= r->entry[i].name && !strcmp(r->entry[i].name, name);
        if (taken)
            continue;
        e->name = strdup(name);
        return e->name ? CLVOX_OK : clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    }
}

int cli_atlas_add(cli_atlas_request *r, const cli_atlas_entry *e)
{
    cli_atlas_entry *grown = realloc(r->entry, (size_t)(r->count + 1) * sizeof *grown);
    if (!grown || !e->image)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    r->entry = grown;
    r->entry[r->count] = *e;
    return name_entry(r, &r->entry[r->count++]);
}

enum { IMAGE, COVARIATE, MASK, LABELS, WEIGHT, KNOWN };

int cli_atlas_keep_fields(const cli_atlas_request *r, const char *const *text, char ***out)
{
    bool whole = (*out = calloc((size_t)r->columns + 1, sizeof **out)) != NULL;
    for (int i = 0; whole && i < r->columns; i++)
        whole = ((*out)[i] = strdup(text[i] && *text[i] ? text[i] : "n/a"));
    if (whole)
        return CLVOX_OK;
    cli_table_free_names(*out, r->columns);
    *out = NULL;
    return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
}

static int read_row(void *user, int line, const char *const *text)
{
    cli_atlas_request *r = user;
    char *end = NULL;
    const char *value = r->regress ? text[COVARIATE] : "n/a";
    cli_atlas_entry e = {.image = cli_table_path(r->list, text[IMAGE]), .mask = cli_table_path(r->list, text[MASK]),
                         .labels = cli_table_path(r->list, text[LABELS]), .weight = 1, .covariate = NAN};
    if (strcmp(value, "n/a") != 0)
        e.covariate = strtod(value, &end);
    if (end && (*end || end == value || !isfinite(e.covariate))) {
        entry_free(&e, r->columns);
        return clvox_fail(CLVOX_ERROR_FORMAT, "%s, line %d: the %s %s is not a number", r->list, line,
                          r->regress, value);
    }
    end = NULL;
    if (text[WEIGHT] && *text[WEIGHT])
        e.weight = strtod(text[WEIGHT], &end);
    if ((end && *end) || !(e.weight > 0) || !isfinite(e.weight)) {
        entry_free(&e, r->columns);
        return clvox_fail(CLVOX_ERROR_FORMAT, "%s, line %d: the weight %s is not a number above 0", r->list,
                          line, text[WEIGHT]);
    }
    const int status = cli_atlas_keep_fields(r, text + KNOWN, &e.known);
    if (status < 0) {
        entry_free(&e, r->columns);
        return status;
    }
    return cli_atlas_add(r, &e);
}

int cli_atlas_read_weights(cli_atlas_request *r, const char *text)
{
    for (int i = 0; i < r->count; i++) {
        char *end;
        r->entry[i].weight = strtod(text, &end);
        if (end == text || !(r->entry[i].weight > 0) || !isfinite(r->entry[i].weight) ||
            *end != (i + 1 < r->count ? ',' : 0))
            return cli_misuse("--weights: %d numbers above 0 with commas between them are needed, one for each image",
                              r->count);
        text = end + 1;
    }
    return CLVOX_OK;
}

int cli_atlas_find_columns(cli_atlas_request *r, const char *path, const char *const *own)
{
    int count;
    const int status = cli_table_names(path, &r->column, &count);
    for (int i = 0; i < count; i++) {
        bool taken = r->columns == CLI_TABLE_COLUMNS - KNOWN - 1;
        for (int k = 0; own[k]; k++)
            taken |= !strcmp(r->column[i], own[k]);
        if (taken)
            free(r->column[i]);
        else
            r->column[r->columns++] = r->column[i];
    }
    return status;
}

int cli_atlas_read_list(cli_atlas_request *r)
{
    /* Those of the list itself, and those that subjects.tsv has of its own. */
    static const char *const own[] = {"image", "mask", "labels", "weight", "subject", "log_affine", "", NULL};
    /* Without a regression the second column is the first once more. */
    const char *names[CLI_TABLE_COLUMNS] = {"image", r->regress ? r->regress : "image", "mask", "labels", "weight"};
    int status = cli_atlas_find_columns(r, r->list, own);
    for (int i = 0; i < r->columns; i++)
        names[KNOWN + i] = r->column[i];
    if (status >= 0)
        status = cli_table_read(&(cli_table){r->list, names, 2, read_row, r});
    if (status >= 0 && !r->count)
        status = clvox_fail(CLVOX_ERROR_FORMAT, "%s: there is no subject in it", r->list);
    return status;
}

/* Files of a subject; of those that it has not the path is NULL. */
enum { OF_SUBJECT = 3 };
static void list_inputs(cli_atlas_entry *e, cli_input inputs[OF_SUBJECT])
{
    inputs[0] = (cli_input){e->image, &e->volume, 0};
    inputs[1] = (cli_input){e->mask, &e->mask_volume, CLI_AS_MASK};
    inputs[2] = (cli_input){e->labels, &e->label_volume, CLI_AS_LABELS};
}

/* Of a subject whose files are read. */
static int check_loaded(const cli_atlas_request *r, cli_atlas_entry *e)
{
    int status = CLVOX_OK;
    clvox_volume *const all[OF_SUBJECT] = {e->volume, e->mask_volume, e->label_volume};
    if (r->regress && !isfinite(e->covariate))
        return clvox_fail(CLVOX_ERROR_DATA, "%s: its %s is not known", e->image, r->regress);
    if (e->volume->frames != 1 || e->volume->kind != CLVOX_KIND_SCALAR)
        return clvox_fail(CLVOX_ERROR_DATA, "%s: a subject is a 3-D image of one value a voxel", e->image);
    if (e->label_volume)
        e->label_volume->kind = CLVOX_KIND_LABEL;
    for (int i = 0; i < OF_SUBJECT; i++)
        if (all[i])
            CLI_TRY(clvox_store_keep(r->store, all[i]));
end:
    return status;
}

/* Reads subjects that follow one another side by side. Where one cannot be read none is, and the log has
 * none. */
static int load_group(command *cli, const cli_atlas_request *r, int from, int count)
{
    int status = CLVOX_OK;
    cli_input inputs[CLI_MAX_TEXTS];
    cJSON *logged = cJSON_GetObjectItem(cli->log, "inputs");
    const int before = cJSON_GetArraySize(logged);
    for (int i = 0; i < count; i++)
        list_inputs(&r->entry[from + i], inputs + OF_SUBJECT * i);
    for (int i = 0; i < OF_SUBJECT * count; i++)
        if (inputs[i].path)
            CLI_TRY(cli_claim_input(cli, inputs[i].path));
    status = cli_load(cli, inputs, OF_SUBJECT * count, NULL, NULL, false);
    logged = cJSON_GetObjectItem(cli->log, "inputs");
    while (status < 0 && cJSON_GetArraySize(logged) > before)
        cJSON_DeleteItemFromArray(logged, before);
end:
    return status;
}

/* ---- what memory has no room for ------------------------------------------ */

/* "8G", "500 MiB", bytes without a unit. */
int cli_atlas_read_bytes(const char *option, const char *text, size_t *out)
{
    static const char units[] = "KMGT";
    char *end;
    double bytes = strtod(text, &end);
    const bool number = end != text;
    end += strspn(end, " ");
    const char *unit = *end ? strchr(units, toupper((unsigned char)*end)) : NULL;
    if (unit) {
        bytes = ldexp(bytes, 10 * (int)(unit - units + 1));
        end += 1 + (end[1] == 'i');
    }
    end += toupper((unsigned char)*end) == 'B';
    if (!number || *end || !(bytes >= 0) || bytes > 0x1p60)
        return cli_misuse("%s %s: a number of bytes is needed, as 8G or 500M", option, text);
    *out = (size_t)bytes;
    return CLVOX_OK;
}

int cli_atlas_open_store(cli_atlas_request *r)
{
    int status = CLVOX_OK;
    char path[PATH_MAX];
    const char *temporary = getenv("TMPDIR");
    if (!r->memory)
        return CLVOX_OK;
    if (!r->dry_run) /* which makes no folder */
        CLI_TRY(clvox_folders_make(cli_atlas_path(r, CLI_ATLAS_LOG, -1, path)));
    status = clvox_store_create(!r->dry_run               ? r->folder
                                : temporary && *temporary ? temporary
                                                          : "/tmp",
                                r->limit, &r->store);
end:
    return status;
}

void cli_atlas_report_store(const command *cli, const cli_atlas_request *r)
{
    char text[2][32];
    if (!r->store)
        return;
    const clvox_store_bytes bytes = clvox_store_measure(r->store);
    cJSON *to = cJSON_AddObjectToObject(cli->log, "memory");
    cJSON_AddNumberToObject(to, "limit", (double)r->limit);
    cJSON_AddNumberToObject(to, "most", (double)bytes.most_memory);
    cJSON_AddNumberToObject(to, "most_on_disk", (double)bytes.most_disk);
    cli_remark(cli, 0, "memory   %s of the subjects' volumes, and %s of them on disk\n",
               cli_bytes((double)bytes.most_memory, text[0]), cli_bytes((double)bytes.most_disk, text[1]));
}

void cli_atlas_leave_out(command *cli, const cli_atlas_entry *e, const char *why)
{
    cli_note(cli, "left out: %s", why);
    cJSON_AddItemToArray(cJSON_GetObjectItem(cli->log, "left_out"), cJSON_CreateString(e->image));
}

int cli_atlas_load(command *cli, cli_atlas_request *r, bool skip_bad)
{
    /* At once: with few files of a subject threads have little to do, and what is read is in memory. */
    enum { AT_ONCE = 8 };
    int status = CLVOX_OK, kept = 0, count = r->count, group;
    const int most = clvox_threads() < AT_ONCE ? clvox_threads() : AT_ONCE;
    cJSON_AddArrayToObject(cli->log, "left_out");
    for (int from = 0; from < count; from += group) {
        group = count - from < most ? count - from : most;
        const bool together = group > 1 && load_group(cli, r, from, group) >= 0;
        for (int i = from; i < from + group; i++) {
            cli_atlas_entry *e = &r->entry[i];
            status = together ? CLVOX_OK : load_group(cli, r, i, 1);
            if (status >= 0)
                status = check_loaded(r, e);
            if (status < 0 && skip_bad && status != CLVOX_ERROR_MEMORY) {
                cli_atlas_leave_out(cli, e, clvox_message());
                entry_free(e, r->columns);
                *e = (cli_atlas_entry){.weight = 0};
                status = CLVOX_OK;
                continue;
            }
            CLI_TRY(status);
            r->entry[kept] = *e;
            if (kept++ < i)
                *e = (cli_atlas_entry){.weight = 0};
        }
    }
    r->count = kept;
    if (!kept)
        status = clvox_fail(CLVOX_ERROR_DATA, "none of the subjects can be read");
end:
    return status;
}

void cli_atlas_free(cli_atlas_request *r)
{
    for (int i = 0; i < r->count; i++)
        entry_free(&r->entry[i], r->columns);
    free(r->entry);
    cli_table_free_names(r->column, r->columns);
    free(r->at_text);
    clvox_volume_destroy(&r->start_volume);
    clvox_store_destroy(&r->store);
}
