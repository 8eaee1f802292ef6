/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "cli/bar.h"
#include "cli/cli.h"
#include "cli/cmd_tensor/page.h"
#include "clvox/tensor_all.h"

typedef struct request {
    const char *dwi, *bval, *bvec, *table, *mask, *prefix;
    clvox_tensor_all_options all;
    const char *given[CLVOX_MAX_OPTIONS]; /* what was typed for the rows of clvox_tensor_all_table */
    bool few, fsl, report;
} request;

static void report(command *cli, const request *r, const clvox_tensor_all_result *made)
{
    const clvox_tensor_fit_result *fit = &made->fit;
    const clvox_tensor_denoise_result *tv = &made->denoised;
    cJSON *to = cJSON_AddObjectToObject(cli->log, "all");
    cJSON_AddNumberToObject(to, "volumes", fit->volumes);
    cJSON_AddNumberToObject(to, "fitted", (double)fit->fitted);
    cJSON_AddNumberToObject(to, "left_out", (double)fit->left_out);
    cJSON_AddNumberToObject(to, "far_s0", (double)fit->far_s0);
    cJSON_AddNumberToObject(to, "made_positive", (double)fit->made_positive);
    clvox_record_number(to, "median_noise", fit->median_noise);
    clvox_record_number(to, "median_sigma_mm2_s", fit->median_sigma);
    cli_print(cli, "%-13s %zu of %zu voxels, %d volumes, %zu made positive\n", "fitted", fit->fitted,
              fit->asked, fit->volumes, fit->made_positive);
    if (fit->without_signal + fit->not_finite > 0)
        cli_print(cli, "%-13s %zu voxels without signal, %zu not finite\n", "left at 0", fit->without_signal,
                  fit->not_finite);
    cli_tensor_far(cli, fit);
    cli_print(cli, "%-13s %.4g of the signal, %.4g mm^2/s of the tensor (medians)\n", "noise",
              fit->median_noise, fit->median_sigma);
    if (!r->all.plain) {
        cli_print(cli, "%-13s lambda %.4g, %d iterations, energy %.6g to %.6g\n", "denoised", tv->lambda,
                  tv->iterations, tv->energy[0], tv->energy[1]);
        clvox_record_number(to, "lambda", tv->lambda);
        cJSON_AddNumberToObject(to, "iterations", tv->iterations);
        clvox_record_number(to, "energy_before", tv->energy[0]);
        clvox_record_number(to, "energy_after", tv->energy[1]);
    }
    cJSON_AddNumberToObject(to, "peak_device_bytes", (double)made->device_bytes);
}

/* read: seconds until the first stage; done: the clock after the last. */
static void report_seconds(command *cli, double read, const clvox_tensor_all_result *made, double done)
{
    static const char *const names[3] = {"fit", "denoise", "measures"};
    cJSON *to = cJSON_AddObjectToObject(cli->log, "seconds_by_stage");
    cJSON_AddNumberToObject(to, "read", read);
    for (int i = 0; i < 3; i++)
        cJSON_AddNumberToObject(to, names[i], made->seconds[i]);
    cJSON_AddNumberToObject(to, "write", cli_seconds() - done);
}

/* The file that a failure is about. */
static const char *blamed(const request *r, const clvox_tensor_all_result *made)
{
    const bool empty = made->fit.asked && !made->fit.fitted;
    return made->stage != CLVOX_TENSOR_STAGE_FIT || empty ? r->dwi : r->table ? r->table : r->bvec;
}

static int run(command *cli, request *r)
{
    int status = CLVOX_OK;
    clvox_volume *dwi = NULL, *mask = NULL;
    clvox_gradients *gradients = NULL;
    clvox_tensor_all_result made = {.mask = NULL};
    clvox_results outputs = {.count = 0};
    cli_bar bar;
    const unsigned few = 1u << CLVOX_MEASURE_FA | 1u << CLVOX_MEASURE_MD | 1u << CLVOX_MEASURE_AD |
                         1u << CLVOX_MEASURE_RD | 1u << CLVOX_MEASURE_V1 | 1u << CLVOX_MEASURE_L3;
    const cli_input inputs[] = {{r->dwi, &dwi, 0}, {r->mask, &mask, CLI_AS_MASK}};
    double mark = cli_seconds(), read;
    clvox_end ends[6 + CLI_MEASURE_ENDS] = {{"_tensor.nii.gz", true},
                                            {"_s0.nii.gz", true},
                                            {"_noise.nii.gz", true},
                                            {"_mask.nii.gz", !r->mask && !r->all.everywhere},
                                            {"_report.html", r->report}};
    cli_measure_ends(r->few ? few & ~(1u << CLVOX_MEASURE_L3) : CLVOX_MEASURES_ALL, ends + 5);
    CLI_TRY(cli_claim_prefix(cli, &r->prefix, ends));
    CLI_TRY(cli_load(cli, inputs, 2, NULL, NULL, true));
    clvox_record_grid(cli->log, "grid", &dwi->grid);
    CLI_TRY(cli_on_grid(r->mask, mask, r->dwi, dwi));
    CLI_TRY(cli_read_gradients(cli, r->bval, r->bvec, r->table, dwi, &gradients));
    if (!mask && !r->all.everywhere)
        cli_remark(cli, 0, "no --mask: using the voxels above Otsu's threshold, %s_mask.nii.gz\n", r->prefix);
    clvox_record_fields(cJSON_AddObjectToObject(cli->log, "options"), clvox_tensor_all_table(), &r->all);
    read = cli_seconds() - mark;
    cli_bar_begin(&bar, cli);
    r->all.denoise.progress = cli_bar_stage;
    r->all.denoise.user = &bar;
    r->all.measures = r->few ? few : CLVOX_MEASURES_ALL;
    status = clvox_tensor_all(cli->ctx, dwi, gradients, mask, &r->all, &made);
    cli_bar_end(&bar);
    if (status == CLVOX_ERROR_DATA)
        clvox_fail_in(status, blamed(r, &made));
    if (status < 0)
        goto end;
    mark = cli_seconds();
    if (r->all.fit.denoise == CLVOX_SCAN_MPPCA)
        cli_note_signs(cli, dwi, r->dwi, "their sign is kept by the PCA, and they have no weight in the fit");
    clvox_volume_destroy(&dwi);
    report(cli, r, &made);
    CLI_TRY(cli_report_measures(cli, made.maps, mask ? mask : made.mask));
    CLI_TRY(cli_check_directions(cli, r->table ? r->table : r->bvec, made.maps));
    if (r->few)
        clvox_volume_destroy(&made.maps[CLVOX_MEASURE_L3]); /* for the report alone */
    CLI_TRY(clvox_results_tensor(&outputs, r->all.plain ? made.fit.tensor : made.denoised.tensor,
                                 CLVOX_TENSOR_AUTO, r->prefix, "_tensor.nii.gz"));
    CLI_TRY(cli_outputs_measures(&outputs, r->prefix, made.maps, r->fsl));
    if (made.mask)
        CLI_TRY(clvox_results_volume(&outputs, made.mask, r->prefix, "_mask.nii.gz"));
    CLI_TRY(clvox_results_volume(&outputs, made.fit.s0, r->prefix, "_s0.nii.gz"));
    CLI_TRY(clvox_results_volume(&outputs, made.fit.noise, r->prefix, "_noise.nii.gz"));
    CLI_TRY(cli_results_write(cli, &outputs, true));
    report_seconds(cli, read, &made, mark);
    if (r->report) {
        clvox_tensor_all_options defaults;
        clvox_tensor_all_defaults(&defaults);
        cli_tensor_page page = {.maps = made.maps,
                                .mask = mask ? mask : made.mask,
                                .s0 = made.fit.s0,
                                .noise = made.fit.noise,
                                .figures = (const char *const[]){"all", "measures", "directions", NULL},
                                .table = clvox_tensor_all_table(),
                                .used = &r->all,
                                .defaults = &defaults};
        CLI_TRY(cli_tensor_page_beside(cli, &page, r->prefix));
    }
    CLI_TRY(cli_profile(cli));
end:
    clvox_volume_destroy(&dwi);
    clvox_volume_destroy(&mask);
    clvox_gradients_destroy(&gradients);
    clvox_tensor_all_result_destroy(&made);
    clvox_results_free(&outputs);
    return status;
}

static int check(request *r)
{
    int status;
    if (!r->prefix)
        return cli_misuse("-o PREFIX is missing");
    if ((status = cli_check_gradients(r->bval, r->bvec, r->table)))
        return status;
    if ((status = cli_settle_fields(clvox_tensor_all_table(), r->given, &r->all)))
        return status;
    if (r->mask && r->all.everywhere)
        return cli_misuse("--mask and --everywhere: one or the other");
    return CLVOX_OK;
}

int cmd_tensor_all(command *cli, int argc, char **argv)
{
    request r = {.prefix = NULL};
    int frame = 0;
    clvox_tensor_all_defaults(&r.all);
    const cli_option options[] = {
        {"bval", 0, CLI_TEXT, &r.bval, "FILE", "FSL's b-values, s/mm^2"},
        {"bvec", 0, CLI_TEXT, &r.bvec, "FILE", "FSL's directions, with --bval"},
        {"grad", 0, CLI_TEXT, &r.table, "FILE", "MRtrix's table x y z b, or a MIF image that holds it, instead of both"},
        {"mask", 0, CLI_TEXT, &r.mask, "FILE",
         "brain mask (default: by Otsu's threshold, PREFIX_mask)"},
        {"few", 0, CLI_FLAG, &r.few, NULL, "write only fa, md, ad, rd, v1 and colours"},
        {"frame", 0, CLI_CHOICE, &frame, "ras|fsl", "the axes of v1 to v3 (default: ras)"},
        {"report", 0, CLI_FLAG, &r.report, NULL,
         "also write PREFIX_report.html, one page to judge the result by in a browser"},
        {"output", 'o', CLI_PREFIX, &r.prefix, "PREFIX", "prefix of the output files"},
        {0},
    };
    const cli_usage usage = {
        .options = options,
        .table = clvox_tensor_all_table(),
        .given = r.given,
        .least = 1,
        .most = 1,
    };
    char **words;
    int count, status = cli_parse(cli, &usage, argc, argv, &words, &count);
    if (status)
        return status;
    status = check(&r);
    if (status < 0)
        return status;
    r.fsl = frame == 1;
    r.dwi = words[0];
    return run(cli, &r);
}
