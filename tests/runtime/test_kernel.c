/* SPDX-License-Identifier: Apache-2.0 */
/* Choosing, building and launching kernels, buffers, and the time that is kept. */
#include "probe.h"
#include "runtime/context.h"
#include "runtime/program.h"
#include "runtime/source.h"
#include "runtime/timing.h"

static const int size[3] = {19, 7, 5};

static void check_variants(clvox_context *ctx)
{
    for (int v = 0; v < 4; v++) {
        const clv_variant *variant = &probe_variants[v];
        for (int t = 0; variant->tiles[t].x; t++) {
            CHECK_CASE("%s %d", variant->name, t);
            CHECK(clv_force_variant(ctx, "probe", variant->name, t) == CLVOX_OK);
            CHECK_THAT(probe_runs(ctx, "-DADD=5", 5), "%s", clvox_message());
            const clv_kernel *kernel;
            CHECK(clv_kernel_get(ctx, &probe, "-DADD=5", size, 0, &kernel) == CLVOX_OK);
            CHECK(kernel->variant == variant && !memcmp(&kernel->tile, &variant->tiles[t], sizeof(clv_tile)));
        }
    }
    CHECK_CASE("the planner's own choice, and that it is remembered");
    CHECK(clv_force_variant(ctx, "probe", NULL, -1) == CLVOX_OK && probe_runs(ctx, NULL, 0));
    const clv_kernel *first, *second;
    CHECK(clv_kernel_get(ctx, &probe, NULL, size, 0, &first) == CLVOX_OK && !first->variant->optional);
    CHECK(clv_kernel_get(ctx, &probe, "", size, 0, &second) == CLVOX_OK && first == second);
    char extra[] = "-DADD=5";
    CHECK(clv_kernel_get(ctx, &probe, extra, size, 0, &second) == CLVOX_OK && first != second);
    extra[6] = '6'; /* the caller's string may change; what was asked for does not */
    CHECK(clv_kernel_get(ctx, &probe, extra, size, 0, &first) == CLVOX_OK && first != second);
    CHECK(probe_runs(ctx, extra, 6) && probe_runs(ctx, "-DADD=5", 5));
    CHECK_CASE("many questions are remembered apart");
    bool right = true;
    for (size_t local = 0; local < 300; local++)
        right = right && clv_kernel_get(ctx, &probe, extra, size, local, &second) == CLVOX_OK && second == first;
    CHECK(right);
    CHECK_CASE("a known kernel is found among the answers: nothing is planned, built or remembered again");
    CHECK(clv_kernel_get(ctx, &probe, "-DADD=5", size, 17, &first) == CLVOX_OK);
    int built = ctx->built_count, answers = ctx->memo_count;
    for (int i = 0; i < 1000; i++)
        right = right && clv_kernel_get(ctx, &probe, "-DADD=5", size, 17, &second) == CLVOX_OK && second == first;
    CHECK(right && ctx->built_count == built && ctx->memo_count == answers && answers > 0);
}

static void check_refusals(clvox_context *ctx)
{
    const clv_kernel *kernel;
    CHECK_CASE("a kernel that does not build: file, device and log are named");
    CHECK(clv_force_variant(ctx, "probe", "broken", -1) == CLVOX_OK);
    CHECK(clv_kernel_get(ctx, &probe, NULL, size, 0, &kernel) == CLVOX_ERROR_BUILD && !kernel);
    CHECK_THAT(strstr(clvox_message(), "cl/probe.cl") && strstr(clvox_message(), ctx->limits.name), "%s",
               clvox_message());
    CHECK_CASE("a variant that does not exist, and a tile that does not");
    CHECK(clv_force_variant(ctx, "probe", "nothing", -1) == CLVOX_OK);
    CHECK(clv_kernel_get(ctx, &probe, NULL, size, 0, &kernel) == CLVOX_ERROR_ARGUMENT);
    CHECK(clv_force_variant(ctx, "probe", "item", 7) == CLVOX_OK);
    CHECK(clv_kernel_get(ctx, &probe, NULL, size, 0, &kernel) == CLVOX_ERROR_DEVICE);
    CHECK(clv_force_variant(ctx, "probe", NULL, -1) == CLVOX_OK);
    CHECK_CASE("more local memory than any variant may have");
    CHECK(clv_kernel_get(ctx, &probe, NULL, size, (size_t)1 << 40, &kernel) == CLVOX_ERROR_DEVICE);
    CHECK_CASE("a variant that a driver refuses gives way to the next");
    static const clv_variant variants[] = {
        {.name = "broken", .function = "probe_broken", .devices = CLV_ON_ANY,
         .tiles = {{8, 1, 1, 1}}},
        {.name = "item", .function = "probe_item", .devices = CLV_ON_ANY,
         .tiles = {{8, 1, 1, 1}}}};
    const clv_entry entry = {.file = "probe", .name = "second", .variants = variants, .count = 2};
    CHECK(clv_kernel_get(ctx, &entry, NULL, size, 0, &kernel) == CLVOX_OK && kernel->variant == &variants[1]);
    const clv_entry unknown = {.file = "nosuchfile", .name = "third", .variants = variants, .count = 2};
    CHECK_CASE("a kernel file that does not exist");
    CHECK(clv_kernel_get(ctx, &unknown, NULL, size, 0, &kernel) == CLVOX_ERROR_BUILD);
    CHECK_THAT(strstr(clvox_message(), "nosuchfile.cl"), "%s", clvox_message());
    CHECK_CASE("a wrong argument: its number and kernel are named");
    CHECK(clv_kernel_get(ctx, &probe, NULL, size, 0, &kernel) == CLVOX_OK);
    CHECK(CLV_LAUNCH(ctx, kernel, size, 0, CLV_BUF(NULL), CLV_BUF(NULL), CLV_INT(3)) == CLVOX_ERROR_DEVICE);
    CHECK_THAT(strstr(clvox_message(), "argument 2 of kernel probe/") && strstr(clvox_message(), "CL_INVALID_ARG_SIZE"),
               "%s", clvox_message());
}

static void check_source(void)
{
    char *text = NULL;
    CHECK_CASE("a program holds one kernel, its includes and its work-group size");
    CHECK(clv_source_assemble("probe", "probe_row", &text) == CLVOX_OK);
    CHECK(text && strstr(text, "probe_row(") && !strstr(text, "probe_item") && !strstr(text, "no OpenCL C"));
    CHECK(text && strstr(text, "static inline int voxel(") && !strstr(text, "#include"));
    CHECK(text && strstr(text, "__kernel __attribute__((reqd_work_group_size(TILE_X, TILE_Y, TILE_Z))) void"));
    free(text);
    CHECK_CASE("a kernel that is not found by its looks leaves the file whole");
    CHECK(clv_source_assemble("probe", "probe", &text) == CLVOX_OK);
    CHECK(text && strstr(text, "probe_item") && strstr(text, "probe_row"));
    free(text);
    CHECK_CASE("NVIDIA's build log");
    clv_counts counts;
    static const char log[] =
        "ptxas info    : Function properties for other\n"
        "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
        "ptxas info    : Used 4 registers, 400 bytes cmem[0]\n"
        "ptxas info    : Function properties for probe_item\n"
        "    8 bytes stack frame, 24 bytes spill stores, 12 bytes spill loads\n"
        "ptxas info    : Used 40 registers, 4000 bytes smem, 400 bytes cmem[0]\n";
    clv_counts_from_log(log, "probe_item", &counts);
    CHECK(counts.registers == 40 && counts.spills == 24);
    clv_counts_from_log(log, "other", &counts);
    CHECK(counts.registers == 4 && counts.spills == 0);
    clv_counts_from_log(log, "probe", &counts);
    CHECK(counts.registers == -1 && counts.spills == -1);
    clv_counts_from_log("", "probe_item", &counts);
    CHECK(counts.registers == -1 && counts.spills == -1);
    CHECK_CASE("errors have names");
    CHECK(!strcmp(clv_cl_error_name(0), "CL_SUCCESS") && !strcmp(clv_cl_error_name(-5), "CL_OUT_OF_RESOURCES"));
    CHECK(!strcmp(clv_cl_error_name(-19), "CL_KERNEL_ARG_INFO_NOT_AVAILABLE"));
    CHECK(!strcmp(clv_cl_error_name(-30), "CL_INVALID_VALUE") && !strcmp(clv_cl_error_name(-42), "CL_INVALID_BINARY"));
    CHECK(!strcmp(clv_cl_error_name(-68), "CL_INVALID_DEVICE_PARTITION_COUNT"));
    CHECK(!strcmp(clv_cl_error_name(-69), "an unknown error") && !strcmp(clv_cl_error_name(-25), "an unknown error"));
}

static void check_memory(clvox_context *ctx)
{
    clv_buffer *a = NULL, *b = NULL;
    size_t all = ctx->limits.global_bytes, one = ctx->limits.max_allocation, before = ctx->allocated;
    const clv_request fits[] = {{&a, 1 << 20, "first"}, {&b, 100, "second"}};
    CHECK_CASE("the pool takes all that is asked for and gives it back");
    CHECK(clv_pool_bytes(fits, 2) == (1 << 20) + 100 && clv_pool_take(ctx, fits, 2) == CLVOX_OK);
    CHECK(a && b && ctx->allocated == before + (1 << 20) + 100 && ctx->peak >= ctx->allocated);
    clv_pool_release(fits, 2);
    CHECK(!a && !b && ctx->allocated == before);
    CHECK_CASE("the pool refuses more than there is, with both sizes, and takes nothing");
    const clv_request more[] = {{&a, 4, "first"}, {&b, all, "second"}};
    CHECK(clv_pool_take(ctx, more, 2) == CLVOX_ERROR_MEMORY && !a && !b && ctx->allocated == before);
    char needed[64];
    snprintf(needed, sizeof needed, "%.0f MiB", (double)all / 1048576);
    CHECK_THAT(strstr(clvox_message(), needed), "%s", clvox_message());
    if (one < all) {
        CHECK_CASE("the pool refuses a piece that is too large, by its name");
        const clv_request large[] = {{&a, 4, "first"}, {&b, one + 4, "large piece"}};
        CHECK(clv_pool_take(ctx, large, 2) == CLVOX_ERROR_MEMORY && !a && !b && ctx->allocated == before);
        CHECK_THAT(strstr(clvox_message(), "large piece"), "%s", clvox_message());
    }
    CHECK_CASE("buffers over host memory lie there on CPU devices, and behave alike everywhere");
    enum { COUNT = 1 << 12 };
    float place[COUNT + 3], copy[COUNT];
    for (int i = 0; i < COUNT + 3; i++)
        place[i] = (float)i;
    const clv_request over[] = {{&a, COUNT * sizeof(float), "over memory"}, {&b, COUNT * sizeof(float), "alone"}};
    void *const host_of[] = {place + 3, NULL};
    CHECK(clv_pool_take_over(ctx, over, host_of, 2) == CLVOX_OK);
    CHECK(a->host == (ctx->limits.type == CLVOX_DEVICE_CPU ? (char *)(place + 3) : NULL) && !b->host);
    CHECK(clv_buffer_write(ctx, a, 0, place + 3, COUNT * sizeof(float)) == CLVOX_OK);
    CHECK(clv_buffer_copy(ctx, a, 0, b, 0, COUNT * sizeof(float)) == CLVOX_OK);
    CHECK(clv_buffer_read(ctx, b, 0, copy, sizeof copy) == CLVOX_OK && !memcmp(copy, place + 3, sizeof copy));
    CHECK(clv_buffer_fill(ctx, a, 4 * sizeof(float), 0x40000000, 8 * sizeof(float)) == CLVOX_OK);
    CHECK(clv_buffer_read(ctx, a, 4 * sizeof(float), place + 7, (COUNT - 4) * sizeof(float)) == CLVOX_OK);
    CHECK(place[2] == 2 && place[6] == 6 && place[7] == 2 && place[14] == 2 && place[15] == 15);
    CHECK(clv_buffer_read(ctx, a, 0, copy, sizeof copy) == CLVOX_OK && !memcmp(copy, place + 3, sizeof copy));
    clv_pool_release(over, 2);
    CHECK(!a && place[14] == 2 && ctx->allocated == before);
    CHECK_CASE("one buffer that is too large");
    CHECK(clv_buffer_create(ctx, one + 4, "the field", &a) == CLVOX_ERROR_MEMORY && !a);
    CHECK_CASE("fill, copy, write, read; nothing is a legal amount");
    uint32_t host[8] = {0};
    CHECK(clv_buffer_create(ctx, sizeof host, "a", &a) == CLVOX_OK && clv_buffer_create(ctx, 0, "b", &b) == CLVOX_OK);
    CHECK(b->bytes > 0);
    clv_buffer_destroy(&b);
    CHECK(clv_buffer_create(ctx, sizeof host, "b", &b) == CLVOX_OK);
    CHECK(clv_buffer_fill(ctx, a, 0, 0x01020304u, sizeof host) == CLVOX_OK);
    CHECK(clv_buffer_write(ctx, a, 4, (uint32_t[]){7}, 4) == CLVOX_OK);
    CHECK(clv_buffer_copy(ctx, a, 0, b, 8, 16) == CLVOX_OK && clv_buffer_read(ctx, b, 0, host, 24) == CLVOX_OK);
    CHECK(host[2] == 0x01020304u && host[3] == 7 && host[5] == 0x01020304u);
    CHECK(clv_buffer_fill(ctx, a, 0, 0, 0) == CLVOX_OK && clv_buffer_copy(ctx, a, 0, b, 0, 0) == CLVOX_OK);
    CHECK(clv_buffer_read(ctx, a, 0, host, 0) == CLVOX_OK && clv_buffer_write(ctx, a, 0, host, 0) == CLVOX_OK);
    CHECK_CASE("a read beyond the end is an error with a name");
    CHECK(clv_buffer_read(ctx, a, 0, host, 1000) == CLVOX_ERROR_DEVICE);
    CHECK_THAT(strstr(clvox_message(), "clEnqueueReadBuffer failed with CL_INVALID_VALUE"), "%s", clvox_message());
    clv_buffer_destroy(&a);
    clv_buffer_destroy(&b);
    clv_buffer_destroy(&b);
}

static const clv_timing *find_row(const clv_timing *rows, int count, const char *start)
{
    for (int i = 0; i < count; i++)
        if (!strncmp(rows[i].label, start, strlen(start)))
            return &rows[i];
    return NULL;
}

static void check_timing(void)
{
    clvox_context *ctx;
    const clv_timing *rows;
    CHECK_CASE("with profile, calls, seconds and bytes by kernel");
    CHECK(clvox_context_create(&(clvox_context_options){.profile = true}, &ctx) == CLVOX_OK);
    for (int i = 0; i < 7; i++)
        CHECK(probe_runs(ctx, NULL, 0));
    int count = clv_timings(ctx, &rows);
    const clv_timing *row = find_row(rows, count, "probe/"), *sent = find_row(rows, count, "(to the device)");
    CHECK(row && row->calls == 7 && row->bytes == 7 * 8.0 * 665 && row->seconds > 0);
    CHECK(sent && sent->calls == 7 && sent->bytes == 7 * 4.0 * 665);
    CHECK(clv_timings(ctx, &rows) == count && (row = find_row(rows, count, "probe/")) && row->calls == 7);
    CHECK_CASE("reset starts anew, also with events pending");
    CHECK(probe_runs(ctx, NULL, 0));
    clv_timings_reset(ctx);
    CHECK(clv_timings(ctx, &rows) == 0);
    CHECK(probe_runs(ctx, NULL, 0) && clv_timings(ctx, &rows) > 0 && rows[0].calls == 1);
    CHECK_CASE("more events than may wait");
    clv_timings_reset(ctx);
    clv_buffer *buffer;
    CHECK(clv_buffer_create(ctx, 64, "buffer", &buffer) == CLVOX_OK);
    for (int i = 0; i < 10000; i++)
        CHECK(clv_buffer_fill(ctx, buffer, 0, 0, 64) == CLVOX_OK);
    CHECK(clv_timings(ctx, &rows) == 1 && rows[0].calls == 10000 && rows[0].bytes == 64e4);
    CHECK(clv_buffer_fill(ctx, buffer, 0, 0, 64) == CLVOX_OK); /* pending when the context goes */
    CHECK(clv_finish(ctx) == CLVOX_OK);
    clv_buffer_destroy(&buffer);
    clvox_context_destroy(&ctx);
    CHECK(ctx == NULL);
    clvox_context_destroy(&ctx);
}

static void check_switch(clvox_context *ctx)
{
    const clv_timing *rows;
    CHECK_CASE("timers come and go with the queue, and know their kernels");
    CHECK(probe_runs(ctx, NULL, 0));
    if (clv_timings_switch(ctx, true) < 0) {
        CHECK_SKIP("%s", clvox_message());
        return;
    }
    CHECK(probe_runs(ctx, NULL, 0) && clv_timings_switch(ctx, true) == CLVOX_OK);
    int count = clv_timings(ctx, &rows);
    const clv_timing *row = find_row(rows, count, "probe/"), *sent = find_row(rows, count, "(to the device)");
    CHECK(row && row->calls == 1 && row->kernel && !strcmp(row->kernel->label, row->label));
    CHECK(sent && sent->calls == 1 && !sent->kernel);
    CHECK(probe_runs(ctx, NULL, 0) && clv_timings_switch(ctx, false) == CLVOX_OK && probe_runs(ctx, NULL, 0));
    CHECK(clv_timings(ctx, &rows) == count && (row = find_row(rows, count, "probe/")) && row->calls == 2);
    clv_timings_reset(ctx);
    CHECK(probe_runs(ctx, NULL, 0) && clv_timings(ctx, &rows) == 0);
}

static void check_pinned(clvox_context *ctx)
{
    enum { BYTES = 5000 };
    unsigned char back[BYTES];
    clv_pinned *pinned = NULL;
    clv_buffer *buffer = NULL;
    CHECK_CASE("pinned memory is sent and fetched like any");
    CHECK(clv_pinned_create(ctx, BYTES, &pinned) == CLVOX_OK && pinned->bytes == BYTES);
    CHECK(clv_buffer_create(ctx, BYTES, "buffer", &buffer) == CLVOX_OK);
    unsigned char *data = pinned->data;
    for (int i = 0; i < BYTES; i++)
        data[i] = (unsigned char)(i * 7 % 251);
    CHECK(clv_buffer_write(ctx, buffer, 0, data, BYTES) == CLVOX_OK);
    CHECK(clv_buffer_read(ctx, buffer, 0, back, BYTES) == CLVOX_OK && !memcmp(back, data, BYTES));
    memset(data, 0, BYTES);
    CHECK(clv_buffer_read(ctx, buffer, 0, data, BYTES) == CLVOX_OK && !memcmp(back, data, BYTES));
    clv_pinned_destroy(&pinned);
    CHECK(!pinned);
    clv_pinned_destroy(&pinned);
    clv_buffer_destroy(&buffer);
}

/* Drivers whose workers still run commands of a context that is gone have crashed. */
static void check_end_of_work(void)
{
    enum { BYTES = 32 << 20, FILLS = 100 };
    clvox_context *ctx = NULL;
    clv_buffer *buffer = NULL;
    cl_event last = NULL;
    cl_int state = CL_QUEUED;
    CHECK_CASE("a context goes when its work is done");
    check_must(clvox_context_create(NULL, &ctx));
    check_must(clv_buffer_create(ctx, BYTES, "buffer", &buffer));
    for (int i = 0; i < FILLS; i++)
        CHECK(clv_buffer_fill(ctx, buffer, 0, (uint32_t)i, BYTES) == CLVOX_OK);
    CHECK(clEnqueueMarkerWithWaitList(ctx->queue, 0, NULL, &last) == CL_SUCCESS && clFlush(ctx->queue) == CL_SUCCESS);
    clv_buffer_destroy(&buffer);
    clvox_context_destroy(&ctx);
    CHECK(clGetEventInfo(last, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, NULL) == CL_SUCCESS);
    CHECK_THAT(state == CL_COMPLETE, "%d", (int)state);
    clReleaseEvent(last);
}

int main(int argc, char **argv)
{
    clvox_context *ctx;
    if (argc < 2)
        return 2;
    setenv("CLVOX_KERNEL_DIR", argv[1], 1);
    check_source();
    if (clvox_context_create(NULL, &ctx) < 0) {
        CHECK_CASE("kernels");
        CHECK_SKIP("%s", clvox_message());
        return check_end();
    }
    CHECK_CASE("what has no profile has no rows");
    const clv_timing *rows;
    CHECK(probe_runs(ctx, NULL, 0) && clv_timings(ctx, &rows) == 0);
    check_variants(ctx);
    check_refusals(ctx);
    check_memory(ctx);
    check_switch(ctx);
    check_pinned(ctx);
    clvox_context_destroy(&ctx);
    check_timing();
    check_end_of_work();
    return check_end();
}
