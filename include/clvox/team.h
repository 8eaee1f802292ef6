/* SPDX-License-Identifier: Apache-2.0 */
/* Processes that do one piece of work together, each on devices of its own. */
#ifndef CLVOX_TEAM_H
#define CLVOX_TEAM_H

#include <stddef.h>
#include <stdint.h>

#include "clvox/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Communication among the members of a team: two functions that the program supplies (the command has MPI's). Every
 * member calls them in the same order with the same counts, from the thread that called the library. They return
 * CLVOX_OK, or a negative clvox_status with its sentence stored (clvox_fail); after a failure, as after the death
 * of a member, the team can no longer be used. */
typedef struct clvox_team {
    int rank, size; /* of this member, from 0, and how many there are */
    /* The values become the sums over all members. */
    int (*sum)(void *user, int64_t *values, size_t count);
    /* The bytes of the member `from` become those of all. */
    int (*spread)(void *user, int from, void *bytes, size_t size);
    void *user;
    int agreed; /* becomes 1 when all members know of a failure, so that only one of them need report it */
} clvox_team;

/* Makes the failure of any member everybody's: returns CLVOX_OK where all have brought a status of 0 or
 * more, else the status and the sentence of the first member that failed and was not merely stopped. team
 * NULL: status. */
CLVOX_API int clvox_team_agree(clvox_team *team, int status);

#ifdef __cplusplus
}
#endif

#endif
