/* SPDX-License-Identifier: Apache-2.0 */
/* Labels of the template, by vote. */
#include "atlas/vote.h"

#include <math.h>
#include <stdlib.h>

#include "atlas/average.h"
#include "atlas/steps.h"
#include "base/matrix.h"
#include "clvox/apply.h"
#include "clvox/threads.h"
#include "io/volume/labels.h"
#include "io/volume/orientation.h"

typedef struct ballot {
    int64_t name;
    double weight;
} ballot;

static int by_name(const void *a, const void *b)
{
    int64_t x = ((const ballot *)a)->name, y = ((const ballot *)b)->name;
    return (x > y) - (x < y);
}

/* The label of most weight, among equals the smallest; labels ascend. */
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

typedef struct boxing {
    double *sum;
    const int *size;
    int axis, longest;
    double *line; /* longest of them for each worker */
} boxing;

static int box_plane(void *user, size_t index, int worker)
{
    const boxing *b = user;
    const int *size = b->size, n = size[b->axis], u = (b->axis + 1) % 3, v = (b->axis + 2) % 3;
    const size_t stride[3] = {1, (size_t)size[0], (size_t)size[0] * (size_t)size[1]}, along = stride[b->axis];
    double *line = b->line + (size_t)worker * (size_t)b->longest;
    for (int i = 0; i < size[u]; i++) {
        double *at = b->sum + (size_t)i * stride[u] + index * stride[v];
        for (int k = 0; k < n; k++)
            line[k] = at[(size_t)k * along];
        for (int k = 0; k < n; k++) {
            double all = 0;
            for (int w = k < RADIUS ? 0 : k - RADIUS; w <= k + RADIUS && w < n; w++)
                all += line[w];
            at[(size_t)k * along] = all;
        }
    }
    return CLVOX_OK;
}

/* Every value becomes the sum over the box of RADIUS around it. line: room for the longest axis for each worker. */
static int box(double *sum, const int size[3], int longest, double *line)
{
    int status = CLVOX_OK;
    for (int axis = 0; axis < 3; axis++)
        CLV_TRY(clvox_parallel((size_t)size[(axis + 2) % 3], box_plane,
                               &(boxing){sum, size, axis, longest, line}));
end:
    return status;
}

/* max(r, 0)^2, r the correlation over a window; 0 in flat ones. */
static double closeness(double n, double x, double y, double xx, double yy, double xy)
{
    const double in = xx - x * x / n, out = yy - y * y / n, both = xy - x * y / n;
    if (!(in > FLAT * xx) || !(out > FLAT * yy) || both <= 0)
        return 0;
    return both * both / (in * out);
}

/* How like the template an image on its grid is around every voxel; 0 where the image is not. */
static int alike(const clvox_volume *image, const clvox_volume *average, float *out)
{
    int status = CLVOX_OK, longest = 1;
    const int *size = average->grid.size;
    const size_t n = clvox_grid_voxels(&average->grid);
    for (int k = 0; k < 3; k++)
        longest = size[k] > longest ? size[k] : longest;
    double *sum[SUMS] = {NULL}, *line = malloc((size_t)longest * (size_t)clvox_threads() * sizeof *line);
    bool room = line != NULL;
    for (int k = 0; k < SUMS; k++) {
        sum[k] = malloc(n * sizeof **sum);
        room &= sum[k] != NULL;
    }
    if (!room) {
        status = clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory for the vote");
        goto end;
    }
    for (size_t i = 0; i < n; i++) {
        const double x = image->data[i], y = average->data[i], in = isfinite(x);
        const double terms[SUMS] = {in,         in > 0 ? x : 0,    in * y, in > 0 ? x * x : 0,
                                    in * y * y, in > 0 ? x * y : 0};
        for (int k = 0; k < SUMS; k++)
            sum[k][i] = terms[k];
    }
    for (int k = 0; k < SUMS; k++)
        CLV_TRY(box(sum[k], size, longest, line));
    for (size_t i = 0; i < n; i++)
        out[i] = !isfinite(image->data[i])
                     ? 0
                     : (float)closeness(sum[0][i], sum[1][i], sum[2][i], sum[3][i], sum[4][i], sum[5][i]);
end:
    for (int k = 0; k < SUMS; k++)
        free(sum[k]);
    free(line);
    return status;
}

/* ---- the vote ------------------------------------------------------------ */

/* Vote of a subject: its labels on the template and, unless the majority decides, its local similarity. */
typedef struct voter {
    clvox_volume *labels;
    clvox_volume *alike; /* NULL: it counts everywhere */
    double weight;
} voter;

static int prepare(clv_atlas_run *a, clv_atlas_member *s, int device, void *user)
{
    int status = CLVOX_OK;
    voter *v = (voter *)user + (s - a->s);
    const clv_atlas_member *first = &a->s[s->first];
    clvox_volume *image = NULL;
    if (!s->given->labels || !first->weight)
        return CLVOX_OK;
    v->weight = s->own * first->kernel;
    CLV_TRY(clv_atlas_pull(a, device, first, s->given->labels, CLVOX_INTERPOLATE_LABEL, &v->labels));
    CLV_TRY(clv_atlas_keep(a, v->labels));
    if (a->o->vote == CLVOX_VOTE_MAJORITY)
        goto end;
    CLV_TRY(clvox_volume_create(&a->grid, 1, CLVOX_KIND_SCALAR, &v->alike));
    CLV_TRY(clv_atlas_pull(a, device, first, first->image, CLVOX_INTERPOLATE_CUBIC, &image));
    CLV_TRY(alike(image, a->average, v->alike->data));
    status = clv_atlas_keep(a, v->alike);
end:
    clvox_volume_destroy(&image);
    return status;
}

/* Shares a voter's data by its owner with the whole team. */
static int spread_voter(const clv_atlas_run *a, const clv_atlas_member *s, voter *v)
{
    int status = CLVOX_OK;
    const int owner = a->s[s->first].owner;
    const bool there = v->labels != NULL, local = a->o->vote != CLVOX_VOTE_MAJORITY;
    if (!a->o->team || !s->given->labels || !a->s[s->first].weight)
        return CLVOX_OK;
    v->weight = s->own * a->s[s->first].kernel;
    CLV_TRY(clv_atlas_spread_volume(a, owner, 1, CLVOX_KIND_LABEL, &v->labels));
    CLV_TRY(clv_atlas_agree(a, there ? CLVOX_OK : clv_labels_copy_names(s->given->labels, NULL, v->labels)));
    if (local)
        CLV_TRY(clv_atlas_spread_volume(a, owner, 1, CLVOX_KIND_SCALAR, &v->alike));
end:
    return status;
}

typedef struct voting {
    const clv_atlas_run *a;
    voter *voters;
    ballot *room; /* count of them for each worker */
    int64_t *exact;
} voting;

static int vote_slice(void *user, size_t index, int worker)
{
    const voting *w = user;
    const size_t slice = (size_t)w->a->grid.size[0] * (size_t)w->a->grid.size[1];
    ballot *p = w->room + (size_t)worker * (size_t)w->a->count;
    for (size_t v = index * slice; v < (index + 1) * slice; v++) {
        int count = 0;
        for (int i = 0; i < w->a->count; i++) {
            const voter *one = &w->voters[i];
            if (one->labels)
                p[count++] = (ballot){clv_label_name(one->labels, one->labels->data[v]),
                                      one->weight * (one->alike ? (double)one->alike->data[v] + FLOOR : 1)};
        }
        qsort(p, (size_t)count, sizeof *p, by_name);
        w->exact[v] = winner(p, count);
    }
    return CLVOX_OK;
}

static int count(const voting *w)
{
    int status = CLVOX_OK;
    clvox_volume **labels = &w->a->out->labels;
    CLV_TRY(clvox_parallel((size_t)w->a->grid.size[2], vote_slice, (void *)w));
    CLV_TRY(clvox_volume_create(&w->a->grid, 1, CLVOX_KIND_LABEL, labels));
    CLV_TRY(clv_labels_take(w->exact, *labels));
    status = clv_orientation_show(&w->a->shown, labels);
end:
    return status;
}

int clv_atlas_vote(clv_atlas_run *a)
{
    int status = CLVOX_OK;
    bool any = false;
    voting w = {.a = a, .voters = calloc((size_t)a->count, sizeof *w.voters)};
    w.room = malloc((size_t)a->count * (size_t)clvox_threads() * sizeof *w.room);
    w.exact = malloc(clvox_grid_voxels(&a->grid) * sizeof *w.exact);
    CLV_TRY(clv_atlas_have(a, w.voters && w.room && w.exact));
    CLV_TRY(clv_atlas_each(a, &(clv_atlas_step){prepare, w.voters, 0, CLVOX_ATLAS_VOTER,
                                                CLV_ATLAS_WARPS | CLV_ATLAS_LABELS, true}));
    for (int i = 0; i < a->count; i++) {
        CLV_TRY(spread_voter(a, &a->s[i], &w.voters[i]));
        any |= w.voters[i].labels != NULL;
    }
    if (!any)
        goto end;
    status = clv_atlas_agree(a, count(&w));
end:
    for (int i = 0; w.voters && i < a->count; i++) {
        clvox_volume_destroy(&w.voters[i].labels);
        clvox_volume_destroy(&w.voters[i].alike);
    }
    free(w.voters);
    free(w.room);
    free(w.exact);
    return status;
}

/* ---- back to the subjects ------------------------------------------------- */

int clv_atlas_label(clv_atlas_run *a, clv_atlas_member *s, int device)
{
    int status = CLVOX_OK;
    clvox_transform affine = {.is_warp = 0}, warp = {.is_warp = 1, .warp = s->map.inverse_warp};
    const clvox_link links[2] = {{&affine, 1}, {&warp, 0}};
    if (!a->out->labels)
        return CLVOX_OK;
    clv_matrix_copy(CLV_MATRIX(s->map.matrix), affine.matrix);
    CLV_TRY(clvox_apply(a->ctx[device], a->out->labels, &s->grid, links, s->map.inverse_warp ? 2 : 1,
                        CLVOX_INTERPOLATE_LABEL, 0, &s->map.labels));
    status = clv_atlas_keep(a, s->map.labels);
end:
    clvox_store_rest(s->map.inverse_warp);
    return status < 0 ? clv_atlas_fail(status, s) : status;
}
