/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cmd_register/report.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cmd_register/options.h"
#include "clvox/compare.h"

static const char *metric_name(clvox_metric metric)
{
    clvox_metric_text text;
    return clvox_metric_describe((int)metric, &text) ? text.name : "";
}

/* Above 0 where they are a term of the deformation. */
static double weight_of(const clvox_register_options *o, const char *option, double weight)
{
    return clvox_deform_takes(o->deform, option) ? weight : 0;
}

static double weight_of_landmarks(const clvox_register_options *o)
{
    return weight_of(o, "points-weight", o->points_weight);
}

static double weight_of_posteriors(const clvox_register_options *o)
{
    return weight_of(o, "posteriors-weight", o->posteriors_weight);
}

/* ---- the plan ----------------------------------------------------------- */

static void print_grid(const command *cli, const char *name, const clvox_grid *grid)
{
    double edge[3];
    clvox_grid_spacing(grid, edge);
    cli_remark(cli, 0, "%-8s %d x %d x %d voxels of %.4g x %.4g x %.4g mm\n", name, grid->size[0],
               grid->size[1], grid->size[2], edge[0], edge[1], edge[2]);
}

void cli_plan_memory(command *cli, size_t bytes, cJSON *plan)
{
    char needed[32], all[32], free_text[32];
    const clvox_device_limits *limits = clvox_context_limits(cli->ctx);
    cli_remark(cli, 0, "device   %s: up to %s needed of %s%s%s\n", limits->name,
               cli_bytes((double)bytes, needed), cli_bytes((double)limits->global_bytes, all),
               limits->free_bytes ? ", free now: " : "",
               limits->free_bytes ? cli_bytes((double)limits->free_bytes, free_text) : "");
    clvox_record_memory(plan, cli->ctx, bytes);
}

void cli_plan_file(command *cli, const char *path, cJSON *plan)
{
    cJSON *list = cJSON_GetObjectItem(plan, "files");
    cli_print(cli, "%s\n", path);
    cJSON_AddItemToArray(list ? list : cJSON_AddArrayToObject(plan, "files"), cJSON_CreateString(path));
}

void cli_plan_files(command *cli, const char *prefix, const clvox_end *ends, cJSON *plan)
{
    char path[PATH_MAX];
    for (; ends->end; ends++)
        if (ends->written) {
            snprintf(path, sizeof path, "%s%s", prefix, ends->end);
            cli_plan_file(cli, path, plan);
        }
}

int cli_register_plan(command *cli, const clvox_register_images *images,
                      const clvox_register_options *options)
{
    static const char *const starts[] = {"headers, centres and rotations", "world coordinates as they are",
                                         "world coordinates as they are",  "centres of the grids",
                                         "images' centres and rotations",  "the given affine"};
    clvox_register_plan p;
    clvox_deform_text model;
    char by[32];
    int status = clvox_register_predict(images, options, &p);
    if (status < 0)
        return status;
    clvox_metric_says(options, options->linear_metric, 1, by);
    clvox_deform_describe((int)options->deform, &model);
    const bool alone = images->grid != NULL, tissues = images->channels == 0 && !alone;
    const clvox_grid *fixed = alone     ? images->grid
                              : tissues ? &images->fixed_posteriors->grid
                                        : &images->fixed[0]->grid;
    const clvox_grid *moving = alone     ? images->grid
                               : tissues ? &images->moving_posteriors->grid
                                         : &images->moving[0]->grid;
    if (tissues || alone)
        snprintf(by, sizeof by, alone ? "shapes" : "posteriors");
    print_grid(cli, alone ? "grid" : "fixed", fixed);
    if (!alone)
        print_grid(cli, "moving", moving);
    if (images->channels > 1)
        cli_remark(cli, 0, "channels %d\n", images->channels);
    cli_remark(cli, 0, "plan     %s%s%s%s%s, then %s%s\n", starts[options->init], options->linear ? ", " : "",
               options->linear ? cli_option_word(clvox_register_table(), "linear", (int)options->linear) : "",
               options->linear ? " by " : "", options->linear ? by : "", options->deform ? model.name : "no",
               options->deform ? "" : " deformation");
    if (p.exchanged)
        cli_remark(cli, 0, "order    from the moving image, inverted at the end\n");
    if (!tissues && !alone)
        clvox_metric_says(options, options->metric, 0, by);
    char more[128] = "";
    for (int i = 0; i < options->besides && !tissues && !alone; i++)
        snprintf(more + strlen(more), sizeof more - strlen(more), " + %s", metric_name(options->beside[i]));
    for (int i = 0; i < options->channel_metrics; i++)
        snprintf(more + strlen(more), sizeof more - strlen(more), " / %s",
                 metric_name(options->channel_metric[i]));
    for (int i = 0; i < p.levels; i++)
        cli_remark(cli, 0, "level %d  %d x %d x %d, up to %d iterations of %s%s\n", i + 1, p.size[i][0],
                   p.size[i][1], p.size[i][2], options->iterations[i], by, more);
    cli_plan_memory(cli, p.bytes, clvox_record_plan(cli->log, fixed, moving));
    return CLVOX_OK;
}

/* ---- progress ----------------------------------------------------------- */

void cli_progress_begin(cli_progress *progress, command *cli, const clvox_register_options *options,
                        const clvox_register_images *images)
{
    const bool points = images->points > 0 && weight_of_landmarks(options) > 0;
    const char *shapes = NULL; /* of one kind */
    int kinds = 0;
    for (int k = 0; k < CLI_SHAPE_KINDS; k++)
        for (int i = 0;
             i < images->shapes && clvox_register_shape_weight(options, cli_shape_kinds[k].kind) > 0; i++)
            if (images->fixed_shapes[i]->kind == cli_shape_kinds[k].kind) {
                shapes = cli_shape_kinds[k].many;
                kinds++;
                break;
            }
    const bool nothing = images->grid != NULL, alone = images->channels == 0 && !nothing;
    const bool tissues = !alone && images->fixed_posteriors && weight_of_posteriors(options) > 0;
    *progress = (cli_progress){.options = options, .name = alone ? "posteriors" : NULL};
    const char *with = points + kinds + tissues > 1 ? "anatomy"
                       : points                     ? "landmarks"
                       : tissues                    ? "posteriors"
                                                    : shapes;
    if (nothing)
        progress->name = with ? with : "nothing";
    else
        snprintf(progress->more, sizeof progress->more, "%s%s", with ? " and " : "", with ? with : "");
    progress->trace = cJSON_AddArrayToObject(cli->log, "trace");
    cli_bar_begin(&progress->bar, cli);
}

int cli_register_progress(void *user, const clvox_step *step)
{
    cli_progress *p = user;
    const int level = step->level, iteration = step->iteration;
    int iterations = p->options->iterations[level];
    const int passes = clvox_record_look(p->trace, step);
    const bool last = p->bar.terminal && iteration == iterations; /* of the level */
    if (cli_bar_due(&p->bar, step->fraction) || last) {
        char text[120], pass[24] = "";
        const char *name = p->name                   ? p->name
                           : p->options->by_contrast ? "metric"
                                                     : metric_name(p->options->metric);
        if (passes > 1)
            snprintf(pass, sizeof pass, "pass %d, ", passes);
        if (p->bar.terminal)
            snprintf(text, sizeof text, "%slevel %d/%d %4d/%d  %s%s %.6g", pass, level + 1,
                     p->options->levels, iteration, iterations, name, p->more, step->metric);
        else
            snprintf(text, sizeof text, "%slevel %d, iteration %d of %d: %s%s %.6g", pass, level + 1,
                     iteration, iterations, name, p->more, step->metric);
        cli_bar_show(&p->bar, step->fraction, text);
    }
    return cli_interrupted();
}

/* ---- the report --------------------------------------------------------- */

static void print_stages(const command *cli, const char *name, double before, double linear, double after)
{
    cli_print(cli, "%-20s before %.6g, after the linear part %.6g, at the end %.6g\n", name, before, linear,
              after);
}

static void print_deformation(const command *cli, const clvox_register_options *o,
                              const clvox_register_result *r)
{
    clvox_metric_text metric;
    if (clvox_metric_describe((int)o->metric, &metric) && metric.compares_values && !isnan(r->mismatch))
        cli_print(cli, "%-20s %.6g of the squares after the linear part\n", "mismatch left", r->mismatch);
    cli_print(cli, "%-20s largest %.4g mm, mean %.4g mm\n", "displacement", r->largest_mm, r->mean_mm);
    cli_print(cli, "%-20s smallest %.4g, largest %.4g, mean log %.4g, sd log %.4g\n", "Jacobian",
              r->jacobian.smallest, r->jacobian.largest, r->jacobian.mean_log, r->jacobian.sd_log);
    cli_print(cli, "%-20s %ld of %ld\n", "folded voxels", r->jacobian.folded, r->jacobian.voxels);
    if (!isnan(r->inverse_error_mm[0]))
        cli_print(cli, "%-20s largest %.4g mm, mean %.4g mm (%.3g and %.3g voxels)\n", "inverse consistency",
                  r->inverse_error_mm[0], r->inverse_error_mm[1], r->inverse_error_voxels[0],
                  r->inverse_error_voxels[1]);
    if (o->warp_type == CLVOX_WARP_ROUNDED)
        cli_print(cli, "%-20s up to %.4f mm\n", "rounding of warps", r->warp_rounding_mm);
    cli_print(cli, "%-20s", "iterations");
    for (int i = 0; i < o->levels; i++)
        cli_print(cli, " %d of %d%s", r->iterations[i], o->iterations[i], i + 1 < o->levels ? "," : "\n");
}

void cli_register_report(command *cli, const clvox_pair_work *w)
{
    const clvox_register_options *o = &w->options;
    const clvox_register_result *r = &w->result;
    char bytes[32], metric[32];
    bool linear = o->deform == CLVOX_DEFORM_NONE;
    if (!linear && r->metric != o->metric && r->warped)
        cli_remark(cli, 0, "contrasts differ: compared by %s instead of %s; --metric chooses\n",
                   metric_name(r->metric), metric_name(o->metric));
    if (r->warped)
        clvox_metric_says(o, r->metric, linear, metric);
    else
        snprintf(metric, sizeof metric, "ssd of roots");
    if (!isnan(r->metric_before)) { /* there are images or posteriors */
        print_stages(cli, metric, r->metric_before, r->metric_linear, r->metric_after);
        print_stages(cli, "correlation", r->ncc_before, r->ncc_linear, r->ncc_after);
    }
    const clvox_affine_parts *p = &r->parts;
    if (!isnan(p->scale[0])) {
        cli_print(cli, "%-20s rotation %.2f %.2f %.2f degrees, shift %.2f %.2f %.2f mm\n", "linear part",
                  p->rotation_degrees[0], p->rotation_degrees[1], p->rotation_degrees[2], p->shift_mm[0],
                  p->shift_mm[1], p->shift_mm[2]);
        cli_print(cli, "%-20s scale %.3f %.3f %.3f, shear %.3f %.3f %.3f\n", "", p->scale[0], p->scale[1],
                  p->scale[2], p->shear[0], p->shear[1], p->shear[2]);
    }
    if (!linear)
        print_deformation(cli, o, r);
    cli_print(cli, "%-20s open and read %.3f, prepare %.3f, linear %.3f, deform %.3f, ", "seconds",
              w->read, r->seconds_prepare, r->seconds_linear, r->seconds_deform);
    cli_print(cli, "finish %.3f, write %.3f, all %.3f\n", r->seconds_finish, w->write,
              cli_seconds() - cli->started);
    cli_print(cli, "%-20s %s\n", "peak device memory", cli_bytes((double)r->device_bytes, bytes));
    clvox_record_result(cli->log, o, r, w->read, w->write);
}

void cli_register_slice(command *cli, const clvox_grid *fixed, const clvox_grid *moving,
                        const clvox_register_result *r)
{
    int axis;
    double at;
    const int side = clvox_record_slice(cli->log, fixed, moving, r, &axis, &at);
    if (side < 0)
        return;
    cli_remark(
        cli, 0,
        "the %s image is one slice: it was compared with slice %.4g of 0 to %d of the %s image (axis %c), "
        "where headers or centres put it; others were not tried: --init FILE chooses\n",
        side ? "moving" : "fixed", at, (side ? fixed : moving)->size[axis] - 1, side ? "fixed" : "moving",
        'i' + axis);
}

void cli_register_landmarks(command *cli, int count, const clvox_landmark_errors *e,
                            const clvox_register_options *o)
{
    print_stages(cli, "landmarks, mean mm", e->mean_before, e->mean_linear, e->mean_after);
    print_stages(cli, "landmarks, largest", e->largest_before, e->largest_linear, e->largest_after);
    const double weight = weight_of_landmarks(o);
    if (weight > 0)
        print_stages(cli, "landmarks, term", -weight * e->square_before, -weight * e->square_linear,
                     -weight * e->square_after);
    cJSON *to = cJSON_AddObjectToObject(cJSON_GetObjectItem(cli->log, "result"), "landmarks");
    cJSON_AddNumberToObject(to, "count", count);
    clvox_record_number(to, "mean_before_mm", e->mean_before);
    clvox_record_number(to, "mean_linear_mm", e->mean_linear);
    clvox_record_number(to, "mean_after_mm", e->mean_after);
    clvox_record_number(to, "largest_before_mm", e->largest_before);
    clvox_record_number(to, "largest_linear_mm", e->largest_linear);
    clvox_record_number(to, "largest_after_mm", e->largest_after);
    clvox_record_number(to, "weight", weight);
    if (!(weight > 0))
        return;
    clvox_record_number(to, "term_before", -weight * e->square_before);
    clvox_record_number(to, "term_linear", -weight * e->square_linear);
    clvox_record_number(to, "term_after", -weight * e->square_after);
}

void cli_register_boundary(command *cli, const clvox_boundary_result *b)
{
    const char *contrast = b->contrast == CLVOX_BOUNDARY_T1 ? "t1" : "t2";
    cli_print(cli, "boundary             cost %.3f to %.3f over %d of %d points, %s, moved %.2f mm\n",
              b->cost_before, b->cost_after, b->counted, b->points, contrast, b->moved_mm);
    clvox_record_boundary(cli->log, b);
}

void cli_register_posteriors_plan(command *cli, const clvox_posteriors *p)
{
    cJSON *to = cJSON_AddObjectToObject(cli->log, "posteriors"),
          *numbers = cJSON_AddArrayToObject(to, "tissues");
    cli_remark(cli, 0, "tissues  %d in both", p->tissues);
    for (int k = 0; k < p->tissues; k++) {
        cli_remark(cli, 0, "%s%lld", k ? "," : ": ", (long long)p->tissue[k]);
        cJSON_AddItemToArray(numbers, cJSON_CreateNumber((double)p->tissue[k]));
    }
    cli_remark(cli, 0, "; on average %g and %g of a voxel belong to none of them\n", p->rest[0], p->rest[1]);
    for (int side = 0; side < 2; side++)
        if (p->left_out[side])
            cli_remark(cli, 0,
                       "tissues  %d of the %s image's are missing in the other and count as no tissue\n",
                       p->left_out[side], side ? "moving" : "fixed");
    cJSON_AddItemToObject(to, "certain", cJSON_CreateDoubleArray(p->certain, 2));
    cJSON_AddItemToObject(to, "rest", cJSON_CreateDoubleArray(p->rest, 2));
    cJSON_AddItemToObject(to, "left_out", cJSON_CreateIntArray(p->left_out, 2));
}

void cli_register_posteriors(command *cli, const clvox_posteriors *p, const clvox_posteriors_errors *e,
                             const clvox_register_options *o)
{
    const double weight = weight_of_posteriors(o);
    cJSON *to = cJSON_AddObjectToObject(cJSON_GetObjectItem(cli->log, "result"), "posteriors");
    print_stages(cli, "posteriors, distance", e->hellinger_before, e->hellinger_linear, e->hellinger_after);
    clvox_record_number(to, "hellinger_before", e->hellinger_before);
    clvox_record_number(to, "hellinger_linear", e->hellinger_linear);
    clvox_record_number(to, "hellinger_after", e->hellinger_after);
    cJSON *all = cJSON_AddArrayToObject(to, "tissue");
    for (int k = 0; k < p->tissues; k++) {
        cJSON *one = cJSON_CreateObject();
        char name[64];
        snprintf(name, sizeof name, "tissue %lld, overlap", (long long)p->tissue[k]);
        print_stages(cli, name, e->overlap_before[k], e->overlap_linear[k], e->overlap_after[k]);
        cJSON_AddItemToArray(all, one);
        cJSON_AddNumberToObject(one, "number", (double)p->tissue[k]);
        clvox_record_number(one, "overlap_before", e->overlap_before[k]);
        clvox_record_number(one, "overlap_linear", e->overlap_linear[k]);
        clvox_record_number(one, "overlap_after", e->overlap_after[k]);
    }
    clvox_record_number(to, "weight", weight);
    if (!(weight > 0))
        return;
    print_stages(cli, "posteriors, term", -weight * e->hellinger_before, -weight * e->hellinger_linear,
                 -weight * e->hellinger_after);
    clvox_record_number(to, "term_before", -weight * e->hellinger_before);
    clvox_record_number(to, "term_linear", -weight * e->hellinger_linear);
    clvox_record_number(to, "term_after", -weight * e->hellinger_after);
}

/* How the sums of a term were found, where not all of them are over all pairs. */
static void report_sums(command *cli, const char *name, const clvox_shape_sums *sums, cJSON *to)
{
    cJSON_AddStringToObject(to, "sums", sums->by_mesh ? "mesh" : "exact");
    cJSON_AddBoolToObject(to, "no_room_for_mesh", sums->no_room);
    if (sums->no_room && !sums->by_mesh)
        cli_print(cli, "%-20s over all pairs: too little device memory for a particle mesh\n", name);
    if (!sums->by_mesh)
        return;
    cli_print(cli,
              "%-20s by a particle mesh on %d of %d levels, at the end of %.4g mm, %d x %d x %d nodes;\n"
              "%-20s the energy within %.1e of all pairs, its derivative within %.1e%s%s\n",
              name, sums->by_mesh, sums->levels, sums->spacing, sums->size[0], sums->size[1], sums->size[2],
              "", sums->error, sums->derivative_error,
              sums->left ? "; it left the grid, and went on by all pairs" : "",
              sums->no_room ? "; too little device memory on the other levels" : "");
    cJSON_AddNumberToObject(to, "levels", sums->levels);
    cJSON_AddNumberToObject(to, "levels_by_mesh", sums->by_mesh);
    clvox_record_number(to, "spacing_mm", sums->spacing);
    cJSON_AddItemToObject(to, "size", cJSON_CreateIntArray(sums->size, 3));
    clvox_record_number(to, "error", sums->error);
    clvox_record_number(to, "derivative_error", sums->derivative_error);
    cJSON_AddNumberToObject(to, "left_the_grid", sums->left);
}

/* Those of one kind, of which there are some. */
static void report_kind(command *cli, const cli_shape *shapes, int count, const cli_shape_kind *kind,
                        const clvox_shape_sums *sums, double weight)
{
    double sum[3] = {0, 0, 0};
    int alike = 0;
    char term[64];
    cJSON *to = cJSON_AddObjectToObject(cJSON_GetObjectItem(cli->log, "result"), kind->many);
    cJSON *all = cJSON_AddArrayToObject(to, kind->option);
    for (int i = 0; i < count; i++) {
        const clvox_shape_errors *e = &shapes[i].errors;
        cJSON *one;
        char name[64];
        if (shapes[i].kind != kind)
            continue;
        snprintf(name, sizeof name, "%s %d, mean mm", kind->option, ++alike);
        print_stages(cli, name, e->mean_before, e->mean_linear, e->mean_after);
        snprintf(name, sizeof name, "%s %d, largest", kind->option, alike);
        print_stages(cli, name, e->largest_before, e->largest_linear, e->largest_after);
        one = cJSON_CreateObject();
        cJSON_AddItemToArray(all, one);
        clvox_record_number(one, "mean_before_mm", e->mean_before);
        clvox_record_number(one, "mean_linear_mm", e->mean_linear);
        clvox_record_number(one, "mean_after_mm", e->mean_after);
        clvox_record_number(one, "largest_before_mm", e->largest_before);
        clvox_record_number(one, "largest_linear_mm", e->largest_linear);
        clvox_record_number(one, "largest_after_mm", e->largest_after);
        clvox_record_number(one, "energy_before", e->energy_before);
        clvox_record_number(one, "energy_linear", e->energy_linear);
        clvox_record_number(one, "energy_after", e->energy_after);
        clvox_record_number(one, "width_mm", e->width);
        snprintf(name, sizeof name, "%s %d, sums", kind->option, alike);
        if (weight > 0)
            report_sums(cli, name, &sums[i], one);
        sum[0] -= weight * e->energy_before;
        sum[1] -= weight * e->energy_linear;
        sum[2] -= weight * e->energy_after;
    }
    clvox_record_number(to, "weight", weight);
    if (!(weight > 0))
        return;
    snprintf(term, sizeof term, "%s, term", kind->many);
    print_stages(cli, term, sum[0] / alike, sum[1] / alike, sum[2] / alike);
    clvox_record_number(to, "term_before", sum[0] / alike);
    clvox_record_number(to, "term_linear", sum[1] / alike);
    clvox_record_number(to, "term_after", sum[2] / alike);
}

void cli_register_shapes(command *cli, const cli_shape *shapes, int count, const clvox_register_options *o,
                         const clvox_register_result *result)
{
    for (int k = 0; k < CLI_SHAPE_KINDS; k++)
        for (int i = 0; i < count; i++)
            if (shapes[i].kind == &cli_shape_kinds[k]) {
                report_kind(cli, shapes, count, &cli_shape_kinds[k], result->shape_sums,
                            clvox_register_shape_weight(o, cli_shape_kinds[k].kind));
                break;
            }
}

char *cli_register_suspicions(unsigned suspicions, char *out)
{
    const clvox_suspicion *s;
    *out = 0;
    for (int i = 0; (s = clvox_suspicion_at(i)); i++)
        if (suspicions & s->bit)
            strcat(strcat(out, *out ? "," : ""), s->name);
    return out;
}

int cli_register_doubts(const command *cli, const clvox_register_result *result, bool strict)
{
    const clvox_suspicion *s;
    for (int i = 0; (s = clvox_suspicion_at(i)); i++)
        if (result->suspicions & s->bit)
            fprintf(stderr, "clvox %s: WARNING: %s\n", cli->verb, s->sentence);
    if (result->suspicions && strict)
        return clvox_fail(CLVOX_ERROR_DATA, "the result looks wrong; the files were written, look at them");
    return CLVOX_OK;
}
