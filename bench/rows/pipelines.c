/* SPDX-License-Identifier: Apache-2.0 */
/* Whole pipelines on phantoms, from host memory to host memory. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench_table.h"
#include "bench/rows/check.h"
#include "clvox/registration.h"
#include "clvox/surface.h"
#include "clvox/tensor.h"
#include "mesh/mesh.h"
#include "phantom/phantom.h"
#include "phantom/surface.h"
#include "surface/denoise.h"
#include "phantom/tensor.h"
#include "register/contrast/synthesis.h"

/* A pipeline with what it works on, and what the phantom says of its result. */
typedef struct pipeline {
    clvox_context *ctx;
    char name[64];
    clvox_grid grid;
    bool check;      /* hold the result of this call against the truth */
    double stage;    /* seconds of the last call's main stage; 0: none */
    double bytes;    /* that the host must move in a call; 0: not counted */
    /* Registration. */
    clv_phantom_warp warp;
    clvox_volume *fixed, *moving;
    clvox_register_options options;
    float *recast;
    /* Tensors. */
    clvox_volume *dwi, *mask, *truth, *fa;
    clvox_gradients *gradients;
    /* Surfaces. */
    clvox_volume *distance, *noisy;
} pipeline;

static void release(pipeline *p)
{
    clvox_volume **all[] = {&p->fixed, &p->moving, &p->dwi,      &p->mask,
                            &p->truth, &p->fa,     &p->distance, &p->noisy};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        clvox_volume_destroy(all[i]);
    clvox_gradients_destroy(&p->gradients);
    free(p->recast);
}

static int wrong(const pipeline *p, double got, double limit, const char *what)
{
    return bench_wrong(p->ctx, p->name, "%s %.4g, not below %.4g", what, got, limit);
}

/* Samples after a first call, whose result is checked and which builds the kernels. The whole has the
 * bytes of all of its kernels and shows the one that takes longest. bytes and a name: of the main stage,
 * which becomes a row of its own. */
static int time_pipeline(bench_run *run, pipeline *p, int (*call)(void *), const char *stage, double bytes)
{
    enum { LEAST = 3 };
    int status = CLVOX_OK;
    bench_time all = {.device = 0}, part = {.device = 0};
    char tile[32], name[96], kernel[80];
    record_row row = {.group = "pipelines", .name = p->name, .verified = true,
                      .size = {p->grid.size[0], p->grid.size[1], p->grid.size[2]}};
    p->check = true;
    CLV_TRY(call(p));
    p->check = false;
    double end = clv_seconds() + 4 * run->seconds;
    while (all.seconds.count < LEAST || (all.seconds.spread > .03 && clv_seconds() < end)) {
        double start = clv_seconds();
        CLV_TRY(call(p));
        record_add_sample(&all.seconds, clv_seconds() - start);
        record_add_sample(&part.seconds, p->stage);
        if (all.seconds.count == RECORD_SAMPLES)
            break;
    }
    if (run->timers)
        CLV_TRY(bench_device_time(run, call, p, NULL, &all));
    row.bytes = all.moved;
    bench_complete(run, &all, &row, tile);
    if (all.kernel) {
        snprintf(kernel, sizeof kernel, "%s/%s", all.kernel->entry->name, row.variant);
        row.variant = kernel;
    }
    if (p->bytes > 0) {
        row.bytes = p->bytes;
        row.ceiling = BENCH_HOST_COPY;
        row.share = p->bytes / run->host_copy / all.seconds.median;
    }
    bench_line(run, row.name, &row);
    record_add(run->log, &row);
    if (stage) {
        record_row main_stage = {.group = "pipelines", .verified = true, .bytes = bytes,
                                 .size = {row.size[0], row.size[1], row.size[2]}};
        snprintf(name, sizeof name, "%s: %s", p->name, stage);
        main_stage.name = name;
        bench_complete(run, &part, &main_stage, tile);
        snprintf(tile, sizeof tile, "  %s", stage);
        bench_line(run, tile, &main_stage);
        record_add(run->log, &main_stage);
    }
end:
    return status;
}

/* ---- registration ---- */

/* Bytes that an iteration must move for each voxel.
 * Unbiased: force 32, smoothing 72, rate 60, update 36.
 * Greedy: warp 20, LNCC 44, metric force 32, smoothing 72, damping 68 (divergence 16, its smoothing 24, gradient 28),
 * longest 12, compositive step 36, elastic smoothing 24.
 * Symmetric: two warps 40, LNCC with both derivatives 64, and the rest twice. */
static const struct model {
    clvox_deform deform;
    const char *name;
    double bytes;
} models[] = {
    {CLVOX_DEFORM_UNBIASED, "unbiased", 200},
    {CLVOX_DEFORM_GREEDY, "greedy", 308},
    {CLVOX_DEFORM_SYN, "syn", 592},
};

int bench_check_warp(const clvox_context *ctx, const char *name, const clvox_volume *fixed,
                     const clv_phantom_warp *warp, const clvox_register_result *r)
{
    const clvox_grid *grid = &fixed->grid;
    const int *n = grid->size;
    double off = 0, moved = 0, count = 0;
    size_t voxels = clvox_grid_voxels(grid), at = 0;
    for (int z = 0; z < n[2]; z++)
        for (int y = 0; y < n[1]; y++)
            for (int x = 0; x < n[0]; x++, at++) {
                double place[3], u[3], mapped[3];
                if (at % 7 || !(fixed->data[at] > 0))
                    continue;
                for (int a = 0; a < 3; a++)
                    place[a] = grid->to_ras[a][0] * x + grid->to_ras[a][1] * y + grid->to_ras[a][2] * z +
                               grid->to_ras[a][3];
                clv_phantom_warp_at(warp, place, u);
                for (int a = 0; a < 3; a++)
                    mapped[a] = place[a] + (double)r->warp->data[(size_t)a * voxels + at];
                double error = 0, size = 0;
                for (int a = 0; a < 3; a++) {
                    double d = r->matrix[a][0] * mapped[0] + r->matrix[a][1] * mapped[1] +
                               r->matrix[a][2] * mapped[2] + r->matrix[a][3] - place[a] - u[a];
                    error += d * d;
                    size += u[a] * u[a];
                }
                off += sqrt(error);
                moved += sqrt(size);
                count++;
            }
    if (r->jacobian.folded > 0)
        return bench_wrong(ctx, name, "%.4g folded voxels", (double)r->jacobian.folded);
    double limit = fmax(moved / count, .5 * grid->to_ras[0][0]);
    return off / count < limit
               ? CLVOX_OK
               : bench_wrong(ctx, name, "%.4g mm off on average, not below %.4g", off / count, limit);
}

static int call_register(void *what)
{
    pipeline *p = what;
    clvox_register_result r;
    const clvox_register_images images = {.fixed = {p->fixed}, .moving = {p->moving}, .channels = 1};
    int status = clvox_register(p->ctx, &images, &p->options, &r);
    if (status < 0)
        return status;
    p->stage = fmax(r.seconds_deform, 1e-9);
    if (p->check)
        status = bench_check_warp(p->ctx, p->name, p->fixed, &p->warp, &r);
    clvox_register_result_destroy(&r);
    return status;
}

static int registrations(bench_run *run)
{
    static const char *const presets[] = {"quick", "default"};
    static const clvox_preset values[] = {CLVOX_PRESET_QUICK, CLVOX_PRESET_DEFAULT};
    int status = CLVOX_OK;
    const double spacing[3] = {1, 1, 1};
    pipeline p = {.ctx = run->ctx};
    clv_phantom phantom = {0};
    clvox_phantom_grid(run->size, spacing, false, &p.grid);
    CLV_TRY(clv_phantom_make(CLVOX_PHANTOM_TEXTURED, &p.grid, 1, 0, &phantom));
    CLV_TRY(clv_phantom_warp_make(&p.grid, 0.02 * run->size[0], 1, &p.warp));
    CLV_TRY(clv_phantom_image(&phantom, &p.grid, NULL, &p.warp, 1, &p.fixed));
    CLV_TRY(clv_phantom_image(&phantom, &p.grid, NULL, NULL, 2, &p.moving));
    for (int m = 0; m < (int)(sizeof models / sizeof *models); m++)
        for (int k = 0; k < 2; k++) {
            double bytes = 0;
            clvox_register_options *o = &p.options;
            clvox_register_defaults(o);
            o->deform = models[m].deform;
            clvox_register_preset(o, values[k]);
            o->tolerance = 0; /* as many iterations on every device */
            for (int i = 0; i < o->levels; i++)
                bytes += o->iterations[i] * models[m].bytes * (double)clvox_grid_voxels(&p.grid) /
                         (o->shrink[i] * o->shrink[i] * o->shrink[i]);
            snprintf(p.name, sizeof p.name, "register %s %s", models[m].name, presets[k]);
            CLV_TRY(time_pipeline(run, &p, call_register, "deformation", bytes));
        }
end:
    release(&p);
    clv_phantom_free(&phantom);
    return status;
}

/* At most half of the other contrast's deviation from its mean may be left: its values are a function of the
 * image's but for the noise of both. */
static int check_recast(const pipeline *p)
{
    const size_t n = clvox_grid_voxels(&p->grid);
    double mean = 0, before = 0, after = 0;
    for (size_t i = 0; i < n; i++)
        mean += (double)p->moving->data[i] / (double)n;
    for (size_t i = 0; i < n; i++) {
        before += fabs((double)p->moving->data[i] - mean);
        after += fabs((double)p->moving->data[i] - (double)p->recast[i]);
    }
    return after < .5 * before ? CLVOX_OK : bench_wrong(p->ctx, p->name, "%.4g of %.4g left", after, before);
}

/* The host's work alone: it reads two volumes and writes one. */
static int call_recast(void *what)
{
    static const double NEARBY = 20;
    pipeline *p = what;
    bool made;
    int status = clv_contrast_image(&p->grid, p->fixed->data, p->moving->data, NEARBY, p->recast, &made);
    p->bytes = 3 * (double)clvox_grid_voxels(&p->grid) * sizeof(float);
    return status >= 0 && p->check ? check_recast(p) : status;
}

static int recasts(bench_run *run)
{
    int status = CLVOX_OK;
    const double spacing[3] = {1, 1, 1};
    pipeline p = {.ctx = run->ctx, .name = "recast nearby"};
    clv_phantom phantom = {0};
    clvox_phantom_grid(run->size, spacing, false, &p.grid);
    const size_t n = clvox_grid_voxels(&p.grid);
    CLV_TRY(clv_phantom_make(CLVOX_PHANTOM_TEXTURED, &p.grid, 1, 0, &phantom));
    CLV_TRY(clv_phantom_image(&phantom, &p.grid, NULL, NULL, 1, &p.fixed));
    CLV_TRY(clv_phantom_image(&phantom, &p.grid, NULL, NULL, 2, &p.moving));
    p.recast = malloc(n * sizeof *p.recast);
    if (!p.recast) {
        status = clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory for the bench's data");
        goto end;
    }
    for (size_t i = 0; i < n; i++)
        p.moving->data[i] = fminf(5 * p.moving->data[i], 300 - p.moving->data[i]);
    CLV_TRY(bench_host_limit(run));
    CLV_TRY(time_pipeline(run, &p, call_recast, NULL, 0));
end:
    release(&p);
    clv_phantom_free(&phantom);
    return status;
}

/* ---- tensors ---- */

/* Root of the mean squared difference inside the mask, all six components. */
static double tensor_error(const pipeline *p, const clvox_volume *tensor)
{
    size_t n = clvox_grid_voxels(&p->grid);
    double sum = 0, count = 0;
    for (size_t i = 0; i < 6 * n; i++)
        if (p->mask->data[i % n] > 0) {
            double d = (double)tensor->data[i] - (double)p->truth->data[i];
            sum += d * d;
            count++;
        }
    return sqrt(sum / fmax(count, 1));
}

/* Denoised tensors and their FA are nearer to the truth than the fitted ones. */
static int check_tensors(const pipeline *p, const clvox_volume *fitted, const clvox_volume *denoised,
                         const clvox_volume *fa)
{
    size_t n = clvox_grid_voxels(&p->grid);
    double before = tensor_error(p, fitted), after = tensor_error(p, denoised), off = 0, count = 0;
    for (size_t i = 0; i < n; i++)
        if (p->mask->data[i] > 0) {
            off += fabs((double)fa->data[i] - (double)p->fa->data[i]);
            count++;
        }
    if (!(before < 2e-4))
        return wrong(p, before, 2e-4, "fitted tensors are off by");
    if (!(after < before))
        return wrong(p, after, before, "denoised tensors are off by");
    return off < .05 * count ? CLVOX_OK : wrong(p, off / count, .05, "FA is off by");
}

static int call_tensors(void *what)
{
    pipeline *p = what;
    int status = CLVOX_OK;
    clvox_tensor_fit_result fit = {.tensor = NULL};
    clvox_tensor_denoise_result denoised = {.tensor = NULL};
    clvox_tensor_denoise_options options;
    clvox_volume *maps[CLVOX_MEASURES] = {NULL};
    const unsigned wanted = 1u << CLVOX_MEASURE_FA | 1u << CLVOX_MEASURE_MD | 1u << CLVOX_MEASURE_V1;
    clvox_tensor_denoise_defaults(&options);
    CLV_TRY(clvox_tensor_fit(p->ctx, p->dwi, p->gradients, p->mask, NULL, &fit));
    CLV_TRY(clvox_tensor_denoise(p->ctx, fit.tensor, fit.sigma, p->mask, &options, &denoised));
    CLV_TRY(clvox_tensor_measures(p->ctx, denoised.tensor, p->mask, wanted, maps));
    p->stage = fmax(denoised.seconds, 1e-9);
    if (p->check)
        CLV_TRY(check_tensors(p, fit.tensor, denoised.tensor, maps[CLVOX_MEASURE_FA]));
end:
    for (int m = 0; m < CLVOX_MEASURES; m++)
        clvox_volume_destroy(&maps[m]);
    clvox_volume_destroy(&denoised.tensor);
    clvox_tensor_fit_result_destroy(&fit);
    return status;
}

static int tensors(bench_run *run)
{
    int status = CLVOX_OK;
    const double spacing[3] = {2, 2, 2};
    pipeline p = {.ctx = run->ctx, .name = "tensor fit, denoise, measures"};
    clv_tensor_phantom phantom;
    int size[3];
    for (int a = 0; a < 3; a++)
        size[a] = run->size[a] / 2 < 12 ? 12 : run->size[a] / 2;
    clvox_phantom_grid(size, spacing, false, &p.grid);
    CLV_TRY(clv_tensor_phantom_make(CLVOX_TENSOR_STEPS, &p.grid, 3, &phantom));
    CLV_TRY(clv_tensor_phantom_truth(&phantom, &p.grid, &p.truth, &p.fa, &p.mask));
    CLV_TRY(clv_tensor_phantom_gradients(30, 1000, 1, &p.gradients));
    CLV_TRY(clv_tensor_phantom_dwi(&phantom, &p.grid, p.gradients, 25, true, 5, &p.dwi));
    CLV_TRY(time_pipeline(run, &p, call_tensors, "denoising", 0));
end:
    release(&p);
    return status;
}

/* ---- surfaces ---- */

/* Root of the mean squared difference from the solid's distance beside its surface. */
static double surface_error(const pipeline *p, const clvox_volume *distance)
{
    size_t n = clvox_grid_voxels(&p->grid);
    double sum = 0, count = 0;
    for (size_t i = 0; i < n; i++)
        if (fabs((double)p->distance->data[i]) < 1) {
            double d = (double)distance->data[i] - (double)p->distance->data[i];
            sum += d * d;
            count++;
        }
    return sqrt(sum / fmax(count, 1));
}

static int call_surface(void *what)
{
    pipeline *p = what;
    clvox_denoise_options options;
    clvox_denoise_defaults(&options);
    /* Only the device's part; meshes have a row of their own. */
    const clvox_level_set set = {.distance = p->noisy};
    clvox_denoise_result r = {.distance = NULL};
    int status = clv_denoise_run(p->ctx, &set, &options, &r);
    if (status < 0)
        goto end;
    p->stage = fmax(r.seconds_search, 1e-9);
    if (p->check) {
        double before = surface_error(p, p->noisy), after = surface_error(p, r.distance);
        if (!(after < before))
            status = wrong(p, after, before, "mm off");
    }
end:
    clvox_denoise_result_destroy(&r);
    return status;
}

/* A closed torus, facing outward, that holds what the voxels inside do. */
static int check_mesh(const pipeline *p, const clvox_surface *mesh)
{
    clvox_surface_facts facts;
    double inside = 0;
    int status = clvox_surface_inspect(mesh, &facts);
    if (status < 0)
        return status;
    for (size_t i = 0; i < clvox_grid_voxels(&p->grid); i++)
        inside += p->distance->data[i] < 0;
    if (facts.open_edges || facts.crowded_edges || facts.flipped_edges || facts.euler != 0)
        return bench_wrong(p->ctx, p->name, "a torus of Euler characteristic %d, or not closed", facts.euler);
    return fabs(facts.volume - inside) < .05 * inside
               ? CLVOX_OK
               : bench_wrong(p->ctx, p->name, "%.4g mm^3 where %.4g voxels are inside", facts.volume, inside);
}

/* The host's work alone: it reads the level set once and writes vertices and triangles. */
static int call_mesh(void *what)
{
    pipeline *p = what;
    clvox_surface *mesh = NULL;
    int status = clvox_surface_extract(p->distance, 0, false, &mesh);
    if (status >= 0)
        p->bytes = (double)clvox_grid_voxels(&p->grid) * sizeof(float) +
                   (double)mesh->vertices * 3 * sizeof(double) + (double)mesh->triangles * 3 * sizeof(int32_t);
    if (status >= 0 && p->check)
        status = check_mesh(p, mesh);
    clvox_surface_destroy(&mesh);
    return status;
}

static int surfaces(bench_run *run)
{
    int status = CLVOX_OK;
    const double spacing[3] = {1, 1, 1};
    pipeline p = {.ctx = run->ctx, .name = "surface denoise"};
    clv_solid solid = {.gyroid = NULL};
    int size[3];
    for (int a = 0; a < 3; a++)
        size[a] = run->size[a] / 2 < 24 ? 24 : run->size[a] / 2;
    clvox_phantom_grid(size, spacing, false, &p.grid);
    CLV_TRY(clv_solid_make(CLVOX_SOLID_TORUS, &p.grid, &solid));
    CLV_TRY(clv_solid_sample(&solid, &p.grid, &p.distance));
    CLV_TRY(clv_solid_sample(&solid, &p.grid, &p.noisy));
    size_t n = clvox_grid_voxels(&p.grid);
    for (size_t i = 0; i < n; i++)
        p.noisy->data[i] += 0.2f * (float)clv_phantom_normal(1, i);
    CLV_TRY(time_pipeline(run, &p, call_surface, "search", 0));
    snprintf(p.name, sizeof p.name, "surface mesh");
    CLV_TRY(bench_host_limit(run));
    CLV_TRY(time_pipeline(run, &p, call_mesh, NULL, 0));
end:
    clv_solid_free(&solid);
    release(&p);
    return status;
}

int bench_pipelines(bench_run *run)
{
    int status = CLVOX_OK;
    CLV_TRY(bench_limits(run));
    bench_heading(run, "pipeline");
    CLV_TRY(registrations(run));
    CLV_TRY(recasts(run));
    CLV_TRY(tensors(run));
    CLV_TRY(surfaces(run));
end:
    return status;
}
