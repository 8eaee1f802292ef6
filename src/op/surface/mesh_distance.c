/* SPDX-License-Identifier: Apache-2.0 */
#include "op/surface/mesh_distance.h"

#include <math.h>

#include "base/matrix.h"
#include "op/map.h"

static const clv_variant variants[] = {
    {.name = "item",
     .function = "mesh_distance_item",
     .defines = "-DRECORD=" CLV_TEXT(CLV_MESH_RECORD),
     .item = {CLV_MARCH},
     .devices = CLV_ON_GPU,
     .tiles = {{64, 1, 1, 1}, {128, 1, 1, 1}, {32, 1, 1, 1}, {1, 1, 1, 1}}},
    {.name = "cell",
     .function = "mesh_distance_cell",
     .defines = "-DRECORD=" CLV_TEXT(CLV_MESH_RECORD),
     .item = {CLV_MARCH},
     .devices = CLV_ON_CPU,
     .tiles = {{1, 1, 1, 8}}},
};
const clv_entry clv_entry_mesh_distance = CLV_ENTRY("surface/mesh_distance", "mesh_distance", variants, NULL);

static double dot(const double a[3], const double b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/* 0 for a length that float32 cannot invert: the edge counts as its start. */
static float inverse(double squared)
{
    return squared > 1e-30 ? (float)(1 / squared) : 0;
}

void clv_mesh_record(const double corners[9], const double origin[3], float record[CLV_MESH_RECORD])
{
    double ab[3], ac[3], bc[3], n[3], u[3], v[3];
    for (int k = 0; k < 3; k++) {
        ab[k] = corners[3 + k] - corners[k];
        ac[k] = corners[6 + k] - corners[k];
        bc[k] = ac[k] - ab[k];
    }
    clv_cross(ab, ac, n);
    clv_cross(ac, n, u);
    clv_cross(n, ab, v);
    double nn = dot(n, n), length = sqrt(nn);
    double longest = fmax(fmax(dot(ab, ab), dot(ac, ac)), dot(bc, bc));
    /* So flat that the weights cannot be told from rounding: its edges say all. */
    bool flat = !(length > 1e-12 * longest) || !(length > 1e-25);
    for (int k = 0; k < 3; k++) {
        record[k] = (float)(corners[k] - origin[k]);
        record[3 + k] = flat ? 0 : (float)(n[k] / length);
        record[6 + k] = flat ? 0 : (float)(u[k] / nn);
        record[9 + k] = flat ? 0 : (float)(v[k] / nn);
        record[12 + k] = (float)ab[k];
        record[16 + k] = (float)ac[k];
        record[21 + k] = 0;
    }
    record[15] = inverse(dot(ab, ab));
    record[19] = inverse(dot(ac, ac));
    record[20] = inverse(dot(bc, bc));
}

int clv_mesh_distance(clvox_context *ctx, const clv_mesh_cells *cells, clv_buffer *squared,
                      clv_buffer *nearest)
{
    int status = CLVOX_OK;
    const clv_kernel *kernel;
    const int size[3] = {8 * cells->count, 1, 1};
    if (cells->count < 1)
        return CLVOX_OK;
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_mesh_distance, NULL, size, 0, &kernel));
    CLV_TRY(CLV_LAUNCH(ctx, kernel, size,
                       (double)cells->list->bytes + (double)cells->triangles->bytes + 80.0 * cells->count,
                       CLV_BUF(cells->triangles), CLV_BUF(cells->cells), CLV_BUF(cells->list),
                       CLV_ROWS4(cells->to_position), CLV_INT(cells->count), CLV_BUF(squared),
                       CLV_BUF(nearest)));
end:
    return status;
}

const clv_entry *const clv_operation_surface_mesh_distance[] = {
    &clv_entry_mesh_distance, NULL};
