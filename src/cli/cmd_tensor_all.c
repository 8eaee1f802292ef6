/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/bar.h"
#include "cli/cli.h"

typedef struct request {
    const char *dwi, *bval, *bvec, *table, *mask, *prefix, *lambda;
    clvox_tensor_fit_options fit;
    clvox_tensor_denoise_options denoise;
    int denoise_scan; /* 1: mppca */
    bool few, fsl, no_tv, everywhere;
} request;

/* That noise from residuals is known: seven volumes leave none. */
static int check_noise(const request *r, const clvox_tensor_fit_result *fit)
{
    if (!r->no_tv && !(r->denoise.lambda > 0) && !(fit->median_sigma > 0))
        return clv_fail(CLVOX_ERROR_DATA,
                        "%s: %d volumes leave no residuals to tell the noise from; give --lambda, or --plain",
                        r->dwi, fit->volumes);
    return CLVOX_OK;
}

static void report(command *cli, const request *r, const clvox_tensor_fit_result *fit,
                   const clvox_tensor_denoise_result *tv, const double seconds[3])
{
    cJSON *to = cJSON_AddObjectToObject(cli->log, "all");
    cJSON_AddNumberToObject(to, "volumes", fit->volumes);
    cJSON_AddNumberToObject(to, "fitted", (double)fit->fitted);
    cJSON_AddNumberToObject(to, "made_positive", (double)fit->made_positive);
    cli_log_number(to, "median_noise", fit->median_noise);
    cli_log_number(to, "median_sigma_mm2_s", fit->median_sigma);
    cli_print(cli, "%-13s %zu of %zu voxels, %d volumes, %zu made positive\n", "fitted", fit->fitted,
              fit->asked, fit->volumes, fit->made_positive);
    if (fit->without_signal + fit->not_finite > 0)
        cli_print(cli, "%-13s %zu voxels without signal, %zu not finite\n", "left at 0", fit->without_signal,
                  fit->not_finite);
    cli_print(cli, "%-13s %.4g of the signal, %.4g mm^2/s of the tensor (medians)\n", "noise",
              fit->median_noise, fit->median_sigma);
    if (!r->no_tv) {
        cli_print(cli, "%-13s lambda %.4g, %d iterations, energy %.6g to %.6g\n", "denoised", tv->lambda,
                  tv->iterations, tv->energy[0], tv->energy[1]);
        cli_log_number(to, "lambda", tv->lambda);
        cJSON_AddNumberToObject(to, "iterations", tv->iterations);
        cli_log_number(to, "energy_before", tv->energy[0]);
        cli_log_number(to, "energy_after", tv->energy[1]);
    }
    static const char *const names[3] = {"fit_seconds", "denoise_seconds", "measures_seconds"};
    for (int i = 0; i < 3; i++)
        cJSON_AddNumberToObject(to, names[i], seconds[i]);
}

static int run(command *cli, request *r)
{
    int status = CLVOX_OK;
    clvox_volume *dwi = NULL, *mask = NULL, *clean = NULL, *noise = NULL, *maps[CLVOX_MEASURES] = {NULL};
    clvox_gradients *gradients = NULL;
    clvox_tensor_fit_result fit = {0};
    clvox_tensor_denoise_result tv = {.tensor = NULL};
    cli_bar bar;
    char path[4096];
    double seconds[3] = {0}, at;
    const unsigned few = 1u << CLVOX_MEASURE_FA | 1u << CLVOX_MEASURE_MD | 1u << CLVOX_MEASURE_AD |
                         1u << CLVOX_MEASURE_RD | 1u << CLVOX_MEASURE_V1 | 1u << CLVOX_MEASURE_L3;
    const cli_input inputs[] = {{r->dwi, &dwi, false}, {r->mask, &mask, true}};
    CLV_TRY(cli_load(cli, inputs, 2, NULL, NULL, true));
    CLV_TRY(cli_read_gradients(cli, r->bval, r->bvec, r->table, dwi, &gradients));
    const bool own_mask = !mask && !r->everywhere;
    if (own_mask) {
        status = clvox_dwi_mask(dwi, &mask);
        if (status < 0) {
            clv_fail_in(status, r->dwi);
            goto end;
        }
        cli_remark(cli, 0, "no --mask: what is brighter than Otsu's threshold is taken, %s_mask.nii.gz\n",
                   r->prefix);
    }
    at = cli_seconds();
    if (r->denoise_scan)
        CLV_TRY(clvox_dwi_denoise(cli->ctx, dwi, mask, 2, &clean, &noise));
    status = clvox_tensor_fit(cli->ctx, clean ? clean : dwi, gradients, mask, &r->fit, &fit);
    if (status == CLVOX_ERROR_DATA)
        clv_fail_in(status, r->table ? r->table : r->bvec);
    if (status < 0)
        goto end;
    if (noise)
        CLV_TRY(clvox_tensor_fit_denoised(&fit, noise));
    CLV_TRY(check_noise(r, &fit));
    seconds[0] = cli_seconds() - at;
    clvox_volume_destroy(&dwi);
    clvox_volume_destroy(&clean);
    if (!r->no_tv) {
        at = cli_seconds();
        cli_bar_begin(&bar, cli);
        r->denoise.progress = cli_bar_stage;
        r->denoise.user = &bar;
        status = clvox_tensor_denoise(cli->ctx, fit.tensor, fit.median_sigma > 0 ? fit.sigma : NULL, mask,
                                      &r->denoise, &tv);
        cli_bar_end(&bar);
        if (status == CLVOX_ERROR_DATA)
            clv_fail_in(status, r->dwi);
        if (status < 0)
            goto end;
        seconds[1] = cli_seconds() - at;
    }
    const clvox_volume *tensor = r->no_tv ? fit.tensor : tv.tensor;
    at = cli_seconds();
    CLV_TRY(clvox_tensor_measures(cli->ctx, tensor, mask, r->few ? few : CLVOX_MEASURES_ALL, maps));
    seconds[2] = cli_seconds() - at;
    snprintf(path, sizeof path, "%s_tensor.nii.gz", r->prefix);
    CLV_TRY(cli_write_tensor(cli, tensor, CLVOX_TENSOR_AUTO, path));
    if (own_mask)
        CLV_TRY(cli_write_part(cli, mask, r->prefix, "mask"));
    CLV_TRY(cli_write_part(cli, fit.s0, r->prefix, "s0"));
    CLV_TRY(cli_write_part(cli, fit.noise, r->prefix, "noise"));
    report(cli, r, &fit, &tv, seconds);
    CLV_TRY(cli_report_measures(cli, maps, mask));
    CLV_TRY(cli_check_directions(cli, r->table ? r->table : r->bvec, maps[CLVOX_MEASURE_FA],
                                 maps[CLVOX_MEASURE_V1]));
    if (r->few)
        clvox_volume_destroy(&maps[CLVOX_MEASURE_L3]); /* for the report alone */
    CLV_TRY(cli_write_measures(cli, r->prefix, maps, r->fsl));
    CLV_TRY(cli_profile(cli));
end:
    clvox_volume_destroy(&dwi);
    clvox_volume_destroy(&clean);
    clvox_volume_destroy(&noise);
    clvox_volume_destroy(&mask);
    clvox_volume_destroy(&tv.tensor);
    for (int m = 0; m < CLVOX_MEASURES; m++)
        clvox_volume_destroy(&maps[m]);
    clvox_gradients_destroy(&gradients);
    clvox_tensor_fit_release(&fit);
    return status;
}

static int check(request *r)
{
    int status;
    if (!r->prefix)
        return cli_misuse("-o PREFIX is missing");
    if (strlen(r->prefix) > 4000)
        return cli_misuse("--output: the prefix is too long");
    if ((status = cli_check_gradients(r->bval, r->bvec, r->table)))
        return status;
    if (!(r->fit.bmax >= 0))
        return cli_misuse("--bmax %g: not a b-value", r->fit.bmax);
    if (r->mask && r->everywhere)
        return cli_misuse("--mask and --everywhere: one or the other");
    if (r->no_tv && r->lambda)
        return cli_misuse("--lambda and --plain: one or the other");
    return cli_auto_or_number("lambda", r->lambda, &r->denoise.lambda);
}

int cmd_tensor_all(command *cli, int argc, char **argv)
{
    request r = {.prefix = NULL};
    bool robust = false;
    int method = CLVOX_TENSOR_WLS, frame = 0;
    clvox_tensor_fit_defaults(&r.fit);
    clvox_tensor_denoise_defaults(&r.denoise);
    const cli_option options[] = {
        {"bval", 0, CLI_TEXT, &r.bval, "FILE", "FSL's b-values, s/mm^2"},
        {"bvec", 0, CLI_TEXT, &r.bvec, "FILE", "FSL's directions, with --bval"},
        {"grad", 0, CLI_TEXT, &r.table, "FILE", "MRtrix's table x y z b instead of both"},
        {"mask", 0, CLI_TEXT, &r.mask, "FILE",
         "of the brain: work above 0 only (default: by Otsu's threshold, PREFIX_mask)"},
        {"everywhere", 0, CLI_FLAG, &r.everywhere, NULL, "no mask, air and all"},
        {"method", 0, CLI_CHOICE, &method, "ols|wls|iwls|nlls", "of the fit (default wls)"},
        {"robust", 0, CLI_FLAG, &robust, NULL, "reject, in each voxel, volumes more than 3 noise levels off"},
        {"bmax", 0, CLI_NUMBER, &r.fit.bmax, "B", "leave out volumes of more than this b, s/mm^2"},
        {"denoise", 0, CLI_CHOICE, &r.denoise_scan, "none|mppca",
         "first, noise out of the scan by Marchenko-Pastur PCA"},
        {"lambda", 0, CLI_TEXT, &r.lambda, "auto|X", "how near to the data (default: auto, from the noise)"},
        {"plain", 0, CLI_FLAG, &r.no_tv, NULL, "do not denoise the tensors"},
        {"few", 0, CLI_FLAG, &r.few, NULL, "of the maps only fa, md, ad, rd, v1 and colours"},
        {"frame", 0, CLI_CHOICE, &frame, "ras|fsl", "the axes of v1 to v3 (default: ras)"},
        {"output", 'o', CLI_TEXT, &r.prefix, "PREFIX", "what the files' names begin with"},
        {0},
    };
    const cli_usage usage = {
        .synopsis = "DWI (--bval FILE --bvec FILE | --grad FILE) -o PREFIX [--mask FILE]",
        .about =
            "From the scan to maps in one go: `tensor fit`, `tensor denoise` with the noise of the fit's\n"
            "residuals, `tensor measures`. Writes PREFIX_tensor.nii.gz (denoised; mm^2/s, RAS), PREFIX_s0,\n"
            "PREFIX_noise (standard deviation of the signal) and the maps of `tensor measures`. The three\n"
            "verbs have more options.",
        .example = "  clvox tensor all dwi.nii.gz --bval dwi.bval --bvec dwi.bvec --mask brain.nii.gz -o sub",
        .options = options,
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
    r.fit.method = (clvox_tensor_method)method;
    r.fit.robust = robust;
    r.fsl = frame == 1;
    r.dwi = words[0];
    return run(cli, &r);
}
