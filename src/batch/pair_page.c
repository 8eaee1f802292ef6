/* SPDX-License-Identifier: Apache-2.0 */
#include "clvox/command/pair.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "clvox/command/page.h"

static void put_images(clvox_report *page, const clvox_pair_work *w)
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
    clvox_report_images(page, layer, count, w->shown.mask);
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
    clvox_report_section(page, "Iterations");
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
    free(x);
    return CLVOX_OK;
}

int clvox_pair_page_write(const clvox_pair_work *w, const clvox_pair_page *p, const char *path)
{
    int status = CLVOX_OK;
    char title[512];
    clvox_report *page = NULL;
    const clvox_volume *mask = w->shown.mask;
    const clvox_suspicion *doubt;
    char *thumbnail = NULL;
    snprintf(title, sizeof title, "%s on %s", clvox_page_name(p->moving), clvox_page_name(p->fixed));
    CLV_TRY(clvox_page_begin(p->log, title, &page));
    for (int i = 0; (doubt = clvox_suspicion_at(i)); i++)
        if (w->result.suspicions & doubt->bit)
            clvox_report_warn(page, doubt->sentence);
    CLV_TRY(clvox_report_thumbnail(w->shown.warped, w->shown.fixed, mask, &thumbnail));
    clvox_report_icon(page, thumbnail);
    put_images(page, w);
    clvox_report_section(page, "Result");
    clvox_page_facts(page, cJSON_GetObjectItem(p->log, "result"), 16);
    if (w->log_jacobian) {
        clvox_report_section(page, "Volume change");
        clvox_report_histogram(page, "Log Jacobian", w->log_jacobian,
                               mask && clvox_grid_equal(&mask->grid, &w->log_jacobian->grid) ? mask : NULL,
                               1);
    }
    CLV_TRY(put_trace(page, w, p));
end:
    free(thumbnail);
    return clvox_page_end(p->log, &page, status, path);
}
