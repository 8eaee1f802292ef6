/* SPDX-License-Identifier: Apache-2.0 */
/* Most voxels need no vote: all atlases have one label around them. The others are listed, in a box around
 * them that goes through the device in slabs. */
#include "segment/fuse.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "clvox/threads.h"
#include "op/label/vote.h"
#include "runtime/device/gate.h"
#include "segment/refine.h"

/* Reach of the search and of the votes around a voxel; ridge of weights, width of patches' votes, strength of
 * intensities: chosen on a few heads and hippocampi (doc/segment.md). */
typedef struct setting {
    int search, reach;
    bool weights, joint;
    float ridge, width, intensity;
} setting;

static const setting settings[] = {
    [CLVOX_SEGMENT_MAJORITY] = {.search = 0},
    [CLVOX_SEGMENT_LOCAL] = {.search = 0, .reach = 1, .weights = true, .ridge = .01f},
    [CLVOX_SEGMENT_PATCH] = {.search = 1, .width = .5f},
    [CLVOX_SEGMENT_JOINT] = {.search = 1, .reach = 2, .weights = true, .joint = true,
                             .ridge = .3f, .intensity = .3f},
};

enum { INTENSITY_REACH = 4 };

/* ---- voxels that need a vote ----------------------------------------------- */

typedef struct spreading {
    const int *size;
    int axis, reach;
    uint16_t *low, *high;
} spreading;

/* Smallest and largest within reach along the axis, of one plane across another one. */
static int spread_plane(void *user, size_t index, int worker)
{
    const spreading *s = user;
    const int *size = s->size, n = size[s->axis], u = (s->axis + 1) % 3, v = (s->axis + 2) % 3;
    const size_t stride[3] = {1, (size_t)size[0], (size_t)size[0] * (size_t)size[1]}, along = stride[s->axis];
    uint16_t *line = clv_array(2 * (size_t)n, sizeof *line);
    (void)worker;
    if (!line)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    for (int i = 0; i < size[u]; i++) {
        const size_t first = (size_t)i * stride[u] + index * stride[v];
        for (int k = 0; k < n; k++) {
            line[k] = s->low[first + (size_t)k * along];
            line[n + k] = s->high[first + (size_t)k * along];
        }
        for (int k = 0; k < n; k++) {
            uint16_t low = line[k], high = line[n + k];
            for (int w = k < s->reach ? 0 : k - s->reach; w <= k + s->reach && w < n; w++) {
                low = line[w] < low ? line[w] : low;
                high = line[n + w] > high ? line[n + w] : high;
            }
            s->low[first + (size_t)k * along] = low;
            s->high[first + (size_t)k * along] = high;
        }
    }
    free(line);
    return CLVOX_OK;
}

typedef struct marking {
    const clv_fusion *fusion;
    int set;
    uint16_t *low, *high;
    bool *marked;
} marking;

static int range_of_plane(void *user, size_t index, int worker)
{
    const marking *m = user;
    const int *size = m->fusion->size;
    const size_t plane = (size_t)size[0] * (size_t)size[1];
    const clv_fuse_set *set = &m->fusion->set[m->set];
    (void)worker;
    for (size_t i = index * plane; i < (index + 1) * plane; i++) {
        uint16_t low = CLV_FUSE_NONE, high = 0;
        for (int k = 0; k < m->fusion->atlases; k++) {
            const uint16_t at = set->atlas[k][i];
            if (at == CLV_FUSE_NONE)
                continue;
            low = at < low ? at : low;
            high = at > high ? at : high;
        }
        m->low[i] = set->out[i] = low;
        m->high[i] = high;
        set->share[i] = low != CLV_FUSE_NONE;
    }
    return CLVOX_OK;
}

/* Marks voxels within reach of which atlases differ in a set. */
static int mark(const marking *m, int reach)
{
    int status = CLVOX_OK;
    const int *size = m->fusion->size;
    const size_t n = (size_t)size[0] * (size_t)size[1] * (size_t)size[2];
    CLV_TRY(clvox_parallel((size_t)size[2], range_of_plane, (void *)m));
    for (int axis = 0; axis < 3; axis++)
        CLV_TRY(clvox_parallel((size_t)size[(axis + 2) % 3], spread_plane,
                               &(spreading){size, axis, reach, m->low, m->high}));
    for (size_t i = 0; i < n; i++)
        m->marked[i] |= m->low[i] < m->high[i];
end:
    return status;
}

/* ---- a slab ----------------------------------------------------------------- */

/* A part of the head on the device, margins included: voxel (0, 0, 0) of it is voxel `from` of the head. */
typedef struct slab {
    const clv_fusion *fusion;
    const setting *how;
    const bool *marked;
    uint16_t *second[CLV_FUSE_SETS]; /* of the head: what refining needs; NULL: it is not asked for */
    float *other[CLV_FUSE_SETS];
    int from[3];
    clv_label_stack stack;
    float *images;
    int32_t *labels[CLV_FUSE_SETS], *place, *list;
    clv_label_list listed;
    clv_buffer *label_buffer[CLV_FUSE_SETS];
    clv_label_voters voters;
    clv_buffer *out, *share;
} slab;

/* Place in the head of a slab's voxel, each coordinate clamped; *inside: it was none of them. */
static size_t place_of(const slab *s, int x, int y, int z, bool *inside)
{
    const int *n = s->fusion->size, p[3] = {x + s->from[0], y + s->from[1], z + s->from[2]};
    int c[3];
    *inside = true;
    for (int a = 0; a < 3; a++) {
        c[a] = p[a] < 0 ? 0 : p[a] >= n[a] ? n[a] - 1 : p[a];
        *inside = *inside && c[a] == p[a];
    }
    return ((size_t)c[2] * (size_t)n[1] + (size_t)c[1]) * (size_t)n[0] + (size_t)c[0];
}

/* A plane of the head (volume 0) or of an atlas. */
static int fill_plane(void *user, size_t index, int worker)
{
    const slab *s = user;
    const int *n = s->stack.size, z = (int)(index % (size_t)n[2]);
    const size_t volume = index / (size_t)n[2], voxels = (size_t)n[0] * (size_t)n[1] * (size_t)n[2];
    const float *from = volume ? s->fusion->images[volume - 1] : s->fusion->head;
    float *to = s->images ? s->images + volume * voxels : NULL;
    size_t i = (size_t)n[0] * (size_t)n[1] * (size_t)z;
    bool inside;
    (void)worker;
    for (int y = 0; y < n[1]; y++)
        for (int x = 0; x < n[0]; x++, i++) {
            const size_t at = place_of(s, x, y, z, &inside);
            if (to)
                to[i] = isfinite(from[at]) ? from[at] : 0;
            for (int k = 0; volume && k < s->fusion->sets; k++) {
                const uint16_t label = s->fusion->set[k].atlas[volume - 1][at];
                s->labels[k][(volume - 1) * voxels + i] = inside && label != CLV_FUSE_NONE ? label : -1;
            }
        }
    return CLVOX_OK;
}

/* Marked voxels outside the margins are listed. */
static void fill_list(slab *s)
{
    const int *n = s->stack.size, margin = clv_label_margin(s->how->search);
    int32_t i = 0;
    bool inside;
    s->listed.count = 0;
    for (int z = 0; z < n[2]; z++)
        for (int y = 0; y < n[1]; y++)
            for (int x = 0; x < n[0]; x++, i++) {
                const size_t at = place_of(s, x, y, z, &inside);
                const bool within = x >= margin && y >= margin && z >= margin && x < n[0] - margin &&
                                    y < n[1] - margin && z < n[2] - margin;
                s->place[i] = !inside ? -2 : -1;
                if (inside && within && s->marked[at]) {
                    s->place[i] = s->listed.count;
                    s->list[s->listed.count++] = i;
                }
            }
}

enum { REQUESTS = 10 };

/* What the slab asks of the device, for `listed` voxels. */
static int list_requests(slab *s, size_t listed, clv_request requests[REQUESTS])
{
    const int *n = s->stack.size, atlases = s->stack.atlases;
    const size_t voxels = (size_t)n[0] * (size_t)n[1] * (size_t)n[2];
    const bool images = s->how->weights || s->how->width > 0;
    int count = 0;
    if (images) {
        requests[count++] =
            (clv_request){&s->stack.images, clv_label_images_bytes(n, atlases), "head and atlases"};
        requests[count++] = (clv_request){
            &s->stack.moments, 2 * sizeof(float) * voxels * (size_t)(atlases + 1), "moments of patches"};
    }
    if (s->how->weights) {
        requests[count++] =
            (clv_request){&s->voters.weights, sizeof(float) * listed * (size_t)atlases, "weights of atlases"};
        requests[count++] =
            (clv_request){&s->voters.shifts, sizeof(int32_t) * listed * (size_t)atlases, "shifts of atlases"};
    }
    for (int k = 0; k < s->fusion->sets; k++)
        requests[count++] = (clv_request){&s->label_buffer[k], sizeof(int32_t) * voxels * (size_t)atlases,
                                          "labels of atlases"};
    requests[count++] = (clv_request){&s->voters.place, sizeof(int32_t) * voxels, "numbers of voxels"};
    requests[count++] = (clv_request){&s->listed.at, sizeof(int32_t) * listed, "list of voxels"};
    requests[count++] = (clv_request){&s->out, 2 * sizeof(int32_t) * listed, "fused labels"};
    requests[count++] = (clv_request){&s->share, 2 * sizeof(float) * listed, "shares of votes"};
    return count;
}

static int send(clvox_context *ctx, const slab *s)
{
    int status = CLVOX_OK;
    const int *n = s->stack.size;
    const size_t voxels = (size_t)n[0] * (size_t)n[1] * (size_t)n[2];
    if (s->images)
        CLV_TRY(
            clv_buffer_send(ctx, s->stack.images, s->images, clv_label_images_bytes(n, s->stack.atlases)));
    for (int k = 0; k < s->fusion->sets; k++)
        CLV_TRY(clv_buffer_send(ctx, s->label_buffer[k], s->labels[k],
                                sizeof(int32_t) * voxels * (size_t)s->stack.atlases));
    CLV_TRY(clv_buffer_write(ctx, s->voters.place, 0, s->place, sizeof(int32_t) * voxels));
    status = clv_buffer_write(ctx, s->listed.at, 0, s->list, sizeof(int32_t) * (size_t)s->listed.count);
end:
    return status;
}

/* Takes over the winners of planes first to end of the head. list and place are free by now, and so are
 * labels, of two atlases at least. */
static int take(clvox_context *ctx, const slab *s, int set, int first, int end_plane)
{
    int status = CLVOX_OK;
    const clv_fuse_set *to = &s->fusion->set[set];
    const int *n = s->stack.size, plane = n[0] * n[1];
    const int count = s->listed.count;
    int32_t *label = s->place;
    float *share = (float *)s->labels[set];
    CLV_TRY(clv_buffer_read(ctx, s->out, 0, label, 2 * sizeof *label * (size_t)count));
    CLV_TRY(clv_buffer_read(ctx, s->share, 0, share, 2 * sizeof *share * (size_t)count));
    for (int i = 0; i < count; i++) {
        bool inside;
        const int at = s->list[i], z = at / plane;
        const size_t voxel = place_of(s, at % n[0], at / n[0] % n[1], z, &inside);
        if (z + s->from[2] < first || z + s->from[2] >= end_plane)
            continue;
        to->out[voxel] = label[i] < 0 ? CLV_FUSE_NONE : (uint16_t)label[i];
        to->share[voxel] = share[i];
        if (s->second[set] && label[count + i] >= 0 && share[count + i] > 0) {
            s->second[set][voxel] = (uint16_t)label[count + i];
            s->other[set][voxel] = share[count + i];
        }
    }
end:
    return status;
}

static int fuse_slab(clvox_context *ctx, slab *s, int first, int end_plane)
{
    int status = CLVOX_OK, count = 0;
    const setting *how = s->how;
    clv_request requests[REQUESTS];
    CLV_TRY(clvox_parallel((size_t)(s->stack.atlases + 1) * (size_t)s->stack.size[2], fill_plane, s));
    fill_list(s);
    if (!s->listed.count)
        goto end;
    const int asked = list_requests(s, (size_t)s->listed.count, requests);
    CLV_TRY(clv_pool_take(ctx, requests, asked));
    count = asked;
    CLV_TRY(send(ctx, s));
    s->stack.labels = s->label_buffer[0];
    if (s->images)
        CLV_TRY(clv_label_moments(ctx, &s->stack));
    if (how->weights)
        CLV_TRY(clv_label_weights(ctx, &s->stack, &s->listed, how->joint, how->ridge, s->voters.weights,
                                  s->voters.shifts));
    for (int k = 0; k < s->fusion->sets; k++) {
        s->stack.labels = s->label_buffer[k];
        if (how->width > 0)
            CLV_TRY(clv_label_vote_patches(ctx, &s->stack, &s->listed, how->width, s->out, s->share));
        else
            CLV_TRY(clv_label_vote(ctx, &s->stack, &s->listed, &s->voters, s->out, s->share));
        CLV_TRY(take(ctx, s, k, first, end_plane));
    }
end:
    clv_pool_release(requests, count);
    return status;
}

/* ---- all of it -------------------------------------------------------------- */

/* The box around marked voxels; false: there are none. */
static bool find_box(const clv_fusion *f, const bool *marked, int low[3], int high[3])
{
    const int *n = f->size;
    size_t i = 0;
    for (int a = 0; a < 3; a++) {
        low[a] = n[a];
        high[a] = -1;
    }
    for (int z = 0; z < n[2]; z++)
        for (int y = 0; y < n[1]; y++)
            for (int x = 0; x < n[0]; x++, i++) {
                const int p[3] = {x, y, z};
                for (int a = 0; a < 3 && marked[i]; a++) {
                    low[a] = p[a] < low[a] ? p[a] : low[a];
                    high[a] = p[a] > high[a] ? p[a] : high[a];
                }
            }
    return high[0] >= 0;
}

/* Sets the slab's size for so many planes of the head, and says whether the device holds it. */
static bool fits(const clvox_context *ctx, slab *s, const int low[3], const int high[3], int planes)
{
    const int margin = clv_label_margin(s->how->search), around = margin + s->how->reach;
    const size_t most = clvox_context_limits(ctx)->max_allocation;
    clv_request requests[REQUESTS];
    for (int a = 0; a < 2; a++)
        s->stack.size[a] = high[a] - low[a] + 1 + 2 * margin;
    s->stack.size[2] = planes + 2 * around;
    const double voxels = (double)s->stack.size[0] * s->stack.size[1] * s->stack.size[2];
    if (voxels * (s->stack.atlases + 1) > INT32_MAX)
        return false;
    const int count = list_requests(s, (size_t)voxels, requests);
    for (int i = 0; i < count; i++)
        if (most && requests[i].bytes > most)
            return false;
    return clv_pool_bytes(requests, count) <= clv_context_room(ctx);
}

static int make_room(slab *s)
{
    const size_t voxels = (size_t)s->stack.size[0] * (size_t)s->stack.size[1] * (size_t)s->stack.size[2];
    bool room = true;
    if (s->how->weights || s->how->width > 0) {
        s->images = calloc(1, clv_label_images_bytes(s->stack.size, s->stack.atlases));
        room = s->images != NULL;
    }
    for (int k = 0; k < s->fusion->sets; k++) {
        s->labels[k] = clv_array(clv_times(voxels, (size_t)s->stack.atlases), sizeof *s->labels[k]);
        room = room && s->labels[k];
    }
    s->place = clv_array(clv_times(2, voxels), sizeof *s->place); /* and two labels each */
    s->list = clv_array(voxels, sizeof *s->list);
    return room && s->place && s->list ? CLVOX_OK : clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
}

static int fuse_box(clvox_context *ctx, slab *s, const int low[3], const int high[3])
{
    int status = CLVOX_OK;
    const int margin = clv_label_margin(s->how->search), all = high[2] - low[2] + 1;
    int planes = s->fusion->planes ? s->fusion->planes : all;
    while (!fits(ctx, s, low, high, planes) && planes > 1)
        planes = (planes + 1) / 2;
    CLV_TRY(make_room(s));
    for (int a = 0; a < 2; a++)
        s->from[a] = low[a] - margin;
    for (int first = low[2]; first <= high[2]; first += planes) {
        s->from[2] = first - margin - s->how->reach;
        CLV_TRY(fuse_slab(ctx, s, first, first + planes));
    }
end:
    free(s->images);
    for (int k = 0; k < s->fusion->sets; k++)
        free(s->labels[k]);
    free(s->place);
    free(s->list);
    return status;
}

static int begin_refining(slab *s, int set, size_t n)
{
    s->second[set] = clv_array(n, sizeof **s->second);
    s->other[set] = clv_array(n, sizeof **s->other);
    if (!s->second[set] || !s->other[set])
        return clv_out_of_memory();
    memset(s->second[set], 0xFF, n * sizeof **s->second);
    return CLVOX_OK;
}

static int refine(const slab *s, int set)
{
    const clv_fusion *f = s->fusion;
    return clv_refine(&(clv_refining){.size = {f->size[0], f->size[1], f->size[2]},
                                      .reach = INTENSITY_REACH,
                                      .head = f->head,
                                      .strength = s->how->intensity,
                                      .label = f->set[set].out,
                                      .second = s->second[set],
                                      .share = f->set[set].share,
                                      .other = s->other[set]});
}

int clv_fuse(clvox_context *ctx, const clv_fusion *f)
{
    int status = CLVOX_OK, low[3], high[3];
    const setting *how = &settings[f->method];
    const size_t n = (size_t)f->size[0] * (size_t)f->size[1] * (size_t)f->size[2];
    bool *marked = calloc(n, sizeof *marked);
    uint16_t *ends = clv_array(clv_times(2, n), sizeof *ends);
    slab s = {.fusion = f,
              .how = how,
              .marked = marked,
              .stack = {.atlases = f->atlases, .search = how->search},
              .voters = {.reach = how->reach}};
    if (!marked || !ends) {
        status = clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
        goto end;
    }
    for (int k = 0; k < f->sets; k++)
        CLV_TRY(mark(&(marking){f, k, ends, ends + n, marked}, how->search + how->reach));
    for (int k = 0; k < f->sets; k++)
        if (how->intensity > 0 && f->set[k].by_intensity)
            CLV_TRY(begin_refining(&s, k, n));
    if (find_box(f, marked, low, high))
        CLV_TRY(fuse_box(ctx, &s, low, high));
    for (int k = 0; k < f->sets; k++)
        if (s.second[k])
            CLV_TRY(refine(&s, k));
end:
    for (int k = 0; k < f->sets; k++) {
        free(s.second[k]);
        free(s.other[k]);
    }
    free(marked);
    free(ends);
    return status;
}
