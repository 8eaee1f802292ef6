/* SPDX-License-Identifier: Apache-2.0 */
/* Denoising: the part of a volume that is near its surface, and what working on
 * it takes. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/matrix.h"
#include "base/status.h"
#include "op/surface/redistance.h"
#include "op/image/reduce.h"
#include "runtime/device/host.h"
#include "transform/field.h"
#include "surface/denoise.h"
#include "surface/options.h"

enum { ESTIMATE_BYTES = 1 << 28, SMALL_BYTES = 1 << 16 };

/* ---- what is asked for -------------------------------------------------- */

static int check_volume(const clvox_volume *v)
{
    if (!v || !v->data || v->frames != 1)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "a level set has one frame, this has %d", v ? v->frames : 0);
    if (v->kind == CLVOX_KIND_LABEL)
        return clvox_fail(CLVOX_ERROR_ARGUMENT,
                          "this is a label map, not a signed distance; name a label of it");
    if (!clv_matrix_regular(v->grid.to_ras) || clvox_grid_voxels(&v->grid) > INT32_MAX / 3)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "the level set has no usable grid");
    return clv_field_check_angles(&v->grid, "denoising a level set");
}

int clv_denoise_check(const clvox_level_set *level_set, const clvox_denoise_options *o)
{
    int status = clv_options_check(&clv_denoise_table, o);
    if (status >= 0 && o->patch % 2 == 0)
        status = clvox_fail(CLVOX_ERROR_ARGUMENT, "patch: %d voxels; 3, 5 or 7 are possible", o->patch);
    if (status >= 0 && isinf(o->radius))
        status = clvox_fail(CLVOX_ERROR_ARGUMENT, "radius: %g voxels", o->radius);
    if (status >= 0)
        status = check_volume(level_set->distance);
    if (status >= 0 && level_set->coarse && !level_set->notes.voxels_inside)
        status =
            clvox_fail(CLVOX_ERROR_DATA,
                       "the mesh is too coarse or too thin: no voxel of its grid lies inside; give smaller "
                       "ones by --voxel");
    return status;
}

clv_image clv_denoise_image(const clv_denoise *run, clv_buffer *buffer)
{
    const clv_denoise_box *b = &run->box;
    return (clv_image){.buffer = buffer, .size = {b->size[0], b->size[1], b->size[2]}, .components = 1,
                       .spacing = {b->spacing[0], b->spacing[1], b->spacing[2]}};
}

/* ---- the box ------------------------------------------------------------ */

static bool inside(float v)
{
    return v < 0; /* NaN is outside */
}

/* The smallest box of voxels beside the zero level. */
static void surface_box(const clvox_volume *v, int low[3], int high[3], long *below, long *not_finite)
{
    const int *n = v->grid.size;
    const size_t step[3] = {1, (size_t)n[0], (size_t)n[0] * (size_t)n[1]};
    size_t i = 0;
    *below = *not_finite = 0;
    for (int a = 0; a < 3; a++) {
        low[a] = n[a];
        high[a] = -1;
    }
    for (int z = 0; z < n[2]; z++)
        for (int y = 0; y < n[1]; y++)
            for (int x = 0; x < n[0]; x++, i++) {
                const int at[3] = {x, y, z};
                bool in = inside(v->data[i]);
                *below += in;
                *not_finite += !isfinite(v->data[i]);
                for (int a = 0; a < 3; a++) {
                    if (at[a] + 1 >= n[a] || in == inside(v->data[i + step[a]]))
                        continue;
                    for (int b = 0; b < 3; b++) {
                        low[b] = at[b] < low[b] ? at[b] : low[b];
                        high[b] = at[b] + (a == b) > high[b] ? at[b] + (a == b) : high[b];
                    }
                }
            }
}

int clv_denoise_find_box(const clvox_volume *distance, const clvox_denoise_options *o, clv_denoise_box *box,
                         long *not_finite)
{
    double edge[3], longest, voxels = 1;
    long below;
    int low[3], high[3];
    clvox_grid_spacing(&distance->grid, edge);
    box->edge = fmin(edge[0], fmin(edge[1], edge[2]));
    longest = fmax(edge[0], fmax(edge[1], edge[2])) / box->edge;
    box->radius = o->patch / 2;
    box->wide = box->radius + 2 < CLV_NLM_WIDEST ? box->radius + 2 : CLV_NLM_WIDEST;
    /* Voxels on either side of the surface must lie in the band. */
    box->delta = (float)fmax(o->band, longest);
    /* Rounds may move the surface a little; the corners of the farthest patches count. */
    double corner = 0;
    for (int a = 0; a < 3; a++)
        corner += edge[a] * edge[a] / (box->edge * box->edge);
    box->reach = box->delta + (float)(box->wide * sqrt(corner) + longest);
    surface_box(distance, low, high, &below, not_finite);
    if (high[0] < 0)
        return clvox_fail(CLVOX_ERROR_DATA,
                          below ? "the level set has no surface: every value is inside (below 0)"
                                : "the level set has no surface: no value is inside (below 0)");
    for (int a = 0; a < 3; a++) {
        int margin = (int)ceil((double)box->delta * box->edge / edge[a]) + box->wide + 2;
        box->first[a] = low[a] - margin;
        box->size[a] = high[a] + margin + 1 - box->first[a];
        box->spacing[a] = (float)(edge[a] / box->edge);
        voxels *= box->size[a];
    }
    if (voxels > INT32_MAX / 3)
        return clvox_fail(CLVOX_ERROR_MEMORY,
                          "the surface spans %d x %d x %d voxels, more than fit 32-bit "
                          "indices; take larger voxels",
                          box->size[0], box->size[1], box->size[2]);
    box->n = (int)voxels;
    return CLVOX_OK;
}

void clv_denoise_cut(const clvox_volume *distance, const clv_denoise_box *box, float *out)
{
    const int *n = distance->grid.size;
    const int step[3] = {1, n[0], n[0] * n[1]};
    float per_edge = (float)(1 / box->edge), far = box->reach;
    size_t i = 0;
    for (int z = 0; z < box->size[2]; z++)
        for (int y = 0; y < box->size[1]; y++)
            for (int x = 0; x < box->size[0]; x++, i++) {
                const int at[3] = {x + box->first[0], y + box->first[1], z + box->first[2]};
                int near = 0, beyond[3];
                for (int a = 0; a < 3; a++) {
                    int c = at[a] < 0 ? 0 : at[a] >= n[a] ? n[a] - 1 : at[a];
                    beyond[a] = at[a] - c;
                    near += c * step[a];
                }
                float v = distance->data[near], more = 0;
                for (int a = 0; a < 3; a++)
                    if (beyond[a] && n[a] > 1)
                        more += (float)abs(beyond[a]) *
                                (v - distance->data[beyond[a] < 0 ? near + step[a] : near - step[a]]);
                v = isfinite(v + more) ? (v + more) * per_edge : isnan(v) || v > 0 ? far : -far;
                out[i] = fminf(fmaxf(v, -4 * far), 4 * far);
            }
}

int clv_denoise_paste(const clvox_volume *distance, const clv_denoise_box *box, const float *phi,
                      clvox_volume **out)
{
    int status = CLVOX_OK;
    clvox_volume *made = NULL;
    const int *n = distance->grid.size;
    float edge = (float)box->edge, far = box->reach * edge;
    size_t i = 0;
    CLV_TRY(clvox_volume_create(&distance->grid, 1, CLVOX_KIND_SCALAR, &made));
    for (int z = 0; z < n[2]; z++)
        for (int y = 0; y < n[1]; y++)
            for (int x = 0; x < n[0]; x++, i++) {
                const int at[3] = {x - box->first[0], y - box->first[1], z - box->first[2]};
                bool within = true;
                for (int a = 0; a < 3; a++)
                    within = within && at[a] >= 0 && at[a] < box->size[a];
                float v = distance->data[i];
                if (within)
                    made->data[i] = edge * phi[(at[2] * box->size[1] + at[1]) * box->size[0] + at[0]];
                else
                    made->data[i] = v < 0 ? fminf(v, -far) : v >= 0 ? fmaxf(v, far) : far;
                if (!isfinite(made->data[i]))
                    made->data[i] = v < 0 ? -far : far;
            }
    *out = made;
    made = NULL;
end:
    clvox_volume_destroy(&made);
    return status;
}

int clv_denoise_everywhere(clvox_context *ctx, clvox_volume *distance)
{
    int status = CLVOX_OK;
    double edge[3], diagonal = 0;
    clv_image phi = {.components = 1};
    const int *n = distance->grid.size;
    size_t bytes = clvox_grid_voxels(&distance->grid) * sizeof(float);
    clv_buffer *out = NULL, *scratch = NULL;
    const clv_request list[] = {{&phi.buffer, bytes, "level set"},
                                {&out, bytes, "re-distanced level set"},
                                {&scratch, clv_redistance_bytes(n), "scratch of re-distancing"}};
    CLV_TRY(clv_pool_take(ctx, list, 3));
    clvox_grid_spacing(&distance->grid, edge);
    for (int a = 0; a < 3; a++) {
        phi.size[a] = n[a];
        phi.spacing[a] = (float)edge[a];
        diagonal += edge[a] * n[a] * edge[a] * n[a];
    }
    CLV_TRY(clv_buffer_write(ctx, phi.buffer, 0, distance->data, bytes));
    CLV_TRY(clv_redistance(ctx, &phi, (float)sqrt(diagonal), out, scratch));
    CLV_TRY(clv_buffer_read(ctx, out, 0, distance->data, bytes));
end:
    clv_pool_release(list, 3);
    return status;
}

int clv_denoise_list_box(clv_denoise *run, clv_request *list)
{
    size_t volume = (size_t)run->box.n * sizeof(float);
    int count = 0;
    list[count++] = (clv_request){&run->phi, volume, "level set"};
    list[count++] = (clv_request){&run->other, volume, "re-distanced level set"};
    list[count++] = (clv_request){&run->index, volume, "places in the band"};
    list[count++] = (clv_request){&run->parts, clv_nlm_parts_bytes(run->box.size), "parts of the band"};
    list[count++] = (clv_request){&run->scratch, clv_redistance_bytes(run->box.size),
                                  "scratch of re-distancing"};
    list[count++] = (clv_request){&run->partial, CLV_REDUCE_PARTIALS * sizeof(float), "partial sums"};
    list[count++] = (clv_request){&run->state, CLV_DENOISE_SLOTS * sizeof(float), "state"};
    return count;
}

bool clv_denoise_planes(const clvox_denoise_options *o)
{
    return o->planes && o->update == CLVOX_DENOISE_PATCHES && !(o->c1 > 0);
}

int clv_denoise_list_band(clv_denoise *run, clv_request *list)
{
    size_t voxels = (size_t)run->count, pairs = voxels * (size_t)run->most * sizeof(float);
    size_t stride = (size_t)clv_nlm_stride(run->box.radius) * sizeof(float), chunk = ESTIMATE_BYTES / stride;
    bool planes = clv_denoise_planes(run->options);
    int count = 0;
    list[count++] = (clv_request){&run->band, voxels * sizeof(int32_t), "band"};
    list[count++] = (clv_request){&run->sums, 2 * voxels * sizeof(float), "sums of the band"};
    list[count++] = (clv_request){&run->neighbours, pairs, "nearest patches"};
    list[count++] = (clv_request){&run->weights, pairs, "weights"};
    list[count++] = (clv_request){&run->matrix, voxels * stride, "patches"};
    if (run->options->update == CLVOX_DENOISE_PATCHES)
        list[count++] = (clv_request){&run->estimates, (voxels < chunk || planes ? voxels : chunk) * stride,
                                      "estimated patches"};
    if (planes) {
        list[count++] = (clv_request){&run->planes, 4 * voxels * sizeof(float), "planes of patches"};
        list[count++] = (clv_request){&run->means, 4 * voxels * sizeof(float), "means of planes"};
        list[count++] = (clv_request){&run->noisy, 4 * voxels * sizeof(float), "planes of noisy patches"};
        list[count++] = (clv_request){&run->middles, voxels * sizeof(int32_t), "middles of patches"};
    }
    list[count++] = (clv_request){&run->search, clv_patch_search_bytes(run->count, run->box.radius),
                                  "scratch of the search"};
    return count;
}

int clv_denoise_list_polish(clv_denoise *run, int radius, clv_request *list)
{
    size_t voxels = (size_t)run->count;
    list[0] = (clv_request){&run->band, voxels * sizeof(int32_t), "band"};
    list[1] = (clv_request){&run->sums, 2 * voxels * sizeof(float), "sums of the band"};
    list[2] = (clv_request){&run->matrix, voxels * (size_t)clv_nlm_stride(radius) * sizeof(float), "patches"};
    return 3;
}

/* Floating-point operations a second that the search may reach. */
static double search_rate(const clvox_device_limits *l)
{
    bool gpu = l->type != CLVOX_DEVICE_CPU;
    double lanes = gpu ? 128 : 8, share = gpu ? 0.5 : 0.35;
    double clock = l->clock_mhz > 0 ? l->clock_mhz : 1500;
    double units = l->compute_units > 0 ? l->compute_units : 1;
    return 2 * lanes * share * units * clock * 1e6;
}

int clvox_denoise_predict(clvox_context *ctx, const clvox_level_set *level_set,
                            const clvox_denoise_options *o, clvox_denoise_plan *plan)
{
    CLV_GIVEN(ctx, level_set, plan);
    CLV_HOST_THREADS(ctx);
    clvox_denoise_options standard;
    clvox_denoise_defaults(&standard);
    o = o ? o : &standard;
    int status = CLVOX_OK;
    clv_denoise run = {.ctx = ctx, .options = o, .most = o->neighbours};
    clv_request list[CLV_DENOISE_REQUESTS];
    long not_finite;
    float *phi = NULL;
    *plan = (clvox_denoise_plan){.band_voxels = 0};
    CLV_TRY(clv_denoise_check(level_set, o));
    CLV_TRY(clv_denoise_find_box(level_set->distance, o, &run.box, &not_finite));
    phi = malloc((size_t)run.box.n * sizeof(float));
    if (!phi) {
        status = clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
        goto end;
    }
    clv_denoise_cut(level_set->distance, &run.box, phi);
    for (int i = 0; i < run.box.n; i++)
        run.count += fabsf(phi[i]) <= run.box.delta;
    /* Re-distancing may widen the band a little. */
    run.count += run.count / 16 + 64;
    int count = clv_denoise_list_box(&run, list);
    size_t box_bytes = clv_pool_bytes(list, count);
    count += clv_denoise_list_band(&run, list + count);
    memcpy(plan->size, run.box.size, sizeof plan->size);
    plan->band_voxels = run.count;
    plan->device_bytes = clv_pool_bytes(list, count);
    if (o->update == CLVOX_DENOISE_PATCHES) {
        size_t polish = clv_pool_bytes(list, clv_denoise_list_polish(&run, run.box.wide, list));
        if (box_bytes + polish > plan->device_bytes)
            plan->device_bytes = box_bytes + polish;
    }
    plan->device_bytes += SMALL_BYTES;
    double edge = 2 * run.box.radius + 1, others = run.count;
    if (o->search == CLVOX_DENOISE_NEAR)
        others = fmin(others, 3.2 * o->radius * o->radius * 2 * (double)run.box.delta);
    plan->search_seconds = run.count * others * edge * edge * edge * 2 /
                           search_rate(clvox_context_limits(ctx)) * (o->rounds > 1 ? o->rounds : 1);
end:
    free(phi);
    return status;
}
