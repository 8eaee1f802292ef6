/* SPDX-License-Identifier: Apache-2.0 */
/* Ha 2011, algorithm 1 and section 2.4.1: atlases of random subsets, with a new template after every
 * iteration. */
#include <math.h>
#include <stdlib.h>

#include "bench/bench_table.h"
#include "bench/papers/op/greedy.h"
#include "bench/papers/op/nary.h"
#include "bench/rows/check.h"
#include "op/image/reduce.h"

enum { POOL = 16, MOST = CLV_NARY_MOST, DRAWS = 8, SIZES = 3, ITERATIONS = 40, ROUND = 10, BINS = 256 };
static const int sizes[SIZES] = {2, 4, MOST};
static const float FIRST_STEP = .1f; /* voxels */
static const double COUNTED = .1;    /* of the largest value of the mean of all: what is more is counted */

typedef struct atlas {
    clvox_context *ctx;
    int size[3], n;
    clv_buffer *image[POOL];
    clv_greedy greedy;
    clv_buffer *moved[MOST], *u[MOST], *spare, *template;
    float *host, *mean; /* a volume; the mean of all subjects */
} atlas;

static void release(atlas *a)
{
    for (int i = 0; i < POOL; i++)
        clv_buffer_destroy(&a->image[i]);
    for (int i = 0; i < MOST; i++) {
        clv_buffer_destroy(&a->moved[i]);
        clv_buffer_destroy(&a->u[i]);
    }
    clv_buffer_destroy(&a->spare);
    clv_buffer_destroy(&a->template);
    clv_greedy_destroy(&a->greedy);
    free(a->host);
    free(a->mean);
}

/* One head, each subject by a map and noise of its own, values in [0, 1]. */
static int create(const bench_run *run, atlas *a)
{
    int status = CLVOX_OK;
    const double spacing[3] = {1, 1, 1};
    const bool cpu = clvox_context_limits(run->ctx)->type == CLVOX_DEVICE_CPU;
    clvox_grid grid;
    clv_phantom phantom = {0};
    clvox_volume *image = NULL;
    a->ctx = run->ctx;
    for (int k = 0; k < 3; k++) {
        a->size[k] = cpu ? (run->size[k] + 1) / 2 : run->size[k];
        a->size[k] = a->size[k] < 16 ? 16 : a->size[k] > 64 ? 64 : a->size[k];
    }
    a->n = a->size[0] * a->size[1] * a->size[2];
    const size_t n = (size_t)a->n;
    const clv_fluid_operator op = bench_operator(a->size, true, .01f);
    a->host = malloc(n * sizeof *a->host);
    a->mean = calloc(n, sizeof *a->mean);
    if (!a->host || !a->mean) {
        status = clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory for the bench's data");
        goto end;
    }
    clvox_phantom_grid(a->size, spacing, false, &grid);
    CLV_TRY(clv_phantom_make(CLVOX_PHANTOM_TEXTURED, &grid, 1, 0, &phantom));
    for (int i = 0; i < POOL; i++) {
        clv_phantom_warp warp;
        double amplitude; /* that does not fold */
        float most = 0;
        CLV_TRY(clvox_phantom_amplitude(&grid, 11 + (uint64_t)i, &amplitude));
        CLV_TRY(clv_phantom_warp_make(&grid, fmin(amplitude, .05 * a->size[0]), 11 + (uint64_t)i, &warp));
        CLV_TRY(clv_phantom_image(&phantom, &grid, NULL, &warp, 1, &image));
        for (size_t k = 0; k < n; k++)
            most = fmaxf(most, image->data[k]);
        for (size_t k = 0; k < n; k++) {
            image->data[k] = image->data[k] / most + .01f * (float)clv_phantom_normal(31 + (uint64_t)i, k);
            a->mean[k] += image->data[k] / POOL;
        }
        CLV_TRY(clv_buffer_create(run->ctx, 4 * n, "bench data", &a->image[i]));
        CLV_TRY(clv_buffer_write(run->ctx, a->image[i], 0, image->data, 4 * n));
        clvox_volume_destroy(&image);
    }
    for (int i = 0; i < MOST; i++) {
        CLV_TRY(clv_buffer_create(run->ctx, 4 * n, "bench data", &a->moved[i]));
        CLV_TRY(clv_buffer_create(run->ctx, 12 * n, "bench data", &a->u[i]));
    }
    CLV_TRY(clv_buffer_create(run->ctx, 12 * n, "bench data", &a->spare));
    CLV_TRY(clv_buffer_create(run->ctx, 4 * n, "bench data", &a->template));
    CLV_TRY(clv_greedy_create(run->ctx, &op, &a->greedy));
end:
    clvox_volume_destroy(&image);
    clv_phantom_free(&phantom);
    return status;
}

/* Entropy in bits of the template's values where the mean of all subjects is bright. */
static int entropy(const atlas *a, double *out)
{
    size_t count[BINS] = {0}, all = 0;
    float most = 0;
    const int status = clv_buffer_read(a->ctx, a->template, 0, a->host, 4 * (size_t)a->n);
    for (int i = 0; i < a->n; i++)
        most = fmaxf(most, a->mean[i]);
    for (int i = 0; i < a->n && status >= 0; i++) {
        const int bin = (int)(BINS * a->host[i]);
        if ((double)a->mean[i] <= COUNTED * (double)most)
            continue;
        count[bin < 0 ? 0 : bin >= BINS ? BINS - 1 : bin]++;
        all++;
    }
    *out = 0;
    for (int b = 0; b < BINS; b++)
        if (count[b])
            *out -= (double)count[b] / (double)all * log2((double)count[b] / (double)all);
    return status;
}

static int mean_of(atlas *a, clv_buffer *const *from, int count)
{
    return clv_mean(a->ctx, (const clv_buffer *const *)from, count, a->n, a->template);
}

/* Sum of squared differences of the deformed images and the template. */
static int differences(atlas *a, int count, double *out)
{
    int status = CLVOX_OK;
    float sum;
    *out = 0;
    for (int i = 0; i < count; i++) {
        CLV_TRY(clv_reduce(a->ctx, CLV_REDUCE_SQUARE_DIFFERENCE,
                           &(clv_terms){a->moved[i], a->template, NULL, 0, a->n}, a->greedy.partial,
                           a->greedy.state, 0));
        CLV_TRY(clv_buffer_read(a->ctx, a->greedy.state, 0, &sum, sizeof sum));
        *out += (double)sum;
    }
end:
    return status;
}

/* Algorithm 1 with a new template every so many iterations; found: the entropy of the mean of the subjects as
 * they are, and of the template. */
static int build(atlas *a, const int *subject, int count, int every, double found[2])
{
    int status = CLVOX_OK;
    float step[MOST] = {0};
    double before, after;
    const size_t n = (size_t)a->n;
    for (int i = 0; i < count; i++) {
        CLV_TRY(clv_buffer_copy(a->ctx, a->image[subject[i]], 0, a->moved[i], 0, 4 * n));
        CLV_TRY(clv_buffer_fill(a->ctx, a->u[i], 0, 0, 12 * n));
    }
    CLV_TRY(mean_of(a, a->moved, count));
    CLV_TRY(entropy(a, &found[0]));
    CLV_TRY(differences(a, count, &before));
    for (int k = 0; k < ITERATIONS; k++) {
        for (int i = 0; i < count; i++) {
            CLV_TRY(clv_greedy_velocity(a->ctx, &a->greedy, a->moved[i], a->template, NULL));
            if (k == 0) {
                float longest;
                CLV_TRY(clv_greedy_longest(a->ctx, &a->greedy, &longest));
                step[i] = longest > 0 ? FIRST_STEP / longest : 0;
            }
            CLV_TRY(clv_greedy_move(a->ctx, &a->greedy, step[i], a->u[i], a->spare));
            clv_buffer *moved = a->spare;
            a->spare = a->u[i];
            a->u[i] = moved;
            CLV_TRY(clv_greedy_deform(a->ctx, &a->greedy, a->image[subject[i]], a->u[i], a->moved[i]));
        }
        if ((k + 1) % every == 0)
            CLV_TRY(mean_of(a, a->moved, count));
    }
    CLV_TRY(entropy(a, &found[1]));
    CLV_TRY(differences(a, count, &after));
    if (!(after < before))
        status = bench_wrong(a->ctx, "atlas, algorithm 1",
                             "subjects differ from the template by %.3g, before by %.3g", after, before);
end:
    return status;
}

/* A random subset of the pool, the same on every machine. */
static void draw(int number, int count, int *out)
{
    int pool[POOL];
    uint64_t state = 2011 + (uint64_t)number;
    for (int i = 0; i < POOL; i++)
        pool[i] = i;
    for (int i = 0; i < count; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        const int at = i + (int)((state >> 33) % (uint64_t)(POOL - i)), other = pool[i];
        out[i] = pool[i] = pool[at];
        pool[at] = other;
    }
}

/* Mean and standard deviation of column `which`. */
static void spread(double found[DRAWS][2], int which, double out[2])
{
    double sum = 0, square = 0;
    for (int d = 0; d < DRAWS; d++)
        sum += found[d][which] / DRAWS;
    for (int d = 0; d < DRAWS; d++)
        square += (found[d][which] - sum) * (found[d][which] - sum);
    out[0] = sum;
    out[1] = sqrt(square / (DRAWS - 1));
}

static int cohort(bench_run *run, atlas *a, int count, double entropies[2][2])
{
    int status = CLVOX_OK, subject[MOST];
    double found[DRAWS][2];
    record_samples seconds = {0};
    char name[64], remark[96];
    for (int d = 0; d < DRAWS; d++) {
        draw(d, count, subject);
        const double start = clv_seconds();
        CLV_TRY(build(a, subject, count, 1, found[d]));
        record_add_sample(&seconds, clv_seconds() - start);
    }
    spread(found, 0, entropies[0]);
    spread(found, 1, entropies[1]);
    snprintf(name, sizeof name, "atlas, algorithm 1, of %d", count);
    snprintf(remark, sizeof remark, "entropy %.3f, sd %.3f, of the plain mean %.3f, %.3f bits",
             entropies[1][0], entropies[1][1], entropies[0][0], entropies[0][1]);
    const record_row row = {.group = "ha2011",
                            .name = name,
                            .verified = true,
                            .seconds = &seconds,
                            .remark = remark,
                            .size = {a->size[0], a->size[1], a->size[2]}};
    record_add(run->log, &row);
    fprintf(run->out, "%8d %12.3f %8.3f %12.3f %8.3f %10.3f\n", count, entropies[0][0], entropies[0][1],
            entropies[1][0], entropies[1][1], seconds.median);
    fflush(run->out);
end:
    return status;
}

/* The template after every iteration beside that of rounds. */
static int rounds(bench_run *run, atlas *a)
{
    int status = CLVOX_OK, subject[MOST];
    double every[2], seldom[2], apart = 0, length = 0;
    const size_t n = (size_t)a->n;
    float *first = malloc(4 * n);
    if (!first)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory for the bench's result");
    draw(0, MOST, subject);
    CLV_TRY(build(a, subject, MOST, 1, every));
    CLV_TRY(clv_buffer_read(a->ctx, a->template, 0, first, 4 * n));
    CLV_TRY(build(a, subject, MOST, ROUND, seldom));
    for (size_t i = 0; i < n; i++) {
        apart += pow((double)first[i] - (double)a->host[i], 2);
        length += pow((double)first[i], 2);
    }
    fprintf(run->out,
            "A new template after every iteration or after every %d, as clvox atlas makes one after a "
            "registration: entropy %.3f\n"
            "and %.3f bits, the templates differ by %.2g of their length.\n\n",
            ROUND, every[1], seldom[1], sqrt(apart / length));
end:
    free(first);
    return status;
}

int bench_ha2011_atlas(bench_run *run)
{
    int status = CLVOX_OK;
    atlas a = {.n = 0};
    double entropies[SIZES][2][2];
    CLV_TRY(create(run, &a));
    fprintf(
        run->out,
        "Section 2.4.1: atlases by algorithm 1 of %d random subsets of %d phantoms, %dx%dx%d, %d iterations; "
        "entropy in bits, its\n"
        "standard deviation over the draws, seconds of an atlas. The thesis (100 atlases each of 2 to 14 "
        "brains): the\n"
        "entropy of a plain mean rises with the subjects, that of the template falls, and both vary less.\n"
        "%8s %12s %8s %12s %8s %10s\n",
        DRAWS, POOL, a.size[0], a.size[1], a.size[2], ITERATIONS, "subjects", "plain mean", "sd", "template",
        "sd", "s");
    for (int s = 0; s < SIZES; s++)
        CLV_TRY(cohort(run, &a, sizes[s], entropies[s]));
    fprintf(run->out,
            "That the plain mean's entropy rises %s, that the template's falls %s, that it varies less with "
            "more subjects %s.\n",
            entropies[SIZES - 1][0][0] > entropies[0][0][0] ? "holds" : "does not hold",
            entropies[SIZES - 1][1][0] < entropies[0][1][0] ? "holds" : "does not hold",
            entropies[SIZES - 1][1][1] < entropies[0][1][1] ? "holds" : "does not hold");
    CLV_TRY(rounds(run, &a));
end:
    release(&a);
    return status;
}
