/* SPDX-License-Identifier: Apache-2.0 */
/* apply --list: many images in one process; one is written while the device has the next. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/bar.h"
#include "cli/claims.h"
#include "cli/cmd_apply/apply.h"
#include "cli/table.h"
#include "clvox/files.h"

enum { INPUT, OUTPUT, REFERENCE, FILES };

typedef struct row {
    char *file[FILES];
    cli_texts transforms; /* the row's own */
    bool done;
    char *message; /* why not */
} row;

typedef struct list {
    const char *path;
    const cli_apply *common;
    row *row;
    int count;
} list;

/* A result that a thread of its own writes. */
typedef struct writing {
    cli_apply apply;
    row *row;
    clvox_volume *out; /* NULL: nothing is being written */
    pthread_t thread;
    bool apart;
    int status;
    char message[1024];
} writing;

/* "warp.nii.gz;affine.txt,-1", each against the table's folder; `[FILE,1]` as in ANTs. */
static int read_transforms(const list *l, const char *field, cli_texts *out)
{
    char *text = strdup(field), *rest = text;
    if (!text)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    int status = CLVOX_OK;
    for (char *word; status >= 0 && (word = strsep(&rest, ";"));) {
        bool bracket = *word == '[';
        if (!*word)
            continue;
        char *path = cli_table_path(l->path, word + bracket), *whole = path ? malloc(strlen(path) + 2) : NULL;
        if (!whole)
            status = clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
        else if (out->count == CLI_MAX_TEXTS)
            status = clvox_fail(CLVOX_ERROR_FORMAT, "%s: more than %d transforms in a row", l->path,
                                CLI_MAX_TEXTS);
        if (status >= 0)
            sprintf(whole, "%s%s", bracket ? "[" : "", path);
        if (status >= 0)
            out->item[out->count++] = whole;
        else
            free(whole);
        free(path);
    }
    free(text);
    return status;
}

static int read_row(void *user, int line, const char *const *field)
{
    enum { TRANSFORMS = FILES };
    list *l = user;
    row *longer = realloc(l->row, (size_t)(l->count + 1) * sizeof *longer), *one;
    if (!longer)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    l->row = longer;
    one = &l->row[l->count++];
    *one = (row){.done = false};
    for (int k = 0; k < FILES; k++) {
        const bool own = field[k] && *field[k] && strcmp(field[k], "n/a") != 0;
        one->file[k] = own ? cli_table_path(l->path, field[k]) : NULL;
        if (own && !one->file[k])
            return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    }
    if (!one->file[INPUT] || !one->file[OUTPUT])
        return clvox_fail(CLVOX_ERROR_FORMAT, "%s, line %d: a row needs an input and an output", l->path,
                          line);
    if (!one->file[REFERENCE] && !l->common->reference)
        return clvox_fail(CLVOX_ERROR_FORMAT, "%s, line %d: there is no reference; name one for all by -r",
                          l->path, line);
    if (field[TRANSFORMS] && strcmp(field[TRANSFORMS], "n/a") != 0)
        return read_transforms(l, field[TRANSFORMS], &one->transforms);
    return CLVOX_OK;
}

/* No two rows write the same file, and none writes what another reads. */
static int claim(command *cli, const list *l)
{
    int status = CLVOX_OK;
    for (int i = 0; i < l->count; i++) {
        const row *one = &l->row[i];
        CLI_TRY(cli_claim_input(cli, one->file[INPUT]));
        if (one->file[REFERENCE])
            CLI_TRY(cli_claim_input(cli, one->file[REFERENCE]));
        for (int k = 0; k < one->transforms.count; k++)
            CLI_TRY(cli_claim_input(cli, one->transforms.item[k]));
        CLI_TRY(cli_claim_output(cli, "list", one->file[OUTPUT]));
        CLI_TRY(clvox_folders_make(one->file[OUTPUT]));
    }
    status = cli_claims_check(cli);
end:
    return status;
}

static void *write_out(void *user)
{
    writing *w = user;
    w->status = cli_apply_write(&w->apply, w->out);
    if (w->status < 0) /* the sentence belongs to this thread */
        snprintf(w->message, sizeof w->message, "%s", clvox_message());
    return NULL;
}

static void finish(command *cli, writing *w)
{
    if (!w->out)
        return;
    if (w->apart)
        pthread_join(w->thread, NULL);
    w->row->done = w->status >= 0;
    if (w->status >= 0)
        cli_log_output(cli, w->apply.out);
    else
        w->row->message = cli_table_text(w->message);
    clvox_volume_destroy(&w->out);
}

static int solve_all(command *cli, list *l)
{
    int status = CLVOX_OK;
    writing now = {.out = NULL};
    cli_bar bar;
    cli_bar_begin(&bar, cli);
    for (int i = 0; i < l->count && !cli_interrupted(); i++) {
        row *one = &l->row[i];
        clvox_volume *out;
        char text[64];
        cli_apply a = *l->common;
        a.image = one->file[INPUT];
        a.out = one->file[OUTPUT];
        if (one->file[REFERENCE])
            a.reference = one->file[REFERENCE];
        if (one->transforms.count)
            a.transforms = one->transforms;
        snprintf(text, sizeof text, "image %d of %d", i + 1, l->count);
        if (cli_bar_due(&bar, (double)i / l->count))
            cli_bar_show(&bar, (double)i / l->count, text);
        const int made = cli_apply_make(cli, &a, &out);
        finish(cli, &now);
        if (made < 0) {
            one->message = cli_table_text(clvox_message());
            continue;
        }
        now = (writing){.apply = a, .row = one, .out = out};
        now.apart = !pthread_create(&now.thread, NULL, write_out, &now);
        if (!now.apart)
            write_out(&now);
    }
    finish(cli, &now);
    cli_bar_end(&bar);
    if (cli_interrupted())
        status = clvox_fail(CLVOX_ERROR_STOPPED, "interrupted");
    return status;
}

static void print_summary(FILE *to, const void *what)
{
    const list *l = what;
    fprintf(to, "input\toutput\tstatus\tmessage\n");
    for (int i = 0; i < l->count; i++) {
        const row *one = &l->row[i];
        fprintf(to, "%s\t%s\t%s\t%s\n", one->file[INPUT], one->file[OUTPUT],
                one->done ? "done" : one->message ? "failed" : "waiting", one->message ? one->message : "");
    }
}

int cli_apply_list(command *cli, const char *path, const char *summary, const cli_apply *common)
{
    static const char *const names[] = {"input", "output", "reference", "transforms", NULL};
    int status = CLVOX_OK, failed = 0, done = 0;
    list l = {.path = path, .common = common};
    CLI_TRY(cli_table_read(&(cli_table){path, names, 2, read_row, &l}));
    if (!l.count) {
        status = clvox_fail(CLVOX_ERROR_FORMAT, "%s: there is no image in it", path);
        goto end;
    }
    CLI_TRY(claim(cli, &l));
    CLI_TRY(cli_open(cli));
    status = solve_all(cli, &l);
    for (int i = 0; i < l.count; i++) {
        done += l.row[i].done;
        failed += l.row[i].message != NULL;
        if (l.row[i].message)
            cli_remark(cli, 0, "%s: failed: %s\n", l.row[i].file[OUTPUT], l.row[i].message);
    }
    if (status < 0 && status != CLVOX_ERROR_STOPPED)
        goto end;
    if (summary) {
        const int written = cli_table_write(summary, print_summary, &l);
        if (written < 0) {
            status = written;
            goto end;
        }
        cli_log_output(cli, summary);
    }
    cJSON *to = cJSON_AddObjectToObject(cli->log, "result");
    cJSON_AddNumberToObject(to, "images", l.count);
    cJSON_AddNumberToObject(to, "done", done);
    cJSON_AddNumberToObject(to, "failed", failed);
    cli_print(cli, "%-20s %d done, %d failed\n", "images", done, failed);
    if (status >= 0 && failed)
        status = clvox_fail(CLVOX_ERROR_DATA, "%d of %d images failed", failed, l.count);
end:
    for (int i = 0; i < l.count; i++) {
        for (int k = 0; k < FILES; k++)
            free(l.row[i].file[k]);
        for (int k = 0; k < l.row[i].transforms.count; k++)
            free((char *)l.row[i].transforms.item[k]);
        free(l.row[i].message);
    }
    free(l.row);
    return status;
}
