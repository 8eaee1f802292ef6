/* SPDX-License-Identifier: Apache-2.0 */
#include "clvox/filter.h"

#include "base/status.h"
#include "io/volume/labels.h"

#include <float.h>
#include <math.h>

#include "op/image/median.h"
#include "op/image/sobel.h"
#include "op/image/unsharp.h"
#include "runtime/device/host.h"
#include "runtime/device/watch.h"
#include "transform/field.h"

typedef enum filter_kind { GAUSSIAN, SOBEL, UNSHARP, MEDIAN } filter_kind;

typedef struct filter {
    filter_kind kind;
    float sigma[3];   /* voxels */
    float spacing[3]; /* mm */
    float amount;
    int radius[3]; /* voxels */
} filter;

static int filter_frame(clvox_context *ctx, const filter *f, const int size[3], const clv_buffer *in,
                        clv_buffer *tmp, clv_buffer *out)
{
    switch (f->kind) {
    case GAUSSIAN:
        return clv_gaussian(ctx, CLV_VOLUME(in, size), f->sigma, CLV_GAUSSIAN_AUTO, tmp, out);
    case SOBEL:
        return clv_sobel(ctx, CLV_VOLUME_MM(in, size, f->spacing), out);
    case UNSHARP:
        return clv_unsharp(ctx, CLV_VOLUME(in, size), f->sigma, f->amount, tmp, out);
    case MEDIAN:
        return clv_median_filter(ctx, CLV_VOLUME(in, size), f->radius, out);
    }
    return clvox_fail(CLVOX_ERROR_ARGUMENT, "filter %d is not known", (int)f->kind);
}

static int filter_volume(clvox_context *ctx, const filter *f, const clvox_volume *volume, clvox_volume **out)
{
    int status = CLVOX_OK;
    size_t voxels = clvox_grid_voxels(&volume->grid), bytes = voxels * sizeof(float);
    clv_buffer *in = NULL, *filtered = NULL, *tmp = NULL;
    clvox_volume *made = NULL;
    const clv_request requests[] = {
        {&in, bytes, "volume"},
        {&filtered, bytes, "filtered volume"},
        {&tmp, bytes, "volume smoothed in part"},
    };
    const int buffers = f->kind == SOBEL || f->kind == MEDIAN ? 2 : 3;
    CLV_TRY(clv_field_check(&volume->grid));
    CLV_TRY(clvox_volume_create(&volume->grid, volume->frames,
                                f->kind == SOBEL ? CLVOX_KIND_SCALAR : volume->kind, &made));
    made->frame_seconds = volume->frame_seconds;
    CLV_TRY(clv_pool_take(ctx, requests, buffers));
    for (size_t first = 0; first < voxels * (size_t)volume->frames; first += voxels) {
        CLV_TRY(clv_buffer_write(ctx, in, 0, volume->data + first, bytes));
        CLV_TRY(filter_frame(ctx, f, volume->grid.size, in, tmp, filtered));
        CLV_TRY(clv_buffer_read(ctx, filtered, 0, made->data + first, bytes));
        CLV_TRY(clv_watch_told(ctx, (double)(first + voxels) / (double)voxels / volume->frames));
    }
    *out = made;
    made = NULL;
end:
    clv_pool_release(requests, buffers);
    clvox_volume_destroy(&made);
    return status;
}

static int set_sigma(filter *f, const clvox_grid *grid, const double sigma[3], int in_voxels)
{
    double spacing[3];
    clvox_grid_spacing(grid, spacing);
    for (int a = 0; a < 3; a++) {
        double voxels = in_voxels ? sigma[a] : sigma[a] / spacing[a];
        if (!(voxels >= 0) || isinf(voxels))
            return clvox_fail(CLVOX_ERROR_ARGUMENT,
                              "a sigma of %g is no width of a Gaussian; give a finite length of at least 0",
                              sigma[a]);
        if (voxels > CLVOX_MAX_SIGMA)
            return clvox_fail(CLVOX_ERROR_ARGUMENT,
                              "a sigma of %g voxels along axis %d is too wide; give at most %d voxels",
                              voxels, a + 1, CLVOX_MAX_SIGMA);
        f->sigma[a] = (float)voxels;
    }
    return CLVOX_OK;
}

int clvox_filter_gaussian(clvox_context *context, const clvox_volume *volume, const double sigma[3],
                          int in_voxels, clvox_volume **out)
{
    CLV_GIVEN(context, volume, sigma, out);
    CLV_HOST_THREADS(context);
    CLV_WATCH(context, "filtering");
    int status = CLVOX_OK;
    filter f = {.kind = GAUSSIAN};
    *out = NULL;
    CLV_TRY(clv_labels_refuse(volume));
    CLV_TRY(set_sigma(&f, &volume->grid, sigma, in_voxels));
    CLV_TRY(filter_volume(context, &f, volume, out));
end:
    return status;
}

int clvox_filter_sobel(clvox_context *context, const clvox_volume *volume, clvox_volume **out)
{
    CLV_GIVEN(context, volume, out);
    CLV_HOST_THREADS(context);
    CLV_WATCH(context, "filtering");
    int status = CLVOX_OK;
    filter f = {.kind = SOBEL};
    double spacing[3];
    *out = NULL;
    CLV_TRY(clv_labels_refuse(volume));
    CLV_TRY(clv_field_check_angles(&volume->grid, "Sobel's operator"));
    clvox_grid_spacing(&volume->grid, spacing);
    for (int a = 0; a < 3; a++)
        f.spacing[a] = (float)spacing[a];
    CLV_TRY(filter_volume(context, &f, volume, out));
end:
    return status;
}

int clvox_filter_unsharp(clvox_context *context, const clvox_volume *volume, const double sigma[3],
                         int in_voxels, double amount, clvox_volume **out)
{
    CLV_GIVEN(context, volume, sigma, out);
    CLV_HOST_THREADS(context);
    CLV_WATCH(context, "filtering");
    int status = CLVOX_OK;
    filter f = {.kind = UNSHARP};
    *out = NULL;
    CLV_TRY(clv_labels_refuse(volume));
    if (!(fabs(amount) <= (double)FLT_MAX)) {
        status = clvox_fail(CLVOX_ERROR_ARGUMENT, "an amount of %g cannot be added; give a number such as 1",
                            amount);
        goto end;
    }
    f.amount = (float)amount;
    CLV_TRY(set_sigma(&f, &volume->grid, sigma, in_voxels));
    CLV_TRY(filter_volume(context, &f, volume, out));
end:
    return status;
}

int clvox_filter_median(clvox_context *context, const clvox_volume *volume, const int radius[3],
                        clvox_volume **out)
{
    CLV_GIVEN(context, volume, radius, out);
    CLV_HOST_THREADS(context);
    CLV_WATCH(context, "filtering");
    int status = CLVOX_OK;
    filter f = {.kind = MEDIAN, .radius = {radius[0], radius[1], radius[2]}};
    *out = NULL;
    CLV_TRY(clv_labels_refuse(volume));
    CLV_TRY(filter_volume(context, &f, volume, out));
end:
    return status;
}
