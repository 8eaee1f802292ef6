/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/bar.h"
#include "cli/cmd_surface/input.h"
#include "cli/cmd_surface/page.h"
#include "cli/page.h"

typedef struct request {
    const char *in, *out, *sdf;
    bool report;
    char *page; /* its file, NULL: none */
    clvox_level_set_source source;
    clvox_denoise_options options;
    const char *given[CLVOX_MAX_OPTIONS]; /* what was typed for the rows of clvox_denoise_table */
} request;

/* Seconds of what the library does not time. */
typedef struct stages {
    double read, write;
} stages;

static double smallest_edge(const clvox_grid *grid)
{
    double edge[3];
    clvox_grid_spacing(grid, edge);
    return fmin(edge[0], fmin(edge[1], edge[2]));
}

/* ---- plan and progress --------------------------------------------------- */

static void say_input(command *cli, const clvox_level_set *set)
{
    const char *kind = set->from_surface ? "mesh" : set->inside.text;
    const clvox_surface_facts *f = &set->notes.facts;
    const clvox_grid *grid = &set->distance->grid;
    double edge[3];
    clvox_grid_spacing(grid, edge);
    cli_remark(cli, 0, "input    %s, %d x %d x %d voxels of %.4g x %.4g x %.4g mm\n", kind,
               grid->size[0], grid->size[1], grid->size[2], edge[0], edge[1], edge[2]);
    cJSON *in = cJSON_AddObjectToObject(cli->log, "input");
    cJSON_AddStringToObject(in, "kind", kind);
    clvox_record_grid(in, "grid", grid);
    if (!set->from_surface)
        return;
    cJSON_AddNumberToObject(in, "open_edges", f->open_edges);
    cJSON_AddNumberToObject(in, "crowded_edges", f->crowded_edges);
    cJSON_AddNumberToObject(in, "flipped_edges", f->flipped_edges);
    cJSON_AddNumberToObject(in, "components", f->components);
    cJSON_AddNumberToObject(in, "euler", f->euler);
    cJSON_AddNumberToObject(in, "volume_mm3", f->volume);
    cJSON_AddBoolToObject(in, "turned", set->notes.turned);
    cJSON_AddBoolToObject(in, "crossing", set->notes.crossing);
    cJSON_AddBoolToObject(in, "coarse", set->coarse);
    if (set->coarse)
        cli_remark(cli, 0, "the triangles are large against the shape: its volume is kept\n");
    if (f->open_edges)
        cli_remark(cli, 0, "the mesh is open at %d edges; the winding number decides what lies inside\n",
                   f->open_edges);
    if (f->flipped_edges)
        cli_remark(
            cli, 0,
            "triangles face opposite ways across %d edges; the winding number decides what is inside\n",
            f->flipped_edges);
    if (set->notes.turned)
        cli_remark(cli, 0, "the mesh faces inward and was flipped\n");
    if (set->notes.crossing)
        cli_remark(cli, 0, "parts of the mesh lie inside others: their union is taken\n");
}

static void say_plan(command *cli, const request *r, const clvox_denoise_plan *plan)
{
    static const double WORTH_SAYING = 2;
    char needed[32], free_text[32], all[32];
    const clvox_device_limits *limits = clvox_context_limits(cli->ctx);
    const clvox_denoise_options *o = &r->options;
    cli_remark(cli, 0, "plan     about %d voxels within %.4g of the surface, in a box of %d x %d x %d\n",
               plan->band_voxels, o->band, plan->size[0], plan->size[1], plan->size[2]);
    cli_remark(cli, 0, "         patches of %d x %d x %d, %d neighbours, by %s\n", o->patch, o->patch,
               o->patch,
               o->neighbours, o->update == CLVOX_DENOISE_PAPER ? "the paper's steps" : "whole patches");
    cli_remark(cli, 0, "device   %s: up to %s needed of %s%s%s\n", limits->name,
               cli_bytes((double)plan->device_bytes, needed), cli_bytes((double)limits->global_bytes, all),
               limits->free_bytes ? ", free now: " : "",
               limits->free_bytes ? cli_bytes((double)limits->free_bytes, free_text) : "");
    if (plan->search_seconds > WORTH_SAYING)
        cli_remark(cli, 0, "         the search for similar patches takes about %.0f s%s\n",
                   plan->search_seconds,
                   o->search == CLVOX_DENOISE_NEAR || plan->search_seconds < 60
                       ? ""
                       : "; --search radius is far quicker");
    cJSON *to = cJSON_AddObjectToObject(cli->log, "plan");
    cJSON_AddNumberToObject(to, "band_voxels", plan->band_voxels);
    cJSON_AddNumberToObject(to, "device_bytes", (double)plan->device_bytes);
    cJSON_AddNumberToObject(to, "search_seconds", plan->search_seconds);
}

/* ---- the report --------------------------------------------------------- */

static const char *plural(int count)
{
    return count == 1 ? "" : "s";
}

static void report_topology(command *cli, const clvox_denoise_kept *t)
{
    cJSON *to = cJSON_AddObjectToObject(cli->log, "topology");
    cli_print(cli, "%-20s %d component%s, Euler characteristic %d", "before", t->components_before,
              plural(t->components_before), t->euler_before);
    if (t->components_before != t->components_on_grid || t->euler_before != t->euler_on_grid)
        cli_print(cli, "; on the grid %d component%s, %d", t->components_on_grid,
                  plural(t->components_on_grid),
                  t->euler_on_grid);
    cli_print(cli, "\n%-20s ", "topology");
    if (!t->kept && t->simplified)
        cli_print(cli, "loops and islands caused by noise removed, %ld voxels\n", t->simplified);
    else if (!t->kept)
        cli_print(cli, "free to change\n");
    else if (!t->refined)
        cli_print(cli, "kept\n");
    else if (t->missed)
        cli_print(cli, "kept, except where parts are narrower than 1/%d of a voxel\n", t->refined);
    else
        cli_print(cli, "kept on a grid %d times as fine, %ld of its voxels held\n", t->refined, t->held);
    cJSON_AddBoolToObject(to, "kept", t->kept && !t->missed);
    cJSON_AddNumberToObject(to, "components_before", t->components_before);
    cJSON_AddNumberToObject(to, "euler_before", t->euler_before);
    cJSON_AddNumberToObject(to, "components_on_grid", t->components_on_grid);
    cJSON_AddNumberToObject(to, "euler_on_grid", t->euler_on_grid);
    cJSON_AddNumberToObject(to, "components_if_free", t->components_if_free);
    cJSON_AddNumberToObject(to, "euler_if_free", t->euler_if_free);
    cJSON_AddNumberToObject(to, "refined", t->refined);
    cJSON_AddNumberToObject(to, "held_voxels", (double)t->held);
    cJSON_AddNumberToObject(to, "simplified_voxels", (double)t->simplified);
}

static void report(command *cli, const clvox_denoise_result *r, const stages *s)
{
    const clvox_surface *mesh = r->surface;
    const clvox_surface_facts *f = &r->facts;
    char bytes[32];
    double change = r->volume_before > 0 ? 100 * (f->volume / r->volume_before - 1) : 0;
    cli_print(cli, "%-20s %zu vertices, %zu triangles, %d component%s, Euler characteristic %d\n", "surface",
              mesh->vertices, mesh->triangles, f->components, plural(f->components), f->euler);
    report_topology(cli, &r->topology);
    cli_print(cli, "%-20s before %.6g mm^3, after %.6g mm^3 (%+.3f%%), area %.6g mm^2\n", "volume",
              r->volume_before, f->volume, change, f->area);
    cli_print(cli, "%-20s mean %.4g mm, largest %.4g mm; level shifted by %.4g mm\n", "movement", r->mean_mm,
              r->largest_mm, r->shift_mm);
    cli_print(cli, "%-20s %.3g voxels (patches %.4g from quadratic, %.4g from the nearest), c2 %.4g\n",
              "noise",
              r->deviation, r->noise, r->nearest, r->c2);
    cli_print(cli, "%-20s %d voxels, %d neighbours each, %d round%s", "band", r->band_voxels, r->neighbours,
              r->rounds, r->rounds == 1 ? "" : "s");
    cli_print(cli, r->steps ? ", %d steps\n" : "\n", r->steps);
    if (!isnan(r->energy[0]))
        cli_print(cli, "%-20s before %.6g, after %.6g\n", "energy", r->energy[0], r->energy[1]);
    cli_print(cli, "%-20s open and read %.3f, prepare %.3f, search %.3f, update %.3f, re-distance %.3f,\n",
              "seconds", s->read, r->seconds_prepare, r->seconds_search, r->seconds_update,
              r->seconds_redistance);
    cli_print(cli, "%-20s finish %.3f, mesh %.3f, write %.3f, all %.3f\n", "", r->seconds_finish,
              r->seconds_mesh,
              s->write, cli_seconds() - cli->started);
    cli_print(cli, "%-20s %s\n", "peak device memory", cli_bytes((double)r->device_bytes, bytes));
    if (r->not_finite)
        cli_remark(cli, 0, "%ld values of the input are not finite and count as outside\n", r->not_finite);
    cJSON *to = cJSON_AddObjectToObject(cli->log, "result");
    cJSON_AddNumberToObject(to, "vertices", (double)mesh->vertices);
    cJSON_AddNumberToObject(to, "triangles", (double)mesh->triangles);
    cJSON_AddNumberToObject(to, "components", f->components);
    cJSON_AddNumberToObject(to, "euler", f->euler);
    cJSON_AddNumberToObject(to, "open_edges", f->open_edges);
    clvox_record_number(to, "area_mm2", f->area);
    clvox_record_number(to, "volume_before_mm3", r->volume_before);
    clvox_record_number(to, "volume_after_mm3", f->volume);
    clvox_record_number(to, "mean_movement_mm", r->mean_mm);
    clvox_record_number(to, "largest_movement_mm", r->largest_mm);
    clvox_record_number(to, "level_shift_mm", r->shift_mm);
    cJSON_AddBoolToObject(to, "placed", r->placed);
    clvox_record_number(to, "noise_voxels", r->deviation);
    clvox_record_number(to, "patch_residual", r->noise);
    clvox_record_number(to, "nearest_distance", r->nearest);
    clvox_record_number(to, "c2", r->c2);
    cJSON_AddNumberToObject(to, "band_voxels", r->band_voxels);
    cJSON_AddNumberToObject(to, "neighbours", r->neighbours);
    cJSON_AddNumberToObject(to, "rounds", r->rounds);
    cJSON_AddNumberToObject(to, "steps", r->steps);
    clvox_record_number(to, "energy_before", r->energy[0]);
    clvox_record_number(to, "energy_after", r->energy[1]);
    cJSON_AddNumberToObject(to, "values_not_finite", (double)r->not_finite);
    cJSON_AddNumberToObject(to, "peak_device_bytes", (double)r->device_bytes);
    cJSON *seconds = cJSON_AddObjectToObject(cli->log, "seconds_by_stage");
    cJSON_AddNumberToObject(seconds, "read", s->read);
    cJSON_AddNumberToObject(seconds, "prepare", r->seconds_prepare);
    cJSON_AddNumberToObject(seconds, "search", r->seconds_search);
    cJSON_AddNumberToObject(seconds, "update", r->seconds_update);
    cJSON_AddNumberToObject(seconds, "redistance", r->seconds_redistance);
    cJSON_AddNumberToObject(seconds, "finish", r->seconds_finish);
    cJSON_AddNumberToObject(seconds, "mesh", r->seconds_mesh);
    cJSON_AddNumberToObject(seconds, "write", s->write);
}

/* ---- the work ----------------------------------------------------------- */

static int run(command *cli, request *r)
{
    int status = CLVOX_OK;
    clvox_level_set level_set = {.distance = NULL};
    clvox_denoise_plan plan;
    clvox_denoise_result result = {.distance = NULL};
    stages s = {0};
    double mark = cli_seconds();
    cli_bar bar;
    r->source.whole = r->options.distance = r->sdf || clvox_volume_ending(r->out);
    CLI_TRY(clvox_volume_ending(r->out) ? clvox_volume_check_name(r->out) : clvox_surface_check_name(r->out));
    if (r->sdf)
        CLI_TRY(clvox_volume_check_name(r->sdf));
    CLI_TRY(cli_level_set(cli, r->in, &r->source, &level_set));
    s.read = cli_seconds() - mark;
    CLI_TRY(cli_read_fields(clvox_denoise_table(), r->given, smallest_edge(&level_set.distance->grid),
                            &r->options));
    say_input(cli, &level_set);
    clvox_record_fields(cJSON_AddObjectToObject(cli->log, "options"), clvox_denoise_table(), &r->options);
    if ((status = clvox_denoise_predict(cli->ctx, &level_set, &r->options, &plan)) == CLVOX_ERROR_DATA)
        clvox_fail_in(status, r->in);
    if (status < 0)
        goto end;
    say_plan(cli, r, &plan);
    cli_bar_begin(&bar, cli);
    r->options.progress = cli_bar_stage;
    r->options.user = &bar;
    status = clvox_surface_denoise(cli->ctx, &level_set, &r->options, &result);
    cli_bar_end(&bar);
    if (status >= 0 && cli_interrupted())
        status = clvox_fail(CLVOX_ERROR_STOPPED, "interrupted");
    if (status == CLVOX_ERROR_DATA)
        clvox_fail_in(status, r->in);
    if (status < 0)
        goto end;
    mark = cli_seconds();
    if (clvox_volume_ending(r->out))
        CLI_TRY(cli_write_volume(cli, result.distance, r->out));
    else
        CLI_TRY(cli_write_surface(cli, result.surface, r->out));
    if (r->sdf)
        CLI_TRY(cli_write_volume(cli, result.distance, r->sdf));
    s.write = cli_seconds() - mark;
    report(cli, &result, &s);
    if (r->page)
        CLI_TRY(cli_surface_page(cli, level_set.distance, &result, &r->options, r->in, r->page));
    CLI_TRY(cli_profile(cli));
end:
    clvox_level_set_destroy(&level_set);
    clvox_denoise_result_destroy(&result);
    return status;
}

int cmd_surface_denoise(command *cli, int argc, char **argv)
{
    request r = {.in = NULL};
    clvox_numbers voxel = {.count = 0};
    const char *label = NULL;
    clvox_level_set_source_defaults(&r.source);
    clvox_denoise_defaults(&r.options);
    const cli_option options[] = {
        {"output", 'o', CLI_OUT, &r.out, "OUT", "the mesh to write, or a signed distance (.nii, .nii.gz, .mgz, .mgh, .mha)"},
        {"sdf", 0, CLI_OUT, &r.sdf, "FILE", "also write the signed distance, mm, negative inside"},
        {"report", 0, CLI_FLAG, &r.report, NULL,
         "also write OUT_report.html, one page to judge the result by in a browser"},
        {"label", 0, CLI_TEXT, &label, "N", "IN is a label map: the surface of label N"},
        {"iso", 0, CLI_NUMBER, &r.source.iso, "VALUE", "IN is an image: the surface where it crosses VALUE"},
        {"voxel", 0, CLI_NUMBERS, &voxel, "Nmm",
         "IN is a mesh: voxel size of the working grid (default: 0.7 of its typical edge; the whole edge if "
         "it shows voxel steps; less if its triangles are large against its shape)",
         .kinds = "meshes"},
        {0},
    };
    const cli_usage usage = {
        .options = options,
        .table = clvox_denoise_table(),
        .given = r.given,
        .least = 1,
        .most = 1,
        .kind = cli_surface_kind,
    };
    char **in;
    int count, status = cli_parse(cli, &usage, argc, argv, &in, &count);
    if (status)
        return status;
    if (!r.out)
        return cli_misuse("-o OUT is missing");
    if (label && !isnan(r.source.iso))
        return cli_misuse("--label and --iso: one or the other");
    if ((status = cli_surface_label(label, &r.source.label)))
        return status;
    if (r.sdf && !clvox_volume_ending(r.sdf))
        return cli_misuse("--sdf %s: a signed distance is written as a volume, give a name as .nii.gz", r.sdf);
    if (voxel.count > 1 || (voxel.count && (voxel.unit == CLVOX_UNIT_VOXELS || !(voxel.value[0] > 0))))
        return cli_misuse("--voxel: one length above 0, as 1mm");
    r.source.voxel = voxel.count ? voxel.value[0] : 0;
    if ((status = cli_read_fields(clvox_denoise_table(), r.given, 0, &r.options)))
        return status;
    if ((status = cli_refuse_idle(clvox_denoise_table(), r.given, &r.options)))
        return status;
    r.in = in[0];
    if (r.report)
        CLI_TRY(cli_page_claim(cli, r.out, &r.page));
    status = run(cli, &r);
end:
    free(r.page);
    return status;
}
