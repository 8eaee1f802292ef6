/* SPDX-License-Identifier: Apache-2.0 */
#include "ref/fluid/force.h"

#include <stddef.h>
#include <string.h>

void ref_force_gradient(const ref_energy_problem *problem, const double *u, double *force)
{
    size_t count = 3 * (size_t)problem->size[0] * (size_t)problem->size[1] * (size_t)problem->size[2];
    double result[4];
    memset(force, 0, count * sizeof *force);
    ref_energy_walk(problem, u, result, force);
    for (size_t i = 0; i < count; i++)
        force[i] = -force[i];
}
