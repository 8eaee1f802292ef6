/* SPDX-License-Identifier: Apache-2.0 */
#include "op/image/recursive.h"

#include <complex.h>

static const clv_variant x_variants[] = {
    {.name = "tile", .function = "recursive_tile", .devices = CLV_ON_GPU,
     .fixed_bytes = 2 * 64 * 33 * 4, .tiles = {{64, 1, 1, 1}, {32, 1, 1, 1}}},
    {.name = "lines", .function = "recursive_lines", .devices = CLV_ON_GPU,
     .tiles = {{64, 1, 1, 1}, {1, 1, 1, 1}}},
    {.name = "row", .function = "recursive_x_row", .defines = "-DROWS=1", .item = {8, CLV_WHOLE},
     .devices = CLV_ON_CPU, .tiles = {{1, 1, 1, 1}}},
};

static const clv_variant axis_variants[] = {
    {.name = "lines", .function = "recursive_lines", .devices = CLV_ON_GPU,
     .tiles = {{64, 1, 1, 1}, {128, 1, 1, 1}, {1, 1, 1, 1}}},
    {.name = "row", .function = "recursive_axis_row", .defines = "-DROWS=1", .item = {64},
     .devices = CLV_ON_CPU, .tiles = {{1, 1, 1, 1}}},
};

const clv_entry clv_entry_recursive_x = CLV_ENTRY("image/recursive", "recursive_x", x_variants, NULL);
const clv_entry clv_entry_recursive_axis = CLV_ENTRY("image/recursive", "recursive_axis", axis_variants,
                                                     NULL);

typedef struct poles {
    float p[4], c[4], start[4];
} poles;

/* Deriche's fit of the right half of the Gaussian,
 *   sum (A cos(w i / sigma) + B sin(w i / sigma)) exp(-b i / sigma),
 * scaled so that a constant stays what it is with the poles as rounded. */
static void set_poles(float sigma, poles *g)
{
    static const double b[2] = {1.783, 1.723}, w[2] = {0.6318, 1.997};
    static const double a[2][2] = {{1.680, 3.735}, {-0.6803, -0.2598}};
    double total = 0;
    for (int k = 0; k < 2; k++) {
        double complex p = cexp((-b[k] + I * w[k]) / (double)sigma);
        g->p[2 * k] = (float)creal(p);
        g->p[2 * k + 1] = (float)cimag(p);
        p = (double)g->p[2 * k] + I * (double)g->p[2 * k + 1];
        double complex start = 1 / (1 - p);
        g->start[2 * k] = (float)creal(start);
        g->start[2 * k + 1] = (float)cimag(start);
        total += creal((a[k][0] - I * a[k][1]) * (1 + p) * start);
    }
    for (int k = 0; k < 4; k++)
        g->c[k] = (float)(a[k / 2][k % 2] / total);
}

int clv_recursive(clvox_context *ctx, const clv_buffer *in, const int size[3], bool vectors, int axis,
                  float sigma, clv_buffer *out)
{
    int status = CLVOX_OK;
    const clv_kernel *kernel;
    const clv_entry *entry = axis ? &clv_entry_recursive_axis : &clv_entry_recursive_x;
    poles g;
    set_poles(sigma, &g);
    /* Packed components are part of the row, planar ones volumes behind one another. */
    bool packed = vectors && clv_fields_packed(ctx);
    int inner = packed ? 3 : 1, volumes = vectors && !packed ? 3 : 1, n = size[axis];
    for (int a = 0; a < axis; a++)
        inner *= size[a];
    int outer = volumes;
    for (int a = axis + 1; a < 3; a++)
        outer *= size[a];
    CLV_TRY(clv_kernel_get(ctx, entry, NULL, size, 0, &kernel));
    /* Lines side by side: along x those of the rows, then a row's components. */
    const int across[3] = {axis ? inner : outer, axis ? outer : inner, 1};
    CLV_TRY(CLV_LAUNCH(ctx, kernel, across, 8.0 * inner * n * outer, CLV_BUF(in), CLV_BUF(out),
                       CLV_INT4(inner, n, outer, axis), (clv_arg){sizeof g, &g, NULL}));
end:
    return status;
}

const clv_entry *const clv_operation_image_recursive[] = {
    &clv_entry_recursive_x, &clv_entry_recursive_axis, NULL};
