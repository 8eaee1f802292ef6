/* SPDX-License-Identifier: Apache-2.0 */
/* ANTs' command lines: options before their values, brackets with and without blanks in them. */
#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/ants/ants.h"

/* ---- memory of a line --------------------------------------------------- */

static char *keep(ants_line *line, char *text)
{
    if (text && line->keeps < (int)(sizeof line->kept / sizeof *line->kept)) {
        line->kept[line->keeps++] = text;
        return text;
    }
    free(text);
    clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    return NULL;
}

const char *ants_print(ants_line *line, const char *format, ...)
{
    char *text = NULL;
    va_list args;
    va_start(args, format);
    const int length = vasprintf(&text, format, args);
    va_end(args);
    return keep(line, length < 0 ? NULL : text);
}

void ants_free(ants_line *line)
{
    for (int i = 0; i < line->keeps; i++)
        free(line->kept[i]);
    line->keeps = 0;
}

/* ---- words -------------------------------------------------------------- */

/* -d and --dimensionality, but not -1024. */
static bool is_option(const char *word)
{
    if (word[0] != '-')
        return false;
    return word[1] == '-' ? isalpha((unsigned char)word[2]) : isalpha((unsigned char)word[1]) && !word[2];
}

static const ants_option *find_option(const ants_program *program, const char *word)
{
    for (const ants_option *o = program->options; o->name; o++)
        if (word[1] == '-' ? !strcmp(o->name, word + 2) : o->letter == word[1])
            return o;
    return NULL;
}

/* Open brackets that are not closed. */
static int depth_of(const char *text)
{
    int depth = 0;
    for (; *text; text++)
        depth += (*text == '[') - (*text == ']');
    return depth;
}

static char *trim(char *text)
{
    while (isspace((unsigned char)*text))
        text++;
    for (char *end = text + strlen(text); end > text && isspace((unsigned char)end[-1]);)
        *--end = 0;
    return text;
}

/* Takes "name[item,item]" apart; text is changed. */
static int take_apart(const char *option, char *text, ants_value *v)
{
    char *open = strchr(text, '['), *close = strrchr(text, ']');
    v->name = trim(text);
    if (!open)
        return CLVOX_OK;
    if (!close || close < open || *trim(close + 1))
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "--%s %s: the brackets do not close", option, v->text);
    *open = *close = 0;
    v->name = trim(text);
    for (char *item = open + 1, *comma; item; item = comma ? comma + 1 : NULL) {
        if ((comma = strchr(item, ',')))
            *comma = 0;
        if (v->count == ANTS_ITEMS)
            return clvox_fail(CLVOX_ERROR_ARGUMENT, "--%s %s: more than %d values", option, v->text,
                              ANTS_ITEMS);
        v->item[v->count++] = trim(item);
    }
    if (v->count == 1 && !*v->item[0])
        v->count = 0;
    return CLVOX_OK;
}

static int enter(ants_line *line, const ants_option *option, const char *text)
{
    ants_given *g = &line->given[line->count];
    if (line->count == ANTS_GIVEN)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "more than %d options", ANTS_GIVEN);
    line->count++;
    *g = (ants_given){.option = option};
    if (!text)
        return CLVOX_OK;
    char *whole = keep(line, strdup(text)), *parts = whole ? keep(line, strdup(text)) : NULL;
    if (!parts)
        return CLVOX_ERROR_MEMORY;
    g->value.text = trim(whole);
    const int status =
        take_apart(*option->name ? option->name : (char[2]){option->letter, 0}, parts, &g->value);
    if (status >= 0 && strstr(option->name, "imension") && strcmp(g->value.text, "3") != 0)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "%s dimensions: clvox is for volumes of three",
                          g->value.text);
    return status;
}

/* The value behind an option at argv[*at]: the words up to where its brackets close, with blanks between.
 * Moves *at to the last of them. */
static int read_value(int argc, char **argv, int *at, char **out)
{
    size_t size = 1;
    int last = *at + 1, depth;
    *out = NULL;
    if (last >= argc || is_option(argv[last]))
        return CLVOX_OK;
    for (depth = depth_of(argv[last]); depth > 0 && last + 1 < argc; depth += depth_of(argv[last]))
        last++;
    if (depth > 0)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "%s %s: the brackets do not close", argv[*at], argv[*at + 1]);
    /* "Rigid [ 0.1 ]": the bracket may stand apart. */
    while (last + 1 < argc && argv[last + 1][0] == '[' && !strchr(argv[last], '['))
        for (depth = depth_of(argv[++last]); depth > 0 && last + 1 < argc; depth += depth_of(argv[last]))
            last++;
    for (int i = *at + 1; i <= last; i++)
        size += strlen(argv[i]) + 1;
    char *text = malloc(size), *end = text;
    if (!text)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    for (int i = *at + 1; i <= last; i++)
        end += sprintf(end, "%s%s", i > *at + 1 ? " " : "", argv[i]);
    *at = last;
    *out = text;
    return CLVOX_OK;
}

static int read_options(ants_line *line, int argc, char **argv)
{
    int status = CLVOX_OK;
    for (int i = 0; i < argc && status >= 0; i++) {
        char *text = NULL;
        if (!is_option(argv[i]))
            return clvox_fail(CLVOX_ERROR_ARGUMENT, "%s: no option, and no value of one", argv[i]);
        const char *word = argv[i];
        const ants_option *option = find_option(line->program, word);
        if (!strcmp(word, "-h") && !option)
            word = "--help";
        if ((status = read_value(argc, argv, &i, &text)) < 0)
            return status;
        const bool off = text && !strcmp(text, "0");
        if (option && option->treatment == ANTS_REFUSED && !off)
            status = clvox_fail(CLVOX_ERROR_ARGUMENT, "%s: is refused: %s", word, option->says);
        else if (option)
            status = enter(line, option, text);
        else if (!strcmp(word, "--help"))
            line->help = !off;
        else if (!strcmp(word, "--version"))
            line->version = true;
        else
            status = clvox_fail(CLVOX_ERROR_ARGUMENT, "%s: clvox does not know this option of %s", word,
                                line->program->name);
        free(text);
    }
    return status;
}

static int read_places(ants_line *line, int argc, char **argv)
{
    int status = CLVOX_OK;
    const ants_option *option = line->program->options;
    line->version = argc == 1 && !strcmp(argv[0], "--version");
    line->help = !line->version && argc == 1 && argv[0][0] == '-';
    if (line->version || line->help)
        return CLVOX_OK;
    if (argc < line->program->least)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "%d words, and %d are needed at least: see %s --help", argc,
                          line->program->least, line->program->name);
    for (int i = 0; i < argc && status >= 0; i++, option++) {
        if (!option->name)
            return clvox_fail(CLVOX_ERROR_ARGUMENT, "%s: one word too many", argv[i]);
        const bool off = !strcmp(argv[i], "0");
        status = option->treatment == ANTS_REFUSED && !off
                     ? clvox_fail(CLVOX_ERROR_ARGUMENT, "%s %s: is refused: %s", option->name, argv[i],
                                  option->says)
                     : enter(line, option, argv[i]);
    }
    return status;
}

int ants_read(const ants_program *program, int argc, char **argv, ants_line *out)
{
    int status = CLVOX_OK;
    memset(out, 0, sizeof *out);
    out->program = program;
    out->help = argc == 0;
    if (argc > 0)
        status = program->by_place ? read_places(out, argc, argv) : read_options(out, argc, argv);
    return status;
}

/* ---- values ------------------------------------------------------------- */

static bool is_named(const ants_given *g, const char *name)
{
    return *g->option->name ? !strcmp(g->option->name, name) : g->option->letter == *name && !name[1];
}

const ants_value *ants_at(const ants_line *line, const char *name, int at)
{
    for (int i = 0; i < line->count; i++)
        if (is_named(&line->given[i], name) && at-- == 0)
            return &line->given[i].value;
    return NULL;
}

int ants_count(const ants_line *line, const char *name)
{
    int count = 0;
    for (int i = 0; i < line->count; i++)
        count += is_named(&line->given[i], name);
    return count;
}

const ants_value *ants_find(const ants_line *line, const char *name)
{
    return ants_at(line, name, ants_count(line, name) - 1);
}

const char *ants_text(const ants_line *line, const char *name, const char *otherwise)
{
    const ants_value *v = ants_find(line, name);
    return v && v->text ? v->text : otherwise;
}

int ants_number(const char *option, const char *text, double *out)
{
    char *end;
    *out = strtod(text, &end);
    if (end == text || *end || !isfinite(*out))
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "--%s %s: not a number", option, text);
    return CLVOX_OK;
}

int ants_flag(const ants_line *line, const char *name, bool standard, bool *out)
{
    const ants_value *v = ants_find(line, name);
    *out = v ? true : standard;
    if (!v || !v->text || !strcmp(v->text, "1") || !strcasecmp(v->text, "true"))
        return CLVOX_OK;
    *out = false;
    if (!strcmp(v->text, "0") || !strcasecmp(v->text, "false"))
        return CLVOX_OK;
    return clvox_fail(CLVOX_ERROR_ARGUMENT, "--%s %s: neither 0 nor 1", name, v->text);
}

int ants_link(ants_line *line, const char *option, const ants_value *v, const char **out)
{
    *out = v->name;
    if (!v->text || (!v->count && !*v->name))
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "--%s: the transform is missing", option);
    if (!v->count)
        return CLVOX_OK;
    *out = v->item[0];
    const char *inverse = v->count > 1 ? v->item[1] : "0";
    if (*v->name || v->count > 2 || (strcmp(inverse, "0") != 0 && strcmp(inverse, "1") != 0))
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "--%s %s: a transform is FILE, [FILE,0] or [FILE,1]", option,
                          v->text);
    if (*inverse == '1' && !(*out = ants_print(line, "[%s,1]", v->item[0])))
        return CLVOX_ERROR_MEMORY;
    return CLVOX_OK;
}

int ants_interpolation(ants_line *line, const ants_value *v, const char **out)
{
    static const struct {
        const char *theirs, *ours, *instead;
    } words[] = {
        {"Linear", "linear", NULL},
        {"NearestNeighbor", "nearest", NULL},
        {"Gaussian", "gaussian", NULL},
        {"BSpline", "bspline", NULL},
        {"GenericLabel", "label", NULL},
        {"MultiLabel", "label", "MultiLabel by the label of the largest linear weight"},
        {"LanczosWindowedSinc", "lanczos", NULL},
        {"CosineWindowedSinc", "lanczos", "CosineWindowedSinc by Lanczos' window"},
        {"WelchWindowedSinc", "lanczos", "WelchWindowedSinc by Lanczos' window"},
        {"HammingWindowedSinc", "lanczos", "HammingWindowedSinc by Lanczos' window"},
    };
    *out = "linear";
    for (size_t i = 0; v && i < sizeof words / sizeof *words; i++)
        if (!strcasecmp(v->name, words[i].theirs)) {
            *out = words[i].ours;
            if (words[i].instead)
                ants_replaces(line, "%s", words[i].instead);
            if (!strcmp(*out, "bspline") && v->count && strcmp(v->item[0], "3") != 0)
                ants_replaces(line, "B-splines of order %s by those of order 3", v->item[0]);
            if (!strcmp(*out, "gaussian") && v->count)
                ants_replaces(line, "the Gaussian's width by a sigma of a voxel, cut off there");
            return CLVOX_OK;
        }
    return v ? clvox_fail(CLVOX_ERROR_ARGUMENT, "--interpolation %s: clvox has no such interpolation",
                          v->text)
             : CLVOX_OK;
}

/* ---- what is replaced --------------------------------------------------- */

void ants_replaces(ants_line *line, const char *format, ...)
{
    char *to = line->replaced[line->replacements];
    if (line->replacements == ANTS_REMARKS)
        return;
    va_list args;
    va_start(args, format);
    vsnprintf(to, sizeof line->replaced[0], format, args);
    va_end(args);
    for (int i = 0; i < line->replacements; i++)
        if (!strcmp(line->replaced[i], to))
            return;
    line->replacements++;
}

void ants_say(const command *cli, const ants_line *line)
{
    for (int i = 0; i < line->replacements; i++)
        cli_remark(cli, 0, "%s%s%s", i ? "; " : "clvox replaces ", line->replaced[i],
                   i + 1 == line->replacements ? "\n" : "");
}

/* ---- clvox's own verbs -------------------------------------------------- */

void ants_add(ants_words *w, const char *option, const char *value)
{
    if (w->count + 2 > ANTS_WORDS)
        return;
    w->item[w->count++] = option;
    if (value)
        w->item[w->count++] = value;
}

int ants_run(command *cli, ants_line *line, const cli_verb *verb, ants_words *words)
{
    char *argv[ANTS_WORDS + 2] = {(char *)(uintptr_t)verb->name};
    const char *name = cli->verb;
    for (int i = 0; i < words->count; i++)
        argv[i + 1] = (char *)(uintptr_t)words->item[i];
    ants_say(cli, line);
    cli->verb = verb->name;
    cli->silent = cli->in_place = true;
    const int status = verb->run(cli, words->count + 1, argv);
    cli->verb = name;
    return status;
}
