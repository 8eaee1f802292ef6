/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/queue/witness.h"

#include <string.h>

#include "runtime/device/context.h"
#include "runtime/queue/launch.h"

#define WITNESSES 64
enum { WORD = sizeof(uint32_t), BLOCK = 64, WORDS = 1024 };

static const clv_variant variants[] = {
    {.name = "group",
     .function = "witness",
     .defines = "-DWITNESSES=" CLV_TEXT(WITNESSES),
     .devices = CLV_ON_ANY,
     .tiles = {{WITNESSES, 1, 1, 1}}},
};
const clv_entry clv_entry_witness = CLV_ENTRY("common/witness", "witness", variants, NULL);
const clv_entry *const clv_operation_common_witness[] = {&clv_entry_witness, NULL};

/* Its numbers are no buffer of a pipeline, whose memory is counted. */
static int make_room(clvox_context *ctx)
{
    int status = CLVOX_OK;
    cl_int error;
    if (ctx->witnessed)
        return CLVOX_OK;
    ctx->witnessed = clCreateBuffer(ctx->context, CL_MEM_READ_WRITE, WITNESSES * WORD, NULL, &error);
    CLV_CL(error, "clCreateBuffer", "a check of the device");
end:
    return status;
}

int clv_witness_ask(clvox_context *ctx, const clv_buffer *buffer, size_t offset, size_t bytes, clv_witness *w)
{
    static const int size[3] = {WITNESSES, 1, 1};
    int status = CLVOX_OK;
    const clv_kernel *kernel;
    const size_t to_word = (WORD - offset % WORD) % WORD, first = (offset + to_word) / WORD;
    const size_t words = bytes > to_word ? (bytes - to_word) / WORD : 0;
    w->first = to_word;
    w->step = words > WORDS ? (int)(words / WORDS) : 1;
    w->count = (int)((words + (size_t)w->step - 1) / (size_t)w->step);
    CLV_TRY(make_room(ctx));
    w->turn = (int)(++ctx->witness_turns & 0xffffff);
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_witness, NULL, size, 0, &kernel));
    const clv_buffer out = {.mem = ctx->witnessed, .bytes = WITNESSES * WORD, .owner = ctx};
    CLV_TRY(CLV_LAUNCH(ctx, kernel, size, (double)WORD * (w->count + WITNESSES),
                       CLV_BUF(w->count ? buffer : &out), CLV_BUF(&out), CLV_INT((int32_t)(first / BLOCK)),
                       CLV_INT((int32_t)(first % BLOCK)), CLV_INT(w->step), CLV_INT(w->count),
                       CLV_INT(w->turn)));
end:
    return status;
}

int clv_witness_hear(clvox_context *ctx, const clv_witness *w, const void *data)
{
    int status = CLVOX_OK;
    uint32_t said[WITNESSES], wrong = 0;
    CLV_CL(clEnqueueReadBuffer(ctx->queue, ctx->witnessed, CL_TRUE, 0, sizeof said, said, 0, NULL, NULL),
           "clEnqueueReadBuffer", "fetching a check of the device");
    for (int item = 0; item < WITNESSES; item++) {
        uint32_t mixed = (uint32_t)w->turn + (uint32_t)item, word;
        for (int i = item; i < w->count; i += WITNESSES) {
            memcpy(&word, (const char *)data + w->first + (size_t)i * (size_t)w->step * WORD, WORD);
            mixed = (mixed ^ word) * 0x9e3779b1u;
        }
        wrong |= said[item] ^ mixed * 0x9e3779b1u;
    }
    if (wrong && !ctx->options.left_out)
        status =
            clvox_fail(CLVOX_ERROR_DEVICE,
                       "%s returns something else than it computes, or computes no more; check its driver "
                       "and memory, or choose another device with --device",
                       ctx->limits.name);
end:
    return status;
}
