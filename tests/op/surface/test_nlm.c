/* SPDX-License-Identifier: Apache-2.0 */
#include "op/harness.h"
#include "op/surface/nlm.h"
#include "op/image/reduce.h"
#include "ref/surface/nlm.h"

typedef struct setup {
    int size[3], radius, most;
    float delta;
} setup;

static const setup setups[] = {
    {{1, 1, 1}, 1, 3, 2},       {{2, 5, 3}, 2, 4, .7f},    {{1, 7, 6}, 2, 5, .6f},
    {{11, 9, 1}, 3, 7, .5f},    {{5, 3, 4}, 1, 70, 2},     {{9, 7, 8}, 2, 16, .8f},
    {{23, 17, 13}, 2, 20, .5f}, {{12, 10, 11}, 3, 9, .4f}, {{11, 10, 12}, CLV_NLM_WIDEST, 6, .3f},
};

static const float edges[3] = {1, 1.25f, 2};

/* A case with its truth. */
typedef struct problem {
    const setup *s;
    int n, count, stride, samples;
    float *phi, *distances;
    int *band, *index, *neighbours;
    double *weights;
    clv_buffer *d_phi, *d_parts, *d_band, *d_index, *d_neighbours, *d_distances, *d_weights, *d_sums;
    clv_buffer *d_matrix;
} problem;

static clvox_context *ctx;

/* Weights that are neither all 1 nor all 0. */
enum { C1 = 150 };
static float c2_of(const problem *p)
{
    return .5f * (float)p->samples;
}

static void *room(size_t count, size_t bytes)
{
    return calloc(count + 1, bytes);
}

static void make(problem *p, const setup *s)
{
    const int *size = s->size;
    *p = (problem){.s = s, .n = size[0] * size[1] * size[2], .stride = clv_nlm_stride(s->radius)};
    size_t n = (size_t)p->n;
    p->samples = (2 * s->radius + 1) * (2 * s->radius + 1) * (2 * s->radius + 1);
    p->phi = room(n, sizeof(float));
    p->band = room(n, sizeof(int));
    p->index = room(n, sizeof(int));
    harness_random(p->phi, n, 5 + (unsigned)p->n, -1.5f, 1.5f);
    p->count = ref_nlm_band(p->phi, size, (double)s->delta, p->band, p->index);
    size_t pairs = (size_t)p->count * (size_t)s->most, count = (size_t)p->count;
    p->neighbours = room(pairs, sizeof(int));
    p->distances = room(pairs, sizeof(float));
    p->weights = room(pairs, sizeof(double));
    ref_nlm_nearest(p->phi, size, p->band, p->count, s->radius, s->most, p->neighbours, p->distances);
    for (int j = 0; j < p->count; j++)
        for (int k = j * s->most; k < (j + 1) * s->most; k++)
            if (p->neighbours[k] >= 0)
                p->weights[k] = ref_nlm_weight(size, edges, p->band[j], p->band[p->neighbours[k]],
                                               (double)p->distances[k], C1, (double)c2_of(p));
    p->d_phi = harness_upload(ctx, p->phi, n * sizeof(float));
    p->d_parts = harness_output(ctx, clv_nlm_parts_bytes(size));
    p->d_band = harness_upload(ctx, p->band, count * sizeof(int) + 4);
    p->d_index = harness_upload(ctx, p->index, n * sizeof(int));
    p->d_neighbours = harness_upload(ctx, p->neighbours, pairs * sizeof(int) + 4);
    p->d_distances = harness_upload(ctx, p->distances, pairs * sizeof(float) + 4);
    p->d_weights = harness_output(ctx, pairs * sizeof(float) + 4);
    p->d_sums = harness_output(ctx, count * sizeof(float) + 4);
    p->d_matrix = harness_output(ctx, count * (size_t)p->stride * sizeof(float));
}

static void release(problem *p)
{
    clv_buffer **buffers[] = {&p->d_phi,       &p->d_parts,   &p->d_band, &p->d_index, &p->d_neighbours,
                              &p->d_distances, &p->d_weights, &p->d_sums, &p->d_matrix};
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++)
        clv_buffer_destroy(buffers[i]);
    free(p->phi);
    free(p->band);
    free(p->index);
    free(p->neighbours);
    free(p->distances);
    free(p->weights);
}

static clv_image image_of(const int size[3], clv_buffer *buffer)
{
    return (clv_image){.buffer = buffer, .size = {size[0], size[1], size[2]}, .components = 1,
                       .spacing = {edges[0], edges[1], edges[2]}};
}

static clv_nlm_matrix matrix_of(const problem *p)
{
    return (clv_nlm_matrix){p->d_matrix, p->count, p->s->radius};
}

static clv_nlm_graph graph_of(const problem *p)
{
    return (clv_nlm_graph){p->d_band, p->d_neighbours, p->d_weights, p->count, p->s->most};
}

static int find_weights(const problem *p, const clv_nlm_graph *graph)
{
    const clv_image grid = image_of(p->s->size, NULL);
    return clv_nlm_weights(ctx, graph, p->d_distances, &grid, C1, c2_of(p), p->d_sums);
}

static clv_patches patches_of(const problem *p)
{
    return (clv_patches){.phi = image_of(p->s->size, p->d_phi), .band = p->d_band, .count = p->count,
                         .radius = p->s->radius};
}

/* got is compared with want, count values of at most about `scale`. */
static void same(const char *what, const problem *p, clv_buffer *got, const double *want, size_t count,
                 double tolerance)
{
    float *values = room(count, sizeof(float));
    harness_download(ctx, got, values, count * sizeof(float));
    double error = harness_error(values, want, count, tolerance, tolerance);
    assert_that(error <= 1, "%s of %dx%dx%d: %g", what, p->s->size[0], p->s->size[1], p->s->size[2], error);
    free(values);
}

static void run_band(problem *p)
{
    const int *size = p->s->size;
    size_t n = (size_t)p->n;
    int count = -1, *got = room(n, sizeof(int));
    float *phi = room(n, sizeof(float));
    int *band = room(n, sizeof(int)), *index = room(n, sizeof(int));
    memcpy(phi, p->phi, n * sizeof(float));
    phi[0] = NAN; /* lies in no band */
    int want = ref_nlm_band(phi, size, (double)p->s->delta, band, index);
    clv_buffer *d_phi = harness_upload(ctx, phi, n * sizeof(float));
    const clv_image image = image_of(size, d_phi);
    clv_buffer *d_band = harness_output(ctx, (size_t)want * sizeof(int) + 4);
    clv_buffer *d_index = harness_output(ctx, n * sizeof(int));
    assert_that(clv_nlm_band_count(ctx, &image, p->s->delta, p->d_parts, &count) == CLVOX_OK, "%s",
                clvox_message());
    assert_that(count == want, "%d voxels, not %d", count, want);
    assert_int_equal(clv_nlm_band_list(ctx, &image, p->s->delta, p->d_parts, d_band, d_index), CLVOX_OK);
    harness_download(ctx, d_band, got, (size_t)want * sizeof(int));
    assert_true(memcmp(got, band, (size_t)want * sizeof(int)) == 0);
    harness_download(ctx, d_index, got, n * sizeof(int));
    assert_true(memcmp(got, index, n * sizeof(int)) == 0);
    clv_buffer_destroy(&d_phi);
    clv_buffer_destroy(&d_band);
    clv_buffer_destroy(&d_index);
    free(got);
    free(phi);
    free(band);
    free(index);
}

/* The matrix of patches, and the residual when asked for. */
static void run_patches(problem *p, bool residual)
{
    size_t stride = (size_t)p->stride, count = (size_t)p->count;
    double *want = room(stride * count, sizeof(double)), *rest = room(count, sizeof(double));
    clv_patches patches = patches_of(p);
    const clv_nlm_matrix matrix = matrix_of(p);
    assert_that(clv_nlm_patches_gather(ctx, &patches, p->d_matrix) == CLVOX_OK, "%s", clvox_message());
    for (size_t j = 0; j < count; j++) {
        ref_nlm_patch(p->phi, p->s->size, p->band[j], p->s->radius, want + j * stride);
        rest[j] = ref_nlm_residual(want + j * stride, p->s->radius, NULL);
    }
    if (!residual)
        same("patches", p, p->d_matrix, want, stride * count, 1e-5);
    else {
        assert_int_equal(clv_nlm_residual(ctx, &matrix, p->d_sums), CLVOX_OK);
        same("residual", p, p->d_sums, rest, count, 2e-5);
    }
    free(want);
    free(rest);
}

static void run_weights(problem *p)
{
    size_t count = (size_t)p->count, most = (size_t)p->s->most;
    double *sums = room(count, sizeof(double));
    clv_nlm_graph graph = graph_of(p);
    for (size_t k = 0; k < count * most; k++)
        sums[k / most] += p->weights[k];
    assert_ok(find_weights(p, &graph));
    same("weights", p, p->d_weights, p->weights, count * most, 1e-5);
    same("row sums", p, p->d_sums, sums, count, 1e-5);
    free(sums);
}

static void run_energy(problem *p)
{
    size_t count = (size_t)p->count, most = (size_t)p->s->most;
    double *want = room(count, sizeof(double));
    clv_nlm_graph graph = graph_of(p);
    for (size_t k = 0; k < count * most; k++)
        if (p->neighbours[k] >= 0) {
            double d = (double)(p->phi[p->band[p->neighbours[k]]] - p->phi[p->band[k / most]]);
            want[k / most] += .25 * p->weights[k] * d * d;
        }
    assert_ok(find_weights(p, &graph));
    assert_int_equal(clv_nlm_energy(ctx, &graph, p->d_phi, p->d_sums), CLVOX_OK);
    same("energy", p, p->d_sums, want, count, 1e-5);
    free(want);
}

static void run_step(problem *p)
{
    size_t n = (size_t)p->n;
    float *moved = room(n, sizeof(float));
    double *want = room(n, sizeof(double)), low[2] = {INFINITY, INFINITY}, high[2] = {-INFINITY, -INFINITY};
    clv_nlm_graph graph = graph_of(p);
    clv_buffer *partial = harness_output(ctx, CLV_REDUCE_PARTIALS * sizeof(float));
    clv_buffer *state = harness_output(ctx, 4 * sizeof(float));
    clv_buffer *next = harness_output(ctx, (size_t)p->count * sizeof(float) + 4);
    clv_buffer *phi = harness_upload(ctx, p->phi, n * sizeof(float));
    memcpy(moved, p->phi, n * sizeof(float));
    ref_nlm_step(moved, p->band, p->neighbours, p->weights, p->count, p->s->most);
    for (size_t i = 0; i < n; i++)
        want[i] = (double)moved[i];
    assert_ok(find_weights(p, &graph));
    assert_ok(clv_reduce(ctx, CLV_REDUCE_MAX, &(clv_terms){p->d_sums, NULL, NULL, 0, p->count}, partial,
                         state, 2));
    assert_int_equal(clv_nlm_step(ctx, &graph, state, 2, next, phi), CLVOX_OK);
    same("step", p, phi, want, n, 1e-5);
    harness_download(ctx, phi, moved, n * sizeof(float));
    for (int j = 0; j < p->count; j++)
        for (int side = 0; side < 2; side++) {
            double v = (double)(side ? moved : p->phi)[p->band[j]];
            low[side] = fmin(low[side], v);
            high[side] = fmax(high[side], v);
        }
    assert_that(low[1] >= low[0] && high[1] <= high[0], "a new extremum: %g to %g, then %g to %g", low[0],
                high[0], low[1], high[1]);
    clv_buffer_destroy(&partial);
    clv_buffer_destroy(&state);
    clv_buffer_destroy(&next);
    clv_buffer_destroy(&phi);
    free(moved);
    free(want);
}

/* Planes taken off, their tiles as a level set, and averaging that puts them
 * back: a plane stays a plane whatever its neighbours are. */
static void run_planes(problem *p)
{
    size_t count = (size_t)p->count, stride = (size_t)p->stride, samples = (size_t)p->samples;
    int edge = 2 * p->s->radius + 1;
    double *rest = room(stride * count, sizeof(double)), *tiles = room(samples * count, sizeof(double));
    int *middles = room(count, sizeof(int));
    clv_patches patches = patches_of(p);
    const clv_nlm_matrix matrix = matrix_of(p);
    clv_buffer *planes = harness_output(ctx, 4 * count * sizeof(float));
    clv_buffer *d_tiles = harness_output(ctx, samples * count * sizeof(float));
    clv_buffer *d_middles = harness_output(ctx, count * sizeof(int));
    assert_ok(clv_nlm_patches_gather(ctx, &patches, p->d_matrix));
    for (size_t j = 0; j < count; j++) {
        double *row = rest + j * stride, sum[4] = {0}, square = 0;
        ref_nlm_patch(p->phi, p->s->size, p->band[j], p->s->radius, row);
        for (int s = 0; s < p->samples; s++) {
            const double at[4] = {s % edge - p->s->radius, s / edge % edge - p->s->radius,
                                  s / (edge * edge) - p->s->radius, 1};
            square += at[0] * at[0];
            for (int i = 0; i < 4; i++)
                sum[i] += at[i] * row[s];
        }
        for (int s = 0; s < p->samples; s++)
            row[s] -= sum[0] / square * (s % edge - p->s->radius) +
                      sum[1] / square * (s / edge % edge - p->s->radius) +
                      sum[2] / square * (s / (edge * edge) - p->s->radius) + sum[3] / p->samples;
        memcpy(tiles + j * samples, row, samples * sizeof(double));
    }
    assert_that(clv_nlm_planes(ctx, &matrix, 0, planes, d_tiles, d_middles) == CLVOX_OK, "%s",
                clvox_message());
    same("patches less their planes", p, p->d_matrix, rest, stride * count, 1e-5);
    same("tiles", p, d_tiles, tiles, samples * count, 1e-5);
    harness_download(ctx, d_middles, middles, count * sizeof(int));
    for (size_t j = 0; j < count; j++)
        assert_true((size_t)middles[j] == j * samples + samples / 2);
    clv_buffer_destroy(&planes);
    clv_buffer_destroy(&d_tiles);
    clv_buffer_destroy(&d_middles);
    free(rest);
    free(tiles);
    free(middles);
}

/* Patches on their way to their quadratics. */
static void run_polish(problem *p)
{
    size_t count = (size_t)p->count, stride = (size_t)p->stride;
    double *want = room(stride * count, sizeof(double)), quadratic[9 * 9 * 9];
    clv_patches patches = patches_of(p);
    const clv_nlm_matrix matrix = matrix_of(p);
    float scale = .3f * (float)p->samples;
    assert_ok(clv_nlm_patches_gather(ctx, &patches, p->d_matrix));
    for (size_t j = 0; j < count; j++) {
        double *row = want + j * stride;
        ref_nlm_patch(p->phi, p->s->size, p->band[j], p->s->radius, row);
        double rest = ref_nlm_residual(row, p->s->radius, quadratic) / (double)scale;
        double share = exp(-rest * rest);
        for (int s = 0; s < p->samples; s++)
            row[s] += share * (quadratic[s] - row[s]);
    }
    assert_int_equal(clv_nlm_polish(ctx, &matrix, scale, p->d_sums), CLVOX_OK);
    same("polished patches", p, p->d_matrix, want, stride * count, 2e-5);
    free(want);
}

/* Means of planes; distances that came with a share of theirs lose it. */
static void run_plane_means(problem *p)
{
    const float share = .6f;
    size_t count = (size_t)p->count, most = (size_t)p->s->most;
    int edge = 2 * p->s->radius + 1, r = p->s->radius;
    float *planes = room(4 * count, sizeof(float)), *values = room(4 * count, sizeof(float));
    float *distances = room(count * most, sizeof(float));
    double *want = room(4 * count, sizeof(double)), *rest = room(count * most, sizeof(double));
    double slope = edge * edge * edge * r * (r + 1) / 3., c2 = (double)c2_of(p);
    harness_random(planes, 4 * count, 9, -.7f, .7f);
    harness_random(values, 4 * count, 10, -.7f, .7f);
    for (size_t j = 0; j < count; j++) {
        double total = 0, largest = 0, sum[4] = {0};
        for (size_t k = j * most; k < (j + 1) * most; k++) {
            rest[k] = INFINITY;
            distances[k] = INFINITY;
            if (p->neighbours[k] < 0)
                continue;
            double gap[4], flat = 0;
            for (int i = 0; i < 4; i++) {
                gap[i] = (double)planes[4 * p->neighbours[k] + i] - (double)planes[4 * j + (size_t)i];
                flat += gap[i] * gap[i] * (i < 3 ? slope : p->samples);
            }
            rest[k] = .1 * (double)p->distances[k];
            distances[k] = (float)(rest[k] + (double)(share * share) * flat);
            double w = exp(-(rest[k] + flat) / c2);
            total += w;
            largest = fmax(largest, w);
            for (int i = 0; i < 4; i++)
                sum[i] += w * ((double)values[4 * p->neighbours[k] + i] - (double)values[4 * j + (size_t)i]);
        }
        for (size_t i = 0; i < 4; i++)
            want[4 * j + i] = (double)values[4 * j + i] + (largest > 1e-30 ? sum[i] / (total + largest) : 0);
    }
    clv_buffer *d_planes = harness_upload(ctx, planes, 4 * count * sizeof(float));
    clv_buffer *d = harness_upload(ctx, distances, count * most * sizeof(float));
    clv_buffer *d_values = harness_upload(ctx, values, 4 * count * sizeof(float));
    clv_buffer *means = harness_output(ctx, 4 * count * sizeof(float));
    const clv_nlm_graph graph = {p->d_band, p->d_neighbours, d, p->count, p->s->most};
    const clv_nlm_plane_args args = {.planes = d_planes, .values = d_values, .radius = r, .share = share,
                                     .c2 = c2_of(p), .means = means};
    assert_int_equal(clv_nlm_plane_means(ctx, &graph, &args), CLVOX_OK);
    same("means of planes", p, means, want, 4 * count, 1e-4);
    harness_download(ctx, d, distances, count * most * sizeof(float));
    for (size_t k = 0; k < count * most; k++)
        assert_that(p->neighbours[k] < 0 || fabs((double)distances[k] - rest[k]) < 1e-3 * p->samples,
                    "%g, not %g", (double)distances[k], rest[k]);
    clv_buffer_destroy(&d_planes);
    clv_buffer_destroy(&d_values);
    clv_buffer_destroy(&d);
    clv_buffer_destroy(&means);
    free(planes);
    free(values);
    free(distances);
    free(want);
    free(rest);
}

/* A level set of one slope stays as it is when planes are put back. */
static void run_slope(problem *p)
{
    size_t n = (size_t)p->n, count = (size_t)p->count;
    float *slope = room(n, sizeof(float));
    double *want = room(n, sizeof(double));
    const int *size = p->s->size;
    for (size_t i = 0; i < n; i++) {
        slope[i] = .3f * (float)(i % (size_t)size[0]) - .2f * (float)(i / (size_t)size[0] % (size_t)size[1]) +
                   .5f * (float)(i / (size_t)size[0] / (size_t)size[1]);
        want[i] = (double)slope[i];
    }
    clv_nlm_graph graph = graph_of(p);
    clv_patches patches = patches_of(p);
    const clv_nlm_matrix matrix = matrix_of(p);
    clv_buffer *phi = harness_upload(ctx, slope, n * sizeof(float));
    clv_buffer *planes = harness_output(ctx, 4 * count * sizeof(float));
    clv_buffer *tiles = harness_output(ctx, (size_t)p->stride * count * sizeof(float));
    clv_buffer *middles = harness_output(ctx, count * sizeof(int));
    clv_buffer *sums = harness_output(ctx, 2 * count * sizeof(float) + 8);
    patches.phi = image_of(size, phi);
    assert_ok(find_weights(p, &graph));
    assert_ok(clv_nlm_patches_gather(ctx, &patches, p->d_matrix));
    assert_ok(clv_nlm_planes(ctx, &matrix, 0, planes, tiles, middles));
    const clv_nlm_average_args args = {.graph = graph, .matrix = matrix, .planes = planes, .index = p->d_index,
                                       .estimates = tiles, .sums = sums, .phi = patches.phi};
    assert_int_equal(clv_nlm_average(ctx, &args), CLVOX_OK);
    same("a slope", p, phi, want, n, 1e-4);
    clv_buffer_destroy(&phi);
    clv_buffer_destroy(&planes);
    clv_buffer_destroy(&tiles);
    clv_buffer_destroy(&middles);
    clv_buffer_destroy(&sums);
    free(slope);
    free(want);
}

/* rows: of the matrix, for which there is room. */
static void run_average(problem *p, float own, int rows)
{
    size_t n = (size_t)p->n, count = (size_t)p->count;
    double *want = room(n, sizeof(double)), *values = room(count, sizeof(double));
    clv_nlm_graph graph = graph_of(p);
    clv_patches patches = patches_of(p);
    const clv_nlm_matrix matrix = matrix_of(p);
    clv_buffer *estimates, *sums = harness_output(ctx, 2 * count * sizeof(float) + 8);
    clv_buffer *phi = harness_upload(ctx, p->phi, n * sizeof(float));
    size_t bytes = (size_t)rows * (size_t)p->stride * sizeof(float);
    assert_ok(clv_buffer_create(ctx, bytes, "estimates", &estimates));
    ref_nlm_average(p->phi, p->s->size, p->band, p->neighbours, p->weights, p->count, p->s->most,
                    p->s->radius, (double)own, values);
    for (size_t i = 0; i < n; i++)
        want[i] = (double)p->phi[i];
    for (size_t j = 0; j < count; j++)
        want[p->band[j]] = values[j];
    assert_ok(find_weights(p, &graph));
    assert_ok(clv_nlm_patches_gather(ctx, &patches, p->d_matrix));
    const clv_nlm_average_args args = {.graph = graph, .matrix = matrix, .own = own, .index = p->d_index,
                                       .estimates = estimates, .sums = sums, .phi = image_of(p->s->size, phi)};
    assert_that(clv_nlm_average(ctx, &args) == CLVOX_OK, "%s", clvox_message());
    same("average", p, phi, want, n, 2e-5);
    clv_buffer_destroy(&estimates);
    clv_buffer_destroy(&sums);
    clv_buffer_destroy(&phi);
    free(want);
    free(values);
}

static void run_volume(problem *p)
{
    double cells;
    const clv_image image = image_of(p->s->size, p->d_phi);
    for (int i = -1; i <= 1; i++) {
        assert_int_equal(clv_nlm_volume(ctx, &image, .3f * (float)i, p->d_parts, &cells), CLVOX_OK);
        double want = ref_nlm_volume(p->phi, p->s->size, (double)(.3f * (float)i));
        assert_that(fabs(cells - want) <= 1e-4 * (1 + want), "%g cells, not %g", cells, want);
    }
}

/* Corners and edges at exactly 0, and a ball against 4/3 pi r^3. */
static void known_volumes(void **state)
{
    (void)state;
    enum { EDGE = 41 };
    const int size[3] = {EDGE, EDGE, EDGE}, small[3] = {2, 2, 2};
    static const float cell[3][8] = {
        {-1, 1, -1, 1, -1, 1, -1, 1}, {0, 0, 0, 0, 0, 0, 0, -1}, {-1, 0, 0, 1, 0, 1, 1, 2}};
    static const double want[3] = {.5, 1, 1. / 6};
    size_t n = EDGE * EDGE * EDGE;
    float *phi = room(n, sizeof(float));
    double cells;
    clv_buffer *parts = harness_output(ctx, clv_nlm_parts_bytes(size));
    for (int i = 0; i < 3; i++) {
        clv_buffer *b = harness_upload(ctx, cell[i], sizeof cell[i]);
        const clv_image image = image_of(small, b);
        assert_int_equal(clv_nlm_volume(ctx, &image, 0, parts, &cells), CLVOX_OK);
        assert_that(fabs(cells - want[i]) < 1e-6, "cell %d: %g, not %g", i, cells, want[i]);
        clv_buffer_destroy(&b);
    }
    for (size_t i = 0; i < n; i++) {
        double x = (double)(i % EDGE) - 20, y = (double)(i / EDGE % EDGE) - 20;
        double z = (double)(i / EDGE / EDGE) - 20;
        phi[i] = (float)(sqrt(x * x + y * y + z * z) - 15.3);
    }
    clv_buffer *b = harness_upload(ctx, phi, n * sizeof(float));
    const clv_image image = image_of(size, b);
    assert_int_equal(clv_nlm_volume(ctx, &image, .2f, parts, &cells), CLVOX_OK);
    double ball = 4. / 3 * 3.14159265 * 15.5 * 15.5 * 15.5;
    assert_that(fabs(cells / ball - 1) < 3e-3, "ball of %g cells, not %g", cells, ball);
    clv_buffer_destroy(&b);
    clv_buffer_destroy(&parts);
    free(phi);
}

/* More chunks than a work-group of the kernel that sums them has work-items, some of them empty. */
static void many_chunks(void **state)
{
    (void)state;
    const setup s = {.size = {164, 163, 161}, .delta = .4f};
    problem p = {.s = &s, .n = s.size[0] * s.size[1] * s.size[2]};
    p.phi = room((size_t)p.n, sizeof(float));
    harness_random(p.phi, (size_t)p.n, 7, -1.5f, 1.5f);
    for (int i = 0; i < p.n; i++)
        if (i / 30000 % 3 == 1)
            p.phi[i] = 2;
    p.d_parts = harness_output(ctx, clv_nlm_parts_bytes(s.size));
    run_band(&p);
    release(&p);
}

enum { BAND, PATCHES, PLANES, PLANE_MEANS, RESIDUAL, WEIGHTS, ENERGY, STEP, AVERAGE, VOLUME };

static void run(problem *p, int what)
{
    bool empty = p->count == 0;
    switch (what) {
    case BAND:
        run_band(p);
        break;
    case VOLUME:
        run_volume(p);
        break;
    case AVERAGE:
        if (empty)
            break;
        run_average(p, 0, p->count + 3);
        run_average(p, 1.5f, p->count / 3 + 1);
        run_slope(p);
        break;
    default:
        if (empty)
            break;
        if (what == PATCHES || what == RESIDUAL)
            run_patches(p, what == RESIDUAL);
        if (what == RESIDUAL)
            run_polish(p);
        else if (what != PATCHES)
            (what == PLANES    ? run_planes
             : what == PLANE_MEANS   ? run_plane_means
             : what == WEIGHTS ? run_weights
             : what == ENERGY  ? run_energy
                               : run_step)(p);
    }
}

enum { SETUPS = sizeof setups / sizeof *setups };
static const struct {
    const clv_entry *entry;
    int what;
    const char *name;
} runs[] = {
    {&clv_entry_nlm_count, BAND, "voxels of the band"},
    {&clv_entry_nlm_ends, BAND, "where chunks end in the band"},
    {&clv_entry_nlm_band, BAND, "the band"},
    {&clv_entry_nlm_plane, PLANES, "planes"},
    {&clv_entry_nlm_plane_means, PLANE_MEANS, "means of planes"},
    {&clv_entry_nlm_patches, PATCHES, "patches"},
    {&clv_entry_nlm_residual, RESIDUAL, "noise"},
    {&clv_entry_nlm_weights, WEIGHTS, "weights"},
    {&clv_entry_nlm_energy, ENERGY, "energy"},
    {&clv_entry_nlm_step, STEP, "step"},
    {&clv_entry_nlm_scatter, STEP, "step"},
    {&clv_entry_nlm_average, AVERAGE, "whole patches"},
    {&clv_entry_nlm_overlap, AVERAGE, "overlaps"},
    {&clv_entry_nlm_volume, VOLUME, "volume"},
};

static struct {
    problem problems[SETUPS];
} shared;

static void all_problems(void **state)
{
    const int *given = *state;
    int what = given[0], count = harness_problems(5, SETUPS);
    for (int i = 0; i < count; i++)
        run(&shared.problems[i], what);
}

static int tear_down(void **state)
{
    int count = getenv("CLVOX_TEST_TINY") ? 5 : SETUPS;
    for (int i = 0; i < count; i++)
        release(&shared.problems[i]);
    return harness_close(state);
}

int main(void)
{
    int count = getenv("CLVOX_TEST_TINY") ? 5 : SETUPS;
    ctx = harness_open();
    for (int i = 0; i < count; i++)
        make(&shared.problems[i], &setups[i]);
    for (size_t r = 0; r < sizeof runs / sizeof *runs; r++)
        harness_cases(runs[r].entry, all_problems, TEST_AT(runs[r].what), runs[r].name);
    if (count == SETUPS) {
        const clv_entry *const listing[] = {&clv_entry_nlm_count, &clv_entry_nlm_ends, &clv_entry_nlm_band};
        for (size_t k = 0; k < sizeof listing / sizeof *listing; k++)
            harness_cases(listing[k], many_chunks, NULL, 0, "many chunks");
        test_case(known_volumes, "known volumes");
    }
    return test_run("nlm", tear_down);
}
