/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes and landmarks without images: two images without content stand in for them, the moving one where
 * the linear part leads the fixed grid, so that every voxel is compared and none says anything. */
#include <math.h>
#include <string.h>

#include "base/matrix.h"
#include "base/status.h"
#include "mesh/shape.h"
#include "register/model.h"
#include "register/problem.h"
#include "register/terms/shapes.h"

static const double one[4][4] = {{1}, {0, 1}, {0, 0, 1}, {0, 0, 0, 1}};

/* ---- the grid ------------------------------------------------------------ */

typedef struct box {
    double least[3], most[3];
} box;

static void add(box *b, const double point[3])
{
    for (int k = 0; k < 3; k++) {
        b->least[k] = fmin(b->least[k], point[k]);
        b->most[k] = fmax(b->most[k], point[k]);
    }
}

/* The corners that elements use, led by a matrix. */
static void add_shape(box *b, const clvox_shape *s, const double matrix[4][4])
{
    for (size_t i = 0; i < (size_t)s->kind * s->elements; i++) {
        double at[3];
        clv_matrix_apply(matrix, s->points + 3 * (size_t)s->corners[i], at);
        add(b, at);
    }
}

/* To two digits. */
static double rounded(double x)
{
    const double unit = pow(10, floor(log10(fmax(x, 1e-12))) - 1);
    return fmax(round(x / unit), 1) * unit;
}

int clvox_shapes_grid(const clvox_register_images *images, const double matrix[4][4], double spacing,
                      double margin, clvox_grid *grid)
{
    CLV_GIVEN(images, matrix, grid);
    int status = CLVOX_OK;
    enum { LEAST = 8, MOST = 1024 };
    double back[4][4], extent[3], longest = 0, needed = 0, room;
    box b = {{INFINITY, INFINITY, INFINITY}, {-INFINITY, -INFINITY, -INFINITY}};
    CLV_TRY(clv_shapes_check(images));
    CLV_TRY(clv_matrix_invert(matrix, back));
    for (int i = 0; i < images->shapes; i++) {
        add_shape(&b, images->fixed_shapes[i], one);
        add_shape(&b, images->moving_shapes[i], CLV_MATRIX(back));
    }
    for (int i = 0; i < images->points; i++) {
        double at[3];
        clv_matrix_apply(CLV_MATRIX(back), images->moving_points + 3 * i, at);
        add(&b, images->fixed_points + 3 * i);
        add(&b, at);
    }
    for (int k = 0; k < 3; k++) {
        extent[k] = b.most[k] - b.least[k];
        longest = fmax(longest, extent[k]);
    }
    room = fmax(margin, longest / 5);
    if (spacing == 0)
        spacing = rounded(longest / 64);
    for (int k = 0; k < 3; k++)
        needed = fmax(needed, (extent[k] + 2 * room) / (MOST - 1));
    if (!isfinite(longest) || !(longest > 0))
        return clvox_fail(CLVOX_ERROR_DATA,
                          "the %s of both sides are one point: there is nothing to register",
                          images->shapes > 0 ? "shapes" : "landmarks");
    if (!(spacing > 0) || !(margin >= 0) || !isfinite(margin))
        return clvox_fail(CLVOX_ERROR_ARGUMENT,
                          "a grid of %g mm with a margin of %g mm: the first has to be above 0, the second 0 "
                          "or more",
                          spacing, margin);
    if (spacing > longest / 4)
        return clvox_fail(CLVOX_ERROR_ARGUMENT,
                          "a grid of %g mm is too coarse for shapes that are %.4g mm long: at most %.3g mm",
                          spacing, longest, longest / 4);
    if (spacing < needed)
        return clvox_fail(
            CLVOX_ERROR_ARGUMENT,
            "a grid of %g mm around shapes of %.4g x %.4g x %.4g mm has more than %d voxels along an "
            "axis: at least %.3g mm",
            spacing, extent[0], extent[1], extent[2], MOST, needed);
    *grid = (clvox_grid){.to_ras = {{0}, {0}, {0}, {0, 0, 0, 1}}};
    for (int k = 0; k < 3; k++) {
        const int n = (int)ceil((extent[k] + 2 * room) / spacing - 1e-6) + 1;
        grid->size[k] = n > LEAST ? n : LEAST;
        grid->to_ras[k][k] = spacing;
        grid->to_ras[k][3] = (b.least[k] + b.most[k]) / 2 - spacing * (grid->size[k] - 1) / 2;
    }
end:
    return status;
}

/* ---- the start ----------------------------------------------------------- */

/* The middle of one side, and the box around it. */
typedef struct place {
    double middle[3];
    box box;
} place;

static void add_to_mean(double mean[3], const double point[3], double share)
{
    for (int k = 0; k < 3; k++)
        mean[k] += share * point[k];
}

/* Centroid of a shape's elements, weighted by their size. */
static void centroid_of(const clvox_shape *s, double out[3])
{
    double all = 0, sum[3] = {0};
    for (size_t e = 0; e < s->elements; e++) {
        double centre[3], unit[3];
        const double size = clv_shape_element(s, e, centre, unit);
        add_to_mean(sum, centre, size);
        all += size;
    }
    for (int k = 0; k < 3; k++)
        out[k] = sum[k] / all;
}

static place place_of(const clvox_register_images *images, bool moving, bool by_size)
{
    place p = {{0}, {{INFINITY, INFINITY, INFINITY}, {-INFINITY, -INFINITY, -INFINITY}}};
    const double *points = moving ? images->moving_points : images->fixed_points;
    double landmarks[3] = {0}, count = 0;
    for (int i = 0; i < images->shapes; i++) {
        const clvox_shape *s = moving ? images->moving_shapes[i] : images->fixed_shapes[i];
        if (by_size) {
            double centroid[3];
            centroid_of(s, centroid);
            add_to_mean(p.middle, centroid, 1);
        }
        count += by_size ? 1 : (double)s->kind * (double)s->elements;
        for (size_t c = 0; c < (size_t)s->kind * s->elements; c++) {
            add(&p.box, s->points + 3 * (size_t)s->corners[c]);
            if (!by_size)
                add_to_mean(p.middle, s->points + 3 * (size_t)s->corners[c], 1);
        }
    }
    for (int i = 0; i < images->points; i++) {
        add(&p.box, points + 3 * i);
        add_to_mean(landmarks, points + 3 * i, by_size ? 1. / images->points : 1);
    }
    add_to_mean(p.middle, landmarks, 1);
    count += by_size ? images->points > 0 : images->points;
    for (int k = 0; k < 3; k++)
        p.middle[k] /= count;
    return p;
}

static bool apart(const box *a, const box *b)
{
    bool far = false;
    for (int k = 0; k < 3; k++)
        far = far || a->least[k] > b->most[k] || b->least[k] > a->most[k];
    return far;
}

int clvox_shapes_start(const clvox_register_images *images, const clvox_register_options *o,
                       double matrix[4][4])
{
    CLV_GIVEN(images, matrix);
    int status = CLVOX_OK;
    clvox_register_options standard;
    clvox_register_defaults(&standard);
    o = o ? o : &standard;
    const bool by_size = o->init == CLVOX_INIT_MOMENTS;
    clv_matrix_copy(o->init == CLVOX_INIT_MATRIX ? CLV_MATRIX(o->matrix) : one, matrix);
    CLV_TRY(clv_shapes_check(images));
    if (images->shapes <= 0 && images->points <= 0)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "there are no shapes and no landmarks to start from");
    const place fixed = place_of(images, false, by_size), moving = place_of(images, true, by_size);
    if (o->init != CLVOX_INIT_CENTERS && !by_size &&
        (o->init != CLVOX_INIT_AUTO || !apart(&fixed.box, &moving.box)))
        goto end;
    for (int k = 0; k < 3; k++) {
        matrix[k][3] = moving.middle[k] - fixed.middle[k];
        if (!isfinite(matrix[k][3]))
            return clvox_fail(CLVOX_ERROR_ARGUMENT,
                              "the landmarks have no middle: their coordinates must be finite");
    }
end:
    return status;
}

/* ---- images without content ---------------------------------------------- */

/* CLVOX_ERROR_ARGUMENT where shapes without images cannot be registered so. */
static int check(const clvox_register_images *given, const clvox_register_options *o)
{
    const clv_model *model = clv_model_find(o->deform);
    if (given->shapes <= 0 && given->points <= 0)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "there are no images, posteriors, shapes or landmarks");
    if (given->fixed_mask || given->moving_mask || given->linear_masks || given->level_masks)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "masks are of images, and there are none");
    if (o->linear != CLVOX_LINEAR_NONE)
        return clvox_fail(
            CLVOX_ERROR_ARGUMENT,
            "without images nothing gives a linear part: take none, and a matrix to start from");
    if (model && !clv_model_takes(model, "surface-weight"))
        return clvox_fail(CLVOX_ERROR_ARGUMENT,
                          "the %s model has no term of shapes; greedy, syn, lddmm and shooting have",
                          model->name);
    return CLVOX_OK;
}

/* The image of a side. */
static int stand_in(clv_problem *p, const clvox_grid *grid, const clvox_volume **image)
{
    const int at = p->own.count;
    const int status = p->planned
                           ? clv_problem_shell(p, grid, NULL)
                           : clvox_volume_create(grid, 1, CLVOX_KIND_SCALAR, &p->own.own[p->own.count++]);
    *image = p->own.own[at];
    return status;
}

static int enter(clv_problem *p)
{
    int status = CLVOX_OK;
    clvox_register_images *images = &p->images;
    clvox_register_options *o = &p->options;
    if (images->channels != 0 || images->fixed_posteriors || images->moving_posteriors || !images->grid)
        return CLVOX_OK;
    CLV_TRY(check(images, o));
    CLV_TRY(clvox_shapes_start(images, &p->outer->options, o->matrix));
    const bool stays = o->init != CLVOX_INIT_MATRIX && !memcmp(o->matrix, one, sizeof one);
    o->init = stays ? CLVOX_INIT_HEADER : CLVOX_INIT_MATRIX;
    clvox_grid moving = *images->grid;
    clv_matrix_multiply(CLV_MATRIX(o->matrix), CLV_MATRIX(images->grid->to_ras), moving.to_ras);
    images->channels = 1;
    images->weight[0] = 1;
    CLV_TRY(stand_in(p, images->grid, &images->fixed[0]));
    CLV_TRY(stand_in(p, &moving, &images->moving[0]));
    o->metric = o->linear_metric = CLVOX_METRIC_SSD;
    o->by_contrast = o->bias = o->histogram_match = 0;
    o->winsorize_low = 0;
    o->winsorize_high = 1;
end:
    return status;
}

/* No remark is about images that are not there. */
static int leave(const clv_problem *p, clvox_register_result *r)
{
    if (p->own.count == 0)
        return CLVOX_OK;
    clvox_volume_destroy(&r->warped);
    r->metric_before = r->metric_linear = r->metric_after = NAN;
    r->ncc_before = r->ncc_linear = r->ncc_after = r->mismatch = NAN;
    r->suspicions &= CLVOX_SUSPECT_FOLDS | CLVOX_SUSPECT_SCALE | CLVOX_SUSPECT_COARSE | CLVOX_SUSPECT_MEMORY;
    return CLVOX_OK;
}

const clv_step clv_step_shape_only = {.name = "shape-only grid", .enter = enter, .leave = leave};
