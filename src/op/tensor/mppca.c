/* SPDX-License-Identifier: Apache-2.0 */
#include "op/tensor/mppca.h"

#include <float.h>
#include <limits.h>
#include <math.h>

static const clv_variant pack_variants[] = {
    {.name = "line", .function = "mppca_pack", .item = {CLV_MARCH}, .devices = CLV_ON_GPU,
     .tiles = {{64, 1, 1, 1}, {1, 1, 1, 1}}},
    {.name = "run", .function = "mppca_pack", .item = {CLV_MARCH}, .devices = CLV_ON_CPU,
     .tiles = {{1, 1, 1, 512}}},
};
const clv_entry clv_entry_mppca_pack = CLV_ENTRY("tensor/mppca", "mppca_pack", pack_variants, NULL);

enum {
    VECTORS = 7,       /* of a work-item's scratch, the last a little longer */
    GROUP_VECTORS = 16 /* of what a work-group shares beside the covariance */
};

/* A window to a work-group as long as the covariance fits into local memory, else to a work-item; a row
 * of windows. */
static const clv_variant window_variants[] = {
    {.name = "group", .function = "mppca_window_group",
     .defines = "-DGROUP=1", .group = {1, 1, 1}, .fixed_bytes = 2 * 4 * 128, .devices = CLV_ON_GPU,
     .tiles = {{128, 1, 1, 1}, {64, 1, 1, 1}}},
    {.name = "each", .function = "mppca_window", .no_local = true, .devices = CLV_ON_GPU,
     .tiles = {{32, 1, 1, 1}, {1, 1, 1, 1}}},
    {.name = "row", .function = "mppca_window", .item = {CLV_WHOLE}, .no_local = true, .devices = CLV_ON_CPU,
     .tiles = {{1, 1, 1, 1}}},
};
const clv_entry clv_entry_mppca_window = CLV_ENTRY("tensor/mppca", "mppca_window", window_variants, NULL);

static const clv_variant gather_variants[] = {
    {.name = "group", .function = "mppca_gather_group", .group = {1, 1, 1}, .devices = CLV_ON_GPU,
     .tiles = {{64, 1, 1, 1}, {32, 1, 1, 1}, {128, 1, 1, 1}}},
    {.name = "row", .function = "mppca_gather_row", .item = {CLV_WHOLE}, .devices = CLV_ON_CPU,
     .tiles = {{1, 1, 1, 1}}},
};
const clv_entry clv_entry_mppca_gather = CLV_ENTRY("tensor/mppca", "mppca_gather", gather_variants, NULL);

static const clv_variant finish_variants[] = {
    {.name = "line", .function = "mppca_finish", .item = {CLV_MARCH}, .devices = CLV_ON_GPU,
     .tiles = {{64, 1, 1, 1}, {1, 1, 1, 1}}},
    {.name = "run", .function = "mppca_finish", .item = {CLV_MARCH}, .devices = CLV_ON_CPU,
     .tiles = {{1, 1, 1, 512}}},
};
const clv_entry clv_entry_mppca_finish = CLV_ENTRY("tensor/mppca", "mppca_finish", finish_variants, NULL);

/* How the work is divided. Lengths in floats. */
typedef struct plan {
    const clv_kernel *kernel;  /* of windows */
    int voxels, volumes, stride, samples, least;
    int radius[3], windows[3]; /* in the volume */
    int columns, rows, planes; /* of windows in flight */
    size_t slot, slots;        /* scratch of a work-item or work-group, and how many */
    size_t local;              /* bytes that a work-group shares, where one has a window */
} plan;

static size_t least_of(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Floats that a window leaves for the gathering. */
static size_t window_floats(const plan *p)
{
    size_t stride = (size_t)p->stride;
    return stride * stride + (size_t)p->samples * stride + stride + 4;
}

static int measure(const clv_mppca_args *a, plan *p)
{
    const int *size = a->dwi.size, volumes = a->dwi.components;
    double voxels = (double)size[0] * size[1] * size[2];
    *p = (plan){.volumes = volumes, .stride = (volumes + 7) / 8 * 8, .samples = 1};
    if (volumes < 2)
        return clvox_fail(CLVOX_ERROR_DATA, "PCA needs two volumes or more, and these are %d", volumes);
    if (voxels * p->stride > INT_MAX)
        return clvox_fail(CLVOX_ERROR_MEMORY, "%d volumes of %.0f voxels are more than PCA takes at once",
                          volumes, voxels);
    p->voxels = (int)voxels;
    for (int i = 0; i < 3; i++) {
        int most = (size[i] - 1) / 2;
        p->radius[i] = a->radius < most ? a->radius : most;
        p->windows[i] = size[i] - 2 * p->radius[i];
        p->samples *= 2 * p->radius[i] + 1;
    }
    if (p->samples < 2)
        return clvox_fail(CLVOX_ERROR_DATA, "PCA needs windows of more than one voxel");
    p->least = volumes > p->samples - 1 ? volumes - (p->samples - 1) : 0;
    size_t n = (size_t)volumes;
    p->local = sizeof(float) * (n * (n | 1) + GROUP_VECTORS * n);
    return CLVOX_OK;
}

static int make_plan(clvox_context *ctx, const clv_mppca_args *a, plan *p)
{
    int status = CLVOX_OK;
    const clvox_device_limits *limits = clvox_context_limits(ctx);
    CLV_TRY(measure(a, p));
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_mppca_window, NULL, p->windows, p->local, &p->kernel));
    const size_t stride = (size_t)p->stride;
    const bool alone = p->kernel->variant->no_local;
    /* Scratch of a work-item, or four vectors for each of a work-group. */
    p->slot = alone ? ((size_t)p->samples + stride + 32 + VECTORS) * stride
                    : 4 * (size_t)p->kernel->tile.x * stride;
    const bool many = p->kernel->item[0] != 0; /* work-items or work-groups in a row */
    size_t likes = limits->type == CLVOX_DEVICE_CPU ? (size_t)limits->compute_units << 24 : (size_t)1 << 32;
    size_t workspace_bytes =
        a->workspace_bytes ? a->workspace_bytes : least_of(likes, limits->global_bytes / 8);
    /* Index arithmetic is int, and the largest buffer one allocation. */
    size_t most = limits->max_allocation ? least_of(INT_MAX, limits->max_allocation / 4) : INT_MAX;
    /* Bytes of a window, and of a row besides. */
    const size_t one = window_floats(p) + (many ? p->slot : 0), row = many ? 0 : p->slot;
    if (one + row > most)
        return clvox_fail(
            CLVOX_ERROR_MEMORY,
            "a window of %d volumes and %d voxels is more than the device holds; take a smaller one",
            p->volumes, p->samples);
    const size_t plane = (size_t)p->windows[1], all = plane * (size_t)p->windows[2];
    const size_t room = least_of(workspace_bytes / 4, most);
    /* Work-items that take rows get at least one each. */
    const size_t wanted =
        many ? 1 : least_of(limits->compute_units > 0 ? (size_t)limits->compute_units : 1, all);
    const size_t each = room / wanted;
    p->columns = (int)least_of((size_t)p->windows[0], each > one + row ? (each - row) / one : 1);
    size_t fit = room / (row + (size_t)p->columns * one);
    fit = fit ? fit : 1;
    p->rows = (int)least_of(fit, plane);
    p->planes = fit < plane ? 1 : (int)least_of(fit / plane, (size_t)p->windows[2]);
    p->slots = (size_t)p->rows * (size_t)p->planes * (many ? (size_t)p->columns : 1);
end:
    return status;
}

enum { PACKED, SUMS, WEIGHTS, SCRATCH, PARTS, COEFFICIENTS, MEANS, FACTS, BUFFERS };

static void list_requests(const plan *p, clv_buffer *slots[BUFFERS], clv_request requests[BUFFERS])
{
    size_t voxels = (size_t)p->voxels, stride = (size_t)p->stride, bytes[BUFFERS];
    size_t windows = (size_t)p->columns * (size_t)p->rows * (size_t)p->planes;
    bytes[PACKED] = bytes[SUMS] = voxels * stride;
    bytes[WEIGHTS] = 2 * voxels;
    bytes[SCRATCH] = p->slots * p->slot;
    bytes[PARTS] = windows * stride * stride;
    bytes[COEFFICIENTS] = windows * (size_t)p->samples * stride;
    bytes[MEANS] = windows * stride;
    bytes[FACTS] = 4 * windows;
    for (int i = 0; i < BUFFERS; i++)
        requests[i] = (clv_request){&slots[i], 4 * bytes[i], "windows of the PCA"};
}

/* Windows from `first` on along each axis, `count` of them. */
static int run_box(clvox_context *ctx, const clv_mppca_args *a, const plan *p, clv_buffer *const b[BUFFERS],
                   const int first[3], const int count[3])
{
    int status = CLVOX_OK;
    const clv_kernel *gather;
    const int *r = p->radius, *n = a->dwi.size;
    const int reach[3] = {count[0] + 2 * r[0], count[1] + 2 * r[1], count[2] + 2 * r[2]};
    const double larger = p->least > 0 ? p->volumes : p->samples;
    const double windows = (double)count[0] * count[1] * count[2];
    const double step = 1 + sqrt((p->volumes - p->least) / larger);
    const clv_arg args[] = {CLV_BUF(b[PACKED]), CLV_BUF(a->mask), CLV_INT4(n[0], n[1], n[2], 0),
                            CLV_INT4(r[0], r[1], r[2], 0), CLV_INT4(first[0], first[1], first[2], 0),
                            CLV_INT4(count[0], count[1], count[2], 0),
                            CLV_INT4(p->volumes, p->stride, p->samples, p->least),
                            CLV_FLOAT((float)(step * step)), CLV_BUF(b[SCRATCH]), CLV_INT((int)p->slot),
                            CLV_BUF(b[PARTS]), CLV_BUF(b[COEFFICIENTS]), CLV_BUF(b[MEANS]), CLV_BUF(b[FACTS]),
                            CLV_LOCAL(p->local)};
    CLV_TRY(clv_launch_args(ctx, p->kernel, count, 4 * windows * p->volumes, args,
                            (int)(sizeof args / sizeof *args) - p->kernel->variant->no_local));
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_mppca_gather, NULL, reach, 0, &gather));
    CLV_TRY(CLV_LAUNCH(ctx, gather, reach, 8 * (double)reach[0] * reach[1] * reach[2] * p->volumes,
                       CLV_BUF(b[PARTS]), CLV_BUF(b[COEFFICIENTS]), CLV_BUF(b[MEANS]), CLV_BUF(b[FACTS]),
                       CLV_BUF(a->mask), CLV_INT4(n[0], n[1], n[2], 0), CLV_INT4(r[0], r[1], r[2], 0),
                       CLV_INT4(first[0], first[1], first[2], 0), CLV_INT4(count[0], count[1], count[2], 0),
                       CLV_INT4(p->volumes, p->stride, p->samples, p->least), CLV_BUF(b[SUMS]),
                       CLV_BUF(b[WEIGHTS])));
end:
    return status;
}

int clv_mppca(clvox_context *ctx, const clv_mppca_args *a)
{
    int status;
    plan p;
    clv_buffer *b[BUFFERS] = {NULL};
    clv_request requests[BUFFERS] = {{0}};
    const clv_kernel *pack, *finish;
    CLV_TRY(make_plan(ctx, a, &p));
    const int line[3] = {p.voxels, 1, 1};
    double bytes = 4.0 * p.voxels * p.volumes;
    list_requests(&p, b, requests);
    CLV_TRY(clv_pool_take(ctx, requests, BUFFERS));
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_mppca_pack, NULL, line, 0, &pack));
    CLV_TRY(CLV_LAUNCH(ctx, pack, line, 3 * bytes, CLV_BUF(a->dwi.buffer), CLV_INT(p.voxels),
                       CLV_INT(p.volumes), CLV_INT(p.stride), CLV_BUF(b[PACKED]), CLV_BUF(b[SUMS]), CLV_BUF(b[WEIGHTS])));
    for (int z = 0; z < p.windows[2]; z += p.planes)
        for (int y = 0; y < p.windows[1]; y += p.rows)
            for (int x = 0; x < p.windows[0]; x += p.columns) {
                const int first[3] = {x, y, z};
                const int count[3] = {p.windows[0] - x < p.columns ? p.windows[0] - x : p.columns,
                                      p.windows[1] - y < p.rows ? p.windows[1] - y : p.rows,
                                      p.windows[2] - z < p.planes ? p.windows[2] - z : p.planes};
                CLV_TRY(run_box(ctx, a, &p, b, first, count));
            }
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_mppca_finish, NULL, line, 0, &finish));
    CLV_TRY(CLV_LAUNCH(ctx, finish, line, 3 * bytes, CLV_BUF(a->dwi.buffer), CLV_BUF(a->mask),
                       CLV_INT(p.voxels), CLV_INT(p.volumes), CLV_INT(p.stride),
                       CLV_FLOAT(a->is_signed ? -FLT_MAX : 0), CLV_BUF(b[SUMS]), CLV_BUF(b[WEIGHTS]),
                       CLV_BUF(a->out), CLV_BUF(a->sigma)));
    status = clv_finish(ctx);
end:
    if (requests[0].slot)
        clv_pool_release(requests, BUFFERS);
    return status;
}

const clv_entry *const clv_operation_tensor_mppca[] = {
    &clv_entry_mppca_pack, &clv_entry_mppca_window, &clv_entry_mppca_gather, &clv_entry_mppca_finish, NULL};
