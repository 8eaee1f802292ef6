/* SPDX-License-Identifier: Apache-2.0 */
/* The general linear model: an orthonormal basis of its columns. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "stats/stats.h"

static const char *name_of(const clvox_stats_design *d, int at)
{
    return d->names ? d->names[at] : at ? "a covariate" : "the tested column";
}

static double length(const double *v, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += v[i] * v[i];
    return sqrt(sum);
}

static void center(double *v, int n)
{
    double mean = 0;
    for (int i = 0; i < n; i++)
        mean += v[i] / n;
    for (int i = 0; i < n; i++)
        v[i] -= mean;
}

/* Takes out of v what the basis has of it (Gram and Schmidt, twice: orthogonal to rounding); false where rounding
 * errors are all that is left. */
static bool add_column(const clv_stats_model *m, double *v)
{
    const int n = m->subjects;
    const double before = length(v, n);
    for (int pass = 0; pass < 2; pass++)
        for (int j = 0; j < m->nuisances; j++) {
            const double *q = m->q + (size_t)j * (size_t)n;
            double dot = 0;
            for (int i = 0; i < n; i++)
                dot += q[i] * v[i];
            for (int i = 0; i < n; i++)
                v[i] -= dot * q[i];
        }
    const double left = length(v, n);
    if (!(left > 1e-8 * before))
        return false;
    for (int i = 0; i < n; i++)
        v[i] /= left;
    return true;
}

static bool is_one_value(const double *v, int n)
{
    int same = 1;
    while (same < n && v[same] == v[0])
        same++;
    return same == n;
}

static int check_column(const clvox_stats_design *d, const double *v, int at)
{
    for (int i = 0; i < d->subjects; i++)
        if (!isfinite(v[i]))
            return clvox_fail(CLVOX_ERROR_DATA, "%s of subject %d is not a finite number", name_of(d, at),
                              i + 1);
    if (is_one_value(v, d->subjects))
        return clvox_fail(CLVOX_ERROR_DATA,
                          "%s has one value in all %d subjects; leave it out, or choose another column",
                          name_of(d, at), d->subjects);
    return CLVOX_OK;
}

static bool is_same_row(const clvox_stats_design *d, int a, int b)
{
    bool same = d->tested[a] == d->tested[b];
    for (int c = 0; c < d->covariate_count; c++)
        same = same && d->covariates[c * d->subjects + a] == d->covariates[c * d->subjects + b];
    return same;
}

static int add_nuisances(const clvox_stats_design *d, clv_stats_model *m)
{
    const int n = d->subjects;
    if (!m->flips) {
        for (int i = 0; i < n; i++)
            m->q[i] = 1 / sqrt(n);
        m->nuisances = 1;
    }
    for (int c = 0; c < d->covariate_count; c++) {
        double *q = m->q + (size_t)m->nuisances * (size_t)n;
        const double *v = d->covariates + (size_t)c * (size_t)n;
        int status = check_column(d, v, c + 1);
        if (status < 0)
            return status;
        memcpy(q, v, (size_t)n * sizeof *q);
        center(q, n);
        if (!add_column(m, q))
            return clvox_fail(CLVOX_ERROR_DATA,
                              "%s is a combination of the covariates before it; leave one of them out",
                              name_of(d, c + 1));
        m->nuisances++;
    }
    return CLVOX_OK;
}

static int add_tested(const clvox_stats_design *d, bool less, clv_stats_model *m)
{
    const int n = d->subjects;
    int status = d->tested ? check_column(d, d->tested, 0) : CLVOX_OK;
    if (status < 0)
        return status;
    for (int i = 0; i < n; i++)
        m->x[i] = d->tested ? d->tested[i] : 1;
    if (d->tested)
        center(m->x, n);
    if (!add_column(m, m->x))
        return clvox_fail(CLVOX_ERROR_DATA,
                          "%s is a combination of the covariates, which leave nothing of it to test",
                          name_of(d, 0));
    for (int i = 0; i < n && less; i++)
        m->x[i] = -m->x[i];
    return CLVOX_OK;
}

int clv_stats_model_make(const clvox_stats_design *d, bool less, clv_stats_model *out)
{
    int status = CLVOX_OK;
    const int n = d->subjects, columns = d->covariate_count + 1 + (d->tested != NULL);
    clv_stats_model m = {.subjects = n, .flips = !d->tested, .first = d->tested != NULL, .dof = n - columns};
    *out = (clv_stats_model){.subjects = 0};
    if (n < 2 || m.dof < 1)
        return clvox_fail(CLVOX_ERROR_DATA, "a design of %d columns needs at least %d subjects; given: %d",
                          columns, columns + 1, n);
    m.q = calloc((size_t)columns * (size_t)n, sizeof *m.q);
    m.x = calloc((size_t)n, sizeof *m.x);
    m.kind = calloc((size_t)n, sizeof *m.kind);
    if (!m.q || !m.x || !m.kind) {
        status = clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
        goto end;
    }
    CLV_TRY(add_nuisances(d, &m));
    CLV_TRY(add_tested(d, less, &m));
    for (int i = 0; i < n; i++)
        while (m.flips ? m.kind[i] < i : !is_same_row(d, i, m.kind[i]))
            m.kind[i]++;
    *out = m;
end:
    if (status < 0)
        clv_stats_model_free(&m);
    return status;
}

void clv_stats_model_free(clv_stats_model *m)
{
    free(m->q);
    free(m->x);
    free(m->kind);
    *m = (clv_stats_model){.subjects = 0};
}

int clv_stats_vectors(const clv_stats_model *m)
{
    return 1 + m->nuisances - m->first;
}
