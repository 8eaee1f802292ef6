/* SPDX-License-Identifier: Apache-2.0 */
/* Values, gradients and normal matrices of many maps at once, from the sums
 * that the device makes. */
#include <math.h>
#include <string.h>

#include "base/matrix.h"
#include "op/image/resample.h"
#include "register/linear/linear.h"

/* ---- maps and parameters ------------------------------------------------ */

int clv_linear_parameters(clvox_linear kind)
{
    return kind == CLVOX_LINEAR_TRANSLATION ? 3 : kind == CLVOX_LINEAR_RIGID ? 6
           : kind == CLVOX_LINEAR_SIMILARITY ? 7 : kind == CLVOX_LINEAR_SCALES ? 9 : 12;
}

/* An axis of the fixed image, of length 1. */
static void fixed_axis(const clv_linear_stage *stage, int axis, double out[3])
{
    double rotation[3][3];
    if (clv_matrix_rotation(CLV_MATRIX(stage->run->fixed_grid.to_ras), rotation) < 0)
        memset(rotation, 0, sizeof rotation);
    for (int i = 0; i < 3; i++)
        out[i] = rotation[i][axis];
}

/* A scale along the fixed axis a comes before the rotation R that state has: R a a^T R^-1. */
static void scale_generator(const clv_linear_stage *stage, const clv_linear_state *state, int axis,
                            double g[3][3])
{
    double a[3], m[4][4], rotation[3][3], b[3] = {0};
    clv_matrix_identity(m);
    for (int i = 0; i < 9; i++)
        m[i / 3][i % 3] = state->linear[i / 3][i % 3];
    fixed_axis(stage, axis, a);
    if (clv_matrix_rotation(CLV_MATRIX(m), rotation) >= 0)
        for (int i = 0; i < 9; i++)
            b[i / 3] += rotation[i / 3][i % 3] * a[i % 3];
    for (int i = 0; i < 9; i++)
        g[i / 3][i % 3] = b[i / 3] * b[i % 3] / stage->radius;
}

/* Generator of a parameter, its velocity at y = linear (x - center): G y + t. */
static void generator(const clv_linear_stage *stage, clvox_linear kind, const clv_linear_state *state, int p,
                      double g[3][3], double t[3])
{
    memset(g, 0, 9 * sizeof(double));
    for (int i = 0; i < 3; i++)
        t[i] = p == i;
    if (p < 3)
        return;
    int k = p - 3;
    double unit = 1 / stage->radius;
    if (kind == CLVOX_LINEAR_AFFINE) {
        g[k / 3][k % 3] = unit;
    } else if (k < 3) {
        g[(k + 2) % 3][(k + 1) % 3] = unit;
        g[(k + 1) % 3][(k + 2) % 3] = -unit;
    } else if (kind == CLVOX_LINEAR_SCALES) {
        scale_generator(stage, state, k - 3, g);
    } else {
        for (int i = 0; i < 3; i++)
            g[i][i] = unit;
    }
}

/* Removes the part of v along the normal n. */
static void flatten(const double n[3], double v[3])
{
    double along = n[0] * v[0] + n[1] * v[1] + n[2] * v[2];
    for (int i = 0; i < 3; i++)
        v[i] -= along * n[i];
}

void clv_linear_keep_in_plane(const clv_linear_stage *stage, clvox_linear kind, double delta[12])
{
    const double *n = stage->thin_axis;
    double *rotation = delta + 3;
    if (!stage->thin)
        return;
    flatten(n, delta);
    if (kind == CLVOX_LINEAR_AFFINE) {
        for (int i = 0; i < 3; i++)
            flatten(n, rotation + 3 * i);
        for (int j = 0; j < 3; j++) {
            double column[3] = {rotation[j], rotation[3 + j], rotation[6 + j]};
            flatten(n, column);
            for (int i = 0; i < 3; i++)
                rotation[3 * i + j] = column[i];
        }
    } else if (clv_linear_parameters(kind) >= 6) {
        double rest[3] = {rotation[0], rotation[1], rotation[2]};
        flatten(n, rest);
        for (int i = 0; i < 3; i++)
            rotation[i] -= rest[i];
    }
    for (int i = 0; kind == CLVOX_LINEAR_SCALES && i < 3; i++) {
        double a[3];
        fixed_axis(stage, i, a);
        if (fabs(a[0] * n[0] + a[1] * n[1] + a[2] * n[2]) > .5)
            delta[6 + i] = 0;
    }
}

/* exp(g) by its series, halved until small. */
static void exponential(double g[3][3], double out[3][3])
{
    double term[3][3], largest = 0;
    int halvings = 0;
    for (int i = 0; i < 9; i++)
        largest = fmax(largest, fabs(g[i / 3][i % 3]));
    for (; largest > .1; largest /= 2)
        halvings++;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            g[i][j] = ldexp(g[i][j], -halvings);
            out[i][j] = term[i][j] = i == j;
        }
    for (int n = 1; n < 12; n++) {
        clv_matrix3_multiply(CLV_MATRIX3(term), CLV_MATRIX3(g), term);
        for (int i = 0; i < 9; i++) {
            term[i / 3][i % 3] /= n;
            out[i / 3][i % 3] += term[i / 3][i % 3];
        }
    }
    for (; halvings > 0; halvings--)
        clv_matrix3_multiply(CLV_MATRIX3(out), CLV_MATRIX3(out), out);
}

void clv_linear_move(const clv_linear_stage *stage, clvox_linear kind, const clv_linear_state *from,
                 const double delta[12], clv_linear_state *to)
{
    double sum[3][3] = {{0}}, scale[3][3] = {{0}}, g[3][3], t[3], e[3][3];
    *to = *from;
    for (int p = 0; p < clv_linear_parameters(kind); p++) {
        bool scales = kind == CLVOX_LINEAR_SCALES && p >= 6;
        generator(stage, kind, from, p, g, t);
        for (int i = 0; i < 3; i++) {
            to->shift[i] += delta[p] * t[i];
            for (int j = 0; j < 3; j++)
                (scales ? scale : sum)[i][j] += delta[p] * g[i][j];
        }
    }
    /* Scales first, which commute, so that a rotation after scales stays one. */
    if (kind == CLVOX_LINEAR_SCALES) {
        exponential(scale, e);
        clv_matrix3_multiply(CLV_MATRIX3(e), CLV_MATRIX3(to->linear), to->linear);
    }
    exponential(sum, e);
    clv_matrix3_multiply(CLV_MATRIX3(e), CLV_MATRIX3(to->linear), to->linear);
}

void clv_linear_from_matrix(const clv_linear_stage *stage, const double matrix[4][4], clv_linear_state *state)
{
    memset(state, 0, sizeof *state);
    for (int i = 0; i < 3; i++) {
        state->shift[i] = matrix[i][3];
        for (int j = 0; j < 3; j++) {
            state->linear[i][j] = matrix[i][j];
            state->shift[i] += matrix[i][j] * stage->center[j];
        }
    }
}

void clv_linear_to_matrix(const clv_linear_stage *stage, const clv_linear_state *state, double matrix[4][4])
{
    clv_matrix_identity(matrix);
    for (int i = 0; i < 3; i++) {
        matrix[i][3] = state->shift[i];
        for (int j = 0; j < 3; j++) {
            matrix[i][j] = state->linear[i][j];
            matrix[i][3] -= state->linear[i][j] * stage->center[j];
        }
    }
}

/* ---- from the device's sums to parameters ------------------------------- */

/* How each parameter moves the voxel that a sample looks at: basis[p][4 j + k],
 * j the axis, k the factor 1, kx, ky, kz. back: samples of the moving image
 * that look into the fixed one through the inverse map. */
static void bases(const clv_linear_stage *stage, const clv_linear_level *level, const float centre[3],
                  clvox_linear kind, const clv_linear_state *state, bool back, double basis[12][12])
{
    double to_voxel[4][4], at[3], g[3][3], t[3], far[3], spread[3][3], moved[3][3], chain[3][3];
    const clvox_grid *grid = back ? &level->moving_grid : &level->fixed_grid;
    const clvox_grid *seen = back ? &level->fixed_grid : &level->moving_grid;
    if (clv_matrix_invert(CLV_MATRIX(seen->to_ras), to_voxel) < 0)
        clv_matrix_identity(to_voxel);
    clv_matrix_apply(CLV_MATRIX(grid->to_ras),
                     (double[3]){(double)centre[0], (double)centre[1], (double)centre[2]}, at);
    /* Velocity G v + t: of v = A (x - c) in the moving world, or of v = y - s there and then rotated by -1/A into
     * the fixed one. */
    for (int i = 0; i < 3; i++) {
        far[i] = back ? at[i] - state->shift[i] : 0;
        for (int j = 0; j < 3; j++) {
            far[i] += back ? 0 : state->linear[i][j] * (at[j] - stage->center[j]);
            spread[i][j] = back ? grid->to_ras[i][j] : 0;
            for (int k = 0; k < 3 && !back; k++)
                spread[i][j] += state->linear[i][k] * grid->to_ras[k][j];
        }
    }
    if (back && clv_matrix3_invert(CLV_MATRIX3(state->linear), chain) < 0)
        memset(chain, 0, sizeof chain);
    for (int i = 0; i < 9; i++)
        chain[i / 3][i % 3] = back ? -chain[i / 3][i % 3] : i % 4 == 0;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            moved[i][j] = 0;
            for (int k = 0; k < 3; k++)
                moved[i][j] += to_voxel[i][k] * chain[k][j];
        }
    memcpy(chain, moved, sizeof chain);
    for (int p = 0; p < clv_linear_parameters(kind); p++) {
        double velocity[3];
        generator(stage, kind, state, p, g, t);
        clv_matrix3_multiply(CLV_MATRIX3(g), CLV_MATRIX3(spread), moved);
        for (int i = 0; i < 3; i++)
            velocity[i] = t[i] + g[i][0] * far[0] + g[i][1] * far[1] + g[i][2] * far[2];
        for (int j = 0; j < 3; j++)
            for (int k = 0; k < 4; k++) {
                double sum = 0;
                for (int i = 0; i < 3; i++)
                    sum += chain[j][i] * (k ? moved[i][k - 1] : velocity[i]);
                basis[p][4 * j + k] = sum;
            }
    }
}

static void project(int parameters, double basis[12][12], const float *sums, double out[12])
{
    for (int p = 0; p < parameters; p++) {
        out[p] = 0;
        for (int i = 0; i < 12; i++)
            out[p] += basis[p][i] * (double)sums[i];
    }
}

/* The normal matrix from the sixty sums g_i g_j k_l k_m. */
static void project_normal(int parameters, double basis[12][12], const float *sums, double out[12][12])
{
    static const int pair_of[3][3] = {{0, 1, 2}, {1, 3, 4}, {2, 4, 5}};
    static const int power_of[4][4] = {{0, 1, 2, 3}, {1, 4, 5, 6}, {2, 5, 7, 8}, {3, 6, 8, 9}};
    double half[12][12];
    for (int p = 0; p < parameters; p++)
        for (int i = 0; i < 12; i++) {
            half[p][i] = 0;
            for (int j = 0; j < 12; j++)
                half[p][i] += basis[p][j] * (double)sums[10 * pair_of[i / 4][j / 4] + power_of[i % 4][j % 4]];
        }
    for (int p = 0; p < parameters; p++)
        for (int q = 0; q < parameters; q++) {
            out[p][q] = 0;
            for (int i = 0; i < 12; i++)
                out[p][q] += half[p][i] * basis[q][i];
        }
}

/* Adds weight times what the metric says of the sums, with Gauss-Newton's matrix. */
static void add_pair(int parameters, double basis[12][12], const float *s, const clv_metric_row *metric,
                     double weight, clv_linear_state *state)
{
    double normal[12][12], n = (double)s[0], f = (double)s[1] / n, m = (double)s[2] / n;
    clv_pair_sums sums = {.parameters = parameters, .n = n, .f = f, .m = m, .ff = (double)s[3] / n - f * f,
                          .mm = (double)s[4] / n - m * m, .fm = (double)s[5] / n - f * m, .normal = normal};
    project(parameters, basis, s + 6, sums.d);
    project(parameters, basis, s + 18, sums.fd);
    project(parameters, basis, s + 30, sums.md);
    project_normal(parameters, basis, s + 42, normal);
    metric->add(&sums, weight, &state->value, state->gradient, state->normal);
}

/* ---- evaluation --------------------------------------------------------- */

typedef struct batch {
    clv_linear_stage *stage;
    const clv_linear_level *level;
    int channel, bins;
    const clv_metric_row *metric;
    clvox_linear kind;
    double weight;
    bool back; /* samples of the moving image look into the fixed one */
    clv_affine_pair pair;
    clv_linear_state *states;
} batch;

static void count_overlap(const batch *b, clv_linear_state *state, double n)
{
    const clv_linear_stage *stage = b->stage;
    const clv_linear_level *level = b->level;
    double steps = level->step[0] * level->step[1];
    double fixed = stage->fixed.finite * (double)clvox_grid_voxels(&level->fixed_grid);
    double scale = fabs(clv_matrix3_determinant(CLV_MATRIX3(state->linear)) *
                        clv_matrix_determinant(CLV_MATRIX(level->fixed_grid.to_ras)) /
                        clv_matrix_determinant(CLV_MATRIX(level->moving_grid.to_ras)));
    double moving = stage->moving.finite * (double)clvox_grid_voxels(&level->moving_grid) / fmax(scale, 1e-9);
    state->overlap = n * steps / fmax(fmin(fixed, moving), 1);
}

static int evaluate_histogram(batch *b, bool derivatives)
{
    int status = CLVOX_OK;
    clv_linear_stage *stage = b->stage;
    clvox_context *ctx = stage->run->ctx;
    int bins = b->bins, entries = bins * bins, columns = entries + bins, count = b->pair.count;
    double rows = (double)b->pair.fixed.size[0] * b->pair.fixed.size[1] * b->pair.fixed.size[2];
    unsigned unit = 65536;
    float *sums = stage->host;
    while (unit > 1 && unit * rows >= 4294967295.)
        unit /= 2;
    CLV_TRY(clv_affine_histogram(ctx, &b->pair, bins, unit, stage->counts));
    CLV_TRY(clv_buffer_read(ctx, stage->counts, 0, stage->host_counts,
                            (size_t)(count * entries) * sizeof(uint32_t)));
    for (int i = 0; i < count; i++) {
        double total;
        float *table = stage->host + (size_t)i * (size_t)columns;
        double value =
            clv_linear_score(b->metric, bins, stage->host_counts + (size_t)i * (size_t)entries, &total,
                             derivatives ? table : NULL, derivatives ? table + entries : NULL);
        if (b->channel == 0 && !b->back)
            count_overlap(b, &b->states[i], total / unit);
        b->states[i].value += b->weight * value;
    }
    if (!derivatives)
        goto end;
    CLV_TRY(clv_buffer_write(ctx, stage->tables, 0, stage->host, (size_t)(count * columns) * sizeof(float)));
    CLV_TRY(clv_affine_sums(ctx, &b->pair, &(clv_affine_derivatives){CLV_AFFINE_TABLE, stage->tables, bins},
                            stage->partial, stage->sums));
    int each = clv_affine_sum_count(CLV_AFFINE_TABLE);
    CLV_TRY(clv_buffer_read(ctx, stage->sums, 0, sums, (size_t)(count * each) * sizeof(float)));
    for (int i = 0; i < count; i++) {
        clv_linear_state *state = &b->states[i];
        const float *s = sums + (size_t)i * (size_t)each;
        int parameters = clv_linear_parameters(b->kind);
        double basis[12][12], gradient[12], normal[12][12];
        if (!(s[0] > 0))
            continue;
        bases(stage, b->level, b->pair.centre, b->kind, state, b->back, basis);
        project(parameters, basis, s + CLV_AFFINE_DERIVATIVE, gradient);
        project_normal(parameters, basis, s + CLV_AFFINE_DERIVATIVE + 12, normal);
        for (int p = 0; p < parameters; p++) {
            state->gradient[p] += b->weight * gradient[p] / (double)s[0];
            for (int q = 0; q < parameters; q++)
                state->normal[p][q] += b->weight * normal[p][q] / (double)s[0];
        }
    }
end:
    return status;
}

static int sum_pair(const batch *b)
{
    const clv_linear_stage *stage = b->stage;
    return clv_affine_sums(stage->run->ctx, &b->pair, &(clv_affine_derivatives){.source = CLV_AFFINE_PAIR},
                           stage->partial, stage->of_pairs[b->back][b->channel]);
}

static void note_line(clv_linear_state *state, bool back, const float *s)
{
    double n = (double)s[0], f = (double)s[1] / n, m = (double)s[2] / n;
    double ff = (double)s[3] / n - f * f, mm = (double)s[4] / n - m * m, fm = (double)s[5] / n - f * m;
    state->gain[back] = ff > 1e-9 && mm > 1e-9 ? copysign(sqrt(mm / ff), fm) : 1;
    state->offset[back] = m - state->gain[back] * f;
}

static int take_pair(const batch *b)
{
    int status = CLVOX_OK;
    clv_linear_stage *stage = b->stage;
    int each = clv_affine_sum_count(CLV_AFFINE_PAIR), parameters = clv_linear_parameters(b->kind);
    float *sums = stage->host;
    CLV_TRY(clv_buffer_read(stage->run->ctx, stage->of_pairs[b->back][b->channel], 0, sums,
                            (size_t)(b->pair.count * each) * sizeof(float)));
    for (int i = 0; i < b->pair.count; i++) {
        double basis[12][12];
        const float *s = sums + (size_t)i * (size_t)each;
        if (b->channel == 0 && !b->back)
            count_overlap(b, &b->states[i], (double)s[0]);
        if (!(s[0] > 0)) {
            b->states[i].value = -INFINITY;
            continue;
        }
        if (b->channel == 0)
            note_line(&b->states[i], b->back, s);
        bases(stage, b->level, b->pair.centre, b->kind, &b->states[i], b->back, basis);
        add_pair(parameters, basis, s, b->metric, b->weight, &b->states[i]);
    }
end:
    return status;
}

/* A metric of one map by its derivative image: the moving image is brought onto
 * the fixed grid, and the derivatives there go through the same sums. */
static int evaluate_image(batch *b, const clv_linear_state *from)
{
    int status = CLVOX_OK;
    clv_linear_stage *stage = b->stage;
    clv_registration *run = stage->run;
    const int *size = b->level->fixed_grid.size;
    double matrix[4][4], basis[12][12], gradient[12], normal[12][12];
    clv_map map;
    float sums[6 + 12 + 60], s[2];
    clv_linear_state *state = b->states;
    clv_linear_to_matrix(stage, from, matrix);
    clv_map_between(&b->level->fixed_grid, &b->level->moving_grid, CLV_MATRIX(matrix), 0, &map);
    CLV_TRY(clv_warp(run->ctx, &b->pair.moving, &map, NULL, CLV_LINEAR, NAN, CLV_VOLUME(stage->warped, size)));
    const clv_metric_args args = {
        .fixed = b->pair.fixed, .moving = stage->warped,
        .parameter = clv_metric_parameter(b->metric, run->options, true), .epsilon = 1e-4f,
        .derivative_moving = stage->derivatives, .scratch = stage->terms, .partial = stage->partial,
        .out = stage->sums};
    CLV_TRY(b->metric->derivative(run->ctx, &args));
    CLV_TRY(clv_buffer_read(run->ctx, stage->sums, 0, s, sizeof s));
    CLV_TRY(clv_affine_sums(run->ctx, &b->pair,
                            &(clv_affine_derivatives){CLV_AFFINE_IMAGE, stage->derivatives, 0},
                            stage->partial, stage->sums));
    CLV_TRY(clv_buffer_read(run->ctx, stage->sums, 0, sums, sizeof sums));
    if (b->channel == 0)
        count_overlap(b, state, (double)s[1]);
    if (!(s[1] > 0) || !(sums[0] > 0)) {
        state->value = -INFINITY;
        goto end;
    }
    int parameters = clv_linear_parameters(b->kind);
    state->value += b->weight * (double)s[0] / (double)s[1];
    bases(stage, b->level, b->pair.centre, b->kind, state, false, basis);
    project(parameters, basis, sums + CLV_AFFINE_DERIVATIVE, gradient);
    project_normal(parameters, basis, sums + CLV_AFFINE_DERIVATIVE + 12, normal);
    /* Windows vary about a third as much as the whole image. */
    double n = (double)sums[0], mean = (double)sums[2] / n, variance = (double)sums[4] / n - mean * mean;
    for (int p = 0; p < parameters; p++) {
        state->gradient[p] += b->weight * gradient[p] / n;
        for (int q = 0; q < parameters; q++)
            state->normal[p][q] += b->weight * 2 * normal[p][q] / n / fmax(.3 * variance, 1e-6);
    }
end:
    return status;
}

static int write_maps(clv_linear_stage *stage, const clv_linear_level *level, const clv_linear_state *states,
                      int count, bool back)
{
    for (int i = 0; i < count; i++) {
        double matrix[4][4];
        clv_map map;
        clv_linear_to_matrix(stage, &states[i], matrix);
        if (back && clv_matrix_invert(CLV_MATRIX(matrix), matrix) < 0)
            clv_matrix_identity(matrix);
        clv_map_between(back ? &level->moving_grid : &level->fixed_grid,
                        back ? &level->fixed_grid : &level->moving_grid, CLV_MATRIX(matrix), 0, &map);
        memcpy(stage->host + 12 * (size_t)i, map.linear, sizeof map.linear);
    }
    return clv_buffer_write(stage->run->ctx, stage->maps[back], 0, stage->host,
                            (size_t)count * 12 * sizeof(float));
}

static void describe_pair(const clv_linear_stage *stage, const clv_linear_level *level, int channel,
                          bool back, clv_affine_pair *pair)
{
    const clvox_grid *from = back ? &level->moving_grid : &level->fixed_grid;
    const clvox_grid *to = back ? &level->fixed_grid : &level->moving_grid;
    double to_voxel[4][4], centre[3], middle[3];
    for (int i = 0; i < 3; i++)
        middle[i] = back ? stage->moving.center[i] : stage->center[i];
    if (clv_matrix_invert(CLV_MATRIX(from->to_ras), to_voxel) < 0)
        clv_matrix_identity(to_voxel);
    clv_matrix_apply(CLV_MATRIX(to_voxel), middle, centre);
    pair->fixed.buffer = back ? level->moving[channel] : level->fixed[channel];
    pair->weights = level->weights[back];
    pair->moving.buffer = back ? level->fixed[channel] : level->moving[channel];
    for (int i = 0; i < 3; i++) {
        pair->fixed.size[i] = from->size[i];
        pair->moving.size[i] = to->size[i];
        pair->centre[i] = (float)centre[i];
    }
}

/* Values that enter the result are taken from both sides, so that exchanging the images gives the inverse; coarse
 * histograms and windows from one. */
static int evaluate_batch(clv_linear_stage *stage, const clv_linear_measure *measure,
                          clv_linear_state *states, int count, bool derivatives)
{
    int status = CLVOX_OK;
    const clv_linear_level *level = &stage->level[measure->level];
    const clv_metric_row *row = clv_metric_find(measure->metric);
    bool image = clv_metric_by_image(row);
    bool histogram = row->score && (!row->add || measure->level == CLV_LINEAR_LEVELS - 1);
    for (int i = 0; i < count; i++) {
        states[i].value = 0;
        memset(states[i].gradient, 0, sizeof states[i].gradient);
        memset(states[i].normal, 0, sizeof states[i].normal);
    }
    int sides = image || (histogram && measure->level > 0) ? 1 : 2, channels = clv_shown_channels(stage->run);
    batch all[2 * CLV_MAX_CHANNELS];
    for (int side = 0; side < sides; side++) {
        CLV_TRY(write_maps(stage, level, states, count, side));
        for (int c = 0; c < channels; c++) {
            batch *b = &all[side * channels + c];
            *b = (batch){.stage = stage,
                         .level = level,
                         .channel = c,
                         .bins = measure->bins,
                         .metric = row,
                         .kind = measure->kind,
                         .weight = stage->run->channels[c].share / sides,
                         .back = side,
                         .states = states,
                         .pair = {.step = {image ? 1 : level->step[0], image ? 1 : level->step[1]},
                                  .maps = stage->maps[side],
                                  .count = count}};
            describe_pair(stage, level, c, side, &b->pair);
        }
    }
    /* Pairs of values of all sides before the first sums are waited for. */
    for (int i = 0; i < sides * channels && !histogram && !image; i++)
        CLV_TRY(sum_pair(&all[i]));
    for (int i = 0; i < sides * channels; i++)
        CLV_TRY(histogram ? evaluate_histogram(&all[i], derivatives)
                : image   ? evaluate_image(&all[i], states)
                          : take_pair(&all[i]));
end:
    return status;
}

int clv_linear_evaluate(clv_linear_stage *stage, const clv_linear_measure *measure, clv_linear_state *states,
                        int count, bool derivatives)
{
    int status = CLVOX_OK;
    /* As many as the tables have room for. */
    int room = (int)(stage->table_floats / (size_t)(measure->bins * (measure->bins + 1)));
    int most = room < CLV_LINEAR_BATCH ? room : CLV_LINEAR_BATCH;
    if (clv_metric_by_image(clv_metric_find(measure->metric)))
        most = 1;
    stage->evaluations += count;
    for (int i = 0; i < count; i += most)
        CLV_TRY(evaluate_batch(stage, measure, states + i, count - i < most ? count - i : most, derivatives));
end:
    return status;
}
