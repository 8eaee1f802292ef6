/* SPDX-License-Identifier: Apache-2.0 */
/* The patch search against the device's measured multiply-add rate. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench_table.h"
#include "bench/papers/beside.h"
#include "bench/papers/nlm.h"
#include "bench/papers/lines.h"
#include "ref/surface/patch_search.h"

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
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory for the bench's band");
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
        if (fabsf((*phi)[i]) <= BENCH_HALF_BAND)
            (*band)[(*count)++] = i;
    }
    return CLVOX_OK;
}

void bench_band_release(bench_band *b)
{
    clv_buffer_destroy(&b->phi);
    clv_buffer_destroy(&b->band);
    clv_buffer_destroy(&b->neighbours);
    clv_buffer_destroy(&b->distances);
    clv_buffer_destroy(&b->scratch);
    free(b->host_phi);
    free(b->host_band);
    b->host_phi = NULL;
    b->host_band = NULL;
}

int bench_band_create(clvox_context *ctx, int wanted, float noise, bench_band *b)
{
    int status = CLVOX_OK, count;
    *b = (bench_band){.ctx = ctx, .form = BENCH_PRUNED,
                      .patches = {.radius = BENCH_RADIUS, .phi = {.spacing = {1, 1, 1}, .components = 1}}};
    CLV_TRY(make_band(wanted, noise, b->patches.phi.size, &b->host_phi, &b->host_band, &count));
    size_t voxels = (size_t)b->patches.phi.size[0] * (size_t)b->patches.phi.size[1] * (size_t)b->patches.phi.size[2];
    size_t answers = (size_t)count * BENCH_MOST * 4;
    CLV_TRY(clv_buffer_create(ctx, voxels * 4, "level set", &b->phi));
    CLV_TRY(clv_buffer_create(ctx, (size_t)count * 4, "band", &b->band));
    CLV_TRY(clv_buffer_create(ctx, answers, "neighbours", &b->neighbours));
    CLV_TRY(clv_buffer_create(ctx, answers, "distances", &b->distances));
    CLV_TRY(clv_buffer_create(ctx, clv_patch_search_bytes(count, BENCH_RADIUS), "scratch of the search", &b->scratch));
    CLV_TRY(clv_buffer_write(ctx, b->phi, 0, b->host_phi, voxels * 4));
    CLV_TRY(clv_buffer_write(ctx, b->band, 0, b->host_band, (size_t)count * 4));
    b->patches.phi.buffer = b->phi;
    b->patches.band = b->band;
    b->patches.count = count;
end:
    if (status < 0)
        bench_band_release(b);
    return status;
}

int bench_band_search(void *what)
{
    const bench_band *b = what;
    const clv_patch_search_args args = {.patches = b->patches, .most = BENCH_MOST,
                                        .exhaustive = b->form == BENCH_EXHAUSTIVE, .neighbours = b->neighbours,
                                        .distances = b->distances, .scratch = b->scratch};
    return b->form == BENCH_PAIRS ? clv_patch_pairs(b->ctx, &args) : clv_patch_search(b->ctx, &args);
}

/* A small band's search against every pair in double precision. */
static int verify(clvox_context *ctx, bench_form form, const char *name)
{
    int status = CLVOX_OK;
    bench_band b = {.ctx = ctx, .form = BENCH_PRUNED};
    int *got = NULL, *want = NULL;
    float *distance = NULL;
    double *true_distance = NULL;
    CLV_TRY(bench_band_create(ctx, BENCH_CHECKED, 0.3f, &b));
    size_t answers = (size_t)b.patches.count * BENCH_MOST;
    got = malloc(answers * sizeof *got);
    want = malloc(answers * sizeof *want);
    distance = malloc(answers * sizeof *distance);
    true_distance = malloc(answers * sizeof *true_distance);
    if (!got || !want || !distance || !true_distance) {
        status = clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory for the bench's references");
        goto end;
    }
    b.form = form;
    CLV_TRY(bench_band_search(&b));
    CLV_TRY(clv_buffer_read(ctx, b.neighbours, 0, got, answers * sizeof *got));
    CLV_TRY(clv_buffer_read(ctx, b.distances, 0, distance, answers * sizeof *distance));
    ref_patch_search(b.host_phi, b.patches.phi.size, b.host_band, b.patches.count, BENCH_RADIUS, BENCH_MOST, 0,
                   want, true_distance);
    for (size_t i = 0; i < answers; i++) {
        double slack = 1e-5 * true_distance[i] + 1e-9;
        bool right = got[i] == want[i];
        if (!right && got[i] >= 0 && got[i] < b.patches.count) /* a near tie */
            right = fabs(ref_nlm_distance(b.host_phi, b.patches.phi.size, BENCH_RADIUS,
                                          b.host_band[i / BENCH_MOST], b.host_band[got[i]]) -
                         true_distance[i]) <= slack;
        if (!right || !(fabs((double)distance[i] - true_distance[i]) <= slack)) {
            status = bench_wrong(ctx, name, "a patch at distance %.7g should be at %.7g", (double)distance[i],
                                 true_distance[i]);
            goto end;
        }
    }
end:
    free(got);
    free(want);
    free(distance);
    free(true_distance);
    bench_band_release(&b);
    return status;
}

/* 2 K N^2 operations over the time. */
static int measure(bench_run *run, bench_band *b, const char *entry, record_row *row, bench_time *time,
                   char tile[32])
{
    int status = bench_measure(run, bench_band_search, b, entry, time);
    double count = b->patches.count;
    if (status < 0)
        return status;
    memcpy(row->size, b->patches.phi.size, sizeof row->size);
    row->operations = 2. * BENCH_SAMPLES * count * count;
    row->verified = true;
    bench_complete(run, time, row, tile);
    return CLVOX_OK;
}

typedef struct search {
    int voxels;
    float noise;
    bench_form form;
    const char *name;
    bool large; /* GPUs alone */
} search;

static const search searches[] = {
    {17500, 0.3f, BENCH_EXHAUSTIVE, "all pairs", false},  {17500, 0.3f, BENCH_PRUNED, "pruned", false},
    {30000, 0.3f, BENCH_EXHAUSTIVE, "all pairs", false},  {30000, 0, BENCH_PRUNED, "pruned", false},
    {30000, 0.1f, BENCH_PRUNED, "pruned", false},      {30000, 0.3f, BENCH_PRUNED, "pruned", false},
    {175000, 0.3f, BENCH_EXHAUSTIVE, "all pairs", true},  {175000, 0, BENCH_PRUNED, "pruned", true},
    {175000, 0.1f, BENCH_PRUNED, "pruned", true},      {175000, 0.3f, BENCH_PRUNED, "pruned", true},
    {1000000, 0.1f, BENCH_PRUNED, "pruned", true},     {1000000, 0.3f, BENCH_PRUNED, "pruned", true},
};

/* of_run: of the run's own band, whose size is no part of the name. */
static int print_search(bench_run *run, bench_band *b, const search *r, bool of_run, const char *variant)
{
    char tile[32], name[64];
    bench_time time;
    if (of_run)
        snprintf(name, sizeof name, "%s, noise %g", r->name, (double)r->noise);
    else
        snprintf(name, sizeof name, "%s, %d voxels, noise %g", r->name, r->voxels, (double)r->noise);
    record_row row = {.group = "nlm", .name = name};
    b->form = r->form;
    int status = verify(run->ctx, r->form, r->name);
    if (status >= 0)
        status = measure(run, b, clv_entry_patch_search.name, &row, &time, tile);
    if (status < 0)
        return status;
    fprintf(run->out, "%9d %6.1f %-10s %-12s %10.4f %5.1f%% %10.1f %7.1f%%\n", b->patches.count,
            (double)r->noise, r->name, variant, time.seconds.median, 100 * time.seconds.spread,
            1e-9 * row.operations / time.seconds.median, 100 * row.share);
    fflush(run->out);
    record_add(run->log, &row);
    return CLVOX_OK;
}

static int search_variants(bench_run *run, bench_band *b, const search *r, bool of_run)
{
    int status = CLVOX_OK;
    const clv_entry *entry = &clv_entry_patch_search;
    bool cpu = clvox_context_limits(run->ctx)->type == CLVOX_DEVICE_CPU;
    for (int v = 0; v < entry->count; v++)
        for (int t = 0; t < CLV_MAX_TILES && entry->variants[v].tiles[t].x; t++) {
            const clv_variant *variant = &entry->variants[v];
            char label[32];
            if (cpu ? !(variant->devices & CLV_ON_CPU) : !(variant->devices & CLV_ON_GPU))
                continue;
            int item[3], group[3];
            clv_variant_covers(variant, variant->tiles[t], item, group);
            snprintf(label, sizeof label, "%s,%d", variant->name, group[0]);
            CLV_TRY(clv_force_variant(run->ctx, entry->name, variant->name, t));
            CLV_TRY(print_search(run, b, r, of_run, label));
        }
end:
    if (clv_force_variant(run->ctx, entry->name, NULL, -1) < 0 && status >= 0)
        status = CLVOX_ERROR_MEMORY;
    return status;
}

/* The band of a surface in the volume of the run, as large as one of 17500 voxels in one of 128^3. */
static int brief_voxels(const bench_run *run)
{
    double wanted = (double)run->size[0] * run->size[1] * run->size[2] / 120;
    return (int)fmin(fmax(wanted, 1500), 175000);
}

int bench_nlm(bench_run *run, bool brief)
{
    int status = CLVOX_OK;
    bool cpu = clvox_context_limits(run->ctx)->type == CLVOX_DEVICE_CPU;
    bench_band b = {.ctx = run->ctx};
    CLV_TRY(bench_limits(run));
    fprintf(run->out, "patch search, %d samples, %d neighbours\n%9s %6s %-10s %-12s %10s %6s %10s %8s\n",
            BENCH_SAMPLES, BENCH_MOST, "voxels", "noise", "form", "variant", "seconds", "spread", "GFLOPS",
            "of peak");
    for (size_t i = 0; i < (brief ? 2 : sizeof searches / sizeof *searches); i++) {
        search r = searches[i];
        if (cpu && r.large)
            continue;
        if (brief)
            r.voxels = brief_voxels(run);
        CLV_TRY(bench_band_create(run->ctx, r.voxels, r.noise, &b));
        CLV_TRY(print_search(run, &b, &r, brief, ""));
        if (run->variants && r.voxels < 1000000)
            CLV_TRY(search_variants(run, &b, &r, brief));
        if (i == (brief ? 1 : 5))
            CLV_TRY(bench_nlm_updates(run, &b));
        bench_band_release(&b);
    }
end:
    bench_band_release(&b);
    return status;
}

/* ---- the paper's forms ---- */

typedef struct form {
    bench_form form;
    const char *name; /* of pairs: the variant, a memory */
    int against;      /* the form that it is compared with */
    double figure;    /* the paper's time beside that one's; 0: none */
    const char *conclusion;
} form;

/* Those that others are compared with. */
enum { CONSTANT = 0, RECORDS = 3 };
static const form forms[] = {
    [CONSTANT] = {BENCH_PAIRS, "constant", CONSTANT, 0, NULL},
    {BENCH_PAIRS, "global", CONSTANT, 1.2, "global memory is slower than constant memory"},
    {BENCH_PAIRS, "image", CONSTANT, 6, "image memory is slower than constant memory"},
    [RECORDS] = {BENCH_PAIRS, "records", RECORDS, 0, NULL},
    {BENCH_PAIRS, "records, even stride", RECORDS, 0, "records an even number of floats apart are slower"},
    {BENCH_EXHAUSTIVE, "product", CONSTANT, 0, NULL},
    {BENCH_PRUNED, "pruned", CONSTANT, 0, NULL},
};
enum { FORMS = sizeof forms / sizeof *forms };

static const clv_entry *entry_of(const form *f)
{
    return f->form == BENCH_PAIRS ? &clv_entry_patch_pairs : &clv_entry_patch_search;
}

/* The memory of a form; NULL: the form is not one of pairs. */
static const clv_variant *memory_of(const form *f)
{
    const clv_entry *entry = &clv_entry_patch_pairs;
    for (int v = 0; f->form == BENCH_PAIRS && v < entry->count; v++)
        if (!strcmp(entry->variants[v].name, f->name))
            return &entry->variants[v];
    return NULL;
}

static void or_unknown(char *text, size_t room, int value)
{
    if (value < 0)
        snprintf(text, room, "unknown");
    else
        snprintf(text, room, "%d", value);
}

/* Bytes that the paper's search moves: in each pass every row's record comes and its answers go, and all rows
 * read the subset. */
static double bytes_moved(const bench_band *b)
{
    const double count = b->patches.count, each = 130, passes = ceil(count / each);
    return passes * (count * 4 * (BENCH_SAMPLES + 1 + 4 * BENCH_MOST) + each * 4 * BENCH_SAMPLES);
}

/* One form of the paper's search with the kernel that it takes now. samples: of each form with the same band
 * and tile so far. */
static int print_form(bench_run *run, bench_band *b, const form *f, record_samples samples[FORMS])
{
    const record_samples *other = &samples[f->against];
    const clv_kernel *k;
    const clv_entry *entry = entry_of(f);
    char registers[16], groups[16], occupancy[16] = "unknown", tile[32], name[64];
    bench_time time;
    snprintf(name, sizeof name, "patch search, %s, %d voxels", f->name, b->patches.count);
    record_row row = {.group = "lee2012", .name = name};
    record_paper paper = {.value = f->figure,
                          .device = "GTX 480",
                          .conclusion = f->conclusion,
                          .unit = f->against == RECORDS ? "times as long as records"
                                                        : "times as long as constant memory"};
    b->form = f->form;
    int status = clv_kernel_get(run->ctx, entry, NULL, (const int[3]){1, 1, 1}, 0, &k);
    if (status >= 0)
        status = verify(run->ctx, f->form, f->name);
    if (status >= 0)
        status = measure(run, b, entry->name, &row, &time, tile);
    if (status < 0)
        return status;
    time.kernel = k;
    bench_complete(run, &time, &row, tile);
    samples[f - forms] = time.seconds;
    if (f->conclusion && other->count > 0) {
        paper.here = time.seconds.median / other->median;
        paper.holds = bench_slower(&time.seconds, other);
        row.paper = &paper;
    }
    or_unknown(registers, sizeof registers, k->registers);
    or_unknown(groups, sizeof groups, k->resources.groups);
    if (k->occupancy >= 0)
        snprintf(occupancy, sizeof occupancy, "%.0f%%", 100 * k->occupancy);
    fprintf(run->out, "%9d %-20s %4dx%dx%d %9s %8d %8s %9s %10.4f %10.1f %7.1f%% %7.1f%s\n", b->patches.count,
            f->name, k->tile.x, k->tile.y, k->tile.z, registers, k->local_bytes, groups, occupancy,
            time.seconds.median, 1e-9 * row.operations / time.seconds.median, 100 * row.share,
            1e-9 * bytes_moved(b) / time.seconds.median,
            !row.paper    ? ""
            : paper.holds ? "  slower, as in the paper"
                          : "  not slower, unlike the paper");
    fflush(run->out);
    record_add(run->log, &row);
    return CLVOX_OK;
}

/* ---- figure 5 and the whole step ---- */

typedef struct plain {
    bench_band *b;
    int *neighbours[2]; /* of two threads */
    double *distances[2];
} plain;

static int plain_search(void *user, size_t index, int worker)
{
    const plain *p = user;
    (void)worker;
    ref_patch_search(p->b->host_phi, p->b->patches.phi.size, p->b->host_band, p->b->patches.count,
                     BENCH_RADIUS, BENCH_MOST, 0, p->neighbours[index], p->distances[index]);
    return CLVOX_OK;
}

/* The search in constant memory of so many voxels beside one and two threads of a CPU, which search a small
 * band. */
static int speed_up(bench_run *run, const record_samples *device, double voxels)
{
    int status = CLVOX_OK;
    bench_band b = {.ctx = run->ctx};
    plain p = {.b = &b};
    CLV_TRY(bench_band_create(run->ctx, BENCH_CHECKED, 0.3f, &b));
    const double count = b.patches.count;
    for (int t = 0; t < 2; t++) {
        p.neighbours[t] = malloc((size_t)count * BENCH_MOST * sizeof(int));
        p.distances[t] = malloc((size_t)count * BENCH_MOST * sizeof(double));
        if (!p.neighbours[t] || !p.distances[t]) {
            status = clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory for the bench's references");
            goto end;
        }
    }
    for (int threads = 1; threads <= 2; threads++) {
        record_samples samples;
        const paper_speed_up of = {.group = "lee2012",
                                   .name = "patch search, constant",
                                   .device = "GTX 480",
                                   .threads = threads,
                                   .figure = threads == 2 ? 93 : 0,
                                   .plain_elements = threads * count * count,
                                   .elements = voxels * voxels};
        CLV_TRY(paper_plain(run, (size_t)threads, plain_search, &p, threads, &samples));
        paper_report_speed_up(run, &of, &samples, device);
    }
end:
    for (int t = 0; t < 2; t++) {
        free(p.neighbours[t]);
        free(p.distances[t]);
    }
    bench_band_release(&b);
    return status;
}

/* The paper's whole step: search in constant memory, weights and one step of equation 15 alone. */
static int whole_step(bench_run *run, bench_band *b, double seconds)
{
    bench_time time;
    char name[64];
    record_paper paper = {.value = seconds,
                          .unit = "s",
                          .device = "GTX 480",
                          .conclusion = "a step of many voxels takes seconds"};
    b->form = BENCH_PAIRS;
    int status = bench_nlm_step(run, b, &time);
    if (status < 0)
        return status;
    paper.here = time.seconds.median;
    paper.holds = time.seconds.median >= 1;
    snprintf(name, sizeof name, "search, weights and step, %d voxels", b->patches.count);
    record_row row = {.group = "lee2012",
                      .name = name,
                      .seconds = &time.seconds,
                      .verified = true,
                      .paper = seconds > 0 ? &paper : NULL};
    memcpy(row.size, b->patches.phi.size, sizeof row.size);
    record_add(run->log, &row);
    fprintf(run->out, "%9d search, weights and a step: %.4f s", b->patches.count, time.seconds.median);
    if (seconds > 0)
        fprintf(run->out, " (%g in the paper)", seconds);
    fprintf(run->out, "\n");
    fflush(run->out);
    return CLVOX_OK;
}

static const char *const not_covered[] = {
    "equation 1 by work-group for compute capability 2.0 and later: devices give registers out by warp, and "
    "so clvox\n"
    "  counts; for 1.x it is as printed",
    "occupancy on an AMD device: there was none; its rules are LLVM's, tested by their numbers",
    "occupancy of CPUs: a core runs one work-group at a time; `clvox devices -v` counts the rounds over the "
    "cores",
    "tiles chosen by the registers of a build, one large work-group a multiprocessor, and work-groups as a "
    "multiple of\n"
    "  the multiprocessors: as rules they lose more than the planner's (bench/README.md)",
    "the symmetry that section 2.2 claims when the images are exchanged: a descent on one image's grid\n"
    "  has it only as far as it converges (there and back is a quarter of the way off); `register\n"
    "  --deform syn` is symmetric",
    "48 KB of L1 cache beside 16: OpenCL has no switch for it",
    "figures 3, 6 and 7: images and surfaces are not public, and a run has one device; `clvox compare`\n"
    "  and `clvox surface compare` compare what two devices made, doc/devices.md has how far they are\n"
    "  apart",
    "the whole of `surface denoise` by this step: it re-distances, keeps volume and topology, and by\n"
    "  default averages whole patches instead (doc/guide/surfaces.md)",
    NULL,
};

int bench_lee2012_nlm(bench_run *run)
{
    static const int voxels[] = {1500, 17500, 175000};
    static const double whole[] = {0, 4, 276}; /* seconds in the paper */
    int status = CLVOX_OK;
    bool cpu = clvox_context_limits(run->ctx)->type == CLVOX_DEVICE_CPU;
    bench_band b = {.ctx = run->ctx};
    CLV_TRY(bench_limits(run));
    fprintf(run->out,
            "\nLee et al. 2012, figures 4 and 5: the %d nearest patches of %d samples by where the compared\n"
            "patches lie, and with records of 320 floats in local memory (table 2). The paper, GTX 480:\n"
            "constant memory is the fastest, global 20%% slower, image 6 times; 50 GB/s; a whole step\n"
            "takes 4 s for 17500 voxels, 4.6 min for 175000. Multiply-adds here: %.1f GFLOPS. GB/s: of\n"
            "the bytes that records and subsets of 130 patches are, whether a form moves them or not.\n\n"
            "%9s %-20s %8s %9s %8s %8s %9s %10s %10s %8s %7s\n",
            BENCH_MOST, BENCH_SAMPLES, 1e-9 * run->peak, "voxels", "form", "tile", "registers", "local B",
            "groups", "occupancy", "seconds", "GFLOPS", "of peak", "GB/s");
    for (int n = cpu ? 0 : 1; n < (cpu ? 1 : 3); n++) {
        record_samples samples[CLV_MAX_TILES][FORMS] = {{{0}}};
        int most = run->size[0] * run->size[1] * run->size[2];
        CLV_TRY(bench_band_create(run->ctx, voxels[n] < most ? voxels[n] : most, 0.3f, &b));
        for (int f = 0; f < FORMS; f++) {
            const clv_variant *memory = memory_of(&forms[f]);
            if (cpu && memory && memory->image) {
                fprintf(run->out, "%9d %-20s not on CPU devices\n", b.patches.count, forms[f].name);
                continue;
            }
            /* Every tile for the small band, the planner's for the large one. */
            int tiles = 1;
            while (memory && n < 2 && memory->tiles[tiles].x)
                tiles++;
            for (int t = 0; t < tiles; t++) {
                if (memory)
                    CLV_TRY(clv_force_variant(run->ctx, clv_entry_patch_pairs.name, memory->name, n < 2 ? t : -1));
                status = print_form(run, &b, &forms[f], samples[t]);
                if (!paper_passed_over(run, forms[f].name, &status))
                    CLV_TRY(status);
            }
            CLV_TRY(clv_force_variant(run->ctx, clv_entry_patch_pairs.name, NULL, -1));
        }
        CLV_TRY(whole_step(run, &b, voxels[n] <= most ? whole[n] : 0));
        if (samples[0][CONSTANT].count > 0)
            CLV_TRY(speed_up(run, &samples[0][CONSTANT], b.patches.count));
        bench_band_release(&b);
    }
    paper_not_covered(run, not_covered);
end:
    bench_band_release(&b);
    return status;
}
