/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/warm.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clvox/kernels.h"
#include "clvox/threads.h"

/* More pay no longer: a pipeline asks for one kernel after the other. */
enum { MOST = 6 };

static struct {
    pid_t process[MOST];
    int count;
} children;

/* Files and folders are the parent's, and so is what there is to say. */
static _Noreturn void rehearse(const command *cli, cli_work *work, const void *user)
{
    static const int ends[] = {SIGINT, SIGTERM, SIGHUP, SIGXFSZ, SIGABRT};
    const int nothing = open("/dev/null", O_RDWR);
    command own = *cli;
    own.quiet = own.silent = true;
    own.verbose = 0;
    own.json = NULL;
    own.profile = false;
    own.rehearsal = true;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        signal(ends[i], SIG_DFL);
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    for (int i = 0; i < 3; i++)
        dup2(nothing, i);
    _exit(work(&own, children.count, user) < 0);
}

void cli_warm(const command *cli, cli_work *work, const void *user)
{
    char folder[PATH_MAX];
    if (cli->ctx || cli->no_cache || !clvox_cache_empty(folder, sizeof folder))
        return;
    if (!cli->quiet && isatty(STDERR_FILENO))
        fprintf(stderr, "building kernels, once; they are kept in %s\n", folder);
    clvox_environment_settle(NULL, 0); /* theirs, too */
    fflush(NULL);                      /* what waits to be written is written once */
    while (children.count < MOST && children.count < clvox_threads() - 1) {
        const pid_t child = fork();
        if (child == 0)
            rehearse(cli, work, user);
        if (child < 0)
            return;
        children.process[children.count++] = child;
    }
}

void cli_warm_end(void)
{
    while (children.count > 0) {
        const pid_t child = children.process[--children.count];
        kill(child, SIGTERM);
        /* A driver takes its time to leave a process, for which nobody has to wait. */
        waitpid(child, NULL, WNOHANG);
    }
}
