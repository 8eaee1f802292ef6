/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of the distortion of echo-planar images: two blips along j, and a step of their field's equations. */
#include "bench/rows/check.h"
#include "op/epi/blip.h"
#include "ref/epi/blip.h"

enum { BLIPS = 2, AXIS = 1 };
#define BENDING 0.01f
static const float tilt[4] = {.01f, -.02f, .03f, .5f};

/* The field shifts one by up to two voxels, and the other one back. */
static const float maps[BLIPS * CLV_BLIP_MAP] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 2,
                                                 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, -2};

static int begin_images(bench_data *d)
{
    return clv_buffer_write(d->ctx, d->sums, 0, maps, sizeof maps);
}

/* The first components of the tensors are the images, or the first five the terms. */
static clv_blips images(const bench_data *d)
{
    return (clv_blips){d->tensor, d->sums, BLIPS, AXIS};
}

static int row_terms(bench_data *d)
{
    const clv_blips b = images(d);
    return clv_blip_terms(d->ctx, &b, CLV_VOLUME(d->in[1], d->size), d->nine, d->partial);
}

static int row_image(bench_data *d)
{
    const clv_blips b = images(d);
    return clv_blip_image(d->ctx, &b, BLIPS - 1, CLV_VOLUME(d->in[1], d->size), d->out[0]);
}

static int begin_tilt(bench_data *d)
{
    return clv_buffer_copy(d->ctx, d->in[0], 0, d->out[0], 0, (size_t)d->n * sizeof(float));
}

static int row_tilt(bench_data *d)
{
    return clv_blip_tilt(d->ctx, tilt, CLV_VOLUME(d->out[0], d->size));
}

static int row_operator(bench_data *d)
{
    return clv_blip_operator(d->ctx, d->tensor, AXIS, CLV_VOLUME(d->in[0], d->size), BENDING, d->out[0],
                             d->partial);
}

static int row_descent(bench_data *d)
{
    const clv_blip_solve s = {.residual = d->out[0],
                              .inverse = d->out[1],
                              .scaled = d->out[2],
                              .direction = d->field[0],
                              .along = d->field[1],
                              .step = d->solver[0],
                              .rz = {d->partial}};
    return clv_blip_descent(d->ctx, d->tensor, AXIS, CLV_VOLUME(d->in[0], d->size), BENDING, &s);
}

/* One group's sum of 1 for both products, so that the first turn goes by 1. */
static int begin_advance(bench_data *d)
{
    int status = CLVOX_OK;
    clv_buffer *const five[] = {d->out[0], d->out[1], d->out[2], d->field[0], d->field[1]};
    for (int i = 0; i < 5; i++)
        CLV_TRY(clv_buffer_copy(d->ctx, d->in[i % 2], 0, five[i], 0, (size_t)d->n * sizeof(float)));
    CLV_TRY(clv_buffer_write(d->ctx, d->partial, 0, (float[2]){1, 1}, 2 * sizeof(float)));
end:
    return status;
}

static int row_advance(bench_data *d)
{
    const clv_blip_solve s = {.product = d->in[0],
                              .inverse = d->in[1],
                              .scaled = d->out[0],
                              .direction = d->out[1],
                              .along = d->out[2],
                              .step = d->field[0],
                              .residual = d->field[1],
                              .rz = {d->partial, d->nine},
                              .zw = d->partial,
                              .state = d->sums};
    return clv_blip_advance(d->ctx, &s, 0, d->n);
}

static ref_blips reference(const bench_check *c, const double *images, const double *map)
{
    const int *n = c->data->size;
    return (ref_blips){images, map, BLIPS, AXIS, {n[0], n[1], n[2]}, {1, 1, 1}, (double)BENDING};
}

/* The tensors' components, the maps and an image, in double precision: room for the terms of ref_blips. */
static ref_blips widen(bench_check *c, const float *image, double map[BLIPS * CLV_BLIP_MAP], double **f)
{
    double *from = c->more;
    *f = from + 6 * c->n;
    for (int i = 0; i < BLIPS * CLV_BLIP_MAP; i++)
        map[i] = (double)maps[i];
    for (size_t i = 0; i < 6 * c->n; i++)
        from[i] = (double)c->tensor[i];
    for (size_t i = 0; i < c->n; i++)
        (*f)[i] = (double)image[i];
    return reference(c, from, map);
}

/* What the images' slopes go into is left out: on a voxel a rounding decides between two. */
static int check_terms(bench_check *c)
{
    int status = CLVOX_OK;
    double map[BLIPS * CLV_BLIP_MAP], *f, sums[2], *energy = c->most, whole = 0;
    const ref_blips b = widen(c, c->in[1], map, &f);
    ref_blip_terms(&b, f, c->want, energy);
    for (size_t i = 0; i < c->n; i++)
        whole += energy[i];
    CLV_TRY(clv_blip_energy(c->data->ctx, c->data->partial, sums));
    CLV_TRY(check_number(c, sums[0], whole, 1e-4 * whole));
    CLV_TRY(check_number(c, sums[1], ref_blip_bend(&b, f), 1e-4 * ref_blip_bend(&b, f)));
    CLV_TRY(clv_buffer_read(c->data->ctx, c->data->nine, 0, c->got, 5 * c->n * sizeof *c->got));
    CLV_TRY(check_values(c, c->got + c->n, c->want + c->n, c->n, 1e-4, 1e-4));
    status = check_values(c, c->got + 4 * c->n, c->want + 4 * c->n, c->n, 1e-4, 1e-4);
end:
    return status;
}

static int check_image(bench_check *c)
{
    double map[BLIPS * CLV_BLIP_MAP], *f;
    const ref_blips b = widen(c, c->in[1], map, &f);
    for (size_t i = 0; i < c->n; i++)
        c->want[i] = ref_blip_image(&b, BLIPS - 1, f, (int)i);
    return check_buffer(c, c->data->out[0], c->want, c->n, 1e-4, 1e-4);
}

static int check_tilt(bench_check *c)
{
    const int *n = c->data->size;
    for (int z = 0, i = 0; z < n[2]; z++)
        for (int y = 0; y < n[1]; y++)
            for (int x = 0; x < n[0]; x++, i++)
                c->want[i] = (double)c->in[0][i] + (double)tilt[0] * x + (double)tilt[1] * y +
                             (double)tilt[2] * z + (double)tilt[3];
    return check_buffer(c, c->data->out[0], c->want, c->n, 1e-5, 1e-5);
}

static int check_blip_operator(bench_check *c)
{
    double map[BLIPS * CLV_BLIP_MAP], *v;
    const ref_blips b = widen(c, c->in[0], map, &v);
    ref_blip_operator(&b, c->more, v, c->want);
    return check_buffer(c, c->data->out[0], c->want, c->n, 1e-4, 1e-5);
}

static int check_descent(bench_check *c)
{
    double map[BLIPS * CLV_BLIP_MAP], *f;
    const ref_blips b = widen(c, c->in[0], map, &f);
    ref_blip_gradient(&b, c->more, f, c->want);
    for (size_t i = 0; i < c->n; i++)
        c->want[i] = -c->want[i];
    return check_buffer(c, c->data->out[0], c->want, c->n, 1e-4, 1e-5);
}

/* residual = in[0] - in[0], and step = in[1] + scaled. */
static int check_advance(bench_check *c)
{
    int status = CLVOX_OK;
    for (size_t i = 0; i < c->n; i++) {
        c->want[i] = 0;
        c->more[i] = (double)c->in[1][i] + (double)c->in[0][i];
    }
    CLV_TRY(check_buffer(c, c->data->field[1], c->want, c->n, 1e-6, 0));
    CLV_TRY(check_buffer(c, c->data->field[0], c->more, c->n, 1e-6, 1e-6));
end:
    return status;
}

const bench_row bench_rows_epi[] = {
    {"blip terms", "blip_terms", 4 * (BLIPS + 1 + CLV_BLIP_TERMS), 0, row_terms, check_terms, begin_images,
     NULL},
    {"blip image", "blip_image", 12, 0, row_image, check_image, begin_images, NULL},
    {"blip tilt", "blip_tilt", 8, 0, row_tilt, check_tilt, begin_tilt, NULL},
    {"blip descent", "blip_descent", 48, 0, row_descent, check_descent, NULL, NULL},
    {"blip operator", "blip_operator", 20, 0, row_operator, check_blip_operator, NULL, NULL},
    {"blip advance", "blip_advance", 48, 0, row_advance, check_advance, begin_advance, NULL},
    {NULL, NULL, 0, 0, NULL, NULL, NULL, NULL},
};
