/* SPDX-License-Identifier: Apache-2.0 */
/* `phantom surface:...`: a solid with its true distance and mesh, and inputs as
 * a segmentation or a scanner would give them. */
#ifndef CLI_PHANTOM_SURFACE_H
#define CLI_PHANTOM_SURFACE_H

#include "cli/cli.h"
#include "clvox/phantom.h"

typedef struct cli_solid {
    clvox_solid kind;
    const char *prefix;
    const clvox_grid *grid;
    clvox_numbers noise;  /* none given: no noisy files; mm without a unit */
    double correlation; /* voxels; NaN: white */
    uint64_t seed;
} cli_solid;

int cli_phantom_surface(command *cli, const cli_solid *request);

#endif
