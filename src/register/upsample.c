/* SPDX-License-Identifier: Apache-2.0 */
/* From the results of a coarser grid to those of the full one. A device that
 * was too small for the full grid is too small for its fields, too: large grids
 * are gone through in slabs of planes. */
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/matrix.h"
#include "op/image/gaussian.h"
#include "transform/chain.h"
#include "transform/field.h"
#include "register/problem.h"

/* Smallest determinant of a map on the full grid that comes from a coarser one. */
static const double SMALLEST_JACOBIAN = 0.02;

/* Voxels of a slab; a grid of as many is one. */
enum { MOST_VOXELS = 1 << 22 };

/* Some planes of a grid, and where there are others a plane of these on either
 * side, for derivatives. */
typedef struct slab {
    clvox_grid grid;
    int below, count;  /* planes before its own, its own */
    size_t first, n;   /* its own voxels within the whole grid */
} slab;

static int planes_of(const clvox_grid *grid)
{
    double planes = fmax(1, MOST_VOXELS / ((double)grid->size[0] * grid->size[1]));
    return (int)fmin(planes, grid->size[2]);
}

size_t clv_register_slab(const clvox_grid *grid)
{
    int planes = planes_of(grid);
    planes = planes < grid->size[2] ? planes + 2 : planes;
    return (size_t)grid->size[0] * (size_t)grid->size[1] *
           (size_t)(planes < grid->size[2] ? planes : grid->size[2]);
}

/* false: there are no more. */
static bool slab_at(const clvox_grid *grid, int index, bool around, slab *s)
{
    int planes = planes_of(grid), first = index * planes;
    size_t plane = (size_t)grid->size[0] * (size_t)grid->size[1];
    if (first >= grid->size[2])
        return false;
    s->count = first + planes < grid->size[2] ? planes : grid->size[2] - first;
    s->below = around && first > 0;
    s->first = (size_t)first * plane;
    s->n = (size_t)s->count * plane;
    s->grid = *grid;
    s->grid.size[2] = s->below + s->count + (around && first + s->count < grid->size[2]);
    for (int r = 0; r < 3; r++)
        s->grid.to_ras[r][3] += (first - s->below) * grid->to_ras[r][2];
    return true;
}

static bool whole(const slab *s, const clvox_grid *grid)
{
    return s->grid.size[2] == grid->size[2];
}

/* Host values of a slab within the components of a whole volume. */
static void put(const clvox_volume *from, const slab *s, clvox_volume *to)
{
    size_t n = clvox_grid_voxels(&to->grid);
    for (int k = 0; k < to->frames; k++)
        memcpy(to->data + (size_t)k * n + s->first, from->data + (size_t)k * s->n, s->n * sizeof(float));
}

/* A warp made smoother in place, on its own grid. */
static int smoothen(clvox_context *ctx, clvox_volume *warp, float sigma)
{
    int status = CLVOX_OK;
    clv_buffer *u = NULL, *tmp = NULL, *out = NULL;
    clvox_volume *made = NULL;
    size_t bytes = 3 * sizeof(float) * clvox_grid_voxels(&warp->grid);
    const clv_request requests[] = {{&u, bytes, "warp"}, {&tmp, bytes, "scratch"}, {&out, bytes, "warp"}};
    CLV_TRY(clv_pool_take(ctx, requests, 3));
    CLV_TRY(clv_field_upload(ctx, warp, 1, u));
    CLV_TRY(clv_gaussian(ctx, CLV_VECTORS(u, warp->grid.size), (float[3]){sigma, sigma, sigma},
                         CLV_GAUSSIAN_SEPARABLE, tmp, out));
    CLV_TRY(clv_field_download(ctx, out, &warp->grid, 1, &made));
    memcpy(warp->data, made->data, bytes);
end:
    clv_pool_release(requests, 3);
    clvox_volume_destroy(&made);
    return status;
}

/* The warp on a slab as a device field. */
static int field_on(clvox_context *ctx, const clvox_volume *warp, const clvox_grid *grid, clv_buffer **field)
{
    int status = CLVOX_OK;
    const clvox_transform transform = {.is_warp = 1, .warp = (clvox_volume *)warp};
    const clvox_link link = {&transform, 0};
    clv_chain chain = {0};
    double matrix[4][4];
    CLV_TRY(clv_chain_make(ctx, &link, 1, &chain));
    CLV_TRY(clv_chain_field(ctx, &chain, grid, field, matrix));
end:
    clv_chain_free(&chain);
    return status;
}

static void add(const clv_statistics *part, clv_statistics *sum)
{
    sum->smallest = fmin(sum->smallest, part->smallest);
    sum->largest = fmax(sum->largest, part->largest);
    sum->sum += part->sum;
    sum->sum_squares += part->sum_squares;
    sum->not_above += part->not_above;
    sum->voxels += part->voxels;
}

/* A weight of 0 on the planes around a slab; within it 1 or the mask. */
static int weigh(clvox_context *ctx, const slab *s, const clvox_volume *mask, clv_buffer **weight)
{
    int status = CLVOX_OK;
    size_t plane = (size_t)s->grid.size[0] * (size_t)s->grid.size[1] * sizeof(float);
    const float one = 1;
    uint32_t word;
    memcpy(&word, &one, sizeof word);
    CLV_TRY(clv_buffer_create(ctx, (size_t)s->grid.size[2] * plane, "weights", weight));
    CLV_TRY(clv_buffer_fill(ctx, *weight, 0, 0, (size_t)s->grid.size[2] * plane));
    if (mask)
        CLV_TRY(clv_buffer_write(ctx, *weight, (size_t)s->below * plane, mask->data + s->first,
                                 s->n * sizeof(float)));
    else
        CLV_TRY(clv_buffer_fill(ctx, *weight, (size_t)s->below * plane, word, s->n * sizeof(float)));
end:
    return status;
}

/* sums: determinants anywhere, determinants in the mask, lengths. */
static int survey_slab(clv_registration *run, const clvox_register_images *full, const clvox_volume *warp,
                       const slab *s, clv_statistics sums[3])
{
    int status = CLVOX_OK;
    clv_buffer *field = NULL, *scratch = NULL, *inside = NULL, *mask = NULL;
    clv_field_survey found;
    CLV_TRY(field_on(run->ctx, warp, &s->grid, &field));
    CLV_TRY(clv_buffer_create(run->ctx, clvox_grid_voxels(&s->grid) * sizeof(float), "Jacobian determinant",
                              &scratch));
    if (!whole(s, &clv_register_first(full, false)->grid))
        CLV_TRY(weigh(run->ctx, s, NULL, &inside));
    CLV_TRY(clv_register_survey(run, field, &s->grid, inside, inside, scratch, &found));
    add(&found.determinants, &sums[0]);
    add(&found.lengths, &sums[2]);
    if (full->fixed_mask) {
        clv_buffer_destroy(&inside);
        CLV_TRY(weigh(run->ctx, s, full->fixed_mask, &mask));
        CLV_TRY(clv_register_survey(run, field, &s->grid, mask, mask, scratch, &found));
        add(&found.determinants, &sums[1]);
    }
end:
    clv_buffer_destroy(&field);
    clv_buffer_destroy(&scratch);
    clv_buffer_destroy(&inside);
    clv_buffer_destroy(&mask);
    return status;
}

/* Statistics of the warp on the full grid; smallest: its smallest determinant anywhere. */
static int survey(clv_registration *run, const clvox_register_images *full, double *smallest,
                  clvox_register_result *result)
{
    int status = CLVOX_OK;
    const clv_statistics nothing = {.smallest = INFINITY, .largest = -INFINITY};
    clv_statistics sums[3] = {nothing, nothing, nothing};
    slab s;
    CLV_TRY(
        clv_buffer_create(run->ctx, CLV_STATISTICS_PARTIALS * sizeof(float), "partial sums", &run->partial));
    for (int i = 0; slab_at(&clv_register_first(full, false)->grid, i, true, &s); i++)
        CLV_TRY(survey_slab(run, full, result->warp, &s, sums));
    *smallest = sums[0].smallest;
    CLV_TRY(clv_register_state(&(clv_field_survey){sums[full->fixed_mask ? 1 : 0], sums[2]},
                               &clv_register_first(full, false)->grid, &run->moving_grid, result));
end:
    clv_buffer_destroy(&run->partial);
    return status;
}

/* Between the voxels of the coarser grid a map that folds on none of them may
 * still fold: then it is made smoother. */
static int unfold(clv_registration *run, const clvox_register_images *full, clvox_register_result *result)
{
    int status = CLVOX_OK;
    float sigma = .6f;
    double smallest;
    bool changed = false;
    CLV_TRY(survey(run, full, &smallest, result));
    for (int pass = 0; pass < 8 && !(smallest > SMALLEST_JACOBIAN); pass++, sigma *= 1.25f) {
        CLV_TRY(smoothen(run->ctx, result->warp, sigma));
        CLV_TRY(survey(run, full, &smallest, result));
        changed = true;
    }
    if (changed && result->inverse_warp) {
        clvox_volume_destroy(&result->inverse_warp);
        CLV_TRY(clvox_invert(run->ctx, result->warp, &result->inverse_warp, result->inverse_error_voxels));
    }
end:
    return status;
}

/* The warp of a coarser grid on the full one, in its place; with moving (NULL:
 * none) also that image through it. */
static int refine(clv_registration *run, const clvox_grid *grid, const clvox_volume *moving,
                  clvox_volume **warp, clvox_volume **warped)
{
    int status = CLVOX_OK;
    clvox_volume *made = NULL, *part = NULL;
    clv_buffer *field = NULL, *out = NULL;
    slab s;
    CLV_TRY(clvox_volume_create(grid, 3, CLVOX_KIND_DISPLACEMENT, &made));
    for (int i = 0; slab_at(grid, i, false, &s); i++) {
        CLV_TRY(field_on(run->ctx, *warp, &s.grid, &field));
        CLV_TRY(clv_field_download(run->ctx, field, &s.grid, 1, &part));
        put(part, &s, made);
        clvox_volume_destroy(&part);
        if (moving) {
            CLV_TRY(clv_buffer_create(run->ctx, (size_t)run->m * sizeof(float), "moving image",
                                      &run->channels[0].moving));
            CLV_TRY(clv_buffer_create(run->ctx, s.n * sizeof(float), "warped image", &out));
            CLV_TRY(clv_buffer_write(run->ctx, run->channels[0].moving, 0, moving->data,
                                     (size_t)run->m * sizeof(float)));
            CLV_TRY(clv_register_warp_moving(run, &s.grid, field, moving->kind, out));
            CLV_TRY(clv_buffer_read(run->ctx, out, 0, (*warped)->data + s.first, s.n * sizeof(float)));
            clv_buffer_destroy(&run->channels[0].moving);
            clv_buffer_destroy(&out);
        }
        clv_buffer_destroy(&field);
    }
    clvox_volume_destroy(warp);
    *warp = made;
    made = NULL;
end:
    clv_buffer_destroy(&field);
    clv_buffer_destroy(&run->channels[0].moving);
    clv_buffer_destroy(&out);
    clvox_volume_destroy(&part);
    clvox_volume_destroy(&made);
    return status;
}

/* Whether so few voxels are left along an axis that neither a turn nor a deformation shows. */
static bool too_coarse(const clvox_grid *from, const clvox_grid *to)
{
    enum { LEAST = 6 };
    bool few = false;
    for (int i = 0; i < 3; i++)
        few = few || (to->size[i] < LEAST && to->size[i] < from->size[i]);
    return few;
}

/* Whether an image has so few voxels along each axis that nothing can be found. */
static bool too_small(const clvox_grid *grid)
{
    enum { LEAST = 8 };
    return grid->size[0] < LEAST && grid->size[1] < LEAST && grid->size[2] < LEAST;
}

/* The maps of a run on coarser grids, which are volumes of the full ones, as fields. */
static int pass_on(clvox_context *context, const clv_register_fields *to, clvox_register_result *result)
{
    int status = CLVOX_OK;
    clvox_volume **volumes[2] = {&result->warp, &result->inverse_warp};
    for (int i = 0; i < 2; i++) {
        if (to->buffer[i])
            CLV_TRY(clv_field_upload(context, *volumes[i], 1, to->buffer[i]));
        else
            CLV_TRY(clv_field_pack(context, *volumes[i], to->values[i]));
        clvox_volume_destroy(volumes[i]);
    }
    clvox_volume_destroy(&result->warped);
end:
    return status;
}

static int enter(clv_problem *p)
{
    clvox_grid coarser[2];
    const clvox_grid *const grid[2] = {&coarser[0], &coarser[1]};
    const bool coarse =
        clv_register_work(&p->images, &p->outer->options, &coarser[0], &coarser[1], &p->options);
    for (int side = 0; side < 2; side++) {
        const clvox_grid *whole = &clv_register_first(&p->images, side == 1)->grid;
        if ((coarse && too_coarse(whole, grid[side])) || too_small(whole))
            p->suspicions |= CLVOX_SUSPECT_COARSE;
    }
    if (!coarse)
        return CLVOX_OK;
    p->originals = NULL;
    p->fields = NULL;
    p->shown = NULL;
    return clv_problem_coarsen(p, grid);
}

/* The full grids are those of the originals: the images may have changed places since. */
static int leave(const clv_problem *p, clvox_register_result *result)
{
    int status = CLVOX_OK;
    const double mark = clv_seconds();
    const clvox_register_images *full = p->outer->originals;
    const clvox_volume *moving = full->channels > 0 ? full->moving[0] : NULL;
    const clvox_grid *grid = &clv_register_first(full, false)->grid;
    clv_registration run = {.ctx = p->ctx, .moving_grid = clv_register_first(full, true)->grid};
    if (p->originals)
        return CLVOX_OK;
    clv_matrix_copy(CLV_MATRIX(result->matrix), run.matrix);
    run.m = (int)clvox_grid_voxels(&run.moving_grid);
    CLV_TRY(unfold(&run, full, result));
    if (moving) {
        CLV_TRY(clvox_volume_create(grid, 1, moving->kind, &result->warped));
        result->warped->type = moving->type;
    }
    CLV_TRY(refine(&run, grid, moving, &result->warp, &result->warped));
    if (result->inverse_warp)
        CLV_TRY(refine(&run, grid, NULL, &result->inverse_warp, NULL));
    if (p->outer->fields)
        CLV_TRY(pass_on(p->ctx, p->outer->fields, result));
    result->seconds_finish += clv_seconds() - mark;
end:
    return status;
}

const clv_step clv_step_coarser_grids = {.name = "coarser grids", .enter = enter, .leave = leave};
