/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/team.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "cli/cli.h"

static void *module;

/* mpirun's, or srun's with PMIx. */
static const char *rank_word(void)
{
    const char *word = getenv("OMPI_COMM_WORLD_RANK");
    return word ? word : getenv("PMIX_RANK");
}

int cli_team_rank(void)
{
    const char *word = rank_word();
    return word ? atoi(word) : 0;
}

bool cli_is_first(const command *cli)
{
    return !cli->team || cli->team->rank == 0;
}

/* Beside this program, where meson installs it, and of clvox-bench in a build folder. */
static int open_module(void)
{
    static const char *const places[] = {"", "../libexec/clvox/", "../src/cli/"};
    char self[4096], path[sizeof self + 32];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    self[length > 0 ? length : 0] = 0;
    char *slash = strrchr(self, '/');
    if (slash)
        slash[1] = 0;
    for (size_t i = 0; !module && i < sizeof places / sizeof *places; i++) {
        snprintf(path, sizeof path, "%s%sclvox-mpi.so", self, places[i]);
        if (!access(path, R_OK) && !(module = dlopen(path, RTLD_NOW | RTLD_GLOBAL)))
            return clvox_fail(CLVOX_ERROR_FILE, "%s: cannot be loaded (%s)", path, dlerror());
    }
    return module ? CLVOX_OK
                  : clvox_fail(CLVOX_ERROR_FILE,
                               "this clvox was built without Open MPI (libopenmpi-dev), which several "
                               "processes need; start one, without mpirun");
}

/* ISO C knows no way from an object's address to a function. */
static void *symbol(const char *name, void *out)
{
    void *found = dlsym(module, name);
    memcpy(out, &found, sizeof found);
    return found;
}

int cli_team_open(command *cli)
{
    int status = CLVOX_OK;
    clvox_team *team = NULL;
    cli_team_begin begin;
    const char *size = getenv("OMPI_COMM_WORLD_SIZE");
    if (!rank_word() || (size && atoi(size) < 2))
        return CLVOX_OK;
    CLI_TRY(open_module());
    if (!symbol(CLI_TEAM_BEGIN, &begin))
        return clvox_fail(CLVOX_ERROR_FILE, "clvox-mpi.so is of another clvox");
    CLI_TRY(begin(&(cli_team_host){cli_interrupted, clvox_fail}, &team, &cli->local_rank));
    if (team->size < 2) {
        cli_team_close(cli, CLVOX_OK);
        return CLVOX_OK;
    }
    cli->team = team;
    cli_team_signals(team->rank);
    if (team->rank > 0) {
        cli->quiet = cli->silent = true;
        cli->json = NULL;
        cli->profile = false;
    }
end:
    return status;
}

void cli_team_close(command *cli, int status)
{
    cli_team_end leave;
    if (module && symbol(CLI_TEAM_END, &leave))
        leave(status >= 0 || !cli->team || cli->team->agreed);
    cli->team = NULL;
    module = NULL; /* stays loaded: Open MPI's libraries do not like to go */
}

/* ---- devices ------------------------------------------------------------- */

/* "0,1,1": the word of this turn. */
static int word_of(const char *list, int turn, char *out)
{
    int words = 1;
    for (const char *at = list; *at; at++)
        words += *at == ',';
    for (turn %= words; turn > 0; turn--)
        list = strchr(list, ',') + 1;
    snprintf(out, 128, "%.*s", (int)strcspn(list, ","), list);
    return CLVOX_OK;
}

int cli_team_device(const command *cli, char *out)
{
    static const char *const types[] = {"cpu:all", "gpu:all", "accelerator:all"};
    const char *asked = cli->device && *cli->device ? cli->device : getenv("CLVOX_DEVICE");
    clvox_device *devices = NULL;
    int type = -1, found = 0;
    for (int t = 0; asked && t < 3; t++)
        type = strcasecmp(asked, types[t]) ? type : t;
    if (asked && *asked && type < 0)
        return word_of(asked, cli->local_rank, out);
    const int count = clvox_devices_list(&devices);
    if (count < 0)
        return count;
    if (type < 0 && count > 0)
        type = (int)devices[0].limits.type;
    for (int i = 0; i < count; i++)
        found += devices[i].usable && (int)devices[i].limits.type == type;
    snprintf(out, 128, "%s", type >= 0 ? types[type] : "");
    for (int i = 0, turn = found ? cli->local_rank % found : 0; found && i < count; i++)
        if (devices[i].usable && (int)devices[i].limits.type == type && turn-- == 0)
            snprintf(out, 128, "%d", i);
    clvox_devices_destroy(&devices);
    return CLVOX_OK;
}
