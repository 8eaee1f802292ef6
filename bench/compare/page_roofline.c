/* SPDX-License-Identifier: Apache-2.0 */
/* Two roofs of each record. Where rows state operations and bytes: operations a
 * second over operations a byte, below the multiply-add rate and the bandwidth
 * (Williams, Waterman and Patterson 2009). Where they state bytes: bytes a second
 * over the bytes of a call, below the bandwidth and what the launch of a kernel
 * leaves of it. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/compare/page.h"

enum {
    WIDTH = 545,
    HEIGHT = 372,
    LEFT = 54,
    RIGHT = 14,
    TOP = 14,
    BOTTOM = 46,
    BOXES = 900,
    POINTS_MOST = 400
};

#define BOLD 1.11 /* how much wider bold letters are */

typedef struct box {
    double x0, y0, x1, y1;
} box;

typedef struct point {
    const compare_row *row;
    double x, y;
} point;

/* What the two plots of a record differ in. */
typedef struct plot_kind {
    bool both; /* rows that state operations and bytes, else those that state bytes alone */
    const char *x_unit, *y_unit; /* "FLOP/B", "FLOP/s" */
    const char *x_title, *heading, *title, *words;
} plot_kind;

typedef struct plot {
    clv_text *to;
    const plot_kind *kind;
    clv_page_axis x, y;
    int record, count;
    point *points;
    int boxes;
    box taken[BOXES + POINTS_MOST];
} plot;

/* ---- labels ------------------------------------------------------------- */

static void take(plot *p, box b)
{
    if (p->boxes < (int)(sizeof p->taken / sizeof *p->taken))
        p->taken[p->boxes++] = b;
}

static bool is_free(const plot *p, box b)
{
    if (b.x0 < LEFT + 3 || b.x1 > WIDTH - RIGHT - 3 || b.y0 < TOP + 2 || b.y1 > HEIGHT - BOTTOM - 2)
        return false;
    for (int i = 0; i < p->boxes; i++) {
        const box *t = &p->taken[i];
        if (b.x0 < t->x1 && b.x1 > t->x0 && b.y0 < t->y1 && b.y1 > t->y0)
            return false;
    }
    return true;
}

/* Writes text beside a place where there is room, else not at all. */
static void put_label(plot *p, double x, double y, double away, const char *class, const char *text)
{
    static const struct {
        double dx, dy; /* the text's corner nearest to the place, in units of away */
        int side; /* 1: text begins there, -1: it ends there, 0: it is centred */
    } ways[] = {{1, 0, 1},   {-1, 0, -1}, {0, -1.4, 0},  {0, 1.4, 0},
                {.8, -1, 1}, {.8, 1, 1},  {-.8, -1, -1}, {-.8, 1, -1}};
    double width = clv_page_width(text);
    for (size_t w = 0; w < sizeof ways / sizeof *ways; w++) {
        double start = x + ways[w].dx * away - (ways[w].side < 0 ? width : ways[w].side ? 0 : width / 2);
        double middle = y + ways[w].dy * (away + 1);
        box b = {start, middle - 6.5, start + width, middle + 6.5};
        if (!is_free(p, b))
            continue;
        take(p, b);
        clv_page_put_word(p->to, start, middle + 3.8, "start", class, 0, text);
        return;
    }
}

/* ---- axes and roofs ------------------------------------------------------ */

static void put_axes(plot *p)
{
    double ticks[16];
    char text[CLV_TEXT_NUMBER];
    int count = clv_page_ticks(&p->x, ticks, 9);
    for (int t = 0; t < count; t++) {
        double at = clv_page_at(&p->x, ticks[t]);
        clv_text_add(p->to, "<line class=\"grid\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\"/>", at, at, TOP,
                 HEIGHT - BOTTOM);
        if (*p->kind->x_unit)
            clv_page_tick_text(ticks[t], p->kind->x_unit, text);
        else
            snprintf(text, sizeof text, "%.4g", ticks[t]);
        clv_page_put_word(p->to, fmin(at, WIDTH - 2 - clv_page_width(text) / 2), HEIGHT - BOTTOM + 17,
                          "middle", "tick", 0, text);
    }
    count = clv_page_ticks(&p->y, ticks, 9);
    for (int t = 0; t < count; t++) {
        double at = clv_page_at(&p->y, ticks[t]);
        clv_text_add(p->to, "<line class=\"grid\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/>", LEFT,
                 WIDTH - RIGHT, at, at);
        clv_page_put_word(p->to, LEFT - 7, at + 4, "end", "tick", 0, clv_page_tick_text(ticks[t], "", text));
    }
    clv_page_put_word(p->to, (LEFT + WIDTH - RIGHT) / 2.0, HEIGHT - 8, "middle", "axis", 0, p->kind->x_title);
    clv_text_add(p->to, "<rect class=\"frame\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\"/>\n", LEFT, TOP,
             WIDTH - RIGHT - LEFT, HEIGHT - BOTTOM - TOP);
}

/* The line y = value (slope 0) or y = value x (slope 1) from x0 to x1, within the frame. */
static void put_roof(plot *p, const char *class, double value, int slope, double x0, double x1)
{
    double y0 = slope ? value * x0 : value, y1 = slope ? value * x1 : value;
    if (slope && y0 < p->y.low) {
        x0 = p->y.low / value;
        y0 = p->y.low;
    }
    if (slope && y1 > p->y.high) {
        x1 = p->y.high / value;
        y1 = p->y.high;
    }
    if (!(x1 > x0))
        return;
    double ax = clv_page_at(&p->x, x0), ay = clv_page_at(&p->y, y0), bx = clv_page_at(&p->x, x1),
           by = clv_page_at(&p->y, y1);
    clv_text_add(p->to, "<line class=\"%s\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n", class, ax,
                 ay, bx, by);
    /* Labels keep off the line. */
    int steps = (int)(hypot(bx - ax, by - ay) / 5) + 1;
    for (int i = 0; i <= steps; i++) {
        double x = ax + (bx - ax) * i / steps, y = ay + (by - ay) * i / steps;
        take(p, (box){x - 3, y - 1.5, x + 3, y + 1.5});
    }
}

/* A roof's name, without its value where that is too long, beside a level line, near its right end. */
static void name_level(plot *p, double value, const char *name, const char *unit)
{
    char text[160], number[CLV_TEXT_NUMBER];
    double y = clv_page_at(&p->y, value);
    for (int i = 0; i < 24; i++) {
        int below = i % 2;
        snprintf(text, sizeof text, "%.60s %s", name, i < 12 ? clv_text_si(value, unit, number) : "");
        double width = BOLD * clv_page_width(text), x = WIDTH - RIGHT - 6 - width - 20 * (i % 12 / 2);
        box b = {x, below ? y + 3 : y - 16, x + width, below ? y + 16 : y - 3};
        if (!is_free(p, b))
            continue;
        take(p, b);
        clv_page_put_word(p->to, x, below ? y + 13 : y - 6, "start", "roofname", 0, text);
        return;
    }
}

/* A slanted roof's name along it: above it where there is room, else below, as far down as can be. */
static void name_slope(plot *p, double value, double top, const char *name, const char *unit)
{
    enum { STEPS = 40, AWAY = 11 };
    char text[160], number[CLV_TEXT_NUMBER];
    snprintf(text, sizeof text, "%.60s %s", name, clv_text_si(value, unit, number));
    double half = BOLD * clv_page_width(text) / 2;
    double dx = (p->x.to - p->x.from) / log10(p->x.high / p->x.low);
    double dy = (p->y.to - p->y.from) / log10(p->y.high / p->y.low), decade = hypot(dx, dy);
    dx /= decade;
    dy /= decade;
    for (int i = 1; i < 2 * STEPS; i++) {
        double level = p->y.low * pow(p->y.high / p->y.low, i % STEPS / (double)STEPS),
               side = i < STEPS ? AWAY : -AWAY;
        double x = clv_page_at(&p->x, level / value) + side * dy, y = clv_page_at(&p->y, level) - side * dx;
        double end = level * pow(10, (half + 4) / decade);
        bool good = level / value > p->x.low && end / value < p->x.high && end < top;
        for (double at = -half; at <= half && good; at += 5)
            good = is_free(p, (box){x + at * dx - 4, y + at * dy - 4, x + at * dx + 4, y + at * dy + 4});
        if (!good)
            continue;
        for (double at = -half; at <= half; at += 10)
            take(p, (box){x + at * dx - 6, y + at * dy - 6, x + at * dx + 6, y + at * dy + 6});
        clv_text_add(p->to, "<g transform=\"translate(%.1f %.1f) rotate(%.2f)\">", x, y,
                 atan2(dy, dx) * 180 / 3.14159265358979);
        clv_page_put_word(p->to, 0, 4, "middle", "roofname", 0, text);
        clv_text_put(p->to, "</g>\n");
        return;
    }
}

static int by_share(const void *a, const void *b)
{
    const point *p = a, *q = b;
    double x = isfinite(p->row->share) ? p->row->share : HUGE_VAL,
           y = isfinite(q->row->share) ? q->row->share : HUGE_VAL;
    return (x > y) - (x < y);
}

/* Keeps the names of roofs off the points. */
static void take_points(plot *p)
{
    for (int k = 0; k < p->count; k++) {
        double x = clv_page_at(&p->x, p->points[k].x), y = clv_page_at(&p->y, p->points[k].y);
        take(p, (box){x - 4, y - 4, x + 4, y + 4});
    }
}

/* The points that were taken. Those farthest below their roof are named first. */
static void put_points(plot *p)
{
    char number[CLV_TEXT_NUMBER], other[CLV_TEXT_NUMBER];
    point *points = p->points;
    qsort(points, (size_t)p->count, sizeof *points, by_share);
    for (int k = 0; k < p->count; k++) {
        const compare_row *row = points[k].row;
        clv_text_put(p->to, "<g><title>");
        clv_text_put_html(p->to, row->name);
        clv_text_add(p->to, ": %s at %s", clv_text_si(points[k].y, p->kind->y_unit, number),
                 clv_text_si(points[k].x, *p->kind->x_unit ? p->kind->x_unit : "FLOP/B", other));
        if (isfinite(row->share)) {
            clv_text_add(p->to, ", %s of ", clv_text_percent(row->share, number));
            clv_text_put_html(p->to, row->ceiling);
        }
        clv_text_put(p->to, "</title>");
        page_put_mark(p->to, p->record, clv_page_at(&p->x, points[k].x), clv_page_at(&p->y, points[k].y),
                      3.6);
        clv_text_put(p->to, "</g>\n");
    }
    for (int k = 0; k < p->count; k++) {
        /* A name that would be cut is of no use among points: the table has it. */
        const char *name = points[k].row->name;
        if (clv_page_width(name) < 150)
            put_label(p, clv_page_at(&p->x, points[k].x), clv_page_at(&p->y, points[k].y), 7, "pointname",
                      name);
    }
}

/* ---- what lies in them --------------------------------------------------- */

/* The level that rows of bytes are measured against: the ceiling in bytes a
 * second that most of them name, else the copy's. */
static const compare_ceiling *find_bandwidth(const compare_record *r)
{
    const compare_ceiling *best = NULL;
    int most = 0;
    for (int c = 0; c < r->ceilings; c++) {
        int named = 0;
        if (strcmp(r->ceiling[c].unit, "B/s"))
            continue;
        for (int k = 0; k < r->rows; k++)
            named += !strcmp(r->row[k].ceiling, r->ceiling[c].name);
        if (named > most || (!best && !strncmp(r->ceiling[c].name, "copy", 4))) {
            best = &r->ceiling[c];
            most = named;
        }
    }
    return best;
}

/* Bounded by a ceiling that is no roof of these plots: a copy within the host, say. */
static bool is_bounded_elsewhere(const compare_record *r, const compare_ceiling *bandwidth,
                                 const compare_row *row)
{
    const compare_ceiling *own = compare_find_ceiling(r, row->ceiling);
    if (!*row->ceiling || !bandwidth || (own && !strcmp(own->unit, "FLOP/s")))
        return false;
    return own != bandwidth;
}

/* Representatives of the lines that state bytes, and (both) operations. */
static int list_points(const compare_set *set, int i, bool both, point *points, int most)
{
    const compare_record *r = &set->record[i];
    const compare_ceiling *bandwidth = find_bandwidth(r);
    int count = 0;
    for (int k = 0; k < set->lines && count < most; k++) {
        const compare_row *row = set->line[k].row[i];
        if (!row || compare_is_variant(&set->line[k]) || !isfinite(row->bytes) ||
            both != (isfinite(row->operations) != 0) || is_bounded_elsewhere(r, bandwidth, row))
            continue;
        points[count++] = both ? (point){row, row->operations / row->bytes, row->operations / row->seconds}
                               : (point){row, row->bytes, row->bytes / row->seconds};
    }
    return count;
}

static const compare_ceiling *find_like(const compare_record *r, const char *unit, const char *word)
{
    for (int c = 0; c < r->ceilings; c++)
        if (!strcmp(r->ceiling[c].unit, unit) && strstr(r->ceiling[c].name, word))
            return &r->ceiling[c];
    return NULL;
}

/* Axes that hold every record's roofs and points, so that plots can be laid side by side. */
typedef struct range {
    double low, high;
} range;

static void widen(range *r, double value)
{
    if (isfinite(value) && value > 0) {
        r->low = fmin(r->low, value);
        r->high = fmax(r->high, value);
    }
}

static void range_rooflines(const compare_set *set, point *points, range *x, range *y)
{
    *x = *y = (range){HUGE_VAL, 0};
    for (int i = 0; i < set->count; i++) {
        const compare_record *r = &set->record[i];
        const compare_ceiling *bandwidth = find_bandwidth(r);
        int count = list_points(set, i, true, points, POINTS_MOST);
        for (int k = 0; k < count; k++) {
            widen(x, points[k].x / 5); /* room for the names of the roofs */
            widen(x, points[k].x * 1.5);
            widen(y, points[k].y / 1.5);
            widen(y, points[k].y * 1.5);
        }
        for (int c = 0; c < r->ceilings && count; c++)
            if (!strcmp(r->ceiling[c].unit, "FLOP/s")) {
                widen(y, 2.5 * r->ceiling[c].value);
                if (bandwidth)
                    widen(x, 3 * r->ceiling[c].value / bandwidth->value);
            }
    }
}

static void range_bandwidths(const compare_set *set, point *points, range *x, range *y)
{
    *x = *y = (range){HUGE_VAL, 0};
    for (int i = 0; i < set->count; i++) {
        int count = list_points(set, i, false, points, POINTS_MOST);
        const compare_ceiling *bandwidth = find_bandwidth(&set->record[i]);
        for (int k = 0; k < count; k++) {
            widen(x, points[k].x / 1.5);
            widen(x, points[k].x * 1.5);
            widen(y, points[k].y / 1.5);
            widen(y, points[k].y * 1.5);
        }
        if (count && bandwidth)
            widen(y, 2.5 * bandwidth->value);
    }
}

/* Opens the plot of what record i has for it; NULL: nothing, or no memory. */
static plot *begin_plot(clv_text *to, const compare_set *set, int i, const plot_kind *kind, range x, range y,
                        point *points)
{
    char label[200];
    int count = list_points(set, i, kind->both, points, POINTS_MOST);
    if (!count)
        return NULL;
    plot *p = malloc(sizeof *p);
    if (!p) {
        to->failed = true;
        return NULL;
    }
    *p = (plot){.to = to,
                .kind = kind,
                .x = {.low = x.low, .high = x.high, .from = LEFT, .to = WIDTH - RIGHT, .log = true},
                .y = {.low = y.low, .high = y.high, .from = HEIGHT - BOTTOM, .to = TOP, .log = true},
                .record = i,
                .count = count,
                .points = points};
    clv_page_round_axis(&p->x);
    clv_page_round_axis(&p->y);
    clv_text_add(to, "<div><h4>%s</h4>\n", kind->heading);
    snprintf(label, sizeof label, "%s: %.120s", kind->title, set->record[i].device.name);
    clv_page_begin_scroll(to, "Plot: %s", label);
    clv_page_begin_svg(to, WIDTH, HEIGHT, label, kind->words);
    put_axes(p);
    return p;
}

static void end_plot(plot *p)
{
    put_points(p);
    clv_page_end_svg(p->to);
    clv_page_end_scroll(p->to);
    clv_text_put(p->to, "</div>\n");
    free(p);
}

static void put_roofline(clv_text *to, const compare_set *set, int i, range x, range y, point *points)
{
    static const plot_kind kind = {true,
                                   "",
                                   "FLOP/s",
                                   "operations a byte (FLOP/B)",
                                   "Operations a second (FLOP/s)",
                                   "Roofline",
                                   "Operations a second over operations a byte, both logarithmic."};
    const compare_record *r = &set->record[i];
    plot *p = begin_plot(to, set, i, &kind, x, y, points);
    if (!p)
        return;
    const compare_ceiling *bandwidth = find_bandwidth(r), *local = find_like(r, "B/s", "local");
    /* On a CPU local memory is memory like any other. */
    if (local && bandwidth && local->value <= bandwidth->value)
        local = NULL;
    double peak = 0;
    for (int c = 0; c < r->ceilings; c++)
        if (!strcmp(r->ceiling[c].unit, "FLOP/s"))
            peak = fmax(peak, r->ceiling[c].value);
    double top = peak > 0 ? peak : p->y.high;
    for (int c = 0; c < r->ceilings; c++)
        if (!strcmp(r->ceiling[c].unit, "FLOP/s")) {
            double from = bandwidth ? r->ceiling[c].value / bandwidth->value : p->x.low;
            put_roof(p, r->ceiling[c].value < peak ? "roof lower" : "roof", r->ceiling[c].value, 0,
                     fmin(fmax(from, p->x.low), p->x.high), p->x.high);
        }
    if (bandwidth)
        put_roof(p, "roof", bandwidth->value, 1, p->x.low, fmin(top / bandwidth->value, p->x.high));
    if (local && local != bandwidth)
        put_roof(p, "roof lower", local->value, 1, p->x.low, fmin(top / local->value, p->x.high));
    take_points(p);
    for (int c = 0; c < r->ceilings; c++)
        if (!strcmp(r->ceiling[c].unit, "FLOP/s"))
            name_level(p, r->ceiling[c].value, r->ceiling[c].name, "FLOP/s");
    if (bandwidth)
        name_slope(p, bandwidth->value, top, bandwidth->name, "B/s");
    if (local && local != bandwidth)
        name_slope(p, local->value, top, local->name, "B/s");
    end_plot(p);
}

static void put_bandwidth(clv_text *to, const compare_set *set, int i, range x, range y, point *points)
{
    static const plot_kind kind = {false, "B", "B/s", "bytes that a call must move", "Bytes a second (B/s)",
                                   "Bandwidth", "Bytes a second over the bytes of a call, both logarithmic."};
    const compare_record *r = &set->record[i];
    plot *p = begin_plot(to, set, i, &kind, x, y, points);
    if (!p)
        return;
    const compare_ceiling *bandwidth = find_bandwidth(r), *launch = find_like(r, "s", "launch");
    double bend = bandwidth && launch ? bandwidth->value * launch->value : 0;
    if (bandwidth)
        put_roof(p, "roof", bandwidth->value, 0, fmin(fmax(bend, p->x.low), p->x.high), p->x.high);
    if (launch)
        put_roof(p, "roof", 1 / launch->value, 1, p->x.low, bandwidth ? fmin(bend, p->x.high) : p->x.high);
    take_points(p);
    if (bandwidth)
        name_level(p, bandwidth->value, bandwidth->name, "B/s");
    end_plot(p);
}

bool page_has_rooflines(const compare_set *set)
{
    point any;
    for (int i = 0; i < set->count; i++)
        if (list_points(set, i, true, &any, 1) || list_points(set, i, false, &any, 1))
            return true;
    return false;
}

void page_put_rooflines(clv_text *to, const compare_set *set)
{
    point *points = malloc(POINTS_MOST * sizeof *points);
    range x, y, bytes, rate;
    if (!points) {
        to->failed = true;
        return;
    }
    range_rooflines(set, points, &x, &y);
    range_bandwidths(set, points, &bytes, &rate);
    for (int i = 0; i < set->count; i++) {
        if (!list_points(set, i, true, points, POINTS_MOST) &&
            !list_points(set, i, false, points, POINTS_MOST))
            continue;
        clv_text_put(to, "<figure class=\"roofs\">\n<h3>");
        page_put_key(to, i);
        clv_text_put(to, " ");
        clv_text_put_html(to, set->record[i].device.name);
        clv_text_put(to, "</h3>\n<div class=\"columns\">\n");
        put_roofline(to, set, i, x, y, points);
        put_bandwidth(to, set, i, bytes, rate, points);
        clv_text_put(to, "</div>\n</figure>\n");
    }
    free(points);
}
