/* SPDX-License-Identifier: Apache-2.0 */
/* Names of templates' files: in a folder, or as BIDS derivatives with their sidecars. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clvox/command/bids.h"
#include "cli/cmd_atlas/atlas.h"
#include "clvox/command/derivative.h"

typedef struct row {
    const char *name, *end, *bids;
    const char *description; /* of those that have a sidecar */
} row;

#define TEMPLATE "Unbiased template: average of the sources, each on it by a map of its own"

static const row files[CLI_ATLAS_FILES] = {
    [CLI_ATLAS_TEMPLATE] = {"template", ".nii.gz", "%P%i.nii.gz", TEMPLATE},
    [CLI_ATLAS_TEMPLATE_2] = {"template", "_channel2.nii.gz", "%P%i.nii.gz", TEMPLATE},
    [CLI_ATLAS_TEMPLATE_3] = {"template", "_channel3.nii.gz", "%P%i.nii.gz", TEMPLATE},
    [CLI_ATLAS_TEMPLATE_4] = {"template", "_channel4.nii.gz", "%P%i.nii.gz", TEMPLATE},
    [CLI_ATLAS_LABELS] = {"template", "_labels.nii.gz", "%P%l.nii.gz", "Vote of the sources' labels"},
    [CLI_ATLAS_MEAN_LOG_JACOBIAN] = {"template", "_logjac.nii.gz", "%P_logjac.nii.gz",
                                     "Mean of the log Jacobians of the warps"},
    [CLI_ATLAS_SUBJECTS] = {"subjects", ".tsv", "%P_subjects.tsv", NULL},
    [CLI_ATLAS_SUMMARY] = {"summary", ".tsv", "%P_summary.tsv", NULL},
    [CLI_ATLAS_CHANGE] = {"change", ".tsv", "%P_change.tsv", NULL},
    [CLI_ATLAS_PAGE] = {"report", ".html", "%F%i.html", NULL},
    [CLI_ATLAS_LOG] = {"report", ".json", "%L%i.json", NULL},
    [CLI_ATLAS_STATE] = {"state", "", "%L%i_state", NULL},
};

#define BROUGHT "an image is brought over by -t of the warp and -t of the affine, in this order"

static const row maps[CLI_ATLAS_MAPS] = {
    [CLI_ATLAS_AFFINE] = {NULL, "_affine.txt", "%P_from-%a_to-%b_mode-image_desc-affine_xfm.txt",
                          "Affine of ITK; " BROUGHT},
    [CLI_ATLAS_WARP] = {NULL, "_warp.nii.gz", "%P_from-%a_to-%b_mode-image_desc-warp_xfm.nii.gz",
                        "Displacements of ITK (LPS, mm), without the affine; " BROUGHT},
    [CLI_ATLAS_INVERSE] =
        {NULL, "_inverse_warp.nii.gz", "%P_from-%b_to-%a_mode-image_desc-warp_xfm.nii.gz",
         "Inverse of the warp, displacements of ITK (LPS, mm), without the affine; an image "
         "is brought back by -t of the affine's inverse and -t of this, in this order"},
    [CLI_ATLAS_LOG_JACOBIAN] = {NULL, "_logjac.nii.gz", "%P%g_logjac.nii.gz",
                                "Log Jacobian of the warp; above 0 the subject is larger than the template"},
    [CLI_ATLAS_OWN_LABELS] = {NULL, "_labels.nii.gz", "%P_space-%a_seg-%b_dseg.nii.gz",
                              "Labels of the template, brought back onto the grid of the image"},
};

/* ---- names ----------------------------------------------------------------- */

/* The channel, from 0 on, of which a file is the template; -1: it is none. */
static int channel_of(int file)
{
    return file == CLI_ATLAS_TEMPLATE     ? 0
           : file >= CLI_ATLAS_TEMPLATE_2 ? file - CLI_ATLAS_TEMPLATE_2 + 1
                                          : -1;
}

static bool template_target(const cli_atlas_request *r, int file, int at, clvox_bids_target *out)
{
    const int channel = channel_of(file);
    const char *text = r->template_suffix[channel > 0 ? channel : 0];
    const clvox_bids_word suffix = {text, (int)strlen(text)};
    return clvox_bids_template(r->space, at < 0 || !r->ats ? 0 : at + 1, &suffix, out);
}

static bool subject_target(const cli_atlas_request *r, const cli_atlas_entry *e, int at,
                           clvox_bids_target *out)
{
    char space[2 * CLVOX_BIDS_ROOM];
    snprintf(space, sizeof space, r->ats ? "%s+%d" : "%s", r->space, at + 1);
    return strlen(space) < CLVOX_BIDS_ROOM && clvox_bids_subject(e->file->image, NULL, space, NULL, out);
}

/* false: the name is too long. */
static bool put(const cli_atlas_request *r, const char *pattern, const clvox_bids_target *target,
                char path[PATH_MAX])
{
    char name[PATH_MAX];
    return clvox_bids_expand(pattern, target, name) &&
           snprintf(path, PATH_MAX, "%s/%s", r->folder, name) < PATH_MAX;
}

const char *cli_atlas_path(const cli_atlas_request *r, cli_atlas_file file, int at, char path[PATH_MAX])
{
    const bool one = at < 0 || !r->ats;
    const row *f = &files[file];
    clvox_bids_target target;
    if (!r->derivatives)
        snprintf(path, PATH_MAX, "%s/%s%s%s%s", r->folder, f->name, one ? "" : "_", one ? "" : r->at_name[at],
                 f->end);
    else if (!template_target(r, (int)file, at, &target) || !put(r, f->bids, &target, path))
        *path = 0; /* cli_atlas_check_names has refused it */
    return path;
}

bool cli_atlas_has_map(const cli_atlas_request *r, cli_atlas_map map)
{
    return map == CLI_ATLAS_AFFINE || (map == CLI_ATLAS_OWN_LABELS ? r->own_labels : r->warps);
}

bool cli_atlas_wrote_map(const cli_atlas_request *r, cli_atlas_map map, const clvox_atlas_result *result,
                         const char *path)
{
    /* Only some templates of a regression may have subjects with labels. */
    return cli_atlas_has_map(r, map) &&
           (map != CLI_ATLAS_OWN_LABELS || (result->average ? result->labels != NULL : !access(path, F_OK)));
}

const char *cli_atlas_map_path(const cli_atlas_request *r, int subject, cli_atlas_map map, int at,
                               char path[PATH_MAX])
{
    const cli_atlas_entry *e = &r->entry[subject];
    clvox_bids_target target;
    if (!r->derivatives)
        snprintf(path, PATH_MAX, "%s/%s%s%s%s", r->folder, e->file->name, r->ats ? "_" : "",
                 r->ats ? r->at_name[at] : "", maps[map].end);
    else if (!subject_target(r, e, at, &target) || !put(r, maps[map].bids, &target, path))
        *path = 0;
    return path;
}

const char *cli_atlas_beside(const cli_atlas_request *r, const char *path, int at, char out[PATH_MAX + 8])
{
    if (r->derivatives)
        snprintf(out, PATH_MAX + 8, "%s%s", r->ats && at >= 0 ? "../../" : "../",
                 path + strlen(r->folder) + strspn(path + strlen(r->folder), "/"));
    else
        snprintf(out, PATH_MAX + 8, "%s", strrchr(path, '/') + 1);
    return out;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* No two subjects write the same files. */
static int check_different(const cli_atlas_request *r)
{
    int status = CLVOX_OK;
    char path[PATH_MAX], **all = calloc((size_t)r->count + 1, sizeof *all);
    bool whole = all != NULL;
    for (int i = 0; whole && i < r->count; i++)
        whole = (all[i] = strdup(cli_atlas_map_path(r, i, CLI_ATLAS_AFFINE, 0, path))) != NULL;
    if (!whole)
        status = clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    else
        qsort(all, (size_t)r->count, sizeof *all, by_text);
    for (int i = 1; status >= 0 && i < r->count; i++)
        if (!strcmp(all[i - 1], all[i]))
            status = clvox_fail(CLVOX_ERROR_DATA,
                                "two images would have the output %s: their names differ in nothing but what "
                                "stands for the file, or not at all",
                                all[i]);
    for (int i = 0; all && i < r->count; i++)
        free(all[i]);
    free(all);
    return status;
}

/* Templates are named as the images of the first subject; where that tells channels not apart, by their
 * number. */
static void name_channels(cli_atlas_request *r, const clvox_bids_name *first)
{
    for (int c = 0; c < r->channels; c++) {
        char *to = r->template_suffix[c];
        const char *image = c ? r->entry[0].file->further[c - 1] : NULL;
        clvox_bids_name name = *first;
        bool apart = !c || (image && clvox_bids_read(image, &name));
        snprintf(to, sizeof *r->template_suffix, "%.*s", name.suffix.length, name.suffix.at);
        for (int k = 0; k < c; k++)
            apart = apart && strcmp(r->template_suffix[k], to) != 0;
        if (!apart)
            snprintf(to, sizeof *r->template_suffix, "channel%d", c + 1);
    }
}

int cli_atlas_check_names(cli_atlas_request *r)
{
    char path[PATH_MAX];
    int status = CLVOX_OK;
    clvox_bids_name name;
    for (int i = 0; i < r->count; i++) {
        const char *image = r->entry[i].file->image;
        if (!clvox_bids_read(image, &name) || !clvox_bids_find(&name, "sub"))
            return clvox_fail(
                CLVOX_ERROR_DATA,
                "%s: the images give the outputs of --bids-derivatives their names, and its own "
                "is not sub-LABEL_..._SUFFIX.nii.gz; rename it, or give -o",
                image);
        if (!i)
            name_channels(r, &name);
        for (int k = 0; k < CLI_ATLAS_MAPS; k++)
            if (!*cli_atlas_map_path(r, i, (cli_atlas_map)k, r->ats ? r->ats - 1 : 0, path))
                return clvox_fail(CLVOX_ERROR_FILE, "%s: the names of its derivatives are too long", image);
        CLI_TRY(clvox_derivative_check(r->folder, image));
    }
    for (int k = 0; k < CLI_ATLAS_FILES; k++)
        if (!*cli_atlas_path(r, (cli_atlas_file)k, r->ats - 1, path))
            return clvox_fail(CLVOX_ERROR_FILE, "%s: the names of its files are too long", r->folder);
    status = check_different(r);
end:
    return status;
}

/* ---- sidecars -------------------------------------------------------------- */

const char *cli_atlas_sidecar(const cli_atlas_request *r, int kind, bool of_subject, const char *path,
                              char out[PATH_MAX])
{
    const row *of = of_subject ? &maps[kind] : &files[kind];
    return r->derivatives && of->description && clvox_bids_ending(path, ".json", out) ? out : NULL;
}

/* Writes one and releases it. */
static int put_sidecar(command *cli, cJSON *sidecar, const char *path)
{
    const int status = sidecar ? clvox_sidecar_write(sidecar, 0, path)
                               : clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    cJSON_Delete(sidecar);
    if (status >= 0)
        cli_log_output(cli, path);
    return status;
}

static int write_of_subject(command *cli, const cli_atlas_request *r, int subject, int at,
                            const clvox_atlas_result *result)
{
    int status = CLVOX_OK;
    char path[PATH_MAX], out[PATH_MAX], template[PATH_MAX];
    cli_atlas_path(r, CLI_ATLAS_TEMPLATE, at, template);
    for (int k = 0; k < CLI_ATLAS_MAPS; k++) {
        const bool labels = k == CLI_ATLAS_OWN_LABELS;
        cli_atlas_map_path(r, subject, (cli_atlas_map)k, at, path);
        if (!cli_atlas_wrote_map(r, (cli_atlas_map)k, result, path) ||
            !cli_atlas_sidecar(r, k, true, path, out))
            continue;
        cJSON *one =
            clvox_sidecar(k == CLI_ATLAS_AFFINE && !r->warps ? "Affine of ITK" : maps[k].description);
        if (k == CLI_ATLAS_LOG_JACOBIAN)
            clvox_sidecar_source(one, r->folder, cli_atlas_map_path(r, subject, CLI_ATLAS_WARP, at, path));
        else
            clvox_sidecar_source(one, r->folder, r->entry[subject].file->image);
        clvox_sidecar_source(one, r->folder,
                             labels ? cli_atlas_path(r, CLI_ATLAS_LABELS, at, path) : template);
        clvox_sidecar_grid(one, r->folder, labels ? r->entry[subject].file->image : template, NULL, false);
        CLI_TRY(put_sidecar(cli, one, out));
    }
    (void)result;
end:
    return status;
}

int cli_atlas_write_sidecars(command *cli, const cli_atlas_request *r, int at,
                             const clvox_atlas_result *result)
{
    int status = CLVOX_OK;
    char path[PATH_MAX], out[PATH_MAX], text[512];
    for (int i = 0; i < r->count; i++)
        if (result->map[i].share > 0)
            CLI_TRY(write_of_subject(cli, r, i, at, result));
    for (int k = 0; k < CLI_ATLAS_FILES; k++) {
        cli_atlas_path(r, (cli_atlas_file)k, at, path);
        bool stripped = true;
        if (!cli_atlas_sidecar(r, k, false, path, out) || (k == CLI_ATLAS_LABELS && !r->with_labels) ||
            (k == CLI_ATLAS_MEAN_LOG_JACOBIAN && !r->warps) || channel_of(k) >= r->channels ||
            access(path, F_OK))
            continue;
        snprintf(text, sizeof text, r->ats ? "%s, at %s %s" : "%s", files[k].description, r->regress,
                 r->ats ? r->at_name[at] : "");
        cJSON *one = clvox_sidecar(text);
        for (int i = 0; i < r->count; i++) {
            const cli_atlas_entry *e = &r->entry[i];
            const char *source = k == CLI_ATLAS_TEMPLATE ? e->file->image
                                 : channel_of(k) > 0     ? e->file->further[channel_of(k) - 1]
                                 : k == CLI_ATLAS_LABELS
                                     ? e->file->labels
                                     : cli_atlas_map_path(r, i, CLI_ATLAS_LOG_JACOBIAN, at, path);
            if (!(result->map[i].share > 0) || !source)
                continue;
            clvox_sidecar_source(one, r->folder, source);
            stripped = stripped && (channel_of(k) < 0 || clvox_sidecar_stripped(source));
        }
        if (channel_of(k) >= 0)
            cJSON_AddBoolToObject(one, "SkullStripped", stripped);
        CLI_TRY(put_sidecar(cli, one, out));
    }
end:
    return status;
}
