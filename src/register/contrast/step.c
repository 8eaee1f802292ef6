/* SPDX-License-Identifier: Apache-2.0 */
/* Images of other contrasts become images of one: the problem of a run has two channels from then on, and is
 * solved by MIND. */
#include <math.h>

#include "base/matrix.h"
#include "register/model.h"
#include "register/contrast/synthesis.h"
#include "register/thresholds.h"

/* Images of different contrasts are synthesized, each as the other, so that the linear part finds where they
 * lie, and synthesized again under that, of what is nearby. Where either is constant or the device has no
 * room they stay as they are. */
static int synthesize(clv_registration *run)
{
    int status = CLVOX_OK;
    const unsigned said = run->suspicions;
    double matrix[4][4];
    bool made;
    clv_matrix_copy(CLV_MATRIX(run->matrix), matrix);
    CLV_TRY(clv_contrast_synthesize(run, INFINITY, &made));
    if (!made)
        return CLVOX_OK;
    run->suspicions = run->problem->suspicions;
    CLV_TRY(clv_symmetric_linear(run));
    run->contrasts.differ = true;
    CLV_TRY(clv_contrast_synthesize(run, NEARBY, &made));
end:
    if (status == CLVOX_ERROR_MEMORY) {
        run->contrasts.differ = true;
        clv_matrix_copy(CLV_MATRIX(matrix), run->matrix);
        run->suspicions = said;
        clv_register_without(run, status);
        return clv_contrast_undo(run);
    }
    return status;
}

/* Synthesizes the images and goes from LNCC to MIND, if the device has the room that this takes beyond the
 * plan. */
static int go_on_by_mind(clv_registration *run)
{
    int status = CLVOX_OK;
    clvox_register_options by_mind = *run->options;
    clv_buffer *larger = NULL;
    by_mind.metric = CLVOX_METRIC_MIND;
    run->contrasts.differ = true;
    size_t here = clv_register_measure_floats(&by_mind, &run->fixed_grid);
    size_t there = clv_register_measure_floats(&by_mind, clv_map_grid(run));
    size_t bytes = (there > here ? there : here) * sizeof(float);
    if (run->metric_scratch->bytes < bytes) {
        const clv_request request = {&larger, bytes, "scratch of the metric"};
        status = clv_pool_take(run->ctx, &request, 1);
        if (status < 0)
            return clv_register_without(run, status);
        clv_buffer_destroy(&run->metric_scratch);
        run->metric_scratch = larger;
    }
    if (run->channel_count == 1)
        CLV_TRY(synthesize(run));
    run->options->metric = CLVOX_METRIC_MIND;
    for (int i = 0; i < run->image_count; i++)
        run->channels[i].metric = CLVOX_METRIC_MIND;
end:
    return status;
}

int clv_contrast_enter(clv_registration *run)
{
    int status = CLVOX_OK;
    const clvox_register_options *o = run->options;
    const clv_model *model = clv_model_find(o->deform);
    if (!o->by_contrast || !model || !model->by_contrast || run->image_count != 1 ||
        o->metric != CLVOX_METRIC_LNCC || o->besides)
        return CLVOX_OK;
    if (clv_contrast_looks(run) && !run->contrasts.tissues)
        CLV_TRY(clv_register_without(run, clv_contrast_differ(run, NEARBY, &run->contrasts.differ)));
    if (run->contrasts.differ || run->contrasts.tissues)
        CLV_TRY(go_on_by_mind(run));
end:
    return status;
}
