/* SPDX-License-Identifier: Apache-2.0 */
/* Behaviour on Ctrl-C: no unfinished file is left behind, and the process ends as the signal ends it. */
#ifndef INTERRUPTS_H
#define INTERRUPTS_H

#include <signal.h>

#include "base/file.h"

static inline void interrupts_end(int number)
{
    clvox_files_abandon();
    /* SA_RESETHAND has put the default back. */
    raise(number);
}

static inline void interrupts_guard(void)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    const struct sigaction action = {.sa_handler = interrupts_end, .sa_flags = SA_RESETHAND};
    for (int i = 0; i < 3; i++)
        sigaction(numbers[i], &action, NULL);
}

#endif
