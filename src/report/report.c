/* SPDX-License-Identifier: Apache-2.0 */
#include "report/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "clvox/files.h"
#include "report/page.h"

enum { SENTENCE = 28 };      /* characters of a field that may be broken into lines */
enum { PICTURES = 5400000 }; /* bytes of the images that are leafed through: the page stays below 6 MB */

/* ---- text ---------------------------------------------------------------- */

void clv_report_put(clv_text *to, const char *text)
{
    char *utf8 = clvox_text_utf8(text ? text : "");
    if (!utf8) {
        to->failed = true;
        return;
    }
    for (char *at = utf8; *at; at++)
        if (((unsigned char)*at < ' ' && *at != '\n' && *at != '\t') || *at == 0x7F)
            *at = '?';
    clv_text_put_html(to, utf8);
    free(utf8);
}

void clv_report_fail(clvox_report *report, int status, const char *sentence)
{
    if (report->status < 0)
        return;
    report->status = status;
    snprintf(report->message, sizeof report->message, "%s", sentence);
}

static const char *const ends[] = {"", "</dl>\n", "</tbody></table></div>\n",
                                   "</div>\n"}; /* by what is open */

clv_text *clv_report_body(clvox_report *report)
{
    if (report->status < 0)
        return NULL;
    clv_text_put(&report->body, ends[report->open]);
    report->open = CLV_OPEN_NOTHING;
    return &report->body;
}

clv_text *clv_report_plots(clvox_report *report)
{
    if (report->open == CLV_OPEN_PLOTS || !clv_report_body(report))
        return report->open == CLV_OPEN_PLOTS ? &report->body : NULL;
    clv_text_put(&report->body, "<div class=\"columns\">\n");
    report->open = CLV_OPEN_PLOTS;
    return &report->body;
}

int clvox_report_create(const char *title, clvox_report **out)
{
    CLV_GIVEN(title, out);
    *out = calloc(1, sizeof **out);
    if (!*out)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory for the page");
    clv_report_put(&(*out)->title, title);
    return CLVOX_OK;
}

void clvox_report_destroy(clvox_report **report)
{
    clvox_report *r = report ? *report : NULL;
    if (!r)
        return;
    for (int i = 0; i < r->viewers; i++)
        for (int k = 0; k < r->viewer[i].layers; k++)
            free((char *)r->viewer[i].layer[k].name);
    for (int i = 0; i < r->name_count; i++)
        free(r->names[i].name);
    free(r->names);
    free(r->title.data);
    free(r->warnings.data);
    free(r->links.data);
    free(r->body.data);
    free(r->icon);
    free(r);
    *report = NULL;
}

void clvox_report_warn(clvox_report *report, const char *sentence)
{
    CLV_GIVEN_OR(, report, sentence);
    clv_text_put(&report->warnings, "<li>");
    clv_report_put(&report->warnings, sentence);
    clv_text_put(&report->warnings, "</li>\n");
}

void clvox_report_section(clvox_report *report, const char *heading)
{
    CLV_GIVEN_OR(, report, heading);
    clv_text *to = clv_report_body(report);
    if (!to)
        return;
    report->sections++;
    clv_text_add(to, "<h2 id=\"s%d\">", report->sections);
    clv_report_put(to, heading);
    clv_text_put(to, "</h2>\n");
    clv_text_add(&report->links, "<a href=\"#s%d\">", report->sections);
    clv_report_put(&report->links, heading);
    clv_text_put(&report->links, "</a>");
}

static void put_element(clvox_report *report, const char *opens, const char *text, const char *ends_with)
{
    clv_text *to = clv_report_body(report);
    if (!to)
        return;
    clv_text_put(to, opens);
    clv_report_put(to, text);
    clv_text_put(to, ends_with);
}

void clv_report_group(clvox_report *report, const char *heading)
{
    put_element(report, "<h3>", heading, "</h3>\n");
}

void clv_report_verdict(clvox_report *report, const char *sentence)
{
    put_element(report, "<p class=\"verdict\">", sentence, "</p>\n");
}

void clv_report_command(clvox_report *report, const char *line)
{
    clv_text *to = clv_report_body(report);
    char *copy = strdup(line), *rest = copy;
    report->commanded = true;
    if (to && copy) {
        clv_text_put(to, "<div class=\"command\"><pre><code>");
        for (const char *word; (word = strsep(&rest, " "));) { /* browsers break lines within an --option */
            clv_text_put(to, "<span>");
            clv_report_put(to, word);
            clv_text_put(to, rest ? "</span> " : "</span>");
        }
        clv_text_put(to, "</code></pre><button type=\"button\" hidden>Copy</button></div>\n");
    }
    report->body.failed = report->body.failed || !copy;
    free(copy);
}

void clvox_report_text(clvox_report *report, const char *text)
{
    CLV_GIVEN_OR(, report, text);
    put_element(report, "<p>", text, "</p>\n");
}

void clvox_report_fact(clvox_report *report, const char *name, const char *value)
{
    CLV_GIVEN_OR(, report, name, value);
    if (report->open != CLV_OPEN_FACTS && clv_report_body(report)) {
        clv_text_put(&report->body, "<dl class=\"facts\">\n");
        report->open = CLV_OPEN_FACTS;
    }
    clv_text_put(&report->body, "<div><dt>");
    clv_report_put(&report->body, name);
    clv_text_put(&report->body, "</dt><dd>");
    clv_report_put(&report->body, value);
    clv_text_put(&report->body, "</dd></div>\n");
}

/* ---- tables -------------------------------------------------------------- */

void clvox_report_table(clvox_report *report, const char *caption, const char *const *columns, int count)
{
    CLV_GIVEN_OR(, report, caption);
    clv_text *to = clv_report_body(report);
    if (!to)
        return;
    if (count < 1) {
        clv_report_fail(report, CLVOX_ERROR_ARGUMENT, "a table needs a column");
        return;
    }
    clv_page_begin_scroll(to, "Table");
    clv_text_put(to, "<table>\n<caption><span>");
    clv_report_put(to, caption);
    clv_text_put(to, "</span></caption>\n<thead><tr>");
    for (int c = 0; c < count; c++) {
        clv_text_put(to, "<th scope=\"col\" class=\" ");
        if (c < CLV_REPORT_HEADINGS)
            report->heading[c] = to->length - 1;
        clv_text_put(to, "\">");
        clv_report_put(to, columns[c]);
        clv_text_put(to, "</th>");
    }
    clv_text_put(to, "</tr></thead>\n<tbody>\n");
    report->columns = count;
    report->open = CLV_OPEN_TABLE;
}

static bool is_number(const char *text)
{
    char *end;
    if (!text || !*text)
        return false;
    strtod(text, &end);
    return !*end && text[strspn(text, "-+.0123456789e")] == 0;
}

void clvox_report_row(clvox_report *report, const clvox_report_cell *cells)
{
    CLV_GIVEN_OR(, report, cells);
    clv_text *to = &report->body;
    if (report->open != CLV_OPEN_TABLE) {
        clv_report_fail(report, CLVOX_ERROR_ARGUMENT, "a row belongs to a table");
        return;
    }
    clv_text_put(to, "<tr>");
    for (int c = 0; c < report->columns; c++) {
        const clvox_report_cell *cell = &cells[c];
        const bool sentence = cell->text && strlen(cell->text) > SENTENCE;
        if (is_number(cell->text) && c > 0 && c < CLV_REPORT_HEADINGS && !to->failed)
            to->data[report->heading[c]] = 'n';
        clv_text_add(to, "<%s%s>", c ? "td" : "th scope=\"row\"",
                 is_number(cell->text) ? " class=\"n\""
                 : sentence            ? " class=\"wide\""
                                       : "");
        if (cell->link) {
            clv_text_put(to, "<a href=\"");
            clv_report_put(to, cell->link);
            clv_text_put(to, "\">");
        }
        if (cell->thumbnail) {
            clv_text_put(to, "<img class=\"thumbnail\" loading=\"lazy\" alt=\"\" src=\"");
            clv_report_put(to, cell->thumbnail);
            clv_text_put(to, "\">");
        }
        clv_report_put(to, cell->text);
        clv_text_add(to, "%s</%s>", cell->link ? "</a>" : "", c ? "td" : "th");
    }
    clv_text_put(to, "</tr>\n");
}

/* ---- images and the icon ------------------------------------------------- */

static const char *wrong_layers(const clvox_report_layer *layers, int count)
{
    if (count < 1 || count > CLVOX_REPORT_LAYERS || layers[0].look > CLVOX_REPORT_COLOUR)
        return "the first of 1 to 12 layers is an image";
    for (int i = 0; i < count; i++)
        if (!layers[i].volume || !layers[i].name ||
            (layers[i].look == CLVOX_REPORT_COLOUR && layers[i].volume->frames < 3))
            return "a layer needs a name and a volume, of 3 frames where it is coloured";
    return NULL;
}

void clvox_report_images(clvox_report *report, const clvox_report_layer *layers, int count,
                         const clvox_volume *mask)
{
    CLV_GIVEN_OR(, report, layers);
    clv_text *to = clv_report_body(report);
    const char *wrong = wrong_layers(layers, count);
    if (!to)
        return;
    if (!wrong && report->viewers == CLV_REPORT_VIEWERS)
        wrong = "a page has room for four sets of images";
    if (wrong) {
        clv_report_fail(report, CLVOX_ERROR_ARGUMENT, wrong);
        return;
    }
    clv_viewer *v = &report->viewer[report->viewers];
    report->place[report->viewers++] = to->length;
    v->mask = mask;
    for (int i = 0; i < count; i++) {
        v->layer[i] = layers[i];
        v->layer[v->layers++].name = clvox_text_utf8(layers[i].name);
        if (!v->layer[i].name)
            clv_report_fail(report, CLVOX_ERROR_MEMORY, "out of host memory for the page");
    }
}

void clvox_report_label(clvox_report *report, int64_t label, const char *name)
{
    CLV_GIVEN_OR(, report, name);
    clv_viewer_name *more = realloc(report->names, ((size_t)report->name_count + 1) * sizeof *more);
    if (more) {
        report->names = more;
        more[report->name_count] = (clv_viewer_name){label, clvox_text_utf8(name)};
    }
    if (!more || !more[report->name_count].name)
        clv_report_fail(report, CLVOX_ERROR_MEMORY, "out of host memory for the page");
    else
        report->name_count++;
}

void clvox_report_icon(clvox_report *report, const char *thumbnail)
{
    CLV_GIVEN_OR(, report, thumbnail);
    free(report->icon);
    report->icon = strdup(thumbnail);
    if (!report->icon)
        clv_report_fail(report, CLVOX_ERROR_MEMORY, "out of host memory for the page");
}

static const char icon_begins[] = "<link rel=\"icon\" href=\"";

int clvox_report_icon_of(const char *path, char **out)
{
    CLV_GIVEN(path, out);
    enum { HEAD = 1 << 18 }; /* the icon stands before anything that may be long */
    int status = CLVOX_OK;
    char *head = calloc(HEAD + 1, 1);
    FILE *file = head ? fopen(path, "rb") : NULL;
    *out = NULL;
    if (!head)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory for a page");
    if (file) {
        size_t got = fread(head, 1, HEAD, file);
        head[got] = 0;
        fclose(file);
    }
    char *at = strstr(head, icon_begins), *end = at ? strchr(at += sizeof icon_begins - 1, '"') : NULL;
    if (end && !strncmp(at, "data:image/", 11)) {
        *out = strndup(at, (size_t)(end - at));
        if (!*out)
            status = clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory for a page");
    }
    free(head);
    return status;
}

/* ---- the file ------------------------------------------------------------ */

static void put_head(clv_text *to, const clvox_report *r)
{
    clv_text_put(to, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                 "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
                 "'unsafe-inline'; "
                 "script-src 'unsafe-inline'; img-src data:\">\n"
                 "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
    clv_text_put(to, icon_begins);
    clv_report_put(to, r->icon ? r->icon : "data:,");
    clv_text_put(to, "\">\n<title>");
    clv_text_put(to, r->title.data ? r->title.data : "");
    clv_text_put(to, "</title>\n<style>\n");
    clv_text_put(to, clv_page_style);
    clv_text_put(to, clv_viewer_style);
    clv_text_put(to, "</style>\n</head>\n<body>\n<header>\n<h1>");
    clv_text_put(to, r->title.data ? r->title.data : "");
    clv_text_put(to, "</h1>\n");
    if (r->links.length) {
        clv_text_put(to, "<nav aria-label=\"Sections\">");
        clv_text_put(to, r->links.data);
        clv_text_put(to, "</nav>\n");
    }
    clv_text_put(to, "</header>\n<main>\n");
    if (r->warnings.length) {
        clv_text_put(to,
                     "<section class=\"warnings\" aria-label=\"Warnings\"><h2>Look here first</h2>\n<ul>\n");
        clv_text_put(to, r->warnings.data);
        clv_text_put(to, "</ul></section>\n");
    }
}

static void put_part(clv_text *to, const clv_text *body, size_t from, size_t until)
{
    if (until > from)
        clv_text_add(to, "%.*s", (int)(until - from), body->data + from);
}

int clvox_report_write(const clvox_report *report, const char *path)
{
    CLV_GIVEN(report, path);
    int status =
        report->status < 0 ? clvox_fail((clvox_status)report->status, "%s", report->message) : CLVOX_OK;
    clv_text page = {.data = NULL};
    size_t from = 0;
    CLV_TRY(status);
    put_head(&page, report);
    for (int i = 0; i < report->viewers; from = report->place[i++]) {
        put_part(&page, &report->body, from, report->place[i]);
        CLV_TRY(clv_viewer_put(&page, &report->viewer[i], report->names, report->name_count,
                               PICTURES / (size_t)report->viewers));
    }
    put_part(&page, &report->body, from, report->body.length);
    clv_text_put(&page, ends[report->open]);
    clv_text_put(&page, "</main>\n");
    if (report->viewers || report->commanded) {
        clv_text_put(&page, "<script>\n");
        clv_text_put(&page, clv_viewer_script);
        clv_text_put(&page, "</script>\n");
    }
    clv_text_put(&page, "</body>\n</html>\n");
    if (page.failed || report->body.failed || report->links.failed || report->warnings.failed ||
        report->title.failed)
        status = clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory for the page");
    CLV_TRY(status);
    status = clvox_file_write(path, page.data, page.length);
end:
    free(page.data);
    return status < 0 && status != CLVOX_ERROR_FILE ? clvox_fail_in(status, path) : status;
}

const char *const clv_viewer_style =
    ".warnings{border:2px solid var(--bad);border-radius:6px;padding:.2rem 1rem .4rem;margin:1.2rem 0}"
    ".warnings h2{border:0;margin:.4rem 0 0;padding:0;color:var(--bad);font-size:1.1rem}\n"
    ".verdict{font-size:1.1rem;font-weight:600;margin:.8rem 0}"
    ".command{display:flex;gap:.6rem;align-items:flex-start;background:var(--panel);border:1px solid "
    "var(--line);border-radius:5px;padding:.5rem .7rem;margin:.8rem 0;break-inside:avoid}"
    ".command pre{margin:0;flex:1 1 auto;min-width:0;white-space:pre-wrap;overflow-wrap:anywhere;"
    "font:.85rem/1.5 ui-monospace,'DejaVu Sans Mono',monospace}"
    ".command span{display:inline-block;max-width:100%}.command "
    "button{font:inherit;font-size:.85rem;color:var(--ink);background:var(--bg);border:1px solid "
    "var(--soft);border-radius:4px;padding:.15rem .7rem;cursor:pointer}\n"
    ".facts{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,19rem),1fr));gap:.1rem "
    "2rem;margin:.8rem 0;"
    "font-size:.88rem;font-variant-numeric:tabular-nums}"
    ".facts div{display:flex;justify-content:space-between;gap:1rem;border-bottom:1px solid "
    "var(--faint);break-inside:avoid}"
    ".facts dt{color:var(--soft);flex:0 0 auto;max-width:60%}.facts "
    "dd{margin:0;text-align:right;overflow-wrap:anywhere;min-width:4ch}\n"
    ".viewer{margin:1rem 0}.still{display:block;margin:0}.still "
    "img{width:100%;max-width:1120px;background:#000}"
    ".live .still{display:none}\n"
    ".controls{display:flex;flex-wrap:wrap;gap:.5rem .8rem;margin:0 0 .8rem}"
    "fieldset{border:1px solid var(--line);border-radius:5px;padding:.1rem .7rem "
    ".4rem;margin:0;display:flex;flex-wrap:wrap;"
    "gap:.1rem .9rem;min-width:0;align-items:center}legend{font-size:.8rem;color:var(--soft);padding:0 .3rem}"
    ".controls label{white-space:nowrap;padding:.2rem 0}\n"
    ".scale{display:inline-flex;align-items:center;gap:.4rem;font-size:.85rem}.colors{display:inline-block;"
    "width:8rem;"
    "height:.9rem;border:1px solid var(--line)}\n"
    ".planes{display:flex;gap:12px;align-items:flex-start}.plane{flex:1 1 0;min-width:0;position:relative}"
    ".tip{position:absolute;pointer-events:none;transform:translateY(-50%);"
    "background:var(--panel);color:var(--ink);border:1px solid var(--line);border-radius:4px;padding:.1rem "
    ".5rem;font-size:.85rem;max-width:16rem;"
    "overflow-wrap:anywhere}.swatch:not([hidden]){display:inline-block;width:.8em;height:.8em;"
    "border:1px solid "
    "var(--line);margin-right:.3em;vertical-align:-.05em}.here{display:block;min-height:1.5em;font-size:."
    "9rem;margin:.3rem 0}"
    ".plane canvas{display:block;width:100%;background:#000;touch-action:pan-y;cursor:crosshair}"
    ".plane input{width:100%;margin:.4rem 0 0}.plane output{display:block;font-size:.85rem;color:var(--soft);"
    "font-variant-numeric:tabular-nums}\n"
    "canvas:focus-visible,input:focus-visible,select:focus-visible,button:focus-visible,a:focus-visible{"
    "outline:3px solid "
    "var(--c0);"
    "outline-offset:2px}\n"
    ".keys{font-size:.85rem;max-width:none}"
    "td.wide,tbody th{overflow-wrap:anywhere}.thumbnail{display:block;height:84px;width:auto;background:#000}"
    "tbody .n{text-align:right}tbody th.n{text-align:left;min-width:0}\n"
    "figure.plot{margin:1rem 0;max-width:560px}figure.plot "
    "figcaption{color:var(--ink);font-size:.9rem;font-weight:600;margin:0 0 .2rem}"
    ".carpet{margin:1rem 0}.carpet figcaption{color:var(--ink);font-weight:600}.carpet "
    "img{width:100%;max-width:620px;"
    "height:240px;image-rendering:pixelated;border:1px solid var(--line)}"
    ".bar{fill:var(--c0)}.curve{fill:none;stroke-width:1.8}"
    ".k0{stroke:var(--c0)}.k1{stroke:var(--c1)}.k2{stroke:var(--c2)}.k3{stroke:var(--c3)}.k4{stroke:var(--c4)"
    "}"
    ".k5{stroke:var(--c5)}.k6{stroke:var(--c6)}.k7{stroke:var(--c7)}\n"
    "@media (max-width:700px){body{padding:1.2rem 14px "
    "3rem}.planes{flex-direction:column;gap:1.2rem}.plane{width:100%}"
    ".thumbnail{height:56px}tbody th{min-width:5.5rem}thead th{white-space:normal}th,td{padding:.24rem .3rem}"
    ".controls{gap:.3rem .5rem}fieldset{padding:0 .5rem .2rem;gap:0 .7rem}.colors{width:5rem}.controls "
    "input[type=range]{width:6rem}}\n"
    "@media print{.command button{display:none}.live .still{display:block}.live "
    ".stage{display:none}.warnings{break-inside:avoid}"
    ".still img{max-height:100mm;width:auto;max-width:100%}"
    "table:not(:has(tbody tr:nth-child(13))){break-inside:avoid}}\n";
