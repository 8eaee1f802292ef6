/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the parts of `clvox bids`. */
#ifndef CLI_CMD_BIDS_BIDS_H
#define CLI_CMD_BIDS_BIDS_H

#include "cli/cmd_register/options.h"
#include "clvox/batch.h"
#include "clvox/command/bids.h"

typedef struct cli_bids {
    const char *raw, *folder;  /* of the data set, and of the derivatives */
    const char *suffix, *kind; /* "run-1_T1w", and its T1w */
    const char *test, *covariates, *mask;
    bool group;
    cli_register_request r; /* its rows are those of the registrations; with the space and the shard */
    clvox_register_options o;
    clvox_list *files;
    const clvox_listed **file; /* those of the participants that take part */
    char **prepared;           /* their corrected images */
    int count;
    const char *template; /* NULL: it is not built yet */
    char own_template[PATH_MAX], space[CLVOX_BIDS_ROOM];
    clvox_bids_name template_name;
    const clvox_bids_word *res; /* of the template's grid; NULL: its name has none */
} cli_bids;

/* The path of a derivative of an image; pattern: as of clvox_bids_expand. */
int cli_bids_path(const cli_bids *b, const char *image, const char *pattern, char path[PATH_MAX]);
/* Whether a file is there and no older than what it was made from. */
bool cli_bids_is_newer(const char *path, const char *source);
/* Whether participant number i is in the shard. */
bool cli_bids_is_mine(const cli_bids *b, int i);
/* The image that the k-th pair of the shard was made from. */
const clvox_listed *cli_bids_of_pair(const cli_bids *b, int k);

/* Corrects the bias of the images of the shard that are not corrected yet. Those that fail are named;
 * CLVOX_ERROR_DATA at the end. */
int cli_bids_prepare(command *cli, const cli_bids *b);
/* Log Jacobians and figures of pairs that are registered. */
int cli_bids_derive(command *cli, const cli_bids *b, const clvox_pairs *pairs);
/* The table of the corrected images, from which a template is built. */
int cli_bids_list(const cli_bids *b, const char *path);
/* The group's table: a row for each registered image, with what participants.tsv says of it. */
int cli_bids_table(command *cli, const cli_bids *b, const clvox_pairs *pairs, const char *path);

#endif
