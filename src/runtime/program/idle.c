/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/program/idle.h"

#include "runtime/device/context.h"

/* One buffer is all buffers: no kernel goes beyond its beginning where all sizes are 0. */
enum { SCRATCH = 1 << 20, LOCAL = 1 << 14 };

/* An argument that is no buffer, of a type that this does not know. */
static bool set_scalar(cl_kernel kernel, cl_uint index)
{
    static const char zeros[128];
    for (size_t bytes = 1; bytes <= sizeof zeros; bytes *= 2)
        if (clSetKernelArg(kernel, index, bytes, zeros) == CL_SUCCESS)
            return true;
    return false;
}

static bool set_argument(cl_kernel kernel, cl_uint index, cl_mem scratch)
{
    cl_kernel_arg_address_qualifier space;
    if (clGetKernelArgInfo(kernel, index, CL_KERNEL_ARG_ADDRESS_QUALIFIER, sizeof space, &space, NULL) !=
        CL_SUCCESS)
        return false;
    if (space == CL_KERNEL_ARG_ADDRESS_PRIVATE)
        return set_scalar(kernel, index);
    if (space == CL_KERNEL_ARG_ADDRESS_LOCAL)
        return clSetKernelArg(kernel, index, LOCAL, NULL) == CL_SUCCESS;
    return clSetKernelArg(kernel, index, sizeof scratch, &scratch) == CL_SUCCESS;
}

bool clv_launch_idle(clvox_context *ctx, cl_program program)
{
    cl_kernel kernel = NULL;
    cl_uint kernels = 0, arguments = 0;
    size_t group[3] = {0, 0, 0};
    const cl_uint zero = 0;
    cl_int error;
    bool launched = false;
    cl_mem scratch = clCreateBuffer(ctx->context, CL_MEM_READ_WRITE, SCRATCH, NULL, &error);
    if (!scratch || clCreateKernelsInProgram(program, 1, &kernel, &kernels) != CL_SUCCESS || kernels != 1 ||
        clGetKernelInfo(kernel, CL_KERNEL_NUM_ARGS, sizeof arguments, &arguments, NULL) != CL_SUCCESS ||
        clGetKernelWorkGroupInfo(kernel, ctx->device, CL_KERNEL_COMPILE_WORK_GROUP_SIZE, sizeof group, group,
                                 NULL) != CL_SUCCESS ||
        group[0] == 0)
        goto end;
    for (cl_uint i = 0; i < arguments; i++)
        if (!set_argument(kernel, i, scratch))
            goto end;
    launched =
        clEnqueueFillBuffer(ctx->queue, scratch, &zero, sizeof zero, 0, SCRATCH, 0, NULL, NULL) ==
            CL_SUCCESS &&
        clEnqueueNDRangeKernel(ctx->queue, kernel, 3, NULL, group, group, 0, NULL, NULL) == CL_SUCCESS &&
        clFinish(ctx->queue) == CL_SUCCESS;
end:
    if (kernel)
        clReleaseKernel(kernel);
    if (scratch)
        clReleaseMemObject(scratch);
    return launched;
}
