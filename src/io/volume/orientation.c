/* SPDX-License-Identifier: Apache-2.0 */
#include "io/volume/orientation.h"

#include <math.h>
#include <string.h>

#include "base/matrix.h"
#include "base/status.h"
#include "clvox/threads.h"
#include "io/volume/labels.h"
#include "io/volume/volume.h"

/* Cosines closer than this are equal: those of headers of single precision differ by 1e-7. */
static const double ROUNDING = 1e-5;

/* The direction of each axis as a unit vector, turned so that its component along
 * `world` is positive; where that is none, its first other one. */
static void direction(const clvox_grid *grid, const double spacing[3], int axis, int world, double out[3],
                      bool *flipped)
{
    double sign = 0;
    for (int i = 0; i < 3; i++)
        out[i] = grid->to_ras[i][axis] / spacing[axis];
    for (int k = 0; k < 3 && sign == 0; k++) {
        double c = out[(world + k) % 3];
        sign = c > ROUNDING ? 1 : c < -ROUNDING ? -1 : 0;
    }
    *flipped = sign < 0;
    for (int i = 0; i < 3 && sign < 0; i++)
        out[i] = -out[i];
}

/* Whether a is nearer to the world's axes than b; of two as near, the one whose
 * first axis leans more towards A, then S, and so on. */
static bool nearer(const double a[3][3], const double b[3][3])
{
    double sum = 0;
    for (int w = 0; w < 3; w++)
        sum += fabs(a[w][w]) - fabs(b[w][w]);
    if (fabs(sum) > ROUNDING)
        return sum > 0;
    for (int w = 0; w < 3; w++)
        for (int k = 1; k < 3; k++) {
            double more = a[w][(w + k) % 3] - b[w][(w + k) % 3];
            if (fabs(more) > ROUNDING)
                return more > 0;
        }
    return false;
}

void clv_orientation_of(const clvox_grid *grid, clv_orientation *o)
{
    static const int orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    double spacing[3], best[3][3] = {{0}};
    clvox_grid_spacing(grid, spacing);
    for (int k = 0; k < 6; k++) {
        clv_orientation trial;
        double directions[3][3];
        for (int w = 0; w < 3; w++) {
            trial.axis[w] = orders[k][w];
            direction(grid, spacing, trial.axis[w], w, directions[w], &trial.flipped[w]);
        }
        if (k > 0 && !nearer(CLV_MATRIX3(directions), CLV_MATRIX3(best)))
            continue;
        *o = trial;
        memcpy(best, directions, sizeof best);
    }
}

bool clv_orientation_same(const clv_orientation *o)
{
    bool same = true;
    for (int w = 0; w < 3; w++)
        same = same && o->axis[w] == w && !o->flipped[w];
    return same;
}

void clv_orientation_inverse(const clv_orientation *o, clv_orientation *inverse)
{
    clv_orientation back;
    for (int w = 0; w < 3; w++) {
        back.axis[o->axis[w]] = w;
        back.flipped[o->axis[w]] = o->flipped[w];
    }
    *inverse = back;
}

void clv_orientation_grid(const clvox_grid *grid, const clv_orientation *o, clvox_grid *out)
{
    const clvox_grid from = *grid;
    *out = from;
    for (int w = 0; w < 3; w++) {
        int a = o->axis[w];
        out->size[w] = from.size[a];
        for (int i = 0; i < 3; i++) {
            double step = from.to_ras[i][a];
            out->to_ras[i][w] = (o->flipped[w] ? -step : step) + 0.; /* no -0 */
        }
    }
    /* From the far corner along each axis of the world in turn, so that the order of the given axes,
     * which rounding would show, does not count. */
    for (int w = 0; w < 3; w++)
        for (int i = 0; i < 3 && o->flipped[w]; i++)
            out->to_ras[i][3] += (from.size[o->axis[w]] - 1) * from.to_ras[i][o->axis[w]];
}

clv_strides clv_orientation_strides(const int size[3], const clv_orientation *o)
{
    const ptrdiff_t step[3] = {1, size[0], (ptrdiff_t)size[0] * size[1]};
    clv_strides s = {.first = 0};
    for (int w = 0; w < 3; w++) {
        int a = o->axis[w];
        s.step[w] = o->flipped[w] ? -step[a] : step[a];
        s.first += o->flipped[w] ? (size[a] - 1) * step[a] : 0;
    }
    return s;
}

typedef struct work {
    const clvox_volume *from;
    clvox_volume *to;
    clv_strides strides;
} work;

/* One plane of one frame. */
static int move(void *user, size_t index, int worker)
{
    const work *w = user;
    const int *size = w->to->grid.size;
    const ptrdiff_t *step = w->strides.step;
    size_t frame = index / (size_t)size[2], z = index % (size_t)size[2];
    const float *from = w->from->data + frame * clvox_grid_voxels(&w->from->grid) + w->strides.first +
                        (ptrdiff_t)z * step[2];
    float *to = w->to->data + index * (size_t)size[0] * (size_t)size[1];
    (void)worker;
    for (int y = 0; y < size[1]; y++)
        for (int x = 0; x < size[0]; x++)
            *to++ = from[y * step[1] + x * step[0]];
    return CLVOX_OK;
}

int clv_orientation_volume(const clvox_volume *volume, const clv_orientation *o, const clvox_grid *grid,
                           clvox_volume **out)
{
    int status = CLVOX_OK;
    clvox_grid own;
    clvox_volume *made = NULL;
    *out = NULL;
    clv_orientation_grid(&volume->grid, o, &own);
    CLV_TRY(clv_volume_room(grid ? grid : &own, volume->frames, volume->kind, &made));
    made->type = volume->type;
    made->frame_seconds = volume->frame_seconds;
    made->flow = volume->flow;
    made->hint = volume->hint;
    if (volume->names)
        CLV_TRY(clv_labels_copy_names(volume, NULL, made));
    work w = {volume, made, clv_orientation_strides(volume->grid.size, o)};
    CLV_TRY(clvox_parallel((size_t)made->frames * (size_t)made->grid.size[2], move, &w));
    *out = made;
    made = NULL;
end:
    clvox_volume_destroy(&made);
    return status;
}

int clv_orientation_replace(const clv_orientation *o, const clvox_grid *grid, clvox_volume **volume)
{
    clvox_volume *made;
    if (!*volume || clv_orientation_same(o))
        return CLVOX_OK;
    const int status = clv_orientation_volume(*volume, o, grid, &made);
    if (status < 0)
        return status;
    clvox_volume_destroy(volume);
    *volume = made;
    return CLVOX_OK;
}

int clv_orientation_show(const clvox_grid *shown, clvox_volume **volume)
{
    clv_orientation o, back;
    clv_orientation_of(shown, &o);
    clv_orientation_inverse(&o, &back);
    return clv_orientation_replace(&back, shown, volume);
}

void clvox_grid_canonical(const clvox_grid *grid, clvox_grid *out)
{
    CLV_GIVEN_OR(, grid, out);
    clv_orientation ras;
    clv_orientation_of(grid, &ras);
    clv_orientation_grid(grid, &ras, out);
}
