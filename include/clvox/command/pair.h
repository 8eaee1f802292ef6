/* SPDX-License-Identifier: Apache-2.0 */
/* The files of a registration: names, by a prefix or as BIDS derivatives, sidecars, picture and page. */
#ifndef CLVOX_COMMAND_PAIR_H
#define CLVOX_COMMAND_PAIR_H

#include <limits.h>

#include "clvox/batch.h"
#include "clvox/command/record.h"
#include "clvox/command/results.h"

typedef enum clvox_pair_file {
    CLVOX_PAIR_AFFINE,
    CLVOX_PAIR_WARP,
    CLVOX_PAIR_INVERSE,
    CLVOX_PAIR_MOMENTUM,
    CLVOX_PAIR_WARPED,
    CLVOX_PAIR_POSTERIORS,
    CLVOX_PAIR_LABELS,
    CLVOX_PAIR_PICTURE,
    CLVOX_PAIR_PAGE,
    CLVOX_PAIR_LOG,
    CLVOX_PAIR_FILES, /* shapes follow */
    CLVOX_PAIR_NAMES = CLVOX_PAIR_FILES + CLVOX_MAX_SHAPES
} clvox_pair_file;

/* A shape that is carried: "surface" number 1, whose file ends in "_surface_1.vtk". */
typedef struct clvox_pair_shape {
    const char *kind, *end, *moving;
    int number;
} clvox_pair_shape;

/* A pair is made from these, and its files are named by them; the images are not looked at. */
typedef struct clvox_pair_inputs {
    const char *prefix; /* or */
    const char *derivatives,
        *space; /* a folder, and the name of the fixed image's space, NULL: from its own */
    const char *fixed, *moving, *labels,
        *posteriors; /* the last two NULL: none; posteriors: of the moving image */
    clvox_pair_shape shape[CLVOX_MAX_SHAPES];
    int shapes;
    bool mat; /* the affine is ITK's binary .mat, not text */
} clvox_pair_inputs;

/* Files are prefix and end; sidecars are those of BIDS. NULL: there is none. */
struct clvox_pair_names {
    char *prefix, *end[CLVOX_PAIR_NAMES], *sidecar[CLVOX_PAIR_NAMES];
};

/* For clvox_pair_names_free, on failure too. */
CLVOX_API int clvox_pair_names_make(const clvox_pair_inputs *in, clvox_pair_names *out);
/* Frees the names; zeroed ones are legal. */
CLVOX_API void clvox_pair_names_free(clvox_pair_names *names);
/* The path of one of them. */
CLVOX_API const char *clvox_pair_path(const clvox_pair_names *names, int file, char path[PATH_MAX]);

enum { CLVOX_PAIR_ENDS = 2 * CLVOX_PAIR_NAMES + 1 };
/* The files of a prefix; asked: those that are written besides affine, log, shapes and what options say. */
CLVOX_API void clvox_pair_ends(const clvox_pair_names *names, const clvox_register_options *options,
                               const bool asked[CLVOX_PAIR_FILES], clvox_end ends[CLVOX_PAIR_ENDS]);

/* Adds the sidecars of the files that are among the results; they are the caller's, for cJSON_Delete, once
 * these are written. */
CLVOX_API int clvox_pair_sidecars(const clvox_pair_names *names, const clvox_pair_inputs *in,
                                  const clvox_register_result *result, clvox_results *results,
                                  cJSON *sidecar[CLVOX_PAIR_NAMES]);

/* The picture shows these. */
typedef struct clvox_pair_picture {
    const clvox_volume *fixed, *warped, *labels, *mask;
    const clvox_volume *log_jacobian, *warp; /* without the first what is seen of it comes from the second */
} clvox_pair_picture;

/* Adds the picture (NULL: none), what the result holds, labels (NULL: none) and the affine. */
CLVOX_API int clvox_pair_results(const clvox_pair_names *names, const clvox_register_result *result,
                                 const clvox_pair_picture *picture, const clvox_volume *labels,
                                 clvox_results *results);

/* The edge of a voxel of the fixed image in mm, by which lengths in voxels are converted. */
CLVOX_API double clvox_pair_edge(const clvox_grid *fixed);

/* PREFIX_report.html: what a registration came to, for a person to judge. shapes: there is nothing else. */
typedef struct clvox_pair_page {
    const char *fixed, *moving; /* names of files */
    const clvox_pair_picture *picture;
    const clvox_volume *log_jacobian;
    const clvox_register_options *options;
    const clvox_register_result *result;
    const cJSON *log; /* which has the result */
    bool shapes;
} clvox_pair_page;
/* Writes the page; below 0: a clvox_status. */
CLVOX_API int clvox_pair_page_write(const clvox_pair_page *page, const char *path);

#endif
