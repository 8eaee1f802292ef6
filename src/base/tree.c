/* SPDX-License-Identifier: Apache-2.0 */
#include "base/tree.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"

enum { LEAF = 4, DEPTH = 64 };

static double dot(const double a[3], const double b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/* Of the segment from o along e; point = o + t e. */
static double segment_nearest(const double o[3], const double e[3], const double p[3], double point[3])
{
    double q[3] = {p[0] - o[0], p[1] - o[1], p[2] - o[2]}, length = dot(e, e);
    double t = length > 0 ? fmin(fmax(dot(q, e) / length, 0), 1) : 0, sum = 0;
    for (int a = 0; a < 3; a++) {
        point[a] = o[a] + t * e[a];
        sum += (p[a] - point[a]) * (p[a] - point[a]);
    }
    return sum;
}

double clv_triangle_nearest(const double corners[9], const double p[3], double point[3])
{
    const double *a = corners, *b = corners + 3, *c = corners + 6;
    double ab[3], ac[3], bc[3], q[3], n[3];
    for (int k = 0; k < 3; k++) {
        ab[k] = b[k] - a[k];
        ac[k] = c[k] - a[k];
        bc[k] = c[k] - b[k];
        q[k] = p[k] - a[k];
    }
    for (int k = 0; k < 3; k++) {
        int l = (k + 1) % 3, m = (k + 2) % 3;
        n[k] = ab[l] * ac[m] - ab[m] * ac[l];
    }
    /* Weights of b and c at the foot of p in the plane. */
    double nn = dot(n, n), u = 0, v = 0;
    for (int k = 0; k < 3; k++) {
        int l = (k + 1) % 3, m = (k + 2) % 3;
        u += (q[l] * ac[m] - q[m] * ac[l]) * n[k];
        v += (ab[l] * q[m] - ab[m] * q[l]) * n[k];
    }
    if (u > 0 && v > 0 && u + v < nn) {
        double t = dot(q, n) / nn;
        for (int k = 0; k < 3; k++)
            point[k] = p[k] - t * n[k];
        return t * t * nn;
    }
    double best = segment_nearest(a, ab, p, point), other[3], d;
    if ((d = segment_nearest(a, ac, p, other)) < best) {
        best = d;
        memcpy(point, other, sizeof other);
    }
    if ((d = segment_nearest(b, bc, p, other)) < best) {
        best = d;
        memcpy(point, other, sizeof other);
    }
    return best;
}

/* ---- building ----------------------------------------------------------- */

typedef struct builder {
    clv_tree *tree;
    const clvox_surface *surface;
    double *centres; /* of each triangle's box */
} builder;

/* Whether triangle s comes before t along an axis: a strict order. */
static bool before(const builder *b, int axis, int32_t s, int32_t t)
{
    double x = b->centres[3 * (size_t)s + (size_t)axis], y = b->centres[3 * (size_t)t + (size_t)axis];
    return x != y ? x < y : s < t;
}

/* Puts the k first of n in front (Hoare's selection, pivot the median of three). */
static void halve(const builder *b, int axis, int32_t *order, int32_t n, int32_t k)
{
    int32_t left = 0, right = n - 1;
    while (left < right) {
        int32_t x = order[left], y = order[left + (right - left) / 2], z = order[right];
        if (before(b, axis, y, x)) {
            int32_t t = x;
            x = y;
            y = t;
        }
        int32_t pivot = before(b, axis, z, x) ? x : before(b, axis, z, y) ? z : y;
        int32_t i = left, j = right;
        while (i <= j) {
            while (before(b, axis, order[i], pivot))
                i++;
            while (before(b, axis, pivot, order[j]))
                j--;
            if (i <= j) {
                int32_t t = order[i];
                order[i++] = order[j];
                order[j--] = t;
            }
        }
        if (k <= j)
            right = j;
        else if (k >= i)
            left = i;
        else
            return;
    }
}

/* Adds the node of count triangles from place first; halves it by their number,
 * so that the depth is bounded whatever the shapes. */
static void add_node(const builder *b, int32_t first, int32_t count)
{
    clv_tree *tree = b->tree;
    size_t at = tree->node_count++;
    clv_tree_node *node = tree->nodes + at;
    double low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY};
    *node = (clv_tree_node){.first = first, .count = count};
    memcpy(node->low, low, sizeof low);
    memcpy(node->high, high, sizeof high);
    for (int32_t i = first; i < first + count; i++) {
        size_t t = (size_t)tree->order[i];
        for (size_t a = 0; a < 3; a++) {
            for (size_t k = 0; k < 3; k++) {
                double x = b->surface->points[3 * (size_t)b->surface->corners[3 * t + k] + a];
                node->low[a] = fmin(node->low[a], x);
                node->high[a] = fmax(node->high[a], x);
            }
            low[a] = fmin(low[a], b->centres[3 * t + a]);
            high[a] = fmax(high[a], b->centres[3 * t + a]);
        }
    }
    if (count <= LEAF)
        return;
    int axis = 0;
    for (int a = 1; a < 3; a++)
        if (high[a] - low[a] > high[axis] - low[axis])
            axis = a;
    int32_t half = count / 2;
    halve(b, axis, tree->order + first, count, half);
    add_node(b, first, half);
    tree->nodes[at].right = (int32_t)tree->node_count;
    add_node(b, first + half, count - half);
}

int clv_tree_create(const clvox_surface *surface, clv_tree **out)
{
    int status = CLVOX_OK;
    size_t n = surface->triangles;
    builder b = {.surface = surface};
    *out = NULL;
    if (!n)
        return clv_fail(CLVOX_ERROR_DATA, "the surface has no triangle");
    b.tree = calloc(1, sizeof *b.tree);
    b.centres = malloc(3 * n * sizeof *b.centres);
    if (b.tree) {
        b.tree->nodes = malloc((2 * n - 1) * sizeof *b.tree->nodes);
        b.tree->order = malloc(n * sizeof *b.tree->order);
        b.tree->corners = malloc(9 * n * sizeof *b.tree->corners);
    }
    if (!b.tree || !b.centres || !b.tree->nodes || !b.tree->order || !b.tree->corners) {
        status = clv_fail(CLVOX_ERROR_MEMORY, "out of host memory for the tree of %zu triangles", n);
        goto end;
    }
    for (size_t t = 0; t < n; t++) {
        b.tree->order[t] = (int32_t)t;
        for (size_t a = 0; a < 3; a++) {
            double low = INFINITY, high = -INFINITY;
            for (size_t k = 0; k < 3; k++) {
                double x = surface->points[3 * (size_t)surface->corners[3 * t + k] + a];
                low = fmin(low, x);
                high = fmax(high, x);
            }
            b.centres[3 * t + a] = (low + high) / 2;
        }
    }
    add_node(&b, 0, (int32_t)n);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < 3; k++)
            memcpy(b.tree->corners + 9 * i + 3 * k,
                   surface->points + 3 * (size_t)surface->corners[3 * (size_t)b.tree->order[i] + k],
                   3 * sizeof(double));
    *out = b.tree;
    b.tree = NULL;
end:
    clv_tree_destroy(&b.tree);
    free(b.centres);
    return status;
}

void clv_tree_destroy(clv_tree **tree)
{
    if (!*tree)
        return;
    free((*tree)->nodes);
    free((*tree)->order);
    free((*tree)->corners);
    free(*tree);
    *tree = NULL;
}

/* ---- asking ------------------------------------------------------------- */

static double box_squared(const clv_tree_node *node, const double p[3])
{
    double sum = 0;
    for (int a = 0; a < 3; a++) {
        double below = node->low[a] - p[a], above = p[a] - node->high[a];
        double d = below > above ? below : above;
        sum += d > 0 ? d * d : 0;
    }
    return sum;
}

bool clv_tree_nearest(const clv_tree *tree, const double p[3], double limit, clv_nearest *out)
{
    struct {
        int32_t node;
        double squared;
    } stack[DEPTH];
    int depth = 0;
    bool found = false;
    out->squared = limit;
    stack[depth].node = 0;
    stack[depth++].squared = box_squared(tree->nodes, p);
    while (depth > 0) {
        int32_t at = stack[--depth].node;
        if (stack[depth].squared > out->squared)
            continue;
        for (;;) {
            const clv_tree_node *node = tree->nodes + at;
            if (!node->right) {
                for (int32_t i = node->first; i < node->first + node->count; i++) {
                    double point[3], d = clv_triangle_nearest(tree->corners + 9 * (size_t)i, p, point);
                    if (d < out->squared ||
                        (d == out->squared && (!found || tree->order[i] < out->triangle))) {
                        out->squared = d;
                        out->triangle = tree->order[i];
                        memcpy(out->point, point, sizeof point);
                        found = true;
                    }
                }
                break;
            }
            double left = box_squared(node + 1, p), right = box_squared(tree->nodes + node->right, p);
            int32_t near_child = right < left ? node->right : at + 1;
            int32_t far_child = right < left ? at + 1 : node->right;
            double near_box = right < left ? right : left, far_box = right < left ? left : right;
            if (far_box <= out->squared) {
                stack[depth].node = far_child;
                stack[depth++].squared = far_box;
            }
            if (near_box > out->squared)
                break;
            at = near_child;
        }
    }
    return found;
}

size_t clv_tree_within(const clv_tree *tree, const double p[3], double limit, int32_t *out, size_t room)
{
    int32_t stack[DEPTH];
    int depth = 0;
    size_t count = 0;
    stack[depth++] = 0;
    while (depth > 0) {
        int32_t at = stack[--depth];
        const clv_tree_node *node = tree->nodes + at;
        if (box_squared(node, p) > limit)
            continue;
        if (node->right) {
            stack[depth++] = node->right;
            stack[depth++] = at + 1;
            continue;
        }
        for (int32_t i = node->first; i < node->first + node->count; i++) {
            double point[3];
            if (clv_triangle_nearest(tree->corners + 9 * (size_t)i, p, point) > limit)
                continue;
            if (count < room)
                out[count] = i;
            count++;
        }
    }
    return count;
}
