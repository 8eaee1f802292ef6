/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of the distortion of echo-planar images: two blips along j, and a step of their field's equations. */
#include "bench/rows/check.h"
#include "op/epi/blip.h"
#include "ref/epi/blip.h"

enum { BLIPS = 2, AXIS = 1 };
#define BENDING 0.01f

/* The field shifts one by up to two voxels, and the other one back. */
static const float maps[BLIPS * CLV_BLIP_MAP] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 2,
                                                 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, -2};

static int begin_terms(bench_data *d)
{
    return clv_buffer_write(d->ctx, d->partial, 0, maps, sizeof maps);
}

/* The first components of the tensors are the images. */
static int row_terms(bench_data *d)
{
    return clv_blip_terms(d->ctx, &(clv_blips){d->tensor, d->partial, BLIPS, AXIS},
                          CLV_VOLUME(d->in[1], d->size), d->nine, d->out[0]);
}

static int row_bending(bench_data *d)
{
    const clv_image v = clv_image_of(d->in[0], d->size, (const float[3]){1, 1, 1}, 1);
    return clv_blip_bending(d->ctx, &v, d->out[0]);
}

/* The first five components are the terms. */
static int row_operator(bench_data *d)
{
    const clv_image v = clv_image_of(d->in[0], d->size, (const float[3]){1, 1, 1}, 1);
    return clv_blip_operator(d->ctx, d->tensor, AXIS, &v, BENDING, d->out[0]);
}

static ref_blips reference(const bench_check *c, const double *images, const double *map)
{
    const int *n = c->data->size;
    return (ref_blips){images, map, BLIPS, AXIS, {n[0], n[1], n[2]}, {1, 1, 1}, (double)BENDING};
}

/* What the images' slopes go into is left out: on a voxel a rounding decides between two. */
static int check_terms(bench_check *c)
{
    int status = CLVOX_OK;
    double map[BLIPS * CLV_BLIP_MAP], *images = c->more, *f = c->more + 6 * c->n, *energy = c->most;
    const ref_blips b = reference(c, images, map);
    for (int i = 0; i < BLIPS * CLV_BLIP_MAP; i++)
        map[i] = (double)maps[i];
    for (size_t i = 0; i < 6 * c->n; i++)
        images[i] = (double)c->tensor[i];
    for (size_t i = 0; i < c->n; i++)
        f[i] = (double)c->in[1][i];
    ref_blip_terms(&b, f, c->want, energy);
    CLV_TRY(check_buffer(c, c->data->out[0], energy, c->n, 1e-5, 1e-4));
    CLV_TRY(clv_buffer_read(c->data->ctx, c->data->nine, 0, c->got, 5 * c->n * sizeof *c->got));
    CLV_TRY(check_values(c, c->got + c->n, c->want + c->n, c->n, 1e-4, 1e-4));
    status = check_values(c, c->got + 4 * c->n, c->want + 4 * c->n, c->n, 1e-4, 1e-4);
end:
    return status;
}

static int check_bending(bench_check *c)
{
    const ref_blips b = reference(c, NULL, NULL);
    for (size_t i = 0; i < c->n; i++)
        c->more[i] = (double)c->in[0][i];
    ref_blip_bending(&b, c->more, c->want);
    return check_buffer(c, c->data->out[0], c->want, c->n, 1e-4, 1e-5);
}

static int check_blip_operator(bench_check *c)
{
    const ref_blips b = reference(c, NULL, NULL);
    double *v = c->more + 6 * c->n;
    for (size_t i = 0; i < 6 * c->n; i++)
        c->more[i] = (double)c->tensor[i];
    for (size_t i = 0; i < c->n; i++)
        v[i] = (double)c->in[0][i];
    ref_blip_operator(&b, c->more, v, c->want);
    return check_buffer(c, c->data->out[0], c->want, c->n, 1e-4, 1e-5);
}

const bench_row bench_rows_epi[] = {
    {"blip terms", "blip_terms", 4 * (BLIPS + 1 + CLV_BLIP_TERMS + 1), 0, row_terms, check_terms, begin_terms,
     NULL},
    {"blip bending", "blip_bending", 8, 0, row_bending, check_bending, NULL, NULL},
    {"blip operator", "blip_operator", 20, 0, row_operator, check_blip_operator, NULL, NULL},
    {NULL, NULL, 0, 0, NULL, NULL, NULL, NULL},
};
