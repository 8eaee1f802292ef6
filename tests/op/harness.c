/* SPDX-License-Identifier: Apache-2.0 */
#include "op/harness.h"
#include "runtime/device/context.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

/* A variant and tile that a case runs. */
typedef struct generated {
    const clv_entry *entry;
    const clv_variant *variant;
    int tile, index;
    bool first;
} generated;

static clvox_context *device;
static const clv_entry *forced;
static const generated *running;

static int unforce(void **state)
{
    (void)state;
    int status = forced ? clv_force_variant(device, forced->name, NULL, -1) : CLVOX_OK;
    forced = NULL;
    running = NULL;
    return status;
}

clvox_context *harness_open(void)
{
    if (clvox_context_create(NULL, &device) < 0)
        exit(test_skip_all("%s", clvox_message()));
    test_after_each(unforce);
    return device;
}

clvox_context *harness_context(void)
{
    return device;
}

int harness_close(void **state)
{
    (void)state;
    clvox_context_destroy(&device);
    return 0;
}

int harness_case_index(void)
{
    return running->index;
}

bool harness_first(void)
{
    return running->first;
}

const clv_variant *harness_variant(void)
{
    return running->variant;
}

int harness_tile(void)
{
    return running->tile;
}

/* Forms for CPU devices keep whole rows in private memory, for which a driver may
 * set much of a GPU's memory aside until the program ends (clv_private_reserve).
 * Programs that make it do so take turns; where the GPU is too small for a form,
 * its case says so and is skipped. */
static void need_private_memory(clvox_context *ctx, const clv_entry *entry, const clv_variant *variant)
{
    static int turn = -1;
    const clvox_device_limits *limits = clvox_context_limits(ctx);
    const clv_kernel *kernel;
    if (limits->type == CLVOX_DEVICE_CPU || variant->devices & CLV_ON_GPU)
        return;
    int status = clv_kernel_get(ctx, entry, entry->builds ? entry->builds[0] : NULL, (const int[3]){8, 8, 8}, 0,
                                &kernel);
    if (status == CLVOX_ERROR_DEVICE)
        test_skip("%s", clvox_message());
    assert_ok(status);
    if (turn >= 0 || kernel->reserve <= limits->global_bytes / 64)
        return;
    char path[512];
    snprintf(path, sizeof path, "%s/clvox-test-turn-%u", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp",
             (unsigned)geteuid());
    turn = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (turn >= 0)
        flock(turn, LOCK_EX);
}

static void need_sound_compiler(const clvox_context *ctx, const clv_variant *variant)
{
    char why[256];
    if (ctx->driver->miscompiles &&
        ctx->driver->miscompiles(clvox_context_limits(ctx), variant->function, why, sizeof why))
        test_skip("%s", why);
}

int harness_problems(int few, int all)
{
    if (!getenv("CLVOX_TEST_TINY"))
        return all;
    return running && !running->first && few > 2 ? 2 : few;
}

static void force(void **state)
{
    const generated *g = *state;
    running = g;
    forced = g->entry;
    assert_ok(clv_force_variant(device, forced->name, g->variant->name, g->tile));
    need_sound_compiler(device, g->variant);
    need_private_memory(device, g->entry, g->variant);
}

static void generate(const clv_entry *entry, CMUnitTestFunction function, const void *data, size_t bytes,
                     const char *what, bool first_alone)
{
    generated g = {.entry = entry};
    const int kind = clvox_context_limits(device)->type == CLVOX_DEVICE_CPU ? CLV_ON_CPU : CLV_ON_GPU;
    for (int v = 0; v < entry->count; v++) {
        g.variant = &entry->variants[v];
        if (getenv("CLVOX_TEST_OWN") && !(g.variant->devices & kind))
            continue;
        /* PoCL 3.1 leaks an image of a buffer, and with it the context. */
        if (getenv("CLVOX_SANITIZED") && g.variant->image)
            continue;
        g.first = true;
        for (g.tile = 0; g.tile < CLV_MAX_TILES && g.variant->tiles[g.tile].x; g.tile++) {
            clv_tile tile = g.variant->tiles[g.tile];
            if (!clv_variant_runs(clvox_context_limits(device), g.variant, tile, 0))
                continue;
            if ((first_alone || getenv("CLVOX_TEST_FIRST")) && !g.first)
                break;
            test_case_at(function, data, bytes, "%s %s %dx%dx%d march %d: %s", entry->name, g.variant->name,
                         tile.x, tile.y, tile.z, tile.march, what);
            test_before(force, &g, sizeof g);
            g.index++;
            g.first = false;
        }
    }
}

void harness_cases(const clv_entry *entry, CMUnitTestFunction function, const void *data, size_t bytes,
                   const char *what)
{
    generate(entry, function, data, bytes, what, false);
}

void harness_cases_first(const clv_entry *entry, CMUnitTestFunction function, const void *data, size_t bytes,
                         const char *what)
{
    generate(entry, function, data, bytes, what, true);
}

bool harness_simulated(void)
{
    return getenv("CLVOX_TEST_SIMULATED") != NULL;
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

int *harness_within(const int size[3], unsigned seed)
{
    const size_t rows = (size_t)size[1] * (size_t)size[2];
    int *within = malloc(2 * rows * sizeof *within);
    float *ends = malloc(2 * rows * sizeof *ends);
    harness_random(ends, 2 * rows, seed, 0, (float)size[0] + .999f);
    for (size_t r = 0; r < rows; r++) {
        int a = (int)ends[2 * r], b = (int)ends[2 * r + 1];
        bool whole = r % 5 == 3;
        within[2 * r] = whole ? 0 : a < b ? a : b;
        within[2 * r + 1] = whole ? size[0] : r % 7 == 2 ? within[2 * r] : a < b ? b : a;
    }
    free(ends);
    return within;
}

bool harness_is_within(const int *within, const int size[3], size_t voxel)
{
    const size_t row = voxel / (size_t)size[0];
    const int x = (int)(voxel % (size_t)size[0]);
    return x >= within[2 * row] && x < within[2 * row + 1];
}

clv_buffer *harness_upload(clvox_context *ctx, const void *data, size_t bytes)
{
    clv_buffer *buffer;
    assert_ok(clv_buffer_create(ctx, bytes + 64, "test input", &buffer));
    assert_ok(clv_buffer_fill(ctx, buffer, 0, 0x7FC00000u, buffer->bytes));
    assert_ok(clv_buffer_write(ctx, buffer, 0, data, bytes));
    return buffer;
}

clv_buffer *harness_output(clvox_context *ctx, size_t bytes)
{
    clv_buffer *buffer;
    assert_ok(clv_buffer_create(ctx, bytes + 64, "test output", &buffer));
    assert_ok(clv_buffer_fill(ctx, buffer, 0, 0x7FC00000u, buffer->bytes));
    return buffer;
}

void harness_download(clvox_context *ctx, const clv_buffer *buffer, void *data, size_t bytes)
{
    assert_ok(clv_buffer_read(ctx, buffer, 0, data, bytes));
    uint32_t guard[16];
    assert_ok(clv_buffer_read(ctx, buffer, buffer->bytes - 64, guard, 64));
    for (int i = 0; i < 16; i++)
        assert_int_equal(guard[i], 0x7FC00000u);
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
    float *packed = malloc(3 * voxels * sizeof(float) + 1);
    harness_download(ctx, field, packed, 3 * voxels * sizeof(float));
    bool interleaved = clv_fields_packed(ctx);
    for (size_t i = 0; i < voxels; i++)
        for (size_t c = 0; c < 3; c++)
            planar[c * voxels + i] = interleaved ? packed[3 * i + c] : packed[c * voxels + i];
    free(packed);
}

double harness_error(const float *got, const double *want, size_t count, double absolute,
                     double relative)
{
    double worst = 0;
    for (size_t i = 0; i < count; i++) {
        double error;
        if (!isfinite(want[i]) || !isfinite(got[i]))
            error = (isnan(want[i]) && isnan(got[i])) || (double)got[i] == want[i] ? 0 : 1e30;
        else
            error = fabs(got[i] - want[i]) / (absolute + relative * fabs(want[i]));
        if (error > worst)
            worst = error;
    }
    return worst;
}
