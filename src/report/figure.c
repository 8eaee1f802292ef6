/* SPDX-License-Identifier: Apache-2.0 */
#include "report/figure.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/matrix.h"
#include "clvox/threads.h"
#include "base/status.h"
#include "report/figure_view.h"

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

/* A volume with the map from world to its voxels, and its grey window. */
typedef struct picture {
    const clvox_volume *volume;
    double from_ras[4][4];
    double low, high, threshold;
} picture;

static int by_value(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

static int picture_open(picture *p, const clvox_volume *volume)
{
    p->volume = volume;
    p->low = p->threshold = 0;
    p->high = 1;
    int status = clv_matrix_invert(volume->grid.to_ras, p->from_ras);
    return status < 0 ? clvox_fail_in(status, "the figure") : status;
}

static double grey(const picture *p, double value)
{
    return isfinite(value) ? (value - p->low) / (p->high - p->low) : 0;
}

/* The voxel below x and the weight of the one above, on an axis of n voxels;
 * false beyond the outer half voxels. */
static bool locate(double x, int n, int *low, int *high, double *weight)
{
    if (!(x >= -0.5 && x <= n - 0.5))
        return false;
    x = fmin(fmax(x, 0), n - 1);
    *low = (int)x;
    *high = *low + 1 < n ? *low + 1 : *low;
    *weight = x - *low;
    return true;
}

/* The eight voxels round a world position with their weights. */
static bool corners(const picture *p, const double ras[3], float values[8], double weights[8])
{
    const int *n = p->volume->grid.size;
    int at[3][2];
    double w[3], voxel[3];
    clv_matrix_apply(CLV_MATRIX(p->from_ras), ras, voxel);
    for (int a = 0; a < 3; a++) {
        /* A plane of voxel centres must not be missed by the last bit. */
        if (fabs(voxel[a] - nearbyint(voxel[a])) < 1e-6)
            voxel[a] = nearbyint(voxel[a]);
        if (!locate(voxel[a], n[a], &at[a][0], &at[a][1], &w[a]))
            return false;
    }
    for (int c = 0; c < 8; c++) {
        size_t x = at[0][c & 1], y = at[1][c >> 1 & 1], z = at[2][c >> 2];
        values[c] = p->volume->data[(z * n[1] + y) * n[0] + x];
        weights[c] = (c & 1 ? w[0] : 1 - w[0]) * (c & 2 ? w[1] : 1 - w[1]) * (c & 4 ? w[2] : 1 - w[2]);
    }
    return true;
}

/* NAN outside. */
static double sample(const picture *p, const double ras[3])
{
    float values[8];
    double weights[8], sum = 0;
    if (!corners(p, ras, values, weights))
        return NAN;
    for (int c = 0; c < 8; c++)
        if (weights[c] > 0)
            sum += weights[c] * values[c];
    return sum;
}

/* The label with the largest weight round the position, 0 outside. */
static int sample_label(const picture *p, const double ras[3])
{
    float values[8];
    double weights[8], most = 0;
    int label = 0;
    if (!corners(p, ras, values, weights))
        return 0;
    for (int c = 0; c < 8; c++) {
        double votes = 0;
        for (int d = 0; d < 8; d++)
            votes += values[d] == values[c] ? weights[d] : 0;
        if (votes > most + 1e-9 && fabs(values[c]) < 1e9) {
            most = votes;
            label = (int)nearbyint(values[c]);
        }
    }
    return label;
}

/* Whether voxel number i lies in the mask; everything does where there is none. */
static bool inside(const clvox_grid *grid, size_t i, const picture *mask)
{
    size_t nx = grid->size[0], ny = grid->size[1];
    double voxel[3] = {i % nx, i / nx % ny, i / nx / ny}, ras[3];
    if (!mask)
        return true;
    clv_matrix_apply(grid->to_ras, voxel, ras);
    return sample(mask, ras) > 0.5;
}

/* The grey window: from the darkest to 99.5 percent of what is brighter than
 * the mean, which leaves out the air round a head, inside the mask if there is
 * one, as skin and fat are brighter than a brain. */
static int choose_window(picture *p, const picture *mask)
{
    int status = CLVOX_OK;
    float *head = NULL;
    const clvox_volume *volume = p->volume;
    size_t voxels = clvox_grid_voxels(&volume->grid), finite = 0, kept = 0;
    size_t stride = 1 + voxels / 150000;
    double sum = 0;
    for (size_t i = 0; i < voxels; i += stride)
        if (isfinite(volume->data[i])) {
            sum += volume->data[i];
            finite++;
        }
    if (!finite)
        goto end;
    p->threshold = sum / finite;
    head = malloc(finite * sizeof *head);
    if (!head)
        CLV_TRY(clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory while drawing"));
    for (size_t i = 0; i < voxels; i += stride)
        if (isfinite(volume->data[i]) && volume->data[i] > p->threshold && inside(&volume->grid, i, mask))
            head[kept++] = volume->data[i];
    for (size_t i = 0; i < voxels && !kept && mask; i += stride)
        if (isfinite(volume->data[i]) && volume->data[i] > p->threshold)
            head[kept++] = volume->data[i];
    p->low = p->threshold - 1;
    p->high = p->threshold + 1;
    if (kept) {
        qsort(head, kept, sizeof *head, by_value);
        /* The air is black: the window starts below the darkest of the head. */
        double bright = head[(size_t)(0.995 * (kept - 1))], dark = head[(size_t)(0.01 * (kept - 1))];
        p->low = dark - 0.5 * (bright - dark);
        if (p->low < 0 && p->threshold > 0)
            p->low = 0;
        p->high = bright;
        if (!(p->high > p->low))
            p->low = p->high - 1;
    }
end:
    free(head);
    return status;
}

/* Frames the head (fixed above its mean) with a margin, and cuts through the
 * centre of the mask, or of the head. */
static void frame(const picture *fixed, const picture *mask, clv_view *v)
{
    const clvox_grid *grid = &fixed->volume->grid;
    const int *n = grid->size;
    int low[3] = {n[0], n[1], n[2]}, high[3] = {-1, -1, -1};
    double centre[3] = {0, 0, 0}, weight = 0, head_centre[3] = {0, 0, 0}, head_weight = 0;
    /* Every voxel of a small grid; of a large one as many as tell the same. */
    int step = (int)ceil(cbrt(clvox_grid_voxels(grid) / 500000.0));
    for (int z = 0; z < n[2]; z += step)
        for (int y = 0; y < n[1]; y += step)
            for (int x = 0; x < n[0]; x += step) {
                int at[3] = {x, y, z};
                float value = fixed->volume->data[((size_t)z * n[1] + y) * n[0] + x];
                if (!(isfinite(value) && value > fixed->threshold))
                    continue;
                bool brain = mask && inside(grid, ((size_t)z * n[1] + y) * n[0] + x, mask);
                head_weight += 1;
                weight += brain;
                for (int a = 0; a < 3; a++) {
                    low[a] = at[a] < low[a] ? at[a] : low[a];
                    high[a] = at[a] > high[a] ? at[a] : high[a];
                    centre[a] += brain * at[a];
                    head_centre[a] += at[a];
                }
            }
    double longest = 0;
    for (int w = 0; w < 3; w++) {
        int a = v->axis[w];
        double margin = 6 / v->spacing[w];
        double middle = weight > 0 ? centre[a] / weight
                        : head_weight > 0 ? head_centre[a] / head_weight : (n[a] - 1) / 2.0;
        v->cut[w] = (int)nearbyint(middle);
        v->from[w] = high[a] < 0 ? -0.5 : fmax(low[a] - margin, -0.5);
        v->to[w] = high[a] < 0 ? n[a] - 0.5 : fmin(high[a] + margin, n[a] - 0.5);
        longest = fmax(longest, (v->to[w] - v->from[w]) * v->spacing[w]);
    }
    v->scale = LONGEST / longest;
}

enum { FIXED, WARPED, OUTLINES, CHECKER, JACOBIAN, COLUMNS };

/* What a panel shows, pixel by pixel: the values of each image, NAN outside. */
enum { OF_FIXED, OF_WARPED, OF_JACOBIAN, IMAGES };

typedef struct scene {
    picture fixed, warped, labels, jacobian, mask;
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
    return clv_color_grey(grey(&s->fixed, values[OF_FIXED]));
}

static clv_color paint_warped(const scene *s, const double values[IMAGES], int x, int y)
{
    (void)x, (void)y;
    return clv_color_grey(grey(&s->warped, values[OF_WARPED]));
}

static clv_color paint_checker(const scene *s, const double values[IMAGES], int x, int y)
{
    int square = (int)fmax(20 * s->view.scale, 4);
    return (x / square + y / square) % 2 ? paint_warped(s, values, x, y) : paint_fixed(s, values, x, y);
}

/* NAN where the log-Jacobian is not shown. */
static double jacobian_at(const scene *s, const double ras[3])
{
    if (s->has_mask && !(sample(&s->mask, ras) > 0.5))
        return NAN;
    double value = sample(&s->jacobian, ras);
    return isfinite(value) ? value : NAN;
}

static clv_color paint_jacobian(const scene *s, const double values[IMAGES], int x, int y)
{
    (void)x, (void)y;
    if (isnan(values[OF_JACOBIAN]))
        return clv_color_grey(0.4 * fmin(grey(&s->fixed, values[OF_FIXED]), 1));
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
            to[(size_t)y * p->width + x] = image == OF_FIXED    ? sample(&s->fixed, ras)
                                           : image == OF_WARPED ? sample(&s->warped, ras)
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
            label[y * stride + x] = sample_label(&s->labels, ras);
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

/* Without labels: where the warped image's slope is a maximum across the edge
 * and among the steepest eighth. */
static int draw_edges(clv_raster *raster, const scene *s, int panel, int left, int top)
{
    int status = CLVOX_OK, w = s->panels[panel].width, h = s->panels[panel].height;
    size_t count = (size_t)w * h, kept = 0;
    float *value = calloc(4 * count, sizeof *value);
    if (!value)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory while drawing");
    float *slope = value + count, *direction = slope + count, *sorted = direction + count;
    for (size_t i = 0; i < count; i++)
        value[i] = (float)fmin(fmax(grey(&s->warped, s->values[panel][OF_WARPED][i]), 0), 1);
    for (int y = 2; y < h - 2; y++)
        for (int x = 2; x < w - 2; x++) {
            double dx = 0, dy = 0;
            for (int k = -2; k <= 2; k++) {
                const float *across = value + (y + k) * w + x, *down = value + y * w + x + k;
                dx += across[1] + across[2] - across[-1] - across[-2];
                dy += down[w] + down[2 * w] - down[-w] - down[-2 * w];
            }
            slope[y * w + x] = (float)hypot(dx, dy);
            direction[y * w + x] = (float)atan2(dy, dx);
            if (slope[y * w + x] > 0.2f)
                sorted[kept++] = slope[y * w + x];
        }
    qsort(sorted, kept, sizeof *sorted, by_value);
    float steep = kept ? sorted[(size_t)(0.6 * (kept - 1))] : 0;
    for (int y = 2; y < h - 2 && kept; y++)
        for (int x = 2; x < w - 2; x++) {
            float here = slope[y * w + x];
            int dx = (int)lround(cos(direction[y * w + x])), dy = (int)lround(sin(direction[y * w + x]));
            if (here >= steep && here >= slope[(y + dy) * w + x + dx] && here > slope[(y - dy) * w + x - dx])
                clv_raster_set(raster, left + x, top + y, edge_color);
        }
    free(value);
    return status;
}

/* The colours reach as far as 99 percent of the values shown, rounded up. */
static double jacobian_range(const scene *s)
{
    static const double steps[] = {0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.6, 0.8, 1, 1.5, 2, 3, 4};
    enum { BINS = 4096 };
    size_t histogram[BINS] = {0}, total = 0, sum = 0;
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < s->panels[i].width * s->panels[i].height; k++) {
            double value = fabs(s->values[i][OF_JACOBIAN][k]);
            if (isnan(value))
                continue;
            histogram[value >= 4 ? BINS - 1 : (int)(value * BINS / 4)]++;
            total++;
        }
    double bound = 0;
    for (int b = 0; b < BINS && sum < 0.99 * total; b++) {
        sum += histogram[b];
        bound = 4.0 * (b + 1) / BINS;
    }
    int count = sizeof steps / sizeof *steps, k = 0;
    while (k < count - 1 && steps[k] < bound)
        k++;
    return steps[k];
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

/* What the pieces of a picture are drawn from; each is one panel. */
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

int clv_figure_registration(const clvox_volume *fixed, const clvox_volume *warped,
                            const clvox_volume *labels, const clvox_volume *log_jacobian,
                            const clvox_volume *mask, clv_raster *out)
{
    int status = CLVOX_OK;
    scene s = {.has_labels = labels, .has_jacobian = log_jacobian, .has_mask = mask};
    memset(out, 0, sizeof *out);
    CLV_TRY(picture_open(&s.fixed, fixed));
    CLV_TRY(picture_open(&s.warped, warped));
    if (labels)
        CLV_TRY(picture_open(&s.labels, labels));
    if (log_jacobian)
        CLV_TRY(picture_open(&s.jacobian, log_jacobian));
    if (mask)
        CLV_TRY(picture_open(&s.mask, mask));
    CLV_TRY(choose_window(&s.fixed, mask ? &s.mask : NULL));
    CLV_TRY(choose_window(&s.warped, mask ? &s.mask : NULL));
    clv_view_orient(&fixed->grid, &s.view);
    frame(&s.fixed, mask ? &s.mask : NULL, &s.view);
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
