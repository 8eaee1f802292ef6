/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/build.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "runtime/codeobject.h"
#include "runtime/program.h"

char *clv_build_identity(const clvox_device_limits *limits)
{
    char *text = NULL;
    int length = asprintf(&text, "clvox %s|%s|%s|%s|%s|%s|%s", CLVOX_VERSION, limits->platform,
                          limits->platform_version, limits->name, limits->version, limits->driver,
                          limits->architecture);
    return length < 0 ? NULL : text;
}

void clv_counts_from_log(const char *log, const char *kernel, clv_counts *counts)
{
    char start[96];
    *counts = (clv_counts){-1, -1, -1};
    snprintf(start, sizeof start, "Function properties for %s\n", kernel);
    log = strstr(log, start);
    const char *used = log ? strstr(log, "Used ") : NULL;
    const char *spill = log ? strstr(log, " bytes spill stores") : NULL;
    if (!used || sscanf(used, "Used %d registers", &counts->registers) != 1) {
        counts->registers = -1;
        return;
    }
    counts->spills = 0;
    if (spill && spill < used) {
        while (spill > log && spill[-1] >= '0' && spill[-1] <= '9')
            spill--;
        counts->spills = atoi(spill);
    }
}

static char *build_log(cl_program program, cl_device_id device)
{
    size_t length = 0;
    clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, 0, NULL, &length);
    char *log = calloc(1, length + 1);
    if (log && clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, length, log, NULL) != CL_SUCCESS)
        log[0] = 0;
    return log;
}

/* The binary of a program for one device; NULL when the driver gives none. */
static unsigned char *binary_of(cl_program program, size_t *bytes)
{
    *bytes = 0;
    if (clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof *bytes, bytes, NULL) != CL_SUCCESS ||
        *bytes == 0)
        return NULL;
    unsigned char *data = malloc(*bytes);
    if (data && clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof data, &data, NULL) != CL_SUCCESS) {
        free(data);
        data = NULL;
    }
    return data;
}

static cl_program from_cache(clvox_context *ctx, clv_cache_key key, const char *options,
                             clv_counts *counts)
{
    unsigned char *data = NULL;
    size_t bytes = 0;
    if (!clv_cache_load(ctx->cache_dir, key, &data, &bytes, counts))
        return NULL;
    cl_int error, refused = CL_SUCCESS;
    const unsigned char *binary = data;
    cl_program program =
        clCreateProgramWithBinary(ctx->context, 1, &ctx->device, &bytes, &binary, &refused, &error);
    if (error == CL_SUCCESS && refused == CL_SUCCESS)
        refused = clBuildProgram(program, 1, &ctx->device, options, NULL, NULL);
    if (error == CL_SUCCESS && refused != CL_SUCCESS) {
        clReleaseProgram(program);
        error = refused;
    }
    free(data);
    return error == CL_SUCCESS ? program : NULL;
}

static int from_source(clvox_context *ctx, const char *file, const char *source, const char *options,
                       cl_program *out, char **log)
{
    int status = CLVOX_OK;
    cl_int error;
    *log = NULL;
    cl_program program = clCreateProgramWithSource(ctx->context, 1, &source, NULL, &error);
    CLV_CL(error, "clCreateProgramWithSource", file);
    error = clBuildProgram(program, 1, &ctx->device, options, NULL, NULL);
    *log = build_log(program, ctx->device);
    if (error == CL_BUILD_PROGRAM_FAILURE || error == CL_INVALID_BUILD_OPTIONS) {
        status = clv_fail(CLVOX_ERROR_BUILD, "cl/%s.cl does not build on %s (%s): %.1500s", file,
                          ctx->limits.name, clv_cl_error_name(error), *log ? *log : "");
        goto end;
    }
    if (error != CL_SUCCESS) {
        status = clv_fail(CLVOX_ERROR_DEVICE,
                          "%s failed while it built cl/%s.cl (%s); try again, or choose another device "
                          "with --device",
                          ctx->limits.name, file, clv_cl_error_name(error));
        goto end;
    }
    *out = program;
    program = NULL;
end:
    if (program)
        clReleaseProgram(program);
    return status;
}

/* NVIDIA's compiler says its counts only when it really compiles, and not when
 * the driver's own cache answers. Once per cache entry it is worth a build
 * that the driver has not seen: with a kernel of a name that is new, since the
 * driver looks at the code and not at the source. */
static void count_again(clvox_context *ctx, const char *file, const char *function, const char *source,
                        const char *options, clv_counts *counts)
{
    char *unseen = NULL, *log = NULL;
    struct timespec now;
    cl_program program = NULL;
    clock_gettime(CLOCK_REALTIME, &now);
    if (asprintf(&unseen, "%s\n__kernel void clv_unseen_%lld_%ld_%d(void)\n{\n}\n", source,
                 (long long)now.tv_sec, now.tv_nsec, (int)getpid()) < 0)
        return;
    if (from_source(ctx, file, unseen, options, &program, &log) == CLVOX_OK) {
        clv_counts_from_log(log ? log : "", function, counts);
        clReleaseProgram(program);
    }
    free(unseen);
    free(log);
}

int clv_program_build(clvox_context *ctx, const clv_variant *variant, const char *file,
                      const char *options, cl_program *out, clv_counts *counts)
{
    int status = CLVOX_OK;
    bool nvidia = ctx->limits.nvidia_major > 0;
    char *source = NULL, *log = NULL, full[960];
    unsigned char *binary = NULL;
    size_t bytes = 0;
    int lock = -1;
    *out = NULL;
    *counts = (clv_counts){-1, -1, -1};
    CLV_TRY(clv_source_assemble(file, variant->function, &source));
    int length = snprintf(full, sizeof full, "%s%s", options, nvidia ? " -cl-nv-verbose" : "");
    if (nvidia && variant->register_cap > 0)
        snprintf(full + length, sizeof full - (size_t)length, " -cl-nv-maxrregcount=%d",
                 variant->register_cap);

    clv_cache_key key = clv_cache_key_start();
    if (ctx->cache_dir) {
        clv_cache_key_add(&key, ctx->build_identity);
        clv_cache_key_add(&key, full);
        clv_cache_key_add(&key, source);
        *out = from_cache(ctx, key, full, counts);
        if (*out)
            goto end;
        lock = clv_cache_lock(ctx->cache_dir, key);
        *out = from_cache(ctx, key, full, counts); /* another process may have built it meanwhile */
        if (*out)
            goto end;
    }
    CLV_TRY(from_source(ctx, file, source, full, out, &log));
    if (nvidia)
        clv_counts_from_log(log ? log : "", variant->function, counts);
    if (nvidia && counts->registers < 0 && ctx->cache_dir)
        count_again(ctx, file, variant->function, source, full, counts);
    bool amd = ctx->limits.amd_simds > 0;
    if (ctx->cache_dir || amd)
        binary = binary_of(*out, &bytes);
    if (amd && binary) {
        clv_code_counts code;
        if (clv_code_object_counts(binary, bytes, variant->function, &code))
            *counts = (clv_counts){code.vgprs, code.sgprs, code.vgpr_spills * 4};
    }
    if (ctx->cache_dir && binary)
        clv_cache_store(ctx->cache_dir, key, binary, bytes, counts);
end:
    clv_cache_unlock(lock);
    free(binary);
    free(log);
    free(source);
    return status;
}
