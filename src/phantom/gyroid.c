/* SPDX-License-Identifier: Apache-2.0 */
/* The exact distance to a gyroid within a ball. Its boundary is a part of the
 * gyroid, a part of the sphere, and the curve where they meet. The nearest point
 * of the sphere's part is the radial projection, or lies on the curve; for the
 * others, points about half a voxel apart lie in a tree, and each that could be
 * near the nearest point starts a Newton iteration for it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "phantom/phantom.h"
#include "phantom/surface.h"
#include "mesh/mesh.h"

enum { REFINED = 12 }; /* nearest points looked for at most */

static const double two_pi = 6.283185307179586476925;

typedef struct sample {
    double p[3];
    bool curve; /* on the sphere too */
} sample;

struct clv_gyroid {
    double k, radius, apart; /* apart: farthest that a point of the surface is from a sample */
    sample *samples;         /* as a tree: the middle of a range parts the rest along its axis */
    unsigned char *axis;
    size_t count;
};

/* Position of the gyroid in the ball. With a radius of 0.643 periods inside and outside are of one piece each, of
 * genus 3, and stay so when the surface moves by a tenth of the radius; most other places leave slivers at the
 * sphere. */
static const double phase[3] = {5.97, 1.29, 1.12};

/* sin kx cos ky + sin ky cos kz + sin kz cos kx; g, h: its derivatives. */
static double level(double k, const double p[3], double g[3], double h[3][3])
{
    double s[3], c[3];
    for (int a = 0; a < 3; a++) {
        s[a] = sin(k * p[a] + phase[a]);
        c[a] = cos(k * p[a] + phase[a]);
    }
    for (int a = 0; g && a < 3; a++) {
        int b = (a + 1) % 3, d = (a + 2) % 3;
        g[a] = k * (c[a] * c[b] - s[d] * s[a]);
        if (h) {
            h[a][a] = -k * k * (s[a] * c[b] + s[d] * c[a]);
            h[a][b] = h[b][a] = -k * k * c[a] * s[b];
        }
    }
    return s[0] * c[1] + s[1] * c[2] + s[2] * c[0];
}

static double dot(const double a[3], const double b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static double apart2(const double a[3], const double b[3])
{
    double d[3] = {a[0] - b[0], a[1] - b[1], a[2] - b[2]};
    return dot(d, d);
}

double clv_gyroid_implicit(const clv_gyroid *gyroid, const double p[3])
{
    double g[3], value = level(gyroid->k, p, g, NULL);
    return fmax(sqrt(dot(p, p)) - gyroid->radius, value / fmax(sqrt(dot(g, g)), 0.1 * gyroid->k));
}

/* Gaussian elimination of a symmetric system; false when it is singular. */
static bool solve(double m[5][6], int n)
{
    for (int i = 0; i < n; i++) {
        int best = i;
        for (int r = i + 1; r < n; r++)
            if (fabs(m[r][i]) > fabs(m[best][i]))
                best = r;
        if (!(fabs(m[best][i]) > 1e-12))
            return false;
        for (int c = i; c <= n; c++) {
            double swap = m[i][c];
            m[i][c] = m[best][c];
            m[best][c] = swap;
        }
        for (int r = 0; r < n; r++) {
            double f = r == i ? 0 : m[r][i] / m[i][i];
            for (int c = i; c <= n && f != 0; c++)
                m[r][c] -= f * m[i][c];
        }
    }
    for (int i = 0; i < n; i++)
        m[i][n] /= m[i][i];
    return true;
}

/* Moves x to the point of the gyroid (and with curve of the sphere) that is
 * nearest to p, by Newton's method for |x - p|^2 / 2 + sum of multipliers times
 * constraints. False where that does not converge nearby. */
static bool refine(const clv_gyroid *gyroid, const double p[3], bool curve, double x[3])
{
    double start[3] = {x[0], x[1], x[2]}, times[2] = {0};
    int n = curve ? 5 : 4;
    for (int round = 0; round < 16; round++) {
        double g[2][3], h[3][3], value[2], m[5][6] = {{0}};
        value[0] = level(gyroid->k, x, g[0], h);
        for (int i = 0; i < 3; i++)
            g[1][i] = x[i] / gyroid->radius;
        value[1] = (dot(x, x) - gyroid->radius * gyroid->radius) / (2 * gyroid->radius);
        if (round == 0) {
            double d[3] = {p[0] - x[0], p[1] - x[1], p[2] - x[2]}, both = dot(g[0], g[1]);
            double a = dot(g[0], g[0]), b = curve ? dot(g[1], g[1]) : 1, c = curve ? both : 0;
            double e = dot(d, g[0]), f = curve ? dot(d, g[1]) : 0;
            if (!(a * b - c * c > 1e-9 * a * b))
                return false;
            times[0] = (e * b - f * c) / (a * b - c * c);
            times[1] = (f * a - e * c) / (a * b - c * c);
        }
        for (int i = 0; i < 3; i++) {
            m[i][n] = p[i] - x[i];
            for (int q = 0; q < n - 3; q++) {
                m[i][3 + q] = m[3 + q][i] = g[q][i];
                m[i][n] -= times[q] * g[q][i];
                m[3 + q][n] = -value[q];
            }
            for (int j = 0; j < 3; j++)
                m[i][j] = (i == j) * (1 + times[1] / gyroid->radius) + times[0] * h[i][j];
        }
        if (!solve(m, n))
            return false;
        double step = 0;
        for (int i = 0; i < 3; i++) {
            x[i] += m[i][n];
            step += m[i][n] * m[i][n];
        }
        for (int q = 0; q < n - 3; q++)
            times[q] += m[3 + q][n];
        if (!(apart2(x, start) < 16 * gyroid->apart * gyroid->apart))
            return false;
        if (step < 1e-18 * gyroid->radius * gyroid->radius)
            return true;
    }
    return false;
}

/* ---- the tree ----------------------------------------------------------- */

static void build(clv_gyroid *gyroid, size_t low, size_t high)
{
    while (high - low > 1) {
        sample *s = gyroid->samples;
        double least[3], largest[3];
        size_t middle = low + (high - low) / 2, from = low, to = high - 1;
        int axis = 0;
        memcpy(least, s[low].p, sizeof least);
        memcpy(largest, s[low].p, sizeof largest);
        for (size_t i = low; i < high; i++)
            for (int a = 0; a < 3; a++) {
                least[a] = fmin(least[a], s[i].p[a]);
                largest[a] = fmax(largest[a], s[i].p[a]);
            }
        for (int a = 1; a < 3; a++)
            if (largest[a] - least[a] > largest[axis] - least[axis])
                axis = a;
        while (from < to) {
            double pivot = s[from + (to - from) / 2].p[axis];
            size_t i = from, j = to;
            for (;; i++, j--) {
                while (s[i].p[axis] < pivot)
                    i++;
                while (s[j].p[axis] > pivot)
                    j--;
                if (i >= j)
                    break;
                sample swap = s[i];
                s[i] = s[j];
                s[j] = swap;
            }
            if (middle <= j)
                to = j;
            else
                from = j + 1;
        }
        gyroid->axis[middle] = (unsigned char)axis;
        build(gyroid, low, middle);
        low = middle + 1;
    }
}

typedef struct search {
    const clv_gyroid *gyroid;
    double p[3];
    double limit;  /* squared: samples beyond it do not matter */
    bool refining; /* else only the nearest is looked for */
    size_t nearest;
    double best;   /* squared distance to the surface */
    sample place[REFINED]; /* nearest points already looked for */
    int places;
} search;

/* The nearest point of the surface around a sample. */
static void look_near(search *q, const sample *s)
{
    const clv_gyroid *gyroid = q->gyroid;
    double x[3] = {s->p[0], s->p[1], s->p[2]}, limit = 3 * gyroid->apart;
    for (int i = 0; i < q->places; i++)
        if (q->place[i].curve == s->curve && apart2(s->p, q->place[i].p) < limit * limit)
            return;
    if (q->places == REFINED)
        return;
    q->best = fmin(q->best, apart2(s->p, q->p));
    if (refine(gyroid, q->p, s->curve, x)) {
        double r = gyroid->radius * (1 + 1e-9);
        if (dot(x, x) <= r * r)
            q->best = fmin(q->best, apart2(x, q->p));
    } else {
        memcpy(x, s->p, sizeof x);
    }
    memcpy(q->place[q->places].p, x, sizeof x);
    q->place[q->places++].curve = s->curve;
    q->limit = q->best + 2 * gyroid->apart * gyroid->apart;
}

static void visit(search *q, size_t low, size_t high)
{
    const clv_gyroid *gyroid = q->gyroid;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const sample *s = &gyroid->samples[middle];
        double d = apart2(s->p, q->p);
        if (d < q->limit && q->refining) {
            look_near(q, s);
        } else if (d < q->limit) {
            q->limit = d;
            q->nearest = middle;
        }
        double side = high - low > 1 ? q->p[gyroid->axis[middle]] - s->p[gyroid->axis[middle]] : 0;
        if (side <= 0)
            visit(q, low, middle);
        else
            visit(q, middle + 1, high);
        if (side * side > q->limit)
            return;
        if (side <= 0)
            low = middle + 1;
        else
            high = middle;
    }
}

double clv_gyroid_distance(const clv_gyroid *gyroid, const double p[3])
{
    search q = {.gyroid = gyroid, .p = {p[0], p[1], p[2]}, .limit = INFINITY, .best = INFINITY};
    double length = sqrt(dot(p, p)), radial[3] = {0};
    visit(&q, 0, gyroid->count);
    q.refining = true;
    if (length > 0) {
        for (int i = 0; i < 3; i++)
            radial[i] = p[i] * gyroid->radius / length;
        if (level(gyroid->k, radial, NULL, NULL) <= 0)
            q.best = (length - gyroid->radius) * (length - gyroid->radius);
    }
    q.limit = fmin(q.limit, q.best) + 2 * gyroid->apart * gyroid->apart;
    look_near(&q, &gyroid->samples[q.nearest]);
    visit(&q, 0, gyroid->count);
    bool inside = length < gyroid->radius && level(gyroid->k, p, NULL, NULL) < 0;
    return inside ? -sqrt(q.best) : sqrt(q.best);
}

/* ---- samples ------------------------------------------------------------ */

/* Onto the constraints by Gauss-Newton steps, wherever that leads nearby. */
static bool onto(const clv_gyroid *gyroid, bool curve, double x[3])
{
    double p[3];
    for (int round = 0; round < 4; round++) {
        memcpy(p, x, sizeof p);
        if (!refine(gyroid, p, curve, x))
            return false;
    }
    return true;
}

static int take_samples(clv_gyroid *gyroid, const clvox_surface *mesh)
{
    gyroid->samples = malloc(2 * (mesh->vertices + 1) * sizeof *gyroid->samples);
    gyroid->axis = calloc(2 * (mesh->vertices + 1), 1);
    if (!gyroid->samples || !gyroid->axis)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory for a gyroid");
    for (size_t i = 0; i < mesh->vertices; i++) {
        const double *from = mesh->points + 3 * i;
        double x[3], g[3];
        memcpy(x, from, sizeof x);
        double value = level(gyroid->k, x, g, NULL) / sqrt(dot(g, g)), r = gyroid->radius;
        double height = sqrt(dot(x, x)) - r;
        if (fabs(value) < 0.5 * gyroid->apart && onto(gyroid, false, x) && dot(x, x) <= r * r) {
            memcpy(gyroid->samples[gyroid->count].p, x, sizeof x);
            gyroid->samples[gyroid->count++].curve = false;
        }
        memcpy(x, from, sizeof x);
        if (fabs(value) < 2 * gyroid->apart && fabs(height) < 2 * gyroid->apart && onto(gyroid, true, x)) {
            memcpy(gyroid->samples[gyroid->count].p, x, sizeof x);
            gyroid->samples[gyroid->count++].curve = true;
        }
    }
    return gyroid->count ? CLVOX_OK : clvox_fail(CLVOX_ERROR_ARGUMENT, "the grid is too coarse for a gyroid");
}

int clv_gyroid_make(double period, double radius, double voxel, clv_gyroid **out)
{
    clvox_volume *volume = NULL;
    clvox_surface *mesh = NULL;
    clvox_grid grid;
    /* Fine enough for the period, too: curvature goes up to 0.8 k. */
    double apart = fmin(0.5 * voxel, period / 24);
    double cells = 2 * ceil(radius / apart) + 5;
    int status = CLVOX_OK, n = (int)cells;
    clv_gyroid *gyroid = calloc(1, sizeof *gyroid);
    *out = NULL;
    if (!gyroid)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory for a gyroid");
    gyroid->k = two_pi / period;
    gyroid->radius = radius;
    gyroid->apart = apart;
    if (!(cells <= 1000)) {
        status = clvox_fail(CLVOX_ERROR_ARGUMENT, "the grid is too fine for a gyroid of this size");
        goto end;
    }
    clvox_phantom_grid((int[3]){n, n, n}, (double[3]){apart, apart, apart}, false, &grid);
    CLV_TRY(clvox_volume_create(&grid, 1, CLVOX_KIND_SCALAR, &volume));
    float *to = volume->data;
    for (int z = 0; z < n; z++)
        for (int y = 0; y < n; y++)
            for (int x = 0; x < n; x++) {
                double c = 0.5 * (n - 1), p[3] = {(x - c) * apart, (y - c) * apart, (z - c) * apart};
                *to++ = (float)clv_gyroid_implicit(gyroid, p);
            }
    CLV_TRY(clvox_surface_extract(volume, 0, false, &mesh));
    CLV_TRY(take_samples(gyroid, mesh));
    build(gyroid, 0, gyroid->count);
    *out = gyroid;
    gyroid = NULL;
end:
    clvox_volume_destroy(&volume);
    clvox_surface_destroy(&mesh);
    clv_gyroid_free(gyroid);
    return status;
}

void clv_gyroid_free(clv_gyroid *gyroid)
{
    if (!gyroid)
        return;
    free(gyroid->samples);
    free(gyroid->axis);
    free(gyroid);
}
