/* SPDX-License-Identifier: Apache-2.0 */
#include "phantom/phantom.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/matrix.h"
#include "base/options.h"
#include "clvox/threads.h"
#include "base/random.h"
#include "base/status.h"

static const double two_pi = 6.283185307179586476925;

static double uniform(uint64_t seed, uint64_t counter)
{
    return (double)(clv_random(seed, counter) >> 11) * 0x1p-53;
}

/* A sum of 16-bit uniforms is exact, so that it is the same on every machine,
 * which log and cos are not. */
double clv_phantom_normal(uint64_t seed, uint64_t counter)
{
    double sum = 0;
    for (uint64_t word = 0; word < 3; word++) {
        uint64_t bits = clv_random(seed, 3 * counter + word);
        for (int i = 0; i < 4; i++)
            sum += (double)((bits >> (16 * i)) & 0xffff);
    }
    return (sum + 6.0) / 65536.0 - 6.0;
}

void clvox_phantom_grid(const int size[3], const double spacing[3], int oblique, clvox_grid *out)
{
    CLV_GIVEN_OR(, size, spacing, out);
    /* A rotation by whole-number quaternion (10, 1, 2, 1): exact everywhere. */
    static const double turned[3][3] = {{96 / 106.0, -16 / 106.0, 42 / 106.0},
                                        {24 / 106.0, 102 / 106.0, -16 / 106.0},
                                        {-38 / 106.0, 24 / 106.0, 96 / 106.0}};
    memset(out, 0, sizeof *out);
    out->to_ras[3][3] = 1;
    for (int i = 0; i < 3; i++) {
        out->size[i] = size[i];
        for (int j = 0; j < 3; j++) {
            out->to_ras[i][j] = (oblique ? turned[i][j] : i == j) * spacing[j];
            out->to_ras[i][3] -= out->to_ras[i][j] * (size[j] - 1) * 0.5;
        }
    }
}

/* ---- displacements ------------------------------------------------------ */

/* W and its derivatives by t; false outside of the box. */
static bool window(const clv_phantom_warp *warp, const double t[3], double *value, double slope[3])
{
    double w[3], d[3];
    for (int a = 0; a < 3; a++) {
        w[a] = 1;
        d[a] = 0;
        if (!warp->thick[a])
            continue;
        if (!(t[a] > 0 && t[a] < 1))
            return false;
        w[a] = 0.5 * (1 - cos(two_pi * t[a]));
        d[a] = 0.5 * two_pi * sin(two_pi * t[a]);
    }
    *value = w[0] * w[1] * w[2];
    for (int a = 0; a < 3; a++)
        slope[a] = d[a] * w[(a + 1) % 3] * w[(a + 2) % 3];
    return true;
}

void clv_phantom_warp_at(const clv_phantom_warp *warp, const double x[3], double u[3])
{
    double t[3], value, slope[3];
    u[0] = u[1] = u[2] = 0;
    clv_matrix_apply(warp->to_box, x, t);
    if (!window(warp, t, &value, slope))
        return;
    for (int m = 0; m < CLV_PHANTOM_TERMS; m++) {
        const double *k = warp->k[m];
        double wave = value * sin(two_pi * (k[0] * t[0] + k[1] * t[1] + k[2] * t[2]) + warp->phase[m]);
        for (int i = 0; i < 3; i++)
            u[i] += warp->direction[m][i] * wave;
    }
}

void clv_phantom_warp_gradient(const clv_phantom_warp *warp, const double x[3], double du[3][3])
{
    double t[3], value, slope[3], by_t[3][3] = {{0}};
    memset(du, 0, 9 * sizeof(double));
    clv_matrix_apply(warp->to_box, x, t);
    if (!window(warp, t, &value, slope))
        return;
    for (int m = 0; m < CLV_PHANTOM_TERMS; m++) {
        const double *k = warp->k[m];
        double angle = two_pi * (k[0] * t[0] + k[1] * t[1] + k[2] * t[2]) + warp->phase[m];
        double s = sin(angle), c = two_pi * cos(angle);
        for (int a = 0; a < 3; a++)
            for (int i = 0; i < 3; i++)
                by_t[i][a] += warp->direction[m][i] * (slope[a] * s + value * k[a] * c);
    }
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            for (int a = 0; a < 3; a++)
                du[i][j] += by_t[i][a] * warp->to_box[a][j];
}

void clv_phantom_warp_inverse_at(const clv_phantom_warp *warp, const double y[3], double x[3])
{
    /* Newton's steps; steepness < 1 keeps I + Du regular, and the plain
     * fixed-point step, a contraction, takes over should one go astray. */
    memcpy(x, y, 3 * sizeof *x);
    for (int step = 0; step < 500; step++) {
        double u[3], du[3][3], rest[3], m[3][3], size = 0;
        clv_phantom_warp_at(warp, x, u);
        for (int i = 0; i < 3; i++) {
            rest[i] = y[i] - x[i] - u[i];
            size += rest[i] * rest[i];
        }
        if (size < 1e-20)
            return;
        if (step >= 20) {
            for (int i = 0; i < 3; i++)
                x[i] += rest[i];
            continue;
        }
        clv_phantom_warp_gradient(warp, x, du);
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++)
                m[i][j] = du[i][j] + (i == j);
        if (clv_matrix3_invert(CLV_MATRIX3(m), m) < 0)
            return;
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++)
                x[i] += m[i][j] * rest[j];
    }
}

int clv_phantom_warp_make(const clvox_grid *grid, double amplitude, uint64_t seed,
                          clv_phantom_warp *out)
{
    enum { LATTICE = 32, DEGREE = 3 }; /* waves of up to 2 periods and the window's one */
    clv_phantom_warp warp = {0};
    double from_box[4][4] = {{0}}, spacing[3];
    if (!(amplitude >= 0))
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "the amplitude of a warp must not be negative");
    clvox_grid_spacing(grid, spacing);
    for (int i = 0; i < 3; i++) {
        warp.thick[i] = grid->size[i] > 1;
        from_box[i][3] = grid->to_ras[i][3];
        for (int a = 0; a < 3; a++)
            from_box[i][a] = grid->to_ras[i][a] * (grid->size[a] > 1 ? grid->size[a] - 1 : 1);
    }
    from_box[3][3] = 1;
    int status = clv_matrix_invert(CLV_MATRIX(from_box), warp.to_box);
    if (status < 0)
        return status;
    for (int m = 0; m < CLV_PHANTOM_TERMS; m++) {
        uint64_t at = (uint64_t)m * 16;
        warp.phase[m] = two_pi * uniform(seed, at);
        for (int a = 0; a < 3; a++) {
            if (!warp.thick[a])
                continue;
            warp.k[m][a] = (double)(clv_random(seed, at + 1 + (uint64_t)a) % 5) - 2;
            double along = 2 * uniform(seed, at + 4 + (uint64_t)a) - 1;
            for (int i = 0; i < 3; i++)
                warp.direction[m][i] += along * grid->to_ras[i][a] / spacing[a];
        }
        /* Fast waves are weaker, so that large amplitudes stay invertible. */
        const double *k = warp.k[m];
        double fast = 1 + k[0] * k[0] + k[1] * k[1] + k[2] * k[2];
        for (int i = 0; i < 3; i++)
            warp.direction[m][i] /= fast;
    }
    /* Each entry of Du, along any direction, is a trigonometric polynomial of
     * degree n in each t: its maximum is at most the largest of N samples a
     * period divided by cos(pi n / N), axis by axis. */
    double longest = 0, steepest = 0, bound = 1;
    int count[3];
    for (int a = 0; a < 3; a++) {
        count[a] = warp.thick[a] ? LATTICE : 1;
        if (warp.thick[a])
            bound /= cos(0.5 * two_pi * DEGREE / LATTICE);
    }
    for (int n = 0; n < count[0] * count[1] * count[2]; n++) {
        double t[3] = {(n % count[0]) / (double)LATTICE, (n / count[0] % count[1]) / (double)LATTICE,
                       (n / count[0] / count[1]) / (double)LATTICE};
        double x[3], u[3], du[3][3], norm = 0;
        clv_matrix_apply(CLV_MATRIX(from_box), t, x);
        clv_phantom_warp_at(&warp, x, u);
        clv_phantom_warp_gradient(&warp, x, du);
        for (int i = 0; i < 9; i++)
            norm += du[i / 3][i % 3] * du[i / 3][i % 3];
        longest = fmax(longest, sqrt(u[0] * u[0] + u[1] * u[1] + u[2] * u[2]));
        steepest = fmax(steepest, sqrt(norm));
    }
    double scale = longest > 0 ? amplitude / longest : 0;
    warp.steepness = scale * steepest * bound;
    if (warp.steepness > 0.95)
        return clvox_fail(CLVOX_ERROR_ARGUMENT,
                          "a warp of %g mm could fold on this grid; use an amplitude of at most %.2f mm",
                          amplitude, floor(95 * amplitude / warp.steepness) / 100);
    for (int m = 0; m < CLV_PHANTOM_TERMS; m++)
        for (int i = 0; i < 3; i++)
            warp.direction[m][i] *= scale;
    *out = warp;
    return CLVOX_OK;
}

typedef struct sampling {
    const clv_phantom_warp *warp;
    const clv_phantom *phantom;
    const double (*matrix)[4];
    const clvox_grid *grid;
    bool inverse, labels;
    uint64_t noise;
    float *to;
} sampling;

static int sample_warp_plane(void *user, size_t z, int worker)
{
    const sampling *s = user;
    const clvox_grid *grid = s->grid;
    size_t voxels = clvox_grid_voxels(grid), at = z * (size_t)grid->size[0] * (size_t)grid->size[1];
    (void)worker;
    for (int y = 0; y < grid->size[1]; y++)
        for (int x = 0; x < grid->size[0]; x++, at++) {
            double p[3], u[3];
            clv_matrix_apply(grid->to_ras, (double[3]){x, y, (double)z}, p);
            if (s->inverse) {
                clv_phantom_warp_inverse_at(s->warp, p, u);
                for (int i = 0; i < 3; i++)
                    u[i] -= p[i];
            } else {
                clv_phantom_warp_at(s->warp, p, u);
            }
            for (size_t i = 0; i < 3; i++)
                s->to[i * voxels + at] = (float)u[i];
        }
    return CLVOX_OK;
}

int clv_phantom_warp_sample(const clv_phantom_warp *warp, const clvox_grid *grid, bool inverse,
                            clvox_volume **out)
{
    int status = clvox_volume_create(grid, 3, CLVOX_KIND_DISPLACEMENT, out);
    if (status < 0)
        return status;
    sampling s = {.warp = warp, .grid = grid, .inverse = inverse, .to = (*out)->data};
    return clvox_parallel((size_t)grid->size[2], sample_warp_plane, &s);
}

/* ---- images ------------------------------------------------------------- */

enum { PERIOD = 32 }; /* of the texture's lattice, in cells */

int clv_phantom_make(clvox_phantom_kind kind, const clvox_grid *grid, uint64_t seed, double noise,
                     clv_phantom *out)
{
    double from_unit[4][4] = {{0}}, spacing[3], smallest = 0, finest = 0;
    memset(out, 0, sizeof *out);
    out->kind = kind;
    out->seed = seed;
    out->noise = noise;
    clvox_grid_spacing(grid, spacing);
    from_unit[3][3] = 1;
    for (int i = 0; i < 3; i++) {
        from_unit[i][3] = grid->to_ras[i][3];
        for (int a = 0; a < 3; a++) {
            from_unit[i][a] = grid->to_ras[i][a] * grid->size[a] * 0.38;
            from_unit[i][3] += grid->to_ras[i][a] * (grid->size[a] - 1) * 0.5;
        }
        out->center[i] = from_unit[i][3];
    }
    for (int a = 0; a < 3; a++) {
        if (grid->size[a] == 1)
            continue;
        double extent = spacing[a] * grid->size[a];
        smallest = smallest > 0 ? fmin(smallest, extent) : extent;
        finest = fmax(finest, 1 / (0.38 * grid->size[a]));
    }
    int status = clv_matrix_invert(CLV_MATRIX(from_unit), out->to_unit);
    if (status < 0)
        return status;
    out->radius = 0.3 * (smallest > 0 ? smallest : spacing[0]);
    out->edge = fmin(spacing[0], fmin(spacing[1], spacing[2]));
    out->unit_edge = finest > 0 ? finest : 1;
    if (kind != CLVOX_PHANTOM_TEXTURED)
        return CLVOX_OK;
    out->lattice = malloc(sizeof(float) * PERIOD * PERIOD * PERIOD);
    if (!out->lattice)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory for a phantom");
    for (uint64_t i = 0; i < (uint64_t)PERIOD * PERIOD * PERIOD; i++)
        out->lattice[i] = (float)(2 * uniform(seed, i) - 1);
    return CLVOX_OK;
}

void clv_phantom_free(clv_phantom *phantom)
{
    free(phantom->lattice);
    phantom->lattice = NULL;
}

/* The cubic B-spline with the lattice's values as coefficients, at p in cells. */
static double spline(const float *lattice, const double p[3])
{
    double weight[3][4], sum = 0;
    int index[3][4];
    for (int a = 0; a < 3; a++) {
        double whole = floor(p[a]), f = p[a] - whole, g = 1 - f;
        weight[a][0] = g * g * g / 6;
        weight[a][1] = (4 - 6 * f * f + 3 * f * f * f) / 6;
        weight[a][2] = (4 - 6 * g * g + 3 * g * g * g) / 6;
        weight[a][3] = f * f * f / 6;
        for (int i = 0; i < 4; i++)
            index[a][i] = (int)(((int64_t)whole + i - 1) & (PERIOD - 1));
    }
    for (int z = 0; z < 4; z++)
        for (int y = 0; y < 4; y++) {
            const float *row = lattice + ((size_t)index[2][z] * PERIOD + (size_t)index[1][y]) * PERIOD;
            double w = weight[2][z] * weight[1][y];
            sum += w * (weight[0][0] * (double)row[index[0][0]] + weight[0][1] * (double)row[index[0][1]] +
                        weight[0][2] * (double)row[index[0][2]] + weight[0][3] * (double)row[index[0][3]]);
        }
    return sum;
}

/* 0 to 1 over an edge of that width around distance 0, inside positive. */
static double ramp(double inside, double width)
{
    return fmin(fmax(inside / width + 0.5, 0), 1);
}

static double norm(const double p[3])
{
    return sqrt(p[0] * p[0] + p[1] * p[1] + p[2] * p[2]);
}

double clv_phantom_at(const clv_phantom *phantom, const double x[3])
{
    double p[3], r;
    switch (phantom->kind) {
    case CLVOX_PHANTOM_BALL:
        for (int i = 0; i < 3; i++)
            p[i] = x[i] - phantom->center[i];
        return 100 * ramp(phantom->radius - norm(p), phantom->edge);
    case CLVOX_PHANTOM_SHELLS: {
        double sum = 0;
        clv_matrix_apply(phantom->to_unit, x, p);
        r = norm(p);
        for (int shell = 0; shell < 4; shell++)
            sum += 100 * ramp(1 - 0.25 * shell - r, phantom->unit_edge);
        return sum;
    }
    case CLVOX_PHANTOM_TEXTURED:
        break;
    case CLVOX_PHANTOM_CONSTANT:
        return 100;
    }
    clv_matrix_apply(phantom->to_unit, x, p);
    r = norm(p);
    if (r >= 1.04)
        return 0;
    /* Smooth from 0 to 1 over r = 1.04 .. 0.88. */
    double rim = fmin(fmax((1.04 - r) / 0.16, 0), 1), texture = 0, cells = 2, strength = 1;
    for (int scale = 0; scale < 3; scale++) {
        double q[3];
        for (int a = 0; a < 3; a++)
            q[a] = cells * p[a] + 7.3 * scale + 0.37 * a;
        texture += strength * spline(phantom->lattice, q);
        cells *= 2;
        strength *= 0.8;
    }
    return rim * rim * (3 - 2 * rim) * (400 + 400 * texture);
}

int clv_phantom_label_at(const clv_phantom *phantom, const double x[3])
{
    double p[3];
    if (phantom->kind == CLVOX_PHANTOM_BALL) {
        for (int i = 0; i < 3; i++)
            p[i] = x[i] - phantom->center[i];
        return norm(p) <= phantom->radius;
    }
    clv_matrix_apply(phantom->to_unit, x, p);
    double r = norm(p);
    if (phantom->kind != CLVOX_PHANTOM_SHELLS)
        return r <= 1;
    int label = 0;
    for (int shell = 0; shell < 4; shell++)
        label += r <= 1 - 0.25 * shell;
    return label;
}

static int sample_image_plane(void *user, size_t z, int worker)
{
    const sampling *s = user;
    const clvox_grid *grid = s->grid;
    size_t at = z * (size_t)grid->size[0] * (size_t)grid->size[1];
    (void)worker;
    for (int y = 0; y < grid->size[1]; y++)
        for (int x = 0; x < grid->size[0]; x++, at++) {
            double p[3], u[3];
            clv_matrix_apply(grid->to_ras, (double[3]){x, y, (double)z}, p);
            if (s->warp) {
                clv_phantom_warp_at(s->warp, p, u);
                for (int i = 0; i < 3; i++)
                    p[i] += u[i];
            }
            if (s->matrix)
                clv_matrix_apply(s->matrix, p, p);
            if (s->labels) {
                s->to[at] = (float)clv_phantom_label_at(s->phantom, p);
                continue;
            }
            double value = clv_phantom_at(s->phantom, p);
            if (s->phantom->noise > 0)
                value += s->phantom->noise * clv_phantom_normal(s->noise, at);
            s->to[at] = (float)value;
        }
    return CLVOX_OK;
}

int clv_phantom_image(const clv_phantom *phantom, const clvox_grid *grid,
                      const double matrix[4][4], const clv_phantom_warp *warp,
                      uint64_t noise_seed, clvox_volume **out)
{
    int status = clvox_volume_create(grid, 1, CLVOX_KIND_SCALAR, out);
    if (status < 0)
        return status;
    sampling s = {.warp = warp, .phantom = phantom, .matrix = matrix, .grid = grid, .to = (*out)->data,
                  .noise = clv_random(phantom->seed, ~noise_seed)};
    return clvox_parallel((size_t)grid->size[2], sample_image_plane, &s);
}

int clv_phantom_labels(const clv_phantom *phantom, const clvox_grid *grid,
                       const double matrix[4][4], const clv_phantom_warp *warp,
                       clvox_volume **out)
{
    int status = clvox_volume_create(grid, 1, CLVOX_KIND_LABEL, out);
    if (status < 0)
        return status;
    (*out)->type = CLVOX_TYPE_UINT8;
    sampling s = {.warp = warp, .phantom = phantom, .matrix = matrix, .grid = grid, .labels = true,
                  .to = (*out)->data};
    return clvox_parallel((size_t)grid->size[2], sample_image_plane, &s);
}

/* ---- as clvox/phantom.h has them ------------------------------------------ */

void clvox_phantom_defaults(clvox_phantom *phantom)
{
    CLV_GIVEN_OR(, phantom);
    *phantom = (clvox_phantom){.size = sizeof *phantom, .seed = 1, .noise_seed = 1};
    clvox_phantom_grid((int[3]){64, 64, 64}, (double[3]){1, 1, 1}, false, &phantom->grid);
    clv_matrix_identity(phantom->matrix);
}

int clv_phantom_grid_check(const clvox_grid *grid)
{
    for (int i = 0; i < 3; i++)
        if (grid->size[i] < 1)
            return clvox_fail(CLVOX_ERROR_ARGUMENT, "a phantom of %d x %d x %d voxels cannot be made",
                              grid->size[0], grid->size[1], grid->size[2]);
    if (!clv_matrix_regular(grid->to_ras))
        return clvox_fail(CLVOX_ERROR_ARGUMENT,
                          "a phantom cannot be made on a grid whose matrix is singular or not finite");
    return CLVOX_OK;
}

static int make_warp(const clvox_grid *grid, double amplitude, uint64_t seed, clv_phantom_warp *out)
{
    if (!(amplitude >= 0) || isinf(amplitude))
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "a warp of %g mm: 0 or more", amplitude);
    return clv_phantom_warp_make(grid, amplitude, seed, out);
}

static int sample(const clvox_phantom *p, bool labels, clvox_volume **out)
{
    clv_phantom phantom = {0};
    clv_phantom_warp warp;
    int status = clv_options_sized(p, sizeof *p);
    *out = NULL;
    if (status < 0)
        return status;
    if ((unsigned)p->kind > CLVOX_PHANTOM_CONSTANT)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "there is no phantom of kind %d", (int)p->kind);
    if (!(p->noise >= 0) || isinf(p->noise))
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "noise of %g: 0 or more", p->noise);
    if (!clv_matrix_regular(p->matrix))
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "a phantom's matrix is singular or not finite");
    CLV_TRY(clv_phantom_grid_check(&p->grid));
    if (p->amplitude != 0)
        CLV_TRY(make_warp(&p->grid, p->amplitude, p->seed, &warp));
    CLV_TRY(clv_phantom_make(p->kind, &p->grid, p->seed, p->noise, &phantom));
    const clv_phantom_warp *through = p->amplitude != 0 ? &warp : NULL;
    const double(*matrix)[4] = CLV_MATRIX(p->matrix);
    CLV_TRY(labels ? clv_phantom_labels(&phantom, &p->grid, matrix, through, out)
                   : clv_phantom_image(&phantom, &p->grid, matrix, through, p->noise_seed, out));
end:
    if (status < 0)
        clvox_volume_destroy(out);
    clv_phantom_free(&phantom);
    return status;
}

int clvox_phantom_image(const clvox_phantom *phantom, clvox_volume **out)
{
    CLV_GIVEN(phantom, out);
    return sample(phantom, false, out);
}

int clvox_phantom_labels(const clvox_phantom *phantom, clvox_volume **out)
{
    CLV_GIVEN(phantom, out);
    return sample(phantom, true, out);
}

int clvox_phantom_warp(const clvox_grid *grid, double amplitude, uint64_t seed, int inverse,
                       clvox_volume **out)
{
    CLV_GIVEN(grid, out);
    clv_phantom_warp warp;
    int status = CLVOX_OK;
    *out = NULL;
    CLV_TRY(clv_phantom_grid_check(grid));
    CLV_TRY(make_warp(grid, amplitude, seed, &warp));
    CLV_TRY(clv_phantom_warp_sample(&warp, grid, inverse != 0, out));
end:
    if (status < 0)
        clvox_volume_destroy(out);
    return status;
}

int clvox_phantom_amplitude(const clvox_grid *grid, uint64_t seed, double *amplitude)
{
    CLV_GIVEN(grid, amplitude);
    clv_phantom_warp warp;
    double spacing[3];
    *amplitude = 0;
    int status = clv_phantom_grid_check(grid);
    if (status < 0)
        return status;
    /* A small one shows how steep this seed's warp is. */
    clvox_grid_spacing(grid, spacing);
    double small = 1e-3 * fmin(spacing[0], fmin(spacing[1], spacing[2]));
    status = clv_phantom_warp_make(grid, small, seed, &warp);
    if (status >= 0 && warp.steepness > 0)
        *amplitude = fmin(5, 0.6 * small / warp.steepness);
    return status;
}
