/* SPDX-License-Identifier: Apache-2.0 */
#include "clvox/volume.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/matrix.h"
#include "base/spares.h"
#include "base/status.h"
#include "io/volume/labels.h"
#include "io/volume/store.h"
#include "io/volume/volume.h"

size_t clvox_grid_voxels(const clvox_grid *grid)
{
    CLV_GIVEN_OR(0, grid);
    return (size_t)grid->size[0] * (size_t)grid->size[1] * (size_t)grid->size[2];
}

void clvox_grid_spacing(const clvox_grid *grid, double spacing[3])
{
    CLV_GIVEN_OR(, grid, spacing);
    for (int j = 0; j < 3; j++) {
        double sum = 0;
        for (int i = 0; i < 3; i++)
            sum += grid->to_ras[i][j] * grid->to_ras[i][j];
        spacing[j] = sqrt(sum);
    }
}

int clvox_grid_equal(const clvox_grid *a, const clvox_grid *b)
{
    CLV_GIVEN_OR(0, a, b);
    double to_a[4][4], step[4][4];
    if (memcmp(a->size, b->size, sizeof a->size))
        return 0;
    if (clv_matrix_invert(a->to_ras, to_a) < 0)
        return 0;
    clv_matrix_multiply(CLV_MATRIX(to_a), b->to_ras, step);
    for (int corner = 0; corner < 8; corner++) {
        double x[3], y[3];
        for (int i = 0; i < 3; i++)
            x[i] = (corner >> i & 1) ? a->size[i] - 0.5 : -0.5;
        clv_matrix_apply(CLV_MATRIX(step), x, y);
        for (int i = 0; i < 3; i++)
            if (!(fabs(y[i] - x[i]) <= 0.01))
                return 0;
    }
    return 1;
}

/* How many values there are; fails where there can be no such volume. */
static int count_values(const clvox_grid *grid, int frames, size_t *values)
{
    size_t voxels;
    for (int i = 0; i < 3; i++)
        if (grid->size[i] < 1)
            return clvox_fail(CLVOX_ERROR_ARGUMENT, "a volume of %d x %d x %d voxels cannot be made",
                              grid->size[0], grid->size[1], grid->size[2]);
    if (frames < 1)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "a volume of %d frames cannot be made", frames);
    if (!clv_matrix_regular(grid->to_ras))
        return clvox_fail(CLVOX_ERROR_ARGUMENT,
                          "a volume cannot be made on a grid whose matrix is singular or not finite");
    if (__builtin_mul_overflow((size_t)grid->size[0] * (size_t)grid->size[1], (size_t)grid->size[2],
                               &voxels) ||
        __builtin_mul_overflow(voxels, (size_t)frames, values) || *values > SIZE_MAX / 8 / sizeof(float))
        return clvox_fail(CLVOX_ERROR_MEMORY,
                          "a volume of %d x %d x %d voxels and %d frames exceeds any memory", grid->size[0],
                          grid->size[1], grid->size[2], frames);
    return CLVOX_OK;
}

int clvox_volume_wrap(float *data, const clvox_grid *grid, int frames, clvox_kind kind, clvox_volume **out)
{
    CLV_GIVEN(data, grid, out);
    size_t values = 0;
    *out = NULL;
    const int status = count_values(grid, frames, &values);
    if (status < 0)
        return status;
    clvox_volume *volume = calloc(1, sizeof *volume);
    if (!volume)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    volume->grid = *grid;
    volume->frames = frames;
    volume->kind = kind;
    volume->data = data;
    volume->borrowed = 1;
    *out = volume;
    return CLVOX_OK;
}

static int create(const clvox_grid *grid, int frames, clvox_kind kind, void *(*take)(size_t bytes),
                  clvox_volume **out)
{
    size_t values = 0;
    *out = NULL;
    const int status = count_values(grid, frames, &values);
    if (status < 0)
        return status;
    clvox_volume *volume = calloc(1, sizeof *volume);
    float *data = take(values * sizeof(float));
    if (!volume || !data) {
        free(volume);
        free(data);
        return clvox_fail(CLVOX_ERROR_MEMORY,
                          "out of memory: a volume of %d x %d x %d voxels and %d frames takes %.1f GB",
                          grid->size[0], grid->size[1], grid->size[2], frames, (double)values * 4e-9);
    }
    volume->grid = *grid;
    volume->frames = frames;
    volume->kind = kind;
    volume->data = data;
    *out = volume;
    return CLVOX_OK;
}

int clvox_volume_create(const clvox_grid *grid, int frames, clvox_kind kind, clvox_volume **out)
{
    CLV_GIVEN(grid, out);
    return create(grid, frames, kind, clv_large_zeros, out);
}

int clv_volume_room(const clvox_grid *grid, int frames, clvox_kind kind, clvox_volume **out)
{
    return create(grid, frames, kind, clv_large, out);
}

int clvox_volume_frame(const clvox_volume *series, int at, clvox_volume **out)
{
    CLV_GIVEN(series, out);
    *out = NULL;
    if (!series->data)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "there is no series");
    if (series->kind != CLVOX_KIND_SCALAR && series->kind != CLVOX_KIND_LABEL)
        return clvox_fail(CLVOX_ERROR_ARGUMENT,
                          "its volumes are components of one image, not frames in time");
    if (at < 0 || at >= series->frames)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "there is no frame %d: it has %d, counted from 0", at,
                          series->frames);
    const size_t voxels = clvox_grid_voxels(&series->grid);
    int status = clv_volume_room(&series->grid, 1, series->kind, out);
    if (status < 0)
        return status;
    memcpy((*out)->data, series->data + (size_t)at * voxels, voxels * sizeof(float));
    (*out)->type = series->type;
    (*out)->stored = series->stored;
    (*out)->hint = series->hint;
    status = clv_labels_copy_names(series, NULL, *out);
    if (status < 0)
        clvox_volume_destroy(out);
    return status;
}

void clvox_volume_destroy(clvox_volume **volume)
{
    if (!volume || !*volume)
        return;
    if ((*volume)->store)
        clv_store_release(*volume);
    if (!(*volume)->borrowed)
        clv_large_free((*volume)->data);
    free((*volume)->names);
    free(*volume);
    *volume = NULL;
}
