/* SPDX-License-Identifier: Apache-2.0 */
/* The figure of a registration that NiReports shows: a mosaic of each image, the moving one over the fixed
 * one, which fades while the mouse is on it. */
#include <stdlib.h>

#include "base/status.h"
#include "base/text.h"
#include "clvox/command/page.h"
#include "clvox/files.h"
#include "io/png.h"
#include "report/picture.h"

enum { CUTS = 7, LONGEST = 140, GAP = 2 };

/* A row of cuts for each plane. */
typedef struct mosaic {
    clv_view view;
    const clvox_grid *grid;
    clv_panel panel[3];
    int top[3], width, height;
} mosaic;

static void lay_out(mosaic *m)
{
    for (int k = 0; k < 3; k++) {
        m->panel[k] = clv_view_panel(&m->view, k);
        const int width = CUTS * (m->panel[k].width + GAP) - GAP;
        m->width = width > m->width ? width : m->width;
        m->top[k] = m->height;
        m->height += m->panel[k].height + GAP;
    }
}

/* Cut number i of a plane: the cuts are spread over the head, without its ends. */
static void draw_cut(const mosaic *m, const clv_picture *p, int plane, int i, uint8_t *pixels)
{
    const clv_panel *panel = &m->panel[plane];
    const int n = panel->normal, row = CUTS * (panel->width + GAP) - GAP;
    clv_view view = m->view;
    uint8_t *to = pixels + (size_t)m->top[plane] * m->width + (m->width - row) / 2 + i * (panel->width + GAP);
    view.cut[n] = (int)(view.from[n] + (i + 1.0) / (CUTS + 1) * (view.to[n] - view.from[n]) + 0.5);
    for (int y = 0; y < panel->height; y++)
        for (int x = 0; x < panel->width; x++) {
            double ras[3];
            clv_view_place(&view, m->grid, panel, x, y, ras);
            const double grey = clv_picture_grey(p, clv_picture_sample(p, ras));
            to[(size_t)y * m->width + x] = (uint8_t)((grey > 0 ? grey < 1 ? grey : 1 : 0) * 255 + 0.5);
        }
}

/* Appends the mosaic of an image under its name. */
static int put_layer(clv_text *to, const mosaic *m, const clv_picture *p, const char *layer, const char *name)
{
    int status = CLVOX_OK;
    uint8_t *png = NULL, *pixels = calloc((size_t)m->width, (size_t)m->height);
    size_t bytes;
    if (!pixels)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory while drawing");
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < CUTS; i++)
            draw_cut(m, p, k, i, pixels);
    CLV_TRY(
        clv_png_encode(&(clv_png){.width = m->width, .height = m->height, .pixels = pixels}, &png, &bytes));
    clv_text_add(
        to, "<g class=\"%s-svg\">\n<image width=\"%d\" height=\"%d\" xlink:href=\"data:image/png;base64,",
        layer, m->width, m->height);
    clv_text_put_base64(to, png, bytes);
    clv_text_put(
        to, "\"/>\n<text x=\"4\" y=\"14\" font-family=\"sans-serif\" font-size=\"12\" fill=\"#ffbe28\">");
    clv_text_put_html(to, name);
    clv_text_put(to, "</text>\n</g>\n");
end:
    free(png);
    free(pixels);
    return status;
}

int clvox_page_flicker(const clvox_volume *fixed, const clvox_volume *warped, const char *path)
{
    CLV_GIVEN(fixed, warped, path);
    int status = CLVOX_OK;
    clvox_volume *own[2] = {NULL};
    clv_picture back, front;
    mosaic m = {.width = 0};
    clv_text text = {.data = NULL};
    CLV_TRY(clv_picture_open_upright(&back, fixed, &own[0]));
    CLV_TRY(clv_picture_open_upright(&front, warped, &own[1]));
    CLV_TRY(clv_picture_window(&back, NULL));
    CLV_TRY(clv_picture_window(&front, NULL));
    m.grid = &back.volume->grid;
    clv_view_orient(m.grid, &m.view);
    clv_picture_frame(&back, NULL, LONGEST, &m.view);
    lay_out(&m);
    clv_text_add(
        &text,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" xmlns:xlink=\"http://www.w3.org/1999/xlink\" "
        "version=\"1.1\" "
        "viewBox=\"0 0 %d %d\">\n<style type=\"text/css\">\n"
        "@keyframes clvox-flicker { 0%% { opacity: 1; } 100%% { opacity: 0; } }\n"
        ".foreground-svg { animation: 1s ease-in-out 0s alternate none infinite paused clvox-flicker; }\n"
        ".foreground-svg:hover { animation-play-state: running; }\n</style>\n"
        "<rect width=\"100%%\" height=\"100%%\"/>\n",
        m.width, m.height);
    CLV_TRY(put_layer(&text, &m, &back, "background", "fixed"));
    CLV_TRY(put_layer(&text, &m, &front, "foreground", "moving, warped (mouse over it: fixed)"));
    clv_text_put(&text, "</svg>\n");
    status = text.failed ? clvox_fail(CLVOX_ERROR_MEMORY, "%s: out of host memory while drawing", path)
                         : clvox_file_write(path, text.data, text.length);
end:
    free(text.data);
    for (int i = 0; i < 2; i++)
        clvox_volume_destroy(&own[i]);
    return status;
}
