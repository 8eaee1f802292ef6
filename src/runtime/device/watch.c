/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/device/watch.h"

#include <math.h>

#include "base/progress.h"
#include "runtime/device/context.h"

clvox_context *clv_watch_begin(clvox_context *context, const char *stage)
{
    if (!context || !context->options.progress || context->stage)
        return NULL;
    context->stage = stage;
    context->fraction = 0;
    return context;
}

void clv_watch_end(clvox_context *const *context)
{
    if (*context)
        (*context)->stage = NULL;
}

int clv_watch_told(clvox_context *context, double fraction)
{
    if (!context || !context->stage)
        return CLVOX_OK;
    context->fraction = fmax(context->fraction, fmin(fraction, 1));
    if (clv_progress_stage(context->options.progress, context->options.progress_user, context->stage,
                           context->fraction))
        return clvox_fail(CLVOX_ERROR_STOPPED, "interrupted");
    return CLVOX_OK;
}

int clv_watch_asked(clvox_context *context)
{
    int status = CLVOX_OK;
    if (!context->stage)
        return CLVOX_OK;
    if (context->limits.type == CLVOX_DEVICE_CPU)
        CLV_CL(clFinish(context->queue), "clFinish", "work that may be stopped");
    status = clv_watch_told(context, context->fraction);
end:
    return status;
}
