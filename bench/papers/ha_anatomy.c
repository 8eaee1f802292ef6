/* SPDX-License-Identifier: Apache-2.0 */
/* Ha 2011, tables 3.1 and 3.3: overlap and time of registrations by mutual information, by tissue
 * probabilities and by these with surfaces, on a phantom whose tissues look different in its two images. */
#include <math.h>
#include <stdlib.h>

#include "bench/bench_table.h"
#include "bench/rows/check.h"
#include "clvox/posteriors.h"

enum { TISSUES = 4, SHAPES = 2 };

typedef struct anatomy {
    int size[3];
    clvox_grid grid;
    clv_phantom phantom;
    clv_phantom_warp warp;
    clvox_volume *labels[2], *image[2]; /* fixed, moving */
    clvox_posteriors posteriors;
    clvox_surface *surface[SHAPES][2];
} anatomy;

/* Shells from the outside in: fluid, grey matter, white matter, cerebellum. The mean values of the fixed
 * image, and of the moving one, where half of the white matter is not myelinated. */
static const float fixed_value[TISSUES + 1] = {0, 30, 70, 100, 85},
                                         moving_value[TISSUES + 1] = {0, 100, 55, 80, 65};
static const float UNMYELINATED = 35, NOISE = 2;
/* The weight of surfaces beside tissues, which the thesis does not give. */
static const double SURFACE_WEIGHT = .01;

/* The structures of the table: labels from the first to the last. */
static const struct {
    const char *name;
    int first, last;
} structures[SHAPES] = {{"parenchyma", 2, 3}, {"cerebellum", 4, 4}};

static void release(anatomy *a)
{
    for (int side = 0; side < 2; side++) {
        clvox_volume_destroy(&a->labels[side]);
        clvox_volume_destroy(&a->image[side]);
        for (int s = 0; s < SHAPES; s++)
            clvox_surface_destroy(&a->surface[s][side]);
    }
    clvox_posteriors_destroy(&a->posteriors);
    clv_phantom_free(&a->phantom);
}

static int paint(anatomy *a, int side)
{
    const clvox_volume *labels = a->labels[side];
    const int status = clvox_volume_create(&a->grid, 1, CLVOX_KIND_SCALAR, &a->image[side]);
    for (size_t i = 0; status >= 0 && i < clvox_grid_voxels(&a->grid); i++) {
        const int label = (int)labels->data[i];
        const bool unmyelinated = side == 1 && label == 3 && i % (size_t)a->size[0] < (size_t)a->size[0] / 2;
        a->image[side]->data[i] = (unmyelinated ? UNMYELINATED
                                   : side       ? moving_value[label]
                                                : fixed_value[label]) +
                                  (label ? NOISE * (float)clv_phantom_normal(7 + (uint64_t)side, i) : 0);
    }
    return status;
}

/* The surface around a structure and what it encloses. */
static int enclose(anatomy *a, int side, int structure)
{
    clvox_volume *inside = NULL;
    int status = clvox_volume_create(&a->grid, 1, CLVOX_KIND_SCALAR, &inside);
    for (size_t i = 0; status >= 0 && i < clvox_grid_voxels(&a->grid); i++)
        inside->data[i] = (int)a->labels[side]->data[i] >= structures[structure].first;
    if (status >= 0)
        status = clvox_surface_extract(inside, .5, 1, &a->surface[structure][side]);
    clvox_volume_destroy(&inside);
    return status;
}

static int create(const bench_run *run, anatomy *a)
{
    int status = CLVOX_OK;
    const double spacing[3] = {1, 1, 1};
    double amplitude; /* that does not fold */
    const bool cpu = clvox_context_limits(run->ctx)->type == CLVOX_DEVICE_CPU;
    for (int k = 0; k < 3; k++) {
        a->size[k] = cpu ? (run->size[k] + 1) / 2 : run->size[k];
        a->size[k] = a->size[k] < 20 ? 20 : a->size[k];
    }
    clvox_phantom_grid(a->size, spacing, false, &a->grid);
    CLV_TRY(clv_phantom_make(CLVOX_PHANTOM_SHELLS, &a->grid, 1, 0, &a->phantom));
    CLV_TRY(clvox_phantom_amplitude(&a->grid, 3, &amplitude));
    CLV_TRY(clv_phantom_warp_make(&a->grid, fmin(amplitude, .06 * a->size[0]), 3, &a->warp));
    for (int side = 0; side < 2; side++) {
        CLV_TRY(clv_phantom_labels(&a->phantom, &a->grid, NULL, side ? NULL : &a->warp, &a->labels[side]));
        CLV_TRY(paint(a, side));
        for (int s = 0; s < SHAPES; s++)
            CLV_TRY(enclose(a, side, s));
    }
    CLV_TRY(clvox_posteriors_create(a->labels[0], a->labels[1], &a->posteriors));
end:
    return status;
}

/* Equation 3.14 for each structure: the share of the fixed one that the moving one, pulled back by the map,
 * covers. warp NULL: as it lies. */
static void overlaps(const anatomy *a, const clvox_volume *warp, double out[SHAPES])
{
    const size_t n = clvox_grid_voxels(&a->grid);
    size_t target[SHAPES] = {0}, both[SHAPES] = {0};
    for (size_t i = 0; i < n; i++) {
        const int at[3] = {(int)(i % (size_t)a->size[0]), (int)(i / (size_t)a->size[0] % (size_t)a->size[1]),
                           (int)(i / (size_t)a->size[0] / (size_t)a->size[1])};
        double x[3];
        for (int k = 0; k < 3; k++) {
            const double *row = a->grid.to_ras[k];
            x[k] = row[0] * at[0] + row[1] * at[1] + row[2] * at[2] + row[3] +
                   (warp ? (double)warp->data[(size_t)k * n + i] : 0);
        }
        const int fixed = (int)a->labels[0]->data[i], moving = clv_phantom_label_at(&a->phantom, x);
        for (int s = 0; s < SHAPES; s++)
            if (fixed >= structures[s].first && fixed <= structures[s].last) {
                target[s]++;
                both[s] += moving >= structures[s].first && moving <= structures[s].last;
            }
    }
    for (int s = 0; s < SHAPES; s++)
        out[s] = target[s] ? (double)both[s] / (double)target[s] : NAN;
}

/* Ways to compare the images. roots: by Hellinger's distance, else by L2 (equation 3.5). */
static const struct way {
    const char *name;
    bool tissues, roots, surfaces;
    const char *said; /* the thesis's ranges over ten subjects */
} ways[] = {
    {"mutual information", false, false, false, "MI with B-splines .45-.90, .21-.82; 63-112 min on a CPU"},
    {"tissues by L2", true, false, false, ""},
    {"tissues by Hellinger's distance", true, true, false, ""},
    {"tissues by L2 and surfaces", true, false, true, "P+G .86-.91, .82-.91; 7-9 min"},
};
enum { WAYS = sizeof ways / sizeof *ways };

static int registered(bench_run *run, const anatomy *a, const struct way *w, record_samples *seconds,
                      double found[SHAPES])
{
    int status = CLVOX_OK;
    clvox_register_options o;
    clvox_register_result r;
    clvox_register_images images = {.channels = 0};
    clvox_volume frame[TISSUES][2];
    clvox_shape shape[2][SHAPES];
    const clvox_shape *list[2][SHAPES];
    clvox_register_defaults(&o);
    o.deform = CLVOX_DEFORM_GREEDY;
    clvox_register_preset(&o, CLVOX_PRESET_DEFAULT);
    o.linear = CLVOX_LINEAR_NONE;
    o.metric = w->tissues ? CLVOX_METRIC_SSD : CLVOX_METRIC_MI;
    o.by_contrast = 0;
    o.surface_weight = SURFACE_WEIGHT;
    o.levels = 2;
    for (int i = 0; i < 2; i++) {
        o.shrink[i] = 2 - i;
        o.smooth_voxels[i] = -1;
        o.iterations[i] = i ? 30 : 60;
    }
    if (!w->tissues) {
        images.fixed[0] = a->image[0];
        images.moving[0] = a->image[1];
        images.channels = 1;
    } else if (w->roots) {
        images.fixed_posteriors = a->posteriors.fixed;
        images.moving_posteriors = a->posteriors.moving;
    } else {
        const size_t n = clvox_grid_voxels(&a->grid);
        for (int k = 0; k < a->posteriors.tissues; k++) {
            for (int side = 0; side < 2; side++) {
                frame[k][side] = side ? *a->posteriors.moving : *a->posteriors.fixed;
                frame[k][side].frames = 1;
                frame[k][side].data += (size_t)k * n;
            }
            images.fixed[k] = &frame[k][0];
            images.moving[k] = &frame[k][1];
        }
        images.channels = a->posteriors.tissues;
    }
    for (int side = 0; side < 2 && w->surfaces; side++)
        for (int s = 0; s < SHAPES; s++) {
            clvox_shape_of_surface(a->surface[s][side], &shape[side][s]);
            list[side][s] = &shape[side][s];
        }
    if (w->surfaces) {
        images.fixed_shapes = list[0];
        images.moving_shapes = list[1];
        images.shapes = SHAPES;
    }
    for (int again = 0; again < 2; again++) { /* the first builds the kernels */
        CLV_TRY(clvox_register(run->ctx, &images, &o, &r));
        if (again) {
            record_add_sample(seconds, r.seconds_deform);
            overlaps(a, r.warp, found);
        }
        clvox_register_result_destroy(&r);
    }
end:
    return status;
}

int bench_ha2011_anatomy(bench_run *run)
{
    int status = CLVOX_OK;
    anatomy a = {{0}};
    double before[SHAPES], found[WAYS][SHAPES];
    record_samples seconds[WAYS] = {{0}};
    CLV_TRY(create(run, &a));
    overlaps(&a, NULL, before);
    fprintf(run->out,
            "Tables 3.1 and 3.3: the share of the target's structures that is covered (equation 3.14), and "
            "the seconds of a greedy\n"
            "registration, on a phantom of %dx%dx%d whose tissues have other values in each image, half of "
            "the white matter a\n"
            "second one. The thesis: ten newborns to two years, parenchyma and cerebellum; its times are of "
            "1000 iterations.\n"
            "%-35s %12s %12s %10s  %s\n%-35s %12.3f %12.3f %10s  %s\n",
            a.size[0], a.size[1], a.size[2], "", structures[0].name, structures[1].name, "s", "the thesis",
            "none", before[0], before[1], "", ".55-.92, .26-.64");
    for (int i = 0; i < WAYS; i++) {
        char name[64], remark[96];
        CLV_TRY(registered(run, &a, &ways[i], &seconds[i], found[i]));
        snprintf(name, sizeof name, "register, %s", ways[i].name);
        snprintf(remark, sizeof remark, "parenchyma %.3f, cerebellum %.3f, before %.3f, %.3f", found[i][0],
                 found[i][1], before[0], before[1]);
        const double least = fmin(found[i][0] / found[0][0], found[i][1] / found[0][1]);
        const record_paper paper = {.here = least,
                                    .unit = "times the overlap of mutual information, the less of both",
                                    .device = "GTX 260",
                                    .conclusion = "tissues and surfaces cover more than mutual information",
                                    .holds = least > 1};
        const record_row row = {.group = "ha2011",
                                .name = name,
                                .verified = true,
                                .seconds = &seconds[i],
                                .remark = remark,
                                .size = {a.size[0], a.size[1], a.size[2]},
                                .paper = ways[i].surfaces ? &paper : NULL};
        if (ways[i].tissues && !(found[i][0] > before[0] && found[i][1] > before[1]))
            status = bench_wrong(run->ctx, name, "overlap %.3f and %.3f, before %.3f and %.3f", found[i][0],
                                 found[i][1], before[0], before[1]);
        CLV_TRY(status);
        record_add(run->log, &row);
        fprintf(run->out, "%-35s %12.3f %12.3f %10.3f  %s%s\n", ways[i].name, found[i][0], found[i][1],
                seconds[i].median, ways[i].said,
                !row.paper    ? ""
                : paper.holds ? "; holds: they cover more"
                              : "; does not hold: they cover more");
        fflush(run->out);
    }
    fprintf(run->out, "\n");
end:
    release(&a);
    return status;
}
