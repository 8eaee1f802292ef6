/* SPDX-License-Identifier: Apache-2.0 */
/* Mueller 2008: forms of convolution on today's device. */
#include <string.h>

#include "bench/bench_table.h"
#include "bench/papers/beside.h"
#include "bench/papers/op/convolve.h"
#include "bench/papers/op/texture_filter.h"
#include "bench/papers/ref/texture_filter.h"
#include "op/image/gaussian.h"
#include "op/image/sobel.h"
#include "op/image/unsharp.h"
#include "bench/papers/lines.h"
#include "ref/image/gaussian.h"

/* Gives 11 taps: 121 of the full mask, as the paper's 10 x 10. */
#define SIGMA 1.66f

/* The outer product of the weights of both passes. */
static int prepare_mask(bench_data *d, const paper_line *line)
{
    enum { RADIUS = CLV_CONVOLVE_MAX_RADIUS, WIDE = 2 * RADIUS + 1 };
    float weights[CLV_GAUSSIAN_MAX_RADIUS + 1], mask[WIDE * WIDE];
    clv_gaussian_weights(line->sigma, weights);
    for (int y = -RADIUS; y <= RADIUS; y++)
        for (int x = -RADIUS; x <= RADIUS; x++)
            mask[(y + RADIUS) * WIDE + x + RADIUS] = weights[x < 0 ? -x : x] * weights[y < 0 ? -y : y];
    return clv_buffer_write(d->ctx, d->nine, 0, mask, sizeof mask);
}

static int run_mask(bench_data *d, const paper_line *line)
{
    return clv_convolve(d->ctx, d->in[0], d->size, clv_gaussian_radius(line->sigma), d->nine, d->out[0]);
}

static int blur(bench_data *d, const clv_buffer *in, float x, float y, clv_buffer *out)
{
    return clv_gaussian(d->ctx, CLV_VOLUME(in, d->size), (const float[3]){x, y, 0}, CLV_GAUSSIAN_SEPARABLE,
                        d->out[2], out);
}

static int run_two_passes(bench_data *d, const paper_line *line)
{
    int status = blur(d, d->in[0], line->sigma, 0, d->out[1]);
    return status < 0 ? status : blur(d, d->out[1], 0, line->sigma, d->out[0]);
}

static int run_plane(bench_data *d, const paper_line *line)
{
    return blur(d, d->in[0], line->sigma, line->sigma, d->out[0]);
}

static int run_sobel(bench_data *d, const paper_line *line)
{
    (void)line;
    return clv_sobel(d->ctx, CLV_VOLUME(d->in[0], d->size), d->out[0]);
}

static int check_edges(bench_check *c, const paper_line *line)
{
    (void)line;
    return check_sobel(c);
}

static int run_unsharp(bench_data *d, const paper_line *line)
{
    const float sigma[3] = {line->sigma, line->sigma, line->sigma};
    return clv_unsharp(d->ctx, CLV_VOLUME(d->in[0], d->size), sigma, 1, d->out[1], d->out[0]);
}

static int check_masking(bench_check *c, const paper_line *line)
{
    (void)line;
    return check_unsharp(c);
}

/* ---- textures ---- */

#define ALPHA .6f

/* Textures of the line that runs now; bench_mueller2008 lets go of them. */
static clv_textures textures;

static int prepare_textures(bench_data *d, const paper_line *line)
{
    clv_textures_destroy(&textures);
    return clv_textures_create(d->ctx, CLV_VOLUME(d->in[0], d->size), line->sigma, &d->out[1], &textures);
}

static int run_texture(bench_data *d, const paper_line *line)
{
    (void)line;
    return clv_texture_gaussian(d->ctx, &textures, d->out[0]);
}

static int run_texture_sobel(bench_data *d, const paper_line *line)
{
    (void)line;
    return clv_texture_sobel(d->ctx, &textures, d->out[0]);
}

static int run_texture_unsharp(bench_data *d, const paper_line *line)
{
    (void)line;
    return clv_texture_unsharp(d->ctx, &textures, ALPHA, d->out[0]);
}

/* Linear reads have 256 places between two texels. */
static int check_texture(bench_check *c, const paper_line *line)
{
    const double sigma[3] = {(double)line->sigma, (double)line->sigma, 0};
    for (size_t i = 0; i < c->n; i++)
        c->more[i] = (double)c->in[0][i];
    ref_gaussian(c->more, c->data->size, sigma, c->want);
    if (line->run == run_texture_unsharp)
        ref_texture_unsharp(c->in[0], (int)c->n, (double)ALPHA, c->want);
    return check_buffer(c, c->data->out[0], c->want, c->n, strstr(line->variant, "linear") ? 1e-2 : 4e-6, 0);
}

static int check_texture_sobel(bench_check *c, const paper_line *line)
{
    (void)line;
    ref_texture_sobel(c->in[0], c->data->size, c->want);
    return check_buffer(c, c->data->out[0], c->want, c->n, 2e-5, 2e-5);
}

#define TEXTURE(word, kind)                                                                              \
    .name = word ", textures " kind, .prepare = prepare_textures, .sigma = SIGMA, .devices = CLV_ON_GPU, \
    .variant = kind, .tile = 0
#define TEXTURE_GAUSSIAN(kind)                                                                  \
    TEXTURE("Gaussian of planes", kind), .run = run_texture, .check = check_texture, .bytes = 24, \
    .operations = 44, .entry = &clv_entry_texture_blur
#define TEXTURE_SOBEL(kind)                                                                         \
    TEXTURE("Sobel of planes", kind), .run = run_texture_sobel, .check = check_texture_sobel, .bytes = 28, \
    .entry = &clv_entry_texture_mask, .said = "three passes", .against = PAPER_ALONE
#define TEXTURE_UNSHARP(kind)                                                                               \
    TEXTURE("unsharp of planes", kind), .run = run_texture_unsharp, .check = check_texture, .bytes = 36,    \
    .entry = &clv_entry_texture_blur, .said = "one pass more", .against = PAPER_ALONE

#define MASK .run = run_mask, .check = paper_check_plane, .prepare = prepare_mask, .sigma = SIGMA, \
             .entry = &clv_entry_convolve, .bytes = 8, .operations = 242

enum { FULL, DIRECT, BLOCK_ONE, TWO_PASSES = 7 };
static const paper_line lines[] = {
    [FULL] = {.name = "full mask 11x11", MASK, .devices = CLV_ON_ANY, .tile = -1, .against = PAPER_ALONE},
    [DIRECT] = {.name = "full mask, from memory", MASK, .devices = CLV_ON_GPU, .variant = "direct",
                .tile = 0, .against = PAPER_ALONE},
    [BLOCK_ONE] = {.name = "full mask, local memory", MASK, .devices = CLV_ON_GPU, .variant = "block",
                   .tile = 1, .against = DIRECT, .expects = PAPER_FASTER,
                   .conclusion = "a block with its apron in local memory pays"},
    {.name = "full mask, local memory, 4 values", MASK, .devices = CLV_ON_GPU, .variant = "block", .tile = 0,
     .against = BLOCK_ONE, .expects = PAPER_FASTER,
     .conclusion = "more than one value a work-item pays"},
    {.name = "full mask, from memory, loops kept", MASK, .devices = CLV_ON_GPU, .variant = "rolled",
     .tile = 0, .against = DIRECT, .expects = PAPER_SLOWER, .figure = .5,
     .conclusion = "loops that are not unrolled are slower"},
    {.name = "full mask, not coalesced", MASK, .devices = CLV_ON_GPU, .variant = "strided", .tile = 0,
     .against = DIRECT, .expects = PAPER_SLOWER, .figure = .1,
     .conclusion = "neighbours that do not read neighbours are slower"},
    {.name = "full mask, rows, loops kept", MASK, .devices = CLV_ON_CPU, .variant = "row rolled", .tile = 0,
     .against = FULL, .expects = PAPER_SLOWER, .figure = .5,
     .conclusion = "loops that are not unrolled are slower"},
    [TWO_PASSES] = {.name = "separable, two passes", .run = run_two_passes, .check = paper_check_plane,
                    .sigma = SIGMA, .devices = CLV_ON_ANY, .bytes = 16, .operations = 44,
                    .said = "10 to 20 times", .against = FULL, .expects = PAPER_FASTER, .figure = 10,
                    .conclusion = "separable passes are faster than a full mask"},
    {.name = "separable, as clvox runs it", .run = run_plane, .check = paper_check_plane, .sigma = SIGMA,
     .devices = CLV_ON_ANY, .bytes = 8, .operations = 44, .against = FULL},
    {.name = "Gaussian 1.66, three axes", .run = paper_run_separable, .check = paper_check_separable,
     .sigma = SIGMA, .devices = CLV_ON_ANY, .bytes = 24, .operations = 66, .against = PAPER_ALONE},
    {.name = "Sobel, three axes in one pass", .run = run_sobel, .check = check_edges,
     .devices = CLV_ON_ANY, .entry = &clv_entry_sobel, .bytes = 8, .said = "three passes",
     .against = PAPER_ALONE},
    {.name = "unsharp 1.7, with the combination", .run = run_unsharp, .check = check_masking, .sigma = 1.7f,
     .devices = CLV_ON_ANY, .bytes = 36, .operations = 81, .said = "one pass more",
     .against = PAPER_ALONE},
    {TEXTURE_GAUSSIAN("2d nearest"), .against = TWO_PASSES},
    {TEXTURE_GAUSSIAN("2d linear"), .against = TWO_PASSES},
    {TEXTURE_GAUSSIAN("3d nearest"), .against = TWO_PASSES},
    {TEXTURE_GAUSSIAN("3d linear"), .against = TWO_PASSES},
    {TEXTURE_SOBEL("2d nearest")},
    {TEXTURE_SOBEL("2d linear")},
    {TEXTURE_SOBEL("3d nearest")},
    {TEXTURE_SOBEL("3d linear")},
    {TEXTURE_UNSHARP("2d nearest")},
    {TEXTURE_UNSHARP("3d nearest")},
};

static const char *const not_covered[] = {
    "fragment programs and render targets: passes are OpenCL kernels that read textures and write\n"
    "  buffers, which are copied into the next pass's texture; on CPU devices, which read images many\n"
    "  times slower, only the tests run them",
    NULL,
};

int bench_mueller2008(bench_run *run)
{
    int status = CLVOX_OK;
    bench_data data = {0};
    const paper_table table = {"mueller2008", "GeForce 8800", "the paper", lines,
                               sizeof lines / sizeof *lines};
    CLV_TRY(bench_limits(run));
    CLV_TRY(bench_data_create(run->ctx, run->size, false, &data));
    fprintf(run->out,
            "Mueller 2008: forms of convolution, %dx%dx%d, on %s.\n"
            "The paper (a course, GeForce 8800 series) gives factors and neither sizes nor times: two\n"
            "separable passes 10 to 20 times as fast as a full mask of 10x10, unrolled loops 2 times,\n"
            "coalesced reads more than 10 times; it gives none for local memory. Full masks here are of 11x11\n"
            "in planes, of a Gaussian of %.2f voxels, as the separable passes are. Textures: 2-D images,\n"
            "one a plane, and a 3-D one, with the kernel in a texture, too (part 1); linear reads take two\n"
            "taps at once.\n\n",
            run->size[0], run->size[1], run->size[2], clvox_context_limits(run->ctx)->name, (double)SIGMA);
    CLV_TRY(paper_print(run, &data, &table));
    paper_not_covered(run, not_covered);
end:
    clv_textures_destroy(&textures);
    bench_data_release(&data);
    return status;
}
