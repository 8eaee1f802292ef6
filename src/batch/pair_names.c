/* SPDX-License-Identifier: Apache-2.0 */
/* Names of the files of a pair: by a prefix, or as BIDS derivatives with their sidecars. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "clvox/command/bids.h"
#include "clvox/command/derivative.h"
#include "clvox/command/pair.h"

#define BROUGHT "an image is brought over by -t of the warp and -t of the affine, in this order"

static const struct {
    const char *end, *bids;
    const char *description; /* of those that have a sidecar */
} rows[CLVOX_PAIR_FILES] = {
    [CLVOX_PAIR_AFFINE] = {"_affine.txt", "%P_from-%a_to-%b_mode-image_desc-affine_xfm.txt",
                           "Affine of ITK; " BROUGHT},
    [CLVOX_PAIR_WARP] = {"_warp.nii.gz", "%P_from-%a_to-%b_mode-image_desc-warp_xfm.nii.gz",
                         "Displacements of ITK (LPS, mm), without the affine; " BROUGHT},
    [CLVOX_PAIR_INVERSE] =
        {"_inverse_warp.nii.gz", "%P_from-%b_to-%a_mode-image_desc-warp_xfm.nii.gz",
         "Inverse of the warp, displacements of ITK (LPS, mm), without the affine; an image is brought "
         "back by -t of the affine's inverse and -t of this, in this order"},
    [CLVOX_PAIR_MOMENTUM] = {"_momentum.nii.gz", "%P_from-%a_to-%b_mode-image_desc-momentum_xfm.nii.gz",
                             "Initial momentum of the geodesic that ends in the warp, for clvox shoot"},
    [CLVOX_PAIR_WARPED] = {"_warped.nii.gz", "%P%g%i.nii.gz",
                           "The image, resampled once on the grid of the reference"},
    [CLVOX_PAIR_POSTERIORS] = {"_posteriors.nii.gz", "%P%g_probseg.nii.gz",
                               "Tissue probabilities, a frame for each, on the grid of the reference"},
    [CLVOX_PAIR_LABELS] = {"_labels.nii.gz", "%P%l.nii.gz", "Labels on the grid of the reference"},
    [CLVOX_PAIR_PICTURE] = {".png", "%F%g%i.png", NULL},
    [CLVOX_PAIR_PAGE] = {"_report.html", "%F%g%i.html", NULL},
    [CLVOX_PAIR_LOG] = {".json", "%L%g%i.json", NULL},
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

/* The affine's ending: .txt or .mat. */
static void settle_affine(const clvox_pair_inputs *in, clvox_pair_names *n)
{
    if (in->mat)
        memcpy(strrchr(n->end[CLVOX_PAIR_AFFINE], '.'), ".mat", strlen(".mat"));
}

/* %P%g_desc-1_surface.vtk of _surface_1.vtk */
static int name_shape(const clvox_pair_shape *shape, const clvox_bids_target *target, char path[PATH_MAX])
{
    char pattern[128];
    snprintf(pattern, sizeof pattern, "%%P%%g_desc-%d_%s%s", shape->number, shape->kind,
             strchr(shape->end, '.'));
    return clvox_bids_expand(pattern, target, path);
}

static int name_derivatives(const clvox_pair_inputs *in, clvox_pair_names *n)
{
    int status = CLVOX_OK;
    char path[PATH_MAX], space[CLVOX_BIDS_ROOM];
    const char *fixed = in->fixed, *moving = in->moving;
    clvox_bids_name of_fixed, of_moving;
    clvox_bids_target target;
    if (!clvox_bids_read(moving, &of_moving) || !clvox_bids_find(&of_moving, "sub"))
        return clvox_fail(
            CLVOX_ERROR_DATA,
            "%s: the moving image gives the outputs of --bids-derivatives their names, and its own is not "
            "sub-LABEL_..._SUFFIX.nii.gz; rename it, or give -o",
            moving);
    const clvox_bids_word *res = clvox_bids_read(fixed, &of_fixed) ? clvox_bids_find(&of_fixed, "res") : NULL;
    if (in->space)
        strcpy(space, in->space);
    else if (!clvox_bids_space(fixed, &of_moving, space))
        return clvox_fail(CLVOX_ERROR_DATA, "%s: its name gives no name of a space; give --space NAME",
                          fixed);
    if (!clvox_bids_subject(moving, in->labels, space, res, &target))
        return too_long(moving);
    snprintf(path, sizeof path, "%s%s", in->derivatives,
             in->derivatives[strlen(in->derivatives) - 1] == '/' ? "" : "/");
    CLV_TRY(keep(path, &n->prefix));
    for (int i = 0; i < CLVOX_PAIR_FILES + in->shapes; i++) {
        const bool shape = i >= CLVOX_PAIR_FILES;
        if (shape ? !name_shape(&in->shape[i - CLVOX_PAIR_FILES], &target, path)
                  : !clvox_bids_expand(rows[i].bids, &target, path))
            return too_long(moving);
        CLV_TRY(keep(path, &n->end[i]));
        if (!shape && !rows[i].description)
            continue;
        if (!clvox_bids_ending(n->end[i], ".json", path))
            return too_long(moving);
        CLV_TRY(keep(path, &n->sidecar[i]));
    }
    settle_affine(in, n);
end:
    return status;
}

int clvox_pair_names_make(const clvox_pair_inputs *in, clvox_pair_names *n)
{
    int status = CLVOX_OK;
    *n = (clvox_pair_names){.prefix = NULL};
    if (in->derivatives)
        return name_derivatives(in, n);
    CLV_TRY(keep(in->prefix, &n->prefix));
    for (int i = 0; i < CLVOX_PAIR_FILES + in->shapes; i++)
        CLV_TRY(keep(i < CLVOX_PAIR_FILES ? rows[i].end : in->shape[i - CLVOX_PAIR_FILES].end, &n->end[i]));
    settle_affine(in, n);
end:
    return status;
}

void clvox_pair_names_free(clvox_pair_names *n)
{
    for (int i = 0; i < CLVOX_PAIR_NAMES; i++) {
        free(n->end[i]);
        free(n->sidecar[i]);
    }
    free(n->prefix);
    *n = (clvox_pair_names){.prefix = NULL};
}

const char *clvox_pair_path(const clvox_pair_names *n, int file, char path[PATH_MAX])
{
    snprintf(path, PATH_MAX, "%s%s", n->prefix, n->end[file]);
    return path;
}

void clvox_pair_ends(const clvox_pair_names *n, const clvox_register_options *o,
                     const bool asked[CLVOX_PAIR_FILES], clvox_end ends[CLVOX_PAIR_ENDS])
{
    const bool deforms = o->deform != CLVOX_DEFORM_NONE;
    const bool always[CLVOX_PAIR_FILES] = {
        [CLVOX_PAIR_AFFINE] = true,
        [CLVOX_PAIR_WARP] = deforms,
        [CLVOX_PAIR_INVERSE] = deforms && o->inverse,
        [CLVOX_PAIR_MOMENTUM] = o->deform == CLVOX_DEFORM_SHOOTING,
        [CLVOX_PAIR_LOG] = true,
    };
    int count = 0;
    for (int k = 0; k < 2; k++) {
        char *const *end = k ? n->sidecar : n->end;
        for (int i = 0; i < CLVOX_PAIR_NAMES; i++)
            if (end[i])
                ends[count++] = (clvox_end){end[i], i >= CLVOX_PAIR_FILES || always[i] || asked[i]};
    }
    ends[count] = (clvox_end){NULL, false};
}

/* ---- sidecars -------------------------------------------------------------- */

/* Describes what a file was made from. */
static cJSON *describe(const clvox_pair_names *n, const clvox_pair_inputs *in,
                       const clvox_register_result *result, int i, bool res)
{
    char path[PATH_MAX];
    const bool shape = i >= CLVOX_PAIR_FILES, transform = i <= CLVOX_PAIR_MOMENTUM;
    cJSON *one = clvox_sidecar(shape                                     ? "Carried to the reference"
                               : i == CLVOX_PAIR_AFFINE && !result->warp ? "Affine of ITK"
                                                                         : rows[i].description);
    clvox_sidecar_source(one, in->derivatives,
                         shape                        ? in->shape[i - CLVOX_PAIR_FILES].moving
                         : i == CLVOX_PAIR_LABELS     ? in->labels
                         : i == CLVOX_PAIR_POSTERIORS ? in->posteriors
                                                      : in->moving);
    if (transform)
        clvox_sidecar_source(one, in->derivatives, in->fixed);
    for (int k = CLVOX_PAIR_AFFINE; !transform && k <= CLVOX_PAIR_WARP; k++)
        if (k == CLVOX_PAIR_AFFINE || result->warp)
            clvox_sidecar_source(one, in->derivatives, clvox_pair_path(n, k, path));
    clvox_sidecar_grid(one, in->derivatives, in->fixed, &result->grid, res && !transform);
    if (i == CLVOX_PAIR_WARPED)
        cJSON_AddBoolToObject(one, "SkullStripped", clvox_sidecar_stripped(in->moving));
    if (i == CLVOX_PAIR_LABELS && strstr(n->end[i], "_mask."))
        cJSON_AddStringToObject(one, "Type", strstr(n->end[i], "_desc-brain_") ? "Brain" : "ROI");
    return one;
}

int clvox_pair_sidecars(const clvox_pair_names *n, const clvox_pair_inputs *in,
                        const clvox_register_result *result, clvox_results *results,
                        cJSON *sidecar[CLVOX_PAIR_NAMES])
{
    int status = CLVOX_OK;
    char path[PATH_MAX];
    clvox_bids_name fixed;
    const int count = results->count;
    const bool res = clvox_bids_read(in->fixed, &fixed) && clvox_bids_find(&fixed, "res");
    for (int i = 0; i < CLVOX_PAIR_NAMES; i++) {
        bool written = false;
        for (int k = 0; n->sidecar[i] && k < count; k++)
            written = written || !strcmp(results->item[k].path, clvox_pair_path(n, i, path));
        if (!written)
            continue;
        sidecar[i] = describe(n, in, result, i, res);
        CLV_TRY(clvox_results_add(results, clvox_sidecar_write, sidecar[i], 0, n->prefix, n->sidecar[i]));
    }
end:
    return status;
}
