/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>

#include "base/status.h"
#include "clvox/command/label_names.h"
#include "clvox/command/page.h"
#include "clvox/command/segment.h"

/* "148 labels and a brain of 1557 ml, from 2 of 2 atlases." */
static void put_verdict(clvox_report *page, const clvox_segment_work *w, const cJSON *log)
{
    char text[160], labels[48] = "";
    if (w->labels)
        snprintf(labels, sizeof labels, "%d label%s and ", w->labels, w->labels == 1 ? "" : "s");
    const int most = cJSON_GetArraySize(cJSON_GetObjectItem(log, "atlases"));
    snprintf(text, sizeof text, "%s%s brain of %.0f ml, from %d of %d atlases.", labels,
             w->labels ? "a" : "A", w->brain_ml, w->result.atlases, most);
    clvox_page_verdict(page, text);
}

static void put_volumes(clvox_report *page, const clvox_segment_work *w)
{
    static const char *const columns[] = {"label", "volume, ml", "confidence", "name"};
    const int count = w->name ? 4 : 3;
    clvox_report_section(page, "Volumes");
    clvox_report_table(page, "Confidence is the mean share of the label in the votes of the atlases", columns,
                       count);
    for (int i = 0; i < w->labels; i++) {
        char text[3][32];
        snprintf(text[0], sizeof *text, "%" PRId64, w->measure[i].label);
        clvox_page_number(w->measure[i].mm3 / 1000, text[1], sizeof *text);
        snprintf(text[2], sizeof *text, "%.2f", w->confidence[i]);
        clvox_report_row(page, (clvox_report_cell[4]){{.text = text[0]},
                                                      {.text = text[1]},
                                                      {.text = text[2]},
                                                      {.text = w->name ? w->name[i] : NULL}});
    }
}

static void put_images(clvox_report *page, const clvox_segment_work *w)
{
    int count = 0;
    clvox_report_layer layers[4];
    const clvox_segment_result *r = &w->result;
    layers[count++] = (clvox_report_layer){"head", w->head, CLVOX_REPORT_GREY, 0};
    layers[count++] = (clvox_report_layer){"confidence", r->confidence, CLVOX_REPORT_GREY, 0};
    if (r->labels)
        layers[count++] = (clvox_report_layer){"labels", r->labels, CLVOX_REPORT_OUTLINES, 0};
    layers[count++] = (clvox_report_layer){"brain", r->mask, CLVOX_REPORT_MASK, r->labels != NULL};
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
    put_verdict(page, w, log);
    if (w->names)
        CLV_TRY(clvox_label_names_show(w->names, page));
    put_images(page, w);
    put_atlases(page, log);
    if (w->result.labels)
        put_volumes(page, w);
    clvox_report_section(page, "Numbers");
    clvox_page_facts(page, cJSON_GetObjectItem(log, "result"), 16);
    clvox_segment_defaults(&defaults);
    clvox_page_options(page, log, &(clvox_page_set){NULL, clvox_segment_table(), o, &defaults}, 1);
end:
    return clvox_page_end(log, &page, status, path);
}
