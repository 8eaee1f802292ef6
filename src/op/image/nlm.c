/* SPDX-License-Identifier: Apache-2.0 */
#include "op/image/nlm.h"

#include <limits.h>

static const clv_variant pad_variants[] = {
    {.name = "item", .function = "nlm_pad", .devices = CLV_ON_GPU, .tiles = {{64, 4, 1, 1}, {1, 1, 1, 1}}},
    {.name = "row", .function = "nlm_pad", .defines = "-DROW_FORM=1", .item = {CLV_WHOLE}, .devices = CLV_ON_CPU,
     .tiles = {{1, 1, 1, 1}}},
};
static const char *const pad_builds[] = {"-DFOLDED=0", "-DFOLDED=1", NULL};
const clv_entry clv_entry_nlm_pad = CLV_ENTRY("image/nlm", "nlm_pad", pad_variants, pad_builds);

/* The items at either end make the columns that patches of the others reach into. Local memory: two
 * lines of the rows of an item. */
static const clv_variant means_variants[] = {
    {.name = "block", .function = "nlm_means", .item = {1, 4, 2}, .rim = {CLV_NLM_MAX_PATCH}, .devices = CLV_ON_GPU,
     .cell_bytes = 2 * 4 * 4 * 2, .planes = 1, .tiles = {{64, 1, 1, 1}}},
    {.name = "row", .function = "nlm_means", .defines = "-DROW_FORM=1", .item = {CLV_WHOLE, 4, 2},
     .devices = CLV_ON_CPU, .tiles = {{1, 1, 1, 1}}},
};
static const char *const builds[] = {"-DPATCH=0 -DGUIDED=1", "-DPATCH=1", "-DPATCH=2", NULL};
const clv_entry clv_entry_nlm_means = CLV_ENTRY("image/nlm", "nlm_means", means_variants, builds);

static const clv_variant distances_variants[] = {
    {.name = "block",
     .function = "nlm_distances",
     .defines = "-DSHARED=1",
     .item = {1, 4, 2},
     .rim = {CLV_NLM_MAX_PATCH},
     .devices = CLV_ON_GPU,
     .cell_bytes = 2 * 4 * 4 * 2,
     .planes = 1,
     .tiles = {{64, 1, 1, 1}}},
    {.name = "row",
     .function = "nlm_distances",
     .defines = "-DSHARED=1 -DROW_FORM=1",
     .item = {CLV_WHOLE, 4, 2},
     .devices = CLV_ON_CPU,
     .tiles = {{1, 1, 1, 1}}},
};
const clv_entry clv_entry_nlm_distances = CLV_ENTRY("image/nlm", "nlm_distances", distances_variants, builds);

static const clv_variant gather_variants[] = {
    {.name = "item", .function = "nlm_gather", .devices = CLV_ON_GPU, .tiles = {{64, 4, 1, 1}, {1, 1, 1, 1}}},
    {.name = "row",
     .function = "nlm_gather",
     .defines = "-DROW_FORM=1",
     .item = {CLV_WHOLE},
     .devices = CLV_ON_CPU,
     .tiles = {{1, 1, 1, 1}}},
};
const clv_entry clv_entry_nlm_gather = CLV_ENTRY("image/nlm", "nlm_gather", gather_variants, NULL);

/* Rows and lanes that an item covers beyond the end; lanes of a folded row. */
enum { SPARE_ROWS = 3, SPARE_LANES = 64, LANES = 8 };

clv_nlm_padding clv_nlm_padding_of(const int size[3], int search)
{
    clv_nlm_padding p = {.part = 0};
    for (int a = 0; a < 3; a++) {
        p.margin[a] = search + CLV_NLM_MAX_PATCH;
        p.size[a] = size[a] + 2 * p.margin[a] + (a ? SPARE_ROWS : SPARE_LANES);
    }
    return p;
}

/* Rows beyond the border are never read, and vectors in pairs. */
int clv_nlm_guided_padding(clvox_context *ctx, const int size[3], int search, clv_nlm_padding *out)
{
    int status = CLVOX_OK;
    const clv_kernel *kernel;
    *out = clv_nlm_padding_of(size, search);
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_nlm_means, builds[0], size, 0, &kernel));
    if (kernel->variant->item[0] == CLV_WHOLE) {
        const int part = (size[0] + LANES - 1) / LANES, margin = search + 1;
        *out = (clv_nlm_padding){
            .size = {LANES * (part + 2 * margin), size[1], size[2]}, .margin = {margin, 0, 0}, .part = part};
    }
end:
    return status;
}

size_t clv_nlm_padded_bytes(const clv_nlm_padding *p)
{
    return sizeof(float) * ((size_t)p->size[0] * (size_t)p->size[1] * (size_t)p->size[2] + SPARE_LANES);
}

/* `padded` of cl/image/nlm.cl. */
typedef struct padded_arg {
    int32_t size[4], margin[4];
} padded_arg;

static padded_arg padded_of(const clv_nlm_padding *p)
{
    return (padded_arg){{p->size[0], p->size[1], p->size[2], p->size[0] * p->size[1]},
                        {p->margin[0], p->margin[1], p->margin[2], p->part}};
}

static int check(const clv_nlm_padding *p)
{
    if ((double)p->size[0] * p->size[1] * p->size[2] > INT_MAX - SPARE_LANES)
        return clvox_fail(
            CLVOX_ERROR_ARGUMENT,
            "%d x %d x %d voxels with their margin are too many for non-local means; take a part of the "
            "volume or a smaller search",
            p->size[0], p->size[1], p->size[2]);
    return CLVOX_OK;
}

int clv_nlm_pad(clvox_context *ctx, const clv_image *in, const clv_nlm_padding *padding, bool means,
                clv_buffer *out)
{
    int status = CLVOX_OK;
    const clv_kernel *kernel;
    const padded_arg p = padded_of(padding);
    CLV_TRY(check(padding));
    CLV_TRY(
        clv_kernel_get(ctx, &clv_entry_nlm_pad, pad_builds[padding->part > 0], padding->size, 0, &kernel));
    CLV_TRY(CLV_LAUNCH(ctx, kernel, padding->size,
                       4.0 * (double)clv_image_voxels(in) + (double)clv_nlm_padded_bytes(padding),
                       CLV_BUF(in->buffer), CLV_BUF(out), CLV_SIZE(in), ((clv_arg){sizeof p, &p, NULL}),
                       CLV_INT(means)));
end:
    return status;
}

static int check_parameters(const clv_nlm_padding *padding, bool guided, int patch, int search,
                            float strength)
{
    int status = CLVOX_OK;
    CLV_TRY(check(padding));
    if ((!guided && (patch < 1 || patch > CLV_NLM_MAX_PATCH)) || search < 1 ||
        search > padding->margin[0] - (padding->part ? 1 : CLV_NLM_MAX_PATCH) || !(strength > 0))
        status = clvox_fail(CLVOX_ERROR_ARGUMENT,
                            "non-local means: patch %d, search %d or strength %g is out of range", patch,
                            search, (double)strength);
end:
    return status;
}

/* How far neighbours are along an axis. */
static int reach(const clv_image *grid, int search, int axis)
{
    return search < grid->size[axis] ? search : grid->size[axis] - 1;
}

/* The square of how far neighbours are at most, half a voxel more than `search`. */
static int within(int search)
{
    return search * (search + 1);
}

/* 1 - q/8, guided: 1 - q, is x - D y / sigma^2, D a sum over patches, and over frames. */
static void scales(bool guided, int patch, int frames, float strength, float *x, float *y)
{
    const int side = 2 * patch + 1;
    *x = guided ? 1 : 1 + 2 / (8 * strength);
    *y = guided ? 1 / strength : 1 / (8 * strength * (float)(side * side * side * frames));
}

int clv_nlm_means(clvox_context *ctx, const clv_image *grid, const clv_nlm_means_args *args, clv_buffer *out)
{
    int status = CLVOX_OK;
    const clv_kernel *kernel;
    const padded_arg p = padded_of(&args->padding);
    const bool guided = args->mean;
    float x, y;
    CLV_TRY(check_parameters(&args->padding, guided, args->patch, args->search, args->strength));
    scales(guided, args->patch, 1, args->strength, &x, &y);
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_nlm_means, builds[guided ? 0 : args->patch], grid->size, 0, &kernel));
    if ((guided && kernel->variant->item[0] == CLV_WHOLE) != (p.margin[3] > 0)) {
        status = clvox_fail(CLVOX_ERROR_ARGUMENT, "non-local means: images are padded for another kernel");
        goto end;
    }
    CLV_TRY(CLV_LAUNCH(ctx, kernel, grid->size, (guided ? 20.0 : 12.0) * (double)clv_image_voxels(grid),
                       CLV_BUF(args->value), CLV_BUF(guided ? args->guide : args->value),
                       CLV_BUF(guided ? args->mean : args->value), CLV_BUF(args->sigma), CLV_BUF(out),
                       CLV_SIZE(grid), ((clv_arg){sizeof p, &p, NULL}),
                       CLV_INT4(reach(grid, args->search, 0), reach(grid, args->search, 1),
                                reach(grid, args->search, 2), within(args->search)),
                       CLV_FLOAT4(x, y, args->rician ? 1 : 0, 0)));
end:
    return status;
}

/* ---- frames that share their weights ------------------------------------- */

/* Neighbours' weights in memory at a time: of `planes` planes of voxels and `rows` rows of their neighbours. Items
 * make two planes. */
typedef struct batches {
    int pitch;        /* floats of a row of voxels */
    int planes, rows; /* of a batch, at most */
    int slabs, per_slab,
        per_plane; /* batches of planes; of the neighbours of one, and of those in one plane */
    int reach[3];
} batches;

enum { WEIGHTS_CPU = 8 << 20, WEIGHTS_GPU = 256 << 20, ITEM_PLANES = 2 };

/* bytes 0: all rows of neighbours of one plane, of all voxels. */
static batches batches_of(const int size[3], int search, size_t bytes)
{
    batches b = {.pitch = (size[0] + 7) / 8 * 8, .planes = size[2]};
    for (int a = 0; a < 3; a++)
        b.reach[a] = search < size[a] ? search : size[a] - 1;
    b.rows = 2 * b.reach[1] + 1;
    /* One row of neighbours, and two planes of voxels. */
    const size_t least =
        sizeof(float) * (size_t)b.pitch * (size_t)(2 * b.reach[0] + 1) * (size_t)size[1] * ITEM_PLANES;
    if (bytes) {
        const size_t most = bytes / least;
        b.rows = most < (size_t)b.rows ? (int)most : b.rows;
        if (!b.rows)
            return b;
        const size_t pairs = most / (size_t)b.rows;
        b.planes = pairs < (size_t)size[2] ? (int)pairs * ITEM_PLANES : size[2];
    }
    b.slabs = (size[2] + b.planes - 1) / b.planes;
    b.per_plane = (2 * b.reach[1] + b.rows) / b.rows;
    b.per_slab = b.per_plane * (2 * b.reach[2] + 1);
    return b;
}

size_t clv_nlm_weights_bytes(const clvox_context *ctx, const int size[3], int search)
{
    const batches all = batches_of(size, search, 0);
    const size_t row = sizeof(float) * (size_t)all.pitch * (size_t)(2 * all.reach[0] + 1) * (size_t)size[1];
    const size_t whole = row * (size_t)all.rows * (size_t)((size[2] + 1) / ITEM_PLANES * ITEM_PLANES);
    const size_t wanted = clvox_context_limits(ctx)->type == CLVOX_DEVICE_CPU ? WEIGHTS_CPU : WEIGHTS_GPU;
    const size_t most = wanted < row * ITEM_PLANES ? row * ITEM_PLANES : wanted;
    return whole < most ? whole : most;
}

int clv_nlm_joint_steps(const clv_image *grid, const clv_nlm_joint_args *args)
{
    int status = CLVOX_OK;
    CLV_TRY(check_parameters(&args->padding, args->guided, args->patch, args->search, args->strength));
    const batches b = batches_of(grid->size, args->search, args->weights_bytes);
    status = b.rows ? b.slabs * b.per_slab
                    : clvox_fail(CLVOX_ERROR_ARGUMENT, "non-local means: too little room for weights");
end:
    return status;
}

/* `batch` of cl/image/nlm.cl. */
typedef struct batch_arg {
    int32_t begin[4], row[4];
} batch_arg;

int clv_nlm_joint_step(clvox_context *ctx, const clv_image *grid, const clv_nlm_joint_args *args, int step)
{
    int status = CLVOX_OK;
    const batches b = batches_of(grid->size, args->search, args->weights_bytes);
    const int slab = step / b.per_slab, part = step % b.per_slab, from = slab * b.planes;
    const int planes = from + b.planes < grid->size[2] ? b.planes : grid->size[2] - from;
    const int first = part % b.per_plane * b.rows - b.reach[1];
    const int rows = first + b.rows - 1 < b.reach[1] ? b.rows : b.reach[1] - first + 1;
    const int launch[3] = {grid->size[0], grid->size[1], planes};
    const double voxels = (double)launch[0] * launch[1] * planes, neighbours = (2.0 * b.reach[0] + 1) * rows;
    const padded_arg p = padded_of(&args->padding);
    const clv_kernel *distances, *gather;
    batch_arg at = {{from, part / b.per_plane - b.reach[2], first, rows}, {b.pitch, 0, 0, from + planes}};
    float x, y;
    scales(args->guided, args->patch, args->frames, args->strength, &x, &y);
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_nlm_distances, builds[args->guided ? 0 : args->patch], grid->size,
                           0, &distances));
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_nlm_gather, NULL, grid->size, 0, &gather));
    for (int f = 0; f < args->frames; f++) {
        const clv_nlm_frame *frame = &args->frame[f];
        at.row[1] = f == 0;
        at.row[2] = f == args->frames - 1;
        CLV_TRY(CLV_LAUNCH(ctx, distances, launch,
                           voxels * 4 * ((args->guided ? 3 : 2) + neighbours * (f ? 2 : 1)),
                           CLV_BUF(args->guided ? frame->guide : frame->value),
                           CLV_BUF(args->guided ? frame->mean : frame->value), CLV_BUF(frame->sigma),
                           CLV_BUF(args->weights), CLV_SIZE(grid), ((clv_arg){sizeof p, &p, NULL}),
                           CLV_INT4(b.reach[0], b.reach[1], b.reach[2], within(args->search)),
                           CLV_FLOAT4(x, y, 0, 0), ((clv_arg){sizeof at, &at, NULL})));
    }
    at.row[1] = part == 0;
    at.row[2] = part == b.per_slab - 1;
    for (int f = 0; f < args->frames; f++) {
        const clv_nlm_frame *frame = &args->frame[f];
        CLV_TRY(CLV_LAUNCH(ctx, gather, launch, voxels * 4 * (neighbours + 4), CLV_BUF(args->weights),
                           CLV_BUF(frame->value), CLV_BUF(frame->sigma), CLV_BUF(frame->out),
                           CLV_BUF(args->total), CLV_SIZE(grid), ((clv_arg){sizeof p, &p, NULL}),
                           CLV_INT4(b.reach[0], b.reach[1], b.reach[2], within(args->search)),
                           CLV_FLOAT4(x, y, args->rician ? 1 : 0, 0), ((clv_arg){sizeof at, &at, NULL}),
                           CLV_INT(f == 0)));
    }
end:
    return status;
}

const clv_entry *const clv_operation_image_nlm[] = {&clv_entry_nlm_means, &clv_entry_nlm_pad,
                                                    &clv_entry_nlm_distances, &clv_entry_nlm_gather, NULL};
