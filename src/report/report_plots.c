/* SPDX-License-Identifier: Apache-2.0 */
/* Histograms and curves of a page, as SVG. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "report/page.h"
#include "report/report.h"

enum {
    WIDTH = 560,
    HEIGHT = 260,
    LEFT = 76,
    RIGHT = 14,
    TOP = 12,
    BOTTOM = 44,
    TICKS = 12,
    BINS = 80,
    COLORS = 8
};

static void begin(clv_text *to, const char *title, const char *words)
{
    clv_text_put(to, "<figure class=\"plot\"><figcaption>");
    clv_report_put(to, title);
    clv_text_put(to, "</figcaption>\n");
    clv_page_begin_scroll(to, "Plot");
    clv_text name = {.data = NULL};
    clv_report_put(&name, title);
    clv_text_add(to,
             "<svg class=\"half\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" role=\"img\" "
             "aria-label=\"%s. %s\" "
             "style=\"max-width:%dpx\">\n",
             WIDTH, HEIGHT, WIDTH, HEIGHT, name.data ? name.data : "", words, WIDTH + 140);
    to->failed = to->failed || name.failed;
    free(name.data);
}

/* The figure stays open for the text below its plot. */
static void end(clv_text *to)
{
    clv_page_end_svg(to);
    clv_page_end_scroll(to);
}

/* A tick of a linear axis, no longer than its neighbours need. */
static void put_tick(clv_text *to, const clv_page_axis *axis, double value, bool upright)
{
    char text[32];
    const double at = clv_page_at(axis, value);
    snprintf(text, sizeof text, "%.6g", value);
    clv_text_add(to, "<line class=\"grid\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>",
             upright ? (double)LEFT : at, upright ? at : (double)TOP, upright ? (double)(WIDTH - RIGHT) : at,
             upright ? at : (double)(HEIGHT - BOTTOM));
    clv_page_put_word(to, upright ? LEFT - 6 : at, upright ? at + 4 : HEIGHT - BOTTOM + 16,
                      upright ? "end" : "middle", "tick", text);
}

/* counts: there is nothing between whole numbers of x, such as iterations. */
static void put_axes(clv_text *to, const clv_page_axis *x, const clv_page_axis *y, const char *x_name,
                     const char *y_name, bool counts)
{
    double ticks[TICKS];
    for (int i = 0, count = clv_page_ticks(x, ticks, TICKS); i < count; i++)
        if (!counts || ticks[i] == round(ticks[i]))
            put_tick(to, x, ticks[i], false);
    for (int i = 0, count = clv_page_ticks(y, ticks, 6); i < count; i++)
        put_tick(to, y, ticks[i], true);
    clv_text_add(to, "<rect class=\"frame\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\"/>\n", LEFT, TOP,
             WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM);
    clv_text name = {.data = NULL};
    clv_report_put(&name, x_name);
    clv_text_add(to, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\" class=\"axis\">%s</text>",
             (LEFT + WIDTH - RIGHT) / 2, HEIGHT - 8, name.data ? name.data : "");
    name.length = 0;
    clv_report_put(&name, y_name);
    clv_text_add(to,
             "<g transform=\"translate(14 %d) rotate(-90)\"><text text-anchor=\"middle\" "
             "class=\"axis\">%s</text></g>\n",
             (TOP + HEIGHT - BOTTOM) / 2, name.length ? name.data : "");
    to->failed = to->failed || name.failed;
    free(name.data);
}

/* ---- histogram ----------------------------------------------------------- */

/* Counts: voxels of the mask with finite values. */
typedef struct counted {
    const clvox_volume *volume, *mask;
    size_t voxels;
    double low, high, mean, sd;
} counted;

static bool counts(const counted *c, size_t i)
{
    return isfinite(c->volume->data[i]) && (!c->mask || c->mask->data[i] > 0);
}

static void look_over(counted *c)
{
    double sum = 0, squares = 0;
    c->low = INFINITY;
    c->high = -INFINITY;
    for (size_t i = 0; i < clvox_grid_voxels(&c->volume->grid); i++) {
        const double value = c->volume->data[i];
        if (!counts(c, i))
            continue;
        c->voxels++;
        sum += value;
        squares += value * value;
        c->low = fmin(c->low, value);
        c->high = fmax(c->high, value);
    }
    c->mean = sum / (double)c->voxels;
    c->sd = sqrt(fmax(squares / (double)c->voxels - c->mean * c->mean, 0));
}

void clvox_report_histogram(clvox_report *report, const char *title, const clvox_volume *volume,
                            const clvox_volume *mask, int log_scale)
{
    CLV_GIVEN_OR(, report, title, volume);
    clv_text *to = clv_report_plots(report);
    counted c = {.volume = volume, .mask = mask};
    size_t bin[BINS] = {0}, most = 0;
    if (!to)
        return;
    if (mask && !clvox_grid_equal(&mask->grid, &volume->grid)) {
        clv_report_fail(report, CLVOX_ERROR_ARGUMENT,
                        "the mask of a histogram lies on another grid than the volume");
        return;
    }
    look_over(&c);
    if (!c.voxels) {
        clvox_report_text(report, "There are no finite values to count.");
        return;
    }
    /* A few voxels far off would squeeze all others into a bar or two: they are counted in the outermost
     * bars. */
    double low = fmax(c.low, c.mean - 5 * c.sd), high = fmin(c.high, c.mean + 5 * c.sd);
    if (!(high > low)) {
        low = c.mean - 0.5;
        high = c.mean + 0.5;
    }
    for (size_t i = 0; i < clvox_grid_voxels(&volume->grid); i++) {
        if (!counts(&c, i))
            continue;
        const double at = (volume->data[i] - low) / (high - low) * BINS;
        const int b = at < 0 ? 0 : at >= BINS ? BINS - 1 : (int)at;
        most = ++bin[b] > most ? bin[b] : most;
    }
    clv_page_axis x = {low, high, LEFT, WIDTH - RIGHT},
                  y = {0, 100.0 * (double)most / (double)c.voxels, HEIGHT - BOTTOM, TOP};
    clv_page_round_axis(&y);
    char words[160];
    snprintf(words, sizeof words, "%zu voxels, mean %.4g, standard deviation %.4g, from %.4g to %.4g",
             c.voxels, c.mean, c.sd, c.low, c.high);
    begin(to, title, words);
    put_axes(to, &x, &y, "", "percent of voxels", false);
    for (int b = 0; b < BINS; b++) {
        const double left = clv_page_at(&x, low + (high - low) * b / BINS),
                     right = clv_page_at(&x, low + (high - low) * (b + 1) / BINS);
        const double top = clv_page_at(&y, 100.0 * (double)bin[b] / (double)c.voxels);
        if (bin[b])
            clv_text_add(to, "<rect class=\"bar\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>",
                         left, top, right - left, HEIGHT - BOTTOM - top);
    }
    clv_text_put(to, "\n");
    end(to);
    char range[96] = "";
    if (log_scale)
        snprintf(range, sizeof range, "; without the logarithm from %.3g to %.3g", exp(c.low), exp(c.high));
    clv_text_add(to, "<p class=\"light\">%s%s.</p></figure>\n", words, range);
}

/* ---- curves -------------------------------------------------------------- */

static void widen(clv_page_axis *axis, double value)
{
    axis->low = fmin(axis->low, value);
    axis->high = fmax(axis->high, value);
}

static void put_curve(clv_text *to, const clvox_report_curve *c, int number, const clv_page_axis *x,
                      const clv_page_axis *y)
{
    bool open = false;
    for (int i = 0; i < c->count; i++) {
        const bool there = isfinite(c->x[i]) && isfinite(c->y[i]);
        if (open && !there)
            clv_text_put(to, "\"/>");
        if (there && !open)
            clv_text_add(to, "<polyline class=\"curve k%d\" points=\"", number % COLORS);
        if (there)
            clv_text_add(to, "%.1f,%.1f ", clv_page_at(x, c->x[i]), clv_page_at(y, c->y[i]));
        open = there;
    }
    if (open)
        clv_text_put(to, "\"/>");
    for (int i = 0; i < c->count && c->count <= 40; i++)
        if (isfinite(c->x[i]) && isfinite(c->y[i]))
            clv_text_add(to, "<circle class=\"mark s%d\" cx=\"%.1f\" cy=\"%.1f\" r=\"3\"/>", number % COLORS,
                     clv_page_at(x, c->x[i]), clv_page_at(y, c->y[i]));
    clv_text_put(to, "\n");
}

void clvox_report_curves(clvox_report *report, const char *title, const char *x_name, const char *y_name,
                         const clvox_report_curve *curves, int count)
{
    CLV_GIVEN_OR(, report, title, curves);
    clv_text *to = clv_report_plots(report);
    clv_page_axis x = {INFINITY, -INFINITY, LEFT, WIDTH - RIGHT},
                  y = {INFINITY, -INFINITY, HEIGHT - BOTTOM, TOP};
    bool counts = true;
    if (!to)
        return;
    for (int k = 0; k < count; k++)
        for (int i = 0; i < curves[k].count; i++)
            if (isfinite(curves[k].x[i]) && isfinite(curves[k].y[i])) {
                counts = counts && curves[k].x[i] == round(curves[k].x[i]);
                widen(&x, curves[k].x[i]);
                widen(&y, curves[k].y[i]);
            }
    if (!(x.high >= x.low))
        return; /* nothing to draw */
    clv_page_round_axis(&x);
    clv_page_round_axis(&y);
    char words[96];
    snprintf(words, sizeof words, "Curves between %.4g and %.4g", y.low, y.high);
    begin(to, title, words);
    put_axes(to, &x, &y, x_name, y_name, counts);
    for (int k = 0; k < count; k++)
        put_curve(to, &curves[k], k, &x, &y);
    end(to);
    clv_text_put(to, "<p class=\"legend\">");
    for (int k = 0; k < count && count > 1; k++) {
        clv_text_add(to,
                 "<span><svg class=\"keymark\" viewBox=\"0 0 18 10\" width=\"18\" height=\"10\" "
                 "aria-hidden=\"true\">"
                 "<line class=\"curve k%d\" x1=\"0\" y1=\"5\" x2=\"18\" y2=\"5\"/></svg> ",
                 k % COLORS);
        clv_report_put(to, curves[k].name);
        clv_text_put(to, "</span> ");
    }
    clv_text_put(to, "</p></figure>\n");
}
