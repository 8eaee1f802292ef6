/* SPDX-License-Identifier: Apache-2.0 */
#include "op/match/mind.h"

#include "op/match/lncc.h"

enum { MOST_GROUPS = CLV_MIND_PARTIALS / 2, GROUPS_CPU = 256 };

/* Volumes of scratch, one behind another: the images, then of patches squared differences, patch distances of both,
 * and what a voxel says of its own, of which the derivative takes the place; of points what a voxel says of its
 * neighbours in either image. */
enum { IMAGES = 0, LINES = 2, FIXED = 8, MOVING = 14, VOXEL = 20, VOLUMES = 24, PULLS = 2, POINT_VOLUMES = 14 };

static const char *const radii[] = {"-DRADIUS=1", "-DRADIUS=2", "-DRADIUS=3", "-DRADIUS=4", NULL};

/* Launched over the row of all voxels. */
#define ROW(kernel)                                                                                          \
    {.name = "item", .function = kernel, .defines = "-DWIDE=1", .devices = CLV_ON_GPU,                       \
     .tiles = {{128, 1, 1, 1}, {256, 1, 1, 1}, {1, 1, 1, 1}}},                                               \
    {.name = "vector", .function = kernel, .defines = "-DWIDE=8", .item = {8}, .devices = CLV_ON_CPU,        \
     .tiles = {{64, 1, 1, 1}, {1, 1, 1, 1}}}
#define ENTRY(entry_name, builds)                                                                            \
    const clv_entry clv_entry_##entry_name = {"match/mind", #entry_name, entry_name##_variants,              \
                                              sizeof entry_name##_variants / sizeof *entry_name##_variants, builds}

/* Launched over the places of lines, and the lines. */
static const clv_variant mind_pack_variants[] = {
    {.name = "item", .function = "mind_pack", .defines = "-DWIDE=1 -DPACKS=1", .devices = CLV_ON_GPU,
     .tiles = {{128, 1, 1, 1}, {1, 1, 1, 1}}},
    {.name = "row", .function = "mind_pack", .defines = "-DWIDE=8 -DPACKS=512", .item = {512}, .devices = CLV_ON_CPU,
     .tiles = {{1, 1, 1, 1}}},
};
ENTRY(mind_pack, NULL);

static const clv_variant mind_unpack_variants[] = {
    {.name = "item", .function = "mind_unpack", .defines = "-DWIDE=1 -DPACKS=1", .devices = CLV_ON_ANY,
     .tiles = {{64, 2, 1, 1}, {32, 1, 1, 1}, {1, 1, 1, 1}}},
};
ENTRY(mind_unpack, NULL);

static const clv_variant mind_lines_variants[] = {ROW("mind_lines")};
ENTRY(mind_lines, radii);
static const clv_variant mind_planes_variants[] = {ROW("mind_planes")};
ENTRY(mind_planes, radii);
static const clv_variant mind_pull_variants[] = {ROW("mind_pull")};
ENTRY(mind_pull, radii);
static const clv_variant mind_derivative_variants[] = {ROW("mind_derivative")};
ENTRY(mind_derivative, radii);

/* Each group takes a part of the row, of which it leaves S. */
#define PARTS(kernel, more)                                                                                  \
    {.name = "group", .function = kernel, .defines = "-DWIDE=1" more, .group = {1024}, .most_groups = MOST_GROUPS, \
     .devices = CLV_ON_GPU, .cell_bytes = 8, .planes = 1, .tiles = {{128, 1, 1, 1}, {1, 1, 1, 1}}},          \
    {.name = "run", .function = kernel, .defines = "-DWIDE=8" more, .group = {1024}, .most_groups = GROUPS_CPU, \
     .devices = CLV_ON_CPU, .cell_bytes = 8, .planes = 1, .tiles = {{1, 1, 1, 1}}}

static const clv_variant mind_compare_variants[] = {PARTS("mind_compare", "")};
ENTRY(mind_compare, radii);
static const clv_variant mind_point_pull_variants[] = {PARTS("mind_point_pull", " -DPOINTS=1")};
ENTRY(mind_point_pull, NULL);

static const clv_variant mind_point_derivative_variants[] = {
    {.name = "item", .function = "mind_point_derivative", .defines = "-DWIDE=1 -DPOINTS=1", .devices = CLV_ON_GPU,
     .tiles = {{64, 2, 1, 1}, {32, 1, 1, 1}, {1, 1, 1, 1}}},
    {.name = "row", .function = "mind_point_derivative", .defines = "-DWIDE=8 -DPOINTS=1", .item = {CLV_WHOLE},
     .devices = CLV_ON_CPU, .tiles = {{1, 1, 1, 1}}},
};
ENTRY(mind_point_derivative, NULL);

/* The row: places from one line and lines from one plane to the next, the margin, where the first voxel lies, how many
 * lines it has, and how long it is, in whole vectors. */
typedef struct row {
    int pitch[2], room, first, lines;
    size_t length;
} row;

static row row_of(const int size[3], int radius)
{
    int room = radius + 2; /* so much that the vector of no voxel lies BEYOND */
    row r = {.pitch = {size[0] + room, size[1] + room}, .room = room};
    size_t line = (size_t)r.pitch[0], plane = line * (size_t)r.pitch[1];
    size_t margin = (size_t)room * (plane + line + 1);
    r.first = (int)margin;
    r.length = (plane * (size_t)size[2] + 2 * margin + 7) / 8 * 8;
    r.lines = (int)((r.length + line - 1) / line);
    return r;
}

size_t clv_mind_scratch(const int size[3], int radius, bool local, bool both)
{
    (void)local;
    (void)both;
    return (radius > 0 ? VOLUMES : POINT_VOLUMES) * row_of(size, radius).length;
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
    if (row_of(size, a->parameter).length > INT32_MAX)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "MIND: %d x %d x %d voxels are too many", size[0], size[1],
                          size[2]);
    if (a->fixed.buffer->bytes < bytes || a->moving->bytes < bytes || a->derivative_moving->bytes < bytes ||
        (a->derivative_fixed && a->derivative_fixed->bytes < bytes) ||
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

#define ROW_ARGUMENTS(c)                                                                                        \
    CLV_INT4((c)->row.pitch[0], (c)->row.pitch[1], (c)->row.room, (c)->row.first), CLV_INT((int)(c)->row.length)
#define OUT_ARGUMENTS(c) CLV_FLOAT((c)->weight), CLV_INT((c)->adds)

static int get(const call *c, const clv_entry *entry, const clv_kernel **kernel)
{
    return clv_kernel_get(c->ctx, entry, entry->builds ? radii[c->args->parameter - 1] : NULL,
                          (int[3]){(int)c->row.length, 1, 1}, 0, kernel);
}

#define LINE(c) ((int[3]){(int)(c)->row.length, 1, 1})
#define BYTES(c, volumes) (4.0 * (volumes) * (double)(c)->row.length)

/* Six volumes of squared differences or of their derivatives, summed along y and z. */
static int planes(const call *c, int from, int to)
{
    int status = CLVOX_OK, side = 2 * c->args->parameter + 1;
    const clv_kernel *kernel;
    CLV_TRY(get(c, &clv_entry_mind_planes, &kernel));
    CLV_TRY(CLV_LAUNCH(c->ctx, kernel, LINE(c), BYTES(c, 12), CLV_BUF(c->args->scratch), CLV_INT(from),
                       ROW_ARGUMENTS(c), CLV_FLOAT(1.0f / (float)(side * side * side)), CLV_INT(to)));
end:
    return status;
}

static int distances(const call *c, int image, int to)
{
    int status = CLVOX_OK;
    const clv_kernel *kernel;
    CLV_TRY(get(c, &clv_entry_mind_lines, &kernel));
    CLV_TRY(CLV_LAUNCH(c->ctx, kernel, LINE(c), BYTES(c, 7), CLV_BUF(c->args->scratch), CLV_INT(image),
                       ROW_ARGUMENTS(c), CLV_INT(LINES)));
    CLV_TRY(planes(c, LINES, to));
end:
    return status;
}

static int derivative(const call *c, int image, int patches, clv_buffer *out)
{
    int status = CLVOX_OK;
    const clv_kernel *kernel, *unpack;
    const clv_image *grid = &c->args->fixed;
    CLV_TRY(planes(c, patches, LINES));
    CLV_TRY(get(c, &clv_entry_mind_derivative, &kernel));
    CLV_TRY(CLV_LAUNCH(c->ctx, kernel, LINE(c), BYTES(c, 8), CLV_BUF(c->args->scratch), CLV_INT(image), CLV_INT(LINES),
                       ROW_ARGUMENTS(c), CLV_INT(VOXEL)));
    CLV_TRY(clv_kernel_get(c->ctx, &clv_entry_mind_unpack, NULL, grid->size, 0, &unpack));
    CLV_TRY(CLV_LAUNCH(c->ctx, unpack, grid->size, (c->adds ? 12.0 : 8.0) * (double)clv_image_voxels(grid),
                       CLV_BUF(c->args->scratch), CLV_INT(VOXEL), CLV_SIZE(grid), ROW_ARGUMENTS(c), OUT_ARGUMENTS(c),
                       CLV_BUF(out)));
end:
    return status;
}

static int pack(const call *c)
{
    int status = CLVOX_OK;
    const clv_kernel *kernel;
    const clv_metric_args *a = c->args;
    const int places[3] = {c->row.pitch[0], c->row.lines, 1};
    CLV_TRY(clv_kernel_get(c->ctx, &clv_entry_mind_pack, NULL, places, 0, &kernel));
    CLV_TRY(CLV_LAUNCH(c->ctx, kernel, places, BYTES(c, 4), CLV_BUF(a->fixed.buffer), CLV_BUF(a->moving),
                       CLV_SIZE(&a->fixed), ROW_ARGUMENTS(c), CLV_BUF(a->scratch), CLV_INT(IMAGES)));
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
    CLV_TRY(CLV_LAUNCH(c->ctx, kernel, ((int[3]){1, 1, 1}), 8.0 * groups, CLV_BUF(c->args->partial), CLV_INT(groups),
                       CLV_BUF(c->args->out), CLV_INT(c->args->slot)));
end:
    return status;
}

static int patches(const call *c)
{
    int status = CLVOX_OK;
    const clv_kernel *compare, *pull;
    const clv_metric_args *a = c->args;
    CLV_TRY(distances(c, IMAGES, FIXED));
    CLV_TRY(distances(c, IMAGES + 1, MOVING));
    CLV_TRY(get(c, &clv_entry_mind_compare, &compare));
    CLV_TRY(CLV_LAUNCH(c->ctx, compare, LINE(c), BYTES(c, 17), CLV_BUF(a->scratch), CLV_INT(IMAGES), CLV_INT(FIXED),
                       CLV_INT(MOVING), ROW_ARGUMENTS(c), CLV_FLOAT(a->epsilon), CLV_INT(VOXEL),
                       CLV_BUF(a->out ? a->partial : NULL)));
    CLV_TRY(total(c, clv_launch_groups(compare, LINE(c), NULL)));
    CLV_TRY(get(c, &clv_entry_mind_pull, &pull));
    CLV_TRY(CLV_LAUNCH(c->ctx, pull, LINE(c), BYTES(c, 28), CLV_BUF(a->scratch), CLV_INT(VOXEL), ROW_ARGUMENTS(c),
                       CLV_FLOAT(a->epsilon), CLV_INT(FIXED), CLV_INT(MOVING)));
    CLV_TRY(derivative(c, IMAGES + 1, MOVING, a->derivative_moving));
    if (a->derivative_fixed)
        CLV_TRY(derivative(c, IMAGES, FIXED, a->derivative_fixed));
end:
    return status;
}

static int points(const call *c)
{
    int status = CLVOX_OK;
    const clv_kernel *pull, *derivative;
    const clv_metric_args *a = c->args;
    const double part = clv_within_voxels(a->within, a->fixed.size);
    clv_buffer *const out[2] = {a->derivative_fixed, a->derivative_moving};
    CLV_TRY(get(c, &clv_entry_mind_point_pull, &pull));
    CLV_TRY(CLV_LAUNCH(c->ctx, pull, LINE(c), 56 * part, CLV_BUF(a->scratch), CLV_INT(IMAGES), ROW_ARGUMENTS(c),
                       CLV_FLOAT(a->epsilon), CLV_INT(PULLS), CLV_BUF(a->out ? a->partial : NULL)));
    CLV_TRY(total(c, clv_launch_groups(pull, LINE(c), NULL)));
    CLV_TRY(clv_kernel_get(c->ctx, &clv_entry_mind_point_derivative, NULL, a->fixed.size, 0, &derivative));
    for (int side = 0; side < 2; side++)
        if (out[side])
            CLV_TRY(CLV_LAUNCH(c->ctx, derivative, a->fixed.size, (c->adds ? 36 : 32) * part, CLV_BUF(a->scratch),
                               CLV_INT(IMAGES + side), CLV_INT(PULLS + 6 * side), CLV_SIZE(&a->fixed),
                               ROW_ARGUMENTS(c), OUT_ARGUMENTS(c), CLV_BUF(a->within.rows), CLV_BUF(out[side])));
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
    &clv_entry_mind_pack, &clv_entry_mind_unpack, &clv_entry_mind_lines, &clv_entry_mind_planes,
    &clv_entry_mind_compare, &clv_entry_mind_pull, &clv_entry_mind_derivative,
    &clv_entry_mind_point_pull, &clv_entry_mind_point_derivative, NULL};
