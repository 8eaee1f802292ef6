/* SPDX-License-Identifier: Apache-2.0 */
/* The page's tables. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench/compare/page.h"

#define UNVERIFIED "<abbr class=\"mk\" title=\"not compared with the reference\">!</abbr>"

static void put_cell(clv_text *to, const char *class, const char *text)
{
    clv_text_add(to, "<td%s%s%s>", *class ? " class=\"" : "", class, *class ? "\"" : "");
    clv_text_put_html(to, text);
    clv_text_put(to, "</td>");
}

/* A row's heading, with the size where that is needed. */
static void put_name(clv_text *to, const compare_line *line)
{
    clv_text_add(to, "<tr><th scope=\"row\"%s>",
             compare_is_variant(line) || compare_is_stage(line) ? " class=\"part\"" : "");
    clv_text_put_html(to, line->name);
    if (compare_own_size(line)) {
        clv_text_put(to, " <small>");
        page_put_size(to, compare_own_size(line));
        clv_text_put(to, "</small>");
    }
    clv_text_put(to, "</th>");
}

static void put_key_heading(clv_text *to, const compare_set *set, int i, int columns)
{
    clv_text_add(to, "<th scope=\"colgroup\" colspan=\"%d\" class=\"device\">", columns);
    page_put_key(to, i);
    clv_text_put(to, " <span class=\"light\">");
    clv_text_put_html(to, set->record[i].device.name);
    clv_text_put(to, "</span></th>");
}

/* How many times as fast: a rate is better where it is higher, a time where it is
 * lower. NaN where they cannot be compared. */
static double ceiling_ratio(const compare_ceiling *here, const compare_ceiling *first)
{
    if (!here || !first || strcmp(here->unit, first->unit))
        return NAN;
    return strcmp(here->unit, "s") ? here->value / first->value : first->value / here->value;
}

void page_put_ceilings(clv_text *to, const compare_set *set)
{
    char number[CLV_TEXT_NUMBER];
    clv_page_begin_scroll(to, "Table of ceilings");
    clv_text_add(to,
                 "<table>\n<caption>What each device reaches at most, measured in the same run "
                 "as its rows%s.</caption>\n<thead><tr><th scope=\"col\">Ceiling</th>",
                 set->count > 1 ? "; behind it, relative to A: above 1 is faster, also where a time is stated"
                                : "");
    for (int i = 0; i < set->count; i++)
        put_key_heading(to, set, i, i ? 2 : 1);
    clv_text_put(to, "</tr></thead>\n<tbody>\n");
    for (int i = 0; i < set->count; i++)
        for (int k = 0; k < set->record[i].ceilings; k++) {
            const compare_ceiling *c = &set->record[i].ceiling[k], *first;
            bool before = compare_find_ceiling(&set->record[i], c->name) != c;
            for (int j = 0; j < i; j++)
                before |= compare_find_ceiling(&set->record[j], c->name) != NULL;
            if (before)
                continue;
            first = compare_find_ceiling(&set->record[0], c->name);
            clv_text_put(to, "<tr><th scope=\"row\">");
            clv_text_put_html(to, c->name);
            clv_text_put(to, "</th>");
            for (int j = 0; j < set->count; j++) {
                const compare_ceiling *here = compare_find_ceiling(&set->record[j], c->name);
                put_cell(to, "n edge", here ? clv_text_si(here->value, here->unit, number) : "–");
                if (j) {
                    clv_text_put(to, "<td class=\"n light\">");
                    page_put_ratio(to, ceiling_ratio(here, first));
                    clv_text_put(to, "</td>");
                }
            }
            clv_text_put(to, "</tr>\n");
        }
    clv_text_put(to, "</tbody></table>");
    clv_page_end_scroll(to);
}

/* ---- lines -------------------------------------------------------------- */

static double unit_of(const char *group)
{
    return strcmp(group, "pipelines") ? 1e3 : 1;
}

static void put_time(clv_text *to, const compare_row *row)
{
    clv_text_put(to, "<td class=\"n edge\">");
    page_put_number(to, row ? row->seconds * unit_of(row->group) : NAN);
    if (row && !row->verified)
        clv_text_put(to, UNVERIFIED);
    clv_text_put(to, "</td>");
}

static void put_speed(clv_text *to, const compare_line *line, int i)
{
    clv_text_put(to, "<td class=\"n\">");
    if (line->row[0] && line->row[i] && line->by[i] == COMPARE_NOTHING) {
        clv_text_put(to, "sizes");
    } else {
        page_put_ratio(to, line->speed[i]);
        if (isfinite(line->speed[i]) && line->alike[i])
            clv_text_put(to, "<abbr class=\"mk\" title=\"the quartiles of the samples overlap\">~</abbr>");
        if (isfinite(line->speed[i]) && line->by[i] != COMPARE_SECONDS)
            clv_text_add(to, "<abbr class=\"mk\" title=\"sizes differ: %s\">*</abbr>",
                     compare_basis_text(line->by[i]));
    }
    clv_text_put(to, "</td>");
}

static void put_share(clv_text *to, const compare_row *row)
{
    char number[CLV_TEXT_NUMBER];
    clv_text_put(to, "<td class=\"n light\"");
    if (row && *row->ceiling) {
        clv_text_put(to, " title=\"of ");
        clv_text_put_html(to, row->ceiling);
        clv_text_put(to, "\"");
    }
    clv_text_add(to, ">%s</td>", row && isfinite(row->share) ? clv_text_percent(row->share, number) : "–");
}

static void put_sizes(clv_text *to, const compare_set *set, const char *group)
{
    const int *common = compare_group_size(set, group, 0);
    for (int i = 1; i < set->count && common; i++) {
        const int *other = compare_group_size(set, group, i);
        common = other && !memcmp(common, other, 3 * sizeof *other) ? common : NULL;
    }
    if (common) {
        clv_text_put(to, ", ");
        page_put_size(to, common);
        return;
    }
    for (int i = 0; i < set->count; i++)
        if (compare_group_size(set, group, i)) {
            clv_text_add(to, ", %c at ", compare_letter(i));
            page_put_size(to, compare_group_size(set, group, i));
        }
}

static void begin_group(clv_text *to, const compare_set *set, const char *group)
{
    clv_page_begin_scroll(to, "Table of rows: %s", compare_group_title(group));
    clv_text_put(to, "<table>\n<caption><b>");
    clv_text_put_html(to, compare_group_title(group));
    clv_text_put(to, "</b>");
    put_sizes(to, set, group);
    clv_text_add(to, "; times in %s</caption>\n", strcmp(group, "pipelines") ? "milliseconds" : "seconds");
    clv_text_put(to, "<thead><tr><td></td>");
    for (int i = 0; i < set->count; i++)
        put_key_heading(to, set, i, i ? 3 : 2);
    clv_text_put(to, "</tr>\n<tr><th scope=\"col\">Row</th>");
    for (int i = 0; i < set->count; i++)
        clv_text_add(to,
                 "<th scope=\"col\" class=\"n edge\">time</th>%s<th scope=\"col\" class=\"n\">of roof</th>",
                 i ? "<th scope=\"col\" class=\"n\">speed</th>" : "");
    clv_text_put(to, "</tr></thead>\n<tbody>\n");
}

static void put_lines_of(clv_text *to, const compare_set *set, const char *group)
{
    begin_group(to, set, group);
    for (int k = 0; k < set->lines; k++) {
        const compare_line *line = &set->line[k];
        if (strcmp(line->group, group))
            continue;
        put_name(to, line);
        for (int i = 0; i < set->count; i++) {
            put_time(to, line->row[i]);
            if (i)
                put_speed(to, line, i);
            put_share(to, line->row[i]);
        }
        clv_text_put(to, "</tr>\n");
    }
    clv_text_put(to, "</tbody>");
    int count;
    compare_mean(set, 0, group, NULL, &count);
    if (!compare_group_is_paper(group) && count > 1) {
        char number[CLV_TEXT_NUMBER];
        clv_text_put(to, "<tfoot><tr><th scope=\"row\">Geometric mean</th>");
        for (int i = 0; i < set->count; i++) {
            clv_text_put(to, "<td class=\"edge\"></td>");
            if (i) {
                clv_text_put(to, "<td class=\"n\">");
                page_put_ratio(to, compare_mean(set, i, group, NULL, &count));
                clv_text_put(to, "</td>");
            }
            double share = compare_mean_share(set, i, group, &count);
            clv_text_add(to, "<td class=\"n light\">%s</td>",
                         count ? clv_text_percent(share, number) : "–");
        }
        clv_text_put(to, "</tr></tfoot>");
    }
    clv_text_put(to, "</table>");
    clv_page_end_scroll(to);
}

void page_put_lines(clv_text *to, const compare_set *set)
{
    for (int k = 0; k < set->lines; k++) {
        const char *group = set->line[k].group;
        if ((!k || strcmp(group, set->line[k - 1].group)) && !compare_group_is_paper(group))
            put_lines_of(to, set, group);
    }
}

/* ---- papers ------------------------------------------------------------- */

/* Each statement of a paper with the figure, and what holds where. */
static void put_findings(clv_text *to, const compare_set *set, const char *group)
{
    bool any = false;
    char number[CLV_TEXT_NUMBER];
    for (int k = 0; k < set->lines; k++) {
        const compare_line *line = &set->line[k];
        const compare_row *told = compare_told(set, line);
        if (strcmp(line->group, group) || !told)
            continue;
        if (!any) {
            clv_page_begin_scroll(to, "Table of findings: %s", compare_group_title(group));
            clv_text_put(to, "<table class=\"findings\">\n<caption>What the paper found, "
                         "and whether it holds "
                         "here</caption>\n<thead><tr><th scope=\"col\">Row</th><th scope=\"col\">The paper's "
                         "figure</th>"
                         "<th scope=\"col\">Its device</th><th scope=\"col\">Its conclusion</th>");
            for (int i = 0; i < set->count; i++) {
                clv_text_put(to, "<th scope=\"col\" class=\"device\">");
                page_put_key(to, i);
                clv_text_put(to, "</th>");
            }
            clv_text_put(to, "</tr></thead>\n<tbody>\n");
            any = true;
        }
        put_name(to, line);
        if (isfinite(told->paper_value))
            clv_text_add(to, "<td>%.6g ", told->paper_value);
        else
            clv_text_put(to, "<td>none; here ");
        clv_text_put_html(to, told->paper_unit);
        clv_text_put(to, "</td>");
        put_cell(to, "", told->paper_device);
        put_cell(to, "wide", told->paper_conclusion);
        for (int i = 0; i < set->count; i++) {
            const compare_row *row = line->row[i];
            if (!row || !row->paper) {
                put_cell(to, "light edge", "–");
                continue;
            }
            clv_text_add(to, "<td class=\"%s edge\">", row->paper_holds ? "holds" : "fails");
            if (isfinite(row->paper_here))
                clv_text_add(to, "%s ", clv_text_rounded(row->paper_here, number));
            clv_text_put(to, row->paper_holds ? "✓ holds</td>" : "✗ does not hold</td>");
        }
        clv_text_put(to, "</tr>\n");
    }
    if (any) {
        clv_text_put(to, "</tbody></table>");
        clv_page_end_scroll(to);
    }
}

void page_put_papers(clv_text *to, const compare_set *set)
{
    for (int k = 0; k < set->lines; k++) {
        const char *group = set->line[k].group;
        if ((k && !strcmp(group, set->line[k - 1].group)) || !compare_group_is_paper(group))
            continue;
        clv_text_put(to, "<h3>");
        clv_text_put_html(to, compare_group_title(group));
        clv_text_put(to, "</h3>\n");
        put_findings(to, set, group);
        put_lines_of(to, set, group);
    }
}

/* ---- rows --------------------------------------------------------------- */

static void put_row(clv_text *to, const compare_row *r)
{
    char number[CLV_TEXT_NUMBER];
    clv_text_put(to, "<tr><th scope=\"row\">");
    clv_text_put_html(to, r->name);
    if (*r->remark) {
        clv_text_put(to, "<br><small>");
        clv_text_put_html(to, r->remark);
        clv_text_put(to, "</small>");
    }
    clv_text_put(to, "</th><td class=\"n\">");
    page_put_size(to, r->size);
    clv_text_put(to, "</td>");
    put_cell(to, "", *r->variant ? r->variant : "–");
    put_cell(to, "", *r->tile ? r->tile : "–");
    clv_text_add(to, "<td class=\"n\">%s%s</td>", clv_text_si(r->seconds, "s", number),
             r->verified ? "" : UNVERIFIED);
    put_cell(to, "n", isfinite(r->device_seconds) ? clv_text_si(r->device_seconds, "s", number) : "–");
    clv_text_add(to, "<td class=\"n\">%.1f%%</td><td class=\"n\">%d</td>", 100 * fmin(r->spread, 1e6),
             r->samples);
    put_cell(to, "n", isfinite(r->bytes) ? clv_text_si(r->bytes / r->seconds, "B/s", number) : "–");
    put_cell(to, "n",
             isfinite(r->operations) ? clv_text_si(r->operations / r->seconds, "FLOP/s", number) : "–");
    put_share(to, r);
    if (isfinite(r->registers))
        clv_text_add(to, "<td class=\"n\">%.0f</td>", fmin(r->registers, 1e6));
    else
        put_cell(to, "n", "–");
    put_cell(to, "n", isfinite(r->occupancy) ? clv_text_percent(r->occupancy, number) : "–");
    put_cell(to, "", *r->limit ? r->limit : "–");
    clv_text_put(to, "</tr>\n");
}

void page_put_rows(clv_text *to, const compare_set *set)
{
    for (int i = 0; i < set->count; i++) {
        const compare_record *r = &set->record[i];
        if (!r->rows)
            continue;
        clv_page_begin_scroll(to, "Table of what was recorded, %c: %s", compare_letter(i), r->device.name);
        clv_text_put(to, "<table class=\"small\">\n<caption>");
        page_put_key(to, i);
        clv_text_put(to, " <b>");
        clv_text_put_html(to, r->device.name);
        clv_text_put(to, "</b>, ");
        clv_text_put_html(to, r->file);
        clv_text_put(to,
                 "</caption>\n<thead><tr><th scope=\"col\">Row</th><th scope=\"col\" class=\"n\">size</th>"
                 "<th scope=\"col\">variant</th><th scope=\"col\">tile</th><th scope=\"col\" "
                 "class=\"n\">median</th>"
                 "<th scope=\"col\" class=\"n\">device</th><th scope=\"col\" class=\"n\">spread</th>"
                 "<th scope=\"col\" class=\"n\">samples</th><th scope=\"col\" class=\"n\">bytes</th>"
                 "<th scope=\"col\" class=\"n\">operations</th><th scope=\"col\" class=\"n\">of roof</th>"
                 "<th scope=\"col\" class=\"n\">registers</th><th scope=\"col\" class=\"n\">occupancy</th>"
                 "<th scope=\"col\">limit</th></tr></thead>\n");
        for (int k = 0; k < r->rows; k++) {
            if (!k || strcmp(r->row[k].group, r->row[k - 1].group)) {
                clv_text_put(to, k ? "</tbody>\n<tbody>\n" : "<tbody>\n");
                clv_text_put(to, "<tr><th scope=\"rowgroup\" colspan=\"14\" class=\"group\">");
                clv_text_put_html(to, compare_group_title(r->row[k].group));
                clv_text_put(to, "</th></tr>\n");
            }
            put_row(to, &r->row[k]);
        }
        clv_text_put(to, "</tbody></table>");
        clv_page_end_scroll(to);
    }
}
