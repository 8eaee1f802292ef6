/* SPDX-License-Identifier: Apache-2.0 */
/* Frame of the programs clvox and clvox-bench around a verb: signals, help, log, exit code. */
#include <limits.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "cli/bar.h"
#include "cli/cli.h"
#include "clvox/files.h"
#include "clvox/kernels.h"

/* ---- signals ------------------------------------------------------------ */

static volatile sig_atomic_t interrupted, teamed, silent;
static atomic_int watched; /* by so many */

static void on_signal(int signal_number)
{
    /* Once is a request where somebody looks at the flag, twice an order. */
    if (atomic_load(&watched) > 0 && !interrupted && signal_number != SIGXFSZ) {
        static const char note[] = "\nstopping; once more to stop at once\n";
        interrupted = signal_number;
        ssize_t ignored = teamed ? 0 : write(STDERR_FILENO, note, sizeof note - 1);
        (void)ignored;
        return;
    }
    static const char ctrl_c[] = "\nclvox: interrupted; unfinished files are removed\n",
                      term[] = "\nclvox: ended by SIGTERM; unfinished files are removed\n",
                      hup[] = "\nclvox: ended by SIGHUP; unfinished files are removed\n",
                      xfsz[] = "clvox: a file is larger than the limit (ulimit -f); unfinished files are removed\n";
    clvox_files_abandon();
    clvox_folders_remove();
    const char *said = signal_number == SIGINT    ? ctrl_c
                       : signal_number == SIGTERM ? term
                       : signal_number == SIGHUP  ? hup
                                                  : xfsz;
    ssize_t unused = silent ? 0 : write(STDERR_FILENO, said, strlen(said));
    (void)unused;
    _exit(128 + signal_number);
}

/* Libraries that drivers bring along end the program where they get no memory, or find themselves wrong. It ends as
 * it would without this: with a core where the user wants one, and 128 + 6. */
static bool limited;

static void on_abort(int signal_number)
{
    static const char memory[] = "clvox: the OpenCL driver or its compiler gave up, perhaps for the limit on memory (ulimit -v); "
                                 "unfinished files are removed\n",
                      other[] = "clvox: the OpenCL driver or a library gave up; unfinished files are removed\n";
    clvox_files_abandon();
    clvox_folders_remove();
    ssize_t unused = limited ? write(STDERR_FILENO, memory, sizeof memory - 1) : write(STDERR_FILENO, other, sizeof other - 1);
    (void)unused;
    signal(signal_number, SIG_DFL);
    raise(signal_number);
}

static void watch_signals(void)
{
    static const int ends[] = {SIGINT, SIGTERM, SIGHUP, SIGXFSZ, SIGABRT};
    struct rlimit addresses;
    limited = !getrlimit(RLIMIT_AS, &addresses) && addresses.rlim_cur != RLIM_INFINITY;
#ifdef M_ARENA_MAX
    if (limited) /* else each thread may reserve 128 MiB of addresses */
        mallopt(M_ARENA_MAX, 1);
#endif
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        struct sigaction old, action = {.sa_handler = ends[i] == SIGABRT ? on_abort : on_signal};
        /* Signals that the caller ignores (nohup) stay ignored. */
        if (!sigaction(ends[i], NULL, &old) && old.sa_handler != SIG_IGN)
            sigaction(ends[i], &action, NULL);
    }
}

bool cli_interrupted(void)
{
    return interrupted != 0;
}

void cli_watch(bool on)
{
    atomic_fetch_add(&watched, on ? 1 : -1);
}

bool cli_is_watched(void)
{
    return atomic_load(&watched) > 0;
}

void cli_team_signals(int rank)
{
    teamed = 1;
    silent = rank > 0;
}

/* ---- help --------------------------------------------------------------- */

static void print_help(const cli_verb *verbs, FILE *to)
{
    fprintf(to, "clvox %s: registration and filters for 3-D brain images on OpenCL devices\n\n"
                "Usage: clvox VERB [options]\n\nVerbs:\n",
            clvox_version());
    for (int i = 0; verbs[i].name; i++)
        fprintf(to, "  %-10s  %s\n", verbs[i].name, verbs[i].help);
    fprintf(to, "\n`clvox VERB --help` explains a verb, with an example, `--help all` every option.\n"
                "Exit codes: 0 success, 1 failure, 2 usage error, 130 interrupted.\n");
}

static const cli_verb *find_verb(const cli_verb *verbs, const char *name)
{
    int count = 0;
    for (; verbs[count].name; count++)
        if (!strcmp(verbs[count].name, name))
            return &verbs[count];
    const char *near = cli_nearest(name, &verbs[0].name, count, sizeof verbs[0]);
    if (near)
        fprintf(stderr, "clvox: %s is not a verb; did you mean `clvox %s`?\n", name, near);
    else
        fprintf(stderr, "clvox: %s is not a verb; `clvox --help` lists them\n", name);
    return NULL;
}

/* ---- one verb ----------------------------------------------------------- */

static int exit_code(int status)
{
    if (status == CLVOX_ERROR_STOPPED && interrupted)
        return 128 + interrupted;
    return status >= 0 ? 0 : status == CLI_USAGE ? 2 : 1;
}

static cJSON *begin_log(const cli_verb *verb, int argc, char **argv)
{
    cJSON *log = cJSON_CreateObject();
    char date[32];
    time_t now = time(NULL);
    strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", gmtime(&now));
    cJSON_AddStringToObject(log, "program", "clvox");
    cJSON_AddStringToObject(log, "version", clvox_version());
    cJSON_AddStringToObject(log, "verb", verb->name);
    cJSON_AddStringToObject(log, "date", date);
    cJSON *words = cJSON_AddArrayToObject(log, "command");
    cJSON_AddItemToArray(words, cJSON_CreateString("clvox"));
    for (int i = 0; i < argc; i++)
        cJSON_AddItemToArray(words, cJSON_CreateString(argv[i]));
    return log;
}

/* The log of a run that failed says why. What comes of it does not hide that. */
static void log_failure(command *cli, int status)
{
    char message[2048];
    snprintf(message, sizeof message, "%s", clvox_message());
    cJSON_DeleteItemFromObject(cli->log, "error");
    cJSON_AddStringToObject(cli->log, "error", message);
    cJSON_AddNumberToObject(cli->log, "exit_code", exit_code(status));
    cli_write_log(cli, cli->json);
    clvox_fail((clvox_status)status, "%s", message);
}

/* A portable package keeps its libraries beside the program, and a driver among them. */
static bool begin_environment(void)
{
    char path[PATH_MAX + 16];
    const ssize_t length = readlink("/proc/self/exe", path, PATH_MAX);
    path[length > 0 ? length : 0] = 0;
    char *slash = strrchr(path, '/'), *folder = NULL;
    if (slash) {
        strcpy(slash, "/../lib/clvox");
        folder = realpath(path, NULL); /* NULL: an installation without it */
    }
    const bool lent = clvox_environment_begin(folder);
    free(folder);
    return lent;
}

int cli_run(const cli_verb *verb, int argc, char **argv)
{
    command cli = {.verb = verb->name, .started = cli_seconds()};
    cli.own_driver = begin_environment();
    cli.log = begin_log(verb, argc, argv);
    int status = verb->run(&cli, argc, argv);
    cli_bar_passing_end();
    if (status >= 0 && status != CLI_DONE)
        status = cli_profile(&cli);
    if (status >= 0 && status != CLI_DONE && cli.json)
        status = cli_write_log(&cli, cli.json);
    else if (status < 0 && cli.parsed && cli_log_is_free(&cli))
        log_failure(&cli, status);
    if (status != CLI_DONE)
        cli_claims_settle(&cli);
    if (status < 0)
        clvox_folders_remove(); /* those that nothing was written into */
    cli_claims_free(&cli);
    if (status >= 0 && (fflush(stdout) || ferror(stdout)))
        status = clvox_fail(CLVOX_ERROR_FILE, "standard output cannot be written");
    clvox_context_destroy(&cli.ctx);
    clvox_contexts_destroy(&cli.more, cli.more_count);
    cJSON_Delete(cli.log);
    /* Messages of all processes of a team are printed once. */
    if (cli_team_rank() > 0 && (status == CLI_USAGE || interrupted || (cli.team && cli.team->agreed)))
        silent = 1;
    const bool lost = teamed && interrupted == SIGTERM;
    if (status == CLVOX_ERROR_STOPPED && interrupted && !silent)
        fprintf(stderr, "clvox %s: %s\n", cli.verb,
                lost ? "ended by SIGTERM, as mpirun does when one of its processes is lost" : "interrupted");
    cli_team_close(&cli, status);
    if (status == CLVOX_ERROR_STOPPED && interrupted)
        return exit_code(status);
    if (silent &&
        status < 0) /* mpirun ends the others as soon as one fails: the first has to say it before */
        return 0;
    if (status < 0)
        fprintf(stderr, "clvox %s: %s\n", cli.verb, clvox_message());
    if (status == CLI_USAGE)
        fprintf(stderr, "`clvox %s --help` explains the options.\n", cli.verb);
    return exit_code(status);
}

static int begin(const cli_verb *verbs, int argc, char **argv)
{
    watch_signals();
    if (argc < 2) {
        print_help(verbs, stderr);
        return 2;
    }
    const char *word = argv[1];
    if (!strcmp(word, "--version")) {
        printf("clvox %s\n", clvox_version());
        return 0;
    }
    if (!strcmp(word, "--help") || !strcmp(word, "-h") || (!strcmp(word, "help") && argc == 2)) {
        print_help(verbs, stdout);
        return 0;
    }
    if (!strcmp(word, CLI_DESCRIBE))
        return exit_code(cli_describe_verbs(verbs));
    if (*word == '-') {
        fprintf(stderr, "clvox: %s: options come after the verb; `clvox --help` lists the verbs\n", word);
        return 2;
    }
    bool help = !strcmp(word, "help");
    const cli_verb *verb = find_verb(verbs, help ? argv[2] : word);
    if (!verb)
        return 2;
    char asked[] = "--help", *question[] = {argv[1 + help], asked, help ? argv[3] : NULL, NULL};
    return help ? cli_run(verb, argc > 3 ? 3 : 2, question) : cli_run(verb, argc - 1, argv + 1);
}

typedef struct arguments {
    const cli_verb *verbs;
    int argc, code;
    char **argv;
} arguments;

static void *begin_apart(void *user)
{
    arguments *a = user;
    a->code = begin(a->verbs, a->argc, a->argv);
    return NULL;
}

int cli_main(const cli_verb *verbs, int argc, char **argv)
{
    /* Compilers inside of OpenCL drivers take megabytes of stack. Where the limit (ulimit -s) gives less, all runs in
     * threads, whose stacks may be larger; those that drivers start, too. */
    enum { STACK = 8 << 20 };
    arguments a = {.verbs = verbs, .argc = argc, .argv = argv};
    struct rlimit limit;
    pthread_attr_t larger;
    pthread_t thread;
    if (getrlimit(RLIMIT_STACK, &limit) || limit.rlim_cur >= STACK || pthread_attr_init(&larger))
        return begin(verbs, argc, argv);
    bool apart = !pthread_attr_setstacksize(&larger, STACK) && !pthread_setattr_default_np(&larger) &&
                 !pthread_create(&thread, &larger, begin_apart, &a);
    pthread_attr_destroy(&larger);
    if (!apart)
        return begin(verbs, argc, argv);
    pthread_join(thread, NULL);
    return a.code;
}
