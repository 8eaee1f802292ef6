/* SPDX-License-Identifier: Apache-2.0 */
/* Tolerances are those of the operations' tests. */
#include <math.h>
#include <string.h>

#include "bench/rows/check.h"
#include "ref/surface/level_distance.h"
#include "ref/surface/mesh_distance.h"
#include "ref/surface/nlm.h"
#include "ref/surface/redistance.h"

static const float UNIT[3] = {1, 1, 1};

/* Rounding may choose the other of two equally near places. */
int check_redistance(bench_check *c)
{
    int status = clv_buffer_read(c->data->ctx, c->data->out[0], 0, c->got, c->n * sizeof(float));
    double largest = 0;
    size_t unlike = 0;
    ref_redistance(c->level, c->data->size, UNIT, 8, c->want);
    for (size_t i = 0; i < c->n; i++) {
        double e = fabs((double)c->got[i] - c->want[i]);
        largest = fmax(largest, isnan(e) ? INFINITY : e);
        unlike += !(e < 2e-3);
    }
    if (status >= 0 && (unlike > 8 + c->n / 20 || !(largest < 0.25)))
        status = bench_wrong(c->data->ctx, c->label, "%zu voxels differ, by up to %g", unlike, largest);
    return status;
}

/* Beyond the border the kernel goes on, which the reference does not: voxels
 * nearer to the border than to the level are only held to be no farther. */
int check_level(bench_check *c)
{
    const int *n = c->data->size;
    int status = clv_buffer_read(c->data->ctx, c->data->out[0], 0, c->got, c->n * sizeof(float));
    double far = 0, near = 0;
    ref_level(c->level, n, UNIT, 0, 8, 4, c->want);
    for (size_t i = 0; i < c->n; i++) {
        const size_t at[3] = {i % (size_t)n[0], i / (size_t)n[0] % (size_t)n[1],
                              i / (size_t)n[0] / (size_t)n[1]};
        double border = INFINITY, off = fabs((double)c->got[i]) - fabs(c->want[i]);
        for (int a = 0; a < 3; a++)
            border = fmin(border, fmin((double)at[a], n[a] - 1 - (double)at[a]));
        if (fabs(c->want[i]) > 1e-3 && (c->got[i] < 0) != (c->level[i] > 0))
            off = INFINITY;
        far = fmax(far, isnan(off) ? INFINITY : off);
        /* The reference's points lie up to a quarter of a voxel from the nearest place. */
        double least = sqrt(fmax(c->want[i] * c->want[i] - 1. / 16, 0));
        if (border > fabs(c->want[i]))
            near = fmax(near, least - fabs((double)c->got[i]));
    }
    if (status >= 0 && !(far < 0.12 && near < 0.01))
        status = bench_wrong(c->data->ctx, c->label, "too far by %g, too near by %g voxels", far, near);
    return status;
}

int check_mesh_distance(bench_check *c)
{
    int cells = bench_cells(c->data), status = CLVOX_OK;
    int32_t *nearest = (int32_t *)(c->got + c->n);
    CLV_TRY(clv_buffer_read(c->data->ctx, c->data->out[0], 0, c->got, 8 * (size_t)cells * sizeof(float)));
    CLV_TRY(clv_buffer_read(c->data->ctx, c->data->out[1], 0, nearest, 8 * (size_t)cells * sizeof(float)));
    for (int i = 0; i < 8 * cells; i++) {
        int cell = i / 8, lane = i % 8;
        const double at[3] = {cell % 8 + (lane & 1) - 4, cell / 8 % 8 + (lane >> 1 & 1) + 4,
                              cell / 64 % 8 + (lane >> 2) + 4};
        double best = INFINITY, chosen = INFINITY;
        for (int k = 0; k < BENCH_LISTED; k++) {
            int t = (int)(((size_t)cell * BENCH_LISTED + (size_t)k + (size_t)cell) % BENCH_TRIANGLES);
            double corners[9];
            bench_triangle(t, corners);
            double d = ref_triangle_squared(corners, at);
            best = fmin(best, d);
            if (t == nearest[i])
                chosen = d;
        }
        if (!(fabs(sqrt((double)c->got[i]) - sqrt(best)) < 1e-5 && sqrt(chosen) - sqrt(best) < 1e-5)) {
            status = bench_wrong(c->data->ctx, c->label, "distance %g should be %g", sqrt((double)c->got[i]),
                                 sqrt(best));
            goto end;
        }
    }
end:
    return status;
}

int check_nlm_band(bench_check *c)
{
    int *got = (int *)c->got, *band = (int *)c->more, *index = band + c->n, status = CLVOX_OK;
    int want = ref_nlm_band(c->level, c->data->size, 2, band, index);
    CLV_TRY(check_number(c, c->data->answer[0], want, 0));
    CLV_TRY(clv_buffer_read(c->data->ctx, c->data->out[0], 0, got, (size_t)want * sizeof *got));
    for (int i = 0; i < want; i++)
        CLV_TRY(check_number(c, got[i], band[i], 0));
    CLV_TRY(clv_buffer_read(c->data->ctx, c->data->out[1], 0, got, c->n * sizeof *got));
    for (size_t i = 0; i < c->n; i++)
        CLV_TRY(check_number(c, got[i], index[i], 0));
end:
    return status;
}

int check_nlm_volume(bench_check *c)
{
    double want = ref_nlm_volume(c->level, c->data->size, 0);
    return check_number(c, c->data->answer[0], want, 1e-5 * (double)c->n);
}
