/* SPDX-License-Identifier: Apache-2.0 */
/* Labels of the template, by vote. */
#include <math.h>
#include <stdlib.h>

#include "atlas/atlas.h"
#include "io/labels.h"

typedef struct ballot {
    int64_t name;
    double weight;
} ballot;

static int by_name(const void *a, const void *b)
{
    int64_t x = ((const ballot *)a)->name, y = ((const ballot *)b)->name;
    return (x > y) - (x < y);
}

/* Of labels whose names ascend, the one of most weight, of equals the smallest. */
static int64_t winner(const ballot *p, int count)
{
    double best = 0;
    int64_t name = 0;
    for (int i = 0; i < count;) {
        double weight = 0;
        int from = i;
        for (; i < count && p[i].name == p[from].name; i++)
            weight += p[i].weight;
        if (weight > best) {
            best = weight;
            name = p[from].name;
        }
    }
    return name;
}

/* ---- local similarity ---------------------------------------------------- */

enum { RADIUS = 2, SUMS = 6 };
/* A window whose variance is this share of its mean square is flat. What all have besides, so that the
 * majority decides where nobody is like the template. */
static const double FLAT = 1e-6, FLOOR = 1e-6;

/* sum[i] becomes the sum over the RADIUS values before and after it along an axis. line: room for one. */
static void box(double *sum, const int size[3], int axis, double *line)
{
    const size_t stride[3] = {1, (size_t)size[0], (size_t)size[0] * (size_t)size[1]};
    const int n = size[axis], u = (axis + 1) % 3, v = (axis + 2) % 3;
    for (int j = 0; j < size[v]; j++)
        for (int i = 0; i < size[u]; i++) {
            double *at = sum + (size_t)i * stride[u] + (size_t)j * stride[v];
            for (int k = 0; k < n; k++)
                line[k] = at[(size_t)k * stride[axis]];
            for (int k = 0; k < n; k++) {
                double all = 0;
                for (int w = k < RADIUS ? 0 : k - RADIUS; w <= k + RADIUS && w < n; w++)
                    all += line[w];
                at[(size_t)k * stride[axis]] = all;
            }
        }
}

/* max(r, 0)^4, r the correlation over a window; 0 in flat ones. */
static double closeness(double n, double x, double y, double xx, double yy, double xy)
{
    const double in = xx - x * x / n, out = yy - y * y / n, both = xy - x * y / n;
    if (!(in > FLAT * xx) || !(out > FLAT * yy) || both <= 0)
        return 0;
    const double squared = both * both / (in * out);
    return squared * squared;
}

/* How like the template an image on its grid is around every voxel; 0 where the image is not. */
static int alike(const clvox_volume *image, const clvox_volume *average, float *out)
{
    const int *size = average->grid.size;
    const size_t n = clvox_grid_voxels(&average->grid);
    const int longest = size[0] > size[1] ? size[0] : size[1];
    double *sum[SUMS] = {NULL}, *line = malloc((size_t)(longest > size[2] ? longest : size[2]) * sizeof *line);
    bool room = line != NULL;
    for (int k = 0; k < SUMS; k++) {
        sum[k] = malloc(n * sizeof **sum);
        room &= sum[k] != NULL;
    }
    for (size_t i = 0; room && i < n; i++) {
        const double x = image->data[i], y = average->data[i], in = isfinite(x);
        const double terms[SUMS] = {in, in > 0 ? x : 0, in * y, in > 0 ? x * x : 0, in * y * y, in > 0 ? x * y : 0};
        for (int k = 0; k < SUMS; k++)
            sum[k][i] = terms[k];
    }
    for (int k = 0; room && k < 3 * SUMS; k++)
        box(sum[k / 3], size, k % 3, line);
    for (size_t i = 0; room && i < n; i++)
        out[i] = !isfinite(image->data[i])
                     ? 0
                     : (float)closeness(sum[0][i], sum[1][i], sum[2][i], sum[3][i], sum[4][i], sum[5][i]);
    for (int k = 0; k < SUMS; k++)
        free(sum[k]);
    free(line);
    return room ? CLVOX_OK : clv_fail(CLVOX_ERROR_MEMORY, "out of host memory for the vote");
}

/* ---- the vote ------------------------------------------------------------ */

/* What a subject brings: its labels on the template and, unless the majority decides, how like it is there. */
typedef struct voter {
    clvox_volume *labels;
    float *alike; /* NULL: it counts everywhere */
    double weight;
} voter;

static int prepare(const clv_atlas_run *a, const clv_atlas_member *s, voter *v)
{
    int status = CLVOX_OK;
    const clv_atlas_member *first = &a->s[s->first];
    clvox_volume *image = NULL;
    if (!s->given->labels || !first->weight)
        return CLVOX_OK;
    v->weight = s->own * first->kernel;
    CLV_TRY(clv_atlas_pull(a, &first->map, s->given->labels, CLVOX_INTERPOLATE_LABEL, 0, &v->labels));
    if (a->o->vote == CLVOX_VOTE_MAJORITY)
        goto end;
    v->alike = malloc(clvox_grid_voxels(&a->grid) * sizeof *v->alike);
    if (!v->alike) {
        status = clv_fail(CLVOX_ERROR_MEMORY, "out of host memory for the vote");
        goto end;
    }
    CLV_TRY(clv_atlas_pull(a, &first->map, first->image, CLVOX_INTERPOLATE_CUBIC, NAN, &image));
    status = alike(image, a->average, v->alike);
end:
    clvox_volume_destroy(&image);
    return status;
}

/* Subjects may have tables of names of their own: it is names that are counted, and ranked again where floats
 * do not hold them. */
int clv_atlas_vote(clv_atlas_run *a)
{
    int status = CLVOX_OK;
    bool any = false;
    const size_t n = clvox_grid_voxels(&a->grid);
    int64_t largest = 0, *exact = malloc(n * sizeof *exact);
    voter *voters = calloc((size_t)a->count, sizeof *voters);
    ballot *p = malloc((size_t)a->count * sizeof *p);
    if (!voters || !p || !exact) {
        status = clv_fail(CLVOX_ERROR_MEMORY, "out of host memory");
        goto end;
    }
    for (int i = 0; i < a->count; i++) {
        CLV_TRY(prepare(a, &a->s[i], &voters[i]));
        any |= voters[i].labels != NULL;
    }
    if (!any)
        goto end;
    CLV_TRY(clvox_volume_create(&a->grid, 1, CLVOX_KIND_LABEL, &a->out->labels));
    a->out->labels->type = CLVOX_TYPE_INT32;
    for (size_t v = 0; v < n; v++) {
        int count = 0;
        for (int i = 0; i < a->count; i++) {
            const voter *one = &voters[i];
            if (one->labels)
                p[count++] = (ballot){clv_label_name(one->labels, one->labels->data[v]),
                                      one->weight * (one->alike ? (double)one->alike[v] + FLOOR : 1)};
        }
        qsort(p, (size_t)count, sizeof *p, by_name);
        exact[v] = winner(p, count);
        a->out->labels->data[v] = (float)exact[v];
        largest = exact[v] > largest ? exact[v] : exact[v] < -largest ? -exact[v] : largest;
    }
    if (largest > INT32_MAX)
        a->out->labels->type = CLVOX_TYPE_INT64;
    if (largest > 1 << 24)
        CLV_TRY(clv_labels_rank(a->out->labels, exact));
end:
    free(exact);
    for (int i = 0; voters && i < a->count; i++) {
        clvox_volume_destroy(&voters[i].labels);
        free(voters[i].alike);
    }
    free(voters);
    free(p);
    return status;
}
