/* SPDX-License-Identifier: Apache-2.0 */
/* The page of a 4-D scan: motion, outliers, the frames over time. */
#include "cli/cmd_series_page.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/page.h"

enum { MOST = 200 }; /* outliers in the table */

static void put_curves(clvox_report *page, const char *title, const char *unit, const char *const *names,
                       double *x, double *y, int frames, int count)
{
    clvox_report_curve curve[3];
    for (int k = 0; k < count; k++)
        curve[k] = (clvox_report_curve){names[k], x, y + (size_t)k * (size_t)frames, frames};
    clvox_report_curves(page, title, "frame", unit, curve, count);
}

static int put_motion(clvox_report *page, const clvox_series_result *r, double outlier_mm)
{
    static const char *const axes[] = {"x (right)", "y (front)", "z (up)"};
    static const char *const moved[] = {"displacement", "outlier above"};
    const size_t n = (size_t)r->frames;
    double *x = calloc(n, 9 * sizeof *x);
    if (!x)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    double *shift = x + n, *turn = x + 4 * n, *step = x + 7 * n;
    for (int i = 0; i < r->frames; i++) {
        x[i] = i;
        for (size_t a = 0; a < 3; a++) {
            shift[a * n + (size_t)i] = r->frame[i].shift_mm[a];
            turn[a * n + (size_t)i] = r->frame[i].rotation[a] * 180 / 3.14159265358979323846;
        }
        step[i] = r->frame[i].framewise_mm;
        step[n + (size_t)i] = outlier_mm;
    }
    clvox_report_section(page, "Motion");
    put_curves(page, "Translation", "mm", axes, x, shift, r->frames, 3);
    put_curves(page, "Rotation", "degrees", axes, x, turn, r->frames, 3);
    put_curves(page, "Framewise displacement", "mm", moved, x, step, r->frames, 2);
    free(x);
    return CLVOX_OK;
}

static void put_outliers(clvox_report *page, const clvox_series_result *r)
{
    static const char *const columns[] = {"frame", "displacement, mm", "from the reference, mm", "likeness",
                                          "why"};
    int rows = 0;
    clvox_report_section(page, "Outliers");
    if (!r->moved && !r->unlike && !r->empty) {
        clvox_report_text(page, "None.");
        return;
    }
    clvox_report_table(page, "Frames that moved, are unlike the others, or are empty; the first 200", columns,
                       5);
    for (int i = 0; i < r->frames && rows < MOST; i++) {
        const clvox_series_frame *f = &r->frame[i];
        char text[4][32];
        if (!f->flags)
            continue;
        rows++;
        snprintf(text[0], sizeof *text, "%d", i);
        clvox_page_number(f->framewise_mm, text[1], sizeof *text);
        clvox_page_number(f->rms_reference_mm, text[2], sizeof *text);
        clvox_page_number(f->likeness, text[3], sizeof *text);
        clvox_report_row(page,
                         (clvox_report_cell[5]){{.text = text[0]},
                                                {.text = text[1]},
                                                {.text = text[2]},
                                                {.text = text[3]},
                                                {.text = f->flags & CLVOX_FRAME_EMPTY    ? "empty"
                                                         : f->flags & CLVOX_FRAME_UNLIKE ? "unlike the others"
                                                                                         : "moved"}});
    }
}

int cli_series_page(command *cli, const char *prefix, const clvox_volume *series, const clvox_volume *mask,
                    const clvox_series_options *options, const clvox_series_result *r)
{
    int status = CLVOX_OK, outliers = 0;
    char path[PATH_MAX], text[400];
    clvox_report *page = NULL;
    clvox_volume *content = NULL;
    clvox_series_options defaults;
    const clvox_volume *inside = mask && clvox_grid_equal(&mask->grid, &r->mean->grid) ? mask : NULL;
    snprintf(path, sizeof path, "%s_report.html", prefix);
    snprintf(text, sizeof text, "Motion: %.300s", clvox_page_name(prefix));
    CLI_TRY(cli_page_begin(cli, text, &page));
    if (!inside)
        CLI_TRY(clvox_page_content(r->mean, &content));
    inside = inside ? inside : content;
    for (int i = 0; i < r->frames; i++)
        outliers += r->frame[i].flags != 0;
    snprintf(text, sizeof text,
             "Framewise displacement %.3g mm on average, up to %.3g mm; %d of %d frames are outliers.",
             r->mean_framewise_mm, r->largest_framewise_mm, outliers, r->frames);
    clvox_page_verdict(page, text);
    CLI_TRY(put_motion(page, r, options->outlier_mm));
    clvox_report_section(page, "Frames over time");
    CLI_TRY(clvox_page_carpet(page, "Before the correction", series, inside));
    CLI_TRY(clvox_page_carpet(page, "After the correction", r->corrected, inside));
    put_outliers(page, r);
    clvox_report_section(page, "Images");
    clvox_report_images(page,
                        (clvox_report_layer[2]){{"mean, corrected", r->mean, CLVOX_REPORT_GREY, 0},
                                                {"first frame, not corrected", series, CLVOX_REPORT_GREY, 0}},
                        2, inside);
    clvox_report_section(page, "Numbers");
    cJSON *result = cJSON_Duplicate(cJSON_GetObjectItem(cli->log, "result"), 1);
    cJSON_DeleteItemFromObject(result, "columns");
    clvox_page_facts(page, result, 16);
    cJSON_Delete(result);
    clvox_series_defaults(&defaults);
    clvox_page_options(page, cli->log, &(clvox_page_set){NULL, clvox_series_table(), options, &defaults}, 1);
end:
    status = cli_page_end(cli, &page, status, path);
    clvox_volume_destroy(&content);
    return status;
}
