/* SPDX-License-Identifier: Apache-2.0 */
#include "op/match/mind.h"

#include "op/match/lncc.h"

enum { MOST_GROUPS = CLV_MIND_PARTIALS / 2, GROUPS_CPU = 256 };

/* Volumes of scratch, one behind another: the images, then of patches squared differences, patch distances of both,
 * what a voxel says of its own, and which places are near; of points what a voxel says of its neighbours in either
 * image. */
enum { IMAGES = 0, LINES = 2, FIXED = 8, MOVING = 14, VOXEL = 20, SPANS = 24, PULLS = 2, POINT_VOLUMES = 14 };

/* Floats of a line behind the volumes: mind_spans. */
enum { OF_LINE = 4 };

/* Builds for all radii of patches, and for points, whose radius is 0. */
static const char *const radii[] = {"-DRADIUS=0", "-DRADIUS=1", "-DRADIUS=2", "-DRADIUS=3", "-DRADIUS=4", NULL};
#define OF_PATCHES (radii + 1)
static const char *const of_points[] = {"-DRADIUS=0", NULL};

/* Launched over the places of lines, and the lines. */
#define OVER_LINES(kernel)                                                                                   \
    {.name = "item", .function = kernel, .defines = "-DWIDE=1", .devices = CLV_ON_GPU,                       \
     .tiles = {{128, 1, 1, 1}, {256, 1, 1, 1}, {1, 1, 1, 1}}},                                               \
    {.name = "row", .function = kernel, .defines = "-DWIDE=8", .item = {CLV_WHOLE},                          \
     .devices = CLV_ON_CPU, .tiles = {{1, 1, 1, 1}}}
/* Each group takes a part of the row, of which it leaves S. */
#define PARTS(kernel)                                                                                        \
    {.name = "group", .function = kernel, .defines = "-DWIDE=1", .group = {1024},                            \
     .most_groups = MOST_GROUPS, .devices = CLV_ON_GPU, .cell_bytes = 8, .planes = 1,                        \
     .tiles = {{128, 1, 1, 1}, {1, 1, 1, 1}}},                                                               \
    {.name = "run", .function = kernel, .defines = "-DWIDE=8", .group = {1024},                              \
     .most_groups = GROUPS_CPU, .devices = CLV_ON_CPU, .cell_bytes = 8, .planes = 1,                         \
     .tiles = {{1, 1, 1, 1}}}
#define ENTRY(entry_name, builds)                                                                            \
    const clv_entry clv_entry_##entry_name = CLV_ENTRY("match/mind", #entry_name, entry_name##_variants,     \
                                                       builds)

static const clv_variant mind_pack_variants[] = {
    {.name = "item",
     .function = "mind_pack",
     .defines = "-DWIDE=1 -DPACKS=1",
     .devices = CLV_ON_GPU,
     .tiles = {{128, 1, 1, 1}, {1, 1, 1, 1}}},
    {.name = "row",
     .function = "mind_pack",
     .defines = "-DWIDE=8 -DPACKS=512",
     .item = {512},
     .devices = CLV_ON_CPU,
     .tiles = {{1, 1, 1, 1}}},
};
ENTRY(mind_pack, NULL);

/* Launched over lines. */
static const clv_variant mind_spans_variants[] = {
    {.name = "item",
     .function = "mind_spans",
     .defines = "-DWIDE=1",
     .devices = CLV_ON_ANY,
     .tiles = {{64, 1, 1, 1}, {1, 1, 1, 1}}},
};
ENTRY(mind_spans, OF_PATCHES);

static const clv_variant mind_lines_variants[] = {OVER_LINES("mind_lines")};
ENTRY(mind_lines, OF_PATCHES);
/* Launched over the six volumes, too, of which an item takes all on GPUs: groups that end at once cost time
 * there. */
static const clv_variant mind_planes_variants[] = {
    {.name = "item",
     .function = "mind_planes",
     .defines = "-DWIDE=1",
     .item = {1, 4, CLV_WHOLE},
     .devices = CLV_ON_GPU,
     .tiles = {{128, 1, 1, 1}, {256, 1, 1, 1}, {1, 1, 1, 1}}},
    {.name = "row",
     .function = "mind_planes",
     .defines = "-DWIDE=8",
     .item = {CLV_WHOLE, 2},
     .devices = CLV_ON_CPU,
     .tiles = {{1, 1, 1, 1}}},
};
ENTRY(mind_planes, OF_PATCHES);
static const clv_variant mind_pull_variants[] = {OVER_LINES("mind_pull")};
ENTRY(mind_pull, OF_PATCHES);

static const clv_variant mind_compare_variants[] = {PARTS("mind_compare")};
ENTRY(mind_compare, OF_PATCHES);
static const clv_variant mind_point_pull_variants[] = {PARTS("mind_point_pull")};
ENTRY(mind_point_pull, of_points);

static const clv_variant mind_derivative_variants[] = {
    {.name = "item",
     .function = "mind_derivative",
     .defines = "-DWIDE=1",
     .devices = CLV_ON_GPU,
     .tiles = {{64, 2, 1, 1}, {32, 1, 1, 1}, {1, 1, 1, 1}}},
    {.name = "row",
     .function = "mind_derivative",
     .defines = "-DWIDE=8",
     .item = {CLV_WHOLE},
     .devices = CLV_ON_CPU,
     .tiles = {{1, 1, 1, 1}}},
};
ENTRY(mind_derivative, radii);

/* The row: places from one line and lines from one plane to the next, the margin, where the first voxel
 * lies, how many lines it has, and how long it is. A line or plane has its margin in common with the next;
 * but lines that items take one by one (patches) have their own, and are whole vectors. */
typedef struct row {
    int pitch[2], room, first, lines;
    size_t length;
} row;

static row row_of(const int size[3], int radius)
{
    int room = radius + 2;
    const int line_of[2] = {size[0] + room, (size[0] + 2 * room + 7) / 8 * 8};
    row r = {.pitch = {line_of[radius > 0], size[1] + room}, .room = room};
    size_t line = (size_t)r.pitch[0], margin = (size_t)room * ((size_t)r.pitch[1] + 1) + 1;
    size_t lines = (size_t)r.pitch[1] * (size_t)size[2] + 2 * margin;
    r.first = (int)(margin * line) + room;
    r.length = line * lines;
    r.lines = (int)lines;
    return r;
}

size_t clv_mind_scratch(const int size[3], int radius, bool local, bool both)
{
    const row r = row_of(size, radius);
    (void)local;
    (void)both;
    return radius > 0 ? SPANS * r.length + OF_LINE * (size_t)r.lines : POINT_VOLUMES * r.length;
}

static int check(const clv_metric_args *a)
{
    const int *size = a->fixed.size;
    if (!a->fixed.buffer || !a->moving || !a->derivative_moving || !a->scratch)
        return clvox_fail(CLVOX_ERROR_ARGUMENT,
                          "MIND: a buffer is missing; pass fixed, moving, derivative_moving and scratch");
    if (size[0] < 1 || size[1] < 1 || size[2] < 1)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "MIND: sizes must be at least 1");
    if (a->parameter < 0 || a->parameter > CLV_MIND_MOST_RADIUS)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "MIND: the radius %d is not one of 0 to %d voxels",
                          a->parameter, CLV_MIND_MOST_RADIUS);
    if (!(a->epsilon > 0))
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "MIND: epsilon must be above 0");
    size_t bytes = clv_image_voxels(&a->fixed) * sizeof(float);
    if (row_of(size, a->parameter).length > INT32_MAX - (1 << 23)) /* groups round up */
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "MIND: %d x %d x %d voxels are too many", size[0], size[1],
                          size[2]);
    if (a->fixed.buffer->bytes < bytes || a->moving->bytes < bytes || a->derivative_moving->bytes < bytes ||
        (a->derivative_fixed && a->derivative_fixed->bytes < bytes) ||
        (a->within.rows && a->within.rows->bytes < clv_within_bytes(size)) ||
        a->scratch->bytes < clv_mind_scratch(size, a->parameter, false, true) * sizeof(float))
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "MIND: a buffer is smaller than its volumes");
    if (a->out && (!a->partial || a->partial->bytes < CLV_MIND_PARTIALS * sizeof(float) || a->slot < 0 ||
                   a->out->bytes < (size_t)(a->slot + 2) * sizeof(float)))
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "MIND: partial holds %d floats and out two from slot on",
                          CLV_MIND_PARTIALS);
    return CLVOX_OK;
}

/* The derivatives times weight replace what their buffers hold, or add to it. */
typedef struct call {
    clvox_context *ctx;
    const clv_metric_args *args;
    row row;
    float weight;
    bool adds;
} call;

#define ROW_ARGUMENTS(c)                                                           \
    CLV_INT4((c)->row.pitch[0], (c)->row.pitch[1], (c)->row.room, (c)->row.first), \
        CLV_INT((int)(c)->row.length)

static int get(const call *c, const clv_entry *entry, const int launched[3], const clv_kernel **kernel)
{
    const int radius = c->args->parameter;
    const char *const *builds = entry->builds;
    return clv_kernel_get(c->ctx, entry,
                          builds ? builds[builds == radii       ? radius
                                          : builds == of_points ? 0
                                                                : radius - 1]
                                 : NULL,
                          launched, 0, kernel);
}

#define PLACES(c) ((int[3]){(c)->row.pitch[0], (c)->row.lines, 1})
#define LINE(c) ((int[3]){(int)(c)->row.length, 1, 1})

/* Bytes of the part of so many volumes that counts. */
static double bytes(const call *c, int volumes)
{
    return 4. * volumes * clv_within_voxels(c->args->within, c->args->fixed.size);
}

/* Which places of each line the kernels of patches take. */
static int spans(const call *c)
{
    int status = CLVOX_OK;
    const clv_kernel *kernel;
    const int lines[3] = {c->row.lines, 1, 1};
    CLV_TRY(get(c, &clv_entry_mind_spans, lines, &kernel));
    CLV_TRY(CLV_LAUNCH(c->ctx, kernel, lines, 4. * OF_LINE * c->row.lines, CLV_BUF(c->args->within.rows),
                       CLV_SIZE(&c->args->fixed), ROW_ARGUMENTS(c), CLV_BUF(c->args->scratch),
                       CLV_INT(SPANS)));
end:
    return status;
}

/* Six volumes of squared differences or of their derivatives, summed along y and z. */
static int planes(const call *c, int from, int to)
{
    int status = CLVOX_OK, side = 2 * c->args->parameter + 1;
    const clv_kernel *kernel;
    const int places[3] = {c->row.pitch[0], c->row.lines, 6};
    CLV_TRY(get(c, &clv_entry_mind_planes, places, &kernel));
    CLV_TRY(CLV_LAUNCH(c->ctx, kernel, places, bytes(c, 12), CLV_BUF(c->args->scratch), CLV_INT(from),
                       ROW_ARGUMENTS(c), CLV_FLOAT(1.0f / (float)(side * side * side)), CLV_INT(SPANS),
                       CLV_INT(to)));
end:
    return status;
}

static int distances(const call *c, int image, int to)
{
    int status = CLVOX_OK;
    const clv_kernel *kernel;
    CLV_TRY(get(c, &clv_entry_mind_lines, PLACES(c), &kernel));
    CLV_TRY(CLV_LAUNCH(c->ctx, kernel, PLACES(c), bytes(c, 7), CLV_BUF(c->args->scratch), CLV_INT(image),
                       ROW_ARGUMENTS(c), CLV_INT(SPANS), CLV_INT(LINES)));
    CLV_TRY(planes(c, LINES, to));
end:
    return status;
}

/* From the six volumes that `from` begins; NULL: not wanted. */
static int derivative(const call *c, int image, int from, clv_buffer *out)
{
    int status = CLVOX_OK;
    const clv_kernel *kernel;
    const clv_image *grid = &c->args->fixed;
    if (!out)
        goto end;
    CLV_TRY(get(c, &clv_entry_mind_derivative, grid->size, &kernel));
    CLV_TRY(CLV_LAUNCH(c->ctx, kernel, grid->size, bytes(c, c->adds ? 9 : 8), CLV_BUF(c->args->scratch),
                       CLV_INT(image), CLV_INT(from), CLV_SIZE(grid), ROW_ARGUMENTS(c), CLV_FLOAT(c->weight),
                       CLV_INT(c->adds), CLV_BUF(c->args->within.rows), CLV_BUF(out)));
end:
    return status;
}

static int pack(const call *c)
{
    int status = CLVOX_OK;
    const clv_kernel *kernel;
    const clv_metric_args *a = c->args;
    CLV_TRY(clv_kernel_get(c->ctx, &clv_entry_mind_pack, NULL, PLACES(c), 0, &kernel));
    CLV_TRY(CLV_LAUNCH(c->ctx, kernel, PLACES(c), 8. * (double)(c->row.length + clv_image_voxels(&a->fixed)),
                       CLV_BUF(a->fixed.buffer), CLV_BUF(a->moving), CLV_SIZE(&a->fixed), ROW_ARGUMENTS(c),
                       CLV_BUF(a->scratch), CLV_INT(IMAGES)));
end:
    return status;
}

/* S and voxels from what `groups` groups left. */
static int total(const call *c, int groups)
{
    int status = CLVOX_OK;
    const clv_kernel *kernel;
    if (!c->args->out)
        goto end;
    CLV_TRY(clv_kernel_get(c->ctx, &clv_entry_lncc_total, NULL, (int[3]){1, 1, 1}, 0, &kernel));
    CLV_TRY(CLV_LAUNCH(c->ctx, kernel, ((int[3]){1, 1, 1}), 8.0 * groups, CLV_BUF(c->args->partial),
                       CLV_INT(groups), CLV_BUF(c->args->out), CLV_INT(c->args->slot)));
end:
    return status;
}

static int patches(const call *c)
{
    int status = CLVOX_OK;
    const clv_kernel *compare, *pull;
    const clv_metric_args *a = c->args;
    CLV_TRY(spans(c));
    CLV_TRY(distances(c, IMAGES, FIXED));
    CLV_TRY(distances(c, IMAGES + 1, MOVING));
    CLV_TRY(get(c, &clv_entry_mind_compare, LINE(c), &compare));
    CLV_TRY(CLV_LAUNCH(c->ctx, compare, LINE(c), bytes(c, 17), CLV_BUF(a->scratch), CLV_INT(IMAGES),
                       CLV_INT(FIXED), CLV_INT(MOVING), ROW_ARGUMENTS(c), CLV_FLOAT(a->epsilon),
                       CLV_INT(SPANS), CLV_INT(VOXEL), CLV_BUF(a->out ? a->partial : NULL)));
    CLV_TRY(total(c, clv_launch_groups(compare, LINE(c), NULL)));
    CLV_TRY(get(c, &clv_entry_mind_pull, PLACES(c), &pull));
    CLV_TRY(CLV_LAUNCH(c->ctx, pull, PLACES(c), bytes(c, 28), CLV_BUF(a->scratch), CLV_INT(VOXEL),
                       ROW_ARGUMENTS(c), CLV_FLOAT(a->epsilon), CLV_INT(SPANS), CLV_INT(FIXED),
                       CLV_INT(MOVING)));
    CLV_TRY(planes(c, MOVING, LINES));
    CLV_TRY(derivative(c, IMAGES + 1, LINES, a->derivative_moving));
    if (a->derivative_fixed) {
        CLV_TRY(planes(c, FIXED, LINES));
        CLV_TRY(derivative(c, IMAGES, LINES, a->derivative_fixed));
    }
end:
    return status;
}

static int points(const call *c)
{
    int status = CLVOX_OK;
    const clv_kernel *pull;
    const clv_metric_args *a = c->args;
    CLV_TRY(get(c, &clv_entry_mind_point_pull, LINE(c), &pull));
    CLV_TRY(CLV_LAUNCH(c->ctx, pull, LINE(c), bytes(c, 14), CLV_BUF(a->scratch), CLV_INT(IMAGES),
                       ROW_ARGUMENTS(c), CLV_FLOAT(a->epsilon), CLV_INT(PULLS),
                       CLV_BUF(a->out ? a->partial : NULL)));
    CLV_TRY(total(c, clv_launch_groups(pull, LINE(c), NULL)));
    CLV_TRY(derivative(c, IMAGES + 1, PULLS + 6, a->derivative_moving));
    CLV_TRY(derivative(c, IMAGES, PULLS, a->derivative_fixed));
end:
    return status;
}

static int run(clvox_context *ctx, const clv_metric_args *a, float weight, bool adds)
{
    int status = CLVOX_OK;
    CLV_TRY(check(a));
    const call c = {ctx, a, row_of(a->fixed.size, a->parameter), weight, adds};
    CLV_TRY(pack(&c));
    CLV_TRY(a->parameter > 0 ? patches(&c) : points(&c));
end:
    return status;
}

int clv_mind(clvox_context *ctx, const clv_metric_args *args)
{
    return run(ctx, args, 1, false);
}

int clv_mind_add(clvox_context *ctx, const clv_metric_args *args, float weight)
{
    return run(ctx, args, weight, true);
}

const clv_entry *const clv_operation_match_mind[] = {
    &clv_entry_mind_pack,       &clv_entry_mind_spans,      &clv_entry_mind_lines,
    &clv_entry_mind_planes,     &clv_entry_mind_compare,    &clv_entry_mind_pull,
    &clv_entry_mind_point_pull, &clv_entry_mind_derivative, NULL};
