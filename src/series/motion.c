/* SPDX-License-Identifier: Apache-2.0 */
/* Report of the motion in a series: parameters, displacements, outliers. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/matrix.h"
#include "base/select.h"
#include "base/status.h"
#include "series/series.h"

/* Jenkinson's ball, as FSL has it. */
static const double BALL_MM = 80;
/* A frame is unlike the others of its shell where it lies so many robust standard deviations below their
 * median, and by more than a share of that: of series without noise the deviation is next to nothing. */
static const double DEVIATIONS = 5, LEAST_SHARE = .02;
enum { LEAST_FRAMES = 5 };

double clv_series_rms(const double a[4][4], const double b[4][4], const double center[3], double radius)
{
    double square = 0, turns = 0;
    for (int i = 0; i < 3; i++) {
        double shift = a[i][3] - b[i][3];
        for (int j = 0; j < 3; j++) {
            double d = a[i][j] - b[i][j];
            shift += d * center[j];
            turns += d * d;
        }
        square += shift * shift;
    }
    return sqrt(square + radius * radius / 5 * turns);
}

/* Sorts them. */
static double median(double *values, int count)
{
    qsort(values, (size_t)count, sizeof *values, clv_ascending);
    return .5 * (values[(count - 1) / 2] + values[count / 2]);
}

static bool takes_part(const clvox_series_frame *f)
{
    return !(f->flags & CLVOX_FRAME_EMPTY) && isfinite(f->likeness);
}

static void find_unlike(const int *shell, int which, clvox_series_result *r, double *values)
{
    int count = 0;
    for (int i = 0; i < r->frames; i++)
        if (shell[i] == which && takes_part(&r->frame[i]))
            values[count++] = r->frame[i].likeness;
    if (count < LEAST_FRAMES)
        return;
    double middle = median(values, count);
    for (int i = 0; i < count; i++)
        values[i] = fabs(values[i] - middle);
    double least = middle - fmax(DEVIATIONS * 1.4826 * median(values, count), LEAST_SHARE * fabs(middle));
    for (int i = 0; i < r->frames; i++)
        if (shell[i] == which && takes_part(&r->frame[i]) && r->frame[i].likeness < least)
            r->frame[i].flags |= CLVOX_FRAME_UNLIKE;
}

/* Since the frame `before` (NULL: there is none). */
static void displace(const clvox_series_options *o, const clvox_series_frame *before, const double center[3],
                     clvox_series_frame *f)
{
    double identity[4][4];
    clv_matrix_identity(identity);
    f->rms_reference_mm = clv_series_rms(CLV_MATRIX(f->matrix), CLV_MATRIX(identity), center, BALL_MM);
    f->framewise_mm = f->rms_mm = NAN;
    if (!before || f->flags & CLVOX_FRAME_EMPTY)
        return;
    /* From a place in the head, where it is in one frame to where it is in the other: over the reference, the
     * ball of which lies in both. */
    f->rms_mm = clv_series_rms(CLV_MATRIX(f->matrix), CLV_MATRIX(before->matrix), center, BALL_MM);
    f->framewise_mm = 0;
    for (int a = 0; a < 3; a++)
        f->framewise_mm += fabs(f->shift_mm[a] - before->shift_mm[a]) +
                           o->head_mm * fabs(f->rotation[a] - before->rotation[a]);
    if (f->framewise_mm > o->outlier_mm)
        f->flags |= CLVOX_FRAME_MOVED;
}

int clv_series_motion(const clvox_series_options *o, const clvox_grid *grid, const int *shell, int shells,
                      clvox_series_result *r)
{
    const clvox_series_frame *before = NULL;
    int steps = 0;
    double sum = 0, *values = malloc((size_t)r->frames * sizeof *values);
    if (!values)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    for (int a = 0; a < 3; a++)
        r->center[a] = .5 * (grid->size[a] - 1);
    clv_matrix_apply(grid->to_ras, r->center, r->center);
    for (int i = 0; i < r->frames; i++) {
        clvox_series_frame *f = &r->frame[i];
        clvox_affine_parts parts = {.scale = {1, 1, 1}};
        clvox_affine_take_apart(CLV_MATRIX(f->matrix), grid, &parts);
        for (int a = 0; a < 3; a++) {
            f->shift_mm[a] = parts.shift_mm[a];
            f->rotation[a] = parts.rotation_degrees[a] * M_PI / 180;
        }
        displace(o, before, r->center, f);
        if (!(f->flags & CLVOX_FRAME_EMPTY))
            before = f;
        if (!isfinite(f->framewise_mm))
            continue;
        steps++;
        sum += f->framewise_mm;
        r->largest_framewise_mm = fmax(r->largest_framewise_mm, f->framewise_mm);
    }
    r->mean_framewise_mm = steps ? sum / steps : 0;
    for (int k = 0; k < shells; k++)
        find_unlike(shell, k, r, values);
    for (int i = 0; i < r->frames; i++) {
        r->empty += !!(r->frame[i].flags & CLVOX_FRAME_EMPTY);
        r->moved += !!(r->frame[i].flags & CLVOX_FRAME_MOVED);
        r->unlike += !!(r->frame[i].flags & CLVOX_FRAME_UNLIKE);
    }
    free(values);
    return CLVOX_OK;
}
