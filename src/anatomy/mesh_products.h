/* SPDX-License-Identifier: Apache-2.0 */
/* Products of two surfaces by a particle mesh, and how far they are off. */
#ifndef CLV_ANATOMY_MESH_PRODUCTS_H
#define CLV_ANATOMY_MESH_PRODUCTS_H

#include "anatomy/elements.h"
#include "anatomy/mesh_costs.h"
#include "op/anatomy/particle_mesh.h"

typedef struct clv_mesh_problem {
    const clv_element_set *set[2]; /* with elements */
    double width;
    bool varifold;
    clv_buffer *partial; /* room for either */
} clv_mesh_problem;

/* Elements of each surface whose exact products with both are known, in groups. */
enum { CLV_MESH_GROUPS = 16, CLV_MESH_SAMPLES = 1024 };
typedef struct clv_mesh_samples {
    clv_element_set group[2][CLV_MESH_GROUPS];
    double exact[2][2][CLV_MESH_GROUPS]; /* [of][at]: of one surface and the groups of another */
} clv_mesh_samples;

/* Blocking. To be released, also after a failure. */
int clv_mesh_samples_create(clvox_context *ctx, const clv_mesh_problem *problem, clv_mesh_samples *out);
void clv_mesh_samples_release(clv_mesh_samples *samples);

/* Spacing over width with which the error is about so large, from measurements on surfaces. */
double clv_mesh_ratio(double error);
/* The grid around both surfaces. */
int clv_mesh_grid_of(const clv_mesh_problem *problem, double spacing, clv_mesh_grid *grid);

/* aa, bb and ab on a grid. error: what none of them nor aa + bb - 2 ab is likely to be off by (two standard
 * deviations of what the samples say), over (aa + bb) / 2. Blocking. */
int clv_mesh_products(clvox_context *ctx, const clv_mesh_problem *problem, const clv_mesh_grid *grid,
                      const clv_mesh_samples *samples, double product[3], double *error);

#endif
