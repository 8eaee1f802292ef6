/* SPDX-License-Identifier: Apache-2.0 */
/* The processes that mpirun has started together: what they say to each other goes through clvox-mpi.so, a
 * module that is there where clvox was built with Open MPI, so that clvox runs without its libraries. */
#ifndef CLI_TEAM_H
#define CLI_TEAM_H

#include <stdbool.h>

#include "clvox/device.h"
#include "clvox/team.h"

struct command;

/* The rank that mpirun has given this process, 0 without one. */
int cli_team_rank(void);

/* Joins the team, where mpirun has started more than one process: sets cli->team. All but the first become
 * silent and write no log. */
int cli_team_open(struct command *cli);

/* Leaves it; where status is a failure that the others do not know of, they are ended. */
void cli_team_close(struct command *cli, int status);

/* The selection of the device of this process: of --device, or of all usable ones of the best type, the
 * one of its turn among the processes of its host. In a buffer of at least 128 characters. */
int cli_team_device(const struct command *cli, char *out);

/* Only the first member of a team writes what all have. */
bool cli_is_first(const struct command *cli);

/* ---- the module ---------------------------------------------------------- */

/* Functions passed to it: it is not linked with the library. */
typedef struct cli_team_host {
    bool (*stopped)(void);
    int (*fail)(clvox_status code, const char *format, ...);
} cli_team_host;

/* Its functions, by these names. Begin sets *team, which it owns, and *local: the rank among those of this
 * host. */
#define CLI_TEAM_BEGIN "clvox_mpi_begin"
#define CLI_TEAM_END "clvox_mpi_end"
typedef int (*cli_team_begin)(const cli_team_host *host, clvox_team **team, int *local);
typedef void (*cli_team_end)(bool in_peace);

#endif
