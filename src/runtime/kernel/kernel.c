/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels that a context has built, found again by what was asked for. */
#include "runtime/kernel/kernel.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "runtime/device/context.h"
#include "runtime/program/program.h"
#include "runtime/program/source.h"

static void forget(clvox_context *ctx)
{
    for (int i = 0; i < ctx->memo_room; i++)
        ctx->memo[i].entry = NULL;
    ctx->memo_count = 0;
}

int clv_force_variant(clvox_context *ctx, const char *entry, const char *variant, int tile)
{
    clv_forced *place = NULL;
    for (int i = 0; i < ctx->forced_count && !place; i++)
        if (!strcmp(ctx->forced[i].entry, entry))
            place = &ctx->forced[i];
    if (!place) {
        clv_forced *grown = realloc(ctx->forced, (size_t)(ctx->forced_count + 1) * sizeof *grown);
        if (!grown)
            return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
        ctx->forced = grown;
        place = &grown[ctx->forced_count++];
        snprintf(place->entry, sizeof place->entry, "%s", entry);
    }
    snprintf(place->variant, sizeof place->variant, "%s", variant ? variant : "");
    place->tile = tile;
    forget(ctx);
    return CLVOX_OK;
}

const char *clv_forced_variant(const clvox_context *ctx, const char *entry)
{
    for (int i = 0; i < ctx->forced_count; i++)
        if (ctx->forced[i].variant[0] && !strcmp(ctx->forced[i].entry, entry))
            return ctx->forced[i].variant;
    return NULL;
}

void clv_kernels_as(clvox_context *ctx, const int size[3])
{
    if (size)
        forget(ctx);
    ctx->class_as = size ? clv_wisdom_class(size) + 1 : 0;
}

/* ---- what was answered before ---- */

static size_t memo_start(const clvox_context *ctx, const clv_entry *entry, const char *extra,
                         size_t local_extra, int size_class)
{
    uint64_t h = (uint64_t)(uintptr_t)entry >> 4;
    for (; *extra; extra++)
        h = (h ^ (unsigned char)*extra) * 0x100000001b3ull;
    h = (h ^ local_extra ^ (uint64_t)size_class << 48) * 0x9e3779b97f4a7c15ull;
    return (size_t)(h >> 32) & (size_t)(ctx->memo_room - 1);
}

/* The place of this question, or the free place where it belongs. */
static clv_memo *memo_find(const clvox_context *ctx, const clv_entry *entry, const char *extra,
                           size_t local_extra, int size_class)
{
    size_t at = memo_start(ctx, entry, extra, local_extra, size_class);
    for (;; at = (at + 1) & (size_t)(ctx->memo_room - 1)) {
        clv_memo *m = &ctx->memo[at];
        if (!m->entry || (m->entry == entry && m->local_extra == local_extra && m->size_class == size_class &&
                          !strcmp(m->extra, extra)))
            return m;
    }
}

/* extra is that of the built kernel, which lives as long as the context. */
static int memo_put(clvox_context *ctx, const clv_entry *entry, const char *extra, size_t local_extra,
                    int size_class, const clv_kernel *kernel)
{
    if (2 * (ctx->memo_count + 1) > ctx->memo_room) {
        clv_memo *old = ctx->memo;
        int old_room = ctx->memo_room;
        clv_memo *bigger = calloc(old_room ? 2 * (size_t)old_room : 64, sizeof *bigger);
        if (!bigger)
            return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
        ctx->memo = bigger;
        ctx->memo_room = old_room ? 2 * old_room : 64;
        for (int i = 0; i < old_room; i++)
            if (old[i].entry)
                *memo_find(ctx, old[i].entry, old[i].extra, old[i].local_extra, old[i].size_class) = old[i];
        free(old);
    }
    *memo_find(ctx, entry, extra, local_extra, size_class) =
        (clv_memo){entry, extra, local_extra, size_class, kernel};
    ctx->memo_count++;
    return CLVOX_OK;
}

int clv_kernels_asked(const clvox_context *ctx, clv_asked *out, int room)
{
    int count = 0;
    for (int i = 0; i < ctx->memo_room && count < room; i++)
        if (ctx->memo[i].entry)
            out[count++] = (clv_asked){ctx->memo[i].entry, ctx->memo[i].extra, ctx->memo[i].local_extra,
                                       ctx->memo[i].size_class, ctx->memo[i].kernel};
    return count;
}

/* ---- building ---- */

static void built_free(clv_built *built)
{
    if (!built)
        return;
    if (built->kernel.kernel)
        clReleaseKernel(built->kernel.kernel);
    if (built->program)
        clReleaseProgram(built->program);
    free(built->extra);
    free(built);
}

void clv_kernels_release(clvox_context *ctx)
{
    for (int i = 0; i < ctx->built_count; i++)
        built_free(ctx->built[i]);
    free(ctx->built);
    free(ctx->memo);
    free(ctx->forced);
}

/* Asks the driver what the built kernel takes, and whether its tile still runs. */
static int inspect(clvox_context *ctx, clv_kernel *kernel, const clv_counts *counts,
                   const clv_candidate *candidate)
{
    int status = CLVOX_OK;
    size_t most = 0, promised[3] = {0, 0, 0};
    cl_ulong local = 0, per_item = 0;
    clv_tile t = kernel->tile;
    kernel->registers = counts->registers;
    kernel->spills = counts->spills;
    CLV_CL(clGetKernelWorkGroupInfo(kernel->kernel, ctx->device, CL_KERNEL_WORK_GROUP_SIZE, sizeof most,
                                    &most, NULL),
           "clGetKernelWorkGroupInfo", kernel->label);
    CLV_CL(clGetKernelWorkGroupInfo(kernel->kernel, ctx->device, CL_KERNEL_LOCAL_MEM_SIZE, sizeof local,
                                    &local, NULL),
           "clGetKernelWorkGroupInfo", kernel->label);
    CLV_CL(clGetKernelWorkGroupInfo(kernel->kernel, ctx->device, CL_KERNEL_PRIVATE_MEM_SIZE, sizeof per_item,
                                    &per_item, NULL),
           "clGetKernelWorkGroupInfo", kernel->label);
    /* Drivers of GPUs say 256 even of a kernel that was compiled for more: a work-group size that
     * the compiler took is one that it made the registers suffice for. */
    CLV_CL(clGetKernelWorkGroupInfo(kernel->kernel, ctx->device, CL_KERNEL_COMPILE_WORK_GROUP_SIZE,
                                    sizeof promised, promised, NULL),
           "clGetKernelWorkGroupInfo", kernel->label);
    if (ctx->driver->local_twice && ctx->driver->local_twice(&ctx->limits))
        local /= 2;
    bool fits = (size_t)t.x * (size_t)t.y * (size_t)t.z <= most ||
                (promised[0] == (size_t)t.x && promised[1] == (size_t)t.y && promised[2] == (size_t)t.z);
    kernel->local_bytes = (int)(local > candidate->local_bytes ? local : candidate->local_bytes);
    clv_footprint footprint = {t.x * t.y * t.z, counts->registers, counts->scalars,
                               (size_t)kernel->local_bytes};
    clv_occupancy_of(&ctx->limits, &footprint, &kernel->resources);
    kernel->occupancy = kernel->resources.fraction;
    if (!fits || kernel->resources.groups == 0 || local > ctx->limits.local_bytes) {
        status = clvox_fail(CLVOX_ERROR_DEVICE,
                            "%s takes more registers or local memory than %s has (work-groups of %zu items "
                            "run, with %llu bytes of local memory each); choose another tile",
                            kernel->label, ctx->limits.name, most, (unsigned long long)local);
        goto end;
    }
    kernel->reserve = clv_private_reserve(&ctx->limits, (size_t)per_item);
    if (kernel->reserve > ctx->limits.global_bytes) {
        status = clvox_fail(
            CLVOX_ERROR_DEVICE,
            "%s keeps %zu KiB of private memory a work-item, %.1f GiB for all that %s runs at once, "
            "which has %.1f; choose another variant",
            kernel->label, (size_t)per_item >> 10, (double)kernel->reserve / 0x1p30, ctx->limits.name,
            (double)ctx->limits.global_bytes / 0x1p30);
    }
end:
    return status;
}

/* Whether the driver's compiler may be given it. */
static int is_sound(const clvox_context *ctx, const clv_entry *entry, const clv_variant *variant)
{
    char why[256];
    if (ctx->driver->miscompiles && ctx->driver->miscompiles(&ctx->limits, variant->function, why, sizeof why))
        return clvox_fail(CLVOX_ERROR_DEVICE, "%s/%s is left out on %s: %s", entry->name, variant->name,
                          ctx->limits.name, why);
    return CLVOX_OK;
}

/* Shared by all that was built from the same text. */
static int take_turns(const clvox_context *ctx, clv_kernel *kernel, const char *extra)
{
    int status = CLVOX_OK;
    char options[768];
    clv_cache_key key = clv_cache_key_start();
    if (!ctx->turns)
        return CLVOX_OK;
    CLV_TRY(clv_program_options(ctx->packed, kernel->variant, kernel->tile, extra, options, sizeof options));
    clv_cache_key_add(&key, kernel->entry->file);
    clv_cache_key_add(&key, kernel->variant->function);
    clv_cache_key_add(&key, options);
    kernel->shared = ctx->driver->share(ctx, &key);
    if (!kernel->shared)
        status = clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
end:
    return status;
}

/* Makes a kernel of the context from its program, whose reference stays the
 * caller's; of none, one that is left out. CLVOX_ERROR_DEVICE: it does not run with its tile. */
static int adopt(clvox_context *ctx, const clv_entry *entry, const clv_candidate *candidate, const char *extra,
                 const clv_program *program, const clv_kernel **out)
{
    int status = CLVOX_OK;
    cl_int error;
    clv_tile t = candidate->tile;
    clv_built *built = calloc(1, sizeof *built);
    if (!built || !(built->extra = strdup(extra))) {
        status = clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
        goto end;
    }
    clv_kernel *kernel = &built->kernel;
    kernel->entry = entry;
    kernel->variant = candidate->variant;
    kernel->tile = t;
    clv_variant_covers(candidate->variant, t, kernel->item, kernel->group);
    CLV_TRY(take_turns(ctx, kernel, extra));
    snprintf(kernel->label, sizeof kernel->label, "%s/%s %dx%dx%d", entry->name, candidate->variant->name,
             t.x, t.y, t.z);
    if (program->program) {
        kernel->kernel = clCreateKernel(program->program, candidate->variant->function, &error);
        CLV_CL(error, "clCreateKernel", candidate->variant->function);
        CLV_TRY(inspect(ctx, kernel, &program->counts, candidate));
        CLV_CL(clRetainProgram(program->program), "clRetainProgram", kernel->label);
        built->program = program->program;
    } else {
        ++*ctx->options.left_out;
    }
    clv_built **grown = clv_grown(ctx->built, ctx->built_count, &ctx->built_room, sizeof *grown);
    if (!grown) {
        status = CLVOX_ERROR_MEMORY;
        goto end;
    }
    ctx->built = grown;
    grown[ctx->built_count++] = built;
    clv_say(ctx, 2, "built %s %s", kernel->label, extra);
    *out = kernel;
    built = NULL;
end:
    built_free(built);
    return status;
}

static bool is_candidate(const clv_kernel *kernel, const clv_candidate *candidate)
{
    return kernel->variant == candidate->variant && !memcmp(&kernel->tile, &candidate->tile, sizeof kernel->tile);
}

static int build(clvox_context *ctx, const clv_entry *entry, const clv_candidate *candidate,
                 const char *extra, const clv_kernel **out)
{
    int status = CLVOX_OK;
    clv_program_request request = {.source = NULL};
    clv_program program = {.program = NULL};
    CLV_TRY(is_sound(ctx, entry, candidate->variant));
    CLV_TRY(clv_program_request_make(ctx, entry, candidate->variant, candidate->tile, extra, &request));
    CLV_TRY(clv_program_build(ctx, &request, &program));
    CLV_TRY(adopt(ctx, entry, candidate, extra, &program, out));
end:
    if (program.program)
        clReleaseProgram(program.program);
    clv_program_request_free(&request);
    return status;
}

static int get_candidate(clvox_context *ctx, const clv_entry *entry, const clv_candidate *candidate,
                         const char *extra, const clv_kernel **out)
{
    for (int i = 0; i < ctx->built_count; i++) {
        const clv_kernel *k = &ctx->built[i]->kernel;
        if (k->kernel && k->entry == entry && is_candidate(k, candidate) &&
            !strcmp(ctx->built[i]->extra, extra)) {
            *out = k;
            return CLVOX_OK;
        }
    }
    return build(ctx, entry, candidate, extra, out);
}

/* ---- choosing ---- */

/* A form of two variants, one for each kind of device, is asked for by the word
 * that their names begin with, and a single one by its name and tile. */
static bool is_forced(const clv_forced *forced, const clv_candidate *candidate)
{
    size_t length = strlen(forced->variant);
    const char *name = candidate->variant->name;
    return !strncmp(name, forced->variant, length) && (!name[length] || (name[length] == ' ' && forced->tile < 0)) &&
           (forced->tile < 0 || forced->tile == candidate->tile_index);
}

static int get_forced(clvox_context *ctx, const clv_entry *entry, const clv_forced *forced,
                      const clv_candidate *candidates, int count, const char *extra,
                      const clv_kernel **out)
{
    bool known = false;
    for (int i = 0; i < count; i++)
        if (is_forced(forced, &candidates[i]))
            return get_candidate(ctx, entry, &candidates[i], extra, out);
    for (int v = 0; v < entry->count; v++)
        known = known || !strcmp(entry->variants[v].name, forced->variant);
    return clvox_fail(known ? CLVOX_ERROR_DEVICE : CLVOX_ERROR_ARGUMENT,
                      known ? "%s: the variant %s does not run with this tile on %s; choose another"
                            : "%s has no variant %s (asked for on %s)",
                      entry->name, forced->variant, ctx->limits.name);
}

/* The first candidate that builds. A driver that refuses one (too many
 * registers, a bug) must not stop the user while another one works; but another
 * variant may compute other last bits, which the user has to know. */
static int get_planned(clvox_context *ctx, const clv_entry *entry, const clv_candidate *candidates,
                       int count, const char *extra, const clv_kernel **out)
{
    char first[1024] = "";
    int status = CLVOX_ERROR_DEVICE;
    for (int i = 0; i < count; i++) {
        status = get_candidate(ctx, entry, &candidates[i], extra, out);
        if (status >= 0 && candidates[i].variant != candidates[0].variant)
            clv_say(ctx, 1, "%s takes the place of the variant %s, so results may differ in their last bits: "
                    "%.*s", (*out)->label, candidates[0].variant->name, (int)strcspn(first, "\n"), first);
        if (status != CLVOX_ERROR_BUILD && status != CLVOX_ERROR_DEVICE)
            return status;
        if (!first[0])
            snprintf(first, sizeof first, "%s", clvox_message());
        clv_say(ctx, 2, "passed over: %s", clvox_message());
    }
    return clvox_fail(status, "%s does not run on %s: %s", entry->name, ctx->limits.name,
                      first[0] ? first : "no variant fits the device");
}

static const clv_forced *forced_for(const clvox_context *ctx, const clv_entry *entry)
{
    for (int i = 0; i < ctx->forced_count; i++)
        if (ctx->forced[i].variant[0] && !strcmp(ctx->forced[i].entry, entry->name))
            return &ctx->forced[i];
    return NULL;
}

/* The planner knows no sizes, as a plan for each would mean a build for each level; what was
 * measured knows some. */
static int class_of(const clvox_context *ctx, const int size[3])
{
    return ctx->class_as ? ctx->class_as - 1 : clv_wisdom_class(size);
}

int clv_kernel_get(clvox_context *ctx, const clv_entry *entry, const char *extra, const int size[3],
                   size_t local_extra, const clv_kernel **out)
{
    int size_class = class_of(ctx, size);
    extra = extra ? extra : "";
    if (ctx->memo_room) {
        const clv_memo *known = memo_find(ctx, entry, extra, local_extra, size_class);
        if (known->entry) {
            *out = known->kernel;
            return CLVOX_OK;
        }
    }
    *out = NULL;
    const clv_forced *forced = forced_for(ctx, entry);
    clv_candidate candidates[CLV_MAX_CANDIDATES];
    int count = clv_plan_candidates(&ctx->limits, entry, local_extra, candidates, CLV_MAX_CANDIDATES);
    bool wise = !forced && clv_wisdom_prefer(ctx->wisdom, entry, extra, size_class, candidates, count);
    int status = forced ? get_forced(ctx, entry, forced, candidates, count, extra, out)
                        : get_planned(ctx, entry, candidates, count, extra, out);
    if (status < 0 || !(*out)->kernel) /* left out: it is asked for again */
        return status;
    const char *kept = NULL;
    for (int i = 0; i < ctx->built_count && !kept; i++)
        if (&ctx->built[i]->kernel == *out) {
            kept = ctx->built[i]->extra;
            ctx->built[i]->kernel.wisdom |= wise && is_candidate(*out, &candidates[0]);
        }
    return memo_put(ctx, entry, kept, local_extra, size_class, *out);
}

bool clv_fields_packed(const clvox_context *ctx)
{
    return ctx->packed;
}

const clv_wisdom *clv_context_wisdom(const clvox_context *ctx)
{
    return ctx->wisdom;
}

int clv_context_wisdom_used(const clvox_context *ctx)
{
    int used = 0;
    for (int i = 0; i < ctx->built_count; i++)
        used += ctx->built[i]->kernel.wisdom;
    return used;
}
