/* SPDX-License-Identifier: Apache-2.0 */
/* `bench compare`: bench/compare, which is Python, reads the records and makes the table and the page;
 * options, help, log and files are those of every verb. */
#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/status.h"
#include "bench/bench_table.h"
#include "clvox/files.h"
#include "base/text.h"

extern char **environ;

enum { RECORDS = 8, WORDS = 10 }; /* RECORDS: as many as there are colours and marks (compare/match.py) */

/* The folder of the Python package: beside this program in a build folder, else where meson installs it. */
static int find_package(char *path, size_t room)
{
    static const char *const places[] = {"compare", "../../share/clvox/bench/compare",
                                         "../share/clvox/bench/compare"};
    char self[4096];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    self[length > 0 ? length : 0] = 0;
    char *slash = strrchr(self, '/');
    if (slash)
        slash[1] = 0;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        int there = snprintf(path, room, "%s%s/__main__.py", self, places[i]);
        if (there < (int)room && !access(path, R_OK)) {
            *strrchr(path, '/') = 0;
            return CLVOX_OK;
        }
    }
    return clvox_fail(CLVOX_ERROR_FILE,
                      "the Python package that does this (share/clvox/bench/compare) is not installed "
                      "beside clvox");
}

/* Runs words[0], found in PATH, and adds what it prints on standard output. */
static int run(char **words, clv_text *said, int *code)
{
    int ends[2], status = CLVOX_OK, failed;
    posix_spawn_file_actions_t actions;
    pid_t process;
    if (pipe(ends) < 0)
        return clvox_fail(CLVOX_ERROR_FILE, "no pipe to %s (%s)", words[0], strerror(errno));
    failed = posix_spawn_file_actions_init(&actions);
    if (!failed) {
        failed = posix_spawn_file_actions_addclose(&actions, ends[0]);
        failed = failed ? failed : posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
        failed = failed ? failed : posix_spawn_file_actions_addclose(&actions, ends[1]);
        failed = failed ? failed : posix_spawnp(&process, words[0], &actions, NULL, words, environ);
        posix_spawn_file_actions_destroy(&actions);
    }
    close(ends[1]);
    if (failed) {
        close(ends[0]);
        return clvox_fail(CLVOX_ERROR_FILE,
                          "needs %s, which cannot be started (%s); install Python 3.9 or later", words[0],
                          strerror(failed));
    }
    char part[4096 + 1];
    for (ssize_t got; (got = read(ends[0], part, sizeof part - 1)) > 0 || (got < 0 && errno == EINTR);) {
        part[got > 0 ? got : 0] = 0; /* JSON has no byte that is 0 */
        clv_text_put(said, part);
    }
    close(ends[0]);
    while (waitpid(process, code, 0) < 0 && errno == EINTR)
        continue;
    if (said->failed)
        status = clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory for the comparison");
    return status;
}

/* Answer of the package: {"table", "page", "comparison"}, or {"error"}. */
static int ask(char **paths, int count, const char *markdown, bool page, cJSON **answer)
{
    char package[4096 + 64], python[] = "python3", isolated[] = "-I", traceless[] = "-B",
                             with_page[] = "--output=page", end[] = "--", answers[64], as[32];
    char *words[WORDS + RECORDS + 1] = {python, isolated, traceless, package, answers};
    int n = 5, code = 0, status = CLVOX_OK;
    clv_text said = {0};
    CLV_TRY(find_package(package, sizeof package));
    snprintf(answers, sizeof answers, "--answer=%s", clvox_version());
    snprintf(as, sizeof as, "--markdown=%s", markdown);
    if (*markdown)
        words[n++] = as;
    if (page)
        words[n++] = with_page;
    words[n++] = end;
    memcpy(words + n, paths, (size_t)count * sizeof *paths);
    CLV_TRY(run(words, &said, &code));
    *answer = cJSON_Parse(said.data ? said.data : "");
    const cJSON *error = cJSON_GetObjectItem(*answer, "error");
    if (cJSON_IsString(error))
        status = clvox_fail(CLVOX_ERROR_FORMAT, "%s", error->valuestring);
    else if (code || !cJSON_IsString(cJSON_GetObjectItem(*answer, "table")) ||
             !cJSON_IsString(cJSON_GetObjectItem(*answer, "page")))
        status = clvox_fail(CLVOX_ERROR_FORMAT, "%s did not finish", python);
end:
    free(said.data);
    return status;
}

int cmd_bench_compare(command *cli, int argc, char **argv)
{
    static const char *const tables[] = {"devices", "rows", "papers"};
    const char *page = NULL;
    int markdown = -1;
    const cli_option options[] = {
        {"output", 'o', CLI_TEXT, &page, "PAGE.html",
         "also a page with plots, in one file that needs no network"},
        {"markdown", 0, CLI_CHOICE, &markdown, "devices|rows|papers", "print a table for a README instead"},
        {NULL, 0, 0, NULL, NULL, NULL},
    };
    const cli_usage usage = {
        .options = options,
        .least = 1,
        .most = RECORDS,
    };
    cJSON *answer = NULL;
    char **paths;
    int count, status = cli_parse(cli, &usage, argc, argv, &paths, &count);
    if (status)
        return status;
    CLV_TRY(ask(paths, count, markdown >= 0 ? tables[markdown] : "", page != NULL, &answer));
    if (page) {
        const char *html = cJSON_GetObjectItem(answer, "page")->valuestring;
        CLV_TRY(clvox_file_write(page, html, strlen(html)));
        cli_log_output(cli, page);
    }
    cJSON_AddItemToObject(cli->log, "comparison", cJSON_DetachItemFromObject(answer, "comparison"));
    cli_print(cli, "%s", cJSON_GetObjectItem(answer, "table")->valuestring);
end:
    cJSON_Delete(answer);
    return status;
}
