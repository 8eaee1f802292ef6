/* SPDX-License-Identifier: Apache-2.0 */
/* What a pipeline will ask for, learnt by letting it ask: between begin and
 * end kernels are noted, not built, and nothing reaches the device. */
#include "runtime/rehearsal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "runtime/context.h"
#include "runtime/program.h"
#include "runtime/source.h"

/* A kernel that was asked for, and what the asker got. */
typedef struct note {
    clv_candidate candidate;
    char *extra;
    clv_kernel likeness;
} note;

struct clv_rehearsal {
    note **list;
    int count, room, depth;
};

int clv_rehearsal_begin(clvox_context *ctx)
{
    if (!ctx->rehearsal && !(ctx->rehearsal = calloc(1, sizeof *ctx->rehearsal)))
        return clv_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    ctx->rehearsal->depth++;
    return CLVOX_OK;
}

void clv_rehearsals_over(clvox_context *ctx)
{
    /* Helpers hold some 300 MiB of the device each. Where these are not missed
     * they stay: a driver is slow to answer while processes leave it. */
    if (ctx->limits.global_bytes < (size_t)16 << 30)
        clv_helpers_end(ctx);
}

bool clv_rehearsing(const clvox_context *ctx)
{
    return ctx->rehearsal != NULL;
}

static void note_free(note *n)
{
    if (n)
        free(n->extra);
    free(n);
}

static void rehearsal_free(clv_rehearsal *r)
{
    for (int i = 0; r && i < r->count; i++)
        note_free(r->list[i]);
    if (r)
        free(r->list);
    free(r);
}

void clv_rehearsal_free(clvox_context *ctx)
{
    rehearsal_free(ctx->rehearsal);
    ctx->rehearsal = NULL;
}

int clv_rehearsal_note(clvox_context *ctx, const clv_entry *entry, const clv_candidate *candidate,
                       const char *extra, const clv_kernel **out)
{
    clv_rehearsal *r = ctx->rehearsal;
    for (int i = 0; i < r->count; i++) {
        const clv_kernel *k = &r->list[i]->likeness;
        if (k->entry == entry && k->variant == candidate->variant &&
            !memcmp(&k->tile, &candidate->tile, sizeof k->tile) && !strcmp(r->list[i]->extra, extra)) {
            *out = k;
            return CLVOX_OK;
        }
    }
    note *n = calloc(1, sizeof *n);
    note **grown = NULL;
    if (n && (n->extra = strdup(extra)))
        grown = clv_grown(r->list, r->count, &r->room, sizeof *grown);
    if (!grown) {
        note_free(n);
        return clv_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    }
    r->list = grown;
    grown[r->count++] = n;
    n->candidate = *candidate;
    n->likeness = (clv_kernel){.entry = entry, .variant = candidate->variant, .tile = candidate->tile,
                               .registers = -1, .spills = -1, .local_bytes = (int)candidate->local_bytes,
                               .occupancy = -1, .resources = candidate->resources};
    clv_variant_covers(candidate->variant, candidate->tile, n->likeness.item, n->likeness.group);
    *out = &n->likeness;
    return CLVOX_OK;
}

void clv_rehearsal_read(void *data, size_t bytes)
{
    static const float pattern[2] = {1, 2};
    for (size_t at = 0; at < bytes; at += sizeof pattern)
        memcpy((char *)data + at, pattern, bytes - at < sizeof pattern ? bytes - at : sizeof pattern);
}

int clv_rehearsal_end(clvox_context *ctx)
{
    int status = CLVOX_OK, made = 0;
    clv_rehearsal *r = ctx->rehearsal;
    clv_unit *units = NULL;
    clv_program *programs = NULL;
    char options[768];
    if (!r || --r->depth > 0)
        return CLVOX_OK;
    ctx->rehearsal = NULL; /* from here on what is asked for is done */
    if (r->count == 0 || ctx->apart)
        goto end;
    units = calloc((size_t)r->count, sizeof *units);
    programs = calloc((size_t)r->count, sizeof *programs);
    if (!units || !programs) {
        status = clv_fail(CLVOX_ERROR_MEMORY, "out of host memory");
        goto end;
    }
    for (; made < r->count; made++) {
        const note *n = r->list[made];
        const clv_variant *variant = n->candidate.variant;
        CLV_TRY(clv_program_options(ctx->packed, variant, n->candidate.tile, n->extra, options,
                                    sizeof options));
        CLV_TRY(clv_unit_make(ctx, variant, n->likeness.entry->file, options, &units[made]));
    }
    CLV_TRY(clv_units_build(ctx, units, made, programs));
    for (int i = 0; i < made; i++) {
        const clv_kernel *kernel;
        if (!programs[i].program)
            continue;
        /* One that does not run after all is passed over when it is asked for. */
        clv_kernel_adopt(ctx, r->list[i]->likeness.entry, &r->list[i]->candidate, r->list[i]->extra,
                         &programs[i], &kernel);
    }
end:
    for (int i = 0; i < made; i++) {
        clv_unit_free(&units[i]);
        if (programs[i].program)
            clReleaseProgram(programs[i].program);
    }
    free(units);
    free(programs);
    rehearsal_free(r);
    return status;
}
