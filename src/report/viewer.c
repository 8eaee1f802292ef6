/* SPDX-License-Identifier: Apache-2.0 */
#include "report/viewer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/matrix.h"
#include "base/status.h"
#include "clvox/threads.h"
#include "io/volume/orientation.h"
#include "io/png.h"
#include "report/picture.h"

enum {
    LONGEST = 200,  /* pixels of the longest side of a slice, before it has to fit */
    SHORTEST = 160, /* of the longest side of a small image, whose voxels become more than one pixel */
    SLICES = 72,    /* of a plane */
    SIGNED_COLORS = 63,
    FINE = 2 /* pixels of outlines on an edge of an image's pixel */
};

/* One layer in one plane. */
typedef struct sheet {
    uint8_t *pixels, colors[256][4];
    clv_png picture; /* of pixels and colors */
    uint8_t *png;
    size_t bytes;
    clv_raster still; /* the slice that is shown first; of overlays black is nothing */
} sheet;

/* The slices of a plane. */
typedef struct plane {
    clv_panel panel;
    int first, step, count, start; /* voxels along the normal axis; start: the slice shown first */
    int columns;                   /* of the sheet */
} plane;

typedef struct show {
    const clv_viewer *viewer;
    clvox_volume *own[CLVOX_REPORT_LAYERS + 1]; /* in the storage nearest to RAS; the last is the mask */
    const clvox_volume *volume[CLVOX_REPORT_LAYERS + 1];
    clv_picture picture[CLVOX_REPORT_LAYERS + 1];
    double range[CLVOX_REPORT_LAYERS]; /* of signed layers */
    clv_view view;
    plane plane[3];
    sheet sheet[CLVOX_REPORT_LAYERS][3];
    int slices; /* the most of a plane */
} show;

static bool is_image(const clvox_report_layer *layer)
{
    return layer->look == CLVOX_REPORT_GREY || layer->look == CLVOX_REPORT_COLOUR;
}

/* Pixels of a sheet on an edge of an image's pixel. */
static int fine_of(clvox_report_look look)
{
    return look == CLVOX_REPORT_OUTLINES || look == CLVOX_REPORT_CONTOUR ? FINE : 1;
}

/* ---- values to pixels ---------------------------------------------------- */

/* One slice of a layer: a byte a pixel, or three. */
typedef struct tile {
    const show *s;
    int layer, width, height;
    clv_view view;
    clv_panel panel;
} tile;

static void place(const tile *t, int x, int y, double ras[3])
{
    clv_view_place(&t->view, &t->s->volume[0]->grid, &t->panel, x, y, ras);
}

static uint8_t grey_of(const clv_picture *p, double value)
{
    /* 128 greys: nobody sees the difference, and noise takes an eighth fewer bytes. */
    return (uint8_t)(lround(127 * fmin(fmax(clv_picture_grey(p, value), 0), 1)) * 255 / 127);
}

static void draw_grey(const tile *t, uint8_t *to, size_t stride)
{
    const clv_picture *p = &t->s->picture[t->layer];
    for (int y = 0; y < t->height; y++)
        for (int x = 0; x < t->width; x++) {
            double ras[3];
            place(t, x, y, ras);
            to[y * stride + x] = grey_of(p, clv_picture_sample(p, ras));
        }
}

static void draw_colour(const tile *t, uint8_t *to, size_t stride)
{
    clvox_volume channel = *t->s->volume[t->layer];
    clv_picture p = t->s->picture[t->layer];
    p.volume = &channel;
    for (int c = 0; c < 3; c++, channel.data += clvox_grid_voxels(&channel.grid))
        for (int y = 0; y < t->height; y++)
            for (int x = 0; x < t->width; x++) {
                double ras[3];
                place(t, x, y, ras);
                to[y * stride + 3 * x + c] = grey_of(&p, clv_picture_sample(&p, ras));
            }
}

static void draw_signed(const tile *t, uint8_t *to, size_t stride)
{
    const show *s = t->s;
    const clv_picture *p = &s->picture[t->layer], *mask = &s->picture[s->viewer->layers];
    for (int y = 0; y < t->height; y++)
        for (int x = 0; x < t->width; x++) {
            double ras[3];
            place(t, x, y, ras);
            double value =
                mask->volume && !(clv_picture_sample(mask, ras) > 0.5) ? NAN : clv_picture_sample(p, ras);
            double share = fmin(fmax(value / s->range[t->layer], -1), 1);
            to[y * stride + x] =
                isfinite(value) ? (uint8_t)(1 + lround((share + 1) / 2 * (SIGNED_COLORS - 1))) : 0;
        }
}

/* Colour 1 and on for labels; the same for labels that are 255 apart. */
static uint8_t color_of(int label)
{
    return (uint8_t)(1 + (label % 255 + 255) % 255);
}

/* Borders between pixels, a fine pixel wide, in the colour of the larger label. */
static int draw_outlines(const tile *t, uint8_t *to, size_t stride)
{
    const size_t width = (size_t)t->width + 1;
    const clv_picture *p = &t->s->picture[t->layer];
    const bool contour = t->s->viewer->layer[t->layer].look == CLVOX_REPORT_CONTOUR;
    int *label = malloc(width * (size_t)(t->height + 1) * sizeof *label);
    if (!label)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory while drawing");
    for (int y = 0; y <= t->height; y++)
        for (int x = 0; x <= t->width; x++) {
            double ras[3];
            place(t, x, y, ras);
            label[y * width + x] =
                contour ? (clv_picture_sample(p, ras) < 0) * (t->layer + 1) : clv_picture_label(p, ras);
        }
    for (int y = 0; y < FINE * t->height; y++)
        for (int x = 0; x < FINE * t->width; x++) {
            int here = label[y / FINE * width + x / FINE];
            int right = label[y / FINE * width + (x + 1) / FINE],
                below = label[(y + 1) / FINE * width + x / FINE];
            int beyond = right != here ? right : below;
            to[y * stride + x] = beyond == here ? 0 : color_of(beyond > here ? beyond : here);
        }
    free(label);
    return CLVOX_OK;
}

/* ---- sheets -------------------------------------------------------------- */

static void fill_colors(clvox_report_look look, uint8_t colors[256][4], int *count)
{
    memset(colors, 0, 256 * sizeof *colors);
    *count = look == CLVOX_REPORT_SIGNED ? 1 + SIGNED_COLORS : 256;
    for (int i = 1; i < *count; i++) {
        clv_color c = look == CLVOX_REPORT_SIGNED
                          ? clv_color_diverging(2.0 * (i - 1) / (SIGNED_COLORS - 1) - 1)
                          : clv_color_of_label(i - 1);
        memcpy(colors[i], (uint8_t[]){c.r, c.g, c.b, 255}, 4);
    }
}

/* The slice that is shown first, as it is without a script. */
static int keep_still(const show *s, int layer, const clv_png *png, const uint8_t *from, clv_raster *out)
{
    const int fine = fine_of(s->viewer->layer[layer].look);
    int status = clv_raster_create(out, out->width, out->height, (clv_color){0, 0, 0});
    for (int y = 0; status >= 0 && y < out->height; y++)
        for (int x = 0; x < out->width; x++) {
            const uint8_t *at = from + (size_t)fine * y * png->width * (png->rgb ? 3 : 1) +
                                (size_t)fine * x * (png->rgb ? 3 : 1);
            int value = *at;
            for (int k = 1; k < fine * fine && !value; k++) /* lines stay where pixels become fewer */
                value = at[(size_t)(k / fine) * png->width + k % fine];
            clv_color c = png->rgb      ? (clv_color){at[0], at[1], at[2]}
                          : png->colors ? (clv_color){png->colors[value][0], png->colors[value][1],
                                                      png->colors[value][2]}
                                        : (clv_color){at[0], at[0], at[0]};
            clv_raster_set(out, x, y, c);
        }
    return status;
}

/* The sheet of layer index / 3 in plane index % 3, black. */
static int begin_sheet(show *s, int index)
{
    const clvox_report_layer *layer = &s->viewer->layer[index / 3];
    const plane *p = &s->plane[index % 3];
    sheet *out = &s->sheet[index / 3][index % 3];
    const int fine = fine_of(layer->look), rows = (p->count + p->columns - 1) / p->columns;
    clv_png *png = &out->picture;
    *png = (clv_png){.width = fine * p->panel.width * p->columns,
                     .height = fine * p->panel.height * rows,
                     .rgb = layer->look == CLVOX_REPORT_COLOUR};
    if (!is_image(layer)) {
        fill_colors(layer->look, out->colors, &png->color_count);
        png->colors = (const uint8_t(*)[4])out->colors;
    }
    png->pixels = out->pixels = calloc((size_t)(png->rgb ? 3 : 1) * (size_t)png->width, (size_t)png->height);
    return out->pixels ? CLVOX_OK : clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory while drawing");
}

/* Slice index % slices of sheet index / slices. */
static int draw_slice(void *user, size_t index, int worker)
{
    show *s = user;
    const int number = (int)(index / (size_t)s->slices), layer = number / 3,
              k = (int)(index % (size_t)s->slices);
    const clvox_report_look look = s->viewer->layer[layer].look;
    const plane *p = &s->plane[number % 3];
    sheet *out = &s->sheet[layer][number % 3];
    tile t = {s, layer, p->panel.width, p->panel.height, s->view, p->panel};
    const int fine = fine_of(look), samples = out->picture.rgb ? 3 : 1;
    const size_t stride = (size_t)samples * (size_t)out->picture.width;
    int status = CLVOX_OK;
    (void)worker;
    if (k >= p->count)
        return CLVOX_OK;
    uint8_t *to = out->pixels + (size_t)fine * (size_t)(k / p->columns * t.height) * stride +
                  (size_t)(samples * fine * (k % p->columns) * t.width);
    t.view.cut[p->panel.normal] = p->first + k * p->step;
    switch (look) {
    case CLVOX_REPORT_GREY: draw_grey(&t, to, stride); break;
    case CLVOX_REPORT_COLOUR: draw_colour(&t, to, stride); break;
    case CLVOX_REPORT_SIGNED: draw_signed(&t, to, stride); break;
    case CLVOX_REPORT_OUTLINES:
    case CLVOX_REPORT_CONTOUR: CLV_TRY(draw_outlines(&t, to, stride)); break;
    }
    if (k == p->start) {
        out->still = (clv_raster){.width = t.width, .height = t.height};
        status = keep_still(s, layer, &out->picture, to, &out->still);
    }
end:
    return status;
}

static int encode_sheet(void *user, size_t index, int worker)
{
    show *s = user;
    sheet *out = &s->sheet[index / 3][index % 3];
    (void)worker;
    return clv_png_encode(&out->picture, &out->png, &out->bytes);
}

/* Slices are drawn several at a time, as sheets differ in their size. */
static int draw_sheets(show *s)
{
    int status = CLVOX_OK;
    const int count = 3 * s->viewer->layers;
    s->slices = 0;
    for (int k = 0; k < 3; k++)
        s->slices = s->plane[k].count > s->slices ? s->plane[k].count : s->slices;
    for (int i = 0; i < count; i++)
        CLV_TRY(begin_sheet(s, i));
    CLV_TRY(clvox_parallel((size_t)count * (size_t)s->slices, draw_slice, s));
    status = clvox_parallel((size_t)count, encode_sheet, s);
end:
    for (int i = 0; i < count; i++) {
        free(s->sheet[i / 3][i % 3].pixels);
        s->sheet[i / 3][i % 3].pixels = NULL;
    }
    return status;
}

static void free_sheets(show *s)
{
    for (int i = 0; i < s->viewer->layers; i++)
        for (int k = 0; k < 3; k++) {
            free(s->sheet[i][k].png);
            s->sheet[i][k].png = NULL;
            clv_raster_free(&s->sheet[i][k].still);
        }
}

/* ---- planes -------------------------------------------------------------- */

/* Places slices and chooses their size, a share of the room. */
static void cut(show *s, double share)
{
    clv_view *v = &s->view;
    double edge = v->spacing[0], longest = 0;
    for (int w = 0; w < 3; w++) {
        edge = fmin(edge, v->spacing[w]);
        longest = fmax(longest, (v->to[w] - v->from[w]) * v->spacing[w]);
    }
    v->scale = share * fmin(LONGEST / longest, fmax(1 / edge, SHORTEST / longest));
    for (int i = 0; i < 3; i++) {
        plane *p = &s->plane[i];
        p->panel = clv_view_panel(v, i);
        const int w = p->panel.normal, most = (int)fmax(4, SLICES * share);
        const int low = (int)ceil(v->from[w]), high = (int)floor(v->to[w]);
        p->step = (high - low) / most + 1;
        p->start = (v->cut[w] - low) / p->step;
        p->first = v->cut[w] - p->start * p->step;
        p->count = (high - p->first) / p->step + 1;
        p->columns = (int)ceil(sqrt((double)p->count * p->panel.height / p->panel.width));
        p->columns = p->columns < p->count ? p->columns : p->count;
    }
}

static int draw_all(show *s, size_t bytes)
{
    int status = CLVOX_OK;
    double share = 1;
    for (int attempt = 0;; attempt++) {
        size_t sum = 0;
        cut(s, share);
        CLV_TRY(draw_sheets(s));
        for (int i = 0; i < s->viewer->layers; i++)
            for (int k = 0; k < 3; k++)
                sum += s->sheet[i][k].bytes;
        if (sum * 4 / 3 <= bytes || attempt == 4)
            break;
        share *= 0.97 * cbrt((double)bytes / ((double)sum * 4 / 3));
        free_sheets(s);
    }
end:
    return status;
}

/* ---- the element --------------------------------------------------------- */

static void put_number(clv_text *to, double value)
{
    clv_text_add(to, "%.6g", value);
}

static void put_planes(clv_text *to, const show *s)
{
    static const char *const names[3] = {"Axial", "Coronal", "Sagittal"};
    for (int i = 0; i < 3; i++) {
        const plane *p = &s->plane[i];
        const int w = p->panel.normal;
        const clv_view *v = &s->view;
        double ras[2][3];
        for (int k = 0; k < 2; k++) {
            clv_view at = *v;
            at.cut[w] = p->first + k * p->step;
            clv_view_place(&at, &s->volume[0]->grid, &p->panel, p->panel.width / 2, p->panel.height / 2,
                           ras[k]);
        }
        clv_text_add(to,
                 "%s{\"name\":\"%s\",\"width\":%d,\"height\":%d,\"count\":%d,\"columns\":%d,\"start\":%d,",
                 i ? "," : "", names[i], p->panel.width, p->panel.height, p->count, p->columns, p->start);
        clv_text_add(to, "\"normal\":%d,\"across\":%d,\"down\":%d,\"mm\":[", w, p->panel.across,
                     p->panel.down);
        put_number(to, ras[0][w]);
        clv_text_put(to, ",");
        put_number(to, ras[1][w] - ras[0][w]);
        /* Along R, A or S from 0 to 1 of what is shown: where the first slice is, and the next. */
        clv_text_put(to, "],\"share\":[");
        put_number(to, (p->first - v->from[w]) / (v->to[w] - v->from[w]));
        clv_text_put(to, ",");
        put_number(to, p->step / (v->to[w] - v->from[w]));
        clv_text_put(to, "]}");
    }
}

static void put_layers(clv_text *to, const show *s)
{
    static const char *const looks[] = {"image", "image", "outlines", "outlines", "signed"};
    for (int i = 0; i < s->viewer->layers; i++) {
        const clvox_report_layer *layer = &s->viewer->layer[i];
        clv_text_put(to, i ? ",{\"name\":" : "{\"name\":");
        clv_text_put_json(to, layer->name);
        clv_text_add(to, ",\"look\":\"%s\",\"hidden\":%s", looks[layer->look],
                     layer->hidden ? "true" : "false");
        if (layer->look == CLVOX_REPORT_SIGNED) {
            clv_text_add(to, ",\"range\":%g,\"threshold\":%g,\"colors\":[", s->range[i],
                         fmin(layer->threshold, s->range[i]));
            for (int k = 0; k < SIGNED_COLORS; k++) {
                clv_color c = clv_color_diverging(2.0 * k / (SIGNED_COLORS - 1) - 1);
                clv_text_add(to, "%s\"#%02x%02x%02x\"", k ? "," : "", c.r, c.g, c.b);
            }
            clv_text_put(to, "]");
        }
        clv_text_put(to, ",\"sheets\":[");
        for (int k = 0; k < 3; k++) {
            clv_text_put(to, k ? ",\"" : "\"");
            clv_text_put_base64(to, s->sheet[i][k].png, s->sheet[i][k].bytes);
            clv_text_put(to, "\"");
        }
        clv_text_put(to, "]}");
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

/* For paper and where there is no script: a row for each image, and one for the first image under all that
 * is laid over images. */
static int put_still(clv_text *to, const show *s)
{
    enum { GAP = 4 };
    int status = CLVOX_OK, rows = 0, width = 0, height = 0, top = 0, overlays = 0;
    clv_raster raster = {.rgb = NULL};
    uint8_t *png = NULL;
    size_t bytes;
    for (int i = 0; i < s->viewer->layers; i++)
        is_image(&s->viewer->layer[i]) ? rows++ : overlays++;
    for (int k = 0; k < 3; k++) {
        width += s->plane[k].panel.width + (k > 0) * GAP;
        height = s->plane[k].panel.height > height ? s->plane[k].panel.height : height;
    }
    rows += overlays > 0;
    CLV_TRY(clv_raster_create(&raster, width, rows * (height + GAP) - GAP, (clv_color){0, 0, 0}));
    clv_text_put(to, "<figure class=\"still\"><img alt=\"");
    for (int row = 0, i = 0; row < rows; row++, top += height + GAP) {
        const bool last = overlays && row == rows - 1;
        while (!last && !is_image(&s->viewer->layer[i]))
            i++;
        clv_text_put(to, row ? "; " : "");
        clv_text_put_html(to, s->viewer->layer[last ? 0 : i].name);
        for (int k = 0, left = 0; k < 3; left += s->plane[k++].panel.width + GAP) {
            const int middle = top + (height - s->plane[k].panel.height) / 2;
            lay(&raster, left, middle, &s->sheet[last ? 0 : i][k].still);
            for (int look = CLVOX_REPORT_SIGNED; last && look >= CLVOX_REPORT_OUTLINES; look--)
                for (int o = 0; o < s->viewer->layers; o++)
                    if ((int)s->viewer->layer[o].look == look)
                        lay(&raster, left, middle, &s->sheet[o][k].still);
        }
        i += !last;
    }
    clv_text_put(to, overlays ? " under what is laid over it" : "");
    clv_text_put(to, "\" src=\"data:image/png;base64,");
    CLV_TRY(clv_png_encode(
        &(clv_png){.width = raster.width, .height = raster.height, .pixels = raster.rgb, .rgb = 1}, &png,
        &bytes));
    clv_text_put_base64(to, png, bytes);
    clv_text_put(to, "\"><figcaption>Rows from above: ");
    for (int i = 0, any = 0; i < s->viewer->layers; i++)
        if (is_image(&s->viewer->layer[i])) {
            clv_text_put(to, any++ ? ", " : "");
            clv_text_put_html(to, s->viewer->layer[i].name);
        }
    for (int i = 0, any = 0; i < s->viewer->layers; i++)
        if (!is_image(&s->viewer->layer[i])) {
            clv_text_put(to, any++ ? " and " : ", ");
            clv_text_put_html(to, s->viewer->layer[i].name);
        }
    if (overlays) {
        clv_text_put(to, " on ");
        clv_text_put_html(to, s->viewer->layer[0].name);
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
    double largest = 0;
    for (size_t i = 0; i < voxels; i++)
        if (isfinite(volume->data[i]) && (!masked || mask->data[i] > 0)) {
            if (i % stride == 0)
                clv_reach_add(&reach, volume->data[i]);
            largest = fmax(largest, fabs(volume->data[i]));
        }
    if (threshold > 0) /* what matters are the few largest */
        return fmax(ceil(fmax(largest, threshold)), 1);
    return clv_reach_end(&reach);
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
    }
    clv_view_orient(&s->volume[0]->grid, &s->view);
    clv_picture_frame(&s->picture[0], mask, LONGEST, &s->view);
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

int clv_viewer_put(clv_text *to, const clv_viewer *viewer, size_t bytes)
{
    int status = CLVOX_OK;
    show *s = calloc(1, sizeof *s);
    if (!s)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory while drawing");
    s->viewer = viewer;
    CLV_TRY(open_all(s));
    CLV_TRY(draw_all(s, bytes));
    clv_text_put(to, "<div class=\"viewer\">\n<script type=\"application/json\">{\"planes\":[");
    put_planes(to, s);
    clv_text_put(to, "],\"layers\":[");
    put_layers(to, s);
    clv_text_put(to, "]}</script>\n");
    CLV_TRY(put_still(to, s));
    clv_text_put(to, "\n</div>\n");
end:
    free_sheets(s);
    for (int i = 0; i <= viewer->layers; i++)
        clvox_volume_destroy(&s->own[i]);
    free(s);
    return status;
}
