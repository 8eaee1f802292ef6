/* SPDX-License-Identifier: Apache-2.0 */
/* Surfaces, curves and clouds of points as the command reads, moves and writes them: a kind is a row. */
#ifndef CLI_SHAPES_H
#define CLI_SHAPES_H

#include "cli/cli.h"
#include "cli/points.h"
#include "clvox/registration.h"

enum { CLI_SURFACE, CLI_CURVES, CLI_CLOUD, CLI_SHAPE_KINDS };
/* Most shapes of one kind. */
enum { CLI_MOST_SHAPES = CLVOX_MAX_SHAPES / CLI_SHAPE_KINDS };

/* --frames: tables of points are in LPS unless it says RAS, other files that state no frame in RAS unless
 * it says LPS. */
typedef enum cli_frames { CLI_FRAME_OF_FILE, CLI_FRAME_LPS, CLI_FRAME_RAS } cli_frames;

/* A shape of a file. */
typedef struct cli_shape_side {
    clvox_shape *shape;
    cli_points table; /* of a cloud: its file, for what else it says of the points */
} cli_shape_side;

typedef struct cli_shape_kind {
    clvox_shape_kind kind;
    const char *option; /* that names the files, and the kind in names of results: "surface" */
    const char *many;   /* "surfaces", in sentences and in the log */
    const char *places; /* "vertices" */
    const char *of[3];  /* options that belong to it, the weight first */
    const char *end;    /* of what is written where the ending that was read is not */
    const char *empty;  /* what one without size has */
    int (*check_name)(const char *path);
    int (*read)(command *cli, const char *path, cli_frames frames, cli_shape_side *out);
    /* side: of the file that the shape was read from */
    int (*write)(const clvox_shape *shape, const cli_shape_side *side, cli_frames frames, const char *path);
} cli_shape_kind;
extern const cli_shape_kind cli_shape_kinds[CLI_SHAPE_KINDS];

/* Two files, as typed. */
typedef struct cli_shape_files {
    char *fixed, *moving; /* the caller's to free */
    int kind, number;     /* in cli_shape_kinds; among those of its kind, from 1 on */
    char end[32];         /* of the moving one carried: "_surface_1.surf.gii" */
} cli_shape_files;

/* Sets end: that of the moving file, where it is written, too. */
void cli_shape_name(cli_shape_files *files);

/* A pair of shapes, and the fate of the moving one. */
typedef struct cli_shape {
    const cli_shape_kind *kind;
    cli_shape_side side[2]; /* fixed, moving */
    cli_frames frames;
    clvox_shape_errors errors;
} cli_shape;

/* Whether a name is that of streamlines, which hold curves and nothing else. */
bool cli_shape_tracks(const char *path);

/* A shape of whatever kind the file holds, by its ending, and where that leaves it open by what can be read:
 * its row. NULL, with the message, where it is none. */
const cli_shape_kind *cli_shape_read_any(command *cli, const char *path, cli_frames frames,
                                         cli_shape_side *out);

int cli_shape_read(command *cli, const cli_shape_files *files, cli_frames frames, cli_shape *out);
/* The carried one; for clvox_results_add. */
int cli_shape_write(const void *shape, int unused, const char *path);
void cli_shape_free(cli_shape *shape);
void cli_shape_side_free(cli_shape_side *side);

/* Checks that a shape lies in the image `of`: CLVOX_ERROR_DATA if nothing of it lies inside, as in another frame,
 * or a vertex further outside than the image is long. Says how many vertices lie outside. */
int cli_shape_inside(const command *cli, const char *path, const clvox_shape *shape, const clvox_grid *grid,
                     const char *of);

#endif
