/* SPDX-License-Identifier: Apache-2.0 */
/* DIR/report.html: the template, its rounds, and every subject on it. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cmd_atlas/atlas.h"
#include "cli/cmd_register/report.h"
#include "cli/page.h"
#include "clvox/command/label_names.h"

enum { THUMBNAILS = 400, SHOWN = 2 }; /* pictures of subjects; subjects to leaf through beside the template */

/* Sources of a page. */
typedef struct sheet {
    command *cli;
    const cli_atlas_request *r;
    int at;
    const clvox_atlas_result *result;
    const int *order; /* of the subjects, the least like the template first */
    clvox_volume *subject[SHOWN], *change;
    char name[SHOWN][192];
    clvox_report *page;
} sheet;

/* A subject's image on the template's grid. What another process of a team has is read. */
static int bring(const sheet *s, int subject, clvox_volume **out)
{
    int status = CLVOX_OK;
    char path[PATH_MAX];
    const clvox_atlas_map *m = &s->result->map[subject];
    const cli_atlas_entry *e = &s->r->entry[subject];
    clvox_transform affine = {.is_warp = 0}, own = {.is_warp = 1, .warp = m->warp}, *read = NULL;
    clvox_volume *image = NULL;
    memcpy(affine.matrix, m->matrix, sizeof affine.matrix);
    if (!e->volume)
        CLI_TRY(clvox_volume_read(e->file->image, &image));
    if (s->r->warps && !m->warp)
        CLI_TRY(clvox_transform_read(cli_atlas_map_path(s->r, subject, CLI_ATLAS_WARP, s->at, path), &read));
    const clvox_link links[2] = {{s->r->warps ? (read ? read : &own) : &affine, 0}, {&affine, 0}};
    status = clvox_apply(s->cli->ctx, image ? image : e->volume, &s->result->average->grid, links,
                         s->r->warps ? 2 : 1, CLVOX_INTERPOLATE_LINEAR, 0, out);
end:
    clvox_transform_destroy(&read);
    clvox_volume_destroy(&image);
    return status;
}

static int put_images(sheet *s)
{
    int status = CLVOX_OK, count = 0, subjects = 0;
    char path[PATH_MAX];
    static const char *const channels[CLVOX_ATLAS_CHANNELS - 1] = {
        "template, channel 2", "template, channel 3", "template, channel 4"};
    clvox_report_layer layer[3 + CLVOX_ATLAS_CHANNELS - 1 + SHOWN];
    layer[count++] = (clvox_report_layer){"template", s->result->average, CLVOX_REPORT_GREY, 0};
    for (int c = 1; c < s->r->channels; c++)
        layer[count++] =
            (clvox_report_layer){channels[c - 1], s->result->further[c - 1], CLVOX_REPORT_GREY, 0};
    for (int k = 0; k < s->r->count && subjects < SHOWN; k++) {
        const clvox_atlas_map *m = &s->result->map[s->order[k]];
        const cli_atlas_entry *e = &s->r->entry[s->order[k]];
        if (!(m->share > 0))
            continue;
        CLI_TRY(bring(s, s->order[k], &s->subject[subjects]));
        snprintf(s->name[subjects], sizeof s->name[subjects], "%.180s", e->file->name);
        layer[count++] = (clvox_report_layer){s->name[subjects], s->subject[subjects], CLVOX_REPORT_GREY, 0};
        subjects++;
    }
    if (s->result->labels)
        layer[count++] = (clvox_report_layer){"labels", s->result->labels, CLVOX_REPORT_OUTLINES, 0};
    if (s->r->warps) {
        CLI_TRY(
            clvox_volume_read(cli_atlas_path(s->r, CLI_ATLAS_MEAN_LOG_JACOBIAN, s->at, path), &s->change));
        layer[count++] = (clvox_report_layer){"mean log Jacobian", s->change, CLVOX_REPORT_SIGNED, 1};
    }
    clvox_report_section(s->page, "Template");
    clvox_report_images(s->page, layer, count, NULL);
    clvox_report_text(s->page, "Beside the template: the subjects that are least like it.");
end:
    return status;
}

/* A figure of every round. */
static void put_rounds(clvox_report *page, const clvox_atlas_result *result)
{
    enum { FIGURES = 5 };
    static const char *const names[FIGURES] = {
        "Change of the template, rms over its rms", "Sharpness: rms gradient over rms",
        "Spread of the subjects' maps", "Mean map that was removed", "Mean map that remains"};
    static const char *const units[FIGURES] = {"share", "1/mm", "mm", "voxels", "voxels"};
    double *x = calloc((size_t)result->rounds + 1, (FIGURES + 1) * sizeof *x),
           *y = x + result->rounds + 1;
    clvox_report_section(page, "Rounds");
    for (int k = 0; x && k < FIGURES; k++) {
        for (int i = 0; i < result->rounds; i++) {
            const clvox_atlas_round *round = &result->round[i];
            const double figures[FIGURES] = {round->change, round->sharpness, round->spread_mm,
                                             round->removed_voxels, round->left_voxels};
            x[i] = i + 1;
            y[i] = figures[k];
        }
        const clvox_report_curve curve = {names[k], x, y, result->rounds};
        clvox_report_curves(page, names[k], "round", units[k], &curve, 1);
    }
    free(x);
}

static int put_subjects(sheet *s)
{
    static const char *const columns[] = {"subject", "likeness",   "displacement mm",
                                          "share",   "suspicions", "image"};
    int status = CLVOX_OK, shown = 0;
    clvox_volume *brought = NULL;
    char *thumbnail = NULL;
    clvox_report_section(s->page, "Subjects");
    clvox_report_text(s->page, "Every subject on the template, with the edges of the template.");
    clvox_report_table(s->page, "The least like the template first; likeness is the squared correlation",
                       columns, 6);
    for (int k = 0; k < s->r->count; k++) {
        const clvox_atlas_map *m = &s->result->map[s->order[k]];
        const cli_atlas_entry *e = &s->r->entry[s->order[k]];
        char likeness[32], displacement[32], share[32], doubts[128];
        if (!(m->share > 0))
            continue;
        if (shown++ < THUMBNAILS) {
            CLI_TRY(bring(s, s->order[k], &brought));
            CLI_TRY(clvox_report_thumbnail(brought, s->result->average, NULL, &thumbnail));
            clvox_volume_destroy(&brought);
        }
        snprintf(likeness, sizeof likeness, "%.4f", m->likeness);
        snprintf(displacement, sizeof displacement, "%.3f", m->displacement_mm);
        snprintf(share, sizeof share, "%.4g", m->share);
        const clvox_report_cell cells[] = {{.text = e->file->name, .thumbnail = thumbnail},
                                           {.text = likeness},
                                           {.text = displacement},
                                           {.text = share},
                                           {.text = cli_register_suspicions(m->suspicions, doubts)},
                                           {.text = e->file->image}};
        clvox_report_row(s->page, cells);
        free(thumbnail);
        thumbnail = NULL;
    }
end:
    clvox_volume_destroy(&brought);
    free(thumbnail);
    return status;
}

/* "3 subjects; the least like the template is s3, with a squared correlation of 0.97. 1 looks wrong." */
static void put_verdict(sheet *s)
{
    char text[320], likeness[32] = "", doubts[64] = "Nothing suspicious.";
    int wrong = 0, last = -1;
    for (int k = s->r->count - 1; k >= 0; k--) {
        const clvox_atlas_map *m = &s->result->map[s->order[k]];
        if (!(m->share > 0))
            continue;
        wrong += m->suspicions != 0;
        last = s->order[k];
    }
    if (wrong)
        snprintf(doubts, sizeof doubts, wrong == 1 ? "One subject looks wrong." : "%d subjects look wrong.",
                 wrong);
    if (last >= 0)
        snprintf(likeness, sizeof likeness, "%.3f", s->result->map[last].likeness);
    snprintf(text, sizeof text, "%s The least like the template is %.160s: squared correlation %s.", doubts,
             last >= 0 ? s->r->entry[last].file->name : "no subject", last >= 0 ? likeness : "unknown");
    clvox_page_verdict(s->page, text);
}

/* A row a label: the first scan against the last. */
static int put_change(const sheet *s)
{
    int status = CLVOX_OK;
    static const char *const columns[] = {"label", "first, ml", "last, ml", "change, ml", "change, %"};
    cli_atlas_change c;
    char **names = NULL;
    if (!cli_atlas_has_change(s->r) || !s->result->labels)
        return CLVOX_OK;
    CLI_TRY(cli_atlas_change_measure(s->r, s->at, s->result, &c));
    if (s->r->names)
        status = clvox_label_names_read(s->r->names, c.label, c.labels, &names);
    const double *first = c.mm3 + (size_t)cli_atlas_change_scan(&c, false) * (size_t)c.labels;
    const double *last = c.mm3 + (size_t)cli_atlas_change_scan(&c, true) * (size_t)c.labels;
    clvox_report_section(s->page, "Change");
    clvox_report_table(s->page, "Volumes in the last scan against the first; change.tsv has all scans",
                       columns, 5);
    for (int k = 0; k < c.labels; k++) {
        char text[5][32];
        clvox_report_cell cells[5];
        snprintf(text[0], sizeof *text, "%lld", (long long)c.label[k].label);
        snprintf(text[1], sizeof *text, "%.3f", first[k] / 1000);
        snprintf(text[2], sizeof *text, "%.3f", last[k] / 1000);
        snprintf(text[3], sizeof *text, "%.3f", (last[k] - first[k]) / 1000);
        snprintf(text[4], sizeof *text, "%.2f", 100 * (last[k] / first[k] - 1));
        for (int i = 0; i < 5; i++)
            cells[i] = (clvox_report_cell){.text = !i && names && names[k] ? names[k] : text[i]};
        clvox_report_row(s->page, cells);
    }
    clvox_label_names_free(&names, c.labels);
    cli_atlas_change_free(&c);
end:
    return status;
}

int cli_atlas_page(command *cli, const cli_atlas_request *r, int at, const clvox_atlas_options *o,
                   const clvox_atlas_result *result)
{
    int status = CLVOX_OK;
    char path[PATH_MAX], title[256];
    int *order = cli_atlas_order(r, result);
    clvox_atlas_options defaults;
    sheet s = {.cli = cli, .r = r, .at = at, .result = result, .order = order};
    cli_atlas_path(r, CLI_ATLAS_PAGE, at, path);
    if (!order)
        return clvox_fail(CLVOX_ERROR_MEMORY, "%s: out of host memory", path);
    if (r->ats)
        snprintf(title, sizeof title, "Template of %d subjects, %s %s", r->count, r->regress, r->at_name[at]);
    else
        snprintf(title, sizeof title, "Template of %d subjects", r->count);
    CLI_TRY(cli_page_begin(cli, title, &s.page));
    if (r->names)
        CLI_TRY(clvox_label_names_show(r->names, s.page));
    put_verdict(&s);
    CLI_TRY(put_images(&s));
    put_rounds(s.page, result);
    CLI_TRY(put_change(&s));
    CLI_TRY(put_subjects(&s));
    clvox_atlas_defaults(&defaults);
    clvox_page_options(s.page, cli->log,
                       (clvox_page_set[2]){{NULL, clvox_atlas_table(), o, &defaults},
                                           {"registration", clvox_register_table(), &o->registration,
                                            &defaults.registration}},
                       2);
end:
    status = cli_page_end(cli, &s.page, status, path);
    for (int i = 0; i < SHOWN; i++)
        clvox_volume_destroy(&s.subject[i]);
    clvox_volume_destroy(&s.change);
    free(order);
    return status;
}
