/* SPDX-License-Identifier: Apache-2.0 */
#include "clvox/team.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"

/* First failure by rank, those that were merely stopped after all others; -1: none. */
static int first_failure(const int64_t *failed, int size)
{
    int first = -1;
    for (int i = 0; i < size; i++)
        if (failed[i] < 0 &&
            (first < 0 || (failed[first] == CLVOX_ERROR_STOPPED && failed[i] != CLVOX_ERROR_STOPPED)))
            first = i;
    return first;
}

int clvox_team_agree(clvox_team *team, int status)
{
    char sentence[2048] = "";
    if (!team)
        return status;
    int64_t *failed = calloc((size_t)team->size, sizeof *failed);
    if (!failed)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    if (status < 0) {
        failed[team->rank] = status;
        snprintf(sentence, sizeof sentence, "%s", clvox_message());
    }
    int told = team->sum(team->user, failed, (size_t)team->size);
    const int first = told < 0 ? -1 : first_failure(failed, team->size);
    if (first >= 0)
        told = team->spread(team->user, first, sentence, sizeof sentence);
    const int code = first >= 0 ? (int)failed[first] : CLVOX_OK;
    free(failed);
    if (told < 0)
        return told;
    if (code < 0) {
        team->agreed = 1;
        sentence[sizeof sentence - 1] = 0;
        return clvox_fail((clvox_status)code, "%s", sentence);
    }
    return status;
}
