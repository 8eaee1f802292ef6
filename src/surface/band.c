/* SPDX-License-Identifier: Apache-2.0 */
#include "surface/band.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/matrix.h"
#include "clvox/threads.h"
#include "op/surface/mesh_distance.h"

enum {
    BLOCK = 32,      /* voxels: where the search for cells starts */
    LISTED = 512,    /* more triangles than that about a cell: those nearest to its voxels only */
    TOGETHER = 32    /* blocks that one launch takes */
};

/* Findings of one block. */
typedef struct find {
    int32_t (*cells)[4];
    int32_t *list;
    size_t cell_count, cell_room, list_count, list_room;
} find;

typedef struct search {
    const clvox_grid *grid;
    const clv_tree *tree;
    double band;
    double diagonal; /* the longest of a voxel */
    int blocks[3];
    size_t first; /* block of finds[0] */
    find *finds;
} search;

/* data with room for `wanted` of that size, NULL for lack of memory (when data
 * is as it was). */
static void *grown(void *data, size_t *room, size_t wanted, size_t each)
{
    if (wanted <= *room)
        return data;
    size_t more = 2 * *room > wanted ? 2 * *room : wanted;
    void *larger = realloc(data, more * each);
    if (larger)
        *room = more;
    return larger;
}

static void middle_of(const search *s, const int low[3], int edge, double p[3])
{
    double middle[3];
    for (int a = 0; a < 3; a++)
        middle[a] = low[a] + (edge - 1) / 2.0;
    clv_matrix_apply(CLV_MATRIX(s->grid->to_ras), middle, p);
}

/* Adds a cell whose voxels are up to `reach` away from its middle, which is `distance` from the mesh: what is
 * within distance + 2 reach of the middle may be nearest to one of them. */
static int add_cell(const search *s, find *f, const int low[3], const double p[3], double distance,
                    double reach)
{
    int32_t places[LISTED];
    double limit = (distance + 2 * reach) * (1 + 1e-9);
    size_t count = clv_tree_within(s->tree, p, limit * limit, places, LISTED), kept = 0;
    void *cells = grown(f->cells, &f->cell_room, f->cell_count + 1, sizeof *f->cells);
    f->cells = cells ? cells : f->cells;
    void *lists = grown(f->list, &f->list_room, f->list_count + LISTED, sizeof *f->list);
    f->list = lists ? lists : f->list;
    if (!cells || !lists)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory for the band about a surface");
    int32_t *list = f->list + f->list_count;
    for (; count <= LISTED && kept < count; kept++)
        list[kept] = s->tree->order[places[kept]];
    for (int lane = 0; count > LISTED && lane < 8; lane++) {
        const int at[3] = {low[0] + (lane & 1), low[1] + (lane >> 1 & 1), low[2] + (lane >> 2)};
        double q[3];
        clv_nearest nearest;
        middle_of(s, at, 1, q);
        limit = (distance + reach) * (1 + 1e-9);
        if (clv_tree_nearest(s->tree, q, limit * limit, &nearest))
            list[kept++] = nearest.triangle;
    }
    const int32_t cell[4] = {low[0], low[1], low[2], (int32_t)f->list_count};
    memcpy(f->cells[f->cell_count++], cell, sizeof cell);
    f->list_count += kept;
    return CLVOX_OK;
}

/* Cuts cubes that the band reaches in four along each axis, down to cells. */
static int descend(const search *s, find *f, const int low[3], int edge, double within)
{
    int status = CLVOX_OK;
    double p[3], reach = s->diagonal * (edge - 1) / 2.0;
    clv_nearest nearest;
    middle_of(s, low, edge, p);
    double limit = fmin(s->band + reach, within) * (1 + 1e-9);
    if (!clv_tree_nearest(s->tree, p, limit * limit, &nearest))
        return CLVOX_OK;
    double distance = sqrt(nearest.squared);
    if (edge == 2)
        return add_cell(s, f, low, p, distance, reach);
    int part = edge / 4;
    for (int z = low[2]; z < low[2] + edge && z < s->grid->size[2]; z += part)
        for (int y = low[1]; y < low[1] + edge && y < s->grid->size[1]; y += part)
            for (int x = low[0]; x < low[0] + edge && x < s->grid->size[0]; x += part) {
                const int child[3] = {x, y, z};
                CLV_TRY(descend(s, f, child, part, distance + reach));
            }
end:
    return status;
}

static int search_block(void *user, size_t index, int worker)
{
    const search *s = user;
    size_t at = s->first + index, nx = (size_t)s->blocks[0], ny = (size_t)s->blocks[1];
    const int low[3] = {BLOCK * (int)(at % nx), BLOCK * (int)(at / nx % ny), BLOCK * (int)(at / nx / ny)};
    (void)worker;
    return descend(s, &s->finds[index], low, BLOCK, INFINITY);
}

/* The cells of the finds one after the other, computed and put where they belong. */
static int64_t measure(clvox_context *ctx, const search *s, clv_buffer *triangles, size_t blocks,
                       float to_position[3][4], float *distance, int32_t *triangle)
{
    int status = CLVOX_OK;
    size_t cell_count = 0, list_count = 0;
    int64_t written = 0;
    const int *size = s->grid->size;
    for (size_t b = 0; b < blocks; b++) {
        cell_count += s->finds[b].cell_count;
        list_count += s->finds[b].list_count;
    }
    if (!cell_count)
        return 0;
    clv_buffer *buffers[4] = {NULL, NULL, NULL, NULL};
    const size_t bytes[4] = {(cell_count + 1) * 16, list_count * 4, cell_count * 32, cell_count * 32};
    int32_t (*cells)[4] = malloc(bytes[0]), *list = malloc(bytes[1]), *nearest = malloc(bytes[3]);
    float *squared = malloc(bytes[2]);
    if (!cells || !list || !nearest || !squared) {
        status = clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory for the band about a surface");
        goto end;
    }
    cell_count = list_count = 0;
    for (size_t b = 0; b < blocks; b++) {
        const find *f = &s->finds[b];
        for (size_t c = 0; c < f->cell_count; c++) {
            memcpy(cells[cell_count], f->cells[c], sizeof *cells);
            cells[cell_count++][3] += (int32_t)list_count;
        }
        if (f->list_count)
            memcpy(list + list_count, f->list, f->list_count * sizeof *list);
        list_count += f->list_count;
    }
    memset(cells[cell_count], 0, sizeof *cells);
    cells[cell_count][3] = (int32_t)list_count;
    for (int i = 0; i < 4; i++)
        CLV_TRY(clv_buffer_create(ctx, bytes[i], "the band about a surface", &buffers[i]));
    CLV_TRY(clv_buffer_write(ctx, buffers[0], 0, cells, bytes[0]));
    CLV_TRY(clv_buffer_write(ctx, buffers[1], 0, list, bytes[1]));
    clv_mesh_cells args = {.triangles = triangles, .cells = buffers[0], .list = buffers[1],
                           .count = (int)cell_count};
    memcpy(args.to_position, to_position, sizeof args.to_position);
    CLV_TRY(clv_mesh_distance(ctx, &args, buffers[2], buffers[3]));
    CLV_TRY(clv_buffer_read(ctx, buffers[2], 0, squared, bytes[2]));
    CLV_TRY(clv_buffer_read(ctx, buffers[3], 0, nearest, bytes[3]));
    for (size_t i = 0; i < 8 * cell_count; i++) {
        const int32_t *cell = cells[i / 8];
        int x = cell[0] + (int)(i & 1), y = cell[1] + (int)(i >> 1 & 1), z = cell[2] + (int)(i >> 2 & 1);
        if (x >= size[0] || y >= size[1] || z >= size[2] || nearest[i] < 0)
            continue;
        size_t at = ((size_t)z * (size_t)size[1] + (size_t)y) * (size_t)size[0] + (size_t)x;
        distance[at] = sqrtf(squared[i]);
        triangle[at] = nearest[i];
        written++;
    }
end:
    for (int i = 0; i < 4; i++)
        clv_buffer_destroy(&buffers[i]);
    free(cells);
    free(list);
    free(nearest);
    free(squared);
    return status < 0 ? status : written;
}

/* The longest of the four diagonals of a voxel. */
static double diagonal_of(const clvox_grid *grid)
{
    double longest = 0;
    for (int i = 0; i < 4; i++) {
        double squared = 0;
        for (int a = 0; a < 3; a++) {
            const double *m = grid->to_ras[a];
            double d = m[0] + (i & 1 ? -m[1] : m[1]) + (i & 2 ? -m[2] : m[2]);
            squared += d * d;
        }
        longest = fmax(longest, sqrt(squared));
    }
    return longest;
}

/* Triangle records about origin, sent to the device. */
static int send_triangles(clvox_context *ctx, const clvox_surface *surface, const double origin[3],
                          clv_buffer **out)
{
    int status = CLVOX_OK;
    size_t bytes = surface->triangles * CLV_MESH_RECORD * sizeof(float);
    float *records = malloc(bytes);
    if (!records)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory for %zu triangles", surface->triangles);
    for (size_t t = 0; t < surface->triangles; t++) {
        double corners[9];
        for (size_t k = 0; k < 3; k++)
            memcpy(corners + 3 * k, surface->points + 3 * (size_t)surface->corners[3 * t + k],
                   3 * sizeof *corners);
        clv_mesh_record(corners, origin, records + CLV_MESH_RECORD * t);
    }
    CLV_TRY(clv_buffer_create(ctx, bytes, "triangles", out));
    CLV_TRY(clv_buffer_write(ctx, *out, 0, records, bytes));
end:
    free(records);
    return status;
}

int64_t clv_surface_band(clvox_context *ctx, const clvox_surface *surface, const clv_tree *tree,
                         const clvox_grid *grid, double band, float *distance, int32_t *triangle)
{
    int status = CLVOX_OK;
    int64_t written = 0;
    clv_buffer *triangles = NULL;
    search s = {.grid = grid, .tree = tree, .band = band, .diagonal = diagonal_of(grid)};
    double origin[3], middle[3];
    float to_position[3][4];
    size_t count = 1;
    for (int a = 0; a < 3; a++) {
        s.blocks[a] = (grid->size[a] + BLOCK - 1) / BLOCK;
        count *= (size_t)s.blocks[a];
        middle[a] = (grid->size[a] - 1) / 2.0;
    }
    clv_matrix_apply(grid->to_ras, middle, origin);
    for (int a = 0; a < 3; a++)
        for (int b = 0; b < 4; b++)
            to_position[a][b] = (float)(grid->to_ras[a][b] - (b == 3 ? origin[a] : 0));
    s.finds = calloc(TOGETHER, sizeof *s.finds);
    if (!s.finds)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory for the band about a surface");
    CLV_TRY(send_triangles(ctx, surface, origin, &triangles));
    for (s.first = 0; s.first < count; s.first += TOGETHER) {
        size_t blocks = count - s.first < TOGETHER ? count - s.first : TOGETHER;
        for (size_t b = 0; b < blocks; b++)
            s.finds[b].cell_count = s.finds[b].list_count = 0;
        CLV_TRY(clvox_parallel(blocks, search_block, &s));
        int64_t more = measure(ctx, &s, triangles, blocks, to_position, distance, triangle);
        if (more < 0) {
            status = (int)more;
            goto end;
        }
        written += more;
    }
end:
    for (size_t b = 0; b < TOGETHER; b++) {
        free(s.finds[b].cells);
        free(s.finds[b].list);
    }
    free(s.finds);
    clv_buffer_destroy(&triangles);
    return status < 0 ? status : written;
}
