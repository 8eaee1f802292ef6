/* SPDX-License-Identifier: Apache-2.0 */
/* clvox as a BIDS App: N4, registration to a template that is given or built, pages, the group's table and
 * test. The steps are those of `clvox filter n4`, `atlas`, `register --list` and `stats`. */
#include "cli/cmd_bids/bids.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clvox/command/derivative.h"
#include "clvox/files.h"

static int out_of_memory(void)
{
    return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
}

/* ---- participants ---------------------------------------------------------- */

/* Whether an image is of participant "01"; NULL: of anyone. */
static bool is_of(const clvox_listed *file, const char *label)
{
    clvox_bids_name name;
    const clvox_bids_word *sub = clvox_bids_read(file->image, &name) ? clvox_bids_find(&name, "sub") : NULL;
    return !label ||
           (sub && strlen(label) == (size_t)sub->length && !strncmp(label, sub->at, (size_t)sub->length));
}

/* The images of a participant, "01" or "sub-01", or of all (NULL). */
static int take_one(cli_bids *b, const char *label)
{
    int found = 0;
    if (label && !strncmp(label, "sub-", 4))
        label += 4;
    for (int i = 0; i < b->files->count; i++) {
        const clvox_listed *file = &b->files->subject[i];
        bool known = false;
        if (!is_of(file, label))
            continue;
        found++;
        for (int k = 0; k < b->count; k++)
            known = known || b->file[k] == file;
        if (!known)
            b->file[b->count++] = file;
    }
    return found ? CLVOX_OK
                 : cli_misuse("--participant-label %s: no image sub-%s_..._%s is in %s", label, label,
                              b->suffix, b->raw);
}

/* "01,02" */
static int take_some(cli_bids *b, const char *labels)
{
    int status = CLVOX_OK;
    char *text = strdup(labels), *rest = text;
    if (!text)
        return out_of_memory();
    for (char *label; !status && (label = strsep(&rest, ","));)
        status = take_one(b, label);
    free(text);
    return status;
}

/* Finds the images; labels: as typed behind --participant-label, or NULL, and the words that follow it. */
static int find(cli_bids *b, const char *labels, char **more, int count)
{
    char pattern[NAME_MAX], path[PATH_MAX];
    const char *last = strrchr(b->suffix, '_');
    b->kind = last ? last + 1 : b->suffix;
    if (!clvox_bids_is_label(b->kind))
        return cli_misuse("--suffix %s: it ends in the suffix of one kind of images, as T1w", b->suffix);
    int status = clvox_list_read(b->raw, b->suffix, NULL, &b->files);
    if (status < 0)
        return status;
    b->file = calloc((size_t)b->files->count, sizeof *b->file);
    b->prepared = calloc((size_t)b->files->count, sizeof *b->prepared);
    if (!b->file || !b->prepared)
        return out_of_memory();
    status = labels ? take_some(b, labels) : take_one(b, NULL);
    for (int i = 0; i < count && !status; i++)
        status = take_some(b, more[i]);
    if (status)
        return status;
    snprintf(pattern, sizeof pattern, "%%P_desc-preproc_%.64s.nii.gz", b->kind);
    for (int i = 0; i < b->count; i++) {
        CLI_TRY(clvox_derivative_check(b->folder, b->file[i]->image));
        CLI_TRY(cli_bids_path(b, b->file[i]->image, pattern, path));
        if (!(b->prepared[i] = strdup(path)))
            return out_of_memory();
    }
end:
    return status;
}

/* ---- other verbs ----------------------------------------------------------- */

enum { WORDS = 16 + CLVOX_MAX_OPTIONS };
typedef struct words {
    char *word[WORDS + 1];
    int count;
    bool failed;
} words;

/* A word, "name" or "name=value". */
static void put(words *w, const char *name, const char *value)
{
    char *text = NULL;
    if (w->count == WORDS || asprintf(&text, value ? "%s=%s" : "%s", name, value) < 0)
        w->failed = true;
    else
        w->word[w->count++] = text;
}

/* Runs a verb with these words and the options of every verb. */
static int run_verb(command *cli, const char *name, int (*run)(command *, int, char **), words *w)
{
    int code = 1;
    char threads[16];
    snprintf(threads, sizeof threads, "%d", cli->threads);
    if (cli->device)
        put(w, "--device", cli->device);
    if (cli->threads)
        put(w, "--threads", threads);
    if (cli->quiet)
        put(w, "-q", NULL);
    for (int i = 0; i < cli->verbose; i++)
        put(w, "-v", NULL);
    if (cli->no_cache)
        put(w, "--no-cache", NULL);
    if (cli->no_wisdom)
        put(w, "--no-wisdom", NULL);
    cli_close(cli); /* the verb opens its own */
    if (!w->failed)
        code = cli_run(&(cli_verb){name, NULL, run}, w->count, w->word);
    for (int i = 0; i < w->count; i++)
        free(w->word[i]);
    return w->failed           ? out_of_memory()
           : cli_interrupted() ? clvox_fail(CLVOX_ERROR_STOPPED, "interrupted")
           : code ? clvox_fail(CLVOX_ERROR_DATA, "clvox %s failed; the lines above say why", name)
                  : CLVOX_OK;
}

/* ---- steps ------------------------------------------------------------------- */

/* The space that a template stands for, and the grid's res. */
static int name_space(cli_bids *b, const char *asked)
{
    clvox_bids_name image = {.count = 0};
    if (b->template && clvox_bids_read(b->template, &b->template_name))
        b->res = clvox_bids_find(&b->template_name, "res");
    if (asked || !b->template)
        snprintf(b->space, sizeof b->space, "%s", asked ? asked : "study");
    else if (!clvox_bids_space(b->template, &image, b->space))
        return clvox_fail(CLVOX_ERROR_DATA, "%s: its name gives no name of a space; give --space NAME",
                          b->template);
    b->r.space = b->space;
    return CLVOX_OK;
}

/* Builds the template of the corrected images, unless it is there and as new as all of them. */
static int build(command *cli, cli_bids *b)
{
    char list[PATH_MAX];
    clvox_option_text row;
    bool newer = true;
    if (snprintf(b->own_template, sizeof b->own_template, "%s/tpl-%s/tpl-%s_%s.nii.gz", b->folder, b->space,
                 b->space, b->kind) >= PATH_MAX ||
        snprintf(list, sizeof list, "%s/logs/preproc_%s.tsv", b->folder, b->kind) >= PATH_MAX)
        return clvox_fail(CLVOX_ERROR_FILE, "%s: the name is too long", b->folder);
    b->template = b->own_template;
    for (int i = 0; i < b->count; i++)
        newer = newer && (access(b->prepared[i], F_OK) || cli_bids_is_newer(b->template, b->prepared[i]));
    if (newer) {
        cli_remark(cli, 0, "%s: is there, and newer than all images\n", b->template);
        return CLVOX_OK;
    }
    words w = {.count = 0};
    put(&w, "atlas", NULL);
    put(&w, "--list", list);
    put(&w, "--bids-derivatives", b->folder);
    put(&w, "--space", b->space);
    put(&w, "--template-only", NULL);
    if (b->r.presets.quick || b->r.presets.regular || b->r.presets.best) {
        snprintf(list, sizeof list, "--%s", cli_preset_name(&b->r.presets));
        put(&w, list, NULL);
    }
    for (int i = 0; clvox_option_describe(clvox_register_table(), i, &row); i++)
        if (row.name && b->r.given[i]) {
            snprintf(list, sizeof list, "--%s", row.name);
            put(&w, list, row.flag ? NULL : b->r.given[i]);
        }
    snprintf(list, sizeof list, "%s/logs/preproc_%s.tsv", b->folder, b->kind);
    const int status = cli_bids_list(b, list);
    return status < 0 ? status : run_verb(cli, "atlas", cmd_atlas, &w);
}

/* Registers all corrected images of the shard to the template. CLVOX_ERROR_DATA with pairs: some failed. */
static int normalise(command *cli, cli_bids *b, clvox_pairs **pairs)
{
    clvox_pair *rows = calloc((size_t)b->count, sizeof *rows);
    char *template = strdup(b->template);
    int status = rows && template ? CLVOX_OK : out_of_memory();
    for (int i = 0; i < b->count && status >= 0; i++) {
        rows[i].fixed = template;
        rows[i].moving = b->prepared[i];
    }
    b->r.derivatives = b->folder;
    b->r.report = b->r.any_device = true; /* the computers of a cluster differ */
    if (status >= 0)
        status = cli_register_list(cli, &b->r, &b->o, rows, b->count, pairs);
    free(template);
    free(rows);
    return status;
}

/* The test of the column of --test. Each person may be there once. */
static int test(command *cli, const cli_bids *b, const char *table)
{
    char prefix[PATH_MAX];
    for (int i = 1; i < b->count; i++) {
        clvox_bids_name name;
        const clvox_bids_word *sub =
            clvox_bids_read(b->file[i]->image, &name) ? clvox_bids_find(&name, "sub") : NULL;
        char label[CLVOX_BIDS_ROOM];
        snprintf(label, sizeof label, "%.*s", sub ? sub->length : 0, sub ? sub->at : "");
        if (is_of(b->file[i - 1], label))
            return clvox_fail(
                CLVOX_ERROR_DATA,
                "--test %s: sub-%s has several images, and the test is of people; give clvox stats a table "
                "with one row of each from %s",
                b->test, label, table);
    }
    snprintf(prefix, sizeof prefix, "%s/stats/space-%s_%s", b->folder, b->space, b->test);
    words w = {.count = 0};
    put(&w, "stats", NULL);
    put(&w, "--list", table);
    put(&w, "--test", b->test);
    if (b->covariates)
        put(&w, "--covariates", b->covariates);
    if (b->mask)
        put(&w, "--mask", b->mask);
    put(&w, "--output", prefix);
    return run_verb(cli, "stats", cmd_stats, &w);
}

/* All steps. A failed image does not stop the others; the last failure is reported at the end. */
static int run(command *cli, cli_bids *b)
{
    int status = CLVOX_OK;
    char failed[2048] = "", table[PATH_MAX] = "";
    clvox_pairs *pairs = NULL;
    CLI_TRY(clvox_derivative_describe(b->folder));
    status = cli_bids_prepare(cli, b);
    if (status == CLVOX_ERROR_DATA)
        snprintf(failed, sizeof failed, "%s", clvox_message());
    else if (status < 0)
        goto end;
    if (b->group && !b->template)
        CLI_TRY(build(cli, b));
    if (b->template) {
        status = normalise(cli, b, &pairs);
        if (status == CLVOX_ERROR_DATA && pairs)
            snprintf(failed, sizeof failed, "%s", clvox_message());
        else if (status < 0)
            goto end;
        CLI_TRY(pairs->count ? cli_bids_derive(cli, b, pairs) : CLVOX_OK);
    } else {
        cli_remark(cli, 0,
                   "clvox bids %s %s group builds a template of these images and registers them to it\n",
                   b->raw, b->folder);
    }
    if (b->group) {
        snprintf(table, sizeof table, "%s/group_%s.tsv", b->folder, b->kind);
        CLI_TRY(cli_bids_table(cli, b, pairs, table));
        cli_print(cli, "%-20s %s\n", "table", table);
    }
    if (b->test)
        CLI_TRY(test(cli, b, table));
    status = *failed ? clvox_fail(CLVOX_ERROR_DATA, "%s", failed) : CLVOX_OK;
end:
    clvox_pairs_destroy(&pairs);
    return status;
}

/* ---- options ----------------------------------------------------------------- */

static int check(const cli_bids *b, const char *level, const char *space)
{
    if (!b->group && strcmp(level, "participant") != 0)
        return cli_misuse("%s: the level of an analysis is participant or group", level);
    if (space && !clvox_bids_is_label(space))
        return cli_misuse("--space %s: the name of a space has letters and digits, nothing else", space);
    if (b->group && b->r.part)
        return cli_misuse("--shard is for the level participant");
    if (!b->group && b->test)
        return cli_misuse("--test is for the level group");
    if (b->test && strchr(b->test, '/'))
        return cli_misuse("--test %s: the name of the column becomes that of files; it has no slash",
                          b->test);
    return CLVOX_OK;
}

static int read_options(cli_bids *b)
{
    int status = CLVOX_OK;
    CLI_TRY(cli_read_shard(b->r.part, &b->r.shard, &b->r.shards));
    CLI_TRY(cli_register_preset(&b->r.presets, b->r.given, &b->o));
    CLI_TRY(cli_read_fields(clvox_register_table(), b->r.given, 0, &b->o));
    b->o.inverse = true;
end:
    return status;
}

/* The presets and the model whose defaults --help shows. */
static int settle_help(void *user)
{
    cli_bids *b = user;
    return cli_register_preset(&b->r.presets, b->r.given, &b->o);
}

int cmd_bids(command *cli, int argc, char **argv)
{
    static const char spelt[] = "--participant_label"; /* of the standard */
    const char *labels = NULL, *space = NULL;
    cli_bids b = {.suffix = "T1w", .r = {.dof = -1}};
    const cli_option options[] = {
        {"template", 0, CLI_TEXT, &b.template, "FILE",
         "register to this image (default: at level group to one that is built)", CLVOX_GROUP_IMAGES,
         .basic = true},
        {"space", 0, CLI_TEXT, &space, "NAME",
         "the name of the template's space (default: from its file name; study)", CLVOX_GROUP_RESULT},
        {"suffix", 0, CLI_TEXT, &b.suffix, "SUFFIX", "use the images that end in _SUFFIX (default: T1w)",
         CLVOX_GROUP_IMAGES, .basic = true},
        {"participant-label", 0, CLI_TEXT, &labels, "LABEL ...", "only these participants, 01 or sub-01",
         CLVOX_GROUP_IMAGES, .basic = true},
        {"shard", 0, CLI_TEXT, &b.r.part, "I/N",
         "only part I of N parts of the images, for jobs of a cluster", CLVOX_GROUP_MANY, .basic = true},
        {"test", 0, CLI_TEXT, &b.test, "COLUMN",
         "test the log Jacobians by this column of participants.tsv, as clvox stats does", CLVOX_GROUP_RESULT,
         .basic = true},
        {"covariates", 0, CLI_TEXT, &b.covariates, "COLUMN,...", "columns of nuisance covariates of the test",
         CLVOX_GROUP_RESULT, .needs = "test"},
        {"mask", 0, CLI_TEXT, &b.mask, "FILE", "test where this is above 0, in the template's space",
         CLVOX_GROUP_RESULT, .needs = "test"},
        CLI_PRESET_OPTIONS(&b.r.presets),
        {0},
    };
    /* The rounds of a template take no others either. */
    static const char *const without[] = {"init", "inverse", "output-type", CLI_ANATOMY_ROWS, NULL};
    const cli_usage usage = {
        .options = options,
        .more = clvox_register_table(),
        .more_given = b.r.given,
        .without = without,
        .least = 3,
        .most = 1 << 20,
        .devices = true,
        .more_values = &b.o,
        .settle = settle_help,
        .user = &b,
    };
    char **rest;
    int count, status;
    clvox_register_defaults(&b.o);
    b.o.by_contrast = 1;
    for (int i = 1; i < argc; i++)
        if (!strncmp(argv[i], spelt, sizeof spelt - 1))
            argv[i][strlen("--participant")] = '-';
    if ((status = cli_parse(cli, &usage, argc, argv, &rest, &count)))
        return status;
    if (count > 3 && !labels)
        return cli_misuse("%s: not an option, and not expected here", rest[3]);
    b.raw = rest[0];
    b.folder = rest[1];
    b.group = !strcmp(rest[2], "group");
    CLI_TRY(check(&b, rest[2], space));
    CLI_TRY(read_options(&b));
    CLI_TRY(name_space(&b, space));
    status = find(&b, labels, rest + 3, count - 3);
    if (!status)
        status = run(cli, &b);
end:
    for (int i = 0; i < b.count; i++)
        if (b.prepared)
            free(b.prepared[i]);
    free(b.prepared);
    free(b.file);
    clvox_list_destroy(&b.files);
    return status;
}
