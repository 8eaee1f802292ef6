/* SPDX-License-Identifier: Apache-2.0 */
#include "register/contrast/synthesis.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/matrix.h"
#include "op/image/resample.h"
#include "register/contrast/around.h"
#include "register/contrast/image.h"
#include "register/contrast/meeting.h"
#include "register/contrast/trees.h"
#include "register/thresholds.h"
#include "transform/field.h"

/* Adds to what was synthesized by the value alone what the surroundings tell beyond it. level: as large as
 * the image, overwritten. */
static int look_around(clv_registration *run, const clv_synthesis *r, const clv_buffer *image,
                       clv_buffer *level)
{
    /* Samples, at most about so many; trees, and the share that each takes of what is left. */
    enum { MOST = 100000, TREES = 50 };
    static const double SHARE = .1;
    int status = CLVOX_OK;
    const size_t n = clvox_grid_voxels(r->grid);
    size_t count = 0, taken = 0, every = 1;
    clv_buffer *const scratch[3] = {run->scratch_b, run->scratch_a, level};
    clv_around around;
    uint32_t *at = NULL;
    float *value = NULL, *said = NULL;
    CLV_TRY(clv_around_make(run->ctx, r->grid, image, r->values, (CLV_CONTRAST_BINS - 1) / r->per_bin, r->out,
                            scratch, &around));
    for (int pass = 0; pass < 2; pass++) {
        size_t seen = 0;
        CLV_EACH_SAMPLE(r, x, y, z)
        {
            const size_t i = clv_contrast_at(r->samples, x, y, z);
            double p[3];
            if (!clv_contrast_known(r, i) || !clv_contrast_place(r, x, y, z, i, p))
                continue;
            const size_t v = clv_contrast_at(r->grid, (int)(p[0] + .5), (int)(p[1] + .5), (int)(p[2] + .5));
            if (around.row[v] == CLV_NO_ROW)
                continue;
            if (pass == 0)
                count++;
            else if (seen++ % every == 0) {
                at[taken] = around.row[v];
                value[taken++] = r->other[i] - r->out[v];
            }
        }
        if (pass == 1)
            break;
        every = count / MOST + 1;
        at = malloc((count / every + 1) * sizeof *at);
        value = malloc((count / every + 1) * sizeof *value);
        said = malloc((around.rows + 1) * sizeof *said);
        if (!at || !value || !said) {
            status = clvox_fail(CLVOX_ERROR_MEMORY, "registration: out of host memory");
            goto end;
        }
    }
    const clv_trees trees = {.rows = around.rows,
                             .bins = around.bins,
                             .samples = taken,
                             .at = at,
                             .value = value,
                             .count = TREES,
                             .rate = SHARE};
    CLV_TRY(clv_trees_say(&trees, said));
    for (size_t i = 0; i < n; i++)
        if (around.row[i] != CLV_NO_ROW)
            r->out[i] += said[around.row[i]];
end:
    clv_around_free(&around);
    free(at);
    free(value);
    free(said);
    return status;
}

/* The synthesized image of a side into `to`. */
static int side(clv_registration *run, const clv_meeting *m, bool moving, double sigma, clv_buffer *to,
                bool *made)
{
    int status = CLVOX_OK;
    const size_t n = clvox_grid_voxels(m->grid[moving]);
    float *values = NULL;
    *made = false;
    CLV_TRY(clv_contrast_meet(run, m, moving, &values));
    CLV_TRY(clv_contrast_image(m->grid[moving], values, values + n, sigma, values + 2 * n, made));
    if (*made)
        CLV_TRY(clv_buffer_write(run->ctx, to, 0, values + 2 * n, n * sizeof *values));
end:
    free(values);
    return status;
}

size_t clv_contrast_bytes(const clvox_grid *fixed, const clvox_grid *moving)
{
    return 2 * sizeof(float) * (clvox_grid_voxels(fixed) + clvox_grid_voxels(moving));
}

int clv_contrast_own(const clv_registration *run)
{
    return run->channels[0].made == CLV_MADE_FIXED;
}

static int add_channel(clv_registration *run, bool *made)
{
    int status = CLVOX_OK;
    clv_channel *c = &run->channels[1];
    const size_t fixed = (size_t)run->n * sizeof(float), moving = (size_t)run->m * sizeof(float);
    *c = run->channels[0];
    c->fixed = c->moving = c->level_fixed = c->level_moving = NULL;
    const clv_request requests[] = {{&c->fixed, fixed, "synthesized image"},
                                    {&c->moving, moving, "synthesized image"},
                                    {&c->level_fixed, fixed, "a level of it"},
                                    {&c->level_moving, moving, "a level of it"}};
    status = clv_pool_take(run->ctx, requests, sizeof requests / sizeof *requests);
    *made = status >= 0;
    if (status < 0)
        return clv_register_without(run, status);
    run->channels[0].weight *= .5;
    run->channels[0].share *= .5;
    c->weight *= .5;
    c->share *= .5;
    run->channel_count = run->image_count = 2;
    /* The first channel has the image that comes first as it is, in either order of the two. */
    const bool own = run->order == CLV_ORDER_LINEAR;
    run->channels[own].made = CLV_MADE_MOVING;
    run->channels[!own].made = CLV_MADE_FIXED;
    clv_buffer *lone = own ? run->channels[0].fixed : run->channels[0].moving;
    clv_buffer *copy = own ? c->fixed : c->moving;
    CLV_TRY(clv_buffer_copy(run->ctx, lone, 0, copy, 0, own ? fixed : moving));
end:
    return status;
}

static double volume_of(const clvox_grid *grid)
{
    return (double)clvox_grid_voxels(grid) * fabs(clv_matrix_determinant(CLV_MATRIX(grid->to_ras)));
}

bool clv_contrast_heads(const clv_registration *run)
{
    return volume_of(&run->fixed_grid) >= LITRE &&
           volume_of(&run->moving_grid) / pow(clv_units_apart(run), 3) >= LITRE;
}

int clv_contrast_synthesize(clv_registration *run, double sigma, bool *made)
{
    int status = CLVOX_OK;
    bool fixed = false, moving = false;
    clv_own_units units;
    clv_units_enter(run, &units);
    *made = true;
    if (!clv_contrast_made(run))
        CLV_TRY(add_channel(run, made));
    if (!*made)
        goto end;
    const int own = clv_contrast_own(run);
    clv_channel *with_fixed = &run->channels[own], *with_moving = &run->channels[!own];
    const clv_meeting m = {{&run->fixed_grid, &run->moving_grid}, {with_fixed->fixed, with_moving->moving}};
    CLV_TRY(side(run, &m, true, sigma, with_fixed->moving, &moving));
    CLV_TRY(side(run, &m, false, sigma, with_moving->fixed, &fixed));
    *made = fixed && moving;
    if (!*made)
        CLV_TRY(clv_contrast_undo(run));
end:
    clv_units_leave(run, &units);
    return status;
}

/* An image's values on a grid that map and u lead from, NaN outside of the image and of its mask. */
static int look_up(clv_registration *run, const clv_buffer *image, const clv_buffer *mask,
                   const clvox_grid *grid, const clvox_grid *to, const clv_map *map, const clv_buffer *u,
                   float *values, float *scratch)
{
    int status = CLVOX_OK;
    const size_t n = clvox_grid_voxels(to);
    CLV_TRY(clv_warp(run->ctx, CLV_VOLUME(image, grid->size), map, u, CLV_LINEAR, NAN,
                     CLV_VOLUME(run->scratch_a, to->size)));
    CLV_TRY(clv_buffer_read(run->ctx, run->scratch_a, 0, values, n * sizeof *values));
    status = clv_contrast_leave_out(run, mask, grid, to, map, u, scratch, values);
end:
    return status;
}

int clv_contrast_again(clv_registration *run, double sigma, bool around, const clvox_grid *at,
                     const clv_buffer *u, const clv_buffer *u_fixed)
{
    int status = CLVOX_OK;
    const int own = clv_contrast_own(run);
    /* With the fixed image as it is, and with the moving one. */
    const clv_channel *channel[2] = {&run->channels[own], &run->channels[!own]};
    const clvox_grid *grid[2] = {&run->fixed_grid, &run->moving_grid};
    const clv_buffer *image[2] = {channel[0]->fixed, channel[1]->moving}, *field[2] = {u_fixed, u},
                     *mask[2] = {run->masks.of[0], run->masks.of[1]};
    clv_buffer *to[2] = {channel[1]->fixed, channel[0]->moving};
    const size_t n = clvox_grid_voxels(at), most = (size_t)(run->n > run->m ? run->n : run->m);
    clv_map map[2];
    float *values = malloc((5 * n + 2 * most) * sizeof *values), *there[2] = {values, values + n},
          *vectors = values + 2 * n, *own_values = values + 5 * n, *out = own_values + most;
    clv_own_units units;
    if (!values)
        return clv_register_without(run, CLVOX_ERROR_MEMORY);
    clv_units_enter(run, &units);
    clv_map_between(at, grid[0], NULL, 1, &map[0]);
    clv_map_between(at, grid[1], CLV_MATRIX(run->matrix), 1, &map[1]);
    for (int k = 0; k < 2; k++)
        CLV_TRY(look_up(run, image[k], mask[k], grid[k], at, &map[k], field[k], there[k], vectors));
    for (int k = 0; k < 2; k++) {
        const size_t voxels = clvox_grid_voxels(grid[k]);
        bool made;
        clv_synthesis r = {.grid = grid[k],
                        .samples = at,
                        .image = there[k],
                        .other = there[!k],
                        .values = own_values,
                        .out = out,
                        .map = &map[k],
                        .field = field[k] ? vectors : NULL};
        if (field[k])
            CLV_TRY(clv_field_read(run->ctx, field[k], n, 0, n, vectors, r.strides));
        CLV_TRY(clv_buffer_read(run->ctx, image[k], 0, own_values, voxels * sizeof *own_values));
        CLV_TRY(clv_contrast_make(&r, sigma, &made));
        if (made && around)
            CLV_TRY(look_around(run, &r, image[k], k ? channel[1]->level_moving : channel[0]->level_fixed));
        if (made)
            CLV_TRY(clv_buffer_write(run->ctx, to[k], 0, out, voxels * sizeof *out));
    }
end:
    clv_units_leave(run, &units);
    free(values);
    return clv_register_without(run, status);
}

int clv_contrast_undo(clv_registration *run)
{
    int status = CLVOX_OK;
    const int own = clv_contrast_own(run);
    if (!clv_contrast_made(run))
        return CLVOX_OK;
    clv_channel *c = run->channels;
    if (own == 0)
        CLV_TRY(clv_buffer_copy(run->ctx, c[1].moving, 0, c[0].moving, 0, (size_t)run->m * sizeof(float)));
    else
        CLV_TRY(clv_buffer_copy(run->ctx, c[1].fixed, 0, c[0].fixed, 0, (size_t)run->n * sizeof(float)));
    c[0].weight *= 2;
    c[0].share *= 2;
end:
    clv_contrast_release(run);
    return status;
}

void clv_contrast_release(clv_registration *run)
{
    clv_channel *c = &run->channels[1];
    if (!clv_contrast_made(run))
        return;
    clv_buffer_destroy(&c->fixed);
    clv_buffer_destroy(&c->moving);
    clv_buffer_destroy(&c->level_fixed);
    clv_buffer_destroy(&c->level_moving);
    run->channel_count = run->image_count = 1;
    run->channels[0].made = run->channels[1].made = CLV_AS_READ;
}
