/* SPDX-License-Identifier: Apache-2.0 */
/* An unbiased template by rounds of registration and averaging (Joshi et al. 2004; Avants and Gee 2004; Ha 2011,
 * chapter 2): linear ones, then deformable ones, the mean map removed in each. */
#include "clvox/atlas.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "atlas/options.h"
#include "base/matrix.h"
#include "base/select.h"
#include "base/status.h"
#include "io/labels.h"

/* SQUARINGS: exp(v) by that many of v / 2^SQUARINGS. LOG_STEPS, WARP_STEPS: at most, until the mean of the logarithms
 * of the affines is 0, that of the warps below ENOUGH voxels or falls by less than to SLOW of itself. */
enum { SQUARINGS = 6, LOG_STEPS = 20, WARP_STEPS = 4 };
static const double ENOUGH = 5e-4, SLOW = .25;
/* Of the work of a round, averaging a subject against registering it. */
static const double AVERAGING = .15;

typedef struct subject {
    const clvox_atlas_subject *given;
    int place;           /* among those given */
    uint64_t hash;
    double weight;       /* against the largest */
    clvox_volume *image; /* on one scale */
    clvox_atlas_map map;
} subject;

typedef struct atlas_run {
    clvox_context *ctx;
    const clvox_atlas_options *o;
    subject *s; /* in the order of their contents: sums do not hang on the order given */
    int count;
    double weights; /* their sum */
    clvox_grid grid;
    clvox_volume *average, *next;
    clvox_atlas_result *out;
    const char *stage;
    double done, all;
} atlas_run;

void clvox_atlas_defaults(clvox_atlas_options *options)
{
    *options = (clvox_atlas_options){.linear_rounds = 2, .rounds = 4};
    clvox_register_defaults(&options->registration);
}

static int fail_of(int status, const subject *s)
{
    return clv_fail_in(status, s->given->name ? s->given->name : "a subject");
}

static int told(atlas_run *a, double share)
{
    if (a->o->progress && a->o->progress(a->o->user, a->stage, fmin((a->done + share) / a->all, 1)))
        return clv_fail(CLVOX_ERROR_STOPPED, "interrupted");
    return CLVOX_OK;
}

/* Within a registration. */
static int ticked(void *user, int level, int iteration, double metric, double fraction)
{
    atlas_run *a = user;
    (void)level, (void)iteration, (void)metric;
    return told(a, fraction) < 0;
}

/* ---- subjects ------------------------------------------------------------ */

static uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t size)
{
    const unsigned char *at = bytes;
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ at[i]) * UINT64_C(1099511628211);
    return hash;
}

static uint64_t hash_of(const clvox_atlas_subject *s)
{
    const clvox_volume *v = s->image;
    uint64_t hash = hash_bytes(UINT64_C(14695981039346656037), v->grid.size, sizeof v->grid.size);
    hash = hash_bytes(hash, v->grid.to_ras, sizeof v->grid.to_ras);
    hash = hash_bytes(hash, v->data, clvox_grid_voxels(&v->grid) * sizeof *v->data);
    if (s->mask)
        hash = hash_bytes(hash, s->mask->data, clvox_grid_voxels(&s->mask->grid) * sizeof *s->mask->data);
    return hash_bytes(hash, &s->weight, sizeof s->weight);
}

static int by_contents(const void *a, const void *b)
{
    const subject *x = a, *y = b;
    return x->hash != y->hash ? (x->hash > y->hash) - (x->hash < y->hash) : x->place - y->place;
}

/* A copy whose 1st and 99th percentile are 0 and 100, of the finite values. */
static int normalise(atlas_run *a, subject *s)
{
    int status = CLVOX_OK;
    const clvox_volume *from = s->given->image;
    size_t n = clvox_grid_voxels(&from->grid), finite = 0;
    float *value = malloc(n * sizeof *value);
    double low = 0, high = 1;
    if (!value) {
        status = clv_fail(CLVOX_ERROR_MEMORY, "out of host memory for an image");
        goto end;
    }
    CLV_TRY(clvox_volume_create(&from->grid, 1, CLVOX_KIND_SCALAR, &s->image));
    for (size_t i = 0; i < n; i++)
        if (isfinite(from->data[i]))
            value[finite++] = from->data[i];
    if (finite) {
        double least = clv_select(value, finite, 0), most = clv_select(value, finite, finite - 1);
        low = clv_select(value, finite, (size_t)(.01 * (double)(finite - 1)));
        high = clv_select(value, finite, (size_t)(.99 * (double)(finite - 1)));
        if (high <= low) /* a few voxels are not the background */
            low = least, high = most;
    }
    if (!finite || high <= low) {
        status = fail_of(clv_fail(CLVOX_ERROR_DATA, "the image has one value: nothing to register it by"), s);
        goto end;
    }
    for (size_t i = 0; i < n; i++)
        s->image->data[i] =
            a->o->keep_intensities ? from->data[i] : (float)(100 * ((double)from->data[i] - low) / (high - low));
end:
    free(value);
    return status;
}

/* Of a cube as large as a voxel, mm. */
static double edge_of(const clvox_grid *grid)
{
    return cbrt(fabs(clv_matrix_determinant(CLV_MATRIX(grid->to_ras))));
}

/* ---- the grid, and where subjects begin ----------------------------------- */

/* The centroid of values above 0, RAS mm; normalised ones lie above the 1st percentile then. */
static void centroid(const clvox_volume *v, double out[3])
{
    double sum = 0, at[3] = {0};
    const int *size = v->grid.size;
    for (int z = 0; z < size[2]; z++)
        for (int y = 0; y < size[1]; y++)
            for (int x = 0; x < size[0]; x++) {
                double value = v->data[((size_t)z * (size_t)size[1] + (size_t)y) * (size_t)size[0] + (size_t)x];
                value = isfinite(value) ? fmax(value, 0) : 0;
                sum += value;
                at[0] += value * x, at[1] += value * y, at[2] += value * z;
            }
    for (int i = 0; i < 3; i++)
        at[i] = sum > 0 ? at[i] / sum : (size[i] - 1) / 2.;
    clv_matrix_apply(CLV_MATRIX(v->grid.to_ras), at, out);
}

/* Along R, A and S, around all boxes once their centroids lie on one point, with voxels of the median volume. */
static int grid_around(atlas_run *a, double (*center)[3], const double mean[3])
{
    double low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY};
    double *edge = malloc((size_t)a->count * sizeof *edge);
    if (!edge)
        return clv_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    for (int i = 0; i < a->count; i++) {
        const clvox_grid *g = &a->s[i].image->grid;
        edge[i] = edge_of(g);
        for (int corner = 0; corner < 8; corner++) {
            double at[3], ras[3];
            for (int k = 0; k < 3; k++)
                at[k] = corner >> k & 1 ? g->size[k] - 1 : 0;
            clv_matrix_apply(CLV_MATRIX(g->to_ras), at, ras);
            for (int k = 0; k < 3; k++) {
                low[k] = fmin(low[k], ras[k] - center[i][k]);
                high[k] = fmax(high[k], ras[k] - center[i][k]);
            }
        }
    }
    qsort(edge, (size_t)a->count, sizeof *edge, clv_ascending);
    double voxel = edge[a->count / 2];
    free(edge);
    clv_matrix_identity(a->grid.to_ras);
    for (int k = 0; k < 3; k++) {
        a->grid.size[k] = (int)ceil((high[k] - low[k]) / voxel - 1e-6) + 1;
        a->grid.to_ras[k][k] = voxel;
        a->grid.to_ras[k][3] = mean[k] + low[k];
    }
    return CLVOX_OK;
}

static int place(atlas_run *a, const clvox_volume *start)
{
    int status = CLVOX_OK;
    bool one = true;
    double(*center)[3] = malloc((size_t)a->count * sizeof *center), mean[3] = {0};
    if (!center)
        return clv_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    for (int i = 0; i < a->count; i++) {
        centroid(a->s[i].image, center[i]);
        for (int k = 0; k < 3; k++)
            mean[k] += a->s[i].weight * center[i][k] / a->weights;
        one &= clvox_grid_equal(&a->s[0].image->grid, &a->s[i].image->grid);
    }
    if (start)
        a->grid = start->grid;
    else if (one)
        a->grid = a->s[0].image->grid;
    else
        CLV_TRY(grid_around(a, center, mean));
    for (int i = 0; i < a->count; i++) {
        clv_matrix_identity(a->s[i].map.matrix);
        for (int k = 0; k < 3 && !one && !start; k++)
            a->s[i].map.matrix[k][3] = center[i][k] - mean[k];
    }
end:
    free(center);
    return status;
}

/* ---- averages ------------------------------------------------------------ */

typedef struct pair {
    float value;
    double weight;
} pair;

static int by_pair(const void *a, const void *b)
{
    float x = ((const pair *)a)->value, y = ((const pair *)b)->value;
    return (x > y) - (x < y);
}

/* Of values that ascend, without `share` of the weight at either end. */
static double trimmed(const pair *p, int count, double share)
{
    double all = 0, sum = 0, kept = 0, before = 0;
    for (int i = 0; i < count; i++)
        all += p[i].weight;
    for (int i = 0; i < count; i++) {
        double part = fmin(before + p[i].weight, (1 - share) * all) - fmax(before, share * all);
        before += p[i].weight;
        if (part > 0)
            sum += part * (double)p[i].value, kept += part;
    }
    return sum / kept;
}

static double median(const pair *p, int count)
{
    double all = 0, before = 0;
    for (int i = 0; i < count; i++)
        all += p[i].weight;
    for (int i = 0; i < count; i++) {
        before += p[i].weight;
        if (before == all / 2 && i + 1 < count)
            return ((double)p[i].value + (double)p[i + 1].value) / 2;
        if (before > all / 2)
            return p[i].value;
    }
    return p[count - 1].value;
}

static int average_voxel(const atlas_run *a, clvox_volume *const *warped, size_t voxel, pair *p, float *out)
{
    int count = 0;
    double sum = 0, weight = 0;
    for (int i = 0; i < a->count; i++) {
        float value = warped[i]->data[voxel];
        if (!isfinite(value))
            continue;
        p[count++] = (pair){value, a->s[i].weight};
        sum += a->s[i].weight * (double)value;
        weight += a->s[i].weight;
    }
    if (count && a->o->average != CLVOX_AVERAGE_MEAN)
        qsort(p, (size_t)count, sizeof *p, by_pair);
    *out = !count                                         ? 0
           : a->o->average == CLVOX_AVERAGE_MEAN    ? (float)(sum / weight)
           : a->o->average == CLVOX_AVERAGE_TRIMMED ? (float)trimmed(p, count, .1)
                                                          : (float)median(p, count);
    return count;
}

/* Squared correlation with the template where both are. */
static double likeness(const clvox_volume *image, const clvox_volume *average)
{
    double n = 0, x = 0, y = 0, xx = 0, yy = 0, xy = 0;
    for (size_t i = 0; i < clvox_grid_voxels(&average->grid); i++) {
        double p = image->data[i], q = average->data[i];
        if (isfinite(p))
            n++, x += p, y += q, xx += p * p, yy += q * q, xy += p * q;
    }
    double c = xy - x * y / n, v = (xx - x * x / n) * (yy - y * y / n);
    return v > 0 ? c * c / v : NAN;
}

/* The images through their whole maps (warp, affine), each sampled once. */
static int average(atlas_run *a)
{
    int status = CLVOX_OK;
    clvox_volume **warped = calloc((size_t)a->count, sizeof *warped);
    pair *p = malloc((size_t)a->count * sizeof *p);
    if (!warped || !p) {
        status = clv_fail(CLVOX_ERROR_MEMORY, "out of host memory");
        goto end;
    }
    for (int i = 0; i < a->count; i++) {
        const subject *s = &a->s[i];
        clvox_transform warp = {.is_warp = 1, .warp = s->map.warp}, affine = {0};
        clvox_link links[2];
        int count = 0;
        clv_matrix_copy(CLV_MATRIX(s->map.matrix), affine.matrix);
        if (s->map.warp)
            links[count++] = (clvox_link){&warp, 0};
        links[count++] = (clvox_link){&affine, 0};
        CLV_TRY(clvox_apply(a->ctx, s->image, &a->grid, links, count, CLVOX_INTERPOLATE_CUBIC, NAN, &warped[i]));
        a->done += AVERAGING;
        CLV_TRY(told(a, 0));
    }
    CLV_TRY(clvox_volume_create(&a->grid, 1, CLVOX_KIND_SCALAR, &a->next));
    for (size_t v = 0; v < clvox_grid_voxels(&a->grid); v++)
        average_voxel(a, warped, v, p, &a->next->data[v]);
    for (int i = 0; i < a->count; i++)
        a->s[i].map.likeness = likeness(warped[i], a->next);
end:
    for (int i = 0; warped && i < a->count; i++)
        clvox_volume_destroy(&warped[i]);
    free(warped);
    free(p);
    return status;
}

/* The new template takes the place of the old one. */
static void replace(atlas_run *a, clvox_atlas_round *round)
{
    const int *size = a->grid.size;
    double spacing[3], apart = 0, power = 0, slope = 0;
    clvox_grid_spacing(&a->grid, spacing);
    const size_t stride[3] = {1, (size_t)size[0], (size_t)size[0] * (size_t)size[1]};
    for (size_t i = 0; i < clvox_grid_voxels(&a->grid); i++) {
        double value = a->next->data[i], before = a->average ? a->average->data[i] : 0;
        power += value * value;
        apart += (value - before) * (value - before);
        const int at[3] = {(int)(i % stride[1]), (int)(i / stride[1]) % size[1], (int)(i / stride[2])};
        for (int k = 0; k < 3; k++)
            if (at[k] + 1 < size[k]) {
                double d = ((double)a->next->data[i + stride[k]] - value) / spacing[k];
                slope += d * d;
            }
    }
    round->change = power > 0 && a->average ? sqrt(apart / power) : NAN;
    round->sharpness = power > 0 ? sqrt(slope / power) : 0;
    clvox_volume_destroy(&a->average);
    a->average = a->next;
    a->next = NULL;
}

/* ---- mean maps ----------------------------------------------------------- */

/* rms over the grid of |(m - 1) x| in voxels. */
static double length_of_affine(const clvox_grid *grid, const double m[4][4])
{
    double sum = 0, edge = edge_of(grid);
    enum { STEPS = 8 };
    for (int i = 0; i < STEPS * STEPS * STEPS; i++) {
        const int step[3] = {i % STEPS, i / STEPS % STEPS, i / (STEPS * STEPS)};
        double at[3], x[3], y[3];
        for (int k = 0; k < 3; k++)
            at[k] = (grid->size[k] - 1) * (step[k] + .5) / STEPS;
        clv_matrix_apply(CLV_MATRIX(grid->to_ras), at, x);
        clv_matrix_apply(m, x, y);
        for (int k = 0; k < 3; k++)
            sum += (y[k] - x[k]) * (y[k] - x[k]);
    }
    return sqrt(sum / (STEPS * STEPS * STEPS)) / edge;
}

static int mean_log(atlas_run *a, double out[4][4])
{
    memset(out, 0, 16 * sizeof(double));
    for (int i = 0; i < a->count; i++) {
        double log[4][4];
        if (!clv_matrix_log(CLV_MATRIX(a->s[i].map.matrix), log))
            return fail_of(clv_fail(CLVOX_ERROR_DATA, "its affine to the template mirrors, or rotates by 180 degrees"),
                           &a->s[i]);
        for (int k = 0; k < 16; k++)
            out[k / 4][k % 4] += a->s[i].weight / a->weights * log[k / 4][k % 4];
    }
    return CLVOX_OK;
}

/* A_i <- A_i G until the mean of log A_i is 0. */
static int center_affines(atlas_run *a, clvox_atlas_round *round)
{
    int status = CLVOX_OK;
    double mean[4][4], back[4][4], sum = 0;
    for (int step = 0; step < LOG_STEPS; step++) {
        CLV_TRY(mean_log(a, mean));
        for (int k = 0; k < 16; k++)
            mean[k / 4][k % 4] *= -1;
        clv_matrix_exp(CLV_MATRIX(mean), back);
        double length = length_of_affine(&a->grid, CLV_MATRIX(back));
        if (step == 0)
            round->removed_voxels = length;
        round->left_voxels = length;
        if (length < 1e-9)
            break;
        for (int i = 0; i < a->count; i++)
            clv_matrix_multiply(CLV_MATRIX(a->s[i].map.matrix), CLV_MATRIX(back), a->s[i].map.matrix);
    }
    double edge = edge_of(&a->grid);
    for (int i = 0; i < a->count; i++) {
        double length = edge * length_of_affine(&a->grid, CLV_MATRIX(a->s[i].map.matrix));
        sum += a->s[i].weight * length * length / a->weights;
    }
    round->spread_mm = sqrt(sum);
end:
    return status;
}

static double length_of(const clvox_volume *field)
{
    size_t n = clvox_grid_voxels(&field->grid);
    double sum = 0;
    for (size_t i = 0; i < 3 * n; i++)
        sum += isfinite(field->data[i]) ? (double)field->data[i] * (double)field->data[i] : 0;
    return sqrt(sum / (double)n);
}

/* The mean of the logarithms (u - u~) / 2, u~ that of the inverse. */
static int mean_velocity(atlas_run *a, clvox_volume **out)
{
    int status = CLVOX_OK;
    size_t n = 3 * clvox_grid_voxels(&a->grid);
    double *sum = calloc(n, sizeof *sum);
    if (!sum)
        return clv_fail(CLVOX_ERROR_MEMORY, "out of host memory for the mean map");
    CLV_TRY(clvox_volume_create(&a->grid, 3, CLVOX_KIND_DISPLACEMENT, out));
    for (int i = 0; i < a->count; i++) {
        const clvox_atlas_map *m = &a->s[i].map;
        for (size_t k = 0; k < n; k++) {
            double v = ((double)m->warp->data[k] - (double)m->inverse_warp->data[k]) / 2;
            sum[k] += isfinite(v) ? a->s[i].weight * v : 0;
        }
    }
    for (size_t k = 0; k < n; k++)
        (*out)->data[k] = (float)(sum[k] / a->weights);
end:
    free(sum);
    return status;
}

/* exp(sign v) */
static int exponential(atlas_run *a, const clvox_volume *v, double sign, clvox_volume **out)
{
    int status = CLVOX_OK;
    size_t n = 3 * clvox_grid_voxels(&a->grid);
    CLV_TRY(clvox_volume_create(&a->grid, 3, CLVOX_KIND_DISPLACEMENT, out));
    for (size_t k = 0; k < n; k++)
        (*out)->data[k] = (float)ldexp(sign * (double)v->data[k], -SQUARINGS);
    for (int i = 0; i < SQUARINGS; i++) {
        clvox_transform half = {.is_warp = 1, .warp = *out};
        clvox_volume *whole = NULL;
        CLV_TRY(clvox_compose(a->ctx, &a->grid, (const clvox_link[]){{&half, 0}, {&half, 0}}, 2, &whole));
        clvox_volume_destroy(out);
        *out = whole;
    }
end:
    return status;
}

/* phi_i <- phi_i exp(-v), phi_i^-1 <- exp(v) phi_i^-1 */
static int move_warps(atlas_run *a, const clvox_volume *v)
{
    int status = CLVOX_OK;
    clvox_volume *to_middle = NULL, *from_middle = NULL, *warp = NULL, *inverse = NULL;
    CLV_TRY(exponential(a, v, -1, &to_middle));
    CLV_TRY(exponential(a, v, 1, &from_middle));
    clvox_transform to = {.is_warp = 1, .warp = to_middle}, from = {.is_warp = 1, .warp = from_middle};
    for (int i = 0; i < a->count; i++) {
        clvox_atlas_map *m = &a->s[i].map;
        clvox_transform there = {.is_warp = 1, .warp = m->warp}, back = {.is_warp = 1, .warp = m->inverse_warp};
        CLV_TRY(clvox_compose(a->ctx, &a->grid, (const clvox_link[]){{&to, 0}, {&there, 0}}, 2, &warp));
        CLV_TRY(clvox_compose(a->ctx, &a->grid, (const clvox_link[]){{&back, 0}, {&from, 0}}, 2, &inverse));
        clvox_volume_destroy(&m->warp);
        clvox_volume_destroy(&m->inverse_warp);
        m->warp = warp, m->inverse_warp = inverse;
        warp = inverse = NULL;
    }
end:
    clvox_volume_destroy(&to_middle);
    clvox_volume_destroy(&from_middle);
    clvox_volume_destroy(&warp);
    clvox_volume_destroy(&inverse);
    return status;
}

/* Removes the mean map until there is none, or interpolation keeps it from falling further: once leaves what is of
 * second order in the maps' lengths. */
static int center_warps(atlas_run *a, clvox_atlas_round *round)
{
    int status = CLVOX_OK;
    clvox_volume *v = NULL;
    double sum = 0, before = INFINITY;
    for (int step = 0;; step++) {
        CLV_TRY(mean_velocity(a, &v));
        round->left_voxels = length_of(v) / edge_of(&a->grid);
        if (step == 0)
            round->removed_voxels = round->left_voxels;
        if (round->left_voxels < ENOUGH || round->left_voxels > SLOW * before || step == WARP_STEPS)
            break;
        before = round->left_voxels;
        CLV_TRY(move_warps(a, v));
        clvox_volume_destroy(&v);
        CLV_TRY(told(a, 0));
    }
    for (int i = 0; i < a->count; i++) {
        double length = a->s[i].map.displacement_mm = length_of(a->s[i].map.warp);
        sum += a->s[i].weight * length * length / a->weights;
    }
    round->spread_mm = sqrt(sum);
end:
    clvox_volume_destroy(&v);
    return status;
}

/* ---- rounds -------------------------------------------------------------- */

static int register_subject(atlas_run *a, subject *s, bool deformable, bool first)
{
    int status = CLVOX_OK;
    clvox_register_options o = a->o->registration;
    clvox_register_result r = {.warp = NULL};
    const clvox_register_images images = {
        .fixed = {a->average}, .moving = {s->image}, .channels = 1, .moving_mask = s->given->mask};
    o.init = first ? CLVOX_INIT_AUTO : CLVOX_INIT_MATRIX;
    clv_matrix_copy(CLV_MATRIX(s->map.matrix), o.matrix);
    if (deformable)
        o.linear = CLVOX_LINEAR_NONE;
    else
        o.deform = CLVOX_DEFORM_NONE;
    o.inverse = deformable;
    o.progress = ticked;
    o.user = a;
    status = clvox_register(a->ctx, &images, &o, &r);
    if (status == CLVOX_ERROR_DATA || status == CLVOX_ERROR_ARGUMENT)
        fail_of(status, s);
    CLV_TRY(status);
    clv_matrix_copy(CLV_MATRIX(r.matrix), s->map.matrix);
    clvox_volume_destroy(&s->map.warp);
    clvox_volume_destroy(&s->map.inverse_warp);
    s->map.warp = r.warp, s->map.inverse_warp = r.inverse_warp;
    r.warp = r.inverse_warp = NULL;
    a->out->device_bytes = r.device_bytes > a->out->device_bytes ? r.device_bytes : a->out->device_bytes;
    a->done += 1;
    status = told(a, 0);
end:
    clvox_register_result_free(&r);
    return status;
}

static int run_round(atlas_run *a, bool deformable, bool first)
{
    int status = CLVOX_OK;
    clvox_atlas_round *round = &a->out->round[a->out->rounds];
    *round = (clvox_atlas_round){.deformable = deformable};
    a->stage = deformable ? "deformable round" : "linear round";
    for (int i = 0; i < a->count; i++)
        CLV_TRY(register_subject(a, &a->s[i], deformable, first));
    if (deformable)
        CLV_TRY(center_warps(a, round));
    else
        CLV_TRY(center_affines(a, round));
    CLV_TRY(average(a));
    replace(a, round);
    a->out->rounds++;
end:
    return status;
}

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

/* Subjects may have tables of names of their own: it is names that are counted, and ranked again where floats do not
 * hold them. */
static int vote(atlas_run *a)
{
    int status = CLVOX_OK, voters = 0;
    const size_t n = clvox_grid_voxels(&a->grid);
    int64_t largest = 0, *exact = malloc(n * sizeof *exact);
    clvox_volume **labels = calloc((size_t)a->count, sizeof *labels);
    ballot *p = malloc((size_t)a->count * sizeof *p);
    if (!labels || !p || !exact) {
        status = clv_fail(CLVOX_ERROR_MEMORY, "out of host memory");
        goto end;
    }
    for (int i = 0; i < a->count; i++) {
        const subject *s = &a->s[i];
        clvox_transform warp = {.is_warp = 1, .warp = s->map.warp}, affine = {0};
        clv_matrix_copy(CLV_MATRIX(s->map.matrix), affine.matrix);
        const clvox_link links[2] = {{s->map.warp ? &warp : &affine, 0}, {&affine, 0}};
        if (!s->given->labels)
            continue;
        CLV_TRY(clvox_apply(a->ctx, s->given->labels, &a->grid, links, s->map.warp ? 2 : 1,
                            CLVOX_INTERPOLATE_LABEL, 0, &labels[i]));
        voters++;
    }
    if (!voters)
        goto end;
    CLV_TRY(clvox_volume_create(&a->grid, 1, CLVOX_KIND_LABEL, &a->out->labels));
    a->out->labels->type = CLVOX_TYPE_INT32;
    for (size_t v = 0; v < n; v++) {
        int count = 0;
        for (int i = 0; i < a->count; i++)
            if (labels[i])
                p[count++] = (ballot){clv_label_name(labels[i], labels[i]->data[v]), a->s[i].weight};
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
    for (int i = 0; labels && i < a->count; i++)
        clvox_volume_destroy(&labels[i]);
    free(labels);
    free(p);
    return status;
}

static int check(const clvox_atlas_subject *s, int count, const clvox_volume *start, const clvox_atlas_options *o)
{
    int status = clv_options_check(&clv_atlas_table, o);
    if (status < 0)
        return status;
    if (count < 1)
        return clv_fail(CLVOX_ERROR_ARGUMENT, "a template takes one subject or more");
    if (o->linear_rounds + o->rounds < 1)
        return clv_fail(CLVOX_ERROR_ARGUMENT, "a template takes one round or more");
    if (start && (start->kind != CLVOX_KIND_SCALAR || start->frames != 1))
        return clv_fail(CLVOX_ERROR_ARGUMENT, "a template begins with a 3-D image of one value a voxel");
    for (int i = 0; i < count; i++)
        if (!s[i].image || s[i].image->kind != CLVOX_KIND_SCALAR || s[i].image->frames != 1 || !(s[i].weight > 0) ||
            !isfinite(s[i].weight))
            return clv_fail(CLVOX_ERROR_ARGUMENT,
                            "%s: a subject is a 3-D image of one value a voxel and has a weight above 0",
                            s[i].name ? s[i].name : "a subject");
    return CLVOX_OK;
}

static int prepare(atlas_run *a, const clvox_atlas_subject *subjects, const clvox_volume *start)
{
    int status = CLVOX_OK;
    double most = 0;
    for (int i = 0; i < a->count; i++)
        most = fmax(most, subjects[i].weight);
    for (int i = 0; i < a->count; i++) {
        subject *s = &a->s[i];
        s->given = &subjects[i];
        s->place = i;
        s->weight = (double)(float)(subjects[i].weight / most); /* the same bits for weights of the same ratios */
        clvox_atlas_subject scaled = subjects[i];
        scaled.weight = s->weight;
        s->hash = hash_of(&scaled);
    }
    qsort(a->s, (size_t)a->count, sizeof *a->s, by_contents);
    for (int i = 0; i < a->count; i++) {
        a->weights += a->s[i].weight;
        CLV_TRY(normalise(a, &a->s[i]));
    }
    CLV_TRY(place(a, start));
    if (start) {
        CLV_TRY(clvox_volume_create(&start->grid, 1, CLVOX_KIND_SCALAR, &a->average));
        memcpy(a->average->data, start->data, clvox_grid_voxels(&start->grid) * sizeof(float));
    } else {
        clvox_atlas_round unused;
        CLV_TRY(average(a));
        replace(a, &unused);
    }
end:
    return status;
}

int clvox_atlas(clvox_context *context, const clvox_atlas_subject *subjects, int count, const clvox_volume *start,
                const clvox_atlas_options *options, clvox_atlas_result *result)
{
    int status = CLVOX_OK, first = 1;
    *result = (clvox_atlas_result){.average = NULL};
    CLV_TRY(check(subjects, count, start, options));
    atlas_run a = {.ctx = context, .o = options, .count = count, .out = result, .stage = "first mean"};
    const int rounds = options->registration.deform == CLVOX_DEFORM_NONE ? 0 : options->rounds;
    const int linear = options->registration.linear == CLVOX_LINEAR_NONE ? 0 : options->linear_rounds;
    a.all = count * ((1 + AVERAGING) * (rounds + linear) + AVERAGING);
    a.s = calloc((size_t)count, sizeof *a.s);
    result->map = calloc((size_t)count, sizeof *result->map);
    result->round = calloc((size_t)(rounds + linear) + 1, sizeof *result->round);
    if (!a.s || !result->map || !result->round) {
        status = clv_fail(CLVOX_ERROR_MEMORY, "out of host memory");
        goto release;
    }
    status = prepare(&a, subjects, start);
    for (int i = 0; status >= 0 && i < linear; i++, first = 0)
        status = run_round(&a, false, first);
    for (int i = 0; status >= 0 && i < rounds; i++) {
        status = run_round(&a, true, false);
        if (status >= 0 && result->round[result->rounds - 1].change < options->until)
            break;
    }
    if (status >= 0)
        status = vote(&a);
    result->subjects = count;
    for (int i = 0; i < count; i++)
        result->map[a.s[i].place] = a.s[i].map;
    result->average = a.average;
release:
    for (int i = 0; a.s && i < count; i++)
        clvox_volume_destroy(&a.s[i].image);
    clvox_volume_destroy(&a.next);
    free(a.s);
end:
    if (status < 0)
        clvox_atlas_result_free(result);
    return status;
}

void clvox_atlas_result_free(clvox_atlas_result *result)
{
    if (!result)
        return;
    for (int i = 0; result->map && i < result->subjects; i++) {
        clvox_volume_destroy(&result->map[i].warp);
        clvox_volume_destroy(&result->map[i].inverse_warp);
    }
    clvox_volume_destroy(&result->average);
    clvox_volume_destroy(&result->labels);
    free(result->map);
    free(result->round);
    *result = (clvox_atlas_result){.average = NULL};
}
