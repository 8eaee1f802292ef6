/* SPDX-License-Identifier: Apache-2.0 */
/* The files of a labelled head: by a prefix, or as BIDS derivatives with their sidecars. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/status.h"
#include "clvox/command/bids.h"
#include "clvox/command/derivative.h"
#include "clvox/command/segment.h"
#include "clvox/command/table.h"

static const struct {
    const char *end, *bids, *description;
} rows[CLVOX_SEGMENT_FILES] = {
    [CLVOX_SEGMENT_LABELS] = {"_labels.nii.gz", "%P_dseg.nii.gz",
                              "Labels, fused from those of registered atlases"},
    [CLVOX_SEGMENT_MASK] = {"_mask.nii.gz", "%P_desc-brain_mask.nii.gz",
                            "Brain, fused from registered atlases"},
    [CLVOX_SEGMENT_CONFIDENCE] = {"_confidence.nii.gz", "%P_desc-confidence_probseg.nii.gz",
                                  "Share of the fused label in the votes of all atlases"},
    [CLVOX_SEGMENT_VOLUMES] = {"_volumes.tsv", "%P_desc-volumes_dseg.tsv", NULL},
    [CLVOX_SEGMENT_PAGE] = {"_report.html", "%F_desc-segment.html", NULL},
    [CLVOX_SEGMENT_LOG] = {".json", "%L_desc-segment.json", NULL},
};

int clvox_segment_names_make(const char *head, const char *prefix, const char *derivatives, bool labelled,
                             clvox_segment_names *n)
{
    int count = 0;
    clvox_bids_target target;
    *n = (clvox_segment_names){.derivatives = derivatives};
    if (derivatives && !clvox_bids_subject(head, NULL, "T1w", NULL, &target))
        return clvox_fail(
            CLVOX_ERROR_DATA,
            "%s: the head gives the outputs of --bids-derivatives their names, and its own is not "
            "sub-LABEL_..._SUFFIX.nii.gz; rename it, or give -o",
            head);
    const bool slash = derivatives && derivatives[strlen(derivatives) - 1] != '/';
    const int length =
        snprintf(n->prefix, sizeof n->prefix, "%s%s", derivatives ? derivatives : prefix, slash ? "/" : "");
    bool fits = length < (int)sizeof n->prefix;
    for (int i = 0; i < CLVOX_SEGMENT_FILES && fits; i++) {
        if (!derivatives)
            strcpy(n->end[i], rows[i].end);
        else
            fits = clvox_bids_expand(rows[i].bids, &target, n->end[i]) &&
                   (i >= CLVOX_SEGMENT_SIDECARS || clvox_bids_ending(n->end[i], ".json", n->sidecar[i]));
        const bool written = labelled || (i != CLVOX_SEGMENT_LABELS && i != CLVOX_SEGMENT_VOLUMES);
        n->ends[count++] = (clvox_end){n->end[i], written};
        if (derivatives && i < CLVOX_SEGMENT_SIDECARS)
            n->ends[count++] = (clvox_end){n->sidecar[i], written};
    }
    if (!fits || (derivatives && !clvox_bids_expand("%P", &target, n->stem)))
        return clvox_fail(CLVOX_ERROR_FILE, "%s: the names of its files are too long", head);
    return CLVOX_OK;
}

/* ---- what goes into them ------------------------------------------------------ */

static void print_volumes(FILE *to, const void *what)
{
    const clvox_segment_work *w = what;
    fprintf(to, "label\t%svoxels\tmm3\tconfidence\n", w->name ? "name\t" : "");
    for (int i = 0; i < w->labels; i++) {
        fprintf(to, "%" PRId64 "\t", w->measure[i].label);
        if (w->name) {
            clvox_table_fields(to, (const char *const[]){w->name[i] ? w->name[i] : "n/a"}, 1);
            fputc('\t', to);
        }
        fprintf(to, "%zu", w->measure[i].voxels);
        clvox_table_number(to, "%.8g", w->measure[i].mm3);
        clvox_table_number(to, "%.4f", w->confidence[i]);
        fputc('\n', to);
    }
}

static int write_volumes(const void *what, int unused, const char *path)
{
    (void)unused;
    return clvox_table_write(path, print_volumes, what);
}

int clvox_segment_gather(clvox_segment_work *w, const clvox_segment_names *n, const char *head)
{
    int status = CLVOX_OK;
    const clvox_volume *const volume[] = {w->result.labels, w->result.mask, w->result.confidence};
    for (int i = 0; i < CLVOX_SEGMENT_SIDECARS; i++) {
        if (!volume[i])
            continue;
        CLV_TRY(clvox_results_volume(&w->outputs, volume[i], n->prefix, n->end[i]));
        if (!n->derivatives)
            continue;
        w->sidecar[i] = clvox_sidecar(rows[i].description);
        clvox_sidecar_source(w->sidecar[i], n->derivatives, head);
        CLV_TRY(
            clvox_results_add(&w->outputs, clvox_sidecar_write, w->sidecar[i], 0, n->prefix, n->sidecar[i]));
    }
    if (w->result.labels)
        status =
            clvox_results_add(&w->outputs, write_volumes, w, 0, n->prefix, n->end[CLVOX_SEGMENT_VOLUMES]);
end:
    return status;
}
