/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of a registration, built together: the stages themselves are
 * rehearsed, with few iterations, so that there is no list to be kept. What the
 * linear part decides is rehearsed behind it, and what the images alone decide
 * (how often a map has to be mended) built when it is needed. */
#include "register/linear.h"
#include "register/model.h"

/* Iterations of a level: enough for every width that the elastic smoothing
 * takes on its way, few enough that no level looks whether it may end. */
enum { ITERATIONS = 10 };

int clv_register_rehearse_linear(clv_registration *run, const clvox_register_images *images)
{
    int status = clv_rehearsal_begin(run->ctx);
    if (status < 0)
        return status;
    CLV_TRY(clv_register_upload(run, images));
    CLV_TRY(linear_rehearse(run));
end:
    /* A rehearsal that breaks off has learnt less; the run itself says what is wrong. */
    return clv_rehearsal_end(run->ctx);
}

int clv_register_rehearse(const clv_registration *earnest, const clv_request *held, int count,
                          const clvox_volume *moving)
{
    int status = CLVOX_OK;
    clv_registration run = *earnest;
    clvox_register_options options = *run.options;
    clvox_register_result result = {.iterations = {0}};
    clv_metric_report report;
    const clv_model *deform = clv_model_find(options.deform);
    run.options = &options;
    options.progress = NULL;
    for (int i = 0; i < options.levels; i++)
        if (options.iterations[i] > ITERATIONS)
            options.iterations[i] = ITERATIONS;
    CLV_TRY(clv_rehearsal_begin(run.ctx));
    CLV_TRY(clv_register_match(&run));
    CLV_TRY(clv_register_measure(&run, true, NULL, &report));
    if (deform) {
        CLV_TRY(deform->run(&run, &result));
        CLV_TRY(clv_register_measure(&run, true, run.u, &report));
    }
    CLV_TRY(clv_register_finish(&run, held, count, moving, &result));
end:
    return clv_rehearsal_end(run.ctx);
}
