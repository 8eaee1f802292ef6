/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/program/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/limit.h"
#include "runtime/driver/driver.h"
#include "runtime/program/source.h"

char *clv_build_identity(const clvox_device_limits *limits)
{
    char *text = NULL;
    int length = asprintf(&text, "clvox %s|%s|%s|%s|%s|%s|%s", CLVOX_VERSION, limits->platform,
                          limits->platform_version, limits->name, limits->version, limits->driver,
                          limits->architecture);
    return length < 0 ? NULL : text;
}

/* ---- requests ---- */

int clv_program_request_make(const clvox_context *ctx, const clv_entry *entry, const clv_variant *variant,
                             clv_tile tile, const char *extra, clv_program_request *request)
{
    int status = CLVOX_OK;
    const clv_driver *driver = ctx->driver;
    const char *own = driver->options ? driver->options(&ctx->limits) : NULL;
    char options[768];
    *request = (clv_program_request){.file = entry->file, .function = variant->function};
    CLV_TRY(clv_program_options(ctx->packed, variant, tile, extra, options, sizeof options));
    CLV_TRY(clv_source_assemble(entry->file, variant->function, &request->source));
    int length = snprintf(request->options, sizeof request->options, "%s%s%s", options, own ? " " : "",
                          own ? own : "");
    if (driver->register_cap && variant->register_cap > 0)
        snprintf(request->options + length, sizeof request->options - (size_t)length, " %s%d",
                 driver->register_cap, variant->register_cap);
    request->key = clv_cache_key_start();
    clv_cache_key_add(&request->key, ctx->build_identity ? ctx->build_identity : "");
    clv_cache_key_add(&request->key, request->options);
    clv_cache_key_add(&request->key, request->source);
end:
    return status;
}

void clv_program_request_free(clv_program_request *request)
{
    free(request->source);
    request->source = NULL;
}

/* A compiler says its counts only when it really compiles, and not when the
 * driver's own cache answers. Once per cache entry it is worth a build that
 * the driver has not seen: with a kernel of a name that is new, since the driver
 * looks at the code and not at the source. */
static void write_unseen(FILE *to)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    fprintf(to, "\n__kernel void clv_unseen_%lld_%ld_%d(void)\n{\n}\n", (long long)now.tv_sec, now.tv_nsec,
            (int)getpid());
}

/* The text that a compiler gets for a request; the caller frees it. NULL without memory. */
static char *text_of(const clvox_context *ctx, const clv_program_request *request)
{
    char *text = NULL;
    size_t length = 0;
    FILE *to = open_memstream(&text, &length);
    if (!to)
        return NULL;
    fputs(request->source, to);
    if (ctx->driver->counts_of_log && ctx->cache_dir)
        write_unseen(to);
    fclose(to);
    return text;
}

/* ---- the compiler ---- */

/* Result of compiling a request, which the cache keeps. */
typedef struct clv_code {
    unsigned char *data; /* NULL: nothing */
    size_t bytes;
    bool to_link; /* of the first of two steps */
    char *log;
} clv_code;

static char *build_log(cl_program program, cl_device_id device)
{
    size_t length = 0;
    clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, 0, NULL, &length);
    char *log = calloc(1, length + 1);
    if (log && clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, length, log, NULL) != CL_SUCCESS)
        log[0] = 0;
    return log;
}

static int short_of_addresses(const clvox_context *ctx, uint64_t limit)
{
    return clvox_fail(
        CLVOX_ERROR_MEMORY,
        "the limit of %.0f MB on memory (ulimit -v) is too low for the compiler of %s; allow 1 GB and what "
        "the images take",
        (double)limit * 1e-6, ctx->limits.name);
}

int clv_compiler_check(const clvox_context *ctx)
{
    uint64_t limit, left;
    const size_t least = ctx->driver->least_addresses;
    return least && clv_address_space(&limit, &left) && left < least ? short_of_addresses(ctx, limit)
                                                                     : CLVOX_OK;
}

/* *out is there even where it does not compile, for its log; NULL: no program at all. */
static cl_int compile_texts(clvox_context *ctx, const char **texts, cl_uint count, const char *options,
                            bool to_link, cl_program *out)
{
    cl_int error;
    *out = clCreateProgramWithSource(ctx->context, count, texts, NULL, &error);
    if (error != CL_SUCCESS)
        return error;
    return to_link ? clCompileProgram(*out, 1, &ctx->device, options, 0, NULL, NULL, NULL, NULL)
                   : clBuildProgram(*out, 1, &ctx->device, options, NULL, NULL);
}

/* With the declarations of clvox in the place of the driver's. NULL: it has to have its own. */
static cl_program compile_declared(clvox_context *ctx, const char *text, const char *options, bool to_link)
{
    const char *without = ctx->driver->undeclared ? ctx->driver->undeclared(&ctx->limits) : NULL;
    cl_program program = NULL;
    char *declarations = without ? clv_source_text("common/declared.clh") : NULL, *given = NULL;
    if (declarations && asprintf(&given, "%s%s", options, without) < 0)
        given = NULL;
    if (given &&
        compile_texts(ctx, (const char *[]){declarations, text}, 2, given, to_link, &program) != CL_SUCCESS &&
        program) {
        char *log = build_log(program, ctx->device);
        clv_say(ctx, 2, "not with cl/common/declared.clh: %.500s", log ? log : "");
        free(log);
        clReleaseProgram(program);
        program = NULL;
    }
    free(declarations);
    free(given);
    return program;
}

static int compile(clvox_context *ctx, const char *file, const char *text, const char *options, bool to_link,
                   cl_program *out, char **log)
{
    int status = CLVOX_OK;
    uint64_t limit, left;
    cl_int error = CL_SUCCESS;
    *log = NULL;
    cl_program program = compile_declared(ctx, text, options, to_link);
    if (!program)
        error = compile_texts(ctx, &text, 1, options, to_link, &program);
    if (!program)
        CLV_CL(error, "clCreateProgramWithSource", file);
    *log = build_log(program, ctx->device);
    if (error != CL_SUCCESS && clv_address_space(&limit, &left) && left < ctx->driver->addresses) {
        status = short_of_addresses(ctx, limit);
        goto end;
    }
    if (error == CL_BUILD_PROGRAM_FAILURE || error == CL_COMPILE_PROGRAM_FAILURE ||
        error == CL_INVALID_BUILD_OPTIONS || error == CL_INVALID_COMPILER_OPTIONS) {
        status = clvox_fail(CLVOX_ERROR_BUILD, "cl/%s.cl does not build on %s (%s): %.1500s", file,
                            ctx->limits.name, clv_cl_error_name(error), *log ? *log : "");
        goto end;
    }
    if (error != CL_SUCCESS) {
        status = clvox_fail(CLVOX_ERROR_DEVICE,
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

unsigned char *clv_program_binary(cl_program program, size_t *bytes)
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

static void code_free(clv_code *code)
{
    free(code->data);
    free(code->log);
    *code = (clv_code){.data = NULL};
}

/* Reads a kernel's registers from the compiler's log or the code. */
static void count(const clvox_context *ctx, const char *function, const clv_code *code, clv_counts *counts)
{
    const clv_driver *driver = ctx->driver;
    *counts = (clv_counts){-1, -1, -1};
    if (driver->counts_of_log && code->log)
        driver->counts_of_log(code->log, function, counts);
    if (driver->counts_of_code && code->data)
        driver->counts_of_code(code->data, code->bytes, function, counts);
}

/* ---- programs ---- */

/* Code that is to be linked has a key of its own. */
static clv_cache_key key_of(const clv_program_request *request, bool to_link)
{
    clv_cache_key key = request->key;
    if (to_link)
        clv_cache_key_add(&key, "to link");
    return key;
}

/* Notes the compiler's figures and keeps them with the code. */
static void take_note(clvox_context *ctx, const clv_program_request *request, const clv_code *code,
                      clv_program *out)
{
    ctx->compiled++;
    clv_say(ctx, 2, "compiled %s", request->function);
    count(ctx, request->function, code, &out->counts);
    if (ctx->cache_dir && code->data)
        clv_cache_store(ctx->cache_dir, key_of(request, code->to_link), code->data, code->bytes, &out->counts);
}

/* NULL: refused. */
static cl_program load(clvox_context *ctx, const char *options, const unsigned char *data, size_t bytes)
{
    cl_int error, refused = CL_SUCCESS;
    cl_program program =
        clCreateProgramWithBinary(ctx->context, 1, &ctx->device, &bytes, &data, &refused, &error);
    if (error == CL_SUCCESS && refused == CL_SUCCESS)
        refused = clBuildProgram(program, 1, &ctx->device, options, NULL, NULL);
    if (error == CL_SUCCESS && refused != CL_SUCCESS) {
        clReleaseProgram(program);
        error = refused;
    }
    return error == CL_SUCCESS ? program : NULL;
}

/* Takes over the reference. NULL: refused. */
static cl_program link_one(clvox_context *ctx, cl_program compiled)
{
    cl_int error = CL_SUCCESS;
    ctx->linked++;
    cl_program program = clLinkProgram(ctx->context, 1, &ctx->device, NULL, 1, &compiled, NULL, NULL, &error);
    clReleaseProgram(compiled);
    if (program && error != CL_SUCCESS) {
        clReleaseProgram(program);
        program = NULL;
    }
    return program;
}

/* The second of two steps. NULL: refused. Under a limit on addresses, by the linker, which says what it
 * lacks: built from bitcode, a compiler may end the process. */
static cl_program linked(clvox_context *ctx, const clv_code *code)
{
    uint64_t limit, left;
    size_t bytes;
    cl_int error, refused = CL_SUCCESS;
    const unsigned char *data = code->data,
                        *bitcode = ctx->driver->bitcode
                                       ? ctx->driver->bitcode(&ctx->limits, data, code->bytes, &bytes)
                                       : NULL;
    cl_program program =
        bitcode && !clv_address_space(&limit, &left) ? load(ctx, NULL, bitcode, bytes) : NULL;
    if (program)
        return program;
    program = clCreateProgramWithBinary(ctx->context, 1, &ctx->device, &code->bytes, &data, &refused, &error);
    if (error == CL_SUCCESS && refused == CL_SUCCESS)
        return link_one(ctx, program);
    if (error == CL_SUCCESS)
        clReleaseProgram(program);
    return NULL;
}

static cl_program program_of(clvox_context *ctx, const char *options, const clv_code *code)
{
    return code->to_link ? linked(ctx, code) : load(ctx, options, code->data, code->bytes);
}

static bool from_cache(clvox_context *ctx, const clv_program_request *request, clv_program *out)
{
    clv_code code = {.to_link = ctx->two_steps};
    clv_counts counts;
    *out = (clv_program){.program = NULL};
    if (!clv_cache_load(ctx->cache_dir, key_of(request, code.to_link), &code.data, &code.bytes, &counts))
        return false;
    *out = (clv_program){program_of(ctx, request->options, &code), counts};
    code_free(&code);
    return out->program != NULL;
}

static int from_text(clvox_context *ctx, const clv_program_request *request, clv_program *out)
{
    int status = CLVOX_OK;
    clv_code code = {.to_link = ctx->two_steps};
    cl_program program = NULL;
    char *text = text_of(ctx, request);
    *out = (clv_program){.program = NULL};
    if (!text) {
        status = clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
        goto end;
    }
    CLV_TRY(compile(ctx, request->file, text, request->options, code.to_link, &program, &code.log));
    uint64_t limit, left;
    const bool by_bitcode = code.to_link && !clv_address_space(&limit, &left);
    if (ctx->cache_dir || by_bitcode || ctx->driver->counts_of_code)
        code.data = clv_program_binary(program, &code.bytes);
    if (by_bitcode && code.data) {
        out->program = linked(ctx, &code);
        clReleaseProgram(program);
    } else { /* where the driver gives no binaries, or under a limit on addresses, which asking for one exceeds */
        out->program = code.to_link ? link_one(ctx, program) : program;
    }
    if (!out->program) {
        status = clvox_fail(CLVOX_ERROR_BUILD, "cl/%s.cl: %s does not link %s", request->file,
                            ctx->limits.name, request->function);
        goto end;
    }
    take_note(ctx, request, &code, out);
end:
    code_free(&code);
    free(text);
    return status;
}

void clv_program_let_go(clvox_context *ctx)
{
    clv_cache_unlock(ctx->held - 1);
    ctx->held = 0;
}

int clv_program_build(clvox_context *ctx, const clv_program_request *request, clv_program *out)
{
    int status = CLVOX_OK, lock = -1;
    long holder = 0;
    char name[3];
    clv_program_let_go(ctx); /* nobody who holds one waits for another */
    if (ctx->cache_dir) {
        if (from_cache(ctx, request, out))
            return CLVOX_OK;
        /* By parts of the keys: others build meanwhile, too. */
        snprintf(name, sizeof name, "%02x", (unsigned)(request->key.word[0] & 255));
        lock = clv_cache_lock(ctx->cache_dir, name, ctx->options.left_out ? 0 : clv_cache_patience, &holder);
        if (lock == CLV_CACHE_BUSY && ctx->options.left_out)
            return CLVOX_OK;
        if (lock == CLV_CACHE_BUSY)
            clv_say(ctx, 1, "process %ld has held %s/.lock%s for %.0f s, and is waited for no longer", holder,
                    ctx->cache_dir, name, clv_cache_patience);
        if (from_cache(ctx, request, out)) /* another process may have built it meanwhile */
            goto end;
    }
    status = from_text(ctx, request, out);
    /* Drivers of two steps compile most of it when it is first launched: nobody else is to do the same. */
    if (status >= 0 && ctx->two_steps && lock >= 0) {
        ctx->held = lock + 1;
        lock = -1;
    }
end:
    clv_cache_unlock(lock);
    return status;
}
