/* SPDX-License-Identifier: Apache-2.0 */
#include "ref/tensor/primal_dual.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const int PLANE[9] = {0, 1, 2, 1, 3, 4, 2, 4, 5};

static double squared(double v)
{
    return v * v;
}

static bool inside(const ref_tensor_pd *r, int x, int y, int z)
{
    return x < r->size[0] && y < r->size[1] && z < r->size[2] &&
           (!r->mask || r->mask[(z * r->size[1] + y) * r->size[0] + x] > 0);
}

/* The neighbour of voxel i in the positive direction of the axis, or -1. */
static int next(const ref_tensor_pd *r, int i, int axis)
{
    int x = i % r->size[0], y = i / r->size[0] % r->size[1], z = i / (r->size[0] * r->size[1]);
    if (!inside(r, x, y, z) || !inside(r, x + (axis == 0), y + (axis == 1), z + (axis == 2)))
        return -1;
    return i + (axis == 0 ? 1 : axis == 1 ? r->size[0] : r->size[0] * r->size[1]);
}

static int count(const ref_tensor_pd *r)
{
    return r->size[0] * r->size[1] * r->size[2];
}

void ref_tensor_unpack(const float *planes, int n, double *nine)
{
    for (int i = 0; i < n; i++)
        for (int e = 0; e < 9; e++)
            nine[9 * i + e] = (double)planes[PLANE[e] * n + i];
}

static double difference(const ref_tensor_pd *r, const double *d, int i, int e, int axis)
{
    int j = next(r, i, axis);
    return j < 0 ? 0 : r->weight[axis] * (d[9 * j + e] - d[9 * i + e]);
}

/* sum over voxels of sqrt(|grad d_e|^2 + eps). */
static double variation_of(const ref_tensor_pd *r, const double *d, int e, double eps)
{
    double sum = 0;
    for (int i = 0; i < count(r); i++) {
        double square = eps;
        for (int a = 0; a < 3; a++)
            square += squared(difference(r, d, i, e, a));
        sum += sqrt(square);
    }
    return sum;
}

void ref_tensor_pd_energy(const ref_tensor_pd *r, const double *d, double *variation, double *fit)
{
    *variation = *fit = 0;
    for (int e = 0; r->paper && e < 9; e++)
        *variation += squared(variation_of(r, d, e, 0));
    *variation = sqrt(*variation);
    for (int i = 0; i < count(r); i++) {
        if (r->mask && !(r->mask[i] > 0))
            continue;
        double square = 0;
        for (int e = 0; e < 9; e++) {
            *fit += 0.5 * squared(d[9 * i + e] - r->data[9 * i + e]);
            for (int a = 0; a < 3; a++)
                square += squared(difference(r, d, i, e, a));
        }
        if (!r->paper)
            *variation += (r->share ? r->share[i] : 1) * sqrt(square);
    }
}

void ref_tensor_share(const ref_tensor_pd *r, const double *d, double contrast, double *share)
{
    for (int i = 0; i < count(r); i++) {
        double square = 0;
        for (int k = 0; k < 27; k++)
            square += squared(difference(r, d, i, k / 3, k % 3));
        share[i] = contrast / (contrast + sqrt(square));
    }
}

/* Cyclic Jacobi rotations: a becomes diagonal, v holds the vectors as columns. */
static void eigen(double a[9], double v[9])
{
    for (int e = 0; e < 9; e++)
        v[e] = e % 4 == 0;
    for (int sweep = 0; sweep < 30; sweep++)
        for (int p = 0; p < 2; p++)
            for (int q = p + 1; q < 3; q++) {
                if (fabs(a[3 * p + q]) < 1e-300)
                    continue;
                double angle = 0.5 * atan2(2 * a[3 * p + q], a[4 * q] - a[4 * p]);
                double c = cos(angle), s = sin(angle);
                for (int k = 0; k < 3; k++) {
                    double x = a[3 * k + p], y = a[3 * k + q];
                    a[3 * k + p] = c * x - s * y;
                    a[3 * k + q] = s * x + c * y;
                    x = v[3 * k + p], y = v[3 * k + q];
                    v[3 * k + p] = c * x - s * y;
                    v[3 * k + q] = s * x + c * y;
                }
                for (int k = 0; k < 3; k++) {
                    double x = a[3 * p + k], y = a[3 * q + k];
                    a[3 * p + k] = c * x - s * y;
                    a[3 * q + k] = s * x + c * y;
                }
            }
}

static void compose(double d[9], const double l[3], const double v[9])
{
    for (int p = 0; p < 3; p++)
        for (int q = 0; q < 3; q++) {
            d[3 * p + q] = 0;
            for (int k = 0; k < 3; k++)
                d[3 * p + q] += l[k] * v[3 * p + k] * v[3 * q + k];
        }
}

void ref_tensor_project(double d[9], double least)
{
    double a[9], v[9];
    memcpy(a, d, sizeof a);
    eigen(a, v);
    compose(d, (double[3]){fmax(a[0], least), fmax(a[4], least), fmax(a[8], least)}, v);
}

void ref_tensor_log(double d[9], double least, bool back)
{
    double a[9], v[9], l[3];
    memcpy(a, d, sizeof a);
    eigen(a, v);
    for (int k = 0; k < 3; k++)
        l[k] = back ? exp(a[4 * k]) : log(fmax(a[4 * k], least));
    compose(d, l, v);
}

void ref_tensor_radius(const ref_tensor_pd *r, const double *d, double radius[9])
{
    double square = 0;
    for (int e = 0; e < 9; e++) {
        radius[e] = variation_of(r, d, e, 0);
        square += radius[e] * radius[e];
    }
    /* Six planes of equal radius, of which three stand for two entries each. */
    for (int e = 0; e < 9; e++)
        radius[e] = square > 0 ? radius[e] / sqrt(square) : sqrt((e % 4 ? 0.5 : 1) / 6);
}

void ref_tensor_pd_step(const ref_tensor_pd *r, double tau, double sigma, double theta, const double radius[9],
                        double *d, double *ahead, double *dual)
{
    int n = count(r);
    for (int i = 0; i < n; i++) {
        double all = 0;
        for (int e = 0; e < 9; e++) {
            double *p = dual + 27 * i + 3 * e, own = 0;
            for (int a = 0; a < 3; a++) {
                p[a] += sigma * difference(r, ahead, i, e, a);
                own += p[a] * p[a];
            }
            for (int a = 0; a < 3 && r->paper && own > radius[e] * radius[e]; a++)
                p[a] *= radius[e] / sqrt(own);
            all += own;
        }
        double most = r->share ? r->share[i] : 1;
        for (int k = 0; k < 27 && !r->paper && all > most * most; k++)
            dual[27 * i + k] *= most / sqrt(all);
    }
    memcpy(ahead, d, 9 * (size_t)n * sizeof *d);
    for (int i = 0; i < n; i++)
        for (int a = 0; a < 3; a++) {
            int j = next(r, i, a);
            for (int e = 0; j >= 0 && e < 9; e++) {
                double flux = tau * r->weight[a] * dual[27 * i + 3 * e + a];
                d[9 * i + e] += flux;
                d[9 * j + e] -= flux;
            }
        }
    for (int i = 0; i < n; i++) {
        if (r->mask && !(r->mask[i] > 0))
            continue;
        for (int e = 0; e < 9; e++)
            d[9 * i + e] = (d[9 * i + e] + tau * r->lambda * r->data[9 * i + e]) / (1 + tau * r->lambda);
        if (r->floor >= 0)
            ref_tensor_project(d + 9 * i, r->floor);
        for (int e = 0; e < 9; e++)
            ahead[9 * i + e] = d[9 * i + e] + theta * (d[9 * i + e] - ahead[9 * i + e]);
    }
}

static void gradient(const ref_tensor_pd *r, const double *d, double eps, double *g)
{
    double share[9] = {1, 1, 1, 1, 1, 1, 1, 1, 1}, square = 0;
    for (int e = 0; r->paper && e < 9; e++) {
        share[e] = variation_of(r, d, e, eps);
        square += share[e] * share[e];
    }
    for (int e = 0; r->paper && e < 9; e++)
        share[e] /= sqrt(square);
    for (int k = 0; k < 9 * count(r); k++)
        g[k] = r->lambda * (d[k] - r->data[k]);
    for (int i = 0; i < count(r); i++) {
        double own[9], all = eps;
        for (int e = 0; e < 9; e++) {
            own[e] = eps;
            for (int a = 0; a < 3; a++)
                own[e] += squared(difference(r, d, i, e, a));
            all += own[e] - eps;
        }
        for (int e = 0; e < 9; e++)
            for (int a = 0; a < 3; a++) {
                int j = next(r, i, a);
                if (j < 0)
                    continue;
                double flux =
                    share[e] * r->weight[a] * difference(r, d, i, e, a) / sqrt(r->paper ? own[e] : all);
                flux *= r->share ? r->share[i] : 1;
                g[9 * i + e] -= flux;
                g[9 * j + e] += flux;
            }
    }
}

void ref_tensor_descend(const ref_tensor_pd *r, double eps, int steps, double *d)
{
    int n = count(r);
    double *g = malloc(9 * (size_t)n * sizeof *g), *y = malloc(9 * (size_t)n * sizeof *y), square = 0;
    if (!g || !y)
        abort();
    for (int a = 0; a < 3; a++)
        square += r->weight[a] * r->weight[a];
    double steep = 4 * square / sqrt(eps) + r->lambda;
    double momentum = (1 - sqrt(r->lambda / steep)) / (1 + sqrt(r->lambda / steep));
    memcpy(y, d, 9 * (size_t)n * sizeof *y);
    for (int s = 0; s < steps; s++) {
        gradient(r, y, eps, g);
        for (int i = 0; i < n; i++) {
            double before[9];
            if (r->mask && !(r->mask[i] > 0))
                continue;
            memcpy(before, d + 9 * i, sizeof before);
            for (int e = 0; e < 9; e++)
                d[9 * i + e] = y[9 * i + e] - g[9 * i + e] / steep;
            if (r->floor >= 0)
                ref_tensor_project(d + 9 * i, r->floor);
            for (int e = 0; e < 9; e++)
                y[9 * i + e] = d[9 * i + e] + momentum * (d[9 * i + e] - before[e]);
        }
    }
    free(g);
    free(y);
}
