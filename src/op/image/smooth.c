/* SPDX-License-Identifier: Apache-2.0 */
#include "op/image/smooth.h"

#include <math.h>
#include <stdio.h>

#include "op/image/gaussian.h"

/* Local memory of march: the planes before and after the pass along x, of up
 * to three components and two rows a work-item, and an integer a work-item. */
static const clv_variant variants[] = {
    {.name = "march", .function = "smooth_march", .item = {1, 2, CLV_MARCH},
     .most_groups = CLV_SMOOTH_PARTIALS, .devices = CLV_ON_GPU,
     .halo = {4, 2, 0}, .cell_bytes = 2 * 2 * 3 * 4 + 4, .planes = 1,
     .tiles = {{32, 4, 1, 16}, {32, 2, 1, 16}, {64, 2, 1, 16}, {32, 4, 1, 8}}},
    {.name = "row", .function = "smooth_row", .defines = "-DROW_FORM=1", .item = {576, 16, CLV_MARCH},
     .most_groups = CLV_SMOOTH_PARTIALS,
     .devices = CLV_ON_CPU, .tiles = {{1, 1, 1, 48}}},
};

static const clv_variant longest_variants[] = {
    {.name = "group", .function = "smooth_longest", .group = {CLV_WHOLE}, .devices = CLV_ON_GPU,
     .fixed_bytes = 256 * 4, .tiles = {{256, 1, 1, 1}, {64, 1, 1, 1}}},
    {.name = "item", .function = "smooth_longest", .group = {CLV_WHOLE}, .devices = CLV_ON_ANY,
     .fixed_bytes = 4, .tiles = {{1, 1, 1, 1}}},
};

static const char *const builds[] = {"-DCOMPONENTS=3 -DRADIUS_X=3 -DRADIUS_Y=3 -DRADIUS_Z=3",
                                     "-DCOMPONENTS=1 -DRADIUS_X=0 -DRADIUS_Y=1 -DRADIUS_Z=2", NULL};
static const char *const longest_builds[] = {"-DLAST=1", NULL};

const clv_entry clv_entry_smooth = CLV_ENTRY("image/smooth", "smooth", variants, builds);
const clv_entry clv_entry_smooth_longest = CLV_ENTRY("image/smooth", "smooth_longest", longest_variants,
                                                     longest_builds);

bool clv_smooth_takes(const float sigma[3])
{
    for (int a = 0; a < 3; a++)
        if (!(sigma[a] >= 0 && 3 * sigma[a] <= CLV_SMOOTH_MAX_RADIUS))
            return false;
    return true;
}

int clv_smooth(clvox_context *ctx, const clv_image *in, const float sigma[3], clv_buffer *out,
               const clv_longest *longest)
{
    const int *size = in->size;
    const bool vectors = in->components == 3;
    int status = CLVOX_OK, radius[3];
    const clv_kernel *kernel, *last;
    char build[80];
    float weights[3][CLV_GAUSSIAN_MAX_RADIUS + 1] = {{1}, {1}, {1}};
    if (!clv_smooth_takes(sigma))
        return clvox_fail(CLVOX_ERROR_ARGUMENT,
                          "short Gaussian: widths %g, %g, %g are not all between 0 and 1 voxel; "
                          "use the separable one",
                          (double)sigma[0], (double)sigma[1], (double)sigma[2]);
    for (int a = 0; a < 3; a++) {
        radius[a] = sigma[a] > 0 && size[a] > 1 ? clv_gaussian_radius(sigma[a]) : 0;
        if (radius[a])
            clv_gaussian_weights(sigma[a], weights[a]);
    }
    snprintf(build, sizeof build, "-DCOMPONENTS=%d -DRADIUS_X=%d -DRADIUS_Y=%d -DRADIUS_Z=%d",
             vectors ? 3 : 1, radius[0], radius[1], radius[2]);
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_smooth, build, size, 0, &kernel));
    static const float none[3] = {0, 0, 0};
    const float *scale = longest ? longest->scale : none;
    /* In floats of a row, of which packed vectors take three. */
    const int launch[3] = {size[0] * (vectors && clv_fields_packed(ctx) ? 3 : 1), size[1], size[2]};
    int count = clv_launch_groups(kernel, launch, NULL);
    double moved = (vectors ? 24.0 : 8.0) * size[0] * size[1] * size[2];
    CLV_TRY(CLV_LAUNCH(ctx, kernel, launch, moved, CLV_BUF(in->buffer), CLV_BUF(out),
                       CLV_INT4(size[0], size[1], size[2], 0), CLV_FLOAT4V(weights[0]),
                       CLV_FLOAT4V(weights[1]), CLV_FLOAT4V(weights[2]),
                       CLV_FLOAT4(scale[0], scale[1], scale[2], longest ? 1 : 0),
                       CLV_BUF(longest ? longest->partial : NULL)));
    if (longest) {
        const int line[3] = {count, 1, 1};
        CLV_TRY(clv_kernel_get(ctx, &clv_entry_smooth_longest, longest_builds[0], line, 0, &last));
        CLV_TRY(CLV_LAUNCH(ctx, last, line, 4.0 * count, CLV_BUF(longest->partial), CLV_INT(count),
                           CLV_BUF(longest->state), CLV_INT(longest->slot)));
    }
end:
    return status;
}

const clv_entry *const clv_operation_image_smooth[] = {
    &clv_entry_smooth, &clv_entry_smooth_longest, NULL};
