/* SPDX-License-Identifier: Apache-2.0 */
#include "report/figure.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clvox/threads.h"
#include "base/status.h"
#include "report/figure_view.h"
#include "report/picture.h"

enum {
    LONGEST = 280, /* pixels of the longest side of a panel */
    GAP = 8,
    HEAD = 26,      /* band of the column titles */
    FOOT = 22,      /* band of the remarks */
    BAR = 74,       /* the colour bar with its numbers */
    NARROWEST = 190 /* a column that still holds its title */
};
static const clv_color ground = {22, 22, 24}, white = {235, 235, 235},
                       dim = {150, 150, 155}, edge_color = {255, 190, 40};

enum { FIXED, WARPED, OUTLINES, CHECKER, JACOBIAN, COLUMNS };

/* Content of a panel, pixel by pixel: the values of each image, NAN outside. */
enum { OF_FIXED, OF_WARPED, OF_JACOBIAN, IMAGES };

typedef struct scene {
    clv_picture fixed, warped, labels, jacobian, mask;
    bool has_labels, has_jacobian, has_mask;
    clv_view view;
    clv_panel panels[3];
    double *values[3][IMAGES]; /* of each panel */
    double range;              /* of the log-Jacobian's colours */
} scene;

/* The colour of one pixel; values: of the panel's images there. */
typedef clv_color paint(const scene *s, const double values[IMAGES], int x, int y);

static clv_color paint_fixed(const scene *s, const double values[IMAGES], int x, int y)
{
    (void)x, (void)y;
    return clv_color_grey(clv_picture_grey(&s->fixed, values[OF_FIXED]));
}

static clv_color paint_warped(const scene *s, const double values[IMAGES], int x, int y)
{
    (void)x, (void)y;
    return clv_color_grey(clv_picture_grey(&s->warped, values[OF_WARPED]));
}

static clv_color paint_checker(const scene *s, const double values[IMAGES], int x, int y)
{
    int square = (int)fmax(20 * s->view.scale, 4);
    return (x / square + y / square) % 2 ? paint_warped(s, values, x, y) : paint_fixed(s, values, x, y);
}

/* NAN where the log-Jacobian is not shown. */
static double jacobian_at(const scene *s, const double ras[3])
{
    if (s->has_mask && !(clv_picture_sample(&s->mask, ras) > 0.5))
        return NAN;
    double value = clv_picture_sample(&s->jacobian, ras);
    return isfinite(value) ? value : NAN;
}

static clv_color paint_jacobian(const scene *s, const double values[IMAGES], int x, int y)
{
    (void)x, (void)y;
    if (isnan(values[OF_JACOBIAN]))
        return clv_color_grey(0.4 * fmin(clv_picture_grey(&s->fixed, values[OF_FIXED]), 1));
    return clv_color_diverging(values[OF_JACOBIAN] / s->range);
}

/* The image number index % IMAGES in the panel number index / IMAGES. */
static int look(void *user, size_t index, int worker)
{
    scene *s = user;
    int image = (int)(index % IMAGES);
    const clv_panel *p = &s->panels[index / IMAGES];
    double *to = s->values[index / IMAGES][image];
    (void)worker;
    for (int y = 0; y < p->height; y++)
        for (int x = 0; x < p->width; x++) {
            double ras[3];
            clv_view_place(&s->view, &s->fixed.volume->grid, p, x, y, ras);
            to[(size_t)y * p->width + x] = image == OF_FIXED    ? clv_picture_sample(&s->fixed, ras)
                                           : image == OF_WARPED ? clv_picture_sample(&s->warped, ras)
                                           : s->has_jacobian    ? jacobian_at(s, ras)
                                                                : NAN;
        }
    return CLVOX_OK;
}

static int look_at_all(scene *s)
{
    for (int i = 0; i < 3; i++)
        for (int image = 0; image < IMAGES; image++) {
            s->values[i][image] =
                malloc((size_t)s->panels[i].width * s->panels[i].height * sizeof *s->values[i][image]);
            if (!s->values[i][image])
                return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory while drawing");
        }
    return clvox_parallel(3 * IMAGES, look, s);
}

/* (left, top) is the corner of the panel. */
static void draw(clv_raster *raster, const scene *s, int panel, int left, int top, paint *what)
{
    const clv_panel *p = &s->panels[panel];
    for (int y = 0; y < p->height; y++)
        for (int x = 0; x < p->width; x++) {
            size_t i = (size_t)y * p->width + x;
            double values[IMAGES];
            for (int image = 0; image < IMAGES; image++)
                values[image] = s->values[panel][image][i];
            clv_raster_set(raster, left + x, top + y, what(s, values, x, y));
        }
}

/* A pixel is on a contour when its label is not that of the pixel right of it
 * or below; it takes the colour of the one that has a name. */
static int draw_labels(clv_raster *raster, const scene *s, const clv_panel *p, int left, int top)
{
    size_t stride = p->width + 1;
    int *label = malloc(stride * (p->height + 1) * sizeof *label);
    if (!label)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory while drawing");
    for (int y = 0; y <= p->height; y++)
        for (int x = 0; x <= p->width; x++) {
            double ras[3];
            clv_view_place(&s->view, &s->fixed.volume->grid, p, x, y, ras);
            label[y * stride + x] = clv_picture_label(&s->labels, ras);
        }
    for (int y = 0; y < p->height; y++)
        for (int x = 0; x < p->width; x++) {
            int here = label[y * stride + x];
            int right = label[y * stride + x + 1], below = label[(y + 1) * stride + x];
            if (here != right || here != below)
                clv_raster_set(raster, left + x, top + y,
                               clv_color_of_label(here ? here : right ? right : below));
        }
    free(label);
    return CLVOX_OK;
}

/* Without labels: the edges of the warped image. */
static int draw_edges(clv_raster *raster, const scene *s, int panel, int left, int top)
{
    int w = s->panels[panel].width, h = s->panels[panel].height;
    bool *edge = NULL;
    int status = clv_picture_edges(&s->warped, s->values[panel][OF_WARPED], w, h, &edge);
    for (int i = 0; status >= 0 && i < w * h; i++)
        if (edge[i])
            clv_raster_set(raster, left + i % w, top + i / w, edge_color);
    free(edge);
    return status;
}

/* The colours reach as far as the values shown do. */
static double jacobian_range(const scene *s)
{
    clv_reach reach = {.count = 0};
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < s->panels[i].width * s->panels[i].height; k++)
            clv_reach_add(&reach, s->values[i][OF_JACOBIAN][k]);
    return clv_reach_end(&reach);
}

static void draw_bar(clv_raster *raster, double range, int left, int top, int height)
{
    int width = 16;
    for (int y = 0; y < height; y++)
        clv_raster_fill(raster, left, top + y, width, 1,
                        clv_color_diverging(1 - 2 * (y + 0.5) / height));
    for (int tick = -2; tick <= 2; tick++) {
        char text[16];
        int y = top + (int)lround((height - 1) * (0.5 - tick / 4.0));
        snprintf(text, sizeof text, tick ? "%+.3g" : "%.0f", tick * range / 2);
        clv_raster_fill(raster, left + width, y, 4, 1, white);
        clv_raster_text(raster, left + width + 7, y - 7, 2, white, text);
    }
}

/* Sources of a picture's pieces; each is one panel. */
typedef struct sheet {
    const scene *scene;
    clv_raster *out;
    int column; /* pixels */
} sheet;

static int draw_piece(void *user, size_t index, int worker)
{
    static paint *const paints[COLUMNS] = {paint_fixed, paint_warped, paint_fixed, paint_checker,
                                           paint_jacobian};
    const sheet *on = user;
    const scene *s = on->scene;
    int c = (int)(index / 3), row = (int)(index % 3), top = HEAD, status = CLVOX_OK;
    const clv_panel *p = &s->panels[row];
    int left = GAP + c * (on->column + GAP) + (on->column - p->width) / 2;
    (void)worker;
    for (int above = 0; above < row; above++)
        top += s->panels[above].height + GAP;
    draw(on->out, s, row, left, top, paints[c]);
    if (c == OUTLINES)
        status = s->has_labels ? draw_labels(on->out, s, p, left, top)
                               : draw_edges(on->out, s, row, left, top);
    clv_view_annotate(on->out, &s->view, &s->fixed.volume->grid, p, left, top, c == FIXED);
    return status;
}

static int compose(const scene *s, clv_raster *out)
{
    static const char *const titles[COLUMNS] = {"fixed", "moving, warped", "labels on fixed",
                                                "checkerboard", "log Jacobian"};
    int status = CLVOX_OK, count = s->has_jacobian ? COLUMNS : JACOBIAN, column = NARROWEST, height = HEAD;
    for (int i = 0; i < 3; i++) {
        column = s->panels[i].width > column ? s->panels[i].width : column;
        height += s->panels[i].height + GAP;
    }
    const char *remark = s->has_jacobian
                             ? "The patient's left is on the right. Red: larger in the moving image."
                             : "The patient's left is on the right.";
    int width = GAP + count * (column + GAP) + (s->has_jacobian ? BAR : 0);
    CLV_TRY(clv_raster_create(out, width, height + FOOT, ground));
    sheet whole = {s, out, column};
    CLV_TRY(clvox_parallel(3 * (size_t)count, draw_piece, &whole));
    for (int c = 0; c < count; c++) {
        const char *title = c == OUTLINES && !s->has_labels ? "edges on fixed" : titles[c];
        int left = GAP + c * (column + GAP);
        clv_raster_text(out, left + (column - clv_raster_text_width(2, title)) / 2, 6, 2, white, title);
    }
    if (s->has_jacobian)
        draw_bar(out, s->range, GAP + count * (column + GAP), HEAD + 8, height - HEAD - GAP - 16);
    int scale = clv_raster_text_width(2, remark) < width ? 2 : 1;
    clv_raster_text(out, GAP, height, scale, dim, remark);
end:
    if (status < 0)
        clv_raster_free(out);
    return status;
}

/* The window of the fixed image and how its grid is cut. */
static int cut(scene *s, const clvox_volume *fixed, const clvox_volume *mask)
{
    int status = CLVOX_OK;
    CLV_TRY(clv_picture_open(&s->fixed, fixed));
    if (mask)
        CLV_TRY(clv_picture_open(&s->mask, mask));
    CLV_TRY(clv_picture_window(&s->fixed, mask ? &s->mask : NULL));
    clv_view_orient(&fixed->grid, &s->view);
    clv_picture_frame(&s->fixed, mask ? &s->mask : NULL, LONGEST, &s->view);
end:
    return status;
}

int clv_figure_planes(const clvox_volume *fixed, const clvox_volume *mask, int at[3])
{
    scene s = {.has_mask = mask};
    const int status = cut(&s, fixed, mask);
    for (int w = 0; status >= 0 && w < 3; w++)
        at[s.view.axis[w]] = s.view.cut[w];
    return status;
}

int clv_figure_registration(const clvox_volume *fixed, const clvox_volume *warped,
                            const clvox_volume *labels, const clvox_volume *log_jacobian,
                            const clvox_volume *mask, clv_raster *out)
{
    int status = CLVOX_OK;
    scene s = {.has_labels = labels, .has_jacobian = log_jacobian, .has_mask = mask};
    memset(out, 0, sizeof *out);
    CLV_TRY(cut(&s, fixed, mask));
    CLV_TRY(clv_picture_open(&s.warped, warped));
    if (labels)
        CLV_TRY(clv_picture_open(&s.labels, labels));
    if (log_jacobian)
        CLV_TRY(clv_picture_open(&s.jacobian, log_jacobian));
    CLV_TRY(clv_picture_window(&s.warped, mask ? &s.mask : NULL));
    for (int i = 0; i < 3; i++)
        s.panels[i] = clv_view_panel(&s.view, i);
    CLV_TRY(look_at_all(&s));
    if (log_jacobian)
        s.range = jacobian_range(&s);
    CLV_TRY(compose(&s, out));
end:
    for (int i = 0; i < 3; i++)
        for (int image = 0; image < IMAGES; image++)
            free(s.values[i][image]);
    return status;
}
