/* SPDX-License-Identifier: Apache-2.0 */
/* clFFT: two plans, since the layouts of input and output change places. Debian's exports names of OpenSSL's
 * (MD5_Init) with another meaning, so it is no library that clvox is linked with: it is opened when it is
 * first needed, for clvox alone. */
#include "runtime/fourier/clfft.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clvox/files.h"
#include "clvox/kernels.h"
#include "runtime/device/context.h"

#include <clFFT.h>

/* Its functions that are called here. */
#define FUNCTIONS(f)                                                                                      \
    f(clfftSetup) f(clfftTeardown) f(clfftCreateDefaultPlan) f(clfftDestroyPlan) f(clfftSetPlanPrecision) \
    f(clfftSetLayout) f(clfftSetResultLocation) f(clfftSetPlanBatchSize) f(clfftSetPlanInStride)          \
    f(clfftSetPlanOutStride) f(clfftSetPlanDistance) f(clfftBakePlan) f(clfftGetTmpBufSize)               \
    f(clfftEnqueueTransform)

static struct {
#define MEMBER(name) __typeof__(name) *name;
    FUNCTIONS(MEMBER)
#undef MEMBER
    char missing[400]; /* why there is none; "": it is there */
} its;

static void open_library(void)
{
    const char *named = getenv("CLVOX_CLFFT");
    /* AddressSanitizer ends programs that use the latter. */
    const int apart = dlsym(RTLD_DEFAULT, "__sanitizer_print_stack_trace") ? 0 : RTLD_DEEPBIND;
    void *library = dlopen(named && named[0] ? named : "libclFFT.so.2", RTLD_NOW | RTLD_LOCAL | apart);
    const char *error = library ? NULL : dlerror();
#define FIND(name)                                                \
    *(void **)&its.name = library ? dlsym(library, #name) : NULL; \
    if (library && !its.name)                                     \
        error = dlerror();
    FUNCTIONS(FIND)
#undef FIND
    snprintf(its.missing, sizeof its.missing, "%s", error ? error : "");
}

const char *clvox_clfft_missing(void)
{
    static pthread_once_t opened = PTHREAD_ONCE_INIT;
    pthread_once(&opened, open_library);
    return its.missing;
}

typedef struct plan {
    clfftPlanHandle forward, back; /* 0: not made */
    clv_buffer *workspace;         /* between its passes; NULL: none is needed */
} plan;

/* The library has one state in a process, which is there while somebody has a
 * plan: what it built would hold on to their contexts. */
static pthread_mutex_t state = PTHREAD_MUTEX_INITIALIZER;
static int plans;

/* clFFT's own errors lie beyond OpenCL's. */
static int fail(const clvox_context *ctx, clfftStatus error, const char *call)
{
    if (error < CLFFT_BUGCHECK)
        return clv_cl_fail(error, call, "a Fourier transform by clFFT");
    return clvox_fail(CLVOX_ERROR_DEVICE, "Fourier transform: %s of clFFT failed on %s with its error %d",
                      call, ctx->limits.name, (int)error);
}

#define TRY_CLFFT(call, name)                      \
    do {                                           \
        clfftStatus error_ = (call);               \
        if (error_ != CLFFT_SUCCESS) {             \
            status = fail(ctx, error_, (name));    \
            goto end;                              \
        }                                          \
    } while (0)

/* clFFT runs kernels that it finds in the folder that the environment names when it is set up. */
static int set_up(const clvox_context *ctx)
{
    int status = CLVOX_OK;
    /* As clfftInitSetupData does, which is inline and has no definition to link with. */
    const clfftSetupData data = {.major = clfftVersionMajor, .minor = clfftVersionMinor, .patch = clfftVersionPatch};
    const char *folder = getenv("CLFFT_CACHE_PATH");
    char why[CLV_WHY] = "";
    pthread_mutex_lock(&state);
    if (plans == 0) {
        if (folder && !clvox_folder_own(folder, true, true, why, sizeof why)) {
            status = clvox_fail(
                CLVOX_ERROR_FILE,
                "clFFT runs what lies in CLFFT_CACHE_PATH, and %s %s; set it to a folder that only "
                "you can write, or unset it",
                why[0] ? why : folder, why[0] ? "" : "cannot be made");
            goto end;
        }
        TRY_CLFFT(its.clfftSetup(&data), "clfftSetup");
    }
    plans++;
end:
    pthread_mutex_unlock(&state);
    return status;
}

static void let_go(void)
{
    pthread_mutex_lock(&state);
    if (--plans == 0)
        its.clfftTeardown();
    pthread_mutex_unlock(&state);
}

static int takes(const int size[3])
{
    static const int radices[] = {2, 3, 5, 7, 11, 13};
    for (int a = 0; a < 3; a++) {
        int rest = size[a];
        for (int i = 0; i < 6; i++)
            while (rest % radices[i] == 0)
                rest /= radices[i];
        if (rest > 1)
            return clvox_fail(
                CLVOX_ERROR_DEVICE,
                "Fourier transform: clFFT takes sides without a prime factor above 13, and %d has "
                "%d; another provider takes them",
                size[a], rest);
    }
    const char *missing = clvox_clfft_missing();
    return !missing[0]
               ? CLVOX_OK
               : clvox_fail(
                     CLVOX_ERROR_DEVICE,
                     "Fourier transform: clFFT cannot be loaded (%s); install it (Debian: libclfft2), or "
                     "take another provider",
                     missing);
}

/* Local memory of OpenCL's full profile; with less clFFT may end the program, or never return. */
enum { LEAST_LOCAL = 32768 };

/* Axes of one voxel are left out, but for the one whose numbers are halved. */
static int make(clvox_context *ctx, const int size[3], bool back, clfftPlanHandle *out)
{
    int status = CLVOX_OK, dimensions = 0;
    bool packed = clv_fields_packed(ctx);
    size_t length[3], field[3], wave[3], voxels = packed ? 3 : 1, waves = 1;
    for (int a = 0; a < 3; a++) {
        if (a == 0 || size[a] > 1) {
            length[dimensions] = (size_t)size[a];
            field[dimensions] = voxels;
            wave[dimensions++] = waves;
        }
        voxels *= (size_t)size[a];
        waves *= (size_t)(a == 0 ? size[a] / 2 + 1 : size[a]);
    }
    size_t apart = packed ? 1 : voxels; /* components */
    TRY_CLFFT(its.clfftCreateDefaultPlan(out, ctx->context, (clfftDim)dimensions, length),
              "clfftCreateDefaultPlan");
    TRY_CLFFT(its.clfftSetPlanPrecision(*out, CLFFT_SINGLE), "clfftSetPlanPrecision");
    TRY_CLFFT(its.clfftSetLayout(*out, back ? CLFFT_HERMITIAN_INTERLEAVED : CLFFT_REAL,
                                 back ? CLFFT_REAL : CLFFT_HERMITIAN_INTERLEAVED),
              "clfftSetLayout");
    TRY_CLFFT(its.clfftSetResultLocation(*out, CLFFT_OUTOFPLACE), "clfftSetResultLocation");
    TRY_CLFFT(its.clfftSetPlanBatchSize(*out, 3), "clfftSetPlanBatchSize");
    TRY_CLFFT(its.clfftSetPlanInStride(*out, (clfftDim)dimensions, back ? wave : field),
              "clfftSetPlanInStride");
    TRY_CLFFT(its.clfftSetPlanOutStride(*out, (clfftDim)dimensions, back ? field : wave),
              "clfftSetPlanOutStride");
    TRY_CLFFT(its.clfftSetPlanDistance(*out, back ? waves : apart, back ? apart : waves),
              "clfftSetPlanDistance");
    TRY_CLFFT(its.clfftBakePlan(*out, 1, &ctx->queue, NULL, NULL), "clfftBakePlan");
end:
    return status;
}

static void destroy(void *made)
{
    plan *p = made;
    if (p->forward)
        its.clfftDestroyPlan(&p->forward);
    if (p->back)
        its.clfftDestroyPlan(&p->back);
    clv_buffer_destroy(&p->workspace);
    free(p);
    let_go();
}

static int create(clvox_context *ctx, const int size[3], void **out)
{
    int status = CLVOX_OK;
    size_t workspace[2] = {0}, local = ctx->limits.local_bytes;
    *out = NULL;
    if (local < LEAST_LOCAL)
        return clvox_fail(CLVOX_ERROR_DEVICE,
                          "Fourier transform: clFFT works in local memory of %d bytes or more, and %s has "
                          "%zu",
                          LEAST_LOCAL, ctx->limits.name, local);
    plan *p = calloc(1, sizeof *p);
    if (!p)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory for a Fourier transform");
    status = set_up(ctx);
    if (status < 0) {
        free(p);
        return status;
    }
    /* Its cache is not made for processes that fill it at once. */
    long holder;
    int lock = ctx->cache_dir ? clv_cache_lock(ctx->cache_dir, "-clfft", clv_cache_patience, &holder) : -1;
    status = make(ctx, size, false, &p->forward);
    if (status >= 0)
        status = make(ctx, size, true, &p->back);
    clv_cache_unlock(lock);
    CLV_TRY(status);
    TRY_CLFFT(its.clfftGetTmpBufSize(p->forward, &workspace[0]), "clfftGetTmpBufSize");
    TRY_CLFFT(its.clfftGetTmpBufSize(p->back, &workspace[1]), "clfftGetTmpBufSize");
    if (workspace[0] < workspace[1])
        workspace[0] = workspace[1];
    if (workspace[0] > 0)
        CLV_TRY(clv_buffer_create(ctx, workspace[0], "workspace for clFFT", &p->workspace));
    *out = p;
    p = NULL;
end:
    if (p)
        destroy(p);
    return status;
}

static int run(clvox_context *ctx, const plan *p, bool back, cl_mem from, cl_mem to)
{
    int status = CLVOX_OK;
    clv_span span;
    CLV_TRY(clv_span_begin(ctx, &span));
    TRY_CLFFT(its.clfftEnqueueTransform(back ? p->back : p->forward, back ? CLFFT_BACKWARD : CLFFT_FORWARD, 1,
                                        &ctx->queue, 0, NULL, NULL, &from, &to,
                                        p->workspace ? p->workspace->mem : NULL),
              "clfftEnqueueTransform");
end:
    return clv_span_end(ctx, &span, back ? "clfft back" : "clfft forward", status);
}

static int forward(clvox_context *ctx, void *made, const clv_buffer *field, clv_buffer *spectrum)
{
    return run(ctx, made, false, field->mem, spectrum->mem);
}

static int back(clvox_context *ctx, void *made, clv_buffer *spectrum, clv_buffer *field)
{
    return run(ctx, made, true, spectrum->mem, field->mem);
}

const clv_fourier_library clv_fourier_clfft = {"clfft", false, takes, create, forward, back, destroy};
