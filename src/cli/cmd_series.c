/* SPDX-License-Identifier: Apache-2.0 */
/* Motion in a 4-D scan. */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/bar.h"
#include "cli/cmd_series_page.h"
#include "cli/cmd_register/options.h"
#include "cli/cmd_register/report.h"
#include "cli/matrix.h"
#include "clvox/command/table.h"
#include "clvox/files.h"
#include "clvox/series.h"

typedef struct request {
    const char *series, *reference, *mask, *bval, *bvec, *table, *prefix, *matrices, *distortion;
    const char *given[CLVOX_MAX_OPTIONS];
    clvox_series_options options;
    bool strict, dry_run, report, reference_is_file;
} request;

enum { PATHS = 2 }; /* files of each frame's matrix */

/* ---- files --------------------------------------------------------------- */

static void print_motion(FILE *to, const void *what)
{
    const clvox_series_result *r = what;
    fprintf(to, "frame\ttrans_x\ttrans_y\ttrans_z\trot_x\trot_y\trot_z\tframewise_displacement\trmsd\t"
                "rmsd_reference\tlikeness\toutlier\n");
    for (int i = 0; i < r->frames; i++) {
        const clvox_series_frame *f = &r->frame[i];
        fprintf(to, "%d", i);
        for (int a = 0; a < 3; a++)
            clvox_table_number(to, "%.6g", f->shift_mm[a]);
        for (int a = 0; a < 3; a++)
            clvox_table_number(to, "%.6g", f->rotation[a]);
        clvox_table_number(to, "%.6g", f->framewise_mm);
        clvox_table_number(to, "%.6g", f->rms_mm);
        clvox_table_number(to, "%.6g", f->rms_reference_mm);
        clvox_table_number(to, "%.6g", f->likeness);
        fprintf(to, "\t%d\n", f->flags != 0);
    }
}

static int write_motion(const void *what, int how, const char *path)
{
    (void)how;
    return clvox_table_write(path, print_motion, what);
}

static int write_transforms(const void *what, int how, const char *path)
{
    const clvox_series_result *r = what;
    double(*matrix)[4][4] = calloc((size_t)r->frames, sizeof *matrix);
    (void)how;
    if (!matrix)
        return clvox_fail(CLVOX_ERROR_MEMORY, "%s: out of host memory", path);
    for (int i = 0; i < r->frames; i++)
        memcpy(matrix[i], r->frame[i].matrix, sizeof matrix[i]);
    int status = clvox_affines_write((const double(*)[4][4])matrix, r->frames, path);
    free(matrix);
    return status;
}

/* FOLDER/0007.txt of ITK or FOLDER/MAT_0007 of FLIRT. */
static const char *matrix_path(const char *folder, int frame, int form, char path[PATH_MAX])
{
    snprintf(path, PATH_MAX, form ? "%s/MAT_%04d" : "%s/%04d.txt", folder, frame);
    return path;
}

static int claim_matrices(command *cli, const request *r, int frames)
{
    int status = CLVOX_OK;
    char path[PATH_MAX];
    CLI_TRY(clvox_folders_make(matrix_path(r->matrices, 0, 0, path)));
    for (int i = 0; i < PATHS * frames; i++)
        CLI_TRY(cli_claim_output(cli, "matrices", matrix_path(r->matrices, i / PATHS, i % PATHS, path)));
    CLI_TRY(cli_claim_folder(cli, r->matrices, NULL, false));
    status = cli_claims_check(cli);
end:
    return status;
}

static int write_matrices(command *cli, const request *r, const clvox_grid *grid, const clvox_grid *reference,
                          const clvox_series_result *result)
{
    int status = CLVOX_OK;
    char path[PATH_MAX];
    for (int i = 0; i < result->frames; i++) {
        double flirt[4][4];
        const clvox_series_frame *f = &result->frame[i];
        CLI_TRY(clvox_affine_write(CLI_MATRIX(f->matrix), CLVOX_AFFINE_ITK,
                                   matrix_path(r->matrices, i, 0, path)));
        cli_log_output(cli, path);
        CLI_TRY(clvox_flirt_matrix(CLI_MATRIX(f->matrix), reference, grid, flirt));
        CLI_TRY(
            clvox_affine_write(CLI_MATRIX(flirt), CLVOX_AFFINE_RAS, matrix_path(r->matrices, i, 1, path)));
        cli_log_output(cli, path);
    }
end:
    return status;
}

static int write_results(command *cli, const request *r, const clvox_volume *series,
                         clvox_series_result *result)
{
    int status = CLVOX_OK;
    char bval[PATH_MAX], bvec[PATH_MAX];
    clvox_results outputs = {.count = 0};
    CLI_TRY(clvox_results_volume(&outputs, result->corrected, r->prefix, "_corrected.nii.gz"));
    CLI_TRY(clvox_results_volume(&outputs, result->mean, r->prefix, "_mean.nii.gz"));
    CLI_TRY(clvox_results_add(&outputs, write_motion, result, 0, r->prefix, "_motion.tsv"));
    CLI_TRY(clvox_results_add(&outputs, write_transforms, result, 0, r->prefix, "_transforms.txt"));
    CLI_TRY(cli_results_write(cli, &outputs, true));
    if (result->gradients) {
        snprintf(bval, sizeof bval, "%s_corrected.bval", r->prefix);
        snprintf(bvec, sizeof bvec, "%s_corrected.bvec", r->prefix);
        CLI_TRY(clvox_gradients_write_fsl(result->gradients, &series->grid, bval, bvec));
        cli_log_output(cli, bval);
        cli_log_output(cli, bvec);
    }
    if (r->matrices)
        CLI_TRY(write_matrices(cli, r, &series->grid, &series->grid, result));
end:
    clvox_results_free(&outputs);
    return status;
}

/* ---- the report ---------------------------------------------------------- */

/* "3, 7-9 and 12" of the frames with one of these flags; at most so many stretches. */
static void list_frames(const clvox_series_result *r, unsigned flags, char *out, size_t room)
{
    enum { MOST = 12 };
    size_t used = 0;
    int stretches = 0;
    *out = 0;
    for (int i = 0; i < r->frames && used < room; i++) {
        int last = i;
        if (!(r->frame[i].flags & flags))
            continue;
        while (last + 1 < r->frames && r->frame[last + 1].flags & flags)
            last++;
        if (stretches++ == MOST) {
            snprintf(out + used, room - used, " and more");
            return;
        }
        used += (size_t)snprintf(out + used, room - used, i < last ? "%s%d-%d" : "%s%d",
                                 stretches > 1 ? ", " : "", i, last);
        i = last;
    }
}

static void report(command *cli, const clvox_series_result *r)
{
    static const struct {
        unsigned flag;
        const char *name, *sentence;
    } kinds[] = {{CLVOX_FRAME_MOVED, "moved", "moved more than --outlier since the previous frame"},
                 {CLVOX_FRAME_UNLIKE, "unlike", "much less similar to the target than the others: inspect them"},
                 {CLVOX_FRAME_EMPTY, "empty", "empty: left unchanged"}};
    cJSON *to = cJSON_AddObjectToObject(cli->log, "result");
    double farthest = 0;
    for (int i = 0; i < r->frames; i++)
        farthest = fmax(farthest, r->frame[i].rms_reference_mm);
    cJSON_AddNumberToObject(to, "frames", r->frames);
    if (r->reference >= 0)
        cJSON_AddNumberToObject(to, "reference", r->reference);
    cJSON_AddItemToObject(to, "center_ras_mm", cJSON_CreateDoubleArray(r->center, 3));
    cJSON_AddNumberToObject(to, "mean_framewise_displacement_mm", r->mean_framewise_mm);
    cJSON_AddNumberToObject(to, "largest_framewise_displacement_mm", r->largest_framewise_mm);
    cJSON_AddNumberToObject(to, "largest_rms_from_reference_mm", farthest);
    cJSON_AddNumberToObject(to, "seconds_register", r->seconds_register);
    cJSON_AddNumberToObject(to, "seconds_resample", r->seconds_resample);
    cJSON_AddNumberToObject(to, "device_bytes", (double)r->device_bytes);
    cli_print(cli, "%-24s %d\n", "frames", r->frames);
    cli_print(cli, "%-24s %.3f mm on average, up to %.3f mm\n", "framewise displacement",
              r->mean_framewise_mm, r->largest_framewise_mm);
    cli_print(cli, "%-24s up to %.3f mm rms\n", "from the reference", farthest);
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        char frames[400];
        cJSON *list = cJSON_AddArrayToObject(to, kinds[k].name);
        for (int i = 0; i < r->frames; i++)
            if (r->frame[i].flags & kinds[k].flag)
                cJSON_AddItemToArray(list, cJSON_CreateNumber(i));
        list_frames(r, kinds[k].flag, frames, sizeof frames);
        if (*frames)
            cli_print(cli, "%-24s frames %s (%s)\n", kinds[k].name, frames, kinds[k].sentence);
    }
    cli_print(cli, "%-24s %.2f registering, %.2f resampling\n", "seconds", r->seconds_register,
              r->seconds_resample);
    /* Meaning of the table's columns, for later readers. */
    static const char *const columns[][2] = {
        {"trans_x, trans_y, trans_z",
         "mm along RAS: where the centre of the grid is in the frame, from where it is in the reference"},
        {"rot_x, rot_y, rot_z", "radians about RAS x, y and z through that centre; R = Rz Ry Rx"},
        {"framewise_displacement",
         "mm since the previous frame: sum of |differences|, rotations times the radius of the head (Power 2012)"},
        {"rmsd", "mm since the previous frame: rms over a ball of 80 mm (Jenkinson 1999)"},
        {"rmsd_reference", "the same, from the reference"},
        {"likeness", "to what the frame was registered to last: squared correlation, or the metric"},
        {"outlier", "1: moved, unlike or empty"}};
    cJSON *meanings = cJSON_AddObjectToObject(to, "columns");
    for (size_t k = 0; k < sizeof columns / sizeof *columns; k++)
        cJSON_AddStringToObject(meanings, columns[k][0], columns[k][1]);
}

static int say_plan(command *cli, const request *r, const clvox_volume *series, const clvox_volume *reference,
                    const clvox_volume *mask, const clvox_gradients *gradients)
{
    clvox_series_plan plan;
    char target[32];
    double edge[3];
    const int *size = series->grid.size;
    const clvox_series_options *o = &r->options;
    int status = clvox_series_predict(series, reference, mask, gradients, o, &plan);
    if (status < 0)
        return status;
    snprintf(target, sizeof target, "frame %d", plan.reference);
    clvox_grid_spacing(&series->grid, edge);
    cli_remark(cli, 0, "series   %d frames of %d x %d x %d voxels of %.4g x %.4g x %.4g mm\n", series->frames,
               size[0], size[1], size[2], edge[0], edge[1], edge[2]);
    cli_remark(cli, 0, "plan     %s, to %s%s\n",
               cli_option_word(clvox_series_table(), "linear", (int)o->linear),
               r->reference_is_file ? r->reference : target,
               r->bval || r->table              ? ", then shell by shell"
               : o->target == CLVOX_SERIES_MEAN ? ", then to the mean"
                                                : "");
    clvox_record_grid(cli->log, "grid", &series->grid);
    clvox_record_fields(cJSON_AddObjectToObject(cli->log, "options"), clvox_series_table(), o);
    cJSON *to = cJSON_AddObjectToObject(cli->log, "plan");
    if (plan.reference >= 0)
        cJSON_AddNumberToObject(to, "reference", plan.reference);
    cJSON_AddNumberToObject(to, "shells", plan.shells);
    cJSON_AddNumberToObject(to, "empty_frames", plan.empty);
    cli_plan_memory(cli, plan.device_bytes, to);
    return CLVOX_OK;
}

/* Lists the files that a run would leave. */
static void list_files(command *cli, const request *r, const clvox_end *ends, int frames)
{
    char path[PATH_MAX];
    cJSON *plan = cJSON_GetObjectItem(cli->log, "plan");
    cli_plan_files(cli, r->prefix, ends, plan);
    for (int i = 0; r->matrices && i < PATHS * frames; i++)
        cli_plan_file(cli, matrix_path(r->matrices, i / PATHS, i % PATHS, path), plan);
}

/* ---- the run ------------------------------------------------------------- */

static int run(command *cli, request *r)
{
    int status = CLVOX_OK;
    char path[PATH_MAX];
    const bool weighted = r->bval || r->table;
    const clvox_end ends[] = {{"_corrected.nii.gz", true},
                              {"_mean.nii.gz", true},
                              {"_motion.tsv", true},
                              {"_transforms.txt", true},
                              {"_corrected.bval", weighted},
                              {"_corrected.bvec", weighted},
                              {"_report.html", r->report},
                              {".json", true},
                              {0}};
    clvox_volume *series = NULL, *reference = NULL, *mask = NULL;
    clvox_gradients *gradients = NULL;
    clvox_transform *distortion = NULL;
    clvox_series_result result = {.frames = 0};
    cli_bar bar;
    const cli_input inputs[] = {{r->series, &series, 0},
                                {r->reference_is_file ? r->reference : NULL, &reference, 0},
                                {r->mask, &mask, CLI_AS_MASK}};
    CLI_TRY(cli_claim_prefix(cli, &r->prefix, ends));
    snprintf(path, sizeof path, "%s.json", r->prefix);
    CLI_TRY(cli_load(cli, inputs, 3, NULL, NULL, true));
    if (r->matrices)
        CLI_TRY(claim_matrices(cli, r, series->frames));
    if (r->distortion)
        CLI_TRY(cli_read_transform(cli, r->distortion, &distortion));
    if (distortion && !distortion->is_warp) {
        status = clvox_fail(CLVOX_ERROR_DATA, "%s: is an affine; --distortion is the warp of `clvox epi`",
                            r->distortion);
        goto end;
    }
    r->options.distortion = distortion ? distortion->warp : NULL;
    if (weighted)
        CLI_TRY(cli_read_gradients(cli, r->bval, r->bvec, r->table, series, &gradients));
    status = say_plan(cli, r, series, reference, mask, gradients);
    if (status == CLVOX_ERROR_DATA || status == CLVOX_ERROR_ARGUMENT)
        clvox_fail_in(status, r->series);
    if (status < 0)
        goto end;
    cli_remark_idle(cli, clvox_series_table(), r->given, &r->options);
    if (r->dry_run) {
        list_files(cli, r, ends, series->frames);
        goto end;
    }
    cli_bar_begin(&bar, cli);
    r->options.progress = cli_bar_stage;
    r->options.user = &bar;
    status = clvox_register_series(cli->ctx, series, reference, mask, gradients, &r->options, &result);
    cli_bar_end(&bar);
    if (status >= 0 && cli_interrupted())
        status = clvox_fail(CLVOX_ERROR_STOPPED, "interrupted");
    if (status == CLVOX_ERROR_DATA || status == CLVOX_ERROR_ARGUMENT)
        clvox_fail_in(status, r->series);
    if (status < 0)
        goto end;
    CLI_TRY(write_results(cli, r, series, &result));
    report(cli, &result);
    if (r->report)
        CLI_TRY(cli_series_page(cli, r->prefix, series, mask, &r->options, &result));
    CLI_TRY(cli_profile(cli));
    CLI_TRY(cli_write_log(cli, path));
    if (r->strict && result.empty + result.unlike > 0)
        status = clvox_fail(CLVOX_ERROR_DATA, "%d frames are empty or unlike the others (--strict)",
                          result.empty + result.unlike);
end:
    if (r->dry_run)
        clvox_folders_remove();
    clvox_volume_destroy(&series);
    clvox_volume_destroy(&reference);
    clvox_volume_destroy(&mask);
    clvox_gradients_destroy(&gradients);
    clvox_transform_destroy(&distortion);
    clvox_series_result_destroy(&result);
    return status;
}

/* A file, or a frame's number. */
static int read_reference(request *r)
{
    char *end;
    if (!r->reference)
        return CLVOX_OK;
    long at = strtol(r->reference, &end, 10);
    if (!*end && end != r->reference && access(r->reference, F_OK) != 0) {
        if (at < 0 || at > INT_MAX)
            return cli_misuse("--reference %s: frames are counted from 0", r->reference);
        r->options.reference = (int)at;
    } else if (!strcmp(r->reference, "mean")) {
        r->options.target = CLVOX_SERIES_MEAN;
    } else if (access(r->reference, F_OK) != 0) {
        return cli_misuse("--reference %s: neither a file nor the number of a frame, counted from 0",
                          r->reference);
    } else {
        r->reference_is_file = true;
    }
    return CLVOX_OK;
}

int cmd_series(command *cli, int argc, char **argv)
{
    request r = {.series = NULL};
    const cli_option options[] = {
        {"output", 'o', CLI_PREFIX, &r.prefix, "PREFIX", "prefix of the output files", .basic = true},
        {"reference", 0, CLI_TEXT, &r.reference, "N|FILE",
         "reference frame, counted from 0 (default: the middle one; DWI: the first of the "
         "lowest b), or an image",
         .basic = true},
        {"mask", 0, CLI_TEXT, &r.mask, "FILE",
         "use the reference only where this is above 0; DWI: among frames of one weighting", .basic = true},
        {"bval", 0, CLI_TEXT, &r.bval, "FILE", "DWI: FSL's b-values, s/mm^2", .basic = true},
        {"bvec", 0, CLI_TEXT, &r.bvec, "FILE", "DWI: FSL's directions; rotated ones are written",
         .basic = true},
        {"grad", 0, CLI_TEXT, &r.table, "FILE",
         "MRtrix's table x y z b, or a MIF image that holds it", .basic = true},
        {"matrices", 0, CLI_TEXT, &r.matrices, "FOLDER",
         "also write each frame's matrix: 0000.txt (ITK), MAT_0000 (FLIRT, for applyxfm4D)"},
        {"distortion", 0, CLI_TEXT, &r.distortion, "FILE",
         "warp of `clvox epi` for the reference: corrected in the same resampling, times its Jacobian"},
        {"report", 0, CLI_FLAG, &r.report, NULL,
         "also write PREFIX_report.html, a page to look at", .basic = true},
        {"dry-run", 0, CLI_FLAG, &r.dry_run, NULL, "print the plan, memory and output files, and stop",
         .basic = true},
        {"strict", 0, CLI_FLAG, &r.strict, NULL, "exit with 1 if frames are empty or unlike the others"},
        {0},
    };
    const cli_usage usage = {
        .options = options,
        .table = clvox_series_table(),
        .given = r.given,
        .least = 1,
        .most = 1,
    };
    char **words;
    int count, status;
    clvox_series_defaults(&r.options);
    status = cli_parse(cli, &usage, argc, argv, &words, &count);
    if (status)
        return status;
    r.series = words[0];
    if (!r.prefix)
        return cli_misuse("-o PREFIX is missing");
    if ((r.bval || r.bvec || r.table) && (status = cli_check_gradients(r.bval, r.bvec, r.table)))
        return status;
    CLI_TRY(cli_read_fields(clvox_series_table(), r.given, 0, &r.options));
    CLI_TRY(read_reference(&r));
    status = run(cli, &r);
end:
    return status;
}
