/* SPDX-License-Identifier: Apache-2.0 */
#include "image/noise.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/select.h"
#include "base/status.h"
#include "clvox/threads.h"
#include "io/volume/labels.h"
#include "transform/field.h"

enum { MOST_PLACES = 400000, FEWEST = 50, ROUNDS = 8, LAST = CLV_MAGNITUDES - 1 };
static const double MOST_SIGNAL = 6;

const char *const clv_noise_words[] = {"auto", "gaussian", "rician", NULL};

bool clv_noise_rician(clvox_noise kind, const clvox_volume *volume)
{
    const size_t values = clvox_grid_voxels(&volume->grid) * (size_t)volume->frames;
    for (size_t i = 0; kind == CLVOX_NOISE_AUTO && i < values; i++)
        if (volume->data[i] < 0)
            return false;
    return kind != CLVOX_NOISE_GAUSSIAN;
}

int clv_noise_check(const clvox_volume *volume, const clvox_volume *mask, const clv_option_table *table,
                    const void *options)
{
    int status = CLVOX_OK;
    CLV_TRY(clv_labels_refuse(volume));
    if (mask && (mask->frames != 1 || !clvox_grid_equal(&mask->grid, &volume->grid)))
        return clvox_fail(CLVOX_ERROR_ARGUMENT,
                          "the mask is not on the grid of the image; resample it there");
    CLV_TRY(clv_options_check(table, options));
    CLV_TRY(clv_field_check(&volume->grid));
end:
    return status;
}

/* exp(-x) I_n(x) by its integral. */
static double bessel(int n, double x)
{
    enum { STEPS = 64 };
    double sum = 0;
    for (int k = 0; k < STEPS; k++) {
        double t = M_PI * (k + 0.5) / STEPS;
        sum += exp(x * (cos(t) - 1)) * cos(n * t);
    }
    return sum / STEPS;
}

void clv_magnitudes_make(clv_magnitudes *m)
{
    for (int k = 0; k <= LAST; k++) {
        double a = MOST_SIGNAL * k / LAST, x = a * a / 4;
        m->mean[k] = sqrt(M_PI / 2) * ((1 + 2 * x) * bessel(0, x) + 2 * x * bessel(1, x));
        m->deviation[k] = sqrt(2 + a * a - m->mean[k] * m->mean[k]);
    }
}

/* Position of the mean in the table, 0 to LAST. */
static double place_of(const clv_magnitudes *m, double mean)
{
    int k = 1;
    while (k < LAST && m->mean[k] < mean)
        k++;
    return k - 1 + fmin(1, fmax(0, (mean - m->mean[k - 1]) / (m->mean[k] - m->mean[k - 1])));
}

double clv_magnitudes_deviation(const clv_magnitudes *m, double mean)
{
    if (!(mean > m->mean[0]))
        return m->deviation[0];
    if (mean >= m->mean[LAST])
        return 1;
    const double at = place_of(m, mean), part = at - floor(at);
    const int k = (int)at;
    return part > 0 ? m->deviation[k] + part * (m->deviation[k + 1] - m->deviation[k]) : m->deviation[k];
}

double clv_magnitudes_signal(const clv_magnitudes *m, double mean)
{
    if (!(mean > m->mean[0]))
        return 0;
    if (mean >= m->mean[LAST])
        return sqrt(mean * mean - 1); /* 6 less than .001 from the truth */
    return MOST_SIGNAL * place_of(m, mean) / LAST;
}

/* Cubes of eight voxels (of four or two where axes have one voxel), each turned by Haar's matrix. */
typedef struct places {
    float *difference; /* along all axes: what is left of the image is least there */
    float *mean;
    float *rest;       /* the mean square of the other components but the mean; 0: there are none */
    float *work;
    size_t count, most;
} places;

static int places_create(size_t most, places *p)
{
    float *room = malloc(4 * most * sizeof *room);
    *p = (places){room, room + most, room + 2 * most, room + 3 * most, 0, most};
    return room ? CLVOX_OK : clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
}

static void places_free(places *p)
{
    free(p->difference);
}

/* The image under inspection, and the axes with more than one voxel. */
typedef struct image {
    const float *values, *mask;
    const int *size;
    int cells[3]; /* cubes along each axis */
    bool flat[3];
    const clv_magnitudes *magnitudes; /* NULL: of Gaussian noise */
    const float *sigma;               /* not NULL: differences and means are over it */
} image;

static image image_of(const float *values, const int size[3], const float *mask)
{
    image g = {.values = values, .mask = mask, .size = size};
    for (int a = 0; a < 3; a++) {
        g.flat[a] = size[a] == 1;
        g.cells[a] = g.flat[a] ? 1 : size[a] - 1;
    }
    return g;
}

/* The cube that begins at x. */
static void look(const image *g, const int x[3], places *p)
{
    const int *n = g->size;
    double value[8], sum = 0, mixed = 0, square = 0;
    int corners = 0;
    for (int k = 0; k < 8; k++) {
        const int d[3] = {k & 1, k >> 1 & 1, k >> 2};
        if ((d[0] && g->flat[0]) || (d[1] && g->flat[1]) || (d[2] && g->flat[2]))
            continue;
        size_t i = ((size_t)(x[2] + d[2]) * (size_t)n[1] + (size_t)(x[1] + d[1])) * (size_t)n[0];
        i += (size_t)(x[0] + d[0]);
        value[corners] = (double)g->values[i];
        if (!isfinite(value[corners]) || (g->mask && !(g->mask[i] > 0)))
            return;
        mixed += (d[0] + d[1] + d[2]) % 2 ? -value[corners] : value[corners];
        sum += value[corners++];
    }
    const double mean = sum / corners, own = mixed * mixed / corners;
    const double unit =
        g->sigma
            ? (double)g->sigma[((size_t)x[2] * (size_t)n[1] + (size_t)x[1]) * (size_t)n[0] + (size_t)x[0]]
            : 1;
    for (int k = 0; k < corners; k++)
        square += (value[k] - mean) * (value[k] - mean);
    if (corners < 2 || !(square > 0) || !(unit > 0))
        return;
    p->difference[p->count] = (float)(sqrt(own) / unit);
    p->rest[p->count] =
        corners > 2 ? (float)((square > own ? square - own : 0) / (corners - 2) / (unit * unit)) : 0;
    p->mean[p->count++] = (float)(mean / unit);
}

/* Every `stride`th cube of a box of them. */
static void collect(const image *g, const int begin[3], const int end[3], size_t stride, places *p)
{
    size_t wide[3], cubes = 1;
    for (int a = 0; a < 3; a++) {
        wide[a] = end[a] > begin[a] ? (size_t)(end[a] - begin[a]) : 0;
        cubes *= wide[a];
    }
    p->count = 0;
    for (size_t i = 0; i < cubes && p->count < p->most; i += stride) {
        const size_t row = i / wide[0];
        const int x[3] = {begin[0] + (int)(i % wide[0]), begin[1] + (int)(row % wide[1]),
                          begin[2] + (int)(row / wide[1])};
        look(g, x, p);
    }
}

/* The standard deviation by the median of the differences, each over what it is for noise 1 where the mean is
 * what it is there; with quiet, of places whose other components are no longer than noise makes them. Those
 * are independent of the difference in white noise, so that to choose by them does not bias it. */
static double spread(const image *g, places *p, double before, bool quiet, size_t *count)
{
    /* Noise alone passes in 5 of 6 places. */
    static const double MOST_REST = 1.5;
    size_t kept = 0;
    for (size_t i = 0; i < p->count; i++) {
        const double unit = g->magnitudes && before > 0
                                ? clv_magnitudes_deviation(g->magnitudes, (double)p->mean[i] / before)
                                : 1;
        if (!quiet || (double)p->rest[i] <= MOST_REST * unit * unit * before * before)
            p->work[kept++] = (float)((double)p->difference[i] / unit);
    }
    *count = kept;
    return kept ? clv_median(p->work, kept) / 0.6745 : 0;
}

/* Noise from the places: a rough value from all, then from the quiet ones as long as there are some; how many, 0:
 * all. */
static double settle(const image *g, places *p, size_t *count, double *rough)
{
    size_t quiet;
    double sigma = spread(g, p, 0, false, count);
    for (int round = 0; g->magnitudes && round < ROUNDS && sigma > 0; round++)
        sigma = spread(g, p, sigma, false, count);
    *rough = sigma;
    *count = 0;
    for (int round = 0; round < ROUNDS && sigma > 0; round++) {
        const double next = spread(g, p, sigma, true, &quiet);
        if (quiet < FEWEST || quiet < p->count / 50 || !(next > 0))
            break;
        const bool done = fabs(next - sigma) <= 1e-4 * sigma;
        sigma = next;
        *count = quiet;
        if (done)
            break;
    }
    return sigma;
}

/* Places all over the image, about MOST_PLACES: an odd stride along the cells as they lie meets all
 * columns. */
static void collect_all_over(const image *g, places *p)
{
    static const int begin[3] = {0, 0, 0};
    const double cells = (double)g->cells[0] * g->cells[1] * g->cells[2];
    collect(g, begin, g->cells, ((size_t)(cells / MOST_PLACES) + 1) | 1, p);
}

int clv_image_noise(const float *values, const int size[3], const float *mask, bool rician, double *sigma,
                    double *rough)
{
    int status = CLVOX_OK;
    image g = image_of(values, size, mask);
    clv_magnitudes m;
    places p;
    size_t count;
    double all = 0;
    CLV_TRY(places_create(MOST_PLACES, &p));
    if (rician) {
        clv_magnitudes_make(&m);
        g.magnitudes = &m;
    }
    collect_all_over(&g, &p);
    *sigma = p.count < 2 ? 0 : settle(&g, &p, &count, &all);
    if (rough)
        *rough = all;
    if (p.count < 2)
        status = clvox_fail(CLVOX_ERROR_DATA,
                            "the noise cannot be measured: give its standard deviation");
    else if (!(*sigma > 0))
        status = clvox_fail(CLVOX_ERROR_DATA,
                            "no noise can be measured: most neighbours are alike; give its standard "
                            "deviation");
end:
    places_free(&p);
    return status;
}

int clv_image_texture(const float *values, const int size[3], const float *mask, bool rician,
                      const float *sigma, double *ratio)
{
    int status = CLVOX_OK;
    image g = image_of(values, size, mask);
    clv_magnitudes m;
    places p;
    size_t count;
    CLV_TRY(places_create(MOST_PLACES, &p));
    if (rician) {
        clv_magnitudes_make(&m);
        g.magnitudes = &m;
    }
    g.sigma = sigma;
    collect_all_over(&g, &p);
    *ratio = p.count < 2 ? 1 : fmax(1, spread(&g, &p, 1, false, &count));
end:
    places_free(&p);
    return status;
}

/* ---- noise that varies -------------------------------------------------- */

/* Boxes of about PLACES cubes, as even as the volume allows, and what the noise is in each. */
typedef struct local {
    image g;
    int boxes[3];
    double *sigma, *weight; /* of each box; weight 0: not known */
    places *places;         /* of each worker */
} local;

static int measure_box(void *user, size_t index, int worker)
{
    local *l = user;
    const int b[3] = {(int)index % l->boxes[0], (int)index / l->boxes[0] % l->boxes[1],
                      (int)index / l->boxes[0] / l->boxes[1]};
    int begin[3], end[3];
    size_t count = 0;
    double rough;
    for (int a = 0; a < 3; a++) {
        begin[a] = (int)((int64_t)l->g.cells[a] * b[a] / l->boxes[a]);
        end[a] = (int)((int64_t)l->g.cells[a] * (b[a] + 1) / l->boxes[a]);
    }
    places *p = &l->places[worker];
    collect(&l->g, begin, end, 1, p);
    const double sigma = p->count < FEWEST ? 0 : settle(&l->g, p, &count, &rough);
    l->sigma[index] = sigma > 0 ? log(sigma) : 0;
    /* A value from no quiet place counts only if nothing else is known. */
    l->weight[index] = sigma > 0 ? (count ? (double)count : 1e-3 * (double)p->count) : 0;
    return CLVOX_OK;
}

/* Each box takes from those around it, 1 2 1 along each axis, by how much they know. */
static int even_out(local *l, size_t boxes)
{
    double *next = malloc(2 * boxes * sizeof *next), *weight = next + boxes;
    if (!next)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    for (int axis = 0; axis < 3; axis++) {
        const size_t step = axis == 0 ? 1 : (size_t)l->boxes[0] * (axis == 1 ? 1 : (size_t)l->boxes[1]);
        for (size_t i = 0; i < boxes; i++) {
            const int at = (int)(i / step % (size_t)l->boxes[axis]);
            double sum = 0, all = 0;
            for (int k = -1; k <= 1; k++) {
                if (at + k < 0 || at + k >= l->boxes[axis])
                    continue;
                const size_t j = k < 0 ? i - step : i + (size_t)k * step;
                const double w = (k ? 1 : 2) * l->weight[j];
                sum += w * l->sigma[j];
                all += w;
            }
            next[i] = all > 0 ? sum / all : 0;
            weight[i] = all / 4;
        }
        memcpy(l->sigma, next, boxes * sizeof *next);
        memcpy(l->weight, weight, boxes * sizeof *weight);
    }
    free(next);
    return CLVOX_OK;
}

static bool known(const local *l, size_t boxes)
{
    for (size_t b = 0; b < boxes; b++)
        if (!(l->weight[b] > 0))
            return false;
    return true;
}

/* Linear between the middles of boxes. */
static void interpolate(const local *l, float *sigma)
{
    const int *n = l->g.size;
    for (int z = 0; z < n[2]; z++)
        for (int y = 0; y < n[1]; y++)
            for (int x = 0; x < n[0]; x++) {
                const int voxel[3] = {x, y, z};
                double sum = 0, part[3];
                int first[3];
                for (int a = 0; a < 3; a++) {
                    double at = (voxel[a] + 0.5) * l->boxes[a] / n[a] - 0.5;
                    at = fmin(fmax(at, 0), l->boxes[a] - 1);
                    first[a] = (int)at;
                    part[a] = at - first[a];
                }
                for (int k = 0; k < 8; k++) {
                    size_t b = 0;
                    double w = 1;
                    for (int a = 2; a >= 0; a--) {
                        const int up = k >> a & 1;
                        w *= up ? part[a] : 1 - part[a];
                        b = b * (size_t)l->boxes[a] + (size_t)(first[a] + (up && first[a] + 1 < l->boxes[a]));
                    }
                    sum += w * l->sigma[b];
                }
                *sigma++ = (float)exp(sum);
            }
}

int clv_image_noise_map(const float *values, const int size[3], const float *mask, bool rician, float *sigma)
{
    /* In a cube, a square and a line of about as many voxels. */
    static const int edges[] = {1728, 1728, 41, 12};
    int status = CLVOX_OK, threads = clvox_threads(), live = 0;
    local l = {.g = image_of(values, size, mask)};
    clv_magnitudes m;
    size_t boxes = 1, most = 1;
    if (rician) {
        clv_magnitudes_make(&m);
        l.g.magnitudes = &m;
    }
    for (int a = 0; a < 3; a++)
        live += !l.g.flat[a];
    for (int a = 0; a < 3; a++) {
        l.boxes[a] = (l.g.cells[a] + edges[live] / 2) / edges[live];
        l.boxes[a] = l.boxes[a] < 1 ? 1 : l.boxes[a];
        boxes *= (size_t)l.boxes[a];
        most *= (size_t)(l.g.cells[a] / l.boxes[a] + 1);
    }
    l.sigma = calloc(boxes, sizeof *l.sigma);
    l.weight = calloc(boxes, sizeof *l.weight);
    l.places = calloc((size_t)threads, sizeof *l.places);
    if (!l.sigma || !l.weight || !l.places) {
        status = clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
        goto end;
    }
    for (int t = 0; t < threads; t++)
        CLV_TRY(places_create(most, &l.places[t]));
    CLV_TRY(clvox_parallel(boxes, measure_box, &l));
    double any = 0;
    for (size_t b = 0; b < boxes; b++)
        any += l.weight[b];
    if (!(any > 0)) {
        status = clvox_fail(CLVOX_ERROR_DATA,
                            "no noise can be measured anywhere; give its standard deviation");
        goto end;
    }
    do
        CLV_TRY(even_out(&l, boxes));
    while (!known(&l, boxes));
    interpolate(&l, sigma);
end:
    for (int t = 0; l.places && t < threads; t++)
        places_free(&l.places[t]);
    free(l.places);
    free(l.sigma);
    free(l.weight);
    return status;
}

int clv_image_noise_find(const float *values, const int size[3], const float *mask, bool rician, float *map,
                         clv_noise_found *found)
{
    /* On phantoms of SNR 5 to 50 whose noise varies, or does not, and real scans. */
    static const double MUCH = 1.2, LESS = 1.15, STILL_NOISE = 1.3;
    int status = CLVOX_OK;
    const size_t n = (size_t)size[0] * (size_t)size[1] * (size_t)size[2];
    double rough, ratio, square = 0, count = 0;
    *found = (clv_noise_found){.texture = 1};
    CLV_TRY(clv_image_noise(values, size, mask, rician, &found->sigma, &rough));
    found->texture = rough / found->sigma;
    if (found->texture <= MUCH)
        goto end;
    CLV_TRY(clv_image_noise_map(values, size, mask, rician, map));
    CLV_TRY(clv_image_texture(values, size, mask, rician, map, &ratio));
    found->varies = ratio < STILL_NOISE && found->texture > LESS * ratio;
    if (!found->varies)
        goto end;
    for (size_t i = 0; i < n; i++)
        if (!mask || mask[i] > 0) {
            square += (double)map[i] * (double)map[i];
            count++;
        }
    found->texture = ratio;
    found->sigma = sqrt(square / count);
end:
    return status;
}
