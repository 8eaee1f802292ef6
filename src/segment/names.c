/* SPDX-License-Identifier: Apache-2.0 */
#include "segment/names.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "io/volume/labels.h"

/* More are no label map but an image. */
enum { MOST_LABELS = 8192 };

/* The place of a name, or where it would go. */
static int find(const clv_names *n, int64_t name)
{
    int low = 0, high = n->count;
    while (low < high) {
        const int middle = low + (high - low) / 2;
        if (n->name[middle] < name)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static int64_t name_of(const clvox_volume *labels, float value)
{
    return isfinite(value) ? clv_label_name(labels, rintf(value)) : 0;
}

static int add(clv_names *n, int64_t name)
{
    const int at = find(n, name);
    if (at < n->count && n->name[at] == name)
        return CLVOX_OK;
    if (n->count == MOST_LABELS)
        return clvox_fail(CLVOX_ERROR_DATA, "there are more than %d labels; is this a label map?",
                          MOST_LABELS);
    int64_t *grown = clv_grown(n->name, n->count, &n->room, sizeof *grown);
    if (!grown)
        return CLVOX_ERROR_MEMORY;
    n->name = grown;
    memmove(grown + at + 1, grown + at, (size_t)(n->count++ - at) * sizeof *grown);
    grown[at] = name;
    return CLVOX_OK;
}

int clv_names_add(clv_names *n, const clvox_volume *labels)
{
    const size_t voxels = clvox_grid_voxels(&labels->grid);
    int status = add(n, 0);
    float last = 0;
    for (size_t i = 0; status >= 0 && i < voxels; i++) {
        const float value = labels->data[i];
        if (value == last)
            continue;
        if (isfinite(value) && fabsf(value - rintf(value)) > .01f)
            return clvox_fail(CLVOX_ERROR_DATA, "the value %g is no label: labels are whole numbers",
                              (double)value);
        status = add(n, name_of(labels, value));
        last = value;
    }
    return status;
}

int clv_names_join(clv_names *names, const clv_names *others)
{
    int status = CLVOX_OK;
    for (int i = 0; i < others->count && status >= 0; i++)
        status = add(names, others->name[i]);
    return status;
}

void clv_names_number(const clv_names *n, const clvox_volume *labels, uint16_t *out)
{
    const size_t voxels = clvox_grid_voxels(&labels->grid);
    float last = 0;
    uint16_t number = (uint16_t)find(n, 0);
    for (size_t i = 0; i < voxels; i++) {
        const float value = labels->data[i];
        if (value != last) {
            number = (uint16_t)find(n, name_of(labels, value));
            last = value;
        }
        out[i] = number;
    }
}

void clv_names_free(clv_names *n)
{
    free(n->name);
    *n = (clv_names){.count = 0};
}
