/* SPDX-License-Identifier: Apache-2.0 */
/* Inside of a surface from the values of a volume. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/status.h"
#include "clvox/surface.h"
#include "io/volume/labels.h"

/* Description of the values. */
typedef struct look {
    bool negative, positive, fractions;
    float largest;
    int values;    /* different ones above 0, at most 2 */
    bool distance; /* across 0 values change as distances do */
} look;

/* Whether the values change across 0 by no more than voxels are apart. Noise may
 * make them steep here and there. */
static bool changes_as_distance(const clvox_volume *v)
{
    const int *n = v->grid.size;
    const size_t step[3] = {1, (size_t)n[0], (size_t)n[0] * (size_t)n[1]};
    size_t i = 0, crossings = 0, steep = 0;
    double edge[3];
    clvox_grid_spacing(&v->grid, edge);
    for (int z = 0; z < n[2]; z++)
        for (int y = 0; y < n[1]; y++)
            for (int x = 0; x < n[0]; x++, i++) {
                const int at[3] = {x, y, z};
                for (int a = 0; a < 3; a++) {
                    if (at[a] + 1 >= n[a] || (v->data[i] < 0) == (v->data[i + step[a]] < 0))
                        continue;
                    crossings++;
                    steep += !(fabs((double)v->data[i] - (double)v->data[i + step[a]]) <= 1.5 * edge[a]);
                }
            }
    return crossings && steep <= crossings / 2;
}

static look look_at(const clvox_volume *v)
{
    look l = {.largest = -INFINITY};
    float first = 0;
    for (size_t i = 0; i < clvox_grid_voxels(&v->grid); i++) {
        float x = v->data[i];
        if (!isfinite(x))
            continue;
        l.negative |= x < 0;
        l.positive |= x > 0;
        l.fractions |= x != rintf(x);
        l.largest = fmaxf(l.largest, x);
        if (x > 0 && l.values < 2 && (l.values == 0 || x != first)) {
            first = x;
            l.values++;
        }
    }
    l.distance = l.negative && l.positive && l.fractions && changes_as_distance(v);
    return l;
}

static bool is_inside(const clvox_volume *v, const clvox_inside *inside, float x)
{
    return inside->kind == CLVOX_INSIDE_LABEL ? clv_label_name(v, x) == inside->label && x == rintf(x) : x > 0;
}

static bool needs_mask(const clvox_inside *inside)
{
    return inside->kind <= CLVOX_INSIDE_LABEL;
}

/* A mask has something inside and something outside. */
static int check_sides(const clvox_volume *v, const clvox_inside *inside)
{
    size_t count = 0, voxels = clvox_grid_voxels(&v->grid);
    for (size_t i = 0; i < voxels; i++)
        count += is_inside(v, inside, v->data[i]);
    if (count == 0 || count == voxels)
        return clvox_fail(CLVOX_ERROR_DATA, "%s of its voxels lie inside (%s); there is no surface",
                          count ? "all" : "none", inside->text);
    return CLVOX_OK;
}

int clvox_inside_of(const clvox_volume *v, int label, double iso, clvox_inside *out)
{
    CLV_GIVEN(v, out);
    *out = (clvox_inside){.kind = CLVOX_INSIDE_IMAGE, .label = label, .level = iso, .above = 1};
    if (v->frames != 1)
        return clvox_fail(CLVOX_ERROR_DATA, "has %d volumes; extract one first", v->frames);
    if (label >= 0 && !isnan(iso))
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "a label and a value (iso): one or the other");
    if (label >= 0) {
        out->kind = CLVOX_INSIDE_LABEL;
        snprintf(out->text, sizeof out->text, "label %d", label);
    } else if (isnan(iso)) {
        const look l = look_at(v);
        const bool names = v->kind == CLVOX_KIND_LABEL;
        if (l.distance && !names) {
            out->kind = CLVOX_INSIDE_DISTANCE;
            out->level = out->above = 0;
            snprintf(out->text, sizeof out->text, "signed distance");
        } else if (!names && (l.negative || (l.fractions && l.largest > 1.0001f))) {
            return clvox_fail(CLVOX_ERROR_DATA,
                              "is neither a mask nor a signed distance; say by --iso VALUE above which value "
                              "its inside lies");
        } else if (l.fractions && !names) {
            /* A probability has its surface where it is a half. */
            out->kind = CLVOX_INSIDE_PROBABILITY;
            out->level = 0.5;
        } else {
            out->kind = l.values > 1 ? CLVOX_INSIDE_LABELS : CLVOX_INSIDE_MASK;
            snprintf(out->text, sizeof out->text, l.values > 1 ? "all labels above 0" : "mask");
        }
    }
    if (needs_mask(out))
        out->level = 0.5;
    if (!*out->text)
        snprintf(out->text, sizeof out->text, "image above %.6g", out->level);
    return needs_mask(out) ? check_sides(v, out) : CLVOX_OK;
}

int clvox_inside_mask(const clvox_volume *values, const clvox_inside *inside, clvox_volume **out)
{
    CLV_GIVEN(values, inside, out);
    *out = NULL;
    if (!needs_mask(inside))
        return CLVOX_OK;
    int status = clvox_volume_create(&values->grid, 1, CLVOX_KIND_SCALAR, out);
    for (size_t i = 0; status >= 0 && i < clvox_grid_voxels(&values->grid); i++)
        (*out)->data[i] = is_inside(values, inside, values->data[i]);
    return status;
}
