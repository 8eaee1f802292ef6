/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench_table.h"
#include "base/file.h"
#include "bench/compare/compare.h"
#include "bench/compare/page.h"

/* What was compared, and the ratios, into the log. */
static void log_comparison(cJSON *log, const compare_set *set)
{
    cJSON *to = cJSON_AddObjectToObject(log, "comparison");
    cJSON *records = cJSON_AddArrayToObject(to, "records"), *rows = cJSON_AddArrayToObject(to, "rows");
    for (int i = 0; i < set->count; i++) {
        cJSON *record = cJSON_CreateObject();
        cJSON_AddStringToObject(record, "file", set->record[i].path);
        cJSON_AddStringToObject(record, "device", set->record[i].device.name);
        cJSON_AddStringToObject(record, "date", set->record[i].date);
        cJSON_AddItemToArray(records, record);
    }
    for (int k = 0; k < set->lines; k++) {
        const compare_line *line = &set->line[k];
        cJSON *row = cJSON_CreateObject();
        cJSON_AddStringToObject(row, "group", line->group);
        cJSON_AddStringToObject(row, "name", line->name);
        cJSON_AddBoolToObject(row, "same_size", line->basis == COMPARE_SECONDS);
        cJSON *seconds = cJSON_AddArrayToObject(row, "seconds"),
              *speed = cJSON_AddArrayToObject(row, "speed");
        for (int i = 0; i < set->count; i++) {
            cJSON_AddItemToArray(seconds, line->row[i] ? cJSON_CreateNumber(line->row[i]->seconds)
                                                       : cJSON_CreateNull());
            /* Not a number: printed as null. */
            cJSON_AddItemToArray(speed, cJSON_CreateNumber(line->speed[i]));
        }
        cJSON_AddItemToArray(rows, row);
    }
}

int cmd_bench_compare(command *cli, int argc, char **argv)
{
    const char *page = NULL;
    int markdown = -1;
    const cli_option options[] = {
        {"output", 'o', CLI_TEXT, &page, "PAGE.html",
         "also a page with plots, in one file that needs no network"},
        {"markdown", 0, CLI_CHOICE, &markdown, "devices|rows|papers", "print a table for a README instead"},
        {NULL, 0, 0, NULL, NULL, NULL},
    };
    const cli_usage usage = {
        .synopsis = "A.json B.json ... [-o PAGE.html]",
        .about =
            "Puts records that `clvox bench --json` wrote on any devices beside one another: each row's\n"
            "time, how many times as fast as in the first record, and its share of the ceiling that was\n"
            "measured on the same device. Two records of one device are before and after.\n"
            "Where sizes differ, time for the same work is compared and marked.",
        .example = "  clvox bench compare h200.json laptop.json -o devices.html\n"
                   "  clvox bench compare before.json after.json",
        .options = options,
        .least = 1,
        .most = COMPARE_MOST,
    };
    compare_set set = {0};
    clv_text text = {0}, html = {0};
    char **paths;
    int count, status = cli_parse(cli, &usage, argc, argv, &paths, &count);
    if (status)
        return status;
    for (int i = 0; i < count; i++, set.count++)
        CLV_TRY(compare_record_read(paths[i], &set.record[i]));
    CLV_TRY(compare_match(&set));
    if (markdown == 0)
        compare_put_markdown_devices(&text, &set);
    else if (markdown == 1)
        compare_put_markdown_rows(&text, &set);
    else if (markdown == 2)
        compare_put_markdown_papers(&text, &set);
    else
        compare_put_table(&text, &set);
    if (page)
        page_put(&html, &set);
    if (!text.failed && !text.data) {
        status = clvox_fail(CLVOX_ERROR_ARGUMENT, "%s%s; give records of `clvox bench%s --json FILE`",
                            count > 1 ? "none of the records has " : "the record lacks ",
                            markdown == 2 ? "what a paper concludes" : "rows of operations or pipelines",
                            markdown == 2 ? " papers" : "");
        goto end;
    }
    if (text.failed || html.failed) {
        status = clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory for the comparison");
        goto end;
    }
    if (page) {
        CLV_TRY(clvox_file_write(page, html.data, html.length));
        cli_log_output(cli, page);
    }
    log_comparison(cli->log, &set);
    cli_print(cli, "%s", text.data);
end:
    free(text.data);
    free(html.data);
    compare_set_free(&set);
    return status;
}
