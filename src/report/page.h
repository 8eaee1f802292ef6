/* SPDX-License-Identifier: Apache-2.0 */
/* What HTML pages share: their style, tables that scroll, plots as SVG. Pages need no network, are light or
 * dark as the reader's system is, print, and have all text of others escaped. */
#ifndef CLV_REPORT_PAGE_H
#define CLV_REPORT_PAGE_H

#include <stdbool.h>

#include "report/text.h"

/* Style sheet of every page: colours, type, tables, plots, paper (page.css). */
extern const char clv_page_style[];

/* An axis: values from low to high at pixels from..to. */
typedef struct clv_page_axis {
    double low, high;
    double from, to;
    bool log;
} clv_page_axis;

double clv_page_at(const clv_page_axis *axis, double value);
/* Widens low..high so that they are good ends: powers of ten of 1, 2 or 5, or (linear) steps. */
void clv_page_round_axis(clv_page_axis *axis);
/* The values of its ticks, at most `most`, into values; their count. */
int clv_page_ticks(const clv_page_axis *axis, double *values, int most);

/* What may be wider than the window scrolls in a region of its own, which keys reach
 * too; its name, which is read aloud, is what `format` makes. */
void clv_page_begin_scroll(clv_text *to, const char *format, ...) CLVOX_PRINTF(2, 3);
void clv_page_end_scroll(clv_text *to);

/* Opens an SVG image of that size in a figure, which shrinks no further than to letters
 * that can be read: it belongs into what scrolls. words: what it shows, read aloud and
 * as its title. */
void clv_page_begin_svg(clv_text *to, int width, int height, const char *title, const char *words);
void clv_page_end_svg(clv_text *to);

/* A tick's number, short: "10 T". */
char *clv_page_tick_text(double value, const char *unit, char out[CLV_TEXT_NUMBER]);

/* A word at a place; anchor "start", "middle" or "end"; class of the style. The
 * text is escaped and, where room (pixels, 0: endless) is too small, cut with "…". */
void clv_page_put_word(clv_text *to, double x, double y, const char *anchor, const char *class, double room,
                   const char *text);
/* About how many pixels text takes at 11 pixels; rather more than fewer. */
double clv_page_width(const char *text);

#endif
