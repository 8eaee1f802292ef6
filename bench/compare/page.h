/* SPDX-License-Identifier: Apache-2.0 */
/* The comparison as one HTML page: no scripts, no network, light and dark, on
 * paper too. Every text of a record is escaped. */
#ifndef CLV_BENCH_PAGE_H
#define CLV_BENCH_PAGE_H

#include "bench/compare/compare.h"
#include "report/page.h"

/* The whole page. */
void page_put(clv_text *to, const compare_set *set);

/* Its parts, for page.c. */
extern const char *const page_style_of_records; /* after clv_page_style */

/* Bars: speed relative to the first record by field of work; of pipelines. */
void page_put_speeds(clv_text *to, const compare_set *set);
void page_put_pipelines(clv_text *to, const compare_set *set);
/* Shares of the ceilings, all records in one plot. */
void page_put_shares(clv_text *to, const compare_set *set);
/* Operations over intensity, and bytes a second over bytes, of each record. */
void page_put_rooflines(clv_text *to, const compare_set *set);
bool page_has_rooflines(const compare_set *set);
/* Tables: ceilings, lines of a kind (papers or not), rows of each record. */
void page_put_ceilings(clv_text *to, const compare_set *set);
void page_put_lines(clv_text *to, const compare_set *set);
void page_put_papers(clv_text *to, const compare_set *set);
void page_put_rows(clv_text *to, const compare_set *set);

/* ---- marks and numbers (page_mark.c) -------------------------------------- */

/* The mark of record i. */
void page_put_mark(clv_text *to, int i, double x, double y, double radius);
/* The mark in running text, with its letter. */
void page_put_key(clv_text *to, int i);

/* The marks of all records with their devices' names. */
void page_put_legend(clv_text *to, const compare_set *set);

/* Numbers for the page: "–" where unknown, "1.2×", "µs". */
void page_put_number(clv_text *to, double value);
void page_put_ratio(clv_text *to, double value);
void page_put_size(clv_text *to, const int *size);

#endif
