/* SPDX-License-Identifier: Apache-2.0 */
/* clvox ants PROGRAM, and the program under that name. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/ants/ants.h"
#include "clvox/files.h"
#include "clvox/threads.h"

static const ants_program *const programs[] = {
    &ants_registration_program, &ants_apply_program,     &ants_initializer_program, &ants_ai_program,
    &ants_syn_program,          &ants_syn_quick_program, &ants_n4_program,          &ants_denoise_program,
    &ants_jacobian_program,     &ants_math_program};
enum { PROGRAMS = sizeof programs / sizeof *programs };

static const ants_program *find(const char *name)
{
    for (int i = 0; i < PROGRAMS; i++)
        if (!strcmp(programs[i]->name, name))
            return programs[i];
    return NULL;
}

bool cli_ants_is(const char *name)
{
    return find(name) != NULL;
}

/* ---- tables ------------------------------------------------------------- */

static const char *const treatments[] = {"honoured", "replaced", "no effect", "refused"};

static void print_spelling(const ants_option *o, bool by_place, char *out, size_t room)
{
    if (by_place)
        snprintf(out, room, "%s", o->name);
    else if (!*o->name)
        snprintf(out, room, "-%c", o->letter);
    else if (o->letter)
        snprintf(out, room, "-%c, --%s", o->letter, o->name);
    else
        snprintf(out, room, "--%s", o->name);
}

static void print_help(const ants_program *p)
{
    char spelling[96];
    printf("%s, answered by clvox %s: %s\n\n", p->name, clvox_version(), p->does);
    for (const ants_option *o = p->options; o->name; o++) {
        print_spelling(o, p->by_place, spelling, sizeof spelling);
        printf("  %s  %s\n      %s%s%s\n", spelling, o->values, treatments[o->treatment],
               *o->says ? ": " : "", o->says);
    }
}

/* The tables of doc/ants.md. */
static void print_markdown(void)
{
    char spelling[96];
    for (int i = 0; i < PROGRAMS; i++) {
        const ants_program *p = programs[i];
        printf("## %s\n\n| %s | values | |\n|---|---|---|\n", p->name, p->by_place ? "word" : "option");
        for (const ants_option *o = p->options; o->name; o++) {
            print_spelling(o, p->by_place, spelling, sizeof spelling);
            printf("| `%s` | ", spelling);
            for (const char *c = o->values; *c; c++)
                printf(*c == '|' ? "\\|" : "%c", *c);
            printf(" | %s%s%s |\n", treatments[o->treatment], *o->says ? ": " : "", o->says);
        }
        printf("%s", i + 1 < PROGRAMS ? "\n" : "");
    }
}

/* ---- links -------------------------------------------------------------- */

static int link_path(const char *folder, const char *name, char path[PATH_MAX])
{
    return snprintf(path, PATH_MAX, "%s/%s", folder, name) < PATH_MAX
               ? CLVOX_OK
               : clvox_fail(CLVOX_ERROR_FILE, "%.60s...: the name is too long", folder);
}

/* Links of all names in a folder, none of which is anything else yet. */
static int install(command *cli, const char *folder)
{
    int status = CLVOX_OK;
    char self[PATH_MAX], path[PATH_MAX], to[PATH_MAX];
    const ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    bool there[PROGRAMS];
    if (length <= 0)
        return clvox_fail(CLVOX_ERROR_FILE, "the place of this program is not known");
    self[length] = 0;
    for (int i = 0; i < PROGRAMS; i++) {
        struct stat info;
        CLI_TRY(link_path(folder, programs[i]->name, path));
        there[i] = !lstat(path, &info);
        const ssize_t n = there[i] ? readlink(path, to, sizeof to - 1) : 0;
        to[n > 0 ? n : 0] = 0;
        if (there[i] && strcmp(to, self) != 0)
            return clvox_fail(CLVOX_ERROR_FILE, "%s: is there already, and is no link to %s", path, self);
    }
    CLI_TRY(link_path(folder, "clvox", path));
    CLI_TRY(clvox_folders_make(path));
    for (int i = 0; i < PROGRAMS; i++) {
        CLI_TRY(link_path(folder, programs[i]->name, path));
        if (!there[i] && symlink(self, path))
            return clvox_fail(CLVOX_ERROR_FILE, "%s: cannot be made (%s)", path, strerror(errno));
        cli_print(cli, "%s\n", path);
    }
end:
    return status;
}

/* ---- the verb ----------------------------------------------------------- */

/* Threads as ITK's programs are told of them. */
static void read_threads(command *cli)
{
    const char *text = getenv("ITK_GLOBAL_DEFAULT_NUMBER_OF_THREADS");
    const long n = text ? strtol(text, NULL, 10) : 0;
    if (n > 0 && n <= 4096)
        clvox_threads_set(cli->threads = (int)n);
}

static int run(command *cli, const ants_program *program, int argc, char **argv)
{
    ants_line *line = calloc(1, sizeof *line);
    static char verb[64];
    if (!line)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    snprintf(verb, sizeof verb, "ants %s", program->name);
    cli->verb = verb;
    read_threads(cli);
    int status = ants_read(program, argc, argv, line);
    if (status >= 0 && line->version) {
        /* As ANTs has it, for what reads a version; nothing may take this for ANTs. */
        printf("ANTs Version: 2.6.0+clvox.%s\nclvox %s in the place of ANTs\n", clvox_version(),
               clvox_version());
        status = CLI_DONE;
    } else if (status >= 0 && line->help) {
        print_help(program);
        status = argc ? CLI_DONE : clvox_fail(CLVOX_ERROR_ARGUMENT, "there are no options");
    } else if (status >= 0) {
        status = program->run(cli, line);
    }
    ants_free(line);
    free(line);
    /* ANTs' programs have one exit code for all that fails. */
    cli->verb = verb;
    return status == CLI_USAGE ? CLVOX_ERROR_ARGUMENT : status;
}

int cmd_ants(command *cli, int argc, char **argv)
{
    const char *folder = NULL;
    bool tables = false;
    const ants_program *program = argc > 1 ? find(argv[1]) : NULL;
    if (program)
        return run(cli, program, argc - 2, argv + 2);
    const cli_option options[] = {
        {"install", 0, CLI_FOLDER, &folder, "DIR", "make links with the programs' names in this folder"},
        {"tables", 0, CLI_FLAG, &tables, NULL, "print what becomes of each option of each program"},
        {0},
    };
    const cli_usage usage = {.options = options, .most = 1};
    char **words;
    int count, status = cli_parse(cli, &usage, argc, argv, &words, &count);
    if (status)
        return status;
    if (count)
        return cli_misuse("%s: clvox has no program of ANTs by this name; `clvox ants --help` lists them",
                          words[0]);
    if (tables)
        print_markdown();
    else if (folder)
        status = install(cli, folder);
    else
        status = cli_misuse("PROGRAM is missing; `clvox ants --help` lists them");
    return status;
}
