/* SPDX-License-Identifier: Apache-2.0 */
/* Inputs and outputs of a run: no input is overwritten, no result of an earlier run stays unsaid beside those of
 * this one. Whatever is typed and is the name of a file counts as an input, unless its option is one of outputs; a
 * new verb is covered by the kinds of its options. */
#ifndef CLI_CLAIMS_H
#define CLI_CLAIMS_H

#include <stdbool.h>

#include "clvox/command/results.h"

struct command;
typedef struct cli_claims cli_claims;

/* Takes a word of the command line for an input where it names a file (also FILE,-1 and [FILE,1]). */
int cli_claim_input(struct command *cli, const char *word);

/* A file that will be written. A misuse where --option names a folder. */
int cli_claim_output(struct command *cli, const char *option, const char *path);

/* The files that will begin with *prefix. Makes their folder, and *prefix as it is meant: without the _ that
 * the ends begin with, and for a folder (out/, .) that and the name of the verb. Names of files (x.nii.gz) are
 * a misuse. *prefix is then owned by cli. */
int cli_claim_prefix(struct command *cli, const char **prefix, const clvox_end *ends);

/* The same for files whose prefix is a folder with its slash and means itself; log: the end of its log. */
int cli_claim_files(struct command *cli, const char *prefix, const clvox_end *ends, const char *log);

/* All results in a folder, once those of this run are claimed: what an earlier run listed there counts like files of its
 * prefix. log: the name of its log in the folder; NULL: that of the prefix. deep: also what lies in folders
 * there. */
int cli_claim_folder(struct command *cli, const char *folder, const char *log, bool deep);

/* CLVOX_ERROR_FILE where an output cannot be written, is an input or another output, or exists and
 * --no-clobber keeps it. */
int cli_claims_check(struct command *cli);

/* Whether the file of --json is nothing else, so that a run that failed can say why in it. */
bool cli_log_is_free(const struct command *cli);

/* One of the outputs is there now. false: it was not claimed. */
bool cli_claim_written(struct command *cli, const char *path);
bool cli_is_claimed(const struct command *cli, const char *path);

/* Once a run has written results: removes those of an earlier one with the same prefix that it does not
 * replace, where that one's log lists them, names the others, and enters both into the log. */
void cli_claims_settle(struct command *cli);

void cli_claims_free(struct command *cli);

#endif
