/* SPDX-License-Identifier: Apache-2.0 */
/* Many heads labelled in one process by the same atlases, as rows of a list. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/options.h"
#include "base/status.h"
#include "base/text.h"
#include "batch/logs.h"
#include "batch/places.h"
#include "batch/rows.h"
#include "batch/share.h"
#include "clvox/command/derivative.h"
#include "clvox/command/label_names.h"
#include "clvox/command/record.h"
#include "clvox/command/segment.h"
#include "clvox/command/table.h"
#include "clvox/files.h"

void clvox_segment_list_defaults(clvox_segment_list_options *options)
{
    CLV_GIVEN_OR(, options);
    *options = (clvox_segment_list_options){.size = sizeof *options};
}

/* ---- rows -------------------------------------------------------------------- */

/* A list that is being made. */
typedef struct making {
    clvox_segment_rows *rows;
    const clvox_segment_list_options *options;
} making;

/* Names are made again where they are needed: they take much room. For free. */
static int name_files(const clvox_segment_rows *l, const clvox_segment_list_options *o,
                      const clvox_segment_row *one, clvox_segment_names **out)
{
    *out = malloc(sizeof **out);
    if (!*out)
        return clv_out_of_memory();
    const bool labelled = l->atlases->atlas[0].file[CLVOX_LABELLED_LABELS] != NULL;
    return clvox_segment_names_make(one->image, o->derivatives ? NULL : one->output, o->derivatives, labelled,
                                    *out);
}

/* The files that it writes, among all of its names the log last. */
static int list_files(const clvox_segment_names *n, clvox_segment_row *one)
{
    char path[2 * PATH_MAX];
    int status = CLVOX_OK;
    one->file = calloc(CLVOX_SEGMENT_ENDS, sizeof *one->file);
    if (!one->file)
        return clv_out_of_memory();
    for (const clvox_end *e = n->ends; e->end && status >= 0; e++) {
        snprintf(path, sizeof path, "%s%s", n->prefix, e->end);
        if (e->written && (status = clv_text_copy(path, &one->file[one->files])) >= 0)
            one->files++;
    }
    return status;
}

/* Appends a head; output as it is typed, messages begin with where. */
static int add(making *m, const char *where, const clvox_segment_row *from)
{
    int status = CLVOX_OK;
    char path[2 * PATH_MAX];
    clvox_segment_rows *l = m->rows;
    const clvox_segment_list_options *o = m->options;
    clvox_segment_names *names = NULL;
    clvox_segment_row *longer = reallocarray(l->row, (size_t)l->count + 1, sizeof *longer), *one;
    if (!longer)
        return clv_out_of_memory();
    l->row = longer;
    one = &l->row[l->count++];
    *one = (clvox_segment_row){.brain_ml = NAN, .seconds = NAN};
    if (!from->image || (!o->derivatives && !from->output))
        return clvox_fail(CLVOX_ERROR_FORMAT, "%s: a head needs an image%s", where,
                          o->derivatives ? "" : " and an output");
    CLV_TRY(clv_text_copy(from->image, &one->image));
    if (!o->derivatives)
        CLV_TRY(clv_places_prefix(o->folder, where, from->output, &one->output));
    CLV_TRY(name_files(l, o, one, &names));
    CLV_TRY(list_files(names, one));
    if (o->derivatives) {
        snprintf(path, sizeof path, "%s%s", names->prefix, names->stem);
        CLV_TRY(clv_text_copy(path, &one->output));
        status = clvox_derivative_check(o->derivatives, one->image);
    }
end:
    free(names);
    return status;
}

enum { IMAGE, OUTPUT };

static int read_row(void *user, int line, const char *const *field)
{
    making *m = user;
    char where[PATH_MAX + 32], *image = field[IMAGE] ? clvox_table_path(m->rows->list, field[IMAGE]) : NULL;
    snprintf(where, sizeof where, "%s, line %d", m->rows->list, line);
    const int status = add(m, where, &(clvox_segment_row){.image = image, .output = (char *)field[OUTPUT]});
    free(image);
    return status;
}

/* No two heads write the same files, and none writes what another or an atlas is read from. */
static int check_places(const making *m)
{
    int status = CLVOX_OK;
    const clvox_segment_rows *l = m->rows;
    clv_places places = {.inputs = 0};
    for (int i = 0; i < l->atlases->count; i++)
        for (int k = 0; k < CLVOX_LABELLED_FILES; k++)
            CLV_TRY(clv_places_input(&places, l->atlases->atlas[i].file[k]));
    CLV_TRY(clv_places_input(&places, l->atlases->path));
    CLV_TRY(clv_places_input(&places, m->options->names));
    for (int i = 0; i < l->count; i++) {
        CLV_TRY(clv_places_input(&places, l->row[i].image));
        for (int k = 0; k < l->row[i].files; k++)
            CLV_TRY(clv_places_output(&places, l->row[i].file[k], l->row[i].output));
    }
    CLV_TRY(clv_places_output(&places, l->summary, l->summary));
    status = clv_places_check(&places, l->list, "heads");
end:
    clv_places_free(&places);
    return status;
}

static int begin(making *m, const char *table)
{
    const clvox_segment_list_options *o = m->options;
    const clv_shard shard = {o->shard, o->shards};
    int status = clv_options_sized(o, sizeof *o);
    if (status < 0)
        return status;
    if (!o->atlases || (!o->folder && !o->derivatives))
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "a list of heads needs %s",
                          o->atlases ? "a folder for its outputs" : "a table of atlases");
    CLV_TRY(clv_shard_check(shard));
    m->rows = calloc(1, sizeof *m->rows);
    if (!m->rows)
        return clv_out_of_memory();
    CLV_TRY(clv_text_copy(table, &m->rows->list));
    CLV_TRY(o->summary ? clv_text_copy(o->summary, &m->rows->summary)
                       : clv_shard_summary(shard, o->folder, o->derivatives, ".tsv", &m->rows->summary));
    if (o->names)
        CLV_TRY(clvox_label_names_check(o->names));
    status = clvox_labelled_read(o->atlases, &m->rows->atlases);
end:
    return status;
}

static void free_row(void *row)
{
    clvox_segment_row *one = row;
    for (int k = 0; k < one->files; k++)
        free(one->file[k]);
    free(one->file);
    free(one->image);
    free(one->output);
    free(one->message);
}

static int finish(making *m, int status, clvox_segment_rows **out)
{
    if (status >= 0 && !m->rows->count)
        status = clvox_fail(CLVOX_ERROR_FORMAT, "%s: there is no head in it",
                            m->rows->list ? m->rows->list : "the list");
    if (status >= 0)
        status = check_places(m);
    if (status < 0)
        clvox_segment_rows_destroy(&m->rows);
    else
        m->rows->count = clv_shard_keep((clv_shard){m->options->shard, m->options->shards}, m->rows->row,
                                        sizeof *m->rows->row, m->rows->count, free_row);
    *out = m->rows;
    return status;
}

int clvox_segment_rows_read(const char *table, const clvox_segment_list_options *options,
                            clvox_segment_rows **out)
{
    static const char *const names[] = {"image", "output", NULL};
    CLV_GIVEN(table, options, out);
    making m = {.options = options};
    int status = begin(&m, table);
    if (status >= 0)
        status = clvox_table_read(
            &(clvox_table){table, names, options->derivatives ? OUTPUT : OUTPUT + 1, read_row, &m});
    return finish(&m, status, out);
}

int clvox_segment_rows_make(const clvox_segment_row *rows, int count,
                            const clvox_segment_list_options *options, clvox_segment_rows **out)
{
    if (count > 0)
        CLV_GIVEN(rows);
    CLV_GIVEN(options, out);
    making m = {.options = options};
    int status = begin(&m, NULL);
    for (int i = 0; status >= 0 && i < count; i++) {
        char where[32];
        snprintf(where, sizeof where, "head %d", i + 1);
        status = add(&m, where, &rows[i]);
    }
    return finish(&m, status, out);
}

void clvox_segment_rows_destroy(clvox_segment_rows **rows)
{
    clvox_segment_rows *l = rows ? *rows : NULL;
    if (!l)
        return;
    *rows = NULL;
    for (int i = 0; i < l->count; i++)
        free_row(&l->row[i]);
    clvox_labelled_destroy(&l->atlases);
    free(l->row);
    free(l->list);
    free(l->summary);
    free(l);
}

/* ---- what is there already --------------------------------------------------- */

/* A list that is being made to files. */
typedef struct work {
    clvox_segment_rows *rows;
    const clvox_segment_list_options *options;
    clvox_segment_options segment;
    cJSON *head;
    const clvox_context *first;
    clv_rows machine;
} work;

static const char *log_of(const clvox_segment_row *one)
{
    return one->file[one->files - 1];
}

/* All that a result hangs on, as one text; the caller's to free. NULL without memory. */
static char *key_of(const work *w, const clvox_segment_row *one)
{
    static const char *const names[CLVOX_LABELLED_FILES] = {"image", "labels", "mask"};
    const clvox_labelled_list *l = w->rows->atlases;
    cJSON *key = clv_key_begin(w->first), *atlases = cJSON_AddArrayToObject(key, "atlases");
    clvox_record_fields(cJSON_GetObjectItem(key, "options"), clvox_segment_table(), &w->segment);
    clv_key_file(key, "image", one->image);
    clv_key_file(key, "names", w->options->names);
    for (int i = 0; i < l->count; i++) {
        cJSON *atlas = cJSON_CreateObject();
        cJSON_AddItemToArray(atlases, atlas);
        for (int k = 0; k < CLVOX_LABELLED_FILES; k++)
            clv_key_file(atlas, names[k], l->atlas[i].file[k]);
    }
    char *printed = cJSON_PrintUnformatted(key);
    cJSON_Delete(key);
    return printed;
}

/* Takes over what the log of a head says of it. */
static void take_result(clvox_segment_row *one, const cJSON *log)
{
    const cJSON *result = cJSON_GetObjectItem(log, "result");
    one->atlases = (int)fmax(clv_log_number(result, "atlases"), 0); /* 0 for NAN */
    one->labels = (int)fmax(clv_log_number(result, "labels"), 0);
    one->brain_ml = clv_log_number(result, "brain_ml");
    one->seconds = clv_log_number(log, "seconds");
}

static bool is_present(void *list, int row)
{
    const work *w = list;
    clvox_segment_row *one = &w->rows->row[row];
    char *key = key_of(w, one);
    cJSON *log = key ? clv_log_complete(log_of(one), "head", key, false) : NULL;
    if (log)
        take_result(one, log);
    cJSON_Delete(log);
    cJSON_free(key);
    return log != NULL;
}

static int find_present(work *w)
{
    int waiting = 0;
    for (int i = 0; i < w->rows->count; i++) {
        clvox_segment_row *one = &w->rows->row[i];
        free(one->message); /* of the run before */
        one->message = NULL;
        one->state = is_present(w, i) ? CLVOX_PAIR_PRESENT : CLVOX_PAIR_WAITING;
        waiting += one->state == CLVOX_PAIR_WAITING;
    }
    return waiting;
}

/* Removes what killed runs left. Derivatives have folders for volumes, figures and logs. */
static void sweep(const work *w)
{
    char swept[PATH_MAX] = "";
    clvox_sweep_beside(w->rows->summary, swept);
    for (int i = 0; i < w->rows->count; i++)
        for (int k = 0; w->rows->row[i].state == CLVOX_PAIR_WAITING && k < w->rows->row[i].files; k++)
            clvox_sweep_beside(w->rows->row[i].file[k], swept);
}

static void print_summary(FILE *to, const void *what)
{
    const clvox_segment_rows *l = ((const work *)what)->rows;
    fprintf(to, "image\toutput\tstatus\tatlases\tlabels\tbrain_ml\tseconds\tmessage\n");
    for (int i = 0; i < l->count; i++) {
        const clvox_segment_row *one = &l->row[i];
        const char *const text[] = {one->image, one->output, clvox_pair_state_name(one->state)};
        const char *const rest[] = {"", one->message};
        clvox_table_fields(to, text, 3);
        clvox_table_number(to, "%.0f", one->atlases ? one->atlases : NAN);
        clvox_table_number(to, "%.0f", one->atlases ? one->labels : NAN);
        clvox_table_number(to, "%.6g", one->brain_ml);
        clvox_table_number(to, "%.3f", one->seconds);
        clvox_table_fields(to, rest, 2);
        fputc('\n', to);
    }
}

/* ---- one head ---------------------------------------------------------------- */

typedef struct job {
    work *list;
    clvox_segment_row *row;
    clvox_context *ctx;
    clvox_segment_options options;
    clvox_segment_names *names;
    clvox_segment_work work;
    clvox_before before;
    cJSON *log;
    double started;
} job;

static clvox_pair_state *state_of(void *list, int row)
{
    return &((work *)list)->rows->row[row].state;
}

static void claimed(void *list, int row, char log[PATH_MAX])
{
    snprintf(log, PATH_MAX, "%s", log_of(&((work *)list)->rows->row[row]));
}

static void *begin_head(void *list, int row, clvox_context *ctx, clv_run *run)
{
    work *w = list;
    job *j = calloc(1, sizeof *j);
    if (!j)
        return NULL;
    *j = (job){.list = w, .row = &w->rows->row[row], .ctx = ctx, .options = w->segment};
    j->options.progress = clv_rows_look;
    j->options.user = run;
    j->work.names = w->options->names;
    j->log = cJSON_Duplicate(w->head, true);
    char *key = key_of(w, j->row);
    cJSON_AddStringToObject(j->log, "head", key ? key : "");
    cJSON_free(key);
    return j;
}

static int read_head(void *user)
{
    int status = CLVOX_OK;
    job *j = user;
    const clvox_segment_row *one = j->row;
    j->started = clv_seconds();
    for (int i = 0; i < one->files; i++)
        CLV_TRY(clvox_folders_make(one->file[i]));
    CLV_TRY(clvox_outputs_check(NULL, 0, (const char *const *)one->file, one->files));
    for (int i = 0; j->list->options->no_clobber && i < one->files; i++) {
        struct stat info;
        if (!stat(one->file[i], &info) && S_ISREG(info.st_mode)) {
            status = clvox_fail(CLVOX_ERROR_FILE, "%s: exists, and --no-clobber keeps it", one->file[i]);
            goto end;
        }
    }
    clvox_before_read(&j->before, log_of(one));
    CLV_TRY(name_files(j->list->rows, j->list->options, one, &j->names));
    CLV_TRY(clvox_volume_read(one->image, &j->work.head));
    clvox_record_input(j->log, one->image);
end:
    return status;
}

static int label_head(void *user)
{
    job *j = user;
    const clvox_segment_list_options *o = j->list->options;
    const int status = clvox_segment_solve(j->ctx, &j->options, j->list->rows->atlases, j->row->image,
                                           &j->work, j->log, &(clvox_hearer){o->log, o->user});
    clvox_record_wisdom(j->log, j->ctx);
    return status;
}

/* Files of an earlier run that this one does not replace. */
static void settle(const job *j)
{
    char path[2 * PATH_MAX];
    for (const clvox_end *e = j->names->ends; e->end; e++) {
        snprintf(path, sizeof path, "%s%s", j->names->prefix, e->end);
        if (!e->written && clvox_before_settle(&j->before, path, j->log) == CLVOX_LEFT_STRANGE)
            clv_rows_say(&j->list->machine, 0, "%s: was there before and does not belong to these results",
                         path);
    }
}

static int save_head(void *user)
{
    int status = CLVOX_OK;
    job *j = user;
    char page[2 * PATH_MAX];
    const char *derivatives = j->list->options->derivatives;
    clvox_results *outputs = &j->work.outputs;
    snprintf(page, sizeof page, "%s%s", j->names->prefix, j->names->end[CLVOX_SEGMENT_PAGE]);
    unlink(log_of(j->row)); /* from here on the files of an earlier run are not complete */
    CLV_TRY(clvox_segment_gather(&j->work, j->names, j->row->image));
    CLV_TRY(clvox_results_write(outputs));
    for (int i = 0; i < outputs->count; i++)
        clvox_record_text(j->log, "outputs", outputs->item[i].path);
    if (derivatives)
        CLV_TRY(clvox_derivative_describe(derivatives));
    CLV_TRY(clvox_segment_page(&j->work, &j->options, j->row->image, j->log, page));
    clvox_record_text(j->log, "outputs", page);
    settle(j);
    cJSON_AddNumberToObject(j->log, "seconds", clv_seconds() - j->started);
    status = clvox_record_write(j->log, log_of(j->row));
end:
    return status;
}

/* Its row is what stays of it. */
static void end_head(void *user, int status, const char *message)
{
    job *j = user;
    clvox_segment_row *one = j->row;
    if (status >= 0) {
        one->state = CLVOX_PAIR_DONE;
        take_result(one, j->log);
    } else if (status != CLVOX_ERROR_STOPPED) {
        one->state = CLVOX_PAIR_FAILED;
        one->message = strdup(message);
        clv_rows_say(&j->list->machine, 1, "%s: failed: %s", one->output, message);
    }
    clvox_segment_work_free(&j->work);
    clvox_before_free(&j->before);
    cJSON_Delete(j->log);
    free(j->names);
    free(j);
}

/* ---- the run ----------------------------------------------------------------- */

int clvox_segment_list(clvox_segment_rows *l, const clvox_segment_list_options *o,
                       clvox_context *const *contexts, int count)
{
    CLV_GIVEN(l, o, contexts);
    int status = clv_options_sized(o, sizeof *o), failed = 0;
    work w = {.rows = l, .options = o};
    if (status < 0)
        return status;
    if (count < 1 || !contexts[0] || o->jobs > CLV_ROWS_JOBS)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "a list needs heads and a context, and at most %d jobs",
                          CLV_ROWS_JOBS);
    w.first = contexts[0];
    clvox_segment_defaults(&w.segment);
    if (o->segment)
        w.segment = *o->segment;
    l->summary_written = 0;
    CLV_TRY(clv_rows_check(contexts, count));
    CLV_TRY(clv_log_head(o->head, "segment", w.first, &w.head));
    w.machine = (clv_rows){.noun = "head",
                           .list = &w,
                           .count = l->count,
                           .waiting = find_present(&w),
                           .jobs = o->jobs,
                           .state = state_of,
                           .claimed = claimed,
                           .present = is_present,
                           .begin = begin_head,
                           .read = read_head,
                           .solve = label_head,
                           .save = save_head,
                           .end = end_head,
                           .log = o->log,
                           .progress = o->progress,
                           .user = o->user};
    clv_rows_say(&w.machine, 1, "plan     %d heads, %d of them complete", l->count,
                 l->count - w.machine.waiting);
    if (w.machine.waiting)
        CLV_TRY(clvox_labelled_keep(l->atlases, w.head, &(clvox_hearer){o->log, o->user}));
    CLV_TRY(clvox_folders_make(l->summary));
    sweep(&w);
    status = clv_rows_make(&w.machine, contexts, count);
    CLV_TRY(clv_rows_close(&w.machine, status, l->summary, print_summary, &l->summary_written));
    for (int i = 0; i < l->count; i++)
        failed += l->row[i].state == CLVOX_PAIR_FAILED;
    if (failed)
        status =
            clvox_fail(CLVOX_ERROR_DATA, "%d of %d heads failed; %s says why", failed, l->count, l->summary);
end:
    cJSON_Delete(w.head);
    return status;
}
