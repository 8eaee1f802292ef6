/* SPDX-License-Identifier: Apache-2.0 */
#include "batch/pairs.h"

#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "clvox/command/page.h"
#include "clvox/command/pair.h"

enum { THUMBNAILS = 400 }; /* of the pairs that come first: about 8 MB */

static int doubts_of(const clvox_pair *e)
{
    int count = e->suspicions && *e->suspicions;
    for (const char *at = e->suspicions; at && *at; at++)
        count += *at == ',';
    return count;
}

static bool has_failed(const clvox_pair *e)
{
    return e->state == CLVOX_PAIR_FAILED;
}

/* Before b: less than 0. */
static int by_suspicion(const void *left, const void *right)
{
    const clvox_pair *a = *(const clvox_pair *const *)left, *b = *(const clvox_pair *const *)right;
    const int doubts = doubts_of(b) - doubts_of(a);
    if (has_failed(a) != has_failed(b))
        return has_failed(b) - has_failed(a);
    if (doubts)
        return doubts;
    if (isnan(a->ncc) || isnan(b->ncc))
        return isnan(b->ncc) - isnan(a->ncc);
    return a->ncc != b->ncc ? (a->ncc > b->ncc) - (a->ncc < b->ncc) : strcmp(a->output, b->output);
}

static const char *number(double value, const char *format, char *out, size_t room)
{
    if (isfinite(value))
        snprintf(out, room, format, value);
    else
        *out = 0;
    return out;
}

static int put_pair(clvox_report *page, const clvox_pairs_options *o, const clvox_pair *e, bool shown)
{
    enum { ROOM = 32 };
    int status = CLVOX_OK;
    char text[5][ROOM], path[PATH_MAX], beside[PATH_MAX + 16], *thumbnail = NULL, *address = NULL;
    const char *name = e->output;
    const size_t length = strlen(o->derivatives ? e->names->prefix : o->folder);
    if (o->derivatives)
        name += length;
    else if (!strncmp(name, o->folder, length) && name[length] == '/')
        name += length + 1;
    /* A pair that strict refuses has its files, and suspicions. */
    if (e->state == CLVOX_PAIR_DONE || e->state == CLVOX_PAIR_PRESENT || doubts_of(e)) {
        if (shown)
            CLV_TRY(clvox_report_icon_of(clvox_pair_path(e->names, CLVOX_PAIR_PAGE, path), &thumbnail));
        snprintf(beside, sizeof beside, o->derivatives ? "../%.0s%s" : "%s%s", name,
                 e->names->end[CLVOX_PAIR_PAGE]);
        address = clvox_page_address(beside);
    }
    const clvox_report_cell cells[] = {{.text = name, .link = address, .thumbnail = thumbnail},
                                       {.text = clvox_pair_state_name(e->state)},
                                       {.text = e->message},
                                       {.text = e->suspicions},
                                       {.text = number(e->ncc, "%.4f", text[0], ROOM)},
                                       {.text = number(e->metric_before, "%.4g", text[1], ROOM)},
                                       {.text = number(e->metric_after, "%.4g", text[2], ROOM)},
                                       {.text = number(e->folded, "%.0f", text[3], ROOM)},
                                       {.text = number(e->seconds, "%.2f", text[4], ROOM)}};
    clvox_report_row(page, cells);
end:
    free(thumbnail);
    free(address);
    return status;
}

int clv_pairs_page(clvox_pairs *l, const clvox_pairs_options *o, const cJSON *log)
{
    static const char *const columns[] = {"pair",         "status",        "message",
                                          "suspicions",   "correlation",   "metric before",
                                          "metric after", "folded voxels", "time, s"};
    int status = CLVOX_OK, failed = 0, doubtful = 0;
    const int count = l->count;
    char text[256];
    clvox_report *page = NULL;
    const clvox_pair **entries = calloc((size_t)count, sizeof *entries);
    if (!entries)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    for (int i = 0; i < count; i++) {
        entries[i] = &l->pair[i];
        failed += has_failed(entries[i]);
        doubtful += !has_failed(entries[i]) && doubts_of(entries[i]) > 0;
    }
    qsort(entries, (size_t)count, sizeof *entries, by_suspicion);
    snprintf(text, sizeof text, "%d pairs", count);
    CLV_TRY(clvox_page_begin(log, text, &page));
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
        CLV_TRY(put_pair(page, o, entries[i], i < THUMBNAILS));
end:
    free(entries);
    status = clvox_page_end(log, &page, status, l->page);
    l->page_written = status >= 0;
    return status;
}
