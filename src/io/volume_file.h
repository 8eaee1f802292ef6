/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_IO_VOLUME_FILE_H
#define CLV_IO_VOLUME_FILE_H

#include "io/nifti.h"

/* What the three frames of a file are. */
typedef enum clv_field {
    CLV_FIELD_NONE = 0,     /* no field in the first place */
    CLV_FIELD_ITK,          /* displacement, LPS mm */
    CLV_FIELD_DISPLACEMENT, /* displacement, RAS mm */
    CLV_FIELD_DEFORMATION,  /* position to look at, RAS mm */
    CLV_FIELD_OTHER         /* a NiftyReg control grid or velocity */
} clv_field;

/* Which field a header announces: [X, Y, Z, 1, 3] with intent VECTOR, DISPVECT
 * or none is ITK's; with the name NREG_TRANS it is NiftyReg's, told apart by
 * intent_p1; with the name Mapping it is SPM's deformation. */
clv_field clv_field_of(const clv_nifti *header);

/* As clvox_volume_read, and the header, too. */
int clv_volume_read(const char *path, clv_nifti *header, clvox_volume **out);

/* As clvox_volume_write, with this NIfTI intent (0: that of the kind). */
int clv_volume_write(const clvox_volume *volume, int intent, const char *path);

/* Writes colours, red, green and blue, a byte each, voxel by voxel, as a NIfTI
 * volume of RGB24. Otherwise as clvox_volume_write. */
int clv_volume_write_colours(const clvox_grid *grid, const uint8_t *rgb, const char *path);

/* How far apart a volume's sform and qform place a voxel, at most, in mm; 0
 * where they agree, where one is missing, and for what is no volume. */
double clv_volume_forms_gap(const char *path);

/* Takes the world position of each voxel from its three frames, in place. */
void clv_positions_to_displacements(clvox_volume *volume);

#endif
