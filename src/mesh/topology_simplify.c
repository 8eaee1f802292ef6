/* SPDX-License-Identifier: Apache-2.0 */
/* Holes, bridges, islands and cavities that a small shift of the level removes.
 * The set of phi < depth has lost the narrow holes and cavities, that of phi <
 * -depth the thin bridges and islands; both have other things lost and made as
 * well. Walked back to phi < 0 without a change of topology, each differs from it
 * only where such a change is held: clusters of voxels, tried one by one. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "mesh/topology.h"

/* Looks at the whole set in either direction: each that fails halves the clusters in doubt. */
enum { MOST_TRIALS = 64 };

typedef struct clusters {
    int32_t *place; /* voxels, cluster by cluster */
    int32_t *start; /* of each cluster, and one more */
    int count;
} clusters;

typedef struct work {
    const int *size;
    unsigned char *inside, *other;
    bool fill; /* adds voxels, else takes them away */
    clusters found;
    int *doubtful, doubts, trials;
    long flipped;
} work;

static int no_memory(void)
{
    return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory for the topology of a surface");
}

/* Neighbours of a voxel within the grid, those across faces first. */
static int around(const int size[3], int32_t i, int32_t to[26], int *faces)
{
    const int at[3] = {i % size[0], i / size[0] % size[1], i / size[0] / size[1]};
    int count = 0;
    for (int pass = 0; pass < 2; pass++) {
        for (int k = 0; k < 27; k++) {
            const int d[3] = {k % 3 - 1, k / 3 % 3 - 1, k / 9 - 1};
            bool face = d[0] * d[0] + d[1] * d[1] + d[2] * d[2] == 1, within = k != 13;
            for (int a = 0; a < 3; a++)
                within = within && at[a] + d[a] >= 0 && at[a] + d[a] < size[a];
            if (within && face == (pass == 0))
                to[count++] = i + (d[2] * size[1] + d[1]) * size[0] + d[0];
        }
        if (pass == 0)
            *faces = count;
    }
    return count;
}

/* Lists the clusters where the two sets differ in the direction of this work; leaves other 0. */
static int list_clusters(work *w)
{
    const int32_t n = w->size[0] * w->size[1] * w->size[2];
    size_t apart = 0;
    clusters *c = &w->found;
    for (int32_t i = 0; i < n; i++) {
        w->other[i] = w->other[i] != w->inside[i] && w->inside[i] != w->fill;
        apart += w->other[i];
    }
    free(c->place);
    free(c->start);
    free(w->doubtful);
    c->count = 0;
    c->place = malloc((apart + 1) * sizeof *c->place);
    c->start = malloc((apart + 1) * sizeof *c->start);
    w->doubtful = malloc((apart + 1) * sizeof *w->doubtful);
    if (!c->place || !c->start || !w->doubtful)
        return no_memory();
    int32_t filled = 0, to[26];
    for (int32_t i = 0; i < n; i++) {
        if (!w->other[i])
            continue;
        int faces;
        c->start[c->count++] = filled;
        w->other[i] = 0;
        c->place[filled++] = i;
        for (int32_t next = filled - 1; next < filled; next++)
            for (int k = 0, all = around(w->size, c->place[next], to, &faces); k < all; k++)
                if (w->other[to[k]]) {
                    w->other[to[k]] = 0;
                    c->place[filled++] = to[k];
                }
    }
    c->start[c->count] = filled;
    return CLVOX_OK;
}

static void flip(work *w, int cluster)
{
    for (int32_t k = w->found.start[cluster]; k < w->found.start[cluster + 1]; k++)
        w->inside[w->found.place[k]] ^= 1;
}

/* Whether voxels of the kind that the cluster becomes, or was, touch it. */
static void touching(work *w, int cluster, bool *new_kind, bool *old_kind)
{
    int32_t to[26];
    const int32_t first = w->found.start[cluster], last = w->found.start[cluster + 1];
    *new_kind = *old_kind = false;
    for (int32_t k = first; k < last; k++)
        w->other[w->found.place[k]] = 1;
    for (int32_t k = first; k < last; k++) {
        int faces, all = around(w->size, w->found.place[k], to, &faces);
        /* Beyond the grid all is outside. */
        if (all < 26)
            *(w->fill ? old_kind : new_kind) = true;
        for (int j = 0; j < all; j++) {
            bool in = w->inside[to[j]];
            if (!w->other[to[j]] && (j < faces || !in))
                *(in == w->fill ? new_kind : old_kind) = true;
        }
    }
    for (int32_t k = first; k < last; k++)
        w->other[w->found.place[k]] = 0;
}

/* By how much flipping the cluster changes the Euler number of the boundary. */
static int euler_change(work *w, int cluster, int *change)
{
    int status = CLVOX_OK, low[3], high[3] = {0, 0, 0}, size[3];
    clv_topology before = {0}, after = {0};
    unsigned char *part = NULL;
    memcpy(low, w->size, sizeof low);
    for (int32_t k = w->found.start[cluster]; k < w->found.start[cluster + 1]; k++) {
        int32_t i = w->found.place[k];
        const int at[3] = {i % w->size[0], i / w->size[0] % w->size[1], i / w->size[0] / w->size[1]};
        for (int a = 0; a < 3; a++) {
            low[a] = at[a] - 1 < low[a] ? at[a] - 1 : low[a];
            high[a] = at[a] + 1 > high[a] ? at[a] + 1 : high[a];
        }
    }
    for (int a = 0; a < 3; a++) {
        low[a] = low[a] > 0 ? low[a] : 0;
        high[a] = high[a] < w->size[a] ? high[a] : w->size[a] - 1;
        size[a] = high[a] - low[a] + 1;
    }
    part = malloc((size_t)size[0] * (size_t)size[1] * (size_t)size[2]);
    if (!part)
        return no_memory();
    for (int turn = 0; turn < 2; turn++, flip(w, cluster)) {
        unsigned char *to = part;
        for (int z = low[2]; z <= high[2]; z++)
            for (int y = low[1]; y <= high[1]; y++, to += size[0])
                memcpy(to, w->inside + (z * w->size[1] + y) * w->size[0] + low[0], (size_t)size[0]);
        CLV_TRY(clv_topology_count(size, part, 0, turn ? &after : &before));
    }
    *change = after.euler - before.euler;
end:
    free(part);
    return status;
}

/* Flips the doubtful clusters from first to last that close a loop: their Euler
 * change says so if no component goes or comes, of the inside or the outside. */
static int try_clusters(work *w, int first, int last, const clv_topology *was)
{
    clv_topology is;
    if (first >= last || w->trials >= MOST_TRIALS)
        return CLVOX_OK;
    w->trials++;
    for (int k = first; k < last; k++)
        flip(w, w->doubtful[k]);
    int status = clv_topology_count(w->size, w->inside, 0, &is);
    if (status < 0)
        return status;
    if (is.inside == was->inside && is.outside == was->outside) {
        for (int k = first; k < last; k++)
            w->flipped += w->found.start[w->doubtful[k] + 1] - w->found.start[w->doubtful[k]];
        return CLVOX_OK;
    }
    for (int k = first; k < last; k++)
        flip(w, w->doubtful[k]);
    if (last - first == 1)
        return CLVOX_OK;
    status = try_clusters(w, first, (first + last) / 2, was);
    return status < 0 ? status : try_clusters(w, (first + last) / 2, last, was);
}

static int one_way(work *w, const float *phi, float voxel, float depth, bool fill)
{
    int status = CLVOX_OK, change = 0;
    const size_t n = (size_t)w->size[0] * (size_t)w->size[1] * (size_t)w->size[2];
    size_t left = 0;
    long held;
    bool beside_new, beside_old;
    clv_topology was;
    w->fill = fill;
    w->doubts = w->trials = 0;
    for (size_t i = 0; i < n; i++)
        left += w->other[i] = phi[i] < (fill ? depth : -depth);
    if (!left || left == n)
        goto end;
    CLV_TRY(clv_topology_walk(w->size, w->other, phi, voxel, &held));
    CLV_TRY(list_clusters(w));
    for (int k = 0; k < w->found.count; k++) {
        touching(w, k, &beside_new, &beside_old);
        if (!beside_old) { /* all of an island or of a cavity */
            flip(w, k);
            w->flipped += w->found.start[k + 1] - w->found.start[k];
            continue;
        }
        CLV_TRY(euler_change(w, k, &change));
        if (beside_new && change > 0)
            w->doubtful[w->doubts++] = k;
    }
    if (w->doubts) {
        CLV_TRY(clv_topology_count(w->size, w->inside, 0, &was));
        CLV_TRY(try_clusters(w, 0, w->doubts, &was));
    }
end:
    return status;
}

int clv_topology_simplify(const int size[3], float voxel, float depth, float *phi, long *flipped)
{
    int status = CLVOX_OK;
    const size_t n = (size_t)size[0] * (size_t)size[1] * (size_t)size[2];
    work w = {.size = size, .inside = malloc(n), .other = malloc(n)};
    *flipped = 0;
    if (!w.inside || !w.other) {
        status = no_memory();
        goto end;
    }
    clv_topology_signs(n, phi, w.inside);
    CLV_TRY(one_way(&w, phi, voxel, depth, true));
    CLV_TRY(one_way(&w, phi, voxel, depth, false));
    if (w.flipped)
        clv_topology_impose(size, w.inside, voxel, phi);
    *flipped = w.flipped;
end:
    free(w.inside);
    free(w.other);
    free(w.doubtful);
    free(w.found.place);
    free(w.found.start);
    return status;
}
