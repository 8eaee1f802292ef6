/* SPDX-License-Identifier: Apache-2.0 */
/* Labels and brain mask of a head from many atlases. An atlas that cannot be read or registered is named and
 * left out. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/bar.h"
#include "cli/cli.h"
#include "cli/page.h"
#include "clvox/batch.h"
#include "clvox/command/bids.h"
#include "clvox/command/derivative.h"
#include "clvox/command/label_names.h"
#include "clvox/command/table.h"
#include "clvox/compare.h"
#include "clvox/files.h"
#include "clvox/segment.h"

enum { LABELS, MASK, CONFIDENCE, VOLUMES, PAGE, LOG, FILES, SIDECARS = VOLUMES };

static const struct {
    const char *end, *bids, *description;
} names[FILES] = {
    [LABELS] = {"_labels.nii.gz", "%P_dseg.nii.gz", "Labels, fused from those of registered atlases"},
    [MASK] = {"_mask.nii.gz", "%P_desc-brain_mask.nii.gz", "Brain, fused from registered atlases"},
    [CONFIDENCE] = {"_confidence.nii.gz", "%P_desc-confidence_probseg.nii.gz",
                    "Share of the fused label in the votes of all atlases"},
    [VOLUMES] = {"_volumes.tsv", "%P_desc-volumes_dseg.tsv", NULL},
    [PAGE] = {"_report.html", "%F_desc-segment.html", NULL},
    [LOG] = {".json", "%L_desc-segment.json", NULL},
};

typedef struct listed {
    char *image, *labels, *mask;
} listed;

typedef struct request {
    const char *head, *list, *names, *prefix, *derivatives;
    const char *given[CLVOX_MAX_OPTIONS];
    clvox_segment_options options;
    listed *atlas;
    int count;
} request;

/* Label, name, voxels, volume and mean confidence of each label. */
typedef struct volumes {
    clvox_label_measure *row;
    char **name; /* NULL: there is no table of names */
    double *confidence;
    int count;
} volumes;

/* ---- the list ----------------------------------------------------------------- */

static int take_row(void *user, int line, const char *const *field)
{
    request *r = user;
    if (r->count == CLVOX_SEGMENT_ATLASES)
        return clvox_fail(CLVOX_ERROR_DATA, "%s: has more than %d atlases", r->list, CLVOX_SEGMENT_ATLASES);
    listed *a = &r->atlas[r->count++];
    a->image = clvox_table_path(r->list, field[0]);
    a->labels = field[1] ? clvox_table_path(r->list, field[1]) : NULL;
    a->mask = field[2] ? clvox_table_path(r->list, field[2]) : NULL;
    if (!a->image)
        return clvox_fail(CLVOX_ERROR_FORMAT, "%s, line %d: names no image", r->list, line);
    if (!a->labels && !a->mask)
        return clvox_fail(CLVOX_ERROR_FORMAT,
                          "%s, line %d: an atlas needs labels or a mask, and %s has neither", r->list, line,
                          a->image);
    if (!a->labels != !r->atlas[0].labels || !a->mask != !r->atlas[0].mask)
        return clvox_fail(CLVOX_ERROR_FORMAT,
                          "%s, line %d: all atlases need the same columns, and %s has others than %s",
                          r->list, line, a->image, r->atlas[0].image);
    return CLVOX_OK;
}

static int read_list(command *cli, request *r)
{
    static const char *const columns[] = {"image", "labels", "mask", NULL};
    int status = CLVOX_OK;
    r->atlas = calloc(CLVOX_SEGMENT_ATLASES, sizeof *r->atlas);
    if (!r->atlas)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    CLI_TRY(clvox_table_read(
        &(clvox_table){.path = r->list, .names = columns, .needed = 1, .row = take_row, .user = r}));
    if (!r->count)
        status = clvox_fail(CLVOX_ERROR_DATA, "%s: lists no atlas", r->list);
    for (int i = 0; i < r->count && status >= 0; i++) {
        const char *const paths[] = {r->atlas[i].image, r->atlas[i].labels, r->atlas[i].mask};
        for (int k = 0; k < 3 && status >= 0; k++)
            status = paths[k] ? cli_claim_input(cli, paths[k]) : CLVOX_OK;
    }
end:
    return status;
}

/* ---- names -------------------------------------------------------------------- */

/* The files' ends, and of derivatives their sidecars; *prefix is what all begin with. */
typedef struct paths {
    char end[FILES][PATH_MAX], sidecar[SIDECARS][PATH_MAX], folder[PATH_MAX];
    clvox_end ends[FILES + SIDECARS + 1];
} paths;

static int name_files(command *cli, request *r, paths *p)
{
    int status = CLVOX_OK, count = 0;
    clvox_bids_target target;
    const bool derived = r->derivatives, labelled = r->atlas[0].labels;
    if (derived && !clvox_bids_subject(r->head, NULL, "T1w", NULL, &target))
        return clvox_fail(
            CLVOX_ERROR_DATA,
            "%s: the head gives the outputs of --bids-derivatives their names, and its own is not "
            "sub-LABEL_..._SUFFIX.nii.gz; rename it, or give -o",
            r->head);
    for (int i = 0; i < FILES; i++) {
        if (!derived)
            strcpy(p->end[i], names[i].end);
        else if (!clvox_bids_expand(names[i].bids, &target, p->end[i]) ||
                 (i < SIDECARS && !clvox_bids_ending(p->end[i], ".json", p->sidecar[i])))
            return clvox_fail(CLVOX_ERROR_FILE, "%s: the names of its derivatives are too long", r->head);
        const bool written = labelled || (i != LABELS && i != VOLUMES);
        p->ends[count++] = (clvox_end){p->end[i], written};
        if (derived && i < SIDECARS)
            p->ends[count++] = (clvox_end){p->sidecar[i], written};
    }
    if (!derived)
        return cli_claim_prefix(cli, &r->prefix, p->ends);
    snprintf(p->folder, sizeof p->folder, "%s%s", r->derivatives,
             r->derivatives[strlen(r->derivatives) - 1] == '/' ? "" : "/");
    r->prefix = p->folder;
    CLI_TRY(clvox_derivative_check(r->derivatives, r->head));
    status = cli_claim_files(cli, r->prefix, p->ends, p->end[LOG]);
end:
    return status;
}

/* ---- the run ------------------------------------------------------------------ */

/* Adds an atlas from its files. */
static int add(command *cli, clvox_segmentation *s, const listed *a, double *ncc)
{
    int status = CLVOX_OK;
    clvox_volume *image = NULL, *labels = NULL, *mask = NULL;
    const cli_input inputs[] = {
        {a->image, &image, 0}, {a->labels, &labels, CLI_AS_LABELS}, {a->mask, &mask, CLI_AS_MASK}};
    CLI_TRY(cli_load(cli, inputs, 3, NULL, NULL, false));
    status = clvox_segment_add(s, image, labels, mask, ncc);
    if (status < 0)
        clvox_fail_in(status, a->image);
end:
    clvox_volume_destroy(&image);
    clvox_volume_destroy(&labels);
    clvox_volume_destroy(&mask);
    return status;
}

/* Those that fail are noted; it fails where none is left. */
static int add_all(command *cli, request *r, clvox_segmentation *s)
{
    int used = 0;
    cJSON *list = cJSON_AddArrayToObject(cli->log, "atlases");
    for (int i = 0; i < r->count; i++) {
        double ncc;
        const int status = add(cli, s, &r->atlas[i], &ncc);
        cJSON *one = cJSON_CreateObject();
        cJSON_AddItemToArray(list, one);
        cJSON_AddStringToObject(one, "image", r->atlas[i].image);
        if (status == CLVOX_ERROR_STOPPED || cli_interrupted())
            return clvox_fail(CLVOX_ERROR_STOPPED, "interrupted");
        if (status < 0) {
            cJSON_AddStringToObject(one, "failed", clvox_message());
            cli_note(cli, "an atlas is left out: %s", clvox_message());
            continue;
        }
        clvox_record_number(one, "ncc", ncc);
        cli_remark(cli, 0, "atlas    %s: NCC %.3f\n", clvox_page_name(r->atlas[i].image), ncc);
        used++;
    }
    return used ? CLVOX_OK
                : clvox_fail(CLVOX_ERROR_DATA, "%s: none of its %d atlases could be used", r->list, r->count);
}

static int measure(const clvox_segment_result *result, volumes *v)
{
    int status = clvox_labels_measure(result->labels, &v->row);
    if (status < 0)
        return status;
    v->count = status;
    v->confidence = calloc((size_t)v->count + 1, sizeof *v->confidence);
    if (!v->confidence)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    const clvox_volume *labels = result->labels;
    const size_t n = clvox_grid_voxels(&labels->grid);
    for (size_t i = 0; i < n; i++) {
        const int64_t label = labels->names ? labels->names[(int)labels->data[i]] : (int64_t)labels->data[i];
        int low = 0, high = v->count;
        while (label && low < high) {
            const int middle = low + (high - low) / 2;
            if (v->row[middle].label < label)
                low = middle + 1;
            else
                high = middle;
        }
        if (label)
            v->confidence[low] += (double)result->confidence->data[i] / (double)v->row[low].voxels;
    }
    return CLVOX_OK;
}

static void print_volumes(FILE *to, const void *what)
{
    const volumes *v = what;
    fprintf(to, "label\t%svoxels\tmm3\tconfidence\n", v->name ? "name\t" : "");
    for (int i = 0; i < v->count; i++) {
        fprintf(to, "%" PRId64 "\t", v->row[i].label);
        if (v->name) {
            clvox_table_fields(to, (const char *const[]){v->name[i] ? v->name[i] : "n/a"}, 1);
            fputc('\t', to);
        }
        fprintf(to, "%zu", v->row[i].voxels);
        clvox_table_number(to, "%.8g", v->row[i].mm3);
        clvox_table_number(to, "%.4f", v->confidence[i]);
        fputc('\n', to);
    }
}

static int write_volumes(const void *what, int unused, const char *path)
{
    (void)unused;
    return clvox_table_write(path, print_volumes, what);
}

/* "148 labels and a brain of 1557 ml, from 2 of 2 atlases." */
static void put_verdict(clvox_report *page, const cJSON *result, int most)
{
    char text[160], labels[48] = "";
    const int count = cJSON_GetObjectItem(result, "labels")->valueint;
    if (count)
        snprintf(labels, sizeof labels, "%d label%s and ", count, count == 1 ? "" : "s");
    snprintf(text, sizeof text, "%s%s brain of %.0f ml, from %d of %d atlases.", labels, count ? "a" : "A",
             cJSON_GetObjectItem(result, "brain_ml")->valuedouble,
             cJSON_GetObjectItem(result, "atlases")->valueint, most);
    clvox_page_verdict(page, text);
}

static void put_volumes(clvox_report *page, const volumes *v)
{
    static const char *const columns[] = {"label", "name", "volume, ml", "confidence"};
    clvox_report_section(page, "Volumes");
    clvox_report_table(page, "Confidence is the mean share of the label in the votes of the atlases", columns,
                       4);
    for (int i = 0; i < v->count; i++) {
        char text[3][32];
        snprintf(text[0], sizeof *text, "%" PRId64, v->row[i].label);
        clvox_page_number(v->row[i].mm3 / 1000, text[1], sizeof *text);
        snprintf(text[2], sizeof *text, "%.2f", v->confidence[i]);
        clvox_report_row(page, (clvox_report_cell[4]){{.text = text[0]},
                                                      {.text = v->name ? v->name[i] : NULL},
                                                      {.text = text[1]},
                                                      {.text = text[2]}});
    }
}

static int write_page(command *cli, const request *r, const clvox_volume *head,
                      const clvox_segment_result *result, const volumes *v, const char *path)
{
    static const char *const columns[] = {"atlas", "NCC"};
    int status = CLVOX_OK, count = 0;
    char title[320];
    clvox_report *page = NULL;
    clvox_segment_options defaults;
    clvox_report_layer layers[4];
    const cJSON *one;
    snprintf(title, sizeof title, "Segmentation: %.290s", clvox_page_name(r->head));
    CLI_TRY(cli_page_begin(cli, title, &page));
    put_verdict(page, cJSON_GetObjectItem(cli->log, "result"), r->count);
    if (r->names)
        CLI_TRY(clvox_label_names_show(r->names, page));
    layers[count++] = (clvox_report_layer){"head", head, CLVOX_REPORT_GREY, 0};
    layers[count++] = (clvox_report_layer){"confidence", result->confidence, CLVOX_REPORT_GREY, 0};
    if (result->labels)
        layers[count++] = (clvox_report_layer){"labels", result->labels, CLVOX_REPORT_OUTLINES, 0};
    layers[count++] = (clvox_report_layer){"brain", result->mask, CLVOX_REPORT_MASK, result->labels != NULL};
    clvox_report_section(page, "Images");
    clvox_report_images(page, layers, count, result->mask);
    clvox_report_section(page, "Confidence");
    clvox_report_histogram(page, "Share of the label in all votes, in the brain", result->confidence,
                           result->mask, 0);
    clvox_report_section(page, "Atlases");
    clvox_report_table(page, "Correlation with the head after registration; those that failed are left out",
                       columns, 2);
    cJSON_ArrayForEach(one, cJSON_GetObjectItem(cli->log, "atlases"))
    {
        const cJSON *ncc = cJSON_GetObjectItem(one, "ncc");
        char text[32] = "failed";
        if (cJSON_IsNumber(ncc))
            snprintf(text, sizeof text, "%.3f", ncc->valuedouble);
        clvox_report_row(
            page, (clvox_report_cell[2]){
                      {clvox_page_name(cJSON_GetStringValue(cJSON_GetObjectItem(one, "image"))), NULL, NULL},
                      {text, NULL, NULL}});
    }
    if (result->labels)
        put_volumes(page, v);
    clvox_report_section(page, "Numbers");
    clvox_page_facts(page, cJSON_GetObjectItem(cli->log, "result"), 16);
    clvox_segment_defaults(&defaults);
    clvox_page_options(page, cli->log, &(clvox_page_set){NULL, clvox_segment_table(), &r->options, &defaults},
                       1);
end:
    return cli_page_end(cli, &page, status, path);
}

static int write_files(command *cli, const request *r, const paths *p, const clvox_segment_result *result,
                       const volumes *v)
{
    int status = CLVOX_OK;
    clvox_results files = {.count = 0};
    cJSON *sidecar[SIDECARS] = {NULL};
    const clvox_volume *const volume[SIDECARS] = {result->labels, result->mask, result->confidence};
    for (int i = 0; i < SIDECARS; i++) {
        if (!volume[i])
            continue;
        CLI_TRY(clvox_results_volume(&files, volume[i], r->prefix, p->end[i]));
        if (!r->derivatives)
            continue;
        sidecar[i] = clvox_sidecar(names[i].description);
        clvox_sidecar_source(sidecar[i], r->derivatives, r->head);
        CLI_TRY(clvox_results_add(&files, clvox_sidecar_write, sidecar[i], 0, r->prefix, p->sidecar[i]));
    }
    if (result->labels)
        CLI_TRY(clvox_results_add(&files, write_volumes, v, 0, r->prefix, p->end[VOLUMES]));
    CLI_TRY(cli_results_write(cli, &files, false));
    if (r->derivatives)
        status = clvox_derivative_describe(r->derivatives);
end:
    clvox_results_free(&files);
    for (int i = 0; i < SIDECARS; i++)
        cJSON_Delete(sidecar[i]);
    return status;
}

static void report(command *cli, const clvox_segment_result *result, const volumes *v)
{
    double brain = 0, edge[3];
    const size_t n = clvox_grid_voxels(&result->mask->grid);
    clvox_grid_spacing(&result->mask->grid, edge);
    for (size_t i = 0; i < n; i++)
        brain += (double)result->mask->data[i] * edge[0] * edge[1] * edge[2] / 1000;
    cJSON *to = cJSON_AddObjectToObject(cli->log, "result");
    cJSON_AddNumberToObject(to, "atlases", result->atlases);
    cJSON_AddNumberToObject(to, "labels", v->count);
    cJSON_AddNumberToObject(to, "brain_ml", brain);
    cJSON_AddNumberToObject(to, "seconds_register", result->seconds_register);
    cJSON_AddNumberToObject(to, "seconds_fuse", result->seconds_fuse);
    cJSON_AddNumberToObject(to, "device_bytes", (double)result->device_bytes);
    cli_print(cli, "%-24s %d\n", "atlases", result->atlases);
    if (result->labels)
        cli_print(cli, "%-24s %d\n", "labels", v->count);
    cli_print(cli, "%-24s %.1f ml\n", "brain", brain);
    cli_print(cli, "%-24s %.2f registering, %.2f fusing\n", "seconds", result->seconds_register,
              result->seconds_fuse);
}

static int run(command *cli, request *r)
{
    int status = CLVOX_OK;
    char path[2 * PATH_MAX];
    clvox_volume *head = NULL;
    clvox_segmentation *s = NULL;
    clvox_segment_result result = {.labels = NULL};
    volumes v = {.row = NULL};
    cli_bar bar;
    paths *p = calloc(1, sizeof *p);
    if (!p)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    CLI_TRY(read_list(cli, r));
    if (r->names)
        CLI_TRY(cli_claim_input(cli, r->names));
    if (r->names)
        CLI_TRY(clvox_label_names_check(r->names));
    CLI_TRY(name_files(cli, r, p));
    CLI_TRY(cli_load(cli, &(cli_input){r->head, &head, 0}, 1, NULL, NULL, true));
    clvox_record_fields(cJSON_AddObjectToObject(cli->log, "options"), clvox_segment_table(), &r->options);
    cli_bar_begin(&bar, cli);
    r->options.progress = cli_bar_stage;
    r->options.user = &bar;
    status = clvox_segment_begin(cli->ctx, head, &r->options, &s);
    if (status < 0)
        clvox_fail_in(status, r->head);
    status = status < 0 ? status : add_all(cli, r, s);
    status = status < 0 ? status : clvox_segment_end(s, &result);
    cli_bar_end(&bar);
    CLI_TRY(status);
    if (result.labels)
        CLI_TRY(measure(&result, &v));
    if (result.labels && r->names)
        CLI_TRY(clvox_label_names_read(r->names, v.row, v.count, &v.name));
    report(cli, &result, &v);
    CLI_TRY(write_files(cli, r, p, &result, &v));
    snprintf(path, sizeof path, "%s%s", r->prefix, p->end[PAGE]);
    CLI_TRY(write_page(cli, r, head, &result, &v, path));
    CLI_TRY(cli_profile(cli));
    snprintf(path, sizeof path, "%s%s", r->prefix, p->end[LOG]);
    CLI_TRY(cli_write_log(cli, path));
end:
    for (int i = 0; i < r->count; i++) {
        free(r->atlas[i].image);
        free(r->atlas[i].labels);
        free(r->atlas[i].mask);
    }
    free(r->atlas);
    clvox_label_names_free(&v.name, v.count);
    free(v.confidence);
    free(p);
    clvox_label_measure_destroy(&v.row);
    clvox_segment_destroy(&s);
    clvox_segment_result_destroy(&result);
    clvox_volume_destroy(&head);
    return status;
}

int cmd_segment(command *cli, int argc, char **argv)
{
    request r = {.head = NULL};
    const cli_option options[] = {
        {"image", 'i', CLI_TEXT, &r.head, "HEAD", "the head", .basic = true},
        {"atlases", 0, CLI_TEXT, &r.list, "LIST",
         "table of the atlases: columns image, labels and, if there are, mask", .basic = true},
        {"names", 0, CLI_TEXT, &r.names, "TABLE",
         "names of the labels for the table of volumes and the page: columns label (or index) and name, .tsv "
         "or .csv",
         .basic = true},
        {"output", 'o', CLI_PREFIX, &r.prefix, "PREFIX", "prefix of the output files", .basic = true},
        {"bids-derivatives", 0, CLI_FOLDER, &r.derivatives, "DIR",
         "instead of -o: write into this folder of BIDS derivatives, under names made from the head's",
         .basic = true},
        {0},
    };
    const cli_usage usage = {.options = options, .table = clvox_segment_table(), .given = r.given};
    char **words;
    int count, status;
    clvox_segment_defaults(&r.options);
    status = cli_parse(cli, &usage, argc, argv, &words, &count);
    if (status)
        return status;
    if (!r.head || !r.list)
        return cli_misuse("%s is missing", r.head ? "--atlases LIST" : "-i HEAD");
    if (!r.prefix == !r.derivatives)
        return cli_misuse(r.prefix ? "-o and --bids-derivatives: one of them" : "-o PREFIX is missing");
    if ((status = cli_settle_fields(clvox_segment_table(), r.given, &r.options)))
        return status;
    return run(cli, &r);
}
