/* SPDX-License-Identifier: Apache-2.0 */
/* The subjects of a template: from the command line or a list, and their files. */
#include <ctype.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cmd_atlas/atlas.h"
#include "clvox/command/table.h"
#include "clvox/files.h"
#include "clvox/threads.h"

static void entry_free(cli_atlas_entry *e)
{
    clvox_volume_destroy(&e->volume);
    clvox_volume_destroy(&e->mask_volume);
    clvox_volume_destroy(&e->label_volume);
    clvox_atlas_scaled_destroy(&e->scaled);
    for (int c = 1; c < CLVOX_ATLAS_CHANNELS; c++) {
        clvox_volume_destroy(&e->further_volume[c - 1]);
    }
}

int cli_atlas_take(cli_atlas_request *r, int status)
{
    if (status < 0)
        return status;
    r->entry = calloc((size_t)r->files->count, sizeof *r->entry);
    if (!r->entry)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    r->count = r->files->count;
    r->channels = r->files->channels;
    for (int i = 0; i < r->count; i++) {
        r->entry[i].file = &r->files->subject[i];
        r->entry[i].weight = r->entry[i].file->weight;
    }
    return CLVOX_OK;
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

/* Files of a subject; of those that it has not the path is NULL. */
enum { LABEL_MAP = 2, OF_SUBJECT = 3 + CLVOX_ATLAS_CHANNELS - 1 };
static void list_inputs(cli_atlas_entry *e, cli_input inputs[OF_SUBJECT])
{
    inputs[0] = (cli_input){e->file->image, &e->volume, 0};
    inputs[1] = (cli_input){e->file->mask, &e->mask_volume, CLI_AS_MASK};
    inputs[LABEL_MAP] = (cli_input){e->file->labels, &e->label_volume, CLI_AS_LABELS};
    for (int c = 1; c < CLVOX_ATLAS_CHANNELS; c++)
        inputs[LABEL_MAP + c] = (cli_input){e->file->further[c - 1], &e->further_volume[c - 1], 0};
}

clvox_atlas_subject cli_atlas_subject(const cli_atlas_entry *e, int channels)
{
    clvox_atlas_subject s = {.image = e->volume,
                             .mask = e->mask_volume,
                             .labels = e->label_volume,
                             .weight = e->weight,
                             .name = e->file->image,
                             .scaled = e->scaled};
    for (int c = 1; c < channels; c++)
        s.further[c - 1] = e->further_volume[c - 1];
    return s;
}

/* Checks a subject whose files have been read. */
static int check_loaded(const cli_atlas_request *r, const cli_atlas_entry *e)
{
    if (r->regress && !isfinite(e->file->covariate))
        return clvox_fail(CLVOX_ERROR_DATA, "%s: its %s is not known", e->file->image, r->regress);
    if (e->volume && (e->volume->frames != 1 || e->volume->kind != CLVOX_KIND_SCALAR))
        return clvox_fail(CLVOX_ERROR_DATA, "%s: a subject is a 3-D image of one value a voxel", e->file->image);
    for (int c = 1; c < r->channels && e->volume; c++) {
        const clvox_volume *v = e->further_volume[c - 1];
        if (!v)
            return clvox_fail(
                CLVOX_ERROR_DATA,
                "%s: it has no image of channel %d; every subject has one of each (--skip-bad leaves out "
                "those that lack one)",
                e->file->image, c + 1);
        if (v->frames != 1 || v->kind != CLVOX_KIND_SCALAR)
            return clvox_fail(CLVOX_ERROR_DATA, "%s: a subject is a 3-D image of one value a voxel",
                              e->file->further[c - 1]);
    }
    if (e->label_volume && e->label_volume->frames != 1)
        return clvox_fail(CLVOX_ERROR_DATA, "%s: %s: labels have one frame, these have %d", e->file->image,
                          e->file->labels, e->label_volume->frames);
    if (e->label_volume)
        e->label_volume->kind = CLVOX_KIND_LABEL;
    return CLVOX_OK;
}

/* Moves loaded volumes to where there is room. */
static int keep_loaded(const cli_atlas_request *r, cli_atlas_entry *e)
{
    int status = CLVOX_OK;
    clvox_volume *all[OF_SUBJECT] = {e->volume, e->mask_volume, e->label_volume};
    for (int c = 1; c < r->channels; c++)
        all[LABEL_MAP + c] = e->further_volume[c - 1];
    for (int i = 0; i < OF_SUBJECT; i++)
        if (all[i])
            CLI_TRY(clvox_store_keep(r->store, all[i]));
end:
    return status;
}

/* Reads a subject's files. Where one cannot be read none is, and the log has none. labels: these alone. */
static int load_files(command *cli, cli_atlas_entry *e, bool labels)
{
    cli_input inputs[OF_SUBJECT];
    list_inputs(e, inputs);
    for (int k = 0; k < OF_SUBJECT && labels; k++)
        if (k != LABEL_MAP)
            inputs[k].path = NULL;
    return cli_load(cli, inputs, OF_SUBJECT, NULL, NULL, false);
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
    cJSON_AddItemToArray(cJSON_GetObjectItem(cli->log, "left_out"), cJSON_CreateString(e->file->image));
}

/* ---- all of them ------------------------------------------------------------ */

/* Subjects whose image this process reads: without a team all, else every so many-th. */
static bool is_own(const command *cli, int place)
{
    return !cli->team || place % cli->team->size == cli->team->rank;
}

/* Names the subject whose mask cannot be read. */
static int name_subject(const cli_atlas_entry *e, int status)
{
    const bool named = !strncmp(clvox_message(), e->file->image, strlen(e->file->image));
    return status < 0 && !named ? clvox_fail_in(status, e->file->image) : status;
}

/* Subjects that are read side by side, each with a log of its own. */
typedef struct loading {
    const command *cli;
    cli_atlas_request *r;
    const clvox_atlas_options *o;
    bool labels;
    int *subject; /* among all, and its log */
    cJSON **log;
} loading;

/* A subject from its files to its scaled images. A run that finds none makes them anew and says what is
 * wrong. */
static int load_one(void *user, size_t index, int worker)
{
    const loading *l = user;
    cli_atlas_entry *e = &l->r->entry[l->subject[index]];
    command cli = *l->cli;
    (void)worker;
    cli.log = l->log[index] = cJSON_CreateObject();
    int status = name_subject(e, load_files(&cli, e, l->labels));
    if (status >= 0)
        status = check_loaded(l->r, e);
    if (status >= 0 && !l->labels) {
        const clvox_atlas_subject subject = cli_atlas_subject(e, l->o->channels);
        clvox_atlas_scale(&subject, l->o, &e->scaled);
    }
    if (status >= 0 || l->labels || !l->o->skip_bad || status == CLVOX_ERROR_MEMORY)
        return status;
    snprintf(l->r->why[l->subject[index]].text, sizeof l->r->why->text, "%s", clvox_message());
    return CLVOX_OK;
}

/* Joins the log of a subject's files into that of all. */
static void join_logs(command *cli, const cJSON *log)
{
    cJSON *inputs = cJSON_GetObjectItem(cli->log, "inputs"), *own = cJSON_GetObjectItem(log, "inputs");
    if (own && !inputs)
        inputs = cJSON_AddArrayToObject(cli->log, "inputs");
    while (own && own->child)
        cJSON_AddItemToArray(inputs, cJSON_DetachItemViaPointer(own, own->child));
}

/* So many side by side, then where there is room for them in their order. */
static int load_group(command *cli, const loading *l, int count)
{
    int status = clvox_parallel((size_t)count, load_one, (void *)l);
    for (int i = 0; i < count && status >= 0; i++) {
        join_logs(cli, l->log[i]);
        if (!*l->r->why[l->subject[i]].text)
            status = keep_loaded(l->r, &l->r->entry[l->subject[i]]);
    }
    for (int i = 0; i < count; i++) {
        cJSON_Delete(l->log[i]);
        l->log[i] = NULL;
    }
    return status;
}

static int claim_inputs(command *cli, cli_atlas_entry *e)
{
    int status = CLVOX_OK;
    cli_input inputs[OF_SUBJECT];
    list_inputs(e, inputs);
    for (int k = 0; k < OF_SUBJECT; k++)
        if (inputs[k].path)
            CLI_TRY(cli_claim_input(cli, inputs[k].path));
end:
    return status;
}

/* Reads its own subjects; or the labels of the others, which every process counts the votes of. */
static int load_some(command *cli, cli_atlas_request *r, const clvox_atlas_options *o, bool labels)
{
    /* Volumes read at once when not all stay in memory: they do until they have gone to disk. */
    enum { AT_ONCE = 8 };
    const int most = r->store && r->count > AT_ONCE ? AT_ONCE : r->count;
    int status = CLVOX_OK;
    loading l = {.cli = cli, .r = r, .o = o, .labels = labels};
    l.subject = calloc((size_t)most, sizeof *l.subject);
    l.log = calloc((size_t)most, sizeof(cJSON *));
    if (!l.subject || !l.log)
        status = clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    for (int next = 0; next < r->count && status >= 0;) {
        int count = 0;
        for (; next < r->count && count < most; next++)
            if (is_own(cli, next) != labels && !*r->why[next].text) {
                CLI_TRY(claim_inputs(cli, &r->entry[next]));
                l.subject[count++] = next;
            }
        status = load_group(cli, &l, count);
    }
end:
    free(l.subject);
    free(l.log);
    return status;
}

/* Those with a reason go. */
static int leave_out(command *cli, cli_atlas_request *r)
{
    int kept = 0;
    for (int i = 0; i < r->count; i++) {
        cli_atlas_entry e = r->entry[i];
        r->entry[i] = (cli_atlas_entry){.weight = 0};
        if (*r->why[i].text) {
            cli_atlas_leave_out(cli, &e, r->why[i].text);
            entry_free(&e);
        } else {
            r->entry[kept++] = e;
        }
    }
    r->count = kept;
    return kept ? CLVOX_OK : clvox_fail(CLVOX_ERROR_DATA, "none of the subjects can be read");
}

/* Inputs read by the other processes enter the first one's log. */
static int gather_inputs(command *cli)
{
    int status = CLVOX_OK;
    char *text = NULL;
    for (int from = 1; cli->team && from < cli->team->size; from++) {
        int64_t size = 0;
        cJSON *logged = cJSON_GetObjectItem(cli->log, "inputs"), *read;
        if (cli->team->rank == from) {
            text = cJSON_PrintUnformatted(logged);
            size = text ? (int64_t)strlen(text) + 1 : 0;
        }
        CLI_TRY(cli->team->spread(cli->team->user, from, &size, sizeof size));
        if (!size)
            continue;
        text = text ? text : malloc((size_t)size);
        CLI_TRY(clvox_team_agree(cli->team,
                                 text ? CLVOX_OK : clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory")));
        CLI_TRY(cli->team->spread(cli->team->user, from, text, (size_t)size));
        read = cli_is_first(cli) ? cJSON_Parse(text) : NULL;
        while (read && read->child)
            cJSON_AddItemToArray(logged ? logged : cJSON_AddArrayToObject(cli->log, "inputs"),
                                 cJSON_DetachItemViaPointer(read, read->child));
        cJSON_Delete(read);
        free(text);
        text = NULL;
    }
end:
    free(text);
    return status;
}

static bool is_among(const cJSON *inputs, const char *path)
{
    const cJSON *one;
    cJSON_ArrayForEach(one, inputs)
        if (!strcmp(cJSON_GetStringValue(cJSON_GetObjectItem(one, "path")), path))
            return true;
    return false;
}

/* The log names files in the order of the subjects, then the others. */
static void sort_inputs(const command *cli, cli_atlas_request *r)
{
    cJSON *from = cJSON_GetObjectItem(cli->log, "inputs"), *to = from ? cJSON_CreateArray() : NULL, *one,
          *next;
    cli_input inputs[OF_SUBJECT];
    for (int i = 0; to && i < r->count; i++) {
        list_inputs(&r->entry[i], inputs);
        for (int k = 0; k < OF_SUBJECT; k++)
            for (one = from->child; inputs[k].path && one; one = next) {
                next = one->next;
                if (strcmp(cJSON_GetStringValue(cJSON_GetObjectItem(one, "path")), inputs[k].path))
                    continue;
                cJSON_AddItemToArray(to, cJSON_DetachItemViaPointer(from, one));
                break;
            }
    }
    /* Inputs that are no subject's enter once: several processes may have read them. */
    for (one = to ? from->child : NULL; one; one = next) {
        next = one->next;
        if (!is_among(to, cJSON_GetStringValue(cJSON_GetObjectItem(one, "path"))))
            cJSON_AddItemToArray(to, cJSON_DetachItemViaPointer(from, one));
    }
    if (to)
        cJSON_ReplaceItemInObject(cli->log, "inputs", to);
}

int cli_atlas_load(command *cli, cli_atlas_request *r, const clvox_atlas_options *o)
{
    cJSON_AddArrayToObject(cli->log, "left_out");
    r->why = calloc((size_t)r->count, sizeof *r->why);
    return r->why ? load_some(cli, r, o, false) : clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
}

int cli_atlas_settle(command *cli, cli_atlas_request *r, const clvox_atlas_options *o)
{
    int status = CLVOX_OK;
    if (cli->team) {
        CLI_TRY(cli->team->sum(cli->team->user, (int64_t *)(void *)r->why,
                               (size_t)r->count * sizeof *r->why / sizeof(int64_t)));
        CLI_TRY(clvox_team_agree(cli->team, load_some(cli, r, o, true)));
        CLI_TRY(gather_inputs(cli));
    }
    status = leave_out(cli, r);
    if (cli->team && cli_is_first(cli))
        sort_inputs(cli, r);
end:
    return status;
}

void cli_atlas_free(cli_atlas_request *r)
{
    for (int i = 0; i < r->count; i++)
        entry_free(&r->entry[i]);
    free(r->entry);
    clvox_list_destroy(&r->files);
    free(r->at_text);
    free(r->why);
    for (int c = 0; c < CLVOX_ATLAS_CHANNELS; c++)
        clvox_volume_destroy(&r->start[c]);
    clvox_store_destroy(&r->store);
}
