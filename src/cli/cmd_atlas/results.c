/* SPDX-License-Identifier: Apache-2.0 */
/* The files and figures of templates. */
#include "cli/cmd_atlas/atlas.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/claims.h"
#include "cli/cmd_register/report.h"
#include "clvox/command/derivative.h"
#include "cli/matrix.h"
#include "clvox/command/table.h"
#include "clvox/files.h"

/* A file, and its sidecar. kind: as of cli_atlas_sidecar. */
static int claim(command *cli, const cli_atlas_request *r, int kind, bool of_subject, const char *path)
{
    int status = CLVOX_OK;
    char sidecar[PATH_MAX];
    if (r->derivatives)
        CLI_TRY(clvox_folders_make(path));
    CLI_TRY(cli_claim_output(cli, "output", path));
    if (cli_atlas_sidecar(r, kind, of_subject, path, sidecar))
        CLI_TRY(cli_claim_output(cli, "output", sidecar));
end:
    return status;
}

static int claim_template(command *cli, const cli_atlas_request *r, int at)
{
    int status = CLVOX_OK;
    char path[PATH_MAX];
    const bool written[CLI_ATLAS_FILES] = {[CLI_ATLAS_TEMPLATE] = true,
                                           [CLI_ATLAS_SUMMARY] = true,
                                           [CLI_ATLAS_CHANGE] = cli_atlas_has_change(r),
                                           [CLI_ATLAS_PAGE] = r->report,
                                           [CLI_ATLAS_LABELS] = r->with_labels,
                                           [CLI_ATLAS_MEAN_LOG_JACOBIAN] = r->warps,
                                           [CLI_ATLAS_SUBJECTS] = r->warps,
                                           [CLI_ATLAS_TEMPLATE_2] = r->channels > 1,
                                           [CLI_ATLAS_TEMPLATE_3] = r->channels > 2,
                                           [CLI_ATLAS_TEMPLATE_4] = r->channels > 3};
    for (int k = 0; k < CLI_ATLAS_FILES; k++)
        if (written[k])
            CLI_TRY(claim(cli, r, k, false, cli_atlas_path(r, (cli_atlas_file)k, at, path)));
    for (int i = 0; i < r->count; i++)
        for (int k = 0; k < CLI_ATLAS_MAPS; k++)
            if (cli_atlas_has_map(r, (cli_atlas_map)k))
                CLI_TRY(claim(cli, r, k, true, cli_atlas_map_path(r, i, (cli_atlas_map)k, at, path)));
end:
    return status;
}

int cli_atlas_claim(command *cli, const cli_atlas_request *r)
{
    int status = CLVOX_OK;
    char path[PATH_MAX], log[PATH_MAX + 8];
    CLI_TRY(clvox_folders_make(cli_atlas_path(r, CLI_ATLAS_LOG, -1, path)));
    if (!cli_is_first(cli)) /* whose files these are */
        goto end;
    CLI_TRY(cli_claim_output(cli, "output", path));
    for (int at = 0; at < (r->ats ? r->ats : 1); at++)
        CLI_TRY(claim_template(cli, r, at));
    snprintf(log, sizeof log, "%s", path + strlen(r->folder) + 1);
    CLI_TRY(cli_claim_folder(cli, r->folder, log, r->derivatives != NULL));
    CLI_TRY(cli_claims_check(cli));
    if (r->derivatives)
        status = clvox_derivative_describe(r->folder);
end:
    return status;
}

/* ---- the summary --------------------------------------------------------- */

typedef struct summary {
    const cli_atlas_request *r;
    const clvox_atlas_result *result;
    const int *order;
} summary;

static void print_summary(FILE *to, const void *what)
{
    const summary *s = what;
    char names[128];
    fprintf(to, "subject\timage\tweight\tlikeness\tdisplacement_mm\tsuspicions");
    if (s->r->regress)
        clvox_table_fields(to, (const char *[]){"", s->r->regress, "share"}, 3);
    fputc('\n', to);
    for (int k = 0; k < s->r->count; k++) {
        const cli_atlas_entry *e = &s->r->entry[s->order[k]];
        const clvox_atlas_map *m = &s->result->map[s->order[k]];
        if (!(m->share > 0))
            continue;
        clvox_table_fields(to, (const char *[]){e->file->name, e->file->image}, 2);
        fprintf(to, "\t%g", e->weight);
        clvox_table_number(to, "%.6f", m->likeness);
        clvox_table_number(to, "%.4f", m->displacement_mm);
        fprintf(to, "\t%s", cli_register_suspicions(m->suspicions, names));
        if (s->r->regress) {
            clvox_table_number(to, "%.6g", e->file->covariate);
            clvox_table_number(to, "%.6f", m->share);
        }
        fputc('\n', to);
    }
}

int *cli_atlas_order(const cli_atlas_request *r, const clvox_atlas_result *result)
{
    int *order = calloc((size_t)r->count, sizeof *order);
    for (int i = 0; order && i < r->count; i++) {
        int at = i;
        for (; at > 0 && result->map[order[at - 1]].likeness > result->map[i].likeness; at--)
            order[at] = order[at - 1];
        order[at] = i;
    }
    return order;
}

/* A row a subject, the least like the template first. */
static int write_summary(const cli_atlas_request *r, const clvox_atlas_result *result, const char *path)
{
    int *order = cli_atlas_order(r, result);
    if (!order)
        return clvox_fail(CLVOX_ERROR_MEMORY, "%s: out of host memory", path);
    int status = clvox_table_write(path, print_summary, &(summary){r, result, order});
    free(order);
    return status;
}

/* ---- the list -------------------------------------------------------------- */

typedef struct subjects {
    const cli_atlas_request *r;
    int at;
    const clvox_atlas_result *result;
} subjects;

/* The list of `clvox stats`. Its images lie beside it. */
static void print_subjects(FILE *to, const void *what)
{
    const subjects *s = what;
    const cli_atlas_request *r = s->r;
    char path[PATH_MAX], beside[PATH_MAX + 8];
    fprintf(to, "image\tsubject\tlog_affine");
    for (int c = 0; c < r->files->columns; c++)
        clvox_table_fields(to, (const char *[]){"", r->files->column[c]}, 2);
    fputc('\n', to);
    for (int i = 0; i < r->count; i++) {
        const clvox_atlas_map *m = &s->result->map[i];
        if (!(m->share > 0))
            continue;
        cli_atlas_map_path(r, i, CLI_ATLAS_LOG_JACOBIAN, s->at, path);
        clvox_table_fields(
            to, (const char *[]){cli_atlas_beside(r, path, s->at, beside), r->entry[i].file->name}, 2);
        clvox_table_number(to, "%.6f", log(fabs(cli_matrix_determinant(CLI_MATRIX(m->matrix)))));
        for (int c = 0; c < r->files->columns; c++)
            clvox_table_fields(
                to, (const char *[]){"", r->entry[i].file->field ? r->entry[i].file->field[c] : "n/a"}, 2);
        fputc('\n', to);
    }
}

/* ---- files of subjects ---------------------------------------------------- */

/* Their affines: the other files are on their way since the maps came. */
static int write_affines(const cli_atlas_request *r, int at, const clvox_atlas_result *result)
{
    int status = CLVOX_OK;
    char path[PATH_MAX];
    for (int i = 0; i < r->count; i++)
        if (result->map[i].share > 0)
            CLI_TRY(clvox_affine_write(CLI_MATRIX(result->map[i].matrix), CLVOX_AFFINE_ITK,
                                       cli_atlas_map_path(r, i, CLI_ATLAS_AFFINE, at, path)));
end:
    return status;
}

static void log_subjects(command *cli, const cli_atlas_request *r, int at, const clvox_atlas_result *result)
{
    char path[PATH_MAX];
    for (int i = 0; i < r->count; i++)
        for (int k = 0; k < CLI_ATLAS_MAPS && result->map[i].share > 0; k++) {
            cli_atlas_map_path(r, i, (cli_atlas_map)k, at, path);
            if (cli_atlas_wrote_map(r, (cli_atlas_map)k, result, path))
                cli_log_output(cli, path);
        }
}

/* Writes the results of every subject; with warps also the mean of log J over the team, and the list of all. */
static int write_subjects(command *cli, const cli_atlas_request *r, int at, const clvox_atlas_result *result,
                          cli_atlas_maps *maps)
{
    int status = CLVOX_OK;
    const bool there = !result->average, mine = !there && cli_is_first(cli);
    char path[PATH_MAX];
    if (mine)
        status = write_affines(r, at, result);
    if (status >= 0)
        status = cli_atlas_maps_wait(maps);
    CLI_TRY(clvox_team_agree(cli->team, status));
    log_subjects(cli, r, at, result);
    if (!r->warps)
        goto end;
    cli_atlas_path(r, CLI_ATLAS_MEAN_LOG_JACOBIAN, at, path);
    if (!there)
        CLI_TRY(cli_atlas_maps_mean(maps, cli, &result->average->grid, path));
    cli_log_output(cli, path);
    cli_atlas_path(r, CLI_ATLAS_SUBJECTS, at, path);
    status = mine ? clvox_table_write(path, print_subjects, &(subjects){r, at, result}) : CLVOX_OK;
    CLI_TRY(clvox_team_agree(cli->team, status));
    cli_log_output(cli, path);
end:
    return status;
}

/* ---- files of the template ------------------------------------------------ */

/* Writes the results of the template. there: an earlier run has written them. */
static int write_template(command *cli, const cli_atlas_request *r, int at, const clvox_atlas_result *result)
{
    int status = CLVOX_OK;
    const bool there = !result->average;
    char path[PATH_MAX], state[PATH_MAX];
    if (r->with_labels &&
        (there ? !access(cli_atlas_path(r, CLI_ATLAS_LABELS, at, path), F_OK) : result->labels != NULL)) {
        cli_atlas_path(r, CLI_ATLAS_LABELS, at, path);
        CLI_TRY(there ? CLVOX_OK : clvox_volume_write(result->labels, path));
        cli_log_output(cli, path);
    }
    cli_atlas_path(r, CLI_ATLAS_SUMMARY, at, path);
    CLI_TRY(there ? CLVOX_OK : write_summary(r, result, path));
    cli_log_output(cli, path);
    if (cli_atlas_has_change(r) && (there || result->labels)) {
        cli_atlas_path(r, CLI_ATLAS_CHANGE, at, path);
        CLI_TRY(there ? CLVOX_OK : cli_atlas_change_write(r, at, result, path));
        cli_log_output(cli, path);
    }
    for (int c = 1; c < r->channels; c++) {
        cli_atlas_path(r, (cli_atlas_file)(CLI_ATLAS_TEMPLATE_2 + c - 1), at, path);
        CLI_TRY(there ? CLVOX_OK : clvox_volume_write(result->further[c - 1], path));
        cli_log_output(cli, path);
    }
    cli_atlas_path(r, CLI_ATLAS_TEMPLATE, at, path);
    if (there && access(path, F_OK))
        status = clvox_fail(CLVOX_ERROR_FILE,
                            "%s: an earlier run has written it and it is gone; remove %s to begin anew", path,
                            cli_atlas_path(r, CLI_ATLAS_STATE, -1, state));
    else
        status = there ? CLVOX_OK : clvox_volume_write(result->average, path);
    CLI_TRY(status);
    cli_log_output(cli, path);
end:
    return status;
}

int cli_atlas_write(command *cli, const cli_atlas_request *r, int at, const clvox_atlas_result *result,
                    cli_atlas_maps *maps)
{
    int status = CLVOX_OK;
    CLI_TRY(write_subjects(cli, r, at, result, maps));
    CLI_TRY(clvox_team_agree(cli->team, cli_is_first(cli) ? write_template(cli, r, at, result) : CLVOX_OK));
    if (r->derivatives)
        status = clvox_team_agree(cli->team, cli_is_first(cli) ? cli_atlas_write_sidecars(cli, r, at, result)
                                                               : CLVOX_OK);
end:
    return status;
}

void cli_atlas_doubts(command *cli, const cli_atlas_request *r, int at, const clvox_atlas_result *result)
{
    /* The others are of the template, or of the options. */
    const unsigned lost = CLVOX_SUSPECT_SCALE | CLVOX_SUSPECT_FOLDS | CLVOX_SUSPECT_SPARSE |
                          CLVOX_SUSPECT_TURNED | CLVOX_SUSPECT_UNLIKE | CLVOX_SUSPECT_MIRRORED;
    char names[128];
    for (int i = 0; i < r->count; i++)
        if (result->map[i].share > 0 && result->map[i].suspicions & lost)
            cli_note(cli, "%s: its registration%s%s looks wrong (%s): look at it, and leave it off if it is",
                       r->entry[i].file->image, r->ats ? " at " : "", r->ats ? r->at_name[at] : "",
                       cli_register_suspicions(result->map[i].suspicions & lost, names));
}

/* ---- figures ------------------------------------------------------------- */

/* How many take part, and whom they come to under their weights. */
static void report_kernel(cJSON *to, const cli_atlas_request *r, int at, const clvox_atlas_result *result,
                          FILE *lines)
{
    int count = 0;
    double squares = 0, mean = 0;
    for (int i = 0; i < r->count; i++) {
        const double share = result->map[i].share;
        count += share > 0;
        squares += share * share;
        mean += share > 0 ? share * r->entry[i].file->covariate : 0;
    }
    cJSON_AddNumberToObject(to, "at", r->at[at]);
    cJSON_AddNumberToObject(to, "subjects", count);
    clvox_record_number(to, "effective_subjects", 1 / squares);
    clvox_record_number(to, "mean", mean);
    fprintf(lines, "%s %s: %d subjects, by their weights as many as %.1f; mean %s %.4g\n", r->regress, r->at_name[at],
            count, 1 / squares, r->regress, mean);
}

void cli_atlas_report(cJSON *to, const cli_atlas_request *r, int at, const clvox_atlas_result *result,
                      FILE *lines)
{
    if (r->ats)
        report_kernel(to, r, at, result, lines);
    cJSON *rounds = cJSON_AddArrayToObject(to, "rounds");
    fprintf(lines, "%-12s %14s %12s %10s %9s %14s\n", "round", "mean removed", "left, voxel", "spread mm", "change",
            "sharpness 1/mm");
    for (int i = 0; i < result->rounds; i++) {
        const clvox_atlas_round *k = &result->round[i];
        const char *stage = k->deformable ? "deformable" : "linear";
        cJSON *row = cJSON_CreateObject();
        cJSON_AddStringToObject(row, "stage", stage);
        clvox_record_number(row, "removed_voxels", k->removed_voxels);
        clvox_record_number(row, "left_voxels", k->left_voxels);
        clvox_record_number(row, "spread_mm", k->spread_mm);
        clvox_record_number(row, "change", k->change);
        clvox_record_number(row, "sharpness", k->sharpness);
        cJSON_AddItemToArray(rounds, row);
        fprintf(lines, "%-2d%-10s %14.4f %12.2g %10.3f %9.4f %14.4f\n", i + 1, stage, k->removed_voxels, k->left_voxels,
                k->spread_mm, k->change, k->sharpness);
    }
}
