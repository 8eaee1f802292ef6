/* SPDX-License-Identifier: Apache-2.0 */
/* A volume on the device as operations take it: where it lies and what it means
 * travel together. */
#ifndef CLV_OP_IMAGE_H
#define CLV_OP_IMAGE_H

#include "runtime/runtime.h"

typedef struct clv_image {
    clv_buffer *buffer; /* stays its owner's; NULL: there is none */
    int size[3];        /* voxels along x, y, z */
    float spacing[3];   /* mm between voxels; 1 where an operation measures in voxels */
    int components;     /* 1, or 3 for a vector field, whose layout load_vec and store_vec know */
} clv_image;

static inline size_t clv_image_voxels(const clv_image *image)
{
    return (size_t)image->size[0] * (size_t)image->size[1] * (size_t)image->size[2];
}

/* Its numbers, as one row: what operations on each number alone are launched over. */
static inline int clv_image_floats(const clv_image *image)
{
    return (int)clv_image_voxels(image) * image->components;
}

/* Another buffer of the same grid. */
static inline clv_image clv_image_on(const clv_image *grid, clv_buffer *buffer, int components)
{
    clv_image image = *grid;
    image.buffer = buffer;
    image.components = components;
    return image;
}

/* The image that lies in a buffer, for operations, which know what they read and what they write.
 * spacing NULL: 1. */
static inline clv_image clv_image_of(const clv_buffer *buffer, const int size[3], const float *spacing,
                                     int components)
{
    clv_image image = {(clv_buffer *)buffer, {size[0], size[1], size[2]}, {1, 1, 1}, components};
    for (int i = 0; spacing && i < 3; i++)
        image.spacing[i] = spacing[i];
    return image;
}

/* The same as an argument: of one component, and a vector field, both where voxels
 * are the measure, and a vector field in mm. */
#define CLV_VOLUME(buffer, size) ((const clv_image[1]){clv_image_of((buffer), (size), NULL, 1)})
#define CLV_VECTORS(buffer, size) ((const clv_image[1]){clv_image_of((buffer), (size), NULL, 3)})
#define CLV_VECTORS_MM(buffer, size, spacing) \
    ((const clv_image[1]){clv_image_of((buffer), (size), (spacing), 3)})

/* An image of one component in mm. */
#define CLV_VOLUME_MM(buffer, size, spacing)                                                                 \
    ((const clv_image[1]){clv_image_of((buffer), (size), (spacing), 1)})

/* The image's grid as a kernel's argument: `grid` of cl/common/grid.clh. */
typedef struct clv_grid_arg {
    int32_t size[4]; /* the last: voxels */
    float spacing[4];
    float inverse[4]; /* 1 / spacing */
} clv_grid_arg;

static inline clv_grid_arg clv_grid_of(const clv_image *image)
{
    return (clv_grid_arg){{image->size[0], image->size[1], image->size[2], (int32_t)clv_image_voxels(image)},
                          {image->spacing[0], image->spacing[1], image->spacing[2], 0},
                          {1 / image->spacing[0], 1 / image->spacing[1], 1 / image->spacing[2], 0}};
}

/* The size alone, for kernels that measure in voxels. */
#define CLV_SIZE(image) CLV_INT4((image)->size[0], (image)->size[1], (image)->size[2], 0)
#define CLV_GRID(image) ((clv_arg){sizeof(clv_grid_arg), &(clv_grid_arg[1]){clv_grid_of(image)}, NULL})

#endif
