/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by all HTML pages: their style, tables that scroll, plots as SVG. Pages need no network, are light or dark
 * as the reader's system is, print, and have all text of others escaped. */
#ifndef CLV_REPORT_PAGE_H
#define CLV_REPORT_PAGE_H

#include "base/text.h"

/* Style sheet of every page: colours, type, tables, plots, paper (page.css). */
extern const char clv_page_style[];

/* An axis: values from low to high at pixels from..to. */
typedef struct clv_page_axis {
    double low, high;
    double from, to;
} clv_page_axis;

double clv_page_at(const clv_page_axis *axis, double value);
/* Widens low..high to steps of 1, 2 or 5 times a power of ten. */
void clv_page_round_axis(clv_page_axis *axis);
/* The values of its ticks, at most `most`, into values; their count. */
int clv_page_ticks(const clv_page_axis *axis, double *values, int most);

/* Content wider than the window scrolls in a region of its own, which keys reach too; `format` makes its name,
 * which is read aloud. */
void clv_page_begin_scroll(clv_text *to, const char *format, ...) CLVOX_PRINTF(2, 3);
void clv_page_end_scroll(clv_text *to);

/* Closes the SVG image of a plot. */
void clv_page_end_svg(clv_text *to);

/* A word at a place; anchor "start", "middle" or "end"; class of the style. The text is escaped. */
void clv_page_put_word(clv_text *to, double x, double y, const char *anchor, const char *class,
                       const char *text);

#endif
