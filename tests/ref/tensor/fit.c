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
    double x[MOST][P], b[MOST], s[MOST], p[P]; /* s over the reference; p for D in 1e-3 mm^2/s */
    double known[MOST], share[MOST], scale;    /* known: 1 where there is a measurement, else 0 */
    int shell[MOST];                           /* -1: of none that is kept from being rejected */
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

/* The first fit: unweighted, or by the measured signals, the less the higher b is. */
static void by_measurements(voxel *v, bool signal, double lowest)
{
    double a[MOST][P], y[MOST];
    for (int k = 0; k < v->volumes; k++) {
        double w =
            v->known[k] * (signal ? sqrt(fmin(v->s[k], 1)) * fmax(1e-3, exp((lowest - v->b[k]) / 1000)) : 1);
        y[k] = w * log_of(v->s[k]);
        for (int c = 0; c < P; c++)
            a[k][c] = w * v->x[k][c];
    }
    solve(v, a, y, v->p);
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
        sum += v->known[k] * (robust ? fmin(square, 9 * v->scale * v->scale) : square);
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
    double size[MOST], nearest[MOST];
    int count = 0;
    for (int k = 0; k < v->volumes; k++)
        nearest[k] = INFINITY;
    for (int k = 0; k < v->volumes; k++) {
        if (!(v->known[k] > 0))
            continue;
        size[count] = fabs(rest_of(v, k, logs));
        if (v->shell[k] >= 0)
            nearest[v->shell[k]] = fmin(nearest[v->shell[k]], size[count]);
        count++;
    }
    qsort(size, (size_t)count, sizeof *size, compare);
    v->scale = fmax(1e-4, 1.4826 * size[(count + P) / 2 - 1]);
    for (int k = 0; k < v->volumes; k++)
        if (isfinite(nearest[k]))
            v->scale = fmax(v->scale, nearest[k] / 2);
}

static void trust(voxel *v, bool logs, bool hard)
{
    for (int k = 0; k < v->volumes; k++) {
        double z = rest_of(v, k, logs) / v->scale;
        v->share[k] = v->known[k] * (hard ? fabs(z) <= 3 : pow(1 + z * z / 4, -2));
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
    double before[P];
    if (robust) {
        for (int i = 0; i < 4; i++)
            round_of(v, !logs);
        find_scale(v, logs);
        trust(v, logs, true);
        if (logs)
            by_logs(v, false);
    }
    for (int i = 0; i < (logs ? 0 : method == CLV_TENSOR_IWLS ? 4 : 1); i++) {
        if (robust)
            trust(v, false, true);
        memcpy(before, v->p, sizeof before);
        by_logs(v, true);
        for (int c = 0; c < P && i > 0; c++)
            v->p[c] = (v->p[c] + before[c]) / 2;
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
    double known = 0;
    for (int k = 0; k < v->volumes; k++) {
        kept += v->share[k];
        known += v->known[k];
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
    out->kind += CLV_TENSOR_REJECTED * (int)lrint(known - kept);
    if (kept <= P)
        return;
    out->noise = sqrt(squares / (kept - P)) * reference;
    out->sigma = sqrt((logs ? log_squares : squares) / (kept - P) * spread) / 1000;
}

/* Length of a column of the last system. */
static double length_of(const voxel *v, int c)
{
    double square = 0;
    for (int i = 0; i <= c; i++)
        square += v->r[i][c] * v->r[i][c];
    return sqrt(square);
}

/* A shell is known by its first volume; -1: too few to be one. */
static void find_shells(voxel *v, double lowest)
{
    for (int k = 0; k < v->volumes; k++) {
        double from = v->b[k], to = from;
        int count = 0;
        if (from <= lowest + 50) {
            from = lowest;
            to = lowest + 50;
        }
        for (int j = 0; j < v->volumes && from > lowest; j++)
            if (v->b[j] > lowest + 50 &&
                ((v->b[j] < from && v->b[j] >= from - 80) || (v->b[j] > to && v->b[j] <= to + 80))) {
                from = fmin(from, v->b[j]);
                to = fmax(to, v->b[j]);
                j = -1;
            }
        for (int j = v->volumes - 1; j >= 0; j--)
            if (v->b[j] >= from && v->b[j] <= to) {
                count++;
                v->shell[k] = j;
            }
        if (from > lowest && count < 3)
            v->shell[k] = -1;
    }
}

static bool lost_shell(const voxel *v)
{
    for (int k = 0; k < v->volumes; k++) {
        double known = 0, share = 0;
        for (int j = 0; j < v->volumes; j++)
            if (v->shell[k] >= 0 && v->shell[j] == v->shell[k]) {
                known += v->known[j];
                share += v->share[j];
            }
        if (known > 0 && share <= 0)
            return true;
    }
    return false;
}

/* Median of the measurements of lowest b, by rising b, and their mean. 0: none. */
static double median_of_lowest(const voxel *v, const float *signal, double lowest, double *mean,
                               int *measured)
{
    double value[MOST], sum = 0;
    int order[MOST], all = 0, count = 0, known = 0;
    for (int k = 0; k < v->volumes; k++)
        if (v->b[k] <= lowest + 50) {
            int at = all++;
            for (; at > 0 && v->b[order[at - 1]] > v->b[k]; at--)
                order[at] = order[at - 1];
            order[at] = k;
            sum += v->known[k] > 0 ? (double)signal[k] : 0;
            known += v->known[k] > 0;
        }
    for (int a = 0; a < all; a += (all + 14) / 15)
        if (v->known[order[a]] > 0)
            value[count++] = (double)signal[order[a]];
    qsort(value, (size_t)count, sizeof *value, compare);
    *mean = sum / known;
    *measured = known;
    return count ? value[count / 2] : 0;
}

void ref_tensor_fit(const float *signal, const double *b, const double (*direction)[3], int volumes,
                    clv_tensor_method method, bool robust, ref_tensor *out)
{
    voxel v = {.volumes = volumes};
    double least = INFINITY, mean;
    int measured;
    memset(out, 0, sizeof *out);
    for (int k = 0; k < volumes; k++) {
        const double *g = direction[k], q = b[k] / 1000;
        const double row[P] = {1, -q * g[0] * g[0], -2 * q * g[0] * g[1], -2 * q * g[0] * g[2],
                               -q * g[1] * g[1], -2 * q * g[1] * g[2], -q * g[2] * g[2]};
        memcpy(v.x[k], row, sizeof row);
        v.b[k] = b[k];
        v.share[k] = v.known[k] = signal[k] > 0 && isfinite(signal[k]);
        least = fmin(least, b[k]);
        if (!isfinite(signal[k]))
            out->kind = CLV_TENSOR_NOT_FINITE;
    }
    double reference = median_of_lowest(&v, signal, least, &mean, &measured);
    for (int k = 0; k < volumes; k++)
        v.s[k] = v.known[k] > 0 ? (double)signal[k] / reference : 1;
    find_shells(&v, least);
    by_measurements(&v, method != CLV_TENSOR_OLS, least);
    bool good = reference > 0;
    for (int c = 0; c < P; c++)
        good = good && isfinite(v.p[c]) && fabs(v.r[c][c]) > sqrt(1e-5) * length_of(&v, c);
    if (!good) {
        out->kind = out->kind ? out->kind : CLV_TENSOR_NO_SIGNAL;
        return;
    }
    out->kind = CLV_TENSOR_FITTED;
    for (int k = 0; k < volumes; k++)
        if (!(v.known[k] > 0))
            out->kind |= CLV_TENSOR_LEFT_OUT;
    fit(&v, method, robust);
    judge(&v, method == CLV_TENSOR_OLS, reference, out);
    out->lost = lost_shell(&v);
    out->s0 = exp(v.p[0]) * reference;
    if (out->noise > 0 && fabs(out->s0 - mean) > fmax(mean / 4, 3 * out->noise / sqrt(measured)))
        out->kind |= CLV_TENSOR_FAR_S0;
    for (int c = 0; c < 6; c++)
        out->tensor[c] = v.p[1 + c] / 1000;
    make_positive(out);
}
