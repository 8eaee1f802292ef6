/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cmd_register/list_page.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/page.h"

enum { THUMBNAILS = 400 }; /* of the pairs that come first: about 8 MB */

static int doubts_of(const cli_list_entry *e)
{
    int count = e->doubts && *e->doubts;
    for (const char *at = e->doubts; at && *at; at++)
        count += *at == ',';
    return count;
}

/* Before b: less than 0. */
static int by_suspicion(const void *left, const void *right)
{
    const cli_list_entry *a = left, *b = right;
    const int doubts = doubts_of(b) - doubts_of(a);
    if (a->failed != b->failed)
        return b->failed - a->failed;
    if (doubts)
        return doubts;
    if (isnan(a->ncc) || isnan(b->ncc))
        return isnan(b->ncc) - isnan(a->ncc);
    return a->ncc != b->ncc ? (a->ncc > b->ncc) - (a->ncc < b->ncc) : strcmp(a->name, b->name);
}

static const char *number(double value, const char *format, char *out, size_t room)
{
    if (isfinite(value))
        snprintf(out, room, format, value);
    else
        *out = 0;
    return out;
}

static int put_pair(clvox_report *page, const cli_list_entry *e, bool shown)
{
    enum { ROOM = 32 };
    int status = CLVOX_OK;
    char text[5][ROOM], *thumbnail = NULL, *address = NULL;
    if (e->there) {
        if (shown)
            CLI_TRY(clvox_report_icon_of(e->page, &thumbnail));
        address = cli_page_address(e->address);
    }
    const clvox_report_cell cells[] = {{.text = e->name, .link = address, .thumbnail = thumbnail},
                                       {.text = e->state},
                                       {.text = e->doubts},
                                       {.text = number(e->ncc, "%.4f", text[0], ROOM)},
                                       {.text = number(e->before, "%.4g", text[1], ROOM)},
                                       {.text = number(e->after, "%.4g", text[2], ROOM)},
                                       {.text = number(e->folded, "%.0f", text[3], ROOM)},
                                       {.text = number(e->seconds, "%.2f", text[4], ROOM)},
                                       {.text = e->message}};
    clvox_report_row(page, cells);
end:
    free(thumbnail);
    free(address);
    return status;
}

int cli_list_page(command *cli, const char *folder, cli_list_entry *entries, int count)
{
    static const char *const columns[] = {"pair",          "status",        "suspicions",
                                          "correlation",   "metric before", "metric after",
                                          "folded voxels", "seconds",       "message"};
    int status = CLVOX_OK, failed = 0, doubtful = 0;
    char text[256], path[PATH_MAX];
    clvox_report *page = NULL;
    qsort(entries, (size_t)count, sizeof *entries, by_suspicion);
    for (int i = 0; i < count; i++) {
        failed += entries[i].failed;
        doubtful += !entries[i].failed && doubts_of(&entries[i]) > 0;
    }
    snprintf(text, sizeof text, "%d pairs", count);
    CLI_TRY(cli_page_begin(cli, text, &page));
    if (failed) {
        snprintf(text, sizeof text, "%d of %d pairs failed", failed, count);
        clvox_report_warn(page, text);
    }
    if (doubtful) {
        snprintf(text, sizeof text, "%d of %d results look suspicious", doubtful, count);
        clvox_report_warn(page, text);
    }
    clvox_report_section(page, "Pairs");
    clvox_report_text(
        page, "The small pictures show the warped image with the edges of the fixed one. A name leads to the "
              "pair's page.");
    clvox_report_table(page,
                       "Failed pairs first, then those with the most suspicions, then the least similar ones",
                       columns, 9);
    for (int i = 0; i < count; i++)
        CLI_TRY(put_pair(page, &entries[i], i < THUMBNAILS));
end:
    snprintf(path, sizeof path, "%s/summary.html", folder);
    return cli_page_end(cli, &page, status, path);
}
