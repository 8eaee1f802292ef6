/* SPDX-License-Identifier: Apache-2.0 */
#include "clvox/posteriors.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "clvox/threads.h"

/* Sums may lie above one by this share, which interpolation and rounding take them to, and values below 0. */
static const double ABOVE = .05, BELOW = .01;

/* Labels that are told apart while tissues are counted. */
enum { MOST_LABELS = 4096 };

static const char *const sides[2] = {"fixed", "moving"};

/* The tissues of one image. */
typedef struct source {
    const clvox_volume *volume;
    const char *name;
    bool labels;
    int64_t tissue[MOST_LABELS]; /* ascending */
    int tissues;
    double certain;
} source;

static bool is_label_map(const clvox_volume *v)
{
    return v->kind == CLVOX_KIND_LABEL || v->names || (v->frames == 1 && v->hint != CLVOX_LABELS_NONE);
}

/* The label of a value, 0 for what is none. */
static int64_t label_of(const clvox_volume *v, float value)
{
    if (!isfinite(value) || value != rintf(value))
        return 0;
    if (v->names)
        return value >= 0 && value < (float)v->name_count ? v->names[(int)value] : 0;
    return (int64_t)value;
}

/* The place of a label in the list, or where it belongs. */
static int place_of(const source *s, int64_t label)
{
    int low = 0, high = s->tissues;
    while (low < high) {
        int middle = (low + high) / 2;
        if (s->tissue[middle] < label)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static int list_labels(source *s)
{
    const size_t n = clvox_grid_voxels(&s->volume->grid);
    int64_t last = 0;
    for (size_t i = 0; i < n; i++) {
        int64_t label = label_of(s->volume, s->volume->data[i]);
        if (label == 0 || label == last)
            continue;
        int at = place_of(s, label);
        last = label;
        if (at < s->tissues && s->tissue[at] == label)
            continue;
        if (s->tissues == MOST_LABELS)
            return clvox_fail(CLVOX_ERROR_DATA, "%s labels: more than %d of them; they are no tissues",
                              s->name, MOST_LABELS);
        memmove(s->tissue + at + 1, s->tissue + at, (size_t)(s->tissues - at) * sizeof *s->tissue);
        s->tissue[at] = label;
        s->tissues++;
    }
    s->certain = 1;
    return CLVOX_OK;
}

static double value_of(float v)
{
    return isfinite(v) ? (double)v : 0;
}

/* Unit in which values are counted, from the largest sum; 0: none. */
static double scale_of(double largest)
{
    static const double certain[] = {1, 100, 255}, least[] = {0, .5, .9};
    for (int i = 0; i < 3; i++)
        if (largest <= (1 + ABOVE) * certain[i] && largest >= least[i] * certain[i])
            return certain[i];
    return 0;
}

static int list_frames(source *s)
{
    const size_t n = clvox_grid_voxels(&s->volume->grid);
    double largest = 0, least = 0;
    bool there[MOST_LABELS] = {false};
    if (s->volume->frames > MOST_LABELS)
        return clvox_fail(CLVOX_ERROR_DATA, "%s posteriors: %d volumes are no tissues", s->name,
                          s->volume->frames);
    for (size_t i = 0; i < n; i++) {
        double sum = 0;
        for (int k = 0; k < s->volume->frames; k++) {
            double v = value_of(s->volume->data[(size_t)k * n + i]);
            there[k] = there[k] || v > 0;
            least = fmin(least, v);
            sum += fmax(v, 0);
        }
        largest = fmax(largest, sum);
    }
    s->certain = scale_of(largest);
    if (!(s->certain > 0))
        return clvox_fail(
            CLVOX_ERROR_DATA,
            "%s posteriors: the tissues add up to %g; they must add up to at most 1 (or 100 percent, "
            "or 255) in every voxel",
            s->name, largest);
    if (least < -BELOW * s->certain)
        return clvox_fail(CLVOX_ERROR_DATA,
                          "%s posteriors: %g is no probability; tissue probabilities are 0 or more", s->name,
                          least);
    for (int k = 0; k < s->volume->frames; k++)
        if (there[k])
            s->tissue[s->tissues++] = k + 1;
    return CLVOX_OK;
}

static int look_at(const clvox_volume *volume, int side, source *s)
{
    *s = (source){.volume = volume, .name = sides[side]};
    if (!volume || !volume->data || clvox_grid_voxels(&volume->grid) < 1)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "there are no %s posteriors", s->name);
    if (volume->kind == CLVOX_KIND_DISPLACEMENT || volume->kind == CLVOX_KIND_TENSOR ||
        volume->kind == CLVOX_KIND_COLOUR)
        return clvox_fail(CLVOX_ERROR_DATA, "%s posteriors: neither tissue probabilities nor labels",
                          s->name);
    s->labels = is_label_map(volume);
    return s->labels ? list_labels(s) : list_frames(s);
}

/* Frames of tissues, a slice at a time. */
typedef struct filling {
    const source *s;
    const clvox_posteriors *p;
    clvox_volume *out;
    double *rest; /* of each slice */
} filling;

static int fill(void *user, size_t z, int worker)
{
    const filling *f = user;
    const clvox_volume *v = f->s->volume;
    const size_t plane = (size_t)v->grid.size[0] * (size_t)v->grid.size[1], n = clvox_grid_voxels(&v->grid);
    double rest = 0;
    (void)worker;
    for (size_t i = z * plane; i < (z + 1) * plane; i++) {
        double sum = 0, common = 0, share;
        /* Tissues that are left out count: what all of them leave, and they, are the rest. */
        for (int k = 0; k < v->frames && !f->s->labels; k++)
            sum += fmax(value_of(v->data[(size_t)k * n + i]), 0) / f->s->certain;
        for (int k = 0; k < f->p->tissues; k++) {
            const int64_t tissue = f->p->tissue[k];
            if (f->s->labels)
                share = label_of(v, v->data[i]) == tissue;
            else
                share =
                    fmax(value_of(v->data[(size_t)(tissue - 1) * n + i]), 0) / f->s->certain / fmax(sum, 1);
            f->out->data[(size_t)k * n + i] = (float)share;
            common += share;
        }
        rest += fmax(0, 1 - common);
    }
    f->rest[z] = rest;
    return CLVOX_OK;
}

static int make(const source *s, const clvox_posteriors *p, clvox_volume **out, double *rest)
{
    int status = CLVOX_OK;
    filling f = {.s = s, .p = p, .rest = calloc((size_t)s->volume->grid.size[2], sizeof(double))};
    *rest = 0;
    if (!f.rest)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    CLV_TRY(clvox_volume_create(&s->volume->grid, p->tissues, CLVOX_KIND_SCALAR, out));
    f.out = *out;
    CLV_TRY(clvox_parallel((size_t)s->volume->grid.size[2], fill, &f));
    for (int z = 0; z < s->volume->grid.size[2]; z++)
        *rest += f.rest[z] / (double)clvox_grid_voxels(&s->volume->grid);
end:
    free(f.rest);
    return status;
}

/* Those that both have, ascending. */
static int match(const source s[2], clvox_posteriors *p)
{
    int common = 0;
    for (int i = 0; i < s[0].tissues; i++) {
        int at = place_of(&s[1], s[0].tissue[i]);
        if (at == s[1].tissues || s[1].tissue[at] != s[0].tissue[i])
            continue;
        if (common < CLVOX_MAX_TISSUES)
            p->tissue[common] = s[0].tissue[i];
        common++;
    }
    const char *what = s[0].labels && s[1].labels ? "label" : "tissue";
    if (common == 0)
        return clvox_fail(CLVOX_ERROR_DATA,
                          "the posteriors have no %s in common: %d in the fixed and %d in the moving ones",
                          what, s[0].tissues, s[1].tissues);
    if (common > CLVOX_MAX_TISSUES)
        return clvox_fail(CLVOX_ERROR_DATA,
                          "the posteriors have %d %ss in common; at most %d are possible: merge some", common,
                          what, CLVOX_MAX_TISSUES);
    p->tissues = common;
    for (int side = 0; side < 2; side++) {
        p->left_out[side] = s[side].tissues - common;
        p->certain[side] = s[side].certain;
    }
    return CLVOX_OK;
}

int clvox_posteriors_create(const clvox_volume *fixed, const clvox_volume *moving, clvox_posteriors *out)
{
    CLV_GIVEN(fixed, moving, out);
    int status = CLVOX_OK;
    source *s = malloc(2 * sizeof *s);
    *out = (clvox_posteriors){.tissues = 0};
    if (!s)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    CLV_TRY(look_at(fixed, 0, &s[0]));
    CLV_TRY(look_at(moving, 1, &s[1]));
    CLV_TRY(match(s, out));
    CLV_TRY(make(&s[0], out, &out->fixed, &out->rest[0]));
    CLV_TRY(make(&s[1], out, &out->moving, &out->rest[1]));
end:
    free(s);
    return status;
}

void clvox_posteriors_destroy(clvox_posteriors *p)
{
    if (!p)
        return;
    clvox_volume_destroy(&p->fixed);
    clvox_volume_destroy(&p->moving);
}
