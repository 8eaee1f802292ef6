/* SPDX-License-Identifier: Apache-2.0 */
#include "batch/pair.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/status.h"
#include "clvox/command/derivative.h"
#include "clvox/command/inputs.h"
#include "clvox/compare.h"
#include "clvox/figure.h"
#include "clvox/files.h"
#include "clvox/threads.h"

/* ---- files ------------------------------------------------------------------ */

clvox_pair_inputs clv_pair_inputs(const clvox_pair *row, const clvox_pairs_options *o)
{
    return (clvox_pair_inputs){.prefix = row->output,
                               .derivatives = o->derivatives,
                               .space = o->space,
                               .fixed = row->fixed,
                               .moving = row->moving,
                               .labels = row->labels};
}

void clv_pair_ends(const clvox_pair *row, const clvox_pairs_options *o,
                   const clvox_register_options *registration, clvox_end ends[CLVOX_PAIR_ENDS])
{
    const bool asked[CLVOX_PAIR_FILES] = {[CLVOX_PAIR_WARPED] = true,
                                          [CLVOX_PAIR_LABELS] = row->labels != NULL,
                                          [CLVOX_PAIR_PICTURE] = !o->no_picture,
                                          [CLVOX_PAIR_PAGE] = o->report != 0};
    clvox_pair_ends(row->names, registration, asked, ends);
}

static int write_picture(const void *what, int unused, const char *path)
{
    int status = CLVOX_OK, at[3];
    const clvox_pair_picture *p = what;
    clvox_volume *planes = NULL;
    (void)unused;
    if (!p->log_jacobian && p->warp) {
        CLV_TRY(clvox_figure_planes(p->fixed, p->mask, at));
        CLV_TRY(clvox_jacobian_planes(p->warp, at, 1, &planes));
    }
    status = clvox_figure_registration(p->fixed, p->warped, p->labels, planes ? planes : p->log_jacobian,
                                       p->mask, path);
end:
    clvox_volume_destroy(&planes);
    return status;
}

static int write_affine(const void *what, int unused, const char *path)
{
    const clvox_register_result *result = what;
    (void)unused;
    return clvox_affine_write((const double(*)[4])result->matrix, CLVOX_AFFINE_ITK, path);
}

int clvox_pair_results(const clvox_pair_names *n, const clvox_register_result *result,
                       const clvox_pair_picture *picture, const clvox_volume *labels, clvox_results *r)
{
    int status = CLVOX_OK;
    char *const *end = n->end;
    const struct {
        const clvox_volume *warp;
        clvox_pair_file file;
    } warps[] = {{result->warp, CLVOX_PAIR_WARP},
                 {result->inverse_warp, CLVOX_PAIR_INVERSE},
                 {result->momentum, CLVOX_PAIR_MOMENTUM}};
    if (picture)
        CLV_TRY(clvox_results_add(r, write_picture, picture, 0, n->prefix, end[CLVOX_PAIR_PICTURE]));
    for (int i = 0; i < 3; i++)
        if (warps[i].warp)
            CLV_TRY(clvox_results_warp(r, warps[i].warp, n->prefix, end[warps[i].file]));
    if (result->warped)
        CLV_TRY(clvox_results_volume(r, result->warped, n->prefix, end[CLVOX_PAIR_WARPED]));
    if (labels)
        CLV_TRY(clvox_results_volume(r, labels, n->prefix, end[CLVOX_PAIR_LABELS]));
    status = clvox_results_add(r, write_affine, result, 0, n->prefix, end[CLVOX_PAIR_AFFINE]);
end:
    return status;
}

double clvox_pair_edge(const clvox_grid *fixed)
{
    double edge[3];
    clvox_grid grid;
    /* However the voxels are stored, the product of their edges is rounded alike. */
    clvox_grid_canonical(fixed, &grid);
    clvox_grid_spacing(&grid, edge);
    return cbrt(edge[0] * edge[1] * edge[2]);
}

/* ---- reading ---------------------------------------------------------------- */

/* The files can be written, and the log of an earlier run says which of them it made. */
static int claim(clv_pair *p)
{
    int status = CLVOX_OK, count = 0;
    char path[PATH_MAX];
    const char *ending = p->options->derivatives ? NULL : clvox_file_ending(p->row->output);
    if (ending)
        return clvox_fail(CLVOX_ERROR_DATA,
                          "%s: is the name of a file; give what the names of the results begin with",
                          p->row->output);
    if (p->options->derivatives)
        CLV_TRY(clvox_derivative_check(p->options->derivatives, p->row->moving));
    for (; count < p->row->files; count++)
        CLV_TRY(clvox_folders_make(p->row->file[count]));
    CLV_TRY(clvox_outputs_check(NULL, 0, (const char *const *)p->row->file, count));
    for (int i = 0; p->options->no_clobber && i < count; i++) {
        struct stat info;
        if (!stat(p->row->file[i], &info) && S_ISREG(info.st_mode)) {
            status = clvox_fail(CLVOX_ERROR_FILE, "%s: exists, and --no-clobber keeps it", p->row->file[i]);
            goto end;
        }
    }
    clvox_before_read(&p->before, clvox_pair_path(p->row->names, CLVOX_PAIR_LOG, path));
end:
    return status;
}

/* NULL for no mask by its word. */
static const char *file_of(const char *mask)
{
    return mask && !strcmp(mask, "none") ? NULL : mask;
}

typedef struct input {
    const char *path;
    clvox_volume **out;
    int (*read)(const char *path, clvox_volume **out);
} input;

enum { INPUTS = 7 + 2 * CLVOX_MAX_LEVELS };

static int read_one(void *user, size_t at, int worker)
{
    const input *one = (const input *)user + at;
    (void)worker;
    return one->path ? one->read(one->path, one->out) : CLVOX_OK;
}

int clv_pair_read(clv_pair *p)
{
    int status = CLVOX_OK;
    const clvox_pair *row = p->row;
    input inputs[INPUTS] = {{row->fixed, &p->fixed, clvox_volume_read},
                            {row->moving, &p->moving, clvox_volume_read},
                            {row->fixed_mask, &p->mask[0], clvox_mask_read},
                            {row->moving_mask, &p->mask[1], clvox_mask_read},
                            {file_of(p->options->linear_fixed_mask), &p->linear_mask[0], clvox_mask_read},
                            {file_of(p->options->linear_moving_mask), &p->linear_mask[1], clvox_mask_read},
                            {row->labels, &p->labels, clvox_labels_read}};
    for (int k = 0; k < 2 * CLVOX_MAX_LEVELS; k++) {
        const int level = k / 2, moving = k % 2;
        const char *const *given = moving ? p->options->level_moving_mask : p->options->level_fixed_mask;
        inputs[INPUTS - 1 - k] =
            (input){file_of(given[level]), &p->level_mask[moving][level], clvox_mask_read};
    }
    p->started = clv_seconds();
    CLV_TRY(claim(p));
    const double mark = clv_seconds();
    CLV_TRY(clvox_parallel(INPUTS, read_one, inputs));
    for (int i = 0; i < INPUTS; i++)
        if (inputs[i].path)
            clvox_record_input(p->log, inputs[i].path);
    p->read_seconds = clv_seconds() - mark;
end:
    return status;
}

/* ---- solving ---------------------------------------------------------------- */

static int read_initial_warp(clv_pair *p)
{
    int status;
    bool inverse;
    char *file = NULL;
    clvox_volume *inverted = NULL;
    CLV_TRY(clvox_link_word(p->options->initial_warp, &file, &inverse));
    CLV_TRY(clvox_transform_read(file, &p->initial));
    clvox_record_input(p->log, file);
    if (!p->initial->is_warp) {
        status = clvox_fail(CLVOX_ERROR_ARGUMENT, "%s: is an affine; --init takes it", file);
        goto end;
    }
    if (!inverse)
        goto end;
    status = clvox_invert(p->ctx, p->initial->warp, &inverted, NULL);
    CLV_TRY(status < 0 ? clvox_fail_in(status, file) : status);
    clvox_volume_destroy(&p->initial->warp);
    p->initial->warp = inverted;
end:
    free(file);
    return status;
}

/* Hands what was read to the library. */
static int gather(clv_pair *p, clvox_register_images *images)
{
    int status = CLVOX_OK;
    const clvox_pairs_options *o = p->options;
    *images = (clvox_register_images){.channels = 1, .weight = {1}};
    images->fixed[0] = p->fixed;
    images->moving[0] = p->moving;
    images->fixed_mask = p->mask[0];
    images->moving_mask = p->mask[1];
    images->linear_masks = o->linear_fixed_mask || o->linear_moving_mask;
    if (images->linear_masks) {
        images->linear_fixed_mask = o->linear_fixed_mask ? p->linear_mask[0] : p->mask[0];
        images->linear_moving_mask = o->linear_moving_mask ? p->linear_mask[1] : p->mask[1];
    }
    images->level_masks = o->level_fixed_mask[0] || o->level_moving_mask[0];
    for (int k = 0; k < CLVOX_MAX_LEVELS && images->level_masks; k++) {
        images->level_fixed_mask[k] = o->level_fixed_mask[0] ? p->level_mask[0][k] : p->mask[0];
        images->level_moving_mask[k] = o->level_moving_mask[0] ? p->level_mask[1][k] : p->mask[1];
    }
    if (o->initial_warp) {
        CLV_TRY(read_initial_warp(p));
        images->initial_warp = p->initial->warp;
    }
    if (o->given)
        status = clvox_options_read(clvox_register_table(), o->given, clvox_pair_edge(&p->fixed->grid),
                                    &p->registration);
end:
    return status;
}

static int look(void *user, const clvox_step *step)
{
    clv_pair *p = user;
    clvox_record_look(p->trace, step);
    return p->look ? p->look(p->user, step) : 0;
}

/* Prepares the files so that writing them needs the device no more. */
static int prepare(clv_pair *p)
{
    int status = CLVOX_OK;
    const clvox_register_result *result = &p->result;
    const clvox_pairs_options *o = p->options;
    const clvox_pair_inputs inputs = clv_pair_inputs(p->row, o);
    p->shown = (clvox_pair_picture){.fixed = p->fixed, .warped = result->warped, .mask = p->mask[0]};
    if (p->labels)
        CLV_TRY(clvox_register_labels(p->ctx, p->labels, &result->grid, result, &p->carried));
    if (result->warp &&
        (o->report || (!o->no_picture && !clvox_grid_equal(&result->warp->grid, &p->fixed->grid))))
        CLV_TRY(clvox_jacobian(p->ctx, result->warp, NULL, 1, &p->log_jacobian, NULL));
    p->shown.labels = p->carried;
    p->shown.log_jacobian = p->log_jacobian;
    p->shown.warp = result->warp;
    CLV_TRY(
        clvox_pair_results(p->row->names, result, o->no_picture ? NULL : &p->shown, p->carried, &p->results));
    if (o->derivatives)
        CLV_TRY(clvox_pair_sidecars(p->row->names, &inputs, result, &p->results, p->sidecar));
end:
    return status;
}

int clv_pair_solve(clv_pair *p)
{
    int status = CLVOX_OK;
    clvox_register_options *o = &p->registration;
    clvox_register_images images;
    clvox_register_plan plan;
    const double mark = clv_seconds(), one = 1;
    CLV_TRY(gather(p, &images));
    cJSON *options = cJSON_AddObjectToObject(p->log, "options");
    cJSON_AddStringToObject(options, "preset", p->options->preset ? p->options->preset : "default");
    cJSON_AddItemToObject(options, "weights", cJSON_CreateDoubleArray(&one, 1));
    clvox_record_fields(options, clvox_register_table(), o);
    p->read_seconds += clv_seconds() - mark;
    CLV_TRY(clvox_register_predict(&images, o, &plan));
    clvox_record_memory(clvox_record_plan(p->log, &p->fixed->grid, &p->moving->grid), p->ctx, plan.bytes);
    p->trace = cJSON_AddArrayToObject(p->log, "trace");
    o->progress = look;
    o->user = p;
    CLV_TRY(clvox_register(p->ctx, &images, o, &p->result));
    const double solved = clv_seconds();
    CLV_TRY(prepare(p));
    clvox_record_wisdom(p->log, p->ctx);
    p->write_seconds = clv_seconds() - solved;
end:
    return status;
}

/* ---- saving ----------------------------------------------------------------- */

static bool is_written(const clv_pair *p, const char *path)
{
    for (int i = 0; i < p->row->files; i++)
        if (!strcmp(p->row->file[i], path))
            return true;
    return false;
}

/* Whether a file lies somewhere in a folder. */
static bool lies_in(const char *path, const char *folder)
{
    size_t length = strlen(folder);
    while (length > 1 && folder[length - 1] == '/')
        length--;
    return !strncmp(path, folder, length) && path[length] == '/';
}

static void settle(clv_pair *p, const char *path)
{
    char line[PATH_MAX + 64];
    if (is_written(p, path) || clvox_before_settle(&p->before, path, p->log) != CLVOX_LEFT_STRANGE ||
        !p->options->log)
        return;
    snprintf(line, sizeof line, "%s: was there before and does not belong to these results", path);
    p->options->log(p->options->user, 0, line);
}

/* Files of an earlier run that this one does not replace: labels of derivatives may have had another name. */
static void settle_all(clv_pair *p)
{
    char path[PATH_MAX];
    clvox_end ends[CLVOX_PAIR_ENDS];
    const cJSON *one;
    clv_pair_ends(p->row, p->options, &p->registration, ends);
    for (const clvox_end *e = ends; e->end; e++) {
        snprintf(path, sizeof path, "%s%s", p->row->names->prefix, e->end);
        settle(p, path);
    }
    if (p->options->derivatives)
        cJSON_ArrayForEach(one, cJSON_GetObjectItem(p->before.log, "outputs"))
        {
            if (cJSON_IsString(one) && lies_in(one->valuestring, p->options->derivatives))
                settle(p, one->valuestring);
        }
}

/* Enters what contexts have said meanwhile. */
static void record_heard(clv_pair *p)
{
    const char *line;
    for (int i = 0; p->options->heard && (line = p->options->heard(p->options->user, i)); i++) {
        const cJSON *one, *list = cJSON_GetObjectItem(p->log, "remarks");
        bool known = false;
        cJSON_ArrayForEach(one, list) known = known || !strcmp(cJSON_GetStringValue(one), line);
        if (!known)
            clvox_record_text(p->log, "remarks", line);
    }
}

static int write_page(clv_pair *p)
{
    char path[PATH_MAX];
    const clvox_pair_page page = {.fixed = p->row->fixed,
                                  .moving = p->row->moving,
                                  .picture = &p->shown,
                                  .log_jacobian = p->log_jacobian,
                                  .options = &p->registration,
                                  .result = &p->result,
                                  .log = p->log};
    const int status = clvox_pair_page_write(&page, clvox_pair_path(p->row->names, CLVOX_PAIR_PAGE, path));
    if (status >= 0)
        clvox_record_text(p->log, "outputs", path);
    return status;
}

int clv_pair_save(clv_pair *p)
{
    int status = CLVOX_OK, axis;
    double at;
    char path[PATH_MAX];
    const clvox_pairs_options *o = p->options;
    const double mark = clv_seconds();
    /* From here on the files of an earlier run are not complete. */
    unlink(clvox_pair_path(p->row->names, CLVOX_PAIR_LOG, path));
    CLV_TRY(clvox_results_write(&p->results));
    for (int i = 0; i < p->results.count; i++)
        clvox_record_text(p->log, "outputs", p->results.item[i].path);
    if (o->derivatives)
        CLV_TRY(clvox_derivative_describe(o->derivatives));
    p->write_seconds += clv_seconds() - mark;
    clvox_record_result(p->log, &p->registration, &p->result, p->read_seconds, p->write_seconds);
    clvox_record_slice(p->log, &p->fixed->grid, &p->moving->grid, &p->result, &axis, &at);
    if (o->report)
        CLV_TRY(write_page(p));
    record_heard(p);
    settle_all(p);
    cJSON_AddNumberToObject(p->log, "seconds", clv_seconds() - p->started);
    CLV_TRY(clvox_record_write(p->log, clvox_pair_path(p->row->names, CLVOX_PAIR_LOG, path)));
    if (p->result.suspicions && o->strict)
        status = clvox_fail(CLVOX_ERROR_DATA, "the result looks wrong; the files were written, look at them");
end:
    return status;
}

void clv_pair_free(clv_pair *p)
{
    clvox_volume **const volumes[] = {&p->fixed,   &p->moving,         &p->mask[0],
                                      &p->mask[1], &p->linear_mask[0], &p->linear_mask[1],
                                      &p->labels,  &p->carried,        &p->log_jacobian};
    clvox_results_free(&p->results);
    for (int i = 0; i < CLVOX_PAIR_NAMES; i++)
        cJSON_Delete(p->sidecar[i]);
    for (size_t i = 0; i < sizeof volumes / sizeof *volumes; i++)
        clvox_volume_destroy(volumes[i]);
    for (int k = 0; k < 2 * CLVOX_MAX_LEVELS; k++)
        clvox_volume_destroy(&p->level_mask[k % 2][k / 2]);
    clvox_register_result_destroy(&p->result);
    clvox_transform_destroy(&p->initial);
    clvox_before_free(&p->before);
    cJSON_Delete(p->log);
}
