/* SPDX-License-Identifier: Apache-2.0 */
#include "anatomy/mesh_costs.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "runtime/kernel/kernel.h"

/* From the bench's rows on two cores, by clvox tune on an H200. By operations a pair would take 1.76
 * times as long with its derivative. */
static const clv_mesh_costs on_cpu = {7.4e-10, 6.5e-8, 8e-7, 5e-3, 1.3},
                            on_gpu = {9.2e-13, 5e-11, 7.5e-10, 2.1e-3, 1.31};

/* What is measured may let a mesh be so much cheaper against pairs, and derivatives so much dearer.
 * What a registration may take is said without a device, from these. */
static const double CHEAPER = 8, DEARER = 2;

static const double FEMTO = 1e-15;

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
    const clv_wisdom *wisdom = clv_context_wisdom(ctx);
    clv_mesh_costs c = clv_mesh_costs_of_kind(cpu);
    for (int i = 0; wisdom && i < wisdom->count; i++)
        clv_mesh_costs_from(&wisdom->record[i], &c);
    c.node = at_least(c.node, c.pair, least.node, least.pair);
    c.share = at_least(c.share, c.pair, least.share, least.pair);
    c.derivative = fmin(c.derivative, least.derivative);
    return c;
}

/* Three of them where a kernel's variant is, in femtoseconds, the others in its tile: percent and microseconds. Whole
 * numbers, which every locale writes alike. */
void clv_mesh_costs_record(const clv_mesh_costs *c, clv_wisdom_record *r)
{
    *r = (clv_wisdom_record){.kernel = CLV_MESH_COSTS, .build = "femtoseconds"};
    snprintf(r->variant, sizeof r->variant, "%lld,%lld,%lld", llround(c->pair / FEMTO), llround(c->node / FEMTO),
             llround(c->share / FEMTO));
    r->tile.x = (int)lround(fmin(100 * c->derivative, 1e6));
    r->tile.y = (int)lround(fmin(1e6 * c->launches, 1e9));
}

bool clv_mesh_costs_from(const clv_wisdom_record *r, clv_mesh_costs *out)
{
    long long pair, node, share;
    int end = 0;
    if (strcmp(r->kernel, CLV_MESH_COSTS) != 0 ||
        sscanf(r->variant, "%lld,%lld,%lld%n", &pair, &node, &share, &end) != 3 || r->variant[end])
        return false;
    clv_mesh_costs c = {.pair = FEMTO * (double)pair, .node = FEMTO * (double)node, .share = FEMTO * (double)share};
    c.derivative = r->tile.x / 100.;
    c.launches = r->tile.y * 1e-6;
    const bool whole = c.pair > 0 && c.node > 0 && c.share > 0 && c.derivative > 0 && c.launches > 0 &&
                       isfinite(c.pair + c.node + c.share);
    if (whole)
        *out = c;
    return whole;
}
