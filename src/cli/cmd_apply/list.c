/* SPDX-License-Identifier: Apache-2.0 */
/* apply --list: many images in one process; some are written while the device has the next. */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/bar.h"
#include "cli/claims.h"
#include "cli/cmd_apply/apply.h"
#include "clvox/command/table.h"
#include "clvox/files.h"

enum { INPUT, OUTPUT, REFERENCE, FILES };

typedef enum state { WAITING, DONE, PRESENT, FAILED } state;
static const char *const states[] = {"waiting", "done", "present", "failed"};

typedef struct row {
    char *file[FILES];
    cli_texts transforms; /* the row's own */
    state state;
    uint64_t key;  /* of all that the result hangs on */
    char *message; /* why not */
} row;

typedef struct list {
    const char *path, *summary; /* NULL: nobody asked for one, and nothing is taken up again */
    const cli_apply *common;
    row *row;
    int count;
    double written; /* when the summary was */
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
        char *path = clvox_table_path(l->path, word + bracket), *whole = path ? malloc(strlen(path) + 2) : NULL;
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
    row *longer = reallocarray(l->row, (size_t)l->count + 1, sizeof *longer), *one;
    if (!longer)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    l->row = longer;
    one = &l->row[l->count++];
    *one = (row){.state = WAITING};
    for (int k = 0; k < FILES; k++) {
        const bool own = field[k] && *field[k] && strcmp(field[k], "n/a") != 0;
        one->file[k] = own ? clvox_table_path(l->path, field[k]) : NULL;
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

/* ---- what is there already ----------------------------------------------- */

static void hash_text(uint64_t *hash, const char *text)
{
    for (const char *c = text ? text : ""; *c; c++)
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
    if (!word || clvox_link_word(word, &file, &inverse) < 0)
        return;
    if (!stat(file, &info))
        snprintf(when, sizeof when, "%lld %lld.%09ld", (long long)info.st_size,
                 (long long)info.st_mtim.tv_sec, info.st_mtim.tv_nsec);
    hash_text(hash, when);
    free(file);
}

/* Word number `at` of "auto|linear". */
static const char *word(const char *words, int at, char out[16])
{
    for (; at > 0 && *words; at--)
        words += strcspn(words, "|") + 1;
    snprintf(out, 16, "%.*s", (int)strcspn(words, "|"), words);
    return out;
}

static uint64_t key_of(const command *cli, const list *l, const row *one)
{
    const clvox_device_limits *device = clvox_context_limits(cli->ctx);
    const cli_apply *a = l->common;
    const cli_texts *chain = one->transforms.count ? &one->transforms : &a->transforms;
    char options[256], text[4][16];
    uint64_t hash = UINT64_C(14695981039346656037);
    snprintf(options, sizeof options,
             "forward %d mass %d outside %a order %s interp %s reorient %s output-type %s", a->forward,
             a->mass, (double)a->how.outside, word(CLI_TENSOR_ORDERS, (int)a->order, text[0]),
             word("auto|nearest|linear|cubic|label|bspline|lanczos|gaussian", (int)a->how.interpolation,
                  text[1]),
             word("auto|fs|ppd|none", (int)a->how.reorientation, text[2]),
             word("auto|input|float|double|short|ushort|uchar|int", (int)a->how.output, text[3]));
    hash_text(&hash, clvox_version());
    hash_text(&hash, device->name);
    hash_text(&hash, device->driver);
    hash_text(&hash, options);
    hash_file(&hash, one->file[INPUT]);
    hash_file(&hash, one->file[REFERENCE] ? one->file[REFERENCE] : a->reference);
    for (int k = 0; k < chain->count; k++)
        hash_file(&hash, chain->item[k]);
    return hash;
}

/* A row of the summary of an earlier run: complete where it was, with the same key, and its file is there. */
static int take_row(void *user, int line, const char *const *field)
{
    list *l = user;
    (void)line;
    const uint64_t key = field[2] ? strtoull(field[2], NULL, 16) : 0;
    if (strcmp(field[1], states[DONE]) != 0 && strcmp(field[1], states[PRESENT]) != 0)
        return CLVOX_OK;
    for (int i = 0; i < l->count; i++)
        if (l->row[i].key == key && !strcmp(l->row[i].file[OUTPUT], field[0]) && !access(field[0], F_OK))
            l->row[i].state = PRESENT;
    return CLVOX_OK;
}

static void find_present(const command *cli, list *l)
{
    static const char *const names[] = {"output", "status", "key", NULL};
    for (int i = 0; i < l->count; i++)
        l->row[i].key = key_of(cli, l, &l->row[i]);
    if (l->summary && !access(l->summary, R_OK))
        clvox_table_read(&(clvox_table){l->summary, names, 3, take_row, l}); /* another table: nothing is there */
}

/* Sweeps the files of a run that was killed. */
static void sweep(const list *l)
{
    char swept[PATH_MAX] = "";
    if (l->summary)
        clvox_sweep_beside(l->summary, swept);
    for (int i = 0; i < l->count; i++)
        if (l->row[i].state == WAITING)
            clvox_sweep_beside(l->row[i].file[OUTPUT], swept);
}

static void print_summary(FILE *to, const void *what)
{
    const list *l = what;
    fprintf(to, "input\toutput\tstatus\tmessage\tkey\n");
    for (int i = 0; i < l->count; i++) {
        const row *one = &l->row[i];
        const char *const text[] = {one->file[INPUT], one->file[OUTPUT], states[one->state], one->message};
        clvox_table_fields(to, text, 4);
        fprintf(to, "\t%016" PRIx64 "\n", one->key);
    }
}

/* Finished work stays finished, also if the run is killed soon after. */
static void keep_summary(list *l)
{
    if (!l->summary || cli_seconds() - l->written < 1)
        return;
    (void)clvox_table_write(l->summary, print_summary,
                            l); /* the last attempt, at the end, reports a failure */
    l->written = cli_seconds();
}

/* ---- images --------------------------------------------------------------- */

static void *write_out(void *user)
{
    writing *w = user;
    w->status = cli_apply_write(&w->apply, w->out);
    if (w->status < 0) /* the sentence belongs to this thread */
        snprintf(w->message, sizeof w->message, "%s", clvox_message());
    return NULL;
}

static void finish(command *cli, list *l, writing *w)
{
    if (!w->out)
        return;
    if (w->apart)
        pthread_join(w->thread, NULL);
    w->row->state = w->status >= 0 ? DONE : FAILED;
    if (w->status >= 0)
        cli_log_output(cli, w->apply.out);
    else
        w->row->message = strdup(w->message);
    clvox_volume_destroy(&w->out);
    keep_summary(l);
}

static int solve_all(command *cli, list *l, int jobs, int waiting)
{
    int status = CLVOX_OK, solved = 0;
    writing *slot = calloc((size_t)jobs, sizeof *slot);
    cli_bar bar;
    if (!slot)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    cli_bar_begin(&bar, cli);
    for (int i = 0; i < l->count && !cli_interrupted() && !clvox_files_full(); i++) {
        row *one = &l->row[i];
        clvox_volume *out;
        char text[64];
        cli_apply a = *l->common;
        if (one->state != WAITING)
            continue;
        a.image = one->file[INPUT];
        a.out = one->file[OUTPUT];
        if (one->file[REFERENCE])
            a.reference = one->file[REFERENCE];
        if (one->transforms.count)
            a.transforms = one->transforms;
        snprintf(text, sizeof text, "image %d of %d", solved + 1, waiting);
        if (cli_bar_due(&bar, (double)solved / waiting))
            cli_bar_show(&bar, (double)solved / waiting, text);
        writing *now = &slot[solved++ % jobs];
        const int made = cli_apply_make(cli, &a, &out);
        finish(cli, l, now); /* the oldest */
        if (made < 0) {
            one->state = FAILED;
            one->message = strdup(clvox_message());
            continue;
        }
        *now = (writing){.apply = a, .row = one, .out = out};
        now->apart = !pthread_create(&now->thread, NULL, write_out, now);
        if (!now->apart)
            write_out(now);
    }
    for (int i = 0; i < jobs; i++)
        finish(cli, l, &slot[(solved + i) % jobs]);
    cli_bar_end(&bar);
    free(slot);
    if (cli_interrupted())
        status = clvox_fail(CLVOX_ERROR_STOPPED, "interrupted");
    return status;
}

static void count_rows(const list *l, int count[FAILED + 1])
{
    memset(count, 0, (FAILED + 1) * sizeof *count);
    for (int i = 0; i < l->count; i++)
        count[l->row[i].state]++;
}

int cli_apply_list(command *cli, const char *path, const char *summary, int jobs, const cli_apply *common)
{
    static const char *const names[] = {"input", "output", "reference", "transforms", NULL};
    int status = CLVOX_OK, count[FAILED + 1];
    list l = {.path = path, .summary = summary, .common = common};
    CLI_TRY(clvox_table_read(&(clvox_table){path, names, 2, read_row, &l}));
    if (!l.count) {
        status = clvox_fail(CLVOX_ERROR_FORMAT, "%s: there is no image in it", path);
        goto end;
    }
    CLI_TRY(claim(cli, &l));
    CLI_TRY(cli_open(cli));
    find_present(cli, &l);
    count_rows(&l, count);
    /* From here on what an earlier run has done by other options is not. */
    if (summary)
        CLI_TRY(clvox_table_write(summary, print_summary, &l));
    if (count[PRESENT])
        cli_remark(cli, 0, "plan     %d images, %d of them complete\n", l.count, count[PRESENT]);
    sweep(&l);
    status = solve_all(cli, &l, jobs ? jobs : cli_default_jobs(), count[WAITING]);
    for (int i = 0; i < l.count; i++)
        if (l.row[i].message)
            cli_remark(cli, 0, "%s: failed: %s\n", l.row[i].file[OUTPUT], l.row[i].message);
    count_rows(&l, count);
    if (status < 0 && status != CLVOX_ERROR_STOPPED)
        goto end;
    const int written = summary ? clvox_table_write(summary, print_summary, &l) : CLVOX_OK;
    const char *full = clvox_files_full();
    if (written < 0 && !full) {
        status = written;
        goto end;
    }
    if (summary && written >= 0)
        cli_log_output(cli, summary);
    if (status < 0 && summary && written >= 0)
        cli_remark(cli, 0, "%s says which images are done: the same command makes the others\n", summary);
    cJSON *to = cJSON_AddObjectToObject(cli->log, "result");
    cJSON_AddNumberToObject(to, "images", l.count);
    cJSON_AddNumberToObject(to, "done", count[DONE]);
    cJSON_AddNumberToObject(to, "present", count[PRESENT]);
    cJSON_AddNumberToObject(to, "failed", count[FAILED]);
    cli_print(cli, "%-20s %d done, %d present, %d failed\n", "images", count[DONE], count[PRESENT],
              count[FAILED]);
    if (status >= 0 && full)
        status =
            clvox_fail(CLVOX_ERROR_FILE, "%s: there is no room for it on its disk; make room, and %s", full,
                       summary ? "the same command makes the images that are missing" : "run this again");
    else if (status >= 0 && count[FAILED])
        status = clvox_fail(CLVOX_ERROR_DATA, "%d of %d images failed", count[FAILED], l.count);
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
