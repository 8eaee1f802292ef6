/* SPDX-License-Identifier: Apache-2.0 */
/* The message for such a file when clvox is built without libhdf5. */
#include "base/status.h"
#include "io/transform/itk.h"

int clv_itk_hdf5_write(const char *path, const clvox_transform *const *parts, int count)
{
    (void)parts;
    (void)count;
    return clvox_fail(
        CLVOX_ERROR_FORMAT,
        "%s: this clvox is built without HDF5 and writes no such file: install libhdf5-dev and build it "
        "again, or write .txt, .mat or .nii.gz",
        path);
}
