/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>

#include "cli/bar.h"
#include "cli/cli.h"
#include "cli/cmd_tensor/page.h"
#include "cli/page.h"

typedef struct request {
    const char *in, *out, *noise, *mask;
    clvox_tensor_denoise_options options;
    const char *given[CLVOX_MAX_OPTIONS]; /* what was typed for the rows of clvox_tensor_denoise_table */
    int order;
    bool report;
    char *page; /* its file, NULL: none */
} request;

static void report(command *cli, const request *r, const clvox_tensor_denoise_result *f)
{
    char bytes[32];
    const char *model = cli_option_word(clvox_tensor_denoise_table(), "model", (int)r->options.model);
    cli_print(cli, "%-18s %zu voxels, of which %zu were not positive\n", "denoised", f->voxels,
              f->not_positive);
    if (f->not_finite)
        cli_print(cli, "%-18s %zu tensors that are not finite, left as they are\n", "not finite",
                  f->not_finite);
    cli_print(cli, "%-18s %s, ", "model", model);
    if (f->reweight)
        cli_print(cli, "%d round%s of reweighting\n", f->reweight, f->reweight == 1 ? "" : "s");
    else
        cli_print(cli, "%d Bregman iteration%s\n", f->bregman, f->bregman == 1 ? "" : "s");
    cli_print(cli, "%-18s %.4g", "lambda", f->lambda);
    if (!isnan(f->sigma))
        cli_print(cli, ", from a noise of %.4g mm^2/s; neighbours differ %.3g times as much", f->sigma,
                  f->structure);
    cli_print(cli, "\n%-18s before %.6g, after %.6g\n", "energy", f->energy[0], f->energy[1]);
    cli_print(cli, "%-18s %d, duality gap %.2g of the energy\n", "iterations", f->iterations, f->gap);
    cli_print(cli, "%-18s %.3f, all %.3f\n", "seconds", f->seconds, cli_seconds() - cli->started);
    cli_print(cli, "%-18s %s\n", "peak device memory", cli_bytes((double)f->device_bytes, bytes));
    cJSON *to = cJSON_AddObjectToObject(cli->log, "denoise");
    cJSON_AddStringToObject(to, "model", model);
    cJSON_AddNumberToObject(to, "bregman", f->bregman);
    cJSON_AddNumberToObject(to, "reweight", f->reweight);
    clvox_record_number(to, "lambda", f->lambda);
    clvox_record_number(to, "sigma_mm2_s", f->sigma);
    clvox_record_number(to, "structure", f->structure);
    cJSON_AddBoolToObject(to, "noise_guessed", f->guessed);
    clvox_record_number(to, "energy_before", f->energy[0]);
    clvox_record_number(to, "energy_after", f->energy[1]);
    clvox_record_number(to, "duality_gap", f->gap);
    cJSON_AddNumberToObject(to, "iterations", f->iterations);
    cJSON_AddNumberToObject(to, "voxels", (double)f->voxels);
    cJSON_AddNumberToObject(to, "not_finite", (double)f->not_finite);
    cJSON_AddNumberToObject(to, "empty", (double)f->empty);
    cJSON_AddNumberToObject(to, "not_positive", (double)f->not_positive);
    cJSON_AddNumberToObject(to, "seconds", f->seconds);
    cJSON_AddNumberToObject(to, "peak_device_bytes", (double)f->device_bytes);
}

static int run(command *cli, request *r)
{
    int status = CLVOX_OK;
    clvox_volume *tensor = NULL, *noise = NULL, *mask = NULL, *before[CLVOX_MEASURES] = {NULL},
                 *after[CLVOX_MEASURES] = {NULL};
    clvox_tensor_denoise_result made = {.tensor = NULL};
    cli_bar bar;
    const cli_input inputs[] = {{r->noise, &noise, 0}, {r->mask, &mask, CLI_AS_MASK}};
    CLI_TRY(cli_read_tensor(cli, r->in, (clvox_tensor_order)r->order, &tensor));
    CLI_TRY(cli_load(cli, inputs, 2, NULL, NULL, true));
    CLI_TRY(cli_on_grid(r->noise, noise, r->in, tensor));
    if (noise && noise->frames != 1) {
        status = clvox_fail(CLVOX_ERROR_DATA, "%s: has %d volumes; a map of the noise has one", r->noise,
                          noise->frames);
        goto end;
    }
    CLI_TRY(cli_on_grid(r->mask, mask, r->in, tensor));
    clvox_record_fields(cJSON_AddObjectToObject(cli->log, "options"), clvox_tensor_denoise_table(),
                        &r->options);
    cli_bar_begin(&bar, cli);
    r->options.progress = cli_bar_stage;
    r->options.user = &bar;
    status = clvox_tensor_denoise(cli->ctx, tensor, noise, mask, &r->options, &made);
    cli_bar_end(&bar);
    if (status == CLVOX_ERROR_DATA)
        clvox_fail_in(status, r->in);
    if (status < 0)
        goto end;
    if (made.guessed)
        cli_remark(cli, 0,
                   "the noise is estimated from differences between neighbours, which mistakes fine anatomy "
                   "for noise; better give --noise PREFIX_sigma.nii.gz of `clvox tensor fit`\n");
    CLI_TRY(cli_write_tensor(cli, made.tensor, (clvox_tensor_order)r->order, r->out));
    report(cli, r, &made);
    if (r->page) {
        CLI_TRY(cli_tensor_page_maps(cli, tensor, mask, before));
        CLI_TRY(cli_tensor_page_maps(cli, made.tensor, mask, after));
        CLI_TRY(cli_check_directions(cli, r->in, after));
        clvox_tensor_denoise_options defaults;
        clvox_tensor_denoise_defaults(&defaults);
        const cli_tensor_page page = {.name = clvox_page_name(r->out),
                                      .maps = after,
                                      .before = before,
                                      .mask = mask,
                                      .figures = (const char *const[]){"denoise", "directions", NULL},
                                      .table = clvox_tensor_denoise_table(),
                                      .used = &r->options,
                                      .defaults = &defaults};
        CLI_TRY(cli_tensor_page_write(cli, &page, r->page));
    }
    CLI_TRY(cli_profile(cli));
end:
    for (int m = 0; m < CLVOX_MEASURES; m++) {
        clvox_volume_destroy(&before[m]);
        clvox_volume_destroy(&after[m]);
    }
    clvox_volume_destroy(&tensor);
    clvox_volume_destroy(&noise);
    clvox_volume_destroy(&mask);
    clvox_volume_destroy(&made.tensor);
    return status;
}

int cmd_tensor_denoise(command *cli, int argc, char **argv)
{
    request r = {.order = CLVOX_TENSOR_AUTO};
    clvox_tensor_denoise_defaults(&r.options);
    const cli_option options[] = {
        {"output", 'o', CLI_OUT, &r.out, "OUT", "the denoised tensor"},
        {"noise", 0, CLI_TEXT, &r.noise, "FILE", "PREFIX_sigma.nii.gz of `clvox tensor fit`"},
        {"mask", 0, CLI_TEXT, &r.mask, "FILE",
         "denoise only where this is above 0; no smoothing across its border"},
        {"order", 0, CLI_CHOICE, &r.order, CLI_TENSOR_ORDERS,
         "order and frame of the six volumes in TENSOR and OUT"},
        {"report", 0, CLI_FLAG, &r.report, NULL,
         "also write OUT_report.html, one page to judge the result by in a browser"},
        {0},
    };
    const cli_usage usage = {
        .options = options,
        .table = clvox_tensor_denoise_table(),
        .given = r.given,
        .least = 1,
        .most = 1,
    };
    char **words;
    int count, status = cli_parse(cli, &usage, argc, argv, &words, &count);
    if (status)
        return status;
    if (!r.out)
        return cli_misuse("-o OUT is missing");
    if ((status = cli_settle_fields(clvox_tensor_denoise_table(), r.given, &r.options)))
        return status;
    r.in = words[0];
    if (r.report)
        CLI_TRY(cli_page_claim(cli, r.out, &r.page));
    status = run(cli, &r);
end:
    free(r.page);
    return status;
}
