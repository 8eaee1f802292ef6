/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "clvox/threads.h"
#include "base/status.h"
#include "clvox/compare.h"
#include "io/volume/labels.h"
#include "image/compare.h"

/* More are no label map but an image, and would take hours. */
enum { MOST_LABELS = 8192 };

static const double far = 1e300;

/* The lower envelope of parabolas along one line; values, work (n + 1) and
 * roots (n) are scratch. step: distance of neighbours in mm. */
static void distance_line(double *line, int n, size_t stride, double step, double *values, double *work,
                          int *roots)
{
    int last = -1;
    for (int i = 0; i < n; i++) {
        values[i] = line[(size_t)i * stride];
        if (values[i] >= far)
            continue;
        double cut = -far;
        while (last >= 0) {
            int r = roots[last];
            double apart = step * (i - r);
            cut = (values[i] - values[r] + apart * step * (i + r)) / (2 * apart);
            if (cut > work[last])
                break;
            last--;
            cut = -far;
        }
        last++;
        roots[last] = i;
        work[last] = cut;
    }
    if (last < 0)
        return;
    work[last + 1] = far;
    for (int i = 0, k = 0; i < n; i++) {
        while (work[k + 1] < step * i)
            k++;
        double apart = step * (i - roots[k]);
        line[(size_t)i * stride] = apart * apart + values[roots[k]];
    }
}

typedef struct distances {
    const int *size;
    const double *spacing;
    const unsigned char *marked;
    double *out;
    int axis, longest;
} distances;

/* The lines along an axis in one plane across another one. */
static int distance_plane(void *user, size_t index, int worker)
{
    const distances *d = user;
    const int *size = d->size, axis = d->axis, u = axis ? 0 : 1, v = axis == 2 ? 1 : 2;
    const size_t stride[3] = {1, (size_t)size[0], (size_t)size[0] * (size_t)size[1]};
    double *values = malloc((2 * (size_t)d->longest + 1) * sizeof *values);
    int *roots = malloc((size_t)d->longest * sizeof *roots);
    (void)worker;
    for (int i = 0; i < size[u] && values && roots; i++) {
        const size_t first = index * stride[v] + (size_t)i * stride[u];
        for (int k = 0; k < size[0] && axis == 0; k++)
            d->out[first + (size_t)k] = d->marked[first + (size_t)k] ? 0 : far;
        distance_line(d->out + first, size[axis], stride[axis], d->spacing[axis], values, values + d->longest,
                      roots);
    }
    const bool room = values && roots;
    free(values);
    free(roots);
    return room ? CLVOX_OK : clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory for distances");
}

int clv_distance_squared(const unsigned char *marked, const int size[3], const double spacing[3], double *out)
{
    int status = CLVOX_OK;
    distances d = {.size = size, .spacing = spacing, .marked = marked, .out = out};
    for (int a = 0; a < 3; a++)
        d.longest = size[a] > d.longest ? size[a] : d.longest;
    for (d.axis = 0; d.axis < 3 && status >= 0; d.axis++)
        status = clvox_parallel((size_t)size[d.axis == 2 ? 1 : 2], distance_plane, &d);
    return status;
}

/* ---- labels ------------------------------------------------------------- */

typedef struct row {
    clvox_label_comparison out;
    int low[3], high[3]; /* of the voxels that have the label in either map */
} row;

/* Marks the voxels of the box that have the label and a neighbour without it;
 * the outside of the volume counts as without. Returns their number. */
static size_t surface(const int *labels, const int size[3], const row *r, unsigned char *marked)
{
    size_t count = 0, step[3] = {1, (size_t)size[0], (size_t)size[0] * (size_t)size[1]};
    for (int z = r->low[2]; z <= r->high[2]; z++)
        for (int y = r->low[1]; y <= r->high[1]; y++)
            for (int x = r->low[0]; x <= r->high[0]; x++, marked++) {
                size_t at = (size_t)x + step[1] * (size_t)y + step[2] * (size_t)z;
                int p[3] = {x, y, z};
                *marked = 0;
                if (labels[at] != r->out.label)
                    continue;
                for (int a = 0; a < 3 && !*marked; a++)
                    *marked = (p[a] == 0 || labels[at - step[a]] != r->out.label ||
                               p[a] == size[a] - 1 || labels[at + step[a]] != r->out.label);
                count += *marked;
            }
    return count;
}

static int directed(const unsigned char *from, const unsigned char *to, const int box[3],
                    const double spacing[3], size_t count, double *out)
{
    int status = CLVOX_OK;
    size_t n = (size_t)box[0] * (size_t)box[1] * (size_t)box[2], at = 0;
    double *squared = malloc(n * sizeof *squared), *values = malloc(count * sizeof *values);
    if (!squared || !values) {
        status = clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory for the Hausdorff distance");
        goto end;
    }
    CLV_TRY(clv_distance_squared(to, box, spacing, squared));
    for (size_t i = 0; i < n; i++)
        if (from[i])
            values[at++] = sqrt(squared[i]);
    *out = clv_quantile(values, at, 0.95);
end:
    free(squared);
    free(values);
    return status;
}

/* The larger of the two directed 95th percentiles between the surfaces. */
static int hausdorff(const int *a, const int *b, const int size[3], const double spacing[3], row *r)
{
    int status = CLVOX_OK;
    int box[3];
    double forth = 0, back = 0;
    for (int i = 0; i < 3; i++)
        box[i] = r->high[i] - r->low[i] + 1;
    size_t n = (size_t)box[0] * (size_t)box[1] * (size_t)box[2];
    unsigned char *marks = malloc(2 * n);
    if (!marks)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory for the Hausdorff distance");
    size_t in_a = surface(a, size, r, marks), in_b = surface(b, size, r, marks + n);
    CLV_TRY(directed(marks, marks + n, box, spacing, in_a, &forth));
    CLV_TRY(directed(marks + n, marks, box, spacing, in_b, &back));
    r->out.hausdorff95 = fmax(forth, back);
end:
    free(marks);
    return status;
}

static int by_label(const void *a, const void *b)
{
    int x = ((const row *)a)->out.label, y = ((const row *)b)->out.label;
    return (x > y) - (x < y);
}

typedef struct table {
    row *rows; /* in order of appearance */
    int count, room;
    int *slots; /* open hash of row numbers + 1 */
    unsigned mask;
} table;

static int grow(table *t)
{
    int room = t->room ? 2 * t->room : 64;
    row *rows = realloc(t->rows, (size_t)room * sizeof *rows);
    if (rows)
        t->rows = rows;
    int *slots = calloc((size_t)room * 4, sizeof *slots);
    if (!rows || !slots) {
        free(slots);
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory for the table of labels");
    }
    free(t->slots);
    t->slots = slots;
    t->room = room;
    t->mask = (unsigned)room * 4 - 1;
    for (int i = 0; i < t->count; i++) {
        unsigned at = (unsigned)t->rows[i].out.label * 2654435761u;
        for (at &= t->mask; slots[at]; at = (at + 1) & t->mask)
            ;
        slots[at] = i + 1;
    }
    return CLVOX_OK;
}

static int find(table *t, int label, row **out)
{
    if (t->count == t->room) {
        int status = grow(t);
        if (status < 0)
            return status;
    }
    unsigned at = (unsigned)label * 2654435761u;
    for (at &= t->mask; t->slots[at]; at = (at + 1) & t->mask)
        if (t->rows[t->slots[at] - 1].out.label == label) {
            *out = &t->rows[t->slots[at] - 1];
            return CLVOX_OK;
        }
    if (t->count == MOST_LABELS)
        return clvox_fail(CLVOX_ERROR_DATA, "there are more than %d labels; are these label maps?",
                          MOST_LABELS);
    t->slots[at] = ++t->count;
    *out = &t->rows[t->count - 1];
    memset(*out, 0, sizeof **out);
    (*out)->out.label = label;
    for (int i = 0; i < 3; i++)
        (*out)->low[i] = INT32_MAX;
    return CLVOX_OK;
}

/* Labels are kept as whole numbers; NaN, infinities and what lies outside of the mask count as background. */
static int whole(const clvox_volume *v, const clvox_volume *mask, size_t n, int *out)
{
    const bool exact = v->names || v->type == CLVOX_TYPE_FLOAT32; /* float32 holds what is in the file */
    for (size_t i = 0; i < n; i++) {
        double value = v->names ? (double)clv_label_name(v, v->data[i]) : rint((double)v->data[i]);
        if (!isfinite(value) || (mask && !(mask->data[i] > 0)))
            value = 0;
        if (fabs(value) > INT32_MAX)
            return clvox_fail(CLVOX_ERROR_DATA,
                              "there is a label %.0f; labels are compared up to %d, renumber them", value,
                              INT32_MAX);
        if (!exact && fabs(value) >= 0x1p24)
            return clvox_fail(CLVOX_ERROR_DATA,
                              "there are too many labels beyond %d for them to be told apart; renumber them",
                              1 << 24);
        out[i] = (int)value;
    }
    return CLVOX_OK;
}

typedef struct measuring {
    row *rows;
    const int *a, *b, *size;
    const double *spacing;
} measuring;

static int measure(void *user, size_t index, int worker)
{
    const measuring *m = user;
    row *r = &m->rows[index];
    double both = (double)r->out.voxels_both, sum = (double)r->out.voxels_a + (double)r->out.voxels_b;
    (void)worker;
    r->out.dice = 2 * both / sum;
    r->out.jaccard = both / (sum - both);
    r->out.target_overlap = r->out.voxels_b ? both / (double)r->out.voxels_b : NAN;
    r->out.hausdorff95 = NAN;
    return r->out.voxels_a && r->out.voxels_b ? hausdorff(m->a, m->b, m->size, m->spacing, r) : CLVOX_OK;
}

void clvox_label_comparison_destroy(clvox_label_comparison **rows)
{
    if (rows) {
        free(*rows);
        *rows = NULL;
    }
}

int clvox_compare_labels(const clvox_volume *a, const clvox_volume *b, const clvox_volume *mask,
                         clvox_label_comparison **out)
{
    CLV_GIVEN(a, b, out);
    int status = CLVOX_OK;
    table t = {0};
    *out = NULL;
    if (!clvox_grid_equal(&a->grid, &b->grid) || (mask && !clvox_grid_equal(&a->grid, &mask->grid)))
        return clvox_fail(CLVOX_ERROR_ARGUMENT,
                          "the %s on different grids; bring one onto the other with "
                          "`clvox apply --interp label`",
                          mask ? "label maps and the mask lie" : "label maps lie");
    if (a->frames != 1 || b->frames != 1)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "label maps have one frame, these have %d and %d", a->frames,
                          b->frames);
    const int *size = a->grid.size;
    double spacing[3];
    clvox_grid_spacing(&a->grid, spacing);
    size_t n = clvox_grid_voxels(&a->grid);
    int *of_a = malloc(n * sizeof *of_a), *of_b = malloc(n * sizeof *of_b);
    if (!of_a || !of_b) {
        status = clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory for label maps");
        goto end;
    }
    CLV_TRY(whole(a, mask, n, of_a));
    CLV_TRY(whole(b, mask, n, of_b));
    for (size_t i = 0; i < n; i++) {
        int labels[2] = {of_a[i], of_b[i]};
        for (int s = 0; s < 2; s++) {
            row *r = NULL;
            if (!labels[s])
                continue;
            CLV_TRY(find(&t, labels[s], &r));
            size_t nx = (size_t)size[0], ny = (size_t)size[1];
            int p[3] = {(int)(i % nx), (int)(i / nx % ny), (int)(i / nx / ny)};
            for (int k = 0; k < 3; k++) {
                r->low[k] = p[k] < r->low[k] ? p[k] : r->low[k];
                r->high[k] = p[k] > r->high[k] ? p[k] : r->high[k];
            }
            if (s == 0)
                r->out.voxels_a++;
            else
                r->out.voxels_b++;
            if (s == 0 && labels[0] == labels[1])
                r->out.voxels_both++;
        }
    }
    if (!t.count) {
        status = clvox_fail(CLVOX_ERROR_DATA, "nothing to compare: neither map has a label%s",
                            mask ? " inside of the mask" : "");
        goto end;
    }
    qsort(t.rows, (size_t)t.count, sizeof *t.rows, by_label);
    *out = malloc((size_t)t.count * sizeof **out);
    if (!*out) {
        status = clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory for the table of labels");
        goto end;
    }
    measuring m = {t.rows, of_a, of_b, size, spacing};
    CLV_TRY(clvox_parallel((size_t)t.count, measure, &m));
    for (int i = 0; i < t.count; i++)
        (*out)[i] = t.rows[i].out;
    status = t.count;
end:
    if (status < 0) {
        free(*out);
        *out = NULL;
    }
    free(t.rows);
    free(t.slots);
    free(of_a);
    free(of_b);
    return status;
}
