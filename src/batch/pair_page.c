/* SPDX-License-Identifier: Apache-2.0 */
#include "clvox/command/pair.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "clvox/command/label_names.h"
#include "clvox/command/page.h"

static void put_images(clvox_report *page, const clvox_pair_work *w, const clvox_volume *content)
{
    clvox_report_layer layer[4];
    int count = 0;
    layer[count++] = (clvox_report_layer){"fixed", w->shown.fixed, CLVOX_REPORT_GREY, 0};
    layer[count++] = (clvox_report_layer){"moving, warped", w->shown.warped, CLVOX_REPORT_GREY, 0};
    if (w->shown.labels)
        layer[count++] = (clvox_report_layer){"labels", w->shown.labels, CLVOX_REPORT_OUTLINES, 0};
    if (w->log_jacobian)
        layer[count++] = (clvox_report_layer){"log Jacobian", w->log_jacobian, CLVOX_REPORT_SIGNED, 1};
    clvox_report_section(page, "Images");
    clvox_report_images(page, layer, count, content);
    if (w->log_jacobian)
        clvox_report_text(page, "Log Jacobian: red where the moving image is larger than the fixed one, blue "
                                "where it is smaller.");
}

/* The looks of one pass, a curve for each level over all iterations, of its last attempt; x and y: room for
 * them all. */
static void put_pass(clvox_report *page, const cJSON *look, int passes, const char *metric, double *x,
                     double *y)
{
    const int pass = cJSON_GetObjectItem(look, "pass")->valueint;
    int count = 0, curves = 0, before = 0, last = 0;
    clvox_report_curve curve[CLVOX_MAX_LEVELS];
    char name[CLVOX_MAX_LEVELS][32], title[80] = "What the deformation optimises, by iteration";
    for (; look && cJSON_GetObjectItem(look, "pass")->valueint == pass; look = look->next) {
        const cJSON *value = cJSON_GetObjectItem(look, "metric");
        const int level = cJSON_GetObjectItem(look, "level")->valueint;
        const int iteration = cJSON_GetObjectItem(look, "iteration")->valueint;
        if (curves < CLVOX_MAX_LEVELS && (!curves || level > atoi(name[curves - 1] + strlen("level ")))) {
            before += last;
            snprintf(name[curves], sizeof name[curves], "level %d", level);
            curve[curves] = (clvox_report_curve){name[curves], x + count, y + count, 0};
            curves++;
        } else if (iteration < last) { /* the attempt before was taken back */
            count -= curve[curves - 1].count;
            curve[curves - 1].count = 0;
        }
        x[count] = before + (last = iteration);
        y[count++] = cJSON_IsNumber(value) ? value->valuedouble : NAN;
        curve[curves - 1].count++;
    }
    if (passes > 1)
        snprintf(title + strlen(title), sizeof title - strlen(title), ", pass %d of %d", pass, passes);
    clvox_report_curves(page, title, "iteration", metric, curve, curves);
}

/* The log's looks at the metric, a plot for each pass through the levels. */
static int put_trace(clvox_report *page, const clvox_pair_work *w, const clvox_pair_page *p)
{
    const cJSON *look, *trace = cJSON_GetObjectItem(p->log, "trace");
    const int looks = cJSON_GetArraySize(trace);
    char metric[32];
    if (!looks)
        return CLVOX_OK;
    double *x = calloc((size_t)looks, 2 * sizeof *x);
    if (!x)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    const int passes = cJSON_GetObjectItem(cJSON_GetArrayItem(trace, looks - 1), "pass")->valueint;
    clvox_metric_says(&w->options, w->result.metric, 0, metric);
    if (p->shapes)
        snprintf(metric, sizeof metric, "terms of shapes");
    int begun = 0;
    cJSON_ArrayForEach(look, trace)
    {
        if (cJSON_GetObjectItem(look, "pass")->valueint == begun)
            continue;
        begun++;
        put_pass(page, look, passes, metric, x, x + looks);
    }
    clvox_report_text(page,
                      "Each level compares images smoothed for it, so these values differ from those above.");
    free(x);
    return CLVOX_OK;
}

/* "0.955 before, 0.97 after the affine, 0.999 at the end". */
static void put_stages(clvox_report *page, const char *name, double before, double linear, double after)
{
    char text[3][32], all[160];
    if (!isfinite(after))
        return;
    clvox_page_number(before, text[0], sizeof *text);
    clvox_page_number(linear, text[1], sizeof *text);
    clvox_page_number(after, text[2], sizeof *text);
    snprintf(all, sizeof all, "%s before, %s after the linear part, %s at the end", text[0], text[1],
             text[2]);
    clvox_report_fact(page, name, all);
}

static void put_verdict(clvox_report *page, const clvox_pair_work *w)
{
    const clvox_register_result *r = &w->result;
    char text[160], name[64], spread[32];
    clvox_metric_says(&w->options, r->metric, 0, spread);
    clvox_page_verdict(page, r->suspicions ? "The result looks wrong: look at it before you use it."
                                           : "Nothing suspicious.");
    snprintf(name, sizeof name, "fit, %s", spread);
    if (w->shown.warped)
        put_stages(page, name, r->metric_before, r->metric_linear, r->metric_after);
    put_stages(page, "correlation", r->ncc_before, r->ncc_linear, r->ncc_after);
    if (w->log_jacobian) {
        clvox_page_number(r->jacobian.sd_log, spread, sizeof spread);
        snprintf(text, sizeof text, "%ld of %ld voxels folded, sd of log J %s", r->jacobian.folded,
                 r->jacobian.voxels, spread);
        clvox_report_fact(page, "regularity", text);
    }
}

/* The result of the log, its loose numbers in groups. */
static void put_result(clvox_report *page, const cJSON *log)
{
    static const char *const groups[][2] = {
        {"metric", "fit"},       {"metric_before", "fit"},     {"metric_linear", "fit"},
        {"metric_after", "fit"}, {"ncc_before", "fit"},        {"ncc_linear", "fit"},
        {"ncc_after", "fit"},    {"mismatch", "fit"},          {"overlap", "fit"},
        {"suspicions", "fit"},   {"matrix_ras", "linear"},     {"iterations", "run"},
        {"exchanged", "run"},    {"peak_device_bytes", "run"}, {"jacobian", "jacobian"},
        {"linear", "linear"}};
    static const char *const order[] = {"fit", "linear", "displacement", "jacobian", "run"};
    const cJSON *item;
    cJSON *all = cJSON_CreateObject();
    for (size_t i = 0; i < sizeof order / sizeof *order; i++)
        cJSON_AddObjectToObject(all, order[i]);
    cJSON_ArrayForEach(item, cJSON_GetObjectItem(log, "result"))
    {
        const char *group = cJSON_IsObject(item) ? NULL : "displacement";
        for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
            if (!strcmp(item->string, groups[i][0]))
                group = groups[i][1];
        const cJSON *child = item->child;
        if (!group)
            cJSON_AddItemReferenceToObject(all, item->string, (cJSON *)item);
        else if (!cJSON_IsObject(item))
            cJSON_AddItemReferenceToObject(cJSON_GetObjectItem(all, group), item->string, (cJSON *)item);
        for (; group && cJSON_IsObject(item) && child; child = child->next)
            cJSON_AddItemReferenceToObject(cJSON_GetObjectItem(all, group), child->string, (cJSON *)child);
    }
    clvox_report_section(page, "Numbers");
    clvox_page_facts(page, all, 16);
    cJSON_Delete(all);
}

int clvox_pair_page_write(const clvox_pair_work *w, const clvox_pair_page *p, const char *path)
{
    int status = CLVOX_OK;
    char title[512];
    clvox_report *page = NULL;
    const clvox_volume *mask = w->shown.mask;
    clvox_volume *content = NULL;
    clvox_register_options defaults;
    const clvox_suspicion *doubt;
    char *thumbnail = NULL;
    snprintf(title, sizeof title, "%s on %s", clvox_page_name(p->moving), clvox_page_name(p->fixed));
    CLV_TRY(clvox_page_begin(p->log, title, &page));
    if (p->names)
        CLV_TRY(clvox_label_names_show(p->names, page));
    for (int i = 0; (doubt = clvox_suspicion_at(i)); i++)
        if (w->result.suspicions & doubt->bit)
            clvox_report_warn(page, doubt->sentence);
    CLV_TRY(clvox_report_thumbnail(w->shown.warped, w->shown.fixed, mask, &thumbnail));
    clvox_report_icon(page, thumbnail);
    put_verdict(page, w);
    if (!mask)
        CLV_TRY(clvox_page_content(w->shown.fixed, &content));
    put_images(page, w, mask ? mask : content);
    put_result(page, p->log);
    clvox_report_section(page, "Volume change and iterations");
    if (w->log_jacobian) {
        const clvox_volume *inside = mask ? mask : content;
        clvox_report_histogram(
            page, mask ? "Log Jacobian inside the mask" : "Log Jacobian without the background",
            w->log_jacobian, clvox_grid_equal(&inside->grid, &w->log_jacobian->grid) ? inside : NULL, 1);
    }
    CLV_TRY(put_trace(page, w, p));
    clvox_register_defaults(&defaults);
    clvox_page_options(page, p->log, &(clvox_page_set){NULL, clvox_register_table(), &w->options, &defaults},
                       1);
end:
    free(thumbnail);
    status = clvox_page_end(p->log, &page, status, path);
    clvox_volume_destroy(&content);
    return status;
}
