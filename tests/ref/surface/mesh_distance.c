/* SPDX-License-Identifier: Apache-2.0 */
#include "ref/surface/mesh_distance.h"

#include <math.h>

static double dot(const double a[3], const double b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/* Squared distance of o + s e + t f, clamped to the plane region that the caller picks. */
static double squared_at(const double q[3], const double e[3], const double f[3], double s, double t)
{
    double sum = 0;
    for (int k = 0; k < 3; k++)
        sum += (q[k] - s * e[k] - t * f[k]) * (q[k] - s * e[k] - t * f[k]);
    return sum;
}

static double clamp(double x)
{
    return x > 0 ? (x < 1 ? x : 1) : 0;
}

/* The quadratic in the weights s and t: its minimum in the plane by the normal
 * equations, else the least on the three sides. */
double ref_triangle_squared(const double c[9], const double p[3])
{
    double e[3], f[3], g[3], q[3], r[3];
    for (int k = 0; k < 3; k++) {
        e[k] = c[3 + k] - c[k];
        f[k] = c[6 + k] - c[k];
        g[k] = f[k] - e[k];
        q[k] = p[k] - c[k];
        r[k] = q[k] - e[k];
    }
    double ee = dot(e, e), ef = dot(e, f), ff = dot(f, f), gg = dot(g, g), det = ee * ff - ef * ef;
    double s = ff * dot(q, e) - ef * dot(q, f), t = ee * dot(q, f) - ef * dot(q, e);
    if (det > 1e-20 * ee * ff && s > 0 && t > 0 && s + t < det)
        return squared_at(q, e, f, s / det, t / det);
    double u = gg > 0 ? clamp(dot(r, g) / gg) : 0;
    double one = squared_at(q, e, f, ee > 0 ? clamp(dot(q, e) / ee) : 0, 0);
    double two = squared_at(q, e, f, 0, ff > 0 ? clamp(dot(q, f) / ff) : 0);
    return fmin(fmin(one, two), squared_at(q, e, f, 1 - u, u));
}
