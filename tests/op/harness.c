/* SPDX-License-Identifier: Apache-2.0 */
#include "op/harness.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

clvox_context *harness_open(void)
{
    clvox_context *ctx;
    if (clvox_context_create(NULL, &ctx) < 0) {
        printf("1..0 # SKIP %s\n", clvox_message());
        exit(0);
    }
    return ctx;
}

/* Forms for CPU devices keep whole rows in private memory, for which a driver may
 * set much of a GPU's memory aside until the program ends (clv_private_reserve).
 * Programs that make it do so take turns; where the GPU is too small for a form,
 * its case says so and is skipped. */
static bool has_private_memory(clvox_context *ctx, const clv_entry *entry, const clv_variant *variant)
{
    static int turn = -1;
    const clvox_device_limits *limits = clvox_context_limits(ctx);
    const clv_kernel *kernel;
    if (limits->type == CLVOX_DEVICE_CPU || variant->devices & CLV_ON_GPU)
        return true;
    int status = clv_kernel_get(ctx, entry, entry->builds ? entry->builds[0] : NULL, (const int[3]){8, 8, 8}, 0,
                                &kernel);
    if (status == CLVOX_ERROR_DEVICE) {
        CHECK_SKIP("%s", clvox_message());
        return false;
    }
    check_must(status);
    if (turn >= 0 || kernel->reserve <= limits->global_bytes / 64)
        return true;
    char path[512];
    snprintf(path, sizeof path, "%s/clvox-test-turn-%u", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp",
             (unsigned)geteuid());
    turn = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (turn >= 0)
        flock(turn, LOCK_EX);
    return true;
}

bool harness_next(clvox_context *ctx, const clv_entry *entry, int *state, const char *what)
{
    int index = 0;
    for (int v = 0; v < entry->count; v++)
        for (int t = 0; t < CLV_MAX_TILES && entry->variants[v].tiles[t].x; t++) {
            const clv_variant *variant = &entry->variants[v];
            clv_tile tile = variant->tiles[t];
            if (index++ < *state || !clv_variant_runs(clvox_context_limits(ctx), variant, tile, 0))
                continue;
            *state = index;
            check_must(clv_force_variant(ctx, entry->name, variant->name, t));
            CHECK_CASE("%s %s %dx%dx%d march %d: %s", entry->name, variant->name, tile.x, tile.y,
                       tile.z, tile.march, what);
            if (!has_private_memory(ctx, entry, variant))
                continue;
            return true;
        }
    check_must(clv_force_variant(ctx, entry->name, NULL, -1));
    return false;
}

void harness_random(float *values, size_t count, unsigned seed, float low, float high)
{
    uint64_t s = seed * 0x9E3779B97F4A7C15ull + 1;
    for (size_t i = 0; i < count; i++) {
        s ^= s << 13;
        s ^= s >> 7;
        s ^= s << 17;
        values[i] = low + (high - low) * (float)((s >> 40) / 16777216.0);
    }
}

clv_buffer *harness_upload(clvox_context *ctx, const void *data, size_t bytes)
{
    clv_buffer *buffer;
    check_must(clv_buffer_create(ctx, bytes + 64, "test input", &buffer));
    check_must(clv_buffer_fill(ctx, buffer, 0, 0x7FC00000u, buffer->bytes));
    check_must(clv_buffer_write(ctx, buffer, 0, data, bytes));
    return buffer;
}

clv_buffer *harness_output(clvox_context *ctx, size_t bytes)
{
    clv_buffer *buffer;
    check_must(clv_buffer_create(ctx, bytes + 64, "test output", &buffer));
    check_must(clv_buffer_fill(ctx, buffer, 0, 0x7FC00000u, buffer->bytes));
    return buffer;
}

void harness_download(clvox_context *ctx, const clv_buffer *buffer, void *data, size_t bytes)
{
    check_must(clv_buffer_read(ctx, buffer, 0, data, bytes));
    uint32_t guard[16];
    check_must(clv_buffer_read(ctx, buffer, buffer->bytes - 64, guard, 64));
    for (int i = 0; i < 16; i++)
        CHECK(guard[i] == 0x7FC00000u);
}

clv_buffer *harness_upload_field(clvox_context *ctx, const float *planar, size_t voxels)
{
    if (!clv_fields_packed(ctx))
        return harness_upload(ctx, planar, 3 * voxels * sizeof(float));
    float *packed = malloc(3 * voxels * sizeof(float) + 1);
    for (size_t i = 0; i < voxels; i++)
        for (size_t c = 0; c < 3; c++)
            packed[3 * i + c] = planar[c * voxels + i];
    clv_buffer *buffer = harness_upload(ctx, packed, 3 * voxels * sizeof(float));
    free(packed);
    return buffer;
}

void harness_download_field(clvox_context *ctx, const clv_buffer *field, float *planar,
                            size_t voxels)
{
    float *device = malloc(3 * voxels * sizeof(float) + 1);
    harness_download(ctx, field, device, 3 * voxels * sizeof(float));
    bool packed = clv_fields_packed(ctx);
    for (size_t i = 0; i < voxels; i++)
        for (size_t c = 0; c < 3; c++)
            planar[c * voxels + i] = packed ? device[3 * i + c] : device[c * voxels + i];
    free(device);
}

double harness_error(const float *got, const double *want, size_t count, double absolute,
                     double relative)
{
    double worst = 0;
    for (size_t i = 0; i < count; i++) {
        double error;
        if (isnan(want[i]) || isnan(got[i]))
            error = isnan(want[i]) && isnan(got[i]) ? 0 : 1e30;
        else
            error = fabs(got[i] - want[i]) / (absolute + relative * fabs(want[i]));
        if (error > worst)
            worst = error;
    }
    return worst;
}
