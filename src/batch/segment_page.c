/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "base/status.h"
#include "clvox/command/page.h"
#include "clvox/command/segment.h"

static void put_images(clvox_report *page, const clvox_segment_work *w)
{
    int count = 0;
    clvox_report_layer layers[4];
    const clvox_segment_result *r = &w->result;
    layers[count++] = (clvox_report_layer){"head", w->head, CLVOX_REPORT_GREY, 0};
    layers[count++] = (clvox_report_layer){"confidence", r->confidence, CLVOX_REPORT_GREY, 0};
    if (r->labels)
        layers[count++] = (clvox_report_layer){"labels", r->labels, CLVOX_REPORT_OUTLINES, 0};
    layers[count++] = (clvox_report_layer){"brain", r->mask, CLVOX_REPORT_OUTLINES, r->labels != NULL};
    clvox_report_section(page, "Images");
    clvox_report_images(page, layers, count, r->mask);
    clvox_report_section(page, "Confidence");
    clvox_report_histogram(page, "Share of the label in all votes, in the brain", r->confidence, r->mask, 0);
}

static void put_atlases(clvox_report *page, const cJSON *log)
{
    static const char *const columns[] = {"atlas", "NCC"};
    const cJSON *one;
    clvox_report_section(page, "Atlases");
    clvox_report_table(page, "Correlation with the head after registration; those that failed are left out",
                       columns, 2);
    cJSON_ArrayForEach(one, cJSON_GetObjectItem(log, "atlases"))
    {
        const cJSON *ncc = cJSON_GetObjectItem(one, "ncc");
        char text[32] = "failed";
        if (cJSON_IsNumber(ncc))
            snprintf(text, sizeof text, "%.3f", ncc->valuedouble);
        clvox_report_row(
            page, (clvox_report_cell[2]){
                      {clvox_page_name(cJSON_GetStringValue(cJSON_GetObjectItem(one, "image"))), NULL, NULL},
                      {text, NULL, NULL}});
    }
}

int clvox_segment_page(const clvox_segment_work *w, const clvox_segment_options *o, const char *head,
                       const cJSON *log, const char *path)
{
    int status = CLVOX_OK;
    char title[320];
    clvox_report *page = NULL;
    clvox_segment_options defaults;
    snprintf(title, sizeof title, "Segmentation: %.290s", clvox_page_name(head));
    CLV_TRY(clvox_page_begin(log, title, &page));
    put_images(page, w);
    put_atlases(page, log);
    clvox_report_section(page, "Result");
    clvox_page_facts(page, cJSON_GetObjectItem(log, "result"), 16);
    clvox_segment_defaults(&defaults);
    clvox_page_options(page, log, clvox_segment_table(), o, &defaults);
end:
    return clvox_page_end(log, &page, status, path);
}
