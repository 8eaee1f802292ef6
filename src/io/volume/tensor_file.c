/* SPDX-License-Identifier: Apache-2.0 */
/* Diffusion tensors and vectors from and to files, in the orders and frames of
 * the programs that exchange them. */
#include <stdbool.h>
#include <string.h>

#include "base/matrix.h"
#include "clvox/threads.h"
#include "base/status.h"
#include "clvox/tensor.h"
#include "io/gradients.h"
#include "io/volume/file.h"

/* place: which of Dxx Dxy Dxz Dyy Dyz Dzz the file's frames are. */
typedef struct order {
    int place[6];
    bool matrix; /* an axis of its own, intent SYMMATRIX */
    bool bvecs;  /* in the axes of FSL's bvecs, else RAS */
} order;

static const order orders[] = {
    [CLVOX_TENSOR_AUTO] = {{0, 1, 3, 2, 4, 5}, true, false},
    [CLVOX_TENSOR_FSL] = {{0, 1, 2, 3, 4, 5}, false, true},
    [CLVOX_TENSOR_MRTRIX] = {{0, 3, 5, 1, 2, 4}, false, false},
    [CLVOX_TENSOR_NIFTI] = {{0, 1, 3, 2, 4, 5}, true, false},
    [CLVOX_TENSOR_DIPY] = {{0, 1, 3, 2, 4, 5}, true, true},
};

/* NULL, with the message, where there is no such order. */
static const order *find_order(clvox_tensor_order number, const char *path)
{
    if ((unsigned)number < sizeof orders / sizeof *orders)
        return &orders[number];
    clvox_fail(CLVOX_ERROR_ARGUMENT, "%s: order %d of a tensor is not known", path, (int)number);
    return NULL;
}

/* Turning a voxel: frames change places, then axes turn. */
typedef struct turning {
    const float *from; /* may be to */
    float *to;
    size_t voxels, plane;
    int frames;
    int take[6], put[6]; /* files' frames of our components, on either side */
    double turn[3][3];
} turning;

static void turn_vector(const double turn[3][3], const double in[3], double out[3])
{
    for (int a = 0; a < 3; a++)
        out[a] = turn[a][0] * in[0] + turn[a][1] * in[1] + turn[a][2] * in[2];
}

/* R D R^T. */
static void turn_tensor(const double turn[3][3], const double in[6], double out[6])
{
    static const int entry[3][3] = {{0, 1, 2}, {1, 3, 4}, {2, 4, 5}};
    for (int a = 0; a < 3; a++) {
        double half[3];
        for (int b = 0; b < 3; b++)
            half[b] = turn[a][0] * in[entry[0][b]] + turn[a][1] * in[entry[1][b]] + turn[a][2] * in[entry[2][b]];
        for (int b = a; b < 3; b++)
            out[entry[a][b]] = half[0] * turn[b][0] + half[1] * turn[b][1] + half[2] * turn[b][2];
    }
}

static int turn_plane(void *user, size_t index, int worker)
{
    const turning *t = user;
    (void)worker;
    for (size_t i = index * t->plane; i < (index + 1) * t->plane; i++) {
        double in[6] = {0}, out[6] = {0};
        for (int c = 0; c < t->frames; c++)
            in[c] = (double)t->from[(size_t)t->take[c] * t->voxels + i];
        if (t->frames == 3)
            turn_vector(t->turn, in, out);
        else
            turn_tensor(t->turn, in, out);
        for (int c = 0; c < t->frames; c++)
            t->to[(size_t)t->put[c] * t->voxels + i] = (float)out[c];
    }
    return CLVOX_OK;
}

static int turn(turning *t, const clvox_grid *grid)
{
    t->voxels = clvox_grid_voxels(grid);
    t->plane = (size_t)grid->size[0] * (size_t)grid->size[1];
    return clvox_parallel((size_t)grid->size[2], turn_plane, t);
}

/* The identity, or the turn into or out of the axes of bvecs. */
static int choose_turn(const clvox_grid *grid, bool bvecs, bool out_of, double turn[3][3])
{
    double to_ras[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    int status = bvecs ? clv_bvec_to_ras(grid, to_ras) : CLVOX_OK;
    for (int a = 0; a < 3; a++)
        for (int b = 0; b < 3; b++)
            turn[a][b] = out_of ? to_ras[a][b] : to_ras[b][a];
    return status;
}

int clvox_tensor_read(const char *path, clvox_tensor_order order_, clvox_volume **out)
{
    CLV_GIVEN(path, out);
    int status;
    clv_volume_header header;
    clvox_volume *v = NULL;
    const order *o = find_order(order_, path);
    *out = NULL;
    if (!o)
        return CLVOX_ERROR_ARGUMENT;
    CLV_TRY(clv_volume_read(path, &header, &v));
    bool says = v->kind == CLVOX_KIND_TENSOR; /* NIfTI's or NRRD's symmetric matrix */
    if (v->frames != 6)
        status =
            clvox_fail(CLVOX_ERROR_DATA, "%s: a tensor has 6 volumes, this file has %d", path, v->frames);
    else if (order_ == CLVOX_TENSOR_AUTO && !says)
        status =
            clvox_fail(CLVOX_ERROR_DATA,
                       "%s: does not say in which order its 6 volumes hold a tensor; give --order fsl or "
                       "--order mrtrix",
                       path);
    else if (says && !o->matrix)
        status =
            clvox_fail(CLVOX_ERROR_DATA,
                       "%s: says that its order is NIfTI's for symmetric matrices; give --order nifti (in "
                       "RAS) or --order dipy (in the axes of the bvecs)",
                       path);
    if (status < 0)
        goto end;
    turning t = {.from = v->data, .to = v->data, .frames = 6};
    CLV_TRY(choose_turn(&v->grid, o->bvecs, true, t.turn));
    for (int c = 0; c < 6; c++) {
        /* The reader of volumes has put what says SYMMATRIX into our order. */
        t.take[says ? c : o->place[c]] = c;
        t.put[c] = c;
    }
    if (o->bvecs || !says)
        CLV_TRY(turn(&t, &v->grid));
    v->kind = CLVOX_KIND_TENSOR;
    v->type = CLVOX_TYPE_FLOAT32;
    v->frame_seconds = 0;
    *out = v;
    v = NULL;
end:
    clvox_volume_destroy(&v);
    return status;
}

int clvox_tensor_write(const clvox_volume *tensor, clvox_tensor_order order_, const char *path)
{
    CLV_GIVEN(tensor, path);
    int status;
    const order *o = find_order(order_, path);
    clvox_volume *v = NULL;
    if (!o)
        return CLVOX_ERROR_ARGUMENT;
    if (tensor->kind != CLVOX_KIND_TENSOR || tensor->frames != 6)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "%s: only a tensor can be written as one", path);
    CLV_TRY(clvox_volume_create(&tensor->grid, 6, o->matrix ? CLVOX_KIND_TENSOR : CLVOX_KIND_SCALAR, &v));
    turning t = {.from = tensor->data, .to = v->data, .frames = 6};
    CLV_TRY(choose_turn(&tensor->grid, o->bvecs, false, t.turn));
    for (int c = 0; c < 6; c++) {
        t.take[c] = c;
        /* As in reading: the writer reorders what becomes SYMMATRIX. */
        t.put[o->matrix ? c : o->place[c]] = c;
    }
    CLV_TRY(turn(&t, &v->grid));
    status = clvox_volume_write(v, path);
end:
    clvox_volume_destroy(&v);
    return status;
}

int clvox_vectors_write(const clvox_volume *vectors, int fsl, const char *path)
{
    CLV_GIVEN(vectors, path);
    int status;
    clvox_volume *v = NULL;
    if (vectors->frames != 3)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "%s: a vector has 3 frames, these have %d", path,
                          vectors->frames);
    CLV_TRY(clvox_volume_create(&vectors->grid, 3, CLVOX_KIND_VECTOR, &v));
    turning t = {.from = vectors->data, .to = v->data, .frames = 3, .take = {0, 1, 2}, .put = {0, 1, 2}};
    CLV_TRY(choose_turn(&vectors->grid, fsl, false, t.turn));
    CLV_TRY(turn(&t, &v->grid));
    status = clvox_volume_write(v, path);
end:
    clvox_volume_destroy(&v);
    return status;
}
