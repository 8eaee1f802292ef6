/* SPDX-License-Identifier: Apache-2.0 */
#include "segment/refine.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/status.h"
#include "clvox/threads.h"

static const double FLOOR = .02;
enum { NONE = UINT16_MAX, SUMS = 3 };

typedef struct box {
    int low[3], high[3]; /* the last one included; high below low: empty */
} box;

typedef struct work {
    const clv_refining *r;
    double mean, variance; /* of the head where there are two labels */
    box *box;              /* of each label, there */
    float *fit[2];         /* log of the Gaussian at the voxel, of label and second */
} work;

static double intensity(const clv_refining *r, size_t at)
{
    return isfinite(r->head[at]) ? (double)r->head[at] : 0;
}

static bool differs(const clv_refining *r, size_t at)
{
    return r->second[at] != NONE;
}

static void widen(box *b, const int p[3])
{
    for (int a = 0; a < 3; a++) {
        b->low[a] = p[a] < b->low[a] ? p[a] : b->low[a];
        b->high[a] = p[a] > b->high[a] ? p[a] : b->high[a];
    }
}

/* Mean and variance of the head, and the boxes; false: no voxel has two labels. */
static bool survey(work *w)
{
    const clv_refining *r = w->r;
    const int *n = r->size;
    double first = 0, second = 0;
    size_t i = 0, count = 0;
    for (int l = 0; l < NONE; l++)
        w->box[l] = (box){{n[0], n[1], n[2]}, {-1, -1, -1}};
    for (int z = 0; z < n[2]; z++)
        for (int y = 0; y < n[1]; y++)
            for (int x = 0; x < n[0]; x++, i++) {
                const int p[3] = {x, y, z};
                if (!differs(r, i))
                    continue;
                widen(&w->box[r->label[i]], p);
                widen(&w->box[r->second[i]], p);
                const double v = intensity(r, i), d = v - first;
                first += d / (double)++count;
                second += d * (v - first);
            }
    w->mean = first;
    w->variance = count ? second / (double)count : 0;
    return w->variance > 0;
}

/* Sums within reach along an axis, in place. */
static void sum_lines(float *v, const int n[3], int axis, int reach, float *line)
{
    const size_t stride[3] = {1, (size_t)n[0], (size_t)n[0] * (size_t)n[1]};
    const int b = (axis + 1) % 3, c = (axis + 2) % 3, length = n[axis];
    for (int k = 0; k < n[c]; k++)
        for (int j = 0; j < n[b]; j++) {
            float *at = v + (size_t)j * stride[b] + (size_t)k * stride[c];
            double sum = 0;
            for (int i = 0; i < length; i++)
                line[i] = at[(size_t)i * stride[axis]];
            for (int i = 0; i < reach && i < length; i++)
                sum += (double)line[i];
            for (int i = 0; i < length; i++) {
                sum += i + reach < length ? (double)line[i + reach] : 0;
                sum -= i > reach ? (double)line[i - reach - 1] : 0;
                at[(size_t)i * stride[axis]] = (float)sum;
            }
        }
}

/* Place in the head of a voxel of a box. */
static size_t place(const clv_refining *r, const box *b, const int n[3], size_t i)
{
    const size_t x = i % (size_t)n[0], y = i / (size_t)n[0] % (size_t)n[1],
                 z = i / (size_t)n[0] / (size_t)n[1];
    return ((z + (size_t)b->low[2]) * (size_t)r->size[1] + y + (size_t)b->low[1]) * (size_t)r->size[0] + x +
           (size_t)b->low[0];
}

/* How well the voxels with this label fit it. */
static int fit_label(void *user, size_t l, int worker)
{
    const work *w = user;
    const clv_refining *r = w->r;
    box b = w->box[l];
    int n[3];
    (void)worker;
    if (b.high[0] < b.low[0])
        return CLVOX_OK;
    for (int a = 0; a < 3; a++) {
        b.low[a] = b.low[a] > r->reach ? b.low[a] - r->reach : 0;
        b.high[a] = b.high[a] + r->reach < r->size[a] ? b.high[a] + r->reach : r->size[a] - 1;
        n[a] = b.high[a] - b.low[a] + 1;
    }
    const size_t voxels = (size_t)n[0] * (size_t)n[1] * (size_t)n[2],
                 longest = (size_t)n[0] + (size_t)n[1] + (size_t)n[2];
    float *sums = clv_array(SUMS * voxels + longest, sizeof *sums);
    if (!sums)
        return clv_out_of_memory();
    for (size_t i = 0; i < voxels; i++) {
        const size_t at = place(r, &b, n, i);
        const double v = intensity(r, at) - w->mean;
        const double power[SUMS] = {1, v, v * v};
        double share = r->label[at] == l ? (double)r->share[at] : 0;
        share = differs(r, at) && r->second[at] == l ? (double)r->other[at] : share;
        for (int k = 0; k < SUMS; k++)
            sums[(size_t)k * voxels + i] = (float)(share * power[k]);
    }
    for (int k = 0; k < SUMS; k++)
        for (int axis = 0; axis < 3; axis++)
            sum_lines(sums + (size_t)k * voxels, n, axis, r->reach, sums + SUMS * voxels);
    for (size_t i = 0; i < voxels; i++) {
        const size_t at = place(r, &b, n, i);
        if (!differs(r, at) || (r->label[at] != l && r->second[at] != l))
            continue;
        const double all = fmax((double)sums[i], 1e-12), mean = (double)sums[voxels + i] / all,
                     d = intensity(r, at) - w->mean - mean,
                     v = fmax((double)sums[2 * voxels + i] / all - mean * mean, 0) + FLOOR * w->variance;
        w->fit[r->second[at] == l][at] = (float)(-.5 * (d * d / v + log(v / w->variance)));
    }
    free(sums);
    return CLVOX_OK;
}

static int choose_plane(void *user, size_t z, int worker)
{
    const work *w = user;
    const clv_refining *r = w->r;
    const size_t plane = (size_t)r->size[0] * (size_t)r->size[1];
    (void)worker;
    for (size_t i = z * plane; i < (z + 1) * plane; i++) {
        if (!differs(r, i))
            continue;
        const double both = (double)r->share[i] + (double)r->other[i],
                     odds = (double)r->other[i] / (double)r->share[i] *
                            exp((double)r->strength * ((double)w->fit[1][i] - (double)w->fit[0][i]));
        const float most = (float)(both * fmax(odds, 1) / (1 + odds));
        if (odds > 1) {
            const uint16_t label = r->label[i];
            r->label[i] = r->second[i];
            r->second[i] = label;
        }
        r->share[i] = odds < INFINITY ? most : (float)both;
        r->other[i] = (float)both - r->share[i];
    }
    return CLVOX_OK;
}

int clv_refine(const clv_refining *r)
{
    int status = CLVOX_OK;
    const size_t n = (size_t)r->size[0] * (size_t)r->size[1] * (size_t)r->size[2];
    work w = {.r = r,
              .box = clv_array(NONE, sizeof *w.box),
              .fit = {clv_array(n, sizeof **w.fit), clv_array(n, sizeof **w.fit)}};
    if (!w.box || !w.fit[0] || !w.fit[1]) {
        status = clv_out_of_memory();
        goto end;
    }
    if (!survey(&w))
        goto end;
    CLV_TRY(clvox_parallel(NONE, fit_label, &w));
    status = clvox_parallel((size_t)r->size[2], choose_plane, &w);
end:
    free(w.box);
    free(w.fit[0]);
    free(w.fit[1]);
    return status;
}
