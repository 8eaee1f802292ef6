/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "clvox/compare.h"
#include "clvox/surface.h"

static void row(const command *cli, cJSON *to, const char *name, double value, const char *unit)
{
    cli_print(cli, "%-20s %.8g%s%s\n", name, value, *unit ? " " : "", unit);
    clvox_record_number(to, name, value);
}

/* Numbers of the metrics, each under the name that the metric gives it: --radius, --bins. */
enum { MOST_PARAMETERS = 8 };
typedef struct parameters {
    char name[MOST_PARAMETERS][16], help[MOST_PARAMETERS][96];
    clvox_metric_text metric[MOST_PARAMETERS]; /* the first with it, which says its range */
    int value[MOST_PARAMETERS], count;
} parameters;

static void list_parameters(parameters *p)
{
    clvox_metric_text metric;
    p->count = 0;
    for (int i = 0; clvox_metric_describe(i, &metric) && p->count < MOST_PARAMETERS; i++) {
        int at = 0;
        if (!metric.parameter || !metric.compared)
            continue;
        while (at < p->count && strcmp(p->metric[at].parameter, metric.parameter) != 0)
            at++;
        if (at < p->count)
            continue;
        p->metric[at] = metric;
        p->value[at] = metric.standard;
        snprintf(p->name[at], sizeof p->name[at], "%s", metric.parameter);
        for (char *c = p->name[at]; *c; c++)
            *c = (char)tolower((unsigned char)*c);
        snprintf(p->help[at], sizeof p->help[at], "of %s: %s (default %d)", metric.title, metric.meaning,
                 metric.standard);
        p->count++;
    }
}

static int images(command *cli, const clvox_volume *a, const clvox_volume *b, const clvox_volume *mask,
                  const parameters *p, cJSON *to)
{
    clvox_compare_options options;
    clvox_image_comparison c;
    clvox_metric_text metric;
    clvox_compare_defaults(&options);
    for (int i = 0; clvox_metric_describe(i, &metric); i++)
        for (int k = 0; k < p->count; k++)
            if (metric.parameter && !strcmp(p->metric[k].parameter, metric.parameter))
                options.parameter[i] = p->value[k];
    int status = clvox_compare_images(a, b, mask, &options, &c);
    if (status < 0)
        return status;
    row(cli, to, "values", (double)c.values, "");
    for (int i = 0; clvox_metric_describe(i, &metric); i++)
        if (metric.compared)
            row(cli, to, metric.title, c.metric[i], metric.unit ? metric.unit : "");
    row(cli, to, "NMI", c.nmi, "");
    row(cli, to, "RMS", c.rms, "");
    row(cli, to, "largest_difference", c.largest, "");
    row(cli, to, "differing", (double)c.differing, "");
    return CLVOX_OK;
}

static int labels(command *cli, const clvox_volume *a, const clvox_volume *b, const clvox_volume *mask,
                  cJSON *to)
{
    clvox_label_comparison *rows = NULL;
    int count = clvox_compare_labels(a, b, mask, &rows);
    if (count < 0)
        return count;
    double dice = 0, jaccard = 0, distance = 0, overlap = 0;
    int with_distance = 0, in_target = 0;
    cJSON *list = cJSON_AddArrayToObject(to, "labels");
    cli_print(cli, "%10s %10s %10s %8s %8s %14s %14s\n", "label", "voxels_A", "voxels_B", "Dice", "Jaccard",
              "Hausdorff95_mm", "target_overlap");
    for (int i = 0; i < count; i++) {
        const clvox_label_comparison *r = &rows[i];
        cli_print(cli, "%10d %10zu %10zu %8.5f %8.5f %14.4f %14.5f\n", r->label, r->voxels_a, r->voxels_b,
                  r->dice, r->jaccard, r->hausdorff95, r->target_overlap);
        dice += r->dice / count;
        jaccard += r->jaccard / count;
        if (isfinite(r->hausdorff95)) {
            distance += r->hausdorff95;
            with_distance++;
        }
        if (r->voxels_b) {
            overlap += r->target_overlap;
            in_target++;
        }
        cJSON *entry = cJSON_CreateObject();
        cJSON_AddNumberToObject(entry, "label", r->label);
        cJSON_AddNumberToObject(entry, "voxels_a", (double)r->voxels_a);
        cJSON_AddNumberToObject(entry, "voxels_b", (double)r->voxels_b);
        clvox_record_number(entry, "dice", r->dice);
        clvox_record_number(entry, "jaccard", r->jaccard);
        clvox_record_number(entry, "hausdorff95_mm", r->hausdorff95);
        clvox_record_number(entry, "target_overlap", r->target_overlap);
        cJSON_AddItemToArray(list, entry);
    }
    distance = with_distance ? distance / with_distance : NAN;
    overlap = in_target ? overlap / in_target : NAN;
    cli_print(cli, "%10s %10s %10s %8.5f %8.5f %14.4f %14.5f\n", "mean", "", "", dice, jaccard, distance,
              overlap);
    if (with_distance < count)
        cli_remark(cli, 0,
                   "%d of %d labels occur in one map only; their Dice is 0, their distance is left out of the average\n",
                   count - with_distance, count);
    clvox_record_number(to, "mean_dice", dice);
    clvox_record_number(to, "mean_jaccard", jaccard);
    clvox_record_number(to, "mean_hausdorff95_mm", distance);
    clvox_record_number(to, "mean_target_overlap", overlap);
    clvox_label_comparison_destroy(&rows);
    return CLVOX_OK;
}

static int warps(command *cli, const clvox_volume *a, const clvox_volume *b, const clvox_volume *mask,
                 cJSON *to)
{
    clvox_warp_comparison r;
    int status = clvox_compare_warps(a, b, mask, &r);
    if (status < 0)
        return status;
    row(cli, to, "voxels", (double)r.voxels, "");
    row(cli, to, "mean_mm", r.mean_mm, "mm");
    row(cli, to, "p95_mm", r.p95_mm, "mm");
    row(cli, to, "max_mm", r.max_mm, "mm");
    row(cli, to, "mean_voxels", r.mean_voxels, "voxels");
    row(cli, to, "p95_voxels", r.p95_voxels, "voxels");
    row(cli, to, "max_voxels", r.max_voxels, "voxels");
    if (r.not_finite)
        cli_remark(cli, 0, "%zu voxels without a finite displacement are left out\n", r.not_finite);
    return CLVOX_OK;
}

/* Facts about both surfaces, side by side. */
static void facts(command *cli, const clvox_surface_facts f[2], cJSON *to)
{
    static const char *const names[] = {"A", "B"};
    const struct {
        const char *name;
        double value[2];
    } rows[] = {
        {"volume_mm3", {f[0].volume, f[1].volume}},
        {"area_mm2", {f[0].area, f[1].area}},
        {"Euler", {f[0].euler, f[1].euler}},
        {"components", {f[0].components, f[1].components}},
        {"open_edges", {f[0].open_edges, f[1].open_edges}},
        {"crowded_edges", {f[0].crowded_edges, f[1].crowded_edges}},
        {"flipped_edges", {f[0].flipped_edges, f[1].flipped_edges}},
    };
    cli_print(cli, "%-20s %14s %14s\n", "", "A", "B");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (i < 4 || rows[i].value[0] > 0 || rows[i].value[1] > 0)
            cli_print(cli, "%-20s %14.8g %14.8g\n", rows[i].name, rows[i].value[0], rows[i].value[1]);
    for (int k = 0; k < 2; k++) {
        cJSON *one = cJSON_AddObjectToObject(to, names[k]);
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
            clvox_record_number(one, rows[i].name, rows[i].value[k]);
    }
}

static int surfaces(command *cli, char **files, int samples)
{
    int status = CLVOX_OK;
    clvox_surface *a = NULL, *b = NULL;
    clvox_surface_difference d;
    static const char *const ways[] = {"A_to_B", "B_to_A", "both"};
    CLI_TRY(cli_read_surface(cli, files[0], &a));
    CLI_TRY(cli_read_surface(cli, files[1], &b));
    CLI_TRY(clvox_surface_compare(a, b, samples, &d));
    cJSON *to = cJSON_AddObjectToObject(cli->log, "comparison");
    cli_print(cli, "%-20s %14s %14s %14s\n", "distance_mm", ways[0], ways[1], ways[2]);
    const struct {
        const char *name;
        const double *value;
    } rows[] = {{"mean", d.mean}, {"rms", d.rms}, {"percentile95", d.percentile95}, {"largest", d.largest}};
    for (int i = 0; i < 4; i++)
        cli_print(cli, "%-20s %14.8g %14.8g %14.8g\n", rows[i].name, rows[i].value[0], rows[i].value[1],
                  rows[i].value[2]);
    for (int way = 0; way < 3; way++) {
        cJSON *one = cJSON_AddObjectToObject(to, ways[way]);
        for (int i = 0; i < 4; i++) {
            char name[32];
            snprintf(name, sizeof name, "%s_mm", rows[i].name);
            clvox_record_number(one, name, rows[i].value[way]);
        }
    }
    row(cli, to, "normal_degrees", d.normal_degrees, "degrees");
    facts(cli, d.facts, to);
end:
    clvox_surface_destroy(&a);
    clvox_surface_destroy(&b);
    return status;
}

int cmd_compare(command *cli, int argc, char **argv)
{
    const char *mask_path = NULL;
    bool as_labels = false;
    int samples = 100000;
    parameters p;
    cli_option options[4 + MOST_PARAMETERS] = {
        {"labels", 0, CLI_FLAG, &as_labels, NULL, "A and B are label maps: overlap and distance by label"},
        {"mask", 0, CLI_TEXT, &mask_path, "FILE", "compare where this is above 0, on the grid of A"},
        {"samples", 0, CLI_INTEGER, &samples, "N", "sample points on each surface (default 100000)"},
    };
    list_parameters(&p);
    for (int i = 0; i < p.count; i++)
        options[3 + i] = (cli_option){p.name[i], 0, CLI_INTEGER, &p.value[i], "N", p.help[i]};
    const cli_usage usage = {
        .options = options,
        .least = 2,
        .most = 2,
    };
    clvox_volume *a = NULL, *b = NULL, *mask = NULL;
    char **files;
    int count, status = cli_parse(cli, &usage, argc, argv, &files, &count);
    if (status)
        return status;
    for (int i = 0; i < p.count; i++)
        if (p.value[i] < p.metric[i].least || p.value[i] > p.metric[i].most)
            return cli_misuse("--%s %d: from %d to %d", p.name[i], p.value[i], p.metric[i].least,
                              p.metric[i].most);
    if (samples < 1)
        return cli_misuse("--samples %d: at least 1", samples);
    bool surface[2] = {clvox_surface_is_file(files[0]), clvox_surface_is_file(files[1])};
    if (surface[0] != surface[1])
        return cli_misuse("%s is a surface, %s is not", files[surface[1]], files[surface[0]]);
    if (surface[0] && (as_labels || mask_path))
        return cli_misuse("--labels and --mask are for images: %s is a surface", files[0]);
    if (surface[0])
        return surfaces(cli, files, samples);
    const cli_input inputs[] = {{files[0], &a, as_labels ? CLI_AS_LABELS : 0},
                                {files[1], &b, as_labels ? CLI_AS_LABELS : 0},
                                {mask_path, &mask, CLI_AS_MASK}};
    CLI_TRY(cli_load(cli, inputs, 3, NULL, NULL, false));
    cJSON *to = cJSON_AddObjectToObject(cli->log, "comparison");
    if (as_labels)
        CLI_TRY(labels(cli, a, b, mask, to));
    else if (a->kind == CLVOX_KIND_DISPLACEMENT && b->kind == CLVOX_KIND_DISPLACEMENT)
        CLI_TRY(warps(cli, a, b, mask, to));
    else
        CLI_TRY(images(cli, a, b, mask, &p, to));
end:
    clvox_volume_destroy(&a);
    clvox_volume_destroy(&b);
    clvox_volume_destroy(&mask);
    return status;
}
