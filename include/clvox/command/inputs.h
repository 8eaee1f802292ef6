/* SPDX-License-Identifier: Apache-2.0 */
/* Inputs, as the command reads them. */
#ifndef CLVOX_COMMAND_INPUTS_H
#define CLVOX_COMMAND_INPUTS_H

#include <stdbool.h>
#include <stdint.h>

#include "clvox/volume.h"

/* Facts about an input, for a log. */
typedef struct clvox_input_facts {
    bool has_crc, has_header; /* whether the next one, and those behind it, are known */
    uint32_t crc;     /* the CRC-32 of gzip, PNG and `crc32`: enough to tell a changed file */
    bool unplaced;    /* a NIfTI file with neither sform nor qform: its orientation is assumed */
    double forms_gap; /* mm: how far apart sform and qform place a voxel, at most; 0: one is missing */
    bool odd_pixdim;  /* the edges of a voxel by pixdim contradict the grid's, are 0 or no numbers */
    double pixdim[3], spacing[3]; /* these edges and the grid's, mm */
    double bytes;     /* its size */
} clvox_input_facts;

/* The facts as they were left when the file was read; what is not known of it any more is read now. */
CLVOX_API int clvox_input_look(const char *path, clvox_input_facts *out);

/* A volume to read. */
enum { CLVOX_AS_MASK = 1, CLVOX_AS_LABELS };
typedef struct clvox_input {
    const char *path; /* NULL: *out stays NULL */
    clvox_volume **out;
    int as; /* 0: an image; CLVOX_AS_MASK: by clvox_mask_read; CLVOX_AS_LABELS: by clvox_labels_read */
} clvox_input;
/* Reads it as `as` says. */
CLVOX_API int clvox_input_read(const clvox_input *input);

/* A mask: a volume of one frame with at least one voxel above 0. */
CLVOX_API int clvox_mask_read(const char *path, clvox_volume **out);

/* Takes FILE, FILE,-1 and ANTs' [FILE,1] and [FILE,0] apart; *file is the caller's to free. */
CLVOX_API int clvox_link_word(const char *text, char **file, bool *inverse);

#endif
