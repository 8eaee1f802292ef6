/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the parts of `clvox stats`. */
#ifndef CLI_CMD_STATS_STATS_H
#define CLI_CMD_STATS_STATS_H

#include "cli/cli.h"
#include "clvox/command/table.h"
#include "clvox/stats.h"

enum {
    CLI_STATS_COVARIATES = CLVOX_TABLE_COLUMNS - 3
}; /* image, the tested column and the end are names, too */

/* A column of the table as numbers. One of two words is 0 and 1, in the order of the alphabet. */
typedef struct cli_stats_column {
    const char *name;
    char **word; /* as written, one a subject */
    double *value;
    const char *group[2]; /* the values, where there are just two; else NULL */
    int count[2];         /* subjects of each */
} cli_stats_column;

typedef struct cli_stats_request {
    const char *list, *image, *mask, *prefix, *test, *template;
    bool report;
    char *names;  /* those of --covariates, cut apart */
    bool of_mean; /* --test mean */
    cli_stats_column
        column[CLI_STATS_COVARIATES + 1]; /* what is tested (unused of the mean), then covariates */
    int covariates;
    char **path; /* of the maps */
    int subjects;
    clvox_volume **map;
    int maps; /* 1 with -i */
    clvox_volume *mask_volume, *template_volume;
    double *values; /* the tested column, then the covariates */
} cli_stats_request;

/* "age,sex" */
int cli_stats_read_covariates(cli_stats_request *r, const char *text);
/* The table, and its columns as numbers. */
int cli_stats_read_list(cli_stats_request *r);
/* The maps and the mask. */
int cli_stats_load(command *cli, cli_stats_request *r);
/* The page beside the maps; effect: what a positive t means, in words. Enters the peaks and what is
 * significant by either correction into the log. */
int cli_stats_page(command *cli, const cli_stats_request *r, const clvox_stats_options *o,
                   const clvox_stats_result *k, const char *effect);
void cli_stats_free(cli_stats_request *r);

#endif
