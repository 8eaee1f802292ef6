/* SPDX-License-Identifier: Apache-2.0 */
#include "batch/pair.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/status.h"
#include "clvox/command/derivative.h"
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

static clvox_pair_sources sources_of(const clv_pair *p)
{
    static const double one = 1;
    const clvox_pair *row = p->row;
    const clvox_pairs_options *o = p->options;
    return (clvox_pair_sources){.fixed = (const char *const *)&row->fixed,
                                .moving = (const char *const *)&row->moving,
                                .weight = &one,
                                .channels = 1,
                                .mask = {row->fixed_mask, row->moving_mask},
                                .linear_mask = {o->linear_fixed_mask, o->linear_moving_mask},
                                .level_mask = {o->level_fixed_mask[0] ? o->level_fixed_mask : NULL,
                                               o->level_moving_mask[0] ? o->level_moving_mask : NULL},
                                .levels = CLVOX_MAX_LEVELS,
                                .labels = row->labels};
}

static clvox_pair_boundary boundary_of(const clv_pair *p)
{
    const clvox_pairs_options *o = p->options;
    return (clvox_pair_boundary){.file = (const char *const *)p->row->boundary,
                                 .files = p->row->boundaries,
                                 .label = o->boundary_label,
                                 .labels = o->boundary_labels,
                                 .contrast = o->boundary_contrast,
                                 .lps = o->boundary_lps != 0};
}

static int read_one(void *user, size_t at, int worker)
{
    (void)worker;
    return clvox_input_read((const clvox_input *)user + at);
}

int clv_pair_read(clv_pair *p)
{
    int status = CLVOX_OK;
    clvox_input inputs[CLVOX_PAIR_INPUTS];
    const clvox_pair_sources sources = sources_of(p);
    const clvox_pair_boundary boundary = boundary_of(p);
    p->started = clv_seconds();
    CLV_TRY(claim(p));
    const double mark = clv_seconds();
    const int count = clvox_pair_list(&p->work, &sources, inputs);
    CLV_TRY(clvox_parallel((size_t)count, read_one, inputs));
    for (int i = 0; i < count; i++)
        if (inputs[i].path)
            clvox_record_input(p->log, inputs[i].path);
    CLV_TRY(clvox_pair_boundary_read(&p->work, &boundary));
    for (int i = 0; i < boundary.files; i++)
        clvox_record_input(p->log, boundary.file[i]);
    p->work.read = clv_seconds() - mark;
end:
    return status;
}

/* ---- solving ---------------------------------------------------------------- */

/* All parts of the file; warps that are to be inverted are. */
static int read_start(clv_pair *p)
{
    int status;
    bool inverse;
    char *file = NULL;
    clvox_link links[CLV_PAIR_PARTS];
    CLV_TRY(clvox_link_word(p->options->initial_warp, &file, &inverse));
    CLV_TRY(clvox_transforms_read(file, NULL, NULL, p->start, CLV_PAIR_PARTS, &p->starts));
    clvox_record_input(p->log, file);
    for (int i = 0; i < p->starts; i++) {
        clvox_transform *part = p->start[i];
        clvox_volume *inverted = NULL;
        links[inverse ? p->starts - 1 - i : i] = (clvox_link){part, inverse && !part->is_warp};
        if (!inverse || !part->is_warp)
            continue;
        status = clvox_invert(p->ctx, part->warp, &inverted, NULL);
        CLV_TRY(status < 0 ? clvox_fail_in(status, file) : status);
        clvox_volume_destroy(&part->warp);
        part->warp = inverted;
    }
    status = clvox_pair_start(&p->work, p->ctx, &p->work.fixed[0]->grid, links, p->starts, file);
end:
    free(file);
    return status;
}

static int look(void *user, const clvox_step *step)
{
    clv_pair *p = user;
    clvox_record_look(p->trace, step);
    return p->look ? p->look(p->user, step) : 0;
}

int clv_pair_solve(clv_pair *p)
{
    int status = CLVOX_OK;
    clvox_pair_work *w = &p->work;
    clvox_register_options *o = &w->options;
    clvox_register_images images;
    clvox_register_plan plan;
    const clvox_pair_sources sources = sources_of(p);
    const clvox_pair_inputs inputs = clv_pair_inputs(p->row, p->options);
    const clvox_pair_boundary boundary = boundary_of(p);
    const double mark = clv_seconds();
    if (p->options->initial_warp)
        CLV_TRY(read_start(p));
    CLV_TRY(clvox_pair_gather(w, &sources, &images));
    if (p->options->given)
        CLV_TRY(clvox_options_read(clvox_register_table(), p->options->given,
                                   clvox_pair_edge(&w->fixed[0]->grid), o));
    cJSON *options = cJSON_AddObjectToObject(p->log, "options");
    cJSON_AddStringToObject(options, "preset", p->options->preset ? p->options->preset : "default");
    cJSON_AddItemToObject(options, "weights", cJSON_CreateDoubleArray(sources.weight, 1));
    clvox_record_fields(options, clvox_register_table(), o);
    w->read += clv_seconds() - mark;
    CLV_TRY(clvox_register_predict(&images, o, &plan));
    cJSON *planned = clvox_record_plan(p->log, &w->fixed[0]->grid, &w->moving[0]->grid);
    clvox_record_memory(planned, p->ctx, plan.bytes);
    p->trace = cJSON_AddArrayToObject(p->log, "trace");
    o->progress = look;
    o->user = p;
    CLV_TRY(clvox_pair_register(w, p->ctx, &images, &boundary));
    const double solved = clv_seconds();
    CLV_TRY(clvox_pair_prepare(w, p->ctx, p->row->names, !p->options->no_picture, p->options->report));
    if (p->options->derivatives)
        CLV_TRY(clvox_pair_sidecars(p->row->names, &inputs, &w->result, &w->outputs, w->sidecar));
    clvox_record_wisdom(p->log, p->ctx);
    w->write = clv_seconds() - solved;
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
    clv_pair_ends(p->row, p->options, &p->work.options, ends);
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

/* Enters the remarks that contexts have made meanwhile. */
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
    const clvox_pair_page page = {
        .fixed = p->row->fixed, .moving = p->row->moving, .log = p->log, .names = p->options->names};
    const int status =
        clvox_pair_page_write(&p->work, &page, clvox_pair_path(p->row->names, CLVOX_PAIR_PAGE, path));
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
    clvox_pair_work *w = &p->work;
    const double mark = clv_seconds();
    /* From here on the files of an earlier run are not complete. */
    unlink(clvox_pair_path(p->row->names, CLVOX_PAIR_LOG, path));
    CLV_TRY(clvox_results_write(&w->outputs));
    for (int i = 0; i < w->outputs.count; i++)
        clvox_record_text(p->log, "outputs", w->outputs.item[i].path);
    if (o->derivatives)
        CLV_TRY(clvox_derivative_describe(o->derivatives));
    w->write += clv_seconds() - mark;
    clvox_record_result(p->log, &w->options, &w->result, w->read, w->write);
    if (p->row->boundaries)
        clvox_record_boundary(p->log, &w->boundary);
    clvox_record_slice(p->log, &w->fixed[0]->grid, &w->moving[0]->grid, &w->result, &axis, &at);
    if (o->report)
        CLV_TRY(write_page(p));
    record_heard(p);
    settle_all(p);
    cJSON_AddNumberToObject(p->log, "seconds", clv_seconds() - p->started);
    CLV_TRY(clvox_record_write(p->log, clvox_pair_path(p->row->names, CLVOX_PAIR_LOG, path)));
    if (w->result.suspicions && o->strict)
        status = clvox_fail(CLVOX_ERROR_DATA, "the result looks wrong; the files were written, look at them");
end:
    return status;
}

void clv_pair_free(clv_pair *p)
{
    clvox_pair_work_free(&p->work);
    for (int i = 0; i < p->starts; i++)
        clvox_transform_destroy(&p->start[i]);
    clvox_before_free(&p->before);
    cJSON_Delete(p->log);
}
