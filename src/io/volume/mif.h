/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_IO_MIF_H
#define CLV_IO_MIF_H

/* The gradients that an MRtrix image holds (dw_scheme), as the text of a
 * table: a line "x,y,z,b" for each volume. *out is the caller's to free, NULL
 * where the file is no MRtrix image. */
int clv_mif_gradients(const char *path, char **out);

#endif
