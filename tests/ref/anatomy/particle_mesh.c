/* SPDX-License-Identifier: Apache-2.0 */
#include "ref/anatomy/particle_mesh.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The cubic B-spline and its derivative. */
static double spline(double x)
{
    double r = fabs(x);
    return r < 1 ? 2. / 3 - r * r + r * r * r / 2 : r < 2 ? pow(2 - r, 3) / 6 : 0;
}

static double slope(double x)
{
    double r = fabs(x), sign = x < 0 ? -1 : 1;
    return r < 1 ? sign * (-2 * r + 1.5 * r * r) : r < 2 ? -sign * pow(2 - r, 2) / 2 : 0;
}

/* Position of an element, in nodes, and whether the grid covers it. */
static int place(const clv_mesh_grid *g, const float *element, double p[3])
{
    int inside = 1;
    for (int k = 0; k < 3; k++) {
        p[k] = ((double)element[k] - (double)g->origin[k]) / (double)g->spacing;
        inside = inside && p[k] >= 1 && p[k] <= (double)g->room[k];
    }
    return inside;
}

static size_t nodes_of(const clv_mesh_grid *g)
{
    return (size_t)g->size[0] * (size_t)g->size[1] * (size_t)g->size[2];
}

static size_t node(const clv_mesh_grid *g, const int at[3])
{
    return ((size_t)at[2] * (size_t)g->size[1] + (size_t)at[1]) * (size_t)g->size[0] + (size_t)at[0];
}

/* Products of two normals that a node holds. */
static const int pairs[6][2] = {{0, 0}, {1, 1}, {2, 2}, {0, 1}, {0, 2}, {1, 2}};

/* Calls of the 64 nodes around p, in order. */
#define AROUND(p, at)                                                                                      \
    for (int k_ = 0, at[3];                                                                                \
         k_ < 64 && (at[0] = (int)floor((p)[0]) - 1 + k_ % 4, at[1] = (int)floor((p)[1]) - 1 + k_ / 4 % 4, \
                    at[2] = (int)floor((p)[2]) - 1 + k_ / 16, 1);                                          \
         k_++)

int ref_mesh_splat(const clv_particle_mesh *mesh, const float *element, int count, double factor,
                   double *held)
{
    const clv_mesh_grid *g = &mesh->grid;
    int beyond = 0;
    for (int i = 0; i < count; i++) {
        const float *e = element + 8 * i, *n = e + 4;
        double p[3];
        if (!place(g, e, p) || !(fabsf(e[7]) <= mesh->most)) {
            beyond++;
            continue;
        }
        AROUND(p, at)
        {
            double w =
                factor * (double)e[7] * spline(p[0] - at[0]) * spline(p[1] - at[1]) * spline(p[2] - at[2]);
            for (size_t c = 0; c < (mesh->varifold ? 6 : 3); c++)
                held[c * nodes_of(g) + node(g, at)] +=
                    w * (mesh->varifold ? (double)n[pairs[c][0]] * (double)n[pairs[c][1]] : (double)n[c]);
        }
    }
    return beyond;
}

void ref_mesh_convolve(const clv_particle_mesh *mesh, double *held)
{
    const double pi = acos(-1), h = (double)mesh->width / (double)mesh->grid.spacing;
    const int *size = mesh->grid.size;
    size_t stride = 1, nodes = nodes_of(&mesh->grid);
    for (int a = 0; a < 3; a++) {
        int n = size[a];
        double *kernel = calloc((size_t)n, sizeof *kernel), *line = calloc((size_t)n, sizeof *line);
        for (int x = 0; x < n; x++)
            for (int k = 0; k < n; k++) {
                double w = 2 * pi * (2 * k <= n ? k : k - n) / n, sinc = k ? sin(w / 2) / (w / 2) : 1;
                kernel[x] += sqrt(pi) * h * exp(-h * h * w * w / 4) / pow(sinc, 8) * cos(w * x) / n;
            }
        for (size_t first = 0; first < 6 * nodes; first++) {
            if (first / stride % (size_t)n)
                continue;
            for (int x = 0; x < n; x++) {
                line[x] = 0;
                for (int y = 0; y < n; y++)
                    line[x] += kernel[(x - y + n) % n] * held[first + (size_t)y * stride];
            }
            for (int x = 0; x < n; x++)
                held[first + (size_t)x * stride] = line[x];
        }
        stride *= (size_t)n;
        free(kernel);
        free(line);
    }
}

double ref_mesh_read(const clv_particle_mesh *mesh, const double *held, const float *target, int targets,
                     double *gradient)
{
    const clv_mesh_grid *g = &mesh->grid;
    double product = 0;
    if (gradient)
        memset(gradient, 0, 8 * (size_t)targets * sizeof *gradient);
    for (int i = 0; i < targets; i++) {
        const float *e = target + 8 * i, *n = e + 4;
        double p[3], sum[3] = {0}, by[3] = {0};
        if (!place(g, e, p))
            continue;
        AROUND(p, at)
        {
            double v[3] = {0}, along = 0;
            for (size_t c = 0; c < (mesh->varifold ? 6 : 3); c++) {
                double value = held[c * nodes_of(g) + node(g, at)];
                if (!mesh->varifold) {
                    v[c] = value;
                    continue;
                }
                v[pairs[c][0]] += value * (double)n[pairs[c][1]];
                if (pairs[c][0] != pairs[c][1])
                    v[pairs[c][1]] += value * (double)n[pairs[c][0]];
            }
            double w[3], d[3];
            for (int k = 0; k < 3; k++) {
                w[k] = spline(p[k] - at[k]);
                d[k] = slope(p[k] - at[k]) / (double)g->spacing;
                along += v[k] * (double)n[k];
            }
            for (int k = 0; k < 3; k++) {
                sum[k] += w[0] * w[1] * w[2] * v[k];
                by[k] += d[k] * w[(k + 1) % 3] * w[(k + 2) % 3] * along;
            }
        }
        double value = sum[0] * (double)n[0] + sum[1] * (double)n[1] + sum[2] * (double)n[2];
        product += (double)e[7] * value;
        for (int k = 0; k < 3 && gradient; k++) {
            gradient[8 * i + k] = (double)e[7] * by[k];
            gradient[8 * i + 4 + k] = (mesh->varifold ? 2 : 1) * sum[k];
            gradient[8 * i + 7] = value;
        }
    }
    return product;
}
