/* SPDX-License-Identifier: Apache-2.0 */
/* Pages of tensors. */
#include "cli/cmd_tensor/page.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/page.h"

int cli_tensor_page_maps(const command *cli, const clvox_volume *tensor, const clvox_volume *mask,
                         clvox_volume *maps[CLVOX_MEASURES])
{
    return clvox_tensor_measures(cli->ctx, tensor, mask,
                                 1u << CLVOX_MEASURE_FA | 1u << CLVOX_MEASURE_MD | 1u << CLVOX_MEASURE_V1,
                                 maps);
}

/* As of clvox_tensor_write_colours. */
static int make_colours(clvox_volume *const maps[CLVOX_MEASURES], clvox_volume **out)
{
    const clvox_volume *fa = maps[CLVOX_MEASURE_FA], *v1 = maps[CLVOX_MEASURE_V1];
    const size_t voxels = clvox_grid_voxels(&fa->grid);
    int status = clvox_volume_create(&fa->grid, 3, CLVOX_KIND_SCALAR, out);
    for (size_t i = 0; status >= 0 && i < 3 * voxels; i++)
        (*out)->data[i] = 255 * fabsf(v1->data[i]) * fminf(fa->data[i % voxels], 1);
    return status;
}

static int make_change(const clvox_volume *before, const clvox_volume *after, clvox_volume **out)
{
    int status = clvox_volume_create(&after->grid, 1, CLVOX_KIND_SCALAR, out);
    for (size_t i = 0; status >= 0 && i < clvox_grid_voxels(&after->grid); i++)
        (*out)->data[i] = after->data[i] - before->data[i];
    return status;
}

/* Mask of the voxels with a tensor. */
static int make_support(const clvox_volume *md, clvox_volume **out)
{
    int status = clvox_volume_create(&md->grid, 1, CLVOX_KIND_LABEL, out);
    for (size_t i = 0; status >= 0 && i < clvox_grid_voxels(&md->grid); i++)
        (*out)->data[i] = md->data[i] != 0;
    return status;
}

/* "Mean FA 0.31, mean MD 0.00079 mm2/s in 48000 voxels." */
static void put_verdict(clvox_report *page, const clvox_volume *fa, const clvox_volume *md,
                        const clvox_volume *mask)
{
    double sum[2] = {0, 0};
    size_t count = 0;
    char text[160], mean[2][32];
    for (size_t i = 0; i < clvox_grid_voxels(&fa->grid); i++)
        if (mask->data[i] > 0 && isfinite(fa->data[i]) && isfinite(md->data[i])) {
            sum[0] += fa->data[i];
            sum[1] += md->data[i];
            count++;
        }
    for (int k = 0; k < 2; k++)
        clvox_page_number(count ? sum[k] / (double)count : 0, mean[k], sizeof *mean);
    snprintf(text, sizeof text, "Mean FA %s, mean MD %s mm\xc2\xb2/s in %zu voxels.", mean[0], mean[1],
             count);
    clvox_page_verdict(page, text);
}

int cli_tensor_page_write(command *cli, const cli_tensor_page *what, const char *path)
{
    int status = CLVOX_OK, count = 0;
    char title[320], name[64];
    const char *inside = what->mask ? " in the mask" : "";
    clvox_report *page = NULL;
    clvox_volume *colours = NULL, *colours_before = NULL, *change = NULL, *support = NULL;
    const clvox_volume *fa = what->maps[CLVOX_MEASURE_FA], *md = what->maps[CLVOX_MEASURE_MD],
                       *fa_before = what->before ? what->before[CLVOX_MEASURE_FA] : NULL;
    clvox_report_layer layer[CLVOX_REPORT_LAYERS];
    snprintf(title, sizeof title, "Tensors: %.300s", what->name);
    CLI_TRY(make_colours(what->maps, &colours));
    CLI_TRY(make_support(md, &support));
    if (what->before) {
        CLI_TRY(make_colours(what->before, &colours_before));
        CLI_TRY(make_change(fa_before, fa, &change));
    }
    CLI_TRY(cli_page_begin(cli, title, &page));
    put_verdict(page, fa, md, what->mask ? what->mask : support);
    if (what->before)
        layer[count++] = (clvox_report_layer){"FA before", fa_before, CLVOX_REPORT_GREY, 0};
    layer[count++] = (clvox_report_layer){what->before ? "FA after" : "FA", fa, CLVOX_REPORT_GREY, 0};
    if (what->before)
        layer[count++] = (clvox_report_layer){"colour FA before", colours_before, CLVOX_REPORT_COLOUR, 0};
    layer[count++] =
        (clvox_report_layer){what->before ? "colour FA after" : "colour FA", colours, CLVOX_REPORT_COLOUR, 0};
    layer[count++] = (clvox_report_layer){what->before ? "MD after" : "MD", md, CLVOX_REPORT_GREY, 0};
    if (what->s0)
        layer[count++] = (clvox_report_layer){"S0", what->s0, CLVOX_REPORT_GREY, 0};
    if (what->noise)
        layer[count++] = (clvox_report_layer){"noise, from residuals", what->noise, CLVOX_REPORT_GREY, 0};
    if (what->mask)
        layer[count++] = (clvox_report_layer){"mask", what->mask, CLVOX_REPORT_MASK, 0};
    if (change)
        layer[count++] = (clvox_report_layer){"change of FA", change, CLVOX_REPORT_SIGNED, 1};
    clvox_report_section(page, "Images");
    clvox_report_images(page, layer, count, what->mask);
    clvox_report_text(page,
                      "Colour FA: fibres red left-right, green front-back, blue up-down, as bright as FA.");
    clvox_report_section(page, "Numbers");
    for (const char *const *figure = what->figures; *figure; figure++)
        clvox_page_facts(page, cJSON_GetObjectItem(cli->log, *figure), 16);
    clvox_report_section(page, "Distributions");
    const struct {
        const char *name, *unit;
        const clvox_volume *map;
    } distributions[] = {
        {"FA before", "", fa_before},
        {what->before ? "FA after" : "FA", "", fa},
        {what->before ? "MD after" : "MD", ", mm\xc2\xb2/s", md},
        {"Noise, from residuals", ", in the units of the scan", what->noise},
    };
    for (size_t i = 0; i < sizeof distributions / sizeof *distributions; i++) {
        if (!distributions[i].map)
            continue;
        snprintf(name, sizeof name, "%s%s%s", distributions[i].name, inside, distributions[i].unit);
        clvox_report_histogram(page, name, distributions[i].map, what->mask ? what->mask : support, 0);
    }
    if (what->table)
        clvox_page_options(page, cli->log, &(clvox_page_set){NULL, what->table, what->used, what->defaults},
                           1);
end:
    status = cli_page_end(cli, &page, status, path);
    clvox_volume_destroy(&colours);
    clvox_volume_destroy(&colours_before);
    clvox_volume_destroy(&change);
    clvox_volume_destroy(&support);
    return status;
}

void cli_tensor_far(command *cli, const clvox_tensor_fit_result *fit)
{
    if (fit->far_s0)
        cli_note(cli,
                 "in %zu of %zu voxels S0 is far from the mean of the volumes of lowest b (by 25%% and 3 "
                 "standard errors): artefacts, or one tensor does not describe all b (--bmax)",
                 fit->far_s0, fit->fitted);
}

int cli_tensor_page_beside(command *cli, cli_tensor_page *what, const char *prefix)
{
    char path[PATH_MAX];
    what->name = clvox_page_name(prefix);
    snprintf(path, sizeof path, "%s_report.html", prefix);
    return cli_tensor_page_write(cli, what, path);
}
