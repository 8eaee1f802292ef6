/* SPDX-License-Identifier: Apache-2.0 */
/* register --list: many pairs in one process. Each device solves one while its next is read and its last
 * ones are written. */
#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/bids.h"
#include "cli/cmd_register/list_page.h"
#include "cli/cmd_register/pair.h"
#include "cli/table.h"
#include "clvox/files.h"
#include "clvox/threads.h"

enum { FIXED, MOVING, OUTPUT, FIXED_MASK, MOVING_MASK, LABELS, FILES };

typedef enum state { WAITING, DONE, PRESENT, FAILED } state;

typedef struct row {
    char *file[FILES]; /* OUTPUT: a prefix, or the warped image of BIDS derivatives without its ending */
    cli_pair_names names;
    state state;
    char *message, *doubts;
    double before, after, ncc, folded, seconds;
} row;

typedef struct list {
    const cli_register_request *request;
    const clvox_register_options *options;
    row *row;
    int count;
} list;

/* A pair on its way, with a log and claims of its own. */
typedef struct job {
    command cli;
    cli_pair pair;
    row *row;
    int threads; /* that write its files: those of all devices write side by side */
    pthread_t thread;
    bool apart;
    int status;
    char message[2048];
} job;

/* ---- the list ------------------------------------------------------------ */

/* What is typed for a row of a list, as for one pair. */
static void request_of(const list *l, const row *one, cli_register_request *r)
{
    *r = *l->request;
    r->fixed = (cli_texts){{one->file[FIXED]}, 1};
    r->moving = (cli_texts){{one->file[MOVING]}, 1};
    r->weight[0] = 1;
    r->prefix = l->request->derivatives ? NULL : one->file[OUTPUT];
    r->fixed_mask = one->file[FIXED_MASK];
    r->moving_mask = one->file[MOVING_MASK];
    r->labels = one->file[LABELS];
}

static int name_row(const list *l, row *one)
{
    int status = CLVOX_OK;
    char path[PATH_MAX], stem[PATH_MAX];
    cli_register_request r;
    request_of(l, one, &r);
    CLI_TRY(cli_pair_names_make(&r, &one->names));
    if (!r.derivatives)
        goto end;
    free(one->file[OUTPUT]);
    one->file[OUTPUT] =
        cli_bids_ending(cli_pair_path(&one->names, CLI_PAIR_WARPED, path), "", stem) ? strdup(stem) : NULL;
    status = one->file[OUTPUT] ? CLVOX_OK : clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
end:
    return status;
}

/* What a row's files begin with, as -o is understood. */
static int read_prefix(const cli_register_request *r, int line, const char *field, char prefix[PATH_MAX])
{
    snprintf(prefix, PATH_MAX, *field == '/' ? "%.0s%s" : "%s/%s", r->prefix, field);
    size_t length = strlen(prefix);
    if (prefix[length - 1] == '/' || length > PATH_MAX - 64)
        return clvox_fail(CLVOX_ERROR_FORMAT, "%s, line %d: %s cannot begin the names of files", r->list,
                          line, field);
    while (prefix[length - 1] == '_' && prefix[length - 2] != '/')
        prefix[--length] = 0;
    return CLVOX_OK;
}

static int read_row(void *user, int line, const char *const *field)
{
    list *l = user;
    const cli_register_request *r = l->request;
    const char *common[FILES] = {[FIXED_MASK] = r->fixed_mask, [MOVING_MASK] = r->moving_mask, [LABELS] = r->labels};
    char prefix[PATH_MAX] = "";
    int status;
    row *longer = reallocarray(l->row, (size_t)l->count + 1, sizeof *longer), *one;
    if (!longer)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    l->row = longer;
    one = &l->row[l->count++];
    *one = (row){.before = NAN, .after = NAN, .ncc = NAN, .folded = NAN, .seconds = NAN};
    if (!r->derivatives && (status = read_prefix(r, line, field[OUTPUT], prefix)) < 0)
        return status;
    for (int k = 0; k < FILES; k++) {
        const bool own = field[k] && *field[k] && strcmp(field[k], "n/a") != 0;
        one->file[k] = k == OUTPUT ? strdup(prefix) : own ? clvox_table_path(r->list, field[k]) : NULL;
        if (!own && common[k])
            one->file[k] = strdup(common[k]);
        if (!one->file[k] && (own || common[k]))
            return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    }
    if (!one->file[FIXED] || !one->file[MOVING])
        return clvox_fail(CLVOX_ERROR_FORMAT, "%s, line %d: a pair needs a fixed and a moving image", r->list,
                          line);
    return name_row(l, one);
}

/* A file that a pair will write, by its place, and what the list calls it. */
typedef struct named {
    char *place;
    const char *output;
} named;

static int by_name(const void *a, const void *b)
{
    return strcmp(((const named *)a)->place, ((const named *)b)->place);
}

static int by_place(const void *a, const void *b)
{
    const struct stat *x = a, *y = b;
    return x->st_dev != y->st_dev ? (x->st_dev > y->st_dev) - (x->st_dev < y->st_dev)
                                  : (x->st_ino > y->st_ino) - (x->st_ino < y->st_ino);
}

/* No two pairs write the same files, and none writes what another reads. */
static int check_places(const list *l)
{
    int status = CLVOX_OK, places = 0, files = 0;
    named *file = calloc((size_t)l->count, CLI_PAIR_ENDS * sizeof *file);
    struct stat *place = calloc((size_t)l->count, FILES * sizeof *place), info;
    cli_end ends[CLI_PAIR_ENDS];
    char path[PATH_MAX];
    if (!file || !place) {
        status = clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
        goto end;
    }
    for (int i = 0; i < l->count; i++)
        for (int k = 0; k < FILES; k++)
            if (k != OUTPUT && l->row[i].file[k] && !stat(l->row[i].file[k], &place[places]))
                places++;
    qsort(place, (size_t)places, sizeof *place, by_place);
    for (int i = 0; i < l->count; i++) {
        cli_pair_ends(&l->row[i].names, l->request, l->options, ends);
        for (const cli_end *e = ends; e->end; e++) {
            snprintf(path, sizeof path, "%s%s", l->row[i].names.prefix, e->end);
            file[files] = (named){cli_place(path), l->row[i].file[OUTPUT]};
            if (!file[files++].place) {
                status = clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
                goto end;
            }
            if (stat(path, &info) || !bsearch(&info, place, (size_t)places, sizeof *place, by_place))
                continue;
            status =
                clvox_fail(CLVOX_ERROR_FILE, "%s: is an input of the list and would be overwritten", path);
            goto end;
        }
    }
    qsort(file, (size_t)files, sizeof *file, by_name);
    for (int i = 1; i < files; i++)
        if (!strcmp(file[i - 1].place, file[i].place)) {
            const bool spelt = strcmp(file[i - 1].output, file[i].output) != 0;
            status = clvox_fail(CLVOX_ERROR_DATA, "%s: two pairs have the output %s%s%s%s", l->request->list,
                                file[i].output, spelt ? " (also called " : "",
                                spelt ? file[i - 1].output : "", spelt ? ")" : "");
            goto end;
        }
end:
    for (int i = 0; file && i < files; i++)
        free(file[i].place);
    free(file);
    free(place);
    return status;
}

/* ---- what is there already ----------------------------------------------- */

static void add_file(cJSON *to, const char *name, const char *path)
{
    struct stat info = {0};
    cJSON *file = path ? cJSON_AddArrayToObject(to, name) : NULL;
    if (!file)
        return;
    char when[64] = "";
    if (!stat(path, &info))
        snprintf(when, sizeof when, "%lld %lld.%09ld", (long long)info.st_size, (long long)info.st_mtim.tv_sec,
                 info.st_mtim.tv_nsec);
    cJSON_AddItemToArray(file, cJSON_CreateString(path));
    cJSON_AddItemToArray(file, cJSON_CreateString(when));
}

/* All that a result hangs on, as one text; the caller's to free. NULL without memory. */
static char *key_of(const command *cli, const list *l, const row *one)
{
    static const char *const names[FILES] = {"fixed", "moving", NULL, "fixed_mask", "moving_mask", "labels"};
    const cli_register_request *r = l->request;
    const clvox_device_limits *device = clvox_context_limits(cli->ctx);
    cJSON *key = cJSON_CreateObject(), *options = cJSON_AddObjectToObject(key, "options");
    cJSON_AddStringToObject(key, "version", clvox_version());
    cJSON_AddStringToObject(key, "device", device->name);
    cJSON_AddStringToObject(key, "driver", device->driver);
    cJSON_AddStringToObject(options, "preset", cli_preset_name(&r->presets));
    cJSON_AddBoolToObject(options, "picture", !r->no_picture);
    if (r->report)
        cJSON_AddBoolToObject(options, "report", true);
    clvox_option_text text;
    for (int i = 0; clvox_option_describe(clvox_register_table(), i, &text); i++)
        if (text.name && r->given[i])
            cJSON_AddStringToObject(options, text.name, r->given[i]);
    if (l->options->init == CLVOX_INIT_MATRIX)
        cJSON_AddItemToObject(options, "matrix", cJSON_CreateDoubleArray(&l->options->matrix[0][0], 16));
    for (int k = 0; k < FILES; k++)
        if (names[k])
            add_file(key, names[k], one->file[k]);
    add_file(key, "linear_fixed_mask", r->linear_fixed_mask);
    add_file(key, "linear_moving_mask", r->linear_moving_mask);
    add_file(key, "initial_warp", r->initial_warp);
    char *printed = cJSON_PrintUnformatted(key);
    cJSON_Delete(key);
    return printed;
}

static double number_of(const cJSON *result, const char *name)
{
    const cJSON *item = cJSON_GetObjectItem(result, name);
    return cJSON_IsNumber(item) ? item->valuedouble : NAN;
}

/* What the log of a pair says of it. */
static void take_result(row *one, const cJSON *log)
{
    const cJSON *result = cJSON_GetObjectItem(log, "result"), *doubt;
    char doubts[256] = "";
    one->before = number_of(result, "metric_before");
    one->after = number_of(result, "metric_after");
    one->ncc = number_of(result, "ncc_after");
    one->folded = number_of(cJSON_GetObjectItem(result, "jacobian"), "folded");
    one->seconds = number_of(log, "seconds");
    cJSON_ArrayForEach(doubt, cJSON_GetObjectItem(result, "suspicions"))
        snprintf(doubts + strlen(doubts), sizeof doubts - strlen(doubts), "%s%s", *doubts ? "," : "",
                 cJSON_IsString(doubt) ? doubt->valuestring : "");
    free(one->doubts);
    one->doubts = strdup(doubts);
}

/* Whether the pair's log, which is written last, is of this run's options and inputs, and its files are there. */
static bool is_present(const command *cli, const list *l, row *one)
{
    char path[PATH_MAX], *text = NULL, *key = NULL;
    size_t size;
    bool same = false;
    struct stat info;
    if (stat(cli_pair_path(&one->names, CLI_PAIR_LOG, path), &info) ||
        clvox_file_read(path, (size_t)64 << 20, &text, &size) < 0)
        return false;
    cJSON *log = cJSON_Parse(text);
    const cJSON *before = cJSON_GetObjectItem(log, "pair"), *file, *files = cJSON_GetObjectItem(log, "outputs");
    key = key_of(cli, l, one);
    same = key && cJSON_IsString(before) && !strcmp(before->valuestring, key) && cJSON_IsArray(files);
    if (same)
        cJSON_ArrayForEach(file, files)
            same = same && cJSON_IsString(file) && !access(file->valuestring, F_OK);
    if (same)
        take_result(one, log);
    cJSON_Delete(log);
    cJSON_free(key);
    free(text);
    return same;
}

/* ---- one pair ------------------------------------------------------------ */

static void fail(row *one, const char *message)
{
    one->state = FAILED;
    free(one->message);
    one->message = strdup(message);
}

static int keep(job *j, int status)
{
    j->status = status;
    if (status < 0) /* the sentence belongs to this thread: take it along */
        snprintf(j->message, sizeof j->message, "%s", clvox_message());
    return status;
}

static void *read_pair(void *user)
{
    job *j = user;
    keep(j, cli_pair_read(&j->pair, false));
    return NULL;
}

static void *save_pair(void *user)
{
    job *j = user;
    char path[PATH_MAX];
    const int before = clvox_threads_own(j->threads);
    /* From here on the files of an earlier run are not complete. */
    unlink(cli_pair_path(&j->pair.names, CLI_PAIR_LOG, path));
    keep(j, cli_pair_save(&j->pair, false));
    clvox_threads_own(before);
    return NULL;
}

static void begin(job *j, void *(*work)(void *))
{
    j->apart = !pthread_create(&j->thread, NULL, work, j);
    if (!j->apart)
        work(j);
}

static void wait_for(job *j)
{
    if (j->apart)
        pthread_join(j->thread, NULL);
    j->apart = false;
}

static job *job_of(const command *cli, clvox_context *ctx, const list *l, row *one)
{
    job *j = calloc(1, sizeof *j);
    if (!j)
        return NULL;
    j->row = one;
    j->threads = (clvox_threads() + cli->more_count - 1) / cli->more_count;
    j->cli = *cli;
    j->cli.ctx = ctx;
    j->cli.more = NULL;
    j->cli.more_count = 0;
    j->cli.json = NULL;
    j->cli.claims = NULL;
    j->cli.profile = false;
    j->cli.quiet = j->cli.silent = true;
    j->cli.started = cli_seconds();
    j->cli.log = cJSON_Duplicate(cli->log, true);
    char *key = key_of(cli, l, one);
    cJSON_AddStringToObject(j->cli.log, "pair", key ? key : "");
    cJSON_free(key);
    j->pair.cli = &j->cli;
    j->pair.options = *l->options;
    request_of(l, one, &j->pair.request);
    begin(j, read_pair);
    return j;
}

/* Its row is what stays of it. */
static void finish(const command *cli, job **at)
{
    job *j = *at;
    if (!j)
        return;
    wait_for(j);
    if (cJSON_GetObjectItem(j->cli.log, "result"))
        take_result(j->row, j->cli.log);
    if (j->status >= 0) {
        j->row->state = DONE;
    } else if (j->status != CLVOX_ERROR_STOPPED) {
        fail(j->row, j->message);
        cli_remark(cli, 0, "%s: failed: %s\n", j->row->file[OUTPUT], j->message);
    }
    cli_pair_free(&j->pair);
    cli_claims_free(&j->cli);
    cJSON_Delete(j->cli.log);
    free(j);
    *at = NULL;
}

/* ---- the run ------------------------------------------------------------- */

static const char *const states[] = {"waiting", "done", "present", "failed"};

static void print_summary(FILE *to, const void *what)
{
    const list *l = what;
    fprintf(to, "fixed\tmoving\toutput\tstatus\tmetric_before\tmetric_after\tncc\tfolded\tseconds\tsuspicions\tmessage\n");
    for (int i = 0; i < l->count; i++) {
        const row *one = &l->row[i];
        const char *const text[] = {one->file[FIXED], one->file[MOVING], one->file[OUTPUT],
                                    states[one->state]};
        const char *const rest[] = {"", one->doubts, one->message};
        cli_table_fields(to, text, 4);
        cli_table_number(to, "%.6g", one->before);
        cli_table_number(to, "%.6g", one->after);
        cli_table_number(to, "%.6g", one->ncc);
        cli_table_number(to, "%.0f", one->folded);
        cli_table_number(to, "%.3f", one->seconds);
        cli_table_fields(to, rest, 3);
        fputc('\n', to);
    }
}

static int write_page(command *cli, const list *l, const char *folder)
{
    cli_list_entry *entries = calloc((size_t)l->count, sizeof *entries);
    if (!entries)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    for (int i = 0; i < l->count; i++) {
        const row *one = &l->row[i];
        /* What --strict refuses has its files, and suspicions. */
        const bool ready = one->state == DONE || one->state == PRESENT || (one->doubts && *one->doubts);
        const char *name = one->file[OUTPUT];
        const size_t length = strlen(l->request->derivatives ? one->names.prefix : folder);
        if (l->request->derivatives)
            name += length;
        else if (!strncmp(name, folder, length) && name[length] == '/')
            name += length + 1;
        char page[PATH_MAX], address[PATH_MAX + 16];
        cli_pair_path(&one->names, CLI_PAIR_PAGE, page);
        snprintf(address, sizeof address, l->request->derivatives ? "../%.0s%s" : "%s%s", name,
                 one->names.end[CLI_PAIR_PAGE]);
        entries[i] = (cli_list_entry){
            name,         strdup(page),         strdup(address), states[one->state], one->doubts,
            one->message, one->state == FAILED, ready,           one->before,        one->after,
            one->ncc,     one->folded,          one->seconds};
    }
    int status = CLVOX_OK;
    for (int i = 0; i < l->count && status >= 0; i++)
        if (!entries[i].page || !entries[i].address)
            status = clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    if (status >= 0)
        status = cli_list_page(cli, folder, entries, l->count);
    for (int i = 0; i < l->count; i++) {
        free(entries[i].page);
        free(entries[i].address);
    }
    free(entries);
    return status;
}

/* The pairs that wait, and the devices that take them. */
typedef struct work {
    command *cli;
    list *list;
    pthread_mutex_t lock; /* guards the ones below */
    cli_bar bar;
    int next, waiting, solved;
} work;

typedef struct solver {
    work *work;
    clvox_context *ctx;
    pthread_t thread;
} solver;

/* The next pair that waits, being read; NULL: there is none, or no memory for it. */
static job *next_job(const solver *s)
{
    work *w = s->work;
    row *one = NULL;
    pthread_mutex_lock(&w->lock);
    for (; !one && w->next < w->list->count; w->next++)
        if (w->list->row[w->next].state == WAITING)
            one = &w->list->row[w->next];
    pthread_mutex_unlock(&w->lock);
    return one ? job_of(w->cli, s->ctx, w->list, one) : NULL;
}

static void show(work *w)
{
    char text[64];
    pthread_mutex_lock(&w->lock);
    snprintf(text, sizeof text, "pair %d of %d", ++w->solved, w->waiting);
    if (cli_bar_due(&w->bar, (double)(w->solved - 1) / w->waiting))
        cli_bar_show(&w->bar, (double)(w->solved - 1) / w->waiting, text);
    pthread_mutex_unlock(&w->lock);
}

/* What a device does: while it solves a pair, its next one is read and its last ones are written. Once a disk
 * is full no further pair is solved. */
static void *solve_on_device(void *user)
{
    const solver *s = user;
    const int room = s->work->list->request->jobs ? s->work->list->request->jobs : cli_default_jobs();
    job *saved[CLI_MOST_JOBS] = {NULL}, *next = next_job(s), *now = NULL;
    for (int solved = 0; next && !cli_interrupted() && !clvox_files_full(); solved++) {
        show(s->work);
        now = next;
        wait_for(now);
        next = next_job(s);
        if (now->status >= 0)
            keep(now, cli_pair_solve(&now->pair));
        cli_log_wisdom(&now->cli);
        now->cli.ctx = NULL; /* the device is this thread's */
        finish(s->work->cli, &saved[solved % room]); /* the oldest */
        if (now->status >= 0)
            begin(now, save_pair);
        saved[solved % room] = now;
    }
    if (next) { /* read and not solved: it waits */
        wait_for(next);
        next->status = CLVOX_ERROR_STOPPED;
    }
    for (int i = 0; i < room; i++)
        finish(s->work->cli, &saved[i]);
    finish(s->work->cli, &next);
    return NULL;
}

static int solve_all(command *cli, list *l, int waiting)
{
    int started = 1;
    work w = {.cli = cli, .list = l, .lock = PTHREAD_MUTEX_INITIALIZER, .waiting = waiting};
    solver *solvers = calloc((size_t)cli->more_count, sizeof *solvers);
    if (!solvers)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    cli_bar_begin(&w.bar, cli);
    solvers[0] = (solver){.work = &w, .ctx = cli->ctx};
    /* Fewer threads than devices is slower, not wrong. */
    for (; started < cli->more_count; started++) {
        solvers[started] = (solver){.work = &w, .ctx = cli->more[started]};
        if (pthread_create(&solvers[started].thread, NULL, solve_on_device, &solvers[started]))
            break;
    }
    solve_on_device(&solvers[0]);
    for (int i = 1; i < started; i++)
        pthread_join(solvers[i].thread, NULL);
    free(solvers);
    cli_bar_end(&w.bar);
    pthread_mutex_destroy(&w.lock);
    if (cli_interrupted())
        return clvox_fail(CLVOX_ERROR_STOPPED, "interrupted");
    for (int i = 0; i < l->count && !clvox_files_full(); i++)
        if (l->row[i].state == WAITING)
            return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    return CLVOX_OK;
}

/* Of a run that was killed. Derivatives have folders for images, figures and logs. */
static void sweep(const list *l, const char *summary)
{
    static const int files[] = {CLI_PAIR_LOG, CLI_PAIR_WARPED, CLI_PAIR_PICTURE};
    char path[PATH_MAX], swept[PATH_MAX] = "";
    cli_sweep_beside(summary, swept);
    for (int k = 0; k < (l->request->derivatives ? 3 : 1); k++)
        for (int i = 0; i < l->count; i++)
            if (l->row[i].state == WAITING)
                cli_sweep_beside(cli_pair_path(&l->row[i].names, files[k], path), swept);
}

/* What is complete is told by the first device's name and driver, and holds for all of them. */
static int check_devices(const command *cli)
{
    const clvox_device_limits *first = clvox_context_limits(cli->ctx);
    for (int i = 1; i < cli->more_count; i++) {
        const clvox_device_limits *other = clvox_context_limits(cli->more[i]);
        if (strcmp(first->name, other->name) != 0 || strcmp(first->driver, other->driver) != 0)
            return clvox_fail(
                CLVOX_ERROR_DEVICE,
                "the devices of a list must be of one model and driver; here are %s (%s) and %s (%s)",
                first->name, first->driver, other->name, other->driver);
    }
    return CLVOX_OK;
}

/* Whether several of these fit into a CPU's memory as a rule; one alone would have a part of the cores. */
static bool take_little(const clvox_register_options *o)
{
    return o->deform != CLVOX_DEFORM_LDDMM && o->deform != CLVOX_DEFORM_SHOOTING && !(o->mind_weight > 0);
}

int cli_register_list(command *cli, const cli_register_request *r, const clvox_register_options *o)
{
    static const char *const names[] = {"fixed", "moving", "output", "fixed_mask", "moving_mask", "labels", NULL};
    int status = CLVOX_OK, count[FAILED + 1] = {0};
    char path[PATH_MAX + 16], page[PATH_MAX + 16], folder[PATH_MAX];
    list l = {.request = r, .options = o};
    CLI_TRY(clvox_table_read(&(clvox_table){r->list, names, r->derivatives ? OUTPUT : OUTPUT + 1, read_row, &l}));
    if (!l.count) {
        status = clvox_fail(CLVOX_ERROR_FORMAT, "%s: there is no pair in it", r->list);
        goto end;
    }
    CLI_TRY(check_places(&l));
    for (int i = 0; r->derivatives && i < l.count; i++)
        CLI_TRY(cli_derivative_check(r->derivatives, l.row[i].file[MOVING]));
    snprintf(folder, sizeof folder, r->derivatives ? "%s/logs" : "%s",
             r->derivatives ? r->derivatives : r->prefix);
    snprintf(path, sizeof path, "%s/summary.tsv", folder);
    if (r->summary)
        snprintf(path, sizeof path, "%s", r->summary);
    else
        CLI_TRY(cli_claim_output(cli, "output", path));
    CLI_TRY(clvox_folders_make(path));
    snprintf(page, sizeof page, "%s/summary.html", folder);
    if (r->report) {
        CLI_TRY(cli_claim_output(cli, "report", page));
        CLI_TRY(clvox_folders_make(page));
    }
    CLI_TRY(cli_claims_check(cli));
    cli_register_request first;
    request_of(&l, l.row, &first);
    cli_pair_warm(cli, &first, o);
    CLI_TRY(cli_open_all(cli, r->at_once, CLI_MOST_AT_ONCE, take_little(o)));
    CLI_TRY(check_devices(cli));
    cli_keep_memory(cli);
    for (int i = 0; i < l.count; i++) {
        row *one = &l.row[i];
        if (!is_present(cli, &l, one))
            continue;
        one->state = PRESENT;
        if (r->strict && one->doubts && *one->doubts)
            fail(one, "the result looks wrong; the files were written, look at them");
    }
    for (int i = 0; i < l.count; i++)
        count[l.row[i].state]++;
    cli_remark(cli, 0, "plan     %d pairs, %d of them complete\n", l.count, l.count - count[WAITING]);
    sweep(&l, path);
    status = solve_all(cli, &l, count[WAITING]);
    char message[256];
    snprintf(message, sizeof message, "%s", clvox_message());
    const int written = cli_table_write(path, print_summary, &l);
    if (status < 0) {
        if (status == CLVOX_ERROR_STOPPED && written >= 0)
            cli_remark(cli, 0, "%s says which pairs are done: the same command makes the others\n", path);
        status = clvox_fail((clvox_status)status, "%s", message);
        goto end;
    }
    const char *full = clvox_files_full();
    if (!full)
        CLI_TRY(written);
    if (written >= 0)
        cli_log_output(cli, path);
    if (r->report && !full)
        CLI_TRY(write_page(cli, &l, folder));
    memset(count, 0, sizeof count);
    for (int i = 0; i < l.count; i++)
        count[l.row[i].state]++;
    cJSON *to = cJSON_AddObjectToObject(cli->log, "result");
    cJSON_AddNumberToObject(to, "pairs", l.count);
    cJSON_AddNumberToObject(to, "done", count[DONE]);
    cJSON_AddNumberToObject(to, "present", count[PRESENT]);
    cJSON_AddNumberToObject(to, "failed", count[FAILED]);
    cli_print(cli, "%-20s %d done, %d present, %d failed\n", "pairs", count[DONE], count[PRESENT], count[FAILED]);
    CLI_TRY(cli_profile(cli));
    if (full)
        status =
            clvox_fail(CLVOX_ERROR_FILE,
                       "%s: there is no room for it on its disk; make room, and the same command makes the "
                       "pairs that are missing",
                       full);
    else if (count[FAILED])
        status =
            clvox_fail(CLVOX_ERROR_DATA, "%d of %d pairs failed; %s says why", count[FAILED], l.count, path);
end:
    for (int i = 0; i < l.count; i++) {
        for (int k = 0; k < FILES; k++)
            free(l.row[i].file[k]);
        cli_pair_names_free(&l.row[i].names);
        free(l.row[i].message);
        free(l.row[i].doubts);
    }
    free(l.row);
    return status;
}
