/* SPDX-License-Identifier: Apache-2.0 */
#include "io/volume/labels.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/status.h"

/* Recognising label maps. Among neighbours that are both inside, the labels of segmentations and parcellations
 * agree for 0.75 and more, the intensities of quantised T1 and T2 images for at most 0.13. */
enum { MOST_NAMES = 4096, SLOTS = 4 * MOST_NAMES, SAMPLE = 1 << 18 };
static const double SAME_BY_VALUES = 0.6, SAME_BY_NAME = 0.4;

/* Counts different values: an open hash. */
typedef struct counter {
    int64_t value[SLOTS];
    size_t times[SLOTS];
    int count;
} counter;

static size_t slot_of(const counter *c, int64_t value)
{
    size_t at = (size_t)((uint64_t)value * 0x9E3779B97F4A7C15u >> 50) % SLOTS;
    while (c->times[at] && c->value[at] != value)
        at = (at + 1) % SLOTS;
    return at;
}

/* false: there are more than label maps have. */
static bool count_value(counter *c, int64_t value)
{
    size_t at = slot_of(c, value);
    if (!c->times[at]) {
        if (c->count == MOST_NAMES)
            return false;
        c->value[at] = value;
        c->count++;
    }
    c->times[at]++;
    return true;
}

/* Every name of the aseg, the parcellations on it, white matter parcels and the subfields. */
static bool in_freesurfer_table(int64_t v)
{
    static const int range[][2] = {{0, 0}, {2, 5}, {7, 8}, {10, 18}, {24, 28}, {30, 31}, {41, 44}, {46, 54},
                                   {58, 60}, {62, 63}, {72, 72}, {77, 80}, {85, 85}, {203, 246}, {251, 255},
                                   {1000, 1035}, {2000, 2035}, {3000, 3035}, {4000, 4035}, {5001, 5002},
                                   {7001, 7020}, {11100, 11175}, {12100, 12175}, {13100, 13175}, {14100, 14175}};
    for (size_t i = 0; i < sizeof range / sizeof *range; i++)
        if (v >= range[i][0] && v <= range[i][1])
            return true;
    return false;
}

static bool of_freesurfer(const counter *c)
{
    for (int i = 0; i < SLOTS; i++)
        if (c->times[i] && !in_freesurfer_table(c->value[i]))
            return false;
    return c->count > 3;
}

/* aseg.nii, sub-01_dseg.nii.gz, aparc+aseg.mgz, labels.nii; probabilities are no labels. */
static bool named_so(const char *path)
{
    static const char *const parts[] = {"seg", "label", "parc", "atlas"};
    const char *slash = strrchr(path, '/');
    char name[256] = "";
    path = slash ? slash + 1 : path;
    for (size_t i = 0; path[i] && i + 1 < sizeof name; i++)
        name[i] = (char)tolower((unsigned char)path[i]);
    bool found = false;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        found |= strstr(name, parts[i]) != NULL;
    return found && !strstr(name, "prob");
}

/* In the rows that are looked at: the share of neighbours inside that are the same; -1: not whole, or too
 * many values. Inside is what is neither 0 nor the commonest value. */
static double share_of_same(const clvox_volume *v, counter *c)
{
    const size_t n = (size_t)v->grid.size[0], rows = clvox_grid_voxels(&v->grid) / n;
    const size_t step = clvox_grid_voxels(&v->grid) / SAMPLE + 1;
    size_t pairs = 0, same = 0, most = 0;
    int64_t commonest = 0;
    for (size_t r = 0; r < rows; r += step)
        for (size_t i = r * n; i < (r + 1) * n; i++)
            if (!(fabsf(v->data[i]) < 0x1p62f) || v->data[i] != rintf(v->data[i]) || v->data[i] < -1 ||
                !count_value(c, (int64_t)v->data[i]))
                return -1;
    for (int i = 0; i < SLOTS; i++)
        if (c->times[i] > most) {
            most = c->times[i];
            commonest = c->value[i];
        }
    for (size_t r = 0; r < rows; r += step)
        for (size_t i = r * n; i + 1 < (r + 1) * n; i++) {
            const int64_t a = (int64_t)v->data[i], b = (int64_t)v->data[i + 1];
            const bool inside = a && b && ((a != commonest && b != commonest) || c->count <= 2);
            pairs += inside;
            same += inside && a == b;
        }
    return pairs ? (double)same / (double)pairs : c->count > 1 ? 1 : 0;
}

clvox_label_hint clv_labels_hint(const char *path, bool whole, const clvox_volume *v)
{
    const size_t n = clvox_grid_voxels(&v->grid);
    const bool named = named_so(path);
    clvox_label_hint hint = CLVOX_LABELS_NONE;
    counter *c = v->kind == CLVOX_KIND_SCALAR && v->frames == 1 ? calloc(1, sizeof *c) : NULL;
    double same = c ? share_of_same(v, c) : -1;
    bool all = same >= SAME_BY_NAME;
    for (size_t i = 0; all && i < n; i++)
        all = fabsf(v->data[i]) < 0x1p62f && v->data[i] == rintf(v->data[i]) && v->data[i] >= -1 &&
              count_value(c, (int64_t)v->data[i]);
    if (all && c->count == 2 && whole && c->times[slot_of(c, 0)])
        hint = CLVOX_LABELS_MASK;
    else if (all && named && c->count > 1)
        hint = CLVOX_LABELS_NAME;
    else if (all && of_freesurfer(c))
        hint = CLVOX_LABELS_TABLE;
    else if (all && whole && c->count > 2 && same >= SAME_BY_VALUES)
        hint = CLVOX_LABELS_VALUES;
    free(c);
    return hint;
}

const char *clvox_label_reason(clvox_label_hint hint)
{
    static const char *const reasons[] = {"", "a mask: one value beside 0", "whole numbers, alike over regions",
                                          "the numbers of FreeSurfer's table",
                                          "its name, and whole numbers, alike over regions"};
    return hint >= CLVOX_LABELS_NONE && hint <= CLVOX_LABELS_NAME ? reasons[hint] : "";
}

/* ---- names -------------------------------------------------------------- */

static int ascending(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x == y ? 0 : x == 0 ? -1 : y == 0 ? 1 : x < y ? -1 : 1; /* 0 first */
}

int clv_labels_rank(clvox_volume *v, const int64_t *exact)
{
    int status = CLVOX_OK, used = 0;
    const size_t n = clvox_grid_voxels(&v->grid) * (size_t)v->frames;
    counter *c = calloc(1, sizeof *c);
    int64_t *names = calloc(MOST_NAMES + 1, sizeof *names);
    float *rank = calloc(SLOTS, sizeof *rank);
    bool few = true;
    if (!c || !names || !rank) {
        status = clvox_fail(CLVOX_ERROR_MEMORY, "out of memory for the names of labels");
        goto end;
    }
    for (size_t i = 0; few && i < n; i++)
        few = count_value(c, exact[i]);
    if (!few)
        goto end;
    names[used++] = 0;
    for (int i = 0; i < SLOTS; i++)
        if (c->times[i] && c->value[i])
            names[used++] = c->value[i];
    qsort(names, (size_t)used, sizeof *names, ascending);
    for (int i = 0; i < used; i++)
        rank[slot_of(c, names[i])] = (float)i;
    for (size_t i = 0; i < n; i++)
        v->data[i] = rank[slot_of(c, exact[i])];
    v->names = names;
    v->name_count = used;
    names = NULL;
end:
    free(c);
    free(names);
    free(rank);
    return status;
}

int clv_labels_take(const int64_t *exact, clvox_volume *labels)
{
    int64_t largest = 0;
    labels->type = CLVOX_TYPE_INT32;
    for (size_t v = 0; v < clvox_grid_voxels(&labels->grid); v++) {
        labels->data[v] = (float)exact[v];
        largest = exact[v] > largest ? exact[v] : exact[v] < -largest ? -exact[v] : largest;
    }
    if (largest > INT32_MAX)
        labels->type = CLVOX_TYPE_INT64;
    return largest > 1 << 24 ? clv_labels_rank(labels, exact) : CLVOX_OK;
}

float clv_label_value(const clvox_volume *v, int64_t name)
{
    if (!v->names)
        return (float)name;
    for (int i = 0; i < v->name_count; i++)
        if (v->names[i] == name)
            return (float)i;
    return -1;
}

int clv_labels_copy_names(const clvox_volume *from, const int64_t *add, clvox_volume *to)
{
    if (!from->names)
        return CLVOX_OK;
    to->names = clv_array((size_t)from->name_count + 1, sizeof *to->names);
    if (!to->names)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of memory for the names of labels");
    memcpy(to->names, from->names, (size_t)from->name_count * sizeof *to->names);
    to->name_count = from->name_count;
    if (add && clv_label_value(to, *add) < 0)
        to->names[to->name_count++] = *add;
    return CLVOX_OK;
}

int clv_labels_refuse(const clvox_volume *volume)
{
    if (volume->kind == CLVOX_KIND_LABEL)
        return clvox_fail(CLVOX_ERROR_ARGUMENT,
                          "labels are names and have no values to filter; give an image, not a label map");
    if (volume->hint > CLVOX_LABELS_MASK)
        return clvox_fail(
            CLVOX_ERROR_ARGUMENT,
            "it looks like a label map (%s), whose names have no values to filter; where they are "
            "intensities, store them as floats under another name",
            clvox_label_reason(volume->hint));
    return CLVOX_OK;
}
