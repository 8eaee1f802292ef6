/* SPDX-License-Identifier: Apache-2.0 */
/* Between the files that read HDF5. Names of structures and fields are those of the HDF5 File Format
 * Specification, version 3.0. */
#ifndef CLV_IO_TRANSFORM_HDF5_PARTS_H
#define CLV_IO_TRANSFORM_HDF5_PARTS_H

#include "io/transform/hdf5.h"

/* Bytes of the file from an address on; what is taken beyond their end is 0 and makes them bad. */
typedef struct clv_hdf5_bytes {
    const uint8_t *at;
    size_t left;
    uint64_t address; /* of `at` in the file */
    bool bad;
} clv_hdf5_bytes;

const uint8_t *clv_hdf5_take(clv_hdf5_bytes *b, uint64_t size);
/* An integer of 1 to 8 bytes, least significant first. */
uint64_t clv_hdf5_number(clv_hdf5_bytes *b, int size);
bool clv_hdf5_signed(clv_hdf5_bytes *b, const char *signature);

/* Reads structure from an address on into *room, which the caller frees. Sums end what is newer than HDF5
 * 1.6, and are compared and left out. */
int clv_hdf5_load(clv_hdf5 *f, uint64_t address, uint64_t size, bool summed, uint8_t **room,
                  clv_hdf5_bytes *out);

/* Reads a node of a version 1 tree, of names (type 0) or chunks (1): entries of key and child, and a last key
 * behind. level -1: whichever; returns the level. */
int clv_hdf5_load_node(clv_hdf5 *f, uint64_t address, int type, int level, uint8_t **room,
                       clv_hdf5_bytes *out, uint64_t *count);

enum {
    CLV_HDF5_SPACE = 0x01,
    CLV_HDF5_LINK_INFO = 0x02,
    CLV_HDF5_TYPE = 0x03,
    CLV_HDF5_LINK = 0x06,
    CLV_HDF5_EXTERNAL = 0x07,
    CLV_HDF5_LAYOUT = 0x08,
    CLV_HDF5_FILTERS = 0x0b,
    CLV_HDF5_CONTINUATION = 0x10,
    CLV_HDF5_SYMBOLS = 0x11
};

/* Receives a message of an object's header. */
typedef int (*clv_hdf5_receive)(clv_hdf5 *f, void *user, int type, clv_hdf5_bytes message);

/* Sends each message of an object, its continuations followed, to `to`. */
int clv_hdf5_messages(clv_hdf5 *f, uint64_t object, clv_hdf5_receive to, void *user);

int clv_hdf5_refused(const clv_hdf5 *file, const char *name, const char *what);

#endif
