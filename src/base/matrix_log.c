/* SPDX-License-Identifier: Apache-2.0 */
/* Logarithm and exponential of affine maps (Alexa 2002; Arsigny et al. 2009). */
#include <math.h>
#include <stdbool.h>

#include "base/matrix.h"

enum { MOST_ROOTS = 24, MOST_STEPS = 60, TERMS = 12 };

static double distance(const double a[4][4], const double b[4][4])
{
    double sum = 0;
    for (int i = 0; i < 16; i++)
        sum += fabs(a[i / 4][i % 4] - b[i / 4][i % 4]);
    return sum;
}

/* out = a + factor b */
static void add(const double a[4][4], double factor, const double b[4][4], double out[4][4])
{
    for (int i = 0; i < 16; i++)
        out[i / 4][i % 4] = a[i / 4][i % 4] + factor * b[i / 4][i % 4];
}

static void scale(double factor, double m[4][4])
{
    for (int i = 0; i < 16; i++)
        m[i / 4][i % 4] *= factor;
}

/* The square root by Denman and Beavers: Y -> (Y + Z^-1) / 2, Z -> (Z + Y^-1) / 2 from m and 1. */
static int root(const double m[4][4], double out[4][4])
{
    double y[4][4], z[4][4], yi[4][4], zi[4][4], next[4][4];
    clv_matrix_copy(m, y);
    clv_matrix_identity(z);
    for (int step = 0; step < MOST_STEPS; step++) {
        if (clv_matrix_invert(CLV_MATRIX(y), yi) < 0 || clv_matrix_invert(CLV_MATRIX(z), zi) < 0)
            return 0;
        add(CLV_MATRIX(y), 1, CLV_MATRIX(zi), next);
        add(CLV_MATRIX(z), 1, CLV_MATRIX(yi), z);
        scale(.5, next);
        scale(.5, z);
        double moved = distance(CLV_MATRIX(next), CLV_MATRIX(y));
        clv_matrix_copy(CLV_MATRIX(next), y);
        if (moved < 1e-11 * (1 + distance(CLV_MATRIX(y), (const double[4][4]){{0}}))) {
            clv_matrix_multiply(CLV_MATRIX(y), CLV_MATRIX(y), next);
            bool is_root = distance(CLV_MATRIX(next), m) < 1e-6 * (1 + distance(m, (const double[4][4]){{0}}));
            clv_matrix_copy(CLV_MATRIX(y), out); /* which m may be */
            return is_root;
        }
    }
    return 0;
}

/* Roots until the matrix is near 1, then 2 atanh((m - 1) (m + 1)^-1) by its series. */
int clv_matrix_log(const double m[4][4], double out[4][4])
{
    static const double one[4][4] = {{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}, {0, 0, 0, 1}};
    double x[4][4], plus[4][4], minus[4][4], z[4][4], square[4][4], power[4][4];
    int roots = 0;
    clv_matrix_copy(m, x);
    if (!(clv_matrix_determinant(m) > 0))
        return 0;
    /* The translation of a root of a matrix near 1 halves: it sets no limit by itself. */
    for (;; roots++) {
        double linear = 0;
        for (int i = 0; i < 9; i++)
            linear += fabs(x[i / 3][i % 3] - one[i / 3][i % 3]);
        if (linear < .2)
            break;
        if (roots == MOST_ROOTS || !root(CLV_MATRIX(x), x))
            return 0;
    }
    add(CLV_MATRIX(x), 1, one, plus);
    add(CLV_MATRIX(x), -1, one, minus);
    scale(.5, plus); /* the last row of an affine */
    if (clv_matrix_invert(CLV_MATRIX(plus), plus) < 0)
        return 0;
    clv_matrix_multiply(CLV_MATRIX(minus), CLV_MATRIX(plus), z);
    scale(.5, z);
    clv_matrix_multiply(CLV_MATRIX(z), CLV_MATRIX(z), square);
    clv_matrix_copy(CLV_MATRIX(z), power);
    clv_matrix_copy(CLV_MATRIX(z), out);
    for (int k = 1; k < TERMS; k++) {
        double next[4][4];
        clv_matrix_multiply(CLV_MATRIX(power), CLV_MATRIX(square), next);
        clv_matrix_copy(CLV_MATRIX(next), power);
        add(CLV_MATRIX(out), 1. / (2 * k + 1), CLV_MATRIX(power), out);
    }
    scale(ldexp(2, roots), out);
    return 1;
}

/* The Taylor series of a part of m that is small, squared as often as it was halved. */
void clv_matrix_exp(const double m[4][4], double out[4][4])
{
    double part[4][4], term[4][4], next[4][4], most = 0;
    int halves = 0;
    for (int i = 0; i < 9; i++)
        most += fabs(m[i / 3][i % 3]);
    while (ldexp(most, -halves) > .1)
        halves++;
    clv_matrix_copy(m, part);
    scale(ldexp(1, -halves), part);
    clv_matrix_identity(out);
    clv_matrix_identity(term);
    for (int k = 1; k <= TERMS; k++) {
        clv_matrix_multiply(CLV_MATRIX(term), CLV_MATRIX(part), next);
        scale(1. / k, next);
        clv_matrix_copy(CLV_MATRIX(next), term);
        add(CLV_MATRIX(out), 1, CLV_MATRIX(term), out);
    }
    for (; halves > 0; halves--) {
        clv_matrix_multiply(CLV_MATRIX(out), CLV_MATRIX(out), next);
        clv_matrix_copy(CLV_MATRIX(next), out);
    }
}
