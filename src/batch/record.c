/* SPDX-License-Identifier: Apache-2.0 */
#include "clvox/command/record.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clvox/command/inputs.h"
#include "clvox/compare.h"
#include "clvox/files.h"
#include "clvox/kernels.h"
#include "clvox/volume.h"

/* ---- values ---------------------------------------------------------------- */

void clvox_record_number(cJSON *to, const char *name, double value)
{
    if (isfinite(value))
        cJSON_AddNumberToObject(to, name, value);
    else
        cJSON_AddNullToObject(to, name);
}

void clvox_record_grid(cJSON *to, const char *name, const clvox_grid *grid)
{
    double spacing[3];
    clvox_grid_spacing(grid, spacing);
    cJSON *out = cJSON_AddObjectToObject(to, name);
    cJSON_AddItemToObject(out, "size", cJSON_CreateIntArray(grid->size, 3));
    cJSON_AddItemToObject(out, "spacing_mm", cJSON_CreateDoubleArray(spacing, 3));
    cJSON *rows = cJSON_AddArrayToObject(out, "to_ras");
    for (int i = 0; i < 4; i++)
        cJSON_AddItemToArray(rows, cJSON_CreateDoubleArray(grid->to_ras[i], 4));
}

void clvox_record_jacobian(cJSON *to, const clvox_jacobian_summary *summary)
{
    cJSON_AddNumberToObject(to, "voxels", (double)summary->voxels);
    clvox_record_number(to, "smallest", summary->smallest);
    clvox_record_number(to, "largest", summary->largest);
    cJSON_AddNumberToObject(to, "folded", (double)summary->folded);
    clvox_record_number(to, "mean_log", summary->mean_log);
    clvox_record_number(to, "sd_log", summary->sd_log);
}

void clvox_record_fields(cJSON *to, const clvox_option_table *table, const void *values)
{
    clvox_option_text row;
    for (int i = 0; clvox_option_describe(table, i, &row); i++) {
        double number[CLVOX_MAX_NUMBERS] = {0};
        int count = clvox_option_numbers(table, i, values, number);
        if (row.type == CLVOX_OPTION_CHOICE) {
            const char *word = clvox_option_word(table, i, (int)number[0]);
            cJSON_AddStringToObject(to, row.key, word ? word : "");
        } else if (row.type == CLVOX_OPTION_INTEGERS || row.type == CLVOX_OPTION_NUMBERS) {
            cJSON *list = cJSON_AddArrayToObject(to, row.key);
            for (int k = 0; k < count; k++)
                cJSON_AddItemToArray(list, cJSON_CreateNumber(number[k]));
        } else if (row.type == CLVOX_OPTION_FLAG) {
            cJSON_AddBoolToObject(to, row.key, number[0] != 0);
        } else {
            clvox_record_number(to, row.key, number[0]);
        }
    }
}

void clvox_record_text(cJSON *log, const char *list, const char *text)
{
    cJSON *to = cJSON_GetObjectItem(log, list);
    cJSON_AddItemToArray(to ? to : cJSON_AddArrayToObject(log, list), cJSON_CreateString(text));
}

int clvox_record_write(const cJSON *log, const char *path)
{
    int status = CLVOX_OK;
    char *printed = cJSON_Print(log), *utf8 = printed ? clvox_text_utf8(printed) : NULL;
    cJSON_free(printed);
    if (!utf8)
        return clvox_fail(CLVOX_ERROR_MEMORY, "%s: out of host memory", path);
    const size_t length = strlen(utf8);
    utf8[length] = '\n'; /* for the 0, which nobody needs */
    if (!strcmp(path, "-"))
        fwrite(utf8, 1, length + 1, stdout);
    else
        status = clvox_file_write(path, utf8, length + 1);
    free(utf8);
    return status;
}

/* ---- inputs ---------------------------------------------------------------- */

/* NIfTI gives a volume two places, and programs choose differently when they are not the same: transforms
 * between them are then off by the difference. */
static int remark_header(cJSON *log, const char *path, const clvox_input_facts *f, cJSON *entry)
{
    int count = 0;
    char text[2048];
    if (f->unplaced) {
        cJSON_AddBoolToObject(entry, "orientation_assumed", true);
        snprintf(text, sizeof text,
                 "%s: has neither sform nor qform: its orientation is assumed, voxels running to the right, "
                 "to the front and up; check it, and that left is not taken for right",
                 path);
        clvox_record_text(log, "remarks", text);
        count++;
    }
    if (f->odd_pixdim) {
        cJSON_AddItemToObject(entry, "pixdim_mm", cJSON_CreateDoubleArray(f->pixdim, 3));
        snprintf(text, sizeof text,
                 "%s: its pixdim says voxels of %g x %g x %g mm, and clvox goes by %g x %g x %g; other "
                 "programs may go by pixdim: repair the header",
                 path, f->pixdim[0], f->pixdim[1], f->pixdim[2], f->spacing[0], f->spacing[1], f->spacing[2]);
        clvox_record_text(log, "remarks", text);
        count++;
    }
    if (f->forms_gap > 0.1) {
        cJSON_AddNumberToObject(entry, "sform_from_qform_mm", f->forms_gap);
        snprintf(
            text, sizeof text,
            "%s: its sform and its qform place voxels up to %.3g mm apart; clvox goes by the sform, ANTs "
            "often by the qform; make the two alike before the two exchange transforms",
            path, f->forms_gap);
        clvox_record_text(log, "remarks", text);
        count++;
    }
    return count;
}

int clvox_record_input(cJSON *log, const char *path)
{
    char text[16];
    clvox_input_facts facts;
    cJSON *entry = cJSON_CreateObject(), *to = cJSON_GetObjectItem(log, "inputs");
    cJSON_AddStringToObject(entry, "path", path);
    if (clvox_input_look(path, &facts) >= 0) {
        snprintf(text, sizeof text, "%08x", facts.crc);
        cJSON_AddNumberToObject(entry, "bytes", facts.bytes);
        cJSON_AddStringToObject(entry, "crc32", text);
    }
    const int remarks = remark_header(log, path, &facts, entry);
    cJSON_AddItemToArray(to ? to : cJSON_AddArrayToObject(log, "inputs"), entry);
    return remarks;
}

/* ---- the device ------------------------------------------------------------ */

void clvox_record_device(cJSON *log, const clvox_context *ctx)
{
    const clvox_device_limits *limits = clvox_context_limits(ctx);
    cJSON_DeleteItemFromObject(log, "device"); /* of contexts before */
    cJSON *device = cJSON_AddObjectToObject(log, "device");
    cJSON_AddStringToObject(device, "name", limits->name);
    cJSON_AddStringToObject(device, "vendor", limits->vendor);
    cJSON_AddStringToObject(device, "platform", limits->platform);
    cJSON_AddStringToObject(device, "driver", limits->driver);
    cJSON_AddStringToObject(device, "version", limits->version);
    cJSON_AddStringToObject(device, "architecture", limits->architecture);
}

void clvox_record_wisdom(cJSON *log, const clvox_context *ctx)
{
    clvox_wisdom wisdom;
    cJSON_DeleteItemFromObject(log, "wisdom");
    clvox_context_wisdom(ctx, &wisdom);
    cJSON *to = cJSON_AddObjectToObject(log, "wisdom");
    cJSON_AddBoolToObject(to, "used", wisdom.used > 0);
    cJSON_AddNumberToObject(to, "kernels", wisdom.used);
    if (wisdom.choices > 0) {
        cJSON_AddStringToObject(to, "file", wisdom.file);
        cJSON_AddStringToObject(to, "hash", wisdom.hash);
    }
}

/* ---- a registration -------------------------------------------------------- */

static const clvox_suspicion suspicions[] = {
    {CLVOX_SUSPECT_OVERLAP, "overlap", "less than a tenth of the smaller image lies in the other"},
    {CLVOX_SUSPECT_SCALE, "scale",
     "the linear part scales by less than 1/2 or more than 2, or one axis 1.28 times as much as another, or "
     "mirrors: "
     "check the headers, and whether both images show the same"},
    {CLVOX_SUSPECT_METRIC, "metric", "the images are less alike at the end than before"},
    {CLVOX_SUSPECT_FOLDS, "folds", "the deformation folds"},
    {CLVOX_SUSPECT_CONSTANT, "constant",
     "an image has one value everywhere: there is nothing to align it by"},
    {CLVOX_SUSPECT_SPARSE, "sparse",
     "all but a few voxels of an image have one value: there is too little to align it by; where a few are "
     "far brighter "
     "than the rest, add --winsorize 0.005,0.995"},
    {CLVOX_SUSPECT_TURNED, "turned",
     "an image turned far from its header may fit better: check the orientation in the headers"},
    {CLVOX_SUSPECT_COARSE, "coarse",
     "an image is too small (no axis of eight voxels), or the finest level has fewer than six voxels along "
     "an axis: take a "
     "smaller last --shrink"},
    {CLVOX_SUSPECT_STILL, "still", "the deformation moved nothing: its steps made the images less alike"},
    {CLVOX_SUSPECT_UNLIKE, "unlike",
     "the deformation changes volumes more than it makes the images alike; look at the result"},
    {CLVOX_SUSPECT_MIRRORED, "mirrored",
     "the mirrored moving image fits better: are left and right exchanged in a header, or in the voxels?"},
    {CLVOX_SUSPECT_MEMORY, "memory",
     "there was too little memory to tell contrasts apart, or to synthesize images of different ones, so "
     "that "
     "the result is another one than with more: take a device with more memory, or a coarser last --shrink"},
    {CLVOX_SUSPECT_BOUNDARY, "boundary",
     "the moving image hardly changes across the boundary of white matter: it was not found, or does not "
     "belong to FIXED"},
};
enum { SUSPICIONS = sizeof suspicions / sizeof *suspicions };

const clvox_suspicion *clvox_suspicion_at(int at)
{
    return at < SUSPICIONS ? &suspicions[at] : NULL;
}

cJSON *clvox_record_plan(cJSON *log, const clvox_grid *fixed, const clvox_grid *moving)
{
    cJSON *plan = cJSON_AddObjectToObject(log, "plan");
    clvox_record_grid(plan, "fixed", fixed);
    clvox_record_grid(plan, "moving", moving);
    return plan;
}

void clvox_record_memory(cJSON *plan, const clvox_context *ctx, size_t bytes)
{
    const clvox_device_limits *limits = clvox_context_limits(ctx);
    cJSON_AddNumberToObject(plan, "device_bytes", (double)bytes);
    if (limits->free_bytes)
        cJSON_AddNumberToObject(plan, "free_bytes", (double)limits->free_bytes);
}

int clvox_record_look(cJSON *trace, const clvox_step *step)
{
    const cJSON *last = trace->child ? trace->child->prev : NULL;
    cJSON *entry = cJSON_CreateObject();
    const int level = step->level + 1;
    int pass = 1, attempt = 1;
    if (last) {
        const int before = cJSON_GetObjectItem(last, "level")->valueint;
        pass = cJSON_GetObjectItem(last, "pass")->valueint + (level < before);
        if (level == before)
            attempt = cJSON_GetObjectItem(last, "attempt")->valueint +
                      (step->iteration < cJSON_GetObjectItem(last, "iteration")->valueint);
    }
    cJSON_AddNumberToObject(entry, "pass", pass);
    cJSON_AddNumberToObject(entry, "attempt", attempt);
    cJSON_AddNumberToObject(entry, "level", level);
    cJSON_AddNumberToObject(entry, "iteration", step->iteration);
    clvox_record_number(entry, "metric", step->metric);
    cJSON_AddItemToArray(trace, entry);
    return pass;
}

static void log_parts(cJSON *to, const clvox_affine_parts *p)
{
    cJSON *parts = cJSON_AddObjectToObject(to, "linear");
    if (isnan(p->scale[0]))
        return;
    cJSON_AddItemToObject(parts, "rotation_degrees", cJSON_CreateDoubleArray(p->rotation_degrees, 3));
    cJSON_AddItemToObject(parts, "scale", cJSON_CreateDoubleArray(p->scale, 3));
    cJSON_AddItemToObject(parts, "shear", cJSON_CreateDoubleArray(p->shear, 3));
    cJSON_AddItemToObject(parts, "shift_mm", cJSON_CreateDoubleArray(p->shift_mm, 3));
}

void clvox_record_result(cJSON *log, const clvox_register_options *o, const clvox_register_result *r,
                         double read, double write)
{
    cJSON *to = cJSON_AddObjectToObject(log, "result"),
          *seconds = cJSON_AddObjectToObject(log, "seconds_by_stage");
    clvox_metric_text metric;
    cJSON *rows = cJSON_AddArrayToObject(to, "matrix_ras");
    for (int i = 0; i < 4; i++)
        cJSON_AddItemToArray(rows, cJSON_CreateDoubleArray(r->matrix[i], 4));
    log_parts(to, &r->parts);
    clvox_record_number(to, "overlap", r->overlap);
    if (!isnan(r->metric_before))
        cJSON_AddStringToObject(to, "metric",
                                clvox_metric_describe((int)r->metric, &metric) ? metric.name : "");
    clvox_record_number(to, "metric_before", r->metric_before);
    clvox_record_number(to, "metric_linear", r->metric_linear);
    clvox_record_number(to, "metric_after", r->metric_after);
    clvox_record_number(to, "ncc_before", r->ncc_before);
    clvox_record_number(to, "ncc_linear", r->ncc_linear);
    clvox_record_number(to, "ncc_after", r->ncc_after);
    cJSON *doubts = cJSON_AddArrayToObject(to, "suspicions");
    for (int i = 0; i < SUSPICIONS; i++)
        if (r->suspicions & suspicions[i].bit)
            cJSON_AddItemToArray(doubts, cJSON_CreateString(suspicions[i].name));
    if (o->deform != CLVOX_DEFORM_NONE) {
        clvox_record_number(to, "mismatch", r->mismatch);
        clvox_record_number(to, "largest_displacement_mm", r->largest_mm);
        clvox_record_number(to, "mean_displacement_mm", r->mean_mm);
        cJSON *jacobian = cJSON_AddObjectToObject(to, "jacobian");
        clvox_record_jacobian(jacobian, &r->jacobian);
        clvox_record_number(to, "inverse_error_largest_voxels", r->inverse_error_voxels[0]);
        clvox_record_number(to, "inverse_error_mean_voxels", r->inverse_error_voxels[1]);
        clvox_record_number(to, "inverse_error_largest_mm", r->inverse_error_mm[0]);
        clvox_record_number(to, "inverse_error_mean_mm", r->inverse_error_mm[1]);
        if (o->warp_type == CLVOX_WARP_ROUNDED)
            clvox_record_number(to, "warp_rounding_mm", r->warp_rounding_mm);
        cJSON_AddBoolToObject(to, "exchanged", r->exchanged);
        cJSON_AddItemToObject(to, "iterations", cJSON_CreateIntArray(r->iterations, o->levels));
    }
    cJSON_AddNumberToObject(to, "peak_device_bytes", (double)r->device_bytes);
    cJSON_AddNumberToObject(seconds, "read", read);
    cJSON_AddNumberToObject(seconds, "prepare", r->seconds_prepare);
    cJSON_AddNumberToObject(seconds, "linear", r->seconds_linear);
    cJSON_AddNumberToObject(seconds, "deform", r->seconds_deform);
    cJSON_AddNumberToObject(seconds, "finish", r->seconds_finish);
    cJSON_AddNumberToObject(seconds, "write", write);
}

void clvox_record_boundary(cJSON *log, const clvox_boundary_result *b)
{
    cJSON *to = cJSON_AddObjectToObject(cJSON_GetObjectItem(log, "result"), "boundary");
    cJSON_AddStringToObject(to, "contrast", b->contrast == CLVOX_BOUNDARY_T1 ? "t1" : "t2");
    cJSON_AddNumberToObject(to, "points", b->points);
    cJSON_AddNumberToObject(to, "counted", b->counted);
    clvox_record_number(to, "cost_before", b->cost_before);
    clvox_record_number(to, "cost_after", b->cost_after);
    clvox_record_number(to, "moved_mm", b->moved_mm);
}

/* x: how much of each of three vectors adds up to y. */
static void solve(double columns[3][3], const double y[3], double x[3])
{
    double cofactor[3], whole = 0;
    for (int a = 0; a < 3; a++) {
        const double *p = columns[(a + 1) % 3], *q = columns[(a + 2) % 3];
        x[a] = 0;
        for (int i = 0; i < 3; i++) {
            cofactor[i] = p[(i + 1) % 3] * q[(i + 2) % 3] - p[(i + 2) % 3] * q[(i + 1) % 3];
            x[a] += cofactor[i] * y[i];
            whole += a == 0 ? cofactor[i] * columns[0][i] : 0;
        }
    }
    for (int a = 0; a < 3; a++)
        x[a] /= whole;
}

/* The axis of one voxel; -1: there is none, or more than one. */
static int thin_axis(const clvox_grid *grid)
{
    int axis = -1, count = 0;
    for (int a = 0; a < 3; a++)
        if (grid->size[a] == 1) {
            axis = a;
            count++;
        }
    return count == 1 ? axis : -1;
}

int clvox_record_slice(cJSON *log, const clvox_grid *fixed, const clvox_grid *moving,
                       const clvox_register_result *r, int *axis, double *where)
{
    const int thin[2] = {thin_axis(fixed), thin_axis(moving)}, side = thin[0] < 0;
    if ((thin[0] < 0) == (thin[1] < 0))
        return -1;
    const clvox_grid *slice = side ? moving : fixed;
    double to[2][3][4], columns[3][3], away[3], middle[3], at[3],
        step[3]; /* both grids in the moving world */
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 4; j++) {
            to[0][i][j] = j == 3 ? r->matrix[i][3] : 0;
            for (int k = 0; k < 3; k++)
                to[0][i][j] += r->matrix[i][k] * fixed->to_ras[k][j];
            to[1][i][j] = moving->to_ras[i][j];
        }
    for (int i = 0; i < 3; i++) {
        middle[i] = to[side][i][3] - to[!side][i][3];
        for (int a = 0; a < 3; a++) {
            middle[i] += .5 * (slice->size[a] - 1) * to[side][i][a];
            columns[a][i] = to[!side][i][a];
        }
        away[i] = to[side][i][thin[side]];
    }
    solve(columns, middle, at);
    solve(columns, away, step);
    *axis = 0;
    for (int a = 1; a < 3; a++)
        *axis = fabs(step[a]) > fabs(step[*axis]) ? a : *axis;
    *where = at[*axis];
    clvox_record_number(cJSON_GetObjectItem(log, "result"), "slice", *where);
    return side;
}
