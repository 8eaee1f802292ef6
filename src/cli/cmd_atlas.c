/* SPDX-License-Identifier: Apache-2.0 */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "atlas/options.h"
#include "base/place.h"
#include "cli/bar.h"
#include "cli/claims.h"
#include "cli/cmd_register/options.h"
#include "cli/table.h"
#include "register/options.h"

typedef struct entry {
    char *image, *mask, *labels, *name;
    double weight;
    clvox_volume *volume, *mask_volume, *label_volume;
} entry;

typedef struct request {
    const char *folder, *list, *start, *weights;
    const char *given[CLV_MAX_OPTIONS], *of_register[CLV_MAX_OPTIONS];
    bool quick, best;
    entry *entry;
    int count;
    clvox_volume *start_volume;
} request;

/* ---- subjects ------------------------------------------------------------ */

static void entry_free(entry *e)
{
    free(e->image);
    free(e->mask);
    free(e->labels);
    free(e->name);
    clvox_volume_destroy(&e->volume);
    clvox_volume_destroy(&e->mask_volume);
    clvox_volume_destroy(&e->label_volume);
}

/* The file's name without its folder and ending, with _2 and so on where others have it too. */
static int name_entry(request *r, entry *e)
{
    static const char *const endings[] = {".nii.gz", ".nii", ".mgz", ".mgh", ".nrrd", ".nhdr", ".mif.gz", ".mif", ".mih",
                                          ".hdr", ".img", NULL};
    const char *slash = strrchr(e->image, '/'), *base = slash ? slash + 1 : e->image;
    size_t length = strlen(base);
    for (int k = 0; endings[k]; k++) {
        size_t end = strlen(endings[k]);
        if (length > end && !strcmp(base + length - end, endings[k])) {
            length -= end;
            break;
        }
    }
    for (int again = 1;; again++) {
        char name[NAME_MAX + 16];
        bool taken = false;
        snprintf(name, sizeof name, again > 1 ? "%.*s_%d" : "%.*s", (int)length, base, again);
        for (int i = 0; i < r->count; i++)
            taken |= r->entry[i].name && !strcmp(r->entry[i].name, name);
        if (taken)
            continue;
        e->name = strdup(name);
        return e->name ? CLVOX_OK : clv_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    }
}

static int add_entry(request *r, const entry *e)
{
    entry *grown = realloc(r->entry, (size_t)(r->count + 1) * sizeof *grown);
    if (!grown || !e->image)
        return clv_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    r->entry = grown;
    r->entry[r->count] = *e;
    return name_entry(r, &r->entry[r->count++]);
}

enum { IMAGE, MASK, LABELS, WEIGHT };

static int read_row(void *user, int line, const char *const *text)
{
    request *r = user;
    char *end = NULL;
    entry e = {.image = cli_table_path(r->list, text[IMAGE]), .mask = cli_table_path(r->list, text[MASK]),
               .labels = cli_table_path(r->list, text[LABELS]), .weight = 1};
    if (text[WEIGHT] && *text[WEIGHT])
        e.weight = strtod(text[WEIGHT], &end);
    if ((end && *end) || !(e.weight > 0) || !isfinite(e.weight)) {
        entry_free(&e);
        return clv_fail(CLVOX_ERROR_FORMAT, "%s, line %d: the weight %s is not a number above 0", r->list, line,
                        text[WEIGHT]);
    }
    return add_entry(r, &e);
}

/* "1,2,0.5", one for each image. */
static int read_weights(request *r, const char *text)
{
    for (int i = 0; i < r->count; i++) {
        char *end;
        r->entry[i].weight = strtod(text, &end);
        if (end == text || !(r->entry[i].weight > 0) || !isfinite(r->entry[i].weight) ||
            *end != (i + 1 < r->count ? ',' : 0))
            return cli_misuse("--weights: %d numbers above 0 with commas between them are needed, one for each image",
                              r->count);
        text = end + 1;
    }
    return CLVOX_OK;
}

/* A table with a header: image and, if wanted, mask, labels and weight, in any order. */
static int read_list(request *r)
{
    static const char *const names[] = {"image", "mask", "labels", "weight", NULL};
    int status = cli_table_read(&(cli_table){r->list, names, 1, read_row, r});
    if (status >= 0 && !r->count)
        status = clv_fail(CLVOX_ERROR_FORMAT, "%s: there is no subject in it", r->list);
    return status;
}

static int load(command *cli, entry *e)
{
    int status = CLVOX_OK;
    const cli_input inputs[] = {{e->image, &e->volume, 0},
                                {e->mask, &e->mask_volume, CLI_AS_MASK},
                                {e->labels, &e->label_volume, CLI_AS_LABELS}};
    for (int i = 0; i < 3; i++)
        if (inputs[i].path)
            CLV_TRY(cli_claim_input(cli, inputs[i].path));
    CLV_TRY(cli_load(cli, inputs, 3, NULL, NULL, false));
    if (e->volume->frames != 1 || e->volume->kind != CLVOX_KIND_SCALAR)
        return clv_fail(CLVOX_ERROR_DATA, "%s: a subject is a 3-D image of one value a voxel", e->image);
    if (e->label_volume)
        e->label_volume->kind = CLVOX_KIND_LABEL;
end:
    return status;
}

static void leave_out(command *cli, const entry *e, const char *why)
{
    cli_remark(cli, 0, "left out: %s\n", why);
    cJSON_AddItemToArray(cJSON_GetObjectItem(cli->log, "left_out"), cJSON_CreateString(e->image));
}

/* Reads all; with --skip-bad those that cannot be read are named and left out. */
static int load_all(command *cli, request *r, bool skip_bad)
{
    int status = CLVOX_OK, kept = 0, count = r->count;
    cJSON_AddArrayToObject(cli->log, "left_out");
    for (int i = 0; i < count; i++) {
        entry *e = &r->entry[i];
        status = load(cli, e);
        if (status < 0 && skip_bad && status != CLVOX_ERROR_MEMORY) {
            leave_out(cli, e, clvox_message());
            entry_free(e);
            *e = (entry){.weight = 0};
            status = CLVOX_OK;
            continue;
        }
        CLV_TRY(status);
        r->entry[kept] = *e;
        if (kept++ < i)
            *e = (entry){.weight = 0};
    }
    r->count = kept;
    if (!kept)
        status = clv_fail(CLVOX_ERROR_DATA, "none of the subjects can be read");
end:
    return status;
}

/* ---- results ------------------------------------------------------------- */

static const char *path_in(const request *r, const char *name, const char *end, char path[PATH_MAX])
{
    snprintf(path, PATH_MAX, "%s/%s%s", r->folder, name, end);
    return path;
}

static int claim_all(command *cli, const request *r, bool warps, bool labels)
{
    int status = CLVOX_OK;
    char path[PATH_MAX];
    CLV_TRY(clv_place_make_folders(path_in(r, "template", ".nii.gz", path)));
    CLV_TRY(cli_claim_output(cli, "output", path));
    CLV_TRY(cli_claim_output(cli, "output", path_in(r, "summary", ".tsv", path)));
    CLV_TRY(cli_claim_output(cli, "output", path_in(r, "report", ".json", path)));
    if (labels)
        CLV_TRY(cli_claim_output(cli, "output", path_in(r, "template_labels", ".nii.gz", path)));
    for (int i = 0; i < r->count; i++) {
        CLV_TRY(cli_claim_output(cli, "output", path_in(r, r->entry[i].name, "_affine.txt", path)));
        if (!warps)
            continue;
        CLV_TRY(cli_claim_output(cli, "output", path_in(r, r->entry[i].name, "_warp.nii.gz", path)));
        CLV_TRY(cli_claim_output(cli, "output", path_in(r, r->entry[i].name, "_inverse_warp.nii.gz", path)));
    }
    CLV_TRY(cli_claim_folder(cli, r->folder, "report.json"));
    status = cli_claims_check(cli);
end:
    return status;
}

typedef struct summary {
    const request *r;
    const clvox_atlas_result *result;
    const int *order;
} summary;

static void print_summary(FILE *to, const void *what)
{
    const summary *s = what;
    fprintf(to, "subject\timage\tweight\tlikeness\tdisplacement_mm\n");
    for (int k = 0; k < s->r->count; k++) {
        const entry *e = &s->r->entry[s->order[k]];
        const clvox_atlas_map *m = &s->result->map[s->order[k]];
        if (*m->left_out)
            continue;
        fprintf(to, "%s\t%s\t%g", e->name, e->image, e->weight);
        cli_table_number(to, "%.6f", m->likeness);
        cli_table_number(to, "%.4f", m->displacement_mm);
        fputc('\n', to);
    }
}

/* A row a subject, the least like the template first. */
static int write_summary(const request *r, const clvox_atlas_result *result, const char *path)
{
    int *order = malloc((size_t)r->count * sizeof *order);
    if (!order)
        return clv_fail(CLVOX_ERROR_MEMORY, "%s: out of host memory", path);
    for (int i = 0; i < r->count; i++) {
        int at = i;
        for (; at > 0 && result->map[order[at - 1]].likeness > result->map[i].likeness; at--)
            order[at] = order[at - 1];
        order[at] = i;
    }
    int status = cli_table_write(path, print_summary, &(summary){r, result, order});
    free(order);
    return status;
}

static int write_all(command *cli, const request *r, const clvox_atlas_result *result)
{
    int status = CLVOX_OK;
    char path[PATH_MAX];
    for (int i = 0; i < r->count; i++) {
        const clvox_atlas_map *m = &result->map[i];
        if (*m->left_out)
            continue;
        CLV_TRY(clvox_affine_write(m->matrix, CLVOX_AFFINE_ITK, path_in(r, r->entry[i].name, "_affine.txt", path)));
        cli_log_output(cli, path);
        if (!m->warp)
            continue;
        CLV_TRY(clvox_warp_write(m->warp, path_in(r, r->entry[i].name, "_warp.nii.gz", path)));
        cli_log_output(cli, path);
        CLV_TRY(clvox_warp_write(m->inverse_warp, path_in(r, r->entry[i].name, "_inverse_warp.nii.gz", path)));
        cli_log_output(cli, path);
    }
    if (result->labels) {
        CLV_TRY(clvox_volume_write(result->labels, path_in(r, "template_labels", ".nii.gz", path)));
        cli_log_output(cli, path);
    }
    CLV_TRY(write_summary(r, result, path_in(r, "summary", ".tsv", path)));
    cli_log_output(cli, path);
    CLV_TRY(clvox_volume_write(result->average, path_in(r, "template", ".nii.gz", path)));
    cli_log_output(cli, path);
end:
    return status;
}

static void report(command *cli, const request *r, const clvox_atlas_result *result)
{
    cJSON *to = cJSON_AddObjectToObject(cli->log, "result"), *rounds;
    int kept = 0;
    for (int i = 0; i < result->subjects; i++) {
        kept += !*result->map[i].left_out;
        if (*result->map[i].left_out)
            leave_out(cli, &r->entry[i], result->map[i].left_out);
    }
    cJSON_AddNumberToObject(to, "subjects", kept);
    cJSON_AddNumberToObject(to, "device_bytes", (double)result->device_bytes);
    cJSON_AddNumberToObject(to, "resumed", result->resumed);
    rounds = cJSON_AddArrayToObject(to, "rounds");
    cli_print(cli, "%-12s %14s %12s %10s %9s %14s\n", "round", "mean removed", "left, voxel", "spread mm", "change",
              "sharpness 1/mm");
    for (int i = 0; i < result->rounds; i++) {
        const clvox_atlas_round *k = &result->round[i];
        cJSON *row = cJSON_CreateObject();
        cJSON_AddStringToObject(row, "stage", k->deformable ? "deformable" : "linear");
        cli_log_number(row, "removed_voxels", k->removed_voxels);
        cli_log_number(row, "left_voxels", k->left_voxels);
        cli_log_number(row, "spread_mm", k->spread_mm);
        cli_log_number(row, "change", k->change);
        cli_log_number(row, "sharpness", k->sharpness);
        cJSON_AddItemToArray(rounds, row);
        cli_print(cli, "%-2d%-10s %14.4f %12.2g %10.3f %9.4f %14.4f\n", i + 1, k->deformable ? "deformable" : "linear",
                  k->removed_voxels, k->left_voxels, k->spread_mm, k->change, k->sharpness);
    }
}

/* ---- the run ------------------------------------------------------------- */

static int run(command *cli, request *r, clvox_atlas_options *o)
{
    int status = CLVOX_OK;
    char path[PATH_MAX], state[PATH_MAX];
    bool labels = false;
    clvox_atlas_result result = {.average = NULL};
    clvox_atlas_subject *subjects = NULL;
    cli_bar bar;
    CLV_TRY(load_all(cli, r, o->skip_bad));
    if (r->start)
        CLV_TRY(cli_read_volume(cli, r->start, &r->start_volume));
    subjects = calloc((size_t)r->count, sizeof *subjects);
    if (!subjects) {
        status = clv_fail(CLVOX_ERROR_MEMORY, "out of host memory");
        goto end;
    }
    for (int i = 0; i < r->count; i++) {
        const entry *e = &r->entry[i];
        subjects[i] = (clvox_atlas_subject){.image = e->volume, .mask = e->mask_volume, .labels = e->label_volume,
                                            .weight = e->weight, .name = e->image};
        labels |= e->label_volume != NULL;
    }
    CLV_TRY(claim_all(cli, r, o->registration.deform != CLVOX_DEFORM_NONE && o->rounds > 0, labels));
    CLV_TRY(cli_open(cli));
    cli_remark(cli, 0, "plan     %d subjects, %d linear and %d deformable rounds\n", r->count, o->linear_rounds, o->rounds);
    cJSON *used = cJSON_AddObjectToObject(cli->log, "options");
    cli_log_fields(used, &clv_atlas_table, o);
    cli_log_fields(cJSON_AddObjectToObject(used, "registration"), &clv_register_table, &o->registration);
    cli_remark_idle(cli, &clv_atlas_table, r->given, o);
    cli_remark_idle(cli, &clv_register_table, r->of_register, &o->registration);
    o->state = path_in(r, "state", "", state);
    if (!access(path_in(r, "state", "/run", path), F_OK))
        cli_remark(cli, 0, "%s: of a run that did not end: going on from there\n", state);
    cli_bar_begin(&bar, cli);
    o->progress = cli_bar_stage;
    o->user = &bar;
    status = clvox_atlas(cli->ctx, subjects, r->count, r->start_volume, o, &result);
    cli_bar_end(&bar);
    if (status == CLVOX_ERROR_STOPPED && !access(path_in(r, "state", "/run", path), F_OK))
        cli_remark(cli, 0, "%s keeps what is done: the same command goes on from there\n", state);
    if (status == CLVOX_ERROR_DATA && !access(path, F_OK))
        cli_remark(cli, 0, "%s keeps what is done: with --skip-bad the same command goes on without the subject\n",
                   state);
    CLV_TRY(status);
    CLV_TRY(write_all(cli, r, &result));
    report(cli, r, &result);
    CLV_TRY(cli_profile(cli));
    CLV_TRY(cli_write_log(cli, path_in(r, "report", ".json", path)));
    clvox_atlas_forget(state);
end:
    free(subjects);
    clvox_atlas_result_free(&result);
    return status;
}

static int read_options(const request *r, clvox_atlas_options *o)
{
    int status = CLVOX_OK;
    clvox_atlas_defaults(o);
    CLV_TRY(cli_register_preset(r->quick, r->best, r->of_register, &o->registration));
    CLV_TRY(cli_read_fields(&clv_register_table, r->of_register, 0, &o->registration));
    CLV_TRY(cli_read_fields(&clv_atlas_table, r->given, 0, o));
    if (o->rounds + o->linear_rounds < 1)
        status = cli_misuse("--rounds 0 and --linear-rounds 0: one round or more");
end:
    return status;
}

int cmd_atlas(command *cli, int argc, char **argv)
{
    request r = {.folder = NULL};
    clvox_atlas_options o;
    const cli_option options[] = {
        {"output", 'o', CLI_FOLDER, &r.folder, "DIR", "folder of the results"},
        {"list", 0, CLI_TEXT, &r.list, "FILE.tsv", "table of subjects instead: columns image, mask, labels, weight"},
        {"template", 0, CLI_TEXT, &r.start, "FILE", "begin with this image and its grid (default: the mean)"},
        {"weights", 0, CLI_TEXT, &r.weights, "W,W...", "of the images in the averages, in their order (default: 1)"},
        {"quick", 0, CLI_FLAG, &r.quick, NULL, "faster, less accurate: greedy, unless --deform says otherwise"},
        {"best", 0, CLI_FLAG, &r.best, NULL, "more regular maps, more iterations"},
        {0},
    };
    /* Rounds begin where the one before ended, and always give the inverse. */
    static const char *const without[] = {"init", "inverse", "output-type", "points-weight", "points-width", NULL};
    const cli_usage usage = {
        .synopsis = "-o DIR IMAGE... [options]\n       clvox atlas -o DIR --list FILE.tsv [options]",
        .about = "Builds an unbiased template of a population: rounds of registering every subject to the template,\n"
                 "removing the mean map, and averaging. The template does not depend on the order of subjects. Writes\n"
                 "  DIR/template.nii.gz          the average\n"
                 "  DIR/template_labels.nii.gz   with labels in the list: their weighted majority\n"
                 "  DIR/NAME_affine.txt, _warp.nii.gz, _inverse_warp.nii.gz\n"
                 "                               of each image, from the template: applied as\n"
                 "                               `-t NAME_warp.nii.gz -t NAME_affine.txt`\n"
                 "  DIR/summary.tsv              a row a subject, the least like the template first\n"
                 "  DIR/report.json              options, inputs, mean map, spread and sharpness by round\n"
                 "Paths in a list are relative to its folder. A run that was stopped or killed goes on where it was when the\n"
                 "same command is given again; DIR/state keeps what is done until then.",
        .example = "  clvox atlas -o template sub-*_T1w.nii.gz\n"
                   "  clvox atlas -o template --list subjects.tsv --rounds 6 --average median",
        .options = options,
        .table = &clv_atlas_table,
        .given = r.given,
        .more = &clv_register_table,
        .more_given = r.of_register,
        .without = without,
        .most = 1 << 20,
    };
    char **rest;
    int count, status = cli_parse(cli, &usage, argc, argv, &rest, &count);
    if (status)
        return status;
    if (!r.folder)
        return cli_misuse("-o DIR is missing");
    if (!count && !r.list)
        return cli_misuse("the images are missing, or --list FILE.tsv");
    if (count && r.list)
        return cli_misuse("images and --list: one of them");
    if (r.weights && r.list)
        return cli_misuse("--weights belongs to images; a list has a column `weight`");
    CLV_TRY(read_options(&r, &o));
    for (int i = 0; i < count; i++)
        CLV_TRY(add_entry(&r, &(entry){.image = strdup(rest[i]), .weight = 1}));
    if (r.weights)
        CLV_TRY(read_weights(&r, r.weights));
    if (r.list)
        CLV_TRY(read_list(&r));
    status = run(cli, &r, &o);
end:
    for (int i = 0; i < r.count; i++)
        entry_free(&r.entry[i]);
    free(r.entry);
    clvox_volume_destroy(&r.start_volume);
    return status;
}
