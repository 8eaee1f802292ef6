/* SPDX-License-Identifier: Apache-2.0 */
#include "ref/epi/blip.h"

#include <math.h>
#include <stdlib.h>

static int voxels_of(const ref_blips *b)
{
    return b->size[0] * b->size[1] * b->size[2];
}

static void place_of(const ref_blips *b, int i, int x[3])
{
    x[0] = i % b->size[0];
    x[1] = i / b->size[0] % b->size[1];
    x[2] = i / b->size[0] / b->size[1];
}

static int at(const ref_blips *b, int x, int y, int z)
{
    return (z * b->size[1] + y) * b->size[0] + x;
}

/* Weights of D at voxel i: half the value after it less half of the one before, the border's going on. */
static void difference(const ref_blips *b, int i, int place[2])
{
    for (int side = 0; side < 2; side++) {
        int x[3];
        place_of(b, i, x);
        x[b->axis] += side ? 1 : -1;
        x[b->axis] = x[b->axis] < 0 ? 0 : x[b->axis] >= b->size[b->axis] ? b->size[b->axis] - 1 : x[b->axis];
        place[side] = at(b, x[0], x[1], x[2]);
    }
}

static double rise(const ref_blips *b, const double *v, int i)
{
    int place[2];
    difference(b, i, place);
    return .5 * (v[place[1]] - v[place[0]]);
}

/* out += D' t. */
static void add_transposed(const ref_blips *b, const double *t, double *out)
{
    for (int i = 0; i < voxels_of(b); i++) {
        int place[2];
        difference(b, i, place);
        out[place[1]] += .5 * t[i];
        out[place[0]] -= .5 * t[i];
    }
}

/* The trilinear value, its derivative along the axis; whether M x lies in the image across it. */
static double sample(const ref_blips *b, int k, double f, int i, double *slope, int *inside)
{
    const double *map = b->maps + 13 * k, *image = b->images + (size_t)k * (size_t)voxels_of(b);
    double p[3], fraction[3], value = 0;
    int x[3], base[3], beyond = 0;
    place_of(b, i, x);
    *inside = 1;
    *slope = 0;
    for (int a = 0; a < 3; a++) {
        const double last = b->size[a] - 1;
        p[a] = map[4 * a] * x[0] + map[4 * a + 1] * x[1] + map[4 * a + 2] * x[2] + map[4 * a + 3];
        if (a != b->axis && !(p[a] >= -.5 && p[a] <= last + .5))
            *inside = 0;
        if (a == b->axis)
            p[a] += map[12] * f;
        const double on = fmin(fmax(p[a], 0), last);
        beyond |= a == b->axis && on != p[a];
        base[a] = (int)fmax(fmin(floor(on), last - 1), 0);
        fraction[a] = on - base[a];
    }
    for (int corner = 0; corner < 8; corner++) {
        double w = 1, dw = 1;
        int c[3];
        for (int a = 0; a < 3; a++) {
            const int up = corner >> a & 1;
            c[a] = base[a] + up < b->size[a] ? base[a] + up : base[a];
            w *= up ? fraction[a] : 1 - fraction[a];
            dw *= a == b->axis ? (up ? 1 : -1) : up ? fraction[a] : 1 - fraction[a];
        }
        value += w * image[at(b, c[0], c[1], c[2])];
        *slope += dw * image[at(b, c[0], c[1], c[2])];
    }
    if (beyond)
        *slope = 0;
    return value;
}

double ref_blip_image(const ref_blips *b, int k, const double *f, int i)
{
    double slope;
    int inside;
    const double value = sample(b, k, f[i], i, &slope, &inside);
    return inside ? value * (1 + b->maps[13 * k + 12] * rise(b, f, i)) : (double)NAN;
}

void ref_blip_terms(const ref_blips *b, const double *f, double *terms, double *energy)
{
    const int n = voxels_of(b);
    double(*each)[3] = malloc((size_t)b->count * sizeof *each);
    for (int i = 0; i < n; i++) {
        double mean[3] = {0, 0, 0}, sums[6] = {0};
        int all = 1;
        for (int k = 0; k < b->count; k++) {
            double slope;
            int inside;
            const double c = b->maps[13 * k + 12], value = sample(b, k, f[i], i, &slope, &inside),
                         jacobian = 1 + c * rise(b, f, i);
            all &= inside;
            each[k][0] = value * jacobian;
            each[k][1] = c * slope * jacobian;
            each[k][2] = c * value;
            for (int m = 0; m < 3; m++)
                mean[m] += each[k][m] / b->count;
        }
        for (int k = 0; all && k < b->count; k++)
            for (int m = 0, s = 0; m < 3; m++)
                for (int o = m; o < 3; o++, s++)
                    sums[s] += (each[k][m] - mean[m]) * (each[k][o] - mean[o]);
        energy[i] = sums[0];
        for (int s = 1; s < 6; s++)
            terms[(s - 1) * n + i] = sums[s];
    }
    free(each);
}

/* The second difference along an axis at voxel i, per mm^2, and its places: the voxel before, itself, the one
 * after. 0 where one of these is missing. */
static double second(const ref_blips *b, const double *v, int i, int axis, int place[3])
{
    int x[3];
    place_of(b, i, x);
    if (x[axis] == 0 || x[axis] == b->size[axis] - 1)
        return 0;
    for (int k = 0; k < 3; k++) {
        int y[3] = {x[0], x[1], x[2]};
        y[axis] += k - 1;
        place[k] = at(b, y[0], y[1], y[2]);
    }
    return (v[place[0]] - 2 * v[place[1]] + v[place[2]]) / (b->spacing[axis] * b->spacing[axis]);
}

double ref_blip_bend(const ref_blips *b, const double *v)
{
    double sum = 0;
    int place[3];
    for (int i = 0; i < voxels_of(b); i++)
        for (int a = 0; a < 3; a++)
            sum += pow(second(b, v, i, a, place), 2);
    return sum;
}

void ref_blip_bending(const ref_blips *b, const double *v, double *out)
{
    for (int i = 0; i < voxels_of(b); i++)
        out[i] = 0;
    for (int i = 0; i < voxels_of(b); i++)
        for (int a = 0; a < 3; a++) {
            int place[3] = {0, 0, 0};
            const double d = second(b, v, i, a, place) / (b->spacing[a] * b->spacing[a]);
            if (d == 0)
                continue;
            out[place[0]] += d;
            out[place[1]] -= 2 * d;
            out[place[2]] += d;
        }
}

/* out += lambda B v. */
static void add_bending(const ref_blips *b, const double *v, double *out)
{
    const size_t n = (size_t)voxels_of(b);
    double *of = malloc(n * sizeof *of);
    ref_blip_bending(b, v, of);
    for (size_t i = 0; i < n; i++)
        out[i] += b->lambda * of[i];
    free(of);
}

void ref_blip_operator(const ref_blips *b, const double *terms, const double *v, double *out)
{
    const int n = voxels_of(b);
    double *t = malloc((size_t)n * sizeof *t);
    for (int i = 0; i < n; i++) {
        out[i] = terms[2 * n + i] * v[i] + terms[3 * n + i] * rise(b, v, i);
        t[i] = terms[3 * n + i] * v[i] + terms[4 * n + i] * rise(b, v, i);
    }
    add_transposed(b, t, out);
    add_bending(b, v, out);
    free(t);
}

void ref_blip_gradient(const ref_blips *b, const double *terms, const double *f, double *out)
{
    const int n = voxels_of(b);
    for (int i = 0; i < n; i++)
        out[i] = terms[i];
    add_transposed(b, terms + n, out);
    add_bending(b, f, out);
}

void ref_blip_diagonal(const ref_blips *b, const double *terms, double *out)
{
    const size_t n = (size_t)voxels_of(b);
    double *unit = calloc(n, sizeof *unit), *column = malloc(n * sizeof *column);
    for (size_t i = 0; i < n; i++) {
        unit[i] = 1;
        ref_blip_operator(b, terms, unit, column);
        out[i] = column[i];
        unit[i] = 0;
    }
    free(unit);
    free(column);
}

double ref_blip_energy(const ref_blips *b, const double *f)
{
    const size_t n = (size_t)voxels_of(b);
    double sum = 0, *terms = malloc(5 * n * sizeof *terms), *energy = malloc(n * sizeof *energy);
    ref_blip_terms(b, f, terms, energy);
    for (size_t i = 0; i < n; i++)
        sum += energy[i];
    sum += b->lambda * ref_blip_bend(b, f);
    free(terms);
    free(energy);
    return .5 * sum;
}
