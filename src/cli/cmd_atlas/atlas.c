/* SPDX-License-Identifier: Apache-2.0 */
/* Templates of populations. */
#include "cli/cmd_atlas/atlas.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/bar.h"
#include "clvox/command/bids.h"
#include "clvox/command/label_names.h"
#include "clvox/files.h"

/* ---- the run ------------------------------------------------------------- */

/* Output of finished templates. */
typedef struct output {
    command *cli;
    const cli_atlas_request *r;
    const clvox_atlas_options *options;
    cJSON *log;  /* the result; for a regression its list of templates */
    FILE *lines; /* what is printed at the end */
    cli_atlas_maps maps;
    size_t device_bytes;
    int resident, resumed;
    double write_seconds;
    bool *left_out; /* by subject: it has been reported */
    clvox_context **contexts; /* that are being closed, in a thread */
    pthread_t closing;
    bool apart;
} output;

static void *close_devices(void *user)
{
    output *o = user;
    clvox_contexts_destroy(&o->contexts, o->cli->more_count);
    return NULL;
}

/* Closing the devices takes some tenths of a second, in which files are written and the state is removed. */
static void begin_to_close(output *o)
{
    command *cli = o->cli;
    if (!cli->ctx)
        return;
    cli_log_wisdom(cli);
    o->contexts = cli->more;
    o->contexts[0] = cli->ctx;
    cli->more = NULL;
    cli->ctx = NULL;
    o->apart = !pthread_create(&o->closing, NULL, close_devices, o);
}

static void end_closing(output *o)
{
    if (o->apart)
        pthread_join(o->closing, NULL);
    o->apart = false;
    clvox_contexts_destroy(&o->contexts, o->cli->more_count);
}

/* Notes the page of a template that an earlier run has finished, unless that run had no --report. */
static void note_page(command *cli, const cli_atlas_request *r, int at)
{
    char path[PATH_MAX];
    if (!access(cli_atlas_path(r, CLI_ATLAS_PAGE, at, path), F_OK))
        cli_log_output(cli, path);
    else
        cli_remark(cli, 0, "%s: the run that made this template had no --report; there is no page of it\n",
                   path);
}

static int take(void *user, int at, const clvox_atlas_result *result)
{
    output *o = user;
    cJSON *to = o->log;
    int status = CLVOX_OK;
    /* Files are written from the first map on, beside others that still come. */
    const double mark = o->maps.since > 0 ? o->maps.since : cli_seconds();
    CLI_TRY(cli_atlas_write(o->cli, o->r, at, result, &o->maps));
    if (o->r->ats)
        cJSON_AddItemToArray(o->log, to = cJSON_CreateObject());
    cli_atlas_report(to, o->r, at, result, o->lines);
    cli_atlas_doubts(o->cli, o->r, at, result);
    if (*result->unkept)
        cli_note(o->cli, "%s: the result is whole, but no run could have gone on from there", result->unkept);
    for (int i = 0; i < o->r->count; i++)
        if (*result->map[i].left_out && !o->left_out[i]) {
            cli_atlas_leave_out(o->cli, &o->r->entry[i], result->map[i].left_out);
            o->left_out[i] = true;
        }
    if (o->r->report && result->average)
        CLI_TRY(clvox_team_agree(o->cli->team,
                                 cli_is_first(o->cli) ? cli_atlas_page(o->cli, o->r, at, o->options, result)
                                                     : CLVOX_OK));
    else if (o->r->report)
        note_page(o->cli, o->r, at);
    o->device_bytes = result->device_bytes > o->device_bytes ? result->device_bytes : o->device_bytes;
    o->resident = result->resident > o->resident ? result->resident : o->resident;
    o->resumed = result->resumed > o->resumed ? result->resumed : o->resumed;
end:
    o->maps.since = 0;
    o->write_seconds += cli_seconds() - mark;
    return status;
}

/* Times, and maps. */
typedef struct times {
    cli_bar bar;
    cli_atlas_maps *maps;
    double steps[CLVOX_ATLAS_WORKS]; /* over all subjects and devices */
} times;

static int show(void *user, const clvox_step *step)
{
    return cli_bar_stage(&((times *)user)->bar, step);
}

static void add_time(void *user, clvox_atlas_work work, double seconds)
{
    times *t = user;
    t->steps[work] += seconds;
    if (work == CLVOX_ATLAS_HAND_OVER)
        cli_atlas_maps_came(t->maps, seconds);
}

static int take_map(void *user, clvox_context *ctx, int at, int subject, clvox_atlas_map *map)
{
    return cli_atlas_maps_take(((times *)user)->maps, ctx, at, subject, map);
}

static void report_times(command *cli, const cli_atlas_request *r, const times *t, double building,
                         double writing)
{
    const struct {
        const char *name;
        double seconds;
    } stage[] = {
        {"read", r->read_seconds}, {"devices", r->open_seconds}, {"template", building}, {"write", writing}};
    cJSON *to = cJSON_AddObjectToObject(cli->log, "seconds_by_stage");
    cli_remark(cli, 0, "seconds ");
    for (size_t i = 0; i < sizeof stage / sizeof *stage; i++) {
        cJSON_AddNumberToObject(to, stage[i].name, stage[i].seconds);
        cli_remark(cli, 0, " %s %.2f,", stage[i].name, stage[i].seconds);
    }
    cli_remark(cli, 0, " all %.2f\n", cli_seconds() - cli->started);
    to = cJSON_AddObjectToObject(cli->log, "seconds_by_step");
    for (int k = 0; k < CLVOX_ATLAS_WORKS; k++)
        if (t->steps[k] > 0)
            cJSON_AddNumberToObject(to, cli_atlas_works[k], t->steps[k]);
}

/* Builds, writes and reports. */
static int build(output *out, const clvox_atlas_subject *subjects, const clvox_atlas_options *o)
{
    int status = CLVOX_OK, kept = 0;
    const cli_atlas_request *r = out->r;
    clvox_atlas_result result = {.average = NULL};
    double *covariate = calloc((size_t)r->count, sizeof *covariate);
    out->options = o;
    out->left_out = calloc((size_t)r->count, sizeof *out->left_out);
    cJSON *to = out->log = cJSON_AddObjectToObject(out->cli->log, "result");
    if (!covariate || !out->left_out) {
        status = clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
        goto end;
    }
    for (int i = 0; i < r->count; i++)
        covariate[i] = r->entry[i].file->covariate;
    if (r->ats) {
        out->log = cJSON_AddArrayToObject(to, "templates");
        CLI_TRY(clvox_atlas_regress(
            out->cli->ctx, subjects, r->count, r->start[0], o,
            &(clvox_atlas_regression){covariate, r->at, r->ats, r->bandwidth, take, out}));
    } else {
        CLI_TRY(clvox_atlas(out->cli->ctx, subjects, r->count, r->start[0], o, &result));
        if (!r->report && !out->cli->profile)
            begin_to_close(out);
        CLI_TRY(take(out, 0, &result));
    }
    for (int i = 0; i < r->count; i++)
        kept += !out->left_out[i];
    cJSON_AddNumberToObject(to, "subjects", kept);
    cJSON_AddNumberToObject(to, "device_bytes", (double)out->device_bytes);
    cJSON_AddNumberToObject(to, "subjects_on_devices", out->resident);
    cJSON_AddNumberToObject(to, "resumed", out->resumed);
end:
    clvox_atlas_result_destroy(&result);
    free(out->left_out);
    free(covariate);
    return status;
}

static void log_options(command *cli, const cli_atlas_request *r, const clvox_atlas_options *o)
{
    cJSON *used = cJSON_AddObjectToObject(cli->log, "options");
    clvox_record_fields(used, clvox_atlas_table(), o);
    clvox_record_fields(cJSON_AddObjectToObject(used, "registration"), clvox_register_table(),
                        &o->registration);
    if (o->channels > 1) {
        cJSON_AddNumberToObject(used, "channels", o->channels);
        cJSON_AddItemToObject(used, "channel_weights",
                              cJSON_CreateDoubleArray(o->channel_weight, o->channels));
    }
    if (r->ats) {
        cJSON_AddStringToObject(used, "regress", r->regress);
        cJSON_AddItemToObject(used, "at", cJSON_CreateDoubleArray(r->at, r->ats));
        cJSON_AddNumberToObject(used, "bandwidth", r->bandwidth);
    }
    cli_remark_idle(cli, clvox_atlas_table(), r->given, o);
    cli_remark_idle(cli, clvox_register_table(), r->of_register, &o->registration);
}

/* Reading and scaling beside the opening of the devices: with a log of its own. */
typedef struct loading {
    command cli;
    cli_atlas_request *r;
    const clvox_atlas_options *o;
    int status;
    char message[2048];
} loading;

static int load_templates(command *cli, cli_atlas_request *r)
{
    int status = CLVOX_OK;
    clvox_grid first, grid;
    for (int c = 0; c < r->templates.count; c++) {
        const char *path = r->templates.item[c];
        CLI_TRY(cli_read_volume(cli, path, &r->start[c]));
        if (r->start[c]->frames != 1 || r->start[c]->kind != CLVOX_KIND_SCALAR)
            return clvox_fail(CLVOX_ERROR_DATA, "%s: a template begins with a 3-D image of one value a voxel",
                              path);
        clvox_grid_canonical(&r->start[c]->grid, &grid);
        if (!c)
            first = grid;
        if (!clvox_grid_equal(&first, &grid))
            return clvox_fail(CLVOX_ERROR_DATA,
                              "%s: not on the grid of %s; bring it there with clvox apply -i %s -r %s", path,
                              r->templates.item[0], path, r->templates.item[0]);
    }
end:
    return status;
}

static void *load(void *user)
{
    loading *l = user;
    const double mark = cli_seconds();
    l->status = cli_atlas_load(&l->cli, l->r, l->o);
    if (l->status >= 0)
        l->status = load_templates(&l->cli, l->r);
    if (l->status < 0) /* the sentence belongs to this thread: take it along */
        snprintf(l->message, sizeof l->message, "%s", clvox_message());
    l->r->read_seconds = cli_seconds() - mark;
    return NULL;
}

/* The devices are opened while the files are read. */
static int load_and_open(command *cli, cli_atlas_request *r, const clvox_atlas_options *o)
{
    pthread_t thread;
    loading l = {.cli = *cli, .r = r, .o = o};
    l.cli.log = cJSON_CreateObject();
    const double mark = cli_seconds();
    const bool apart = l.cli.log && !pthread_create(&thread, NULL, load, &l);
    const int opened = cli_open_all(cli, r->at_once, CLI_ATLAS_AT_ONCE, false);
    r->open_seconds = cli_seconds() - mark;
    if (apart)
        pthread_join(thread, NULL);
    else if (opened >= 0)
        load(&l);
    cli->claims = l.cli.claims;
    for (cJSON *one; l.cli.log && (one = l.cli.log->child);)
        cJSON_AddItemToObject(cli->log, one->string, cJSON_DetachItemViaPointer(l.cli.log, one));
    cJSON_Delete(l.cli.log);
    return l.status < 0 ? clvox_fail((clvox_status)l.status, "%s", l.message) : opened;
}

/* Sweeps the unfinished files of a killed run. */
static void sweep(const command *cli, const cli_atlas_request *r)
{
    char path[PATH_MAX];
    if (!cli_is_first(cli))
        return;
    clvox_files_sweep(cli_atlas_path(r, CLI_ATLAS_TEMPLATE, -1, path));
    for (int i = 0; r->derivatives && i < r->count; i++)
        clvox_files_sweep(cli_atlas_map_path(r, i, CLI_ATLAS_AFFINE, 0, path));
}

static int run(command *cli, cli_atlas_request *r, clvox_atlas_options *o)
{
    int status = CLVOX_OK;
    char path[PATH_MAX], state[PATH_MAX], begun[PATH_MAX + 8], *text = NULL;
    size_t size;
    clvox_atlas_subject *subjects = NULL;
    output out = {.cli = cli, .r = r};
    times t = {.steps = {0}};
    CLI_TRY(cli_team_open(cli));
    if (cli->team && r->dry_run)
        return cli_misuse("--dry-run is for one process: it plans for any number");
    if (r->derivatives)
        CLI_TRY(clvox_team_agree(cli->team, cli_atlas_check_names(r)));
    CLI_TRY(clvox_team_agree(cli->team, cli_atlas_open_store(r)));
    o->store = r->store;
    if (r->memory)
        cli_give_memory_back();
    else
        cli_keep_memory(cli);
    CLI_TRY(clvox_team_agree(cli->team, load_and_open(cli, r, o)));
    CLI_TRY(clvox_team_agree(cli->team, cli_atlas_settle(cli, r, o)));
    subjects = calloc((size_t)r->count, sizeof *subjects);
    out.lines = open_memstream(&text, &size);
    if (!subjects || !out.lines)
        status = clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    CLI_TRY(clvox_team_agree(cli->team, status));
    for (int i = 0; i < r->count; i++) {
        subjects[i] = cli_atlas_subject(&r->entry[i], r->channels);
        r->with_labels |= subjects[i].labels != NULL;
    }
    r->warps = o->registration.deform != CLVOX_DEFORM_NONE && o->rounds > 0 && !o->template_only;
    r->own_labels = r->with_labels && !o->template_only;
    if (r->dry_run) {
        status = cli_atlas_plan(cli, r, subjects, o);
        goto end;
    }
    CLI_TRY(clvox_team_agree(cli->team, cli_atlas_claim(cli, r)));
    o->team = cli->team;
    for (int c = 1; c < r->channels; c++)
        o->further_start[c - 1] = r->start[c];
    o->more = cli->more + 1;
    o->more_count = cli->more_count - 1;
    cli_remark(cli, 0, "plan     %d subjects, %d linear and %d deformable rounds%s", r->count,
               clvox_atlas_linear_rounds(o, r->count), o->rounds, r->ats ? " for each template" : "");
    if (cli_devices(cli) > 1)
        cli_remark(cli, 0, ", on %d devices", cli_devices(cli));
    if (cli->team)
        cli_remark(cli, 0, ", in %d processes", cli->team->size);
    cli_remark(cli, 0, "\n");
    log_options(cli, r, o);
    o->state = cli_atlas_path(r, CLI_ATLAS_STATE, -1, state);
    snprintf(begun, sizeof begun, "%s/run", state);
    if (!access(begun, F_OK)) {
        cli_remark(cli, 0, "%s: of a run that was interrupted: continuing from there\n", state);
        sweep(cli, r);
    }
    cli_bar_begin(&t.bar, cli);
    o->progress = show;
    o->timed = add_time;
    o->map = take_map;
    o->user = &t;
    cli_atlas_maps_begin(&out.maps, r, false);
    t.maps = &out.maps;
    const double mark = cli_seconds();
    status = build(&out, subjects, o);
    cli_atlas_maps_end(&out.maps);
    cli_bar_end(&t.bar);
    if (status == CLVOX_ERROR_STOPPED && !access(begun, F_OK))
        cli_remark(cli, 0, "%s keeps what has been done: the same command continues from there%s\n", state,
                   cli->team ? ", in any number of processes" : "");
    if (status == CLVOX_ERROR_DATA && !o->skip_bad && !access(begun, F_OK))
        cli_remark(cli, 0, "%s keeps what has been done: with --skip-bad the same command continues without the subject\n",
                   state);
    CLI_TRY(status);
    fflush(out.lines);
    cli_print(cli, "%s", text);
    report_times(cli, r, &t, cli_seconds() - mark - out.write_seconds, out.write_seconds);
    CLI_TRY(cli_profile(cli));
    cli_atlas_report_store(cli, r);
    if (!cli_is_first(cli))
        goto end;
    CLI_TRY(cli_write_log(cli, cli_atlas_path(r, CLI_ATLAS_LOG, -1, path)));
    begin_to_close(&out);
    clvox_atlas_forget(state);
end:
    end_closing(&out);
    if (out.lines)
        fclose(out.lines);
    free(text);
    free(subjects);
    return status;
}

/* ---- options ------------------------------------------------------------- */

/* "2,4,6" */
static int read_values(cli_atlas_request *r)
{
    char *rest = r->at_text = strdup(r->at_list);
    if (!rest)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    for (char *one, *end; (one = strsep(&rest, ","));) {
        if (r->ats == CLI_ATLAS_VALUES)
            return cli_misuse("--at: more than %d values", CLI_ATLAS_VALUES);
        r->at_name[r->ats] = one;
        r->at[r->ats++] = strtod(one, &end);
        if (end == one || *end || !isfinite(r->at[r->ats - 1]))
            return cli_misuse("--at %s: numbers with commas between them are needed", r->at_list);
    }
    return CLVOX_OK;
}

/* "1,0.5": one for each channel. */
static int read_channel_weights(const cli_atlas_request *r, clvox_atlas_options *o)
{
    const char *text = r->channel_weights;
    double sum = 0;
    for (int c = 0; c < r->channels; c++) {
        char *end;
        o->channel_weight[c] = strtod(text, &end);
        if (end == text || !(o->channel_weight[c] >= 0) || !isfinite(o->channel_weight[c]) ||
            *end != (c + 1 < r->channels ? ',' : 0))
            return cli_misuse("--channel-weights %s: %d numbers of at least 0 with commas between them are "
                              "needed, one for each channel",
                              r->channel_weights, r->channels);
        sum += o->channel_weight[c];
        text = end + 1;
    }
    return sum > 0 ? CLVOX_OK : cli_misuse("--channel-weights: at least one must be above 0");
}

static void begin_options(const cli_atlas_request *r, clvox_atlas_options *o)
{
    clvox_atlas_defaults(o);
    if (r->within)
        clvox_atlas_within(o);
}

static int read_options(const cli_atlas_request *r, clvox_atlas_options *o)
{
    int status = CLVOX_OK;
    begin_options(r, o);
    CLI_TRY(cli_register_preset(&r->presets, r->of_register, &o->registration));
    CLI_TRY(cli_read_fields(clvox_register_table(), r->of_register, 0, &o->registration));
    CLI_TRY(cli_read_fields(clvox_atlas_table(), r->given, 0, o));
    if (o->rounds == 0 && o->linear_rounds == 0)
        status = cli_misuse("--rounds 0 and --linear-rounds 0: one round or more");
end:
    return status;
}

static bool is_folder(const char *path)
{
    struct stat info;
    return !stat(path, &info) && S_ISDIR(info.st_mode);
}

static const char *kind_of(const char *argument)
{
    return !argument ? "a list" : is_folder(argument) ? "a BIDS folder" : "images";
}

/* The presets and the model whose defaults --help shows. */
typedef struct help_request {
    const cli_atlas_request *request;
    clvox_atlas_options *options;
} help_request;

static int settle_help(void *user)
{
    const help_request *h = user;
    begin_options(h->request, h->options);
    return cli_register_preset(&h->request->presets, h->request->of_register, &h->options->registration);
}

int cmd_atlas(command *cli, int argc, char **argv)
{
    cli_atlas_request r = {.folder = NULL, .channels = 1};
    clvox_atlas_options o;
    help_request help = {&r, &o};
    const cli_option options[] = {
        {"output", 'o', CLI_FOLDER, &r.folder, "DIR", "folder of the results",
         CLVOX_GROUP_IMAGES},
        {"bids-derivatives", 0, CLI_FOLDER, &r.derivatives, "DIR",
         "instead of -o: write into this folder of BIDS derivatives, under names made from the images'",
         CLVOX_GROUP_RESULT},
        {"space", 0, CLI_TEXT, &r.space, "NAME",
         "the name of the template and its space (default: study)",
         CLVOX_GROUP_RESULT, .needs = "bids-derivatives"},
        {"list", 0, CLI_TEXT, &r.list, "FILE.tsv",
         "table of subjects: columns image, mask, labels, weight, image2 (second channel), covariates",
         CLVOX_GROUP_IMAGES, .basic = true},
        {"suffix", 0, CLI_TEXT, &r.suffix, "SUFFIX",
         "with a BIDS folder: use the images that end in _SUFFIX; T1w,T2w: two channels (default: T1w)",
         CLVOX_GROUP_IMAGES, .kinds = "a BIDS folder"},
        {"channel-weights", 0, CLI_TEXT, &r.channel_weights, "W,W...",
         "weights of the channels in registrations, in order (default: equal)",
         CLVOX_GROUP_IMAGES},
        {"template", 0, CLI_REPEAT, &r.templates, "FILE",
         "start from this image and its grid (default: the mean); repeat for further channels",
         CLVOX_GROUP_IMAGES, .basic = true},
        {"within", 0, CLI_FLAG, &r.within, NULL,
         "scans of one person: rigid, robust, median",
         CLVOX_GROUP_QUALITY, .basic = true},
        {"weights", 0, CLI_TEXT, &r.weights, "W,W...",
         "weights of the images in the averages, in order (default: 1); a list has a column weight",
         CLVOX_GROUP_IMAGES, .kinds = "images"},
        {"regress", 0, CLI_TEXT, &r.regress, "COLUMN",
         "templates along this covariate of the list, by Gaussian weights",
         CLVOX_GROUP_RESULT},
        {"at", 0, CLI_TEXT, &r.at_list, "C,C...", "values of the covariate at which templates are made",
         CLVOX_GROUP_RESULT, .needs = "regress"},
        {"bandwidth", 0, CLI_NUMBER, &r.bandwidth, "N", "sigma of the weights, in the covariate's unit",
         CLVOX_GROUP_RESULT, .needs = "regress"},
        {"report", 0, CLI_FLAG, &r.report, NULL,
         "DIR/report.html: one page to judge the template by",
         CLVOX_GROUP_RESULT, .basic = true},
        {"names", 0, CLI_TEXT, &r.names, "TABLE",
         "names of the labels for the page: columns label (or index) and name, .tsv or .csv",
         CLVOX_GROUP_RESULT, .needs = "report"},
        {"memory", 0, CLI_TEXT, &r.memory, "BYTES",
         "keep at most this much of the images and warps in memory (8G, 500M) and the rest in temporary "
         "files in DIR",
         CLVOX_GROUP_MANY},
        {"device-memory", 0, CLI_TEXT, &r.device_memory, "BYTES",
         "keep at most this much of the warps on each device and the rest in host memory (default: on GPUs "
         "half of "
         "what the registrations leave free, on CPUs 0)",
         CLVOX_GROUP_MANY},
        {"dry-run", 0, CLI_FLAG, &r.dry_run, NULL,
         "register a few subjects, print the time and memory that the run would take, and stop",
         CLVOX_GROUP_MANY, .basic = true},
        {"plan-devices", 0, CLI_TEXT, &r.plan_devices, "N,N...",
         "also predict runs on these numbers of devices, one process each",
         CLVOX_GROUP_MANY, .needs = "dry-run"},
        {"plan-subjects", 0, CLI_INTEGER, &r.plan_subjects, "N",
         "predict for this number of subjects (default: those given)",
         CLVOX_GROUP_MANY, .needs = "dry-run"},
        {"at-once", 0, CLI_INTEGER, &r.at_once, "N", CLI_AT_ONCE_HELP("2" CLI_AT_ONCE_GPU ", else 1"),
         CLVOX_GROUP_MANY},
        CLI_PRESET_OPTIONS(&r.presets),
        {0},
    };
    /* Rounds begin where the one before ended, and always give the inverse. */
    static const char *const without[] = {"init", "inverse", "output-type", CLI_ANATOMY_ROWS, NULL};
    const cli_usage usage = {
        .options = options,
        .table = clvox_atlas_table(),
        .given = r.given,
        .more = clvox_register_table(),
        .more_given = r.of_register,
        .without = without,
        .most = 1 << 20,
        .kind = kind_of,
        .devices = true,
        .values = &o,
        .more_values = &o.registration,
        .settle = settle_help,
        .user = &help,
    };
    char **rest;
    int count, status = cli_parse(cli, &usage, argc, argv, &rest, &count);
    if (status)
        return status;
    if (!r.folder && !r.derivatives)
        return cli_misuse("-o DIR is missing");
    if (r.folder && r.derivatives)
        return cli_misuse("-o and --bids-derivatives: one of them");
    if (r.space && !clvox_bids_is_label(r.space))
        return cli_misuse("--space %s: the name of a space has letters and digits, nothing else", r.space);
    r.folder = r.derivatives ? r.derivatives : r.folder;
    r.space = r.space ? r.space : "study"; /* the standard's word for one of a study's own images */
    if (!count && !r.list)
        return cli_misuse("the images are missing: name them, or give --list FILE.tsv");
    if (count && r.list)
        return cli_misuse("images and --list: one of them");
    const char *bids = count && is_folder(rest[0]) ? rest[0] : NULL;
    if (bids && count > 1)
        return cli_misuse("%s is a folder: one BIDS folder, or images", bids);
    if (r.list && is_folder(r.list))
        return cli_misuse("--list %s: is a folder; name a BIDS folder without --list", r.list);
    if (r.at_once > CLI_MOST_AT_ONCE)
        return cli_misuse("--at-once %d: at most %d", r.at_once, CLI_MOST_AT_ONCE);
    r.suffix = r.suffix ? r.suffix : "T1w";
    if (r.regress && !((r.list || bids) && r.at_list && r.bandwidth > 0))
        return cli_misuse("--regress needs --at, a --bandwidth above 0, and --list or a BIDS folder");
    CLI_TRY(read_options(&r, &o));
    if (r.report && o.template_only)
        return cli_misuse("--report shows the subjects through their maps, which --template-only leaves out");
    if (r.at_list)
        CLI_TRY(read_values(&r));
    if (r.names)
        CLI_TRY(clvox_label_names_check(r.names));
    if (r.memory)
        CLI_TRY(cli_atlas_read_bytes("--memory", r.memory, &r.limit));
    if (r.device_memory) {
        CLI_TRY(cli_atlas_read_bytes("--device-memory", r.device_memory, &o.device_bytes));
        o.device_bytes += !o.device_bytes; /* 0 is the default of the library, and a byte is none */
    }
    status = bids || r.list ? clvox_list_read(bids ? bids : r.list, r.suffix, r.regress, &r.files)
                            : clvox_list_images((const char *const *)rest, count, &r.files);
    if (status == CLVOX_ERROR_ARGUMENT)
        CLI_TRY(cli_misuse("--%s", clvox_message()));
    CLI_TRY(cli_atlas_take(&r, status));
    if (r.within && r.count < 2)
        CLI_TRY(cli_misuse("--within: change takes two scans of a person or more, and there is one"));
    if (o.linear_rounds < 0)
        o.linear_rounds = clvox_atlas_linear_rounds(&o, r.count);
    if (r.weights)
        CLI_TRY(cli_atlas_read_weights(&r, r.weights));
    o.channels = r.channels;
    if (r.channel_weights)
        CLI_TRY(read_channel_weights(&r, &o));
    if (r.templates.count > r.channels)
        CLI_TRY(cli_misuse("--template: %d files, one for each channel at most, of which there %s",
                           r.templates.count, r.channels > 1 ? "are fewer" : "is one"));
    status = run(cli, &r, &o);
end:
    cli_atlas_free(&r);
    return status;
}
