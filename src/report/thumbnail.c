/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "clvox/report.h"
#include "io/png.h"
#include "report/picture.h"
#include "base/text.h"

enum { LONGEST = 110, GREYS = 64 };
static const uint8_t edge_color[4] = {255, 190, 40, 255};

/* Parts of a thumbnail. */
typedef struct parts {
    clvox_volume *own[3];
    clv_picture shown, edges, mask;
    clv_view view;
    const clvox_grid *grid; /* that the view cuts */
} parts;

static void sample_panel(const clv_picture *of, const parts *p, const clv_panel *panel, double *to)
{
    for (int y = 0; y < panel->height; y++)
        for (int x = 0; x < panel->width; x++) {
            double ras[3];
            clv_view_place(&p->view, p->grid, panel, x, y, ras);
            *to++ = clv_picture_sample(of, ras);
        }
}

static int draw_panel(const parts *p, const clv_panel *panel, uint8_t *to, size_t stride)
{
    int status = CLVOX_OK;
    const int w = panel->width, h = panel->height;
    bool *edge = NULL;
    double *values = malloc((size_t)w * h * sizeof *values);
    if (!values)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory while drawing");
    sample_panel(&p->shown, p, panel, values);
    for (int i = 0; i < w * h; i++) {
        double grey = clv_picture_grey(&p->shown, values[i]);
        to[i / w * stride + i % w] = (uint8_t)((grey > 0 ? grey < 1 ? grey : 1 : 0) * (GREYS - 1) + 0.5);
    }
    if (p->edges.volume) {
        sample_panel(&p->edges, p, panel, values);
        CLV_TRY(clv_picture_edges(&p->edges, values, w, h, &edge));
        for (int i = 0; i < w * h; i++)
            if (edge[i])
                to[i / w * stride + i % w] = GREYS;
    }
end:
    free(edge);
    free(values);
    return status;
}

int clvox_report_thumbnail(const clvox_volume *shown, const clvox_volume *edges, const clvox_volume *mask,
                           char **out)
{
    CLV_GIVEN(shown, out);
    int status = CLVOX_OK, width = 0, height = 0;
    parts p = {.own = {NULL}};
    clv_panel panel[3];
    uint8_t colors[GREYS + 1][4], *pixels = NULL, *png = NULL;
    size_t bytes;
    clv_text text = {.data = NULL};
    *out = NULL;
    CLV_TRY(clv_picture_open_upright(&p.shown, shown, &p.own[0]));
    CLV_TRY(clv_picture_open_upright(&p.edges, edges, &p.own[1]));
    CLV_TRY(clv_picture_open_upright(&p.mask, mask, &p.own[2]));
    const clv_picture *head = edges ? &p.edges : &p.shown, *inside = mask ? &p.mask : NULL;
    CLV_TRY(clv_picture_window(&p.shown, inside));
    if (edges)
        CLV_TRY(clv_picture_window(&p.edges, inside));
    p.grid = &head->volume->grid;
    clv_view_orient(p.grid, &p.view);
    clv_picture_frame(head, inside, LONGEST, &p.view);
    for (int k = 0; k < 3; k++) {
        panel[k] = clv_view_panel(&p.view, k);
        width += panel[k].width + (k > 0);
        height = panel[k].height > height ? panel[k].height : height;
    }
    pixels = calloc((size_t)width, (size_t)height);
    if (!pixels)
        CLV_TRY(clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory while drawing"));
    for (int k = 0, left = 0; k < 3; left += panel[k++].width + 1)
        CLV_TRY(draw_panel(&p, &panel[k], pixels + (size_t)((height - panel[k].height) / 2) * width + left,
                           (size_t)width));
    for (int i = 0; i < GREYS; i++) {
        clv_color c = clv_color_grey((double)i / (GREYS - 1));
        memcpy(colors[i], (uint8_t[]){c.r, c.g, c.b, 255}, 4);
    }
    memcpy(colors[GREYS], edge_color, 4);
    CLV_TRY(clv_png_encode(&(clv_png){.width = width,
                                      .height = height,
                                      .pixels = pixels,
                                      .colors = (const uint8_t(*)[4])colors,
                                      .color_count = GREYS + 1},
                           &png, &bytes));
    clv_text_put(&text, "data:image/png;base64,");
    clv_text_put_base64(&text, png, bytes);
    if (text.failed)
        CLV_TRY(clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory while drawing"));
    *out = text.data;
    text.data = NULL;
end:
    for (int i = 0; i < 3; i++)
        clvox_volume_destroy(&p.own[i]);
    free(text.data);
    free(png);
    free(pixels);
    return status;
}
