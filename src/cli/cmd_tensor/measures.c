/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "cli/cli.h"
#include "cli/cmd_tensor/page.h"

/* Endings of the files behind the prefix, by clvox_measure. */
static const char *const measure_ends[CLVOX_MEASURES] = {
    "_fa.nii.gz", "_md.nii.gz", "_ad.nii.gz", "_rd.nii.gz", "_mode.nii.gz", "_cl.nii.gz", "_cp.nii.gz",
    "_cs.nii.gz", "_l1.nii.gz", "_l2.nii.gz", "_l3.nii.gz", "_v1.nii.gz",   "_v2.nii.gz", "_v3.nii.gz"};

void cli_measure_ends(unsigned wanted, clvox_end ends[CLI_MEASURE_ENDS + 1])
{
    const bool colours = (wanted >> CLVOX_MEASURE_FA & 1) && (wanted >> CLVOX_MEASURE_V1 & 1);
    for (int m = 0; m < CLVOX_MEASURES; m++)
        ends[m] = (clvox_end){measure_ends[m], wanted >> m & 1};
    ends[CLVOX_MEASURES] = (clvox_end){"_colour.nii.gz", colours};
    ends[CLVOX_MEASURES + 1] = (clvox_end){"_colour.png", colours};
    ends[CLI_MEASURE_ENDS] = (clvox_end){NULL, false};
}

int cli_report_measures(command *cli, clvox_volume *const maps[CLVOX_MEASURES], const clvox_volume *mask)
{
    clvox_measures_summary m;
    int status = clvox_measures_summarise(maps, mask, &m);
    if (status < 0)
        return status;
    cli_print(cli, "%-13s %zu\n%-13s %.4g\n%-13s %.4g mm^2/s\n%-13s %zu\n", "voxels", m.voxels, "FA",
              m.fa_median, "MD", m.md_median, "not-positive", m.not_positive);
    if (m.not_finite)
        cli_note(cli, "%zu tensors inside are not finite; so are their measures", m.not_finite);
    if (5 * m.not_positive > m.voxels)
        cli_note(cli, "%zu of %zu tensors are not positive: is --order right?", m.not_positive, m.voxels);
    cJSON *to = cJSON_AddObjectToObject(cli->log, "measures");
    cJSON_AddNumberToObject(to, "voxels", (double)m.voxels);
    clvox_record_number(to, "fa_median", m.fa_median);
    clvox_record_number(to, "md_median", m.md_median);
    cJSON_AddNumberToObject(to, "not_positive", (double)m.not_positive);
    cJSON_AddNumberToObject(to, "not_finite", (double)m.not_finite);
    return CLVOX_OK;
}

static int write_vectors(const void *what, int fsl, const char *path)
{
    return clvox_vectors_write(what, fsl, path);
}

static int write_colours(const void *what, int how, const char *path)
{
    clvox_volume *const *maps = what;
    (void)how;
    return clvox_tensor_write_colours(maps[CLVOX_MEASURE_FA], maps[CLVOX_MEASURE_V1], path);
}

int cli_outputs_measures(clvox_results *o, const char *prefix, clvox_volume *const maps[CLVOX_MEASURES],
                         bool fsl)
{
    int status = CLVOX_OK;
    /* Eigenvectors, the largest, first. */
    for (int m = CLVOX_MEASURES - 1; m >= 0; m--) {
        if (!maps[m])
            continue;
        if (m < CLVOX_MEASURE_V1)
            CLI_TRY(clvox_results_volume(o, maps[m], prefix, measure_ends[m]));
        else
            CLI_TRY(clvox_results_add(o, write_vectors, maps[m], fsl, prefix, measure_ends[m]));
    }
    if (maps[CLVOX_MEASURE_FA] && maps[CLVOX_MEASURE_V1]) {
        CLI_TRY(clvox_results_add(o, write_colours, maps, 0, prefix, "_colour.nii.gz"));
        CLI_TRY(clvox_results_add(o, write_colours, maps, 0, prefix, "_colour.png"));
    }
end:
    return status;
}

int cli_check_directions(command *cli, const char *path, clvox_volume *const maps[CLVOX_MEASURES])
{
    enum { PERCENT = 15 }; /* less is chance, and fibres that cross */
    clvox_coherence c;
    int status = clvox_tensor_coherence(maps[CLVOX_MEASURE_FA], maps[CLVOX_MEASURE_V1], &c);
    if (status < 0)
        return status;
    cJSON *to = cJSON_AddObjectToObject(cli->log, "directions");
    cJSON_AddStringToObject(to, "most_coherent", c.axes);
    clvox_record_number(to, "gain", c.gain);
    if (100 * c.gain > 100 + PERCENT)
        cli_note(cli,
                 "%s: fibres are %.2f times as coherent if the gradient axes are read as %s; check "
                 "the gradients (a missing or doubled flip of x is a common error)",
                 path, c.gain, c.axes);
    return CLVOX_OK;
}

int cmd_tensor_measures(command *cli, int argc, char **argv)
{
    const char *prefix = NULL, *mask_path = NULL;
    int order = CLVOX_TENSOR_AUTO, frame = 0;
    bool report = false;
    const cli_option options[] = {
        {"output", 'o', CLI_PREFIX, &prefix, "PREFIX", "prefix of the output files"},
        {"mask", 0, CLI_TEXT, &mask_path, "FILE", "compute where this is above 0; maps are 0 elsewhere"},
        {"order", 0, CLI_CHOICE, &order, CLI_TENSOR_ORDERS,
         "order and frame of the six volumes in TENSOR (auto: by its intent)"},
        {"frame", 0, CLI_CHOICE, &frame, "ras|fsl", "the axes of v1 to v3 (default: ras)"},
        {"report", 0, CLI_FLAG, &report, NULL,
         "also write PREFIX_report.html, one page to judge the result by in a browser"},
        {0},
    };
    const cli_usage usage = {
        .options = options,
        .least = 1,
        .most = 1,
    };
    clvox_volume *tensor = NULL, *mask = NULL, *maps[CLVOX_MEASURES] = {NULL};
    clvox_results outputs = {.count = 0};
    clvox_end ends[CLI_MEASURE_ENDS + 2] = {{"_report.html", false}};
    char **words;
    int count, status = cli_parse(cli, &usage, argc, argv, &words, &count);
    if (status)
        return status;
    if (!prefix)
        return cli_misuse("-o PREFIX is missing");
    ends[0].written = report;
    cli_measure_ends(CLVOX_MEASURES_ALL, ends + 1);
    CLI_TRY(cli_claim_prefix(cli, &prefix, ends));
    CLI_TRY(cli_read_tensor(cli, words[0], (clvox_tensor_order)order, &tensor));
    CLI_TRY(cli_read_mask(cli, mask_path, &mask));
    CLI_TRY(cli_on_grid(mask_path, mask, words[0], tensor));
    CLI_TRY(cli_open(cli));
    CLI_TRY(clvox_tensor_measures(cli->ctx, tensor, mask, CLVOX_MEASURES_ALL, maps));
    CLI_TRY(cli_outputs_measures(&outputs, prefix, maps, frame == 1));
    CLI_TRY(cli_results_write(cli, &outputs, true));
    CLI_TRY(cli_report_measures(cli, maps, mask));
    CLI_TRY(cli_check_directions(cli, words[0], maps));
    if (report) {
        cli_tensor_page page = {
            .maps = maps, .mask = mask, .figures = (const char *const[]){"measures", "directions", NULL}};
        CLI_TRY(cli_tensor_page_beside(cli, &page, prefix));
    }
end:
    clvox_volume_destroy(&tensor);
    clvox_volume_destroy(&mask);
    for (int m = 0; m < CLVOX_MEASURES; m++)
        clvox_volume_destroy(&maps[m]);
    clvox_results_free(&outputs);
    return status;
}
