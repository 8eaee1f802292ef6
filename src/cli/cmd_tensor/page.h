/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_TENSOR_PAGE_H
#define CLI_TENSOR_PAGE_H

#include "cli/cli.h"

/* Content of the page of a tensor. Maps are those of clvox_tensor_measures, of which FA, MD and V1 are needed. */
typedef struct cli_tensor_page {
    const char *name; /* of the result, for the heading */
    clvox_volume *const *maps;
    clvox_volume *const *before;    /* of the tensor before it was denoised; NULL: none */
    const clvox_volume *mask;       /* NULL: everywhere */
    const clvox_volume *s0, *noise; /* of the fit; NULL: not shown */
    const char *const *figures;     /* objects of the log, up to NULL */
    const clvox_option_table *table; /* of the options that were used, and their defaults; NULL: none */
    const void *used, *defaults;
} cli_tensor_page;

/* The maps that a page needs. */
int cli_tensor_page_maps(const command *cli, const clvox_volume *tensor, const clvox_volume *mask,
                         clvox_volume *maps[CLVOX_MEASURES]);

int cli_tensor_page_write(command *cli, const cli_tensor_page *what, const char *path);

/* Says in how many voxels S0 is not what the volumes without weighting show. */
void cli_tensor_far(command *cli, const clvox_tensor_fit_result *fit);

/* The same to PREFIX_report.html. */
int cli_tensor_page_beside(command *cli, cli_tensor_page *what, const char *prefix);

#endif
