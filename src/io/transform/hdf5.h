/* SPDX-License-Identifier: Apache-2.0 */
/* The part of HDF5 that transforms of ITK, ANTs and h5py are stored in. libhdf5 1.10 follows what a damaged
 * file says into crashes and endless loops, so that reading is ours: every address is compared with the
 * file's size, every sum and product is checked, and the work is bounded. Nothing but this file is opened:
 * values in other files, links that are not hard, and filters other than deflate and shuffle are refused. */
#ifndef CLV_IO_TRANSFORM_HDF5_H
#define CLV_IO_TRANSFORM_HDF5_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct clv_hdf5 {
    const char *path; /* the caller's */
    int fd;
    uint64_t size, root; /* of the file; the address of its first group */
    uint64_t left;       /* bytes of structure that may still be read */
} clv_hdf5;

/* Release with clv_hdf5_close, legal also after a failure. */
int clv_hdf5_open(const char *path, clv_hdf5 *out);
void clv_hdf5_close(clv_hdf5 *file);

/* The address of a member of a group; *object is 0 where there is none. */
int clv_hdf5_find(clv_hdf5 *file, uint64_t group, const char *name, uint64_t *object);

/* The text of a data set of one string, fixed or variable in length; name is for messages. */
int clv_hdf5_text(clv_hdf5 *file, uint64_t object, const char *name, char *out, size_t room);

/* Numbers, float32 or float64. *out is the caller's to free. */
int clv_hdf5_numbers(clv_hdf5 *file, uint64_t object, const char *name, double **out, size_t *count);

int clv_hdf5_damaged(const clv_hdf5 *file, const char *what);

#endif
