/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/program/idle.h"

#include <string.h>

#include "runtime/device/context.h"

/* All numbers of a launch, be they sizes, counts or bins: of 1 to 3 bins some kernels go beyond, and by 0
 * some divide. With 4 and 8 oclgrind finds no access out of bounds in any kernel that is listed for CPU
 * devices. */
enum { NUMBER = 4 };
/* One buffer of zeros is all buffers, with room before it. Local memory is that of a work-group of any
 * size. */
enum { REACH = 1 << 20, LOCAL = 1 << 14, MOST_BYTES = 1 << 10 };

/* Divide by what a table on the device holds. */
static bool divides(cl_kernel kernel)
{
    char name[64] = "";
    clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, sizeof name, name, NULL);
    return !strncmp(name, "fft_", 4);
}

/* The size of its type is not to be had. PoCL refuses another one but for structures, whose bytes it
 * copies: it gets the whole of any. */
static bool set_number(cl_kernel kernel, cl_uint index)
{
    cl_int numbers[MOST_BYTES / sizeof(cl_int)];
    for (size_t i = 0; i < MOST_BYTES / sizeof(cl_int); i++)
        numbers[i] = NUMBER;
    for (size_t bytes = MOST_BYTES; bytes > 0; bytes -= bytes > 4 ? 4 : 1)
        if (clSetKernelArg(kernel, index, bytes, numbers) == CL_SUCCESS)
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
        return set_number(kernel, index);
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
    cl_mem around = clCreateBuffer(ctx->context, CL_MEM_READ_WRITE, 2 * REACH, NULL, NULL), scratch = NULL;
    if (around)
        scratch = clCreateSubBuffer(around, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION,
                                    &(const cl_buffer_region){REACH, REACH}, NULL);
    bool launched =
        scratch && clCreateKernelsInProgram(program, 1, &kernel, &kernels) == CL_SUCCESS && kernels == 1 &&
        clGetKernelInfo(kernel, CL_KERNEL_NUM_ARGS, sizeof arguments, &arguments, NULL) == CL_SUCCESS &&
        clGetKernelWorkGroupInfo(kernel, ctx->device, CL_KERNEL_COMPILE_WORK_GROUP_SIZE, sizeof group, group,
                                 NULL) == CL_SUCCESS &&
        group[0] > 0 && !divides(kernel);
    for (cl_uint i = 0; i < arguments && launched; i++)
        launched = set_argument(kernel, i, scratch);
    launched =
        launched &&
        clEnqueueFillBuffer(ctx->queue, around, &zero, sizeof zero, 0, 2 * REACH, 0, NULL, NULL) ==
            CL_SUCCESS &&
        clEnqueueNDRangeKernel(ctx->queue, kernel, 3, NULL, group, group, 0, NULL, NULL) == CL_SUCCESS &&
        clFinish(ctx->queue) == CL_SUCCESS;
    if (kernel)
        clReleaseKernel(kernel);
    if (scratch)
        clReleaseMemObject(scratch);
    if (around)
        clReleaseMemObject(around);
    return launched;
}
