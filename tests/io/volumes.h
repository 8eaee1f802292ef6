/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the tests of volumes in files. */
#ifndef TESTS_IO_VOLUMES_H
#define TESTS_IO_VOLUMES_H

#include "base/matrix.h"
#include "check.h"
#include "clvox/volume.h"
#include "files.h"

/* NIfTI's codes and the ranges of values, in clvox_type's order. */
static const int codes[] = {16, 64, 256, 2, 4, 512, 8, 768, 1024, 1280};
static const double lows[] = {-1e30, -1e30, -128, 0, -32768, 0, -2147483648.0, 0, -0x1p63, 0};
static const double highs[] = {1e30,          1e30,         127,     255,    32767, 65535,
                               2147483647.0, 4294967295.0, 0x1p62, 0x1p63};

/* A read that must succeed; NULL with the failure printed otherwise. The
 * caller's. */
static inline clvox_volume *reads(const char *path)
{
    clvox_volume *v = NULL;
    int status = clvox_volume_read(path, &v);
    assert_that(status == 0 && v, "%s", clvox_message());
    return v;
}

/* A read that must fail with that code and a sentence that holds a word. */
static inline void refuses(const char *path, int code, const char *word)
{
    clvox_volume *v = (clvox_volume *)1;
    int status = clvox_volume_read(path, &v);
    assert_that(status == code && !v, "%d instead of %d", status, code);
    assert_that(strstr(clvox_message(), word), "\"%s\" lacks \"%s\"", clvox_message(), word);
    if (status == 0)
        clvox_volume_destroy(&v);
}

/* A volume of zeros with unit voxels. */
static inline clvox_volume *made(int x, int y, int z, int frames, clvox_kind kind)
{
    clvox_grid g = {{x, y, z}, {{0}}};
    clv_matrix_identity(g.to_ras);
    clvox_volume *v;
    if (clvox_volume_create(&g, frames, kind, &v))
        exit(99);
    return v;
}

#endif
