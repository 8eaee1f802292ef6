/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of progress in a log, by a clock that the test sets. */
#include "check.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

#include "cli/bar.h"

static double now;
static bool watched;

double cli_seconds(void)
{
    return now;
}

bool cli_interrupted(void)
{
    return false;
}

void cli_watch(bool on)
{
    watched = on;
}

bool cli_is_watched(void)
{
    return watched;
}

/* Standard error goes to a file from here on; what is there at the end. */
static FILE *log_file;
static int kept;

static void listen(void)
{
    fflush(stderr);
    kept = dup(STDERR_FILENO);
    log_file = tmpfile();
    assert_true(kept >= 0 && log_file && dup2(fileno(log_file), STDERR_FILENO) >= 0);
}

static void heard(char *out, size_t room)
{
    fflush(stderr);
    dup2(kept, STDERR_FILENO);
    close(kept);
    rewind(log_file);
    out[fread(out, 1, room - 1, log_file)] = 0;
    fclose(log_file);
}

static int lines_of(const char *text)
{
    int lines = 0;
    for (; *text; text++)
        lines += *text == '\n';
    return lines;
}

/* 95 s of work that is looked at 20 times a second, on a machine that was started a moment ago. */
static void a_line_at_the_start_and_every_30_s(void **state)
{
    char text[1024];
    command cli = {.quiet = *(const int *)*state};
    cli_bar bar;
    now = 1;
    listen();
    cli_bar_begin(&bar, &cli);
    for (int i = 0; i < 1900; i++, now += .05) {
        const clvox_step step = {.stage = "walking", .fraction = i / 1900.};
        assert_int_equal(cli_bar_stage(&bar, &step), 0);
    }
    cli_bar_end(&bar);
    heard(text, sizeof text);
    assert_that(lines_of(text) == (cli.quiet ? 0 : 4), "%s", text);
    assert_true(cli.quiet || !strncmp(text, "walking\nwalking, 1 min ", 23));
}

/* Seconds that a line says are left; -1: it says nothing of it. */
static double left(const char *line)
{
    double minutes = 0, seconds = 0;
    const char *comma = strrchr(line, ',');
    if (!comma || !strstr(comma, " left"))
        return -1;
    if (sscanf(comma, ", %lf min %lf s left", &minutes, &seconds) == 2)
        return 60 * minutes + seconds;
    return sscanf(comma, ", %lf s left", &seconds) == 1 ? seconds : -1;
}

/* A stage that goes ten times as slowly as the one before makes every estimate rise. */
static void the_time_left_never_rises(void **state)
{
    (void)state;
    char text[4096], *rest = text;
    command cli = {.quiet = false};
    cli_bar bar;
    double before = INFINITY;
    int said = 0;
    now = 1;
    listen();
    cli_bar_begin(&bar, &cli);
    for (int i = 0; i <= 1000; i++, now += i < 400 ? .2 : 2) {
        const clvox_step step = {.stage = "walking", .fraction = i / 1000.};
        cli_bar_stage(&bar, &step);
    }
    cli_bar_end(&bar);
    heard(text, sizeof text);
    for (char *line; (line = strsep(&rest, "\n"));) {
        const double seconds = left(line);
        assert_that(seconds <= before, "%s", line);
        before = seconds >= 0 ? seconds : before;
        said += seconds >= 0;
    }
    assert_that(said > 20, "%d", said);
}

/* Filters of half a second say nothing, one of 65 s twice, and the next one begins anew. */
static void work_without_a_callback_is_heard_of_once_it_is_long(void **state)
{
    (void)state;
    char text[1024];
    command cli = {.quiet = false};
    static const double seconds[] = {.5, 29, 65, 29};
    now = 1;
    listen();
    for (size_t k = 0; k < sizeof seconds / sizeof *seconds; k++)
        for (int i = 1; i <= 1000; i++, now += seconds[k] / 1000) {
            const clvox_step step = {.stage = k == 2 ? "long" : "short", .fraction = i / 1000.};
            assert_int_equal(cli_bar_passing(&cli, &step), 0);
        }
    heard(text, sizeof text);
    assert_that(lines_of(text) == 2 && !strstr(text, "short") && !strncmp(text, "long, ", 6), "%s", text);
    assert_false(strchr(text, '\r'));
}

int main(void)
{
    setenv("TERM", "dumb", 1);
    test_case_at(a_line_at_the_start_and_every_30_s, TEST_AT(0), "a line at the start and every 30 s");
    test_case_at(a_line_at_the_start_and_every_30_s, TEST_AT(1), "nothing with -q");
    test_case(the_time_left_never_rises, "the time left never rises");
    test_case(work_without_a_callback_is_heard_of_once_it_is_long,
              "work without a callback is heard of once it is long");
    return test_run("bar", NULL);
}
