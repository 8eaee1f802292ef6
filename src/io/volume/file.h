/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_IO_VOLUME_FILE_H
#define CLV_IO_VOLUME_FILE_H

#include "io/volume/format.h"

/* As clvox_volume_read, and the header, too; header->data is NULL then. */
int clv_volume_read(const char *path, clv_volume_header *header, clvox_volume **out);

/* Its grid alone. */
int clv_volume_grid(const char *path, clvox_grid *grid);

/* As clvox_volume_write, with this NIfTI intent (0: that of the kind). */
int clv_volume_write(const clvox_volume *volume, int intent, const char *path);

/* Writes colours, red, green and blue, a byte each, voxel by voxel, as a NIfTI
 * volume of RGB24. Otherwise as clvox_volume_write. */
int clv_volume_write_colours(const clvox_grid *grid, const uint8_t *rgb, const char *path);

/* Takes the world position of each voxel from its three frames, in place. */
void clv_positions_to_displacements(clvox_volume *volume);

#endif
