/* SPDX-License-Identifier: Apache-2.0 */
/* One registration from files to files, as far as `clvox register` and lists of pairs share it. */
#include <math.h>
#include <string.h>

#include "base/status.h"
#include "clvox/boundary.h"
#include "clvox/command/pair.h"
#include "clvox/compare.h"
#include "clvox/figure.h"

/* ---- before ------------------------------------------------------------------ */

/* NULL for no mask by its word. */
static const char *file_of(const char *mask)
{
    return mask && !strcmp(mask, "none") ? NULL : mask;
}

int clvox_pair_list(clvox_pair_work *w, const clvox_pair_sources *s, clvox_input inputs[CLVOX_PAIR_INPUTS])
{
    int count = 0;
    for (int i = 0; i < s->channels; i++) {
        inputs[count++] = (clvox_input){s->fixed[i], &w->fixed[i], 0};
        inputs[count++] = (clvox_input){s->moving[i], &w->moving[i], 0};
    }
    for (int side = 0; side < 2; side++)
        inputs[count++] = (clvox_input){s->mask[side], &w->mask[side], CLVOX_AS_MASK};
    for (int side = 0; side < 2; side++)
        inputs[count++] = (clvox_input){file_of(s->linear_mask[side]), &w->linear_mask[side], CLVOX_AS_MASK};
    for (int side = 0; side < 2; side++)
        for (int k = 0; s->level_mask[side] && k < s->levels; k++)
            inputs[count++] =
                (clvox_input){file_of(s->level_mask[side][k]), &w->level_mask[side][k], CLVOX_AS_MASK};
    inputs[count++] = (clvox_input){s->labels, &w->labels, CLVOX_AS_LABELS};
    return count;
}

/* A series is no image: refused before there is a plan. */
static int refuse_series(const char *path, const clvox_volume *image)
{
    if (image->frames == 1)
        return CLVOX_OK;
    return clvox_fail(
        CLVOX_ERROR_DATA,
        "%s: has %d volumes, and one is registered: take one by `clvox apply -i %s -r %s --frame 0 -o "
        "ONE.nii.gz`; motion between them is corrected by `clvox series`",
        path, image->frames, path, path);
}

int clvox_pair_gather(const clvox_pair_work *w, const clvox_pair_sources *s, clvox_register_images *images)
{
    int status = CLVOX_OK;
    *images = (clvox_register_images){.channels = s->channels};
    for (int i = 0; i < s->channels; i++) {
        CLV_TRY(refuse_series(s->fixed[i], w->fixed[i]));
        CLV_TRY(refuse_series(s->moving[i], w->moving[i]));
        images->fixed[i] = w->fixed[i];
        images->moving[i] = w->moving[i];
        images->weight[i] = s->weight[i];
    }
    images->fixed_mask = w->mask[0];
    images->moving_mask = w->mask[1];
    images->linear_masks = s->linear_mask[0] || s->linear_mask[1];
    if (images->linear_masks) {
        images->linear_fixed_mask = s->linear_mask[0] ? w->linear_mask[0] : w->mask[0];
        images->linear_moving_mask = s->linear_mask[1] ? w->linear_mask[1] : w->mask[1];
    }
    images->level_masks = s->level_mask[0] || s->level_mask[1];
    for (int k = 0; k < s->levels && images->level_masks; k++) {
        images->level_fixed_mask[k] = s->level_mask[0] ? w->level_mask[0][k] : w->mask[0];
        images->level_moving_mask[k] = s->level_mask[1] ? w->level_mask[1][k] : w->mask[1];
    }
    images->initial_warp = w->initial;
end:
    return status;
}

int clvox_chain_start(clvox_context *context, const clvox_grid *fixed, const clvox_link *links, int count,
                      double matrix[4][4], clvox_volume **warp)
{
    enum { ROOM = 128 };
    int status = CLVOX_OK, affines = 0, before = 0; /* before: affines that a warp follows */
    clvox_link affine[ROOM], all[ROOM + 1];
    clvox_transform product = {.is_warp = 0};
    *warp = NULL;
    if (count > ROOM)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "a chain of %d transforms; up to %d are possible", count,
                          ROOM);
    for (int i = 0; i < count; i++) {
        all[i] = links[i];
        if (links[i].transform->is_warp)
            before = affines;
        else
            affine[affines++] = links[i];
    }
    CLV_TRY(clvox_compose_affine(affine, affines, product.matrix));
    memcpy(matrix, product.matrix, sizeof product.matrix);
    if (!context || affines == count)
        goto end;
    /* Without affines before its warps the chain ends with the matrix, else the matrix is taken off it. */
    if (before)
        all[count++] = (clvox_link){&product, 1};
    else
        count -= affines;
    status = clvox_compose(context, fixed, all, count, warp);
end:
    return status;
}

int clvox_pair_start(clvox_pair_work *w, clvox_context *context, const clvox_grid *fixed,
                     const clvox_link *links, int count, const char *name)
{
    static const double identity[4][4] = {{1}, {0, 1}, {0, 0, 1}, {0, 0, 0, 1}};
    const clvox_register_options *o = &w->options;
    double matrix[4][4];
    if (count == 1 && links->transform->is_warp && !links->inverse) { /* on any grid */
        w->initial = links->transform->warp;
        return CLVOX_OK;
    }
    const int status = clvox_chain_start(context, fixed, links, count, matrix, &w->composed);
    if (status < 0)
        return clvox_fail_in(status, name);
    if (!w->composed)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "%s: is an affine; --init takes it", name);
    if (memcmp(matrix, identity, sizeof matrix) != 0 &&
        (o->init != CLVOX_INIT_MATRIX || memcmp(matrix, o->matrix, sizeof matrix) != 0))
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "%s: holds an affine, too; --init %s starts from both", name,
                          name);
    w->initial = w->composed;
    return CLVOX_OK;
}

double clvox_pair_edge(const clvox_grid *fixed)
{
    double edge[3];
    clvox_grid grid;
    /* However the voxels are stored, the product of their edges is rounded alike. */
    clvox_grid_canonical(fixed, &grid);
    clvox_grid_spacing(&grid, edge);
    return cbrt(edge[0] * edge[1] * edge[2]);
}

/* ---- the registration -------------------------------------------------------- */

int clvox_pair_boundary_read(clvox_pair_work *w, const clvox_pair_boundary *b)
{
    int status = CLVOX_OK;
    for (int i = 0; i < b->files; i++)
        CLV_TRY(clvox_surface_is_file(b->file[i]) ? clvox_surface_read_with(b->file[i], b->lps, &w->white[i])
                                                  : clvox_volume_read(b->file[i], &w->white_map[i]));
end:
    return status;
}

/* The linear part by the images, then by the boundary. */
static int fit_boundary(clvox_pair_work *w, clvox_context *ctx, const clvox_register_images *images,
                        const clvox_pair_boundary *b, unsigned *suspicions)
{
    int status = CLVOX_OK;
    clvox_register_options *o = &w->options, linear = *o;
    clvox_boundary_options how;
    clvox_register_result start = {.suspicions = 0};
    clvox_boundary_defaults(&how);
    how.contrast = b->contrast;
    how.affine = o->linear == CLVOX_LINEAR_AFFINE;
    linear.deform = CLVOX_DEFORM_NONE;
    linear.inverse = 0;
    for (int i = 0; i < b->files; i++)
        if (w->white_map[i]) {
            status =
                clvox_boundary_of(ctx, w->white_map[i], b->labels ? b->label : NULL, b->labels, &w->white[i]);
            CLV_TRY(status < 0 ? clvox_fail_in(status, b->file[i]) : status);
            clvox_volume_destroy(&w->white_map[i]);
        }
    CLV_TRY(clvox_register(ctx, images, &linear, &start));
    memcpy(o->matrix, start.matrix, sizeof o->matrix);
    status = clvox_boundary_fit(ctx, (const clvox_surface *const *)w->white, b->files, images->moving[0],
                                &how, o->matrix, &w->boundary);
    CLV_TRY(status < 0 ? clvox_fail_in(status, b->file[0]) : status);
    o->init = CLVOX_INIT_MATRIX;
    o->linear = CLVOX_LINEAR_NONE;
    *suspicions = start.suspicions | (w->boundary.lost ? CLVOX_SUSPECT_BOUNDARY : 0u);
end:
    clvox_register_result_destroy(&start);
    return status;
}

int clvox_pair_register(clvox_pair_work *w, clvox_context *ctx, const clvox_register_images *images,
                        const clvox_pair_boundary *boundary)
{
    int status = CLVOX_OK;
    unsigned suspicions = 0;
    if (boundary->files)
        CLV_TRY(fit_boundary(w, ctx, images, boundary, &suspicions));
    CLV_TRY(clvox_register(ctx, images, &w->options, &w->result));
    w->result.suspicions |= suspicions;
end:
    return status;
}

/* ---- after ------------------------------------------------------------------- */

static int write_picture(const void *what, int unused, const char *path)
{
    int status = CLVOX_OK, at[3];
    const clvox_pair_picture *p = what;
    clvox_volume *planes = NULL;
    (void)unused;
    if (!p->log_jacobian && p->warp) {
        CLV_TRY(clvox_figure_planes(p->fixed, p->mask, at));
        CLV_TRY(clvox_jacobian_planes(p->warp, at, 1, &planes));
    }
    status = clvox_figure_registration(p->fixed, p->warped, p->labels, planes ? planes : p->log_jacobian,
                                       p->mask, path);
end:
    clvox_volume_destroy(&planes);
    return status;
}

static int write_affine(const void *what, int unused, const char *path)
{
    const clvox_register_result *result = what;
    (void)unused;
    return clvox_affine_write((const double(*)[4])result->matrix, CLVOX_AFFINE_ITK, path);
}

/* Adds the picture, what the result holds, the labels and the affine. */
static int add_outputs(clvox_pair_work *w, const clvox_pair_names *n, bool picture)
{
    int status = CLVOX_OK;
    const clvox_register_result *result = &w->result;
    clvox_results *r = &w->outputs;
    char *const *end = n->end;
    const struct {
        const clvox_volume *warp;
        clvox_pair_file file;
    } warps[] = {{result->warp, CLVOX_PAIR_WARP},
                 {result->inverse_warp, CLVOX_PAIR_INVERSE},
                 {result->momentum, CLVOX_PAIR_MOMENTUM}};
    if (picture)
        CLV_TRY(clvox_results_add(r, write_picture, &w->shown, 0, n->prefix, end[CLVOX_PAIR_PICTURE]));
    for (int i = 0; i < 3; i++)
        if (warps[i].warp)
            CLV_TRY(clvox_results_warp(r, warps[i].warp, n->prefix, end[warps[i].file]));
    if (result->warped)
        CLV_TRY(clvox_results_volume(r, result->warped, n->prefix, end[CLVOX_PAIR_WARPED]));
    if (w->carried)
        CLV_TRY(clvox_results_volume(r, w->carried, n->prefix, end[CLVOX_PAIR_LABELS]));
    status = clvox_results_add(r, write_affine, result, 0, n->prefix, end[CLVOX_PAIR_AFFINE]);
end:
    return status;
}

int clvox_pair_prepare(clvox_pair_work *w, clvox_context *ctx, const clvox_pair_names *names, bool picture,
                       bool report)
{
    int status = CLVOX_OK;
    const clvox_register_result *result = &w->result;
    const clvox_volume *warp = result->warp, *fixed = w->fixed[0];
    w->shown =
        (clvox_pair_picture){.fixed = fixed, .warped = result->warped, .mask = w->mask[0], .warp = warp};
    if (w->labels)
        CLV_TRY(clvox_register_labels(ctx, w->labels, &result->grid, result, &w->carried));
    /* The page shows all of it, the picture some planes, which come from the warp where they are among its
     * own. */
    if (warp && (report || (picture && (!fixed || !clvox_grid_equal(&warp->grid, &fixed->grid)))))
        CLV_TRY(clvox_jacobian(ctx, warp, NULL, 1, &w->log_jacobian, NULL));
    w->shown.labels = w->carried;
    w->shown.log_jacobian = w->log_jacobian;
    status = add_outputs(w, names, picture);
end:
    return status;
}

void clvox_pair_work_free(clvox_pair_work *w)
{
    clvox_volume **const volumes[] = {&w->mask[0], &w->mask[1], &w->linear_mask[0], &w->linear_mask[1],
                                      &w->labels,  &w->carried, &w->log_jacobian};
    for (int i = 0; i < CLVOX_MAX_CHANNELS; i++) {
        clvox_volume_destroy(&w->fixed[i]);
        clvox_volume_destroy(&w->moving[i]);
    }
    for (size_t i = 0; i < sizeof volumes / sizeof *volumes; i++)
        clvox_volume_destroy(volumes[i]);
    for (int k = 0; k < 2 * CLVOX_MAX_LEVELS; k++)
        clvox_volume_destroy(&w->level_mask[k % 2][k / 2]);
    for (int i = 0; i < CLVOX_PAIR_BOUNDARIES; i++) {
        clvox_surface_destroy(&w->white[i]);
        clvox_volume_destroy(&w->white_map[i]);
    }
    clvox_volume_destroy(&w->composed);
    clvox_register_result_destroy(&w->result);
    clvox_results_free(&w->outputs);
    for (int i = 0; i < CLVOX_PAIR_NAMES; i++)
        cJSON_Delete(w->sidecar[i]);
}
