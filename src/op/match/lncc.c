/* SPDX-License-Identifier: Apache-2.0 */
#include "op/match/lncc.h"

enum {
    NARROW_RADIUS = 2, /* the largest of kernels that keep a window's rows in registers */
    WIDE_RADIUS = 7,   /* the largest of the kernels that are built for one */
    MOST_GROUPS = CLV_LNCC_PARTIALS / 2
};

#define ENTRY(variable, entry_name, variants, builds) \
    const clv_entry variable = CLV_ENTRY("match/lncc", entry_name, variants, builds)

#define NARROW(options) "-DRADIUS=1" options, "-DRADIUS=2" options
#define WIDE(options)                                                                       \
    "-DRADIUS=3" options, "-DRADIUS=4" options, "-DRADIUS=5" options, "-DRADIUS=6" options, \
        "-DRADIUS=7" options

/* By local, both and radius. */
static const char *const terms_builds[] = {
    NARROW(" -DLOCAL=0 -DBOTH=0"),
    NARROW(" -DLOCAL=0 -DBOTH=1"),
    NARROW(" -DLOCAL=1 -DBOTH=0"),
    NARROW(" -DLOCAL=1 -DBOTH=1"),
    NULL,
};
static const char *const derivative_builds[] = {NARROW(" -DBOTH=0"), NARROW(" -DBOTH=1"), NULL};
static const char *const wide_terms_builds[] = {
    WIDE(" -DLOCAL=0 -DBOTH=0"),
    WIDE(" -DLOCAL=0 -DBOTH=1"),
    WIDE(" -DLOCAL=1 -DBOTH=0"),
    WIDE(" -DLOCAL=1 -DBOTH=1"),
    NULL,
};
static const char *const wide_derivative_builds[] = {WIDE(" -DBOTH=0"), WIDE(" -DBOTH=1"), NULL};

/* Launched over voxels. A group takes tiles as the volume asks for them (tile_of): the
 * row says the smallest, and with it the most groups. */
#define QUAD(more, sums)                                                                    \
    .name = "quad", .function = "lncc_quad", .defines = "-DQUAD=1" more, .item = {1, 4, 4}, \
    .rim = {NARROW_RADIUS}, .most_groups = MOST_GROUPS, .devices = CLV_ON_GPU,              \
    .cell_bytes = 4 * 2 * 4 * (sums), .planes = 1, .tiles = {{96, 1, 1, 16}, {64, 1, 1, 16}}
#define CELLED(more, sums)                                                                                 \
    .name = "cells", .function = "lncc_cells", .defines = "-DCELLED=1" more, .item = {1, 4, 4},            \
    .rim = {WIDE_RADIUS}, .most_groups = MOST_GROUPS, .devices = CLV_ON_GPU, .cell_bytes = 4 * 8 * (sums), \
    .planes = 1, .tiles = {{64, 4, 1, 16}}
#define ROW(more, rows, march)                                                                         \
    .name = "row", .function = "lncc_row", .defines = "-DROWS=1" more, .item = {256, rows, CLV_MARCH}, \
    .most_groups = MOST_GROUPS, .devices = CLV_ON_CPU, .tiles = {{1, 1, 1, march}}

static const clv_variant terms_variants[] = {{QUAD("", 6)}, {ROW("", 32, 8)}};
ENTRY(clv_entry_lncc_terms, "lncc_terms", terms_variants, terms_builds);

static const clv_variant derivative_variants[] = {
    {QUAD(" -DDERIVATIVE=1 -DAHEAD=1", 5)},
    {ROW(" -DDERIVATIVE=1", 32, 16)},
};
ENTRY(clv_entry_lncc_derivative, "lncc_derivative", derivative_variants, derivative_builds);

/* Rows: larger tiles, of which wider margins are less. */
static const clv_variant wide_terms_variants[] = {{CELLED("", 6)}, {ROW("", 48, 16)}};
ENTRY(clv_entry_lncc_wide_terms, "lncc_wide_terms", wide_terms_variants, wide_terms_builds);

static const clv_variant wide_derivative_variants[] = {
    {CELLED(" -DDERIVATIVE=1 -DAHEAD=1", 5)},
    {ROW(" -DDERIVATIVE=1", 32, 32)},
};
ENTRY(clv_entry_lncc_wide_derivative, "lncc_wide_derivative", wide_derivative_variants,
      wide_derivative_builds);

static const clv_variant total_variants[] = {
    {.name = "group", .function = "lncc_total", .defines = "-DTOTAL=1", .group = {1, 1, 1},
     .devices = CLV_ON_ANY, .cell_bytes = 8, .planes = 1, .tiles = {{256, 1, 1, 1}, {1, 1, 1, 1}}},
};
ENTRY(clv_entry_lncc_total, "lncc_total", total_variants, NULL);

/* Any radius, launched over voxels along two axes and stretches of stretch() voxels
 * along the one that is summed: an item takes one line, on CPU devices a row of them. */
#define BOX(kernel, more) .name = "item", .function = kernel, .defines = "-DBOX=1" more, .devices = CLV_ON_GPU
#define BOX_ROW(kernel, more)                                                                           \
    .name = "row", .function = kernel, .defines = "-DBOX=1" more, .item = {256}, .devices = CLV_ON_CPU, \
    .tiles = {{1, 1, 1, 1}}
#define BOX_Z(more) BOX("lncc_box_z", more), .most_groups = MOST_GROUPS, .cell_bytes = 8, .planes = 1
#define BOX_Z_ROW(more) BOX_ROW("lncc_box_z", more), .most_groups = MOST_GROUPS

static const char *const box_builds[] = {"-DLOCAL=0 -DBOTH=0", "-DLOCAL=0 -DBOTH=1", "-DLOCAL=1 -DBOTH=0",
                                         "-DLOCAL=1 -DBOTH=1", NULL};
static const char *const both_builds[] = {"-DBOTH=0", "-DBOTH=1", NULL};

static const clv_variant box_x_variants[] = {
    {BOX("lncc_box_x", ""), .tiles = {{8, 16, 1, 1}, {1, 1, 1, 1}}},
};
ENTRY(clv_entry_lncc_box_x, "lncc_box_x", box_x_variants, NULL);

static const clv_variant box_x_terms_variants[] = {
    {BOX("lncc_box_x", " -DDERIVATIVE=1"), .tiles = {{8, 16, 1, 1}, {1, 1, 1, 1}}},
};
ENTRY(clv_entry_lncc_box_x_terms, "lncc_box_x_terms", box_x_terms_variants, both_builds);

static const clv_variant box_y_variants[] = {
    {BOX("lncc_box_y", ""), .tiles = {{64, 2, 1, 1}, {1, 1, 1, 1}}},
};
ENTRY(clv_entry_lncc_box_y, "lncc_box_y", box_y_variants, NULL);

/* Launched over tiles: TILE_X less the window's margins along x, a stretch along y, a plane. */
#define BOX_XY(more, sums)                                                                     \
    .name = "across", .function = "lncc_box_xy", .defines = "-DBOX=1 -DACROSS=1" more,         \
    .group = {1, 1, 1}, .devices = CLV_ON_GPU, .cell_bytes = 4 * 2 * (sums), .planes = 1,      \
    .tiles = {{128, 1, 1, 1}, {256, 1, 1, 1}, {64, 1, 1, 1}}

#define BOX_XY_ROW(more) BOX_ROW("lncc_box_xy", more), .group = {1, 1, 1}

static const clv_variant box_xy_variants[] = {{BOX_XY("", 6)}, {BOX_XY_ROW("")}};
ENTRY(clv_entry_lncc_box_xy, "lncc_box_xy", box_xy_variants, NULL);

static const clv_variant box_xy_terms_variants[] = {{BOX_XY(" -DDERIVATIVE=1", 5)},
                                                    {BOX_XY_ROW(" -DDERIVATIVE=1")}};
ENTRY(clv_entry_lncc_box_xy_terms, "lncc_box_xy_terms", box_xy_terms_variants, both_builds);

static const clv_variant box_terms_variants[] = {
    {BOX_Z(""), .tiles = {{128, 1, 1, 1}, {1, 1, 1, 1}}},
    {BOX_Z_ROW("")},
};
ENTRY(clv_entry_lncc_box_terms, "lncc_box_terms", box_terms_variants, box_builds);

static const clv_variant box_derivative_variants[] = {
    {BOX_Z(" -DDERIVATIVE=1"), .tiles = {{128, 1, 1, 1}, {1, 1, 1, 1}}},
    {BOX_Z_ROW(" -DDERIVATIVE=1")},
};
ENTRY(clv_entry_lncc_box_derivative, "lncc_box_derivative", box_derivative_variants, both_builds);

static double voxels(const int size[3])
{
    return (double)size[0] * size[1] * size[2];
}

static int ceil_div(int n, int by)
{
    return (n + by - 1) / by;
}

/* Tiles that keep a compute unit's work-groups busy to the end. */
enum { TILES_A_UNIT = 8 };

/* Equal strips of at most as many columns as a group makes, in whole vectors where
 * an item makes a strip, else in whole quads or pairs; fewer planes, as many as the row says at
 * least, where there would be fewer tiles than keep the device busy. */
static void tile_of(const clvox_context *ctx, const clv_kernel *kernel, const clv_metric_args *a, int tile[3])
{
    const int *item = kernel->item, *size = a->fixed.size;
    bool strip = item[0] > 1;
    int unit = strip ? 8 : kernel->tile.y > 1 ? 2 : 4;
    int most = strip ? item[0] : (kernel->tile.x - 2 * a->parameter) / unit * unit;
    int width = ceil_div(size[0], ceil_div(size[0], most));
    tile[0] = ceil_div(width, unit) * unit;
    tile[1] = item[1] * kernel->tile.y;
    tile[2] = kernel->tile.march;
    double across = (double)ceil_div(size[0], tile[0]) * ceil_div(size[1], tile[1]);
    int wanted = TILES_A_UNIT * clvox_context_limits(ctx)->compute_units;
    while (tile[2] > item[2] && across * ceil_div(size[2], tile[2]) < wanted)
        tile[2] /= 2;
}

static int launch(clvox_context *ctx, const clv_entry *entry, const char *build, const clv_metric_args *a,
                  double bytes, int *groups)
{
    int status = CLVOX_OK;
    const clv_kernel *kernel;
    int tile[3];
    CLV_TRY(clv_kernel_get(ctx, entry, build, a->fixed.size, 0, &kernel));
    tile_of(ctx, kernel, a, tile);
    /* Strips pass over what is not within; other forms read it. */
    const double walked =
        kernel->item[0] > 1 ? clv_within_voxels(a->within, a->fixed.size) : voxels(a->fixed.size);
    *groups = clv_launch_groups(kernel, a->fixed.size, NULL);
    CLV_TRY(CLV_LAUNCH(ctx, kernel, a->fixed.size, bytes * walked, CLV_BUF(a->fixed.buffer),
                       CLV_BUF(a->moving), CLV_SIZE(&a->fixed), CLV_INT4(tile[0], tile[1], tile[2], 0),
                       CLV_FLOAT(a->epsilon), CLV_BUF(a->scratch), CLV_BUF(a->derivative_moving),
                       CLV_BUF(a->derivative_fixed), CLV_BUF(a->within.rows),
                       CLV_BUF(a->out ? a->partial : NULL)));
end:
    return status;
}

size_t clv_lncc_scratch(const int size[3], int radius, bool local, bool both)
{
    int terms = local ? 0 : both ? 5 : 3;
    return (size_t)voxels(size) * (size_t)(radius > WIDE_RADIUS ? (local ? 7 : 6 + terms) : terms);
}

static int check(const clv_metric_args *a)
{
    size_t bytes = (size_t)voxels(a->fixed.size) * sizeof(float);
    bool both = a->derivative_fixed != NULL;
    size_t scratch = clv_lncc_scratch(a->fixed.size, a->parameter, a->local, both) * sizeof(float);
    if (!a->fixed.buffer || !a->moving || !a->derivative_moving || (scratch && !a->scratch))
        return clvox_fail(CLVOX_ERROR_ARGUMENT,
                          "LNCC: a buffer is missing; pass fixed, moving, derivative_moving and scratch");
    if (a->fixed.size[0] < 1 || a->fixed.size[1] < 1 || a->fixed.size[2] < 1)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "LNCC: sizes must be at least 1");
    if (a->parameter < 1 || a->parameter > 64)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "LNCC: the radius %d is not one of 1 to 64 voxels",
                          a->parameter);
    if (!(a->epsilon > 0))
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "LNCC: epsilon must be above 0");
    if (a->fixed.buffer->bytes < bytes || a->moving->bytes < bytes || a->derivative_moving->bytes < bytes ||
        (a->derivative_fixed && a->derivative_fixed->bytes < bytes) ||
        (scratch && a->scratch->bytes < scratch) ||
        (a->within.rows && a->within.rows->bytes < clv_within_bytes(a->fixed.size)))
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "LNCC: a buffer is smaller than its volumes");
    if (a->out && (!a->partial || a->partial->bytes < CLV_LNCC_PARTIALS * sizeof(float) || a->slot < 0 ||
                   a->out->bytes < (size_t)(a->slot + 2) * sizeof(float)))
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "LNCC: partial holds %d floats and out two from slot on",
                          CLV_LNCC_PARTIALS);
    return CLVOX_OK;
}

/* Voxels of a line that a work-item sums up one after another: enough for the
 * first window of each not to count. */
static int stretch(int radius)
{
    return 2 * radius > 32 ? 2 * radius : 32;
}

/* Sums along x of the images or of the terms, into slots `to` on. */
static int box_x(clvox_context *ctx, const clv_metric_args *a, bool derivative, int from, int to)
{
    int status = CLVOX_OK, each = stretch(a->parameter), both = a->derivative_fixed != NULL;
    const clv_kernel *kernel;
    const int lines[3] = {ceil_div(a->fixed.size[0], each), a->fixed.size[1], a->fixed.size[2]};
    double bytes = derivative ? (both ? 40 : 24) : 32;
    CLV_TRY(clv_kernel_get(ctx, derivative ? &clv_entry_lncc_box_x_terms : &clv_entry_lncc_box_x,
                           derivative ? both_builds[both] : NULL, lines, 0, &kernel));
    CLV_TRY(CLV_LAUNCH(ctx, kernel, lines, bytes * voxels(a->fixed.size), CLV_BUF(a->fixed.buffer),
                       CLV_BUF(a->moving), CLV_BUF(a->scratch), CLV_SIZE(&a->fixed), CLV_INT(a->parameter),
                       CLV_INT(each), CLV_INT(from), CLV_INT(to)));
end:
    return status;
}

static int box_y(clvox_context *ctx, const clv_metric_args *a, int from, int to)
{
    int status = CLVOX_OK, each = stretch(a->parameter);
    const clv_kernel *kernel;
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_lncc_box_y, NULL, a->fixed.size, 0, &kernel));
    const int lines[3] = {a->fixed.size[0], ceil_div(a->fixed.size[1], each), a->fixed.size[2]};
    CLV_TRY(CLV_LAUNCH(ctx, kernel, lines, 8 * voxels(a->fixed.size), CLV_BUF(a->scratch),
                       CLV_SIZE(&a->fixed), CLV_INT(a->parameter), CLV_INT(each),
                       CLV_INT(from), CLV_INT(to)));
end:
    return status;
}

/* Slots `from` on, summed along z, give the terms in slots `to` on or the derivatives. */
static int box_z(clvox_context *ctx, const clv_metric_args *a, bool derivative, int from, int to, int *groups)
{
    int status = CLVOX_OK, each = stretch(a->parameter), both = a->derivative_fixed != NULL;
    int given = derivative || a->local ? 1 + both : 3 + 2 * both;
    const clv_kernel *kernel;
    CLV_TRY(clv_kernel_get(ctx, derivative ? &clv_entry_lncc_box_derivative : &clv_entry_lncc_box_terms,
                           derivative ? both_builds[both] : box_builds[2 * a->local + both], a->fixed.size, 0,
                           &kernel));
    const int lines[3] = {a->fixed.size[0], a->fixed.size[1], ceil_div(a->fixed.size[2], each)};
    double bytes = 4 * ((derivative ? 3 + 2 * both : 6) + 2 + given);
    *groups = clv_launch_groups(kernel, lines, NULL);
    CLV_TRY(CLV_LAUNCH(ctx, kernel, lines, bytes * voxels(a->fixed.size), CLV_BUF(a->fixed.buffer),
                       CLV_BUF(a->moving), CLV_BUF(a->scratch), CLV_SIZE(&a->fixed), CLV_INT(a->parameter),
                       CLV_INT(each), CLV_INT(from), CLV_INT(to), CLV_FLOAT(a->epsilon),
                       CLV_BUF(a->derivative_moving), CLV_BUF(a->derivative_fixed),
                       CLV_BUF(a->out ? a->partial : NULL)));
end:
    return status;
}

/* Columns that a group makes which sums along x and y at once; 0: one axis at a time, as GPUs do
 * where a group is hardly wider than the window. */
static int box_tile(clvox_context *ctx, const clv_metric_args *a, bool derivative, const clv_kernel **kernel,
                    int *tile)
{
    int status = CLVOX_OK;
    const clv_entry *entry = derivative ? &clv_entry_lncc_box_xy_terms : &clv_entry_lncc_box_xy;
    const clv_entry *along_x = derivative ? &clv_entry_lncc_box_x_terms : &clv_entry_lncc_box_x;
    const char *build = derivative ? both_builds[a->derivative_fixed != NULL] : NULL;
    *tile = 0;
    if (clv_forced_variant(ctx, along_x->name) || clv_forced_variant(ctx, clv_entry_lncc_box_y.name))
        return CLVOX_OK;
    CLV_TRY(clv_kernel_get(ctx, entry, build, a->fixed.size, 0, kernel));
    if ((*kernel)->item[0] > 1)
        *tile = (*kernel)->item[0];
    else if ((*kernel)->tile.x >= 3 * a->parameter)
        *tile = (*kernel)->tile.x - 2 * a->parameter;
end:
    return status;
}

/* Sums along x and y of the images, or of the terms in slots 6 on; slot *at is the first of them. A pass
 * along y alone moves a sum one slot down, into the slot that the one before has left; terms go behind. */
static int box_plane(clvox_context *ctx, const clv_metric_args *a, bool derivative, int *at)
{
    int status = CLVOX_OK, each = stretch(a->parameter), tile = 0;
    const int terms = a->derivative_fixed ? 5 : 3, sums = derivative ? terms : 6, *size = a->fixed.size;
    const clv_kernel *kernel;
    *at = 0;
    CLV_TRY(box_tile(ctx, a, derivative, &kernel, &tile));
    if (tile) {
        const int tiles[3] = {ceil_div(size[0], tile), ceil_div(size[1], each), size[2]};
        return CLV_LAUNCH(ctx, kernel, tiles, (derivative ? 8 * terms : 32) * voxels(size),
                          CLV_BUF(a->fixed.buffer), CLV_BUF(a->moving), CLV_BUF(a->scratch),
                          CLV_SIZE(&a->fixed), CLV_INT(a->parameter), CLV_INT(each),
                          CLV_INT(derivative ? 6 : 0), CLV_INT(0));
    }
    CLV_TRY(box_x(ctx, a, derivative, derivative ? 6 : 0, derivative ? 0 : 1));
    *at = derivative ? terms : 0;
    for (int q = 0; q < sums; q++)
        CLV_TRY(derivative ? box_y(ctx, a, q, q + terms) : box_y(ctx, a, q + 1, q));
end:
    return status;
}

static int box_passes(clvox_context *ctx, const clv_metric_args *a, int *groups)
{
    int status = CLVOX_OK, unused, at;
    CLV_TRY(box_plane(ctx, a, false, &at));
    CLV_TRY(box_z(ctx, a, false, at, 6, groups));
    if (a->local)
        goto end;
    CLV_TRY(box_plane(ctx, a, true, &at));
    CLV_TRY(box_z(ctx, a, true, at, 0, &unused));
end:
    return status;
}

static int tile_passes(clvox_context *ctx, const clv_metric_args *a, int *groups)
{
    int status = CLVOX_OK, unused;
    int both = a->derivative_fixed != NULL, derivatives = 1 + both, terms = 3 + 2 * both;
    bool wide = a->parameter > NARROW_RADIUS;
    int build = a->parameter - (wide ? NARROW_RADIUS + 1 : 1),
        radii = wide ? WIDE_RADIUS - NARROW_RADIUS : NARROW_RADIUS;
    CLV_TRY(launch(ctx, wide ? &clv_entry_lncc_wide_terms : &clv_entry_lncc_terms,
                   (wide ? wide_terms_builds : terms_builds)[radii * (2 * a->local + both) + build], a,
                   8 + 4 * (a->local ? derivatives : terms), groups));
    if (!a->local)
        CLV_TRY(launch(ctx, wide ? &clv_entry_lncc_wide_derivative : &clv_entry_lncc_derivative,
                       (wide ? wide_derivative_builds : derivative_builds)[radii * both + build], a,
                       8 + 4 * terms + 4 * derivatives, &unused));
end:
    return status;
}

int clv_lncc(clvox_context *ctx, const clv_metric_args *a)
{
    int status = CLVOX_OK, groups = 0;
    const clv_kernel *total;
    CLV_TRY(check(a));
    CLV_TRY((a->parameter > WIDE_RADIUS ? box_passes : tile_passes)(ctx, a, &groups));
    if (a->out) {
        CLV_TRY(clv_kernel_get(ctx, &clv_entry_lncc_total, NULL, (int[3]){1, 1, 1}, 0, &total));
        CLV_TRY(CLV_LAUNCH(ctx, total, ((int[3]){1, 1, 1}), 8.0 * groups, CLV_BUF(a->partial),
                           CLV_INT(groups), CLV_BUF(a->out), CLV_INT(a->slot)));
    }
end:
    return status;
}

const clv_entry *const clv_operation_match_lncc[] = {&clv_entry_lncc_terms,
                                                     &clv_entry_lncc_derivative,
                                                     &clv_entry_lncc_wide_terms,
                                                     &clv_entry_lncc_wide_derivative,
                                                     &clv_entry_lncc_total,
                                                     &clv_entry_lncc_box_x,
                                                     &clv_entry_lncc_box_x_terms,
                                                     &clv_entry_lncc_box_xy,
                                                     &clv_entry_lncc_box_xy_terms,
                                                     &clv_entry_lncc_box_y,
                                                     &clv_entry_lncc_box_terms,
                                                     &clv_entry_lncc_box_derivative,
                                                     NULL};
