/* SPDX-License-Identifier: Apache-2.0 */
#include "ref/tensor/fit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/eigen.h"
#include "base/matrix.h"

enum { P = CLV_TENSOR_PARAMETERS, MOST = 128 };

typedef struct voxel {
    int volumes;
    double x[MOST][P], s[MOST], p[P]; /* s over the reference; p for D in 1e-3 mm^2/s */
    double share[MOST], scale;
    double r[P][P];                   /* the triangle of the last system */
} voxel;

static double along(const voxel *v, int k)
{
    double sum = 0;
    for (int c = 0; c < P; c++)
        sum += v->x[k][c] * v->p[c];
    return fmin(fmax(sum, -20), 20);
}

static double log_of(double s)
{
    return log(fmax(s, 1e-4));
}

/* Least squares of rows a (volumes x P) against y by Householder's reflections. */
static void solve(voxel *v, double (*a)[P], double *y, double out[P])
{
    for (int j = 0; j < P; j++) {
        double norm = 0, u[MOST] = {0}, square = 0;
        for (int k = j; k < v->volumes; k++)
            norm += a[k][j] * a[k][j];
        norm = a[j][j] > 0 ? -sqrt(norm) : sqrt(norm);
        for (int k = j; k < v->volumes; k++) {
            u[k] = a[k][j] - (k == j ? norm : 0);
            square += u[k] * u[k];
        }
        for (int c = j; c <= P; c++) {
            double dot = 0;
            for (int k = j; k < v->volumes; k++)
                dot += u[k] * (c < P ? a[k][c] : y[k]);
            for (int k = j; k < v->volumes && square > 0; k++)
                *(c < P ? &a[k][c] : &y[k]) -= 2 * dot / square * u[k];
        }
    }
    for (int i = P - 1; i >= 0; i--) {
        out[i] = y[i];
        for (int j = i + 1; j < P; j++)
            out[i] -= a[i][j] * out[j];
        out[i] /= a[i][i];
    }
    memcpy(v->r, a, sizeof v->r);
}

/* Weighted by share, and by the signal that p predicts where signal is set. */
static void weigh(const voxel *v, bool signal, double (*a)[P], double *y)
{
    for (int k = 0; k < v->volumes; k++) {
        double w = sqrt(v->share[k]) * (signal ? fmin(exp(along(v, k)), 2) : 1);
        y[k] = w * log_of(v->s[k]);
        for (int c = 0; c < P; c++)
            a[k][c] = w * v->x[k][c];
    }
}

static void by_logs(voxel *v, bool signal)
{
    double a[MOST][P], y[MOST];
    weigh(v, signal, a, y);
    solve(v, a, y, v->p);
}

static double energy(const voxel *v, bool robust)
{
    double sum = 0;
    for (int k = 0; k < v->volumes; k++) {
        double square = pow(v->s[k] - exp(along(v, k)), 2);
        sum += robust ? fmin(square, 9 * v->scale * v->scale) : square;
    }
    return sum;
}

static double rest_of(const voxel *v, int k, bool logs)
{
    return logs ? log_of(v->s[k]) - along(v, k) : v->s[k] - exp(along(v, k));
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static void find_scale(voxel *v, bool logs)
{
    double size[MOST];
    for (int k = 0; k < v->volumes; k++)
        size[k] = fabs(rest_of(v, k, logs));
    qsort(size, (size_t)v->volumes, sizeof *size, compare);
    v->scale = fmax(1e-4, 1.4826 * size[(v->volumes + P) / 2 - 1]);
}

static void trust(voxel *v, bool logs, bool hard)
{
    for (int k = 0; k < v->volumes; k++) {
        double z = rest_of(v, k, logs) / v->scale;
        v->share[k] = hard ? fabs(z) <= 3 : pow(1 + z * z / 4, -2);
    }
}

/* Gauss-Newton with halved steps, until nothing moves. Rejected volumes cost what
 * they would at the cut. */
static void by_signal(voxel *v, bool robust)
{
    double moved = 1;
    for (int round = 0; round < 200 && moved > 1e-9; round++) {
        double a[MOST][P], y[MOST], move[P], before[P], least = energy(v, robust), share = 1;
        if (robust)
            trust(v, false, true);
        memcpy(before, v->p, sizeof before);
        for (int k = 0; k < v->volumes; k++) {
            double w = sqrt(v->share[k]), e = exp(along(v, k));
            y[k] = w * (v->s[k] - e);
            for (int c = 0; c < P; c++)
                a[k][c] = w * e * v->x[k][c];
        }
        solve(v, a, y, move);
        do {
            for (int c = 0; c < P; c++)
                v->p[c] = before[c] + share * move[c];
            share /= 2;
        } while (energy(v, robust) > least && share > 1e-12);
        moved = 0;
        for (int c = 0; c < P; c++)
            moved = fmax(moved, fabs(v->p[c] - before[c]));
    }
}

/* Soft weights of rest and of the signal are taken at the same p. */
static void round_of(voxel *v, bool signal)
{
    find_scale(v, !signal);
    trust(v, !signal, false);
    by_logs(v, signal);
}

static void fit(voxel *v, clv_tensor_method method, bool robust)
{
    const bool logs = method == CLV_TENSOR_OLS;
    by_logs(v, false);
    if (robust) {
        for (int i = 0; i < 4; i++)
            round_of(v, false);
        for (int i = 0; i < 4 && !logs; i++)
            round_of(v, true);
        find_scale(v, logs);
        trust(v, logs, true);
        if (logs)
            by_logs(v, false);
    }
    for (int i = 0; i < (logs ? 0 : method == CLV_TENSOR_IWLS ? 4 : 1); i++) {
        if (robust)
            trust(v, false, true);
        by_logs(v, true);
    }
    if (method == CLV_TENSOR_NLLS)
        by_signal(v, robust);
    if (robust)
        trust(v, logs, true);
}

void ref_tensor_eigenvalues(const double t[6], double values[3])
{
    double m[3][3] = {{t[0], t[1], t[2]}, {t[1], t[3], t[4]}, {t[2], t[4], t[5]}}, vectors[3][3];
    clv_eigen_symmetric(CLV_MATRIX3(m), values, vectors);
}

static void make_positive(ref_tensor *out)
{
    double *t = out->tensor, m[3][3] = {{t[0], t[1], t[2]}, {t[1], t[3], t[4]}, {t[2], t[4], t[5]}};
    double values[3], vectors[3][3];
    static const int at[6][2] = {{0, 0}, {0, 1}, {0, 2}, {1, 1}, {1, 2}, {2, 2}};
    clv_eigen_symmetric(CLV_MATRIX3(m), values, vectors);
    if (values[0] > 1e-5)
        return;
    out->kind |= CLV_TENSOR_MADE_POSITIVE;
    for (int c = 0; c < 6; c++) {
        t[c] = 0;
        for (int k = 0; k < 3; k++)
            t[c] += fmax(values[k], 1e-5) * vectors[at[c][0]][k] * vectors[at[c][1]][k];
    }
}

/* Noise, from what is left over of the last p. */
static void judge(voxel *v, bool logs, double reference, ref_tensor *out)
{
    double a[MOST][P], y[MOST], unused[P], squares = 0, log_squares = 0, kept = 0, spread = 0, inverse[P];
    for (int k = 0; k < v->volumes; k++) {
        kept += v->share[k];
        squares += v->share[k] * pow(rest_of(v, k, false), 2);
        log_squares += v->share[k] * pow(rest_of(v, k, true), 2);
    }
    weigh(v, !logs, a, y);
    solve(v, a, y, unused);
    /* (R^T R)^-1 = R^-1 R^-T: the squared length of each row of R^-1. */
    for (int column = 0; column < P; column++) {
        for (int i = column; i >= 0; i--) {
            inverse[i] = i == column;
            for (int j = i + 1; j <= column; j++)
                inverse[i] -= v->r[i][j] * inverse[j];
            inverse[i] /= v->r[i][i];
            if (i > 0)
                spread += (i == 1 || i == 4 || i == 6 ? 1 : 2) * inverse[i] * inverse[i] / 6;
        }
    }
    out->kind += CLV_TENSOR_REJECTED * (v->volumes - (int)lrint(kept));
    if (kept <= P)
        return;
    out->noise = sqrt(squares / (kept - P)) * reference;
    out->sigma = sqrt((logs ? log_squares : squares) / (kept - P) * spread) / 1000;
}

void ref_tensor_fit(const float *signal, const double *b, const double (*direction)[3], int volumes,
                    clv_tensor_method method, bool robust, ref_tensor *out)
{
    voxel v = {.volumes = volumes};
    double least = INFINITY, reference = -INFINITY;
    memset(out, 0, sizeof *out);
    for (int k = 0; k < volumes; k++) {
        const double *g = direction[k], q = b[k] / 1000;
        const double row[P] = {1, -q * g[0] * g[0], -2 * q * g[0] * g[1], -2 * q * g[0] * g[2],
                               -q * g[1] * g[1], -2 * q * g[1] * g[2], -q * g[2] * g[2]};
        memcpy(v.x[k], row, sizeof row);
        v.share[k] = 1;
        least = fmin(least, b[k]);
    }
    for (int k = 0; k < volumes; k++) {
        if (!isfinite(signal[k]))
            out->kind = CLV_TENSOR_NOT_FINITE;
        if (b[k] <= least + 50)
            reference = fmax(reference, (double)signal[k]);
    }
    if (!out->kind && !(reference > 0))
        out->kind = CLV_TENSOR_NO_SIGNAL;
    if (out->kind)
        return;
    out->kind = CLV_TENSOR_FITTED;
    for (int k = 0; k < volumes; k++) {
        v.s[k] = (double)signal[k] / reference;
        if (v.s[k] < 1e-4)
            out->kind |= CLV_TENSOR_FLOORED;
    }
    fit(&v, method, robust);
    judge(&v, method == CLV_TENSOR_OLS, reference, out);
    out->s0 = exp(v.p[0]) * reference;
    for (int c = 0; c < 6; c++)
        out->tensor[c] = v.p[1 + c] / 1000;
    make_positive(out);
}
