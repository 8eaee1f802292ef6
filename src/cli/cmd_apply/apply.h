/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the parts of `clvox apply`. */
#ifndef CLI_APPLY_H
#define CLI_APPLY_H

#include "cli/shapes.h"

/* Every row of a table; options without log and progress. */
int cli_apply_list(command *cli, const char *list, clvox_apply_list_options *options);

/* The chain of a registration by its prefix, in the words of -t, which stay in `word`. Fails where there is
 * none. */
enum { CLI_PAIR_ROOM = PATH_MAX + 32 };
int cli_apply_pair(command *cli, const char *prefix, bool inverse, char word[2][CLI_PAIR_ROOM],
                   cli_texts *out);

/* Points through the chain, from one table to another. */
int cli_apply_points(command *cli, const cli_chain *chain, const char *in, bool ras, const char *out);
/* The vertices of a mesh or of curves (of cli_shape_kinds), from one file to another. */
int cli_apply_shape(command *cli, const cli_chain *chain, const cli_shape_kind *kind, cli_frames frames,
                    const char *in, const char *out);

#endif
