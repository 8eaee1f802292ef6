/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/context.h"

static const char *source_text(const char *name, size_t length)
{
    for (const clv_source *s = clv_sources; s->name; s++)
        if (strlen(s->name) == length && !memcmp(s->name, name, length))
            return s->text;
    return NULL;
}

/* Pastes #include "x.clh" so that a program is one string. */
static int expand(const char *source, FILE *to)
{
    while (*source) {
        const char *line_end = strchr(source, '\n');
        size_t length = line_end ? (size_t)(line_end - source) + 1 : strlen(source);
        if (!strncmp(source, "#include \"", 10)) {
            const char *name = source + 10;
            const char *quote = strchr(name, '"');
            const char *inner = quote ? source_text(name, (size_t)(quote - name)) : NULL;
            if (!inner)
                return clv_fail(CLVOX_ERROR_BUILD, "kernel include %.40s is unknown", name);
            int status = expand(inner, to);
            if (status < 0)
                return status;
        } else {
            fwrite(source, 1, length, to);
        }
        source += length;
    }
    return CLVOX_OK;
}

bool clv_variant_runs(const clvox_device_limits *limits, const clv_variant *variant, clv_tile tile,
                      size_t local_extra)
{
    size_t items = (size_t)tile.x * (size_t)tile.y * (size_t)tile.z;
    int planes = variant->planes ? variant->planes : tile.z + 2 * variant->halo[2];
    size_t local = (size_t)variant->fixed_bytes + local_extra +
                   (size_t)(tile.x + 2 * variant->halo[0]) * (size_t)(tile.y + 2 * variant->halo[1]) *
                       (size_t)planes * (size_t)variant->cell_bytes;
    return items <= limits->max_group && local <= limits->local_bytes;
}

int clv_force_variant(clvox_context *ctx, const char *entry, const char *variant, int tile)
{
    for (int i = 0; i < ctx->forced_count; i++)
        if (!strcmp(ctx->forced[i].entry, entry)) {
            ctx->forced[i].variant = variant;
            ctx->forced[i].tile = tile;
            return CLVOX_OK;
        }
    clv_forced *grown = realloc(ctx->forced, (size_t)(ctx->forced_count + 1) * sizeof *grown);
    if (!grown)
        return clv_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    ctx->forced = grown;
    snprintf(grown[ctx->forced_count].entry, sizeof grown->entry, "%s", entry);
    grown[ctx->forced_count].variant = variant;
    grown[ctx->forced_count].tile = tile;
    ctx->forced_count++;
    return CLVOX_OK;
}

static int plan(clvox_context *ctx, const clv_entry *entry, size_t local_extra,
                const clv_variant **variant, clv_tile *tile)
{
    const clv_forced *forced = NULL;
    for (int i = 0; i < ctx->forced_count; i++)
        if (ctx->forced[i].variant && !strcmp(ctx->forced[i].entry, entry->name))
            forced = &ctx->forced[i];
    int kind = ctx->limits.type == CLVOX_DEVICE_CPU ? CLV_ON_CPU : CLV_ON_GPU;
    for (int v = 0; v < entry->count; v++) {
        const clv_variant *candidate = &entry->variants[v];
        if (forced ? strcmp(forced->variant, candidate->name) != 0
                   : candidate->optional || !(candidate->devices & kind))
            continue;
        for (int t = 0; t < CLV_MAX_TILES && candidate->tiles[t].x; t++) {
            if (forced && forced->tile >= 0 && forced->tile != t)
                continue;
            if (clv_variant_runs(&ctx->limits, candidate, candidate->tiles[t], local_extra)) {
                *variant = candidate;
                *tile = candidate->tiles[t];
                return CLVOX_OK;
            }
        }
    }
    return clv_fail(CLVOX_ERROR_DEVICE, "%s: no variant runs on %s", entry->name, ctx->limits.name);
}

int clv_kernel_get(clvox_context *ctx, const clv_entry *entry, const char *extra, const int size[3],
                   size_t local_extra, const clv_kernel **out)
{
    int status = CLVOX_OK;
    const clv_variant *variant = NULL;
    clv_tile tile = {0};
    clv_built *built = NULL;
    char *source = NULL;
    size_t length = 0;
    (void)size;
    *out = NULL;
    CLV_TRY(plan(ctx, entry, local_extra, &variant, &tile));
    char key[512];
    snprintf(key, sizeof key,
             "-cl-std=CL1.2 -DFIELD_PACKED=%d -DTILE_X=%d -DTILE_Y=%d -DTILE_Z=%d -DMARCH=%d %s %s %s",
             ctx->packed, tile.x, tile.y, tile.z, tile.march, variant->defines ? variant->defines : "",
             extra ? extra : "", "");
    char name[640];
    snprintf(name, sizeof name, "%s:%s:%s", entry->file, variant->function, key);
    for (int i = 0; i < ctx->built_count; i++)
        if (!strcmp(ctx->built[i]->key, name)) {
            *out = &ctx->built[i]->kernel;
            return CLVOX_OK;
        }
    char file[64];
    int file_length = snprintf(file, sizeof file, "%s.cl", entry->file);
    const char *text = source_text(file, (size_t)file_length);
    if (!text)
        return clv_fail(CLVOX_ERROR_BUILD, "kernel file %s is unknown", file);
    FILE *stream = open_memstream(&source, &length);
    if (!stream)
        return clv_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    status = expand(text, stream);
    fclose(stream);
    if (status < 0)
        goto end;
    built = calloc(1, sizeof *built);
    if (!built || !(built->key = strdup(name))) {
        status = clv_fail(CLVOX_ERROR_MEMORY, "out of host memory");
        goto end;
    }
    cl_int error;
    const char *texts[] = {source};
    built->program = clCreateProgramWithSource(ctx->context, 1, texts, &length, &error);
    CLV_CL(error, "clCreateProgramWithSource", file);
    error = clBuildProgram(built->program, 1, &ctx->device, key, NULL, NULL);
    if (error != CL_SUCCESS) {
        char log[1500] = "";
        clGetProgramBuildInfo(built->program, ctx->device, CL_PROGRAM_BUILD_LOG, sizeof log - 1, log, NULL);
        status = clv_fail(CLVOX_ERROR_BUILD, "%s does not build on %s: %s", file, ctx->limits.name, log);
        goto end;
    }
    built->kernel.kernel = clCreateKernel(built->program, variant->function, &error);
    CLV_CL(error, "clCreateKernel", variant->function);
    built->kernel.entry = entry;
    built->kernel.variant = variant;
    built->kernel.tile = tile;
    built->kernel.registers = built->kernel.spills = -1;
    built->kernel.occupancy = -1;
    snprintf(built->kernel.label, sizeof built->kernel.label, "%s/%s %dx%dx%d", entry->name,
             variant->name, tile.x, tile.y, tile.z);
    clv_built **grown = realloc(ctx->built, (size_t)(ctx->built_count + 1) * sizeof *grown);
    if (!grown) {
        status = clv_fail(CLVOX_ERROR_MEMORY, "out of host memory");
        goto end;
    }
    ctx->built = grown;
    grown[ctx->built_count++] = built;
    *out = &built->kernel;
    built = NULL;
end:
    if (built) {
        if (built->program)
            clReleaseProgram(built->program);
        free(built->key);
        free(built);
    }
    free(source);
    return status;
}

static size_t round_up(int n, int step)
{
    return (size_t)((n + step - 1) / step) * (size_t)step;
}

int clv_launch_args(clvox_context *ctx, const clv_kernel *kernel, const int size[3], double moved,
                    const clv_arg *args, int count)
{
    int status = CLVOX_OK;
    (void)moved;
    clv_tile t = kernel->tile;
    size_t local[3] = {(size_t)t.x, (size_t)t.y, (size_t)t.z}, global[3] = {1, 1, 1};
    switch (kernel->variant->shape) {
    case CLV_SHAPE_ITEM:
        global[0] = round_up(size[0], t.x);
        global[1] = round_up(size[1], t.y);
        global[2] = round_up(size[2], t.z);
        break;
    case CLV_SHAPE_MARCH:
        global[0] = round_up(size[0], t.x);
        global[1] = round_up(size[1], t.y);
        global[2] = round_up((size[2] + t.march - 1) / t.march, t.z);
        break;
    case CLV_SHAPE_ROW:
        global[1] = round_up(size[1], t.y);
        global[2] = round_up(size[2], t.z);
        break;
    case CLV_SHAPE_LINEAR:
        global[0] = round_up((size[0] + t.march - 1) / t.march, t.x);
        break;
    case CLV_SHAPE_GROUPS:
        for (int i = 0; i < 3; i++)
            global[i] = (size_t)size[i] * local[i];
        break;
    }
    for (int i = 0; i < count; i++) {
        const clv_arg *a = &args[i];
        void *mem = a->buffer ? a->buffer->mem : NULL;
        cl_int error = a->bytes ? clSetKernelArg(kernel->kernel, (cl_uint)i, a->bytes, a->data)
                                : clSetKernelArg(kernel->kernel, (cl_uint)i, sizeof(cl_mem), &mem);
        CLV_CL(error, "clSetKernelArg", kernel->label);
    }
    CLV_CL(clEnqueueNDRangeKernel(ctx->queue, kernel->kernel, 3, NULL, global, local, 0, NULL, NULL),
           "clEnqueueNDRangeKernel", kernel->label);
end:
    return status;
}

int clv_timings(clvox_context *ctx, const clv_timing **out)
{
    *out = ctx->timings;
    return ctx->timing_count;
}

void clv_timings_reset(clvox_context *ctx)
{
    ctx->timing_count = 0;
}
