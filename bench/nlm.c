/* SPDX-License-Identifier: Apache-2.0 */
/* The patch search against the device's measured multiply-add rate. */
#include <math.h>
#include <stdlib.h>
#include <time.h>

#include "bench_table.h"
#include "op/nlm_search.h"
#include "op/peak.h"

enum { RADIUS = 2, SAMPLES = 125, MOST = 96 };

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int bench_peak(clvox_context *ctx, double *operations_per_second)
{
    int status = CLVOX_OK;
    clv_buffer *in = NULL, *out = NULL;
    double operations = 0, best = 0;
    CLV_TRY(clv_buffer_create(ctx, 64, "bench data", &in));
    CLV_TRY(clv_buffer_create(ctx, CLV_PEAK_ROOM * sizeof(float), "bench data", &out));
    for (int steps = 1 << 10, round = 0; round < 6; round++) {
        double start = now();
        CLV_TRY(clv_peak(ctx, false, 1, 0.99f, 0.5f, steps, in, out, &operations));
        CLV_TRY(clv_finish(ctx));
        double took = now() - start;
        best = fmax(best, round ? operations / took : 0);
        if (took < 0.03)
            steps *= 4;
    }
    *operations_per_second = best;
end:
    clv_buffer_destroy(&in);
    clv_buffer_destroy(&out);
    return status;
}

/* Values in [-1, 1] from a place and nothing else. */
static float grain(int x, int y, int z)
{
    uint32_t h = (uint32_t)x * 73856093u ^ (uint32_t)y * 19349663u ^ (uint32_t)z * 83492791u;
    h = (h ^ h >> 15) * 2246822519u;
    h = (h ^ h >> 13) * 3266489917u;
    return (float)(h >> 8) / 8388608.0f - 1;
}

/* The distance to a torus in whose band of 3 voxels lie about `wanted` voxels,
 * with noise on the surface: slow over 2 voxels, as segmentations have it, and a
 * tenth of it from voxel to voxel. Both arrays become the caller's. */
static int make_band(int wanted, float noise, int size[3], float **phi, int32_t **band, int *count)
{
    /* The area 4 pi^2 R r with R = 2.5 r, times 6 voxels. */
    float r = sqrtf((float)wanted / (6 * 4 * 9.8696f * 2.5f)), R = 2.5f * r;
    for (int axis = 0; axis < 3; axis++)
        size[axis] = (int)(2 * ((axis < 2 ? R + r : r) + 6));
    int n = size[0] * size[1] * size[2];
    *phi = malloc((size_t)n * sizeof **phi);
    *band = malloc((size_t)n * sizeof **band);
    *count = 0;
    if (!*phi || !*band)
        return clv_fail(CLVOX_ERROR_MEMORY, "out of host memory for the bench's band");
    for (int i = 0; i < n; i++) {
        int x = i % size[0], y = i / size[0] % size[1], z = i / (size[0] * size[1]);
        float u = (float)x - (float)size[0] / 2, v = (float)y - (float)size[1] / 2;
        float w = (float)z - (float)size[2] / 2, rough = 0;
        for (int dz = 0; dz < 2; dz++)
            for (int dy = 0; dy < 2; dy++)
                for (int dx = 0; dx < 2; dx++)
                    rough += grain(x / 2 + dx, y / 2 + dy, z / 2 + dz) * (x % 2 == dx ? 0.75f : 0.25f) *
                             (y % 2 == dy ? 0.75f : 0.25f) * (z % 2 == dz ? 0.75f : 0.25f);
        float ring = sqrtf(u * u + v * v) - R;
        (*phi)[i] = sqrtf(ring * ring + w * w) - r + noise * (3 * rough + 0.1f * grain(x, y, -1 - z));
        if (fabsf((*phi)[i]) <= 3)
            (*band)[(*count)++] = i;
    }
    return CLVOX_OK;
}

typedef struct bench_band {
    clv_nlm_patches patches;
    clv_buffer *phi, *band, *neighbours, *distances, *scratch;
} bench_band;

static void release(bench_band *b)
{
    clv_buffer_destroy(&b->phi);
    clv_buffer_destroy(&b->band);
    clv_buffer_destroy(&b->neighbours);
    clv_buffer_destroy(&b->distances);
    clv_buffer_destroy(&b->scratch);
}

static int create(clvox_context *ctx, int wanted, float noise, bench_band *b)
{
    int status = CLVOX_OK, count;
    float *phi = NULL;
    int32_t *band = NULL;
    *b = (bench_band){.patches = {.radius = RADIUS}};
    CLV_TRY(make_band(wanted, noise, b->patches.size, &phi, &band, &count));
    size_t voxels = (size_t)b->patches.size[0] * (size_t)b->patches.size[1] * (size_t)b->patches.size[2];
    size_t answers = (size_t)count * MOST * 4;
    CLV_TRY(clv_buffer_create(ctx, voxels * 4, "level set", &b->phi));
    CLV_TRY(clv_buffer_create(ctx, (size_t)count * 4, "band", &b->band));
    CLV_TRY(clv_buffer_create(ctx, answers, "neighbours", &b->neighbours));
    CLV_TRY(clv_buffer_create(ctx, answers, "distances", &b->distances));
    CLV_TRY(clv_buffer_create(ctx, clv_nlm_search_bytes(ctx, count, RADIUS, MOST), "scratch of the search",
                              &b->scratch));
    CLV_TRY(clv_buffer_write(ctx, b->phi, 0, phi, voxels * 4));
    CLV_TRY(clv_buffer_write(ctx, b->band, 0, band, (size_t)count * 4));
    b->patches.phi = b->phi;
    b->patches.band = b->band;
    b->patches.count = count;
end:
    free(phi);
    free(band);
    if (status < 0)
        release(b);
    return status;
}

/* The least of some searches, at least two, as the first builds kernels. */
static int time_search(clvox_context *ctx, const bench_band *b, clv_nlm_memory form, double seconds,
                       double *best)
{
    int status = CLVOX_OK;
    double start = now();
    *best = INFINITY;
    for (int i = 0; i < 2 || now() - start < seconds; i++) {
        double from = now();
        CLV_TRY(clv_nlm_search(ctx, &b->patches, form, MOST, 0, b->neighbours, b->distances, b->scratch, NULL,
                               NULL));
        CLV_TRY(clv_finish(ctx));
        *best = fmin(*best, now() - from);
        if (i == 0 && *best > 20)
            break;
    }
end:
    return status;
}

typedef struct run {
    int voxels;
    float noise;
    clv_nlm_memory form;
    const char *name;
    bool large; /* GPUs alone */
} run;

static const run runs[] = {
    {17500, 0.3f, CLV_NLM_PLAIN, "all pairs", false},  {17500, 0.3f, CLV_NLM_AUTO, "pruned", false},
    {30000, 0.3f, CLV_NLM_PLAIN, "all pairs", false},  {30000, 0, CLV_NLM_AUTO, "pruned", false},
    {30000, 0.1f, CLV_NLM_AUTO, "pruned", false},      {30000, 0.3f, CLV_NLM_AUTO, "pruned", false},
    {175000, 0.3f, CLV_NLM_PLAIN, "all pairs", true},  {175000, 0, CLV_NLM_AUTO, "pruned", true},
    {175000, 0.1f, CLV_NLM_AUTO, "pruned", true},      {175000, 0.3f, CLV_NLM_AUTO, "pruned", true},
    {1000000, 0.1f, CLV_NLM_AUTO, "pruned", true},     {1000000, 0.3f, CLV_NLM_AUTO, "pruned", true},
};

static int print_run(clvox_context *ctx, const bench_band *b, const run *r, const char *variant,
                     double seconds, double peak, FILE *out, cJSON *rows)
{
    double best, count = b->patches.count;
    int status = time_search(ctx, b, r->form, seconds, &best);
    if (status < 0)
        return status;
    double rate = 2. * SAMPLES * count * count / best;
    fprintf(out, "%9d %6.1f %-10s %-12s %10.4f %10.1f %7.1f%%\n", b->patches.count, (double)r->noise, r->name,
            variant, best, 1e-9 * rate, 100 * rate / peak);
    fflush(out);
    if (rows) {
        cJSON *row = cJSON_CreateObject();
        cJSON_AddNumberToObject(row, "voxels", count);
        cJSON_AddNumberToObject(row, "noise", (double)r->noise);
        cJSON_AddStringToObject(row, "form", r->name);
        cJSON_AddStringToObject(row, "variant", variant);
        cJSON_AddNumberToObject(row, "seconds", best);
        cJSON_AddNumberToObject(row, "share_of_peak", rate / peak);
        cJSON_AddItemToArray(rows, row);
    }
    return CLVOX_OK;
}

int bench_nlm(clvox_context *ctx, double seconds, bool variants, FILE *out, cJSON *json)
{
    int status = CLVOX_OK;
    const clv_entry *entry = &clv_entry_nlm_search;
    bool cpu = clvox_context_limits(ctx)->type == CLVOX_DEVICE_CPU;
    bench_band b = {0};
    double peak;
    cJSON *rows = json ? cJSON_AddArrayToObject(json, "nlm_search") : NULL;
    CLV_TRY(bench_peak(ctx, &peak));
    fprintf(out, "%s: patch search, %d samples, %d neighbours; multiply-adds %.1f GFLOPS\n"
                 "%9s %6s %-10s %-12s %10s %10s %8s\n",
            clvox_context_limits(ctx)->name, SAMPLES, MOST, 1e-9 * peak, "voxels", "noise", "form", "variant",
            "seconds", "GFLOPS", "of peak");
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        if (cpu && runs[i].large)
            continue;
        CLV_TRY(create(ctx, runs[i].voxels, runs[i].noise, &b));
        CLV_TRY(print_run(ctx, &b, &runs[i], "", seconds, peak, out, rows));
        for (int v = 0; v < entry->count && variants && runs[i].voxels < 1000000; v++)
            for (int t = 0; t < CLV_MAX_TILES && entry->variants[v].tiles[t].x; t++) {
                const clv_variant *variant = &entry->variants[v];
                if (cpu ? !(variant->devices & CLV_ON_CPU) : !(variant->devices & CLV_ON_GPU))
                    continue;
                char label[32];
                snprintf(label, sizeof label, "%s,%d", variant->name, variant->tiles[t].march);
                CLV_TRY(clv_force_variant(ctx, entry->name, variant->name, t));
                CLV_TRY(print_run(ctx, &b, &runs[i], label, seconds, peak, out, rows));
            }
        CLV_TRY(clv_force_variant(ctx, entry->name, NULL, -1));
        release(&b);
    }
end:
    release(&b);
    return status;
}

static void or_unknown(char *text, size_t room, int value)
{
    snprintf(text, room, value < 0 ? "unknown" : "%d", value);
}

/* One form of the paper's search with the kernel that it takes now. */
static int print_form(clvox_context *ctx, const bench_band *b, clv_nlm_memory form, const char *name,
                      double seconds, double peak, FILE *out, cJSON *rows)
{
    const clv_kernel *k;
    bool by_pairs = form != CLV_NLM_AUTO && form != CLV_NLM_PLAIN;
    const clv_entry *entry = by_pairs ? clv_nlm_pairs_entry(form) : &clv_entry_nlm_search;
    double best, count = b->patches.count;
    char registers[16], groups[16], occupancy[16] = "unknown";
    int status = clv_kernel_get(ctx, entry, NULL, (const int[3]){1, 1, 1}, 0, &k);
    if (status >= 0)
        status = time_search(ctx, b, form, seconds, &best);
    if (status < 0)
        return status;
    or_unknown(registers, sizeof registers, k->registers);
    or_unknown(groups, sizeof groups, k->resources.groups);
    if (k->occupancy >= 0)
        snprintf(occupancy, sizeof occupancy, "%.0f%%", 100 * k->occupancy);
    double rate = 2. * SAMPLES * count * count / best;
    fprintf(out, "%9d %-10s %4dx%dx%d %9s %8d %8s %9s %10.4f %10.1f %7.1f%%\n", b->patches.count, name,
            k->tile.x, k->tile.y, k->tile.z, registers, k->local_bytes, groups, occupancy, best, 1e-9 * rate,
            100 * rate / peak);
    fflush(out);
    cJSON *row = cJSON_CreateObject();
    cJSON_AddStringToObject(row, "form", name);
    cJSON_AddStringToObject(row, "kernel", k->label);
    cJSON_AddNumberToObject(row, "voxels", count);
    cJSON_AddNumberToObject(row, "registers", k->registers);
    cJSON_AddNumberToObject(row, "occupancy", k->occupancy);
    cJSON_AddNumberToObject(row, "seconds", best);
    cJSON_AddItemToArray(rows, row);
    return CLVOX_OK;
}

int bench_lee2012_nlm(clvox_context *ctx, double seconds, FILE *out, cJSON *json)
{
    static const struct {
        clv_nlm_memory form;
        const char *name;
    } forms[] = {{CLV_NLM_CONSTANT, "constant"}, {CLV_NLM_GLOBAL, "global"}, {CLV_NLM_IMAGE, "image"},
                 {CLV_NLM_PLAIN, "product"}, {CLV_NLM_AUTO, "pruned"}};
    enum { FORMS = sizeof forms / sizeof *forms };
    static const int voxels[] = {1500, 17500, 175000};
    int status = CLVOX_OK;
    bool cpu = clvox_context_limits(ctx)->type == CLVOX_DEVICE_CPU;
    bench_band b = {0};
    double peak;
    cJSON *rows = cJSON_AddArrayToObject(json, "lee2012_nlm");
    CLV_TRY(bench_peak(ctx, &peak));
    fprintf(out,
            "\nLee et al. 2012, figures 4 and 5: the %d nearest patches of %d samples by where the\n"
            "compared patches lie. The paper, GTX 480: constant memory is the fastest, global 20%% slower,\n"
            "image 6 times; a whole step takes 4 s for 17500 voxels, 4.6 min for 175000. Multiply-adds\n"
            "here: %.1f GFLOPS.\n\n"
            "%9s %-10s %8s %9s %8s %8s %9s %10s %10s %8s\n",
            MOST, SAMPLES, 1e-9 * peak, "voxels", "form", "tile", "registers", "local B", "groups", "occupancy",
            "seconds", "GFLOPS", "of peak");
    for (int n = cpu ? 0 : 1; n < (cpu ? 1 : 3); n++) {
        CLV_TRY(create(ctx, voxels[n], 0.3f, &b));
        for (int f = 0; f < FORMS; f++) {
            bool by_pairs = forms[f].form != CLV_NLM_PLAIN && forms[f].form != CLV_NLM_AUTO;
            if (cpu && forms[f].form == CLV_NLM_IMAGE) {
                fprintf(out, "%9d %-10s not on CPU devices\n", b.patches.count, forms[f].name);
                continue;
            }
            const clv_entry *entry = by_pairs ? clv_nlm_pairs_entry(forms[f].form) : &clv_entry_nlm_search;
            /* Every tile for the small band, the planner's for the large one. */
            for (int t = 0; by_pairs && n < 2 && entry->variants[0].tiles[t].x; t++) {
                CLV_TRY(clv_force_variant(ctx, entry->name, entry->variants[0].name, t));
                CLV_TRY(print_form(ctx, &b, forms[f].form, forms[f].name, seconds, peak, out, rows));
            }
            CLV_TRY(clv_force_variant(ctx, entry->name, NULL, -1));
            if (!by_pairs || n == 2)
                CLV_TRY(print_form(ctx, &b, forms[f].form, forms[f].name, seconds, peak, out, rows));
        }
        release(&b);
    }
end:
    release(&b);
    return status;
}
