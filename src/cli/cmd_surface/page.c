/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cmd_surface/page.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/page.h"

/* How far the surface moved outward, where it was within a voxel. */
static int make_movement(const clvox_volume *before, const clvox_volume *after, clvox_volume **moved,
                         clvox_volume **near)
{
    int status = CLVOX_OK;
    double edge[3];
    clvox_grid_spacing(&before->grid, edge);
    CLI_TRY(clvox_volume_create(&before->grid, 1, CLVOX_KIND_SCALAR, moved));
    CLI_TRY(clvox_volume_create(&before->grid, 1, CLVOX_KIND_SCALAR, near));
    const double reach = fmax(edge[0], fmax(edge[1], edge[2]));
    for (size_t i = 0; i < clvox_grid_voxels(&before->grid); i++) {
        (*moved)->data[i] = before->data[i] - after->data[i];
        (*near)->data[i] = fabs(before->data[i]) <= reach;
    }
end:
    return status;
}

/* 1 inside, 0 outside, and grey within a voxel of the surface. */
static int make_body(const clvox_volume *distance, clvox_volume **out)
{
    double edge[3];
    clvox_grid_spacing(&distance->grid, edge);
    int status = clvox_volume_create(&distance->grid, 1, CLVOX_KIND_SCALAR, out);
    for (size_t i = 0; status >= 0 && i < clvox_grid_voxels(&distance->grid); i++)
        (*out)->data[i] = (float)fmin(fmax(0.5 - distance->data[i] / (2 * edge[0]), 0), 1);
    return status;
}

/* "The surface moved by 0.27 mm on average, up to 1.3 mm. Its volume was 344 mm3 and is 335 mm3." */
static void put_verdict(clvox_report *page, const clvox_denoise_result *r)
{
    char number[4][32], text[240];
    const double values[4] = {r->mean_mm, r->largest_mm, r->volume_before, r->facts.volume};
    for (int i = 0; i < 4; i++)
        clvox_page_number(values[i], number[i], sizeof number[i]);
    snprintf(text, sizeof text,
             "The surface moved by %s mm on average, up to %s mm. Its volume was %s mm\xc2\xb3 and is %s "
             "mm\xc2\xb3.",
             number[0], number[1], number[2], number[3]);
    clvox_page_verdict(page, text);
}

int cli_surface_page(command *cli, const clvox_volume *before, const clvox_denoise_result *result,
                     const clvox_denoise_options *options, const char *in, const char *path)
{
    static const char *const figures[] = {"result", "topology", "input"};
    clvox_denoise_options defaults;
    int status = CLVOX_OK;
    char title[320];
    clvox_report *page = NULL;
    clvox_volume *moved = NULL, *near = NULL, *body[2] = {NULL}, *after = NULL;
    double edge[3];
    snprintf(title, sizeof title, "Surface: %.300s", clvox_page_name(in));
    clvox_grid_spacing(&before->grid, edge);
    CLI_TRY(clvox_distance_from_surface(cli->ctx, result->surface, &before->grid, 4 * edge[0], NULL, &after));
    CLI_TRY(make_movement(before, after, &moved, &near));
    CLI_TRY(make_body(before, &body[0]));
    CLI_TRY(make_body(after, &body[1]));
    CLI_TRY(cli_page_begin(cli, title, &page));
    const clvox_report_layer layers[] = {{"before", body[0], CLVOX_REPORT_GREY, 0},
                                         {"after", body[1], CLVOX_REPORT_GREY, 0},
                                         {"surface before", before, CLVOX_REPORT_CONTOUR, 0},
                                         {"surface after", after, CLVOX_REPORT_CONTOUR, 0},
                                         {"movement outward, mm", moved, CLVOX_REPORT_SIGNED, 1}};
    put_verdict(page, result);
    clvox_report_section(page, "Surface");
    clvox_report_images(page, layers, 5, near);
    clvox_report_section(page, "Movement");
    clvox_report_histogram(page, "Movement outward in mm, at voxels within one voxel of the surface", moved,
                           near, 0);
    clvox_report_section(page, "Numbers");
    cJSON *groups = cJSON_CreateObject();
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
        cJSON_AddItemReferenceToObject(groups, figures[i], cJSON_GetObjectItem(cli->log, figures[i]));
    clvox_page_facts(page, groups, 16);
    cJSON_Delete(groups);
    clvox_denoise_defaults(&defaults);
    clvox_page_options(page, cli->log, &(clvox_page_set){NULL, clvox_denoise_table(), options, &defaults}, 1);
end:
    status = cli_page_end(cli, &page, status, path);
    clvox_volume_destroy(&after);
    clvox_volume_destroy(&moved);
    clvox_volume_destroy(&near);
    clvox_volume_destroy(&body[0]);
    clvox_volume_destroy(&body[1]);
    return status;
}
