/* SPDX-License-Identifier: Apache-2.0 */
/* The band of a torus with noise on which patches are searched and averaged. */
#ifndef CLV_BENCH_NLM_H
#define CLV_BENCH_NLM_H

#include "bench/bench.h"
#include "bench/papers/op/patch_pairs.h"

/* Patches of 5^3 samples, neighbours of each, about the voxels of a band that references can take,
 * and the band's half width. */
enum { BENCH_RADIUS = 2, BENCH_SAMPLES = 125, BENCH_MOST = 96, BENCH_CHECKED = 700, BENCH_HALF_BAND = 3 };

/* How it is searched: in the paper's way, without ruling anything out beforehand, or as users run it. */
typedef enum bench_form { BENCH_PAIRS, BENCH_EXHAUSTIVE, BENCH_PRUNED } bench_form;

typedef struct bench_band {
    clvox_context *ctx;
    clv_patches patches;
    bench_form form; /* of the next search */
    float *host_phi;
    int32_t *host_band;
    clv_buffer *phi, *band, *neighbours, *distances, *scratch;
} bench_band;

/* About `wanted` voxels; on failure nothing is held. */
int bench_band_create(clvox_context *ctx, int wanted, float noise, bench_band *b);
void bench_band_release(bench_band *b);
/* Finds the neighbours; what is a bench_band. */
int bench_band_search(void *what);

/* Rows of what is done with the neighbours that the last search found. */
int bench_nlm_updates(bench_run *run, bench_band *b);
/* Times a search as b->form says, its weights and one step of equation 15. */
int bench_nlm_step(bench_run *run, bench_band *b, bench_time *time);

#endif
