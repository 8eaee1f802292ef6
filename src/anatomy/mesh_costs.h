/* SPDX-License-Identifier: Apache-2.0 */
/* Costs of sums over pairs of elements and over particle meshes, which decide between them. They are never
 * timed while something runs: the choice, and with it the bits of a result, would change from run to
 * run. Constants of the kind of device hold, or what `clvox tune` has measured and keeps as wisdom,
 * whose hash is in every log. */
#ifndef CLV_ANATOMY_MESH_COSTS_H
#define CLV_ANATOMY_MESH_COSTS_H

#include "runtime/runtime.h"
#include "runtime/plan/wisdom.h"

/* Seconds, of which the choice needs but the proportions: of a pair of elements, of a node and a field
 * of a convolution, of an element's share of a field, of the launches for samples; and how much longer
 * a pair takes with its derivative. */
typedef struct clv_mesh_costs {
    double pair, node, share, launches, derivative;
} clv_mesh_costs;

/* The name under which `clvox tune` measures them, with which those of wisdom begin. */
#define CLV_MESH_COSTS "shape_sums"
enum { CLV_MESH_COST_KINDS = 5 };

/* Those of a kind of device. */
clv_mesh_costs clv_mesh_costs_of_kind(bool cpu);

/* Those of a context's device. */
clv_mesh_costs clv_mesh_costs_of(const clvox_context *ctx);

/* Those of that kind with which a mesh pays the soonest: no device's measured ones let it pay sooner. */
clv_mesh_costs clv_mesh_costs_least(bool cpu);

/* As costs of wisdom, and back; false, and *costs stays, unless all were measured. */
void clv_mesh_costs_record(const clv_mesh_costs *costs, clv_wisdom_cost out[CLV_MESH_COST_KINDS]);
bool clv_mesh_costs_from(const clv_wisdom *wisdom, clv_mesh_costs *costs);

#endif
