/* SPDX-License-Identifier: Apache-2.0 */
/* Labels of the template, by vote. */
#include <stdlib.h>

#include "atlas/atlas.h"
#include "base/matrix.h"
#include "io/labels.h"

typedef struct ballot {
    int64_t name;
    double weight;
} ballot;

static int by_name(const void *a, const void *b)
{
    int64_t x = ((const ballot *)a)->name, y = ((const ballot *)b)->name;
    return (x > y) - (x < y);
}

/* Of labels whose names ascend, the one of most weight, of equals the smallest. */
static int64_t winner(const ballot *p, int count)
{
    double best = 0;
    int64_t name = 0;
    for (int i = 0; i < count;) {
        double weight = 0;
        int from = i;
        for (; i < count && p[i].name == p[from].name; i++)
            weight += p[i].weight;
        if (weight > best) {
            best = weight;
            name = p[from].name;
        }
    }
    return name;
}

/* Subjects may have tables of names of their own: it is names that are counted, and ranked again where floats do not
 * hold them. */
int clv_atlas_vote(clv_atlas_run *a)
{
    int status = CLVOX_OK, voters = 0;
    const size_t n = clvox_grid_voxels(&a->grid);
    int64_t largest = 0, *exact = malloc(n * sizeof *exact);
    clvox_volume **labels = calloc((size_t)a->count, sizeof *labels);
    ballot *p = malloc((size_t)a->count * sizeof *p);
    if (!labels || !p || !exact) {
        status = clv_fail(CLVOX_ERROR_MEMORY, "out of host memory");
        goto end;
    }
    for (int i = 0; i < a->count; i++) {
        const clvox_volume *own = a->s[i].given->labels;
        const clv_atlas_member *s = &a->s[a->s[i].first];
        clvox_transform warp = {.is_warp = 1, .warp = s->map.warp}, affine = {0};
        clv_matrix_copy(CLV_MATRIX(s->map.matrix), affine.matrix);
        const clvox_link links[2] = {{s->map.warp ? &warp : &affine, 0}, {&affine, 0}};
        if (!own || !s->weight)
            continue;
        CLV_TRY(clvox_apply(a->ctx, own, &a->grid, links, s->map.warp ? 2 : 1,
                            CLVOX_INTERPOLATE_LABEL, 0, &labels[i]));
        voters++;
    }
    if (!voters)
        goto end;
    CLV_TRY(clvox_volume_create(&a->grid, 1, CLVOX_KIND_LABEL, &a->out->labels));
    a->out->labels->type = CLVOX_TYPE_INT32;
    for (size_t v = 0; v < n; v++) {
        int count = 0;
        for (int i = 0; i < a->count; i++)
            if (labels[i])
                p[count++] = (ballot){clv_label_name(labels[i], labels[i]->data[v]),
                                      a->s[i].own * a->s[a->s[i].first].kernel};
        qsort(p, (size_t)count, sizeof *p, by_name);
        exact[v] = winner(p, count);
        a->out->labels->data[v] = (float)exact[v];
        largest = exact[v] > largest ? exact[v] : exact[v] < -largest ? -exact[v] : largest;
    }
    if (largest > INT32_MAX)
        a->out->labels->type = CLVOX_TYPE_INT64;
    if (largest > 1 << 24)
        CLV_TRY(clv_labels_rank(a->out->labels, exact));
end:
    free(exact);
    for (int i = 0; labels && i < a->count; i++)
        clvox_volume_destroy(&labels[i]);
    free(labels);
    free(p);
    return status;
}
