/* SPDX-License-Identifier: Apache-2.0 */
/* Progress of long work: a bar with the time left on a terminal; a line at the start and
 * every 30 s in a log; nothing with -q. */
#ifndef CLI_BAR_H
#define CLI_BAR_H

#include "cli/cli.h"

typedef struct cli_bar {
    command *cli;
    double started, first, printed; /* seconds; first: the share done at the first look */
    double left;                    /* seconds that were last shown as left; 0: none were */
    bool running, terminal, open;   /* open: a bar stands on the terminal */
} cli_bar;

/* Whether standard error is a terminal that bars can stand on. */
bool cli_on_terminal(void);

/* From now on Ctrl-C is noted and not obeyed: cli_interrupted() tells. */
void cli_bar_begin(cli_bar *bar, command *cli);

/* Whether to show something again: ten times a second on a terminal, first and every 30 s
 * in a log. Call it at every look; fraction is the share that is done. */
bool cli_bar_due(cli_bar *bar, double fraction);

/* text: "level 2 of 3". */
void cli_bar_show(cli_bar *bar, double fraction, const char *text);

/* A clvox_progress that shows stages: user is a cli_bar. Not 0 after
 * Ctrl-C. */
int cli_bar_stage(void *user, const clvox_step *step);

/* A clvox_log of lists: user is a cli_bar. Level 0 is said in any case, the others as remarks. */
void cli_bar_hear(void *user, int level, const char *line);

void cli_bar_end(cli_bar *bar);

/* The clvox_progress of a context: a bar, or lines from 30 s on, of functions that have no callback, unless
 * another bar stands there. user is the command. Ctrl-C ends the program as without it. */
int cli_bar_passing(void *user, const clvox_step *step);

/* Wipes that bar, if any, before something else is printed. */
void cli_bar_passing_end(void);

#endif
