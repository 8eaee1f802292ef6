/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_OP_ANATOMY_PARTICLE_MESH_H
#define CLV_OP_ANATOMY_PARTICLE_MESH_H

#include "op/anatomy/currents.h"
#include "op/fluid/fourier.h"

/* The products of clv_currents in a time that does not grow with the number of pairs, by a grid (Ha 2011,
 * section 3.3): splat, convolve, read. Elements are shared among 64 nodes by the cubic B-spline, the grid is
 * convolved with the kernel by the Fourier transform, and what is read between nodes is the adjoint of the
 * splat, so that products are symmetric and the gradient is that of the product as computed. The transform
 * of the kernel is divided by the spline's own, twice, which removes the bias of splat and read: to second
 * order a Gaussian narrower by h'^2 = h^2 - 4 D^2 / 3. Sums are whole numbers: the same bits whatever the
 * order. What is left of the error falls with about the fifth power of spacing / width, that of the gradient
 * with the third. */

/* Nodes lie at origin + spacing (i, j, k); elements in the box from the second node on, of `room` nodes.
 * Beyond it the grid is wider by what keeps the periodic copies of the box four widths apart. */
typedef struct clv_mesh_grid {
    float origin[3], spacing;
    int size[3];
    float room[3];
} clv_mesh_grid;

/* The grid of this spacing for elements between two corners. CLVOX_ERROR_MEMORY with a sentence where it
 * would have more nodes than a buffer's numbers count. */
int clv_mesh_grid_make(const double least[3], const double most[3], double width, double spacing,
                       clv_mesh_grid *grid);

typedef struct clv_particle_mesh {
    clv_mesh_grid grid;
    float width;
    bool varifold;
    float most; /* no area is larger; an element of a larger one is left out and counted in beyond */
    int power;  /* of two: units to 1 */
    clv_fft fft;
    clv_buffer *factors;           /* of the kernel's transform along each axis */
    clv_buffer *sums[2], *held[2]; /* the second: of varifolds */
    clv_buffer *spectrum, *beyond; /* beyond: an int, elements left out so far */
    bool lent;                     /* sums, held and spectrum are the room's */
} clv_particle_mesh;

/* Buffers that meshes work in one after another, from splat to read; sums are 0. The second of each: NULL
 * where no varifold works there. */
typedef struct clv_mesh_room {
    clv_buffer *sums[2], *held[2], *spectrum;
} clv_mesh_room;

/* Bytes of one of the sums, of one of held and of the spectrum, for grids of so many nodes in all. */
void clv_mesh_room_bytes(double nodes, size_t bytes[3]);

/* Bytes of device memory that such a mesh takes. */
double clv_particle_mesh_bytes(const clv_mesh_grid *grid, bool varifold);

/* Size of a mesh: at most `count` elements are splatted before each convolution, of areas up to `most`. */
typedef struct clv_particle_mesh_options {
    double width;
    bool varifold;
    int count;
    double most;
    const clv_mesh_room *room; /* NULL: its own */
} clv_particle_mesh_options;

/* On success *out is to be destroyed. */
int clv_particle_mesh_create(clvox_context *ctx, const clv_mesh_grid *grid,
                             const clv_particle_mesh_options *options, clv_particle_mesh *out);
void clv_particle_mesh_destroy(clv_particle_mesh *mesh);

/* Adds factor times what elements carry. */
int clv_particle_mesh_splat(clvox_context *ctx, clv_particle_mesh *mesh, const clv_elements *source,
                            float factor);
/* From what was added to its convolution with the kernel; the next splat begins at 0. */
int clv_particle_mesh_convolve(clvox_context *ctx, clv_particle_mesh *mesh);
/* The product of args' target and what was convolved, and its gradient, as clv_currents leaves them; source,
 * width and varifold are those of the mesh. */
int clv_particle_mesh_read(clvox_context *ctx, const clv_particle_mesh *mesh, const clv_currents_args *args);
/* The number of elements that were left out since the mesh was made. Blocking. */
int clv_particle_mesh_beyond(clvox_context *ctx, const clv_particle_mesh *mesh, int *count);

extern const clv_entry clv_entry_mesh_splat, clv_entry_mesh_multiply, clv_entry_mesh_read;

#endif
