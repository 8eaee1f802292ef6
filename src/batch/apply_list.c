/* SPDX-License-Identifier: Apache-2.0 */
/* Many images resampled in one process, as rows of a list. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/options.h"
#include "base/status.h"
#include "base/text.h"
#include "batch/places.h"
#include "batch/rows.h"
#include "batch/table.h"
#include "clvox/clvox.h"
#include "clvox/command/chain.h"
#include "clvox/command/results.h"
#include "clvox/files.h"
#include "runtime/device/host.h"

void clvox_apply_list_defaults(clvox_apply_list_options *options)
{
    CLV_GIVEN_OR(, options);
    *options = (clvox_apply_list_options){.size = sizeof *options, .frame = -1};
}

/* ---- rows -------------------------------------------------------------------- */

/* A list that is being made. */
typedef struct making {
    clvox_apply_rows *rows;
    const clvox_apply_list_options *options;
} making;

/* Appends an image; messages begin with where. */
static int add(making *m, const char *where, const clvox_apply_row *from)
{
    int status = CLVOX_OK;
    const clvox_apply_list_options *o = m->options;
    const bool own = from->transforms > 0;
    const char *const *transform = own ? (const char *const *)from->transform : o->transform;
    const int transforms = own ? from->transforms : o->transforms;
    clvox_apply_row *longer = reallocarray(m->rows->row, (size_t)m->rows->count + 1, sizeof *longer), *one;
    if (!longer)
        return clv_out_of_memory();
    m->rows->row = longer;
    one = &longer[m->rows->count++];
    *one = (clvox_apply_row){.state = CLVOX_PAIR_WAITING};
    if (!from->input || !from->output)
        return clvox_fail(CLVOX_ERROR_FORMAT, "%s: a row needs an input and an output", where);
    if (!from->reference && !o->reference)
        return clvox_fail(CLVOX_ERROR_FORMAT, "%s: there is no reference; name one for all by -r", where);
    CLV_TRY(clv_text_copy(from->input, &one->input));
    CLV_TRY(clv_text_copy(from->output, &one->output));
    CLV_TRY(clv_text_copy(from->reference ? from->reference : o->reference, &one->reference));
    if (transforms > CLVOX_MAX_WORDS)
        return clvox_fail(CLVOX_ERROR_FORMAT, "%s: more than %d transforms in a row", where, CLVOX_MAX_WORDS);
    one->transform = calloc((size_t)transforms + 1, sizeof *one->transform);
    if (!one->transform)
        return clv_out_of_memory();
    for (; one->transforms < transforms; one->transforms++)
        CLV_TRY(clv_text_copy(transform[one->transforms], &one->transform[one->transforms]));
end:
    return status;
}

enum { INPUT, OUTPUT, REFERENCE, TRANSFORMS };

static int read_row(void *user, int line, const char *const *field)
{
    making *m = user;
    const char *table = m->rows->list;
    char where[PATH_MAX + 32], *transform[CLVOX_MAX_WORDS + 1] = {NULL};
    clvox_apply_row one = {.input = clvox_table_path(table, field[INPUT]),
                           .output = clvox_table_path(table, field[OUTPUT]),
                           .reference = clvox_table_path(table, field[REFERENCE]),
                           .transform = transform};
    int status;
    snprintf(where, sizeof where, "%s, line %d", table, line);
    status = clv_table_files(table, field[TRANSFORMS], transform, CLVOX_MAX_WORDS + 1, &one.transforms);
    if (status >= 0)
        status = add(m, where, &one);
    free(one.input);
    free(one.output);
    free(one.reference);
    for (int i = 0; i < one.transforms; i++)
        free(transform[i]);
    return status;
}

/* No two images have the same output, and none is what another one reads. */
static int check_places(const making *m)
{
    int status = CLVOX_OK;
    clv_places places = {.inputs = 0};
    for (int i = 0; i < m->rows->count; i++) {
        const clvox_apply_row *one = &m->rows->row[i];
        CLV_TRY(clv_places_input(&places, one->input));
        CLV_TRY(clv_places_input(&places, one->reference));
        for (int k = 0; k < one->transforms; k++) {
            char *file = NULL;
            bool inverse;
            CLV_TRY(clvox_link_word(one->transform[k], &file, &inverse));
            status = clv_places_input(&places, file);
            free(file);
            CLV_TRY(status);
        }
        CLV_TRY(clv_places_output(&places, one->output, one->output));
    }
    if (m->options->summary)
        CLV_TRY(clv_places_output(&places, m->options->summary, m->options->summary));
    status = clv_places_check(&places, m->rows->list, "images");
end:
    clv_places_free(&places);
    return status;
}

static int begin(making *m, const char *table)
{
    int status = clv_options_sized(m->options, sizeof *m->options);
    if (status < 0)
        return status;
    m->rows = calloc(1, sizeof *m->rows);
    return m->rows ? clv_text_copy(table, &m->rows->list) : clv_out_of_memory();
}

static int finish(making *m, int status, clvox_apply_rows **out)
{
    if (status >= 0 && !m->rows->count)
        status = clvox_fail(CLVOX_ERROR_FORMAT, "%s: there is no image in it",
                            m->rows->list ? m->rows->list : "the list");
    if (status >= 0)
        status = check_places(m);
    if (status < 0)
        clvox_apply_rows_destroy(&m->rows);
    *out = m->rows;
    return status;
}

int clvox_apply_rows_read(const char *table, const clvox_apply_list_options *options, clvox_apply_rows **out)
{
    static const char *const names[] = {"input", "output", "reference", "transforms", NULL};
    CLV_GIVEN(table, options, out);
    making m = {.options = options};
    int status = begin(&m, table);
    if (status >= 0)
        status = clvox_table_read(&(clvox_table){table, names, REFERENCE, read_row, &m});
    return finish(&m, status, out);
}

int clvox_apply_rows_make(const clvox_apply_row *rows, int count, const clvox_apply_list_options *options,
                          clvox_apply_rows **out)
{
    if (count > 0)
        CLV_GIVEN(rows);
    CLV_GIVEN(options, out);
    making m = {.options = options};
    int status = begin(&m, NULL);
    for (int i = 0; status >= 0 && i < count; i++) {
        char where[32];
        snprintf(where, sizeof where, "image %d", i + 1);
        status = add(&m, where, &rows[i]);
    }
    return finish(&m, status, out);
}

void clvox_apply_rows_destroy(clvox_apply_rows **rows)
{
    clvox_apply_rows *l = rows ? *rows : NULL;
    if (!l)
        return;
    *rows = NULL;
    for (int i = 0; i < l->count; i++) {
        clvox_apply_row *one = &l->row[i];
        char *text[] = {one->input, one->output, one->reference, one->message};
        for (size_t k = 0; k < sizeof text / sizeof *text; k++)
            free(text[k]);
        for (int k = 0; k < one->transforms; k++)
            free(one->transform[k]);
        free(one->transform);
    }
    free(l->row);
    free(l->list);
    free(l);
}

/* ---- what is there already --------------------------------------------------- */

/* A list that is being resampled. */
typedef struct work {
    clvox_apply_rows *rows;
    const clvox_apply_list_options *options;
    clvox_hearer hearer;
    cJSON *log;
    double kept; /* when the summary was written */
    clv_rows machine;
} work;

static void hash_text(uint64_t *hash, const char *text)
{
    for (const char *c = text; *c; c++)
        *hash = (*hash ^ (unsigned char)*c) * UINT64_C(1099511628211);
    *hash = (*hash ^ 255) * UINT64_C(1099511628211); /* where one ends */
}

/* A file as it is now; of a transform the word says whether it is the inverse. */
static void hash_file(uint64_t *hash, const char *word)
{
    char when[64] = "";
    struct stat info;
    char *file = NULL;
    bool inverse = false;
    hash_text(hash, word);
    if (clvox_link_word(word, &file, &inverse) < 0)
        return;
    if (!stat(file, &info))
        snprintf(when, sizeof when, "%lld %lld.%09ld", (long long)info.st_size,
                 (long long)info.st_mtim.tv_sec, info.st_mtim.tv_nsec);
    hash_text(hash, when);
    free(file);
}

static uint64_t key_of(const work *w, const clvox_context *ctx, const clvox_apply_row *one)
{
    const clvox_device_limits *device = clvox_context_limits(ctx);
    const clvox_apply_list_options *o = w->options;
    clvox_apply_options how;
    char options[256];
    uint64_t hash = UINT64_C(14695981039346656037);
    clvox_apply_defaults(&how);
    if (o->apply)
        how = *o->apply;
    /* Numbers of enumerations are those of the version. */
    snprintf(options, sizeof options, "%d %d %a %d %d %d %d %d", o->forward, (int)o->landing,
             (double)how.outside, (int)o->order, (int)how.interpolation, (int)how.reorientation,
             (int)how.output, o->frame);
    hash_text(&hash, clvox_version());
    hash_text(&hash, device->name);
    hash_text(&hash, device->driver);
    hash_text(&hash, options);
    hash_file(&hash, one->input);
    hash_file(&hash, one->reference);
    for (int k = 0; k < one->transforms; k++)
        hash_file(&hash, one->transform[k]);
    return hash;
}

/* A row of the summary of an earlier run: complete where it was, with the same key, and its file is there. */
static int take_row(void *user, int line, const char *const *field)
{
    const clvox_apply_rows *l = user;
    (void)line;
    const uint64_t key = field[2] ? strtoull(field[2], NULL, 16) : 0;
    if (strcmp(field[1], clvox_pair_state_name(CLVOX_PAIR_DONE)) != 0 &&
        strcmp(field[1], clvox_pair_state_name(CLVOX_PAIR_PRESENT)) != 0)
        return CLVOX_OK;
    for (int i = 0; i < l->count; i++)
        if (l->row[i].key == key && !strcmp(l->row[i].output, field[0]) && !access(field[0], F_OK))
            l->row[i].state = CLVOX_PAIR_PRESENT;
    return CLVOX_OK;
}

/* Returns how many images are to be made. */
static int find_present(const work *w, const clvox_context *ctx)
{
    static const char *const names[] = {"output", "status", "key", NULL};
    const char *summary = w->options->summary;
    int waiting = 0;
    for (int i = 0; i < w->rows->count; i++) {
        clvox_apply_row *one = &w->rows->row[i];
        free(one->message); /* of the run before */
        one->message = NULL;
        one->state = CLVOX_PAIR_WAITING;
        one->key = key_of(w, ctx, one);
    }
    if (summary && !access(summary, R_OK)) /* another table: nothing is there */
        clvox_table_read(&(clvox_table){summary, names, 3, take_row, w->rows});
    for (int i = 0; i < w->rows->count; i++)
        waiting += w->rows->row[i].state == CLVOX_PAIR_WAITING;
    return waiting;
}

/* Removes what killed runs left. */
static void sweep(const work *w)
{
    char swept[PATH_MAX] = "";
    if (w->options->summary)
        clvox_sweep_beside(w->options->summary, swept);
    for (int i = 0; i < w->rows->count; i++)
        if (w->rows->row[i].state == CLVOX_PAIR_WAITING)
            clvox_sweep_beside(w->rows->row[i].output, swept);
}

static void print_summary(FILE *to, const void *what)
{
    const clvox_apply_rows *l = ((const work *)what)->rows;
    fprintf(to, "input\toutput\tstatus\tmessage\tkey\n");
    for (int i = 0; i < l->count; i++) {
        const clvox_apply_row *one = &l->row[i];
        const char *const text[] = {one->input, one->output, clvox_pair_state_name(one->state), one->message};
        clvox_table_fields(to, text, 4);
        fprintf(to, "\t%016" PRIx64 "\n", one->key);
    }
}

/* ---- one image --------------------------------------------------------------- */

typedef struct job {
    work *list;
    clvox_apply_row *row;
    clvox_context *ctx;
    clvox_apply_work work;
} job;

static clvox_pair_state *state_of(void *list, int row)
{
    return &((work *)list)->rows->row[row].state;
}

static void *begin_image(void *list, int row, clvox_context *ctx, clv_run *run)
{
    work *w = list;
    job *j = calloc(1, sizeof *j);
    (void)run;
    if (j)
        *j = (job){.list = w, .row = &w->rows->row[row], .ctx = ctx};
    return j;
}

static int read_image(void *user)
{
    int status;
    job *j = user;
    clvox_input inputs[CLVOX_APPLY_INPUTS];
    CLV_TRY(clvox_folders_make(j->row->output));
    CLV_TRY(clvox_outputs_check(NULL, 0, (const char *const *)&j->row->output, 1));
    clvox_apply_inputs(j->row, j->list->options, &j->work, inputs);
    status = clvox_chain_load(inputs, CLVOX_APPLY_INPUTS, (const char *const *)j->row->transform,
                              j->row->transforms, &j->work.chain);
end:
    return status;
}

static int resample_image(void *user)
{
    job *j = user;
    work *w = j->list;
    if (j->work.image)
        clvox_input_note(w->log, j->row->input, &w->hearer);
    clvox_input_note(w->log, j->row->reference, &w->hearer);
    for (int i = 0; i < j->work.chain.files; i++)
        if (j->work.chain.file[i])
            clvox_input_note(w->log, j->work.chain.file[i], &w->hearer);
    return clvox_apply_solve(j->ctx, j->row, w->options, &j->work, w->log, &w->hearer);
}

static int save_image(void *user)
{
    const job *j = user;
    return clvox_apply_write(j->row, j->list->options, &j->work);
}

/* Finished work stays finished, also if the run is killed soon after. */
static void end_image(void *user, int status, const char *message)
{
    job *j = user;
    work *w = j->list;
    clvox_apply_row *one = j->row;
    if (status >= 0) {
        one->state = CLVOX_PAIR_DONE;
    } else if (status != CLVOX_ERROR_STOPPED) {
        one->state = CLVOX_PAIR_FAILED;
        one->message = strdup(message);
        clv_rows_say(&w->machine, 1, "%s: failed: %s", one->output, message);
    }
    clvox_apply_work_free(&j->work);
    free(j);
    if (!w->options->summary || clv_seconds() - w->kept < 1)
        return;
    (void)clvox_table_write(w->options->summary, print_summary, w); /* the last one reports a failure */
    w->kept = clv_seconds();
}

/* ---- the run ----------------------------------------------------------------- */

int clvox_apply_list_logged(clvox_apply_rows *l, const clvox_apply_list_options *o, clvox_context *ctx,
                            cJSON *log)
{
    int status = clv_options_sized(o, sizeof *o), failed = 0;
    work w = {.rows = l, .options = o, .hearer = {o->log, o->user}, .log = log};
    if (status < 0)
        return status;
    if (o->jobs > CLV_ROWS_JOBS)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "a list has at most %d jobs", CLV_ROWS_JOBS);
    l->summary_written = 0;
    w.machine = (clv_rows){.noun = "image",
                           .list = &w,
                           .count = l->count,
                           .waiting = find_present(&w, ctx),
                           .jobs = o->jobs,
                           .state = state_of,
                           .begin = begin_image,
                           .read = read_image,
                           .solve = resample_image,
                           .save = save_image,
                           .end = end_image,
                           .log = o->log,
                           .progress = o->progress,
                           .user = o->user};
    if (o->summary)
        clv_rows_say(&w.machine, 1, "plan     %d images, %d of them complete", l->count,
                     l->count - w.machine.waiting);
    /* From here on what an earlier run has done by other options is not. */
    if (o->summary)
        CLV_TRY(clvox_folders_make(o->summary));
    if (o->summary)
        CLV_TRY(clvox_table_write(o->summary, print_summary, &w));
    sweep(&w);
    status = clv_rows_make(&w.machine, &ctx, 1);
    CLV_TRY(clv_rows_close(&w.machine, status, o->summary, print_summary, &l->summary_written));
    for (int i = 0; i < l->count; i++)
        failed += l->row[i].state == CLVOX_PAIR_FAILED;
    if (failed)
        status = clvox_fail(CLVOX_ERROR_DATA, "%d of %d images failed", failed, l->count);
end:
    return status;
}

int clvox_apply_list(clvox_apply_rows *rows, const clvox_apply_list_options *options, clvox_context *context)
{
    CLV_GIVEN(rows, options, context);
    CLV_HOST_THREADS(context);
    cJSON *log = cJSON_CreateObject();
    const int status = log ? clvox_apply_list_logged(rows, options, context, log) : clv_out_of_memory();
    cJSON_Delete(log);
    return status;
}
