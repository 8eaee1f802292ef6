/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/bar.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WIDTH = 30 };

/* Seconds from one look to the next on a terminal, and from one line to the next in a log. */
static const double LOOK = 0.1, LINE = 30;

/* Shares below this say nothing about the time left. */
static const double TOO_LITTLE = 0.005;

bool cli_on_terminal(void)
{
    return isatty(STDERR_FILENO) && getenv("TERM") && strcmp(getenv("TERM"), "dumb") != 0;
}

void cli_bar_begin(cli_bar *bar, command *cli)
{
    *bar = (cli_bar){.cli = cli};
    bar->terminal = cli_on_terminal();
    cli_watch(true);
}

bool cli_bar_due(cli_bar *bar, double fraction)
{
    double now = cli_seconds();
    if (!bar->running) {
        bar->running = true;
        bar->started = now;
        bar->first = fraction;
    }
    return bar->printed == 0 || now - bar->printed > (bar->terminal ? LOOK : LINE);
}

/* It never rises: an estimate that does is wrong, and the one before stands. */
static void time_left(cli_bar *bar, double fraction, char *out, size_t room)
{
    double gone = fraction - bar->first, seconds;
    *out = 0;
    if (gone < TOO_LITTLE)
        return;
    seconds = (cli_seconds() - bar->started) / gone * fmax(1 - fraction, 0);
    seconds = bar->left > 0 ? fmin(seconds, bar->left) : seconds;
    bar->left = seconds;
    if (seconds < 60)
        snprintf(out, room, "%.0f s left", ceil(seconds));
    else
        snprintf(out, room, "%.0f min %02d s left", floor(seconds / 60), (int)fmod(seconds, 60));
}

void cli_bar_show(cli_bar *bar, double fraction, const char *text)
{
    char left[40];
    if (bar->cli->quiet)
        return;
    time_left(bar, fraction, left, sizeof left);
    bar->printed = cli_seconds();
    if (!bar->terminal) {
        fprintf(stderr, "%s%s%s\n", text, *left ? ", " : "", left);
        return;
    }
    char line[WIDTH + 1];
    int full = (int)(fmin(fmax(fraction, 0), 1) * WIDTH);
    for (int i = 0; i < WIDTH; i++)
        line[i] = i < full ? '=' : i == full ? '>' : ' ';
    line[WIDTH] = 0;
    fprintf(stderr, "\r[%s] %s  %s\033[K", line, text, left);
    fflush(stderr);
    bar->open = true;
}

int cli_bar_stage(void *user, const clvox_step *step)
{
    cli_bar *bar = user;
    if (cli_bar_due(bar, step->fraction) && step->fraction < 1)
        cli_bar_show(bar, step->fraction, step->stage);
    return cli_interrupted();
}

static void wipe(cli_bar *bar)
{
    if (bar->open)
        fprintf(stderr, "\r\033[K");
    bar->open = false;
}

void cli_bar_end(cli_bar *bar)
{
    wipe(bar);
    cli_watch(false);
}

static cli_bar passing; /* by the only thread of the only command */

int cli_bar_passing(void *user, const clvox_step *step)
{
    if (cli_is_watched())
        return cli_interrupted();
    if (!passing.cli) {
        passing = (cli_bar){.cli = user, .terminal = cli_on_terminal()};
        if (!passing.terminal) /* a log hears of what takes long alone */
            passing.printed = cli_seconds();
    }
    if (step->fraction >= 1)
        cli_bar_passing_end();
    else if (step->fraction > 0 && cli_bar_due(&passing, step->fraction))
        cli_bar_show(&passing, step->fraction, step->stage);
    return 0;
}

void cli_bar_passing_end(void)
{
    wipe(&passing);
    passing = (cli_bar){.cli = NULL};
}
