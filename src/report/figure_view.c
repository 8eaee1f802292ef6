/* SPDX-License-Identifier: Apache-2.0 */
#include "report/figure_view.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/matrix.h"
#include "io/volume/orientation.h"

void clv_view_orient(const clvox_grid *grid, clv_view *v)
{
    double spacing[3];
    clv_orientation o;
    clvox_grid_spacing(grid, spacing);
    clv_orientation_of(grid, &o);
    for (int w = 0; w < 3; w++) {
        v->axis[w] = o.axis[w];
        v->spacing[w] = spacing[v->axis[w]];
        v->flipped[w] = o.flipped[w];
    }
}

clv_panel clv_view_panel(const clv_view *v, int number)
{
    static const int planes[3][3] = {{0, 1, 2}, {0, 2, 1}, {1, 2, 0}};
    int a = planes[number][0], d = planes[number][1];
    clv_panel p = {.across = a, .down = d, .normal = planes[number][2]};
    p.width = (int)lround((v->to[a] - v->from[a]) * v->spacing[a] * v->scale);
    p.height = (int)lround((v->to[d] - v->from[d]) * v->spacing[d] * v->scale);
    p.width = p.width > 4 ? p.width : 4;
    p.height = p.height > 4 ? p.height : 4;
    return p;
}

void clv_view_voxel(const clv_view *v, const clv_panel *p, int x, int y, double voxel[3])
{
    double fraction[3] = {0, 0, 0};
    fraction[p->across] = 1 - (x + 0.5) / p->width;
    fraction[p->down] = 1 - (y + 0.5) / p->height;
    for (int w = 0; w < 3; w++) {
        double f = v->flipped[w] ? 1 - fraction[w] : fraction[w];
        voxel[v->axis[w]] = w == p->normal ? v->cut[w] : v->from[w] + f * (v->to[w] - v->from[w]);
    }
}

void clv_view_place(const clv_view *v, const clvox_grid *grid, const clv_panel *p, int x, int y,
                    double ras[3])
{
    double voxel[3];
    clv_view_voxel(v, p, x, y, voxel);
    clv_matrix_apply(grid->to_ras, voxel, ras);
}

static void letter(clv_raster *raster, int x, int y, const char *text)
{
    static const clv_color black = {0, 0, 0}, white = {235, 235, 235};
    clv_raster_text(raster, x + 1, y + 1, 2, black, text);
    clv_raster_text(raster, x, y, 2, white, text);
}

void clv_view_annotate(clv_raster *raster, const clv_view *v, const clvox_grid *grid, const clv_panel *p,
                       int left, int top, bool where)
{
    static const char *const sides[3][2] = {{"R", "L"}, {"A", "P"}, {"S", "I"}};
    if (p->width < 60 || p->height < 60)
        return;
    letter(raster, left + 4, top + p->height / 2 - 7, sides[p->across][0]);
    letter(raster, left + p->width - 15, top + p->height / 2 - 7, sides[p->across][1]);
    if (where) {
        double ras[3];
        char text[48];
        clv_view_place(v, grid, p, p->width / 2, p->height / 2, ras);
        snprintf(text, sizeof text, "%c %.0f mm", "xyz"[p->normal], ras[p->normal]);
        letter(raster, left + 4, top + p->height - 18, text);
    }
}
