/* SPDX-License-Identifier: Apache-2.0 */
#include "mesh/winding.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/matrix.h"
#include "clvox/threads.h"
#include "base/status.h"
#include "mesh/tree.h"

static const double FULL = 4 * 3.14159265358979323846; /* the whole sphere */
/* Offset within a voxel, in voxels, at which its winding number is evaluated. */
static const double OFFSET[3] = {1.13e-6, 0.71e-6, 1.37e-6};

/* ---- rows --------------------------------------------------------------- */

typedef struct crossing {
    int32_t x;    /* the first voxel beyond */
    int32_t step; /* of the winding number, going up x */
} crossing;

typedef struct rows {
    const clvox_surface *surfaces[2];
    double *points[2]; /* in voxels */
    const int *size;
    int hand; /* -1 for a left-handed grid, whose triangles look turned */
    size_t *start;
    crossing *crossings;
    int16_t *winding;
} rows;

/* On which side of the line through vertices a and b, seen along x, the point
 * (y, z) lies. Computed from the lower number to the higher, so that the two
 * triangles of an edge agree whatever the rounding. */
static bool left_of(const double *points, int32_t a, int32_t b, double y, double z)
{
    bool turn = a > b;
    const double *p = points + 3 * (size_t)(turn ? b : a), *q = points + 3 * (size_t)(turn ? a : b);
    bool left = (q[1] - p[1]) * (z - p[2]) - (q[2] - p[2]) * (y - p[1]) >= 0;
    return left != turn;
}

/* Counts (crossings NULL) or stores where the rows of the grid cross the
 * triangles of one surface. */
static void cross_rows(rows *r, int which, bool store)
{
    const clvox_surface *s = r->surfaces[which];
    const double *points = r->points[which];
    for (size_t t = 0; t < s->triangles; t++) {
        const int32_t *c = s->corners + 3 * t;
        const double *p[3];
        int low[3], high[3];
        for (int k = 0; k < 3; k++)
            p[k] = points + 3 * (size_t)c[k];
        for (int a = 1; a < 3; a++) {
            double least = fmin(fmin(p[0][a], p[1][a]), p[2][a]) - OFFSET[a];
            double most = fmax(fmax(p[0][a], p[1][a]), p[2][a]) - OFFSET[a];
            low[a] = least > 0 ? least < r->size[a] ? (int)ceil(least) : r->size[a] : 0;
            high[a] = most < r->size[a] - 1 ? most >= 0 ? (int)floor(most) : -1 : r->size[a] - 1;
        }
        for (int z = low[2]; z <= high[2]; z++)
            for (int y = low[1]; y <= high[1]; y++) {
                double at[3] = {0, y + OFFSET[1], z + OFFSET[2]}, e[3], f[3];
                bool side = left_of(points, c[0], c[1], at[1], at[2]);
                if (left_of(points, c[1], c[2], at[1], at[2]) != side ||
                    left_of(points, c[2], c[0], at[1], at[2]) != side)
                    continue;
                size_t row = (size_t)z * (size_t)r->size[1] + (size_t)y;
                if (!store) {
                    r->start[row + 1]++;
                    continue;
                }
                for (int a = 0; a < 3; a++) {
                    e[a] = p[1][a] - p[0][a];
                    f[a] = p[2][a] - p[0][a];
                }
                double ny = e[2] * f[0] - e[0] * f[2], nz = e[0] * f[1] - e[1] * f[0];
                double nx = e[1] * f[2] - e[2] * f[1];
                double x = p[0][0] - (ny * (at[1] - p[0][1]) + nz * (at[2] - p[0][2])) / nx;
                double least = fmin(fmin(p[0][0], p[1][0]), p[2][0]);
                double most = fmax(fmax(p[0][0], p[1][0]), p[2][0]);
                x = ceil((x >= least ? x <= most ? x : most : least) - OFFSET[0]);
                /* Facing up x: going up x leaves it. */
                r->crossings[r->start[row]++] = (crossing){
                    x > 0 ? x < r->size[0] ? (int32_t)x : r->size[0] : 0, side ? -r->hand : r->hand};
            }
    }
}

static int16_t clipped(int sum)
{
    return (int16_t)(sum > INT16_MAX ? INT16_MAX : sum < INT16_MIN ? INT16_MIN : sum);
}

/* One plane of rows: steps where they happen, then their running sums. */
static int walk_rows(void *user, size_t z, int worker)
{
    rows *r = user;
    size_t nx = (size_t)r->size[0], ny = (size_t)r->size[1];
    (void)worker;
    for (size_t row = z * ny; row < (z + 1) * ny; row++) {
        int16_t *out = r->winding + row * nx;
        int sum = 0;
        memset(out, 0, nx * sizeof *out);
        for (size_t i = row ? r->start[row - 1] : 0; i < r->start[row]; i++)
            if (r->crossings[i].x < r->size[0])
                out[r->crossings[i].x] = clipped(out[r->crossings[i].x] + r->crossings[i].step);
        for (size_t x = 0; x < nx; x++)
            out[x] = clipped(sum += out[x]);
    }
    return CLVOX_OK;
}

int clv_winding_rows(const clvox_surface *surface, const clvox_surface *caps, const clvox_grid *grid,
                     int16_t *winding)
{
    int status = CLVOX_OK;
    size_t count = (size_t)grid->size[1] * (size_t)grid->size[2];
    rows r = {.surfaces = {surface, caps}, .size = grid->size, .winding = winding,
              .hand = clv_matrix_determinant(grid->to_ras) < 0 ? -1 : 1};
    double to_voxel[4][4];
    CLV_TRY(clv_matrix_invert(grid->to_ras, to_voxel));
    r.start = calloc(count + 1, sizeof *r.start);
    for (int i = 0; i < 2; i++)
        r.points[i] = malloc((3 * r.surfaces[i]->vertices + 1) * sizeof(double));
    if (!r.start || !r.points[0] || !r.points[1])
        goto memory;
    for (int i = 0; i < 2; i++) {
        for (size_t v = 0; v < r.surfaces[i]->vertices; v++)
            clv_matrix_apply(CLV_MATRIX(to_voxel), r.surfaces[i]->points + 3 * v, r.points[i] + 3 * v);
        cross_rows(&r, i, false);
    }
    for (size_t i = 0; i < count; i++)
        r.start[i + 1] += r.start[i];
    r.crossings = malloc((r.start[count] + 1) * sizeof *r.crossings);
    if (!r.crossings)
        goto memory;
    for (int i = 0; i < 2; i++)
        cross_rows(&r, i, true);
    CLV_TRY(clvox_parallel((size_t)grid->size[2], walk_rows, &r));
    goto end;
memory:
    status = clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory for the inside of a surface");
end:
    free(r.start);
    free(r.points[0]);
    free(r.points[1]);
    free(r.crossings);
    return status;
}

/* ---- the share of the caps ---------------------------------------------- */

/* Far field of a node. */
typedef struct dipole {
    double vector[3]; /* sum of the triangles' normals times their areas */
    double centre[3];
    double area, radius;
} dipole;

enum { BLOCK = 8, TRIES = 3 };

/* From how many radii on a node is taken as a dipole, and how near to 1/2 the
 * result then leaves a doubt, for which the next is tried. */
static const double FAR_ENOUGH[TRIES] = {2, 4, 12}, DOUBT[TRIES] = {.25, .1, 0};

typedef struct share {
    const clvox_grid *grid;
    const clv_tree *tree; /* of the caps; NULL without */
    dipole *dipoles;      /* of its nodes */
    const int16_t *winding;
    int sign;
    unsigned char *inside;
    int blocks[3];
} share;

static double solid_angle(const double c[9], const double p[3])
{
    double q[3][3], length[3];
    for (int k = 0; k < 3; k++) {
        for (int a = 0; a < 3; a++)
            q[k][a] = c[3 * k + a] - p[a];
        length[k] = sqrt(q[k][0] * q[k][0] + q[k][1] * q[k][1] + q[k][2] * q[k][2]);
    }
    double over = q[0][0] * (q[1][1] * q[2][2] - q[1][2] * q[2][1]) +
                  q[0][1] * (q[1][2] * q[2][0] - q[1][0] * q[2][2]) +
                  q[0][2] * (q[1][0] * q[2][1] - q[1][1] * q[2][0]);
    double under = length[0] * length[1] * length[2];
    for (int k = 0; k < 3; k++) {
        const double *a = q[k], *b = q[(k + 1) % 3];
        under += (a[0] * b[0] + a[1] * b[1] + a[2] * b[2]) * length[(k + 2) % 3];
    }
    return over == 0 && under == 0 ? 0 : 2 * atan2(over, under);
}

double clv_winding_of(const clvox_surface *surface, size_t triangle, const double p[3])
{
    double c[9];
    for (size_t k = 0; k < 3; k++)
        memcpy(c + 3 * k, surface->points + 3 * (size_t)surface->corners[3 * triangle + k], 3 * sizeof *c);
    return solid_angle(c, p) / FULL;
}

/* Children come after their parent. */
static void find_dipoles(const clv_tree *tree, dipole *dipoles)
{
    for (size_t i = tree->node_count; i-- > 0;) {
        const clv_tree_node *node = tree->nodes + i;
        dipole *d = dipoles + i;
        *d = (dipole){0};
        for (int32_t t = node->first; !node->right && t < node->first + node->count; t++) {
            const double *c = tree->corners + 9 * (size_t)t;
            double n[3], twice;
            for (int k = 0; k < 3; k++) {
                int l = (k + 1) % 3, m = (k + 2) % 3;
                n[k] = (c[3 + l] - c[l]) * (c[6 + m] - c[m]) - (c[3 + m] - c[m]) * (c[6 + l] - c[l]);
            }
            twice = sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]);
            d->area += twice / 2;
            for (int k = 0; k < 3; k++) {
                d->vector[k] += n[k] / 2;
                d->centre[k] += twice / 2 * (c[k] + c[3 + k] + c[6 + k]) / 3;
            }
        }
        for (int child = 0; node->right && child < 2; child++) {
            const dipole *e = dipoles + (child ? (size_t)node->right : i + 1);
            d->area += e->area;
            for (int k = 0; k < 3; k++) {
                d->vector[k] += e->vector[k];
                d->centre[k] += e->area * e->centre[k];
            }
        }
        double squared = 0;
        for (int k = 0; k < 3; k++) {
            d->centre[k] = d->area > 0 ? d->centre[k] / d->area : (node->low[k] + node->high[k]) / 2;
            double reach = fmax(d->centre[k] - node->low[k], node->high[k] - d->centre[k]);
            squared += reach * reach;
        }
        d->radius = sqrt(squared);
    }
}

/* The caps' winding number about p, nodes farther than `far` of their radii
 * being taken as dipoles. */
static double share_at(const share *s, const double p[3], double far)
{
    int32_t stack[64];
    int depth = 0;
    double sum = 0;
    stack[depth++] = 0;
    while (depth > 0) {
        int32_t at = stack[--depth];
        const clv_tree_node *node = s->tree->nodes + at;
        const dipole *d = s->dipoles + at;
        double q[3], squared = 0, dot = 0;
        for (int k = 0; k < 3; k++) {
            q[k] = d->centre[k] - p[k];
            squared += q[k] * q[k];
            dot += q[k] * d->vector[k];
        }
        if (squared > far * far * d->radius * d->radius && squared > 0) {
            sum += dot / (squared * sqrt(squared));
        } else if (node->right) {
            stack[depth++] = node->right;
            stack[depth++] = at + 1;
        } else {
            for (int32_t t = node->first; t < node->first + node->count; t++)
                sum += solid_angle(s->tree->corners + 9 * (size_t)t, p);
        }
    }
    return sum / FULL;
}

/* Not less than the share can be within radius of a point, or just above
 * enough. */
static double share_bound(const share *s, const double p[3], double radius, double enough)
{
    int32_t stack[64];
    int depth = 0;
    double sum = 0;
    stack[depth++] = 0;
    while (depth > 0 && sum <= enough) {
        int32_t at = stack[--depth];
        const clv_tree_node *node = s->tree->nodes + at;
        double squared = 0, most = node->count / 2.0;
        for (int k = 0; k < 3; k++) {
            double d = fmax(fmax(node->low[k] - p[k], p[k] - node->high[k]), 0);
            squared += d * d;
        }
        double distance = sqrt(squared) - radius;
        if (distance > 0)
            most = fmin(most, s->dipoles[at].area / (FULL * distance * distance));
        if (most < .01 || !node->right) {
            sum += most;
        } else {
            stack[depth++] = node->right;
            stack[depth++] = at + 1;
        }
    }
    return sum;
}

/* One block of voxels. */
static int decide_block(void *user, size_t index, int worker)
{
    share *s = user;
    const int *size = s->grid->size;
    size_t across = (size_t)s->blocks[0], up = (size_t)s->blocks[1];
    int block[3] = {(int)(index % across), (int)(index / across % up), (int)(index / across / up)};
    int end[3];
    double middle[3], p[3], corner[3], radius = 0;
    (void)worker;
    for (int a = 0; a < 3; a++) {
        block[a] *= BLOCK;
        end[a] = block[a] + BLOCK < size[a] ? block[a] + BLOCK : size[a];
        middle[a] = (block[a] + end[a] - 1) / 2.0;
    }
    clv_matrix_apply(s->grid->to_ras, middle, p);
    for (int i = 0; i < 8; i++) {
        double q[3], squared = 0;
        for (int a = 0; a < 3; a++)
            corner[a] = i >> a & 1 ? end[a] - .99 : block[a] - .01;
        clv_matrix_apply(s->grid->to_ras, corner, q);
        for (int a = 0; a < 3; a++)
            squared += (q[a] - p[a]) * (q[a] - p[a]);
        radius = fmax(radius, sqrt(squared));
    }
    bool clear = !s->tree || share_bound(s, p, radius, .45) <= .45;
    for (int z = block[2]; z < end[2]; z++)
        for (int y = block[1]; y < end[1]; y++)
            for (int x = block[0]; x < end[0]; x++) {
                size_t i = ((size_t)z * (size_t)size[1] + (size_t)y) * (size_t)size[0] + (size_t)x;
                double w = s->winding[i];
                if (!clear) {
                    const double v[3] = {x + OFFSET[0], y + OFFSET[1], z + OFFSET[2]};
                    clv_matrix_apply(s->grid->to_ras, v, p);
                    for (int k = 0; k < TRIES && (k == 0 || fabs(s->sign * w - .5) < DOUBT[k - 1]); k++)
                        w = s->winding[i] - share_at(s, p, FAR_ENOUGH[k]);
                }
                s->inside[i] = s->sign * w > .5;
            }
    return CLVOX_OK;
}

int clv_winding_inside(const clvox_surface *caps, const clvox_grid *grid, const int16_t *winding,
                       int sign, unsigned char *inside)
{
    int status = CLVOX_OK;
    clv_tree *tree = NULL;
    share s = {.grid = grid, .winding = winding, .sign = sign, .inside = inside};
    size_t count = 1;
    if (caps->triangles) {
        CLV_TRY(clv_tree_create(caps, &tree));
        s.tree = tree;
        s.dipoles = malloc(tree->node_count * sizeof *s.dipoles);
        if (!s.dipoles) {
            status = clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory for the inside of a surface");
            goto end;
        }
        find_dipoles(tree, s.dipoles);
    }
    for (int a = 0; a < 3; a++) {
        s.blocks[a] = (grid->size[a] + BLOCK - 1) / BLOCK;
        count *= (size_t)s.blocks[a];
    }
    CLV_TRY(clvox_parallel(count, decide_block, &s));
end:
    clv_tree_destroy(&tree);
    free(s.dipoles);
    return status;
}
