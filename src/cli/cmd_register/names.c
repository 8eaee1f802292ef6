/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of a pair are called: by a prefix, or as BIDS derivatives with their sidecars. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/bids.h"
#include "cli/cmd_register/pair.h"

#define BROUGHT "an image is brought over by -t of the warp and -t of the affine, in this order"

static const struct {
    const char *end, *bids;
    const char *description; /* of those that have a sidecar */
} rows[CLI_PAIR_FILES] = {
    [CLI_PAIR_AFFINE] = {"_affine.txt", "%P_from-%a_to-%b_mode-image_desc-affine_xfm.txt",
                         "Affine of ITK; " BROUGHT},
    [CLI_PAIR_WARP] = {"_warp.nii.gz", "%P_from-%a_to-%b_mode-image_desc-warp_xfm.nii.gz",
                       "Displacements of ITK (LPS, mm), without the affine; " BROUGHT},
    [CLI_PAIR_INVERSE] =
        {"_inverse_warp.nii.gz", "%P_from-%b_to-%a_mode-image_desc-warp_xfm.nii.gz",
         "Inverse of the warp, displacements of ITK (LPS, mm), without the affine; an image is brought "
         "back by -t of the affine's inverse and -t of this, in this order"},
    [CLI_PAIR_MOMENTUM] = {"_momentum.nii.gz", "%P_from-%a_to-%b_mode-image_desc-momentum_xfm.nii.gz",
                           "Initial momentum of the geodesic that ends in the warp, for clvox shoot"},
    [CLI_PAIR_WARPED] = {"_warped.nii.gz", "%P%g%i.nii.gz",
                         "The image, resampled once on the grid of the reference"},
    [CLI_PAIR_POSTERIORS] = {"_posteriors.nii.gz", "%P%g_probseg.nii.gz",
                             "Tissue probabilities, a frame for each, on the grid of the reference"},
    [CLI_PAIR_LABELS] = {"_labels.nii.gz", "%P%l.nii.gz", "Labels on the grid of the reference"},
    [CLI_PAIR_PICTURE] = {".png", "%F%g%i.png", NULL},
    [CLI_PAIR_PAGE] = {"_report.html", "%F%g%i.html", NULL},
    [CLI_PAIR_LOG] = {".json", "%L%g%i.json", NULL},
};

/* ---- names ----------------------------------------------------------------- */

static int keep(const char *text, char **out)
{
    *out = strdup(text);
    return *out ? CLVOX_OK : clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
}

static int too_long(const char *image)
{
    return clvox_fail(CLVOX_ERROR_FILE, "%s: the names of its derivatives are too long", image);
}

/* The affine's ending as --affine-format has it. */
static void settle_affine(const cli_register_request *r, cli_pair_names *n)
{
    char *end = strrchr(n->end[CLI_PAIR_AFFINE], '.');
    if (r->affine_mat)
        memcpy(end, ".mat", strlen(".mat"));
}

/* %P%g_desc-1_surface.vtk of _surface_1.vtk */
static int name_shape(const cli_shape_files *f, const cli_bids_target *target, char path[PATH_MAX])
{
    char pattern[128];
    snprintf(pattern, sizeof pattern, "%%P%%g_desc-%d_%s%s", f->number, cli_shape_kinds[f->kind].option,
             strchr(f->end, '.'));
    return cli_bids_expand(pattern, target, path);
}

static int name_derivatives(const cli_register_request *r, cli_pair_names *n)
{
    int status = CLVOX_OK;
    char path[PATH_MAX], space[CLI_BIDS_ROOM];
    const char *fixed = r->fixed.item[0], *moving = r->moving.item[0];
    cli_bids_name of_fixed, of_moving;
    cli_bids_target target;
    if (!cli_bids_read(moving, &of_moving) || !cli_bids_find(&of_moving, "sub"))
        return clvox_fail(
            CLVOX_ERROR_DATA,
            "%s: the moving image gives the outputs of --bids-derivatives their names, and its own is not "
            "sub-LABEL_..._SUFFIX.nii.gz; rename it, or give -o",
            moving);
    const cli_bids_word *res = cli_bids_read(fixed, &of_fixed) ? cli_bids_find(&of_fixed, "res") : NULL;
    if (r->space)
        strcpy(space, r->space);
    else if (!cli_bids_space(fixed, &of_moving, space))
        return clvox_fail(CLVOX_ERROR_DATA, "%s: its name gives no name of a space; give --space NAME",
                          fixed);
    if (!cli_bids_subject(moving, r->labels, space, res, &target))
        return too_long(moving);
    snprintf(path, sizeof path, "%s%s", r->derivatives,
             r->derivatives[strlen(r->derivatives) - 1] == '/' ? "" : "/");
    CLI_TRY(keep(path, &n->prefix));
    for (int i = 0; i < CLI_PAIR_FILES + r->shape_count; i++) {
        const bool shape = i >= CLI_PAIR_FILES;
        if (shape ? !name_shape(&r->shape[i - CLI_PAIR_FILES], &target, path)
                  : !cli_bids_expand(rows[i].bids, &target, path))
            return too_long(moving);
        CLI_TRY(keep(path, &n->end[i]));
        if (!shape && !rows[i].description)
            continue;
        if (!cli_bids_ending(n->end[i], ".json", path))
            return too_long(moving);
        CLI_TRY(keep(path, &n->sidecar[i]));
    }
    settle_affine(r, n);
end:
    return status;
}

int cli_pair_names_make(const cli_register_request *r, cli_pair_names *n)
{
    int status = CLVOX_OK;
    *n = (cli_pair_names){.prefix = NULL};
    if (r->derivatives)
        return name_derivatives(r, n);
    CLI_TRY(keep(r->prefix, &n->prefix));
    for (int i = 0; i < CLI_PAIR_FILES + r->shape_count; i++)
        CLI_TRY(keep(i < CLI_PAIR_FILES ? rows[i].end : r->shape[i - CLI_PAIR_FILES].end, &n->end[i]));
    settle_affine(r, n);
end:
    return status;
}

void cli_pair_names_free(cli_pair_names *n)
{
    for (int i = 0; i < CLI_PAIR_NAMES; i++) {
        free(n->end[i]);
        free(n->sidecar[i]);
    }
    free(n->prefix);
    *n = (cli_pair_names){.prefix = NULL};
}

const char *cli_pair_path(const cli_pair_names *n, int file, char path[PATH_MAX])
{
    snprintf(path, PATH_MAX, "%s%s", n->prefix, n->end[file]);
    return path;
}

void cli_pair_ends(const cli_pair_names *n, const cli_register_request *r, const clvox_register_options *o,
                   cli_end ends[CLI_PAIR_ENDS])
{
    const bool deforms = o->deform != CLVOX_DEFORM_NONE;
    const bool written[CLI_PAIR_FILES] = {
        [CLI_PAIR_AFFINE] = true,
        [CLI_PAIR_WARP] = deforms,
        [CLI_PAIR_INVERSE] = deforms && o->inverse,
        [CLI_PAIR_MOMENTUM] = o->deform == CLVOX_DEFORM_SHOOTING,
        [CLI_PAIR_WARPED] = r->fixed.count || r->list,
        [CLI_PAIR_POSTERIORS] = r->posteriors != NULL,
        [CLI_PAIR_LABELS] = r->labels != NULL,
        [CLI_PAIR_PICTURE] = !r->no_picture,
        [CLI_PAIR_PAGE] = r->report,
        [CLI_PAIR_LOG] = true,
    };
    int count = 0;
    for (int i = 0; i < CLI_PAIR_NAMES; i++)
        if (n->end[i])
            ends[count++] = (cli_end){n->end[i], i >= CLI_PAIR_FILES || written[i]};
    for (int i = 0; i < CLI_PAIR_NAMES; i++)
        if (n->sidecar[i])
            ends[count++] = (cli_end){n->sidecar[i], i >= CLI_PAIR_FILES || written[i]};
    ends[count] = (cli_end){NULL, false};
}

/* ---- sidecars -------------------------------------------------------------- */

/* One for each file that is written, with what it was made from. */
int cli_pair_sidecars(cli_pair *p)
{
    const cli_register_request *r = &p->request;
    const cli_pair_names *n = &p->names;
    char path[PATH_MAX];
    cli_bids_name fixed;
    const bool res = cli_bids_read(r->fixed.item[0], &fixed) && cli_bids_find(&fixed, "res");
    for (int i = 0; i < CLI_PAIR_NAMES; i++) {
        const bool shape = i >= CLI_PAIR_FILES;
        bool written = false;
        for (int k = 0; n->sidecar[i] && k < p->outputs.count; k++)
            written = written || !strcmp(p->outputs.item[k].path, cli_pair_path(n, i, path));
        if (!written)
            continue;
        const char *description = shape                                     ? "Carried to the reference"
                                  : i == CLI_PAIR_AFFINE && !p->result.warp ? "Affine of ITK"
                                                                            : rows[i].description;
        cJSON *one = p->sidecar[i] = cli_sidecar(description);
        if (!one)
            return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
        const bool transform = i <= CLI_PAIR_MOMENTUM;
        const char *own = shape                      ? r->shape[i - CLI_PAIR_FILES].moving
                          : i == CLI_PAIR_LABELS     ? r->labels
                          : i == CLI_PAIR_POSTERIORS ? r->moving_posteriors
                                                     : r->moving.item[0];
        cli_sidecar_source(one, r->derivatives, own);
        if (transform)
            cli_sidecar_source(one, r->derivatives, r->fixed.item[0]);
        for (int k = CLI_PAIR_AFFINE; !transform && k <= CLI_PAIR_WARP; k++)
            if (k == CLI_PAIR_AFFINE || p->result.warp)
                cli_sidecar_source(one, r->derivatives, cli_pair_path(n, k, path));
        cli_sidecar_grid(one, r->derivatives, r->fixed.item[0], &p->result.grid, res && !transform);
        if (i == CLI_PAIR_WARPED)
            cJSON_AddBoolToObject(one, "SkullStripped", cli_sidecar_stripped(r->moving.item[0]));
        if (i == CLI_PAIR_LABELS && strstr(n->end[i], "_mask."))
            cJSON_AddStringToObject(one, "Type", strstr(n->end[i], "_desc-brain_") ? "Brain" : "ROI");
    }
    return CLVOX_OK;
}
