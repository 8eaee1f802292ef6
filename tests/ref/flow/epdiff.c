/* SPDX-License-Identifier: Apache-2.0 */
#include "ref/flow/epdiff.h"

#include <stdlib.h>
#include <string.h>

#include "ref/fluid/coadjoint.h"
#include "ref/fluid/fourier.h"

static size_t count_of(const ref_epdiff *e)
{
    return 3 * (size_t)e->op.size[0] * (size_t)e->op.size[1] * (size_t)e->op.size[2];
}

static void smooth(const ref_epdiff *e, const double *f, double *out)
{
    size_t n = count_of(e);
    double *a = calloc(2 * n, sizeof *a), *b = a + n;
    for (size_t i = 0; i < n; i++)
        a[i] = e->window[i] * f[i];
    ref_fft_solve(&e->op, a, b);
    ref_fft_solve(&e->op, b, a);
    for (size_t i = 0; i < n; i++)
        out[i] = e->window[i] * a[i];
    free(a);
}

/* dm/dt at m, whose velocity is v. */
static void rate(const ref_epdiff *e, const double *v, const double *m, double *out)
{
    size_t n = count_of(e);
    const double spacing[3] = {(double)e->op.spacing[0], (double)e->op.spacing[1], (double)e->op.spacing[2]};
    ref_coadjoint_action(v, m, e->op.size, spacing, out);
    for (size_t i = 0; i < n; i++)
        out[i] = -out[i];
}

static double length_of(const ref_epdiff *e, int k)
{
    return (k ? 1 : .5) / e->steps;
}

/* The tableau: where a stage is, and what its rate counts. */
static const double PLACE[4] = {0, .5, .5, 1}, SHARE[4] = {1 / 6., 1 / 3., 1 / 3., 1 / 6.};

/* Places and velocities of the four stages, and where the step leads (NULL: not wanted). */
static void step(const ref_epdiff *e, const double *m, double h, double *place, double *v, double *to)
{
    size_t n = count_of(e);
    double *r = calloc(n, sizeof *r);
    if (to)
        memcpy(to, m, n * sizeof *to);
    for (size_t s = 0; s < 4; s++) {
        for (size_t i = 0; i < n; i++)
            place[s * n + i] = m[i] + h * PLACE[s] * r[i];
        smooth(e, place + s * n, v + s * n);
        rate(e, v + s * n, place + s * n, r);
        for (size_t i = 0; i < n && to; i++)
            to[i] += h * SHARE[s] * r[i];
    }
    free(r);
}

void ref_epdiff_forward(const ref_epdiff *e, double *node, double *v)
{
    size_t n = count_of(e);
    double *stages = malloc(8 * n * sizeof *stages);
    for (int k = 0; k < e->steps; k++) {
        size_t at = (size_t)k * n;
        step(e, node + at, length_of(e, k), stages, stages + 4 * n, node + at + n);
        smooth(e, node + at + n, v + at);
    }
    free(stages);
}

/* With R(p) = -ad*_(K p) p: out = (DR)^T g = -ad_v g + K ad*_g p. */
static void rate_adjoint(const ref_epdiff *e, const double *v, const double *p, const double *g, double *out)
{
    size_t n = count_of(e);
    const double spacing[3] = {(double)e->op.spacing[0], (double)e->op.spacing[1], (double)e->op.spacing[2]};
    double *turned = malloc(n * sizeof *turned);
    ref_coadjoint_action(g, p, e->op.size, spacing, turned);
    smooth(e, turned, turned);
    ref_adjoint_action(v, g, e->op.size, spacing, out);
    for (size_t i = 0; i < n; i++)
        out[i] = turned[i] - out[i];
    free(turned);
}

void ref_epdiff_adjoint(const ref_epdiff *e, const double *node, const double *w, double *gradient)
{
    size_t n = count_of(e);
    double *place = malloc(11 * n * sizeof *place), *v = place + 4 * n, *by_rate = v + 4 * n;
    double *back = by_rate + n, *sum = back + n;
    memset(gradient, 0, n * sizeof *gradient);
    for (int k = e->steps - 1; k >= 0; k--) {
        double h = length_of(e, k);
        smooth(e, w + (size_t)k * n, back);
        for (size_t i = 0; i < n; i++)
            sum[i] = gradient[i] += back[i];
        step(e, node + (size_t)k * n, h, place, v, NULL);
        for (size_t s = 4; s-- > 0;) {
            for (size_t i = 0; i < n; i++)
                by_rate[i] = h * SHARE[s] * gradient[i] + (s < 3 ? h * PLACE[s + 1] * back[i] : 0);
            rate_adjoint(e, v + s * n, place + s * n, by_rate, back);
            for (size_t i = 0; i < n; i++)
                sum[i] += back[i];
        }
        memcpy(gradient, sum, n * sizeof *gradient);
    }
    free(place);
}
