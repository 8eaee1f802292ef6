/* SPDX-License-Identifier: Apache-2.0 */
#include "image/outliers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "clvox/threads.h"

/* So many voxels are few (a cube of 3 x 3 x 3 is an object), but one in LARGE of a large image, and of a
 * small one no more than one in SMALL. */
enum { FEW = 27, MOST = 255, LARGE = 100000, SMALL = 50 };
/* Ranges of all others. */
static const float FAR = 2;

/* The brightest values of a part of a frame, a heap whose first is the least of them; and the darkest,
 * negated. */
typedef struct tails {
    int count[2];
    float value[2][MOST + 1];
} tails;

typedef struct search {
    const float *values;
    size_t n, each; /* of a part */
    int room;
    tails *parts;
} search;

static void sift_down(float *heap, int count)
{
    for (int i = 0, child = 1; child < count; i = child, child = 2 * i + 1) {
        child += child + 1 < count && heap[child + 1] < heap[child];
        if (heap[i] <= heap[child])
            break;
        const float v = heap[i];
        heap[i] = heap[child];
        heap[child] = v;
    }
}

static void add(tails *t, int side, int room, float v)
{
    float *heap = t->value[side];
    if (t->count[side] == room) {
        heap[0] = v;
        sift_down(heap, room);
        return;
    }
    int i = t->count[side]++;
    for (; i > 0 && heap[(i - 1) / 2] > v; i = (i - 1) / 2)
        heap[i] = heap[(i - 1) / 2];
    heap[i] = v;
}

static bool belongs(const tails *t, int side, int room, float v)
{
    return t->count[side] < room || v > t->value[side][0];
}

static int find_tails(void *user, size_t part, int worker)
{
    const search *s = user;
    tails *t = &s->parts[part];
    const size_t end = (part + 1) * s->each < s->n ? (part + 1) * s->each : s->n;
    (void)worker;
    t->count[0] = t->count[1] = 0;
    for (size_t i = part * s->each; i < end; i++)
        for (int side = 0; side < 2; side++) {
            const float v = side ? -s->values[i] : s->values[i];
            if (belongs(t, side, s->room, v) && isfinite(v))
                add(t, side, s->room, v);
        }
    return CLVOX_OK;
}

static float largest(const float *values, int count)
{
    float most = -INFINITY;
    for (int i = 0; i < count; i++)
        most = fmaxf(most, values[i]);
    return most;
}

int clv_outliers_find(const clvox_volume *frame, float *low, float *high, bool *far)
{
    int status = CLVOX_OK;
    const size_t n = clvox_grid_voxels(&frame->grid), parts = (size_t)frame->grid.size[2];
    size_t few = n / LARGE > FEW ? n / LARGE : FEW;
    few = few < MOST ? few : MOST;
    few = few < n / SMALL ? few : n / SMALL;
    search s = {frame->data, n, n / parts, (int)few + 1, malloc(parts * sizeof *s.parts)};
    *far = false;
    if (!s.parts)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    CLV_TRY(clvox_parallel(parts, find_tails, &s));
    tails *all = &s.parts[0];
    for (size_t p = 1; p < parts; p++)
        for (int side = 0; side < 2; side++)
            for (int i = 0; i < s.parts[p].count[side]; i++)
                if (belongs(all, side, s.room, s.parts[p].value[side][i]))
                    add(all, side, s.room, s.parts[p].value[side][i]);
    if (all->count[0] < s.room)
        goto end;
    *high = all->value[0][0];
    *low = -all->value[1][0];
    const float range = *high - *low, above = largest(all->value[0], s.room) - *high,
                below = largest(all->value[1], s.room) + *low;
    *far = range > 0 && (above > FAR * range || below > FAR * range);
end:
    free(s.parts);
    return status;
}

int clv_outliers_clip(const clvox_volume *frame, clvox_volume **out)
{
    int status = CLVOX_OK;
    float low, high;
    bool far;
    *out = NULL;
    CLV_TRY(clv_outliers_find(frame, &low, &high, &far));
    if (!far)
        goto end;
    CLV_TRY(clvox_volume_create(&frame->grid, 1, frame->kind, out));
    (*out)->type = frame->type;
    for (size_t i = 0, n = clvox_grid_voxels(&frame->grid); i < n; i++) {
        const float v = frame->data[i];
        (*out)->data[i] = v < low ? low : v > high ? high : v;
    }
end:
    return status;
}
