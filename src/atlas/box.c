/* SPDX-License-Identifier: Apache-2.0 */
/* Bounding box of the head in an image. */
#include "atlas/box.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/matrix.h"
#include "base/select.h"
#include "base/status.h"
#include "image/otsu.h"

/* Means over blocks of this edge are compared, as the linear stage compares a coarse level: noise is no
 * head. */
static const double BLOCK_MM = 4;
/* Single blocks, and pieces that are smaller than this share of all that stands out, are specks. */
static const double SPECK = .01;
enum { BINS = 256 };

typedef struct blocks {
    int edge[3], size[3]; /* voxels of one, and how many there are */
    size_t count;
    double *sum, *voxels; /* of each: of the values that count, and how many these are */
    float *mean, *sorted; /* of those that have some */
    bool *out;            /* stands out, and is in no piece yet */
    size_t *piece;        /* the blocks of one */
} blocks;

static int make(const clvox_grid *grid, blocks *b)
{
    double spacing[3];
    clvox_grid_spacing(grid, spacing);
    b->count = 1;
    for (int k = 0; k < 3; k++) {
        const int edge = (int)fmin(fmax(lround(BLOCK_MM / spacing[k]), 1), grid->size[k]);
        b->edge[k] = edge;
        b->size[k] = (grid->size[k] + edge - 1) / edge;
        b->count *= (size_t)b->size[k];
    }
    b->sum = calloc(b->count, sizeof *b->sum);
    b->voxels = calloc(b->count, sizeof *b->voxels);
    b->mean = malloc(b->count * sizeof *b->mean);
    b->sorted = malloc(b->count * sizeof *b->sorted);
    b->out = calloc(b->count, sizeof *b->out);
    b->piece = malloc(b->count * sizeof *b->piece);
    return b->sum && b->voxels && b->mean && b->sorted && b->out && b->piece
               ? CLVOX_OK
               : clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
}

static void release(blocks *b)
{
    free(b->sum);
    free(b->voxels);
    free(b->mean);
    free(b->sorted);
    free(b->out);
    free(b->piece);
}

/* Whether the mask's voxel nearest to this one is above 0. */
static bool is_inside(const clvox_volume *mask, const double to_mask[4][4], const double voxel[3])
{
    double at[3];
    size_t index = 0, stride = 1;
    clv_matrix_apply(to_mask, voxel, at);
    for (int k = 0; k < 3; k++) {
        const double i = floor(at[k] + .5);
        if (!(i >= 0 && i < mask->grid.size[k]))
            return false;
        index += (size_t)i * stride;
        stride *= (size_t)mask->grid.size[k];
    }
    return mask->data[index] > 0;
}

static int add_up(const clvox_volume *image, const clvox_volume *mask, blocks *b)
{
    const int *size = image->grid.size;
    double back[4][4], to_mask[4][4];
    if (mask && clv_matrix_invert(CLV_MATRIX(mask->grid.to_ras), back) < 0)
        return clvox_fail(CLVOX_ERROR_DATA, "the mask's header has no volume");
    if (mask)
        clv_matrix_multiply(CLV_MATRIX(back), CLV_MATRIX(image->grid.to_ras), to_mask);
    size_t i = 0;
    for (int z = 0; z < size[2]; z++)
        for (int y = 0; y < size[1]; y++)
            for (int x = 0; x < size[0]; x++, i++) {
                const size_t block =
                    ((size_t)(z / b->edge[2]) * (size_t)b->size[1] + (size_t)(y / b->edge[1])) *
                        (size_t)b->size[0] +
                    (size_t)(x / b->edge[0]);
                if (!isfinite(image->data[i]) ||
                    (mask && !is_inside(mask, CLV_MATRIX(to_mask), (double[3]){x, y, z})))
                    continue;
                b->sum[block] += (double)image->data[i];
                b->voxels[block]++;
            }
    return CLVOX_OK;
}

/* Otsu's, of the means. Where a few stand out they are not left out as too bright. */
static double threshold(const blocks *b, size_t count)
{
    double counts[BINS] = {0};
    float least = INFINITY, most = -INFINITY;
    for (size_t i = 0; i < count; i++) {
        least = fminf(least, b->mean[i]);
        most = fmaxf(most, b->mean[i]);
    }
    memcpy(b->sorted, b->mean, count * sizeof *b->mean);
    double low = clv_select(b->sorted, count, count / 200),
           high = clv_select(b->sorted, count, count - 1 - count / 200);
    if (high - low < .05 * ((double)most - (double)least))
        low = (double)least, high = (double)most;
    if (!(high > low))
        return -INFINITY;
    for (size_t i = 0; i < count; i++)
        counts[(int)fmin(fmax(((double)b->mean[i] - low) / (high - low) * BINS, 0), BINS - 1)]++;
    return low + (high - low) * clv_otsu(counts, BINS) / BINS;
}

/* All blocks that hang together with this one, by their sides, in b->piece: how many. */
static size_t take_piece(blocks *b, size_t first)
{
    const size_t stride[3] = {1, (size_t)b->size[0], (size_t)b->size[0] * (size_t)b->size[1]};
    size_t count = 0;
    b->out[first] = false;
    b->piece[count++] = first;
    for (size_t i = 0; i < count; i++)
        for (int k = 0; k < 3; k++) {
            const size_t block = b->piece[i], at = block / stride[k] % (size_t)b->size[k];
            const size_t side[2] = {at > 0 ? block - stride[k] : block,
                                    at + 1 < (size_t)b->size[k] ? block + stride[k] : block};
            for (int s = 0; s < 2; s++)
                if (b->out[side[s]]) {
                    b->out[side[s]] = false;
                    b->piece[count++] = side[s];
                }
        }
    return count;
}

/* Around the blocks of a piece, too. */
static void widen(const blocks *b, size_t count, int box[2][3])
{
    for (size_t i = 0; i < count; i++) {
        const size_t block = b->piece[i], x = (size_t)b->size[0], xy = x * (size_t)b->size[1];
        const int at[3] = {(int)(block % x), (int)(block % xy / x), (int)(block / xy)};
        for (int k = 0; k < 3; k++) {
            const int first = at[k] * b->edge[k], last = first + b->edge[k] - 1;
            box[0][k] = first < box[0][k] ? first : box[0][k];
            box[1][k] = last > box[1][k] ? last : box[1][k];
        }
    }
}

int clv_atlas_find_box(const clvox_volume *image, const clvox_volume *mask, int box[2][3])
{
    int status = CLVOX_OK;
    const int *size = image->grid.size;
    size_t count = 0, out = 0;
    blocks b = {.count = 0};
    CLV_TRY(make(&image->grid, &b));
    CLV_TRY(add_up(image, mask, &b));
    for (size_t i = 0; i < b.count; i++)
        if (b.voxels[i] > 0)
            b.mean[count++] = (float)(b.sum[i] / b.voxels[i]);
    const double least = count ? threshold(&b, count) : -INFINITY;
    for (size_t i = 0; i < b.count; i++) {
        b.out[i] = b.voxels[i] > 0 && (double)(float)(b.sum[i] / b.voxels[i]) >= least;
        out += b.out[i];
    }
    for (int k = 0; k < 3; k++)
        box[0][k] = size[k], box[1][k] = -1;
    for (size_t i = 0; i < b.count; i++) {
        const size_t piece = b.out[i] ? take_piece(&b, i) : 0;
        if (piece > 1 && (double)piece >= SPECK * (double)out)
            widen(&b, piece, box);
    }
    for (int k = 0; k < 3; k++) {
        if (box[1][k] < box[0][k])
            box[0][k] = 0, box[1][k] = size[k] - 1;
        box[1][k] = box[1][k] < size[k] ? box[1][k] : size[k] - 1;
    }
end:
    release(&b);
    return status;
}
