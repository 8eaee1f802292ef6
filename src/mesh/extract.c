/* SPDX-License-Identifier: Apache-2.0 */
/* A topologically consistent marching cubes. The grid is padded by one voxel of
 * outside all around and cut into slabs of cell layers, which threads work on by
 * themselves. A slab owns the vertices of its planes and layers; those on x and
 * y edges of its first plane come first, therefore the slab below, whose last
 * layer touches them, knows their numbers and slabs need only be appended. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/matrix.h"
#include "clvox/threads.h"
#include "base/status.h"
#include "mesh/mesh.h"
#include "mesh/cell.h"

enum { LAYERS = 8 }; /* of cells in a slab */

static const double least_part = 1e-3; /* of an edge between a vertex and a voxel */
static const double endless = 1e150;   /* stands for what is not finite; its square is */

/* Positions in padded index coordinates. */
typedef struct vertex_list {
    double *points;
    size_t count, room;
} vertex_list;

typedef struct slab {
    vertex_list vertices;
    int32_t *corners; /* -1 - n: vertex n of the next slab */
    size_t triangles, triangle_room;
    size_t first_vertex, first_triangle;
} slab;

typedef struct job {
    const clvox_volume *volume;
    double level, sign; /* sign (value - level) is below 0 inside */
    double scale[3];
    bool mirrored;
    int size[3]; /* padded */
    slab *slabs;
    clvox_surface *out;
} job;

/* Planes while a slab is marched: what is at k, and at k + 1. */
typedef struct planes {
    size_t count;            /* voxels of a padded plane */
    unsigned char *inside[2], *code;
    int32_t *edge[2][2], *upright; /* numbers of the vertices on x, y and z edges */
    vertex_list top;         /* those of the plane above the slab */
} planes;

/* ---- values ------------------------------------------------------------- */

/* Negative inside. The padding mirrors the grid's outermost values with the
 * sign of outside, so that a cap runs half a voxel beyond them. */
static double value_at(const job *j, int x, int y, int z)
{
    const int *n = j->volume->grid.size;
    int at[3] = {x - 1, y - 1, z - 1};
    bool padding = false;
    for (int a = 0; a < 3; a++) {
        int within = at[a] < 0 ? 0 : at[a] >= n[a] ? n[a] - 1 : at[a];
        padding = padding || within != at[a];
        at[a] = within;
    }
    size_t index = ((size_t)at[2] * (size_t)n[1] + (size_t)at[1]) * (size_t)n[0] + (size_t)at[0];
    double value = j->sign * ((double)j->volume->data[index] - j->level);
    if (isnan(value))
        return endless;
    value = fmin(fmax(value, -endless), endless);
    return padding ? fabs(value) : value;
}

static void fill_inside(const job *j, int z, unsigned char *inside)
{
    const int *n = j->volume->grid.size;
    size_t row = (size_t)j->size[0];
    memset(inside, 0, row * (size_t)j->size[1]);
    if (z < 1 || z > n[2])
        return;
    for (int y = 1; y <= n[1]; y++) {
        size_t start = ((size_t)(z - 1) * (size_t)n[1] + (size_t)(y - 1)) * (size_t)n[0];
        const float *from = j->volume->data + start;
        unsigned char *to = inside + (size_t)y * row + 1;
        const double level = j->level;
        if (j->sign > 0)
            for (int x = 0; x < n[0]; x++)
                to[x] = (double)from[x] < level;
        else
            for (int x = 0; x < n[0]; x++)
                to[x] = (double)from[x] > level;
    }
}

/* ---- growing arrays ----------------------------------------------------- */

static int reserve(void **array, size_t *room, size_t wanted, size_t bytes)
{
    if (wanted <= *room)
        return CLVOX_OK;
    size_t more = 2 * wanted + 256;
    void *grown = realloc(*array, more * bytes);
    if (!grown)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory for a surface");
    *array = grown;
    *room = more;
    return CLVOX_OK;
}

/* ---- vertices on edges -------------------------------------------------- */

/* Writes the crossing of the edge from voxel at along axis to `to`. */
static void cross(const job *j, const int at[3], int axis, double to[3])
{
    int end[3] = {at[0], at[1], at[2]};
    end[axis]++;
    double a = value_at(j, at[0], at[1], at[2]), b = value_at(j, end[0], end[1], end[2]);
    double part = fabs(a) >= endless || fabs(b) >= endless ? 0.5 : a / (a - b);
    for (int i = 0; i < 3; i++)
        to[i] = at[i];
    to[axis] += fmin(fmax(part, least_part), 1 - least_part);
}

/* The next place from x on where two rows differ. */
static int differing(const unsigned char *a, const unsigned char *b, int x, int count)
{
    while (x + 8 <= count && !memcmp(a + x, b + x, 8))
        x += 8;
    while (x < count && a[x] == b[x])
        x++;
    return x;
}

static int reserve_vertices(vertex_list *list, int more)
{
    return reserve((void **)&list->points, &list->room, list->count + (size_t)more, 3 * sizeof *list->points);
}

/* Numbers the x and y edges of plane z that cross the surface and appends the crossings to the list. */
static int number_plane(const job *j, const planes *p, int z, int which, vertex_list *list, bool next_slab)
{
    const int nx = j->size[0], ny = j->size[1];
    for (int y = 0; y < ny; y++)
        for (int axis = 0; axis < 2; axis++) {
            const unsigned char *a = p->inside[which] + (size_t)y * (size_t)nx, *b = a + (axis ? nx : 1);
            int32_t *number = p->edge[which][axis] + (size_t)y * (size_t)nx;
            int last = axis ? (y + 1 < ny ? nx : 0) : nx - 1;
            for (int x = differing(a, b, 0, last); x < last; x = differing(a, b, x + 1, last)) {
                int status = reserve_vertices(list, 1);
                if (status < 0)
                    return status;
                cross(j, (int[3]){x, y, z}, axis, list->points + 3 * list->count);
                int32_t n = (int32_t)list->count++;
                number[x] = next_slab ? -1 - n : n;
            }
        }
    return CLVOX_OK;
}

static int number_upright(const job *j, const planes *p, int z, slab *s)
{
    const int nx = j->size[0], count = (int)p->count;
    const unsigned char *a = p->inside[0], *b = p->inside[1];
    for (int n = differing(a, b, 0, count); n < count; n = differing(a, b, n + 1, count)) {
        int status = reserve_vertices(&s->vertices, 1);
        if (status < 0)
            return status;
        cross(j, (int[3]){n % nx, n / nx, z}, 2, s->vertices.points + 3 * s->vertices.count);
        p->upright[n] = (int32_t)s->vertices.count++;
    }
    return CLVOX_OK;
}

/* ---- cells -------------------------------------------------------------- */

static int march_cell(const job *j, const planes *p, int x, int y, int z, slab *s)
{
    clv_cell cell;
    int32_t number[CLV_CELL_VERTICES];
    size_t at = (size_t)y * (size_t)j->size[0] + (size_t)x, row = (size_t)j->size[0];
    memcpy(cell.scale, j->scale, sizeof cell.scale);
    for (int c = 0; c < 8; c++)
        cell.value[c] = value_at(j, x + (c & 1), y + (c >> 1 & 1), z + (c >> 2));
    for (int e = 0; e < CLV_CELL_EDGES; e++) {
        int c[2], axis = e >> 2;
        clv_cell_edge(e, c);
        if ((cell.value[c[0]] < 0) == (cell.value[c[1]] < 0))
            continue;
        size_t corner = at + (size_t)(c[0] & 1) + row * (size_t)(c[0] >> 1 & 1);
        number[e] = axis == 2 ? p->upright[corner] : p->edge[c[0] >> 2][axis][corner];
        const double *from = number[e] < 0 ? p->top.points + 3 * (size_t)(-1 - number[e])
                                           : s->vertices.points + 3 * (size_t)number[e];
        for (int a = 0; a < 3; a++)
            cell.point[e][a] = from[a] - (a == 0 ? x : a == 1 ? y : z);
    }
    clv_cell_triangulate(&cell);
    int status = reserve_vertices(&s->vertices, cell.added);
    if (status >= 0)
        status = reserve((void **)&s->corners, &s->triangle_room, s->triangles + (size_t)cell.triangles,
                         3 * sizeof *s->corners);
    if (status < 0)
        return status;
    for (int n = 0; n < cell.added; n++) {
        const double *from = cell.point[CLV_CELL_EDGES + n];
        double *to = s->vertices.points + 3 * s->vertices.count;
        to[0] = x + from[0];
        to[1] = y + from[1];
        to[2] = z + from[2];
        number[CLV_CELL_EDGES + n] = (int32_t)s->vertices.count++;
    }
    for (int n = 0; n < cell.triangles; n++, s->triangles++)
        for (int i = 0; i < 3; i++)
            s->corners[3 * s->triangles + (size_t)i] = number[cell.corner[n][i]];
    return CLVOX_OK;
}

static int march_layer(const job *j, const planes *p, int z, slab *s)
{
    const int nx = j->size[0];
    for (int y = 0; y + 1 < j->size[1]; y++) {
        const unsigned char *low = p->inside[0] + (size_t)y * (size_t)nx;
        const unsigned char *high = p->inside[1] + (size_t)y * (size_t)nx;
        unsigned char *code = p->code;
        for (int x = 0; x < nx; x++)
            code[x] = (unsigned char)(low[x] | low[nx + x] << 1 | high[x] << 2 | high[nx + x] << 3);
        for (int x = 0; x + 1 < nx; x++) {
            /* Eight cells at once that are all inside or all outside. */
            if (code[x] == 0 || code[x] == 15) {
                int jump = differing(code, code + 1, x, nx - 1);
                if (jump >= nx - 1)
                    break;
                x = jump;
            }
            int status = march_cell(j, p, x, y, z, s);
            if (status < 0)
                return status;
        }
    }
    return CLVOX_OK;
}

static void free_planes(planes *p)
{
    for (int i = 0; i < 2; i++) {
        free(p->inside[i]);
        free(p->edge[i][0]);
        free(p->edge[i][1]);
    }
    free(p->code);
    free(p->upright);
    free(p->top.points);
}

static int make_planes(const job *j, planes *p)
{
    p->count = (size_t)j->size[0] * (size_t)j->size[1];
    bool whole = true;
    for (int i = 0; i < 2; i++) {
        p->inside[i] = malloc(p->count);
        p->edge[i][0] = malloc(p->count * sizeof(int32_t));
        p->edge[i][1] = malloc(p->count * sizeof(int32_t));
        whole = whole && p->inside[i] && p->edge[i][0] && p->edge[i][1];
    }
    p->code = malloc((size_t)j->size[0]);
    p->upright = malloc(p->count * sizeof(int32_t));
    return whole && p->code && p->upright
               ? CLVOX_OK
               : clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory for a surface");
}

static void swap_planes(planes *p)
{
    unsigned char *inside = p->inside[0];
    p->inside[0] = p->inside[1];
    p->inside[1] = inside;
    for (int axis = 0; axis < 2; axis++) {
        int32_t *edge = p->edge[0][axis];
        p->edge[0][axis] = p->edge[1][axis];
        p->edge[1][axis] = edge;
    }
}

static int march_slab(void *user, size_t index, int worker)
{
    const job *j = user;
    slab *s = &j->slabs[index];
    planes p = {0};
    int first = (int)index * LAYERS, last = first + LAYERS < j->size[2] - 1 ? first + LAYERS : j->size[2] - 1;
    int status = CLVOX_OK;
    (void)worker;
    CLV_TRY(make_planes(j, &p));
    fill_inside(j, first, p.inside[0]);
    CLV_TRY(number_plane(j, &p, first, 0, &s->vertices, false));
    for (int z = first; z < last; z++) {
        fill_inside(j, z + 1, p.inside[1]);
        CLV_TRY(number_upright(j, &p, z, s));
        if (z + 1 < last)
            CLV_TRY(number_plane(j, &p, z + 1, 1, &s->vertices, false));
        else
            CLV_TRY(number_plane(j, &p, z + 1, 1, &p.top, true));
        CLV_TRY(march_layer(j, &p, z, s));
        swap_planes(&p);
    }
end:
    free_planes(&p);
    return status;
}

/* ---- the whole ---------------------------------------------------------- */

static int append_slab(void *user, size_t index, int worker)
{
    const job *j = user;
    const slab *s = &j->slabs[index];
    const double(*m)[4] = CLV_MATRIX(j->volume->grid.to_ras);
    (void)worker;
    for (size_t v = 0; v < s->vertices.count; v++) {
        const double *p = s->vertices.points + 3 * v;
        double *to = j->out->points + 3 * (s->first_vertex + v);
        clv_matrix_apply(m, (double[3]){p[0] - 1, p[1] - 1, p[2] - 1}, to);
    }
    for (size_t t = 0; t < s->triangles; t++) {
        int32_t *to = j->out->corners + 3 * (s->first_triangle + t);
        for (int i = 0; i < 3; i++) {
            /* A mirrored grid turns triangles inside out. */
            int32_t c = s->corners[3 * t + (size_t)(j->mirrored && i ? 3 - i : i)];
            to[i] = c < 0 ? (int32_t)s[1].first_vertex - 1 - c : (int32_t)s->first_vertex + c;
        }
    }
    return CLVOX_OK;
}

static int not_reached(const job *j)
{
    double least = INFINITY, largest = -INFINITY;
    for (size_t i = 0; i < clvox_grid_voxels(&j->volume->grid); i++) {
        least = fmin(least, (double)j->volume->data[i]);
        largest = fmax(largest, (double)j->volume->data[i]);
    }
    if (least > largest)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "there is no surface: no value is a number");
    return clvox_fail(CLVOX_ERROR_ARGUMENT,
                      "the level %g is not reached: no value is %s it, they run from %g to %g", j->level,
                      j->sign > 0 ? "below" : "above", least, largest);
}

int clvox_surface_extract(const clvox_volume *values, double level, int above, clvox_surface **out)
{
    CLV_GIVEN(values, out);
    job j = {.volume = values, .level = level, .sign = above ? -1 : 1};
    size_t vertices = 0, triangles = 0, slabs;
    int status = CLVOX_OK;
    *out = NULL;
    if (values->frames != 1)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "a surface is taken from a volume of one frame, not of %d",
                          values->frames);
    if (!isfinite(level))
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "the level of a surface must be a number");
    clvox_grid_spacing(&values->grid, j.scale);
    j.mirrored = clv_matrix_determinant(CLV_MATRIX(values->grid.to_ras)) < 0;
    for (int a = 0; a < 3; a++)
        j.size[a] = values->grid.size[a] + 2;
    slabs = ((size_t)j.size[2] - 1 + LAYERS - 1) / LAYERS;
    j.slabs = calloc(slabs + 1, sizeof *j.slabs);
    if (!j.slabs)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory for a surface");
    CLV_TRY(clvox_parallel(slabs, march_slab, &j));
    for (size_t i = 0; i < slabs; i++) {
        j.slabs[i].first_vertex = vertices;
        j.slabs[i].first_triangle = triangles;
        vertices += j.slabs[i].vertices.count;
        triangles += j.slabs[i].triangles;
    }
    if (!triangles) {
        status = not_reached(&j);
        goto end;
    }
    CLV_TRY(clvox_surface_create(vertices, triangles, out));
    j.out = *out;
    CLV_TRY(clvox_parallel(slabs, append_slab, &j));
end:
    for (size_t i = 0; i < slabs; i++) {
        free(j.slabs[i].vertices.points);
        free(j.slabs[i].corners);
    }
    free(j.slabs);
    if (status < 0)
        clvox_surface_destroy(out);
    return status;
}
