/* SPDX-License-Identifier: Apache-2.0 */
#include "op/tensor/fit.h"

#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { P = CLV_TENSOR_PARAMETERS, ROW = CLV_TENSOR_ROW };

/* Shared by kernels and host: the design's layout and the flags of a voxel. */
#define SHARED                                                                                          \
    " -DPARAMETERS=" CLV_TEXT(CLV_TENSOR_PARAMETERS) " -DROW=" CLV_TEXT(CLV_TENSOR_ROW)                 \
    " -DWORTH=" CLV_TEXT(CLV_TENSOR_WORTH) " -DFAR_S0=" CLV_TEXT(CLV_TENSOR_FAR_S0)                     \
    " -DQUARTIC=" CLV_TEXT(CLV_TENSOR_QUARTIC) " -DFITTED=" CLV_TEXT(CLV_TENSOR_FITTED)                 \
    " -DLEFT_OUT=" CLV_TEXT(CLV_TENSOR_LEFT_OUT) " -DNO_SIGNAL=" CLV_TEXT(CLV_TENSOR_NO_SIGNAL)         \
    " -DNOT_FINITE=" CLV_TEXT(CLV_TENSOR_NOT_FINITE)                                                    \
    " -DMADE_POSITIVE=" CLV_TEXT(CLV_TENSOR_MADE_POSITIVE)                                              \
    " -DSINGULAR=" CLV_TEXT(CLV_TENSOR_SINGULAR) " -DREJECTED=" CLV_TEXT(CLV_TENSOR_REJECTED)

/* A voxel a work-item; on CPU devices runs of voxels, eight at a time. kept: of each voxel and volume,
 * floats in local memory; a cell's bytes are those of one volume. */
#define LINE(symbol, part, builds, group, kept)                                                              \
    static const clv_variant symbol##_variants[] = {                                                         \
        {.name = "lanes",                                                                                    \
         .function = "tensor_fit_" #symbol,                                                                  \
         .defines = "-DLANES=1 -DPART=" part SHARED,                                                         \
         .item = {CLV_MARCH},                                                                                \
         .devices = CLV_ON_GPU,                                                                              \
         .cell_bytes = 4 * (kept),                                                                           \
         .tiles = {{group, 1, 1, 1}}},                                                                       \
        {.name = "runs",                                                                                     \
         .function = "tensor_fit_" #symbol,                                                                  \
         .defines = "-DLANES=8 -DPART=" part SHARED,                                                         \
         .item = {CLV_MARCH},                                                                                \
         .devices = CLV_ON_CPU,                                                                              \
         .cell_bytes = 8 * 4 * (kept),                                                                       \
         .tiles = {{1, 1, 1, 256}}},                                                                         \
    };                                                                                                       \
    const clv_entry clv_entry_tensor_fit_##symbol = CLV_ENTRY("tensor/fit", "tensor_fit_" #symbol,           \
                                                              symbol##_variants, builds)

static const char *const start_builds[] = {"-DWEIGHT=0", "-DWEIGHT=1", NULL};
static const char *const scale_builds[] = {"-DWEIGHT=0", "-DWEIGHT=1", NULL};
static const char *const step_builds[] = {"-DWEIGHT=0 -DROBUST=1", "-DWEIGHT=1 -DROBUST=0",
                                          "-DWEIGHT=1 -DROBUST=1", "-DWEIGHT=2 -DROBUST=0",
                                          "-DWEIGHT=2 -DROBUST=1", NULL};
static const char *const finish_builds[] = {"-DWEIGHT=0 -DROBUST=0", "-DWEIGHT=0 -DROBUST=1",
                                            "-DWEIGHT=1 -DROBUST=0", "-DWEIGHT=1 -DROBUST=1", NULL};
LINE(start, "START", start_builds, 128, 0);
LINE(scale, "SCALES", scale_builds, 64, 1);
LINE(step, "STEP", step_builds, 128, 0);
LINE(finish, "FINISH", finish_builds, 128, 0);

/* ---- the design --------------------------------------------------------- */

static int too_few(const double *b, const double (*direction)[3], int volumes)
{
    /* Cosine of one degree: nearer directions are one that was measured twice. */
    static const double SAME = 0.99985, WEIGHTED = 50;
    int different = 0;
    double least = INFINITY, most = 0;
    if (volumes < P)
        return clvox_fail(
            CLVOX_ERROR_DATA,
            "only %d volumes; a tensor needs at least %d, of which six have different directions", volumes,
            P);
    for (int k = 0; k < volumes; k++) {
        bool fresh = b[k] > WEIGHTED;
        least = fmin(least, b[k]);
        most = fmax(most, b[k]);
        for (int j = 0; j < k && fresh; j++)
            if (b[j] > WEIGHTED)
                fresh = fabs(direction[k][0] * direction[j][0] + direction[k][1] * direction[j][1] +
                             direction[k][2] * direction[j][2]) < SAME;
        different += fresh;
    }
    if (different < 6)
        return clvox_fail(CLVOX_ERROR_DATA,
                          "only %d of the gradients' directions differ (turned round counts as the same); a "
                          "tensor needs at least 6",
                          different);
    if (most - least < 0.1 * most)
        return clvox_fail(
            CLVOX_ERROR_DATA,
            "all volumes have about the same b (%g to %g s/mm^2); a tensor needs some with b 0 or "
            "of another shell",
            least, most);
    return clvox_fail(
        CLVOX_ERROR_DATA,
        "the gradients' directions lie on one cone, which does not determine a tensor; it needs "
        "directions spread over the sphere");
}

/* Whether Cholesky's pivots of the symmetric matrix a, the largest first, are above least. */
static bool has_pivots(double a[P][P], double least)
{
    bool done[P] = {false};
    for (int round = 0; round < P; round++) {
        int p = -1;
        for (int i = 0; i < P; i++)
            if (!done[i] && (p < 0 || a[i][i] > a[p][p]))
                p = i;
        if (!(a[p][p] > least))
            return false;
        done[p] = true;
        for (int i = 0; i < P; i++)
            for (int j = 0; j < P; j++)
                if (!done[i] && !done[j])
                    a[i][j] -= a[i][p] * a[p][j] / a[p][p];
    }
    return true;
}

/* x: a row of the design for each volume; b in ms/um^2, so that D is in 1e-3 mm^2/s. */
static void fill_rows(const double *b, const double (*direction)[3], int volumes, double (*x)[P])
{
    for (int k = 0; k < volumes; k++) {
        const double *g = direction[k], q = b[k] / 1000;
        const double row[P] = {1,
                               -q * g[0] * g[0],
                               -2 * q * g[0] * g[1],
                               -2 * q * g[0] * g[2],
                               -q * g[1] * g[1],
                               -2 * q * g[1] * g[2],
                               -q * g[2] * g[2]};
        for (int c = 0; c < P; c++)
            x[k][c] = row[c];
    }
}

/* b^2 times xxxx xxxy xxxz xxyy xxyz xxzz xyyy xyyz xyzz xzzz yyyy yyyz yyzz yzzz zzzz of a direction. */
static void fill_quartics(double b, const double g[3], float *out)
{
    const double q = b / 1000;
    for (int i = 0; i < 3; i++)
        for (int j = i; j < 3; j++)
            for (int k = j; k < 3; k++)
                for (int l = k; l < 3; l++)
                    *out++ = (float)(q * q * g[i] * g[j] * g[k] * g[l]);
}

/* Whether the design determines a tensor. */
static bool determined(double (*x)[P], int volumes)
{
    /* With columns scaled to length 1, 256 directions with a single b 0 have a least pivot of 1e-2. */
    static const double LEAST = 2e-4;
    double length[P], product[P][P];
    for (int i = 0; i < P; i++) {
        length[i] = 0;
        for (int k = 0; k < volumes; k++)
            length[i] += x[k][i] * x[k][i];
        length[i] = sqrt(length[i]);
        if (!(length[i] > 0))
            return false;
    }
    for (int i = 0; i < P; i++)
        for (int j = 0; j < P; j++) {
            double sum = 0;
            for (int k = 0; k < volumes; k++)
                sum += x[k][i] * x[k][j];
            product[i][j] = sum / (length[i] * length[j]);
        }
    return has_pivots(product, LEAST);
}

/* Weight of a signal before a tensor is known, 1 at the lowest b: the weight of a diffusivity of 1e-3 mm^2/s, which
 * is enough for high b not to decide by its noise. */
static double worth_of(double b, double lowest)
{
    static const double LEAST = 1e-6;
    return fmax(LEAST, exp((lowest - b) / 500));
}

/* The volumes by rising b, at equal b in their order. */
static void sort_volumes(const double *b, int volumes, int32_t *order)
{
    for (int k = 0; k < volumes; k++) {
        int at = k;
        for (; at > 0 && b[order[at - 1]] > b[k]; at--)
            order[at] = order[at - 1];
        order[at] = k;
    }
}

/* The end of the shell that begins at `from` of the sorted volumes. */
static int end_of_shell(const double *b, const int32_t *order, int from, int volumes)
{
    /* Volumes so near to the lowest b tell where signals begin; neighbours of a shell are nearer than that,
     * s/mm^2. */
    static const double NEAR = 50, APART = 80;
    int end = from + 1;
    while (end < volumes &&
           (from == 0 ? b[order[end]] <= b[order[0]] + NEAR : b[order[end]] <= b[order[end - 1]] + APART))
        end++;
    return end;
}

/* Sorted volumes become those of shells: of the lowest b, and of others that are no scattered b-values, the
 * last of each as ~k. Returns how many there are; *lowest: of the lowest b. */
static int mark_shells(const double *b, int volumes, int32_t *order, int *lowest)
{
    enum { LEAST = 3 };
    int count = 0;
    *lowest = end_of_shell(b, order, 0, volumes);
    for (int from = 0, end; from < volumes; from = end) {
        end = end_of_shell(b, order, from, volumes);
        if (from > 0 && end - from < LEAST)
            continue;
        /* None of those that are still to come is written over. */
        for (int i = from; i < end; i++)
            order[count++] = i + 1 < end ? order[i] : ~order[i];
    }
    return count;
}

static int upload(clvox_context *ctx, const void *data, size_t bytes, const char *what, clv_buffer **out)
{
    int status = clv_buffer_create(ctx, bytes, what, out);
    return status < 0 ? status : clv_buffer_write(ctx, *out, 0, data, bytes);
}

int clv_tensor_design_create(clvox_context *ctx, const double *b, const double (*direction)[3], int volumes,
                             clv_tensor_design **out)
{
    int status = CLVOX_OK;
    clv_tensor_design *made = calloc(1, sizeof *made);
    size_t count = (size_t)(volumes > 0 ? volumes : 1), bytes = ROW * count * sizeof(float);
    double(*x)[P] = calloc(count, sizeof *x);
    float *rows = calloc(1, bytes);
    int32_t *order = calloc(count, sizeof *order), *shells = calloc(count, sizeof *shells);
    *out = NULL;
    if (!made || !x || !rows || !order || !shells) {
        status = clvox_fail(CLVOX_ERROR_MEMORY, "tensor fit: out of host memory");
        goto end;
    }
    fill_rows(b, direction, volumes, x);
    if (volumes < P || !determined(x, volumes)) {
        status = too_few(b, direction, volumes);
        goto end;
    }
    made->volumes = volumes;
    sort_volumes(b, volumes, order);
    memcpy(shells, order, count * sizeof *shells);
    made->shells_count = mark_shells(b, volumes, shells, &made->lowest_count);
    for (int k = 0; k < volumes; k++) {
        for (int c = 0; c < P; c++)
            rows[ROW * k + c] = (float)x[k][c];
        rows[ROW * k + CLV_TENSOR_WORTH] = (float)worth_of(b[k], b[order[0]]);
        fill_quartics(b[k], direction[k], rows + ROW * k + CLV_TENSOR_QUARTIC);
    }
    CLV_TRY(upload(ctx, rows, bytes, "design of a tensor fit", &made->rows));
    CLV_TRY(upload(ctx, order, count * sizeof *order, "volumes of the lowest b", &made->lowest));
    CLV_TRY(upload(ctx, shells, count * sizeof *shells, "volumes of shells", &made->shells));
    *out = made;
    made = NULL;
end:
    clv_tensor_design_destroy(&made);
    free(x);
    free(rows);
    free(order);
    free(shells);
    return status;
}

void clv_tensor_design_destroy(clv_tensor_design **design)
{
    clv_tensor_design *d = *design;
    if (!d)
        return;
    clv_buffer_destroy(&d->rows);
    clv_buffer_destroy(&d->lowest);
    clv_buffer_destroy(&d->shells);
    free(d);
    *design = NULL;
}

/* ---- the fit ------------------------------------------------------------ */

int clv_tensor_fit_state(clv_tensor_method method, bool robust)
{
    return method == CLV_TENSOR_NLLS ? CLV_TENSOR_STATE : robust ? P + 2 : P + 1;
}

static double bytes_of(const clv_tensor_fit_args *a, double besides)
{
    return 4.0 * a->voxels * (a->design->volumes + besides);
}

static int start(clvox_context *ctx, const clv_tensor_fit_args *a)
{
    int status = CLVOX_OK;
    const clv_kernel *kernel;
    const int line[3] = {a->voxels, 1, 1};
    const clv_tensor_design *d = a->design;
    const char *build = start_builds[a->method != CLV_TENSOR_OLS];
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_tensor_fit_start, build, line, 0, &kernel));
    CLV_TRY(CLV_LAUNCH(ctx, kernel, line, bytes_of(a, a->mask ? 10 : 9), CLV_BUF(a->dwi), CLV_BUF(a->mask),
                       CLV_BUF(d->rows), CLV_BUF(d->lowest), CLV_INT(d->lowest_count), CLV_INT(d->volumes),
                       CLV_INT(a->voxels), CLV_BUF(a->state), CLV_BUF(a->kind)));
end:
    return status;
}

enum { SOFT, HARD }; /* how volumes are rejected */
/* How far a step goes; how a step on the signal judges the one before. */
enum { HALF = 1, FORGET = 1, STAY = 2 };

static int step(clvox_context *ctx, const clv_tensor_fit_args *a, int weight, int rejection, int mode)
{
    int status = CLVOX_OK;
    const clv_kernel *kernel;
    const int line[3] = {a->voxels, 1, 1};
    const char *build = weight == 0 ? step_builds[0] : step_builds[2 * weight - 1 + a->robust];
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_tensor_fit_step, build, line, 0, &kernel));
    CLV_TRY(CLV_LAUNCH(ctx, kernel, line, bytes_of(a, weight == 2 ? 32 : 16), CLV_BUF(a->dwi),
                       CLV_BUF(a->design->rows), CLV_INT(a->design->volumes), CLV_INT(a->voxels),
                       CLV_BUF(a->state), CLV_BUF(a->kind), CLV_INT(rejection), CLV_INT(mode)));
end:
    return status;
}

/* The noise by the median of residuals. */
static int scale(clvox_context *ctx, const clv_tensor_fit_args *a, int weight)
{
    static const float NORMAL = 1.4826f; /* standard deviation over median size of normal residuals */
    int status = CLVOX_OK;
    const clv_kernel *kernel;
    const int line[3] = {a->voxels, 1, 1}, volumes = a->design->volumes;
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_tensor_fit_scale, scale_builds[weight > 0], line, 0, &kernel));
    /* For all residuals that a work-group sorts together. */
    const size_t local = (size_t)kernel->tile.x * (size_t)kernel->variant->cell_bytes * (size_t)volumes;
    const bool keep = local <= clvox_context_limits(ctx)->local_bytes;
    CLV_TRY(CLV_LAUNCH(ctx, kernel, line, bytes_of(a, 10), CLV_BUF(a->dwi), CLV_BUF(a->design->rows),
                       CLV_BUF(a->design->shells), CLV_INT(a->design->shells_count), CLV_INT(volumes),
                       CLV_INT(a->voxels), CLV_BUF(a->state), CLV_BUF(a->kind), CLV_FLOAT(NORMAL),
                       CLV_INT(keep), CLV_LOCAL(keep ? local : sizeof(float))));
end:
    return status;
}

/* Gauss-Newton: the first step has nothing to compare with, the last only
 * compares. */
static int descend(clvox_context *ctx, const clv_tensor_fit_args *a, int steps, int rejection)
{
    int status = CLVOX_OK;
    for (int i = 0; i <= steps; i++)
        CLV_TRY(step(ctx, a, 2, rejection, i == 0 ? FORGET : i == steps ? STAY : 0));
end:
    return status;
}

static int refine(clvox_context *ctx, const clv_tensor_fit_args *a)
{
    int status = CLVOX_OK;
    const int steps = a->steps > 0 ? a->steps : a->method == CLV_TENSOR_IWLS ? 4 : 10;
    if (a->method == CLV_TENSOR_OLS)
        return CLVOX_OK;
    /* Around a measurement far below the others new weights go too far, back and forth: half the way is near
     * the middle. */
    for (int i = 0; i < (a->method == CLV_TENSOR_IWLS ? steps : 1); i++)
        CLV_TRY(step(ctx, a, 1, HARD, i > 0 ? HALF : 0));
    if (a->method == CLV_TENSOR_NLLS)
        CLV_TRY(descend(ctx, a, steps, HARD));
end:
    return status;
}

/* Soft weights find the volumes to reject; the fit then takes the rest as they are. Residuals are those of
 * the signal, whose noise is the same in every shell, but where logarithms are fitted unweighted. */
static int refine_robust(clvox_context *ctx, const clv_tensor_fit_args *a)
{
    enum { ROUNDS = 4 };
    int status = CLVOX_OK;
    const bool logs = a->method == CLV_TENSOR_OLS;
    for (int i = 0; i < ROUNDS; i++) {
        CLV_TRY(scale(ctx, a, !logs));
        CLV_TRY(step(ctx, a, !logs, SOFT, 0));
    }
    CLV_TRY(scale(ctx, a, !logs));
    if (logs)
        CLV_TRY(step(ctx, a, 0, HARD, 0));
    CLV_TRY(refine(ctx, a));
end:
    return status;
}

int clv_tensor_fit(clvox_context *ctx, const clv_tensor_fit_args *a)
{
    enum { ROBUST_LEAST = 10 };
    int status = CLVOX_OK;
    const clv_kernel *kernel;
    const clv_tensor_design *d = a->design;
    const int line[3] = {a->voxels, 1, 1};
    if (a->voxels > INT_MAX / (d->volumes > CLV_TENSOR_STATE ? d->volumes : CLV_TENSOR_STATE))
        return clvox_fail(CLVOX_ERROR_MEMORY, "tensor fit: %d volumes of %d voxels are too many at once",
                          d->volumes, a->voxels);
    if (a->robust && d->volumes < ROBUST_LEAST)
        return clvox_fail(CLVOX_ERROR_DATA,
                          "%d volumes are too few to tell which of them are wrong; a robust fit needs %d",
                          d->volumes, ROBUST_LEAST);
    CLV_TRY(start(ctx, a));
    CLV_TRY(a->robust ? refine_robust(ctx, a) : refine(ctx, a));
    const char *build = finish_builds[2 * (a->method != CLV_TENSOR_OLS) + a->robust];
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_tensor_fit_finish, build, line, 0, &kernel));
    CLV_TRY(CLV_LAUNCH(ctx, kernel, line, bytes_of(a, 19), CLV_BUF(a->dwi), CLV_BUF(d->rows),
                       CLV_BUF(d->lowest), CLV_INT(d->lowest_count), CLV_INT(d->volumes), CLV_INT(a->voxels),
                       CLV_BUF(a->state), CLV_BUF(a->kind), CLV_BUF(a->tensor), CLV_BUF(a->s0),
                       CLV_BUF(a->sigma), CLV_BUF(a->noise)));
end:
    return status;
}

const clv_entry *const clv_operation_tensor_fit[] = {
    &clv_entry_tensor_fit_start, &clv_entry_tensor_fit_scale, &clv_entry_tensor_fit_step,
    &clv_entry_tensor_fit_finish, NULL};
