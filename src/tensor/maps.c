/* SPDX-License-Identifier: Apache-2.0 */
#include "tensor/maps.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "clvox/threads.h"
#include "base/select.h"
#include "base/status.h"
#include "io/png.h"
#include "io/volume/file.h"
#include "op/tensor/measures.h"
#include "report/figure_view.h"
#include "runtime/device/host.h"
#include "runtime/device/watch.h"

enum {
    BATCH = 1 << 21, /* voxels at a time: their measures are three times the tensor */
    LONGEST = 360,   /* pixels of the longest side of a panel */
    GAP = 8,
    FOOT = 22
};

/* ---- measures ----------------------------------------------------------- */

static bool is_diffusivity(int m)
{
    return m == CLVOX_MEASURE_MD || m == CLVOX_MEASURE_AD || m == CLVOX_MEASURE_RD ||
           (m >= CLVOX_MEASURE_L1 && m <= CLVOX_MEASURE_L3);
}

/* Brings the planes of a batch to their volumes. */
static int fetch(clvox_context *ctx, const clv_buffer *planes, size_t first, size_t count, size_t voxels,
                 double unit, clvox_volume *out[CLVOX_MEASURES])
{
    int status = CLVOX_OK;
    size_t plane = 0;
    for (int m = 0; m < CLVOX_MEASURES; m++)
        for (int c = 0; out[m] && c < out[m]->frames; c++, plane++) {
            float *to = out[m]->data + (size_t)c * voxels + first;
            CLV_TRY(clv_buffer_read(ctx, planes, plane * count * sizeof *to, to, count * sizeof *to));
            for (size_t i = 0; unit != 1 && is_diffusivity(m) && i < count; i++)
                to[i] = (float)((double)to[i] * unit);
        }
end:
    return status;
}

int clv_tensor_maps(clvox_context *ctx, clv_buffer *tensor, const clv_buffer *mask,
                    const clvox_grid *grid, double unit, unsigned wanted, clvox_volume *out[CLVOX_MEASURES])
{
    int status;
    size_t voxels = clvox_grid_voxels(grid), batch = voxels < BATCH ? voxels : BATCH;
    clv_buffer *planes = NULL;
    const clv_image image = {
        .buffer = tensor, .size = {grid->size[0], grid->size[1], grid->size[2]}, .components = 6};
    memset(out, 0, CLVOX_MEASURES * sizeof *out);
    if (!(wanted & CLVOX_MEASURES_ALL))
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "no measure of the tensor is asked for");
    for (int m = 0; m < CLVOX_MEASURES; m++) {
        bool scalar = m < CLVOX_MEASURE_V1;
        if (wanted >> m & 1)
            CLV_TRY(clvox_volume_create(grid, scalar ? 1 : 3, scalar ? CLVOX_KIND_SCALAR : CLVOX_KIND_VECTOR,
                                        &out[m]));
    }
    const clv_request request = {&planes, (size_t)clv_measure_planes(wanted) * batch * sizeof(float),
                                 "measures of the tensor"};
    CLV_TRY(clv_pool_take(ctx, &request, 1));
    for (size_t first = 0; first < voxels && status >= 0; first += batch) {
        size_t count = voxels - first < batch ? voxels - first : batch;
        status = clv_tensor_measures(ctx, &image, mask, (int)first, (int)count, wanted, planes);
        if (status >= 0)
            status = fetch(ctx, planes, first, count, voxels, unit, out);
    }
    clv_pool_release(&request, 1);
end:
    for (int m = 0; m < CLVOX_MEASURES && status < 0; m++)
        clvox_volume_destroy(&out[m]);
    return status;
}

int clvox_tensor_measures(clvox_context *ctx, const clvox_volume *tensor, const clvox_volume *mask,
                          unsigned wanted, clvox_volume *out[CLVOX_MEASURES])
{
    CLV_GIVEN(ctx, tensor, out);
    CLV_HOST_THREADS(ctx);
    CLV_WATCH(ctx, "measures");
    int status;
    size_t voxels = clvox_grid_voxels(&tensor->grid), bytes = voxels * sizeof(float);
    clv_buffer *d = NULL, *inside = NULL;
    memset(out, 0, CLVOX_MEASURES * sizeof *out);
    if (tensor->kind != CLVOX_KIND_TENSOR || tensor->frames != 6)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "only a tensor has such measures");
    if (mask && (mask->frames != 1 || !clvox_grid_equal(&mask->grid, &tensor->grid)))
        return clvox_fail(CLVOX_ERROR_DATA, "the mask lies on another grid than the tensor");
    if (voxels > INT_MAX / 6)
        return clvox_fail(CLVOX_ERROR_DATA, "a tensor of %zu voxels is larger than clvox measures", voxels);
    const clv_request requests[] = {{&d, 6 * bytes, "tensor"}, {&inside, bytes, "mask"}};
    void *const host[] = {tensor->data, mask ? mask->data : NULL};
    CLV_TRY(clv_pool_take_over(ctx, requests, host, mask ? 2 : 1));
    status = clv_buffer_write(ctx, d, 0, tensor->data, 6 * bytes);
    if (status >= 0 && mask)
        status = clv_buffer_write(ctx, inside, 0, mask->data, bytes);
    if (status >= 0)
        status = clv_tensor_maps(ctx, d, inside, &tensor->grid, 1, wanted, out);
    clv_pool_release(requests, mask ? 2 : 1);
end:
    return status;
}

static double median_of(const clvox_volume *map, const char *inside, float *room)
{
    size_t count = 0;
    for (size_t i = 0; i < clvox_grid_voxels(&map->grid); i++)
        if (inside[i] && isfinite(map->data[i]))
            room[count++] = map->data[i];
    return count ? clv_median(room, count) : NAN;
}

int clvox_measures_summarise(clvox_volume *const maps[CLVOX_MEASURES], const clvox_volume *mask,
                             clvox_measures_summary *out)
{
    CLV_GIVEN(maps, out);
    const clvox_volume *fa = maps[CLVOX_MEASURE_FA], *md = maps[CLVOX_MEASURE_MD];
    const clvox_volume *l3 = maps[CLVOX_MEASURE_L3];
    *out = (clvox_measures_summary){.voxels = 0};
    if (!fa || !md || !l3)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "a summary of measures wants FA, MD and L3");
    size_t voxels = clvox_grid_voxels(&fa->grid);
    char *inside = malloc(voxels);
    float *room = malloc(voxels * sizeof *room);
    for (size_t i = 0; inside && room && i < voxels; i++) {
        /* Without a mask what is outside was left at 0. */
        inside[i] = mask ? mask->data[i] > 0 : !(md->data[i] == 0 && l3->data[i] == 0);
        out->voxels += inside[i] != 0;
        out->not_positive += inside[i] && l3->data[i] <= 0;
        out->not_finite += inside[i] && !isfinite(md->data[i]);
    }
    int status = CLVOX_OK;
    if (!inside || !room)
        status = clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory for the summary");
    if (status >= 0) {
        out->fa_median = median_of(fa, inside, room);
        out->md_median = median_of(md, inside, room);
    }
    free(inside);
    free(room);
    return status;
}

/* ---- colours ------------------------------------------------------------ */

typedef struct colouring {
    const float *fa, *v1;
    size_t voxels, plane;
    uint8_t *rgb;
} colouring;

static int colour_plane(void *user, size_t index, int worker)
{
    const colouring *w = user;
    (void)worker;
    for (size_t i = index * w->plane; i < (index + 1) * w->plane; i++)
        for (size_t c = 0; c < 3; c++) {
            float value = fabsf(w->v1[c * w->voxels + i]) * (w->fa[i] > 1 ? 1 : w->fa[i]);
            w->rgb[3 * i + c] = value > 0 ? (uint8_t)(255 * fminf(value, 1) + 0.5f) : 0;
        }
    return CLVOX_OK;
}

int clv_tensor_colours(const clvox_volume *fa, const clvox_volume *v1, uint8_t **rgb)
{
    const int *n = fa->grid.size;
    colouring w = {.fa = fa->data, .v1 = v1->data, .voxels = clvox_grid_voxels(&fa->grid),
                   .plane = (size_t)n[0] * (size_t)n[1]};
    *rgb = w.rgb = malloc(3 * w.voxels);
    if (!w.rgb)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory for the colours");
    return clvox_parallel((size_t)n[2], colour_plane, &w);
}

/* The box of what has any colour, and the middle of what has much. */
static void frame(const clvox_grid *grid, const uint8_t *rgb, clv_view *v)
{
    const int *n = grid->size;
    int low[3] = {n[0], n[1], n[2]}, high[3] = {-1, -1, -1};
    double sum[3] = {0, 0, 0}, weight = 0, longest = 0;
    size_t at = 0;
    for (int z = 0; z < n[2]; z++)
        for (int y = 0; y < n[1]; y++)
            for (int x = 0; x < n[0]; x++, at += 3) {
                const int voxel[3] = {x, y, z};
                int bright = rgb[at] + rgb[at + 1] + rgb[at + 2];
                for (int a = 0; bright && a < 3; a++) {
                    low[a] = voxel[a] < low[a] ? voxel[a] : low[a];
                    high[a] = voxel[a] > high[a] ? voxel[a] : high[a];
                    sum[a] += bright * voxel[a];
                }
                weight += bright;
            }
    for (int w = 0; w < 3; w++) {
        int a = v->axis[w];
        bool some = high[a] >= 0;
        v->cut[w] = some ? (int)lround(sum[a] / weight) : n[a] / 2;
        v->from[w] = some ? fmax(low[a] - 2.5, -0.5) : -0.5;
        v->to[w] = some ? fmin(high[a] + 2.5, n[a] - 0.5) : n[a] - 0.5;
        longest = fmax(longest, (v->to[w] - v->from[w]) * v->spacing[w]);
    }
    v->scale = LONGEST / longest;
}

static void draw(clv_raster *out, const clv_view *v, const clvox_grid *grid, const uint8_t *rgb,
                 const clv_panel *p, int left, int top)
{
    const int *n = grid->size;
    for (int y = 0; y < p->height; y++)
        for (int x = 0; x < p->width; x++) {
            double voxel[3];
            size_t at[3];
            clv_view_voxel(v, p, x, y, voxel);
            for (int a = 0; a < 3; a++)
                at[a] = (size_t)fmin(fmax(round(voxel[a]), 0), n[a] - 1);
            const uint8_t *c = rgb + 3 * ((at[2] * (size_t)n[1] + at[1]) * (size_t)n[0] + at[0]);
            clv_raster_set(out, left + x, top + y, (clv_color){c[0], c[1], c[2]});
        }
}

int clv_figure_colours(const clvox_grid *grid, const uint8_t *rgb, clv_raster *out)
{
    static const clv_color ground = {22, 22, 24};
    static const struct {
        const char *text;
        clv_color color;
    } legend[] = {{"left-right", {255, 90, 90}}, {"front-back", {90, 220, 90}}, {"up-down", {110, 130, 255}}};
    clv_view v;
    clv_panel panels[3];
    int width = GAP, height = 0, left = GAP;
    memset(out, 0, sizeof *out);
    clv_view_orient(grid, &v);
    frame(grid, rgb, &v);
    for (int i = 0; i < 3; i++) {
        panels[i] = clv_view_panel(&v, i);
        width += panels[i].width + GAP;
        height = panels[i].height > height ? panels[i].height : height;
    }
    int legend_width = 0;
    for (int i = 0; i < 3; i++)
        legend_width += clv_raster_text_width(2, legend[i].text) + 3 * GAP;
    width = width > legend_width ? width : legend_width;
    int status = clv_raster_create(out, width, height + 2 * GAP + FOOT, ground);
    if (status < 0)
        return status;
    for (int i = 0; i < 3; i++) {
        int top = GAP + (height - panels[i].height) / 2;
        draw(out, &v, grid, rgb, &panels[i], left, top);
        clv_view_annotate(out, &v, grid, &panels[i], left, top, true);
        left += panels[i].width + GAP;
    }
    left = GAP;
    for (int i = 0; i < 3; i++) {
        clv_raster_text(out, left, height + 2 * GAP, 2, legend[i].color, legend[i].text);
        left += clv_raster_text_width(2, legend[i].text) + 3 * GAP;
    }
    return CLVOX_OK;
}

int clvox_tensor_write_colours(const clvox_volume *fa, const clvox_volume *v1, const char *path)
{
    CLV_GIVEN(fa, v1, path);
    int status = CLVOX_OK;
    const size_t length = strlen(path);
    uint8_t *rgb = NULL;
    clv_raster figure = {0, 0, NULL};
    CLV_TRY(clv_tensor_colours(fa, v1, &rgb));
    if (length < 4 || strcmp(path + length - 4, ".png") != 0) {
        status = clv_volume_write_colours(&fa->grid, rgb, path);
        goto end;
    }
    CLV_TRY(clv_figure_colours(&fa->grid, rgb, &figure));
    CLV_TRY(clv_png_write(path, figure.width, figure.height, figure.rgb));
end:
    clv_raster_free(&figure);
    free(rgb);
    return status;
}
