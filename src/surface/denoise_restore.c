/* SPDX-License-Identifier: Apache-2.0 */
/* Denoising: shape that went with the noise comes back. Where few patches are
 * alike, as on thin folds, averaging takes away what only one place has. What was
 * taken away (before - after, along the level set) has no mean over a few voxels
 * if it was noise; where its mean is larger than noise leaves it, it was shape.
 * The share that comes back is Wiener's, 1 - noise / (mean square there). */
#include <math.h>
#include <stdlib.h>

#include "op/image/gaussian.h"
#include "op/image/pointwise.h"
#include "image/compare.h"
#include "surface/denoise.h"

/* Half width of the band that it is looked for in, and width of the Gaussian that means are taken by, in
 * smallest edges. */
static const float NEAR = 1.5f, WIDTH = 0.8f;

/* LOW_SHARE of the squares of normal values lie below LOW_SQUARE of their variance: the smallest of all means are
 * those without shape. */
static const double LOW_SHARE = 0.3, LOW_SQUARE = 0.1485;

typedef struct work {
    clv_denoise *run;
    clv_buffer *inside, *taken, *mean, *weight;
} work;

static int blur(const work *w, const clv_buffer *in, clv_buffer *out)
{
    const clv_denoise_box *b = &w->run->box;
    float sigma[3];
    for (int a = 0; a < 3; a++)
        sigma[a] = WIDTH / b->spacing[a];
    return clv_gaussian(w->run->ctx, CLV_VOLUME(in, b->size), sigma, CLV_GAUSSIAN_SEPARABLE, w->run->other,
                        out);
}

static int pointwise(const work *w, clv_pointwise_kind kind, clv_buffer *out, const clv_buffer *a,
                     const clv_buffer *b, const clv_buffer *c, const float k[4])
{
    return clv_pointwise(w->run->ctx, kind, CLV_VOLUME(out, w->run->box.size), a, b, c, k);
}

/* out = the mean of `of` over the voxels of inside near each of them, else 0; `of` is 0 elsewhere. */
static int mean_of(const work *w, const clv_buffer *of, clv_buffer *out)
{
    int status = CLVOX_OK;
    CLV_TRY(blur(w, of, out));
    CLV_TRY(pointwise(w, CLV_POINTWISE_DIVIDE, out, out, w->weight, NULL, (float[4]){1, 1e-6f}));
    CLV_TRY(pointwise(w, CLV_POINTWISE_MULTIPLY, out, out, w->inside, NULL, (float[4]){1}));
end:
    return status;
}

/* Takes from the means their mean over all, which is the level's; the variance
 * that noise alone gives them. */
static int noise_of(const work *w, double *noise)
{
    int status = CLVOX_OK;
    const size_t n = (size_t)w->run->box.n;
    size_t count = 0;
    double sum = 0, all = 0;
    double *squares = malloc(n * sizeof *squares);
    float *mean = malloc(n * sizeof *mean), *inside = malloc(n * sizeof *inside);
    *noise = 0;
    if (!squares || !mean || !inside) {
        status = clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
        goto end;
    }
    CLV_TRY(clv_buffer_read(w->run->ctx, w->mean, 0, mean, n * sizeof *mean));
    CLV_TRY(clv_buffer_read(w->run->ctx, w->inside, 0, inside, n * sizeof *inside));
    for (size_t i = 0; i < n; i++) {
        sum += inside[i] > 0 ? (double)mean[i] : 0;
        all += inside[i] > 0;
    }
    sum /= fmax(all, 1);
    CLV_TRY(pointwise(w, CLV_POINTWISE_LINEAR, w->mean, w->mean, w->inside, NULL, (float[4]){1, (float)-sum}));
    for (size_t i = 0; i < n; i++)
        if (inside[i] > 0)
            squares[count++] = ((double)mean[i] - sum) * ((double)mean[i] - sum);
    if (count)
        *noise = clv_quantile(squares, count, LOW_SHARE) / LOW_SQUARE;
end:
    free(squares);
    free(mean);
    free(inside);
    return status;
}

int clv_denoise_restore(clv_denoise *run, const float *before)
{
    int status = CLVOX_OK;
    const size_t bytes = (size_t)run->box.n * sizeof(float);
    double noise;
    work w = {.run = run};
    const clv_request list[] = {{&w.inside, bytes, "band of what was taken away"},
                                {&w.taken, bytes, "what was taken away"},
                                {&w.mean, bytes, "its means"},
                                {&w.weight, bytes, "their weights"}};
    status = clv_pool_take(run->ctx, list, 4);
    if (status < 0)
        return status;
    CLV_TRY(pointwise(&w, CLV_POINTWISE_ABS, w.inside, run->phi, NULL, NULL, (float[4]){0}));
    CLV_TRY(pointwise(&w, CLV_POINTWISE_THRESHOLD, w.inside, w.inside, NULL, NULL, (float[4]){NEAR, 0, 1, 0}));
    CLV_TRY(blur(&w, w.inside, w.weight));
    CLV_TRY(clv_buffer_write(run->ctx, w.taken, 0, before, bytes));
    CLV_TRY(pointwise(&w, CLV_POINTWISE_LINEAR, w.taken, w.taken, run->phi, NULL, (float[4]){1, -1}));
    /* Whole parts that went are not to come back. */
    CLV_TRY(pointwise(&w, CLV_POINTWISE_CLAMP, w.taken, w.taken, NULL, NULL, (float[4]){1, 0, -1, 1}));
    CLV_TRY(pointwise(&w, CLV_POINTWISE_MULTIPLY, w.taken, w.taken, w.inside, NULL, (float[4]){1}));
    CLV_TRY(mean_of(&w, w.taken, w.mean));
    CLV_TRY(noise_of(&w, &noise));
    /* taken becomes the mean squares, then the share that comes back. */
    CLV_TRY(pointwise(&w, CLV_POINTWISE_MULTIPLY, w.taken, w.mean, w.mean, NULL, (float[4]){1}));
    CLV_TRY(blur(&w, w.taken, run->index));
    CLV_TRY(pointwise(&w, CLV_POINTWISE_DIVIDE, w.taken, run->index, w.weight, NULL, (float[4]){1, 1e-6f}));
    CLV_TRY(pointwise(&w, CLV_POINTWISE_LINEAR, w.taken, w.taken, NULL, NULL, (float[4]){1, 0, 0, 1e-12f}));
    CLV_TRY(pointwise(&w, CLV_POINTWISE_DIVIDE, w.taken, w.inside, w.taken, NULL, (float[4]){(float)noise}));
    CLV_TRY(pointwise(&w, CLV_POINTWISE_CLAMP, w.taken, w.taken, NULL, NULL, (float[4]){-1, 1, 0, 1}));
    CLV_TRY(pointwise(&w, CLV_POINTWISE_MULTIPLY, run->phi, w.taken, w.mean, run->phi, (float[4]){1, 1}));
end:
    clv_pool_release(list, 4);
    return status;
}
