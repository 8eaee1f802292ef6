/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cmd_register/alone.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/matrix.h"

/* ---- what was typed -------------------------------------------------------- */

bool cli_alone_is(const cli_register_request *r)
{
    bool any = r->points != NULL;
    for (int k = 0; k < CLI_SHAPE_KINDS; k++)
        any = any || r->shapes[k].count;
    return any && !r->fixed.count && !r->moving.count && !r->posteriors && !r->list;
}

static const char *typed(const cli_register_request *r, const char *option)
{
    return r->given[clvox_option_find(clvox_register_table(), option)];
}

int cli_alone_check(const cli_register_request *r, clvox_register_options *o)
{
    if (!r->alone)
        return r->spacing.count
                   ? cli_misuse("--spacing is for shapes and landmarks without images and posteriors, "
                                "which have a grid of their own")
                   : CLVOX_OK;
    if (r->spacing.count && (r->spacing.count != 1 || r->spacing.unit == CLVOX_UNIT_VOXELS ||
                             !(r->spacing.value[0] > 0) || !isfinite(r->spacing.value[0])))
        return cli_misuse("--spacing: one length above 0, as 2mm");
    if (!r->init_points && o->linear != CLVOX_LINEAR_NONE) {
        if (typed(r, "linear"))
            return cli_misuse(
                "--linear %s: without images nothing gives a linear part except landmarks (--points with "
                "--init points); --init takes a shift from the shapes, or a map from a FILE",
                typed(r, "linear"));
        o->linear = CLVOX_LINEAR_NONE;
    }
    clvox_deform_text model;
    if (o->deform != CLVOX_DEFORM_NONE && !clvox_deform_takes(o->deform, "surface-weight") &&
        clvox_deform_describe((int)o->deform, &model))
        return cli_misuse(
            "--deform %s has no term of shapes; without images take greedy, syn, lddmm or shooting",
            model.name);
    bool shapes = false;
    for (int k = 0; k < CLI_SHAPE_KINDS; k++)
        shapes = shapes || r->shapes[k].count;
    if (o->deform != CLVOX_DEFORM_NONE && !shapes && !(o->points_weight > 0))
        return cli_misuse(
            "--points alone: give --points-weight above 0 for a deformation, or --deform none --init points "
            "for a linear map");
    return CLVOX_OK;
}

/* ---- where they lie -------------------------------------------------------- */

/* The affine to start from, where it is not given. */
static int start(const command *cli, const clvox_register_images *images, clvox_register_options *o)
{
    int status = CLVOX_OK;
    const clvox_init asked = o->init;
    const char *what = "centres  ";
    CLI_TRY(clvox_shapes_start(images, o, o->matrix));
    const bool shifts = o->matrix[0][3] != 0 || o->matrix[1][3] != 0 || o->matrix[2][3] != 0;
    if (asked == CLVOX_INIT_AUTO && shifts)
        what = "centres  the boxes of both sides do not meet: ";
    else if (asked == CLVOX_INIT_MOMENTS)
        what = "moments  ";
    if (asked != CLVOX_INIT_MATRIX)
        o->init = CLVOX_INIT_HEADER;
    if (asked != CLVOX_INIT_CENTERS && asked != CLVOX_INIT_MOMENTS && !(asked == CLVOX_INIT_AUTO && shifts))
        goto end;
    o->init = CLVOX_INIT_MATRIX;
    cli_remark(cli, 0, "%s%.4g %.4g %.4g mm from fixed to moving\n", what, o->matrix[0][3], o->matrix[1][3],
               o->matrix[2][3]);
end:
    return status;
}

int cli_alone_place(cli_pair *p, clvox_register_images *images)
{
    static const double PER_WIDTH = .4, WIDTH = 2.5;
    int status = CLVOX_OK;
    double one[4][4] = {{1}, {0, 1}, {0, 0, 1}, {0, 0, 0, 1}}, spacing = 0, edge[3];
    const cli_register_request *r = &p->request;
    clvox_register_options *o = &p->work.options;
    if (!r->init_points)
        CLI_TRY(start(p->cli, images, o));
    if (o->init == CLVOX_INIT_MATRIX)
        memcpy(one, o->matrix, sizeof one);
    const double finest = o->surface_widths > 0 ? o->surface_width[o->surface_widths - 1] : 0;
    if (r->spacing.count)
        spacing = r->spacing.value[0];
    else if (finest > 0 && images->shapes > 0)
        spacing = PER_WIDTH * finest;
    CLI_TRY(clvox_shapes_grid(images, CLI_MATRIX(one), spacing, 0, &p->grid));
    clvox_grid_spacing(&p->grid, edge);
    /* Reach of the widest kernel. */
    const double widest = o->surface_widths > 0 && o->surface_width[0] > 0 ? o->surface_width[0]
                                                                           : WIDTH * edge[0] * o->shrink[0];
    CLI_TRY(clvox_shapes_grid(images, CLI_MATRIX(one), edge[0], widest, &p->grid));
    images->grid = &p->grid;
end:
    return status;
}

/* ---- the picture ------------------------------------------------------------- */

static void mark(clvox_volume *v, const double *point, double weight)
{
    size_t at = 0, step = 1;
    for (int k = 0; k < 3; k++) {
        const double i = round((point[k] - v->grid.to_ras[k][3]) / v->grid.to_ras[k][k]);
        if (!(i >= 0 && i < v->grid.size[k]))
            return;
        at += step * (size_t)i;
        step *= (size_t)v->grid.size[k];
    }
    v->data[at] += (float)weight;
}

/* Points spread over an element, so many along each side. */
static void mark_element(clvox_volume *v, const clvox_shape *s, size_t element)
{
    enum { MOST = 64 };
    const int32_t *corner = s->corners + (size_t)s->kind * element;
    const double *p[3];
    double longest = 0;
    for (int c = 0; c < 3; c++)
        p[c] = s->points + 3 * (size_t)corner[c < (int)s->kind ? c : 0];
    for (int c = 0; c < 3; c++)
        for (int k = 0; k < 3; k++)
            longest = fmax(longest, fabs(p[c][k] - p[(c + 1) % 3][k]));
    const int n = (int)fmin(fmax(ceil(2 * longest / v->grid.to_ras[0][0]), 1), MOST);
    for (int i = 0; i <= (s->kind > 1 ? n : 0); i++)
        for (int j = 0; j <= (s->kind > 2 ? n - i : 0); j++) {
            double at[3];
            for (int k = 0; k < 3; k++)
                at[k] = p[0][k] + (p[1][k] - p[0][k]) * i / n + (p[2][k] - p[0][k]) * j / n;
            mark(v, at, 1);
        }
}

/* However often a voxel is met. */
static void flatten(clvox_volume *v)
{
    const size_t n = clvox_grid_voxels(&v->grid);
    for (size_t i = 0; i < n; i++)
        v->data[i] = v->data[i] > 0;
}

int cli_alone_draw(cli_pair *p)
{
    int status = CLVOX_OK;
    const cli_register_request *r = &p->request;
    clvox_transform warp = {.is_warp = 1, .warp = p->work.result.warp}, affine = {.is_warp = 0};
    double *carried = NULL;
    const int n = p->fixed_points.count;
    for (int s = 0; s < 2; s++) {
        CLI_TRY(clvox_volume_create(&p->grid, 1, CLVOX_KIND_SCALAR, &p->expected[s]));
        for (int i = 0; i < r->shape_count; i++) {
            const clvox_shape *shape = s ? p->shapes[i].errors.carried : p->fixed_shapes[i];
            for (size_t e = 0; e < shape->elements; e++)
                mark_element(p->expected[s], shape, e);
        }
    }
    for (int i = 0; i < n; i++)
        mark(p->expected[0], p->fixed_points.points + 3 * i, 1);
    if (n > 0) {
        clvox_link back[] = {{&affine, 1}, {&warp, 1}};
        const size_t bytes = 3 * (size_t)n * sizeof *carried;
        memcpy(affine.matrix, p->work.result.matrix, sizeof affine.matrix);
        carried = malloc(bytes);
        if (!carried) {
            status = clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
            goto end;
        }
        memcpy(carried, p->moving_points.points, bytes);
        CLI_TRY(clvox_apply_points(back, p->work.result.warp ? 2 : 1, carried, n));
        for (int i = 0; i < n; i++)
            mark(p->expected[1], carried + 3 * i, 1);
    }
    for (int s = 0; s < 2; s++)
        flatten(p->expected[s]);
    p->work.shown.fixed = p->expected[0];
    p->work.shown.warped = p->expected[1];
end:
    free(carried);
    return status;
}
