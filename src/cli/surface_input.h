/* SPDX-License-Identifier: Apache-2.0 */
/* Where the surface verbs get their level set from: a mesh, a mask, a label
 * map, a grey-level image or a signed distance. */
#ifndef CLI_SURFACE_INPUT_H
#define CLI_SURFACE_INPUT_H

#include "cli/cli.h"
#include "mesh/mesh.h"

typedef struct cli_surface_request {
    const char *path;
    int label;      /* -1: not given */
    double iso;     /* NaN: not given */
    double voxel;   /* mm, of a mesh's grid; 0: by the mesh */
    double margin;  /* voxels around a mesh that the grid must have */
    bool whole;     /* all of a volume, not only the part around what is inside */
} cli_surface_request;

typedef struct cli_surface_source {
    const char *kind; /* "mesh", "mask", "label 17", "image above 0.5", "signed distance" */
    char text[64];
    clvox_volume *distance; /* mm, negative inside */
    clvox_surface *closed;  /* the mesh that it came from, or NULL where that is open */
    const clvox_surface *surface; /* the same where it bounds a body as it stands; else NULL */
    double volume;          /* mm^3 of the mesh or mask; 0: not known, or cut by the border */
    bool mesh, steps;       /* a mesh; one that shows the steps of voxels */
    clv_surface_notes notes; /* of a mesh */
} cli_surface_source;

/* Reads, tells what it is, and makes a signed distance of it; opens the device.
 * On success source->distance and source->closed are the caller's. */
int cli_surface_load(command *cli, const cli_surface_request *request, cli_surface_source *source);

/* The number that --label gives; text NULL leaves it as it is. 0, or what a
 * misuse returns. */
int cli_surface_label(const char *text, int *label);

#endif
