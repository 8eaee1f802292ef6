/* SPDX-License-Identifier: Apache-2.0 */
/* Boundary-based registration (Greve and Fischl 2009): the pose in which an image changes across the
 * boundary of white matter. */
#include "clvox/boundary.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/matrix.h"
#include "base/options.h"
#include "base/status.h"
#include "clvox/filter.h"
#include "op/match/boundary.h"
#include "runtime/device/host.h"

enum {
    MOST_POINTS = 100000, /* more say nothing new of an image of voxels of 1 mm */
    FEW_POINTS = 10000,   /* for the way there */
    LEAST_POINTS = 100,
    STEPS = 60,
    MOST = 12 /* parameters: three shifts, then a rotation vector or the nine of a matrix */
};

/* Share of the slope that the way there has: so flat that the cost leads from some mm away. */
static const double FLAT = .4;
/* mm: the longest step along a parameter, the first one, and where a descent ends. */
static const double LONGEST = 2, FIRST = .5, SHORTEST = 5e-4;
/* Costs above this are not those of a boundary in its place: made EPI and FLAIR of four people from right
 * and wrong starts (2026-11-30; bench/suspicion.md has four others). */
static const double LOST = .8;

typedef struct fit {
    clvox_context *ctx;
    clv_boundary_args args;
    clv_buffer *image, *points, *near, *partial;
    double to_voxel[4][4];
    double center[3], radius; /* of the points, mm */
    double slope;             /* with its sign */
    double least;             /* points that have to count */
    bool affine;
} fit;

/* y = linear (x - center) + shift, the mean cost there, and its derivatives per mm of movement at the
 * radius. */
typedef struct pose {
    double linear[3][3], shift[3];
    double cost, gradient[MOST];
    int counted;
} pose;

void clvox_boundary_defaults(clvox_boundary_options *o)
{
    CLV_GIVEN_OR(, o);
    *o = (clvox_boundary_options){.size = sizeof *o, .white_mm = 2, .grey_mm = 1.25, .slope = .05};
}

static int evaluate(fit *f, pose *p)
{
    int status = CLVOX_OK;
    double sums[CLV_BOUNDARY_SUMS], by_pose[3][4] = {{0}}, turn[3][3] = {{0}};
    const int n = f->affine ? 12 : 6;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 4; j++) {
            double sum = j == 3 ? f->to_voxel[i][3] : 0;
            for (int k = 0; k < 3; k++)
                sum += f->to_voxel[i][k] * (j == 3 ? p->shift[k] : p->linear[k][j]);
            f->args.map[i][j] = (float)sum;
        }
    CLV_TRY(clv_boundary(f->ctx, &f->args, f->partial, sums));
    p->counted = (int)sums[1];
    p->cost = sums[1] >= f->least ? sums[0] / sums[1] : INFINITY;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 4; j++)
            for (int k = 0; k < 3; k++)
                by_pose[i][j] += f->to_voxel[k][i] * sums[2 + 4 * k + j] / fmax(1, sums[1]);
    /* By D of linear -> (1 + D) linear. */
    for (int i = 0; i < 27; i++)
        turn[i / 9][i / 3 % 3] += by_pose[i / 9][i % 3] * p->linear[i / 3 % 3][i % 3];
    for (int i = 0; i < n; i++)
        p->gradient[i] = i < 3 ? by_pose[i][3]
                         : f->affine
                             ? turn[(i - 3) / 3][(i - 3) % 3] / f->radius
                             : (turn[(i + 2) % 3][(i + 1) % 3] - turn[(i + 1) % 3][(i + 2) % 3]) / f->radius;
end:
    return status;
}

/* The pose moved by delta, mm. */
static void move(const fit *f, const pose *from, const double delta[MOST], pose *to)
{
    double by[4][4] = {{0}}, moved[4][4];
    for (int i = 0; i < 3; i++) {
        to->shift[i] = from->shift[i] + delta[i];
        if (f->affine) {
            for (int j = 0; j < 3; j++)
                by[i][j] = delta[3 + 3 * i + j] / f->radius;
        } else {
            by[(i + 2) % 3][(i + 1) % 3] = delta[3 + i] / f->radius;
            by[(i + 1) % 3][(i + 2) % 3] = -delta[3 + i] / f->radius;
        }
    }
    clv_matrix_exp(CLV_MATRIX(by), moved);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            to->linear[i][j] = 0;
            for (int k = 0; k < 3; k++)
                to->linear[i][j] += moved[i][k] * from->linear[k][j];
        }
}

static double dot(const double *a, const double *b, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

/* What a step along s, by which the gradient changed by y, says of the inverse of the curvature (BFGS). */
static void learn(double inverse[MOST][MOST], const double *s, const double *y, int n)
{
    double with[MOST], along = dot(s, y, n);
    if (!(along > 1e-12))
        return;
    for (int i = 0; i < n; i++)
        with[i] = dot(inverse[i], y, n);
    const double twice = 1 + dot(y, with, n) / along;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            inverse[i][j] += (twice * s[i] * s[j] - with[i] * s[j] - s[i] * with[j]) / along;
}

/* Lowers the cost of the points that args names, by BFGS with halved steps. */
static int descend(fit *f, pose *p)
{
    int status = CLVOX_OK;
    const int n = f->affine ? 12 : 6;
    double inverse[MOST][MOST] = {{0}}, first = 0;
    CLV_TRY(evaluate(f, p));
    for (int i = 0; i < n; i++)
        first = fmax(first, fabs(p->gradient[i]));
    for (int i = 0; i < n && first > 0; i++)
        inverse[i][i] = FIRST / first;
    for (int k = 0; k < STEPS && isfinite(p->cost) && first > 0; k++) {
        double step[MOST], change[MOST], longest = 0, share = 1;
        pose next;
        for (int i = 0; i < n; i++) {
            step[i] = -dot(inverse[i], p->gradient, n);
            longest = fmax(longest, fabs(step[i]));
        }
        const double fall = dot(step, p->gradient, n);
        share = longest > LONGEST ? LONGEST / longest : 1;
        for (; share * longest > SHORTEST; share /= 2) {
            double part[MOST];
            for (int i = 0; i < n; i++)
                part[i] = share * step[i];
            move(f, p, part, &next);
            CLV_TRY(evaluate(f, &next));
            if (next.cost < p->cost + 1e-4 * share * fall)
                break;
        }
        if (!(share * longest > SHORTEST))
            break;
        for (int i = 0; i < n; i++) {
            step[i] *= share;
            change[i] = next.gradient[i] - p->gradient[i];
        }
        learn(inverse, step, change, n);
        *p = next;
    }
end:
    return status;
}

/* ---- points ---------------------------------------------------------------- */

/* Normals of a surface's vertices by the areas of their triangles, outward, of length 1 or 0. */
static void find_normals(const clvox_surface *s, double *normal)
{
    double volume = 0;
    memset(normal, 0, 3 * s->vertices * sizeof *normal);
    for (size_t t = 0; t < s->triangles; t++) {
        const int32_t *corner = s->corners + 3 * t;
        const double *a = s->points + 3 * (size_t)corner[0];
        double edge[2][3], n[3];
        for (int e = 0; e < 2; e++)
            for (int i = 0; i < 3; i++)
                edge[e][i] = s->points[3 * (size_t)corner[1 + e] + (size_t)i] - a[i];
        clv_cross(edge[0], edge[1], n);
        for (int i = 0; i < 9; i++)
            normal[3 * (size_t)corner[i / 3] + (size_t)(i % 3)] += n[i % 3];
        for (int i = 0; i < 3; i++) /* from a vertex, so that its size is not that of its place */
            volume += (a[i] - s->points[i]) * n[i];
    }
    for (size_t v = 0; v < s->vertices; v++) {
        double *n = normal + 3 * v;
        const double length = sqrt(dot(n, n, 3));
        for (int i = 0; i < 3; i++)
            n[i] *= length > 0 ? (volume < 0 ? -1 : 1) / length : 0;
    }
}

/* Pairs of places about the points' centre, every stride-th vertex; those without a normal are left out.
 * Returns how many, and sets the fit's centre and radius. */
static int place(fit *f, const clvox_surface *const *surfaces, int count, const clvox_boundary_options *o,
                 double *normal, float *pair)
{
    size_t vertices = 0;
    int points = 0;
    double square = 0, mean[3] = {0};
    for (int s = 0; s < count; s++)
        vertices += surfaces[s]->vertices;
    const size_t stride = (vertices + MOST_POINTS - 1) / MOST_POINTS;
    for (int s = 0; s < count; s++)
        for (size_t i = 0; i < 3 * surfaces[s]->vertices; i++)
            mean[i % 3] += surfaces[s]->points[i] / (double)vertices;
    memcpy(f->center, mean, sizeof mean);
    for (int s = 0; s < count; s++) {
        find_normals(surfaces[s], normal);
        for (size_t v = 0; v < surfaces[s]->vertices; v += stride) {
            const double *n = normal + 3 * v;
            float *to = pair + CLV_BOUNDARY_POINT * (size_t)points;
            if (n[0] == 0 && n[1] == 0 && n[2] == 0)
                continue;
            for (int i = 0; i < 3; i++) {
                const double at = surfaces[s]->points[3 * v + (size_t)i] - mean[i];
                to[i] = (float)(at - o->white_mm * n[i]);
                to[4 + i] = (float)(at + o->grey_mm * n[i]);
                square += at * at;
            }
            to[3] = to[7] = 0;
            points++;
        }
    }
    f->radius = fmax(1, sqrt(square / fmax(1, points)));
    return points;
}

/* The same points in an order in which the first of them are a sample of all. */
static void shuffle(float *pair, int count)
{
    uint64_t state = 1;
    for (int i = count - 1; i > 0; i--) {
        float kept[CLV_BOUNDARY_POINT];
        state = state * 6364136223846793005u + 1442695040888963407u;
        const size_t j = (size_t)((state >> 33) % (uint64_t)(i + 1));
        memcpy(kept, pair + CLV_BOUNDARY_POINT * (size_t)i, sizeof kept);
        memcpy(pair + CLV_BOUNDARY_POINT * (size_t)i, pair + CLV_BOUNDARY_POINT * j, sizeof kept);
        memcpy(pair + CLV_BOUNDARY_POINT * j, kept, sizeof kept);
    }
}

/* Their places at half the distances from the boundary. */
static void bring_near(float *pair, int count, const clvox_boundary_options *o)
{
    const double whole = o->white_mm + o->grey_mm;
    for (float *to = pair; to < pair + CLV_BOUNDARY_POINT * (size_t)count; to += CLV_BOUNDARY_POINT)
        for (int i = 0; i < 3; i++) {
            const float across = to[4 + i] - to[i];
            to[i] += (float)(.5 * o->white_mm / whole) * across;
            to[4 + i] -= (float)(.5 * o->grey_mm / whole) * across;
        }
}

/* ---- the way ---------------------------------------------------------------- */

static void from_matrix(const fit *f, const double matrix[4][4], pose *p)
{
    for (int i = 0; i < 3; i++)
        memcpy(p->linear[i], matrix[i], sizeof p->linear[i]);
    clv_matrix_apply(matrix, f->center, p->shift);
}

static void to_matrix(const fit *f, const pose *p, double matrix[4][4])
{
    for (int i = 0; i < 3; i++) {
        memcpy(matrix[i], p->linear[i], sizeof p->linear[i]);
        matrix[i][3] = p->shift[i] - dot(p->linear[i], f->center, 3);
    }
}

/* Root mean square distance between the places of the points in two poses, about: as if they lay evenly
 * around. */
static double between(const fit *f, const pose *a, const pose *b)
{
    double square = 0;
    for (int i = 0; i < 3; i++) {
        square += (a->shift[i] - b->shift[i]) * (a->shift[i] - b->shift[i]);
        for (int j = 0; j < 3; j++)
            square += pow(f->radius * (a->linear[i][j] - b->linear[i][j]), 2) / 3;
    }
    return sqrt(square);
}

static int run(fit *f, const clvox_boundary_options *o, int points, pose *p, clvox_boundary_result *out)
{
    int status = CLVOX_OK;
    const pose start = *p;
    const int few = points < FEW_POINTS ? points : FEW_POINTS;
    pose before = *p;
    f->args.count = points;
    f->args.slope = (float)o->slope;
    CLV_TRY(evaluate(f, &before));
    f->least = fmax(LEAST_POINTS, .1 * points);
    if (!(before.counted >= f->least)) {
        status = clvox_fail(CLVOX_ERROR_DATA,
                            "%d of the boundary's %d points lie inside the moving image: check that "
                            "the surfaces are in the fixed image's world, and the start",
                            before.counted, points);
        goto end;
    }
    out->contrast = o->contrast != CLVOX_BOUNDARY_AUTO ? o->contrast
                    : before.cost > 1                  ? CLVOX_BOUNDARY_T2
                                                       : CLVOX_BOUNDARY_T1;
    const double sign = out->contrast == CLVOX_BOUNDARY_T2 ? -1 : 1, share = .5 * before.counted / points;
    out->cost_before = sign > 0 ? before.cost : 2 - before.cost;
    /* At last near the boundary: places further out see what lies beyond grey matter, which pulls. */
    for (int k = 0; k < 3; k++) {
        f->args.count = k ? points : few;
        f->args.slope = (float)(sign * o->slope * (k ? 1 : FLAT));
        f->args.points = k < 2 ? f->points : f->near;
        f->least = share * f->args.count; /* a cost that falls because the points leave is no gain */
        CLV_TRY(descend(f, p));
    }
    f->args.points = f->points;
    CLV_TRY(evaluate(f, p));
    out->points = points;
    out->counted = p->counted;
    out->cost_after = p->cost;
    out->moved_mm = between(f, &start, p);
    out->lost = !(p->cost < LOST);
end:
    return status;
}

int clvox_boundary_fit(clvox_context *ctx, const clvox_surface *const *surfaces, int count,
                       const clvox_volume *moving, const clvox_boundary_options *options, double matrix[4][4],
                       clvox_boundary_result *out)
{
    CLV_GIVEN(ctx, surfaces, moving, matrix, out);
    CLV_HOST_THREADS(ctx);
    int status = CLVOX_OK, points;
    clvox_boundary_options o;
    fit f = {.ctx = ctx, .least = 0};
    pose p;
    size_t most = 0, all = 0;
    double *normal = NULL;
    float *pair = NULL;
    memset(out, 0, sizeof *out);
    clvox_boundary_defaults(&o);
    if (options) {
        CLV_TRY(clv_options_sized(options, sizeof *options));
        o = *options;
    }
    if (!(o.white_mm >= 0 && o.grey_mm >= 0 && o.white_mm + o.grey_mm > 0 && o.slope > 0 &&
          isfinite(o.slope) && isfinite(o.white_mm + o.grey_mm)))
        return clvox_fail(CLVOX_ERROR_ARGUMENT,
                          "distances from the boundary are 0 mm or more, not both 0, and its "
                          "slope is above 0");
    for (int s = 0; s < count; s++) {
        clvox_surface_facts facts;
        CLV_TRY(clvox_surface_inspect(surfaces[s], &facts));
        most = surfaces[s]->vertices > most ? surfaces[s]->vertices : most;
        all += surfaces[s]->vertices;
    }
    f.affine = o.affine;
    const size_t bytes = (all + 1) * CLV_BOUNDARY_POINT * sizeof *pair;
    normal = malloc((3 * most + 1) * sizeof *normal);
    pair = malloc(bytes);
    if (!normal || !pair) {
        status = clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory for the points of a boundary");
        goto end;
    }
    points = place(&f, surfaces, count, &o, normal, pair);
    shuffle(pair, points);
    const size_t voxels = clvox_grid_voxels(&moving->grid),
                 held = (size_t)points * CLV_BOUNDARY_POINT * sizeof *pair;
    CLV_TRY(clv_matrix_invert(CLV_MATRIX(moving->grid.to_ras), f.to_voxel));
    CLV_TRY(clv_buffer_create(ctx, voxels * sizeof(float), "moving image", &f.image));
    CLV_TRY(clv_buffer_create(ctx, held + sizeof *pair, "points of a boundary", &f.points));
    CLV_TRY(clv_buffer_create(ctx, held + sizeof *pair, "points near a boundary", &f.near));
    CLV_TRY(clv_buffer_create(ctx, sizeof(float) * CLV_BOUNDARY_SUMS * CLV_BOUNDARY_MOST_ITEMS,
                              "sums of a boundary", &f.partial));
    CLV_TRY(clv_buffer_write(ctx, f.image, 0, moving->data, voxels * sizeof(float)));
    if (points)
        CLV_TRY(clv_buffer_write(ctx, f.points, 0, pair, held));
    bring_near(pair, points, &o);
    if (points)
        CLV_TRY(clv_buffer_write(ctx, f.near, 0, pair, held));
    f.args.image = clv_image_of(f.image, moving->grid.size, NULL, 1);
    f.args.points = f.points;
    from_matrix(&f, CLV_MATRIX(matrix), &p);
    CLV_TRY(run(&f, &o, points, &p, out));
    to_matrix(&f, &p, matrix);
end:
    clv_buffer_destroy(&f.image);
    clv_buffer_destroy(&f.points);
    clv_buffer_destroy(&f.near);
    clv_buffer_destroy(&f.partial);
    free(normal);
    free(pair);
    return status;
}

int clvox_boundary_of(clvox_context *ctx, const clvox_volume *segmentation, const int *labels, int count,
                      clvox_surface **out)
{
    CLV_GIVEN(ctx, segmentation, out);
    CLV_HOST_THREADS(ctx);
    int status = CLVOX_OK;
    clvox_volume *mask = NULL, *smooth = NULL;
    const size_t n = clvox_grid_voxels(&segmentation->grid);
    size_t inside = 0;
    *out = NULL;
    CLV_TRY(clvox_volume_create(&segmentation->grid, 1, CLVOX_KIND_SCALAR, &mask));
    for (size_t i = 0; i < n; i++) {
        const float value = segmentation->data[i];
        bool in = !labels && value > 0;
        for (int k = 0; labels && k < count; k++)
            in = in || value == (float)labels[k];
        mask->data[i] = in;
        inside += in;
    }
    if (!inside) {
        status = clvox_fail(CLVOX_ERROR_DATA, labels ? "none of the labels of white matter is there"
                                                     : "the mask of white matter has no voxel above 0");
        goto end;
    }
    CLV_TRY(clvox_filter_gaussian(ctx, mask, (const double[3]){1, 1, 1}, 1, &smooth));
    CLV_TRY(clvox_surface_extract(smooth, .5, 1, out));
end:
    clvox_volume_destroy(&mask);
    clvox_volume_destroy(&smooth);
    return status;
}
