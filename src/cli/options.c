/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/options.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/help.h"
#include "clvox/files.h"
#include "clvox/threads.h"

enum { MAX_OPTIONS = 40 + 2 * CLVOX_MAX_OPTIONS, OPTION_HELP = 1000, OPTION_VERSION, OPTION_FIRST };

int cli_misuse(const char *format, ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    clvox_fail(CLVOX_ERROR_ARGUMENT, "%s", text);
    return CLI_USAGE;
}

/* ---- nearest word ------------------------------------------------------- */

/* Insertions, deletions and changes from a to b, capped at 20 letters. */
static int edits(const char *a, const char *b)
{
    int row[22];
    int n = (int)strnlen(b, 20);
    for (int j = 0; j <= n; j++)
        row[j] = j;
    for (int i = 1; a[i - 1] && i <= 20; i++) {
        int diagonal = row[0];
        row[0] = i;
        for (int j = 1; j <= n; j++) {
            int change = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            int step = (row[j] < row[j - 1] ? row[j] : row[j - 1]) + 1;
            row[j] = change < step ? change : step;
        }
    }
    return row[n];
}

const char *cli_nearest(const char *typed, const void *base, int count, unsigned long stride)
{
    const char *best = NULL;
    int fewest = strlen(typed) < 5 ? 2 : 3; /* so many edits are too far */
    for (int i = 0; i < count; i++) {
        const char *word = *(const char *const *)((const char *)base + (unsigned long)i * stride);
        int n = word ? edits(typed, word) : INT_MAX;
        if (n < fewest) {
            fewest = n;
            best = word;
        }
    }
    return best;
}

/* ---- values ------------------------------------------------------------- */

bool cli_whole_size(const clvox_numbers *numbers, int least, int most, int size[3])
{
    if ((numbers->count != 1 && numbers->count != 3) || numbers->unit != CLVOX_UNIT_NONE)
        return false;
    for (int i = 0; i < 3; i++) {
        double value = numbers->value[numbers->count == 3 ? i : 0];
        if (!(value >= least && value <= most) || value != floor(value))
            return false;
        size[i] = (int)value;
    }
    return true;
}

/* Words of other programs for the same thing; letters of either case do for all. */
static const struct {
    const char *theirs, *ours;
} synonyms[] = {{"nearestneighbor", "nearest"}, {"nn", "nearest"},       {"trilinear", "linear"},
                {"genericlabel", "label"},      {"multilabel", "label"}, {"lanczoswindowedsinc", "lanczos"}};

static int read_choice(const cli_option *option, const char *text)
{
    for (size_t i = 0; i < sizeof synonyms / sizeof *synonyms; i++)
        if (!strcasecmp(text, synonyms[i].theirs) && strstr(option->argument, synonyms[i].ours))
            text = synonyms[i].ours;
    size_t length = strlen(text);
    int index = 0;
    for (const char *word = option->argument; word; index++) {
        const char *bar = strchr(word, '|');
        size_t n = bar ? (size_t)(bar - word) : strlen(word);
        if (n == length && !strncasecmp(word, text, n)) {
            *(int *)option->target = index;
            return CLVOX_OK;
        }
        word = bar ? bar + 1 : NULL;
    }
    return cli_misuse("--%s %s: not known; the choices are %s", option->name, text, option->argument);
}

static int read_value(const cli_option *option, const char *text)
{
    switch (option->kind) {
    case CLI_FLAG:
        *(bool *)option->target = true;
        break;
    case CLI_MARK:
        *(const char **)option->target = "";
        break;
    case CLI_COUNT:
        ++*(int *)option->target;
        break;
    case CLI_TEXT:
    case CLI_OUT:
    case CLI_FOLDER:
    case CLI_PREFIX:
        if (!*text)
            return cli_misuse("--%s: the value is empty", option->name);
        *(const char **)option->target = text;
        break;
    case CLI_REPEAT: {
        cli_texts *texts = option->target;
        if (!*text)
            return cli_misuse("--%s: the value is empty", option->name);
        if (texts->count == CLI_MAX_TEXTS)
            return cli_misuse("--%s: given more than %d times", option->name, CLI_MAX_TEXTS);
        texts->item[texts->count++] = text;
        break;
    }
    case CLI_INTEGER: {
        char *end;
        errno = 0;
        long value = strtol(text, &end, 10);
        if (end == text || *end || errno || value < 0 || value > INT_MAX)
            return cli_misuse("--%s %s: not a whole number of at least 0", option->name, text);
        *(int *)option->target = (int)value;
        break;
    }
    case CLI_NUMBER: {
        char *end;
        double value = strtod(text, &end);
        if (end == text || *end || !isfinite(value))
            return cli_misuse("--%s %s: not a number", option->name, text);
        *(double *)option->target = value;
        break;
    }
    case CLI_NUMBERS:
        if (!clvox_numbers_read(text, option->target))
            return cli_misuse("--%s %s: not of the form %s", option->name, text, option->argument);
        break;
    case CLI_CHOICE:
        return read_choice(option, text);
    }
    return CLVOX_OK;
}

/* ---- parsing ------------------------------------------------------------ */

bool cli_takes(const clvox_option_text *row, const char *const *without)
{
    for (int i = 0; row->name && without && without[i]; i++)
        if (!strcmp(row->name, without[i]))
            return false;
    return row->name != NULL;
}

#define START "it is --init FILE, or --init [FILE,1] for its inverse; [FIXED,MOVING,1] is --init moments"

/* Names of ANTs, FSL, FreeSurfer and NiftyReg for options of ours. A letter stands for itself. */
static const struct {
    const char *theirs, *ours, *answer;
} foreign[] = {
    {"mask", "fixed-mask", "give --fixed-mask FILE, --moving-mask FILE or both"},
    {"masks", "fixed-mask", "give --fixed-mask FILE, --moving-mask FILE or both"},
    {"x", "fixed-mask", "give --fixed-mask FILE, --moving-mask FILE or both"},
    {"transform", "deform", "--linear says how far the linear part goes (affine), --deform which model follows (syn), and "
     "--step, --update-sigma and --total-sigma what ANTs has in brackets"},
    {"t", "deform", "--linear says how far the linear part goes (affine), --deform which model follows (syn), and "
     "--step, --update-sigma and --total-sigma what ANTs has in brackets"},
    {"initial-moving-transform", "init", START},
    {"init-transform", "init", START},
    {"r", "init", START},
    {"n", "deform", "clvox register resamples MOVING linearly; clvox apply --interp does it with others"},
    {"interpolation", "deform", "clvox register resamples MOVING linearly; clvox apply --interp does it with others"},
    {"u", "histogram-match", "it is --histogram-match"},
    {"w", "winsorize", "it is --winsorize 0.005,0.995"},
    {"s", "smooth", "it is --smooth"},
    {"g", "restrict", "it is --restrict"},
    {"float", "output", "clvox computes in single precision, and in double where that matters"},
    {"random-seed", "deform", "there is none: the same run gives the same result"},
    {"collapse-output-transforms", "deform", "the affine and the warp are two files; clvox compose makes them one"},
    {"write-composite-transform", "deform", "clvox compose -t WARP -t AFFINE -o both.h5 writes one"},
    {"a", "deform", "clvox compose -t WARP -t AFFINE -o both.h5 writes one"},
    {"input-image-type", "interp", "series, vectors and tensors are told by their headers"},
    {"e", "interp", "series, vectors and tensors are told by their headers"},
    {"convergence", "iterations", "it is --iterations, and --tolerance for its threshold"},
    {"series", "deform", "motion in a 4-D scan is corrected by clvox series SERIES -o PREFIX"},
    {"c", "iterations", "it is --iterations, and --tolerance for its threshold"},
    {"shrink-factors", "shrink", "it is --shrink"},
    {"smoothing-sigmas", "smooth", "it is --smooth"},
    {"fixed-image", "fixed", "it is --fixed"},
    {"moving-image", "moving", "it is --moving"},
    {"cost", "metric", "it is --metric"},
    {"restrict-deformation", "restrict", "it is --restrict"},
    {"use-histogram-matching", "histogram-match", "it is --histogram-match"},
    {"winsorize-image-intensities", "winsorize", "it is --winsorize"},
    {"n", "interp", "it is --interp"},
    {"interpolation", "interp", "it is --interp"},
    {"interpolator", "interp", "it is --interp"},
    {"reference-image", "reference", "it is --reference"},
    {"default-value", "outside", "it is --outside"},
    {"fwhm", "sigma", "give --sigma, which is the full width at half maximum divided by 2.355"},
    {"nthreads", "threads", "it is --threads"},
    {"num-threads", "threads", "it is --threads"},
    {"omp", "threads", "it is --threads"},
};

static const char *answer_to(const char *name, const struct option *known, int count)
{
    for (size_t f = 0; f < sizeof foreign / sizeof *foreign; f++)
        for (int i = 0; !strcasecmp(name, foreign[f].theirs) && i < count; i++)
            if (!strcmp(known[i].name, foreign[f].ours))
                return foreign[f].answer;
    return NULL;
}

static int unknown_letter(int letter, const struct option *known, int count)
{
    const char name[2] = {(char)letter, 0}, *answer = answer_to(name, known, count);
    return answer ? cli_misuse("-%c: not known; %s", letter, answer) : cli_misuse("-%c: not known", letter);
}

static int unknown(const char *typed, const struct option *known, int count)
{
    char name[64], list[512] = "";
    snprintf(name, sizeof name, "%.63s", typed + 2);
    name[strcspn(name, "=")] = 0;
    int alike = 0;
    for (int i = 0; i < count; i++)
        if (!strncmp(known[i].name, name, strlen(name))) {
            size_t used = strlen(list);
            snprintf(list + used, sizeof list - used, "%s--%s", alike ? ", " : "", known[i].name);
            alike++;
        }
    const char *answer = answer_to(name, known, count);
    if (answer)
        return cli_misuse("--%s: not known; %s", name, answer);
    if (*name && alike > 1)
        return cli_misuse("--%s: %d options begin like this, write out which: %s", name, alike, list);
    const char *near = cli_nearest(name, &known[0].name, count, sizeof known[0]);
    if (near)
        return cli_misuse("--%s: not known; did you mean --%s?", name, near);
    return cli_misuse("--%s: not known", name);
}

/* ANTs asks for the number of dimensions: takes -d 3 out of the arguments. */
static int drop_dimensions(const command *cli, const char *letters, int *argc, char **argv)
{
    static const char *const names[] = {"--dimensionality", "--image-dimensionality"};
    bool quiet = false; /* options are not parsed yet */
    for (int i = 1; i < *argc && strcmp(argv[i], "--"); i++)
        quiet = quiet || !strcmp(argv[i], "-q") || !strcmp(argv[i], "--quiet");
    for (int i = 1; i < *argc && strcmp(argv[i], "--"); i++) {
        const char *value = NULL;
        int words = 1;
        if (!strncmp(argv[i], "-d", 2))
            value = strchr(letters, 'd') ? NULL : argv[i] + 2;
        for (int n = 0; n < 2; n++)
            if (!strncmp(argv[i], names[n], strlen(names[n])))
                value = argv[i] + strlen(names[n]);
        if (!value)
            continue;
        if (!*value && i + 1 < *argc) {
            value = argv[i + 1];
            words = 2;
        }
        value += *value == '=';
        if (strlen(value) != 1 || !strchr("234", *value))
            continue;
        if (*value != '3')
            return cli_misuse("%s: clvox is for volumes of three dimensions", argv[i]);
        if (!quiet)
            cli_remark(cli, 0, "%s has no effect: volumes have three dimensions here\n", argv[i]);
        *argc -= words;
        for (int k = i--; k < *argc; k++)
            argv[k] = argv[k + words];
    }
    return CLVOX_OK;
}

/* A log that cannot be written must not show only after the work. What is opened here and given up
 * again is what will be opened in the end. */
static int check_log(const char *path)
{
    return path && strcmp(path, "-") != 0 ? clvox_file_probe(path) : CLVOX_OK;
}

/* Typed values of a pipeline's options are kept as text: presets are applied before them. */
static void list_fields(const clvox_option_table *table, const char *const *without, const char **given,
                        cli_option *fields)
{
    clvox_option_text row;
    for (int i = 0; table && clvox_option_describe(table, i, &row); i++)
        if (cli_takes(&row, without))
            *fields++ = (cli_option){.name = row.name, .letter = row.letter,
                                     .kind = row.flag ? CLI_MARK : CLI_TEXT, .target = (void *)&given[i],
                                     .needs = row.needs};
}

static bool is_output(const cli_option *row)
{
    return row->kind == CLI_OUT || (row->kind == CLI_TEXT && !strcmp(row->name, "output"));
}

/* Whether the options are given that others belong to. */
static int check_needs(const cli_option *const *rows, const bool *given, int count)
{
    for (int i = 0; i < count; i++) {
        const char *needs = given[i] ? rows[i]->needs : NULL;
        char list[256] = "";
        bool there = !needs;
        for (const char *word = needs; word && !there;) {
            const size_t length = strcspn(word, "|"), used = strlen(list);
            for (int k = 0; k < count; k++)
                if (strlen(rows[k]->name) == length && !strncmp(rows[k]->name, word, length)) {
                    there = there || given[k];
                    const char *value = strchr(needs, '|') || !rows[k]->argument ? "" : rows[k]->argument;
                    snprintf(list + used, sizeof list - used, "%s--%s%s%s",
                             word == needs         ? ""
                             : word[length] == '|' ? ", "
                                                   : " and ",
                             rows[k]->name, *value ? " " : "", value);
                }
            word = word[length] ? word + length + 1 : NULL;
        }
        if (!there)
            return cli_misuse("--%s belongs to %s", rows[i]->name, list);
    }
    return CLVOX_OK;
}

/* Whether options are given to a kind of argument that they are for. */
static int check_kinds(const cli_option *const *rows, const bool *given, int count, const char *kind)
{
    for (int i = 0; i < count; i++) {
        const char *kinds = given[i] ? rows[i]->kinds : NULL;
        char list[256] = "";
        bool among = !kinds || !kind;
        for (const char *word = kinds; !among && word;) {
            const size_t length = strcspn(word, "|"), used = strlen(list);
            among = strlen(kind) == length && !strncmp(kind, word, length);
            snprintf(list + used, sizeof list - used, "%s%.*s",
                     word == kinds         ? ""
                     : word[length] == '|' ? ", "
                                           : " and ",
                     (int)length, word);
            word = word[length] ? word + length + 1 : NULL;
        }
        if (!among)
            return cli_misuse("--%s belongs to %s", rows[i]->name, list);
    }
    return CLVOX_OK;
}

int cli_parse(command *cli, const cli_usage *usage, int argc, char **argv, char ***rest, int *count)
{
    const cli_option everywhere[] = {
        {"device", 0, CLI_TEXT, &cli->device, "SEL",
         usage->devices ? "gpu, cpu, part of a name, 0,1 or gpu:all"
                        : "gpu, cpu, an index of `clvox devices`, or part of a name",
         .basic = true},
        {"threads", 0, CLI_INTEGER, &cli->threads, "N", "host threads (default: one per core)"},
        {"json", 0, CLI_TEXT, &cli->json, "FILE", "machine-readable log; - for standard output",
         .basic = true},
        {"no-clobber", 0, CLI_FLAG, &cli->no_clobber, NULL, "refuse to replace existing files"},
        {"profile", 0, CLI_FLAG, &cli->profile, NULL, "print time and bytes of each kernel"},
        {"quiet", 'q', CLI_FLAG, &cli->quiet, NULL, "no progress, no messages", .basic = true},
        {"verbose", 'v', CLI_COUNT, &cli->verbose, NULL, "more messages; repeat for even more"},
        {"no-cache", 0, CLI_FLAG, &cli->no_cache, NULL, "neither read nor write the cache of built kernels"},
        {"no-wisdom", 0, CLI_FLAG, &cli->no_wisdom, NULL, "ignore what `clvox tune` measured (CLVOX_WISDOM)"},
        {"version", 0, CLI_FLAG, NULL, NULL, "print the version"},
        {"help", 'h', CLI_FLAG, NULL, NULL, "print this; --help all: every option, by group"},
        {0},
    };
    if (argc > 1 && !strcmp(argv[argc - 1], CLI_DESCRIBE))
        return cli_describe(cli, usage, everywhere);
    cli_option fields[CLVOX_MAX_OPTIONS + 1] = {{0}}, more[CLVOX_MAX_OPTIONS + 1] = {{0}};
    const cli_option *rows[MAX_OPTIONS] = {0};
    struct option known[MAX_OPTIONS + 1] = {{0}};
    char letters[2 * MAX_OPTIONS + 2] = ":";
    bool help = false, all = false, given[MAX_OPTIONS] = {false};
    int n = 0, used = 1, status;
    list_fields(usage->table, NULL, usage->given, fields);
    list_fields(usage->more, usage->without, usage->more_given, more);
    const cli_option *tables[] = {usage->options, fields, more, everywhere};
    for (size_t t = 0; t < sizeof tables / sizeof *tables; t++)
        for (const cli_option *o = tables[t]; o && o->name && n < MAX_OPTIONS; o++, n++) {
            int takes = o->kind != CLI_FLAG && o->kind != CLI_COUNT && o->kind != CLI_MARK;
            rows[n] = o;
            known[n].name = o->name;
            known[n].has_arg = takes                          ? required_argument
                               : o->target || *o->name == 'v' ? no_argument
                                                              : optional_argument;
            known[n].val = o->target ? OPTION_FIRST + n : *o->name == 'h' ? OPTION_HELP : OPTION_VERSION;
            if (o->letter) {
                letters[used++] = o->letter;
                if (takes)
                    letters[used++] = ':';
            }
        }
    letters[used] = 0;
    if ((status = drop_dimensions(cli, letters, &argc, argv)) < 0)
        return status;
    optind = 0;
    opterr = 0;
    for (;;) {
        int got = getopt_long(argc, argv, letters, known, NULL);
        const cli_option *row = NULL;
        if (got == -1 || (help && (got == '?' || got == ':')))
            break;
        if (got == '?' && optopt >= OPTION_HELP)
            return cli_misuse("%s: this option takes no value", argv[optind - 1]);
        if (got == '?' && optopt)
            return unknown_letter(optopt, known, n);
        if (got == '?')
            return unknown(argv[optind - 1], known, n);
        if (got == ':' && optopt >= OPTION_FIRST)
            return cli_misuse("--%s: the value is missing", known[optopt - OPTION_FIRST].name);
        if (got == ':')
            return cli_misuse("-%c: the value is missing", optopt);
        int row_at = 0;
        for (int i = 0; i < n && !row; i++)
            if (got == known[i].val || (got < OPTION_HELP && got == rows[i]->letter))
                row = rows[row_at = i];
        if (row && row->target) {
            const bool input = (row->kind == CLI_TEXT && !is_output(row)) || row->kind == CLI_REPEAT;
            const bool own = row < everywhere || row >= everywhere + sizeof everywhere / sizeof *everywhere;
            status = read_value(row, optarg);
            if (status >= 0 && input && own)
                status = cli_claim_input(cli, optarg);
            if (status < 0)
                return status;
            given[row_at] = true;
        } else if (row && *row->name == 'h') {
            help = true;
            all = all || !strcmp(optarg ? optarg : optind < argc ? argv[optind] : "", "all");
        } else {
            printf("clvox %s\n", clvox_version());
            return CLI_DONE;
        }
    }
    if (help) {
        status = usage->settle ? usage->settle(usage->user) : CLVOX_OK;
        if (status < 0)
            return status;
        cli_help_print(cli, usage, everywhere, all);
        return CLI_DONE;
    }
    clvox_threads_set(cli->threads);
    *rest = argv + optind;
    *count = argc - optind;
    if (*count < usage->least)
        return cli_misuse("%s is missing: %.*s", *count ? "an argument" : "the argument",
                          (int)strcspn(cli_help_of(cli->verb)->usage, "\n"), cli_help_of(cli->verb)->usage);
    if (*count > usage->most)
        return cli_misuse("%s: not an option, and not expected here", (*rest)[usage->most]);
    if ((status = check_needs(rows, given, n)) < 0)
        return status;
    if (usage->kind && (status = check_kinds(rows, given, n, usage->kind(*count ? **rest : NULL))) < 0)
        return status;
    for (int i = 0; i < *count; i++)
        if ((status = cli_claim_input(cli, (*rest)[i])) < 0)
            return status;
    for (const cli_option *o = usage->options; o && o->name; o++)
        if (is_output(o) && *(const char **)o->target &&
            (status = cli_claim_output(cli, o->name, *(const char **)o->target)) < 0)
            return status;
    if ((status = cli_claims_check(cli)) < 0 || (status = check_log(cli->json)) < 0)
        return status;
    cli->parsed = true;
    return CLVOX_OK;
}

/* ---- fields of a pipeline's options ------------------------------------- */

int cli_read_fields(const clvox_option_table *table, const char *const *given, double mm, void *values)
{
    int status = clvox_options_read(table, given, mm, values);
    return status == CLVOX_ERROR_ARGUMENT ? CLI_USAGE : status;
}

int cli_refuse_idle(const clvox_option_table *table, const char *const *given, const void *values)
{
    clvox_option_text row;
    for (int i = 0; clvox_option_describe(table, i, &row); i++) {
        const char *why = clvox_option_idle(table, i, values, given[i]);
        if (why)
            return cli_misuse("--%s has no effect %s", row.name, why);
    }
    return CLVOX_OK;
}

int cli_settle_fields(const clvox_option_table *table, const char *const *given, void *values)
{
    int status = cli_read_fields(table, given, 0, values);
    if (status)
        return status;
    if (clvox_options_check(table, values) < 0)
        return CLI_USAGE;
    return cli_refuse_idle(table, given, values);
}

const char *cli_option_word(const clvox_option_table *table, const char *name, int which)
{
    return clvox_option_word(table, clvox_option_find(table, name), which);
}

void cli_remark_idle(const command *cli, const clvox_option_table *table, const char *const *given,
                     const void *values)
{
    clvox_option_text row;
    for (int i = 0; clvox_option_describe(table, i, &row); i++) {
        const char *why = clvox_option_idle(table, i, values, given[i]);
        if (why)
            cli_remark(cli, 0, "--%s has no effect %s\n", row.name, why);
    }
}

int cli_auto_or_number(const char *option, const char *text, double *out)
{
    char *end;
    if (!text || !strcmp(text, "auto"))
        return 0;
    double value = strtod(text, &end);
    if (end == text || *end || !(value > 0) || isinf(value))
        return cli_misuse("--%s %s: neither auto nor a number above 0", option, text);
    *out = value;
    return 0;
}

int cli_read_shard(const char *text, int *shard, int *shards)
{
    char *slash, *end = NULL;
    if (!text)
        return 0;
    const long part = strtol(text, &slash, 10), parts = *slash == '/' ? strtol(slash + 1, &end, 10) : 0;
    if (!end || *end || part < 1 || part > parts || parts > 1 << 20)
        return cli_misuse("--shard %s: a part and the number of parts are needed, as 3/8", text);
    *shard = (int)part;
    *shards = (int)parts;
    return 0;
}

bool cli_has_word(int argc, char **argv, const char *option)
{
    const size_t length = strlen(option);
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (!strncmp(argv[i], option, length) && (!argv[i][length] || argv[i][length] == '='))
            return true;
    return false;
}
