/* SPDX-License-Identifier: Apache-2.0 */
#include "transform/field.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/matrix.h"
#include "base/spares.h"
#include "base/status.h"
#include "clvox/threads.h"
#include "io/volume/orientation.h"
#include "io/volume/volume.h"

/* Voxels that travel at once, and voxels of one piece of work. */
enum { CHUNK = 1 << 20, PIECE = 1 << 14 };

/* To pin memory for a chunk takes as long as the driver's own copies of so many bytes. */
static const size_t WORTH = 4 * 3 * sizeof(float) * CHUNK;

void clv_field_frame(const clvox_grid *grid, double to_ras[3][3])
{
    double spacing[3];
    clvox_grid_spacing(grid, spacing);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            to_ras[i][j] = grid->to_ras[i][j] / spacing[j];
}

int clv_field_reorientation(const clvox_grid *to, const clvox_grid *from, const double matrix[4][4],
                            float reorient[3][3])
{
    int status = CLVOX_OK;
    double to_ras[3][3], from_ras[3][3], linear[3][3], product[3][3];
    clv_field_frame(to, to_ras);
    clv_field_frame(from, from_ras);
    for (int i = 0; i < 3; i++)
        memcpy(linear[i], matrix[i], sizeof linear[i]);
    clv_matrix3_multiply(CLV_MATRIX3(linear), CLV_MATRIX3(to_ras), product);
    CLV_TRY(clv_matrix3_invert(CLV_MATRIX3(product), product));
    clv_matrix3_multiply(CLV_MATRIX3(product), CLV_MATRIX3(from_ras), product);
    for (int i = 0; i < 9; i++)
        reorient[i / 3][i % 3] = (float)product[i / 3][i % 3];
end:
    return status;
}

int clv_field_check(const clvox_grid *grid)
{
    /* As double: a product of vast sizes, or of two negative ones, may come out small. */
    double voxels = (double)grid->size[0] * grid->size[1] * grid->size[2];
    if (grid->size[0] < 1 || grid->size[1] < 1 || grid->size[2] < 1)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "a grid of %d x %d x %d voxels has none", grid->size[0],
                          grid->size[1], grid->size[2]);
    if (voxels > (double)(INT32_MAX / 3))
        return clvox_fail(CLVOX_ERROR_ARGUMENT,
                          "a grid of %d x %d x %d voxels is larger than the 715 million voxels that "
                          "kernels can count; crop or shrink it",
                          grid->size[0], grid->size[1], grid->size[2]);
    return CLVOX_OK;
}

double clv_field_skew(const clvox_grid *grid)
{
    static const double degree = 3.14159265358979323846 / 180;
    double edge[3], worst = 0;
    clvox_grid_spacing(grid, edge);
    for (int a = 0; a < 3; a++) {
        int b = (a + 1) % 3;
        double dot = 0;
        for (int r = 0; r < 3; r++)
            dot += grid->to_ras[r][a] * grid->to_ras[r][b];
        worst = fmax(worst, fabs(asin(fmax(fmin(dot / edge[a] / edge[b], 1), -1))) / degree);
    }
    return worst;
}

int clv_field_check_angles(const clvox_grid *grid, const char *what)
{
    if (clv_field_skew(grid) > .5)
        return clvox_fail(CLVOX_ERROR_ARGUMENT,
                          "the axes of this grid are not at right angles, as %s needs them; resample onto a "
                          "grid without shear first",
                          what);
    return CLVOX_OK;
}

/* to = reorient from (+ line (i, 1)), from and to with strides of their own. */
typedef struct conversion {
    double reorient[3][3];
    bool has_line;
    double line[3][4]; /* voxel index -> RAS mm to be added */
    const int *size;
    const float *from;
    float *to;
    size_t from_voxel, from_part, to_voxel, to_part;
    size_t first, count;
    const clv_strides
        *placed; /* where voxels of this grid lie in `to`; NULL: one behind the other from there on */
} conversion;

/* The strides are arguments so that a compiler that knows them makes the loop
 * a row of vector instructions. */
static inline __attribute__((always_inline)) void convert_run(const conversion *c, size_t begin, size_t end,
                                                              size_t from_voxel, size_t from_part,
                                                              size_t to_voxel, size_t to_part)
{
    const double(*t)[3] = CLV_MATRIX3(c->reorient);
    const float *from = c->from;
    float *restrict to = c->to;
    for (size_t i = begin; i < end; i++) {
        double v0 = (double)from[i * from_voxel], v1 = (double)from[i * from_voxel + from_part];
        double v2 = (double)from[i * from_voxel + 2 * from_part];
        to[i * to_voxel] = (float)(t[0][0] * v0 + t[0][1] * v1 + t[0][2] * v2);
        to[i * to_voxel + to_part] = (float)(t[1][0] * v0 + t[1][1] * v1 + t[1][2] * v2);
        to[i * to_voxel + 2 * to_part] = (float)(t[2][0] * v0 + t[2][1] * v1 + t[2][2] * v2);
    }
}

/* A row at a time. */
static void convert_placed(const conversion *c, size_t begin, size_t end)
{
    const double(*t)[3] = CLV_MATRIX3(c->reorient);
    const size_t nx = (size_t)c->size[0], ny = (size_t)c->size[1];
    const ptrdiff_t step = c->placed->step[0];
    while (begin < end) {
        const size_t x = (c->first + begin) % nx, y = (c->first + begin) / nx % ny,
                     z = (c->first + begin) / nx / ny;
        const size_t run = end - begin < nx - x ? end - begin : nx - x;
        const float *from = c->from + begin * c->from_voxel;
        float *to = c->to + c->placed->first + (ptrdiff_t)x * step + (ptrdiff_t)y * c->placed->step[1] +
                    (ptrdiff_t)z * c->placed->step[2];
        for (size_t i = 0; i < run; i++, from += c->from_voxel, to += step) {
            const double v0 = (double)from[0], v1 = (double)from[c->from_part],
                         v2 = (double)from[2 * c->from_part];
            to[0] = (float)(t[0][0] * v0 + t[0][1] * v1 + t[0][2] * v2);
            to[c->to_part] = (float)(t[1][0] * v0 + t[1][1] * v1 + t[1][2] * v2);
            to[2 * c->to_part] = (float)(t[2][0] * v0 + t[2][1] * v1 + t[2][2] * v2);
        }
        begin += run;
    }
}

static int convert_piece(void *user, size_t index, int worker)
{
    const conversion *c = user;
    (void)worker;
    size_t begin = index * PIECE, end = begin + PIECE < c->count ? begin + PIECE : c->count;
    if (c->placed) {
        convert_placed(c, begin, end);
        return CLVOX_OK;
    }
    if (c->from && !c->has_line) {
        if (c->from_voxel == 3)
            convert_run(c, begin, end, 3, 1, 1, c->to_part);
        else if (c->to_voxel == 3)
            convert_run(c, begin, end, 1, c->from_part, 3, 1);
        else
            convert_run(c, begin, end, 1, c->from_part, 1, c->to_part);
        return CLVOX_OK;
    }
    size_t nx = (size_t)c->size[0], ny = (size_t)c->size[1];
    size_t x = (c->first + begin) % nx, y = (c->first + begin) / nx % ny, z = (c->first + begin) / nx / ny;
    for (size_t i = begin; i < end; i++) {
        double v[3] = {0, 0, 0};
        for (int j = 0; c->from && j < 3; j++)
            v[j] = (double)c->from[i * c->from_voxel + (size_t)j * c->from_part];
        for (int r = 0; r < 3; r++) {
            double sum = c->reorient[r][0] * v[0] + c->reorient[r][1] * v[1] + c->reorient[r][2] * v[2];
            if (c->has_line)
                sum += c->line[r][0] * (double)x + c->line[r][1] * (double)y + c->line[r][2] * (double)z +
                       c->line[r][3];
            c->to[i * c->to_voxel + (size_t)r * c->to_part] = (float)sum;
        }
        if (++x == nx) {
            x = 0;
            if (++y == ny) {
                y = 0;
                z++;
            }
        }
    }
    return CLVOX_OK;
}

static void convert(conversion *c)
{
    clvox_parallel((c->count + PIECE - 1) / PIECE, convert_piece, c);
}

/* ---- through pinned memory ---------------------------------------------------- */

/* A field on its way between a device and host memory: several threads have a place each, and convert what
 * is in it while another one's is on the bus. */
enum { SLOTS = 8 };
typedef struct passage {
    clvox_context *ctx;
    const clv_buffer *field;
    clv_buffer *to;      /* the same, where it is written; NULL: it is read */
    const conversion *c; /* of all voxels */
    size_t voxels, part; /* part: of a place */
    float *values;
    pthread_mutex_t lock; /* of the device */
} passage;

/* A part's values, as kernels hold them, to the device. */
static int send_part(clvox_context *ctx, clv_buffer *field, size_t voxels, size_t first, size_t count,
                     const float *values)
{
    int status = CLVOX_OK;
    const size_t bytes = count * sizeof(float);
    if (clv_fields_packed(ctx))
        return clv_buffer_write(ctx, field, 3 * first * sizeof(float), values, 3 * bytes);
    for (size_t part = 0; part < 3; part++)
        CLV_TRY(clv_buffer_write(ctx, field, (part * voxels + first) * sizeof(float), values + part * count,
                                 bytes));
end:
    return status;
}

static void convert_here(conversion *c)
{
    for (size_t piece = 0; piece * PIECE < c->count; piece++)
        convert_piece(c, piece, 0);
}

static int pass_part(passage *p, size_t first, float *values)
{
    int status = CLVOX_OK;
    size_t strides[2];
    conversion c = *p->c;
    c.first = first;
    c.count = p->voxels - first < p->part ? p->voxels - first : p->part;
    if (p->to) {
        c.from += first;
        c.to = values;
        c.to_voxel = clv_fields_packed(p->ctx) ? 3 : 1;
        c.to_part = clv_fields_packed(p->ctx) ? 1 : c.count;
        convert_here(&c);
        pthread_mutex_lock(&p->lock);
        status = send_part(p->ctx, p->to, p->voxels, first, c.count, values);
        pthread_mutex_unlock(&p->lock);
        return status;
    }
    pthread_mutex_lock(&p->lock);
    status = clv_field_read(p->ctx, p->field, p->voxels, first, c.count, values, strides);
    pthread_mutex_unlock(&p->lock);
    if (status < 0)
        return status;
    c.from = values;
    c.from_voxel = strides[0];
    c.from_part = strides[1];
    c.to += c.placed ? 0 : first;
    convert_here(&c);
    return CLVOX_OK;
}

static int pass_parts(void *user, size_t slot, int worker)
{
    int status = CLVOX_OK;
    passage *p = user;
    (void)worker;
    for (size_t first = slot * p->part; first < p->voxels && status >= 0; first += SLOTS * p->part)
        status = pass_part(p, first, p->values + 3 * slot * p->part);
    return status;
}

static int pass(passage *p)
{
    p->part = CHUNK / SLOTS;
    pthread_mutex_init(&p->lock, NULL);
    const int status = clvox_parallel(SLOTS, pass_parts, p);
    pthread_mutex_destroy(&p->lock);
    return status;
}

/* Out of RAS mm, from a volume's planar components. */
static int packing(const clvox_volume *warp, double sign, conversion *c)
{
    int status = CLVOX_OK;
    double frame[3][3];
    *c = (conversion){.size = warp->grid.size, .from_voxel = 1, .from_part = clvox_grid_voxels(&warp->grid)};
    clv_field_frame(&warp->grid, frame);
    CLV_TRY(clv_matrix3_invert(CLV_MATRIX3(frame), c->reorient));
    for (int i = 0; i < 9; i++)
        c->reorient[i / 3][i % 3] *= sign;
end:
    return status;
}

int clv_field_pack(clvox_context *ctx, const clvox_volume *warp, float *values)
{
    int status = CLVOX_OK;
    conversion c;
    const bool packed = clv_fields_packed(ctx);
    CLV_TRY(packing(warp, 1, &c));
    c.count = clvox_grid_voxels(&warp->grid);
    c.from = warp->data;
    c.to = values;
    c.to_voxel = packed ? 3 : 1;
    c.to_part = packed ? 1 : c.count;
    convert(&c);
end:
    return status;
}

int clv_field_unpack(clvox_context *ctx, const float *values, const clvox_grid *grid, clvox_volume **out)
{
    const bool packed = clv_fields_packed(ctx);
    const size_t voxels = clvox_grid_voxels(grid);
    conversion c = {.size = grid->size, .from = values, .count = voxels};
    const int status = clv_volume_room(grid, 3, CLVOX_KIND_DISPLACEMENT, out);
    if (status < 0)
        return status;
    clv_field_frame(grid, c.reorient);
    c.from_voxel = packed ? 3 : 1;
    c.from_part = packed ? 1 : voxels;
    c.to = (*out)->data;
    c.to_voxel = 1;
    c.to_part = voxels;
    convert(&c);
    return CLVOX_OK;
}

int clv_field_upload(clvox_context *ctx, const clvox_volume *warp, double sign, clv_buffer *field)
{
    int status = CLVOX_OK;
    const size_t voxels = clvox_grid_voxels(&warp->grid), chunk = voxels < CHUNK ? voxels : CHUNK;
    const bool packed = clv_fields_packed(ctx);
    conversion c;
    float *values = NULL, *own = NULL;
    CLV_TRY(packing(warp, sign, &c));
    c.from = warp->data;
    if (clv_staging_pays(ctx, 3 * voxels * sizeof *values, WORTH) &&
        (values = clv_staging(ctx, 3 * chunk * sizeof *values)))
        return pass(&(passage){.ctx = ctx, .to = field, .c = &c, .voxels = voxels, .values = values});
    values = own = clv_large(3 * chunk * sizeof *values);
    if (!values)
        return clvox_fail(CLVOX_ERROR_MEMORY, "displacement field: out of host memory");
    for (size_t first = 0; first < voxels; first += c.count) {
        c.first = first;
        c.count = voxels - first < chunk ? voxels - first : chunk;
        c.from = warp->data + first;
        c.to = values;
        c.to_voxel = packed ? 3 : 1;
        c.to_part = packed ? 1 : c.count;
        convert(&c);
        CLV_TRY(send_part(ctx, field, voxels, first, c.count, values));
    }
end:
    clv_large_free(own);
    return status;
}

int clv_field_read(clvox_context *ctx, const clv_buffer *field, size_t voxels, size_t first, size_t count,
                   float *values, size_t strides[2])
{
    int status = CLVOX_OK;
    bool packed = clv_fields_packed(ctx);
    size_t bytes = count * sizeof(float);
    strides[0] = packed ? 3 : 1;
    strides[1] = packed ? 1 : count;
    if (packed)
        CLV_TRY(clv_buffer_read(ctx, field, 3 * first * sizeof(float), values, 3 * bytes));
    for (size_t part = 0; !packed && part < 3; part++)
        CLV_TRY(clv_buffer_read(ctx, field, (part * voxels + first) * sizeof(float), values + part * count,
                                bytes));
end:
    return status;
}

/* shown: the grid of the result, where c->placed says that it is stored otherwise. */
static int download(clvox_context *ctx, const clv_buffer *field, const clvox_grid *grid,
                    const clvox_grid *shown, conversion *c, clvox_volume **out)
{
    int status = CLVOX_OK;
    size_t voxels = clvox_grid_voxels(grid), chunk = voxels < CHUNK ? voxels : CHUNK, strides[2];
    clvox_volume *made = NULL;
    float *values = NULL, *own = NULL;
    *out = NULL;
    CLV_TRY(clv_volume_room(shown, 3, CLVOX_KIND_DISPLACEMENT, &made));
    if (field && clv_staging_pays(ctx, 3 * voxels * sizeof *values, WORTH))
        values = clv_staging(ctx, 3 * chunk * sizeof *values);
    if (field && !values && !(values = own = clv_large(3 * chunk * sizeof *values))) {
        status = clvox_fail(CLVOX_ERROR_MEMORY, "displacement field: out of host memory");
        goto end;
    }
    c->size = grid->size;
    if (values && !own) {
        c->to = made->data;
        c->to_voxel = 1;
        c->to_part = voxels;
        CLV_TRY(pass(&(passage){.ctx = ctx, .field = field, .c = c, .voxels = voxels, .values = values}));
    }
    const bool passed = values && !own;
    for (size_t first = 0; first < voxels && !passed; first += c->count) {
        c->first = first;
        c->count = voxels - first < chunk ? voxels - first : chunk;
        if (field) {
            CLV_TRY(clv_field_read(ctx, field, voxels, first, c->count, values, strides));
            c->from_voxel = strides[0];
            c->from_part = strides[1];
        }
        c->from = values;
        c->to = c->placed ? made->data : made->data + first;
        c->to_voxel = 1;
        c->to_part = voxels;
        convert(c);
    }
    *out = made;
    made = NULL;
end:
    clvox_volume_destroy(&made);
    clv_large_free(own);
    return status;
}

int clv_field_download(clvox_context *ctx, const clv_buffer *field, const clvox_grid *grid, double sign,
                       clvox_volume **out)
{
    conversion c = {0};
    clv_field_frame(grid, c.reorient);
    for (int i = 0; i < 9; i++)
        c.reorient[i / 3][i % 3] *= sign;
    return download(ctx, field, grid, grid, &c, out);
}

int clv_field_download_shown(clvox_context *ctx, const clv_buffer *field, const clvox_grid *grid,
                             const clvox_grid *shown, clvox_volume **out)
{
    conversion c = {0};
    clv_orientation o;
    clv_orientation_of(shown, &o);
    const clv_strides strides = clv_orientation_strides(shown->size, &o);
    clv_field_frame(grid, c.reorient);
    c.placed = clv_orientation_same(&o) ? NULL : &strides;
    return download(ctx, field, grid, shown, &c, out);
}

int clv_field_download_map(clvox_context *ctx, const clv_buffer *field, const clvox_grid *grid,
                           const double matrix[4][4], clvox_volume **out)
{
    conversion c = {.has_line = true};
    double frame[3][3], linear[3][3], excess[4][4];
    clv_field_frame(grid, frame);
    for (int i = 0; i < 3; i++)
        memcpy(linear[i], matrix[i], sizeof linear[i]);
    clv_matrix3_multiply(CLV_MATRIX3(linear), CLV_MATRIX3(frame), c.reorient);
    /* (matrix - 1) x, with the 1 taken off first: large world coordinates
     * must not cost the digits of a small displacement. */
    clv_matrix_copy(matrix, excess);
    for (int i = 0; i < 4; i++)
        excess[i][i] -= 1;
    clv_matrix_multiply(CLV_MATRIX(excess), grid->to_ras, excess);
    for (int i = 0; i < 3; i++)
        memcpy(c.line[i], excess[i], sizeof excess[i]);
    return download(ctx, field, grid, grid, &c, out);
}

void clvox_grid_axes(const clvox_grid *grid, char letters[4], double *oblique, double *skew)
{
    CLV_GIVEN_OR(, grid, letters);
    clv_orientation o;
    double spacing[3], widest = 0;
    clvox_grid_spacing(grid, spacing);
    clv_orientation_of(grid, &o);
    for (int w = 0; w < 3; w++) {
        const int a = o.axis[w];
        letters[a] = (o.flipped[w] ? "LPI" : "RAS")[w];
        widest = fmax(widest, acos(fmin(fabs(grid->to_ras[w][a]) / spacing[a], 1)) * 57.29577951308232);
    }
    letters[3] = 0;
    if (oblique)
        *oblique = widest;
    if (skew)
        *skew = clv_field_skew(grid);
}
