/* SPDX-License-Identifier: Apache-2.0 */
/* An image given another one's contrast (clv_contrast_image): what the files of this folder share. */
#ifndef CLV_REGISTER_CONTRAST_IMAGE_H
#define CLV_REGISTER_CONTRAST_IMAGE_H

#include <math.h>

#include "op/map.h"
#include "register/contrast/synthesis.h"

/* Sums are kept by cells of space, and by bins of the value: an item of a cell is, for all bins, how many
 * voxels there are, and then the sum of the other image over them. */
enum { CLV_CONTRAST_BINS = 48, CLV_CONTRAST_WIDE = 2 * CLV_CONTRAST_BINS };

typedef struct clv_synthesis {
    const clvox_grid *grid, *samples; /* of what is synthesized, and of what is known of both images */
    const float *image, *other;       /* at samples */
    const float *values;              /* what is synthesized, on grid */
    float *out;
    /* Positions of samples on grid, in its voxels; field NULL: the samples' own, and samples is grid. */
    const clv_map *map;
    const float *field; /* mm along the axes of samples, strides of voxels and of components */
    size_t strides[2];
    int step[3];         /* from one sampled voxel to the next */
    double low, per_bin; /* bin of a value: (value - low) * per_bin */
    int cells[3];
    double per_cell[3]; /* cells a voxel */
    float *sums, *next; /* [z][y][x][CLV_CONTRAST_WIDE] */
    int axis;           /* that is blurred, by a Gaussian of sigma cells */
    double sigma;
    double all[CLV_CONTRAST_WIDE]; /* over the whole image: floats do not add up so many */
    float mean[CLV_CONTRAST_BINS];
} clv_synthesis;

static inline bool clv_contrast_known(const clv_synthesis *r, size_t i)
{
    return isfinite(r->image[i]) && isfinite(r->other[i]);
}

#define CLV_EACH_SAMPLE(r, x, y, z)                                   \
    for (int z = 0; z < (r)->samples->size[2]; z += (r)->step[2])     \
        for (int y = 0; y < (r)->samples->size[1]; y += (r)->step[1]) \
            for (int x = 0; x < (r)->samples->size[0]; x += (r)->step[0])

static inline size_t clv_contrast_at(const clvox_grid *grid, int x, int y, int z)
{
    const int *size = grid->size;
    return ((size_t)z * (size_t)size[1] + (size_t)y) * (size_t)size[0] + (size_t)x;
}

/* The range of the values at samples, by which bins go. false: there is one value alone. */
bool clv_contrast_range(clv_synthesis *r);

/* Position of a sample on the grid; false: beyond it. */
bool clv_contrast_place(const clv_synthesis *r, int x, int y, int z, size_t i, double at[3]);

/* As clv_contrast_image. */
int clv_contrast_make(clv_synthesis *r, double sigma, bool *made);

#endif
