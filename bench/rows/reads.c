/* SPDX-License-Identifier: Apache-2.0 */
/* Reads of rows whose neighbours find in a cache what they read, counted in the kernels. */
#include <string.h>

#include "bench/bench.h"

static const struct {
    const char *name;
    double reads;
} rows[] = {
    /* Eight corners or, of cubics, 64 voxels, and the displacement. */
    {"warp linear", 11},
    {"warp nearest", 4},
    {"warp cubic", 67},
    {"warp label", 11},
    /* The corners' vectors, and the displacement that is kept. */
    {"compose", 27},
    {"compositive_step", 27},
    /* Eight corners, displacement, derivative. */
    {"metric_force", 12},
    /* 2.1 looks on average, of eight corners' vectors, and the displacement twice. */
    {"inverse", 56},
    {"linear sums", 9},
    {"linear histogram", 9},
    /* Of eight atlases 27 patches of 125 with moments and label, then one; each of 125 places that vote has
     * eight shifts, weights and labels; patches are compared twice. */
    {"label weights, 8 atlases", 28800},
    {"label vote, 8 atlases", 3125},
    {"label vote by patches, 8 atlases", 55300},
    /* 68% of the voxels look at 28 points of three numbers in each of seven passes. */
    {"redistance 8", 400},
    {"level distance 8", 400},
};

double bench_reads_of(const char *row)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (!strcmp(rows[i].name, row))
            return rows[i].reads;
    return 0;
}
