/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of what labels a head by atlases, as `clvox segment` does: all voxels of a quarter of each
 * side are in doubt. */
#include <math.h>
#include <stdlib.h>

#include "bench/rows/check.h"
#include "op/label/vote.h"
#include "ref/label/vote.h"

enum { ATLASES = 8, SEARCH = 1, REACH = 2, NAMES = 5 };
#define RIDGE .3f
#define WIDTH .5f

/* What lies in bench_data.own; labels and shares are in out. */
enum { IMAGES, MOMENTS, LABELS, AT, PLACE, WEIGHTS, SHIFTS };

static void quarter_size(const bench_data *d, int size[3])
{
    for (int a = 0; a < 3; a++)
        size[a] = d->size[a] > 3 ? d->size[a] / 4 : 1;
}

static clv_label_stack stack_of(const bench_data *d)
{
    clv_label_stack s = {.atlases = ATLASES,
                         .search = SEARCH,
                         .images = d->own[IMAGES],
                         .moments = d->own[MOMENTS],
                         .labels = d->own[LABELS]};
    quarter_size(d, s.size);
    for (int a = 0; a < 3; a++)
        s.size[a] += 2 * clv_label_margin(SEARCH);
    return s;
}

static clv_label_list list_of(const bench_data *d)
{
    int size[3];
    quarter_size(d, size);
    return (clv_label_list){d->own[AT], size[0] * size[1] * size[2]};
}

/* The stack on the host. */
typedef struct host {
    float *images;
    int *labels, *at, *place;
} host;

static void host_free(host *h)
{
    free(h->images);
    free(h->labels);
    free(h->at);
    free(h->place);
}

/* Waves and noise, which atlases share by half; labels are bands of theirs. */
static int host_make(const bench_data *d, host *h)
{
    const clv_label_stack s = stack_of(d);
    const int *n = s.size, margin = clv_label_margin(SEARCH);
    const size_t voxels = (size_t)n[0] * (size_t)n[1] * (size_t)n[2];
    uint32_t seed = 1;
    int count = 0;
    *h = (host){calloc(1, clv_label_images_bytes(n, ATLASES)), malloc(ATLASES * voxels * sizeof *h->labels),
                malloc(voxels * sizeof *h->at), malloc(voxels * sizeof *h->place)};
    if (!h->images || !h->labels || !h->at || !h->place)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory for the bench's data");
    for (size_t i = 0; i < voxels; i++) {
        const int p[3] = {(int)(i % (size_t)n[0]), (int)(i / (size_t)n[0]) % n[1],
                          (int)(i / (size_t)n[0] / (size_t)n[1])};
        bool inside = true;
        float wave = 0;
        for (int a = 0; a < 3; a++) {
            inside = inside && p[a] >= margin && p[a] < n[a] - margin;
            wave += sinf((.37f + .09f * (float)a) * (float)p[a]);
        }
        h->place[i] = inside ? count : -2;
        if (inside)
            h->at[count++] = (int)i;
        for (int k = 0; k <= ATLASES; k++) {
            seed = seed * 1664525u + 1013904223u;
            const float noise = (float)(seed >> 8) / 8388608.0f - 1, value = wave + (k ? .5f : .1f) * noise;
            h->images[(size_t)k * voxels + i] = value;
            if (k)
                h->labels[(size_t)(k - 1) * voxels + i] =
                    inside ? (int)fminf(fmaxf(value + 2.5f, 0), NAMES - 1) : -1;
        }
    }
    return CLVOX_OK;
}

static int send(bench_data *d, int which, const void *values, size_t bytes)
{
    int status = CLVOX_OK;
    if (!d->own[which])
        CLV_TRY(clv_buffer_create(d->ctx, bytes, "bench data", &d->own[which]));
    if (values)
        status = clv_buffer_write(d->ctx, d->own[which], 0, values, bytes);
end:
    return status;
}

static int begin(bench_data *d)
{
    int status = CLVOX_OK;
    const int *n = stack_of(d).size;
    const size_t voxels = (size_t)n[0] * (size_t)n[1] * (size_t)n[2], listed = (size_t)list_of(d).count;
    host h;
    bench_flow_release(d);
    CLV_TRY(host_make(d, &h));
    CLV_TRY(send(d, IMAGES, h.images, clv_label_images_bytes(n, ATLASES)));
    CLV_TRY(send(d, MOMENTS, NULL, 2 * sizeof(float) * voxels * (ATLASES + 1)));
    CLV_TRY(send(d, LABELS, h.labels, ATLASES * voxels * sizeof *h.labels));
    CLV_TRY(send(d, AT, h.at, listed * sizeof *h.at));
    CLV_TRY(send(d, PLACE, h.place, voxels * sizeof *h.place));
    CLV_TRY(send(d, WEIGHTS, NULL, ATLASES * listed * sizeof(float)));
    CLV_TRY(send(d, SHIFTS, NULL, ATLASES * listed * sizeof(int32_t)));
    const clv_label_stack s = stack_of(d);
    status = clv_label_moments(d->ctx, &s);
end:
    host_free(&h);
    return status;
}

static int row_moments(bench_data *d)
{
    const clv_label_stack s = stack_of(d);
    return clv_label_moments(d->ctx, &s);
}

static int row_weights(bench_data *d)
{
    const clv_label_stack s = stack_of(d);
    const clv_label_list list = list_of(d);
    return clv_label_weights(d->ctx, &s, &list, true, RIDGE, d->own[WEIGHTS], d->own[SHIFTS]);
}

static int begin_vote(bench_data *d)
{
    const int status = begin(d);
    return status < 0 ? status : row_weights(d);
}

static int row_vote(bench_data *d)
{
    const clv_label_stack s = stack_of(d);
    const clv_label_list list = list_of(d);
    return clv_label_vote(d->ctx, &s, &list,
                          &(clv_label_voters){d->own[PLACE], d->own[WEIGHTS], d->own[SHIFTS], REACH},
                          d->out[0], d->out[1]);
}

static int row_patches(bench_data *d)
{
    const clv_label_stack s = stack_of(d);
    const clv_label_list list = list_of(d);
    return clv_label_vote_patches(d->ctx, &s, &list, WIDTH, d->out[0], d->out[1]);
}

/* ---- checks ------------------------------------------------------------------ */

/* References take long: one voxel in so many is compared. */
enum { SOME = 3 };

static ref_label_stack reference(const bench_check *c, const host *h)
{
    const int *n = stack_of(c->data).size;
    return (ref_label_stack){h->images, h->labels, {n[0], n[1], n[2]}, ATLASES, SEARCH};
}

static int check_moments(bench_check *c)
{
    int status = CLVOX_OK;
    host h;
    CLV_TRY(host_make(c->data, &h));
    const ref_label_stack ref = reference(c, &h);
    const size_t voxels = (size_t)ref.size[0] * (size_t)ref.size[1] * (size_t)ref.size[2];
    const int count = list_of(c->data).count;
    for (int i = 0; i < count * (ATLASES + 1) && status >= 0; i += SOME) {
        float got[2];
        double want[2];
        const int at = h.at[i % count], volume = i / count;
        ref_label_moments(&ref, volume, at, want);
        CLV_TRY(clv_buffer_read(c->data->ctx, c->data->own[MOMENTS],
                                sizeof got * ((size_t)volume * voxels + (size_t)at), got, sizeof got));
        status = check_values(c, got, want, 2, 1e-5, 1e-5);
    }
end:
    host_free(&h);
    return status;
}

/* Weights and shifts, atlas by atlas. */
static int read_weights(bench_check *c, int count, float *weights, int32_t *shifts)
{
    const size_t all = ATLASES * (size_t)count;
    int status = clv_buffer_read(c->data->ctx, c->data->own[WEIGHTS], 0, weights, all * sizeof *weights);
    return status < 0 ? status
                      : clv_buffer_read(c->data->ctx, c->data->own[SHIFTS], 0, shifts, all * sizeof *shifts);
}

/* The shift is that of a least difference, of equals any; weights are the reference's at that shift. */
static int check_weights(bench_check *c)
{
    int status = CLVOX_OK;
    host h;
    const int count = list_of(c->data).count;
    float *weights = c->got;
    int32_t *shifts = malloc(ATLASES * (size_t)count * sizeof *shifts);
    CLV_TRY(host_make(c->data, &h));
    const ref_label_stack ref = reference(c, &h);
    CLV_TRY(shifts ? read_weights(c, count, weights, shifts)
                   : clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory for the bench's references"));
    for (int i = 0; i < count && status >= 0; i += SOME) {
        int here[ATLASES];
        float got[ATLASES];
        double want[ATLASES];
        for (int k = 0; k < ATLASES && status >= 0; k++) {
            here[k] = shifts[k * count + i];
            got[k] = weights[k * count + i];
            status = check_number(c, ref_label_unlike(&ref, h.at[i], k, here[k]),
                                  ref_label_least(&ref, h.at[i], k), 1e-5);
        }
        ref_label_weights(&ref, h.at[i], here, true, (double)RIDGE, want);
        CLV_TRY(check_values(c, got, want, ATLASES, 2e-4, 0));
    }
end:
    free(shifts);
    host_free(&h);
    return status;
}

/* The label has the most votes and its share of them; of near ties any. */
static int judge(bench_check *c, const double *votes, int32_t label, float share)
{
    double all = 0, most = 0;
    for (int k = 0; k < NAMES; k++) {
        all += votes[k];
        most = fmax(most, votes[k]);
    }
    if (label < 0 || label >= NAMES || votes[label] < most - 1e-4 * all)
        return bench_wrong(c->data->ctx, c->label, "label %d has not the most votes", label);
    return check_number(c, (double)share, most / all, 1e-4);
}

static int check_votes(bench_check *c, bool patches)
{
    int status = CLVOX_OK;
    host h;
    const int count = list_of(c->data).count;
    float *weights = c->got, *share = c->got + ATLASES * count;
    int32_t *shifts = malloc((ATLASES + 1) * (size_t)count * sizeof *shifts), *label;
    CLV_TRY(host_make(c->data, &h));
    const ref_label_stack ref = reference(c, &h);
    CLV_TRY(shifts ? read_weights(c, count, weights, shifts)
                   : clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory for the bench's references"));
    label = shifts + ATLASES * count;
    CLV_TRY(clv_buffer_read(c->data->ctx, c->data->out[0], 0, label, (size_t)count * sizeof *label));
    CLV_TRY(clv_buffer_read(c->data->ctx, c->data->out[1], 0, share, (size_t)count * sizeof *share));
    const ref_label_voters voters = {h.at, h.place, weights, shifts, count, REACH};
    for (int i = 0; i < count && status >= 0; i += SOME) {
        double votes[REF_LABEL_NAMES];
        if (patches)
            ref_label_vote_patches(&ref, h.at[i], (double)WIDTH, votes);
        else
            ref_label_vote(&ref, &voters, h.at[i], votes);
        status = judge(c, votes, label[i], share[i]);
    }
end:
    free(shifts);
    host_free(&h);
    return status;
}

static int check_vote(bench_check *c)
{
    return check_votes(c, false);
}

static int check_patches(bench_check *c)
{
    return check_votes(c, true);
}

/* Of each voxel in doubt, and of each atlas. Operations: a patch is 125 products; weights compare 27 places,
 * then multiply the differences of 36 pairs and solve eight equations; a vote is added twice; by patches each
 * place is compared twice. */
const bench_row bench_rows_label[] = {
    {"label moments, 8 atlases", "label_moments", 12 * (ATLASES + 1), 500 * (ATLASES + 1), row_moments,
     check_moments, begin, quarter_size},
    {"label weights, 8 atlases", "label_weights", 12 * (ATLASES + 1) + 12 * ATLASES + 4, 66550, row_weights,
     check_weights, begin, quarter_size},
    {"label vote, 8 atlases", "label_vote", 12 * ATLASES + 24, 2000, row_vote, check_vote, begin_vote,
     quarter_size},
    {"label vote by patches, 8 atlases", "label_vote_patches", 12 * (ATLASES + 1) + 4 * ATLASES + 20, 108000,
     row_patches, check_patches, begin, quarter_size},
    {NULL, NULL, 0, 0, NULL, NULL, NULL, NULL},
};
