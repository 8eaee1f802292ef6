/* SPDX-License-Identifier: Apache-2.0 */
#include "phantom/tensor.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/matrix.h"
#include "clvox/threads.h"
#include "base/status.h"
#include "phantom/phantom.h"

static const double two_pi = 6.283185307179586476925;
static const double S0 = 1000;

/* Eigenvalues in mm^2/s. */
static const double water[3] = {0.8e-3, 0.8e-3, 0.8e-3};
static const double bundle[3] = {1.7e-3, 0.3e-3, 0.3e-3};

/* Adds weight times the tensor with those eigenvalues along unit vectors v, w
 * and what is perpendicular to both. */
static void add_tensor(const double value[3], const double v[3], const double w[3], double weight,
                       double d[6])
{
    for (int i = 0, k = 0; i < 3; i++)
        for (int j = i; j < 3; j++, k++)
            d[k] += weight * ((value[0] - value[2]) * v[i] * v[j] + (value[1] - value[2]) * w[i] * w[j] +
                              (i == j ? value[2] : 0));
}

static double dot(const double a[3], const double b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static void make_unit(double v[3])
{
    double length = sqrt(dot(v, v));
    for (int i = 0; i < 3; i++)
        v[i] /= length;
}

/* A direction and what completes it to a frame, from the phantom's to RAS. */
static void place(const clv_tensor_phantom *phantom, const double value[3], const double along[3],
                  const double across[3], double weight, double d[6])
{
    double v[3], w[3];
    for (int i = 0; i < 3; i++) {
        v[i] = dot(phantom->own_axes[i], along);
        w[i] = dot(phantom->own_axes[i], across);
    }
    add_tensor(value, v, w, weight, d);
}

/* ---- fields ------------------------------------------------------------- */

static void helix(const clv_tensor_phantom *phantom, const double p[3], double d[6])
{
    const double radius = 0.52, pitch = 0.75, thickness = 0.17, rise = pitch / two_pi;
    double from_axis = hypot(p[0], p[1]);
    double above = p[2] - rise * atan2(p[1], p[0]);
    above -= pitch * floor(above / pitch + 0.5);
    above *= radius / hypot(radius, rise); /* across the slanted strand */
    if (hypot(from_axis - radius, above) >= thickness) {
        add_tensor(water, (const double[3]){0}, (const double[3]){0}, 1, d);
        return;
    }
    double along[3] = {-p[1], p[0], rise}, across[3] = {p[0] / from_axis, p[1] / from_axis, 0};
    make_unit(along);
    place(phantom, bundle, along, across, 1, d);
}

/* Crossing rings have the mean of their tensors. */
static void rings(const clv_tensor_phantom *phantom, const double p[3], double d[6])
{
    static const struct {
        int axis;
        double centre[3], radius, thickness, value[3];
    } ring[] = {
        {2, {0, 0, 0}, 0.62, 0.15, {1.7e-3, 0.3e-3, 0.3e-3}},
        {0, {0, 0.3, 0}, 0.38, 0.1, {1.5e-3, 0.4e-3, 0.4e-3}},
        {1, {0.3, -0.3, 0.05}, 0.22, 0.07, {1.2e-3, 0.6e-3, 0.4e-3}},
        {1, {-0.62, 0, 0}, 0.3, 0.12, {1.4e-3, 0.5e-3, 0.3e-3}},
    };
    enum { RINGS = sizeof ring / sizeof *ring };
    double along[RINGS][3], across[RINGS][3];
    int here[RINGS], count = 0;
    for (int r = 0; r < RINGS; r++) {
        int a = ring[r].axis, b = (a + 1) % 3, c = (a + 2) % 3;
        double u = p[b] - ring[r].centre[b], v = p[c] - ring[r].centre[c], height = p[a] - ring[r].centre[a];
        double from_axis = hypot(u, v);
        if (hypot(from_axis - ring[r].radius, height) >= ring[r].thickness)
            continue;
        memset(along[r], 0, sizeof along[r]);
        memset(across[r], 0, sizeof across[r]);
        along[r][b] = -v / from_axis;
        along[r][c] = u / from_axis;
        across[r][b] = u / from_axis;
        across[r][c] = v / from_axis;
        here[count++] = r;
    }
    if (!count)
        add_tensor(water, (const double[3]){0}, (const double[3]){0}, 1, d);
    for (int i = 0; i < count; i++)
        place(phantom, ring[here[i]].value, along[here[i]], across[here[i]], 1.0 / count, d);
}

static void steps(const clv_tensor_phantom *phantom, const double p[3], double d[6])
{
    static const double values[][3] = {{0.8e-3, 0.8e-3, 0.8e-3},
                                       {1.1e-3, 0.65e-3, 0.65e-3},
                                       {1.4e-3, 0.5e-3, 0.5e-3},
                                       {1.7e-3, 0.3e-3, 0.3e-3},
                                       {1.3e-3, 1.0e-3, 0.3e-3}};
    enum { VALUES = sizeof values / sizeof *values, MIDDLE = 1 << 15 };
    const double block = 0.32, shift[3] = {0.113, 0.047, 0.191}; /* no face through the centre */
    uint64_t name = 0;
    double along[3], across[3];
    for (int a = 0; a < 3; a++)
        name = (name << 16) + (uint64_t)(MIDDLE + (int)floor((p[a] + shift[a]) / block));
    /* The last bits of the noise are even. */
    long word = (long)((clv_phantom_normal(phantom->seed + 1, 7 * name) + 6) * 65536 + 0.5);
    for (uint64_t i = 0; i < 3; i++) {
        along[i] = clv_phantom_normal(phantom->seed + 1, 7 * name + 1 + i);
        across[i] = clv_phantom_normal(phantom->seed + 1, 7 * name + 4 + i);
    }
    make_unit(along);
    double parallel = dot(along, across);
    for (int i = 0; i < 3; i++)
        across[i] -= parallel * along[i];
    make_unit(across);
    place(phantom, values[word % VALUES], along, across, 1, d);
}

void clv_tensor_phantom_at(const clv_tensor_phantom *phantom, const double x[3], double d[6])
{
    double p[3];
    memset(d, 0, 6 * sizeof *d);
    clv_matrix_apply(phantom->to_own, x, p);
    if (phantom->kind == CLVOX_TENSOR_HELIX)
        helix(phantom, p, d);
    else if (phantom->kind == CLVOX_TENSOR_RINGS)
        rings(phantom, p, d);
    else
        steps(phantom, p, d);
}

bool clv_tensor_phantom_inside(const clv_tensor_phantom *phantom, const double x[3])
{
    double p[3];
    clv_matrix_apply(phantom->to_mask, x, p);
    return dot(p, p) < 1;
}

static double middle(const double v[3])
{
    return fmax(fmin(v[0], v[1]), fmin(fmax(v[0], v[1]), v[2]));
}

int clv_tensor_phantom_make(clvox_tensor_phantom kind, const clvox_grid *grid, uint64_t seed,
                            clv_tensor_phantom *out)
{
    /* The rotation by quaternion (10, 2, -1, 3): whole numbers. */
    static const double turned[3][3] = {{94 / 114.0, -64 / 114.0, -8 / 114.0},
                                        {56 / 114.0, 88 / 114.0, -46 / 114.0},
                                        {32 / 114.0, 34 / 114.0, 104 / 114.0}};
    double spacing[3], extent[3], centre[3], from_mask[4][4] = {{0}};
    memset(out, 0, sizeof *out);
    out->kind = kind;
    out->seed = seed;
    clvox_grid_spacing(grid, spacing);
    for (int a = 0; a < 3; a++) {
        extent[a] = spacing[a] * grid->size[a];
        centre[a] = 0.5 * (grid->size[a] - 1);
    }
    double unit = 0.5 * middle(extent);
    clv_matrix_apply(grid->to_ras, centre, centre);
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++) {
            out->to_own[i][j] = turned[i][j] / unit;
            out->to_own[i][3] -= turned[i][j] / unit * centre[j];
            out->own_axes[j][i] = turned[i][j];
            from_mask[i][j] = grid->to_ras[i][j] * 0.48 * grid->size[j];
        }
        from_mask[i][3] = centre[i];
    }
    out->to_own[3][3] = from_mask[3][3] = 1;
    return clv_matrix_invert(CLV_MATRIX(from_mask), out->to_mask);
}

/* ---- gradients ---------------------------------------------------------- */

/* One step of charges at both ends of every axis away from each other. */
static void repel(double (*at)[3], double (*force)[3], int count, double longest)
{
    double largest = 0;
    for (int i = 0; i < count; i++) {
        memset(force[i], 0, sizeof force[i]);
        for (int j = 0; j < count; j++)
            for (int sign = -1; sign <= 1 && j != i; sign += 2) {
                double away[3];
                for (int c = 0; c < 3; c++)
                    away[c] = at[i][c] + sign * at[j][c];
                double square = fmax(dot(away, away), 1e-6), cube = square * sqrt(square);
                for (int c = 0; c < 3; c++)
                    force[i][c] += away[c] / cube;
            }
        double outward = dot(force[i], at[i]);
        for (int c = 0; c < 3; c++)
            force[i][c] -= outward * at[i][c];
        largest = fmax(largest, dot(force[i], force[i]));
    }
    double scale = largest > 0 ? longest / sqrt(largest) : 0;
    for (int i = 0; i < count; i++) {
        for (int c = 0; c < 3; c++)
            at[i][c] += scale * force[i][c];
        make_unit(at[i]);
    }
}

int clv_tensor_phantom_gradients(int directions, double b, uint64_t seed, clvox_gradients **out)
{
    enum { ROUNDS = 500 };
    int status = CLVOX_OK, plain = (directions + 5) / 10 > 1 ? (directions + 5) / 10 : 1;
    size_t count = (size_t)(plain + directions);
    double(*force)[3] = NULL;
    clvox_gradients *g = calloc(1, sizeof *g);
    *out = NULL;
    if (g) {
        g->count = plain + directions;
        g->b = calloc(count, sizeof *g->b);
        g->direction = calloc(count, sizeof *g->direction);
        force = calloc(count, sizeof *force);
    }
    if (!g || !g->b || !g->direction || !force) {
        status = clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory for %d directions", directions);
        goto end;
    }
    double(*at)[3] = g->direction + plain;
    for (int i = 0; i < directions; i++) {
        g->b[plain + i] = b;
        for (int c = 0; c < 3; c++)
            at[i][c] = clv_phantom_normal(seed + 2, (uint64_t)(3 * i + c));
        make_unit(at[i]);
    }
    for (int round = 0; round < ROUNDS; round++)
        repel(at, force, directions, 0.3 / sqrt(directions) * (ROUNDS - round) / ROUNDS);
    for (int i = 0; i < directions; i++) {
        double side = at[i][2] < 0 ? -1 : 1;
        for (int c = 0; c < 3; c++)
            at[i][c] *= side;
    }
    *out = g;
    g = NULL;
end:
    free(force);
    clvox_gradients_destroy(&g);
    return status;
}

/* ---- volumes ------------------------------------------------------------ */

typedef struct sampling {
    const clv_tensor_phantom *phantom;
    const clvox_grid *grid;
    float *tensor, *fa, *mask; /* either these */
    float *dwi;                /* or this */
    const clvox_gradients *gradients;
    double sigma;
    bool rician;
    uint64_t seed;
} sampling;

static double anisotropy(const double d[6])
{
    double mean = (d[0] + d[3] + d[5]) / 3, off = d[1] * d[1] + d[2] * d[2] + d[4] * d[4];
    double square = d[0] * d[0] + d[3] * d[3] + d[5] * d[5] + 2 * off;
    double rest = (d[0] - mean) * (d[0] - mean) + (d[3] - mean) * (d[3] - mean) +
                  (d[5] - mean) * (d[5] - mean) + 2 * off;
    return sqrt(1.5 * rest / square);
}

static void write_truth(const sampling *s, const double d[6], bool inside, size_t at)
{
    size_t voxels = clvox_grid_voxels(s->grid);
    s->mask[at] = inside ? 1.0F : 0.0F;
    if (!inside)
        return;
    s->fa[at] = (float)anisotropy(d);
    for (size_t c = 0; c < 6; c++)
        s->tensor[c * voxels + at] = (float)d[c];
}

static void write_signal(const sampling *s, const double d[6], bool inside, size_t at)
{
    size_t voxels = clvox_grid_voxels(s->grid);
    for (size_t v = 0; v < (size_t)s->gradients->count; v++) {
        const double *g = s->gradients->direction[v];
        double along = g[0] * g[0] * d[0] + g[1] * g[1] * d[3] + g[2] * g[2] * d[5] +
                       2 * (g[0] * g[1] * d[1] + g[0] * g[2] * d[2] + g[1] * g[2] * d[4]);
        double signal = inside ? S0 * exp(-s->gradients->b[v] * along) : 0;
        uint64_t counter = 2 * (v * voxels + at);
        if (s->sigma > 0)
            signal += s->sigma * clv_phantom_normal(s->seed + 3, counter);
        if (s->sigma > 0 && s->rician)
            signal = hypot(signal, s->sigma * clv_phantom_normal(s->seed + 3, counter + 1));
        s->dwi[v * voxels + at] = (float)signal;
    }
}

static int sample_plane(void *user, size_t z, int worker)
{
    const sampling *s = user;
    const int *n = s->grid->size;
    size_t at = z * (size_t)n[0] * (size_t)n[1];
    (void)worker;
    for (int y = 0; y < n[1]; y++)
        for (int x = 0; x < n[0]; x++, at++) {
            double p[3], d[6];
            clv_matrix_apply(s->grid->to_ras, (const double[3]){x, y, (double)z}, p);
            clv_tensor_phantom_at(s->phantom, p, d);
            bool inside = clv_tensor_phantom_inside(s->phantom, p);
            if (s->dwi)
                write_signal(s, d, inside, at);
            else
                write_truth(s, d, inside, at);
        }
    return CLVOX_OK;
}

int clv_tensor_phantom_truth(const clv_tensor_phantom *phantom, const clvox_grid *grid,
                             clvox_volume **tensor, clvox_volume **fa, clvox_volume **mask)
{
    int status = CLVOX_OK;
    *tensor = *fa = *mask = NULL;
    CLV_TRY(clvox_volume_create(grid, 6, CLVOX_KIND_TENSOR, tensor));
    CLV_TRY(clvox_volume_create(grid, 1, CLVOX_KIND_SCALAR, fa));
    CLV_TRY(clvox_volume_create(grid, 1, CLVOX_KIND_LABEL, mask));
    (*mask)->type = CLVOX_TYPE_UINT8;
    sampling s = {.phantom = phantom,
                  .grid = grid,
                  .tensor = (*tensor)->data,
                  .fa = (*fa)->data,
                  .mask = (*mask)->data};
    CLV_TRY(clvox_parallel((size_t)grid->size[2], sample_plane, &s));
end:
    if (status < 0) {
        clvox_volume_destroy(tensor);
        clvox_volume_destroy(fa);
        clvox_volume_destroy(mask);
    }
    return status;
}

int clv_tensor_phantom_dwi(const clv_tensor_phantom *phantom, const clvox_grid *grid,
                           const clvox_gradients *gradients, double snr, bool rician, uint64_t seed,
                           clvox_volume **out)
{
    int status = clvox_volume_create(grid, gradients->count, CLVOX_KIND_SCALAR, out);
    if (status < 0)
        return status;
    sampling s = {.phantom = phantom,
                  .grid = grid,
                  .dwi = (*out)->data,
                  .gradients = gradients,
                  .sigma = S0 / snr,
                  .rician = rician,
                  .seed = seed};
    return clvox_parallel((size_t)grid->size[2], sample_plane, &s);
}

/* ---- as clvox/phantom.h has them ------------------------------------------ */

static int make(clvox_tensor_phantom kind, const clvox_grid *grid, uint64_t seed, clv_tensor_phantom *out)
{
    int status = clv_phantom_grid_check(grid);
    if (status < 0)
        return status;
    if ((unsigned)kind > CLVOX_TENSOR_STEPS)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "there is no phantom of tensors of kind %d", (int)kind);
    return clv_tensor_phantom_make(kind, grid, seed, out);
}

int clvox_phantom_tensor(clvox_tensor_phantom kind, const clvox_grid *grid, uint64_t seed,
                         clvox_volume **tensor, clvox_volume **fa, clvox_volume **mask)
{
    CLV_GIVEN(grid);
    clv_tensor_phantom phantom;
    *tensor = *fa = *mask = NULL;
    int status = make(kind, grid, seed, &phantom);
    return status < 0 ? status : clv_tensor_phantom_truth(&phantom, grid, tensor, fa, mask);
}

int clvox_phantom_gradients(int directions, double b, uint64_t seed, clvox_gradients **out)
{
    CLV_GIVEN(out);
    *out = NULL;
    if (directions < 6)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "%d directions: a tensor takes 6 or more", directions);
    if (!(b > 0) || isinf(b))
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "a b-value of %g: above 0", b);
    return clv_tensor_phantom_gradients(directions, b, seed, out);
}

int clvox_phantom_dwi(clvox_tensor_phantom kind, const clvox_grid *grid, const clvox_gradients *gradients,
                      double snr, int rician, uint64_t seed, clvox_volume **out)
{
    CLV_GIVEN(grid, gradients, out);
    clv_tensor_phantom phantom;
    *out = NULL;
    int status = make(kind, grid, seed, &phantom);
    if (status >= 0 && !(snr > 0))
        status = clvox_fail(CLVOX_ERROR_ARGUMENT, "a signal-to-noise ratio of %g: above 0", snr);
    if (status >= 0)
        status = clv_tensor_phantom_dwi(&phantom, grid, gradients, snr, rician != 0, seed, out);
    if (status < 0)
        clvox_volume_destroy(out);
    return status;
}
