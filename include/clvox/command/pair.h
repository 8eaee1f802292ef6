/* SPDX-License-Identifier: Apache-2.0 */
/* The files of a registration: names, by a prefix or as BIDS derivatives, sidecars, picture and page. */
#ifndef CLVOX_COMMAND_PAIR_H
#define CLVOX_COMMAND_PAIR_H

#include <limits.h>

#include "clvox/batch.h"
#include "clvox/command/inputs.h"
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

/* The files of a pair's images. Masks are those of the fixed and of the moving image; "none" is no mask,
 * where otherwise that of all levels would count. */
typedef struct clvox_pair_sources {
    const char *const *fixed, *const *moving; /* of each channel */
    const double *weight;
    int channels;
    const char *mask[2], *linear_mask[2];
    const char *const *level_mask[2]; /* of each level of the deformation; NULL: none */
    int levels;
    const char *labels;
} clvox_pair_sources;

/* White matter of the fixed image, whose boundary refines the linear part. */
typedef struct clvox_pair_boundary {
    const char *const *file; /* surfaces, masks or label maps */
    int files;               /* up to CLVOX_PAIR_BOUNDARIES; 0: there is no boundary */
    const int *label;        /* those of label maps that count */
    int labels;              /* 0: maps are masks */
    clvox_boundary_contrast contrast;
    bool lps; /* the frame of surfaces whose files state none */
} clvox_pair_boundary;

/* A pair between its files: what was read, the result, and what is written. A zeroed one is empty. */
typedef struct clvox_pair_work {
    clvox_volume *fixed[CLVOX_MAX_CHANNELS], *moving[CLVOX_MAX_CHANNELS];
    clvox_volume *mask[2], *linear_mask[2], *level_mask[2][CLVOX_MAX_LEVELS], *labels;
    const clvox_volume *initial; /* the displacement to start from; NULL: none */
    clvox_volume *composed;      /* the same, where it was made */
    clvox_register_options options;
    clvox_register_result result;
    clvox_surface *white[CLVOX_PAIR_BOUNDARIES];    /* as its files are surfaces */
    clvox_volume *white_map[CLVOX_PAIR_BOUNDARIES]; /* or not */
    clvox_boundary_result boundary;
    clvox_volume *carried, *log_jacobian; /* the labels on the fixed image's grid */
    clvox_pair_picture shown;
    clvox_results outputs;
    cJSON *sidecar[CLVOX_PAIR_NAMES];
    double read, write; /* seconds beside those of the result */
} clvox_pair_work;

enum { CLVOX_PAIR_INPUTS = 2 * CLVOX_MAX_CHANNELS + 2 * CLVOX_MAX_LEVELS + 5 };
/* The volumes to read; returns their number. */
CLVOX_API int clvox_pair_list(clvox_pair_work *work, const clvox_pair_sources *sources,
                              clvox_input inputs[CLVOX_PAIR_INPUTS]);
/* A chain as a registration starts from it, x -> matrix (x + warp (x)): matrix is the product of its affines,
 * warp lies on the fixed image's grid and is the caller's; NULL: the chain has none. context NULL: the matrix
 * alone. */
CLVOX_API int clvox_chain_start(clvox_context *context, const clvox_grid *fixed, const clvox_link *links,
                                int count, double matrix[4][4], clvox_volume **warp);
/* Takes the initial warp from a chain, which has to outlive the work; name is the file's. Refuses an affine,
 * and one beside a warp that is not the matrix of the options. */
CLVOX_API int clvox_pair_start(clvox_pair_work *work, clvox_context *context, const clvox_grid *fixed,
                               const clvox_link *links, int count, const char *name);
/* What was read, as clvox_register takes it. Refuses a series. */
CLVOX_API int clvox_pair_gather(const clvox_pair_work *work, const clvox_pair_sources *sources,
                                clvox_register_images *images);
/* Reads the boundary's files. */
CLVOX_API int clvox_pair_boundary_read(clvox_pair_work *work, const clvox_pair_boundary *boundary);
/* clvox_register by the work's options. With a boundary these have to be rigid or affine: the linear part is
 * then found, refined by the boundary that was read, and what follows begins with it; result->suspicions are
 * those of all of it. */
CLVOX_API int clvox_pair_register(clvox_pair_work *work, clvox_context *context,
                                  const clvox_register_images *images, const clvox_pair_boundary *boundary);
/* After the registration: the labels, the outputs that a result has in any case, and the log Jacobian for
 * picture and page, so that writing them needs the device no more. */
CLVOX_API int clvox_pair_prepare(clvox_pair_work *work, clvox_context *context, const clvox_pair_names *names,
                                 bool picture, bool report);
/* Frees what it holds. */
CLVOX_API void clvox_pair_work_free(clvox_pair_work *work);

/* The edge of a voxel of the fixed image in mm, by which lengths in voxels are converted. */
CLVOX_API double clvox_pair_edge(const clvox_grid *fixed);

/* PREFIX_report.html: what a registration came to, for a person to judge. */
typedef struct clvox_pair_page {
    const char *fixed, *moving; /* names of files */
    const cJSON *log;           /* which has the result */
    bool shapes;                /* there is nothing else */
    const char *names;          /* table of the labels' names; NULL: none */
} clvox_pair_page;
/* Writes the page; below 0: a clvox_status. */
CLVOX_API int clvox_pair_page_write(const clvox_pair_work *work, const clvox_pair_page *page,
                                    const char *path);

#endif
