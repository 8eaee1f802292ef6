/* SPDX-License-Identifier: Apache-2.0 */
/* Bars: how fast each record is beside the first, and the pipelines' times; and
 * the shares of the ceilings. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench/compare/page.h"

enum { WIDE = 1120, HALF = 545 };

/* ---- speeds ------------------------------------------------------------- */

typedef struct speed_row {
    const char *title;
    const char *group, *field;
} speed_row;

/* Rows that have something to show. */
static int list_speeds(const compare_set *set, speed_row *rows, int most)
{
    int count = 0, there;
    speed_row all[16] = {{"All pipelines", "pipelines", NULL}, {"All operations", "kernels", NULL}};
    int listed = 2;
    for (int f = 0; compare_fields[f]; f++)
        all[listed++] = (speed_row){compare_fields[f], "kernels", compare_fields[f]};
    all[listed++] = (speed_row){"Search for nearest patches", "nlm", NULL};
    for (int r = 0; r < listed && count < most; r++)
        for (int i = 1; i < set->count; i++) {
            compare_mean(set, i, all[r].group, all[r].field, &there);
            if (there) {
                rows[count++] = all[r];
                break;
            }
        }
    return count;
}

static void put_grid(clv_text *to, const clv_page_axis *x, const double *ticks, int count, double top,
                     double bottom, const char *after)
{
    for (int t = 0; t < count; t++) {
        char text[CLV_TEXT_NUMBER + 8];
        double at = clv_page_at(x, ticks[t]);
        clv_text_add(to, "<line class=\"grid\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\"/>", at, at,
                     top, bottom);
        snprintf(text, sizeof text, "%.4g%s", ticks[t], after);
        clv_page_put_word(to, at, top - 7, "middle", "tick", 0, text);
    }
}

void page_put_speeds(clv_text *to, const compare_set *set)
{
    enum { BAR = 11, GAP = 3, SPACE = 13, TOP = 30, LEFT = 206, RIGHT = 180 };
    speed_row rows[16];
    int count = list_speeds(set, rows, 16), there;
    if (!count)
        return;
    clv_page_axis x = {.low = 1, .high = 1, .from = LEFT, .to = WIDE - RIGHT, .log = true};
    for (int r = 0; r < count; r++)
        for (int i = 1; i < set->count; i++) {
            double speed = compare_mean(set, i, rows[r].group, rows[r].field, &there);
            if (there) {
                x.low = fmin(x.low, speed);
                x.high = fmax(x.high, speed);
            }
        }
    x.low = fmin(x.low, 0.8);
    x.high = fmax(x.high, 1.25);
    clv_page_round_axis(&x);
    int tall = (BAR + GAP) * (set->count - 1) + SPACE, height = TOP + count * tall + 8;
    double ticks[16];
    clv_text_put(to, "<figure>\n");
    page_put_legend(to, set);
    clv_page_begin_scroll(to, "Plot of speed relative to A");
    clv_page_begin_svg(to, WIDE, height, "Speed relative to A",
                   "Bars of the geometric mean of speeds by field of work; the numbers are at the right.");
    put_grid(to, &x, ticks, clv_page_ticks(&x, ticks, 12), TOP - 4, height - 6, "×");
    double one = clv_page_at(&x, 1);
    for (int r = 0; r < count; r++) {
        double y = TOP + r * tall + SPACE / 2.0;
        clv_page_put_word(to, LEFT - 14, y + (tall - SPACE) / 2.0 + 2.5, "end",
                      r < 2 && !rows[r].field ? "name strong" : "name", LEFT - 20, rows[r].title);
        for (int i = 1; i < set->count; i++, y += BAR + GAP) {
            double speed = compare_mean(set, i, rows[r].group, rows[r].field, &there);
            if (!there)
                continue;
            double end = clv_page_at(&x, speed);
            clv_text_add(to, "<rect class=\"s%d\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%d\"/>\n", i,
                     fmin(end, one), y, fmax(fabs(end - one), 1), BAR);
            char text[CLV_TEXT_NUMBER + 24], number[CLV_TEXT_NUMBER];
            snprintf(text, sizeof text, "%c", compare_letter(i));
            clv_page_put_word(to, WIDE - RIGHT + 26, y + BAR - 1.5, "middle", "value", 0, text);
            snprintf(text, sizeof text, "%s×", clv_text_rounded(speed, number));
            clv_page_put_word(to, WIDE - RIGHT + 104, y + BAR - 1.5, "end", "value", 0, text);
            snprintf(text, sizeof text, there == 1 ? "of %d row" : "of %d rows", there);
            clv_page_put_word(to, WIDE - 4, y + BAR - 1.5, "end", "tick", 0, text);
        }
    }
    clv_text_add(to, "<line class=\"base\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\"/>\n", one, one,
                 TOP - 4, height - 6);
    clv_page_end_svg(to);
    clv_page_end_scroll(to);
    clv_text_put(
        to,
        "<figcaption>How many times as fast as A: geometric means over the rows that both records have, on a "
        "logarithmic axis. Bars to the right of 1× are faster than A, to the left slower.</figcaption>\n"
        "</figure>\n");
}

/* ---- pipelines ---------------------------------------------------------- */

static void put_pipeline(clv_text *to, const compare_set *set, const compare_line *line, double y)
{
    enum { BAR = 15, STEP = 21, LEFT = 34, RIGHT = 290 };
    char title[320];
    clv_page_axis x = {.low = 0, .high = 0, .from = LEFT, .to = WIDE - RIGHT};
    const char *after = line->basis == COMPARE_OPERATIONS ? "s/operation"
                        : line->basis == COMPARE_BYTES    ? "s/byte"
                        : line->basis == COMPARE_VOXELS   ? "s/voxel"
                                                          : "s";
    compare_basis basis = line->basis == COMPARE_NOTHING ? COMPARE_SECONDS : line->basis;
    for (int i = 0; i < set->count; i++)
        if (line->row[i])
            x.high = fmax(x.high, compare_cost(line->row[i], basis));
    /* Of one record the pipelines are compared with one another. */
    for (int k = 0; k < set->lines && set->count == 1; k++)
        if (!strcmp(set->line[k].group, "pipelines") && !compare_is_stage(&set->line[k]))
            x.high = fmax(x.high, set->line[k].row[0]->seconds);
    clv_page_put_word(to, 0, y + 12, "start", "name strong", 700, line->name);
    if (line->size)
        snprintf(title, sizeof title, "%d×%d×%d", line->size[0], line->size[1], line->size[2]);
    else
        snprintf(title, sizeof title, "%s",
                 line->basis == COMPARE_NOTHING ? "sizes differ: not comparable"
                                                : "sizes differ: bars are time for the same work");
    clv_page_put_word(to, WIDE - 4, y + 12, "end", "tick", 0, title);
    y += 20;
    for (int i = 0; i < set->count; i++) {
        const compare_row *row = line->row[i];
        if (!row)
            continue;
        char number[CLV_TEXT_NUMBER + 40];
        double cost = compare_cost(row, basis), end = clv_page_at(&x, cost);
        page_put_mark(to, i, 7, y + BAR / 2.0, 4.6);
        snprintf(number, sizeof number, "%c", compare_letter(i));
        clv_page_put_word(to, 20, y + BAR - 3.5, "middle", "value", 0, number);
        clv_text_add(to, "<rect class=\"s%d\" x=\"%d\" y=\"%.1f\" width=\"%.1f\" height=\"%d\"/>\n", i, LEFT,
                     y, fmax(end - LEFT, 1), BAR);
        /* The whisker: the quartiles of the samples. */
        double low = clv_page_at(&x, cost * row->low / row->seconds),
               high = clv_page_at(&x, cost * row->high / row->seconds);
        if (high - low > 2)
            clv_text_add(to, "<line class=\"base\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\"/>\n", low,
                     high, y + BAR / 2.0, y + BAR / 2.0);
        clv_page_put_word(to, WIDE - 94, y + BAR - 3.5, "end", "value", 0,
                          clv_text_si(row->seconds, "s", number));
        if (basis != COMPARE_SECONDS) {
            clv_text_si(cost, after, number);
            clv_page_put_word(to, WIDE - 176, y + BAR - 3.5, "end", "tick", 0, number);
        }
        if (i && isfinite(line->speed[i])) {
            clv_text_rounded(line->speed[i], number);
            strcat(number, line->alike[i] ? "× ~" : "×");
            clv_page_put_word(to, WIDE - 4, y + BAR - 3.5, "end", "value", 0, number);
        }
        y += STEP;
    }
}

void page_put_pipelines(clv_text *to, const compare_set *set)
{
    int height = 4;
    clv_page_begin_scroll(to, "Plots of pipelines"); /* one, so that they scroll together */
    for (int k = 0; k < set->lines; k++) {
        const compare_line *line = &set->line[k];
        if (strcmp(line->group, "pipelines") || compare_is_stage(line))
            continue;
        height = 42;
        for (int i = 0; i < set->count; i++)
            height += line->row[i] ? 21 : 0;
        /* An image a pipeline, so that paper breaks between them. */
        clv_text_put(to, "<figure class=\"tight\">\n");
        clv_page_begin_svg(to, WIDE, height - 14, line->name,
                       "Bars of time from 0; the numbers are at the right.");
        put_pipeline(to, set, line, 2);
        clv_page_end_svg(to);
        clv_text_put(to, "</figure>\n");
    }
    clv_page_end_scroll(to);
}

/* ---- shares ------------------------------------------------------------- */

enum { SHARE_ROW = 17, SHARE_TOP = 28, SHARE_MOST = 40 };

static void put_share_rows(clv_text *to, const compare_set *set, const int *lines, int count, double most)
{
    enum { LEFT = 222, RIGHT = 18 };
    int height = SHARE_TOP + count * SHARE_ROW + 8;
    double ticks[8];
    clv_page_axis x = {.low = 0, .high = 100 * most, .from = LEFT, .to = HALF - RIGHT};
    clv_page_begin_scroll(to, "Plot of shares, from %s on", set->line[lines[0]].name);
    clv_page_begin_svg(to, HALF, height, "Share of the ceiling by operation",
                   "The numbers are in the table of all rows.");
    put_grid(to, &x, ticks, clv_page_ticks(&x, ticks, 8), SHARE_TOP - 4, height - 6, "%");
    double full = clv_page_at(&x, 100);
    clv_text_add(to, "<line class=\"base\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\"/>\n", full, full,
             SHARE_TOP - 4, height - 6);
    for (int k = 0; k < count; k++) {
        const compare_line *line = &set->line[lines[k]];
        double y = SHARE_TOP + (k + 0.5) * SHARE_ROW, low = x.to, high = x.from;
        clv_page_put_word(to, LEFT - 12, y + 4, "end", "name", LEFT - 18, line->name);
        for (int i = 0; i < set->count; i++)
            if (line->row[i] && isfinite(line->row[i]->share)) {
                low = fmin(low, clv_page_at(&x, 100 * line->row[i]->share));
                high = fmax(high, clv_page_at(&x, 100 * line->row[i]->share));
            }
        if (high > low)
            clv_text_add(to, "<line class=\"link\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\"/>", low,
                         high, y, y);
        double places[COMPARE_MOST];
        for (int i = 0; i < set->count; i++) {
            bool known = line->row[i] && isfinite(line->row[i]->share);
            places[i] = known ? clv_page_at(&x, 100 * line->row[i]->share) : -HUGE_VAL;
        }
        for (int i = set->count - 1; i >= 0; i--)
            if (line->row[i] && isfinite(line->row[i]->share)) {
                char number[CLV_TEXT_NUMBER];
                /* A mark that would hide another steps down, the next one up. */
                double at = places[i];
                int hides = 0;
                for (int j = 0; j < i; j++)
                    hides += fabs(places[j] - at) < 7;
                double aside = hides == 0 ? 0 : hides % 2 ? 5 : -5;
                clv_text_add(to, "<g><title>%c, ", compare_letter(i));
                clv_text_put_html(to, line->name);
                clv_text_add(to, ": %s of ", clv_text_percent(line->row[i]->share, number));
                clv_text_put_html(to, line->row[i]->ceiling);
                clv_text_put(to, "</title>");
                page_put_mark(to, i, at, y + aside, 4.4);
                clv_text_put(to, "</g>\n");
            }
    }
    clv_page_end_svg(to);
    clv_page_end_scroll(to);
}

void page_put_shares(clv_text *to, const compare_set *set)
{
    int lines[SHARE_MOST], count = 0;
    double most = 1;
    int all = 0;
    for (int k = 0; k < set->lines; k++)
        if (compare_has_share(&set->line[k])) {
            all++;
            for (int i = 0; i < set->count; i++)
                most = set->line[k].row[i] ? fmax(most, set->line[k].row[i]->share) : most;
        }
    if (!all)
        return;
    most = ceil(4 * fmin(most, 2) - 1e-9) / 4;
    /* Two columns of equal length, or an even number of them of which each fits on paper. */
    int parts = all <= 12 ? 1 : 2 * ((all + 2 * SHARE_MOST - 1) / (2 * SHARE_MOST)),
        each = (all + parts - 1) / parts;
    clv_text_put(to, "<figure>\n");
    page_put_legend(to, set);
    clv_text_put(to, "<div class=\"columns\">\n");
    for (int k = 0; k < set->lines; k++) {
        if (compare_has_share(&set->line[k]))
            lines[count++] = k;
        if (count == each || (k + 1 == set->lines && count)) {
            put_share_rows(to, set, lines, count, most);
            count = 0;
        }
    }
    clv_text_add(
        to,
        "</div>\n<figcaption>Share of the ceiling that bounds the row, measured on the same device in the "
        "same "
        "run: for rows that stream, of the bandwidth of a copy; for rows that compute, of the multiply-add "
        "rate. Above 100%% a cache helps, or work is left out%s.</figcaption>\n</figure>\n",
        most >= 2 ? "; marks at the right border lie at 200% or beyond" : "");
}
