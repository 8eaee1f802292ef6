/* SPDX-License-Identifier: Apache-2.0 */
/* The comparison as text: for a terminal, and as Markdown for a README. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench/compare/compare.h"

/* Pipelines take seconds, all else is shown in milliseconds. */
static double unit_of(const char *group)
{
    return strcmp(group, "pipelines") ? 1e3 : 1;
}

static const char *unit_name(const char *group)
{
    return strcmp(group, "pipelines") ? "ms" : "s";
}

static void put_size(clv_text *to, const int *size)
{
    clv_text_add(to, "%dx%dx%d", size[0], size[1], size[2]);
}

static bool equal(const int *a, const int *b)
{
    return a && b && !memcmp(a, b, 3 * sizeof *a);
}

/* ---- a terminal --------------------------------------------------------- */

enum { TIME = 10, RATIO = 10, SHARE = 8, CEILING = 14, NAME_LEAST = 16, NAME_MOST = 46 };

/* Text at the right of so many characters. */
static void put_right(clv_text *to, const char *text, int width)
{
    clv_text_add(to, "%*s%s", width > clv_text_width(text) ? width - clv_text_width(text) : 1, "", text);
}

static int name_width(const compare_set *set)
{
    int width = NAME_LEAST;
    for (int k = 0; k < set->lines; k++) {
        int w = clv_text_width(set->line[k].name) + (compare_own_size(&set->line[k]) ? 14 : 0);
        width = w > width && w <= NAME_MOST ? w : width;
    }
    for (int i = 0; i < set->count; i++)
        for (int k = 0; k < set->record[i].ceilings; k++) {
            int w = clv_text_width(set->record[i].ceiling[k].name);
            width = w > width && w <= NAME_MOST ? w : width;
        }
    return width;
}

static void put_records(clv_text *to, const compare_set *set)
{
    for (int i = 0; i < set->count; i++) {
        const compare_record *r = &set->record[i];
        char bytes[CLV_TEXT_NUMBER];
        clv_text_add(to, "%c  %s (%s", compare_letter(i), r->device.name, r->device.type);
        if (r->device.compute_units > 0)
            clv_text_add(to, ", %.0f compute units", r->device.compute_units);
        if (r->device.global_bytes > 0)
            clv_text_add(to, ", %s", clv_text_binary(r->device.global_bytes, bytes));
        clv_text_add(to, "), %s, driver %s; clvox %s%s%.8s, %.10s, %s\n", r->device.platform,
                     r->device.driver, r->version, *r->sources ? " " : "", r->sources, r->date, r->file);
        for (int k = 0; k < r->remarks; k++)
            clv_text_add(to, "   %s\n", r->remark[k]);
    }
}

static void put_ceilings(clv_text *to, const compare_set *set, int names)
{
    char number[CLV_TEXT_NUMBER];
    bool any = false;
    for (int i = 0; i < set->count; i++)
        for (int k = 0; k < set->record[i].ceilings; k++) {
            const compare_ceiling *c = &set->record[i].ceiling[k];
            bool before = false;
            for (int j = 0; j < i; j++)
                before |= compare_find_ceiling(&set->record[j], c->name) != NULL;
            if (before || compare_find_ceiling(&set->record[i], c->name) != c)
                continue;
            if (!any) {
                size_t start = to->length;
                clv_text_put(to, "\nCeilings");
                clv_text_pad(to, start, names + 1);
                for (int j = 0; j < set->count; j++)
                    put_right(to, (char[]){compare_letter(j), 0}, CEILING);
                clv_text_put(to, "\n");
                any = true;
            }
            size_t start = to->length;
            clv_text_put(to, c->name);
            clv_text_pad(to, start, names);
            for (int j = 0; j < set->count; j++) {
                const compare_ceiling *here = compare_find_ceiling(&set->record[j], c->name);
                put_right(to, here ? clv_text_si(here->value, here->unit, number) : "-", CEILING);
            }
            clv_text_put(to, "\n");
        }
}

static void put_group_heading(clv_text *to, const compare_set *set, const char *group, int names)
{
    size_t start = to->length;
    clv_text_add(to, "\n%s, %s", compare_group_title(group), unit_name(group));
    const int *common = compare_group_size(set, group, 0);
    for (int i = 1; i < set->count; i++)
        common = equal(common, compare_group_size(set, group, i)) ? common : NULL;
    if (common) {
        clv_text_put(to, ", ");
        put_size(to, common);
    } else {
        for (int i = 0; i < set->count; i++)
            if (compare_group_size(set, group, i)) {
                clv_text_add(to, ", %c at ", compare_letter(i));
                put_size(to, compare_group_size(set, group, i));
            }
    }
    clv_text_put(to, "\n");
    start = to->length;
    clv_text_pad(to, start, names);
    for (int i = 0; i < set->count; i++) {
        char speed[16];
        put_right(to, (char[]){compare_letter(i), 0}, TIME);
        snprintf(speed, sizeof speed, "%c/A", compare_letter(i));
        if (i)
            put_right(to, speed, RATIO);
        put_right(to, "of roof", SHARE);
    }
    clv_text_put(to, "\n");
}

typedef struct marks {
    bool alike, rate, sizes, more, unverified;
} marks;

static void put_line(clv_text *to, const compare_set *set, const compare_line *line, int names,
                     marks *used)
{
    char number[CLV_TEXT_NUMBER + 4];
    size_t start = to->length;
    clv_text_put(to, line->name);
    if (compare_own_size(line)) {
        clv_text_put(to, " ");
        put_size(to, compare_own_size(line));
    }
    clv_text_pad(to, start, names);
    for (int i = 0; i < set->count; i++) {
        const compare_row *row = line->row[i];
        clv_text_rounded(row ? row->seconds * unit_of(line->group) : NAN, number);
        if (row && !row->verified) {
            strcat(number, "!");
            used->unverified = true;
        }
        put_right(to, number, TIME);
        if (i) {
            clv_text_ratio(line->speed[i], number);
            if (isfinite(line->speed[i])) {
                const char *mark = line->alike[i] ? "~" : line->by[i] != COMPARE_SECONDS ? "*" : "";
                used->alike |= line->alike[i];
                used->rate |= *mark == '*';
                strcat(number, mark);
            } else if (row && line->row[0]) {
                used->sizes = true;
                snprintf(number, sizeof number, "sizes");
            }
            put_right(to, number, RATIO);
        }
        put_right(to, clv_text_percent(row ? row->share : NAN, number), SHARE);
    }
    clv_text_put(to, "\n");
}

static void put_means(clv_text *to, const compare_set *set, const char *group, int names)
{
    char number[CLV_TEXT_NUMBER];
    int count, most = 0;
    for (int i = 0; i < set->count; i++) {
        compare_mean(set, i, group, NULL, &count);
        most = count > most ? count : most;
    }
    if (compare_group_is_paper(group) || most < 2)
        return;
    size_t start = to->length;
    clv_text_put(to, "geometric mean");
    clv_text_pad(to, start, names);
    for (int i = 0; i < set->count; i++) {
        put_right(to, "", TIME);
        if (i)
            put_right(to, clv_text_ratio(compare_mean(set, i, group, NULL, &count), number), RATIO);
        put_right(to, clv_text_percent(compare_mean_share(set, i, group, &count), number), SHARE);
    }
    clv_text_put(to, "\n");
}

/* What the paper found, below its table: once where all rows say the same. */
static void put_conclusions(clv_text *to, const compare_set *set, const char *group)
{
    const char *last = "";
    char number[CLV_TEXT_NUMBER];
    for (int k = 0; k < set->lines; k++) {
        const compare_line *line = &set->line[k];
        const compare_row *told = compare_told(set, line);
        if (strcmp(line->group, group) || !told)
            continue;
        if (isfinite(told->paper_value))
            clv_text_add(to, "  %s: the paper %.6g %s (%s)", line->name, told->paper_value, told->paper_unit,
                     told->paper_device);
        else
            clv_text_add(to, "  %s: the paper gives no figure, here %s (%s)", line->name, told->paper_unit,
                     told->paper_device);
        if (strcmp(last, told->paper_conclusion))
            clv_text_add(to, "; \"%s\"", told->paper_conclusion);
        last = told->paper_conclusion;
        for (int i = 0, said = 0; i < set->count; i++) {
            const compare_row *row = line->row[i];
            if (!row || !row->paper)
                continue;
            clv_text_add(to, "%s %c %s", said++ ? "," : ":", compare_letter(i),
                     row->paper_holds ? "holds" : "does not hold");
            if (isfinite(row->paper_here))
                clv_text_add(to, " (%s)", clv_text_rounded(row->paper_here, number));
        }
        clv_text_put(to, "\n");
    }
}

void compare_put_table(clv_text *to, const compare_set *set)
{
    int names = name_width(set);
    marks used = {0};
    put_records(to, set);
    put_ceilings(to, set, names);
    for (int k = 0; k < set->lines; k++) {
        const char *group = set->line[k].group;
        if (!k || strcmp(group, set->line[k - 1].group))
            put_group_heading(to, set, group, names);
        put_line(to, set, &set->line[k], names, &used);
        if (k + 1 == set->lines || strcmp(group, set->line[k + 1].group)) {
            put_means(to, set, group, names);
            if (compare_group_is_paper(group))
                put_conclusions(to, set, group);
        }
    }
    if (!set->lines)
        return;
    clv_text_put(to, set->count > 1 ? "\nB/A: how many times as fast as A. " : "\n");
    clv_text_put(to, "of roof: share of the ceiling that bounds the row on that device.\n");
    if (used.alike)
        clv_text_put(to, "~ the quartiles of the samples overlap: no difference is shown.\n");
    if (used.rate)
        clv_text_put(
            to,
            "* sizes differ: time for the same work (operations, else bytes, else voxels) is compared.\n");
    if (used.sizes)
        clv_text_put(to, "sizes: they differ, and nothing says how the work grows with them.\n");
    if (used.unverified)
        clv_text_put(to, "! the result was not compared with the reference's.\n");
}

/* ---- a README ----------------------------------------------------------- */

/* A ceiling by the first of some names that the record has. */
static void put_ceiling_cell(clv_text *to, const compare_record *record, const char *const *names)
{
    char number[CLV_TEXT_NUMBER];
    const compare_ceiling *c = NULL;
    for (; *names && !c; names++)
        c = compare_find_ceiling(record, *names);
    clv_text_add(to, " %s |", c ? clv_text_si(c->value, c->unit, number) : "-");
}

static bool is_pipeline(const compare_line *line)
{
    return !strcmp(line->group, "pipelines") && !compare_is_stage(line);
}

void compare_put_markdown_devices(clv_text *to, const compare_set *set)
{
    char number[CLV_TEXT_NUMBER];
    int count;
    clv_text_put(to, "| device | driver | clvox | date | copy | fp32 | operations, mean share |");
    for (int k = 0; k < set->lines; k++)
        if (is_pipeline(&set->line[k])) {
            clv_text_put(to, " ");
            clv_text_put_markdown(to, set->line[k].name);
            if (set->line[k].size) {
                clv_text_put(to, " ");
                put_size(to, set->line[k].size);
            }
            clv_text_put(to, " |");
        }
    clv_text_put(to, "\n|---|---|---|---|---|---|---|");
    for (int k = 0; k < set->lines; k++)
        if (is_pipeline(&set->line[k]))
            clv_text_put(to, "---|");
    clv_text_put(to, "\n");
    for (int i = 0; i < set->count; i++) {
        const compare_record *r = &set->record[i];
        char day[16];
        clv_text_put(to, "| ");
        clv_text_put_markdown(to, r->device.name);
        clv_text_put(to, " | ");
        clv_text_put_markdown(to, r->device.platform);
        clv_text_put(to, " ");
        clv_text_put_markdown(to, r->device.driver);
        clv_text_put(to, " | ");
        clv_text_put_markdown(to, r->version);
        clv_text_add(to, "%s%.8s", *r->sources ? " " : "", r->sources);
        clv_text_put(to, " | ");
        snprintf(day, sizeof day, "%.10s", r->date);
        clv_text_put_markdown(to, day);
        clv_text_put(to, " |");
        put_ceiling_cell(to, r, (const char *const[]){"copy", NULL});
        put_ceiling_cell(to, r, (const char *const[]){"multiply-add fp32", NULL});
        double share = compare_mean_share(set, i, "kernels", &count);
        clv_text_add(to, " %s |", clv_text_percent(share, number));
        for (int k = 0; k < set->lines; k++)
            if (is_pipeline(&set->line[k])) {
                const compare_row *row = set->line[k].row[i];
                clv_text_add(to, " %s", clv_text_rounded(row ? row->seconds : NAN, number));
                clv_text_put(to, row ? " s" : "");
                if (row && !set->line[k].size) {
                    clv_text_put(to, " (");
                    put_size(to, row->size);
                    clv_text_put(to, ")");
                }
                clv_text_put(to, " |");
            }
        clv_text_put(to, "\n");
    }
}

/* The end of a table's first row, a cell a record, and the line below; `first`: cells before them. */
static void put_markdown_devices_of(clv_text *to, const compare_set *set, const char *group, int first)
{
    for (int i = 0; i < set->count; i++) {
        clv_text_put(to, " ");
        clv_text_put_markdown(to, set->record[i].device.name);
        clv_text_put(to, ", ");
        clv_text_put_markdown(to, set->record[i].device.platform);
        const int *size = compare_group_size(set, group, i);
        if (size) {
            clv_text_put(to, ", ");
            put_size(to, size);
        }
        clv_text_put(to, " |");
    }
    clv_text_put(to, "\n|");
    for (int i = 0; i < first + set->count; i++)
        clv_text_put(to, "---|");
    clv_text_put(to, "\n");
}

void compare_put_markdown_rows(clv_text *to, const compare_set *set)
{
    char number[CLV_TEXT_NUMBER];
    for (int k = 0; k < set->lines; k++) {
        const compare_line *line = &set->line[k];
        if (!k || strcmp(line->group, set->line[k - 1].group)) {
            clv_text_add(to, "%s| %s |", k ? "\n" : "", unit_name(line->group));
            put_markdown_devices_of(to, set, line->group, 1);
        }
        clv_text_put(to, "| ");
        clv_text_put_markdown(to, line->name);
        for (int i = 0; i < set->count; i++) {
            const compare_row *row = line->row[i];
            clv_text_add(to, " | %s",
                         clv_text_rounded(row ? row->seconds * unit_of(line->group) : NAN, number));
            if (row && isfinite(row->share))
                clv_text_add(to, " (%s)", clv_text_percent(row->share, number));
        }
        clv_text_put(to, " |\n");
    }
}

void compare_put_markdown_papers(clv_text *to, const compare_set *set)
{
    char number[CLV_TEXT_NUMBER];
    const char *group = "";
    for (int k = 0; k < set->lines; k++) {
        const compare_line *line = &set->line[k];
        const compare_row *told = compare_told(set, line);
        if (!told)
            continue;
        if (strcmp(line->group, group)) {
            clv_text_put(to, *group ? "\n| " : "| ");
            clv_text_put_markdown(to, compare_group_title(line->group));
            clv_text_put(to, " | conclusion | figure there |");
            put_markdown_devices_of(to, set, line->group, 3);
            group = line->group;
        }
        clv_text_put(to, "| ");
        clv_text_put_markdown(to, line->name);
        clv_text_put(to, " | ");
        clv_text_put_markdown(to, told->paper_conclusion);
        if (isfinite(told->paper_value))
            clv_text_add(to, " | %.3g ", told->paper_value);
        else
            clv_text_put(to, " | none; here ");
        clv_text_put_markdown(to, told->paper_unit);
        clv_text_put(to, ", ");
        clv_text_put_markdown(to, told->paper_device);
        clv_text_put(to, " |");
        for (int i = 0; i < set->count; i++) {
            const compare_row *row = line->row[i];
            if (!row || !row->paper)
                clv_text_put(to, " - |");
            else if (isfinite(row->paper_here))
                clv_text_add(to, " %s: %s |", clv_text_rounded(row->paper_here, number),
                             row->paper_holds ? "yes" : "no");
            else
                clv_text_put(to, row->paper_holds ? " yes |" : " no |");
        }
        clv_text_put(to, "\n");
    }
}
