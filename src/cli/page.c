/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/page.h"

#include <stdio.h>
#include <string.h>

#include "clvox/files.h"

int cli_page_claim(command *cli, const char *out, char **page)
{
    const char *name = clvox_page_name(out), *end = clvox_file_ending(name);
    const char *dot = end ? end : strrchr(name, '.');
    const size_t length = dot && dot != name ? (size_t)(dot - out) : strlen(out);
    int status = CLVOX_OK;
    if (asprintf(page, "%.*s_report.html", (int)length, out) < 0) {
        *page = NULL;
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    }
    CLI_TRY(cli_claim_output(cli, "report", *page));
    status = cli_claims_check(cli);
end:
    return status;
}

int cli_page_begin(const command *cli, const char *title, clvox_report **out)
{
    return clvox_page_begin(cli->log, title, out);
}

int cli_page_end(command *cli, clvox_report **page, int status, const char *path)
{
    status = clvox_page_end(cli->log, page, status, path);
    if (status >= 0)
        cli_log_output(cli, path);
    return status;
}
