/* SPDX-License-Identifier: Apache-2.0 */
/* Images and options that no registration can work with are refused. */
#include <math.h>
#include <stdio.h>

#include "base/matrix.h"
#include "register/model.h"
#include "register/options.h"
#include "register/terms/posteriors.h"
#include "register/problem.h"
#include "register/terms/shapes.h"
#include "transform/field.h"

int clv_register_check_origin(const clvox_grid *grid, const char *which)
{
    static const double MOST = 1e5; /* beyond it, places in single precision are off by hundredths of mm */
    for (int i = 0; i < 3; i++)
        if (fabs(grid->to_ras[i][3]) > MOST)
            return clvox_fail(
                CLVOX_ERROR_DATA,
                "the %s has its origin at %g mm along %c, far outside of any scanner: correct its header "
                "(NIfTI: srow_%c and qoffset_%c; NRRD: space origin)",
                which, grid->to_ras[i][3], "xyz"[i], "xyz"[i], "xyz"[i]);
    return CLVOX_OK;
}

static int check_grid(const clvox_volume *volume, const char *which)
{
    const int *size = volume->grid.size;
    if (size[0] < 1 || size[1] < 1 || size[2] < 1 || !clv_matrix_regular(volume->grid.to_ras))
        return clvox_fail(CLVOX_ERROR_ARGUMENT,
                          "the %s has no usable grid: its sizes must be at least 1 and its matrix regular",
                          which);
    int status = clv_register_check_origin(&volume->grid, which);
    if (status < 0)
        return status;
    if (clvox_grid_voxels(&volume->grid) > INT32_MAX / 3)
        return clvox_fail(CLVOX_ERROR_ARGUMENT,
                          "the %s has more voxels than fit 32-bit indices; "
                          "resample it to a coarser grid",
                          which);
    return CLVOX_OK;
}

static int check_volume(const clvox_volume *volume, const char *which)
{
    if (!volume || !volume->data)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "there is no %s", which);
    if (volume->frames != 1)
        return clvox_fail(
            CLVOX_ERROR_ARGUMENT,
            "the %s has %d volumes; registration takes one 3-D volume: extract one first (motion "
            "between them: `clvox series`)",
            which, volume->frames);
    return check_grid(volume, which);
}

static int check_images(const clvox_register_images *images, const clvox_register_options *o)
{
    int status = CLVOX_OK;
    const clv_model *m = clv_model_find(o->deform);
    double sum = 0;
    if (images->channels < !images->fixed_posteriors || images->channels > CLVOX_MAX_CHANNELS)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "%d channels; 1 to %d are possible", images->channels,
                          CLVOX_MAX_CHANNELS);
    if (images->fixed_posteriors)
        CLV_TRY(check_grid(images->fixed_posteriors, "fixed posteriors"));
    if (images->moving_posteriors)
        CLV_TRY(check_grid(images->moving_posteriors, "moving posteriors"));
    CLV_TRY(clv_posteriors_check(images, o));
    for (int i = 0; i < images->channels; i++) {
        char which[48];
        snprintf(which, sizeof which, images->channels > 1 ? "fixed image %d" : "fixed image", i + 1);
        CLV_TRY(check_volume(images->fixed[i], which));
        snprintf(which, sizeof which, images->channels > 1 ? "moving image %d" : "moving image", i + 1);
        CLV_TRY(check_volume(images->moving[i], which));
        if (!(images->weight[i] >= 0) || !isfinite(images->weight[i]))
            return clvox_fail(CLVOX_ERROR_ARGUMENT, "channel %d: a weight is a number of at least 0", i + 1);
        sum += images->weight[i];
    }
    if (images->channels > 0 && !(sum > 0) && images->weight[0] != 0)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "the weights of the channels add up to nothing");
    if (m && m->one_channel && images->channels > 1)
        return clvox_fail(CLVOX_ERROR_ARGUMENT,
                          "the %s model takes one channel, not %d; choose another model "
                          "or one image of each side",
                          m->name, images->channels);
    if (o->channel_metrics > 0 && o->channel_metrics != images->channels - 1)
        return clvox_fail(CLVOX_ERROR_ARGUMENT,
                          "metrics for %d channels, and there are %d: give one for all, or one for each",
                          o->channel_metrics + 1, images->channels);
    if (images->fixed_mask)
        CLV_TRY(check_volume(images->fixed_mask, "fixed mask"));
    if (images->moving_mask)
        CLV_TRY(check_volume(images->moving_mask, "moving mask"));
    if (images->linear_fixed_mask)
        CLV_TRY(check_volume(images->linear_fixed_mask, "linear fixed mask"));
    if (images->linear_moving_mask)
        CLV_TRY(check_volume(images->linear_moving_mask, "linear moving mask"));
    for (int i = 0; i < CLVOX_MAX_LEVELS && images->level_masks; i++) {
        if (images->level_fixed_mask[i])
            CLV_TRY(check_volume(images->level_fixed_mask[i], "fixed mask of a level"));
        if (images->level_moving_mask[i])
            CLV_TRY(check_volume(images->level_moving_mask[i], "moving mask of a level"));
    }
    if (images->points < 0 || (images->points > 0 && (!images->fixed_points || !images->moving_points)))
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "%d landmarks, which are missing in one image or both",
                          images->points);
    for (int i = 0; i < 3 * images->points; i++)
        if (!isfinite(images->fixed_points[i]) || !isfinite(images->moving_points[i]))
            return clvox_fail(CLVOX_ERROR_ARGUMENT, "landmark %d: its coordinates must be finite", i / 3 + 1);
    CLV_TRY(clv_shapes_check(images));
    if (images->initial_warp && (!m || !m->starts_from_warp))
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "%s%s starts from no warp; unbiased, greedy and syn do",
                          m ? "the model " : "a linear part alone", m ? m->name : "");
    if (images->initial_warp && images->initial_warp->frames != 3)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "the initial warp has %d components; a displacement has 3",
                          images->initial_warp->frames);
    if (images->initial_warp)
        CLV_TRY(clv_field_check(&images->initial_warp->grid));
end:
    return status;
}

static int check(clv_problem *p)
{
    const clvox_register_options *o = &p->options;
    int status = check_images(&p->images, o);
    if (status < 0)
        return status;
    const clv_model *model = clv_model_find(o->deform);
    if (o->deform != CLVOX_DEFORM_NONE && !model)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "this version does not have the deformation model asked for");
    status = clv_options_check(&clv_register_table, o);
    if (status < 0)
        return status;
    status = clv_register_check_metrics(o);
    if (status < 0)
        return status;
    if (model && clv_model_takes(model, "operator"))
        status = clv_register_check_operator(o);
    if (status < 0)
        return status;
    if (o->winsorize_low >= o->winsorize_high)
        return clvox_fail(CLVOX_ERROR_ARGUMENT,
                          "winsorising takes two quantiles that ascend, as 0.005 and 0.995; "
                          "0 and 1 are none");
    if (o->init == CLVOX_INIT_MATRIX && !clv_matrix_regular(o->matrix))
        return clvox_fail(CLVOX_ERROR_ARGUMENT,
                          "the initial matrix is singular or not finite; give one that can be inverted");
    return CLVOX_OK;
}

const clv_step clv_step_checks = {.name = "checks", .enter = check};
