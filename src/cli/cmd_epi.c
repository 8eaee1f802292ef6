/* SPDX-License-Identifier: Apache-2.0 */
/* Susceptibility distortion of echo-planar images. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/page.h"
#include "clvox/epi.h"
#include "clvox/files.h"

typedef struct request {
    const char *blips, *pe, *readout, *acqparams, *anatomy, *field, *unit, *prefix;
    char *text[3];                    /* copies of the lists, cut at their commas */
    const char *file[CLVOX_EPI_MOST]; /* of --blips */
    clvox_volume *volume[CLVOX_EPI_MOST], *frame[CLVOX_EPI_MOST], *other;
    clvox_epi_image image[CLVOX_EPI_MOST]; /* every frame of every file */
    int files, images, of[CLVOX_EPI_MOST]; /* of: the file of an image */
    double hz;                             /* for the field's unit */
} request;

/* ---- what was typed --------------------------------------------------------- */

/* Cuts a copy of a list at its commas. A misuse where there are too many. */
static int cut(const char *option, const char *list, char **copy, const char **item, int *count)
{
    char *rest = NULL;
    *count = 0;
    *copy = strdup(list);
    if (!*copy)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    for (char *word = strtok_r(*copy, ",", &rest); word; word = strtok_r(NULL, ",", &rest)) {
        if (*count == CLVOX_EPI_MOST)
            return cli_misuse("%s: more than %d values", option, CLVOX_EPI_MOST);
        item[(*count)++] = word;
    }
    return *count ? CLVOX_OK : cli_misuse("%s: no value is given", option);
}

/* --pe and --readout: for each file, or one readout time for all. */
static int read_options(request *r)
{
    const char *direction[CLVOX_EPI_MOST], *readout[CLVOX_EPI_MOST];
    int directions, readouts, status = CLVOX_OK;
    CLI_TRY(cut("--pe", r->pe, &r->text[1], direction, &directions));
    CLI_TRY(cut("--readout", r->readout, &r->text[2], readout, &readouts));
    if (directions != r->files || (readouts != r->files && readouts != 1))
        return cli_misuse(
            "--blips names %d files, --pe %d directions and --readout %d times: give one of each for "
            "every file",
            r->files, directions, readouts);
    for (int i = 0; i < r->images; i++) {
        const char *word = readout[readouts > 1 ? r->of[i] : 0];
        char *end;
        const double seconds = strtod(word, &end);
        if (*end || clvox_epi_encoding_set(direction[r->of[i]], seconds, &r->image[i].encoding) < 0)
            return cli_misuse("--pe %s --readout %s: %s", direction[r->of[i]], word,
                              *end ? "the readout time is no number" : clvox_message());
    }
end:
    return status;
}

static int read_acqparams(request *r)
{
    clvox_epi_encoding row[CLVOX_EPI_MOST];
    int rows,
        status = clvox_epi_acqparams_read(r->acqparams, &r->volume[0]->grid, row, CLVOX_EPI_MOST, &rows);
    if (status >= 0 && rows != r->images)
        status = clvox_fail(CLVOX_ERROR_DATA, "%s: has %d rows for the %d volumes of --blips", r->acqparams,
                            rows, r->images);
    for (int i = 0; i < r->images && status >= 0; i++)
        r->image[i].encoding = row[i];
    return status;
}

static int read_sidecars(request *r)
{
    int status = CLVOX_OK;
    for (int i = 0; i < r->images && status >= 0; i++)
        status = clvox_epi_encoding_read(r->file[r->of[i]], &r->image[i].encoding);
    return status < 0 ? clvox_fail_in(status, "phase encoding (--pe and --readout give it too)") : status;
}

/* ---- images ------------------------------------------------------------------ */

static int load(command *cli, request *r)
{
    int status = CLVOX_OK;
    cli_input inputs[CLVOX_EPI_MOST + 1];
    for (int i = 0; i < r->files; i++)
        inputs[i] = (cli_input){r->file[i], &r->volume[i], 0};
    inputs[r->files] = (cli_input){r->anatomy ? r->anatomy : r->field, &r->other, 0};
    CLI_TRY(cli_load(cli, inputs, r->files + 1, NULL, NULL, true));
    for (int i = 0; i < r->files; i++)
        for (int k = 0; k < r->volume[i]->frames; k++) {
            if (r->images == CLVOX_EPI_MOST)
                return clvox_fail(CLVOX_ERROR_DATA,
                                  "%s: more than %d volumes in all; a few b = 0 of each direction "
                                  "suffice",
                                  r->file[i], CLVOX_EPI_MOST);
            status = clvox_volume_frame(r->volume[i], k, &r->frame[r->images]);
            if (status < 0)
                return clvox_fail_in(status, r->file[i]);
            r->of[r->images] = i;
            r->image[r->images].image = r->frame[r->images];
            r->images++;
        }
    if ((r->anatomy || r->field) && r->images > 1)
        return clvox_fail(CLVOX_ERROR_DATA, "%s: has %d volumes; with --to and --field it is one", r->file[0],
                          r->images);
    if (r->acqparams)
        return read_acqparams(r);
    status = r->pe ? read_options(r) : read_sidecars(r);
end:
    return status;
}

/* ---- results ----------------------------------------------------------------- */

/* "Shifts of up to 6.69 mm; the images differ by 0.105 of their mean before, 0.007 after." */
static void put_verdict(clvox_report *page, const request *r, const clvox_epi_result *result)
{
    char number[3][32], text[320];
    const double values[3] = {result->largest_mm, result->difference_before, result->difference_after};
    for (int i = 0; i < 3; i++)
        clvox_page_number(values[i], number[i], sizeof number[i]);
    int used = snprintf(text, sizeof text, "The head is shifted by up to %s mm", number[0]);
    if (r->images > 1)
        used += snprintf(text + used, sizeof text - (size_t)used,
                         "; the images differ by %s of their mean before, by %s after", number[1], number[2]);
    if (result->piled_up)
        snprintf(text + used, sizeof text - (size_t)used,
                 ". In %ld voxels signal of several places lies in one, which no correction brings back.",
                 result->piled_up);
    else
        snprintf(text + used, sizeof text - (size_t)used, ".");
    clvox_page_verdict(page, text);
}

static int write_page(command *cli, const request *r, const clvox_epi_result *result)
{
    int status = CLVOX_OK, count = 0;
    char title[320], path[PATH_MAX];
    clvox_report *page = NULL;
    clvox_report_layer layer[CLVOX_REPORT_LAYERS];
    clvox_volume *content = NULL;
    snprintf(title, sizeof title, "Distortion: %.300s", clvox_page_name(r->prefix));
    snprintf(path, sizeof path, "%s_report.html", r->prefix);
    CLI_TRY(cli_page_begin(cli, title, &page));
    put_verdict(page, r, result);
    layer[count++] = (clvox_report_layer){"corrected", result->corrected, CLVOX_REPORT_GREY, 0};
    layer[count++] = (clvox_report_layer){"first image", r->image[0].image, CLVOX_REPORT_GREY, 0};
    for (int i = 1; i < r->images && count < 3; i++)
        if (r->image[i].encoding.seconds * r->image[0].encoding.seconds < 0)
            layer[count++] = (clvox_report_layer){"opposite image", r->image[i].image, CLVOX_REPORT_GREY, 0};
    if (r->anatomy)
        layer[count++] = (clvox_report_layer){"anatomy", r->other, CLVOX_REPORT_GREY, 0};
    layer[count++] = (clvox_report_layer){"field, Hz", result->field, CLVOX_REPORT_SIGNED, 1};
    if (result->piled_up)
        layer[count++] = (clvox_report_layer){"piled up", result->pile_up, CLVOX_REPORT_MASK, 1};
    CLI_TRY(clvox_page_content(result->corrected, &content));
    clvox_report_section(page, "Images");
    clvox_report_images(page, layer, count, content);
    clvox_report_section(page, "Numbers");
    clvox_page_facts(page, cJSON_GetObjectItem(cli->log, "result"), 16);
end:
    status = cli_page_end(cli, &page, status, path);
    clvox_volume_destroy(&content);
    return status;
}

static void report(command *cli, const request *r, const clvox_epi_result *result)
{
    cJSON *to = cJSON_AddObjectToObject(cli->log, "result");
    cJSON *list = cJSON_AddArrayToObject(cli->log, "images");
    for (int i = 0; i < r->images; i++) {
        cJSON *one = cJSON_CreateObject();
        cJSON_AddStringToObject(one, "file", r->file[r->of[i]]);
        cJSON_AddNumberToObject(one, "axis", r->image[i].encoding.axis);
        cJSON_AddNumberToObject(one, "signed_readout_time", r->image[i].encoding.seconds);
        cJSON_AddItemToObject(one, "from_first_image_ras", cJSON_CreateDoubleArray(result->matrix[i][0], 16));
        cJSON_AddItemToArray(list, one);
    }
    if (r->field)
        cJSON_AddNumberToObject(to, "hz_per_unit", r->hz);
    cJSON_AddNumberToObject(to, "largest_shift_mm", result->largest_mm);
    cJSON_AddNumberToObject(to, "piled_up_voxels", (double)result->piled_up);
    cli_print(cli, "%-24s up to %.2f mm in the head\n", "shift", result->largest_mm);
    if (r->images > 1) {
        cJSON_AddNumberToObject(to, "difference_before", result->difference_before);
        cJSON_AddNumberToObject(to, "difference_after", result->difference_after);
        cli_print(cli, "%-24s %.4f before, %.4f after (rms, of the mean in the head)\n", "difference",
                  result->difference_before, result->difference_after);
    }
    cli_print(cli,
              "%-24s %ld voxels of the head (PREFIX_pileup.nii.gz): signal of several places lies in one\n",
              "piled up", result->piled_up);
    cJSON_AddNumberToObject(to, "seconds", result->seconds);
    cJSON_AddNumberToObject(to, "device_bytes", (double)result->device_bytes);
    cli_print(cli, "%-24s %.2f\n", "seconds", result->seconds);
}

static int estimate(command *cli, const request *r, clvox_epi_result *result)
{
    int status = r->anatomy ? clvox_epi_from_anatomy(cli->ctx, r->image, r->other, result)
                 : r->field ? clvox_epi_from_field(cli->ctx, r->image, r->other, r->hz, result)
                            : clvox_epi_from_blips(cli->ctx, r->image, r->images, result);
    if (status == CLVOX_ERROR_DATA || status == CLVOX_ERROR_ARGUMENT)
        clvox_fail_in(status, r->blips);
    return status;
}

static int run(command *cli, request *r)
{
    static const clvox_end ends[] = {{"_field.nii.gz", true},
                                     {"_warp.nii.gz", true},
                                     {"_corrected.nii.gz", true},
                                     {"_pileup.nii.gz", true},
                                     {"_report.html", true},
                                     {".json", true},
                                     {0}};
    int status = CLVOX_OK;
    char log[PATH_MAX];
    clvox_epi_result result = {.field = NULL};
    clvox_results outputs = {.count = 0};
    CLI_TRY(cli_claim_prefix(cli, &r->prefix, ends));
    for (int i = 0; i < r->files; i++)
        CLI_TRY(cli_claim_input(cli, r->file[i]));
    if (r->field && !r->unit)
        CLI_TRY(clvox_epi_field_unit_read(r->field, &r->hz));
    CLI_TRY(load(cli, r));
    CLI_TRY(estimate(cli, r, &result));
    report(cli, r, &result);
    CLI_TRY(clvox_results_warp(&outputs, result.warp, r->prefix, "_warp.nii.gz"));
    CLI_TRY(clvox_results_volume(&outputs, result.field, r->prefix, "_field.nii.gz"));
    CLI_TRY(clvox_results_volume(&outputs, result.corrected, r->prefix, "_corrected.nii.gz"));
    CLI_TRY(clvox_results_volume(&outputs, result.pile_up, r->prefix, "_pileup.nii.gz"));
    CLI_TRY(cli_results_write(cli, &outputs, true));
    CLI_TRY(write_page(cli, r, &result));
    CLI_TRY(cli_profile(cli));
    snprintf(log, sizeof log, "%s.json", r->prefix);
    CLI_TRY(cli_write_log(cli, log));
end:
    clvox_results_free(&outputs);
    clvox_epi_result_destroy(&result);
    return status;
}

static void release(request *r)
{
    for (int i = 0; i < CLVOX_EPI_MOST; i++) {
        clvox_volume_destroy(&r->volume[i]);
        clvox_volume_destroy(&r->frame[i]);
    }
    clvox_volume_destroy(&r->other);
    for (int i = 0; i < 3; i++)
        free(r->text[i]);
}

int cmd_epi(command *cli, int argc, char **argv)
{
    request r = {.blips = NULL};
    const cli_option options[] = {
        {"blips", 0, CLI_TEXT, &r.blips, "FILE,FILE...", "the images; of several volumes each counts"},
        {"pe", 0, CLI_TEXT, &r.pe, "j-,j...",
         "PhaseEncodingDirection of each file: i, j, k, i-, j-, k- (default: from its BIDS sidecar)"},
        {"readout", 0, CLI_TEXT, &r.readout, "S,S...",
         "TotalReadoutTime of each file in seconds, or one for all"},
        {"acqparams", 0, CLI_TEXT, &r.acqparams, "FILE",
         "topup's rows x y z seconds instead, one for each volume"},
        {"to", 0, CLI_TEXT, &r.anatomy, "FILE",
         "undistorted image of the same head, in place of a second image"},
        {"field", 0, CLI_TEXT, &r.field, "FILE", "field map, in place of a second image"},
        {"field-unit", 0, CLI_TEXT, &r.unit, "UNIT",
         "Hz, rad/s, or the echo times S,S in seconds of an unwrapped phase difference in radians (default: "
         "from its BIDS sidecar, else Hz)"},
        {"output", 'o', CLI_PREFIX, &r.prefix, "PREFIX", "prefix of the output files"},
        {0},
    };
    const cli_usage usage = {.options = options};
    char **words;
    int count, status = cli_parse(cli, &usage, argc, argv, &words, &count);
    if (status)
        return status;
    if (!r.blips || !r.prefix)
        return cli_misuse("%s is missing", r.blips ? "-o PREFIX" : "--blips FILE,FILE");
    if (!!r.pe != !!r.readout)
        return cli_misuse("%s is missing: --pe and --readout are given together",
                          r.pe ? "--readout SECONDS" : "--pe DIRECTIONS");
    if (r.acqparams && r.pe)
        return cli_misuse("--acqparams says what --pe and --readout say: give one of them");
    if (r.anatomy && r.field)
        return cli_misuse("--to and --field exclude each other");
    if (r.unit && !r.field)
        return cli_misuse("--field-unit is of --field FILE, which is missing");
    if (r.unit && clvox_epi_field_unit(r.unit, &r.hz) < 0)
        return cli_misuse("--field-unit: %s", clvox_message());
    CLI_TRY(cut("--blips", r.blips, &r.text[0], r.file, &r.files));
    if ((r.anatomy || r.field) && r.files > 1)
        status = cli_misuse("--blips names %d files; with %s it is one", r.files,
                            r.anatomy ? "--to" : "--field");
    else
        status = run(cli, &r);
end:
    release(&r);
    return status;
}
