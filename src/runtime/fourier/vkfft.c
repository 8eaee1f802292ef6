/* SPDX-License-Identifier: Apache-2.0 */
/* VkFFT, which is a header that writes kernels. */
#include "runtime/fourier/vkfft.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/program/program.h"

/* VkFFT's builds come from our cache where that pays: its own way to keep binaries takes them for text. And it
 * prints what it has to say about failures. */
static _Thread_local clvox_context *builder;
static _Thread_local clv_cache_key building;
static _Thread_local bool from_source;

static cl_program program_of(cl_context context, const char *text, const size_t *length, cl_int *error)
{
    clvox_context *ctx = builder;
    unsigned char *data = NULL;
    size_t bytes;
    clv_counts counts;
    cl_program program = NULL;
    from_source = true;
    if (ctx->cache_dir && !ctx->two_steps) {
        building = clv_cache_key_start();
        clv_cache_key_add(&building, ctx->build_identity);
        clv_cache_key_add(&building, text);
        if (clv_cache_load(ctx->cache_dir, building, &data, &bytes, &counts)) {
            const unsigned char *binary = data;
            program = clCreateProgramWithBinary(context, 1, &ctx->device, &bytes, &binary, NULL, error);
            if (program && clBuildProgram(program, 1, &ctx->device, NULL, NULL, NULL) != CL_SUCCESS) {
                clReleaseProgram(program);
                program = NULL;
            }
        }
        free(data);
        if (program) {
            from_source = false;
            return program;
        }
    }
    return clCreateProgramWithSource(context, 1, &text, length, error);
}

static cl_int build(cl_program program)
{
    clvox_context *ctx = builder;
    const clv_counts counts = {-1, -1, -1};
    size_t bytes;
    if (!from_source)
        return CL_SUCCESS;
    cl_int error = clBuildProgram(program, 1, &ctx->device, NULL, NULL, NULL);
    if (error == CL_SUCCESS && ctx->cache_dir && !ctx->two_steps) {
        unsigned char *data = clv_program_binary(program, &bytes);
        if (data)
            clv_cache_store(ctx->cache_dir, building, data, bytes, &counts);
        free(data);
    }
    return error;
}

#define clCreateProgramWithSource(context, count, text, length, error) \
    program_of((context), *(text), (length), (error))
#define clBuildProgram(program, count, device, options, notify, data) build(program)
#define printf(...) ((void)0)
#define VKFFT_BACKEND 3
#include <vkFFT.h>
#undef clCreateProgramWithSource
#undef clBuildProgram
#undef printf

typedef struct plan {
    VkFFTApplication application;
    uint64_t field_bytes, spectrum_bytes;
} plan;

static int takes(const int size[3])
{
    if (size[0] < 2)
        return clvox_fail(
            CLVOX_ERROR_DEVICE,
            "Fourier transform: VkFFT takes two voxels or more along the first axis, not %d; another "
            "provider takes it",
            size[0]);
    return CLVOX_OK;
}

static int fail(const clvox_context *ctx, VkFFTResult error, const char *call)
{
    return clvox_fail(CLVOX_ERROR_DEVICE, "Fourier transform: %s of VkFFT failed on %s with its error %d",
                      call, ctx->limits.name, (int)error);
}

static void destroy(void *made)
{
    plan *p = made;
    deleteVkFFT(&p->application);
    free(p);
}

static int create(clvox_context *ctx, const int size[3], void **out)
{
    uint64_t x = (uint64_t)size[0], y = (uint64_t)size[1], z = (uint64_t)size[2], half = x / 2 + 1;
    *out = NULL;
    if (y == 1) { /* it takes axes of one voxel at the end alone, where they are not named */
        y = z;
        z = 1;
    }
    plan *p = calloc(1, sizeof *p);
    if (!p)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory for a Fourier transform");
    p->field_bytes = 3 * sizeof(float) * x * y * z;
    p->spectrum_bytes = 6 * sizeof(float) * half * y * z;
    VkFFTConfiguration wanted = {
        .FFTdim = y == 1 ? 1 : z == 1 ? 2 : 3,
        .size = {x, y, z},
        .device = &ctx->device,
        .context = &ctx->context,
        .coordinateFeatures = 3,
        .performR2C = 1,
        .normalize = 1,
        .bufferSize = &p->spectrum_bytes,
        .bufferStride = {half, half * y, half * y * z},
        .isInputFormatted = 1,
        .inverseReturnToInputBuffer = 1,
        .inputBufferSize = &p->field_bytes,
        .inputBufferStride = {x, x * y, x * y * z},
    };
    builder = ctx;
    VkFFTResult error = initializeVkFFT(&p->application, wanted);
    builder = NULL;
    if (error != VKFFT_SUCCESS) { /* which has deleted what it had made */
        free(p);
        return fail(ctx, error, "initializeVkFFT");
    }
    *out = p;
    return CLVOX_OK;
}

static int run(clvox_context *ctx, plan *p, bool back, cl_mem field, cl_mem spectrum)
{
    int status = CLVOX_OK;
    clv_span span;
    VkFFTLaunchParams with = {.commandQueue = &ctx->queue, .buffer = &spectrum, .inputBuffer = &field};
    CLV_TRY(clv_span_begin(ctx, &span));
    VkFFTResult error = VkFFTAppend(&p->application, back ? 1 : -1, &with);
    if (error != VKFFT_SUCCESS)
        status = fail(ctx, error, "VkFFTAppend");
    return clv_span_end(ctx, &span, back ? "vkfft back" : "vkfft forward", status);
end:
    return status;
}

static int forward(clvox_context *ctx, void *made, const clv_buffer *field, clv_buffer *spectrum)
{
    return run(ctx, made, false, field->mem, spectrum->mem);
}

static int back(clvox_context *ctx, void *made, clv_buffer *spectrum, clv_buffer *field)
{
    return run(ctx, made, true, field->mem, spectrum->mem);
}

const clv_fourier_library clv_fourier_vkfft = {"vkfft", true, takes, create, forward, back, destroy};
