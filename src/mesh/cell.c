/* SPDX-License-Identifier: Apache-2.0 */
#include "mesh/cell.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

enum { MAX_LOOPS = 4, NONE = -1 };

/* Face 2 a + s lies at s along axis a. Corners counter-clockwise seen from
 * outside of the cell, and the edges from each to the next. */
static const int face_corner[6][4] = {{0, 4, 6, 2}, {1, 3, 7, 5}, {0, 1, 5, 4},
                                      {2, 6, 7, 3}, {0, 2, 3, 1}, {4, 5, 7, 6}};
static const int face_edge[6][4] = {{8, 5, 10, 4}, {6, 11, 7, 9}, {0, 9, 2, 8},
                                    {10, 3, 11, 1}, {4, 1, 6, 0}, {2, 7, 3, 5}};

typedef struct loop {
    int count, edge[CLV_CELL_EDGES];
} loop;

/* State of a cell while it is triangulated. */
typedef struct work {
    clv_cell *cell;
    bool inside[8];
    unsigned crowded; /* faces whose corners alternate */
    unsigned open;    /* of those: faces whose outer corners are joined */
    int loops;
    loop loop[MAX_LOOPS];
} work;

void clv_cell_edge(int edge, int corners[2])
{
    int axis = edge >> 2, next = (axis + 1) % 3, last = (axis + 2) % 3;
    corners[0] = (edge & 1) << next | (edge >> 1 & 1) << last;
    corners[1] = corners[0] | 1 << axis;
}

static bool share_face(int a, int b)
{
    /* Bit 2 a + s: on the face at s along axis a. */
    static const unsigned faces[CLV_CELL_EDGES] = {0x14, 0x18, 0x24, 0x28, 0x11, 0x21,
                                                   0x12, 0x22, 0x05, 0x06, 0x09, 0x0a};
    return (faces[a] & faces[b]) != 0;
}

/* Lines on the faces, chained. Seen from outside of the cell a line runs from
 * where the border of the face enters the inside to where it leaves it, which
 * turns the triangles' fronts outward. */
static void chain(work *w)
{
    int next[CLV_CELL_EDGES];
    for (int e = 0; e < CLV_CELL_EDGES; e++)
        next[e] = NONE;
    for (int f = 0; f < 6; f++) {
        const int *corner = face_corner[f], *edge = face_edge[f];
        bool in[4];
        int enter = NONE, leave = NONE, crossings = 0;
        for (int m = 0; m < 4; m++)
            in[m] = w->inside[corner[m]];
        for (int m = 0; m < 4; m++) {
            if (in[m] == in[(m + 1) & 3])
                continue;
            crossings++;
            *(in[m] ? &leave : &enter) = m;
        }
        if (crossings == 2)
            next[edge[enter]] = edge[leave];
        if (crossings != 4)
            continue;
        /* Around an inner corner m the border enters at edge m - 1 and leaves at m. */
        const double *value = w->cell->value;
        int m = in[0] ? 0 : 1;
        double inner = value[corner[m]] * value[corner[m + 2]];
        double outer = value[corner[m + 1]] * value[corner[(m + 3) & 3]];
        w->crowded |= 1u << f;
        if (outer >= inner) {
            w->open |= 1u << f;
            next[edge[(m + 3) & 3]] = edge[m];
            next[edge[m + 1]] = edge[m + 2];
        } else {
            next[edge[(m + 3) & 3]] = edge[m + 2];
            next[edge[m + 1]] = edge[m];
        }
    }
    for (int start = 0; start < CLV_CELL_EDGES; start++) {
        if (next[start] == NONE)
            continue;
        loop *l = &w->loop[w->loops++];
        for (int e = start; next[e] != NONE;) {
            int to = next[e];
            l->edge[l->count++] = e;
            next[e] = NONE;
            e = to;
        }
    }
}

static double squared(const clv_cell *cell, int a, int b)
{
    double sum = 0;
    for (int i = 0; i < 3; i++) {
        double d = (cell->point[a][i] - cell->point[b][i]) * cell->scale[i];
        sum += d * d;
    }
    return sum;
}

static void add_triangle(clv_cell *cell, int a, int b, int c)
{
    int *t = cell->corner[cell->triangles++];
    t[0] = a;
    t[1] = b;
    t[2] = c;
}

/* ---- disks -------------------------------------------------------------- */

/* A fan around the middle, for loops that no choice of diagonals fills without
 * one that lies on a face, where the next cell might draw it too. */
static void fan(clv_cell *cell, const loop *l)
{
    int middle = CLV_CELL_EDGES + cell->added++;
    for (int i = 0; i < 3; i++) {
        double sum = 0;
        for (int n = 0; n < l->count; n++)
            sum += cell->point[l->edge[n]][i];
        cell->point[middle][i] = sum / l->count;
    }
    for (int n = 0; n < l->count; n++)
        add_triangle(cell, l->edge[n], l->edge[(n + 1) % l->count], middle);
}

/* The triangulation with the least sum of squared diagonals. */
static void fill(clv_cell *cell, const loop *l)
{
    double cost[CLV_CELL_EDGES][CLV_CELL_EDGES] = {{0}};
    int best[CLV_CELL_EDGES][CLV_CELL_EDGES], n = l->count;
    for (int span = 2; span < n; span++)
        for (int i = 0, j = span; j < n; i++, j++) {
            double own = 0, least = INFINITY;
            if (span < n - 1)
                own = share_face(l->edge[i], l->edge[j]) ? INFINITY : squared(cell, l->edge[i], l->edge[j]);
            best[i][j] = i + 1;
            for (int k = i + 1; k < j; k++)
                if (cost[i][k] + cost[k][j] < least) {
                    least = cost[i][k] + cost[k][j];
                    best[i][j] = k;
                }
            cost[i][j] = own + least;
        }
    if (!isfinite(cost[0][n - 1])) {
        fan(cell, l);
        return;
    }
    int stack[CLV_CELL_EDGES][2] = {{0, n - 1}};
    for (int depth = 1; depth > 0;) {
        depth--;
        int i = stack[depth][0], j = stack[depth][1];
        if (j - i < 2)
            continue;
        int k = best[i][j];
        add_triangle(cell, l->edge[i], l->edge[k], l->edge[j]);
        stack[depth][0] = i;
        stack[depth++][1] = k;
        stack[depth][0] = k;
        stack[depth++][1] = j;
    }
}

/* ---- tunnels ------------------------------------------------------------ */

/* Corners of one sign that are joined on the cell's surface get one number. */
static void regions(const work *w, int region[8])
{
    int joined[CLV_CELL_EDGES + 6][2], count = 0;
    for (int e = 0; e < CLV_CELL_EDGES; e++) {
        clv_cell_edge(e, joined[count]);
        count += w->inside[joined[count][0]] == w->inside[joined[count][1]];
    }
    for (int f = 0; f < 6; f++) {
        if (!(w->crowded >> f & 1))
            continue;
        bool outside = w->open >> f & 1;
        int m = w->inside[face_corner[f][0]] != outside ? 0 : 1;
        joined[count][0] = face_corner[f][m];
        joined[count++][1] = face_corner[f][m + 2];
    }
    for (int c = 0; c < 8; c++)
        region[c] = c;
    for (bool changed = true; changed;) {
        changed = false;
        for (int n = 0; n < count; n++) {
            int *a = &region[joined[n][0]], *b = &region[joined[n][1]], least = *a < *b ? *a : *b;
            changed = changed || *a != *b;
            *a = *b = least;
        }
    }
}

/* How far a straight line from p goes until it leaves the cell, and where. */
static double leave(const double p[3], const double d[3], int *face)
{
    double least = INFINITY;
    *face = 0;
    for (int a = 0; a < 3; a++) {
        double s = d[a] > 0 ? (1 - p[a]) / d[a] : d[a] < 0 ? -p[a] / d[a] : INFINITY;
        if (s < least) {
            least = s;
            *face = 2 * a + (d[a] > 0);
        }
    }
    return least;
}

/* The region of a point p on a face, whose value has the sign of the corners
 * that are inside (or not); NONE where no corner is. */
static int region_at(const work *w, const int region[8], int face, const double p[3], bool inside)
{
    const int *corner = face_corner[face];
    int m = 0;
    while (m < 4 && w->inside[corner[m]] != inside)
        m++;
    if (m == 4)
        return NONE;
    if (!(w->crowded >> face & 1) || region[corner[m]] == region[corner[m + 2]])
        return region[corner[m]];
    /* Two corners apart: a line through the saddle parallel to an axis parts them. */
    int axis = face >> 1, u = (axis + 1) % 3, base = face & 1 ? 1 << axis : 0;
    int v = 1 << (axis + 2) % 3, one = 1 << u;
    const double *value = w->cell->value;
    double saddle = (value[base] - value[base | v]) /
                    (value[base] - value[base | v] + value[base | one | v] - value[base | one]);
    bool beyond = p[u] > saddle;
    return region[((corner[m] & one) != 0) == beyond ? corner[m] : corner[m + 2]];
}

/* f = k xyz + q0 yz + q1 xz + q2 xy + l0 x + l1 y + l2 z + constant. */
typedef struct trilinear {
    double k, q[3], l[3], constant;
} trilinear;

static void expand(const double v[8], trilinear *f)
{
    f->constant = v[0];
    for (int a = 0; a < 3; a++) {
        int u = 1 << (a + 1) % 3, w = 1 << (a + 2) % 3;
        f->l[a] = v[1 << a] - v[0];
        f->q[a] = v[0] - v[u] - v[w] + v[u | w];
    }
    f->k = v[7] - v[6] - v[5] - v[3] + v[4] + v[2] + v[1] - v[0];
}

/* Saddle points inside of the cell: at most two. h holds the second
 * derivatives by yz, xz and xy there. grad f = 0 is a quadratic in x. */
typedef struct saddle {
    double p[3], h[3], value;
} saddle;

static int saddles(const trilinear *f, saddle out[2])
{
    double k = f->k, g = f->l[0] * k - f->q[1] * f->q[2];
    double a = k * g, half = f->q[0] * g;
    double c = k * f->l[1] * f->l[2] - f->q[0] * (f->q[1] * f->l[1] + f->q[2] * f->l[2] - f->q[0] * f->l[0]);
    double root = half * half - a * c;
    if (!(root > 0))
        return 0;
    double sum = -(half + copysign(sqrt(root), half));
    double x[2] = {sum / a, c / sum};
    int count = 0;
    for (int i = 0; i < 2; i++) {
        saddle s;
        s.p[0] = x[i];
        s.h[0] = k * x[i] + f->q[0];
        s.p[1] = -(f->q[1] * x[i] + f->l[2]) / s.h[0];
        s.p[2] = -(f->q[2] * x[i] + f->l[1]) / s.h[0];
        s.h[1] = k * s.p[1] + f->q[1];
        s.h[2] = k * s.p[2] + f->q[2];
        s.value = f->constant + k * s.p[0] * s.p[1] * s.p[2];
        bool within = true;
        for (int n = 0; n < 3; n++) {
            int u = (n + 1) % 3, v = (n + 2) % 3;
            s.value += f->l[n] * s.p[n] + f->q[n] * s.p[u] * s.p[v];
            within = within && s.p[n] > 0 && s.p[n] < 1;
        }
        if (within)
            out[count++] = s;
    }
    return count;
}

/* Whether the trilinear function joins two regions of one sign through s, by
 * straight lines on which it only grows away from 0. With H = h0 h1 h2, along
 * s.p + t h it is s.value + H (3 t^2 + k t^3): it grows both ways up to the
 * other saddle, and from there along (h0, -h1, 0). */
static bool joins(const work *w, const saddle *s, double k, const int region[8], int ends[2])
{
    double product = s->h[0] * s->h[1] * s->h[2];
    bool inside = s->value < 0;
    if (s->value == 0 || product == 0 || (product < 0) != inside)
        return false;
    for (int way = 0; way < 2; way++) {
        double p[3], d[3], sign = way ? -1 : 1;
        int face;
        memcpy(p, s->p, sizeof p);
        for (int a = 0; a < 3; a++)
            d[a] = sign * s->h[a];
        double far = leave(p, d, &face), other = k * sign < 0 ? -2 / (k * sign) : INFINITY;
        if (other < far) {
            for (int a = 0; a < 3; a++)
                p[a] += other * d[a];
            d[1] = -d[1];
            d[2] = 0;
            far = leave(p, d, &face);
        }
        for (int a = 0; a < 3; a++)
            p[a] += far * d[a];
        ends[way] = region_at(w, region, face, p, inside);
    }
    return ends[0] != NONE && ends[1] != NONE && ends[0] != ends[1];
}

/* Twice the area of a closed line, seen along d. */
static double winding(const clv_cell *cell, const int *vertex, int count, const double d[3])
{
    double sum = 0;
    for (int n = 0; n < count; n++) {
        const double *p = cell->point[vertex[n]], *q = cell->point[vertex[(n + 1) % count]];
        for (int a = 0; a < 3; a++) {
            int u = (a + 1) % 3, v = (a + 2) % 3;
            sum += d[a] * (p[u] * q[v] - p[v] * q[u]);
        }
    }
    return sum;
}

/* A strip of triangles between a loop and the waist, whose six vertices run the
 * same way around. */
static void strip(clv_cell *cell, const loop *l, const int waist[6])
{
    int from = 0, ring = 0, i = 0, j = 0, half = l->count / 2;
    for (int a = 0; a < l->count; a++)
        for (int b = 0; b < 6; b++)
            if (squared(cell, l->edge[a], waist[b]) < squared(cell, l->edge[from], waist[ring])) {
                from = a;
                ring = b;
            }
    while (i < l->count || j < 6) {
        int a = l->edge[(from + i) % l->count], next_a = l->edge[(from + i + 1) % l->count];
        int b = waist[(ring + j) % 6], next_b = waist[(ring + j + 1) % 6];
        /* Both have to have gone half around before one has gone all around,
         * or a pair of vertices would be joined a second time. */
        bool must = j == 6 || (i == 0 && j == 3) || (j == 5 && i <= half);
        bool may = i < l->count && !(j == 0 && i == half) && !(i + 1 == l->count && j <= 3);
        if (must || (may && squared(cell, next_a, b) <= squared(cell, a, next_b))) {
            add_triangle(cell, a, next_a, b);
            i++;
        } else {
            add_triangle(cell, next_b, b, a);
            j++;
        }
    }
}

/* The waist is a hexagon on the level: in the directions (h0, -h1, 0) and its
 * permutations from the saddle the function is s.value - H t^2. */
static bool annulus(work *w, const saddle *s, const loop *first, const loop *second)
{
    static const int direction[6][3] = {{1, -1, 0}, {1, 0, -1}, {0, 1, -1},
                                        {-1, 1, 0}, {-1, 0, 1}, {0, -1, 1}};
    clv_cell *cell = w->cell;
    double t = sqrt(s->value / (s->h[0] * s->h[1] * s->h[2]));
    int waist[6], back[6];
    for (int a = 0; a < 3; a++)
        if (!(fabs(t * s->h[a]) >= 1e-3))
            return false;
    for (int n = 0; n < 6; n++) {
        waist[n] = CLV_CELL_EDGES + cell->added + n;
        for (int a = 0; a < 3; a++)
            cell->point[waist[n]][a] = fmin(fmax(s->p[a] + t * s->h[a] * direction[n][a], 1e-4), 1 - 1e-4);
    }
    /* Around the tunnel's axis the two loops run opposite ways. */
    double turn = winding(cell, first->edge, first->count, s->h) -
                  winding(cell, second->edge, second->count, s->h);
    bool same = (turn > 0) == (winding(cell, waist, 6, s->h) > 0);
    cell->added += 6;
    for (int n = 0; n < 6; n++)
        back[n] = waist[5 - n];
    strip(cell, first, same ? waist : back);
    strip(cell, second, same ? back : waist);
    return true;
}

/* Draws the tunnel, if there is one, and empties its two loops. */
static void tunnel(work *w)
{
    trilinear f;
    saddle found[2];
    int region[8], ends[2];
    expand(w->cell->value, &f);
    int count = saddles(&f, found);
    if (!count)
        return;
    regions(w, region);
    for (int n = 0; n < count; n++) {
        if (!joins(w, &found[n], f.k, region, ends))
            continue;
        bool inside = found[n].value < 0;
        int near[MAX_LOOPS], far[MAX_LOOPS];
        for (int l = 0; l < w->loops; l++) {
            int c[2];
            clv_cell_edge(w->loop[l].edge[0], c);
            int own = w->inside[c[0]] == inside ? 0 : 1;
            near[l] = region[c[own]];
            far[l] = region[c[1 - own]];
        }
        for (int a = 0; a < w->loops; a++)
            for (int b = 0; b < w->loops; b++)
                if (near[a] == ends[0] && near[b] == ends[1] && far[a] == far[b] &&
                    annulus(w, &found[n], &w->loop[a], &w->loop[b])) {
                    w->loop[a].count = w->loop[b].count = 0;
                    return;
                }
    }
}

void clv_cell_triangulate(clv_cell *cell)
{
    work w = {.cell = cell};
    for (int c = 0; c < 8; c++)
        w.inside[c] = cell->value[c] < 0;
    cell->added = cell->triangles = 0;
    chain(&w);
    if (w.loops > 1)
        tunnel(&w);
    for (int l = 0; l < w.loops; l++)
        if (w.loop[l].count)
            fill(cell, &w.loop[l]);
}
