/* SPDX-License-Identifier: Apache-2.0 */
/* Many pairs in one process, as rows of a list. */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/options.h"
#include "base/status.h"
#include "batch/logs.h"
#include "batch/pair.h"
#include "batch/pairs.h"
#include "batch/rows.h"
#include "clvox/clvox.h"
#include "clvox/command/label_names.h"
#include "clvox/command/table.h"
#include "clvox/files.h"

/* The pairs that wait. */
typedef struct work {
    clvox_pairs *pairs;
    const clvox_pairs_options *options;
    const cJSON *head;
    const clvox_context *first;
    int waiting;
    clv_rows rows;
} work;

/* A pair on its way. */
typedef struct job {
    clv_pair pair;
    clvox_pair *row;
    const work *work;
} job;

/* ---- what is there already ----------------------------------------------- */

/* All that a result hangs on, as one text; the caller's to free. NULL without memory. */
static char *key_of(const work *w, const clvox_pair *one)
{
    const clvox_pairs_options *o = w->options;
    const clvox_register_options registration = clv_pair_registration(o, one);
    cJSON *key = clv_key_begin(w->first), *options = cJSON_GetObjectItem(key, "options");
    cJSON_AddStringToObject(options, "preset", o->preset ? o->preset : "default");
    cJSON_AddBoolToObject(options, "picture", !o->no_picture);
    if (o->report)
        cJSON_AddBoolToObject(options, "report", true);
    clvox_option_text text;
    for (int i = 0; clvox_option_describe(clvox_register_table(), i, &text); i++)
        if (text.name && o->given && o->given[i])
            cJSON_AddStringToObject(options, text.name, o->given[i]);
    if (!o->given) /* fields alone say what is asked for */
        clvox_record_fields(options, clvox_register_table(), &registration);
    if (registration.init == CLVOX_INIT_MATRIX)
        cJSON_AddItemToObject(options, "matrix", cJSON_CreateDoubleArray(&registration.matrix[0][0], 16));
    for (int k = 0; k < one->boundaries; k++)
        clv_key_file(key, "boundary", one->boundary[k]);
    if (one->boundaries) {
        cJSON_AddItemToObject(options, "boundary-labels",
                              cJSON_CreateIntArray(o->boundary_label, o->boundary_labels));
        cJSON_AddNumberToObject(options, "boundary-contrast", o->boundary_contrast);
        cJSON_AddBoolToObject(options, "boundary-lps", o->boundary_lps);
    }
    clv_key_file(key, "fixed", one->fixed);
    clv_key_file(key, "moving", one->moving);
    clv_key_file(key, "fixed_mask", one->fixed_mask);
    clv_key_file(key, "moving_mask", one->moving_mask);
    clv_key_file(key, "labels", one->labels);
    clv_key_file(key, "names", o->report ? o->names : NULL);
    clv_key_file(key, "linear_fixed_mask", o->linear_fixed_mask);
    clv_key_file(key, "linear_moving_mask", o->linear_moving_mask);
    for (int k = 0; k < CLVOX_MAX_LEVELS; k++) {
        clv_key_file(key, "level_fixed_mask", o->level_fixed_mask[k]);
        clv_key_file(key, "level_moving_mask", o->level_moving_mask[k]);
    }
    clv_key_file(key, "initial_warp", o->initial_warp);
    char *printed = cJSON_PrintUnformatted(key);
    cJSON_Delete(key);
    return printed;
}

/* Takes over what the log of a pair says of it. */
static void take_result(clvox_pair *one, const cJSON *log)
{
    const cJSON *result = cJSON_GetObjectItem(log, "result"), *doubt;
    char doubts[256] = "";
    one->metric_before = clv_log_number(result, "metric_before");
    one->metric_after = clv_log_number(result, "metric_after");
    one->ncc = clv_log_number(result, "ncc_after");
    one->folded = clv_log_number(cJSON_GetObjectItem(result, "jacobian"), "folded");
    one->seconds = clv_log_number(log, "seconds");
    cJSON_ArrayForEach(doubt, cJSON_GetObjectItem(result, "suspicions"))
        snprintf(doubts + strlen(doubts), sizeof doubts - strlen(doubts), "%s%s", *doubts ? "," : "",
                 cJSON_IsString(doubt) ? doubt->valuestring : "");
    free(one->suspicions);
    one->suspicions = strdup(doubts);
}

/* Whether the pair's log is of this run's options and inputs. */
static bool is_present(void *list, int row)
{
    const work *w = list;
    clvox_pair *one = &w->pairs->pair[row];
    char path[PATH_MAX], *key = key_of(w, one);
    clvox_pair_path(one->names, CLVOX_PAIR_LOG, path);
    cJSON *log = key ? clv_log_complete(path, "pair", key, w->options->any_device) : NULL;
    if (log)
        take_result(one, log);
    cJSON_Delete(log);
    cJSON_free(key);
    return log != NULL;
}

/* ---- one pair ------------------------------------------------------------ */

static void fail(clvox_pair *one, const char *message)
{
    one->state = CLVOX_PAIR_FAILED;
    free(one->message);
    one->message = strdup(message);
}

static int read_pair(void *user)
{
    return clv_pair_read(&((job *)user)->pair);
}

static int solve_pair(void *user)
{
    return clv_pair_solve(&((job *)user)->pair);
}

static int save_pair(void *user)
{
    return clv_pair_save(&((job *)user)->pair);
}

static clvox_pair_state *state_of(void *list, int row)
{
    return &((work *)list)->pairs->pair[row].state;
}

static void claimed(void *list, int row, char log[PATH_MAX])
{
    clvox_pair_path(((work *)list)->pairs->pair[row].names, CLVOX_PAIR_LOG, log);
}

static void *begin_pair(void *list, int row, clvox_context *ctx, clv_run *run)
{
    const work *w = list;
    job *j = calloc(1, sizeof *j);
    if (!j)
        return NULL;
    j->row = &w->pairs->pair[row];
    j->work = w;
    j->pair =
        (clv_pair){.row = j->row, .options = w->options, .ctx = ctx, .look = clv_rows_look, .user = run};
    j->pair.work.options = clv_pair_registration(w->options, j->row);
    j->pair.log = cJSON_Duplicate(w->head, true);
    char *key = key_of(w, j->row);
    cJSON_AddStringToObject(j->pair.log, "pair", key ? key : "");
    cJSON_free(key);
    return j;
}

/* Its row is what stays of it. */
static void end_pair(void *user, int status, const char *message)
{
    job *j = user;
    if (cJSON_GetObjectItem(j->pair.log, "result"))
        take_result(j->row, j->pair.log);
    if (status >= 0) {
        j->row->state = CLVOX_PAIR_DONE;
    } else if (status != CLVOX_ERROR_STOPPED) {
        fail(j->row, message);
        clv_rows_say(&j->work->rows, 1, "%s: failed: %s", j->row->output, message);
    }
    clv_pair_free(&j->pair);
    free(j);
}

/* ---- the run ------------------------------------------------------------- */

static void print_summary(FILE *to, const void *what)
{
    const clvox_pairs *l = ((const work *)what)->pairs;
    fprintf(to, "fixed\tmoving\toutput\tstatus\tmetric_before\tmetric_"
                "after\tncc\tfolded\tseconds\tsuspicions\tmessage\n");
    for (int i = 0; i < l->count; i++) {
        const clvox_pair *one = &l->pair[i];
        const char *const text[] = {one->fixed, one->moving, one->output, clvox_pair_state_name(one->state)};
        const char *const rest[] = {"", one->suspicions, one->message};
        clvox_table_fields(to, text, 4);
        clvox_table_number(to, "%.6g", one->metric_before);
        clvox_table_number(to, "%.6g", one->metric_after);
        clvox_table_number(to, "%.6g", one->ncc);
        clvox_table_number(to, "%.0f", one->folded);
        clvox_table_number(to, "%.3f", one->seconds);
        clvox_table_fields(to, rest, 3);
        fputc('\n', to);
    }
}

/* Removes what killed runs left. Derivatives have folders for images, figures and logs. */
static void sweep(const work *w)
{
    static const int files[] = {CLVOX_PAIR_LOG, CLVOX_PAIR_WARPED, CLVOX_PAIR_PICTURE};
    const clvox_pairs *l = w->pairs;
    char path[PATH_MAX], swept[PATH_MAX] = "";
    clvox_sweep_beside(l->summary, swept);
    for (int k = 0; k < (w->options->derivatives ? 3 : 1); k++)
        for (int i = 0; i < l->count; i++)
            if (l->pair[i].state == CLVOX_PAIR_WAITING)
                clvox_sweep_beside(clvox_pair_path(l->pair[i].names, files[k], path), swept);
}

static void find_present(work *w)
{
    for (int i = 0; i < w->pairs->count; i++) {
        clvox_pair *one = &w->pairs->pair[i];
        free(one->message); /* of the run before */
        one->message = NULL;
        one->state = is_present(w, i) ? CLVOX_PAIR_PRESENT : CLVOX_PAIR_WAITING;
        if (one->state == CLVOX_PAIR_PRESENT && w->options->strict && one->suspicions && *one->suspicions)
            fail(one, "the result looks wrong; the files were written, look at them");
        w->waiting += one->state == CLVOX_PAIR_WAITING;
    }
}

int clvox_register_list(clvox_pairs *l, const clvox_pairs_options *o, clvox_context *const *contexts,
                        int count)
{
    CLV_GIVEN(l, o, contexts);
    int status = clv_options_sized(o, sizeof *o), failed = 0;
    cJSON *head = NULL;
    work w = {.pairs = l, .options = o};
    if (status < 0)
        return status;
    if (count < 1 || !contexts[0] || o->jobs > CLV_ROWS_JOBS)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "a list needs pairs and a context, and at most %d jobs",
                          CLV_ROWS_JOBS);
    if (o->names)
        CLV_TRY(clvox_label_names_check(o->names));
    w.first = contexts[0];
    l->summary_written = l->page_written = 0;
    CLV_TRY(clv_rows_check(contexts, count));
    CLV_TRY(clv_log_head(o->head, "register", w.first, &head));
    w.head = head;
    find_present(&w);
    w.rows = (clv_rows){.noun = "pair",
                        .list = &w,
                        .count = l->count,
                        .waiting = w.waiting,
                        .jobs = o->jobs,
                        .state = state_of,
                        .claimed = claimed,
                        .present = is_present,
                        .begin = begin_pair,
                        .read = read_pair,
                        .solve = solve_pair,
                        .save = save_pair,
                        .end = end_pair,
                        .log = o->log,
                        .progress = o->progress,
                        .user = o->user};
    clv_rows_say(&w.rows, 1, "plan     %d pairs, %d of them complete", l->count, l->count - w.waiting);
    if (o->dry_run)
        goto end;
    CLV_TRY(clvox_folders_make(l->summary));
    sweep(&w);
    status = clv_rows_make(&w.rows, contexts, count);
    CLV_TRY(clv_rows_close(&w.rows, status, l->summary, print_summary, &l->summary_written));
    if (l->page)
        CLV_TRY(clv_pairs_page(l, o, head));
    for (int i = 0; i < l->count; i++)
        failed += l->pair[i].state == CLVOX_PAIR_FAILED;
    if (failed)
        status =
            clvox_fail(CLVOX_ERROR_DATA, "%d of %d pairs failed; %s says why", failed, l->count, l->summary);
end:
    cJSON_Delete(head);
    return status;
}
