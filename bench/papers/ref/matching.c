/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/papers/ref/matching.h"

#include <stdlib.h>
#include <string.h>

#include "bench/papers/op/greedy.h"
#include "bench/papers/ref/gradient.h"
#include "ref/field/compose.h"
#include "ref/field/jacobian.h"
#include "ref/field/warp.h"
#include "ref/fluid/solve.h"

static const float VOXELS[3] = {1, 1, 1};

static size_t voxels_of(const int size[3])
{
    return (size_t)size[0] * (size_t)size[1] * (size_t)size[2];
}

static void round_all(const double *from, size_t count, float *to)
{
    for (size_t i = 0; i < count; i++)
        to[i] = (float)from[i];
}

void ref_greedy_velocity(const clv_fluid_operator *op, const float *image, const float *target,
                         const float *weight, double *v)
{
    const size_t n = voxels_of(op->size);
    double *force = malloc(3 * n * sizeof *force);
    ref_gradient(image, op->size, VOXELS, force);
    for (size_t i = 0; i < 3 * n; i++)
        force[i] *= ((double)target[i % n] - (double)image[i % n]) * (weight ? (double)weight[i % n] : 1);
    memset(v, 0, 3 * n * sizeof *v);
    ref_solve(op, NULL, force, v);
    free(force);
}

void ref_greedy_move(const int size[3], const float *v, float own, const float *u, float *out)
{
    static const float one[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    const size_t n = voxels_of(size);
    double *got = malloc(3 * n * sizeof *got);
    int *unsure = calloc(n, sizeof *unsure);
    ref_compose(v, (double)own, u, size, own > 0 ? &clv_greedy_forth : &clv_greedy_back, one, true, 0, got,
                unsure, size);
    round_all(got, 3 * n, out);
    free(got);
    free(unsure);
}

void ref_greedy_deform(const int size[3], const float *image, const float *u, float *out)
{
    const size_t n = voxels_of(size);
    double *got = malloc(n * sizeof *got);
    int *unsure = calloc(n, sizeof *unsure);
    ref_warp(image, size, &clv_greedy_forth, u, REF_LINEAR, 0, 0, got, unsure, size);
    round_all(got, n, out);
    free(got);
    free(unsure);
}

void ref_lddmm_iterate(const clv_fluid_operator *op, int steps, float sigma, float epsilon, const float *i0,
                       const float *i1, float *v)
{
    const size_t n = voxels_of(op->size), field = 3 * n * sizeof(float);
    float *u = calloc(3 * n, sizeof *u), *next = malloc(field), *image = malloc(n * sizeof *image);
    float *moved = malloc((size_t)steps * n * sizeof *moved),
          *weight = malloc((size_t)steps * n * sizeof *weight);
    double *det = malloc(n * sizeof *det), *k = malloc(3 * n * sizeof *k);
    for (int j = steps - 1; j >= 0; j--) {
        ref_jacobian(v + 3 * n * (size_t)j, op->size, VOXELS, false, det);
        for (size_t i = 0; i < n; i++)
            weight[(size_t)j * n + i] =
                (float)(det[i] * (j + 1 < steps ? (double)weight[(size_t)(j + 1) * n + i] : 1));
        ref_greedy_move(op->size, v + 3 * n * (size_t)j, 1, u, next);
        memcpy(u, next, field);
        ref_greedy_deform(op->size, i1, u, moved + (size_t)j * n);
    }
    memset(u, 0, field);
    for (int j = 0; j < steps; j++) {
        float *own = v + 3 * n * (size_t)j;
        ref_greedy_deform(op->size, i0, u, image);
        ref_greedy_move(op->size, own, -1, u, next);
        memcpy(u, next, field);
        ref_greedy_velocity(op, image, moved + (size_t)j * n, weight + (size_t)j * n, k);
        for (size_t i = 0; i < 3 * n; i++) /* k has the sign of J1 - J0 */
            own[i] = (float)((double)own[i] -
                             (double)epsilon * (2 * (double)own[i] + 2 / (double)(sigma * sigma) * k[i]));
    }
    free(u);
    free(next);
    free(image);
    free(moved);
    free(weight);
    free(det);
    free(k);
}
