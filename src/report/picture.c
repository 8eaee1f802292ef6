/* SPDX-License-Identifier: Apache-2.0 */
#include "report/picture.h"

#include <math.h>
#include <stdlib.h>

#include "base/matrix.h"
#include "base/select.h"
#include "base/status.h"
#include "io/volume/orientation.h"

int clv_picture_open(clv_picture *p, const clvox_volume *volume)
{
    p->volume = volume;
    p->low = p->threshold = 0;
    p->high = 1;
    int status = clv_matrix_invert(volume->grid.to_ras, p->from_ras);
    return status < 0 ? clvox_fail_in(status, "the figure") : status;
}

int clv_picture_open_upright(clv_picture *p, const clvox_volume *volume, clvox_volume **own)
{
    clv_orientation o;
    if (!volume)
        return CLVOX_OK;
    clv_orientation_of(&volume->grid, &o);
    const int status = clv_orientation_same(&o) ? CLVOX_OK : clv_orientation_volume(volume, &o, NULL, own);
    return status < 0 ? status : clv_picture_open(p, *own ? *own : volume);
}

double clv_picture_grey(const clv_picture *p, double value)
{
    return isfinite(value) ? (value - p->low) / (p->high - p->low) : 0;
}

/* The voxel below x and the weight of the one above, on an axis of n voxels;
 * false beyond the outer half voxels. */
static bool locate(double x, int n, int *low, int *high, double *weight)
{
    if (!(x >= -0.5 && x <= n - 0.5))
        return false;
    x = fmin(fmax(x, 0), n - 1);
    *low = (int)x;
    *high = *low + 1 < n ? *low + 1 : *low;
    *weight = x - *low;
    return true;
}

/* The eight voxels round a world position with their weights. */
static bool corners(const clv_picture *p, const double ras[3], float values[8], double weights[8])
{
    const int *n = p->volume->grid.size;
    int at[3][2];
    double w[3], voxel[3];
    clv_matrix_apply(CLV_MATRIX(p->from_ras), ras, voxel);
    for (int a = 0; a < 3; a++) {
        /* A plane of voxel centres must not be missed by the last bit. */
        if (fabs(voxel[a] - nearbyint(voxel[a])) < 1e-6)
            voxel[a] = nearbyint(voxel[a]);
        if (!locate(voxel[a], n[a], &at[a][0], &at[a][1], &w[a]))
            return false;
    }
    for (int c = 0; c < 8; c++) {
        size_t x = at[0][c & 1], y = at[1][c >> 1 & 1], z = at[2][c >> 2];
        values[c] = p->volume->data[(z * n[1] + y) * n[0] + x];
        weights[c] = (c & 1 ? w[0] : 1 - w[0]) * (c & 2 ? w[1] : 1 - w[1]) * (c & 4 ? w[2] : 1 - w[2]);
    }
    return true;
}

double clv_picture_sample(const clv_picture *p, const double ras[3])
{
    float values[8];
    double weights[8], sum = 0;
    if (!corners(p, ras, values, weights))
        return NAN;
    for (int c = 0; c < 8; c++)
        if (weights[c] > 0)
            sum += weights[c] * values[c];
    return sum;
}

int clv_picture_label(const clv_picture *p, const double ras[3])
{
    float values[8];
    double weights[8], most = 0;
    int label = 0;
    if (!corners(p, ras, values, weights))
        return 0;
    bool same = fabs(values[0]) < 1e9;
    for (int c = 1; c < 8; c++)
        same = same && values[c] == values[0];
    if (same)
        return (int)nearbyint(values[0]);
    for (int c = 0; c < 8; c++) {
        double votes = 0;
        for (int d = 0; d < 8; d++)
            votes += values[d] == values[c] ? weights[d] : 0;
        if (votes > most + 1e-9 && fabs(values[c]) < 1e9) {
            most = votes;
            label = (int)nearbyint(values[c]);
        }
    }
    return label;
}

/* Whether voxel number i lies in the mask; everything does where there is none. */
static bool inside(const clvox_grid *grid, size_t i, const clv_picture *mask)
{
    size_t nx = grid->size[0], ny = grid->size[1];
    double voxel[3] = {i % nx, i / nx % ny, i / nx / ny}, ras[3];
    if (!mask)
        return true;
    clv_matrix_apply(grid->to_ras, voxel, ras);
    return clv_picture_sample(mask, ras) > 0.5;
}

int clv_picture_window(clv_picture *p, const clv_picture *mask)
{
    int status = CLVOX_OK;
    float *head = NULL;
    const clvox_volume *volume = p->volume;
    size_t voxels = clvox_grid_voxels(&volume->grid), finite = 0, kept = 0;
    size_t stride = 1 + voxels / 150000;
    double sum = 0;
    for (size_t i = 0; i < voxels; i += stride)
        if (isfinite(volume->data[i])) {
            sum += volume->data[i];
            finite++;
        }
    if (!finite)
        goto end;
    p->threshold = sum / finite;
    head = malloc(finite * sizeof *head);
    if (!head)
        CLV_TRY(clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory while drawing"));
    for (size_t i = 0; i < voxels; i += stride)
        if (isfinite(volume->data[i]) && volume->data[i] > p->threshold && inside(&volume->grid, i, mask))
            head[kept++] = volume->data[i];
    for (size_t i = 0; i < voxels && !kept && mask; i += stride)
        if (isfinite(volume->data[i]) && volume->data[i] > p->threshold)
            head[kept++] = volume->data[i];
    p->low = p->threshold - 1;
    p->high = p->threshold + 1;
    if (kept) {
        /* The air is black: the window starts below the darkest of the head. */
        double bright = clv_select(head, kept, (size_t)(0.995 * (kept - 1))),
               dark = clv_select(head, kept, (size_t)(0.01 * (kept - 1)));
        p->low = dark - 0.5 * (bright - dark);
        if (p->low < 0 && p->threshold > 0)
            p->low = 0;
        p->high = bright;
        if (!(p->high > p->low))
            p->low = p->high - 1;
    }
end:
    free(head);
    return status;
}

void clv_picture_frame(const clv_picture *fixed, const clv_picture *mask, int pixels, clv_view *v)
{
    const clvox_grid *grid = &fixed->volume->grid;
    const int *n = grid->size;
    int low[3] = {n[0], n[1], n[2]}, high[3] = {-1, -1, -1};
    double centre[3] = {0, 0, 0}, weight = 0, head_centre[3] = {0, 0, 0}, head_weight = 0;
    /* Every voxel of a small grid; of a large one as many as tell the same. */
    int step = (int)ceil(cbrt(clvox_grid_voxels(grid) / 500000.0));
    for (int z = 0; z < n[2]; z += step)
        for (int y = 0; y < n[1]; y += step)
            for (int x = 0; x < n[0]; x += step) {
                int at[3] = {x, y, z};
                float value = fixed->volume->data[((size_t)z * n[1] + y) * n[0] + x];
                if (!(isfinite(value) && value > fixed->threshold))
                    continue;
                bool brain = mask && inside(grid, ((size_t)z * n[1] + y) * n[0] + x, mask);
                head_weight += 1;
                weight += brain;
                for (int a = 0; a < 3; a++) {
                    low[a] = at[a] < low[a] ? at[a] : low[a];
                    high[a] = at[a] > high[a] ? at[a] : high[a];
                    centre[a] += brain * at[a];
                    head_centre[a] += at[a];
                }
            }
    double longest = 0;
    for (int w = 0; w < 3; w++) {
        int a = v->axis[w];
        double margin = 6 / v->spacing[w];
        double middle = weight > 0        ? centre[a] / weight
                        : head_weight > 0 ? head_centre[a] / head_weight
                                          : (n[a] - 1) / 2.0;
        v->cut[w] = (int)nearbyint(middle);
        v->from[w] = high[a] < 0 ? -0.5 : fmax(low[a] - margin, -0.5);
        v->to[w] = high[a] < 0 ? n[a] - 0.5 : fmin(high[a] + margin, n[a] - 0.5);
        longest = fmax(longest, (v->to[w] - v->from[w]) * v->spacing[w]);
    }
    v->scale = pixels / longest;
}

int clv_picture_edges(const clv_picture *p, const double *values, int w, int h, bool **out)
{
    size_t count = (size_t)w * h, kept = 0;
    float *value = calloc(4 * count, sizeof *value);
    bool *edge = *out = calloc(count, sizeof *edge);
    if (!value || !edge) {
        free(value);
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory while drawing");
    }
    float *slope = value + count, *direction = slope + count, *sorted = direction + count;
    for (size_t i = 0; i < count; i++)
        value[i] = (float)fmin(fmax(clv_picture_grey(p, values[i]), 0), 1);
    for (int y = 2; y < h - 2; y++)
        for (int x = 2; x < w - 2; x++) {
            double dx = 0, dy = 0;
            for (int k = -2; k <= 2; k++) {
                const float *across = value + (y + k) * w + x, *down = value + y * w + x + k;
                dx += across[1] + across[2] - across[-1] - across[-2];
                dy += down[w] + down[2 * w] - down[-w] - down[-2 * w];
            }
            slope[y * w + x] = (float)hypot(dx, dy);
            direction[y * w + x] = (float)atan2(dy, dx);
            if (slope[y * w + x] > 0.2f)
                sorted[kept++] = slope[y * w + x];
        }
    float steep = kept ? (float)clv_select(sorted, kept, (size_t)(0.6 * (kept - 1))) : 0;
    for (int y = 2; y < h - 2 && kept; y++)
        for (int x = 2; x < w - 2; x++) {
            float here = slope[y * w + x];
            int dx = (int)lround(cos(direction[y * w + x])), dy = (int)lround(sin(direction[y * w + x]));
            edge[y * w + x] =
                here >= steep && here >= slope[(y + dy) * w + x + dx] && here > slope[(y - dy) * w + x - dx];
        }
    free(value);
    return CLVOX_OK;
}

/* Beyond the last step colours end. */
static const double reach_steps[] = {0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.6, 0.8, 1, 1.5, 2, 3, 4};
enum { REACH_STEPS = sizeof reach_steps / sizeof *reach_steps };

void clv_reach_add(clv_reach *reach, double value)
{
    const double size = fabs(value), last = reach_steps[REACH_STEPS - 1];
    if (isnan(size))
        return;
    reach->histogram[size >= last ? CLV_REACH_BINS - 1 : (int)(size * CLV_REACH_BINS / last)]++;
    reach->count++;
}

double clv_reach_end(const clv_reach *reach)
{
    size_t sum = 0;
    double bound = 0;
    for (int b = 0; b < CLV_REACH_BINS && sum < 0.99 * reach->count; b++) {
        sum += reach->histogram[b];
        bound = reach_steps[REACH_STEPS - 1] * (b + 1) / CLV_REACH_BINS;
    }
    int k = 0;
    while (k < REACH_STEPS - 1 && reach_steps[k] < bound)
        k++;
    return reach_steps[k];
}
