/* SPDX-License-Identifier: Apache-2.0 */
/* A head labelled from files to files, and the atlases of a table. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "clvox/command/label_names.h"
#include "clvox/command/record.h"
#include "clvox/command/segment.h"
#include "clvox/command/table.h"
#include "clvox/threads.h"

/* ---- atlases ----------------------------------------------------------------- */

static int take_row(void *user, int line, const char *const *field)
{
    clvox_labelled_list *l = user;
    if (l->count == CLVOX_SEGMENT_ATLASES)
        return clvox_fail(CLVOX_ERROR_DATA, "%s: has more than %d atlases", l->path, CLVOX_SEGMENT_ATLASES);
    char *const *first = l->atlas[0].file, **file = l->atlas[l->count++].file;
    for (int k = 0; k < CLVOX_LABELLED_FILES; k++)
        file[k] = field[k] ? clvox_table_path(l->path, field[k]) : NULL;
    if (!file[CLVOX_LABELLED_IMAGE])
        return clvox_fail(CLVOX_ERROR_FORMAT, "%s, line %d: names no image", l->path, line);
    if (!file[CLVOX_LABELLED_LABELS] && !file[CLVOX_LABELLED_MASK])
        return clvox_fail(CLVOX_ERROR_FORMAT,
                          "%s, line %d: an atlas needs labels or a mask, and %s has neither", l->path, line,
                          file[CLVOX_LABELLED_IMAGE]);
    for (int k = CLVOX_LABELLED_LABELS; k < CLVOX_LABELLED_FILES; k++)
        if (!file[k] != !first[k])
            return clvox_fail(CLVOX_ERROR_FORMAT,
                              "%s, line %d: all atlases need the same columns, and %s has others than %s",
                              l->path, line, file[CLVOX_LABELLED_IMAGE], first[CLVOX_LABELLED_IMAGE]);
    return CLVOX_OK;
}

int clvox_labelled_read(const char *table, clvox_labelled_list **out)
{
    static const char *const columns[] = {"image", "labels", "mask", NULL};
    int status = CLVOX_OK;
    clvox_labelled_list *l = calloc(1, sizeof *l);
    *out = l;
    if (l) {
        l->path = strdup(table);
        l->atlas = calloc(CLVOX_SEGMENT_ATLASES, sizeof *l->atlas);
    }
    if (!l || !l->path || !l->atlas)
        status = clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    CLV_TRY(status);
    CLV_TRY(clvox_table_read(&(clvox_table){table, columns, 1, take_row, l}));
    if (!l->count)
        status = clvox_fail(CLVOX_ERROR_DATA, "%s: lists no atlas", table);
end:
    if (status < 0)
        clvox_labelled_destroy(out);
    return status;
}

static void unload(clvox_labelled *a)
{
    for (int k = 0; k < CLVOX_LABELLED_FILES; k++)
        clvox_volume_destroy(&a->volume[k]);
}

static int load(clvox_labelled *a)
{
    static const int as[CLVOX_LABELLED_FILES] = {0, CLVOX_AS_LABELS, CLVOX_AS_MASK};
    clvox_input inputs[CLVOX_LABELLED_FILES];
    unload(a);
    free(a->message);
    a->message = NULL;
    for (int k = 0; k < CLVOX_LABELLED_FILES; k++)
        inputs[k] = (clvox_input){a->file[k], &a->volume[k], as[k]};
    const int status = clvox_chain_load(inputs, CLVOX_LABELLED_FILES, NULL, 0, NULL);
    if (status < 0)
        a->message = strdup(clvox_message());
    return status;
}

static void note_files(const clvox_labelled *a, cJSON *log, const clvox_hearer *hearer)
{
    for (int k = 0; k < CLVOX_LABELLED_FILES; k++)
        if (a->file[k])
            clvox_input_note(log, a->file[k], hearer);
}

static void note_left_out(const char *message, cJSON *log, const clvox_hearer *hearer)
{
    char text[2048];
    snprintf(text, sizeof text, "an atlas is left out: %s", message);
    clvox_record_text(log, "remarks", text);
    if (hearer->log)
        hearer->log(hearer->user, 1, text);
}

static int none_left(const clvox_labelled_list *l)
{
    return clvox_fail(CLVOX_ERROR_DATA, "%s: none of its %d atlases could be used", l->path, l->count);
}

int clvox_labelled_keep(clvox_labelled_list *l, cJSON *log, const clvox_hearer *hearer)
{
    int kept = 0;
    l->kept = true;
    for (int i = 0; i < l->count; i++) {
        clvox_labelled *a = &l->atlas[i];
        if (load(a) < 0) {
            note_left_out(a->message, log, hearer);
            continue;
        }
        note_files(a, log, hearer);
        kept++;
    }
    return kept ? CLVOX_OK : none_left(l);
}

void clvox_labelled_destroy(clvox_labelled_list **list)
{
    clvox_labelled_list *l = list ? *list : NULL;
    if (!l)
        return;
    *list = NULL;
    for (int i = 0; i < l->count; i++) {
        for (int k = 0; k < CLVOX_LABELLED_FILES; k++)
            free(l->atlas[i].file[k]);
        free(l->atlas[i].message);
        unload(&l->atlas[i]);
    }
    free(l->atlas);
    free(l->path);
    free(l);
}

/* ---- a head ------------------------------------------------------------------ */

static int add(clvox_segmentation *s, const clvox_labelled *a, double *ncc)
{
    const int status = clvox_segment_add(s, a->volume[CLVOX_LABELLED_IMAGE], a->volume[CLVOX_LABELLED_LABELS],
                                         a->volume[CLVOX_LABELLED_MASK], ncc);
    return status < 0 ? clvox_fail_in(status, a->file[CLVOX_LABELLED_IMAGE]) : status;
}

/* Those that fail are noted; it fails where none is left. */
static int add_all(clvox_segmentation *s, clvox_labelled_list *l, cJSON *log, const clvox_hearer *hearer)
{
    int used = 0;
    cJSON *list = cJSON_AddArrayToObject(log, "atlases");
    for (int i = 0; i < l->count; i++) {
        double ncc = 0;
        clvox_labelled *a = &l->atlas[i];
        int status = l->kept ? CLVOX_OK : load(a);
        if (!l->kept && status >= 0)
            note_files(a, log, hearer);
        cJSON *one = cJSON_CreateObject();
        cJSON_AddItemToArray(list, one);
        cJSON_AddStringToObject(one, "image", a->file[CLVOX_LABELLED_IMAGE]);
        if (a->message) {
            cJSON_AddStringToObject(one, "failed", a->message);
            if (!l->kept) /* else it has been said for all heads */
                note_left_out(a->message, log, hearer);
            continue;
        }
        status = add(s, a, &ncc);
        if (!l->kept)
            unload(a);
        if (status == CLVOX_ERROR_STOPPED)
            return status;
        if (status < 0) {
            cJSON_AddStringToObject(one, "failed", clvox_message());
            note_left_out(clvox_message(), log, hearer);
            continue;
        }
        clvox_record_number(one, "ncc", ncc);
        used++;
    }
    return used ? CLVOX_OK : none_left(l);
}

static int measure(clvox_segment_work *w)
{
    const clvox_volume *labels = w->result.labels;
    int status = labels ? clvox_labels_measure(labels, &w->measure) : 0;
    if (status < 0)
        return status;
    w->labels = status;
    w->confidence = calloc((size_t)w->labels + 1, sizeof *w->confidence);
    if (!w->confidence)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    const size_t n = labels ? clvox_grid_voxels(&labels->grid) : 0;
    for (size_t i = 0; i < n; i++) {
        const int64_t label = labels->names ? labels->names[(int)labels->data[i]] : (int64_t)labels->data[i];
        int low = 0, high = w->labels;
        while (label && low < high) {
            const int middle = low + (high - low) / 2;
            if (w->measure[middle].label < label)
                low = middle + 1;
            else
                high = middle;
        }
        if (label)
            w->confidence[low] += (double)w->result.confidence->data[i] / (double)w->measure[low].voxels;
    }
    return CLVOX_OK;
}

static void record(clvox_segment_work *w, cJSON *log)
{
    double edge[3];
    const clvox_segment_result *r = &w->result;
    const size_t n = clvox_grid_voxels(&r->mask->grid);
    clvox_grid_spacing(&r->mask->grid, edge);
    w->brain_ml = 0;
    for (size_t i = 0; i < n; i++)
        w->brain_ml += (double)r->mask->data[i] * edge[0] * edge[1] * edge[2] / 1000;
    cJSON *to = cJSON_AddObjectToObject(log, "result");
    cJSON_AddNumberToObject(to, "atlases", r->atlases);
    cJSON_AddNumberToObject(to, "labels", w->labels);
    cJSON_AddNumberToObject(to, "brain_ml", w->brain_ml);
    cJSON_AddNumberToObject(to, "seconds_register", r->seconds_register);
    cJSON_AddNumberToObject(to, "seconds_fuse", r->seconds_fuse);
    cJSON_AddNumberToObject(to, "device_bytes", (double)r->device_bytes);
}

int clvox_segment_solve(clvox_context *ctx, const clvox_segment_options *o, clvox_labelled_list *atlases,
                        const char *head, clvox_segment_work *w, cJSON *log, const clvox_hearer *hearer)
{
    clvox_segmentation *s = NULL;
    clvox_record_fields(cJSON_AddObjectToObject(log, "options"), clvox_segment_table(), o);
    int status = clvox_segment_begin(ctx, w->head, o, &s);
    CLV_TRY(status < 0 ? clvox_fail_in(status, head) : status);
    CLV_TRY(add_all(s, atlases, log, hearer));
    CLV_TRY(clvox_segment_end(s, &w->result));
    CLV_TRY(measure(w));
    if (w->names && w->result.labels)
        CLV_TRY(clvox_label_names_read(w->names, w->measure, w->labels, &w->name));
    record(w, log);
end:
    clvox_segment_destroy(&s);
    return status;
}

void clvox_segment_work_free(clvox_segment_work *w)
{
    clvox_volume_destroy(&w->head);
    clvox_segment_result_destroy(&w->result);
    clvox_label_names_free(&w->name, w->labels);
    clvox_label_measure_destroy(&w->measure);
    free(w->confidence);
    clvox_results_free(&w->outputs);
    for (int i = 0; i < CLVOX_SEGMENT_SIDECARS; i++)
        cJSON_Delete(w->sidecar[i]);
}
