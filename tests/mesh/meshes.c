/* SPDX-License-Identifier: Apache-2.0 */
#include "mesh/meshes.h"

#include "check.h"

static clvox_surface *create(size_t vertices, size_t triangles)
{
    clvox_surface *s;
    assert_ok(clvox_surface_create(vertices, triangles, &s));
    return s;
}

static int32_t add_vertex(clvox_surface *s, const double p[3])
{
    double length = sqrt(p[0] * p[0] + p[1] * p[1] + p[2] * p[2]);
    double *at = s->points + 3 * s->vertices++;
    for (int a = 0; a < 3; a++)
        at[a] = p[a] / length;
    return (int32_t)s->vertices - 1;
}

typedef struct link {
    int32_t a, b, middle;
} link;

static int32_t middle_of(clvox_surface *s, link *links, size_t room, int32_t a, int32_t b)
{
    if (a > b) {
        int32_t c = a;
        a = b;
        b = c;
    }
    size_t at = ((size_t)a * 2654435761u + (size_t)b * 40503u) % room;
    while (links[at].middle && (links[at].a != a || links[at].b != b))
        at = (at + 1) % room;
    if (!links[at].middle) {
        const double *p = s->points + 3 * (size_t)a, *q = s->points + 3 * (size_t)b;
        links[at] = (link){a, b, add_vertex(s, (double[3]){p[0] + q[0], p[1] + q[1], p[2] + q[2]})};
    }
    return links[at].middle;
}

clvox_surface *mesh_sphere(const double centre[3], double radius, int levels)
{
    static const int first[20][3] = {
        {0, 11, 5},  {0, 5, 1},  {0, 1, 7},  {0, 7, 10}, {0, 10, 11}, {1, 5, 9}, {5, 11, 4},
        {11, 10, 2}, {10, 7, 6}, {7, 1, 8},  {3, 9, 4},  {3, 4, 2},   {3, 2, 6}, {3, 6, 8},
        {3, 8, 9},   {4, 9, 5},  {2, 4, 11}, {6, 2, 10}, {8, 6, 7},   {9, 8, 1},
    };
    const double g = (1 + sqrt(5)) / 2;
    const double corner[12][3] = {{-1, g, 0},  {1, g, 0},  {-1, -g, 0}, {1, -g, 0}, {0, -1, g},  {0, 1, g},
                                  {0, -1, -g}, {0, 1, -g}, {g, 0, -1},  {g, 0, 1},  {-g, 0, -1}, {-g, 0, 1}};
    size_t all = (size_t)20 << (2 * levels), triangles = 20, room = 4 * all;
    clvox_surface *s = create(all / 2 + 2, all);
    s->vertices = 0;
    for (int i = 0; i < 12; i++)
        add_vertex(s, corner[i]);
    for (size_t i = 0; i < 20; i++)
        for (size_t k = 0; k < 3; k++)
            s->corners[3 * i + k] = first[i][k];
    for (int level = 0; level < levels; level++) {
        link *links = calloc(room, sizeof *links);
        for (size_t t = triangles; t-- > 0;) {
            int32_t c[3], m[3];
            memcpy(c, s->corners + 3 * t, sizeof c);
            for (int k = 0; k < 3; k++)
                m[k] = middle_of(s, links, room, c[k], c[(k + 1) % 3]);
            const int32_t four[12] = {c[0], m[0], m[2], c[1], m[1], m[0], c[2], m[2], m[1], m[0], m[1], m[2]};
            memcpy(s->corners + 12 * t, four, sizeof four);
        }
        free(links);
        triangles *= 4;
    }
    for (size_t i = 0; i < 3 * s->vertices; i++)
        s->points[i] = centre[i % 3] + radius * s->points[i];
    return s;
}

clvox_surface *mesh_torus(const double centre[3], double ring, double tube, int around, int across)
{
    size_t n = (size_t)around, m = (size_t)across;
    clvox_surface *s = create(n * m, 2 * n * m);
    int32_t *c = s->corners;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < m; j++) {
            double u = 2 * acos(-1) * (double)i / around, v = 2 * acos(-1) * (double)j / across;
            double *p = s->points + 3 * (i * m + j), r = ring + tube * cos(v);
            p[0] = centre[0] + r * cos(u);
            p[1] = centre[1] + r * sin(u);
            p[2] = centre[2] + tube * sin(v);
            int32_t a = (int32_t)(i * m + j), b = (int32_t)((i + 1) % n * m + j);
            int32_t d = (int32_t)(i * m + (j + 1) % m), e = (int32_t)((i + 1) % n * m + (j + 1) % m);
            const int32_t two[6] = {a, b, e, a, e, d};
            memcpy(c, two, sizeof two);
            c += 6;
        }
    return s;
}

clvox_surface *mesh_box(const double low[3], const double high[3], int n)
{
    /* Vertices of the surface of a lattice of n^3 cells. */
    size_t m = (size_t)n + 1;
    int32_t *number = calloc(m * m * m, sizeof *number);
    clvox_surface *s = create((size_t)(6 * n * n + 2), (size_t)(12 * n * n));
    int32_t count = 0, *c = s->corners;
    for (size_t i = 0; i < m * m * m; i++) {
        const size_t at[3] = {i % m, i / m % m, i / m / m};
        bool shell = false;
        for (int a = 0; a < 3; a++)
            shell |= at[a] == 0 || at[a] == m - 1;
        if (!shell)
            continue;
        number[i] = count;
        for (int a = 0; a < 3; a++)
            s->points[3 * count + a] = low[a] + (high[a] - low[a]) * (double)at[a] / n;
        count++;
    }
    for (int axis = 0; axis < 3; axis++)
        for (int side = 0; side < 2; side++)
            for (size_t i = 0; i < (size_t)n; i++)
                for (size_t j = 0; j < (size_t)n; j++) {
                    size_t step[3] = {1, m, m * m}, b = step[(axis + 1) % 3], d = step[(axis + 2) % 3];
                    size_t o = (side ? (m - 1) * step[axis] : 0) + i * b + j * d;
                    int32_t p = number[o], q = number[o + b], r = number[o + b + d], t = number[o + d];
                    const int32_t out[6] = {p, q, r, p, r, t}, in[6] = {p, r, q, p, t, r};
                    memcpy(c, side ? out : in, sizeof out);
                    c += 6;
                }
    free(number);
    return s;
}

clvox_surface *mesh_ellipsoid(const double centre[3], const double axes[3], int n)
{
    clvox_surface *s = mesh_box((const double[]){-1, -1, -1}, (const double[]){1, 1, 1}, n);
    for (size_t i = 0; i < s->vertices; i++) {
        double *p = s->points + 3 * i, length = sqrt(p[0] * p[0] + p[1] * p[1] + p[2] * p[2]);
        for (int k = 0; k < 3; k++)
            p[k] = centre[k] + axes[k] * p[k] / length;
    }
    return s;
}

clvox_surface *mesh_both(const clvox_surface *a, const clvox_surface *b)
{
    clvox_surface *s = create(a->vertices + b->vertices, a->triangles + b->triangles);
    memcpy(s->points, a->points, 3 * a->vertices * sizeof *s->points);
    memcpy(s->points + 3 * a->vertices, b->points, 3 * b->vertices * sizeof *s->points);
    memcpy(s->corners, a->corners, 3 * a->triangles * sizeof *s->corners);
    for (size_t i = 0; i < 3 * b->triangles; i++)
        s->corners[3 * a->triangles + i] = b->corners[i] + (int32_t)a->vertices;
    return s;
}

clvox_surface *mesh_without(const clvox_surface *a, size_t first, size_t end)
{
    clvox_surface *s = create(a->vertices, a->triangles - (end - first));
    memcpy(s->points, a->points, 3 * a->vertices * sizeof *s->points);
    memcpy(s->corners, a->corners, 3 * first * sizeof *s->corners);
    memcpy(s->corners + 3 * first, a->corners + 3 * end, 3 * (a->triangles - end) * sizeof *s->corners);
    return s;
}

void mesh_turn(clvox_surface *a, size_t first, size_t end)
{
    for (size_t t = first; t < end; t++) {
        int32_t *c = a->corners + 3 * t, b = c[1];
        c[1] = c[2];
        c[2] = b;
    }
}

/* Six times the volume of a tetrahedron, with its sign. */
static double volume_of(const double *a, const double *b, const double *c, const double *d)
{
    double sum = 0;
    for (int k = 0; k < 3; k++) {
        int l = (k + 1) % 3, m = (k + 2) % 3;
        sum += (a[k] - d[k]) * ((b[l] - d[l]) * (c[m] - d[m]) - (b[m] - d[m]) * (c[l] - d[l]));
    }
    return sum;
}

/* Whether the segment from p to q goes through a triangle: its ends lie on either side, and its line
 * inside. */
static bool pierces(const double *p, const double *q, const double *const t[3])
{
    const double side = volume_of(t[0], t[1], t[2], p), other = volume_of(t[0], t[1], t[2], q);
    if (side * other >= 0)
        return false;
    const double turn[3] = {volume_of(p, q, t[0], t[1]), volume_of(p, q, t[1], t[2]),
                            volume_of(p, q, t[2], t[0])};
    return (turn[0] > 0 && turn[1] > 0 && turn[2] > 0) || (turn[0] < 0 && turn[1] < 0 && turn[2] < 0);
}

static bool triangles_cross(const clvox_surface *a, size_t i, size_t j)
{
    const double *s[3], *t[3];
    for (size_t k = 0; k < 9; k++)
        if (a->corners[3 * i + k / 3] == a->corners[3 * j + k % 3])
            return false;
    for (size_t k = 0; k < 3; k++) {
        s[k] = a->points + 3 * (size_t)a->corners[3 * i + k];
        t[k] = a->points + 3 * (size_t)a->corners[3 * j + k];
    }
    for (int k = 0; k < 3; k++)
        if (fmin(s[0][k], fmin(s[1][k], s[2][k])) > fmax(t[0][k], fmax(t[1][k], t[2][k])) ||
            fmin(t[0][k], fmin(t[1][k], t[2][k])) > fmax(s[0][k], fmax(s[1][k], s[2][k])))
            return false;
    bool cross = false;
    for (int k = 0; k < 3; k++)
        cross = cross || pierces(s[k], s[(k + 1) % 3], t) || pierces(t[k], t[(k + 1) % 3], s);
    return cross;
}

/* Extent of a triangle along x. */
typedef struct reach {
    double least, most;
    size_t triangle;
} reach;

static int by_least(const void *a, const void *b)
{
    const double x = ((const reach *)a)->least, y = ((const reach *)b)->least;
    return (x > y) - (x < y);
}

int mesh_crossings(const clvox_surface *a)
{
    int count = 0;
    reach *all = calloc(a->triangles + 1, sizeof *all);
    assert_non_null(all);
    for (size_t i = 0; i < a->triangles; i++) {
        all[i] = (reach){INFINITY, -INFINITY, i};
        for (size_t k = 0; k < 3; k++) {
            const double x = a->points[3 * (size_t)a->corners[3 * i + k]];
            all[i].least = fmin(all[i].least, x);
            all[i].most = fmax(all[i].most, x);
        }
    }
    qsort(all, a->triangles, sizeof *all, by_least);
    for (size_t i = 0; i < a->triangles; i++)
        for (size_t j = i + 1; j < a->triangles && all[j].least <= all[i].most; j++)
            count += triangles_cross(a, all[i].triangle, all[j].triangle);
    free(all);
    return count;
}
