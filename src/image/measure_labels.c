/* SPDX-License-Identifier: Apache-2.0 */
/* How large the labels of a map are, and where they lie. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/matrix.h"
#include "base/status.h"
#include "clvox/compare.h"
#include "io/volume/labels.h"

/* More are no label map but an image. */
enum { MOST_LABELS = 8192 };

/* Rows in ascending order of their labels; sums of the voxels' indices until the end. */
typedef struct table {
    clvox_label_measure *row;
    int count, room;
} table;

/* The row of a label, made where there is none. */
static int find(table *t, int64_t label, clvox_label_measure **out)
{
    int low = 0, high = t->count;
    while (low < high) {
        const int middle = low + (high - low) / 2;
        if (t->row[middle].label < label)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == t->count || t->row[low].label != label) {
        if (t->count == MOST_LABELS)
            return clvox_fail(CLVOX_ERROR_DATA, "there are more than %d labels; is this a label map?",
                              MOST_LABELS);
        if (t->count == t->room) {
            clvox_label_measure *grown = reallocarray(t->row, (size_t)t->room + 256, sizeof *grown);
            if (!grown)
                return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory for the table of labels");
            t->row = grown;
            t->room += 256;
        }
        for (int i = t->count++; i > low; i--)
            t->row[i] = t->row[i - 1];
        t->row[low] = (clvox_label_measure){.label = label};
    }
    *out = &t->row[low];
    return CLVOX_OK;
}

/* The label of a voxel; NaN and infinities are background. */
static int label_of(const clvox_volume *v, size_t at, int64_t *out)
{
    const double value = (double)v->data[at], whole = rint(value);
    *out = 0;
    if (!isfinite(value))
        return CLVOX_OK;
    if (fabs(value - whole) > 0.01)
        return clvox_fail(CLVOX_ERROR_DATA, "the value %g is no label: labels are whole numbers", value);
    if (!v->names && v->type != CLVOX_TYPE_FLOAT32 && fabs(whole) >= 0x1p24)
        return clvox_fail(
            CLVOX_ERROR_DATA,
            v->hint || v->kind == CLVOX_KIND_LABEL
                ? "there are too many labels beyond %d for them to be told apart; renumber them"
                : "there are labels beyond %d, which are only exact where the name of the file says that "
                  "it is a label map; rename it, as x_labels.nii.gz",
            1 << 24);
    if (fabs(whole) >= 0x1p62)
        return clvox_fail(CLVOX_ERROR_DATA, "there is a label %g; renumber it", value);
    *out = v->names ? clv_label_name(v, v->data[at]) : (int64_t)whole;
    return CLVOX_OK;
}

static int gather(const clvox_volume *v, table *t)
{
    int status = CLVOX_OK;
    const int *size = v->grid.size;
    size_t at = 0;
    clvox_label_measure *row = NULL;
    for (int z = 0; z < size[2]; z++)
        for (int y = 0; y < size[1]; y++)
            for (int x = 0; x < size[0]; x++, at++) {
                int64_t label;
                CLV_TRY(label_of(v, at, &label));
                if (!label)
                    continue;
                if (!row || row->label != label)
                    CLV_TRY(find(t, label, &row));
                row->voxels++;
                row->centroid[0] += x;
                row->centroid[1] += y;
                row->centroid[2] += z;
            }
end:
    return status;
}

void clvox_label_measure_destroy(clvox_label_measure **rows)
{
    if (rows) {
        free(*rows);
        *rows = NULL;
    }
}

int clvox_labels_measure(const clvox_volume *labels, clvox_label_measure **out)
{
    CLV_GIVEN(labels, out);
    int status;
    table t = {.row = NULL};
    *out = NULL;
    if (!labels->data)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "there is no label map");
    if (labels->frames != 1)
        return clvox_fail(CLVOX_ERROR_ARGUMENT,
                          "a label map has one value per voxel, this has %d; take one volume of it by "
                          "`clvox apply --frame N`",
                          labels->frames);
    const double volume = fabs(clv_matrix_determinant(labels->grid.to_ras));
    CLV_TRY(gather(labels, &t));
    for (int i = 0; i < t.count; i++) {
        clvox_label_measure *row = &t.row[i];
        double index[3];
        for (int a = 0; a < 3; a++)
            index[a] = row->centroid[a] / (double)row->voxels;
        clv_matrix_apply(labels->grid.to_ras, index, row->centroid);
        row->mm3 = (double)row->voxels * volume;
    }
    if (!t.count) { /* so that no rows are no failure */
        t.row = calloc(1, sizeof *t.row);
        if (!t.row)
            status = clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory for the table of labels");
    }
    CLV_TRY(status);
    *out = t.row;
    return t.count;
end:
    free(t.row);
    return status;
}
