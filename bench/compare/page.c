/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/compare/page.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static bool has_group(const compare_set *set, const char *group)
{
    for (int k = 0; k < set->lines; k++)
        if (!strcmp(set->line[k].group, group))
            return true;
    return false;
}

static bool has_papers(const compare_set *set)
{
    for (int k = 0; k < set->lines; k++)
        if (compare_group_is_paper(set->line[k].group))
            return true;
    return false;
}

static bool has_shares(const compare_set *set)
{
    for (int k = 0; k < set->lines; k++)
        if (compare_has_share(&set->line[k]))
            return true;
    return false;
}

static void put_head(clv_text *to, const compare_set *set)
{
    clv_text_put(to, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                 "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
                 "'unsafe-inline'; img-src data:\">\n"
                 "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                 "<link rel=\"icon\" href=\"data:,\">\n<title>clvox bench: ");
    for (int i = 0; i < set->count; i++) {
        clv_text_put(to, i ? ", " : "");
        clv_text_put_html(to, set->record[i].device.name);
    }
    clv_text_put(to, "</title>\n<style>\n");
    clv_text_put(to, clv_page_style);
    clv_text_put(to, page_style_of_records);
    clv_text_put(to, "</style>\n</head>\n<body>\n<header>\n<h1>clvox bench, ");
    if (set->count > 1)
        clv_text_add(to, "%d records beside one another</h1>\n", set->count);
    else
        clv_text_put(to, "one record</h1>\n");
    clv_text_add(to,
             "<p class=\"light\">Made by <code>clvox bench compare</code> %s from what <code>clvox bench "
             "--json</code> "
             "recorded. %s</p>\n<nav aria-label=\"Sections\">",
             clvox_version(), set->count > 1 ? "Speeds are relative to record A." : "");
    clv_text_put(to, "<a href=\"#devices\">Devices</a>");
    if (set->lines)
        clv_text_put(to, "<a href=\"#speed\">In short</a>");
    if (has_group(set, "pipelines"))
        clv_text_put(to, "<a href=\"#pipelines\">Pipelines</a>");
    if (has_shares(set))
        clv_text_put(to, "<a href=\"#shares\">Shares of ceilings</a>");
    if (page_has_rooflines(set))
        clv_text_put(to, "<a href=\"#roofs\">Rooflines</a>");
    if (has_papers(set))
        clv_text_put(to, "<a href=\"#papers\">The papers</a>");
    if (set->lines)
        clv_text_put(to, "<a href=\"#lines\">All rows</a><a href=\"#records\">As recorded</a>");
    clv_text_put(to, "<a href=\"#notes\">How to read this</a></nav>\n</header>\n<main>\n");
}

static void put_text_cell(clv_text *to, const char *class, const char *text)
{
    clv_text_add(to, "<td%s%s%s>", *class ? " class=\"" : "", class, *class ? "\"" : "");
    clv_text_put_html(to, *text ? text : "–");
    clv_text_put(to, "</td>");
}

/* A whole number; the schema has 0 for unknown. */
static void put_known(clv_text *to, double value, const char *unit)
{
    if (value > 0)
        clv_text_add(to, "%.0f%s", value, unit);
    else
        clv_text_put(to, "–");
}

static void put_devices(clv_text *to, const compare_set *set)
{
    char number[CLV_TEXT_NUMBER];
    clv_page_begin_scroll(to, "Table of devices");
    clv_text_put(to, "<table class=\"devices\">\n<caption>The records and the devices that they were made "
                 "on</caption>\n"
                 "<thead><tr><td></td><th scope=\"col\">Device</th><th scope=\"col\">Kind</th>"
                 "<th scope=\"col\" class=\"n\">Units</th><th scope=\"col\" class=\"n\">Clock</th>"
                 "<th scope=\"col\" class=\"n\">Memory</th><th scope=\"col\" class=\"n\">Local</th>"
                 "<th scope=\"col\">Platform</th><th scope=\"col\">Driver</th><th scope=\"col\">clvox</th>"
                 "<th scope=\"col\">Date</th><th scope=\"col\">Record</th></tr></thead>\n<tbody>\n");
    for (int i = 0; i < set->count; i++) {
        const compare_record *r = &set->record[i];
        const compare_device *d = &r->device;
        char day[16];
        clv_text_put(to, "<tr><td>");
        page_put_key(to, i);
        clv_text_put(to, "</td><th scope=\"row\">");
        clv_text_put_html(to, d->name);
        clv_text_put(to, "<br><small>");
        clv_text_put_html(to, d->vendor);
        if (*d->architecture) {
            clv_text_put(to, ", ");
            clv_text_put_html(to, d->architecture);
        }
        clv_text_put(to, "</small></th>");
        put_text_cell(to, "", d->type);
        clv_text_put(to, "<td class=\"n\">");
        put_known(to, d->compute_units, "");
        clv_text_put(to, "</td><td class=\"n\">");
        put_known(to, d->clock_mhz, " MHz");
        clv_text_add(to, "</td><td class=\"n\">%s</td>",
                 d->global_bytes > 0 ? clv_text_binary(d->global_bytes, number) : "–");
        clv_text_add(to, "<td class=\"n\">%s</td>",
                 d->local_bytes > 0 ? clv_text_binary(d->local_bytes, number) : "–");
        put_text_cell(to, "free", d->platform);
        put_text_cell(to, "free", d->driver);
        char version[64];
        snprintf(version, sizeof version, "%.40s %.6s", r->version, r->sources);
        put_text_cell(to, "free short", version);
        snprintf(day, sizeof day, "%.10s", r->date);
        put_text_cell(to, "", day);
        put_text_cell(to, "free", r->file);
        clv_text_put(to, "</tr>\n");
    }
    clv_text_put(to, "</tbody></table>");
    clv_page_end_scroll(to);
    for (int i = 0; i < set->count; i++)
        for (int k = 0; k < set->record[i].remarks; k++) {
            clv_text_put(to, "<p>");
            page_put_key(to, i);
            clv_text_put(to, " ");
            clv_text_put_html(to, set->record[i].remark[k]);
            clv_text_put(to, "</p>\n");
        }
    bool ceilings = false;
    for (int i = 0; i < set->count; i++)
        ceilings |= set->record[i].ceilings > 0;
    if (ceilings)
        page_put_ceilings(to, set);
}

/* What a reader came for, in sentences. */
static void put_short(clv_text *to, const compare_set *set)
{
    char number[CLV_TEXT_NUMBER];
    clv_text_put(to, "<ul class=\"plain\">\n");
    for (int i = 0; i < set->count; i++) {
        int rows, shares, pipelines;
        double operations = compare_mean(set, i, "kernels", NULL, &rows);
        double share = compare_mean_share(set, i, "kernels", &shares);
        double whole = compare_mean(set, i, "pipelines", NULL, &pipelines);
        int wanted = 0;
        clv_text_put(to, "<li>");
        page_put_key(to, i);
        clv_text_put(to, " ");
        clv_text_put_html(to, set->record[i].device.name);
        clv_text_put(to, ": ");
        if (i && pipelines) {
            clv_text_put(to, "pipelines run ");
            page_put_ratio(to, whole);
            clv_text_put(to, " as fast as on A");
            wanted++;
        }
        if (i && rows) {
            clv_text_add(to, "%s ", wanted++ ? ", operations" : "operations run");
            page_put_ratio(to, operations);
            clv_text_put(to, pipelines ? "" : " as fast as on A");
        }
        if (shares) {
            clv_text_add(to, "%soperations reach %s of their ceilings on average over %d rows",
                     wanted++ ? "; " : "", clv_text_percent(share, number), shares);
        }
        if (!wanted)
            clv_text_add(to, "%d rows%s", set->record[i].rows, i ? ", none of them in A too" : "");
        clv_text_put(to, ".</li>\n");
    }
    clv_text_put(to, "</ul>\n");
    page_put_speeds(to, set);
}

static void put_notes(clv_text *to, const compare_set *set)
{
    int unverified = 0, rates = 0, nothing = 0, alone = 0, alike = 0, variants = 0;
    for (int k = 0; k < set->lines; k++) {
        const compare_line *line = &set->line[k];
        int there = 0;
        rates += line->basis != COMPARE_SECONDS && line->basis != COMPARE_NOTHING;
        nothing += line->basis == COMPARE_NOTHING;
        for (int i = 0; i < set->count; i++) {
            there += line->row[i] != NULL;
            unverified += line->row[i] && !line->row[i]->verified;
            alike += line->alike[i];
            variants += line->more[i];
        }
        alone += there < set->count;
    }
    clv_text_put(
        to,
        "<ul>\n<li>Time is the median of the samples by the wall clock, one call. Spread is the distance "
        "between "
        "the quartiles over the median.</li>\n"
        "<li>Of roof: the share of the ceiling that bounds the row. Ceilings are measured, not taken from "
        "data "
        "sheets. Bytes are those that must cross device memory, each input read once and each output written "
        "once; a multiply-add is two operations.</li>\n");
    if (set->count > 1)
        clv_text_put(to, "<li>Speed: how many times as fast as record A, so above 1 is faster.</li>\n");
    if (alike)
        clv_text_add(
            to,
            "<li>~ stands at %d speeds where the quartiles of both sets of samples overlap: they show no "
            "difference.</li>\n",
            alike);
    if (rates)
        clv_text_add(
            to,
            "<li>* stands where sizes differ between records (%d rows). Then the time for the same work is "
            "compared: an operation where all records state operations, else a byte that must be moved, else "
            "a "
            "voxel. What a call costs at any size, and caches that hold small volumes, are in it: such "
            "speeds "
            "say less than those of equal sizes.</li>\n",
            rates);
    if (nothing)
        clv_text_add(to,
                 "<li>%d rows have other sizes in other records, and nothing says how their work grows; no "
                 "speed is "
                 "given.</li>\n",
                 nothing);
    if (alone)
        clv_text_add(to,
                     "<li>%d rows are not in every record (–): not run, or not possible, there.</li>\n",
                     alone);
    if (variants)
        clv_text_add(
            to,
            "<li>%d further variants and tiles of these rows are under “As recorded”. An operation is "
            "represented by the first, which the planner chose; a line of a paper by the one with the "
            "paper's "
            "figure, else by the fastest.</li>\n",
            variants);
    if (unverified)
        clv_text_add(
            to,
            "<li><b>!</b> stands at %d times whose results were not compared with the reference's.</li>\n",
            unverified);
    else if (set->lines)
        clv_text_put(to,
                     "<li>Every result was compared with the reference's before its time was taken.</li>\n");
    if (page_has_rooflines(set))
        clv_text_put(to,
                     "<li>Rooflines (Williams, Waterman and Patterson, 2009): the left plots have the rows "
                     "that state both "
                     "operations and bytes, the right ones those that state bytes only, under the copy's "
                     "bandwidth and, slanted, the time that the launch of a kernel takes. Rows that another "
                     "ceiling bounds, such as a copy within the host, are in neither. All records have the "
                     "same axes. A plot that is missing has no rows.</li>\n");
    clv_text_put(to,
                 "<li>Every number can be traced to the records named above, which hold each sample.</li>\n"
                 "</ul>\n");
}

/* A section with a title, a sentence (NULL: none), and what put makes of it. */
static void put_part(clv_text *to, const compare_set *set, const char *id, const char *title,
                     const char *words, void (*put)(clv_text *to, const compare_set *set))
{
    clv_text_add(to, "<section aria-labelledby=\"%s\">\n<h2 id=\"%s\">%s</h2>\n", id, id, title);
    if (words)
        clv_text_add(to, "<p class=\"light\">%s</p>\n", words);
    put(to, set);
    clv_text_put(to, "</section>\n");
}

void page_put(clv_text *to, const compare_set *set)
{
    put_head(to, set);
    put_part(to, set, "devices", "Devices", NULL, put_devices);
    if (set->lines)
        put_part(to, set, "speed", "In short", NULL, put_short);
    if (has_group(set, "pipelines"))
        put_part(to, set, "pipelines", "Pipelines",
                 set->count > 1
                     ? "Each pipeline has an axis of its own that begins at 0; shorter is faster. The "
                       "last column is the speed relative to A."
                     : NULL,
                 page_put_pipelines);
    if (has_shares(set))
        put_part(to, set, "shares", "Shares of ceilings", NULL, page_put_shares);
    if (page_has_rooflines(set))
        put_part(to, set, "roofs", "Rooflines", NULL, page_put_rooflines);
    if (has_papers(set))
        put_part(to, set, "papers", "The papers’ comparisons", NULL, page_put_papers);
    if (set->lines) {
        put_part(to, set, "lines", "All rows", NULL, page_put_lines);
        put_part(to, set, "records", "As recorded", NULL, page_put_rows);
    }
    put_part(to, set, "notes", "How to read this", NULL, put_notes);
    clv_text_put(to, "</main>\n</body>\n</html>\n");
}
