/* SPDX-License-Identifier: Apache-2.0 */
/* Intensities of images as they come, before anything is compared. */
#include "clvox/filter.h"
#include "image/outliers.h"
#include "register/problem.h"

/* One step: its result takes the image's place. */
static void replace(const clvox_volume **image, clvox_volume **own, clvox_volume **made)
{
    clvox_volume_destroy(own);
    *image = *own = *made;
    *made = NULL;
}

static int prepare(clvox_context *ctx, const clvox_register_options *o, const clvox_volume **image,
                   const clvox_volume *mask, clvox_volume **own)
{
    int status = CLVOX_OK;
    clvox_volume *made = NULL;
    /* A few voxels far beyond all others would set the range of values. */
    CLV_TRY(clv_outliers_clip(*image, &made));
    if (made)
        replace(image, own, &made);
    if (o->bias) {
        CLV_TRY(clvox_filter_bias(ctx, *image, mask, NULL, &made, NULL, NULL));
        replace(image, own, &made);
    }
    if (o->winsorize_low > 0 || o->winsorize_high < 1) {
        CLV_TRY(clvox_filter_winsorize(*image, mask, o->winsorize_low, o->winsorize_high, &made));
        replace(image, own, &made);
    }
end:
    return status;
}

static int enter(clv_problem *p)
{
    int status = CLVOX_OK;
    clvox_register_images *images = &p->images;
    clv_register_copies *own = &p->own;
    clvox_volume *made = NULL;
    p->originals = &p->outer->images;
    for (int i = 0; i < images->channels; i++) {
        clvox_volume **fixed = &own->own[own->count++], **moving = &own->own[own->count++];
        CLV_TRY(prepare(p->ctx, &p->options, &images->fixed[i], images->fixed_mask, fixed));
        CLV_TRY(prepare(p->ctx, &p->options, &images->moving[i], images->moving_mask, moving));
        if (p->options.histogram_match) {
            CLV_TRY(clvox_filter_match(images->moving[i], images->fixed[i], NULL, &made));
            replace(&images->moving[i], moving, &made);
        }
    }
end:
    return status;
}

const clv_step clv_step_preprocessing = {.name = "preprocessing", .enter = enter};
