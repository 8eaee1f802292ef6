/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/queue/launch.h"

#include <stdio.h>

#include "runtime/device/context.h"
#include "runtime/device/watch.h"
#include "runtime/program/program.h"

int clv_launch_groups(const clv_kernel *kernel, const int size[3], int groups[3])
{
    int all = 1;
    for (int axis = 0; axis < 3; axis++) {
        int step = kernel->group[axis], count = step ? (size[axis] + step - 1) / step : 1;
        if (axis == 2 && kernel->variant->parts)
            count *= kernel->variant->parts;
        if (groups)
            groups[axis] = count;
        all *= count;
    }
    if (kernel->variant->most_groups) {
        all = all < kernel->variant->most_groups ? all : kernel->variant->most_groups;
        if (groups) {
            groups[0] = all;
            groups[1] = groups[2] = 1;
        }
    }
    return all;
}

/* Whether launches of an entry have the volume's axes: else their elements lie in a row. */
static bool is_volume(const clv_entry *entry)
{
    for (int v = 0; v < entry->count; v++)
        for (int t = 0; t < CLV_MAX_TILES && entry->variants[v].tiles[t].x; t++) {
            int item[3], group[3];
            clv_variant_covers(&entry->variants[v], entry->variants[v].tiles[t], item, group);
            if (group[1] != 1 || group[2] != 1)
                return true;
        }
    return false;
}

double clv_launch_waves(const clvox_device_limits *limits, const clv_kernel *kernel, const int size[3])
{
    const int row[3] = {size[0] * size[1] * size[2], 1, 1};
    const int groups = limits->type == CLVOX_DEVICE_CPU ? 1 : kernel->resources.groups;
    const int *covers = kernel->group, items = kernel->tile.x * kernel->tile.y * kernel->tile.z;
    const bool shared = covers[0] * covers[1] * covers[2] == 1 && items > 1;
    if (groups < 1 || limits->compute_units < 1 || shared)
        return -1;
    return (double)clv_launch_groups(kernel, is_volume(kernel->entry) ? size : row, NULL) / groups /
           limits->compute_units;
}

int clv_launch_args(clvox_context *ctx, const clv_kernel *kernel, const int size[3], double moved,
                    const clv_arg *args, int count)
{
    int status = CLVOX_OK;
    cl_event event = NULL;
    size_t global[3], local[3] = {(size_t)kernel->tile.x, (size_t)kernel->tile.y, (size_t)kernel->tile.z};
    int groups[3];
    CLV_TRY(clv_watch_asked(ctx));
    if (!kernel->kernel)
        return CLVOX_OK;
    clv_launch_groups(kernel, size, groups);
    for (int axis = 0; axis < 3; axis++)
        global[axis] = (size_t)groups[axis] * local[axis];
    for (int i = 0; i < count; i++) {
        const clv_arg *a = &args[i];
        void *mem = !a->buffer ? NULL : !a->bytes && a->data ? a->buffer->image : a->buffer->mem;
        cl_int error = a->bytes ? clSetKernelArg(kernel->kernel, (cl_uint)i, a->bytes, a->data)
                                : clSetKernelArg(kernel->kernel, (cl_uint)i, sizeof(cl_mem), &mem);
        if (error != CL_SUCCESS) {
            char meaning[160];
            snprintf(meaning, sizeof meaning, "argument %d of kernel %s", i, kernel->label);
            return clv_cl_fail(error, "clSetKernelArg", meaning);
        }
    }
    const clv_turn turn =
        kernel->shared ? ctx->driver->before(ctx, kernel, global) : (clv_turn){.program = NULL};
    const cl_int queued = clEnqueueNDRangeKernel(ctx->queue, kernel->kernel, 3, NULL, global, local, 0, NULL,
                                                 turn.program ? &event : CLV_EVENT(ctx, event));
    if (turn.program)
        ctx->driver->after(ctx, turn, event);
    CLV_CL(queued, "clEnqueueNDRangeKernel", kernel->label);
    if (ctx->options.profile)
        status = clv_timing_add(ctx, event, kernel->label, kernel, moved);
    else if (event)
        clReleaseEvent(event);
    if (ctx->held) {
        clFinish(ctx->queue);
        clv_program_let_go(ctx);
    }
end:
    return status;
}
