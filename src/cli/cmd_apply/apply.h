/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the parts of `clvox apply`. */
#ifndef CLI_APPLY_H
#define CLI_APPLY_H

#include "cli/shapes.h"

/* One image to resample, or with forward to carry. */
typedef struct cli_apply {
    const char *image, *reference, *out;
    cli_texts transforms;
    bool forward, mass;
    int frame; /* of a series; -1: all */
    clvox_tensor_order order; /* CLVOX_TENSOR_AUTO: not named */
    clvox_apply_options how;
} cli_apply;

/* Reads the files and makes the result, which is the caller's; opens the device. */
int cli_apply_make(command *cli, const cli_apply *a, clvox_volume **out);
/* Writes the result and nothing else: for any thread. */
int cli_apply_write(const cli_apply *a, const clvox_volume *out);

/* Every row of a table: columns input, output and, if wanted, reference and transforms, whose places are
 * against the table's folder, and common for what a row lacks. summary: a table of what became of the rows,
 * by which a later run passes over those that are done; NULL: none. jobs: images that are written at once; 0:
 * cli_default_jobs. A row that fails does not end the others; then CLVOX_ERROR_DATA. */
int cli_apply_list(command *cli, const char *list, const char *summary, int jobs, const cli_apply *common);

/* The chain of a registration by its prefix, in the words of -t, which stay in `word`. Fails where there is
 * none. */
enum { CLI_PAIR_ROOM = PATH_MAX + 32 };
int cli_apply_pair(command *cli, const char *prefix, bool inverse, char word[2][CLI_PAIR_ROOM],
                   cli_texts *out);
/* Says so where the grids show that a warp and an affine stand in the wrong order. */
void cli_apply_check_order(command *cli, const cli_apply *apply, const clvox_grid *image,
                           const clvox_grid *reference, const cli_chain *chain);

/* Points through the chain, from one table to another. */
int cli_apply_points(command *cli, const cli_chain *chain, const char *in, bool ras, const char *out);
/* The vertices of a mesh or of curves (of cli_shape_kinds), from one file to another. */
int cli_apply_shape(command *cli, const cli_chain *chain, const cli_shape_kind *kind, cli_frames frames,
                    const char *in, const char *out);

#endif
