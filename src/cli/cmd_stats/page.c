/* SPDX-License-Identifier: Apache-2.0 */
/* The page of permutation tests. */
#include "cli/cmd_stats/stats.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/matrix.h"
#include "cli/page.h"

#define LEVEL 0.05   /* of both corrections */
#define APART_MM 8.0 /* between two peaks */
enum { PEAKS = 20, ROWS = 500 };

/* A local maximum of the statistic. */
typedef struct peak {
    size_t voxel;
    int at[3];
    double size, ras[3]; /* size: |statistic| of two-sided tests */
} peak;

/* A statistic, with the p of the tested voxels in order. */
typedef struct tested {
    const clvox_stats_map *map;
    const clvox_stats_options *options;
    size_t voxels; /* tested */
    double *p;     /* ascending */
    double *q;     /* of the same voxels: the false discovery rate, Benjamini and Hochberg */
} tested;

static double p_of(const clvox_stats_options *o, const clvox_volume *map, size_t voxel)
{
    return o->one_minus_p ? 1 - map->data[voxel] : map->data[voxel];
}

static double size_of(const tested *t, size_t voxel)
{
    const double value = t->map->statistic->data[voxel];
    return t->options->two_sided ? fabs(value) : value;
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static int by_size(const void *a, const void *b)
{
    const peak *x = a, *y = b;
    return x->size != y->size ? (x->size < y->size) - (x->size > y->size)
                              : (x->voxel > y->voxel) - (x->voxel < y->voxel);
}

/* Voxels without a test have p 1, and are last: those before are as many as were tested, or more p of 1. */
static int sort_p(tested *t)
{
    const size_t all = clvox_grid_voxels(&t->map->p->grid);
    double smallest = 1;
    t->p = calloc(all, sizeof *t->p);
    t->q = calloc(all, sizeof *t->q);
    if (!t->p || !t->q)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    for (size_t i = 0; i < all; i++)
        t->p[i] = p_of(t->options, t->map->p, i);
    qsort(t->p, all, sizeof *t->p, ascending);
    for (size_t i = t->voxels; i-- > 0;)
        t->q[i] = smallest = fmin(smallest, t->p[i] * (double)t->voxels / (double)(i + 1));
    return CLVOX_OK;
}

/* That of the last voxel with this p: equal p have equal q. */
static double q_of(const tested *t, double p)
{
    size_t from = 0, until = t->voxels;
    while (until - from > 1) {
        const size_t middle = (from + until) / 2;
        *(t->p[middle] <= p ? &from : &until) = middle;
    }
    return t->voxels && t->p[from] >= p - 1e-9 ? t->q[from] : 1;
}

/* 1 where the correction leaves p at most LEVEL; NULL without memory. */
static int mark(const tested *t, bool discovery, clvox_volume **out, size_t *count, double *least)
{
    int status = clvox_volume_create(&t->map->p->grid, 1, CLVOX_KIND_LABEL, out);
    *count = 0;
    *least = NAN;
    for (size_t i = 0; status >= 0 && i < clvox_grid_voxels(&t->map->p->grid); i++) {
        const double p =
            discovery ? q_of(t, p_of(t->options, t->map->p, i)) : p_of(t->options, t->map->p_fwe, i);
        if (t->map->statistic->data[i] == 0 || !(p <= LEVEL + 1e-7))
            continue;
        (*out)->data[i] = 1;
        ++*count;
        *least = fmin(size_of(t, i), isnan(*least) ? INFINITY : *least);
    }
    return status;
}

/* ---- peaks --------------------------------------------------------------- */

static bool is_peak(const tested *t, const int at[3], size_t voxel)
{
    const int *n = t->map->statistic->grid.size;
    const double size = size_of(t, voxel);
    for (int k = 0; k < 27; k++) {
        const int x = at[0] + k % 3 - 1, y = at[1] + k / 3 % 3 - 1, z = at[2] + k / 9 - 1;
        if (x < 0 || y < 0 || z < 0 || x >= n[0] || y >= n[1] || z >= n[2])
            continue;
        const size_t other = x + (size_t)n[0] * (y + (size_t)n[1] * z);
        if (size_of(t, other) > size || (size_of(t, other) == size && other < voxel))
            return false;
    }
    return size > 0;
}

/* All of them into `all` if there is one; how many. */
static size_t gather(const tested *t, peak *all)
{
    const clvox_grid *grid = &t->map->statistic->grid;
    const int *n = grid->size;
    size_t found = 0, voxel = 0;
    for (int z = 0; z < n[2]; z++)
        for (int y = 0; y < n[1]; y++)
            for (int x = 0; x < n[0]; x++, voxel++) {
                const int at[3] = {x, y, z};
                if (!is_peak(t, at, voxel))
                    continue;
                if (all) {
                    all[found] = (peak){.voxel = voxel, .at = {x, y, z}, .size = size_of(t, voxel)};
                    cli_matrix_apply(CLI_MATRIX(grid->to_ras), (double[3]){x, y, z}, all[found].ras);
                }
                found++;
            }
    return found;
}

/* The largest, none within APART_MM of a larger one, at most PEAKS. *out is the caller's to free. */
static int find_peaks(const tested *t, peak **out, int *count)
{
    const size_t found = gather(t, NULL);
    *count = 0;
    *out = calloc(found + 1, sizeof **out);
    if (!*out)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    gather(t, *out);
    qsort(*out, found, sizeof **out, by_size);
    for (size_t i = 0; i < found && *count < PEAKS; i++) {
        const peak p = (*out)[i];
        bool apart = true;
        for (int k = 0; k < *count && apart; k++) {
            const double *q = (*out)[k].ras;
            apart = hypot(hypot(p.ras[0] - q[0], p.ras[1] - q[1]), p.ras[2] - q[2]) >= APART_MM;
        }
        if (apart)
            (*out)[(*count)++] = p;
    }
    return CLVOX_OK;
}

static int put_peaks(command *cli, clvox_report *page, const tested *t, const char *name)
{
    static const char *const columns[] = {"voxel",     "x, mm", "y, mm", "z, mm",
                                          "statistic", "p",     "p FWE", "q FDR"};
    char caption[160];
    int count = 0;
    peak *all = NULL;
    int status = find_peaks(t, &all, &count);
    cJSON *to = cJSON_GetObjectItem(cJSON_GetObjectItem(cli->log, "result"), name);
    cJSON *list = cJSON_AddArrayToObject(to, "peaks");
    snprintf(caption, sizeof caption,
             "The largest %s, %g mm apart or more, with their places in RAS; up to %d",
             strcmp(name, "t") ? "TFCE" : name, APART_MM, PEAKS);
    clvox_report_table(page, caption, columns, 8);
    for (int i = 0; status >= 0 && i < count; i++) {
        const peak *k = &all[i];
        const double p = p_of(t->options, t->map->p, k->voxel), value = t->map->statistic->data[k->voxel];
        const double fwe = p_of(t->options, t->map->p_fwe, k->voxel), q = q_of(t, p);
        const double numbers[] = {k->ras[0], k->ras[1], k->ras[2], value, p, fwe, q};
        char text[8][48];
        clvox_report_cell cells[8];
        snprintf(text[0], sizeof *text, "%d %d %d", k->at[0], k->at[1], k->at[2]);
        for (int c = 0; c < 7; c++)
            if (c < 3)
                snprintf(text[c + 1], sizeof *text, "%.1f", numbers[c]);
            else
                clvox_page_number(numbers[c], text[c + 1], sizeof *text);
        for (int c = 0; c < 8; c++)
            cells[c] = (clvox_report_cell){.text = text[c]};
        clvox_report_row(page, cells);
        cJSON *one = cJSON_CreateObject();
        cJSON_AddItemToArray(list, one);
        cJSON_AddItemToObject(one, "voxel", cJSON_CreateIntArray(k->at, 3));
        cJSON_AddItemToObject(one, "ras_mm", cJSON_CreateDoubleArray(k->ras, 3));
        cJSON_AddNumberToObject(one, "statistic", value);
        cJSON_AddNumberToObject(one, "p", p);
        cJSON_AddNumberToObject(one, "p_fwe", fwe);
        cJSON_AddNumberToObject(one, "q_fdr", q);
    }
    free(all);
    return status;
}

/* ---- the page ------------------------------------------------------------ */

/* Mean of the maps; NaN where one is. */
static int make_mean(const cli_stats_request *r, clvox_volume **out)
{
    const size_t voxels = clvox_grid_voxels(&r->map[0]->grid);
    int status = clvox_volume_create(&r->map[0]->grid, 1, CLVOX_KIND_SCALAR, out);
    for (int s = 0; status >= 0 && s < r->subjects; s++) {
        const float *from = r->maps == 1 ? r->map[0]->data + voxels * (size_t)s : r->map[s]->data;
        for (size_t i = 0; i < voxels; i++)
            (*out)->data[i] += from[i] / (float)r->subjects;
    }
    return status;
}

static void put_correction(clvox_report *page, const char *name, const clvox_grid *grid, size_t count,
                           double least)
{
    double edge[3];
    char text[3][48];
    clvox_grid_spacing(grid, edge);
    snprintf(text[0], sizeof *text, "%zu", count);
    snprintf(text[1], sizeof *text, "%.3g", (double)count * edge[0] * edge[1] * edge[2] / 1000);
    if (count)
        clvox_page_number(least, text[2], sizeof *text);
    else
        strcpy(text[2], "none");
    clvox_report_row(page, (clvox_report_cell[4]){
                               {.text = name}, {.text = text[0]}, {.text = text[1]}, {.text = text[2]}});
}

static void put_design(const cli_stats_request *r, clvox_report *page)
{
    const char *columns[CLI_STATS_COVARIATES + 2] = {"map"};
    clvox_report_cell cells[CLI_STATS_COVARIATES + 2];
    char caption[96];
    const int first = r->of_mean, count = 1 + r->covariates + !r->of_mean;
    for (int c = first; c <= r->covariates; c++)
        columns[1 + c - first] = r->column[c].name;
    snprintf(caption, sizeof caption, "The rows of the table as they were tested%s",
             r->subjects > ROWS ? ", the first 500" : "");
    clvox_report_table(page, caption, columns, count);
    for (int s = 0; s < r->subjects && s < ROWS; s++) {
        cells[0] = (clvox_report_cell){.text = clvox_page_name(r->path[s] ? r->path[s] : "")};
        for (int c = first; c <= r->covariates; c++)
            cells[1 + c - first] = (clvox_report_cell){.text = r->column[c].word[s]};
        clvox_report_row(page, cells);
    }
}

static int put_map(command *cli, const cli_stats_request *r, clvox_report *page, tested *t, const char *name,
                   const size_t count[2], const double least[2])
{
    static const char *const columns[] = {"correction", "voxels", "volume, ml", "smallest significant value"};
    const bool tfce = !strcmp(name, "tfce");
    cJSON *to = cJSON_GetObjectItem(cJSON_GetObjectItem(cli->log, "result"), name);
    clvox_report_section(page, tfce ? "TFCE" : "t");
    clvox_report_table(page, "What is significant, by the family-wise error and by the false discovery rate",
                       columns, 4);
    put_correction(page, "FWE, p \xe2\x89\xa4 0.05", &r->map[0]->grid, count[0], least[0]);
    put_correction(page, "FDR, q \xe2\x89\xa4 0.05", &r->map[0]->grid, count[1], least[1]);
    cJSON_AddNumberToObject(to, "significant_voxels_fdr", (double)count[1]);
    if (!count[1] && t->voxels && t->q[0] > LEVEL &&
        (double)t->options->permutations < (double)t->voxels / LEVEL)
        clvox_report_text(
            page, "q depends on the smallest possible p, one in the number of permutations: more of them may "
                  "lower it.");
    return put_peaks(cli, page, t, name);
}

int cli_stats_page(command *cli, const cli_stats_request *r, const clvox_stats_options *o,
                   const clvox_stats_result *k, const char *effect)
{
    static const char *const names[] = {"t", "tfce"};
    int status = CLVOX_OK, layers = 0;
    const int kinds = 1 + !!o->tfce;
    char path[PATH_MAX], text[700];
    clvox_report *page = NULL;
    clvox_volume *mean = NULL, *marked[2][2] = {{NULL}}, *family = NULL;
    size_t count[2][2];
    double least[2][2];
    clvox_stats_options defaults;
    tested t[2] = {{&k->t, o, k->tested, NULL, NULL}, {&k->tfce, o, k->tested, NULL, NULL}};
    clvox_report_layer layer[CLVOX_REPORT_LAYERS];
    snprintf(path, sizeof path, "%s_report.html", r->prefix);
    snprintf(text, sizeof text, "Test: %.500s", effect);
    CLI_TRY(make_mean(r, &mean));
    CLI_TRY(clvox_volume_create(&mean->grid, 1, CLVOX_KIND_LABEL, &family));
    for (size_t i = 0; i < clvox_grid_voxels(&mean->grid); i++)
        family->data[i] = k->t.statistic->data[i] != 0;
    CLI_TRY(cli_page_begin(cli, text, &page));
    if (r->template_volume)
        layer[layers++] = (clvox_report_layer){"template", r->template_volume, CLVOX_REPORT_GREY, 0};
    layer[layers++] = (clvox_report_layer){"mean of the maps", mean, CLVOX_REPORT_GREY, 0};
    for (int m = 0; m < kinds; m++) {
        CLI_TRY(sort_p(&t[m]));
        for (int c = 0; c < 2; c++)
            CLI_TRY(mark(&t[m], c, &marked[m][c], &count[m][c], &least[m][c]));
        const double threshold = isfinite(t[m].map->threshold) ? t[m].map->threshold : t[m].map->largest / 2;
        layer[layers++] = (clvox_report_layer){m ? "TFCE" : "t", t[m].map->statistic, CLVOX_REPORT_SIGNED,
                                               m > 0, fmax(threshold, 1e-3)};
        layer[layers++] =
            (clvox_report_layer){m ? "TFCE, p FWE \xe2\x89\xa4 0.05" : "t, p FWE \xe2\x89\xa4 0.05",
                                 marked[m][0], CLVOX_REPORT_MASK, m > 0};
        layer[layers++] =
            (clvox_report_layer){m ? "TFCE, q FDR \xe2\x89\xa4 0.05" : "t, q FDR \xe2\x89\xa4 0.05",
                                 marked[m][1], CLVOX_REPORT_MASK, 1};
    }
    if (k->t.significant + (o->tfce ? k->tfce.significant : 0))
        snprintf(text, sizeof text, "%.500s: %zu voxels with p FWE \xe2\x89\xa4 0.05%s.", effect,
                 o->tfce ? k->tfce.significant : k->t.significant, o->tfce ? " by TFCE" : "");
    else
        snprintf(text, sizeof text, "No voxel is significant (p FWE \xe2\x89\xa4 0.05).");
    clvox_page_verdict(page, text);
    clvox_report_section(page, "Maps");
    clvox_report_images(page, layer, layers, r->mask_volume ? r->mask_volume : family);
    clvox_report_text(
        page, isfinite(k->t.threshold)
                  ? "The slider of t begins where p FWE is 0.05: move it to see what is below."
                  : "The slider of t begins at half the largest t: no p FWE can be as small as 0.05 here.");
    for (int m = 0; m < kinds; m++)
        CLI_TRY(put_map(cli, r, page, &t[m], names[m], count[m], least[m]));
    clvox_report_section(page, "Distributions");
    clvox_report_histogram(page, "t in the tested voxels", k->t.statistic, family, 0);
    clvox_report_histogram(page, o->one_minus_p ? "1 - p in the tested voxels" : "p in the tested voxels",
                           k->t.p, family, 0);
    clvox_report_section(page, "Design");
    clvox_page_facts(page, cJSON_GetObjectItem(cli->log, "result"), 3);
    if (r->list && r->path)
        put_design(r, page);
    clvox_stats_defaults(&defaults);
    clvox_page_options(page, cli->log, &(clvox_page_set){NULL, clvox_stats_table(), o, &defaults}, 1);
end:
    status = cli_page_end(cli, &page, status, path);
    for (int m = 0; m < 2; m++) {
        free(t[m].p);
        free(t[m].q);
        for (int c = 0; c < 2; c++)
            clvox_volume_destroy(&marked[m][c]);
    }
    clvox_volume_destroy(&mean);
    clvox_volume_destroy(&family);
    return status;
}
