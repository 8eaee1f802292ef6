/* SPDX-License-Identifier: Apache-2.0 */
#include "report/viewer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/matrix.h"
#include "base/status.h"
#include "clvox/threads.h"
#include "io/volume/labels.h"
#include "io/volume/orientation.h"
#include "io/png.h"
#include "report/picture.h"

enum {
    LONGEST = 200,  /* pixels of the longest side of a slice on paper */
    SHORTEST = 160, /* of the longest side of a small image, whose voxels become more than one pixel */
    STEPS = 3,
    MOST_LABELS = 4096,
    ATTEMPTS = 5
};
/* Greys of images and colours of signed values, fewer and fewer. Nobody sees the difference of 128 to 256,
 * and noise takes an eighth fewer bytes. */
static const int greys_of[STEPS] = {128, 64, 32}, colors_of[STEPS] = {63, 63, 31};
/* A browser holds a few bytes for each voxel of each layer. */
static const double MOST_VOXELS = 16777216;

/* One layer: its voxels as bytes, the slices from below beside one another. */
typedef struct stack {
    int times[3]; /* of labels finer than the first image: their voxels along one of its, along R, A, S */
    int size[3];  /* along R, A, S, of what is stored: as many as voxels, or fewer */
    int columns;  /* slices beside one another */
    uint8_t *pixels;
    clv_png picture; /* of pixels */
    uint8_t *png;
    size_t bytes;
    int *label; /* of outlines: ascending; pixels are their places from 1 on */
    int labels;
    clv_raster still[3]; /* the slices that are shown first; of overlays black is nothing */
} stack;

typedef struct show {
    const clv_viewer *viewer;
    const clv_viewer_name *names; /* of labels */
    int name_count;
    clvox_volume *own[CLVOX_REPORT_LAYERS + 1]; /* in the storage nearest to RAS; the last is the mask */
    const clvox_volume *volume[CLVOX_REPORT_LAYERS + 1];
    clv_picture picture[CLVOX_REPORT_LAYERS + 1];
    double range[CLVOX_REPORT_LAYERS]; /* of signed layers; of contours what is far from them */
    clv_view view;                     /* of whole voxels */
    int size[3];                       /* of the finest layer along each axis: the slices to leaf through */
    int greys, colors;
    stack stack[CLVOX_REPORT_LAYERS];
} show;

static bool is_labels(clvox_report_look look)
{
    return look == CLVOX_REPORT_OUTLINES || look == CLVOX_REPORT_MASK;
}

static bool is_image(const clvox_report_layer *layer)
{
    return layer->look == CLVOX_REPORT_GREY || layer->look == CLVOX_REPORT_COLOUR;
}

/* ---- values --------------------------------------------------------------- */

/* 0 to s->greys - 1. */
static uint8_t grey_of(const show *s, const clv_picture *p, double value)
{
    return (uint8_t)lround((s->greys - 1) * fmin(fmax(clv_picture_grey(p, value), 0), 1));
}

static void colour_of(const show *s, int layer, const double ras[3], uint8_t out[3])
{
    clvox_volume channel = *s->volume[layer];
    clv_picture p = s->picture[layer];
    p.volume = &channel;
    for (int c = 0; c < 3; c++, channel.data += clvox_grid_voxels(&channel.grid))
        out[c] = grey_of(s, &p, clv_picture_sample(&p, ras));
}

/* 0: nothing; 1 and on: a colour. */
static uint8_t signed_of(const show *s, int layer, const double ras[3])
{
    const clv_picture *mask = &s->picture[s->viewer->layers];
    if (mask->volume && !(clv_picture_sample(mask, ras) > 0.5))
        return 0;
    const double share = clv_picture_sample(&s->picture[layer], ras) / s->range[layer];
    return isfinite(share) ? (uint8_t)(1 + lround((fmin(fmax(share, -1), 1) + 1) / 2 * (s->colors - 1))) : 0;
}

/* Below 128 inside. */
static uint8_t contour_of(const show *s, int layer, const double ras[3])
{
    const double share = clv_picture_sample(&s->picture[layer], ras) / s->range[layer];
    return isfinite(share) ? (uint8_t)(128 + floor(127 * fmin(fmax(share, -1), 1))) : 255;
}

/* The place of a label from 1 on, 0 for none; one too many for those beyond the table. */
static int place_of(const stack *t, int label)
{
    int low = 0, high = t->labels;
    if (!label)
        return 0;
    while (low < high) {
        const int middle = low + (high - low) / 2;
        if (t->label[middle] < label)
            low = middle + 1;
        else
            high = middle;
    }
    return low < t->labels && t->label[low] == label ? low + 1 : t->labels + 1;
}

/* The different labels of a map. */
static int list_labels(show *s, int layer)
{
    stack *t = &s->stack[layer];
    const clvox_volume *v = s->volume[layer];
    const size_t n = clvox_grid_voxels(&v->grid);
    int last = 0;
    t->label = calloc(MOST_LABELS, sizeof *t->label);
    if (!t->label)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory while drawing");
    for (size_t i = 0; i < n; i++) {
        const int label = fabsf(v->data[i]) < 1e9f ? (int)nearbyintf(v->data[i]) : 0;
        if (label == last)
            continue;
        last = label;
        if (place_of(t, label) <= t->labels || t->labels == MOST_LABELS)
            continue;
        int at = t->labels++;
        for (; at > 0 && t->label[at - 1] > label; at--)
            t->label[at] = t->label[at - 1];
        t->label[at] = label;
    }
    return CLVOX_OK;
}

/* Labels that are 255 apart have the same colour. */
static clv_color color_of(int label)
{
    return clv_color_of_label((label % 255 + 255) % 255);
}

static clv_color color_of_contour(int layer)
{
    return color_of(layer + 1);
}

/* ---- stacks --------------------------------------------------------------- */

/* Slice index % slices of layer index / slices, if it has as many. */
static int draw_slice(void *user, size_t index, int worker)
{
    show *s = user;
    const int layer = (int)(index / (size_t)s->size[2]), k = (int)(index % (size_t)s->size[2]);
    stack *t = &s->stack[layer];
    if (k >= t->size[2])
        return CLVOX_OK;
    const int samples = t->picture.rgb ? 3 : 1;
    const size_t stride = (size_t)samples * (size_t)t->picture.width;
    uint8_t *to = t->pixels + (size_t)(k / t->columns * t->size[1]) * stride +
                  (size_t)(samples * (k % t->columns) * t->size[0]);
    double voxel[3], ras[3];
    int at[3] = {0, 0, k}, label;
    (void)worker;
    for (at[1] = 0; at[1] < t->size[1]; at[1]++, to += stride)
        for (at[0] = 0; at[0] < t->size[0]; at[0]++) {
            uint8_t *pixel = to + samples * at[0];
            for (int w = 0; w < 3; w++)
                voxel[s->view.axis[w]] =
                    s->view.from[w] + (at[w] + 0.5) * (s->view.to[w] - s->view.from[w]) / t->size[w];
            clv_matrix_apply(CLV_MATRIX(s->volume[0]->grid.to_ras), voxel, ras);
            switch (s->viewer->layer[layer].look) {
            case CLVOX_REPORT_GREY:
                *pixel = grey_of(s, &s->picture[layer], clv_picture_sample(&s->picture[layer], ras));
                break;
            case CLVOX_REPORT_COLOUR: colour_of(s, layer, ras, pixel); break;
            case CLVOX_REPORT_SIGNED: *pixel = signed_of(s, layer, ras); break;
            case CLVOX_REPORT_CONTOUR: *pixel = contour_of(s, layer, ras); break;
            case CLVOX_REPORT_OUTLINES:
            case CLVOX_REPORT_MASK:
                label = place_of(t, clv_picture_label(&s->picture[layer], ras));
                pixel[0] = (uint8_t)label;
                if (samples == 3)
                    pixel[1] = (uint8_t)(label >> 8);
                break;
            }
        }
    return CLVOX_OK;
}

static void free_stacks(show *s)
{
    for (int i = 0; i < s->viewer->layers; i++) {
        free(s->stack[i].pixels);
        free(s->stack[i].png);
        s->stack[i].pixels = s->stack[i].png = NULL;
    }
}

static int draw_stacks(show *s)
{
    int status = CLVOX_OK;
    for (int i = 0; i < s->viewer->layers; i++) {
        stack *t = &s->stack[i];
        const clvox_report_look look = s->viewer->layer[i].look;
        t->picture = (clv_png){.width = t->size[0] * t->columns,
                               .height = t->size[1] * ((t->size[2] + t->columns - 1) / t->columns),
                               .plain = is_labels(look),
                               .rgb = look == CLVOX_REPORT_COLOUR || t->labels > 254};
        t->picture.pixels = t->pixels =
            calloc((size_t)(t->picture.rgb ? 3 : 1) * (size_t)t->picture.width, (size_t)t->picture.height);
        if (!t->pixels)
            CLV_TRY(clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory while drawing"));
    }
    status = clvox_parallel((size_t)s->viewer->layers * (size_t)s->size[2], draw_slice, s);
end:
    return status;
}

static int encode_stack(void *user, size_t index, int worker)
{
    stack *t = &((show *)user)->stack[index];
    (void)worker;
    return t->png ? CLVOX_OK : clv_png_encode(&t->picture, &t->png, &t->bytes);
}

/* From 0..before - 1 to 0..after - 1. */
static uint8_t rescale(int value, int before, int after)
{
    return (uint8_t)((2 * value * (after - 1) + before - 1) / (2 * (before - 1)));
}

/* With the greys and colours of a step; encodes what is not. *sum: the bytes of all. */
static int encode_stacks(show *s, int step, size_t *sum)
{
    for (int i = 0; i < s->viewer->layers; i++) {
        stack *t = &s->stack[i];
        const bool image = is_image(&s->viewer->layer[i]);
        const int before = image ? s->greys : s->colors, after = image ? greys_of[step] : colors_of[step];
        const size_t n =
            (size_t)(t->picture.rgb ? 3 : 1) * (size_t)t->picture.width * (size_t)t->picture.height;
        if (before == after || !(image || s->viewer->layer[i].look == CLVOX_REPORT_SIGNED))
            continue;
        for (size_t k = 0; k < n; k++)
            if (image || t->pixels[k])
                t->pixels[k] = (uint8_t)(!image + rescale(t->pixels[k] - !image, before, after));
        free(t->png);
        t->png = NULL;
    }
    s->greys = greys_of[step];
    s->colors = colors_of[step];
    const int status = clvox_parallel((size_t)s->viewer->layers, encode_stack, s);
    *sum = 0;
    for (int i = 0; i < s->viewer->layers; i++)
        *sum += s->stack[i].bytes;
    return status;
}

/* How many voxels each layer stores: `share` of what there are along an axis. */
static void set_sizes(show *s, double share)
{
    memset(s->size, 0, sizeof s->size);
    for (int i = 0; i < s->viewer->layers; i++) {
        stack *t = &s->stack[i];
        double n[3], voxels = 1;
        for (int w = 0; w < 3; w++)
            voxels *= n[w] = t->times[w] * (s->view.to[w] - s->view.from[w]);
        for (int w = 0; w < 3; w++) {
            t->size[w] = (int)fmax(1, round(fmin(share, cbrt(MOST_VOXELS / voxels)) * n[w]));
            s->size[w] = s->size[w] > t->size[w] ? s->size[w] : t->size[w];
        }
        t->columns = (int)ceil(sqrt((double)t->size[2] * t->size[1] / t->size[0]));
        t->columns = t->columns < t->size[2] ? t->columns : t->size[2];
    }
}

/* All voxels in fewer and fewer greys until they fit; only then fewer of them. */
static int draw_all(show *s, size_t bytes)
{
    int status = CLVOX_OK;
    double share = 1;
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
        size_t sum = 0;
        set_sizes(s, share);
        const int least = attempt ? STEPS - 1 : 0;
        s->greys = greys_of[least];
        s->colors = colors_of[least];
        free_stacks(s);
        CLV_TRY(draw_stacks(s));
        for (int step = least; step < STEPS; step++) {
            CLV_TRY(encode_stacks(s, step, &sum));
            if (sum * 4 / 3 <= bytes)
                return CLVOX_OK;
        }
        share *= 0.97 * cbrt((double)bytes / ((double)sum * 4 / 3));
    }
end:
    return status;
}

/* ---- slices for paper ------------------------------------------------------ */

/* Borders between pixels in the colour of the larger label. */
static int draw_borders(const show *s, int layer, const clv_view *v, const clv_panel *panel, clv_raster *out)
{
    const size_t width = (size_t)panel->width + 1;
    const clv_picture *p = &s->picture[layer];
    const bool contour = s->viewer->layer[layer].look == CLVOX_REPORT_CONTOUR;
    int *label = malloc(width * (size_t)(panel->height + 1) * sizeof *label);
    if (!label)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory while drawing");
    for (int y = 0; y <= panel->height; y++)
        for (int x = 0; x <= panel->width; x++) {
            double ras[3];
            clv_view_place(v, &s->volume[0]->grid, panel, x, y, ras);
            label[y * width + x] = contour ? clv_picture_sample(p, ras) < 0 : clv_picture_label(p, ras);
        }
    for (int y = 0; y < panel->height; y++)
        for (int x = 0; x < panel->width; x++) {
            const int here = label[y * width + x], right = label[y * width + x + 1],
                      below = label[(y + 1) * width + x], beyond = right != here ? right : below;
            if (beyond != here)
                clv_raster_set(out, x, y,
                               contour ? color_of_contour(layer) : color_of(beyond > here ? beyond : here));
        }
    free(label);
    return CLVOX_OK;
}

/* The slice of layer index / 3 in plane index % 3 that is shown first. */
static int draw_still(void *user, size_t index, int worker)
{
    show *s = user;
    const int layer = (int)index / 3;
    const clvox_report_look look = s->viewer->layer[layer].look;
    const clv_panel panel = clv_view_panel(&s->view, (int)index % 3);
    clv_raster *out = &s->stack[layer].still[index % 3];
    (void)worker;
    const int status = clv_raster_create(out, panel.width, panel.height, (clv_color){0, 0, 0});
    if (status < 0)
        return status;
    if (is_labels(look) || look == CLVOX_REPORT_CONTOUR)
        return draw_borders(s, layer, &s->view, &panel, out);
    for (int y = 0; y < panel.height; y++)
        for (int x = 0; x < panel.width; x++) {
            double ras[3];
            uint8_t c[3] = {0};
            clv_view_place(&s->view, &s->volume[0]->grid, &panel, x, y, ras);
            if (look == CLVOX_REPORT_COLOUR)
                colour_of(s, layer, ras, c);
            else if (look == CLVOX_REPORT_GREY)
                c[0] = c[1] = c[2] =
                    grey_of(s, &s->picture[layer], clv_picture_sample(&s->picture[layer], ras));
            clv_color color = {c[0], c[1], c[2]};
            if (look == CLVOX_REPORT_SIGNED && (c[0] = signed_of(s, layer, ras)))
                color = clv_color_diverging(2.0 * (c[0] - 1) / (s->colors - 1) - 1);
            clv_raster_set(out, x, y, color);
        }
    return CLVOX_OK;
}

static int draw_stills(show *s)
{
    clv_view *v = &s->view;
    double edge = v->spacing[0], longest = 0;
    for (int w = 0; w < 3; w++) {
        edge = fmin(edge, v->spacing[w]);
        longest = fmax(longest, (v->to[w] - v->from[w]) * v->spacing[w]);
    }
    v->scale = fmin(LONGEST / longest, fmax(1 / edge, SHORTEST / longest));
    return clvox_parallel(3 * (size_t)s->viewer->layers, draw_still, s);
}

/* ---- the element --------------------------------------------------------- */

static void put_three(clv_text *to, const char *name, const double value[3])
{
    clv_text_add(to, "\"%s\":[%.6g,%.6g,%.6g],", name, value[0], value[1], value[2]);
}

/* Along R, A and S: how many there are, their edge, where the first is in the world and how far the next, and
 * which is shown first. */
static void put_space(clv_text *to, const show *s)
{
    const clv_view *v = &s->view;
    double edge[3], first[3], step[3], start[3], voxel[3], ras[2][3];
    for (int w = 0; w < 3; w++) {
        const double each = (v->to[w] - v->from[w]) / s->size[w];
        for (int k = 0; k < 2; k++) {
            for (int a = 0; a < 3; a++)
                voxel[v->axis[a]] = v->cut[a];
            voxel[v->axis[w]] = v->from[w] + (k + 0.5) * each;
            clv_matrix_apply(CLV_MATRIX(s->volume[0]->grid.to_ras), voxel, ras[k]);
        }
        edge[w] = each * v->spacing[w];
        first[w] = ras[0][w];
        step[w] = ras[1][w] - ras[0][w];
        start[w] = fmin(floor((v->cut[w] - v->from[w]) / each), s->size[w] - 1);
    }
    clv_text_add(to, "\"size\":[%d,%d,%d],\"greys\":%d,", s->size[0], s->size[1], s->size[2], s->greys);
    put_three(to, "edge", edge);
    put_three(to, "first", first);
    put_three(to, "step", step);
    put_three(to, "start", start);
}

static void put_color(clv_text *to, clv_color c)
{
    clv_text_add(to, "\"#%02x%02x%02x\"", c.r, c.g, c.b);
}

/* What is inside an outline, and its colour, for each of the layer's numbers. */
static void put_labels(clv_text *to, const show *s, int layer)
{
    const stack *t = &s->stack[layer];
    const char *name = s->viewer->layer[layer].name;
    const bool contour = s->viewer->layer[layer].look == CLVOX_REPORT_CONTOUR,
               whole = contour || s->viewer->layer[layer].look == CLVOX_REPORT_MASK;
    clv_text_add(to, ",\"labels\":[");
    for (int k = 0; k < (contour ? 1 : t->labels); k++) {
        char number[32];
        const int64_t label = contour ? 1 : clv_label_name(s->volume[layer], (float)t->label[k]);
        const char *called = whole ? name : number;
        snprintf(number, sizeof number, "%lld", (long long)label);
        for (int i = s->name_count - 1; i >= 0 && !whole; i--)
            called = s->names[i].label == label ? s->names[i].name : called;
        clv_text_put(to, k ? ",[" : "[");
        clv_text_put_json(to, called);
        clv_text_put(to, ",");
        put_color(to, contour ? color_of_contour(layer) : color_of(t->label[k]));
        clv_text_put(to, "]");
    }
    clv_text_put(to, "]");
}

static void put_layers(clv_text *to, const show *s)
{
    static const char *const looks[] = {"grey", "colour", "outlines", "contour", "signed", "outlines"};
    for (int i = 0; i < s->viewer->layers; i++) {
        const clvox_report_layer *layer = &s->viewer->layer[i];
        clv_text_put(to, i ? ",{\"name\":" : "{\"name\":");
        clv_text_put_json(to, layer->name);
        const int *n = s->stack[i].size;
        clv_text_add(to, ",\"look\":\"%s\",\"hidden\":%s,\"size\":[%d,%d,%d],\"columns\":%d",
                     looks[layer->look], layer->hidden ? "true" : "false", n[0], n[1], n[2],
                     s->stack[i].columns);
        if (layer->look == CLVOX_REPORT_SIGNED) {
            clv_text_add(to, ",\"range\":%g,\"threshold\":%g,\"colors\":[", s->range[i],
                         fmin(layer->threshold, s->range[i]));
            for (int k = 0; k < s->colors; k++) {
                clv_text_put(to, k ? "," : "");
                put_color(to, clv_color_diverging(2.0 * k / (s->colors - 1) - 1));
            }
            clv_text_put(to, "]");
        } else if (!is_image(layer)) {
            put_labels(to, s, i);
        }
        clv_text_put(to, ",\"sheet\":\"");
        clv_text_put_base64(to, s->stack[i].png, s->stack[i].bytes);
        clv_text_put(to, "\"}");
    }
}

/* Lays `over` on what is there, where it is something. */
static void lay(clv_raster *raster, int left, int top, const clv_raster *over)
{
    for (int y = 0; y < over->height; y++)
        for (int x = 0; x < over->width; x++) {
            clv_color c = clv_raster_get(over, x, y);
            if (c.r || c.g || c.b)
                clv_raster_set(raster, left + x, top + y, c);
        }
}

/* Whether an overlay is among the lines, or among the signed values, that paper shows: of lines those that
 * are not hidden, if there is such a one. */
static bool is_laid(const show *s, int layer, bool lines)
{
    bool any = false;
    for (int i = 0; i < s->viewer->layers; i++)
        any = any || (s->viewer->layer[i].look != CLVOX_REPORT_SIGNED && !is_image(&s->viewer->layer[i]) &&
                      !s->viewer->layer[i].hidden);
    const clvox_report_layer *l = &s->viewer->layer[layer];
    if (is_image(l) || lines != (l->look != CLVOX_REPORT_SIGNED))
        return false;
    return !lines || !any || !l->hidden;
}

/* A cell of the picture for paper: an image, or the first one under all lines, or all signed values. */
typedef struct still_cell {
    int base;
    bool over, lines;
} still_cell;

static int list_cells(const show *s, still_cell cells[CLVOX_REPORT_LAYERS + 2])
{
    int count = 0;
    for (int i = 0; i < s->viewer->layers; i++)
        if (is_image(&s->viewer->layer[i]))
            cells[count++] = (still_cell){.base = i};
    for (int lines = 1; lines >= 0; lines--)
        for (int i = 0; i < s->viewer->layers; i++)
            if (is_laid(s, i, lines)) {
                cells[count++] = (still_cell){.over = true, .lines = lines};
                break;
            }
    return count;
}

/* "fixed; moving; labels on fixed". */
static void name_cells(clv_text *to, const show *s, const still_cell *cells, int count)
{
    for (int c = 0; c < count; c++) {
        clv_text_put(to, c ? "; " : "");
        for (int i = 0, any = 0; cells[c].over && i < s->viewer->layers; i++)
            if (is_laid(s, i, cells[c].lines)) {
                clv_text_put(to, any++ ? ", " : "");
                clv_text_put_html(to, s->viewer->layer[i].name);
            }
        clv_text_put(to, cells[c].over ? " on " : "");
        clv_text_put_html(to, s->viewer->layer[cells[c].base].name);
    }
}

/* For paper and where there is no script: cells in two columns, as wide as paper is. */
static int put_still(clv_text *to, const show *s)
{
    enum { GAP = 4, COLUMNS = 2 };
    int status = CLVOX_OK, width = 0, height = 0;
    clv_raster raster = {.rgb = NULL};
    uint8_t *png = NULL;
    size_t bytes;
    still_cell cells[CLVOX_REPORT_LAYERS + 2];
    const int count = list_cells(s, cells), columns = count < COLUMNS ? count : COLUMNS,
              rows = (count + columns - 1) / columns;
    for (int k = 0; k < 3; k++) {
        width += s->stack[0].still[k].width + GAP;
        height = s->stack[0].still[k].height > height ? s->stack[0].still[k].height : height;
    }
    CLV_TRY(
        clv_raster_create(&raster, columns * width - GAP, rows * (height + GAP) - GAP, (clv_color){0, 0, 0}));
    for (int c = 0; c < count; c++)
        for (int k = 0, left = c % columns * width; k < 3; left += s->stack[0].still[k++].width + GAP) {
            const int top = c / columns * (height + GAP) + (height - s->stack[0].still[k].height) / 2;
            lay(&raster, left, top, &s->stack[cells[c].base].still[k]);
            for (int o = 0; o < s->viewer->layers; o++)
                if (cells[c].over && is_laid(s, o, cells[c].lines))
                    lay(&raster, left, top, &s->stack[o].still[k]);
        }
    clv_text_put(to, "<figure class=\"still\"><img alt=\"");
    name_cells(to, s, cells, count);
    clv_text_put(to, "\" src=\"data:image/png;base64,");
    CLV_TRY(clv_png_encode(
        &(clv_png){.width = raster.width, .height = raster.height, .pixels = raster.rgb, .rgb = 1}, &png,
        &bytes));
    clv_text_put_base64(to, png, bytes);
    clv_text_put(to, "\"><figcaption>Row by row: ");
    name_cells(to, s, cells, count);
    for (int i = 0; i < s->viewer->layers; i++)
        if (s->viewer->layer[i].look == CLVOX_REPORT_SIGNED) {
            clv_text_put(to, ". Colours of ");
            clv_text_put_html(to, s->viewer->layer[i].name);
            clv_text_add(to, ": blue -%g to red +%g", s->range[i], s->range[i]);
        }
    clv_text_put(to, ". The patient's left is on the right.</figcaption></figure>");
end:
    clv_raster_free(&raster);
    free(png);
    return status;
}

/* ---- all of it ----------------------------------------------------------- */

/* threshold: of the layer; 0: none. */
static double range_of(const clvox_volume *volume, const clvox_volume *mask, double threshold)
{
    const size_t voxels = clvox_grid_voxels(&volume->grid), stride = 1 + voxels / 500000;
    const bool masked = mask && clvox_grid_equal(&mask->grid, &volume->grid);
    clv_reach reach = {.count = 0};
    double largest = 0, unit = 1;
    for (size_t i = 0; i < voxels; i++)
        if (isfinite(volume->data[i]) && (!masked || mask->data[i] > 0))
            largest = fmax(largest, fabs(volume->data[i]));
    if (threshold > 0) /* what matters are the few largest */
        return fmax(ceil(fmax(largest, threshold)), 1);
    while (largest / unit > 4) /* where a reach ends */
        unit *= 10;
    for (size_t i = 0; i < voxels; i += stride)
        if (isfinite(volume->data[i]) && (!masked || mask->data[i] > 0))
            clv_reach_add(&reach, volume->data[i] / unit);
    return unit * clv_reach_end(&reach);
}

/* Cuts through the largest of what a threshold leaves. */
static void cut_through_peak(show *s, int layer)
{
    const clvox_volume *v = s->volume[layer], *image = s->volume[0];
    const clv_picture *mask = &s->picture[s->viewer->layers];
    const int *n = v->grid.size;
    double largest = 0, ras[3], peak[3] = {0}, at[3];
    size_t i = 0;
    for (int z = 0; z < n[2]; z++)
        for (int y = 0; y < n[1]; y++)
            for (int x = 0; x < n[0]; x++, i++) {
                if (!(fabs(v->data[i]) > largest)) /* NaN is none */
                    continue;
                clv_matrix_apply(CLV_MATRIX(v->grid.to_ras), (double[3]){x, y, z}, ras);
                if (mask->volume && !(clv_picture_sample(mask, ras) > 0.5))
                    continue;
                largest = fabs(v->data[i]);
                memcpy(peak, ras, sizeof peak);
            }
    if (!(largest > 0))
        return;
    clv_matrix_apply(CLV_MATRIX(s->picture[0].from_ras), peak, at);
    for (int w = 0; w < 3; w++) {
        const int a = s->view.axis[w];
        const double inside = fmin(fmax(nearbyint(at[a]), ceil(s->view.from[w])), floor(s->view.to[w]));
        s->view.cut[w] = (int)fmin(fmax(inside, 0), image->grid.size[a] - 1);
    }
}

/* Cuts through the middle of a map's labels: in the brain, where the middle of a head is in its neck. */
static void cut_through_labels(show *s, int layer)
{
    const clvox_volume *v = s->volume[layer];
    const int *n = v->grid.size;
    double sum[3] = {0}, ras[3], at[3], count = 0;
    size_t i = 0;
    for (int z = 0; z < n[2]; z++)
        for (int y = 0; y < n[1]; y++)
            for (int x = 0; x < n[0]; x++, i++)
                if (v->data[i] && isfinite(v->data[i])) {
                    count++;
                    sum[0] += x;
                    sum[1] += y;
                    sum[2] += z;
                }
    if (!count)
        return;
    clv_matrix_apply(CLV_MATRIX(v->grid.to_ras), (double[3]){sum[0] / count, sum[1] / count, sum[2] / count},
                     ras);
    clv_matrix_apply(CLV_MATRIX(s->picture[0].from_ras), ras, at);
    for (int w = 0; w < 3; w++)
        s->view.cut[w] = (int)nearbyint(at[s->view.axis[w]]);
}

static int open_all(show *s)
{
    int status = CLVOX_OK;
    const int count = s->viewer->layers;
    for (int i = 0; i <= count; i++) {
        clv_orientation o;
        s->volume[i] = i < count ? s->viewer->layer[i].volume : s->viewer->mask;
        if (!s->volume[i])
            continue;
        clv_orientation_of(&s->volume[i]->grid, &o);
        if (!clv_orientation_same(&o)) {
            CLV_TRY(clv_orientation_volume(s->volume[i], &o, NULL, &s->own[i]));
            s->volume[i] = s->own[i];
        }
        CLV_TRY(clv_picture_open(&s->picture[i], s->volume[i]));
    }
    const clv_picture *mask = s->volume[count] ? &s->picture[count] : NULL;
    for (int i = 0; i < count; i++) {
        if (s->viewer->layer[i].look == CLVOX_REPORT_GREY || i == 0)
            CLV_TRY(clv_picture_window(&s->picture[i], mask));
        if (s->viewer->layer[i].look == CLVOX_REPORT_SIGNED)
            s->range[i] = range_of(s->volume[i], s->volume[count], s->viewer->layer[i].threshold);
        if (is_labels(s->viewer->layer[i].look))
            CLV_TRY(list_labels(s, i));
    }
    clv_view_orient(&s->volume[0]->grid, &s->view);
    for (int i = 0; i < count; i++) {
        clv_view own;
        clv_view_orient(&s->volume[i]->grid, &own);
        for (int w = 0; w < 3; w++) {
            const double finer = ceil(s->view.spacing[w] / own.spacing[w] - 0.1);
            s->stack[i].times[w] = is_labels(s->viewer->layer[i].look) ? (int)fmin(fmax(finer, 1), 8) : 1;
        }
    }
    clv_picture_frame(&s->picture[0], mask, LONGEST, &s->view);
    for (int i = count - 1; i >= 0; i--) /* the first such layer decides */
        if (s->viewer->layer[i].look == CLVOX_REPORT_OUTLINES && !s->viewer->layer[i].hidden)
            cut_through_labels(s, i);
    for (int w = 0; w < 3; w++) {
        s->view.from[w] = ceil(s->view.from[w]) - 0.5;
        s->view.to[w] = floor(s->view.to[w]) + 0.5;
        s->view.cut[w] = (int)fmin(fmax(s->view.cut[w], s->view.from[w] + 0.5), s->view.to[w] - 0.5);
    }
    for (int i = 0; i < count; i++)
        s->range[i] = s->viewer->layer[i].look == CLVOX_REPORT_CONTOUR
                          ? 2 * fmax(s->view.spacing[0], fmax(s->view.spacing[1], s->view.spacing[2]))
                          : s->range[i];
    for (int i = count - 1; i >= 0; i--) /* the first such layer decides */
        if (s->viewer->layer[i].look == CLVOX_REPORT_SIGNED && s->viewer->layer[i].threshold > 0)
            cut_through_peak(s, i);
    for (int i = 0; i < count; i++)
        if (s->viewer->layer[i].look == CLVOX_REPORT_COLOUR) {
            s->picture[i].low = 0;
            s->picture[i].high = 255;
        }
end:
    return status;
}

int clv_viewer_put(clv_text *to, const clv_viewer *viewer, const clv_viewer_name *names, int count,
                   size_t bytes)
{
    int status = CLVOX_OK;
    show *s = calloc(1, sizeof *s);
    if (!s)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory while drawing");
    s->viewer = viewer;
    s->names = names;
    s->name_count = count;
    CLV_TRY(open_all(s));
    s->greys = 256;
    s->colors = 255;
    CLV_TRY(draw_stills(s));
    CLV_TRY(draw_all(s, bytes));
    clv_text_put(to, "<div class=\"viewer\">\n<script type=\"application/json\">{");
    put_space(to, s);
    clv_text_put(to, "\"layers\":[");
    put_layers(to, s);
    clv_text_put(to, "]}</script>\n");
    CLV_TRY(put_still(to, s));
    clv_text_put(to, "\n</div>\n");
end:
    free_stacks(s);
    for (int i = 0; i < viewer->layers; i++) {
        free(s->stack[i].label);
        for (int k = 0; k < 3; k++)
            clv_raster_free(&s->stack[i].still[k]);
    }
    for (int i = 0; i <= viewer->layers; i++)
        clvox_volume_destroy(&s->own[i]);
    free(s);
    return status;
}
