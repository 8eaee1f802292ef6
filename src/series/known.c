/* SPDX-License-Identifier: Apache-2.0 */
/* The voxels of a frame by which motion is judged. Near the border of the field of view smoothing and
 * interpolation go on with the outermost value, which stays with the scanner while the head moves: such
 * voxels, and those beside NaN, hold frames back. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "series/series.h"

/* Outer layers of one value are padding where at least this share of the next layer differs from it: a head
 * that is whole ends in air, or in a layer that it hardly fills. */
static const double CUT = .25;

/* A layer of voxels across an axis. */
typedef struct layer {
    const float *values;
    const int *size;
    int axis;
} layer;

static size_t stride_of(const int size[3], int axis)
{
    size_t stride = 1;
    for (int a = 0; a < axis; a++)
        stride *= (size_t)size[a];
    return stride;
}

/* Share of the voxels of layer i that do not have the value; NaN counts as having it. */
static double share_unlike(const layer *l, int i, float value)
{
    const size_t along = stride_of(l->size, l->axis), whole = along * (size_t)l->size[l->axis],
                 all = (size_t)l->size[0] * (size_t)l->size[1] * (size_t)l->size[2];
    size_t unlike = 0;
    for (size_t block = (size_t)i * along; block < all; block += whole)
        for (size_t k = block; k < block + along; k++)
            unlike += isfinite(l->values[k]) && l->values[k] != value;
    return (double)unlike * l->size[l->axis] / (double)all;
}

/* A finite value of layer i; NaN: there is none. */
static float value_in(const layer *l, int i)
{
    const size_t along = stride_of(l->size, l->axis), whole = along * (size_t)l->size[l->axis],
                 all = (size_t)l->size[0] * (size_t)l->size[1] * (size_t)l->size[2];
    for (size_t block = (size_t)i * along; block < all; block += whole)
        for (size_t k = block; k < block + along; k++)
            if (isfinite(l->values[k]))
                return l->values[k];
    return NAN;
}

/* How many outer layers of one value there are from one end of an axis on; 0 where they are air. */
static int padding(const layer *l, bool from_end)
{
    const int n = l->size[l->axis], step = from_end ? -1 : 1;
    int i = from_end ? n - 1 : 0, count = 0;
    float value = NAN;
    double unlike = 0;
    for (; count < n; i += step, count++) {
        if (isnan(value))
            value = value_in(l, i);
        unlike = share_unlike(l, i, value);
        if (unlike > 0)
            break;
    }
    return count < n && unlike >= CUT ? count : 0;
}

static void clear_layers(const int size[3], int axis, int first, int end, float *known)
{
    const size_t along = stride_of(size, axis), whole = along * (size_t)size[axis],
                 all = (size_t)size[0] * (size_t)size[1] * (size_t)size[2];
    for (size_t block = 0; block < all; block += whole)
        for (size_t k = block + (size_t)first * along; k < block + (size_t)end * along; k++)
            known[k] = 0;
}

bool clv_series_shown(const clvox_volume *frame, float *known)
{
    const int *size = frame->grid.size;
    bool whole = true;
    const size_t n = clvox_grid_voxels(&frame->grid);
    for (size_t k = 0; k < n; k++) {
        known[k] = isfinite(frame->data[k]);
        whole = whole && known[k] > 0;
    }
    for (int a = 0; a < 3; a++) {
        const layer l = {frame->data, size, a};
        const int before = size[a] > 1 ? padding(&l, false) : 0, after = size[a] > 1 ? padding(&l, true) : 0;
        clear_layers(size, a, 0, before, known);
        clear_layers(size, a, size[a] - after, size[a], known);
        whole = whole && !before && !after;
    }
    return whole;
}

/* Along one axis: 0 also within reach of a voxel of 0, and of the border. before: room for a line. */
static void shrink(const int size[3], int axis, int reach, float *known, float *before)
{
    const size_t along = stride_of(size, axis), whole = along * (size_t)size[axis],
                 all = (size_t)size[0] * (size_t)size[1] * (size_t)size[2];
    const int n = size[axis];
    for (size_t block = 0; block < all; block += whole)
        for (size_t k = block; k < block + along; k++) {
            int last = -1, next = n;
            for (int i = 0; i < n; i++)
                before[i] = known[k + (size_t)i * along];
            for (int i = 0; i < n; i++) {
                last = before[i] > 0 ? last : i;
                if (i - last <= reach)
                    known[k + (size_t)i * along] = 0;
            }
            for (int i = n - 1; i >= 0; i--) {
                next = before[i] > 0 ? next : i;
                if (next - i <= reach)
                    known[k + (size_t)i * along] = 0;
            }
        }
}

int clv_series_shrink(const int size[3], const int reach[3], float *known)
{
    const int longest =
        size[0] > size[1] ? (size[0] > size[2] ? size[0] : size[2]) : (size[1] > size[2] ? size[1] : size[2]);
    float *line = malloc((size_t)longest * sizeof *line);
    if (!line)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    for (int a = 0; a < 3; a++)
        if (reach[a] > 0)
            shrink(size, a, reach[a], known, line);
    free(line);
    return CLVOX_OK;
}
