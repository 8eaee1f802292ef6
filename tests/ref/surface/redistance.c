/* SPDX-License-Identifier: Apache-2.0 */
#include "ref/surface/redistance.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

typedef struct problem {
    const float *phi;
    const int *size;
    double edge[3], least, widest;
} problem;

typedef struct local {
    double slope, doubt, smooth, normal[3], second[3][3];
} local;

static int index_of(const problem *p, const int at[3])
{
    return (at[2] * p->size[1] + at[1]) * p->size[0] + at[0];
}

/* phi, going on linearly beyond the border along each axis by itself. */
static double value(const problem *p, int x, int y, int z)
{
    int at[3] = {x, y, z}, here[3];
    for (int a = 0; a < 3; a++)
        here[a] = at[a] < 0 ? 0 : at[a] >= p->size[a] ? p->size[a] - 1 : at[a];
    double f = p->phi[index_of(p, here)], sum = f;
    for (int a = 0; a < 3; a++) {
        int beyond = at[a] - here[a], inner[3] = {here[0], here[1], here[2]};
        if (!beyond || p->size[a] == 1)
            continue;
        inner[a] += beyond > 0 ? -1 : 1;
        sum += abs(beyond) * (f - p->phi[index_of(p, inner)]);
    }
    return sum;
}

static double along(const problem *p, const int at[3], int a, int i, int b, int j)
{
    int to[3] = {at[0], at[1], at[2]};
    to[a] += i;
    to[b] += j;
    return value(p, to[0], to[1], to[2]);
}

static double norm(const double v[3])
{
    return sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
}

static double bend(const local *l, const double v[3])
{
    double sum = 0;
    for (int a = 0; a < 3; a++)
        for (int b = 0; b < 3; b++)
            sum += l->second[a][b] * v[a] * v[b];
    return sum;
}

static local shape(const problem *p, const int at[3])
{
    local l = {.smooth = 1};
    double rough[3], low[3], high[3], smooth[3];
    int side[3];
    for (int a = 0; a < 3; a++)
        rough[a] = (along(p, at, a, 1, a, 0) - along(p, at, a, -1, a, 0)) / (2 * p->edge[a]);
    for (int a = 0; a < 3; a++) {
        double f[5], bent[3], one_sided[2];
        for (int i = 0; i < 5; i++)
            f[i] = along(p, at, a, i - 2, a, 0);
        for (int i = 0; i < 3; i++)
            bent[i] = f[i] - 2 * f[i + 1] + f[i + 2];
        one_sided[0] = f[2] - f[1] + bent[0] / 2;
        one_sided[1] = f[3] - f[2] - bent[2] / 2;
        double change = fmax(bent[0], fmax(bent[1], bent[2])) - fmin(bent[0], fmin(bent[1], bent[2]));
        smooth[a] = 1 / (1 + pow(change / (0.4 * p->edge[a] * (norm(rough) + 1e-20)), 4));
        int s = fabs(bent[0]) < fabs(bent[2]) ? 0 : 1;
        side[a] = 2 * s - 1;
        double central = (8 * (f[3] - f[1]) - (f[4] - f[0])) / 12;
        l.normal[a] = (smooth[a] * central + (1 - smooth[a]) * one_sided[s]) / p->edge[a];
        l.second[a][a] = (smooth[a] * bent[1] + (1 - smooth[a]) * bent[2 * s]) / (p->edge[a] * p->edge[a]);
        high[a] = fmax(fabs(one_sided[0]), fabs(one_sided[1])) / p->edge[a];
        low[a] = one_sided[0] * one_sided[1] < 0
                     ? 0
                     : fmin(fabs(one_sided[0]), fabs(one_sided[1])) / p->edge[a];
        l.smooth = fmin(l.smooth, smooth[a]);
    }
    for (int a = 0; a < 3; a++)
        for (int b = a + 1; b < 3; b++) {
            double w = fmin(smooth[a], smooth[b]);
            double central = 0.25 * (along(p, at, a, 1, b, 1) - along(p, at, a, -1, b, 1) -
                                     along(p, at, a, 1, b, -1) + along(p, at, a, -1, b, -1));
            double one_sided = side[a] * side[b] *
                               (along(p, at, a, side[a], b, side[b]) - along(p, at, a, side[a], b, 0) -
                                along(p, at, a, 0, b, side[b]) + along(p, at, a, 0, b, 0));
            l.second[a][b] = l.second[b][a] = (w * central + (1 - w) * one_sided) / (p->edge[a] * p->edge[b]);
        }
    l.slope = norm(l.normal);
    l.doubt = fmin(fmax((norm(high) - norm(low)) / 2, 0.01), 0.3);
    l.doubt += (0.01 - l.doubt) * l.smooth;
    for (int a = 0; a < 3; a++) {
        l.normal[a] /= l.slope > 0 ? l.slope : 1;
        for (int b = 0; b < 3; b++)
            l.second[a][b] /= l.slope > 0 ? l.slope : 1;
    }
    return l;
}

/* The place of the level nearest to a voxel beside it: its signed distance, the
 * way there, the shape of phi there, and the distance of the voxel this is of. */
typedef struct foot {
    double d, level, shift[3];
    local shape;
} foot;

static double dot(const double a[3], const double b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/* The zero of phi's quadratic along the normal, then Newton's steps. */
static foot find_foot(const problem *p, const int at[3], const local *l)
{
    foot found = {.shape = *l};
    double f = value(p, at[0], at[1], at[2]), d = f / l->slope;
    double curved = bend(l, l->normal) * fmin(1, 2 * l->smooth);
    found.level = 2 * d / (1 + sqrt(fmin(fmax(1 - 2 * d * curved, 0.25), 2.25)));
    for (int a = 0; a < 3; a++)
        found.shift[a] = -found.level * l->normal[a];
    for (int i = 0; i < 3 && l->smooth > 0.001; i++) {
        int to[3];
        double rest[3], grad[3], step, square, there, moved = 0;
        for (int a = 0; a < 3; a++) {
            to[a] = at[a] + (int)rint(found.shift[a] / p->edge[a]);
            to[a] = to[a] < 0 ? 0 : to[a] >= p->size[a] ? p->size[a] - 1 : to[a];
            rest[a] = found.shift[a] - (to[a] - at[a]) * p->edge[a];
        }
        local s = shape(p, to);
        for (int a = 0; a < 3; a++)
            grad[a] = s.slope * (s.normal[a] + dot(s.second[a], rest));
        square = dot(grad, grad);
        if (!(s.smooth > 0.001 && square > l->slope * l->slope / 4))
            break;
        step = value(p, to[0], to[1], to[2]) + s.slope * (dot(s.normal, rest) + bend(&s, rest) / 2);
        step = (dot(found.shift, grad) - step) / square;
        there = 0;
        for (int a = 0; a < 3; a++) {
            moved += pow(found.shift[a] - step * grad[a], 2);
            found.shift[a] = step * grad[a];
            s.normal[a] = grad[a] / sqrt(square);
            there += ((to[a] - at[a]) * p->edge[a] - found.shift[a]) * s.normal[a];
        }
        found.level = there;
        found.shape = s;
        if (moved < 1e-6 * dot(p->edge, p->edge))
            break;
    }
    found.d = copysign(norm(found.shift), f);
    return found;
}

/* The distance of a voxel beside the level; NaN where it is not one. */
static double near(const problem *p, const int at[3], const local *l)
{
    double f = value(p, at[0], at[1], at[2]), crossing = INFINITY;
    bool any = false;
    for (int n = 0; n < 27; n++) {
        int to[3], steps = 0, axis = 0;
        bool there = true;
        for (int a = 0, left = n; a < 3; a++, left /= 3) {
            to[a] = at[a] + left % 3 - 1;
            there = there && to[a] >= 0 && to[a] < p->size[a];
            steps += to[a] != at[a];
            axis = to[a] != at[a] ? a : axis;
        }
        double other = there ? value(p, to[0], to[1], to[2]) : f;
        if ((other < 0) == (f < 0))
            continue;
        any = true;
        if (steps == 1)
            crossing = fmin(crossing, (f / (f - other) + 0.3) * p->edge[axis]);
    }
    if (!any)
        return NAN;
    if (!(l->slope > 0))
        return isinf(crossing) ? NAN : copysign(fmin(fabs(f), crossing), f);
    double off = fabs(l->slope - 1), d = find_foot(p, at, l).d;
    if (l->smooth > 0.5)
        off = fmax(off, fabs(d - f) / fmax(fabs(f), 1e-20));
    double share = (1 - l->smooth) * (1 - l->doubt / off) + l->smooth * fmin(off / l->doubt - 1, 1);
    if (!(off > l->doubt) || share == 0)
        return f;
    return isinf(crossing) ? NAN : copysign(fmin(fabs(f + share * (d - f)), crossing), f);
}

/* The foot of a voxel that was given the distance d. */
static foot foot_of(const problem *p, const int at[3], const local *l, double d)
{
    foot found = {.d = d, .level = d, .shape = *l};
    for (int a = 0; a < 3; a++)
        found.shift[a] = -d * l->normal[a];
    if (d == value(p, at[0], at[1], at[2]) || !(l->slope > 0))
        return found;
    found = find_foot(p, at, l);
    for (int a = 0; a < 3; a++)
        found.shift[a] *= found.d != 0 ? d / found.d : 1;
    return found;
}

void ref_redistance(const float *phi, const int size[3], const float spacing[3], double reach, double *out)
{
    int n = size[0] * size[1] * size[2], places = 0;
    problem p = {.phi = phi, .size = size, .least = INFINITY};
    local *locals = malloc((size_t)n * sizeof *locals);
    foot *feet = malloc((size_t)n * sizeof *feet);
    double(*place)[3] = malloc((size_t)n * sizeof *place);
    int *giver = malloc((size_t)n * sizeof *giver);
    for (int a = 0; a < 3; a++) {
        p.edge[a] = (double)spacing[a];
        p.least = fmin(p.least, p.edge[a]);
        p.widest = fmax(p.widest, p.edge[a]);
    }
    for (int i = 0; i < n; i++) {
        int at[3] = {i % size[0], i / size[0] % size[1], i / size[0] / size[1]};
        locals[i] = shape(&p, at);
        out[i] = near(&p, at, &locals[i]);
    }
    for (int i = 0; i < n; i++) {
        int at[3] = {i % size[0], i / size[0] % size[1], i / size[0] / size[1]};
        bool good = !isnan(out[i]) && locals[i].slope > 0;
        if (good)
            feet[i] = foot_of(&p, at, &locals[i], out[i]);
        for (int m = 0; m < 27 && good; m++) {
            int to[3];
            double away[3];
            bool there = true;
            for (int a = 0, left = m; a < 3; a++, left /= 3) {
                to[a] = at[a] + left % 3 - 1;
                there = there && to[a] >= 0 && to[a] < size[a];
                away[a] = feet[i].shift[a] - (to[a] - at[a]) * p.edge[a];
                good = good && fabs(feet[i].shift[a]) / p.edge[a] < 3;
            }
            if (there && norm(away) < fabs(out[index_of(&p, to)]) - 0.03 * p.least)
                good = false;
        }
        if (!good)
            continue;
        for (int a = 0; a < 3; a++)
            place[places][a] = at[a] * p.edge[a] + feet[i].shift[a];
        giver[places++] = i;
    }
    double *near_out = malloc((size_t)n * sizeof *near_out);
    for (int i = 0; i < n; i++)
        near_out[i] = out[i];
    for (int i = 0; i < n; i++) {
        int at[3] = {i % size[0], i / size[0] % size[1], i / size[0] / size[1]}, best = -1;
        double straight = INFINITY, way[3], across[3], h = 0, square = 0, side = phi[i] < 0 ? -1 : 1;
        double room = p.widest;
        if (!isnan(near_out[i]))
            continue;
        for (int k = 0; k < places; k++) {
            double to[3] = {at[0] * p.edge[0] - place[k][0], at[1] * p.edge[1] - place[k][1],
                            at[2] * p.edge[2] - place[k][2]};
            double d = norm(to);
            if (d < straight) {
                straight = d;
                best = k;
            }
        }
        out[i] = side * fmin(straight, reach);
        if (best < 0 || straight > 10 * p.widest)
            continue;
        const local *l = &feet[giver[best]].shape;
        for (int a = 0; a < 3; a++) {
            way[a] = at[a] * p.edge[a] - place[best][a];
            h += way[a] * l->normal[a];
        }
        for (int a = 0; a < 3; a++) {
            across[a] = way[a] - h * l->normal[a];
            square += across[a] * across[a];
        }
        double turned = bend(l, across) / fmax(square, 1e-12);
        double spread = 1 + (h - feet[giver[best]].level) * turned;
        double curved = side * (h + turned * square / 2 / spread), share = fmin(1, 2 * l->smooth);
        for (int a = 0; a < 3; a++) {
            double under = rint(at[a] - h * l->normal[a] / p.edge[a]);
            if (under < 0 || under >= size[a])
                room = 10 * p.widest;
        }
        if (spread > 0.2 && square < room * room && side * h > 0 && curved > 0 && curved < straight)
            out[i] = side * fmin(share * curved + (1 - share) * straight, reach);
    }
    free(near_out);
    free(giver);
    free(feet);
    free(place);
    free(locals);
}
