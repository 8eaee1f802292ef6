/* SPDX-License-Identifier: Apache-2.0 */
/* The comparison as one HTML page: no scripts, no network, light and dark, on
 * paper too. Every text of a record is escaped. */
#ifndef CLV_BENCH_PAGE_H
#define CLV_BENCH_PAGE_H

#include "bench/compare/compare.h"

/* The whole page. */
void page_put(text_buffer *to, const compare_set *set);

/* Its parts, for page.c. */
extern const char *const page_style;

/* Bars: speed relative to the first record by field of work; of pipelines. */
void page_put_speeds(text_buffer *to, const compare_set *set);
void page_put_pipelines(text_buffer *to, const compare_set *set);
/* Shares of the ceilings, all records in one plot. */
void page_put_shares(text_buffer *to, const compare_set *set);
/* Operations over intensity, and bytes a second over bytes, of each record. */
void page_put_rooflines(text_buffer *to, const compare_set *set);
bool page_has_rooflines(const compare_set *set);
/* Tables: ceilings, lines of a kind (papers or not), rows of each record. */
void page_put_ceilings(text_buffer *to, const compare_set *set);
void page_put_lines(text_buffer *to, const compare_set *set);
void page_put_papers(text_buffer *to, const compare_set *set);
void page_put_rows(text_buffer *to, const compare_set *set);

/* ---- what plots share (page_plot.c) -------------------------------------- */

/* An axis: values from low to high at pixels from..to. */
typedef struct page_axis {
    double low, high;
    double from, to;
    bool log;
} page_axis;

double page_at(const page_axis *axis, double value);
/* Widens low..high so that they are good ends: powers of ten of 1, 2 or 5, or (linear) steps. */
void page_round_axis(page_axis *axis);
/* The values of its ticks, at most `most`, into values; their count. */
int page_ticks(const page_axis *axis, double *values, int most);

/* What may be wider than the window scrolls in a region of its own, which keys reach
 * too; its name, which is read aloud, is what `format` makes. */
void page_begin_scroll(text_buffer *to, const char *format, ...) CLVOX_PRINTF(2, 3);
void page_end_scroll(text_buffer *to);

/* Opens an SVG image of that size in a figure, which shrinks no further than to letters
 * that can be read: it belongs into what scrolls. words: what it shows, read aloud and
 * as its title. */
void page_begin_svg(text_buffer *to, int width, int height, const char *title, const char *words);
void page_end_svg(text_buffer *to);

/* A tick's number, short: "10 T". */
char *page_tick_text(double value, const char *unit, char out[TEXT_NUMBER]);

/* The mark of record i. */
void page_put_mark(text_buffer *to, int i, double x, double y, double radius);
/* The mark in running text, with its letter. */
void page_put_key(text_buffer *to, int i);

/* The marks of all records with their devices' names. */
void page_put_legend(text_buffer *to, const compare_set *set);

/* A word at a place; anchor "start", "middle" or "end"; class of the style. The
 * text is escaped and, where room (pixels, 0: endless) is too small, cut with "…". */
void page_put_word(text_buffer *to, double x, double y, const char *anchor, const char *class, double room,
                   const char *text);
/* About how many pixels text takes at 11 pixels; rather more than fewer. */
double page_width(const char *text);

/* Numbers for the page: "–" where unknown, "1.2×", "µs". */
void page_put_number(text_buffer *to, double value);
void page_put_ratio(text_buffer *to, double value);
void page_put_size(text_buffer *to, const int *size);

#endif
