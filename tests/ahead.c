/* SPDX-License-Identifier: Apache-2.0 */
/* What pipelines ask for is listed (cl/ahead.txt), so that it is built before
 * they do, and built so it gives the same. With --record KIND FILE it writes the
 * lists for tools/ahead; KIND gpu plans for a GPU that is not here. */
#include <math.h>

#include "check.h"
#include "clvox/registration.h"
#include "clvox/surface.h"
#include "mesh/meshes.h"
#include "register/pair.h"
#include "runtime/program/ahead.h"
#include "runtime/program/idle.h"
#include "runtime/device/context.h"
#include "runtime/kernel/kernel.h"

enum { MOST_LISTS = 40, MOST_ASKED = 400 };

static clvox_context *ctx;
static bool recording;

/* ---- lists: what is asked for against what is listed, or the listing ---- */

typedef struct list {
    char name[48];
    char *line[MOST_ASKED];
    int count;
} list;

static list lists[MOST_LISTS];
static int list_count;

static list *list_of(const char *name)
{
    for (int i = 0; i < list_count; i++)
        if (!strcmp(lists[i].name, name))
            return &lists[i];
    if (list_count == MOST_LISTS)
        return NULL;
    snprintf(lists[list_count].name, sizeof lists[0].name, "%s", name);
    return &lists[list_count++];
}

static void add_line(list *to, const char *line)
{
    if (to->count < MOST_ASKED)
        to->line[to->count++] = strdup(line);
}

/* The lists as they are, where they are to be kept to. */
static void read_list(const char *name)
{
    static clv_ahead_line lines[MOST_ASKED];
    list *l = list_of(name);
    int count = recording || l->count ? 0 : clv_ahead_read(ctx->limits.type, name, lines, MOST_ASKED);
    for (int i = 0; i < count; i++) {
        char line[256];
        snprintf(line, sizeof line, "%s %zu %s", lines[i].entry->name, lines[i].local_extra, lines[i].extra);
        add_line(l, line);
    }
}

static bool has_line(const list *l, const char *line)
{
    for (int i = 0; i < l->count; i++)
        if (!strcmp(l->line[i], line))
            return true;
    return false;
}

static void begin(const char *const *names)
{
    assert_true(clv_force_variant(ctx, "", NULL, -1) ==
                CLVOX_OK); /* what was asked for before is forgotten */
    for (int i = 0; names[i]; i++)
        read_list(names[i]);
}

static void free_lines(list *l)
{
    for (int i = 0; i < l->count; i++)
        free(l->line[i]);
    l->count = 0;
}

/* What was asked for since begin. */
static void end(const char *const *names, list *out)
{
    static clv_asked asked[MOST_ASKED];
    int count = clv_kernels_asked(ctx, asked, MOST_ASKED);
    out->count = 0;
    for (int i = 0; i < count; i++) {
        char line[256];
        bool listed = false;
        snprintf(line, sizeof line, "%s %zu %s", asked[i].entry->name, asked[i].local_extra, asked[i].extra);
        add_line(out, line);
        for (int k = 0; names[k]; k++)
            listed = listed || has_line(list_of(names[k]), line);
        assert_that(recording || listed, "%s is not in the lists of cl/ahead.txt: run tools/ahead", line);
    }
}

/* To the last of its lists what none before it has. */
static void record(const char *const *names, const list *asked)
{
    int last = 0;
    while (names[last + 1])
        last++;
    for (int i = 0; i < asked->count; i++) {
        bool listed = false;
        for (int k = 0; k <= last; k++)
            listed = listed || has_line(list_of(names[k]), asked->line[i]);
        if (!listed)
            add_line(list_of(names[last]), asked->line[i]);
    }
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static int write_lists(const char *kind, const char *path)
{
    FILE *to = fopen(path, "w");
    if (!to)
        return 1;
    for (int i = 0; i < list_count; i++) {
        list *l = &lists[i];
        qsort(l->line, (size_t)l->count, sizeof *l->line, by_text);
        if (l->count)
            fprintf(to, "\n[%s] %s\n", kind, l->name);
        for (int k = 0; k < l->count; k++) {
            for (size_t n = strlen(l->line[k]); n > 0 && l->line[k][n - 1] == ' '; n--)
                l->line[k][n - 1] = 0;
            fprintf(to, "%s\n", l->line[k]);
        }
    }
    return fclose(to) != 0;
}

/* ---- registrations ---- */

typedef struct setting {
    const char *name;
    clvox_deform deform;
    clvox_preset preset;
    clvox_metric linear_metric, metric;
    bool masks, exchanged;
    const char *lists[4];
} setting;

static bool lists_last(const setting *s, const char *name)
{
    return s->lists[2] && !strcmp(s->lists[2], name);
}

/* A sphere and an ellipsoid at the middle of both. */
static void add_shapes(const pair *p, clvox_register_images *images, clvox_surface *surface[2])
{
    static clvox_shape shape[2];
    static const clvox_shape *fixed = &shape[0], *moving = &shape[1];
    double middle[3];
    for (int i = 0; i < 3; i++) {
        middle[i] = p->fixed->grid.to_ras[i][3];
        for (int k = 0; k < 3; k++)
            middle[i] += p->fixed->grid.to_ras[i][k] * .5 * (p->fixed->grid.size[k] - 1);
    }
    surface[0] = mesh_sphere(middle, 20, 3);
    surface[1] = mesh_ellipsoid(middle, (const double[3]){22, 18, 21}, 9);
    clvox_shape_of_surface(surface[0], &shape[0]);
    clvox_shape_of_surface(surface[1], &shape[1]);
    images->fixed_shapes = &fixed;
    images->moving_shapes = &moving;
    images->shapes = 1;
}

static int run(clvox_context *on, const pair *p, const setting *s, clvox_register_result *r)
{
    clvox_register_options o;
    clvox_register_defaults(&o);
    o.deform = s->deform;
    clvox_register_preset(&o, s->preset);
    o.linear_metric = s->linear_metric;
    o.metric = s->metric;
    o.inverse = 1;
    bool head = clvox_grid_voxels(&p->fixed->grid) > 1 << 18;
    for (int i = 0; head && i < o.levels; i++) /* enough for most widths that a level takes on its way */
        o.iterations[i] = o.iterations[i] < 10 ? o.iterations[i] : 10;
    clvox_register_images images = {.fixed = {s->exchanged ? p->moving : p->fixed},
                                    .moving = {s->exchanged ? p->fixed : p->moving},
                                    .channels = 1,
                                    .fixed_mask = s->masks ? p->labels : NULL};
    clvox_surface *surface[2] = {NULL, NULL};
    clvox_volume *tissues[2] = {NULL, NULL};
    if (lists_last(s, "register shapes")) {
        add_shapes(p, &images, surface);
        o.currents = CLVOX_CURRENTS_MESH; /* which is compared with all pairs */
        o.currents_error = .05;
    }
    for (int i = 0; i < 2 && lists_last(s, "register posteriors"); i++)
        tissues[i] = pair_tissues(i ? p->moving : p->fixed, 3, .9);
    images.fixed_posteriors = tissues[0];
    images.moving_posteriors = tissues[1];
    int status = clvox_register(on, &images, &o, r);
    for (int i = 0; i < 2; i++) {
        clvox_surface_destroy(&surface[i]);
        clvox_volume_destroy(&tissues[i]);
    }
    return status;
}

#define MI CLVOX_METRIC_MI
#define NCC CLVOX_METRIC_NCC
#define SSD CLVOX_METRIC_SSD
#define LNCC CLVOX_METRIC_LNCC
#define SYN CLVOX_DEFORM_SYN
#define GREEDY CLVOX_DEFORM_GREEDY
#define NONE CLVOX_DEFORM_NONE
#define DEFAULT CLVOX_PRESET_DEFAULT
#define QUICK CLVOX_PRESET_QUICK

/* The first COMMON are what users run most, on images of any size. */
static const setting settings[] = {
    {"linear alone", NONE, DEFAULT, MI, LNCC, false, false,
     {"register linear mi:32", "register none lncc:2"}},
    {"default", SYN, DEFAULT, MI, LNCC, false, false, {"register linear mi:32", "register syn lncc:2"}},
    {"quick", GREEDY, QUICK, MI, LNCC, false, false, {"register linear mi:32", "register greedy lncc:2"}},
    {"greedy", GREEDY, DEFAULT, MI, LNCC, false, false, {"register linear mi:32", "register greedy lncc:2"}},
    {"best", SYN, CLVOX_PRESET_BEST, MI, LNCC, false, false,
     {"register linear mi:32", "register syn lncc:2", "register mind"}},
    {"unbiased", CLVOX_DEFORM_UNBIASED, QUICK, MI, SSD, false, false,
     {"register linear mi:32", "register unbiased ssd"}},
    {"LDDMM", CLVOX_DEFORM_LDDMM, QUICK, MI, LNCC, false, false,
     {"register linear mi:32", "register lddmm lncc:2"}},
    {"shooting", CLVOX_DEFORM_SHOOTING, QUICK, MI, LNCC, false, false,
     {"register linear mi:32", "register shooting lncc:2"}},
    {"exchanged", SYN, DEFAULT, MI, LNCC, false, true, {"register linear mi:32", "register syn lncc:2"}},
    {"a mask", GREEDY, DEFAULT, MI, LNCC, true, false,
     {"register linear mi:32", "register greedy lncc:2", "register masks"}},
    {"linear NCC", NONE, DEFAULT, NCC, LNCC, false, false, {"register linear ncc", "register none lncc:2"}},
    {"linear SSD", NONE, DEFAULT, SSD, LNCC, false, false, {"register linear ssd", "register none lncc:2"}},
    {"linear LNCC", NONE, DEFAULT, LNCC, LNCC, false, false,
     {"register linear lncc:2", "register none lncc:2"}},
    {"MI", SYN, QUICK, MI, MI, false, false, {"register linear mi:32", "register syn mi:32"}},
    {"NCC", SYN, QUICK, NCC, NCC, false, false, {"register linear ncc", "register syn ncc"}},
    {"SSD", GREEDY, QUICK, SSD, SSD, false, false, {"register linear ssd", "register greedy ssd"}},
    {"LNCC", GREEDY, QUICK, LNCC, LNCC, false, false, {"register linear lncc:2", "register greedy lncc:2"}},
    {"a surface", SYN, DEFAULT, MI, LNCC, false, false,
     {"register linear mi:32", "register syn lncc:2", "register shapes"}},
    {"posteriors", SYN, DEFAULT, MI, LNCC, false, false,
     {"register linear mi:32", "register syn lncc:2", "register posteriors"}},
};
enum { SETTINGS = sizeof settings / sizeof settings[0], COMMON = 6 };

/* A setting's first list, of the linear part, is what all settings with this list ask for. */
static void record_all(const list *asked, int count)
{
    for (int i = 0; i < count; i++)
        for (int k = 0; k < asked[i].count; k++) {
            bool all = true;
            for (int other = 0; other < count && all; other++)
                all = strcmp(settings[other].lists[0], settings[i].lists[0]) != 0 ||
                      has_line(&asked[other], asked[i].line[k]);
            if (all)
                record((const char *const[]){settings[i].lists[0], NULL},
                       &(const list){.line = {asked[i].line[k]}, .count = 1});
        }
    for (int i = 0; i < count; i++)
        record(settings[i].lists, &asked[i]);
}

static pair heads;
static list asked[SETTINGS];

static void register_one(int i)
{
    clvox_register_result r;
    int late = ctx->late, programs = ctx->compiled, kernels = ctx->built_count;
    begin(settings[i].lists);
    assert_ok(run(ctx, &heads, &settings[i], &r));
    end(settings[i].lists, &asked[i]);
    if (!recording) {
        printf("# %d kernels, %d programs, %d of them late\n", ctx->built_count - kernels,
               ctx->compiled - programs, ctx->late - late);
        assert_int_equal(ctx->late, late);
        free_lines(&asked[i]);
    }
    clvox_register_result_destroy(&r);
}

static void registration_is_listed(void **state)
{
    const int *given = *state;
    register_one(given[0]);
}

static void same_bits(void **state)
{
    (void)state;
    const setting s = {.deform = GREEDY, .preset = QUICK, .linear_metric = MI, .metric = LNCC};
    /* Compiled here, whatever the user's cache holds. */
    const clvox_context_options compiling = {.no_cache = true};
    clvox_context *when_asked;
    clvox_register_result a, b;
    assert_ok(clvox_context_create(&compiling, &when_asked));
    when_asked->not_ahead = true;
    assert_ok(run(ctx, &heads, &s, &a));
    assert_ok(run(when_asked, &heads, &s, &b));
    assert_true(when_asked->late > 20 && when_asked->compiled == when_asked->late);
    assert_memory_equal(a.matrix, b.matrix, sizeof a.matrix);
    assert_true(a.warp && b.warp && a.warped && b.warped);
    assert_true(!memcmp(a.warp->data, b.warp->data, 3 * sizeof(float) * clvox_grid_voxels(&a.warp->grid)));
    assert_true(!memcmp(a.warped->data, b.warped->data, sizeof(float) * clvox_grid_voxels(&a.warped->grid)));
    clvox_register_result_destroy(&a);
    clvox_register_result_destroy(&b);
    clvox_context_destroy(&when_asked);
}

/* Processes that compile launch kernels so (runtime/program/idle.h), and must come back from it; and PoCL
 * reads its own declarations for a kernel of which cl/common/declared.clh lacks one. */
static void launched_for_nothing(void **state)
{
    (void)state;
    const char *const all = NULL;
    clvox_context *here;
    if (ctx->limits.type != CLVOX_DEVICE_CPU)
        test_skip("no CPU device");
    assert_ok(clvox_context_create(&(clvox_context_options){.no_cache = true}, &here));
    assert_ok(clv_build_ahead(here, &all, 1, (const int[3]){41, 37, 35}));
    assert_that(here->ready_count > 100, "%d", here->ready_count);
    for (int i = 0; i < here->ready_count; i++) {
        char names[64] = "";
        clGetProgramInfo(here->ready[i].program, CL_PROGRAM_KERNEL_NAMES, sizeof names, names, NULL);
        assert_that(clv_launch_idle(here, here->ready[i].program) || !strncmp(names, "fft_", 4), "%s", names);
    }
    assert_that(!here->two_steps || here->undeclared == 0, "%d kernels use what is not declared",
                here->undeclared);
    clvox_context_destroy(&here);
}

/* ---- surfaces ---- */

/* A sphere's distance with a step of noise from voxel to voxel. */
static clvox_volume *sphere(void)
{
    clvox_volume *v;
    clvox_grid grid = {{36, 36, 36}, {{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}, {0, 0, 0, 1}}};
    unsigned state = 1;
    assert_ok(clvox_volume_create(&grid, 1, CLVOX_KIND_SCALAR, &v));
    for (int z = 0; z < 36; z++)
        for (int y = 0; y < 36; y++)
            for (int x = 0; x < 36; x++) {
                state = state * 1664525u + 1013904223u;
                v->data[(z * 36 + y) * 36 + x] =
                    (float)(sqrt((x - 18.) * (x - 18.) + (y - 17.) * (y - 17.) + (z - 18.) * (z - 18.)) - 10.3 +
                            (double)(state >> 16 & 255) / 128 - 1);
            }
    return v;
}

static const struct {
    clvox_denoise_update update;
    const char *lists[2];
} forms[] = {{CLVOX_DENOISE_PATCHES, {"surface denoise patches"}},
             {CLVOX_DENOISE_PAPER, {"surface denoise paper"}}};
enum { FORMS = sizeof forms / sizeof forms[0] };

static void denoise_one(int i)
{
    static list kernels;
    clvox_volume *v = sphere();
    clvox_denoise_options o;
    clvox_denoise_result r;
    int late = ctx->late;
    clvox_denoise_defaults(&o);
    o.update = forms[i].update;
    begin(forms[i].lists);
    assert_ok(clvox_surface_denoise(ctx, &(clvox_level_set){.distance = v}, &o, &r));
    end(forms[i].lists, &kernels);
    assert_true(recording || ctx->late == late);
    if (recording)
        record(forms[i].lists, &kernels);
    free_lines(&kernels);
    clvox_denoise_result_destroy(&r);
    clvox_volume_destroy(&v);
}

static void denoising_is_listed(void **state)
{
    const int *given = *state;
    denoise_one(given[0]);
}

/* ---- */

static void pretend_gpu(void)
{
    clvox_device_limits *l = &ctx->limits;
    l->type = CLVOX_DEVICE_GPU;
    l->simd = 32;
    l->local_bytes = 49152;
    l->max_group = 1024;
    l->max_items[0] = l->max_items[1] = 1024;
    l->max_items[2] = 64;
    ctx->packed = false;
}

static void make_heads(const int size[3], double spacing)
{
    const double edges[3] = {spacing, spacing, spacing};
    pair_make(&heads, size, edges, false, 6, 3);
}

static void record_heads(const int size[3], double spacing, int count)
{
    make_heads(size, spacing);
    for (int i = 0; i < count; i++)
        register_one(i);
    record_all(asked, count);
    for (int i = 0; i < count; i++)
        free_lines(&asked[i]);
    pair_free(&heads);
}

static int tear_down(void **state)
{
    (void)state;
    pair_free(&heads);
    clvox_context_destroy(&ctx);
    return 0;
}

int main(int argc, char **argv)
{
    static const int small[3] = {41, 37, 35}, head[3] = {91, 109, 91};
    recording = argc == 4 && !strcmp(argv[1], "--record");
    if (clvox_context_create(NULL, &ctx) < 0)
        return test_skip_all("%s", clvox_message());
    if (recording) {
        if (!strcmp(argv[2], "gpu"))
            pretend_gpu();
        record_heads(small, 3, SETTINGS);
        record_heads(head, 2, COMMON);
        for (int i = 0; i < FORMS; i++)
            denoise_one(i);
        clvox_context_destroy(&ctx);
        return write_lists(argv[2], argv[3]);
    }
    make_heads(small, 3);
    for (int i = 0; i < SETTINGS; i++)
        test_case_at(registration_is_listed, TEST_AT(i),
                     "registration, %s: all that it asks for is listed and built ahead", settings[i].name);
    test_case(same_bits, "built ahead or when they are asked for: the same bits");
    test_case(launched_for_nothing,
              "all that is listed for CPU devices is declared, and can be launched for nothing");
    for (int i = 0; i < FORMS; i++)
        test_case_at(denoising_is_listed, TEST_AT(i), "%s: all that it asks for is listed and built ahead",
                     forms[i].lists[0]);
    return test_run("ahead", tear_down);
}
