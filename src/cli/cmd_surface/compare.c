/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>

#include "cli/shapes.h"

enum { SAMPLES = 100000 };

static const char *const METHODS[] = {"exact", "mesh"};

/* How the sums were found. */
static void say_how(command *cli, const clvox_currents_report *r, const char *name, cJSON *to)
{
    cJSON_AddStringToObject(to, "method", METHODS[r->method]);
    if (r->method != CLVOX_CURRENTS_MESH)
        return;
    cli_print(cli,
              "%-20s by a particle mesh of %.4g mm, %d x %d x %d nodes, each sum within about %.1e of\n"
              "%-20s the mean of <A, A> and <B, B>\n",
              name, r->spacing, r->size[0], r->size[1], r->size[2], r->error, "");
    clvox_record_number(to, "spacing_mm", r->spacing);
    cJSON_AddItemToObject(to, "size", cJSON_CreateIntArray(r->size, 3));
    clvox_record_number(to, "error", r->error);
}

/* As currents and as varifolds; clouds have one product alone. */
static int products(command *cli, const clvox_shape *a, const clvox_shape *b,
                    const clvox_currents_options *options, cJSON *to)
{
    static const char *const units[] = {
        [CLVOX_SHAPE_CLOUD] = "share^2", [CLVOX_SHAPE_CURVES] = "mm^2", [CLVOX_SHAPE_SURFACE] = "mm^4"};
    const bool cloud = a->kind == CLVOX_SHAPE_CLOUD;
    const char *const names[] = {cloud ? "measure" : "currents", "varifold"};
    int status = CLVOX_OK;
    cli_print(cli, "%-20s %14s %14s %14s %14s\n", units[a->kind], "<A - B, A - B>", "<A, A>", "<B, B>",
              "<A, B>");
    for (int varifold = 0; varifold < (cloud ? 1 : 2); varifold++) {
        clvox_currents_options o = *options;
        clvox_currents_report report;
        clvox_surface_products p;
        o.varifold = varifold;
        CLI_TRY(clvox_shape_currents(cli->ctx, a, b, &o, &p, &report));
        cli_print(cli, "%-20s %14.8g %14.8g %14.8g %14.8g\n", names[varifold], p.squared_distance, p.aa, p.bb, p.ab);
        clvox_record_number(to, names[varifold], p.squared_distance);
        char name[32];
        snprintf(name, sizeof name, "%s_products", names[varifold]);
        cJSON *one = cJSON_AddObjectToObject(to, name);
        clvox_record_number(one, "AA", p.aa);
        clvox_record_number(one, "BB", p.bb);
        clvox_record_number(one, "AB", p.ab);
        say_how(cli, &report, names[varifold], one);
    }
end:
    return status;
}

/* Distances of curves and of clouds. */
static int distances_of(command *cli, const clvox_shape *a, const clvox_shape *b, cJSON *to)
{
    int status = CLVOX_OK;
    double mean[3], largest[3], size[2];
    const bool cloud = a->kind == CLVOX_SHAPE_CLOUD;
    CLI_TRY(clvox_shape_size(a, &size[0]));
    CLI_TRY(clvox_shape_size(b, &size[1]));
    CLI_TRY(clvox_shape_compare(a, b, SAMPLES, mean, largest));
    cli_print(cli, "%-20s %14.8g\n%-20s %14.8g\n", "mean_distance_mm", mean[2], "Hausdorff_mm", largest[2]);
    cli_print(cli, "%-20s %14.8g %14.8g\n", cloud ? "weight" : "length_mm", size[0], size[1]);
    clvox_record_number(to, "mean_distance_mm", mean[2]);
    clvox_record_number(to, "hausdorff_mm", largest[2]);
    clvox_record_number(to, cloud ? "weight_a" : "length_a_mm", size[0]);
    clvox_record_number(to, cloud ? "weight_b" : "length_b_mm", size[1]);
end:
    return status;
}

static int distances(command *cli, const clvox_shape *first, const clvox_shape *second, cJSON *to)
{
    int status = CLVOX_OK;
    clvox_surface_difference d;
    double dice = NAN;
    const clvox_surface surface[2] = {{first->vertices, first->elements, first->points, first->corners},
                                      {second->vertices, second->elements, second->points, second->corners}};
    const clvox_surface *a = &surface[0], *b = &surface[1];
    CLI_TRY(clvox_surface_compare(a, b, SAMPLES, &d));
    cli_print(cli, "%-20s %14.8g\n%-20s %14.8g\n", "mean_distance_mm", d.mean[2], "Hausdorff_mm", d.largest[2]);
    cli_print(cli, "%-20s %14.8g %14.8g\n", "volume_mm3", d.facts[0].volume, d.facts[1].volume);
    clvox_record_number(to, "mean_distance_mm", d.mean[2]);
    clvox_record_number(to, "hausdorff_mm", d.largest[2]);
    clvox_record_number(to, "volume_a_mm3", d.facts[0].volume);
    clvox_record_number(to, "volume_b_mm3", d.facts[1].volume);
    if (d.facts[0].open_edges || d.facts[1].open_edges) {
        cli_remark(cli, 0, "%s is open and encloses nothing: no Dice\n", d.facts[0].open_edges ? "A" : "B");
    } else {
        CLI_TRY(clvox_surface_overlap(a, b, &dice));
        cli_print(cli, "%-20s %14.6f\n", "Dice", dice);
    }
    clvox_record_number(to, "dice", dice);
end:
    return status;
}

int cmd_surface_compare(command *cli, int argc, char **argv)
{
    clvox_numbers width = {.count = 0};
    int method = CLVOX_CURRENTS_AUTO;
    int frames = CLI_FRAME_OF_FILE;
    double error = 1e-5;
    const cli_option options[] = {
        {"width", 0, CLI_NUMBERS, &width, "Nmm",
         "width of the kernel exp(-|x - y|^2 / width^2); smaller details hardly count"},
        {"method", 0, CLI_CHOICE, &method, "exact|mesh|auto",
         "sums over all pairs, or by a particle mesh, for large surfaces; default auto: the faster one"},
        {"error", 0, CLI_NUMBER, &error, "E",
         "mesh, auto: largest error of each sum, over the mean of <A, A> and <B, B> (default 1e-5)"},
        {"frames", 0, CLI_CHOICE, &frames, "auto|lps|ras",
         "frame of tables of points (auto: lps) and of files of surfaces and curves that state none (auto: "
         "ras)"},
        {0},
    };
    const cli_usage usage = {
        .options = options,
        .least = 2,
        .most = 2,
    };
    cli_shape_side side[2] = {{.shape = NULL}, {.shape = NULL}};
    const cli_shape_kind *kind[2];
    char **words;
    int count, status = cli_parse(cli, &usage, argc, argv, &words, &count);
    if (status)
        return status;
    if (width.count != 1 || width.unit == CLVOX_UNIT_VOXELS || !(width.value[0] > 0) ||
        !isfinite(width.value[0]))
        return cli_misuse("--width: one length above 0, as 5mm");
    if (!(error > 0 && error < 1))
        return cli_misuse("--error: a number above 0 and below 1, as 1e-3");
    const clvox_currents_options how = {
        .size = sizeof how,
        .width = width.value[0], .method = (clvox_currents_method)method, .error = error};
    for (int i = 0; i < 2; i++) {
        kind[i] = cli_shape_read_any(cli, words[i], (cli_frames)frames, &side[i]);
        CLI_TRY(kind[i] ? CLVOX_OK : CLVOX_ERROR_FORMAT);
    }
    if (kind[0] != kind[1]) {
        status = clvox_fail(CLVOX_ERROR_DATA, "%s holds %s and %s %s; two of one kind can be compared",
                            words[0], kind[0]->many, words[1], kind[1]->many);
        goto end;
    }
    const clvox_shape *a = side[0].shape, *b = side[1].shape;
    CLI_TRY(cli_open(cli));
    cJSON *to = cJSON_AddObjectToObject(cli->log, "result");
    cJSON_AddNumberToObject(to, "width_mm", width.value[0]);
    CLI_TRY(products(cli, a, b, &how, to));
    cJSON_AddStringToObject(to, "kind", kind[0]->option);
    CLI_TRY(a->kind == CLVOX_SHAPE_SURFACE ? distances(cli, a, b, to) : distances_of(cli, a, b, to));
end:
    for (int i = 0; i < 2; i++)
        cli_shape_side_free(&side[i]);
    return status;
}
