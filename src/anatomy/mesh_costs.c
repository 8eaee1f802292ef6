/* SPDX-License-Identifier: Apache-2.0 */
#include "anatomy/mesh_costs.h"

#include <math.h>
#include <stdio.h>

#include "runtime/kernel/kernel.h"

/* From the bench's rows on two cores, by clvox tune on an H200. By operations a pair would take 1.76
 * times as long with its derivative. */
static const clv_mesh_costs on_cpu = {7.4e-10, 6.5e-8, 8e-7, 5e-3, 1.3},
                            on_gpu = {9.2e-13, 5e-11, 7.5e-10, 2.1e-3, 1.31};

/* Measurements may make a mesh so much cheaper against pairs, and derivatives so much dearer.
 * The prediction of a registration without a device comes from these. */
static const double CHEAPER = 8, DEARER = 2;

clv_mesh_costs clv_mesh_costs_of_kind(bool cpu)
{
    return cpu ? on_cpu : on_gpu;
}

clv_mesh_costs clv_mesh_costs_least(bool cpu)
{
    clv_mesh_costs c = clv_mesh_costs_of_kind(cpu);
    c.node /= CHEAPER;
    c.share /= CHEAPER;
    c.derivative *= DEARER;
    return c;
}

static double at_least(double cost, double pair, double least, double pair_there)
{
    return fmax(cost, least * pair / pair_there);
}

clv_mesh_costs clv_mesh_costs_of(const clvox_context *ctx)
{
    const bool cpu = clvox_context_limits(ctx)->type == CLVOX_DEVICE_CPU;
    const clv_mesh_costs least = clv_mesh_costs_least(cpu);
    clv_mesh_costs c = clv_mesh_costs_of_kind(cpu);
    clv_mesh_costs_from(clv_context_wisdom(ctx), &c);
    c.node = at_least(c.node, c.pair, least.node, least.pair);
    c.share = at_least(c.share, c.pair, least.share, least.pair);
    c.derivative = fmin(c.derivative, least.derivative);
    return c;
}

static const char *const names[CLV_MESH_COST_KINDS] = {
    CLV_MESH_COSTS " pair", CLV_MESH_COSTS " pair with derivative", CLV_MESH_COSTS " node",
    CLV_MESH_COSTS " element of a mesh", CLV_MESH_COSTS " launches"};

void clv_mesh_costs_record(const clv_mesh_costs *c, clv_wisdom_cost out[CLV_MESH_COST_KINDS])
{
    const double seconds[] = {c->pair, c->pair * c->derivative, c->node, c->share, c->launches};
    for (int i = 0; i < CLV_MESH_COST_KINDS; i++) {
        out[i].seconds = seconds[i];
        snprintf(out[i].name, sizeof out[i].name, "%s", names[i]);
    }
}

bool clv_mesh_costs_from(const clv_wisdom *wisdom, clv_mesh_costs *out)
{
    double seconds[CLV_MESH_COST_KINDS];
    for (int i = 0; i < CLV_MESH_COST_KINDS; i++)
        if (!((seconds[i] = clv_wisdom_seconds(wisdom, names[i])) > 0))
            return false;
    *out = (clv_mesh_costs){.pair = seconds[0], .derivative = seconds[1] / seconds[0], .node = seconds[2],
                            .share = seconds[3], .launches = seconds[4]};
    return true;
}
