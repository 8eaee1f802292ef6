/* SPDX-License-Identifier: Apache-2.0 */
#include "mesh/tree.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"

enum { LEAF = 4, DEPTH = 64 };

static double dot(const double a[3], const double b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/* Parameter t of the nearest point o + t e of the segment from o along e. */
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

typedef struct entry {
    double centre[3]; /* of the triangle's box */
    int32_t triangle;
} entry;

/* Whether s comes before t along an axis: a strict order. */
static bool before(int axis, const entry *s, const entry *t)
{
    double x = s->centre[axis], y = t->centre[axis];
    return x != y ? x < y : s->triangle < t->triangle;
}

/* Puts the k first of n in front (Hoare's selection, pivot the median of three). */
static void halve(int axis, entry *list, int32_t n, int32_t k)
{
    int32_t left = 0, right = n - 1;
    while (left < right) {
        const entry *x = list + left, *y = list + left + (right - left) / 2, *z = list + right;
        if (before(axis, y, x)) {
            const entry *t = x;
            x = y;
            y = t;
        }
        const entry pivot = before(axis, z, x) ? *x : before(axis, z, y) ? *z : *y;
        int32_t i = left, j = right;
        while (i <= j) {
            while (before(axis, list + i, &pivot))
                i++;
            while (before(axis, &pivot, list + j))
                j--;
            if (i <= j) {
                entry t = list[i];
                list[i++] = list[j];
                list[j--] = t;
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

/* Adds the node of count entries from place first; halves it by their number, so
 * that the depth is bounded whatever the shapes. */
static void add_node(clv_tree *tree, const clvox_surface *surface, entry *list, int32_t first, int32_t count)
{
    size_t at = tree->node_count++;
    clv_tree_node *node = tree->nodes + at;
    *node = (clv_tree_node){.first = first, .count = count};
    for (int a = 0; a < 3; a++) {
        node->low[a] = INFINITY;
        node->high[a] = -INFINITY;
    }
    if (count <= LEAF) {
        for (int32_t i = first; i < first + count; i++) {
            double *corners = tree->corners + 9 * (size_t)i;
            tree->order[i] = list[i].triangle;
            for (size_t k = 0; k < 9; k++) {
                int32_t vertex = surface->corners[3 * (size_t)list[i].triangle + k / 3];
                corners[k] = surface->points[3 * (size_t)vertex + k % 3];
                node->low[k % 3] = fmin(node->low[k % 3], corners[k]);
                node->high[k % 3] = fmax(node->high[k % 3], corners[k]);
            }
        }
        return;
    }
    double low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY};
    int32_t half = count / 2;
    int axis = 0;
    for (int32_t i = first; i < first + count; i++)
        for (int a = 0; a < 3; a++) {
            low[a] = list[i].centre[a] < low[a] ? list[i].centre[a] : low[a];
            high[a] = list[i].centre[a] > high[a] ? list[i].centre[a] : high[a];
        }
    for (int a = 1; a < 3; a++)
        if (high[a] - low[a] > high[axis] - low[axis])
            axis = a;
    halve(axis, list + first, count, half);
    add_node(tree, surface, list, first, half);
    node->right = (int32_t)tree->node_count;
    add_node(tree, surface, list, first + half, count - half);
    for (int a = 0; a < 3; a++) {
        node->low[a] = fmin(node[1].low[a], tree->nodes[node->right].low[a]);
        node->high[a] = fmax(node[1].high[a], tree->nodes[node->right].high[a]);
    }
}

int clv_tree_create(const clvox_surface *surface, clv_tree **out)
{
    int status = CLVOX_OK;
    size_t n = surface->triangles;
    clv_tree *tree = NULL;
    entry *list = NULL;
    *out = NULL;
    if (!n)
        return clvox_fail(CLVOX_ERROR_DATA, "the surface has no triangle");
    tree = calloc(1, sizeof *tree);
    list = malloc(n * sizeof *list);
    if (tree) {
        tree->nodes = malloc((2 * n - 1) * sizeof *tree->nodes);
        tree->order = malloc(n * sizeof *tree->order);
        tree->corners = malloc(9 * n * sizeof *tree->corners);
    }
    if (!tree || !list || !tree->nodes || !tree->order || !tree->corners) {
        status = clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory for the tree of %zu triangles", n);
        goto end;
    }
    for (size_t t = 0; t < n; t++) {
        list[t].triangle = (int32_t)t;
        for (size_t a = 0; a < 3; a++) {
            double low = INFINITY, high = -INFINITY;
            for (size_t k = 0; k < 3; k++) {
                double x = surface->points[3 * (size_t)surface->corners[3 * t + k] + a];
                low = fmin(low, x);
                high = fmax(high, x);
            }
            list[t].centre[a] = (low + high) / 2;
        }
    }
    add_node(tree, surface, list, 0, (int32_t)n);
    *out = tree;
    tree = NULL;
end:
    clv_tree_destroy(&tree);
    free(list);
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
        for (int32_t i = node->first; i < node->first + node->count; i++, count++)
            if (count < room)
                out[count] = i;
    }
    return count;
}
