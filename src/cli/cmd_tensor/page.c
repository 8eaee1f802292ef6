/* SPDX-License-Identifier: Apache-2.0 */
/* Pages of tensors. */
#include "cli/cmd_tensor/page.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/page.h"

/* As of clvox_tensor_write_colours. */
static int make_colours(const clvox_volume *fa, const clvox_volume *v1, clvox_volume **out)
{
    const size_t voxels = clvox_grid_voxels(&fa->grid);
    int status = clvox_volume_create(&fa->grid, 3, CLVOX_KIND_SCALAR, out);
    for (size_t i = 0; status >= 0 && i < 3 * voxels; i++)
        (*out)->data[i] = 255 * fabsf(v1->data[i]) * fminf(fa->data[i % voxels], 1);
    return status;
}

int cli_tensor_page(command *cli, const char *prefix, clvox_volume *const maps[CLVOX_MEASURES],
                    const clvox_volume *mask, const char *const *figures)
{
    int status = CLVOX_OK, count = 0;
    char path[PATH_MAX], title[320];
    clvox_report *page = NULL;
    clvox_volume *colours = NULL;
    clvox_report_layer layer[4];
    snprintf(path, sizeof path, "%s_report.html", prefix);
    snprintf(title, sizeof title, "Tensors: %.300s", cli_page_name(prefix));
    CLI_TRY(make_colours(maps[CLVOX_MEASURE_FA], maps[CLVOX_MEASURE_V1], &colours));
    CLI_TRY(cli_page_begin(cli, title, &page));
    layer[count++] = (clvox_report_layer){"FA", maps[CLVOX_MEASURE_FA], CLVOX_REPORT_GREY, 0};
    layer[count++] = (clvox_report_layer){"directions", colours, CLVOX_REPORT_COLOUR, 0};
    layer[count++] = (clvox_report_layer){"MD", maps[CLVOX_MEASURE_MD], CLVOX_REPORT_GREY, 0};
    if (mask)
        layer[count++] = (clvox_report_layer){"mask", mask, CLVOX_REPORT_OUTLINES, 0};
    clvox_report_section(page, "Images");
    clvox_report_images(page, layer, count, mask);
    clvox_report_text(page, "Directions: red left-right, green front-back, blue up-down, as bright as FA.");
    clvox_report_section(page, "Figures");
    for (; *figures; figures++)
        cli_page_facts(page, cJSON_GetObjectItem(cli->log, *figures), 16);
    clvox_report_section(page, "Distributions");
    clvox_report_histogram(page, mask ? "FA in the mask" : "FA", maps[CLVOX_MEASURE_FA], mask, 0);
    clvox_report_histogram(page, mask ? "MD in the mask, mm^2/s" : "MD, mm^2/s", maps[CLVOX_MEASURE_MD], mask,
                           0);
end:
    status = cli_page_end(cli, &page, status, path);
    clvox_volume_destroy(&colours);
    return status;
}
