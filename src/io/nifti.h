/* SPDX-License-Identifier: Apache-2.0 */
/* The header of a NIfTI-1, NIfTI-2 or Analyze file, checked. */
#ifndef CLV_IO_NIFTI_H
#define CLV_IO_NIFTI_H

#include <stdbool.h>
#include <stdint.h>

#include "clvox/volume.h"

enum {
    CLV_NIFTI1_BYTES = 352, /* header and the four bytes that announce extensions */
    CLV_NIFTI2_BYTES = 544,
    CLV_NIFTI_BYTES = 544   /* enough of a file to parse its header */
};

typedef struct clv_nifti {
    int64_t dim[8];     /* dim[0] axes; 1 beyond */
    clvox_grid grid;
    int frames;         /* product of dim[4] to dim[7] */
    clvox_type type;
    bool swapped;       /* the other byte order */
    bool separate;      /* the data are in an .img file */
    bool colours;       /* written with: red, green, blue, a byte each, whatever type says */
    uint64_t offset;    /* of the data in their file */
    double slope, inter; /* 1 and 0 where the file says nothing */
    double frame_seconds;
    double forms_gap;   /* mm: how far apart sform and qform place a voxel, at most; 0 where one is missing */
    int intent;
    double intent_p1;
    char intent_name[17];
} clv_nifti;

/* Understands the first `size` bytes of a file. A header that is no header,
 * is inconsistent or holds what clvox does not read is a CLVOX_ERROR_FORMAT. */
int clv_nifti_parse(const char *path, const uint8_t *bytes, size_t size, clv_nifti *out);

/* Makes the header of a .nii file, *size bytes of CLV_NIFTI_BYTES. The grid,
 * dim, type, colours, intent, intent_p1, intent_name and frame_seconds are used.
 * Writes NIfTI-2 where a dimension exceeds NIfTI-1's 32767. */
void clv_nifti_make(const clv_nifti *header, uint8_t bytes[CLV_NIFTI_BYTES], size_t *size);

/* Finds the files of a volume: *data is that of the values, NULL when they
 * are in the header's file. Both are the caller's to free. */
int clv_nifti_files(const char *path, char **header, char **data);

#endif
