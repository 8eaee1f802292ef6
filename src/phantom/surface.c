/* SPDX-License-Identifier: Apache-2.0 */
#include "phantom/surface.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/matrix.h"
#include "clvox/threads.h"
#include "base/status.h"
#include "phantom/phantom.h"
#include "mesh/mesh.h"

/* ---- closed forms, in units of the half extent -------------------------- */

static double length(double x, double y, double z)
{
    return sqrt(x * x + y * y + z * z);
}

/* A rectangle across an axis at a height, with up to two round holes. The
 * other two coordinates u, v follow the axis cyclically. */
typedef struct rectangle {
    int axis, holes;
    double at, low[2], high[2];
    double hole[2][3]; /* u, v, radius */
} rectangle;

/* Infinite above a hole: its rim is nearer then, and counted for itself. */
static double to_rectangle(const rectangle *r, const double p[3])
{
    double u = p[(r->axis + 1) % 3], v = p[(r->axis + 2) % 3];
    double nu = fmin(fmax(u, r->low[0]), r->high[0]), nv = fmin(fmax(v, r->low[1]), r->high[1]);
    for (int h = 0; h < r->holes; h++)
        if (hypot(nu - r->hole[h][0], nv - r->hole[h][1]) < r->hole[h][2])
            return INFINITY;
    return length(u - nu, v - nv, p[r->axis] - r->at);
}

static double to_rectangles(const rectangle *r, int count, const double p[3])
{
    double least = INFINITY;
    for (int i = 0; i < count; i++)
        least = fmin(least, to_rectangle(&r[i], p));
    return least;
}

static bool in_box(const double p[3], const double low[3], const double high[3])
{
    bool in = true;
    for (int a = 0; a < 3; a++)
        in = in && p[a] > low[a] && p[a] < high[a];
    return in;
}

static double two_boxes(const double p[3])
{
    static const double low[3] = {-0.45, -0.4, -0.35}, high[3] = {0.45, 0.4, 0};
    static const double small_low[3] = {-0.2, -0.15, 0}, small_high[3] = {0.25, 0.2, 0.35};
    static const rectangle faces[] = {
        {0, 0, -0.45, {-0.4, -0.35}, {0.4, 0}, {{0}}},
        {0, 0, 0.45, {-0.4, -0.35}, {0.4, 0}, {{0}}},
        {1, 0, -0.4, {-0.35, -0.45}, {0, 0.45}, {{0}}},
        {1, 0, 0.4, {-0.35, -0.45}, {0, 0.45}, {{0}}},
        {2, 0, -0.35, {-0.45, -0.4}, {0.45, 0.4}, {{0}}},
        /* The rest of the large box's top, without the small box. */
        {2, 0, 0, {-0.45, -0.4}, {-0.2, 0.4}, {{0}}},
        {2, 0, 0, {0.25, -0.4}, {0.45, 0.4}, {{0}}},
        {2, 0, 0, {-0.2, -0.4}, {0.25, -0.15}, {{0}}},
        {2, 0, 0, {-0.2, 0.2}, {0.25, 0.4}, {{0}}},
        {0, 0, -0.2, {-0.15, 0}, {0.2, 0.35}, {{0}}},
        {0, 0, 0.25, {-0.15, 0}, {0.2, 0.35}, {{0}}},
        {1, 0, -0.15, {0, -0.2}, {0.35, 0.25}, {{0}}},
        {1, 0, 0.2, {0, -0.2}, {0.35, 0.25}, {{0}}},
        {2, 0, 0.35, {-0.2, -0.15}, {0.25, 0.2}, {{0}}},
    };
    double distance = to_rectangles(faces, sizeof faces / sizeof *faces, p);
    static const double middle_low[3] = {-0.2, -0.15, -0.1}, middle_high[3] = {0.25, 0.2, 0.1};
    bool inside = in_box(p, low, high) || in_box(p, small_low, small_high) ||
                  in_box(p, middle_low, middle_high); /* where the two meet */
    return inside ? -distance : distance;
}

/* Half extents of the part; holes along z and along y; half a ball on its top. */
static const double part_half[3] = {0.5, 0.38, 0.26};
static const double hole_z[3] = {-0.22, 0, 0.12}, hole_y[3] = {0, 0.25, 0.1}; /* u, v, radius */
static const double boss[3] = {0.2, 0.1, 0.16};

/* The wall of a hole through the part along an axis, and its rims. */
static double to_hole(const double p[3], int axis, const double hole[3], double *radial)
{
    double u = p[(axis + 1) % 3] - hole[0], v = p[(axis + 2) % 3] - hole[1];
    double beyond = fmax(fabs(p[axis]) - part_half[axis], 0);
    *radial = hypot(u, v) - hole[2];
    return hypot(*radial, beyond);
}

static double part(const double p[3])
{
    static const rectangle faces[] = {
        {0, 0, -0.5, {-0.38, -0.26}, {0.38, 0.26}, {{0}}},
        {0, 0, 0.5, {-0.38, -0.26}, {0.38, 0.26}, {{0}}},
        {1, 1, -0.38, {-0.26, -0.5}, {0.26, 0.5}, {{0, 0.25, 0.1}}},
        {1, 1, 0.38, {-0.26, -0.5}, {0.26, 0.5}, {{0, 0.25, 0.1}}},
        {2, 1, -0.26, {-0.5, -0.38}, {0.5, 0.38}, {{-0.22, 0, 0.12}}},
        {2, 2, 0.26, {-0.5, -0.38}, {0.5, 0.38}, {{-0.22, 0, 0.12}, {0.2, 0.1, 0.16}}},
    };
    double radial_z, radial_y, low[3], distance = to_rectangles(faces, sizeof faces / sizeof *faces, p);
    distance = fmin(distance, to_hole(p, 2, hole_z, &radial_z));
    distance = fmin(distance, to_hole(p, 1, hole_y, &radial_y));
    double height = p[2] - part_half[2], across = hypot(p[0] - boss[0], p[1] - boss[1]);
    double from_boss = hypot(across, height) - boss[2];
    /* Below the top the nearest of the half ball is its foot. */
    distance = fmin(distance, height >= 0 ? fabs(from_boss) : hypot(across - boss[2], height));
    for (int a = 0; a < 3; a++)
        low[a] = -part_half[a];
    bool in_boss = height >= 0 && from_boss < 0;
    bool inside = in_boss || (in_box(p, low, part_half) && radial_z > 0 && radial_y > 0);
    return inside ? -distance : distance;
}

/* ---- solids ------------------------------------------------------------- */

static double shape(const clv_solid *solid, const double x[3], bool cheap)
{
    double p[3];
    clv_matrix_apply(solid->to_solid, x, p);
    if (solid->kind == CLVOX_SOLID_GYROID)
        return cheap ? clv_gyroid_implicit(solid->gyroid, p) : clv_gyroid_distance(solid->gyroid, p);
    for (int i = 0; i < 3; i++)
        p[i] /= solid->unit;
    double d = length(p[0], p[1], p[2]) - 0.62;
    if (solid->kind == CLVOX_SOLID_TORUS)
        d = hypot(hypot(p[0], p[1]) - 0.45, p[2]) - 0.19;
    else if (solid->kind == CLVOX_SOLID_CUBE)
        d = two_boxes(p);
    else if (solid->kind == CLVOX_SOLID_CSG)
        d = part(p);
    return solid->unit * d;
}

double clv_solid_implicit(const clv_solid *solid, const double x[3])
{
    return shape(solid, x, true);
}

double clv_solid_distance(const clv_solid *solid, const double x[3])
{
    return shape(solid, x, false);
}

int clv_solid_make(clvox_solid kind, const clvox_grid *grid, clv_solid *out)
{
    /* A rotation by quaternion (10, 2, -1, 3) and a shift of so many voxels. */
    static const double turned[3][3] = {{94 / 114.0, -64 / 114.0, -8 / 114.0},
                                        {56 / 114.0, 88 / 114.0, -46 / 114.0},
                                        {32 / 114.0, 34 / 114.0, 104 / 114.0}};
    static const double shift[3] = {0.17, -0.31, 0.23};
    double spacing[3], extent = INFINITY, centre[3];
    memset(out, 0, sizeof *out);
    clvox_grid_spacing(grid, spacing);
    out->kind = kind;
    out->voxel = fmin(spacing[0], fmin(spacing[1], spacing[2]));
    for (int a = 0; a < 3; a++)
        if (grid->size[a] > 1)
            extent = fmin(extent, spacing[a] * grid->size[a]);
    out->unit = 0.5 * (isfinite(extent) ? extent : out->voxel);
    for (int a = 0; a < 3; a++)
        centre[a] = 0.5 * (grid->size[a] - 1) + (grid->size[a] > 1 ? shift[a] : 0);
    clv_matrix_apply(grid->to_ras, centre, centre);
    out->to_solid[3][3] = 1;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            out->to_solid[i][j] = turned[i][j];
            out->to_solid[i][3] -= turned[i][j] * centre[j];
        }
    if (kind != CLVOX_SOLID_GYROID)
        return CLVOX_OK;
    return clv_gyroid_make(0.68 / 0.643 * out->unit, 0.68 * out->unit, out->voxel, &out->gyroid);
}

void clv_solid_free(clv_solid *solid)
{
    clv_gyroid_free(solid->gyroid);
    solid->gyroid = NULL;
}

typedef struct sampling {
    const clv_solid *solid;
    const clvox_grid *grid;
    bool cheap;
    float *to;
} sampling;

static int sample_plane(void *user, size_t z, int worker)
{
    const sampling *s = user;
    const int *n = s->grid->size;
    float *to = s->to + z * (size_t)n[0] * (size_t)n[1];
    (void)worker;
    for (int y = 0; y < n[1]; y++)
        for (int x = 0; x < n[0]; x++) {
            double p[3];
            clv_matrix_apply(s->grid->to_ras, (double[3]){x, y, (double)z}, p);
            *to++ = (float)(s->cheap ? clv_solid_implicit : clv_solid_distance)(s->solid, p);
        }
    return CLVOX_OK;
}

static int sample(const clv_solid *solid, const clvox_grid *grid, bool cheap, clvox_volume **out)
{
    int status = clvox_volume_create(grid, 1, CLVOX_KIND_SCALAR, out);
    if (status < 0)
        return status;
    sampling s = {.solid = solid, .grid = grid, .cheap = cheap, .to = (*out)->data};
    return clvox_parallel((size_t)grid->size[2], sample_plane, &s);
}

int clv_solid_sample(const clv_solid *solid, const clvox_grid *grid, clvox_volume **out)
{
    return sample(solid, grid, false, out);
}

/* ---- meshes ------------------------------------------------------------- */

typedef struct settling {
    const clv_solid *solid;
    const clvox_grid *grid;
    double from_ras[4][4];
    clvox_surface *mesh;
} settling;

enum { BLOCK = 4096 }; /* vertices a piece of work */

/* Moves a vertex along the line between two voxels to where the surface is. */
static void settle(const settling *s, double point[3])
{
    double q[3], ends[2][3], value[2], whole[3], off = 0;
    int axis = 0;
    clv_matrix_apply(s->from_ras, point, q);
    for (int a = 0; a < 3; a++) {
        whole[a] = floor(q[a] + 0.5);
        if (fabs(q[a] - whole[a]) > off) {
            off = fabs(q[a] - whole[a]);
            axis = a;
        }
    }
    for (int a = 0; a < 3; a++)
        if (a != axis && fabs(q[a] - whole[a]) > 1e-6)
            return; /* inside of a cell: stays */
    double low = floor(q[axis]);
    for (int e = 0; e < 2; e++) {
        memcpy(ends[e], whole, sizeof whole);
        ends[e][axis] = low + e;
        clv_matrix_apply(s->grid->to_ras, ends[e], ends[e]);
        value[e] = clv_solid_implicit(s->solid, ends[e]);
    }
    if ((value[0] < 0) == (value[1] < 0))
        return;
    double a = 0, b = 1;
    for (int round = 0; round < 40; round++) {
        double t = 0.5 * (a + b), p[3];
        for (int i = 0; i < 3; i++)
            p[i] = ends[0][i] + t * (ends[1][i] - ends[0][i]);
        *((clv_solid_implicit(s->solid, p) < 0) == (value[0] < 0) ? &a : &b) = t;
    }
    a = fmin(fmax(0.5 * (a + b), 1e-3), 1 - 1e-3);
    for (int i = 0; i < 3; i++)
        point[i] = ends[0][i] + a * (ends[1][i] - ends[0][i]);
}

static int settle_block(void *user, size_t block, int worker)
{
    const settling *s = user;
    (void)worker;
    for (size_t v = block * BLOCK; v < (block + 1) * BLOCK && v < s->mesh->vertices; v++)
        settle(s, s->mesh->points + 3 * v);
    return CLVOX_OK;
}

int clv_solid_mesh(const clv_solid *solid, const clvox_grid *grid, int refined, clvox_surface **out)
{
    clvox_grid fine = *grid;
    clvox_volume *volume = NULL;
    int status = CLVOX_OK;
    *out = NULL;
    for (int a = 0; a < 3; a++) {
        fine.size[a] = (grid->size[a] - 1) * refined + 1;
        for (int i = 0; i < 3; i++)
            fine.to_ras[i][a] /= refined;
    }
    settling s = {.solid = solid, .grid = &fine};
    CLV_TRY(clv_matrix_invert(CLV_MATRIX(fine.to_ras), s.from_ras));
    CLV_TRY(sample(solid, &fine, true, &volume));
    CLV_TRY(clvox_surface_extract(volume, 0, false, out));
    s.mesh = *out;
    CLV_TRY(clvox_parallel(((*out)->vertices + BLOCK - 1) / BLOCK, settle_block, &s));
end:
    clvox_volume_destroy(&volume);
    return status;
}

int clv_surface_shake(clvox_surface *surface, double sigma, uint64_t seed)
{
    double *normal = calloc(3 * surface->vertices + 1, sizeof *normal);
    if (!normal)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory for the normals of a surface");
    for (size_t t = 0; t < surface->triangles; t++) {
        const int32_t *corner = surface->corners + 3 * t;
        const double *a = surface->points + 3 * corner[0];
        double u[3], w[3];
        for (int i = 0; i < 3; i++) {
            u[i] = surface->points[3 * corner[1] + i] - a[i];
            w[i] = surface->points[3 * corner[2] + i] - a[i];
        }
        for (int c = 0; c < 3; c++)
            for (int i = 0; i < 3; i++)
                normal[3 * corner[c] + i] +=
                    u[(i + 1) % 3] * w[(i + 2) % 3] - u[(i + 2) % 3] * w[(i + 1) % 3];
    }
    for (size_t v = 0; v < surface->vertices; v++) {
        const double *n = normal + 3 * v;
        double size = length(n[0], n[1], n[2]), move = sigma * clv_phantom_normal(seed, v);
        for (int i = 0; size > 0 && i < 3; i++)
            surface->points[3 * v + (size_t)i] += move * n[i] / size;
    }
    free(normal);
    return CLVOX_OK;
}

/* ---- masks -------------------------------------------------------------- */

/* Smooths along an axis of a block of that size; keeps the part that has
 * 2 radius fewer along it, at the front. */
static void smooth_axis(double *block, size_t size[3], int axis, const double *weight, size_t radius)
{
    size_t stride = axis == 0 ? 1 : axis == 1 ? size[0] : size[0] * size[1];
    size_t short_size[3] = {size[0], size[1], size[2]};
    short_size[axis] -= 2 * radius;
    /* Every value read lies at or behind the place written. */
    for (size_t z = 0, to = 0; z < short_size[2]; z++)
        for (size_t y = 0; y < short_size[1]; y++)
            for (size_t x = 0; x < short_size[0]; x++, to++) {
                double sum = 0;
                const double *from = block + x + size[0] * (y + size[1] * z);
                for (size_t i = 0; i <= 2 * radius; i++)
                    sum += weight[i] * from[i * stride];
                block[to] = sum;
            }
    memcpy(size, short_size, sizeof short_size);
}

/* Normal noise of variance 1 on a grid, smoothed by a Gaussian of width voxels. */
static int make_noise(const int n[3], double width, uint64_t seed, double **out)
{
    size_t radius = width > 0 ? (size_t)ceil(4 * width) : 0, size[3], count = 1;
    double weight[2 * 64 + 1], sum = 0;
    for (int a = 0; a < 3; a++) {
        size[a] = (size_t)n[a] + (n[a] > 1 ? 2 * radius : 0);
        count *= size[a];
    }
    *out = malloc(count * sizeof **out);
    if (!*out)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory for noise");
    for (size_t i = 0; i < count; i++)
        (*out)[i] = clv_phantom_normal(seed, i);
    if (!radius)
        return CLVOX_OK;
    for (size_t i = 0; i <= 2 * radius; i++) {
        double x = ((double)i - (double)radius) / width;
        weight[i] = exp(-0.5 * x * x);
        sum += weight[i] * weight[i];
    }
    for (size_t i = 0; i <= 2 * radius; i++)
        weight[i] /= sqrt(sum);
    for (int a = 0; a < 3; a++)
        if (n[a] > 1)
            smooth_axis(*out, size, a, weight, radius);
    return CLVOX_OK;
}

int clv_solid_mask(const clvox_volume *distance, double sigma, double width, uint64_t seed,
                   clvox_volume **out)
{
    double *noise = NULL;
    int status = CLVOX_OK;
    *out = NULL;
    if (!(width >= 0 && width <= 16))
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "a correlation of %g voxels: from 0 to 16", width);
    if (sigma > 0)
        CLV_TRY(make_noise(distance->grid.size, width, seed, &noise));
    CLV_TRY(clvox_volume_create(&distance->grid, 1, CLVOX_KIND_LABEL, out));
    (*out)->type = CLVOX_TYPE_UINT8;
    for (size_t i = 0; i < clvox_grid_voxels(&distance->grid); i++)
        (*out)->data[i] = (double)distance->data[i] + (noise ? sigma * noise[i] : 0) < 0;
end:
    free(noise);
    return status;
}

/* ---- as clvox/phantom.h has them ------------------------------------------ */

static int make(clvox_solid kind, const clvox_grid *grid, clv_solid *out)
{
    int status = clv_phantom_grid_check(grid);
    if (status < 0)
        return status;
    if ((unsigned)kind > CLVOX_SOLID_GYROID)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "there is no solid of kind %d", (int)kind);
    return clv_solid_make(kind, grid, out);
}

int clvox_phantom_distance(clvox_solid kind, const clvox_grid *grid, clvox_volume **out)
{
    CLV_GIVEN(grid, out);
    clv_solid solid = {0};
    int status = CLVOX_OK;
    *out = NULL;
    CLV_TRY(make(kind, grid, &solid));
    CLV_TRY(clv_solid_sample(&solid, grid, out));
end:
    if (status < 0)
        clvox_volume_destroy(out);
    clv_solid_free(&solid);
    return status;
}

int clvox_phantom_mesh(clvox_solid kind, const clvox_grid *grid, int refined, clvox_surface **out)
{
    CLV_GIVEN(grid, out);
    clv_solid solid = {0};
    int status = CLVOX_OK;
    *out = NULL;
    if (refined < 1)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "a grid refined %d times: 1 or more", refined);
    CLV_TRY(make(kind, grid, &solid));
    CLV_TRY(clv_solid_mesh(&solid, grid, refined, out));
end:
    clv_solid_free(&solid);
    return status;
}

int clvox_phantom_mask(const clvox_volume *distance, double sigma, double width, uint64_t seed,
                       clvox_volume **out)
{
    CLV_GIVEN(distance, out);
    return clv_solid_mask(distance, sigma, width, seed, out);
}

int clvox_phantom_shake(clvox_surface *surface, double sigma, uint64_t seed)
{
    CLV_GIVEN(surface);
    return clv_surface_shake(surface, sigma, seed);
}
