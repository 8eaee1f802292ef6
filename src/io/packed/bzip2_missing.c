/* SPDX-License-Identifier: Apache-2.0 */
/* The message for such a file when clvox is built without libbz2. */
#include "base/status.h"
#include "io/packed/encoding.h"

int clv_bzip2_check(const clv_source *source, uint64_t offset, size_t total)
{
    (void)offset;
    (void)total;
    return clvox_fail(
        CLVOX_ERROR_FORMAT,
        "%s: its values are compressed by bzip2, and this clvox is built without that library: install "
        "libbz2-dev and build it again, or convert the file with unu save -f nrrd -e gzip",
        source->path);
}

int clv_bzip2_read(const clv_source *source, uint64_t offset, size_t total, clv_consume consume, void *user)
{
    (void)consume;
    (void)user;
    return clv_bzip2_check(source, offset, total);
}
