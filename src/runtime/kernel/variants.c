/* SPDX-License-Identifier: Apache-2.0 */
/* A context's kernels as programs see them (clvox/kernels.h). */
#include "clvox/kernels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/status.h"
#include "runtime/queue/buffer.h"
#include "runtime/kernel/kernel.h"
#include "runtime/kernel/registry.h"
#include "runtime/queue/launch.h"
#include "runtime/queue/timing.h"

/* ---- time ---------------------------------------------------------------- */

static int slowest_first(const void *a, const void *b)
{
    double x = ((const clvox_timing *)a)->seconds, y = ((const clvox_timing *)b)->seconds;
    return (x < y) - (x > y);
}

int clvox_timings(clvox_context *ctx, clvox_timing **out)
{
    CLV_GIVEN(ctx, out);
    const clv_timing *timings;
    *out = NULL;
    int count = clv_timings(ctx, &timings);
    if (count < 0)
        return count;
    clvox_timing *rows = calloc((size_t)count + 1, sizeof *rows);
    if (!rows)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory for the profile");
    for (int i = 0; i < count; i++) {
        rows[i] = (clvox_timing){
            .calls = timings[i].calls, .seconds = timings[i].seconds, .bytes = timings[i].bytes};
        memcpy(rows[i].label, timings[i].label, sizeof rows[i].label);
    }
    qsort(rows, (size_t)count, sizeof *rows, slowest_first);
    *out = rows;
    return count;
}

void clvox_timings_destroy(clvox_timing **rows)
{
    if (rows) {
        free(*rows);
        *rows = NULL;
    }
}

int clvox_context_timed(const clvox_context *ctx)
{
    CLV_GIVEN_OR(0, ctx);
    return clv_has_timers(ctx);
}

int clvox_copy_bandwidth(clvox_context *ctx, double *out)
{
    CLV_GIVEN(ctx, out);
    int status = CLVOX_OK;
    clv_buffer *from = NULL, *to = NULL;
    const clvox_device_limits *limits = clvox_context_limits(ctx);
    size_t bytes = (size_t)256 << 20;
    if (bytes > limits->max_allocation / 2)
        bytes = limits->max_allocation / 2;
    if (bytes > limits->global_bytes / 16)
        bytes = limits->global_bytes / 16;
    bytes &= ~(size_t)4095;
    *out = 0;
    CLV_TRY(clv_buffer_create(ctx, bytes, "source of the copy", &from));
    CLV_TRY(clv_buffer_create(ctx, bytes, "target of the copy", &to));
    CLV_TRY(clv_buffer_fill(ctx, from, 0, 0, bytes));
    CLV_TRY(clv_buffer_copy(ctx, from, 0, to, 0, bytes));
    CLV_TRY(clv_finish(ctx));
    for (int round = 0; round < 5; round++) {
        double start = clv_seconds();
        for (int i = 0; i < 4; i++)
            CLV_TRY(clv_buffer_copy(ctx, from, 0, to, 0, bytes));
        CLV_TRY(clv_finish(ctx));
        *out = fmax(*out, 8.0 * (double)bytes / (clv_seconds() - start));
    }
end:
    clv_buffer_destroy(&from);
    clv_buffer_destroy(&to);
    return status;
}

/* ---- choice -------------------------------------------------------------- */

static clvox_kernel_variant variant_of(const clvox_context *ctx, const clv_kernel *k, const int size[3],
                                       bool chosen)
{
    const clvox_device_limits *limits = clvox_context_limits(ctx);
    const clv_occupancy *r = &k->resources;
    clv_candidate candidates[CLV_MAX_CANDIDATES];
    const int count = clv_plan_candidates(limits, k->entry, 0, candidates, CLV_MAX_CANDIDATES);
    const bool wisdom = chosen && k->wisdom;
    return (clvox_kernel_variant){
        .kernel = k->entry->name,
        .variant = k->variant->name,
        .chosen = chosen,
        .wisdom = wisdom,
        .tile = {k->tile.x, k->tile.y, k->tile.z},
        .march = k->tile.march,
        .registers = k->registers,
        .spills = k->spills,
        .local_bytes = k->local_bytes,
        .groups = r->groups,
        .occupancy = k->occupancy,
        .limit = r->limit,
        .by_warps = r->by_groups >= 0 && r->by_groups < r->by_waves ? r->by_groups : r->by_waves,
        .by_registers = r->by_registers,
        .by_local = r->by_local,
        .waves = clv_launch_waves(limits, k, size),
        .reason = wisdom ? "recorded" : clv_plan_reason(limits, candidates, count, k->variant, k->tile)};
}

/* The variants of one entry. */
static int visit_entry(clvox_context *ctx, const clv_entry *entry, const int size[3],
                       clvox_kernel_visitor visit, void *user)
{
    const char *build = entry->builds && *entry->builds ? *entry->builds : NULL;
    const clv_kernel *chosen, *kernel;
    int status = clv_kernel_get(ctx, entry, build, size, 0, &chosen);
    for (int v = 0; status >= 0 && v < entry->count; v++) {
        const clv_variant *variant = &entry->variants[v];
        clvox_kernel_variant shown = variant_of(ctx, chosen, size, true);
        if (variant != chosen->variant) {
            if ((status = clv_force_variant(ctx, entry->name, variant->name, -1)) < 0)
                break;
            if (clv_kernel_get(ctx, entry, build, size, 0, &kernel) >= 0)
                shown = variant_of(ctx, kernel, size, false);
            else
                shown = (clvox_kernel_variant){
                    .kernel = entry->name, .variant = variant->name, .refused = clvox_message(), .limit = "",
                    .reason = ""};
        }
        if (visit(user, &shown))
            status = clvox_fail(CLVOX_ERROR_STOPPED, "interrupted");
    }
    int ended = clv_force_variant(ctx, entry->name, NULL, -1);
    return status < 0 ? status : ended;
}

int clvox_kernel_variants(clvox_context *ctx, const int size[3], clvox_kernel_visitor visit, void *user)
{
    CLV_GIVEN(ctx, size);
    int status = CLVOX_OK;
    const clv_entry *entry;
    for (int e = 0; status >= 0 && (entry = clv_entry_at(e)); e++)
        status = visit_entry(ctx, entry, size, visit, user);
    return status;
}

void clvox_context_wisdom(const clvox_context *ctx, clvox_wisdom *out)
{
    CLV_GIVEN_OR(, ctx, out);
    const clv_wisdom *wisdom = clv_context_wisdom(ctx);
    *out = (clvox_wisdom){.hash = "", .remark = "", .used = clv_context_wisdom_used(ctx)};
    if (wisdom) {
        out->file = wisdom->path;
        out->hash = wisdom->hash;
        out->remark = wisdom->remark;
        out->choices = wisdom->count + wisdom->costs;
    }
}
