/* SPDX-License-Identifier: Apache-2.0 */
#include "ref/anatomy/moving_mesh.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

/* Centroid and area normal, in double precision. */
static void element_of(const double *x, const int *corner, double centre[3], double normal[3])
{
    const double *p = x + 3 * corner[0], *q = x + 3 * corner[1], *r = x + 3 * corner[2];
    for (int k = 0; k < 3; k++) {
        int l = (k + 1) % 3, m = (k + 2) % 3;
        centre[k] = (p[k] + q[k] + r[k]) / 3;
        normal[k] = .5 * ((q[l] - p[l]) * (r[m] - p[m]) - (q[m] - p[m]) * (r[l] - p[l]));
    }
}

static double dot(const double *a, const double *b)
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

void ref_mesh_elements(const double *x, const int *corner, int triangles, float *element)
{
    for (int t = 0; t < triangles; t++) {
        double centre[3], normal[3];
        element_of(x, corner + 3 * t, centre, normal);
        double area = sqrt(dot(normal, normal));
        for (int k = 0; k < 3; k++) {
            element[8 * t + k] = (float)centre[k];
            element[8 * t + 4 + k] = area > 0 ? (float)(normal[k] / area) : 0;
        }
        element[8 * t + 3] = 0;
        element[8 * t + 7] = (float)area;
    }
}

/* One pair's share of the product and, by (NULL: not wanted), its derivatives by the first element's centre and area
 * normal. */
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

static double product(const double *x, const int *s, int s_count, const double *y, const int *t, int t_count, double width,
                      bool varifold)
{
    double sum = 0, c[3], n[3], d[3], m[3];
    for (int i = 0; i < s_count; i++)
        for (int j = 0; j < t_count; j++) {
            element_of(x, s + 3 * i, c, n);
            element_of(y, t + 3 * j, d, m);
            sum += pair(c, n, d, m, width, varifold, NULL);
        }
    return sum;
}

double ref_mesh_energy(const double *x, const int *s, int s_count, const double *y, const int *t, int t_count, double width,
                       bool varifold)
{
    return product(x, s, s_count, x, s, s_count, width, varifold) + product(y, t, t_count, y, t, t_count, width, varifold) -
           2 * product(x, s, s_count, y, t, t_count, width, varifold);
}

void ref_mesh_gradient(const double *x, int vertices, const int *s, int s_count, const double *y, const int *t, int t_count,
                       double width, bool varifold, double *gradient)
{
    memset(gradient, 0, 3 * (size_t)vertices * sizeof *gradient);
    for (int i = 0; i < s_count; i++) {
        double c[3], n[3], d[3], m[3], by[6], sum[6] = {0};
        const double *p[3] = {x + 3 * s[3 * i], x + 3 * s[3 * i + 1], x + 3 * s[3 * i + 2]};
        element_of(x, s + 3 * i, c, n);
        for (int j = 0; j < s_count + t_count; j++) {
            if (j < s_count)
                element_of(x, s + 3 * j, d, m);
            else
                element_of(y, t + 3 * (j - s_count), d, m);
            pair(c, n, d, m, width, varifold, by);
            for (int k = 0; k < 6; k++)
                sum[k] += (j < s_count ? 2 : -2) * by[k];
        }
        /* N = 1/2 (p0 x p1 + p1 x p2 + p2 x p0). */
        for (int corner = 0; corner < 3; corner++) {
            const double *a = p[(corner + 1) % 3], *b = p[(corner + 2) % 3];
            for (int k = 0; k < 3; k++) {
                int l = (k + 1) % 3, o = (k + 2) % 3;
                gradient[3 * s[3 * i + corner] + k] +=
                    sum[k] / 3 + .5 * ((a[l] - b[l]) * sum[3 + o] - (a[o] - b[o]) * sum[3 + l]);
            }
        }
    }
}
