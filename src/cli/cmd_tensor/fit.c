/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/cmd_tensor/page.h"

typedef struct request {
    const char *dwi, *bval, *bvec, *table, *mask, *prefix;
    clvox_tensor_fit_options options;
    const char *given[CLVOX_MAX_OPTIONS]; /* what was typed for the rows of clvox_tensor_fit_table */
    int order;
    const char *denoised; /* file for the scan without noise */
    bool report;
} request;

static void say_gradients(command *cli, const clvox_gradients *gradients)
{
    enum { MOST = 16 };
    clvox_shell shells[MOST];
    int count = clvox_gradients_shells(gradients, shells, MOST);
    char text[512] = "";
    cJSON *to = cJSON_AddArrayToObject(cli->log, "shells");
    for (int i = 0; i < count && i < MOST; i++) {
        cJSON *shell = cJSON_CreateObject();
        cJSON_AddNumberToObject(shell, "b", shells[i].b);
        cJSON_AddNumberToObject(shell, "volumes", shells[i].volumes);
        cJSON_AddItemToArray(to, shell);
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%d at b %g", i ? ", " : "",
                 shells[i].volumes, shells[i].b);
    }
    cli_remark(cli, 0, "volumes  %s%s\n", text, count > MOST ? " and more" : "");
}

static void report(command *cli, const request *r, const clvox_tensor_fit_result *f)
{
    cJSON *to = cJSON_AddObjectToObject(cli->log, "fit");
    cJSON_AddStringToObject(to, "method",
                            cli_option_word(clvox_tensor_fit_table(), "method", (int)r->options.method));
    cJSON_AddBoolToObject(to, "robust", r->options.robust);
    cJSON_AddNumberToObject(to, "volumes", f->volumes);
    cJSON_AddNumberToObject(to, "voxels", (double)f->asked);
    cJSON_AddNumberToObject(to, "fitted", (double)f->fitted);
    cJSON_AddNumberToObject(to, "without_signal", (double)f->without_signal);
    cJSON_AddNumberToObject(to, "not_finite", (double)f->not_finite);
    cJSON_AddNumberToObject(to, "left_out", (double)f->left_out);
    cJSON_AddNumberToObject(to, "far_s0", (double)f->far_s0);
    cJSON_AddNumberToObject(to, "made_positive", (double)f->made_positive);
    cJSON_AddNumberToObject(to, "voxels_with_rejects", (double)f->voxels_with_rejects);
    cJSON_AddNumberToObject(to, "rejects", (double)f->rejects);
    clvox_record_number(to, "median_noise", f->median_noise);
    clvox_record_number(to, "median_sigma_mm2_s", f->median_sigma);
    cli_print(cli, "%-16s %zu of %zu voxels, %d volumes\n", "fitted", f->fitted, f->asked, f->volumes);
    if (f->without_signal)
        cli_print(cli, "%-16s %zu voxels, left at 0\n", "without signal", f->without_signal);
    if (f->not_finite)
        cli_print(cli, "%-16s %zu voxels, left at 0\n", "not finite", f->not_finite);
    if (f->left_out)
        cli_print(cli, "%-16s %zu voxels: without measurements at or below 0 or not finite\n", "left out",
                  f->left_out);
    cli_tensor_far(cli, f);
    cli_print(cli, "%-16s %zu voxels\n", "made positive", f->made_positive);
    if (r->options.robust)
        cli_print(cli, "%-16s %zu measurements in %zu voxels\n", "rejected", f->rejects,
                  f->voxels_with_rejects);
    if (f->volumes > 7)
        cli_print(cli, "%-16s %.4g of the signal, %.4g mm^2/s of the tensor (medians)\n", "noise",
                  f->median_noise, f->median_sigma);
    else
        cli_print(cli, "%-16s unknown: a fit of 7 volumes leaves no residuals\n", "noise");
}

/* Enters the seconds since *mark as this stage's and starts the next. */
static void end_stage(cJSON *to, const char *name, double *mark)
{
    double now = cli_seconds();
    cJSON_AddNumberToObject(to, name, now - *mark);
    *mark = now;
}

static int run(command *cli, request *r)
{
    int status = CLVOX_OK;
    clvox_volume *dwi = NULL, *mask = NULL, *maps[CLVOX_MEASURES] = {NULL};
    clvox_gradients *gradients = NULL;
    clvox_tensor_fit_result made = {0};
    clvox_results outputs = {.count = 0};
    const cli_input inputs[] = {{r->dwi, &dwi, 0}, {r->mask, &mask, CLI_AS_MASK}};
    double mark = cli_seconds();
    const clvox_end ends[] = {{"_tensor.nii.gz", true},
                              {"_s0.nii.gz", true},
                              {"_sigma.nii.gz", true},
                              {"_noise.nii.gz", true},
                              {"_mppca_noise.nii.gz", r->options.denoise == CLVOX_SCAN_MPPCA},
                              {"_report.html", r->report},
                              {0}};
    CLI_TRY(cli_claim_prefix(cli, &r->prefix, ends));
    CLI_TRY(cli_load(cli, inputs, 2, NULL, NULL, true));
    clvox_record_grid(cli->log, "grid", &dwi->grid);
    CLI_TRY(cli_on_grid(r->mask, mask, r->dwi, dwi));
    CLI_TRY(cli_read_gradients(cli, r->bval, r->bvec, r->table, dwi, &gradients));
    say_gradients(cli, gradients);
    cJSON *stages = cJSON_AddObjectToObject(cli->log, "seconds_by_stage");
    end_stage(stages, "read", &mark);
    clvox_record_fields(cJSON_AddObjectToObject(cli->log, "options"), clvox_tensor_fit_table(), &r->options);
    status = clvox_tensor_fit(cli->ctx, dwi, gradients, mask, &r->options, &made);
    if (status == CLVOX_ERROR_DATA)
        clvox_fail_in(status, made.asked && !made.fitted ? r->dwi : r->table ? r->table : r->bvec);
    if (status < 0)
        goto end;
    if (r->options.denoise == CLVOX_SCAN_MPPCA)
        cli_note_signs(cli, dwi, r->dwi, "their sign is kept by the PCA, and they have no weight in the fit");
    clvox_volume_destroy(&dwi);
    if (made.scan_noise)
        cJSON_AddNumberToObject(stages, "denoise", made.seconds_scan);
    cJSON_AddNumberToObject(stages, "fit", made.seconds);
    if (r->report)
        CLI_TRY(cli_tensor_page_maps(cli, made.tensor, mask, maps));
    mark = cli_seconds();
    if (made.scan)
        CLI_TRY(clvox_results_volume(&outputs, made.scan, r->denoised, ""));
    CLI_TRY(clvox_results_tensor(&outputs, made.tensor, (clvox_tensor_order)r->order, r->prefix,
                                 "_tensor.nii.gz"));
    CLI_TRY(clvox_results_volume(&outputs, made.s0, r->prefix, "_s0.nii.gz"));
    CLI_TRY(clvox_results_volume(&outputs, made.sigma, r->prefix, "_sigma.nii.gz"));
    CLI_TRY(clvox_results_volume(&outputs, made.noise, r->prefix, "_noise.nii.gz"));
    if (made.scan_noise)
        CLI_TRY(clvox_results_volume(&outputs, made.scan_noise, r->prefix, "_mppca_noise.nii.gz"));
    CLI_TRY(cli_results_write(cli, &outputs, true));
    end_stage(stages, "write", &mark);
    report(cli, r, &made);
    if (r->report) {
        clvox_tensor_fit_options defaults;
        clvox_tensor_fit_defaults(&defaults);
        cli_tensor_page page = {.maps = maps,
                                .mask = mask,
                                .s0 = made.s0,
                                .noise = made.volumes > 7 ? made.noise : NULL,
                                .figures = (const char *const[]){"fit", "directions", NULL},
                                .table = clvox_tensor_fit_table(),
                                .used = &r->options,
                                .defaults = &defaults};
        CLI_TRY(cli_check_directions(cli, r->table ? r->table : r->bvec, maps));
        CLI_TRY(cli_tensor_page_beside(cli, &page, r->prefix));
    }
end:
    clvox_volume_destroy(&dwi);
    clvox_volume_destroy(&mask);
    for (int m = 0; m < CLVOX_MEASURES; m++)
        clvox_volume_destroy(&maps[m]);
    clvox_gradients_destroy(&gradients);
    clvox_tensor_fit_result_destroy(&made);
    clvox_results_free(&outputs);
    return status;
}

int cmd_tensor_fit(command *cli, int argc, char **argv)
{
    request r = {.order = CLVOX_TENSOR_AUTO};
    clvox_tensor_fit_defaults(&r.options);
    const cli_option options[] = {
        {"bval", 0, CLI_TEXT, &r.bval, "FILE", "FSL's b-values, s/mm^2"},
        {"bvec", 0, CLI_TEXT, &r.bvec, "FILE", "FSL's directions, with --bval"},
        {"grad", 0, CLI_TEXT, &r.table, "FILE",
         "MRtrix's table x y z b, or a MIF image that holds it, instead of both"},
        {"mask", 0, CLI_TEXT, &r.mask, "FILE", "fit only where this is above 0"},
        {"save-denoised", 0, CLI_OUT, &r.denoised, "FILE", "the denoised scan"},
        {"order", 0, CLI_CHOICE, &r.order, CLI_TENSOR_ORDERS, "order of the tensor's six volumes in the "
         "output (auto: nifti)"},
        {"report", 0, CLI_FLAG, &r.report, NULL,
         "also write PREFIX_report.html, one page to judge the result by in a browser"},
        {"output", 'o', CLI_PREFIX, &r.prefix, "PREFIX", "prefix of the output files"},
        {0},
    };
    const cli_usage usage = {
        .options = options,
        .table = clvox_tensor_fit_table(),
        .given = r.given,
        .least = 1,
        .most = 1,
    };
    char **words;
    int count, status = cli_parse(cli, &usage, argc, argv, &words, &count);
    if (status)
        return status;
    if (!r.prefix)
        return cli_misuse("-o PREFIX is missing");
    if ((status = cli_check_gradients(r.bval, r.bvec, r.table)))
        return status;
    if ((status = cli_settle_fields(clvox_tensor_fit_table(), r.given, &r.options)))
        return status;
    if (r.denoised && r.options.denoise == CLVOX_SCAN_AS_IT_IS)
        return cli_misuse("--save-denoised needs --denoise mppca");
    r.options.keep_scan = r.denoised != NULL;
    r.dwi = words[0];
    return run(cli, &r);
}
