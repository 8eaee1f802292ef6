/* SPDX-License-Identifier: Apache-2.0 */
/* One image from files to a file, as far as `clvox apply` and lists of images share it. */
#include <stdio.h>

#include "base/status.h"
#include "clvox/apply.h"
#include "clvox/command/chain.h"
#include "clvox/command/record.h"
#include "clvox/tensor.h"

static bool keeps_mass(const clvox_apply_list_options *o)
{
    return o->forward && o->landing == CLVOX_LANDING_MASS;
}

void clvox_apply_inputs(const clvox_apply_row *row, const clvox_apply_list_options *o, clvox_apply_work *w,
                        clvox_input inputs[CLVOX_APPLY_INPUTS])
{
    const bool named = o->order != CLVOX_TENSOR_AUTO;
    inputs[0] = (clvox_input){named ? NULL : row->input, &w->image, keeps_mass(o) ? 0 : CLVOX_AS_LABELS};
    inputs[1] = (clvox_input){row->reference, &w->reference, 0};
    w->chain.fixed = row->reference;
    w->chain.moving = row->input;
}

static void remark(cJSON *log, const clvox_hearer *hearer, const char *text)
{
    clvox_record_text(log, "remarks", text);
    if (hearer->log)
        hearer->log(hearer->user, 1, text);
}

/* Says so where the grids show that a warp and an affine stand in the wrong order. A chain leads from the
 * reference to the image, forward the other way. */
static void check_order(const clvox_apply_row *row, const clvox_apply_work *w, bool forward, cJSON *log,
                        const clvox_hearer *hearer)
{
    char text[2048];
    const clvox_chain *chain = &w->chain;
    const clvox_grid *first = &w->reference->grid, *last = &w->image->grid;
    if (forward) {
        first = &w->image->grid;
        last = &w->reference->grid;
    }
    if (chain->count != 2 || chain->transform[0]->is_warp == chain->transform[1]->is_warp ||
        clvox_grid_equal(first, last))
        return;
    const int warp = chain->transform[0]->is_warp ? 0 : 1;
    const clvox_grid *grid = &chain->transform[warp]->warp->grid;
    /* Named first it leads away from where the chain begins, on whose grid it then lies; named last, from a
     * space that the affine leads to. */
    if (!clvox_grid_equal(grid, warp ? first : last))
        return;
    snprintf(text, sizeof text,
             "%s lies on the grid of %s: it seems to belong %s; after a registration the chain is -t WARP -t "
             "AFFINE, and backwards -t AFFINE,-1 -t INVERSE_WARP (--pair PREFIX, --pair PREFIX --inverse)",
             chain->word[warp], warp == forward ? row->input : row->reference,
             warp ? "first, before the affine" : "last, behind the affine's inverse");
    remark(log, hearer, text);
}

static void note_labels(const clvox_apply_row *row, const clvox_apply_list_options *o,
                        const clvox_volume *image, cJSON *log, const clvox_hearer *hearer)
{
    char text[2048];
    const bool chosen = o->apply && o->apply->interpolation != CLVOX_INTERPOLATE_AUTO;
    if (keeps_mass(o) || chosen || image->kind != CLVOX_KIND_SCALAR || image->hint == CLVOX_LABELS_NONE)
        return;
    const char *why = clvox_label_reason(image->hint);
    snprintf(text, sizeof text, "%s: treated as a label map (%s); to treat it as an image, give %s",
             row->input, why, o->forward ? "--mass" : "--interp linear");
    cJSON_DeleteItemFromObject(log, "taken_for_labels"); /* of a list, the last image's stays */
    cJSON_AddStringToObject(log, "taken_for_labels", why);
    if (hearer->log)
        hearer->log(hearer->user, 1, text);
}

/* Reads tensors whose file does not say their order, and takes one frame of a series. */
static int settle_image(const clvox_apply_row *row, const clvox_apply_list_options *o, clvox_apply_work *w,
                        cJSON *log, const clvox_hearer *hearer)
{
    int status = CLVOX_OK;
    clvox_volume *one = NULL;
    if (o->order != CLVOX_TENSOR_AUTO) {
        CLV_TRY(clvox_tensor_read(row->input, o->order, &w->image));
        clvox_input_note(log, row->input, hearer);
    }
    if (o->frame < 0)
        goto end;
    status = clvox_volume_frame(w->image, o->frame, &one);
    CLV_TRY(status < 0 ? clvox_fail_in(status, row->input) : status);
    clvox_volume_destroy(&w->image);
    w->image = one;
end:
    return status;
}

int clvox_apply_solve(clvox_context *ctx, const clvox_apply_row *row, const clvox_apply_list_options *o,
                      clvox_apply_work *w, cJSON *log, const clvox_hearer *hearer)
{
    int status = CLVOX_OK;
    const clvox_grid *grid = &w->reference->grid;
    clvox_apply_options how;
    clvox_apply_defaults(&how);
    if (o->apply)
        how = *o->apply;
    CLV_TRY(clvox_chain_invert(ctx, &w->chain, hearer));
    CLV_TRY(settle_image(row, o, w, log, hearer));
    check_order(row, w, o->forward, log, hearer);
    note_labels(row, o, w->image, log, hearer);
    if (!o->forward) {
        status = clvox_apply_with(ctx, w->image, grid, w->chain.link, w->chain.count, &how, &w->out);
        goto end;
    }
    CLV_TRY(clvox_forward(ctx, w->image, grid, w->chain.link, w->chain.count, o->landing, how.outside,
                          &w->out));
    status = clvox_volume_set_output(w->out, w->image, keeps_mass(o) ? 0 : how.outside, how.output);
end:
    return status;
}

int clvox_apply_write(const clvox_apply_row *row, const clvox_apply_list_options *o,
                      const clvox_apply_work *w)
{
    return o->order != CLVOX_TENSOR_AUTO ? clvox_tensor_write(w->out, o->order, row->output)
                                         : clvox_volume_write(w->out, row->output);
}

void clvox_apply_work_free(clvox_apply_work *w)
{
    clvox_chain_free(&w->chain);
    clvox_volume_destroy(&w->image);
    clvox_volume_destroy(&w->reference);
    clvox_volume_destroy(&w->out);
}
