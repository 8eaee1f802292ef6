/* SPDX-License-Identifier: Apache-2.0 */
/* Ha 2011, chapter 2: differences, interpolation, Gaussians and arithmetic on
 * today's device. */
#include <stdlib.h>
#include <string.h>

#include "bench/bench_table.h"
#include "op/image/blend.h"
#include "op/image/gaussian.h"
#include "bench/papers/op/gradient.h"
#include "bench/papers/op/interpolate.h"
#include "bench/papers/op/texture.h"
#include "bench/papers/op/turn.h"
#include "op/image/pointwise.h"
#include "op/field/warp.h"
#include "bench/papers/lines.h"
#include "ref/field/warp.h"

#define DEVICE "GTX 260 or Tesla S1070"

static const clv_map SAME = {{{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}},
                             {{-1, 0, 0}, {0, -1, 0}, {0, 0, -1}}};

/* ---- gradient and interpolation ---- */

/* The image object that the line's variant reads. */
static int prepare_texture(bench_data *d, const paper_line *line)
{
    clv_buffer_destroy(&d->own[0]);
    for (int v = 0; v < line->entry->count; v++)
        if (!strcmp(line->entry->variants[v].name, line->variant))
            return clv_texture_create(d->ctx, &line->entry->variants[v], CLV_VOLUME(d->in[0], d->size),
                                      &d->own[0]);
    return CLVOX_OK;
}

static int run_gradient(bench_data *d, const paper_line *line)
{
    (void)line;
    return clv_gradient_from(d->ctx, CLV_VOLUME(d->in[0], d->size), d->own[0], d->field[0]);
}

static int check_differences(bench_check *c, const paper_line *line)
{
    (void)line;
    return check_gradient(c);
}

static int warp(bench_data *d, clv_interpolation how)
{
    return clv_warp(d->ctx, CLV_VOLUME(d->in[0], d->size), &SAME, d->u, how, 0,
                    CLV_VOLUME(d->out[0], d->size));
}

static int run_interpolate(bench_data *d, const paper_line *line)
{
    (void)line;
    return clv_interpolate(d->ctx, CLV_VOLUME(d->in[0], d->size), d->own[0], &SAME, d->u,
                           CLV_VOLUME(d->out[0], d->size));
}

/* A sampler's weights may have 8 bits, along three axes. */
static int check_sampler(bench_check *c, const paper_line *line)
{
    (void)line;
    ref_warp(c->in[0], c->data->size, &SAME, c->u, REF_LINEAR, 0, 1e-4, c->want, c->unsure, c->data->size);
    return check_buffer(c, c->data->out[0], c->want, c->n, 3 / 256., 0);
}

static int run_linear(bench_data *d, const paper_line *line)
{
    (void)line;
    return warp(d, CLV_LINEAR);
}

static int call_linear(void *what)
{
    return warp(what, CLV_LINEAR);
}

static int run_cubic(bench_data *d, const paper_line *line)
{
    (void)line;
    return warp(d, CLV_CUBIC);
}

static int check_linear(bench_check *c, const paper_line *line)
{
    (void)line;
    return check_warp(c);
}

static int check_cubic(bench_check *c, const paper_line *line)
{
    (void)line;
    return check_warp_cubic(c);
}

#define GRADIENT .run = run_gradient, .check = check_differences, .bytes = 16, .operations = 6, \
                 .entry = &clv_entry_gradient
#define TEXTURE(name) .devices = CLV_ON_ANY, .variant = name, .tile = 0, .prepare = prepare_texture
#define INTERPOLATION .run = run_interpolate, .bytes = 20, .operations = 30, .entry = &clv_entry_interpolate
static const paper_line differences[] = {
    {.name = "gradient, from memory",
     GRADIENT,
     .devices = CLV_ON_ANY,
     .variant = "item",
     .tile = 0,
     .said = "3.4, 9.5 ms",
     .against = PAPER_ALONE},
    {.name = "gradient, local memory",
     GRADIENT,
     .devices = CLV_ON_ANY,
     .variant = "local",
     .tile = 0,
     .said = "1.6, 5.2 ms",
     .against = 0,
     .expects = PAPER_FASTER,
     .figure = 9.5 / 5.2,
     .conclusion = "local memory is the fastest for gradients"},
    {.name = "gradient, 1-D image",
     GRADIENT,
     TEXTURE("1d"),
     .said = "3.0, 8.9 ms",
     .against = 0,
     .expects = PAPER_FASTER,
     .figure = 9.5 / 8.9,
     .conclusion = "a 1-D texture is faster than memory"},
    {.name = "gradient, 3-D image",
     GRADIENT,
     TEXTURE("3d"),
     .said = "6.8, 21 ms",
     .against = 0,
     .expects = PAPER_SLOWER,
     .figure = 9.5 / 21,
     .conclusion = "a 3-D texture is slower than memory"},
    {.name = "gradient, rows", GRADIENT, .devices = CLV_ON_CPU, .variant = "row", .tile = 0, .against = 0},
    {.name = "interpolation, from memory",
     INTERPOLATION,
     .check = check_linear,
     .devices = CLV_ON_ANY,
     .variant = "memory",
     .tile = 0,
     .said = "10.4, 30 ms",
     .against = PAPER_ALONE},
    {.name = "interpolation, 1-D image",
     INTERPOLATION,
     .check = check_linear,
     TEXTURE("1d"),
     .said = "7.3, 24 ms",
     .against = 5,
     .expects = PAPER_FASTER,
     .figure = 30. / 24,
     .conclusion = "a 1-D texture is faster than memory"},
    {.name = "interpolation, 3-D image", INTERPOLATION, .check = check_linear, TEXTURE("3d"), .against = 5},
    {.name = "interpolation, 3-D image's sampler",
     INTERPOLATION,
     .check = check_sampler,
     TEXTURE("3d sampler"),
     .said = "6.8, 19 ms",
     .against = 5,
     .expects = PAPER_FASTER,
     .figure = 30. / 19,
     .conclusion = "interpolation by the hardware is the fastest"},
    {.name = "interpolation, linear",
     .run = run_linear,
     .check = check_linear,
     .devices = CLV_ON_ANY,
     .entry = &clv_entry_warp,
     .bytes = 20,
     .against = 5},
    {.name = "interpolation, cubic",
     .run = run_cubic,
     .check = check_cubic,
     .devices = CLV_ON_ANY,
     .entry = &clv_entry_warp,
     .bytes = 20,
     .against = 9},
};

/* The reference on one core, as the thesis has a CPU reference. */
static int host_interpolation(bench_run *run, bench_data *d, const record_samples *device)
{
    enum { SAMPLES = 3 };
    int status = CLVOX_OK;
    size_t n = (size_t)d->n, bytes = n * sizeof(float);
    float *in = malloc(4 * bytes);
    double *out = malloc(n * sizeof *out);
    int *unsure = calloc(n, sizeof *unsure);
    record_samples samples = {0};
    if (!in || !out || !unsure) {
        status = clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory for the bench's reference");
        goto end;
    }
    float *u = in + n, *planar = u;
    CLV_TRY(clv_buffer_read(d->ctx, d->in[0], 0, in, bytes));
    CLV_TRY(clv_buffer_read(d->ctx, d->u, 0, planar, 3 * bytes));
    if (clv_fields_packed(d->ctx)) {
        float *packed = u;
        planar = malloc(3 * bytes);
        if (!planar) {
            status = clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory for the bench's reference");
            goto end;
        }
        for (size_t i = 0; i < 3 * n; i++)
            planar[i % 3 * n + i / 3] = packed[i];
    }
    for (int i = 0; i < SAMPLES; i++) {
        double start = clv_seconds();
        ref_warp(in, d->size, &SAME, planar, REF_LINEAR, 0, 1e-4, out, unsure, d->size);
        record_add_sample(&samples, clv_seconds() - start);
    }
    double faster = samples.median / device->median;
    const record_paper paper = {.value = 777. / 30, .here = faster, .unit = "times as long as on the device",
                                .device = DEVICE, .holds = bench_slower(&samples, device),
                                .conclusion = "a CPU takes many times as long"};
    const record_row row = {.group = "ha2011", .name = "interpolation, plain C on one core of the host",
                            .size = {d->size[0], d->size[1], d->size[2]}, .seconds = &samples,
                            .verified = true, .paper = &paper,
                            .remark = "the reference, in double precision"};
    fprintf(run->out, "%-54s %9.3f %6s %8.1f (%.2g)\n\n", row.name, 1e3 * samples.median, "", faster,
            paper.value);
    record_add(run->log, &row);
    if (planar != u)
        free(planar);
end:
    free(in);
    free(out);
    free(unsure);
    return status;
}

/* ---- Gaussians by half the kernel's width ---- */

#define SEPARABLE(radius, width, ms) \
    {.name = "separable, half width " #radius, .run = paper_run_separable, .check = paper_check_separable, \
     .sigma = width, .devices = CLV_ON_ANY, .bytes = 24, .operations = 6 * (2 * radius + 1), .said = ms, \
     .against = PAPER_ALONE}
#define RECURSION(radius, width, ms, line) \
    .name = "recursive, half width " #radius, .run = paper_run_recursive, .check = paper_check_recursive, \
    .sigma = width, .devices = CLV_ON_ANY, .bytes = 24, .said = ms, .against = line
#define BEATS(times) \
    .expects = PAPER_FASTER, .figure = times, .conclusion = "recursion beats separable passes"
/* Three times: the next axis becomes the fastest, which is filtered. */
static int run_shifted(bench_data *d, const paper_line *line)
{
    int status = CLVOX_OK;
    const float sigma[3] = {line->sigma, 0, 0};
    for (int k = 0; k < 3; k++) {
        const int from[3] = {d->size[k % 3], d->size[(k + 1) % 3], d->size[(k + 2) % 3]};
        const int to[3] = {from[1], from[2], from[0]};
        CLV_TRY(clv_turn(d->ctx, CLV_VOLUME(k ? d->out[0] : d->in[0], from), d->out[2]));
        CLV_TRY(clv_gaussian(d->ctx, CLV_VOLUME(d->out[2], to), sigma, CLV_GAUSSIAN_SEPARABLE, d->out[1],
                             d->out[0]));
    }
end:
    return status;
}

#define SHIFTED(radius, width, ms, line)                                                                 \
    {                                                                                                    \
        .name = "shifted axes, half width " #radius, .run = run_shifted, .check = paper_check_separable, \
        .sigma = width, .devices = CLV_ON_ANY, .bytes = 48, .said = ms, .against = line                  \
    }
static const paper_line gaussians[] = {
    SEPARABLE(2, .66f, "14 ms"),
    {RECURSION(2, .66f, "10 ms", 0), BEATS(1.4)},
    SEPARABLE(4, 1.33f, "26 ms"),
    {RECURSION(4, 1.33f, "10 ms", 2), BEATS(2.6)},
    SEPARABLE(8, 2.66f, "49 ms"),
    {RECURSION(8, 2.66f, "10 ms", 4), BEATS(4.9)},
    SEPARABLE(20, 6.66f, NULL),
    {RECURSION(20, 6.66f, NULL, 6)},
    SEPARABLE(60, 19.9f, NULL),
    {RECURSION(60, 19.9f, NULL, 8)},
    SHIFTED(2, .66f, "17 ms", 0),
    SHIFTED(4, 1.33f, "28 ms", 2),
    SHIFTED(8, 2.66f, "47 ms", 4),
    {.name = "recursive, half width 60 against 2", .run = paper_run_recursive,
     .check = paper_check_recursive, .sigma = 19.9f, .devices = CLV_ON_ANY, .bytes = 24,
     .against = 1, .expects = PAPER_NO_SLOWER, .conclusion = "the recursion's time does not grow with the width"},
};

/* ---- many inputs at once against chains of operations with two ---- */

static int combine(bench_data *d, clv_buffer *out, const clv_buffer *a, const clv_buffer *b, float ka,
                   float kb, float more)
{
    return clv_pointwise(d->ctx, CLV_POINTWISE_LINEAR, CLV_VOLUME(out, d->size), a, b, NULL,
                         (float[4]){ka, kb, 0, more});
}

static int check_combined(bench_check *c, double ka, double kb, double more)
{
    for (size_t i = 0; i < c->n; i++)
        c->want[i] = ka * (double)c->in[0][i] + kb * (double)c->in[1][i] + more;
    return check_buffer(c, c->data->out[0], c->want, c->n, 4e-6, 1e-6);
}

static int run_copy(bench_data *d, const paper_line *line)
{
    (void)line;
    return combine(d, d->out[0], d->in[0], NULL, 1, 0, 0);
}

static int check_same(bench_check *c, const paper_line *line)
{
    (void)line;
    return check_combined(c, 1, 0, 0);
}

/* x = .3 a + .7 b */
static int run_between(bench_data *d, const paper_line *line)
{
    (void)line;
    return combine(d, d->out[0], d->in[0], d->in[1], .3f, .7f, 0);
}

static int run_between_chain(bench_data *d, const paper_line *line)
{
    int status = CLVOX_OK;
    (void)line;
    CLV_TRY(combine(d, d->out[0], d->in[0], NULL, .3f, 0, 0));
    CLV_TRY(combine(d, d->out[1], d->in[1], NULL, .7f, 0, 0));
    CLV_TRY(combine(d, d->out[0], d->out[0], d->out[1], 1, 1, 0));
end:
    return status;
}

static int check_between(bench_check *c, const paper_line *line)
{
    (void)line;
    return check_combined(c, (double).3f, (double).7f, 0);
}

/* x = (a - .25) / .5 * .8 + .1 */
static int run_range(bench_data *d, const paper_line *line)
{
    (void)line;
    return combine(d, d->out[0], d->in[0], NULL, 1.6f, 0, -.3f);
}

static int run_range_chain(bench_data *d, const paper_line *line)
{
    int status = CLVOX_OK;
    (void)line;
    CLV_TRY(combine(d, d->out[0], d->in[0], NULL, 1, 0, -.25f));
    CLV_TRY(combine(d, d->out[0], d->out[0], NULL, 1.6f, 0, 0));
    CLV_TRY(combine(d, d->out[0], d->out[0], NULL, 1, 0, .1f));
end:
    return status;
}

static int check_range(bench_check *c, const paper_line *line)
{
    (void)line;
    return check_combined(c, 1.6, 0, -.3);
}

/* u = u + w (v - u) for fields; the chain needs a weight for each component. */
static int prepare_weights(bench_data *d, const paper_line *line)
{
    int status = CLVOX_OK;
    size_t n = (size_t)d->n, bytes = n * sizeof(float);
    bool packed = clv_fields_packed(d->ctx);
    float *w = malloc(4 * bytes);
    (void)line;
    if (!w)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory for the bench's data");
    CLV_TRY(clv_buffer_read(d->ctx, d->in[0], 0, w, bytes));
    for (size_t i = 0; i < 3 * n; i++)
        w[n + i] = w[packed ? i / 3 : i % n];
    CLV_TRY(clv_buffer_write(d->ctx, d->nine, 0, w + n, 3 * bytes));
end:
    free(w);
    return status;
}

static int run_blend(bench_data *d, const paper_line *line)
{
    (void)line;
    return clv_blend(d->ctx, CLV_VECTORS(d->field[1], d->size), d->v, d->in[0]);
}

static int run_blend_chain(bench_data *d, const paper_line *line)
{
    static const float apart[4] = {1, -1}, times[4] = {1}, sum[4] = {1, 1};
    int status = CLVOX_OK;
    clv_buffer *u = d->field[1], *t = d->field[0];
    (void)line;
    CLV_TRY(clv_pointwise(d->ctx, CLV_POINTWISE_LINEAR, CLV_VECTORS(t, d->size), d->v, u, NULL, apart));
    CLV_TRY(clv_pointwise(d->ctx, CLV_POINTWISE_MULTIPLY, CLV_VECTORS(t, d->size), t, d->nine, NULL, times));
    CLV_TRY(clv_pointwise(d->ctx, CLV_POINTWISE_LINEAR, CLV_VECTORS(u, d->size), u, t, NULL, sum));
end:
    return status;
}

static int check_blended(bench_check *c, const paper_line *line)
{
    (void)line;
    return check_blend(c);
}

/* Bytes of a chain are its own: it must move them. */
#define CHAIN(title, what, proof, moved) \
    {.name = title ", two by two", .run = what, .check = proof, .devices = CLV_ON_ANY, .bytes = moved, \
     .entry = &clv_entry_pointwise, .against = PAPER_ALONE}
#define FUSED(title, what, proof, moved, chain, text, factor) \
    {.name = title ", at once", .run = what, .check = proof, .devices = CLV_ON_ANY, .bytes = moved, \
     .entry = &clv_entry_pointwise, .said = text, .against = chain, .expects = PAPER_FASTER, \
     .figure = factor, .conclusion = "operations with many inputs beat chains"}
static const paper_line arithmetic[] = {
    {.name = "copy", .run = run_copy, .check = check_same, .devices = CLV_ON_ANY, .bytes = 8,
     .entry = &clv_entry_pointwise, .against = PAPER_ALONE},
    CHAIN("a x + b y", run_between_chain, check_between, 28),
    FUSED("a x + b y", run_between, check_between, 12, 1, "up to 2-3 times", 7. / 3),
    CHAIN("range", run_range_chain, check_range, 24),
    FUSED("range", run_range, check_range, 8, 3, "up to 2-3 times", 0),
    {.name = "u + w (v - u), fields, two by two", .run = run_blend_chain, .check = check_blended,
     .prepare = prepare_weights, .devices = CLV_ON_ANY, .bytes = 108, .entry = &clv_entry_pointwise,
     .against = PAPER_ALONE},
    {.name = "u + w (v - u), fields, at once", .run = run_blend, .check = check_blended,
     .devices = CLV_ON_ANY, .bytes = 40, .entry = &clv_entry_blend, .against = 5, .expects = PAPER_FASTER,
     .conclusion = "operations with many inputs beat chains"},
    {.name = "range, at once, against the copy", .run = run_range, .check = check_range,
     .devices = CLV_ON_ANY, .bytes = 8, .entry = &clv_entry_pointwise, .against = 0,
     .expects = PAPER_NO_SLOWER, .conclusion = "one pass takes no longer than a copy"},
};

static int print(bench_run *run, bench_data *data, const char *title, const char *device,
                 const paper_line *lines, int count)
{
    const paper_table table = {"ha2011", device, "the thesis", lines, count};
    fprintf(run->out, "%s\n", title);
    return paper_print(run, data, &table);
}

#define COUNT(lines) ((int)(sizeof lines / sizeof *lines))

int bench_ha2011(bench_run *run)
{
    int status = CLVOX_OK;
    bench_data data = {0};
    bench_time time;
    CLV_TRY(bench_limits(run));
    CLV_TRY(bench_data_create(run->ctx, run->size, false, &data));
    fprintf(run->out,
            "Ha 2011, chapters 2 and 4 and appendix A, %dx%dx%d, on %s.\n"
            "The thesis ran on a GTX 260 and a Tesla S1070 and mostly does not say which.\n\n",
            run->size[0], run->size[1], run->size[2], clvox_context_limits(run->ctx)->name);
    CLV_TRY(print(run, &data,
                  "Tables 2.1 and 2.2, 160x224x160 and 256x256x256: gradient (1D texture 3.0, 8.9 ms,\n"
                  "3D 6.8, 21 ms) and interpolation (1D texture 7.3, 24 ms, 3D 6.8, 19 ms, CPU 209, 777 ms)",
                  DEVICE, differences, COUNT(differences)));
    status = bench_measure(run, call_linear, &data, NULL, &time);
    if (!paper_passed_over(run, "interpolation, plain C beside it", &status)) {
        CLV_TRY(status);
        CLV_TRY(host_interpolation(run, &data, &time.seconds));
    }
    CLV_TRY(print(run, &data,
                  "Table 2.4: Gaussian of an image by half its kernel's width, 2, 4 and 8 (size not said); the\n"
                  "recursion's time does not depend on it",
                  DEVICE, gaussians, COUNT(gaussians)));
    CLV_TRY(print(run, &data,
                  "Figure 2.5, GTX 260: arithmetic in one pass against operations with two inputs. By its bytes\n"
                  "a x + b y should be 7/3 times as fast; that and the range were \"up to 2-3\" times",
                  "GTX 260", arithmetic, COUNT(arithmetic)));
    CLV_TRY(bench_ha2011_means(run, &data));
    CLV_TRY(bench_ha2011_sizes(run));
    CLV_TRY(bench_ha2011_matrices(run, &data));
    CLV_TRY(bench_ha2011_splat(run, &data));
    CLV_TRY(bench_ha2011_sort(run, &data));
    status = bench_ha2011_solvers(run);
    if (!paper_passed_over(run, "solvers", &status))
        CLV_TRY(status);
    status = bench_ha2011_registration(run);
    if (!paper_passed_over(run, "solvers inside registrations", &status))
        CLV_TRY(status);
    status = bench_ha2011_currents(run);
    if (!paper_passed_over(run, "currents", &status))
        CLV_TRY(status);
    status = bench_ha2011_matching(run);
    if (!paper_passed_over(run, "greedy matching and LDDMM", &status))
        CLV_TRY(status);
    status = bench_ha2011_anatomy(run);
    if (!paper_passed_over(run, "registrations by tissues", &status))
        CLV_TRY(status);
    CLV_TRY(bench_ha2011_reduce(run));
    status = bench_ha2011_atlas(run);
    if (!paper_passed_over(run, "atlases of random subsets", &status))
        CLV_TRY(status);
    status = bench_ha2011_scales(run);
    if (!paper_passed_over(run, "one scale against two", &status))
        CLV_TRY(status);
end:
    bench_data_release(&data);
    return status;
}
