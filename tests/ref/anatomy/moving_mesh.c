/* SPDX-License-Identifier: Apache-2.0 */
#include "ref/anatomy/moving_mesh.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

/* Centre and vector of element e in double precision: area normal, segment, or the weight along x. */
static void element_of(const ref_mesh *mesh, int e, double centre[3], double vector[3])
{
    const int *corner = mesh->corner + mesh->corners * e;
    const double *p = mesh->x + 3 * corner[0];
    for (int k = 0; k < 3; k++) {
        centre[k] = p[k];
        vector[k] = mesh->corners == 1 && k == 0 ? mesh->weight[corner[0]] : 0;
    }
    if (mesh->corners == 1)
        return;
    const double *q = mesh->x + 3 * corner[1], *r = mesh->x + 3 * corner[mesh->corners - 1];
    for (int k = 0; k < 3; k++) {
        int l = (k + 1) % 3, m = (k + 2) % 3;
        if (mesh->corners == 2) {
            centre[k] = (p[k] + q[k]) / 2;
            vector[k] = q[k] - p[k];
        } else {
            centre[k] = (p[k] + q[k] + r[k]) / 3;
            vector[k] = .5 * ((q[l] - p[l]) * (r[m] - p[m]) - (q[m] - p[m]) * (r[l] - p[l]));
        }
    }
}

static double dot(const double *a, const double *b)
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

void ref_mesh_elements(const ref_mesh *mesh, float *element)
{
    for (int e = 0; e < mesh->elements; e++) {
        double centre[3], vector[3];
        element_of(mesh, e, centre, vector);
        double size = sqrt(dot(vector, vector));
        for (int k = 0; k < 3; k++) {
            element[8 * e + k] = (float)centre[k];
            element[8 * e + 4 + k] = size > 0 ? (float)(vector[k] / size) : 0;
        }
        element[8 * e + 3] = 0;
        element[8 * e + 7] = (float)size;
    }
}

/* One pair's share of the product and, by (NULL: not wanted), its derivatives by the first element's
 * centre and vector. */
static double pair(const double *c, const double *n, const double *d, const double *m, double width, bool varifold, double by[6])
{
    double apart[3] = {c[0] - d[0], c[1] - d[1], c[2] - d[2]}, k = exp(-dot(apart, apart) / (width * width));
    double a = sqrt(dot(n, n)), b = sqrt(dot(m, m)), p = dot(n, m);
    if (varifold && !(a > 0 && b > 0)) {
        if (by)
            memset(by, 0, 6 * sizeof *by);
        return 0;
    }
    double value = varifold ? p * p / (a * b) : p;
    for (int i = 0; by && i < 3; i++) {
        by[i] = -2 * apart[i] / (width * width) * k * value;
        by[3 + i] = k * (varifold ? 2 * p * m[i] / (a * b) - p * p * n[i] / (a * a * a * b) : m[i]);
    }
    return k * value;
}

static double product(const ref_mesh *s, const ref_mesh *t, double width, bool varifold)
{
    double sum = 0, c[3], n[3], d[3], m[3];
    for (int i = 0; i < s->elements; i++)
        for (int j = 0; j < t->elements; j++) {
            element_of(s, i, c, n);
            element_of(t, j, d, m);
            sum += pair(c, n, d, m, width, varifold, NULL);
        }
    return sum;
}

double ref_mesh_energy(const ref_mesh *s, const ref_mesh *t, double width, bool varifold)
{
    return product(s, s, width, varifold) + product(t, t, width, varifold) -
           2 * product(s, t, width, varifold);
}

/* Change of an element's centre and vector with one of its corners, times by; vectors of points stay. */
static void add_corner(const ref_mesh *s, int e, int corner, const double by[6], double *gradient)
{
    const int *at = s->corner + s->corners * e;
    for (int k = 0; k < 3; k++) {
        double *to = gradient + 3 * at[corner] + k;
        *to += by[k] / s->corners;
        if (s->corners == 2)
            *to += corner == 1 ? by[3 + k] : -by[3 + k];
        if (s->corners < 3)
            continue;
        /* N = 1/2 (p0 x p1 + p1 x p2 + p2 x p0). */
        const double *a = s->x + 3 * at[(corner + 1) % 3], *b = s->x + 3 * at[(corner + 2) % 3];
        int l = (k + 1) % 3, o = (k + 2) % 3;
        *to += .5 * ((a[l] - b[l]) * by[3 + o] - (a[o] - b[o]) * by[3 + l]);
    }
}

void ref_mesh_gradient(const ref_mesh *s, const ref_mesh *t, double width, bool varifold, double *gradient)
{
    memset(gradient, 0, 3 * (size_t)s->vertices * sizeof *gradient);
    for (int i = 0; i < s->elements; i++) {
        double c[3], n[3], d[3], m[3], by[6], sum[6] = {0};
        element_of(s, i, c, n);
        for (int j = 0; j < s->elements + t->elements; j++) {
            const bool own = j < s->elements;
            element_of(own ? s : t, own ? j : j - s->elements, d, m);
            pair(c, n, d, m, width, varifold, by);
            for (int k = 0; k < 6; k++)
                sum[k] += (own ? 2 : -2) * by[k];
        }
        for (int corner = 0; corner < s->corners; corner++)
            add_corner(s, i, corner, sum, gradient);
    }
}
