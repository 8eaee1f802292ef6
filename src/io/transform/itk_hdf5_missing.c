/* SPDX-License-Identifier: Apache-2.0 */
/* Where clvox is built without HDF5: what such a file is told. */
#include <string.h>

#include "base/status.h"
#include "io/transform/format.h"

static bool is(const char *path, const uint8_t *head, size_t size)
{
    (void)path;
    return size >= 4 && !memcmp(head, "\x89HDF", 4);
}

static int refuse(const char *path)
{
    return clvox_fail(
        CLVOX_ERROR_FORMAT,
        "%s: is an ITK transform in HDF5, and this clvox is built without that library: install "
        "libhdf5-dev and build it again, or take the file apart with CompositeTransformUtil --disassemble",
        path);
}

static int read(const char *path, const clvox_grid *fixed, const clvox_grid *moving, clv_parts *parts)
{
    (void)fixed;
    (void)moving;
    (void)parts;
    return refuse(path);
}

static int write(const char *path, const clvox_transform *const *parts, int count)
{
    (void)parts;
    (void)count;
    return refuse(path);
}

const clv_transform_format clv_itk_hdf5_transform = {
    .ends = {".h5", ".hdf5"},
    .is = is,
    .read = read,
    .write = write,
};
