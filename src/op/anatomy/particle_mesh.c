/* SPDX-License-Identifier: Apache-2.0 */
#include "op/anatomy/particle_mesh.h"

#include <math.h>
#include <stdlib.h>

#include "op/field/splat.h"

/* Nodes of the boxes in which a work-group, and an item of a CPU device, add up. */
#define GROUP_CELLS 2048
#define ITEM_CELLS 1024
#define CELLS(n) "-DCELLS=" CLV_TEXT(n)

static const clv_variant splat_variants[] = {
    {.name = "tile",
     .function = "mesh_splat_tile",
     .defines = CELLS(GROUP_CELLS),
     .devices = CLV_ON_GPU,
     .fixed_bytes = GROUP_CELLS * 8 + 24,
     .tiles = {{128, 1, 1, 1}, {256, 1, 1, 1}, {64, 1, 1, 1}}},
    {.name = "item",
     .function = "mesh_splat_item",
     .devices = CLV_ON_GPU,
     .tiles = {{64, 1, 1, 1}, {128, 1, 1, 1}}},
    {.name = "words",
     .function = "mesh_splat_item",
     .defines = "-DWORDS",
     .devices = CLV_ON_GPU,
     .optional = true,
     .tiles = {{64, 1, 1, 1}}},
    {.name = "row",
     .function = "mesh_splat_row",
     .defines = CELLS(ITEM_CELLS),
     .item = {CLV_MARCH},
     .devices = CLV_ON_CPU,
     .tiles = {{1, 1, 1, 1024}}},
};
static const char *const splat_builds[] = {"-DVARIFOLD=0", "-DVARIFOLD=1", NULL};
const clv_entry clv_entry_mesh_splat = CLV_ENTRY("anatomy/particle_mesh", "mesh_splat", splat_variants,
                                                 splat_builds);

static const clv_variant multiply_variants[] = {
    {.name = "item",
     .function = "mesh_multiply",
     .devices = CLV_ON_ANY,
     .tiles = {{64, 4, 1, 1}, {32, 4, 1, 1}}},
};
const clv_entry clv_entry_mesh_multiply = CLV_ENTRY("anatomy/particle_mesh", "mesh_multiply",
                                                    multiply_variants, NULL);

static const clv_variant read_variants[] = {
    {.name = "group",
     .function = "mesh_read_group",
     .group = {CLV_CURRENTS_BLOCK},
     .devices = CLV_ON_GPU,
     .cell_bytes = 4,
     .tiles = {{256, 1, 1, 1}}},
    {.name = "row",
     .function = "mesh_read_row",
     .group = {CLV_CURRENTS_BLOCK},
     .devices = CLV_ON_CPU,
     .tiles = {{1, 1, 1, 1}}},
};
#define READ(varifold, gradient) \
    "-DVARIFOLD=" #varifold " -DGRADIENT=" #gradient " -DBLOCK=" CLV_TEXT(CLV_CURRENTS_BLOCK)
static const char *const read_builds[] = {READ(0, 0), READ(0, 1), READ(1, 0), READ(1, 1), NULL};
const clv_entry clv_entry_mesh_read = CLV_ENTRY("anatomy/particle_mesh", "mesh_read", read_variants,
                                                read_builds);

/* ---- the grid ------------------------------------------------------------ */

/* exp(-APART^2) = 1e-7 is what an element feels of a copy. */
static const double APART = 4;
/* Nodes before and after the box that the spline reaches. */
enum { RIM = 3 };

int clv_mesh_grid_make(const double least[3], const double most[3], double width, double spacing,
                       clv_mesh_grid *grid)
{
    double nodes = 1;
    *grid = (clv_mesh_grid){.spacing = (float)spacing};
    for (int a = 0; a < 3; a++) {
        double across = (most[a] - least[a]) / spacing, n = across + 1 + RIM + APART * width / spacing;
        nodes *= n;
        if (!(nodes < INT32_MAX / 16.))
            return clvox_fail(
                CLVOX_ERROR_MEMORY,
                "a grid of %.3g mm over %.4g x %.4g x %.4g mm has too many nodes: take the exact sum, or a "
                "larger error",
                spacing, most[0] - least[0], most[1] - least[1], most[2] - least[2]);
        grid->size[a] = clv_fft_length((int)ceil(n));
        grid->origin[a] = (float)(least[a] - 1.5 * spacing); /* what rounding moves stays inside */
        grid->room[a] = (float)(across + 2);
    }
    return CLVOX_OK;
}

static size_t nodes_of(const clv_mesh_grid *grid)
{
    return (size_t)grid->size[0] * (size_t)grid->size[1] * (size_t)grid->size[2];
}

double clv_particle_mesh_bytes(const clv_mesh_grid *grid, bool varifold)
{
    return (varifold ? 2 : 1) * 36. * (double)nodes_of(grid) + (double)clv_fft_bytes(grid->size);
}

void clv_mesh_room_bytes(double nodes, size_t bytes[3])
{
    bytes[0] = (size_t)(24 * nodes);
    bytes[1] = (size_t)(12 * nodes);
    /* Half of the waves along x and one, of lengths that a row of no volume is below. */
    bytes[2] = (size_t)(12 * nodes * 1.5);
}

/* The transform of exp(-r^2 / h^2) along an axis over that of two splines, by nodes. */
static int send_factors(clvox_context *ctx, clv_particle_mesh *mesh, double width)
{
    const double pi = acos(-1), h = width / (double)mesh->grid.spacing;
    const int *n = mesh->grid.size, all = n[0] + n[1] + n[2];
    float *factors = malloc((size_t)all * sizeof *factors), *to = factors;
    if (!factors)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory for the kernel of a particle mesh");
    for (int a = 0; a < 3; a++)
        for (int k = 0; k < n[a]; k++) {
            double half = pi * (k <= n[a] / 2 ? k : n[a] - k) / n[a],
                   spline = half > 0 ? pow(sin(half) / half, 8) : 1;
            *to++ = (float)(sqrt(pi) * h * exp(-h * h * half * half) / spline);
        }
    int status = clv_buffer_write(ctx, mesh->factors, 0, factors, (size_t)all * sizeof *factors);
    free(factors);
    return status;
}

int clv_particle_mesh_create(clvox_context *ctx, const clv_mesh_grid *grid,
                             const clv_particle_mesh_options *o, clv_particle_mesh *out)
{
    int status = CLVOX_OK, area, count;
    const size_t nodes = nodes_of(grid);
    *out = (clv_particle_mesh){
        .grid = *grid, .width = (float)o->width, .varifold = o->varifold, .most = (float)o->most};
    if (!(o->width > 0) || !(o->most >= 0) || !isfinite(o->most))
        return clvox_fail(CLVOX_ERROR_ARGUMENT,
                          "a particle mesh wants a width above 0 mm and a largest area");
    frexp(o->most, &area);
    frexp((double)o->count, &count);
    out->power = 61 - area - count < 126 ? 61 - area - count : 126;
    CLV_TRY(clv_fft_create(ctx, grid->size, &out->fft));
    const int all = grid->size[0] + grid->size[1] + grid->size[2];
    CLV_TRY(clv_buffer_create(ctx, 4 * (size_t)all, "kernel of a particle mesh", &out->factors));
    out->lent = o->room != NULL;
    for (int f = 0; f <= o->varifold && out->lent; f++) {
        out->sums[f] = o->room->sums[f];
        out->held[f] = o->room->held[f];
        out->spectrum = o->room->spectrum;
    }
    for (int f = 0; f <= o->varifold && !out->lent; f++) {
        CLV_TRY(clv_buffer_create(ctx, 24 * nodes, "sums of a particle mesh", &out->sums[f]));
        CLV_TRY(clv_buffer_create(ctx, 12 * nodes, "particle mesh", &out->held[f]));
        CLV_TRY(clv_buffer_fill(ctx, out->sums[f], 0, 0, 24 * nodes));
    }
    if (!out->lent)
        CLV_TRY(
            clv_buffer_create(ctx, clv_fft_bytes(grid->size), "spectrum of a particle mesh", &out->spectrum));
    CLV_TRY(clv_buffer_create(ctx, 4, "elements left out", &out->beyond));
    CLV_TRY(clv_buffer_fill(ctx, out->beyond, 0, 0, 4));
    CLV_TRY(send_factors(ctx, out, o->width));
end:
    if (status < 0)
        clv_particle_mesh_destroy(out);
    return status;
}

void clv_particle_mesh_destroy(clv_particle_mesh *mesh)
{
    clv_buffer **all[] = {&mesh->factors, &mesh->beyond,  &mesh->sums[0], &mesh->sums[1],
                          &mesh->held[0], &mesh->held[1], &mesh->spectrum};
    clv_fft_destroy(&mesh->fft);
    for (size_t i = 0; i < (mesh->lent ? 2 : sizeof all / sizeof *all); i++)
        clv_buffer_destroy(all[i]);
    *mesh = (clv_particle_mesh){.most = 0};
}

/* ---- the steps ----------------------------------------------------------- */

#define GRID_ARGUMENTS(g)                                                     \
    CLV_FLOAT4((g).origin[0], (g).origin[1], (g).origin[2], 1 / (g).spacing), \
        CLV_FLOAT4((g).room[0], (g).room[1], (g).room[2], 0),                 \
        CLV_INT4((g).size[0], (g).size[1], (g).size[2], 0)

int clv_particle_mesh_splat(clvox_context *ctx, clv_particle_mesh *mesh, const clv_elements *source,
                            float factor)
{
    int status = CLVOX_OK;
    const clv_kernel *kernel;
    const int line[3] = {source->count, 1, 1};
    if (source->count == 0)
        return CLVOX_OK;
    const double moved = 32. * source->count + (mesh->varifold ? 6 : 3) * 64 * 8. * source->count;
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_mesh_splat, splat_builds[mesh->varifold], line, 0, &kernel));
    CLV_TRY(CLV_LAUNCH(ctx, kernel, line, moved, CLV_BUF(source->element), CLV_INT(source->count),
                       GRID_ARGUMENTS(mesh->grid), CLV_FLOAT(factor), CLV_FLOAT(mesh->most),
                       CLV_FLOAT(ldexpf(1, mesh->power)), CLV_BUF(mesh->sums[0]), CLV_BUF(mesh->sums[1]),
                       CLV_BUF(mesh->beyond)));
end:
    return status;
}

int clv_particle_mesh_convolve(clvox_context *ctx, clv_particle_mesh *mesh)
{
    int status = CLVOX_OK;
    const clv_kernel *kernel;
    const int *n = mesh->grid.size, waves[3] = {n[0] / 2 + 1, n[1], n[2]};
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_mesh_multiply, NULL, waves, 0, &kernel));
    for (int f = 0; f <= mesh->varifold; f++) {
        CLV_TRY(clv_splat_numbers(ctx, mesh->sums[f], mesh->power, 3 * (int)nodes_of(&mesh->grid),
                                  mesh->held[f]));
        CLV_TRY(clv_fft_forward(ctx, &mesh->fft, mesh->held[f], mesh->spectrum));
        CLV_TRY(CLV_LAUNCH(ctx, kernel, waves, 2. * (double)clv_fft_bytes(n), CLV_BUF(mesh->spectrum),
                           CLV_INT4(n[0], n[1], n[2], 0), CLV_BUF(mesh->factors)));
        CLV_TRY(clv_fft_back(ctx, &mesh->fft, mesh->spectrum, mesh->held[f]));
    }
end:
    return status;
}

int clv_particle_mesh_read(clvox_context *ctx, const clv_particle_mesh *mesh, const clv_currents_args *a)
{
    int status = CLVOX_OK;
    const clv_kernel *kernel;
    const int line[3] = {a->target.count, 1, 1};
    if (a->target.count == 0)
        return CLVOX_OK;
    const double moved = 64. * a->target.count + (mesh->varifold ? 6 : 3) * 64 * 4. * a->target.count;
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_mesh_read, read_builds[2 * mesh->varifold + (a->gradient != NULL)],
                           line, 0, &kernel));
    CLV_TRY(CLV_LAUNCH(ctx, kernel, line, moved, CLV_BUF(a->target.element), CLV_INT(a->target.count),
                       GRID_ARGUMENTS(mesh->grid), CLV_BUF(mesh->held[0]), CLV_BUF(mesh->held[1]),
                       CLV_FLOAT(a->factor), CLV_BUF(a->gradient), CLV_BUF(a->partial)));
end:
    return status;
}

int clv_particle_mesh_beyond(clvox_context *ctx, const clv_particle_mesh *mesh, int *count)
{
    int32_t read = 0;
    int status = clv_buffer_read(ctx, mesh->beyond, 0, &read, sizeof read);
    *count = read;
    return status;
}

const clv_entry *const clv_operation_anatomy_particle_mesh[] = {
    &clv_entry_mesh_splat, &clv_entry_mesh_multiply, &clv_entry_mesh_read, NULL};
