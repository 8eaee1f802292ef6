/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "runtime/codeobject.h"
#include "runtime/compose.h"
#include "runtime/source.h"

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

/* PoCL keeps what it has compiled. Asked for a binary it compiles every kernel
 * a second time, for work-groups of any size: of 57 kernels in one program 29
 * seconds of a core instead of 12. There the text is what is kept of a program
 * of many; of one kernel it is the binary, as reading text takes 0.02 s more. */
static const char text_magic[8] = "CLVOXS1";

bool clv_driver_keeps(const clvox_device_limits *limits)
{
    const char *kept = getenv("POCL_KERNEL_CACHE");
    return strstr(limits->platform, "Portable Computing Language") && (!kept || strcmp(kept, "0") != 0);
}

unsigned char *clv_program_binary(const clvox_context *ctx, cl_program program, const char *text_of,
                                  size_t *bytes)
{
    *bytes = 0;
    if (text_of && ctx->driver_keeps) {
        *bytes = sizeof text_magic + strlen(text_of) + 1;
        unsigned char *text = malloc(*bytes);
        if (text) {
            memcpy(text, text_magic, sizeof text_magic);
            memcpy(text + sizeof text_magic, text_of, *bytes - sizeof text_magic);
        }
        return text;
    }
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

cl_program clv_program_load(clvox_context *ctx, const char *options, const unsigned char *data, size_t bytes)
{
    cl_int error, refused = CL_SUCCESS;
    cl_program program;
    bool is_text = bytes > sizeof text_magic && !memcmp(data, text_magic, sizeof text_magic);
    if (is_text && !data[bytes - 1]) {
        const char *text = (const char *)data + sizeof text_magic;
        program = clCreateProgramWithSource(ctx->context, 1, &text, NULL, &error);
    } else {
        program = clCreateProgramWithBinary(ctx->context, 1, &ctx->device, &bytes, &data, &refused, &error);
    }
    if (error == CL_SUCCESS && refused == CL_SUCCESS)
        refused = clBuildProgram(program, 1, &ctx->device, options, NULL, NULL);
    if (error == CL_SUCCESS && refused != CL_SUCCESS) {
        clReleaseProgram(program);
        error = refused;
    }
    return error == CL_SUCCESS ? program : NULL;
}

int clv_program_compile(clvox_context *ctx, const char *file, const char *source, const char *options,
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

void clv_write_unseen(FILE *to)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    fprintf(to, "\n__kernel void clv_unseen_%lld_%ld_%d(void)\n{\n}\n", (long long)now.tv_sec, now.tv_nsec,
            (int)getpid());
}

/* Compiles once more for the sake of the log, which the caller frees. */
static char *log_again(clvox_context *ctx, const clv_unit *unit)
{
    char *text = NULL, *log = NULL;
    size_t length = 0;
    cl_program program = NULL;
    FILE *to = open_memstream(&text, &length);
    if (!to)
        return NULL;
    fputs(unit->source, to);
    clv_write_unseen(to);
    fclose(to);
    if (clv_program_compile(ctx, unit->file, text, unit->options, &program, &log) == CLVOX_OK)
        clReleaseProgram(program);
    free(text);
    return log;
}

void clv_program_counts(const clvox_context *ctx, const char *function, const char *log,
                        const unsigned char *binary, size_t bytes, clv_counts *counts)
{
    clv_code_counts code;
    *counts = (clv_counts){-1, -1, -1};
    if (ctx->limits.nvidia_major > 0)
        clv_counts_from_log(log ? log : "", function, counts);
    if (ctx->limits.amd_simds > 0 && binary && clv_code_object_counts(binary, bytes, function, &code))
        *counts = (clv_counts){code.vgprs, code.sgprs, code.vgpr_spills * 4};
}

/* ---- one kernel ---- */

int clv_unit_make(const clvox_context *ctx, const clv_variant *variant, const char *file, const char *options,
                  clv_unit *unit)
{
    int status = CLVOX_OK;
    bool nvidia = ctx->limits.nvidia_major > 0;
    *unit = (clv_unit){.file = file, .function = variant->function, .key = clv_cache_key_start()};
    CLV_TRY(clv_source_assemble(file, variant->function, &unit->source));
    int length = snprintf(unit->options, sizeof unit->options, "%s%s", options,
                          nvidia ? " -cl-nv-verbose" : "");
    if (nvidia && variant->register_cap > 0)
        snprintf(unit->options + length, sizeof unit->options - (size_t)length, " -cl-nv-maxrregcount=%d",
                 variant->register_cap);
    clv_cache_key_add(&unit->key, ctx->build_identity ? ctx->build_identity : "");
    clv_cache_key_add(&unit->key, unit->options);
    clv_cache_key_add(&unit->key, unit->source);
end:
    return status;
}

void clv_unit_free(clv_unit *unit)
{
    free(unit->source);
    unit->source = NULL;
}

/* The program of many kernels that an entry refers to. It is kept, as others
 * will ask for it. */
static cl_program load_shared(clvox_context *ctx, clv_cache_key key, const char *options)
{
    unsigned char *data = NULL;
    size_t bytes = 0;
    char common[256];
    clv_counts none;
    for (int i = 0; i < ctx->shared_count; i++)
        if (!memcmp(&ctx->shared[i].key, &key, sizeof key))
            return ctx->shared[i].program;
    if (!clv_cache_load(ctx->cache_dir, key, &data, &bytes, &none))
        return NULL;
    clv_compose_common(options, common, sizeof common);
    cl_program program = clv_program_load(ctx, common, data, bytes);
    free(data);
    if (program && clv_shared_keep(ctx, key, program) < 0) {
        clReleaseProgram(program);
        program = NULL;
    }
    return program;
}

int clv_shared_keep(clvox_context *ctx, clv_cache_key key, cl_program program)
{
    clv_shared *grown = clv_grown(ctx->shared, ctx->shared_count, &ctx->shared_room, sizeof *grown);
    if (!grown)
        return CLVOX_ERROR_MEMORY;
    ctx->shared = grown;
    grown[ctx->shared_count++] = (clv_shared){key, program};
    return CLVOX_OK;
}

bool clv_unit_load(clvox_context *ctx, const clv_unit *unit, clv_program *out)
{
    unsigned char *data = NULL;
    size_t bytes = 0;
    clv_cache_key shared;
    *out = (clv_program){.program = NULL};
    if (!ctx->cache_dir || !clv_cache_load(ctx->cache_dir, unit->key, &data, &bytes, &out->counts))
        return false;
    if (clv_cache_is_reference(data, bytes, &shared, out->function)) {
        out->program = load_shared(ctx, shared, unit->options);
        if (out->program)
            clRetainProgram(out->program);
    } else {
        snprintf(out->function, sizeof out->function, "%s", unit->function);
        out->program = clv_program_load(ctx, unit->options, data, bytes);
    }
    free(data);
    return out->program != NULL;
}

int clv_unit_build(clvox_context *ctx, const clv_unit *unit, clv_program *out)
{
    int status = CLVOX_OK, lock = -1;
    char *log = NULL;
    unsigned char *binary = NULL;
    size_t bytes = 0;
    if (ctx->cache_dir) {
        if (clv_unit_load(ctx, unit, out))
            return CLVOX_OK;
        lock = clv_cache_lock(ctx->cache_dir, unit->key);
        if (clv_unit_load(ctx, unit, out)) /* another process may have built it meanwhile */
            goto end;
    }
    *out = (clv_program){.program = NULL};
    snprintf(out->function, sizeof out->function, "%s", unit->function);
    CLV_TRY(clv_program_compile(ctx, unit->file, unit->source, unit->options, &out->program, &log));
    ctx->compiled++;
    if (ctx->cache_dir || ctx->limits.amd_simds > 0)
        binary = clv_program_binary(ctx, out->program, NULL, &bytes);
    clv_program_counts(ctx, unit->function, log, binary, bytes, &out->counts);
    if (ctx->limits.nvidia_major > 0 && out->counts.registers < 0 && ctx->cache_dir) {
        free(log);
        log = log_again(ctx, unit);
        clv_program_counts(ctx, unit->function, log, binary, bytes, &out->counts);
    }
    if (ctx->cache_dir && binary)
        clv_cache_store(ctx->cache_dir, unit->key, binary, bytes, &out->counts);
end:
    clv_cache_unlock(lock);
    free(binary);
    free(log);
    return status;
}
