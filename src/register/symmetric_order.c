/* SPDX-License-Identifier: Apache-2.0 */
/* Exchanging the images: which of them a run works on as the fixed one is
 * decided by the images, so that both orders are one computation, and what was
 * found in the other order is turned round.
 * With T'(y) = A' (y + u'(y)) found for the exchanged images and y + v'(y) the
 * inverse of y + u'(y), the map asked for is
 *   T(x) = A (x + u(x)),  A = A'^-1,  u(x) = L^-1 v'(A x),  v(x) = L^-1 u'(A x),
 * L the linear part of A and x + v(x) the inverse of x + u(x). The halves of u'
 * and v' are looked at where A x is, as interpolating u' and v' themselves
 * between their voxels would smooth them once more. */
#include <math.h>
#include <string.h>

#include "base/matrix.h"
#include "op/field/compose.h"
#include "op/image/resample.h"
#include "op/image/statistics.h"
#include "transform/field.h"
#include "transform/invert.h"
#include "register/model.h"
#include "register/terms/posteriors.h"
#include "register/problem.h"
#include "register/pyramid.h"

/* Grids differ by less than this factor in their number of voxels and in the
 * volume of one, and so in their fields of view by less than its square. */
static const double COMPARABLE = 1.5;

static int compare_numbers(double a, double b)
{
    return (a > b) - (a < b);
}

/* In canonical storage, wherever the voxels lie. */
static int compare_contents(const clvox_volume *a, const clvox_volume *b)
{
    const clvox_volume *volume[2] = {a, b};
    clvox_grid grid[2];
    clv_strides strides[2];
    for (int k = 0; k < 2; k++) {
        clv_orientation o;
        clv_orientation_of(&volume[k]->grid, &o);
        clv_orientation_grid(&volume[k]->grid, &o, &grid[k]);
        strides[k] = clv_orientation_strides(volume[k]->grid.size, &o);
    }
    const int *size = grid[0].size;
    for (int i = 0; i < 3; i++)
        if (size[i] != grid[1].size[i])
            return size[i] < grid[1].size[i] ? -1 : 1;
    const ptrdiff_t *s = strides[0].step, *t = strides[1].step;
    for (int z = 0; z < size[2]; z++)
        for (int y = 0; y < size[1]; y++) {
            const float *p = a->data + strides[0].first + z * s[2] + y * s[1];
            const float *q = b->data + strides[1].first + z * t[2] + y * t[1];
            for (int x = 0; x < size[0]; x++, p += s[0], q += t[0])
                if (memcmp(p, q, sizeof *p) != 0)
                    return memcmp(p, q, sizeof *p);
        }
    return 0;
}

/* Which of two images with the same contents comes first, by where they lie. What headers of single
 * precision round off does not count. */
static int compare_places(const clvox_grid *a, const clvox_grid *b)
{
    clv_orientation o;
    clvox_grid grid[2];
    int order = 0;
    clv_orientation_of(a, &o);
    clv_orientation_grid(a, &o, &grid[0]);
    clv_orientation_of(b, &o);
    clv_orientation_grid(b, &o, &grid[1]);
    if (clvox_grid_equal(&grid[0], &grid[1]))
        return 0;
    for (int i = 0; i < 12 && order == 0; i++) {
        double x = grid[0].to_ras[i / 4][i % 4], y = grid[1].to_ras[i / 4][i % 4];
        order = fabs(x - y) > 1e-6 * (1 + fabs(x) + fabs(y)) ? compare_numbers(x, y) : 0;
    }
    return order;
}

/* Channels without weight decide nothing; all 0: equal weights. */
static bool counts(const clvox_register_images *images, int channel)
{
    double sum = 0;
    for (int i = 0; i < images->channels; i++)
        sum += images->weight[i];
    return !(sum > 0) || images->weight[channel] > 0;
}

int clv_symmetric_order(const clvox_register_images *images, bool contents)
{
    const clvox_grid *fixed = &clv_register_first(images, false)->grid,
                     *moving = &clv_register_first(images, true)->grid;
    size_t n = clvox_grid_voxels(fixed), m = clvox_grid_voxels(moving);
    int order = 0;
    /* A mask of the fixed image is seen to when that is smoothed, too. */
    if (!images->fixed_mask != !images->moving_mask)
        return images->fixed_mask ? -1 : 1;
    if (n != m)
        return n < m ? -1 : 1;
    if (!contents)
        return 0;
    for (int i = 0; i < images->channels && order == 0; i++)
        if (counts(images, i))
            order = compare_contents(images->fixed[i], images->moving[i]);
    for (int k = 0; images->fixed_posteriors && k < images->fixed_posteriors->frames && order == 0; k++) {
        const clvox_volume a = clv_posteriors_frame(images->fixed_posteriors, k),
                           b = clv_posteriors_frame(images->moving_posteriors, k);
        order = compare_contents(&a, &b);
    }
    if (order == 0 && images->fixed_mask)
        order = compare_contents(images->fixed_mask, images->moving_mask);
    return order ? order : compare_places(fixed, moving);
}

/* Whether a run may begin with the image that comes first: models that move both images, where the grids
 * are comparable. Others keep the fixed grid. */
static bool exchanges(const clvox_register_images *images, const clvox_register_options *o)
{
    const clvox_grid *fixed = &clv_register_first(images, false)->grid,
                     *moving = &clv_register_first(images, true)->grid;
    double voxels = (double)clvox_grid_voxels(fixed) / (double)clvox_grid_voxels(moving);
    double volume = fabs(clv_matrix_determinant(fixed->to_ras) / clv_matrix_determinant(moving->to_ras));
    const clv_model *m = clv_model_find(o->deform);
    /* Options on the fixed image's axes, or positions, hold for that image alone. */
    if (images->initial_warp || o->linear == CLVOX_LINEAR_SCALES || o->restrict_axes[0] < 1 || o->restrict_axes[1] < 1 ||
        o->restrict_axes[2] < 1)
        return false;
    /* A factor of exactly that much counts, however its parts were rounded. */
    const double most = log(COMPARABLE) + 1e-6;
    return m && m->exchangeable && fabs(log(voxels)) <= most && fabs(log(volume)) <= most;
}

/* Moving for fixed and the other way round; widths in voxels of the fixed grid, which stay what they are in
 * mm, follow. */
static void exchange_images(clvox_register_images *images, clvox_register_options *o)
{
    const clvox_register_images given = *images;
    const clvox_volume **at[CLV_PROBLEM_VOLUMES];
    const int count = clv_problem_volumes(images, at);
    double edges[2];
    for (int side = 0; side < 2; side++)
        edges[side] = cbrt(fabs(clv_matrix_determinant(clv_register_first(&given, side == 1)->grid.to_ras)));
    for (int i = 0; i + 1 < count; i += 2) {
        const clvox_volume *fixed = *at[i];
        *at[i] = *at[i + 1];
        *at[i + 1] = fixed;
    }
    images->fixed_points = given.moving_points;
    images->moving_points = given.fixed_points;
    images->fixed_shapes = given.moving_shapes;
    images->moving_shapes = given.fixed_shapes;
    for (int i = 0; i < o->levels; i++)
        o->smooth_voxels[i] *= edges[0] / edges[1];
}

static void swap(clv_buffer **a, clv_buffer **b)
{
    clv_buffer *c = *a;
    *a = *b;
    *b = c;
}

/* ---- the step ------------------------------------------------------------ */

void clv_problem_order(clv_problem *p, bool moving_first)
{
    p->order = !moving_first                          ? CLV_ORDER_ASKED
               : exchanges(&p->images, &p->options) ? CLV_ORDER_EXCHANGED
                                                      : CLV_ORDER_LINEAR;
    if (p->order == CLV_ORDER_EXCHANGED)
        exchange_images(&p->images, &p->options);
}

static int enter(clv_problem *p)
{
    clv_problem_order(p, clv_symmetric_order(p->originals, true) > 0);
    return CLVOX_OK;
}

static int leave(const clv_problem *p, clvox_register_result *result)
{
    result->exchanged = p->order == CLV_ORDER_EXCHANGED;
    return CLVOX_OK;
}

const clv_step clv_step_symmetric_order = {.name = "symmetric order", .enter = enter, .leave = leave};

bool clv_symmetric_plan(const clvox_register_images *images, const clvox_register_options *options,
                             clvox_register_plan *plan)
{
    plan->exchanged = exchanges(images, options) && clv_symmetric_order(images, true) > 0;
    return plan->exchanged;
}

/* ---- on the device ------------------------------------------------------- */

const clvox_grid *clv_map_grid(const clv_registration *run)
{
    return run->order == CLV_ORDER_EXCHANGED ? &run->moving_grid : &run->fixed_grid;
}

const char *clv_side_name(const clv_registration *run, bool moving)
{
    return moving == (run->order == CLV_ORDER_EXCHANGED) ? "fixed" : "moving";
}

/* The run seen from the other image, but for its matrix. */
static void turn_sides(clv_registration *run)
{
    const clvox_grid grid = run->fixed_grid;
    const int n = run->n;
    const double *points = run->points.fixed, inside = run->masks.inside[0];
    run->order = run->order == CLV_ORDER_EXCHANGED ? CLV_ORDER_ASKED : CLV_ORDER_EXCHANGED;
    run->fixed_grid = run->domain = run->moving_grid;
    run->moving_grid = grid;
    run->n = run->m;
    run->m = n;
    for (int i = 0; i < run->channel_count; i++) {
        clv_channel *c = &run->channels[i];
        swap(&c->fixed, &c->moving);
        swap(&c->level_fixed, &c->level_moving);
        c->made = c->made ? CLV_MADE_FIXED + CLV_MADE_MOVING - c->made : 0;
    }
    run->points.fixed = run->points.moving;
    run->points.moving = points;
    for (int i = 0; i < run->shapes.count; i++) {
        clv_shape_term *term = &run->shapes.term[i];
        const clv_shape_side side = term->side[0];
        term->side[0] = term->side[1];
        term->side[1] = side;
        swap(&term->partial[0], &term->partial[1]);
    }
    swap(&run->masks.of[0], &run->masks.of[1]);
    run->masks.inside[0] = run->masks.inside[1];
    run->masks.inside[1] = inside;
}

static int turn(clv_registration *run)
{
    int status = CLVOX_OK;
    turn_sides(run);
    CLV_TRY(clv_matrix_invert(CLV_MATRIX(run->matrix), run->matrix));
    for (int i = 0; i < 12; i++)
        run->matrix[i / 4][i % 4] += 0.; /* no -0 */
    /* A given matrix that stays is not the inverse of an inverse. */
    if (run->order == CLV_ORDER_ASKED && run->options->linear == CLVOX_LINEAR_NONE &&
        run->options->init == CLVOX_INIT_MATRIX)
        clv_matrix_copy(CLV_MATRIX(run->options->matrix), run->matrix);
end:
    return status;
}

/* Whether the linear part, and that alone, has to be turned. Scales are along the fixed image's axes. */
static bool turns_linear(const clv_registration *run)
{
    return run->order == CLV_ORDER_LINEAR && run->options->linear != CLVOX_LINEAR_SCALES;
}

/* The masks of the linear part into the place of the others, and back. */
static void swap_masks(clv_registration *run)
{
    for (int i = 0; i < 2; i++)
        swap(&run->masks.of[i], &run->masks.linear[i]);
}

int clv_symmetric_linear(clv_registration *run)
{
    int status = CLVOX_OK;
    const bool own_masks = run->problem->images.linear_masks;
    const clvox_grid domain = run->domain;
    const bool turns = turns_linear(run);
    const clv_order order = run->order;
    clv_matrix_identity(run->matrix);
    if (run->options->init == CLVOX_INIT_MATRIX)
        clv_matrix_copy(CLV_MATRIX(run->options->matrix), run->matrix);
    if (order == CLV_ORDER_EXCHANGED)
        CLV_TRY(clv_matrix_invert(CLV_MATRIX(run->matrix), run->matrix));
    if (own_masks)
        swap_masks(run);
    if (turns)
        status = turn(run);
    status = status < 0 ? status : clv_register_linear(run);
    if (turns) { /* after a failure, too: some runs go on without */
        const int back = turn(run);
        status = status < 0 ? status : back;
    }
    if (own_masks)
        swap_masks(run);
    run->domain = domain;
    run->order = order;
end:
    return status;
}

size_t clv_symmetric_linear_bytes(clv_registration *run)
{
    const clvox_register_images *images = &run->problem->images;
    const bool own = images->linear_masks, turns = turns_linear(run);
    const bool mask[2] = {own ? images->linear_fixed_mask : images->fixed_mask,
                          own ? images->linear_moving_mask : images->moving_mask};
    if (turns)
        turn_sides(run);
    return clv_register_linear_bytes(run, mask[turns], mask[!turns]);
}

/* outer o inner^-1 - id of two halves on grid `at`, at the places A x of the
 * run's grid and as vectors there. inverse: of inner, at the voxels of `at`;
 * what is interpolated between them is corrected by inner itself. between: as
 * large as out. */
static int join(clv_registration *run, const clvox_grid *at, const clv_buffer *inner,
                const clv_buffer *inverse, const clv_buffer *outer, clv_buffer *between, clv_buffer *out)
{
    int status = CLVOX_OK;
    const int *size = run->fixed_grid.size;
    float reorient[3][3], back[3][3];
    clv_map map;
    CLV_TRY(clv_field_reorientation(&run->fixed_grid, at, CLV_MATRIX(run->matrix), reorient));
    for (int i = 0; i < 9; i++)
        back[i / 3][i % 3] = -reorient[i / 3][i % 3];
    clv_map_between(&run->fixed_grid, at, CLV_MATRIX(run->matrix), 1, &map);
    const float(*there)[3] = CLV_MATRIX3F(reorient);
    const clv_compose_args steps[3] = {
        {NULL, 0, *CLV_VECTORS(inverse, at->size), &map, there, true, *CLV_VECTORS(out, size)},
        {out, 0, *CLV_VECTORS(inner, at->size), &map, CLV_MATRIX3F(back), true, *CLV_VECTORS(between, size)},
        {between, 1, *CLV_VECTORS(outer, at->size), &map, there, true, *CLV_VECTORS(out, size)},
    };
    for (int i = 0; i < 3; i++)
        CLV_TRY(clv_compose(run->ctx, &steps[i]));
end:
    return status;
}

/* On grid `at`, where the run works on it as asked: u = phi2 o phi1^-1 and, where the run has run->inverse,
 * inverse = phi1 o phi2^-1, with phi1 = x + u_fixed and phi2 = x + u. between, out: fields, overwritten. */
static int join_here(clv_registration *run, const clvox_grid *at, clv_buffer *u_fixed, clv_buffer *between,
                     clv_buffer *out)
{
    static const float one[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    int status = CLVOX_OK;
    clv_map map;
    clv_map_between(at, at, NULL, 1, &map);
    CLV_TRY(clv_invert_field(run->ctx, u_fixed, at, between));
    clv_compose_args step = {between, 1, *CLV_VECTORS(run->u, at->size), &map, one, true,
                             *CLV_VECTORS(out, at->size)};
    CLV_TRY(clv_compose(run->ctx, &step));
    if (run->inverse) {
        CLV_TRY(clv_invert_field(run->ctx, run->u, at, between));
        step.w.buffer = u_fixed;
        step.out.buffer = run->inverse;
        CLV_TRY(clv_compose(run->ctx, &step));
    }
    CLV_TRY(clv_buffer_copy(run->ctx, out, 0, run->u, 0, 3 * clvox_grid_voxels(at) * sizeof(float)));
end:
    return status;
}

/* On the grid of the maps, where the run was exchanged: the run turned back, and the joined halves its u and,
 * if there is one, its inverse. */
static int join_back(clv_registration *run, const clvox_grid *at, float smallest, const clv_halves *h)
{
    int status = CLVOX_OK, passes = 0;
    CLV_TRY(turn(run));
    CLV_TRY(clv_invert_field(run->ctx, run->u, at, h->velocity));
    CLV_TRY(join(run, at, run->u, h->velocity, h->u_fixed, h->scratch, *h->u));
    if (run->inverse) {
        CLV_TRY(clv_invert_field(run->ctx, h->u_fixed, at, h->velocity));
        CLV_TRY(join(run, at, h->u_fixed, h->velocity, run->u, h->scratch, *h->inverse));
        swap(&run->inverse, h->inverse);
    }
    swap(&run->u, h->u);
    const clv_mending scratch = {h->scratch, run->inverse ? run->inverse : *h->inverse, run->scratch_a,
                                 run->scratch_b};
    CLV_TRY(clv_mend_folds(run, run->u, &run->fixed_grid, smallest, &scratch, &passes));
    if (passes > 0 && run->inverse)
        CLV_TRY(clv_invert_field(run->ctx, run->u, &run->fixed_grid, run->inverse));
end:
    return status;
}

int clv_symmetric_join(clv_registration *run, const clvox_grid *at, float smallest, const clv_halves *h)
{
    int status = CLVOX_OK;
    if (run->order == CLV_ORDER_EXCHANGED)
        return join_back(run, at, smallest, h);
    CLV_TRY(join_here(run, at, h->u_fixed, *h->u, h->scratch));
    CLV_TRY(clv_pyramid_end(run, at, smallest));
end:
    return status;
}
